/*
 * null.c - a device that does nothing, at once: what is left of a run on it is the cost of the
 * transport.
 *
 * Addresses, limits and errors are a real device's; memory has no bytes behind it, a copy copies
 * nothing, and whatever is issued has completed when issue returns. Completions therefore come from
 * issue alone and the next poll finds them: the event fd never needs to tell. Each begins and ends when the
 * engine last asked for the time, which it does once a turn: to read the clock would cost as much as all else.
 */
#include "device/null/null.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/clock.h"
#include "device/code.h"
#include "device/done.h"
#include "device/info.h"
#include "device/range.h"
#include "model/gpu/arch.h"

#define NULL_ARCH	 "h200"
#define NULL_ALIGN_BYTES 512
#define NULL_GUARD_BYTES 4096

struct null_device {
	struct gsb_device base;
	struct gsb_device_info info;
	struct gsb_done done;
	struct gsb_code_cache *codes;
	uint64_t used_bytes;
	uint64_t now_ns; /* when the time was last asked for */
	int event_fd;
	bool has_area; /* where backings may be mapped */
};

struct gsb_backing {
	struct null_device *dev;
	uint64_t counted; /* of the device */
};

struct gsb_space {
	struct null_device *dev;
	struct gsb_ranges device, host;
	uint64_t limit_bytes, used_bytes;
	struct gsb_module *modules;
};

struct gsb_function {
	struct gsb_function *next;
};

struct gsb_module {
	struct gsb_space *space;
	struct gsb_module *prev, *next;
	struct gsb_code *code;
	struct gsb_function *functions;
	uint64_t globals; /* 0 = it has no variables */
	uint64_t managed; /* where managed ones lie; 0 = nowhere yet */
	struct gsb_code_sizes sizes;
	uint64_t *var_addr;
};

struct gsb_queue {
	struct null_device *dev;
};

static struct null_device *to_null(struct gsb_device *dev)
{
	return gsb_container_of(dev, struct null_device, base);
}

/* ---- the device ---- */

static void null_close(struct gsb_device *base)
{
	struct null_device *dev = to_null(base);

	gsb_code_cache_destroy(dev->codes);
	if (dev->event_fd >= 0)
		close(dev->event_fd);
	gsb_done_finish(&dev->done);
	free(dev);
}

static int null_open(const struct gsb_device_params *p, struct gsb_device **out, char *err,
		     size_t err_size)
{
	const struct gsb_arch *arch = gsb_arch_find(NULL_ARCH);
	struct null_device *dev;

	if (strcmp(p->spec, gsb_null_ops.scheme)) {
		snprintf(err, err_size, "device '%s': null takes nothing behind it; write null",
			 p->spec);
		return -ENODEV;
	}
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dev->event_fd < 0 || gsb_code_cache_create(&dev->codes)) {
		null_close(&dev->base);
		return -ENOMEM;
	}
	dev->now_ns = gsb_clock_ns();
	dev->base.ops = &gsb_null_ops;
	dev->has_area = p->virtual_size;
	gsb_device_info_fill(&dev->info, arch, "Null",
			     p->mem_limit_bytes ? p->mem_limit_bytes : arch->mem_bytes);
	*out = &dev->base;
	return 0;
}

static const struct gsb_device_info *null_info(struct gsb_device *dev)
{
	return &to_null(dev)->info;
}

static void null_mem_info(struct gsb_device *base, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct null_device *dev = to_null(base);

	*total_bytes = dev->info.total_mem_bytes;
	*free_bytes = dev->info.total_mem_bytes - dev->used_bytes;
}

/* ---- spaces and memory ---- */

static CUresult null_lost(struct gsb_device *dev)
{
	return CUDA_SUCCESS;
}

static int null_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
			     struct gsb_space **out)
{
	struct gsb_space *space = calloc(1, sizeof(*space));

	if (!space)
		return -ENOMEM;
	space->dev = to_null(dev);
	space->limit_bytes = p->mem_limit_bytes ? p->mem_limit_bytes : UINT64_MAX;
	gsb_ranges_init(&space->device, p->device_base, p->device_size);
	gsb_ranges_init(&space->host, p->host_base, p->host_size);
	*out = space;
	return 0;
}

static void null_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes)
{
	space->limit_bytes = mem_limit_bytes ? mem_limit_bytes : UINT64_MAX;
}

static void null_module_unload(struct gsb_module *module);

static void null_space_cancel(struct gsb_space *space)
{
	/* Nothing of it can be running. */
}

