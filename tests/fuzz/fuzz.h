/*
 * fuzz.h - what a fuzz target is: libFuzzer's entry point, and where its seeds are.
 *
 * With clang, `make fuzz` builds the targets with libFuzzer. Everywhere, replay.c is a main() for them:
 * the seeds and a fixed number of mutations of each, so that they are part of `make check`.
 */
#ifndef GSB_TESTS_FUZZ_H
#define GSB_TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

extern const char *const gsb_fuzz_seeds; /* a glob pattern, under the source folder */

/* fuzz_records.c only: hostile tenants so far, and how many of them were cut off. */
void gsb_fuzz_records_seen(unsigned *n_tenants, unsigned *n_cut);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#endif
