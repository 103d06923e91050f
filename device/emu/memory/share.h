/*
 * share.h - memory of one heap in others: what of its file is shared, and what it has opened.
 *
 * An allocation that is shared and freed stays taken in its heap, as long as that is there, and in its file, until the last backing of it goes.
 * What is opened is an allocation of its heap, with the pages of another file in place of its own.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_SHARE_H
#define GSB_DEVICE_EMU_MEMORY_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct emu_heap;
struct gsb_backing;
struct gsb_range;

/* As ops.h says of mem_share. Any thread. */
int emu_heap_share(struct emu_heap *heap, uint64_t addr, struct gsb_backing **out, uint64_t *offset,
		   uint64_t *size);

/* ---- for heap.c, with the lock of the card; of a range that nobody touches ---- */

/* The range is there, and becomes the backing's. -ENOMEM. */
int emu_share_open(struct emu_heap *heap, struct gsb_backing *b, uint64_t start);
/* It was opened, and is the heap's own again: 0. -ENOENT: it was not. -ENOMEM: its addresses must not be used again, and that was said. */
int emu_share_close(struct emu_heap *heap, const struct gsb_range *r);
/* It was freed, and others have it: what is counted for it is theirs, and its range goes with the last of them. */
bool emu_share_outlives(struct emu_heap *heap, const struct gsb_range *r);
/* The heap ends, and is mapped nowhere any more: what others have is theirs, and nothing else is left. */
void emu_share_part(struct emu_heap *heap);

#endif
