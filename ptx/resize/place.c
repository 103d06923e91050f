/*
 * place.c - see place.h.
 *
 * What one writer alone brings to an instruction is computed once, from parameters and places on. A register that several
 * bring stands for itself, as PHI, until somebody asks: then the writers that add to it something that does not differ are its
 * steps, and all others have to say the same, where it begins, but for something that does not differ. What a step has added is told in LOOP while its loop goes round the access, in
 * PASSED behind it. Without steps it is what the writers say, as it stands where somebody asks.
 */
#include "ptx/resize/place.h"

#include <string.h>

#define REPLACED_MOST 16 /* PHIs in one address */
#define STEPS_MOST    4	 /* of one PHI */
#define BITS_MOST     9	 /* of tid.x that are told apart */

#define MANY (GSB_PTX_NONE - 1)

struct gsb_phi {
	enum { UNSEEN, UNKNOWN, WALKS } state;
	const struct gsb_poly *first; /* where it begins */
	uint32_t first_at;	      /* an instruction that says so */
	bool anywhere;		      /* there, or apart from it by what does not differ */
	uint32_t n_steps, adds[STEPS_MOST];
	const struct gsb_poly *step[STEPS_MOST];
};

struct gsb_place_register {
	uint32_t *writer; /* by block, of several: who brings it there; NONE, MANY */
	const struct gsb_poly *self;
	struct gsb_phi phi;
};

static const struct gsb_poly *keep(struct gsb_places *p, const struct gsb_poly *x)
{
	struct gsb_poly *kept = NULL;

	if (gsb_resize_steps(p->f->a, GSB_POLY_MOST_TERMS))
		kept = gsb_resize_alloc(p->f->a, 1, sizeof(*kept));
	if (kept)
		*kept = *x;
	return kept;
}

static bool differs(const struct gsb_poly *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		for (int k = 0; k < GSB_POLY_MOST_SYMBOLS; k++)
			if (gsb_place_kind(x->terms[i].symbols[k]) >= GSB_PLACE_PHI)
				return true;
	return false;
}

/* ---- operands ---- */

static bool sreg_value(const struct gsb_ptx_operand *o, struct gsb_poly *out)
{
	uint32_t symbol;

	if (o->sreg == GSB_PTX_SREG_LANEID) {
		*out = gsb_poly_symbol(gsb_place(GSB_PLACE_LOW, 5));
		return true;
	}
	switch (o->sreg) {
	case GSB_PTX_SREG_TID: symbol = gsb_place(GSB_PLACE_TID, o->axis); break;
	case GSB_PTX_SREG_CTAID: symbol = gsb_place(GSB_PLACE_CTAID, o->axis); break;
	case GSB_PTX_SREG_NTID: symbol = gsb_place(GSB_PLACE_NTID, o->axis); break;
	case GSB_PTX_SREG_NCTAID: symbol = gsb_place(GSB_PLACE_NCTAID, o->axis); break;
	default: return false;
	}
	*out = gsb_poly_symbol(symbol);
	return o->axis < 3;
}

/* The writer that brings a register to the instruction at hand; MANY, NONE. */
static uint32_t writer_of(const struct gsb_places *p, uint32_t reg)
{
	const struct gsb_resize_flow *f = p->f;
	const uint32_t block = f->cfg.block_of[p->at];
	uint32_t last = GSB_PTX_NONE;

	if (f->writer_at[reg + 1] - f->writer_at[reg] == 1)
		return f->writers[f->writer_at[reg]];
	for (uint32_t i = f->writer_at[reg]; i < f->writer_at[reg + 1]; i++)
		if (f->writers[i] < p->at && f->cfg.block_of[f->writers[i]] == block)
			last = f->writers[i];
	if (last == GSB_PTX_NONE)
		return p->regs[reg].writer ? p->regs[reg].writer[block] : GSB_PTX_NONE;
	return f->func->insns[last].guard == GSB_PTX_NONE ? last : MANY;
}

/* NULL: not known. */
static const struct gsb_poly *register_value(const struct gsb_places *p, uint32_t reg)
{
	const uint32_t writer = writer_of(p, reg);

	if (writer == MANY)
		return p->regs[reg].self;
	return writer == GSB_PTX_NONE ? NULL : p->writes[writer];
}

static bool value_of(const struct gsb_places *p, const struct gsb_ptx_operand *o,
		     struct gsb_poly *out)
{
	const struct gsb_poly *v;
	int64_t is;

