/*
 * gsb-bench.c - measurements: one table of parts, each in its own file.
 */
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "tools/bench.h"

static const struct {
	const char *name, *help;
	int (*run)(int argc, char **argv);
} parts[] = {
	{"transport", "time in cuLaunchKernel and launches per second, ours beside native",
	 gsb_bench_transport},
	{"threads", "launches per second of threads that wait for each of theirs",
	 gsb_bench_threads},
	{"memory", "resident memory of the library, the broker and an engine", gsb_bench_memory},
	{"model", "time to plan: stage 1, stage 2, pairs; beside the papers' figures",
	 gsb_bench_model},
	{"tenant", NULL, gsb_bench_tenant},
};

static int usage(FILE *to, int status)
{
	fprintf(to, "usage: gsb-bench PART [option...]\n");
	for (unsigned i = 0; i < GSB_ARRAY_LEN(parts); i++)
		if (parts[i].help)
			fprintf(to, "  %-10s %s\n", parts[i].name, parts[i].help);
	fprintf(to, "gsb-bench PART --help shows the options of a part.\n");
	return status;
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage(stderr, 2);
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h"))
		return usage(stdout, 0);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(parts); i++)
		if (!strcmp(parts[i].name, argv[1]))
			return parts[i].run(argc - 1, argv + 1);
	fprintf(stderr, "gsb-bench: no part '%s'\n", argv[1]);
	return usage(stderr, 2);
}
