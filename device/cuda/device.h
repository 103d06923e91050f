/*
 * device.h - the structs of device/cuda, for its own files.
 *
 * These threads come here: the engine's, its loaders (code, one for each tenant that loads), its pinners (host_prepare) and two helpers. The engine's alone issues,
 * polls and owns memory and queues; modules, pins and the helpers' jobs are under locks of their own.
 */
#ifndef GSB_DEVICE_CUDA_DEVICE_H
#define GSB_DEVICE_CUDA_DEVICE_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <uthash.h>

#include "base/compiler.h"
#include "device/cuda/chain.h"
#include "device/cuda/driver.h"
#include "device/cuda/helper.h"
#include "device/cuda/joint.h"
#include "device/cuda/pace.h"
#include "device/done.h"
#include "device/ops.h"
#include "device/range.h"

#define CUDA_CHUNK_BYTES  (2ull << 20) /* the unit in which the driver maps memory */
#define CUDA_BOUNCE_BYTES (64u << 10)
#define CUDA_N_BOUNCES	  64
#define CUDA_N_QUEUES	  1024 /* completion words */
#define CUDA_N_SM_GROUPS  64
#define CUDA_ZERO_WORD	  0 /* of them, of the zeroing */

struct cuda_array;
struct cuda_chunk;
struct cuda_flight;
struct cuda_image;
struct cuda_pages;
struct cuda_partition;
struct cuda_print;
struct cuda_shared;
struct cuda_texture;

/* Part of a host window that the driver knows, and how many spaces have pinned it; 0: it is only prepared. Or a backing of the host where it is
 * mapped, which counts as one. */
struct cuda_pin {
	struct cuda_job unregister;
	struct cuda_device *dev;
	uint64_t addr, size;
	unsigned n_spaces;
	bool leaves_hole;      /* going: what is mapped there goes with it */
	struct cuda_pin *next; /* of those that go */
	UT_hash_handle hh;
};

/* Pinned memory for a small copy from or to memory that the driver does not know. */
struct cuda_bounce {
	struct cuda_bounce *next;
	uint8_t *bytes;
};

/* A moment of the device's clock and of ours. Commands are timed from it: their distance in a float is exact enough
 * only while it is short. */
struct cuda_moment {
	CUevent event;
	uint64_t ns;
};

/* When the context for registering is to be made. */
enum cuda_need { CUDA_NEEDED_LATER, CUDA_NEEDED_NOW, CUDA_NEEDED_NEVER };

/* What the driver prints for a space, until it is read. */
struct cuda_text {
	char *bytes;
	size_t n, room, read;
	bool lost; /* there was no room for some of it, which has been said */
};

/* The driver's printf FIFO: fifo.h. */
struct cuda_fifo {
	bool is_heard;
	bool told_mixed;
	CUstream stream; /* with nothing to do; NULL: no kernel prints there */
	pthread_mutex_t lock;
	struct gsb_space *
		speaker; /* whose text it is; NULL: nobody's, or of several. Changed by the engine's thread, under the lock */
};

struct cuda_device {
	struct gsb_device base;
	struct gsb_device_info info;
	struct cuda_driver cu;
	CUdevice id;
	CUcontext ctx; /* for work */
	bool exports;  /* descriptors stand for memory */
	uint64_t used_bytes;
	_Atomic int lost; /* CUresult that ended the context; any thread */

	/* ---- zeroing: a stream of its own, and an event behind the latest ---- */
	CUstream zero_stream;
	CUevent zeroed;
	uint64_t n_zeroed;
	uint64_t mapped_bytes;	  /* all that it has of the driver, whoever uses it */
	struct cuda_chunk *dying; /* given back while they are being zeroed */
	struct cuda_chunk *spare; /* given back last, and mapped still; NULL: none */
	uint64_t spare_until_ns;
	struct cuda_array *dead_arrays; /* given back, and the driver has them still */
	uint64_t dead_bytes, dead_until_ns;
	CUdeviceptr zeros;		     /* for arrays; 0: not there yet */
	uint64_t virtual_base, virtual_size; /* where backings are mapped; size 0: nowhere */
	bool has_area;			     /* it is reserved */
	unsigned n_host_backings;
	struct gsb_host_file *host_files; /* that these are parts of */
	struct gsb_space *spaces;

	/* ---- host memory ---- */
	pthread_mutex_t pin_lock;
	CUcontext
		host_ctx; /* to register it, which may be that for work; under pin_lock, NULL: it is not there yet */
	enum cuda_need host_ctx_need; /* under pin_lock */
	struct timespec host_ctx_due; /* of the monotonic clock: it is made then at the latest */
	pthread_cond_t host_ctx_needed;
	struct cuda_job make_host_ctx;
	pthread_cond_t host_ctx_made;
	pthread_cond_t pin_gone;
	struct cuda_pin *pins, *going_pins; /* under pin_lock */
	bool awaits_gone;	 /* somebody was told to ask again, since the engine slept last */
	struct gsb_ranges known; /* pins and shared buffers that are registered */
	struct cuda_shared *shared;
	unsigned n_unknown; /* of shared */
	void *bounce_memory;
	struct cuda_bounce bounces[CUDA_N_BOUNCES], *free_bounces;

