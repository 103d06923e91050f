/*
 * driver.c - see driver.h.
 */
#include "cudart/driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/log.h"
#include "cudart/error.h"

typedef CUresult find_fn(const char *name, void **fn, int version, cuuint64_t flags,
			 CUdriverProcAddressQueryResult *status);

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct gsb_rt_driver tables[2];
const struct gsb_rt_driver *const gsb_rt_drivers = tables;
static find_fn *find;
static cudaError_t opened;
static int version;

static CUresult missing(void)
{
	return CUDA_ERROR_CALL_REQUIRES_NEWER_DRIVER;
}

static void *entry(const char *name, int since, cuuint64_t flags)
{
	CUdriverProcAddressQueryResult status;
	void *fn = NULL;

	return !find(name, &fn, since, flags, &status) && fn ? fn : (void *)missing;
}

static void fill(struct gsb_rt_driver *table, cuuint64_t flags)
{
#define GSB_RT_CU(name, since, params) table->name = (CUresult(*) params)entry(#name, since, flags);
#include "cudart/driver.def"
}

/* A program that is started without gsbrun finds us by its own path, and no driver. */
static cudaError_t no_driver(void)
{
	gsb_log_say("there is no libcuda.so.1 here: run the program with gsbrun, which brings one");
	return cudaErrorInsufficientDriver;
}

static cudaError_t open_driver(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW);
	CUresult result;

	find = library ? (find_fn *)dlsym(library, "cuGetProcAddress_v2") : NULL;
	if (!find)
		return no_driver();
	fill(&tables[GSB_RT_LEGACY], CU_GET_PROC_ADDRESS_LEGACY_STREAM);
	fill(&tables[GSB_RT_PER_THREAD], CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM);
	if (tables->cuDriverGetVersion(&version) || version < GSB_CUDART * 1000)
		return cudaErrorInsufficientDriver;
	result = tables->cuInit(0);
	return gsb_rt_error(result);
}

static void open_once(void)
{
	gsb_log_init("gsbroker", GSB_LOG_ERROR);
	opened = open_driver();
}

cudaError_t gsb_rt_driver_open(void)
{
	pthread_once(&once, open_once);
	return opened;
}

int gsb_rt_driver_version(void)
{
	gsb_rt_driver_open();
	return version;
}

CUresult gsb_rt_driver_find(const char *name, void **fn, int wanted, cuuint64_t flags,
			    CUdriverProcAddressQueryResult *status)
{
	return find(name, fn, wanted, flags, status);
}
