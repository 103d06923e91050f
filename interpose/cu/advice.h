/*
 * advice.h - what a program has said of parts of one managed allocation: for who asks, since nothing follows from it.
 *
 * Parts are whole pages, as the driver rounds what it is told, so that what is kept is little beside what it is about.
 * Not for several threads: cu/alloc.c keeps it, and locks.
 */
#ifndef GSB_INTERPOSE_CU_ADVICE_H
#define GSB_INTERPOSE_CU_ADVICE_H

#include <stdint.h>

#include "gsb/cuabi.h"

/* One place each; type CU_MEM_LOCATION_TYPE_NONE: nothing is said. */
enum gsb_advice_kind {
	GSB_ADVICE_READ_MOSTLY, /* any place: it is */
	GSB_ADVICE_PREFERRED,
	GSB_ADVICE_BY_DEVICE, /* accessed by it */
	GSB_ADVICE_BY_HOST,
	GSB_ADVICE_PREFETCHED, /* to there, last */
	GSB_N_ADVICE_KINDS
};

struct gsb_advice;

/* Of an allocation of which nothing is said yet; NULL without memory. */
struct gsb_advice *gsb_advice_create(uint64_t addr, uint64_t bytes);
void gsb_advice_destroy(struct gsb_advice *a); /* NULL is fine */

/* From now on this holds for the pages of a range, which lies in the allocation and is not empty. -ENOMEM: all is as it was. */
int gsb_advice_set(struct gsb_advice *a, uint64_t addr, uint64_t bytes, enum gsb_advice_kind kind,
		   CUmemLocation where);
/* What holds for all of such a range; nothing when parts of it differ. NULL: of which nothing was ever said. */
CUmemLocation gsb_advice_get(const struct gsb_advice *a, uint64_t addr, uint64_t bytes,
			     enum gsb_advice_kind kind);

#endif
