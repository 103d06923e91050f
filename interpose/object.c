/*
 * object.c - see object.h.
 */
#include "interpose/object.h"

#include <errno.h>
#include <sys/mman.h>

/*
 * A program may run under LeakSanitizer, which looks for pointers only where malloc and the linker put memory:
 * without this it would call what our objects point to a leak of the program's.
 */
extern void __lsan_register_root_region(const void *begin, size_t size) __attribute__((weak));

int gsb_table_reserve(struct gsb_table *t)
{
	void *p;

	if (t->base)
		return 0;
	p = mmap(NULL, (size_t)t->max * t->object_bytes, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -ENOMEM;
	t->base = p;
	if (__lsan_register_root_region)
		__lsan_register_root_region(p, (size_t)t->max * t->object_bytes);
	return 0;
}

static struct gsb_object *take_used(struct gsb_table *t)
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
	return o;
}

static struct gsb_object *take_fresh(struct gsb_table *t)
{
	struct gsb_object *o;

	if (t->n_used == t->max)
		return NULL;
	o = gsb_object_at(t, t->n_used);
	o->index = t->n_used++;
	return o;
}

void *gsb_object_take(struct gsb_table *t)
{
	struct gsb_object *o;

	pthread_mutex_lock(&t->lock);
	o = take_used(t);
	if (!o)
		o = take_fresh(t);
	pthread_mutex_unlock(&t->lock);
	if (o)
		gsb_object_rename(t, o);
	return o;
}

void gsb_object_rename(const struct gsb_table *t, void *object)
{
	struct gsb_object *o = object;

	o->name = gsb_handle_make(t->kind, o->index, gsb_handle_generation(o->name) + 1);
}

void gsb_object_publish(void *object)
{
	struct gsb_object *o = object;

	atomic_store_explicit(&o->handle, o->name, memory_order_release);
}

void gsb_object_release(struct gsb_table *t, void *object)
{
	struct gsb_object *o = object;

	atomic_store_explicit(&o->handle, 0, memory_order_release);
	pthread_mutex_lock(&t->lock);
	o->next_free = 0;
	if (t->free_tail)
		((struct gsb_object *)gsb_object_at(t, t->free_tail - 1))->next_free = o->index + 1;
	else
		t->free_head = o->index + 1;
	t->free_tail = o->index + 1;
	pthread_mutex_unlock(&t->lock);
}
