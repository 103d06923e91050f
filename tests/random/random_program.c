/*
 * random_program.c - see random_program.h.
 *
 * Threads meet in few ways, each of them safe by its form: own memory is written by its thread alone; a slot of shared memory is read by
 * others between two barriers only; counters take one commutative operation each; a warp-wide instruction names as members
 * the lanes that are known to come, %m of the depth: all at first, in an arm of a branch those that a vote before it counted, in
 * a loop those that another vote lets go on.
 */
#include "tests/random/random_program.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define MAX_DEPTH 3

static struct maker {
	struct random_program *p;
	uint64_t rng;
	unsigned int n_labels, left; /* statements still to be made */
	bool grid;		     /* it reads the ids of its block and the size of its grid */
	bool no_warps, may_leave;    /* no warp-wide instructions; threads may leave early */
} m;

/* Where a statement stands. */
struct place {
	unsigned int depth;
	bool uniform; /* all threads of the block come here */
	bool members; /* %m of the depth are the lanes that come here */
};

uint64_t random_next(uint64_t *state)
{
	uint64_t high;

	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	high = *state >> 32 << 32;
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return high | *state >> 32;
}

static unsigned int below(unsigned int n)
{
	return (unsigned int)((random_next(&m.rng) >> 20) % n);
}

static bool one_in(unsigned int n)
{
	return below(n) == 0;
}

static void __attribute__((format(printf, 2, 3))) line(bool may_drop, const char *format, ...)
{
	struct random_program *p = m.p;
	va_list args;

	if (p->n_lines == RANDOM_MAX_LINES)
		return;
	va_start(args, format);
	vsnprintf(p->lines[p->n_lines], sizeof(p->lines[0]), format, args);
	va_end(args);
	p->may_drop[p->n_lines++] = may_drop;
}

static void end_block(unsigned int first)
{
	struct random_program *p = m.p;

	if (p->n_blocks == RANDOM_MAX_BLOCKS)
		return;
	p->blocks[p->n_blocks].first = first;
	p->blocks[p->n_blocks++].end = p->n_lines;
}

/* ---- one instruction ---- */

/*
 * Opcode, a choice where braces are, and operands: p h r d registers of 1, 16, 32, 64 bits; H R D the same or a number; n a count, k one
 * below the width when it is a number, for the assembler folds others otherwise than the instruction does; t a table of lop3. The
 * first is the result.
 */
