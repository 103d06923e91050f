/*
 * post.h - records to the engine: posts that nobody answers, calls that wait for their answer, and waits.
 *
 * The ring's lock is held from gsb_post_begin to gsb_post_end. What must have the order of the ring (the
 * numbers of streams and events) is counted in between. Both are inline, for the launch path.
 */
#ifndef GSB_INTERPOSE_CORE_POST_H
#define GSB_INTERPOSE_CORE_POST_H

#include <stdint.h>

#include "base/clock.h"
#include "gsb/cuabi.h"
#include "gsb/wire.h"
#include "interpose/core/fault.h"
#include "interpose/core/object.h"
#include "interpose/core/probe.h"
#include "interpose/core/process.h"
#include "interpose/core/thread.h"
#include "shm/ring.h"
#include "shm/wait.h"

/*
 * What a record names is there while a word has this value: the handle of an object, or the one by which the engine
 * knows a context. It is compared under the ring's lock. Who ends the thing changes the word before he posts the end,
 * so a record that names it is before its end in the ring, or not there at all.
 */
struct gsb_guard {
	const _Atomic uint64_t *word; /* NULL: the record names nothing that could end */
	uint64_t value;		      /* 0 is never right */
	CUresult gone;		      /* what the caller gets instead */
};

static inline bool gsb_guard_holds(const struct gsb_guard *g)
{
	return !g->word ||
	       (g->value && atomic_load_explicit(g->word, memory_order_relaxed) == g->value);
}

/* For records that name an object, by a handle that need not be one. */
struct gsb_guard gsb_object_guard(const struct gsb_object_table *t, uint64_t handle, CUresult gone);

/* What posting knows of a stream; struct gsb_cu_stream begins with it. */
struct gsb_post_stream {
	struct gsb_object obj;
	/*
	 * Number of the last record. Written under the ring's lock, read by waiters without it. It goes on
	 * when the index changes its owner (gsb/wire.h).
	 */
	_Atomic uint64_t posted;
	_Atomic uint32_t gone; /* CUresult of a record that comes after its end */
};

struct gsb_post {
	struct gsb_rec *rec;
	void *body;		  /* after the header, 16-aligned, to be filled by the caller */
	_Atomic uint64_t *posted; /* of its stream; NULL: it is of none */
	uint64_t number; /* STREAM, from gsb_post_end on: what the stream's done word will reach */
};

/* Wait until the ring, which is full, has room, and reserve it; the lock is free meanwhile. */
CUresult gsb_post_reserve_later(uint32_t bytes, uint64_t head, struct gsb_rec **out);

/* Instead of gsb_post_end: what was reserved is not sent, the next record takes its place. */
static inline void gsb_post_cancel(void)
{
	gsb_lock_give(&gsb_proc.ring_lock);
}

static inline __attribute__((always_inline)) CUresult
gsb_post_reserve(struct gsb_post *p, enum gsb_rec_type type, uint64_t stream, uint32_t bytes)
{
	CUresult entered = gsb_self_enter();
	struct gsb_rec *rec;
	uint64_t head;

	if (gsb_unlikely(entered))
		return entered;
	bytes += (uint32_t)sizeof(*rec);
	gsb_lock_take(&gsb_proc.ring_lock);
	rec = gsb_ring_reserve(&gsb_proc.ring, bytes, &head);
	if (gsb_unlikely(!rec)) {
		struct gsb_rec *later; /* so that rec stays in a register */
		CUresult result = gsb_post_reserve_later(bytes, head, &later);

		if (result)
			return result;
		rec = later;
	}
	rec->type = (uint16_t)type;
	rec->thread = (uint16_t)gsb_self.slot;
	rec->stream = stream;
	rec->call = 0;
	p->rec = rec;
	p->body = rec + 1;
	gsb_fault_point(GSB_FAULT_RECORD);
	return CUDA_SUCCESS;
}

/*
 * gsb_post_begin() - lock the ring and reserve a record of a stream
 * @s, @handle: the stream; if it no longer has this handle, its own error
 * @bytes:      of the body and its variable part; at most GSB_RECORD_MAX with the header
 *
 * Waits while the ring is full; the lock is free meanwhile. On failure nothing is locked. What else the record names
 * the caller compares, too, and cancels.
 */
