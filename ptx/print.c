/*
 * print.c - see print.h. Written with a memory stream: what may fail is looked at once, at the end.
 */
#include "ptx/print.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_PER_LINE 24 /* of an initialiser, roughly */

static const char *const linkage_words[] = {
	[GSB_PTX_LINK_LOCAL] = "",	    [GSB_PTX_LINK_VISIBLE] = ".visible ",
	[GSB_PTX_LINK_EXTERN] = ".extern ", [GSB_PTX_LINK_WEAK] = ".weak ",
	[GSB_PTX_LINK_COMMON] = ".common ",
};

void gsb_ptx_print_reg_name(const struct gsb_ptx_reg *reg, FILE *f)
{
	fputs(reg->base, f);
	if (reg->number != GSB_PTX_NONE)
		fprintf(f, "%u", reg->number);
}

static void print_reg(FILE *f, const struct gsb_ptx_func *fn, uint32_t reg)
{
	if (reg == GSB_PTX_NONE)
		fputc('_', f);
	else
		gsb_ptx_print_reg_name(&fn->regs[reg], f);
}

/* Floats by their bits: a decimal fraction would not come back the same. */
static void print_imm(FILE *f, uint8_t form, int64_t imm)
{
	switch (form) {
	case GSB_PTX_IMM_F32: fprintf(f, "0f%08" PRIX32, (uint32_t)imm); break;
	case GSB_PTX_IMM_F64: fprintf(f, "0d%016" PRIX64, (uint64_t)imm); break;
	default:
		if (imm == INT64_MIN) /* has no positive to put a minus before */
			fputs("0x8000000000000000", f);
		else
			fprintf(f, "%" PRId64, imm);
	}
}

/* "+-8" is how nvcc writes it, and what every reader takes. */
static void print_offset(FILE *f, int64_t offset)
{
	if (!offset)
		return;
	fputc('+', f);
	print_imm(f, GSB_PTX_IMM_INT, offset);
}

static void print_sreg(FILE *f, const struct gsb_ptx_operand *o)
{
	fputs(gsb_ptx_sreg_name(o->sreg), f);
	switch (gsb_ptx_sreg_kind(o->sreg)) {
	case GSB_PTX_SREG_AXES: fprintf(f, ".%c", "xyzw"[o->axis]); break;
	case GSB_PTX_SREG_NUMBERED: fprintf(f, "%u", o->axis); break;
	default: break;
	}
}

static void print_address(FILE *f, const struct gsb_ptx_func *fn, const struct gsb_ptx_operand *o)
{
	fputc('[', f);
	if (o->var)
		fputs(o->var->name, f);
	else if (o->reg != GSB_PTX_NONE)
		print_reg(f, fn, o->reg);
	else
		print_imm(f, GSB_PTX_IMM_INT, o->imm);
	if (o->var || o->reg != GSB_PTX_NONE)
		print_offset(f, o->imm);
	fputc(']', f);
}

static void print_scalar(FILE *f, const struct gsb_ptx_func *fn, const struct gsb_ptx_operand *o)
{
	if (o->negated)
		fputc(o->negated, f);
	switch (o->kind) {
	case GSB_PTX_OPERAND_REG:
		print_reg(f, fn, o->reg);
		if (o->part)
			fprintf(f, ".%c%0*x", o->part, o->n_parts, o->parts);
		break;
	case GSB_PTX_OPERAND_PAIR:
		print_reg(f, fn, o->reg);
		fputc('|', f);
		print_reg(f, fn, o->reg2);
		break;
	case GSB_PTX_OPERAND_IMM: print_imm(f, o->form, o->imm); break;
	case GSB_PTX_OPERAND_SREG: print_sreg(f, o); break;
	case GSB_PTX_OPERAND_VAR:
		fputs(o->var->name, f);
		print_offset(f, o->imm);
		break;
	case GSB_PTX_OPERAND_FUNC: fputs(o->func->name, f); break;
	case GSB_PTX_OPERAND_ADDR: print_address(f, fn, o); break;
	case GSB_PTX_OPERAND_LABEL: fputs(fn->labels[o->label].name, f); break;
	case GSB_PTX_OPERAND_TABLE: fputs(fn->tables[o->table].name, f); break;
	default: fputc('_', f);
	}
}

