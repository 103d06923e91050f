/*
 * cuda_words.h - what the sample kernels need of CUDA, for nvcc (which has it) and for a clang that
 * has no toolkit beside it. Kernels include this and nothing else.
 */
#ifndef GSB_TESTS_CUDA_WORDS_H
#define GSB_TESTS_CUDA_WORDS_H

#define KERNEL extern "C" __global__ void

#ifdef __CUDACC__
#include <stdint.h>
#include <stdio.h>
#define TID_X		      threadIdx.x
#define TID_Y		      threadIdx.y
#define CTA_X		      blockIdx.x
#define CTA_Y		      blockIdx.y
#define NTID_X		      blockDim.x
#define NCTA_X		      gridDim.x
#define SHFL_DOWN(mask, v, d) __shfl_down_sync(mask, v, d)
#define SHFL_UP(mask, v, d)   __shfl_up_sync(mask, v, d)
#define SHFL_XOR(mask, v, d)  __shfl_xor_sync(mask, v, d)
#define SHFL_IDX(mask, v, l)  __shfl_sync(mask, v, l)
#define BALLOT(mask, p)	      __ballot_sync(mask, p)
#define VOTE_ALL(mask, p)     __all_sync(mask, p)
#define VOTE_ANY(mask, p)     __any_sync(mask, p)
#define SYNC_WARP(mask)	      __syncwarp(mask)
#define ATOMIC_ADD(p, v)      atomicAdd(p, v)
#define ATOMIC_MAX(p, v)      atomicMax(p, v)
#define ATOMIC_CAS(p, o, n)   atomicCAS(p, o, n)
#define POPC(v)		      __popc(v)
#define CLZ(v)		      __clz(v)
#define BREV(v)		      __brev(v)
#else
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
#define __global__   __attribute__((global))
#define __device__   __attribute__((device))
#define __shared__   __attribute__((shared))
#define __constant__ __attribute__((constant))
#define __noinline__ __attribute__((noinline))
#define __restrict__ __restrict
#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))
#define TID_X		       ((unsigned int)__nvvm_read_ptx_sreg_tid_x())
#define TID_Y		       ((unsigned int)__nvvm_read_ptx_sreg_tid_y())
#define CTA_X		       ((unsigned int)__nvvm_read_ptx_sreg_ctaid_x())
#define CTA_Y		       ((unsigned int)__nvvm_read_ptx_sreg_ctaid_y())
#define NTID_X		       ((unsigned int)__nvvm_read_ptx_sreg_ntid_x())
#define NCTA_X		       ((unsigned int)__nvvm_read_ptx_sreg_nctaid_x())
#define SHFL_DOWN(mask, v, d)  __nvvm_shfl_sync_down_i32(mask, v, d, 31)
#define SHFL_UP(mask, v, d)    __nvvm_shfl_sync_up_i32(mask, v, d, 0)
#define SHFL_XOR(mask, v, d)   __nvvm_shfl_sync_bfly_i32(mask, v, d, 31)
#define SHFL_IDX(mask, v, l)   __nvvm_shfl_sync_idx_i32(mask, v, l, 31)
#define BALLOT(mask, p)	       __nvvm_vote_ballot_sync(mask, p)
#define VOTE_ALL(mask, p)      __nvvm_vote_all_sync(mask, p)
#define VOTE_ANY(mask, p)      __nvvm_vote_any_sync(mask, p)
#define SYNC_WARP(mask)	       __nvvm_bar_warp_sync(mask)
#define ATOMIC_ADD(p, v)       __nvvm_atom_add_gen_i((int *)(p), (int)(v))
#define ATOMIC_MAX(p, v)       __nvvm_atom_max_gen_i((int *)(p), (int)(v))
#define ATOMIC_CAS(p, o, n)    __nvvm_atom_cas_gen_i((int *)(p), (int)(o), (int)(n))
#define POPC(v)		       __builtin_popcount(v)
#define CLZ(v)		       __builtin_clz(v)
#define BREV(v)		       __builtin_bitreverse32(v)
#endif

#endif
