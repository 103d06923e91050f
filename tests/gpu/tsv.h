/*
 * tsv.h - reading the tab-separated files of model_measure; whatever is wrong with one ends the program.
 */
#ifndef GSB_TESTS_GPU_TSV_H
#define GSB_TESTS_GPU_TSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#define TSV_FIELDS_MAX 80

struct tsv {
	FILE *file;
	const char *path;
	char *line;
	size_t size;
	unsigned n; /* fields of the line */
	char *fields[TSV_FIELDS_MAX];
};

_Noreturn void tsv_die(const char *path, const char *what);
struct tsv tsv_open(const char *path);
bool tsv_next(
	struct tsv *t); /* the next line that is no comment; false at the end, and all is closed */
const char *tsv_text(const struct tsv *t, unsigned field);
double tsv_number(const struct tsv *t, unsigned field);
uint32_t tsv_count(const struct tsv *t, unsigned field);

#endif
