/*
 * graph.h - a CUDA graph as the library keeps it: nodes, what each of them does, and edges. Pure: it knows no
 * stream, no engine and no lock; handles are names that others give.
 *
 * A node belongs to one graph, and a child node to the graph that it owns. Clones remember of which node each of
 * theirs is a copy, through all generations of nested graphs: so an executable graph, which is a clone, finds the
 * node that a program means.
 */
#ifndef GSB_INTERPOSE_GRAPH_GRAPH_H
#define GSB_INTERPOSE_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "gsb/device_info.h"

#define GSB_N_NODE_ATTRS 17 /* CUkernelNodeAttrID */

struct gsb_graph;

struct gsb_graph_kernel {
	CUfunction func;
	uint32_t grid[3], block[3], smem;
	/* The node's own: n pointers, and behind them the values that they point to, as the kernel has them laid out. */
	void **params;
	uint32_t n_params, params_bytes;
	CUkernelNodeAttrValue *attrs; /* GSB_N_NODE_ATTRS of them; NULL: none was set */
};

/*
 * The memory of an allocation node, at one address from the node's making on. Every node that names it holds it, those
 * that free it and those of clones included, and so does the program from a launch until it is freed.
 */
struct gsb_graph_memory {
	CUDA_MEM_ALLOC_NODE_PARAMS params;
	CUmemAccessDesc access; /* what params tell of it, if they do */
	uint64_t wire;		/* of the context that it goes with */
	uint64_t freed;		/* event of the last free; 0: there was none */
	uint32_t n_holders;
	bool is_live;	 /* it was launched and is not yet freed, by what was posted */
	bool is_own;	 /* its own graph frees it */
	bool is_foreign; /* another graph does */
	void (*gone)(struct gsb_graph_memory *m);
};

/* Graphs of a conditional node: whether they run, and which of them, says a word when the node's turn has come. */
struct gsb_graph_condition {
	uint64_t word; /* its address, which kernels get for a handle, */
	uint64_t wire; /* and the context that it lies in */
	CUgraphConditionalNodeType type;
	uint32_t n;
	struct gsb_graph **bodies;
	CUgraph *names; /* of the bodies, for the program; in a clone NULL */
};

/* A word of that kind, which goes with the graph that it was asked for: that holds its object. */
struct gsb_graph_word {
	uint64_t addr, wire, object;
	uint32_t initial;
	bool is_reset; /* whenever the graph begins */
};

/* What a node does when its turn comes. */
struct gsb_graph_work {
	CUgraphNodeType type;
	union {
		struct gsb_graph_kernel kernel;
		CUDA_MEMCPY3D copy;
		CUDA_MEMSET_NODE_PARAMS fill;
		CUDA_HOST_NODE_PARAMS host;
		CUevent event; /* of both kinds that have one */
		struct gsb_graph *child;
		struct gsb_graph_memory *memory; /* of both kinds that have one */
		struct gsb_graph_condition condition;
	};
};

struct gsb_graph_node {
	struct gsb_graph *graph;
	uint64_t name;	     /* 0: the program has no handle of it */
	uint64_t id, origin; /* never the same twice; of which this is a copy, or 0 */
	struct gsb_graph_work work;
	struct gsb_graph_node **deps, **dependents;
	uint32_t n_deps, n_dependents;
	bool is_disabled; /* in an executable graph */
	uint32_t index;	  /* for walks */
};

/* An object that lives as long as a graph holds it. */
struct gsb_graph_object {
	uint64_t object;
	uint32_t n;
};

/* Whoever gave names and objects learns when they are no longer needed. */
struct gsb_graph_keeper {
	void (*graph_gone)(uint64_t name);
	void (*node_gone)(uint64_t name);
	void (*hold)(uint64_t object, uint32_t n);
	void (*let_go)(uint64_t object, uint32_t n);
};

struct gsb_graph {
	const struct gsb_graph_keeper *keeper;
	uint64_t name;
	bool is_inner;	   /* a child node owns it */
	bool is_capturing; /* a stream's work goes into it */
	bool has_memory;   /* nodes of it, or in it, allocate or free: it stays as it was made */
	uint64_t exec;	   /* then: the executable graph that was made of it last */
	struct gsb_graph_node **nodes; /* in the order in which they were added */
	uint32_t n_nodes;
	struct gsb_graph_object *objects;
	uint32_t n_objects;
	struct gsb_graph_word *words;
	uint32_t n_words;
};

int gsb_graph_create(const struct gsb_graph_keeper *keeper, struct gsb_graph **out);
void gsb_graph_destroy(struct gsb_graph *g);

