/*
 * arguments.c - see arguments.h.
 */
#include "broker/supervisor/arguments.h"

#include <argp.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>

enum { OPT_CHECK = 256, OPT_PRINT, OPT_PRIVATE, OPT_READY, OPT_LIFELINE, OPT_POLICY, OPT_GATE };

static const struct argp_option options[] = {
	{"config", 'c', "FILE", 0,
	 "read FILE, or standard input for -, instead of " GSB_DEFAULT_CONFIG, 1},
	{"check-config", OPT_CHECK, NULL, 0, "report every error of the configuration and exit", 1},
	{"print-config", OPT_PRINT, NULL, 0,
	 "print the configuration with all defaults, as valid input, and exit", 1},
	{"device", 'd', "SPEC", 0, "serve this device; no configuration is read", 2},
	{"policy", OPT_POLICY, "NAME", 0, "order of its launches, likewise", 2},
	{"gate", OPT_GATE, "N", 0, "N tenants begin together, likewise", 2},
	{"socket", 's', "PATH", 0, "listen there, whatever the configuration says", 3},
	{"private", OPT_PRIVATE, "DIR", 0,
	 "listen on DIR/socket, log warnings only, and remove DIR at the end (gsbrun)", 3},
	{"ready-fd", OPT_READY, "N", 0, "write a line to descriptor N when listening, and close it",
	 4},
	{"lifeline-fd", OPT_LIFELINE, "N", 0, "end when descriptor N reaches its end of file", 4},
	{0},
};

static int descriptor(struct argp_state *state, const char *text, const char *option)
{
	char *end;
	long n = strtol(text, &end, 10);

	if (end == text || *end || n < 0 || n > INT_MAX || fcntl((int)n, F_GETFD) < 0)
		argp_error(state, "%s %s: must be the number of an open descriptor", option, text);
	return (int)n;
}

static void check_together(struct argp_state *state, const struct gsb_arguments *a)
{
	if (a->config && (a->device || a->policy || a->gate))
		argp_error(state, "--config says device, policy and start_line already");
	if (a->socket && a->private_dir)
		argp_error(state, "--socket and --private both say where to listen");
	if (a->check_config && a->print_config)
		argp_error(state, "--check-config or --print-config, not both");
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	struct gsb_arguments *a = state->input;

	switch (key) {
	case 'c': a->config = arg; return 0;
	case 'd': a->device = arg; return 0;
	case 's': a->socket = arg; return 0;
	case OPT_POLICY: a->policy = arg; return 0;
	case OPT_GATE: a->gate = arg; return 0;
	case OPT_CHECK: a->check_config = true; return 0;
	case OPT_PRINT: a->print_config = true; return 0;
	case OPT_PRIVATE: a->private_dir = arg; return 0;
	case OPT_READY: a->ready_fd = descriptor(state, arg, "--ready-fd"); return 0;
	case OPT_LIFELINE: a->lifeline_fd = descriptor(state, arg, "--lifeline-fd"); return 0;
	case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", arg); return 0;
	case ARGP_KEY_END: check_together(state, a); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

void gsb_arguments_parse(int argc, char **argv, struct gsb_arguments *a)
{
	static const struct argp argp = {
		.options = options,
		.parser = on_option,
		.doc = "Let many GPU database processes share one GPU."
		       "\vIt stays in the foreground; SIGHUP reads the configuration again, SIGTERM "
		       "ends. Exit status: 0 after a clean end, 1 when it could not start or failed, "
		       "2 for wrong usage. See gsbrokerd(8), gsbroker.conf(5).",
	};

	*a = (struct gsb_arguments){.ready_fd = -1, .lifeline_fd = -1};
	argp_parse(&argp, argc, argv, 0, NULL, a);
}
