/*
 * times.h - how long kernels took, in a file of the cache's folder, so that the next engine on a device like this one need not
 * learn it anew. It is written when an engine ends; where several do, the last one's stays.
 */
#ifndef GSB_BROKER_ENGINE_WORK_TIMES_H
#define GSB_BROKER_ENGINE_WORK_TIMES_H

struct gsb_device_info;
struct gsb_estimates;
struct gsb_resizing;

/* To be counted up when the keys of broker/policy/estimate.c mean something else. */
#define GSB_TIMES_VERSION 1

/* Nothing happens without [resize] cache; what is damaged is dropped, and that is said. */
void gsb_times_read(const struct gsb_resizing *r, const struct gsb_device_info *info,
		    struct gsb_estimates *e);
void gsb_times_write(const struct gsb_resizing *r, const struct gsb_device_info *info,
		     const struct gsb_estimates *e);

#endif
