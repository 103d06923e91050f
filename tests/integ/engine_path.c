/*
 * engine_path.c - launches through an engine, for callgrind: one tenant posts them in bursts on four streams, and the device
 * completes them at once. Nothing here waits for anybody, so that each run executes the same instructions in gsb_engine_turn(),
 * which is what is counted (engine_path.sh).
 *
 *   engine_path [LAUNCHES [FILE]]     with FILE they are recorded into it
 *
 * Without arguments it is a test: that all of it works.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "broker/engine/tell.h"
#include "broker/engine/trace/trace.h"
#include "tests/unit/engine_kit.h"

#define BURST	  100
#define N_STREAMS 4

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

int main(int argc, char **argv)
{
	unsigned n = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1000;
	struct gsb_trace_state state;
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem;

	printf("[ RUN      ] %s\n", program_invocation_short_name);
	kit_engine_init(&k, false);
	kit_tenant_init(&t, &k, NULL);
	kit_device_auto(k.dev);
	mem = kit_alloc(&t, 4096);
	kit_load_inc(&t, 1, 1);
	for (uint32_t i = 1; i <= N_STREAMS; i++)
		kit_stream_create(&t, i, 1);
	if (argc > 2)
		record(&k, &t, argv[2]);
	kit_settle(&k);
	for (unsigned i = 0; i < n; i++) {
		kit_launch_inc(&t, 1 + i % N_STREAMS, 1, mem, 1);
		if (i % BURST == BURST - 1)
			kit_settle(&k);
	}
	kit_settle(&k);
	assert_int_equal(t.t->stats.launches, n);
	assert_int_equal(t.t->stats.kernels, n);
	gsb_trace_finish();
	gsb_trace_get_state(&state);
	printf("launches=%llu events=%llu lost=%llu\n", (unsigned long long)t.t->stats.launches,
	       (unsigned long long)state.n_events, (unsigned long long)state.n_lost);
	kit_tenant_finish(&t);
	kit_engine_finish(&k);
	printf("[       OK ] %s\n", program_invocation_short_name);
	return 0;
}
