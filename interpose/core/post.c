/*
 * post.c - see post.h.
 */
#include "interpose/core/post.h"

#include <errno.h>
#include <string.h>

#include "interpose/core/fault.h"
#include "interpose/core/process.h"
#include "interpose/core/thread.h"
#include "shm/ring.h"

#define PATIENCE_NS \
	UINT64_C(   \
		1000000000) /* of a query, real time; an eighth of it each time that nothing came of it */
#define IN_VAIN_MAX 3

/*
 * The lock is dropped while the ring is full: a second thread that waited for the lock would count as
 * running, and virtual time, which may have to pass before the ring moves, would stand still for it.
 */
GSB_COLD CUresult gsb_post_reserve_later(uint32_t bytes, uint64_t head, struct gsb_rec **out)
{
	CUresult result;

	do {
		gsb_lock_give(&gsb_proc.ring_lock);
		result = gsb_wait(GSB_WAIT_RING, 0, head);
		if (result)
			return result;
		gsb_lock_take(&gsb_proc.ring_lock);
		*out = gsb_ring_reserve(&gsb_proc.ring, bytes, &head);
	} while (!*out);
	return CUDA_SUCCESS;
}

struct gsb_guard gsb_object_guard(const struct gsb_object_table *t, uint64_t handle, CUresult gone)
{
	static const _Atomic uint64_t never;
	const struct gsb_object *o = gsb_object_get(t, handle);

	return (struct gsb_guard){.word = o ? &o->handle : &never, .value = handle, .gone = gone};
}

CUresult gsb_post_if(enum gsb_rec_type type, const struct gsb_guard *guard, const void *body,
		     uint32_t bytes)
{
	struct gsb_post p;
	CUresult result = gsb_post_begin_if(&p, type, guard, bytes);

	if (result)
		return result;
	memcpy(p.body, body, bytes);
	gsb_post_end(&p);
	return CUDA_SUCCESS;
}

/* Who retires it posts its end, under the lock: a context that ends meanwhile does not end it as well. */
CUresult gsb_post_destroy(enum gsb_rec_type type, struct gsb_object_table *t, uint64_t handle,
			  CUresult gone)
{
	static const struct gsb_guard none;
	struct gsb_post p;
	CUresult result = gsb_post_begin_if(&p, type, &none, sizeof(struct gsb_rec_object));

	if (result)
		return result;
	if (!gsb_object_retire(t, handle)) {
		gsb_post_cancel();
		return gone;
	}
	*(struct gsb_rec_object *)p.body = (struct gsb_rec_object){.handle = handle};
	gsb_post_end(&p);
	gsb_object_release(t, handle);
	return CUDA_SUCCESS;
}

/* The slot is ours until its answer is copied. */
static CUresult post_call(const struct gsb_call *c)
{
	struct gsb_post p;
	CUresult result = gsb_post_begin_if(&p, c->type, &c->guard, c->body_bytes + c->extra_bytes);

	if (result)
		return result;
	p.rec->call = ++gsb_self.call;
	if (c->body_bytes)
		memcpy(p.body, c->body, c->body_bytes);
	if (c->extra_bytes)
		memcpy((uint8_t *)p.body + c->body_bytes, c->extra, c->extra_bytes);
	if (c->is_stamped)
		gsb_post_end_stamped(&p);
	else
		gsb_post_end(&p);
	return gsb_wait(GSB_WAIT_REPLY, 0, gsb_self.call);
}

static CUresult copy_answer(struct gsb_reply_room *a)
{
	const struct gsb_thread *t = &gsb_proc.region->threads[gsb_self.slot];

	if (a) {
		a->n = t->reply_bytes < a->room ? t->reply_bytes : a->room;
		memcpy(a->bytes, gsb_proc.region->replies[gsb_self.slot], a->n);
	}
	return (CUresult)t->status;
}

CUresult gsb_call(const struct gsb_call *c, struct gsb_reply_room *answer)
{
	CUresult result = gsb_self_take_slot();

	if (answer)
		answer->n = 0;
	if (result)
		return result;
	result = post_call(c);
	if (!result)
		result = copy_answer(answer);
	gsb_self_give_slot();
	return result;
}

CUresult gsb_call_into(const struct gsb_call *c, void *out, uint32_t out_bytes)
{
	uint8_t bytes[sizeof(struct gsb_reply_tensor_map)]; /* the largest of a known size */
	struct gsb_reply_room answer = {.bytes = bytes, .room = sizeof(bytes)};
	CUresult result = gsb_call(c, &answer);

	if (result)
		return result;
	if (answer.n != out_bytes)
		return CUDA_ERROR_SYSTEM_DRIVER_MISMATCH;
	memcpy(out, bytes, out_bytes);
	return CUDA_SUCCESS;
}

GSB_COLD void gsb_post_tell(const struct gsb_rec *rec, uint64_t number)
{
	gsb_probe->posted(rec->type, rec->thread, rec->stream ? gsb_handle_index(rec->stream) : 0,
			  number);
}

static CUresult wait_for(const struct gsb_wait *w)
{
	CUresult result = gsb_self_take_slot();

	if (result)
		return result;
	if (gsb_unlikely(gsb_probe != NULL))
		gsb_probe->waits(w->kind, w->index, w->value);
	gsb_fault_point(GSB_FAULT_WAITING);
	if (gsb_thread_wait(gsb_proc.region, gsb_self.slot, w,
			    gsb_proc.spins ? &gsb_proc.spin : NULL, &gsb_self.spin))
		result = gsb_process_give_up();
	if (gsb_unlikely(gsb_probe != NULL))
		gsb_probe->goes_on(w->kind, w->index, w->value, result);
	gsb_self_give_slot();
	return result;
}

CUresult gsb_wait(enum gsb_wait_kind kind, uint32_t index, uint64_t value)
{
	return wait_for(&(struct gsb_wait){.kind = kind, .index = index, .value = value});
}

uint64_t gsb_n_completed(void)
{
	return atomic_load_explicit(&gsb_proc.region->header.n_completed, memory_order_acquire);
}

CUresult gsb_wait_progress(uint64_t before)
{
	static __thread unsigned n_in_vain __attribute__((tls_model("initial-exec")));
	CUresult result;

	if (!gsb_proc.virtual_time)
		return CUDA_SUCCESS;
	result = wait_for(&(struct gsb_wait){GSB_WAIT_ANY, 0, before,
					     gsb_clock_ns() + (PATIENCE_NS >> 3 * n_in_vain)});
	if (gsb_n_completed() != before)
		n_in_vain = 0;
	else if (n_in_vain < IN_VAIN_MAX)
		n_in_vain++;
	return result;
}
