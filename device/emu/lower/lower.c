/*
 * lower.c - code from PTX: an entry and all that it calls become one array of ops.
 *
 * What a processor does with an instruction's place in the text is made explicit: a JOIN stands where
 * the lanes of a branch meet again (the immediate post-dominator), GUARD and UNGUARD stand around guarded
 * instructions, and a guarded instruction that may wait or call becomes a branch around it.
 */
#include "device/emu/lower/lower.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "device/emu/lower/call.h"
#include "device/emu/lower/frame.h"
#include "device/emu/lower/again.h"
#include "device/emu/lower/combine.h"
#include "device/emu/lower/least.h"
#include "device/emu/lower/lowering.h"
#include "device/emu/lower/operand.h"
#include "device/emu/lower/operate.h"
#include "device/emu/lower/rows.h"
#include "device/emu/lower/stack.h"
#include "device/emu/lower/tally.h"
#include "ptx/ops.h"

#define SCRATCH_LIMIT ((size_t)1 << 30)
#define CODE_LIMIT    ((size_t)1 << 31)

/* ---- control flow ---- */

static void lower_bra(struct gsb_emu_lowering *l, uint32_t i)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t target = l->func->labels[in->operands[0].label].insn, rejoin;
	bool guarded = in->guard != GSB_PTX_NONE;
	struct gsb_emu_op *op =
		gsb_emu_emit(l, guarded ? GSB_EMU_FORM_BRA_IF : GSB_EMU_FORM_BRA, true);

	gsb_emu_fix(l, GSB_EMU_FIX_D, l->n_ops - 1, target);
	if (!guarded)
		return;
	op->a = l->rows[in->guard];
	op->flags |= in->guard_negated ? GSB_EMU_F_NEGATED : 0;
	op->e = GSB_EMU_NONE;
	rejoin = gsb_ptx_cfg_reconvergence(&l->cfg, i);
	if (rejoin != GSB_PTX_NONE)
		gsb_emu_fix(l, GSB_EMU_FIX_E, l->n_ops - 1, rejoin);
}

static void lower_brx(struct gsb_emu_lowering *l, uint32_t i)
{
	const struct gsb_ptx_table *t = &l->func->tables[l->insn->operands[1].table];
	uint32_t row = gsb_emu_src(l, &l->insn->operands[0], 4), list = gsb_emu_list_new(l, t->n);
	uint32_t rejoin = gsb_ptx_cfg_reconvergence(&l->cfg, i);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_BRX, true);

	op->a = row;
	op->d = list;
	op->imm = t->n;
	op->e = GSB_EMU_NONE;
	if (rejoin != GSB_PTX_NONE)
		gsb_emu_fix(l, GSB_EMU_FIX_E, l->n_ops - 1, rejoin);
	for (uint32_t k = 0; k < t->n; k++)
		gsb_emu_fix(l, GSB_EMU_FIX_LIST, list + k, l->func->labels[t->labels[k]].insn);
}

/* What may wait, call, or go elsewhere: it runs with the split's lanes, so a guard is a branch around. */
static bool is_control(const struct gsb_ptx_insn *in)
{
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_BARRIER:
	case GSB_PTX_CLASS_WARP:
	case GSB_PTX_CLASS_MATRIX:
	case GSB_PTX_CLASS_CALL: return true;
	case GSB_PTX_CLASS_BRANCH: return in->op != GSB_PTX_OP_BRA;
	default:
		return in->op == GSB_PTX_OP_NANOSLEEP || in->op == GSB_PTX_OP_MBAR_TRY ||
		       in->op == GSB_PTX_OP_MBAR_TRY_PARITY || in->op == GSB_PTX_OP_TENSORMAP_COPY;
	}
}

static void lower_body(struct gsb_emu_lowering *l, uint32_t i)
{
	const struct gsb_ptx_insn *in = l->insn;

	switch (in->op) {
	case GSB_PTX_OP_BRA: lower_bra(l, i); break;
	case GSB_PTX_OP_BRX_IDX: lower_brx(l, i); break;
	case GSB_PTX_OP_CALL: gsb_emu_lower_call(l); break;
	case GSB_PTX_OP_RET:
		gsb_emu_move_reg_params(l, true);
		gsb_emu_stack_leave(l);
		gsb_emu_emit(l, GSB_EMU_FORM_RET, true);
		break;
	case GSB_PTX_OP_EXIT: gsb_emu_emit(l, GSB_EMU_FORM_EXIT, true); break;
	case GSB_PTX_OP_TRAP: gsb_emu_emit(l, GSB_EMU_FORM_TRAP, true); break;
	case GSB_PTX_OP_UNSUPPORTED: gsb_emu_not_carried(l); break;
	default: gsb_emu_lower_operation(l); break;
	}
}

