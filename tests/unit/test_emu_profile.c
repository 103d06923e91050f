/*
 * test_emu_profile.c - what is counted of a watched launch, against counts worked out by hand; and what a watched
 * launch is checked for.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/unit.h"
#include "device/emu/exec/watch.h"
#include "tests/unit/emu_harness.h"
#include "tests/unit/ptx_text.h"

#define REGS                                                                           \
	".reg .pred %p<8>;\n.reg .b16 %h<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<12>;\n" \
	".reg .f32 %f<4>;\n.reg .f64 %d<4>;\n.shared .align 16 .b8 s[8192];\n"
/* %r0: tid, %rd1: io. Three instructions before the body, one behind it. */
#define PRE                                               \
	HEAD ".visible .entry k(.param .u64 io) {\n" REGS \
	     "ld.param.u64 %rd1, [io];\nmov.u32 %r0, %tid.x;\nmov.u32 %r1, s;\n"
#define POST	     "\nret;\n}\n"
#define KERNEL(body) PRE body POST
#define N_AROUND     4

static struct gsb_emu_watch watch;
static struct gsb_emu_profile p; /* of the last run */
static struct t_gpu g;

/* Watched in that way. */
static CUresult run_as(unsigned int what, const char *text, uint32_t grid, uint32_t block)
{
	CUresult result;
	void *io;

	memset(&watch, 0, sizeof(watch));
	pthread_mutex_init(&watch.lock, NULL);
	watch.what = what;
	t_gpu_init(&g, text);
	g.watch = &watch;
	io = t_alloc(&g, 65536);
	result = t_launch(
		&g,
		&(struct t_launch){.kernel = "k", .grid = {grid}, .block = {block}, .args = {&io}});
	p = watch.profile;
	t_gpu_finish(&g);
	pthread_mutex_destroy(&watch.lock);
	return result;
}

/* What is counted run by run is what was counted instruction by instruction. */
static void assert_stats_are(const struct gsb_emu_profile *of)
{
	assert_int_equal(g.stats.n_insns, of->n_insns);
	assert_int_equal(g.stats.n_lane_insns, of->n_lane_insns);
	assert_int_equal(g.stats.n_alu, of->n_by_unit[GSB_PTX_UNIT_ALU]);
	assert_int_equal(g.stats.n_imul, of->n_imul);
	assert_int_equal(g.stats.n_sfu, of->n_by_unit[GSB_PTX_UNIT_XU]);
	assert_int_equal(g.stats.n_fp64, of->n_by_unit[GSB_PTX_UNIT_FP64]);
}

static void count(const char *text, uint32_t grid, uint32_t block)
{
	if (run_as(GSB_EMU_WATCH_PROFILE, text, grid, block))
		fail_msg("%s", g.fault.text);
	assert_stats_are(&p);
}

/* With a body made of parts. */
static GSB_PRINTF(1, 2) const char *kernel(const char *fmt, ...)
{
	static char text[4096];
	char body[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(body, sizeof(body), fmt, ap);
	va_end(ap);
	snprintf(text, sizeof(text), "%s%s%s", PRE, body, POST);
	return text;
}

/* ---- global memory ---- */

/* A load of that type, lane i at i * stride + first. */
static uint64_t sectors_of(const char *type, unsigned int stride, unsigned int first, uint32_t n)
{
	const struct gsb_emu_traffic *t = &p.traffic[GSB_EMU_MEMORY_GLOBAL][GSB_EMU_TRAFFIC_LOAD];

	count(kernel("mad.wide.u32 %%rd2, %%r0, %u, %%rd1;\nld.global.%s [%%rd2+%u];", stride, type,
		     first),
	      1, n);
	assert_int_equal(t->n_requests, 1);
	assert_int_equal(t->n_lanes, n);
	return t->n_sectors;
}

static void test_sectors_of_a_request_are_the_different_ones(void **state)
{
	assert_int_equal(sectors_of("u32 %r2,", 4, 0, 32), 4);
	assert_int_equal(sectors_of("u32 %r2,", 8, 0, 32), 8);
	assert_int_equal(sectors_of("u32 %r2,", 128, 0, 32), 32);
	assert_int_equal(sectors_of("u32 %r2,", 0, 0, 32), 1);
	assert_int_equal(sectors_of("u32 %r2,", 4, 4, 32), 5);
	assert_int_equal(sectors_of("u32 %r2,", 4, 0, 9), 2);
	assert_int_equal(sectors_of("u8 %r2,", 1, 0, 32), 1);
	assert_int_equal(sectors_of("u64 %rd3,", 8, 0, 32), 8);
	assert_int_equal(sectors_of("v4.u32 {%r2, %r3, %r4, %r5},", 16, 0, 32), 16);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_GLOBAL][GSB_EMU_TRAFFIC_LOAD].n_bytes, 512);
}

