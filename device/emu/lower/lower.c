/*
 * lower.c - code from PTX: an entry and all that it calls become one array of ops.
 *
 * What a processor does with an instruction's place in the text is made explicit: a JOIN stands where
 * the lanes of a branch meet again (the immediate post-dominator), GUARD and UNGUARD stand around guarded
 * instructions, and a guarded instruction that may wait or call becomes a branch around it.
 */
#include "device/emu/lower/lower.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"

#define SCRATCH_LIMIT ((size_t)1 << 30)
#define CODE_LIMIT    ((size_t)1 << 31)

void gsb_emu_lower_fail(struct gsb_emu_lowering *l, int err, const char *fmt, ...)
{
	char text[240];
	va_list ap;

	if (l->err)
		return;
	l->err = err;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (l->insn)
		snprintf(l->log, l->log_size, "kernel '%s', line %u: %s",
			 l->code->kernel.entry->name, l->insn->line, text);
	else
		snprintf(l->log, l->log_size, "kernel '%s': %s", l->code->kernel.entry->name, text);
}

static void no_memory(struct gsb_emu_lowering *l)
{
	gsb_emu_lower_fail(l, -ENOMEM, "no memory to lower it");
}

/* Room for one more element of an array that doubles; false: the error is set. */
static bool room(struct gsb_emu_lowering *l, void *array, uint32_t n, uint32_t *cap, size_t size)
{
	void **p = array, *q;
	uint32_t want = *cap ? *cap * 2 : 256;

	if (n < *cap)
		return true;
	if (want > GSB_EMU_MAX_OPS) {
		gsb_emu_lower_fail(l, -E2BIG, "more than %u operations", GSB_EMU_MAX_OPS);
		return false;
	}
	q = realloc(*p, want * size);
	if (!q) {
		no_memory(l);
		return false;
	}
	*p = q;
	*cap = want;
	return true;
}

struct gsb_emu_op *gsb_emu_emit(struct gsb_emu_lowering *l, unsigned int form, bool main)
{
	static _Thread_local struct gsb_emu_op nowhere;
	uint32_t cap = l->cap_ops;
	struct gsb_emu_op *op;

	if (l->err || !room(l, &l->ops, l->n_ops, &cap, sizeof(*l->ops)) ||
	    !room(l, &l->origin, l->n_ops, &l->cap_ops, sizeof(const struct gsb_ptx_insn *))) {
		nowhere = (struct gsb_emu_op){0};
		return &nowhere;
	}
	op = &l->ops[l->n_ops];
	*op = (struct gsb_emu_op){.form = (uint16_t)form};
	op->flags = main ? 0 : GSB_EMU_F_PSEUDO;
	l->origin[l->n_ops++] = l->insn;
	return op;
}

void gsb_emu_fix(struct gsb_emu_lowering *l, int field, uint32_t at, uint32_t insn)
{
	if (l->err || !room(l, &l->fixups, l->n_fixups, &l->cap_fixups, sizeof(*l->fixups)))
		return;
	l->fixups[l->n_fixups++] = (struct gsb_emu_fixup){.at = at, .insn = insn};
	l->fixups[l->n_fixups - 1].field = (unsigned int)field;
}

uint32_t gsb_emu_list_new(struct gsb_emu_lowering *l, uint32_t n)
{
	uint32_t first = l->n_lists;

	for (uint32_t i = 0; i < n; i++) {
		if (l->err || !room(l, &l->lists, l->n_lists, &l->cap_lists, sizeof(*l->lists)))
			return 0;
		l->lists[l->n_lists++] = 0;
	}
	return first;
}

/* ---- the frame ---- */

static uint32_t new_row(struct gsb_emu_lowering *l, uint32_t bytes)
{
	uint32_t row = (uint32_t)gsb_round_up(l->frame_end, bytes > 4 ? 64 : 4);

	l->frame_end = row + bytes;
	if (l->frame_end > GSB_EMU_MAX_FRAME) {
		l->frame_end = row;
		gsb_emu_lower_fail(l, -E2BIG, "more than %u bytes of registers", GSB_EMU_MAX_FRAME);
	}
	return row;
}

static uint64_t lane_value(uint64_t value, uint32_t bytes)
{
	return bytes == 0 ? value != 0 : bytes == 4 ? (uint32_t)value : value;
}

