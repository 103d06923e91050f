/*
 * field.c - see field.h.
 */
#include "tools/field.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/at.h"
#include "base/compiler.h"

/* ---- values ---- */

static const char *word(const char *const *words, unsigned n, uint32_t i)
{
	return i < n ? words[i] : "?";
}

/* The word of an enumeration, or NULL for other kinds. */
static const char *word_of(enum gsb_field_kind kind, uint32_t v)
{
	static const char *const tenant[] = {"admitted", "active", "leaving"};
	static const char *const engine[] = {"starting", "ready", "stopping", "dead"};
	static const char *const clock[] = {"virtual", "real"};

	switch (kind) {
	case GSB_FIELD_TENANT: return word(tenant, GSB_ARRAY_LEN(tenant), v);
	case GSB_FIELD_ENGINE: return word(engine, GSB_ARRAY_LEN(engine), v);
	case GSB_FIELD_CLOCK: return word(clock, GSB_ARRAY_LEN(clock), v);
	default: return NULL;
	}
}

/* At most four digits and a unit: 999, 1.5M, 12.3G. */
static void bytes_text(uint64_t v, char *out)
{
	static const char units[] = "BKMGTPE";
	double x = (double)v;
	unsigned i = 0;

	for (; x >= 1000 && units[i + 1]; i++)
		x /= 1024;
	if (i)
		snprintf(out, GSB_CELL_MAX, "%.1f%c", x, units[i]);
	else
		snprintf(out, GSB_CELL_MAX, "%" PRIu64, v);
}

static void ns_text(uint64_t v, char *out)
{
	static const char *const units[] = {"ns", "us", "ms", "s"};
	double x = (double)v;
	unsigned i = 0;

	for (; x >= 1000 && i + 1 < GSB_ARRAY_LEN(units); i++)
		x /= 1000;
	snprintf(out, GSB_CELL_MAX, i ? "%.2f%s" : "%.0f%s", x, units[i]);
}

static void none_if(bool none, char *out)
{
	if (none)
		strcpy(out, "-");
}

/* Of two numbers that stand together, as a RATIO or an ERROR; negative: not known. */
static double quotient(const struct gsb_field *f, const char *p)
{
	double of = (double)gsb_u64_at(p + sizeof(uint64_t));

	if (of <= 0)
		return -1;
	return (double)gsb_u64_at(p) / of / (f->kind == GSB_FIELD_ERROR ? 1e6 : 1);
}

static void cell_text(const struct gsb_field *f, const void *base, char *out)
{
	const char *p = (const char *)base + f->offset;

	switch (f->kind) {
	case GSB_FIELD_TEXT:
		snprintf(out, GSB_CELL_MAX, "%.*s", GSB_CELL_MAX - 1, *p ? p : "-");
		break;
	case GSB_FIELD_U32: snprintf(out, GSB_CELL_MAX, "%" PRIu32, gsb_u32_at(p)); break;
	case GSB_FIELD_I32: snprintf(out, GSB_CELL_MAX, "%" PRId32, (int32_t)gsb_u32_at(p)); break;
	case GSB_FIELD_U64: snprintf(out, GSB_CELL_MAX, "%" PRIu64, gsb_u64_at(p)); break;
	case GSB_FIELD_BYTES: bytes_text(gsb_u64_at(p), out); break;
	case GSB_FIELD_NS: ns_text(gsb_u64_at(p), out); break;
	case GSB_FIELD_LIMIT:
		bytes_text(gsb_u64_at(p), out);
		none_if(!gsb_u64_at(p), out);
		break;
	case GSB_FIELD_AGE:
		ns_text(gsb_u64_at(p), out);
		none_if(!gsb_u64_at(p), out);
		break;
	case GSB_FIELD_ID:
		snprintf(out, GSB_CELL_MAX, "%" PRIu32, gsb_u32_at(p));
		none_if(gsb_u32_at(p) == UINT32_MAX, out);
		break;
	case GSB_FIELD_PERCENT:
		snprintf(out, GSB_CELL_MAX, "%.1f%%", 100 * gsb_double_at(p));
		none_if(gsb_double_at(p) < 0, out);
		break;
	case GSB_FIELD_TIMES:
		snprintf(out, GSB_CELL_MAX, "%.2f", gsb_double_at(p));
		none_if(gsb_double_at(p) < 0, out);
		break;
	case GSB_FIELD_RATIO:
		snprintf(out, GSB_CELL_MAX, "%.2f", quotient(f, p));
		none_if(quotient(f, p) < 0, out);
		break;
	case GSB_FIELD_ERROR:
		snprintf(out, GSB_CELL_MAX, "%.1f%%", 100 * quotient(f, p));
		none_if(quotient(f, p) < 0, out);
		break;
	case GSB_FIELD_PPM:
		snprintf(out, GSB_CELL_MAX, "%.2f", (double)gsb_u64_at(p) / 1e6);
		none_if(!gsb_u64_at(p), out);
		break;
	default: snprintf(out, GSB_CELL_MAX, "%s", word_of(f->kind, gsb_u32_at(p)));
	}
}