	switch (o->kind) {
	case GSB_PTX_OPERAND_REG:
		v = o->part ? NULL : register_value(p, o->reg);
		if (v)
			*out = *v;
		return v;
	case GSB_PTX_OPERAND_SREG: return sreg_value(o, out);
	case GSB_PTX_OPERAND_IMM:
		*out = gsb_poly_constant(o->imm);
		return gsb_resize_is_imm(o, &is);
	case GSB_PTX_OPERAND_VAR:
	case GSB_PTX_OPERAND_ADDR:
		*out = gsb_poly_constant(o->imm);
		if (o->var) {
			const struct gsb_poly at =
				gsb_poly_symbol(gsb_place(GSB_PLACE_VAR, o->var->index));

			gsb_poly_add(out, &at, 1);
		}
		if (o->reg == GSB_PTX_NONE || o->kind != GSB_PTX_OPERAND_ADDR)
			return true;
		v = register_value(p, o->reg);
		return v && gsb_poly_add(out, v, 1);
	default: return false;
	}
}

/* ---- arithmetic ---- */

static bool add(const struct gsb_places *p, const struct gsb_ptx_insn *in, uint32_t at, int sign,
		struct gsb_poly *out)
{
	struct gsb_poly b;

	return value_of(p, &in->operands[at], &b) && gsb_poly_add(out, &b, sign);
}

static bool sum(const struct gsb_places *p, const struct gsb_ptx_insn *in, int sign,
		struct gsb_poly *out)
{
	return value_of(p, &in->operands[1], out) && add(p, in, 2, sign, out);
}

/* -1 - x */
static bool complement(const struct gsb_places *p, const struct gsb_ptx_insn *in,
		       struct gsb_poly *out)
{
	*out = gsb_poly_constant(-1);
	return add(p, in, 1, -1, out);
}

static bool product(const struct gsb_places *p, const struct gsb_ptx_insn *in, struct gsb_poly *out)
{
	struct gsb_poly a, b;

	return (in->mul == GSB_PTX_MUL_LO || in->mul == GSB_PTX_MUL_WIDE) &&
	       value_of(p, &in->operands[1], &a) && value_of(p, &in->operands[2], &b) &&
	       gsb_poly_multiply(&a, &b, out);
}

/* The power of two that a constant operand is. */
static bool bits_of(const struct gsb_ptx_operand *o, bool is_shift, int64_t add, int64_t *bits)
{
	int64_t n;

	if (!gsb_resize_is_imm(o, &n))
		return false;
	if (is_shift) {
		*bits = n;
		return n >= 0 && n < 62;
	}
	n += add;
	*bits = n > 0 ? __builtin_ctzll((uint64_t)n) : 0;
	return n > 0 && !(n & (n - 1));
}

static bool shift_left(const struct gsb_places *p, const struct gsb_ptx_insn *in,
		       struct gsb_poly *out)
{
	struct gsb_poly v, by;
	int64_t bits;

	if (!bits_of(&in->operands[2], true, 0, &bits) || !value_of(p, &in->operands[1], &v))
		return false;
	by = gsb_poly_constant((int64_t)1 << bits);
	return gsb_poly_multiply(&v, &by, out);
}

static bool is_tid(const struct gsb_poly *v)
{
	const struct gsb_poly tid = gsb_poly_symbol(gsb_place(GSB_PLACE_TID, 0));

	return gsb_poly_is_equal(v, &tid);
}

/* tid.x & 31, % 32; >> 5, / 32. */
static bool part_of_tid(const struct gsb_places *p, const struct gsb_ptx_insn *in, bool low,
			struct gsb_poly *out)
{
	struct gsb_poly v;
	int64_t bits;

	if (!value_of(p, &in->operands[1], &v) || !is_tid(&v) ||
	    !bits_of(&in->operands[2], in->op == GSB_PTX_OP_SHR, in->op == GSB_PTX_OP_AND, &bits) ||
	    !bits || bits > BITS_MOST)
		return false;
	*out = gsb_poly_symbol(gsb_place(low ? GSB_PLACE_LOW : GSB_PLACE_HIGH, (uint32_t)bits));
	return true;
}

