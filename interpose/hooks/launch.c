/*
 * hooks/launch.c - kernel launches: checked here, posted, and forgotten.
 *
 * A launch that the driver would refuse is refused here with the driver's own code, before anything is
 * posted; what is posted can only fail on the device. This is the path that must stay short: a lookup of the
 * stream and of the function, compares, one lock, and the parameters copied straight into the ring.
 */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "interpose/cu/capture.h"
#include "interpose/cu/ctx.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"
#include "interpose/cu/library.h"
#include "interpose/core/post.h"
#include "interpose/cu/stream.h"

#define N_ATTRIBUTES 17 /* of launches, by CUlaunchAttributeID in CUDA 13.0 */

/* On the launch path, whoever else calls it. */
#define INLINE inline __attribute__((always_inline))

static int device_attr(CUdevice_attribute attr)
{
	return gsb_proc.device.attrs[attr];
}

/* ---- checks ---- */

/* 1 .. what the device allows; 0 wraps around and is refused as well. */
static INLINE bool in_range(uint32_t n, CUdevice_attribute most)
{
	return n - 1 < (uint32_t)device_attr(most);
}

static INLINE bool is_grid_ok(const uint32_t grid[3])
{
	return in_range(grid[0], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) &&
	       in_range(grid[1], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y) &&
	       in_range(grid[2], CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z);
}

static INLINE bool is_block_ok(const uint32_t block[3])
{
	return in_range(block[0], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X) &&
	       in_range(block[1], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) &&
	       in_range(block[2], CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z);
}

/* So many threads find registers on an SM, whose file is divided among four schedulers. */
static uint32_t threads_by_registers(const struct gsb_cu_function *f)
{
	uint32_t warp =
		((uint32_t)gsb_cu_function_attr(f, CU_FUNC_ATTRIBUTE_NUM_REGS) + 7) / 8 * 8 * 32;
	uint32_t file = (uint32_t)device_attr(CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK);

	return warp ? file / 4 / warp * 4 * 32 : UINT32_MAX;
}

/*
 * A kernel may have fewer threads than the device. Its launch bounds say so, and then the launch is as wrong as one that
 * no kernel may have; or its registers, and then resources are what lacks. A driver tells these apart, and programs do.
 */
static GSB_COLD CUresult too_many_threads(const struct gsb_cu_function *f, uint64_t n_threads)
{
	uint32_t most = (uint32_t)device_attr(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
	uint32_t bound = (uint32_t)gsb_cu_function_attr(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);

	if (n_threads > most || (bound < most && bound < threads_by_registers(f)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

static INLINE CUresult check_geometry(const struct gsb_launch *l, const struct gsb_cu_function *f)
{
	const uint32_t *need = f->info->reqntid;
	uint64_t n_threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];

	if (gsb_unlikely(!is_grid_ok(l->grid) || !is_block_ok(l->block)))
		return CUDA_ERROR_INVALID_VALUE;
	if (gsb_unlikely(need[0] && (l->block[0] != need[0] || l->block[1] != need[1] ||
				     l->block[2] != need[2])))
		return CUDA_ERROR_INVALID_VALUE;
	if (gsb_unlikely(n_threads > (uint32_t)gsb_cu_function_attr(
					     f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK)))
		return too_many_threads(f, n_threads);
	if (gsb_unlikely(l->smem > (uint32_t)gsb_cu_function_attr(
					   f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)))
		return CUDA_ERROR_INVALID_VALUE;
	return CUDA_SUCCESS;
}

/* All blocks of a cooperative grid must be resident at once, or its barriers would never open. */
static CUresult check_cooperative(const struct gsb_launch *l, uint64_t function)
{
	int blocks, threads = (int)(l->block[0] * l->block[1] * l->block[2]);
	CUresult result;

	if (!device_attr(CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH))
		return CUDA_ERROR_NOT_SUPPORTED;
	result = hook_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
		&blocks, (CUfunction)function, threads, l->smem, 0);
	if (result)
		return result;
	return (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] >
			       (uint64_t)blocks * (uint64_t)device_attr(
							  CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
		       ? CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE
		       : CUDA_SUCCESS;
}

/* ---- parameters ---- */

/* The list of `extra`: pairs of a tag and a value up to the end tag. */
static CUresult read_extra(void **extra, const struct gsb_function_info *info, const void **buffer)
{
	size_t size = 0;

	for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
		if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER)
			*buffer = extra[1];
		else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE && extra[1])
			size = *(const size_t *)extra[1];
		else
			return CUDA_ERROR_INVALID_VALUE;
	}
	return size < info->params_bytes || (info->params_bytes && !*buffer)
		       ? CUDA_ERROR_INVALID_VALUE
		       : CUDA_SUCCESS;
}

