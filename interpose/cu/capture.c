/*
 * capture.c - see capture.h.
 */
#include "interpose/cu/capture.h"

#include <stdlib.h>
#include <string.h>

#include "interpose/core/thread.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/event.h"
#include "interpose/cu/graph.h"
#include "interpose/cu/stream.h"

_Atomic uint32_t gsb_n_captures;
static struct gsb_capture *captures;
static uint64_t last_id;

struct gsb_capture_mark {
	uint64_t id; /* of the capture */
	uint32_t n;
	struct gsb_graph_node *nodes[];
};

/* ---- members ---- */

struct gsb_capture_member *gsb_capture_of(const struct gsb_cu_stream_ref *s)
{
	struct gsb_capture_member *m = s->s->member;

	return m && m->handle == s->handle ? m : NULL;
}

static struct gsb_capture_member *add_member(struct gsb_capture *c,
					     const struct gsb_cu_stream_ref *s)
{
	struct gsb_capture_member *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	*m = (struct gsb_capture_member){
		.capture = c, .stream = s->s, .handle = s->handle, .next = c->first};
	c->first = m;
	s->s->member = m;
	return m;
}

static void free_members(struct gsb_capture *c)
{
	struct gsb_capture_member *m, *next;

	for (m = c->first; m; m = next) {
		next = m->next;
		if (m->stream->member == m)
			m->stream->member = NULL;
		free(m->deps);
		free(m);
	}
}

static bool has_dep(const struct gsb_capture_member *m, const struct gsb_graph_node *node)
{
	for (uint32_t i = 0; i < m->n_deps; i++)
		if (m->deps[i] == node)
			return true;
	return false;
}

CUresult gsb_capture_depend(struct gsb_capture_member *m, struct gsb_graph_node *const *deps,
			    uint32_t n, bool replace)
{
	struct gsb_graph_node **grown = realloc(m->deps, (m->n_deps + n + 1) * sizeof(*grown));

	if (!grown)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->deps = grown;
	if (replace)
		m->n_deps = 0;
	for (uint32_t i = 0; i < n; i++)
		if (!has_dep(m, deps[i]))
			m->deps[m->n_deps++] = deps[i];
	return CUDA_SUCCESS;
}

/* ---- begin and end ---- */

static void drop(struct gsb_capture *c)
{
	struct gsb_capture **at = &captures;

	while (*at != c)
		at = &(*at)->next;
	*at = c->next;
	atomic_fetch_sub_explicit(&gsb_n_captures, 1, memory_order_relaxed);
	free_members(c);
	if (c->graph)
		c->graph->is_capturing = false;
	if (!c->is_given)
		gsb_graph_destroy(c->graph);
	free(c);
}

static bool is_origin_gone(const struct gsb_capture *c)
{
	return !gsb_object_is(c->origin->stream, c->origin->handle);
}

/* Those whose stream went with its context: nobody can end them. */
static void drop_lost(void)
{
	struct gsb_capture *c, *next;

	for (c = captures; c; c = next) {
		next = c->next;
		if (is_origin_gone(c))
			drop(c);
	}
}

static struct gsb_capture *make(struct gsb_graph *g, CUstreamCaptureMode mode)
{
	struct gsb_capture *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->is_given = g != NULL;
	c->graph = g;
	if (!g && gsb_graph_create(&gsb_cu_graph_keeper, &c->graph)) {
		free(c);
		return NULL;
	}
	c->graph->is_capturing = true;
	c->id = ++last_id;
	c->mode = mode;
	c->thread = gsb_self.id;
	c->next = captures;
	captures = c;
	atomic_fetch_add_explicit(&gsb_n_captures, 1, memory_order_relaxed);
	return c;
}

CUresult gsb_capture_begin(const struct gsb_cu_stream_ref *s, struct gsb_graph *g,
			   struct gsb_graph_node *const *deps, uint32_t n, CUstreamCaptureMode mode)
{
	CUresult result = gsb_self_enter(); /* so that the thread has its number */
	struct gsb_capture *c;

