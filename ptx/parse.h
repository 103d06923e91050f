/*
 * parse.h - the state of one parse, and what its files share: private to ptx/.
 *
 * Errors are sticky: the first one is kept, and from then on every token is END, so that each loop of
 * the grammar ends and no rule needs to look at a result. A rule may return NULL or nonsense after
 * that; gsb_ptx_parse() throws the module away.
 */
#ifndef GSB_PTX_PARSE_H
#define GSB_PTX_PARSE_H

#include "base/compiler.h"
#include "ptx/lex.h"
#include "ptx/names.h"
#include "ptx/ops.h"

/* A growing array on the heap, copied into the arena when its length is known. */
struct gsb_ptx_vec {
	void *items;
	uint32_t n, cap;
};

/* A mention of a label, to be resolved when the scope that may declare it is left. */
struct gsb_ptx_label_ref {
	uint32_t *slot;
	struct gsb_ptx_token tok;
};

/* What exists only while a body is read. */
struct gsb_ptx_body {
	struct gsb_ptx_func *func;
	struct gsb_ptx_names spelled; /* every name given out in this function, all scopes */
	uint32_t depth;		      /* of { } inside the body */
	uint64_t call_param_at;	      /* end of the .param locals that are in scope */
	struct gsb_ptx_vec insns, regs, vars, labels, tables, protos, pragmas, locs, refs;
};

struct gsb_ptx_parser {
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token tok, next;
	const char *text;
	struct gsb_ptx_module *m;
	struct gsb_arena *arena; /* of the module */
	struct gsb_ptx_names names;
	struct gsb_ptx_vec funcs, vars, pragmas, files, unknown;
	struct gsb_ptx_vec param_toks; /* names of the parameters read last, as tokens */
	struct gsb_ptx_vec hidden;     /* names that belong to the modules before this one alone */
	uint32_t n_renamed;	       /* of those, what got another name so far */
	uint32_t unit_line;	       /* where the module that is read began; 0: it is the first */
	uint32_t unit_sm;	       /* what it says it is for: 75 */
	struct gsb_ptx_body body;
	uint32_t scope_mark; /* names.n where the innermost scope began */
	uint32_t nesting;    /* of expressions and initialisers */
	bool reads;	     /* the operand at hand is a source that may be a special register */
	bool meets_unknown;  /* the instruction at hand names something unknown */
	/* Something unknown may have declared names. */
	bool unknown_in_body, unknown_in_module;
	struct gsb_ptx_token unknown_tuning; /* of the function at hand; no kind: none */
	uint32_t n_symbols;		     /* declared so far, GSB_PTX_MAX_SYMBOLS at most */
	int err;			     /* 0, or the first -errno */
	struct gsb_ptx_error *report;
};

/* Errors: at a token, or over a limit. Both keep only the first. */
void gsb_ptx_fail(struct gsb_ptx_parser *p, const struct gsb_ptx_token *at, const char *fmt, ...)
	GSB_PRINTF(3, 4);
void gsb_ptx_fail_limit(struct gsb_ptx_parser *p, const char *what, uint64_t limit);
void gsb_ptx_fail_memory(struct gsb_ptx_parser *p);

/* For "%.*s" of a token's text, cut to what is fit for a message. */
#define GSB_PTX_TOKEN_ARGS(t) ((t)->len < 64 ? (int)(t)->len : 64), (t)->at

/* Tokens. */
void gsb_ptx_advance(struct gsb_ptx_parser *p);
bool gsb_ptx_is(const struct gsb_ptx_parser *p, const char *text);
bool gsb_ptx_next_is(const struct gsb_ptx_parser *p, const char *text);
bool gsb_ptx_accept(struct gsb_ptx_parser *p, const char *text);
void gsb_ptx_expect(struct gsb_ptx_parser *p, const char *text);
/* A name; *tok is it. false and an error when the token is something else: "expected <what>". */
bool gsb_ptx_expect_word(struct gsb_ptx_parser *p, const char *what, struct gsb_ptx_token *tok);
bool gsb_ptx_expect_string(struct gsb_ptx_parser *p, const char **text);
bool gsb_ptx_at_end(const struct gsb_ptx_parser *p);

/* Memory: NULL (or false) after an error, which these make. */
void *gsb_ptx_alloc(struct gsb_ptx_parser *p, size_t n, size_t size);
char *gsb_ptx_strndup(struct gsb_ptx_parser *p, const char *s, size_t len);
/* Room for one more item, zeroed; what and max name the limit. */
void *gsb_ptx_push(struct gsb_ptx_parser *p, struct gsb_ptx_vec *v, size_t size, const char *what,
		   uint32_t max);
void *gsb_ptx_vec_copy(struct gsb_ptx_parser *p, const struct gsb_ptx_vec *v, size_t size);
void gsb_ptx_vec_finish(struct gsb_ptx_vec *v);

/* Declares a name in the innermost scope; an error when it is taken there. */
struct gsb_ptx_name *gsb_ptx_declare(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
				     enum gsb_ptx_name_kind kind);

