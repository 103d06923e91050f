/*
 * kept.h - memory that a tenant has freed and may use again without asking.
 *
 * A library that frees memory when all work of its process is done may say so (MEM_KEEP) instead
 * of giving it back. Nothing may name the memory from then on, and it still counts as the
 * tenant's: as used, in its quota, the engine's grant and gsbrokerd's ledger. With MEM_TAKE it is
 * an allocation again, of the same size and address; neither record is answered. What was in it is
 * the tenant's own, so nobody clears it. It goes back to the device when its tenant asks for more
 * than its limit, before anybody else is refused memory, when gsbrokerd recalls what engines do
 * not use, when it was not taken for GSB_KEPT_NS to twice that, and with its context.
 *
 * Pinned memory is kept likewise, and stays pinned: making and registering its pages is what takes long. It goes when the tenant's
 * window has no room, when it was not taken for as long, and when the end of its context begins.
 *
 * Either side may want it at any time, so there is a word for each in the region (gsb/wire.h),
 * which is changed by whoever is first. The engine believes nothing of it but that: what is kept
 * stands in a table of its own, and goes back when the engine itself knows that the work before
 * the free is done.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_KEPT_H
#define GSB_BROKER_ENGINE_MEMORY_KEPT_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/wire.h"

struct gsb_ctx;
struct gsb_tenant;

/* Real time; a pause of a program that is longer may as well cost a call. */
#define GSB_KEPT_NS 1000000000ull

/* The records. 0, -EPROTO, -EAGAIN: dispatch.h; -ENOMEM: there is no memory for its tables. */
int gsb_kept_keep(struct gsb_tenant *t, const struct gsb_rec *rec,
		  const struct gsb_rec_mem_keep *body);
int gsb_kept_take(struct gsb_tenant *t, const struct gsb_rec *rec,
		  const struct gsb_rec_mem_keep *body);

/* Give back what the tenant has not taken meanwhile, of the device's memory, or of pinned memory; false: there was nothing. */
bool gsb_kept_give_back(struct gsb_tenant *t);
bool gsb_kept_give_back_host(struct gsb_tenant *t);
/* Whether some of the pinned memory would go, but that work before it is not done yet. When it is, the tenant's ring is read again. */
bool gsb_kept_host_waits(const struct gsb_tenant *t);
/* The same of what is there since the last time that this was called. */
void gsb_kept_age(struct gsb_tenant *t);

/* Whether it keeps any, and what it keeps of the device; 0: nothing. */
bool gsb_kept_any(const struct gsb_tenant *t);
uint64_t gsb_kept_bytes(const struct gsb_tenant *t);

/* The end of a context begins: its pinned memory goes as the rest of it does, and is kept no longer. */
void gsb_kept_ctx_retire(struct gsb_ctx *ctx);
/* Of a context that ends: it goes with the space. */
void gsb_kept_ctx_finish(struct gsb_ctx *ctx);

#endif
