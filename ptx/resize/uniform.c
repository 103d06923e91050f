/*
 * uniform.c - which values and which ways are the same for all threads of a block, or of a warp.
 *
 * A forward fixed point over three steps, block < warp < lane: a result is as different as its operands, as what guards
 * it, and as the branches that decide whether its place is reached. Everything begins as the same for the block and only
 * goes up, so that it ends. What is said of %tid.x and warps holds for blocks of one row, or of rows of whole warps:
 * facts->launch.warp_rows.
 */
#include "ptx/resize/analysis.h"

enum copy { UNSEEN, TID_X, OTHER }; /* is a register nothing but %tid.x? */

struct state {
	struct gsb_resize_flow *f;
	struct gsb_resize_queue q;
	uint8_t *reg, *block; /* enum gsb_resize_same */
	uint8_t *copy;	      /* enum copy, by register */
	/* of the instruction at hand */
	uint8_t level, defined, as;
	uint32_t at;
};

static uint8_t max(uint8_t a, uint8_t b)
{
	return a > b ? a : b;
}

static void on_use(void *ctx, uint32_t reg)
{
	struct state *s = ctx;

	s->level = max(s->level, s->reg[reg]);
}

static uint8_t sreg_level(const struct gsb_ptx_operand *o)
{
	switch (o->sreg) {
	case GSB_PTX_SREG_TID:
		return o->axis == 0   ? GSB_RESIZE_LANE
		       : o->axis == 3 ? GSB_RESIZE_BLOCK
				      : GSB_RESIZE_WARP;
	case GSB_PTX_SREG_NTID:
	case GSB_PTX_SREG_CTAID:
	case GSB_PTX_SREG_NCTAID:
	case GSB_PTX_SREG_ENVREG:
	case GSB_PTX_SREG_DYNAMIC_SMEM_SIZE: return GSB_RESIZE_BLOCK;
	default: return GSB_RESIZE_LANE;
	}
}

/* Of one register, special or not, or of a constant; @reg: levels by register. */
static uint8_t operand_level(const uint8_t *reg, const struct gsb_ptx_operand *o)
{
	if (o->kind == GSB_PTX_OPERAND_REG)
		return reg[o->reg];
	return o->kind == GSB_PTX_OPERAND_SREG ? sreg_level(o) : GSB_RESIZE_BLOCK;
}

static uint8_t operands_level(struct state *s, const struct gsb_ptx_insn *in)
{
	s->level = GSB_RESIZE_BLOCK;
	gsb_resize_each_use(s->f, in, on_use, s);
	for (uint32_t i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_SREG)
			s->level = max(s->level, sreg_level(&in->operands[i]));
	return s->level;
}

/* ---- %tid.x of whole warps ---- */

static bool is_tid(const struct state *s, const struct gsb_ptx_operand *o)
{
	return o->kind == GSB_PTX_OPERAND_REG && s->copy[o->reg] == TID_X;
}

/* tid.x < 32n, or the like: all of a warp or none. */
static bool compares_warps(const struct gsb_ptx_insn *in)
{
	int64_t n;

	if (!gsb_resize_is_imm(&in->operands[2], &n) || n < 0 || n > INT32_MAX ||
	    in->n_operands != 3)
		return false;
	switch (in->cmp) {
	case GSB_PTX_CMP_LT:
	case GSB_PTX_CMP_GE:
	case GSB_PTX_CMP_LO:
	case GSB_PTX_CMP_HS: return n % 32 == 0;
	case GSB_PTX_CMP_GT:
	case GSB_PTX_CMP_LE:
	case GSB_PTX_CMP_HI:
	case GSB_PTX_CMP_LS: return n % 32 == 31;
	default: return false;
	}
}

static bool same_in_warp(const struct state *s, const struct gsb_ptx_insn *in)
{
	int64_t n;

	if (in->n_operands < 3 || in->guard != GSB_PTX_NONE || !is_tid(s, &in->operands[1]))
		return false;
	if (in->op == GSB_PTX_OP_SETP)
		return compares_warps(in);
	if (!gsb_resize_is_imm(&in->operands[2], &n))
		return false;
	switch (in->op) {
	case GSB_PTX_OP_SHR: return n >= 5;
	case GSB_PTX_OP_DIV: return n > 0 && n % 32 == 0;
	case GSB_PTX_OP_AND: return !(n & 31);
	default: return false;
	}
}

