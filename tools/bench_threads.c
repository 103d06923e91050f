/*
 * bench_threads.c - threads of one program that launch a kernel and wait for it, again and again.
 *
 * Under a private broker on the null device, which completes at once: what is measured is how a thread waits. Each
 * number of threads is run several times, in turns with the others, because one run says little on a busy machine.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "tools/bench.h"
#include "tools/bench_run.h"

#define N_RUNS 5

static const char *const counts[] = {"1", "2", "8", "32"};

static bool run(const char *device, const char *n, const char *threads, double *per_second)
{
	const char *const args[] = {"tenant", "-n", n, "-b", "1", "-t", threads, NULL};
	double total_ns; /* a launch */
	char line[256];

	if (!gsb_bench_self(device, args, line, sizeof(line)) ||
	    sscanf(line, "launches=%*u call_ns=%*f total_ns=%lf", &total_ns) != 1 || total_ns <= 0)
		return false;
	*per_second = 1e9 / total_ns;
	return true;
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int gsb_bench_threads(int argc, char **argv)
{
	double got[GSB_ARRAY_LEN(counts)][N_RUNS];
	struct gsb_bench_settings s = {.launches = "20000", .device = "null"};

	gsb_bench_parse(argc, argv, &s);
	for (unsigned j = 0; j < N_RUNS; j++)
		for (unsigned i = 0; i < GSB_ARRAY_LEN(counts); i++)
			if (!run(s.device, s.launches, counts[i], &got[i][j])) {
				fprintf(stderr,
					"gsb-bench: the run under gsbrun --device %s failed\n",
					s.device);
				return 1;
			}
	printf("%8s %38s\n%8s %12s %12s %12s\n", "threads",
	       "thousand launches waited for, a second", "", "median", "least", "most");
	for (unsigned i = 0; i < GSB_ARRAY_LEN(counts); i++) {
		qsort(got[i], N_RUNS, sizeof(got[i][0]), by_value);
		printf("%8s %12.1f %12.1f %12.1f\n", counts[i], got[i][N_RUNS / 2] / 1e3,
		       got[i][0] / 1e3, got[i][N_RUNS - 1] / 1e3);
	}
	printf("%s launches a run, %d runs each, on %s\n", s.launches, N_RUNS, s.device);
	return 0;
}
