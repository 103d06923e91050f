/*
 * ptx_text.h - what the tests of ptx/ share: a module from a text that must parse, the shipped samples.
 * Include after cmocka.h.
 */
#ifndef GSB_TESTS_PTX_TEXT_H
#define GSB_TESTS_PTX_TEXT_H

#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/ptx.h"

#define HEAD ".version 7.0\n.target sm_75\n.address_size 64\n"

/* The text of a file under the source folder, NUL behind it; for free(). */
static inline char *read_file(const char *path, size_t *len)
{
	FILE *f = fopen(path, "rb");
	char *text;
	long size;

	if (!f)
		fail_msg("cannot open %s", path);
	assert_int_equal(fseek(f, 0, SEEK_END), 0);
	size = ftell(f);
	assert_true(size >= 0);
	rewind(f);
	text = calloc(1, (size_t)size + 1);
	assert_non_null(text);
	*len = fread(text, 1, (size_t)size, f);
	assert_int_equal(*len, size);
	fclose(f);
	return text;
}

static inline struct gsb_ptx_module *parse_len(const char *text, size_t len)
{
	struct gsb_ptx_module *m = NULL;
	struct gsb_ptx_error err = {0};

	if (gsb_ptx_parse(text, len, &m, &err))
		fail_msg("%s", err.text);
	return m;
}

static inline struct gsb_ptx_module *parse(const char *text)
{
	return parse_len(text, strlen(text));
}

/* A module that has only kernel "k" with this body. */
static inline struct gsb_ptx_module *parse_kernel(const char *body)
{
	char text[8192];
	int n = snprintf(text, sizeof(text), HEAD ".visible .entry k(.param .u64 p) {\n%s\n}\n",
			 body);

	assert_true(n > 0 && (size_t)n < sizeof(text));
	return parse(text);
}

static inline const struct gsb_ptx_func *func(const struct gsb_ptx_module *m, const char *name)
{
	const struct gsb_ptx_func *f = gsb_ptx_find_func(m, name);

	if (!f)
		fail_msg("no function %s", name);
	return f;
}

/* The register of this name, as it was written. */
static inline uint32_t reg(const struct gsb_ptx_func *f, const char *name)
{
	char text[80];

	for (uint32_t i = 0; i < f->n_regs; i++) {
		if (f->regs[i].number == GSB_PTX_NONE)
			snprintf(text, sizeof(text), "%s", f->regs[i].base);
		else
			snprintf(text, sizeof(text), "%s%u", f->regs[i].base, f->regs[i].number);
		if (!strcmp(text, name))
			return i;
	}
	fail_msg("no register %s", name);
	return 0;
}

/* Calls fn for each tests/ptx/PATTERN; fails when there is none. */
static inline void each_sample(const char *pattern,
			       void (*fn)(const char *path, const char *text, size_t len))
{
	const char *srcdir = getenv("srcdir");
	char path[4096];
	glob_t g;

	snprintf(path, sizeof(path), "%s/tests/ptx/%s", srcdir ? srcdir : ".", pattern);
	if (glob(path, 0, NULL, &g))
		fail_msg("no file matches %s", path);
	for (size_t i = 0; i < g.gl_pathc; i++) {
		size_t len;
		char *text = read_file(g.gl_pathv[i], &len);

		fn(g.gl_pathv[i], text, len);
		free(text);
	}
	globfree(&g);
}

#endif
