/*
 * ctx_life.h - contexts made and ended in the engine, with all that goes with one; what a context is stands
 * in ctx.h.
 */
#ifndef GSB_INTERPOSE_CU_CTX_LIFE_H
#define GSB_INTERPOSE_CU_CTX_LIFE_H

#include "interpose/cu/ctx.h"

CUresult gsb_cu_ctx_create(uint32_t flags, struct gsb_cu_ctx **out);
/* CUDA_ERROR_INVALID_CONTEXT for what is none, or the primary one; _CONTEXT_IS_DESTROYED. */
CUresult gsb_cu_ctx_destroy(CUcontext handle);

/* A reference to the primary context, as cuDevicePrimaryCtxRetain and Release. */
CUresult gsb_cu_ctx_primary_retain(uint64_t *wire);
CUresult gsb_cu_ctx_primary_release(void);
/* Ends it whoever holds references, which stay theirs to release; the next retain makes it anew. */
void gsb_cu_ctx_primary_reset(void);

#endif
