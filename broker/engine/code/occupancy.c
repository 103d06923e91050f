/*
 * occupancy.c - how many blocks of a kernel fit an SM: answered from the model, as the driver would. How many clusters fit
 * a device depends on which SMs are neighbours: that the device itself says.
 */
#include <errno.h>

#include "broker/engine/code/code.h"
#include "broker/engine/tenant/tenant.h"
#include "model/placement/occupancy.h"

#define SMEM_UNIT_BYTES 128 /* of what the driver says to be left for each block */

/* What of an SM may be shared memory, in KiB (CUDA C++ Programming Guide, compute capabilities 7.0 to 10.0); the most is the GPU's own. */
static const uint32_t capacities_kib[] = {0, 8, 16, 32, 64, 100, 132, 164, 196, 228};

static int need_of(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn, uint32_t threads,
		   uint64_t dynamic, struct gsb_kernel *k, struct gsb_block_need *need)
{
	if (dynamic > UINT32_MAX - fn->static_smem_bytes)
		return -EINVAL;
	*k = (struct gsb_kernel){.threads_per_block = threads,
				 .regs_per_thread = fn->regs,
				 .smem_bytes = fn->static_smem_bytes + (uint32_t)dynamic};
	return gsb_block_need(arch, k, &gsb_rules_hardware, need);
}

/* The least that there is for one block, and for what the program prefers. Before compute capability 7.0 shared memory is apart from L1, and nothing is preferred. */
static uint32_t capacity_for(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			     const struct gsb_block_need *need)
{
	int percent = fn->carveout_percent < 0 ? 100 : fn->carveout_percent;
	uint64_t wanted = (uint64_t)arch->smem_bytes * (unsigned)percent / 100;

	if (arch->cc_major < 7)
		return arch->smem_bytes;
	if (wanted < need->smem_bytes)
		wanted = need->smem_bytes;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(capacities_kib); i++)
		if (capacities_kib[i] << 10 >= wanted && capacities_kib[i] << 10 < arch->smem_bytes)
			return capacities_kib[i] << 10;
	return arch->smem_bytes;
}

static int blocks_per_sm(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			 uint32_t threads, uint64_t dynamic, uint64_t *out)
{
	struct gsb_block_need need;
	struct gsb_kernel k;
	struct gsb_occupancy o = {0};
	int err = need_of(arch, fn, threads, dynamic, &k, &need);

	if (!err)
		err = gsb_occupancy(arch, &k, &gsb_rules_hardware, &o);
	if (!err)
		*out = o.blocks_per_sm;
	return err;
}

/* In the shared memory that the program prefers an SM to have. */
static int preferred_per_sm(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			    uint32_t threads, uint64_t dynamic, uint64_t *out)
{
	struct gsb_block_need need;
	struct gsb_kernel k;
	uint64_t n;
	int err = need_of(arch, fn, threads, dynamic, &k, &need);

	if (!err)
		err = blocks_per_sm(arch, fn, threads, dynamic, out);
	if (err || !need.smem_bytes)
		return err;
	n = capacity_for(arch, fn, &need) / need.smem_bytes;
	if (n < *out)
		*out = n;
	return 0;
}

/* None of those that a launch would refuse, as a driver answers; the kernel's own limit of threads it does not look at. */
static int launchable_per_sm(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			     const struct gsb_rec_occupancy *b, uint64_t *out)
{
	if (b->smem > (uint64_t)fn->max_dynamic_smem_bytes ||
	    preferred_per_sm(arch, fn, b->block, b->smem, out))
		*out = 0;
	return 0;
}

/*
 * The most dynamic bytes a block may have when n blocks share an SM, as a driver answers (tests/integ/occupancy.expected): no more than a launch may ask for, and
 * without the reserve of each block, so that with so much there may be room for fewer than n. One has whatever there is.
 */
static int available_smem(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			  uint32_t threads, uint64_t n, uint64_t *out)
{
	struct gsb_block_need need;
	struct gsb_kernel k;
	uint64_t blocks, most, allowed = (uint64_t)fn->max_dynamic_smem_bytes;

	if (!n || preferred_per_sm(arch, fn, threads, 0, &blocks) || blocks < n ||
	    need_of(arch, fn, threads, 0, &k, &need))
		return -EINVAL;
	most = n > 1 ? capacity_for(arch, fn, &need) : arch->smem_bytes;
	most = most / n / SMEM_UNIT_BYTES * SMEM_UNIT_BYTES - fn->static_smem_bytes;
	*out = most < allowed ? most : allowed;
	return 0;
}

