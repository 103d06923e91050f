/*
 * resize_pairs.c - two kernels on one GPU: what lifetimes do to their shares of a full unit, and what hints do to a kernel that
 * lives in L2. Shares are of what each does alone.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "tests/gpu/resize_task.h"

#define THREADS	     512   /* of a block of two that share SMs */
#define SMEM	     38912 /* so that four of them fill an SM */
#define PLACES	     2	   /* of each on an SM */
#define FIRST_TURNS  1500
#define SECOND_TURNS 100
#define GRIDS	     8 /* of the second one, back to back */
#define WAVES	     400
#define AHEAD	     2	/* launches of the first one in its queues */
#define PATIENCE     15 /* times what the second one takes alone */
#define MOST_TILES   4096
#define NEAR	     0.02
#define STEPS	     10
#define AGAIN	     3
#define LAUNCHES     512 /* of a scan that are timed */
#define READS	     20000

/* ---- shares of a full unit ---- */

/* How the first one goes on when its blocks have ended. */
struct way {
	const char *name;
	CUstream queues[2];
	uint32_t n_queues;
	double hold_us; /* from the end of one launch to the next one's issue; 0: AHEAD are issued */
};

struct pair {
	struct way way;
	uint32_t max_tiles;
	double tile_us, second_us; /* alone: a tile of all SMs; GRIDS of the second one */
	/* Both at once: */
	double first, second;
	bool late; /* the second one was not over in time */
};

static struct task pipe_task(unsigned int form, uint32_t blocks, uint64_t turns)
{
	struct task t = task_of(bench.more, "pipe", form, blocks, turns);

	t.shot.block[0] = THREADS;
	t.shot.smem = SMEM;
	return t;
}

static uint32_t tiles_done(void)
{
	uint32_t next;

	need("read", cu.cuMemcpyDtoHAsync_v2(&next, bench.control, sizeof(next), bench.streams[2]));
	need("read", cu.cuStreamSynchronize(bench.streams[2]));
	return next;
}

/* The first one's launches. */
struct flow {
	struct task task;
	struct way way;
	CUevent over[AHEAD];
	uint64_t n, free_ns; /* issued; when the last one was seen to be over, 0: it was not */
};

static void issue_next(struct flow *f)
{
	struct gsb_variant_persistent own = task_persistent(&f->task);
	CUstream queue = f->way.queues[f->n % f->way.n_queues];

	task_fire(&f->task, &own, sizeof(own), queue);
	need("event", cu.cuEventRecord(f->over[f->n % AHEAD], queue));
	f->n++;
	f->free_ns = 0;
}

static bool is_over(CUevent e)
{
	return cu.cuEventQuery(e) != CUDA_ERROR_NOT_READY;
}

static void go_on(struct flow *f)
{
	const uint64_t now = gsb_clock_ns();

	if (f->way.hold_us <= 0) {
		if (f->n < AHEAD || is_over(f->over[f->n % AHEAD]))
			issue_next(f);
		return;
	}
	if (!f->free_ns && is_over(f->over[(f->n - 1) % AHEAD]))
		f->free_ns = now;
	if (f->free_ns && (double)(now - f->free_ns) >= f->way.hold_us * 1e3)
		issue_next(f);
}

static void fire_second(void)
{
	struct task second = pipe_task(TASK_ORIGINAL, PLACES * TASK_SMS * WAVES, SECOND_TURNS);

	for (int i = 0; i < GRIDS; i++)
		task_fire_all(&second, bench.streams[1]);
}

static void run_beside(struct pair *p, struct flow *f)
{
	uint64_t limit;
	uint32_t tiles;
	double us;

	task_clear_control();
	issue_next(f);
	while (!tiles_done())
		;
	limit = gsb_clock_ns() + (uint64_t)(PATIENCE * p->second_us * 1e3);
	tiles = tiles_done();
	need("event", cu.cuEventRecord(bench.begin, bench.streams[1]));
	fire_second();
	need("event", cu.cuEventRecord(bench.end, bench.streams[1]));
	while (!is_over(bench.end) && gsb_clock_ns() < limit)
		go_on(f);
	tiles = tiles_done() - tiles;
	p->late = !is_over(bench.end);
	task_raise_stop();
	us = task_elapsed_us(bench.begin, bench.end);
	need("wait", cu.cuCtxSynchronize());
	p->second = p->second_us / us;
	p->first = tiles * p->tile_us / us;
}

