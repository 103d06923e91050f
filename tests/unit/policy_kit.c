/*
 * policy_kit.c - see policy_kit.h.
 */
#include "tests/unit/policy_kit.h"

#include <stdlib.h>

#include "broker/policy/claim.h"
#include "broker/policy/shape.h"
#include "model/gpu/arch.h"

#define NOW_NS 1000000000ull

struct policy_kit *policy_kit_create(void)
{
	struct policy_kit *k = calloc(1, sizeof(*k));

	k->view = (struct gsb_view){
		.arch = gsb_arch_find("h200"),
		.sm_group = 8,
		.n_reserved = 16,
		.priority_greatest = -5,
		.now_ns = NOW_NS,
		.claims = k->claim_list,
		.ready = k->ready_list,
		.running = k->running_list,
		.n_free_queues = GSB_N_QUEUES,
		.memory_bytes = 141ull << 30,
	};
	return k;
}

void policy_kit_destroy(struct policy_kit *k)
{
	free(k);
}

int policy_kit_setup(void **state)
{
	struct policy_kit *k = policy_kit_create();
	struct gsb_estimates *e;

	*state = k;
	if (!k || gsb_estimates_create(&e))
		return -1;
	k->view.estimates = e;
	return 0;
}

int policy_kit_teardown(void **state)
{
	struct policy_kit *k = *state;

	gsb_estimates_destroy((struct gsb_estimates *)k->view.estimates);
	policy_kit_destroy(k);
	return 0;
}

struct gsb_claim *policy_kit_tenant(struct policy_kit *k)
{
	struct gsb_claim *c = &k->claims[k->view.n_claims];

	*c = (struct gsb_claim){.tenant = k->view.n_claims + 1, .weight = GSB_WEIGHT_USUAL};
	k->claim_list[k->view.n_claims++] = c;
	return c;
}

static struct gsb_work *add(struct policy_kit *k, uint32_t tenant, enum gsb_work_kind kind)
{
	static const uint32_t one = 1;
	struct gsb_work *w = &k->ready[k->n_made++];

	k->claims[tenant - 1].n_ready++;
	k->ready_list[k->view.n_ready++] = w;
	*w = (struct gsb_work){
		.kind = kind,
		.tenant = tenant,
		.stream = k->n_made,
		.claim = &k->claims[tenant - 1],
		.n_queued = &one,
		.since_ns = NOW_NS,
	};
	return w;
}

struct gsb_work *policy_kit_kernel(struct policy_kit *k, uint32_t tenant, uint64_t n_blocks,
				   double ms)
{
	struct gsb_work *w = add(k, tenant, GSB_WORK_KERNEL);

	w->kernel = (struct gsb_kernel){
		.threads_per_block = 256, .regs_per_thread = 32, .n_blocks = n_blocks};
	w->blocks_per_sm = 8;
	w->code = w->launch = (uint64_t)(w - k->ready) + 1;
	w->predicted = (struct gsb_prediction){(uint64_t)(ms * 1e6), 900000};
	return w;
}

struct gsb_work *policy_kit_copy(struct policy_kit *k, uint32_t tenant, uint64_t bytes)
{
	struct gsb_work *w = add(k, tenant, GSB_WORK_COPY);

	w->bytes = bytes;
	return w;
}

void policy_kit_start(struct policy_kit *k, unsigned i)
{
	struct gsb_work *w = &k->running[k->view.n_running];

	*w = *k->ready_list[i];
	gsb_work_issued(w, &(struct gsb_decision){.predicted_ns = w->predicted.alone_ns},
			k->view.now_ns);
	k->running_list[k->view.n_running++] = w;
	k->claims[w->tenant - 1].n_ready--;
	k->claims[w->tenant - 1].n_running++;
	k->claims[w->tenant - 1].n_issued++;
	k->view.n_free_queues--;
	k->view.n_copies[w->direction] += w->kind != GSB_WORK_KERNEL;
	for (k->view.n_ready--; i < k->view.n_ready; i++)
		k->ready_list[i] = k->ready_list[i + 1];
}

