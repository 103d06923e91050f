/*
 * cfg.c - see cfg.h. Dominators by Lengauer and Tarjan, "A fast algorithm for finding dominators in a
 * flowgraph" (TOPLAS 1979), the simple form: O(m log n) whatever a hostile text looks like.
 * Post-dominators are the dominators of the reversed graph, the virtual exit as its root.
 */
#include "ptx/cfg.h"

#include <errno.h>
#include <string.h>

/* Adjacency as one array: the neighbours of v are to[start[v]] .. to[start[v + 1] - 1]. */
struct graph {
	uint32_t n;
	uint32_t *start, *to;
};

static bool is_branch(const struct gsb_ptx_insn *in)
{
	return gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_BRANCH;
}

static bool is_end(const struct gsb_ptx_insn *in)
{
	return is_branch(in) ||
	       (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_LEAVE && in->guard == GSB_PTX_NONE);
}

/* Where a branch may go: numbers of labels, repeats included. */
static uint32_t targets(const struct gsb_ptx_func *f, const struct gsb_ptx_insn *in,
			const uint32_t **labels)
{
	const struct gsb_ptx_table *t;

	if (in->op == GSB_PTX_OP_BRA) {
		*labels = &in->operands[0].label;
		return 1;
	}
	t = &f->tables[in->operands[1].table];
	*labels = t->labels;
	return t->labels ? t->n : 0;
}

/* block_of[i]: first 1 where a block begins, then the number of the block. */
static int find_blocks(const struct gsb_ptx_func *f, struct gsb_arena *a, struct gsb_ptx_cfg *cfg)
{
	uint32_t *block_of = gsb_arena_alloc_array(a, (size_t)f->n_insns + 1, sizeof(*block_of));
	uint32_t n = 0;

	if (!block_of)
		return -ENOMEM;
	block_of[0] = 1;
	for (uint32_t i = 0; i < f->n_insns; i++) {
		if (is_end(&f->insns[i]))
			block_of[i + 1] = 1;
		if (f->insns[i].op == GSB_PTX_OP_BRA)
			block_of[f->labels[f->insns[i].operands[0].label].insn] = 1;
	}
	for (uint32_t t = 0; t < f->n_tables; t++) {
		for (uint32_t i = 0; f->tables[t].labels && i < f->tables[t].n; i++)
			block_of[f->labels[f->tables[t].labels[i]].insn] = 1;
	}
	for (uint32_t i = 0; i < f->n_insns; i++) {
		n += block_of[i];
		block_of[i] = n - 1;
	}
	cfg->blocks = gsb_arena_alloc_array(a, n, sizeof(*cfg->blocks));
	if (!cfg->blocks)
		return -ENOMEM;
	for (uint32_t i = f->n_insns; i-- > 0;) {
		cfg->blocks[block_of[i]].first = i;
		cfg->blocks[block_of[i]].n_insns++;
	}
	cfg->block_of = block_of;
	cfg->n_blocks = n;
	return 0;
}

/* Edges of the block that is looked at; seen[to] == from + 1 says that an edge is there already. */
struct edges {
	const struct gsb_ptx_cfg *cfg;
	uint32_t from, n;
	uint32_t *seen, *to; /* to: NULL to count only */
	uint64_t steps;	     /* targets looked at */
};

static void add_edge(struct edges *e, uint32_t to)
{
	if (e->seen[to] == e->from + 1)
		return;
	e->seen[to] = e->from + 1;
	if (e->to)
		e->to[e->n] = to;
	e->n++;
}

static void add_targets(struct edges *e, const struct gsb_ptx_insn *branch)
{
	const struct gsb_ptx_func *f = e->cfg->func;
	const uint32_t *labels;
	uint32_t n = targets(f, branch, &labels);

	e->steps += n;
	if (e->steps > GSB_PTX_MAX_EDGES)
		return;
	for (uint32_t i = 0; i < n; i++)
		add_edge(e, e->cfg->block_of[f->labels[labels[i]].insn]);
}

static void add_block_edges(struct edges *e)
{
	const struct gsb_ptx_func *f = e->cfg->func;
	const struct gsb_ptx_block *b = &e->cfg->blocks[e->from];
	uint32_t end = b->first + b->n_insns;
	const struct gsb_ptx_insn *last = &f->insns[end - 1];

	if (is_branch(last))
		add_targets(e, last);
	else if (is_end(last))
		add_edge(e, GSB_PTX_EXIT(e->cfg));
	if (!is_end(last) || last->guard != GSB_PTX_NONE)
		add_edge(e, e->cfg->block_of[end]);
}

