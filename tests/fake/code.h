/*
 * code.h - kernels of the fake driver, as device.c makes and work.c launches them.
 */
#ifndef GSB_TESTS_FAKE_CODE_H
#define GSB_TESTS_FAKE_CODE_H

#include "device/ops.h"

struct fake_kernel {
	const char *name;
	struct gsb_function *function;
	struct gsb_function_info info;
};

struct fake_library {
	struct gsb_module *module;
	const char *
		cubin; /* managed variables: who loads keeps it, and these, until they are in the context; else NULL */
	char **names;
	void **addrs;
	unsigned n_names;
	struct fake_kernel **kernels;
	unsigned n_kernels;
};

#endif
