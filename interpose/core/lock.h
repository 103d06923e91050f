/*
 * lock.h - a lock for the launch path: one instruction to take and one to give back when nobody competes, and
 * a futex when somebody does. Not recursive; a thread that dies with it takes the process's tenancy along.
 */
#ifndef GSB_INTERPOSE_CORE_LOCK_H
#define GSB_INTERPOSE_CORE_LOCK_H

#include <stdatomic.h>
#include <stdint.h>

#include "base/compiler.h"

/* 0 free, 1 held, 2 held and perhaps waited for. */
struct gsb_lock {
	_Atomic uint32_t word;
};

void gsb_lock_wait(struct gsb_lock *l);
void gsb_lock_wake(struct gsb_lock *l);

static inline void gsb_lock_take(struct gsb_lock *l)
{
	uint32_t none = 0;

	if (gsb_unlikely(!atomic_compare_exchange_strong_explicit(
		    &l->word, &none, 1, memory_order_acquire, memory_order_relaxed)))
		gsb_lock_wait(l);
}

static inline void gsb_lock_give(struct gsb_lock *l)
{
	if (gsb_unlikely(atomic_exchange_explicit(&l->word, 0, memory_order_release) == 2))
		gsb_lock_wake(l);
}

#endif