/* A copy of all, with the objects held once more. -ENOMEM. */
int gsb_graph_clone(const struct gsb_graph *g, struct gsb_graph **out);

/*
 * gsb_graph_add() - a node behind others of the same graph
 * @work: becomes the graph's; on failure it stays the caller's
 * Return: 0, -EINVAL (a dependency of another graph, or twice the same; memory that the graph may not free), -ENOTSUP
 * (memory in a graph that a node owns), -ENOMEM
 */
int gsb_graph_add(struct gsb_graph *g, const struct gsb_graph_work *work,
		  struct gsb_graph_node *const *deps, size_t n, struct gsb_graph_node **out);
void gsb_graph_remove(struct gsb_graph_node *node);

/* An edge; it may close a circle. -EINVAL: there already, to itself, of another graph; -ENOMEM. */
int gsb_graph_connect(struct gsb_graph_node *from, struct gsb_graph_node *to);
bool gsb_graph_is_connected(const struct gsb_graph_node *from, const struct gsb_graph_node *to);
void gsb_graph_disconnect(struct gsb_graph_node *from, struct gsb_graph_node *to);

/* Every node behind all that it depends on, otherwise in the order of adding; order has room for n_nodes. -ELOOP. */
int gsb_graph_order(const struct gsb_graph *g, struct gsb_graph_node **order);

/* The graphs that a node owns. */
static inline uint32_t gsb_graph_inner(const struct gsb_graph_work *work,
				       struct gsb_graph *const **out)
{
	bool is_child = work->type == CU_GRAPH_NODE_TYPE_GRAPH;

	*out = is_child ? &work->child : work->condition.bodies;
	return is_child ? 1 : work->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ? work->condition.n : 0;
}

/* The copy of a node in a clone, in its nested graphs too; NULL: there is none. */
struct gsb_graph_node *gsb_graph_find(const struct gsb_graph *clone, uint64_t id);

/* Whether a graph is this one, or one that a node in it owns. */
bool gsb_graph_is_in(const struct gsb_graph *g, const struct gsb_graph *whole);

/* Its words become those of another graph. @was holds those of before from then on. -ENOMEM: it keeps its own. */
int gsb_graph_take_words(struct gsb_graph *g, const struct gsb_graph *from, struct gsb_graph *was);
int gsb_graph_add_word(struct gsb_graph *g, const struct gsb_graph_word *w); /* -ENOMEM */

/* Whether a node of it, or of a graph in it, is one. */
bool gsb_graph_has_conditions(const struct gsb_graph *g);
/* So many graphs of a conditional node's own, all empty. -ENOMEM. */
int gsb_graph_condition_make(const struct gsb_graph_keeper *keeper, uint32_t n,
			     struct gsb_graph_condition *out);

/* Objects: one more reference, which becomes the graph's; -ENOENT when it has not so many to give. */
int gsb_graph_hold(struct gsb_graph *g, uint64_t object, uint32_t n);
int gsb_graph_let_go(struct gsb_graph *g, uint64_t object, uint32_t n);

/*
 * Whether a node of this graph may free it: that is either for one node of its own graph, or for one of each other graph.
 */
bool gsb_graph_may_free(const struct gsb_graph *g, const struct gsb_graph_memory *m);
/* The last one who held it: m->gone(m). */
void gsb_graph_memory_let_go(struct gsb_graph_memory *m);
/* Its nodes hold no memory any more, and do nothing: it will not run again. */
void gsb_graph_drop_memory(struct gsb_graph *g);

int gsb_graph_work_copy(const struct gsb_graph_work *work, struct gsb_graph_work *out);
void gsb_graph_work_free(struct gsb_graph_work *work);

/* Room for a kernel's n parameters, which lie in so many bytes. -ENOMEM. */
int gsb_graph_kernel_params(struct gsb_graph_kernel *k, uint32_t n, uint32_t bytes,
			    const struct gsb_param *layout);
/* id < GSB_N_NODE_ATTRS. -ENOMEM. */
int gsb_graph_kernel_set_attr(struct gsb_graph_kernel *k, uint32_t id,
			      const CUkernelNodeAttrValue *value);

static inline bool gsb_graph_kernel_is_cooperative(const struct gsb_graph_kernel *k)
{
	return k->attrs && k->attrs[CU_LAUNCH_ATTRIBUTE_COOPERATIVE].cooperative;
}

static inline void *gsb_graph_kernel_values(const struct gsb_graph_kernel *k)
{
	return k->params + k->n_params;
}

#endif