static uint32_t emit_guard(struct gsb_emu_lowering *l, unsigned int form, bool negated)
{
	struct gsb_emu_op *op = gsb_emu_emit(l, form, false);

	op->a = l->rows[l->insn->guard];
	op->flags |= negated ? GSB_EMU_F_NEGATED : 0;
	op->e = GSB_EMU_NONE;
	return l->n_ops - 1;
}

static void lower_around(struct gsb_emu_lowering *l, uint32_t i)
{
	uint32_t around = emit_guard(l, GSB_EMU_FORM_BRA_IF, !l->insn->guard_negated);

	lower_body(l, i);
	gsb_emu_emit(l, GSB_EMU_FORM_JOIN, false);
	if (!l->err)
		l->ops[around].d = l->ops[around].e = l->n_ops - 1;
}

static void on_def(void *ctx, uint32_t reg)
{
	uint32_t *guard = ctx;

	if (reg == *guard)
		*guard = GSB_PTX_NONE;
}

/* Plain instructions that follow each other under one guard need it only once. */
static bool guard_goes_on(const struct gsb_emu_lowering *l, uint32_t i)
{
	const struct gsb_ptx_insn *in = &l->func->insns[i], *next = in + 1;
	uint32_t guard = in->guard;

	if (i + 1 >= l->func->n_insns || l->is_join[i + 1] ||
	    l->cfg.block_of[i] != l->cfg.block_of[i + 1] || is_control(next) ||
	    next->op == GSB_PTX_OP_BRA || gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_LEAVE)
		return false;
	gsb_ptx_insn_each_def(in, on_def, &guard);
	return next->guard == guard && guard != GSB_PTX_NONE &&
	       next->guard_negated == in->guard_negated;
}

static void lower_insn(struct gsb_emu_lowering *l, uint32_t i, uint32_t *guard)
{
	const struct gsb_ptx_insn *in = &l->func->insns[i];

	l->insn = in;
	l->used_temps = 0;
	l->insn_op[i] = l->n_ops;
	if (l->is_join[i])
		gsb_emu_emit(l, GSB_EMU_FORM_JOIN, false);
	if (in->guard == GSB_PTX_NONE || in->op == GSB_PTX_OP_BRA) {
		lower_body(l, i);
		return;
	}
	if (is_control(in)) {
		lower_around(l, i);
		return;
	}
	if (*guard == GSB_EMU_NONE)
		*guard = emit_guard(l, GSB_EMU_FORM_GUARD, in->guard_negated);
	lower_body(l, i);
	if (guard_goes_on(l, i))
		return;
	gsb_emu_emit(l, GSB_EMU_FORM_UNGUARD, false);
	if (!l->err)
		l->ops[*guard].d = l->n_ops;
	*guard = GSB_EMU_NONE;
}

/* Every place where a branch of this function says its lanes meet. */
static void find_joins(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_func *f = l->func;

	for (uint32_t i = 0; i < f->n_insns; i++) {
		const struct gsb_ptx_insn *in = &f->insns[i];
		uint32_t at;

		if (in->op != GSB_PTX_OP_BRX_IDX &&
		    (in->op != GSB_PTX_OP_BRA || in->guard == GSB_PTX_NONE))
			continue;
		at = gsb_ptx_cfg_reconvergence(&l->cfg, i);
		if (at != GSB_PTX_NONE)
			l->is_join[at] = true;
	}
}

static void apply_fixups(struct gsb_emu_lowering *l)
{
	for (uint32_t i = 0; i < l->n_fixups; i++) {
		const struct gsb_emu_fixup *fix = &l->fixups[i];
		uint32_t op = l->insn_op[fix->insn];

		switch (fix->field) {
		case GSB_EMU_FIX_D: l->ops[fix->at].d = op; break;
		case GSB_EMU_FIX_E: l->ops[fix->at].e = op; break;
		default: l->lists[fix->at] = op; break;
		}
	}
	l->n_fixups = 0;
}