static void measure(struct pair *p)
{
	struct flow f = {.way = p->way};

	f.task = pipe_task(GSB_REWRITE_PERSISTENT, 1u << 30, FIRST_TURNS);
	f.task.shot.grid[0] = PLACES * TASK_SMS;
	f.task.max_tiles = p->max_tiles;
	for (int i = 0; i < AHEAD; i++)
		need("event", cu.cuEventCreate(&f.over[i], 2 /* no time */));
	run_beside(p, &f);
	for (int i = 0; i < AHEAD; i++)
		need("event", cu.cuEventDestroy_v2(f.over[i]));
}

static void say(const char *what, const struct pair *p, double weight)
{
	printf("%s\t%s\t%.2f\t%d\t%.0f\t%s%.3f\t%.3f\n", what, p->way.name, weight,
	       (int)p->max_tiles, p->way.hold_us, p->late ? "<" : "", p->second, p->first);
}

static void try_lives(struct pair p)
{
	static const uint32_t lives[] = {GSB_VARIANT_NO_LIMIT, 256, 64, 16, 3, 1};

	for (size_t i = 0; i < GSB_ARRAY_LEN(lives); i++) {
		p.max_tiles = lives[i];
		measure(&p);
		say("share", &p, 0);
	}
}

static double middle(double low, double high)
{
	return sqrt(low * high);
}

/* The found one again: least, and most, of the second one's share. */
static void confirm(struct pair *p, double weight)
{
	double least = 1, most = 0;

	for (int i = 0; i < AGAIN; i++) {
		measure(p);
		least = fmin(least, p->second);
		most = fmax(most, p->second);
		say("again", p, weight);
	}
	printf("found\t%s\t%.2f\t%d\t%.0f\t%.3f\t%.3f\t%s\n", p->way.name, weight,
	       (int)p->max_tiles, p->way.hold_us, least, most,
	       fabs(least - weight) <= 0.1 && fabs(most - weight) <= 0.1 ? "near" : "NOT NEAR");
}

/* The longer the first one's blocks live, the less is the second one's. */
static void find_life(struct pair p, double weight)
{
	double low = 1, high = MOST_TILES;

	for (int i = 0; i < STEPS; i++) {
		p.max_tiles = (uint32_t)middle(low, high);
		measure(&p);
		say("life", &p, weight);
		if (fabs(p.second - weight) <= NEAR)
			break;
		*(p.second > weight ? &low : &high) = p.max_tiles;
	}
	confirm(&p, weight);
}

/* The lifetime is given, and the first one's next launch is held. */
static void find_hold(struct pair p, double weight)
{
	double low = 1, high = 100000;

	for (int i = 0; i < STEPS; i++) {
		p.way.hold_us = middle(low, high);
		measure(&p);
		say("hold", &p, weight);
		if (fabs(p.second - weight) <= NEAR)
			break;
		*(p.second < weight ? &low : &high) = p.way.hold_us;
	}
	confirm(&p, weight);
}

static void measure_alone(struct pair *p)
{
	struct task first = pipe_task(TASK_ORIGINAL, PLACES * TASK_SMS * 200, FIRST_TURNS);

	p->tile_us = task_us(&first, bench.streams[0]) / first.blocks;
	for (int i = 0; i < 2; i++) {
		task_clear_control();
		need("event", cu.cuEventRecord(bench.begin, bench.streams[1]));
		fire_second();
		need("event", cu.cuEventRecord(bench.end, bench.streams[1]));
		p->second_us = task_elapsed_us(bench.begin, bench.end);
	}
	printf("alone\tfirst: %.1f us a tile of each block\tsecond: %.1f us, %d grids of %d blocks\n",
	       p->tile_us * PLACES * TASK_SMS, p->second_us, GRIDS, PLACES * TASK_SMS * WAVES);
}

int measure_shares(void)
{
	static const double weights[] = {0.5, 0.75, 0.25}; /* the second one's */
	struct pair p = {.way = {"one queue", {bench.streams[0]}, 1, 0}};
	struct pair urgent;
	CUstream high;

	need("stream", cu.cuStreamCreateWithPriority(&high, 1, -5));
	measure_alone(&p);
	urgent = p;
	urgent.way = (struct way){"urgent queue", {high}, 1, 0};
	printf("#\tway\tweight\ttiles\thold us\tsecond\tfirst\n");
	try_lives(p);
	p.way = (struct way){"two queues", {bench.streams[0], high}, 2, 0};
	need("stream", cu.cuStreamCreate(&p.way.queues[1], 1));
	try_lives(p);
	try_lives(urgent);
	p.way = (struct way){"one queue", {bench.streams[0]}, 1, 0};
	for (size_t i = 0; i < GSB_ARRAY_LEN(weights); i++)
		find_life(p, weights[i]);
	urgent.way.name = "urgent queue, held";
	urgent.max_tiles = 16;
	for (size_t i = 0; i < GSB_ARRAY_LEN(weights); i++)
		find_hold(urgent, weights[i]);
	return 0;
}

