/*
 * test_emu_warp.c - lanes, warps and blocks that go different ways, wait for each other, or do wrong.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/emu_harness.h"

/* Kernels of one parameter, the address of an array; %r0 = %tid.x, %rd0 its own element of 4 bytes. */
#define HEAD ".version 7.8\n.target sm_90\n.address_size 64\n"
#define REGS                                                                           \
	".reg .pred %p<8>;\n.reg .b16 %h<4>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<12>;\n" \
	".reg .f32 %f<8>;\n.reg .f64 %d<8>;\n"
#define KERNEL(body)                                            \
	HEAD ".visible .entry k(.param .u64 io) {\n" REGS       \
	     "ld.param.u64 %rd1, [io];\nmov.u32 %r0, %tid.x;\n" \
	     "mad.wide.u32 %rd0, %r0, 4, %rd1;\n" body "\nret;\n}\n"

static CUresult run(struct t_gpu *g, uint32_t *io, uint32_t grid, uint32_t block)
{
	return t_launch(g, &(struct t_launch){
				   .kernel = "k", .grid = {grid}, .block = {block}, .args = {&io}});
}

/* Runs one block of KERNEL(body) and compares with want(lane). */
static void check_lanes(const char *text, uint32_t n, uint32_t (*want)(uint32_t))
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, text);
	io = t_alloc(&g, 4 * n);
	if (run(&g, io, 1, n))
		fail_msg("%s", g.fault.text);
	for (uint32_t i = 0; i < n; i++) {
		if (io[i] != want(i))
			fail_msg("lane %u: 0x%x, not 0x%x", i, io[i], want(i));
	}
	t_gpu_finish(&g);
}

/* ---- divergence ---- */

static uint32_t loop_in_loop(uint32_t i)
{
	uint32_t v = 0;

	for (uint32_t a = 0; a < i % 7; a++) {
		for (uint32_t b = 0; b < (i ^ a) % 5; b++) {
			v = v * 3 + a + b;
			if (v % 11 == 10)
				break;
			if (v % 13 == 12)
				return 1000 + v;
		}
		v += a % 2 ? 5 : i;
	}
	return v;
}

static void test_nested_loops_with_break_and_return(void **state)
{
	check_lanes(KERNEL("rem.u32 %r1, %r0, 7; mov.u32 %r2, 0; mov.u32 %r3, 0;\n"
			   "outer: setp.ge.u32 %p1, %r3, %r1; @%p1 bra done;\n"
			   "xor.b32 %r4, %r0, %r3; rem.u32 %r4, %r4, 5; mov.u32 %r5, 0;\n"
			   "inner: setp.ge.u32 %p2, %r5, %r4; @%p2 bra after;\n"
			   "mad.lo.u32 %r2, %r2, 3, %r3; add.u32 %r2, %r2, %r5;\n"
			   "rem.u32 %r6, %r2, 11; setp.eq.u32 %p3, %r6, 10; @%p3 bra after;\n"
			   "rem.u32 %r6, %r2, 13; setp.ne.u32 %p4, %r6, 12; @%p4 bra next;\n"
			   "add.u32 %r2, %r2, 1000; st.global.u32 [%rd0], %r2; ret;\n"
			   "next: add.u32 %r5, %r5, 1; bra inner;\n"
			   "after: and.b32 %r6, %r3, 1; setp.eq.u32 %p5, %r6, 1;\n"
			   "@%p5 add.u32 %r2, %r2, 5; @!%p5 add.u32 %r2, %r2, %r0;\n"
			   "add.u32 %r3, %r3, 1; bra outer;\n"
			   "done: st.global.u32 [%rd0], %r2;"),
		    96, loop_in_loop);
}

/* Two entries into one loop: no single head, the lanes go round in both orders. */
static uint32_t two_headed(uint32_t i)
{
	uint32_t v = i, n = 0;

	if (i % 2)
		goto b;
a:
	v = v * 5 + 1;
	if (++n > i % 9)
		return v;
b:
	v = v ^ 0x33;
	if (++n > i % 9)
		return v;
	goto a;
}

static void test_irreducible_loop(void **state)
{
	check_lanes(KERNEL("mov.u32 %r1, %r0; mov.u32 %r2, 0; rem.u32 %r3, %r0, 9;\n"
			   "and.b32 %r4, %r0, 1; setp.eq.u32 %p1, %r4, 1; @%p1 bra b;\n"
			   "a: mad.lo.u32 %r1, %r1, 5, 1; add.u32 %r2, %r2, 1;\n"
			   "setp.gt.u32 %p2, %r2, %r3; @%p2 bra out;\n"
			   "b: xor.b32 %r1, %r1, 0x33; add.u32 %r2, %r2, 1;\n"
			   "setp.gt.u32 %p2, %r2, %r3; @%p2 bra out; bra a;\n"
			   "out: st.global.u32 [%rd0], %r1;"),
		    64, two_headed);
}

static uint32_t guarded(uint32_t i)
{
	uint32_t v = i;

	if (i % 3 == 0) {
		v += 100;
		v *= 2;
		v ^= 1;
	}
	return i % 5 == 0 ? 0 : v;
}

static void test_guards_over_runs_that_change_the_guard(void **state)
{
	check_lanes(KERNEL("rem.u32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 0; mov.u32 %r2, %r0;\n"
			   "@%p1 add.u32 %r2, %r2, 100; @%p1 shl.b32 %r2, %r2, 1;\n"
			   "@%p1 xor.b32 %r2, %r2, 1;\n"
			   "rem.u32 %r1, %r0, 5; setp.ne.u32 %p2, %r1, 0;\n"
			   "@%p2 setp.eq.u32 %p2, %r0, %r0; @!%p2 exit;\n"
			   "st.global.u32 [%rd0], %r2;"),
		    50, guarded);
}

/* Convergence after an if: the mask of active lanes is whole again. */
static uint32_t full_mask(uint32_t i)
{
	return i / 32 == 2 ? 0xffff : 0xffffffff;
}

static void test_lanes_meet_again_after_divergence(void **state)
{
	check_lanes(KERNEL("mov.u32 %r1, 0;\n"
			   "loop: and.b32 %r2, %r0, 7; setp.ge.u32 %p1, %r1, %r2; @%p1 bra out;\n"
			   "add.u32 %r1, %r1, 1; bra loop;\n"
			   "out: activemask.b32 %r3; st.global.u32 [%rd0], %r3;"),
		    80, full_mask);
}

/* Inside an arm of one branch the lanes of another one meet at its own end, not at the outer one's. */
static uint32_t inner_mask(uint32_t i)
{
	return i % 32 < 16 ? 0xffff : 0;
}

static void test_lanes_meet_at_the_end_of_an_inner_branch(void **state)
{
	check_lanes(KERNEL("and.b32 %r1, %r0, 31; setp.ge.u32 %p1, %r1, 16; @%p1 bra out;\n"
			   "and.b32 %r2, %r0, 1; setp.eq.u32 %p2, %r2, 1; @%p2 bra odd;\n"
			   "add.u32 %r4, %r4, 1; bra in;\nodd: add.u32 %r4, %r4, 2;\n"
			   "in: activemask.b32 %r3;\nout: st.global.u32 [%rd0], %r3;"),
		    64, inner_mask);
}

