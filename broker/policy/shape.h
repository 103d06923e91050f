/*
 * shape.h - in which geometry a kernel is launched: as its program asked, or in another one with the same results
 * (doc/resizing.md). What a policy may name, and what [resize] force names for all.
 *
 * A shape is a wish. Whether a kernel admits it is proven when its module is loaded, and asked of each launch; a launch that
 * does not admit it is made as its program asked.
 */
#ifndef GSB_BROKER_POLICY_SHAPE_H
#define GSB_BROKER_POLICY_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gsb_shape_form {
	GSB_SHAPE_AS_ASKED,
	GSB_SHAPE_RESHAPE,    /* the kernel as it is, in blocks of another size */
	GSB_SHAPE_SLICE,      /* its blocks in several launches, one after the other, ascending */
	GSB_SHAPE_PERSISTENT, /* few blocks that fetch the numbers of the original ones */
	GSB_SHAPE_COUNT,      /* as asked, and counting what some warps do */
	GSB_SHAPE_HINT,	      /* as asked, with accesses marked as seldom used again */
	GSB_N_SHAPES,
};

#define GSB_SHAPE_MAX_SLICES 65536
#define GSB_N_LIMITS	     3
#define GSB_N_BESIDE	     (1 + GSB_N_LIMITS)
#define GSB_N_OFFERED	     (13 + GSB_N_BESIDE)
#define GSB_N_SIZES	     3

struct gsb_shape {
	enum gsb_shape_form form;
	uint32_t n_slices; /* SLICE: 1 .. GSB_SHAPE_MAX_SLICES; fewer when there are fewer blocks */
	uint32_t n_threads; /* RESHAPE: of a block on x */
	uint32_t n_blocks;  /* PERSISTENT: that fetch; 0 = as many as an idle device has room for */
	uint32_t max_tiles; /* PERSISTENT: lifetime of a block in tiles; 0 = to the end */
	uint32_t eighths; /* PERSISTENT, n_blocks 0: of that room, so many eighths; 0 = all of it */
};

/*
 * What a policy may choose from, of what a launch admits, at its end the GSB_N_BESIDE that are for the sake of others beside it, the hint (hint.c) and the limits to a part of its blocks (inside.c); and
 * behind it the sizes that its blocks may be cut to (cut.h).
 */
extern const struct gsb_shape gsb_shapes[GSB_N_OFFERED + GSB_N_SIZES];

#define GSB_LIMIT_HALF 4 /* eighths */

/*
 * In what manner a launch is made, as far as those notice who run beside it: 0, as asked; 1 .. 7, with blocks in so many eighths of its places; or with the
 * L2 left to others as far as may be. Times of one manner say nothing of another.
 */
#define GSB_MANNER_HINT 8

uint32_t gsb_shape_manner(const struct gsb_shape *s);

/* With a part of its blocks. */
static inline bool gsb_manner_limits(uint32_t manner)
{
	return manner && manner < GSB_MANNER_HINT;
}

/* Which of these is of that manner, other than as asked, counted from 1 as in struct gsb_decision; 0: none. */
unsigned gsb_shape_of_manner(const struct gsb_shape *of, unsigned n, uint32_t manner);

/* "slice"; of AS_ASKED "as-asked". */
const char *gsb_shape_name(enum gsb_shape_form form);

/*
 * "slice:8", "persistent:132", "persistent:132:64", "reshape:128", "count", "hint"; "" is AS_ASKED. -EINVAL: none of
 * these, or a number out of range.
 */
int gsb_shape_parse(const char *text, struct gsb_shape *out);

#endif