/* Lanes 0 and 2 share a sector, lanes 1 and 3 another: neighbours in order of lanes differ each time. */
static void test_sectors_of_a_scattered_request_count_once(void **state)
{
	count(KERNEL("and.b32 %r2, %r0, 1;\nmad.wide.u32 %rd2, %r2, 256, %rd1;\n"
		     "st.global.u32 [%rd2], %r0;"),
	      1, 32);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_GLOBAL][GSB_EMU_TRAFFIC_STORE].n_sectors, 2);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_GLOBAL][GSB_EMU_TRAFFIC_LOAD].n_requests, 0);
}

/* ---- shared memory ---- */

/* Of a load of that type, lane i at i * stride. */
static void expect_wavefronts(const char *type, unsigned int stride, uint64_t n, uint64_t ideal)
{
	const struct gsb_emu_traffic *t = &p.traffic[GSB_EMU_MEMORY_SHARED][GSB_EMU_TRAFFIC_LOAD];

	count(kernel("mad.lo.u32 %%r2, %%r0, %u, %%r1;\nld.shared.%s [%%r2];", stride, type), 1,
	      32);
	assert_int_equal(t->n_requests, 1);
	if (t->n_wavefronts != n || t->n_ideal_wavefronts != ideal)
		fail_msg("%s stride %u: %lu of %lu wavefronts, not %lu of %lu", type, stride,
			 (unsigned long)t->n_wavefronts, (unsigned long)t->n_ideal_wavefronts,
			 (unsigned long)n, (unsigned long)ideal);
	assert_int_equal(t->n_sectors, 0);
}

static void test_wavefronts_of_words(void **state)
{
	expect_wavefronts("u32 %r3,", 4, 1, 1);	   /* one bank each */
	expect_wavefronts("u32 %r3,", 8, 2, 1);	   /* every other bank, twice */
	expect_wavefronts("u32 %r3,", 128, 32, 1); /* all in bank 0 */
	expect_wavefronts("u32 %r3,", 132, 1, 1);  /* the padded column */
	expect_wavefronts("u32 %r3,", 0, 1, 1);	   /* a broadcast */
	expect_wavefronts("u32 %r3,", 64, 16, 1);  /* banks 0 and 16 */
	expect_wavefronts("u8 %r3,", 1, 1, 1);	   /* four lanes read a word */
	expect_wavefronts("u16 %h1,", 128, 32, 1);
}

/* Halves of a warp with 8 bytes, quarters with 16. */
static void test_wavefronts_of_wide_words(void **state)
{
	expect_wavefronts("u64 %rd3,", 8, 2, 2);
	expect_wavefronts("u64 %rd3,", 16, 4, 2);
	expect_wavefronts("u64 %rd3,", 0, 2, 2);
	expect_wavefronts("u64 %rd3,", 128, 32, 2);
	expect_wavefronts("v2.u32 {%r3, %r4},", 8, 2, 2);
	expect_wavefronts("v4.u32 {%r3, %r4, %r5, %r6},", 16, 4, 4);
	expect_wavefronts("v4.u32 {%r3, %r4, %r5, %r6},", 32, 8, 4);
	expect_wavefronts("v2.u64 {%rd3, %rd4},", 128, 32, 4);
}

/* A half without active lanes takes no pass. */
static void test_wavefronts_of_few_lanes(void **state)
{
	const struct gsb_emu_traffic *t = &p.traffic[GSB_EMU_MEMORY_SHARED][GSB_EMU_TRAFFIC_STORE];

	count(KERNEL("shl.b32 %r2, %r0, 3;\nadd.u32 %r2, %r2, %r1;\nmov.u64 %rd3, 1;\n"
		     "setp.lt.u32 %p1, %r0, 4;\n@%p1 st.shared.u64 [%r2], %rd3;"),
	      1, 32);
	assert_int_equal(t->n_lanes, 4);
	assert_int_equal(t->n_wavefronts, 1);
	assert_int_equal(t->n_ideal_wavefronts, 1);
}

