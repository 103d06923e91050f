/*
 * emu_launch.c - see emu_launch.h.
 *
 * What would make the device refuse the launch with a number is looked for first, to be told in words.
 */
#include "tools/emu_launch.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "device/info.h"

/* Where a device address points to: as far from everything of ours as an engine's windows are. */
#define DEVICE_BASE ((uint64_t)0x400000000000)
#define DEVICE_SIZE ((uint64_t)1 << 40)

int emu_device_open(const struct emu_options *o, struct gsb_device **out)
{
	struct gsb_device_params p = {.n_workers = o->n_workers};
	char spec[4096], err[512];

	snprintf(spec, sizeof(spec), "emu:%s", o->arch);
	p.spec = spec;
	if (!gsb_device_open(&p, out, err, sizeof(err)))
		return 0;
	fprintf(stderr, "gsb-emu: %s\n", err);
	return -1;
}

/* ---- the kernel ---- */

static int open_space(struct emu_launch *l)
{
	const struct gsb_space_params p = {.device_base = DEVICE_BASE, .device_size = DEVICE_SIZE};
	const struct gsb_device_ops *ops = l->dev->ops;
	int err = ops->space_create(l->dev, &p, &l->space);

	if (!err)
		err = ops->queue_create(l->dev, 0, GSB_ALL_SMS, &l->queue);
	if (err)
		fprintf(stderr, "gsb-emu: no room for device memory: %s\n", strerror(-err));
	return err ? -1 : 0;
}

static int load(struct emu_launch *l)
{
	const struct gsb_device_ops *ops = l->dev->ops;
	char log[4096] = "";
	int err = ops->module_load(l->space, l->kernel.module->text, l->kernel.module->len,
				   &l->module, log, sizeof(log));

	if (!err)
		err = ops->function_get(l->module, l->kernel.entry->name, &l->function, &l->info);
	if (!err)
		err = ops->function_prepare(l->function, log, sizeof(log));
	if (!err)
		return 0;
	fprintf(stderr, "gsb-emu: %s: %s\n", l->file.path, *log ? log : strerror(-err));
	return -1;
}

/* ---- arguments ---- */

static void tell_parameters(const struct gsb_ptx_func *f)
{
	for (uint32_t i = 0; i < f->n_params; i++)
		fprintf(stderr, "gsb-emu:     %u: %s, %" PRIu64 " bytes (.%s)\n", i,
			f->params[i].name, f->params[i].size_bytes,
			gsb_ptx_type_name(f->params[i].type));
}

static int parse_args(struct emu_launch *l, char **words, int n_words)
{
	const struct gsb_ptx_func *f = l->kernel.entry;

	if ((uint32_t)n_words != f->n_params || n_words > EMU_ARGS_MAX) {
		fprintf(stderr, "gsb-emu: %s takes %u arguments, %d are given\n", f->name,
			f->n_params, n_words);
		tell_parameters(f);
		return -1;
	}
	for (int i = 0; i < n_words; i++) {
		l->n_args++;
		if (emu_arg_parse(&l->args[i], words[i]))
			return -1;
		l->args[i].parameter = f->params[i].name;
	}
	return 0;
}

static int place_memory(struct emu_launch *l, struct emu_arg *a)
{
	int err = l->dev->ops->mem_alloc(l->space, a->size, &a->address);

	if (!err)
		memcpy((void *)(uintptr_t)a->address, a->bytes, a->size);
	else
		fprintf(stderr, "gsb-emu: %s: %zu bytes of device memory: %s\n", a->parameter,
			a->size, strerror(-err));
	return err ? -1 : 0;
}

static int resolve_address(struct emu_launch *l, struct emu_arg *a)
{
	const struct emu_arg *of = emu_arg_find(l->args, l->n_args, a->of, a->of_len);

	if (!of || of->kind != EMU_ARG_MEMORY) {
		fprintf(stderr, "gsb-emu: at:%.*s: no argument of memory is called that\n",
			(int)a->of_len, a->of);
		return -1;
	}
	a->address = of->address + (uint64_t)a->offset;
	return 0;
}

static int put_param(struct emu_launch *l, size_t i)
{
	const struct emu_arg *a = &l->args[i];
	const struct gsb_param *p = &l->info.params[i];
	bool is_value = a->kind == EMU_ARG_VALUE;
	size_t size = is_value ? a->value_size : sizeof(a->address);

	if (size == p->size) {
		memcpy(l->params + p->offset, is_value ? a->value : (const void *)&a->address,
		       size);
		return 0;
	}
	fprintf(stderr, "gsb-emu: argument %zu (%s): %s has %zu bytes, the parameter has %u\n", i,
		a->parameter, is_value ? "what is given" : "an address", size, p->size);
	return -1;
}

static int place_args(struct emu_launch *l)
{
	for (size_t i = 0; i < l->n_args; i++)
		if (l->args[i].kind == EMU_ARG_MEMORY && place_memory(l, &l->args[i]))
			return -1;
	for (size_t i = 0; i < l->n_args; i++)
		if (l->args[i].kind == EMU_ARG_ADDRESS && resolve_address(l, &l->args[i]))
			return -1;
	for (size_t i = 0; i < l->n_args; i++)
		if (put_param(l, i))
			return -1;
	return 0;
}

int emu_launch_open(struct emu_launch *l, const struct emu_options *o, char **words, int n_words)
{
	const struct gsb_arch *arch;

	if (emu_device_open(o, &l->dev))
		return -1;
	arch = emu_arch(l->dev);
	if (emu_file_open(&l->file, words[0], arch->cc_major * 10 + arch->cc_minor) ||
	    emu_file_find(&l->file, o->kernel, &l->kernel))
		return -1;
	return parse_args(l, words + 1, n_words - 1) || open_space(l) || load(l) || place_args(l)
		       ? -1
		       : 0;
}

