/*
 * mps.h - a daemon of NVIDIA's MPS of one's own, in a folder of one's own: whoever else has one on this machine is left alone, and a program
 * that is to run natively meets none.
 */
#ifndef GSB_TOOLS_BENCH_MPS_H
#define GSB_TOOLS_BENCH_MPS_H

#include <stdbool.h>

struct gsb_mps {
	char log_dir[64], pipe_dir[80];
	bool runs;
};

/* gsb_mps_start() - with its pipes and its log under a folder. Return: it runs; false: there is none on this machine. */
bool gsb_mps_start(struct gsb_mps *m, const char *folder);
/* Nothing where none runs. */
void gsb_mps_stop(struct gsb_mps *m);

/* For the process that calls it and whatever it executes: a client of that daemon; of none at all, if NULL. */
void gsb_mps_choose(const struct gsb_mps *m);

#endif
