/*
 * find.c - see find.h.
 */
#include "tools/trace/find.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Was this kernel's name there before? Only few are shown, so few are compared. */
static bool is_shown(const char *const shown[SHOWN_MAX], unsigned n, const char *name)
{
	for (unsigned i = 0; i < n; i++)
		if (!strcmp(shown[i], name))
			return true;
	return false;
}

static void say_what_there_is(const struct gsb_traced *t, const char *word)
{
	const char *shown[SHOWN_MAX];
	unsigned n = 0;

	fprintf(stderr,
		"gsb-trace: '%s' is no serial, tenant or kernel of this trace; tenants:", word);
	for (uint32_t i = 0; i < t->n_tenants && i < SHOWN_MAX; i++)
		fprintf(stderr, " %s", t->tenants[i].name);
	fprintf(stderr, "%s; kernels:", t->n_tenants > SHOWN_MAX ? " ..." : "");
	for (uint32_t i = 0; i < t->n_kernels && n < SHOWN_MAX; i++) {
		const char *name = t->kernels[i].name;

		if (is_shown(shown, n, name))
			continue;
		shown[n++] = name;
		fprintf(stderr, " %s", name);
	}
	fprintf(stderr, "%s\n", n == SHOWN_MAX ? " ..." : "");
}

int gsb_traced_filter_read(struct gsb_traced_filter *f, const struct gsb_traced *t,
			   const char *word)
{
	uint64_t serial;

	*f = (struct gsb_traced_filter){.tenant = find_tenant(t, word)};
	if (f->tenant != GSB_TRACED_NONE)
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
	return op->kernel != GSB_TRACED_NONE && !strcmp(t->kernels[op->kernel].name, f->kernel);
}