/* Twice over all blocks: to count, then to write. */
static int build_forward(const struct gsb_ptx_cfg *cfg, struct gsb_arena *a, struct graph *g)
{
	struct edges e = {.cfg = cfg};

	g->n = cfg->n_blocks + 1;
	g->start = gsb_arena_alloc_array(a, (size_t)g->n + 1, sizeof(*g->start));
	e.seen = gsb_arena_alloc_array(a, g->n, sizeof(*e.seen));
	if (!g->start || !e.seen)
		return -ENOMEM;
	for (; e.from < cfg->n_blocks; e.from++)
		add_block_edges(&e);
	if (e.steps > GSB_PTX_MAX_EDGES)
		return -E2BIG;
	g->to = gsb_arena_alloc_array(a, e.n, sizeof(*g->to));
	if (!g->to)
		return -ENOMEM;
	memset(e.seen, 0, g->n * sizeof(*e.seen));
	e.to = g->to;
	e.n = 0;
	e.steps = 0;
	for (e.from = 0; e.from < cfg->n_blocks; e.from++) {
		g->start[e.from] = e.n;
		add_block_edges(&e);
	}
	g->start[cfg->n_blocks] = g->start[cfg->n_blocks + 1] = e.n;
	return 0;
}

static int reverse(const struct graph *g, struct gsb_arena *a, struct graph *out)
{
	uint32_t *fill = gsb_arena_alloc_array(a, g->n, sizeof(*fill));

	out->n = g->n;
	out->start = gsb_arena_alloc_array(a, (size_t)g->n + 1, sizeof(*out->start));
	out->to = gsb_arena_alloc_array(a, g->start[g->n], sizeof(*out->to));
	if (!fill || !out->start || !out->to)
		return -ENOMEM;
	for (uint32_t i = 0; i < g->start[g->n]; i++)
		out->start[g->to[i] + 1]++;
	for (uint32_t v = 0; v < g->n; v++) {
		out->start[v + 1] += out->start[v];
		fill[v] = out->start[v];
	}
	for (uint32_t v = 0; v < g->n; v++) {
		for (uint32_t i = g->start[v]; i < g->start[v + 1]; i++)
			out->to[fill[g->to[i]]++] = v;
	}
	return 0;
}

/*
 * Working arrays of one run, by vertex unless said otherwise. Vertices get numbers 1.. in the order of
 * a depth-first search; number 0 is "not reached".
 */
struct search {
	const struct graph *g;
	uint32_t *number, *vertex /* by number */, *parent;
	uint32_t *semi /* a number */, *label, *ancestor, *idom;
	uint32_t *bucket, *next_in_bucket; /* vertices with one semi-dominator, NONE ends */
	uint32_t *stack, *edge;
	uint32_t n; /* vertices reached */
};

static int alloc_search(struct search *s, const struct graph *g, struct gsb_arena *a)
{
	uint32_t **arrays[] = {&s->number,	   &s->vertex,	 &s->parent, &s->semi,
			       &s->label,	   &s->ancestor, &s->idom,   &s->bucket,
			       &s->next_in_bucket, &s->stack,	 &s->edge};

	s->g = g;
	for (size_t i = 0; i < sizeof(arrays) / sizeof(arrays[0]); i++) {
		*arrays[i] = gsb_arena_alloc_array(a, (size_t)g->n + 1, sizeof(uint32_t));
		if (!*arrays[i])
			return -ENOMEM;
	}
	for (uint32_t v = 0; v < g->n; v++) {
		s->label[v] = v;
		s->ancestor[v] = s->idom[v] = s->bucket[v] = GSB_PTX_NONE;
	}
	return 0;
}

static void reach(struct search *s, uint32_t v, uint32_t parent)
{
	s->number[v] = s->semi[v] = ++s->n;
	s->vertex[s->n] = v;
	s->parent[v] = parent;
	s->edge[v] = s->g->start[v];
}

static void depth_first(struct search *s, uint32_t root)
{
	uint32_t depth = 1;

	s->stack[0] = root;
	reach(s, root, GSB_PTX_NONE);
	while (depth > 0) {
		uint32_t v = s->stack[depth - 1], to;

		if (s->edge[v] == s->g->start[v + 1]) {
			depth--;
			continue;
		}
		to = s->g->to[s->edge[v]++];
		if (s->number[to])
			continue;
		reach(s, to, v);
		s->stack[depth++] = to;
	}
}

/* The vertex with the smallest semi-dominator on v's way up the linked forest; shortens that way. */
static uint32_t eval(struct search *s, uint32_t v)
{
	uint32_t depth = 0;

	if (s->ancestor[v] == GSB_PTX_NONE)
		return v;
	for (uint32_t u = v; s->ancestor[s->ancestor[u]] != GSB_PTX_NONE; u = s->ancestor[u])
		s->stack[depth++] = u;
	while (depth > 0) {
		uint32_t u = s->stack[--depth], up = s->ancestor[u];

		if (s->semi[s->label[up]] < s->semi[s->label[u]])
			s->label[u] = s->label[up];
		s->ancestor[u] = s->ancestor[up];
	}
	return s->label[v];
}

