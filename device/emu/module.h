/*
 * module.h - loads of modules, and their functions. As ops.h says of the operations of these names.
 */
#ifndef GSB_DEVICE_EMU_MODULE_H
#define GSB_DEVICE_EMU_MODULE_H

#include "device/emu/device.h"

struct gsb_function {
	struct gsb_function *next;
	struct gsb_module *module;
	const struct gsb_code_kernel *kernel;
	struct gsb_emu_code *lowered; /* NULL until prepared; counted in the space's storage */
	struct gsb_emu_pool pool;
	struct gsb_block_profile profile; /* the clock's */
};

struct gsb_module {
	struct gsb_space *space;
	LIST_ENTRY(gsb_module) link;
	struct gsb_code *code;
	size_t code_bytes;    /* what it counts for in the space's storage */
	pthread_mutex_t lock; /* functions and what they have lowered: the loader calls too */
	struct gsb_function *functions;
	uint64_t globals; /* one allocation for all variables; 0 = none */
	uint64_t global_bytes, managed_bytes;
	uint64_t *var_addr; /* by var->index */
};

int emu_module_load(struct gsb_space *space, const void *image, size_t size,
		    struct gsb_module **out, char *log, size_t log_size);
void emu_module_unload(struct gsb_module *module);
uint64_t emu_module_bytes(struct gsb_module *module);
uint64_t emu_module_cost(struct gsb_module *module);
uint64_t emu_module_managed(struct gsb_module *module);
int emu_module_place(struct gsb_module *module, uint64_t addr, bool initialise);
uint64_t emu_module_heap(struct gsb_module *module);
int emu_function_get(struct gsb_module *module, const char *name, struct gsb_function **out,
		     struct gsb_function_info *info);
int emu_global_get(struct gsb_module *module, const char *name, uint64_t *addr, uint64_t *size);
int emu_function_name(struct gsb_module *module, unsigned i, const char **name);
int emu_function_prepare(struct gsb_function *function, char *log, size_t log_size);

#endif
