/*
 * emu_harness.c - see emu_harness.h.
 */
#include "tests/unit/emu_harness.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "base/checked.h"
#include "device/emu/exec/isa.h"

#define PAGE 4096

static void put_relocs(struct t_gpu *g, const struct gsb_ptx_var *v)
{
	for (uint32_t i = 0; i < v->n_relocs; i++) {
		const struct gsb_ptx_reloc *r = &v->relocs[i];
		uint64_t value =
			r->func ? gsb_emu_func_address(r->func) : g->var_addr[r->var->index];

		value += (uint64_t)r->addend;
		memcpy((char *)(uintptr_t)g->var_addr[v->index] + r->offset, &value, r->size);
	}
}

static void place_vars(struct t_gpu *g)
{
	const struct gsb_ptx_module *m = g->module;

	g->var_addr = calloc(m->n_vars + 1, sizeof(*g->var_addr));
	assert_non_null(g->var_addr);
	for (uint32_t i = 0; i < m->n_vars; i++) {
		const struct gsb_ptx_var *v = m->vars[i];
		void *p;

		if (v->space == GSB_PTX_SPACE_SHARED)
			continue;
		p = t_alloc(g, v->size_bytes);
		if (v->init)
			memcpy(p, v->init, v->size_bytes);
		g->var_addr[i] = (uintptr_t)p;
	}
	for (uint32_t i = 0; i < m->n_vars; i++)
		put_relocs(g, m->vars[i]);
}

void t_gpu_init(struct t_gpu *g, const char *text)
{
	struct gsb_ptx_error err = {0};
	void *p;
	int rc;

	memset(g, 0, sizeof(*g));
	rc = gsb_ptx_parse(text, strlen(text), &g->module, &err);
	if (rc)
		fail_msg("PTX, line %u: %s", err.line, err.text);
	p = mmap(NULL, T_MEMORY_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
		 0);
	assert_true(p != MAP_FAILED);
	g->memory.device = (struct gsb_emu_range){(uintptr_t)p, T_MEMORY_BYTES};
	assert_int_equal(gsb_emu_guard_install(), 0);
	place_vars(g);
}

void t_gpu_init_file(struct t_gpu *g, const char *path)
{
	const char *dir = getenv("srcdir");
	char name[1024], *text;
	FILE *f;
	long n;

	snprintf(name, sizeof(name), "%s/%s", dir ? dir : ".", path);
	f = fopen(name, "r");
	if (!f)
		fail_msg("%s: cannot be read", name);
	fseek(f, 0, SEEK_END);
	n = ftell(f);
	rewind(f);
	text = calloc(1, (size_t)n + 1);
	assert_non_null(text);
	assert_int_equal(fread(text, 1, (size_t)n, f), n);
	fclose(f);
	t_gpu_init(g, text);
	free(text);
}

void t_gpu_finish(struct t_gpu *g)
{
	if (g->has_heap)
		gsb_emu_malloc_finish(&g->heap);
	munmap((void *)(uintptr_t)g->memory.device.base, g->memory.device.size);
	gsb_ptx_module_destroy(g->module);
	free(g->var_addr);
}

void *t_alloc(struct t_gpu *g, uint64_t bytes)
{
	uint64_t at = gsb_round_up(g->used, 256), end = at + bytes;
	char *base = (char *)(uintptr_t)g->memory.device.base;

	assert_true(end <= T_MEMORY_BYTES - PAGE);
	assert_int_equal(mprotect(base, gsb_round_up(end, PAGE), PROT_READ | PROT_WRITE), 0);
	g->used = end;
	return base + at;
}

void *t_copy(struct t_gpu *g, const void *from, uint64_t bytes)
{
	return memcpy(t_alloc(g, bytes), from, bytes);
}

void t_heap(struct t_gpu *g, uint64_t bytes)
{
	uint64_t base = gsb_round_up((uintptr_t)t_alloc(g, bytes + PAGE), PAGE);

	gsb_emu_malloc_init(&g->heap, NULL);
	assert_int_equal(gsb_emu_malloc_start(&g->heap, base, bytes), 0);
	g->has_heap = true;
}

void *t_var(struct t_gpu *g, const char *name)
{
	const struct gsb_ptx_var *v = gsb_ptx_find_var(g->module, name);

	assert_non_null(v);
	return (void *)(uintptr_t)g->var_addr[v->index];
}

static int lower(struct t_gpu *g, const char *kernel, struct gsb_emu_code **out)
{
	const struct gsb_ptx_func *f = gsb_ptx_find_func(g->module, kernel);

	if (!f)
		fail_msg("no kernel '%s'", kernel);
	return gsb_emu_lower(g->module, f, g->var_addr, out, g->log, sizeof(g->log));
}

int t_lower(struct t_gpu *g, const char *kernel)
{
	struct gsb_emu_code *code = NULL;
	int err = lower(g, kernel, &code);

	gsb_emu_code_destroy(code);
	return err;
}

static void on_print(void *ctx, const struct gsb_emu_text *text)
{
	struct t_gpu *g = ctx;

	assert_true(g->n_printed + text->len < sizeof(g->printed));
	memcpy(g->printed + g->n_printed, text->bytes, text->len);
	g->n_printed += text->len;
	g->printed_cost += text->cost;
	g->printed[g->n_printed] = 0;
}

