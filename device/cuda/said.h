/*
 * said.h - what NVIDIA's driver says on stderr and stdout, in the process that has the context: there it tells which assertion of a kernel has
 * failed, in which block and thread, and writes what machine code prints, and tells it nobody else. Of a program that is a tenant that
 * would be the engine's log. So a process that exists for its device hears what goes through the `stderr` and the `stdout` of its libc. Of
 * stderr all goes to the log, and the lines of assertions are kept for those whose kernels may have failed so; what comes on stdout is for
 * who listens (fifo.h), and what is for nobody goes to the log, too.
 *
 * Without CUDA_ERROR_ASSERT there are no such lines, and with it nothing works any more: what is kept is of one fault.
 */
#ifndef GSB_DEVICE_CUDA_SAID_H
#define GSB_DEVICE_CUDA_SAID_H

#include <stdbool.h>
#include <stddef.h>

/* Bytes that are kept, and that are logged: the driver waits for nobody to read them. */
#define CUDA_SAID_MAX ((size_t)64 << 10)

/* From now on, whoever in this process writes; a second time it does nothing. Without memory all stays as it is. */
void cuda_said_hear(void);

/* Called by whoever writes to stdout, be it any thread of the driver's callers: is it for somebody? One call at a time. */
typedef bool cuda_said_print_fn(void *arg, const char *text, size_t n);
/* Who listens to stdout from now on; NULL: nobody. When it returns the former one is not called any more. */
void cuda_said_listen(cuda_said_print_fn *print, void *arg);
/* What was written to stdout before has been told. */
void cuda_said_flush(void);

/* So many bytes have been kept. */
size_t cuda_said_bytes(void);

/**
 * cuda_said_read() - what is kept
 * @at: so many bytes of it were read before; what is read is added
 *
 * Context: any thread. Return: bytes of buf that were written; 0: there is no more, yet.
 */
size_t cuda_said_read(size_t *at, char *buf, size_t size);

#endif