	/* ---- code ---- */
	CUstream code_stream;	   /* the loader's */
	pthread_mutex_t code_lock; /* images, and the modules of all spaces */
	struct cuda_image *images; /* that loads may share or have again, last used first */
	struct cuda_helper unloader, registrar; /* one waits for kernels, the other never does */

	struct cuda_fifo fifo;

	/* ---- parts of the SMs ---- */
	CUdevResource sm_groups[CUDA_N_SM_GROUPS];
	unsigned n_sm_groups;
	bool single;	/* for one process: nobody is to have other SMs */
	bool is_client; /* of MPS */
	struct cuda_partition *partitions;

	/* ---- work ---- */
	/* The device writes here: to a queue's word the number of what has ended, to that of a graph 1. */
	volatile uint32_t *words, *marks;
	_Atomic uint32_t ended[CUDA_N_QUEUES]; /* of each queue, as the engine has noticed it */
	_Atomic uint64_t
		last[CUDA_N_QUEUES]; /* what tells that all that was sent has: cuda_ends_with() */
	uint64_t words_taken[CUDA_N_QUEUES / 64];
	bool no_words; /* the driver has refused to write two of them in one call */
	struct gsb_queue *busy;
	struct cuda_flight *free_flights;
	struct cuda_chain chain; /* of the queue that was last issued to */
	struct cuda_graphs graphs;
	struct cuda_company company; /* launches that wait for others, to be one graph */
	struct gsb_done done;	     /* what never came to the device */
	unsigned n_in_flight;
	int timer_fd;
	bool timer_armed;
	uint64_t active_ns;  /* when something was issued or completed last */
	uint64_t checked_ns; /* when the context was asked for its health last */
	uint64_t open_ns;    /* when all that is in flight was seen not to have ended */
	struct cuda_habit short_habits[CUDA_N_KINDS], long_habits[CUDA_N_KINDS];
	struct cuda_moment moment, next_moment;
	bool moment_pending;
};

struct gsb_space {
	struct cuda_device *dev;
	struct gsb_space *prev, *next; /* of dev->spaces */
	uint64_t owner;
	uint64_t base, size, limit_bytes;
	uint64_t used_bytes;	  /* that its allocations cost */
	uint64_t mapped_bytes;	  /* with what is left of slabs, and nothing that is opened */
	uint64_t n_zeroed;	  /* of dev->n_zeroed, its own latest */
	unsigned n_alone;	  /* launches and copies in a row, each alone in its queue */
	struct gsb_ranges window; /* chunks and arrays */
	struct cuda_chunk *chunks, *slabs;
	struct cuda_array *arrays;
	struct cuda_texture *textures;
	unsigned n_empty_slabs;
	struct gsb_ranges host; /* what it has pinned */
	struct gsb_ranges globals;
	struct gsb_module *modules;
	struct cuda_print
		*_Atomic print;	      /* NULL: none of its modules prints; the loader makes it */
	_Atomic uint64_t print_bytes; /* that were asked for; 0: none */
	unsigned n_fifo_flights;      /* kernels that print into the driver's FIFO (fifo.h) */
	struct cuda_text fifo_text;   /* under the FIFO's lock */
	bool asserted;		      /* an assertion may have failed in a kernel of its: */
	size_t said_at;		      /* what the driver says of that (said.h) is read from here */
};

static inline struct cuda_device *to_cuda(struct gsb_device *dev)
{
	return gsb_container_of(dev, struct cuda_device, base);
}

/* The result, after a look whether it is the context's end. */
static inline CUresult cuda_note(struct cuda_device *dev, CUresult result)
{
	int none = 0;

	if (gsb_unlikely(result && cuda_is_fatal(result)))
		atomic_compare_exchange_strong(&dev->lost, &none, (int)result);
	return result;
}

/* -errno of a call that refuses something; a fault is noted. */
static inline int cuda_refusal(struct cuda_device *dev, CUresult result)
{
	return cuda_errno(cuda_note(dev, result));
}

/* Whatever must not be refused, because nobody could tell any more whether and when a command ends. */
static inline int cuda_io_error(struct cuda_device *dev, CUresult result)
{
	if (gsb_likely(!result))
		return 0;
	cuda_note(dev, cuda_is_fatal(result) ? result : CUDA_ERROR_UNKNOWN);
	return -EIO;
}

static inline CUresult cuda_lost(struct cuda_device *dev)
{
	return (CUresult)atomic_load_explicit(&dev->lost, memory_order_relaxed);
}

#endif