static uint32_t few_live(uint32_t i)
{
	return i % 32 >= 20 ? 0 : 0xfffff;
}

static void test_lanes_that_left_are_not_active(void **state)
{
	check_lanes(KERNEL("and.b32 %r1, %r0, 31; setp.ge.u32 %p1, %r1, 20; @%p1 exit;\n"
			   "setp.lt.u32 %p2, %r1, 3; @%p2 bra x; add.u32 %r2, %r2, 1;\n"
			   "x: activemask.b32 %r3; st.global.u32 [%rd0], %r3;"),
		    64, few_live);
}

/* Rows are shared by values that are not alive together; half a warp must not spoil the other half's. */
static uint32_t shared_rows(uint32_t i)
{
	uint32_t v = i * 17;

	return i % 2 ? (v + 1) * (v + 2) : (v ^ 1) + (v ^ 2) * (v ^ 4);
}

static void test_arms_of_a_branch_keep_their_values_apart(void **state)
{
	check_lanes(
		KERNEL("mul.lo.u32 %r1, %r0, 17; and.b32 %r2, %r0, 1; setp.eq.u32 %p1, %r2, 1;\n"
		       "@%p1 bra odd;\n"
		       "xor.b32 %r3, %r1, 1; xor.b32 %r4, %r1, 2; xor.b32 %r5, %r1, 4;\n"
		       "bar.warp.sync 0x55555555;\n"
		       "mad.lo.u32 %r6, %r4, %r5, %r3; bra out;\n"
		       "odd: add.u32 %r7, %r1, 1; add.u32 %r8, %r1, 2;\n"
		       "bar.warp.sync 0xaaaaaaaa; mul.lo.u32 %r6, %r7, %r8;\n"
		       "out: st.global.u32 [%rd0], %r6;"),
		64, shared_rows);
}

/*
 * Random flow graphs: each block changes v, counts a step, leaves when its lane has had its steps, and goes
 * one way or the other by a bit of v; some call a function that loops. Lane by lane in C it is four lines.
 */
enum { MAX_BLOCKS = 12, N_LANES = 64, N_PROGRAMS = 150 };

struct program {
	uint32_t n, steps;
	struct {
		uint32_t mul, add, bit, yes, no;
		bool calls;
	} block[MAX_BLOCKS];
};

static uint32_t next_random(uint32_t *seed, uint32_t below)
{
	*seed = *seed * 1664525 + 1013904223;
	return (*seed >> 8) % below;
}

static void make_program(struct program *p, uint32_t seed)
{
	p->n = 2 + next_random(&seed, MAX_BLOCKS - 1);
	p->steps = 5 + next_random(&seed, 60);
	for (uint32_t i = 0; i < p->n; i++) {
		p->block[i].mul = next_random(&seed, 100000) * 2 + 1;
		p->block[i].add = next_random(&seed, 100000);
		p->block[i].bit = 8 + next_random(&seed, 20);
		p->block[i].yes = next_random(&seed, p->n);
		p->block[i].no = next_random(&seed, p->n);
		p->block[i].calls = next_random(&seed, 5) == 0;
	}
}

static uint32_t called(uint32_t v)
{
	while (v & 1)
		v = (v >> 1) ^ 0x1000;
	return v * 7;
}

static uint32_t run_program(const struct program *p, uint32_t lane)
{
	uint32_t v = lane * 2654435761u, at = 0;

	for (uint32_t step = 0; step < p->steps + lane % 8; step++) {
		v = v * p->block[at].mul + p->block[at].add;
		v = p->block[at].calls ? called(v) : v;
		at = v >> p->block[at].bit & 1 ? p->block[at].yes : p->block[at].no;
	}
	return v;
}

static void print_program(const struct program *p, char *out, size_t size)
{
	size_t n = (size_t)snprintf(
		out, size,
		HEAD ".func (.param .b32 r) f(.param .b32 x) { .reg .b32 %%a<3>; .reg .pred %%q;\n"
		     "ld.param.b32 %%a0, [x];\n"
		     "loop: and.b32 %%a1, %%a0, 1; setp.eq.u32 %%q, %%a1, 0; @%%q bra out;\n"
		     "shr.u32 %%a0, %%a0, 1; xor.b32 %%a0, %%a0, 0x1000; bra loop;\n"
		     "out: mul.lo.u32 %%a0, %%a0, 7; st.param.b32 [r], %%a0; ret; }\n"
		     ".visible .entry k(.param .u64 io) {\n.param .b32 x, r;\n"
		     ".reg .pred %%p<8>; .reg .b32 %%r<24>; .reg .b64 %%rd<12>;\n"
		     "ld.param.u64 %%rd1, [io]; mov.u32 %%r0, %%tid.x;\n"
		     "mad.wide.u32 %%rd0, %%r0, 4, %%rd1; mul.lo.u32 %%r1, %%r0, 2654435761;\n"
		     "and.b32 %%r2, %%r0, 7; add.u32 %%r2, %%r2, %u;\n",
		p->steps);

	for (uint32_t i = 0; i < p->n; i++) {
		n += (size_t)snprintf(out + n, size - n, "b%u: mad.lo.u32 %%r1, %%r1, %u, %u;\n", i,
				      p->block[i].mul, p->block[i].add);
		if (p->block[i].calls)
			n += (size_t)snprintf(out + n, size - n,
					      "st.param.b32 [x], %%r1; call (r), f, (x);\n"
					      "ld.param.b32 %%r1, [r];\n");
		n += (size_t)snprintf(
			out + n, size - n,
			"sub.u32 %%r2, %%r2, 1; setp.eq.u32 %%p1, %%r2, 0;\n"
			"@%%p1 bra end; shr.u32 %%r3, %%r1, %u; and.b32 %%r3, %%r3, 1;\n"
			"setp.eq.u32 %%p2, %%r3, 1; @%%p2 bra b%u; bra b%u;\n",
			p->block[i].bit, p->block[i].yes, p->block[i].no);
	}
	n += (size_t)snprintf(out + n, size - n, "end: st.global.u32 [%%rd0], %%r1; ret; }\n");
	assert_true(n < size);
}

static void test_random_flow_equals_lane_by_lane(void **state)
{
	for (uint32_t seed = 1; seed <= N_PROGRAMS; seed++) {
		static char text[16384];
		struct program p;
		struct t_gpu g;
		uint32_t *io;

		make_program(&p, seed * 7919);
		print_program(&p, text, sizeof(text));
		t_gpu_init(&g, text);
		g.quantum = seed % 3 ? 0 : seed;
		io = t_alloc(&g, 4 * N_LANES);
		if (run(&g, io, 1, N_LANES))
			fail_msg("seed %u: %s", seed, g.fault.text);
		for (uint32_t i = 0; i < N_LANES; i++) {
			if (io[i] != run_program(&p, i))
				fail_msg("seed %u, lane %u: 0x%x, not 0x%x\n%s", seed, i, io[i],
					 run_program(&p, i), text);
		}
		t_gpu_finish(&g);
	}
}

