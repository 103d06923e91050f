/*
 * rig.c - see rig.h.
 */
#include "tools/calibrate/rig.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/compiler.h"
#include "model/placement/occupancy.h"
#include "tools/calibrate/units_ptx.h"

#define DEVICE_BASE  0x400000000000ull
#define DEVICE_BYTES (1ull << 34)
#define THREADS	     256
#define SMEM_BYTES \
	1024 /* dynamic, of each kernel: an SM that is set up for one has room for any other, too */
#define NEAR_WORDS    2048u
#define WORDS_MIN     (1u << 18)
#define WORDS_MAX     (1u << 30)
#define FAR_MAX	      (1u << 22) /* words: 16 MiB */
#define OUT_BYTES     4096
#define SM_BLOCKS_MIN 4	    /* a quarter of an SM is a block, then */
#define LINE_ITEMS    1024u /* more than a line has */
#define NAP_MS	      1

static const struct {
	enum gsb_unit unit;
	const char *kernel;
	enum cal_words words;
} kernels[] = {
#define CAL_UNIT(unit, kernel, words) {unit, #kernel, CAL_##words},
#include "tools/calibrate/units.def"
#undef CAL_UNIT
};

GSB_PRINTF(2, 3)
static int refuse(struct cal_rig *rig, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	vsnprintf(rig->why, sizeof(rig->why), fmt, args);
	va_end(args);
	return -1;
}

uint32_t cal_rig_units(void)
{
	uint32_t units = 0;

	for (size_t i = 0; i < GSB_ARRAY_LEN(kernels); i++)
		units |= UINT32_C(1) << kernels[i].unit;
	return units;
}

static enum cal_words words_of(enum gsb_unit unit)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(kernels); i++)
		if (kernels[i].unit == unit)
			return kernels[i].words;
	return CAL_NONE;
}

/* ---- life ---- */

/* The greatest power of two that is not greater, within bounds. */
static uint32_t power_of_two(uint64_t n, uint32_t least, uint32_t most)
{
	uint32_t p = least;

	while (p < most && 2ull * p <= n)
		p *= 2;
	return p;
}

static int get_memory(struct cal_rig *rig)
{
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t l2 = rig->info->arch.l2_bytes / sizeof(uint32_t), bytes;
	/* Of eight times what it holds a real L2 answers some requests, now more and now fewer. */
	uint32_t times = rig->info->clock_is_virtual ? 8 : 64;
	uint32_t all = power_of_two(times * l2, WORDS_MIN, WORDS_MAX);

	rig->masks[CAL_NEAR] = NEAR_WORDS - 1;
	rig->masks[CAL_FAR] = power_of_two(l2 / 2, WORDS_MIN, FAR_MAX) - 1;
	rig->masks[CAL_ALL] = all - 1;
	bytes = (uint64_t)all * sizeof(uint32_t);
	if (ops->mem_alloc(rig->space, bytes, &rig->words) ||
	    ops->mem_alloc(rig->space, OUT_BYTES, &rig->out))
		return refuse(
			rig,
			"%s has no %" PRIu64
			" MiB for an array that its L2 cannot hold; end what else uses its memory",
			rig->info->name, bytes >> 20);
	return 0;
}

/* The least of all kernels. */
static void count_blocks(struct cal_rig *rig, uint32_t regs)
{
	const struct gsb_kernel k = {.threads_per_block = THREADS,
				     .regs_per_thread = regs,
				     .smem_bytes = SMEM_BYTES,
				     .n_blocks = 1};
	struct gsb_occupancy o;

	if (gsb_occupancy(&rig->info->arch, &k, &gsb_rules_hardware, &o))
		rig->sm_blocks = 0;
	else if (o.blocks_per_sm < rig->sm_blocks)
		rig->sm_blocks = o.blocks_per_sm;
}

static int find(struct cal_rig *rig, enum cal_part part, size_t i)
{
	static struct gsb_function_info info;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_function **f = &rig->functions[part][kernels[i].unit];
	char log[512] = "there is no such kernel";

	if (ops->function_get(rig->modules[part], kernels[i].kernel, f, &info) ||
	    ops->function_prepare(*f, log, sizeof(log)))
		return refuse(rig, "%s refuses the kernel of %s: %s; measure the others: --only",
			      rig->info->name, kernels[i].kernel, log);
	count_blocks(rig, (uint32_t)info.attrs[CU_FUNC_ATTRIBUTE_NUM_REGS]);
	return 0;
}

static uint32_t default_units(const struct gsb_device_info *info)
{
	static const uint32_t emulated =
		1u << GSB_UNIT_ISSUE | 1u << GSB_UNIT_SHARED | 1u << GSB_UNIT_DRAM;

	return info->clock_is_virtual ? emulated : cal_rig_units();
}

static int load(struct cal_rig *rig, enum cal_part part)
{
	char log[512] = "";

	if (rig->dev->ops->module_load(rig->space, units_ptx, strlen(units_ptx),
				       &rig->modules[part], log, sizeof(log)))
		return refuse(rig,
			      "%s does not take the kernels, which need compute capability 7.5: %s",
			      rig->info->name, log);
	for (size_t i = 0; i < GSB_ARRAY_LEN(kernels); i++)
		if (rig->units >> kernels[i].unit & 1 && find(rig, part, i))
			return -1;
	return 0;
}

static int make(struct cal_rig *rig)
{
	const struct gsb_space_params space = {.device_base = DEVICE_BASE,
					       .device_size = DEVICE_BYTES};
	const struct gsb_device_ops *ops = rig->dev->ops;

	if (ops->space_create(rig->dev, &space, &rig->space) ||
	    ops->queue_create(rig->dev, 0, GSB_ALL_SMS, &rig->queues[0]) ||
	    ops->queue_create(rig->dev, 0, GSB_ALL_SMS, &rig->queues[1]))
		return refuse(rig, "%s gives no memory for a context; end what else uses it",
			      rig->info->name);
	return get_memory(rig);
}

