/*
 * reference.c - see reference.h: memory, control, and what threads do together.
 *
 * A block is run in rounds: each thread goes on until it leaves or comes to an instruction at which it waits for others. When all that
 * live wait, the warp-wide instructions whose members are all there are done; when there are none, the barrier is.
 */
#include "tests/random/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_STEPS 2000000 /* of a thread */

static void give_up(struct ref_block *b, const struct ref_insn *in, const char *what)
{
	if (!b->error[0])
		snprintf(b->error, sizeof(b->error), "%s: %.120s", what, in->text);
}

/* ---- values ---- */

static uint64_t special(const struct ref_block *b, const struct ref_thread *t, const char *name)
{
	unsigned int lane = t->tid % 32;

	if (!strcmp(name, "%tid.x"))
		return t->tid;
	if (!strcmp(name, "%ntid.x"))
		return b->launch->threads;
	if (!strcmp(name, "%ctaid.x"))
		return b->ctaid;
	if (!strcmp(name, "%laneid"))
		return lane;
	if (!strcmp(name, "%lanemask_lt"))
		return (UINT64_C(1) << lane) - 1;
	return (UINT64_C(1) << (lane + 1)) - 1; /* %lanemask_le */
}

static uint64_t value(const struct ref_block *b, const struct ref_thread *t,
		      const struct ref_operand *o)
{
	switch (o->kind) {
	case REF_REG: return o->negated ? !t->regs[o->reg] : t->regs[o->reg];
	case REF_IMM: return o->imm;
	case REF_SPECIAL: return special(b, t, o->name);
	default: return 0; /* a symbol: its array begins at 0 */
	}
}

/* A register holds what fits. */
static void set(const struct ref_block *b, struct ref_thread *t, unsigned int reg, uint64_t v)
{
	t->regs[reg] = ref_cut(v, b->program->bits[reg]);
}

/* ---- memory ---- */

static unsigned char *place(struct ref_block *b, struct ref_thread *t, const struct ref_insn *in,
			    const struct ref_operand *o, uint64_t bytes)
{
	uint64_t at = (o->reg == REF_NONE ? 0 : t->regs[o->reg]) + o->imm, size;
	unsigned char *base;

	if (ref_has(in, REF_shared)) {
		base = b->shared;
		size = b->program->shared_bytes;
	} else if (ref_has(in, REF_local)) {
		base = t->local;
		size = b->program->local_bytes;
	} else {
		base = b->launch->base;
		size = b->launch->size;
		at -= (uint64_t)(uintptr_t)base;
	}
	if (at % bytes || at > size || bytes > size - at) {
		give_up(b, in, "an access outside of memory");
		return NULL;
	}
	return base + at;
}

static void load(struct ref_block *b, struct ref_thread *t, const struct ref_insn *in)
{
	const struct ref_operand *d = &in->at[0];
	unsigned int bytes = in->type[0].bits / 8, n = d->kind == REF_VECTOR ? d->n : 1;
	unsigned char *p;

	if (ref_has(in, REF_param)) {
		set(b, t, d->reg, b->launch->args[in->at[1].name[1] - '0']);
		return;
	}
	p = place(b, t, in, &in->at[1], (uint64_t)bytes * n);
	for (unsigned int i = 0; p && i < n; i++) {
		uint64_t v = 0;

		memcpy(&v, p + (size_t)i * bytes, bytes);
		v = (uint64_t)ref_number(v, in->type[0]);
		set(b, t, d->kind == REF_VECTOR ? d->elements[i] : d->reg, v);
	}
}

static void store(struct ref_block *b, struct ref_thread *t, const struct ref_insn *in)
{
	const struct ref_operand *v = &in->at[1];
	unsigned int bytes = in->type[0].bits / 8, n = v->kind == REF_VECTOR ? v->n : 1;
	unsigned char *p = place(b, t, in, &in->at[0], (uint64_t)bytes * n);

	for (unsigned int i = 0; p && i < n; i++) {
		uint64_t word = v->kind == REF_VECTOR ? t->regs[v->elements[i]] : value(b, t, v);

		memcpy(p + (size_t)i * bytes, &word, bytes);
	}
}

