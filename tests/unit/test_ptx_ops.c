/*
 * test_ptx_ops.c - the tables of opcodes and words: sane in themselves, and decoded as written.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/ops.h"

static bool decode(const char *spelling, struct gsb_ptx_insn *in)
{
	*in = (struct gsb_ptx_insn){0};
	return gsb_ptx_insn_decode(spelling, strlen(spelling), in);
}

static void test_op_rows_shapes_have_known_letters_and_results_first(void **state)
{
	for (unsigned int row = 1; row < gsb_ptx_n_op_rows; row++) {
		const char *shape = gsb_ptx_op_rows[row].shape;
		bool source_seen = false;

		assert_true(strlen(shape) < GSB_PTX_SHAPE_MAX);
		for (const char *s = shape; *s; s++) {
			assert_non_null(strchr("dwrqQSVMcXFabAuCpvsgmltfPiejYTHGxhoNKI?", *s));
			if (*s == '?') {
				assert_false(gsb_ptx_shape_is_def(s[-1]));
				continue;
			}
			assert_false(source_seen && gsb_ptx_shape_is_def(*s));
			source_seen |= !gsb_ptx_shape_is_def(*s);
		}
	}
}

static void test_op_rows_at_most_one_operand_is_optional(void **state)
{
	for (unsigned int row = 1; row < gsb_ptx_n_op_rows; row++) {
		const char *first = strchr(gsb_ptx_op_rows[row].shape, '?');

		assert_true(!first || !strchr(first + 1, '?'));
	}
}

static void test_op_rows_needed_fields_are_allowed(void **state)
{
	for (unsigned int row = 1; row < gsb_ptx_n_op_rows; row++) {
		assert_int_equal(gsb_ptx_op_rows[row].needed & ~gsb_ptx_op_rows[row].fields, 0);
		assert_true(!gsb_ptx_op_rows[row].types2 || gsb_ptx_op_rows[row].types);
	}
}

static void test_op_lookup_of_every_name_finds_its_row(void **state)
{
	for (int op = 1; op < GSB_PTX_N_OPS; op++) {
		const char *name = gsb_ptx_op_name(op);
		size_t used;

		assert_int_equal(gsb_ptx_op_lookup(name, strlen(name), &used), op);
		assert_int_equal(used, strlen(name));
	}
}

static void test_op_lookup_takes_longest_spelling_of_whole_words(void **state)
{
	size_t used;

	assert_int_equal(gsb_ptx_op_lookup("bar.warp.sync", 13, &used), GSB_PTX_OP_BAR_WARP_SYNC);
	assert_int_equal(gsb_ptx_op_lookup("barrier.cta.sync.aligned", 24, &used),
			 GSB_PTX_OP_BARRIER_SYNC);
	assert_int_equal(used, 16);
	assert_int_equal(gsb_ptx_op_lookup("shf.l.wrap.b32", 14, &used), GSB_PTX_OP_SHF_L);
	assert_int_equal(gsb_ptx_op_lookup("addx.s32", 8, &used), GSB_PTX_OP_UNSUPPORTED);
	assert_int_equal(gsb_ptx_op_lookup("", 0, &used), GSB_PTX_OP_UNSUPPORTED);
}

static void test_decode_sets_typed_fields(void **state)
{
	struct gsb_ptx_insn in;

	assert_true(decode("add.sat.s32", &in));
	assert_int_equal(in.op, GSB_PTX_OP_ADD);
	assert_int_equal(in.type[0], GSB_PTX_TYPE_S32);
	assert_int_equal(in.flags, GSB_PTX_F_SAT);

	assert_true(decode("setp.lt.and.ftz.f32", &in));
	assert_int_equal(in.cmp, GSB_PTX_CMP_LT);
	assert_int_equal(in.sub, GSB_PTX_SUB_AND);
	assert_int_equal(in.flags, GSB_PTX_F_FTZ);

	assert_true(decode("cvt.rzi.sat.u8.f32", &in));
	assert_int_equal(in.rnd, GSB_PTX_RND_RZI);
	assert_int_equal(in.type[0], GSB_PTX_TYPE_U8);
	assert_int_equal(in.type[1], GSB_PTX_TYPE_F32);

	assert_true(decode("mad.wide.u16", &in));
	assert_int_equal(in.mul, GSB_PTX_MUL_WIDE);
	assert_true(decode("setp.lo.u32", &in));
	assert_int_equal(in.cmp, GSB_PTX_CMP_LO);
	assert_int_equal(in.mul, 0);
}

static void test_decode_memory_gives_space_vector_order_and_scope(void **state)
{
	struct gsb_ptx_insn in;

	assert_true(decode("ld.acquire.gpu.global.v2.u64", &in));
	assert_int_equal(in.sem, GSB_PTX_SEM_ACQUIRE);
	assert_int_equal(in.scope, GSB_PTX_SCOPE_GPU);
	assert_int_equal(in.space, GSB_PTX_SPACE_GLOBAL);
	assert_int_equal(in.vec, 2);
	assert_int_equal(in.type[0], GSB_PTX_TYPE_U64);

	assert_true(decode("ld.global.nc.L1::evict_last.L2::128B.v4.f32", &in));
	assert_int_equal(in.flags, GSB_PTX_F_NC);
	assert_int_equal(in.vec, 4);

	assert_true(decode("st.volatile.shared::cta.b32", &in));
	assert_int_equal(in.space, GSB_PTX_SPACE_SHARED);
	assert_int_equal(in.sem, GSB_PTX_SEM_VOLATILE);

	assert_true(decode("atom.acq_rel.sys.shared.cas.b64", &in));
	assert_int_equal(in.sub, GSB_PTX_SUB_CAS);
	assert_true(decode("ld.b8", &in));
	assert_int_equal(in.space, GSB_PTX_SPACE_GENERIC);
	assert_int_equal(in.vec, 1);
}

/* What compilers write, and what else is legal. */
static const char *const written_forms[] = {
	"mov.pred",
	"mov.b128",
	"add.cc.u32",
	"addc.cc.s64",
	"madc.hi.cc.u32",
	"mul24.lo.s32",
	"div.full.f32",
	"div.approx.ftz.f32",
	"rcp.approx.ftz.f64",
	"sqrt.rn.f64",
	"rsqrt.approx.f64",
	"ex2.approx.ftz.f32",
	"tanh.approx.f32",
	"fma.rp.ftz.sat.f32",
	"min.NaN.f32",
	"copysign.f64",
	"lop3.b32",
	"shf.r.clamp.b32",
	"bfi.b64",
	"bfind.shiftamt.u64",
	"prmt.b32.rc16",
	"bmsk.clamp.b32",
	"szext.wrap.s32",
	"set.geu.f32.f64",
	"slct.ftz.f32.f32",
	"testp.subnormal.f64",
	"selp.b16",
	"cvt.rn.f16.f32",
	"cvt.rn.bf16.f32",
	"cvta.to.global.u64",
	"cvta.param.u64",
	"isspacep.shared::cta",
	"ldu.global.v4.f32",
	"ld.mmio.relaxed.sys.global.b128",
	"st.relaxed.mmio.sys.u8",
	"ld.param::entry.u32",
	"prefetch.global.L2",
	"prefetch.local.L1",
	"add.f16",
	"add.rn.ftz.sat.f16x2",
	"mul.bf16",
	"fma.rn.relu.ftz.f16x2",
	"fma.rn.relu.bf16x2",
	"abs.ftz.f16",
	"neg.bf16x2",
	"min.NaN.xorsign.abs.f16x2",
	"max.xorsign.abs.ftz.f32",
	"min.s16x2.relu",
	"max.relu.s32",
	"add.u16x2",
	"ex2.approx.ftz.bf16x2",
	"tanh.approx.f16x2",
	"setp.geu.bf16",
	"setp.lt.and.ftz.f16x2",
	"set.ltu.u32.bf16x2",
	"set.nan.f16x2.f16x2",
	"set.eq.ftz.f16.f32",
	"cvt.rn.f16x2.f32",
	"cvt.rz.relu.satfinite.bf16x2.f32",
	"cvt.rna.satfinite.tf32.f32",
	"cvt.rn.satfinite.relu.e4m3x2.f32",
	"cvt.rn.f16x2.e5m2x2",
	"cvt.pack.sat.s16.s32",
	"cvt.pack.sat.u4.s32.b32",
	"cvt.pack.sat.u8.s32.b32",
	"lop3.or.b32",
	"ld.global.L2::cache_hint.v4.f32",
	"atom.global.add.noftz.v8.bf16",
	"red.global.add.v4.f32",
	"red.relaxed.gpu.global.add.L2::cache_hint.u32",
	"createpolicy.fractional.L2::evict_last.L2::evict_unchanged.b64",
	"applypriority.global.L2::evict_normal",
	"discard.global.L2",
	"barrier.cluster.arrive.release.aligned",
	"mapa.shared::cluster.u32",
	"ld.shared::cluster.u32",
	"griddepcontrol.wait",
	"setmaxnreg.dec.sync.aligned.u32",
	"vadd.u32.s32.u32.sat.min",
	"vshr.s32.s32.u32.wrap",
	"vmad.s32.s32.u32.po.sat.shr15",
	"vset.u32.s32.ge.add",
	"vabsdiff4.u32.u32.u32.add",
	"vset2.s32.s32.ne.add",
	"atom.global.add.noftz.f16",
	"atom.cas.b16",
	"atom.exch.b128",
	"red.relaxed.gpu.global.add.f64",
	"membar.gl",
	"fence.sc.sys",
	"fence.acq_rel.gpu",
	"bar.red.popc.u32",
	"barrier.red.or.pred",
	"barrier.sync.aligned",
	"bar.cta.arrive",
	"shfl.sync.bfly.b32",
	"shfl.up.b32",
	"vote.sync.ballot.b32",
	"vote.ballot.b32",
	"vote.uni.pred",
	"match.any.sync.b64",
	"redux.sync.min.s32",
	"redux.sync.xor.b32",
	"activemask.b32",
	"elect.sync",
	"bra.uni",
	"brx.idx",
	"call.uni",
	"nanosleep.u32",
	"trap",
	"brkpt",
	"exit",
	"fns.b32",
	"txq.width.b32",
	"txq.level.depth.b32",
	"suq.array_size.b32",
	"sad.u16",
	"dp2a.hi.u32.s32",
	"cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
	"cp.async.bulk.tensor.5d.im2col.shared::cta.global.mbarrier::complete_tx::bytes",
	"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster.L2::cache_hint",
	"cp.async.bulk.tensor.4d.global.shared::cta.im2col_no_offs.bulk_group.L2::cache_hint",
	"cp.reduce.async.bulk.tensor.3d.global.shared::cta.xor.tile.bulk_group",
	"cp.async.bulk.prefetch.tensor.3d.L2.global.im2col.L2::cache_hint",
	"tensormap.replace.tile.global_stride.shared::cta.b1024.b64",
	"tensormap.replace.tile.elemtype.b1024.b32",
	"fence.proxy.tensormap::generic.acquire.cluster",
};

