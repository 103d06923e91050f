/*
 * emu.c - see emu.h. Memory of the device is memory of this process: copies go there directly.
 */
#include "tests/litmus/emu.h"

#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "device/ops.h"

static bool load(struct litmus_machine *base, const char *text, const char *kernel, char *log,
		 size_t size)
{
	struct litmus_emu *m = (struct litmus_emu *)base;
	const struct gsb_device_ops *ops = m->dev->ops;
	struct gsb_function_info info;

	if (m->module)
		ops->module_unload(m->module);
	m->module = NULL;
	if (ops->module_load(m->space, text, strlen(text), &m->module, log, size) ||
	    ops->function_get(m->module, kernel, &m->function, &info))
		return false;
	return !ops->function_prepare(m->function, log, size);
}

/* Time is driven as an engine does whose tenants all wait. */
static void wait_for(struct litmus_emu *m, struct gsb_completion *c)
{
	const struct gsb_device_ops *ops = m->dev->ops;

	while (!ops->poll(m->dev, c, 1)) {
		struct pollfd fd = {.fd = ops->event_fd(m->dev), .events = POLLIN};

		ops->advance(m->dev, UINT64_MAX);
		if (ops->poll(m->dev, c, 1))
			return;
		assert_int_equal(poll(&fd, 1, 600000), 1);
	}
}

static bool run(struct litmus_machine *base, struct litmus_launch *l, char *log, size_t size)
{
	struct litmus_emu *m = (struct litmus_emu *)base;
	struct gsb_cmd cmd = {
		.kind = GSB_CMD_LAUNCH,
		.space = m->space,
		.launch = {.function = m->function,
			   .grid = {l->grid, 1, 1},
			   .block = {l->block, 1, 1},
			   .smem_bytes = l->smem,
			   .params = &l->params,
			   .params_bytes = sizeof(l->params)},
	};
	struct gsb_completion c;
	void *mem = (void *)(uintptr_t)m->buffer[0], *res = (void *)(uintptr_t)m->buffer[1],
	     *sync = (void *)(uintptr_t)m->buffer[2];

	assert_true(l->mem_bytes <= LITMUS_EMU_BUFFER && l->res_bytes <= LITMUS_EMU_BUFFER &&
		    l->sync_bytes <= LITMUS_EMU_BUFFER);
	l->params.mem = m->buffer[0];
	l->params.res = m->buffer[1];
	l->params.sync = m->buffer[2];
	memcpy(mem, l->mem, l->mem_bytes);
	memcpy(res, l->res, l->res_bytes);
	memcpy(sync, l->sync, l->sync_bytes);
	assert_int_equal(m->dev->ops->issue(m->queue, &cmd), 0);
	wait_for(m, &c);
	m->end_ns = c.end_ns;
	memcpy(l->mem, mem, l->mem_bytes);
	memcpy(l->res, res, l->res_bytes);
	snprintf(log, size, "%s", c.detail);
	return c.result == CUDA_SUCCESS;
}

#ifdef __SANITIZE_THREAD__ /* its runtime leaves programs no addresses but low ones */
#define DEVICE_BASE 0x1000000000ull
#else
#define DEVICE_BASE 0x400000000000ull
#endif

void litmus_emu_open(struct litmus_emu *m, unsigned int n_workers)
{
	struct gsb_device_params p = {.spec = "emu:h200", .n_workers = n_workers};
	struct gsb_space_params space = {.device_base = DEVICE_BASE, .device_size = 1ull << 32};
	char err[256] = "";

	*m = (struct litmus_emu){.base = {load, run}};
	if (gsb_device_open(&p, &m->dev, err, sizeof(err)))
		fail_msg("%s", err);
	assert_int_equal(m->dev->ops->space_create(m->dev, &space, &m->space), 0);
	assert_int_equal(m->dev->ops->queue_create(m->dev, 0, GSB_ALL_SMS, &m->queue), 0);
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(m->dev->ops->mem_alloc(m->space, LITMUS_EMU_BUFFER, &m->buffer[i]),
				 0);
}

void litmus_emu_close(struct litmus_emu *m)
{
	const struct gsb_device_ops *ops = m->dev->ops;

	ops->queue_destroy(m->queue);
	ops->space_destroy(m->space);
	ops->close(m->dev);
}
