/*
 * lock.c - see lock.h: the slow halves.
 */
#include "interpose/core/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SPINS 100 /* the holder copies a record: shorter than a system call */

static void futex(struct gsb_lock *l, int op, uint32_t value)
{
	int saved = errno;

	syscall(SYS_futex, &l->word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
	errno = saved;
}

/* From the first sleep on the word says 2 when we get it: others may sleep as well. */
void gsb_lock_wait(struct gsb_lock *l)
{
	uint32_t none = 0;

	/* Who only looks leaves the line where the holder writes to it. */
	for (int i = 0; i < SPINS; i++, none = 0) {
		if (!atomic_load_explicit(&l->word, memory_order_relaxed) &&
		    atomic_compare_exchange_weak_explicit(&l->word, &none, 1, memory_order_acquire,
							  memory_order_relaxed))
			return;
		gsb_cpu_relax();
	}
	while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire))
		futex(l, FUTEX_WAIT, 2);
}

void gsb_lock_wake(struct gsb_lock *l)
{
	futex(l, FUTEX_WAKE, 1);
}
