/*
 * module.c - the outer grammar: directives of the module, functions and their headers.
 */
#include "ptx/parse.h"

#include <string.h>

#define MAX_TUNING UINT32_MAX

/* version = ".version" major "." minor, which the lexer takes for a fraction. Of linked modules the newest counts. */
static void parse_version(struct gsb_ptx_parser *p)
{
	const char *c = p->tok.at, *end = c + p->tok.len;
	uint32_t part[2] = {0};
	int i = 0;

	for (; c < end && i < 2 && part[i] < 1000; c++) {
		if (*c == '.')
			i++;
		else if (*c >= '0' && *c <= '9')
			part[i] = part[i] * 10 + (uint32_t)(*c - '0');
		else
			break;
	}
	if (p->tok.kind != GSB_PTX_TOKEN_NUMBER || i != 1 || c != end)
		gsb_ptx_fail(p, &p->tok, "expected a version as in 7.0");
	if (part[0] > p->m->version_major ||
	    (part[0] == p->m->version_major && part[1] > p->m->version_minor)) {
		p->m->version_major = part[0];
		p->m->version_minor = part[1];
	}
	gsb_ptx_advance(p);
}

/* target = ".target" word ("," word)*. Of linked modules the one that asks for most counts. */
static void parse_target(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_token first, tok;
	uint32_t sm = 0;

	if (!gsb_ptx_expect_word(p, "a target as in sm_75", &first))
		return;
	tok = first;
	while (gsb_ptx_accept(p, ",")) {
		if (!gsb_ptx_expect_word(p, "a target option", &tok))
			return;
	}
	if (first.len < 4 || memcmp(first.at, "sm_", 3)) {
		gsb_ptx_fail(p, &first, "expected a target as in sm_75");
		return;
	}
	for (uint32_t i = 3;
	     i < first.len && first.at[i] >= '0' && first.at[i] <= '9' && sm < 10000; i++)
		sm = sm * 10 + (uint32_t)(first.at[i] - '0');
	p->unit_sm = sm;
	if (p->m->target && sm <= p->m->target_sm)
		return;
	p->m->target_sm = sm;
	p->m->target = gsb_ptx_strndup(p, first.at, (size_t)(tok.at + tok.len - first.at));
}

static void parse_address_size(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_token at = p->tok;
	uint64_t bits = gsb_ptx_parse_uint(p, ".address_size", 32, 64);

	if (bits != 32 && bits != 64)
		gsb_ptx_fail(p, &at, ".address_size must be 32 or 64");
	if (p->unit_line && bits != p->m->address_bits)
		gsb_ptx_fail(p, &at, "modules of 32 and of 64 bits cannot be linked");
	p->m->address_bits = (uint32_t)bits;
}

/* pragma = ".pragma" string ("," string)* ";" */
static void parse_pragma(struct gsb_ptx_parser *p)
{
	const char **slot;

	do {
		slot = gsb_ptx_push(p, &p->pragmas, sizeof(*slot), "pragmas", GSB_PTX_MAX_SYMBOLS);
		if (!slot || !gsb_ptx_expect_string(p, slot))
			return;
	} while (gsb_ptx_accept(p, ","));
	gsb_ptx_expect(p, ";");
}

static struct gsb_ptx_func *find_func(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok)
{
	struct gsb_ptx_name *e = gsb_ptx_names_get(&p->names, tok->at, tok->len);

	return e && e->kind == GSB_PTX_NAME_FUNC ? e->p : NULL;
}

/* alias = ".alias" name "," name ";" */
static void parse_alias(struct gsb_ptx_parser *p)
{
	struct gsb_ptx_token name, target;
	struct gsb_ptx_func *f, *to;

	if (!gsb_ptx_expect_word(p, "a function", &name))
		return;
	gsb_ptx_expect(p, ",");
	if (!gsb_ptx_expect_word(p, "a function", &target))
		return;
	gsb_ptx_expect(p, ";");
	f = find_func(p, &name);
	to = find_func(p, &target);
	if (!f || f->has_body)
		gsb_ptx_fail(p, &name, "'%.*s' is not a function that is only declared",
			     GSB_PTX_TOKEN_ARGS(&name));
	else if (!to || !to->has_body)
		gsb_ptx_fail(p, &target, "'%.*s' is not a function with a body",
			     GSB_PTX_TOKEN_ARGS(&target));
	else
		f->alias_of = to;
}

