/*
 * state.h - the fake driver's own: one lock, everything that it has handed out, and the device that executes.
 */
#ifndef GSB_TESTS_FAKE_STATE_H
#define GSB_TESTS_FAKE_STATE_H

#include <pthread.h>
#include <uthash.h>
#include <utstring.h>

#include "device/ops.h"
#include "tests/fake/fake.h"

/* Kernels reach what is mapped and registered between these; variables of modules lie behind. */
#define FAKE_HOST_BASE	 0x110000000000ull
#define FAKE_DEVICE_BASE 0x700000000000ull
#define FAKE_DEVICE_SIZE (1ull << 34)

/* The calls that it exports: those that device/cuda makes, and no others. */
#define GSB_DRIVER(name, parameters, threads) GSB_EXPORT CUresult name parameters;
#include "device/cuda/driver.def"
GSB_EXPORT CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device); /* gsb-model asks for it */

struct fake_deferred;

struct fake_object {
	struct {
		uint64_t kind, at; /* an address or a handle */
	} key;
	uint64_t size;
	bool exports; /* a handle that was made so */
	UT_hash_handle hh;
};

struct fake {
	pthread_mutex_t lock;
	pthread_cond_t change; /* something has completed */
	struct fake_object *objects;
	CUresult lost;
	CUresult
		told_next; /* of a client of MPS: the next query of a stream is not ready, and then it is lost */

	struct gsb_device *device; /* NULL: not initialised */
	struct gsb_space *space;
	pthread_t worker;
	int wake_fd;
	bool stop, paused;
	UT_string fifo;	   /* what kernels have printed, and nobody has waited since */
	size_t fifo_bytes; /* that somebody has asked for; 0: nobody has */
	bool no_descriptors;
	unsigned n_early;
	size_t heap_bytes;  /* of malloc() in kernels; 0: nobody has set it */
	unsigned n_loading; /* modules: launches wait */
	struct fake_deferred *deferred;
};

extern struct fake fake;

/*
 * A call of the driver is `return fake_enter(__func__) ?: fake_leave(body)`: between the two the lock is held. fake_enter()
 * returns what was injected, or what the context was lost with. Of a call that gives something back it is
 * fake_lock(), and at its end
 * fake_leave_anyway(): it has done so whatever it returns.
 */
CUresult fake_enter(const char *name);
CUresult fake_leave(CUresult result);
void fake_lock(void);
CUresult fake_leave_anyway(const char *name, CUresult result);

/* Under the lock. */
void fake_add(enum fake_kind kind, uint64_t at, uint64_t size);
struct fake_object *fake_find(enum fake_kind kind, uint64_t at);
CUresult fake_remove(enum fake_kind kind, uint64_t at);
bool fake_within(enum fake_kind kind, uint64_t at, uint64_t size); /* one object holds all of it */
bool fake_cuts(enum fake_kind kind, uint64_t at,
	       uint64_t size); /* one holds some of it, and not all */

/* The device that executes, and the thread that takes its completions. Under the lock. */
CUresult fake_work_start(void);
void fake_work_stop(void); /* not under the lock */
void fake_retire(
	uint64_t at,
	uint64_t size); /* memory is about to go: when nothing in flight copies or fills it */
void fake_wait_for_all(void);
void fake_wait_for_kernels(void); /* those that run; no other begins meanwhile */
CUresult fake_work_copy(CUstream stream, struct gsb_cmd_copy c);
CUresult fake_work_error(int err); /* the driver's code for -errno of the device */
bool fake_is_elsewhere(
	void); /* this thread, in a context that is not the one that all streams are of */
bool fake_is_client(void); /* of a daemon of MPS, which is there */

static inline uint64_t fake_handle(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

#endif
