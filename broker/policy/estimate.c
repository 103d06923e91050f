/*
 * estimate.c - see estimate.h.
 */
#include "broker/policy/estimate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "base/hash.h"
#include "broker/policy/shape.h"

#define SURPRISE 3 /* times the mean, or the mean so many times it: a value of something new */
#define STARVED	 3 /* times as long as alone, at least */
#define N_WAYS	 4 /* places where a key may stand */
#define N_SETS	 (GSB_N_ESTIMATES / N_WAYS)

struct mean {
	uint64_t key; /* 0: there is none */
	uint32_t n, used;
	double mean, square; /* of values; of their relative distance from it */
};

struct gsb_estimates {
	uint32_t now; /* notes so far */
	struct mean means[N_SETS][N_WAYS];
};

int gsb_estimates_create(struct gsb_estimates **out)
{
	*out = calloc(1, sizeof(**out)); /* pages appear when they are touched */
	return *out ? 0 : -ENOMEM;
}

void gsb_estimates_destroy(struct gsb_estimates *e)
{
	free(e);
}

/* ---- what a mean is of ---- */

enum subject { ALONE, SHARED, ROUND, BESIDE, ON_OWN, ON_SHARED, CUT, BLOCK };

static uint64_t key_of(enum subject subject, uint64_t what, uint64_t more)
{
	/* Far from each other, so that what is close together under two subjects does not meet. */
	uint64_t begin = GSB_HASH_BEGIN * (subject + 1);
	uint64_t key = gsb_hash_number(gsb_hash_number(begin, what), more);

	return key ? key : 1;
}

static bool is_whole(const struct gsb_arch *arch, uint32_t n_sms)
{
	return !n_sms || n_sms >= arch->n_sms;
}

static const struct gsb_manners as_asked;

/* The SMs of any device are counted in 32 bits, manners in a byte each. */
static uint64_t place_key(const struct gsb_arch *arch, uint64_t launch, uint32_t n_sms,
			  enum gsb_sharing sharing, struct gsb_manners in, uint64_t beside)
{
	enum subject subject = sharing == GSB_SMS_OWN ? ON_OWN : ON_SHARED;
	uint64_t where = is_whole(arch, n_sms) ? arch->n_sms : n_sms;

	where |= (uint64_t)in.own << 40 | (uint64_t)in.others << 32;
	return gsb_hash_number(key_of(subject, launch, where), beside);
}

/* ---- the table ---- */

static const struct mean *find(const struct gsb_estimates *e, uint64_t key)
{
	const struct mean *set = e->means[key % N_SETS];

	for (unsigned i = 0; i < N_WAYS; i++)
		if (set[i].key == key)
			return &set[i];
	return NULL;
}

/* Its place, with what stood there longest unused if it is new. */
static struct mean *place(struct gsb_estimates *e, uint64_t key)
{
	struct mean *set = e->means[key % N_SETS], *oldest = set;

	for (unsigned i = 0; i < N_WAYS; i++) {
		if (set[i].key == key)
			return &set[i];
		if (!set[i].key || (oldest->key && e->now - set[i].used > e->now - oldest->used))
			oldest = &set[i];
	}
	*oldest = (struct mean){.key = key};
	return oldest;
}

/*
 * One geometry may be launched with little to do and then with much: programs try themselves out like that. A value that is far from the mean
 * makes all before it count as one.
 */
static void add(struct gsb_estimates *e, uint64_t key, double value)
{
	struct mean *m = place(e, key);
	double part, off = m->n ? value / m->mean - 1 : 0;

	if (value > SURPRISE * m->mean || m->mean > SURPRISE * value)
		m->n = m->n > 0;
	part = fmax(1.0 / (m->n + 1.0), GSB_ESTIMATE_NEWEST);
	m->mean = m->n ? m->mean + part * (value - m->mean) : value;
	m->square += part * (off * off - m->square);
	m->n += m->n < UINT32_MAX;
	m->used = e->now;
}

/*
 * n/(n+2) of it for having been seen n times, and less the more the values differ: a coefficient of variation of a
 * quarter halves it.
 */
static uint32_t trust_in(const struct mean *m)
{
	return (uint32_t)(1e6 * m->n / (m->n + 2.0) / (1 + 4 * sqrt(m->square)));
}

static struct gsb_estimated look_up(const struct gsb_estimates *e, uint64_t key)
{
	const struct mean *m = e ? find(e, key) : NULL;

	return m ? (struct gsb_estimated){m->mean, m->n, trust_in(m)} : (struct gsb_estimated){0};
}

