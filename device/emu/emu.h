/*
 * emu.h - the emulated device inside: what its files share.
 *
 *	emu.c		 the table of operations, life of the device, queues, checks at issue
 *	module.c	 loads of modules: globals, functions
 *	flip.c		 fault injection for tests
 *	memory/space.c	 address spaces: windows, allocations, quotas
 *	clock/clock.c	 the simulation: starts commands, places blocks, moves time, completes
 *	clock/worker.c	 the threads that execute blocks and copies
 *	lower/, exec/	 the interpreter: code from PTX, and what executes it; both know code/
 *
 * Two things run at their own pace. The simulation, in device time, decides when a block starts and
 * ends; the workers, in real time, execute what has been started, as early as they can. A block
 * that is placed has a known start; its end is known once it has been executed. Device time may not
 * pass an instant at which an open block could end: see may_pass() in clock.c. That is all the
 * coupling there is, and it is why the timeline does not depend on how fast or how many the workers
 * are.
 *
 * Locks: dev->lock for the simulation and the workers' list; dev->memory_lock for allocations (a
 * leaf: taken alone or inside dev->lock). A block executes under neither.
 */
#ifndef GSB_DEVICE_EMU_EMU_H
#define GSB_DEVICE_EMU_EMU_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "device/code.h"
#include "device/done.h"
#include "device/emu/exec/exec.h"
#include "device/info.h"
#include "device/ops.h"
#include "device/range.h"
#include "model/block_time.h"
#include "model/machine.h"

#define EMU_PARAMS_INLINE 256 /* bytes of parameters that need no allocation of their own */
#define EMU_WORKERS_MAX	  256

extern const struct gsb_device_ops gsb_emu_ops;

/* ---- memory ---- */

struct gsb_space {
	struct emu_device *dev;
	struct gsb_emu_memory memory; /* what the interpreter checks against */
	struct gsb_ranges device, host;
	uint64_t limit_bytes, used_bytes;
	size_t n_allocs;
	struct gsb_emu_storage storage;
	struct gsb_range *retired; /* freed while a copy was running; scrubbed after it */
	size_t n_retired, retired_capacity;
	unsigned n_touching; /* copies that are running */
	LIST_HEAD(emu_modules, gsb_module) modules;
};

/* ---- code ---- */

struct gsb_function {
	struct gsb_function *next;
	struct gsb_module *module;
	const struct gsb_code_kernel *kernel;
	struct gsb_emu_code *lowered; /* NULL until prepared; counted in the space's storage */
	struct gsb_emu_pool pool;
};

struct gsb_module {
	struct gsb_space *space;
	LIST_ENTRY(gsb_module) link;
	struct gsb_code *code;
	size_t code_bytes;    /* what it counts for in the space's storage */
	pthread_mutex_t lock; /* functions and what they have lowered: the loader calls too */
	struct gsb_function *functions;
	uint64_t globals;   /* one allocation for all variables; 0 = none */
	uint64_t *var_addr; /* by var->index */
};

/* ---- work ---- */

enum emu_cmd_state {
	EMU_WAITING, /* behind others, or before its time */
	EMU_RUNNING,
	EMU_ENDED, /* in device time; a worker may still be at it */
};

struct emu_cmd {
	STAILQ_ENTRY(emu_cmd) link; /* in its queue */
	struct gsb_queue *queue;
	struct gsb_space *space;
	enum gsb_cmd_kind kind;
	enum emu_cmd_state state;
	bool cancelled, started;
	uint64_t cookie, seq;	    /* seq: of issue, over all queues */
	uint64_t not_before;	    /* device time */
	uint64_t start_ns, end_ns;  /* end: copies know it from the start */
	uint64_t n_blocks, n_insns; /* of blocks that have ended */
	unsigned n_jobs;	    /* that exist; 0 = no worker is or will be at it */
	unsigned n_running;	    /* of them, which a worker has */
	uint64_t ran_ns;      /* real time with n_running > 0, up to the last time that it was 0 */
	uint64_t ran_from_ns; /* real time since when it is not 0 */
	CUresult result;
	char detail[160];
	/* launch */
	struct gsb_emu_launch launch;
	struct gsb_machine_submit submit;
	struct gsb_machine_grid *grid; /* NULL before submit and after the last end */
	uint8_t *big_params;	       /* NULL: inline_params */
	uint8_t inline_params[EMU_PARAMS_INLINE];
	/* copy, fill */
	struct gsb_cmd_copy copy;
	struct gsb_cmd_fill fill;
	unsigned engine; /* copy engine, while running */
	bool flip;	 /* see flip.c */
};

struct gsb_queue {
	struct emu_device *dev;
	LIST_ENTRY(gsb_queue) link;
	int priority;
	STAILQ_HEAD(emu_cmds, emu_cmd) cmds;
	uint64_t ready_ns; /* the head may start from then on */
};

