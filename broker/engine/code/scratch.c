/*
 * scratch.c - see scratch.h.
 */
#include "broker/engine/code/scratch.h"

#include <assert.h>

#include "broker/engine/memory/memory.h"
#include "ptx/resize/variant.h"

static_assert(sizeof(struct gsb_variant_control) <= GSB_SCRATCH_CONTROL_BYTES,
	      "a queue's place holds what persistent blocks are told");

static void have(struct gsb_ctx *ctx, uint64_t addr)
{
	ctx->scratch = addr;
	ctx->scratch_asked = false;
}

void gsb_scratch_make(struct gsb_ctx *ctx)
{
	if (ctx->scratch || ctx->scratch_asked)
		return;
	ctx->scratch_asked = true;
	gsb_memory_of_engine(ctx, GSB_SCRATCH_BYTES, have);
}
