/*
 * table.c - see table.h. A place that is free is found by looking: there are as many as a program has kernels in use.
 */
#include "device/lanes/table.h"

#include <errno.h>
#include <stdlib.h>

#define CAPACITY_MIN 64

void lane_table_init(struct lane_table *t)
{
	*t = (struct lane_table){.entries = NULL};
	pthread_mutex_init(&t->lock, NULL);
}

void lane_table_finish(struct lane_table *t)
{
	free(t->entries);
	pthread_mutex_destroy(&t->lock);
}

static int grow(struct lane_table *t)
{
	uint32_t capacity = t->capacity ? 2 * t->capacity : CAPACITY_MIN;
	struct lane_entry *entries = reallocarray(t->entries, capacity, sizeof(*entries));

	if (!entries)
		return -ENOMEM;
	t->entries = entries;
	t->capacity = capacity;
	return 0;
}

int lane_table_add(struct lane_table *t, enum lane_kind kind, uint32_t parent, void *is,
		   uint64_t *handle)
{
	uint32_t i = 0;
	int err = 0;

	pthread_mutex_lock(&t->lock);
	while (i < t->n && t->entries[i].kind)
		i++;
	if (i == t->capacity)
		err = grow(t);
	if (!err) {
		t->n += i == t->n;
		t->entries[i] = (struct lane_entry){is, kind, parent};
		*handle = i + 1;
	}
	pthread_mutex_unlock(&t->lock);
	return err;
}

void *lane_table_find(struct lane_table *t, enum lane_kind kind, uint64_t handle)
{
	void *is = NULL;

	pthread_mutex_lock(&t->lock);
	if (handle && handle <= t->n && t->entries[handle - 1].kind == kind)
		is = t->entries[handle - 1].is;
	pthread_mutex_unlock(&t->lock);
	return is;
}

/* Children of children, too: a space, its modules, their functions. */
static void remove_locked(struct lane_table *t, uint32_t handle)
{
	t->entries[handle - 1] = (struct lane_entry){NULL, LANE_NOTHING, 0};
	for (uint32_t i = 0; i < t->n; i++)
		if (t->entries[i].kind && t->entries[i].parent == handle)
			remove_locked(t, i + 1);
}

void lane_table_remove(struct lane_table *t, uint64_t handle)
{
	pthread_mutex_lock(&t->lock);
	if (handle && handle <= t->n)
		remove_locked(t, (uint32_t)handle);
	pthread_mutex_unlock(&t->lock);
}
