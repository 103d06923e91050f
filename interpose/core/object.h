/*
 * object.h - the library's objects behind handles: a table for each kind, whose memory never moves and is
 * never given back.
 *
 * A handle is valid when the object at its index still carries it: one load and one compare, without a
 * lock, and a stale or foreign handle is refused because the generation differs. The table is reserved
 * address space; a page costs memory only once an object in it was used.
 *
 *          take             publish           retire                  release
 *   FREE ---------> MAKING ----------> LIVE ---------------> ENDING ------------------------> FREE
 *                     |  |                                    ^  |                             ^
 *                     |  +---- its context or parent ends ----+  +--> ORPHAN: its maker is  ---+
 *                     +---- release: it could not be made -----       still at it              +
 *
 * Any thread may end a context while others make and end what goes with it. So whoever retires or releases an object
 * names it, by the handle of its generation, and learns or ignores that another one was first. An index is given out
 * again only when the engine no longer knows the object and its maker has let go of it.
 */
#ifndef GSB_INTERPOSE_CORE_OBJECT_H
#define GSB_INTERPOSE_CORE_OBJECT_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "gsb/handle.h"

enum gsb_object_state {
	GSB_OBJECT_FREE,
	GSB_OBJECT_MAKING,
	GSB_OBJECT_LIVE,
	GSB_OBJECT_ENDING,
	GSB_OBJECT_ORPHAN
};

struct gsb_object {
	_Atomic uint64_t handle; /* the name while LIVE, else 0 */
	_Atomic uint64_t owner;	 /* wire handle of the context that it goes with; 0: of none */
	uint64_t name;		 /* what the engine knows it by; constant until its maker lets go */
	_Atomic uint64_t parent; /* handle of the module or library that it goes with; 0: of none */
	/* Under the table's lock. */
	uint32_t index;
	uint32_t next_free; /* index + 1 of the next free object; 0: none */
	enum gsb_object_state state;
	bool is_held; /* from take until publish, hide or release */
};

struct gsb_object_table {
	enum gsb_handle_kind kind;
	uint32_t max;			     /* objects */
	uint32_t object_bytes;		     /* of one; begins with struct gsb_object */
	bool (*is_idle)(const void *object); /* may the index be used again? NULL: always */
	uint8_t *base;			     /* NULL: not yet reserved */
	pthread_mutex_t lock;		     /* the fields below */
	_Atomic uint32_t n_used;	     /* indices ever given out are below; read without it */
	uint32_t free_head, free_tail; /* index + 1; a queue, so that an index rests longest */
};

#define GSB_OBJECT_TABLE(k, n, type, idle)                                          \
	{                                                                           \
		.kind = k, .max = n, .object_bytes = sizeof(type), .is_idle = idle, \
		.lock = PTHREAD_MUTEX_INITIALIZER                                   \
	}

/* Reserve the table's addresses. 0, -ENOMEM. Once for each kind, before any other use. */
int gsb_object_table_reserve(struct gsb_object_table *t);

/* A free object, MAKING, with everything behind struct gsb_object as its predecessor left it. NULL: all are taken. */
void *gsb_object_take(struct gsb_object_table *t, uint64_t owner, uint64_t parent);

/* It is valid from now on. False: its context or parent has ended meanwhile; then it is no longer the caller's. */
bool gsb_object_publish(struct gsb_object_table *t, void *object);
/* Instead: the engine knows it, but nobody is to find it before its context or parent ends. */
void gsb_object_hide(struct gsb_object_table *t, void *object);

/* The handle is stale from now on, and the caller's to release. False: it was already. */
bool gsb_object_retire(struct gsb_object_table *t, uint64_t name);

/* The index may be given out again: the engine does not know it, or no longer. */
void gsb_object_release(struct gsb_object_table *t, uint64_t name);

/*
 * All objects of a context, of all tables, or of a parent, for its end: retire before the engine is told, release when
 * it has answered.
 */
void gsb_objects_retire(uint64_t owner);
void gsb_objects_release(uint64_t owner);
void gsb_object_children_retire(struct gsb_object_table *t, uint64_t parent);
void gsb_object_children_release(struct gsb_object_table *t, uint64_t parent);

/* A live object of that parent, and of that owner unless it is 0; its handle, or 0. */
uint64_t gsb_object_find_child(struct gsb_object_table *t, uint64_t parent, uint64_t owner);

static inline uint64_t gsb_object_owner(const void *object)
{
	return atomic_load_explicit(&((const struct gsb_object *)object)->owner,
				    memory_order_relaxed);
}

static inline uint64_t gsb_object_parent(const void *object)
{
	return atomic_load_explicit(&((const struct gsb_object *)object)->parent,
				    memory_order_relaxed);
}

/* What the engine knows it by: for its maker. */
static inline uint64_t gsb_object_name(const void *object)
{
	return ((const struct gsb_object *)object)->name;
}

/* Whether it is this one. */
static inline bool gsb_object_is(const void *object, uint64_t handle)
{
	return atomic_load_explicit(&((const struct gsb_object *)object)->handle,
				    memory_order_acquire) == handle;
}

/* The object at an index below n_used, valid or not: for walks over all. */
static inline void *gsb_object_at(const struct gsb_object_table *t, uint32_t index)
{
	return t->base + (size_t)index * t->object_bytes;
}

/* Where an object of this handle was that is no more; NULL: there never was one, or it is there. The place may be another's by now. */
void *gsb_object_past(const struct gsb_object_table *t, uint64_t handle);

/* The object, or NULL for what is no handle of this table. */
static inline void *gsb_object_get(const struct gsb_object_table *t, uint64_t handle)
{
	uint32_t index = gsb_handle_index(handle);
	void *o;

	if (index >= t->max || !handle)
		return NULL;
	o = gsb_object_at(t, index);
	return gsb_object_is(o, handle) ? o : NULL;
}

#endif
