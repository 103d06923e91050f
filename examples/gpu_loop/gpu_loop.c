/*
 * gpu_loop.c - a program that launches one kernel again and again: one that lives on the memory, the L2, arithmetic, ... (kernels.h).
 *
 * It knows nothing of a broker: plain calls of the driver API, through libcuda.so.1. Every launch fills the GPU: its grid is so many
 * rounds of as many blocks as there is room for, on all SMs or as many as --sms says. All launches are asked for at once, one behind the
 * other in a stream, and each twentieth of them is timed by an event of the device. With --each it is a service that answers questions: one
 * launch at a time, waited for, and how long each took is printed. Usage: gpu_loop --help.
 */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cu.h"
#include "kernels.h"

#define BLOCK	   256
#define N_STAMPS   20
#define TURNS_MOST (1ull << 40)
#define N_KINDS	   (sizeof(gpu_loop_kinds) / sizeof(gpu_loop_kinds[0]))
#define SMS	   16  /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT */
#define MOST_KEPT  512 /* launches that stand in the stream at a time */

struct job {
	unsigned kind;
	unsigned launches, rounds, sms;
	unsigned long long turns, bytes;
	double us;		     /* how long a launch is to take; 0: turns says it */
	unsigned long long pause_us; /* with each: between the end of one and the next */
	bool wait, calibrate, each;

	CUfunction function;
	CUdeviceptr memory;
	CUstream stream;
	unsigned blocks;
	CUevent stamps[N_STAMPS + 1], before, after;
	double *device_us, *host_us; /* with each: how long it took */
	double asked_us, ended_us;   /* the run, by the host's clock */
};

static unsigned long long number(const char *text, const char *what, struct argp_state *state)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	if (*text < '0' || *text > '9' || *end || !n)
		argp_error(state, "%s '%s': must be a whole number above 0", what, text);
	return n;
}

/* ---- one launch ---- */

static void launch(struct job *j)
{
	unsigned long long mask = j->bytes - 1;
	void *params[] = {&j->memory, &mask, &j->turns};

	CU(cuLaunchKernel, (j->function, j->blocks, 1, 1, BLOCK, 1, 1, 0, j->stream, params, NULL),
	   "launching");
}

static double between_us(CUevent from, CUevent to)
{
	float ms;

	CU(cuEventElapsedTime, (&ms, from, to), "timing");
	return ms * 1e3;
}

static double elapsed_us(struct job *j, unsigned from, unsigned to)
{
	return between_us(j->stamps[from], j->stamps[to]);
}

static double time_one(struct job *j)
{
	CU(cuEventRecord, (j->stamps[0], j->stream), "recording an event");
	launch(j);
	CU(cuEventRecord, (j->stamps[1], j->stream), "recording an event");
	CU(cuStreamSynchronize, (j->stream), "waiting");
	return elapsed_us(j, 0, 1);
}

/* That there is memory for. */
static unsigned long long turns_most(const struct job *j)
{
	const unsigned long long each = gpu_loop_kinds[j->kind].bytes_a_turn;

	return each ? j->bytes / (each * j->blocks * BLOCK) : TURNS_MOST;
}

static void check_turns(const struct job *j)
{
	if (j->turns <= turns_most(j))
		return;
	fprintf(stderr,
		"gpu_loop: a launch of %llu turns of %u blocks touches each of %llu bytes once, for which there are not --bytes %llu: "
		"ask for more of these, fewer turns or us, or fewer --rounds\n",
		j->turns, j->blocks,
		j->turns * gpu_loop_kinds[j->kind].bytes_a_turn * j->blocks * BLOCK, j->bytes);
	exit(EXIT_FAILURE);
}

/* The turns that make a launch take as long as it is to: it grows with them in proportion, but for what every launch costs. */
static void calibrate(struct job *j)
{
	const unsigned long long most = turns_most(j);
	double us;

	j->turns = most < 16 ? most : 16;
	check_turns(j);
	time_one(j);
	while ((us = time_one(j)) < j->us / 4 && j->turns <= most / 2)
		j->turns *= 2;
	j->turns = (unsigned long long)((double)j->turns * j->us / us) + 1;
}

/* ---- the run ---- */

