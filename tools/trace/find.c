/*
 * find.c - see find.h.
 */
#include "tools/trace/find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/trace/ranges.h"

#define SHOWN_MAX 12u

static bool is_number(const char *word, uint64_t *out)
{
	char *end;

	errno = 0;
	*out = strtoull(word, &end, 10);
	return *word >= '0' && *word <= '9' && !*end && !errno;
}

static uint32_t find_tenant(const struct gsb_traced *t, const char *word)
{
	uint64_t number = 0;
	bool by_number = word[0] == '#' && is_number(word + 1, &number);

	for (uint32_t i = 0; i < t->n_tenants; i++)
		if (by_number ? t->tenants[i].number == number : !strcmp(t->tenants[i].name, word))
			return i;
	return GSB_TRACED_NONE;
}

static const char *find_kernel(const struct gsb_traced *t, const char *word)
{
	for (uint32_t i = 0; i < t->n_kernels; i++)
		if (!strcmp(t->kernels[i].name, word))
			return t->kernels[i].name;
	return NULL;
}

static const char *find_range(const struct gsb_traced *t, const char *word)
{
	for (uint32_t i = 0; i < t->n_labels; i++)
		if (!strcmp(t->labels[i].name, word))
			return t->labels[i].name;
	return NULL;
}

/* Was this name there before? Only few are shown, so few are compared. */
static bool is_shown(const char *const shown[SHOWN_MAX], unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(shown[i], name))
			return true;
	return false;
}

static const char *kernel_name(const struct gsb_traced *t, uint32_t i)
{
	return t->kernels[i].name;
}

static const char *range_name(const struct gsb_traced *t, uint32_t i)
{
	return t->labels[i].name;
}

/* Each name once, and not too many. */
static void say_names(const struct gsb_traced *t, const char *what, uint32_t n_names,
		      const char *(*name_of)(const struct gsb_traced *t, uint32_t i))
{
	const char *shown[SHOWN_MAX];
	unsigned n = 0;

	fprintf(stderr, "; %s:", what);
	for (uint32_t i = 0; i < n_names && n < SHOWN_MAX; i++) {
		const char *name = name_of(t, i);

		if (is_shown(shown, n, name))
			continue;
		shown[n++] = name;
		fprintf(stderr, " %s", name);
	}
	fprintf(stderr, "%s", n == SHOWN_MAX ? " ..." : "");
}

static void say_what_there_is(const struct gsb_traced *t, const char *word)
{
	fprintf(stderr,
		"gsb-trace: '%s' is no serial, tenant, range or kernel of this trace; tenants:",
		word);
	for (uint32_t i = 0; i < t->n_tenants && i < SHOWN_MAX; i++)
		fprintf(stderr, " %s", t->tenants[i].name);
	fprintf(stderr, "%s", t->n_tenants > SHOWN_MAX ? " ..." : "");
	if (t->n_labels)
		say_names(t, "ranges", t->n_labels, range_name);
	say_names(t, "kernels", t->n_kernels, kernel_name);
	fprintf(stderr, "\n");
}

int gsb_traced_filter_read(struct gsb_traced_filter *f, const struct gsb_traced *t,
			   const char *word)
{
	uint64_t serial;

	*f = (struct gsb_traced_filter){.tenant = find_tenant(t, word)};
	if (f->tenant != GSB_TRACED_NONE)
		return 0;
	f->range = find_range(t, word);
	if (f->range)
		return 0;
	f->kernel = find_kernel(t, word);
	if (f->kernel)
		return 0;
	if (is_number(word, &serial))
		f->op = gsb_traced_find(t, serial);
	if (f->op)
		return 0;
	say_what_there_is(t, word);
	return -ENOENT;
}

bool gsb_traced_matches(const struct gsb_traced_filter *f, const struct gsb_traced *t,
			const struct gsb_traced_op *op)
{
	if (f->op)
		return op == f->op;
	if (f->tenant != GSB_TRACED_NONE)
		return op->tenant == f->tenant;
	if (f->range)
		return gsb_traced_ranges_around(t, op, f->range) != GSB_TRACED_NONE;
	return op->kernel != GSB_TRACED_NONE && !strcmp(t->kernels[op->kernel].name, f->kernel);
}
