/*
 * registry.h - what the compiler's code has registered: images, and the host addresses that stand for their
 * kernels and variables.
 *
 * Registering happens before main() and touches no driver. An image is loaded at the first use of something in it;
 * libraries belong to no context, so that a handle stays good when a device is reset.
 */
#ifndef GSB_CUDART_REGISTRY_H
#define GSB_CUDART_REGISTRY_H

#include <stdbool.h>

#include "cudart/abi.h"

struct gsb_rt_image;

enum gsb_rt_symbol_kind {
	GSB_RT_FUNCTION,
	GSB_RT_VARIABLE,
	GSB_RT_MANAGED,	      /* a host variable that holds the address of a managed one */
	GSB_RT_MANAGED_ITSELF /* that address: what the compiler makes of the variable's name */
};

/* An image, which stays where it is as long as it is registered; NULL without memory. */
struct gsb_rt_image *gsb_rt_image_register(const void *code);
void gsb_rt_image_unregister(struct gsb_rt_image *image);

/* name is kept, not copied. An address that is registered twice means what it was first. */
void gsb_rt_symbol_register(struct gsb_rt_image *image, enum gsb_rt_symbol_kind kind,
			    const void *host, const char *name);

/* Load the image now, and tell its managed variables where they are. */
cudaError_t gsb_rt_image_load(struct gsb_rt_image *image);

/*
 * gsb_rt_kernel() - the kernel that a host address stands for
 * @func: the address, or a cudaKernel_t: the interface takes both
 *
 * Context: a context is current. Return: cudaSuccess, cudaErrorInvalidDeviceFunction, or why the image cannot be
 * loaded.
 */
cudaError_t gsb_rt_kernel(const void *func, CUkernel *kernel);

/* The same for a launch stub, which keeps what it gets: func itself where there is no kernel, so that each launch
 * learns why. */
cudaError_t gsb_rt_kernel_for_stub(const void *func, CUkernel *kernel);

/* The host address that stands for a kernel which has been asked for; the kernel itself where none does: what
 * gsb_rt_kernel() takes for it. */
const void *gsb_rt_host_of(CUkernel kernel);

/* Where a variable is on the device. cudaErrorInvalidSymbol. */
cudaError_t gsb_rt_variable(const void *host, CUdeviceptr *ptr, size_t *bytes);

#endif
