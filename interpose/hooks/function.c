/*
 * hooks/function.c - functions and kernels: attributes, parameters, occupancy. All but the last is answered
 * from what came with the function.
 */
#include "interpose/cu/ctx.h"
#include "interpose/hooks/hooks.h"
#include "interpose/cu/library.h"
#include "interpose/cu/module.h"
#include "interpose/core/post.h"

#define CLUSTER_POLICY_MAX 2 /* CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING */

/* A function, as a call found it; another thread may unload its module at any time. */
struct found {
	const struct gsb_cu_function *f;
	uint64_t handle;
};

/* The function that a handle of either kind stands for where the caller is. */
static CUresult find_here(const void *handle, struct found *out)
{
	CUresult result = gsb_cu_function_here((uint64_t)handle, &out->handle);

	if (result)
		return result;
	out->f = gsb_cu_function_get(out->handle);
	return out->f ? gsb_cu_error_of(out->f) : CUDA_ERROR_INVALID_HANDLE;
}

static CUresult find_kernel(CUkernel kernel, const struct gsb_cu_function **out)
{
	*out = gsb_cu_function_get((uint64_t)kernel);
	return *out && gsb_cu_function_is_kernel(*out) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- attributes ---- */

static CUresult get_attribute(int *value, CUfunction_attribute attr, const void *handle)
{
	struct found here;
	CUresult result = value && attr < GSB_N_FUNCTION_ATTRS ? find_here(handle, &here)
							       : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*value = gsb_cu_function_attr(here.f, attr);
	return result;
}

CUresult hook_cuFuncGetAttribute(int *value, CUfunction_attribute attr, CUfunction fn)
{
	return get_attribute(value, attr, fn);
}

CUresult hook_cuKernelGetAttribute(int *value, CUfunction_attribute attr, CUkernel kernel,
				   CUdevice dev)
{
	return dev ? CUDA_ERROR_INVALID_DEVICE : get_attribute(value, attr, kernel);
}

/* A cluster that a kernel was compiled for stays. */
static bool is_fixed(const struct gsb_cu_function *f, CUfunction_attribute attr)
{
	return attr >= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH &&
	       attr <= CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH &&
	       gsb_cu_function_attr(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH) &&
	       !f->sets_cluster;
}

/* Whether width, height and depth fit each other is looked at when it is launched. */
static CUresult check_cluster_setting(const struct gsb_cu_function *f, CUfunction_attribute attr,
				      int value)
{
	return value < 0 || (is_fixed(f, attr) && value != gsb_cu_function_attr(f, attr))
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

/* Whether the value can be set at all, as the driver would answer. */
static CUresult check_setting(const struct gsb_cu_function *f, CUfunction_attribute attr, int value)
{
	int most = gsb_proc.device.attrs[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN];

	switch (attr) {
	case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
		most -= gsb_cu_function_attr(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
		return value >= 0 && value <= most ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
		return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
	case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: return check_cluster_setting(f, attr, value);
	case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
		return value == 0 || value == 1 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
		return value >= 0 && value <= CLUSTER_POLICY_MAX ? CUDA_SUCCESS
								 : CUDA_ERROR_INVALID_VALUE;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

static CUresult set_attribute(const void *handle, CUfunction_attribute attr, int value)
{
	struct gsb_cu_function *k = gsb_cu_function_get((uint64_t)handle);
	struct found here;
	CUresult result = k ? find_here(handle, &here) : CUDA_ERROR_INVALID_HANDLE;

	if (!result)
		result = check_setting(here.f, attr, value);
	if (result || is_fixed(here.f, attr))
		return result;
	if (gsb_cu_function_is_kernel(k)) {
		k->set[attr] = value;
		k->is_set[attr] = true;
	}
	return gsb_cu_function_set(here.handle, attr, value);
}

CUresult hook_cuFuncSetAttribute(CUfunction fn, CUfunction_attribute attr, int value)
{
	return set_attribute(fn, attr, value);
}

CUresult hook_cuKernelSetAttribute(CUfunction_attribute attr, int value, CUkernel kernel,
				   CUdevice dev)
{
	return dev ? CUDA_ERROR_INVALID_DEVICE : set_attribute(kernel, attr, value);
}

/* A preference, which the driver may ignore as well. */
CUresult hook_cuFuncSetCacheConfig(CUfunction fn, CUfunc_cache config)
{
	if (config > CU_FUNC_CACHE_PREFER_EQUAL)
		return CUDA_ERROR_INVALID_VALUE;
	return gsb_cu_function_get((uint64_t)fn) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult hook_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
	return dev ? CUDA_ERROR_INVALID_DEVICE
		   : hook_cuFuncSetCacheConfig((CUfunction)kernel, config);
}

CUresult hook_cuFuncSetSharedMemConfig(CUfunction fn, CUsharedconfig config)
{
	if (config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
		return CUDA_ERROR_INVALID_VALUE;
	return gsb_cu_function_get((uint64_t)fn) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* ---- what they are ---- */

CUresult hook_cuFuncGetModule(CUmodule *mod, CUfunction fn)
{
	struct found here;
	CUresult result = mod ? find_here(fn, &here) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*mod = (CUmodule)gsb_object_parent(here.f);
	return result;
}

CUresult hook_cuFuncGetName(const char **name, CUfunction fn)
{
	const struct gsb_cu_function *f = gsb_cu_function_get((uint64_t)fn);

	if (!name || !fn)
		return CUDA_ERROR_INVALID_VALUE;
	if (!f)
		return CUDA_ERROR_INVALID_HANDLE;
	*name = f->name;
	return CUDA_SUCCESS;
}

CUresult hook_cuKernelGetName(const char **name, CUkernel kernel)
{
	return hook_cuFuncGetName(name, (CUfunction)kernel);
}

CUresult hook_cuKernelGetFunction(CUfunction *fn, CUkernel kernel)
{
	const struct gsb_cu_function *k;
	uint64_t handle;
	CUresult result = fn ? find_kernel(kernel, &k) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = gsb_cu_function_here((uint64_t)kernel, &handle);
	if (!result)
		*fn = (CUfunction)handle;
	return result;
}

CUresult hook_cuKernelGetLibrary(CUlibrary *lib, CUkernel kernel)
{
	const struct gsb_cu_function *k;
	CUresult result = lib ? find_kernel(kernel, &k) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*lib = (CUlibrary)gsb_object_parent(k);
	return result;
}

static CUresult param_info(const void *handle, size_t i, size_t *offset, size_t *size)
{
	struct found here;
	CUresult result = offset ? find_here(handle, &here) : CUDA_ERROR_INVALID_VALUE;

	if (!result && i >= here.f->info->n_params)
		result = CUDA_ERROR_INVALID_VALUE;
	if (result)
		return result;
	*offset = here.f->info->params[i].offset;
	if (size)
		*size = here.f->info->params[i].size;
	return CUDA_SUCCESS;
}

CUresult hook_cuFuncGetParamInfo(CUfunction fn, size_t i, size_t *offset, size_t *size)
{
	return param_info(fn, i, offset, size);
}

CUresult hook_cuKernelGetParamInfo(CUkernel kernel, size_t i, size_t *offset, size_t *size)
{
	return param_info(kernel, i, offset, size);
}

CUresult hook_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction fn)
{
	struct found here;
	CUresult result = state ? find_here(fn, &here) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*state = here.f->is_ready ? CU_FUNCTION_LOADING_STATE_LOADED
					  : CU_FUNCTION_LOADING_STATE_UNLOADED;
	return result;
}

CUresult hook_cuFuncLoad(CUfunction fn)
{
	struct found here;
	CUresult result = find_here(fn, &here);

	return result || here.f->is_ready ? result : gsb_cu_function_prepare(here.handle);
}

/* ---- occupancy: the engine's device answers, because the answer is the device's ---- */

static CUresult ask_about(const struct gsb_rec_occupancy *body, uint64_t *out)
{
	struct gsb_reply_number reply;
	CUresult result =
		gsb_call_into(&(struct gsb_call){.type = GSB_REC_OCCUPANCY,
						 .guard = gsb_cu_function_guard(body->function),
						 .body = body,
						 .body_bytes = sizeof(*body)},
			      &reply, sizeof(reply));

	if (!result)
		*out = reply.number;
	return result;
}

static CUresult ask(uint64_t function, uint32_t what, uint32_t block, uint64_t smem, uint64_t *out)
{
	const struct gsb_rec_occupancy body = {
		.function = function,
		.smem = smem,
		.block = block,
		.what = what,
	};

	return ask_about(&body, out);
}

CUresult hook_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction fn,
								   int block_size, size_t smem,
								   unsigned flags)
{
	struct found here;
	uint64_t n = 0;
	CUresult result = blocks && block_size > 0 && flags <= 1 ? find_here(fn, &here)
								 : CUDA_ERROR_INVALID_VALUE;

	if (!result &&
	    block_size <= gsb_proc.device.attrs[CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK])
		result = ask(here.handle, GSB_OCC_BLOCKS_PER_SM, (uint32_t)block_size, smem, &n);
	if (!result)
		*blocks = (int)n; /* a block that is too large: none fits */
	return result;
}

CUresult hook_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction fn, int blocks,
						      int block_size)
{
	struct found here;
	uint64_t n;
	CUresult result = bytes && blocks > 0 && block_size > 0 ? find_here(fn, &here)
								: CUDA_ERROR_INVALID_VALUE;

	if (!result)
		result = ask(here.handle, GSB_OCC_AVAILABLE_SMEM, (uint32_t)block_size,
			     (uint64_t)blocks, &n);
	if (!result)
		*bytes = n;
	return result;
}

/* Largest block, in whole warps, that keeps the most threads resident; larger first, so that ties go to it. */
CUresult hook_cuOccupancyMaxPotentialBlockSizeWithFlags(int *grid, int *block,
							const struct gsb_block_search *search)
{
	int limit, warp = gsb_proc.device.attrs[CU_DEVICE_ATTRIBUTE_WARP_SIZE], best = 0, n = 0;
	struct found here;
	CUresult result = grid && block ? find_here(search->fn, &here) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	*grid = *block = 0;
	limit = gsb_cu_function_attr(here.f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	if (search->limit > 0 && search->limit < limit)
		limit = search->limit;
	for (int size = (limit + warp - 1) / warp * warp; size > 0; size -= warp) {
		int threads = size < limit ? size : limit;
		size_t smem = search->smem_of ? search->smem_of(threads) : search->smem;

		result = hook_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
			&n, search->fn, threads, smem, search->flags);
		if (result)
			return result;
		if (n * threads > best) {
			best = n * threads;
			*block = threads;
			*grid = n * gsb_proc.device.attrs[CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT];
		}
	}
	return CUDA_SUCCESS; /* none fits: blocks of no threads, as a driver answers */
}

/* ---- clusters ---- */

static CUresult find_cluster(const CUlaunchConfig *config, uint32_t *flags)
{
	CUresult result = CUDA_SUCCESS;

	if (config->numAttrs && !config->attrs)
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; !result && i < config->numAttrs; i++)
		if (config->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			result = gsb_read_cluster(&config->attrs[i], flags);
	return result;
}

/* The device counts with the function itself: it has to be there. */
static CUresult find_ready(CUfunction fn, const CUlaunchConfig *config, struct found *out,
			   struct gsb_rec_occupancy *body)
{
	uint64_t n_threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
	CUresult result = find_here(fn, out);

	if (!result &&
	    (!n_threads || n_threads > (uint32_t)gsb_cu_function_attr(
					       out->f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)))
		result = CUDA_ERROR_INVALID_VALUE;
	if (!result && !out->f->is_ready)
		result = gsb_cu_function_prepare(out->handle);
	*body = (struct gsb_rec_occupancy){.function = out->handle,
					   .smem = config->sharedMemBytes,
					   .block = (uint32_t)n_threads};
	return result;
}

static CUresult ask_of_clusters(uint32_t what, uint64_t *count, CUfunction fn,
				const CUlaunchConfig *config)
{
	const uint32_t grid[] = {config->gridDimX, config->gridDimY, config->gridDimZ};
	struct gsb_rec_occupancy body;
	struct found here = {0};
	uint32_t flags = 0;
	CUresult result = find_cluster(config, &flags);

	if (!result)
		result = find_ready(fn, config, &here, &body);
	if (!result)
		result = gsb_check_cluster(flags, grid, here.f);
	if (result)
		return result;
	body.what = what;
	for (int i = 0; i < 3; i++)
		body.cluster[i] = gsb_launch_blocks(flags, i);
	result = ask_about(&body, count);
	if (result || what == GSB_OCC_CLUSTERS)
		return result;
	/* The device says what a function can be allowed: what this one is allowed may be less. */
	if (*count > gsb_largest_cluster(here.f))
		*count = gsb_largest_cluster(here.f);
	return CUDA_SUCCESS;
}

CUresult hook_cuOccupancyMaxActiveClusters(int *n, CUfunction fn, const CUlaunchConfig *config)
{
	uint64_t count;
	CUresult result = n && config ? ask_of_clusters(GSB_OCC_CLUSTERS, &count, fn, config)
				      : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*n = (int)count;
	return result;
}

CUresult hook_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction fn,
						 const CUlaunchConfig *config)
{
	uint64_t count;
	CUresult result = size && config ? ask_of_clusters(GSB_OCC_CLUSTER_SIZE, &count, fn, config)
					 : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*size = (int)count;
	return result;
}
