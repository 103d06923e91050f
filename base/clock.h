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
 * gsb_clock_count() - a count that is cheap to read, and the same in all processes
 *
 * Where the processor has none it is gsb_clock_ns(). struct gsb_stamp_clock makes a time of it.
 */
static inline uint64_t gsb_clock_count(void)
{
#if defined(__x86_64__)
	return __rdtsc();
#else
	return gsb_clock_ns();
#endif
}

/* The same, never 0: where that says that there is none. */
static inline uint64_t gsb_clock_stamp(void)
{
	return gsb_clock_count() | 1;
}

/* The same, after all that this thread has read so far: later than the stamp of whoever wrote that when he had taken it. */
static inline uint64_t gsb_clock_stamp_after(void)
{
#if defined(__x86_64__)
	__builtin_ia32_lfence();
#endif
	return gsb_clock_stamp();
}

/* One moment of both. Zeroed is not set. */
struct gsb_clock_pair {
	uint64_t ns, stamp;
};
struct gsb_clock_pair gsb_clock_pair(void);

/*
 * gsb_clock_ns() for who reads it again and again: a stamp, made a time of by how stamps have run since the clock began. Both
 * are compared anew every millisecond, so that it stays with the other. Never goes back. Zeroed is one that begins when it is
 * read first. One owner.
 */
struct gsb_stamp_clock {
	struct gsb_clock_pair base, at; /* when it began; compared last */
	uint64_t n_between;		/* stamps until they are compared again */
	uint64_t rate;			/* ns a stamp, by 2^32; 0: not known yet */
	uint64_t last_ns;
};

void gsb_stamp_clock_begin(struct gsb_stamp_clock *c); /* the longer ago, the better it runs */
uint64_t gsb_stamp_clock_ns(struct gsb_stamp_clock *c);

/* When a stamp was taken, wherever it comes from: between the clock's beginning and now; 0 for stamp 0, which is none. */
uint64_t gsb_stamp_clock_of(struct gsb_stamp_clock *c, uint64_t stamp);
/* The same for many stamps of before it was read last, which is not done again: a few instructions. */
uint64_t gsb_stamp_clock_past(const struct gsb_stamp_clock *c, uint64_t stamp);

/* CPU time of the calling thread in ns. */
uint64_t gsb_clock_thread_ns(void);

#endif