static void test_generic_access_is_one_of_its_memory(void **state)
{
	count(KERNEL("mov.u64 %rd2, s;\ncvta.shared.u64 %rd2, %rd2;\nmad.wide.u32 %rd3, %r0, 8, %rd2;\n"
		     "setp.lt.u32 %p1, %r0, 16;\nmad.wide.u32 %rd4, %r0, 4, %rd1;\n"
		     "selp.b64 %rd5, %rd3, %rd4, %p1;\nst.u32 [%rd5], %r0;"),
	      1, 32);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_SHARED][GSB_EMU_TRAFFIC_STORE].n_lanes, 16);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_SHARED][GSB_EMU_TRAFFIC_STORE].n_wavefronts, 1);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_GLOBAL][GSB_EMU_TRAFFIC_STORE].n_lanes, 16);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_GLOBAL][GSB_EMU_TRAFFIC_STORE].n_sectors, 2);
}

static void test_parameters_are_no_global_memory(void **state)
{
	count(KERNEL(""), 2, 40);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_CONST][GSB_EMU_TRAFFIC_LOAD].n_requests, 4);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_CONST][GSB_EMU_TRAFFIC_LOAD].n_bytes, 2 * 40 * 8);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_GLOBAL][GSB_EMU_TRAFFIC_LOAD].n_requests, 0);
}

static void test_local_memory_is_counted_apart(void **state)
{
	count(KERNEL(".local .align 4 .b8 l[64];\nmov.u64 %rd2, l;\nst.local.u32 [%rd2], %r0;\n"
		     "ld.local.u32 %r2, [l+4];"),
	      1, 32);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_LOCAL][GSB_EMU_TRAFFIC_STORE].n_bytes, 128);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_LOCAL][GSB_EMU_TRAFFIC_LOAD].n_requests, 1);
}

/* ---- atomics ---- */

/* Of an atomic operation, lane i at (i & mask) * 4: addresses and the most lanes at one. */
static void expect_contention(unsigned int mask, uint64_t n_addresses, uint64_t most)
{
	const struct gsb_emu_traffic *t = &p.traffic[GSB_EMU_MEMORY_GLOBAL][GSB_EMU_TRAFFIC_ATOM];

	count(kernel("and.b32 %%r2, %%r0, %u;\nmad.wide.u32 %%rd2, %%r2, 4, %%rd1;\n"
		     "red.global.add.u32 [%%rd2], 1;\natom.global.add.u32 %%r3, [%%rd2], 1;",
		     mask),
	      1, 32);
	assert_int_equal(t->n_requests, 2);
	assert_int_equal(t->n_lanes, 64);
	assert_int_equal(t->n_addresses, 2 * n_addresses);
	assert_int_equal(t->n_most_at_one, 2 * most);
}

static void test_contention_of_atomics(void **state)
{
	expect_contention(0, 1, 32);
	expect_contention(1, 2, 16);
	expect_contention(31, 32, 1);
	/* 0 to 7 and 16 to 23, each for two lanes */
	expect_contention(23, 16, 2);
}

/* ---- instructions ---- */

static void test_divergence_of_a_branch(void **state)
{
	/* 8 lanes go one way, 24 the other; both ways have two instructions, then they meet. */
	count(KERNEL("setp.lt.u32 %p1, %r0, 8;\n@%p1 bra a;\nadd.u32 %r2, %r0, 1;\nbra b;\na:\n"
		     "add.u32 %r2, %r0, 2;\nadd.u32 %r2, %r2, 2;\nb:"),
	      1, 32);
	assert_int_equal(p.n_branches, 2);
	assert_int_equal(p.n_divergent, 1);
	assert_int_equal(p.n_insns, N_AROUND + 2 + 2 + 2);
	assert_int_equal(p.n_lane_insns, (N_AROUND + 2) * 32 + 2 * 24 + 2 * 8);
	assert_int_equal(p.n_lane_insns_on, p.n_lane_insns);
	assert_int_equal(p.n_insns, g.stats.n_insns);
	assert_int_equal(p.n_lane_insns, g.stats.n_lane_insns);
}

