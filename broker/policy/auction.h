/*
 * auction.h - what the files of parts.h share: the SMs that are to be had, who wants them, and a way to split them.
 */
#ifndef GSB_BROKER_POLICY_AUCTION_H
#define GSB_BROKER_POLICY_AUCTION_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/policy/estimate.h"
#include "broker/policy/parts.h"
#include "broker/policy/shape.h"

#define GSB_N_UNITS  16 /* SMs are handed out in so many pieces at most */
#define GSB_MEASURED 2	/* values make a speed */

#define GSB_PARTS_GAIN 0.05 /* of the mean speed, for SMs of their own to be worth it, */
#define GSB_PARTS_HOPE \
	0.02 /* and for one more trial, or for turns where somebody starves: they cost no trial */

/* How fast a contender is on so many units. */
struct gsb_part_curve {
	uint32_t
		least; /* units of which something was measured, and below half of it nothing is hoped for */
	double known[GSB_N_UNITS + 1];			    /* 0: not measured */
	double low[GSB_N_UNITS + 1], high[GSB_N_UNITS + 1]; /* bounds */
};

struct gsb_contender {
	const struct gsb_claim *claim;
	uint64_t n_queued;
	unsigned n_ready, n_running; /* kernels */
	struct gsb_sm_range at;	     /* where one of them runs */
	double there_ns;	     /* since one of them was issued, the first; 0: none runs */
	double alone_ns;	     /* all of its habits once, beside nobody; 0: not known */
	double shared;		     /* speed beside the others on all SMs, */
	uint32_t n_shared;	     /* from so many values */
	double least_speed;	     /* that a part must leave it */
	uint32_t on;		     /* units that it has just now; 0: none of its own */
	struct gsb_manners in;	     /* how it is launched there, and the others */
	struct gsb_part_curve part;  /* on a part in its place */
};

struct gsb_auction {
	const struct gsb_view *view;
	struct gsb_sm_range sms;
	uint32_t unit, n_units, over; /* SMs; what is left over goes to the last */
	double weights;
	bool strangers;	  /* others have kernels here */
	bool cooperative; /* one of their kernels can have no part */
	bool brief;	  /* gsb_auction_is_brief() */
	bool soon;	  /* that, or gsb_auction_ends_soon() */
	bool starves; /* beside each other on all SMs somebody has less than its share, for long enough to be helped at a cost */
	unsigned n;
	struct gsb_contender of[GSB_PARTS_MAX];
};

/* Units of each. */
struct gsb_split {
	uint32_t units[GSB_PARTS_MAX];
	double product, sum; /* the logarithm of the product, by weights; of speeds */
	double end_ns;	     /* of all that is expected of them, from now */
	double fair_loss; /* of the sum that it may cost where somebody has less than its share */
};

/* ---- contenders.c ---- */

/* Who takes part, and what of each is ready and runs. False: nobody, one alone, or more than there are parts for. */
bool gsb_auction_gather(struct gsb_auction *a, bool critical_apart);
/* They have blocks for more than the device. Else they have room beside each other, and nothing is to be gained. */
bool gsb_auction_overfills(const struct gsb_auction *a);
/* Whoever is left on a part when the others go has lost half a launch or so: that must be little against the time together. */
bool gsb_auction_will_stay(const struct gsb_auction *a, bool for_a_trial);
/* So many of the longest launch will pass while all are there. */
bool gsb_auction_will_stay_for(const struct gsb_auction *a, unsigned n);
/* All that they have done and what stands there is less than anybody may have to wait for, and nobody is to have more than another. */
bool gsb_auction_is_brief(const struct gsb_auction *a);
/* The same with all that is expected of them, less than a second: where it was asked for in advance the end is in sight. */
bool gsb_auction_ends_soon(const struct gsb_auction *a);
/* Who is to be measured alone, if that can be: of whom that is not known there is nothing to compare with. */
const struct gsb_claim *gsb_auction_next_alone(const struct gsb_auction *a);
bool gsb_auction_all_known(const struct gsb_auction *a);
/* Launches of one kernel want the same things: nothing that one of them leaves is of use to another, but for what a last round leaves. */
bool gsb_auction_is_of_one_kernel(const struct gsb_auction *a);
double gsb_contender_launch_ns(const struct gsb_contender *c);
/* Alone, all that is expected of it. */
double gsb_contender_expected_ns(const struct gsb_contender *c);
/* By weight, of 1. */
double gsb_contender_share(const struct gsb_auction *a, const struct gsb_contender *c);

/* ---- curves.c ---- */

/* Of everybody; false: of one it is not known how fast it is on shared SMs. */
bool gsb_curves_find(struct gsb_auction *a);
/* Of everybody, on parts in their places, launched as they are. */
void gsb_curves_bound(struct gsb_auction *a);
uint32_t gsb_auction_sms_of(const struct gsb_auction *a, unsigned i, uint32_t units);
/* On parts of so many units and @over SMs: what is known, and that it is no slower there. */
void gsb_curve_find_low(const struct gsb_auction *a, unsigned i, uint32_t over,
			struct gsb_part_curve *out);
