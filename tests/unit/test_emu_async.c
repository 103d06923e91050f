/*
 * test_emu_async.c - copies that are waited for, and mbarriers: cp.async and its groups, phases, bytes that are
 * expected, bulk copies, and what libcu++ makes of them for three architectures.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/emu_harness.h"

/* Kernels of one parameter, the address of an array; %r0 = %tid.x, %rd0 its own element of 4 bytes. */
#define HEAD ".version 8.6\n.target sm_90\n.address_size 64\n"
#define REGS                                                         \
	".reg .pred %p<8>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<24>;\n" \
	".shared .align 16 .b8 sh[4096];\n.shared .align 8 .b64 bar[4];\n"
#define KERNEL(body)                                            \
	HEAD ".visible .entry k(.param .u64 io) {\n" REGS       \
	     "ld.param.u64 %rd1, [io];\nmov.u32 %r0, %tid.x;\n" \
	     "mad.wide.u32 %rd0, %r0, 4, %rd1;\n" body "\nret;\n}\n"
/* %r1: its place of 16 bytes in sh, which holds its number + 1000 four times */
#define PLACE                                                                                    \
	"shl.b32 %r1, %r0, 4; mov.u32 %r2, sh; add.u32 %r1, %r1, %r2; add.u32 %r3, %r0, 1000;\n" \
	"st.shared.v4.u32 [%r1], {%r3, %r3, %r3, %r3};\n"
/* %rd2: 16 bytes of its own in io, from byte 4096 */
#define SOURCE "mad.wide.u32 %rd2, %r0, 16, %rd1; add.u64 %rd2, %rd2, 4096;\n"
#define SHOW   "ld.shared.u32 %r4, [%r1]; st.global.u32 [%rd0], %r4;\n"
/* One thread initialises bar for all. */
#define INIT(n) "setp.eq.u32 %p7, %r0, 0; @%p7 mbarrier.init.shared.b64 [bar], " n "; bar.sync 0;\n"

#define IO_BYTES 65536

static uint32_t *io_alloc(struct t_gpu *g)
{
	uint32_t *io = t_alloc(g, IO_BYTES);

	for (uint32_t i = 0; i < IO_BYTES / 4; i++)
		io[i] = i < 1024 ? 0 : i - 1024 + 7; /* of thread t, from byte 4096: 4t + 7 */
	return io;
}

static CUresult run(struct t_gpu *g, uint32_t *io, uint32_t block)
{
	return t_launch(g, &(struct t_launch){.kernel = "k", .block = {block}, .args = {&io}});
}

static void check_lanes(const char *text, uint32_t n, uint32_t (*want)(uint32_t))
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, text);
	io = io_alloc(&g);
	if (run(&g, io, n))
		fail_msg("%s", g.fault.text);
	for (uint32_t i = 0; i < n; i++) {
		if (io[i] != want(i))
			fail_msg("lane %u: 0x%x, not 0x%x", i, io[i], want(i));
	}
	t_gpu_finish(&g);
}

static void expect_fault(const char *text, uint32_t threads, CUresult result, const char *reason)
{
	struct t_gpu g;
	uint32_t *io;
	CUresult got;

	t_gpu_init(&g, text);
	io = io_alloc(&g);
	got = run(&g, io, threads);
	if (got != result || !strstr(g.fault.text, reason))
		fail_msg("%d '%s', not %d '%s'", got, g.fault.text, result, reason);
	t_gpu_finish(&g);
}

static void expect_refused(const char *text, const char *reason)
{
	struct t_gpu g;

	t_gpu_init(&g, text);
	if (t_lower(&g, "k") != -ENOTSUP || !strstr(g.log, reason))
		fail_msg("'%s', not '%s'", g.log, reason);
	t_gpu_finish(&g);
}

/* ---- cp.async ---- */

static uint32_t copied(uint32_t i)
{
	return 4 * i + 7;
}

static uint32_t untouched(uint32_t i)
{
	return i + 1000;
}

static void test_cp_async_is_done_at_the_wait_and_not_before(void **state)
{
	check_lanes(KERNEL(PLACE SOURCE "cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
					"cp.async.commit_group; cp.async.wait_group 0;" SHOW),
		    64, copied);
	check_lanes(KERNEL(PLACE SOURCE "cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
					"cp.async.commit_group;" SHOW),
		    64, untouched);
	/* what is in no group is not waited for, but by wait_all */
	check_lanes(KERNEL(PLACE SOURCE "cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
					"cp.async.wait_group 0;" SHOW),
		    64, untouched);
	check_lanes(KERNEL(PLACE SOURCE "cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
					"cp.async.wait_all;" SHOW),
		    64, copied);
}

/* Lanes wait for themselves: the even ones here. */
static uint32_t even_copied(uint32_t i)
{
	return i % 2 ? untouched(i) : copied(i);
}

static void test_cp_async_wait_is_of_the_lane_alone(void **state)
{
	check_lanes(KERNEL(PLACE SOURCE "cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
					"and.b32 %r5, %r0, 1; setp.eq.u32 %p1, %r5, 0;\n"
					"@%p1 cp.async.wait_all;" SHOW),
		    64, even_copied);
	check_lanes(KERNEL(PLACE SOURCE "and.b32 %r5, %r0, 1; setp.eq.u32 %p1, %r5, 0;\n"
					"@%p1 cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
					"cp.async.wait_all;" SHOW),
		    64, even_copied);
}

/* Three groups of 4 bytes into words 0, 1, 2 of the place; @n of them may be pending: result has a bit a group. */
static uint32_t groups_seen;