static void put_params(const struct gsb_ptx_func *f, const struct t_launch *l, unsigned char *out)
{
	for (uint32_t i = 0; i < f->n_params; i++) {
		assert_true(i < T_MAX_ARGS);
		if (!l->args[i])
			fail_msg("'%s': argument %u is missing", l->kernel, i);
		memcpy(out + f->params[i].offset, l->args[i], f->params[i].size_bytes);
	}
}

static void add_stats(struct gsb_emu_stats *to, const struct gsb_emu_stats *s)
{
	to->n_insns += s->n_insns;
	to->n_alu += s->n_alu;
	to->n_imul += s->n_imul;
	to->n_sfu += s->n_sfu;
	to->n_fp64 += s->n_fp64;
	to->n_lane_insns += s->n_lane_insns;
	to->n_mem_insns += s->n_mem_insns;
	to->n_sectors += s->n_sectors;
	to->n_shared += s->n_shared;
	to->n_barriers += s->n_barriers;
	to->sleep_ns += s->sleep_ns;
}

struct grid {
	struct t_gpu *g;
	struct gsb_emu_launch launch;
	struct gsb_emu_pool pool;
	uint64_t n_blocks, next;
	struct gsb_emu_block *resident[256];
};

static struct gsb_emu_block *place(struct grid *d)
{
	uint64_t i = d->next++;
	uint32_t ctaid[3] = {(uint32_t)(i % d->launch.grid[0]),
			     (uint32_t)(i / d->launch.grid[0] % d->launch.grid[1]),
			     (uint32_t)(i / d->launch.grid[0] / d->launch.grid[1])};
	struct gsb_emu_block *b;

	assert_int_equal(gsb_emu_block_create(&d->launch, ctaid, (uint32_t)(i % 132), &b), 0);
	gsb_emu_block_set_print(b, on_print, d->g);
	gsb_emu_block_set_combiner(b, d->g->combiner);
	if (gsb_emu_isa_nth(d->g->isa))
		b->isa = gsb_emu_isa_nth(d->g->isa);
	return b;
}

/* Of every kernel that any test executes: what its warps do least is not more than they have done. */
static void check_least(const struct gsb_emu_block *b)
{
	const uint64_t least = (uint64_t)gsb_emu_code_least_insns(b->code) * b->n_warps;

	assert_true(gsb_emu_block_stats(b)->n_insns >= least);
}

/* Blocks take turns as they would on a device; in ascending order, as it places them. */
static CUresult run_grid(struct grid *d)
{
	uint32_t n = d->g->resident ? d->g->resident : 1, left = n;
	uint64_t quantum = d->g->quantum ? d->g->quantum : UINT64_MAX / 2;
	CUresult result = CUDA_SUCCESS;

	assert_true(n <= 256);
	while (left) {
		left = 0;
		for (uint32_t i = 0; i < n; i++) {
			struct gsb_emu_block **b = &d->resident[i];
			enum gsb_emu_state state;

			if (!*b && d->next < d->n_blocks && !result)
				*b = place(d);
			if (!*b)
				continue;
			left++;
			state = result ? GSB_EMU_DONE : gsb_emu_block_run(*b, quantum);
			d->g->n_yields += state == GSB_EMU_YIELDED;
			if (state < GSB_EMU_DONE)
				continue;
			if (state == GSB_EMU_FAULT) {
				d->g->fault = *gsb_emu_block_fault(*b);
				result = d->g->fault.result;
			}
			if (state == GSB_EMU_DONE)
				check_least(*b);
			add_stats(&d->g->stats, gsb_emu_block_stats(*b));
			gsb_emu_block_destroy(*b);
			*b = NULL;
		}
	}
	return result;
}

CUresult t_launch(struct t_gpu *g, const struct t_launch *l)
{
	const struct gsb_ptx_func *f = gsb_ptx_find_func(g->module, l->kernel);
	struct grid d = {.g = g, .n_blocks = 1};
	struct gsb_emu_code *code = NULL;
	unsigned char *params;
	CUresult result;

	if (lower(g, l->kernel, &code))
		fail_msg("%s", g->log);
	params = calloc(1, f->param_bytes + 16);
	assert_non_null(params);
	put_params(f, l, params);
	g->stats = (struct gsb_emu_stats){0};
	g->n_yields = 0;
	g->fault = (struct gsb_emu_fault){0};
	gsb_emu_pool_init(&d.pool);
	d.launch = (struct gsb_emu_launch){.code = code,
					   .pool = &d.pool,
					   .memory = &g->memory,
					   .heap = g->has_heap ? &g->heap : NULL,
					   .smem_bytes = l->smem_bytes,
					   .stack_bytes = g->stack_bytes,
					   .params = params,
					   .params_bytes = (uint32_t)f->param_bytes,
					   .watch = g->watch,
					   .strict = l->strict,
					   .n_sms = 132,
					   .max_warps = 64};
	for (int i = 0; i < 3; i++) {
		d.launch.grid[i] = l->grid[i] ? l->grid[i] : 1;
		d.launch.block[i] = l->block[i] ? l->block[i] : 1;
		d.n_blocks *= d.launch.grid[i];
	}
	result = run_grid(&d);
	gsb_emu_pool_finish(&d.pool);
	gsb_emu_code_destroy(code);
	free(params);
	return result;
}
