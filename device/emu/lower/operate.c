/*
 * operate.c - lowering of one instruction: operands become rows, the form comes from select.c. What
 * touches memory or waits is in access.c.
 */
#include "device/emu/lower/operate.h"

#include <string.h>

#include "device/emu/lower/access.h"
#include "device/emu/lower/async.h"
#include "device/emu/lower/matrix.h"
#include "device/emu/lower/operand.h"
#include "device/emu/lower/rows.h"
#include "device/emu/lower/select.h"
#include "device/emu/lower/stack.h"
#include "device/emu/lower/texture.h"
#include "device/emu/lower/video.h"
#include "device/emu/memory/address.h"

/* ---- arithmetic ---- */

static void lower_table(struct gsb_emu_lowering *l, const struct gsb_ptx_insn *in)
{
	uint64_t key;
	const struct gsb_emu_form_row *row = gsb_emu_select(in, &key);
	uint32_t src[4] = {0}, d;
	struct gsb_emu_op *op;

	if (!row || in->n_operands < row->n_src + 1) {
		gsb_emu_not_carried(l);
		return;
	}
	for (unsigned int i = 0; i < row->n_src; i++)
		src[i] = gsb_emu_src(l, &in->operands[i + 1], row->src[i]);
	d = gsb_emu_dest(l, &in->operands[0], row->d);
	op = gsb_emu_emit(l, row->form, true);
	op->d = d;
	op->a = src[0];
	op->b = src[1];
	op->c = src[2];
	op->e = src[3];
	op->imm = (int64_t)key;
}

static void combine(struct gsb_emu_lowering *l, uint32_t p, uint32_t q, unsigned int nth);

/* The second result: that the first is not zero, combined with the predicate at the end. */
static void lower_lop3_predicate(struct gsb_emu_lowering *l, uint32_t row)
{
	uint32_t zero = gsb_emu_const_row(l, 0, 4);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_SETP_NE_u32, false);

	op->d = GSB_EMU_SCRATCH_PRED;
	op->a = row;
	op->b = zero;
	combine(l, gsb_emu_dest_second(l, &l->insn->operands[0]), GSB_EMU_SCRATCH_PRED + 8, 5);
}

/* The table is an immediate, the same for all lanes: it goes where other forms have their key. */
static void lower_lop3(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_operand *table = &l->insn->operands[4];

	if (table->kind != GSB_PTX_OPERAND_IMM) {
		gsb_emu_not_carried(l);
		return;
	}
	lower_table(l, l->insn);
	if (l->err)
		return;
	l->ops[l->n_ops - 1].imm = table->imm & 0xff;
	if (l->insn->sub)
		lower_lop3_predicate(l, l->ops[l->n_ops - 1].d);
}

static void lower_selp(struct gsb_emu_lowering *l)
{
	struct gsb_ptx_operand o[4];
	struct gsb_ptx_insn in = *l->insn;

	memcpy(o, in.operands, sizeof(o));
	in.operands = o;
	if (o[3].negated) {
		struct gsb_ptx_operand first = o[1];

		o[1] = o[2];
		o[2] = first;
	}
	lower_table(l, &in);
}

/* A row of 4-byte lanes shifted down to its upper halves. */
static uint32_t upper_half_row(struct gsb_emu_lowering *l, uint32_t row)
{
	uint32_t by = gsb_emu_const_row(l, 16, 4), to = gsb_emu_temp_row(l);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_SHR_U32, false);

	op->d = to;
	op->a = row;
	op->b = by;
	return to;
}

/* A comparison into the scratch predicate, or straight into @d; @upper: of the upper halves of pairs. */
static void compare(struct gsb_emu_lowering *l, enum gsb_ptx_type type, uint32_t d, bool upper)
{
	struct gsb_ptx_insn in = *l->insn;
	const struct gsb_emu_form_row *row;
	struct gsb_emu_op *op;
	uint64_t key;
	uint32_t a, b;

	in.op = GSB_PTX_OP_SETP;
	in.type[0] = in.type[1] = (uint8_t)type;
	row = gsb_emu_select(&in, &key);
	if (!row) {
		gsb_emu_not_carried(l);
		return;
	}
	a = gsb_emu_src(l, &in.operands[1], row->src[0]);
	b = gsb_emu_src(l, &in.operands[2], row->src[1]);
	if (upper) {
		a = upper_half_row(l, a);
		b = upper_half_row(l, b);
	}
	op = gsb_emu_emit(l, row->form, true);
	op->d = d;
	op->a = a;
	op->b = b;
}

