/*
 * place.c - see place.h.
 */
#include "device/emu/exec/place.h"

#include "device/emu/exec/cluster.h"
#include "device/emu/exec/fault.h"

static GSB_COLD unsigned char *no_shared(struct gsb_emu_exec *x, enum gsb_ptx_space space,
					 uint64_t addr)
{
	if (!gsb_emu_cluster_refuses(x, space, (uint32_t)addr))
		gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_ADDRESS, addr,
			     "shared memory has no address 0x%llx", (unsigned long long)addr);
	return NULL;
}

unsigned char *gsb_emu_shared_at(struct gsb_emu_exec *x, enum gsb_ptx_space space, uint64_t addr,
				 uint32_t n, uint32_t align)
{
	unsigned char *at;

	if ((uint32_t)addr % align) {
		gsb_emu_fail(x, CUDA_ERROR_MISALIGNED_ADDRESS, addr,
			     "shared address 0x%llx is not aligned to %u bytes",
			     (unsigned long long)addr, align);
		return NULL;
	}
	at = gsb_emu_cluster_at(x->block, space, (uint32_t)addr, n);
	return at ? at : no_shared(x, space, addr);
}

unsigned char *gsb_emu_global_at(struct gsb_emu_exec *x, uint64_t addr, uint32_t n, uint32_t align,
				 const char *what)
{
	static unsigned char nothing;

	if (!n)
		return &nothing;
	if (addr % align)
		gsb_emu_fail(x, CUDA_ERROR_MISALIGNED_ADDRESS, addr,
			     "address 0x%llx is not aligned to %u bytes", (unsigned long long)addr,
			     align);
	else if (!gsb_emu_in_memory(x->block->launch->memory, addr, n))
		gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_ADDRESS, addr, "%s address 0x%llx", what,
			     (unsigned long long)addr);
	else
		return (unsigned char *)(uintptr_t)addr;
	return NULL;
}
