/*
 * tp.c - the engine's side of its trace points, and gsb-tp.so, which brings them to life.
 */
#ifdef HAVE_CONFIG_H
#include <config.h> /* of configure; broker/config/config.h is another */
#endif

#ifdef HAVE_LTTNG
#define LTTNG_UST_TRACEPOINT_DEFINE
#define LTTNG_UST_TRACEPOINT_PROBE_DYNAMIC_LINKAGE
#endif
#include "broker/engine/trace/tp.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#ifdef HAVE_LTTNG

/* Beside the program in the build tree, else where it is installed. */
static void *open_provider(void)
{
	char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - sizeof("/.libs/gsb-tp.so"));
	char *slash;

	if (n > 0) {
		path[n] = 0;
		slash = strrchr(path, '/');
		strcpy(slash, "/.libs/gsb-tp.so");
		if (!access(path, R_OK))
			return dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return dlopen(GSB_PKGLIBDIR "/gsb-tp.so", RTLD_NOW | RTLD_LOCAL);
}

int gsb_tp_start(void)
{
	if (open_provider())
		return 0;
	gsb_log(GSB_LOG_ERROR, "trace", "no trace events: %s", dlerror());
	return -ENOENT;
}

#else

int gsb_tp_start(void)
{
	gsb_log(GSB_LOG_ERROR, "trace", "no trace events: this build was configured without LTTng");
	return -ENOTSUP;
}

#endif
