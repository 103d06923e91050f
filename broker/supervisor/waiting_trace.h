/*
 * waiting_trace.h - a recording that was asked for before any engine ran: the file waits here for the next one, so that a
 * trace can begin with an engine's first tenant.
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

#endif
