/*
 * scratch.h - memory of the engine's in a context's space, for what variants are told and tell: made with the first module
 * that has some, because then is when a tenant expects that memory goes.
 *
 * Each device queue has a place to count tiles in; the words of a counting launch are one launch's at a time.
 */
#ifndef GSB_BROKER_ENGINE_CODE_SCRATCH_H
#define GSB_BROKER_ENGINE_CODE_SCRATCH_H

#include <stdint.h>

#include "broker/engine/tenant/tenant.h"

#define GSB_SCRATCH_CONTROL_BYTES 128 /* of one queue: a gsb_variant_control */
#define GSB_SCRATCH_N_CONTROLS	  32
#define GSB_SCRATCH_BYTES	  (128ull << 10)
#define GSB_SCRATCH_WORDS_AT	  (GSB_SCRATCH_N_CONTROLS * GSB_SCRATCH_CONTROL_BYTES)
#define GSB_SCRATCH_MAX_WORDS	  ((GSB_SCRATCH_BYTES - GSB_SCRATCH_WORDS_AT) / sizeof(uint64_t))

/* Without it, or without room for it, the forms that need it are not used. */
void gsb_scratch_make(struct gsb_ctx *ctx);

static inline uint64_t gsb_scratch_control(const struct gsb_ctx *ctx, unsigned queue)
{
	return ctx->scratch + queue * GSB_SCRATCH_CONTROL_BYTES;
}

static inline uint64_t gsb_scratch_words(const struct gsb_ctx *ctx)
{
	return ctx->scratch + GSB_SCRATCH_WORDS_AT;
}

#endif
