/*
 * provider.c - see provider.h: finds and opens the module.
 */
#ifdef HAVE_CONFIG_H
#include <config.h> /* of configure; broker/config/config.h is another */
#endif

#include "broker/engine/trace/provider.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"

#ifdef HAVE_LTTNG

/* Beside the program in the build tree, else where it is installed. */
static void *open_module(void)
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

int gsb_trace_load_provider(const struct gsb_trace_provider **out)
{
	void *module = open_module();
	const struct gsb_trace_provider *p =
		module ? dlsym(module, GSB_TRACE_PROVIDER_SYMBOL) : NULL;

	if (!p) {
		gsb_log(GSB_LOG_ERROR, "trace", "no LTTng events: %s", dlerror());
		return -ENOENT;
	}
	*out = p;
	return 0;
}

#else

int gsb_trace_load_provider(const struct gsb_trace_provider **out)
{
	gsb_log(GSB_LOG_ERROR, "trace", "no LTTng events: this build was configured without LTTng");
	return -ENOTSUP;
}

#endif
