/*
 * hooks/setup.c - launches in pieces, as before CUDA 4.0: a function's block, shared memory and parameters are set one
 * by one and stay for its launches. PyCUDA still sets the block so.
 *
 * A function that nobody sets up takes nothing. The interface is for one thread a function; the lock keeps the list whole,
 * and a launch works on a copy.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "interpose/cu/function.h"
#include "interpose/hooks/hooks.h"

#define MAX_PARAMS_BYTES 4096 /* as the driver has it for this interface */

struct setup {
	struct setup *next;
	uint64_t function;
	uint32_t block[3], smem;
	size_t n; /* bytes of parameters that a launch passes */
	uint8_t params[MAX_PARAMS_BYTES];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct setup *setups;

/* Handles are never given twice: what is stale stays so. */
static void drop_stale(void)
{
	for (struct setup **at = &setups, *s; (s = *at);) {
		if (gsb_cu_function_get(s->function)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		free(s);
	}
}

static struct setup *make(uint64_t function)
{
	struct setup *s = calloc(1, sizeof(*s));

	drop_stale();
	if (!s)
		return NULL;
	s->function = function;
	s->block[0] = s->block[1] = s->block[2] = 1;
	s->next = setups;
	setups = s;
	return s;
}

/* Under the lock, which is held on success. */
static CUresult begin(CUfunction fn, struct setup **out)
{
	struct setup *s;

	if (!gsb_cu_function_get((uint64_t)fn))
		return CUDA_ERROR_INVALID_HANDLE;
	pthread_mutex_lock(&lock);
	for (s = setups; s && s->function != (uint64_t)fn;)
		s = s->next;
	if (!s)
		s = make((uint64_t)fn);
	if (!s)
		pthread_mutex_unlock(&lock);
	*out = s;
	return s ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult hook_cuFuncSetBlockShape(CUfunction fn, int x, int y, int z)
{
	struct setup *s;
	CUresult result = x > 0 && y > 0 && z > 0 ? begin(fn, &s) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	s->block[0] = (uint32_t)x;
	s->block[1] = (uint32_t)y;
	s->block[2] = (uint32_t)z;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult hook_cuFuncSetSharedSize(CUfunction fn, unsigned bytes)
{
	struct setup *s;
	CUresult result = begin(fn, &s);

	if (result)
		return result;
	s->smem = bytes;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult hook_cuParamSetSize(CUfunction fn, unsigned bytes)
{
	struct setup *s;
	CUresult result = bytes <= MAX_PARAMS_BYTES ? begin(fn, &s) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	s->n = bytes;
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult hook_cuParamSetv(CUfunction fn, int offset, const void *bytes, unsigned n)
{
	struct setup *s;
	CUresult result;

	if (!bytes || offset < 0 || n > MAX_PARAMS_BYTES || (unsigned)offset > MAX_PARAMS_BYTES - n)
		return CUDA_ERROR_INVALID_VALUE;
	result = begin(fn, &s);
	if (result)
		return result;
	memcpy(s->params + offset, bytes, n);
	pthread_mutex_unlock(&lock);
	return CUDA_SUCCESS;
}

CUresult hook_cuLaunchGrid(CUfunction fn, int width, int height, CUstream stream)
{
	struct setup *s, copy;
	CUresult result = width > 0 && height > 0 ? begin(fn, &s) : CUDA_ERROR_INVALID_VALUE;
	void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, copy.params, CU_LAUNCH_PARAM_BUFFER_SIZE,
			 &copy.n, CU_LAUNCH_PARAM_END};

	if (result)
		return result;
	copy = *s;
	pthread_mutex_unlock(&lock);
	return hook_cuLaunchKernel(&(struct gsb_launch){
		.fn = fn,
		.grid = {(uint32_t)width, (uint32_t)height, 1},
		.block = {copy.block[0], copy.block[1], copy.block[2]},
		.smem = copy.smem,
		.stream = stream,
		.extra = extra,
	});
}