/* The power of two that a value stays below; 0: not known. Blocks have whole warps, as far as compilers are asked. */
static int64_t lies_below(const struct gsb_poly *v)
{
	const uint32_t symbol = v->n == 1 ? v->terms[0].symbols[0] : 0;
	int64_t is, power = 1;

	if (gsb_poly_is_constant(v, &is)) {
		while (is >= 0 && power <= is && power < INT32_MAX)
			power *= 2;
		return power > is && is >= 0 ? power : 0;
	}
	if (v->n != 1 || v->terms[0].times != 1 || v->terms[0].symbols[1])
		return 0;
	if (gsb_place_kind(symbol) == GSB_PLACE_LOW)
		return (int64_t)1 << gsb_place_number(symbol);
	return gsb_place_kind(symbol) == GSB_PLACE_TID ? 32 : 0;
}

/* No bit of one is a bit of the other: then "or" is a sum, which compilers make of sums. */
static bool lies_above(const struct gsb_poly *a, const struct gsb_poly *b)
{
	const int64_t below = lies_below(b);

	for (uint32_t i = 0; below && i < a->n; i++)
		if (a->terms[i].times % below)
			return false;
	return below;
}

static bool either(const struct gsb_places *p, const struct gsb_ptx_insn *in, struct gsb_poly *out)
{
	struct gsb_poly a, b;

	if (!value_of(p, &in->operands[1], &a) || !value_of(p, &in->operands[2], &b) ||
	    (!lies_above(&a, &b) && !lies_above(&b, &a)))
		return false;
	*out = a;
	return gsb_poly_add(out, &b, 1);
}

static bool is_plain(const struct gsb_ptx_insn *in)
{
	return gsb_resize_is_wide_int(in->type[0]) &&
	       !(in->flags & (GSB_PTX_F_CC | GSB_PTX_F_SAT)) &&
	       in->operands[0].kind == GSB_PTX_OPERAND_REG;
}

static bool derive(const struct gsb_places *p, const struct gsb_ptx_insn *in, struct gsb_poly *out)
{
	switch (in->op) {
	case GSB_PTX_OP_CVT:
		if (!gsb_resize_is_wide_int(in->type[1]))
			return false;
		return value_of(p, &in->operands[1], out);
	case GSB_PTX_OP_MOV:
	case GSB_PTX_OP_CVTA: return value_of(p, &in->operands[1], out);
	case GSB_PTX_OP_NOT: return complement(p, in, out);
	case GSB_PTX_OP_ADD: return sum(p, in, 1, out);
	case GSB_PTX_OP_SUB: return sum(p, in, -1, out);
	case GSB_PTX_OP_MUL: return product(p, in, out);
	case GSB_PTX_OP_MAD: return product(p, in, out) && add(p, in, 3, 1, out);
	case GSB_PTX_OP_SHL: return shift_left(p, in, out);
	case GSB_PTX_OP_OR: return either(p, in, out);
	case GSB_PTX_OP_AND:
	case GSB_PTX_OP_REM: return part_of_tid(p, in, true, out);
	case GSB_PTX_OP_SHR:
	case GSB_PTX_OP_DIV: return part_of_tid(p, in, false, out);
	default: return false;
	}
}

/* ---- what does not differ ---- */

struct uses {
	const struct gsb_places *p;
	bool known, same;
};

static void on_use(void *ctx, uint32_t reg)
{
	struct uses *u = ctx;

	const uint32_t writer = writer_of(u->p, reg);
	const struct gsb_poly *v = register_value(u->p, reg);

	u->known &= writer == MANY || (writer != GSB_PTX_NONE && u->p->written[writer]);
	u->same &= v && !differs(v);
}

static struct uses look_at_uses(const struct gsb_places *p, const struct gsb_ptx_insn *in)
{
	struct uses u = {p, true, true};
	struct gsb_poly v;

	gsb_resize_each_use(p->f, in, on_use, &u);
	for (uint32_t i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_SREG)
			u.same &= sreg_value(&in->operands[i], &v) && !differs(&v);
	return u;
}

/* A parameter, or a value that all threads compute alike. */
static bool same_value(const struct gsb_places *p, const struct gsb_ptx_insn *in,
		       struct gsb_poly *out)
{
	enum gsb_ptx_class class = gsb_ptx_op_class(in->op);
	const struct gsb_ptx_operand *o = gsb_resize_address(in);