static void print_elems(FILE *f, const struct gsb_ptx_func *fn, const struct gsb_ptx_operand *o)
{
	for (int i = 0; i < o->n; i++) {
		fputs(i ? ", " : "{", f);
		print_scalar(f, fn, &o->elems[i]);
	}
	fputc('}', f);
}

static void print_operand(FILE *f, const struct gsb_ptx_func *fn, const struct gsb_ptx_operand *o)
{
	if (o->kind == GSB_PTX_OPERAND_VEC) {
		print_elems(f, fn, o);
	} else if (o->kind == GSB_PTX_OPERAND_ADDR && o->n) {
		fputc('[', f);
		if (o->var)
			fputs(o->var->name, f);
		else
			print_reg(f, fn, o->reg);
		fputs(", ", f);
		print_elems(f, fn, o);
		fputc(']', f);
	} else {
		print_scalar(f, fn, o);
	}
}

static void print_call_list(FILE *f, const struct gsb_ptx_func *fn,
			    const struct gsb_ptx_operand *list, uint32_t n)
{
	fputc('(', f);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", f);
		print_scalar(f, fn, &list[i]);
	}
	fputc(')', f);
}

/* The empty lists of a call without results or arguments are left out, as compilers do. */
static void print_call(FILE *f, const struct gsb_ptx_func *fn, const struct gsb_ptx_call *call)
{
	fputc(' ', f);
	if (call->n_rets) {
		print_call_list(f, fn, call->rets, call->n_rets);
		fputs(", ", f);
	}
	print_scalar(f, fn, &call->target);
	if (call->n_args) {
		fputs(", ", f);
		print_call_list(f, fn, call->args, call->n_args);
	}
	if (call->proto)
		fprintf(f, ", %s", call->proto->name);
	else if (call->table != GSB_PTX_NONE)
		fprintf(f, ", %s", fn->tables[call->table].name);
}

static void print_insn(FILE *f, const struct gsb_ptx_func *fn, const struct gsb_ptx_insn *in)
{
	fputc('\t', f);
	if (in->guard != GSB_PTX_NONE) {
		fputs(in->guard_negated ? "@!" : "@", f);
		print_reg(f, fn, in->guard);
		fputc(' ', f);
	}
	fputs(in->spelling, f);
	if (in->call)
		print_call(f, fn, in->call);
	for (uint32_t i = 0; i < in->n_operands; i++) {
		fputs(i ? ", " : " ", f);
		print_operand(f, fn, &in->operands[i]);
	}
	fputs(";\n", f);
}

/*
 * Type, alignment, name and sizes, as they stand in parameters and variables alike. The alignment is
 * always written, natural or not, and all dimensions are one: the layout is what counts.
 */
static void print_decl(FILE *f, const struct gsb_ptx_var *v)
{
	fprintf(f, ".%s ", gsb_ptx_space_name(v->space));
	if (v->managed)
		fputs(".attribute(.managed) ", f);
	if (v->space != GSB_PTX_SPACE_REG)
		fprintf(f, ".align %u ", v->align);
	if (v->vec > 1)
		fprintf(f, ".v%u ", v->vec);
	fprintf(f, ".%s %s", gsb_ptx_type_name(v->type), v->name);
	if (v->unsized)
		fputs("[]", f);
	else if (v->is_array)
		fprintf(f, "[%" PRIu64 "]", v->n_elems);
}

static void print_reloc(FILE *f, const struct gsb_ptx_reloc *r)
{
	if (r->mask)
		fprintf(f, "0x%" PRIX64 "(", r->mask);
	if (r->generic)
		fprintf(f, "generic(%s)", r->var ? r->var->name : r->func->name);
	else
		fputs(r->var ? r->var->name : r->func->name, f);
	print_offset(f, r->addend);
	if (r->mask)
		fputc(')', f);
}

static int64_t element(const struct gsb_ptx_var *v, uint64_t at, uint32_t bytes)
{
	uint64_t bits = 0;

	for (uint32_t i = 0; i < bytes && i < 8; i++)
		bits |= (uint64_t)v->init[at + i] << (8 * i);
	return (int64_t)bits;
}