/* The frame is complete only now: calls need to know how long it is. */
static void patch_calls(struct gsb_emu_lowering *l, uint32_t first, uint32_t frame_bytes)
{
	for (uint32_t i = first; i < l->n_ops; i++) {
		if (l->ops[i].form == GSB_EMU_FORM_CALL ||
		    l->ops[i].form == GSB_EMU_FORM_CALL_ADDRESS)
			l->ops[i].c = frame_bytes;
	}
}

/* Tables of the function at hand, in the scratch arena. */
static int prepare_func(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_func *f = l->func;
	size_t n = (size_t)f->n_insns + 1;
	int err = gsb_ptx_cfg_build(f, &l->scratch, &l->cfg);

	if (err)
		return err;
	l->rows = gsb_arena_alloc_array(&l->scratch, (size_t)f->n_regs + 1, sizeof(*l->rows));
	l->is_read = gsb_arena_alloc_array(&l->scratch, (size_t)f->n_regs + 1, sizeof(*l->is_read));
	l->insn_op = gsb_arena_alloc_array(&l->scratch, n, sizeof(*l->insn_op));
	l->is_join = gsb_arena_alloc_array(&l->scratch, n, sizeof(*l->is_join));
	if (!l->rows || !l->is_read || !l->insn_op || !l->is_join)
		return -ENOMEM;
	l->n_temps = 0;
	l->frame_end = GSB_EMU_FRAME_FIRST;
	memset(l->const_head, 0, sizeof(l->const_head));
	gsb_emu_find_read(f, l->is_read);
	return gsb_emu_rows_assign(f, &l->cfg, &l->scratch, l->rows, &l->frame_end);
}

static void lower_insns(struct gsb_emu_lowering *l)
{
	uint32_t guard = GSB_EMU_NONE, n = l->func->n_insns;

	for (uint32_t i = 0; i < n && !l->err; i++)
		lower_insn(l, i, &guard);
	if (l->err)
		return;
	l->insn_op[n] = l->n_ops;
	if (l->is_join[n])
		gsb_emu_emit(l, GSB_EMU_FORM_JOIN, false);
	gsb_emu_move_reg_params(l, true);
	gsb_emu_stack_leave(l);
	gsb_emu_emit(l, GSB_EMU_FORM_RET, false);
}

static void lower_func(struct gsb_emu_lowering *l, uint32_t nth)
{
	struct gsb_emu_func *func = &l->code->funcs[nth];
	int err;

	l->func = func->ptx;
	l->nth = nth;
	l->insn = NULL;
	func->first_const = l->n_consts;
	func->entry = l->n_ops;
	gsb_arena_init(&l->scratch, SCRATCH_LIMIT);
	err = prepare_func(l);
	if (err) {
		gsb_emu_lower_fail(l, err, "'%s' cannot be analysed (error %d)", l->func->name,
				   -err);
		goto out;
	}
	func->local_bytes = gsb_emu_lay_out_local(l);
	find_joins(l);
	if (nth > 0)
		gsb_emu_emit(l, GSB_EMU_FORM_PROLOGUE, false)->d = nth;
	gsb_emu_move_reg_params(l, false);
	gsb_emu_stack_begin(l);
	lower_insns(l);
	if (l->err)
		goto out;
	apply_fixups(l);
	func->n_consts = l->n_consts - func->first_const;
	func->frame_bytes = (uint32_t)gsb_round_up(l->frame_end, 64);
	patch_calls(l, func->entry, func->frame_bytes);
out:
	gsb_arena_finish(&l->scratch);
}

/* ---- the code as a whole ---- */

static void *keep(struct gsb_emu_code *code, const void *from, uint32_t n, size_t size)
{
	void *p = gsb_arena_alloc_array(&code->arena, n, size);

	if (p && n)
		memcpy(p, from, n * size);
	return p;
}

static void finish_code(struct gsb_emu_lowering *l)
{
	struct gsb_emu_code *code = l->code;
	uint64_t chain = 0;

	code->ops = keep(code, l->ops, l->n_ops, sizeof(*l->ops));
	code->origin = keep(code, l->origin, l->n_ops, sizeof(*l->origin));
	code->lists = keep(code, l->lists, l->n_lists, sizeof(*l->lists));
	code->consts = keep(code, l->consts, l->n_consts, sizeof(*l->consts));
	code->n_ops = l->n_ops;
	code->n_lists = l->n_lists;
	code->n_consts = l->n_consts;
	if (!code->ops || !code->origin || !code->lists || !code->consts ||
	    gsb_emu_find_tally(code))
		gsb_emu_lower_no_memory(l);
	if (!l->err) {
		gsb_emu_find_least(code);
		gsb_emu_find_again(code);
		gsb_emu_find_combining(code);
	}
	/* Without recursion each function is active at most once. */
	for (uint32_t i = 0; i < code->n_funcs; i++)
		chain += code->funcs[i].local_bytes;
	if (chain > GSB_EMU_MAX_LOCAL)
		gsb_emu_lower_fail(l, -E2BIG, "%llu bytes of local memory a thread",
				   (unsigned long long)chain);
	code->chain_local_bytes = (uint32_t)chain + code->tail_local_bytes;
}

