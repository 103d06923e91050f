/*
 * host.h - pinned host memory of a context that comes or goes, for memory.c.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_HOST_H
#define GSB_BROKER_ENGINE_MEMORY_HOST_H

#include <stdint.h>

struct gsb_ctx;

void gsb_memory_host_ctx_init(struct gsb_ctx *ctx);
/* Pin all that its tenant has, from *from on, which says how far that has come. Later; -errno of the device. */
int gsb_memory_host_ctx_pin(struct gsb_ctx *ctx, uint64_t *from);
int gsb_memory_host_ctx_retire(struct gsb_ctx *ctx); /* -EAGAIN */
void gsb_memory_host_ctx_finish(struct gsb_ctx *ctx);

#endif