/* Something for a worker: one block, or one copy. */
struct emu_job {
	TAILQ_ENTRY(emu_job) ready; /* in the workers' list */
	TAILQ_ENTRY(emu_job) open;  /* of jobs that are not yet executed, or free ones */
	struct emu_cmd *cmd;
	uint64_t bound_ns; /* its end, or the earliest that its end can be */
	bool running;	   /* a worker has it */
	bool abandoned;	   /* it has no part in device time any more */
	bool executed;	   /* not open any more */
	/* blocks */
	uint32_t slot, sm; /* slot: of the machine; also while it is not open any more */
	uint64_t start_ns;
	struct gsb_block_company company;
	struct gsb_emu_block *block; /* NULL before its first slice */
	struct gsb_emu_stats stats;  /* after its last slice */
	uint32_t ctaid[3];
	CUresult result;
	char detail[160];
};

struct emu_device {
	struct gsb_device base;
	struct gsb_device_ops ops; /* gsb_emu_ops, less what the clock does not have */
	struct gsb_device_info info;
	bool real_clock;
	struct gsb_code_cache *codes;
	int flip_nth; /* -1 none, 0 each, else that one */

	pthread_mutex_t memory_lock;
	uint64_t used_bytes;
	size_t n_allocs, max_allocs;
	struct gsb_emu_storage storage; /* the sum */

	pthread_mutex_t lock;
	/* the simulation */
	uint64_t now_ns, target_ns; /* time may run to target, */
	bool to_completion;	    /* and to the next completion */
	struct gsb_machine *machine;
	LIST_HEAD(emu_queues, gsb_queue) queues;
	struct emu_cmd *engines[GSB_N_COPY_ENGINES];
	struct emu_job **job_of_slot;
	uint64_t next_seq, next_grid, n_flippable;
	uint64_t resident_warps;
	unsigned n_in_flight;
	/* completions */
	struct gsb_done done;
	int event_fd;
	bool armed; /* poll has returned 0: the next completion signals */
	bool signalled;
	/* the workers */
	TAILQ_HEAD(emu_jobs, emu_job) ready, open, free_jobs;
	const struct emu_job *blocker; /* the open job that time waits for; NULL = none known */
	pthread_cond_t work;
	pthread_t *threads;
	unsigned n_threads, n_idle;
	bool stopping;
};

static inline struct emu_device *to_emu(struct gsb_device *dev)
{
	return (struct emu_device *)dev; /* base is first */
}

/* ---- space.c ---- */
/* How many allocations the device may have. */
size_t emu_max_allocs(void);
int emu_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
		     struct gsb_space **out);
void emu_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes);
void emu_space_destroy(struct gsb_space *space);
int emu_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr);
int emu_mem_free(struct gsb_space *space, uint64_t addr);
int emu_host_pin(struct gsb_space *space, uint64_t addr, uint64_t size);
int emu_host_unpin(struct gsb_space *space, uint64_t addr, uint64_t size);
void emu_mem_info(struct gsb_device *dev, uint64_t *free_bytes, uint64_t *total_bytes);
/* True when the part of these rows that lies in the device window is allocated. From a true answer
 * until emu_touch_end() the memory stays mapped, freed or not. */
bool emu_touch_begin(struct gsb_space *space, const struct emu_cmd *cmd);
void emu_touch_end(struct gsb_space *space);
bool emu_is_device(const struct gsb_space *space, uint64_t addr);

/* ---- module.c ---- */
int emu_module_load(struct gsb_space *space, const void *image, size_t size,
		    struct gsb_module **out, char *log, size_t log_size);
void emu_module_unload(struct gsb_module *module);
int emu_function_get(struct gsb_module *module, const char *name, struct gsb_function **out,
		     struct gsb_function_info *info);
int emu_global_get(struct gsb_module *module, const char *name, uint64_t *addr, uint64_t *size);
const char *emu_function_name(struct gsb_module *module, unsigned i);
int emu_function_prepare(struct gsb_function *function, char *log, size_t log_size);

/* ---- clock.c; all with dev->lock held ---- */
/* Append to its queue, which takes part from now on. */
void emu_clock_issue(struct emu_device *dev, struct emu_cmd *cmd);
void emu_clock_cancel(struct emu_device *dev, const struct gsb_space *space);
/* Do all that can be done now, and let time run as far as it may. */
void emu_clock_step(struct emu_device *dev);
/* A worker has executed one slice of the job, or all of it. */
void emu_clock_slice_done(struct emu_device *dev, struct emu_job *job);
void emu_clock_job_done(struct emu_device *dev, struct emu_job *job);

/* ---- worker.c ---- */
int emu_workers_start(struct emu_device *dev, unsigned n);
void emu_workers_stop(struct emu_device *dev);
/* With dev->lock held: behind the others, and a worker that sleeps is woken. */
void emu_worker_add(struct emu_device *dev, struct emu_job *job);
/* With dev->lock held: take a job that no worker has out of the list. */
void emu_worker_remove(struct emu_device *dev, struct emu_job *job);
/* Real time that a worker has been at the command, however many were. */
uint64_t emu_worker_ran_ns(const struct emu_cmd *cmd);

/* ---- flip.c ---- */
/* "1" or "copy:N"; -EINVAL for anything else. NULL: none. */
int emu_flip_parse(const char *text, int *nth);
/* Is this device-to-host copy one to be spoilt? Counts it. dev->lock held. */
bool emu_flip_wanted(struct emu_device *dev, const struct emu_cmd *cmd);
/* Just before the copy: see flip.c for which bit. */
void emu_flip_apply(const struct emu_cmd *cmd);

#endif