/* ---- warp-wide ---- */

static uint32_t exchanged(uint32_t i)
{
	return i ^ 1;
}

/* Members that come to the shuffle on different ways: the two halves execute different instructions. */
static void test_shuffle_between_two_arms(void **state)
{
	check_lanes(KERNEL("and.b32 %r1, %r0, 1; setp.eq.u32 %p1, %r1, 1; @%p1 bra odd;\n"
			   "shfl.sync.bfly.b32 %r2, %r0, 1, 31, 0xffffffff; bra out;\n"
			   "odd: mov.u32 %r3, %r0;\n"
			   "shfl.sync.bfly.b32 %r2, %r3, 1, 31, 0xffffffff;\n"
			   "out: st.global.u32 [%rd0], %r2;"),
		    64, exchanged);
}

static uint32_t voted(uint32_t i)
{
	return 0x0000ff00;
}

/* A member that has exited is not waited for. */
static void test_vote_does_not_wait_for_the_dead(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, KERNEL("setp.lt.u32 %p1, %r0, 8; @%p1 bra late;\n"
			      "setp.lt.u32 %p2, %r0, 16;\n"
			      "vote.sync.ballot.b32 %r1, %p2, 0xffffffff;\n"
			      "st.global.u32 [%rd0], %r1; ret;\n"
			      "late: mov.u32 %r2, 0;\n"
			      "spin: add.u32 %r2, %r2, 1; setp.lt.u32 %p3, %r2, 1000;\n"
			      "@%p3 bra spin; exit;"));
	io = t_alloc(&g, 128);
	assert_int_equal(run(&g, io, 1, 32), CUDA_SUCCESS);
	for (uint32_t i = 0; i < 32; i++)
		assert_int_equal(io[i], i < 8 ? 0 : voted(i));
	t_gpu_finish(&g);
}

static void test_old_spellings_take_the_active_lanes(void **state)
{
	static const char text[] =
		".version 6.0\n.target sm_60\n.address_size 64\n"
		".visible .entry k(.param .u64 io) {\n" REGS
		"ld.param.u64 %rd1, [io]; mov.u32 %r0, %tid.x; mad.wide.u32 %rd0, %r0, 4, %rd1;\n"
		"mov.u32 %r5, 0; setp.lt.u32 %p1, %r0, 10; @!%p1 bra out;\n"
		"setp.gt.u32 %p2, %r0, 5; vote.ballot.b32 %r5, %p2; vote.any.pred %p3, %p2;\n"
		"shfl.down.b32 %r6|%p4, %r0, 1, 31; @%p3 add.u32 %r5, %r5, %r6;\n"
		"out: st.global.u32 [%rd0], %r5; ret; }\n";
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, text);
	io = t_alloc(&g, 128);
	assert_int_equal(run(&g, io, 1, 32), CUDA_SUCCESS);
	for (uint32_t i = 0; i < 9; i++)
		assert_int_equal(io[i], 0x3c0 + i + 1);
	assert_int_equal(io[20], 0);
	t_gpu_finish(&g);
}

static uint32_t sample(uint32_t i)
{
	return i * 7 % 40;
}

static void *start_samples(struct t_gpu *g, const char *file, uint32_t n)
{
	uint32_t *in;

	t_gpu_init_file(g, file);
	in = t_alloc(g, 4 * n);
	for (uint32_t i = 0; i < n; i++)
		in[i] = sample(i);
	return in;
}

static CUresult run_samples(struct t_gpu *g, const char *kernel, void *in, void *out, uint32_t n)
{
	return t_launch(g, &(struct t_launch){.kernel = kernel, .block = {n}, .args = {&in, &out}});
}

static void test_votes_and_shuffles(void **state)
{
	struct t_gpu g;
	uint32_t *in = start_samples(&g, *state, 32), *out = t_alloc(&g, 512), odd = 0;
	bool all = true, any = false;

	for (uint32_t i = 0; i < 32; i++) {
		odd |= (in[i] & 1) << i;
		any |= in[i] > 100;
	}
	assert_int_equal(run_samples(&g, "warp_votes", in, out, 32), CUDA_SUCCESS);
	for (uint32_t i = 0; i < 32; i++) {
		assert_int_equal(out[4 * i], odd);
		assert_int_equal(out[4 * i + 1], all + 2 * any);
		assert_int_equal(out[4 * i + 2], in[in[i] & 31]);
		assert_int_equal(out[4 * i + 3], in[i ^ 5]);
	}
	t_gpu_finish(&g);
}

static void test_matches_and_segments(void **state)
{
	struct t_gpu g;
	uint32_t *in = start_samples(&g, *state, 32), *out = t_alloc(&g, 512);

	assert_int_equal(run_samples(&g, "warp_match", in, out, 32), CUDA_SUCCESS);
	for (uint32_t i = 0; i < 32; i++) {
		uint32_t same = 0;

		for (uint32_t k = 0; k < 32; k++)
			same |= (uint32_t)(in[k] % 3 == in[i] % 3) << k;
		assert_int_equal(out[4 * i], same);
		assert_int_equal(out[4 * i + 1], UINT32_MAX + 1u); /* all equal, and true */
		assert_int_equal(out[4 * i + 2], UINT32_MAX);
		assert_int_equal(out[4 * i + 3], in[(i & ~7u) + 3] + in[i % 16 < 2 ? i : i - 2]);
	}
	t_gpu_finish(&g);
}

static void test_reductions_of_a_warp(void **state)
{
	struct t_gpu g;
	uint32_t *in = start_samples(&g, *state, 32), *out = t_alloc(&g, 1024);
	uint32_t sum = 0, and = UINT32_MAX, xor = 0, most = 0;
	int32_t least = INT32_MAX;

	in[9] = (uint32_t)-5;
	for (uint32_t i = 0; i < 32; i++) {
		sum += in[i];
		and &= in[i];
		xor ^= in[i];
		least = (int32_t)in[i] < least ? (int32_t)in[i] : least;
		most = in[i] > most ? in[i] : most;
	}
	assert_int_equal(run_samples(&g, "warp_redux", in, out, 32), CUDA_SUCCESS);
	for (uint32_t i = 0; i < 32; i++) {
		assert_int_equal(out[5 * i], sum);
		assert_int_equal((int32_t)out[5 * i + 1], least);
		assert_int_equal(out[5 * i + 2], most);
		assert_int_equal(out[5 * i + 3], and);
		assert_int_equal(out[5 * i + 4], xor);
	}
	t_gpu_finish(&g);
}

/* ---- block barriers ---- */

static void test_barriers_count_and_combine(void **state)
{
	enum { N = 100 };
	struct t_gpu g;
	uint32_t *in = start_samples(&g, *state, N), *out = t_alloc(&g, 12 * N), odd = 0;

	for (uint32_t i = 0; i < N; i++)
		odd += in[i] & 1;
	assert_int_equal(run_samples(&g, "block_votes", in, out, N), CUDA_SUCCESS);
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(out[3 * i], odd);
		assert_int_equal(out[3 * i + 1], 0); /* in[0] is 0 */
		assert_int_equal(out[3 * i + 2], 0);
	}
	t_gpu_finish(&g);
}

