/*
 * data.h - a data set: the columns that a query needs, generated or read, and known to belong together.
 *
 * The generator is a pure function of scale and seed. S and Z hold every key at least once, so that
 * every row of every table has a part in a join's result: no bit of a table is without effect.
 */
#ifndef GPU_DB_DATA_H
#define GPU_DB_DATA_H

#include "column.h"
#include "sizes.h"

struct data {
	struct sizes sizes;
	struct column column[COLUMN_N]; /* those that were not asked for are zeroed */
};

uint64_t data_rows(const struct sizes *sizes, enum column_id id);

/**
 * data_generate() - fill one column
 * @out: words of data_rows() rows; the caller frees it with column_finish()
 * Return: 0, -ENOMEM.
 */
int data_generate(const struct sizes *sizes, uint64_t seed, enum column_id id, struct column *out);

/**
 * data_read() - read columns from a folder and check that they are one data set
 * @ids: a bit per column, 1 << id
 * @out: the caller frees it with data_finish(); untouched on failure
 * Return: 0, -errno with the reason in @f.
 */
int data_read(const char *dir, unsigned ids, struct data *out, struct failure *f);

void data_finish(struct data *d);

#endif
