/*
 * hooks/graph_condition.c - conditional nodes: graphs that run if, while, or as a word says when their turn has come.
 *
 * The word lies in pinned memory, where kernels write it (ptx/condition.h) and this library reads it. The handle that a program passes to its kernels is its address.
 * What comes behind a conditional node depends on that word, so who launches the graph goes on when it is known: he waits for what stands before the node, reads,
 * and posts the graph that is chosen, of a loop again and again. So the launch of such a graph returns when its last condition has been decided, and
 * not at once; and of a chosen graph the nodes run one after the other, in the stream of the node.
 */
#include <stdlib.h>

#include "interpose/cu/ctx.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"

/* ---- words ---- */

#define PAGE_BYTES 4096
#define N_WORDS	   (PAGE_BYTES / sizeof(uint32_t))

/* Of one context, with which its memory goes; with the lock of the graphs. */
struct page {
	struct page *next;
	uint64_t wire;
	uint32_t *words;
	uint64_t taken[N_WORDS / 64];
};

static struct page *pages;

static uint32_t *take_word(struct page *p)
{
	for (unsigned i = 0; i < N_WORDS; i++) {
		if (p->taken[i / 64] >> i % 64 & 1)
			continue;
		p->taken[i / 64] |= 1ull << i % 64;
		return &p->words[i];
	}
	return NULL;
}

/* Of the current context. */
static CUresult add_page(uint64_t wire)
{
	struct page *p = calloc(1, sizeof(*p));
	void *words;
	CUresult result = p ? hook_cuMemHostAlloc(&words, PAGE_BYTES, CU_MEMHOSTALLOC_PORTABLE)
			    : CUDA_ERROR_OUT_OF_MEMORY;

	if (result) {
		free(p);
		return result;
	}
	p->wire = wire;
	p->words = words;
	p->next = pages;
	pages = p;
	return CUDA_SUCCESS;
}

static uint32_t *find_word(uint64_t wire)
{
	uint32_t *word = NULL;

	for (struct page *p = pages; p && !word; p = p->next)
		if (p->wire == wire)
			word = take_word(p);
	return word;
}

static CUresult get_word(CUcontext ctx, uint32_t **out)
{
	struct gsb_cu_ctx_life life;
	CUcontext popped;
	CUresult result = gsb_cu_ctx_resolve(ctx, &life);

	*out = result ? NULL : find_word(life.wire);
	if (result || *out)
		return result;
	result = hook_cuCtxPushCurrent(ctx);
	if (result)
		return result;
	result = add_page(life.wire);
	hook_cuCtxPopCurrent(&popped);
	*out = result ? NULL : find_word(life.wire);
	return result;
}

/* The last graph that has it is gone. */
static void give_word(void *word)
{
	gsb_cu_graphs_lock();
	for (struct page *p = pages; p; p = p->next) {
		size_t i = (size_t)((uint32_t *)word - p->words);

		if ((uint32_t *)word >= p->words && i < N_WORDS)
			p->taken[i / 64] &= ~(1ull << i % 64);
	}
	gsb_cu_graphs_unlock();
}

/* The graph holds the object, and the object the word. */
static CUresult give_to(struct gsb_graph *g, uint32_t *word, unsigned initial, bool is_reset)
{
	const struct gsb_graph_word w = {(uint64_t)word, initial, is_reset};
	CUuserObject object;
	CUresult result = gsb_cu_user_create(word, give_word, 1, &object);

	if (result) {
		give_word(word);
		return result;
	}
	result = gsb_cu_graph_result(gsb_graph_hold(g, (uint64_t)object, 1));
	if (result)
		gsb_cu_user_let_go(object, 1);
	return result ? result : gsb_cu_graph_result(gsb_graph_add_word(g, &w));
}

static CUresult create_handle(CUgraphConditionalHandle *handle, struct gsb_graph *g, CUcontext ctx,
			      unsigned initial, unsigned flags)
{
	uint32_t *word;
	CUresult result = get_word(ctx, &word);

	if (result)
		return result;
	*word = initial;
	result = give_to(g, word, initial, flags & CU_GRAPH_COND_ASSIGN_DEFAULT);
	if (!result)
		*handle = (uint64_t)word;
	return result;
}

