/*
 * test_emu_spin.c - warps that only wait give way to those that they wait for, whatever their loops are made of, and
 * others do not.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/emu_harness.h"

#define QUANTUM 10000 /* instructions, as much as a block that spins unseen wastes each time */

#define FUNCTIONS                                                                             \
	".version 8.0\n.target sm_90\n.address_size 64\n"                                     \
	".func (.param .b32 r) look(.param .b64 at) {\n"                                      \
	".reg .b32 %r<2>; .reg .b64 %rd<2>;\n"                                                \
	"ld.param.u64 %rd1, [at]; ld.volatile.u32 %r1, [%rd1];\n"                             \
	"st.param.b32 [r], %r1; ret;\n}\n"                                                    \
	".func (.param .b32 r) deep(.param .b64 at, .param .b32 n) {\n"                       \
	".reg .pred %p; .reg .b32 %r<3>; .reg .b64 %rd<2>;\n"                                 \
	"ld.param.u64 %rd1, [at]; ld.param.u32 %r1, [n]; setp.eq.u32 %p, %r1, 0;\n"           \
	"@%p bra end; sub.u32 %r1, %r1, 1;\n"                                                 \
	"{ .param .b64 a; .param .b32 m; .param .b32 v; st.param.b64 [a], %rd1;\n"            \
	"st.param.b32 [m], %r1; call (v), deep, (a, m); ld.param.b32 %r2, [v]; }\n"           \
	"st.param.b32 [r], %r2; ret;\n"                                                       \
	"end: atom.add.u32 %r2, [%rd1], 0; st.param.b32 [r], %r2; ret;\n}\n"                  \
	".func (.param .b32 r) try(.param .b64 at) {\n"                                       \
	".reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"                                 \
	"ld.param.u64 %rd1, [at]; atom.cas.b32 %r1, [%rd1], 0, 1; setp.eq.u32 %p, %r1, 0;\n"  \
	"selp.u32 %r1, 1, 0, %p; st.param.b32 [r], %r1; ret;\n}\n"                            \
	".func lock(.param .b64 at) {\n"                                                      \
	".reg .pred %p; .reg .b32 %r<2>; .reg .b64 %rd<2>;\n"                                 \
	"ld.param.u64 %rd1, [at];\n"                                                          \
	"back: { .param .b64 a; .param .b32 v; st.param.b64 [a], %rd1; call (v), try, (a);\n" \
	"ld.param.b32 %r1, [v]; }\n"                                                          \
	"setp.eq.u32 %p, %r1, 0; @%p bra back; fence.acq_rel.gpu; ret;\n}\n"

/* %rd1: an array of words; %rd2: where the lane's is; %r1: the block; %r0: the thread */
#define KERNEL(body)                                                                       \
	FUNCTIONS ".visible .entry k(.param .u64 io) {\n"                                  \
		  ".reg .pred %p<4>; .reg .b32 %r<16>; .reg .b64 %rd<8>;\n"                \
		  ".local .align 8 .b8 own[16]; .shared .align 8 .b8 shared[16];\n"        \
		  "ld.param.u64 %rd1, [io]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n" \
		  "mad.wide.u32 %rd2, %r0, 4, %rd1;\n" body "\nret;\n}\n"

#define CALL(function, at)                                                              \
	"{ .param .b64 a; .param .b32 v; st.param.b64 [a], " at "; call (v), " function \
	", (a); ld.param.b32 %r2, [v]; }\n"

#define WORDS	  64 /* that block 1 writes, one a lane, for block 0 to wait for */
#define N_THREADS 32

/* Block 0 goes on with @loop while the word that it leaves in %r2 is 0. Block 1 then writes. */
#define WAIT(loop)                                                        \
	KERNEL("setp.ne.u32 %p1, %r1, 0; @%p1 bra give;\n"                \
	       "back: " loop " setp.eq.u32 %p1, %r2, 0; @%p1 bra back;\n" \
	       "st.global.u32 [%rd2+256], %r2; ret;\n"                    \
	       "give: st.release.gpu.u32 [%rd2], 7;")

