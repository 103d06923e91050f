/*
 * print.h - what kernels say with printf and assert: it goes to the program's own stdout and stderr.
 *
 * As CUDA documents, when the program synchronises: it waits for a stream, an event or a context, or a copy; or when a
 * context ends. What it has not waited for when it exits is not written, as on a GPU. What the emulated device says of a
 * fault comes the same way, at the latest from the first call that returns the error.
 */
#ifndef GSB_INTERPOSE_CU_PRINT_H
#define GSB_INTERPOSE_CU_PRINT_H

#include "interpose/core/process.h"

/* Commands whose text has been written. */
extern _Atomic uint32_t gsb_print_n_seen;

/* There is text: write it. */
void gsb_print_write(void);

/* Of commands that have completed. errno is as it was. */
static inline void gsb_print_flush(void)
{
	const _Atomic uint32_t *n = &gsb_proc.region->header.n_printed;

	if (gsb_unlikely(atomic_load_explicit(n, memory_order_acquire) !=
			 atomic_load_explicit(&gsb_print_n_seen, memory_order_relaxed)))
		gsb_print_write();
}

#endif
