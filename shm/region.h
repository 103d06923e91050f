/*
 * region.h - making, sealing, checking and mapping the shared memory of wire.h.
 */
#ifndef GSB_SHM_REGION_H
#define GSB_SHM_REGION_H

#include <stddef.h>
#include <stdint.h>

#include "gsb/wire.h"

#define GSB_WINDOW_PAGE 4096u

/*
 * gsb_memfd_create() - a memfd of a fixed size: sealed against grow, shrink, further seals; CLOEXEC
 * Pages appear when touched; they read as zero. Return: 0, -errno.
 */
int gsb_memfd_create(const char *name, uint64_t size, int *fd);

/* The same checked from the other side: size and seals are as promised. -EPROTO if not. */
int gsb_memfd_check(int fd, uint64_t size);

/* Engine: make and map a region, header filled in. Unmap with munmap(region, sizeof(*region)). */
int gsb_region_create(uint64_t features, struct gsb_region **region, int *fd);

/* Tenant: check fd and header, map. -EPROTO (not a region of ours), -EPROTONOSUPPORT (other major version). */
int gsb_region_attach(int fd, struct gsb_region **region);

/* Map size bytes of fd shared, from wherever the kernel likes. */
int gsb_memfd_map(int fd, uint64_t size, void **out);

/* Map fd at exactly base, never over something else; MADV_DONTFORK. -EEXIST: the range is taken. */
int gsb_window_map(int fd, uint64_t base, uint64_t size);
/* The pages at [from, from + size) of a window once more, at base, in place of what blocks those numbers; and those blocked again. -errno. */
int gsb_window_map_again(uint64_t from, uint64_t base, uint64_t size);
int gsb_window_block_again(uint64_t base, uint64_t size);
/* The page that fd has at @from, at addr in a window of that file, in place of the one there. -errno. */
int gsb_window_page(int fd, uint64_t addr, uint64_t from);
/* Take the numbers [base, base + size) out of use: PROT_NONE, no memory behind. -EEXIST as above. */
int gsb_window_block(uint64_t base, uint64_t size);
void gsb_window_unmap(uint64_t base, uint64_t size);
/* A window to wherever the kernel likes, so that its numbers are free: quick, however many pages there are. NULL: it is where it was. */
void *gsb_window_move(uint64_t base, uint64_t size);

/* Windows of a slot, slot < GSB_N_SLOTS. */
static inline uint64_t gsb_host_window_base(uint32_t slot)
{
	return GSB_HOST_WINDOW_BASE + slot * GSB_HOST_WINDOW_STRIDE;
}

static inline uint64_t gsb_device_window_base(uint32_t slot)
{
	return GSB_DEVICE_WINDOW_BASE + slot * GSB_DEVICE_WINDOW_STRIDE;
}

#endif
