/*
 * call.c - lowering of calls: how arguments and results travel.
 *
 * All of them go through the area at the start of the callee's frame (frame.c), so direct, indirect and
 * recursive calls are one, and .param and .reg parameters too.
 */
#include "device/emu/lower/call.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "device/emu/lower/frame.h"
#include "device/emu/lower/lower.h"
#include "device/emu/lower/operand.h"
#include "device/emu/lower/rows.h"
#include "device/emu/lower/select.h"

/* A value in the frame: its type, the row that has it or gets it, and where in the frame it lies. */
struct slot {
	enum gsb_ptx_type type;
	uint32_t row, lane_bytes, offset;
};

static void frame_access(struct gsb_emu_lowering *l, bool store, const struct slot *s)
{
	uint32_t zero = gsb_emu_const_row(l, 0, 8);
	uint32_t form = store ? gsb_emu_select_store(s->type, s->lane_bytes)
			      : gsb_emu_select_load(s->type, s->lane_bytes);
	struct gsb_emu_op *op;

	if (form == GSB_EMU_NONE) {
		gsb_emu_lower_fail(l, -ENOTSUP, "parameters of type .%s are not carried",
				   gsb_ptx_type_name(s->type));
		return;
	}
	op = gsb_emu_emit(l, form, false);
	op->d = s->row;
	op->a = zero;
	op->imm = s->offset;
	op->n = GSB_PTX_SPACE_LOCAL;
	op->flags |= GSB_EMU_F_ADDR64 | GSB_EMU_F_FRAME;
	op->e = 1;
}

static uint32_t frame_row(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o,
			  enum gsb_ptx_type type, uint32_t *bytes)
{
	*bytes = o->kind == GSB_PTX_OPERAND_REG ? gsb_emu_lane_bytes(l->func->regs[o->reg].type)
						: gsb_emu_lane_bytes(type);
	return gsb_emu_src(l, o, *bytes);
}

static void copy_frame(struct gsb_emu_lowering *l, uint32_t to, uint32_t from, uint64_t size)
{
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_COPY_LOCAL, false);

	op->d = to;
	op->a = from;
	op->imm = (int64_t)size;
}

/* A value of the call list to the area at @area, or from there. */
static void pass(struct gsb_emu_lowering *l, const struct gsb_ptx_operand *o,
		 const struct gsb_ptx_var *v, uint32_t area, bool result)
{
	uint32_t row, bytes, at;

	l->used_temps = 0;
	if (o->kind == GSB_PTX_OPERAND_NONE)
		return;
	if (o->kind == GSB_PTX_OPERAND_VAR) {
		at = gsb_emu_local_offset(l, o->var);
		copy_frame(l, result ? at : area, result ? area : at,
			   gsb_emu_param_size(o->var) < gsb_emu_param_size(v)
				   ? gsb_emu_param_size(o->var)
				   : gsb_emu_param_size(v));
		return;
	}
	row = frame_row(l, o, v->type, &bytes);
	frame_access(l, !result, &(struct slot){v->type, row, bytes, area});
}

/* Functions without a body that the interpreter has; NULL: it has none of this name. */
static const struct builtin {
	const char *name;
	uint16_t form;
	bool heap, aligned;
} * builtin_of(const char *name)
{
	static const struct builtin all[] = {
		{"vprintf", GSB_EMU_FORM_PRINT, false, false},
		{"__assertfail", GSB_EMU_FORM_ASSERT_FAIL, false, false},
		{"malloc", GSB_EMU_FORM_MALLOC, true, false},
		{"__cuda_syscall_aligned_malloc", GSB_EMU_FORM_MALLOC, true, true},
		{"free", GSB_EMU_FORM_FREE, true, false},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(all); i++) {
		if (!strcmp(name, all[i].name))
			return &all[i];
	}
	return NULL;
}

bool gsb_emu_allocates(const char *name)
{
	const struct builtin *b = builtin_of(name);

	return b && b->heap;
}

static void refuse_call(struct gsb_emu_lowering *l, const char *name)
{
	bool launches = strstr(name, "cudaCDP2") || strstr(name, "_cnpv2") ||
			!strncmp(name, "cudaLaunchDevice", 16) ||
			!strncmp(name, "cudaGetParameterBuffer", 22);
	bool is_systems = !strncmp(name, "__", 2) || !strncmp(name, "cuda", 4);

	gsb_emu_lower_fail(
		l, -ENOTSUP, "call of '%s', which has no body and is not carried%s", name,
		launches ? ": dynamic parallelism needs a real GPU; launch from the host"
		: is_systems
			? ""
			: ": where another file of the program has it, compile that one to PTX, too");
}