/* A tree of sums with every level in a barrier, by threads of which some leave on the way. */
static void test_barrier_with_exited_threads(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g,
		   KERNEL(".shared .b32 s[256];\n"
			  "mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 4, %r1; st.shared.u32 [%r1], %r0;\n"
			  "setp.ge.u32 %p1, %r0, 200; @%p1 bra gone;\n"
			  "bar.sync 0; setp.ge.u32 %p2, %r0, 100; @%p2 exit; bar.sync 0;\n"
			  "ld.shared.u32 %r2, [%r1+400]; st.global.u32 [%rd0], %r2; ret;\n"
			  "gone: setp.ge.u32 %p3, %r0, 250; @%p3 exit; bar.sync 0;"));
	io = t_alloc(&g, 1024);
	assert_int_equal(run(&g, io, 1, 256), CUDA_SUCCESS);
	for (uint32_t i = 0; i < 256; i++)
		assert_int_equal(io[i], i < 100 ? i + 100 : 0);
	assert_int_equal(g.stats.n_barriers, 8 + 4 + 1);
	t_gpu_finish(&g);
}

static uint32_t next_of(uint32_t i)
{
	return i + 1;
}

/* The upper half has nothing to do before the branches meet; the lower half waits for it in between. */
#define BARRIER_IN_A_BRANCH                                                  \
	KERNEL("setp.ge.u32 %p1, %r0, 16; @%p1 bra $join; barrier.sync 0;\n" \
	       "$join: barrier.sync 0; add.u32 %r1, %r0, 1; st.global.u32 [%rd0], %r1;")

static void test_barrier_inside_a_branch_does_not_wait_for_the_join(void **state)
{
	check_lanes(BARRIER_IN_A_BRANCH, 32, next_of);
}

/* Compilers for GPUs hold lanes where their ways meet: there it is a hang. */
static void test_barrier_inside_a_branch_hangs_where_lanes_are_held_at_the_join(void **state)
{
	struct t_gpu g;
	void *io;
	struct t_launch l = {.kernel = "k", .block = {32}, .args = {&io}, .strict = true};

	t_gpu_init(&g, BARRIER_IN_A_BRANCH);
	io = t_alloc(&g, 128);
	assert_int_equal(t_launch(&g, &l), CUDA_ERROR_LAUNCH_TIMEOUT);
	assert_non_null(strstr(g.fault.what, "hang: each of 32 threads waits for another"));
	t_gpu_finish(&g);
}

/* Two warps: even threads meet at barrier 1, odd ones at barrier 2, and read what one of the other warp has written. */
/* Then all meet again, so that one that is forgotten keeps all. */
#define TWO_BARRIERS(barrier)                                                                  \
	KERNEL(".shared .b32 s[64];\nmov.u32 %r1, s; mad.lo.u32 %r1, %r0, 4, %r1;\n"           \
	       "add.u32 %r2, %r0, 100; and.b32 %r3, %r0, 1; add.u32 %r3, %r3, 1;\n"            \
	       "st.shared.u32 [%r1], %r2;\n" barrier "xor.b32 %r4, %r0, 32; mov.u32 %r5, s;\n" \
	       "mad.lo.u32 %r5, %r4, 4, %r5; ld.shared.u32 %r6, [%r5]; barrier.sync 0;\n"      \
	       "st.global.u32 [%rd0], %r6;")

static uint32_t of_the_other_warp(uint32_t i)
{
	return (i ^ 32) + 100;
}

static void test_barrier_numbers_of_the_lanes_of_a_warp_count_each(void **state)
{
	check_lanes(TWO_BARRIERS("barrier.sync %r3, 32;\n"), 64, of_the_other_warp);
	check_lanes(TWO_BARRIERS("bar.sync %r3, 32;\n"), 64, of_the_other_warp);
}

/* Of 128 threads each fourth is at a barrier; multiples of 8 say yes, which are at barrier 0 alone. */
static uint32_t yes_at_barrier(uint32_t i)
{
	return i % 4 ? 0 : 16;
}

static void test_barrier_reductions_are_of_those_at_the_barrier(void **state)
{
	check_lanes(KERNEL("and.b32 %r1, %r0, 3; and.b32 %r2, %r0, 7; setp.eq.u32 %p1, %r2, 0;\n"
			   "barrier.red.popc.u32 %r3, %r1, 32, %p1; st.global.u32 [%rd0], %r3;"),
		    128, yes_at_barrier);
}

/* Even lanes only arrive, at the barrier of their half; odd ones wait there. */
static uint32_t arrived_half(uint32_t i)
{
	return i % 2 ? i + 1 : 0;
}

static void test_barrier_arrivals_count_at_the_number_of_each_lane(void **state)
{
	check_lanes(
		KERNEL("shr.u32 %r1, %r0, 4; and.b32 %r1, %r1, 1; and.b32 %r2, %r0, 1;\n"
		       "setp.eq.u32 %p1, %r2, 0; @%p1 bra arrive;\n"
		       "barrier.sync %r1, 32; add.u32 %r3, %r0, 1; st.global.u32 [%rd0], %r3; ret;\n"
		       "arrive: barrier.arrive %r1, 32;"),
		64, arrived_half);
}

/* What each warp does least is less than what stands behind the call: f() ends the thread. */
static uint32_t nothing(uint32_t i)
{
	return 0;
}

static void test_thread_that_ends_in_a_function_does_less_than_its_kernel_says(void **state)
{
	check_lanes(HEAD ".func f() { exit; }\n.visible .entry k(.param .u64 io) {\n" REGS
			 "ld.param.u64 %rd1, [io];\ncall f;\n"
			 "add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1; add.u32 %r1, %r1, 1;\n"
			 "st.global.u32 [%rd1], 7; ret; }\n",
		    32, nothing);
}

static void test_barrier_that_cannot_end_is_a_hang(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, KERNEL("setp.lt.u32 %p1, %r0, 32; @%p1 bra one;\n"
			      "bar.sync 2; ret;\none: bar.sync 1;"));
	io = t_alloc(&g, 256);
	assert_int_equal(run(&g, io, 1, 64), CUDA_ERROR_LAUNCH_TIMEOUT);
	assert_non_null(strstr(g.fault.text, "hang"));
	t_gpu_finish(&g);
}

/* ---- progress ---- */

static void test_lock_between_lanes_of_a_warp(void **state)
{
	struct t_gpu g;
	int *lock, *count;

	t_gpu_init_file(&g, *state);
	lock = t_alloc(&g, 4);
	count = t_alloc(&g, 4);
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "spin_lock",
							 .grid = {2},
							 .block = {96},
							 .args = {&lock, &count}}),
			 CUDA_SUCCESS);
	assert_int_equal(*count, 192);
	assert_int_equal(*lock, 0);
	t_gpu_finish(&g);
}

