/*
 * work.h - what the clock and the workers hand each other: commands, the queues they wait in, and the
 * jobs that they come to.
 */
#ifndef GSB_DEVICE_EMU_CLOCK_WORK_H
#define GSB_DEVICE_EMU_CLOCK_WORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/queue.h>

#include "device/emu/exec/exec.h"
#include "device/emu/memory/fifo.h"
#include "device/emu/memory/heap.h"
#include "device/ops.h"
#include "model/placement/machine.h"
#include "model/time/progress.h"

#define EMU_PARAMS_INLINE 256 /* bytes of parameters that need no allocation of their own */

enum emu_cmd_state {
	EMU_WAITING, /* behind others, or before its time */
	EMU_RUNNING,
	EMU_ENDED, /* in device time; a worker may still be at it */
};

/* Execute one slice of a job, on the thread that has the combiner, which may be NULL; true when there is another. */
struct emu_clock;
struct emu_job;
struct emu_report;
typedef bool emu_run(struct emu_job *job, struct gsb_emu_combiner *combiner);

TAILQ_HEAD(emu_jobs, emu_job);

struct emu_cmd {
	STAILQ_ENTRY(emu_cmd) link; /* in its queue */
	struct gsb_queue *queue;
	struct emu_clock *clock;
	const struct gsb_space *space; /* whose it is */
	struct emu_heap *heap;	       /* that space's */
	struct emu_fifo *fifo;	       /* that space's */
	enum gsb_cmd_kind kind;
	enum emu_cmd_state state;
	emu_run *run; /* NULL: there is nothing to execute */
	bool cancelled, started;
	uint64_t cookie, seq;	    /* seq: of issue, over all queues */
	uint64_t not_before;	    /* device time */
	uint64_t start_ns, end_ns;  /* end: copies know it from the start */
	uint64_t n_blocks, n_insns; /* of blocks that have ended */
	uint64_t blocks_ns;	    /* likewise: their times on an SM */
	bool printed;		    /* a block of it has */
	bool may_be_ahead;	    /* workers may have its blocks before they are placed */
	bool in_clusters;	    /* its blocks know each other */
	CUresult result;
	char detail[GSB_DETAIL_BYTES];
	struct emu_report *report; /* of its fault; NULL: none */
	/* launch */
	struct gsb_emu_launch launch;
	struct gsb_machine_submit submit;
	struct gsb_machine_grid *grid;	   /* NULL before submit and after the last end */
	struct gsb_block_profile *profile; /* of its kernel, with the clock's lock */
	struct gsb_progress_grid placed;   /* of its blocks those that are on SMs */
	struct emu_job *
		last_placed; /* of a cluster that is not placed yet as a whole; NULL: there is none */
	struct emu_jobs ahead; /* the next that will be, and workers have already; in their order */
	uint64_t workspace;    /* of a cooperative grid, lent by the heap; 0 = none */
	uint8_t *big_params;   /* NULL: inline_params */
	_Alignas(16) uint8_t inline_params[EMU_PARAMS_INLINE];
	/* copy, fill */
	struct gsb_cmd_copy copy;
	struct gsb_cmd_fill fill;
	/* with every job; not in one line with what workers read while they execute */
	unsigned n_jobs;      /* that exist; 0 = no worker is or will be at it */
	unsigned n_running;   /* of them, which a worker has */
	uint64_t ran_ns;      /* real time with n_running > 0, up to the last time that it was 0 */
	uint64_t ran_from_ns; /* real time since when it is not 0 */
	bool brief;	      /* its last block was so short that workers take several at once */
};

struct gsb_queue {
	struct emu_device *dev;
	LIST_ENTRY(gsb_queue) link;
	int priority;
	struct gsb_sm_range sms;
	STAILQ_HEAD(emu_cmds, emu_cmd) cmds;
	uint64_t ready_ns; /* the head may start from then on */
};

/*
 * Something for a worker: one block, or one copy. Mostly the worker that executes it is another one than the one that makes it or ends it, so
 * that each line of it travels from processor to processor; what is looked at together stands together. Of a block:
 */
struct emu_job {
	/* at its end */
	_Alignas(64) struct emu_cmd *cmd;
	struct gsb_progress_block progress;
	uint64_t start_ns;
	CUresult result;
	bool placed;	/* it has a part in device time, */
	bool abandoned; /* and none any more */
	bool executed;	/* no worker has it, or will have it */
	bool printed;	/* something was, at any time */

	/* at its end; after its last slice, written by the worker that has it */
	struct emu_report *report; /* of its fault; NULL: none, or no memory for it */
	struct gsb_block_work work;

	/* while it is open */
	TAILQ_ENTRY(emu_job)
	open;		   /* of jobs that are not yet executed, or those ahead */
	uint64_t bound_ns; /* its end, or the earliest that its end can be */
	uint64_t
		bound_work_ns; /* the work for which that is, or would be at the speed that it has */
	uint64_t least_ns;     /* of work that it has, whatever happens in it */
	uint64_t work_ns;      /* as of what it has done, at least that */
	struct gsb_block_company company;

	/* when a worker takes it, and begins */
	TAILQ_ENTRY(emu_job) ready;  /* in the workers' list */
	uint64_t index;		     /* in its grid */
	struct gsb_emu_block *block; /* NULL before its first slice */
	struct emu_fifo_part said;   /* with the fifo's lock */
	uint32_t number;	     /* of this job */
	uint32_t slot;		     /* of the machine; also while it is not open any more */
	bool running; /* a worker has it: set with the list's lock, until that is told with the clock's */
	_Atomic bool settled; /* its company is known, which may be later than it is executed: */
	bool no_state;	      /* there was no host memory for the state of its block */
	bool handed_out; /* of a cluster: workers have the first of its jobs, which is for all of them */

	/* of a cluster that is executed as one */
	struct emu_job *leader,
		*mate; /* the first of it; the next one. NULL: it is none, there is none */
	struct gsb_emu_cluster *cluster; /* of the leader; NULL before its first slice */
	bool is_behind;			 /* then work_ns is not that of its work yet */
};

#define EMU_JOB_END_BYTES offsetof(struct emu_job, open)

static inline uint32_t emu_cmd_cluster_blocks(const struct emu_cmd *cmd)
{
	return cmd->launch.cluster[0] * cmd->launch.cluster[1] * cmd->launch.cluster[2];
}

/* What the workers have for a job: mostly itself. */
static inline struct emu_job *emu_job_leader(const struct emu_job *job)
{
	return job->leader ? job->leader : (struct emu_job *)job;
}

static inline uint32_t emu_cmd_block_warps(const struct emu_cmd *cmd)
{
	return (cmd->submit.kernel.threads_per_block + GSB_WARP_SIZE - 1) / GSB_WARP_SIZE;
}

#endif
