/*
 * claim.c - see claim.h.
 */
#include "broker/policy/claim.h"

/*
 * The memory of kernels over their time (Wang et al. 2014): W = sum(t m) / sum(t). A sum of products would leave 64 bits,
 * so the mean is moved by each kernel's part.
 */
static void note_demand(struct gsb_claim *c, uint64_t took_ns, uint64_t memory_bytes)
{
	double part;

	c->demand_ns += took_ns;
	if (!c->demand_ns)
		return;
	part = (double)took_ns / (double)c->demand_ns;
	c->demand_bytes = (uint64_t)((double)c->demand_bytes * (1 - part) +
				     (double)memory_bytes * part + 0.5);
}

void gsb_claim_note(struct gsb_claim *c, uint64_t took_ns, uint64_t sm_ns, uint64_t memory_bytes)
{
	c->share_ns += sm_ns * GSB_WEIGHT_USUAL / c->weight;
	note_demand(c, took_ns, memory_bytes);
}
