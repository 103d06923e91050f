/*
 * loops.h - the natural loops of a function: private to ptx/resize.
 */
#ifndef GSB_PTX_RESIZE_LOOPS_H
#define GSB_PTX_RESIZE_LOOPS_H

#include "ptx/resize/analysis.h"

struct gsb_resize_loop {
	uint32_t header;	/* block */
	const uint32_t *blocks; /* the header first */
	uint32_t n_blocks;
	const bool *has; /* by block */
};

struct gsb_resize_loops {
	const struct gsb_resize_loop *loops; /* one a header, in the order of these */
	uint32_t n;
	bool knot; /* something else goes round, too: it is entered at more than one place */
};

/* False: a->err is set. */
bool gsb_resize_loops_build(struct gsb_resize_flow *f, struct gsb_resize_loops *out);
/* The smallest loop with this block in it; NULL: none. */
const struct gsb_resize_loop *gsb_resize_innermost(const struct gsb_resize_loops *l,
						   uint32_t block);
/* Does each turn of the loop pass this block of it? */
bool gsb_resize_each_turn(const struct gsb_resize_flow *f, const struct gsb_resize_loop *l,
			  uint32_t block);

#endif
