/*
 * engine_path.c - launches through an engine, for callgrind. Nothing here waits for anybody, so that each run executes the same
 * instructions in gsb_engine_turn(), which is what is counted (engine_path.sh). One tenant posts them in bursts:
 *
 *   engine_path heads [LAUNCHES [FILE]]   on four streams in turn, and the device completes each at once: all are decided on
 *   engine_path runs [LAUNCHES [FILE]]    on one stream, and the device completes what it has when the engine has no more for it:
 *                                         so they go there one behind another, as on a GPU (work/run.h)
 *
 * With FILE they are recorded into it. Without arguments it is a test: that all of it works.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "broker/engine/tell.h"
#include "broker/engine/trace/trace.h"
#include "tests/unit/engine_kit.h"

#define BURST	  100
#define N_STREAMS 4
/* in runs */
#define TOOK_NS 1000
#define AT_ONCE 16

/*
 * valgrind 3.19 does not know pidfd_open. What tenants get instead, to see the engine's end, is a descriptor that never tells one.
 */
int __wrap_gsb_pidfd_open(pid_t pid, int *fd);
int __wrap_gsb_pidfd_open(pid_t pid, int *fd)
{
	*fd = eventfd(0, EFD_CLOEXEC);
	return *fd < 0 ? -errno : 0;
}

static void record(struct kit_engine *k, struct kit_tenant *t, const char *path)
{
	const struct gsb_trace_header about = {.device = "kit"};
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);

	if (fd < 0 || gsb_trace_record(fd, &about)) {
		fprintf(stderr, "engine_path: %s cannot be recorded into\n", path);
		exit(1);
	}
	gsb_tell_all(k->engine);
	gsb_tenant_trace(t->t);
}

/* As that of a GPU: a fault would end all of it. */
static CUresult nothing_lost(struct gsb_device *dev)
{
	return CUDA_SUCCESS;
}

static void allow_runs(struct kit_engine *k)
{
	struct gsb_scheduler *s = &k->engine->scheduler;

	k->dev->ops.lost = nothing_lost;
	s->runs = gsb_run_is_possible(s);
	assert_true(s->runs);
}

/* Until the device has nothing left; it says of so many at once that they are done. */
static void end_runs(struct kit_engine *k)
{
	struct kit_device *d = k->dev;
	unsigned first = 0;

	for (kit_settle(k); d->n_open; kit_settle(k))
		for (unsigned end = first + AT_ONCE; first < d->n_issued && first < end; first++) {
			kit_complete_run(d, first, CUDA_SUCCESS, d->now_ns, d->now_ns + TOOK_NS);
			d->now_ns += TOOK_NS;
		}
	kit_device_forget(d);
}

static void end_burst(struct kit_engine *k, bool in_runs)
{
	if (in_runs)
		end_runs(k);
	else
		kit_settle(k);
}

static void go(bool in_runs, unsigned n, const char *path)
{
	struct gsb_trace_state state;
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem;

	kit_engine_init(&k, false);
	kit_tenant_init(&t, &k, NULL);
	if (in_runs)
		allow_runs(&k);
	else
		kit_device_auto(k.dev);
	mem = kit_alloc(&t, 4096);
	kit_load_inc(&t, 1, 1);
	for (uint32_t i = 1; i <= N_STREAMS; i++)
		kit_stream_create(&t, i, 1);
	if (path)
		record(&k, &t, path);
	end_burst(&k, in_runs);
	for (unsigned i = 0; i < n; i++) {
		kit_launch_inc(&t, in_runs ? 1 : 1 + i % N_STREAMS, 1, mem, 1);
		if (i % BURST == BURST - 1)
			end_burst(&k, in_runs);
	}
	end_burst(&k, in_runs);
	assert_int_equal(t.t->stats.launches, n);
	assert_int_equal(t.t->stats.kernels, n);
	gsb_trace_finish();
	gsb_trace_get_state(&state);
	printf("launches=%llu events=%llu lost=%llu\n", (unsigned long long)t.t->stats.launches,
	       (unsigned long long)state.n_events, (unsigned long long)state.n_lost);
	kit_tenant_finish(&t);
	kit_engine_finish(&k);
}

int main(int argc, char **argv)
{
	unsigned n = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;

	printf("[ RUN      ] %s\n", program_invocation_short_name);
	if (argc < 2 || !strcmp(argv[1], "heads"))
		go(false, n, argc > 3 ? argv[3] : NULL);
	if (argc < 2 || !strcmp(argv[1], "runs"))
		go(true, n, argc > 3 ? argv[3] : NULL);
	printf("[       OK ] %s\n", program_invocation_short_name);
	return 0;
}