static void test_half_warps_and_collatz(void **state)
{
	struct t_gpu g;
	int *in, *out, n = 200, *steps;

	t_gpu_init_file(&g, *state);
	in = t_alloc(&g, 1024);
	out = t_alloc(&g, 1024);
	steps = t_alloc(&g, 1024);
	for (int i = 0; i < 256; i++)
		in[i] = i;
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "half_warps",
							 .grid = {2},
							 .block = {128},
							 .args = {&in, &out}}),
			 CUDA_SUCCESS);
	for (int i = 0; i < 256; i++) {
		uint32_t v[2];

		for (int s = 0; s < 2; s++) {
			int of = s ? (i % 32 < 16 ? i ^ 1 : i ^ 2) : i;

			v[s] = (uint32_t)of;
			for (int k = 0; k < of % 16 && i % 32 < 16; k++)
				v[s] = v[s] * 3 + (uint32_t)k;
			v[s] ^= i % 32 < 16 ? 0 : 0x55;
		}
		assert_int_equal((uint32_t)out[i], v[0] + v[1]);
	}
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "collatz",
							 .grid = {2},
							 .block = {128},
							 .args = {&in, &steps, &n}}),
			 CUDA_SUCCESS);
	for (int i = 0; i < n; i++) {
		int count = i ? 0 : -1;

		for (uint64_t v = (uint64_t)i; v > 1; count++)
			v = v % 2 ? 3 * v + 1 : v / 2;
		assert_int_equal(steps[i], count);
	}
	t_gpu_finish(&g);
}

/* Blocks wait for lower ones; with small slices in turn, and placed in order, all end. */
static void test_blocks_that_wait_for_each_other(void **state)
{
	struct t_gpu g;
	uint32_t *ticket, *flag, *out;

	t_gpu_init_file(&g, *state);
	g.resident = 7;
	g.quantum = 50;
	ticket = t_alloc(&g, 4);
	flag = t_alloc(&g, 400);
	out = t_alloc(&g, 400);
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "chained",
							 .grid = {100},
							 .block = {64},
							 .args = {&ticket, &flag, &out}}),
			 CUDA_SUCCESS);
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(out[i], i ? out[i - 1] + i : 1);
	t_gpu_finish(&g);
}

/* All blocks resident and spinning at a barrier of the whole grid, which the last one opens. */
static void test_grid_barrier_of_resident_blocks(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, KERNEL("setp.ne.u32 %p1, %r0, 0; @%p1 bra wait;\n"
			      "atom.add.release.gpu.global.u32 %r1, [%rd1], 1;\n"
			      "spin: nanosleep.u32 100; ld.acquire.gpu.global.u32 %r2, [%rd1];\n"
			      "setp.lt.u32 %p2, %r2, 40; @%p2 bra spin;\n"
			      "wait: bar.sync 0; ld.global.u32 %r3, [%rd1];\n"
			      "mov.u32 %r4, %ctaid.x; mad.lo.u32 %r4, %r4, 33, %r0;\n"
			      "mad.wide.u32 %rd2, %r4, 4, %rd1; st.global.u32 [%rd2+4], %r3;"));
	g.resident = 40;
	g.quantum = 1000;
	io = t_alloc(&g, 4 * (40 * 33 + 1));
	assert_int_equal(run(&g, io, 40, 33), CUDA_SUCCESS);
	for (uint32_t i = 0; i < 40 * 33; i++)
		assert_int_equal(io[1 + i], 40);
	assert_true(g.stats.sleep_ns >= 4000);
	t_gpu_finish(&g);
}

/* The second warp looks by plain loads, so that its loop is not taken for one that only waits. */
static void test_warp_that_spins_for_one_that_sleeps(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, KERNEL("setp.ge.u32 %p1, %r0, 32; @%p1 bra spin;\n"
			      "nanosleep.u32 100; nanosleep.u32 100;\n"
			      "st.release.gpu.global.u32 [%rd1], 7; bra out;\n"
			      "spin: ld.global.u32 %r2, [%rd1];\n"
			      "setp.ne.u32 %p2, %r2, 7; @%p2 bra spin;\nout:"));
	g.quantum = 10000000;
	io = t_alloc(&g, 4);
	assert_int_equal(run(&g, io, 1, 64), CUDA_SUCCESS);
	assert_true(g.stats.n_insns < g.quantum / 10);
	t_gpu_finish(&g);
}

/* Any slice gives the same results and counts the same instructions. */
static void test_slices_do_not_change_results(void **state)
{
	uint64_t insns = 0, lanes = 0;

	for (uint64_t quantum = 1; quantum < 2000; quantum = quantum * 3 + 1) {
		struct t_gpu g;
		uint32_t *keys;

		t_gpu_init_file(&g, "tests/ptx/bitonic.nvcc.ptx");
		g.quantum = quantum;
		g.resident = 2;
		keys = t_alloc(&g, 4 * 1024);
		for (uint32_t i = 0; i < 1024; i++)
			keys[i] = i * 2654435761u;
		assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "bitonic",
								 .grid = {2},
								 .block = {256},
								 .args = {&keys}}),
				 CUDA_SUCCESS);
		for (int i = 0; i < 1024; i++)
			assert_true(i % 512 == 0 || keys[i - 1] <= keys[i]);
		assert_true(insns == 0 || insns == g.stats.n_insns);
		assert_true(lanes == 0 || lanes == g.stats.n_lane_insns);
		insns = g.stats.n_insns;
		lanes = g.stats.n_lane_insns;
		t_gpu_finish(&g);
	}
	assert_true(lanes > insns && lanes <= 32 * insns);
}

/* ---- what is counted ---- */

static void test_statistics_count_instructions_and_sectors(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	/* KERNEL has 3 instructions before and 1 after; addresses: one row, 32 apart, all the same. */
	t_gpu_init(&g, KERNEL("ld.global.u32 %r1, [%rd0]; mad.wide.u32 %rd2, %r0, 128, %rd1;\n"
			      "ld.global.u32 %r2, [%rd2]; ld.global.u32 %r3, [%rd1];\n"));
	io = t_alloc(&g, 4096);
	assert_int_equal(run(&g, io, 1, 32), CUDA_SUCCESS);
	assert_int_equal(g.stats.n_insns, 8);
	assert_int_equal(g.stats.n_lane_insns, 8 * 32);
	assert_int_equal(g.stats.n_mem_insns, 3);
	assert_int_equal(g.stats.n_sectors, 4 + 32 + 1);
	t_gpu_finish(&g);
}

static void test_clock_goes_on_from_what_the_device_says(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, KERNEL("mov.u32 %r1, %clock; add.u32 %r2, %r2, 1; mov.u32 %r3, %clock;\n"
			      "sub.u32 %r4, %r3, %r1; st.global.u32 [%rd0], %r4;"));
	io = t_alloc(&g, 128);
	assert_int_equal(run(&g, io, 1, 32), CUDA_SUCCESS);
	assert_int_equal(io[0], 2);
	t_gpu_finish(&g);
}

/* ---- faults ---- */

