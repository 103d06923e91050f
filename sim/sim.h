/*
 * sim.h - a recorded load run again on a model of the device, under any policy, without device, tenants or time.
 *
 *   program.c  who posts what when: each thread of a tenant waits for what it waited for, and thinks as long
 *   stream.c   which operation may run: CUDA's order of streams, events and the legacy stream
 *   view.c     what is ready goes to the policy as the engine shows it, and comes back as decisions
 *   course.c   the launches that a kernel takes in its shape
 *   machine.c of model/placement and device.c   which block runs where, from when to when; copies on their engines
 *   speed.c    how fast kernels run beside each other, by the law of contention
 *   best.c     all orders of a small load, for the best of them
 *   check.c    what must hold in every run, whatever the policy does, counted by another way than the run itself goes
 *   result.c   what is said of it
 *
 * A run is a function of the load, the GPU and the policy: it gives the same numbers everywhere. How long a block takes comes
 * from the load: what its kernel took alone, divided by the rounds in which that ran, and as much longer as the law of
 * contention says of what is resident meanwhile. Of what a kernel asks for the load knows its share of the issue slots.
 * What the load does not know is not in it: what bandwidth and caches cost beside others, what host functions take.
 *
 * Context: memory apart pure, any thread.
 */
#ifndef GSB_SIM_SIM_H
#define GSB_SIM_SIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/policy/policy.h"
#include "model/input/workload.h"

/* What there is only so much of: places on the SMs, issue slots, copy engines. */
enum gsb_sim_unit {
	GSB_SIM_WARPS,
	GSB_SIM_BLOCKS,
	GSB_SIM_REGS,
	GSB_SIM_SMEM,
	GSB_SIM_ISSUE,
	GSB_SIM_ENGINES,
	GSB_SIM_N_UNITS
};

struct gsb_sim_params {
	const struct gsb_arch *arch;	 /* to run on */
	const struct gsb_arch *recorded; /* that the load's times are of; NULL: the same */
	const struct gsb_policy *policy;
	const struct gsb_interference *law; /* of it; NULL: that which goes with its name */
	const uint32_t *
		order; /* instead of a policy: launches, as they stand in the load, in the order of issue; */
	uint32_t n_order; /* all of them; best.h says how it is kept to */
	uint32_t tenant;  /* run this one alone; 0: all */
	bool together;	  /* all begin at once, whenever they came */
	const uint32_t
		*weights; /* of the tenants, as they stand in the load; NULL: all the usual */
	const uint32_t *slowdown_percents; /* likewise: their limits; NULL: none has one */
	const uint64_t *deadlines_ns;	   /* likewise: their deadlines; NULL: none has one */
	uint32_t critical;		   /* the tenant that is; 0: none */
	uint32_t reserved_percent;	   /* of the SMs, for it; 0: GSB_RESERVED_PERCENT */
	uint64_t critical_wait_ns;	   /* as the view has it */
	bool resizes; /* launches that are not cooperative may be made in every shape */
	uint64_t *
		took_ns; /* of the operations, as they stand in the load: written, from post to done; NULL */
	struct gsb_estimates
		*estimates; /* what was measured before, and is from here on; NULL: nothing is */
};

struct gsb_sim_tenant {
	uint32_t id;
	char name[64];
	uint64_t come_ns, end_ns; /* begins; its last operation is done */
	uint64_t n_launches;
	uint64_t queued_ns; /* its operations were ready and not on the device, summed */
};

struct gsb_sim_result {
	uint64_t makespan_ns; /* from the first to come to the last end */
	uint64_t n_ops, n_launches, n_blocks;
	uint64_t n_untimed; /* launches that never ran in the recording: they take no time here */
	uint64_t n_decisions, n_forced, n_ready_max;
	double coresidency; /* threads on the SMs, mean over the makespan, of those that fit */
	double unit_ns[GSB_SIM_N_UNITS]; /* asked of each unit, as time of the whole GPU */
	uint32_t n_tenants;
	struct gsb_sim_tenant *tenants; /* by id */
};

/**
 * gsb_sim_run() - one load, one policy
 * @out: written only on success; gsb_sim_finish() frees it
 * @why: the reason of a failure, for people; @size of it
 *
 * Return: 0; -EINVAL: a launch that this GPU cannot run; -EPROTO: the policy broke a rule, or an invariant does not hold;
 *         -ENOMEM.
 */
int gsb_sim_run(const struct gsb_workload *load, const struct gsb_sim_params *p,
		struct gsb_sim_result *out, char *why, size_t size);
void gsb_sim_finish(struct gsb_sim_result *r); /* takes a zeroed one, too */

#endif
