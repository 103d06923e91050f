/*
 * hooks/cluster.c - clusters of blocks: what launches ask for, and what kernels may be in.
 */
#include <stdatomic.h>

#include "base/log.h"
#include "interpose/core/post.h"
#include "interpose/cu/library.h"
#include "interpose/hooks/hooks.h"

#define PORTABLE_CLUSTER 8 /* blocks, unless the function allows more */

/* ---- of a launch ---- */

/* A block is a cluster by itself; larger ones are refused where the device has none, by name the first time. */
static CUresult refuse_clusters(unsigned x, unsigned y, unsigned z)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		gsb_log_say(
			"a launch in clusters of %ux%ux%u blocks is not carried on this device: "
			"it returns CUDA_ERROR_NOT_SUPPORTED; launch without cluster "
			"dimensions, or with 1",
			x, y, z);
	return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult gsb_read_cluster(const CUlaunchAttribute *a, uint32_t *flags)
{
	unsigned x = a->value.clusterDim.x, y = a->value.clusterDim.y, z = a->value.clusterDim.z;

	*flags &= ~GSB_LAUNCH_IN_CLUSTERS;
	if (!gsb_proc.device.attrs[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH])
		return x <= 1 && y <= 1 && z <= 1 ? CUDA_SUCCESS : refuse_clusters(x, y, z);
	if (x - 1 > UINT8_MAX - 1 || y - 1 > UINT8_MAX - 1 || z - 1 > UINT8_MAX - 1)
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	*flags |= GSB_LAUNCH_CLUSTER(x, y, z);
	return CUDA_SUCCESS;
}

/* ---- of a kernel ---- */

/* What a kernel has that was compiled for clusters of one size; 0: it was not. */
static uint32_t required_blocks(const struct gsb_cu_function *f, int i)
{
	return (uint32_t)gsb_cu_function_attr(
		f, (CUfunction_attribute)(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i));
}

/* Of a launch that says nothing of clusters. nvcc makes kernels that have to be told of those whose size it knows, too. */
static CUresult check_required(const uint32_t grid[3], const struct gsb_cu_function *f)
{
	if (gsb_cu_function_attr(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET) &&
	    !required_blocks(f, 0))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	for (int i = 0; i < 3; i++) {
		uint32_t n = required_blocks(f, i);

		if (n && grid[i] % n)
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	}
	return CUDA_SUCCESS;
}

uint32_t gsb_cluster_size(uint32_t flags)
{
	return gsb_launch_blocks(flags, 0) * gsb_launch_blocks(flags, 1) *
	       gsb_launch_blocks(flags, 2);
}

uint32_t gsb_largest_cluster(const struct gsb_cu_function *f)
{
	return gsb_cu_function_attr(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED)
		       ? GSB_CLUSTER_MAX
		       : PORTABLE_CLUSTER;
}

CUresult gsb_check_cluster(uint32_t flags, const uint32_t grid[3], const struct gsb_cu_function *f)
{
	bool may_be_large =
		gsb_cu_function_attr(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED);

	if (!(flags & GSB_LAUNCH_IN_CLUSTERS))
		return check_required(grid, f);
	for (int i = 0; i < 3; i++) {
		uint32_t n = gsb_launch_blocks(flags, i), required = required_blocks(f, i);

		if (!n || grid[i] % n || (required && n != required))
			return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	}
	return may_be_large || gsb_cluster_size(flags) <= PORTABLE_CLUSTER
		       ? CUDA_SUCCESS
		       : CUDA_ERROR_INVALID_CLUSTER_SIZE;
}

CUresult gsb_tell_cluster(const struct gsb_launch *l, const struct gsb_cu_function *f,
			  struct gsb_launch *told)
{
	const CUlaunchAttribute a = {.value.clusterDim = {required_blocks(f, 0),
							  required_blocks(f, 1),
							  required_blocks(f, 2)}};

	*told = *l;
	return gsb_read_cluster(&a, &told->flags);
}
