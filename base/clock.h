/*
 * clock.h - the two real clocks. Virtual time belongs to the device (device/ops.h).
 */
#ifndef GSB_BASE_CLOCK_H
#define GSB_BASE_CLOCK_H

#include <stdint.h>
#if defined(__x86_64__)
#include <x86intrin.h>
#endif

/* CLOCK_MONOTONIC in ns; never goes back. Any thread. */
uint64_t gsb_clock_ns(void);

/*
 * gsb_clock_stamp() - a count that is cheap to read, and the same in all processes; never 0
 *
 * Where the processor has none it is gsb_clock_ns(). gsb_clock_of_stamp() makes a time of it.
 */
static inline uint64_t gsb_clock_stamp(void)
{
#if defined(__x86_64__)
	return __rdtsc() | 1;
#else
	return gsb_clock_ns();
#endif
}

/* How stamps run against gsb_clock_ns(): one moment of both. Zeroed is not set. */
struct gsb_clock_pair {
	uint64_t ns, stamp;
};
struct gsb_clock_pair gsb_clock_pair(void);

/*
 * gsb_clock_of_stamp() - when a stamp was taken
 * @base: some time ago: the longer, the better is known how stamps run    @now: after the stamp
 * Return: ns as of gsb_clock_ns(), in [base->ns, now->ns]; 0 for stamp 0, which is none.
 */
uint64_t gsb_clock_of_stamp(const struct gsb_clock_pair *base, const struct gsb_clock_pair *now,
			    uint64_t stamp);

/* CPU time of the calling thread in ns. */
uint64_t gsb_clock_thread_ns(void);

#endif
