/*
 * stream.c - see stream.h.
 *
 * An address is a sum with one summand for each thing that tells two accesses apart: the place of the thread in its block, that of the
 * block in the grid, the turns of the loops around it (place.h). All of these have to be there, and each summand has to step over
 * all that those before it reach, as digits of a number do: 4 * tid, then 4 * ntid * ctaid, then turns of 4 * ntid * nctaid. Then each access
 * has a place of its own. The lanes of a warp have to be neighbours, so that a sector is used up at once.
 *
 * Two accesses of one array touch the same places when what lies between them is made of such steps, as in a stencil.
 */
#include "ptx/resize/stream.h"

#include <errno.h>
#include <stdlib.h>

#include "ptx/resize/place.h"

#define APART_MOST_BYTES 32 /* from lane to lane: a sector */
#define DIGITS_MOST	 10
#define WARP		 32

struct digit {
	uint32_t symbol;
	struct gsb_product step; /* bytes */
	uint32_t rank;		 /* from 1 in the order of the digits; 0: none yet */
};

struct access {
	uint32_t insn;
	uint64_t bases;
	bool known;	    /* address, digits */
	bool once, touched; /* by itself; by another one */
	struct gsb_poly address;
	struct digit digits[DIGITS_MOST];
	uint32_t n_digits;
};

struct streams {
	struct gsb_resize_flow *f;
	struct gsb_resize_bases bases;
	struct gsb_resize_uniform uniform;
	struct gsb_places places;
	struct access *accesses;
	uint32_t n;
	uint32_t ctaid, tid; /* axes that the kernel asks for, by bit */
};

/* ---- digits ---- */

/* A size that the program gives, or computes of what it is given. */
static bool is_given(uint32_t symbol)
{
	switch (gsb_place_kind(symbol)) {
	case GSB_PLACE_PARAM:
	case GSB_PLACE_VALUE:
	case GSB_PLACE_SUM: return true;
	default: return false;
	}
}

static bool has(const struct gsb_product *p, uint32_t symbol)
{
	for (int i = 0; i < GSB_POLY_MOST_SYMBOLS; i++)
		if (p->symbols[i] == symbol)
			return true;
	return false;
}

static bool is_given_more(const struct gsb_product *p, const struct gsb_product *than)
{
	for (int i = 0; i < GSB_POLY_MOST_SYMBOLS && p->symbols[i]; i++)
		if (is_given(p->symbols[i]) && !has(than, p->symbols[i]))
			return true;
	return false;
}

static struct gsb_product product_of(int64_t times, uint32_t symbol)
{
	return (struct gsb_product){times, {symbol}};
}

static struct digit *digit_of(struct access *a, uint32_t symbol)
{
	for (uint32_t i = 0; i < a->n_digits; i++)
		if (a->digits[i].symbol == symbol)
			return &a->digits[i];
	return NULL;
}

/* A sum of several products before one symbol is a size of its own where none takes away from another: "w + 8", given w. */
static bool join_digit(struct digit *d, uint32_t insn, const struct gsb_product *step)
{
	const struct gsb_product none = {0};

	if ((d->step.times < 0) != (step->times < 0) ||
	    !(is_given_more(&d->step, &none) || is_given_more(step, &none)))
		return false;
	d->step = product_of(step->times < 0 ? -1 : 1, gsb_place(GSB_PLACE_SUM, insn));
	return true;
}

static bool add_digit(struct access *a, uint32_t symbol, const struct gsb_product *step)
{
	struct digit *d = digit_of(a, symbol);

	if (d)
		return join_digit(d, a->insn, step);
	if (a->n_digits == DIGITS_MOST)
		return false;
	a->digits[a->n_digits++] = (struct digit){.symbol = symbol, .step = *step};
	return true;
}

