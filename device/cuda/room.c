/*
 * room.c - see room.h.
 */
#include "device/cuda/room.h"

#include "device/cuda/array_pool.h"
#include "device/cuda/chunk.h"
#include "device/cuda/zero.h"

bool cuda_room_make(struct cuda_device *dev)
{
	if (!dev->dying && !dev->spare && !dev->dead_arrays)
		return false;
	cuda_chunk_drop_spare(dev);
	cuda_finish_zeroing(dev);
	cuda_chunks_bury(dev);
	cuda_arrays_bury(dev);
	return true;
}

uint64_t cuda_room_tidy(struct cuda_device *dev, uint64_t now)
{
	uint64_t array_ns = cuda_arrays_tidy(dev, now), ns;

	if (dev->spare && now >= dev->spare_until_ns)
		cuda_chunk_drop_spare(dev);
	ns = dev->spare ? dev->spare_until_ns - now : 0;
	return !array_ns || (ns && ns < array_ns) ? ns : array_ns;
}
