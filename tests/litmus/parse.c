/*
 * parse.c - rows of litmus.def: taken apart, and multiplied out into cases.
 */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/litmus/litmus.h"

const struct litmus_row litmus_rows[] = {
#define LITMUS(name, threads, forbidden, weak, witness, widths, places, scopes, why) \
	{#name, threads, forbidden, weak, witness, why, widths, places, scopes},
#include "tests/litmus/litmus.def"
};
const unsigned int litmus_n_rows = GSB_ARRAY_LEN(litmus_rows);

/* ---- cases ---- */

static const char *const width_names[] = {"b8",	   "b16",    "b32",    "b64",	 "b128",
					  "v4.b8", "v2.b16", "v2.b32", "v4.b32", "v2.b64"};
static const char *const place_names[] = {"warp", "block", "grid"};
static const char *const scope_names[] = {"cta", "gpu", "sys"};
static const char *const space_names[] = {"global", "shared", "generic"};

/* The one of a set that stands for all where something else varies. */
static unsigned int main_of(unsigned int bits, unsigned int favourite)
{
	return bits >> favourite & 1 ? favourite : (unsigned int)__builtin_ctz(bits);
}

/* Widths at one scope, scopes at one width, and the other spaces at some widths: not all times all. */
static bool is_wanted(const struct litmus_case *c)
{
	const struct litmus_row *r = c->row;
	bool main_scope = c->scope == main_of(r->scopes, LITMUS_GPU);
	bool main_width = c->width == main_of(r->widths, LITMUS_B32);

	if (!(r->widths >> c->width & 1) || !(r->places >> c->place & 1) ||
	    !(r->scopes >> c->scope & 1) || (c->scope == LITMUS_CTA && c->place == LITMUS_GRID))
		return false;
	if (c->space == LITMUS_GLOBAL)
		return main_scope || main_width;
	return c->place != LITMUS_GRID && main_scope &&
	       (main_width || c->width == LITMUS_V4B32 || c->width == LITMUS_B128);
}

/* The odometer: false when it has gone round. */
static bool turn(struct litmus_case *c)
{
	if (++c->space < LITMUS_N_SPACES)
		return true;
	c->space = 0;
	if (++c->scope < LITMUS_N_SCOPES)
		return true;
	c->scope = 0;
	if (++c->place < LITMUS_N_PLACES)
		return true;
	c->place = 0;
	if (++c->width < LITMUS_N_WIDTHS)
		return true;
	c->width = 0;
	return ++c->row < litmus_rows + litmus_n_rows;
}

bool litmus_next_case(struct litmus_case *c)
{
	if (!c->row) {
		c->row = litmus_rows;
		if (is_wanted(c))
			return true;
	}
	while (turn(c)) {
		if (is_wanted(c))
			return true;
	}
	return false;
}

void litmus_case_name(const struct litmus_case *c, char *out, size_t size)
{
	snprintf(out, size, "%s %s %s %s %s", c->row->name, width_names[c->width],
		 place_names[c->place], scope_names[c->scope], space_names[c->space]);
}

/* ---- the text of a row ---- */

struct words {
	const char *at;
	char word[32];
};

/* The next word of an operation; false at its end. */
static bool next_word(struct words *w)
{
	size_t n;

	w->at += strspn(w->at, " ");
	n = strcspn(w->at, " ;|");
	if (!n || n >= sizeof(w->word))
		return false;
	memcpy(w->word, w->at, n);
	w->word[n] = 0;
	w->at += n;
	return true;
}

static bool is_one_of(const char *word, const char *const *names, unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		if (!strcmp(word, names[i]))
			return true;
	}
	return false;
}

