/*
 * cuda.c - the table of operations, and the life of a device. See cuda.h for how the parts fit.
 */
#include "device/cuda/cuda.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/log.h"
#include "device/cuda/array.h"
#include "device/cuda/array_pool.h"
#include "device/cuda/backing.h"
#include "device/cuda/device.h"
#include "device/cuda/fifo.h"
#include "device/cuda/host.h"
#include "device/cuda/info.h"
#include "device/cuda/launch.h"
#include "device/cuda/memory.h"
#include "device/cuda/module.h"
#include "device/cuda/partition.h"
#include "device/cuda/print.h"
#include "device/cuda/queue.h"
#include "device/cuda/running.h"
#include "device/cuda/space.h"
#include "device/cuda/tensor.h"
#include "device/cuda/texture.h"
#include "device/cuda/threads.h"

#define SCHEME		 "cuda"
#define UNLOADS_MAX	 64
#define UNLOAD_BYTES_MAX (256ull << 20)
#define LOOK_NS		 5000000

/* "cuda:N". */
static int parse_spec(const char *spec, int *ordinal, char *err, size_t err_size)
{
	const char *text = spec + strlen(SCHEME);
	char *end;
	long n;

	if (*text == ':' && text[1] >= '0' && text[1] <= '9') {
		errno = 0;
		n = strtol(text + 1, &end, 10);
		if (!errno && !*end && n <= INT32_MAX) {
			*ordinal = (int)n;
			return 0;
		}
	}
	snprintf(err, err_size, "device '%s': write cuda:N, N is the GPU's number, from 0 on",
		 spec);
	return -ENODEV;
}

static int find_device(struct cuda_device *dev, int ordinal, char *err, size_t err_size)
{
	int n = 0;
	CUresult result = dev->cu.cuDeviceGetCount(&n);

	if (!result && ordinal < n)
		result = dev->cu.cuDeviceGet(&dev->id, ordinal);
	if (result || ordinal >= n) {
		snprintf(err, err_size, "device 'cuda:%d': NVIDIA's driver has %d devices%s%s",
			 ordinal, n, result ? ", " : "", result ? cuda_name(result) : "");
		return -ENODEV;
	}
	return 0;
}

/* The context of the work is the device's primary one: partitions of it work in no other. */
static int make_context(struct cuda_device *dev, char *err, size_t err_size)
{
	const struct cuda_driver *cu = &dev->cu;
	CUresult result = cu->cuDevicePrimaryCtxRetain(&dev->ctx, dev->id);

	if (!result)
		result = cu->cuCtxSetCurrent(dev->ctx);
	if (!result)
		return 0;
	snprintf(err, err_size, "device 'cuda:%d' gives no context: %s", dev->id,
		 cuda_name(result));
	return cuda_no_start(result);
}

/* Where CUDA finds no daemon of MPS it goes without, and says nothing. */
static void look_for_mps(struct cuda_device *dev)
{
	const char *folder = getenv("CUDA_MPS_PIPE_DIRECTORY");
	int enabled = 0;

	if (!folder ||
	    dev->cu.cuDeviceGetAttribute(&enabled, CU_DEVICE_ATTRIBUTE_MPS_ENABLED, dev->id))
		return;
	dev->is_client = enabled;
	if (enabled)
		return;
	gsb_log(GSB_LOG_WARN, "cuda",
		"this engine is no client of the MPS daemon in %s: its kernels and those of others take turns",
		folder);
}

static int make_streams(struct cuda_device *dev)
{
	const struct cuda_driver *cu = &dev->cu;

	if (cu->cuStreamCreateWithPriority(&dev->zero_stream, CU_STREAM_NON_BLOCKING,
					   dev->info.priority_greatest) ||
	    cu->cuStreamCreateWithPriority(&dev->code_stream, CU_STREAM_NON_BLOCKING,
					   dev->info.priority_greatest) ||
	    cu->cuEventCreate(&dev->zeroed, CU_EVENT_DISABLE_TIMING))
		return -ENOMEM;
	return 0;
}

