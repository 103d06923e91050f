/*
 * exports.c - the symbols of libcuda.so.1, each one line that forwards to its hook.
 *
 * Nothing but entries.def is expanded here. What every call needs is checked first: that this process is a
 * live tenant (cuInit has run and no fork came after it), and that the engine has not given it up.
 */
#include <stdbool.h>

#include "interpose/entries.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/process.h"

#define ENTER_ANY   CUDA_SUCCESS
#define ENTER_LOCAL gsb_enter()
#define ENTER_POST  gsb_enter_engine()
#define ENTER_CALL  gsb_enter_engine()

/* A NULL stream in the forms whose default stream is the thread's own. */
#define GSB_PT(s) ((s) ? (s) : CU_STREAM_PER_THREAD)

#define GSB_CU(class, symbol, name, since, pt, params, call)   \
	CUresult symbol params                                 \
	{                                                      \
		CUresult entered = ENTER_##class;              \
		return gsb_unlikely(entered) ? entered : call; \
	}
#define GSB_CU_REFUSED(symbol, name, since, pt)          \
	CUresult symbol(void)                            \
	{                                                \
		static _Atomic bool said;                \
		return gsb_entry_refuse(#symbol, &said); \
	}
#include "interpose/entries.def"
