/*
 * test_emu_members.c - warp-wide operations whose lanes name different members: each group is answered by
 * itself, wherever its lanes come from and whenever.
 *
 * Random lanes against a reference that knows only groups: each lane gets a member mask, one of three arms
 * with the operation at an instruction of its own, a delay in that arm, or leaves the kernel after its
 * delay. Behind the arms all do it once more, with other masks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/emu_harness.h"

#define N_THREADS 80 /* the last warp is half */
#define N_WARPS	  3
#define N_ROUNDS  2
#define N_RUNS	  60
#define ARM_EXIT  3

/* One lane of one round, as the kernel reads it. */
struct lane {
	uint32_t members, value;
	uint64_t wide;
	uint32_t vote, source; /* source: a lane of its group that lives */
	uint32_t arm, delay;   /* of the first round */
};

struct result {
	uint32_t d, p;
};

/* What the lanes of a group come to. */
struct group {
	const struct lane *lanes; /* of the warp */
	uint32_t live;		  /* of the group */
};

struct operation {
	const char *text;
	struct result (*want)(const struct group *g, unsigned int lane);
};

/* ---- the reference ---- */

static uint32_t votes(const struct group *g)
{
	uint32_t yes = 0;

	for (unsigned int i = 0; i < 32; i++) {
		if (g->live >> i & 1 && g->lanes[i].vote)
			yes |= UINT32_C(1) << i;
	}
	return yes;
}

static struct result want_ballot(const struct group *g, unsigned int lane)
{
	return (struct result){.d = votes(g)};
}

static struct result want_all(const struct group *g, unsigned int lane)
{
	return (struct result){.p = votes(g) == g->live};
}

static struct result want_any(const struct group *g, unsigned int lane)
{
	return (struct result){.p = votes(g) != 0};
}

static struct result want_uni(const struct group *g, unsigned int lane)
{
	return (struct result){.p = votes(g) == 0 || votes(g) == g->live};
}

static uint32_t equals(const struct group *g, unsigned int lane, uint64_t bits)
{
	uint32_t same = 0;

	for (unsigned int i = 0; i < 32; i++) {
		if (g->live >> i & 1 && (g->lanes[i].wide & bits) == (g->lanes[lane].wide & bits))
			same |= UINT32_C(1) << i;
	}
	return same;
}

static struct result want_match_any32(const struct group *g, unsigned int lane)
{
	return (struct result){.d = equals(g, lane, UINT32_MAX)};
}

static struct result want_match_any64(const struct group *g, unsigned int lane)
{
	return (struct result){.d = equals(g, lane, UINT64_MAX)};
}

static struct result want_match_all(const struct group *g, unsigned int lane)
{
	bool all = equals(g, lane, UINT64_MAX) == g->live;

	return (struct result){.d = all ? g->live : 0, .p = all};
}

static uint32_t fold(const struct group *g, uint32_t start, uint32_t (*f)(uint32_t, uint32_t))
{
	for (unsigned int i = 0; i < 32; i++) {
		if (g->live >> i & 1)
			start = f(start, g->lanes[i].value);
	}
	return start;
}

