/*
 * bench_transport.c - what a posted launch costs, ours beside native in one run.
 *
 * Ours: under a private broker on the null device, which completes at once, so the figures are those of
 * library, ring and engine. Native: the same program without the preload, where there is a driver.
 */
#include <stdio.h>

#include "tools/bench.h"
#include "tools/bench_run.h"

#define MANY "4" /* threads */

struct figures {
	unsigned long launches, added_kb;
	double call_ns, total_ns;
	char device[128];
};

static bool run_tenant(const char *broker_device, const char *n, const char *threads,
		       struct figures *out)
{
	const char *const args[] = {"tenant", "-n", n, "-t", threads, NULL};
	char line[512];

	return gsb_bench_self(broker_device, args, line, sizeof(line)) &&
	       sscanf(line, "launches=%lu call_ns=%lf total_ns=%lf added_kb=%lu device=%127[^\n]",
		      &out->launches, &out->call_ns, &out->total_ns, &out->added_kb,
		      out->device) == 5;
}

static void print_row(const char *what, double native, double ours)
{
	if (native > 0)
		printf("%-44s %10.1f %10.1f %8.3f\n", what, native, ours, ours / native);
	else
		printf("%-44s %10s %10.1f %8s\n", what, "-", ours, "-");
}

static double per_second_k(const struct figures *f)
{
	return f->total_ns > 0 ? 1e6 / f->total_ns : 0;
}

/* One thread, whose launches are in one stream, and several with a stream each: what a library posts, and what an
 * engine takes. */
static bool run_both(const char *device, const char *n, struct figures *one, struct figures *many)
{
	return run_tenant(device, n, "1", one) && run_tenant(device, n, MANY, many);
}

int gsb_bench_transport(int argc, char **argv)
{
	struct gsb_bench_settings s = {.launches = "100000", .device = "null"};
	struct figures ours, ours_many, native = {0}, native_many = {0};

	gsb_bench_parse(argc, argv, &s);
	if (!run_both(s.device, s.launches, &ours, &ours_many)) {
		fprintf(stderr, "gsb-bench: the run under gsbrun --device %s failed\n", s.device);
		return 1;
	}
	if (!run_both(NULL, s.launches, &native, &native_many)) {
		native = native_many = (struct figures){0};
		printf("no native figure: no GPU driver on this machine\n");
	}
	printf("%-44s %10s %10s %8s\n", "", "native", "ours", "ratio");
	print_row("time in cuLaunchKernel, ns", native.call_ns, ours.call_ns);
	print_row("launch to completion, in bursts, ns each", native.total_ns, ours.total_ns);
	print_row("launches per second, thousands", per_second_k(&native), per_second_k(&ours));
	print_row("the same of " MANY " threads with a stream each", per_second_k(&native_many),
		  per_second_k(&ours_many));
	printf("%lu launches; ours on %s%s%s\n", ours.launches, ours.device,
	       native.device[0] ? ", native on " : "", native.device);
	return 0;
}
