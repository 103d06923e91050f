/*
 * device_kit.h - what a test needs to run a kernel on a device through the vtable: one space, one queue, one
 * module, memory, launches that are waited for. Everything that can only be wrong in the test itself fails
 * the test at once.
 */
#ifndef GSB_TESTS_DEVICE_KIT_H
#define GSB_TESTS_DEVICE_KIT_H

#include "device/ops.h"

#define T_DEVICE_MAX_PARAMS 256 /* bytes */

struct t_device {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_module *module;
	char log[1024];
};

/* One 8-byte argument each, cut to the size of its parameter. */
struct t_device_launch {
	const char *kernel;
	uint32_t grid, block, smem_bytes;
	bool cooperative;
	uint32_t grid_y, grid_z; /* 0: 1 */
	uint8_t cluster[3];	 /* zeros: the launch says nothing */
	uint64_t args[8];
};

void t_device_open(struct t_device *d, const char *spec, unsigned n_workers);
void t_device_close(struct t_device *d);

/* Of text, or of a file named under the source tree. What module_load returned, and d->log. */
int t_device_load(struct t_device *d, const char *text);
void t_device_load_file(struct t_device *d, const char *path);

struct gsb_function *t_device_function(struct t_device *d, const char *name,
				       struct gsb_function_info *info);

/* Memory of the device, zeroed; the emulated one's is the process's. */
void *t_device_alloc(struct t_device *d, uint64_t bytes);

/* What issue() returned, without waiting. */
int t_device_issue(struct t_device *d, const struct t_device_launch *l);
/* Prepared, issued and waited for; fails the test when it cannot be issued. */
struct gsb_completion t_device_run(struct t_device *d, const struct t_device_launch *l);

/* A file under the source tree, as one string; for free(). */
char *t_device_read(const char *path);

#endif
