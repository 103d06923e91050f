/*
 * error.c - see error.h.
 */
#include "cudart/error.h"

#include "base/err.h"
#include "base/log.h"

static _Thread_local cudaError_t last;

static const struct {
	cudaError_t value;
	const char *name, *text; /* no text: the driver's */
} errors[] = {
#define GSB_RT_ERROR(name, value)	    {name, #name, NULL},
#define GSB_RT_OWN_ERROR(name, value, text) {name, #name, text},
#include "cudart/errors.def"
};

static int find(int value)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(errors); i++)
		if ((int)errors[i].value == value)
			return (int)i;
	return -1;
}

cudaError_t gsb_rt_error_of(CUresult result)
{
	return find((int)result) < 0 ? cudaErrorUnknown : (cudaError_t)result;
}

/* That work is not done yet is an answer, not an error. */
cudaError_t gsb_rt_error_keep(cudaError_t error)
{
	if (error != cudaErrorNotReady)
		last = error;
	return error;
}

cudaError_t gsb_rt_error_last(void)
{
	return last;
}

cudaError_t gsb_rt_error_take(void)
{
	cudaError_t error = last;

	last = cudaSuccess;
	return error;
}

void gsb_rt_error_forget(void)
{
	last = cudaSuccess;
}

const char *gsb_rt_error_name(cudaError_t error)
{
	int i = find((int)error);

	return i < 0 ? "unrecognized error code" : errors[i].name;
}

const char *gsb_rt_error_text(cudaError_t error)
{
	int i = find((int)error);

	if (i < 0)
		return "unrecognized error code";
	return errors[i].text ? errors[i].text : gsb_cuda_error_string((CUresult)error);
}

cudaError_t gsb_rt_refuse(const char *symbol, _Atomic bool *said)
{
	if (!atomic_exchange(said, true))
		gsb_log_say("%s is not carried: it returns cudaErrorNotSupported (said once; "
			    "GSB_DEBUG=quiet silences this)",
			    symbol);
	return cudaErrorNotSupported;
}
