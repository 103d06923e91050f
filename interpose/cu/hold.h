/*
 * cu/hold.h - other threads' writes to some pages wait while these are copied and others are mapped in their place, so
 * that none is lost. It is the kernel's write protection by userfaultfd: who writes sleeps in his access until he is let
 * go, and makes it again, on the pages that are there then.
 *
 * Where the kernel does not have it or does not permit it nobody waits. Without the right to hold the kernel itself
 * (vm.unprivileged_userfaultfd = 0), a system call that writes to a page of which it is held ends with EFAULT, or short.
 */
#ifndef GSB_INTERPOSE_CU_HOLD_H
#define GSB_INTERPOSE_CU_HOLD_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

struct gsb_hold {
	int fd; /* -1: it does nothing */
	sigset_t signals;
};

/* From here to the end no signal comes to this thread: a handler that wrote to such a page would wait for ever. */
void gsb_hold_begin(struct gsb_hold *h);
void gsb_hold_end(struct gsb_hold *h);

/* Whole pages, which are private and anonymous, or of a memfd. Return: whether writers wait from now on */
bool gsb_hold_writers(const struct gsb_hold *h, uint64_t addr, uint64_t bytes);

/* What was mapped there instead is theirs now; or the old pages, unless the range stays held until the end. */
void gsb_hold_let_go(const struct gsb_hold *h, uint64_t addr, uint64_t bytes);

#endif
