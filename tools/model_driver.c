/*
 * model_driver.c - see model_driver.h. Attributes of the driver, nothing else.
 *
 * The driver is opened when asked for, never linked; no context is made. What no attribute tells (the
 * allocation units) follows from the compute capability, as in the table of model/gpu/arch.c.
 */
#include "tools/model_driver.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "gsb/cuabi.h"
#include "model/gpu/arch.h"

/* Numbers of CUdevice_attribute, and the field that each fills. */
static const struct {
	int attribute;
	size_t offset;
} attributes[] = {
	{1, offsetof(struct gsb_arch, max_threads_per_block)},
	{8, offsetof(struct gsb_arch, smem_per_block_bytes)},
	{12, offsetof(struct gsb_arch, max_regs_per_block)},
	{13, offsetof(struct gsb_arch, clock_khz)},
	{16, offsetof(struct gsb_arch, n_sms)},
	{36, offsetof(struct gsb_arch, mem_clock_khz)},
	{37, offsetof(struct gsb_arch, mem_bus_bits)},
	{38, offsetof(struct gsb_arch, l2_bytes)},
	{39, offsetof(struct gsb_arch, max_warps)}, /* in threads; divided below */
	{75, offsetof(struct gsb_arch, cc_major)},
	{76, offsetof(struct gsb_arch, cc_minor)},
	{81, offsetof(struct gsb_arch, smem_bytes)},
	{82, offsetof(struct gsb_arch, regs)},
	{97, offsetof(struct gsb_arch, smem_per_block_optin_bytes)},
	{106, offsetof(struct gsb_arch, max_blocks)},
	{111, offsetof(struct gsb_arch, smem_reserved_bytes)},
};

struct driver {
	CUresult (*init)(unsigned int flags);
	CUresult (*device_get)(CUdevice *device, int ordinal);
	CUresult (*name)(char *name, int len, CUdevice device);
	CUresult (*total_mem)(size_t *bytes, CUdevice device);
	CUresult (*attribute)(int *value, int attribute, CUdevice device);
};

static int load(struct driver *d)
{
	static const char *const names[] = {"cuInit", "cuDeviceGet", "cuDeviceGetName",
					    "cuDeviceTotalMem_v2", "cuDeviceGetAttribute"};
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *symbols[GSB_ARRAY_LEN(names)];

	if (!library) {
		fprintf(stderr, "gsb-model: no GPU driver here: %s\n", dlerror());
		return -1;
	}
	for (size_t i = 0; i < GSB_ARRAY_LEN(names); i++) {
		symbols[i] = dlsym(library, names[i]);
		if (!symbols[i]) {
			fprintf(stderr, "gsb-model: libcuda.so.1 has no %s\n", names[i]);
			return -1;
		}
	}
	memcpy(d, symbols, sizeof(*d));
	_Static_assert(sizeof(*d) == sizeof(symbols), "one member for each name");
	return 0;
}

/* What goes with a compute capability and is not an attribute. */
static void fill_units(struct gsb_arch *a)
{
	a->max_regs_per_thread = 255;
	a->reg_unit = 256;
	a->warp_unit = a->cc_major == 6 && a->cc_minor == 0 ? 2 : 4;
	a->smem_unit_bytes = a->cc_major >= 8 ? 128 : 256;
	a->issue_width = 4;
	a->per_cycle = gsb_arch_rates(a->cc_major, a->cc_minor);
	a->max_resident_grids = a->cc_major >= 7 ? 128 : 32;
	a->sm_group = a->cc_major >= 9 ? 8 : a->cc_major >= 6 ? 2 : 1;
}

/* Two transfers a clock on each line of the bus. */
static uint64_t bandwidth_of(const struct gsb_arch *a)
{
	return (uint64_t)a->mem_clock_khz * 1000 * a->mem_bus_bits / 8 * 2;
}

static int query(const struct driver *d, CUdevice device, struct gsb_arch *a)
{
	size_t bytes;

	for (size_t i = 0; i < GSB_ARRAY_LEN(attributes); i++) {
		int value = 0;

		if (d->attribute(&value, attributes[i].attribute, device) || value < 0)
			return -1;
		*(uint32_t *)((char *)a + attributes[i].offset) = (uint32_t)value;
	}
	if (d->name(a->marketing_name, sizeof(a->marketing_name), device) ||
	    d->total_mem(&bytes, device))
		return -1;
	a->mem_bytes = bytes;
	a->max_warps /= GSB_WARP_SIZE;
	a->mem_bandwidth_bytes_per_s = bandwidth_of(a);
	fill_units(a);
	return 0;
}

int model_driver_arch(unsigned int index, struct gsb_arch *out)
{
	struct gsb_arch a = {.name = "driver"};
	struct driver d;
	CUdevice device;
	CUresult result;

	if (load(&d))
		return -1;
	result = d.init(0);
	if (result) {
		fprintf(stderr, "gsb-model: cuInit: error %d\n", (int)result);
		return -1;
	}
	if (d.device_get(&device, (int)index) || query(&d, device, &a)) {
		fprintf(stderr, "gsb-model: the driver has no device %u, or does not describe it\n",
			index);
		return -1;
	}
	if (gsb_arch_check(&a)) {
		fprintf(stderr,
			"gsb-model: device %u (%s) reports limits that contradict each other\n",
			index, a.marketing_name);
		return -1;
	}
	*out = a;
	return 0;
}
