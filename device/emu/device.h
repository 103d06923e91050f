/*
 * device.h - the structs of the emulated device and of one of its spaces.
 */
#ifndef GSB_DEVICE_EMU_DEVICE_H
#define GSB_DEVICE_EMU_DEVICE_H

#include <sys/queue.h>

#include "device/code.h"
#include "device/emu/clock/clock.h"
#include "device/emu/exec/watch.h"
#include "device/emu/memory/fifo.h"
#include "device/emu/memory/heap.h"
#include "device/emu/memory/storage.h"
#include "device/ops.h"

struct emu_device {
	struct gsb_device base;
	struct gsb_device_ops ops; /* gsb_emu_ops, less what the clock does not have */
	struct gsb_device_info info;
	struct gsb_code_cache *codes;
	struct emu_vram vram;
	struct gsb_emu_storage storage; /* the sum */
	struct emu_clock clock;
	uint64_t n_frees_under_work; /* see emu.h */
	struct gsb_emu_watch watch;  /* of launches, when it is asked for */
	struct {
		uint64_t nth, n; /* which is spoilt, 0 = each; copies to the host so far */
	} flip;			 /* see flip.c */
};

struct gsb_space {
	struct emu_device *dev;
	struct emu_heap heap;
	struct gsb_emu_storage storage;
	struct emu_fifo fifo;
	LIST_HEAD(emu_modules, gsb_module) modules; /* under vram.lock: the loader loads, too */
};

static inline struct emu_device *to_emu(struct gsb_device *dev)
{
	return (struct emu_device *)dev; /* base is first */
}

/* Something of the space goes back: see gsb_emu_frees_under_work(). */
static inline void emu_note_free(struct gsb_space *space)
{
	space->dev->n_frees_under_work += emu_clock_is_busy(&space->dev->clock, space);
}

#endif
