/*
 * speed.c - how fast kernels run beside each other, by the law of model/time/law.h, as far as a load knows what they ask for: the
 * instructions of their warps, and so their share of the issue slots, and of drawn ones the unit that they live on.
 */
#include <assert.h>
#include <math.h>

#include "base/compiler.h"
#include "model/time/law.h"
#include "sim/state.h"

static_assert(GSB_N_QUEUES <= GSB_LAW_KERNELS_MAX, "all kernels on the device fit the law");

/* Of the issue slots of an SM that it stands on, with as many blocks there as it has on the whole, evenly. */
static double issue_share(const struct gsb_sim *s, const struct gsb_sim_item *item)
{
	const struct gsb_arch *a = s->p->arch;
	double sms = item->work.sms.n ? item->work.sms.n : a->n_sms;
	double blocks = (double)(item->n_placed - item->n_ended);
	double slots = (double)item->block_ns * a->clock_khz / 1e6 * a->issue_width;
	double share = (double)item->block_insns / slots * (blocks > sms ? blocks / sms : 1);

	return share < 1 ? share : 1;
}

/* The blocks that it has on so many SMs, of those that there is room for. */
static double resident_part(const struct gsb_sim_item *item, uint32_t n_sms)
{
	double room = (double)item->work.blocks_per_sm * n_sms;
	double on = (double)(item->n_placed - item->n_ended);

	return on < room ? on / room : 1;
}

/*
 * What it wants of the unit that it lives on, the memory or one of each of its SMs. That may be more than there is: then that is what it was held up
 * by when it ran alone, on all SMs, and with fewer blocks there it is held up less.
 */
static void add_unit(const struct gsb_sim *s, const struct gsb_sim_item *item,
		     struct gsb_resident *r, double *alone)
{
	const struct gsb_workload_kernel *k = &s->load->kernels[item->op->kernel_at];
	enum gsb_unit unit = (enum gsb_unit)(k->unit - 1);
	bool of_all = gsb_unit_is_memory(unit) || !item->work.sms.n;
	double most = k->want_ppm / 1e6;
	double want = most * resident_part(item, of_all ? s->p->arch->n_sms : item->work.sms.n);

	*alone = 1;
	if (!k->unit)
		return;
	*alone = fmax(1, most) / fmax(1, want);
	r->demand[unit] = fmin(1, want);
}

/* The kernels that have blocks on the SMs; where each stands in out. */
static unsigned list_residents(struct gsb_sim *s, struct gsb_sim_flight **flights,
			       struct gsb_resident *out, double *alone)
{
	unsigned n = 0;

	for (unsigned i = 0; i < GSB_N_QUEUES; i++) {
		struct gsb_sim_item *item = s->flights[i].item;

		if (!item || item->n_placed == item->n_ended)
			continue;
		out[n] = (struct gsb_resident){
			.sms = item->work.sms,
			.started_ns = item->start_ns,
			.block_ns = (double)item->block_ns * item->tiles,
		};
		out[n].demand[GSB_UNIT_ISSUE] = issue_share(s, item);
		add_unit(s, item, &out[n], &alone[n]);
		flights[n++] = &s->flights[i];
	}
	return n;
}

int gsb_sim_find_speeds(struct gsb_sim *s)
{
	struct gsb_sim_flight *flights[GSB_N_QUEUES];
	struct gsb_resident residents[GSB_N_QUEUES];
	double speeds[GSB_N_QUEUES], alone[GSB_N_QUEUES];
	unsigned n = list_residents(s, flights, residents, alone);
	int err = gsb_law_speeds(&s->law, s->p->arch->n_sms, residents, n, speeds);

	if (err)
		return gsb_sim_fail(s, err, "the law of contention refuses the kernels at hand");
	for (unsigned i = 0; i < n; i++)
		flights[i]->speed = speeds[i] * alone[i];
	return 0;
}
