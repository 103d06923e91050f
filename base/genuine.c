/*
 * genuine.c - see genuine.h.
 */
#include "base/genuine.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"

#define OUR_FILE "libgsbroker"

static const char *const paths[] = {
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/usr/lib/aarch64-linux-gnu/libcuda.so.1",
	"/usr/lib64/libcuda.so.1",
	"/usr/lib/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
	"libcuda.so.1",
};

/* An administrator may have put our own library where the driver is looked for, mostly as a link. */
static bool is_ours(void *library, const void *own_init)
{
	void *init = dlsym(library, "cuInit");
	char real[PATH_MAX];
	const char *name;
	Dl_info file;

	if (!init || init == own_init)
		return true;
	if (!dladdr(init, &file) || !file.dli_fname || !realpath(file.dli_fname, real))
		return false;
	name = strrchr(real, '/');
	return name && !strncmp(name + 1, OUR_FILE, strlen(OUR_FILE));
}

static void *try_path(const char *path, const void *own_init, char *tried, size_t size)
{
	size_t n = size ? strlen(tried) : 0;
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (size)
		snprintf(tried + n, size - n, "%s%s", n ? ", " : "", path);
	if (!library || !is_ours(library, own_init))
		return library;
	dlclose(library);
	return NULL;
}

void *gsb_genuine_open(const void *own_init, char *tried, size_t size)
{
	const char *given = secure_getenv("GSB_REAL_LIBCUDA");
	void *library = NULL;

	if (size)
		tried[0] = 0;
	if (given)
		return try_path(given, own_init, tried, size);
	for (unsigned i = 0; !library && i < GSB_ARRAY_LEN(paths); i++)
		library = try_path(paths[i], own_init, tried, size);
	return library;
}
