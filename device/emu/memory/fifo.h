/*
 * fifo.h - what kernels of a space have said, until somebody reads it: the buffer of device printf.
 *
 * It holds so much and no more: what is written over that takes the place of the oldest, as CUDA
 * documents. Each block writes a part of its own, which becomes readable as one, so that the order of
 * what is read does not depend on the pace of the workers.
 *
 * Any thread; the lock is a leaf.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_FIFO_H
#define GSB_DEVICE_EMU_MEMORY_FIFO_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "device/emu/memory/storage.h"

/* What one thread says in one call. */
struct gsb_emu_text {
	const char *bytes;
	size_t len;
	size_t cost; /* what it takes of the buffer's size */
	bool to_stderr;
};

/* Parts are touched with the lock of the fifo only. */
TAILQ_HEAD(emu_fifo_part, emu_fifo_text);

struct emu_fifo {
	pthread_mutex_t lock;
	struct gsb_emu_storage *storage; /* of the host's memory that the texts take */
	struct emu_fifo_part written;	 /* every text, in the order of writing */
	struct emu_fifo_part ready;	 /* those that may be read, in that order */
	size_t used, max, default_max;	 /* bytes, by cost */
};

/* Starts at @default_max bytes, or as near as there is. */
void emu_fifo_init(struct emu_fifo *f, struct gsb_emu_storage *storage, size_t default_max);
void emu_fifo_finish(struct emu_fifo *f); /* nobody writes */

/* Another size, as print_limit of ops.h. */
uint64_t emu_fifo_limit(struct emu_fifo *f, uint64_t bytes);

/* Behind the others of the part, which begins with TAILQ_INIT. May cost the oldest texts of any part. */
void emu_fifo_write(struct emu_fifo *f, struct emu_fifo_part *part, const struct gsb_emu_text *t);
/* The part is complete: what is left of it can be read. */
void emu_fifo_release(struct emu_fifo *f, struct emu_fifo_part *part);
/* Nobody is to read it. */
void emu_fifo_drop(struct emu_fifo *f, struct emu_fifo_part *part);
/* As print_read of ops.h. */
size_t emu_fifo_read(struct emu_fifo *f, char *buf, size_t size, bool *to_stderr);

#endif
