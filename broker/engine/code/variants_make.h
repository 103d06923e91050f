/*
 * variants_make.h - reads an image, proves what its kernels may be launched as, and writes the variants.
 *
 * What cannot be made (no PTX in the image, PTX that is not understood, no memory) is not made: the image is then
 * loaded as it is.
 */
#ifndef GSB_BROKER_ENGINE_CODE_VARIANTS_MAKE_H
#define GSB_BROKER_ENGINE_CODE_VARIANTS_MAKE_H

#include <stddef.h>
#include <stdint.h>

struct gsb_resizing;
struct gsb_variants;

/**
 * gsb_variants_make() - read an image, prove, and write; or read what is kept of it (proofs.h)
 * @image, @size: PTX text or a fatbin
 * @cc:     of the device: 90
 * @wanted: GSB_SHAPE_BIT() of the shapes to make possible
 * @out:    for gsb_variants_destroy(); written only on success
 *
 * Context: the loader's thread: may take seconds. Return: 0, -ENOEXEC (no PTX in it), -EILSEQ (not understood),
 *          -ENOENT (no kernel bears a shape), -E2BIG, -ENOMEM.
 */
int gsb_variants_make(const struct gsb_resizing *r, const void *image, size_t size, uint32_t cc,
		      uint32_t wanted, struct gsb_variants **out);

#endif