/* The operation of a reduction of memory or of a warp. */
static uint64_t combine(const struct ref_insn *in, uint64_t a, uint64_t b)
{
	bool less = ref_number(a, in->type[0]) < ref_number(b, in->type[0]);

	if (ref_has(in, REF_add))
		return a + b;
	if (ref_has(in, REF_min))
		return less ? a : b;
	if (ref_has(in, REF_max))
		return less ? b : a;
	if (ref_has(in, REF_and))
		return a & b;
	return ref_has(in, REF_or) ? a | b : a ^ b;
}

static void reduce_memory(struct ref_block *b, struct ref_thread *t, const struct ref_insn *in)
{
	unsigned int bytes = in->type[0].bits / 8;
	unsigned char *p = place(b, t, in, &in->at[0], bytes);
	uint64_t v = 0;

	if (!p)
		return;
	memcpy(&v, p, bytes);
	v = combine(in, v, value(b, t, &in->at[1]));
	memcpy(p, &v, bytes);
}

/* ---- one thread ---- */

/* "mov.b64 {%r0, %r1}, %d0" and the way back, and plain ones */
static void move(struct ref_block *b, struct ref_thread *t, const struct ref_insn *in)
{
	const struct ref_operand *d = &in->at[0], *s = &in->at[1];
	unsigned int n = d->kind == REF_VECTOR ? d->n : s->n, bits;
	uint64_t v = 0;

	if (d->kind != REF_VECTOR && s->kind != REF_VECTOR) {
		set(b, t, d->reg, value(b, t, s));
		return;
	}
	bits = in->type[0].bits / n;
	for (unsigned int i = 0; s->kind == REF_VECTOR && i < n; i++)
		v |= ref_cut(t->regs[s->elements[i]], bits) << bits * i;
	if (d->kind != REF_VECTOR) {
		set(b, t, d->reg, v);
		return;
	}
	v = t->regs[s->reg];
	for (unsigned int i = 0; i < n; i++)
		set(b, t, d->elements[i], v >> bits * i);
}

/* setp and set, perhaps with a predicate that is combined. */
static void compare(struct ref_block *b, struct ref_thread *t, const struct ref_insn *in)
{
	struct ref_type of = ref_is(in, "set") ? in->type[1] : in->type[0];
	bool r = ref_compare(in, of, value(b, t, &in->at[1]), value(b, t, &in->at[2])), not_r = !r;

	if (in->n > 3) {
		bool c = value(b, t, &in->at[3]);

		r = ref_has(in, REF_and) ? r && c : ref_has(in, REF_or) ? r || c : r != c;
		not_r = ref_has(in, REF_and)  ? not_r && c
			: ref_has(in, REF_or) ? not_r || c
					      : not_r != c;
	}
	if (ref_is(in, "set")) {
		set(b, t, in->at[0].reg,
		    !r			      ? 0
		    : in->type[0].kind == 'f' ? 0x3f800000
					      : UINT64_MAX);
		return;
	}
	t->regs[in->at[0].reg] = r;
	if (in->at[0].reg2 != REF_NONE)
		t->regs[in->at[0].reg2] = not_r;
}

static void compute(struct ref_block *b, struct ref_thread *t, const struct ref_insn *in)
{
	uint64_t v[REF_MAX_OPERANDS] = {0}, out = 0;

	for (unsigned int i = 1; i < in->n; i++)
		v[i - 1] = value(b, t, &in->at[i]);
	if (ref_is(in, "selp"))
		out = v[2] ? v[0] : v[1];
	else if (!ref_compute(in, v, &t->carry, &out))
		give_up(b, in, "unknown to the reference");
	set(b, t, in->at[0].reg, out);
}

static void step(struct ref_block *b, struct ref_thread *t, const struct ref_insn *in)
{
	if (ref_is(in, "bra"))
		t->pc = (unsigned int)in->at[0].imm;
	else if (ref_is(in, "ret") || ref_is(in, "exit"))
		t->left = true;
	else if (ref_is(in, "ld"))
		load(b, t, in);
	else if (ref_is(in, "st"))
		store(b, t, in);
	else if (ref_is(in, "red"))
		reduce_memory(b, t, in);
	else if (ref_is(in, "mov"))
		move(b, t, in);
	else if (ref_is(in, "setp") || ref_is(in, "set"))
		compare(b, t, in);
	else
		compute(b, t, in);
}

