/*
 * err.c - see err.h.
 */
#include "base/err.h"

#include <errno.h>

#include "base/compiler.h"

static const struct {
	int err; /* positive */
	CUresult result;
} results[] = {
	{EINVAL, CUDA_ERROR_INVALID_VALUE},
	{ENOMEM, CUDA_ERROR_OUT_OF_MEMORY},
	{EDQUOT, CUDA_ERROR_OUT_OF_MEMORY},
	{EFBIG, CUDA_ERROR_OUT_OF_MEMORY}, /* shared memory, over ulimit -f */
	{ENOENT, CUDA_ERROR_NOT_FOUND},
	{EBADF, CUDA_ERROR_INVALID_HANDLE},
	{EXDEV, CUDA_ERROR_MAP_FAILED},	     /* of another engine */
	{ELOOP, CUDA_ERROR_INVALID_CONTEXT}, /* the program's own */
	{EAGAIN, CUDA_ERROR_NOT_READY},
	{EFAULT, CUDA_ERROR_ILLEGAL_ADDRESS},
	{ENOTSUP, CUDA_ERROR_NOT_SUPPORTED},
	{ENOSYS, CUDA_ERROR_NOT_SUPPORTED},
	{EPERM, CUDA_ERROR_NOT_PERMITTED},
	{EACCES, CUDA_ERROR_NOT_PERMITTED},
	{ENODEV, CUDA_ERROR_NO_DEVICE},
	{EBADMSG, CUDA_ERROR_INVALID_IMAGE},
	{ENOEXEC, CUDA_ERROR_NO_BINARY_FOR_GPU},
	{EILSEQ, CUDA_ERROR_INVALID_PTX},
	{ENOPKG, CUDA_ERROR_UNSUPPORTED_PTX_VERSION},
	{E2BIG, CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES},
	{EUSERS, CUDA_ERROR_MPS_MAX_CLIENTS_REACHED},
	{ETIMEDOUT, CUDA_ERROR_LAUNCH_TIMEOUT},
	{EOWNERDEAD, CUDA_ERROR_LAUNCH_FAILED}, /* who had its context on the device */
	{EPIPE, CUDA_ERROR_SYSTEM_NOT_READY},
	{ECONNREFUSED, CUDA_ERROR_SYSTEM_NOT_READY},
	/* Refusals of a broker that is there: */
	{ESHUTDOWN, CUDA_ERROR_SYSTEM_NOT_READY},
	{EBUSY, CUDA_ERROR_SYSTEM_NOT_READY},
	{EMFILE, CUDA_ERROR_SYSTEM_NOT_READY},
	{ENFILE, CUDA_ERROR_SYSTEM_NOT_READY},
	{ESRCH, CUDA_ERROR_SYSTEM_NOT_READY},
	{EPROTO, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH},
	{EPROTONOSUPPORT, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH},
	{EMSGSIZE, CUDA_ERROR_SYSTEM_DRIVER_MISMATCH},
};

CUresult gsb_cuda_result(int err)
{
	if (err >= 0)
		return CUDA_SUCCESS;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(results); i++)
		if (results[i].err == -err)
			return results[i].result;
	return CUDA_ERROR_UNKNOWN;
}

static const struct {
	CUresult result;
	const char *name, *text;
} descriptions[] = {
#define GSB_CUERR(name, value, text) {name, #name, text},
#include "gsb/cuda_errors.def"
};

const char *gsb_cuda_error_name(CUresult result)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(descriptions); i++)
		if (descriptions[i].result == result)
			return descriptions[i].name;
	return NULL;
}

const char *gsb_cuda_error_string(CUresult result)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(descriptions); i++)
		if (descriptions[i].result == result)
			return descriptions[i].text;
	return NULL;
}