static void set_up(struct job *j)
{
	CUdevice device;
	CUcontext context;
	CUmodule module;
	int sms, resident;

	cu_open();
	CU(cuInit, (0), "starting");
	CU(cuDeviceGet, (&device, 0), "looking for a device");
	CU(cuDevicePrimaryCtxRetain, (&context, device), "making a context");
	CU(cuCtxSetCurrent, (context), "making a context");
	CU(cuDeviceGetAttribute, (&sms, SMS, device), "asking for the SMs");
	CU(cuModuleLoadData, (&module, gpu_loop_ptx), "loading the kernels");
	CU(cuModuleGetFunction, (&j->function, module, gpu_loop_kinds[j->kind].name),
	   "looking for the kernel");
	CU(cuOccupancyMaxActiveBlocksPerMultiprocessor, (&resident, j->function, BLOCK, 0),
	   "asking for the room of an SM");
	CU(cuMemAlloc_v2, (&j->memory, j->bytes), "allocating");
	CU(cuMemsetD8_v2, (j->memory, 0, j->bytes), "clearing memory");
	CU(cuStreamCreate, (&j->stream, CU_STREAM_NON_BLOCKING), "making a stream");
	CU(cuEventCreate, (&j->before, CU_EVENT_DEFAULT), "making an event");
	CU(cuEventCreate, (&j->after, CU_EVENT_DEFAULT), "making an event");
	for (unsigned i = 0; i <= N_STAMPS; i++)
		CU(cuEventCreate, (&j->stamps[i], CU_EVENT_DEFAULT), "making an event");
	if (j->sms && j->sms < (unsigned)sms)
		sms = (int)j->sms;
	j->blocks = (unsigned)(sms * resident) * j->rounds;
	if (j->us > 0)
		calibrate(j);
	check_turns(j);
	time_one(j); /* whatever is done at the first launch is done */
}

static void await_start(void)
{
	int c;

	puts("ready");
	fflush(stdout);
	while ((c = getchar()) != EOF && c != '\n')
		;
}

static double now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

/* One launch and the wait for it: what its caller sees, and what the device does, whose time may be a virtual one. */
static void answer(struct job *j, unsigned i)
{
	double from = now_us();

	CU(cuEventRecord, (j->before, j->stream), "recording an event");
	launch(j);
	CU(cuEventRecord, (j->after, j->stream), "recording an event");
	CU(cuStreamSynchronize, (j->stream), "waiting");
	j->host_us[i] = now_us() - from;
	j->device_us[i] = between_us(j->before, j->after);
	if (j->pause_us)
		usleep((useconds_t)j->pause_us);
}

static void run(struct job *j)
{
	unsigned stamp = 0;

	j->asked_us = now_us();
	CU(cuEventRecord, (j->stamps[0], j->stream), "recording an event");
	for (unsigned i = 1; i <= j->launches; i++) {
		if (j->each)
			answer(j, i - 1);
		else
			launch(j);
		while (stamp < N_STAMPS && (stamp + 1) * j->launches <= i * N_STAMPS)
			CU(cuEventRecord, (j->stamps[++stamp], j->stream), "recording an event");
		if (i % MOST_KEPT == 0)
			CU(cuEventSynchronize, (j->stamps[stamp]), "waiting");
	}
	CU(cuStreamSynchronize, (j->stream), "waiting");
	j->ended_us = now_us();
}

static void print_series(const char *key, const double *us, unsigned n)
{
	fputs(key, stdout);
	for (unsigned i = 0; i < n; i++)
		printf(" %.3f", us[i]);
	putchar('\n');
}

static void report(struct job *j)
{
	double ms[N_STAMPS];

	for (unsigned i = 0; i < N_STAMPS; i++)
		ms[i] = elapsed_us(j, 0, i + 1) / 1e3;
	printf("kind=%s blocks=%u turns=%llu launches=%u ms=%.3f\n", gpu_loop_kinds[j->kind].name,
	       j->blocks, j->turns, j->launches, ms[N_STAMPS - 1]);
	print_series("stamps_ms", ms, N_STAMPS);
	printf("host_ms %.3f\n", (j->ended_us - j->asked_us) / 1e3);
	if (!j->each)
		return;
	print_series("device_us", j->device_us, j->launches);
	print_series("host_us", j->host_us, j->launches);
}

