/*
 * test_resize_traps.c - every kernel of tests/resize and of the corpus against a table of what may be done with it.
 *
 * A row of the tables is a file, a kernel, its early-exit class, the forms that are legal (comma between, "leave" for none)
 * and, for each form that is not, FORM=RULE: the reason, by its word in rules.def. FORM=~RULE is a kernel that is safe in that
 * form and refused all the same. Every kernel has a row and every row a kernel. GSB_PRINT_ROWS=1 prints the rows as they would be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include <stdbool.h>

#include "ptx/resize/facts.h"
#include "tests/unit/ptx_text.h"

#define MAX_ROWS 2048

struct row {
	char file[80], kernel[200], early[4], forms[80], reasons[240];
	bool used;
};

static struct row rows[MAX_ROWS];
static size_t n_rows;

static struct counts {
	unsigned kernels, forms[GSB_RESIZE_N_FORMS], leave, early[4];
	unsigned plain, plain_reshape, plain_looped;
	unsigned wrong;
} counts;

static void path_of(char *out, size_t size, const char *name)
{
	const char *srcdir = getenv("srcdir");

	snprintf(out, size, "%s/%s", srcdir ? srcdir : ".", name);
}

static void read_rows(const char *table)
{
	char path[4096], line[1024];
	FILE *f;

	path_of(path, sizeof(path), table);
	f = fopen(path, "r");
	if (!f)
		fail_msg("cannot open %s", path);
	memset(rows, 0, sizeof(rows));
	n_rows = 0;
	while (fgets(line, sizeof(line), f)) {
		struct row *r = &rows[n_rows];

		if (*line == '#' || *line == '\n')
			continue;
		assert_true(n_rows < MAX_ROWS);
		if (sscanf(line, "%79s %199s %3s %79s %239[^\n]", r->file, r->kernel, r->early,
			   r->forms, r->reasons) < 4)
			fail_msg("%s: not a row: %s", table, line);
		n_rows++;
	}
	fclose(f);
}

static struct row *find_row(const char *file, const char *kernel)
{
	for (size_t i = 0; i < n_rows; i++)
		if (!strcmp(rows[i].file, file) && !strcmp(rows[i].kernel, kernel))
			return &rows[i];
	return NULL;
}

/* ---- what is found, as a row says it ---- */

static void say_forms(uint32_t forms, char *out, size_t size)
{
	size_t n = 0;

	snprintf(out, size, "leave");
	for (int form = 0; form < GSB_RESIZE_N_FORMS; form++)
		if (forms & GSB_RESIZE_BIT(form))
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? "," : "",
					      gsb_resize_form_name(form));
}

static void say_reasons(const struct gsb_resize_facts *f, char *out, size_t size)
{
	size_t n = 0;

	*out = '\0';
	for (int form = 0; form < GSB_RESIZE_ORDERED; form++) {
		const struct gsb_resize_finding *why = gsb_resize_why_not(f, form);

		assert_int_equal(!why, f->forms >> form & 1);
		if (why)
			n += (size_t)snprintf(out + n, size - n, "%s%s=%s", n ? " " : "",
					      gsb_resize_form_name(form),
					      gsb_resize_rule_word(why->rule));
	}
}

/* Without the marks of what is safe. */
static void strip(const char *reasons, char *out)
{
	for (; *reasons; reasons++)
		if (*reasons != '~')
			*out++ = *reasons;
	*out = '\0';
}

/* ---- counting ---- */

/* Nothing ties its threads to their block, or its blocks to each other or to their place. */
static bool is_plain(const struct gsb_resize_facts *f)
{
	if (f->shared || f->n_barriers || f->warp_ops)
		return false;
	for (uint32_t i = 0; i < f->n_findings; i++)
		if (f->findings[i].rule >= GSB_RESIZE_RULE_DYNAMIC &&
		    f->findings[i].rule <= GSB_RESIZE_RULE_LOOK_BACK)
			return false;
	return true;
}

static void count(const struct gsb_resize_facts *f)
{
	bool plain = is_plain(f);

	counts.kernels++;
	counts.leave += !f->forms;
	counts.early[f->early]++;
	for (int form = 0; form < GSB_RESIZE_N_FORMS; form++)
		counts.forms[form] += f->forms >> form & 1;
	counts.plain += plain;
	counts.plain_reshape += plain && f->forms & GSB_RESIZE_BIT(GSB_RESIZE_RESHAPE);
	counts.plain_looped += plain && f->forms & (GSB_RESIZE_BIT(GSB_RESIZE_SLICE) |
						    GSB_RESIZE_BIT(GSB_RESIZE_PERSISTENT));
}

