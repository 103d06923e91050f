/*
 * emu_threads.c - see emu_threads.h.
 */
#include "tests/unit/emu_threads.h"

#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/exec/isa.h"

#define MAX_WORKERS 16
#define MAX_BLOCKS  256
#define QUANTUM	    2000 /* instructions of a warp */

struct seat {
	struct gsb_emu_block *block; /* NULL: not begun, or over */
	bool is_taken, is_over;
};

struct crowd {
	struct gsb_emu_launch launch;
	const struct gsb_emu_isa *isa; /* NULL: the best */
	CUresult result;
	struct gsb_emu_paths paths;

	pthread_mutex_t lock; /* what follows */
	struct seat seats[MAX_BLOCKS];
	uint32_t n_blocks, next;
};

/* The next block that nobody runs, in turn; NULL: none is left for this thread. */
static struct seat *take(struct crowd *c)
{
	struct seat *found = NULL;

	pthread_mutex_lock(&c->lock);
	for (uint32_t i = 0; i < c->n_blocks && !found; i++) {
		struct seat *s = &c->seats[c->next++ % c->n_blocks];

		if (!s->is_taken && !s->is_over)
			found = s;
	}
	if (found)
		found->is_taken = true;
	pthread_mutex_unlock(&c->lock);
	return found;
}

static void put_back(struct crowd *c, struct seat *s, bool is_over)
{
	pthread_mutex_lock(&c->lock);
	s->is_taken = false;
	s->is_over = is_over;
	pthread_mutex_unlock(&c->lock);
}

static CUresult begin(struct crowd *c, struct seat *s)
{
	uint32_t ctaid[3] = {(uint32_t)(s - c->seats)};

	if (gsb_emu_block_create(&c->launch, ctaid, 0, &s->block))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (c->isa)
		s->block->isa = c->isa;
	return CUDA_SUCCESS;
}

static CUresult end(struct crowd *c, struct seat *s)
{
	const struct gsb_emu_paths *p = gsb_emu_block_paths(s->block);
	CUresult result = gsb_emu_block_fault(s->block)->result;

	pthread_mutex_lock(&c->lock);
	c->paths.in_order += p->in_order;
	c->paths.one_place += p->one_place;
	c->paths.stride += p->stride;
	c->paths.runs += p->runs;
	c->paths.lanes += p->lanes;
	pthread_mutex_unlock(&c->lock);
	gsb_emu_block_destroy(s->block);
	return result;
}

static void *worker(void *arg)
{
	struct crowd *c = arg;
	struct seat *s;

	while ((s = take(c))) {
		CUresult result = s->block ? CUDA_SUCCESS : begin(c, s);
		bool is_over = result || gsb_emu_block_run(s->block, QUANTUM) >= GSB_EMU_DONE;

		if (!result && is_over)
			result = end(c, s);
		if (result)
			__atomic_store_n(&c->result, result, __ATOMIC_RELAXED);
		put_back(c, s, is_over);
	}
	return NULL;
}

CUresult t_launch_on(struct t_gpu *g, const struct t_launch *l, unsigned int n_workers,
		     struct gsb_emu_paths *paths)
{
	const struct gsb_ptx_func *f = gsb_ptx_find_func(g->module, l->kernel);
	_Alignas(16) unsigned char params[256] = {0};
	pthread_t threads[MAX_WORKERS];
	struct gsb_emu_code *code;
	struct gsb_emu_pool pool;
	struct crowd c = {.n_blocks = l->grid[0],
			  .isa = gsb_emu_isa_nth(g->isa),
			  .lock = PTHREAD_MUTEX_INITIALIZER};

	assert_non_null(f);
	assert_true(f->param_bytes <= sizeof(params) && n_workers <= MAX_WORKERS);
	assert_in_range(l->grid[0], 1, MAX_BLOCKS);
	if (gsb_emu_lower(g->module, f, g->var_addr, &code, g->log, sizeof(g->log)))
		fail_msg("%s", g->log);
	for (uint32_t i = 0; i < f->n_params; i++)
		memcpy(params + f->params[i].offset, l->args[i], f->params[i].size_bytes);
	gsb_emu_pool_init(&pool);
	c.launch = (struct gsb_emu_launch){.code = code,
					   .pool = &pool,
					   .memory = &g->memory,
					   .params = params,
					   .params_bytes = (uint32_t)f->param_bytes,
					   .grid = {l->grid[0], 1, 1},
					   .block = {l->block[0], 1, 1},
					   .n_sms = 132,
					   .max_warps = 64,
					   .count_paths = paths};
	for (unsigned int i = 0; i < n_workers; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, worker, &c), 0);
	for (unsigned int i = 0; i < n_workers; i++)
		pthread_join(threads[i], NULL);
	gsb_emu_pool_finish(&pool);
	gsb_emu_code_destroy(code);
	if (paths)
		*paths = c.paths;
	return c.result;
}