static CUresult run(struct t_gpu *g, uint32_t blocks, uint32_t threads, const void *io)
{
	const void *at = io;

	g->resident = blocks;
	g->quantum = QUANTUM;
	return t_launch(
		g, &(struct t_launch){
			   .kernel = "k", .grid = {blocks}, .block = {threads}, .args = {&at}});
}

static void expect_wait(const char *text)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, text);
	io = t_alloc(&g, 4096);
	assert_int_equal(run(&g, 2, N_THREADS, io), CUDA_SUCCESS);
	for (int i = 0; i < N_THREADS; i++)
		assert_int_equal(io[WORDS + i], 7);
	if (!g.n_yields || g.stats.n_insns > 3000)
		fail_msg("gave way %llu times in %llu instructions:\n%s",
			 (unsigned long long)g.n_yields, (unsigned long long)g.stats.n_insns, text);
	t_gpu_finish(&g);
}

static void test_block_that_waits_gives_way_before_its_quantum_ends(void **state)
{
	static const char *const loops[] = {
		WAIT("ld.acquire.gpu.u32 %r2, [%rd1];"),
		WAIT("ld.volatile.global.u32 %r2, [%rd1+8]; and.b32 %r2, %r2, 7; fence.acq_rel.gpu;"),
		WAIT("ld.relaxed.gpu.v2.u32 {%r2, %r3}, [%rd1];"),
		WAIT("ld.volatile.u64 %rd3, [%rd1]; and.b64 %rd3, %rd3, 7; cvt.u32.u64 %r2, %rd3;"),
		WAIT("ld.relaxed.gpu.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0;\n"
		     "vote.sync.all.pred %p2, %p1, 0xffffffff; selp.u32 %r2, 0, 7, %p2;"),
		/* atomic operations that leave memory as it is */
		WAIT("atom.global.cas.b32 %r2, [%rd1], 7, 7;"),
		WAIT("atom.global.cas.b32 %r2, [%rd1], 1, 2;"),
		WAIT("atom.add.u32 %r2, [%rd1], 0;"),
		WAIT("atom.max.u32 %r2, [%rd1+124], 0;"),
		WAIT("atom.or.b64 %rd3, [%rd1], 0; cvt.u32.u64 %r2, %rd3;"),
		/* a place for each lane */
		WAIT("ld.volatile.global.u32 %r2, [%rd2];"),
		WAIT("atom.global.cas.b32 %r2, [%rd2], 1, 2;"),
		WAIT("atom.global.min.u32 %r2, [%rd2], 7;"),
		/* several looks, and others that find something new each time */
		WAIT("ld.volatile.u32 %r2, [%rd1]; ld.volatile.u32 %r3, [%rd1+4];\n"
		     "ld.volatile.u32 %r4, [%rd2]; ld.volatile.u32 %r5, [%rd1+4];\n"
		     "atom.add.u32 %r6, [%rd1], 0; atom.or.b32 %r7, [%rd1+8], 0; and.b32 %r2, %r3, %r7;"),
		WAIT("atom.add.u32 %r3, [%rd1+1024], 1; ld.volatile.u32 %r2, [%rd1];"),
		WAIT("add.u32 %r3, %r3, 1; st.volatile.u32 [%rd1+1024], %r3;\n"
		     "ld.volatile.u32 %r4, [%rd1+1024]; ld.volatile.u32 %r2, [%rd1];"),
		/* what else there is between two looks */
		WAIT("ld.acquire.gpu.u32 %r2, [%rd1]; st.global.u32 [%rd2+1024], %r2;"),
		WAIT("st.local.u64 [own], %rd1; ld.local.u64 %rd3, [own]; mov.u64 %rd4, own;\n"
		     "cvta.local.u64 %rd4, %rd4; ld.volatile.u32 %r2, [%rd3]; st.u32 [%rd4+8], %r2;\n"
		     "ld.volatile.u32 %r2, [%rd4+8];"),
		/* functions */
		WAIT(CALL("look", "%rd1")),
		WAIT(CALL("look", "%rd2")),
		WAIT("mov.u64 %rd3, look;\n"
		     "{ .param .b64 a; .param .b32 v; st.param.b64 [a], %rd1;\n"
		     "proto: .callprototype (.param .b32 _) _ (.param .b64 _);\n"
		     "call (v), %rd3, (a), proto; ld.param.b32 %r2, [v]; }\n"),
		WAIT("{ .param .b64 a; .param .b32 m; .param .b32 v; st.param.b64 [a], %rd1;\n"
		     "st.param.b32 [m], 4; call (v), deep, (a, m); ld.param.b32 %r2, [v]; }\n"),
		WAIT("{ .param .b64 a; .param .b32 m; .param .b32 v; st.param.b64 [a], %rd1;\n"
		     "and.b32 %r3, %r0, 1; st.param.b32 [m], %r3; call (v), deep, (a, m);\n"
		     "ld.param.b32 %r2, [v]; }\n"),
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(loops); i++)
		expect_wait(loops[i]);
}