static void find_consts(struct gsb_emu_lowering *l)
{
	struct gsb_emu_code *code = l->code;

	for (uint32_t i = 0; i < code->module->n_vars; i++) {
		const struct gsb_ptx_var *v = code->module->vars[i];
		uint64_t addr = v->space == GSB_PTX_SPACE_CONST ? l->var_addr[i] : 0;

		if (!addr)
			continue;
		if (!code->const_base || addr < code->const_base)
			code->const_base = addr;
		if (addr + v->size_bytes > code->const_end)
			code->const_end = addr + v->size_bytes;
	}
}

static bool is_of_cluster(const struct gsb_ptx_insn *in)
{
	for (uint32_t i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_SREG &&
		    in->operands[i].sreg >= GSB_PTX_SREG_CLUSTERID)
			return true;
	return gsb_ptx_insn_is_of_cluster(in);
}

/* Known before the first address is made: those of shared memory say whose it is then. */
static void find_cluster(struct gsb_emu_code *code)
{
	for (uint32_t i = 0; i < code->kernel.n_funcs; i++) {
		const struct gsb_ptx_func *f = code->kernel.funcs[i];

		for (uint32_t k = 0; k < f->n_insns; k++)
			code->knows_cluster |= is_of_cluster(&f->insns[k]);
	}
}

static int start_code(struct gsb_emu_lowering *l, const struct gsb_ptx_module *m,
		      const struct gsb_ptx_func *entry)
{
	struct gsb_emu_code *code = l->code;
	int err = gsb_ptx_kernel_build(m, entry, &code->arena, &code->kernel);

	code->kernel.entry = entry;
	if (err)
		return err;
	code->module = m;
	code->n_funcs = code->kernel.n_funcs;
	code->grows = code->kernel.recursive;
	code->funcs = gsb_arena_alloc_array(&code->arena, code->n_funcs, sizeof(*code->funcs));
	code->func_of = gsb_arena_alloc_array(&code->arena, m->n_funcs, sizeof(*code->func_of));
	if (!code->funcs || !code->func_of)
		return -ENOMEM;
	for (uint32_t i = 0; i < m->n_funcs; i++)
		code->func_of[i] = GSB_EMU_NONE;
	for (uint32_t i = 0; i < code->n_funcs; i++) {
		code->funcs[i].ptx = code->kernel.funcs[i];
		code->func_of[code->kernel.funcs[i]->index] = i;
	}
	for (uint32_t i = 0; i < m->n_funcs; i++)
		code->func_of[i] = code->func_of[gsb_emu_body_of(m->funcs[i])->index];
	code->tail_local_bytes = gsb_emu_builtin_area(l, m);
	find_consts(l);
	find_cluster(code);
	return 0;
}

int gsb_emu_lower(const struct gsb_ptx_module *m, const struct gsb_ptx_func *entry,
		  const uint64_t *var_addr, struct gsb_emu_code **out, char *log, size_t log_size)
{
	struct gsb_emu_lowering l = {.var_addr = var_addr, .log = log, .log_size = log_size};
	struct gsb_emu_code *code = calloc(1, sizeof(*code));
	int err;

	if (!code)
		return -ENOMEM;
	gsb_arena_init(&code->arena, CODE_LIMIT);
	l.code = code;
	err = start_code(&l, m, entry);
	if (err)
		gsb_emu_lower_fail(&l, err, "it cannot be laid out (error %d)", -err);
	for (uint32_t i = 0; i < code->n_funcs && !l.err; i++)
		lower_func(&l, i);
	if (!l.err)
		finish_code(&l);
	free(l.ops);
	free(l.origin);
	free(l.lists);
	free(l.consts);
	free(l.const_next);
	free(l.fixups);
	if (l.err) {
		gsb_emu_code_destroy(code);
		return l.err;
	}
	*out = code;
	return 0;
}