/* With the predicate that is operand @nth, if the instruction says how. */
static void combine(struct gsb_emu_lowering *l, uint32_t p, uint32_t q, unsigned int nth)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint8_t flags = 0;
	uint32_t c = in->sub && in->n_operands > nth
			     ? gsb_emu_src_predicate(l, &in->operands[nth], &flags)
			     : GSB_EMU_SCRATCH_PRED;
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_PRED_PAIR, false);

	op->d = p;
	op->e = q;
	op->a = GSB_EMU_SCRATCH_PRED;
	op->c = c;
	op->n = in->sub;
	op->flags |= flags;
}

/* Of a pair: what is compared as single ones; NONE for other types. */
static enum gsb_ptx_type half_of(enum gsb_ptx_type type)
{
	switch (type) {
	case GSB_PTX_TYPE_F16X2: return GSB_PTX_TYPE_F16;
	case GSB_PTX_TYPE_BF16X2: return GSB_PTX_TYPE_BF16;
	default: return GSB_PTX_TYPE_NONE;
	}
}

/* Where the two comparisons of a pair end before they are told to anybody: a result may be the operand c. */
#define PAIR_LOW  (GSB_EMU_SCRATCH_PRED + 8)
#define PAIR_HIGH (GSB_EMU_SCRATCH_PRED + 12)

static void compare_pair(struct gsb_emu_lowering *l, enum gsb_ptx_type half)
{
	compare(l, half, GSB_EMU_SCRATCH_PRED, false);
	combine(l, PAIR_LOW, GSB_EMU_SCRATCH_PRED + 4, 3);
	compare(l, half, GSB_EMU_SCRATCH_PRED, true);
	combine(l, PAIR_HIGH, GSB_EMU_SCRATCH_PRED + 4, 3);
}

static void copy_predicate(struct gsb_emu_lowering *l, uint32_t to, uint32_t from)
{
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_PRED_MOV, false);

	op->d = to;
	op->a = from;
}

static void lower_setp(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t p = gsb_emu_dest(l, &in->operands[0], 0);

	if (half_of(in->type[0])) {
		compare_pair(l, half_of(in->type[0]));
		copy_predicate(l, p, PAIR_LOW);
		copy_predicate(l, gsb_emu_dest_second(l, &in->operands[0]), PAIR_HIGH);
		return;
	}
	if (!in->sub && in->operands[0].kind != GSB_PTX_OPERAND_PAIR) {
		compare(l, in->type[0], p, false);
		return;
	}
	compare(l, in->type[0], GSB_EMU_SCRATCH_PRED, false);
	combine(l, p, gsb_emu_dest_second(l, &in->operands[0]), 3);
}

/* All ones or one for each half of the result. */
static void lower_set_pair(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t d = gsb_emu_dest(l, &in->operands[0], 4);
	struct gsb_emu_op *op;

	compare_pair(l, half_of(in->type[1]));
	op = gsb_emu_emit(l, GSB_EMU_FORM_SET_PAIR, false);
	op->d = d;
	op->a = PAIR_LOW;
	op->b = PAIR_HIGH;
	op->imm = in->type[0] == GSB_PTX_TYPE_F16X2    ? 0x3c00
		  : in->type[0] == GSB_PTX_TYPE_BF16X2 ? 0x3f80
						       : 0xffff;
}

