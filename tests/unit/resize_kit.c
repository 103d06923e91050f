/*
 * resize_kit.c - see resize_kit.h.
 */
#include "tests/unit/resize_kit.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct gsb_ptx_module *kit_parse(const char *text)
{
	struct gsb_ptx_error err = {0};
	struct gsb_ptx_module *m = NULL;

	if (gsb_ptx_parse(text, strlen(text), &m, &err))
		fail_msg("line %u: %s", err.line, err.text);
	return m;
}

struct gsb_ptx_module *kit_parse_path(const char *path)
{
	char *text = NULL;
	struct gsb_ptx_module *m;
	size_t size = 0;
	FILE *in = fopen(path, "r"), *out;
	int c;

	if (!in)
		fail_msg("%s: cannot be read", path);
	out = open_memstream(&text, &size);
	while ((c = getc(in)) != EOF)
		putc(c, out);
	fclose(out);
	fclose(in);
	m = kit_parse(text);
	free(text);
	return m;
}

struct gsb_ptx_module *kit_parse_file(const char *path)
{
	const char *dir = getenv("srcdir");
	char name[1024];

	snprintf(name, sizeof(name), "%s/%s", dir ? dir : ".", path);
	return kit_parse_path(name);
}

/* The words of the subject, parsed. */
static size_t parse_args(const struct kit_subject *s, const struct gsb_ptx_func *f,
			 struct emu_arg *args, char *words, size_t size)
{
	char *next = words, *word;
	size_t n = 0;

	snprintf(words, size, "%s", s->args);
	while ((word = strsep(&next, " ")) && *word) {
		assert_true(n < f->n_params && n < KIT_MAX_ARGS);
		assert_int_equal(emu_arg_parse(&args[n], word), 0);
		args[n].parameter = f->params[n].name;
		n++;
	}
	assert_int_equal(n, f->n_params);
	return n;
}

unsigned int kit_forms(const struct gsb_ptx_module *m, const struct gsb_ptx_func *f,
		       unsigned int forms)
{
	const struct gsb_rewrite_job job = {.kernel = f, .form = GSB_REWRITE_HINT};
	struct gsb_rewrite_refusal why;

	return gsb_rewrite_check(m, &job, &why) ? forms & ~(1u << GSB_REWRITE_HINT) : forms;
}

void kit_open(struct kit *kit, const struct gsb_ptx_module *m, const struct kit_subject *s,
	      unsigned int forms)
{
	struct diff *d = &kit->diff;
	const struct gsb_ptx_func *f = gsb_ptx_find_func(m, s->kernel);

	assert_non_null(f);
	if (diff_open(d, m, f, kit_forms(m, f, forms), s->early))
		fail_msg("%s %s: %s", s->file, s->kernel, d->text);
	for (int i = 0; i < 3; i++) {
		d->grid[i] = s->grid[i] ? s->grid[i] : 1;
		d->block[i] = s->block[i] ? s->block[i] : 1;
	}
	d->smem_bytes = s->smem_bytes;
	d->max_insns = 20000000;
	kit->n_args = parse_args(s, f, kit->args, kit->words, sizeof(kit->words));
	if (subject_place(d, kit->args, kit->n_args, false))
		fail_msg("%s %s: %s", s->file, s->kernel, d->text);
}

void kit_close(struct kit *kit)
{
	for (size_t i = 0; i < kit->n_args; i++)
		emu_arg_finish(&kit->args[i]);
	diff_close(&kit->diff);
}

void kit_expect(struct kit *kit, const struct kit_subject *s, uint64_t seed)
{
	struct diff *d = &kit->diff;

	diff_restore(d);
	for (size_t i = 0; i < kit->n_args; i++)
		emu_arg_refill(&kit->args[i], seed + i);
	if (subject_fill(d, kit->args, kit->n_args) || diff_expect(d))
		fail_msg("%s %s: %s", s->file, s->kernel, d->text);
}

void kit_try(struct kit *kit, const struct kit_subject *s, uint64_t input, uint64_t number)
{
	struct diff *d = &kit->diff;
	struct diff_way way;
	char text[256];

	diff_choose(d, number, &way);
	if (!diff_try(d, &way))
		return;
	diff_say_way(&way, text, sizeof(text));
	fail_msg("%s %s, input %" PRIu64 ", way %" PRIu64 " (%s): %s", s->file, s->kernel, input,
		 number, text, d->text);
}