static const char *const forms[] = {
	"{add,sub,min,max,mul.lo,mul.hi}.{u32,s32} rRR",
	"{add,sub,min,max,mul.lo,mul.hi,div,rem}.{u64,s64} dDD",
	"{add,sub,min,max,mul.lo,mul.hi,div,rem}.{u16,s16} hHH",
	"{div,rem,add,sub}.{u32,s32} rRR",
	"{add,sub}.sat.s32 rRR",
	"mul.wide.{u32,s32} drR",
	"mul.wide.{u16,s16} rhH",
	"mad.{lo,hi}.{u32,s32} rrRr",
	"mad.{lo,hi}.{u64,s64} ddDd",
	"mad.wide.{u32,s32} drRd",
	"sad.{u32,s32} rrrr",
	"{abs,neg}.{s32} rr",
	"{abs,neg}.{s64} dd",
	"{and,or,xor}.b32 rRR",
	"{and,or,xor}.b64 dDD",
	"{and,or,xor}.b16 hHH",
	"{and,or,xor}.pred ppp",
	"not.b32 rr",
	"not.b64 dd",
	"not.pred pp",
	"mov.pred pp",
	"mov.b32 rR",
	"mov.b64 dD",
	"{shl.b32,shr.u32,shr.s32} rrn",
	"{shl.b64,shr.u64,shr.s64} ddn",
	"{shl.b16,shr.u16,shr.s16} hhn",
	"shf.{l,r}.{wrap,clamp}.b32 rrrn",
	"bfe.{u32,s32} rrkk",
	"bfe.{u64,s64} ddkk",
	"bfi.b32 rrrkk",
	"bfi.b64 dddkk",
	"{popc,clz,brev}.b32 rr",
	"{popc,clz}.b64 rd",
	"brev.b64 dd",
	"bfind.{u32,s32} rr",
	"bfind.{u64,s64} rd",
	"prmt.b32 rrrR",
	"lop3.b32 rrrrt",
	"dp4a.{u32,s32}.{u32,s32} rrrr",
	"setp.{eq,ne,lt,le,gt,ge}.{u32,s32} prR",
	"setp.{eq,ne,lt,le,gt,ge}.{u64,s64} pdD",
	"setp.{lt,le,gt,ge}.{u16,s16} phH",
	"setp.{eq,ne,lt,ge}.{and,or,xor}.{u32,s32} PrRp",
	"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.f32 prr",
	"setp.{eq,ne,lt,le,gt,ge,equ,neu,ltu,leu,gtu,geu,num,nan}.f64 Pdd",
	"set.{eq,lt,gt}.{u32,f32}.{u32,s32,f32} rrr",
	"selp.b32 rRRp",
	"selp.b64 dDDp",
	"slct.{u32,f32}.s32 rrrr",
	"cvt.{u8,s8,u16,s16}.{u32,s32} rr",
	"cvt.sat.{u8,s8,u16,s16}.{u32,s32} rr",
	"cvt.{u64,s64}.{u32,s32} dr",
	"cvt.{u32,s32}.{u64,s64} rd",
	"cvt.sat.{u32,s32}.s64 rd",
	"cvt.{u16,s16}.{u32,s32} hr",
	"cvt.{u32,s32}.{u16,s16} rh",
	"cvt.{rn,rz,rm,rp}.f32.{u32,s32} rr",
	"cvt.{rn,rz,rm,rp}.f32.{u64,s64} rd",
	"cvt.{rn,rz}.f64.{u64,s64} dd",
	"cvt.rn.f64.{u32,s32} dr",
	"cvt.{rni,rzi,rmi,rpi}.{u32,s32}.f32 rr",
	"cvt.{rni,rzi}.{u64,s64}.f64 dd",
	"cvt.rzi.{u64,s64}.f32 dr",
	"cvt.{rn,rz,rm,rp}.f32.f64 rd",
	"cvt.f64.f32 dr",
	"{add,sub,mul,min,max}.f32 rrr",
	"{add,mul}.{rn,rz,rm,rp}.f32 rrr",
	"{add,mul}.sat.f32 rrr",
	"fma.{rn,rz,rm,rp}.f32 rrrr",
	"div.rn.f32 rrr",
	"{add,sub,mul,min,max}.f64 ddd",
	"{add,mul}.{rz,rp}.f64 ddd",
	"fma.{rn,rm}.f64 dddd",
	"{abs,neg}.f32 rr",
	"{abs,neg}.f64 dd",
};

#define N_FORMS (sizeof(forms) / sizeof(*forms))

/* One of "{a,b,c}" for each pair of braces. */
static const char *choose(const char *form, char *out, size_t size)
{
	size_t n = 0;

	for (; *form != ' ' && n + 1 < size; form++) {
		const char *end = strchr(form, '}');
		unsigned int choices = 1, k;

		if (*form != '{') {
			out[n++] = *form;
			continue;
		}
		for (const char *s = form; s < end; s++)
			choices += *s == ',';
		for (k = below(choices), form++; k; form++)
			k -= *form == ',';
		while (*form != ',' && *form != '}' && n + 1 < size)
			out[n++] = *form++;
		form = end;
	}
	out[n] = 0;
	return form + 1;
}

static uint64_t number(unsigned int bits)
{
	static const uint64_t edges[] = {0,	     1,		 2,	     5,		 31,
					 32,	     255,	 0x7fff,     0x7fffffff, 0x80000000,
					 0xffffffff, 0x3f800000, UINT64_MAX, INT64_MAX};
	uint64_t v = one_in(2) ? edges[below(sizeof(edges) / sizeof(*edges))]
			       : random_next(&m.rng) >> below(64);

	/* an immediate of 16 bits is written as one that fits with either sign */
	return bits == 16 ? v & 0x7fff : bits == 32 ? v & UINT32_MAX : v;
}

