/*
 * dispatch.h - what a record means: from the copied bytes to an operation in a queue, or to an answer.
 *
 * The table of handlers is made from gsb/wire_records.def, so a record type without a handler does
 * not compile. A handler believes nothing: it looks up every handle, checks every length and range,
 * and only then acts. It returns
 *
 *   0
 *   -EAGAIN  no room in the tenant's queues, nothing happened: the record is offered again later
 *   -EPROTO  a violation, noted in t->why
 *   -ENOMEM  the engine is out of memory, likewise
 */
#ifndef GSB_BROKER_ENGINE_DISPATCH_H
#define GSB_BROKER_ENGINE_DISPATCH_H

struct gsb_tenant;

/* Do what at most max records of its ring ask. Returns how many; cuts the tenant off when it must. */
unsigned gsb_dispatch_ring(struct gsb_tenant *t, unsigned max);

#endif
