/*
 * test_emu_spin.c - loops that only wait are known, and give way to the blocks that they wait for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/lower/spin.h"
#include "tests/unit/emu_harness.h"

#define KERNEL(body)                                                                           \
	".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 io) {\n" \
	".reg .pred %p<4>; .reg .b32 %r<8>; .reg .b64 %rd<8>;\n"                               \
	"ld.param.u64 %rd1, [io]; mov.u32 %r1, %ctaid.x;\n" body "\nret;\n}\n"

/* Whether the last branch of the kernel closes such a loop. */
static bool spins(const char *text)
{
	struct t_gpu g;
	const struct gsb_ptx_func *f;
	uint32_t branch;
	bool is;

	t_gpu_init(&g, text);
	f = gsb_ptx_find_func(g.module, "k");
	for (branch = f->n_insns - 1; f->insns[branch].op != GSB_PTX_OP_BRA; branch--)
		;
	is = gsb_emu_is_spin(f, f->labels[f->insns[branch].operands[0].label].insn, branch);
	t_gpu_finish(&g);
	return is;
}

static void test_is_spin_knows_loops_that_wait(void **state)
{
	static const char *const waiting[] = {
		KERNEL("back: ld.acquire.gpu.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0;\n"
		       "@%p1 bra back;"),
		KERNEL("back: ld.volatile.global.u32 %r2, [%rd1+8]; and.b32 %r2, %r2, 1;\n"
		       "setp.eq.u32 %p1, %r2, 0; @%p1 bra out; fence.acq_rel.gpu; bra back; out:"),
		KERNEL("back: atom.global.cas.b32 %r2, [%rd1], 0, 1; setp.ne.u32 %p1, %r2, 0;\n"
		       "@%p1 bra back;"),
		KERNEL("back: ld.relaxed.gpu.v2.u32 {%r2, %r3}, [%rd1]; setp.eq.u32 %p1, %r2, 0;\n"
		       "vote.sync.any.pred %p2, %p1, 0xffffffff; @%p2 bra back;"),
	};
	static const char *const working[] = {
		KERNEL("back: add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 100; @%p1 bra back;"),
		KERNEL("back: ld.global.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra back;"),
		KERNEL("back: ld.volatile.global.u64 %rd1, [%rd1]; setp.ne.u64 %p1, %rd1, 0;\n"
		       "@%p1 bra back;"),
		KERNEL("back: ld.relaxed.gpu.u32 %r2, [%rd1]; st.global.u32 [%rd1+4], %r2;\n"
		       "setp.eq.u32 %p1, %r2, 0; @%p1 bra back;"),
		KERNEL("back: ld.global.u32 %r2, [%rd1+4]; atom.global.add.u32 %r3, [%rd1], %r2;\n"
		       "setp.lt.u32 %p1, %r3, 100; @%p1 bra back;"),
		KERNEL("back: ld.acquire.gpu.u32 %r2, [%rd1]; bar.sync 0;\n"
		       "setp.eq.u32 %p1, %r2, 0; @%p1 bra back;"),
		KERNEL("ld.acquire.gpu.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0; @%p1 bra ahead;\n"
		       "ahead: mov.u32 %r2, 1;"),
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(waiting); i++) {
		if (!spins(waiting[i]))
			fail_msg("is not seen to wait:\n%s", waiting[i]);
	}
	for (size_t i = 0; i < GSB_ARRAY_LEN(working); i++) {
		if (spins(working[i]))
			fail_msg("is taken to wait:\n%s", working[i]);
	}
}

/* Block 0 waits for block 1, whose turn comes only when block 0 gives way: its quantum has no end. */
static void test_block_that_spins_gives_way_before_its_quantum_ends(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, KERNEL("setp.ne.u32 %p1, %r1, 0; @%p1 bra give;\n"
			      "back: ld.acquire.gpu.u32 %r2, [%rd1]; setp.eq.u32 %p1, %r2, 0;\n"
			      "@%p1 bra back; st.global.u32 [%rd1+4], %r2; ret;\n"
			      "give: st.release.gpu.u32 [%rd1], 7;"));
	io = t_alloc(&g, 8);
	g.resident = 2;
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "k",
							 .grid = {2},
							 .block = {32},
							 .args = {&io}}),
			 CUDA_SUCCESS);
	assert_int_equal(io[1], 7);
	assert_true(g.stats.n_insns < 200);
	t_gpu_finish(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_is_spin_knows_loops_that_wait),
		cmocka_unit_test(test_block_that_spins_gives_way_before_its_quantum_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
