/*
 * helper.h - threads of the library's own in somebody else's process: no signal is delivered there, nobody joins them.
 */
#ifndef GSB_INTERPOSE_CORE_HELPER_H
#define GSB_INTERPOSE_CORE_HELPER_H

#include <stdbool.h>

/* for_program: it runs the program's functions. -errno. */
int gsb_helper_start(void *(*run)(void *), bool for_program);

/* Whether no other thread runs that could write to the program's memory. */
bool gsb_is_only_thread(void);

#endif
