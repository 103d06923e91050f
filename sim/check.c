/*
 * check.c - what holds in every run: decisions name what there is, SMs hold no more than they have, an idle device leaves nothing
 * waiting, streams and events keep their order, all work is done. Counted here by another way than the run
 * goes, so that it does not agree with itself by construction.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "sim/state.h"

int gsb_sim_check_decisions(struct gsb_sim *s, const struct gsb_decision *d, unsigned n)
{
	const char *name = s->p->policy->name;
	unsigned most = GSB_N_QUEUES - s->n_running, n_issued = 0;

	for (unsigned i = 0; i < n && i < GSB_N_DECISIONS; i++)
		n_issued += d[i].verdict == GSB_ISSUE;
	if (n > GSB_N_DECISIONS || n > s->n_ready || n_issued > most)
		return gsb_sim_fail(
			s, -EPROTO,
			"%s names %u of %u that are ready and lets %u go, for %u free queues", name,
			n, s->n_ready, n_issued, most);
	for (unsigned i = 0; i < n; i++) {
		if (d[i].ready >= s->n_ready)
			return gsb_sim_fail(s, -EPROTO, "%s names number %u of %u", name,
					    d[i].ready, s->n_ready);
		if (d[i].verdict == GSB_HOLD && d[i].hold.not_before_ns &&
		    d[i].hold.not_before_ns <= s->now_ns)
			return gsb_sim_fail(s, -EPROTO,
					    "%s holds number %u until a time that is past", name,
					    d[i].ready);
		if (d[i].shape > s->ready[d[i].ready]->n_shapes)
			return gsb_sim_fail(s, -EPROTO,
					    "%s gives number %u a shape that it has not", name,
					    d[i].ready);
		for (unsigned j = 0; j < i; j++)
			if (d[i].ready == d[j].ready)
				return gsb_sim_fail(s, -EPROTO, "%s names number %u twice", name,
						    d[i].ready);
	}
	return 0;
}

int gsb_sim_check_idle(struct gsb_sim *s)
{
	if (!s->n_ready || s->n_running)
		return 0;
	return gsb_sim_fail(s, -EPROTO, "at %" PRIu64 " ns %u operations wait for an idle device",
			    s->now_ns, s->n_ready);
}

/* ---- SMs ---- */

int gsb_sim_check_placed(struct gsb_sim *s, const struct gsb_machine_block *b)
{
	const struct gsb_sim_item *item = b->owner;
	const struct gsb_kernel *k = &item->work.kernel;
	const struct gsb_arch *a = s->p->arch;
	struct gsb_sim_sm *sm = &s->sms[b->sm];

	if (item->work.sms.n && b->sm - item->work.sms.first >= item->work.sms.n)
		return gsb_sim_fail(s, -EPROTO, "serial %" PRIu64 " is on SM %u, outside its range",
				    item->op->serial, b->sm);
	sm->threads += k->threads_per_block;
	sm->blocks++;
	sm->smem_bytes += k->smem_bytes;
	if (sm->threads <= a->max_warps * GSB_WARP_SIZE && sm->blocks <= a->max_blocks &&
	    sm->smem_bytes <= a->smem_bytes)
		return 0;
	return gsb_sim_fail(s, -EPROTO,
			    "SM %u holds %u blocks, %u threads, %" PRIu64
			    " bytes: more than it has",
			    b->sm, sm->blocks, sm->threads, sm->smem_bytes);
}

void gsb_sim_check_ended(struct gsb_sim *s, const struct gsb_machine_block *b)
{
	const struct gsb_sim_item *item = b->owner;
	struct gsb_sim_sm *sm = &s->sms[b->sm];

	sm->threads -= item->work.kernel.threads_per_block;
	sm->blocks--;
	sm->smem_bytes -= item->work.kernel.smem_bytes;
}

/* ---- the whole ---- */

static int check_work(struct gsb_sim *s, const struct gsb_sim_item *item)
{
	if (item->state != GSB_SIM_DONE)
		return gsb_sim_fail(s, -EPROTO, "serial %" PRIu64 " was never done",
				    item->op->serial);
	if (item->op->kind == GSB_WORKLOAD_LAUNCH && item->n_done != item->work.kernel.n_blocks)
		return gsb_sim_fail(s, -EPROTO,
				    "serial %" PRIu64 ": %" PRIu64 " of %" PRIu64 " blocks ran",
				    item->op->serial, item->n_done, item->work.kernel.n_blocks);
	if (item->post_ns <= item->ready_ns && item->ready_ns <= item->start_ns &&
	    item->start_ns <= item->done_ns)
		return 0;
	return gsb_sim_fail(s, -EPROTO, "serial %" PRIu64 ": its times run backwards",
			    item->op->serial);
}

static int out_of_order(struct gsb_sim *s, const struct gsb_sim_item *item, const char *what)
{
	return gsb_sim_fail(s, -EPROTO, "serial %" PRIu64 " ran before %s", item->op->serial, what);
}

/* What must be done before each, as ends seen so far in the order of serials. */
struct ends {
	uint64_t blocking, legacy; /* of a tenant */
};

static int check_order(struct gsb_sim *s, const struct gsb_sim_item *item, uint64_t *stream,
		       struct ends *tenant)
{
	const struct gsb_workload_stream *of = &s->load->streams[item->op->stream_at];
	uint32_t on = item->op->on_at;

	if (item->ready_ns < *stream)
		return out_of_order(s, item, "what stands before it in its stream");
	if (on != GSB_WORKLOAD_NONE && item->ready_ns < s->items[on].done_ns)
		return out_of_order(s, item, "the event that it waits for");
	if ((of->legacy && item->ready_ns < tenant->blocking) ||
	    (!of->legacy && of->blocking && item->ready_ns < tenant->legacy))
		return out_of_order(s, item, "what the legacy stream stands behind, or before");
	*stream = item->done_ns;
	if (of->legacy && item->done_ns > tenant->legacy)
		tenant->legacy = item->done_ns;
	if (!of->legacy && of->blocking && item->done_ns > tenant->blocking)
		tenant->blocking = item->done_ns;
	return 0;
}

static int check_items(struct gsb_sim *s, uint64_t *streams, struct ends *tenants)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < s->load->n_ops; i++) {
		const struct gsb_sim_item *item = &s->items[i];

		if (item->state == GSB_SIM_ABSENT)
			continue;
		err = check_work(s, item);
		if (!err)
			err = check_order(s, item, &streams[item->op->stream_at],
					  &tenants[item->op->tenant_at]);
	}
	return err;
}

int gsb_sim_check_all(struct gsb_sim *s)
{
	uint64_t *streams = calloc((size_t)s->load->n_streams + 1, sizeof(*streams));
	struct ends *tenants = calloc((size_t)s->load->n_tenants + 1, sizeof(*tenants));
	int err = streams && tenants ? check_items(s, streams, tenants) : -ENOMEM;

	for (uint32_t i = 0; !err && i < s->p->arch->n_sms; i++)
		if (s->sms[i].blocks)
			err = gsb_sim_fail(s, -EPROTO, "SM %u still holds %u blocks", i,
					   s->sms[i].blocks);
	free(streams);
	free(tenants);
	return err;
}