unsigned policy_kit_ask(struct policy_kit *k, const struct gsb_policy *policy)
{
	unsigned n_issued = 0;

	k->n = policy->decide(&k->view, &k->area, k->out);
	for (unsigned i = 0; i < k->n; i++)
		n_issued += k->out[i].verdict == GSB_ISSUE;
	return n_issued;
}

const struct gsb_decision *policy_kit_said(const struct policy_kit *k, unsigned i)
{
	for (unsigned n = 0; n < k->n; n++)
		if (k->out[n].ready == i)
			return &k->out[n];
	return NULL;
}

static bool range_ok(const struct gsb_view *v, struct gsb_sm_range r)
{
	if (!r.n)
		return !r.first;
	return v->sm_group && r.first % v->sm_group == 0 && r.first + r.n <= v->arch->n_sms &&
	       (r.n % v->sm_group == 0 || r.first + r.n == v->arch->n_sms);
}

static bool is_running(const struct gsb_view *v, const struct gsb_work *w)
{
	for (unsigned i = 0; i < v->n_running; i++)
		if (v->running[i] == w)
			return true;
	return false;
}

/* The only one for which a policy says that shape. */
static enum gsb_reason reason_of(const struct gsb_shape *s)
{
	if (s->form == GSB_SHAPE_HINT)
		return GSB_REASON_PARTITION;
	return gsb_manner_limits(gsb_shape_manner(s)) ? GSB_REASON_INSIDE : GSB_REASON_BOUNDED;
}

static const char *decision_wrong(const struct policy_kit *k, const struct gsb_decision *d)
{
	const struct gsb_view *v = &k->view;
	const struct gsb_work *w;

	if (d->ready >= v->n_ready)
		return "an index that is not ready";
	w = v->ready[d->ready];
	if (d->reason >= GSB_N_REASONS || d->verdict > GSB_HOLD)
		return "no reason, or no verdict";
	if (!range_ok(v, d->sms))
		return "SMs that the device cannot give";
	if (d->verdict == GSB_ISSUE && w->cooperative && d->sms.n)
		return "a cooperative kernel on a part of the SMs";
	if (d->shape > w->n_shapes || (d->shape && w->cooperative))
		return "a shape that is not legal";
	if (d->shape && d->reason != reason_of(&w->shapes[d->shape - 1]))
		return "a shape for another reason than that it ends soon, leaves room, or leaves the L2";
	if (d->part_ns > v->critical_wait_ns)
		return "parts that last longer than a critical tenant is to wait";
	if ((d->shape || d->reason == GSB_REASON_YIELDED) && w->claim->critical)
		return "a critical tenant that waits for another";
	if (d->verdict == GSB_ISSUE ? d->hold.not_before_ns || d->hold.until
				    : d->hold.not_before_ns && d->hold.not_before_ns <= v->now_ns)
		return "a hold of what goes, or one that is over";
	if (d->hold.until && !is_running(v, d->hold.until))
		return "a hold until the end of what does not run";
	if (d->priority < v->priority_greatest || d->priority > v->priority_least)
		return "a priority that the device does not have";
	return NULL;
}

const char *policy_kit_wrong(const struct policy_kit *k)
{
	static bool named[KIT_READY_MAX];
	const char *wrong = NULL;
	unsigned n_issued = 0;

	if (k->n > GSB_N_DECISIONS)
		return "more decisions than there is room for";
	for (unsigned i = 0; i < k->n && !wrong; i++) {
		wrong = decision_wrong(k, &k->out[i]);
		if (!wrong && named[k->out[i].ready])
			wrong = "an index twice";
		if (!wrong)
			named[k->out[i].ready] = true;
		n_issued += k->out[i].verdict == GSB_ISSUE;
	}
	for (unsigned i = 0; i < k->n; i++)
		if (k->out[i].ready < KIT_READY_MAX)
			named[k->out[i].ready] = false;
	if (!wrong && n_issued > k->view.n_free_queues)
		wrong = "more than there are queues";
	return wrong;
}

/* ---- random views ---- */

static uint64_t rng_state;

static uint32_t rng(uint32_t n)
{
	rng_state = rng_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(rng_state >> 33) % n;
}

