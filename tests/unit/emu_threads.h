/*
 * emu_threads.h - a launch whose blocks several threads execute at once, each taking the next in ascending
 * order, as the workers of the device do.
 */
#ifndef GSB_TESTS_EMU_THREADS_H
#define GSB_TESTS_EMU_THREADS_H

#include "tests/unit/emu_harness.h"

/* As t_launch(), on @n_workers threads; a block runs to its end before its thread takes another. Grid and block along
 * x. @paths, which may be NULL: how all of them went to memory. */
CUresult t_launch_on(struct t_gpu *g, const struct t_launch *l, unsigned int n_workers,
		     struct gsb_emu_paths *paths);

#endif
