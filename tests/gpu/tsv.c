/*
 * tsv.c - see tsv.h.
 */
#include "tsv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void tsv_die(const char *path, const char *what)
{
	fprintf(stderr, "model_tables: %s: %s\n", path, what);
	exit(1);
}

struct tsv tsv_open(const char *path)
{
	struct tsv t = {.file = fopen(path, "r"), .path = path};

	if (!t.file)
		tsv_die(path, strerror(errno));
	return t;
}

static void split(struct tsv *t)
{
	char *at = t->line;

	at[strcspn(at, "\n")] = 0;
	for (t->n = 0; at; t->n++) {
		if (t->n == TSV_FIELDS_MAX)
			tsv_die(t->path, "a line has too many fields");
		t->fields[t->n] = strsep(&at, "\t");
	}
}

bool tsv_next(struct tsv *t)
{
	while (getline(&t->line, &t->size, t->file) > 0)
		if (t->line[0] != '#') {
			split(t);
			return true;
		}
	free(t->line);
	fclose(t->file);
	return false;
}

const char *tsv_text(const struct tsv *t, unsigned field)
{
	if (field >= t->n)
		tsv_die(t->path, "a line has too few fields");
	return t->fields[field];
}

double tsv_number(const struct tsv *t, unsigned field)
{
	const char *text = tsv_text(t, field);
	char *rest;
	double x = strtod(text, &rest);

	if (rest == text || *rest)
		tsv_die(t->path, "a field is no number");
	return x;
}

uint32_t tsv_count(const struct tsv *t, unsigned field)
{
	double x = tsv_number(t, field);

	if (!(x >= 0) || x > UINT32_MAX)
		tsv_die(t->path, "a field is no count");
	return (uint32_t)x;
}