/* opcode.sem.scope.sub, less what an operation does not have */
static void set_words(struct litmus_op *op, char *word)
{
	char *rest = NULL;

	snprintf(op->opcode, sizeof(op->opcode), "%s", strtok_r(word, ".", &rest));
	while ((word = strtok_r(NULL, ".", &rest))) {
		if (!op->sem[0])
			snprintf(op->sem, sizeof(op->sem), "%s", word);
		else if (is_one_of(word, scope_names, GSB_ARRAY_LEN(scope_names)))
			snprintf(op->scope, sizeof(op->scope), "%s", word);
		else
			snprintf(op->sub, sizeof(op->sub), "%s", word);
	}
}

static bool read_reg(struct words *w, int *out)
{
	if (!next_word(w) || w->word[0] != 'r' || !isdigit(w->word[1]))
		return false;
	*out = w->word[1] - '0';
	return *out < LITMUS_MAX_REGS;
}

static bool read_loc(struct words *w, int *out)
{
	if (!next_word(w) || w->word[0] < 'x' || w->word[0] > 'z')
		return false;
	*out = w->word[0] - 'x';
	return true;
}

static bool read_values(struct words *w, struct litmus_op *op)
{
	while (next_word(w)) {
		op->from_reg = w->word[0] == 'r';
		if (op->n_values == GSB_ARRAY_LEN(op->value) ||
		    sscanf(w->word + op->from_reg, "%d", &op->value[op->n_values]) != 1)
			return false;
		op->n_values++;
	}
	return op->n_values;
}

static const struct {
	const char *opcode;
	enum litmus_act act;
} acts[] = {{"ld", LITMUS_LD},	 {"st", LITMUS_ST},	   {"atom", LITMUS_ATOM},
	    {"red", LITMUS_RED}, {"fence", LITMUS_FENCE},  {"membar", LITMUS_FENCE},
	    {"bar", LITMUS_BAR}, {"barw", LITMUS_BAR_WARP}};

static bool parse_op(struct words *w, struct litmus_op *op)
{
	unsigned int i = 0;

	*op = (struct litmus_op){0};
	if (!next_word(w))
		return false;
	set_words(op, w->word);
	while (i < GSB_ARRAY_LEN(acts) && strcmp(op->opcode, acts[i].opcode))
		i++;
	if (i == GSB_ARRAY_LEN(acts))
		return false;
	op->act = acts[i].act;
	switch (op->act) {
	case LITMUS_LD: return read_reg(w, &op->reg) && read_loc(w, &op->loc);
	case LITMUS_ST: return read_loc(w, &op->loc) && read_values(w, op);
	case LITMUS_ATOM:
		return op->sub[0] && read_reg(w, &op->reg) && read_loc(w, &op->loc) &&
		       read_values(w, op) && !op->from_reg;
	case LITMUS_RED:
		return op->sub[0] && read_loc(w, &op->loc) && read_values(w, op) && !op->from_reg;
	default: return true;
	}
}

static void count(struct litmus_program *p, const struct litmus_op *op)
{
	bool reads = op->act == LITMUS_LD || op->act == LITMUS_ATOM;

	if (reads && p->n_regs <= (unsigned int)op->reg)
		p->n_regs = (unsigned int)op->reg + 1;
	if ((reads || op->act == LITMUS_ST || op->act == LITMUS_RED) &&
	    p->n_locs <= (unsigned int)op->loc)
		p->n_locs = (unsigned int)op->loc + 1;
}

bool litmus_parse(const char *threads, struct litmus_program *out, const char **at)
{
	struct words w = {.at = threads};
	unsigned int t = 0;

	*out = (struct litmus_program){0};
	while (true) {
		struct litmus_op *op = &out->ops[t][out->n_ops[t]];

		*at = w.at;
		if (out->n_ops[t] == LITMUS_MAX_OPS || !parse_op(&w, op))
			return false;
		count(out, op);
		out->n_ops[t]++;
		w.at += strspn(w.at, " ");
		if (*w.at == '|' && ++t == LITMUS_MAX_THREADS)
			return false;
		if (!*w.at)
			break;
		w.at++;
	}
	out->n_threads = t + 1;
	return true;
}