/* axes = number ("," number ("," number)?)?; those not given are 1 */
static void parse_axes(struct gsb_ptx_parser *p, const char *what, uint32_t axes[3])
{
	int i = 0;

	axes[1] = axes[2] = 1;
	do {
		axes[i++] = (uint32_t)gsb_ptx_parse_uint(p, what, 1, MAX_TUNING);
	} while (i < 3 && gsb_ptx_accept(p, ","));
}

static void parse_count(struct gsb_ptx_parser *p, const char *what, uint32_t *out)
{
	*out = (uint32_t)gsb_ptx_parse_uint(p, what, 0, MAX_TUNING);
}

/* One performance directive; false when the token is none. */
static bool parse_tuning(struct gsb_ptx_parser *p, struct gsb_ptx_tuning *t)
{
	uint32_t ignored;

	if (gsb_ptx_accept(p, ".maxntid"))
		parse_axes(p, ".maxntid", t->maxntid);
	else if (gsb_ptx_accept(p, ".reqntid"))
		parse_axes(p, ".reqntid", t->reqntid);
	else if (gsb_ptx_accept(p, ".reqnctapercluster"))
		parse_axes(p, ".reqnctapercluster", t->reqnctapercluster);
	else if (gsb_ptx_accept(p, ".minnctapersm"))
		parse_count(p, ".minnctapersm", &t->minnctapersm);
	else if (gsb_ptx_accept(p, ".maxnctapersm"))
		parse_count(p, ".maxnctapersm", &t->minnctapersm);
	else if (gsb_ptx_accept(p, ".maxnreg"))
		parse_count(p, ".maxnreg", &t->maxnreg);
	else if (gsb_ptx_accept(p, ".maxclusterrank"))
		parse_count(p, ".maxclusterrank", &t->maxclusterrank);
	else if (gsb_ptx_accept(p, ".abi_preserve") || gsb_ptx_accept(p, ".abi_preserve_control"))
		parse_count(p, ".abi_preserve", &ignored);
	else if (gsb_ptx_accept(p, ".explicitcluster"))
		t->explicit_cluster = true;
	else if (gsb_ptx_accept(p, ".blocksareclusters"))
		t->blocks_are_clusters = true;
	else if (gsb_ptx_accept(p, ".noreturn"))
		t->noreturn = true;
	else if (gsb_ptx_accept(p, ".pragma"))
		parse_pragma(p);
	else
		return false;
	return true;
}

static void skip_attribute(struct gsb_ptx_parser *p)
{
	if (!gsb_ptx_accept(p, ".attribute"))
		return;
	gsb_ptx_expect(p, "(");
	while (!gsb_ptx_is(p, ")") && !gsb_ptx_at_end(p))
		gsb_ptx_advance(p);
	gsb_ptx_expect(p, ")");
}

/* A new function, or the one of this name that was declared before. */
static struct gsb_ptx_func *enter_func(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
				       bool is_entry)
{
	struct gsb_ptx_func *f = find_func(p, tok), **slot;
	struct gsb_ptx_name *e;

	if (f && f->is_entry == is_entry)
		return f;
	f = gsb_ptx_alloc(p, 1, sizeof(*f));
	e = gsb_ptx_declare(p, tok, GSB_PTX_NAME_FUNC);
	slot = gsb_ptx_push(p, &p->funcs, sizeof(f), "functions", GSB_PTX_MAX_FUNCS);
	if (!f || !e || !slot)
		return NULL;
	f->index = p->funcs.n - 1;
	f->name = e->text;
	f->is_entry = is_entry;
	f->unsupported = GSB_PTX_NONE;
	f->line = tok->line;
	e->p = f;
	*slot = f;
	return f;
}

/* A later declaration may only say more; that of a body counts. */
static void set_linkage(struct gsb_ptx_func *f, uint8_t linkage)
{
	if (f->linkage == GSB_PTX_LINK_LOCAL || linkage != GSB_PTX_LINK_LOCAL)
		f->linkage = linkage;
}

/*
 * The parameters of the definition replace those of a declaration: their names are the ones that the
 * body uses. A declaration after the definition says nothing new.
 *
 * func = (".entry" | ".func" params?) name params? tuning* (body | ";")
 */
