/*
 * nvrtc.c - what a program gets from NVRTC as a cubin is PTX: an emulated device has no use for machine code.
 *
 * NVRTC makes PTX on its way to a cubin, and gives both. Where it made no cubin (a virtual architecture, LTO-IR) there
 * is none here, either.
 */
#include <stddef.h>

#include "base/compiler.h"
#include "toolkit/genuine.h"

#define NVRTC_ERROR_INTERNAL_ERROR 11

typedef int size_fn(void *program, size_t *size);
typedef int get_fn(void *program, char *to);

GSB_EXPORT int nvrtcGetCUBINSize(void *program, size_t *size);
GSB_EXPORT int nvrtcGetCUBIN(void *program, char *to);

static void *genuine(const char *name)
{
	return gsb_toolkit_genuine("libnvrtc", name);
}

int nvrtcGetCUBINSize(void *program, size_t *size)
{
	size_fn *cubin_size = (size_fn *)genuine("nvrtcGetCUBINSize");
	size_fn *ptx_size = (size_fn *)genuine("nvrtcGetPTXSize");
	int result;

	if (!cubin_size || !ptx_size)
		return NVRTC_ERROR_INTERNAL_ERROR;
	result = cubin_size(program, size);
	return result || !*size ? result : ptx_size(program, size);
}

int nvrtcGetCUBIN(void *program, char *to)
{
	size_fn *cubin_size = (size_fn *)genuine("nvrtcGetCUBINSize");
	get_fn *get_cubin = (get_fn *)genuine("nvrtcGetCUBIN");
	get_fn *get_ptx = (get_fn *)genuine("nvrtcGetPTX");
	size_t size;

	if (!cubin_size || !get_cubin || !get_ptx)
		return NVRTC_ERROR_INTERNAL_ERROR;
	if (cubin_size(program, &size) || !size)
		return get_cubin(program, to);
	return get_ptx(program, to);
}
