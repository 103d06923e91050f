/*
 * calls/device.c - versions, devices and what is asked about them.
 */
#include <string.h>

#include "base/compiler.h"
#include "cudart/calls/calls.h"
#include "cudart/context.h"
#include "cudart/error.h"

cudaError_t rt_cudaDriverGetVersion(int *version)
{
	if (!version)
		return cudaErrorInvalidValue;
	*version = gsb_rt_driver_version();
	return cudaSuccess;
}

cudaError_t rt_cudaRuntimeGetVersion(int *version)
{
	if (!version)
		return cudaErrorInvalidValue;
	*version = CUDART_VERSION;
	return cudaSuccess;
}

/* A program may ask on a machine that has none: then there are 0, and the reason is the result. */
cudaError_t rt_cudaGetDeviceCount(int *count)
{
	cudaError_t error = count ? gsb_rt_driver_open() : cudaErrorInvalidValue;

	if (count)
		*count = 0;
	return error ? error : gsb_rt_error(gsb_rt_drivers->cuDeviceGetCount(count));
}

cudaError_t rt_cudaGetDevice(int *device)
{
	if (!device)
		return cudaErrorInvalidValue;
	*device = gsb_rt_device();
	return cudaSuccess;
}

static cudaError_t set_flags(int device, unsigned flags)
{
	return gsb_rt_error(gsb_rt_drivers->cuDevicePrimaryCtxSetFlags(device, flags));
}

cudaError_t rt_cudaInitDevice(int device, unsigned flags, unsigned how)
{
	cudaError_t error = gsb_rt_check_device(device);

	if (!error && how & ~(unsigned)cudaInitDeviceFlagsAreValid)
		error = cudaErrorInvalidValue;
	if (!error && how)
		error = set_flags(device, flags);
	return error ? error : gsb_rt_device_start(device);
}

/* The order is only that in which devices would be tried; all of them are as good. */
cudaError_t rt_cudaSetValidDevices(const int *devices, int n)
{
	cudaError_t error = n < 0 || (n && !devices) ? cudaErrorInvalidValue : cudaSuccess;

	for (int i = 0; !error && i < n; i++)
		error = gsb_rt_check_device(devices[i]);
	return error;
}

/* Every device of a broker is the same to its tenants, so that the first fits as well as any. */
cudaError_t rt_cudaChooseDevice(int *device, const struct cudaDeviceProp *prop)
{
	if (!device || !prop)
		return cudaErrorInvalidValue;
	*device = 0;
	return cudaSuccess;
}

/* Those of the current context, which may be the program's own; else of the one to come, in which the runtime maps host memory. */
cudaError_t rt_cudaGetDeviceFlags(unsigned *flags)
{
	cudaError_t error;
	unsigned found;
	int active;

	if (!flags)
		return cudaErrorInvalidValue;
	if (!gsb_rt_drivers->cuCtxGetFlags(flags))
		return cudaSuccess;
	error = gsb_rt_error(
		gsb_rt_drivers->cuDevicePrimaryCtxGetState(gsb_rt_device(), &found, &active));
	if (!error)
		*flags = found | CU_CTX_MAP_HOST;
	return error;
}

cudaError_t rt_cudaSetDeviceFlags(unsigned flags)
{
	return set_flags(gsb_rt_device(), flags);
}

cudaError_t rt_cudaDeviceGetAttribute(int *value, int attr, int device)
{
	return gsb_rt_error(
		gsb_rt_drivers->cuDeviceGetAttribute(value, (CUdevice_attribute)attr, device));
}

/* ---- properties ---- */

static cudaError_t identify(struct cudaDeviceProp *prop, int device)
{
	CUresult result =
		gsb_rt_drivers->cuDeviceGetName(prop->name, (int)sizeof(prop->name), device);

	if (!result)
		result = gsb_rt_drivers->cuDeviceGetUuid(&prop->uuid, device);
	if (!result)
		result = gsb_rt_drivers->cuDeviceTotalMem(&prop->totalGlobalMem, device);
	return gsb_rt_error(result);
}

static int attribute(int attr, int device)
{
	int value = 0;

	return gsb_rt_drivers->cuDeviceGetAttribute(&value, (CUdevice_attribute)attr, device)
		       ? 0
		       : value;
}

/* Members of one element and of several are filled alike: as an array of their type. */
#define ATTRIBUTES(...)     \
	{                   \
		__VA_ARGS__ \
	}
#define FILL(type, name, n, source)                                \
	{                                                          \
		static const int from[] = ATTRIBUTES source;       \
		type *to = (type *)&prop->name;                    \
		for (unsigned i = 0; i < GSB_ARRAY_LEN(from); i++) \
			to[i] = (type)attribute(from[i], device);  \
	}
static void fill(struct cudaDeviceProp *prop, int device)
{
#define GSB_RT_PROPERTY FILL
#if GSB_CUDART == 12
#define GSB_RT_PROPERTY_12 FILL
#define GSB_RT_PROPERTY_13 GSB_RT_NO_MEMBER
#else
#define GSB_RT_PROPERTY_12 GSB_RT_NO_MEMBER
#define GSB_RT_PROPERTY_13 FILL
#endif
#include "cudart/properties.def"
}

cudaError_t rt_cudaGetDeviceProperties(struct cudaDeviceProp *prop, int device)
{
	struct cudaDeviceProp all = {0};
	cudaError_t error = prop ? gsb_rt_check_device(device) : cudaErrorInvalidValue;

	if (!error)
		error = identify(&all, device);
	if (error)
		return error;
	fill(&all, device);
	*prop = all;
	return cudaSuccess;
}

#if GSB_CUDART == 12
cudaError_t rt_cudaGetDeviceProperties_11(struct cudaDeviceProp *prop, int device)
{
	struct cudaDeviceProp all;
	cudaError_t error = prop ? rt_cudaGetDeviceProperties(&all, device) : cudaErrorInvalidValue;

	if (!error)
		memcpy(prop, &all, offsetof(struct cudaDeviceProp, hostRegisterSupported));
	return error;
}
#endif

/* ---- the driver's functions ---- */

/* What is not there is said in *status; without one it is an error. */
cudaError_t rt_cudaGetDriverEntryPoint(const struct gsb_rt_driver *cu, const char *name, void **fn,
				       unsigned version, unsigned long long flags,
				       CUdriverProcAddressQueryResult *status)
{
	CUresult result;

	if (!flags && cu == &gsb_rt_drivers[GSB_RT_PER_THREAD])
		flags = CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	result = gsb_rt_driver_find(name, fn, (int)version, flags, status);
	return gsb_rt_error(!result && !*fn && !status ? CUDA_ERROR_NOT_FOUND : result);
}

/* ---- peers ---- */

cudaError_t rt_cudaDeviceEnablePeerAccess(int peer, unsigned flags)
{
	cudaError_t error = flags ? cudaErrorInvalidValue : gsb_rt_check_device(peer);

	return error ? error : cudaErrorPeerAccessUnsupported;
}

cudaError_t rt_cudaDeviceDisablePeerAccess(int peer)
{
	cudaError_t error = gsb_rt_check_device(peer);

	return error ? error : cudaErrorPeerAccessNotEnabled;
}
