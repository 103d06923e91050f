/*
 * test_emu_opcodes.c - opcodes that a row of tests/oracle cannot show: hints that change nothing, clusters of one
 * block, vector atomics at bad addresses, and what is refused, with the remedy that it names.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/emu_harness.h"

#define HEAD ".version 8.6\n.target sm_90\n.address_size 64\n"
#define REGS                                                                           \
	".reg .pred %p<8>;\n.reg .b16 %h<4>;\n.reg .b32 %r<24>;\n.reg .b64 %rd<12>;\n" \
	".reg .f32 %f<8>;\n"
/* %r0 = %tid.x, %rd1 the array, %rd0 the thread's own element of 4 bytes. */
#define KERNEL(body)                                            \
	HEAD ".visible .entry k(.param .u64 io) {\n" REGS       \
	     "ld.param.u64 %rd1, [io];\nmov.u32 %r0, %tid.x;\n" \
	     "mad.wide.u32 %rd0, %r0, 4, %rd1;\n" body "\nret;\n}\n"

#define N_THREADS 128

/* The array holds each lane's number before. */
static CUresult run(struct t_gpu *g, const char *text, uint32_t **out)
{
	uint32_t *io;

	t_gpu_init(g, text);
	io = t_alloc(g, 4 * N_THREADS);
	for (uint32_t i = 0; i < N_THREADS; i++)
		io[i] = i;
	*out = io;
	return t_launch(g,
			&(struct t_launch){
				.kernel = "k", .grid = {1}, .block = {N_THREADS}, .args = {&io}});
}

static void check(const char *text, uint32_t (*want)(uint32_t))
{
	struct t_gpu g;
	uint32_t *io;

	if (run(&g, text, &io))
		fail_msg("%s%s", g.log, g.fault.text);
	for (uint32_t i = 0; i < N_THREADS; i++) {
		if (io[i] != want(i))
			fail_msg("lane %u: 0x%x, not 0x%x", i, io[i], want(i));
	}
	t_gpu_finish(&g);
}

/* ---- hints ---- */

static uint32_t twice_and_one(uint32_t i)
{
	return 2 * i + 1;
}

static void test_cache_policies_leave_memory_as_it_is(void **state)
{
	check(KERNEL("createpolicy.fractional.L2::evict_last.b64 %rd2;\n"
		     "createpolicy.fractional.L2::evict_first.L2::evict_unchanged.b64 %rd3, 0.5;\n"
		     "createpolicy.range.global.L2::evict_last.b64 %rd4, [%rd1], %r0, 4096;\n"
		     "createpolicy.cvt.L2.b64 %rd5, %rd4;\n"
		     "ld.global.L1::evict_last.L2::cache_hint.u32 %r1, [%rd0], %rd2;\n"
		     "st.global.L2::cache_hint.u32 [%rd0], %r1, %rd3;\n"
		     "red.global.add.L2::cache_hint.u32 [%rd0], %r1, %rd4;\n"
		     "atom.global.add.L2::cache_hint.u32 %r2, [%rd0], 1, %rd5;\n"
		     "add.u32 %r3, %r2, 1;\n"
		     "atom.global.cas.L2::cache_hint.b32 %r4, [%rd0], %r3, %r3, %rd5;"),
	      twice_and_one);
}

static void test_policy_is_a_number(void **state)
{
	check(KERNEL("createpolicy.fractional.L2::evict_last.b64 %rd2;\n"
		     "setp.ne.u64 %p1, %rd2, 0; selp.u32 %r1, 1, 0, %p1;\n"
		     "mad.lo.u32 %r1, %r0, 2, %r1; st.global.u32 [%rd0], %r1;"),
	      twice_and_one);
}

static void test_prefetch_discard_and_priority_leave_memory_as_it_is(void **state)
{
	check(KERNEL("mad.lo.u32 %r1, %r0, 2, 1; st.global.u32 [%rd0], %r1;\n"
		     "prefetch.global.L1 [%rd0]; prefetch.L2 [%rd0]; prefetchu.L1 [%rd0];\n"
		     "prefetch.global.L2::evict_last [%rd0];\n"
		     "applypriority.global.L2::evict_normal [%rd1], 128;\n"
		     "discard.global.L2 [%rd1], 128;"),
	      twice_and_one);
}

static void test_grid_dependences_and_registers_are_as_they_should_be(void **state)
{
	check(KERNEL("griddepcontrol.wait; griddepcontrol.launch_dependents;\n"
		     "setmaxnreg.inc.sync.aligned.u32 232; setmaxnreg.dec.sync.aligned.u32 40;\n"
		     "pmevent 7; pmevent.mask 3;\n"
		     "mad.lo.u32 %r1, %r0, 2, 1; st.global.u32 [%rd0], %r1;"),
	      twice_and_one);
}

