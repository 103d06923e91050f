/*
 * backing.h - memory without an address of its own, and where it is mapped: as ops.h says of the backings.
 *
 * A backing is a part of a file: of the one for all that are made here, of a heap whose memory is shared, of another process, or of a tenant's window. A mapping
 * is a mapping of that part, so that what lies at several addresses is the same pages. Whose each unit of the area is, and what may be done there, stands in a table, which a kernel's
 * access is checked by: spaces of one owner have the owner's units, and no others, whoever has made what is there.
 *
 * A place where nothing is mapped is like its neighbours, to be one mapping with them: a process may have only so many.
 *
 * Context: the lock of the card guards all but what gsb_emu_is_mapped() reads; functions are for any thread.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_BACKING_H
#define GSB_DEVICE_EMU_MEMORY_BACKING_H

#include <stdint.h>

#include "device/emu/memory/address.h"
#include "device/ops.h"
#include "device/range.h"

struct emu_file;
struct emu_mapper;
struct emu_vram;
struct gsb_host_file;

struct emu_backings {
	struct gsb_emu_area area;
	struct emu_file *file;	 /* NULL: not yet */
	struct gsb_ranges taken; /* what of it backings have */
	struct emu_mapper *mappers;
	struct gsb_host_file *host_files;
};

struct gsb_backing {
	struct emu_vram *vram;
	struct emu_file *file;
	uint64_t at, size;		    /* in the file */
	unsigned n_users;		    /* who has it, and who has opened it */
	void (*end)(struct gsb_backing *b); /* what the last of them does; NULL: nothing */
};

/* @base, @size: the area, which is taken when the first backing is made; 0: there is none. */
void emu_backings_init(struct emu_backings *b, uint64_t base, uint64_t size);
void emu_backings_finish(struct emu_backings *b); /* none is left */

int emu_backing_make(struct emu_vram *vram, uint64_t size, struct gsb_backing **out);
void emu_backing_destroy(struct gsb_backing *b);
int emu_backing_map(struct gsb_backing *b, uint64_t owner, uint64_t addr);
int emu_backing_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
		       CUmemAccess_flags access);
void emu_backing_remove(struct gsb_backing *b, uint64_t owner, uint64_t addr);
int emu_backing_export(struct gsb_backing *b, int *fd, uint64_t *at);
int emu_backing_adopt(struct emu_vram *vram, int fd, uint64_t at, uint64_t size,
		      struct gsb_backing **out);
/* The same of a file of which an owner may have many. */
int emu_backing_adopt_of_host(struct emu_vram *vram, uint64_t owner, int fd, uint64_t at,
			      uint64_t size, struct gsb_backing **out);

/* One user less; with the lock. */
void emu_backing_put(struct gsb_backing *b);

#endif
