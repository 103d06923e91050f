/*
 * command_time.h - what a command takes on the device besides blocks: before a launch's first block, and for bytes.
 *
 * Figures of an H200 on PCIe 5 x16, of one size on all GPUs that we know but for the link. The emulated device's clock and
 * the simulator of loads take them from here, so that they agree.
 */
#ifndef GSB_MODEL_TIME_COMMAND_TIME_H
#define GSB_MODEL_TIME_COMMAND_TIME_H

#include <stdint.h>

#include "gsb/arch.h"

#define GSB_LAUNCH_LATENCY_NS 1500 /* from the head of a queue to its first block */

enum gsb_transfer {
	GSB_TRANSFER_HOST,   /* over the link, either direction */
	GSB_TRANSFER_DEVICE, /* inside: each byte is read and written */
	GSB_TRANSFER_FILL    /* inside: each byte is written */
};

/* A copy or fill with an engine of its own. Pure. */
uint64_t gsb_transfer_time_ns(const struct gsb_arch *arch, enum gsb_transfer kind, uint64_t bytes);

#endif
