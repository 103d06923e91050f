/*
 * gsb-model.c - the models of the broker on the command line: what fits an SM, what runs beside what,
 * at which geometry, in which batches, and whether to hold a kernel to a fraction.
 *
 * Options, then a subcommand, then kernels. All thinking is in model/; this reads and prints.
 */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tools/model_commands.h"

static const struct {
	const char *name, *help;
	size_t min_kernels, max_kernels;
	int (*run)(const struct model_input *in);
} commands[] = {
	{"arch", "GPUs that are known by name, or those named", 0, 0, NULL},
	{"occupancy", "blocks per SM, what limits them, rounds", 1, GSB_PLAN_KERNELS_MAX,
	 model_command_occupancy},
	{"best-block", "the block size with the fewest rounds, threads kept", 1,
	 GSB_PLAN_KERNELS_MAX, model_command_best_block},
	{"pair", "who of several kernels runs at once, and the slowdown", 2, GSB_PLACE_KERNELS_MAX,
	 model_command_pair},
	{"plan", "one geometry each, so that all are resident at once", 1, GSB_PLAN_KERNELS_MAX,
	 model_command_plan},
	{"batch", "the fewest batches, and the geometries in them", 1, GSB_PLAN_KERNELS_MAX,
	 model_command_batch},
	{"fraction", "hold one of two kernels to a fraction of its blocks?", 2, 2,
	 model_command_fraction},
};

static int usage(FILE *to, int status)
{
	fprintf(to, "usage: gsb-model [option...] COMMAND KERNEL...\n");
	for (size_t i = 0; i < GSB_ARRAY_LEN(commands); i++)
		fprintf(to, "  %-10s  %s\n", commands[i].name, commands[i].help);
	fprintf(to,
		"KERNEL: key=value,... | @TABLE | @IMAGE[:NAME][,key=value,...]\n"
		"  keys: %s\n"
		"options:\n"
		"  -a, --arch GPU       a name, a file, \"driver\" or \"driver:N\" (default h200)\n"
		"  -r, --rules RULES    hardware, paper or printed (default hardware)\n"
		"  -j, --json           for programs\n"
		"  -p, --plot FILE      occupancy, best-block: occupancy and rounds as SVG\n"
		"      --cover          plan, batch: threads of a grid may grow\n"
		"      --keep           plan, batch: geometries as they came, where all fit so\n"
		"      --launch-us T    pair: overhead of a launch\n"
		"      --margin M       fraction: least gain that counts (default 1.05)\n"
		"      --mix-issue C, --mix-bandwidth C   what a mix gets, 1 = as one kernel\n",
		gsb_kernel_keys);
	return status;
}

enum { OPT_COVER = 256, OPT_KEEP, OPT_LAUNCH, OPT_MARGIN, OPT_ISSUE, OPT_BANDWIDTH };

static const struct option options[] = {
	{"arch", required_argument, NULL, 'a'},
	{"rules", required_argument, NULL, 'r'},
	{"json", no_argument, NULL, 'j'},
	{"plot", required_argument, NULL, 'p'},
	{"cover", no_argument, NULL, OPT_COVER},
	{"keep", no_argument, NULL, OPT_KEEP},
	{"launch-us", required_argument, NULL, OPT_LAUNCH},
	{"margin", required_argument, NULL, OPT_MARGIN},
	{"mix-issue", required_argument, NULL, OPT_ISSUE},
	{"mix-bandwidth", required_argument, NULL, OPT_BANDWIDTH},
	{"help", no_argument, NULL, 'h'},
	{NULL, 0, NULL, 0},
};

static int set_rules(struct model_input *in, const char *name)
{
	in->rules = gsb_rules_find(name);
	if (in->rules)
		return 0;
	fprintf(stderr, "gsb-model: unknown rules '%s': hardware, paper or printed\n", name);
	return -1;
}

static int set_positive(double *out, const char *option, const char *value)
{
	double number;

	if (gsb_text_double(value, &number) && number > 0 && number <= 100000) {
		*out = number;
		return 0;
	}
	fprintf(stderr, "gsb-model: --%s '%s': must be a number above 0\n", option, value);
	return -1;
}

/* -1 to go on; else the exit status. */
static int parse_options(int argc, char **argv, struct model_input *in)
{
	int c, bad = 0;

	while (!bad && (c = getopt_long(argc, argv, "+a:r:jp:h", options, NULL)) != -1) {
		switch (c) {
		case 'a': bad = model_input_arch(in, optarg); break;
		case 'r': bad = set_rules(in, optarg); break;
		case 'j': in->json = true; break;
		case 'p': in->plot = optarg; break;
		case OPT_COVER: in->cover = true; break;
		case OPT_KEEP: in->keep = true; break;
		case OPT_LAUNCH: bad = set_positive(&in->launch_us, "launch-us", optarg); break;
		case OPT_MARGIN: bad = set_positive(&in->fraction.margin, "margin", optarg); break;
		case OPT_ISSUE: bad = set_positive(&in->capacity.issue, "mix-issue", optarg); break;
		case OPT_BANDWIDTH:
			bad = set_positive(&in->capacity.bandwidth, "mix-bandwidth", optarg);
			break;
		case 'h': return usage(stdout, 0);
		default: return usage(stderr, 2);
		}
	}
	in->fraction.issue_capacity = in->capacity.issue;
	in->fraction.bandwidth_capacity = in->capacity.bandwidth;
	return bad ? 2 : -1;
}

static int run_command(size_t which, struct model_input *in, char **words, int n_words)
{
	if (!commands[which].run)
		return model_command_arch(in, words, n_words);
	for (int i = 0; i < n_words; i++)
		if (model_input_kernels(in, words[i]))
			return 2;
	if (in->n_kernels < commands[which].min_kernels ||
	    in->n_kernels > commands[which].max_kernels) {
		fprintf(stderr, "gsb-model: %s wants %zu to %zu kernels, not %zu\n",
			commands[which].name, commands[which].min_kernels,
			commands[which].max_kernels, in->n_kernels);
		return 2;
	}
	return commands[which].run(in);
}

int main(int argc, char **argv)
{
	static struct model_input in;
	int status;

	in.arch = *gsb_arch_find("h200");
	in.rules = &gsb_rules_hardware;
	in.capacity = gsb_capacity_full;
	in.fraction = gsb_fraction_defaults;
	status = parse_options(argc, argv, &in);
	if (status >= 0)
		return status;
	if (optind == argc)
		return usage(stderr, 2);
	for (size_t i = 0; i < GSB_ARRAY_LEN(commands); i++)
		if (!strcmp(argv[optind], commands[i].name))
			return run_command(i, &in, argv + optind + 1, argc - optind - 1);
	fprintf(stderr, "gsb-model: no command '%s'\n", argv[optind]);
	return usage(stderr, 2);
}