/* consts.c: constant expressions. */
struct gsb_ptx_const {
	uint8_t form; /* enum gsb_ptx_imm_form */
	bool is_unsigned;
	int64_t i; /* INT; F32 and F64: the bits */
};
void gsb_ptx_parse_const(struct gsb_ptx_parser *p, struct gsb_ptx_const *out);
/* An integer in [lo, hi]; lo after an error. */
uint64_t gsb_ptx_parse_uint(struct gsb_ptx_parser *p, const char *what, uint64_t lo, uint64_t hi);
/* To the bits that a value of this type has; false when a float cannot be one. */
bool gsb_ptx_const_to_type(const struct gsb_ptx_const *c, enum gsb_ptx_type type, uint8_t *form,
			   int64_t *bits);

/* vars.c: declarations of variables and parameters. */
struct gsb_ptx_decl { /* what stands before the names */
	uint8_t space, type, linkage, vec;
	uint32_t align; /* 0: natural */
	bool managed;
};
void gsb_ptx_parse_decl(struct gsb_ptx_parser *p, struct gsb_ptx_decl *d);
/* A directive that no declaration begins with, or one that has a type or qualifier which is not known. */
bool gsb_ptx_declares_unknown(struct gsb_ptx_parser *p);
void gsb_ptx_parse_module_vars(struct gsb_ptx_parser *p, uint8_t linkage);
void gsb_ptx_parse_local_vars(struct gsb_ptx_parser *p);
/* "(" parameters ")": lays them out from offset 0. Names are not declared: that needs a body. */
void gsb_ptx_parse_params(struct gsb_ptx_parser *p, const struct gsb_ptx_func *owner,
			  struct gsb_ptx_var **params, uint32_t *n, uint64_t *bytes);

/* body.c: the statements of a function, from { to }. */
void gsb_ptx_parse_body(struct gsb_ptx_parser *p, struct gsb_ptx_func *f, struct gsb_ptx_var *rets,
			struct gsb_ptx_var *params);
void gsb_ptx_body_finish(struct gsb_ptx_body *b);
/* scope.c: names of a function's scopes. */
/*
 * The name that a thing of this function has in print, where all scopes are one: its own if that is
 * free, else its own with "$1", "$2" .. and @tail behind it.
 */
const char *gsb_ptx_unique_name(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
				const char *tail);
/* Of a variable in a function that lives as long as the module, where all functions' are side by side. */
const char *gsb_ptx_static_name(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok);
/* A use of a label; *slot becomes its index when it is known. */
void gsb_ptx_refer_label(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok, uint32_t *slot);

/* insn.c: one instruction, from guard to semicolon. */
void gsb_ptx_parse_insn(struct gsb_ptx_parser *p);
/* unknown.c: what is not known refuses the functions that use it. */
/*
 * What is not understood: the text from @from to the end of @last as it stands, and what follows up to a semicolon, names
 * as they will be printed. The token after @last is at hand.
 */
const char *gsb_ptx_keep_text(struct gsb_ptx_parser *p, const char *from,
			      const struct gsb_ptx_token *last);
bool gsb_ptx_may_be_unknown(const struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok);
void gsb_ptx_add_unsupported(struct gsb_ptx_parser *p, const struct gsb_ptx_token *tok,
			     const char *text);
void gsb_ptx_parse_unknown(struct gsb_ptx_parser *p);
void gsb_ptx_skip_unknown(struct gsb_ptx_parser *p, const char *from);
bool gsb_ptx_skip_unknown_tuning(struct gsb_ptx_parser *p);

/* check.c: operands against the shape of their row; converts immediates to the operand's type. */
void gsb_ptx_check_insn(struct gsb_ptx_parser *p, struct gsb_ptx_insn *in,
			const struct gsb_ptx_token *tok);
void gsb_ptx_check_call(struct gsb_ptx_parser *p, struct gsb_ptx_insn *in,
			const struct gsb_ptx_token *tok);

/* units.c: text that is several modules, linked. */
void gsb_ptx_begin_unit(struct gsb_ptx_parser *p);
void gsb_ptx_finish_units(struct gsb_ptx_parser *p);
/*
 * What a second definition of f or v is read into: itself, emptied, when the second counts; something that is thrown
 * away when the first does. NULL: there may be no second one.
 */
struct gsb_ptx_func *gsb_ptx_second_func(struct gsb_ptx_parser *p, struct gsb_ptx_func *f,
					 uint8_t linkage);
struct gsb_ptx_var *gsb_ptx_second_var(struct gsb_ptx_parser *p, struct gsb_ptx_var *v,
				       uint8_t linkage);

/* module.c */
void gsb_ptx_parse_module(struct gsb_ptx_parser *p);

/* debug.c: .loc, .file: kept; .section: skipped; false when none is here. */
bool gsb_ptx_parse_debug(struct gsb_ptx_parser *p);

#endif
