/*
 * partitions.c - what parts of the SMs are good for, measured through ops.h: a short kernel beside long ones, and a kernel bound by
 * memory beside one bound by arithmetic.
 *
 * Usage: partitions [cuda:0]
 *
 * One line a figure: what, least, median, most; shares are of the speed alone on the whole GPU.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "device/cuda/cuda.h"
#include "device/ops.h"
#include "tests/gpu/bound_kernels.h"

#define DEVICE_BASE 0x400000000000ull
#define DEVICE_SIZE (1ull << 36)
#define N_ROUNDS    21
#define N_LAUNCHES  24
#define SCAN_BYTES  (4ull << 30)
#define BLOCK	    256

struct bench {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	struct gsb_space *space;
	struct gsb_function *spin, *scan;
	uint64_t memory;
	uint32_t n_sms;
};

static void need(const char *what, int err, const char *text)
{
	if (!err)
		return;
	fprintf(stderr, "partitions: %s: %s (%s)\n", what, strerror(-err), text);
	exit(1);
}

static struct gsb_function *get(struct bench *b, struct gsb_module *m, const char *name)
{
	static struct gsb_function_info info;
	struct gsb_function *f = NULL;
	char log[512] = "";

	need(name, b->ops->function_get(m, name, &f, &info), "");
	need(name, b->ops->function_prepare(f, log, sizeof(log)), log);
	return f;
}

static void set_up(struct bench *b, const char *spec)
{
	struct gsb_device_params p = {.spec = spec};
	struct gsb_space_params s = {.device_base = DEVICE_BASE, .device_size = DEVICE_SIZE};
	struct gsb_module *m = NULL;
	char text[512] = "";

	need("device", gsb_cuda_ops.open(&p, &b->dev, text, sizeof(text)), text);
	b->ops = b->dev->ops;
	b->n_sms = b->ops->info(b->dev)->arch.n_sms;
	need("space", b->ops->space_create(b->dev, &s, &b->space), "");
	need("memory", b->ops->mem_alloc(b->space, SCAN_BYTES, &b->memory), "");
	need("module",
	     b->ops->module_load(b->space, bound_ptx, strlen(bound_ptx), &m, text, sizeof(text)),
	     text);
	b->spin = get(b, m, "spin");
	b->scan = get(b, m, "scan");
}

static struct gsb_queue *queue_on(struct bench *b, uint32_t first, uint32_t n)
{
	const struct gsb_sm_range sms = {first, n};
	struct gsb_queue *q = NULL;

	need("queue", b->ops->queue_create(b->dev, 0, sms, &q), "parts of the SMs");
	return q;
}

static void launch(struct bench *b, struct gsb_queue *q, struct gsb_function *f, uint32_t blocks,
		   uint64_t n, uint64_t cookie)
{
	const uint64_t params[] = {b->memory, n};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = b->space,
			      .cookie = cookie,
			      .launch = {.function = f,
					 .grid = {blocks, 1, 1},
					 .block = {BLOCK, 1, 1},
					 .params = params,
					 .params_bytes = sizeof(params)}};

	need("launch", b->ops->issue(q, &cmd), "");
}

static struct gsb_completion next_end(struct bench *b)
{
	struct gsb_completion c;

	while (!b->ops->poll(b->dev, &c, 1))
		gsb_cpu_relax();
	need("kernel", c.result ? -(int)c.result : 0, "the driver's code");
	return c;
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void say(const char *what, double *v, unsigned n)
{
	qsort(v, n, sizeof(*v), by_size);
	printf("%-64s %10.4f %10.4f %10.4f\n", what, v[0], v[n / 2], v[n - 1]);
}

/* ---- one kernel alone ---- */

static double time_of(struct bench *b, struct gsb_queue *q, struct gsb_function *f, uint32_t blocks,
		      uint64_t n)
{
	struct gsb_completion c;

	launch(b, q, f, blocks, n, 0);
	c = next_end(b);
	return (double)(c.end_ns - c.start_ns) / 1e6;
}

static double median_of(struct bench *b, struct gsb_queue *q, struct gsb_function *f,
			uint32_t blocks, uint64_t n)
{
	double ms[5];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(ms); i++)
		ms[i] = time_of(b, q, f, blocks, n);
	qsort(ms, GSB_ARRAY_LEN(ms), sizeof(*ms), by_size);
	return ms[GSB_ARRAY_LEN(ms) / 2];
}

/* Turns with which the whole GPU is busy so long. */
static uint64_t turns_for(struct bench *b, struct gsb_queue *q, uint32_t blocks, double ms)
{
	const uint64_t some = 20000;

	time_of(b, q, b->spin, blocks, some); /* the clock rises */
	return (uint64_t)((double)some * ms / median_of(b, q, b->spin, blocks, some));
}

/* ---- a short kernel beside long ones ---- */

/* From its issue until its end is known, while eight rounds of blocks, 5 ms each, fill the first 64 SMs. */
static void measure_short(struct bench *b, const char *what, struct gsb_queue *busy,
			  struct gsb_queue *q, uint64_t turns)
{
	double ms[N_ROUNDS];

