/*
 * grid.c - see grid.h.
 */
#include "tools/ptx/grid.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/checked.h"
#include "device/emu/lower/lower.h"

#define PAGE	  4096
#define N_SMS	  132
#define MAX_WARPS 64

/* ---- memory ---- */

void *grid_machine_alloc(struct grid_machine *m, uint64_t bytes)
{
	uint64_t at = gsb_round_up(m->used, 256), end = at + bytes;
	char *base = (char *)(uintptr_t)m->memory.device.base;

	if (end + PAGE > m->memory.device.size ||
	    mprotect(base, gsb_round_up(end, PAGE), PROT_READ | PROT_WRITE))
		return NULL;
	m->used = end;
	return base + at;
}

static int place_vars(struct grid_machine *m)
{
	const struct gsb_ptx_module *ptx = m->module;

	for (uint32_t i = 0; i < ptx->n_vars; i++) {
		const struct gsb_ptx_var *v = ptx->vars[i];
		void *p;

		if (v->space == GSB_PTX_SPACE_SHARED)
			continue;
		p = grid_machine_alloc(m, v->size_bytes);
		if (!p)
			return -ENOMEM;
		if (v->init)
			memcpy(p, v->init, v->size_bytes);
		m->var_addr[i] = (uintptr_t)p;
	}
	return 0;
}

static void put_relocs(struct grid_machine *m, const struct gsb_ptx_var *v)
{
	for (uint32_t i = 0; i < v->n_relocs; i++) {
		const struct gsb_ptx_reloc *r = &v->relocs[i];
		uint64_t value =
			r->func ? gsb_emu_func_address(r->func) : m->var_addr[r->var->index];

		value += (uint64_t)r->addend;
		memcpy((char *)(uintptr_t)m->var_addr[v->index] + r->offset, &value, r->size);
	}
}

int grid_machine_init(struct grid_machine *m, const struct gsb_ptx_module *module, uint64_t bytes)
{
	int err = gsb_emu_guard_install();
	void *p;

	*m = (struct grid_machine){.module = module};
	if (err)
		return err;
	p = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p == MAP_FAILED)
		return -errno;
	m->memory.device = (struct gsb_emu_range){(uintptr_t)p, bytes};
	m->var_addr = calloc(module->n_vars + 1, sizeof(*m->var_addr));
	err = m->var_addr ? place_vars(m) : -ENOMEM;
	for (uint32_t i = 0; !err && i < module->n_vars; i++)
		put_relocs(m, module->vars[i]);
	return err;
}

void grid_machine_finish(struct grid_machine *m)
{
	if (m->memory.device.size)
		munmap((void *)(uintptr_t)m->memory.device.base, m->memory.device.size);
	free(m->var_addr);
}

/* ---- kernels ---- */

int grid_kernel_init(struct grid_kernel *k, const struct grid_machine *m,
		     const struct gsb_ptx_func *entry, char *log, size_t size)
{
	int err;

	*k = (struct grid_kernel){.entry = entry};
	err = gsb_emu_lower(m->module, entry, m->var_addr, &k->code, log, size);
	if (!err)
		gsb_emu_pool_init(&k->pool);
	return err;
}

void grid_kernel_finish(struct grid_kernel *k)
{
	if (!k->code)
		return;
	gsb_emu_pool_finish(&k->pool);
	gsb_emu_code_destroy(k->code);
	k->code = NULL;
}

/* ---- a launch ---- */

struct run {
	const struct grid_launch *l;
	struct gsb_emu_launch launch;
	uint64_t n_blocks, next, step,
		first; /* the i-th to start is block (first + i * step) % n_blocks */
	uint64_t turns, insns, now_ns;
	struct gsb_emu_block *blocks[GRID_MAX_RESIDENT];
};

