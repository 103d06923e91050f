/*
 * alloc.c - malloc and free of kernels. The heap is the launch's; without one, or when it is full, malloc
 * gives NULL, as CUDA documents. A pointer that malloc has not given ends the kernel that frees it, and
 * nobody else notices.
 */
#include "device/emu/exec/builtin.h"
#include "device/emu/exec/fault.h"
#include "device/emu/memory/malloc.h"

static const struct gsb_emu_op *bad_area(struct gsb_emu_exec *x)
{
	return gsb_emu_fail(x, CUDA_ERROR_HARDWARE_STACK_ERROR, 0, "call stack overflow");
}

/* malloc(size), or with op->e the alignment behind it */
GSB_EMU_HANDLER(gsb_emu_do_MALLOC)
{
	struct gsb_emu_malloc *heap = x->block->launch->heap;

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		uint64_t size, align = GSB_EMU_HEAP_ALIGN, addr;

		if (!gsb_emu_area_read(x, op, i, 0, &size, 8) ||
		    (op->e && !gsb_emu_area_read(x, op, i, 1, &align, 8)))
			return bad_area(x);
		addr = heap ? gsb_emu_malloc(heap, size, align) : 0;
		gsb_emu_area_write(x, op, i, &addr, sizeof(addr));
	}
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_FREE)
{
	struct gsb_emu_malloc *heap = x->block->launch->heap;

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		uint64_t addr;

		if (!gsb_emu_area_read(x, op, i, 0, &addr, 8))
			return bad_area(x);
		if (addr && (!heap || gsb_emu_malloc_free(heap, addr)))
			return gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, addr,
					    "free of 0x%llx, which malloc has not given or is free",
					    (unsigned long long)addr);
	}
	return op + 1;
}
