/*
 * report.h - what is told of a kernel that died: one line for the log, and a text for whoever wrote the kernel.
 *
 * The interpreter knows the instruction, the threads and the address; the heap knows what there is near it. Both are
 * put together here, on the worker that found the fault, while the block and its code are there. Of the kernel's own
 * words nothing goes out that could begin a line or talk to a terminal.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_REPORT_H
#define GSB_DEVICE_EMU_CLOCK_REPORT_H

#include "device/emu/exec/exec.h"
#include "device/emu/memory/heap.h"
#include "device/ops.h"

#define EMU_REPORT_BYTES 1280

struct emu_report {
	char line[GSB_DETAIL_BYTES];
	char text[EMU_REPORT_BYTES]; /* "": the kernel has said what there is to say itself */
};

/* Takes the lock of the heap's card. */
void emu_report_make(struct emu_heap *heap, const struct gsb_emu_launch *launch,
		     const struct gsb_emu_fault *fault, struct emu_report *out);

#endif
