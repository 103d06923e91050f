/*
 * host.h - pinned host memory of a context that comes or goes, for memory.c, and what of the window is mapped elsewhere, for virtual.c.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_HOST_H
#define GSB_BROKER_ENGINE_MEMORY_HOST_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_ctx;
struct gsb_tenant;

void gsb_memory_host_ctx_init(struct gsb_ctx *ctx);
/* Pin all that its tenant has, from *from on, which says how far that has come. Later; -errno of the device. */
int gsb_memory_host_ctx_pin(struct gsb_ctx *ctx, uint64_t *from);
int gsb_memory_host_ctx_retire(struct gsb_ctx *ctx); /* -EAGAIN */
void gsb_memory_host_ctx_finish(struct gsb_ctx *ctx);

/*
 * What a free of pinned memory that is kept is made of (kept.h). retire: nothing may name it from now on, and it stays its context's, and pinned;
 * size: whole pages; -EPROTO: no allocation of this context begins there; -ENOMEM. revive: it is allocated again; -ENOMEM. release: it goes; nothing that was there when it was
 * retired is queued or in flight.
 */
int gsb_memory_host_retire(struct gsb_ctx *ctx, uint64_t addr, uint64_t *size);
int gsb_memory_host_revive(struct gsb_ctx *ctx, uint64_t addr);
void gsb_memory_host_release(struct gsb_ctx *ctx, uint64_t addr);

/* A part of the window as memory of the tenant that no record may name there. Made, it counts until it is given back; else it is dropped, and never
 * was. -ENOMEM, -ENOTSUP; -EAGAIN: what the tenant has kept goes for it. */
int gsb_memory_host_take(struct gsb_tenant *t, uint64_t size, uint64_t align, uint64_t *addr);
void gsb_memory_host_count(struct gsb_tenant *t, uint64_t size);
void gsb_memory_host_drop(struct gsb_tenant *t, uint64_t addr);
void gsb_memory_host_give(struct gsb_tenant *t, uint64_t addr);
/* Pages of what was given back are still going, and with them its numbers: who wants some waits, and so finds the same, however long that takes. */
bool gsb_memory_host_is_going(const struct gsb_tenant *t);

#endif
