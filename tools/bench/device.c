/*
 * device.c - what a device gives a program natively, under MPS and under the broker, in turn in one run: `gsb-bench launch`, `sync`, ...,
 * and `device` for all of them.
 *
 * A measurement is a run of programs in one way, which gives the values of its rows; rounds go over measurements and ways in
 * turn, so that what changes in the machine meanwhile meets all of them. A table shows medians, least and most in brackets.
 */
#include <argp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "tools/bench.h"
#include "tools/bench/about.h"
#include "tools/bench/series.h"
#include "tools/bench/ways.h"
#include "tools/bench_run.h"
#include "tools/field.h"

#define MANY		16 /* processes at once */
#define N_LOOPS		8  /* programs with one query again and again */
#define RUNTIME_PROGRAM "tests/runtime/native/reduce"

static const struct {
	const char *part, *key, *text;
	int digits;
} rows[] = {
#define GSB_ROW(part, key, text, digits) {part, key, text, digits},
#include "tools/bench/rows.def"
};

#define N_ROWS GSB_ARRAY_LEN(rows)

static const char *const way_names[] = {"native", "MPS", "broker"};

struct bench {
	struct gsb_bench_ways ways;
	const char *part, *device, *scale, *seconds;
	const char *runtime; /* a program with one kernel and NVIDIA's runtime; NULL: none */
	unsigned n_rounds;
	bool json;
	struct gsb_about about;
	char self[PATH_MAX], gpu_db[PATH_MAX], reduce[PATH_MAX], data[80];
	struct gsb_series values[N_ROWS][GSB_BENCH_N_WAYS];
	unsigned n_failed;
};

/* ---- values ---- */

static void take(struct bench *b, enum gsb_bench_way way, const char *key, double value)
{
	for (unsigned i = 0; i < N_ROWS; i++)
		if (!strcmp(rows[i].key, key))
			gsb_series_add(&b->values[i][way], value);
}

/* ---- measurements ---- */

/* What a probe says, until it ends. */
static int read_probe(struct bench *b, enum gsb_bench_way way, const char *probe)
{
	const char *argv[] = {b->self, "probe", probe, NULL};
	struct gsb_bench_child c;
	char key[32];
	double value;
	FILE *f;

	gsb_bench_begin(&b->ways, way, argv, true, &c);
	f = c.out_fd >= 0 ? fdopen(dup(c.out_fd), "r") : NULL;
	while (f && fscanf(f, "%31s %lf", key, &value) == 2)
		take(b, way, key, value);
	if (f)
		fclose(f);
	return gsb_bench_end(&c);
}

static int measure_probe(struct bench *b, enum gsb_bench_way way, const char *part)
{
	return read_probe(b, way, part);
}

/* n programs, so many at once: ms from the first exec to the last exit. */
static int time_many(struct bench *b, enum gsb_bench_way way, const char *key,
		     const char *const *argv[], unsigned n, unsigned at_once)
{
	struct gsb_bench_child c[MANY];
	uint64_t from = gsb_clock_ns();
	int err = 0;

	for (unsigned i = 0; i < n + at_once; i++) {
		if (i >= at_once)
			err |= gsb_bench_end(&c[i - at_once]);
		if (i < n)
			gsb_bench_begin(&b->ways, way, argv[i], false, &c[i]);
	}
	if (!err)
		take(b, way, key, (double)(gsb_clock_ns() - from) / 1e6);
	return err;
}

static int time_same(struct bench *b, enum gsb_bench_way way, const char *key,
		     const char *const *argv, unsigned n)
{
	const char *const *all[MANY];

	for (unsigned i = 0; i < n; i++)
		all[i] = argv;
	return time_many(b, way, key, all, n, n);
}

static int measure_processes(struct bench *b, enum gsb_bench_way way, const char *part)
{
	const char *plain[] = {b->self, "probe", "once", NULL}, *runtime[] = {b->runtime, NULL};
	unsigned n = strcmp(part, "tenants") ? 1 : MANY;
	char key[32];
	int err = time_same(b, way, part, plain, n);

	snprintf(key, sizeof(key), "%s_runtime", part);
	return b->runtime ? err | time_same(b, way, key, runtime, n) : err;
}

