/*
 * lower.h - code from PTX: what the rest of the device uses of lower/.
 */
#ifndef GSB_DEVICE_EMU_LOWER_LOWER_H
#define GSB_DEVICE_EMU_LOWER_LOWER_H

#include "device/emu/code/code.h"

/**
 * gsb_emu_lower() - decode an entry and all that it calls
 * @m, @entry: the module (kept by the caller while @out lives) and an entry of it with a body
 * @var_addr:  by var->index: where each .global and .const variable of the module lies; read now only
 * @log:       on failure one line; -ENOTSUP: the opcode with its modifiers, and its line
 *
 * Context: any thread; O(instructions * log). Allocates.
 * Return:  0, -ENOTSUP (something that is not carried), -E2BIG (too large for the interpreter),
 *          -EINVAL (not an entry with a body), -ENOMEM.
 */
int gsb_emu_lower(const struct gsb_ptx_module *m, const struct gsb_ptx_func *entry,
		  const uint64_t *var_addr, struct gsb_emu_code **out, char *log, size_t log_size);

/* Calls of a function of this name, which has no body, need the heap of the space. */
bool gsb_emu_allocates(const char *name);

#endif
