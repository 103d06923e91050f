/*
 * rewrite_kept.h - the sites of a counting kernel that are counted in registers: private to the rewriter.
 *
 * Warps that go round a loop would add to the same words of memory with each turn, and wait there for one another
 * longer than the loop takes. So the sites deepest in loops keep their sums in registers of the lane that adds, and
 * each lane adds its own to memory where it leaves. Functions that are called have no place to keep them.
 */
#ifndef GSB_PTX_RESIZE_REWRITE_KEPT_H
#define GSB_PTX_RESIZE_REWRITE_KEPT_H

#include "ptx/resize/rewrite_count.h"
#include "ptx/resize/rewrite_parts.h"

#define GSB_KEPT_MAX 8 /* registers of 64 bits */

struct gsb_kept {
	uint32_t word[GSB_KEPT_MAX]; /* by register: what it is added to in the end */
	uint32_t n;
};

/* The register of a word, GSB_PTX_NONE: it is added to in memory. Of a site all words have one, or none. */
uint32_t gsb_kept_register(const struct gsb_kept *kept, uint32_t word);

/* 0, -ENOMEM, -E2BIG. */
int gsb_kept_choose(const struct gsb_rewrite_work *w, const struct gsb_count_sites *sites,
		    struct gsb_kept *out);
/* The registers, all 0. */
void gsb_kept_declare(struct gsb_edit_func *f, const struct gsb_kept *kept);
/* Before the leave @i: lanes that pass its guard add what they have to ~words, those of warps that are counted. */
void gsb_kept_flush(struct gsb_edit_func *f, const struct gsb_kept *kept, uint32_t i);

#endif
