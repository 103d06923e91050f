/*
 * spare.h - how many processors there are to spare for a copy.
 *
 * What a process may use is the affinity of the thread that asks, and no more than the quota of time that its control groups leave it, as in
 * a container: beyond that all of its threads would be stopped for the rest of a period. What of it others use the kernel counts: the threads of the machine
 * that run or want to run, at this moment. Where processors are left, half of them are taken, since others look at the same time;
 * where more threads want to run than there are processors, half of those that help are given up.
 */
#ifndef GSB_INTERPOSE_CORE_SPARE_H
#define GSB_INTERPOSE_CORE_SPARE_H

#include <stdbool.h>

struct gsb_spare {
	unsigned n_online; /* processors of the machine */
	unsigned n_usable; /* of these, by the calling thread */
	unsigned
		n_running; /* threads of the machine that run or want to, the caller too; 0: not known */
};

/* A few us. Not a point where a thread of the program may be cancelled. */
void gsb_spare_look(struct gsb_spare *s);

/*
 * gsb_spare_helpers() - how many threads should help the one that copies from now on
 * @n_now:     so many do
 * @preempted: one of them had to leave its processor to others since the last look
 * @n_most:    never more
 */
unsigned gsb_spare_helpers(const struct gsb_spare *s, unsigned n_now, bool preempted,
			   unsigned n_most);

/*
 * gsb_spare_read_quota() - the least quota of processor time among control groups and those above them, in processors, rounded up
 * @root:   where they are mounted: /sys/fs/cgroup
 * @groups: the text of /proc/self/cgroup; of both versions, unified and not
 * Return: UINT_MAX where there is none.
 */
unsigned gsb_spare_read_quota(const char *root, const char *groups);

/* The number of threads that run in the text of /proc/loadavg; 0: there is none. */
unsigned gsb_spare_read_running(const char *text);

#endif
