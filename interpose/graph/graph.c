/*
 * graph.c - see graph.h. An edge stands in both of its nodes; lists are short arrays, searched from the front.
 */
#include "interpose/graph/graph.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static _Atomic uint64_t last_id;

/* ---- what a node does ---- */

int gsb_graph_kernel_params(struct gsb_graph_kernel *k, uint32_t n, uint32_t bytes,
			    const struct gsb_param *layout)
{
	void **params = calloc(1, n * sizeof(*params) + bytes + 1);

	if (!params)
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++)
		params[i] = (uint8_t *)(params + n) + layout[i].offset;
	k->params = params;
	k->n_params = n;
	k->params_bytes = bytes;
	return 0;
}

static int copy_params(struct gsb_graph_kernel *to, const struct gsb_graph_kernel *from)
{
	size_t bytes = from->n_params * sizeof(*from->params) + from->params_bytes + 1;
	void **params;

	if (!from->params)
		return 0;
	params = malloc(bytes);
	if (!params)
		return -ENOMEM;
	memcpy(params, from->params, bytes);
	for (uint32_t i = 0; i < from->n_params; i++)
		params[i] =
			(uint8_t *)params + ((uint8_t *)from->params[i] - (uint8_t *)from->params);
	to->params = params;
	return 0;
}

int gsb_graph_kernel_set_attr(struct gsb_graph_kernel *k, uint32_t id,
			      const CUkernelNodeAttrValue *value)
{
	if (!k->attrs)
		k->attrs = calloc(GSB_N_NODE_ATTRS, sizeof(*k->attrs));
	if (!k->attrs)
		return -ENOMEM;
	k->attrs[id] = *value;
	return 0;
}

static int copy_attrs(struct gsb_graph_kernel *to, const struct gsb_graph_kernel *from)
{
	size_t bytes = GSB_N_NODE_ATTRS * sizeof(*from->attrs);

	if (!from->attrs)
		return 0;
	to->attrs = malloc(bytes);
	if (!to->attrs)
		return -ENOMEM;
	memcpy(to->attrs, from->attrs, bytes);
	return 0;
}

static int copy_kernel(struct gsb_graph_kernel *to, const struct gsb_graph_kernel *from)
{
	int r;

	to->params = NULL;
	to->attrs = NULL;
	r = copy_params(to, from);
	if (!r)
		r = copy_attrs(to, from);
	if (r)
		free(to->params);
	return r;
}

/* ---- memory ---- */

static bool is_memory(const struct gsb_graph_work *work)
{
	return work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC ||
	       work->type == CU_GRAPH_NODE_TYPE_MEM_FREE;
}

void gsb_graph_memory_let_go(struct gsb_graph_memory *m)
{
	if (!--m->n_holders)
		m->gone(m);
}

/* In it, or in a graph that was moved into it. */
static bool has_node(const struct gsb_graph *g, CUgraphNodeType type,
		     const struct gsb_graph_memory *m)
{
	for (uint32_t i = 0; g->has_memory && i < g->n_nodes; i++) {
		const struct gsb_graph_work *work = &g->nodes[i]->work;

		if (work->type == CU_GRAPH_NODE_TYPE_GRAPH
			    ? has_node(work->child, type, m)
			    : work->type == type && work->memory == m)
			return true;
	}
	return false;
}

bool gsb_graph_may_free(const struct gsb_graph *g, const struct gsb_graph_memory *m)
{
	if (m->is_own)
		return false;
	if (has_node(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, m))
		return !m->is_foreign;
	return !has_node(g, CU_GRAPH_NODE_TYPE_MEM_FREE, m);
}

static int check_memory(const struct gsb_graph *g, const struct gsb_graph_work *work)
{
	if (!is_memory(work))
		return 0;
	if (g->is_inner)
		return -ENOTSUP;
	return work->type == CU_GRAPH_NODE_TYPE_MEM_FREE && !gsb_graph_may_free(g, work->memory)
		       ? -EINVAL
		       : 0;
}

