/*
 * gsb-ptx.c - what the re-sizer knows of the kernels in a file: a command and a file.
 */
#include <stdio.h>

#include "base/program.h"
#include "tools/cli.h"
#include "tools/emu_option.h"
#include "tools/ptx/commands.h"

enum { CLASSIFY, REWRITE, COUNTS, DIFF_RUN };

static const struct gsb_cli_command commands[] = {
	[CLASSIFY] = {"classify", "FILE",
		      "which changes of a kernel's geometry are proven to be right"},
	[REWRITE] = {"rewrite", "FILE", "the module with variants of its kernels, as PTX"},
	[COUNTS] = {"counts", "FILE [ARGUMENT...]",
		    "run a kernel's counting variant on the emulated device"},
	[DIFF_RUN] = {"diff-run", "FILE [ARGUMENT...]",
		      "run a kernel and all its variants there, and compare"},
	{NULL, NULL, NULL},
};

static int (*const runners[])(const struct gsb_ptx_request *q) = {
	[CLASSIFY] = gsb_ptx_classify,
	[REWRITE] = gsb_ptx_rewrite,
	[COUNTS] = gsb_ptx_counts,
	[DIFF_RUN] = gsb_ptx_diff_run,
};

#define OF(command) (1u << (command))
#define LAUNCHES    (OF(COUNTS) | OF(DIFF_RUN))

enum { OPT_ARGS = 256, OPT_FORM, OPT_EVERY, OPT_RANDOM, OPT_SEED };

static const struct gsb_cli_option options[] = {
	{{"kernel", 'k', "NAME", 0, "only this one; a part of its name will do", 0}, 0},
	{{"json", 'j', NULL, 0, "print one JSON object", 0}, OF(CLASSIFY) | OF(COUNTS)},
	{{"why", 'w', NULL, 0, "each finding, with its line of PTX", 0}, OF(CLASSIFY)},
	{{"form", OPT_FORM, "FORM", 0, "slice, persistent, count or hint", 0}, OF(REWRITE)},
	{{"output", 'o', "FILE", 0, "where to (default: stdout)", 0}, OF(REWRITE)},
	{{"grid", 'g', "X[,Y[,Z]]", 0, "blocks (default 1)", 0}, LAUNCHES},
	{{"block", 'b', "X[,Y[,Z]]", 0, "threads of a block (default 1)", 0}, LAUNCHES},
	{{"shared", 's', "BYTES", 0, "dynamic shared memory of a block", 0}, LAUNCHES},
	{{"args", OPT_ARGS, NULL, 0, "what follows are arguments; may be left out", 0}, LAUNCHES},
	{{"every", OPT_EVERY, "N", 0, "count one warp of so many (default 1)", 0}, OF(COUNTS)},
	{{"random", OPT_RANDOM, "N", 0, "runs (default 100)", 0}, OF(DIFF_RUN)},
	{{"seed", OPT_SEED, "N", 0, "number of the first run (default 1)", 0}, OF(DIFF_RUN)},
	{{NULL, 0, NULL, 0, NULL, 0}, 0},
};

static int set_option(void *input, int key, char *value)
{
	struct gsb_ptx_request *q = input;

	switch (key) {
	case 'k': q->kernel = value; return 0;
	case 'j': q->json = true; return 0;
	case 'w': q->why = true; return 0;
	case OPT_FORM: q->form = value; return 0;
	case 'o': q->out = value; return 0;
	case 'g': return emu_option_dims("grid", value, q->grid);
	case 'b': return emu_option_dims("block", value, q->block);
	case 's': return emu_option_number("shared", value, UINT32_MAX, &q->smem_bytes);
	case OPT_ARGS: return 0;
	case OPT_EVERY: return emu_option_number("every", value, UINT32_MAX, &q->every);
	case OPT_RANDOM: return emu_option_number("random", value, 1000000000, &q->n_random);
	case OPT_SEED: return emu_option_number("seed", value, 1000000000, &q->seed);
	}
	return -1;
}

int main(int argc, char **argv)
{
	static const struct gsb_cli cli = {
		.name = "gsb-ptx",
		.doc = "What is proven of the kernels in a file, and what is made of them."
		       "\vFILE: PTX, a fatbin, or a program or library with device code; gsb-ptx(1) has examples.",
		.commands = commands,
		.options = options,
		.set = set_option,
	};
	struct gsb_ptx_request q = {
		.grid = {1, 1, 1}, .block = {1, 1, 1}, .n_random = 100, .seed = 1};
	struct gsb_cli_call call;

	gsb_program_init(cli.name, argv);
	gsb_cli_parse(&cli, argc, argv, &q, &call);
	if (call.n_words < 1 || (call.n_words > 1 && !(LAUNCHES >> call.command & 1))) {
		fprintf(stderr, "gsb-ptx: %s takes %s\n", commands[call.command].name,
			commands[call.command].args);
		return GSB_WRONG_USAGE;
	}
	q.path = call.words[0];
	q.words = call.words + 1;
	q.n_words = call.n_words - 1;
	return runners[call.command](&q);
}