/* Relocations are in the order of their offsets, since the initialiser was read in that order. */
static void print_init(FILE *f, const struct gsb_ptx_var *v)
{
	uint32_t bytes = gsb_ptx_type_bytes(v->type), r = 0;
	bool braces = v->is_array || v->vec > 1;
	uint8_t form = GSB_PTX_IMM_INT;

	if (v->type == GSB_PTX_TYPE_F32)
		form = GSB_PTX_IMM_F32;
	if (v->type == GSB_PTX_TYPE_F64)
		form = GSB_PTX_IMM_F64;
	fputs(braces ? " = {" : " = ", f);
	for (uint64_t at = 0; at < v->size_bytes; at += bytes) {
		if (at)
			fputs(at / bytes % BYTES_PER_LINE ? ", " : ",\n\t", f);
		if (r < v->n_relocs && v->relocs[r].offset == at)
			print_reloc(f, &v->relocs[r++]);
		else
			print_imm(f, form, element(v, at, bytes));
	}
	fputs(braces ? "}" : "", f);
}

static void print_var(FILE *f, const struct gsb_ptx_var *v, const char *indent)
{
	fprintf(f, "%s%s", indent, linkage_words[v->linkage]);
	print_decl(f, v);
	if (v->init)
		print_init(f, v);
	fputs(";\n", f);
}

static void print_params(FILE *f, const struct gsb_ptx_var *params, uint32_t n)
{
	fputc('(', f);
	for (uint32_t i = 0; i < n; i++) {
		fputs(i ? ", " : "", f);
		print_decl(f, &params[i]);
	}
	fputc(')', f);
}

static void print_axes(FILE *f, const char *word, const uint32_t axes[3])
{
	if (axes[0])
		fprintf(f, "\n.%s %u, %u, %u", word, axes[0], axes[1], axes[2]);
}

static void print_count(FILE *f, const char *word, uint32_t count)
{
	if (count)
		fprintf(f, "\n.%s %u", word, count);
}

static void print_tuning(FILE *f, const struct gsb_ptx_tuning *t)
{
	print_axes(f, "maxntid", t->maxntid);
	print_axes(f, "reqntid", t->reqntid);
	print_count(f, "minnctapersm", t->minnctapersm);
	print_count(f, "maxnreg", t->maxnreg);
	print_axes(f, "reqnctapercluster", t->reqnctapercluster);
	print_count(f, "maxclusterrank", t->maxclusterrank);
	fputs(t->explicit_cluster ? "\n.explicitcluster" : "", f);
	fputs(t->blocks_are_clusters ? "\n.blocksareclusters" : "", f);
	fputs(t->noreturn ? "\n.noreturn" : "", f);
}

static void print_head(FILE *f, const struct gsb_ptx_func *fn)
{
	fprintf(f, "%s%s ", linkage_words[fn->linkage], fn->is_entry ? ".entry" : ".func");
	if (fn->n_rets) {
		print_params(f, fn->rets, fn->n_rets);
		fputc(' ', f);
	}
	fputs(fn->name, f);
	print_params(f, fn->params, fn->n_params);
	print_tuning(f, &fn->tuning);
}

/* Registers [first, end) that were declared as one: a range from 0 up, or a single one. */
static uint32_t same_decl(const struct gsb_ptx_func *fn, uint32_t first)
{
	uint32_t end = first + 1;

	if (fn->regs[first].number == GSB_PTX_NONE)
		return end;
	while (end < fn->n_regs && fn->regs[end].base == fn->regs[first].base &&
	       fn->regs[end].number == end - first)
		end++;
	return end;
}

/* Parameters in registers come first among the registers; they are declared by the head. */
static uint32_t n_param_regs(const struct gsb_ptx_var *params, uint32_t n)
{
	uint32_t regs = 0;

	for (uint32_t i = 0; i < n; i++)
		regs += params[i].reg != GSB_PTX_NONE;
	return regs;
}

static void print_regs(FILE *f, const struct gsb_ptx_func *fn)
{
	uint32_t i, end;

	for (i = n_param_regs(fn->rets, fn->n_rets) + n_param_regs(fn->params, fn->n_params);
	     i < fn->n_regs; i = end) {
		end = same_decl(fn, i);
		fprintf(f, "\t.reg .%s %s", gsb_ptx_type_name(fn->regs[i].type), fn->regs[i].base);
		if (fn->regs[i].number != GSB_PTX_NONE)
			fprintf(f, "<%u>", end - i);
		fputs(";\n", f);
	}
}

