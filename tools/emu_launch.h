/*
 * emu_launch.h - one launch on an emulated device of our own, without a broker.
 */
#ifndef GSB_TOOLS_EMU_LAUNCH_H
#define GSB_TOOLS_EMU_LAUNCH_H

#include "device/emu/emu.h"
#include "tools/emu_args.h"
#include "tools/emu_file.h"

#define EMU_ARGS_MAX   256
#define EMU_PRINTS_MAX 64

/* What the user asked for. */
struct emu_options {
	const char *arch; /* a name, or the path of a file */
	const char *kernel;
	uint32_t grid[3], block[3]; /* 0: not given */
	uint32_t smem_bytes, n_workers;
	unsigned int watch; /* enum gsb_emu_watch_what */
	bool json, demands, cooperative;
	const char *print[EMU_PRINTS_MAX];
	size_t n_prints;
};

struct emu_launch {
	struct gsb_device *dev;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_module *module;
	struct gsb_function *function;
	struct gsb_function_info info;
	struct emu_file file;
	struct emu_kernel kernel;
	struct emu_arg args[EMU_ARGS_MAX];
	size_t n_args;
	uint8_t params[GSB_PARAMS_BYTES_MAX];
	struct gsb_completion done; /* of the launch */
};

/* The device alone; its architecture is in info(). 0; -1: told on stderr. */
int emu_device_open(const struct emu_options *o, struct gsb_device **out);

/* The kernel and its arguments: the words behind the command. 0; -1: told. Zeroed before; close it in any case. */
int emu_launch_open(struct emu_launch *l, const struct emu_options *o, char **words, int n_words);
/* Run it. What it printed, and what a fault is to say, has come out. 0; -1: it failed, told. */
int emu_launch_run(struct emu_launch *l, const struct emu_options *o);
void emu_launch_close(struct emu_launch *l);

static inline const struct gsb_arch *emu_arch(struct gsb_device *dev)
{
	return &dev->ops->info(dev)->arch;
}

#endif
