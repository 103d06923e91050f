/*
 * test_emu_forms.c - no opcode form without evidence: every spelling that ops.def admits and the interpreter carries has a row in
 * tests/oracle/rows, or stands in a list of tests/oracle/elsewhere with a reason.
 *
 * The spellings are made from the tables themselves: an opcode, each choice of the modifiers that its row allows, each type; those
 * that the decoder takes are forms. Forms that come to the same instruction are one (add.f32 and add.rn.f32). How strong an
 * access of memory is, and for whom, changes no value: semantics, scopes and hints are left out here.
 */
#include <fnmatch.h>
#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/code/code.h"
#include "device/emu/lower/select.h"
#include "ptx/ops.h"
#include "tests/unit/emu_rows.h"

#define MAX_PLACES 256
#define MAX_SHOWN  40

/* What two spellings of one form have in common. */
struct form {
	uint16_t op;
	uint8_t types[3];
	uint8_t space, vec, sub;
	uint64_t key;
};

static struct forms {
	struct form *at;
	size_t n, room;
} covered, seen;

/* A line of tests/oracle/elsewhere. */
static struct place {
	char *glob;
	unsigned int used;
} places[MAX_PLACES];
static unsigned int n_places;

static const struct {
	const char *spelling;
	uint64_t field;
} words[] = {
#define GSB_PTX_WORD(field, id, spelling) {spelling, GSB_PTX_FIELD_BIT(field)},
#include "ptx/words.def"
};

static const char *const spaces[] = {
#define GSB_PTX_SPACE(id, spelling) spelling,
#include "ptx/words.def"
};

static const struct {
	const char *spelling;
	uint64_t field;
} flags[] = {
#define GSB_PTX_FLAG(id, spelling) {spelling, GSB_PTX_FIELD_FLAG_BIT(id)},
#include "ptx/words.def"
};

/* ---- forms ---- */

static int compare(const void *p, const void *q)
{
	return memcmp(p, q, sizeof(struct form));
}

static bool has(const struct forms *forms, const struct form *f)
{
	for (size_t i = forms->n; i-- > 0;) {
		if (!compare(&forms->at[i], f))
			return true;
	}
	return false;
}

static void take(struct forms *forms, const struct form *f)
{
	if (forms->n == forms->room) {
		forms->room = forms->room ? forms->room * 2 : 1024;
		forms->at = realloc(forms->at, forms->room * sizeof(*f));
		assert_non_null(forms->at);
	}
	forms->at[forms->n++] = *f;
}

/* A comparison is carried for the type that it compares. */
static bool compares(const struct gsb_ptx_insn *insn)
{
	struct gsb_ptx_insn in = *insn;
	uint64_t key;

	in.op = GSB_PTX_OP_SETP;
	in.type[0] = in.type[1] = insn->type[1];
	return gsb_emu_select(&in, &key);
}

static bool is_carried(const struct gsb_ptx_insn *in, uint64_t *key)
{
	const struct gsb_emu_form_row *row = gsb_emu_select(in, key);

	switch (in->op) {
	case GSB_PTX_OP_LD:
	case GSB_PTX_OP_LDU:
	case GSB_PTX_OP_ST: return true;
	case GSB_PTX_OP_ATOM:
	case GSB_PTX_OP_RED: return gsb_emu_select_atom(in->sub, in->type[0]) != GSB_EMU_NONE;
	case GSB_PTX_OP_SET: return row && compares(in);
	default: break;
	}
	switch (gsb_ptx_op_class(in->op)) {
	case GSB_PTX_CLASS_ALU:
	case GSB_PTX_CLASS_CMP:
	case GSB_PTX_CLASS_CVT: return row || in->type[0] == GSB_PTX_TYPE_PRED || !in->type[0];
	default: return true;
	}
}

/* False: no form, or none that is carried. */
static bool form_of(const char *spelling, size_t len, struct form *f)
{
	struct gsb_ptx_insn in;
	uint64_t key;

	memset(f, 0, sizeof(*f));
	memset(&in, 0, sizeof(in));
	if (!gsb_ptx_insn_decode(spelling, len, &in) || !is_carried(&in, &key))
		return false;
	*f = (struct form){.op = in.op,
			   .types = {in.type[0], in.type[1], in.type[2]},
			   .space = in.space,
			   .vec = in.vec,
			   .sub = in.sub,
			   .key = key};
	return true;
}

static void take_rows(void)
{
	size_t n;
	const struct t_row *rows = t_rows_load(&n);

	for (size_t i = 0; i < n; i++) {
		for (const char *s = rows[i].forms; *s; s += strspn(s, " ")) {
			size_t len = strcspn(s, " ");
			struct form f;

			if (!form_of(s, len, &f))
				fail_msg("a row is for %.*s, which is no form", (int)len, s);
			if (!has(&covered, &f))
				take(&covered, &f);
			s += len;
		}
	}
}

/* ---- elsewhere ---- */

/* "GLOB<tab>reason"; a line of # is a comment. */
static void take_place(char *line, const char *path)
{
	struct place *p = &places[n_places];
	char *tab = strchr(line, '\t');

	line[strcspn(line, "\n")] = 0;
	if (!*line || *line == '#')
		return;
	if (!tab || n_places == MAX_PLACES)
		fail_msg("%s: not GLOB, tab, reason: %s", path, line);
	*tab = 0;
	p->glob = strdup(line);
	assert_non_null(p->glob);
	n_places++;
}

