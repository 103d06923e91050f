/*
 * fifo.h - what kernels print that came as machine code. Its calls of vprintf are made: they go to the printf FIFO that the driver has for the context
 * (CU_LIMIT_PRINTF_FIFO_SIZE), and the driver writes from there to `stdout`, whenever a thread waits for the device or unloads code, and does not say whose
 * it is. (What comes as PTX prints into a ring of ours: print.h.)
 *
 * A process that exists for its device hears it (said.h). The text is the space's that has such kernels in flight, if no other has; their ends are told when the FIFO
 * has been emptied. What empties it is a wait for a stream that never has anything to do, so that it waits for no kernel: 1.6 us on an H200 where nothing was
 * printed, 30 with three lines, 10 to 20 ms with a whole FIFO of 800 KB (doc/results/2026-11-30-fifo-h200.txt). While two spaces have such kernels in flight
 * nobody can say whose a line is, and it goes to the log; a process that has one tenant, as with isolation = process, mps or lanes, knows it always.
 */
#ifndef GSB_DEVICE_CUDA_FIFO_H
#define GSB_DEVICE_CUDA_FIFO_H

#include "device/cuda/device.h"

/* The device hears from now on what is printed, until cuda_fifo_finish(). */
void cuda_fifo_init(struct cuda_device *dev);
void cuda_fifo_finish(struct cuda_device *dev); /* no space is left */

/* The loader, before kernels that print there: 0, -ENOMEM, -EIO; log says why. */
int cuda_fifo_open(struct gsb_space *space, char *log, size_t log_size);
/* A kernel that prints there is about to be sent, and has ended; the engine's thread. */
void cuda_fifo_begin(struct gsb_space *space);
void cuda_fifo_end(struct gsb_space *space);

bool cuda_fifo_has_text(struct gsb_space *space);
/* As much as there is, oldest first. Returns how many bytes. */
size_t cuda_fifo_read(struct gsb_space *space, char *buf, size_t size);
void cuda_fifo_forget(struct gsb_space *space); /* it goes */

#endif
