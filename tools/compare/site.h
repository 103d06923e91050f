/*
 * site.h - where tenants are run: a folder of our own, programs in one of several ways, and brokers and a daemon of MPS that nobody else has.
 */
#ifndef GSB_TOOLS_COMPARE_SITE_H
#define GSB_TOOLS_COMPARE_SITE_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>

#include "tools/bench/mps.h"
#include "tools/private_broker.h"

enum gsb_way {
	GSB_WAY_POLICY,	    /* under a broker */
	GSB_WAY_SEQUENTIAL, /* natively, one after the other */
	GSB_WAY_AT_ONCE,    /* natively, all at once, in time slices */
	GSB_WAY_MPS	    /* natively, all at once, as clients of MPS */
};

struct gsb_compared_way {
	enum gsb_way way;
	const char *name;
	const char *policy; /* GSB_WAY_POLICY */
};

struct gsb_bench_site {
	const char *device;
	bool is_real;		       /* a GPU */
	unsigned critical_sms_percent, /* of brokers; 0: the usual */
		critical_wait_us; /* of brokers, with launches in proven shapes; 0: there is none */
	bool resizes;		  /* launches in proven shapes in any case; else as asked */
	char dir[64];		  /* scratch */
	struct gsb_mps mps;
};

/* A program that is run, and how. */
struct gsb_seat {
	const struct gsb_compared_way *way;
	const char *socket; /* of the broker; NULL: natively */
	const char *tenant; /* its name there */
	const char *
		output; /* file in the folder: what it says on stderr, and on stdout if that goes nowhere else */
	int in_fd, out_fd; /* -1: as ours; that file */
};

/* The scratch folder of a site, gone with all that is in it at the end, and the daemon of MPS, where there is one. 0, -errno. */
int gsb_site_open(struct gsb_bench_site *s);
void gsb_site_close(struct gsb_bench_site *s);

void gsb_site_path(const struct gsb_bench_site *s, const char *name, char out[PATH_MAX]);

pid_t gsb_site_spawn(const struct gsb_bench_site *s, const struct gsb_seat *seat,
		     const char *const *argv);
/* Until it ends. 0; -1: not with 0: what it said is shown. */
int gsb_site_await(const struct gsb_bench_site *s, const struct gsb_seat *seat, pid_t pid);
/* A tool that lies beside us, to its end. */
int gsb_site_run_tool(const struct gsb_bench_site *s, const char *tool, const char *const *args);

/* Begun with the lines that are always wanted; the caller adds its own and closes it. NULL: told. */
FILE *gsb_site_begin_conf(const struct gsb_bench_site *s, const char *policy);
/* With that file. 0; -1: told. */
int gsb_site_start_broker(const struct gsb_bench_site *s, struct gsb_private_broker *b);
/* The engine's counts of those that have left, once n have. */
int gsb_site_await_gone(const char *socket, unsigned n, double *sm_ns);

#endif