	if (gsb_resize_reads_parameter(p->f, in) && o->reg == GSB_PTX_NONE && o->imm >= 0) {
		*out = gsb_poly_symbol(
			gsb_place(GSB_PLACE_PARAM, (uint32_t)(o->var->offset + (uint64_t)o->imm)));
		return true;
	}
	*out = gsb_poly_symbol(gsb_place(GSB_PLACE_VALUE, p->at));
	if (class == GSB_PTX_CLASS_MEM)
		return in->op == GSB_PTX_OP_LD && !gsb_resize_is_strong(in) &&
		       in->space != GSB_PTX_SPACE_SHARED && in->space != GSB_PTX_SPACE_CLUSTER &&
		       in->space != GSB_PTX_SPACE_LOCAL;
	return class == GSB_PTX_CLASS_ALU || class == GSB_PTX_CLASS_CMP ||
	       class == GSB_PTX_CLASS_MOV || class == GSB_PTX_CLASS_CVT;
}

/* ---- registers ---- */

/* Who brings it behind the block, @in being brought to it. */
static uint32_t behind(const struct gsb_places *p, uint32_t reg, uint32_t block, uint32_t in)
{
	const struct gsb_resize_flow *f = p->f;

	for (uint32_t i = f->writer_at[reg + 1]; i-- > f->writer_at[reg];)
		if (f->cfg.block_of[f->writers[i]] == block)
			return f->func->insns[f->writers[i]].guard == GSB_PTX_NONE ? f->writers[i]
										   : MANY;
	return in;
}

static uint32_t meet(uint32_t a, uint32_t b)
{
	if (a == GSB_PTX_NONE || b == GSB_PTX_NONE)
		return a == GSB_PTX_NONE ? b : a;
	return a == b ? a : MANY;
}

static bool bring(const struct gsb_places *p, uint32_t reg, uint32_t *writer)
{
	const struct gsb_ptx_cfg *cfg = &p->f->cfg;
	bool changed = false;

	for (uint32_t i = 0; i < cfg->n_rpo; i++) {
		const uint32_t b = cfg->rpo[i];
		const uint32_t out = behind(p, reg, b, writer[b]);

		for (uint32_t k = 0; k < cfg->blocks[b].n_succ; k++) {
			const uint32_t to = cfg->blocks[b].succ[k];
			const uint32_t now = to == GSB_PTX_EXIT(cfg) ? 0 : meet(writer[to], out);

			if (to == GSB_PTX_EXIT(cfg) || now == writer[to])
				continue;
			writer[to] = now;
			changed = true;
		}
	}
	return gsb_resize_steps(p->f->a, cfg->n_rpo) && changed;
}

/* Of a register with several writers: by block, who brings it there. */
static void find_writers(struct gsb_places *p, uint32_t reg)
{
	struct gsb_place_register *r = &p->regs[reg];
	const struct gsb_poly self = gsb_poly_symbol(gsb_place(GSB_PLACE_PHI, reg));

	if (p->f->writer_at[reg + 1] - p->f->writer_at[reg] < 2)
		return;
	r->self = keep(p, &self);
	r->writer = gsb_resize_alloc(p->f->a, p->f->cfg.n_blocks, sizeof(*r->writer));
	if (!r->writer)
		return;
	memset(r->writer, 0xff, p->f->cfg.n_blocks * sizeof(*r->writer));
	while (bring(p, reg, r->writer))
		;
}

static void on_def(void *ctx, uint32_t reg)
{
	struct gsb_resize_queue *q = ((void **)ctx)[0];

	gsb_resize_queue_users(q, ((void **)ctx)[1], reg);
}

static void judge(struct gsb_places *p, struct gsb_resize_queue *q)
{
	const struct gsb_ptx_insn *in = &p->f->func->insns[p->at];
	const struct uses u = look_at_uses(p, in);
	void *ctx[] = {q, p->f};
	struct gsb_poly v;

	if (!u.known || p->written[p->at])
		return;
	if (in->n_operands && is_plain(in) &&
	    (derive(p, in, &v) || (u.same && same_value(p, in, &v))))
		p->writes[p->at] = keep(p, &v);
	p->written[p->at] = true;
	gsb_resize_each_def(p->f, in, on_def, ctx);
}

bool gsb_places_build(struct gsb_resize_flow *f, struct gsb_places *out)
{
	struct gsb_resize_analysis *a = f->a;
	struct gsb_places p = {.f = f};
	struct gsb_resize_queue q;

	p.regs = gsb_resize_alloc(a, f->n_regs, sizeof(*p.regs));
	p.writes = gsb_resize_alloc(a, f->func->n_insns, sizeof(const struct gsb_poly *));
	p.written = gsb_resize_alloc(a, f->func->n_insns, sizeof(*p.written));
	if (a->err || !gsb_resize_loops_build(f, &p.loops) || !gsb_resize_queue_init(a, &q, f))
		return false;
	for (uint32_t reg = 0; reg < f->n_regs && !a->err; reg++)
		find_writers(&p, reg);
	while ((p.at = gsb_resize_queue_take(&q)) != GSB_PTX_NONE && !a->err) {
		judge(&p, &q);
		gsb_resize_steps(a, 1);
	}
	*out = p;
	return !a->err;
}

