/*
 * kept.h - memory that the program has freed and may have again without asking the engine.
 *
 * A free that finds all work of the process done may leave the memory here, and the next
 * allocation of exactly as many bytes in the same context takes it: both are records that nobody
 * answers (MEM_KEEP, MEM_TAKE; gsb/wire.h), and the engine keeps its books by them as by any other
 * allocation and free. A free beside work that still runs goes to the engine, which waits for it.
 * What was in the memory is this process's own. So it is with pinned memory, of which making and registering its pages is what takes
 * long: who takes it makes zeros of it, as those of new pages are.
 *
 * The engine takes back what is not used, or what others need, whenever it likes: by a word for
 * each, which says so. So what is kept here is never the reason that somebody gets no memory. No
 * more than GSB_N_KEPT of them, GSB_KEPT_BYTES_MAX in all and GSB_KEPT_SIZE_MAX each: the former
 * are a table that is looked through for every allocation, in a fraction of a microsecond; bytes
 * are what others have to wait for first, and beyond some megabytes an allocation costs little
 * beside the work that uses it.
 *
 * All of it is under the ring's lock, so that what the engine reads has the order of what happens
 * here.
 */
#ifndef GSB_INTERPOSE_CU_KEPT_H
#define GSB_INTERPOSE_CU_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/wire.h"
#include "interpose/cu/alloc.h"

/*
 * Keep what has been removed from the map of allocations, and whose context's work is done. False:
 * nothing is changed, and it is to be freed.
 */
bool gsb_cu_kept_keep(const struct gsb_alloc *a);

/* Memory of this kind and size in a context that is there (a->wire); it is allocated, and a->addr set. False: there is none. */
bool gsb_cu_kept_take(struct gsb_alloc *a);

#endif