static void test_uniform_branches_do_not_diverge(void **state)
{
	count(KERNEL("setp.lt.u32 %p1, %r0, 32;\n@%p1 bra a;\nadd.u32 %r2, %r0, 1;\na:\n"
		     "setp.ge.u32 %p1, %r0, 32;\n@%p1 bra b;\nadd.u32 %r2, %r0, 1;\nb:"),
	      1, 32);
	assert_int_equal(p.n_branches, 2);
	assert_int_equal(p.n_divergent, 0);
}

static void test_divergence_of_a_branch_table(void **state)
{
	count(KERNEL("and.b32 %r2, %r0, 1;\nt: .branchtargets a, b;\nbrx.idx %r2, t;\na:\nbra c;\nb:\n"
		     "bra c;\nc:\nmov.u32 %r2, 0;\nu: .branchtargets d, e;\nbrx.idx %r2, u;\nd:\n"
		     "bra f;\ne:\nbra f;\nf:"),
	      1, 32);
	assert_int_equal(p.n_branches, 5);
	assert_int_equal(p.n_divergent, 1);
}

static void test_guards_are_lanes_predicated_off(void **state)
{
	count(KERNEL("setp.lt.u32 %p1, %r0, 5;\n@%p1 add.u32 %r2, %r0, 1;"), 1, 32);
	assert_int_equal(p.n_insns, N_AROUND + 2);
	assert_int_equal(p.n_lane_insns, (N_AROUND + 2) * 32);
	assert_int_equal(p.n_lane_insns_on, (N_AROUND + 1) * 32 + 5);
	assert_int_equal(p.n_branches, 0);
}

static void test_counts_of_all_blocks_and_warps_add_up(void **state)
{
	count(KERNEL("bar.sync 0;\nbar.sync 0;"), 7, 70);
	assert_int_equal(p.n_blocks, 7);
	assert_int_equal(p.n_insns, 7 * 3 * (N_AROUND + 2));
	assert_int_equal(p.n_lane_insns, 7 * 70 * (N_AROUND + 2));
	assert_int_equal(p.n_barriers, 7 * 3 * 2);
	assert_int_equal(p.n_by_unit[GSB_PTX_UNIT_ADU], 7 * 3 * 3); /* and a parameter */
}

/* Each thing once a pass, of five; what is guarded by a false predicate never. */
static const char kinds_ptx[] = KERNEL("mov.u32 %r2, 0;\nsetp.lt.u32 %p2, %r0, 0;\nl:\n"
				       "ex2.approx.f32 %f1, %f1;\n@%p2 sin.approx.f32 %f2, %f1;\n"
				       "fma.rn.f64 %d1, %d1, %d1, %d1;\nadd.f64 %d1, %d1, %d1;\n"
				       "mad.lo.u32 %r3, %r2, %r2, %r3;\nadd.f32 %f1, %f1, %f1;\n"
				       "add.u32 %r2, %r2, 1;\nsetp.lt.u32 %p1, %r2, 5;\n"
				       "@%p1 bra l;");

static void test_kinds_of_instructions_are_counted_apart(void **state)
{
	count(kinds_ptx, 2, 33);
	assert_int_equal(g.stats.n_insns, 4 * (N_AROUND + 2 + 5 * 8));
	assert_int_equal(g.stats.n_alu, 4 * (2 + 2 + 5 * 2));
	assert_int_equal(g.stats.n_imul, 4 * 5);
	assert_int_equal(g.stats.n_sfu, 4 * 5);
	assert_int_equal(g.stats.n_fp64, 4 * 5 * 2);
}

