/*
 * variables.h - the variables of an image, as they were when it was loaded.
 *
 * The driver gives no load back without waiting for all kernels, and lets nobody launch while it loads. So an image that nobody uses
 * any more is kept, and used again by who loads the same bytes: what a program could have changed of it are its
 * variables, which are written anew for that. An image of which not all variables are known is loaded each time.
 */
#ifndef GSB_DEVICE_CUDA_VARIABLES_H
#define GSB_DEVICE_CUDA_VARIABLES_H

#include "device/cuda/device.h"

#define CUDA_VARIABLES_MAX_BYTES (1u << 20) /* of all of an image: more is not worth its memory */

struct cuda_variables;

/*
 * cuda_variables_save() - what is in the variables of a fresh load
 * @names: one behind another, each ended by a NUL, and an empty one
 * @bytes: of all of them
 * @out:   NULL: the driver does not know them all, or they are too large
 *
 * Context: the loader's thread, in the context of the work. Return: what the driver says of the load.
 */
CUresult cuda_variables_save(struct cuda_device *dev, CUlibrary library, const char *names,
			     uint64_t bytes, struct cuda_variables **out);
/* Write them back. Context: as above; nothing runs that uses them. -EIO: they may be anything now. */
int cuda_variables_restore(struct cuda_device *dev, const struct cuda_variables *v);
void cuda_variables_free(struct cuda_variables *v);

#endif
