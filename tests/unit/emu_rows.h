/*
 * emu_rows.h - the rows of emu_ops.def as a table that programs walk: the PTX of a row, its edge values,
 * and what its C expression gives. One caller runs them on the interpreter (test_emu_ops.c), another
 * on a GPU (tests/gpu/emu_oracle.c), so that both run the same text on the same inputs.
 */
#ifndef GSB_TESTS_EMU_ROWS_H
#define GSB_TESTS_EMU_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The values of a column; T_NONE is the x of emu_ops.def. */
enum t_type { T_NONE, T_U16, T_S16, T_U32, T_S32, T_U64, T_S64, T_F32, T_F64, T_PRED };

struct t_type_words {
	const char *reg, *mem;
	unsigned int bytes;
	bool is_float;
};

extern const struct t_type_words t_types[];

union t_value {
	uint16_t u16;
	int16_t s16;
	uint32_t u32;
	int32_t s32;
	uint64_t u64;
	int64_t s64;
	float f32;
	double f64;
	uint32_t pred;
	char x;
};

typedef void t_reference(const union t_value *a, const union t_value *b, const union t_value *c,
			 union t_value *d);

struct t_row {
	enum t_type type[4]; /* of d, a, b, c */
	const char *text;
	t_reference *expect;
	bool near; /* an approximation */
};

extern const struct t_row t_rows[];
extern const size_t t_n_rows;

#define T_TEXT_BYTES  8192
#define T_ROW_THREADS 128
extern const uint32_t
	t_n_edges; /* results of a row on edge values: whole blocks of T_ROW_THREADS */

/* The row's two kernels: "full", all lanes at once; "split", in two arms of a branch. Both take the columns' addresses. */
void t_row_text(const struct t_row *r, char *out, size_t size);
/* Columns 1..3 of the row, t_n_edges values each: all pairs of the first two, the third walks along. */
void t_row_fill_edges(const struct t_row *r, void *const column[4]);
/* The i-th value of the row's k-th column. */
union t_value t_row_at(const struct t_row *r, const void *column, unsigned int k, uint32_t i);
/* Whether @got is as good as @want: approximations to 2^-20, NaNs of the one pattern where there is one. */
bool t_row_agrees(const struct t_row *r, const union t_value *got, const union t_value *want);

#endif