static uint32_t groups_done(uint32_t i)
{
	(void)i;
	return groups_seen;
}

static void test_cp_async_wait_group_leaves_the_last_ones_pending(void **state)
{
	static const struct {
		const char *text;
		uint32_t seen;
	} cases[] = {
#define GROUPS(wait)                                                                           \
	KERNEL(PLACE SOURCE                                                                    \
	       "cp.async.ca.shared.global [%r1], [%rd2], 4; cp.async.commit_group;\n"          \
	       "cp.async.commit_group;\n" /* of nothing, and it counts */                      \
	       "cp.async.ca.shared.global [%r1+4], [%rd2+4], 4; cp.async.commit_group;\n"      \
	       "cp.async.ca.shared.global [%r1+8], [%rd2+8], 4; cp.async.commit_group;\n" wait \
	       "\nld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r1]; mov.u32 %r9, 0;\n"             \
	       "setp.ne.u32 %p1, %r5, %r3; @%p1 or.b32 %r9, %r9, 1;\n"                         \
	       "setp.ne.u32 %p1, %r6, %r3; @%p1 or.b32 %r9, %r9, 2;\n"                         \
	       "setp.ne.u32 %p1, %r7, %r3; @%p1 or.b32 %r9, %r9, 4;\n"                         \
	       "st.global.u32 [%rd0], %r9;")
		{GROUPS("cp.async.wait_group 0;"), 7}, {GROUPS("cp.async.wait_group 1;"), 3},
		{GROUPS("cp.async.wait_group 2;"), 1}, {GROUPS("cp.async.wait_group 3;"), 1},
		{GROUPS("cp.async.wait_group 4;"), 0}, {GROUPS("cp.async.wait_all;"), 7},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		groups_seen = cases[i].seen;
		check_lanes(cases[i].text, 32, groups_done);
	}
}

/* Bytes beyond src-size are zero; nothing is read when it is 0, whatever the address. */
static uint32_t half_zero(uint32_t i)
{
	return i % 2 ? 0 : copied(i) + 2;
}

static void test_cp_async_fills_with_zero_and_reads_no_more_than_it_may(void **state)
{
	check_lanes(KERNEL(PLACE SOURCE
			   "and.b32 %r5, %r0, 1; sub.u32 %r5, 1, %r5; mul.lo.u32 %r5, %r5, 12;\n"
			   "setp.eq.u32 %p1, %r5, 0; @%p1 mov.u64 %rd2, 3;\n"
			   "cp.async.cg.shared.global.L2::128B [%r1], [%rd2], 16, %r5;\n"
			   "cp.async.wait_all; ld.shared.u32 %r6, [%r1+12];\n"
			   "setp.ne.u32 %p2, %r6, 0; @%p2 trap;\n"
			   "ld.shared.u32 %r4, [%r1+8]; st.global.u32 [%rd0], %r4;"),
		    32, half_zero);
	check_lanes(
		KERNEL(PLACE SOURCE
		       "and.b32 %r5, %r0, 1; setp.eq.u32 %p1, %r5, 1; @%p1 mov.u64 %rd2, 3;\n"
		       "cp.async.ca.shared::cta.global.L2::cache_hint [%r1+8], [%rd2+8], 8, %p1, %rd3;\n"
		       "cp.async.wait_all;\n"
		       "ld.shared.u32 %r4, [%r1+8]; st.global.u32 [%rd0], %r4;"),
		32, half_zero);
	check_lanes(KERNEL(PLACE SOURCE
			   "and.b32 %r5, %r0, 1; setp.eq.u32 %p1, %r5, 0; @!%p1 mov.u64 %rd2, 3;\n"
			   "cp.async.ca.shared.global [%r1+8], [%rd2+8], 8, !%p1;\n"
			   "cp.async.wait_all;\n"
			   "ld.shared.u32 %r4, [%r1+8]; st.global.u32 [%rd0], %r4;"),
		    32, half_zero);
}

/* From a variable to a variable, by names and offsets. */
static uint32_t second_of_v(uint32_t i)
{
	(void)i;
	return 22;
}

static void test_cp_async_takes_names_and_offsets(void **state)
{
	check_lanes(HEAD ".global .align 16 .u32 v[4] = {11, 22, 33, 44};\n"
			 ".visible .entry k(.param .u64 io) {\n" REGS
			 "ld.param.u64 %rd1, [io]; mov.u32 %r0, %tid.x;\n"
			 "mad.wide.u32 %rd0, %r0, 4, %rd1;\n"
			 "cp.async.ca.shared.global [sh+8], [v+4], 4; cp.async.wait_all;\n"
			 "ld.shared.u32 %r4, [sh+8]; st.global.u32 [%rd0], %r4; ret; }",
		    8, second_of_v);
}