static void null_space_destroy(struct gsb_space *space)
{
	if (!space)
		return;
	while (space->modules)
		null_module_unload(space->modules);
	space->dev->used_bytes -= space->used_bytes;
	gsb_ranges_finish(&space->device);
	gsb_ranges_finish(&space->host);
	free(space);
}

static int null_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	struct null_device *dev = space->dev;
	int err;

	if (!size)
		return -EINVAL;
	if (size > dev->info.total_mem_bytes - dev->used_bytes)
		return -ENOMEM;
	if (space->used_bytes > space->limit_bytes || size > space->limit_bytes - space->used_bytes)
		return -EDQUOT;
	err = gsb_ranges_alloc(&space->device, size, NULL_ALIGN_BYTES, NULL_GUARD_BYTES, addr);
	if (err)
		return err;
	space->used_bytes += size;
	dev->used_bytes += size;
	return 0;
}

static int null_mem_free(struct gsb_space *space, uint64_t addr)
{
	struct gsb_range was;
	int err = gsb_ranges_remove(&space->device, addr, &was);

	if (err)
		return err;
	space->used_bytes -= was.size;
	space->dev->used_bytes -= was.size;
	return 0;
}

static int null_host_pin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	return gsb_ranges_add(&space->host, addr, size);
}

static int null_host_unpin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	const struct gsb_range *r = gsb_ranges_find(&space->host, addr);
	struct gsb_range was;

	if (!r || r->start != addr || r->size != size)
		return -EINVAL;
	return gsb_ranges_remove(&space->host, addr, &was);
}

/* ---- memory without addresses ---- */

static int null_backing_create(struct gsb_device *base, uint64_t owner, uint64_t size,
			       struct gsb_backing **out)
{
	struct null_device *dev = to_null(base);
	struct gsb_backing *b;

	if (!dev->has_area)
		return -ENOTSUP;
	if (!size || size % GSB_BACKING_UNIT)
		return -EINVAL;
	if (size > dev->info.total_mem_bytes - dev->used_bytes)
		return -ENOMEM;
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct gsb_backing){.dev = dev, .counted = size};
	dev->used_bytes += size;
	*out = b;
	return 0;
}

static int null_backing_of_host(struct gsb_device *base, uint64_t owner, int fd, uint64_t at,
				uint64_t size, struct gsb_backing **out)
{
	struct null_device *dev = to_null(base);
	struct gsb_backing *b;

	if (!dev->has_area)
		return -ENOTSUP;
	if (!size || (at | size) % GSB_BACKING_UNIT)
		return -EINVAL;
	b = malloc(sizeof(*b));
	if (!b)
		return -ENOMEM;
	*b = (struct gsb_backing){.dev = dev};
	*out = b;
	return 0;
}

static void null_backing_destroy(struct gsb_backing *b)
{
	b->dev->used_bytes -= b->counted;
	free(b);
}

static int null_backing_map(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	return addr % GSB_BACKING_UNIT ? -EINVAL : 0;
}

static int null_backing_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
			       CUmemAccess_flags access)
{
	return 0;
}

static void null_backing_unmap(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	/* There was nothing but numbers. */
}

/* ---- code ---- */

static int make_variables(struct gsb_module *m, char *log, size_t log_size)
{
	const struct gsb_ptx_module *ptx = gsb_code_module(m->code);
	int err;

	m->var_addr = calloc(ptx->n_vars ? ptx->n_vars : 1, sizeof(*m->var_addr));
	if (!m->var_addr)
		return -ENOMEM;
	err = gsb_code_lay_out(m->code, m->var_addr, &m->sizes, log, log_size);
	if (!err && m->sizes.device_bytes)
		err = null_mem_alloc(m->space, m->sizes.device_bytes, &m->globals);
	return err;
}

static uint64_t null_module_managed(struct gsb_module *m)
{
	return m->sizes.managed_bytes;
}

/* Nothing here writes to memory. */
static int null_module_place(struct gsb_module *m, uint64_t addr, bool initialise)
{
	m->managed = addr;
	return 0;
}

static int null_module_load(struct gsb_space *space, const void *image, size_t size,
			    struct gsb_module **out, char *log, size_t log_size)
{
	struct gsb_module *module = calloc(1, sizeof(*module));
	int err;

	if (!module)
		return -ENOMEM;
	module->space = space;
	module->next = space->modules;
	if (module->next)
		module->next->prev = module;
	space->modules = module;
	err = gsb_code_get(space->dev->codes, image, size, &module->code, log, log_size);
	if (!err)
		err = make_variables(module, log, log_size);
	if (err) {
		null_module_unload(module);
		return err;
	}
	*out = module;
	return 0;
}

