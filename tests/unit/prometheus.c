/*
 * prometheus.c - see prometheus.h. One line after the other; what may come next depends on the line before.
 */
#include "tests/unit/prometheus.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAME_MAX_BYTES 128
#define NAMES_MAX      256
#define SERIES_MAX     65536

struct reader {
	char why[256];
	unsigned line;
	char family[NAME_MAX_BYTES]; /* whose samples may come; "": none yet */
	bool has_type, is_counter;
	unsigned n_samples; /* of the family */
	char families[NAMES_MAX][NAME_MAX_BYTES];
	unsigned n_families;
	char **series;
	unsigned n_series;
};

static bool wrong(struct reader *r, const char *what, const char *at)
{
	snprintf(r->why, sizeof(r->why), "line %u: %s: %.100s", r->line, what, at);
	return false;
}

/* The length of a name at s; 0: there is none. */
static size_t name_length(const char *s, bool is_label)
{
	size_t n = 0;

	if (isdigit((unsigned char)*s))
		return 0;
	while (isalnum((unsigned char)s[n]) || s[n] == '_' || (!is_label && s[n] == ':'))
		n++;
	return n < NAME_MAX_BYTES ? n : 0;
}

static bool ends_with(const char *s, const char *end)
{
	size_t n = strlen(s), m = strlen(end);

	return n >= m && !strcmp(s + n - m, end);
}

/* ---- comments ---- */

static bool on_help(struct reader *r, const char *s)
{
	size_t n = name_length(s, false);

	if (!n || s[n] != ' ' || !s[n + 1])
		return wrong(r, "HELP without a name or a text", s);
	if (*r->family && (!r->has_type || !r->n_samples))
		return wrong(r, "HELP before the samples of the last name", s);
	snprintf(r->family, sizeof(r->family), "%.*s", (int)n, s);
	for (unsigned i = 0; i < r->n_families; i++)
		if (!strcmp(r->families[i], r->family))
			return wrong(r, "a name for the second time", r->family);
	if (r->n_families == NAMES_MAX)
		return wrong(r, "too many names", s);
	strcpy(r->families[r->n_families++], r->family);
	r->has_type = false;
	r->n_samples = 0;
	return true;
}

static bool on_type(struct reader *r, const char *s)
{
	size_t n = strlen(r->family);

	if (!n || r->has_type || strncmp(s, r->family, n) != 0 || s[n] != ' ')
		return wrong(r, "TYPE of another name than HELP's, or for the second time", s);
	r->is_counter = !strcmp(s + n + 1, "counter");
	if (!r->is_counter && strcmp(s + n + 1, "gauge") != 0)
		return wrong(r, "not a type", s);
	if (ends_with(r->family, "_total") != r->is_counter)
		return wrong(r, "counters, and only they, end in _total", s);
	r->has_type = true;
	return true;
}

/* ---- samples ---- */

/* What follows the value of a label; NULL: it is not well escaped. */
static const char *skip_value(const char *s)
{
	if (*s++ != '"')
		return NULL;
	for (; *s && *s != '"'; s++)
		if (*s == '\\' && !strchr("\\\"n", *++s))
			return NULL;
	return *s ? s + 1 : NULL;
}

static const char *fail(struct reader *r, const char *what, const char *at)
{
	wrong(r, what, at);
	return NULL;
}

/* What follows the labels. */
static const char *skip_labels(struct reader *r, const char *s)
{
	const char *seen[16];
	size_t lengths[16];
	unsigned n = 0;

	do {
		size_t length = name_length(++s, true);

		for (unsigned i = 0; i < n; i++)
			if (lengths[i] == length && !memcmp(seen[i], s, length))
				return fail(r, "a label twice", s);
		if (!length || s[length] != '=' || n == 16)
			return fail(r, "not a label", s);
		seen[n] = s;
		lengths[n++] = length;
		s = skip_value(s + length + 1);
		if (!s)
			return fail(r, "a label's value is not well escaped", seen[n - 1]);
	} while (*s == ',');
	if (*s != '}')
		return fail(r, "labels without an end", s);
	return s + 1;
}

static bool is_value(const char *s)
{
	size_t n = strspn(s, "0123456789");

	if (!n || (n > 1 && *s == '0'))
		return false;
	s += n;
	if (*s != '.')
		return !*s;
	n = strspn(++s, "0123456789");
	return n && !s[n];
}

static bool note_series(struct reader *r, const char *s, size_t n)
{
	if (r->n_series == SERIES_MAX)
		return wrong(r, "too many series", s);
	r->series[r->n_series++] = strndup(s, n);
	return true;
}

static bool on_sample(struct reader *r, const char *s)
{
	size_t n = strlen(r->family);
	const char *end = s + n;

	if (!r->has_type || strncmp(s, r->family, n) != 0 || (*end != '{' && *end != ' '))
		return wrong(r, "a sample that is not of the last name", s);
	if (*end == '{')
		end = skip_labels(r, end);
	if (!end)
		return false;
	if (*end != ' ' || !is_value(end + 1))
		return wrong(r, "not a value", end);
	r->n_samples++;
	return note_series(r, s, (size_t)(end - s));
}

/* ---- the text ---- */

static bool on_line(struct reader *r, const char *s)
{
	for (const char *c = s; *c; c++)
		if ((unsigned char)*c < ' ')
			return wrong(r, "a control character", s);
	if (!strncmp(s, "# HELP ", 7))
		return on_help(r, s + 7);
	if (!strncmp(s, "# TYPE ", 7))
		return on_type(r, s + 7);
	if (!*s || *s == '#')
		return wrong(r, "neither HELP, TYPE nor a sample", s);
	return on_sample(r, s);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool check_unique(struct reader *r)
{
	qsort(r->series, r->n_series, sizeof(*r->series), by_text);
	for (unsigned i = 1; i < r->n_series; i++)
		if (!strcmp(r->series[i - 1], r->series[i]))
			return wrong(r, "a series twice", r->series[i]);
	return true;
}

static bool check(struct reader *r, char *text)
{
	char *next;

	for (; *text; text = next) {
		next = strchr(text, '\n');
		r->line++;
		if (!next)
			return wrong(r, "the last line has no end", text);
		*next++ = 0;
		if (!on_line(r, text))
			return false;
	}
	if (!r->n_samples)
		return wrong(r, "it ends without a sample", r->family);
	return check_unique(r);
}

const char *prometheus_check(const char *text)
{
	static struct reader r;
	char *copy = strdup(text);
	bool ok;

	memset(&r, 0, sizeof(r));
	r.series = calloc(SERIES_MAX, sizeof(*r.series));
	ok = copy && r.series && check(&r, copy);
	for (unsigned i = 0; i < r.n_series; i++)
		free(r.series[i]);
	free(r.series);
	free(copy);
	return ok ? NULL : *r.why ? r.why : "no memory";
}
