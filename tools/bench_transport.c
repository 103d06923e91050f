/*
 * bench_transport.c - what a posted launch costs, ours beside native in one run.
 *
 * Ours: under a private broker on the null device, which completes at once, so the figures are those of
 * library, ring and engine. Native: the same program without the preload, where there is a driver.
 */
#include <stdio.h>

#include "tools/bench.h"
#include "tools/bench_run.h"

struct figures {
	unsigned long launches, added_kb;
	double call_ns, total_ns;
	char device[128];
};

static bool run_tenant(const char *broker_device, const char *n, struct figures *out)
{
	const char *const args[] = {"tenant", "-n", n, NULL};
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

int gsb_bench_transport(int argc, char **argv)
{
	struct gsb_bench_settings s = {.launches = "100000", .device = "null"};
	struct figures ours, native = {0};

	gsb_bench_parse(argc, argv, &s);
	if (!run_tenant(s.device, s.launches, &ours)) {
		fprintf(stderr, "gsb-bench: the run under gsbrun --device %s failed\n", s.device);
		return 1;
	}
	if (!run_tenant(NULL, s.launches, &native)) {
		native = (struct figures){0};
		printf("no native figure: no GPU driver on this machine\n");
	}
	printf("%-44s %10s %10s %8s\n", "", "native", "ours", "ratio");
	print_row("time in cuLaunchKernel, ns", native.call_ns, ours.call_ns);
	print_row("launch to completion, in bursts, ns each", native.total_ns, ours.total_ns);
	print_row("launches per second, thousands", native.total_ns > 0 ? 1e6 / native.total_ns : 0,
		  1e6 / ours.total_ns);
	printf("%lu launches; ours on %s%s%s\n", ours.launches, ours.device,
	       native.device[0] ? ", native on " : "", native.device);
	return 0;
}
