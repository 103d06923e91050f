/*
 * queue.h - the work of device/cuda: streams, commands on them, and how their end is noticed. The functions are those of ops.h.
 */
#ifndef GSB_DEVICE_CUDA_QUEUE_H
#define GSB_DEVICE_CUDA_QUEUE_H

#include "device/cuda/device.h"

int cuda_queue_create(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
		      struct gsb_queue **out);
void cuda_queue_destroy(struct gsb_queue *queue);
int cuda_issue(struct gsb_queue *queue, const struct gsb_cmd *cmd);
unsigned cuda_poll(struct gsb_device *dev, struct gsb_completion *out, unsigned max);
int cuda_event_fd(struct gsb_device *dev);
bool cuda_stay_awake(struct gsb_device *dev);
uint64_t cuda_now_ns(struct gsb_device *dev);

int cuda_work_init(struct cuda_device *dev); /* -ENOMEM, -errno */
void cuda_work_finish(struct cuda_device *dev);

#endif
