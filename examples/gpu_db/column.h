/*
 * column.h - the database's files: one column per file, with a header that says what it must hold.
 *
 * A file is NAME.col: a header, then 32-bit little-endian words. The header has magic, version, name,
 * element kind, rows, the seed and scale it was generated from, a checksum of the words (mix.h) and
 * one of itself. column_read() believes nothing: a file that is truncated, too long, damaged, of
 * another version or another column is refused with one line that says so.
 */
#ifndef GPU_DB_COLUMN_H
#define GPU_DB_COLUMN_H

#include <stdint.h>

#define COLUMN_VERSION 1u

enum column_kind { COLUMN_U32 = 1, COLUMN_F32 = 2 };

enum column_id {
	COLUMN_R_KEY,
	COLUMN_R_VAL,
	COLUMN_S_KEY,
	COLUMN_S_VAL,
	COLUMN_Z_KEY,
	COLUMN_Z_VAL,
	COLUMN_TEXT, /* input of md5 */
	COLUMN_A,    /* matrices, row-major */
	COLUMN_B,
	COLUMN_X, /* coordinates of the atoms */
	COLUMN_Y,
	COLUMN_N
};

struct column {
	union {
		uint32_t *words; /* owned */
		float *floats;	 /* the same, of a COLUMN_F32 */
	};
	uint64_t rows;
	uint64_t seed;
	double scale;
	uint64_t checksum; /* mix_words() of the words */
};

/* One line of text about a failure, for the person at the terminal. */
struct failure {
	char text[512];
};

/* Writes the text and gives `code` back: return explain(f, -EINVAL, ...). */
int explain(struct failure *f, int code, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));

const char *column_name(enum column_id id);
enum column_kind column_kind(enum column_id id);

/**
 * column_write() - write DIR/NAME.col, through a temporary file, so that no half file has the name
 * @c: words, rows, seed and scale; checksum is computed here and set
 * Return: 0, -errno with the reason in @f.
 */
int column_write(const char *dir, enum column_id id, struct column *c, struct failure *f);

/**
 * column_read() - read and check DIR/NAME.col
 * @out: the caller frees it with column_finish(); untouched on failure
 * Return: 0, -errno with the reason in @f; -EINVAL for a file that is not what it should be.
 */
int column_read(const char *dir, enum column_id id, struct column *out, struct failure *f);

void column_finish(struct column *c);

#endif