/* ---- notes ---- */

/* All SMs were its own. */
static bool is_alone(const struct gsb_arch *arch, const struct gsb_run *r)
{
	return !r->company.shared && is_whole(arch, r->work->sms.n) && !r->work->manner;
}

static double rounds_on(const struct gsb_work *w, uint32_t n_sms)
{
	uint64_t places = (uint64_t)w->blocks_per_sm * n_sms;

	return places ? (double)((w->kernel.n_blocks + places - 1) / places) : 1;
}

static double rounds_of(const struct gsb_arch *arch, const struct gsb_work *w)
{
	return rounds_on(w, arch->n_sms);
}

/* What stands beside a kernel makes its blocks wait for room; how long they then take is nearer to what they take alone. */
static double shared_ns(const struct gsb_arch *arch, const struct gsb_run *r)
{
	return r->block_ns ? rounds_of(arch, r->work) * (double)r->block_ns : (double)r->took_ns;
}

static void note_alone(struct gsb_estimates *e, const struct gsb_arch *arch,
		       const struct gsb_run *r)
{
	const struct gsb_work *w = r->work;
	double took = (double)r->took_ns;

	add(e, key_of(ALONE, w->launch, 0), took);
	add(e, key_of(ROUND, w->code, w->kernel.threads_per_block), took / rounds_of(arch, w));
}

static double stay_ns(const struct gsb_run *r)
{
	return (double)(r->stay_ns ? r->stay_ns : r->took_ns);
}

/* In any company, and in this one. */
static void note_place(struct gsb_estimates *e, const struct gsb_arch *arch,
		       const struct gsb_run *r, struct gsb_manners in)
{
	enum gsb_sharing sharing = r->company.met ? GSB_SMS_SHARED : GSB_SMS_OWN;
	double ns = r->company.met ? stay_ns(r) : (double)r->took_ns;
	uint64_t launch = r->work->launch;
	uint32_t n_sms = r->work->sms.n;

	add(e, place_key(arch, launch, n_sms, sharing, in, 0), ns);
	if (r->company.code)
		add(e, place_key(arch, launch, n_sms, sharing, in, r->company.code), ns);
}

/* It, or who was beside it, was launched in another manner than asked. */
static bool is_in_manner(const struct gsb_run *r)
{
	return r->work->manner || r->company.manner || r->company.varied;
}

/* It began beside the limited one, and was held up so long that it does not matter how it ended. */
static bool is_starved(const struct gsb_estimates *e, const struct gsb_run *r)
{
	struct gsb_estimated alone = look_up(e, key_of(ALONE, r->work->launch, 0));

	return gsb_manner_limits(r->company.manner) && r->company.met && alone.n &&
	       stay_ns(r) > STARVED * alone.mean;
}

/*
 * It says nothing of how fast it is as asked, beside others that are as asked. What had company of both kinds says nothing of either, but where it starved: then
 * the trial was given up for its sake (inside.c).
 */
static void note_in_manner(struct gsb_estimates *e, const struct gsb_arch *arch,
			   const struct gsb_run *r)
{
	const struct gsb_company *c = &r->company;

	if (c->shared && (!c->varied || is_starved(e, r)))
		note_place(e, arch, r, (struct gsb_manners){r->work->manner, c->manner});
}

/* Against its time alone where that is known: on all SMs, for that is what sharing is to be compared with. */
static void note_beside(struct gsb_estimates *e, const struct gsb_run *r)
{
	struct gsb_estimated alone = look_up(e, key_of(ALONE, r->work->launch, 0));

	if (alone.n)
		add(e, key_of(BESIDE, r->work->code, r->company.code), stay_ns(r) / alone.mean);
}

/* Who does not say how long blocks were there has waited for room, too, and then for parts. */
static void note_block(struct gsb_estimates *e, const struct gsb_arch *arch,
		       const struct gsb_run *r)
{
	uint32_t n_sms = is_whole(arch, r->work->sms.n) ? arch->n_sms : r->work->sms.n;
	uint64_t key = key_of(BLOCK, r->work->launch, 0);

	if (r->block_ns)
		add(e, key, (double)r->block_ns);
	else if (!r->in_parts)
		add(e, key, (double)r->took_ns / rounds_on(r->work, n_sms));
}