static void emit_call(struct gsb_emu_lowering *l, const struct gsb_ptx_func *target, uint32_t local)
{
	const struct gsb_ptx_operand *o = &l->insn->call->target;
	struct gsb_emu_op *op;
	uint32_t row = 0;

	if (target && !target->has_body) {
		const struct builtin *b = builtin_of(target->name);

		if (!b) {
			refuse_call(l, target->name);
			return;
		}
		l->code->uses_heap |= b->heap;
		op = gsb_emu_emit(l, b->form, true);
		op->a = local;
		op->imm = (int64_t)target->n_rets * GSB_EMU_CALL_ALIGN;
		op->e = b->aligned;
		return;
	}
	if (!target)
		row = gsb_emu_src(l, o, 8);
	op = gsb_emu_emit(l, target ? GSB_EMU_FORM_CALL : GSB_EMU_FORM_CALL_ADDRESS, true);
	op->d = target ? l->code->func_of[target->index] : 0;
	op->a = row;
	op->imm = local;
}

/* What the call passes: the function's own shape, or what the call says of an unknown one. */
static bool call_shape(struct gsb_emu_lowering *l, const struct gsb_ptx_func **target,
		       struct gsb_ptx_proto *shape)
{
	const struct gsb_ptx_call *call = l->insn->call;

	*target = NULL;
	if (call->target.kind == GSB_PTX_OPERAND_FUNC) {
		*target = gsb_emu_body_of(call->target.func);
		*shape = gsb_emu_proto_of(*target);
	} else if (call->proto) {
		*shape = *call->proto;
	} else if (call->table != GSB_PTX_NONE && l->func->tables[call->table].n) {
		*shape = gsb_emu_proto_of(gsb_emu_body_of(l->func->tables[call->table].funcs[0]));
	} else {
		gsb_emu_lower_fail(l, -ENOTSUP, "indirect call without prototype");
		return false;
	}
	if (shape->n_rets == call->n_rets && shape->n_params == call->n_args)
		return true;
	gsb_emu_lower_fail(l, -ENOTSUP, "call with other arguments than its target takes");
	return false;
}

void gsb_emu_lower_call(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_call *call = l->insn->call;
	uint32_t local = l->code->funcs[l->nth].local_bytes, end = 0;
	const struct gsb_ptx_func *target;
	struct gsb_ptx_proto shape;

	if (!call_shape(l, &target, &shape))
		return;
	for (uint32_t i = 0; i < call->n_rets; i++) /* they come first */
		gsb_emu_area_next(l, &end, &shape.rets[i]);
	for (uint32_t i = 0; i < call->n_args; i++)
		pass(l, &call->args[i], &shape.params[i],
		     local + gsb_emu_area_next(l, &end, &shape.params[i]), false);
	l->used_temps = 0;
	emit_call(l, target, local);
	end = 0;
	for (uint32_t i = 0; i < call->n_rets; i++)
		pass(l, &call->rets[i], &shape.rets[i],
		     local + gsb_emu_area_next(l, &end, &shape.rets[i]), true);
}

/* Parameters and results that are registers: from the area at the start, to it at each ret. */
void gsb_emu_move_reg_params(struct gsb_emu_lowering *l, bool at_ret)
{
	const struct gsb_ptx_var *v = at_ret ? l->func->rets : l->func->params;
	uint32_t n = at_ret ? l->func->n_rets : l->func->n_params;

	for (uint32_t i = 0; i < n && !l->func->is_entry; i++) {
		uint32_t reg = v[i].reg;
		struct slot slot;

		if (reg == GSB_PTX_NONE || l->rows[reg] == GSB_EMU_NONE)
			continue;
		slot = (struct slot){v[i].type, l->rows[reg],
				     gsb_emu_lane_bytes(l->func->regs[reg].type),
				     gsb_emu_local_offset(l, &v[i])};
		frame_access(l, at_ret, &slot);
	}
}

/* Built-ins have no frame of their own: room for the largest area that a call of one fills. */
uint32_t gsb_emu_builtin_area(struct gsb_emu_lowering *l, const struct gsb_ptx_module *m)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < m->n_funcs; i++) {
		struct gsb_ptx_proto p = gsb_emu_proto_of(m->funcs[i]);
		uint32_t size;

		if (m->funcs[i]->has_body || !builtin_of(m->funcs[i]->name))
			continue;
		size = gsb_emu_area_bytes(l, &p, NULL);
		most = size > most ? size : most;
	}
	return (uint32_t)gsb_round_up(most, GSB_EMU_FRAME_ALIGN);
}
