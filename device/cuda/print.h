/*
 * print.h - what kernels say. The driver would write it to the engine's own stdout, and not say whose it is. So calls of vprintf
 * in PTX go to a function of ours, which is put behind the text (print.ptx), and that writes records into a ring of the space, in
 * pinned memory: the engine reads them, and makes text of them, when somebody asks for it.
 *
 * A record: a word with its bytes, itself included, written last; the format; and for each argument a word, and behind it
 * the string, where it is one. Strings end with a NUL and are filled up with zeros to whole words. Where no record is, all is 0.
 *
 * Kernels share out the ring by two counters in the device's memory, where many threads may add at once: what is wanted, from which he takes
 * back his part who goes past the room, and what is claimed, to which only he adds who does not. So a claim always fits, and no claim is
 * without a record (print.ptx). Where there is not room for all who come at once, a short text may be lost beside a long one. The host's
 * memory lies behind the bus, and is read only when the ring looks full. The text itself goes there at once: the device's is gone after a fault.
 *
 * Machine code has its calls made: what it says still goes the driver's way (fifo.h). So where an image has both, and several tenants are in the
 * process, PTX that prints is taken (image.h). What is read comes from the ring, then from the driver's FIFO, and behind all that stands what the driver says
 * of a failed assertion (said.h).
 */
#ifndef GSB_DEVICE_CUDA_PRINT_H
#define GSB_DEVICE_CUDA_PRINT_H

#include "device/cuda/device.h"

struct cuda_print; /* the ring of a space */

/* Text whose printf is ours, for free(), with a NUL behind it; *out stays NULL when it has none. 0, -ENOMEM. */
int cuda_print_redirect(const char *text, size_t len, char **out);

/* The loader: the space's ring is there from now on, and what the library says goes to it. -ENOMEM, -EIO; log says why. */
int cuda_print_attach(struct gsb_space *space, CUlibrary library, char *log, size_t log_size);
void cuda_print_destroy(struct gsb_space *space); /* nothing of it is in flight */

/* When a launch is over: whether there is something to be read. */
bool cuda_print_has_text(struct cuda_print *p);

/* No variable of the program's. */
bool cuda_print_is_ring(const char *variable);

/* As in ops.h. */
int cuda_print_read(struct gsb_space *space, char *buf, size_t size, bool *to_stderr, bool *more);
uint64_t cuda_print_limit(struct gsb_space *space, uint64_t bytes);

#endif
