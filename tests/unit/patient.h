/*
 * patient.h - operations of a device that may come later (device/ops.h), waited for: for tests of what comes of them.
 */
#ifndef GSB_TESTS_UNIT_PATIENT_H
#define GSB_TESTS_UNIT_PATIENT_H

#include <errno.h>
#include <unistd.h>

#include "device/ops.h"

static const struct gsb_device_ops *patient_of;

#define PATIENT_PAUSE_US 20

#define PATIENT(name, params, args)                                 \
	static int patient_##name params                            \
	{                                                           \
		int r;                                              \
                                                                    \
		while ((r = patient_of->name args) == -EINPROGRESS) \
			usleep(PATIENT_PAUSE_US);                   \
		return r;                                           \
	}

PATIENT(space_create,
	(struct gsb_device * dev, const struct gsb_space_params *p, struct gsb_space **out),
	(dev, p, out))
PATIENT(mem_alloc, (struct gsb_space * space, uint64_t size, uint64_t *addr), (space, size, addr))
PATIENT(array_alloc, (struct gsb_space * space, const struct gsb_array *array, uint64_t *addr),
	(space, array, addr))
PATIENT(texture_create,
	(struct gsb_space * space, const struct gsb_texture *view, bool is_surface,
	 uint64_t *handle),
	(space, view, is_surface, handle))
PATIENT(texture_destroy, (struct gsb_space * space, uint64_t handle, bool is_surface),
	(space, handle, is_surface))
PATIENT(host_pin, (struct gsb_space * space, uint64_t addr, uint64_t size), (space, addr, size))
PATIENT(backing_create,
	(struct gsb_device * dev, uint64_t owner, uint64_t size, struct gsb_backing **out),
	(dev, owner, size, out))
PATIENT(backing_of_host,
	(struct gsb_device * dev, uint64_t owner, int fd, uint64_t at, uint64_t size,
	 struct gsb_backing **out),
	(dev, owner, fd, at, size, out))
PATIENT(mem_share,
	(struct gsb_space * space, uint64_t addr, struct gsb_backing **out, uint64_t *offset,
	 uint64_t *size),
	(space, addr, out, offset, size))
PATIENT(mem_open, (struct gsb_space * space, struct gsb_backing *b, uint64_t *addr),
	(space, b, addr))
PATIENT(backing_map, (struct gsb_backing * b, uint64_t owner, uint64_t addr), (b, owner, addr))
PATIENT(backing_access,
	(struct gsb_backing * b, uint64_t owner, uint64_t addr, CUmemAccess_flags access),
	(b, owner, addr, access))
PATIENT(backing_export, (struct gsb_backing * b, int *fd, uint64_t *at), (b, fd, at))
PATIENT(backing_import,
	(struct gsb_device * dev, int fd, uint64_t at, uint64_t size, struct gsb_backing **out),
	(dev, fd, at, size, out))
PATIENT(global_get, (struct gsb_module * module, const char *name, uint64_t *addr, uint64_t *size),
	(module, name, addr, size))
PATIENT(function_name, (struct gsb_module * module, unsigned i, const char **name),
	(module, i, name))
PATIENT(cluster_room, (struct gsb_device * dev, const struct gsb_cmd_launch *l, uint32_t *n),
	(dev, l, n))
PATIENT(cluster_size, (struct gsb_device * dev, const struct gsb_cmd_launch *l, uint32_t *n),
	(dev, l, n))
PATIENT(tensor_map,
	(struct gsb_device * dev, uint64_t owner, const struct gsb_tensor_map *m,
	 uint64_t words[GSB_TENSOR_MAP_WORDS]),
	(dev, owner, m, words))
PATIENT(print_read, (struct gsb_space * space, char *buf, size_t size, bool *to_stderr, bool *more),
	(space, buf, size, to_stderr, more))
PATIENT(heap_size, (struct gsb_space * space, uint64_t bytes, uint64_t *now), (space, bytes, now))

static uint64_t patient_print_limit(struct gsb_space *space, uint64_t bytes)
{
	uint64_t now;

	while (!(now = patient_of->print_limit(space, bytes)))
		usleep(PATIENT_PAUSE_US);
	return now;
}

/* Of what the first owners have. */
static void patient_mem_info(struct gsb_device *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
	for (uint64_t owner = 1; owner <= 3; owner++)
		while (patient_of->is_settled && !patient_of->is_settled(dev, owner))
			usleep(PATIENT_PAUSE_US);
	patient_of->mem_info(dev, free_bytes, total_bytes);
}

/* The same table, which waits; of one device at a time, whose it is from now on. */
static inline void make_patient(struct gsb_device *dev)
{
	static struct gsb_device_ops ops;

	ops = *(patient_of = dev->ops);
#define WAITS(name) ops.name = ops.name ? patient_##name : NULL
	WAITS(mem_info);
	WAITS(space_create);
	WAITS(mem_alloc);
	WAITS(array_alloc);
	WAITS(texture_create);
	WAITS(texture_destroy);
	WAITS(host_pin);
	WAITS(mem_share);
	WAITS(mem_open);
	WAITS(backing_create);
	WAITS(backing_of_host);
	WAITS(backing_map);
	WAITS(backing_access);
	WAITS(backing_export);
	WAITS(backing_import);
	WAITS(global_get);
	WAITS(function_name);
	WAITS(cluster_room);
	WAITS(cluster_size);
	WAITS(tensor_map);
	WAITS(print_read);
	WAITS(print_limit);
	WAITS(heap_size);
#undef WAITS
	dev->ops = &ops;
}

#endif