static bool copies(const struct gsb_ptx_insn *in)
{
	return in->guard == GSB_PTX_NONE && in->n_operands == 2 &&
	       (in->op == GSB_PTX_OP_MOV ||
		(in->op == GSB_PTX_OP_CVT && !gsb_ptx_type_is_float(in->type[0]) &&
		 !gsb_ptx_type_is_float(in->type[1]) && gsb_ptx_type_bytes(in->type[0]) >= 4 &&
		 gsb_ptx_type_bytes(in->type[1]) >= 4));
}

static uint8_t copy_of(const struct state *s, const struct gsb_ptx_insn *in)
{
	const struct gsb_ptx_operand *o = &in->operands[1];

	if (!copies(in) || in->operands[0].kind != GSB_PTX_OPERAND_REG)
		return OTHER;
	if (o->kind == GSB_PTX_OPERAND_SREG)
		return o->sreg == GSB_PTX_SREG_TID && o->axis == 0 ? TID_X : OTHER;
	return o->kind == GSB_PTX_OPERAND_REG ? s->copy[o->reg] : OTHER;
}

/* ---- instructions ---- */

static uint8_t load_level(const struct state *s, const struct gsb_ptx_insn *in, uint8_t operands)
{
	bool same = gsb_resize_reads_parameter(s->f, in) ||
		    (in->op == GSB_PTX_OP_LD && in->space == GSB_PTX_SPACE_CONST);

	return same ? operands : GSB_RESIZE_LANE;
}

/*
 * What all lanes that take part get alike; nobody promises that lanes which may run together do, so activemask is not among
 * them. shfl.idx of one lane, over the whole warp, is a broadcast.
 */
static bool is_broadcast(const struct gsb_ptx_insn *in)
{
	int64_t clamp;

	switch (in->op) {
	case GSB_PTX_OP_VOTE:
	case GSB_PTX_OP_REDUX: return true;
	case GSB_PTX_OP_MATCH: return in->mode == GSB_PTX_MODE_ALL;
	case GSB_PTX_OP_SHFL:
		return in->mode == GSB_PTX_MODE_IDX &&
		       gsb_resize_is_imm(&in->operands[3], &clamp) && clamp == 31;
	default: return false;
	}
}

/* The operands that have to be alike for that: which lane, and which lanes. */
static uint8_t broadcast_level(const struct state *s, const struct gsb_ptx_insn *in)
{
	uint8_t level = GSB_RESIZE_WARP;
	uint32_t first = in->op == GSB_PTX_OP_SHFL ? 2 : in->n_operands - 1;

	for (uint32_t i = first; i < in->n_operands; i++)
		level = max(level, operand_level(s->reg, &in->operands[i]));
	if (in->guard != GSB_PTX_NONE)
		level = max(level, s->reg[in->guard]);
	return level;
}

static bool reduces_block(const struct gsb_ptx_insn *in)
{
	return (in->op == GSB_PTX_OP_BAR_RED || in->op == GSB_PTX_OP_BARRIER_RED) &&
	       in->n_operands == 3; /* without a count: all threads */
}

static uint8_t result_level(struct state *s, const struct gsb_ptx_insn *in)
{
	uint8_t level = operands_level(s, in);

	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_ALU:
	case GSB_PTX_CLASS_CMP:
	case GSB_PTX_CLASS_CVT: return same_in_warp(s, in) ? GSB_RESIZE_WARP : level;
	case GSB_PTX_CLASS_MOV:
		return in->op == GSB_PTX_OP_MOV || in->op == GSB_PTX_OP_CVTA ? level
									     : GSB_RESIZE_LANE;
	case GSB_PTX_CLASS_MEM: return load_level(s, in, level);
	case GSB_PTX_CLASS_WARP: return is_broadcast(in) ? broadcast_level(s, in) : GSB_RESIZE_LANE;
	case GSB_PTX_CLASS_BARRIER:
		return !reduces_block(in)	   ? GSB_RESIZE_LANE
		       : in->guard == GSB_PTX_NONE ? GSB_RESIZE_BLOCK
						   : s->reg[in->guard];
	default: return GSB_RESIZE_LANE;
	}
}