static void put_operand(char letter, char *out, size_t size)
{
	bool literal = one_in(3);

	switch (letter) {
	case 'p': snprintf(out, size, "%%p%u", below(6)); return;
	case 'P':
		if (one_in(2))
			snprintf(out, size, "%%p%u", below(6));
		else
			snprintf(out, size, "%%p%u|%%p%u", below(3), 3 + below(3));
		return;
	case 'n':
	case 'k':
		if (literal)
			snprintf(out, size, "%u", below(letter == 'n' ? 70 : 32));
		else
			snprintf(out, size, "%%r%u", below(16));
		return;
	case 't': snprintf(out, size, "%u", below(256)); return;
	default: break;
	}
	if (literal && letter < 'a')
		snprintf(out, size, "0x%llx",
			 (unsigned long long)number(letter == 'H'   ? 16
						    : letter == 'R' ? 32
								    : 64));
	else if (letter == 'h' || letter == 'H')
		snprintf(out, size, "%%h%u", below(8));
	else if (letter == 'r' || letter == 'R')
		snprintf(out, size, "%%r%u", below(16));
	else
		snprintf(out, size, "%%d%u", below(8));
}

/*
 * Of two NaNs double precision gives the last one, and of a sum the assembler may turn the operands about, or leave a sign to the next
 * instruction; in single precision it makes a move of min x, a, a, and a part of the next instruction of abs. So every NaN that
 * was computed becomes the same here.
 */
static void put_one_nan(const char *text, const char *type, const char *nan)
{
	const char *result = strchr(text, '%');
	int n = (int)strcspn(result, ",");

	line(false, "setp.nan.f%s %%q4, %.*s, %.*s;", type, n, result, n, result);
	line(false, "@%%q4 mov.b%s %.*s, %s;", type, n, result, nan);
}

/*
 * A register that a float was computed into is an integer's from here on: where an instruction takes it for one of another size, a
 * count or what is stored, the assembler would convert the float's value.
 */
static void put_integer(const char *name)
{
	line(false, "not.b%s %s, %s;", name[1] == 'd' ? "64" : "32", name, name);
}

static void put_plain(void)
{
	char text[100], guard[8] = "";
	const char *letters = choose(forms[below(N_FORMS)], text, sizeof(text));

	if (one_in(6))
		snprintf(guard, sizeof(guard), "@%s%%p%u ", one_in(2) ? "!" : "", below(6));
	/* of set.f32 the assembler converts what is there already, where the guard is false */
	if (!strncmp(text, "set.", 4))
		guard[0] = 0;
	for (const char *s = letters; *s; s++) {
		char operand[24];

		put_operand(*s, operand, sizeof(operand));
		/* the first source is a register: nothing is known before the program runs */
		if (s == letters + 1 && operand[0] != '%')
			snprintf(operand, sizeof(operand), "%%%c%u", *s | 32, below(8));
		if (strchr("nk", *s) && operand[0] == '%' && letters[0] != 'r')
			put_integer(operand);
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
			 s == letters ? " " : ", ", operand);
	}
	line(true, "%s%s;", guard, text);
	if (letters[0] == 'd' && strstr(text, ".f64 "))
		put_one_nan(text, "64", "0x7ff8000000000000");
	if (letters[0] == 'r' && strstr(text, ".f32 ") && strncmp(text, "set", 3) &&
	    strncmp(text, "cvt", 3))
		put_one_nan(text, "32", "0x7fffffff");
}

/* A sum of several words: nothing may stand between its parts, that the flag is what they mean. */
static void put_carry(void)
{
	static const char *const first[] = {"add.cc", "sub.cc", "mad.lo.cc", "mad.hi.cc"};
	static const char *const then[] = {"addc.cc", "subc.cc", "madc.lo.cc", "madc.hi.cc"};
	static const char *const last[] = {"addc", "subc", "madc.lo", "madc.hi"};
	bool wide = one_in(3);
	const char *type = wide ? "u64" : one_in(2) ? "u32" : "s32";
	unsigned int from = m.p->n_lines, n = 2 + below(3);

	for (unsigned int i = 0; i < n; i++) {
		unsigned int k = below(4), size = wide ? 8 : 16;
		const char *op = i == 0 ? first[k] : i + 1 < n ? then[k] : last[k];
		char c = wide ? 'd' : 'r';

		if (k < 2)
			line(false, "%s.%s %%%c%u, %%%c%u, %%%c%u;", op, type, c, below(size), c,
			     below(size), c, below(size));
		else
			line(false, "%s.%s %%%c%u, %%%c%u, %%%c%u, %%%c%u;", op, type, c,
			     below(size), c, below(size), c, below(size), c, below(size));
	}
	end_block(from);
}

