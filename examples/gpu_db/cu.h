/*
 * cu.h - the CUDA driver API as far as gpu_db needs it, without a toolkit.
 *
 * libcuda.so.1 is opened at run time and the calls of cu.def are looked up by name, so the program
 * builds anywhere and says one clear line where there is no driver. CU() makes a call and checks it:
 * a failed driver call is the end of this program (exit 2), since the process owns nothing that
 * outlives it. So callers need no error paths for the driver.
 */
#ifndef GPU_DB_CU_H
#define GPU_DB_CU_H

#include <stddef.h>

#define EXIT_ENVIRONMENT 2 /* usage, files, driver; 1 is a failed verification */

typedef int CUresult;
typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUlib_st *CUlibrary;
typedef struct CUfunc_st *CUfunction;
typedef struct CUkern_st *CUkernel;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;

/* Values and the layout of CUDA_MEMCPY2D are the driver's interface. */
#define CUDA_SUCCESS		   0
#define CU_STREAM_DEFAULT	   0
#define CU_STREAM_NON_BLOCKING	   1
#define CU_EVENT_DEFAULT	   0
#define CU_EVENT_DISABLE_TIMING	   2
#define CU_MEMORYTYPE_HOST	   1
#define CU_MEMORYTYPE_DEVICE	   2
#define CU_JIT_ERROR_LOG_BUFFER	   5
#define CU_JIT_ERROR_LOG_BUFFER_SZ 6

struct cu_copy_2d {
	size_t src_x_bytes, src_y;
	unsigned src_memory_type;
	const void *src_host;
	CUdeviceptr src_device;
	void *src_array;
	size_t src_pitch;
	size_t dst_x_bytes, dst_y;
	unsigned dst_memory_type;
	void *dst_host;
	CUdeviceptr dst_device;
	void *dst_array;
	size_t dst_pitch;
	size_t width_bytes, height;
};

struct cu_driver {
#define CU(name, parameters) CUresult(*name) parameters;
#include "cu.def"
#undef CU
};

extern struct cu_driver cu;

/* Opens libcuda.so.1 and fills `cu`; on failure says why and exits. Repeated calls do nothing. */
void cu_open(void);

/* CU(cuMemAlloc_v2, (&p, n), "allocating %zu bytes", n): call, and exit with one line if it failed. */
#define CU(name, arguments, ...) cu_check(cu.name arguments, #name, __VA_ARGS__)

void cu_check(CUresult result, const char *call, const char *doing, ...)
	__attribute__((format(printf, 3, 4)));

/* Prints the program's name and the text to stderr, and exits with EXIT_ENVIRONMENT. */
void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));

#endif