static void test_decode_accepts_the_forms_compilers_write(void **state)
{
	struct gsb_ptx_insn in;

	for (size_t i = 0; i < GSB_ARRAY_LEN(written_forms); i++) {
		if (!decode(written_forms[i], &in))
			fail_msg("%s is refused", written_forms[i]);
	}
}

/* A word too many, one too few, or words that do not go together. */
static const char *const no_forms[] = {
	"txq.width.u32",
	"txq.channel_order.b32",
	"txq.level.array_size.b32",
	"suq.normalized_coords.b32",
	"tex.2d.v2.f32.s32",
	"wmma.load.a.sync",
	"cp.async.ca.global.shared",
	"cp.async.bulk.tensor",
	"cp.async.bulk.tensor.6d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
	"cp.async.bulk.tensor.1d.global.shared::cluster.mbarrier::complete_tx::bytes",
	"cp.async.bulk.tensor.1d.1d.shared::cluster.global.mbarrier::complete_tx::bytes",
	"cp.async.bulk.tensor.1d.shared::cluster.global.bulk_group",
	"cp.async.bulk.tensor.1d.global.shared::cta.mbarrier::complete_tx::bytes",
	"cp.async.bulk.tensor.2d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",
	"cp.async.bulk.tensor.3d.shared::cluster.global.im2col_no_offs.mbarrier::complete_tx::bytes",
	"cp.async.bulk.tensor.3d.global.shared::cta.im2col.bulk_group",
	"cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes.multicast::cluster",
	"cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes",
	"cp.async.bulk.tensor.1d.global.shared::cta.add.bulk_group",
	"cp.async.bulk.tensor.1d.L2.global",
	"cp.reduce.async.bulk.tensor.1d.global.shared::cta.bulk_group",
	"cp.reduce.async.bulk.tensor.1d.global.shared::cta.cas.bulk_group",
	"cp.async.bulk.prefetch.tensor.1d.L2.global.bulk_group",
	"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.add.s64",
	"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.and.b64",
	"tensormap.replace.tile.global_address.shared::cta.b1024.b32",
	"tensormap.replace.tile.rank.shared::cta.b32",
	"tensormap.replace.tile.rank.local.b1024.b32",
	"tensormap.replace.tile.swizzle_atomicity.shared::cta.b1024.b32",
	"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu",
	"fence.proxy.tensormap::generic.release",
	"mbarrier.init.global.b64",
	"ld.mmio.u32",
	"ld.mmio.sys.u32",
	"ld.mmio.relaxed.gpu.u32",
	"ld.mmio.acquire.sys.u32",
	"ld.mmio.relaxed.sys.v2.u32",
	"ld.mmio.relaxed.sys.shared.u32",
	"st.mmio.release.sys.u32",
	"st.mmio.relaxed.sys.shared.u32",
	"mbarrier.init.shared.b32",
	"add",
	"add.rz.f16",
	"add.ftz.bf16",
	"add.sat.bf16x2",
	"fma.rn.sat.relu.f16",
	"fma.rn.ftz.bf16",
	"fma.f16x2",
	"add.rna.f32",
	"add.rni.f32",
	"add.relu.s32",
	"add.sat.u16x2",
	"min.relu.u16x2",
	"min.relu.f32",
	"max.ftz.bf16",
	"ex2.approx.bf16",
	"ex2.approx.ftz.f16",
	"setp.eq.ftz.bf16",
	"set.eq.f16x2.bf16x2",
	"cvt.rm.relu.f16.f32",
	"cvt.rp.f16x2.f32",
	"cvt.rna.relu.tf32.f32",
	"cvt.rna.f16.f32",
	"cvt.rn.e4m3x2.f32",
	"cvt.rz.satfinite.e5m2x2.f16x2",
	"cvt.rn.bf16x2.e4m3x2",
	"cvt.pack.sat.u8.s32",
	"cvt.pack.sat.u16.s32.b32",
	"cvt.pack.u16.s32",
	"lop3.xor.b32",
	"vadd.s32.s32",
	"vadd.and.s32.s32.s32",
	"vshl.s32.s32.s32.clamp",
	"vshl.s32.s32.u32",
	"vmad.s32.s32.s32.shr7.shr15",
	"vset.s32.s32.ltu",
	"vadd2.s32.s32.s32.min",
	"vadd4.s32.s32.s32.sat.add",
	"setmaxnreg.inc.u32",
	"add.b32",
	"mul.s32",
	"mul.lo.f32",
	"mul.wide.u64",
	"setp.s32",
	"setp.foo.s32",
	"fma.f32",
	"add.s32.s32",
	"cvt.f32",
	"cvt.rn.f32.s32.u32",
	"ld.global.v3.u32",
	"ld.v2.v4.u32",
	"ld.global.shared.u32",
	"atom.global.u32",
	"atom.and.f32",
	"atom.add.b32",
	"atom.add.v2.s32",
	"atom.min.v2.f32",
	"red.cas.b32",
	"red.exch.b32",
	"redux.sync.inc.u32",
	"redux.sync.and.s32",
	"bar.red.popc.pred",
	"bar.red.and.u32",
	"vote.sync.ballot.pred",
	"vote.sync.all.b32",
	"membar",
	"fence.proxy.nothing",
	"min.xorsign.f32",
	"st.async.b32",
	"ld..u32",
	"ld.",
	".",
	"shfl.sync.b32",
	"add.rn.rz.f32",
	"rsqrt.f32",
	"st.const.u32",
	"atom.const.add.u32",
	"cvta.u64",
};

