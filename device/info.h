/*
 * info.h - what devices that are not real say of themselves: attributes of a named architecture.
 *
 * Shared by emu and null, so that a tenant sees one device whichever answers it. The compute
 * capability that is reported is one that the interpreter executes, whatever geometry is emulated:
 * it decides which PTX a program offers, not how blocks are placed.
 */
#ifndef GSB_DEVICE_INFO_FILL_H
#define GSB_DEVICE_INFO_FILL_H

#include "gsb/device_info.h"

#define GSB_REPORTED_CC_MAJOR 9
#define GSB_REPORTED_CC_MINOR 0
#define GSB_N_COPY_ENGINES    3
#define GSB_PRIORITY_GREATEST (-5) /* stream priorities run from 0 down to it */

#define GSB_GRID_X_MAX	INT32_MAX
#define GSB_GRID_YZ_MAX 65535
#define GSB_BLOCK_Z_MAX 64

/**
 * gsb_device_info_fill() - describe a device of this architecture
 * @arch:      limits; its cc is kept in info->arch and not reported as an attribute
 * @kind:      stands before the marketing name: "Emulated", "Null"
 * @mem_bytes: device memory that is offered
 *
 * Context: pure.
 */
void gsb_device_info_fill(struct gsb_device_info *info, const struct gsb_arch *arch,
			  const char *kind, uint64_t mem_bytes);

#endif