CUresult hook_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *handle, CUgraph graph,
					     CUcontext ctx, unsigned initial, unsigned flags)
{
	struct gsb_graph *g;

	if (!handle || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
		return CUDA_ERROR_INVALID_VALUE;
	if (!ctx)
		return CUDA_ERROR_INVALID_CONTEXT;
	gsb_cu_graphs_lock();
	g = gsb_cu_graph_get(graph);
	return gsb_graph_leave(g ? create_handle(handle, g, ctx, initial, flags)
				 : CUDA_ERROR_INVALID_VALUE);
}

/* ---- nodes ---- */

static bool has_word(uint64_t addr)
{
	for (const struct page *p = pages; p; p = p->next) {
		uint64_t i = (addr - (uint64_t)p->words) / sizeof(*p->words);

		if (i < N_WORDS && !(addr % sizeof(*p->words)))
			return p->taken[i / 64] >> i % 64 & 1;
	}
	return false;
}

static bool is_size(const CUDA_CONDITIONAL_NODE_PARAMS *p)
{
	switch (p->type) {
	case CU_GRAPH_COND_TYPE_IF: return p->size == 1 || p->size == 2;
	case CU_GRAPH_COND_TYPE_WHILE: return p->size == 1;
	case CU_GRAPH_COND_TYPE_SWITCH: return p->size;
	}
	return false;
}

CUresult gsb_graph_condition_work(const CUDA_CONDITIONAL_NODE_PARAMS *p, struct gsb_graph_work *out)
{
	struct gsb_graph_condition c;
	CUresult result = is_size(p) && has_word(p->handle)
				  ? gsb_cu_graph_result(gsb_graph_condition_make(
					    &gsb_cu_graph_keeper, p->size, &c))
				  : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	c.word = p->handle;
	c.type = p->type;
	*out = (struct gsb_graph_work){.type = CU_GRAPH_NODE_TYPE_CONDITIONAL, .condition = c};
	for (uint32_t i = 0; !result && i < c.n; i++)
		result = gsb_cu_graph_handle(c.bodies[i], &c.names[i]);
	if (result)
		gsb_graph_work_free(out);
	return result;
}

/* ---- when its turn has come ---- */

/* Another thread may have ended the graph meanwhile. It is no wait of the program's, which a capture would forbid. */
static CUresult wait_before(const struct gsb_cu_exec *x, CUstream stream)
{
	CUgraphExec handle = (CUgraphExec)gsb_object_name(x);
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(stream, &s);

	if (result)
		return result;
	gsb_cu_graphs_unlock();
	result = gsb_cu_stream_wait(&s);
	gsb_cu_graphs_lock();
	return result || gsb_cu_exec_get(handle) == x ? result : CUDA_ERROR_INVALID_VALUE;
}

/* Which of the graphs runs now; n: none does. */
static uint32_t choose(const struct gsb_graph_condition *c)
{
	uint32_t value = *(volatile uint32_t *)c->word;

	if (c->type == CU_GRAPH_COND_TYPE_SWITCH)
		return value < c->n ? value : c->n;
	return value ? 0 : c->type == CU_GRAPH_COND_TYPE_IF ? 1 : c->n;
}

CUresult gsb_graph_condition_run(struct gsb_cu_exec *x, const struct gsb_graph_node *node,
				 CUstream stream)
{
	const struct gsb_graph_condition *c = &node->work.condition;
	const struct gsb_cu_branch *b = gsb_cu_exec_branch(x, node);
	CUresult result;
	uint32_t i;

	do {
		result = b ? wait_before(x, stream) : CUDA_ERROR_INVALID_VALUE;
		if (result)
			return result; /* the node may be gone */
		i = choose(c);
		if (i >= c->n)
			return CUDA_SUCCESS;
		result = gsb_graph_run_in_order(x, &b->plans[i], stream);
	} while (!result && c->type == CU_GRAPH_COND_TYPE_WHILE);
	return result;
}

static CUresult reset_own(const struct gsb_graph *g, CUstream stream)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; !result && i < g->n_words; i++)
		if (g->words[i].is_reset)
			result = hook_cuMemsetAsync(&(struct gsb_fill){g->words[i].addr,
								       g->words[i].initial,
								       sizeof(uint32_t), 1, 1, 0},
						    stream);
	return result;
}

/* Whatever kernels have made of them the last time. */
CUresult gsb_graph_reset_words(const struct gsb_graph *g, CUstream stream)
{
	CUresult result = reset_own(g, stream);

	for (uint32_t i = 0; !result && i < g->n_nodes; i++) {
		struct gsb_graph *const *inner;
		uint32_t n = gsb_graph_inner(&g->nodes[i]->work, &inner);

		for (uint32_t j = 0; !result && j < n; j++)
			result = gsb_graph_reset_words(inner[j], stream);
	}
	return result;
}
