/*
 * unknown.c - what the text has and this reader does not know: it spoils the function that uses it, not the
 * module.
 *
 * PTX grows with every release: opcodes, modifiers, types, special registers, directives. A module may have
 * one kernel for new hardware beside a hundred that run here. So what is new is kept as the text of an
 * unsupported instruction, in the body where it stands; names that it may have declared are not missed from
 * then on, but each instruction that uses one is unsupported, too. What nobody can have meant, like a register
 * that is written and not declared, remains an error.
 */
#include "ptx/parse.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/print.h"

#define MAX_LETTERS 3 /* of the registers that compilers make: %r1, %rd2, %p3 */

/* ---- its text ---- */

/* The name that a word of the text has when all scopes are one; the word itself for most. */
static void print_word(struct gsb_ptx_parser *p, FILE *f)
{
	uint32_t index;
	struct gsb_ptx_name *e =
		p->tok.kind == GSB_PTX_TOKEN_WORD
			? gsb_ptx_names_find(&p->names, p->tok.at, p->tok.len, &index)
			: NULL;
	switch (e && !p->err ? e->kind : -1) {
	case GSB_PTX_NAME_VAR: fputs(((struct gsb_ptx_var *)e->p)->name, f); break;
	case GSB_PTX_NAME_REG:
	case GSB_PTX_NAME_RANGE:
		gsb_ptx_print_reg_name((struct gsb_ptx_reg *)p->body.regs.items + index, f);
		break;
	case GSB_PTX_NAME_PROTO: fputs(((struct gsb_ptx_proto *)e->p)->name, f); break;
	case GSB_PTX_NAME_TABLE:
		fputs(((struct gsb_ptx_table *)p->body.tables.items)[e->index].name, f);
		break;
	case GSB_PTX_NAME_LABEL:
		fputs(((struct gsb_ptx_label *)p->body.labels.items)[e->index].name, f);
		break;
	default: fwrite(p->tok.at, 1, p->tok.len, f);
	}
}

const char *gsb_ptx_keep_text(struct gsb_ptx_parser *p, const char *from,
			      const struct gsb_ptx_token *last)
{
	const char *end = last->at + last->len, *kept = "";
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	if (!f) {
		gsb_ptx_fail_memory(p);
		return kept;
	}
	fwrite(from, 1, (size_t)(end - from), f);
	while (!gsb_ptx_is(p, ";") && !gsb_ptx_at_end(p)) {
		fwrite(end, 1, (size_t)(p->tok.at - end), f);
		print_word(p, f);
		end = p->tok.at + p->tok.len;
		gsb_ptx_advance(p);
	}
	if (fclose(f) == 0)
		kept = gsb_ptx_strndup(p, text, size);
	else
		gsb_ptx_fail_memory(p);
	free(text);
	return kept;
}

/* ---- what it may be ---- */

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

/* Named as registers are: letters of a range that is there, or as compilers name them. */
static bool looks_declared(const struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok)
{
	const struct gsb_ptx_name *e;
	uint32_t base = tok->len;

	while (base > 1 && is_digit(tok->at[base - 1]))
		base--;
	e = gsb_ptx_names_range(&p->names, tok->at, base);
	return e || (base < tok->len && base <= 1 + MAX_LETTERS);
}

bool gsb_ptx_may_be_unknown(const struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok)
{
	if (p->unknown_in_body || p->unknown_in_module)
		return true;
	return p->reads && *tok->at == '%' && !looks_declared(p, tok);
}

void gsb_ptx_add_unsupported(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
			     const char *text)
{
	struct gsb_ptx_insn *in =
		gsb_ptx_push(p, &p->body.insns, sizeof(*in), "instructions", GSB_PTX_MAX_INSNS);

	if (!in)
		return;
	in->op = GSB_PTX_OP_UNSUPPORTED;
	in->spelling = text;
	in->vec = 1;
	in->guard = GSB_PTX_NONE;
	in->line = tok->line;
	in->column = (uint32_t)(tok->at - tok->line_at) + 1;
}

size_t gsb_ptx_unknown_len(const char *spelling)
{
	size_t opcode = strcspn(spelling, " \t\r\n");
	struct gsb_ptx_insn in = {0};

	if (*spelling == '.' || *spelling == '@' || gsb_ptx_insn_decode(spelling, opcode, &in))
		return strlen(spelling);
	return opcode;
}

/* unknown-statement = directive anything ";" */
void gsb_ptx_parse_unknown(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_token first = p->tok;
	const char *text;

	p->unknown_in_body = true;
	gsb_ptx_advance(p);
	text = gsb_ptx_keep_text(p, first.at, &first);
	gsb_ptx_expect(p, ";");
	gsb_ptx_add_unsupported(p, &first, text);
}

/*
 * unknown-item = directive anything, to a ";", the end of a block, a directive that begins a line, or the end of the last
 * line. Its text is from there.
 */
void gsb_ptx_skip_unknown(struct gsb_ptx_parser *p, const char *from)
{
	const char *to = from, **slot;
	uint32_t depth = 0, line = p->tok.line, last;
	bool ends;

	p->unknown_in_module = true;
	do {
		bool closes = gsb_ptx_is(p, "}");

		if (closes && !depth) {
			gsb_ptx_fail(p, &p->tok, "'}' closes nothing");
			return;
		}
		depth += gsb_ptx_is(p, "{");
		depth -= closes;
		ends = !depth && (closes || gsb_ptx_is(p, ";"));
		to = p->tok.at + p->tok.len;
		last = p->tok.line;
		gsb_ptx_advance(p);
	} while (!ends && !gsb_ptx_at_end(p) &&
		 (depth || p->tok.kind != GSB_PTX_TOKEN_DOT || p->tok.line == line));
	if (depth)
		gsb_ptx_fail(p, &p->tok, "a '{' has no closing '}'");
	else if (!ends && gsb_ptx_at_end(p) &&
		 p->tok.line == last) /* a text that was cut short looks so */
		gsb_ptx_fail(p, &p->tok, "the text ends in a directive that is not known");
	slot = gsb_ptx_push(p, &p->unknown, sizeof(*slot), "unknown directives",
			    GSB_PTX_MAX_SYMBOLS);
	if (slot)
		*slot = gsb_ptx_strndup(p, from, (size_t)(to - from));
}

/* unknown-tuning = directive anything, to the next directive, the body or ";". What begins a declaration is none. */
bool gsb_ptx_skip_unknown_tuning(struct gsb_ptx_parser *p)
{
	if (p->tok.kind != GSB_PTX_TOKEN_DOT || !gsb_ptx_declares_unknown(p))
		return false;
	p->unknown_tuning = p->tok;
	do {
		gsb_ptx_advance(p);
	} while (p->tok.kind != GSB_PTX_TOKEN_DOT && !gsb_ptx_is(p, "{") && !gsb_ptx_is(p, ";") &&
		 !gsb_ptx_at_end(p));
	return true;
}