static void destroy(struct cuda_device *dev)
{
	const struct cuda_driver *cu = &dev->cu;

	cuda_backings_finish(dev);
	cuda_arrays_bury(dev); /* which waits for their zeroing, and that writes a word */
	if (dev->zeros)
		cu->cuMemFree_v2(dev->zeros);
	cuda_work_finish(dev);
	cuda_fifo_finish(dev);
	cuda_bounces_finish(dev);
	if (dev->zeroed)
		cu->cuEventDestroy_v2(dev->zeroed);
	if (dev->zero_stream)
		cu->cuStreamDestroy_v2(dev->zero_stream);
	if (dev->code_stream)
		cu->cuStreamDestroy_v2(dev->code_stream);
	cuda_partitions_finish(dev);
	if (dev->host_ctx && dev->host_ctx != dev->ctx)
		cu->cuCtxDestroy_v2(dev->host_ctx);
	if (dev->ctx)
		cu->cuDevicePrimaryCtxRelease_v2(dev->id);
	gsb_ranges_finish(&dev->known);
	pthread_mutex_destroy(&dev->graphs.lock);
	pthread_mutex_destroy(&dev->code_lock);
	pthread_cond_destroy(&dev->pin_gone);
	pthread_cond_destroy(&dev->host_ctx_made);
	pthread_cond_destroy(&dev->host_ctx_needed);
	pthread_mutex_destroy(&dev->pin_lock);
	free(dev);
}

static bool too_many_wait(struct cuda_helper *unloader)
{
	uint64_t bytes;
	unsigned n = cuda_helper_waiting(unloader, &bytes);

	return n > UNLOADS_MAX || bytes > UNLOAD_BYTES_MAX;
}

/*
 * What the unloader asks for waits for all kernels that run, and whoever asks the driver for anything meanwhile waits with it: beside a kernel of 18 s the
 * engine stood still for 18 s (an H200, doc/results/2026-11-29-foreign-h200.txt). Nobody needs what goes, so it goes when nothing runs. Where
 * something always does, and much is to go, it goes when what runs now has ended, as a load comes.
 */
static void await_quiet(struct cuda_helper *unloader)
{
	struct cuda_device *dev = gsb_container_of(unloader, struct cuda_device, unloader);

	while (!cuda_is_quiet(dev) && !too_many_wait(unloader) && !cuda_lost(dev))
		nanosleep(&(struct timespec){.tv_nsec = LOOK_NS}, NULL);
	cuda_wait_for_running(dev);
}

static int start_helpers(struct cuda_device *dev)
{
	int err = cuda_helper_start(&dev->unloader, CUDA_UNLOADER_NAME, await_quiet);

	if (err)
		return err;
	err = cuda_helper_start(&dev->registrar, CUDA_REGISTRAR_NAME, NULL);
	if (err)
		cuda_helper_stop(&dev->unloader);
	return err;
}

/* What a start has taken so far, for one line of the log: who waits for an engine waits for this above all. */
struct start {
	uint64_t begun_ns, since_ns;
	char steps[256];
	size_t n;
};

static unsigned long long to_ms(uint64_t ns)
{
	return ns / 1000000;
}

static void note_step(struct start *s, const char *what)
{
	uint64_t now_ns = gsb_clock_ns();
	int n = snprintf(s->steps + s->n, sizeof(s->steps) - s->n, ", %s %llu", what,
			 to_ms(now_ns - s->since_ns));

	s->n += n > 0 && (size_t)n < sizeof(s->steps) - s->n ? (size_t)n : 0;
	s->since_ns = now_ns;
}

static int make_parts(struct cuda_device *dev, const struct gsb_device_params *p)
{
	int err = make_streams(dev);

	if (!err)
		err = cuda_bounces_init(dev);
	if (!err)
		err = cuda_work_init(dev);
	if (!err)
		err = start_helpers(dev);
	if (err)
		return err;
	cuda_host_begin(dev, p->register_ms);
	cuda_streams_prepare(dev);
	cuda_chain_init(dev);
	return 0;
}

static int build(struct cuda_device *dev, const struct gsb_device_params *p, int ordinal, char *err,
		 size_t err_size)
{
	struct start start = {.begun_ns = gsb_clock_ns(), .since_ns = gsb_clock_ns()};
	int res = cuda_driver_open(&dev->cu, p, err, err_size);

	if (p->hears_driver)
		cuda_fifo_init(dev);
	dev->single = p->single;
	note_step(&start, "driver");
	if (!res)
		res = find_device(dev, ordinal, err, err_size);
	if (!res)
		res = make_context(dev, err, err_size);
	note_step(&start, "context");
	if (!res)
		res = cuda_info_fill(dev, err, err_size);
	if (res)
		return res;
	look_for_mps(dev);
	cuda_partitions_init(dev);
	if (p->mem_limit_bytes && p->mem_limit_bytes < dev->info.total_mem_bytes)
		dev->info.total_mem_bytes = p->mem_limit_bytes;
	note_step(&start, "questions");
	res = make_parts(dev, p);
	note_step(&start, "streams and pinned memory");
	if (res)
		snprintf(err, err_size, "device '%s': %s", p->spec, strerror(-res));
	else
		gsb_log(GSB_LOG_INFO, "cuda", "%s started in %llu ms: %s", p->spec,
			to_ms(start.since_ns - start.begun_ns), start.steps + 2);
	return res;
}

