/*
 * zero.c - see zero.h.
 */
#include "device/cuda/zero.h"

#include <errno.h>
#include <utlist.h>

static uint64_t zero_word(struct cuda_device *dev)
{
	return (uint64_t)(uintptr_t)&dev->words[CUDA_ZERO_WORD];
}

/* What has begun must be told of when it ends: it would go on in memory that is another's by then. */
int cuda_zero_mark(struct cuda_device *dev)
{
	const struct cuda_driver *cu = &dev->cu;
	int err;

	dev->n_zeroed++;
	err = cuda_io_error(dev, cu->cuEventRecord(dev->zeroed, dev->zero_stream));
	if (!err)
		err = cuda_io_error(dev,
				    cu->cuStreamWriteValue32_v2(dev->zero_stream, zero_word(dev),
								(uint32_t)dev->n_zeroed, 0));
	return err;
}

int cuda_zero(struct cuda_device *dev, uint64_t addr, uint64_t size)
{
	CUresult result = cuda_note(dev, dev->cu.cuMemsetD8Async(addr, 0, size, dev->zero_stream));

	if (result)
		return result == CUDA_ERROR_OUT_OF_MEMORY ? -ENOMEM : -EIO;
	return cuda_zero_mark(dev);
}

/* A context that is lost does nothing any more. */
bool cuda_is_zeroed(struct cuda_device *dev, uint64_t n_zeroed)
{
	return (int32_t)(dev->words[CUDA_ZERO_WORD] - (uint32_t)n_zeroed) >= 0 || cuda_lost(dev);
}

void cuda_finish_zeroing(struct cuda_device *dev)
{
	cuda_io_error(dev, dev->cu.cuStreamSynchronize(dev->zero_stream));
}

void cuda_zero_note(struct cuda_device *dev, uint64_t owner)
{
	struct gsb_space *space;

	DL_FOREACH (dev->spaces, space)
		if (space->owner == owner)
			space->n_zeroed = dev->n_zeroed;
}