static void test_decode_unknown_or_missing_word_is_unsupported(void **state)
{
	struct gsb_ptx_insn in;

	for (size_t i = 0; i < GSB_ARRAY_LEN(no_forms); i++) {
		if (decode(no_forms[i], &in))
			fail_msg("%s is taken", no_forms[i]);
		assert_int_equal(in.op, GSB_PTX_OP_UNSUPPORTED);
	}
}

static void test_sreg_lookup_knows_axes_and_numbers(void **state)
{
	uint8_t sreg, axis;

	assert_true(gsb_ptx_sreg_lookup("%tid.z", 6, &sreg, &axis));
	assert_int_equal(sreg, GSB_PTX_SREG_TID);
	assert_int_equal(axis, 2);
	assert_true(gsb_ptx_sreg_lookup("%envreg31", 9, &sreg, &axis));
	assert_int_equal(axis, 31);
	assert_true(gsb_ptx_sreg_lookup("%lanemask_lt", 12, &sreg, &axis));
	assert_int_equal(sreg, GSB_PTX_SREG_LANEMASK_LT);
	assert_true(gsb_ptx_sreg_lookup("%clock64", 8, &sreg, &axis));
	assert_int_equal(sreg, GSB_PTX_SREG_CLOCK64);
	assert_false(gsb_ptx_sreg_lookup("%tid", 4, &sreg, &axis));
	assert_false(gsb_ptx_sreg_lookup("%tid.", 5, &sreg, &axis));
	assert_false(gsb_ptx_sreg_lookup("%tid.q", 6, &sreg, &axis));
	assert_false(gsb_ptx_sreg_lookup("%envreg32", 9, &sreg, &axis));
	assert_false(gsb_ptx_sreg_lookup("%envreg", 7, &sreg, &axis));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_op_rows_shapes_have_known_letters_and_results_first),
		cmocka_unit_test(test_op_rows_at_most_one_operand_is_optional),
		cmocka_unit_test(test_op_rows_needed_fields_are_allowed),
		cmocka_unit_test(test_op_lookup_of_every_name_finds_its_row),
		cmocka_unit_test(test_op_lookup_takes_longest_spelling_of_whole_words),
		cmocka_unit_test(test_decode_sets_typed_fields),
		cmocka_unit_test(test_decode_memory_gives_space_vector_order_and_scope),
		cmocka_unit_test(test_decode_accepts_the_forms_compilers_write),
		cmocka_unit_test(test_decode_unknown_or_missing_word_is_unsupported),
		cmocka_unit_test(test_sreg_lookup_knows_axes_and_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
