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

void *gsb_object_past(const struct gsb_object_table *t, uint64_t handle)
{
	const uint32_t index = gsb_handle_index(handle);
	const struct gsb_object *o;

	if (gsb_handle_kind(handle) != t->kind || index >= t->n_used)
		return NULL;
	o = gsb_object_at(t, index);
	return gsb_handle_generation(handle) <= gsb_handle_generation(o->name) &&
			       !gsb_object_is(o, handle)
		       ? gsb_object_at(t, index)
		       : NULL;
}

/* ---- free indices; under the lock ---- */

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

/* ---- one object ---- */

void *gsb_object_take(struct gsb_object_table *t, uint64_t owner, uint64_t parent)
{
	struct gsb_object *o;

	pthread_mutex_lock(&t->lock);
	o = take_used(t);
	if (!o)
		o = take_fresh(t);
	if (!o)
		o = take_any_used(t);
	if (o) {
		o->name = gsb_handle_make(t->kind, o->index, gsb_handle_generation(o->name) + 1);
		atomic_store_explicit(&o->owner, owner, memory_order_relaxed);
		atomic_store_explicit(&o->parent, parent, memory_order_relaxed);
		o->state = GSB_OBJECT_MAKING;
		o->is_held = true;
	}
	pthread_mutex_unlock(&t->lock);
	return o;
}

/* The rest is under the lock, up to the calls. */
static void make_free(struct gsb_object_table *t, struct gsb_object *o)
{
	o->state = GSB_OBJECT_FREE;
	append(t, o);
}

static void retire(struct gsb_object_table *t, struct gsb_object *o)
{
	if (o->state != GSB_OBJECT_LIVE && o->state != GSB_OBJECT_MAKING)
		return;
	o->state = GSB_OBJECT_ENDING;
	atomic_store_explicit(&o->handle, 0, memory_order_release);
}

static void release(struct gsb_object_table *t, struct gsb_object *o)
{
	if (o->state != GSB_OBJECT_ENDING)
		return;
	if (o->is_held)
		o->state = GSB_OBJECT_ORPHAN;
	else
		make_free(t, o);
}

static void let_go(struct gsb_object_table *t, struct gsb_object *o)
{
	o->is_held = false;
	if (o->state == GSB_OBJECT_ORPHAN)
		make_free(t, o);
}

bool gsb_object_publish(struct gsb_object_table *t, void *object)
{
	struct gsb_object *o = object;
	bool ok;

	pthread_mutex_lock(&t->lock);
	ok = o->state == GSB_OBJECT_MAKING;
	if (ok) {
		o->state = GSB_OBJECT_LIVE;
		atomic_store_explicit(&o->handle, o->name, memory_order_release);
	}
	let_go(t, o);
	pthread_mutex_unlock(&t->lock);
	return ok;
}

void gsb_object_hide(struct gsb_object_table *t, void *object)
{
	pthread_mutex_lock(&t->lock);
	let_go(t, object);
	pthread_mutex_unlock(&t->lock);
}

bool gsb_object_retire(struct gsb_object_table *t, uint64_t name)
{
	struct gsb_object *o = gsb_object_at(t, gsb_handle_index(name));
	bool ok;

	pthread_mutex_lock(&t->lock);
	ok = o->name == name && o->state == GSB_OBJECT_LIVE;
	if (ok)
		retire(t, o);
	pthread_mutex_unlock(&t->lock);
	return ok;
}

void gsb_object_release(struct gsb_object_table *t, uint64_t name)
{
	struct gsb_object *o = gsb_object_at(t, gsb_handle_index(name));

	pthread_mutex_lock(&t->lock);
	if (o->name == name && (o->is_held || o->state == GSB_OBJECT_ENDING)) {
		o->is_held = false;
		make_free(t, o);
	}
	pthread_mutex_unlock(&t->lock);
}

/* ---- all of a context or parent ---- */

typedef void visitor(struct gsb_object_table *t, struct gsb_object *o);

static void visit_owned(uint64_t owner, visitor *visit)
{
	for (unsigned k = 0; k < GSB_N_HANDLE_KINDS; k++) {
		struct gsb_object_table *t = tables[k];

		if (!t)
			continue;
		pthread_mutex_lock(&t->lock);
		for (uint32_t i = 0; i < t->n_used; i++) {
			struct gsb_object *o = gsb_object_at(t, i);

			if (gsb_object_owner(o) == owner)
				visit(t, o);
		}
		pthread_mutex_unlock(&t->lock);
	}
}

static void visit_children(struct gsb_object_table *t, uint64_t parent, visitor *visit)
{
	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; i < t->n_used; i++) {
		struct gsb_object *o = gsb_object_at(t, i);

		if (gsb_object_parent(o) == parent)
			visit(t, o);
	}
	pthread_mutex_unlock(&t->lock);
}

void gsb_objects_retire(uint64_t owner)
{
	visit_owned(owner, retire);
}

void gsb_objects_release(uint64_t owner)
{
	visit_owned(owner, release);
}

void gsb_object_children_retire(struct gsb_object_table *t, uint64_t parent)
{
	visit_children(t, parent, retire);
}

void gsb_object_children_release(struct gsb_object_table *t, uint64_t parent)
{
	visit_children(t, parent, release);
}

uint64_t gsb_object_find_child(struct gsb_object_table *t, uint64_t parent, uint64_t owner)
{
	uint64_t found = 0;

	pthread_mutex_lock(&t->lock);
	for (uint32_t i = 0; !found && i < t->n_used; i++) {
		const struct gsb_object *o = gsb_object_at(t, i);

		if (o->state == GSB_OBJECT_LIVE && gsb_object_parent(o) == parent &&
		    (!owner || gsb_object_owner(o) == owner))
			found = o->name;
	}
	pthread_mutex_unlock(&t->lock);
	return found;
}
