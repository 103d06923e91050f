/*
 * cu/graph.h - handles of graphs, their nodes and user objects. What a graph is stands in graph/graph.h.
 *
 * One lock for all of them, and for captures: a graph is no thing that threads share while it grows, but nothing may
 * break when they do. Whoever takes a graph or a node by its handle holds the lock as long as it is used.
 */
#ifndef GSB_INTERPOSE_CU_GRAPH_H
#define GSB_INTERPOSE_CU_GRAPH_H

#include "gsb/cuabi.h"
#include "interpose/core/object.h"
#include "interpose/graph/graph.h"

extern struct gsb_object_table gsb_cu_graphs, gsb_cu_nodes, gsb_cu_user_objects;
extern const struct gsb_graph_keeper gsb_cu_graph_keeper;

/* May be taken again by who has it. Who lets go of it at last runs the destructors of the user objects that went. */
void gsb_cu_graphs_lock(void);
void gsb_cu_graphs_unlock(void);

/* NULL for what is none. */
struct gsb_graph *gsb_cu_graph_get(CUgraph handle);
struct gsb_graph_node *gsb_cu_node_get(CUgraphNode handle);

/* Its handle, made when it is asked for first. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult gsb_cu_graph_handle(struct gsb_graph *g, CUgraph *out);
CUresult gsb_cu_node_handle(struct gsb_graph_node *node, CUgraphNode *out);

/* A user object with n references. */
CUresult gsb_cu_user_create(void *ptr, CUhostFn destroy, uint32_t n, CUuserObject *out);
/*
 * CUDA_ERROR_INVALID_VALUE: none, or not so many. With the last one its destructor runs, before the call that gave it back returns, as
 * an H200's driver does it: CUDA promises less, but programs look.
 */
CUresult gsb_cu_user_hold(CUuserObject object, uint32_t n);
CUresult gsb_cu_user_let_go(CUuserObject object, uint32_t n);

/* From 0 and -errno of graph/: a graph that is no graph is an invalid value. */
CUresult gsb_cu_graph_result(int r);

#endif
