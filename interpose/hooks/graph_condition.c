/*
 * hooks/graph_condition.c - conditional nodes: graphs that run if, while, or as a word says when their turn has come (graph_launch.c).
 *
 * The word lies in pinned memory, where kernels write it (ptx/condition.h) and this library reads it. The handle that a program passes to its kernels is its address.
 */
#include <stdlib.h>
#include <string.h>

#include "interpose/cu/ctx.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"

/* ---- words ---- */

#define PAGE_BYTES 4096
#define N_WORDS	   (PAGE_BYTES / sizeof(uint32_t))

/* Of one life of a context, with which its memory goes; with the lock of the graphs. */
struct page {
	struct page *next;
	uint64_t wire;
	uint32_t *words;
	uint8_t is_taken[N_WORDS]; /* 1: it is */
};

static struct page *pages;

static bool is_alive(const struct page *p)
{
	return atomic_load_explicit(&gsb_cu_wire_ctx(p->wire)->wire, memory_order_acquire) ==
	       p->wire;
}

/* Graphs may outlive the context of their words. */
static void free_dead_pages(void)
{
	struct page **at = &pages;

	while (*at) {
		struct page *p = *at;

		if (is_alive(p) || memchr(p->is_taken, 1, N_WORDS)) {
			at = &p->next;
			continue;
		}
		*at = p->next;
		free(p);
	}
}

/* Of the current context. */
static CUresult add_page(uint64_t wire)
{
	struct page *p = calloc(1, sizeof(*p));
	void *words;
	CUresult result = p ? gsb_mem_take_words(PAGE_BYTES, &words) : CUDA_ERROR_OUT_OF_MEMORY;

	if (result) {
		free(p);
		return result;
	}
	free_dead_pages();
	p->wire = wire;
	p->words = words;
	p->next = pages;
	pages = p;
	return CUDA_SUCCESS;
}

static uint8_t *find_free(uint64_t wire, uint64_t *word)
{
	for (struct page *p = pages; p; p = p->next) {
		uint8_t *flag = p->wire == wire ? memchr(p->is_taken, 0, N_WORDS) : NULL;

		if (flag) {
			*word = (uint64_t)&p->words[flag - p->is_taken];
			return flag;
		}
	}
	return NULL;
}

/* Whose flag is the same until it is given back. */
static CUresult take_word(CUcontext ctx, struct gsb_graph_word *w, uint8_t **flag)
{
	struct gsb_cu_ctx_life life;
	CUcontext popped;
	CUresult result = gsb_cu_ctx_resolve(ctx, &life);

	if (result)
		return result;
	w->wire = life.wire;
	*flag = find_free(life.wire, &w->addr);
	if (!*flag) {
		result = hook_cuCtxPushCurrent(ctx);
		if (result)
			return result;
		result = add_page(life.wire);
		hook_cuCtxPopCurrent(&popped);
		if (result)
			return result;
		*flag = find_free(life.wire, &w->addr);
	}
	**flag = 1;
	return CUDA_SUCCESS;
}

/* The last graph that has the word is gone. */
static void give_word(void *flag)
{
	gsb_cu_graphs_lock();
	*(uint8_t *)flag = 0;
	gsb_cu_graphs_unlock();
}

/* The graph holds the object, and the object the word. */
static CUresult hold_word(struct gsb_graph *g, uint8_t *flag, struct gsb_graph_word *w)
{
	CUuserObject object;
	CUresult result = gsb_cu_user_create(flag, give_word, 1, &object);

	if (result) {
		give_word(flag);
		return result;
	}
	w->object = (uint64_t)object;
	result = gsb_cu_graph_result(gsb_graph_hold(g, w->object, 1));
	if (result)
		gsb_cu_user_let_go(object, 1);
	return result;
}

static CUresult create_handle(CUgraphConditionalHandle *handle, struct gsb_graph *g, CUcontext ctx,
			      unsigned initial, unsigned flags)
{
	struct gsb_graph_word w = {.initial = initial,
				   .is_reset = flags & CU_GRAPH_COND_ASSIGN_DEFAULT};
	uint8_t *flag;
	CUresult result = take_word(ctx, &w, &flag);

	if (result)
		return result;
	*(uint32_t *)w.addr = initial;
	result = hold_word(g, flag, &w);
	if (!result)
		result = gsb_cu_graph_result(gsb_graph_add_word(g, &w));
	if (!result)
		*handle = w.addr;
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

uint64_t gsb_graph_word_context(uint64_t addr)
{
	for (const struct page *p = pages; p; p = p->next) {
		uint64_t i = (addr - (uint64_t)p->words) / sizeof(*p->words);

		if (i < N_WORDS && !(addr % sizeof(*p->words)) && is_alive(p))
			return p->is_taken[i] ? p->wire : 0;
	}
	return 0;
}

static CUresult reset(const struct gsb_graph_word *w, CUstream stream)
{
	const struct gsb_fill fill = {w->addr, w->initial, sizeof(uint32_t), 1, 1, 0};

	return gsb_graph_word_context(w->addr) == w->wire ? hook_cuMemsetAsync(&fill, stream)
							  : CUDA_ERROR_CONTEXT_IS_DESTROYED;
}

static CUresult reset_own(const struct gsb_graph *g, CUstream stream)
{
	CUresult result = CUDA_SUCCESS;

	for (uint32_t i = 0; !result && i < g->n_words; i++)
		if (g->words[i].is_reset)
			result = reset(&g->words[i], stream);
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

/* ---- nodes ---- */

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
	uint64_t wire = gsb_graph_word_context(p->handle);
	CUresult result = is_size(p) && wire ? gsb_cu_graph_result(gsb_graph_condition_make(
						       &gsb_cu_graph_keeper, p->size, &c))
					     : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	c.word = p->handle;
	c.wire = wire;
	c.type = p->type;
	*out = (struct gsb_graph_work){.type = CU_GRAPH_NODE_TYPE_CONDITIONAL, .condition = c};
	for (uint32_t i = 0; !result && i < c.n; i++)
		result = gsb_cu_graph_handle(c.bodies[i], &c.names[i]);
	if (result)
		gsb_graph_work_free(out);
	return result;
}