static inline __attribute__((always_inline)) CUresult
gsb_post_begin(struct gsb_post *p, enum gsb_rec_type type, struct gsb_post_stream *s,
	       uint64_t handle, uint32_t bytes)
{
	CUresult result = gsb_post_reserve(p, type, handle, bytes);

	if (gsb_unlikely(result))
		return result;
	p->posted = &s->posted;
	if (gsb_unlikely(atomic_load_explicit(&s->obj.handle, memory_order_relaxed) != handle)) {
		gsb_post_cancel();
		return (CUresult)atomic_load_explicit(&s->gone, memory_order_relaxed);
	}
	return CUDA_SUCCESS;
}

/* The same for a record that is of no stream. */
static inline CUresult gsb_post_begin_if(struct gsb_post *p, enum gsb_rec_type type,
					 const struct gsb_guard *guard, uint32_t bytes)
{
	CUresult result;

	p->posted = NULL;
	result = gsb_post_reserve(p, type, 0, bytes);
	if (result)
		return result;
	if (!gsb_guard_holds(guard)) {
		gsb_post_cancel();
		return guard->gone;
	}
	return CUDA_SUCCESS;
}

/* For the probe, before the engine can know of it. By value, so that a struct gsb_post can live in registers. */
void gsb_post_tell(const struct gsb_rec *rec, uint64_t number);

/* Before the record is published. */
static inline void gsb_post_count(struct gsb_post *p)
{
	if (p->posted) {
		p->number = atomic_load_explicit(p->posted, memory_order_relaxed) + 1;
		atomic_store_explicit(p->posted, p->number, memory_order_release);
	}
	if (gsb_unlikely(gsb_probe != NULL))
		gsb_post_tell(p->rec, p->posted ? p->number : 0);
}

/* After it. */
static inline void gsb_post_leave(bool has_rung)
{
	if (gsb_unlikely(!has_rung))
		gsb_process_give_up();
	gsb_fault_point(GSB_FAULT_POSTED);
	gsb_lock_give(&gsb_proc.ring_lock);
}

static inline void gsb_post_end(struct gsb_post *p)
{
	gsb_post_count(p);
	gsb_post_leave(gsb_ring_commit(&gsb_proc.ring, p->rec));
}

/* The same for a record that names what other programs share: theirs and this have one order. */
static inline void gsb_post_end_stamped(struct gsb_post *p)
{
	gsb_post_count(p);
	gsb_post_leave(gsb_ring_commit_stamped(&gsb_proc.ring, p->rec));
}

/* A whole record of no stream, without variable part. */
CUresult gsb_post_if(enum gsb_rec_type type, const struct gsb_guard *guard, const void *body,
		     uint32_t bytes);

/* Post the end of a live object of t and release it; gone when it has ended already. */
CUresult gsb_post_destroy(enum gsb_rec_type type, struct gsb_object_table *t, uint64_t handle,
			  CUresult gone);

struct gsb_call {
	enum gsb_rec_type type;
	struct gsb_guard guard;
	const void *body, *extra; /* extra follows the body */
	uint32_t body_bytes, extra_bytes;
	bool is_stamped; /* gsb_post_end_stamped() */
};

/* Room for what the engine answers; it is the thread's own, because its slot may be another's after the call. */
struct gsb_reply_room {
	void *bytes;
	uint32_t room, n; /* n: how many came, at most room */
};

/*
 * gsb_call() - post and wait for the answer
 * @answer: NULL when nothing is wanted
 * Return: the engine's result, or why there is none; then nothing came.
 */
CUresult gsb_call(const struct gsb_call *c, struct gsb_reply_room *answer);

/* An answer of a known size; another one is CUDA_ERROR_SYSTEM_DRIVER_MISMATCH. */
CUresult gsb_call_into(const struct gsb_call *c, void *out, uint32_t out_bytes);

/* Sleep until a word of the region is there. Fails only when the engine is gone. */
CUresult gsb_wait(enum gsb_wait_kind kind, uint32_t index, uint64_t value);

/*
 * For a query that is about to fail: in virtual time the clock stands while this thread runs, so a loop of
 * queries would never end. Waits until something completes after `before`, a value of gsb_n_completed()
 * that was read before the query looked; but not for ever, since a kernel may wait for what the program does after the query.
 */
CUresult gsb_wait_progress(uint64_t before);
uint64_t gsb_n_completed(void);

#endif
