/*
 * emu.c - the emulated device: its table of operations and its life. See emu.h for how the parts fit.
 */
#include "device/emu/emu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "device/emu/device.h"
#include "device/emu/exec/exec.h"
#include "device/emu/flip.h"
#include "device/emu/issue.h"
#include "device/emu/module.h"
#include "device/emu/space.h"
#include "device/emu/tensor.h"
#include "device/info.h"
#include "model/gpu/arch.h"

#define SCHEME		"emu"
#define DEFAULT_ARCH	"h200"
#define ARCH_FILE_BYTES 65536
#define MAX_WORKERS	256
#define FIRST_WITH_TMA	9 /* major compute capability */

/* ---- which architecture ---- */

struct emu_gpu {
	struct gsb_arch arch;
	struct gsb_interference interference;
};

/* Reads the whole of a small file; -EFBIG when it is not small. */
static int read_file(const char *path, char *buf, size_t size, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	*len = 0;
	do {
		n = read(fd, buf + *len, size - *len);
		if (n > 0)
			*len += (size_t)n;
	} while (n > 0 && *len < size);
	if (n < 0)
		err = -errno;
	else if (*len == size)
		err = -EFBIG;
	close(fd);
	return err;
}

static int arch_from_file(const char *path, struct emu_gpu *gpu, char *err, size_t err_size)
{
	char *text = malloc(ARCH_FILE_BYTES);
	struct gsb_text_error where;
	size_t len = 0;
	int res;

	if (!text)
		return -ENOMEM;
	res = read_file(path, text, ARCH_FILE_BYTES, &len);
	if (res) {
		snprintf(err, err_size, "architecture file %s: %s", path, strerror(-res));
	} else {
		res = gsb_arch_parse(text, len, &gpu->arch, &where);
		if (!res) {
			gsb_interference_init(&gpu->interference, gpu->arch.name);
			res = gsb_interference_parse(text, len, &gpu->interference, &where);
		}
		if (res)
			snprintf(err, err_size, "architecture file %s:%u: %s", path, where.line,
				 where.what);
	}
	free(text);
	return res;
}

static int find_arch(const char *spec, struct emu_gpu *gpu, char *err, size_t err_size)
{
	const char *name = strchr(spec, ':');
	const struct gsb_arch *known;
	char names[GSB_ARCH_NAMES_MAX];

	name = name ? name + 1 : DEFAULT_ARCH;
	if (strchr(name, '/'))
		return arch_from_file(name, gpu, err, err_size);
	known = gsb_arch_find(name);
	if (!known) {
		gsb_arch_names(names, sizeof(names));
		snprintf(err, err_size,
			 "device '%s': no such architecture; there are %s, or a file "
			 "by its path",
			 spec, names);
		return -ENODEV;
	}
	gpu->arch = *known;
	gsb_interference_init(&gpu->interference, gpu->arch.name);
	return 0;
}

/* ---- life ---- */

static unsigned worker_count(const struct gsb_device_params *p)
{
	long n = p->n_workers ? (long)p->n_workers : sysconf(_SC_NPROCESSORS_ONLN);

	if (n < 1)
		n = 1;
	return n > MAX_WORKERS ? MAX_WORKERS : (unsigned)n;
}

/* Three quarters of this machine's memory. */
static size_t most_storage(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

	return pages > 0 && bytes > 0 ? (size_t)pages / 4 * 3 * (size_t)bytes : SIZE_MAX / 4;
}

static void init_device(struct emu_device *dev, const struct gsb_device_params *p,
			const struct gsb_arch *arch)
{
	dev->ops = gsb_emu_ops;
	dev->base.ops = &dev->ops;
	if (p->real_clock) {
		dev->ops.advance = NULL;
		dev->ops.advance_to = NULL;
	}
	gsb_device_info_fill(&dev->info, arch, "Emulated",
			     p->mem_limit_bytes ? p->mem_limit_bytes : arch->mem_bytes);
	dev->info.clock_is_virtual = !p->real_clock;
	dev->info.attrs[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH] = arch->gpc_sms > 0;
	dev->info.attrs[CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED] =
		arch->cc_major >= FIRST_WITH_TMA;
	dev->storage.max_bytes = most_storage();
}

/* All that can fail. */
static int build_device(struct emu_device *dev, const struct gsb_device_params *p,
			const struct gsb_interference *interference)
{
	int err = gsb_emu_guard_install();

	if (!err)
		err = gsb_code_cache_create(&dev->codes);
	if (err)
		return err;
	err = emu_clock_init(&dev->clock, &dev->info.arch, interference, p->real_clock,
			     worker_count(p));
	if (err)
		gsb_code_cache_destroy(dev->codes);
	return err;
}

static int emu_open(const struct gsb_device_params *p, struct gsb_device **out, char *err,
		    size_t err_size)
{
	struct emu_device *dev;
	struct emu_gpu gpu;
	int res = find_arch(p->spec, &gpu, err, err_size);

	if (res)
		return res;
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	init_device(dev, p, &gpu.arch);
	if (p->flip && *p->flip && emu_flip_install(dev, p->flip)) {
		snprintf(err, err_size, "GSB_TEST_FLIP=%s: write 1 (each copy) or copy:N", p->flip);
		res = -EINVAL;
		goto err_dev;
	}
	res = build_device(dev, p, &gpu.interference);
	if (res) {
		snprintf(err, err_size, "device '%s': %s", p->spec, strerror(-res));
		goto err_dev;
	}
	emu_vram_init(&dev->vram, p, dev->info.total_mem_bytes);
	pthread_mutex_init(&dev->watch.lock, NULL);
	*out = &dev->base;
	return 0;

err_dev:
	free(dev);
	return res;
}