/* ---- what is for devices beside a GPU, for part of its memory, and for its counters: here it is as usual ---- */

static void test_registers_of_devices_are_words_of_memory(void **state)
{
	check(KERNEL("ld.mmio.relaxed.sys.global.u32 %r1, [%rd0];\n"
		     "mad.lo.u32 %r1, %r1, 2, 1; st.mmio.relaxed.sys.u32 [%rd0], %r1;"),
	      twice_and_one);
}

static void test_fences_of_some_memory_or_of_aliases_order(void **state)
{
	check(KERNEL("ld.global.u32 %r1, [%rd0]; fence.proxy.alias; membar.proxy.alias;\n"
		     "fence.acquire.sync_restrict::shared::cluster.cluster;\n"
		     "fence.release.sync_restrict::shared::cta.cluster;\n"
		     "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;\n"
		     "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster;\n"
		     "mad.lo.u32 %r1, %r1, 2, 1; st.global.u32 [%rd0], %r1;"),
	      twice_and_one);
}

static void test_performance_counters_count_nothing(void **state)
{
	check(KERNEL("mov.u32 %r1, %pm0; cvt.u64.u32 %rd2, %pm7; mov.u64 %rd3, %pm3_64;\n"
		     "or.b64 %rd2, %rd2, %rd3; cvt.u32.u64 %r2, %rd2; or.b32 %r1, %r1, %r2;\n"
		     "mad.lo.u32 %r1, %r0, 2, %r1; add.u32 %r1, %r1, 1; st.global.u32 [%rd0], %r1;"),
	      twice_and_one);
}

/* ---- clusters of one block ---- */

static uint32_t all_seven(uint32_t i)
{
	return i == 0 ? 0x7f : i;
}

static void test_cluster_is_the_block_itself(void **state)
{
	check(KERNEL(".shared .align 8 .b8 s[64];\n"
		     "setp.ne.u32 %p0, %r0, 0; @%p0 bra out;\n"
		     "mov.u32 %r1, s; mapa.shared::cluster.u32 %r2, %r1, 0;\n"
		     "setp.eq.u32 %p1, %r1, %r2; selp.u32 %r3, 1, 0, %p1;\n"
		     "cvt.u64.u32 %rd2, %r1; cvta.shared.u64 %rd3, %rd2; mapa.u64 %rd4, %rd3, 0;\n"
		     "setp.eq.u64 %p1, %rd3, %rd4; selp.u32 %r4, 2, 0, %p1; or.b32 %r3, %r3, %r4;\n"
		     "getctarank.shared::cluster.u32 %r5, %r2; setp.eq.u32 %p1, %r5, 0;\n"
		     "selp.u32 %r4, 4, 0, %p1; or.b32 %r3, %r3, %r4;\n"
		     "getctarank.u64 %r5, %rd4; setp.eq.u32 %p1, %r5, 0;\n"
		     "selp.u32 %r4, 8, 0, %p1; or.b32 %r3, %r3, %r4;\n"
		     "isspacep.shared::cluster %p1, %rd4; selp.u32 %r4, 16, 0, %p1;\n"
		     "or.b32 %r3, %r3, %r4;\n"
		     "st.shared::cluster.u32 [%r2+4], 99; ld.shared::cta.u32 %r5, [%r1+4];\n"
		     "setp.eq.u32 %p1, %r5, 99; selp.u32 %r4, 32, 0, %p1; or.b32 %r3, %r3, %r4;\n"
		     "mov.u32 %r5, %cluster_nctarank; mov.u32 %r6, %cluster_ctarank;\n"
		     "mov.u32 %r7, %nclusterid.x; add.u32 %r5, %r5, %r6; mul.lo.u32 %r5, %r5, %r7;\n"
		     "setp.eq.u32 %p1, %r5, 1; selp.u32 %r4, 64, 0, %p1; or.b32 %r3, %r3, %r4;\n"
		     "st.global.u32 [%rd1], %r3;\nout:"),
	      all_seven);
}

/* Five times: write, arrive, do something, wait, read what another warp wrote. */
static uint32_t five_rounds(uint32_t i)
{
	uint32_t sum = 0;

	for (uint32_t round = 0; round < 5; round++)
		sum += (i + 33) % N_THREADS * 10 + round;
	return sum;
}

