/*
 * object.h - the library's objects behind handles: a table for each kind, whose memory never moves and is
 * never given back.
 *
 * A handle is valid when the object at its index still carries it: one load and one compare, without a
 * lock, and a stale or foreign handle is refused because the generation differs. The table is reserved
 * address space; a page costs memory only once an object in it was used.
 */
#ifndef GSB_INTERPOSE_CORE_OBJECT_H
#define GSB_INTERPOSE_CORE_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gsb/handle.h"

struct gsb_object {
	_Atomic uint64_t handle; /* 0: free */
	uint64_t name;		 /* the handle that it has, had, or will have */
	_Atomic uint64_t owner;	 /* wire handle of the context that it goes with; 0: of none */
	uint32_t index;
	uint32_t next_free; /* index + 1 of the next free object; 0: none; or GSB_OBJECT_RETIRED */
};

#define GSB_OBJECT_RETIRED UINT32_MAX /* by gsb_objects_retire, whose caller will release it */

struct gsb_object_table {
	enum gsb_handle_kind kind;
	uint32_t max;			     /* objects */
	uint32_t object_bytes;		     /* of one; begins with struct gsb_object */
	uint32_t first;			     /* indices below are never given out */
	bool (*is_idle)(const void *object); /* may the index be used again? NULL: always */
	pthread_mutex_t lock;		     /* the fields below */
	uint8_t *base;			     /* NULL: not yet reserved */
	uint32_t n_used;		     /* indices ever given out are below */
	uint32_t free_head, free_tail; /* index + 1; a queue, so that an index rests longest */
};

#define GSB_OBJECT_TABLE(k, n, type, start, idle)                                   \
	{                                                                           \
		.kind = k, .max = n, .object_bytes = sizeof(type), .first = start,  \
		.is_idle = idle, .lock = PTHREAD_MUTEX_INITIALIZER, .n_used = start \
	}

/* Reserve the table's addresses. 0, -ENOMEM. Once for each kind, before any other use. */
int gsb_object_table_reserve(struct gsb_object_table *t);

/*
 * A free object with index, name and owner set, and everything behind struct gsb_object as its predecessor
 * left it. It is not valid before gsb_object_publish. NULL: all are taken.
 */
void *gsb_object_take(struct gsb_object_table *t, uint64_t owner);
void gsb_object_publish(void *object);

/* Give it the next generation's name; take does. */
void gsb_object_rename(const struct gsb_object_table *t, void *object);

/* The handle is stale from now on. False when it was already: then the object is somebody else's. */
bool gsb_object_retire(void *object, uint64_t handle);
/* The index may be given out again: of what was retired or never published, and is unknown to the engine. */
void gsb_object_release(struct gsb_object_table *t, void *object);

/*
 * All objects of a context, of all tables, for its end: retire before the engine is told, release when it has
 * answered. An index that was given out in between would come to the engine while it still has the predecessor.
 */
void gsb_objects_retire(uint64_t owner);
void gsb_objects_release(uint64_t owner);

/* What the engine knows it by; also while it is not valid. */
static inline uint64_t gsb_object_name(const void *object)
{
	return ((const struct gsb_object *)object)->name;
}

static inline uint64_t gsb_object_owner(const void *object)
{
	return atomic_load_explicit(&((const struct gsb_object *)object)->owner,
				    memory_order_relaxed);
}

/* The object, or NULL for what is no handle of this table. */
static inline void *gsb_object_get(const struct gsb_object_table *t, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	struct gsb_object *o;

	if (index >= t->max || !handle)
		return NULL;
	o = (struct gsb_object *)(t->base + (size_t)index * t->object_bytes);
	return atomic_load_explicit(&o->handle, memory_order_acquire) == handle ? o : NULL;
}

/* The object at an index below n_used, valid or not: for walks over all. */
static inline void *gsb_object_at(const struct gsb_object_table *t, uint32_t index)
{
	return t->base + (size_t)index * t->object_bytes;
}

static inline bool gsb_object_is_valid(const void *object)
{
	return atomic_load_explicit(&((const struct gsb_object *)object)->handle,
				    memory_order_acquire) != 0;
}

#endif
