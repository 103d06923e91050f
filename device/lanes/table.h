/*
 * table.h - the handles by which an engine names what its lane has: numbers from 1, of a kind, each with the one that it ends with.
 * Any thread.
 */
#ifndef GSB_DEVICE_LANES_TABLE_H
#define GSB_DEVICE_LANES_TABLE_H

#include <pthread.h>
#include <stdint.h>

enum lane_kind { LANE_NOTHING, LANE_SPACE, LANE_MODULE, LANE_FUNCTION, LANE_BACKING };

struct lane_table {
	pthread_mutex_t lock;
	struct lane_entry {
		void *is;
		enum lane_kind kind;
		uint32_t parent; /* 0: none */
	} * entries;
	uint32_t n, capacity;
};

void lane_table_init(struct lane_table *t);
void lane_table_finish(struct lane_table *t);
int lane_table_add(struct lane_table *t, enum lane_kind kind, uint32_t parent, void *is,
		   uint64_t *handle); /* -ENOMEM */
void *lane_table_find(struct lane_table *t, enum lane_kind kind,
		      uint64_t handle); /* NULL: no such */
/* And all that ends with it. Its parent stays. */
void lane_table_remove(struct lane_table *t, uint64_t handle);

#endif
