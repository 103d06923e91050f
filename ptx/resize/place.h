/*
 * place.h - where the accesses of a kernel's threads lie, as a sum over their places and their turns in loops: private to
 * ptx/resize.
 *
 * An index of 32 bits is taken for a number that does not wrap: for who wants to know what a kernel does, not for proofs of what
 * it may do.
 */
#ifndef GSB_PTX_RESIZE_PLACE_H
#define GSB_PTX_RESIZE_PLACE_H

#include "ptx/resize/loops.h"
#include "ptx/resize/poly.h"

/* A symbol is a kind and a number. Places differ from thread to thread or turn to turn, the others do not. */
enum gsb_place_kind {
	GSB_PLACE_NTID = 1, /* axis */
	GSB_PLACE_NCTAID,   /* axis */
	GSB_PLACE_PARAM,    /* offset in the parameters */
	GSB_PLACE_VAR,	    /* index in the module's variables */
	GSB_PLACE_VALUE,    /* instruction: what it makes of such */
	GSB_PLACE_PASSED,   /* instruction: what it added while it was passed, before */
	GSB_PLACE_SUM,	    /* instruction: a size of several products, of its address */
	GSB_PLACE_PHI,	    /* register that is written at several places; not in results */
	GSB_PLACE_TID,	    /* axis; from here on: places */
	GSB_PLACE_CTAID,    /* axis */
	GSB_PLACE_LOW,	    /* b: the b lowest bits of tid.x */
	GSB_PLACE_HIGH,	    /* b: tid.x without them, shifted */
	GSB_PLACE_LOOP,	    /* instruction: times it has been passed in a loop around the access */
};

static inline uint32_t gsb_place(enum gsb_place_kind kind, uint32_t number)
{
	return (uint32_t)kind << 24 | number;
}
static inline enum gsb_place_kind gsb_place_kind(uint32_t symbol)
{
	return (enum gsb_place_kind)(symbol >> 24);
}
static inline uint32_t gsb_place_number(uint32_t symbol)
{
	return symbol & 0xffffff;
}
static inline bool gsb_place_differs(uint32_t symbol)
{
	return gsb_place_kind(symbol) >= GSB_PLACE_TID;
}

struct gsb_places {
	struct gsb_resize_flow *f;
	struct gsb_resize_loops loops;
	struct gsb_place_register *regs;
	const struct gsb_poly *
		*writes; /* by instruction: what it gives its register; NULL: not known */
	bool *written;	 /* by instruction: that has been found out */
	uint32_t at;	 /* the instruction at hand */
};

/* False: a->err is set. */
bool gsb_places_build(struct gsb_resize_flow *f, struct gsb_places *out);

/* The address of an access in bytes. False: it is not such a sum. */
bool gsb_places_address(struct gsb_places *p, uint32_t insn, struct gsb_poly *out);
/* Is the register that @adds adds to never set back inside @l? */
bool gsb_places_goes_on(const struct gsb_places *p, uint32_t adds, const struct gsb_resize_loop *l);
/* Is this branch the same for all threads of the grid, and for all turns? */
bool gsb_places_decides_alike(struct gsb_places *p, uint32_t insn);

#endif