static void test_cp_async_of_bad_addresses_ends_the_kernel(void **state)
{
	expect_fault(KERNEL(PLACE SOURCE "cp.async.cg.shared.global [%r1+8], [%rd2], 16;"), 32,
		     CUDA_ERROR_MISALIGNED_ADDRESS, "not aligned to 16");
	expect_fault(KERNEL(PLACE SOURCE "cp.async.ca.shared.global [%r1], [%rd2+4], 8;"), 32,
		     CUDA_ERROR_MISALIGNED_ADDRESS, "not aligned to 8");
	expect_fault(KERNEL(PLACE SOURCE "cp.async.ca.shared.global [%r1+8192], [%rd2], 4;"), 32,
		     CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory has no");
	expect_fault(KERNEL(PLACE "mov.u64 %rd2, 4096;\n"
				  "cp.async.ca.shared.global [%r1], [%rd2], 4;"),
		     32, CUDA_ERROR_ILLEGAL_ADDRESS, "read of address 0x1000");
	/* a hole is found when the bytes are moved, at the exit of the thread at the latest */
	expect_fault(KERNEL(PLACE "add.u64 %rd2, %rd1, 67108864;\n"
				  "cp.async.ca.shared.global [%r1], [%rd2], 4;"),
		     32, CUDA_ERROR_ILLEGAL_ADDRESS, "not allocated");
}

static void test_cp_async_of_other_sizes_is_refused(void **state)
{
	expect_refused(KERNEL("cp.async.cg.shared.global [sh], [%rd1], 8;"), "cp.async.cg");
	expect_refused(KERNEL("cp.async.ca.shared.global [sh], [%rd1], 12;"), "cp.async.ca");
	expect_refused(KERNEL("cp.async.ca.shared.global [sh], [%rd1], %r1;"), "cp.async.ca");
}

/* More than are remembered: they are done early, and none is lost. */
static uint32_t last_of_many(uint32_t i)
{
	return copied(i);
}

static void test_very_many_pending_copies_are_all_done(void **state)
{
	check_lanes(
		KERNEL(PLACE SOURCE
		       "mov.u32 %r5, 0;\n"
		       "more: cp.async.ca.shared.global [%r1+4], [%rd2], 4; cp.async.commit_group;\n"
		       "add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, 3000; @%p1 bra more;\n"
		       "cp.async.ca.shared.global [%r1], [%rd2], 4; cp.async.wait_all;" SHOW),
		64, last_of_many);
}

/* ---- mbarriers ---- */

/* Phases end when all have arrived, and not before; tokens and parities name them. */
static void test_mbarrier_phases_tokens_and_parities(void **state)
{
	static const char *const text = KERNEL(INIT(
		"3") "@!%p7 bra out;\n"
		     "mbarrier.arrive.shared.b64 %rd2, [bar];\n" /* pending 2 */
		     "mbarrier.test_wait.shared.b64 %p1, [bar], %rd2; selp.u32 %r1, 1, 0, %p1;\n"
		     "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0; selp.u32 %r2, 2, 0, %p1;\n"
		     "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; selp.u32 %r3, 4, 0, %p1;\n"
		     "mbarrier.arrive.noComplete.shared.b64 %rd3, [bar], 1;\n"
		     "mbarrier.pending_count.b64 %r4, %rd3; shl.b32 %r4, %r4, 8;\n" /* 2 */
		     "mbarrier.arrive.release.cta.shared::cta.b64 _, [bar], 1;\n"   /* phase 1 */
		     "mbarrier.test_wait.acquire.cta.shared::cta.b64 %p1, [bar], %rd2; selp.u32 %r5, 8, 0, %p1;\n"
		     "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0, 1000; selp.u32 %r6, 16, 0, %p1;\n"
		     "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 1; selp.u32 %r7, 32, 0, %p1;\n"
		     "mbarrier.arrive.shared.b64 %rd4, [bar], 3;\n"		     /* phase 2 */
		     "mbarrier.pending_count.b64 %r8, %rd4; shl.b32 %r8, %r8, 16;\n" /* 3 */
		     "mbarrier.test_wait.shared.b64 %p1, [bar], %rd4; selp.u32 %r9, 64, 0, %p1;\n"
		     "mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1; selp.u32 %r10, 128, 0, %p1;\n"
		     "or.b32 %r1, %r1, %r2; or.b32 %r1, %r1, %r3; or.b32 %r1, %r1, %r4;\n"
		     "or.b32 %r1, %r1, %r5; or.b32 %r1, %r1, %r6; or.b32 %r1, %r1, %r7;\n"
		     "or.b32 %r1, %r1, %r8; or.b32 %r1, %r1, %r9; or.b32 %r1, %r1, %r10;\n"
		     "st.global.u32 [%rd0], %r1; mbarrier.inval.shared.b64 [bar]; out:");
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, text);
	io = io_alloc(&g);
	assert_int_equal(run(&g, io, 32), CUDA_SUCCESS);
	assert_int_equal(io[0], 4 | 8 | 16 | 64 | 128 | 2 << 8 | 3 << 16);
	t_gpu_finish(&g);
}

/* Lanes of one warp in a loop each of its own wait for each other: those that wait let the others run. */
static uint32_t all_arrived(uint32_t i)
{
	(void)i;
	return 96;
}

static void test_mbarrier_waits_of_divergent_lanes(void **state)
{
	check_lanes(
		KERNEL(INIT(
			"96") "mov.u32 %r5, 0;\n"
			      "spin: add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r0; @%p1 bra spin;\n"
			      "atom.shared.add.u32 %r6, [sh], 1;\n"
			      "mbarrier.arrive.shared.b64 %rd2, [bar];\n"
			      "wait: mbarrier.try_wait.shared.b64 %p2, [bar], %rd2; @!%p2 bra wait;\n"
			      "ld.shared.u32 %r4, [sh]; st.global.u32 [%rd0], %r4;"),
		96, all_arrived);
	check_lanes(
		KERNEL(INIT(
			"96") "mov.u64 %rd3, bar; cvta.shared.u64 %rd3, %rd3;\n"
			      "atom.shared.add.u32 %r6, [sh], 1; and.b32 %r7, %r0, 1;\n"
			      "setp.eq.u32 %p1, %r7, 1; @%p1 bra odd;\n"
			      "mbarrier.arrive.b64 %rd2, [%rd3];\n"
			      "even: mbarrier.test_wait.b64 %p2, [%rd3], %rd2; @!%p2 bra even;\n"
			      "bra out;\n"
			      "odd: mbarrier.arrive.b64 %rd2, [%rd3];\n"
			      "again: mbarrier.test_wait.parity.b64 %p2, [%rd3], 0; @!%p2 bra again;\n"
			      "out: ld.shared.u32 %r4, [sh]; st.global.u32 [%rd0], %r4;"),
		96, all_arrived);
}