/* What it says first names the probe that is to run beside it; it says it in one write. */
static int measure_beside(struct bench *b, enum gsb_bench_way way, const char *who,
			  const char *probe)
{
	const char *argv[] = {b->self, "probe", who, NULL};
	struct gsb_bench_child other;
	char said[16] = "";
	int err;

	gsb_bench_begin(&b->ways, way, argv, true, &other);
	err = read(other.out_fd, said, sizeof(said) - 1) > 0 ? 0 : -1;
	said[strcspn(said, "\n")] = 0;
	if (!err)
		err = read_probe(b, way, probe ? probe : said);
	if (!err && !gsb_bench_lives(&other))
		err = -1; /* there was nobody to disturb */
	gsb_bench_kill(&other);
	return err;
}

static int measure_interference(struct bench *b, enum gsb_bench_way way, const char *part)
{
	return measure_beside(b, way, "disturb", "latency") |
	       measure_beside(b, way, "disturb_much", NULL);
}

/* n queries of the sample database, of the first n_kinds in turn. */
struct mix {
	const char *key;
	unsigned n, n_kinds, at_once;
	bool is_extra; /* where mixes alone are asked for */
};

static const struct mix mixes[] = {
	{"mix", MANY, 5, MANY, false},	 {"mix_copies", MANY, 2, MANY, false},
	{"mix_five", 5, 5, 5, true},	 {"mix_five_turns", 5, 5, 1, true},
	{"mix_turns", MANY, 5, 1, true}, {"mix_copies_turns", MANY, 2, 1, true},
};

static int run_queries(struct bench *b, enum gsb_bench_way way, const struct mix *m)
{
	static const char *const names[] = {"q1", "q2", "q3", "q4", "q5"};
	const char *argv[MANY][9];
	const char *const *all[MANY];

	for (unsigned i = 0; i < m->n; i++) {
		const char *one[] = {b->gpu_db, "run",	   "--data",
				     b->data,	"--query", names[i % m->n_kinds],
				     "--quiet", NULL};

		memcpy(argv[i], one, sizeof(one));
		all[i] = argv[i];
	}
	return time_many(b, way, m->key, all, m->n, m->at_once);
}

static int measure_program(struct bench *b, enum gsb_bench_way way, const char *part)
{
	return run_queries(b, way, &(struct mix){part, 1, 1, 1, false});
}

/* What one query took of a program that ran it again and again, ms; 0: it did not. */
static double end_loop(struct gsb_bench_child *c)
{
	char text[2048] = "";
	FILE *f = c->out_fd >= 0 ? fdopen(dup(c->out_fd), "r") : NULL;

	if (f && !fgets(text, sizeof(text), f))
		text[0] = 0;
	if (f)
		fclose(f);
	return gsb_bench_end(c) ? 0 : gsb_bench_query_ms(text);
}

/* Each has its rate while it loops: what it does before and after is no query. */
static int run_loops(struct bench *b, enum gsb_bench_way way)
{
	const char *argv[] = {b->gpu_db, "run",	   "--data",   b->data,	 "--query",
			      "q1",	 "--loop", b->seconds, "--json", NULL};
	struct gsb_bench_child c[N_LOOPS];
	double ms[N_LOOPS], rate;

	for (unsigned i = 0; i < N_LOOPS; i++)
		gsb_bench_begin(&b->ways, way, argv, true, &c[i]);
	for (unsigned i = 0; i < N_LOOPS; i++)
		ms[i] = end_loop(&c[i]);
	rate = gsb_bench_rate(ms, N_LOOPS);
	if (rate > 0)
		take(b, way, "mix_loop", rate);
	return rate > 0 ? 0 : -1;
}

static int measure_mix(struct bench *b, enum gsb_bench_way way, const char *part)
{
	int err = 0;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(mixes); i++)
		if (!mixes[i].is_extra || !strcmp(b->part, part))
			err |= run_queries(b, way, &mixes[i]);
	return err | run_loops(b, way);
}

static const struct {
	const char *part;
	int (*run)(struct bench *b, enum gsb_bench_way way, const char *part);
	bool needs_data;
} parts[] = {
	{"launch", measure_probe, false},
	{"sync", measure_probe, false},
	{"copy", measure_probe, false},
	{"alloc", measure_probe, false},
	{"startup", measure_processes, false},
	{"interference", measure_interference, false},
	{"tenants", measure_processes, false},
	{"program", measure_program, true},
	{"mix", measure_mix, true},
};

static bool is_wanted(const struct bench *b, unsigned part)
{
	return !strcmp(b->part, "device") || !strcmp(b->part, parts[part].part);
}

