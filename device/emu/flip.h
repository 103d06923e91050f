/*
 * flip.h - fault injection for tests: see flip.c for what it does.
 */
#ifndef GSB_DEVICE_EMU_FLIP_H
#define GSB_DEVICE_EMU_FLIP_H

#include "device/emu/memory/heap.h"

/* "1" or "copy:N"; -EINVAL for anything else. NULL: none. */
int emu_flip_parse(const char *text, int *nth);
/* Is this device-to-host copy one to be spoilt? Counts it in *n. */
bool emu_flip_wanted(int nth, uint64_t *n, const struct emu_heap *heap,
		     const struct gsb_cmd_copy *copy);
/* Just before the copy: see flip.c for which bit. */
void emu_flip_apply(const struct gsb_cmd_copy *copy);

#endif
