/*
 * link.h - several PTX texts, one behind the other, as the driver takes them: linked by its own linker to a cubin.
 */
#ifndef GSB_DEVICE_CUDA_LINK_H
#define GSB_DEVICE_CUDA_LINK_H

#include "device/cuda/device.h"

/*
 * cuda_link() - link text that is several modules (ptx/texts.h)
 * @code:  a cubin, or PTX; with a NUL behind it
 * @cubin: for the caller to free; NULL: there is nothing to link, and the driver takes code as it is
 *
 * Context: the loader. The driver's linker keeps nobody's launches.
 * Return:  what the driver says, which @log explains where it can; CUDA_ERROR_OUT_OF_MEMORY.
 */
CUresult cuda_link(struct cuda_device *dev, const char *code, void **cubin, char *log,
		   size_t log_size);

#endif
