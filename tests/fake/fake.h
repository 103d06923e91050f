/*
 * fake.h - how a test steers the fake driver (tests/fake/libcuda.la): dlsym() these from it.
 *
 * The fake is a libcuda.so.1 for tests of device/cuda where there is no GPU. It answers the calls of device/cuda/driver.def
 * and no others; memory is this process's, kernels run in the interpreter of the emulated device. It is stricter than NVIDIA's where that
 * forgives: it counts what lives, and a handle that is not, or no longer, one is CUDA_ERROR_INVALID_HANDLE; a call by a thread of the
 * engine that driver.def does not give it ends the process (device/cuda/threads.h).
 */
#ifndef GSB_TESTS_FAKE_FAKE_H
#define GSB_TESTS_FAKE_FAKE_H

#include <stdbool.h>

#include "base/compiler.h"
#include "gsb/cuabi.h"

/* What a driver hands out, and wants back. */
enum fake_kind {
	FAKE_PRIMARY, /* each retain of the primary context */
	FAKE_CONTEXT,
	FAKE_RESERVATION,
	FAKE_HANDLE, /* of memory */
	FAKE_MAPPING,
	FAKE_MEMORY, /* of cuMemAlloc() */
	FAKE_ARRAY,
	FAKE_MIPMAP,
	FAKE_LEVEL, /* of a mipmapped array */
	FAKE_TEXTURE,
	FAKE_SURFACE,
	FAKE_HOST,
	FAKE_REGISTERED,
	FAKE_LINK,
	FAKE_LIBRARY,
	FAKE_STREAM,
	FAKE_EVENT,
	FAKE_GREEN,
	FAKE_GRAPH,
	FAKE_EXEC,
	FAKE_N_KINDS
};

/* From now on the @nth call of @name (1: the next) returns @result; a call that gives something back does so all the same. */
GSB_EXPORT void fake_fail(const char *name, unsigned nth, CUresult result);
/* From now on each call of @name calls @seen first; nothing of the driver may be called there. NULL: no more. */
GSB_EXPORT void fake_watch(const char *name, void (*seen)(void *arg), void *arg);
/* Calls of @name since the last fake_reset(). */
GSB_EXPORT unsigned fake_calls(const char *name);
/* What lives of a kind. */
GSB_EXPORT unsigned fake_live(enum fake_kind kind);
/* How often memory was unmapped or unregistered that a copy or fill in flight was to touch, fatal on a GPU, or unregistered when it was gone. */
GSB_EXPORT unsigned fake_early(void);
/* False: what is sent to streams waits, until true again. */
GSB_EXPORT void fake_run(bool run);
/* As a driver for which no descriptor stands for memory, until fake_reset(). */
GSB_EXPORT void fake_no_descriptors(void);
/* As a new process would find it; true if nothing had been left. */
GSB_EXPORT bool fake_reset(void);

#endif
