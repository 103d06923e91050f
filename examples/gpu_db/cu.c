/*
 * cu.c - see cu.h.
 */
#include "cu.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cu_driver cu;

static const struct {
	const char *name;
	size_t offset;
} entries[] = {
#define CU_ENTRY(name, parameters) {#name, offsetof(struct cu_driver, name)},
#undef CU
#define CU CU_ENTRY
#include "cu.def"
#undef CU
};

void die(const char *fmt, ...)
{
	va_list ap;

	fflush(stdout);
	fprintf(stderr, "%s: ", program_invocation_short_name);
	va_start(ap, fmt);
	vfprintf(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
	exit(EXIT_ENVIRONMENT);
}

void cu_open(void)
{
	static void *library;

	if (library)
		return;
	library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library)
		die("no CUDA driver here (%s): run it where one is installed, or under something that "
		    "provides libcuda.so.1",
		    dlerror());
	for (size_t i = 0; i < sizeof(entries) / sizeof(entries[0]); i++) {
		void *symbol = dlsym(library, entries[i].name);

		if (!symbol)
			die("libcuda.so.1 has no %s: the driver is too old", entries[i].name);
		memcpy((char *)&cu + entries[i].offset, &symbol, sizeof(symbol));
	}
}

void cu_check(CUresult result, const char *call, const char *doing, ...)
{
	const char *name = NULL, *text = NULL;
	char what[256];
	va_list ap;

	if (result == CUDA_SUCCESS)
		return;
	va_start(ap, doing);
	vsnprintf(what, sizeof(what), doing, ap);
	va_end(ap);
	cu.cuGetErrorName(result, &name);
	cu.cuGetErrorString(result, &text);
	die("%s failed: %s (%d: %s), %s", call, name ? name : "unknown error", result,
	    text ? text : "no description", what);
}