/* Lanes leave a loop one by one, go other ways, by guards, tables, calls and recursion, wait, and end. */
static const char ways_ptx[] =
	HEAD ".func (.reg .b32 %s) sum(.reg .b32 %n)\n{\n.reg .pred %p<2>;\n.reg .b32 %r<3>;\n"
	     "mov.u32 %s, 0;\nsetp.eq.u32 %p0, %n, 0;\n@%p0 ret;\nsub.u32 %r0, %n, 1;\n"
	     "call (%r1), sum, (%r0);\nmad.lo.u32 %s, %n, 1, %r1;\nret;\n}\n"
	     ".visible .entry k(.param .u64 io) {\n" REGS
	     "mov.u32 %r0, %tid.x;\nmov.u32 %r2, 0;\nl:\nadd.u32 %r2, %r2, 1;\n"
	     "cvt.rn.f64.u32 %d1, %r2;\nsetp.lt.u32 %p1, %r2, %r0;\n@%p1 bra l;\n"
	     "setp.gt.u32 %p2, %r0, 40;\n@%p2 popc.b32 %r3, %r0;\n@%p2 mul.f64 %d1, %d1, %d1;\n"
	     "and.b32 %r4, %r0, 3;\nt: .branchtargets a, b, c, a;\nbrx.idx %r4, t;\n"
	     "a:\nmul.hi.u32 %r5, %r0, %r2;\nbra d;\nb:\nlg2.approx.f32 %f1, %f1;\n"
	     "c:\nadd.f64 %d1, %d1, %d1;\nd:\nbar.sync 0;\ncall (%r6), sum, (%r4);\n"
	     "shfl.sync.idx.b32 %r7, %r6, 0, 31, -1;\nsetp.eq.u32 %p3, %r0, 7;\n@%p3 exit;\n"
	     "bar.sync 0;\nnot.b32 %r8, %r7;\nret;\n}\n";

/* Watched or not, and however often its turns end. */
static void test_counts_do_not_depend_on_turns(void **state)
{
	static const uint64_t quanta[] = {0, 1, 2, 7, 100};
	struct gsb_emu_profile once;

	count(ways_ptx, 3, 64);
	once = p;
	assert_true(once.n_divergent > 150 && once.n_imul > 12);
	for (size_t i = 0; i < GSB_ARRAY_LEN(quanta); i++) {
		void *io;

		t_gpu_init(&g, ways_ptx);
		g.quantum = quanta[i];
		g.resident = 2;
		io = t_alloc(&g, 65536);
		assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "k",
								 .grid = {3},
								 .block = {64},
								 .args = {&io}}),
				 CUDA_SUCCESS);
		assert_stats_are(&once);
		t_gpu_finish(&g);
	}
}

static void test_unit_of_an_instruction(void **state)
{
	static const struct {
		const char *text;
		enum gsb_ptx_unit unit;
	} cases[] = {
		{"add.s32 %r2, %r0, 1", GSB_PTX_UNIT_ALU},
		{"add.s64 %rd2, %rd1, 1", GSB_PTX_UNIT_ALU},
		{"selp.f64 %d1, %d0, %d0, %p1", GSB_PTX_UNIT_ALU},
		{"setp.lt.f32 %p1, %f0, %f1", GSB_PTX_UNIT_ALU},
		{"lop3.b32 %r2, %r0, %r1, %r0, 0x96", GSB_PTX_UNIT_ALU},
		{"cvt.s64.s32 %rd2, %r0", GSB_PTX_UNIT_ALU},
		{"vote.sync.ballot.b32 %r2, %p1, -1", GSB_PTX_UNIT_ALU},
		{"mad.lo.s32 %r2, %r0, %r1, 1", GSB_PTX_UNIT_FMA},
		{"mul.wide.u32 %rd2, %r0, 4", GSB_PTX_UNIT_FMA},
		{"dp4a.s32.s32 %r2, %r0, %r1, 1", GSB_PTX_UNIT_FMA},
		{"fma.rn.f32 %f1, %f0, %f0, %f0", GSB_PTX_UNIT_FMA},
		{"add.f32 %f1, %f0, %f0", GSB_PTX_UNIT_FMA},
		{"fma.rn.f64 %d1, %d0, %d0, %d0", GSB_PTX_UNIT_FP64},
		{"max.f64 %d1, %d0, %d0", GSB_PTX_UNIT_FP64},
		{"setp.lt.f64 %p1, %d0, %d1", GSB_PTX_UNIT_FP64},
		{"div.rn.f64 %d1, %d0, %d0", GSB_PTX_UNIT_FP64},
		{"sin.approx.f32 %f1, %f0", GSB_PTX_UNIT_XU},
		{"rcp.approx.ftz.f64 %d1, %d0", GSB_PTX_UNIT_XU},
		{"cvt.rn.f32.s32 %f1, %r0", GSB_PTX_UNIT_XU},
		{"popc.b32 %r2, %r0", GSB_PTX_UNIT_XU},
		{"st.shared.u32 [%r1], %r0", GSB_PTX_UNIT_LSU},
		{"atom.global.add.u32 %r2, [%rd1], 1", GSB_PTX_UNIT_LSU},
		{"shfl.sync.idx.b32 %r2, %r0, 0, 31, -1", GSB_PTX_UNIT_LSU},
		{"tex.1d.v4.f32.f32 {%f0, %f1, %f2, %f3}, [%rd1, {%f0}]", GSB_PTX_UNIT_TEX},
		{"ld.param.u64 %rd2, [io]", GSB_PTX_UNIT_ADU},
		{"bar.sync 0", GSB_PTX_UNIT_ADU},
		{"bar.warp.sync -1", GSB_PTX_UNIT_CBU},
		{"exit", GSB_PTX_UNIT_CBU},
	};
	char text[4096];

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		struct gsb_ptx_module *m;
		enum gsb_ptx_unit unit;

		snprintf(text, sizeof(text), "%s%s%s",
			 HEAD ".visible .entry k(.param .u64 io) {\n" REGS, cases[i].text,
			 ";\nret;\n}\n");
		m = parse(text);
		unit = gsb_ptx_unit_of(&m->funcs[0]->insns[0]);
		if (unit != cases[i].unit)
			fail_msg("'%s': unit %d, not %d", cases[i].text, (int)unit,
				 (int)cases[i].unit);
		gsb_ptx_module_destroy(m);
	}
}