/* ---- registers with several writers ---- */

static uint32_t block_of(const struct gsb_places *p, uint32_t insn)
{
	return p->f->cfg.block_of[insn];
}

/* What a writer adds to the register itself; false: it sets it to something else. */
static bool added(const struct gsb_poly *written, uint32_t reg, struct gsb_poly *out)
{
	const struct gsb_poly self = gsb_poly_symbol(gsb_place(GSB_PLACE_PHI, reg));

	*out = *written;
	return gsb_poly_add(out, &self, -1) && !differs(out);
}

/* At the first one or this one, which lie apart by what does not differ: nobody knows at which, and it is one for all. */
static bool begins_anywhere(struct gsb_places *p, struct gsb_phi *phi, const struct gsb_poly *w)
{
	const struct gsb_poly any = gsb_poly_symbol(gsb_place(GSB_PLACE_VALUE, phi->first_at));
	struct gsb_poly between = *w, from = *phi->first;

	if (!gsb_poly_add(&between, phi->first, -1) || differs(&between))
		return false;
	if (between.n && !phi->anywhere) {
		if (!gsb_poly_add(&from, &any, 1))
			return false;
		phi->first = keep(p, &from);
		phi->anywhere = true;
	}
	return phi->first;
}

static bool add_step_of(struct gsb_phi *phi, uint32_t adds, const struct gsb_poly *step)
{
	if (phi->n_steps == STEPS_MOST || !step)
		return false;
	phi->adds[phi->n_steps] = adds;
	phi->step[phi->n_steps++] = step;
	return true;
}

static uint32_t phi_in(const struct gsb_poly *x)
{
	for (uint32_t i = 0; i < x->n; i++)
		for (int k = 0; k < GSB_POLY_MOST_SYMBOLS; k++)
			if (gsb_place_kind(x->terms[i].symbols[k]) == GSB_PLACE_PHI)
				return x->terms[i].symbols[k];
	return 0;
}

static const struct gsb_phi *phi_of(struct gsb_places *p, uint32_t reg);

/* The only step in the smallest loop around the instruction; STEPS_MOST: none, or more. */
static uint32_t step_beside(const struct gsb_places *p, const struct gsb_phi *phi, uint32_t insn)
{
	const struct gsb_resize_loop *l = gsb_resize_innermost(&p->loops, block_of(p, insn));
	uint32_t only = STEPS_MOST;

	for (uint32_t i = 0; i < phi->n_steps; i++) {
		if (gsb_resize_innermost(&p->loops, block_of(p, phi->adds[i])) != l)
			continue;
		if (only != STEPS_MOST)
			return STEPS_MOST;
		only = i;
	}
	return l ? only : STEPS_MOST;
}

/*
 * Is it made of another one that walks, as that was a turn ago, so that it has walked along from the first turn on? What that adds
 * with each turn, times what stands before it, is a step of this one, too.
 */
static bool walks_along(struct gsb_places *p, struct gsb_phi *phi, uint32_t insn)
{
	const struct gsb_poly *w = p->writes[insn];
	const uint32_t symbol = phi_in(w);
	const struct gsb_phi *other = symbol ? phi_of(p, gsb_place_number(symbol)) : phi;
	const uint32_t i = other->state == WALKS ? step_beside(p, other, insn) : STEPS_MOST;
	struct gsb_poly turn, first = *w, step = *w;

	if (other == phi || i == STEPS_MOST)
		return false;
	turn = gsb_poly_symbol(symbol);
	if (!gsb_poly_add(&turn, other->step[i], 1) || !gsb_poly_replace(&step, symbol, &turn) ||
	    !gsb_poly_add(&step, w, -1) || differs(&step) ||
	    !gsb_poly_replace(&first, symbol, other->first) || !gsb_poly_add(&first, &step, -1))
		return false;
	return gsb_poly_is_equal(&first, phi->first) &&
	       add_step_of(phi, other->adds[i], keep(p, &step));
}

