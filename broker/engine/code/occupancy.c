/*
 * occupancy.c - how many blocks of a kernel fit an SM: answered from the model, as the driver would. How many clusters fit
 * a device depends on which SMs are neighbours: that the device itself says.
 */
#include <errno.h>

#include "broker/engine/code/code.h"
#include "broker/engine/tenant/tenant.h"
#include "model/placement/occupancy.h"

static int blocks_per_sm(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			 uint32_t threads, uint64_t dynamic, uint64_t *out)
{
	struct gsb_kernel k = {.threads_per_block = threads, .regs_per_thread = fn->regs};
	struct gsb_occupancy o;
	int err;

	if (dynamic > UINT32_MAX - fn->static_smem_bytes)
		return -EINVAL;
	k.smem_bytes = fn->static_smem_bytes + (uint32_t)dynamic;
	err = gsb_occupancy(arch, &k, &gsb_rules_hardware, &o);
	if (!err)
		*out = o.blocks_per_sm;
	return err;
}

/* None of those that a launch would refuse, as a driver answers. */
static int launchable_per_sm(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			     const struct gsb_rec_occupancy *b, uint64_t *out)
{
	int err = blocks_per_sm(arch, fn, b->block, b->smem, out);

	if (!err && b->smem > (uint64_t)fn->max_dynamic_smem_bytes)
		*out = 0;
	return err;
}

/* The most dynamic bytes a block may have when n blocks share an SM: found by bisection. */
static int available_smem(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			  uint32_t threads, uint64_t n, uint64_t *out)
{
	uint64_t low = 0, high = arch->smem_per_block_optin_bytes, blocks;

	if (!n || blocks_per_sm(arch, fn, threads, 0, &blocks) || blocks < n)
		return -EINVAL;
	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2;

		if (blocks_per_sm(arch, fn, threads, mid, &blocks) || blocks < n)
			high = mid - 1;
		else
			low = mid;
	}
	*out = low;
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

	if (b->smem > UINT32_MAX)
		return gsb_tenant_fail_call(t, rec, -EINVAL);
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
	else if (b->what > GSB_OCC_CLUSTER_SIZE)
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
