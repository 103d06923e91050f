/*
 * emu_threads.h - a launch whose blocks several threads execute at once, in slices and by turns, so that blocks may
 * wait for each other.
 */
#ifndef GSB_TESTS_EMU_THREADS_H
#define GSB_TESTS_EMU_THREADS_H

#include "tests/unit/emu_harness.h"

/* As t_launch(), on @n_workers threads. Grid, of at most 256 blocks, and block along x. @paths, which may be NULL: how all of them went to memory. */
CUresult t_launch_on(struct t_gpu *g, const struct t_launch *l, unsigned int n_workers,
		     struct gsb_emu_paths *paths);

#endif
