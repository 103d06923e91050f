/*
 * hooks/init.c - versions, error names, and what a program may ask about the device. All is
 * answered from what came with the welcome.
 */
#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/process.h"

CUresult hook_cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = GSB_CUDA_VERSION;
	return CUDA_SUCCESS;
}

static CUresult give_text(const char *text, const char **out)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	*out = text;
	return text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuGetErrorName(CUresult error, const char **name)
{
	return give_text(gsb_cuda_error_name(error), name);
}

CUresult hook_cuGetErrorString(CUresult error, const char **text)
{
	return give_text(gsb_cuda_error_string(error), text);
}

/* ---- the device: there is one ---- */

static CUresult check(const void *out, CUdevice dev)
{
	if (!out)
		return CUDA_ERROR_INVALID_VALUE;
	return dev ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

static int attr(CUdevice_attribute a)
{
	return gsb_proc.device.attrs[a];
}

CUresult hook_cuDeviceGetCount(int *count)
{
	CUresult result = check(count, 0);

	if (!result)
		*count = 1;
	return result;
}

CUresult hook_cuDeviceGet(CUdevice *dev, int ordinal)
{
	CUresult result = check(dev, ordinal);

	if (!result)
		*dev = 0;
	return result;
}

CUresult hook_cuDeviceGetName(char *name, int len, CUdevice dev)
{
	CUresult result = len > 0 ? check(name, dev) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		snprintf(name, (size_t)len, "%s", gsb_proc.device.name);
	return result;
}

CUresult hook_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
	CUresult result = check(uuid, dev);

	if (!result)
		memcpy(uuid->bytes, gsb_proc.device.uuid, sizeof(uuid->bytes));
	return result;
}

CUresult hook_cuDeviceTotalMem(size_t *bytes, CUdevice dev)
{
	CUresult result = check(bytes, dev);

	if (!result)
		*bytes = gsb_proc.device.total_mem_bytes;
	return result;
}

CUresult hook_cuDeviceGetAttribute(int *value, CUdevice_attribute a, CUdevice dev)
{
	CUresult result =
		a > 0 && a < GSB_N_DEVICE_ATTRS ? check(value, dev) : CUDA_ERROR_INVALID_VALUE;

	if (!result) /* registered memory has another address on the device */
		*value = a == CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM ? 0
											  : attr(a);
	return result;
}

CUresult hook_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
	CUresult result = check(prop, dev);

	if (result)
		return result;
	*prop = (CUdevprop){
		.maxThreadsPerBlock = attr(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK),
		.maxThreadsDim = {attr(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
				  attr(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
				  attr(CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)},
		.maxGridSize = {attr(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X),
				attr(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y),
				attr(CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)},
		.sharedMemPerBlock = attr(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK),
		.totalConstantMemory = attr(CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY),
		.SIMDWidth = attr(CU_DEVICE_ATTRIBUTE_WARP_SIZE),
		.memPitch = attr(CU_DEVICE_ATTRIBUTE_MAX_PITCH),
		.regsPerBlock = attr(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK),
		.clockRate = attr(CU_DEVICE_ATTRIBUTE_CLOCK_RATE),
		.textureAlign = attr(CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT),
	};
	return CUDA_SUCCESS;
}

CUresult hook_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
	CUresult result = major ? check(minor, dev) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	*major = attr(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
	*minor = attr(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
	return CUDA_SUCCESS;
}

CUresult hook_cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
	CUresult result = peer ? CUDA_ERROR_INVALID_DEVICE : check(can, dev);

	if (!result)
		*can = 0; /* a device is not its own peer */
	return result;
}

/* A link has two ends, and no two devices are there to be them: whatever is asked, the devices are wrong. */
CUresult hook_cuDeviceGetP2PAttribute(const int *value)
{
	return value ? CUDA_ERROR_INVALID_DEVICE : CUDA_ERROR_INVALID_VALUE;
}

CUresult hook_cuDeviceGetP2PAtomicCapabilities(const unsigned *capabilities,
					       const CUatomicOperation *operations, unsigned n)
{
	if (!capabilities || !operations || !n)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++)
		if (operations[i] < 0 || operations[i] >= CU_ATOMIC_OPERATION_MAX)
			return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_INVALID_DEVICE;
}

/* Capitals, as of the driver: who looks for it in /sys makes them small. */
static void pci_id(char *id, size_t len)
{
	snprintf(id, len, "%04X:%02X:%02X.0", (unsigned)attr(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID),
		 (unsigned)attr(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID),
		 (unsigned)attr(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
}

CUresult hook_cuDeviceGetPCIBusId(char *id, int len, CUdevice dev)
{
	CUresult result = len > 0 ? check(id, dev) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		pci_id(id, (size_t)len);
	return result;
}

/* [domain]:[bus]:[device].[function], hexadecimal; domain and function may be left out. */
CUresult hook_cuDeviceGetByPCIBusId(CUdevice *dev, const char *id)
{
	unsigned domain = 0, bus, device, function = 0;

	if (!dev || !id)
		return CUDA_ERROR_INVALID_VALUE;
	if (sscanf(id, "%x:%x:%x.%x", &domain, &bus, &device, &function) < 3) {
		domain = 0;
		if (sscanf(id, "%x:%x.%x", &bus, &device, &function) < 2)
			return CUDA_ERROR_INVALID_VALUE;
	}
	if (domain != (unsigned)attr(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID) ||
	    bus != (unsigned)attr(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) ||
	    device != (unsigned)attr(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID) || function)
		return CUDA_ERROR_INVALID_DEVICE;
	*dev = 0;
	return CUDA_SUCCESS;
}