/* ---- hints ---- */

/* Where the two run. */
struct parts {
	const char *name;
	CUstream reads, scan;
	uint32_t reads_sms, scan_sms;
};

static CUevent ends[LAUNCHES];

static struct task scan_task(unsigned int form, uint32_t sms, unsigned int places)
{
	const uint64_t unit = 64ull * TASK_THREADS * places * sms;

	return task_of(bench.bound, "scan", form, places * sms, (1024 * TASK_MIB / unit) * unit);
}

/* How many of the scan's launches were done between the two events: whole ones, and the parts at both ends. */
static double scans_done(size_t n, double us)
{
	double done = 0, before = 0;

	for (size_t i = 0; i < n; i++) {
		float ms;
		double at;

		need("time", cu.cuEventElapsedTime(&ms, bench.begin, ends[i]));
		at = (double)ms * 1e3;
		if (i && at > 0 && before < us)
			done += (fmin(at, us) - fmax(before, 0)) / (at - before);
		before = at;
	}
	return done;
}

/* Of @scan, one launch after another, while the reads run: us of these. */
static double read_beside(struct task *reads, struct task *scan, const struct parts *on,
			  double *scans)
{
	uint64_t limit;
	size_t n = 0;
	double us;

	need("wait", cu.cuCtxSynchronize());
	for (; n < 8; n++) {
		task_fire_all(scan, on->scan);
		need("event", cu.cuEventRecord(ends[n], on->scan));
	}
	need("wait", cu.cuEventSynchronize(ends[0]));
	need("event", cu.cuEventRecord(bench.begin, on->reads));
	task_fire_all(reads, on->reads);
	need("event", cu.cuEventRecord(bench.end, on->reads));
	limit = gsb_clock_ns() + 2000000000;
	while ((!is_over(bench.end) || !is_over(ends[n - 2])) && n < LAUNCHES &&
	       gsb_clock_ns() < limit) {
		if (!is_over(ends[n - 6]))
			continue;
		task_fire_all(scan, on->scan);
		need("event", cu.cuEventRecord(ends[n++], on->scan));
	}
	us = task_elapsed_us(bench.begin, bench.end);
	need("wait", cu.cuCtxSynchronize());
	*scans = scans_done(n, us);
	return us;
}

static void hints(uint32_t mib, const struct parts *on)
{
	static const unsigned int forms[] = {TASK_ORIGINAL, GSB_REWRITE_HINT};
	const unsigned int places =
		on->reads_sms == TASK_SMS ? 4 : 8; /* of a block on an SM: 8 fit */
	const uint32_t mask = (uint32_t)(mib * TASK_MIB / 4 - 1);
	CUdeviceptr table = device_alloc(mib * TASK_MIB + 256);
	struct task reads =
		task_of(bench.more, "probe", TASK_ORIGINAL, places * on->reads_sms, READS);
	struct task scan = scan_task(TASK_ORIGINAL, on->scan_sms, places);
	double reads_us, scan_us, scans;

	need("copy", cu.cuMemcpyHtoD_v2(table, &mask, sizeof(mask)));
	reads.params.p = table;
	reads_us = task_us(&reads, on->reads);
	scan_us = task_us(&scan, on->scan);
	for (size_t i = 0; i < GSB_ARRAY_LEN(forms); i++) {
		struct task other = scan_task(forms[i], on->scan_sms, places);
		const double alone = task_us(&other, on->scan);
		const double us = read_beside(&reads, &other, on, &scans);

		printf("hint\t%s\t%u\t%s\t%.1f\t%.1f\t%.3f\t%.1f\t%.3f\t%.3f\n", on->name, mib,
		       forms[i] == TASK_ORIGINAL ? "as it is" : "hint", reads_us, scan_us,
		       scan_us / alone, us, reads_us / us, scans * scan_us / us);
	}
	need("free", cu.cuMemFree_v2(table));
}

int measure_hints(void)
{
	struct parts all = {"all SMs", bench.streams[0], bench.streams[1], TASK_SMS, TASK_SMS};
	struct parts parted = {.name = "64 and 68 SMs"};

	for (size_t i = 0; i < LAUNCHES; i++)
		need("event", cu.cuEventCreate(&ends[i], 0));
	printf("#\ton\tMiB\tscan\treads alone us\tscan alone us\tform alone\treads us\treads\tscan\n");
	device_split(64, &parted.reads, &parted.reads_sms, &parted.scan, &parted.scan_sms);
	for (uint32_t mib = 4; mib <= 32; mib *= 2) {
		hints(mib, &parted);
		hints(mib, &all);
	}
	return 0;
}