static void null_module_unload(struct gsb_module *module)
{
	struct gsb_function *f, *next;

	if (!module)
		return;
	for (f = module->functions; f; f = next) {
		next = f->next;
		free(f);
	}
	if (module->globals)
		null_mem_free(module->space, module->globals);
	if (module->next)
		module->next->prev = module->prev;
	*(module->prev ? &module->prev->next : &module->space->modules) = module->next;
	gsb_code_put(module->code);
	free(module->var_addr);
	free(module);
}

static uint64_t null_module_bytes(struct gsb_module *module)
{
	return gsb_code_bytes(module->code);
}

static int null_function_get(struct gsb_module *module, const char *name, struct gsb_function **out,
			     struct gsb_function_info *info)
{
	const struct gsb_code_kernel *kernel;
	struct gsb_function *f;
	int err = gsb_code_kernel(module->code, name, &kernel);

	if (!err)
		err = gsb_code_function_info(kernel, &module->space->dev->info.arch, info);
	if (err)
		return err;
	f = calloc(1, sizeof(*f));
	if (!f)
		return -ENOMEM;
	f->next = module->functions;
	module->functions = f;
	*out = f;
	return 0;
}

static int null_global_get(struct gsb_module *module, const char *name, uint64_t *addr,
			   uint64_t *size)
{
	const struct gsb_ptx_var *v = gsb_ptx_find_var(gsb_code_module(module->code), name);

	if (!v || !gsb_code_has_memory(v))
		return -ENOENT;
	*addr = (v->managed ? module->managed : module->globals) + module->var_addr[v->index];
	*size = v->size_bytes;
	return 0;
}

static int null_function_name(struct gsb_module *module, unsigned i, const char **name)
{
	*name = gsb_code_kernel_name(module->code, i);
	return *name ? 0 : -ENOENT;
}

static int null_function_prepare(struct gsb_function *function, char *log, size_t log_size)
{
	return 0;
}

/* ---- work ---- */

static int null_queue_create(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
			     struct gsb_queue **out)
{
	struct gsb_queue *queue;

	if (gsb_arch_find_sms(&to_null(dev)->info.arch, sms, &sms))
		return -EINVAL;
	queue = calloc(1, sizeof(*queue));
	if (!queue)
		return -ENOMEM;
	queue->dev = to_null(dev);
	*out = queue;
	return 0;
}

static void null_queue_destroy(struct gsb_queue *queue)
{
	free(queue);
}

static int null_issue(struct gsb_queue *queue, const struct gsb_cmd *cmd)
{
	struct gsb_done *done = &queue->dev->done;
	struct gsb_completion *c;
	int err = gsb_done_reserve(done, 1);

	if (err)
		return err;
	c = gsb_done_push(done);
	c->cookie = cmd->cookie;
	c->start_ns = c->end_ns = queue->dev->now_ns;
	return 0;
}

static unsigned null_poll(struct gsb_device *dev, struct gsb_completion *out, unsigned max)
{
	return gsb_done_pop(&to_null(dev)->done, out, max);
}

static int null_event_fd(struct gsb_device *dev)
{
	return to_null(dev)->event_fd;
}

static uint64_t null_now_ns(struct gsb_device *dev)
{
	return to_null(dev)->now_ns = gsb_clock_ns();
}

const struct gsb_device_ops gsb_null_ops = {
	.scheme = "null",
	.open = null_open,
	.close = null_close,
	.info = null_info,
	.mem_info = null_mem_info,
	.lost = null_lost,
	.space_create = null_space_create,
	.space_cancel = null_space_cancel,
	.space_limit = null_space_limit,
	.space_destroy = null_space_destroy,
	.mem_alloc = null_mem_alloc,
	.mem_free = null_mem_free,
	.may_keep = true,
	.backing_create = null_backing_create,
	.backing_of_host = null_backing_of_host,
	.backing_destroy = null_backing_destroy,
	.backing_map = null_backing_map,
	.backing_access = null_backing_access,
	.backing_unmap = null_backing_unmap,
	.host_pin = null_host_pin,
	.host_unpin = null_host_unpin,
	.module_load = null_module_load,
	.module_managed = null_module_managed,
	.module_place = null_module_place,
	.module_unload = null_module_unload,
	.module_bytes = null_module_bytes,
	.function_get = null_function_get,
	.global_get = null_global_get,
	.function_name = null_function_name,
	.function_prepare = null_function_prepare,
	.queue_create = null_queue_create,
	.queue_destroy = null_queue_destroy,
	.issue = null_issue,
	.poll = null_poll,
	.event_fd = null_event_fd,
	.now_ns = null_now_ns,
};
