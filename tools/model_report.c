/*
 * model_report.c - see model_report.h.
 */
#include "tools/model_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *must(void *p)
{
	if (p)
		return p;
	fprintf(stderr, "gsb-model: no memory\n");
	exit(1);
}

void report_init(struct report *r, bool json, const char *const *columns, size_t n_columns)
{
	memset(r, 0, sizeof(*r));
	r->json = json;
	r->columns = columns;
	r->n_columns = n_columns;
}

static void add_cell(struct report *r, char *text, bool quoted)
{
	r->cells = must(realloc(r->cells, (r->n_cells + 1) * sizeof(*r->cells)));
	r->cells[r->n_cells++] = (struct report_cell){text, quoted};
}

GSB_PRINTF(1, 0) static char *format(const char *fmt, va_list ap)
{
	char *text;

	return vasprintf(&text, fmt, ap) < 0 ? must(NULL) : text;
}

void report_text(struct report *r, const char *text)
{
	add_cell(r, must(strdup(text)), true);
}

void report_number(struct report *r, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_cell(r, format(fmt, ap), false);
	va_end(ap);
}

void report_none(struct report *r)
{
	add_cell(r, NULL, false);
}

static void add_fact(struct report *r, const char *key, char *text, bool quoted)
{
	if (r->n_facts == GSB_ARRAY_LEN(r->facts))
		abort();
	r->facts[r->n_facts++] = (struct report_fact){key, {text, quoted}};
}

void report_fact_text(struct report *r, const char *key, const char *text)
{
	add_fact(r, key, must(strdup(text)), true);
}

void report_fact_number(struct report *r, const char *key, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	add_fact(r, key, format(fmt, ap), false);
	va_end(ap);
}

/* Names come from files: whatever is in them, JSON stays JSON. */
static void print_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;

		if (c == '"' || c == '\\')
			printf("\\%c", c);
		else if (c < 0x20 || c > 0x7e)
			printf("\\u%04x", c);
		else
			putchar(c);
	}
	putchar('"');
}

/* A name of a column or fact as a key: "blocks/SM" is blocks_per_SM, "occupancy %" occupancy_pct. */
static void print_json_key(const char *key)
{
	putchar('"');
	for (; *key; key++) {
		switch (*key) {
		case ' ': putchar('_'); break;
		case '/': printf("_per_"); break;
		case '%': printf("pct"); break;
		default: putchar(*key);
		}
	}
	printf("\": ");
}

static void print_json_cell(const struct report_cell *c)
{
	if (!c->text)
		printf("null");
	else if (c->quoted)
		print_json_string(c->text);
	else
		printf("%s", c->text);
}

static void print_json(const struct report *r)
{
	printf("{");
	for (size_t i = 0; i < r->n_facts; i++) {
		print_json_key(r->facts[i].key);
		print_json_cell(&r->facts[i].value);
		printf(",\n ");
	}
	printf("\"rows\": [");
	for (size_t i = 0; i < r->n_cells; i++) {
		size_t column = i % r->n_columns;

		printf("%s", column ? ", " : i ? ",\n  {" : "\n  {");
		print_json_key(r->columns[column]);
		print_json_cell(&r->cells[i]);
		if (column == r->n_columns - 1)
			putchar('}');
	}
	printf("\n ]}\n");
}

static const char *shown(const struct report_cell *c)
{
	return c->text ? c->text : "-";
}

static int width_of(const struct report *r, size_t column)
{
	size_t width = strlen(r->columns[column]);

	for (size_t i = column; i < r->n_cells; i += r->n_columns)
		if (strlen(shown(&r->cells[i])) > width)
			width = strlen(shown(&r->cells[i]));
	return (int)width;
}

/* Text to the left, numbers to the right; a column is what its cells are. */
static bool is_text(const struct report *r, size_t column)
{
	for (size_t i = column; i < r->n_cells; i += r->n_columns)
		if (r->cells[i].text)
			return r->cells[i].quoted;
	return false;
}

static void print_cell(const struct report *r, size_t column, const char *text)
{
	const char *end = column == r->n_columns - 1 ? "\n" : "  ";

	if (!is_text(r, column))
		printf("%*s%s", width_of(r, column), text, end);
	else if (column == r->n_columns - 1)
		printf("%s\n", text);
	else
		printf("%-*s%s", width_of(r, column), text, end);
}

static void print_table(const struct report *r)
{
	for (size_t c = 0; r->n_cells && c < r->n_columns; c++)
		print_cell(r, c, r->columns[c]);
	for (size_t i = 0; i < r->n_cells; i++)
		print_cell(r, i % r->n_columns, shown(&r->cells[i]));
	if (r->n_cells && r->n_facts)
		putchar('\n');
	for (size_t i = 0; i < r->n_facts; i++)
		printf("%s: %s\n", r->facts[i].key, shown(&r->facts[i].value));
}

void report_finish(struct report *r)
{
	if (r->json)
		print_json(r);
	else
		print_table(r);
	for (size_t i = 0; i < r->n_cells; i++)
		free(r->cells[i].text);
	for (size_t i = 0; i < r->n_facts; i++)
		free(r->facts[i].value.text);
	free(r->cells);
	memset(r, 0, sizeof(*r));
}