/* buffer: the parameters are there, laid out already; NULL: they are in l->params, one pointer each. */
static INLINE CUresult find_params(const struct gsb_launch *l, const struct gsb_function_info *info,
				   const void **buffer)
{
	*buffer = NULL;
	if (gsb_likely(l->params && !l->extra))
		return CUDA_SUCCESS;
	if (l->params && l->extra)
		return CUDA_ERROR_INVALID_VALUE;
	if (l->extra)
		return read_extra(l->extra, info, buffer);
	return info->n_params ? CUDA_ERROR_INVALID_VALUE : CUDA_SUCCESS;
}

static INLINE void pack(uint8_t *to, const struct gsb_function_info *info, void *const *from)
{
	const struct gsb_param *end = info->params + info->n_params;

	for (const struct gsb_param *p = info->params; p < end; p++, from++) {
		if (p->size == 8) /* most are; without a call for each */
			memcpy(to + p->offset, *from, 8);
		else if (p->size == 4)
			memcpy(to + p->offset, *from, 4);
		else
			memcpy(to + p->offset, *from, p->size);
	}
}

/* ---- the launch ---- */

/* What is launched: the function that a program's handle stands for in the stream's context. */
struct target {
	const struct gsb_cu_function *f;
	uint64_t handle;
};

static GSB_COLD CUresult wait_for(struct gsb_cu_stream_ref s, uint64_t number)
{
	return gsb_cu_stream_wait_for(&s, number);
}

/* Another thread may unload the function meanwhile. If it is there under the lock, it was all the time, and stays. */
static INLINE CUresult post_launch(const struct gsb_launch *l, struct target t,
				   const struct gsb_cu_stream_ref *s, const void *buffer)
{
	const struct gsb_function_info *info = t.f->info;
	struct gsb_rec_launch *body;
	struct gsb_post p;
	CUresult result = gsb_cu_stream_begin(s, &p, GSB_REC_LAUNCH,
					      (uint32_t)sizeof(*body) + info->params_bytes);

	if (gsb_unlikely(result))
		return result;
	if (gsb_unlikely(!gsb_object_is(t.f, t.handle))) {
		gsb_post_cancel();
		return CUDA_ERROR_INVALID_HANDLE;
	}
	body = p.body;
	*body = (struct gsb_rec_launch){
		.function = t.handle,
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.block = {l->block[0], l->block[1], l->block[2]},
		.smem_bytes = l->smem,
		.flags = l->flags,
		.params_bytes = info->params_bytes,
	};
	if (gsb_unlikely(buffer != NULL))
		memcpy(body + 1, buffer, info->params_bytes);
	else
		pack((uint8_t *)(body + 1), info, l->params);
	gsb_post_end(&p);
	return gsb_unlikely(gsb_proc.launch_blocking) ? wait_for(*s, p.number) : CUDA_SUCCESS;
}