/* ---- memory ---- */

static const struct {
	const char *type;
	char reg;
	unsigned int bytes, n;
} accesses[] = {{"u8", 'r', 1, 1},     {"s8", 'r', 1, 1},     {"u16", 'h', 2, 1},
		{"s16", 'r', 2, 1},    {"b32", 'r', 4, 1},    {"s32", 'd', 4, 1},
		{"b64", 'd', 8, 1},    {"v2.b32", 'r', 4, 2}, {"v4.b32", 'r', 4, 4},
		{"v2.b64", 'd', 8, 2}, {"v4.u8", 'r', 1, 4},  {"v2.u16", 'h', 2, 2}};

static unsigned int reg_bytes(char reg)
{
	return reg == 'd' ? 8 : reg == 'r' ? 4 : 2;
}

static void put_access(const char *op, const char *base, unsigned int room, bool store)
{
	unsigned int k = below(sizeof(accesses) / sizeof(*accesses));
	unsigned int n = accesses[k].n, bytes = accesses[k].bytes * n;
	unsigned int at = below(room / bytes) * bytes;
	unsigned int r = below(accesses[k].reg == 'r' ? 16 - n : 8 - n);
	char value[64] = "";

	for (unsigned int i = 0; i < n; i++) {
		char name[8];

		snprintf(name, sizeof(name), "%%%c%u", accesses[k].reg, r + i);
		if (store && accesses[k].bytes < reg_bytes(accesses[k].reg))
			put_integer(name);
		snprintf(value + strlen(value), sizeof(value) - strlen(value), "%s%s",
			 i ? ", " : "", name);
	}
	if (store)
		line(true, "%s.%s [%s+%u], %s%s%s;", op, accesses[k].type, base, at,
		     n > 1 ? "{" : "", value, n > 1 ? "}" : "");
	else
		line(true, "%s.%s %s%s%s, [%s+%u];", op, accesses[k].type, n > 1 ? "{" : "", value,
		     n > 1 ? "}" : "", base, at);
}

/* At a place that a register says: bits 4.. of the offset, so that each access is aligned. */
static void put_dynamic(void)
{
	unsigned int first = m.p->n_lines, which = below(3);

	line(false, "and.b32 %%t0, %%r%u, %u;", below(16), which == 2 ? 0x30u : 0xf0u);
	line(false, "cvt.u64.u32 %%a4, %%t0;");
	line(false, "add.u64 %%a4, %%a4, %%%s;", which == 0 ? "a0" : which == 1 ? "a1" : "b0");
	if (which == 0)
		put_access("ld.global", "%a4", 16, false);
	else if (which == 1)
		put_access("st.global", "%a4", 16, true);
	else if (one_in(2))
		put_access("st.local", "%a4", 16, true);
	else
		put_access("ld.local", "%a4", 16, false);
	end_block(first);
}

static void put_memory(void)
{
	switch (below(6)) {
	case 0: put_access("ld.global", "%a0", RANDOM_THREAD_BYTES, false); break;
	case 1: put_access("st.global", "%a1", RANDOM_THREAD_BYTES, true); break;
	case 2: put_access("ld.global", "%a1", RANDOM_THREAD_BYTES, false); break;
	case 3: put_access("st.local", "%b0", 64, true); break;
	case 4: put_access("ld.local", "%b0", 64, false); break;
	default: put_dynamic(); break;
	}
}

static void put_own_shared(void)
{
	bool store = one_in(2);

	put_access(store ? "st.shared" : "ld.shared", "%s0", 32, store);
}

