/*
 * image.h - what a program gives to cuModuleLoadData: which of four forms it is, and how long.
 *
 * The driver takes a bare pointer. In the tenant, gsb_image_locate() finds the end from the headers, so
 * that the bytes can be sent; it trusts the program's own memory, as the driver does. Everything else
 * of ptx/ gets bytes with a length, from anyone, and trusts nothing.
 *
 * This file, texts.h and their .c stand alone (libimage.la): the preloaded libraries take no more of ptx/.
 */
#ifndef GSB_PTX_IMAGE_H
#define GSB_PTX_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSB_IMAGE_MAX_BYTES ((uint64_t)1 << 31) /* of an image of any form */

#define GSB_IMAGE_WRAPPER_MAGIC 0x466243b1u
#define GSB_IMAGE_FATBIN_MAGIC	0xba55ed50u

enum gsb_image_kind {
	GSB_IMAGE_NONE,
	GSB_IMAGE_PTX,	  /* text */
	GSB_IMAGE_FATBIN, /* fatbin.h */
	GSB_IMAGE_ELF,	  /* cubin.h */
};

struct gsb_image {
	enum gsb_image_kind kind;
	const void *bytes;
	size_t size; /* of PTX: without the NUL */
};

/**
 * gsb_image_locate() - kind and size of an image of which only the address is known
 * @code: what the program passed: the compiler's wrapper (0x466243b1), a fatbin, an ELF file, or
 *        NUL-terminated PTX
 * @out:  the image, the wrapper taken off; points into the program's memory
 *
 * Context: reads as far as the headers say. Return: 0, -EINVAL (NULL), -EBADMSG (none of the four, or
 * headers that contradict themselves or GSB_IMAGE_MAX_BYTES).
 */
int gsb_image_locate(const void *code, struct gsb_image *out);

/**
 * gsb_image_gather() - the same, with the parts of a program that nvcc has linked (-rdc=true)
 * @code: as above; a wrapper of such a program names the fatbin of each part beside the linked one
 * @out:  the image; of a linked program: all of its fatbins one behind the other, the linked one first
 * @made: what out then lies in, for free(); NULL: it lies in the program's memory
 *
 * The linked fatbin has machine code alone; PTX is what the parts have (fatbin.h joins it).
 *
 * Return: as above, or -ENOMEM.
 */
int gsb_image_gather(const void *code, struct gsb_image *out, void **made);

/*
 * The kind of an image whose size is known; NONE when it is none of them. Text counts as PTX when its
 * first word is a directive; whether it is PTX is for the parser to say.
 */
enum gsb_image_kind gsb_image_kind(const void *bytes, size_t size);

#endif
