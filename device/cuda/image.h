/*
 * image.h - an image as the driver may have it. The driver believes every length in an image, and it is the engine that
 * reads: so all that a tenant sends is checked against its size first.
 */
#ifndef GSB_DEVICE_CUDA_IMAGE_H
#define GSB_DEVICE_CUDA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>

struct cuda_code {
	void *bytes;	       /* a copy; of PTX: with a NUL behind it */
	bool has_no_variables; /* as far as its PTX shows; false: it may have some */
};

/**
 * cuda_code_read() - check an image, and look whether it has variables
 * @image, @size: PTX, a fatbin (the first, where a linked program has its parts behind it), or a cubin
 * @out: for cuda_code_finish()
 *
 * Return: 0, -EBADMSG (none of these, or its lengths contradict its size), -EILSEQ (PTX with a variable that is nowhere defined);
 *         @log says so; -ENOMEM.
 */
int cuda_code_read(const void *image, size_t size, struct cuda_code *out, char *log,
		   size_t log_size);
void cuda_code_finish(struct cuda_code *code);

#endif