static bool is_barrier(const struct ref_insn *in)
{
	return (ref_is(in, "bar") || ref_is(in, "barrier")) && !ref_has(in, REF_warp);
}

static bool needs_others(const struct ref_insn *in)
{
	return is_barrier(in) || ref_is(in, "bar") || ref_is(in, "shfl") || ref_is(in, "vote") ||
	       ref_is(in, "match") || ref_is(in, "redux");
}

static void run_thread(struct ref_block *b, struct ref_thread *t)
{
	for (unsigned long n = 0; !t->left && !t->waits && !b->error[0]; n++) {
		const struct ref_insn *in = &b->program->insns[t->pc];
		bool runs = in->guard == REF_NONE || t->regs[in->guard] != in->guard_negated;

		if (n == MAX_STEPS)
			give_up(b, in, "no end");
		if (runs && needs_others(in)) {
			t->waits = true;
			return;
		}
		t->pc++;
		if (runs)
			step(b, t, in);
	}
}

/* ---- threads together ---- */

static const struct ref_insn *insn_of(const struct ref_block *b, const struct ref_thread *t)
{
	return &b->program->insns[t->pc];
}

/* The last operand; "vote.sync.any.pred %p1, %p0, %m0" and its like. */
static uint32_t members_of(const struct ref_block *b, const struct ref_thread *t)
{
	const struct ref_insn *in = insn_of(b, t);

	return (uint32_t)value(b, t, &in->at[in->n - 1]);
}

/* Lane that shfl reads for @lane, and whether it is in reach. */
static bool shfl_from(const struct ref_insn *in, unsigned int lane, unsigned int by,
		      unsigned int clamp, unsigned int *from)
{
	unsigned int keep = clamp >> 8 & 31,
		     limit = clamp & 31; /* bits of the lane's number that stay */
	unsigned int first = lane & keep, last = first | (limit & ~keep);
	int at;

	by &= 31;
	if (ref_has(in, REF_up))
		at = (int)lane - (int)by;
	else if (ref_has(in, REF_down))
		at = (int)lane + (int)by;
	else if (ref_has(in, REF_bfly))
		at = (int)(lane ^ by);
	else
		at = (int)(first | (by & ~keep));
	*from = (unsigned int)at & 31;
	return ref_has(in, REF_up) ? at >= (int)last : at <= (int)last;
}

static void do_shfl(struct ref_block *b, struct ref_thread *warp, uint32_t members)
{
	uint64_t v[32] = {0};

	for (unsigned int i = 0; i < 32; i++) {
		if (members >> i & 1)
			v[i] = value(b, &warp[i], &insn_of(b, &warp[i])->at[1]);
	}
	for (unsigned int i = 0; i < 32; i++) {
		const struct ref_insn *in = insn_of(b, &warp[i]);
		unsigned int from;
		bool found;

		if (!(members >> i & 1))
			continue;
		found = shfl_from(in, i, (unsigned int)value(b, &warp[i], &in->at[2]),
				  (unsigned int)value(b, &warp[i], &in->at[3]), &from);
		if (found && !(members >> from & 1))
			give_up(b, in, "reads a lane that is not a member");
		set(b, &warp[i], in->at[0].reg, v[found ? from : i]);
		if (in->at[0].reg2 != REF_NONE)
			warp[i].regs[in->at[0].reg2] = found;
	}
}

