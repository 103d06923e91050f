/*
 * test_ptx_parse.c - modules as data: what a text says is what the structures hold; printing and
 * parsing again changes nothing, for every shipped sample.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>

#include "ptx/print.h"
#include "tests/unit/ptx_text.h"

static void test_parse_module_head(void **state)
{
	struct gsb_ptx_module *m = parse(".version 8.3\n.target sm_90a, debug\n.address_size 64\n");

	assert_int_equal(m->version_major, 8);
	assert_int_equal(m->version_minor, 3);
	assert_string_equal(m->target, "sm_90a, debug");
	assert_int_equal(m->target_sm, 90);
	assert_int_equal(m->address_bits, 64);
	gsb_ptx_module_destroy(m);
}

static void expect_line(const struct gsb_ptx_module *m, uint32_t insn, uint32_t line,
			const char *name)
{
	const char *file;

	assert_int_equal(gsb_ptx_source_line(m, m->funcs[0], insn, &file), line);
	assert_string_equal(file, name);
}

/* A .loc holds up to the next; of two in one place the last; files may be named behind the code. */
static void test_source_line_is_that_of_the_last_loc_before(void **state)
{
	struct gsb_ptx_module *m = parse(
		HEAD ".visible .entry k()\n{\n\t.reg .b32 %r<2>;\n\tmov.u32 %r0, 1;\n"
		     "\t.loc 1 10 2\n\t.loc 2 20 9, function_name L, inlined_at 1 10 2\n"
		     "\tmov.u32 %r0, 2;\n\tmov.u32 %r0, 3;\n\t.loc 1 11 2\n\tmov.u32 %r0, 4;\n"
		     "\t.loc 7 12 2\n\tret;\n}\n.file 1 \"a.cu\"\n.file 2 \"b.h\", 5, 6\n");

	assert_int_equal(m->funcs[0]->n_locs, 3);
	expect_line(m, 0, 0, "");
	expect_line(m, 1, 20, "b.h");
	expect_line(m, 2, 20, "b.h");
	expect_line(m, 3, 11, "a.cu");
	expect_line(m, 4, 12, "");
	gsb_ptx_module_destroy(m);
}

static void test_parse_params_are_laid_out_as_c_does(void **state)
{
	/* (char, double, float *, struct {char; double; short}, short, int): offsets nvcc's cubin has. */
	struct gsb_ptx_module *m =
		parse(HEAD ".visible .entry k(.param .u8 a, .param .f64 b, .param .u64 c,"
			   ".param .align 8 .b8 d[24], .param .u16 e, .param .u32 f) { ret; }");
	const struct gsb_ptx_func *f = func(m, "k");
	static const uint64_t offsets[] = {0, 8, 16, 24, 48, 52}, sizes[] = {1, 8, 8, 24, 2, 4};

	assert_int_equal(f->n_params, 6);
	for (int i = 0; i < 6; i++) {
		assert_int_equal(f->params[i].offset, offsets[i]);
		assert_int_equal(f->params[i].size_bytes, sizes[i]);
	}
	assert_int_equal(f->param_bytes, 0x38);
	gsb_ptx_module_destroy(m);
}

static void test_parse_tuning_directives(void **state)
{
	struct gsb_ptx_module *m = parse(
		HEAD
		".entry k() .maxntid 256, 2 .minnctapersm 3 .maxnreg 40 .reqnctapercluster 2 { ret; }\n"
		".entry r() .reqntid 128, 1, 1 .explicitcluster .maxclusterrank 8 { ret; }");
	const struct gsb_ptx_tuning *k = &func(m, "k")->tuning, *r = &func(m, "r")->tuning;

	assert_int_equal(k->maxntid[0], 256);
	assert_int_equal(k->maxntid[1], 2);
	assert_int_equal(k->maxntid[2], 1);
	assert_int_equal(k->minnctapersm, 3);
	assert_int_equal(k->maxnreg, 40);
	assert_int_equal(k->reqnctapercluster[0], 2);
	assert_int_equal(k->reqntid[0], 0);
	assert_int_equal(r->reqntid[0], 128);
	assert_true(r->explicit_cluster);
	assert_int_equal(r->maxclusterrank, 8);
	gsb_ptx_module_destroy(m);
}

