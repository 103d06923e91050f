/*
 * probe.h - LTTng-UST events of the tenant itself, for who asks for them with GSB_LTTNG=1: when a record is posted, when a
 * thread waits and goes on. They are made by a module of its own, gsb-tenant-tp.so, which brings liblttng-ust with it, two
 * threads and all: no process has these that did not ask.
 *
 * Nobody else pays more than a load and a branch.
 */
#ifndef GSB_INTERPOSE_CORE_PROBE_H
#define GSB_INTERPOSE_CORE_PROBE_H

#include <stdint.h>

/* What the module exports as GSB_PROBE_SYMBOL. Called by threads of the tenant, posted with the ring's lock held. */
struct gsb_probe {
	/* @number: what the stream's done word will reach; 0: the record is of no stream */
	void (*posted)(uint16_t record, uint16_t thread, uint32_t stream, uint64_t number);
	/* @kind: enum gsb_wait_kind; for index and value see it, too */
	void (*waits)(uint32_t kind, uint32_t index, uint64_t value);
	void (*goes_on)(uint32_t kind, uint32_t index, uint64_t value, uint32_t result);
};
#define GSB_PROBE_SYMBOL "gsb_tenant_tp"

extern const struct gsb_probe *gsb_probe; /* NULL: nobody asked */

/* Load the module if the environment asks for it. That it cannot be had is logged, and no error. */
void gsb_probe_load(void);

#endif
