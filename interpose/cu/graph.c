/*
 * cu/graph.c - see cu/graph.h.
 */
#include "interpose/cu/graph.h"

#include <errno.h>
#include <pthread.h>

#include "interpose/cu/host_call.h"

#define N_GRAPHS (1u << 18)
#define N_NODES	 (1u << 20)
#define N_USERS	 (1u << 16)

static pthread_mutex_t lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;
static uint32_t depth; /* how often its owner has it */

struct graph_handle {
	struct gsb_object obj;
	struct gsb_graph *graph;
};

struct node_handle {
	struct gsb_object obj;
	struct gsb_graph_node *node;
};

struct user_object {
	struct gsb_object obj;
	void *ptr;
	CUhostFn destroy;
	uint32_t n;		  /* references */
	struct user_object *next; /* of those that are to be destroyed */
};

struct gsb_object_table gsb_cu_graphs =
	GSB_OBJECT_TABLE(GSB_HANDLE_GRAPH, N_GRAPHS, struct graph_handle, NULL);
struct gsb_object_table gsb_cu_nodes =
	GSB_OBJECT_TABLE(GSB_HANDLE_NODE, N_NODES, struct node_handle, NULL);
struct gsb_object_table gsb_cu_user_objects =
	GSB_OBJECT_TABLE(GSB_HANDLE_USER, N_USERS, struct user_object, NULL);

/* User objects without a reference, until the lock is free. */
static struct user_object *first_due, **last_due = &first_due;

void gsb_cu_graphs_lock(void)
{
	pthread_mutex_lock(&lock);
	depth++;
}

/* A destructor may wait for a thread that wants the lock. */
static void destroy_users(struct user_object *first)
{
	struct user_object *next;

	for (; first; first = next) {
		next = first->next;
		first->destroy(first->ptr);
		gsb_object_release(&gsb_cu_user_objects, gsb_object_name(first));
	}
}

void gsb_cu_graphs_unlock(void)
{
	struct user_object *due = NULL;

	if (!--depth) {
		due = first_due;
		first_due = NULL;
		last_due = &first_due;
	}
	pthread_mutex_unlock(&lock);
	destroy_users(due);
}

/* ---- handles ---- */

static void end(struct gsb_object_table *t, uint64_t name)
{
	if (gsb_object_retire(t, name))
		gsb_object_release(t, name);
}

struct gsb_graph *gsb_cu_graph_get(CUgraph handle)
{
	const struct graph_handle *h = gsb_object_get(&gsb_cu_graphs, (uint64_t)handle);

	return h ? h->graph : NULL;
}

struct gsb_graph_node *gsb_cu_node_get(CUgraphNode handle)
{
	const struct node_handle *h = gsb_object_get(&gsb_cu_nodes, (uint64_t)handle);

	return h ? h->node : NULL;
}

CUresult gsb_cu_graph_handle(struct gsb_graph *g, CUgraph *out)
{
	if (!g->name) {
		struct graph_handle *h = gsb_object_take(&gsb_cu_graphs, 0, 0);

		if (!h)
			return CUDA_ERROR_OUT_OF_MEMORY;
		h->graph = g;
		g->name = gsb_object_name(h);
		gsb_object_publish(&gsb_cu_graphs, h);
	}
	*out = (CUgraph)g->name;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_node_handle(struct gsb_graph_node *node, CUgraphNode *out)
{
	if (!node->name) {
		struct node_handle *h = gsb_object_take(&gsb_cu_nodes, 0, 0);

		if (!h)
			return CUDA_ERROR_OUT_OF_MEMORY;
		h->node = node;
		node->name = gsb_object_name(h);
		gsb_object_publish(&gsb_cu_nodes, h);
	}
	*out = (CUgraphNode)node->name;
	return CUDA_SUCCESS;
}

static void graph_gone(uint64_t name)
{
	end(&gsb_cu_graphs, name);
}

static void node_gone(uint64_t name)
{
	end(&gsb_cu_nodes, name);
}

/* ---- user objects ---- */

CUresult gsb_cu_user_create(void *ptr, CUhostFn destroy, uint32_t n, CUuserObject *out)
{
	struct user_object *o = gsb_object_take(&gsb_cu_user_objects, 0, 0);

	if (!o)
		return CUDA_ERROR_OUT_OF_MEMORY;
	o->ptr = ptr;
	o->destroy = destroy;
	o->n = n;
	*out = (CUuserObject)gsb_object_name(o);
	gsb_object_publish(&gsb_cu_user_objects, o);
	return CUDA_SUCCESS;
}

CUresult gsb_cu_user_hold(CUuserObject object, uint32_t n)
{
	struct user_object *o = gsb_object_get(&gsb_cu_user_objects, (uint64_t)object);

	if (!o || !n || n > UINT32_MAX - o->n)
		return CUDA_ERROR_INVALID_VALUE;
	o->n += n;
	return CUDA_SUCCESS;
}

CUresult gsb_cu_user_let_go(CUuserObject object, uint32_t n)
{
	struct user_object *o = gsb_object_get(&gsb_cu_user_objects, (uint64_t)object);

	if (!o || !n || n > o->n)
		return CUDA_ERROR_INVALID_VALUE;
	o->n -= n;
	if (!o->n && gsb_object_retire(&gsb_cu_user_objects, (uint64_t)object)) {
		o->next = NULL;
		*last_due = o;
		last_due = &o->next;
	}
	return CUDA_SUCCESS;
}

static void hold(uint64_t object, uint32_t n)
{
	gsb_cu_user_hold((CUuserObject)object, n);
}

static void let_go(uint64_t object, uint32_t n)
{
	gsb_cu_user_let_go((CUuserObject)object, n);
}

const struct gsb_graph_keeper gsb_cu_graph_keeper = {
	.graph_gone = graph_gone,
	.node_gone = node_gone,
	.hold = hold,
	.let_go = let_go,
};

CUresult gsb_cu_graph_result(int r)
{
	return !r	       ? CUDA_SUCCESS
	       : r == -ENOMEM  ? CUDA_ERROR_OUT_OF_MEMORY
	       : r == -ENOTSUP ? CUDA_ERROR_NOT_SUPPORTED
			       : CUDA_ERROR_INVALID_VALUE;
}
