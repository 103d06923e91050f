/*
 * clock.c - see clock.h.
 */
#include "base/clock.h"

#include <time.h>

#define PAIR_APART_NS 5000 /* two readings that are one moment */
#define PAIR_TRIES    20

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

uint64_t gsb_clock_of_stamp(const struct gsb_clock_pair *base, const struct gsb_clock_pair *now,
			    uint64_t stamp)
{
	double share;

	if (!stamp)
		return 0;
	if (stamp >= now->stamp)
		return now->ns;
	if (stamp <= base->stamp)
		return base->ns;
	share = (double)(now->stamp - stamp) / (double)(now->stamp - base->stamp);
	return now->ns - (uint64_t)(share * (double)(now->ns - base->ns));
}
