/*
 * hooks/graph.c - graphs as structures: made, copied, added to, asked, and the objects that they hold.
 */
#include "interpose/hooks/graph.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/cancel.h"
#include "interpose/cu/function.h"

/* ---- lists of nodes ---- */

CUresult gsb_graph_nodes_of(const struct gsb_graph *g, const struct gsb_node_set *set,
			    struct gsb_graph_node ***out)
{
	struct gsb_graph_node **nodes;

	if (set->n && !set->nodes)
		return CUDA_ERROR_INVALID_VALUE;
	nodes = calloc(set->n + 1, sizeof(*nodes));
	if (!nodes)
		return CUDA_ERROR_OUT_OF_MEMORY;
	for (size_t i = 0; i < set->n; i++) {
		nodes[i] = gsb_cu_node_get(set->nodes[i]);
		if (!nodes[i] || nodes[i]->graph != g) {
			free(nodes);
			return CUDA_ERROR_INVALID_VALUE;
		}
	}
	*out = nodes;
	return CUDA_SUCCESS;
}

/* A list as the driver hands it out: as many as there is room for, the rest of the room empty; *n: how many came. */
struct listing {
	CUgraphNode *nodes, *to;
	CUgraphEdgeData *data;
	size_t room, n;
};

static CUresult list(struct listing *l, struct gsb_graph_node *node, struct gsb_graph_node *to)
{
	size_t i = l->n++;
	CUresult result = CUDA_SUCCESS;

	if (i >= l->room)
		return CUDA_SUCCESS;
	if (l->data)
		l->data[i] = (CUgraphEdgeData){0};
	if (l->nodes)
		result = gsb_cu_node_handle(node, &l->nodes[i]);
	if (!result && l->to)
		result = gsb_cu_node_handle(to, &l->to[i]);
	return result;
}

static void end_list(struct listing *l, size_t *n)
{
	for (size_t i = l->n; i < l->room; i++) {
		if (l->nodes)
			l->nodes[i] = NULL;
		if (l->to)
			l->to[i] = NULL;
	}
	*n = l->nodes && l->n > l->room ? l->room : l->n;
}

static struct listing begin_list(CUgraphNode *nodes, CUgraphNode *to, CUgraphEdgeData *data,
				 const size_t *n)
{
	return (struct listing){.nodes = nodes, .to = to, .data = data, .room = nodes ? *n : 0};
}

static CUresult get_nodes(CUgraph graph, CUgraphNode *nodes, size_t *n, bool roots)
{
	const struct gsb_graph *g = gsb_cu_graph_get(graph);
	CUresult result = CUDA_SUCCESS;
	struct listing l;

	if (!g || !n)
		return CUDA_ERROR_INVALID_VALUE;
	l = begin_list(nodes, NULL, NULL, n);
	for (uint32_t i = 0; !result && i < g->n_nodes; i++)
		if (!roots || !g->nodes[i]->n_deps)
			result = list(&l, g->nodes[i], NULL);
	end_list(&l, n);
	return result;
}

CUresult hook_cuGraphGetNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	gsb_cu_graphs_lock();
	return gsb_graph_leave(get_nodes(graph, nodes, n, false));
}

CUresult hook_cuGraphGetRootNodes(CUgraph graph, CUgraphNode *nodes, size_t *n)
{
	gsb_cu_graphs_lock();
	return gsb_graph_leave(get_nodes(graph, nodes, n, true));
}

static CUresult get_edges(const struct gsb_graph *g, struct listing *l)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; !result && i < g->n_nodes; i++)
		for (uint32_t j = 0; !result && j < g->nodes[i]->n_dependents; j++)
			result = list(l, g->nodes[i], g->nodes[i]->dependents[j]);
	return result;
}

CUresult hook_cuGraphGetEdges(CUgraph graph, CUgraphNode *from, CUgraphNode *to,
			      CUgraphEdgeData *data, size_t *n)
{
	const struct gsb_graph *g;
	struct listing l;
	CUresult result;

	if (!n || !from != !to)
		return CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_lock();
	g = gsb_cu_graph_get(graph);
	if (!g)
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	l = begin_list(from, to, data, n);
	result = get_edges(g, &l);
	end_list(&l, n);
	return gsb_graph_leave(result);
}

static CUresult get_neighbours(CUgraphNode handle, struct listing *l, bool dependents)
{
	const struct gsb_graph_node *node = gsb_cu_node_get(handle);
	CUresult result = node ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	uint32_t n;

	if (result)
		return result;
	n = dependents ? node->n_dependents : node->n_deps;
	for (uint32_t i = 0; !result && i < n; i++)
		result = list(l, dependents ? node->dependents[i] : node->deps[i], NULL);
	return result;
}

