/*
 * tenant.h - the built library as a program sees it: opened by path, every entry point typed.
 */
#ifndef GSB_TESTS_TENANT_H
#define GSB_TESTS_TENANT_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

#include "gsb/cuabi.h"

struct cu {
#define GSB_CU(class, symbol, name, since, pt, params, call) CUresult(*symbol) params;
#define GSB_CU_REFUSED(symbol, name, since, pt)		     CUresult (*symbol)(void);
#include "interpose/entries.def"
};

static inline void cu_load_from(struct cu *cu, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);

	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
#define GSB_CU(class, symbol, name, since, pt, params, call) \
	*(void **)&cu->symbol = dlsym(library, #symbol);
#define GSB_CU_REFUSED(symbol, name, since, pt) *(void **)&cu->symbol = dlsym(library, #symbol);
#include "interpose/entries.def"
}

static inline void cu_load(struct cu *cu)
{
	cu_load_from(cu, GSB_LIBRARY);
}

#endif
