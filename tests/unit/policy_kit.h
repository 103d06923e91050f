/*
 * policy_kit.h - views for tests of policies: tenants, what is ready and what runs, without an engine.
 */
#ifndef GSB_TESTS_POLICY_KIT_H
#define GSB_TESTS_POLICY_KIT_H

#include "broker/policy/estimate.h"
#include "broker/policy/policy.h"

#define KIT_READY_MAX	4096
#define KIT_TENANTS_MAX 64

struct policy_kit {
	struct gsb_view view;
	struct gsb_claim claims[KIT_TENANTS_MAX];
	struct gsb_work ready[KIT_READY_MAX], running[GSB_N_QUEUES];
	unsigned n_made; /* of ready, ever */
	const struct gsb_claim *claim_list[KIT_TENANTS_MAX];
	const struct gsb_work *ready_list[KIT_READY_MAX], *running_list[GSB_N_QUEUES];
	struct gsb_policy_area area;
	struct gsb_decision out[GSB_N_DECISIONS];
	unsigned n; /* of out, after the last question */
};

/* An h200 with nothing to do. */
struct policy_kit *policy_kit_create(void);
void policy_kit_destroy(struct policy_kit *k);

/* Of a test: one with estimates that say nothing yet. */
int policy_kit_setup(void **state);
int policy_kit_teardown(void **state);

/* Tenants are 1 .. n; the index of one is its id less one. */
struct gsb_claim *policy_kit_tenant(struct policy_kit *k);

/* A kernel of @n_blocks of 256 threads, 8 of which fit an SM, that takes @ms alone; ready, or running from now on. */
struct gsb_work *policy_kit_kernel(struct policy_kit *k, uint32_t tenant, uint64_t n_blocks,
				   double ms);
struct gsb_work *policy_kit_copy(struct policy_kit *k, uint32_t tenant, uint64_t bytes);
/* What is ready at @i goes to the device. */
void policy_kit_start(struct policy_kit *k, unsigned i);

/* Ask; then how many go, and what was said of the ready work @i: NULL, nothing. */
unsigned policy_kit_ask(struct policy_kit *k, const struct gsb_policy *policy);
const struct gsb_decision *policy_kit_said(const struct policy_kit *k, unsigned i);

/* Tenants and work at random, the same for the same seed: so many; n_ready 0, n_running more than there can be: some. */
void policy_kit_draw(struct policy_kit *k, uint64_t seed, unsigned n_ready, unsigned n_running);
/* What was ready has run before and left notes. */
void policy_kit_remember(struct policy_kit *k, struct gsb_estimates *e);

/* Is it what policy.h allows? NULL, or what is wrong. */
const char *policy_kit_wrong(const struct policy_kit *k);

#endif