	for (unsigned i = 0; i < N_ROUNDS; i++) {
		uint64_t begin;

		launch(b, busy, b->spin, 64 * 8 * 8, turns, 1);
		begin = gsb_clock_ns();
		while (gsb_clock_ns() - begin < 2000000)
			gsb_cpu_relax();
		begin = gsb_clock_ns();
		launch(b, q, b->spin, 1, 10, 0);
		if (next_end(b).cookie == 1)
			printf("%s: the long kernel ended first\n", what);
		ms[i] = (double)(gsb_clock_ns() - begin) / 1e6;
		next_end(b);
	}
	say(what, ms, N_ROUNDS);
}

/* ---- two kernels ---- */

struct side {
	struct gsb_queue *queue;
	struct gsb_function *function;
	uint32_t blocks;
	uint64_t n;
	double alone_ms, sum_ms;
	unsigned n_done;
};

/* Each again and again; counted is what ends before either has no more. */
static double share_both(struct bench *b, struct side sides[2])
{
	double total = 0;
	bool over = false;

	for (unsigned i = 0; i < 2; i++) {
		sides[i].n_done = 0;
		sides[i].sum_ms = 0;
	}
	for (unsigned i = 0; i < N_LAUNCHES; i++)
		for (unsigned k = 0; k < 2; k++)
			launch(b, sides[k].queue, sides[k].function, sides[k].blocks, sides[k].n,
			       k);
	for (unsigned i = 0; i < 2 * N_LAUNCHES; i++) {
		struct gsb_completion c = next_end(b);
		struct side *s = &sides[c.cookie];

		if (over)
			continue;
		s->n_done++;
		s->sum_ms += (double)(c.end_ns - c.start_ns) / 1e6;
		over = s->n_done == N_LAUNCHES;
	}
	for (unsigned k = 0; k < 2; k++)
		total += sides[k].alone_ms * sides[k].n_done / sides[k].sum_ms;
	return total;
}

static void measure_pair(struct bench *b, const char *what, struct side scan, struct side spin)
{
	struct side sides[2] = {scan, spin};
	double total[5], first[5], second[5];
	char line[96];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(total); i++) {
		total[i] = share_both(b, sides);
		first[i] = sides[0].alone_ms * sides[0].n_done / sides[0].sum_ms;
		second[i] = sides[1].alone_ms * sides[1].n_done / sides[1].sum_ms;
	}
	snprintf(line, sizeof(line), "%s: scan's share", what);
	say(line, first, GSB_ARRAY_LEN(first));
	snprintf(line, sizeof(line), "%s: arithmetic's share", what);
	say(line, second, GSB_ARRAY_LEN(second));
	snprintf(line, sizeof(line), "%s: both", what);
	say(line, total, GSB_ARRAY_LEN(total));
}

int main(int argc, char **argv)
{
	struct bench b = {0};
	struct gsb_queue *all, *second, *low, *high, *most, *small, *large;
	struct side scan, spin;
	uint64_t turns;

	set_up(&b, argc > 1 ? argv[1] : "cuda:0");
	all = queue_on(&b, 0, 0);
	second = queue_on(&b, 0, 0);
	low = queue_on(&b, 0, 64);
	high = queue_on(&b, 64, b.n_sms - 64);
	most = queue_on(&b, 32, b.n_sms - 32);
	small = queue_on(&b, 0, 48);
	large = queue_on(&b, 48, b.n_sms - 48);
	printf("%s, %u SMs in groups of %u\n", b.ops->info(b.dev)->name, b.n_sms,
	       b.ops->info(b.dev)->sm_group);
	printf("%-64s %10s %10s %10s\n", "", "least", "median", "most");

	turns = turns_for(&b, all, b.n_sms * 8, 5);
	measure_short(&b, "ms, 1 block on 64.., beside 8 x 5 ms on 0..63", low, high, turns);
	measure_short(&b, "ms, 1 block on 32.., beside 8 x 5 ms on 0..63", low, most, turns);
	measure_short(&b, "ms, 1 block on all, beside 8 x 5 ms on 0..63", low, all, turns);
	measure_short(&b, "ms, 1 block on 0..63, beside 8 x 5 ms on 0..63", low,
		      queue_on(&b, 0, 64), turns);

	scan = (struct side){.function = b.scan, .blocks = b.n_sms * 8};
	scan.n = SCAN_BYTES / (64ull * BLOCK * scan.blocks) * (64ull * BLOCK * scan.blocks);
	spin = (struct side){.function = b.spin, .blocks = b.n_sms * 8 * 4};
	scan.alone_ms = median_of(&b, all, scan.function, scan.blocks, scan.n);
	spin.n = turns_for(&b, all, spin.blocks, scan.alone_ms * 1.5);
	spin.alone_ms = median_of(&b, all, spin.function, spin.blocks, spin.n);
	printf("alone on all: scan %.3f ms, arithmetic %.3f ms\n", scan.alone_ms, spin.alone_ms);
	printf("alone on 48: scan %.3f of that speed; on %u: arithmetic %.3f\n",
	       scan.alone_ms / median_of(&b, small, scan.function, scan.blocks, scan.n),
	       b.n_sms - 48,
	       spin.alone_ms / median_of(&b, large, spin.function, spin.blocks, spin.n));
	scan.queue = small;
	spin.queue = large;
	measure_pair(&b, "scan on 48, arithmetic on the rest", scan, spin);
	scan.queue = all;
	spin.queue = second;
	measure_pair(&b, "both on all SMs", scan, spin);
	return 0;
}