static void test_nothing_is_counted_unless_asked_for(void **state)
{
	assert_int_equal(run_as(GSB_EMU_WATCH_UNINIT, KERNEL("bar.sync 0;"), 1, 32), CUDA_SUCCESS);
	assert_int_equal(p.n_insns, 0);
	assert_int_equal(p.n_blocks, 1);
}

/* 2 blocks of 2 warps: in order twice, a stride of two words, one place, eight and eight, squares twice. */
#define ACCESSES                                                                                     \
	"mad.wide.u32 %rd2, %r0, 4, %rd1;\nld.global.u32 %r2, [%rd2];\nst.global.u32 [%rd2], %r2;\n" \
	"mad.wide.u32 %rd3, %r0, 8, %rd1;\nld.global.u32 %r2, [%rd3];\nld.global.u32 %r2, [%rd1];\n" \
	"shr.u32 %r3, %r0, 3;\nmad.wide.u32 %rd4, %r3, 1024, %rd2;\nld.global.u32 %r2, [%rd4];\n"    \
	"mul.lo.u32 %r4, %r0, %r0;\nmad.wide.u32 %rd5, %r4, 4, %rd1;\nld.global.u32 %r2, [%rd5];\n"  \
	"red.global.add.u32 [%rd5], 1;"

static void test_paths_of_accesses_add_up_over_blocks(void **state)
{
	const struct gsb_emu_paths want = {
		.in_order = 8, .one_place = 4, .stride = 4, .runs = 4, .lanes = 8};

	count(KERNEL(ACCESSES), 2, 64);
	assert_memory_equal(&p.paths, &want, sizeof(want));
}

static void test_paths_are_not_counted_unless_asked_for(void **state)
{
	const struct gsb_emu_paths none = {0};

	assert_int_equal(run_as(GSB_EMU_WATCH_UNINIT, KERNEL(ACCESSES), 1, 64), CUDA_SUCCESS);
	assert_memory_equal(&p.paths, &none, sizeof(none));
}

/* ---- checks ---- */

static uint32_t find_first_shared(void)
{
	uint32_t *io, first;

	t_gpu_init(&g, KERNEL("st.global.u32 [%rd1], %r1;"));
	io = t_alloc(&g, 4);
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "k", .args = {&io}}),
			 CUDA_SUCCESS);
	first = *io;
	t_gpu_finish(&g);
	return first;
}