static uint32_t phases_left(uint32_t i)
{
	(void)i;
	return 31;
}

/* Thread t drops out in phase t: the phase that begins then expects one less. */
static void test_mbarrier_drop_lets_later_phases_expect_less(void **state)
{
	check_lanes(
		KERNEL(INIT(
			"32") "mov.u32 %r5, 0;\n"
			      "next: setp.ge.u32 %p1, %r5, %r0; @%p1 bra drop;\n"
			      "mbarrier.arrive.shared.b64 %rd2, [bar];\n"
			      "wait: mbarrier.try_wait.shared.b64 %p2, [bar], %rd2; @!%p2 bra wait;\n"
			      "add.u32 %r5, %r5, 1; bra next;\n"
			      "drop: mbarrier.arrive_drop.shared.b64 %rd2, [bar];\n"
			      "atom.shared.max.u32 %r6, [sh], %r5; bar.sync 0;\n"
			      "ld.shared.u32 %r4, [sh]; st.global.u32 [%rd0], %r4;"),
		32, phases_left);
}

static uint32_t first_is_over(uint32_t i)
{
	(void)i;
	return 3;
}

/* Another thread may have seen the end of the phase first, and made the barrier invalid. */
static void test_mbarrier_wait_after_inval_sees_how_it_was(void **state)
{
	check_lanes(
		KERNEL("mbarrier.init.shared.b64 [bar], 1; mbarrier.arrive.shared.b64 %rd2, [bar];\n"
		       "mbarrier.inval.shared.b64 [bar]; mov.u32 %r4, 0;\n"
		       "mbarrier.test_wait.shared.b64 %p1, [bar], %rd2; @%p1 add.u32 %r4, %r4, 1;\n"
		       "mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0; @%p1 add.u32 %r4, %r4, 2;\n"
		       "st.global.u32 [%rd0], %r4;"),
		1, first_is_over);
}

static uint32_t what_was_kept(uint32_t i)
{
	(void)i;
	return 0x12345678;
}

/* What is none may be what a program keeps there meanwhile. */
static void test_mbarrier_inval_of_what_is_none_leaves_it(void **state)
{
	check_lanes(KERNEL("mbarrier.init.shared.b64 [bar], 1; mbarrier.inval.shared.b64 [bar];\n"
			   "mbarrier.inval.shared.b64 [bar]; mov.u64 %rd2, 0x12345678;\n"
			   "st.shared.u64 [bar], %rd2; mbarrier.inval.shared.b64 [bar];\n"
			   "ld.shared.u32 %r4, [bar]; st.global.u32 [%rd0], %r4;"),
		    1, what_was_kept);
}

static void test_mbarrier_misuse_ends_the_kernel_with_the_reason(void **state)
{
	static const struct {
		const char *text;
		CUresult result;
		const char *reason;
	} cases[] = {
		{KERNEL("mbarrier.arrive.shared.b64 _, [bar];"), CUDA_ERROR_LAUNCH_FAILED,
		 "not initialised"},
		{KERNEL("mov.u64 %rd2, 0x123456789abc; st.shared.u64 [bar], %rd2;\n"
			"mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;"),
		 CUDA_ERROR_LAUNCH_FAILED, "not initialised"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 0;"), CUDA_ERROR_LAUNCH_FAILED,
		 "from 1 to 1048575"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 1048576;"), CUDA_ERROR_LAUNCH_FAILED,
		 "from 1 to 1048575"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 2; mbarrier.arrive.shared.b64 _, [bar], 3;"),
		 CUDA_ERROR_LAUNCH_FAILED, "more arrivals"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 2;\n"
			"mbarrier.arrive.noComplete.shared.b64 %rd2, [bar], 2;"),
		 CUDA_ERROR_LAUNCH_FAILED, "must not complete"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 2;\n"
			"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1048575;\n"
			"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 1;"),
		 CUDA_ERROR_LAUNCH_FAILED, "more than 1048575 bytes"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 2;\n"
			"mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 0xffffffff;"),
		 CUDA_ERROR_LAUNCH_FAILED, "more than 1048575 bytes"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 1;\n"
			"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 1048575;\n"
			"mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 1;"),
		 CUDA_ERROR_LAUNCH_FAILED, "more than 1048575 bytes"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 1; mbarrier.inval.shared.b64 [bar];\n"
			"mbarrier.arrive.shared.b64 _, [bar];"),
		 CUDA_ERROR_LAUNCH_FAILED, "not initialised"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 1; mbarrier.inval.shared.b64 [bar];\n"
			"mbarrier.test_wait.parity.shared.b64 %p1, [bar], 0;"),
		 CUDA_ERROR_LAUNCH_FAILED, "made invalid before"},
		{KERNEL("mov.u32 %r1, 1000000; mbarrier.init.shared.b64 [%r1], 1;"),
		 CUDA_ERROR_ILLEGAL_ADDRESS, "not shared memory"},
		{KERNEL("mov.u32 %r1, 0xfffffff8; mbarrier.init.shared.b64 [%r1], 1;"),
		 CUDA_ERROR_ILLEGAL_ADDRESS, "not shared memory"},
		{KERNEL("mbarrier.init.b64 [%rd1], 1;"), CUDA_ERROR_ILLEGAL_ADDRESS,
		 "not shared memory"},
		{KERNEL("mbarrier.init.shared.b64 [bar+4], 1;"), CUDA_ERROR_MISALIGNED_ADDRESS,
		 "not aligned to 8"},
		{KERNEL("mbarrier.init.shared.b64 [bar], 1048575;\n"
			"cp.async.mbarrier.arrive.shared.b64 [bar];"),
		 CUDA_ERROR_LAUNCH_FAILED, "arrivals are pending"},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++)
		expect_fault(cases[i].text, 1, cases[i].result, cases[i].reason);
}

