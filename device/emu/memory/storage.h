/*
 * storage.h - host memory that tenants make the device take: counted and limited.
 */
#ifndef GSB_DEVICE_EMU_MEMORY_STORAGE_H
#define GSB_DEVICE_EMU_MEMORY_STORAGE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What blocks take for their registers, local and shared memory, and modules for their code. A tenant
 * decides how much that is, so it is counted, for each owner and in one sum. An owner may have as much as
 * the sum leaves, which is half of max_bytes for one that is alone: there is always some for another.
 */
struct gsb_emu_storage {
	struct gsb_emu_storage *sum; /* of an owner */
	_Atomic size_t used_bytes;
	size_t max_bytes; /* of the sum */
};

/* False: there is no room, and nothing was counted. NULL counts nothing. Any thread. */
bool gsb_emu_storage_take(struct gsb_emu_storage *s, size_t bytes);
void gsb_emu_storage_give(struct gsb_emu_storage *s, size_t bytes);

#endif