static void emu_close(struct gsb_device *base)
{
	struct emu_device *dev = to_emu(base);

	emu_clock_finish(&dev->clock);
	gsb_code_cache_destroy(dev->codes);
	emu_vram_finish(&dev->vram);
	pthread_mutex_destroy(&dev->watch.lock);
	free(dev);
}

static const struct gsb_device_info *emu_info(struct gsb_device *dev)
{
	return &to_emu(dev)->info;
}

static void emu_mem_info(struct gsb_device *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
	emu_vram_info(&to_emu(dev)->vram, free_bytes, total_bytes);
}

/* ---- queues and time ---- */

static int emu_queue_create(struct gsb_device *base, int priority, struct gsb_sm_range sms,
			    struct gsb_queue **out)
{
	struct gsb_queue *queue;

	if (gsb_arch_find_sms(&to_emu(base)->info.arch, sms, &sms))
		return -EINVAL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->dev = to_emu(base);
	queue->priority = priority;
	queue->sms = sms;
	emu_clock_add_queue(&queue->dev->clock, queue);
	*out = queue;
	return 0;
}

static void emu_queue_destroy(struct gsb_queue *queue)
{
	if (!queue)
		return;
	emu_clock_remove_queue(&queue->dev->clock, queue);
	free(queue);
}

static uint64_t emu_ran_ns(struct gsb_queue *queue)
{
	return emu_clock_ran_ns(&queue->dev->clock, queue);
}

static unsigned emu_poll(struct gsb_device *dev, struct gsb_completion *out, unsigned max)
{
	return emu_clock_poll(&to_emu(dev)->clock, out, max);
}

static int emu_event_fd(struct gsb_device *dev)
{
	return to_emu(dev)->clock.event_fd;
}

static uint64_t emu_now_ns(struct gsb_device *dev)
{
	return emu_clock_now_ns(&to_emu(dev)->clock);
}

static void emu_advance(struct gsb_device *dev, uint64_t until)
{
	emu_clock_advance(&to_emu(dev)->clock, until);
}

static void emu_advance_to(struct gsb_device *dev, uint64_t now)
{
	emu_clock_advance_to(&to_emu(dev)->clock, now);
}

const struct gsb_device_ops gsb_emu_ops = {
	.scheme = SCHEME,
	.open = emu_open,
	.close = emu_close,
	.info = emu_info,
	.mem_info = emu_mem_info,
	.space_create = emu_space_create,
	.space_cancel = emu_space_cancel,
	.space_limit = emu_space_limit,
	.space_destroy = emu_space_destroy,
	.mem_alloc = emu_mem_alloc,
	.mem_cost = emu_mem_cost,
	.mem_free = emu_mem_free,
	.mem_share = emu_mem_share,
	.mem_open = emu_mem_open,
	.backing_create = emu_backing_create,
	.backing_of_host = emu_backing_of_host,
	.backing_destroy = emu_backing_destroy,
	.backing_map = emu_backing_map,
	.backing_access = emu_backing_access,
	.backing_unmap = emu_backing_unmap,
	.backing_export = emu_backing_export,
	.backing_import = emu_backing_import,
	.host_pin = emu_host_pin,
	.host_unpin = emu_host_unpin,
	.module_load = emu_module_load,
	.module_unload = emu_module_unload,
	.module_bytes = emu_module_bytes,
	.module_cost = emu_module_cost,
	.module_managed = emu_module_managed,
	.module_place = emu_module_place,
	.module_heap = emu_module_heap,
	.function_get = emu_function_get,
	.global_get = emu_global_get,
	.function_name = emu_function_name,
	.function_prepare = emu_function_prepare,
	.loads_apart = true,
	.cluster_room = emu_cluster_room,
	.cluster_size = emu_cluster_size,
	.tensor_map = emu_tensor_map,
	.queue_create = emu_queue_create,
	.queue_destroy = emu_queue_destroy,
	.issue = emu_issue,
	.poll = emu_poll,
	.event_fd = emu_event_fd,
	.ran_ns = emu_ran_ns,
	.print_read = emu_print_read,
	.print_limit = emu_print_limit,
	.heap_size = emu_heap_size,
	.stack_size = emu_stack_size,
	.now_ns = emu_now_ns,
	.advance = emu_advance,
	.advance_to = emu_advance_to,
};

uint64_t gsb_emu_frees_under_work(struct gsb_device *dev)
{
	return to_emu(dev)->n_frees_under_work;
}

static bool holds(const struct gsb_emu_memory *m, uint64_t addr, uint64_t len)
{
	struct emu_heap *heap =
		gsb_container_of((struct gsb_emu_memory *)(uintptr_t)m, struct emu_heap, memory);

	return emu_near_holds(heap, addr, len);
}

void gsb_emu_watch_launches(struct gsb_device *dev, unsigned int what)
{
	to_emu(dev)->watch.holds = holds;
	to_emu(dev)->watch.what = what;
}

struct gsb_emu_profile gsb_emu_profile(struct gsb_device *dev)
{
	struct gsb_emu_watch *w = &to_emu(dev)->watch;
	struct gsb_emu_profile p = w->profile;

	w->profile = (struct gsb_emu_profile){0};
	return p;
}
