/*
 * thread.h - what the library keeps for each thread of the tenant: its slot in the region, its stack of
 * current contexts, its per-thread default streams.
 */
#ifndef GSB_INTERPOSE_CORE_THREAD_H
#define GSB_INTERPOSE_CORE_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "shm/wait.h"

struct gsb_cu_ctx;

/* An entry of the stack. It is stale when ctx no longer carries the handle. */
struct gsb_cu_ctx_ref {
	struct gsb_cu_ctx *ctx;
	uint64_t handle;
};

/* A default stream of this thread in one context. */
struct gsb_thread_stream {
	uint64_t ctx; /* wire handle */
	uint64_t stream;
};

/*
 * Small, because a library that is opened late has few bytes of static TLS to share; growing parts are on
 * the heap. The model is initial-exec, so that reading it never allocates.
 */
struct gsb_self {
	uint32_t slot;	       /* in the region, ours while we use it; see gsb_self_take_slot() */
	uint32_t id;	       /* whose slots are, never the same twice; 0: not known yet */
	uint16_t n_uses;       /* of the slot, one inside the other */
	uint8_t n_ends;	       /* so often was its key's destructor called */
	bool is_known;	       /* this thread's end will be noticed */
	bool was_known;	       /* while suspended */
	bool is_suspended;     /* in a host function: CUDA closes its interface there */
	unsigned capture_mode; /* CUstreamCaptureMode, or what a program takes for one */
	uint32_t depth, room;  /* of stack */
	uint32_t n_streams;
	uint64_t call;	      /* number of the last call in this slot */
	uintptr_t copy_frame; /* of the outermost copy that has chunks or the crew; 0: none */
	struct gsb_spin spin;
	struct gsb_cu_ctx_ref top;    /* the current context; ctx NULL: none */
	struct gsb_cu_ctx_ref *stack; /* what is below it */
	struct gsb_thread_stream *streams;
};

extern __thread struct gsb_self gsb_self __attribute__((tls_model("initial-exec")));

/* Have end(self) called when a thread of the tenant ends, in the last round of its keys' destructors; it may make calls. */
void gsb_self_at_end(void (*end)(struct gsb_self *self));

/* Have this thread's end noticed, and give it a slot of the region if one is free. CUDA_ERROR_OUT_OF_MEMORY. */
CUresult gsb_self_register(void);

/*
 * gsb_self_take_slot() - a slot for a call that waits, until gsb_self_give_slot()
 * A thread's own, if it still has one; else one that is free, or another thread's that is in no call. When all are in
 * calls this waits for the first that returns. A thread that lent its slot is not seen by virtual time until its next
 * call. CUDA_ERROR_NOT_PERMITTED, CUDA_ERROR_OUT_OF_MEMORY as registering.
 */
CUresult gsb_self_take_slot(void);
void gsb_self_give_slot(void);

/* Keep the slot and refuse every call that would use it, with CUDA_ERROR_NOT_PERMITTED. */
void gsb_self_suspend(void);
void gsb_self_resume(void);

static inline CUresult gsb_self_enter(void)
{
	return gsb_self.is_known ? CUDA_SUCCESS : gsb_self_register();
}

#endif
