/*
 * gpu_db.c - a small GPU database: it makes a data set, and runs five queries on it.
 *
 * The queries are those of the benchmark in Li, Tu, Zeng, "Concurrent query processing in a GPU-based
 * database system" (2019), Table 1. A plain program of the CUDA driver API, which is all that it
 * knows about where it runs. This file reads the command line; run.c has the rest.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"

static const char help[] =
	"usage: gpu_db gen --data DIR [--scale S] [--seed N]\n"
	"       gpu_db run --data DIR --query q1|q2|q3|q4|q5|all [option...]\n"
	"       gpu_db counter [--n N] [--batch B]\n"
	"       gpu_db --version | --help\n"
	"\n"
	"gen: write the columns of a data set to DIR\n"
	"  --scale S       1 is the size of the published benchmark; a number or a fraction, 1/1024 to\n"
	"                  16 (default 1/256)\n"
	"  --seed N        another seed, other data (default 1)\n"
	"\n"
	"run: run queries on the GPU\n"
	"  q1 hash join of two tables    q2 hash join of three    q3 md5 of interleaved messages\n"
	"  q4 matrix multiplication      q5 distances of atoms    all: one after another\n"
	"  --verify        compare with the CPU, bit for bit\n"
	"  --repeat N      run each query N times (default 1)\n"
	"  --loop SECONDS  run each query again and again for this long\n"
	"  --streams K     compute streams, 1 to 16 (default 2)\n"
	"  --image I       load the kernels as 'ptx' (default) or 'fatbin'\n"
	"  --hot           read the columns once, then repeat the kernels; only checksums come back\n"
	"  --kernel-share  say what share of the device time kernels have\n"
	"  --json          one JSON object per query\n"
	"  --quiet         one line per query\n"
	"\n"
	"counter: increment a counter in a module's global memory and read it back\n"
	"  --n N           increments (default 100000)\n"
	"  --batch B       increments per launch, 1 to 1024 (default 1)\n"
	"\n"
	"Exit status: 0 done, 1 a result was wrong (FAILED), 2 usage, files, driver or device.\n";

enum {
	OPT_SCALE = 1,
	OPT_SEED,
	OPT_DATA,
	OPT_QUERY,
	OPT_REPEAT,
	OPT_LOOP,
	OPT_STREAMS,
	OPT_IMAGE,
	OPT_VERIFY,
	OPT_HOT,
	OPT_KERNEL_SHARE,
	OPT_JSON,
	OPT_QUIET,
	OPT_N,
	OPT_BATCH,
	OPT_VERSION,
	OPT_HELP
};

/* Which subcommands take an option: bits. */
enum { GEN = 1, RUN = 2, COUNTER = 4 };

static const struct {
	struct option option;
	int commands;
} option_table[] = {
	{{"data", required_argument, NULL, OPT_DATA}, GEN | RUN},
	{{"scale", required_argument, NULL, OPT_SCALE}, GEN},
	{{"seed", required_argument, NULL, OPT_SEED}, GEN},
	{{"query", required_argument, NULL, OPT_QUERY}, RUN},
	{{"repeat", required_argument, NULL, OPT_REPEAT}, RUN},
	{{"loop", required_argument, NULL, OPT_LOOP}, RUN},
	{{"streams", required_argument, NULL, OPT_STREAMS}, RUN},
	{{"image", required_argument, NULL, OPT_IMAGE}, RUN},
	{{"verify", no_argument, NULL, OPT_VERIFY}, RUN},
	{{"hot", no_argument, NULL, OPT_HOT}, RUN},
	{{"kernel-share", no_argument, NULL, OPT_KERNEL_SHARE}, RUN},
	{{"json", no_argument, NULL, OPT_JSON}, RUN},
	{{"quiet", no_argument, NULL, OPT_QUIET}, GEN | RUN},
	{{"n", required_argument, NULL, OPT_N}, COUNTER},
	{{"batch", required_argument, NULL, OPT_BATCH}, COUNTER},
	{{"version", no_argument, NULL, OPT_VERSION}, GEN | RUN | COUNTER},
	{{"help", no_argument, NULL, OPT_HELP}, GEN | RUN | COUNTER},
};

