/*
 * device_kit.c - see device_kit.h.
 */
#include "tests/unit/device_kit.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#ifdef __SANITIZE_THREAD__ /* its runtime leaves programs no addresses but low ones */
#define DEVICE_BASE 0x1000000000ull
#define HOST_BASE   0x3000000000ull
#else
#define DEVICE_BASE 0x400000000000ull
#define HOST_BASE   0x200000000000ull
#endif
#define DEVICE_SIZE (1ull << 32)
#define HOST_SIZE   (1ull << 24)

void t_device_open(struct t_device *d, const char *spec, unsigned n_workers)
{
	struct gsb_device_params p = {.spec = spec, .n_workers = n_workers};
	struct gsb_space_params space = {.device_base = DEVICE_BASE,
					 .device_size = DEVICE_SIZE,
					 .host_base = HOST_BASE,
					 .host_size = HOST_SIZE};

	memset(d, 0, sizeof(*d));
	if (gsb_device_open(&p, &d->dev, d->log, sizeof(d->log)))
		fail_msg("%s", d->log);
	d->ops = d->dev->ops;
	assert_int_equal(d->ops->space_create(d->dev, &space, &d->space), 0);
	assert_int_equal(d->ops->queue_create(d->dev, 0, GSB_ALL_SMS, &d->queue), 0);
}

void t_device_close(struct t_device *d)
{
	d->ops->queue_destroy(d->queue);
	d->ops->space_destroy(d->space);
	d->ops->close(d->dev);
}

int t_device_load(struct t_device *d, const char *text)
{
	d->ops->module_unload(d->module);
	d->module = NULL;
	d->log[0] = 0;
	return d->ops->module_load(d->space, text, strlen(text), &d->module, d->log,
				   sizeof(d->log));
}

char *t_device_read(const char *path)
{
	const char *dir = getenv("srcdir");
	char name[1024], *text;
	FILE *f;
	long n;

	snprintf(name, sizeof(name), "%s/%s", dir ? dir : ".", path);
	f = fopen(name, "r");
	if (!f)
		fail_msg("%s: cannot be read", name);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)n, f), n);
	fclose(f);
	return text;
}

void t_device_load_file(struct t_device *d, const char *path)
{
	char *text = t_device_read(path);

	if (t_device_load(d, text))
		fail_msg("%s: %s", path, d->log);
	free(text);
}

struct gsb_function *t_device_function(struct t_device *d, const char *name,
				       struct gsb_function_info *info)
{
	struct gsb_function *f = NULL;

	if (d->ops->function_get(d->module, name, &f, info))
		fail_msg("no kernel '%s'", name);
	return f;
}

void *t_device_alloc(struct t_device *d, uint64_t bytes)
{
	uint64_t addr = 0;

	assert_int_equal(d->ops->mem_alloc(d->space, bytes, &addr), 0);
	return (void *)(uintptr_t)addr;
}

static uint32_t put_params(const struct gsb_function_info *info, const struct t_device_launch *l,
			   uint8_t *out)
{
	assert_true(info->params_bytes <= T_DEVICE_MAX_PARAMS);
	for (uint32_t i = 0; i < info->n_params; i++)
		memcpy(out + info->params[i].offset, &l->args[i], info->params[i].size);
	return info->params_bytes;
}

int t_device_issue(struct t_device *d, const struct t_device_launch *l)
{
	uint8_t params[T_DEVICE_MAX_PARAMS] = {0};
	static struct gsb_function_info info;
	struct gsb_cmd cmd = {
		.kind = GSB_CMD_LAUNCH,
		.space = d->space,
		.launch = {.function = t_device_function(d, l->kernel, &info),
			   .grid = {l->grid, l->grid_y ? l->grid_y : 1, l->grid_z ? l->grid_z : 1},
			   .cluster = {l->cluster[0], l->cluster[1], l->cluster[2]},
			   .block = {l->block, 1, 1},
			   .smem_bytes = l->smem_bytes,
			   .cooperative = l->cooperative,
			   .params = params},
	};
	int err = d->ops->function_prepare(cmd.launch.function, d->log, sizeof(d->log));

	if (err)
		return err;
	cmd.launch.params_bytes = put_params(&info, l, params);
	return d->ops->issue(d->queue, &cmd);
}

struct gsb_completion t_device_run(struct t_device *d, const struct t_device_launch *l)
{
	struct pollfd fd = {.fd = d->ops->event_fd(d->dev), .events = POLLIN};
	struct gsb_completion done = {0};
	int err = t_device_issue(d, l);

	if (err)
		fail_msg("%s: %s: %s", l->kernel, strerror(-err), d->log);
	while (!d->ops->poll(d->dev, &done, 1)) {
		if (d->ops->advance)
			d->ops->advance(d->dev, UINT64_MAX);
		if (d->ops->poll(d->dev, &done, 1))
			break;
		assert_int_equal(poll(&fd, 1, 60000), 1);
	}
	return done;
}
