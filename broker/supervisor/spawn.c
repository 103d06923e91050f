/*
 * spawn.c - an engine as a process: its arguments, its environment, its descriptors.
 *
 * gsb-engine has no configuration of its own: all it needs stands on its command line.
 */
#include "broker/supervisor/spawn.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/compiler.h"
#include "broker/supervisor/child.h"

#define ENGINE_CONTROL_FD 3
#define ENGINE_ARGS_MAX	  36

struct args {
	char *argv[ENGINE_ARGS_MAX];
	unsigned n;
	char room[8192];
	size_t used;
};

/* Append one argument; everything fits, by the limits of the configuration's texts. */
GSB_PRINTF(2, 3)
static void add(struct args *a, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(a->room + a->used, sizeof(a->room) - a->used, fmt, ap);
	va_end(ap);
	if (n < 0 || a->used + (size_t)n >= sizeof(a->room) || a->n == ENGINE_ARGS_MAX - 1)
		return;
	a->argv[a->n++] = a->room + a->used;
	a->argv[a->n] = NULL;
	a->used += (size_t)n + 1;
}

static void add_resize_args(const struct gsb_resize_config *r, struct args *a)
{
	add(a, "--resize-cache=%s", r->cache); /* measured times are kept there, too */
	add(a, "--resize-cache-size=%" PRIu64, r->cache_size);
	if (r->mode == GSB_RESIZE_MODE_OFF)
		return;
	add(a, "--resize=%s", gsb_config_resize_name(r->mode));
	add(a, "--resize-force=%s", r->force);
	add(a, "--resize-allow=%s", r->allow);
	add(a, "--resize-deny=%s", r->deny);
	add(a, "--resize-max-loss=%" PRIu64, r->max_loss);
	add(a, "--resize-shadow-every=%" PRIu64, r->shadow_every);
	add(a, "--resize-shadow-memory=%" PRIu64, r->shadow_memory);
	add(a, "--resize-shadow-limit-ms=%" PRIu64, r->shadow_limit_ms);
}

static void fill_args(const struct gsb_spawn *p, struct args *a)
{
	const struct gsb_device_config *c = p->config;
	const char *flip = secure_getenv("GSB_TEST_FLIP");

	add(a, "gsb-engine");
	add(a, "--control-fd=%d", ENGINE_CONTROL_FD);
	add(a, "--device=%s%s", c->isolation == GSB_ISOLATION_LANES ? "lanes:" : "", p->spec);
	add(a, "--policy=%s", gsb_config_policy_name(c->policy));
	add(a, "--critical-wait-us=%" PRIu64, c->critical_wait_us);
	add(a, "--critical-sms-percent=%" PRIu64, c->critical_sms_percent);
	add(a, "--workers=%" PRIu64, c->workers);
	add(a, "--mem-limit=%" PRIu64, c->memory);
	if (c->clock == GSB_CLOCK_REAL)
		add(a, "--real-clock");
	add(a, "--host-call-ns=%" PRIu64, c->host_call_ns);
	add(a, "--gate-timeout-ms=%" PRIu64, c->gate_timeout_ms);
	add(a, "--kernel-limit-ms=%" PRIu64, c->kernel_limit_ms);
	add(a, "--orphan-limit-ms=%" PRIu64, c->orphan_limit_ms);
	add(a, "--start-line=%" PRIu64, c->start_line);
	add(a, "--start-line-ms=%" PRIu64, c->start_line_ms);
	if (c->trace)
		add(a, "--trace");
	add(a, "--spare-lanes=%" PRIu64, c->spare_lanes);
	add(a, "--connections=%" PRIu64, c->connections);
	if (gsb_config_is_per_process(c))
		add(a, "--single");
	if (p->mps_env && c->isolation == GSB_ISOLATION_MPS)
		add(a, "--mps");
	add_resize_args(p->resize, a);
	add(a, "--log-level=%s", gsb_config_level_name(p->log));
	if (flip)
		add(a, "--flip=%.64s", flip);
}

int gsb_spawn_engine(const struct gsb_spawn *p, pid_t *pid)
{
	struct args args = {.n = 0};
	struct gsb_child child = {
		.program = p->program,
		.argv = args.argv,
		.env = p->mps_env,
		/* gsbrun's user owns standard output: it is for his program alone */
		.fds = {-1, STDERR_FILENO, STDERR_FILENO, p->control_fd},
	};

	fill_args(p, &args);
	return gsb_child_start(&child, pid);
}