static void test_parse_initialisers_become_bytes_and_relocations(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".func f() ;\n"
			   ".global .align 4 .b8 a[8] = {1, 255, -1};\n"
			   ".const .f32 h[3] = {0.5, 0f3FC00000, -2};\n"
			   ".global .b16 grid[2][3] = {{1, 2}, {4, 5, 6}};\n"
			   ".global .u64 t[4] = {f, generic(a)+4, a-1, 1 << 40};\n"
			   ".global .b8 part[3] = {0, 0xFF00(generic(a)), 7};\n"
			   ".global .s32 open[] = {1, 2, 3, 4, 5};\n"
			   ".global .f64 one = 1.0;\n"
			   ".global .b128 wide[2] = {5, -2};\n");
	const struct gsb_ptx_var *a = gsb_ptx_find_var(m, "a"), *t = gsb_ptx_find_var(m, "t");
	static const uint8_t a_bytes[8] = {1, 255, 255};
	static const uint32_t h_bits[3] = {0x3f000000, 0x3fc00000, 0xc0000000};
	static const uint16_t grid[6] = {1, 2, 0, 4, 5, 6};
	static const uint64_t wide[4] = {5, 0, (uint64_t)-2, UINT64_MAX};
	const uint64_t shifted = (uint64_t)1 << 40, one = 0x3ff0000000000000;

	assert_memory_equal(a->init, a_bytes, 8);
	assert_memory_equal(gsb_ptx_find_var(m, "h")->init, h_bits, 12);
	assert_int_equal(gsb_ptx_find_var(m, "grid")->size_bytes, 12);
	assert_memory_equal(gsb_ptx_find_var(m, "grid")->init, grid, 12);
	assert_int_equal(gsb_ptx_find_var(m, "open")->n_elems, 5);
	assert_int_equal(gsb_ptx_find_var(m, "open")->size_bytes, 20);
	assert_memory_equal(gsb_ptx_find_var(m, "wide")->init, wide, 32);
	assert_memory_equal(gsb_ptx_find_var(m, "one")->init, &one, 8);

	assert_int_equal(t->n_relocs, 3);
	assert_ptr_equal(t->relocs[0].func, func(m, "f"));
	assert_ptr_equal(t->relocs[1].var, a);
	assert_true(t->relocs[1].generic);
	assert_int_equal(t->relocs[1].addend, 4);
	assert_int_equal(t->relocs[1].offset, 8);
	assert_false(t->relocs[2].generic);
	assert_int_equal(t->relocs[2].addend, -1);
	assert_memory_equal(t->init + 24, &shifted, 8);
	assert_int_equal(gsb_ptx_find_var(m, "part")->relocs[0].mask, 0xff00);
	assert_int_equal(gsb_ptx_find_var(m, "part")->relocs[0].offset, 1);
	gsb_ptx_module_destroy(m);
}

static void test_parse_constant_expressions_follow_c(void **state)
{
	struct gsb_ptx_module *m = parse(
		HEAD
		".global .s64 v[] = {1 + 2 * 3, (1 + 2) * 3, -7 / 2, -7 % 3, 1 << 3 | 1, 7 & 3 ^ 8, "
		"5 > 3 ? 10 : 20, !0, ~0, 1 && 0 || 1, 0x8000000000000000 / -1, 1 << 64, WARP_SZ, "
		"(.s64)3, -1 >> 1, 10 - 4 - 3, -1 >> 64, -1 < 0, 0xffffffffffffffff < 0};");
	static const int64_t want[] = {7, 9, -3, -1, 9,	 11, 10, 1, -1, 1,
				       0, 0, 32, 3,  -1, 3,  -1, 1, 0};
	const struct gsb_ptx_var *v = gsb_ptx_find_var(m, "v");

	assert_int_equal(v->n_elems, sizeof(want) / sizeof(want[0]));
	for (size_t i = 0; i < v->n_elems; i++) {
		int64_t got;

		memcpy(&got, v->init + 8 * i, 8);
		if (got != want[i])
			fail_msg("element %zu is %lld", i, (long long)got);
	}
	gsb_ptx_module_destroy(m);
}

static void test_parse_linkage_and_redeclaration(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".extern .global .u32 x;\n.visible .global .u32 x = 3;\n"
			   ".weak .global .u32 w;\n.extern .shared .align 16 .b8 dyn[];\n"
			   ".func (.param .b32 r) f(.param .b32 a);\n"
			   ".visible .func (.param .b32 r) f(.param .b32 b) { ret; }\n");

	assert_int_equal(m->n_vars, 3);
	assert_int_equal(gsb_ptx_find_var(m, "x")->linkage, GSB_PTX_LINK_VISIBLE);
	assert_int_equal(gsb_ptx_find_var(m, "x")->init[0], 3);
	assert_int_equal(gsb_ptx_find_var(m, "w")->linkage, GSB_PTX_LINK_WEAK);
	assert_true(gsb_ptx_find_var(m, "dyn")->unsized);
	assert_int_equal(gsb_ptx_find_var(m, "dyn")->size_bytes, 0);
	assert_int_equal(m->n_funcs, 1);
	assert_true(func(m, "f")->has_body);
	assert_string_equal(func(m, "f")->params[0].name, "b");
	gsb_ptx_module_destroy(m);
}

static void test_parse_alias_leads_to_the_body(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".func real() { ret; }\n.weak .func other();\n.alias other, real;\n"
			   ".entry k() { call other; ret; }");

	assert_ptr_equal(func(m, "other"), func(m, "real"));
	gsb_ptx_module_destroy(m);
}

