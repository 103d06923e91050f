/*
 * multichoice.h - one option of each class, at the least cost, under several capacities.
 *
 * The multiple-choice knapsack problem, for a few dozen classes with a few options each. Lagrange
 * multipliers give a bound and say which options are dear; a depth-first branch and bound over the
 * others closes the gap. The work is counted and bounded: when it is used up the best answer so far
 * is given, and that it is not proven.
 */
#ifndef GSB_MODEL_SOLVERS_MULTICHOICE_H
#define GSB_MODEL_SOLVERS_MULTICHOICE_H

#include <stdbool.h>
#include <stdint.h>

#define GSB_MULTICHOICE_DIMS	    3
#define GSB_MULTICHOICE_CLASSES_MAX 64
#define GSB_MULTICHOICE_OPTIONS_MAX 33 /* of a class */

struct gsb_multichoice_option {
	uint32_t cost;
	uint32_t use[GSB_MULTICHOICE_DIMS];
};

struct gsb_multichoice_class {
	uint32_t n; /* 1 .. GSB_MULTICHOICE_OPTIONS_MAX */
	const struct gsb_multichoice_option *options;
};

struct gsb_multichoice {
	uint32_t n; /* 1 .. GSB_MULTICHOICE_CLASSES_MAX */
	uint64_t capacity[GSB_MULTICHOICE_DIMS];
	struct gsb_multichoice_class classes[GSB_MULTICHOICE_CLASSES_MAX];
	/* May an answer that keeps the capacities be taken? NULL: every one. @picked: of each class */
	bool (*accept)(void *ctx, const uint8_t *picked);
	void *ctx;
	/* out, when 0 was returned */
	uint8_t picked[GSB_MULTICHOICE_CLASSES_MAX];
	uint64_t cost;
	bool proven; /* no answer that would be accepted costs less */
};

/**
 * gsb_multichoice_solve() - fill picked, cost and proven
 * @steps: in: options that may be looked at; out: what is left. @m->accept may take from it, too
 *
 * Context: any thread, no allocation.
 * Return:  0; -ENOSPC: there is no answer; -EAGAIN: none was found within @steps.
 */
int gsb_multichoice_solve(struct gsb_multichoice *m, uint64_t *steps);

#endif