/* One operation for each counter: the order does not count. */
static void put_counter(void)
{
	static const char *const ops[] = {"add.u32", "min.s32", "max.u32", "and.b32", "or.b32",
					  "xor.b32", "add.u64", "min.u64", "max.s64"};
	unsigned int k = below(9);
	bool shared = one_in(2);

	if (k < 6 && one_in(4))
		line(true, "@%%p%u red.%s.%s [%%%s+%u], %%r%u;", below(6),
		     shared ? "shared" : "global", ops[k], shared ? "s2" : "a2", k * 8, below(16));
	else
		line(true, "red.%s.%s [%%%s+%u], %%%c%u;", shared ? "shared" : "global", ops[k],
		     shared ? "s2" : "a2", k * 8, k < 6 ? 'r' : 'd', below(k < 6 ? 16 : 8));
}

/* What one thread wrote before the first barrier another reads before the second. */
static void put_exchange(void)
{
	unsigned int first = m.p->n_lines, threads = m.p->threads;

	line(true, "st.shared.v2.b32 [%%s0], {%%r%u, %%r%u};", below(16), below(16));
	line(true, "st.shared.b64 [%%s0+8], %%d%u;", below(8));
	line(false, one_in(2) ? "bar.sync 0;" : "barrier.sync 0;");
	line(false, "add.u32 %%t0, %%t2, %u;", below(threads));
	if (one_in(2))
		line(true, "add.u32 %%t0, %%t0, %%r%u;", below(16));
	line(false, "rem.u32 %%t0, %%t0, %u;", threads);
	line(false, "mad.lo.u32 %%t1, %%t0, 32, %%s1;");
	line(true, "ld.shared.v2.b32 {%%r%u, %%r%u}, [%%t1];", below(8), 8 + below(8));
	line(true, "ld.shared.b64 %%d%u, [%%t1+8];", below(8));
	line(false, "bar.sync 0;");
	end_block(first);
}

/* ---- warps ---- */

static void put_shfl(const struct place *at)
{
	static const char *const modes[] = {"up", "down", "bfly", "idx"};
	static const unsigned int segments[] = {0, 0x1000, 0x1800, 0x1c00, 0x1e00};
	unsigned int k = below(4), clamp = segments[below(5)] | (k == 0 ? 0 : 31);
	unsigned int first = m.p->n_lines;
	char result[16];

	snprintf(result, sizeof(result), one_in(2) ? "%%r%u" : "%%r%u|%%p%u", below(16), below(6));
	if (at->depth == 0 || !at->members) {
		if (one_in(2))
			line(true, "shfl.sync.%s.b32 %s, %%r%u, %u, %u, %%m0;", modes[k], result,
			     below(16), below(33), clamp);
		else
			line(true, "shfl.sync.%s.b32 %s, %%r%u, %%r%u, %u, %%m0;", modes[k], result,
			     below(16), below(16), clamp);
		return;
	}
	/* from the first of the members: others may not be here */
	line(false, "brev.b32 %%t0, %%m%u;", at->depth);
	line(false, "clz.b32 %%t0, %%t0;");
	line(false, "shfl.sync.idx.b32 %s, %%r%u, %%t0, 31, %%m%u;", result, below(16), at->depth);
	end_block(first);
}

static void put_warp_wide(const struct place *at)
{
	static const char *const votes[] = {"all", "any", "uni"};
	static const char *const reductions[] = {"add.u32", "add.s32", "min.u32",
						 "min.s32", "max.u32", "max.s32",
						 "and.b32", "or.b32",  "xor.b32"};

	switch (below(6)) {
	case 0:
		line(true, "vote.sync.%s.pred %%p%u, %s%%p%u, %%m%u;", votes[below(3)], below(6),
		     one_in(3) ? "!" : "", below(6), at->depth);
		break;
	case 1:
		line(true, "vote.sync.ballot.b32 %%r%u, %%p%u, %%m%u;", below(16), below(6),
		     at->depth);
		break;
	case 2:
		line(true, "redux.sync.%s %%r%u, %%r%u, %%m%u;", reductions[below(9)], below(16),
		     below(16), at->depth);
		break;
	case 3:
		if (one_in(2))
			line(true, "match.any.sync.b32 %%r%u, %%r%u, %%m%u;", below(16), below(16),
			     at->depth);
		else
			line(true, "match.all.sync.b64 %%r%u|%%p%u, %%d%u, %%m%u;", below(16),
			     below(6), below(8), at->depth);
		break;
	case 4: line(true, "bar.warp.sync %%m%u;", at->depth); break;
	default: put_shfl(at); break;
	}
}

