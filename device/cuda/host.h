/*
 * host.h - host memory that the GPU may reach: parts of spaces' host windows, buffers that engine and tenant share, and a
 * little of the device's own. The first functions are those of ops.h.
 */
#ifndef GSB_DEVICE_CUDA_HOST_H
#define GSB_DEVICE_CUDA_HOST_H

#include "device/cuda/device.h"

/* The device works, and its registrar is there: have it make a context for registering, but for a device of one process; so much later, 0: 500. */
void cuda_host_begin(struct cuda_device *dev, uint32_t put_off_ms);
/* Until that context is there; it is made at once. */
void cuda_host_await(struct cuda_device *dev);
/* The same, and it is this thread's from now on. */
void cuda_host_enter(struct cuda_device *dev);

void cuda_host_prepare(struct gsb_device *base, uint64_t owner, uint64_t addr, uint64_t size);
int cuda_host_pin(struct gsb_space *space, uint64_t addr, uint64_t size);
int cuda_host_unpin(struct gsb_space *space, uint64_t addr, uint64_t size);
void cuda_host_unpin_all(struct gsb_space *space);
/* A part of a file for this process, in place of reserved addresses, and that the GPU may reach it, or no longer; at last the addresses are as
 * before, be it a little later. -ENOMEM. */
int cuda_host_map(struct cuda_device *dev, int fd, uint64_t at, uint64_t addr, uint64_t size);
int cuda_host_expose(struct cuda_device *dev, uint64_t addr, uint64_t size);
void cuda_host_hide(struct cuda_device *dev, uint64_t addr);
void cuda_host_unmap(struct cuda_device *dev, uint64_t addr, uint64_t size);
/* Something that was registered among these addresses is still to be unregistered: nothing can be mapped or registered there. Of the engine's
 * thread, which answers -EINPROGRESS then; stay_awake has it ask again. */
bool cuda_host_is_going(struct cuda_device *dev, uint64_t addr, uint64_t size);
void cuda_host_finish(struct cuda_device *dev); /* no space is left; what was only prepared goes */
void cuda_buffer_share(struct gsb_device *dev, void *addr, uint64_t size, int fd);
bool cuda_buffer_unshare(struct gsb_device *dev, void *addr);
/* What the helper has registered meanwhile is known from here on. */
void cuda_host_learn(struct cuda_device *dev);

int cuda_bounces_init(struct cuda_device *dev); /* -ENOMEM */
void cuda_bounces_finish(struct cuda_device *dev);
struct cuda_bounce *cuda_bounce_take(struct cuda_device *dev);	       /* NULL: all are in use */
void cuda_bounce_give(struct cuda_device *dev, struct cuda_bounce *b); /* NULL is fine */

#endif