uint32_t gsb_emu_const_row(struct gsb_emu_lowering *l, uint64_t value, uint32_t bytes)
{
	uint32_t first = l->code->funcs[l->nth].first_const, at, *head;
	struct gsb_emu_const *c;

	if (bytes > 8) {
		gsb_emu_lower_fail(l, -ENOTSUP, "'%s' with a constant is not carried",
				   l->insn ? l->insn->spelling : "a call");
		return 0;
	}
	value = lane_value(value, bytes);
	head = &l->const_head[(value * UINT64_C(0x9e3779b97f4a7c15) >> 40 ^ bytes) %
			      GSB_EMU_CONST_BUCKETS];
	for (at = *head; at; at = l->const_next[at - 1]) {
		c = &l->consts[first + at - 1];
		if (c->value == value && c->bytes == bytes)
			return c->row;
	}
	at = l->n_consts - first;
	if (l->err || !room(l, &l->consts, l->n_consts, &l->cap_consts, sizeof(*l->consts)) ||
	    !room(l, &l->const_next, at, &l->cap_const_next, sizeof(*l->const_next)))
		return 0;
	c = &l->consts[l->n_consts++];
	*c = (struct gsb_emu_const){.value = value, .bytes = bytes};
	c->row = new_row(l, bytes ? bytes * GSB_EMU_LANES : 4);
	l->const_next[at] = *head;
	*head = at + 1;
	return c->row;
}

uint32_t gsb_emu_temp_row(struct gsb_emu_lowering *l)
{
	if (l->used_temps == GSB_EMU_MAX_TEMPS) {
		gsb_emu_lower_fail(l, -E2BIG, "'%s' has too many operands to convert",
				   l->insn->spelling);
		return 0;
	}
	if (l->used_temps == l->n_temps)
		l->temps[l->n_temps++] = new_row(l, 8 * GSB_EMU_LANES);
	return l->temps[l->used_temps++];
}

bool gsb_emu_is_entry_param(const struct gsb_emu_lowering *l, const struct gsb_ptx_var *var)
{
	return l->func->is_entry && var->space == GSB_PTX_SPACE_PARAM && var >= l->func->params &&
	       var < l->func->params + l->func->n_params;
}

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
	case GSB_PTX_CLASS_CALL: return true;
	case GSB_PTX_CLASS_BRANCH: return in->op != GSB_PTX_OP_BRA;
	default: return in->op == GSB_PTX_OP_NANOSLEEP;
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
		gsb_emu_emit(l, GSB_EMU_FORM_RET, true);
		break;
	case GSB_PTX_OP_EXIT: gsb_emu_emit(l, GSB_EMU_FORM_EXIT, true); break;
	case GSB_PTX_OP_TRAP: gsb_emu_emit(l, GSB_EMU_FORM_TRAP, true); break;
	case GSB_PTX_OP_UNSUPPORTED:
		gsb_emu_lower_fail(l, -ENOTSUP, "'%s' is not carried by the emulated device",
				   in->spelling);
		break;
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
	l->insn_op = gsb_arena_alloc_array(&l->scratch, n, sizeof(*l->insn_op));
	l->is_join = gsb_arena_alloc_array(&l->scratch, n, sizeof(*l->is_join));
	if (!l->rows || !l->insn_op || !l->is_join)
		return -ENOMEM;
	l->n_temps = 0;
	l->frame_end = GSB_EMU_FRAME_FIRST;
	memset(l->const_head, 0, sizeof(l->const_head));
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
	if (!code->ops || !code->origin || !code->lists || !code->consts)
		no_memory(l);
	code->n_ops = l->n_ops;
	code->n_lists = l->n_lists;
	code->n_consts = l->n_consts;
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
	pthread_mutex_init(&code->pool_lock, NULL);
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

void gsb_emu_code_destroy(struct gsb_emu_code *code)
{
	if (!code)
		return;
	gsb_emu_pool_drain(code);
	pthread_mutex_destroy(&code->pool_lock);
	gsb_arena_finish(&code->arena);
	free(code);
}

uint64_t gsb_emu_func_address(const struct gsb_ptx_func *func)
{
	return GSB_EMU_CODE_WINDOW + ((uint64_t)func->index + 1) * GSB_EMU_CODE_STEP;
}
