/*
 * look.h - looks in vain: how a warp is known that only waits.
 *
 * Who waits for others in a loop looks at what they may change: by strong loads, by atomic operations, by tests of
 * an mbarrier. A look is in vain if the same lanes have found the same at the same places by the same instruction
 * before; an atomic operation only if it has left memory as it was. A warp that has looked in vain often enough is
 * tired: its turn ends at the next backward branch or call, and it sleeps, as after nanosleep (block.c).
 *
 * What a loop finds decides, not what it is made of. So it may call functions, by address too, keep what it has in
 * memory of its own, and do whatever else between two looks; who does not look pays nothing. To take a warp for
 * tired that works costs time only, a change of warps for so many looks: who sleeps is woken.
 */
#ifndef GSB_DEVICE_EMU_EXEC_LOOK_H
#define GSB_DEVICE_EMU_EXEC_LOOK_H

#include "device/emu/exec/state.h"

/* The instruction that executes has found, for the lanes of the mask, what @found stands for. */
void gsb_emu_looked(struct gsb_emu_exec *x, uint32_t mask, uint64_t found);
/* It has found that what it waits for is not there. */
void gsb_emu_looked_in_vain(struct gsb_emu_exec *x);

/* One more word of what was found: different words, or the same ones in another order, give another sum. */
static inline uint64_t gsb_emu_found(uint64_t so_far, uint64_t word)
{
	const uint64_t x = (so_far ^ word) * UINT64_C(0x9e3779b97f4a7c15);

	return x ^ x >> 32;
}

#endif
