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

struct gsb_cu_ctx;

struct gsb_cu_stream {
	struct gsb_post_stream post; /* its owner: the context's handle when the stream was made */
	struct gsb_cu_ctx *ctx;
	uint64_t id;	/* cuStreamGetId: never the same twice */
	uint32_t flags; /* CU_STREAM_* */
	int32_t priority;
	bool is_default; /* the legacy stream, or a thread's own: the program cannot destroy it */
};

extern struct gsb_object_table gsb_cu_streams;

/*
 * gsb_cu_stream_resolve() - the stream that a program means, and its context
 * NULL and CU_STREAM_LEGACY are the current context's legacy stream, CU_STREAM_PER_THREAD the calling
 * thread's stream there, made on first use. Also returns the context's sticky error.
 */
CUresult gsb_cu_stream_resolve(CUstream stream, struct gsb_cu_stream **out);

/* Post the creation of a stream in ctx. */
CUresult gsb_cu_stream_create(struct gsb_cu_ctx *ctx, uint32_t flags, int priority, bool is_default,
			      struct gsb_cu_stream **out);
/* An object for a stream of priority 0 whose creation another record tells the engine; wire: the context's handle. */
CUresult gsb_cu_stream_take(struct gsb_cu_ctx *ctx, uint64_t wire, uint32_t flags,
			    struct gsb_cu_stream **out);
void gsb_cu_stream_destroy(struct gsb_cu_stream *s, uint64_t handle);

/* For a thread's end: its own streams are destroyed. */
void gsb_cu_streams_destroy_own(struct gsb_self *self);

bool gsb_cu_stream_is_done(const struct gsb_cu_stream *s);
/* Likewise; for the legacy stream that includes the work of the streams that it waits for. */
bool gsb_cu_stream_query(const struct gsb_cu_stream *s);

/*
 * Wait for the work of one stream that was posted before. On the legacy stream that is also the work of the
 * streams that it waits for: all blocking ones of its context.
 */
CUresult gsb_cu_stream_wait(struct gsb_cu_stream *s);
/* Likewise for all streams of a context, those included that were destroyed with work in them. */
CUresult gsb_cu_streams_wait_all(struct gsb_cu_ctx *ctx);
/* Wait for one record of a stream; also returns its context's sticky error. */
CUresult gsb_cu_stream_wait_for(const struct gsb_cu_stream *s, uint64_t number);

#endif