static void expect_fault(const char *text, CUresult result, const char *says)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, text);
	io = t_alloc(&g, 4096);
	assert_int_equal(run(&g, io, 1, 64), result);
	if (!strstr(g.fault.text, says))
		fail_msg("'%s' does not say '%s'", g.fault.text, says);
	assert_true(g.fault.line > 0);
	t_gpu_finish(&g);
}

static void test_null_is_an_illegal_address(void **state)
{
	expect_fault(KERNEL("mov.u64 %rd2, 0; ld.global.u32 %r1, [%rd2+16];"),
		     CUDA_ERROR_ILLEGAL_ADDRESS, "0x10");
	expect_fault(KERNEL("mov.u64 %rd2, 0; st.u32 [%rd2], %r1;"), CUDA_ERROR_ILLEGAL_ADDRESS,
		     "write to address 0x0");
}

static void test_one_lane_out_of_bounds_is_found(void **state)
{
	expect_fault(KERNEL("setp.eq.u32 %p1, %r0, 37; mov.u64 %rd3, 0x100000000000;\n"
			    "@%p1 add.u64 %rd0, %rd0, %rd3; st.global.u32 [%rd0], %r0;"),
		     CUDA_ERROR_ILLEGAL_ADDRESS, "st.global.u32");
	expect_fault(KERNEL("mov.u64 %rd2, 0x800200000000; st.u8 [%rd2], %r0;"),
		     CUDA_ERROR_ILLEGAL_ADDRESS, "0x800200000000");
}

/* Inside the range, but not allocated: the processor's own fault. */
static void test_free_pages_are_an_illegal_address(void **state)
{
	expect_fault(KERNEL("st.global.u32 [%rd0+1048576], %r0;"), CUDA_ERROR_ILLEGAL_ADDRESS,
		     "not allocated");
	expect_fault(KERNEL("atom.global.add.u32 %r1, [%rd0+1048576], 1;"),
		     CUDA_ERROR_ILLEGAL_ADDRESS, "not allocated");
}

static void test_misaligned_accesses(void **state)
{
	expect_fault(KERNEL("ld.global.u32 %r1, [%rd0+2];"), CUDA_ERROR_MISALIGNED_ADDRESS,
		     "not aligned to 4");
	expect_fault(KERNEL("ld.global.v2.u64 {%rd2, %rd3}, [%rd1+8];"),
		     CUDA_ERROR_MISALIGNED_ADDRESS, "not aligned to 16");
	expect_fault(KERNEL(".shared .align 8 .b8 s[64]; st.shared.u32 [s+3], %r0;"),
		     CUDA_ERROR_MISALIGNED_ADDRESS, "not aligned to 4");
}

static void test_shared_and_local_memory_have_ends(void **state)
{
	expect_fault(KERNEL(".shared .b32 s[16]; mov.u32 %r1, s; mad.lo.u32 %r1, %r0, 4, %r1;\n"
			    "st.shared.u32 [%r1], %r0;"),
		     CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory");
	expect_fault(KERNEL(".shared .b32 s[16]; mov.u64 %rd2, s; cvta.shared.u64 %rd2, %rd2;\n"
			    "ld.u32 %r1, [%rd2+65536];"),
		     CUDA_ERROR_ILLEGAL_ADDRESS, "0x8000000");
	expect_fault(KERNEL(".local .b32 v[4]; mov.u64 %rd2, v; mul.wide.u32 %rd3, %r0, 64;\n"
			    "add.u64 %rd2, %rd2, %rd3; st.local.u32 [%rd2], %r0;"),
		     CUDA_ERROR_ILLEGAL_ADDRESS, "local memory");
}

static void test_endless_recursion_overflows_the_stack(void **state)
{
	expect_fault(HEAD ".func f(.param .b32 x) { .reg .b32 %r; .param .b32 y;\n"
			  "ld.param.b32 %r, [x]; add.u32 %r, %r, 1; st.param.b32 [y], %r;\n"
			  "call f, (y); ret; }\n"
			  ".visible .entry k(.param .u64 io) { .param .b32 a;\n"
			  "st.param.b32 [a], 0; call f, (a); ret; }",
		     CUDA_ERROR_HARDWARE_STACK_ERROR, "stack overflow");
}

static void test_call_of_no_function(void **state)
{
	expect_fault(HEAD ".func f(.param .b32 x) { ret; }\n"
			  ".visible .entry k(.param .u64 io) { .reg .b64 %rd<4>; .param .b32 a;\n"
			  "mov.u64 %rd1, f; add.u64 %rd1, %rd1, 4;\n"
			  "p: .callprototype _ (.param .b32 _);\n"
			  "call %rd1, (a), p; ret; }",
		     CUDA_ERROR_INVALID_PC, "no function");
}

static void test_trap_ends_the_launch(void **state)
{
	expect_fault(KERNEL("setp.eq.u32 %p1, %r0, 60; @%p1 trap;"), CUDA_ERROR_LAUNCH_FAILED,
		     "trap");
}

static void test_assertion_says_where(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g,
		   HEAD ".extern .func __assertfail(.param .b64 a, .param .b64 b, .param .b32 c,\n"
			".param .b64 d, .param .b64 e);\n"
			".global .b8 what[6] = {120, 32, 62, 32, 49, 0};\n"
			".visible .entry k(.param .u64 io) { .reg .b64 %rd<4>; .reg .pred %p;\n"
			".reg .b32 %r; .param .b64 a, b, d, e; .param .b32 c;\n"
			"mov.u32 %r, %tid.x; setp.ne.u32 %p, %r, 5; @%p ret;\n"
			"mov.u64 %rd1, what; cvta.global.u64 %rd1, %rd1; st.param.b64 [a], %rd1;\n"
			"st.param.b64 [b], %rd1; st.param.b32 [c], 77; st.param.b64 [d], %rd1;\n"
			"st.param.b64 [e], 1; call __assertfail, (a, b, c, d, e); ret; }");
	io = t_alloc(&g, 256);
	assert_int_equal(run(&g, io, 1, 64), CUDA_ERROR_ASSERT);
	assert_string_equal(g.printed, "x > 1:77: x > 1: block: [0,0,0], thread: [5,0,0] "
				       "Assertion `x > 1` failed.\n");
	t_gpu_finish(&g);
}

static void test_printf_of_a_bad_address(void **state)
{
	expect_fault(HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
			  ".visible .entry k(.param .u64 io) { .param .b64 a, b; .param .b32 r;\n"
			  "st.param.b64 [a], 64; st.param.b64 [b], 0;\n"
			  "call (r), vprintf, (a, b); ret; }",
		     CUDA_ERROR_ILLEGAL_ADDRESS, "printf");
}

