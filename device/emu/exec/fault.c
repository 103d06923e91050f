/*
 * fault.c - see fault.h.
 *
 * A handler that finds an access to be bad knows the first bad address at most. Who is to blame is worked out here,
 * from the registers, which no lane has written yet: those that the handler checks it checks for all lanes before
 * it moves one. Where the processor finds it the lanes before may have been loaded, but these were good.
 */
#include "device/emu/exec/fault.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/checked.h"
#include "device/emu/exec/cluster.h"

/* ---- who is to blame ---- */

static bool lane_ok(struct gsb_emu_exec *x, const struct gsb_emu_access *a, unsigned int i)
{
	struct gsb_emu_block *b = x->block;

	switch (a->space) {
	case GSB_PTX_SPACE_SHARED:
	case GSB_PTX_SPACE_CLUSTER: return gsb_emu_cluster_at(b, a->space, a->at[i], a->len);
	case GSB_PTX_SPACE_LOCAL: return gsb_range_ok(a->at[i], a->len, b->local_bytes);
	case GSB_PTX_SPACE_PARAM: return true;
	case GSB_PTX_SPACE_GENERIC:
		return gsb_emu_generic(x, i, a->at[i], a->len, a->kind != GSB_EMU_ACCESS_LOAD);
	default: return gsb_emu_in_memory(b->launch->memory, a->at[i], a->len);
	}
}

static uint32_t bad_lanes(struct gsb_emu_exec *x, const struct gsb_emu_access *a, CUresult result)
{
	uint32_t bad = 0;

	for (uint32_t left = a->mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		bool ok = result == CUDA_ERROR_MISALIGNED_ADDRESS ? !(a->at[i] & (a->len - 1))
								  : lane_ok(x, a, i);

		bad |= (uint32_t)!ok << i;
	}
	return bad;
}

static uint32_t lanes_at(const struct gsb_emu_access *a, uint64_t address)
{
	uint32_t there = 0;

	for (uint32_t left = a->mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		there |= (uint32_t)(address - a->at[i] < a->len) << i;
	}
	return there;
}

static bool is_access(CUresult result)
{
	return result == CUDA_ERROR_ILLEGAL_ADDRESS || result == CUDA_ERROR_MISALIGNED_ADDRESS;
}

static void find_lanes(struct gsb_emu_exec *x, struct gsb_emu_fault *f)
{
	f->lanes = x->mask;
	if (!x->mask || !is_access(f->result) ||
	    !gsb_emu_access_find(x, x->op, x->rows, x->mask, &f->access))
		return;
	f->lanes = f->unmapped ? lanes_at(&f->access, f->address)
			       : bad_lanes(x, &f->access, f->result);
	if (!f->lanes) {
		f->lanes = x->mask;
		f->access = (struct gsb_emu_access){.kind = GSB_EMU_ACCESS_NONE};
	}
}

/* ---- what is told ---- */

static void find_place(const struct gsb_emu_exec *x, struct gsb_emu_fault *f)
{
	const struct gsb_emu_block *b = x->block;
	const struct gsb_emu_code *code = b->code;
	const struct gsb_ptx_insn *in = code->origin[x->op - x->ops];
	uint32_t lane = f->lanes ? (uint32_t)__builtin_ctz(f->lanes) : 0;

	f->kernel = b->launch->name ? b->launch->name : code->kernel.entry->name;
	f->spelling = in && f->lanes ? in->spelling : "";
	f->line = in ? in->line : 0;
	f->file = "";
	f->first_thread = f->lanes ? (uint32_t)(x->warp - b->warps) * GSB_EMU_LANES : 0;
	for (uint32_t i = 0; in && i < code->n_funcs; i++) {
		const struct gsb_ptx_func *func = code->funcs[i].ptx;

		if (in >= func->insns && in < func->insns + func->n_insns)
			f->source_line = gsb_ptx_source_line(
				code->module, func, (uint32_t)(in - func->insns), &f->file);
	}
	for (int k = 0; k < 3; k++) {
		f->ctaid[k] = b->ctaid[k] + b->launch->first[k];
		f->tid[k] = f->lanes ? x->warp->tid[k][lane] : 0;
	}
}

static enum gsb_ptx_space space_of(const struct gsb_emu_access *a, unsigned int lane)
{
	return a->space == GSB_PTX_SPACE_GENERIC ? gsb_emu_access_space(a->at[lane]) : a->space;
}

