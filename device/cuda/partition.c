/*
 * partition.c - see partition.h.
 *
 * The driver splits the SMs into groups once; a part is a green context of neighbouring groups, and parts may overlap. Kernels of the
 * primary context run on a part's streams, and reach the same memory. Which SMs of the chip make a group is the driver's choice,
 * and always the same. All SMs are a part, too, whose streams are the primary context's own.
 *
 * To make a stream on a GPU at work may take the driver until nothing runs, and nothing else is sent meanwhile. So those that no queue has any
 * more are kept, and some are made before anything runs.
 */
#include "device/cuda/partition.h"

#include <errno.h>
#include <stdlib.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/log.h"
#include "model/gpu/arch.h"

/*
 * Asked for, of one group: with 8 SMs, the least, an H100 has 153 ranges, with 16 it has 45. To make one takes 1 ms of an idle GPU and 5 MiB;
 * of a GPU at work it waits until nothing runs, and what is launched meanwhile waits, too (doc/planner.md). So there are no more than can
 * all be made before anything runs.
 */
#define GROUP_SMS 16

#define N_IDLE 4 /* streams of a part and priority that are kept */

/*
 * Of all SMs. For the 36th stream of a context and the 78th an H100's driver waits until nothing runs on the GPU, whatever the priorities; so with
 * these a device that many processes share is past the first, and has one for each command that may be in flight, and for each fork.
 */
#define N_OF_ALL       (32 + CUDA_FORKS) /* of the least priority, and kept of any */
#define N_OF_ALL_OTHER 2		 /* of each other one */

struct cuda_stream {
	CUstream stream;
	struct cuda_stream *next; /* idle, of its part: the one that was given back last is first */
	struct cuda_partition *part;
	int priority;
};

struct cuda_partition {
	struct cuda_partition *next;
	struct gsb_sm_range sms;
	CUgreenCtx green; /* NULL: all SMs */
	struct cuda_stream *idle;
};

/* The groups, and what is left behind them as one more. */
static unsigned split(struct cuda_device *dev, CUdevResource *groups)
{
	const struct cuda_driver *cu = &dev->cu;
	unsigned n = CUDA_N_SM_GROUPS - 1;
	CUdevResource all, rest;

	if (cu->cuDeviceGetDevResource(dev->id, &all, CU_DEV_RESOURCE_TYPE_SM) ||
	    cu->cuDevSmResourceSplitByCount(groups, &n, &all, &rest,
					    CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING,
					    GROUP_SMS))
		return 0;
	if (rest.type == CU_DEV_RESOURCE_TYPE_SM && rest.sm.smCount)
		groups[n++] = rest;
	return n;
}

void cuda_partitions_init(struct cuda_device *dev)
{
	dev->n_sm_groups = split(dev, dev->sm_groups);
	dev->info.sm_group = dev->n_sm_groups ? dev->sm_groups[0].sm.smCount : 0;
	if (dev->info.sm_group)
		dev->info.arch.sm_group = dev->info.sm_group;
}

static void destroy_stream(struct cuda_device *dev, struct cuda_stream *s)
{
	cuda_note(dev, dev->cu.cuStreamDestroy_v2(s->stream));
	free(s);
}

void cuda_partitions_finish(struct cuda_device *dev)
{
	struct cuda_partition *p, *next;
	struct cuda_stream *s, *after;

	LL_FOREACH_SAFE(dev->partitions, p, next)
	{
		LL_FOREACH_SAFE(p->idle, s, after)
		destroy_stream(dev, s);
		if (p->green)
			dev->cu.cuGreenCtxDestroy(p->green);
		free(p);
	}
	dev->partitions = NULL;
}

/* ---- parts ---- */

static struct cuda_partition *find(struct cuda_device *dev, struct gsb_sm_range sms)
{
	struct cuda_partition *p;

	LL_FOREACH (dev->partitions, p) {
		if (p->sms.first == sms.first && p->sms.n == sms.n)
			return p;
	}
	return NULL;
}

static CUresult make_green(struct cuda_device *dev, struct gsb_sm_range sms, CUgreenCtx *out)
{
	const struct cuda_driver *cu = &dev->cu;
	uint32_t group = dev->info.sm_group, end = sms.first + sms.n;
	uint32_t first = sms.first / group, n = (end + group - 1) / group - first;
	CUdevResourceDesc desc;
	CUresult result;

	result = cu->cuDevResourceGenerateDesc(&desc, &dev->sm_groups[first], n);
	if (!result)
		result = cu->cuGreenCtxCreate(out, desc, dev->id, CU_GREEN_CTX_DEFAULT_STREAM);
	return cuda_note(dev, result);
}

static struct cuda_partition *make(struct cuda_device *dev, struct gsb_sm_range sms)
{
	struct cuda_partition *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->sms = sms;
	if (sms.n < dev->info.arch.n_sms && make_green(dev, sms, &p->green)) {
		free(p);
		return NULL;
	}
	LL_PREPEND(dev->partitions, p);
	return p;
}

