/*
 * send.h - one command as calls of the driver.
 */
#ifndef GSB_DEVICE_CUDA_SEND_H
#define GSB_DEVICE_CUDA_SEND_H

#include "device/cuda/device.h"

/* What is left of a copy when the device has done its part. */
struct cuda_landing {
	struct cuda_bounce *bounce; /* it used this; NULL: none */
	uint64_t dst; /* to memory of this process, in rows; 0: it was the other way round */
	uint64_t width, height, pitch;
};

/*
 * cuda_send() - hand a command to a stream
 * @landing: zeroed
 *
 * Return: 0; -EINVAL, -E2BIG, -ENOTSUP, -ENOMEM as issue() of ops.h; -EFAULT: an address that nothing is allocated at;
 *         -EIO: the context is lost.
 */
int cuda_send(struct cuda_device *dev, CUstream stream, const struct gsb_cmd *cmd,
	      struct cuda_landing *landing);

/* Aligned, of 4 or 8 bytes. */
struct cuda_word {
	uint64_t addr, value;
	unsigned bytes;
};

/* Whether all that a command does is to set one word of the device. The value of a copy is what its source holds now. */
bool cuda_sets_a_word(const struct gsb_cmd *cmd, struct cuda_word *out);

/* The device has written: bring it home. */
void cuda_land(struct cuda_device *dev, struct cuda_landing *landing);

#endif
