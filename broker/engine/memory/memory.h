/*
 * memory.h - a tenant's memory: allocations with quotas, frees that wait for work, and the check of
 * every address that a record names.
 *
 * Two maps a context and two a tenant: "taken" is what is allocated, "live" is what a record may
 * name. A free takes memory out of "live" when it is consumed and out of "taken" when the work
 * before it is done, so nothing can name memory that is about to go, and nothing reuses it before.
 *
 * A limit and the engine's grant (grant.h) are checked before the device is asked. Both count what the device
 * says that an allocation takes, and the variables of modules, too.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_MEMORY_H
#define GSB_BROKER_ENGINE_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "device/ops.h"
#include "gsb/wire.h"

struct gsb_tenant;
struct gsb_ctx;
struct gsb_gone;
struct gsb_later;

/* CALLs, answered here or when the work before them is done. 0, -EPROTO, -EAGAIN: dispatch.h. An array is freed as memory is. */
int gsb_memory_alloc(struct gsb_tenant *t, const struct gsb_rec *rec,
		     const struct gsb_rec_mem_alloc *body);
int gsb_memory_alloc_array(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_array_alloc *body);
int gsb_memory_free(struct gsb_tenant *t, const struct gsb_rec *rec,
		    const struct gsb_rec_mem_free *body);
int gsb_memory_free_async(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_mem_free *body);
int gsb_memory_info(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t ctx);
int gsb_memory_host_alloc(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_mem_alloc *body);
int gsb_memory_host_mirror(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_host_mirror *body);
/* Its window and the file of that, to be swept. The window's numbers are free at once. */
struct gsb_gone gsb_memory_host_leave(struct gsb_tenant *t);
int gsb_memory_host_free(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_mem_free *body);
/* Of a context: its maps. */
void gsb_memory_ctx_init(struct gsb_ctx *ctx);
/* And the pinned memory that its tenant has already, from *from on, which says how far that has come. Later (device/ops.h); -errno. */
int gsb_memory_ctx_pin(struct gsb_ctx *ctx, uint64_t *from);
/* Who pins for several contexts, or makes one, does so alone. False: another one does, ask again later. Until gsb_memory_pinned(). */
bool gsb_memory_may_pin(struct gsb_tenant *t, struct gsb_later *l);
void gsb_memory_pinned(struct gsb_tenant *t, const struct gsb_later *l);
/* Its end has begun: what is every context's goes when the work of all of them until now is done. -EAGAIN. */
int gsb_memory_ctx_retire(struct gsb_ctx *ctx);
/* Its calls that wait for memory are answered now. */
void gsb_memory_ctx_cancel(struct gsb_ctx *ctx);
/* What a context that ends has not freed; its work is done, its space still there. */
void gsb_memory_ctx_finish(struct gsb_ctx *ctx);

/*
 * gsb_memory_use() - count what an allocation or a module takes of the device (account.h)
 * @bytes: granted (grant.h), and if this fails still to be given back
 *
 * Return: 0, -EDQUOT: more than the tenant may have.
 */
int gsb_memory_use(struct gsb_ctx *ctx, uint64_t bytes);
/* The same of what is of no context. */
int gsb_memory_charge(struct gsb_tenant *t, uint64_t bytes);
/* Whether it may have so many more; what it has kept goes first. -EDQUOT. */
int gsb_memory_check_limit(struct gsb_tenant *t, uint64_t bytes);

/*
 * Memory of the engine's own in a context's space, as long as that lives: no record can name it. It counts as the
 * tenant's. have() is called when it is there, here or later; 0: there is none.
 */
void gsb_memory_of_engine(struct gsb_ctx *ctx, uint64_t size,
			  void (*have)(struct gsb_ctx *ctx, uint64_t addr));

/* CU_LIMIT_MALLOC_HEAP_SIZE and CU_LIMIT_STACK_SIZE of a context. */
int gsb_memory_of_kernels(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_kernel_memory *body);

/* CALLs about what reads memory and arrays: texture and surface objects of the device, which go with their context. */
int gsb_memory_create_texture(struct gsb_tenant *t, const struct gsb_rec *rec,
			      const struct gsb_rec_texture_create *body);
int gsb_memory_destroy_texture(struct gsb_tenant *t, const struct gsb_rec *rec,
			       const struct gsb_rec_texture_destroy *body);

/*
 * What a free is made of (kept.h). retire: nothing may name it from now on; size: as it was asked for; -EPROTO: no allocation begins there. revive: it is allocated again; -ENOMEM. release: it goes
 * back to the device.
 */
int gsb_memory_retire(struct gsb_ctx *ctx, uint64_t addr, uint64_t *size);
int gsb_memory_revive(struct gsb_ctx *ctx, uint64_t addr, uint64_t size);
void gsb_memory_release(struct gsb_ctx *ctx, uint64_t addr);

/* A variable of a module may be named in copies, too. */
int gsb_memory_add_global(struct gsb_ctx *ctx, uint64_t addr, uint64_t size);
void gsb_memory_remove_global(struct gsb_ctx *ctx, uint64_t addr);

/* Whose record names memory, and the other contexts of its tenant whose memory that is: what they free has to wait for it. */
#define GSB_MEMORY_OWNERS_MAX 2
struct gsb_memory_user {
	struct gsb_ctx *ctx;
	struct gsb_ctx *owners[GSB_MEMORY_OWNERS_MAX];
	unsigned n_owners; /* the checks below add to them */
};

/* Whether all of it is pinned memory that a record may name. */
bool gsb_memory_is_pinned(const struct gsb_tenant *t, uint64_t addr, uint64_t bytes);

/*
 * gsb_memory_check_copy() - turn a copy record into a command
 * @body:   from a hostile tenant
 *          whose extent is not empty
 * @bytes:  bytes that followed the body
 * @out:    engine addresses; an INLINE source is left 0 for the caller
 * Return:  0, -EPROTO (and the violation is noted).
 */
int gsb_memory_check_copy(struct gsb_memory_user *user, const struct gsb_rec_copy *body,
			  uint32_t bytes, struct gsb_cmd_copy *out);
int gsb_memory_check_fill(struct gsb_memory_user *user, const struct gsb_rec_fill *body,
			  struct gsb_cmd_fill *out);

#endif
