/*
 * emu_rows.h - the rows of tests/oracle/rows: what each opcode form gives, as tests/oracle/generate computed it. A row is a PTX
 * text over registers d, a, b, c, e, columns of inputs, and the results. One caller runs them on the interpreter
 * (test_emu_ops.c), another on a GPU (tests/gpu/emu_oracle.c), so that both run the same text on the same inputs.
 */
#ifndef GSB_TESTS_EMU_ROWS_H
#define GSB_TESTS_EMU_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct t_column {
	char name[16];
	unsigned int bytes;
	uint32_t n;
	uint64_t *values;
};

#define T_MAX_INPUTS 4

struct t_row {
	char *forms; /* spellings, by spaces, that it is evidence for */
	char *text;
	unsigned int bytes; /* of the result; 0: a predicate */
	unsigned int n_inputs;
	const struct t_column *inputs[T_MAX_INPUTS];
	uint32_t n; /* results; a shorter column begins anew */
	const uint64_t *results;
	double ulps, absolute; /* an approximation may lie so far off; 0, 0: the bits themselves */
};

/* All rows, for good; what cannot be read ends the program with a message. */
const struct t_row *t_rows_load(size_t *n);

#define T_TEXT_BYTES	8192
#define T_ROW_THREADS	128
#define T_ROW_ARGS	(T_MAX_INPUTS + 2) /* results, inputs, 16 bytes of memory a thread */
#define T_SCRATCH_BYTES 16

/* The row's two kernels: "full", all lanes at once; "split", in two arms of a branch. Both take T_ROW_ARGS addresses. */
void t_row_text(const struct t_row *r, char *out, size_t size);
/* Threads for a row: whole blocks of T_ROW_THREADS; those beyond its values repeat them. */
uint32_t t_row_threads(const struct t_row *r);
/* Input @k, or the result, of thread @i. */
uint64_t t_row_input(const struct t_row *r, unsigned int k, uint32_t i);
uint64_t t_row_result(const struct t_row *r, uint32_t i);
unsigned int t_row_result_bytes(const struct t_row *r); /* in memory: of a predicate, a word */
/* The @i-th value of an array of values of @bytes. */
uint64_t t_value_at(const void *array, unsigned int bytes, uint32_t i);
void t_value_put(void *array, unsigned int bytes, uint32_t i, uint64_t value);

bool t_is_nan(unsigned int bytes, uint64_t bits);
double t_as_real(unsigned int bytes, uint64_t bits);
/* How many floats lie between two. */
uint64_t t_ulps(unsigned int bytes, uint64_t p, uint64_t q);
bool t_row_agrees(const struct t_row *r, uint64_t got, uint64_t want);

#endif