/* ---- copies that report to an mbarrier ---- */

static uint32_t neighbours(uint32_t i)
{
	return copied((i + 1) % 64);
}

#define NEIGHBOUR                                                                                  \
	"add.u32 %r5, %r0, 1; and.b32 %r5, %r5, 63; shl.b32 %r5, %r5, 4; add.u32 %r5, %r5, %r2;\n" \
	"ld.shared.u32 %r4, [%r5]; st.global.u32 [%rd0], %r4;\n"

/* Who waits for the barrier sees the copies of all others; with .noinc the arrival is one of those expected. */
static void test_cp_async_arrives_when_its_copies_are_done(void **state)
{
	check_lanes(
		KERNEL(INIT("64") PLACE SOURCE
		       "cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
		       "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
		       "wait: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra wait;\n" NEIGHBOUR),
		64, neighbours);
	check_lanes(
		KERNEL(INIT("64") PLACE SOURCE
		       "cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
		       "cp.async.mbarrier.arrive.shared.b64 [bar];\n"
		       "mbarrier.arrive.shared.b64 %rd3, [bar];\n"
		       "wait: mbarrier.test_wait.shared.b64 %p2, [bar], %rd3; @!%p2 bra wait;\n" NEIGHBOUR),
		64, neighbours);
	/* by wait_all the copies are done, and so the thread has arrived */
	check_lanes(
		KERNEL(INIT("64") PLACE SOURCE
		       "cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
		       "cp.async.mbarrier.arrive.noinc.shared.b64 [bar]; cp.async.wait_all;\n"
		       "wait: mbarrier.test_wait.parity.shared.b64 %p2, [bar], 0; @!%p2 bra wait;\n" NEIGHBOUR),
		64, neighbours);
}

/* Another mbarrier says nothing about them. */
static void test_cp_async_is_not_done_when_another_barrier_is_looked_at(void **state)
{
	check_lanes(KERNEL(INIT("64") PLACE SOURCE
			   "@%p7 mbarrier.init.shared.b64 [bar+8], 1; bar.sync 0;\n"
			   "cp.async.ca.shared.global [%r1], [%rd2], 4;\n"
			   "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\n"
			   "mbarrier.test_wait.parity.shared.b64 %p2, [bar+8], 0;" SHOW),
		    64, untouched);
}

/* One thread copies for all; the bytes may come before they are expected. */
static uint32_t word_of_bulk(uint32_t i)
{
	return i + 7;
}

#define BULK(expect, copy)                                                                         \
	KERNEL(INIT("64") "add.u64 %rd2, %rd1, 4096; @!%p7 bra ready;\n" expect copy               \
			  "ready: mbarrier.arrive.shared.b64 %rd3, [bar];\n"                       \
			  "wait: mbarrier.try_wait.shared.b64 %p2, [bar], %rd3; @!%p2 bra wait;\n" \
			  "shl.b32 %r1, %r0, 2; mov.u32 %r2, sh; add.u32 %r1, %r1, %r2;\n" SHOW)
#define EXPECT "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 256;\n"
#define LOAD                                                                               \
	"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [sh], [%rd2], " \
	"128, [bar];\n"                                                                    \
	"cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes.L2::cache_hint "    \
	"[sh+128], [%rd2+128], 128, [bar], %rd5;\n"

static void test_bulk_load_ends_the_phase_when_its_bytes_have_come(void **state)
{
	check_lanes(BULK(EXPECT, LOAD), 64, word_of_bulk);
	check_lanes(BULK(LOAD, EXPECT), 64, word_of_bulk);
}

static void test_phase_waits_for_bytes_that_do_not_come(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(
		&g,
		KERNEL(INIT("1") "mbarrier.arrive.expect_tx.shared.b64 %rd2, [bar], 16;\n"
				 "mov.u32 %r1, 5;\n"
				 "again: mbarrier.try_wait.shared.b64 %p1, [bar], %rd2;\n"
				 "@%p1 bra over; sub.u32 %r1, %r1, 1; setp.gt.u32 %p2, %r1, 0;\n"
				 "@%p2 bra again; st.global.u32 [%rd0], 77;\n"
				 "mbarrier.complete_tx.shared.b64 [bar], 16;\n"
				 "mbarrier.try_wait.shared.b64 %p1, [bar], %rd2; @%p1 ret; trap;\n"
				 "over: st.global.u32 [%rd0], 1;"));
	io = io_alloc(&g);
	assert_int_equal(run(&g, io, 1), CUDA_SUCCESS);
	assert_int_equal(io[0], 77);
	t_gpu_finish(&g);
}

/* From shared to global: read when the group is waited for, or the thread ends. */
static uint32_t stored(uint32_t i)
{
	return i < 64 ? i * 3 : 0;
}

