/*
 * driver.h - the driver, as any program finds it: libcuda.so.1 by its name, and cuGetProcAddress.
 *
 * There are two tables, for the two meanings of a NULL stream: the process's legacy stream, or the calling
 * thread's own. A call takes the one of the form that the program was compiled for.
 */
#ifndef GSB_CUDART_DRIVER_H
#define GSB_CUDART_DRIVER_H

#include "cudart/abi.h"

struct gsb_rt_driver {
#define GSB_RT_CU(name, since, params) CUresult(*name) params;
#include "cudart/driver.def"
};

enum { GSB_RT_LEGACY, GSB_RT_PER_THREAD };

extern const struct gsb_rt_driver *const gsb_rt_drivers;

/*
 * gsb_rt_driver_open() - find the driver and initialize it, once in a process
 *
 * Return: cudaSuccess, cudaErrorInsufficientDriver (none, or an older one), or what cuInit says: at every call the
 * same.
 */
cudaError_t gsb_rt_driver_open(void);

/* Its version; 0: there is none. */
int gsb_rt_driver_version(void);

/* A name in the driver, for programs that ask. */
CUresult gsb_rt_driver_find(const char *name, void **fn, int version, cuuint64_t flags,
			    CUdriverProcAddressQueryResult *status);

#endif