static void note_memory(struct gsb_graph *g, const struct gsb_graph_work *work)
{
	if (!is_memory(work))
		return;
	g->has_memory = true;
	if (work->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
		return;
	if (has_node(g, CU_GRAPH_NODE_TYPE_MEM_ALLOC, work->memory))
		work->memory->is_own = true;
	else
		work->memory->is_foreign = true;
}

void gsb_graph_drop_memory(struct gsb_graph *g)
{
	for (uint32_t i = 0; g->has_memory && i < g->n_nodes; i++) {
		struct gsb_graph_work *work = &g->nodes[i]->work;

		if (is_memory(work)) {
			gsb_graph_work_free(work);
			work->type = CU_GRAPH_NODE_TYPE_EMPTY;
		} else if (work->type == CU_GRAPH_NODE_TYPE_GRAPH) {
			gsb_graph_drop_memory(work->child);
		}
	}
}

/* ---- conditions ---- */

static void free_condition(struct gsb_graph_condition *c)
{
	for (uint32_t i = 0; c->bodies && i < c->n; i++)
		gsb_graph_destroy(c->bodies[i]);
	free(c->bodies);
	free(c->names);
}

int gsb_graph_condition_make(const struct gsb_graph_keeper *keeper, uint32_t n,
			     struct gsb_graph_condition *out)
{
	struct gsb_graph_condition c = {
		.n = n,
		.bodies = calloc(n, sizeof(*c.bodies)),
		.names = calloc(n, sizeof(*c.names)),
	};
	int r = c.bodies && c.names ? 0 : -ENOMEM;

	for (uint32_t i = 0; i < n && !r; i++) {
		r = gsb_graph_create(keeper, &c.bodies[i]);
		if (!r)
			c.bodies[i]->is_inner = true;
	}
	if (r)
		free_condition(&c);
	else
		*out = c;
	return r;
}

static int copy_condition(struct gsb_graph_condition *to, const struct gsb_graph_condition *from)
{
	int r = 0;

	to->names = NULL;
	to->bodies = calloc(from->n, sizeof(*to->bodies));
	if (!to->bodies)
		return -ENOMEM;
	for (uint32_t i = 0; i < from->n && !r; i++) {
		r = gsb_graph_clone(from->bodies[i], &to->bodies[i]);
		if (!r)
			to->bodies[i]->is_inner = true;
	}
	if (r)
		free_condition(to);
	return r;
}

bool gsb_graph_has_conditions(const struct gsb_graph *g)
{
	bool has = false;

	for (uint32_t i = 0; i < g->n_nodes && !has; i++) {
		const struct gsb_graph_work *work = &g->nodes[i]->work;

		has = work->type == CU_GRAPH_NODE_TYPE_CONDITIONAL ||
		      (work->type == CU_GRAPH_NODE_TYPE_GRAPH &&
		       gsb_graph_has_conditions(work->child));
	}
	return has;
}

int gsb_graph_add_word(struct gsb_graph *g, const struct gsb_graph_word *w)
{
	struct gsb_graph_word *more = realloc(g->words, (g->n_words + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	g->words = more;
	more[g->n_words++] = *w;
	return 0;
}

static int clone_words(const struct gsb_graph *g, struct gsb_graph *to)
{
	int r = 0;

	for (uint32_t i = 0; i < g->n_words && !r; i++)
		r = gsb_graph_add_word(to, &g->words[i]);
	return r;
}

/* ---- copies and ends ---- */

int gsb_graph_work_copy(const struct gsb_graph_work *work, struct gsb_graph_work *out)
{
	struct gsb_graph_work copy = *work;
	int r = 0;

	if (work->type == CU_GRAPH_NODE_TYPE_KERNEL)
		r = copy_kernel(&copy.kernel, &work->kernel);
	else if (work->type == CU_GRAPH_NODE_TYPE_GRAPH)
		r = gsb_graph_clone(work->child, &copy.child);
	else if (work->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
		r = copy_condition(&copy.condition, &work->condition);
	else if (is_memory(work))
		work->memory->n_holders++;
	if (r)
		return r;
	if (work->type == CU_GRAPH_NODE_TYPE_GRAPH)
		copy.child->is_inner = true;
	*out = copy;
	return 0;
}

void gsb_graph_work_free(struct gsb_graph_work *work)
{
	if (work->type == CU_GRAPH_NODE_TYPE_KERNEL) {
		free(work->kernel.params);
		free(work->kernel.attrs);
	} else if (work->type == CU_GRAPH_NODE_TYPE_GRAPH) {
		gsb_graph_destroy(work->child);
	} else if (work->type == CU_GRAPH_NODE_TYPE_CONDITIONAL) {
		free_condition(&work->condition);
	} else if (is_memory(work)) {
		gsb_graph_memory_let_go(work->memory);
	}
}

/* ---- edges ---- */

static int append(struct gsb_graph_node ***list, uint32_t *n, struct gsb_graph_node *node)
{
	struct gsb_graph_node **grown = *list;

	if (!(*n & (*n - 1))) /* 0 or a power of two: full */
		grown = realloc(grown, (*n ? *n * 2 : 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	*list = grown;
	grown[(*n)++] = node;
	return 0;
}

static void drop(struct gsb_graph_node **list, uint32_t *n, const struct gsb_graph_node *node)
{
	uint32_t i = 0;

	while (i < *n && list[i] != node)
		i++;
	if (i == *n)
		return;
	--*n;
	memmove(&list[i], &list[i + 1], (*n - i) * sizeof(*list));
}

bool gsb_graph_is_connected(const struct gsb_graph_node *from, const struct gsb_graph_node *to)
{
	for (uint32_t i = 0; i < to->n_deps; i++)
		if (to->deps[i] == from)
			return true;
	return false;
}

static int add_edge(struct gsb_graph_node *from, struct gsb_graph_node *to)
{
	int r = append(&to->deps, &to->n_deps, from);

	if (!r)
		r = append(&from->dependents, &from->n_dependents, to);
	if (r)
		drop(to->deps, &to->n_deps, from);
	return r;
}

void gsb_graph_disconnect(struct gsb_graph_node *from, struct gsb_graph_node *to)
{
	drop(to->deps, &to->n_deps, from);
	drop(from->dependents, &from->n_dependents, to);
}

int gsb_graph_connect(struct gsb_graph_node *from, struct gsb_graph_node *to)
{
	if (from->graph != to->graph || from == to || gsb_graph_is_connected(from, to))
		return -EINVAL;
	return add_edge(from, to);
}

/* ---- nodes ---- */

static void free_node(struct gsb_graph_node *node)
{
	if (node->name)
		node->graph->keeper->node_gone(node->name);
	gsb_graph_work_free(&node->work);
	free(node->deps);
	free(node->dependents);
	free(node);
}

static int enlist(struct gsb_graph *g, struct gsb_graph_node *node)
{
	return append(&g->nodes, &g->n_nodes, node);
}

/* Without work and edges. */
static struct gsb_graph_node *make_node(struct gsb_graph *g, uint64_t origin)
{
	struct gsb_graph_node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->graph = g;
	node->id = atomic_fetch_add_explicit(&last_id, 1, memory_order_relaxed) + 1;
	node->origin = origin;
	node->work.type = CU_GRAPH_NODE_TYPE_EMPTY;
	if (enlist(g, node)) {
		free(node);
		return NULL;
	}
	return node;
}

static bool are_deps_ok(const struct gsb_graph *g, struct gsb_graph_node *const *deps, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (deps[i]->graph != g)
			return false;
		for (size_t j = 0; j < i; j++)
			if (deps[i] == deps[j])
				return false;
	}
	return true;
}

int gsb_graph_add(struct gsb_graph *g, const struct gsb_graph_work *work,
		  struct gsb_graph_node *const *deps, size_t n, struct gsb_graph_node **out)
{
	struct gsb_graph_node *node;
	int r = are_deps_ok(g, deps, n) ? check_memory(g, work) : -EINVAL;

	if (r)
		return r;
	node = make_node(g, 0);
	if (!node)
		return -ENOMEM;
	for (size_t i = 0; !r && i < n; i++)
		r = add_edge(deps[i], node);
	if (r) {
		gsb_graph_remove(node);
		return r;
	}
	node->work = *work;
	note_memory(g, work);
	*out = node;
	return 0;
}

void gsb_graph_remove(struct gsb_graph_node *node)
{
	struct gsb_graph *g = node->graph;

	while (node->n_deps)
		gsb_graph_disconnect(node->deps[0], node);
	while (node->n_dependents)
		gsb_graph_disconnect(node, node->dependents[0]);
	drop(g->nodes, &g->n_nodes, node);
	free_node(node);
}

/* ---- graphs ---- */

int gsb_graph_create(const struct gsb_graph_keeper *keeper, struct gsb_graph **out)
{
	struct gsb_graph *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->keeper = keeper;
	*out = g;
	return 0;
}

void gsb_graph_destroy(struct gsb_graph *g)
{
	if (!g)
		return;
	for (uint32_t i = 0; i < g->n_nodes; i++)
		free_node(g->nodes[i]);
	for (uint32_t i = 0; i < g->n_objects; i++)
		g->keeper->let_go(g->objects[i].object, g->objects[i].n);
	if (g->name)
		g->keeper->graph_gone(g->name);
	free(g->words);
	free(g->objects);
	free(g->nodes);
	free(g);
}

static int clone_nodes(const struct gsb_graph *g, struct gsb_graph *to)
{
	for (uint32_t i = 0; i < g->n_nodes; i++) {
		struct gsb_graph_node *from = g->nodes[i], *node = make_node(to, from->id);
		int r = node ? gsb_graph_work_copy(&from->work, &node->work) : -ENOMEM;

		if (r)
			return r;
		from->index = i;
	}
	return 0;
}

/* Nodes have the same places in both. */
static int clone_edges(const struct gsb_graph *g, struct gsb_graph *to)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < g->n_nodes; i++)
		for (uint32_t j = 0; !r && j < g->nodes[i]->n_deps; j++)
			r = add_edge(to->nodes[g->nodes[i]->deps[j]->index], to->nodes[i]);
	return r;
}

static int clone_objects(const struct gsb_graph *g, struct gsb_graph *to)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < g->n_objects; i++) {
		r = gsb_graph_hold(to, g->objects[i].object, g->objects[i].n);
		if (!r)
			g->keeper->hold(g->objects[i].object, g->objects[i].n);
	}
	return r;
}

int gsb_graph_clone(const struct gsb_graph *g, struct gsb_graph **out)
{
	struct gsb_graph *to;
	int r = gsb_graph_create(g->keeper, &to);

	if (r)
		return r;
	to->has_memory = g->has_memory;
	r = clone_nodes(g, to);
	if (!r)
		r = clone_edges(g, to);
	if (!r)
		r = clone_objects(g, to);
	if (!r)
		r = clone_words(g, to);
	if (r) {
		gsb_graph_destroy(to);
		return r;
	}
	*out = to;
	return 0;
}

int gsb_graph_order(const struct gsb_graph *g, struct gsb_graph_node **order)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < g->n_nodes; i++) {
		g->nodes[i]->index = g->nodes[i]->n_deps; /* how many are not yet in the order */
		if (!g->nodes[i]->n_deps)
			order[n++] = g->nodes[i];
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t j = 0; j < order[i]->n_dependents; j++)
			if (!--order[i]->dependents[j]->index)
				order[n++] = order[i]->dependents[j];
	return n == g->n_nodes ? 0 : -ELOOP;
}