/* The symbol that differs; 0: none does. False: several do. */
static bool differing(const struct gsb_product *p, uint32_t *symbol)
{
	*symbol = 0;
	for (int i = 0; i < GSB_POLY_MOST_SYMBOLS; i++) {
		if (!gsb_place_differs(p->symbols[i]))
			continue;
		if (*symbol)
			return false;
		*symbol = p->symbols[i];
	}
	return true;
}

static bool find_digits(struct access *a)
{
	for (uint32_t i = 0; i < a->address.n; i++) {
		const struct gsb_product *p = &a->address.terms[i];
		struct gsb_product step;
		uint32_t symbol;

		if (!differing(p, &symbol))
			return false;
		if (!symbol)
			continue;
		step = gsb_product_without(p, symbol);
		if (step.times == INT64_MIN || !add_digit(a, symbol, &step))
			return false;
	}
	for (uint32_t i = 0; i < a->n_digits; i++)
		a->digits[i].step.times = llabs(a->digits[i].step.times);
	return true;
}

/* ---- which have to be there ---- */

static bool has_axes(struct access *a, enum gsb_place_kind kind, uint32_t axes)
{
	for (uint32_t axis = 0; axis < 3; axis++)
		if (axes >> axis & 1 && !digit_of(a, gsb_place(kind, axis)))
			return false;
	return true;
}

/* Of tid.x: itself, or both parts of it. */
static struct digit *lanes_of(struct access *a)
{
	struct digit *low = NULL;

	for (uint32_t i = 0; i < a->n_digits && !low; i++)
		if (gsb_place_kind(a->digits[i].symbol) == GSB_PLACE_LOW)
			low = &a->digits[i];
	if (low)
		return digit_of(a, gsb_place(GSB_PLACE_HIGH, gsb_place_number(low->symbol))) ? low
											     : NULL;
	return digit_of(a, gsb_place(GSB_PLACE_TID, 0));
}

static bool moves_in(const struct streams *s, const struct access *a,
		     const struct gsb_resize_loop *l)
{
	for (uint32_t i = 0; i < a->n_digits; i++)
		if (gsb_place_kind(a->digits[i].symbol) == GSB_PLACE_LOOP &&
		    gsb_places_goes_on(&s->places, gsb_place_number(a->digits[i].symbol), l))
			return true;
	return false;
}

static bool moves_in_loops(const struct streams *s, const struct access *a)
{
	const uint32_t block = s->f->cfg.block_of[a->insn];

	for (uint32_t i = 0; i < s->places.loops.n; i++)
		if (s->places.loops.loops[i].has[block] &&
		    !moves_in(s, a, &s->places.loops.loops[i]))
			return false;
	return true;
}

/* ---- steps over steps ---- */

/* Of a block, as the kernel says; 0: it does not. */
static uint32_t known_threads(const struct streams *s, uint32_t axis)
{
	const struct gsb_ptx_tuning *t = &s->f->func->tuning;

	return t->reqntid[axis] ? t->reqntid[axis] : t->maxntid[axis];
}

static int64_t most_threads(const struct streams *s, uint32_t axis)
{
	static const uint32_t most[3] = {1024, 1024, 64};
	const uint32_t known = known_threads(s, axis);

	return known ? known : most[axis];
}

/*
 * The least that a product may be where all that is in it are threads of a block. A constant that the program steps over them
 * with is a size of theirs that it knows: it has to be for a warp at the least.
 */
static bool least_of(const struct streams *s, const struct gsb_product *p, int64_t *out)
{
	*out = p->times;
	for (int i = 0; i < GSB_POLY_MOST_SYMBOLS && p->symbols[i]; i++) {
		const uint32_t axis = gsb_place_number(p->symbols[i]);
		int64_t least;

		if (gsb_place_kind(p->symbols[i]) != GSB_PLACE_NTID)
			return false;
		least = known_threads(s, axis);
		if (!least)
			least = axis ? 1 : WARP;
		if (__builtin_mul_overflow(*out, least, out))
			return false;
	}
	return true;
}