static void on_def(void *ctx, uint32_t reg)
{
	struct state *s = ctx;
	uint8_t copy = s->copy[reg];

	if (copy == UNSEEN)
		copy = s->as;
	else if (s->as != UNSEEN && s->as != copy)
		copy = OTHER;
	if (s->reg[reg] >= s->defined && copy == s->copy[reg])
		return;
	s->reg[reg] = max(s->reg[reg], s->defined);
	s->copy[reg] = copy;
	gsb_resize_queue_users(&s->q, s->f, reg);
}

/* ---- control ---- */

uint8_t gsb_resize_decided_by(const struct gsb_resize_uniform *u, const struct gsb_ptx_insn *in)
{
	uint8_t level = in->guard == GSB_PTX_NONE ? GSB_RESIZE_BLOCK : u->reg[in->guard];

	if (in->op == GSB_PTX_OP_BRX_IDX)
		level = max(level, operand_level(u->reg, &in->operands[0]));
	return level;
}

static void raise_block(struct state *s, uint32_t block, uint8_t level)
{
	const struct gsb_ptx_block *b = &s->f->cfg.blocks[block];

	if (s->block[block] >= level)
		return;
	s->block[block] = level;
	gsb_resize_steps(s->f->a, b->n_insns);
	for (uint32_t i = 0; i < b->n_insns; i++)
		gsb_resize_queue_add(&s->q, b->first + i);
}

/* Once for each level that a branch rises to. */
static void spread(struct state *s, const struct gsb_ptx_insn *in, uint8_t *decided)
{
	struct gsb_resize_uniform u = {s->reg, s->block};
	uint8_t level = gsb_resize_decided_by(&u, in);
	uint32_t n;

	if (level <= *decided)
		return;
	*decided = level;
	n = gsb_resize_region(s->f, s->f->cfg.block_of[s->at]);
	for (uint32_t i = 0; i < n; i++)
		raise_block(s, s->f->region[i], level);
}

static void judge(struct state *s, uint8_t *decided)
{
	const struct gsb_ptx_insn *in = &s->f->func->insns[s->at];

	if (gsb_resize_is_branch(in)) {
		spread(s, in, &decided[s->f->cfg.block_of[s->at]]);
		return;
	}
	s->defined = max(result_level(s, in), s->block[s->f->cfg.block_of[s->at]]);
	s->as = copy_of(s, in);
	gsb_resize_each_def(s->f, in, on_def, s);
}

/* Nobody in a called function writes the arguments that come in registers. */
static void receive_arguments(struct state *s)
{
	const struct gsb_ptx_func *f = s->f->func;

	for (uint32_t i = 0; i < f->n_params; i++) {
		if (f->params[i].reg == GSB_PTX_NONE)
			continue;
		s->reg[f->params[i].reg] = GSB_RESIZE_LANE;
		s->copy[f->params[i].reg] = OTHER;
	}
}

bool gsb_resize_uniform_build(struct gsb_resize_flow *f, struct gsb_resize_uniform *out)
{
	struct state s = {.f = f};
	uint8_t *decided = gsb_resize_alloc(f->a, f->cfg.n_blocks, 1);

	s.reg = gsb_resize_alloc(f->a, f->n_regs, 1);
	s.copy = gsb_resize_alloc(f->a, f->n_regs, 1);
	s.block = gsb_resize_alloc(f->a, f->cfg.n_blocks, 1);
	if (f->a->err || !gsb_resize_queue_init(f->a, &s.q, f))
		return false;
	receive_arguments(&s);
	while ((s.at = gsb_resize_queue_take(&s.q)) != GSB_PTX_NONE) {
		judge(&s, decided);
		if (!gsb_resize_steps(f->a, 1))
			return false;
	}
	*out = (struct gsb_resize_uniform){s.reg, s.block};
	return true;
}
