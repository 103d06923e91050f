/*
 * frame.h - whether a function of this thread that has not returned was left by longjmp(), siglongjmp() or the like.
 *
 * The stack grows down. Who runs in the middle of the function, in a signal handler, has its frame below
 * the function's, or on the alternate signal stack. A frame at the same height or above shows that the function's is no more.
 */
#ifndef GSB_INTERPOSE_CORE_FRAME_H
#define GSB_INTERPOSE_CORE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

/*
 * gsb_frame_is_left() - whether the function is certainly left
 * @before: address of its frame, not 0
 * @now:    address of the caller's frame
 * false where nothing proves it: a call from further down, or on a stack that is neither the thread's nor its alternate one.
 * Costs system calls.
 */
bool gsb_frame_is_left(uintptr_t before, uintptr_t now);

#endif
