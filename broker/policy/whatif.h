/*
 * whatif.h - when would these kernels end, were they issued in this order? The leftover rule with its head of line on a GPU
 * that is one large SM: blocks go in order of issue, what one kernel leaves is for the next, and behind one that has blocks left
 * nobody places any (Li et al. 2014, §IV; model/placement/machine.h does it SM by SM).
 *
 * Coarser than the machine so that it can be asked at every decision: the blocks of a kernel that are placed together
 * end together, a kernel is cut into GSB_WHATIF_ROUNDS rounds at most, and beside others a block is as fast as alone. What is decided
 * by it has to gain more than that is worth.
 */
#ifndef GSB_BROKER_POLICY_WHATIF_H
#define GSB_BROKER_POLICY_WHATIF_H

#include "broker/policy/policy.h"

#define GSB_WHATIF_MAX	  48 /* kernels, those that run included */
#define GSB_WHATIF_ROUNDS 4
#define GSB_WHATIF_STEPS  200 /* placements; what is left then is added up */

enum gsb_whatif_room { GSB_ROOM_WARPS, GSB_ROOM_REGS, GSB_ROOM_SMEM, GSB_ROOM_BLOCKS, GSB_N_ROOMS };

struct gsb_whatif_kernel {
	int64_t need[GSB_N_ROOMS]; /* of one block */
	int64_t n_blocks, left;
	double block_ns, alone_ns;
	double start_ns, end_ns; /* the answer, from now: its first block, its last */
};

/* A part of the device, and the kernels that run and may come. In a struct gsb_policy_area. */
struct gsb_whatif {
	int64_t room[GSB_N_ROOMS]; /* of it while it is empty */
	unsigned n, n_running;	   /* the first of them run */
	struct gsb_whatif_kernel kernels[GSB_WHATIF_MAX];
};

/* With those that run. -ENODATA: of one of them it is not known how long it takes, and it is left out. @sms: GSB_ALL_SMS, or a part. */
int gsb_whatif_begin(struct gsb_whatif *w, const struct gsb_view *view, struct gsb_sm_range sms);

/* Add one that is ready. -ENOSPC: it is full. -ENODATA: nothing is known of how long it takes. */
int gsb_whatif_add(struct gsb_whatif *w, const struct gsb_view *view, const struct gsb_work *k);

/* How many blocks of the kernel an empty device, or what those that run leave of it, has room for. */
int64_t gsb_whatif_fits(const struct gsb_whatif *w, const struct gsb_whatif_kernel *k,
			const int64_t room[GSB_N_ROOMS]);
void gsb_whatif_take(int64_t room[GSB_N_ROOMS], const struct gsb_whatif_kernel *k, int64_t n);
void gsb_whatif_leftover(const struct gsb_whatif *w, int64_t room[GSB_N_ROOMS]);

struct gsb_whatif_answer {
	double makespan_ns, sum_ns; /* the last end; all ends of those that came */
};

/*
 * gsb_whatif_run() - play it through
 * @order: of the kernels behind the first n_running, as indices into kernels; n of them
 * Their end_ns are written.
 */
struct gsb_whatif_answer gsb_whatif_run(struct gsb_whatif *w, const unsigned *order, unsigned n);

#endif