/* ---- grids ---- */

static void put_id(void)
{
	line(true, "mov.u32 %%r%u, %%%s.%c;", below(16), one_in(2) ? "ctaid" : "nctaid",
	     "xyz"[below(3)]);
}

/* Who leaves is no member any more, at this depth and those around it. Without warp-wide instructions nobody asks. */
static void put_leave(const struct place *at)
{
	unsigned int first = m.p->n_lines, p = below(6);

	if (!m.no_warps) {
		line(false, "vote.sync.ballot.b32 %%t3, %%p%u, %%m%u;", p, at->depth);
		line(false, "not.b32 %%t3, %%t3;");
		for (unsigned int d = 0; d <= at->depth; d++)
			line(false, "and.b32 %%m%u, %%m%u, %%t3;", d, d);
	}
	line(false, "@%%p%u %s;", p, one_in(2) ? "ret" : "exit");
	end_block(first);
	m.p->leaves_early = true;
}

static bool may_leave_here(const struct place *at)
{
	return m.may_leave && (m.no_warps || (at->uniform && at->members));
}

/* ---- control ---- */

static void put_statements(const struct place *at, unsigned int n);

static void put_if(const struct place *at)
{
	struct place arm = {at->depth + 1, false, at->members};
	unsigned int first = m.p->n_lines, label = m.n_labels++, p = below(6);

	if (at->members)
		line(false, "vote.sync.ballot.b32 %%m%u, %%p%u, %%m%u;", arm.depth, p, at->depth);
	line(false, "@!%%p%u bra E%u;", p, label);
	put_statements(&arm, 1 + below(6));
	line(false, "bra X%u;", label);
	line(false, "E%u:", label);
	if (at->members) {
		line(false, "not.b32 %%t3, %%m%u;", arm.depth);
		line(false, "and.b32 %%m%u, %%m%u, %%t3;", arm.depth, at->depth);
	}
	if (one_in(2))
		put_statements(&arm, 1 + below(6));
	line(false, "X%u:", label);
	end_block(first);
}

/* As often as a number says that is the same for all, or as each lane's register says. */
static void put_loop(const struct place *at)
{
	bool same = one_in(2);
	struct place body = {at->depth + 1, same && at->uniform, at->members};
	unsigned int first = m.p->n_lines, label = m.n_labels++, d = body.depth;
	bool breaks = !same && one_in(2);

	body.members = at->members && !breaks;
	if (same)
		line(false, "mov.u32 %%c%u, %u;", d, 2 + below(2));
	else
		line(false, "and.b32 %%c%u, %%r%u, 3;", d, below(16));
	if (body.members)
		line(false, "mov.u32 %%m%u, %%m%u;", d, at->depth);
	line(false, "B%u:", label);
	put_statements(&body, 1 + below(6));
	if (breaks) {
		line(false, "@%%p%u bra X%u;", below(6), label);
		put_statements(&body, 1 + below(3));
	}
	line(false, "setp.ne.u32 %%q%u, %%c%u, 0;", d, d);
	line(false, "sub.u32 %%c%u, %%c%u, 1;", d, d);
	if (body.members && !same)
		line(false, "vote.sync.ballot.b32 %%m%u, %%q%u, %%m%u;", d, d, d);
	line(false, "@%%q%u bra B%u;", d, label);
	line(false, "X%u:", label);
	end_block(first);
}