static void draw_tenants(struct policy_kit *k)
{
	for (unsigned n = 1 + rng(8); n; n--) {
		struct gsb_claim *c = policy_kit_tenant(k);

		c->weight = 1 + rng(300);
		c->critical = !rng(6);
		c->max_wait_ns = rng(4) ? 0 : rng(1000000000);
		c->share_ns = (uint64_t)rng(1000000) * 1000;
		c->memory_bytes = (uint64_t)rng(80) << 30;
		c->demand_ns = rng(3);
		c->demand_bytes = (uint64_t)rng(80) << 30;
		c->asked_ns = k->view.now_ns - rng(300000000);
		c->n_issued = rng(3);
		c->deadline_ns = rng(4) ? 0 : 1 + rng(500000000);
	}
}

static void draw_kernel(struct policy_kit *k, uint32_t tenant)
{
	static const uint32_t threads[] = {32, 128, 256, 1024};
	struct gsb_work *w = policy_kit_kernel(k, tenant, 1 + rng(rng(2) ? 3000 : 100), 0);

	w->kernel.threads_per_block = threads[rng(4)];
	w->blocks_per_sm = 2048 / w->kernel.threads_per_block;
	if (w->blocks_per_sm > 32)
		w->blocks_per_sm = 32;
	w->code = rng(12) + 1;
	w->launch = w->code << 8 | rng(3);
	w->cooperative = !rng(20);
	w->predicted.alone_ns = rng(5) ? (uint64_t)rng(20000) * (1 + rng(1000)) : 0;
	w->predicted.trust_ppm = w->predicted.alone_ns ? rng(1000000) : 0;
}

/* Some tenants do the same for long. */
static void draw_habit(struct gsb_claim *c, const struct gsb_view *v, const struct gsb_work *w)
{
	for (uint32_t n = rng(60); n; n--)
		gsb_claim_note_habit(c, v->arch, w, GSB_LONG_NS, v->now_ns - rng(3000000));
}

static void draw_work(struct policy_kit *k)
{
	uint32_t tenant = 1 + rng(k->view.n_claims);
	struct gsb_work *w;

	if (rng(4))
		draw_kernel(k, tenant);
	else
		policy_kit_copy(k, tenant, 1 + rng(1 << 30))->direction = rng(GSB_N_DIRECTIONS);
	w = &k->ready[k->n_made - 1];
	if (w->kind == GSB_WORK_KERNEL && !rng(3))
		draw_habit(&k->claims[tenant - 1], &k->view, w);
	w->priority = rng(5) ? 0 : -(int32_t)rng(6);
	w->since_ns -= rng(2000000000) % k->view.now_ns;
}

/* What ran before has left notes. */
void policy_kit_remember(struct policy_kit *k, struct gsb_estimates *e)
{
	k->view.estimates = e;
	for (unsigned i = 0; i + 1 < k->n_made; i++) {
		struct gsb_run r = {.work = &k->ready[i],
				    .took_ns = 1 + rng(1000000),
				    .company = {.shared = rng(2), .met = rng(2)}};

		if (r.work->kind != GSB_WORK_KERNEL)
			continue;
		if (r.company.shared && k->ready[i + 1].kind == GSB_WORK_KERNEL)
			r.company.code = k->ready[i + 1].code;
		gsb_estimates_note(e, k->view.arch, &r);
	}
}

void policy_kit_draw(struct policy_kit *k, uint64_t seed, unsigned n_ready, unsigned n_running)
{
	rng_state = seed;
	draw_tenants(k);
	if (n_running > GSB_N_QUEUES)
		n_running = rng(3) ? rng(GSB_N_QUEUES + 1) : 0;
	while (k->view.n_running < n_running) {
		draw_work(k);
		policy_kit_start(k, 0);
	}
	if (!n_ready)
		n_ready = 1 + rng(rng(50) ? 40 : 400);
	while (k->view.n_ready < n_ready)
		draw_work(k);
	k->view.sm_group = rng(3) ? 8 : 0;
	k->view.n_reserved = rng(4) * 16;
}
