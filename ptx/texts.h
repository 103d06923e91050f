/*
 * texts.h - PTX texts one behind the other: what linking PTX makes. units.c reads them as one module.
 *
 * With image.h it is all of ptx/ that a preloaded library takes.
 */
#ifndef GSB_PTX_TEXTS_H
#define GSB_PTX_TEXTS_H

#include <stddef.h>

/* Zeroed: none. text has a NUL behind its n bytes, and is NULL before the first. */
struct gsb_ptx_texts {
	char *text;
	size_t n;
};

/* Up to a NUL, if there is one among the n bytes. 0, -EFBIG (GSB_IMAGE_MAX_BYTES), -ENOMEM. */
int gsb_ptx_texts_add(struct gsb_ptx_texts *texts, const char *text, size_t n);

/*
 * What programs link a library of objects for, NVIDIA's device runtime (libcudadevrt.a): the functions of its cooperative
 * groups, as PTX. Other functions of a library are missing, and loading names those that are called.
 */
int gsb_ptx_texts_add_library(struct gsb_ptx_texts *texts);

void gsb_ptx_texts_finish(struct gsb_ptx_texts *texts);

#endif
