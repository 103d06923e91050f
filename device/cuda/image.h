/*
 * image.h - an image as the driver may have it. The driver believes every length in an image, and reads in the engine's
 * process: a fatbin that was not made by NVIDIA's tools is enough to end it. So containers are opened here, by readers that believe
 * nothing, and the driver gets what it would have chosen: a cubin that was checked, or PTX. But of kernels that print it gets PTX
 * where there is any, made to print into our memory (print.h), unless the driver's own way will do (fifo.h).
 */
#ifndef GSB_DEVICE_CUDA_IMAGE_H
#define GSB_DEVICE_CUDA_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Kernels that demand blocks of one shape, which the driver does not tell before a launch. */
struct cuda_bound {
	char *name;
	uint32_t block[3];
};

struct cuda_bounds {
	struct cuda_bound *items;
	size_t n;
};

void cuda_bounds_free(struct cuda_bounds *b);

/* Machine code that is linked to PTX: of NVIDIA's device runtime, say. */
struct cuda_object {
	void *bytes;
	size_t len;
};

struct cuda_code {
	void *bytes;	       /* a copy, unpacked, with a NUL behind it */
	size_t len;	       /* without that */
	bool prints;	       /* into the ring of its space */
	bool uses_fifo;	       /* it prints into the driver's */
	bool asserts;	       /* an assertion in it may fail */
	bool has_managed;      /* or, of PTX, may have; not for the driver as it is (managed.h) */
	bool has_no_variables; /* as far as its PTX shows; false: it may have some */
	uint64_t variable_bytes;
	char *variables; /* their names, one behind another, each ended by a NUL, and an empty one; NULL: not known */
	struct cuda_bounds bounds;   /* those of PTX that our parser does not take are not known */
	struct cuda_object *objects; /* what PTX of a linked program is to be linked to */
	size_t n_objects;
};

/* What becomes of calls of vprintf. */
enum cuda_prints {
	CUDA_PRINTS_OURS, /* in PTX they are ours, and PTX is taken where there is any */
	CUDA_PRINTS_KEPT, /* machine code is taken before PTX, as the driver would; in PTX they are ours */
	CUDA_PRINTS_DRIVERS, /* everything is the driver's */
};

/**
 * cuda_code_read() - what of an image the GPU can run, and whether it has variables
 * @image, @size: PTX, a fatbin (with its parts behind it, of a linked program), or a cubin
 * @cc:  compute capability: 90
 * @out: for cuda_code_finish()
 *
 * Return: 0, -EBADMSG (damaged), -ENOEXEC (nothing for this GPU), -EILSEQ (PTX with a variable that is nowhere defined); @log says
 *         why; -ENOMEM.
 */
int cuda_code_read(const void *image, size_t size, uint32_t cc, enum cuda_prints prints,
		   struct cuda_code *out, char *log, size_t log_size);
void cuda_code_finish(struct cuda_code *code);

#endif