struct gsb_graph_node *gsb_graph_find(const struct gsb_graph *clone, uint64_t id)
{
	for (uint32_t i = 0; i < clone->n_nodes; i++) {
		struct gsb_graph_node *node = clone->nodes[i], *found = NULL;
		struct gsb_graph *const *inner;
		uint32_t n = gsb_graph_inner(&node->work, &inner);

		if (node->origin == id)
			return node;
		for (uint32_t j = 0; j < n && !found; j++)
			found = gsb_graph_find(inner[j], id);
		if (found)
			return found;
	}
	return NULL;
}

bool gsb_graph_is_in(const struct gsb_graph *g, const struct gsb_graph *whole)
{
	if (g == whole)
		return true;
	for (uint32_t i = 0; i < whole->n_nodes; i++) {
		struct gsb_graph *const *inner;
		uint32_t n = gsb_graph_inner(&whole->nodes[i]->work, &inner);

		for (uint32_t j = 0; j < n; j++)
			if (gsb_graph_is_in(g, inner[j]))
				return true;
	}
	return false;
}

/* ---- objects ---- */

static struct gsb_graph_object *find_object(const struct gsb_graph *g, uint64_t object)
{
	for (uint32_t i = 0; i < g->n_objects; i++)
		if (g->objects[i].object == object)
			return &g->objects[i];
	return NULL;
}

