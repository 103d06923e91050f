/*
 * ptx.c - the kernel of a case.
 *
 * Every thread finds out which thread of a test it is and which instance it works at, meets the others of its
 * group at a counter (never for good: a machine need not run them all at once), and does its operations,
 * before each of which it may spin or sleep for as long as a hash of seed and instance says. What it read goes to
 * an array. Shared locations are cleared before and copied out behind.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tests/litmus/litmus.h"

struct writer {
	char *out;
	size_t size, n;
	const struct litmus_case *c;
	const struct litmus_program *p;
	unsigned int n_labels;
};

static void put(struct writer *w, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void put(struct writer *w, const char *format, ...)
{
	size_t room = w->n < w->size ? w->size - w->n : 0;
	va_list ap;
	int n;

	va_start(ap, format);
	n = vsnprintf(w->out + (room ? w->n : 0), room, format, ap);
	va_end(ap);
	w->n += n > 0 ? (size_t)n : 0;
}

/* ---- widths ---- */

static const struct width {
	unsigned int bytes, n;		 /* of an element; how many */
	const char *vec, *bits, *number; /* types of an element */
	const char *reg;
} widths[] = {
	[LITMUS_B8] = {1, 1, "", ".b8", ".u8", ".b32"},
	[LITMUS_B16] = {2, 1, "", ".b16", ".u16", ".b16"},
	[LITMUS_B32] = {4, 1, "", ".b32", ".u32", ".b32"},
	[LITMUS_B64] = {8, 1, "", ".b64", ".u64", ".b64"},
	[LITMUS_B128] = {16, 1, "", ".b128", ".b128", ".b128"},
	[LITMUS_V4B8] = {1, 4, ".v4", ".b8", ".u8", ".b32"},
	[LITMUS_V2B16] = {2, 2, ".v2", ".b16", ".u16", ".b16"},
	[LITMUS_V2B32] = {4, 2, ".v2", ".b32", ".u32", ".b32"},
	[LITMUS_V4B32] = {4, 4, ".v4", ".b32", ".u32", ".b32"},
	[LITMUS_V2B64] = {8, 2, ".v2", ".b64", ".u64", ".b64"},
};

unsigned int litmus_width_bytes(enum litmus_width w)
{
	return widths[w].bytes * widths[w].n;
}

static const struct width *width(const struct writer *w)
{
	return &widths[w->c->width];
}

/* A value, or a vector of one register each: {%v0_0, %v0_1} or {%c1, %c1}. */
static void put_value(struct writer *w, char kind, int nth)
{
	unsigned int n = width(w)->n;

	for (unsigned int i = 0; i < n; i++) {
		put(w, "%s%%%c%d", i ? ", " : n > 1 ? "{" : "", kind, nth);
		if (kind == 'v')
			put(w, "_%u", i);
	}
	put(w, "%s", n > 1 ? "}" : "");
}

/* ---- operations ---- */

static const char *space(const struct writer *w)
{
	static const char *const names[] = {".global", ".shared", ""};

	return names[w->c->space];
}

static const char *scope(const struct writer *w, const struct litmus_op *op)
{
	static const char *const names[] = {".cta", ".gpu", ".sys"};
	static const char *const explicit[] = {"cta", "gpu", "sys"};

	for (unsigned int i = 0; i < LITMUS_N_SCOPES; i++) {
		if (!strcmp(op->scope, explicit[i]))
			return names[i];
	}
	return names[w->c->scope];
}

static bool takes_scope(const struct litmus_op *op)
{
	return strcmp(op->sem, "weak") && strcmp(op->sem, "volatile");
}

static void put_access(struct writer *w, const struct litmus_op *op)
{
	bool store = op->act == LITMUS_ST;

	put(w, "\t%s.%s%s%s%s%s ", op->opcode, op->sem, takes_scope(op) ? scope(w, op) : "",
	    space(w), width(w)->vec, width(w)->bits);
	if (store)
		put(w, "[%%at%d], ", op->loc);
	if (store)
		put_value(w, op->from_reg ? 'v' : 'c', op->value[0]);
	else
		put_value(w, 'v', op->reg);
	put(w, store ? ";\n" : ", [%%at%d];\n", op->loc);
}