static void lower_set(struct gsb_emu_lowering *l)
{
	const struct gsb_emu_form_row *row;
	struct gsb_emu_op *op;
	uint64_t key;
	uint32_t d;

	if (half_of(l->insn->type[1])) {
		lower_set_pair(l);
		return;
	}
	d = gsb_emu_dest(l, &l->insn->operands[0], 4);
	compare(l, l->insn->type[1], GSB_EMU_SCRATCH_PRED, false);
	if (l->insn->sub)
		combine(l, GSB_EMU_SCRATCH_PRED, GSB_EMU_SCRATCH_PRED + 4, 3);
	row = gsb_emu_select(l->insn, &key);
	if (!row) {
		gsb_emu_not_carried(l);
		return;
	}
	op = gsb_emu_emit(l, row->form, false);
	op->d = d;
	op->a = GSB_EMU_SCRATCH_PRED;
}

/* and, or, xor, not, mov of predicates */
static void lower_predicate(struct gsb_emu_lowering *l)
{
	static const struct {
		uint16_t op, form;
		bool negated;
	} forms[] = {
		{GSB_PTX_OP_AND, GSB_EMU_FORM_PRED_AND, false},
		{GSB_PTX_OP_OR, GSB_EMU_FORM_PRED_OR, false},
		{GSB_PTX_OP_XOR, GSB_EMU_FORM_PRED_XOR, false},
		{GSB_PTX_OP_NOT, GSB_EMU_FORM_PRED_MOV, true},
		{GSB_PTX_OP_MOV, GSB_EMU_FORM_PRED_MOV, false},
	};
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t a = gsb_emu_src(l, &in->operands[1], 0);
	uint32_t b = in->n_operands > 2 ? gsb_emu_src(l, &in->operands[2], 0) : 0;
	struct gsb_emu_op *op;

	for (size_t i = 0; i < GSB_ARRAY_LEN(forms); i++) {
		if (forms[i].op != in->op)
			continue;
		op = gsb_emu_emit(l, forms[i].form, true);
		op->d = gsb_emu_dest(l, &in->operands[0], 0);
		op->a = a;
		op->b = b;
		op->flags |= forms[i].negated ? GSB_EMU_F_NEGATED : 0;
		return;
	}
	gsb_emu_not_carried(l);
}

/* ---- moves ---- */

static void lower_vector_mov(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_operand *to = &l->insn->operands[0], *from = &l->insn->operands[1];
	uint32_t whole = gsb_ptx_type_bytes(l->insn->type[0]);
	uint32_t lane = gsb_emu_lane_bytes(l->insn->type[0]), list, row, part;
	bool unpack = to->kind == GSB_PTX_OPERAND_VEC;
	struct gsb_emu_op *op;

	part = whole / (unpack ? to->n : from->n);
	list = gsb_emu_vector_rows(l, unpack ? to : from, part > 4 ? 8 : 4, unpack);
	row = unpack ? gsb_emu_src(l, from, lane) : gsb_emu_dest(l, to, lane);
	op = gsb_emu_emit(l, unpack ? GSB_EMU_FORM_UNPACK : GSB_EMU_FORM_PACK, true);
	op->n = unpack ? to->n : from->n;
	op->d = unpack ? list : row;
	op->a = unpack ? row : list;
	op->e = part;
	op->b = lane;
}

static void lower_mov(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;

	if (in->type[0] == GSB_PTX_TYPE_PRED)
		lower_predicate(l);
	else if (in->operands[0].kind == GSB_PTX_OPERAND_VEC ||
		 in->operands[1].kind == GSB_PTX_OPERAND_VEC)
		lower_vector_mov(l);
	else
		lower_table(l, in);
}

static void lower_cvta(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	bool local = in->space == GSB_PTX_SPACE_LOCAL;
	bool window =
		local || in->space == GSB_PTX_SPACE_SHARED || in->space == GSB_PTX_SPACE_CLUSTER;
	uint32_t bytes = gsb_emu_lane_bytes(in->type[0]);
	uint32_t a = gsb_emu_src(l, &in->operands[1], bytes),
		 d = gsb_emu_dest(l, &in->operands[0], bytes);
	unsigned int form = bytes == 8 ? GSB_EMU_FORM_MOV_64 : GSB_EMU_FORM_MOV_32;
	struct gsb_emu_op *op = gsb_emu_emit(l, window ? GSB_EMU_FORM_TO_GENERIC : form, true);

	op->d = d;
	op->a = a;
	op->flags |= bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
	if (window && !(in->flags & GSB_PTX_F_TO))
		op->imm = (int64_t)(local ? GSB_EMU_LOCAL_WINDOW : GSB_EMU_SHARED_WINDOW);
}