static void test_parse_operands_of_every_kind(void **state)
{
	struct gsb_ptx_module *m = parse_kernel(
		".reg .pred %p<3>; .reg .b32 %r<9>; .reg .b64 %rd<4>; .shared .b32 cell[4];\n"
		"mov.u32 %r1, %ctaid.y;\n"
		"ld.param.u64 %rd1, [p];\n"
		"mov.u64 %rd2, cell + 8;\n"
		"mov.b64 {%r2, %r3}, %rd1;\n"
		"mov.b64 {_, %r3}, %rd1;\n"
		"ld.global.v2.u32 {%r4, _}, [%rd1+-4];\n"
		"setp.ne.or.s32 %p1|%p2, %r2, -5, !%p0;\n"
		"@!%p1 add.s32 %r5, %r1, 0x10;\n"
		"st.shared.u32 [cell+4], %r5;\n"
		"ld.u32 %r6, [cell];\n"
		"st.global.u32 [4096], %r6;\n");
	const struct gsb_ptx_insn *in = func(m, "k")->insns;
	const struct gsb_ptx_func *f = func(m, "k");

	assert_int_equal(in[0].operands[1].kind, GSB_PTX_OPERAND_SREG);
	assert_int_equal(in[0].operands[1].sreg, GSB_PTX_SREG_CTAID);
	assert_int_equal(in[0].operands[1].axis, 1);
	assert_ptr_equal(in[1].operands[1].var, &f->params[0]);
	assert_int_equal(in[2].operands[1].kind, GSB_PTX_OPERAND_VAR);
	assert_int_equal(in[2].operands[1].imm, 8);
	assert_int_equal(in[3].operands[0].kind, GSB_PTX_OPERAND_VEC);
	assert_int_equal(in[3].operands[0].elems[1].reg, reg(f, "%r3"));
	assert_int_equal(in[4].operands[0].elems[0].kind, GSB_PTX_OPERAND_NONE);
	assert_int_equal(in[5].operands[1].reg, reg(f, "%rd1"));
	assert_int_equal(in[5].operands[1].imm, -4);
	assert_int_equal(in[6].operands[0].kind, GSB_PTX_OPERAND_PAIR);
	assert_int_equal(in[6].operands[0].reg2, reg(f, "%p2"));
	assert_int_equal(in[6].operands[2].imm, -5);
	assert_true(in[6].operands[3].negated);
	assert_int_equal(in[7].guard, reg(f, "%p1"));
	assert_true(in[7].guard_negated);
	assert_int_equal(in[7].line, 13);
	assert_int_equal(in[8].operands[0].imm, 4);
	assert_int_equal(in[9].space,
			 GSB_PTX_SPACE_SHARED); /* no space written: that of the variable */
	assert_int_equal(in[10].operands[0].reg, GSB_PTX_NONE);
	assert_int_equal(in[10].operands[0].imm, 4096);
	gsb_ptx_module_destroy(m);
}

static void test_parse_immediates_take_the_type_of_the_operand(void **state)
{
	struct gsb_ptx_module *m =
		parse_kernel(".reg .f32 %f<2>; .reg .f64 %d<2>; .reg .b32 %r<2>;\n"
			     "add.f32 %f1, %f0, 0.5;\n"
			     "add.f64 %d1, %d0, 0f3F000000;\n"
			     "mov.b32 %r1, 0f3F800000;\n"
			     "mov.f32 %f1, 2;\n"
			     "add.u32 %r1, %r0, -1;\n"
			     "mov.f32 %f1, 0f7F800001;\n");
	const struct gsb_ptx_insn *in = func(m, "k")->insns;

	assert_int_equal(in[0].operands[2].form, GSB_PTX_IMM_F32);
	assert_int_equal(in[0].operands[2].imm, 0x3f000000);
	assert_int_equal(in[1].operands[2].form, GSB_PTX_IMM_F64);
	assert_int_equal(in[1].operands[2].imm, 0x3fe0000000000000);
	assert_int_equal(in[2].operands[1].imm, 0x3f800000);
	assert_int_equal(in[3].operands[1].imm, 0x40000000);
	assert_int_equal(in[4].operands[2].imm, -1);
	assert_int_equal(in[5].operands[1].imm, 0x7f800001); /* a signalling NaN stays one */
	gsb_ptx_module_destroy(m);
}

static void test_parse_nested_scopes_are_flat_and_hidden_names_distinct(void **state)
{
	struct gsb_ptx_module *m =
		parse_kernel(".reg .b32 x, %r<3>;\n"
			     "mov.u32 x, 1;\n"
			     "{ .reg .b32 x; .reg .b32 %r<2>; mov.u32 x, 2; mov.u32 %r1, x; }\n"
			     "{ .reg .b32 x; mov.u32 x, 3; }\n"
			     "mov.u32 %r1, x;\n");
	const struct gsb_ptx_func *f = func(m, "k");
	const struct gsb_ptx_insn *in = f->insns;

	assert_int_equal(f->n_regs, 8);
	assert_int_equal(in[0].operands[0].reg, reg(f, "x"));
	assert_int_equal(in[1].operands[0].reg, reg(f, "x$1"));
	assert_int_equal(in[2].operands[0].reg, reg(f, "%r$1_1"));
	assert_int_equal(in[3].operands[0].reg, reg(f, "x$2"));
	assert_int_equal(in[4].operands[1].reg, reg(f, "x"));
	gsb_ptx_module_destroy(m);
}

static void test_parse_labels_forward_backward_and_out_of_a_scope(void **state)
{
	struct gsb_ptx_module *m = parse_kernel(".reg .pred %p;\n"
						"top: @%p bra done;\n"
						"{ inner: @%p bra inner; bra top; }\n"
						"{ inner: bra done; }\n"
						"done:");
	const struct gsb_ptx_func *f = func(m, "k");

#define TARGET(i) f->labels[f->insns[i].operands[0].label].insn
	assert_int_equal(TARGET(0), 4);
	assert_int_equal(TARGET(1), 1);
	assert_int_equal(TARGET(2), 0);
	assert_int_equal(TARGET(3), 4);
#undef TARGET
	assert_int_equal(f->insns[4].op,
			 GSB_PTX_OP_RET); /* the closing brace, said as an instruction */
	assert_int_equal(f->n_insns, 5);
	gsb_ptx_module_destroy(m);
}

static void test_parse_label_of_the_nearest_scope_wins_though_it_comes_later(void **state)
{
	struct gsb_ptx_module *m = parse_kernel("x: { { bra x; } x: ret; } bra x;");
	const struct gsb_ptx_func *f = func(m, "k");

	assert_int_equal(f->labels[f->insns[0].operands[0].label].insn, 1);
	assert_int_equal(f->labels[f->insns[2].operands[0].label].insn, 0);
	gsb_ptx_module_destroy(m);
}

