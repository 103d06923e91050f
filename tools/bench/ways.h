/*
 * ways.h - the three ways in which a measured program runs: natively, as a client of MPS, and as a tenant of a private broker. The broker
 * and the daemon of MPS live from the first measurement to the last, so that ways can take turns.
 */
#ifndef GSB_TOOLS_BENCH_WAYS_H
#define GSB_TOOLS_BENCH_WAYS_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tools/bench/mps.h"
#include "tools/private_broker.h"

enum gsb_bench_way { GSB_BENCH_NATIVE, GSB_BENCH_MPS, GSB_BENCH_BROKER, GSB_BENCH_N_WAYS };

struct gsb_bench_ways {
	char dir[64]; /* scratch */
	bool can[GSB_BENCH_N_WAYS];
	struct gsb_mps mps;
	struct gsb_private_broker broker;
};

/* A program that runs: its standard output, -1 when nobody wants it. */
struct gsb_bench_child {
	pid_t pid;
	int out_fd;
};

/*
 * gsb_bench_ways_start() - a broker on a device, and MPS's daemon where there is one; then each way is tried once with `gsb-bench probe
 * once`: one that cannot is left out. Return: 0; -1: not even the broker can, told on stderr.
 */
int gsb_bench_ways_start(struct gsb_bench_ways *w, const char *device);
void gsb_bench_ways_stop(struct gsb_bench_ways *w);

/* Begin argv in a way, with its output in a pipe or thrown away. What goes wrong shows when it is waited for. */
void gsb_bench_begin(const struct gsb_bench_ways *w, enum gsb_bench_way way,
		     const char *const *argv, bool piped, struct gsb_bench_child *out);
/* Until it has ended, and closed. Return: 0; -1: it did not exit with 0. */
int gsb_bench_end(struct gsb_bench_child *c);
/* Whether it has not ended yet. */
bool gsb_bench_lives(const struct gsb_bench_child *c);
/* The same as its end of one that has not ended and is to be. */
void gsb_bench_kill(struct gsb_bench_child *c);

#endif
