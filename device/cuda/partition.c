/*
 * partition.c - see partition.h.
 *
 * The driver splits the SMs into groups once; a part is a green context of neighbouring groups, and parts may overlap. Kernels of the
 * primary context run on a part's streams, and reach the same memory. Which SMs of the chip make a group is the driver's choice,
 * and always the same. To make a part takes as long as hundreds of launches, which go on meanwhile: so a helper does.
 */
#include "device/cuda/partition.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>
#include <utlist.h>

#include "model/gpu/arch.h"

#define GROUP_SMS 8 /* asked for: what models and plans count in */

/* How often it is looked whether a part is made that an idle device has to wait for. */
#define LOOK_NS 50000

enum state { MAKING, MADE, REFUSED };

struct cuda_partition {
	struct cuda_job job;
	struct cuda_device *dev;
	struct cuda_partition *next;
	struct gsb_sm_range sms;
	CUgreenCtx green; /* once it is MADE */
	_Atomic enum state state;
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

void cuda_partitions_finish(struct cuda_device *dev)
{
	struct cuda_partition *p, *next;

	LL_FOREACH_SAFE(dev->partitions, p, next)
	{
		if (p->state == MADE)
			dev->cu.cuGreenCtxDestroy(p->green);
		free(p);
	}
	dev->partitions = NULL;
}

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

/* On the helper. */
static void run_make(struct cuda_job *job)
{
	struct cuda_partition *p = (struct cuda_partition *)job;
	CUresult result = make_green(p->dev, p->sms, &p->green);

	atomic_store_explicit(&p->state, result ? REFUSED : MADE, memory_order_release);
}

static struct cuda_partition *begin_part(struct cuda_device *dev, struct gsb_sm_range sms)
{
	struct cuda_partition *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->job.run = run_make;
	p->dev = dev;
	p->sms = sms;
	LL_PREPEND(dev->partitions, p);
	cuda_helper_give(&dev->splitter, &p->job);
	return p;
}

/* The part of a range; NULL in @out: all SMs. 0, -EAGAIN: it is being made; one that was refused is forgotten. */
static int find_part(struct cuda_device *dev, struct gsb_sm_range sms, struct cuda_partition **out)
{
	const struct gsb_arch *arch = &dev->info.arch;
	struct cuda_partition *p;

	*out = NULL;
	if ((sms.first || sms.n) && !dev->info.sm_group)
		return -ENOTSUP;
	if (gsb_arch_find_sms(arch, sms, &sms))
		return -EINVAL;
	if (sms.n == arch->n_sms)
		return 0;
	p = find(dev, sms);
	if (!p)
		p = begin_part(dev, sms);
	if (!p)
		return -ENOMEM;
	switch (atomic_load_explicit(&p->state, memory_order_acquire)) {
	case MAKING: return -EAGAIN;
	case MADE: *out = p; return 0;
	default:
		LL_DELETE(dev->partitions, p);
		free(p);
		return -ENOMEM;
	}
}

int cuda_partition_prepare(struct gsb_device *base, struct gsb_sm_range sms)
{
	struct cuda_partition *p;

	return find_part(to_cuda(base), sms, &p);
}

int cuda_partition_stream(struct cuda_device *dev, struct gsb_sm_range sms, int priority,
			  CUstream *out)
{
	const struct timespec look = {.tv_nsec = LOOK_NS};
	struct cuda_partition *p;
	CUresult result;
	int err;

	while ((err = find_part(dev, sms, &p)) == -EAGAIN)
		nanosleep(&look, NULL);
	if (err)
		return err;
	result = p ? dev->cu.cuGreenCtxStreamCreate(out, p->green, CU_STREAM_NON_BLOCKING, priority)
		   : dev->cu.cuStreamCreateWithPriority(out, CU_STREAM_NON_BLOCKING, priority);
	return cuda_note(dev, result) ? -ENOMEM : 0;
}