/* What every member gets alike; of match.any each its own. */
static uint64_t together(const struct ref_block *b, const struct ref_thread *warp, uint32_t members,
			 unsigned int lane)
{
	const struct ref_insn *in = insn_of(b, &warp[lane]);
	uint64_t own = value(b, &warp[lane], &in->at[1]), sum = 0;
	uint32_t yes = 0, same = 0;
	bool first = true;

	for (unsigned int i = 0; i < 32; i++) {
		uint64_t v;

		if (!(members >> i & 1))
			continue;
		v = value(b, &warp[i], &insn_of(b, &warp[i])->at[1]);
		yes |= (uint32_t)(v != 0) << i;
		same |= (uint32_t)(v == own) << i;
		sum = first ? v : combine(in, sum, v);
		first = false;
	}
	if (ref_is(in, "redux"))
		return sum;
	if (ref_is(in, "match"))
		return ref_has(in, REF_any) ? same : same == members ? members : 0;
	if (ref_has(in, REF_ballot))
		return yes;
	return ref_has(in, REF_all)   ? yes == members
	       : ref_has(in, REF_any) ? yes != 0
				      : yes == 0 || yes == members;
}

static void do_warp_wide(struct ref_block *b, struct ref_thread *warp, uint32_t members)
{
	const struct ref_insn *in = insn_of(b, &warp[__builtin_ctz(members)]);
	uint64_t out[32] = {0};

	if (ref_is(in, "shfl"))
		do_shfl(b, warp, members);
	for (unsigned int i = 0; i < 32; i++) {
		if (members >> i & 1 && !ref_is(in, "shfl") && !ref_is(in, "bar"))
			out[i] = together(b, warp, members, i);
	}
	for (unsigned int i = 0; i < 32; i++) {
		if (!(members >> i & 1))
			continue;
		if (!ref_is(in, "shfl") && !ref_is(in, "bar"))
			set(b, &warp[i], in->at[0].reg, out[i]);
		if (ref_is(in, "match") && in->at[0].reg2 != REF_NONE)
			warp[i].regs[in->at[0].reg2] = out[i] != 0;
		warp[i].waits = false;
		warp[i].pc++;
	}
}

/* All members wait at one instruction? */
static bool all_there(const struct ref_block *b, const struct ref_thread *warp, uint32_t members,
		      unsigned int pc)
{
	for (unsigned int i = 0; i < 32; i++) {
		if (members >> i & 1 &&
		    (!warp[i].waits || warp[i].pc != pc || members_of(b, &warp[i]) != members))
			return false;
	}
	return true;
}

static bool warps_go_on(struct ref_block *b)
{
	bool any = false;

	for (unsigned int i = 0; i < b->launch->threads; i++) {
		struct ref_thread *t = &b->threads[i], *warp = &b->threads[i / 32 * 32];
		uint32_t members;

		if (!t->waits || is_barrier(insn_of(b, t)))
			continue;
		members = members_of(b, t);
		if (!(members >> i % 32 & 1)) {
			give_up(b, insn_of(b, t), "not a member itself");
			return false;
		}
		if (!all_there(b, warp, members, t->pc))
			continue;
		do_warp_wide(b, warp, members);
		any = true;
	}
	return any;
}

/* All that have not left are at the barrier. */
static bool barrier_opens(struct ref_block *b)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < b->launch->threads; i++) {
		struct ref_thread *t = &b->threads[i];

		if (t->left)
			continue;
		if (!is_barrier(insn_of(b, t))) {
			give_up(b, insn_of(b, t), "waits for ever");
			return false;
		}
		t->waits = false;
		t->pc++;
		n++;
	}
	return n;
}

static void run_block(struct ref_block *b)
{
	unsigned int n = b->launch->threads;

	do {
		for (unsigned int i = 0; i < n; i++)
			run_thread(b, &b->threads[b->launch->backwards ? n - 1 - i : i]);
	} while (!b->error[0] && (warps_go_on(b) || (!b->error[0] && barrier_opens(b))));
}

bool ref_run(const struct ref_program *program, const struct ref_launch *launch, char *error,
	     size_t size)
{
	struct ref_block *b = malloc(sizeof(*b));
	bool ok = b;

	for (unsigned int i = 0; ok && i < launch->blocks; i++) {
		memset(b, 0, sizeof(*b));
		b->program = program;
		b->launch = launch;
		b->ctaid = launch->backwards ? launch->blocks - 1 - i : i;
		for (unsigned int k = 0; k < launch->threads; k++)
			b->threads[k].tid = k;
		run_block(b);
		ok = !b->error[0];
		snprintf(error, size, "%s", b->error);
	}
	free(b);
	return ok;
}