static void find_semi(struct search *s, const struct graph *back, uint32_t w)
{
	for (uint32_t i = back->start[w]; i < back->start[w + 1]; i++) {
		uint32_t v = back->to[i], u;

		if (!s->number[v])
			continue;
		u = eval(s, v);
		if (s->semi[u] < s->semi[w])
			s->semi[w] = s->semi[u];
	}
}

/* idom of every vertex that root reaches; NONE for the root and the rest. */
static int dominators(const struct graph *g, const struct graph *back, uint32_t root,
		      struct gsb_arena *a, struct search *s)
{
	if (alloc_search(s, g, a))
		return -ENOMEM;
	depth_first(s, root);
	for (uint32_t i = s->n; i > 1; i--) {
		uint32_t w = s->vertex[i], parent = s->parent[w], at;

		find_semi(s, back, w);
		at = s->vertex[s->semi[w]];
		s->next_in_bucket[w] = s->bucket[at];
		s->bucket[at] = w;
		s->ancestor[w] = parent;
		for (uint32_t v = s->bucket[parent]; v != GSB_PTX_NONE; v = s->next_in_bucket[v]) {
			uint32_t u = eval(s, v);

			s->idom[v] = s->semi[u] < s->semi[v] ? u : parent;
		}
		s->bucket[parent] = GSB_PTX_NONE;
	}
	for (uint32_t i = 2; i <= s->n; i++) {
		uint32_t w = s->vertex[i];

		if (s->idom[w] != s->vertex[s->semi[w]])
			s->idom[w] = s->idom[s->idom[w]];
	}
	return 0;
}

/* Reverse post-order: a depth-first search again, each block put in front when it is done with. */
static int order_blocks(struct gsb_ptx_cfg *cfg, struct search *s, struct gsb_arena *a)
{
	uint32_t *rpo = gsb_arena_alloc_array(a, cfg->n_blocks, sizeof(*rpo)), depth = 1, n = 0;

	if (!rpo)
		return -ENOMEM;
	for (uint32_t b = 0; b < cfg->n_blocks; b++) {
		s->edge[b] = 0;
		n += s->number[b] != 0;
	}
	cfg->n_rpo = n;
	cfg->rpo = rpo;
	memset(s->number, 0, s->g->n * sizeof(*s->number));
	s->stack[0] = 0;
	s->number[0] = 1;
	while (depth > 0) {
		struct gsb_ptx_block *b = &cfg->blocks[s->stack[depth - 1]];
		uint32_t *edge = &s->edge[s->stack[depth - 1]], to;

		if (*edge == b->n_succ) {
			rpo[--n] = s->stack[--depth];
			continue;
		}
		to = b->succ[(*edge)++];
		if (to == GSB_PTX_EXIT(cfg) || s->number[to])
			continue;
		s->number[to] = 1;
		s->stack[depth++] = to;
	}
	return 0;
}

static void set_edges(struct gsb_ptx_cfg *cfg, const struct graph *fwd, const struct graph *back)
{
	for (uint32_t i = 0; i < cfg->n_blocks; i++) {
		struct gsb_ptx_block *b = &cfg->blocks[i];

		b->succ = fwd->to + fwd->start[i];
		b->n_succ = fwd->start[i + 1] - fwd->start[i];
		b->pred = back->to + back->start[i];
		b->n_pred = back->start[i + 1] - back->start[i];
	}
}

int gsb_ptx_cfg_build(const struct gsb_ptx_func *func, struct gsb_arena *arena,
		      struct gsb_ptx_cfg *out)
{
	struct gsb_ptx_cfg cfg = {.func = func};
	struct search dom = {0}, pdom = {0};
	struct graph fwd, back;
	int err;

	if (!func->has_body)
		return -EINVAL;
	err = find_blocks(func, arena, &cfg);
	if (!err)
		err = build_forward(&cfg, arena, &fwd);
	if (err)
		return err;
	if (reverse(&fwd, arena, &back) || dominators(&fwd, &back, 0, arena, &dom) ||
	    dominators(&back, &fwd, GSB_PTX_EXIT(&cfg), arena, &pdom))
		return -ENOMEM;
	set_edges(&cfg, &fwd, &back);
	for (uint32_t i = 0; i < cfg.n_blocks; i++) {
		cfg.blocks[i].reachable = dom.number[i] != 0;
		cfg.blocks[i].idom = dom.idom[i];
		cfg.blocks[i].ipdom =
			pdom.idom[i] == GSB_PTX_NONE ? GSB_PTX_EXIT(&cfg) : pdom.idom[i];
	}
	if (order_blocks(&cfg, &dom, arena))
		return -ENOMEM;
	*out = cfg;
	return 0;
}

uint32_t gsb_ptx_cfg_reconvergence(const struct gsb_ptx_cfg *cfg, uint32_t insn)
{
	uint32_t ipdom = cfg->blocks[cfg->block_of[insn]].ipdom;

	return ipdom == GSB_PTX_EXIT(cfg) ? GSB_PTX_NONE : cfg->blocks[ipdom].first;
}