static void test_bulk_store_is_done_at_the_wait_or_the_end(void **state)
{
	static const char *const waits[] = {"cp.async.bulk.wait_group 0;",
					    "cp.async.bulk.wait_group.read 0;", ""};
	char text[4096];

	for (size_t i = 0; i < GSB_ARRAY_LEN(waits); i++) {
		snprintf(text, sizeof(text), "%s%s\nout: ret; }\n",
			 HEAD
			 ".visible .entry k(.param .u64 io) {\n" REGS
			 "ld.param.u64 %rd1, [io]; mov.u32 %r0, %tid.x; shl.b32 %r1, %r0, 2;\n"
			 "mov.u32 %r2, sh; add.u32 %r1, %r1, %r2; mul.lo.u32 %r3, %r0, 3;\n"
			 "st.shared.u32 [%r1], %r3; fence.proxy.async.shared::cta; bar.sync 0;\n"
			 "setp.ne.u32 %p1, %r0, 0; @%p1 bra out;\n"
			 "cp.async.bulk.prefetch.L2.global [%rd1], 256;\n"
			 "cp.async.bulk.prefetch.L2.global.L2::cache_hint [%rd1], 256, %rd1;\n"
			 "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [sh], 256;\n"
			 "cp.async.bulk.commit_group;\n",
			 waits[i]);
		check_lanes(text, 128, stored);
	}
}

/* ---- bulk reductions: 64 bytes of sh are what thread 0 gives; each of two blocks does it once ---- */

static void reduce_twice(const char *what, const void *there, const void *given, void *out)
{
	static const char before[] = KERNEL(
		"shl.b32 %r1, %r0, 2; mov.u32 %r2, sh; add.u32 %r1, %r1, %r2;\n"
		"ld.global.u32 %r3, [%rd0+4096]; st.shared.u32 [%r1], %r3;\n"
		"fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u32 %p1, %r0, 0; @%p1 ret;\n"
		"cp.reduce.async.bulk.global.shared::cta.bulk_group.");
	char text[2048];
	struct t_gpu g;
	uint32_t *io;

	snprintf(text, sizeof(text), "%.*s%s [%%rd1], [sh], 64%s;\n%s",
		 (int)(sizeof(before) - sizeof("\nret;\n}\n")), before, what,
		 strstr(what, "hint") ? ", %rd5" : "",
		 "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; ret; }\n");
	t_gpu_init(&g, text);
	io = io_alloc(&g);
	memcpy(io, there, 64);
	memcpy(io + 1024, given, 64);
	if (t_launch(&g,
		     &(struct t_launch){.kernel = "k", .grid = {2}, .block = {16}, .args = {&io}}))
		fail_msg("%s: %s", what, g.fault.text);
	memcpy(out, io, 64);
	assert_int_equal(io[16], 0);
	t_gpu_finish(&g);
}

static void test_bulk_reduction_combines_words_as_atomics_do(void **state)
{
	static const struct {
		const char *what;
		uint32_t there, given, want;
	} cases[] = {
		{"add.u32", 5, 0xfffffffe, 1},
		{"add.s32", 5, 3, 11},
		{"L2::cache_hint.add.u32", 5, 3, 11},
		{"min.u32", 0x80000000, 7, 7},
		{"min.s32", 0x80000000, 7, 0x80000000},
		{"max.u32", 0x80000000, 7, 0x80000000},
		{"max.s32", 0x80000000, 7, 7},
		{"inc.u32", 6, 7, 0},
		{"dec.u32", 1, 9, 9},
		{"and.b32", 0xff0f, 0x0ff0, 0x0f00},
		{"or.b32", 0xf000, 0x000f, 0xf00f},
		{"xor.b32", 0x1234, 0xffff, 0x1234},
		{"add.f32", 0x3f800000, 0x3f000000, 0x40000000},       /* 1 + 2 * 0.5 */
		{"add.noftz.f16", 0x3c003c00, 0x38003c00, 0x40004200}, /* 1, 1 and 0.5, 1 */
		{"add.noftz.bf16", 0x3f803f80, 0x3f803f00, 0x40404000},
		{"min.f16", 0x3c00bc00, 0x4000c000, 0x3c00c000},
		{"max.bf16", 0x3f80bf80, 0x4000c000, 0x4000bf80},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		uint32_t there[16], given[16], out[16];

		for (int k = 0; k < 16; k++) {
			there[k] = cases[i].there;
			given[k] = cases[i].given;
		}
		reduce_twice(cases[i].what, there, given, out);
		for (int k = 0; k < 16; k++) {
			if (out[k] != cases[i].want)
				fail_msg("%s: word %d is 0x%x, not 0x%x", cases[i].what, k, out[k],
					 cases[i].want);
		}
	}
}

static void test_bulk_reduction_combines_doubles_and_long_words(void **state)
{
	static const double ones[8] = {1, 1, 1, 1, 1, 1, 1, 1},
			    halves[8] = {.5, .5, .5, .5, .5, .5, .5, .5};
	static const uint64_t large[8] = {UINT64_C(1) << 63, UINT64_C(1) << 63, 1, 2, 3, 4, 5, 6};
	static const uint64_t threes[8] = {3, 3, 3, 3, 3, 3, 3, 3};
	double sum[8];
	uint64_t out[8];

	reduce_twice("add.f64", ones, halves, sum);
	for (int i = 0; i < 8; i++)
		assert_true(sum[i] == 2);
	reduce_twice("add.u64", large, threes, out);
	for (int i = 0; i < 8; i++)
		assert_int_equal(out[i], large[i] + 6);
	reduce_twice("min.u64", large, threes, out);
	for (int i = 0; i < 8; i++)
		assert_int_equal(out[i], large[i] < 3 ? large[i] : 3);
	reduce_twice("max.s64", large, threes, out);
	for (int i = 0; i < 8; i++)
		assert_int_equal(out[i], (int64_t)large[i] > 3 ? large[i] : 3);
}

