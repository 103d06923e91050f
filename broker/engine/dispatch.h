/*
 * dispatch.h - what a record means: from the copied bytes to an item in a queue, or to an answer.
 *
 * The table of handlers is made from gsb/wire_records.def, so a record type without a handler does
 * not compile. A handler believes nothing: it looks up every handle, checks every length and range,
 * and only then acts.
 */
#ifndef GSB_BROKER_ENGINE_DISPATCH_H
#define GSB_BROKER_ENGINE_DISPATCH_H

#include "gsb/wire.h"

struct gsb_tenant;

/*
 * gsb_dispatch() - do what one record asks
 * @rec: the engine's copy; type and size are right, and header and body lie inside it
 *
 * Return: 0; -EAGAIN: no room in the tenant's queues, nothing happened, offer it again later;
 * -EPROTO: a violation, noted in t->why; -ENOMEM: the engine is out of memory, likewise.
 */
int gsb_dispatch(struct gsb_tenant *t, const struct gsb_rec *rec);

/* In virtual time: one call of the tenant's has taken its fixed time. gsb_dispatch does it for records. */
void gsb_dispatch_charge_host(struct gsb_tenant *t);

#endif
