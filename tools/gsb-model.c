/*
 * gsb-model.c - the models of the broker on the command line: what fits an SM, what runs beside what,
 * at which geometry, in which batches, and whether to hold a kernel to a fraction.
 *
 * A command and kernels, with options anywhere. All thinking is in model/; this reads and prints.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/program.h"
#include "tools/calibrate/calibrate.h"
#include "tools/cli.h"
#include "tools/model_commands.h"

enum { ARCH, OCCUPANCY, BEST_BLOCK, PAIR, PLAN, BATCH, FRACTION, REPLAY, CALIBRATE, MATCH };

static const struct gsb_cli_command commands[] = {
	[ARCH] = {"arch", "[GPU...]", "GPUs that are known by name, or those named"},
	[OCCUPANCY] = {"occupancy", "KERNEL...", "blocks per SM, what limits them, rounds"},
	[BEST_BLOCK] = {"best-block", "KERNEL...",
			"the block size with the fewest rounds, threads kept"},
	[PAIR] = {"pair", "KERNEL KERNEL...",
		  "who of several kernels runs at once, and the slowdown"},
	[PLAN] = {"plan", "KERNEL...", "one geometry each, so that all are resident at once"},
	[BATCH] = {"batch", "KERNEL...", "few batches, and the geometries in them"},
	[FRACTION] = {"fraction", "KERNEL KERNEL",
		      "hold one of two kernels to a fraction of its blocks?"},
	[REPLAY] = {"replay", "[LOAD]", "run a load of gsb-trace replay again, under any policy"},
	[CALIBRATE] = {"calibrate", "", "measure what kernels on one SM leave each other"},
	[MATCH] = {"match", "PROFILES [KERNEL...]",
		   "who beside whom, from each beside the same probes"},
	{NULL, NULL, NULL},
};

/* How many kernels a command takes, and what it does with them; arch takes none. */
static const struct {
	size_t min_kernels, max_kernels;
	int (*run)(const struct model_input *in);
} runners[] = {
	[OCCUPANCY] = {1, GSB_PLAN_KERNELS_MAX, model_command_occupancy},
	[BEST_BLOCK] = {1, GSB_PLAN_KERNELS_MAX, model_command_best_block},
	[PAIR] = {2, GSB_PLACE_KERNELS_MAX, model_command_pair},
	[PLAN] = {1, GSB_PLAN_KERNELS_MAX, model_command_plan},
	[BATCH] = {1, GSB_PLAN_KERNELS_MAX, model_command_batch},
	[FRACTION] = {2, 2, model_command_fraction},
};

enum {
	OPT_COVER = 256,
	OPT_KEEP,
	OPT_LAUNCH,
	OPT_MARGIN,
	OPT_POLICY,
	OPT_RANDOM,
	OPT_TENANTS,
	OPT_KERNELS,
	OPT_TOGETHER,
	OPT_COLD,
	OPT_TIMES,
	OPT_UNITS,
	OPT_ONLY,
	OPT_QUICK
};

#define OF(command)  (1u << (command))
#define ALL_BUT_ARCH (OF(CALIBRATE) - 1 - OF(ARCH))

static const struct gsb_cli_option options[] = {
	{{"arch", 'a', "GPU", 0, "a name, a file, \"driver\" or \"driver:N\" (default h200)", 0},
	 ALL_BUT_ARCH},
	{{"rules", 'r', "RULES", 0, "hardware, paper or printed (default hardware)", 0},
	 ALL_BUT_ARCH & ~OF(FRACTION) & ~OF(REPLAY)},
	{{"json", 'j', NULL, 0, "print one JSON object", 0}, ALL_BUT_ARCH | OF(ARCH) | OF(MATCH)},
	{{"plot", 'p', "FILE", 0, "draw occupancy and rounds of the first kernel, as SVG", 0},
	 OF(OCCUPANCY) | OF(BEST_BLOCK)},
	{{"cover", OPT_COVER, NULL, 0, "the threads of a grid may grow", 0}, OF(PLAN) | OF(BATCH)},
	{{"keep", OPT_KEEP, NULL, 0, "geometries as they came, where all fit so", 0},
	 OF(PLAN) | OF(BATCH)},
	{{"launch-us", OPT_LAUNCH, "T", 0, "overhead of a launch", 0}, OF(PAIR)},
	{{"margin", OPT_MARGIN, "M", 0, "least gain that counts (default 1.05)", 0}, OF(FRACTION)},
	{{"policy", OPT_POLICY, "P", 0, "to run under, or \"all\" side by side (default fifo)", 0},
	 OF(REPLAY)},
	{{"random", OPT_RANDOM, "SEED", 0, "no recorded load, but one that is drawn", 0},
	 OF(REPLAY)},
	{{"tenants", OPT_TENANTS, "N", 0, "of a drawn load (default 4)", 0}, OF(REPLAY)},
	{{"kernels", OPT_KERNELS, "N", 0, "of each tenant of a drawn load (default 8)", 0},
	 OF(REPLAY)},
	{{"times", OPT_TIMES, "N", 0,
	  "that each tenant of a drawn load runs its kernels (default 1)", 0},
	 OF(REPLAY)},
	{{"units", OPT_UNITS, NULL, 0, "draw the unit that each kernel lives on, too", 0},
	 OF(REPLAY)},
	{{"cold", OPT_COLD, NULL, 0, "the policy has not seen the tenants alone before", 0},
	 OF(REPLAY)},
	{{"together", OPT_TOGETHER, NULL, 0, "all tenants begin at once, whenever they came", 0},
	 OF(REPLAY)},
	{{"device", 'd', "DEVICE", 0, "cuda:N or emu:GPU (default cuda:0)", 0}, OF(CALIBRATE)},
	{{"output", 'o', "FILE", 0, "write there, not to standard output", 0}, OF(CALIBRATE)},
	{{"only", OPT_ONLY, "UNIT,...", 0, "these units alone", 0}, OF(CALIBRATE)},
	{{"quick", OPT_QUICK, NULL, 0, "a third of the time: fewer rounds, and no check", 0},
	 OF(CALIBRATE)},
	{{NULL, 0, NULL, 0, NULL, 0}, 0},
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
	fprintf(stderr, "gsb-model: --%s '%s': must be a number above 0, at most 100000\n", option,
		value);
	return -1;
}

