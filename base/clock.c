/*
 * clock.c - see clock.h.
 */
#include "base/clock.h"

#include <time.h>

#include "base/compiler.h"

#define PAIR_APART_NS 5000 /* two readings that are one moment */
#define PAIR_TRIES    20

#define COMPARE_NS 1000000 /* stamps and clock do not part in that time */
#define RATE_BITS  32

static uint64_t read_clock(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

uint64_t gsb_clock_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

uint64_t gsb_clock_thread_ns(void)
{
	return read_clock(CLOCK_THREAD_CPUTIME_ID);
}

struct gsb_clock_pair gsb_clock_pair(void)
{
	struct gsb_clock_pair p;
	int left = PAIR_TRIES;

	do { /* again when something came between */
		p.ns = gsb_clock_ns();
		p.stamp = gsb_clock_stamp();
	} while (gsb_clock_ns() - p.ns > PAIR_APART_NS && --left);
	return p;
}

/* ---- stamps as times ---- */

/* Not much further than it was seen to run, at first; then for a millisecond. */
static void compare(struct gsb_stamp_clock *c)
{
	uint64_t stamps, ns;

	c->at = gsb_clock_pair();
	if (!c->base.stamp)
		c->base = c->at;
	stamps = c->at.stamp - c->base.stamp;
	ns = c->at.ns - c->base.ns;
	if (!stamps || !ns)
		return;
	c->rate = (uint64_t)(((unsigned __int128)ns << RATE_BITS) / stamps);
	c->n_between =
		ns < COMPARE_NS ? stamps : (uint64_t)((unsigned __int128)stamps * COMPARE_NS / ns);
}

static uint64_t time_of(const struct gsb_stamp_clock *c, uint64_t stamp)
{
	__int128 since = (__int128)stamp - c->at.stamp;

	return c->at.ns + (uint64_t)(since * c->rate >> RATE_BITS);
}

void gsb_stamp_clock_begin(struct gsb_stamp_clock *c)
{
	*c = (struct gsb_stamp_clock){0};
	compare(c);
}

uint64_t gsb_stamp_clock_ns(struct gsb_stamp_clock *c)
{
	uint64_t stamp = gsb_clock_stamp(), ns;

	/* One of before the last comparison, from another processor, is no less far away. */
	if (gsb_unlikely(stamp - c->at.stamp >= c->n_between)) {
		compare(c);
		stamp = c->at.stamp;
	}
	ns = c->at.ns + ((stamp - c->at.stamp) * c->rate >> RATE_BITS);
	if (ns > c->last_ns)
		c->last_ns = ns;
	return c->last_ns;
}

uint64_t gsb_stamp_clock_past(const struct gsb_stamp_clock *c, uint64_t stamp)
{
	uint64_t ns;

	if (!stamp || stamp <= c->base.stamp)
		return stamp ? c->base.ns : 0;
	if (stamp - c->base.stamp >= c->at.stamp - c->base.stamp + c->n_between)
		return c->last_ns;
	ns = time_of(c, stamp);
	return ns < c->last_ns ? ns : c->last_ns;
}

uint64_t gsb_stamp_clock_of(struct gsb_stamp_clock *c, uint64_t stamp)
{
	gsb_stamp_clock_ns(c);
	return gsb_stamp_clock_past(c, stamp);
}
