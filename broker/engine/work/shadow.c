/*
 * shadow.c - see shadow.h.
 */
#include "broker/engine/work/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "broker/engine/code/code.h"
#include "broker/engine/code/compare.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/memory/virtual.h"
#include "broker/engine/tenant/tenant.h"
#include "broker/engine/work/scheduler.h"

struct gsb_shadow {
	enum gsb_shadow_part part;
	size_t at; /* the next range of a copy */
	bool failed;
	struct gsb_compare *compare;
};

static struct gsb_tenant *tenant_of(const struct gsb_item *item)
{
	return gsb_tenant_of(item->op.order->queues);
}

/* ---- may it be? ---- */

/* Does a parameter look like the address of memory of the host that the kernel could write to? */
static bool knows_host_memory(const struct gsb_tenant *t, const struct gsb_cmd_launch *l)
{
	const uint8_t *params = l->params;
	uint64_t word;

	for (uint32_t at = 0; at + sizeof(word) <= l->params_bytes; at += 4) {
		memcpy(&word, params + at, sizeof(word));
		if (gsb_ranges_find(&t->host_live, word) || gsb_virtual_is_of_host(t, word))
			return true;
	}
	return false;
}

static bool has_host_memory(const struct gsb_tenant *t)
{
	return t->host_live.n_items || gsb_virtual_any_of_host(t);
}

static bool may_run_twice(const struct gsb_tenant *t, const struct gsb_item *item)
{
	const struct gsb_proof *p = item->fn->proof;

	if (p->writes_outside || p->order & ~(uint32_t)GSB_RESIZE_ORDER_FLOAT)
		return false;
	if (item->fn->module->managed_bytes || (p->loaded_pointers && has_host_memory(t)))
		return false;
	return !knows_host_memory(t, &item->cmd.launch);
}

/* Nothing else of the tenant is on the device, or about to go there. */
static bool is_alone(const struct gsb_tenant *t)
{
	return !t->claim.n_ready && !t->claim.n_running;
}

/* One launch in so many; and how long it takes has to be known. */
static bool is_its_turn(const struct gsb_tenant *t, struct gsb_kernel_fn *fn)
{
	const struct gsb_resizing *r = t->resizing;
	uint64_t every = r->shadow_every ? r->shadow_every : 1;

	return fn->n_shaped++ % every == every - 1 && fn->took_ns &&
	       fn->took_ns <= r->shadow_limit_ns;
}

struct gsb_shadow *gsb_shadow_create(struct gsb_item *item, enum gsb_shape_form form)
{
	struct gsb_tenant *t = tenant_of(item);
	struct gsb_ctx *ctx = gsb_ctx_of(item->op.order);
	struct gsb_shadow *s;

	if (t->resizing->mode != GSB_RESIZE_MODE_SHADOW || form == GSB_SHAPE_COUNT ||
	    !is_its_turn(t, item->fn) || !is_alone(t) || !may_run_twice(t, item))
		return NULL;
	s = calloc(1, sizeof(*s));
	if (s)
		s->compare = gsb_compare_create(ctx, t->resizing->shadow_bytes);
	if (!s || !s->compare) {
		free(s);
		return NULL;
	}
	s->compare->form = form;
	t->shadowing = true;
	return s;
}

/* ---- its parts ---- */

enum gsb_shadow_part gsb_shadow_part(const struct gsb_shadow *s)
{
	return s->part;
}

void gsb_shadow_next_part(struct gsb_shadow *s)
{
	s->part++;
	s->at = 0;
}

void gsb_shadow_failed(struct gsb_shadow *s)
{
	s->failed = true;
	s->part = GSB_SHADOW_RESTORE;
	s->at = 0;
}

bool gsb_shadow_next_copy(struct gsb_shadow *s, const struct gsb_item *item, struct gsb_cmd *cmd)
{
	struct gsb_compare *c = s->compare;
	bool to_device = s->part == GSB_SHADOW_RESTORE;
	const struct gsb_compare_range *r;
	uint64_t host;

	if (s->at == c->n_ranges || s->part == GSB_SHADOW_SHAPED || s->part == GSB_SHADOW_ASKED)
		return false;
	r = &c->ranges[s->at++];
	host = (uint64_t)(uintptr_t)(s->part == GSB_SHADOW_TAKE ? c->shaped : c->asked) + r->at;
	cmd->kind = GSB_CMD_COPY;
	cmd->copy = (struct gsb_cmd_copy){.dst = to_device ? r->addr : host,
					  .src = to_device ? host : r->addr,
					  .width = r->bytes,
					  .height = 1,
					  .dst_is_ours = !to_device,
					  .src_is_ours = to_device};
	return true;
}

/* ---- the end ---- */

void gsb_shadow_end(struct gsb_shadow *s, struct gsb_item *item, bool went_well)
{
	struct gsb_tenant *t = tenant_of(item);

	t->shadowing = false;
	t->stats.n_shadowed += went_well;
	gsb_stream_wake_list(&t->shadow_waiters);
	s->compare->failed = s->failed;
	if (went_well)
		gsb_compare_run(t, item->fn, item->op.fence, s->compare);
	else
		gsb_compare_destroy(s->compare);
	free(s);
}
