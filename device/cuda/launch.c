/*
 * launch.c - see launch.h.
 *
 * Most launches are the plain call; what says more than geometry, that blocks wait for each other or form clusters, is the
 * extended one. A cluster lies within one part of the chip, so how many fit the driver alone knows.
 */
#include "device/cuda/launch.h"

#include <string.h>

#include "device/cuda/module.h"

#define N_ATTRS		 2 /* cooperative, clusters */
#define PORTABLE_CLUSTER 8 /* blocks that each GPU with clusters takes in one */

/* CU_LAUNCH_PARAM_*: how parameters are given as one block. */
#define PARAM_END     ((void *)0)
#define PARAM_POINTER ((void *)1)
#define PARAM_SIZE    ((void *)2)

void **cuda_params_of(struct cuda_params *p, const struct gsb_cmd_launch *l)
{
	*p = (struct cuda_params){.size = l->function->params_bytes,
				  .extra = {PARAM_POINTER, (void *)(uintptr_t)l->params, PARAM_SIZE,
					    &p->size, PARAM_END}};
	return p->size ? p->extra : NULL;
}

/* ---- what a kernel has to be allowed first. All loads of an image may share the function: all it can have, then. ---- */

static int allow_smem(struct cuda_device *dev, struct gsb_function *f, uint32_t bytes)
{
	int fixed = 0,
	    most = dev->info.attrs[CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN];
	CUresult result;

	if (bytes <= (uint32_t)f->smem_max)
		return 0;
	dev->cu.cuKernelGetAttribute(&fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f->kernel,
				     dev->id);
	if (fixed > most || bytes > (uint32_t)(most - fixed))
		return -EINVAL;
	result = dev->cu.cuFuncSetAttribute(
		f->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, most - fixed);
	if (!result)
		f->smem_max = most - fixed;
	return cuda_refusal(dev, result);
}

static int allow_clusters(struct cuda_device *dev, struct gsb_function *f, uint32_t n_blocks)
{
	CUresult result;

	if (n_blocks <= PORTABLE_CLUSTER || f->has_large_clusters)
		return 0;
	result = dev->cu.cuFuncSetAttribute(f->function,
					    CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
	f->has_large_clusters = !result;
	return cuda_refusal(dev, result);
}

static int allow(struct cuda_device *dev, const struct gsb_cmd_launch *l)
{
	int err = allow_smem(dev, l->function, l->smem_bytes);

	return err ? err
		   : allow_clusters(dev, l->function,
				    (uint32_t)l->cluster[0] * l->cluster[1] * l->cluster[2]);
}

/* ---- launches ---- */

static CUresult launch_plain(struct cuda_device *dev, CUstream stream,
			     const struct gsb_cmd_launch *l)
{
	struct cuda_params params;

	return dev->cu.cuLaunchKernel(l->function->function, l->grid[0], l->grid[1], l->grid[2],
				      l->block[0], l->block[1], l->block[2], l->smem_bytes, stream,
				      NULL, cuda_params_of(&params, l));
}

static void fill_config(CUlaunchConfig *config, CUlaunchAttribute *attrs,
			const struct gsb_cmd_launch *l)
{
	*config = (CUlaunchConfig){
		.gridDimX = l->grid[0],
		.gridDimY = l->grid[1],
		.gridDimZ = l->grid[2],
		.blockDimX = l->block[0],
		.blockDimY = l->block[1],
		.blockDimZ = l->block[2],
		.sharedMemBytes = l->smem_bytes,
		.attrs = attrs,
	};
	if (l->cooperative)
		attrs[config->numAttrs++] = (CUlaunchAttribute){
			.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE, .value.cooperative = 1};
	if (l->cluster[0])
		attrs[config->numAttrs++] = (CUlaunchAttribute){
			.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION,
			.value.clusterDim = {l->cluster[0], l->cluster[1], l->cluster[2]}};
}

static CUresult launch_extended(struct cuda_device *dev, CUstream stream,
				const struct gsb_cmd_launch *l)
{
	CUlaunchAttribute attrs[N_ATTRS];
	CUlaunchConfig config;
	struct cuda_params params;

	fill_config(&config, attrs, l);
	config.hStream = stream;
	return dev->cu.cuLaunchKernelEx(&config, l->function->function, NULL,
					cuda_params_of(&params, l));
}

/* What it has taken once it takes again. */
static void note_taken(struct gsb_function *f, const struct gsb_cmd_launch *l)
{
	memcpy(f->taken.grid, l->grid, sizeof(l->grid));
	memcpy(f->taken.block, l->block, sizeof(l->block));
	f->taken.smem_bytes = l->smem_bytes;
}

int cuda_send_launch(struct cuda_device *dev, CUstream stream, const struct gsb_cmd_launch *l)
{
	int err;

	if (!l->function->function)
		return -ENOTSUP;
	if (l->params_bytes < l->function->params_bytes)
		return -EINVAL;
	err = allow(dev, l);
	if (err)
		return err;
	if (l->cooperative || l->cluster[0])
		return cuda_refusal(dev, launch_extended(dev, stream, l));
	err = cuda_refusal(dev, launch_plain(dev, stream, l));
	if (!err)
		note_taken(l->function, l);
	return err;
}

/* ---- how many clusters fit ---- */

/* Of a grid of one cluster. Large ones are allowed here: whether the tenant may have them is looked at in its library. */
static int begin_count(struct cuda_device *dev, const struct gsb_cmd_launch *l,
		       CUlaunchConfig *config, CUlaunchAttribute *attrs)
{
	struct gsb_cmd_launch one = *l;
	int err;

	if (!l->function->function)
		return -EAGAIN;
	for (int i = 0; i < 3; i++)
		one.grid[i] = l->cluster[i] ? l->cluster[i] : 1;
	fill_config(config, attrs, &one);
	err = allow_smem(dev, l->function, l->smem_bytes);
	return err ? err : allow_clusters(dev, l->function, GSB_CLUSTER_MAX);
}

int cuda_cluster_room(struct gsb_device *base, const struct gsb_cmd_launch *l, uint32_t *n)
{
	struct cuda_device *dev = to_cuda(base);
	CUlaunchAttribute attrs[N_ATTRS];
	CUlaunchConfig config;
	int count = 0, err = begin_count(dev, l, &config, attrs);

	if (!err)
		err = cuda_refusal(dev, dev->cu.cuOccupancyMaxActiveClusters(
						&count, l->function->function, &config));
	if (!err)
		*n = (uint32_t)count;
	return err;
}

int cuda_cluster_size(struct gsb_device *base, const struct gsb_cmd_launch *l, uint32_t *n)
{
	struct cuda_device *dev = to_cuda(base);
	CUlaunchAttribute attrs[N_ATTRS];
	CUlaunchConfig config;
	int count = 0, err = begin_count(dev, l, &config, attrs);

	if (!err)
		err = cuda_refusal(dev, dev->cu.cuOccupancyMaxPotentialClusterSize(
						&count, l->function->function, &config));
	if (!err)
		*n = (uint32_t)count;
	return err;
}