#define ROUNDS(between)                                                                 \
	".shared .align 4 .b8 s[512];\n"                                                \
	"mov.u32 %r1, s; shl.b32 %r2, %r0, 2; add.u32 %r2, %r2, %r1; mov.u32 %r3, 0;\n" \
	"add.u32 %r4, %r0, 33; and.b32 %r4, %r4, 127; shl.b32 %r4, %r4, 2;\n"           \
	"add.u32 %r4, %r4, %r1; mov.u32 %r5, 0;\n"                                      \
	"loop: mad.lo.u32 %r6, %r0, 10, %r3; st.shared.u32 [%r2], %r6;\n"               \
	"barrier.cluster.arrive.release.aligned;\n" between                             \
	"barrier.cluster.wait.acquire.aligned;\n"                                       \
	"ld.shared.u32 %r7, [%r4]; add.u32 %r5, %r5, %r7;\n"                            \
	"barrier.cluster.arrive.relaxed; barrier.cluster.wait;\n"                       \
	"add.u32 %r3, %r3, 1; setp.lt.u32 %p1, %r3, 5; @%p1 bra loop;\n"                \
	"st.global.u32 [%rd0], %r5;"

static void test_cluster_barrier_lets_nobody_pass_before_all_have_come(void **state)
{
	check(KERNEL(ROUNDS("")), five_rounds);
	check(KERNEL(ROUNDS("shr.u32 %r8, %r0, 5; spin: setp.eq.u32 %p2, %r8, 0; @%p2 bra spun;\n"
			    "sub.u32 %r8, %r8, 1; nanosleep.u32 20; bra spin; spun:\n")),
	      five_rounds);
}

/* Threads that leave do not keep the others, whether they have arrived or not. */
static uint32_t those_that_stay(uint32_t i)
{
	return i % 4 == 0 ? i + 1000 : i;
}

static void test_cluster_barrier_does_not_wait_for_threads_that_have_left(void **state)
{
	check(KERNEL("and.b32 %r1, %r0, 3; setp.eq.u32 %p1, %r1, 1; @%p1 exit;\n"
		     "barrier.cluster.arrive;\n"
		     "setp.ne.u32 %p1, %r1, 0; @%p1 exit;\n"
		     "barrier.cluster.wait;\n"
		     "barrier.cluster.arrive; barrier.cluster.wait;\n"
		     "add.u32 %r2, %r0, 1000; st.global.u32 [%rd0], %r2;"),
	      those_that_stay);
}

/* ---- vector atomics ---- */

static void expect_fault(const char *text, CUresult result)
{
	struct t_gpu g;
	uint32_t *io;

	assert_int_equal(run(&g, text, &io), result);
	t_gpu_finish(&g);
}

