/*
 * cli.c - see cli.h.
 *
 * Two passes: the first stops at the first word that is no option, which is the command; the second has
 * the rest, in any order. Both know all options, so that --plot beside a command without it is named as
 * what it is; help shows those that belong.
 */
#include "tools/cli.h"

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/program.h"

#define DOC_MAX	  384
#define NAMES_MAX 256
#define NONE	  UINT_MAX

struct parse {
	const struct gsb_cli *cli;
	void *input;
	unsigned int command; /* NONE until it is known */
	int at;		      /* of the command in argv */
	int n_words;
	char **words;
	bool given[GSB_CLI_OPTIONS_MAX];
};

/* The table of one pass, as argp wants it, and the texts that it points to. */
struct table {
	struct argp_option entries[GSB_CLI_OPTIONS_MAX + GSB_CLI_COMMANDS_MAX + 4];
	char docs[GSB_CLI_OPTIONS_MAX][DOC_MAX];
	unsigned int n;
};

static bool belongs(const struct gsb_cli_option *o, unsigned int command)
{
	return !o->commands || (command != NONE && (o->commands >> command & 1));
}

/* "plan, batch": the commands of an option, or all there are; "all but arch" where that is shorter. */
static void list_commands(const struct gsb_cli *cli, unsigned int mask, char *out, size_t size)
{
	unsigned int n_without = 0, without = 0;
	size_t n = 0;

	for (unsigned int i = 0; mask && cli->commands[i].name; i++) {
		if (mask >> i & 1)
			continue;
		n_without++;
		without = i;
	}
	*out = '\0';
	if (n_without == 1) {
		snprintf(out, size, "all but %s", cli->commands[without].name);
		return;
	}
	for (unsigned int i = 0; cli->commands[i].name; i++)
		if (n < size && (!mask || (mask >> i & 1)))
			n += (size_t)snprintf(out + n, size - n, "%s%s", n ? ", " : "",
					      cli->commands[i].name);
}

static void add_options(struct table *t, const struct parse *p)
{
	const struct gsb_cli *cli = p->cli;
	char names[NAMES_MAX];

	t->entries[t->n++] = (struct argp_option){.doc = "Options:", .group = 2};
	for (unsigned int i = 0; i < GSB_CLI_OPTIONS_MAX && cli->options[i].option.key; i++) {
		const struct gsb_cli_option *o = &cli->options[i];
		struct argp_option *e = &t->entries[t->n++];

		*e = o->option;
		list_commands(cli, o->commands, names, sizeof(names));
		if (o->commands && p->command == NONE) {
			snprintf(t->docs[i], DOC_MAX, "%s: %s", names, o->option.doc);
			e->doc = t->docs[i];
		}
		if (p->command != NONE && !belongs(o, p->command))
			e->flags |= OPTION_HIDDEN;
	}
	t->entries[t->n++] = (struct argp_option){.key = 'h', .flags = OPTION_HIDDEN};
}

static void add_commands(struct table *t, const struct gsb_cli *cli)
{
	t->entries[t->n++] = (struct argp_option){.doc = "Commands:", .group = 1};
	for (unsigned int i = 0; i < GSB_CLI_COMMANDS_MAX && cli->commands[i].name; i++)
		t->entries[t->n++] = (struct argp_option){.name = cli->commands[i].name,
							  .flags = OPTION_DOC | OPTION_NO_USAGE,
							  .doc = cli->commands[i].doc};
}

static error_t set_option(struct parse *p, int key, char *value)
{
	for (unsigned int i = 0; p->cli->options[i].option.key; i++) {
		if (p->cli->options[i].option.key != key)
			continue;
		p->given[i] = true;
		if (p->cli->set(p->input, key, value))
			exit(GSB_WRONG_USAGE);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static void find_command(struct parse *p, const char *word, struct argp_state *state)
{
	char names[NAMES_MAX];

	for (unsigned int i = 0; p->cli->commands[i].name; i++) {
		if (strcmp(p->cli->commands[i].name, word))
			continue;
		p->command = i;
		p->at = state->next - 1;
		state->next = state->argc; /* for the second pass */
		return;
	}
	list_commands(p->cli, 0, names, sizeof(names));
	argp_error(state, "no command '%s'; there are %s", word, names);
}

static error_t on_program(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;

	switch (key) {
	case 'h': argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP); return 0;
	case ARGP_KEY_ARG: find_command(p, arg, state); return 0;
	case ARGP_KEY_NO_ARGS: argp_error(state, "no command given"); return 0;
	default: return set_option(p, key, arg);
	}
}

/* Options may have been given before the command was known. */
static void refuse_strangers(const struct parse *p, struct argp_state *state)
{
	char names[NAMES_MAX];

	for (unsigned int i = 0; p->cli->options[i].option.key; i++) {
		const struct gsb_cli_option *o = &p->cli->options[i];

		if (!p->given[i] || belongs(o, p->command))
			continue;
		list_commands(p->cli, o->commands, names, sizeof(names));
		argp_error(state, "--%s is not an option of this command; it belongs to: %s",
			   o->option.name, names);
	}
}

static error_t on_command(int key, char *arg, struct argp_state *state)
{
	struct parse *p = state->input;

	switch (key) {
	case 'h': argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP); return 0;
	case ARGP_KEY_ARG: return ARGP_ERR_UNKNOWN; /* all of them at once, below */
	case ARGP_KEY_ARGS:
		p->words = state->argv + state->next;
		p->n_words = state->argc - state->next;
		return 0;
	case ARGP_KEY_END: refuse_strangers(p, state); return 0;
	default: return set_option(p, key, arg);
	}
}

static void parse_program(struct parse *p, int argc, char **argv)
{
	struct table t = {.n = 0};
	const struct argp argp = {t.entries, on_program, "COMMAND [ARGUMENT...]", p->cli->doc, NULL,
				  NULL,	     NULL};

	add_commands(&t, p->cli);
	add_options(&t, p);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, p);
}

static void parse_command(struct parse *p, int argc, char **argv)
{
	const struct gsb_cli_command *c = &p->cli->commands[p->command];
	struct table t = {.n = 0};
	const struct argp argp = {t.entries, on_command, c->args, c->doc, NULL, NULL, NULL};
	char name[NAMES_MAX];

	add_options(&t, p);
	snprintf(name, sizeof(name), "%s %s", p->cli->name, c->name);
	argv[p->at] = name;
	argp_parse(&argp, argc - p->at, argv + p->at, 0, NULL, p);
	argv[p->at] = (char *)c->name;
}

void gsb_cli_parse(const struct gsb_cli *cli, int argc, char **argv, void *input,
		   struct gsb_cli_call *call)
{
	struct parse p = {.cli = cli, .input = input, .command = NONE};

	parse_program(&p, argc, argv);
	parse_command(&p, argc, argv);
	call->command = p.command;
	call->words = p.words;
	call->n_words = p.n_words;
}
