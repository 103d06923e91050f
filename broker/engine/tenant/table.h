/*
 * table.h - objects by handle: what a tenant names is looked up here, in memory that only the engine writes.
 * Each object begins with its handle.
 */
#ifndef GSB_BROKER_ENGINE_TENANT_TABLE_H
#define GSB_BROKER_ENGINE_TENANT_TABLE_H

#include <stdint.h>

struct gsb_table {
	void **items; /* by handle index */
	uint32_t capacity;
};

/* NULL when the handle is of another kind, stale, or was never made. */
void *gsb_table_find(const struct gsb_table *table, uint64_t handle);

/* @max: index + 1 at most. -ERANGE, -EEXIST (the index is taken), -ENOMEM. */
int gsb_table_put(struct gsb_table *table, uint64_t handle, uint32_t max, void *object);
void gsb_table_remove(struct gsb_table *table, uint64_t handle);
void gsb_table_finish(struct gsb_table *table); /* the objects are the caller's */

#endif
