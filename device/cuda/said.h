/*
 * said.h - what NVIDIA's driver says on stderr, in the process that has the context: there it tells which assertion of a kernel has failed, in which
 * block and thread, and tells it nobody else. Of a program that is a tenant that would be the engine's log. So a process that exists for its device
 * hears what goes through the `stderr` of its libc: all of it goes to the log, and the lines of assertions are kept for those whose kernels
 * may have failed so.
 *
 * Without CUDA_ERROR_ASSERT there are none, and with it nothing works any more: what is kept is of one fault.
 */
#ifndef GSB_DEVICE_CUDA_SAID_H
#define GSB_DEVICE_CUDA_SAID_H

#include <stddef.h>

/* Bytes that are kept, and that are logged: the driver waits for nobody to read them. */
#define CUDA_SAID_MAX ((size_t)64 << 10)

/* From now on, whoever in this process writes; a second time it does nothing. Without memory all stays as it is. */
void cuda_said_hear(void);

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
