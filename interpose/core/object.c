/*
 * object.c - see object.h.
 */
#include "interpose/core/object.h"

#include <errno.h>
#include <sys/mman.h>

/*
 * A program may run under LeakSanitizer, which looks for pointers only where malloc and the linker put memory:
 * without this it would call what our objects point to a leak of the program's.
 */
extern void __lsan_register_root_region(const void *begin, size_t size) __attribute__((weak));

static struct gsb_object_table *tables[GSB_N_HANDLE_KINDS]; /* those reserved */

int gsb_object_table_reserve(struct gsb_object_table *t)
{
	void *p;

	if (t->base)
		return 0;
	p = mmap(NULL, (size_t)t->max * t->object_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	t->base = p;
	tables[t->kind] = t;
	if (__lsan_register_root_region)
		__lsan_register_root_region(p, (size_t)t->max * t->object_bytes);
	return 0;
}

/* Under the lock. */
static void append(struct gsb_object_table *t, struct gsb_object *o)
{
	o->next_free = 0;
	if (t->free_tail)
		((struct gsb_object *)gsb_object_at(t, t->free_tail - 1))->next_free = o->index + 1;
	else
		t->free_head = o->index + 1;
	t->free_tail = o->index + 1;
}

static struct gsb_object *take_used(struct gsb_object_table *t)
{
	struct gsb_object *o;

	if (!t->free_head)
		return NULL;
	o = gsb_object_at(t, t->free_head - 1);
	if (t->is_idle && !t->is_idle(o))
		return NULL;
	t->free_head = o->next_free;
	if (!t->free_head)
		t->free_tail = 0;
	o->next_free = 0;
	return o;
}

static struct gsb_object *take_fresh(struct gsb_object_table *t)
{
	struct gsb_object *o;

	if (t->n_used == t->max)
		return NULL;
	o = gsb_object_at(t, t->n_used);
	o->index = t->n_used++;
	return o;
}

/* Behind a first one that is busy for long there may be idle ones: look at each once. */
static struct gsb_object *take_any_used(struct gsb_object_table *t)
{
	struct gsb_object *o = NULL;

	for (uint32_t i = 0; !o && t->free_head && i < t->max; i++) {
		struct gsb_object *first = gsb_object_at(t, t->free_head - 1);

		o = take_used(t);
		if (o || !first->next_free)
			break;
		t->free_head = first->next_free;
		append(t, first);
	}
	return o;
}

void *gsb_object_take(struct gsb_object_table *t, uint64_t owner)
{
	struct gsb_object *o;

	pthread_mutex_lock(&t->lock);
	o = take_used(t);
	if (!o)
		o = take_fresh(t);
	if (!o)
		o = take_any_used(t);
	if (o)
		atomic_store_explicit(&o->owner, owner, memory_order_relaxed);
	pthread_mutex_unlock(&t->lock);
	if (o)
		gsb_object_rename(t, o);
	return o;
}

void gsb_object_rename(const struct gsb_object_table *t, void *object)
{
	struct gsb_object *o = object;

	o->name = gsb_handle_make(t->kind, o->index, gsb_handle_generation(o->name) + 1);
}

void gsb_object_publish(void *object)
{
	struct gsb_object *o = object;

	atomic_store_explicit(&o->handle, o->name, memory_order_release);
}

bool gsb_object_retire(void *object, uint64_t handle)
{
	struct gsb_object *o = object;

	return atomic_compare_exchange_strong(&o->handle, &handle, 0);
}

void gsb_object_release(struct gsb_object_table *t, void *object)
{
	pthread_mutex_lock(&t->lock);
	append(t, object);
	pthread_mutex_unlock(&t->lock);
}

/* The handle is read before the owner: if it is still the object's when it is retired, so was the owner. */
static void retire_all(struct gsb_object_table *t, uint64_t owner)
{
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->n_used; i++) {
		struct gsb_object *o = gsb_object_at(t, i);
		uint64_t handle = atomic_load_explicit(&o->handle, memory_order_acquire);

		if (handle && gsb_object_owner(o) == owner && gsb_object_retire(o, handle))
			o->next_free = GSB_OBJECT_RETIRED;
	}
	pthread_mutex_unlock(&t->lock);
}

static void release_all(struct gsb_object_table *t, uint64_t owner)
{
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->n_used; i++) {
		struct gsb_object *o = gsb_object_at(t, i);

		if (o->next_free == GSB_OBJECT_RETIRED && gsb_object_owner(o) == owner)
			append(t, o);
	}
	pthread_mutex_unlock(&t->lock);
}

void gsb_objects_retire(uint64_t owner)
{
	for (unsigned i = 0; i < GSB_N_HANDLE_KINDS; i++)
		if (tables[i])
			retire_all(tables[i], owner);
}

void gsb_objects_release(uint64_t owner)
{
	for (unsigned i = 0; i < GSB_N_HANDLE_KINDS; i++)
		if (tables[i])
			release_all(tables[i], owner);
}
