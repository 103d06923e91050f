/*
 * driver.c - see driver.h.
 */
#include "device/cuda/driver.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/err.h"
#include "base/genuine.h"
#include "device/ops.h"

#define TRIED_BYTES	512
#define MAX_CONNECTIONS 32

static const struct {
	const char *name;
	size_t offset;
} functions[] = {
#define GSB_DRIVER(name, parameters, threads) {#name, offsetof(struct cuda_driver, name)},
#include "device/cuda/driver.def"
};

const char *cuda_name(CUresult result)
{
	const char *name = gsb_cuda_error_name(result);

	return name ? name : "an error without a name";
}

bool cuda_is_fatal(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_DEVICE_UNAVAILABLE:
	case CUDA_ERROR_ECC_UNCORRECTABLE:
	case CUDA_ERROR_NVLINK_UNCORRECTABLE:
	case CUDA_ERROR_CONTAINED:
	case CUDA_ERROR_ILLEGAL_ADDRESS:
	case CUDA_ERROR_LAUNCH_TIMEOUT:
	case CUDA_ERROR_CONTEXT_IS_DESTROYED:
	case CUDA_ERROR_ASSERT:
	case CUDA_ERROR_HARDWARE_STACK_ERROR:
	case CUDA_ERROR_ILLEGAL_INSTRUCTION:
	case CUDA_ERROR_MISALIGNED_ADDRESS:
	case CUDA_ERROR_INVALID_ADDRESS_SPACE:
	case CUDA_ERROR_INVALID_PC:
	case CUDA_ERROR_LAUNCH_FAILED:
	case CUDA_ERROR_TENSOR_MEMORY_LEAK:
	case CUDA_ERROR_MPS_RPC_FAILURE:
	case CUDA_ERROR_MPS_CLIENT_TERMINATED:
	case CUDA_ERROR_EXTERNAL_DEVICE:
	case CUDA_ERROR_UNKNOWN: return true;
	default: return false;
	}
}

static int find_functions(struct cuda_driver *d, void *library, char *err, size_t err_size)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(functions); i++) {
		void *f = dlsym(library, functions[i].name);

		if (!f) {
			snprintf(err, err_size,
				 "NVIDIA's driver here has no %s: it is too old; one of CUDA 12.5 "
				 "or later is needed",
				 functions[i].name);
			return -ENODEV;
		}
		memcpy((char *)d + functions[i].offset, &f, sizeof(f));
	}
	return 0;
}

/* A server of MPS that ends with the fault of a client of its gives that to who comes as well. */
int cuda_no_start(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_OUT_OF_MEMORY:
	case CUDA_ERROR_MPS_SERVER_NOT_READY:
	case CUDA_ERROR_MPS_MAX_CLIENTS_REACHED:
	case CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED: return -EBUSY;
	default:
		return getenv("CUDA_MPS_PIPE_DIRECTORY") && cuda_is_fatal(result) ? -EBUSY
										  : -ENODEV;
	}
}

/*
 * By default streams share 8 connections to the GPU, and what stands behind a long kernel of one keeps others waiting. The GPU, and
 * a daemon of MPS, have so many for all processes together: one that serves a single tenant does with what that would have alone.
 */
static void set_environment(const struct gsb_device_params *p)
{
	char bytes[32], number[16];

	if (!p->single) {
		snprintf(number, sizeof(number), "%u",
			 p->n_connections ? p->n_connections : MAX_CONNECTIONS);
		setenv("CUDA_DEVICE_MAX_CONNECTIONS", number, 0);
	}
	if (!p->code_folder)
		return;
	snprintf(bytes, sizeof(bytes), "%" PRIu64,
		 p->code_folder_bytes < UINT32_MAX ? p->code_folder_bytes : UINT32_MAX);
	setenv("CUDA_CACHE_PATH", p->code_folder, 1);
	setenv("CUDA_CACHE_MAXSIZE", bytes, 1);
}

int cuda_driver_open(struct cuda_driver *d, const struct gsb_device_params *p, char *err,
		     size_t err_size)
{
	char tried[TRIED_BYTES];
	void *library = gsb_genuine_open(NULL, tried, sizeof(tried));
	CUresult result;

	if (!library) {
		snprintf(err, err_size,
			 "NVIDIA's driver is not here: install it, or choose emu:h200 (tried %s)",
			 tried);
		return -ENODEV;
	}
	if (find_functions(d, library, err, err_size))
		return -ENODEV;
	set_environment(p);
	result = d->cuInit(0);
	if (result) {
		snprintf(err, err_size, "NVIDIA's driver does not start: cuInit says %s",
			 cuda_name(result));
		return cuda_no_start(result);
	}
	return 0;
}

int cuda_errno(CUresult result)
{
	switch (result) {
	case CUDA_SUCCESS: return 0;
	case CUDA_ERROR_OUT_OF_MEMORY: return -ENOMEM;
	case CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES:
	case CUDA_ERROR_INVALID_CLUSTER_SIZE:
	case CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE: return -E2BIG;
	case CUDA_ERROR_NOT_SUPPORTED: return -ENOTSUP;
	default: return cuda_is_fatal(result) ? -EIO : -EINVAL;
	}
}
