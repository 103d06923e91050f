/*
 * gsb-bench.c - measurements: one table of parts, each in its own file with a command line of its own.
 */
#include <argp.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "base/program.h"
#include "tools/bench.h"

static const struct {
	const char *name;
	int (*run)(int argc, char **argv);
} parts[] = {
	{"transport", gsb_bench_transport},
	{"threads", gsb_bench_threads},
	{"memory", gsb_bench_memory},
	{"model", gsb_bench_model},
	{"emu", gsb_bench_emu},
	{"compare", gsb_bench_compare},
	{"device", gsb_bench_device},
	{"launch", gsb_bench_device},
	{"sync", gsb_bench_device},
	{"copy", gsb_bench_device},
	{"alloc", gsb_bench_device},
	{"startup", gsb_bench_device},
	{"interference", gsb_bench_device},
	{"tenants", gsb_bench_device},
	{"program", gsb_bench_device},
	{"mix", gsb_bench_device},
	{"tenant", gsb_bench_tenant}, /* not for the user: not in the help */
	{"probe", gsb_bench_probe},
};

/* The part, and where it stands in argv. */
struct choice {
	unsigned part;
	int at;
};

static void choose(struct choice *c, const char *name, struct argp_state *state)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(parts); i++)
		if (!strcmp(parts[i].name, name)) {
			*c = (struct choice){i, state->next - 1};
			state->next = state->argc; /* the rest is for the part */
			return;
		}
	argp_error(
		state,
		"no part '%s'; there are transport, threads, memory, model, emu, compare, device and "
		"its parts",
		name);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	switch (key) {
	case ARGP_KEY_ARG: choose(state->input, arg, state); return 0;
	case ARGP_KEY_NO_ARGS: argp_error(state, "no part given"); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp_option help[] = {
		{.doc = "Parts:"},
		{.name = "transport",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "time in cuLaunchKernel and launches per second, ours beside native"},
		{.name = "threads",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "launches per second of threads that wait for each of theirs"},
		{.name = "memory",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "resident memory of the library, the broker and an engine"},
		{.name = "model",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "time to plan: stage 1, stage 2, pairs; beside the papers' figures"},
		{.name = "emu",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "lane instructions per second of the emulated device, by class of work"},
		{.name = "compare",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "policies side by side, on mixes of the sample database and drawn loads"},
		{.name = "device",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "all that follow: native, MPS and the broker in turn on a GPU"},
		{.name = "launch, sync, copy, alloc",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "what calls cost a program"},
		{.name = "startup, tenants",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "a process with one kernel, and 16 at once; with NVIDIA's runtime, too"},
		{.name = "interference",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "a kernel's way there and back beside a program that loads and allocates"},
		{.name = "program, mix",
		 .flags = OPTION_DOC | OPTION_NO_USAGE,
		 .doc = "the sample database: one query, 16 at once, and eight again and again"},
		{0},
	};
	static const struct argp argp = {
		.options = help,
		.parser = on_option,
		.args_doc = "PART [OPTION...]",
		.doc = "Measure gsbroker, native beside ours in one run."
		       "\vgsb-bench PART --help shows the options of a part. Exit status: 0 "
		       "measured, 1 a measurement failed, 2 wrong usage. See gsb-bench(1).",
	};
	struct choice c = {0};
	char name[64];

	gsb_program_init("gsb-bench", argv);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &c);
	snprintf(name, sizeof(name), "gsb-bench %s", parts[c.part].name);
	argv[c.at] = name; /* what its messages begin with */
	return parts[c.part].run(argc - c.at, argv + c.at);
}