#define REDUX(name, start, expr)                                                   \
	static uint32_t f_##name(uint32_t a, uint32_t b)                           \
	{                                                                          \
		return expr;                                                       \
	}                                                                          \
	static struct result want_##name(const struct group *g, unsigned int lane) \
	{                                                                          \
		return (struct result){.d = fold(g, start, f_##name)};             \
	}

REDUX(add, 0, a + b)
REDUX(min_s32, INT32_MAX, (int32_t)a < (int32_t)b ? a : b)
REDUX(max_u32, 0, a > b ? a : b)
REDUX(and, UINT32_MAX, a &b)
REDUX(or, 0, a | b)
REDUX(xor, 0, a ^ b)

/* Which lane is elected is open: the lowest, here. */
static struct result want_elect(const struct group *g, unsigned int lane)
{
	uint32_t first = (uint32_t)__builtin_ctz(g->live);

	return (struct result){.d = first, .p = first == lane};
}

static struct result want_source(const struct group *g, unsigned int lane)
{
	return (struct result){.d = g->lanes[g->lanes[lane].source].value, .p = 1};
}

static const struct operation operations[] = {
	{"vote.sync.ballot.b32 %r10, %p1, %r1;", want_ballot},
	{"vote.sync.all.pred %p5, %p1, %r1;", want_all},
	{"vote.sync.any.pred %p5, %p1, %r1;", want_any},
	{"vote.sync.uni.pred %p5, %p1, %r1;", want_uni},
	{"match.any.sync.b32 %r10, %r3, %r1;", want_match_any32},
	{"match.any.sync.b64 %r10, %rd4, %r1;", want_match_any64},
	{"match.all.sync.b64 %r10|%p5, %rd4, %r1;", want_match_all},
	{"redux.sync.add.u32 %r10, %r2, %r1;", want_add},
	{"redux.sync.min.s32 %r10, %r2, %r1;", want_min_s32},
	{"redux.sync.max.u32 %r10, %r2, %r1;", want_max_u32},
	{"redux.sync.and.b32 %r10, %r2, %r1;", want_and},
	{"redux.sync.or.b32 %r10, %r2, %r1;", want_or},
	{"redux.sync.xor.b32 %r10, %r2, %r1;", want_xor},
	{"elect.sync %r10|%p5, %r1;", want_elect},
	{"shfl.sync.idx.b32 %r10|%p5, %r2, %r4, 31, %r1;", want_source},
	/* What a lane wrote to shared memory is there for its group behind the barrier. */
	{"st.shared.u32 [%r7], %r2; bar.warp.sync %r1; ld.shared.u32 %r10, [%r8];\n"
	 "bar.warp.sync %r1; setp.eq.u32 %p5, %r9, %r9;",
	 want_source},
};

/* ---- the kernel ---- */

#define LOAD(round)                                                                     \
	"ld.global.u32 %r1, [%rd2+" round "]; ld.global.u32 %r2, [%rd2+" round "+4];\n" \
	"ld.global.u64 %rd4, [%rd2+" round "+8]; cvt.u32.u64 %r3, %rd4;\n"              \
	"ld.global.u32 %r5, [%rd2+" round "+16]; setp.ne.u32 %p1, %r5, 0;\n"            \
	"ld.global.u32 %r4, [%rd2+" round "+20];\n"                                     \
	"and.b32 %r8, %r0, 0x60; add.u32 %r8, %r8, %r4; shl.b32 %r8, %r8, 2;\n"         \
	"add.u32 %r8, %r8, %r9; mov.u32 %r10, 0; setp.ne.u32 %p5, %r9, %r9;\n"

#define STORE(round)                                                        \
	"selp.u32 %r11, 1, 0, %p5; st.global.u32 [%rd3+" round "], %r10;\n" \
	"st.global.u32 [%rd3+" round "+4], %r11;\n"

static const char kernel[] =
	".version 8.0\n.target sm_90\n.address_size 64\n"
	".visible .entry k(.param .u64 in, .param .u64 out) {\n"
	".reg .pred %%p<8>; .reg .b32 %%r<16>; .reg .b64 %%rd<8>; .shared .b32 sm[256];\n"
	"ld.param.u64 %%rd2, [in]; ld.param.u64 %%rd3, [out];\n"
	"mov.u32 %%r0, %%tid.x; mov.u32 %%r9, sm; mad.lo.u32 %%r7, %%r0, 4, %%r9;\n"
	"mul.wide.u32 %%rd5, %%r0, 64; add.u64 %%rd2, %%rd2, %%rd5;\n"
	"mul.wide.u32 %%rd5, %%r0, 16; add.u64 %%rd3, %%rd3, %%rd5;\n"
	"%s" /* LOAD("0") */
	"ld.global.u32 %%r12, [%%rd2+24]; ld.global.u32 %%r13, [%%rd2+28];\n"
	"setp.eq.u32 %%p2, %%r12, 0; @%%p2 bra arm0;\n"
	"setp.eq.u32 %%p2, %%r12, 1; @%%p2 bra arm1;\n"
	"setp.eq.u32 %%p2, %%r12, 2; @%%p2 bra arm2;\n"
	"gone: sub.u32 %%r13, %%r13, 1; setp.ne.u32 %%p2, %%r13, 0; @%%p2 bra gone; exit;\n"
	"arm0: sub.u32 %%r13, %%r13, 1; setp.ne.u32 %%p2, %%r13, 0; @%%p2 bra arm0;\n"
	"%s bra out;\n"
	"arm1: sub.u32 %%r13, %%r13, 1; setp.ne.u32 %%p2, %%r13, 0; @%%p2 bra arm1;\n"
	"%s bra out;\n"
	"arm2: sub.u32 %%r13, %%r13, 1; setp.ne.u32 %%p2, %%r13, 0; @%%p2 bra arm2;\n"
	"%s\n"
	"out: %s" /* STORE("0") LOAD("32") */
	"%s\n"
	"%s" /* STORE("8") */
	"ret; }\n";

static void print_kernel(char *text, size_t size, const char *op)
{
	int n = snprintf(text, size, kernel, LOAD("0"), op, op, op, STORE("0") LOAD("32"), op,
			 STORE("8"));

	assert_true(n > 0 && (size_t)n < size);
}

/* ---- lanes ---- */

static uint32_t rng;

static uint32_t some(uint32_t n)
{
	rng = rng * 1664525 + 1013904223;
	return (rng >> 8) % n;
}

static uint32_t warp_born(unsigned int warp)
{
	return warp < N_THREADS / 32 ? UINT32_MAX : (UINT32_C(1) << N_THREADS % 32) - 1;
}

static uint32_t warp_live(const struct lane (*in)[N_ROUNDS], unsigned int warp)
{
	uint32_t live = 0;

	for (unsigned int i = 0; i < 32 && warp * 32 + i < N_THREADS; i++) {
		if (in[warp * 32 + i][0].arm != ARM_EXIT)
			live |= UINT32_C(1) << i;
	}
	return live;
}

static uint32_t pick(uint32_t lanes)
{
	uint32_t nth = some((uint32_t)__builtin_popcount(lanes));

	while (nth--)
		lanes &= lanes - 1;
	return (uint32_t)__builtin_ctz(lanes);
}

/* Labels make the groups; the first one also names the lanes that the warp does not have. */
static void make_groups(struct lane (*in)[N_ROUNDS], unsigned int warp, unsigned int round)
{
	uint32_t label[32], mask[8] = {0}, n = 1 + some(8), live = warp_live(in, warp);

	mask[0] = ~warp_born(warp);
	for (unsigned int i = 0; i < 32; i++) {
		label[i] = some(n);
		if (warp_born(warp) >> i & 1)
			mask[label[i]] |= UINT32_C(1) << i;
	}
	for (unsigned int i = 0; i < 32 && warp * 32 + i < N_THREADS; i++) {
		struct lane *l = &in[warp * 32 + i][round];

		l->members = mask[label[i]];
		l->source = live >> i & 1 ? pick(l->members & live) : 0;
		l->value = some(4) ? some(1000) : ~some(1000);
		l->wide = (uint64_t)some(2) << 40 | some(2) << 20;
		l->vote = some(4) != 0;
	}
}

static void make_lanes(struct lane (*in)[N_ROUNDS])
{
	uint32_t arms = 1 + some(4), leaving = some(2);

	for (unsigned int i = 0; i < N_THREADS; i++) {
		in[i][0].arm = some(arms) % 3;
		if (leaving && !some(5))
			in[i][0].arm = ARM_EXIT;
		in[i][0].delay = 1 + (some(4) ? some(3) : some(2000));
	}
	for (unsigned int w = 0; w < N_WARPS; w++) {
		for (unsigned int round = 0; round < N_ROUNDS; round++)
			make_groups(in, w, round);
	}
}

static void check(const struct operation *op, unsigned int nth, const struct lane (*in)[N_ROUNDS],
		  const struct result (*out)[N_ROUNDS])
{
	for (unsigned int i = 0; i < N_THREADS; i++) {
		for (unsigned int round = 0; round < N_ROUNDS && in[i][0].arm != ARM_EXIT;
		     round++) {
			struct lane lanes[32] = {0};
			struct group g = {.lanes = lanes};
			struct result want, got = out[i][round];

			for (unsigned int k = 0; k < 32 && i / 32 * 32 + k < N_THREADS; k++)
				lanes[k] = in[i / 32 * 32 + k][round];
			g.live = in[i][round].members & warp_live(in, i / 32);
			want = op->want(&g, i % 32);
			if (want.d != got.d || want.p != got.p)
				fail_msg("%s run %u, thread %u, round %u: 0x%x %u, not 0x%x %u",
					 op->text, nth, i, round, got.d, got.p, want.d, want.p);
		}
	}
}

static void run_once(const struct operation *op, struct t_gpu *g, unsigned int nth)
{
	struct lane(*in)[N_ROUNDS] = t_alloc(g, N_THREADS * sizeof(*in));
	struct result(*out)[N_ROUNDS] = t_alloc(g, N_THREADS * sizeof(*out));
	const void *args[] = {&in, &out};
	struct t_launch l = {.kernel = "k", .block = {N_THREADS}, .args = {args[0], args[1]}};

	make_lanes(in);
	g->quantum = some(2) ? 0 : 1 + some(100);
	if (t_launch(g, &l))
		fail_msg("%s run %u: %s", op->text, nth, g->fault.text);
	check(op, nth, in, out);
}

static void test_groups_of_one_warp_are_answered_each_by_itself(void **state)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(operations); i++) {
		struct t_gpu g;
		char text[8192];

		print_kernel(text, sizeof(text), operations[i].text);
		t_gpu_init(&g, text);
		rng = (uint32_t)i * 7919 + 1;
		for (unsigned int nth = 0; nth < N_RUNS; nth++)
			run_once(&operations[i], &g, nth);
		t_gpu_finish(&g);
	}
}

