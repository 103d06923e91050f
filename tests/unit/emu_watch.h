/*
 * emu_watch.h - how many instructions of the processor touch a page: a count that does not depend on time.
 *
 * The page is closed; an instruction that touches it faults, is counted, and is executed alone with the page
 * open (the trap flag ends that). x86-64 only, and not under ThreadSanitizer, whose own operations would be
 * counted; elsewhere t_watch_start() says no.
 */
#ifndef GSB_TESTS_EMU_WATCH_H
#define GSB_TESTS_EMU_WATCH_H

#include <stdbool.h>
#include <stddef.h>

#define T_WATCH_PAGE 4096

/* Count touches of the pages that hold [at, at + bytes), from now on. False: this machine cannot. */
bool t_watch_start(void *at, size_t bytes);
/* Open them again, and say how many instructions touched them. */
unsigned long t_watch_stop(void);

#endif