static bool take_writer(struct gsb_places *p, struct gsb_phi *phi, uint32_t reg, uint32_t insn)
{
	const struct gsb_poly *w = p->writes[insn];
	struct gsb_poly step;

	if (!w)
		return false;
	if (added(w, reg, &step))
		return add_step_of(phi, insn, keep(p, &step));
	if (!phi->first) {
		phi->first = w;
		phi->first_at = insn;
	}
	return begins_anywhere(p, phi, w) || walks_along(p, phi, insn);
}

static const struct gsb_phi *phi_of(struct gsb_places *p, uint32_t reg)
{
	struct gsb_phi *phi = &p->regs[reg].phi;
	bool walks = true;

	if (phi->state != UNSEEN)
		return phi;
	phi->state = UNKNOWN; /* to itself, too */
	for (uint32_t i = p->f->writer_at[reg]; i < p->f->writer_at[reg + 1]; i++)
		walks &= take_writer(p, phi, reg, p->f->writers[i]);
	if (walks && phi->first)
		phi->state = WALKS;
	return phi;
}

static bool in_one_loop(const struct gsb_places *p, uint32_t a, uint32_t b)
{
	if (!gsb_resize_steps(p->f->a, p->loops.n))
		return false;
	for (uint32_t i = 0; i < p->loops.n; i++)
		if (p->loops.loops[i].has[a] && p->loops.loops[i].has[b])
			return true;
	return false;
}

/* What the step has added to the register when @insn comes. */
static bool add_step(struct gsb_places *p, uint32_t adds, const struct gsb_poly *step,
		     uint32_t insn, struct gsb_poly *to)
{
	const uint32_t at = block_of(p, adds), block = block_of(p, insn);
	struct gsb_poly turns, more;

	if (in_one_loop(p, at, block)) {
		if (!gsb_resize_each_turn(p->f, gsb_resize_innermost(&p->loops, at), at))
			return false;
		turns = gsb_poly_symbol(gsb_place(GSB_PLACE_LOOP, adds));
		return gsb_poly_multiply(&turns, step, &more) && gsb_poly_add(to, &more, 1);
	}
	if (at == block ? adds > insn : !gsb_resize_reaches(p->f, at, block, GSB_PTX_NONE))
		return true;
	more = gsb_poly_symbol(gsb_place(GSB_PLACE_PASSED, adds));
	return gsb_poly_add(to, &more, 1);
}

/* Without PHIs, as seen from @insn. */
static bool resolve(struct gsb_places *p, struct gsb_poly *x, uint32_t insn, uint32_t *left)
{
	uint32_t symbol;

	while ((symbol = phi_in(x))) {
		const struct gsb_phi *phi = phi_of(p, gsb_place_number(symbol));
		struct gsb_poly is;

		if (phi->state != WALKS || !(*left)--)
			return false;
		is = *phi->first;
		if (!resolve(p, &is, phi->n_steps ? phi->first_at : insn, left))
			return false;
		for (uint32_t i = 0; i < phi->n_steps; i++)
			if (!add_step(p, phi->adds[i], phi->step[i], insn, &is))
				return false;
		if (!gsb_poly_replace(x, symbol, &is))
			return false;
	}
	return true;
}

bool gsb_places_address(struct gsb_places *p, uint32_t insn, struct gsb_poly *out)
{
	const struct gsb_ptx_operand *o = gsb_resize_address(&p->f->func->insns[insn]);
	uint32_t left = REPLACED_MOST;

	p->at = insn;
	return o && value_of(p, o, out) && resolve(p, out, insn, &left);
}

bool gsb_places_goes_on(const struct gsb_places *p, uint32_t adds, const struct gsb_resize_loop *l)
{
	const uint32_t reg = p->f->func->insns[adds].operands[0].reg;
	struct gsb_poly step;

	for (uint32_t i = p->f->writer_at[reg]; i < p->f->writer_at[reg + 1]; i++) {
		const uint32_t insn = p->f->writers[i];

		if (l->has[block_of(p, insn)] && !added(p->writes[insn], reg, &step))
			return false;
	}
	return l->has[block_of(p, adds)];
}

bool gsb_places_decides_alike(struct gsb_places *p, uint32_t insn)
{
	const uint32_t guard = p->f->func->insns[insn].guard;
	const struct gsb_poly *v;

	p->at = insn;
	v = guard == GSB_PTX_NONE ? NULL : register_value(p, guard);
	return v && !differs(v);
}
