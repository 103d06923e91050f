/*
 * link.h - PTX as the driver does not take it as it is: several texts, one behind the other, what belongs to machine code of the same
 * program, and what has managed variables. Its own linker makes a cubin of it.
 */
#ifndef GSB_DEVICE_CUDA_LINK_H
#define GSB_DEVICE_CUDA_LINK_H

#include "device/cuda/device.h"
#include "device/cuda/image.h"

/*
 * cuda_link() - make a cubin of PTX
 * @code:  PTX of one module or several (ptx/texts.h), and its objects
 * @cubin: for the caller to free
 *
 * Context: the loader. The driver's linker keeps nobody's launches.
 * Return:  what the driver says, which @log explains where it can; CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult cuda_link(struct cuda_device *dev, const struct cuda_code *code, void **cubin,
		   size_t *size, char *log, size_t log_size);

#endif
