/*
 * gsb-trace.c - what a recorded trace says: sums, reasons, chains of waits, pictures. A command and a trace; what the events
 * mean together is in traced.c, what they cost in account.c.
 */
#include <stdio.h>

#include "base/compiler.h"
#include "base/program.h"
#include "tools/cli.h"
#include "tools/trace/commands.h"
#include "tools/trace/source.h"

enum { SUMMARY, CHECK };

static const struct gsb_cli_command commands[] = {
	[SUMMARY] = {"summary", "FILE", "what each tenant and kernel took and waited for"},
	[CHECK] = {"check", "FILE", "is every operation's chain of events complete and in order?"},
	{NULL, NULL, NULL},
};

/* How many words a command takes behind the file, and what it does with them. */
static const struct {
	int n_words;
	int (*run)(const struct gsb_traced *t, const struct gsb_trace_request *q);
} runners[] = {
	[SUMMARY] = {1, gsb_trace_summary},
	[CHECK] = {1, NULL},
};

#define OF(command) (1u << (command))

static const struct gsb_cli_option options[] = {
	{{"json", 'j', NULL, 0, "print one JSON object", 0}, OF(SUMMARY) | OF(CHECK)},
	{{NULL, 0, NULL, 0, NULL, 0}, 0},
};

static int set_option(void *input, int key, char *value)
{
	struct gsb_trace_request *q = input;

	switch (key) {
	case 'j': q->json = true; return 0;
	}
	return -1;
}

static int run(unsigned command, const struct gsb_trace_request *q)
{
	struct gsb_traced t = {0};
	int status;

	if (command == CHECK)
		return gsb_trace_check(q);
	if (gsb_traced_load(&t, q->path))
		return 1;
	gsb_traced_warn(&t, q->path);
	status = runners[command].run(&t, q);
	gsb_traced_finish(&t);
	return status;
}

int main(int argc, char **argv)
{
	static const struct gsb_cli cli = {
		.name = "gsb-trace",
		.doc = "What a trace of `gsbctl trace record` says."
		       "\vTimes are of the device; gsb-trace(1) has an example of each command.",
		.commands = commands,
		.options = options,
		.set = set_option,
	};
	struct gsb_trace_request q = {0};
	struct gsb_cli_call call;

	gsb_program_init(cli.name, argv);
	gsb_cli_parse(&cli, argc, argv, &q, &call);
	if (call.n_words != runners[call.command].n_words) {
		fprintf(stderr, "gsb-trace: usage: gsb-trace %s %s\n", commands[call.command].name,
			commands[call.command].args);
		return GSB_WRONG_USAGE;
	}
	q.path = call.words[0];
	q.word = call.n_words > 1 ? call.words[1] : NULL;
	return run(call.command, &q);
}
