/*
 * compare.c - see compare.h.
 */
#include "broker/engine/code/compare.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/sha256.h"
#include "broker/engine/code/code.h"
#include "broker/engine/code/job.h"
#include "broker/engine/code/proofs.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/tenant/tenant.h"

#define TOLERANCE 1e-3 /* of what is added up, in whatever order */

/* ---- memory ---- */

/* Variables of modules that records have named are in the live map, too; what is about to be freed is not. */
static bool list_ranges(struct gsb_compare *c, const struct gsb_ctx *ctx, uint64_t max_bytes)
{
	const struct gsb_ranges *all = &ctx->device_taken;

	c->ranges = calloc(all->n_items + 1, sizeof(*c->ranges));
	if (!c->ranges)
		return false;
	for (size_t i = 0; i < all->n_items; i++) {
		const struct gsb_range *r = &all->items[i];

		if (!gsb_ranges_find(&ctx->device_live, r->start))
			return false;
		c->ranges[c->n_ranges++] = (struct gsb_compare_range){r->start, r->size, c->bytes};
		c->bytes += r->size;
		if (c->bytes > max_bytes)
			return false;
	}
	return c->bytes > 0;
}

struct gsb_compare *gsb_compare_create(const struct gsb_ctx *ctx, uint64_t max_bytes)
{
	struct gsb_compare *c = calloc(1, sizeof(*c));

	if (!c || !list_ranges(c, ctx, max_bytes))
		goto err;
	c->asked = malloc(c->bytes);
	c->shaped = malloc(c->bytes);
	if (c->asked && c->shaped)
		return c;
err:
	gsb_compare_destroy(c);
	return NULL;
}

void gsb_compare_destroy(struct gsb_compare *c)
{
	if (!c)
		return;
	free(c->ranges);
	free(c->asked);
	free(c->shaped);
	free(c);
}

/* ---- comparing ---- */

static bool close_enough(double a, double b)
{
	return a == b || (isnan(a) && isnan(b)) || fabs(a - b) <= TOLERANCE * (fabs(a) + fabs(b));
}

static bool floats_are_close(const struct gsb_compare *c, uint64_t at)
{
	float f, g;

	if (at + sizeof(f) > c->bytes)
		return false;
	memcpy(&f, c->asked + at, sizeof(f));
	memcpy(&g, c->shaped + at, sizeof(g));
	return close_enough((double)f, (double)g);
}

static bool doubles_are_close(const struct gsb_compare *c, uint64_t at)
{
	double x, y;

	if (at + sizeof(x) > c->bytes)
		return false;
	memcpy(&x, c->asked + at, sizeof(x));
	memcpy(&y, c->shaped + at, sizeof(y));
	return close_enough(x, y);
}

/* Of which of the two kinds the number there is, is not known: where a kernel adds up both, either will do. */
static bool may_round(const struct gsb_compare *c, uint64_t at)
{
	return (c->rounds & GSB_ROUNDS_F32 && floats_are_close(c, at & ~3ull)) ||
	       (c->rounds & GSB_ROUNDS_F64 && doubles_are_close(c, at & ~7ull));
}

static uint64_t address_of(const struct gsb_compare *c, uint64_t at)
{
	size_t i = c->n_ranges - 1;

	while (c->ranges[i].at > at)
		i--;
	return c->ranges[i].addr + (at - c->ranges[i].at);
}

bool gsb_compare_is_same(struct gsb_compare *c)
{
	if (c->failed) {
		c->differs = true;
		return false;
	}
	if (!memcmp(c->asked, c->shaped, c->bytes))
		return true;
	for (uint64_t at = 0; at < c->bytes; at++) {
		if (c->asked[at] == c->shaped[at] || may_round(c, at))
			continue;
		c->differs = true;
		c->addr = address_of(c, at);
		return false;
	}
	return true;
}

/* ---- what follows ---- */

static void say(const struct gsb_job *j)
{
	const struct gsb_compare *c = j->compare;
	char asked[GSB_SHA256_HEX], shaped[GSB_SHA256_HEX];
	uint8_t hash[GSB_SHA256_BYTES];

	gsb_sha256(c->asked, c->bytes, hash);
	gsb_sha256_hex(hash, asked);
	gsb_sha256(c->shaped, c->bytes, hash);
	gsb_sha256_hex(hash, shaped);
	gsb_log(GSB_LOG_ERROR, "resize",
		"kernel %.200s of image %.16s: the form %s gave other results (%s%.16s, not %.16s, first "
		"at 0x%" PRIx64
		"): it is used no more for this kernel; its tenant has the original's "
		"results",
		j->name, j->variants->hash, gsb_shape_name(c->form), c->failed ? "it failed; " : "",
		shaped, asked, c->addr);
}

static void run_compare(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	struct gsb_proof proof = {.refuted = GSB_SHAPE_BIT(j->compare->form)};

	if (gsb_compare_is_same(j->compare))
		return;
	say(j);
	gsb_proofs_add(j->resizing, j->variants, j->name, &proof);
}

static void compared(struct gsb_job *j)
{
	if (j->compare->differs) {
		j->fn->proof->refuted |= GSB_SHAPE_BIT(j->compare->form);
		j->tenant->stats.n_differed++;
	}
	gsb_compare_destroy(j->compare);
	gsb_job_destroy(j);
}

void gsb_compare_run(struct gsb_tenant *t, struct gsb_kernel_fn *fn, struct gsb_fence *fence,
		     struct gsb_compare *c)
{
	struct gsb_job *j = gsb_job_create_in(t, fn->module->ctx, fence,
					      &(struct gsb_rec){.type = GSB_REC_LAUNCH});

	if (!j) {
		gsb_compare_destroy(c);
		return;
	}
	c->rounds = fn->proof->rounds;
	j->run = run_compare;
	j->done = compared;
	j->fn = fn;
	j->compare = c;
	j->variants = fn->module->variants;
	j->resizing = t->resizing;
	strcpy(j->name, gsb_variants_name(j->variants, fn->proof));
	gsb_job_give(j);
}
