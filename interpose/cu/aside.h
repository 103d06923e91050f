/*
 * aside.h - pages may be the ones that the calling thread stands on: the end of its own stack. What takes them away is
 * called from another stack meanwhile, so that no frame of it is written into a page that has been copied already.
 */
#ifndef GSB_INTERPOSE_CU_ASIDE_H
#define GSB_INTERPOSE_CU_ASIDE_H

#include <stdbool.h>
#include <stdint.h>

/* Whether the frames of calls from here may lie in [addr, addr + bytes): those of fork() and its handlers, too. */
bool gsb_is_underfoot(uint64_t addr, uint64_t bytes);

/*
 * gsb_call_aside() - call(arg), aside if [addr, addr + bytes) is underfoot
 * Return: whether it was called: there may be no memory for another stack.
 */
bool gsb_call_aside(uint64_t addr, uint64_t bytes, void (*call)(void *arg), void *arg);

#endif