static void test_parse_call_param_locals_share_space_between_sequences(void **state)
{
	struct gsb_ptx_module *m = parse(
		HEAD
		".func (.param .b32 r) f(.param .b64 a, .param .align 16 .b8 s[32]);\n"
		".entry k() { .reg .b32 %r;\n"
		"{ .param .b64 a; .param .align 16 .b8 s[32]; .param .b32 r; call (r), f, (a, s); }\n"
		"{ .param .b64 a; .param .align 16 .b8 s[32]; .param .b32 r; call (r), f, (a, s);\n"
		"  ld.param.b32 %r, [r]; } ret; }");
	const struct gsb_ptx_func *f = func(m, "k");

	assert_int_equal(f->n_vars, 6);
	assert_int_equal(f->vars[1]->offset, 16);
	assert_int_equal(f->vars[4]->offset, 16);
	assert_int_equal(f->call_param_bytes, 52);
	assert_ptr_equal(f->insns[1].call->args[0].var, f->vars[3]);
	assert_ptr_equal(f->insns[2].operands[1].var, f->vars[5]);
	gsb_ptx_module_destroy(m);
}

static void test_parse_local_variables_have_a_frame(void **state)
{
	struct gsb_ptx_module *m =
		parse_kernel(".local .b8 a[3]; .local .align 8 .b8 b[16]; .local .f32 c; ret;");
	const struct gsb_ptx_func *f = func(m, "k");

	assert_int_equal(f->vars[1]->offset, 8);
	assert_int_equal(f->vars[2]->offset, 24);
	assert_int_equal(f->local_bytes, 28);
	gsb_ptx_module_destroy(m);
}

static void test_parse_branch_and_call_tables(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".func (.reg .b32 o) g(.reg .b32 i) { add.s32 o, i, 1; ret; }\n"
			   ".entry k() { .reg .b32 %r<3>; .reg .b64 %rd;\n"
			   "t: .branchtargets a, b, a;\n"
			   "p: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
			   "c: .calltargets g;\n"
			   "mov.u64 %rd, g;\n"
			   "brx.idx %r0, t;\n"
			   "a: call (%r1), %rd, (%r0), p;\n"
			   "b: call (%r1), %rd, (5), c;\n"
			   "ret; }");
	const struct gsb_ptx_func *k = func(m, "k"), *g = func(m, "g");

	assert_int_equal(k->n_tables, 2);
	assert_int_equal(k->tables[k->insns[1].operands[1].table].n, 3);
	assert_int_equal(k->labels[k->tables[0].labels[1]].insn, 3);
	assert_int_equal(k->insns[2].call->proto->n_params, 1);
	assert_int_equal(k->insns[3].call->args[0].imm, 5);
	assert_ptr_equal(k->tables[k->insns[3].call->table].funcs[0], g);
	assert_int_equal(g->params[0].reg, reg(g, "i"));
	assert_int_equal(g->rets[0].reg, reg(g, "o"));
	gsb_ptx_module_destroy(m);
}

static void test_parse_unknown_opcode_is_kept_and_the_rest_works(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".global .texref tex;\n"
			   ".entry bad() { .reg .b32 %r<2>; .reg .f32 %f<5>; { .reg .b32 %r<2>;\n"
			   "mov.u32 %r1, 0;\n"
			   "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, {%r1}]; }\n"
			   "add.q16 %r1, %r1, %r1; ret; }\n"
			   ".entry good() { ret; }");
	const struct gsb_ptx_func *f = func(m, "bad");

	assert_int_equal(f->unsupported, 1);
	assert_int_equal(f->insns[1].op, GSB_PTX_OP_UNSUPPORTED);
	assert_string_equal(f->insns[1].spelling,
			    "tex.1d.v4.f32.s32 {%f1, %f2, %f3, %f4}, [tex, {%r$1_1}]");
	assert_int_equal(f->insns[1].line, 7);
	assert_int_equal(func(m, "good")->unsupported, GSB_PTX_NONE);
	gsb_ptx_module_destroy(m);
}

/*
 * A guard that is not known is a part of the text: without it the branch would be one that everybody takes, and its
 * label, which has another name in print, where all scopes are one, would be missing.
 */
static void test_parse_unknown_guard_is_kept_with_its_branch(void **state)
{
	struct gsb_ptx_module *m =
		parse(HEAD ".entry k() { .new_flags q; { @!q bra end; end: @q ret; } }");
	const struct gsb_ptx_func *k = func(m, "k");

	assert_int_equal(k->insns[1].op, GSB_PTX_OP_UNSUPPORTED);
	assert_string_equal(k->insns[1].spelling, "@!q bra end");
	assert_int_equal(gsb_ptx_unknown_len(k->insns[1].spelling), strlen("@!q bra end"));
	assert_string_equal(k->insns[2].spelling, "@q ret");
	gsb_ptx_module_destroy(m);
}

/* Without its first word it may be a directive that is known. */
static void test_parse_unknown_directive_is_kept_whole(void **state)
{
	struct gsb_ptx_module *m = parse(HEAD ".visible .global .b9 a;\n"
					      ".weak .visible .entry no() { ret; }\n"
					      ".entry k() { ret; }");

	assert_int_equal(m->n_unknown, 2);
	assert_string_equal(m->unknown[0], ".visible .global .b9 a;");
	assert_string_equal(m->unknown[1], ".weak .visible .entry no() { ret; }");
	assert_int_equal(m->n_funcs, 1);
	gsb_ptx_module_destroy(m);
}

