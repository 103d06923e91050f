/*
 * look.c - see look.h.
 *
 * A loop may look at several places, so one look of the split is kept, and those after it are held against it: when
 * it comes back, a turn of the loop was in vain. If it does not come back for a while another one is kept, each
 * time for longer, so that a loop with any number of looks is found (Brent's way to find a cycle). A split goes
 * by its first lane, which no other has.
 */
#include "device/emu/exec/look.h"

#include <string.h>

/* Turns of a loop in vain, of all splits of a warp, before others get their chance to be what it waits for. */
#define MAX_IN_VAIN  16
#define MAX_PATIENCE 64 /* looks */

void gsb_emu_looked_in_vain(struct gsb_emu_exec *x)
{
	if (++x->warp->n_in_vain < MAX_IN_VAIN)
		return;
	x->warp->n_in_vain = 0;
	x->tired = true;
	x->limit = 0;
}

void gsb_emu_looked(struct gsb_emu_exec *x, uint32_t mask, uint64_t found)
{
	struct gsb_emu_warp *w = x->warp;
	struct gsb_emu_look *kept = &w->looks[__builtin_ctz(mask)];

	if (!w->has_looked)
		memset(w->looks, 0, sizeof(w->looks));
	w->has_looked = true;
	found = gsb_emu_found(found, (uint64_t)gsb_emu_index_of(x, x->op) << 32 | mask);
	if (kept->found == found) {
		kept->patience = kept->n_others;
		kept->n_others = 0;
		gsb_emu_looked_in_vain(x);
	} else if (kept->n_others++ >= kept->patience) {
		kept->found = found;
		kept->n_others = 0;
		kept->patience = kept->patience < MAX_PATIENCE ? 2 * kept->patience + 1 : 0;
	}
}