/* What the digits so far reach. */
struct reach {
	struct gsb_product bytes;
	bool open; /* so much again and again, nobody knows how often: loops, parts of tid.x */
};

/* How well a step goes over all that has been reached: 0 not; more where it is plainer. */
static int goes_over(const struct streams *s, const struct gsb_product *step, const struct reach *r)
{
	struct gsb_product q;
	int64_t least;

	if (gsb_product_divide(step, &r->bytes, &q)) {
		if (!gsb_product_is_constant(&q) || q.times > 1)
			return 3;
		return r->open ? 0 : 4;
	}
	if (gsb_product_is_constant(step) && least_of(s, &r->bytes, &least) &&
	    step->times / (r->open ? 2 : 1) >= least)
		return 2;
	return is_given_more(step, &r->bytes);
}

static bool extend(struct reach *r, const struct digit *d)
{
	struct gsb_product n;

	r->open = false;
	r->bytes = d->step;
	switch (gsb_place_kind(d->symbol)) {
	case GSB_PLACE_TID:
		n = product_of(1, gsb_place(GSB_PLACE_NTID, gsb_place_number(d->symbol)));
		break;
	case GSB_PLACE_CTAID:
		n = product_of(1, gsb_place(GSB_PLACE_NCTAID, gsb_place_number(d->symbol)));
		break;
	case GSB_PLACE_LOW: n = product_of((int64_t)1 << gsb_place_number(d->symbol), 0); break;
	default: r->open = true; return true;
	}
	return gsb_product_multiply(&d->step, &n, &r->bytes);
}

/* Of two that go over what has been reached: the one that the other is a multiple of, the plainer one, a loop last. */
static bool comes_before(const struct digit *d, int how, const struct digit *best, int best_how)
{
	struct gsb_product q;

	if (!best)
		return true;
	if (gsb_product_divide(&best->step, &d->step, &q))
		return true;
	if (gsb_product_divide(&d->step, &best->step, &q))
		return false;
	if (how != best_how)
		return how > best_how;
	return gsb_place_kind(best->symbol) == GSB_PLACE_LOOP;
}

static struct digit *next_digit(const struct streams *s, struct access *a, const struct reach *r)
{
	struct digit *best = NULL;
	int best_how = 0;

	for (uint32_t i = 0; i < a->n_digits; i++) {
		struct digit *d = &a->digits[i];
		int how = d->rank ? 0 : goes_over(s, &d->step, r);

		if (how && comes_before(d, how, best, best_how)) {
			best = d;
			best_how = how;
		}
	}
	return best;
}

static bool steps_over_steps(const struct streams *s, struct access *a, struct digit *lanes)
{
	struct digit *d = lanes;
	struct reach r = {0};

	for (uint32_t i = 0; i < a->n_digits; i++) {
		if (!d || !extend(&r, d))
			return false;
		d->rank = i + 1;
		d = next_digit(s, a, &r);
	}
	return true;
}

static bool touches_once(const struct streams *s, struct access *a)
{
	const struct gsb_ptx_insn *in = &s->f->func->insns[a->insn];
	struct digit *lanes = lanes_of(a);

	if (!lanes || !gsb_product_is_constant(&lanes->step) ||
	    lanes->step.times > APART_MOST_BYTES ||
	    lanes->step.times < (int64_t)gsb_ptx_type_bytes(in->type[0]) * in->vec)
		return false;
	return has_axes(a, GSB_PLACE_CTAID, s->ctaid) && has_axes(a, GSB_PLACE_TID, s->tid) &&
	       moves_in_loops(s, a) && steps_over_steps(s, a, lanes);
}

/* ---- two accesses of one array ---- */

/* So many steps of this digit, and it has so many? */
static bool is_within(const struct streams *s, const struct digit *d, const struct gsb_product *n)
{
	const uint32_t number = gsb_place_number(d->symbol);
	int64_t most;

	if (!gsb_product_is_constant(n))
		return false;
	switch (gsb_place_kind(d->symbol)) {
	case GSB_PLACE_TID: most = most_threads(s, number); break;
	case GSB_PLACE_LOW: most = (int64_t)1 << number; break;
	default: return true;
	}
	return n->times > -most && n->times < most;
}