static void find_limit(const struct gsb_emu_exec *x, struct gsb_emu_fault *f)
{
	const struct gsb_emu_block *b = x->block;
	const struct gsb_emu_access *a = &f->access;

	if (a->kind == GSB_EMU_ACCESS_NONE || f->result == CUDA_ERROR_MISALIGNED_ADDRESS)
		return;
	switch (space_of(a, (unsigned int)__builtin_ctz(f->lanes))) {
	case GSB_PTX_SPACE_SHARED:
	case GSB_PTX_SPACE_CLUSTER:
		snprintf(f->limit, sizeof(f->limit),
			 "the block has %u bytes of shared memory from 0x%x on, %u of them dynamic",
			 (uint32_t)gsb_emu_own_shared(b->launch), GSB_EMU_RESERVED_SHARED,
			 b->launch->smem_bytes);
		break;
	case GSB_PTX_SPACE_LOCAL:
		snprintf(f->limit, sizeof(f->limit), "a thread has %u bytes of local memory",
			 b->local_bytes);
		break;
	case GSB_PTX_SPACE_PARAM:
		snprintf(f->limit, sizeof(f->limit),
			 "the kernel has %u bytes of parameters, which it can only read",
			 b->launch->params_bytes);
		break;
	default: break;
	}
}

static void make_text(struct gsb_emu_fault *f)
{
	/* Parts are cut so that all of them fit. */
	int n = snprintf(f->text, sizeof(f->text), "%s: '%.40s' line %u '%.40s', block %u,%u,%u",
			 f->what, f->kernel, f->line, f->spelling, f->ctaid[0], f->ctaid[1],
			 f->ctaid[2]);

	if (f->lanes)
		snprintf(f->text + n, sizeof(f->text) - (size_t)n, ", thread %u,%u,%u", f->tid[0],
			 f->tid[1], f->tid[2]);
}

/* The rest of a fault that has its code, address and what. */
static const struct gsb_emu_op *fail(struct gsb_emu_exec *x)
{
	struct gsb_emu_fault *f = &x->block->fault;

	find_lanes(x, f);
	find_place(x, f);
	find_limit(x, f);
	make_text(f);
	return gsb_emu_stop(x, GSB_EMU_STOP_FAULT);
}

const struct gsb_emu_op *gsb_emu_fail(struct gsb_emu_exec *x, CUresult result, uint64_t address,
				      const char *fmt, ...)
{
	struct gsb_emu_fault *f = &x->block->fault;
	va_list ap;

	*f = (struct gsb_emu_fault){.result = result, .address = address};
	va_start(ap, fmt);
	vsnprintf(f->what, sizeof(f->what), fmt, ap);
	va_end(ap);
	return fail(x);
}

void gsb_emu_fail_unmapped(struct gsb_emu_exec *x, uint64_t address)
{
	struct gsb_emu_fault *f = &x->block->fault;

	*f = (struct gsb_emu_fault){
		.result = CUDA_ERROR_ILLEGAL_ADDRESS, .address = address, .unmapped = true};
	snprintf(f->what, sizeof(f->what), "access to address 0x%llx, which is not allocated",
		 (unsigned long long)address);
	fail(x);
}

const struct gsb_emu_op *gsb_emu_no_memory(struct gsb_emu_exec *x)
{
	return gsb_emu_fail(x, CUDA_ERROR_OUT_OF_MEMORY, 0, "no memory for the emulated warp");
}

/* ---- addresses ---- */

bool gsb_emu_cluster_refuses(struct gsb_emu_exec *x, enum gsb_ptx_space space, uint64_t addr)
{
	const char *why;
	CUresult wrong = gsb_emu_cluster_wrong(x->block, space, addr >> GSB_EMU_RANK_SHIFT, &why);

	if (!wrong || wrong == CUDA_ERROR_ILLEGAL_ADDRESS)
		return false;
	gsb_emu_fail(x, wrong, addr, "shared address 0x%llx: %s", (unsigned long long)addr, why);
	return true;
}

unsigned char *gsb_emu_generic(struct gsb_emu_exec *x, unsigned int lane, uint64_t addr,
			       uint32_t len, bool write)
{
	struct gsb_emu_block *b = x->block;
	uint64_t at = addr & (GSB_EMU_WINDOW_BYTES - 1);

	switch (addr & ~(GSB_EMU_WINDOW_BYTES - 1)) {
	case GSB_EMU_SHARED_WINDOW: return gsb_emu_cluster_at(b, GSB_PTX_SPACE_CLUSTER, at, len);
	case GSB_EMU_LOCAL_WINDOW:
		if (!gsb_range_ok(at, len, b->local_bytes))
			return NULL;
		return x->warp->local + (size_t)lane * b->local_bytes + at;
	case GSB_EMU_PARAM_WINDOW:
		if (write || !gsb_range_ok(at, len, b->launch->params_bytes))
			return NULL;
		return (unsigned char *)(uintptr_t)b->launch->params + at;
	default:
		return gsb_emu_in_memory(b->launch->memory, addr, len)
			       ? (unsigned char *)(uintptr_t)addr
			       : NULL;
	}
}