static void take_places(void)
{
	const char *dir = getenv("srcdir");
	char line[512];
	glob_t found;

	snprintf(line, sizeof(line), "%s/tests/oracle/elsewhere/*.list", dir ? dir : ".");
	assert_int_equal(glob(line, 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		FILE *f = fopen(found.gl_pathv[i], "r");

		assert_non_null(f);
		while (fgets(line, sizeof(line), f))
			take_place(line, found.gl_pathv[i]);
		fclose(f);
	}
	globfree(&found);
}

static bool is_elsewhere(const char *spelling)
{
	bool found = false;

	for (unsigned int i = 0; i < n_places; i++) {
		if (fnmatch(places[i].glob, spelling, 0))
			continue;
		places[i].used++;
		found = true;
	}
	return found;
}

/* ---- all spellings ---- */

static unsigned int n_forms, n_missing;

static void check_spelling(const char *spelling)
{
	struct form f;

	if (!form_of(spelling, strlen(spelling), &f) || has(&seen, &f))
		return;
	take(&seen, &f);
	n_forms++;
	if (has(&covered, &f) || is_elsewhere(spelling))
		return;
	if (n_missing++ < MAX_SHOWN)
		print_error("no row and no reason: %s\n", spelling);
}

struct walk {
	const struct gsb_ptx_op_row *row;
	char text[128];
};

static void with_types(struct walk *w, unsigned int nth)
{
	uint64_t set = nth ? w->row->types2 : w->row->types;
	size_t len = strlen(w->text);

	if (nth == 2) {
		check_spelling(w->text);
		return;
	}
	if (!set)
		with_types(w, nth + 1);
	for (int t = 1; t < GSB_PTX_N_TYPES; t++) {
		if (!(set & UINT64_C(1) << t))
			continue;
		snprintf(w->text + len, sizeof(w->text) - len, ".%s", gsb_ptx_type_name(t));
		with_types(w, nth + 1);
		w->text[len] = 0;
	}
}

static void with_flags(struct walk *w, size_t nth)
{
	size_t len = strlen(w->text);

	if (nth == GSB_ARRAY_LEN(flags)) {
		with_types(w, 0);
		return;
	}
	if (!(w->row->needed & flags[nth].field))
		with_flags(w, nth + 1);
	if (!(w->row->fields & flags[nth].field))
		return;
	snprintf(w->text + len, sizeof(w->text) - len, ".%s", flags[nth].spelling);
	with_flags(w, nth + 1);
	w->text[len] = 0;
}

static void with_space(struct walk *w)
{
	size_t len = strlen(w->text);

	with_flags(w, 0);
	for (size_t i = 0; w->row->fields & M_SPACE && i < GSB_ARRAY_LEN(spaces); i++) {
		for (unsigned int vec = 1; vec <= 8; vec *= 2) {
			if (vec > 1 && !(w->row->fields & M_VEC))
				break;
			if (vec > 1)
				snprintf(w->text + len, sizeof(w->text) - len, ".%s.v%u", spaces[i],
					 vec);
			else
				snprintf(w->text + len, sizeof(w->text) - len, ".%s", spaces[i]);
			with_flags(w, 0);
			w->text[len] = 0;
		}
	}
}

/* The fields of words.def in this order; a field is left out, or each of its words is taken. */
static void with_words(struct walk *w, unsigned int nth)
{
	static const uint64_t fields[] = {M_RND, M_CMP, M_SUB, M_MODE, M_MUL, M_SCOPE};
	size_t len = strlen(w->text);
	bool memory = w->row->fields & M_SPACE;

	if (nth == GSB_ARRAY_LEN(fields)) {
		with_space(w);
		return;
	}
	if (!(w->row->needed & fields[nth]))
		with_words(w, nth + 1);
	if (!(w->row->fields & fields[nth]) || (fields[nth] == M_SCOPE && memory))
		return;
	for (size_t i = 0; i < GSB_ARRAY_LEN(words); i++) {
		if (words[i].field != fields[nth])
			continue;
		snprintf(w->text + len, sizeof(w->text) - len, ".%s", words[i].spelling);
		with_words(w, nth + 1);
		w->text[len] = 0;
	}
}

static void test_forms_every_carried_one_has_a_row_or_a_reason(void **state)
{
	(void)state;
	for (unsigned int row = 1; row < gsb_ptx_n_op_rows; row++) {
		struct walk w = {.row = &gsb_ptx_op_rows[row]};

		snprintf(w.text, sizeof(w.text), "%s", gsb_ptx_op_name(w.row->op));
		with_words(&w, 0);
	}
	print_message("%u forms: %zu with rows of their own, the others elsewhere\n", n_forms,
		      covered.n);
	if (n_missing)
		fail_msg("%u forms of %u have no row: tests/oracle/generate says how to add one",
			 n_missing, n_forms);
	assert_true(n_forms > 3000);
}

/* Runs behind the other, which looks every form up. */
static void test_elsewhere_no_line_without_a_form(void **state)
{
	(void)state;
	for (unsigned int i = 0; i < n_places; i++) {
		if (!places[i].used)
			fail_msg("'%s' is of no form that has no row", places[i].glob);
	}
}

static int setup(void **state)
{
	(void)state;
	take_rows();
	take_places();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_forms_every_carried_one_has_a_row_or_a_reason),
		cmocka_unit_test(test_elsewhere_no_line_without_a_form),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
