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

struct crowd {
	struct gsb_emu_launch launch;
	const struct gsb_emu_isa *isa; /* NULL: the best */
	uint32_t n_blocks, next;
	CUresult result;
	pthread_mutex_t lock;
	struct gsb_emu_paths paths;
};

static void add_paths(struct crowd *c, const struct gsb_emu_paths *p)
{
	pthread_mutex_lock(&c->lock);
	c->paths.in_order += p->in_order;
	c->paths.one_place += p->one_place;
	c->paths.stride += p->stride;
	c->paths.runs += p->runs;
	c->paths.lanes += p->lanes;
	pthread_mutex_unlock(&c->lock);
}

static void *worker(void *arg)
{
	struct crowd *c = arg;
	uint32_t i;

	while ((i = __atomic_fetch_add(&c->next, 1, __ATOMIC_RELAXED)) < c->n_blocks) {
		uint32_t ctaid[3] = {i};
		struct gsb_emu_block *b;
		CUresult result = CUDA_ERROR_OUT_OF_MEMORY;

		if (!gsb_emu_block_create(&c->launch, ctaid, 0, &b)) {
			if (c->isa)
				b->isa = c->isa;
			gsb_emu_block_run(b, UINT64_MAX / 2);
			result = gsb_emu_block_fault(b)->result;
			add_paths(c, gsb_emu_block_paths(b));
			gsb_emu_block_destroy(b);
		}
		if (result)
			__atomic_store_n(&c->result, result, __ATOMIC_RELAXED);
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