static void put_statement(const struct place *at)
{
	unsigned int k = below(100);

	m.left--;
	if (m.grid && one_in(20))
		put_id();
	else if (one_in(16) && may_leave_here(at))
		put_leave(at);
	else if (k < 5)
		put_carry();
	else if (k < 14)
		put_memory();
	else if (k < 17)
		put_own_shared();
	else if (k < 20)
		put_counter();
	else if (k < 24 && at->uniform)
		put_exchange();
	else if (k < 34 && at->members && !m.no_warps)
		put_warp_wide(at);
	else if (k < 41 && at->depth < MAX_DEPTH)
		put_if(at);
	else if (k < 46 && at->depth < MAX_DEPTH)
		put_loop(at);
	else
		put_plain();
}

static void put_statements(const struct place *at, unsigned int n)
{
	for (; n && m.left; n--)
		put_statement(at);
}

/* ---- the frame ---- */

static void put_head(void)
{
	static const char *const head[] = {
		".version 8.6",
		".target sm_90",
		".address_size 64",
		".visible .entry k(.param .u64 p0, .param .u64 p1, .param .u64 p2)",
		"{",
		".reg .pred %p<6>;",
		".reg .pred %q<5>;",
		".reg .b16 %h<8>;",
		".reg .b32 %r<16>;",
		".reg .b64 %d<8>;",
		".reg .b64 %a<5>;",
		".reg .b64 %b<1>;",
		".reg .b32 %s<3>;",
		".reg .b32 %t<4>;",
		".reg .b32 %c<5>;",
		".reg .b32 %m<5>;",
		".local .align 16 .b8 lo[64];",
	};

	for (unsigned int i = 0; i < sizeof(head) / sizeof(*head); i++)
		line(false, "%s", head[i]);
	line(false, ".shared .align 16 .b8 sh[%u];", m.p->threads * 32 + RANDOM_COUNTER_BYTES);
}

static void put_addresses(void)
{
	line(false, "ld.param.u64 %%a0, [p0];");
	line(false, "ld.param.u64 %%a1, [p1];");
	line(false, "ld.param.u64 %%a2, [p2];");
	if (m.grid) {
		line(false, "mov.u32 %%t0, %%ctaid.z;");
		line(false, "mov.u32 %%t1, %%nctaid.y;");
		line(false, "mov.u32 %%t2, %%ctaid.y;");
		line(false, "mad.lo.u32 %%t0, %%t0, %%t1, %%t2;");
		line(false, "mov.u32 %%t1, %%nctaid.x;");
		line(false, "mov.u32 %%t2, %%ctaid.x;");
		line(false, "mad.lo.u32 %%t0, %%t0, %%t1, %%t2;");
	} else {
		line(false, "mov.u32 %%t0, %%ctaid.x;");
	}
	line(false, "mov.u32 %%t1, %%ntid.x;");
	line(false, "mov.u32 %%t2, %%tid.x;");
	line(false, "mad.lo.u32 %%t0, %%t0, %%t1, %%t2;");
	line(false, "mad.wide.u32 %%a0, %%t0, %d, %%a0;", RANDOM_THREAD_BYTES);
	line(false, "mad.wide.u32 %%a1, %%t0, %d, %%a1;", RANDOM_THREAD_BYTES);
	line(false, "mov.u64 %%b0, lo;");
	line(false, "mov.u32 %%s1, sh;");
	line(false, "mad.lo.u32 %%s0, %%t2, 32, %%s1;");
	line(false, "add.u32 %%s2, %%s1, %u;", m.p->threads * 32);
	line(false, "mov.u32 %%m0, 0xffffffff;");
}

