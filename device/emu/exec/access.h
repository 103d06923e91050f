/*
 * access.h - what an op asks of memory, worked out once more from its registers: for the report of a fault, and
 * for those who watch a launch. Handlers do the same in one go, by far faster; nothing here is on their way.
 */
#ifndef GSB_DEVICE_EMU_EXEC_ACCESS_H
#define GSB_DEVICE_EMU_EXEC_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "device/emu/code/code.h"

struct gsb_emu_exec;

enum gsb_emu_access_kind {
	GSB_EMU_ACCESS_NONE, /* not an access of memory */
	GSB_EMU_ACCESS_LOAD,
	GSB_EMU_ACCESS_STORE,
	GSB_EMU_ACCESS_ATOM,
	GSB_EMU_N_ACCESSES,
};

struct gsb_emu_access {
	enum gsb_emu_access_kind kind;
	uint8_t space; /* enum gsb_ptx_space: GLOBAL, SHARED, LOCAL, PARAM or GENERIC */
	bool overlaps; /* a result goes where the addresses are: they may be gone when it faults */
	uint32_t len;  /* bytes of a lane */
	uint32_t mask; /* lanes that take part */
	uint64_t at[GSB_EMU_LANES]; /* of these; SHARED and LOCAL: from the start of the window */
};

/* For the lanes in @mask of the split that executes. False, and kind NONE: @op does not touch memory. */
bool gsb_emu_access_find(const struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
			 uint32_t mask, struct gsb_emu_access *out);

/* The space that a generic address lies in: SHARED, LOCAL, PARAM, or GLOBAL for all others. */
enum gsb_ptx_space gsb_emu_access_space(uint64_t generic);

#endif
