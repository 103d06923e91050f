/*
 * gsb-trace.c - what a recorded trace says: sums, reasons, chains of waits, pictures. A command and a trace; what the events
 * mean together is in traced.c, what they cost in account.c.
 */
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "base/program.h"
#include "tools/cli.h"
#include "tools/trace/commands.h"
#include "tools/trace/export.h"
#include "tools/trace/source.h"

enum {
	SUMMARY,
	EXPLAIN,
	CRITICAL,
	MODEL_ERROR,
	ERROR_PLOT,
	CHECK,
	TIMELINE,
	PERFETTO,
	PROFILE,
	REPLAY
};

static const struct gsb_cli_command commands[] = {
	[SUMMARY] = {"summary", "FILE", "what each tenant, range and kernel took and waited for"},
	[EXPLAIN] = {"explain", "FILE TENANT|RANGE|KERNEL|SERIAL",
		     "why it was held, re-sized, put beside whom, and how long it waited for what"},
	[CRITICAL] = {"critical", "FILE [TENANT|RANGE|KERNEL|SERIAL]",
		      "the chain of waits that made it end when it did"},
	[MODEL_ERROR] = {"model-error", "FILE", "what the policy predicted, against what was"},
	[ERROR_PLOT] = {"error-plot", "FILE", "the same as a picture, a point for each launch"},
	[CHECK] = {"check", "FILE", "is every operation's chain of events complete and in order?"},
	[TIMELINE] = {"timeline", "FILE",
		      "a page for a browser: streams as rows, SMs in use over time"},
	[PERFETTO] = {"perfetto", "FILE", "JSON for ui.perfetto.dev and chrome://tracing"},
	[PROFILE] = {"profile", "FILE", "a folder of TAU profiles, for pprof and ParaProf"},
	[REPLAY] = {"replay", "FILE", "the load itself: who posted what, and after which wait"},
	{NULL, NULL, NULL},
};

/* How many words a command takes, and what it does with them. */
static const struct {
	int least, most;
	int (*run)(const struct gsb_traced *t, const struct gsb_trace_request *q);
} runners[] = {
	[SUMMARY] = {1, 1, gsb_trace_summary},	     [EXPLAIN] = {2, 2, gsb_trace_explain},
	[CRITICAL] = {1, 2, gsb_trace_critical},     [MODEL_ERROR] = {1, 1, gsb_trace_model_error},
	[ERROR_PLOT] = {1, 1, gsb_trace_error_plot}, [CHECK] = {1, 1, NULL},
	[TIMELINE] = {1, 1, gsb_trace_timeline},     [PERFETTO] = {1, 1, gsb_trace_perfetto},
	[PROFILE] = {1, 1, gsb_trace_profile},	     [REPLAY] = {1, 1, gsb_trace_replay},
};

#define OF(command) (1u << (command))
#define OUTPUTS	    (OF(ERROR_PLOT) | OF(TIMELINE) | OF(PERFETTO) | OF(PROFILE) | OF(REPLAY))

static const struct gsb_cli_option options[] = {
	{{"json", 'j', NULL, 0, "print one JSON object", 0},
	 OF(SUMMARY) | OF(CRITICAL) | OF(MODEL_ERROR) | OF(CHECK)},
	{{"all", 'A', NULL, 0, "the short steps, too", 0}, OF(CRITICAL)},
	{{"engine", 'e', "PID", 0, "of a session with several engines: whose (of the first heard)",
	  0},
	 OF(SUMMARY) | OF(EXPLAIN) | OF(CRITICAL) | OF(MODEL_ERROR) | OF(CHECK) | OUTPUTS},
	{{"output", 'o', "FILE", 0, "where to write it", 0}, OUTPUTS},
	{{NULL, 0, NULL, 0, NULL, 0}, 0},
};

static int set_engine(struct gsb_trace_request *q, const char *value)
{
	char *end;
	unsigned long pid = strtoul(value, &end, 10);

	if (*value < '1' || *value > '9' || *end || pid > INT32_MAX) {
		fprintf(stderr, "gsb-trace: --engine=%s: it goes by the number of its process\n",
			value);
		exit(GSB_WRONG_USAGE);
	}
	q->engine = (uint32_t)pid;
	return 0;
}

static int set_option(void *input, int key, char *value)
{
	struct gsb_trace_request *q = input;

	switch (key) {
	case 'j': q->json = true; return 0;
	case 'o': q->output = value; return 0;
	case 'A': q->all = true; return 0;
	case 'e': return set_engine(q, value);
	}
	return -1;
}

static int run(unsigned command, const struct gsb_trace_request *q)
{
	struct gsb_traced t = {.engine = q->engine};
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

static int wrong_usage(unsigned command, const char *more)
{
	fprintf(stderr, "gsb-trace: usage: gsb-trace %s%s %s\n", commands[command].name, more,
		commands[command].args);
	return GSB_WRONG_USAGE;
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
	if (call.n_words < runners[call.command].least || call.n_words > runners[call.command].most)
		return wrong_usage(call.command, "");
	if (!q.output && OUTPUTS >> call.command & 1)
		return wrong_usage(call.command, " -o OUTPUT");
	q.path = call.words[0];
	q.word = call.n_words > 1 ? call.words[1] : NULL;
	return run(call.command, &q);
}