static void check(const char *file, const struct gsb_resize_facts *f)
{
	static const char *const early[] = {"E0", "E1", "E2", "E3"};
	const char *kernel = f->kernel->entry->name;
	struct row *r = find_row(file, kernel);
	char forms[80], reasons[240], expected[240];

	say_forms(f->forms, forms, sizeof(forms));
	say_reasons(f, reasons, sizeof(reasons));
	if (getenv("GSB_PRINT_ROWS"))
		printf("ROW %s %s %s %s %s\n", file, kernel, early[f->early], forms, reasons);
	if (!r) {
		print_error("%s: %s has no row\n", file, kernel);
		counts.wrong++;
		return;
	}
	r->used = true;
	strip(r->reasons, expected);
	if (!strcmp(r->forms, forms) && !strcmp(r->early, early[f->early]) &&
	    !strcmp(expected, reasons))
		return;
	print_error("%s: %s: expected %s %s %s, got %s %s %s\n", file, kernel, r->early, r->forms,
		    expected, early[f->early], forms, reasons);
	counts.wrong++;
}

static void check_kernel(const struct gsb_ptx_module *m, const struct gsb_ptx_func *entry,
			 const char *file)
{
	struct gsb_resize_facts f;
	struct gsb_arena arena;

	gsb_arena_init(&arena, (size_t)1 << 30);
	assert_int_equal(gsb_resize_analyse(m, entry, &arena, &f), 0);
	count(&f);
	check(file, &f);
	gsb_arena_finish(&arena);
}

static void check_file(const char *path, const char *text, size_t len)
{
	struct gsb_ptx_module *m = parse_len(text, len);
	const char *name = strrchr(path, '/');

	name = name ? name + 1 : path;
	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (m->funcs[i]->is_entry && m->funcs[i]->has_body)
			check_kernel(m, m->funcs[i], name);
	gsb_ptx_module_destroy(m);
}

static void check_files(const char *pattern)
{
	char path[4096];
	glob_t g;

	path_of(path, sizeof(path), pattern);
	if (glob(path, 0, NULL, &g))
		fail_msg("no file matches %s", path);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t len;
		char *text = read_file(g.gl_pathv[i], &len);

		check_file(g.gl_pathv[i], text, len);
		free(text);
	}
	globfree(&g);
}

static void finish_table(void)
{
	for (size_t i = 0; i < n_rows; i++) {
		if (rows[i].used)
			continue;
		print_error("no kernel %s in %s\n", rows[i].kernel, rows[i].file);
		counts.wrong++;
	}
	assert_int_equal(counts.wrong, 0);
}

/* Kernels that somebody has looked at and found safe in a form that is refused: fewer is better, never more. */
static unsigned count_refused_safe(void)
{
	unsigned n = 0;

	for (size_t i = 0; i < n_rows; i++)
		for (const char *at = rows[i].reasons; (at = strchr(at, '~')); at++)
			n++;
	return n;
}

static void show(const char *what)
{
	printf("%s: %u kernels: reshape %u, slice %u, persistent %u, ordered %u, leave %u; E0 %u, E1 %u, E2 %u, E3 %u; "
	       "plain %u: reshape %u, slice or persistent %u\n",
	       what, counts.kernels, counts.forms[GSB_RESIZE_RESHAPE],
	       counts.forms[GSB_RESIZE_SLICE], counts.forms[GSB_RESIZE_PERSISTENT],
	       counts.forms[GSB_RESIZE_ORDERED], counts.leave, counts.early[0], counts.early[1],
	       counts.early[2], counts.early[3], counts.plain, counts.plain_reshape,
	       counts.plain_looped);
}

static void begin(const char *table)
{
	memset(&counts, 0, sizeof(counts));
	read_rows(table);
}

static void test_analyse_kernels_made_to_look_safe_refuses_each_for_its_reason(void **state)
{
	unsigned traps = 0;

	(void)state;
	begin("tests/resize/traps.txt");
	check_files("tests/resize/traps/*.ptx");
	finish_table();
	for (size_t i = 0; i < n_rows; i++)
		traps += rows[i].reasons[0] != '\0';
	show("traps");
	assert_true(traps >= 60);
}

static void test_analyse_safe_kernels_refuses_no_more_than_before(void **state)
{
	(void)state;
	begin("tests/resize/safe.txt");
	check_files("tests/resize/safe/*.ptx");
	finish_table();
	show("safe");
	printf("safe and refused: %u forms\n", count_refused_safe());
	assert_int_equal(count_refused_safe(), 5); /* fewer: lower it */
}

static void test_analyse_corpus_finds_most_plain_kernels_legal(void **state)
{
	(void)state;
	begin("tests/resize/corpus.txt");
	check_files("tests/ptx/*.ptx");
	check_files("examples/gpu_db/ptx/*.ptx");
	check_files("tools/bench_emu.ptx");
	finish_table();
	show("corpus");
	printf("safe and refused: %u forms\n", count_refused_safe());
	assert_int_equal(count_refused_safe(), 36); /* fewer: lower it */
	assert_true(counts.plain_looped * 100 >= counts.plain * 80);
	assert_true(counts.plain_reshape * 100 >= counts.plain * 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			test_analyse_kernels_made_to_look_safe_refuses_each_for_its_reason),
		cmocka_unit_test(test_analyse_safe_kernels_refuses_no_more_than_before),
		cmocka_unit_test(test_analyse_corpus_finds_most_plain_kernels_legal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
