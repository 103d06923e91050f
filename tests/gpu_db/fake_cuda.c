/*
 * fake_cuda.c - a libcuda.so.1 without a device, for the error messages of gpu_db.
 *
 * It exports the names of cu.def, so it is a driver as far as dlsym() can tell. Every call succeeds
 * and does nothing, so the caller counts no device; FAKE_CUDA in the environment names a call that
 * fails, with an error that has no name either. With FAKE_OLD defined it lacks one call.
 */
#include <stdlib.h>
#include <string.h>

#include "examples/gpu_db/cu.h"

#define CUDA_ERROR_OUT_OF_MEMORY 2

static CUresult outcome(const char *call)
{
	const char *failing = getenv("FAKE_CUDA");

	return failing && strcmp(failing, call) == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}

#ifdef FAKE_OLD
#define cuLaunchHostFunc cuLaunchSomethingElse
#endif

#undef CU
#define CU(name, parameters)                                             \
	__attribute__((visibility("default"))) CUresult name parameters; \
	CUresult name parameters                                         \
	{                                                                \
		return outcome(#name);                                   \
	}
#include "examples/gpu_db/cu.def"
