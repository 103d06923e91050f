/*
 * probe.c - see probe.h: finds and opens the module, which lies beside the library.
 */
#ifdef HAVE_CONFIG_H
#include <config.h>
#endif

#include "interpose/core/probe.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "base/log.h"

const struct gsb_probe *gsb_probe;

#ifdef HAVE_LTTNG

/* Where it is installed, and where it is built. */
static void *open_module(void)
{
	static const char *const places[] = {"", "/.libs"};
	void *module = NULL;
	char path[4096];
	Dl_info self;
	const char *slash;

	if (!dladdr(&gsb_probe, &self) || !(slash = strrchr(self.dli_fname, '/')))
		return NULL;
	for (unsigned i = 0; !module && i < GSB_ARRAY_LEN(places); i++) {
		snprintf(path, sizeof(path), "%.*s%s/gsb-tenant-tp.so",
			 (int)(slash - self.dli_fname), self.dli_fname, places[i]);
		module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	}
	return module;
}

static void load(void)
{
	void *module = open_module();
	const char *why = dlerror();

	gsb_probe = module ? dlsym(module, GSB_PROBE_SYMBOL) : NULL;
	if (!gsb_probe)
		gsb_log(GSB_LOG_WARN, "probe", "GSB_LTTNG=1, but there are no LTTng events: %s",
			why ? why : "gsb-tenant-tp.so is not beside the library");
}

#else

static void load(void)
{
	gsb_log(GSB_LOG_WARN, "probe",
		"GSB_LTTNG=1, but this build was configured without LTTng: unset it, or configure again");
}

#endif

void gsb_probe_load(void)
{
	const char *wanted = secure_getenv("GSB_LTTNG");

	if (wanted && !strcmp(wanted, "1"))
		load();
}
