/*
 * clock.h - device time, and whether work waits for it.
 *
 * A real clock runs by itself. To read it costs as much as a part of a launch, so it is read once a turn: since
 * when something is ready or runs need not be known more precisely. What a tenant measures, its events, is
 * read anew, or comes from the device.
 *
 * A virtual one stands still until the engine lets it go on, and it may only while every tenant waits
 * (gate.c): so whoever answers a tenant, or lets work become ready, must know whether anything waits for
 * time now.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_CLOCK_H
#define GSB_BROKER_ENGINE_ORDER_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_clock {
	bool is_virtual;
	uint64_t turn_ns;      /* real: device time when the turn began */
	uint64_t host_call_ns; /* virtual: the host work of one record */
	bool advancing;	       /* virtual: time was let run and no completion came yet */
	uint64_t step_from_ns; /* virtual: device time when it was let run last, */
	uint64_t
		step_until_ns; /* and where it stands again, whether anything completes or not; UINT64_MAX: nowhere */
	unsigned n_ready;     /* heads that may go to the device */
	unsigned n_in_flight; /* commands on it */
};

/* Work waits for time, and time for tenants that run: they must say when they block. */
static inline bool gsb_clock_is_waited_for(const struct gsb_clock *c)
{
	return c->is_virtual && !c->advancing && (c->n_ready || c->n_in_flight);
}

#endif
