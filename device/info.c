/*
 * info.c - see info.h; the attributes themselves are rows of attrs.def.
 */
#include "device/info.h"

#include <stdio.h>
#include <string.h>

#include "gsb/cuabi.h"

static void fill_attrs(int32_t *attrs, const struct gsb_arch *arch)
{
#define GSB_ATTR(number, name, value) attrs[number] = (int32_t)(value);
#include "device/attrs.def"
}

/* The same name has the same uuid in every process and run: programs remember devices by it. */
static void fill_uuid(uint8_t uuid[16], const char *name)
{
	uint64_t h = 0xcbf29ce484222325ull; /* FNV-1a */

	for (size_t i = 0; i < 16; i++) {
		for (const char *s = name; *s; s++)
			h = (h ^ (uint8_t)*s) * 0x100000001b3ull;
		uuid[i] = (uint8_t)(h >> 32);
	}
}

void gsb_device_info_fill(struct gsb_device_info *info, const struct gsb_arch *arch,
			  const char *kind, uint64_t mem_bytes)
{
	memset(info, 0, sizeof(*info));
	snprintf(info->name, sizeof(info->name), "%s %s", kind, arch->marketing_name);
	fill_uuid(info->uuid, info->name);
	fill_attrs(info->attrs, arch);
	info->total_mem_bytes = mem_bytes;
	info->priority_least = 0;
	info->priority_greatest = GSB_PRIORITY_GREATEST;
	info->driver_version = GSB_CUDA_VERSION;
	info->sm_group = arch->sm_group;
	info->arch = *arch;
}
