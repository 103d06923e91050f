/*
 * layout.h - where the variables of a load go that lie in one piece of memory: one behind the other, in whatever order.
 */
#ifndef GSB_PTX_LAYOUT_H
#define GSB_PTX_LAYOUT_H

#include <errno.h>

#include "base/checked.h"

#define GSB_PTX_VAR_ALIGN \
	16 /* at least: no two variables share a word that a copy may take as one */

/* The next one of a piece of which *end bytes are taken: where in it. -ENOMEM: there are no such numbers. Context: pure. */
static inline int gsb_ptx_put_variable(uint64_t *end, uint64_t size, uint64_t align,
				       uint64_t *offset)
{
	uint64_t unit = align > GSB_PTX_VAR_ALIGN ? align : GSB_PTX_VAR_ALIGN, room;

	if (gsb_add_overflows(*end, unit - 1, &room) ||
	    gsb_add_overflows(room / unit * unit, size, end))
		return -ENOMEM;
	*offset = room / unit * unit;
	return 0;
}

#endif