static int cuda_open(const struct gsb_device_params *p, struct gsb_device **out, char *err,
		     size_t err_size)
{
	struct cuda_device *dev;
	int ordinal, res;

	res = parse_spec(p->spec, &ordinal, err, err_size);
	if (res)
		return res;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->base.ops = &gsb_cuda_ops;
	dev->timer_fd = -1;
	dev->virtual_base = p->virtual_base;
	dev->virtual_size = p->virtual_size;
	pthread_mutex_init(&dev->graphs.lock, NULL);
	pthread_mutex_init(&dev->code_lock, NULL);
	pthread_mutex_init(&dev->fifo.lock, NULL);
	pthread_mutex_init(&dev->pin_lock, NULL);
	pthread_cond_init(&dev->pin_gone, NULL);
	pthread_cond_init(&dev->host_ctx_made, NULL);
	pthread_cond_init(&dev->host_ctx_needed, NULL);
	gsb_ranges_init(&dev->known, 0, UINT64_MAX);
	res = build(dev, p, ordinal, err, err_size);
	if (res) {
		destroy(dev);
		return res;
	}
	*out = &dev->base;
	return 0;
}

static void cuda_close(struct gsb_device *base)
{
	struct cuda_device *dev = to_cuda(base);

	cuda_images_finish(dev);
	cuda_chain_unload(dev);
	cuda_host_finish(dev);
	cuda_helper_stop(&dev->unloader);
	cuda_helper_stop(&dev->registrar);
	destroy(dev);
}

/* While a context is made the GPU is given from one to the other, milliseconds at a time, whatever runs on it. */
static int cuda_prepare(struct gsb_device *base)
{
	struct cuda_device *dev = to_cuda(base);

	cuda_host_await(dev);
	return cuda_partitions_prepare(dev);
}

static const struct gsb_device_info *cuda_info(struct gsb_device *dev)
{
	return &to_cuda(dev)->info;
}

static CUresult cuda_has_lost(struct gsb_device *dev)
{
	return cuda_lost(to_cuda(dev));
}

const struct gsb_device_ops gsb_cuda_ops = {
	.scheme = SCHEME,
	.open = cuda_open,
	.close = cuda_close,
	.info = cuda_info,
	.lost = cuda_has_lost,
	.mem_info = cuda_mem_info,
	.space_create = cuda_space_create,
	.space_limit = cuda_space_limit,
	.space_destroy = cuda_space_destroy,
	.mem_alloc = cuda_mem_alloc,
	.mem_cost = cuda_mem_cost,
	.mem_free = cuda_mem_free,
	.may_keep = true,
	.loads_apart = true,
	.array_alloc = cuda_array_alloc,
	.array_bytes = cuda_array_bytes,
	.mem_share = cuda_mem_share,
	.mem_open = cuda_mem_open,
	.backing_create = cuda_backing_create,
	.backing_of_host = cuda_backing_of_host,
	.backing_destroy = cuda_backing_destroy,
	.backing_map = cuda_backing_map,
	.backing_access = cuda_backing_access,
	.backing_unmap = cuda_backing_unmap,
	.backing_export = cuda_backing_export,
	.backing_import = cuda_backing_import,
	.texture_create = cuda_texture_create,
	.texture_destroy = cuda_texture_destroy,
	.host_prepare = cuda_host_prepare,
	.host_pin = cuda_host_pin,
	.host_unpin = cuda_host_unpin,
	.buffer_share = cuda_buffer_share,
	.buffer_unshare = cuda_buffer_unshare,
	.module_load = cuda_module_load,
	.module_unload = cuda_module_unload,
	.module_bytes = cuda_module_bytes,
	.module_cost = cuda_module_cost,
	.module_managed = cuda_module_managed,
	.module_place = cuda_module_place,
	.function_get = cuda_function_get,
	.global_get = cuda_global_get,
	.function_name = cuda_function_name,
	.function_prepare = cuda_function_prepare,
	.cluster_room = cuda_cluster_room,
	.cluster_size = cuda_cluster_size,
	.tensor_map = cuda_tensor_map,
	.queue_create = cuda_queue_create,
	.queue_destroy = cuda_queue_destroy,
	.prepare = cuda_prepare,
	.issue = cuda_issue,
	.poll = cuda_poll,
	.event_fd = cuda_event_fd,
	.stay_awake = cuda_stay_awake,
	.print_read = cuda_print_read,
	.print_limit = cuda_print_limit,
	.heap_size = cuda_heap_size,
	.now_ns = cuda_now_ns,
};
