/*
 * orphan.h - what tenants leave behind on a device that cannot end it.
 *
 * Natively a process that dies takes its kernels with it. NVIDIA's driver ends a kernel only with its context, which here is that of others,
 * too: so what a tenant leaves behind goes on until it ends by itself, and while it does whoever loads code waits, because a load waits for all kernels of
 * its context (device/cuda/module.c). What has not ended orphan_limit_ms after its tenant left is an orphan. From then on gsbrokerd sends who comes to
 * another engine, with a context of its own. Who is here already stays, and goes on as before, until nobody is left, or until a load of one of them has
 * waited for as long: then the engine ends, and its kernels with it.
 *
 * A device with space_cancel() has no orphans. All of this is in real time.
 */
#ifndef GSB_BROKER_ENGINE_ORPHAN_H
#define GSB_BROKER_ENGINE_ORPHAN_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_engine;

struct gsb_orphans {
	bool any;	  /* gsbrokerd has been told that there are some */
	uint64_t look_ns; /* when to look again; 0: nobody who left has anything in flight */
};

/* A tenant has left with something in flight, in this turn or before. */
void gsb_orphans_look(struct gsb_engine *e);
/* One that had left is gone. */
void gsb_orphans_forget(struct gsb_engine *e);
/* Nanoseconds until it is to be looked again; UINT64_MAX: nobody who left has anything in flight. */
uint64_t gsb_orphans_due_ns(const struct gsb_engine *e);

#endif