/* The address of the same place in another block of the cluster, and whose place an address is. */
static void lower_mapa(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t bytes = gsb_emu_lane_bytes(in->type[0]);
	uint32_t a = gsb_emu_src(l, &in->operands[1], bytes),
		 b = gsb_emu_src(l, &in->operands[2], 4),
		 d = gsb_emu_dest(l, &in->operands[0], bytes);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_MAPA, true);

	op->d = d;
	op->a = a;
	op->b = b;
	op->flags |= bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
}

static void lower_getctarank(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t bytes = gsb_emu_lane_bytes(in->type[0]);
	uint32_t a = gsb_emu_src(l, &in->operands[1], bytes),
		 d = gsb_emu_dest(l, &in->operands[0], 4);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_CTARANK, true);

	op->d = d;
	op->a = a;
	op->flags |= bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
}

static void lower_constant(struct gsb_emu_lowering *l, uint64_t value, uint32_t bytes)
{
	uint32_t a = gsb_emu_const_row(l, value, bytes),
		 d = gsb_emu_dest(l, &l->insn->operands[0], bytes);
	struct gsb_emu_op *op =
		gsb_emu_emit(l, bytes == 8 ? GSB_EMU_FORM_MOV_64 : GSB_EMU_FORM_MOV_32, true);

	op->d = d;
	op->a = a;
}

static void lower_isspacep(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_operand *o = l->insn->operands;
	uint32_t bytes = o[1].kind == GSB_PTX_OPERAND_REG ? gsb_emu_reg_bytes(l, o[1].reg) : 8;
	uint32_t a = gsb_emu_src(l, &o[1], bytes);
	struct gsb_emu_op *op = gsb_emu_emit(l, GSB_EMU_FORM_IS_SPACE, true);

	op->d = gsb_emu_dest(l, &o[0], 0);
	op->a = a;
	op->n = l->insn->space;
	op->flags |= bytes == 8 ? GSB_EMU_F_ADDR64 : 0;
}

/* ---- the instruction ---- */

/* A cache policy is a hint that only loads and stores read, and they read none here. */
#define CACHE_POLICY (UINT64_C(1) << 60)

#define TENSOR_MAP_BYTES 128

static void lower_simple(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	uint32_t row;

	switch (in->op) {
	case GSB_PTX_OP_ACTIVEMASK:
		row = gsb_emu_dest(l, &in->operands[0], 4);
		gsb_emu_emit(l, GSB_EMU_FORM_ACTIVEMASK, true)->d = row;
		break;
	case GSB_PTX_OP_BAR_WARP_SYNC:
		row = gsb_emu_src(l, &in->operands[0], 4);
		gsb_emu_emit(l, GSB_EMU_FORM_BAR_WARP, true)->b = row;
		break;
	case GSB_PTX_OP_NANOSLEEP:
		row = gsb_emu_src(l, &in->operands[0], 4);
		gsb_emu_emit(l, GSB_EMU_FORM_NANOSLEEP, true)->a = row;
		break;
	case GSB_PTX_OP_MEMBAR:
	case GSB_PTX_OP_FENCE_RESTRICT:
	case GSB_PTX_OP_FENCE_ALIAS:
	case GSB_PTX_OP_FENCE_TENSORMAP:
	case GSB_PTX_OP_FENCE: gsb_emu_emit(l, GSB_EMU_FORM_FENCE, true); break;
	case GSB_PTX_OP_FENCE_TENSORMAP_AT:
		if (in->operands[1].imm != TENSOR_MAP_BYTES)
			gsb_emu_not_carried(l);
		else
			gsb_emu_emit(l, GSB_EMU_FORM_FENCE, true);
		break;
	default: gsb_emu_emit(l, GSB_EMU_FORM_NOP, true); break;
	}
}

