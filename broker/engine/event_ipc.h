/*
 * event_ipc.h - events that programs hand to each other: made by one, exported, opened by others, and asked after by calls, because a
 * tenant's own words know its own recordings only. What they mean in streams is in order/shared.h.
 */
#ifndef GSB_BROKER_ENGINE_EVENT_IPC_H
#define GSB_BROKER_ENGINE_EVENT_IPC_H

#include <stdint.h>

#include "gsb/wire.h"

struct gsb_event;
struct gsb_shared;
struct gsb_tenant;

/* A new event of t's is one that others may have. -ENOMEM. */
int gsb_ipc_event_make(struct gsb_tenant *t, struct gsb_event *e);

/* CALL: a handle of it. */
int gsb_ipc_event_export(struct gsb_tenant *t, const struct gsb_rec *rec, struct gsb_event *e);

/*
 * gsb_ipc_event_find() - what a handle names, for t to have a share of it
 * Return: 0, -EINVAL (no handle of an event), -EXDEV (of another engine's), -EBADF (there is none, or none any more),
 *         -ELOOP (t has made it itself).
 */
int gsb_ipc_event_find(struct gsb_tenant *t, const struct gsb_ipc_handle *handle,
		       struct gsb_shared **out);

/* CALL: answered when the latest recording of the shared event is done, which it is not yet. */
int gsb_ipc_event_await(struct gsb_tenant *t, const struct gsb_rec *rec, struct gsb_shared *s);
/* It is leaving: it gets no answer any more. */
void gsb_ipc_event_cancel(struct gsb_tenant *t);

#endif
