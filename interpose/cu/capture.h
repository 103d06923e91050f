/*
 * capture.h - stream capture: what is put into a stream becomes nodes of a graph instead.
 *
 * A capture begins in one stream, its origin. Another stream becomes a member when it waits for an event that was
 * recorded in a member, and goes on until the capture ends. A member's next node depends on its `deps`. What must not
 * be done with a capturing stream makes the capture invalid: it then only can be ended.
 *
 * All of this is under the lock of the graphs (cu/graph.h), which callers hold; gsb_capture_any() may be asked
 * without it. A thread that posts to a stream while another begins a capture there is on either side of it.
 */
#ifndef GSB_INTERPOSE_CU_CAPTURE_H
#define GSB_INTERPOSE_CU_CAPTURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "gsb/cuabi.h"
#include "interpose/graph/graph.h"

struct gsb_cu_event;
struct gsb_cu_stream;
struct gsb_cu_stream_ref;
struct gsb_capture;

struct gsb_capture_member {
	struct gsb_capture *capture;
	struct gsb_cu_stream *stream; /* while that has this handle: */
	uint64_t handle;
	struct gsb_graph_node **deps;
	uint32_t n_deps;
	struct gsb_capture_member *next;
};

struct gsb_capture {
	struct gsb_capture *next;
	struct gsb_graph *graph;
	bool is_given; /* the graph was there before */
	bool is_invalid;
	uint64_t id;
	CUstreamCaptureMode mode;
	uint32_t thread; /* gsb_self.id of who began it */
	struct gsb_capture_member *first, *origin;
};

/* How many there are. */
extern _Atomic uint32_t gsb_n_captures;

static inline bool gsb_capture_any(void)
{
	return gsb_unlikely(atomic_load_explicit(&gsb_n_captures, memory_order_relaxed));
}

/* Of a stream; NULL: it is not capturing. */
struct gsb_capture_member *gsb_capture_of(const struct gsb_cu_stream_ref *s);

/*
 * gsb_capture_begin() - from now on work of the stream goes into a graph
 * @g, @deps: a graph that there is already, and nodes behind which to begin; NULL: a new one
 */
CUresult gsb_capture_begin(const struct gsb_cu_stream_ref *s, struct gsb_graph *g,
			   struct gsb_graph_node *const *deps, uint32_t n,
			   CUstreamCaptureMode mode);

/* Its graph, which is the caller's; on failure it is gone, unless it was given. Over in any case, but on a member. */
CUresult gsb_capture_end(const struct gsb_cu_stream_ref *s, struct gsb_graph **out);
void gsb_capture_invalidate(struct gsb_capture *c);

/* For a stream that is destroyed: with the origin goes the capture, a member's work must be joined all the same. */
void gsb_capture_leave(const struct gsb_cu_stream_ref *s);

/* Before a node is added: CUDA_ERROR_STREAM_CAPTURE_INVALIDATED. */
CUresult gsb_capture_check(const struct gsb_capture_member *m);

/* A node behind the stream's work so far; the work becomes the graph's. On failure the capture is invalid. */
CUresult gsb_capture_add(struct gsb_capture_member *m, const struct gsb_graph_work *work);

/* Add to, or replace, what the next node depends on. */
CUresult gsb_capture_depend(struct gsb_capture_member *m, struct gsb_graph_node *const *deps,
			    uint32_t n, bool replace);

/*
 * gsb_capture_implicit() - use of a legacy stream, which waits for all blocking streams of its context
 * While one of them captures that makes the capture invalid: CUDA_ERROR_STREAM_CAPTURE_IMPLICIT. `ask`: it does not, but
 * the answer is the same.
 */
CUresult gsb_capture_implicit(const struct gsb_cu_stream_ref *s, bool ask);

/* A call that waits for a stream, or asks it: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED and invalid when it captures. */
CUresult gsb_capture_no_wait(const struct gsb_cu_stream_ref *s);
/* The same for who has not the lock; for work, too, that no node can stand for. */
CUresult gsb_capture_refuse(const struct gsb_cu_stream_ref *s);

/*
 * A call that may wait for what a capture does not execute, as allocating may: by the mode of this thread and of the
 * captures in progress. CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, and the capture is invalid. Takes the lock by itself.
 */
CUresult gsb_capture_unsafe(void);
/* The same for all of a context: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED while any of its streams captures. */
CUresult gsb_capture_unsafe_ctx(uint64_t wire);

/* ---- events ---- */

/* What an event stands for that was recorded in a capture; NULL in an event: it was not. */
struct gsb_capture_mark;

CUresult gsb_capture_record(struct gsb_capture_member *m, struct gsb_cu_event *e);
/* The capture in progress in which it was recorded; NULL: none. */
struct gsb_capture *gsb_capture_of_event(const struct gsb_cu_event *e);
/* The stream waits for it: it becomes a member, or has more dependencies. */
CUresult gsb_capture_join(const struct gsb_cu_stream_ref *s, const struct gsb_cu_event *e);
/* It is recorded as others are, or destroyed. */
void gsb_capture_forget(struct gsb_cu_event *e);

#endif
