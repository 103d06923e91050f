/*
 * exports.c - the symbols of libcudart.so.12 and .13, each one line that forwards: entries.def, expanded.
 *
 * What every call needs is checked first, and an error that it ends with is kept as the thread's last one.
 */
#include "cudart/calls/calls.h"
#include "cudart/context.h"
#include "cudart/error.h"
#include "cudart/exports.h"

#define ENTER_SILENT cudaSuccess
#define ENTER_ANY    cudaSuccess
#define ENTER_DRIVER gsb_rt_driver_open()
#define ENTER_CTX    gsb_rt_enter_ctx()

#define LEAVE_SILENT(error) (error)
#define LEAVE_ANY(error)    gsb_rt_keep(error)
#define LEAVE_DRIVER(error) gsb_rt_keep(error)
#define LEAVE_CTX(error)    gsb_rt_keep(error)

#define R(result) gsb_rt_error(result)

#define FORM(class, form, symbol, params, call)                                          \
	cudaError_t symbol params                                                        \
	{                                                                                \
		GSB_UNUSED const struct gsb_rt_driver *const cu = &gsb_rt_drivers[form]; \
		cudaError_t entered = ENTER_##class;                                     \
		return LEAVE_##class(gsb_unlikely(entered) ? entered : call);            \
	}
#define GSB_RT(class, symbol, params, call) FORM(class, GSB_RT_LEGACY, symbol, params, call)
#define GSB_RT_PT(class, symbol, suffix, params, call)   \
	FORM(class, GSB_RT_LEGACY, symbol, params, call) \
	FORM(class, GSB_RT_PER_THREAD, symbol##_##suffix, params, call)
#define GSB_RT_REFUSED(symbol)                                     \
	cudaError_t symbol(void)                                   \
	{                                                          \
		static _Atomic bool said;                          \
		return gsb_rt_keep(gsb_rt_refuse(#symbol, &said)); \
	}
#include "cudart/entries.def"

/* ---- those that return something else ---- */

const char *cudaGetErrorName(cudaError_t error)
{
	return gsb_rt_error_name(error);
}

const char *cudaGetErrorString(cudaError_t error)
{
	return gsb_rt_error_text(error);
}

struct cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, int kind)
{
	return (struct cudaChannelFormatDesc){x, y, z, w, kind};
}
