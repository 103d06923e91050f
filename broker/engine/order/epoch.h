/*
 * epoch.h - the legacy default stream and the blocking streams of a context take turns.
 *
 * Each time the stream of the operations that come changes from one side to the other, a new epoch begins,
 * and an operation starts only when all earlier epochs are done. That is CUDA's rule exactly: a legacy
 * operation waits for all work before it, later work waits for it. Operations of non-blocking streams are
 * in no epoch.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_EPOCH_H
#define GSB_BROKER_ENGINE_ORDER_EPOCH_H

#include "broker/engine/order/types.h"

struct gsb_epoch {
	struct gsb_epoch *next; /* later */
	struct gsb_stream *waiters;
	uint64_t last_serial; /* of the operation that joined last */
	uint32_t n_open;      /* operations */
	bool legacy;	      /* of the legacy stream; else of blocking streams */
};

/* The epoch that a new operation of s belongs to; *out NULL for a non-blocking stream. -EAGAIN: no room. */
int gsb_epoch_join(struct gsb_stream *s, struct gsb_epoch **out);

/* An operation of the epoch has completed. */
void gsb_epoch_leave(struct gsb_order *o, struct gsb_epoch *epoch, uint64_t time_ns);

#endif