static void test_bulk_reduction_of_other_types_is_refused(void **state)
{
#define REDUCE(what) \
	KERNEL("cp.reduce.async.bulk.global.shared::cta.bulk_group." what " [%rd1], [sh], 16;")
	expect_refused(REDUCE("add.s64"), "cp.reduce.async.bulk");
	expect_refused(REDUCE("add.f16"), "cp.reduce.async.bulk");
	expect_refused(REDUCE("min.noftz.f16"), "cp.reduce.async.bulk");
	expect_refused(REDUCE("min.f32"), "cp.reduce.async.bulk");
	expect_refused(REDUCE("inc.u64"), "cp.reduce.async.bulk");
	expect_refused(REDUCE("and.u32"), "cp.reduce.async.bulk");
	expect_refused(REDUCE("exch.b32"), "cp.reduce.async.bulk");
}

/* The second half of sh is a copy of the first. */
static uint32_t moved(uint32_t i)
{
	return i < 64 ? i * 3 : 0;
}

static void test_bulk_move_within_shared_memory_reports_to_its_mbarrier(void **state)
{
	check_lanes(
		KERNEL(INIT(
			"64") "shl.b32 %r1, %r0, 2; mov.u32 %r2, sh; add.u32 %r1, %r1, %r2;\n"
			      "mul.lo.u32 %r3, %r0, 3; st.shared.u32 [%r1], %r3; bar.sync 0;\n"
			      "@!%p7 bra ready;\n" EXPECT
			      "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
			      "[sh+2048], [sh], 256, [bar];\n"
			      "ready: mbarrier.arrive.shared.b64 %rd3, [bar];\n"
			      "wait: mbarrier.try_wait.shared.b64 %p2, [bar], %rd3; @!%p2 bra wait;\n"
			      "ld.shared.u32 %r4, [%r1+2048]; st.global.u32 [%rd0], %r4;"),
		64, moved);
}

/* NVIDIA H200, driver 580.159.04: neither end nor the mbarrier is looked at when there is nothing to copy. */
static void test_bulk_copy_of_no_bytes_looks_at_no_address(void **state)
{
#define NOTHING(copy)                                                                            \
	check_lanes(KERNEL(INIT("1") "mov.u32 %r2, 0; mov.u64 %rd2, 4099;\n" copy "\n"           \
				     "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n" \
				     "add.u32 %r1, %r0, 7; st.global.u32 [%rd0], %r1;"),         \
		    64, word_of_bulk)
	NOTHING("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
		"[sh+3], [%rd2], %r2, [bar+4];");
	NOTHING("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
		".multicast::cluster [sh+3], [%rd2], %r2, [bar+4], 1;");
	NOTHING("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes "
		"[sh+3], [sh+5], %r2, [bar+4];");
	NOTHING("cp.async.bulk.global.shared::cta.bulk_group [%rd2], [sh+3], %r2;");
	NOTHING("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [sh+3], %r2;");
}

static void test_bulk_copy_misuse_ends_the_kernel(void **state)
{
	expect_fault(KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [sh], 24;"), 1,
		     CUDA_ERROR_LAUNCH_FAILED, "not a multiple of 16");
	expect_fault(KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%rd1], [sh], 8192;"), 1,
		     CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory has no");
	expect_fault(KERNEL("cp.async.bulk.global.shared::cta.bulk_group [%rd1+8], [sh], 16;"), 1,
		     CUDA_ERROR_MISALIGNED_ADDRESS, "not aligned to 16");
	expect_fault(KERNEL("mov.u64 %rd2, 4096;\n"
			    "cp.async.bulk.global.shared::cta.bulk_group [%rd2], [sh], 16;"),
		     1, CUDA_ERROR_ILLEGAL_ADDRESS, "write to address 0x1000");
	expect_fault(KERNEL("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
			    "[sh], [%rd1], 2097152, [bar];"),
		     1, CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory has no");
	expect_fault(KERNEL("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes "
			    "[sh], [%rd1], 16, [bar+4];"),
		     1, CUDA_ERROR_MISALIGNED_ADDRESS, "not aligned to 8");
}

/* ---- what libcu++ makes of it ---- */

static const char *const builds[] = {"tests/ptx/async.nvcc.ptx", "tests/ptx/async.80.nvcc.ptx",
				     "tests/ptx/async.90.nvcc.ptx"};

static int *ints(struct t_gpu *g, uint32_t n)
{
	int *v = t_alloc(g, 4ull * n);

	for (uint32_t i = 0; i < n; i++)
		v[i] = (int)(i * 2654435761u >> 12);
	return v;
}

#define N 128

/* Launches @kernel(out, in, n) with @threads and leaves its results in @out. */
static void launch(struct t_gpu *g, const char *kernel, int *out, const int *in, int n,
		   uint32_t threads)
{
	if (t_launch(g, &(struct t_launch){.kernel = kernel,
					   .block = {threads},
					   .smem_bytes = 8192,
					   .args = {&out, &in, &n}}))
		fail_msg("%s: %s", kernel, g->fault.text);
}

static void want_ring(int *want, const int *in, int rounds)
{
	int was[N];

	memcpy(want, in, sizeof(was));
	for (int r = 0; r < rounds; r++) {
		memcpy(was, want, sizeof(was));
		for (int i = 0; i < N; i++)
			want[i] = (int)((unsigned int)was[i] + (unsigned int)was[(i + 1) % N]);
	}
}

static void want_batches(int *want, const int *in, int batches)
{
	for (int i = 0; i < N; i++) {
		unsigned int sum = 0;

		for (int c = 0; c < batches; c++)
			sum = sum * 3 + (unsigned int)in[c * N + (i + c) % N];
		want[i] = (int)sum;
	}
}

static void want_vectors(int *want, const int *in, int batches)
{
	for (int i = 0; i < N; i++) {
		unsigned int sum = 0;

		for (int c = 0; c < batches; c++) {
			for (unsigned int k = 0; k < 4; k++)
				sum = (k ? sum : sum * 5) +
				      (k + 1) * (unsigned int)in[(c * N + i) * 4 + (int)k];
		}
		want[i] = (int)sum;
	}
}

static void want_reversed(int *want, const int *in, int n)
{
	for (int i = 0; i < N; i++) {
		want[i] = 0;
		for (int k = i; k < n; k += N)
			want[i] = (int)((unsigned int)want[i] + (unsigned int)in[n - 1 - k]);
	}
}

static void want_roles(int *want, const int *in, int n)
{
	for (int i = 0; i < N; i++) {
		want[i] = 0;
		for (int k = 0; i >= 32 && k < n; k++)
			want[i] = (int)((unsigned int)want[i] +
					(unsigned int)in[k * 32 + i % 32] * (unsigned int)(i / 32));
	}
}

static void test_libcu_barriers_and_pipelines_on_three_architectures(void **state)
{
	static const struct {
		const char *kernel;
		void (*want)(int *, const int *, int);
		int n;
	} cases[] = {
		{"barrier_ring", want_ring, 9},	     {"barrier_roles", want_roles, 20},
		{"pipeline_block", want_batches, 7}, {"pipeline_thread", want_vectors, 6},
		{"group_copy", want_reversed, 1000}, {"barrier_copy", want_reversed, 1024},
	};
	int want[N];

	for (size_t b = 0; b < GSB_ARRAY_LEN(builds); b++) {
		for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
			struct t_gpu g;
			int *out, *in;

			t_gpu_init_file(&g, builds[b]);
			in = ints(&g, 8192);
			out = t_alloc(&g, sizeof(want));
			launch(&g, cases[i].kernel, out, in, cases[i].n, N);
			cases[i].want(want, in, cases[i].n);
			for (int k = 0; k < N; k++) {
				if (out[k] != want[k])
					fail_msg("%s in %s, thread %d: %d, not %d", cases[i].kernel,
						 builds[b], k, out[k], want[k]);
			}
			t_gpu_finish(&g);
		}
	}
}

