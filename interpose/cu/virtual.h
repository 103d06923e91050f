/*
 * virtual.h - addresses that the program has reserved, memory without an address of its own, and where that is mapped.
 *
 * All of it is the process's, of no context. What the program asks is checked and changed here first; then the engine is told, without
 * a lock, while what is being changed is busy: another thread that wants to change it, too, is wrong, and is told so. Memory lives
 * until it is released as often as it was asked for, and is mapped nowhere.
 *
 * Memory of the host is pages of the host window. They are mapped a second time where the program maps it, from then on and for its processor
 * to read and write until it says otherwise; the device has what it is given access to.
 */
#ifndef GSB_INTERPOSE_CU_VIRTUAL_H
#define GSB_INTERPOSE_CU_VIRTUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "gsb/wire.h"

/* As the driver's calls; -ies of addresses and sizes are checked. CUDA_ERROR_INVALID_VALUE, and what the engine answers. */
CUresult gsb_cu_virtual_reserve(uint64_t size, uint64_t align, uint64_t hint, uint64_t *addr);
CUresult gsb_cu_virtual_free(uint64_t addr, uint64_t size);
CUresult gsb_cu_virtual_create(uint64_t size, const CUmemAllocationProp *prop, uint64_t *handle);
/* prop's location is the host: else as above. */
CUresult gsb_cu_virtual_create_of_host(uint64_t size, const CUmemAllocationProp *prop,
				       uint64_t *handle);
CUresult gsb_cu_virtual_release(uint64_t handle);
CUresult gsb_cu_virtual_map(uint64_t addr, uint64_t size, uint64_t handle);
CUresult gsb_cu_virtual_unmap(uint64_t addr, uint64_t size);
CUresult gsb_cu_virtual_set_access(uint64_t addr, uint64_t size, CUmemAccess_flags access);
/* For the processor, which has the device's memory never: CUDA_ERROR_NOT_SUPPORTED. check: whether it could be said. */
CUresult gsb_cu_virtual_check_host_access(uint64_t addr, uint64_t size);
CUresult gsb_cu_virtual_set_host_access(uint64_t addr, uint64_t size, CUmemAccess_flags access);
CUresult gsb_cu_virtual_retain(uint64_t addr, uint64_t *handle);
CUresult gsb_cu_virtual_prop(uint64_t handle, CUmemAllocationProp *prop);

/* A descriptor of memory, which lives as long as anybody has that (CUDA_ERROR_NOT_SUPPORTED: it is the host's); and the memory that another process's stands for. */
CUresult gsb_cu_virtual_export(uint64_t handle, CUmemAllocationHandleType type, int *fd);
CUresult gsb_cu_virtual_import(const struct gsb_ipc_handle *from, uint64_t *handle);

/* What lies at an address. */
struct gsb_cu_virtual_place {
	uint64_t reserved_addr, reserved_size;
	uint64_t addr, size;	       /* of the mapping that holds it; size 0: none does */
	uint64_t id;		       /* of the reservation: cuPointerGetAttribute BUFFER_ID */
	CUmemAccess_flags access;      /* the device's */
	CUmemAccess_flags host_access; /* of memory of the host: its processor's */
	bool is_of_host;
	CUmemAllocationHandleType types; /* that were asked for */
};

/* False: it is not reserved. */
bool gsb_cu_virtual_find(uint64_t addr, struct gsb_cu_virtual_place *out);

/* The same question, for pointers of any kind: mostly it is one comparison. */
bool gsb_cu_virtual_has(uint64_t addr);

/* Whether all of these bytes are mapped, and may be read, or written. */
bool gsb_cu_virtual_allows(uint64_t addr, uint64_t bytes, bool write);

#endif
