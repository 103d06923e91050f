/*
 * range.h - named ranges of the program's work, for who traces: what a thread posts while a range of its own is open belongs
 * to that. Posted as records, so that ranges and launches have one order; and only while the engine says that somebody
 * listens, so that a program full of ranges pays a load and a branch for each.
 */
#ifndef GSB_INTERPOSE_CORE_RANGE_H
#define GSB_INTERPOSE_CORE_RANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/wire.h"

/* Whether a range would be recorded now. Before cuInit none is. */
bool gsb_range_is_wanted(void);

/*
 * gsb_range_post() - say that a range begins or ends
 * @id, @text: as struct gsb_rec_range has them; text is NULL where it has none
 *
 * Best effort: what cannot be posted is left out. Keeps errno.
 */
void gsb_range_post(enum gsb_range_step step, uint64_t id, const char *text);

#endif