static CUresult list_neighbours(CUgraphNode node, struct listing l, size_t *n, bool dependents)
{
	CUresult result;

	gsb_cu_graphs_lock();
	result = get_neighbours(node, &l, dependents);
	if (!result)
		end_list(&l, n);
	return gsb_graph_leave(result);
}

CUresult hook_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *nodes,
					 CUgraphEdgeData *data, size_t *n)
{
	return n ? list_neighbours(node, begin_list(nodes, NULL, data, n), n, false)
		 : CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes,
					   CUgraphEdgeData *data, size_t *n)
{
	return n ? list_neighbours(node, begin_list(nodes, NULL, data, n), n, true)
		 : CUDA_ERROR_INVALID_VALUE;
}

/* ---- graphs ---- */

static CUresult hand_out(struct gsb_graph *g, CUgraph *out)
{
	CUresult result = gsb_cu_graph_handle(g, out);

	if (result)
		gsb_graph_destroy(g);
	return result;
}

static CUresult create(CUgraph *graph)
{
	struct gsb_graph *g;
	CUresult result = gsb_cu_graph_result(gsb_graph_create(&gsb_cu_graph_keeper, &g));

	return result ? result : hand_out(g, graph);
}

CUresult hook_cuGraphCreate(CUgraph *graph, unsigned flags)
{
	if (!graph || flags)
		return CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_lock();
	return gsb_graph_leave(create(graph));
}

CUresult gsb_graph_check_free(const struct gsb_graph *g)
{
	if (!g)
		return CUDA_ERROR_INVALID_VALUE;
	return g->has_memory ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS;
}

CUresult gsb_graph_check_copy(const struct gsb_graph *g)
{
	CUresult result = gsb_graph_check_free(g);

	return result || !gsb_graph_has_conditions(g) ? result : CUDA_ERROR_NOT_SUPPORTED;
}

static CUresult clone_graph(CUgraph *out, CUgraph graph)
{
	const struct gsb_graph *g = gsb_cu_graph_get(graph);
	struct gsb_graph *copy;
	CUresult result = gsb_graph_check_copy(g);

	if (!result)
		result = gsb_cu_graph_result(gsb_graph_clone(g, &copy));
	return result ? result : hand_out(copy, out);
}

CUresult hook_cuGraphClone(CUgraph *out, CUgraph graph)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_lock();
	return gsb_graph_leave(clone_graph(out, graph));
}

/* What a node or a capture owns is not the program's to destroy. */
bool gsb_graph_is_owned(const struct gsb_graph *g)
{
	return g->is_inner || g->is_capturing;
}

CUresult hook_cuGraphDestroy(CUgraph graph)
{
	struct gsb_graph *g;

	gsb_cu_graphs_lock();
	g = gsb_cu_graph_get(graph);
	if (!g || gsb_graph_is_owned(g))
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	gsb_graph_destroy(g);
	return gsb_graph_leave(CUDA_SUCCESS);
}

CUresult hook_cuGraphDestroyNode(CUgraphNode handle)
{
	struct gsb_graph_node *node;
	CUresult result;

	gsb_cu_graphs_lock();
	node = gsb_cu_node_get(handle);
	if (!node || node->graph->is_capturing)
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	result = gsb_graph_check_free(node->graph);
	if (!result)
		gsb_graph_remove(node);
	return gsb_graph_leave(result);
}

static CUresult find_in_clone(CUgraphNode *out, CUgraphNode original, CUgraph clone)
{
	const struct gsb_graph_node *node = gsb_cu_node_get(original);
	const struct gsb_graph *g = gsb_cu_graph_get(clone);
	struct gsb_graph_node *found = node && g ? gsb_graph_find(g, node->id) : NULL;

	return found ? gsb_cu_node_handle(found, out) : CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuGraphNodeFindInClone(CUgraphNode *node, CUgraphNode original, CUgraph clone)
{
	if (!node)
		return CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_lock();
	return gsb_graph_leave(find_in_clone(node, original, clone));
}

CUresult hook_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
	const struct gsb_graph_node *node;

	gsb_cu_graphs_lock();
	node = gsb_cu_node_get(handle);
	if (!node || !type)
		return gsb_graph_leave(CUDA_ERROR_INVALID_VALUE);
	*type = node->work.type;
	return gsb_graph_leave(CUDA_SUCCESS);
}

