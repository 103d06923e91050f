/*
 * kernel.h - the few words of CUDA C that the kernels here use, for nvcc and for clang alone.
 *
 * The kernels include no header of a CUDA toolkit, so clang compiles them on a machine that has none
 * (with -nocudainc -nocudalib). nvcc brings its own declarations; for clang this file makes the same
 * words from attributes and builtins. Every float operation whose rounding matters is spelled out
 * (fused_multiply_add, square_root), so that both compilers give the same bits as the CPU reference.
 */
#ifndef GPU_DB_KERNEL_H
#define GPU_DB_KERNEL_H

typedef unsigned int u32;
typedef unsigned long long u64;

#ifdef __NVCC__
#define THREAD_X		    threadIdx.x
#define THREAD_Y		    threadIdx.y
#define BLOCK_X			    blockIdx.x
#define BLOCK_Y			    blockIdx.y
#define BLOCK_DIM_X		    blockDim.x
#define BLOCK_DIM_Y		    blockDim.y
#define GRID_DIM_X		    gridDim.x
#define fused_multiply_add(a, b, c) __fmaf_rn(a, b, c)
#define square_root(a)		    __fsqrt_rn(a)
#define atomic_add(p, v)	    atomicAdd(p, v)
#else
#define __global__		    __attribute__((global))
#define __device__		    __attribute__((device))
#define __shared__		    __attribute__((shared))
#define THREAD_X		    __nvvm_read_ptx_sreg_tid_x()
#define THREAD_Y		    __nvvm_read_ptx_sreg_tid_y()
#define BLOCK_X			    __nvvm_read_ptx_sreg_ctaid_x()
#define BLOCK_Y			    __nvvm_read_ptx_sreg_ctaid_y()
#define BLOCK_DIM_X		    __nvvm_read_ptx_sreg_ntid_x()
#define BLOCK_DIM_Y		    __nvvm_read_ptx_sreg_ntid_y()
#define GRID_DIM_X		    __nvvm_read_ptx_sreg_nctaid_x()
#define fused_multiply_add(a, b, c) __nvvm_fma_rn_f(a, b, c)
#define square_root(a)		    __nvvm_sqrt_rn_f(a)
#define atomic_add(p, v)	    __atomic_fetch_add(p, v, __ATOMIC_RELAXED)
#endif

#define KERNEL extern "C" __global__ void

/* Grid-stride form: thread `thread_id` of `thread_count` takes items thread_id, + thread_count, ... */
static inline __device__ u32 thread_id(void)
{
	return BLOCK_X * BLOCK_DIM_X + THREAD_X;
}

static inline __device__ u32 thread_count(void)
{
	return GRID_DIM_X * BLOCK_DIM_X;
}

#endif