	if (result)
		return result;
	drop_lost();
	c = make(g, mode);
	if (!c)
		return CUDA_ERROR_OUT_OF_MEMORY;
	c->origin = add_member(c, s);
	result =
		c->origin ? gsb_capture_depend(c->origin, deps, n, true) : CUDA_ERROR_OUT_OF_MEMORY;
	if (result)
		drop(c);
	return result;
}

/* Mark all that a node depends on, itself included. */
static void mark_above(struct gsb_graph_node *node, struct gsb_graph_node **stack)
{
	uint32_t n = 0;

	if (node->index)
		return;
	node->index = 1;
	stack[n++] = node;
	while (n) {
		const struct gsb_graph_node *at = stack[--n];

		for (uint32_t i = 0; i < at->n_deps; i++) {
			if (!at->deps[i]->index)
				stack[n++] = at->deps[i];
			at->deps[i]->index = 1;
		}
	}
}

/* Whether the origin waits for what every member did last. */
static CUresult check_joined(const struct gsb_capture *c)
{
	struct gsb_graph_node **stack = malloc((c->graph->n_nodes + 1) * sizeof(*stack));
	CUresult result = CUDA_SUCCESS;

	if (!stack)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (uint32_t i = 0; i < c->graph->n_nodes; i++)
		c->graph->nodes[i]->index = 0;
	for (uint32_t i = 0; i < c->origin->n_deps; i++)
		mark_above(c->origin->deps[i], stack);
	for (const struct gsb_capture_member *m = c->first; m; m = m->next)
		for (uint32_t i = 0; i < m->n_deps; i++)
			if (!m->deps[i]->index)
				result = CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	free(stack);
	return result;
}

CUresult gsb_capture_end(const struct gsb_cu_stream_ref *s, struct gsb_graph **out)
{
	struct gsb_capture_member *m = gsb_capture_of(s);
	struct gsb_capture *c = m ? m->capture : NULL;
	CUresult result;

	if (!c)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (m != c->origin) {
		gsb_capture_invalidate(c);
		return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
	}
	result = c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && c->thread != gsb_self.id
			 ? CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD
		 : c->is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
				 : check_joined(c);
	if (!result) {
		*out = c->graph;
		c->graph->is_capturing = false;
		c->is_given = true; /* to the caller */
	}
	drop(c);
	return result;
}

void gsb_capture_invalidate(struct gsb_capture *c)
{
	c->is_invalid = true;
}

void gsb_capture_leave(const struct gsb_cu_stream_ref *s)
{
	const struct gsb_capture_member *m = gsb_capture_of(s);

	if (m && m == m->capture->origin)
		drop(m->capture);
}

/* ---- work ---- */

CUresult gsb_capture_check(const struct gsb_capture_member *m)
{
	return m->capture->is_invalid ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS;
}

CUresult gsb_capture_add(struct gsb_capture_member *m, const struct gsb_graph_work *work)
{
	struct gsb_graph_node *node;
	CUresult result = gsb_capture_check(m);

	if (!result)
		result = gsb_cu_graph_result(
			gsb_graph_add(m->capture->graph, work, m->deps, m->n_deps, &node));
	if (!result)
		result = gsb_capture_depend(m, &node, 1, true);
	if (result)
		gsb_capture_invalidate(m->capture);
	return result;
}

/* ---- what captures do not stand ---- */

static bool is_blocking_in(const struct gsb_capture_member *m, uint64_t wire)
{
	return gsb_object_is(m->stream, m->handle) && gsb_object_owner(m->stream) == wire &&
	       !(m->stream->flags & CU_STREAM_NON_BLOCKING);
}

static bool has_blocking(const struct gsb_capture *c, uint64_t wire)
{
	for (const struct gsb_capture_member *m = c->first; m; m = m->next)
		if (is_blocking_in(m, wire))
			return true;
	return false;
}