/* The model's names of arithmetic types; bits for the others. */
static void put_atom(struct writer *w, const struct litmus_op *op)
{
	bool number = !strcmp(op->sub, "add") || !strcmp(op->sub, "min") || !strcmp(op->sub, "max");

	put(w, "\t%s.%s%s%s.%s%s ", op->opcode, op->sem, scope(w, op), space(w), op->sub,
	    number ? width(w)->number : width(w)->bits);
	if (op->act == LITMUS_ATOM)
		put(w, "%%v%d_0, ", op->reg);
	put(w, "[%%at%d]", op->loc);
	for (unsigned int i = 0; i < op->n_values; i++)
		put(w, ", %%c%d", op->value[i]);
	put(w, ";\n");
}

static void put_op(struct writer *w, const struct litmus_op *op)
{
	switch (op->act) {
	case LITMUS_LD:
	case LITMUS_ST: put_access(w, op); break;
	case LITMUS_ATOM:
	case LITMUS_RED: put_atom(w, op); break;
	case LITMUS_FENCE:
		put(w, "\t%s.%s%s;\n", op->opcode, op->sem,
		    op->opcode[0] == 'f' ? scope(w, op) : "");
		break;
	case LITMUS_BAR: put(w, "\tbarrier.sync 0;\n"); break;
	case LITMUS_BAR_WARP: put(w, "\tbar.warp.sync 0xffffffff;\n"); break;
	}
}

/* Sleeps, if sleeping is asked for at all, where the bits of %%t2 that @mask names are set. */
static void put_nap(struct writer *w, const char *mask)
{
	unsigned int n = w->n_labels++;

	put(w,
	    "\tsetp.ne.u32 %%p0, %%t2, %s;\n"
	    "\tsetp.eq.or.u32 %%p0, %%nap, 0, %%p0;\n"
	    "\t@%%p0 bra READY%u;\n"
	    "\tnanosleep.u32 0;\n"
	    "READY%u:\n",
	    mask, n, n);
}

/* Up to %spin turns, and a sleep now and then, by the five bits of the hash from @shift on. */
static void put_delay(struct writer *w, unsigned int shift)
{
	unsigned int n = w->n_labels++;

	put(w,
	    "\tshr.u32 %%t0, %%hash, %u;\n"
	    "\tand.b32 %%t1, %%t0, %%spin;\n"
	    "\tand.b32 %%t2, %%t0, %%nap;\n"
	    "\tsetp.eq.u32 %%p0, %%t1, 0;\n"
	    "\t@%%p0 bra AWAKE%u;\n"
	    "SPIN%u:\n"
	    "\tsub.u32 %%t1, %%t1, 1;\n"
	    "\tsetp.ne.u32 %%p0, %%t1, 0;\n"
	    "\t@%%p0 bra SPIN%u;\n"
	    "AWAKE%u:\n",
	    shift, n, n, n, n);
	put_nap(w, "%nap");
}

/* Row @row of what was seen becomes the value at an instance. */
static void put_seen(struct writer *w, unsigned int row, int reg)
{
	unsigned int bytes = litmus_width_bytes(w->c->width);

	put(w,
	    "\tmad.lo.u32 %%t0, %%n, %u, %%k;\n"
	    "\tmul.wide.u32 %%d0, %%t0, %u;\n"
	    "\tadd.u64 %%d0, %%d0, %%res;\n"
	    "\tst.weak.global%s%s [%%d0], ",
	    row, bytes, width(w)->vec, width(w)->bits);
	put_value(w, 'v', reg);
	put(w, ";\n");
}

static void put_thread(struct writer *w, unsigned int t)
{
	put(w, "THREAD%u:\n", t);
	put(w, "\tshr.u32 %%t2, %%hash, 26;\n\tand.b32 %%t2, %%t2, 1;\n");
	put_nap(w, "1"); /* one in two: whoever comes last sees all that the others did */
	for (unsigned int i = 0; i < w->p->n_ops[t]; i++) {
		put_delay(w, 5 * i);
		put_op(w, &w->p->ops[t][i]);
	}
	for (unsigned int i = 0; i < w->p->n_ops[t]; i++) {
		const struct litmus_op *op = &w->p->ops[t][i];

		if (op->act == LITMUS_LD || op->act == LITMUS_ATOM)
			put_seen(w, (unsigned int)op->reg, op->reg);
	}
	put(w, "\tbra NEXT;\n");
}