#define N_OPTIONS (sizeof(option_table) / sizeof(option_table[0]))

struct command_line {
	double scale;
	uint64_t seed, n;
	unsigned batch;
	bool repeat_given;
	struct run_options run;
};

static uint64_t parse_count(const char *option, const char *text, uint64_t least, uint64_t most)
{
	char *end;
	unsigned long long n;

	errno = 0;
	n = strtoull(text, &end, 10);
	if (errno || end == text || *end || *text == '-' || n < least || n > most)
		die("--%s %s: not a whole number from %llu to %llu", option, text,
		    (unsigned long long)least, (unsigned long long)most);
	return n;
}

static double parse_number(const char *option, const char *text, const char **end)
{
	char *stop;
	double n = strtod(text, &stop);

	if (stop == text || !(n >= 0 && n < 1e9))
		die("--%s %s: not a number", option, text);
	*end = stop;
	return n;
}

static double parse_scale(const char *text)
{
	const char *end;
	double scale = parse_number("scale", text, &end);
	struct sizes sizes;

	if (*end == '/') {
		double divisor = parse_number("scale", end + 1, &end);

		scale = divisor > 0 ? scale / divisor : 0;
	}
	if (*end || sizes_of(scale, &sizes))
		die("--scale %s: not a number or a fraction from 1/1024 to 16", text);
	return scale;
}

static double parse_seconds(const char *text)
{
	const char *end;
	double s = parse_number("loop", text, &end);

	if (*end || s == 0)
		die("--loop %s: not a number of seconds", text);
	return s;
}

static const char *parse_image(const char *text)
{
	if (strcmp(text, "ptx") != 0 && strcmp(text, "fatbin") != 0)
		die("--image %s: ptx or fatbin", text);
	return text;
}

static const char *parse_query(const char *text)
{
	if (!run_knows_query(text))
		die("--query %s: q1, q2, q3, q4, q5 or all", text);
	return text;
}

static void set_option(struct command_line *c, int option)
{
	switch (option) {
	case OPT_SCALE: c->scale = parse_scale(optarg); break;
	case OPT_SEED: c->seed = parse_count("seed", optarg, 0, UINT64_MAX); break;
	case OPT_DATA: c->run.data_dir = optarg; break;
	case OPT_QUERY: c->run.query = parse_query(optarg); break;
	case OPT_REPEAT:
		c->run.repeat = (unsigned)parse_count("repeat", optarg, 1, 1000000);
		c->repeat_given = true;
		break;
	case OPT_LOOP: c->run.loop_s = parse_seconds(optarg); break;
	case OPT_STREAMS:
		c->run.session.n_streams =
			(unsigned)parse_count("streams", optarg, 1, SESSION_STREAMS_MAX);
		break;
	case OPT_IMAGE: c->run.session.image = parse_image(optarg); break;
	case OPT_VERIFY: c->run.session.verify = true; break;
	case OPT_HOT: c->run.session.hot = true; break;
	case OPT_KERNEL_SHARE: c->run.kernel_share = true; break;
	case OPT_JSON: c->run.form = REPORT_JSON; break;
	case OPT_QUIET: c->run.form = REPORT_QUIET; break;
	case OPT_N: c->n = parse_count("n", optarg, 0, UINT64_C(1) << 40); break;
	case OPT_BATCH: c->batch = (unsigned)parse_count("batch", optarg, 1, 1024); break;
	case OPT_VERSION: puts("gpu_db " GPU_DB_VERSION); exit(EXIT_SUCCESS);
	case OPT_HELP: fputs(help, stdout); exit(EXIT_SUCCESS);
	default: break;
	}
}

