/*
 * hooks/input.c - see input.h.
 */
#include "interpose/hooks/input.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/log.h"

/* ---- options ---- */

/*
 * Options that steer the compiler (registers, optimisation, targets) are its business, not the program's
 * correctness: they are accepted and not passed on. The logs are the program's and are filled.
 */
static CUresult read_option(CUjit_option option, void **value, struct gsb_jit_logs *logs)
{
	switch (option) {
	case CU_JIT_WALL_TIME: logs->wall_time = value; break;
	case CU_JIT_INFO_LOG_BUFFER: logs->info = *value; break;
	case CU_JIT_ERROR_LOG_BUFFER: logs->error = *value; break;
	case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
		logs->info_room = (unsigned)(uintptr_t)*value;
		logs->info_used = value;
		break;
	case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
		logs->error_room = (unsigned)(uintptr_t)*value;
		logs->error_used = value;
		break;
	default:
		if (option < CU_JIT_NUM_OPTIONS)
			return CUDA_SUCCESS;
		gsb_log(GSB_LOG_DEBUG, "call", "compiler option %d is not known", (int)option);
		return CUDA_ERROR_INVALID_VALUE;
	}
	return CUDA_SUCCESS;
}

CUresult gsb_input_options(unsigned n, const CUjit_option *options, void **values,
			   struct gsb_jit_logs *logs)
{
	CUresult result = CUDA_SUCCESS;

	if (n && (!options || !values))
		return CUDA_ERROR_INVALID_VALUE;
	for (unsigned i = 0; !result && i < n; i++)
		result = read_option(options[i], &values[i], logs);
	return result;
}

/* ---- files ---- */

static int read_all(int fd, char *to, size_t size)
{
	while (size) {
		ssize_t n = read(fd, to, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EIO;
		to += n;
		size -= (size_t)n;
	}
	return 0;
}

static CUresult read_open_file(int fd, struct gsb_image *out)
{
	char *bytes = NULL;
	struct stat st;
	int err = 0;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    (uint64_t)st.st_size > GSB_IMAGE_MAX_BYTES)
		err = -EINVAL;
	if (!err)
		bytes = malloc((size_t)st.st_size + 1);
	if (!err)
		err = bytes ? read_all(fd, bytes, (size_t)st.st_size) : -ENOMEM;
	if (err) {
		free(bytes);
		return err == -ENOMEM ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_FILE_NOT_FOUND;
	}
	bytes[st.st_size] = 0;
	*out = (struct gsb_image){.kind = gsb_image_kind(bytes, (size_t)st.st_size),
				  .bytes = bytes,
				  .size = (size_t)st.st_size};
	return CUDA_SUCCESS;
}

/* The program's errno is not ours to change. */
CUresult gsb_input_file(const char *path, struct gsb_image *out)
{
	int saved = errno, was = gsb_cancel_hold();
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	CUresult result = fd < 0 ? CUDA_ERROR_FILE_NOT_FOUND : read_open_file(fd, out);

	if (fd >= 0)
		close(fd);
	gsb_cancel_let_go(was);
	errno = saved;
	return result;
}