static void test_parse_debug_lines_are_skipped(void **state)
{
	struct gsb_ptx_module *m = parse(
		HEAD
		".file 1 \"a.cu\", 123, 456\n.section .debug_str { $L: .b8 1,2,0 .b32 $L }\n"
		".entry k() { .reg .b32 %r; .loc 1 4 0\n mov.u32 %r, 1;\n"
		".loc 1 5 2, function_name $L + 4, inlined_at 1 2 3\n .pragma \"nounroll\"; ret; }");
	const struct gsb_ptx_func *f = func(m, "k");

	assert_int_equal(f->n_insns, 2);
	assert_int_equal(f->n_pragmas, 1);
	assert_int_equal(f->pragmas[0].insn, 1);
	assert_string_equal(f->pragmas[0].text, "nounroll");
	gsb_ptx_module_destroy(m);
}

struct list {
	const struct gsb_ptx_func *f;
	char *out;
	size_t size;
};

static void add_name(void *ctx, uint32_t r)
{
	struct list *l = ctx;
	size_t n = strlen(l->out);

	snprintf(l->out + n, l->size - n, "%s%u ", l->f->regs[r].base, l->f->regs[r].number);
}

static void list_regs(const struct gsb_ptx_func *f, const struct gsb_ptx_insn *in,
		      void (*each)(const struct gsb_ptx_insn *, gsb_ptx_reg_fn *, void *),
		      char *out, size_t size)
{
	struct list l = {f, out, size};

	*out = '\0';
	each(in, add_name, &l);
}

static void test_def_use_of_instructions(void **state)
{
	struct gsb_ptx_module *m = parse(
		HEAD
		".func (.reg .b32 o) g(.reg .b32 i);\n"
		".entry k(.param .u64 p) { .reg .pred %p<4>; .reg .b32 %r<9>; .reg .b64 %rd<3>;\n"
		"@%p3 st.global.v2.u32 [%rd1], {%r1, %r2};\n"
		"setp.eq.and.s32 %p1|%p2, %r3, %r4, %p0;\n"
		"shfl.sync.up.b32 %r5|%p1, %r6, 1, 0, %r7;\n"
		"mov.b64 {%r1, _}, %rd1;\n"
		"call (%r8), g, (%r1);\n"
		"ret; }");
	const struct gsb_ptx_func *f = func(m, "k");
	static const char *const defs[] = {"", "%p1 %p2 ", "%r5 %p1 ", "%r1 ", "%r8 ", ""};
	static const char *const uses[] = {
		"%p3 %rd1 %r1 %r2 ", "%r3 %r4 %p0 ", "%r6 %r7 ", "%rd1 ", "%r1 ", ""};

	for (uint32_t i = 0; i < f->n_insns; i++) {
		char got[200];

		list_regs(f, &f->insns[i], gsb_ptx_insn_each_def, got, sizeof(got));
		assert_string_equal(got, defs[i]);
		list_regs(f, &f->insns[i], gsb_ptx_insn_each_use, got, sizeof(got));
		assert_string_equal(got, uses[i]);
	}
	gsb_ptx_module_destroy(m);
}

