/*
 * device_memory.h - the ledgers of all devices, and the messages of engines about them.
 */
#ifndef GSB_BROKER_SUPERVISOR_DEVICE_MEMORY_H
#define GSB_BROKER_SUPERVISOR_DEVICE_MEMORY_H

#include "broker/supervisor/engine_process.h"

struct gsb_device_ledger;

struct gsb_device_memory {
	struct gsb_supervisor *s;
	struct gsb_device_ledger *list;
};

/* A MEMORY_* message of p, if m is one. */
bool gsb_device_memory_message(struct gsb_device_memory *dm, struct gsb_engine_process *p,
			       const struct gsb_msg *m, size_t n);
/* p has ended: what it held is free. */
void gsb_device_memory_close(struct gsb_device_memory *dm, struct gsb_engine_process *p);

/* What nobody holds of p's device. Return: false when p keeps the rest, and so knows better. */
bool gsb_device_memory_free(const struct gsb_device_memory *dm, const struct gsb_engine_process *p,
			    uint64_t *free_bytes, uint64_t *total_bytes);

#endif
