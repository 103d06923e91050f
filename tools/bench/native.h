/*
 * native.h - what the processors themselves make of a class of `gsb-bench emu`, with one thread and with two: the same work on as much
 * memory, by plain C. How much the second thread adds is the machine's, its caches' and its memory's; a device cannot be asked for more.
 */
#ifndef GSB_TOOLS_BENCH_NATIVE_H
#define GSB_TOOLS_BENCH_NATIVE_H

#include <stdbool.h>

enum gsb_native_work {
	GSB_NATIVE_STREAM, /* a = b + 3 c */
	GSB_NATIVE_ATOMIC, /* atomic additions, all threads in the same 65,536 places */
	GSB_NATIVE_COMBINED, /* each thread in places of its own, which it adds to the common ones at the end */
	GSB_NATIVE_N_WORKS,
};

#define GSB_NATIVE_MAX_THREADS 2

/* The memory that so many threads work on. */
struct gsb_native;
struct gsb_native *
gsb_native_create(unsigned n_threads); /* NULL: no memory, or more threads than the most */
void gsb_native_destroy(struct gsb_native *n);

/* What the work is done to, a million a second; negative: a thread could not be had, or the results are wrong. */
double gsb_native_measure(struct gsb_native *n, enum gsb_native_work work);

#endif
