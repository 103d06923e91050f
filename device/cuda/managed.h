/*
 * managed.h - the managed variables of an image, which lie where the program has pinned memory for them, at one address for it and the GPU.
 *
 * The driver would place them where this process sees them, and the program does not. So it never sees one: they are taken out of the
 * cubin (ptx/managed.h), and it gets their addresses when it loads that. So an image that has some comes to the driver only when
 * it is known where they are, and until it is in the context (cuLibraryGetModule) the driver reads the cubin, names and addresses where they
 * lie. Afterwards it knows nothing of these names: who asks for one is answered from here.
 */
#ifndef GSB_DEVICE_CUDA_MANAGED_H
#define GSB_DEVICE_CUDA_MANAGED_H

#include "device/cuda/device.h"
#include "device/cuda/image.h"

#define CUDA_MANAGED_OPTIONS 3

struct cuda_managed;

/*
 * cuda_managed_take() - take them out of code
 * @code: a cubin, which goes into @out, if that is not NULL; its variable_bytes are those that the driver places now
 * @out:  NULL: it has none after all
 *
 * Return: 0, -errno of gsb_managed_read(); @log says why.
 */
int cuda_managed_take(struct cuda_code *code, struct cuda_managed **out, char *log,
		      size_t log_size);
void cuda_managed_free(struct cuda_managed *m); /* NULL is fine */

uint64_t
cuda_managed_bytes(const struct cuda_managed *m); /* that they take where they are placed */
size_t cuda_managed_host_bytes(const struct cuda_managed *m);

/* Where they are to lie. The cubin, for the driver; NULL: it was placed before. */
const void *cuda_managed_place(struct cuda_managed *m, uint64_t addr);
/* What the driver is to know of them: so many options. */
unsigned cuda_managed_options(struct cuda_managed *m, CUjit_option options[CUDA_MANAGED_OPTIONS],
			      void *values[CUDA_MANAGED_OPTIONS]);
/* Write what they begin with. -ENOENT: the driver does not tell the address of what one points to. Context: the loader's thread, once it is loaded. */
int cuda_managed_initialise(const struct cuda_managed *m, struct cuda_device *dev,
			    CUlibrary library, char *log, size_t log_size);
/* It is there, or could not be loaded and never will: the cubin is needed no more. */
void cuda_managed_placed(struct cuda_managed *m, bool loaded);

/* False: none is called so, or it is nowhere. */
bool cuda_managed_find(const struct cuda_managed *m, const char *name, uint64_t *addr,
		       uint64_t *size);

#endif