static uint64_t common_divisor(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* A step without a divisor in common with their number comes to each once. */
static void choose_order(struct run *r)
{
	r->step = 1;
	if (!r->l->seed || r->l->ascending)
		return;
	r->first = r->l->seed * UINT64_C(0x9e3779b97f4a7c15) % r->n_blocks;
	r->step = 1 + r->l->seed % r->n_blocks;
	while (common_divisor(r->step, r->n_blocks) > 1)
		r->step++;
}

static int place(struct run *r, struct gsb_emu_block **out)
{
	uint64_t i = (r->first + r->next * r->step) % r->n_blocks;
	const uint32_t *grid = r->launch.grid;
	uint32_t ctaid[3] = {(uint32_t)(i % grid[0]), (uint32_t)(i / grid[0] % grid[1]),
			     (uint32_t)(i / grid[0] / grid[1])};
	int err = gsb_emu_block_create(&r->launch, ctaid, (uint32_t)(r->next % N_SMS), out);

	r->next++;
	if (!err)
		gsb_emu_block_set_time(*out, r->now_ns, r->now_ns);
	return err;
}

static void raise_flag(struct run *r)
{
	if (r->l->flag && r->turns++ == r->l->flag_after)
		__atomic_store_n(r->l->flag, 1, __ATOMIC_RELAXED);
}

/* To the end, but not for ever. */
static uint64_t turn_of(const struct grid_launch *l)
{
	if (l->quantum)
		return l->quantum;
	return l->max_insns ? l->max_insns : UINT32_MAX;
}

/* One turn of one block. False: the launch has failed. */
static bool take_turn(struct run *r, struct gsb_emu_block **b, struct gsb_emu_fault *fault)
{
	uint64_t before = gsb_emu_block_stats(*b)->n_insns, did;
	enum gsb_emu_state state;

	raise_flag(r);
	state = gsb_emu_block_run(*b, turn_of(r->l));
	did = gsb_emu_block_stats(*b)->n_insns - before;
	r->insns += did ? did : 1;
	r->now_ns += did;
	if (state == GSB_EMU_FAULT)
		*fault = *gsb_emu_block_fault(*b);
	if (state >= GSB_EMU_DONE) {
		gsb_emu_block_destroy(*b);
		*b = NULL;
	}
	if (state != GSB_EMU_FAULT && r->l->max_insns && r->insns > r->l->max_insns) {
		fault->result = CUDA_ERROR_LAUNCH_TIMEOUT;
		snprintf(fault->text, sizeof(fault->text), "it goes on and on");
		return false;
	}
	return state != GSB_EMU_FAULT;
}

static CUresult run_all(struct run *r, uint32_t resident, struct gsb_emu_fault *fault)
{
	bool more = true;

	while (more) {
		more = false;
		for (uint32_t i = 0; i < resident; i++) {
			if (!r->blocks[i] && r->next < r->n_blocks && place(r, &r->blocks[i]))
				return CUDA_ERROR_OUT_OF_MEMORY;
			if (!r->blocks[i])
				continue;
			more = true;
			if (!take_turn(r, &r->blocks[i], fault))
				return fault->result;
		}
	}
	return CUDA_SUCCESS;
}

CUresult grid_run(const struct grid_machine *m, struct grid_kernel *k, struct grid_launch *l,
		  struct gsb_emu_fault *fault)
{
	struct run r = {.l = l, .n_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]};
	uint32_t resident = l->resident ? l->resident : 1;
	CUresult result;

	*fault = (struct gsb_emu_fault){0};
	r.launch = (struct gsb_emu_launch){.code = k->code,
					   .pool = &k->pool,
					   .memory = &m->memory,
					   .smem_bytes = l->smem_bytes,
					   .params = l->params,
					   .params_bytes = l->params_bytes,
					   .poison = l->seed,
					   .strict = l->strict,
					   .watch = l->watch,
					   .n_sms = N_SMS,
					   .max_warps = MAX_WARPS};
	memcpy(r.launch.grid, l->grid, sizeof(l->grid));
	memcpy(r.launch.block, l->block, sizeof(l->block));
	choose_order(&r);
	result = run_all(&r, resident < GRID_MAX_RESIDENT ? resident : GRID_MAX_RESIDENT, fault);
	for (uint32_t i = 0; i < GRID_MAX_RESIDENT; i++)
		gsb_emu_block_destroy(r.blocks[i]);
	l->n_insns = r.insns;
	return result;
}
