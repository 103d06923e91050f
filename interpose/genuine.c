/*
 * genuine.c - NVIDIA's own driver, opened beside us for the two tables that are only its own to give.
 *
 * It costs that driver's cuInit, some 0.1 s, and no context or device memory. Programs that use the driver
 * interface directly never come here.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"
#include "interpose/cu/ctx.h"
#include "interpose/entries.h"
#include "interpose/core/process.h"
#include "interpose/tables.h"

#define RUNTIME_INTERFACE_PRIMARY 2 /* its slot that names a device's primary context */

typedef CUresult init_fn(unsigned flags);
typedef CUresult table_fn(const void **table, const CUuuid *id);
typedef CUresult count_fn(int *count);
typedef CUresult uuid_fn(CUuuid *uuid, CUdevice dev);
typedef CUresult primary_fn(CUcontext *ctx, CUdevice dev);

static const char *const paths[] = {
	"/usr/lib/x86_64-linux-gnu/libcuda.so.1",
	"/usr/lib/aarch64-linux-gnu/libcuda.so.1",
	"/usr/lib64/libcuda.so.1",
	"/usr/lib/libcuda.so.1",
	"/usr/local/nvidia/lib64/libcuda.so.1",
	"/usr/lib/wsl/lib/libcuda.so.1",
	"/run/opengl-driver/lib/libcuda.so.1",
};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static table_fn *get_table; /* NULL: there is no driver that could serve */
static CUdevice device;	    /* the broker's, as that driver counts */

/* An administrator may have put our own library where the driver is looked for. */
static bool is_ours(void *library)
{
	return dlsym(library, "cuInit") == (void *)cuInit;
}

static void *open_driver(void)
{
	const char *given = secure_getenv("GSB_REAL_LIBCUDA");

	if (given)
		return dlopen(given, RTLD_NOW | RTLD_LOCAL);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(paths); i++) {
		void *library = dlopen(paths[i], RTLD_NOW | RTLD_LOCAL);

		if (library && !is_ours(library))
			return library;
	}
	return NULL;
}

static bool find_device(void *library)
{
	count_fn *get_count = (count_fn *)dlsym(library, "cuDeviceGetCount");
	uuid_fn *get_uuid = (uuid_fn *)dlsym(library, "cuDeviceGetUuid_v2");
	CUuuid uuid;
	int n;

	if (!get_count || !get_uuid || get_count(&n))
		return false;
	for (device = 0; device < n; device++)
		if (!get_uuid(&uuid, device) &&
		    !memcmp(uuid.bytes, gsb_proc.device.uuid, sizeof(uuid.bytes)))
			return true;
	return false;
}

static void open_once(void)
{
	void *library = open_driver();
	init_fn *init = library ? (init_fn *)dlsym(library, "cuInit") : NULL;

	if (!init || init(0))
		gsb_log(GSB_LOG_ERROR, "runtime",
			"this program contains NVIDIA's CUDA runtime, which only works beside NVIDIA's "
			"driver, and none works here: run it on a host with a GPU, or use a program on "
			"the driver API");
	else if (!find_device(library))
		gsb_log(GSB_LOG_ERROR, "runtime",
			"this program contains NVIDIA's CUDA runtime, which only works with a device of "
			"NVIDIA's driver, and the broker's device (%s) is none: use a program on the "
			"driver API, or a broker on the real GPU",
			gsb_proc.device.name);
	else
		get_table = (table_fn *)dlsym(library, "cuGetExportTable");
}

/* A runtime takes this handle for the primary context from the table itself. */
static void learn_primary(const void *const *table)
{
	CUcontext ctx = NULL;

	if ((uintptr_t)table[0] <= RUNTIME_INTERFACE_PRIMARY * sizeof(void *))
		return;
	if (!((primary_fn *)table[RUNTIME_INTERFACE_PRIMARY])(&ctx, device) && ctx)
		gsb_cu_ctx_set_alias(ctx);
}

CUresult gsb_genuine_table(const void **table, const CUuuid *id)
{
	static const unsigned char interface[4] = {0x6b, 0xd5, 0xfb, 0x6c};
	CUresult result = gsb_enter();

	if (result)
		return result;
	pthread_once(&once, open_once);
	if (!get_table)
		return CUDA_ERROR_NOT_SUPPORTED;
	result = get_table(table, id);
	if (!result && !memcmp(id->bytes, interface, sizeof(interface)))
		learn_primary(*table);
	return result;
}
