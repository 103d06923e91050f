/*
 * hooks/capture.c - stream capture: begun, ended and asked. What capturing streams make of work stands with the work.
 */
#include "interpose/cu/capture.h"

#include <stdlib.h>

#include "interpose/core/thread.h"
#include "interpose/cu/stream.h"
#include "interpose/hooks/graph.h"

static CUresult begin(CUstream stream, struct gsb_graph *g, const struct gsb_node_set *deps,
		      CUstreamCaptureMode mode)
{
	struct gsb_graph_node **nodes = NULL;
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (result)
		return result;
	if (s.s->kind == GSB_CU_STREAM_LEGACY)
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	if (mode > CU_STREAM_CAPTURE_MODE_RELAXED)
		return CUDA_ERROR_INVALID_VALUE;
	if (gsb_capture_of(&s) || (g && g->is_capturing))
		return CUDA_ERROR_ILLEGAL_STATE;
	if (g)
		result = gsb_graph_nodes_of(g, deps, &nodes);
	if (!result)
		result = gsb_capture_begin(&s, g, nodes, g ? (uint32_t)deps->n : 0, mode);
	free(nodes);
	return result;
}

CUresult hook_cuStreamBeginCapture(CUstream stream, CUstreamCaptureMode mode)
{
	gsb_cu_graphs_lock();
	return gsb_graph_leave(begin(stream, NULL, NULL, mode));
}

CUresult hook_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph,
					  const struct gsb_node_set *deps, CUstreamCaptureMode mode)
{
	struct gsb_graph *g;

	gsb_cu_graphs_lock();
	g = gsb_cu_graph_get(graph);
	return gsb_graph_leave(g ? begin(stream, g, deps, mode) : CUDA_ERROR_INVALID_VALUE);
}

static CUresult end(CUstream stream, CUgraph *graph)
{
	struct gsb_cu_stream_ref s;
	struct gsb_graph *g = NULL;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (graph)
		*graph = NULL;
	if (!result)
		result = gsb_capture_end(&s, &g);
	if (result)
		return result;
	if (graph)
		return gsb_cu_graph_handle(g, graph);
	if (!g->name) /* nobody has it, or will have it */
		gsb_graph_destroy(g);
	return CUDA_SUCCESS;
}

CUresult hook_cuStreamEndCapture(CUstream stream, CUgraph *graph)
{
	gsb_cu_graphs_lock();
	return gsb_graph_leave(end(stream, graph));
}

/* ---- asked ---- */

static CUresult find(CUstream stream, struct gsb_capture_member **out)
{
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (result)
		return result;
	*out = gsb_capture_of(&s);
	return *out ? CUDA_SUCCESS : gsb_capture_implicit(&s, true);
}

static CUstreamCaptureStatus status_of(const struct gsb_capture_member *m)
{
	return !m			? CU_STREAM_CAPTURE_STATUS_NONE
	       : m->capture->is_invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
					: CU_STREAM_CAPTURE_STATUS_ACTIVE;
}

static CUresult tell_deps(struct gsb_capture_member *m, const struct gsb_capture_info *info)
{
	CUgraphNode *told = realloc(m->stream->told, (m->n_deps + 1) * sizeof(*told));
	CUresult result = CUDA_SUCCESS;

	if (!told)
		return CUDA_ERROR_OUT_OF_MEMORY;
	m->stream->told = told;
	for (uint32_t i = 0; !result && i < m->n_deps; i++)
		result = gsb_cu_node_handle(m->deps[i], &told[i]);
	*info->deps = told;
	return result;
}

/* No edge has data of its own: there is none to be told. */
static CUresult tell(struct gsb_capture_member *m, const struct gsb_capture_info *info)
{
	CUresult result = CUDA_SUCCESS;

	if (info->id)
		*info->id = m->capture->id;
	if (info->graph)
		result = gsb_cu_graph_handle(m->capture->graph, info->graph);
	if (!result && info->deps)
		result = tell_deps(m, info);
	if (info->data)
		*info->data = NULL;
	if (info->n)
		*info->n = m->n_deps;
	return result;
}

static CUresult get_info(CUstream stream, const struct gsb_capture_info *info)
{
	struct gsb_capture_member *m;
	CUresult result = info->status ? find(stream, &m) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	*info->status = status_of(m);
	return *info->status == CU_STREAM_CAPTURE_STATUS_ACTIVE ? tell(m, info) : CUDA_SUCCESS;
}

CUresult hook_cuStreamGetCaptureInfo(CUstream stream, const struct gsb_capture_info *info)
{
	gsb_cu_graphs_lock();
	return gsb_graph_leave(get_info(stream, info));
}

CUresult hook_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
	return hook_cuStreamGetCaptureInfo(stream, &(struct gsb_capture_info){.status = status});
}

static CUresult update(CUstream stream, const struct gsb_node_set *deps, unsigned flags)
{
	struct gsb_graph_node **nodes;
	struct gsb_capture_member *m;
	CUresult result = find(stream, &m);

	if (result)
		return result;
	if (!m)
		return CUDA_ERROR_ILLEGAL_STATE;
	if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
		return CUDA_ERROR_INVALID_VALUE;
	result = gsb_capture_check(m);
	if (!result)
		result = gsb_graph_nodes_of(m->capture->graph, deps, &nodes);
	if (result)
		return result;
	result = gsb_capture_depend(m, nodes, (uint32_t)deps->n,
				    flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES);
	free(nodes);
	return result;
}

CUresult hook_cuStreamUpdateCaptureDependencies(CUstream stream, const struct gsb_node_set *deps,
						unsigned flags)
{
	gsb_cu_graphs_lock();
	return gsb_graph_leave(update(stream, deps, flags));
}

CUresult hook_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
	CUstreamCaptureMode last = gsb_self.capture_mode;

	if (!mode)
		return CUDA_ERROR_INVALID_VALUE;
	gsb_self.capture_mode = *mode;
	*mode = last;
	return CUDA_SUCCESS;
}
