/*
 * share.h - memory of the device that several programs may have: CUDA's IPC.
 *
 * A share is the memory and all who hold it: whose it was first, and each that has opened it since. It lives as long as anybody holds it,
 * whoever that is. The first of its holders has it in his account; when he lets go of it the next one has, whatever that
 * makes of his limit, because what is there cannot be refused.
 *
 * Of an allocation its context is the first holder, and its cost is in that context's account as before. The device may
 * have more in one piece than the allocation (2 MiB for many small ones), which others keep from being given back: what that is more counts from the
 * first export on.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_SHARE_H
#define GSB_BROKER_ENGINE_MEMORY_SHARE_H

#include <stdbool.h>
#include <stdint.h>
#include <uthash.h>

#include "broker/engine/tenant/export.h"
#include "device/ops.h"
#include "gsb/wire.h"

struct gsb_ctx;
struct gsb_share;
struct gsb_tenant;

struct gsb_holder {
	struct gsb_share *share;
	struct gsb_tenant *tenant;
	struct gsb_holder *prev, *next;
};

struct gsb_share {
	struct gsb_export export; /* while handle.id is not 0 */
	struct gsb_exports *exports;
	struct gsb_backing *memory;
	uint64_t size;	     /* of it */
	uint64_t at, length; /* what of it was exported */
	uint64_t bytes;	     /* of it in the account of the first holder */
	struct gsb_holder *holders;
};

/*
 * gsb_share_create() - memory of which h is the first holder
 * @bytes: charged to it, and granted
 *
 * Return: NULL, no memory.
 */
struct gsb_share *gsb_share_create(struct gsb_holder *h, struct gsb_tenant *t,
				   struct gsb_backing *memory, uint64_t size, uint64_t bytes);
void gsb_share_hold(struct gsb_share *s, struct gsb_holder *h, struct gsb_tenant *t);
/* With the last holder the memory goes. It is mapped nowhere for this one. */
void gsb_share_let_go(struct gsb_holder *h);

/* Answer a call with its handle, which it has from the first time on. */
void gsb_share_answer_handle(struct gsb_tenant *t, const struct gsb_rec *call, struct gsb_share *s,
			     enum gsb_ipc_kind kind);
/* What somebody's handle names, and no longer when that was freed. NULL: nothing. */
struct gsb_share *gsb_share_find(const struct gsb_exports *x, enum gsb_ipc_kind kind,
				 const struct gsb_ipc_handle *handle);

/* ---- allocations; CALLs: ipc.c ---- */

int gsb_share_export_memory(struct gsb_tenant *t, const struct gsb_rec *rec,
			    const struct gsb_rec_mem_free *body);
int gsb_share_open_memory(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_mem_open *body);

/* An allocation of a context that others may have, or that it has opened. */
struct gsb_shared_memory {
	struct gsb_holder holder; /* first */
	uint64_t addr;
	uint64_t base; /* opened: where the device has all of it; else 0 */
	uint64_t cost; /* in the account of the context; 0: opened */
	UT_hash_handle hh;
};

/* Its holder is the caller's to fill in, or to drop it. NULL: no memory. */
struct gsb_shared_memory *gsb_share_add(struct gsb_ctx *ctx, uint64_t addr);
void gsb_share_drop(struct gsb_ctx *ctx, struct gsb_shared_memory *m);
/* NULL: nobody has ever exported it. */
struct gsb_shared_memory *gsb_share_at(struct gsb_ctx *ctx, uint64_t addr);
/* Nobody can open it from now on: it is to be freed. */
void gsb_share_retire(struct gsb_ctx *ctx, uint64_t addr);
/* The context has it no longer, nor has the device for it. Returns what of its account is to be given back. */
uint64_t gsb_share_free(struct gsb_ctx *ctx, struct gsb_shared_memory *m);
/* The space of a context has ended, and all that was in it. */
void gsb_share_ctx_finish(struct gsb_ctx *ctx);

#endif