/* ---- the printed table ---- */

void gsb_table_row(struct gsb_text_table *t)
{
	if (t->n_rows == t->room) {
		t->room = t->room ? 2 * t->room : 16;
		t->cells = realloc(t->cells, t->room * sizeof(*t->cells));
		if (!t->cells) {
			fprintf(stderr, "%s: out of memory\n", program_invocation_short_name);
			exit(1);
		}
	}
	memset(t->cells[t->n_rows++], 0, sizeof(*t->cells));
	t->n_columns = 0;
}

/* Append the cells of these fields to the last row; base NULL: their headings, or "-" below them. */
void gsb_table_cells(struct gsb_text_table *t, const struct gsb_field *f, unsigned n,
		     const void *base)
{
	for (unsigned i = 0; i < n; i++) {
		char *cell = t->cells[t->n_rows - 1][t->n_columns];

		if (!f[i].heading)
			continue;
		t->left[t->n_columns++] =
			f[i].kind == GSB_FIELD_TEXT || f[i].kind >= GSB_FIELD_TENANT;
		if (base)
			cell_text(&f[i], base, cell);
		else
			snprintf(cell, GSB_CELL_MAX, "%s", t->n_rows == 1 ? f[i].heading : "-");
	}
}

void gsb_table_print(struct gsb_text_table *t)
{
	gsb_table_write(t, stdout);
}

void gsb_table_write(struct gsb_text_table *t, FILE *f)
{
	int width[GSB_COLUMNS_MAX] = {0};

	for (unsigned r = 0; r < t->n_rows; r++)
		for (unsigned c = 0; c < t->n_columns; c++)
			if ((int)strlen(t->cells[r][c]) > width[c])
				width[c] = (int)strlen(t->cells[r][c]);
	for (unsigned r = 0; r < t->n_rows; r++)
		for (unsigned c = 0; c < t->n_columns; c++) {
			bool last = c + 1 == t->n_columns;
			int w = t->left[c] ? (last ? 0 : -width[c]) : width[c];

			fprintf(f, "%*s%s", w, t->cells[r][c], last ? "\n" : "  ");
		}
	free(t->cells);
}

/* ---- JSON ---- */

void gsb_json_string(const char *s)
{
	putchar('"');
	for (; *s; s++)
		if (*s == '"' || *s == '\\')
			printf("\\%c", *s);
		else if ((unsigned char)*s < ' ')
			printf("\\u%04x", (unsigned)*s);
		else
			putchar(*s);
	putchar('"');
}

static void json_value(const struct gsb_field *f, const char *p)
{
	switch (f->kind) {
	case GSB_FIELD_TEXT: gsb_json_string(p); break;
	case GSB_FIELD_U32: printf("%" PRIu32, gsb_u32_at(p)); break;
	case GSB_FIELD_I32: printf("%" PRId32, (int32_t)gsb_u32_at(p)); break;
	case GSB_FIELD_U64:
	case GSB_FIELD_BYTES:
	case GSB_FIELD_NS:
	case GSB_FIELD_AGE:
	case GSB_FIELD_LIMIT: printf("%" PRIu64, gsb_u64_at(p)); break;
	case GSB_FIELD_PERCENT:
	case GSB_FIELD_TIMES:
		if (gsb_double_at(p) < 0)
			printf("null");
		else
			printf("%.6g", gsb_double_at(p));
		break;
	case GSB_FIELD_RATIO:
	case GSB_FIELD_ERROR:
		if (quotient(f, p) < 0)
			printf("null");
		else
			printf("%.6f", quotient(f, p));
		break;
	case GSB_FIELD_ID:
		if (gsb_u32_at(p) == UINT32_MAX)
			printf("null");
		else
			printf("%" PRIu32, gsb_u32_at(p));
		break;
	case GSB_FIELD_PPM:
		if (gsb_u64_at(p))
			printf("%.6f", (double)gsb_u64_at(p) / 1e6);
		else
			printf("null");
		break;
	default: gsb_json_string(word_of(f->kind, gsb_u32_at(p)));
	}
}

void gsb_json_fields(const struct gsb_field *f, unsigned n, const void *base, bool first)
{
	for (unsigned i = 0; i < n; i++, first = false) {
		printf("%s\"%s\": ", first ? "" : ", ", f[i].key);
		json_value(&f[i], (const char *)base + f[i].offset);
	}
}
