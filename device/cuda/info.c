/*
 * info.c - see info.h.
 */
#include "device/cuda/info.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "device/info.h"
#include "model/gpu/arch.h"

#define RESERVE_BYTES \
	(1ull << 30) /* for code, stacks and what else the driver needs while it works */
#define HOST_CONTEXT_BYTES \
	(640ull << 20)	/* for the second context, which is made later: 530 MiB on an H100 */
#define NOMINAL_ISSUE 4 /* schedulers of an SM, since many generations */

static int32_t ask(struct cuda_device *dev, int attribute)
{
	int value = 0;

	return dev->cu.cuDeviceGetAttribute(&value, (CUdevice_attribute)attribute, dev->id) ? 0
											    : value;
}

/* What devices that are not real have is what is carried; and where it is, and what only a GPU has, besides. */
static const int others[] = {
	CU_DEVICE_ATTRIBUTE_PCI_BUS_ID,	    CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID,
	CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID,  CU_DEVICE_ATTRIBUTE_ECC_ENABLED,
	CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED};

static void fill_attrs(struct cuda_device *dev)
{
	static const int carried[] = {
#define GSB_ATTR(number, name, value) number,
#include "device/attrs.def"
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(carried); i++)
		dev->info.attrs[carried[i]] = ask(dev, carried[i]);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(others); i++)
		dev->info.attrs[others[i]] = ask(dev, others[i]);
	dev->info.attrs[CU_DEVICE_ATTRIBUTE_MEMPOOL_SUPPORTED_HANDLE_TYPES] &=
		CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR; /* no other is carried */
	/* Managed memory does not come to the GPU: who asks first is better off with the GPU's own. */
	dev->info.attrs[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS] = 0;
}

/* A GPU of the table, which knows more than the driver says. */
static const struct gsb_arch *find_known(const struct cuda_device *dev)
{
	const struct gsb_arch *a;

	for (size_t i = 0; (a = gsb_arch_at(i)); i++)
		if (strstr(dev->info.name, a->marketing_name) &&
		    a->n_sms == (uint32_t)dev->info.attrs[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT])
			return a;
	return gsb_arch_find("h200");
}

static void fill_arch(struct cuda_device *dev)
{
	const int32_t *a = dev->info.attrs;
	struct gsb_arch *arch = &dev->info.arch;

	*arch = *find_known(dev);
	snprintf(arch->marketing_name, sizeof(arch->marketing_name), "%.*s",
		 (int)sizeof(arch->marketing_name) - 1, dev->info.name);
	arch->cc_major = (uint32_t)a[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR];
	arch->cc_minor = (uint32_t)a[CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR];
	arch->per_cycle = gsb_arch_rates(arch->cc_major, arch->cc_minor);
	arch->n_sms = (uint32_t)a[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
	arch->max_warps =
		(uint32_t)a[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR] / GSB_WARP_SIZE;
	arch->max_blocks = (uint32_t)a[CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR];
	arch->max_threads_per_block = (uint32_t)a[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK];
	arch->regs = (uint32_t)a[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR];
	arch->max_regs_per_block = (uint32_t)a[CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK];
	arch->smem_bytes = (uint32_t)a[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR];
	arch->smem_per_block_bytes = (uint32_t)a[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK];
	arch->smem_per_block_optin_bytes =
		(uint32_t)a[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN];
	arch->smem_reserved_bytes =
		(uint32_t)a[CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK];
	arch->clock_khz = (uint32_t)a[CU_DEVICE_ATTRIBUTE_CLOCK_RATE];
	arch->mem_clock_khz = (uint32_t)a[CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE];
	arch->mem_bus_bits = (uint32_t)a[CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH];
	arch->l2_bytes = (uint32_t)a[CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE];
	arch->mem_bytes = dev->info.total_mem_bytes;
}

/* What is free now, when the context of the work is there: more cannot be sold. */
static int fill_memory(struct cuda_device *dev, char *err, size_t err_size)
{
	size_t free_bytes, total;
	CUresult result = dev->cu.cuMemGetInfo_v2(&free_bytes, &total);
	uint64_t reserve = RESERVE_BYTES + (dev->single ? 0 : HOST_CONTEXT_BYTES);

	if (!result && free_bytes > reserve + RESERVE_BYTES) {
		dev->info.total_mem_bytes =
			(free_bytes - reserve) / CUDA_CHUNK_BYTES * CUDA_CHUNK_BYTES;
		return 0;
	}
	snprintf(err, err_size, "device 'cuda:%d' has too little free memory: %s", dev->id,
		 result ? cuda_name(result) : "others use it");
	return -ENODEV;
}

int cuda_info_fill(struct cuda_device *dev, char *err, size_t err_size)
{
	struct gsb_device_info *info = &dev->info;
	const struct cuda_driver *cu = &dev->cu;
	CUuuid uuid;
	int least, greatest;

	if (cu->cuDeviceGetName(info->name, sizeof(info->name), dev->id) ||
	    cu->cuDeviceGetUuid_v2(&uuid, dev->id) ||
	    cu->cuCtxGetStreamPriorityRange(&least, &greatest)) {
		snprintf(err, err_size, "device 'cuda:%d' does not say what it is", dev->id);
		return -ENODEV;
	}
	memcpy(info->uuid, uuid.bytes, sizeof(info->uuid));
	info->priority_least = least;
	info->priority_greatest = greatest;
	info->driver_version = GSB_CUDA_VERSION;
	fill_attrs(dev);
	dev->exports = ask(dev, CU_DEVICE_ATTRIBUTE_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED);
	if (fill_memory(dev, err, err_size))
		return -ENODEV;
	fill_arch(dev);
	return 0;
}
