/*
 * module.h - code of device/cuda: images, kernels and variables. The functions are those of ops.h; any of them may be called on
 * the loader's thread, too.
 */
#ifndef GSB_DEVICE_CUDA_MODULE_H
#define GSB_DEVICE_CUDA_MODULE_H

#include "device/cuda/device.h"

/* Of a launch. */
struct cuda_geometry {
	uint32_t grid[3], block[3]; /* 0: there was none */
	uint32_t smem_bytes;
};

struct gsb_function {
	struct gsb_function *next; /* of its module */
	struct gsb_module *module;
	CUkernel kernel;
	CUfunction function; /* NULL: not prepared */
	uint32_t params_bytes;
	int32_t smem_max; /* dynamic bytes that the driver allows now */
	bool has_large_clusters;
	bool has_clusters; /* of its own, whether they are asked for or not */
	struct cuda_geometry
		taken; /* in which the driver has taken it last; the engine's thread alone */
	struct cuda_print *print; /* its module prints; NULL: it does not, or the driver's way */
	bool uses_fifo;		  /* its module prints the driver's way, and that is heard */
	bool asserts;		  /* its module does, so it may */
	struct cuda_habit habit;  /* the engine's thread alone */
};

int cuda_module_load(struct gsb_space *space, const void *image, size_t size,
		     struct gsb_module **out, char *log, size_t log_size);
void cuda_module_unload(struct gsb_module *module);
uint64_t cuda_module_bytes(struct gsb_module *module);
uint64_t cuda_module_cost(struct gsb_module *module);
uint64_t cuda_module_managed(struct gsb_module *module);
int cuda_module_place(struct gsb_module *module, uint64_t addr, bool initialise);
int cuda_function_get(struct gsb_module *module, const char *name, struct gsb_function **out,
		      struct gsb_function_info *info);
int cuda_global_get(struct gsb_module *module, const char *name, uint64_t *addr, uint64_t *size);
int cuda_function_name(struct gsb_module *module, unsigned i, const char **name);
int cuda_function_prepare(struct gsb_function *function, char *log, size_t log_size);

void cuda_images_finish(struct cuda_device *dev); /* no module is left */

#endif
