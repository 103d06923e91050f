/*
 * context.c - see context.h.
 */
#include "cudart/context.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "cudart/driver.h"
#include "cudart/error.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
	CUcontext ctx;
	bool is_retained;
} primaries[GSB_RT_MAX_DEVICES]; /* lock */

/* How often a device was reset: a thread that has seen fewer may stand in a context that is gone. */
static _Atomic unsigned n_resets;
static _Thread_local struct {
	int device;
	unsigned n_resets;
} self;

cudaError_t gsb_rt_check_device(int device)
{
	int n = 0;
	cudaError_t error = gsb_rt_error(gsb_rt_drivers->cuDeviceGetCount(&n));

	if (error)
		return error;
	return device >= 0 && device < n && device < GSB_RT_MAX_DEVICES ? cudaSuccess
									: cudaErrorInvalidDevice;
}

/* Whoever uses the driver beside the runtime may have given its reference back, too. */
static bool is_active(int device)
{
	unsigned flags;
	int active = 0;

	return !gsb_rt_drivers->cuDevicePrimaryCtxGetState(device, &flags, &active) && active;
}

static cudaError_t retain(int device, CUcontext *ctx)
{
	cudaError_t error = cudaSuccess;

	pthread_mutex_lock(&lock);
	if (!primaries[device].is_retained || !is_active(device))
		error = gsb_rt_error(
			gsb_rt_drivers->cuDevicePrimaryCtxRetain(&primaries[device].ctx, device));
	primaries[device].is_retained |= !error;
	*ctx = primaries[device].ctx;
	pthread_mutex_unlock(&lock);
	return error;
}

static cudaError_t make_current(int device)
{
	unsigned seen = atomic_load(&n_resets);
	CUcontext ctx;
	cudaError_t error = retain(device, &ctx);

	if (!error)
		error = gsb_rt_error(gsb_rt_drivers->cuCtxSetCurrent(ctx));
	if (!error)
		self.n_resets = seen;
	return error;
}

static bool is_primary(CUcontext ctx)
{
	bool is = false;

	pthread_mutex_lock(&lock);
	for (int i = 0; !is && i < GSB_RT_MAX_DEVICES; i++)
		is = primaries[i].ctx == ctx;
	pthread_mutex_unlock(&lock);
	return is;
}

cudaError_t gsb_rt_enter_ctx(void)
{
	cudaError_t error = gsb_rt_driver_open();
	CUcontext now = NULL;

	if (gsb_unlikely(error))
		return error;
	error = gsb_rt_error(gsb_rt_drivers->cuCtxGetCurrent(&now));
	if (gsb_unlikely(error))
		return error;
	if (gsb_likely(now &&
		       self.n_resets == atomic_load_explicit(&n_resets, memory_order_acquire)))
		return cudaSuccess;
	return now && !is_primary(now) ? cudaSuccess : make_current(self.device);
}

int gsb_rt_device(void)
{
	CUcontext now;
	CUdevice device;

	if (!gsb_rt_drivers->cuCtxGetCurrent(&now) && now &&
	    !gsb_rt_drivers->cuCtxGetDevice(&device))
		return device;
	return self.device;
}

cudaError_t gsb_rt_device_choose(int device)
{
	cudaError_t error = gsb_rt_check_device(device);

	if (error)
		return error;
	self.device = device;
	return make_current(device);
}

cudaError_t gsb_rt_device_start(int device)
{
	CUcontext ctx;
	cudaError_t error = gsb_rt_check_device(device);

	return error ? error : retain(device, &ctx);
}

cudaError_t gsb_rt_device_reset(void)
{
	int device = gsb_rt_device();
	cudaError_t error;

	/* Not under the lock: it waits for the device's work, and whoever waits for a lock counts as busy. */
	error = gsb_rt_error(gsb_rt_drivers->cuDevicePrimaryCtxReset(device));
	pthread_mutex_lock(&lock);
	primaries[device].is_retained = false;
	atomic_fetch_add(&n_resets, 1);
	pthread_mutex_unlock(&lock);
	gsb_rt_error_forget();
	return error;
}