static void test_vector_atomic_is_aligned_and_inside_as_a_whole(void **state)
{
	expect_fault(KERNEL("add.u64 %rd2, %rd1, 4; red.global.add.v2.f32 [%rd2], {%f1, %f2};"),
		     CUDA_ERROR_MISALIGNED_ADDRESS);
	expect_fault(KERNEL("add.u64 %rd2, %rd1, 8; red.global.add.noftz.v8.f16 [%rd2], "
			    "{%h0, %h1, %h2, %h3, %h0, %h1, %h2, %h3};"),
		     CUDA_ERROR_MISALIGNED_ADDRESS);
	expect_fault(KERNEL("mov.u64 %rd2, 0; red.global.add.v2.f32 [%rd2], {%f1, %f2};"),
		     CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- what is refused ---- */

static void expect_refused(const char *text, const char *says, const char *remedy)
{
	struct t_gpu g;

	t_gpu_init(&g, text);
	assert_int_equal(t_lower(&g, "k"), -ENOTSUP);
	if (!strstr(g.log, says) || !strstr(g.log, remedy))
		fail_msg("'%s' does not say '%s' and '%s'", g.log, says, remedy);
	t_gpu_finish(&g);
}

static void test_refused_opcode_names_kernel_line_opcode_and_remedy(void **state)
{
	expect_refused(KERNEL("\nwgmma.fence.sync.aligned;"),
		       "kernel 'k', line 14: 'wgmma.fence.sync.aligned' is not carried",
		       "build for sm_90 or older");
	expect_refused(
		KERNEL("mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32 {%f0, %f1, %f2, "
		       "%f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5, %r6, %r7}, {%f4, %f5, %f6, "
		       "%f7}, %r8, 0;"),
		"'mma.sp.sync.aligned.m16n8k16.row.col.f32.tf32.tf32.f32' is not carried",
		"a product of sparse matrices");
	expect_refused(KERNEL("multimem.red.relaxed.sys.global.add.u32 [%rd1], %r1;"),
		       "'multimem.red.relaxed.sys.global.add.u32'", "multicast");
	expect_refused(KERNEL("frobnicate.u32 %r1;"), "'frobnicate.u32' is not carried",
		       "doc/ptx-coverage.md");
	expect_refused(KERNEL("fma.rn.oob.f16 %h1, %h1, %h1, %h1;"), "'fma.rn.oob.f16'",
		       "doc/ptx-coverage.md");
}

static void test_launch_from_the_device_is_refused_with_a_remedy(void **state)
{
	expect_refused(HEAD
		       ".extern .func (.param .b32 r) cudaCDP2LaunchDevice_v2\n(.param .b64 p, "
		       ".param .b64 s);\n"
		       ".visible .entry k(.param .u64 io) {\n.reg .b64 %rd<4>; .reg .b32 %r<2>;\n"
		       "mov.u64 %rd1, 0; { .param .b64 a; .param .b64 b; .param .b32 r;\n"
		       "st.param.b64 [a], %rd1; st.param.b64 [b], %rd1;\n"
		       "call.uni (r), cudaCDP2LaunchDevice_v2, (a, b); ld.param.b32 %r1, [r]; }\n"
		       "ret; }\n",
		       "call of 'cudaCDP2LaunchDevice_v2'", "launch from the host");
	expect_refused(HEAD /* what NVIDIA's device runtime calls, when it is linked */
		       ".extern .func __cuda_syscall_cnpv2LaunchDeviceV2();\n"
		       ".visible .entry k(.param .u64 io) {\n"
		       "call.uni __cuda_syscall_cnpv2LaunchDeviceV2, ();\nret; }\n",
		       "call of '__cuda_syscall_cnpv2LaunchDeviceV2'", "launch from the host");
}

static void test_video_with_parts_that_do_not_exist_is_refused(void **state)
{
	static const char *const bad[] = {
		"vadd.s32.s32.s32 %r1, %r2.b4, %r3",
		"vadd.s32.s32.s32 %r1, %r2.h2, %r3",
		"vadd.s32.s32.s32 %r1, %r2.h10, %r3",
		"vadd.s32.s32.s32 %r1.h1, %r2, %r3",
		"vadd.s32.s32.s32.min %r1.h1, %r2, %r3, %r4",
		"vadd.s32.s32.s32.add %r1, %r2, %r3",
		"vset.s32.s32.lt %r1, %r2, %r3, %r4",
		"vadd2.s32.s32.s32 %r1.h01, %r2, %r3, %r4",
		"vadd2.s32.s32.s32 %r1.h2, %r2, %r3, %r4",
		"vadd2.s32.s32.s32 %r1, %r2.h1, %r3, %r4",
		"vadd2.s32.s32.s32 %r1, %r2.h14, %r3, %r4",
		"vadd2.s32.s32.s32 %r1, %r2.b10, %r3, %r4",
		"vadd4.s32.s32.s32 %r1.b4, %r2, %r3, %r4",
		"vadd4.s32.s32.s32 %r1, %r2.b321, %r3, %r4",
		"vmad.s32.s32.s32 %r1, -%r2, %r3, -%r4",
		"vmad.s32.s32.s32.po %r1, %r2, %r3, -%r4",
	};
	char text[2048];

	for (size_t i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		snprintf(text, sizeof(text),
			 HEAD
			 ".visible .entry k(.param .u64 io) {\n.reg .b32 %%r<8>;\n%s;\nret;\n}\n",
			 bad[i]);
		expect_refused(text, "is not carried", "doc/ptx-coverage.md");
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cache_policies_leave_memory_as_it_is),
		cmocka_unit_test(test_policy_is_a_number),
		cmocka_unit_test(test_prefetch_discard_and_priority_leave_memory_as_it_is),
		cmocka_unit_test(test_grid_dependences_and_registers_are_as_they_should_be),
		cmocka_unit_test(test_registers_of_devices_are_words_of_memory),
		cmocka_unit_test(test_fences_of_some_memory_or_of_aliases_order),
		cmocka_unit_test(test_performance_counters_count_nothing),
		cmocka_unit_test(test_cluster_is_the_block_itself),
		cmocka_unit_test(test_cluster_barrier_lets_nobody_pass_before_all_have_come),
		cmocka_unit_test(test_cluster_barrier_does_not_wait_for_threads_that_have_left),
		cmocka_unit_test(test_vector_atomic_is_aligned_and_inside_as_a_whole),
		cmocka_unit_test(test_refused_opcode_names_kernel_line_opcode_and_remedy),
		cmocka_unit_test(test_launch_from_the_device_is_refused_with_a_remedy),
		cmocka_unit_test(test_video_with_parts_that_do_not_exist_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
