/*
 * pool.h - memory for what waits in a tenant's streams: bounded, and never malloc.
 *
 * One tenant, one pool: what it queues can exhaust its own pool and nobody else's, and then its
 * ring is read no further until something completed. A buddy system: blocks are powers of two and
 * neighbours join again when both are free and room for something larger is wanted, so a pool that was emptied has
 * room for blocks of the largest size all over, whatever was in it before. Pages appear when first touched.
 *
 * Not thread-safe: the engine's one thread owns it.
 */
#ifndef GSB_BROKER_ENGINE_ORDER_POOL_H
#define GSB_BROKER_ENGINE_ORDER_POOL_H

#include <stddef.h>
#include <stdint.h>

#define GSB_POOL_UNIT	  64
#define GSB_POOL_N_ORDERS 12 /* 64 bytes .. 128 KiB */
#define GSB_POOL_MAX	  ((size_t)GSB_POOL_UNIT << (GSB_POOL_N_ORDERS - 1))
#define GSB_POOL_N_KEPT	  64 /* freed blocks of a size that wait for the next of it */

struct gsb_pool_block;

struct gsb_pool {
	uint8_t *base;
	uint8_t *orders; /* a unit: the order of the block that begins there, and whether free */
	size_t size;	 /* a multiple of GSB_POOL_MAX */
	size_t fresh;	 /* bytes from here on were never used and are on no list */
	struct gsb_pool_block *free[GSB_POOL_N_ORDERS]; /* and joined with their neighbours */
	struct gsb_pool_block *kept[GSB_POOL_N_ORDERS]; /* not joined yet: last freed first */
	unsigned n_kept[GSB_POOL_N_ORDERS];
	size_t used_bytes;
};

/* size is rounded up to GSB_POOL_MAX. -ENOMEM. */
int gsb_pool_init(struct gsb_pool *p, size_t size);
void gsb_pool_finish(struct gsb_pool *p); /* takes a zeroed one too; blocks die with it */

/* Aligned to 64, contents undefined; NULL when there is no room. size <= GSB_POOL_MAX. O(orders). */
void *gsb_pool_alloc(struct gsb_pool *p, size_t size);
void gsb_pool_free(struct gsb_pool *p, void *block); /* NULL is fine */

#endif