/* Where there are no others, a block is a cluster. */
static int single_blocks(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			 const struct gsb_rec_occupancy *b, uint64_t *out)
{
	int err = launchable_per_sm(arch, fn, b, out);

	if (b->cluster[0] > 1 || b->cluster[1] > 1 || b->cluster[2] > 1)
		return -ENOTSUP;
	*out = b->what == GSB_OCC_CLUSTER_SIZE ? *out > 0 : *out * arch->n_sms;
	return err;
}

struct cluster_ask {
	struct gsb_later later; /* first */
	struct gsb_cmd_launch launch;
	uint32_t what, n;
};

static int ask_device(struct gsb_later *l)
{
	struct cluster_ask *a = gsb_container_of(l, struct cluster_ask, later);
	struct gsb_device *dev = l->tenant->dev;

	return a->what == GSB_OCC_CLUSTERS ? dev->ops->cluster_room(dev, &a->launch, &a->n)
					   : dev->ops->cluster_size(dev, &a->launch, &a->n);
}

static void answer_clusters(struct gsb_later *l, int err)
{
	const struct cluster_ask *a = gsb_container_of(l, struct cluster_ask, later);
	struct gsb_reply_number reply = {.number = a->n};

	gsb_later_reply(l, err, &reply, sizeof(reply));
}

/* What a device reckons with: no tenant's numbers may wrap around there. */
static bool is_block(const struct gsb_arch *arch, const struct gsb_rec_occupancy *b)
{
	return b->block && b->block <= arch->max_threads_per_block && b->smem <= INT32_MAX;
}

static int clusters(struct gsb_tenant *t, const struct gsb_rec *rec, const struct gsb_kernel_fn *fn,
		    const struct gsb_rec_occupancy *b)
{
	struct cluster_ask a = {
		.later = {.tenant = t,
			  .ctx = fn->module->ctx,
			  .call = *rec,
			  .ask = ask_device,
			  .done = answer_clusters},
		.launch = {.function = fn->function,
			   .block = {b->block, 1, 1},
			   .smem_bytes = (uint32_t)b->smem,
			   .cluster = {b->cluster[0], b->cluster[1], b->cluster[2]}},
		.what = b->what,
	};

	gsb_later_run(&a.later, sizeof(a));
	return 0;
}

int gsb_code_occupancy(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_occupancy *b)
{
	struct gsb_kernel_fn *fn = gsb_code_find_function(t, b->function);
	const struct gsb_arch *arch = &t->dev->ops->info(t->dev)->arch;
	struct gsb_reply_number reply;
	int err = -EINVAL;

	if (!fn)
		return gsb_no_such(t, rec, "function", b->function);
	if (b->what == GSB_OCC_BLOCKS_PER_SM)
		err = launchable_per_sm(arch, fn, b, &reply.number);
	else if (b->what == GSB_OCC_AVAILABLE_SMEM)
		err = available_smem(arch, fn, b->block, b->smem, &reply.number);
	else if (b->what > GSB_OCC_CLUSTER_SIZE || !is_block(arch, b))
		err = -EINVAL;
	else if (t->dev->ops->cluster_room)
		return clusters(t, rec, fn, b);
	else
		err = single_blocks(arch, fn, b, &reply.number);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	gsb_tenant_reply_with(t, rec, &reply, sizeof(reply));
	return 0;
}

/* ---- what a kernel has held of the device ---- */

uint32_t gsb_code_blocks_per_sm(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
				const struct gsb_cmd_launch *l)
{
	uint64_t n;

	return blocks_per_sm(arch, fn, gsb_code_needs(fn, l).threads_per_block, l->smem_bytes, &n)
		       ? 0
		       : (uint32_t)n;
}

uint64_t gsb_code_sm_ns(const struct gsb_arch *arch, uint64_t n_blocks, uint32_t blocks_per_sm,
			const struct gsb_completion *c)
{
	uint64_t took = c->end_ns - c->start_ns,
		 n = blocks_per_sm ? blocks_per_sm : 1; /* one has run */
	uint64_t places = n * arch->n_sms;

	if (c->blocks_ns)
		return c->blocks_ns / n;
	if (n_blocks < places)
		places = n_blocks;
	return took / n * places + took % n * places / n;
}