int cal_rig_open(struct cal_rig *rig, const char *spec, uint32_t units)
{
	const struct gsb_device_params params = {.spec = spec, .single = true};

	*rig = (struct cal_rig){.sm_blocks = UINT32_MAX};
	if (gsb_device_open(&params, &rig->dev, rig->why, sizeof(rig->why)))
		return -1;
	rig->info = rig->dev->ops->info(rig->dev);
	rig->units = units ? units : default_units(rig->info);
	if (make(rig))
		return -1;
	for (unsigned part = 0; part < CAL_N_PARTS; part++)
		if (load(rig, (enum cal_part)part))
			return -1;
	if (rig->sm_blocks >= SM_BLOCKS_MIN)
		return 0;
	return refuse(rig,
		      "an SM of %s holds %" PRIu32
		      " blocks of %d threads; to share it in quarters it must hold %d",
		      rig->info->name, rig->sm_blocks, THREADS, SM_BLOCKS_MIN);
}

void cal_rig_close(struct cal_rig *rig)
{
	if (!rig->dev)
		return;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(rig->queues); i++)
		if (rig->queues[i])
			rig->dev->ops->queue_destroy(rig->queues[i]);
	if (rig->space)
		rig->dev->ops->space_destroy(rig->space);
	rig->dev->ops->close(rig->dev);
	rig->dev = NULL;
}

/* ---- runs ---- */

static int send_one(struct cal_rig *rig, struct gsb_queue *queue, const struct cal_grids *g,
		    struct gsb_cmd *cmd)
{
	const struct {
		uint64_t words;
		uint32_t mask, from, passes;
		uint64_t out;
	} params = {rig->words, rig->masks[words_of(g->unit)], rig->next_from, g->passes, rig->out};
	int err;

	/* Somewhere else each time, so that no grid finds what another one has left in a cache; at the beginning of a line. */
	rig->next_from += 0x9e3779b1u * LINE_ITEMS;
	cmd->launch = (struct gsb_cmd_launch){
		.function = rig->functions[g->part][g->unit],
		.grid = {g->sm_blocks * rig->info->arch.n_sms, 1, 1},
		.block = {THREADS, 1, 1},
		.smem_bytes = SMEM_BYTES,
		.params = &params,
		.params_bytes = sizeof(params),
	};
	err = rig->dev->ops->issue(queue, cmd);
	return err ? refuse(rig, "%s refuses a launch of the kernel of %s: %s", rig->info->name,
			    gsb_unit_name(g->unit), strerror(-err))
		   : 0;
}

/* The number of those that were sent, which have to be waited for whatever happened. */
static uint32_t send_all(struct cal_rig *rig, unsigned which, const struct cal_grids *g,
			 uint64_t not_before_ns)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = rig->space,
			      .cookie = which,
			      .not_before_ns = not_before_ns};
	uint32_t i;

	for (i = 0; i < g->n; i++) {
		cmd.more = i + 1 < g->n;
		if (send_one(rig, rig->queues[which], g, &cmd))
			break;
	}
	return i;
}

static void wait_one(struct cal_rig *rig, struct gsb_completion *c)
{
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct pollfd fd = {.fd = ops->event_fd(rig->dev), .events = POLLIN};

	while (!ops->poll(rig->dev, c, 1)) {
		if (ops->advance)
			ops->advance(rig->dev, UINT64_MAX);
		if (ops->poll(rig->dev, c, 1))
			return;
		if (!ops->stay_awake || !ops->stay_awake(rig->dev))
			poll(&fd, 1, fd.fd < 0 ? NAP_MS : -1);
	}
}

static int wait_all(struct cal_rig *rig, const struct cal_grids *g, uint32_t n,
		    struct cal_span *spans)
{
	int err = 0;

	while (n--) {
		struct gsb_completion c;
		struct cal_span *s;

		wait_one(rig, &c);
		s = &spans[c.cookie];
		s->start_ns = s->end_ns ? s->start_ns : c.start_ns;
		s->end_ns = c.end_ns;
		if (c.result)
			err = refuse(rig, "%s: the kernel of %s ended with error %d%s%s",
				     rig->info->name, gsb_unit_name(g[c.cookie].unit),
				     (int)c.result, *c.detail ? ": " : "", c.detail);
	}
	return err;
}

int cal_rig_run(struct cal_rig *rig, const struct cal_grids *g, struct cal_span *span)
{
	uint32_t n = send_all(rig, 0, g, 0);

	*span = (struct cal_span){0};
	return wait_all(rig, g, n, span) || n < g->n ? -1 : 0;
}

/* A virtual clock stands still meanwhile, and the command waits. */
static void let_pass(const struct cal_rig *rig, uint64_t ns)
{
	const struct timespec t = {.tv_sec = (time_t)(ns / 1000000000),
				   .tv_nsec = (long)(ns % 1000000000)};

	if (!rig->info->clock_is_virtual)
		nanosleep(&t, NULL);
}

int cal_rig_run_pair(struct cal_rig *rig, const struct cal_grids pair[2], uint64_t later_ns,
		     struct cal_span spans[2])
{
	uint64_t from = rig->dev->ops->now_ns(rig->dev);
	uint32_t older = send_all(rig, 0, &pair[0], 0), younger;

	let_pass(rig, later_ns);
	younger = send_all(rig, 1, &pair[1], from + later_ns);
	spans[0] = spans[1] = (struct cal_span){0};
	return wait_all(rig, pair, older + younger, spans) || older < pair[0].n ||
			       younger < pair[1].n
		       ? -1
		       : 0;
}