/* ---- what PTX leaves open ---- */

#define OPEN_HEAD                                                                              \
	".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 io) {\n" \
	".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"                               \
	"ld.param.u64 %rd1, [io]; mov.u32 %r0, %laneid; mad.wide.u32 %rd0, %r0, 4, %rd1;\n"    \
	"add.u32 %r1, %r0, 100; mov.u32 %r2, 0xffffffff;\n"
#define OPEN_TAIL  "st.global.u32 [%rd0], %r2; ret; }\n"
#define OPEN(body) OPEN_HEAD body OPEN_TAIL

static void run_open(const char *text, uint32_t out[32])
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, text);
	io = t_alloc(&g, 128);
	assert_int_equal(
		t_launch(&g, &(struct t_launch){.kernel = "k", .block = {32}, .args = {&io}}),
		CUDA_SUCCESS);
	memcpy(out, io, 128);
	t_gpu_finish(&g);
}

/* Warps of a reduction end so: four lanes with a mask of four add what is 16, 8, 4, 2 and 1 lanes away. */
static void test_shfl_from_lanes_that_are_elsewhere_adds_nothing(void **state)
{
	uint32_t out[32];

	run_open(OPEN("setp.ge.u32 %p1, %r0, 4; @%p1 bra out; mov.u32 %r2, %r1;\n"
		      "shfl.sync.down.b32 %r3, %r2, 16, 31, 15; add.u32 %r2, %r2, %r3;\n"
		      "shfl.sync.down.b32 %r3, %r2, 8, 31, 15; add.u32 %r2, %r2, %r3;\n"
		      "shfl.sync.down.b32 %r3, %r2, 4, 31, 15; add.u32 %r2, %r2, %r3;\n"
		      "shfl.sync.down.b32 %r3, %r2, 2, 31, 15; add.u32 %r2, %r2, %r3;\n"
		      "shfl.sync.down.b32 %r3, %r2, 1, 31, 15; add.u32 %r2, %r2, %r3;\nout:"),
		 out);
	assert_int_equal(out[0], 100 + 101 + 102 + 103);
	assert_int_equal(out[4], UINT32_MAX);
}