static bool is_made_of_steps(const struct streams *s, const struct access *a,
			     const struct gsb_product *p)
{
	struct gsb_product n;

	for (uint32_t i = 0; i < a->n_digits; i++)
		if (gsb_product_divide(p, &a->digits[i].step, &n) &&
		    is_within(s, &a->digits[i], &n))
			return true;
	return false;
}

/* Where the ways to two blocks part: the last instruction that both have passed. */
static uint32_t parting(const struct streams *s, uint32_t a, uint32_t b)
{
	const struct gsb_ptx_block *at;

	while (!s->f->a->err && !gsb_resize_dominates(s->f, a, b))
		a = s->f->cfg.blocks[a].idom;
	at = &s->f->cfg.blocks[a];
	return at->first + at->n_insns - 1;
}

/* Where the turns of the smallest loop around both begin. */
static uint32_t turn_of(const struct streams *s, uint32_t a, uint32_t b)
{
	const struct gsb_resize_loop *best = NULL;

	for (uint32_t i = 0; i < s->places.loops.n; i++) {
		const struct gsb_resize_loop *l = &s->places.loops.loops[i];

		if (l->has[a] && l->has[b] && (!best || l->n_blocks < best->n_blocks))
			best = l;
	}
	return best ? best->header : GSB_PTX_NONE;
}

/* Who comes to both: all threads may; those of different blocks; nobody, in a whole grid. */
enum company { THREADS, BLOCKS, NOBODY };

static enum company come_to_both(struct streams *s, const struct access *x, const struct access *y)
{
	const uint32_t a = s->f->cfg.block_of[x->insn], b = s->f->cfg.block_of[y->insn];
	const uint32_t turn = turn_of(s, a, b);
	uint32_t branch;

	if (a == b || gsb_resize_reaches(s->f, a, b, turn) || gsb_resize_reaches(s->f, b, a, turn))
		return THREADS;
	branch = parting(s, a, b);
	if (gsb_places_decides_alike(&s->places, branch))
		return NOBODY;
	return gsb_resize_decided_by(&s->uniform, &s->f->func->insns[branch]) == GSB_RESIZE_BLOCK
		       ? BLOCKS
		       : THREADS;
}

/* Does this digit stay in the part of a block? */
static bool is_below_blocks(struct access *a, uint32_t symbol)
{
	const struct digit *d = digit_of(a, symbol);

	for (uint32_t i = 0; d && i < a->n_digits; i++)
		if (gsb_place_kind(a->digits[i].symbol) == GSB_PLACE_CTAID &&
		    a->digits[i].rank <= d->rank)
			return false;
	return true;
}

/* Is all that lies between them inside the part of a block? */
static bool is_in_block(struct access *a, struct access *b, const struct gsb_poly *between)
{
	for (uint32_t i = 0; i < between->n; i++) {
		uint32_t symbol;

		if (!differing(&between->terms[i], &symbol) ||
		    (symbol ? !is_below_blocks(a, symbol) || !is_below_blocks(b, symbol)
			    : !gsb_product_is_constant(&between->terms[i])))
			return false;
	}
	return true;
}

/*
 * Who goes another way through the array may meet anybody, but one place that all come to is only one; turns of two loops are
 * apart where what lies between them is.
 */
static bool meet(struct streams *s, struct access *a, struct access *b)
{
	struct gsb_poly between = a->address;
	enum company who;
	bool apart = false;
	uint32_t symbol;

	if (b->known && !b->n_digits)
		return false;
	who = come_to_both(s, a, b);
	if (who == NOBODY)
		return false;
	if (!b->known || !b->once || !gsb_poly_add(&between, &b->address, -1))
		return true;
	if (who == BLOCKS && is_in_block(a, b, &between))
		return false;
	for (uint32_t i = 0; i < between.n; i++) {
		if (!differing(&between.terms[i], &symbol) ||
		    (symbol && gsb_place_kind(symbol) != GSB_PLACE_LOOP))
			return true;
		apart |= !symbol && !is_made_of_steps(s, a, &between.terms[i]);
	}
	return between.n && !apart;
}

