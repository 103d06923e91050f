/*
 * model_report.h - what a subcommand of gsb-model has to say: facts, and rows under columns.
 *
 * The same calls give aligned tables for people and JSON for programs. A number is a JSON number only
 * when it was put in as one. Nothing is printed before the end, when the widths are known.
 */
#ifndef GSB_TOOLS_MODEL_REPORT_H
#define GSB_TOOLS_MODEL_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/compiler.h"

struct report_cell {
	char *text; /* NULL: nothing to say: "-", null */
	bool quoted;
};

struct report_fact {
	const char *key;
	struct report_cell value;
};

struct report {
	bool json;
	const char *const *columns;
	size_t n_columns;
	struct report_cell *cells; /* n_columns a row */
	size_t n_cells;
	struct report_fact facts[24];
	size_t n_facts;
};

/* @columns lives as long as the report. Memory that runs out ends the program. */
void report_init(struct report *r, bool json, const char *const *columns, size_t n_columns);
/* Cells of the next row, from left to right. */
void report_text(struct report *r, const char *text);
GSB_PRINTF(2, 3) void report_number(struct report *r, const char *fmt, ...);
void report_none(struct report *r);
/* A fact about the whole: "key: value" below the table, a member of the object in JSON. */
void report_fact_text(struct report *r, const char *key, const char *text);
GSB_PRINTF(3, 4) void report_fact_number(struct report *r, const char *key, const char *fmt, ...);
/* Print to stdout and free. */
void report_finish(struct report *r);

#endif
