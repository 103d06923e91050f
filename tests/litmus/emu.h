/*
 * emu.h - the emulated device as a machine for litmus tests, with a number of workers.
 */
#ifndef GSB_TESTS_LITMUS_EMU_H
#define GSB_TESTS_LITMUS_EMU_H

#include "tests/litmus/litmus.h"

struct gsb_device;
struct gsb_space;
struct gsb_queue;
struct gsb_module;
struct gsb_function;

#define LITMUS_EMU_BUFFER (16u << 20) /* bytes of each of a launch's three arrays, at most */

struct litmus_emu {
	struct litmus_machine base;
	struct gsb_device *dev;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_module *module;
	struct gsb_function *function;
	uint64_t buffer[3];
	uint64_t end_ns; /* device time at which the last launch ended */
};

/* What cannot be had ends the test. */
void litmus_emu_open(struct litmus_emu *m, unsigned int n_workers);
void litmus_emu_close(struct litmus_emu *m);

#endif
