/*
 * gsb-ptx.c - what the re-sizer knows of the kernels in a file: a command and a file.
 */
#include <stdio.h>

#include "base/program.h"
#include "tools/cli.h"
#include "tools/ptx/commands.h"

enum { CLASSIFY };

static const struct gsb_cli_command commands[] = {
	[CLASSIFY] = {"classify", "FILE",
		      "which changes of a kernel's geometry are proven to be right"},
	{NULL, NULL, NULL},
};

static int (*const runners[])(const struct gsb_ptx_request *q) = {
	[CLASSIFY] = gsb_ptx_classify,
};

#define OF(command) (1u << (command))

static const struct gsb_cli_option options[] = {
	{{"kernel", 'k', "NAME", 0, "only this one; a part of its name will do", 0}, 0},
	{{"json", 'j', NULL, 0, "print one JSON object", 0}, OF(CLASSIFY)},
	{{"why", 'w', NULL, 0, "each finding, with its line of PTX", 0}, OF(CLASSIFY)},
	{{NULL, 0, NULL, 0, NULL, 0}, 0},
};

static int set_option(void *input, int key, char *value)
{
	struct gsb_ptx_request *q = input;

	switch (key) {
	case 'k': q->kernel = value; return 0;
	case 'j': q->json = true; return 0;
	case 'w': q->why = true; return 0;
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
	struct gsb_ptx_request q = {0};
	struct gsb_cli_call call;

	gsb_program_init(cli.name, argv);
	gsb_cli_parse(&cli, argc, argv, &q, &call);
	if (call.n_words != 1) {
		fprintf(stderr, "gsb-ptx: %s takes %s\n", commands[call.command].name,
			commands[call.command].args);
		return GSB_WRONG_USAGE;
	}
	q.path = call.words[0];
	return runners[call.command](&q);
}
