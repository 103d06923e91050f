/*
 * process.h - this process as a tenant: what the hello brought, and whether it may still be used.
 */
#ifndef GSB_INTERPOSE_CORE_PROCESS_H
#define GSB_INTERPOSE_CORE_PROCESS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "gsb/cuabi.h"
#include "gsb/wire.h"
#include "interpose/core/lock.h"
#include "shm/keep.h"
#include "shm/ring.h"
#include "shm/wait.h"

struct gsb_process {
	/* Set by connect.c, constant after it. */
	struct gsb_region *region;
	uint8_t *staging;
	uint64_t staging_bytes;
	uint64_t host_base, host_bytes; /* window of pinned host memory; 0 bytes: there is none */
	uint64_t device_base, device_bytes; /* window of device memory */
	uint64_t image_max_bytes;
	bool spins;	       /* threads that wait may spin */
	bool virtual_time;     /* the device's clock stands still while a thread of ours runs */
	bool may_keep;	       /* memory that was freed: cu/kept.h */
	bool launch_blocking;  /* CUDA_LAUNCH_BLOCKING */
	bool device_is_hidden; /* CUDA_VISIBLE_DEVICES names no device of ours */
	struct gsb_keep keep;  /* of the descriptors that follow, and the doorbell */
	int socket, engine_pidfd;
	struct gsb_device_info device;

	GSB_CACHE_ALIGNED struct gsb_spin_room spin;
	GSB_CACHE_ALIGNED struct gsb_lock ring_lock;
	struct gsb_ring_producer ring; /* ring_lock */
};

extern struct gsb_process gsb_proc;

/*
 * Whether this process is a tenant. It points into a page that the kernel wipes in a forked child: the child must not
 * touch the shared memory, which is not even mapped there.
 */
enum gsb_tenancy {
	GSB_TENANT_NONE,
	GSB_TENANT_SERVED,
	GSB_TENANT_GIVEN_UP /* header.fatal says why */
};
extern _Atomic uint32_t *gsb_tenancy;

/* From now on, until it forks, this process is a tenant. CUDA_ERROR_OPERATING_SYSTEM. */
CUresult gsb_process_come_alive(void);

/* A child that was forked from a tenant. */
bool gsb_process_is_orphan(void);

/* The engine is gone or has cut this process off: every later call gets result, waiters wake. */
void gsb_process_set_fatal(CUresult result);

/* The same after header.fatal was set; returns what it says. */
CUresult gsb_process_give_up(void);

/*
 * Whether fd is still ours, to be asked before it is used. The program may have closed it, and everything else: then
 * that is said once, and is as fatal as the engine's death.
 */
bool gsb_process_has(int fd);

static inline bool gsb_is_alive(void)
{
	return atomic_load_explicit(gsb_tenancy, memory_order_acquire) != GSB_TENANT_NONE;
}

static inline CUresult gsb_fatal(void)
{
	return (CUresult)atomic_load_explicit(&gsb_proc.region->header.fatal, memory_order_relaxed);
}

/* What every call checks first; calls that need the engine check that it is there as well. */
static inline CUresult gsb_enter(void)
{
	return gsb_likely(gsb_is_alive()) ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED;
}

GSB_COLD CUresult gsb_enter_refused(void);

static inline bool gsb_is_served(void)
{
	return atomic_load_explicit(gsb_tenancy, memory_order_acquire) == GSB_TENANT_SERVED;
}

static inline CUresult gsb_enter_engine(void)
{
	return gsb_likely(gsb_is_served()) ? CUDA_SUCCESS : gsb_enter_refused();
}

static inline bool gsb_in_host_window(uint64_t addr)
{
	return addr - gsb_proc.host_base < gsb_proc.host_bytes;
}

static inline bool gsb_in_device_window(uint64_t addr)
{
	return addr - gsb_proc.device_base < gsb_proc.device_bytes;
}

#endif
