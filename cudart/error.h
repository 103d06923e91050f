/*
 * error.h - the runtime's errors: made from the driver's, and the last one of each thread.
 */
#ifndef GSB_CUDART_ERROR_H
#define GSB_CUDART_ERROR_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/compiler.h"
#include "cudart/abi.h"

GSB_COLD cudaError_t gsb_rt_error_of(CUresult result);

static inline cudaError_t gsb_rt_error(CUresult result)
{
	return gsb_likely(!result) ? cudaSuccess : gsb_rt_error_of(result);
}

/* Keep error, if it is one, as the thread's last. Returns it. */
GSB_COLD cudaError_t gsb_rt_error_keep(cudaError_t error);

static inline cudaError_t gsb_rt_keep(cudaError_t error)
{
	return gsb_likely(!error) ? cudaSuccess : gsb_rt_error_keep(error);
}

cudaError_t gsb_rt_error_last(void);

/* The last error, which is then forgotten: a context that is broken says so at the next call. */
cudaError_t gsb_rt_error_take(void);

/* What broke the context went with it. */
void gsb_rt_error_forget(void);

const char *gsb_rt_error_name(cudaError_t error);
const char *gsb_rt_error_text(cudaError_t error);

/* Say once of a symbol that is called that it is not carried. cudaErrorNotSupported. */
GSB_COLD cudaError_t gsb_rt_refuse(const char *symbol, _Atomic bool *said);

#endif