/* Functions and variables are one when their names are. */
static bool same_name(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

static bool same_var_name(const struct gsb_ptx_var *a, const struct gsb_ptx_var *b)
{
	return same_name(a ? a->name : NULL, b ? b->name : NULL);
}

static bool same_func_name(const struct gsb_ptx_func *a, const struct gsb_ptx_func *b)
{
	return same_name(a ? a->name : NULL, b ? b->name : NULL);
}

static bool same_scalar(const struct gsb_ptx_operand *a, const struct gsb_ptx_operand *b)
{
	return a->kind == b->kind && a->form == b->form && a->sreg == b->sreg &&
	       a->axis == b->axis && a->n == b->n && a->negated == b->negated && a->reg == b->reg &&
	       a->reg2 == b->reg2 && a->label == b->label && a->table == b->table &&
	       a->imm == b->imm && same_var_name(a->var, b->var) &&
	       same_func_name(a->func, b->func);
}

static bool same_operand(const struct gsb_ptx_operand *a, const struct gsb_ptx_operand *b)
{
	bool same = same_scalar(a, b);

	for (uint32_t i = 0; same && a->kind == GSB_PTX_OPERAND_VEC && i < a->n; i++)
		same = same_scalar(&a->elems[i], &b->elems[i]);
	return same;
}

static bool same_list(const struct gsb_ptx_operand *a, uint32_t n, const struct gsb_ptx_operand *b,
		      uint32_t m)
{
	bool same = n == m;

	for (uint32_t i = 0; same && i < n; i++)
		same = same_operand(&a[i], &b[i]);
	return same;
}

static bool same_call(const struct gsb_ptx_call *a, const struct gsb_ptx_call *b)
{
	if (!a || !b)
		return a == b;
	return same_operand(&a->target, &b->target) && a->table == b->table &&
	       same_list(a->rets, a->n_rets, b->rets, b->n_rets) &&
	       same_list(a->args, a->n_args, b->args, b->n_args) &&
	       same_name(a->proto ? a->proto->name : NULL, b->proto ? b->proto->name : NULL);
}

static bool same_insn(const struct gsb_ptx_insn *a, const struct gsb_ptx_insn *b)
{
	return a->op == b->op && !strcmp(a->spelling, b->spelling) && a->space == b->space &&
	       a->guard == b->guard && a->guard_negated == b->guard_negated &&
	       same_list(a->operands, a->n_operands, b->operands, b->n_operands) &&
	       same_call(a->call, b->call);
}

static bool same_reloc(const struct gsb_ptx_reloc *a, const struct gsb_ptx_reloc *b)
{
	return a->offset == b->offset && a->size == b->size && a->generic == b->generic &&
	       a->mask == b->mask && a->addend == b->addend && same_var_name(a->var, b->var) &&
	       same_func_name(a->func, b->func);
}

static bool same_init(const struct gsb_ptx_var *a, const struct gsb_ptx_var *b)
{
	bool same = !a->init == !b->init && a->n_relocs == b->n_relocs &&
		    (!a->init || !memcmp(a->init, b->init, a->size_bytes));

	for (uint32_t i = 0; same && i < a->n_relocs; i++)
		same = same_reloc(&a->relocs[i], &b->relocs[i]);
	return same;
}

static bool same_var(const struct gsb_ptx_var *a, const struct gsb_ptx_var *b)
{
	return same_name(a->name, b->name) && a->space == b->space && a->type == b->type &&
	       a->linkage == b->linkage && a->vec == b->vec && a->align == b->align &&
	       a->n_elems == b->n_elems && a->size_bytes == b->size_bytes &&
	       a->is_array == b->is_array && a->unsized == b->unsized && a->managed == b->managed &&
	       a->offset == b->offset && a->reg == b->reg && same_init(a, b);
}

static bool same_head(const struct gsb_ptx_func *a, const struct gsb_ptx_func *b)
{
	bool same = a->is_entry == b->is_entry && a->has_body == b->has_body &&
		    a->linkage == b->linkage &&
		    !memcmp(&a->tuning, &b->tuning, sizeof(a->tuning)) &&
		    a->n_params == b->n_params && a->n_rets == b->n_rets &&
		    a->param_bytes == b->param_bytes && same_func_name(a->alias_of, b->alias_of);

	for (uint32_t i = 0; same && i < a->n_params; i++)
		same = same_var(&a->params[i], &b->params[i]);
	for (uint32_t i = 0; same && i < a->n_rets; i++)
		same = same_var(&a->rets[i], &b->rets[i]);
	return same;
}

static bool same_table(const struct gsb_ptx_table *a, const struct gsb_ptx_table *b)
{
	bool same = same_name(a->name, b->name) && a->n == b->n && !a->labels == !b->labels;

	for (uint32_t i = 0; same && i < a->n; i++)
		same = a->labels ? a->labels[i] == b->labels[i]
				 : same_func_name(a->funcs[i], b->funcs[i]);
	return same;
}

static bool same_frame(const struct gsb_ptx_func *a, const struct gsb_ptx_func *b)
{
	bool same = a->n_regs == b->n_regs && a->n_vars == b->n_vars &&
		    a->n_labels == b->n_labels && a->n_tables == b->n_tables &&
		    a->n_pragmas == b->n_pragmas && a->local_bytes == b->local_bytes;

	for (uint32_t i = 0; same && i < a->n_regs; i++)
		same = a->regs[i].type == b->regs[i].type &&
		       a->regs[i].number == b->regs[i].number &&
		       same_name(a->regs[i].base, b->regs[i].base);
	for (uint32_t i = 0; same && i < a->n_labels; i++)
		same = a->labels[i].insn == b->labels[i].insn &&
		       same_name(a->labels[i].name, b->labels[i].name);
	for (uint32_t i = 0; same && i < a->n_tables; i++)
		same = same_table(&a->tables[i], &b->tables[i]);
	for (uint32_t i = 0; same && i < a->n_pragmas; i++)
		same = a->pragmas[i].insn == b->pragmas[i].insn &&
		       same_name(a->pragmas[i].text, b->pragmas[i].text);
	return same;
}

/* Everything that a reader can see of two modules is the same. */
static void assert_same(const char *path, const struct gsb_ptx_module *a,
			const struct gsb_ptx_module *b)
{
	assert_int_equal(a->n_funcs, b->n_funcs);
	assert_int_equal(a->n_vars, b->n_vars);
	for (uint32_t i = 0; i < a->n_vars; i++)
		if (!same_var(a->vars[i], b->vars[i]))
			fail_msg("%s: %s has changed", path, a->vars[i]->name);
	for (uint32_t i = 0; i < a->n_funcs; i++) {
		const struct gsb_ptx_func *f = gsb_ptx_find_func(a, a->funcs[i]->name);
		const struct gsb_ptx_func *g = gsb_ptx_find_func(b, a->funcs[i]->name);

		if (!g || !same_head(f, g) || !same_frame(f, g) || f->n_insns != g->n_insns)
			fail_msg("%s: %s has changed", path, f->name);
		for (uint32_t n = 0; n < f->n_insns; n++)
			if (!same_insn(&f->insns[n], &g->insns[n]))
				fail_msg("%s: %s: instruction %u has changed: %s", path, f->name, n,
					 f->insns[n].spelling);
	}
}

static void round_trip(const char *path, const char *text, size_t len)
{
	struct gsb_ptx_module *first = parse_len(text, len), *second, *third;
	char *once, *twice;
	size_t once_len, twice_len;

	assert_int_equal(gsb_ptx_print(first, &once, &once_len), 0);
	second = parse_len(once, once_len);
	assert_same(path, first, second);
	assert_int_equal(gsb_ptx_print(second, &twice, &twice_len), 0);
	if (strcmp(once, twice))
		fail_msg("%s: printed twice differs", path);
	third = parse_len(twice, twice_len);
	assert_same(path, second, third);
	free(once);
	free(twice);
	gsb_ptx_module_destroy(first);
	gsb_ptx_module_destroy(second);
	gsb_ptx_module_destroy(third);
}

static void test_print_of_every_sample_is_a_fixed_point(void **state)
{
	each_sample("*.ptx", round_trip);
}

/* What is kept as text names what is around it, which may have another name in print. */
static void test_print_of_what_is_not_known_is_a_fixed_point(void **state)
{
	const char *branch = HEAD ".entry k() { .new_flags q; { @!q bra end; end: ret; } }";
	const char *alone = HEAD ".new_sort 1\n.address_size 64";

	round_trip("a branch with a guard that is not known", branch, strlen(branch));
	round_trip("nothing but a directive that is not known", alone, strlen(alone));
}

/* They live as long as the module, so they are its own; two functions, and two scopes, may call theirs the same. */
static void test_parse_globals_of_functions_are_the_modules(void **state)
{
	static const char text[] =
		HEAD ".global .b32 x = 1;\n"
		     ".func f() { .reg .b64 a; .global .b32 x[2] = {2, 3}; mov.b64 a, x; ret; }\n"
		     ".entry k() { .reg .b64 a; mov.b64 a, x; .const .b32 x = 4; mov.b64 a, x;\n"
		     "{ .global .b32 x = 5; .shared .b32 y; mov.b64 a, x; } ret; }\n";
	struct gsb_ptx_module *m = parse(text);
	const struct gsb_ptx_insn *in = func(m, "k")->insns;

	assert_int_equal(m->n_vars, 4);
	assert_int_equal(func(m, "k")->n_vars, 1); /* y */
	assert_ptr_equal(func(m, "f")->insns[0].operands[1].var, m->vars[1]);
	assert_int_equal(m->vars[1]->init[4], 3);
	assert_ptr_equal(in[0].operands[1].var, m->vars[0]);
	assert_ptr_equal(in[1].operands[1].var, m->vars[2]);
	assert_int_equal(m->vars[2]->space, GSB_PTX_SPACE_CONST);
	assert_ptr_equal(in[2].operands[1].var, m->vars[3]);
	for (uint32_t i = 1; i < m->n_vars; i++) {
		assert_int_equal(m->vars[i]->index, i);
		assert_null(m->vars[i]->func);
		assert_string_not_equal(m->vars[i]->name, m->vars[i - 1]->name);
	}
	gsb_ptx_module_destroy(m);
	round_trip("variables of functions", text, strlen(text));
}

#ifdef TEST_PTXAS
/* What is printed is PTX to NVIDIA's assembler too. */
static void assemble(const char *path, const char *text, size_t len)
{
	struct gsb_ptx_module *m = parse_len(text, len);
	FILE *ptxas = popen(TEST_PTXAS " -arch=sm_90 -o /dev/null - 2>&1", "w");
	char *printed;
	size_t printed_len;

	assert_non_null(ptxas);
	assert_int_equal(gsb_ptx_print(m, &printed, &printed_len), 0);
	assert_int_equal(fwrite(printed, 1, printed_len, ptxas), printed_len);
	if (pclose(ptxas))
		fail_msg("ptxas refuses %s as it is printed", path);
	free(printed);
	gsb_ptx_module_destroy(m);
}

static void test_print_is_taken_by_the_assembler(void **state)
{
	each_sample("hand_*.ptx", assemble);
	each_sample("calls.*.ptx", assemble);
	each_sample("globals.*.ptx", assemble);
	each_sample("asm.*.ptx", assemble);
	each_sample("print.*.ptx", assemble);
	each_sample("reduce.lines.ptx", assemble);
}
#endif

static void no_unsupported(const char *path, const char *text, size_t len)
{
	struct gsb_ptx_module *m = parse_len(text, len);

	for (uint32_t i = 0; i < m->n_funcs; i++) {
		const struct gsb_ptx_func *f = m->funcs[i];

		if (f->unsupported != GSB_PTX_NONE)
			fail_msg("%s: %s: %s", path, f->name, f->insns[f->unsupported].spelling);
	}
	gsb_ptx_module_destroy(m);
}

static void test_parse_samples_of_both_compilers_have_no_unknown_opcode(void **state)
{
	each_sample("*.nvcc.ptx", no_unsupported);
	each_sample("*.clang.ptx", no_unsupported);
}

/* As the assembler takes it: %k<15> is %k0 to %k14, whatever %k is. */
static void test_parse_range_beside_a_register_or_variable_of_its_name(void **state)
{
	static const char *const decls[] = {
		".reg .b32 %k; .reg .b32 %k<15>;",
		".reg .b32 %k<15>; .reg .b32 %k;",
		".reg .b32 %k, %k<15>;",
		".reg .b32 %k<15>; { .reg .b32 %k; ",
		".reg .b32 %k; { .reg .b32 %k<15>;",
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(decls); i++) {
		const bool nested = strchr(decls[i], '{');
		char text[512];
		struct gsb_ptx_module *m;
		const struct gsb_ptx_insn *in;
		const struct gsb_ptx_reg *regs;

		snprintf(text, sizeof(text), HEAD ".entry k() { %s mov.u32 %%k, %%k3; ret; %s}",
			 decls[i], nested ? "}" : "");
		m = parse(text);
		in = func(m, "k")->insns;
		regs = func(m, "k")->regs;
		assert_int_equal(regs[in->operands[0].reg].number, GSB_PTX_NONE);
		assert_int_equal(regs[in->operands[1].reg].number, 3);
		gsb_ptx_module_destroy(m);
		round_trip("text", text, strlen(text));
	}
	gsb_ptx_module_destroy(parse(
		HEAD ".entry k() { .shared .b32 s; .reg .b32 s<3>; st.shared.u32 [s], s2; ret; }"));
}

/* Labels are no variables, ranges may overlap, and an inner scope hides what is around it. */
static void test_parse_names_that_a_range_has_where_the_assembler_takes_them(void **state)
{
	static const char *const bodies[] = {
		".reg .b32 %k<15>; .reg .b32 %k15;",
		".reg .b32 %k<15>; { .reg .b32 %k3; mov.u32 %k3, 1; }",
		".reg .b32 %k3; { .reg .b32 %k<15>; mov.u32 %k3, 1; }",
		".reg .b32 %k<15>; .reg .b32 %k1<3>;",
		".reg .b32 %k<15>; %k3: mov.u32 %k1, 1;",
		".reg .b32 %k<0>; .reg .b32 %k0;",
	};
	char text[512];

	for (size_t i = 0; i < GSB_ARRAY_LEN(bodies); i++) {
		snprintf(text, sizeof(text), HEAD ".entry k() { %s ret; }", bodies[i]);
		gsb_ptx_module_destroy(parse(text));
		round_trip("text", text, strlen(text));
	}
	gsb_ptx_module_destroy(parse(HEAD ".global .b32 k3; .entry k() { .reg .b32 k<15>; ret; }"));
}

static void test_print_query_of_a_handle_is_a_fixed_point(void **state)
{
	const char *text =
		HEAD ".entry k(.param .u64 t) {\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\n"
		     "ld.param.u64 %rd1, [t]; txq.width.b32 %r1, [%rd1];\n"
		     "txq.level.width.b32 %r2, [%rd1], %r1; suq.height.b32 %r3, [%rd1]; }";
	struct gsb_ptx_module *m = parse(text);

	assert_int_equal(func(m, "k")->unsupported, GSB_PTX_NONE);
	assert_int_equal(func(m, "k")->insns[1].operands[1].kind, GSB_PTX_OPERAND_ADDR);
	gsb_ptx_module_destroy(m);
	round_trip("text", text, strlen(text));
}

static void test_print_special_things_is_a_fixed_point(void **state)
{
	const char *text = HEAD
		".pragma \"one\";\n.weak .func f();\n.func g() { ret; }\n.alias f, g;\n"
		".global .u64 z;\n.global .u64 x[3] = {g, generic(z)+-8, 0x8000000000000000};\n"
		".global .b8 y[4] = {0xFF(x)};\n"
		".entry k(.param .align 16 .b8 s[20]) .reqntid 32 {\n"
		".reg .b32 a, %r<4>; .reg .pred a_p; { .shared .b32 q; }\n"
		"{ .reg .b32 a, %r<2>; .shared .b64 q; mov.u32 a, 1; wmma.thing.sync a, %r1, q; }\n"
		"mov.u32 %r3, %envreg3; @a_p bra out; .pragma \"nounroll\"; out: }";
	struct gsb_ptx_module *m = parse(text);

	/* the text that is not understood names what its scope declared */
	assert_string_equal(func(m, "k")->insns[1].spelling, "wmma.thing.sync a$1, %r$1_1, q$2");
	gsb_ptx_module_destroy(m);
	round_trip("text", text, strlen(text));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parse_module_head),
		cmocka_unit_test(test_source_line_is_that_of_the_last_loc_before),
		cmocka_unit_test(test_parse_params_are_laid_out_as_c_does),
		cmocka_unit_test(test_parse_tuning_directives),
		cmocka_unit_test(test_parse_initialisers_become_bytes_and_relocations),
		cmocka_unit_test(test_parse_constant_expressions_follow_c),
		cmocka_unit_test(test_parse_linkage_and_redeclaration),
		cmocka_unit_test(test_parse_alias_leads_to_the_body),
		cmocka_unit_test(test_parse_operands_of_every_kind),
		cmocka_unit_test(test_parse_immediates_take_the_type_of_the_operand),
		cmocka_unit_test(test_parse_nested_scopes_are_flat_and_hidden_names_distinct),
		cmocka_unit_test(test_parse_globals_of_functions_are_the_modules),
		cmocka_unit_test(test_parse_labels_forward_backward_and_out_of_a_scope),
		cmocka_unit_test(test_parse_label_of_the_nearest_scope_wins_though_it_comes_later),
		cmocka_unit_test(test_parse_call_param_locals_share_space_between_sequences),
		cmocka_unit_test(test_parse_local_variables_have_a_frame),
		cmocka_unit_test(test_parse_branch_and_call_tables),
		cmocka_unit_test(test_parse_unknown_opcode_is_kept_and_the_rest_works),
		cmocka_unit_test(test_parse_unknown_guard_is_kept_with_its_branch),
		cmocka_unit_test(test_parse_unknown_directive_is_kept_whole),
		cmocka_unit_test(test_parse_debug_lines_are_skipped),
		cmocka_unit_test(test_def_use_of_instructions),
		cmocka_unit_test(test_print_of_every_sample_is_a_fixed_point),
		cmocka_unit_test(test_print_of_what_is_not_known_is_a_fixed_point),
		cmocka_unit_test(test_parse_samples_of_both_compilers_have_no_unknown_opcode),
#ifdef TEST_PTXAS
		cmocka_unit_test(test_print_is_taken_by_the_assembler),
#endif
		cmocka_unit_test(test_parse_range_beside_a_register_or_variable_of_its_name),
		cmocka_unit_test(test_parse_names_that_a_range_has_where_the_assembler_takes_them),
		cmocka_unit_test(test_print_query_of_a_handle_is_a_fixed_point),
		cmocka_unit_test(test_print_special_things_is_a_fixed_point),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