/* ---- nodes ---- */

CUresult gsb_graph_add_to(struct gsb_graph *g, const struct gsb_node_place *place,
			  const struct gsb_graph_work *work)
{
	struct gsb_graph_node **deps, *node;
	CUresult result = gsb_graph_nodes_of(
		g, &(struct gsb_node_set){.nodes = place->deps, .n = place->n}, &deps);

	if (result)
		return result;
	result = gsb_cu_graph_result(gsb_graph_add(g, work, deps, place->n, &node));
	free(deps);
	if (result)
		return result;
	result = gsb_cu_node_handle(node, place->node);
	if (result) {
		node->work.type = CU_GRAPH_NODE_TYPE_EMPTY; /* what it did is the caller's again */
		gsb_graph_remove(node);
	}
	return result;
}

CUresult gsb_graph_add_node(const struct gsb_node_place *place, CUresult result,
			    struct gsb_graph_work *work)
{
	struct gsb_graph *g = gsb_cu_graph_get(place->graph);

	if (result)
		return gsb_graph_leave(result);
	result = g && place->node ? gsb_graph_add_to(g, place, work) : CUDA_ERROR_INVALID_VALUE;
	if (result)
		gsb_graph_work_free(work);
	return gsb_graph_leave(result);
}

/* ---- edges ---- */

/* An annotation that says more than "behind it" would let the later node begin earlier: the plain edge satisfies it. */
static bool is_data_ok(const CUgraphEdgeData *data, size_t n)
{
	for (size_t i = 0; data && i < n; i++)
		if (data[i].from_port > 2 || data[i].to_port || data[i].type > 1)
			return false;
	return true;
}

static CUresult add_edge(const struct gsb_graph *g, CUgraphNode from, CUgraphNode to)
{
	struct gsb_graph_node *a = gsb_cu_node_get(from), *b = gsb_cu_node_get(to);

	if (!a || !b || a->graph != g)
		return CUDA_ERROR_INVALID_VALUE;
	return gsb_cu_graph_result(gsb_graph_connect(a, b));
}

static CUresult remove_edge(const struct gsb_graph *g, CUgraphNode from, CUgraphNode to)
{
	struct gsb_graph_node *a = gsb_cu_node_get(from), *b = gsb_cu_node_get(to);

	CUresult result = gsb_graph_check_free(g);

	if (result)
		return result;
	if (!a || !b || a->graph != g || !gsb_graph_is_connected(a, b))
		return CUDA_ERROR_INVALID_VALUE;
	gsb_graph_disconnect(a, b);
	return CUDA_SUCCESS;
}