static void measure(struct bench *b, unsigned part)
{
	for (int way = 0; way < GSB_BENCH_N_WAYS; way++) {
		if (!b->ways.can[way] || !parts[part].run(b, way, parts[part].part))
			continue;
		fprintf(stderr, "gsb-bench: %s failed, %s\n", parts[part].part, way_names[way]);
		b->n_failed++;
	}
}

static int make_data(struct bench *b)
{
	const char *argv[] = {b->gpu_db, "gen",	   "--data",  b->data,
			      "--scale", b->scale, "--quiet", NULL};
	struct gsb_bench_child c;

	gsb_bench_sibling("../examples/gpu_db/gpu_db", b->gpu_db, sizeof(b->gpu_db));
	snprintf(b->data, sizeof(b->data), "%s/data", b->ways.dir);
	gsb_bench_begin(&b->ways, GSB_BENCH_NATIVE, argv, false, &c);
	if (!gsb_bench_end(&c))
		return 0;
	fprintf(stderr, "gsb-bench: %s gen failed: program and mix need it beside this program\n",
		b->gpu_db);
	return -1;
}

static int measure_all(struct bench *b)
{
	bool has_data = false;

	for (unsigned round = 0; round < b->n_rounds; round++)
		for (unsigned i = 0; i < GSB_ARRAY_LEN(parts); i++) {
			if (!is_wanted(b, i))
				continue;
			if (parts[i].needs_data && !has_data && make_data(b))
				return -1;
			has_data |= parts[i].needs_data;
			measure(b, i);
		}
	return 0;
}

/* ---- what is shown ---- */

static void sort_values(struct bench *b)
{
	for (unsigned i = 0; i < N_ROWS; i++)
		for (int way = 0; way < GSB_BENCH_N_WAYS; way++)
			gsb_series_sort(&b->values[i][way]);
}

static bool has_values(const struct gsb_series row[GSB_BENCH_N_WAYS])
{
	return row[GSB_BENCH_NATIVE].n || row[GSB_BENCH_MPS].n || row[GSB_BENCH_BROKER].n;
}

static void print_series(const struct gsb_series *s, int digits)
{
	char text[64] = "-";

	if (s->n)
		snprintf(text, sizeof(text), "%.*f (%.*f-%.*f)", digits, gsb_series_median(s),
			 digits, s->v[0], digits, s->v[s->n - 1]);
	printf(" %-24s", text);
}

static void print_ratio(const struct gsb_series *ours, const struct gsb_series *other)
{
	if (ours->n && other->n && gsb_series_median(other) > 0)
		printf(" %7.2f", gsb_series_median(ours) / gsb_series_median(other));
	else
		printf(" %7s", "-");
}

static void print_table(const struct bench *b)
{
	printf("%-72s %-24s %-24s %-24s %7s %7s\n", "", "native", "MPS", "broker", "/native",
	       "/MPS");
	for (unsigned i = 0; i < N_ROWS; i++) {
		const struct gsb_series *row = b->values[i];

		if (!has_values(row))
			continue;
		printf("%-72s", rows[i].text);
		for (int way = 0; way < GSB_BENCH_N_WAYS; way++)
			print_series(&row[way], rows[i].digits);
		print_ratio(&row[GSB_BENCH_BROKER], &row[GSB_BENCH_NATIVE]);
		print_ratio(&row[GSB_BENCH_BROKER], &row[GSB_BENCH_MPS]);
		printf("\n");
	}
	printf("%u rounds in turn on %s; medians, least and most in brackets\n", b->n_rounds,
	       b->device);
}

static void print_about(const struct bench *b)
{
	const struct {
		const char *key, *value;
	} facts[] = {
		{"device", b->device},	 {"gpu", b->about.gpu}, {"driver", b->about.driver},
		{"time", b->about.time}, {"scale", b->scale},	{"command", b->about.command},
	};

	printf("{");
	for (unsigned i = 0; i < GSB_ARRAY_LEN(facts); i++) {
		printf("\"%s\": ", facts[i].key);
		gsb_json_string(facts[i].value);
		printf(", ");
	}
}