/* A hundred turns of @loop, which changes %rd3 or %r3 as it likes. */
#define WORK(loop)                                                     \
	KERNEL("mov.u32 %r4, 0; mov.u64 %rd3, %rd1; mov.u32 %r3, 0;\n" \
	       "back: " loop " add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 100; @%p1 bra back;")

static void test_block_that_works_keeps_its_turn(void **state)
{
	static const char *const loops[] = {
		WORK("ld.global.u32 %r2, [%rd1]; st.global.u32 [%rd2], %r2;"),
		WORK("ld.volatile.global.u32 %r2, [%rd3]; add.u64 %rd3, %rd3, 4;"),
		WORK("st.volatile.u32 [%rd2], %r4; ld.volatile.u32 %r2, [%rd2];"),
		/* only the last lane, or only the last word, is another */
		WORK("mul.lo.u32 %r5, %r0, %r4; and.b32 %r5, %r5, 255; mad.wide.u32 %rd3, %r5, 4, %rd1;\n"
		     "ld.volatile.u32 %r2, [%rd3];"),
		WORK("st.volatile.u32 [%rd1+12], %r4; ld.volatile.v4.u32 {%r2, %r3, %r5, %r6}, [%rd1];"),
		WORK("cvt.u64.u32 %rd3, %r4; shl.b64 %rd3, %rd3, 32; st.volatile.u64 [%rd1], %rd3;\n"
		     "ld.volatile.u64 %rd3, [%rd1];"),
		/* a lock that nobody else wants; a counter; sums that nobody looks at */
		WORK("atom.cas.b32 %r2, [%rd2], 0, 1; atom.exch.b32 %r2, [%rd2], 0;"),
		WORK("atom.cas.b32 %r2, [%rd1], 0, 1; atom.exch.b32 %r2, [%rd1], 0;"),
		WORK("atom.shared.cas.b32 %r2, [shared], 0, 1; atom.shared.exch.b32 %r2, [shared], 0;"),
		WORK("atom.global.add.u32 %r2, [%rd1], 1;"),
		WORK("atom.global.add.u32 %r2, [%rd2], 1;"),
		WORK("red.global.add.u32 [%rd1], 0;"),
		/* memory of its own */
		WORK("ld.volatile.local.u32 %r2, [own];"),
		WORK("mov.u64 %rd4, own; cvta.local.u64 %rd4, %rd4; ld.volatile.u32 %r2, [%rd4];"),
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(loops); i++) {
		struct t_gpu g;

		t_gpu_init(&g, loops[i]);
		assert_int_equal(run(&g, 1, N_THREADS, t_alloc(&g, 4096)), CUDA_SUCCESS);
		if (g.n_yields)
			fail_msg("gave way %llu times:\n%s", (unsigned long long)g.n_yields,
				 loops[i]);
		t_gpu_finish(&g);
	}
}

/* Three blocks, one after the other in the same storage, each with as many looks at one place. */
static uint64_t yields_of_looks(const char *text)
{
	struct t_gpu g;
	uint64_t n;

	t_gpu_init(&g, text);
	g.resident = 1;
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "k",
							 .grid = {3},
							 .block = {N_THREADS},
							 .args = {&(void *){t_alloc(&g, 4096)}}}),
			 CUDA_SUCCESS);
	n = g.n_yields;
	t_gpu_finish(&g);
	return n;
}