/* Of a kernel of a library, or a function of another context. */
static GSB_COLD CUresult find_in(uint64_t wire, uint64_t handle, struct target *out)
{
	CUresult result = gsb_cu_function_in(handle, wire, &out->handle);

	if (result)
		return result;
	out->f = gsb_cu_function_get(out->handle);
	return out->f ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

/* Whether it was compiled for clusters, of one size or of any: both at once, for each launch asks. */
static uint64_t required_cluster(const struct gsb_cu_function *f)
{
	uint64_t both;

	static_assert(CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH ==
			      CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET + 1,
		      "side by side");
	memcpy(&both, &f->info->attrs[CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET], sizeof(both));
	return both;
}

/* *launch: from now on @told where the launch has to say more than it was asked to. */
static GSB_COLD CUresult check_flags(const struct gsb_launch **launch, struct target t,
				     struct gsb_launch *told)
{
	const struct gsb_launch *l = *launch;
	CUresult result = CUDA_SUCCESS;

	if (!(l->flags & GSB_LAUNCH_IN_CLUSTERS) && t.f->sets_cluster && required_cluster(t.f)) {
		result = gsb_tell_cluster(l, t.f, told);
		*launch = l = told;
	}
	if (!result)
		result = gsb_check_cluster(l->flags, l->grid, t.f);
	if (!result && gsb_cluster_size(l->flags) > GSB_CLUSTER_MAX)
		result = CUDA_ERROR_INVALID_CLUSTER_SIZE;
	if (!result && l->flags & GSB_LAUNCH_COOPERATIVE)
		result = check_cooperative(l, t.handle);
	return result;
}

static GSB_COLD CUresult failed(const struct gsb_launch *l, CUresult result)
{
	const char *name = gsb_cuda_error_name(result);
	char *kernel = gsb_cu_function_name((uint64_t)l->fn);

	gsb_log(GSB_LOG_DEBUG, "call",
		"a launch of %s, %ux%ux%u blocks of %ux%ux%u threads with %u bytes, flags %#x, returns %s",
		kernel ? kernel : "no function", l->grid[0], l->grid[1], l->grid[2], l->block[0],
		l->block[1], l->block[2], l->smem, l->flags,
		name ? name : "an error without a name");
	free(kernel);
	return result;
}

/* ---- launches that wait in a graph ---- */

static CUresult copy_params(const struct gsb_launch *l, const struct gsb_function_info *info,
			    const void *buffer, struct gsb_graph_kernel *k)
{
	if (gsb_graph_kernel_params(k, info->n_params, info->params_bytes, info->params))
		return CUDA_ERROR_OUT_OF_MEMORY;
	if (buffer)
		memcpy(gsb_graph_kernel_values(k), buffer, info->params_bytes);
	else
		pack(gsb_graph_kernel_values(k), info, l->params);
	return CUDA_SUCCESS;
}

static CUresult set_attr(struct gsb_graph_kernel *k, CUlaunchAttributeID id,
			 CUkernelNodeAttrValue value)
{
	return gsb_cu_graph_result(gsb_graph_kernel_set_attr(k, id, &value));
}

static CUkernelNodeAttrValue cluster_of(uint32_t flags)
{
	return (CUkernelNodeAttrValue){.clusterDim = {gsb_launch_blocks(flags, 0),
						      gsb_launch_blocks(flags, 1),
						      gsb_launch_blocks(flags, 2)}};
}

static CUresult fill_kernel(const struct gsb_launch *l, const struct gsb_cu_function *f,
			    const void *buffer, struct gsb_graph_kernel *k)
{
	CUresult result;

	*k = (struct gsb_graph_kernel){
		.func = l->fn,
		.grid = {l->grid[0], l->grid[1], l->grid[2]},
		.block = {l->block[0], l->block[1], l->block[2]},
		.smem = l->smem,
	};
	result = copy_params(l, f->info, buffer, k);
	if (!result && l->flags & GSB_LAUNCH_COOPERATIVE)
		result = set_attr(k, CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
				  (CUkernelNodeAttrValue){.cooperative = 1});
	if (!result && l->flags & GSB_LAUNCH_IN_CLUSTERS)
		result = set_attr(k, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, cluster_of(l->flags));
	return result;
}

CUresult gsb_launch_work(const struct gsb_launch *l, uint64_t wire, struct gsb_graph_work *out)
{
	struct gsb_graph_work work = {.type = CU_GRAPH_NODE_TYPE_KERNEL};
	struct gsb_launch told;
	struct target t = {.f = gsb_cu_function_get((uint64_t)l->fn), .handle = (uint64_t)l->fn};
	const void *buffer = NULL;
	CUresult result;

	if (!t.f)
		return CUDA_ERROR_INVALID_HANDLE;
	result = gsb_object_owner(t.f) == wire ? CUDA_SUCCESS : find_in(wire, t.handle, &t);
	if (!result)
		result = check_geometry(l, t.f);
	if (!result)
		result = find_params(l, t.f->info, &buffer);
	if (!result && (l->flags | required_cluster(t.f)))
		result = check_flags(&l, t, &told);
	if (!result)
		result = fill_kernel(l, t.f, buffer, &work.kernel);
	if (result)
		gsb_graph_work_free(&work);
	else
		*out = work;
	return result;
}

static CUresult capture_into(struct gsb_capture_member *m, const struct gsb_launch *l,
			     uint64_t wire)
{
	struct gsb_graph_work work;
	CUresult result = gsb_capture_check(m);

	if (result)
		return result;
	result = gsb_launch_work(l, wire, &work);
	if (result) {
		gsb_capture_invalidate(m->capture);
		return result;
	}
	result = gsb_capture_add(m, &work);
	if (result)
		gsb_graph_work_free(&work);
	return result;
}

/* ---- the whole ---- */

static INLINE CUresult launch_now(const struct gsb_launch *l)
{
	uint64_t handle = (uint64_t)l->fn;
	struct target t = {.f = gsb_cu_function_get(handle), .handle = handle};
	struct gsb_cu_stream_ref s;
	struct gsb_launch told;
	const void *buffer;
	CUresult result;

	if (gsb_unlikely(!t.f))
		return CUDA_ERROR_INVALID_HANDLE;
	result = gsb_cu_stream_resolve_inline(l->stream, &s);
	if (!result && gsb_unlikely(gsb_object_owner(t.f) != s.wire)) {
		struct target other = t; /* so that t stays in registers */

		result = find_in(s.wire, handle, &other);
		t = other;
	}
	if (!result)
		result = check_geometry(l, t.f);
	if (!result)
		result = find_params(l, t.f->info, &buffer);
	if (!result && gsb_unlikely(l->flags | required_cluster(t.f))) {
		const struct gsb_launch *other = l; /* so that l does */

		result = check_flags(&other, t, &told);
		l = other;
	}
	if (!result && gsb_unlikely(!atomic_load_explicit(&t.f->is_ready, memory_order_relaxed)))
		result = gsb_cu_function_prepare(t.handle);
	return gsb_unlikely(result) ? failed(l, result) : post_launch(l, t, &s, buffer);
}

/* While some stream captures: this one may, or another may forbid the launch. Apart, to keep the ordinary path short. */
static GSB_COLD CUresult launch_beside_captures(const struct gsb_launch *l)
{
	struct gsb_capture_member *m;
	struct gsb_cu_stream_ref s;
	CUresult result = gsb_cu_stream_resolve(l->stream, &s);

	if (result)
		return result;
	gsb_cu_graphs_lock();
	m = gsb_capture_of(&s);
	result = m ? capture_into(m, l, s.wire) : gsb_capture_implicit(&s, false);
	gsb_cu_graphs_unlock();
	return m || result ? result : launch_now(l);
}

CUresult hook_cuLaunchKernel(const struct gsb_launch *l)
{
	return gsb_capture_any() ? launch_beside_captures(l) : launch_now(l);
}

/* ---- the extended form ---- */

static CUresult refuse_attribute(int id)
{
	static _Atomic bool said;

	if (!atomic_exchange(&said, true))
		gsb_log_say("a launch with attribute %d (CUlaunchAttributeID) is not carried: it "
			    "returns CUDA_ERROR_NOT_SUPPORTED; launch without it",
			    id);
	return CUDA_ERROR_NOT_SUPPORTED;
}

/* What is recorded behind the launch: it may be told later than it might be, and never earlier. NULL: nothing. */
static CUevent event_of(const CUlaunchAttribute *a, unsigned *flags)
{
	*flags = 0;
	if (a->id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) {
		*flags = (unsigned)a->value.programmaticEvent.flags;
		return a->value.programmaticEvent.event;
	}
	if (a->id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT) {
		*flags = (unsigned)a->value.launchCompletionEvent.flags;
		return a->value.launchCompletionEvent.event;
	}
	return NULL;
}

static CUresult for_each_event(const CUlaunchConfig *config, CUstream stream,
			       CUresult (*visit)(CUevent event, CUstream stream, unsigned flags))
{
	CUresult result = CUDA_SUCCESS;
	unsigned flags;

	for (unsigned i = 0; !result && i < config->numAttrs; i++) {
		CUevent event = event_of(&config->attrs[i], &flags);

		if (event)
			result = visit(event, stream, flags);
	}
	return result;
}

/* What no device would take is told before what this one does not. */
static bool are_clusters_whole(const CUlaunchAttribute *a, const uint32_t grid[3])
{
	const unsigned n[3] = {a->value.clusterDim.x, a->value.clusterDim.y, a->value.clusterDim.z};

	for (int i = 0; i < 3; i++)
		if (n[i] && grid[i] % n[i])
			return false;
	return true;
}

static CUresult read_attribute(const CUlaunchAttribute *a, struct gsb_launch *l)
{
	unsigned flags;

	switch (a->id) {
	case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
		if (a->value.cooperative)
			l->flags |= GSB_LAUNCH_COOPERATIVE;
		return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
		return are_clusters_whole(a, l->grid) ? gsb_read_cluster(a, &l->flags)
						      : CUDA_ERROR_INVALID_CLUSTER_SIZE;
	/* Hints, and permissions that need not be used: the plain order of the stream satisfies them. */
	case CU_LAUNCH_ATTRIBUTE_IGNORE:
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
	case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
	case CU_LAUNCH_ATTRIBUTE_PRIORITY:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
	case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: return CUDA_SUCCESS;
	case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT:
	case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT:
		return event_of(a, &flags) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
	default:
		return (unsigned)a->id < N_ATTRIBUTES ? refuse_attribute((int)a->id)
						      : CUDA_ERROR_INVALID_VALUE;
	}
}

CUresult hook_cuLaunchKernelEx(const CUlaunchConfig *config, CUfunction fn, void **params,
			       void **extra, CUstream default_stream)
{
	struct gsb_launch l;
	CUresult result = CUDA_SUCCESS;

	if (!config || (config->numAttrs && !config->attrs))
		return CUDA_ERROR_INVALID_VALUE;
	l = (struct gsb_launch){
		.fn = fn,
		.grid = {config->gridDimX, config->gridDimY, config->gridDimZ},
		.block = {config->blockDimX, config->blockDimY, config->blockDimZ},
		.smem = config->sharedMemBytes,
		.stream = config->hStream ? config->hStream : default_stream,
		.params = params,
		.extra = extra,
	};
	if (!is_grid_ok(l.grid) || !is_block_ok(l.block))
		result = CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; !result && i < config->numAttrs; i++)
		result = read_attribute(&config->attrs[i], &l);
	if (!result)
		result = for_each_event(config, l.stream, gsb_event_check);
	if (result)
		return failed(&l, result);
	result = hook_cuLaunchKernel(&l);
	return result ? result : for_each_event(config, l.stream, hook_cuEventRecord);
}