static void print_json(const struct bench *b)
{
	const char *next = "";

	print_about(b);
	printf("\"rounds\": %u, \"rows\": [", b->n_rounds);
	for (unsigned i = 0; i < N_ROWS; i++) {
		if (!has_values(b->values[i]))
			continue;
		printf("%s\n  {\"part\": \"%s\", \"row\": \"%s\", \"what\": \"%s\"", next,
		       rows[i].part, rows[i].key, rows[i].text);
		for (int way = 0; way < GSB_BENCH_N_WAYS; way++) {
			const struct gsb_series *s = &b->values[i][way];

			if (s->n)
				printf(", \"%s\": {\"median\": %.3f, \"least\": %.3f, \"most\": %.3f}",
				       way_names[way], gsb_series_median(s), s->v[0],
				       s->v[s->n - 1]);
		}
		printf("}");
		next = ",";
	}
	printf("]}\n");
}

/* ---- the command line ---- */

static bool wants_processes(const struct bench *b)
{
	return !strcmp(b->part, "device") || !strcmp(b->part, "startup") ||
	       !strcmp(b->part, "tenants");
}

/* One of the tests', unless another was named. Such programs run natively, so that there is something to compare. */
static void find_runtime(struct bench *b)
{
	const char *why = NULL;

	if (b->runtime || !wants_processes(b))
		return;
	gsb_bench_sibling("../" RUNTIME_PROGRAM, b->reduce, sizeof(b->reduce));
	if (!b->ways.can[GSB_BENCH_NATIVE])
		why = "no program runs natively here";
	else if (access(b->reduce, X_OK) < 0)
		why = "there is no " RUNTIME_PROGRAM " (make runtime-native, which needs nvcc)";
	else
		b->runtime = b->reduce;
	if (why)
		fprintf(stderr,
			"gsb-bench: left out: processes with NVIDIA's runtime: %s; --runtime "
			"names another one\n",
			why);
}

/* As a program under the broker is told it: all that its probe writes. */
static void ask_gpu(struct bench *b)
{
	const char *argv[] = {b->self, "probe", "name", NULL};
	struct gsb_bench_child c;
	FILE *f;

	gsb_bench_begin(&b->ways, GSB_BENCH_BROKER, argv, true, &c);
	f = c.out_fd >= 0 ? fdopen(dup(c.out_fd), "r") : NULL;
	if (!f || fscanf(f, "%127[^\n]", b->about.gpu) != 1)
		b->about.gpu[0] = 0;
	if (f)
		fclose(f);
	gsb_bench_end(&c);
}

static const struct argp_option options[] = {
	{"device", 'd', "SPEC", 0, "of the broker: cuda:0 (default), emu:h200, ...", 0},
	{"rounds", 'r', "N", 0, "of each way; 3 without", 0},
	{"scale", 's', "S", 0, "of the data of program and mix; 1/16 without", 0},
	{"seconds", 'S', "T", 0, "so long each program of mix repeats a query; 3 without", 0},
	{"runtime", 'R', "FILE", 0,
	 "a program with one kernel and NVIDIA's runtime, for startup and tenants; "
	 "../" RUNTIME_PROGRAM " without",
	 0},
	{"json", 'j', NULL, 0, "one object instead of a table", 0},
	{0},
};

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	struct bench *b = state->input;
	unsigned long n;
	char *end;

	switch (key) {
	case 'd': b->device = arg; return 0;
	case 's': b->scale = arg; return 0;
	case 'S': b->seconds = arg; return 0;
	case 'R': b->runtime = arg; return 0;
	case 'j': b->json = true; return 0;
	case 'r':
		n = strtoul(arg, &end, 10);
		if (*arg < '0' || *arg > '9' || *end || !n || n > GSB_SERIES_MAX)
			argp_error(state, "--rounds %s: must be a number from 1 to %d", arg,
				   GSB_SERIES_MAX);
		b->n_rounds = (unsigned)n;
		return 0;
	case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", arg); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int gsb_bench_device(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = on_option,
		.doc = "Native, MPS and the broker, in turn in one run.",
	};
	static struct bench b = {
		.device = "cuda:0", .scale = "1/16", .seconds = "3", .n_rounds = 3};
	int err;

	b.part = strrchr(argv[0], ' ') + 1; /* "gsb-bench PART" */
	gsb_about_begin(&b.about, argc, argv);
	argp_parse(&argp, argc, argv, 0, NULL, &b);
	gsb_bench_sibling("gsb-bench", b.self, sizeof(b.self));
	if (gsb_bench_ways_start(&b.ways, b.device))
		return 1;
	ask_gpu(&b);
	find_runtime(&b);
	err = measure_all(&b);
	gsb_bench_ways_stop(&b.ways);
	sort_values(&b);
	if (b.json)
		print_json(&b);
	else
		print_table(&b);
	return err || b.n_failed;
}