/* As an H200 answers: "(null)" for a string, -1 for a format. */
static void test_printf_without_a_string_or_format(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(
		&g, HEAD
		".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
		".global .b8 fmt[18] = {91, 37, 115, 124, 37, 46, 50, 115, 124, 37, 56, 115, 124, 37, 100, 93, 10, 0};\n"
		".visible .entry k(.param .u64 io) { .local .align 8 .b8 args[32];\n"
		".reg .b64 %rd<4>; .reg .b32 %r<3>; .param .b64 a, b; .param .b32 r;\n"
		"ld.param.u64 %rd1, [io]; mov.u64 %rd2, fmt; cvta.global.u64 %rd2, %rd2;\n"
		"mov.u64 %rd3, 0; st.local.u64 [args], %rd3; st.local.u64 [args+8], %rd3;\n"
		"st.local.u64 [args+16], %rd3; st.local.u32 [args+24], 7;\n"
		"mov.u64 %rd3, args; cvta.local.u64 %rd3, %rd3;\n"
		"st.param.b64 [a], %rd2; st.param.b64 [b], %rd3;\n"
		"call (r), vprintf, (a, b); ld.param.b32 %r1, [r];\n"
		"st.global.u32 [%rd1], %r1; st.param.b64 [a], 0;\n"
		"call (r), vprintf, (a, b); ld.param.b32 %r1, [r];\n"
		"st.global.u32 [%rd1+4], %r1; ret; }");
	io = t_alloc(&g, 256);
	assert_int_equal(run(&g, io, 1, 1), CUDA_SUCCESS);
	assert_string_equal(g.printed, "[(null)||  (null)|7]\n");
	assert_int_equal(io[0], 4);
	assert_int_equal(io[1], UINT32_MAX);
	assert_int_equal(g.printed_cost, 8 + 4 * 8 + 2 * strlen("(null)"));
	t_gpu_finish(&g);
}

/* As compilers other than nvcc declare it: what is printed is the same. */
static void test_printf_without_a_result(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(
		&g, HEAD
		".extern .func vprintf(.param .b64 a, .param .b64 b);\n"
		".global .b8 fmt[4] = {37, 100, 10, 0};\n"
		".visible .entry k(.param .u64 io) { .local .align 8 .b8 args[8];\n"
		".reg .b64 %rd<4>; .reg .b32 %r<3>; .param .b64 a, b;\n"
		"ld.param.u64 %rd1, [io]; mov.u64 %rd2, fmt; cvta.global.u64 %rd2, %rd2;\n"
		"mov.u32 %r2, 7; st.local.u32 [args], %r2; mov.u64 %rd3, args; cvta.local.u64 %rd3, %rd3;\n"
		"st.param.b64 [a], %rd2; st.param.b64 [b], %rd3; call vprintf, (a, b);\n"
		"mov.u32 %r1, 5; st.global.u32 [%rd1], %r1; ret; }");
	io = t_alloc(&g, 256);
	assert_int_equal(run(&g, io, 1, 1), CUDA_SUCCESS);
	assert_string_equal(g.printed, "7\n");
	assert_int_equal(io[0], 5);
	t_gpu_finish(&g);
}