static int set_count(uint32_t *out, const char *option, const char *value, uint32_t most)
{
	uint64_t n;

	if (gsb_text_u64(value, &n) && n && n <= most) {
		*out = (uint32_t)n;
		return 0;
	}
	fprintf(stderr, "gsb-model: --%s '%s': must be a number from 1 to %u\n", option, value,
		most);
	return -1;
}

static int set_seed(struct model_replay *r, const char *value)
{
	r->drawn = true;
	if (gsb_text_u64(value, &r->random.seed))
		return 0;
	fprintf(stderr, "gsb-model: --random '%s': must be a whole number\n", value);
	return -1;
}

static int set_option(void *input, int key, char *value)
{
	struct model_input *in = input;

	switch (key) {
	case 'a': in->arch_given = true; return model_input_arch(in, value);
	case 'r': return set_rules(in, value);
	case 'j': in->json = true; return 0;
	case 'p': in->plot = value; return 0;
	case 'd': in->calibrate.device = value; return 0;
	case 'o': in->calibrate.path = value; return 0;
	case OPT_ONLY: return cal_parse_units(value, &in->calibrate.units);
	case OPT_QUICK: in->calibrate.quick = true; return 0;
	case OPT_POLICY: return model_replay_policy(in, value);
	case OPT_RANDOM: return set_seed(&in->replay, value);
	case OPT_TENANTS:
		return set_count(&in->replay.random.n_tenants, "tenants", value,
				 GSB_RANDOM_TENANTS_MAX);
	case OPT_KERNELS:
		return set_count(&in->replay.random.n_kernels, "kernels", value,
				 GSB_RANDOM_KERNELS_MAX);
	case OPT_TIMES:
		return set_count(&in->replay.random.n_times, "times", value, GSB_RANDOM_TIMES_MAX);
	case OPT_UNITS: in->replay.random.units = true; return 0;
	case OPT_TOGETHER: in->replay.together = true; return 0;
	case OPT_COLD: in->replay.cold = true; return 0;
	case OPT_COVER: in->cover = true; return 0;
	case OPT_KEEP: in->keep = true; return 0;
	case OPT_LAUNCH: return set_positive(&in->launch_us, "launch-us", value);
	case OPT_MARGIN: return set_positive(&in->fraction.margin, "margin", value);
	}
	return -1;
}

/* For the file that it makes. */
static void join_words(char *out, size_t size, int argc, char **argv)
{
	size_t n = 0;

	for (int i = 0; i < argc && n < size; i++)
		n += (size_t)snprintf(out + n, size - n, "%s%s", i ? " " : "", argv[i]);
}

static int calibrate(struct model_input *in, const struct gsb_cli_call *call, const char *command)
{
	if (call->n_words) {
		fprintf(stderr, "gsb-model: calibrate takes no '%s'; the device is --device\n",
			call->words[0]);
		return GSB_WRONG_USAGE;
	}
	in->calibrate.command = command;
	return cal_run(&in->calibrate);
}

static int run_on_kernels(struct model_input *in, const struct gsb_cli_call *call)
{
	const unsigned int c = call->command;

	for (int i = 0; i < call->n_words; i++)
		if (model_input_kernels(in, call->words[i]))
			return 2;
	if (in->n_kernels < runners[c].min_kernels || in->n_kernels > runners[c].max_kernels) {
		fprintf(stderr, "gsb-model: %s takes %zu to %zu kernels, not %zu\n",
			commands[c].name, runners[c].min_kernels, runners[c].max_kernels,
			in->n_kernels);
		return 2;
	}
	return runners[c].run(in);
}

int main(int argc, char **argv)
{
	static const struct gsb_cli cli = {
		.name = "gsb-model",
		.doc = "What fits on a GPU, what runs beside what, and in which geometry."
		       "\vKERNEL: key=value,... | @TABLE | @IMAGE[:NAME][,key=value,...]; gsb-model(1) "
		       "has the keys.",
		.commands = commands,
		.options = options,
		.set = set_option,
	};
	static struct model_input in;
	struct gsb_cli_call call;
	char command[512];

	gsb_program_init(cli.name, argv);
	join_words(command, sizeof(command), argc, argv);
	in.arch = *gsb_arch_find("h200");
	gsb_interference_init(&in.law, in.arch.name);
	in.rules = &gsb_rules_hardware;
	in.replay = (struct model_replay){
		.policy = "fifo",
		.random = {.n_tenants = 4, .n_kernels = 8},
	};
	in.fraction = gsb_fraction_defaults;
	in.calibrate.device = "cuda:0";
	gsb_cli_parse(&cli, argc, argv, &in, &call);
	if (call.command == ARCH)
		return model_command_arch(&in, call.words, call.n_words);
	if (call.command == REPLAY)
		return model_command_replay(&in, call.words, call.n_words);
	if (call.command == MATCH)
		return model_command_match(&in, call.words, call.n_words);
	if (call.command == CALIBRATE)
		return calibrate(&in, &call, command);
	return run_on_kernels(&in, &call);
}