static int find_part(struct cuda_device *dev, struct gsb_sm_range sms, struct cuda_partition **out)
{
	if ((sms.first || sms.n) && !dev->info.sm_group)
		return -ENOTSUP;
	if (gsb_arch_find_sms(&dev->info.arch, sms, &sms))
		return -EINVAL;
	*out = find(dev, sms);
	if (!*out)
		*out = make(dev, sms);
	return *out ? 0 : -ENOMEM;
}

/* ---- streams ---- */

static struct cuda_stream *find_idle(const struct cuda_partition *p, int priority)
{
	struct cuda_stream *s;

	LL_SEARCH_SCALAR(p->idle, s, priority, priority);
	return s;
}

static unsigned count_idle(const struct cuda_partition *p, int priority)
{
	const struct cuda_stream *s;
	unsigned n = 0;

	LL_FOREACH (p->idle, s)
		n += s->priority == priority;
	return n;
}

static int make_stream(struct cuda_device *dev, struct cuda_partition *p, int priority,
		       struct cuda_stream **out)
{
	struct cuda_stream *s = malloc(sizeof(*s));
	CUresult result;

	if (!s)
		return -ENOMEM;
	*s = (struct cuda_stream){.part = p, .priority = priority};
	result = p->green ? dev->cu.cuGreenCtxStreamCreate(&s->stream, p->green,
							   CU_STREAM_NON_BLOCKING, priority)
			  : dev->cu.cuStreamCreateWithPriority(&s->stream, CU_STREAM_NON_BLOCKING,
							       priority);
	if (cuda_note(dev, result)) {
		free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

int cuda_stream_take(struct cuda_device *dev, struct gsb_sm_range sms, int priority,
		     struct cuda_stream **out)
{
	struct cuda_partition *p;
	int err = find_part(dev, sms, &p);

	if (err)
		return err;
	*out = find_idle(p, priority);
	if (!*out)
		return make_stream(dev, p, priority, out);
	LL_DELETE(p->idle, *out);
	return 0;
}

void cuda_stream_give(struct cuda_device *dev, struct cuda_stream *s)
{
	if (count_idle(s->part, s->priority) < (s->part->green ? N_IDLE : N_OF_ALL))
		LL_PREPEND(s->part->idle, s);
	else
		destroy_stream(dev, s);
}

CUstream cuda_stream_handle(const struct cuda_stream *s)
{
	return s->stream;
}

/* ---- before anything runs ---- */

/* Until so many are idle. */
static int make_idle(struct cuda_device *dev, struct cuda_partition *p, int priority, unsigned n)
{
	struct cuda_stream *s;
	int err = 0;

	for (unsigned i = count_idle(p, priority); i < n && !err; i++) {
		err = make_stream(dev, p, priority, &s);
		if (!err)
			cuda_stream_give(dev, s);
	}
	return err;
}

void cuda_streams_prepare(struct cuda_device *dev)
{
	const struct gsb_device_info *info = &dev->info;
	struct cuda_partition *all;
	int err = dev->single ? -ENOTSUP : find_part(dev, GSB_ALL_SMS, &all);

	if (!err)
		err = make_idle(dev, all, info->priority_least, N_OF_ALL);
	for (int p = info->priority_greatest; p < info->priority_least && !err; p++)
		err = make_idle(dev, all, p, N_OF_ALL_OTHER);
}

/* And of each priority that is asked for on parts a stream. */
static int prepare(struct cuda_device *dev, struct gsb_sm_range sms)
{
	const int greatest = dev->info.priority_greatest;
	const int priorities[] = {dev->info.priority_least, greatest + 1, greatest};
	struct cuda_partition *p;
	int err = find_part(dev, sms, &p);

	for (unsigned i = 0; i < sizeof(priorities) / sizeof(*priorities) && !err; i++)
		err = make_idle(dev, p, priorities[i], 1);
	return err;
}

int cuda_partitions_prepare(struct cuda_device *dev)
{
	const uint32_t n = dev->info.arch.n_sms, group = dev->info.sm_group;
	uint64_t begun_ns = gsb_clock_ns();
	int err = group ? 0 : -ENOTSUP;

	if (dev->single || err)
		return err;
	for (uint32_t first = 0; first < n && !err; first += group)
		for (uint32_t end = first + group; end < n + group && !err; end += group)
			err = prepare(dev,
				      (struct gsb_sm_range){first, (end < n ? end : n) - first});
	gsb_log(GSB_LOG_INFO, "cuda", "the ranges of SMs and their streams took %llu ms",
		(unsigned long long)(gsb_clock_ns() - begun_ns) / 1000000);
	if (err)
		gsb_log(GSB_LOG_WARN, "cuda",
			"not all ranges of SMs and their streams could be made: to make one later waits until nothing runs, and holds up all tenants: leave more memory free, or take a policy without ranges");
	return err;
}
