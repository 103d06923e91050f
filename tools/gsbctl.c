/*
 * gsbctl.c - what a broker is doing, for people and for programs; and asking it to reload or end.
 */
#include <config.h>

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tools/ask.h"
#include "tools/show.h"

static const char usage_text[] =
	"usage: gsbctl [--socket PATH] status [--json]      the broker and its engines\n"
	"       gsbctl [--socket PATH] ps [--json]          the tenants\n"
	"       gsbctl [--socket PATH] totals [--json]      tenants that have left, by name\n"
	"       gsbctl [--socket PATH] reload               read the configuration again\n"
	"       gsbctl [--socket PATH] shutdown [--drain]   end now, or when the last tenant left\n"
	"       gsbctl --version | --help\n"
	"\n"
	"The socket is --socket, else $GSB_SOCKET, else the user's own, else " GSB_SOCKET_DEFAULT
	".\n"
	"Exit status: 0 done, 1 not done, 2 wrong usage. See gsbctl(1).\n";

struct command {
	const char *name;
	enum gsb_query_what what;
	void (*show)(const struct gsb_answers *a);
	void (*show_json)(const struct gsb_answers *a);
};

static const struct command commands[] = {
	{"status", GSB_QUERY_STATUS, gsb_show_status, gsb_show_status_json},
	{"ps", GSB_QUERY_STATUS, gsb_show_ps, gsb_show_ps_json},
	{"totals", GSB_QUERY_TOTALS, gsb_show_totals, gsb_show_totals_json},
	{"reload", GSB_QUERY_RELOAD, NULL, NULL},
	{"shutdown", GSB_QUERY_SHUTDOWN, NULL, NULL},
};

struct arguments {
	const char *socket;
	const struct command *command;
	bool json, drain;
};

GSB_NORETURN static void usage(void)
{
	fputs(usage_text, stderr);
	exit(2);
}

static const struct command *find_command(const char *name)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(commands); i++)
		if (!strcmp(commands[i].name, name))
			return &commands[i];
	fprintf(stderr, "gsbctl: there is no command '%s'\n", name);
	usage();
}

static void parse_arguments(int argc, char **argv, struct arguments *a)
{
	static const struct option options[] = {
		{"socket", required_argument, NULL, 's'}, {"json", no_argument, NULL, 'j'},
		{"drain", no_argument, NULL, 'd'},	  {"version", no_argument, NULL, 'v'},
		{"help", no_argument, NULL, 'h'},	  {0},
	};
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
		switch (c) {
		case 's': a->socket = optarg; break;
		case 'j': a->json = true; break;
		case 'd': a->drain = true; break;
		case 'v': puts("gsbctl " PACKAGE_VERSION); exit(0);
		case 'h': fputs(usage_text, stdout); exit(0);
		default: usage();
		}
	if (optind != argc - 1)
		usage();
	a->command = find_command(argv[optind]);
	if ((a->json && !a->command->show_json) ||
	    (a->drain && a->command->what != GSB_QUERY_SHUTDOWN))
		usage();
}

static int run(const struct arguments *a)
{
	struct gsb_answers answers = {0};
	char path[128] = "", why[512];
	int err = gsb_channel_path(a->socket, path, sizeof(path));

	if (!err)
		err = gsb_ask(path, a->command->what,
			      a->drain ? GSB_SHUTDOWN_DRAIN : GSB_SHUTDOWN_NOW, &answers);
	if (err) {
		gsb_ask_explain(err, a->socket && err == -ENAMETOOLONG ? a->socket : path, why,
				sizeof(why));
		fprintf(stderr, "gsbctl: %s\n", why);
	} else if (*answers.end.text) {
		fprintf(stderr, "gsbctl: %.511s\n", answers.end.text);
	}
	if (!err && !answers.end.error && a->command->show)
		(a->json ? a->command->show_json : a->command->show)(&answers);
	gsb_answers_finish(&answers);
	return err || answers.end.error ? 1 : 0;
}

int main(int argc, char **argv)
{
	struct arguments a = {0};
	int status;

	parse_arguments(argc, argv, &a);
	status = run(&a);
	return fflush(stdout) ? 1 : status;
}
