/*
 * sweep.h - a thread that gives back the pages of large memory that was freed, and closes the files of spaces that end: the
 * system takes 0.2 s for a GiB, in which an engine would serve nobody. Until it is done the addresses are not given out again.
 *
 * Context: the lock of the card.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_SWEEP_H
#define GSB_DEVICE_EMU_MEMORY_SWEEP_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/range.h"

#define EMU_SWEEP_BYTES (16ull << 20) /* below, it is done at once */

struct emu_file;
struct emu_sweep;
struct emu_vram;

struct emu_sweeper {
	pthread_t thread;
	pthread_cond_t more, done;
	struct emu_sweep *list; /* in the order in which they came; the first one is under way */
	bool is_started, stops;
};

void emu_sweeper_init(struct emu_sweeper *s);
void emu_sweeper_finish(struct emu_vram *vram); /* all is done; without the lock */

/* A part of a file, which has a range of @ranges that goes when nothing is left of it, unless these are gone before. False: it
 * is small, or cannot be given: the caller does it. */
bool emu_sweep_part(struct emu_vram *vram, struct emu_file *f, uint64_t at, uint64_t size,
		    struct gsb_ranges *ranges, uint64_t start);
/* A user of a file goes, of which so much may be left. */
void emu_sweep_put(struct emu_vram *vram, struct emu_file *f, uint64_t bytes);
/* The ranges go. */
void emu_sweep_forget(struct emu_vram *vram, const struct gsb_ranges *ranges);
/* Waits until something that these ranges wait for is done; false: there is nothing. */
bool emu_sweep_wait(struct emu_vram *vram, const struct gsb_ranges *ranges);

#endif