/* A fault that is not a kernel's goes to the handler that was there before. */
static void test_foreign_fault_is_passed_on(void **state)
{
	struct t_gpu g;
	uint32_t *io;
	pid_t pid;
	int status;

	t_gpu_init(&g, KERNEL(""));
	io = t_alloc(&g, 256);
	assert_int_equal(run(&g, io, 1, 64), CUDA_SUCCESS);
	pid = fork();
	if (pid == 0) {
		/* Memory of the device, but no block executes. The test framework has a handler. */
		signal(SIGSEGV, SIG_DFL);
		gsb_emu_guard_install();
		*(volatile char *)(uintptr_t)(g.memory.device.base + g.memory.device.size - 1) = 1;
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	t_gpu_finish(&g);
}

/* A bug of the program while a block executes: here the parameters lie where nobody may read. */
static void run_without_parameters(struct t_gpu *g)
{
	struct gsb_emu_launch l = {
		.memory = &g->memory, .grid = {1, 1, 1}, .block = {32, 1, 1}, .params_bytes = 8};
	struct gsb_emu_block *block = NULL;
	struct gsb_emu_code *code = NULL;

	l.params = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (!gsb_emu_lower(g->module, gsb_ptx_find_func(g->module, "k"), g->var_addr, &code, g->log,
			   sizeof(g->log))) {
		l.code = code;
		if (!gsb_emu_block_create(&l, (const uint32_t[3]){0}, 0, &block))
			gsb_emu_block_run(block, UINT64_MAX / 2);
	}
}

static void test_fault_of_the_program_is_not_the_kernels(void **state)
{
	struct t_gpu g;
	pid_t pid;
	int status;

	t_gpu_init(&g, KERNEL(""));
	pid = fork();
	if (pid == 0) {
		signal(SIGSEGV, SIG_DFL);
		gsb_emu_guard_install();
		run_without_parameters(&g);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGSEGV);
	t_gpu_finish(&g);
}

/* ---- what is refused ---- */

static void expect_refused(const char *text, const char *says)
{
	struct t_gpu g;

	t_gpu_init(&g, text);
	assert_int_equal(t_lower(&g, "k"), -ENOTSUP);
	if (!strstr(g.log, says))
		fail_msg("'%s' does not say '%s'", g.log, says);
	t_gpu_finish(&g);
}

static void test_unknown_opcode_is_refused_by_name_and_line(void **state)
{
	expect_refused(KERNEL("wgmma.fence.sync.aligned;"), "wgmma.fence.sync.aligned");
	expect_refused(KERNEL("\n\nfrobnicate.u32 %r1, %r0;"), "line 16: 'frobnicate.u32");
	expect_refused(KERNEL("atom.global.min.f32 %f0, [%rd1], %f1;"), "'atom.global.min.f32'");
}

static void test_read_behind_the_parameters_is_refused(void **state)
{
	expect_refused(KERNEL("ld.param.u64 %rd2, [io+8];"), "does not fit the parameters");
	expect_refused(KERNEL("ld.param.u32 %r1, [io+4096];"), "does not fit the parameters");
	expect_refused(KERNEL("ld.param.u32 %r1, [io+6];"), "does not fit the parameters");
	expect_refused(KERNEL("ld.param.v2.u64 {%rd2, %rd3}, [io];"),
		       "does not fit the parameters");
}

static void test_function_without_body_is_refused_by_name(void **state)
{
	expect_refused(HEAD ".extern .func (.param .b64 r) calloc(.param .b64 n);\n"
			    ".visible .entry k(.param .u64 io) { .param .b64 n, r;\n"
			    "st.param.b64 [n], 8; call (r), calloc, (n); ret; }",
		       "'calloc'");
}

/* One owner of blocks takes no more than it leaves to another. */
static void test_storage_of_blocks_is_counted_and_limited(void **state)
{
	struct gsb_emu_storage sum = {.max_bytes = SIZE_MAX / 2}, a = {.sum = &sum},
			       b = {.sum = &sum};
	struct gsb_emu_memory none = {{0, 0}, {0, 0}};
	struct gsb_emu_block *blocks[3] = {NULL};
	struct gsb_emu_code *code = NULL;
	struct gsb_emu_pool pool;
	uint64_t param = 0;
	struct gsb_emu_launch l = {.memory = &none,
				   .pool = &pool,
				   .storage = &a,
				   .grid = {3, 1, 1},
				   .block = {64, 1, 1},
				   .params = &param,
				   .params_bytes = 8};
	const uint32_t ctaid[3] = {0};
	struct t_gpu g;

	t_gpu_init(&g, KERNEL(""));
	gsb_emu_pool_init(&pool);
	assert_int_equal(gsb_emu_lower(g.module, gsb_ptx_find_func(g.module, "k"), g.var_addr,
				       &code, g.log, sizeof(g.log)),
			 0);
	l.code = code;
	assert_int_equal(gsb_emu_block_create(&l, ctaid, 0, &blocks[0]), 0);
	assert_true(a.used_bytes > 64 * 32);
	assert_int_equal(a.used_bytes, sum.used_bytes);
	sum.max_bytes = 3 * a.used_bytes;
	assert_int_equal(gsb_emu_block_create(&l, ctaid, 0, &blocks[1]), -ENOMEM);
	assert_int_equal(a.used_bytes, sum.used_bytes);
	l.storage = &b;
	assert_int_equal(gsb_emu_block_create(&l, ctaid, 0, &blocks[1]), 0);
	assert_int_equal(gsb_emu_block_create(&l, ctaid, 0, &blocks[2]), -ENOMEM);
	gsb_emu_block_destroy(blocks[0]);
	gsb_emu_block_destroy(blocks[1]);
	gsb_emu_pool_finish(&pool);
	gsb_emu_code_destroy(code);
	assert_int_equal(a.used_bytes + b.used_bytes + sum.used_bytes, 0);
	t_gpu_finish(&g);
}

static void test_bad_geometry_is_refused(void **state)
{
	struct gsb_emu_memory none = {{0, 0}, {0, 0}};
	struct gsb_emu_block *b = NULL;
	struct gsb_emu_code *code = NULL;
	uint64_t param = 0;
	struct gsb_emu_launch l = {.memory = &none,
				   .grid = {1, 1, 1},
				   .block = {33, 32, 1},
				   .params = &param,
				   .params_bytes = 8};
	const uint32_t ctaid[3] = {0};
	struct t_gpu g;

	t_gpu_init(&g, KERNEL(""));
	assert_int_equal(gsb_emu_lower(g.module, gsb_ptx_find_func(g.module, "k"), g.var_addr,
				       &code, g.log, sizeof(g.log)),
			 0);
	l.code = code;
	assert_int_equal(gsb_emu_block_create(&l, ctaid, 0, &b), -EINVAL);
	l.block[0] = 32;
	l.params_bytes = 4;
	assert_int_equal(gsb_emu_block_create(&l, ctaid, 0, &b), -EINVAL);
	l.params_bytes = 8;
	l.grid[1] = 0;
	assert_int_equal(gsb_emu_block_create(&l, ctaid, 0, &b), -EINVAL);
	assert_null(b);
	gsb_emu_code_destroy(code);
	t_gpu_finish(&g);
}

#define FILE_OF(name, compiler) (void *)(uintptr_t)("tests/ptx/" name "." compiler ".ptx")
#define NVCC(test, file)                                                 \
	{                                                                \
#test " [nvcc]", test, NULL, NULL, FILE_OF(file, "nvcc") \
	}
#define CLANG(test, file)                                                  \
	{                                                                  \
#test " [clang]", test, NULL, NULL, FILE_OF(file, "clang") \
	}
#define BOTH(test, file) NVCC(test, file), CLANG(test, file)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested_loops_with_break_and_return),
		cmocka_unit_test(test_irreducible_loop),
		cmocka_unit_test(test_guards_over_runs_that_change_the_guard),
		cmocka_unit_test(test_lanes_meet_again_after_divergence),
		cmocka_unit_test(test_lanes_meet_at_the_end_of_an_inner_branch),
		cmocka_unit_test(test_lanes_that_left_are_not_active),
		cmocka_unit_test(test_arms_of_a_branch_keep_their_values_apart),
		cmocka_unit_test(test_random_flow_equals_lane_by_lane),
		cmocka_unit_test(test_shuffle_between_two_arms),
		cmocka_unit_test(test_vote_does_not_wait_for_the_dead),
		cmocka_unit_test(test_old_spellings_take_the_active_lanes),
		BOTH(test_votes_and_shuffles, "warp"),
		NVCC(test_matches_and_segments, "warp"),
		NVCC(test_reductions_of_a_warp, "redux"),
		NVCC(test_barriers_count_and_combine, "warp"),
		cmocka_unit_test(test_barrier_with_exited_threads),
		cmocka_unit_test(test_barrier_inside_a_branch_does_not_wait_for_the_join),
		cmocka_unit_test(
			test_barrier_inside_a_branch_hangs_where_lanes_are_held_at_the_join),
		cmocka_unit_test(test_barrier_numbers_of_the_lanes_of_a_warp_count_each),
		cmocka_unit_test(test_barrier_reductions_are_of_those_at_the_barrier),
		cmocka_unit_test(test_barrier_arrivals_count_at_the_number_of_each_lane),
		cmocka_unit_test(
			test_thread_that_ends_in_a_function_does_less_than_its_kernel_says),
		cmocka_unit_test(test_barrier_that_cannot_end_is_a_hang),
		BOTH(test_lock_between_lanes_of_a_warp, "diverge"),
		BOTH(test_half_warps_and_collatz, "diverge"),
		NVCC(test_blocks_that_wait_for_each_other, "atomics"),
		cmocka_unit_test(test_grid_barrier_of_resident_blocks),
		cmocka_unit_test(test_warp_that_spins_for_one_that_sleeps),
		cmocka_unit_test(test_slices_do_not_change_results),
		cmocka_unit_test(test_statistics_count_instructions_and_sectors),
		cmocka_unit_test(test_clock_goes_on_from_what_the_device_says),
		cmocka_unit_test(test_null_is_an_illegal_address),
		cmocka_unit_test(test_one_lane_out_of_bounds_is_found),
		cmocka_unit_test(test_free_pages_are_an_illegal_address),
		cmocka_unit_test(test_misaligned_accesses),
		cmocka_unit_test(test_shared_and_local_memory_have_ends),
		cmocka_unit_test(test_endless_recursion_overflows_the_stack),
		cmocka_unit_test(test_call_of_no_function),
		cmocka_unit_test(test_trap_ends_the_launch),
		cmocka_unit_test(test_assertion_says_where),
		cmocka_unit_test(test_printf_of_a_bad_address),
		cmocka_unit_test(test_printf_without_a_string_or_format),
		cmocka_unit_test(test_printf_without_a_result),
		cmocka_unit_test(test_foreign_fault_is_passed_on),
		cmocka_unit_test(test_fault_of_the_program_is_not_the_kernels),
		cmocka_unit_test(test_read_behind_the_parameters_is_refused),
		cmocka_unit_test(test_unknown_opcode_is_refused_by_name_and_line),
		cmocka_unit_test(test_function_without_body_is_refused_by_name),
		cmocka_unit_test(test_storage_of_blocks_is_counted_and_limited),
		cmocka_unit_test(test_bad_geometry_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
