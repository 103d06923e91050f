/*
 * debug.c - lines of the source: .loc and .file are kept, .section is skipped.
 */
#include "ptx/parse.h"

/* The last of several in one place counts. */
static void keep_loc(struct gsb_ptx_parser *p, uint64_t file, uint64_t line)
{
	struct gsb_ptx_body *b = &p->body;
	struct gsb_ptx_loc *locs = b->locs.items, *loc;

	if (p->err || !b->depth || file > UINT32_MAX || line > UINT32_MAX)
		return;
	if (b->locs.n && locs[b->locs.n - 1].insn == b->insns.n)
		loc = &locs[b->locs.n - 1];
	else
		loc = gsb_ptx_push(p, &b->locs, sizeof(*loc), "places", GSB_PTX_MAX_INSNS + 1);
	if (loc)
		*loc = (struct gsb_ptx_loc){b->insns.n, (uint32_t)file, (uint32_t)line};
}

/* ".loc" file line column ("," word (word | "+" | number)*)* */
static void parse_loc(struct gsb_ptx_parser *p)
{
	uint64_t file = gsb_ptx_parse_uint(p, "a .loc number", 0, UINT64_MAX);
	uint64_t line = gsb_ptx_parse_uint(p, "a .loc number", 0, UINT64_MAX);

	gsb_ptx_parse_uint(p, "a .loc number", 0, UINT64_MAX); /* the column */
	keep_loc(p, file, line);
	while (gsb_ptx_accept(p, ",")) {
		struct gsb_ptx_token what;

		if (!gsb_ptx_expect_word(p, "function_name or inlined_at", &what))
			return;
		if (p->tok.kind == GSB_PTX_TOKEN_WORD)
			gsb_ptx_advance(p);
		while (p->tok.kind == GSB_PTX_TOKEN_NUMBER || gsb_ptx_is(p, "+"))
			gsb_ptx_advance(p);
	}
}

/* ".file" number string ("," number)* */
static void parse_file(struct gsb_ptx_parser *p)
{
	uint64_t number = gsb_ptx_parse_uint(p, "a file number", 0, UINT64_MAX);
	struct gsb_ptx_file *file;
	const char *name;

	if (!gsb_ptx_expect_string(p, &name))
		return;
	while (gsb_ptx_accept(p, ","))
		gsb_ptx_parse_uint(p, "a file attribute", 0, UINT64_MAX);
	if (number > UINT32_MAX)
		return;
	file = gsb_ptx_push(p, &p->files, sizeof(*file), "files", GSB_PTX_MAX_SYMBOLS);
	if (file)
		*file = (struct gsb_ptx_file){(uint32_t)number, name};
}

/* ".section" name "{" anything "}" */
static void skip_section(struct gsb_ptx_parser *p)
{
	uint32_t depth = 0;

	gsb_ptx_advance(p); /* the name: a directive or a word */
	if (!gsb_ptx_is(p, "{")) {
		gsb_ptx_expect(p, "{");
		return;
	}
	do {
		depth += gsb_ptx_is(p, "{");
		depth -= gsb_ptx_is(p, "}");
		gsb_ptx_advance(p);
	} while (depth > 0 && !gsb_ptx_at_end(p));
	if (depth > 0)
		gsb_ptx_fail(p, &p->tok, "the section has no closing '}'");
}

bool gsb_ptx_parse_debug(struct gsb_ptx_parser *p)
{
	if (gsb_ptx_accept(p, ".loc"))
		parse_loc(p);
	else if (gsb_ptx_accept(p, ".file"))
		parse_file(p);
	else if (gsb_ptx_accept(p, ".section"))
		skip_section(p);
	else
		return false;
	return true;
}