/* As far as the first that is wrong, as the driver does it. */
static CUresult
change_edges(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to, size_t n,
	     CUresult (*change)(const struct gsb_graph *g, CUgraphNode from, CUgraphNode to))
{
	const struct gsb_graph *g = gsb_cu_graph_get(graph);
	CUresult result = g && (!n || (from && to)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;

	for (size_t i = 0; !result && i < n; i++)
		result = change(g, from[i], to[i]);
	return result;
}

CUresult hook_cuGraphAddDependencies(CUgraph graph, const CUgraphNode *from, const CUgraphNode *to,
				     const CUgraphEdgeData *data, size_t n)
{
	if (!is_data_ok(data, n))
		return CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_lock();
	return gsb_graph_leave(change_edges(graph, from, to, n, add_edge));
}

CUresult hook_cuGraphRemoveDependencies(CUgraph graph, const CUgraphNode *from,
					const CUgraphNode *to, const CUgraphEdgeData *data,
					size_t n)
{
	if (!is_data_ok(data, n))
		return CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_lock();
	return gsb_graph_leave(change_edges(graph, from, to, n, remove_edge));
}

/* ---- a drawing ---- */

/* The name of a kernel, unless its library has been unloaded, and the direction of a copy. */
static void draw_details(const struct gsb_graph_work *w, FILE *file)
{
	static const char ends[] = {[CU_MEMORYTYPE_HOST] = 'H',
				    [CU_MEMORYTYPE_DEVICE] = 'D',
				    [CU_MEMORYTYPE_ARRAY] = 'A',
				    [CU_MEMORYTYPE_UNIFIED] = 'U'};
	const struct gsb_cu_function *f = w->type == CU_GRAPH_NODE_TYPE_KERNEL
						  ? gsb_cu_function_get((uint64_t)w->kernel.func)
						  : NULL;

	if (f)
		fprintf(file, "\\n%s", f->name);
	else if (w->type == CU_GRAPH_NODE_TYPE_MEMCPY)
		fprintf(file, "\\n%cto%c", ends[w->copy.srcMemoryType],
			ends[w->copy.dstMemoryType]);
}

static void draw(const struct gsb_graph *g, FILE *file)
{
	static const char *const kinds[] = {
		[CU_GRAPH_NODE_TYPE_KERNEL] = "kernel",
		[CU_GRAPH_NODE_TYPE_MEMCPY] = "memcpy",
		[CU_GRAPH_NODE_TYPE_MEMSET] = "memset",
		[CU_GRAPH_NODE_TYPE_HOST] = "host",
		[CU_GRAPH_NODE_TYPE_GRAPH] = "graph",
		[CU_GRAPH_NODE_TYPE_EMPTY] = "empty",
		[CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "wait event",
		[CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "event record",
		[CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "mem alloc",
		[CU_GRAPH_NODE_TYPE_MEM_FREE] = "mem free",
		[CU_GRAPH_NODE_TYPE_CONDITIONAL] = "conditional",
	};

	fprintf(file, "digraph dot {\n");
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		const struct gsb_graph_work *w = &g->nodes[i]->work;

		fprintf(file, "\t\"%llu\" [label=\"%s", (unsigned long long)g->nodes[i]->id,
			kinds[w->type]);
		draw_details(w, file);
		fprintf(file, "\"];\n");
	}
	for (uint32_t i = 0; i < g->n_nodes; i++)
		for (uint32_t j = 0; j < g->nodes[i]->n_dependents; j++)
			fprintf(file, "\t\"%llu\" -> \"%llu\";\n",
				(unsigned long long)g->nodes[i]->id,
				(unsigned long long)g->nodes[i]->dependents[j]->id);
	fprintf(file, "}\n");
}

static CUresult print(CUgraph graph, const char *path)
{
	const struct gsb_graph *g = gsb_cu_graph_get(graph);
	FILE *file = g && path ? fopen(path, "we") : NULL;
	bool ok;

	if (!file)
		return g && path ? CUDA_ERROR_OPERATING_SYSTEM : CUDA_ERROR_INVALID_VALUE;
	draw(g, file);
	ok = !ferror(file);
	ok = !fclose(file) && ok;
	return ok ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

/* Nodes by their kinds, with what CUDA documents to be there always, and edges, whatever else is asked for. */
CUresult hook_cuGraphDebugDotPrint(CUgraph graph, const char *path, unsigned flags)
{
	CUresult result;
	int was = gsb_cancel_hold();

	gsb_cu_graphs_lock();
	result = gsb_graph_leave(print(graph, path));
	gsb_cancel_let_go(was);
	return result;
}

/* ---- user objects ---- */

CUresult hook_cuUserObjectCreate(CUuserObject *object, void *ptr, CUhostFn destroy, unsigned n,
				 unsigned flags)
{
	if (!object || !destroy || !n || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
		return CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_lock();
	return gsb_graph_leave(gsb_cu_user_create(ptr, destroy, n, object));
}

CUresult hook_cuUserObjectRetain(CUuserObject object, unsigned n)
{
	gsb_cu_graphs_lock();
	return gsb_graph_leave(gsb_cu_user_hold(object, n));
}

CUresult hook_cuUserObjectRelease(CUuserObject object, unsigned n)
{
	gsb_cu_graphs_lock();
	return gsb_graph_leave(gsb_cu_user_let_go(object, n));
}

static CUresult retain(CUgraph graph, CUuserObject object, unsigned n, bool move)
{
	struct gsb_graph *g = gsb_cu_graph_get(graph);
	CUresult result = g ? gsb_cu_user_hold(object, n) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	result = gsb_cu_graph_result(gsb_graph_hold(g, (uint64_t)object, n));
	if (result || move) /* what the graph has now, the program has no longer */
		gsb_cu_user_let_go(object, n);
	return result;
}

CUresult hook_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned n,
				      unsigned flags)
{
	if (flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
		return CUDA_ERROR_INVALID_VALUE;
	gsb_cu_graphs_lock();
	return gsb_graph_leave(retain(graph, object, n, flags));
}

CUresult hook_cuGraphReleaseUserObject(CUgraph graph, CUuserObject object, unsigned n)
{
	struct gsb_graph *g;

	gsb_cu_graphs_lock();
	g = gsb_cu_graph_get(graph);
	return gsb_graph_leave(g ? gsb_cu_graph_result(gsb_graph_let_go(g, (uint64_t)object, n))
				 : CUDA_ERROR_INVALID_VALUE);
}
