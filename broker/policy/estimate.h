/*
 * estimate.h - how long kernels took, for those that come: measured, never asked for.
 *
 * One table of means. What a mean is of stands in its key alone: a kernel in one geometry with the device to itself, the
 * same beside others, on so many SMs of its own or shared ones, in one company or in any, one of the two in another manner than asked, one round of its blocks in any
 * geometry, one kernel beside another. New values count at least GSB_ESTIMATE_NEWEST of a mean, so that it follows what changes. The table has one size; where it is full
 * the longest unused of a few goes. Pure but for itself: no clock, and the same notes give the same predictions.
 */
#ifndef GSB_BROKER_POLICY_ESTIMATE_H
#define GSB_BROKER_POLICY_ESTIMATE_H

#include <stddef.h>

#include "broker/policy/company.h"
#include "broker/policy/policy.h"

#define GSB_ESTIMATE_NEWEST (1.0 / 16)

/* A kernel that has ended. */
struct gsb_run {
	const struct gsb_work *work;
	uint64_t took_ns;  /* from its first block to its last */
	uint64_t stay_ns;  /* from its issue: what its stream had to wait for it; 0: took_ns */
	uint64_t ready_ns; /* device time from which it could run */
	uint64_t block_ns; /* mean of its blocks' time on their SMs; 0: not known */
	bool in_parts;	   /* it was launched in parts, and others may have come between: bound.h */
	bool cut;	   /* into other blocks than its program asked for: cut.h */
	struct gsb_company company;
};

int gsb_estimates_create(struct gsb_estimates **out); /* -ENOMEM */
void gsb_estimates_destroy(struct gsb_estimates *e);  /* NULL is fine */

void gsb_estimates_note(struct gsb_estimates *e, const struct gsb_arch *arch,
			const struct gsb_run *run);

/*
 * gsb_estimates_predict() - how long the work would take alone
 * As it was measured alone; less trusted: as it was seen beside others, or by rounds of its blocks in other geometries.
 */
struct gsb_prediction gsb_estimates_predict(const struct gsb_estimates *e,
					    const struct gsb_arch *arch, const struct gsb_work *w);

/* A mean as it is kept for another engine on the same device. */
struct gsb_kept_mean {
	uint64_t key;
	uint32_t n, zero;
	double mean, square; /* of values; of their relative distance from it */
};

#define GSB_N_ESTIMATES 16384 /* means that there may be */
#define GSB_KEPT_TRUST \
	8 /* what is restored counts as so many values at most: the world may have changed */

/* All means into @out, which has room for GSB_N_ESTIMATES; returns how many. */
size_t gsb_estimates_keep(const struct gsb_estimates *e, struct gsb_kept_mean *out);
/* What can be no mean is left out. */
void gsb_estimates_restore(struct gsb_estimates *e, const struct gsb_kept_mean *kept, size_t n);

/* The mean of so many values, and how far it may be trusted; 0: not known. */
struct gsb_estimated {
	double mean;
	uint32_t n, trust_ppm;
};

/* How a launch shares its SMs: they are its own, or others' kernels are there, too. */
enum gsb_sharing { GSB_SMS_OWN, GSB_SMS_SHARED };

/*
 * gsb_estimates_on() - how long a launch takes on so many SMs, in ns
 * @launch: as of struct gsb_work    @n_sms: 0: all
 * @beside: the code of the one kernel that the others were launches of, on SMs of their own or on the same; 0: any
 * Own SMs: from its first block on. Shared ones: from its issue on, for who shares waits for room as well.
 */
struct gsb_estimated gsb_estimates_on(const struct gsb_estimates *e, const struct gsb_arch *arch,
				      uint64_t launch, uint32_t n_sms, enum gsb_sharing sharing,
				      uint64_t beside);

/* In what manner a launch and who is beside it are made: shape.h. */
struct gsb_manners {
	uint32_t own, others;
};

/* gsb_estimates_in() - the same where one of them is launched in another manner than asked */
struct gsb_estimated gsb_estimates_in(const struct gsb_estimates *e, const struct gsb_arch *arch,
				      uint64_t launch, uint32_t n_sms, enum gsb_sharing sharing,
				      struct gsb_manners in, uint64_t beside);

/* How long it takes with the device to itself, in ns. */
struct gsb_estimated gsb_estimates_alone(const struct gsb_estimates *e, uint64_t launch);

/* How long a kernel that has ended would have taken with the device to itself, in ns; 0: not known. */
uint64_t gsb_estimates_worth(const struct gsb_estimates *e, const struct gsb_arch *arch,
			     const struct gsb_run *run);

/* How long a block of it is on an SM at most, in ns, in whatever company; of launches that may be made in other shapes alone. */
struct gsb_estimated gsb_estimates_block(const struct gsb_estimates *e, uint64_t launch);

/* How long it took in whatever company, when it was a cut of another launch. */
struct gsb_estimated gsb_estimates_cut(const struct gsb_estimates *e, uint64_t launch);

/* How much longer than alone @w takes beside @other on the same SMs. */
struct gsb_estimated gsb_estimates_beside(const struct gsb_estimates *e, const struct gsb_work *w,
					  const struct gsb_work *other);

#endif
