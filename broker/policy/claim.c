/*
 * claim.c - see claim.h.
 */
#include "broker/policy/claim.h"

#include "broker/policy/shape.h"

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

/* ---- habits ---- */

/* Its place among the last few; GSB_N_HABITS: it has none. */
static unsigned find(const struct gsb_habits *h, uint64_t launch)
{
	unsigned i = 0;

	while (i < GSB_N_HABITS && h->launch[i] != launch)
		i++;
	return i;
}

static void put_first(struct gsb_habits *h, unsigned from, uint64_t launch)
{
	for (; from; from--)
		h->launch[from] = h->launch[from - 1];
	h->launch[0] = launch;
}

/* The device as a thing that has so many places for its blocks. */
static float rounds(const struct gsb_arch *arch, const struct gsb_work *w)
{
	double places = (double)w->blocks_per_sm * arch->n_sms;

	return places > 0 ? (float)((double)w->kernel.n_blocks / places) : 0;
}

/* Those before place n were seen since the last new one came: as each goes to the front, a count of them tells. */
static void note_again(struct gsb_habits *h, unsigned at, uint64_t code)
{
	h->n += at >= h->n;
	h->n_again += h->n_again < UINT32_MAX;
	if (h->code != code)
		h->code = 0;
}

static void note_new(struct gsb_habits *h, uint64_t code)
{
	h->n = 1;
	h->n_again = h->n_came = 0;
	h->code = code;
}

/* What has come to the stream since the last long kernel ended there; of another stream nothing is known but this one. */
static void note_depth(struct gsb_habits *h, uint32_t stream, uint32_t n_queued)
{
	uint64_t came = 1;

	if (h->n_again && h->stream == stream)
		came = n_queued + 1 > h->n_queued ? n_queued + 1ull - h->n_queued : 0;
	if (h->n_again)
		h->n_came = h->n_came + came < h->n_again ? h->n_came + (uint32_t)came : h->n_again;
	h->stream = stream;
	h->n_queued = n_queued;
}

void gsb_claim_note_habit(struct gsb_claim *c, const struct gsb_arch *arch,
			  const struct gsb_work *w, uint64_t took_ns, uint64_t now_ns)
{
	struct gsb_habits *h = &c->habits;
	unsigned at = find(h, w->launch);

	if (!w->launch || took_ns < GSB_LONG_NS)
		return;
	if (at < GSB_N_HABITS)
		note_again(h, at, w->code);
	else
		note_new(h, w->code);
	put_first(h, at < GSB_N_HABITS ? at : GSB_N_HABITS - 1, w->launch);
	note_depth(h, w->stream, *w->n_queued);
	h->rounds = rounds(arch, w);
	h->filled = h->rounds > 0 && h->rounds < 1 ? h->rounds : 1;
	h->limits = gsb_shape_of_manner(w->shapes, w->n_shapes, GSB_LIMIT_HALF) != 0;
	h->hints = gsb_shape_of_manner(w->shapes, w->n_shapes, GSB_MANNER_HINT) != 0;
	h->ended_ns = now_ns;
}
