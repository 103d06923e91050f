/*
 * stream.h - streams of the library, and how a CUstream becomes one.
 */
#ifndef GSB_INTERPOSE_CU_STREAM_H
#define GSB_INTERPOSE_CU_STREAM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "interpose/core/object.h"
#include "interpose/core/post.h"
#include "interpose/core/thread.h"
#include "interpose/cu/ctx.h"

enum gsb_cu_stream_kind {
	GSB_CU_STREAM_MADE,   /* by the program, which may destroy it */
	GSB_CU_STREAM_LEGACY, /* a context's default stream */
	GSB_CU_STREAM_OWN,    /* a thread's default stream in a context */
	GSB_CU_STREAM_LANE    /* of the library, for branches of graphs */
};

/*
 * What a program says of how a stream's work is to be done: kept and told again. The engine goes by the priority; what caches
 * and waiting threads are to do with the rest is theirs to say here.
 */
struct gsb_cu_stream_hints {
	CUaccessPolicyWindow window;
	CUsynchronizationPolicy sync; /* -1: none was set, as an H200's driver tells it */
	CUlaunchMemSyncDomainMap domain_map;
	CUlaunchMemSyncDomain domain;
	int32_t priority;
};

struct gsb_cu_stream {
	_Alignas(64) struct gsb_post_stream post; /* what a launch touches: one line of the cache */
	enum gsb_cu_stream_kind kind;
	_Atomic uint32_t flags; /* CU_STREAM_* */
	struct gsb_cu_stream_hints
		hints; /* under the lock of hooks/stream_attr.c, once others know it */
	uint64_t id;   /* cuStreamGetId: never the same twice */
	struct gsb_capture_member
		*member; /* of a capture (cu/capture.h), if it has this stream's handle */
	_Atomic uint64_t
		freed; /* number of the last record that frees memory; written as post.posted is */
	/* What a program was told last of a capture's dependencies: there when that has ended, as natively, and then whoever
	 * has this place in the table tells its own in it. */
	CUgraphNode *told;
};

struct gsb_capture_member;

extern struct gsb_object_table gsb_cu_streams;

/* A stream, as a call found it; another thread may end it at any time. */
struct gsb_cu_stream_ref {
	struct gsb_cu_stream *s;
	uint64_t handle, wire; /* its own; of the context that it goes with */
};

/*
 * gsb_cu_stream_resolve() - the stream that a program means, and its context
 * NULL and CU_STREAM_LEGACY are the current context's legacy stream, CU_STREAM_PER_THREAD the calling
 * thread's stream there, made on first use. Also returns the context's sticky error.
 */
CUresult gsb_cu_stream_resolve(CUstream stream, struct gsb_cu_stream_ref *out);

/* The place of a stream, whether it is there or not. */
static inline struct gsb_cu_stream *gsb_cu_stream_at(uint64_t handle)
{
	return (struct gsb_cu_stream *)gsb_cu_streams.base + gsb_handle_index(handle);
}

/* CU_STREAM_PER_THREAD, or no handle at all. */
CUresult gsb_cu_stream_resolve_rare(CUstream stream, struct gsb_cu_stream_ref *out);

/*
 * The same for the launch path. What is read of a stream or context that another thread ends meanwhile may be its
 * successor's. It does no harm: a record is only posted while the stream has the handle under which it was found.
 */
static inline __attribute__((always_inline)) CUresult
gsb_cu_stream_resolve_inline(CUstream stream, struct gsb_cu_stream_ref *out)
{
	struct gsb_cu_ctx_life life;
	CUresult result;

	if (stream && stream != CU_STREAM_LEGACY) {
		out->s = gsb_object_get(&gsb_cu_streams, (uint64_t)stream);
		if (gsb_unlikely(!out->s)) {
			struct gsb_cu_stream_ref rare = {0}; /* *out may stay in registers */

			result = gsb_cu_stream_resolve_rare(stream, &rare);
			*out = rare;
			return result;
		}
		out->handle = (uint64_t)stream;
		out->wire = gsb_object_owner(out->s);
		return gsb_cu_wire_check(out->wire);
	}
	result = gsb_cu_ctx_live(&life);
	if (gsb_unlikely(result))
		return result;
	out->handle = atomic_load_explicit(&life.ctx->legacy, memory_order_relaxed);
	out->s = gsb_cu_stream_at(out->handle);
	out->wire = life.wire;
	return CUDA_SUCCESS;
}

struct gsb_cu_stream_params {
	enum gsb_cu_stream_kind kind;
	uint32_t flags;
	int32_t priority;
};

/* Post the creation of a stream in a context. */
CUresult gsb_cu_stream_create(uint64_t wire, const struct gsb_cu_stream_params *p,
			      uint64_t *handle);
/* An object for a stream whose creation another record tells the engine. */
CUresult gsb_cu_stream_take(uint64_t wire, enum gsb_cu_stream_kind kind,
			    struct gsb_cu_stream **out);
CUresult gsb_cu_stream_destroy(uint64_t handle);

/* For a thread's end: its own streams are destroyed. */
void gsb_cu_streams_destroy_own(struct gsb_self *self);

/* Whether its work is done; for the legacy stream that includes the work of the streams that it waits for. */
bool gsb_cu_stream_query(const struct gsb_cu_stream_ref *ref);

/*
 * Wait for the work of one stream that was posted before. On the legacy stream that is also the work of the
 * streams that it waits for: all blocking ones of its context.
 */
CUresult gsb_cu_stream_wait(const struct gsb_cu_stream_ref *ref);
/* Likewise for all streams of a context, those included that were destroyed with work in them. */
CUresult gsb_cu_streams_wait_all(uint64_t wire);

/*
 * Under the ring's lock: everything that has been posted to any stream of the process is done. False as well when there are more of them
 * than are to be looked at under that lock.
 */
bool gsb_cu_streams_are_idle(void);
/*
 * gsb_cu_streams_await_free() - wait until a stream of the process has freed what it was told to free
 * @from: index of the first stream to look at; then of the one behind that which was waited for
 *
 * Return: false: none has anything to free, or the engine is gone.
 */
bool gsb_cu_streams_await_free(uint32_t *from);
/* Wait for one record of a stream; also returns its context's sticky error. */
CUresult gsb_cu_stream_wait_for(const struct gsb_cu_stream_ref *ref, uint64_t number);

/* gsb_post_begin() for a stream. */
static inline __attribute__((always_inline)) CUresult
gsb_cu_stream_begin(const struct gsb_cu_stream_ref *ref, struct gsb_post *p, enum gsb_rec_type type,
		    uint32_t bytes)
{
	return gsb_post_begin(p, type, &ref->s->post, ref->handle, bytes);
}

/* A whole record of a stream, without variable part. number, when not NULL, receives the stream number. */
CUresult gsb_cu_stream_post(const struct gsb_cu_stream_ref *ref, enum gsb_rec_type type,
			    const void *body, uint32_t bytes, uint64_t *number);

#endif