static void print_tables(FILE *f, const struct gsb_ptx_func *fn)
{
	for (uint32_t i = 0; i < fn->n_tables; i++) {
		const struct gsb_ptx_table *t = &fn->tables[i];

		fprintf(f, "%s: %s ", t->name, t->labels ? ".branchtargets" : ".calltargets");
		for (uint32_t k = 0; k < t->n; k++)
			fprintf(f, "%s%s", k ? ", " : "",
				t->labels ? fn->labels[t->labels[k]].name : t->funcs[k]->name);
		fputs(";\n", f);
	}
	for (uint32_t i = 0; i < fn->n_protos; i++) {
		fprintf(f, "%s: .callprototype ", fn->protos[i]->name);
		print_params(f, fn->protos[i]->rets, fn->protos[i]->n_rets);
		fputs(" _ ", f);
		print_params(f, fn->protos[i]->params, fn->protos[i]->n_params);
		fputs(fn->protos[i]->noreturn ? " .noreturn;\n" : ";\n", f);
	}
}

/* Tables and prototypes come before the code: labels may be named before they stand. */
static void print_body(FILE *f, const struct gsb_ptx_func *fn)
{
	uint32_t label = 0, pragma = 0, loc = 0;

	fputs("\n{\n", f);
	print_regs(f, fn);
	for (uint32_t i = 0; i < fn->n_vars; i++)
		print_var(f, fn->vars[i], "\t");
	print_tables(f, fn);
	for (uint32_t i = 0; i < fn->n_insns; i++) {
		for (; label < fn->n_labels && fn->labels[label].insn == i; label++)
			fprintf(f, "%s:\n", fn->labels[label].name);
		for (; pragma < fn->n_pragmas && fn->pragmas[pragma].insn == i; pragma++)
			fprintf(f, "\t.pragma \"%s\";\n", fn->pragmas[pragma].text);
		for (; loc < fn->n_locs && fn->locs[loc].insn == i; loc++)
			fprintf(f, "\t.loc %u %u 0\n", fn->locs[loc].file, fn->locs[loc].line);
		print_insn(f, fn, &fn->insns[i]);
	}
	fputs("}\n", f);
}

static void print_bodies(FILE *f, const struct gsb_ptx_module *m, bool entries)
{
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		if (!m->funcs[i]->has_body || m->funcs[i]->is_entry != entries)
			continue;
		fputc('\n', f);
		print_head(f, m->funcs[i]);
		print_body(f, m->funcs[i]);
	}
}

/* Functions before entries: so the order of mention is the same when this is parsed. */
static void print_module(FILE *f, const struct gsb_ptx_module *m)
{
	fprintf(f, ".version %u.%u\n.target %s\n.address_size %u\n\n", m->version_major,
		m->version_minor, m->target, m->address_bits);
	for (uint32_t i = 0; i < m->n_pragmas; i++)
		fprintf(f, ".pragma \"%s\";\n", m->pragmas[i]);
	for (uint32_t i = 0; i < m->n_files; i++)
		fprintf(f, ".file %u \"%s\"\n", m->files[i].number, m->files[i].name);
	for (uint32_t i = 0; i < m->n_unknown; i++)
		fprintf(f, "%s\n", m->unknown[i]);
	for (uint32_t i = 0; i < m->n_funcs; i++) { /* all are declared before any is used */
		if (m->funcs[i]->is_entry && m->funcs[i]->has_body)
			continue;
		print_head(f, m->funcs[i]);
		fputs(";\n", f);
	}
	for (uint32_t i = 0; i < m->n_vars; i++)
		print_var(f, m->vars[i], "");
	print_bodies(f, m, false);
	print_bodies(f, m, true);
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		if (m->funcs[i]->alias_of)
			fprintf(f, ".alias %s, %s;\n", m->funcs[i]->name,
				m->funcs[i]->alias_of->name);
	}
}

int gsb_ptx_print(const struct gsb_ptx_module *m, char **out, size_t *len)
{
	char *text = NULL;
	size_t size = 0;
	bool failed;
	FILE *f;

	f = open_memstream(&text, &size);
	if (!f)
		return -ENOMEM;
	print_module(f, m);
	failed = ferror(f);
	failed |= fclose(f) != 0;
	if (failed) {
		free(text);
		return -ENOMEM;
	}
	*out = text;
	*len = size;
	return 0;
}