static void parse_func(struct gsb_ptx_parser *p, uint8_t linkage, bool is_entry)
{
	struct gsb_ptx_var *rets = NULL, *params = NULL;
	uint32_t n_rets = 0, n_params = 0;
	uint64_t bytes = 0;
	struct gsb_ptx_token name;
	struct gsb_ptx_func *f, *second;
	struct gsb_ptx_tuning tuning = {0};

	p->param_toks.n = 0;
	skip_attribute(p);
	if (!is_entry && gsb_ptx_is(p, "("))
		gsb_ptx_parse_params(p, NULL, &rets, &n_rets, &bytes);
	if (!gsb_ptx_expect_word(p, "a function's name", &name))
		return;
	f = enter_func(p, &name, is_entry);
	if (!f)
		return;
	bytes = 0;
	if (gsb_ptx_is(p, "("))
		gsb_ptx_parse_params(p, f, &params, &n_params, &bytes);
	if (!f->has_body)
		tuning = f->tuning;
	p->unknown_tuning.kind = GSB_PTX_TOKEN_END;
	while (parse_tuning(p, &tuning) || gsb_ptx_skip_unknown_tuning(p))
		;
	second = f->has_body && !gsb_ptx_is(p, ";") ? gsb_ptx_second_func(p, f, linkage) : NULL;
	if (second)
		f = second;
	if (f->has_body) {
		if (!gsb_ptx_accept(p, ";"))
			gsb_ptx_fail(p, &name, "'%.*s' already has a body in line %u",
				     GSB_PTX_TOKEN_ARGS(&name), f->line);
		return;
	}
	set_linkage(f, linkage);
	f->tuning = tuning;
	for (uint32_t i = 0; i < n_rets && !p->err; i++)
		rets[i].func = f;
	for (uint32_t i = 0; i < n_params && !p->err; i++)
		params[i].func = f;
	f->rets = rets;
	f->n_rets = n_rets;
	f->params = params;
	f->n_params = n_params;
	f->param_bytes = bytes;
	f->line = name.line;
	if (!gsb_ptx_accept(p, ";"))
		gsb_ptx_parse_body(p, f, rets, params);
}

static uint8_t parse_linkage(struct gsb_ptx_parser *p)
{
	if (gsb_ptx_accept(p, ".visible"))
		return GSB_PTX_LINK_VISIBLE;
	if (gsb_ptx_accept(p, ".extern"))
		return GSB_PTX_LINK_EXTERN;
	if (gsb_ptx_accept(p, ".weak"))
		return GSB_PTX_LINK_WEAK;
	if (gsb_ptx_accept(p, ".common"))
		return GSB_PTX_LINK_COMMON;
	return GSB_PTX_LINK_LOCAL;
}

/* item = directive | linkage? (func | module-vars) */
static void parse_item(struct gsb_ptx_parser *p)
{
	const char *from = p->tok.at;
	uint8_t linkage;

	if (gsb_ptx_parse_debug(p))
		return;
	if (gsb_ptx_is(p, ".version")) {
		gsb_ptx_begin_unit(p);
		gsb_ptx_advance(p);
		parse_version(p);
	} else if (gsb_ptx_accept(p, ".target")) {
		parse_target(p);
	} else if (gsb_ptx_accept(p, ".address_size")) {
		parse_address_size(p);
	} else if (gsb_ptx_accept(p, ".pragma")) {
		parse_pragma(p);
	} else if (gsb_ptx_accept(p, ".alias")) {
		parse_alias(p);
	} else {
		linkage = parse_linkage(p);
		if (gsb_ptx_accept(p, ".entry"))
			parse_func(p, linkage, true);
		else if (gsb_ptx_accept(p, ".func"))
			parse_func(p, linkage, false);
		else if (p->tok.kind == GSB_PTX_TOKEN_DOT && gsb_ptx_declares_unknown(p))
			gsb_ptx_skip_unknown(p, from);
		else if (p->tok.kind == GSB_PTX_TOKEN_DOT)
			gsb_ptx_parse_module_vars(p, linkage);
		else
			gsb_ptx_fail(p, &p->tok,
				     "expected a directive, a variable or a function, found '%.*s'",
				     GSB_PTX_TOKEN_ARGS(&p->tok));
	}
}

/* module = ".version" n item*, and any number of modules behind it (units.c) */
void gsb_ptx_parse_module(struct gsb_ptx_parser *p)
{
	p->m->address_bits = 64;
	gsb_ptx_expect(p, ".version");
	parse_version(p);
	while (!gsb_ptx_at_end(p))
		parse_item(p);
	if (!p->err && !p->m->target)
		gsb_ptx_fail(p, &p->tok, "the module has no .target");
}