static void compare_all(struct streams *s)
{
	for (uint32_t i = 0; i < s->n; i++) {
		struct access *a = &s->accesses[i];

		for (uint32_t k = 0; a->once && !a->touched && k < s->n; k++)
			a->touched = k != i && s->accesses[k].bases & a->bases &&
				     meet(s, a, &s->accesses[k]);
	}
}

/* ---- the kernel ---- */

static void note_axes(struct streams *s, const struct gsb_ptx_kernel *k)
{
	for (uint32_t i = 0; i < k->n_funcs; i++)
		for (uint32_t n = 0; n < k->funcs[i]->n_insns; n++) {
			const struct gsb_ptx_insn *in = &k->funcs[i]->insns[n];

			for (uint32_t o = 0; o < in->n_operands; o++) {
				if (in->operands[o].sreg == GSB_PTX_SREG_CTAID)
					s->ctaid |= 1u << in->operands[o].axis;
				if (in->operands[o].sreg == GSB_PTX_SREG_TID)
					s->tid |= 1u << in->operands[o].axis;
			}
		}
	s->tid &= ~1u; /* which lanes_of() looks for */
}

static bool is_access(const struct streams *s, uint32_t insn)
{
	return s->f->cfg.blocks[s->f->cfg.block_of[insn]].reachable &&
	       gsb_resize_is_global(&s->f->func->insns[insn]);
}

static bool find_accesses(struct streams *s)
{
	for (uint32_t i = 0; i < s->f->func->n_insns; i++)
		s->n += is_access(s, i);
	if (!gsb_resize_steps(s->f->a, (uint64_t)s->n * (s->n + s->places.loops.n)))
		return false; /* each with each, and with each loop */
	s->accesses = gsb_resize_alloc(s->f->a, s->n, sizeof(*s->accesses));
	s->n = 0;
	for (uint32_t i = 0; s->accesses && i < s->f->func->n_insns; i++) {
		struct access *a = &s->accesses[s->n];

		if (!is_access(s, i))
			continue;
		s->n++;
		a->insn = i;
		a->bases = gsb_resize_base_of(&s->bases, &s->f->func->insns[i]);
		a->known = gsb_places_address(&s->places, i, &a->address) && find_digits(a);
		a->once = a->known && !s->places.loops.knot && touches_once(s, a);
	}
	return !s->f->a->err;
}

int gsb_streams(const struct gsb_ptx_module *m, const struct gsb_ptx_kernel *k,
		struct gsb_arena *arena, const bool **out)
{
	struct gsb_resize_facts unused = {0};
	struct gsb_resize_analysis *a = gsb_arena_alloc(arena, sizeof(*a));
	bool *is = gsb_arena_alloc_array(arena, k->entry->n_insns, sizeof(*is));
	struct gsb_resize_flow f;
	struct streams s = {.f = &f};

	if (!a || !is)
		return -ENOMEM;
	*a = (struct gsb_resize_analysis){.m = m, .k = k, .arena = arena, .out = &unused};
	*out = is;
	note_axes(&s, k);
	if (gsb_resize_flow_build(a, k->entry, &f) && gsb_resize_bases_build(&f, &s.bases) &&
	    gsb_resize_uniform_build(&f, &s.uniform) && gsb_places_build(&f, &s.places) &&
	    find_accesses(&s)) {
		compare_all(&s);
		for (uint32_t i = 0; i < s.n; i++)
			is[s.accesses[i].insn] = s.accesses[i].once && !s.accesses[i].touched;
	}
	return a->err == -ENOMEM ? -ENOMEM : 0;
}