/*
 * How fast it is on so many SMs of its own, or beside the other on all of them, where one of them is launched in another manner than asked; 0: not measured.
 * @n: from so many values, of which GSB_MEASURED make a speed to go by
 */
double gsb_contender_in(const struct gsb_auction *a, unsigned i, uint32_t n_sms,
			struct gsb_manners in, uint32_t *n);
/* So many of its launches were there, on SMs of their own or beside others on the same. */
uint32_t gsb_contender_n_on(const struct gsb_auction *a, unsigned i, uint32_t n_sms,
			    enum gsb_sharing sharing);

/* ---- split.c ---- */

enum gsb_bound { GSB_KNOWN, GSB_HOPED };

/* @stay: who has units now keeps them. Sum 0: there is none. */
struct gsb_split gsb_split_best(const struct gsb_auction *a, enum gsb_bound bound, bool stay);
/* All SMs for all. */
struct gsb_split gsb_split_shared(const struct gsb_auction *a);
/*
 * When all has ended that is expected of them, at these speeds while all are there, and at the same sum of speeds when some have ended, but nobody faster than
 * alone. So who has most to do is not made to end after all others by what is fair to them meanwhile.
 */
double gsb_split_end_ns(const struct gsb_auction *a, const double *speeds);
/* The same when they have had other speeds for so long before. */
double gsb_split_end_after_ns(const struct gsb_auction *a, const double *speeds,
			      const double *before, double for_ns);
/* So much better for the mean tenant than @other, and no worse than @none for all together and at their end, or little where that makes it fair. */
bool gsb_split_gains(const struct gsb_auction *a, const struct gsb_split *s,
		     const struct gsb_split *other, const struct gsb_split *none, double gain);
/* Worth one more trial: it could be so much better than what is known, which may be none. */
bool gsb_split_is_hoped_for(const struct gsb_auction *a, const struct gsb_split *hoped,
			    const struct gsb_split *known, const struct gsb_split *none);
/* The same where a trial may lose: so much better as anything must be that is taken. */
bool gsb_split_is_worth_a_risk(const struct gsb_auction *a, const struct gsb_split *hoped,
			       const struct gsb_split *known, const struct gsb_split *none);

/* As long as both are there at these speeds. */
struct gsb_split gsb_split_of_speeds(const struct gsb_auction *a, const double *speeds);

/* ---- inside.c ---- */

/* Two on all SMs, one of them with a part of its blocks. */
struct gsb_inside {
	unsigned who;
	uint32_t eighths;	/* of its places */
	struct gsb_split worth; /* its sum is 0: there is none */
};

/* The best of those that were measured. */
struct gsb_inside gsb_inside_known(const struct gsb_auction *a);
/* The one to be tried next, if it may be better than @known by as much as a trial is worth that may lose: what was begun goes first. */
struct gsb_inside gsb_inside_hoped(const struct gsb_auction *a, const struct gsb_split *known,
				   const struct gsb_split *none);
void gsb_inside_take(const struct gsb_auction *a, const struct gsb_inside *in,
		     struct gsb_parts *out);

/* ---- hint.c ---- */

/* Two on SMs of their own, one of them launched so that it leaves the L2 to the other. */
struct gsb_hint {
	unsigned who;
	uint32_t manner;	/* of its launches; 0: as asked, to be held against */
	struct gsb_split worth; /* and the SMs of each; its sum is 0: there is none */
};

/* The best of those that were measured, of those of which that has begun, and the one that comes next. */
struct gsb_hints {
	struct gsb_hint known, begun, next;
};

void gsb_hints_find(const struct gsb_auction *a, struct gsb_hints *out);
/* The one to be tried, if there is one that may be better than @known: what was begun goes first. */
struct gsb_hint gsb_hints_hoped(const struct gsb_auction *a, const struct gsb_hints *h,
				const struct gsb_split *known, const struct gsb_split *none);

/* ---- turns.c ---- */

/* By themselves, on all SMs, with launches that can be waited for. */
bool gsb_turns_can(const struct gsb_auction *a);
/* What that is worth: each has its share of the time. */
struct gsb_split gsb_turns_split(const struct gsb_auction *a);
void gsb_turns_take(const struct gsb_auction *a, struct gsb_parts *out);
/* Those who have these SMs, in turn. */
void gsb_turns_take_on(const struct gsb_auction *a, struct gsb_sm_range sms, struct gsb_parts *out);

/* ---- lanes.c ---- */

/* Three and more by themselves, with launches that can be waited for. */
bool gsb_lanes_can(const struct gsb_auction *a);
/* Two lanes where that is better than @none, or might be. False: too little is known to say, and will not be. */
bool gsb_lanes_choose(const struct gsb_auction *a, const struct gsb_split *none, bool in_turns,
		      struct gsb_parts *out);

#endif