void gsb_estimates_note(struct gsb_estimates *e, const struct gsb_arch *arch,
			const struct gsb_run *r)
{
	bool whole = is_whole(arch, r->work->sms.n);

	if (!r->work->launch || !r->took_ns)
		return;
	e->now++;
	if (is_in_manner(r)) {
		note_in_manner(e, arch, r);
		return;
	}
	if (is_alone(arch, r))
		note_alone(e, arch, r);
	else
		note_place(e, arch, r, as_asked);
	if (r->company.met && whole)
		add(e, key_of(SHARED, r->work->launch, 0), shared_ns(arch, r));
	if (r->cut)
		add(e, key_of(CUT, r->work->launch, 0), (double)r->took_ns);
	if (r->company.met && r->company.code)
		note_beside(e, r);
	if (r->work->n_shapes)
		note_block(e, arch, r);
}

/* ---- predictions ---- */

static struct gsb_prediction predict(double ns, uint32_t trust_ppm)
{
	return (struct gsb_prediction){
		.alone_ns = ns < 1 ? 1 : (uint64_t)ns,
		.trust_ppm = trust_ppm,
	};
}

struct gsb_prediction gsb_estimates_predict(const struct gsb_estimates *e,
					    const struct gsb_arch *arch, const struct gsb_work *w)
{
	struct gsb_estimated m;

	if (!w->launch)
		return (struct gsb_prediction){0};
	m = look_up(e, key_of(ALONE, w->launch, 0));
	if (m.n)
		return predict(m.mean, m.trust_ppm);
	m = look_up(e, key_of(ROUND, w->code, w->kernel.threads_per_block));
	if (m.n)
		return predict(m.mean * rounds_of(arch, w), m.trust_ppm / 2);
	m = look_up(e, key_of(SHARED, w->launch, 0));
	return m.n ? predict(m.mean, m.trust_ppm / 4) : (struct gsb_prediction){0};
}

struct gsb_estimated gsb_estimates_on(const struct gsb_estimates *e, const struct gsb_arch *arch,
				      uint64_t launch, uint32_t n_sms, enum gsb_sharing sharing,
				      uint64_t beside)
{
	return gsb_estimates_in(e, arch, launch, n_sms, sharing, as_asked, beside);
}

struct gsb_estimated gsb_estimates_in(const struct gsb_estimates *e, const struct gsb_arch *arch,
				      uint64_t launch, uint32_t n_sms, enum gsb_sharing sharing,
				      struct gsb_manners in, uint64_t beside)
{
	return look_up(e, place_key(arch, launch, n_sms, sharing, in, beside));
}

struct gsb_estimated gsb_estimates_alone(const struct gsb_estimates *e, uint64_t launch)
{
	return look_up(e, key_of(ALONE, launch, 0));
}

uint64_t gsb_estimates_worth(const struct gsb_estimates *e, const struct gsb_arch *arch,
			     const struct gsb_run *run)
{
	if (is_alone(arch, run))
		return run->took_ns;
	return (uint64_t)(gsb_estimates_alone(e, run->work->launch).mean + 0.5);
}

struct gsb_estimated gsb_estimates_block(const struct gsb_estimates *e, uint64_t launch)
{
	return look_up(e, key_of(BLOCK, launch, 0));
}

struct gsb_estimated gsb_estimates_cut(const struct gsb_estimates *e, uint64_t launch)
{
	return look_up(e, key_of(CUT, launch, 0));
}

struct gsb_estimated gsb_estimates_beside(const struct gsb_estimates *e, const struct gsb_work *w,
					  const struct gsb_work *other)
{
	return look_up(e, key_of(BESIDE, w->code, other->code));
}

/* ---- over restarts ---- */

size_t gsb_estimates_keep(const struct gsb_estimates *e, struct gsb_kept_mean *out)
{
	size_t n = 0;

	for (unsigned i = 0; i < N_SETS; i++)
		for (unsigned way = 0; way < N_WAYS; way++) {
			const struct mean *m = &e->means[i][way];

			if (m->key && m->n)
				out[n++] =
					(struct gsb_kept_mean){m->key, m->n, 0, m->mean, m->square};
		}
	return n;
}

static bool is_mean(const struct gsb_kept_mean *k)
{
	return k->key && k->n && isfinite(k->mean) && k->mean > 0 && isfinite(k->square) &&
	       k->square >= 0;
}

void gsb_estimates_restore(struct gsb_estimates *e, const struct gsb_kept_mean *kept, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct mean *m;

		if (!is_mean(&kept[i]))
			continue;
		m = place(e, kept[i].key);
		*m = (struct mean){
			.key = kept[i].key,
			.n = kept[i].n < GSB_KEPT_TRUST ? kept[i].n : GSB_KEPT_TRUST,
			.used = e->now,
			.mean = kept[i].mean,
			.square = kept[i].square,
		};
	}
}