static void test_shfl_from_a_lane_beside_the_group_is_its_value(void **state)
{
	uint32_t out[32];

	run_open(OPEN("and.b32 %r4, %r0, 16; shl.b32 %r4, 0xffff, %r4;\n"
		      "shfl.sync.bfly.b32 %r2, %r1, 16, 31, %r4;\n"),
		 out);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(out[i], 100 + (i ^ 16));
}

static void test_shfl_from_a_lane_that_exited_is_zero(void **state)
{
	uint32_t out[32];

	run_open(OPEN("setp.ge.u32 %p1, %r0, 30; @%p1 exit;\n"
		      "shfl.sync.idx.b32 %r2, %r1, 31, 31, 0xffffffff;\n"),
		 out);
	assert_int_equal(out[0], 0);
	assert_int_equal(out[29], 0);
}

/* A lane that its own mask does not name is served with those that name the same. */
static void test_lane_outside_its_own_mask_is_not_lost(void **state)
{
	uint32_t out[32];

	run_open(OPEN("setp.lt.u32 %p1, %r0, 4; vote.sync.ballot.b32 %r2, %p1, 3;\n"), out);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(out[i], 15);
}

/* NVIDIA H200, driver 580.159.04, like all that follows: each names the lane beside it. */
static void test_lanes_that_name_only_others_end_the_kernel(void **state)
{
	static const char *const ops[] = {
		"vote.sync.ballot.b32 %r2, %p1, %r4;",
		"vote.sync.any.pred %p2, %p1, %r4;",
		"match.any.sync.b32 %r2, %r0, %r4;",
		"redux.sync.add.s32 %r2, %r0, %r4;",
		"bar.warp.sync %r4;",
		"shfl.sync.idx.b32 %r2, %r1, 0, 31, %r4;",
		"elect.sync %r2|%p2, %r4;",
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(ops); i++) {
		char text[2048];
		struct t_gpu g;
		uint32_t *io;

		snprintf(text, sizeof(text), "%s%s%s",
			 OPEN_HEAD "setp.lt.u32 %p1, %r0, 4; xor.b32 %r4, %r0, 1;"
				   "shl.b32 %r4, 1, %r4;\n",
			 ops[i], OPEN_TAIL);
		t_gpu_init(&g, text);
		io = t_alloc(&g, 128);
		assert_int_equal(
			t_launch(&g,
				 &(struct t_launch){.kernel = "k", .block = {32}, .args = {&io}}),
			CUDA_ERROR_ILLEGAL_INSTRUCTION);
		assert_non_null(strstr(g.fault.text, "and not themselves"));
		t_gpu_finish(&g);
	}
}