#define LOOKS(turns)                                                                        \
	KERNEL("mov.u32 %r4, 0;\nback: ld.volatile.u32 %r2, [%rd1]; add.u32 %r4, %r4, 1;\n" \
	       "setp.lt.u32 %p1, %r4, " turns "; @%p1 bra back;")

static void test_block_knows_nothing_of_what_the_last_one_found(void **state)
{
	assert_int_equal(yields_of_looks(LOOKS("16")), 0);
	assert_int_equal(yields_of_looks(LOOKS("17")), 0); /* tired, but at no branch back */
	assert_int_equal(yields_of_looks(LOOKS("18")), 3);
}

/* Threads count one after the other, each with the lock. */
#define COUNT(lock, counter)                                                              \
	"{ .param .b64 a; st.param.b64 [a], " lock "; call lock, (a); }\n"                \
	"ld.volatile.u32 %r2, " counter "; add.u32 %r2, %r2, 1; st.volatile.u32 " counter \
	", %r2;\n"                                                                        \
	"fence.acq_rel.gpu; atom.exch.b32 %r3, [" lock "], 0;\n"

static void expect_counted(const char *text, uint32_t blocks, uint32_t threads, uint64_t most)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, text);
	io = t_alloc(&g, 4096);
	assert_int_equal(run(&g, blocks, threads, io), CUDA_SUCCESS);
	assert_int_equal(io[1], blocks * threads);
	if (g.stats.n_insns > most)
		fail_msg("%llu instructions", (unsigned long long)g.stats.n_insns);
	t_gpu_finish(&g);
}

/* Each of 320 acquisitions lets 9 other blocks look some 16 times, and 31 lanes of its own until it is let go. */
static void test_lock_in_a_function_costs_its_waiters_little(void **state)
{
	expect_counted(KERNEL(COUNT("%rd1", "[%rd1+4]")), 10, 32, 2500000);
}

static void test_lock_of_a_block_in_a_function_costs_its_waiters_little(void **state)
{
	expect_counted(
		KERNEL("mov.u64 %rd4, shared; cvta.shared.u64 %rd4, %rd4;\n"
		       "st.shared.u64 [shared], 0; bar.sync 0;\n" COUNT(
			       "%rd4", "[%rd4+4]") "bar.sync 0; st.global.u32 [%rd1+4], 128;"),
		1, 128, 1000000);
}

/* Warp 1 has 60,000 instructions to go before it arrives; warp 0 tests in a loop until it has. */
static void test_warp_that_tests_an_mbarrier_gives_way(void **state)
{
	struct t_gpu g;

	t_gpu_init(
		&g,
		KERNEL("setp.eq.u32 %p2, %r0, 0; @!%p2 bra begin;\n"
		       "mbarrier.init.shared.b64 [shared], 32;\n"
		       "begin: bar.sync 0; mov.u32 %r4, 0; setp.ge.u32 %p1, %r0, 32; @%p1 bra busy;\n"
		       "back: mbarrier.test_wait.parity.shared.b64 %p1, [shared], 0;\n"
		       "@!%p1 bra back; ret;\n"
		       "busy: add.u32 %r4, %r4, 1; setp.lt.u32 %p1, %r4, 20000; @%p1 bra busy;\n"
		       "mbarrier.arrive.shared.b64 %rd3, [shared];"));
	assert_int_equal(run(&g, 1, 64, t_alloc(&g, 4096)), CUDA_SUCCESS);
	assert_in_range(g.stats.n_insns, 60000, 62000);
	t_gpu_finish(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_block_that_waits_gives_way_before_its_quantum_ends),
		cmocka_unit_test(test_block_that_works_keeps_its_turn),
		cmocka_unit_test(test_block_knows_nothing_of_what_the_last_one_found),
		cmocka_unit_test(test_lock_in_a_function_costs_its_waiters_little),
		cmocka_unit_test(test_lock_of_a_block_in_a_function_costs_its_waiters_little),
		cmocka_unit_test(test_warp_that_tests_an_mbarrier_gives_way),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
