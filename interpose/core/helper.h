/*
 * helper.h - threads of the library's own in somebody else's process: no signal is delivered there, nobody joins them.
 */
#ifndef GSB_INTERPOSE_CORE_HELPER_H
#define GSB_INTERPOSE_CORE_HELPER_H

int gsb_helper_start(void *(*run)(void *)); /* -errno */

#endif