/* The others have left: there is nobody to wait for, and the mask is not looked at. */
static void test_lanes_that_name_those_that_left_are_served(void **state)
{
	static const char *const ways[] = {
		"@%p1 bra end;\n", /* to where the kernel ends: a join here, an exit on a GPU */
		"@!%p1 bra on; mov.u32 %r5, 0;\n"
		"again: add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 9999; @%p2 bra again; exit; on:\n",
	};
	char text[2048];
	uint32_t out[32];

	for (size_t i = 0; i < GSB_ARRAY_LEN(ways); i++) {
		snprintf(text, sizeof(text), "%s%s%s", OPEN_HEAD "setp.ge.u32 %p1, %r0, 8;\n",
			 ways[i],
			 "setp.lt.u32 %p2, %r0, 3; vote.sync.ballot.b32 %r2, %p2, 0xff00;\n"
			 "st.global.u32 [%rd0], %r2;\nend: ret; }\n");
		run_open(text, out);
		for (uint32_t k = 0; k < 8; k++)
			assert_int_equal(out[k], 7);
	}
}

/* Groups that are whole give their values to each other, not to one that waits, nor does that to them. */
static void test_shfl_reads_from_groups_that_go_at_the_same_time(void **state)
{
	uint32_t out[32];

	/* 0 to 7 name themselves, 8 to 15 also those, 16 to 31 themselves; each reads nine lanes on. */
	run_open(OPEN("setp.lt.u32 %p1, %r0, 8; setp.lt.u32 %p2, %r0, 16;\n"
		      "selp.b32 %r4, 0xffff, 0xffff0000, %p2; selp.b32 %r4, 0xff, %r4, %p1;\n"
		      "add.u32 %r5, %r0, 9; shfl.sync.idx.b32 %r2, %r1, %r5, 31, %r4;\n"),
		 out);
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t from = (i + 9) % 32;
		bool one = i >= 8 && i < 16, other = from >= 8 && from < 16;

		assert_int_equal(out[i], one || other ? 0 : 100 + from);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_groups_of_one_warp_are_answered_each_by_itself),
		cmocka_unit_test(test_shfl_from_lanes_that_are_elsewhere_adds_nothing),
		cmocka_unit_test(test_shfl_from_a_lane_beside_the_group_is_its_value),
		cmocka_unit_test(test_shfl_from_a_lane_that_exited_is_zero),
		cmocka_unit_test(test_lane_outside_its_own_mask_is_not_lost),
		cmocka_unit_test(test_lanes_that_name_only_others_end_the_kernel),
		cmocka_unit_test(test_lanes_that_name_those_that_left_are_served),
		cmocka_unit_test(test_shfl_reads_from_groups_that_go_at_the_same_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