/* Options may stand before the command: whether it has them is seen when it is known. */
static int find_command(const char *name)
{
	if (strcmp(name, "help") == 0)
		set_option(NULL, OPT_HELP);
	if (strcmp(name, "gen") == 0)
		return GEN;
	if (strcmp(name, "run") == 0)
		return RUN;
	if (strcmp(name, "counter") == 0)
		return COUNTER;
	die("%s: gen, run or counter (gpu_db --help)", name);
}

static void check(const struct command_line *c, int command, const bool *given)
{
	for (size_t i = 0; i < N_OPTIONS; i++)
		if (given[i] && !(option_table[i].commands & command))
			die("--%s: no such option of this command (gpu_db --help)",
			    option_table[i].option.name);
	if (command & (GEN | RUN) && !c->run.data_dir)
		die("--data DIR is missing (gpu_db --help)");
	if (command == RUN && !c->run.query)
		die("--query is missing: q1, q2, q3, q4, q5 or all");
	if (c->run.loop_s > 0 && c->repeat_given)
		die("--repeat and --loop: one or the other");
}

/* Return: the command. */
static int parse(int argc, char **argv, struct command_line *c)
{
	struct option options[N_OPTIONS + 1] = {0};
	bool given[N_OPTIONS] = {false};
	int option, command, i;

	*c = (struct command_line){
		.scale = SCALE_DEFAULT,
		.seed = 1,
		.n = 100000,
		.batch = 1,
		.run = {.repeat = 1, .session = {.image = "ptx", .n_streams = 2}}};
	for (size_t n = 0; n < N_OPTIONS; n++)
		options[n] = option_table[n].option;
	opterr = 0; /* we say it */
	while ((option = getopt_long(argc, argv, ":h", options, &i)) != -1) {
		if (option == '?' || option == ':')
			die("%s: %s (gpu_db --help)", argv[optind - 1],
			    option == ':' ? "needs a value" : "no such option of this command");
		if (option == 'h')
			option = OPT_HELP;
		else
			given[i] = true;
		set_option(c, option);
	}
	if (optind == argc)
		die("gen, run or counter? (gpu_db --help)");
	command = find_command(argv[optind++]);
	if (optind < argc)
		die("%s: not an option (gpu_db --help)", argv[optind]);
	check(c, command, given);
	c->run.session.repeat = c->run.repeat;
	c->run.session.loop_s = c->run.loop_s;
	return command;
}

static int gen_main(const struct command_line *c)
{
	struct failure failure;
	struct sizes sizes;
	uint64_t bytes = 0;

	sizes_of(c->scale, &sizes); /* parse_scale() has checked it */
	if (mkdir(c->run.data_dir, 0777) && errno != EEXIST)
		die("%s: cannot make the folder: %s", c->run.data_dir, strerror(errno));
	for (enum column_id id = 0; id < COLUMN_N; id++) {
		struct column column;

		if (data_generate(&sizes, c->seed, id, &column))
			die("no memory for column %s", column_name(id));
		if (column_write(c->run.data_dir, id, &column, &failure))
			die("%s", failure.text);
		if (c->run.form == REPORT_TEXT)
			printf("%-6s %9llu rows  checksum %016llx\n", column_name(id),
			       (unsigned long long)column.rows,
			       (unsigned long long)column.checksum);
		bytes += column.rows * sizeof(*column.words);
		column_finish(&column);
	}
	printf("%s: scale %g, seed %llu, %llu KiB\n", c->run.data_dir, c->scale,
	       (unsigned long long)c->seed, (unsigned long long)(bytes >> 10));
	return EXIT_SUCCESS;
}

/* At the end, whatever ended it: what did not reach its file must not look done. */
static void close_output(void)
{
	bool failed = ferror(stdout);

	errno = 0;
	if (fflush(stdout) || failed) {
		fprintf(stderr, "gpu_db: standard output: %s\n",
			errno ? strerror(errno) : "not written whole");
		_exit(2);
	}
}

int main(int argc, char **argv)
{
	struct command_line c;

	atexit(close_output);
	switch (parse(argc, argv, &c)) {
	case GEN: return gen_main(&c);
	case RUN: return run_main(&c.run);
	default: return counter_main(c.n, c.batch);
	}
}