/* The last run ended at a read of so many bytes, from there on in s. */
static void expect_unwritten(unsigned int n_bytes, unsigned int at, uint32_t lanes)
{
	const struct gsb_emu_fault fault = g.fault;
	char what[128];

	snprintf(what, sizeof(what),
		 "read of %u bytes at 0x%x of shared memory, which no thread has written", n_bytes,
		 find_first_shared() + at);
	assert_int_equal(fault.result, CUDA_ERROR_LAUNCH_FAILED);
	assert_string_equal(fault.what, what);
	assert_int_equal(fault.lanes, lanes);
}

static void test_uninit_read_of_shared_memory_is_found(void **state)
{
	run_as(GSB_EMU_WATCH_UNINIT,
	       KERNEL("mad.lo.u32 %r2, %r0, 4, %r1;\nsetp.lt.u32 %p1, %r0, 30;\n"
		      "@%p1 st.shared.u16 [%r2], %h1;\nbar.sync 0;\n"
		      "@%p1 st.shared.u8 [%r2+2], %h1;\nld.shared.u16 %h2, [%r2];"),
	       1, 32);
	expect_unwritten(2, 0x78, 3u << 30);
	run_as(GSB_EMU_WATCH_UNINIT,
	       KERNEL("mad.lo.u32 %r2, %r0, 4, %r1;\nst.shared.u16 [%r2], %h1;\n"
		      "st.shared.u8 [%r2+2], %h1;\nld.shared.u32 %r3, [%r2];"),
	       1, 32);
	expect_unwritten(4, 0x0, GSB_EMU_ALL);
	run_as(GSB_EMU_WATCH_UNINIT,
	       KERNEL("prefetch.global.L1 [%rd1];\natom.shared.add.u32 %r2, [%r1+64], 1;"), 1, 1);
	expect_unwritten(4, 0x40, 1);
}

/* In each block anew: what one of them has written is not there for the next in its storage. */
static void test_uninit_is_not_what_a_thread_has_written(void **state)
{
	assert_int_equal(
		run_as(GSB_EMU_WATCH_UNINIT,
		       KERNEL("mad.lo.u32 %r2, %r0, 4, %r1;\nst.shared.u32 [%r2], %r0;\n"
			      "bar.sync 0;\nxor.b32 %r3, %r2, 60;\n"
			      "ld.shared.u32 %r4, [%r3];\natom.shared.add.u32 %r5, [%r2], 1;"),
		       3, 64),
		CUDA_SUCCESS);
	run_as(GSB_EMU_WATCH_UNINIT,
	       KERNEL("mov.u32 %r2, %ctaid.x;\nsetp.eq.u32 %p1, %r2, 0;\n"
		      "@%p1 st.shared.u32 [%r1], %r0;\nld.shared.u32 %r3, [%r1];"),
	       2, 1);
	assert_int_equal(g.fault.ctaid[0], 1);
	expect_unwritten(4, 0x0, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sectors_of_a_request_are_the_different_ones),
		cmocka_unit_test(test_sectors_of_a_scattered_request_count_once),
		cmocka_unit_test(test_wavefronts_of_words),
		cmocka_unit_test(test_wavefronts_of_wide_words),
		cmocka_unit_test(test_wavefronts_of_few_lanes),
		cmocka_unit_test(test_generic_access_is_one_of_its_memory),
		cmocka_unit_test(test_parameters_are_no_global_memory),
		cmocka_unit_test(test_local_memory_is_counted_apart),
		cmocka_unit_test(test_contention_of_atomics),
		cmocka_unit_test(test_divergence_of_a_branch),
		cmocka_unit_test(test_uniform_branches_do_not_diverge),
		cmocka_unit_test(test_divergence_of_a_branch_table),
		cmocka_unit_test(test_guards_are_lanes_predicated_off),
		cmocka_unit_test(test_counts_of_all_blocks_and_warps_add_up),
		cmocka_unit_test(test_kinds_of_instructions_are_counted_apart),
		cmocka_unit_test(test_counts_do_not_depend_on_turns),
		cmocka_unit_test(test_unit_of_an_instruction),
		cmocka_unit_test(test_nothing_is_counted_unless_asked_for),
		cmocka_unit_test(test_paths_of_accesses_add_up_over_blocks),
		cmocka_unit_test(test_paths_are_not_counted_unless_asked_for),
		cmocka_unit_test(test_uninit_read_of_shared_memory_is_found),
		cmocka_unit_test(test_uninit_is_not_what_a_thread_has_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
