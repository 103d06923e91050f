/*
 * random_program.h - programs in PTX that mean one thing only: whatever the order of threads, the same bits come out.
 */
#ifndef GSB_TESTS_RANDOM_PROGRAM_H
#define GSB_TESTS_RANDOM_PROGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RANDOM_MAX_LINES     1500
#define RANDOM_MAX_BLOCKS    256
#define RANDOM_THREAD_BYTES  256 /* of input, and of output, of each thread */
#define RANDOM_COUNTER_BYTES 128 /* that all threads reduce into */
#define RANDOM_N_BLOCKS	     2

struct random_program {
	char lines[RANDOM_MAX_LINES][100];
	bool may_drop[RANDOM_MAX_LINES]; /* without it the program still means one thing */
	unsigned int n_lines;
	struct {
		unsigned int first, end;
	} blocks[RANDOM_MAX_BLOCKS]; /* statements of several lines, that can be dropped whole */
	unsigned int n_blocks;
	unsigned int threads;
	unsigned int grid[3];
	bool leaves_early; /* threads leave while others have a barrier ahead */
};

/* The same seed gives the same program. Its entry is k(input, output, counters). */
void random_program_make(struct random_program *p, uint64_t seed);
/* Of a 3-D grid, whose ids it reads, and of whose threads some may leave early. */
void random_program_make_grid(struct random_program *p, uint64_t seed);
/* Without the lines of which @dropped says so; at most @size bytes, zero-terminated. */
void random_program_text(const struct random_program *p, const bool *dropped, char *out,
			 size_t size);
uint64_t random_next(uint64_t *state);

#endif