static void test_libcu_barrier_drop_on_three_architectures(void **state)
{
	for (size_t b = 0; b < GSB_ARRAY_LEN(builds); b++) {
		struct t_gpu g;
		int *out, rounds = 5;

		t_gpu_init_file(&g, builds[b]);
		out = t_alloc(&g, 256);
		if (t_launch(&g, &(struct t_launch){.kernel = "barrier_drop",
						    .block = {100},
						    .args = {&out, &rounds}}))
			fail_msg("%s", g.fault.text);
		for (int i = 0; i < rounds; i++)
			assert_int_equal(out[i], 20 * (rounds - 1 - i));
		t_gpu_finish(&g);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cp_async_is_done_at_the_wait_and_not_before),
		cmocka_unit_test(test_cp_async_wait_is_of_the_lane_alone),
		cmocka_unit_test(test_cp_async_wait_group_leaves_the_last_ones_pending),
		cmocka_unit_test(test_cp_async_fills_with_zero_and_reads_no_more_than_it_may),
		cmocka_unit_test(test_cp_async_takes_names_and_offsets),
		cmocka_unit_test(test_cp_async_of_bad_addresses_ends_the_kernel),
		cmocka_unit_test(test_cp_async_of_other_sizes_is_refused),
		cmocka_unit_test(test_very_many_pending_copies_are_all_done),
		cmocka_unit_test(test_mbarrier_phases_tokens_and_parities),
		cmocka_unit_test(test_mbarrier_waits_of_divergent_lanes),
		cmocka_unit_test(test_mbarrier_drop_lets_later_phases_expect_less),
		cmocka_unit_test(test_mbarrier_wait_after_inval_sees_how_it_was),
		cmocka_unit_test(test_mbarrier_inval_of_what_is_none_leaves_it),
		cmocka_unit_test(test_mbarrier_misuse_ends_the_kernel_with_the_reason),
		cmocka_unit_test(test_cp_async_arrives_when_its_copies_are_done),
		cmocka_unit_test(test_cp_async_is_not_done_when_another_barrier_is_looked_at),
		cmocka_unit_test(test_bulk_load_ends_the_phase_when_its_bytes_have_come),
		cmocka_unit_test(test_phase_waits_for_bytes_that_do_not_come),
		cmocka_unit_test(test_bulk_store_is_done_at_the_wait_or_the_end),
		cmocka_unit_test(test_bulk_reduction_combines_words_as_atomics_do),
		cmocka_unit_test(test_bulk_reduction_combines_doubles_and_long_words),
		cmocka_unit_test(test_bulk_reduction_of_other_types_is_refused),
		cmocka_unit_test(test_bulk_move_within_shared_memory_reports_to_its_mbarrier),
		cmocka_unit_test(test_bulk_copy_of_no_bytes_looks_at_no_address),
		cmocka_unit_test(test_bulk_copy_misuse_ends_the_kernel),
		cmocka_unit_test(test_libcu_barriers_and_pipelines_on_three_architectures),
		cmocka_unit_test(test_libcu_barrier_drop_on_three_architectures),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
