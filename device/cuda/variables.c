/*
 * variables.c - see variables.h.
 */
#include "device/cuda/variables.h"

#include <stdlib.h>
#include <string.h>

struct variable {
	CUdeviceptr addr;
	size_t size;
	uint8_t *first; /* what was in it; in bytes */
};

struct cuda_variables {
	unsigned n;
	uint8_t *bytes;
	struct variable v[];
};

static unsigned count(const char *names)
{
	unsigned n = 0;

	for (; *names; names += strlen(names) + 1)
		n++;
	return n;
}

/* Where they lie. */
static CUresult find(struct cuda_device *dev, CUlibrary library, const char *names, uint64_t bytes,
		     struct cuda_variables *v)
{
	uint64_t at = 0;
	CUresult result;

	for (; *names; names += strlen(names) + 1) {
		struct variable *one = &v->v[v->n++];

		result = dev->cu.cuLibraryGetGlobal(&one->addr, &one->size, library, names);
		if (result)
			return result;
		if (one->size > bytes - at)
			return CUDA_ERROR_NOT_FOUND; /* it is not what the text calls so */
		one->first = v->bytes + at;
		at += one->size;
	}
	return CUDA_SUCCESS;
}

static CUdeviceptr host(const uint8_t *bytes)
{
	return (CUdeviceptr)(uintptr_t)bytes;
}

static CUresult read_all(struct cuda_device *dev, const struct cuda_variables *v)
{
	CUresult result = CUDA_SUCCESS, end;

	for (unsigned i = 0; !result && i < v->n; i++)
		result = dev->cu.cuMemcpyAsync(host(v->v[i].first), v->v[i].addr, v->v[i].size,
					       dev->code_stream);
	end = dev->cu.cuStreamSynchronize(dev->code_stream);
	return result ? result : end;
}

static struct cuda_variables *create(const char *names, uint64_t bytes)
{
	struct cuda_variables *v = calloc(1, sizeof(*v) + count(names) * sizeof(v->v[0]));

	if (!v)
		return NULL;
	v->bytes = malloc(bytes ? bytes : 1);
	if (v->bytes)
		return v;
	free(v);
	return NULL;
}

CUresult cuda_variables_save(struct cuda_device *dev, CUlibrary library, const char *names,
			     uint64_t bytes, struct cuda_variables **out)
{
	struct cuda_variables *v = NULL;
	CUresult result;

	*out = NULL;
	if (bytes > CUDA_VARIABLES_MAX_BYTES)
		return CUDA_SUCCESS;
	v = create(names, bytes);
	if (!v)
		return CUDA_ERROR_OUT_OF_MEMORY;
	result = find(dev, library, names, bytes, v);
	if (!result)
		result = read_all(dev, v);
	if (!result)
		*out = v;
	else
		cuda_variables_free(v);
	return result == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : result;
}

int cuda_variables_restore(struct cuda_device *dev, const struct cuda_variables *v)
{
	CUresult result = CUDA_SUCCESS, end;

	for (unsigned i = 0; !result && i < v->n; i++)
		result = dev->cu.cuMemcpyAsync(v->v[i].addr, host(v->v[i].first), v->v[i].size,
					       dev->code_stream);
	end = dev->cu.cuStreamSynchronize(dev->code_stream);
	return cuda_note(dev, result ? result : end) ? -EIO : 0;
}

void cuda_variables_free(struct cuda_variables *v)
{
	if (!v)
		return;
	free(v->bytes);
	free(v);
}