/* ---- the frame around them ---- */

static void put_declarations(struct writer *w)
{
	put(w, ".version 8.4\n.target sm_90\n.address_size 64\n");
	if (w->c->space != LITMUS_GLOBAL)
		put(w, ".extern .shared .align 16 .b8 locs[];\n");
	put(w, ".visible .entry litmus(.param .align 8 .b8 par[%zu])\n{\n",
	    sizeof(struct litmus_params));
	put(w,
	    "\t.reg .pred %%p<4>;\n\t.reg .b32 %%t<8>, %%n, %%iters, %%stride, %%flip, %%seed, "
	    "%%spin, %%nap, %%skew, %%patience, %%doze;\n"
	    "\t.reg .b32 %%role, %%group, %%groups, %%idx, %%per, %%i, %%k, %%kk, %%hash;\n"
	    "\t.reg .b64 %%d<4>, %%mem, %%res, %%sync, %%region, %%at<%u>;\n",
	    LITMUS_MAX_LOCS);
	for (unsigned int r = 0; r < LITMUS_MAX_REGS; r++) {
		for (unsigned int i = 0; i < width(w)->n; i++)
			put(w, "\t.reg %s %%v%u_%u;\n", width(w)->reg, r, i);
	}
	put(w, "\t.reg %s %%c<15>;\n", width(w)->reg);
}

