/*
 * link.c - see link.h.
 */
#include "device/cuda/link.h"

#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/ptx.h"

/* One module of the text. The driver wants a NUL behind it, and counts that. */
static CUresult add(struct cuda_device *dev, CUlinkState state, const char *text, size_t n)
{
	char *copy = strndup(text, n);
	CUresult result;

	if (!copy)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = dev->cu.cuLinkAddData_v2(state, CU_JIT_INPUT_PTX, copy, n + 1, "", 0, NULL, NULL);
	free(copy);
	return result;
}

static CUresult add_all(struct cuda_device *dev, CUlinkState state, const char *text)
{
	CUresult result = CUDA_SUCCESS;

	while (!result && text) {
		size_t n = strlen(text);
		const char *next = gsb_ptx_next_unit(text, n);

		result = add(dev, state, text, next ? (size_t)(next - text) : n);
		text = next;
	}
	return result;
}

/* The driver copies what it is given. */
static CUresult add_objects(struct cuda_device *dev, CUlinkState state,
			    const struct cuda_code *code)
{
	CUresult result = CUDA_SUCCESS;

	for (size_t i = 0; !result && i < code->n_objects; i++)
		result = dev->cu.cuLinkAddData_v2(state, CU_JIT_INPUT_CUBIN, code->objects[i].bytes,
						  code->objects[i].len, "", 0, NULL, NULL);
	return result;
}

/* What the linker has made is its own, and goes with it. */
static CUresult complete(struct cuda_device *dev, CUlinkState state, void **cubin, size_t *size)
{
	void *made;
	CUresult result = dev->cu.cuLinkComplete(state, &made, size);

	if (result)
		return result;
	*cubin = malloc(*size);
	if (!*cubin)
		return CUDA_ERROR_OUT_OF_MEMORY;
	memcpy(*cubin, made, *size);
	return CUDA_SUCCESS;
}

CUresult cuda_link(struct cuda_device *dev, const struct cuda_code *code, void **cubin,
		   size_t *size, char *log, size_t log_size)
{
	CUjit_option options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
	void *values[] = {log, (void *)(uintptr_t)log_size};
	CUlinkState state;
	CUresult result;

	result = dev->cu.cuLinkCreate_v2(GSB_ARRAY_LEN(options), options, values, &state);
	if (result)
		return result;
	result = add_all(dev, state, code->bytes);
	if (!result)
		result = add_objects(dev, state, code);
	if (!result)
		result = complete(dev, state, cubin, size);
	dev->cu.cuLinkDestroy(state);
	return result;
}
