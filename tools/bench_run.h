/*
 * bench_run.h - running ourselves again, natively or under a private broker, and reading one line back.
 */
#ifndef GSB_TOOLS_BENCH_RUN_H
#define GSB_TOOLS_BENCH_RUN_H

#include <stdbool.h>
#include <stddef.h>

/* What is measured, and on what: the defaults of the part, until it is parsed. */
struct gsb_bench_settings {
	const char *launches, *device;
};

/* The command line of a part that has these two options. Ends the program for --help and wrong usage. */
void gsb_bench_parse(int argc, char **argv, struct gsb_bench_settings *s);

/* The path of a program that lies beside this one. */
void gsb_bench_sibling(const char *name, char *path, size_t size);

/*
 * gsb_bench_self() - run `gsb-bench ARGS...` and read its first line of output
 * @device: run it under `gsbrun --private --device DEVICE`; NULL = plainly
 * @args:   NULL-terminated, at most 8
 * Returns false when it did not start or did not exit with 0.
 */
bool gsb_bench_self(const char *device, const char *const *args, char *line, int size);

#endif
