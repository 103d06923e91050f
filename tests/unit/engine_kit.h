/*
 * engine_kit.h - an engine with a device whose completions the test decides, and tenants that live
 * in the test's own process: real region, real ring, real socket, no second process.
 *
 * The device has real memory behind its addresses, so that copies and fills can be checked, and one
 * kernel, "inc": it adds 1 to each of n words at p (struct kit_inc). By itself it completes nothing:
 * kit_complete() says what ends, when and how; kit_device_auto() makes it complete at once. What the engine
 * gives back to it, memory, a module or a space, must be nothing that a command on it still works with.
 * The engine's turns are taken by the test's thread, so an order seen once is seen always.
 */
#ifndef GSB_TESTS_ENGINE_KIT_H
#define GSB_TESTS_ENGINE_KIT_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "broker/engine/admission.h"
#include "broker/engine/engine.h"
#include "broker/engine/loop.h"
#include "tests/unit/tenant_kit.h"

#define KIT_LOG_MAX 65536

/* One command that was issued, in the order of issue. */
struct kit_cmd {
	enum gsb_cmd_kind kind;
	struct gsb_space *space;
	struct gsb_queue *queue;
	uint64_t cookie, not_before_ns;
	uint64_t addr;		   /* COPY, FILL: destination; LAUNCH: p */
	uint64_t src;		   /* COPY */
	struct gsb_module *module; /* LAUNCH */
	uint32_t grid[3], block[3];
	_Alignas(8) uint8_t params[96]; /* the first of them */
	bool more, urgent, done;
};

struct kit_device {
	struct gsb_device base;
	struct gsb_device_info info;
	struct gsb_device_ops ops;
	struct kit_cmd log[KIT_LOG_MAX];
	unsigned n_issued, n_open, n_queues;
	struct gsb_completion done[GSB_N_QUEUES * 2];
	unsigned n_done;
	bool automatic;
	uint64_t now_ns;
	int event_fd, prepare_err, issue_err;
	unsigned n_backings, n_mappings;
	int backing_err;	/* what map and access return, and who opens memory gets */
	uint64_t piece_bytes;	/* what an allocation that is shared is in, if that is more */
	unsigned refuse_access; /* of the accesses to come this one alone: 1 is the next */
	unsigned n_spaces, n_modules, n_cancels, n_advances;
	pthread_mutex_t preparing;	       /* a test that holds it holds up function_prepare */
	const struct gsb_space *prepares_late; /* of this space alone; NULL: of all */
	uint64_t used_bytes, advanced_to_ns;
	uint64_t module_bytes,
		module_cost; /* of each: host memory; device memory, which is not in used_bytes */
	uint64_t module_heap,
		heap_size; /* what kernels allocate themselves; heap_size: as it was set */
	bool heap_in_use;
	uint64_t module_managed; /* of each */
	uint64_t managed;	 /* where the last was placed */
	bool initialised;
};

struct kit_device *kit_device_create(bool virtual_clock);
void kit_device_destroy(struct kit_device *d);
static inline void kit_device_auto(struct kit_device *d)
{
	d->automatic = true;
}

/* Begin the log anew; nothing is open. */
void kit_device_forget(struct kit_device *d);

/* The i-th issued command ends now, at device time end_ns. */
void kit_complete(struct kit_device *d, unsigned i, CUresult result, uint64_t end_ns);
/* The same; it has run since start_ns. */
void kit_complete_run(struct kit_device *d, unsigned i, CUresult result, uint64_t start_ns,
		      uint64_t end_ns);

struct kit_engine {
	struct kit_device *dev;
	struct gsb_engine *engine;
	uint32_t next_id;
};

/* How long virtual time waits for a thread that runs: for ever, however busy this machine is; or a moment. */
#define KIT_PATIENCE_NS	  100000000000ull
#define KIT_IMPATIENCE_NS 1000000

void kit_engine_init(struct kit_engine *k, bool virtual_clock); /* with the policy fifo; patient */
void kit_engine_init_with(struct kit_engine *k, bool virtual_clock,
			  const struct gsb_policy *policy);
void kit_engine_finish(struct kit_engine *k); /* asserts that nothing is left on the device */
void kit_settle(struct kit_engine *k);	      /* turns until there is nothing to do */

/* ---- tenants ---- */

/* limits NULL: the defaults. The context (index 0, legacy stream 0) is made already. */
void kit_tenant_init(struct kit_tenant *kt, struct kit_engine *k,
		     const struct gsb_tenant_limits *limits);
/* Without a context. Returns what gsb_tenant_admit returned. */
int kit_tenant_admit(struct kit_tenant *kt, struct kit_engine *k,
		     const struct gsb_tenant_limits *limits, char *why, size_t why_size);
void kit_tenant_die(struct kit_tenant *kt);    /* as a process dies: the pidfd becomes readable */
void kit_tenant_finish(struct kit_tenant *kt); /* die, have it reaped, free this side */
void kit_tenant_free(struct kit_tenant *kt);   /* this side alone, when the engine has ended */
bool kit_tenant_is_gone(const struct kit_tenant *kt);

/* Load a module (index) that this device takes, and get "inc" of it as function index. */
void kit_load_inc(struct kit_tenant *kt, uint32_t module, uint32_t fn);

#endif
