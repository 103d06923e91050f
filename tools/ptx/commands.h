/*
 * commands.h - the commands of gsb-ptx. Each reads a file and says, or makes, one thing.
 *
 * Return of all: the program's exit status: 0; 1 (what was asked for is not so); GSB_WRONG_USAGE (the file cannot be read,
 * or has no such kernel: told on stderr).
 */
#ifndef GSB_TOOLS_PTX_COMMANDS_H
#define GSB_TOOLS_PTX_COMMANDS_H

#include <stdbool.h>
#include <stdint.h>

/* Compute capability that PTX is chosen for, where a file has some for several: what the emulated device reports. */
#define GSB_PTX_TOOL_CC 90

struct gsb_ptx_request {
	const char *path;
	const char *kernel; /* NULL: all, or the only one */
	bool json, why;
	const char *form, *out; /* rewrite; out NULL: stdout */
	char **words;		/* counts, diff-run: the kernel's arguments as gsb-emu takes them */
	int n_words;
	uint32_t grid[3], block[3], smem_bytes;
	uint32_t every;		 /* counts: one warp of so many */
	uint32_t n_random, seed; /* diff-run */
};

int gsb_ptx_classify(const struct gsb_ptx_request *q);
int gsb_ptx_rewrite(const struct gsb_ptx_request *q);
int gsb_ptx_counts(const struct gsb_ptx_request *q);
int gsb_ptx_diff_run(const struct gsb_ptx_request *q);

#endif