/* ---- arguments ---- */

enum { OPT_CALIBRATE = 256, OPT_EACH, OPT_PAUSE, OPT_SMS };

#define KINDS "stream, scan, gather, probe, chase, atomic, fma, sfu, lds or l1hit"

static const struct argp_option options[] = {
	{"kind", 'k', "KIND", 0, KINDS " (default stream)", 0},
	{"launches", 'n', "N", 0, "so many (default 100)", 0},
	{"turns", 't', "N", 0, "of each thread's loop in a launch", 0},
	{"us", 'u', "T", 0, "as many turns as make a launch take so long alone", 0},
	{"rounds", 'r', "N", 0, "a grid is so many times what the GPU has room for (default 8)", 0},
	{"sms", OPT_SMS, "N", 0, "as if the GPU had so many SMs, if it has more", 0},
	{"each", OPT_EACH, NULL, 0, "wait for each launch, and print how long each took", 0},
	{"pause", OPT_PAUSE, "T", 0, "with --each: so many us between one and the next", 0},
	{"bytes", 'b', "N", 0, "of memory, a power of two (default: by the kind)", 0},
	{"wait", 'w', NULL, 0, "say \"ready\", and begin when a line comes on stdin", 0},
	{"calibrate", OPT_CALIBRATE, NULL, 0, "with --us: print the turns, and end", 0},
	{0},
};

static unsigned kind_of(const char *name, struct argp_state *state)
{
	unsigned i = 0;

	while (i < N_KINDS && strcmp(gpu_loop_kinds[i].name, name))
		i++;
	if (i == N_KINDS)
		argp_error(state, "--kind %s: there is none of that name; there are " KINDS, name);
	return i;
}

static void check(struct job *j, struct argp_state *state)
{
	if (!j->bytes)
		j->bytes = gpu_loop_kinds[j->kind].bytes;
	if (j->bytes & (j->bytes - 1))
		argp_error(state, "--bytes %llu: must be a power of two", j->bytes);
	if (!j->turns && j->us <= 0)
		argp_error(state, "one of --turns and --us says how long a launch is");
	if (j->launches < N_STAMPS)
		argp_error(state,
			   "--launches %u: must be %d or more, because each twentieth is timed",
			   j->launches, N_STAMPS);
}

static error_t on_option(int key, char *arg, struct argp_state *state)
{
	struct job *j = state->input;

	switch (key) {
	case 'k': j->kind = kind_of(arg, state); return 0;
	case 'n': j->launches = (unsigned)number(arg, "--launches", state); return 0;
	case 't': j->turns = number(arg, "--turns", state); return 0;
	case 'u': j->us = (double)number(arg, "--us", state); return 0;
	case 'r': j->rounds = (unsigned)number(arg, "--rounds", state); return 0;
	case OPT_SMS: j->sms = (unsigned)number(arg, "--sms", state); return 0;
	case OPT_EACH: j->each = true; return 0;
	case OPT_PAUSE: j->pause_us = number(arg, "--pause", state); return 0;
	case 'b': j->bytes = number(arg, "--bytes", state); return 0;
	case 'w': j->wait = true; return 0;
	case OPT_CALIBRATE: j->calibrate = true; return 0;
	case ARGP_KEY_ARG: argp_error(state, "'%s' is no option", arg); return 0;
	case ARGP_KEY_END: check(j, state); return 0;
	default: return ARGP_ERR_UNKNOWN;
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		.options = options,
		.parser = on_option,
		.doc = "Launch a kernel again and again, as a tenant that keeps a GPU busy.",
	};
	struct job j = {.launches = 100, .rounds = 8};

	argp_parse(&argp, argc, argv, 0, NULL, &j);
	set_up(&j);
	if (j.calibrate) {
		printf("%llu\n", j.turns);
		return 0;
	}
	j.device_us = calloc(2 * (size_t)j.launches, sizeof(*j.device_us));
	if (!j.device_us) {
		fprintf(stderr, "gpu_loop: --launches %u: no memory for their times\n", j.launches);
		return 1;
	}
	j.host_us = j.device_us + j.launches;
	if (j.wait)
		await_start();
	run(&j);
	report(&j);
	free(j.device_us);
	return 0;
}
