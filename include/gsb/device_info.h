/*
 * device_info.h - what a tenant may know of a device and of a function, in fixed-width form.
 *
 * The engine's device fills these once; the wire carries them; the library answers attribute
 * queries from them without asking again. Attribute numbers are the driver's own
 * (CUdevice_attribute, CUfunction_attribute), so that a table lookup is the whole implementation of
 * a query.
 */
#ifndef GSB_DEVICE_INFO_H
#define GSB_DEVICE_INFO_H

#include <stdint.h>

#include "gsb/arch.h"

#define GSB_N_DEVICE_ATTRS   160 /* CUDA 13.0 defines attributes 1..149 */
#define GSB_N_FUNCTION_ATTRS 16
#define GSB_N_PARAMS_MAX     896   /* of one kernel; a kernel with more is refused by name */
#define GSB_PARAMS_BYTES_MAX 32764 /* CUDA's limit from sm_70 and PTX 8.1 on */
#define GSB_CLUSTER_MAX	     16	   /* blocks of a cluster on any GPU */

struct gsb_device_info {
	char name[128];			   /* cuDeviceGetName */
	uint8_t uuid[16];		   /* cuDeviceGetUuid */
	uint64_t total_mem_bytes;	   /* cuDeviceTotalMem */
	int32_t attrs[GSB_N_DEVICE_ATTRS]; /* by CUdevice_attribute; 0 where the device has none */
	int32_t priority_least, priority_greatest; /* stream priorities, e.g. 0 and -5 */
	uint32_t driver_version;		   /* 13000 */
	uint32_t clock_is_virtual; /* 1: device time stands still while a tenant thread runs */
	uint32_t
		sm_group; /* queues of a part of the SMs: its first and its number of them are multiples of
			    * this; 0 = there are no such queues */
	struct gsb_arch arch;
};

/* The nearest priority that the device has; the greatest is the smallest number. */
static inline int32_t gsb_clamp_priority(const struct gsb_device_info *d, int32_t priority)
{
	if (priority < d->priority_greatest)
		return d->priority_greatest;
	return priority > d->priority_least ? d->priority_least : priority;
}

/* One kernel parameter: where its bytes lie in the parameter block. */
struct gsb_param {
	uint16_t offset, size; /* bytes */
};

struct gsb_function_info {
	int32_t attrs[GSB_N_FUNCTION_ATTRS]; /* by CUfunction_attribute */
	uint32_t reqntid[3];		     /* .reqntid, 0 when any geometry will do */
	uint32_t params_bytes;		     /* size of the parameter block */
	uint32_t n_params;
	struct gsb_param params[GSB_N_PARAMS_MAX]; /* the first n_params are valid */
};

#endif
