/*
 * table.c - see table.h.
 */
#include "broker/engine/tenant/table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "gsb/handle.h"

void *gsb_table_find(const struct gsb_table *table, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	uint64_t *object;

	if (!handle || index >= table->capacity)
		return NULL;
	object = table->items[index];
	return object && *object == handle ? object : NULL;
}

static int grow(struct gsb_table *table, uint32_t index)
{
	uint32_t capacity = table->capacity ? table->capacity : 16;
	void **items;

	while (capacity <= index)
		capacity *= 2;
	items = realloc(table->items, capacity * sizeof(*items));
	if (!items)
		return -ENOMEM;
	memset(items + table->capacity, 0, (capacity - table->capacity) * sizeof(*items));
	table->items = items;
	table->capacity = capacity;
	return 0;
}

int gsb_table_put(struct gsb_table *table, uint64_t handle, uint32_t max, void *object)
{
	uint32_t index = gsb_handle_index(handle);

	if (index >= max)
		return -ERANGE;
	if (index >= table->capacity && grow(table, index))
		return -ENOMEM;
	if (table->items[index])
		return -EEXIST;
	table->items[index] = object;
	return 0;
}

void gsb_table_remove(struct gsb_table *table, uint64_t handle)
{
	table->items[gsb_handle_index(handle)] = NULL;
}

void gsb_table_finish(struct gsb_table *table)
{
	free(table->items);
	*table = (struct gsb_table){0};
}
