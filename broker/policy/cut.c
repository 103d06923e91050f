/*
 * cut.c - see cut.h.
 */
#include "broker/policy/cut.h"

#include <stdbool.h>

#include "broker/policy/estimate.h"
#include "gsb/arch.h"

/* Blocks for fewer SMs than it has as asked: that cannot gain, and may cost the time of many. */
static bool is_narrow(const struct gsb_arch *arch, const struct gsb_cut *cut,
		      const struct gsb_cut *asked)
{
	return cut->n_blocks < arch->n_sms && cut->n_blocks < asked->n_blocks;
}

static bool is_to_be_tried(const struct gsb_estimates *e, const struct gsb_cut *cut)
{
	return gsb_estimates_alone(e, cut->launch).n < GSB_CUT_TRIES &&
	       gsb_estimates_cut(e, cut->launch).n < GSB_CUT_MOST;
}

unsigned gsb_cut_choose(const struct gsb_estimates *e, const struct gsb_arch *arch,
			const struct gsb_cut *cuts, unsigned n)
{
	struct gsb_estimated asked = gsb_estimates_alone(e, cuts->launch), cut;
	double least = asked.mean * (1 - GSB_CUT_GAIN);
	unsigned best = 0;

	if (asked.n < GSB_CUT_KNOWN || asked.mean < GSB_CUT_WORTH_NS)
		return 0;
	for (unsigned i = 1; i < n; i++) {
		if (is_narrow(arch, &cuts[i], cuts))
			continue;
		if (is_to_be_tried(e, &cuts[i]))
			return i;
		cut = gsb_estimates_alone(e, cuts[i].launch);
		if (cut.n >= GSB_CUT_TRIES && cut.mean < least) {
			least = cut.mean;
			best = i;
		}
	}
	return best;
}
