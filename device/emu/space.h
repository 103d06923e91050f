/*
 * space.h - spaces, as ops.h says of the operations of these names.
 */
#ifndef GSB_DEVICE_EMU_SPACE_H
#define GSB_DEVICE_EMU_SPACE_H

#include "device/ops.h"

int emu_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
		     struct gsb_space **out);
void emu_space_cancel(struct gsb_space *space);
void emu_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes);
void emu_space_destroy(struct gsb_space *space);
int emu_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr);
uint64_t emu_mem_cost(struct gsb_device *base, uint64_t size);
int emu_mem_free(struct gsb_space *space, uint64_t addr);
int emu_mem_share(struct gsb_space *space, uint64_t addr, struct gsb_backing **out,
		  uint64_t *offset, uint64_t *size);
int emu_mem_open(struct gsb_space *space, struct gsb_backing *b, uint64_t *addr);
int emu_backing_create(struct gsb_device *dev, uint64_t owner, uint64_t size,
		       struct gsb_backing **out);
int emu_backing_of_host(struct gsb_device *dev, uint64_t owner, int fd, uint64_t at, uint64_t size,
			struct gsb_backing **out);
void emu_backing_unmap(struct gsb_backing *b, uint64_t owner, uint64_t addr);
int emu_backing_import(struct gsb_device *dev, int fd, uint64_t at, uint64_t size,
		       struct gsb_backing **out);
int emu_host_pin(struct gsb_space *space, uint64_t addr, uint64_t size);
int emu_host_unpin(struct gsb_space *space, uint64_t addr, uint64_t size);
int emu_print_read(struct gsb_space *space, char *buf, size_t size, bool *to_stderr, bool *more);
uint64_t emu_print_limit(struct gsb_space *space, uint64_t bytes);
int emu_heap_size(struct gsb_space *space, uint64_t bytes, uint64_t *now);
void emu_stack_size(struct gsb_space *space, uint64_t bytes);

/* A kernel that calls malloc is to run: its heap has memory from now on. Return: 0, -ENOMEM. */
int emu_space_start_heap(struct gsb_space *space);

#endif