CUresult gsb_capture_implicit(const struct gsb_cu_stream_ref *s, bool ask)
{
	CUresult result = CUDA_SUCCESS;

	if (s->s->kind != GSB_CU_STREAM_LEGACY)
		return CUDA_SUCCESS;
	for (struct gsb_capture *c = captures; c; c = c->next)
		if (!c->is_invalid && has_blocking(c, s->wire)) {
			c->is_invalid |= !ask;
			result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
		}
	return result;
}

CUresult gsb_capture_no_wait(const struct gsb_cu_stream_ref *s)
{
	struct gsb_capture_member *m = gsb_capture_of(s);

	if (!m)
		return gsb_capture_implicit(s, false);
	gsb_capture_invalidate(m->capture);
	return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

CUresult gsb_capture_refuse(const struct gsb_cu_stream_ref *s)
{
	CUresult result;

	gsb_cu_graphs_lock();
	result = gsb_capture_no_wait(s);
	gsb_cu_graphs_unlock();
	return result;
}

static bool is_forbidden_by(const struct gsb_capture *c)
{
	if (c->is_invalid || c->mode == CU_STREAM_CAPTURE_MODE_RELAXED || is_origin_gone(c))
		return false;
	return c->thread == gsb_self.id || (c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
					    gsb_self.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL);
}

CUresult gsb_capture_unsafe(void)
{
	CUresult result = CUDA_SUCCESS;

	if (!gsb_capture_any() || gsb_self.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_SUCCESS;
	gsb_cu_graphs_lock();
	for (struct gsb_capture *c = captures; c; c = c->next)
		if (is_forbidden_by(c)) {
			gsb_capture_invalidate(c);
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	gsb_cu_graphs_unlock();
	return result;
}

CUresult gsb_capture_unsafe_ctx(uint64_t wire)
{
	CUresult result = CUDA_SUCCESS;

	if (!gsb_capture_any())
		return CUDA_SUCCESS;
	gsb_cu_graphs_lock();
	for (struct gsb_capture *c = captures; c; c = c->next)
		if (!is_origin_gone(c) && gsb_object_owner(c->origin->stream) == wire) {
			gsb_capture_invalidate(c);
			result = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
		}
	gsb_cu_graphs_unlock();
	return result;
}

/* ---- events ---- */

CUresult gsb_capture_record(struct gsb_capture_member *m, struct gsb_cu_event *e)
{
	struct gsb_capture_mark *mark;
	CUresult result = gsb_capture_check(m);

	if (result)
		return result;
	mark = malloc(sizeof(*mark) + m->n_deps * sizeof(*mark->nodes));
	if (!mark)
		return CUDA_ERROR_OUT_OF_MEMORY;
	mark->id = m->capture->id;
	mark->n = m->n_deps;
	if (m->n_deps)
		memcpy(mark->nodes, m->deps, m->n_deps * sizeof(*m->deps));
	gsb_capture_forget(e);
	e->mark = mark;
	return CUDA_SUCCESS;
}

struct gsb_capture *gsb_capture_of_event(const struct gsb_cu_event *e)
{
	const struct gsb_capture_mark *mark = e->mark;

	for (struct gsb_capture *c = mark ? captures : NULL; c; c = c->next)
		if (c->id == mark->id)
			return c;
	return NULL;
}

CUresult gsb_capture_join(const struct gsb_cu_stream_ref *s, const struct gsb_cu_event *e)
{
	struct gsb_capture *c = gsb_capture_of_event(e);
	struct gsb_capture_member *m = gsb_capture_of(s);
	const struct gsb_capture_mark *mark = e->mark;

	if (m && m->capture != c) {
		gsb_capture_invalidate(m->capture);
		gsb_capture_invalidate(c);
		return CUDA_ERROR_STREAM_CAPTURE_MERGE;
	}
	if (c->is_invalid)
		return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (!m)
		m = add_member(c, s);
	return m ? gsb_capture_depend(m, mark->nodes, mark->n, false) : CUDA_ERROR_OUT_OF_MEMORY;
}

void gsb_capture_forget(struct gsb_cu_event *e)
{
	free(e->mark);
	e->mark = NULL;
}