int gsb_graph_hold(struct gsb_graph *g, uint64_t object, uint32_t n)
{
	struct gsb_graph_object *o = find_object(g, object);

	if (!o) {
		o = realloc(g->objects, (g->n_objects + 1) * sizeof(*o));
		if (!o)
			return -ENOMEM;
		g->objects = o;
		o = &g->objects[g->n_objects++];
		*o = (struct gsb_graph_object){.object = object};
	}
	o->n += n;
	return 0;
}

int gsb_graph_let_go(struct gsb_graph *g, uint64_t object, uint32_t n)
{
	struct gsb_graph_object *o = find_object(g, object);

	if (!o || o->n < n)
		return -ENOENT;
	o->n -= n;
	if (!o->n)
		*o = g->objects[--g->n_objects];
	g->keeper->let_go(object, n);
	return 0;
}

static int hold_words(struct gsb_graph *g, const struct gsb_graph *of)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < of->n_words; i++) {
		r = gsb_graph_hold(g, of->words[i].object, 1);
		if (!r)
			g->keeper->hold(of->words[i].object, 1);
	}
	return r;
}

/* Of one that does not get all words it holds some in vain until it is gone. */
int gsb_graph_take_words(struct gsb_graph *g, const struct gsb_graph *from, struct gsb_graph *was)
{
	const size_t bytes = from->n_words * sizeof(*from->words);
	struct gsb_graph_word *words = malloc(bytes + 1);

	if (!words || hold_words(was, g) || hold_words(g, from)) {
		free(words);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < g->n_words; i++)
		gsb_graph_let_go(g, g->words[i].object, 1);
	if (bytes) /* else there is no list to copy from */
		memcpy(words, from->words, bytes);
	free(g->words);
	g->words = words;
	g->n_words = from->n_words;
	return 0;
}
