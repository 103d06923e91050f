/*
 * log.c - lines in the engine's log that a tenant can cause as often as it likes: few of them are written, and how
 * many were not is said. It is for what anybody's log shows; who asks for more (GSB_LOG_INFO) gets all of it.
 */
#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"
#include "broker/engine/tenant/tenant.h"

#define LINE_MAX_BYTES 1000 /* gsb_log cuts there */

static void say_held(const struct gsb_tenant *t, unsigned n_held)
{
	if (!n_held)
		return;
	gsb_trace(LINES_DROPPED, lines_dropped, t->id, .n_lines = n_held);
	gsb_log(GSB_LOG_WARN, "tenant", "%u (%s, pid %u): ... and %u lines more", t->id, t->name,
		t->pid, n_held);
}

void gsb_tenant_log(struct gsb_tenant *t, enum gsb_log_level level, const char *topic,
		    const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	unsigned n_held;
	va_list ap;

	if (!gsb_log_enabled(level) || !gsb_log_limit_pass(&t->log, gsb_clock_ns(), &n_held))
		return;
	say_held(t, n_held);
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	gsb_log(level, topic, "%s", line);
}

void gsb_tenant_log_end(struct gsb_tenant *t)
{
	say_held(t, t->log.n_held);
	t->log.n_held = 0;
}
