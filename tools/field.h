/*
 * field.h - what gsbctl shows, field by field: as cells of a printed table and as JSON.
 *
 * Each thing that is shown stands once in a table of fields: its heading in the printed table, its
 * key in JSON, and where it lies in the answer. JSON has every field, in plain units; the printed
 * table has those with a heading, rounded for reading. JSON keys are stable: fields are added, never
 * renamed.
 */
#ifndef GSB_TOOLS_FIELD_H
#define GSB_TOOLS_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define GSB_CELL_MAX	64
#define GSB_COLUMNS_MAX 24

enum gsb_field_kind {
	GSB_FIELD_TEXT,
	GSB_FIELD_U32,
	GSB_FIELD_I32,
	GSB_FIELD_U64,
	GSB_FIELD_BYTES,   /* uint64_t */
	GSB_FIELD_NS,	   /* uint64_t */
	GSB_FIELD_LIMIT,   /* bytes, 0 = none */
	GSB_FIELD_AGE,	   /* ns, 0 = none */
	GSB_FIELD_ID,	   /* uint32_t, UINT32_MAX = hidden: null in JSON */
	GSB_FIELD_PERCENT, /* double, 1 = 100 %; negative = not known */
	GSB_FIELD_TIMES,   /* double; likewise */
	GSB_FIELD_PPM,	   /* uint64_t, 1000000 = 1; 0 = not known: null in JSON */
	GSB_FIELD_RATIO,   /* two uint64_t, one by the other; of 0: not known */
	GSB_FIELD_ERROR,   /* two uint64_t, a sum in millionths and of how many; likewise */
	GSB_FIELD_TENANT,  /* enum gsb_tenant_state */
	GSB_FIELD_ENGINE,  /* enum gsb_engine_state */
	GSB_FIELD_CLOCK	   /* enum gsb_clock_kind */
};

struct gsb_field {
	const char *heading; /* NULL: JSON only */
	const char *key;
	enum gsb_field_kind kind;
	size_t offset;
};

/* A printed table, row by row. Zeroed is empty. */
struct gsb_text_table {
	char (*cells)[GSB_COLUMNS_MAX][GSB_CELL_MAX]; /* the first row is the headings */
	unsigned n_rows, n_columns, room;
	bool left[GSB_COLUMNS_MAX]; /* texts and words stand left, numbers right */
};

/* Begin a row. Ends the program without memory. */
void gsb_table_row(struct gsb_text_table *t);
/* Append the cells of these fields to the row; base NULL: their headings, or "-" below them. */
void gsb_table_cells(struct gsb_text_table *t, const struct gsb_field *f, unsigned n,
		     const void *base);
/* Print it and free it. */
void gsb_table_print(struct gsb_text_table *t);
void gsb_table_write(struct gsb_text_table *t, FILE *f);

void gsb_json_string(const char *s);
/* "key": value, ...; a comma first unless it is the first in its object. */
void gsb_json_fields(const struct gsb_field *f, unsigned n, const void *base, bool first);

#endif