static void lower_by_op(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;

	switch (in->op) {
	case GSB_PTX_OP_SETP: lower_setp(l); break;
	case GSB_PTX_OP_SET: lower_set(l); break;
	case GSB_PTX_OP_SELP: lower_selp(l); break;
	case GSB_PTX_OP_LOP3: lower_lop3(l); break;
	case GSB_PTX_OP_MOV: lower_mov(l); break;
	case GSB_PTX_OP_CVTA: lower_cvta(l); break;
	case GSB_PTX_OP_ISSPACEP: lower_isspacep(l); break;
	case GSB_PTX_OP_LD:
	case GSB_PTX_OP_LDU: gsb_emu_lower_access(l, false); break;
	case GSB_PTX_OP_ST: gsb_emu_lower_access(l, true); break;
	case GSB_PTX_OP_ATOM: gsb_emu_lower_atom(l, true); break;
	case GSB_PTX_OP_RED: gsb_emu_lower_atom(l, false); break;
	case GSB_PTX_OP_SHFL: gsb_emu_lower_shfl(l); break;
	case GSB_PTX_OP_VOTE: gsb_emu_lower_vote(l); break;
	case GSB_PTX_OP_MATCH: gsb_emu_lower_members(l, GSB_EMU_FORM_MATCH); break;
	case GSB_PTX_OP_REDUX: gsb_emu_lower_members(l, GSB_EMU_FORM_REDUX); break;
	case GSB_PTX_OP_ELECT: gsb_emu_lower_members(l, GSB_EMU_FORM_ELECT); break;
	case GSB_PTX_OP_ALLOCA:
	case GSB_PTX_OP_STACKSAVE:
	case GSB_PTX_OP_STACKRESTORE: gsb_emu_lower_stack(l); break;
	case GSB_PTX_OP_PREFETCH:
	case GSB_PTX_OP_PREFETCHU:
	case GSB_PTX_OP_PREFETCH_TENSORMAP:
	case GSB_PTX_OP_DISCARD: /* what lies there may be anything from now on, so also what it was */
	case GSB_PTX_OP_APPLYPRIORITY: lower_simple(l); break;
	case GSB_PTX_OP_CREATEPOLICY_FRACTIONAL:
	case GSB_PTX_OP_CREATEPOLICY_RANGE:
	case GSB_PTX_OP_CREATEPOLICY_CVT: lower_constant(l, CACHE_POLICY, 8); break;
	case GSB_PTX_OP_MAPA: lower_mapa(l); break;
	case GSB_PTX_OP_GETCTARANK: lower_getctarank(l); break;
	default:
		if (gsb_emu_is_video(in))
			gsb_emu_lower_video(l);
		else
			lower_table(l, in);
		break;
	}
}

void gsb_emu_lower_operation(struct gsb_emu_lowering *l)
{
	const struct gsb_ptx_insn *in = l->insn;
	struct gsb_emu_op *op;

	l->post_form = 0;
	l->used_temps = 0;
	if (in->type[0] == GSB_PTX_TYPE_PRED && gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_ALU)
		lower_predicate(l);
	else if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_TEX)
		gsb_emu_lower_texture(l);
	else if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_BARRIER)
		gsb_emu_lower_barrier(l);
	else if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_ASYNC &&
		 in->op != GSB_PTX_OP_MBAR_PENDING)
		gsb_emu_lower_async(l);
	else if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_MATRIX)
		gsb_emu_lower_matrix(l);
	else if (in->op == GSB_PTX_OP_ACTIVEMASK || in->op == GSB_PTX_OP_BAR_WARP_SYNC ||
		 gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_FENCE ||
		 gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_MISC)
		lower_simple(l);
	else
		lower_by_op(l);
	if (!l->post_form)
		return;
	op = gsb_emu_emit(l, l->post_form, false);
	op->d = l->post_d;
	op->a = l->post_a;
}
