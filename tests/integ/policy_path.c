/*
 * policy_path.c - what a decision of coreside takes: so many random views with so many ready works and running ones, of all of which it
 * knows how long they take; in every other view all tenants may have SMs of their own. For callgrind (policy_path.sh); by
 * itself it prints the mean and the slowest in time of the processor, each the least of a few tries, because other things take time, too,
 * and which view that was.
 *
 *   policy_path READY RUNNING VIEWS [FIRST]     views are numbered from FIRST, or from 1
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "tests/unit/policy_kit.h"

#define N_TRIES	   5
#define TRIED_ONCE 300 /* so few views are counted, not timed */

/* Whatever else the machine does. */
static uint64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* Nothing is left out for want of knowledge: that would be quick. */
static void make_known(struct policy_kit *k)
{
	for (unsigned i = 0; i < k->n_made; i++)
		k->ready[i].predicted = (struct gsb_prediction){20000 + 1000 * i, 900000};
	for (unsigned i = 0; i < k->view.n_running; i++)
		k->running[i].predicted = (struct gsb_prediction){10000000, 900000};
}

static void note(struct gsb_estimates *e, const struct gsb_view *v, uint64_t launch,
		 struct gsb_sm_range sms, uint64_t ns, struct gsb_company company)
{
	const struct gsb_work w = {.kind = GSB_WORK_KERNEL,
				   .kernel = {.n_blocks = 1, .threads_per_block = 32},
				   .blocks_per_sm = 1,
				   .launch = launch,
				   .sms = sms};
	const struct gsb_run r = {.work = &w, .took_ns = ns, .company = company};

	for (int i = 0; i < 3; i++)
		gsb_estimates_note(e, v->arch, &r);
}

/* Of so many SMs: every other tenant lives on the memory, and is as fast on a third of them as on all. */
static uint64_t on_part(uint64_t alone, uint32_t n, uint32_t n_sms, unsigned tenant)
{
	uint32_t knee = tenant % 2 ? n_sms / 3 : n_sms;

	return n < knee ? alone * knee / n : alone;
}

/* All tenants are thought of for SMs of their own: alone, beside the others and on every part their speeds are known. */
static void make_habitual(struct policy_kit *k, struct gsb_estimates *e, bool stays)
{
	const struct gsb_company met = {.shared = true, .met = true, .mixed = true},
				 apart = {.shared = true, .mixed = true};
	const struct gsb_view *v = &k->view;

	k->view.estimates = e;
	for (unsigned c = 0; c < v->n_claims; c++) {
		uint64_t launch = 1000000 + c, alone = 1000000 * (c + 1);

		k->claims[c].habits = (struct gsb_habits){.launch = {launch},
							  .n = 1,
							  .n_again = 10000,
							  .n_came = stays ? 1000 : 0,
							  .filled = 1};
		note(e, v, launch, GSB_ALL_SMS, alone, (struct gsb_company){0});
		note(e, v, launch, GSB_ALL_SMS, alone * v->n_claims, met);
		for (uint32_t n = 4; n < v->arch->n_sms; n += 4)
			note(e, v, launch, (struct gsb_sm_range){0, n},
			     on_part(alone, n, v->arch->n_sms, c), apart);
	}
}

static uint64_t least_ns(struct policy_kit *k, unsigned n_tries)
{
	uint64_t least = UINT64_MAX;

	for (unsigned i = 0; i < n_tries; i++) {
		uint64_t began = cpu_ns(), took;

		policy_kit_ask(k, &gsb_policy_coreside);
		took = cpu_ns() - began;
		least = took < least ? took : least;
	}
	return least;
}

int main(int argc, char **argv)
{
	unsigned n_ready = argc > 3 ? (unsigned)atoi(argv[1]) : 0;
	uint64_t n = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
	uint64_t first = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
	uint64_t sum = 0, most = 0, slowest = 0, n_decisions = 0;

	if (!n_ready || !n)
		return 2;
	for (uint64_t seed = first; seed < first + n; seed++) {
		struct policy_kit *k = policy_kit_create();
		struct gsb_estimates *e;
		uint64_t took;

		if (gsb_estimates_create(&e))
			return 2;

		policy_kit_draw(k, seed, n_ready, (unsigned)atoi(argv[2]));
		make_known(k);
		if (seed % 2)
			make_habitual(k, e, seed % 4 == 1);
		took = least_ns(k, n > TRIED_ONCE ? N_TRIES : 1);
		n_decisions += k->n;
		sum += took;
		if (took > most) {
			most = took;
			slowest = seed;
		}
		policy_kit_destroy(k);
		gsb_estimates_destroy(e);
	}
	printf("views=%llu decisions=%llu mean_ns=%llu most_ns=%llu slowest=%llu\n",
	       (unsigned long long)n, (unsigned long long)n_decisions,
	       (unsigned long long)(sum / n), (unsigned long long)most,
	       (unsigned long long)slowest);
	return 0;
}
