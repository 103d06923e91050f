/*
 * genuine.c - NVIDIA's own driver, opened beside us for the two tables that are only its own to give.
 *
 * It costs that driver's cuInit, some 0.1 s, and no context or device memory. Programs that use the driver
 * interface directly never come here.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/genuine.h"
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

static pthread_once_t once = PTHREAD_ONCE_INIT;
static table_fn *get_table;		 /* NULL: there is no driver that could serve */
static CUdevice device;			 /* the broker's, as that driver counts */
static _Thread_local const void *asking; /* for open_once */

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

/*
 * The runtime is a library of its own where the program's path to it comes before ours (DT_RPATH, or an absolute name);
 * else it is a part of the file that asks: of the program, or of a library, which may be one that only NVIDIA can link.
 */
static void refuse_runtime(const char *reason)
{
	Dl_info from = {0};
	const char *file = dladdr(asking, &from) && from.dli_fname && *from.dli_fname
				   ? from.dli_fname
				   : "this program";

	if (strstr(file, "libcudart.so"))
		gsb_log(GSB_LOG_ERROR, "runtime",
			"%s is NVIDIA's CUDA runtime, which works only with %s: start the program with "
			"gsbrun, and without a path of its own to that library, so that it finds "
			"gsbroker's",
			file, reason);
	else if (strstr(file, ".so"))
		gsb_log(GSB_LOG_ERROR, "runtime",
			"%s has NVIDIA's CUDA runtime linked in, which works only with %s: do without "
			"a library of NVIDIA's (cuBLAS and its like), link one of your own with -cudart "
			"shared (an option of nvcc)",
			file, reason);
	else
		gsb_log(GSB_LOG_ERROR, "runtime",
			"%s has NVIDIA's CUDA runtime linked in, which works only with %s: link it with "
			"-cudart shared (an option of nvcc) and start it with gsbrun, which brings a "
			"runtime of gsbroker's",
			file, reason);
}

static void open_once(void)
{
	void *library = gsb_genuine_open((const void *)cuInit, NULL, 0);
	init_fn *init = library ? (init_fn *)dlsym(library, "cuInit") : NULL;
	char reason[320];

	if (!init || init(0)) {
		refuse_runtime("NVIDIA's driver, and none works here");
	} else if (!find_device(library)) {
		snprintf(reason, sizeof(reason),
			 "a device of NVIDIA's driver, and the broker's (%s) is none",
			 gsb_proc.device.name);
		refuse_runtime(reason);
	} else {
		get_table = (table_fn *)dlsym(library, "cuGetExportTable");
	}
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

CUresult gsb_genuine_table(const void **table, const CUuuid *id, const void *asker)
{
	static const unsigned char interface[4] = {0x6b, 0xd5, 0xfb, 0x6c};
	CUresult result = gsb_enter();

	if (result)
		return result;
	asking = asker;
	pthread_once(&once, open_once);
	if (!get_table)
		return CUDA_ERROR_NOT_SUPPORTED;
	result = get_table(table, id);
	if (!result && !memcmp(id->bytes, interface, sizeof(interface)))
		learn_primary(*table);
	return result;
}