/* Every register, and all memory that is read, begins with a known value. */
static void put_values(void)
{
	for (unsigned int i = 0; i < 16; i += 4)
		line(false, "ld.global.v4.b32 {%%r%u, %%r%u, %%r%u, %%r%u}, [%%a0+%u];", i, i + 1,
		     i + 2, i + 3, i * 4);
	for (unsigned int i = 0; i < 8; i += 2)
		line(false, "ld.global.v2.b64 {%%d%u, %%d%u}, [%%a0+%u];", i, i + 1, 64 + i * 8);
	for (unsigned int i = 0; i < 8; i++)
		line(false, "ld.global.u16 %%h%u, [%%a0+%u];", i, 128 + i * 2);
	for (unsigned int i = 0; i < 6; i++)
		line(false, "setp.lt.s32 %%p%u, %%r%u, 0;", i, i);
	for (unsigned int i = 0; i < 64; i += 16)
		line(false, "st.local.v4.b32 [%%b0+%u], {%%r%u, %%r%u, %%r%u, %%r%u};", i, i / 16,
		     i / 8, i / 4, i / 16 + 8);
	line(false, "st.shared.v4.b32 [%%s0], {%%r0, %%r1, %%r2, %%r3};");
	line(false, "st.shared.v4.b32 [%%s0+16], {%%r4, %%r5, %%r6, %%r7};");
	/* 16 counters of 8 bytes, each by one thread */
	line(false, "setp.lt.u32 %%q0, %%t2, 16;");
	line(false, "mad.lo.u32 %%t0, %%t2, 8, %%s2;");
	line(false, "cvt.u64.u32 %%a4, %%t2;");
	line(false, "@%%q0 st.shared.b64 [%%t0], %%a4;");
	line(false, "bar.sync 0;");
}

/* All that the program has computed becomes output; the shared counters, too, of all threads. */
static void put_tail(void)
{
	line(false, "bar.sync 0;");
	line(false, "and.b32 %%t0, %%t2, 15;");
	line(false, "mad.lo.u32 %%t0, %%t0, 8, %%s2;");
	line(false, "ld.shared.b64 %%a4, [%%t0];");
	line(false, "bar.sync 0;");
	line(false, "st.global.b64 [%%a1+144], %%a4;");
	for (unsigned int i = 0; i < 6; i++) {
		line(false, "selp.b32 %%t0, 1, 0, %%p%u;", i);
		line(false, "st.global.u8 [%%a1+%u], %%t0;", 152 + i);
	}
	for (unsigned int i = 0; i < 16; i++)
		line(false, "st.global.b32 [%%a1+%u], %%r%u;", i * 4, i);
	for (unsigned int i = 0; i < 8; i++)
		line(false, "st.global.b64 [%%a1+%u], %%d%u;", 64 + i * 8, i);
	for (unsigned int i = 0; i < 8; i++)
		line(false, "st.global.u16 [%%a1+%u], %%h%u;", 128 + i * 2, i);
}

static void begin(struct random_program *p, uint64_t seed)
{
	memset(p, 0, sizeof(*p));
	memset(&m, 0, sizeof(m));
	m.p = p;
	m.rng = seed * UINT64_C(0x9e3779b97f4a7c15);
}

static void make(struct random_program *p)
{
	struct place top = {0, true, !m.no_warps}, alone = {0, false, false};

	p->threads = 32 * (1 + below(3));
	put_head();
	put_addresses();
	put_values();
	m.left = 20 + below(80);
	while (m.left)
		put_statement(&top);
	put_tail();
	/* some leave, the others go on alone */
	line(true, "@%%p%u %s;", below(6), one_in(2) ? "ret" : "exit");
	m.left = 10;
	put_statements(&alone, 10);
	line(false, "st.global.b32 [%%a1+160], %%r%u;", below(16));
	line(false, "ret;");
	line(false, "}");
}

void random_program_make(struct random_program *p, uint64_t seed)
{
	begin(p, seed);
	p->grid[0] = RANDOM_N_BLOCKS;
	p->grid[1] = p->grid[2] = 1;
	make(p);
}

void random_program_make_grid(struct random_program *p, uint64_t seed)
{
	begin(p, seed);
	m.grid = true;
	m.no_warps = one_in(3);
	m.may_leave = !one_in(3);
	p->grid[0] = 1 + below(4);
	p->grid[1] = 1 + below(3);
	p->grid[2] = 1 + below(2);
	make(p);
}

void random_program_text(const struct random_program *p, const bool *dropped, char *out,
			 size_t size)
{
	size_t n = 0;

	for (unsigned int i = 0; i < p->n_lines && n < size; i++) {
		if (!dropped || !dropped[i])
			n += (size_t)snprintf(out + n, size - n, "%s\n", p->lines[i]);
	}
}