/* ---- the launch ---- */

static const char axis_name[3] = {'x', 'y', 'z'};

static int check_axes(const char *what, const uint32_t dims[3], const uint64_t most[3],
		      const char *arch)
{
	for (int i = 0; i < 3; i++) {
		if (dims[i] <= most[i])
			continue;
		fprintf(stderr, "gsb-emu: a %s of %u in %c: %s has at most %" PRIu64 "\n", what,
			dims[i], axis_name[i], arch, most[i]);
		return -1;
	}
	return 0;
}

static int check_threads(const struct emu_launch *l, const struct emu_options *o)
{
	const int32_t most = l->info.attrs[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
	const uint32_t *req = l->info.reqntid;
	uint64_t n = (uint64_t)o->block[0] * o->block[1] * o->block[2];

	if (n > (uint64_t)most) {
		fprintf(stderr, "gsb-emu: a block of %" PRIu64 " threads: %s may have at most %d\n",
			n, l->kernel.entry->name, most);
		return -1;
	}
	for (int i = 0; i < 3 && req[0]; i++) {
		if (o->block[i] == (req[i] ? req[i] : 1))
			continue;
		fprintf(stderr, "gsb-emu: %s is made for blocks of %u,%u,%u threads\n",
			l->kernel.entry->name, req[0], req[1] ? req[1] : 1, req[2] ? req[2] : 1);
		return -1;
	}
	return 0;
}

static int check_shared(const struct emu_launch *l, const struct emu_options *o)
{
	const struct gsb_arch *arch = emu_arch(l->dev);
	uint64_t fixed = (uint64_t)l->info.attrs[CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES];

	if (fixed + o->smem_bytes <= arch->smem_per_block_optin_bytes)
		return 0;
	fprintf(stderr,
		"gsb-emu: %" PRIu64 " bytes of shared memory and %u dynamic: a block of %s has at "
		"most %u\n",
		fixed, o->smem_bytes, arch->name, arch->smem_per_block_optin_bytes);
	return -1;
}

static int check_geometry(const struct emu_launch *l, const struct emu_options *o)
{
	static const uint64_t grid_max[3] = {GSB_GRID_X_MAX, GSB_GRID_YZ_MAX, GSB_GRID_YZ_MAX};
	const struct gsb_arch *arch = emu_arch(l->dev);
	const uint64_t block_max[3] = {arch->max_threads_per_block, arch->max_threads_per_block,
				       GSB_BLOCK_Z_MAX};

	if (check_axes("grid", o->grid, grid_max, arch->name) ||
	    check_axes("block", o->block, block_max, arch->name))
		return -1;
	return check_threads(l, o) || check_shared(l, o) ? -1 : 0;
}

static int issue(struct emu_launch *l, const struct emu_options *o)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = l->space,
			      .launch = {.function = l->function,
					 .smem_bytes = o->smem_bytes,
					 .cooperative = o->cooperative,
					 .params = l->params,
					 .params_bytes = l->info.params_bytes}};
	int err;

	memcpy(cmd.launch.grid, o->grid, sizeof(o->grid));
	memcpy(cmd.launch.block, o->block, sizeof(o->block));
	err = l->dev->ops->issue(l->queue, &cmd);
	if (!err)
		return 0;
	fprintf(stderr, "gsb-emu: %s cannot be launched so: %s\n", l->kernel.entry->name,
		err != -E2BIG	 ? strerror(-err)
		: o->cooperative ? "its blocks cannot all be resident at once"
				 : "its registers, threads or shared memory do not fit into an SM");
	return -1;
}

static void wait_done(struct emu_launch *l)
{
	const struct gsb_device_ops *ops = l->dev->ops;
	struct pollfd fd = {.fd = ops->event_fd(l->dev), .events = POLLIN};

	while (!ops->poll(l->dev, &l->done, 1)) {
		ops->advance(l->dev, UINT64_MAX);
		if (ops->poll(l->dev, &l->done, 1))
			return;
		poll(&fd, 1, -1);
	}
}

static void say_printed(struct emu_launch *l)
{
	char text[16384];
	bool to_stderr = false, more;
	size_t n;

	do {
		n = l->dev->ops->print_read(l->space, text, sizeof(text), &to_stderr, &more);
		fwrite(text, 1, n, to_stderr ? stderr : stdout);
	} while (more);
	fflush(stdout);
}

static void fetch_memory(struct emu_launch *l)
{
	for (size_t i = 0; i < l->n_args; i++)
		if (l->args[i].kind == EMU_ARG_MEMORY)
			memcpy(l->args[i].bytes, (const void *)(uintptr_t)l->args[i].address,
			       l->args[i].size);
}

int emu_launch_run(struct emu_launch *l, const struct emu_options *o)
{
	const char *name;

	if (check_geometry(l, o))
		return -1;
	gsb_emu_watch_launches(l->dev, o->watch);
	if (issue(l, o))
		return -1;
	wait_done(l);
	say_printed(l);
	fetch_memory(l);
	if (l->done.result == CUDA_SUCCESS)
		return 0;
	name = gsb_cuda_error_name(l->done.result);
	fprintf(stderr, "gsb-emu: %s failed with %s\n", l->kernel.entry->name, name ? name : "?");
	return -1;
}

void emu_launch_close(struct emu_launch *l)
{
	for (size_t i = 0; i < l->n_args; i++)
		emu_arg_finish(&l->args[i]);
	if (l->queue)
		l->dev->ops->queue_destroy(l->queue);
	if (l->space)
		l->dev->ops->space_destroy(l->space);
	emu_file_close(&l->file);
	if (l->dev)
		l->dev->ops->close(l->dev);
}