static void put_loads_of_params(struct writer *w)
{
	static const struct {
		const char *reg;
		size_t offset, bytes;
	} params[] = {
#define PARAM(name) \
	{#name, offsetof(struct litmus_params, name), sizeof(((struct litmus_params *)0)->name)}
		PARAM(mem),   PARAM(res),    PARAM(sync),     PARAM(region), PARAM(n),
		PARAM(iters), PARAM(stride), PARAM(flip),     PARAM(seed),   PARAM(spin),
		PARAM(nap),   PARAM(skew),   PARAM(patience), PARAM(doze),
#undef PARAM
	};

	for (unsigned int i = 0; i < sizeof(params) / sizeof(params[0]); i++)
		put(w, "\tld.param.u%zu %%%s, [par+%zu];\n", 8 * params[i].bytes, params[i].reg,
		    params[i].offset);
}

/* %c0 .. %c14: what is written as a value. */
static void put_values(struct writer *w)
{
	bool wide = w->c->width == LITMUS_B128;

	for (unsigned int v = 0; v < 15; v++) {
		char pattern[24] = "0x";

		for (unsigned int i = 0; i < (wide ? 8 : width(w)->bytes); i++)
			snprintf(pattern + 2 + 2 * i, sizeof(pattern) - 2 - 2 * i, "%02x", v);
		if (wide)
			put(w, "\tmov.b64 %%d0, %s;\n\tmov.b128 %%c%u, {%%d0, %%d0};\n", pattern,
			    v);
		else
			put(w, "\tmov%s %%c%u, %s;\n", width(w)->reg, v, pattern);
	}
}

static unsigned int lanes_of_instance(unsigned int n_threads)
{
	return n_threads == 3 ? 4 : n_threads;
}

unsigned int litmus_per_block(const struct litmus_case *c, unsigned int n_threads,
			      unsigned int block)
{
	if (c->place == LITMUS_GRID)
		return block;
	return block / (c->place == LITMUS_BLOCK ? n_threads : lanes_of_instance(n_threads));
}

/* %role, %group, %idx: which thread of a test, in which group, which of the group's instances */
static void put_who_am_i(struct writer *w)
{
	unsigned int n = w->p->n_threads;

	put(w, "\tmov.u32 %%t0, %%tid.x;\n\tmov.u32 %%t1, %%ctaid.x;\n\tmov.u32 %%per, %%ntid.x;\n"
	       "\tmov.u32 %%groups, %%nctaid.x;\n\tmov.u32 %%group, %%t1;\n");
	switch (w->c->place) {
	case LITMUS_GRID:
		put(w,
		    "\trem.u32 %%role, %%t1, %u;\n\tdiv.u32 %%group, %%t1, %u;\n"
		    "\tdiv.u32 %%groups, %%groups, %u;\n\tmov.u32 %%idx, %%t0;\n",
		    n, n, n);
		break;
	case LITMUS_BLOCK:
		put(w,
		    "\tshr.u32 %%t2, %%t0, 5;\n\trem.u32 %%role, %%t2, %u;\n"
		    "\tdiv.u32 %%t2, %%t2, %u;\n\tand.b32 %%idx, %%t0, 31;\n"
		    "\tmad.lo.u32 %%idx, %%t2, 32, %%idx;\n\tdiv.u32 %%per, %%per, %u;\n",
		    n, n, n);
		break;
	default:
		n = lanes_of_instance(n);
		put(w,
		    "\trem.u32 %%role, %%t0, %u;\n\tdiv.u32 %%idx, %%t0, %u;\n"
		    "\tdiv.u32 %%per, %%per, %u;\n",
		    n, n, n);
		break;
	}
}

/* Addresses of the locations of instance %k; %kk is its place. */
static void put_addresses(struct writer *w)
{
	if (w->c->space == LITMUS_GLOBAL)
		put(w, "\txor.b32 %%kk, %%k, %%flip;\n");
	else
		put(w, "\tmad.lo.u32 %%kk, %%i, %%per, %%idx;\n\txor.b32 %%kk, %%kk, %%flip;\n");
	put(w, "\tmul.wide.u32 %%at0, %%kk, %%stride;\n\tadd.u64 %%at0, %%at0, %%mem;\n");
	for (unsigned int v = 1; v < w->p->n_locs; v++)
		put(w, "\tadd.u64 %%at%u, %%at%u, %%region;\n", v, v - 1);
}

/* %k and the addresses, for each turn of %i, in the threads of role 0; @body: what is done there. */
static void put_each_shared(struct writer *w, const char *label, void (*body)(struct writer *w))
{
	put(w, "\tmov.u32 %%i, 0;\n\tsetp.ne.u32 %%p1, %%role, 0;\n\t@%%p1 bra %s_DONE;\n%s:\n",
	    label, label);
	put(w, "\tmad.lo.u32 %%k, %%i, %%groups, %%group;\n\tmad.lo.u32 %%k, %%k, %%per, %%idx;\n");
	put_addresses(w);
	body(w);
	put(w,
	    "\tadd.u32 %%i, %%i, 1;\n\tsetp.lt.u32 %%p1, %%i, %%iters;\n\t@%%p1 bra %s;\n"
	    "%s_DONE:\n\tbarrier.sync 0;\n",
	    label, label);
}

static void put_clear(struct writer *w)
{
	for (unsigned int v = 0; v < w->p->n_locs; v++) {
		put(w, "\tst.weak%s%s%s [%%at%u], ", space(w), width(w)->vec, width(w)->bits, v);
		put_value(w, 'c', 0);
		put(w, ";\n");
	}
}

static void put_copy_out(struct writer *w)
{
	for (unsigned int v = 0; v < w->p->n_locs; v++) {
		put(w, "\tld.weak%s%s%s ", space(w), width(w)->vec, width(w)->bits);
		put_value(w, 'v', 0);
		put(w, ", [%%at%u];\n", v);
		put_seen(w, w->p->n_regs + v, 0);
	}
}

/* The warps of a group wait for each other, but not for ever. In one warp there is nobody to wait for. */
static void put_rendezvous(struct writer *w)
{
	unsigned int n = w->c->place == LITMUS_GRID ? w->p->n_threads : 1;

	if (w->c->place == LITMUS_WARP)
		return;
	put(w,
	    "\tmov.u32 %%t0, %%tid.x;\n\tand.b32 %%t0, %%t0, 31;\n\tsetp.ne.u32 %%p1, %%t0, 0;\n"
	    "\t@%%p1 bra MET;\n"
	    "\tmad.lo.u32 %%t1, %%i, %%groups, %%group;\n\tmul.wide.u32 %%d0, %%t1, 4;\n"
	    "\tadd.u64 %%d0, %%d0, %%sync;\n"
	    "\tmov.u32 %%t2, %%ntid.x;\n\tshr.u32 %%t2, %%t2, 5;\n\tmul.lo.u32 %%t2, %%t2, %u;\n"
	    "\tred.relaxed.gpu.global.add.u32 [%%d0], 1;\n\tmov.u32 %%t3, 0;\n"
	    "WAIT:\n"
	    "\tld.relaxed.gpu.global.u32 %%t4, [%%d0];\n\tadd.u32 %%t3, %%t3, 1;\n"
	    "\tsetp.ge.u32 %%p1, %%t4, %%t2;\n\t@%%p1 bra MET;\n"
	    "\tand.b32 %%t5, %%t3, %%doze;\n\tsetp.ne.u32 %%p1, %%t5, 0;\n\t@%%p1 bra STILL;\n"
	    "\tnanosleep.u32 0;\n"
	    "STILL:\n"
	    "\tsetp.lt.u32 %%p1, %%t3, %%patience;\n\t@%%p1 bra WAIT;\n"
	    "MET:\n\tbar.warp.sync 0xffffffff;\n",
	    n);
}

/* Instances of one warp have one hash where %skew says so: its lanes then stay together. */
static void put_hash(struct writer *w)
{
	put(w, "\tshr.u32 %%t0, %%k, %%skew;\n\tmad.lo.u32 %%t0, %%t0, 4, %%role;\n"
	       "\tadd.u32 %%t0, %%t0, %%seed;\n\tmul.lo.u32 %%t0, %%t0, 0x9e3779b1;\n"
	       "\tshr.u32 %%t1, %%t0, 15;\n\txor.b32 %%t0, %%t0, %%t1;\n"
	       "\tmul.lo.u32 %%t0, %%t0, 0x85ebca77;\n\tshr.u32 %%t1, %%t0, 13;\n"
	       "\txor.b32 %%hash, %%t0, %%t1;\n");
}

static void put_loop(struct writer *w)
{
	put(w, "\tmov.u32 %%i, 0;\nAGAIN:\n"
	       "\tmad.lo.u32 %%k, %%i, %%groups, %%group;\n\tmad.lo.u32 %%k, %%k, %%per, %%idx;\n");
	put_addresses(w);
	put_hash(w);
	put_rendezvous(w);
	for (unsigned int t = 0; t < w->p->n_threads; t++)
		put(w, "\tsetp.eq.u32 %%p1, %%role, %u;\n\t@%%p1 bra THREAD%u;\n", t, t);
	put(w, "\tbra NEXT;\n");
	for (unsigned int t = 0; t < w->p->n_threads; t++)
		put_thread(w, t);
	put(w, "NEXT:\n\tbar.warp.sync 0xffffffff;\n\tadd.u32 %%i, %%i, 1;\n"
	       "\tsetp.lt.u32 %%p1, %%i, %%iters;\n\t@%%p1 bra AGAIN;\n");
}

bool litmus_ptx(const struct litmus_case *c, const struct litmus_program *p, char *out, size_t size)
{
	struct writer writer = {.out = out, .size = size, .c = c, .p = p}, *w = &writer;

	put_declarations(w);
	put_loads_of_params(w);
	put_values(w);
	put_who_am_i(w);
	if (c->space == LITMUS_SHARED)
		put(w, "\tmov.u64 %%mem, locs;\n");
	if (c->space == LITMUS_GENERIC)
		put(w, "\tmov.u64 %%d0, locs;\n\tcvta.shared.u64 %%mem, %%d0;\n");
	if (c->space != LITMUS_GLOBAL)
		put_each_shared(w, "CLEAR", put_clear);
	put_loop(w);
	if (c->space != LITMUS_GLOBAL) {
		put(w, "\tbarrier.sync 0;\n");
		put_each_shared(w, "OUT", put_copy_out);
	}
	put(w, "\tret;\n}\n");
	return w->n < size;
}
