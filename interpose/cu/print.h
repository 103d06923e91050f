/*
 * print.h - what kernels say with printf and assert: it goes to the program's own stdout and stderr.
 *
 * As CUDA documents, when the program synchronises: it waits for a stream, an event or a context, or a copy; or when a
 * context ends. A program that ends without is waited for, if a module of it can say anything.
 */
#ifndef GSB_INTERPOSE_CU_PRINT_H
#define GSB_INTERPOSE_CU_PRINT_H

#include <stdbool.h>
#include <stddef.h>

#include "interpose/core/process.h"

/* Commands whose text has been written. */
extern _Atomic uint32_t gsb_print_n_seen;

/* There is text: write it. */
void gsb_print_write(void);

/* An image is loaded: does it call what prints? */
void gsb_print_look_at(const void *image, size_t size);
bool gsb_print_is_possible(void);

/* Of commands that have completed. errno is as it was. */
static inline void gsb_print_flush(void)
{
	const _Atomic uint32_t *n = &gsb_proc.region->header.n_printed;

	if (gsb_unlikely(atomic_load_explicit(n, memory_order_acquire) !=
			 atomic_load_explicit(&gsb_print_n_seen, memory_order_relaxed)))
		gsb_print_write();
}

#endif
