/*
 * uid_limits.c - see uid_limits.h.
 */
#include "broker/supervisor/uid_limits.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/clock.h"

#define LINE_MAX_BYTES 1000 /* gsb_log cuts there */

/* Where uid stands; a new one takes a free place, or that of whose lines were paid for first. */
static unsigned place_of(struct gsb_uid_limits *l, uid_t uid)
{
	unsigned quietest = 0;

	for (unsigned i = 0; i < l->n; i++) {
		if (l->at[i].uid == uid)
			return i;
		if (l->at[i].limit.paid_ns < l->at[quietest].limit.paid_ns)
			quietest = i;
	}
	if (l->n < GSB_UID_LIMITS_MAX)
		quietest = l->n++;
	l->at[quietest].uid = uid;
	l->at[quietest].limit = (struct gsb_log_limit){0};
	return quietest;
}

bool gsb_uid_limits_pass(struct gsb_uid_limits *l, uid_t uid, uint64_t now_ns, unsigned *n_held)
{
	return gsb_log_limit_pass(&l->at[place_of(l, uid)].limit, now_ns, n_held);
}

static void say_held(uid_t uid, enum gsb_log_level level, const char *topic, unsigned n_held)
{
	if (n_held)
		gsb_log(level, topic, "uid %u: ... and %u more like it", uid, n_held);
}

void gsb_uid_log(struct gsb_uid_limits *l, uid_t uid, enum gsb_log_level level, const char *topic,
		 const char *fmt, ...)
{
	char line[LINE_MAX_BYTES];
	unsigned n_held = 0;
	va_list ap;

	if (!gsb_log_enabled(level) || !gsb_uid_limits_pass(l, uid, gsb_clock_ns(), &n_held))
		return;
	say_held(uid, level, topic, n_held);
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	gsb_log(level, topic, "%s", line);
}

void gsb_uid_log_end(struct gsb_uid_limits *l, enum gsb_log_level level, const char *topic)
{
	for (unsigned i = 0; i < l->n; i++) {
		say_held(l->at[i].uid, level, topic, l->at[i].limit.n_held);
		l->at[i].limit.n_held = 0;
	}
}
