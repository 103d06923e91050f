/*
 * device.c - finds the device that a spec names, among those of devices.def.
 */
#include "device/ops.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "device/cuda/cuda.h"
#include "device/emu/emu.h"
#include "device/lanes/lanes.h"
#include "device/null/null.h"

static const struct gsb_device_ops *const devices[] = {
#define GSB_DEVICE(scheme, takes) &gsb_##scheme##_ops,
#include "device/devices.def"
#undef GSB_DEVICE
	&gsb_lanes_ops, /* of another device: which, says a configuration by its isolation */
};

const struct gsb_device_ops *gsb_device_find(const char *spec)
{
	size_t len = strcspn(spec, ":");

	for (size_t i = 0; i < GSB_ARRAY_LEN(devices); i++)
		if (strlen(devices[i]->scheme) == len && !strncmp(devices[i]->scheme, spec, len))
			return devices[i];
	return NULL;
}

int gsb_device_open(const struct gsb_device_params *p, struct gsb_device **out, char *err,
		    size_t err_size)
{
	const struct gsb_device_ops *ops = gsb_device_find(p->spec);

	if (!ops) {
		snprintf(err, err_size,
			 "device '%s': no such kind of device; try cuda:0, emu:h200 or null",
			 p->spec);
		return -ENODEV;
	}
	return ops->open(p, out, err, err_size);
}
