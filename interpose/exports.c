/*
 * exports.c - the symbols of libcuda.so.1, each one line that forwards to its hook.
 *
 * Nothing but entries.def is expanded here. What every call needs is checked first: that this process is a
 * live tenant (cuInit has run and no fork came after it), and that the engine has not given it up: contexts are made, held
 * and given back all the same, as after a fault. A call that fails is
 * said where GSB_DEBUG=debug asks for it: of a program that gives up, the last one mostly says why.
 */
#include <stdbool.h>

#include "interpose/cu/ctx.h"
#include "interpose/entries.h"
#include "interpose/hooks/graph.h"
#include "interpose/hooks/hooks.h"
#include "interpose/core/process.h"

#define ENTER_ANY   CUDA_SUCCESS
#define ENTER_LOCAL gsb_enter()
#define ENTER_POST  enter_engine()
#define ENTER_CALL  enter_engine()

static GSB_COLD CUresult enter_refused(void)
{
	CUresult result = gsb_enter_refused();

	return result ? gsb_cu_ctx_refused(result) : CUDA_SUCCESS;
}

/* In the path of each launch: what is made of a refusal stands outside it. */
static inline CUresult enter_engine(void)
{
	return gsb_likely(gsb_is_served()) ? CUDA_SUCCESS : enter_refused();
}

/*
 * Whether a failure is said here. What needs no device mostly answers that there is none such; what is posted is the path
 * that must stay short.
 */
#define SAYS_ANY   false
#define SAYS_LOCAL true
#define SAYS_POST  false
#define SAYS_CALL  true

/* A NULL stream in the forms whose default stream is the thread's own. */
#define GSB_PT(s) ((s) ? (s) : CU_STREAM_PER_THREAD)

#define GSB_CU(class, symbol, name, since, pt, params, call) \
	CUresult symbol params                               \
	{                                                    \
		CUresult result = ENTER_##class;             \
		if (gsb_likely(!result))                     \
			result = call;                       \
		if (gsb_unlikely(result) && SAYS_##class)    \
			gsb_entry_failed(#symbol, result);   \
		return result;                               \
	}
#define GSB_CU_REFUSED(symbol, name, since, pt)          \
	CUresult symbol(void)                            \
	{                                                \
		static _Atomic bool said;                \
		return gsb_entry_refuse(#symbol, &said); \
	}
#include "interpose/entries.def"
