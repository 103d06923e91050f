/*
 * waiting_trace.h - what was asked for before the engine ran, so that a trace can begin with its first tenant: a file waits here
 * for the next engine, and a wish for events of LTTng is one for all that start, until it is taken back.
 */
#ifndef GSB_BROKER_SUPERVISOR_WAITING_TRACE_H
#define GSB_BROKER_SUPERVISOR_WAITING_TRACE_H

#include <stdbool.h>
#include <sys/types.h>

struct gsb_waiting_trace {
	int fd;	   /* -1: none */
	uid_t uid; /* who asked */
	bool any;  /* he may trace everybody's engines; else his own */
};

/* @fd: consumed. -EBUSY: one waits already. */
int gsb_waiting_trace_set(struct gsb_waiting_trace *w, int fd, uid_t uid, bool any);
/* The file, for an engine of that user; -1: there is none for it. */
int gsb_waiting_trace_take(struct gsb_waiting_trace *w, uid_t uid);
void gsb_waiting_trace_drop(struct gsb_waiting_trace *w);

#define GSB_LTTNG_WISHES_MAX 64 /* users */

struct gsb_lttng_wishes {
	unsigned n;
	struct gsb_lttng_wish {
		uid_t uid; /* who asked, once */
		bool any;  /* as above */
	} at[GSB_LTTNG_WISHES_MAX];
};

/* Zeroed has none. -ENOSPC: too many users have one. */
int gsb_lttng_wishes_add(struct gsb_lttng_wishes *w, uid_t uid, bool any);
bool gsb_lttng_wishes_remove(struct gsb_lttng_wishes *w, uid_t uid); /* false: he had none */
bool gsb_lttng_wishes_has(const struct gsb_lttng_wishes *w, uid_t uid);
/* Whether an engine of that user is to offer its events. */
bool gsb_lttng_wishes_want(const struct gsb_lttng_wishes *w, uid_t uid);

#endif
