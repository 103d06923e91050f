/*
 * model_match.c - gsb-model match: who beside whom, from how each kernel gets on with the same probes.
 */
#include <math.h>
#include <stdio.h>

#include "model/input/beside.h"
#include "model/solvers/matching.h"
#include "tools/model_commands.h"
#include "tools/model_report.h"

/* Two kernels, in the arrangement that is predicted to be over first; alone: one after the other. */
struct meeting {
	uint32_t older, younger, division;
	double speeds[2]; /* 1: alone on all SMs */
	double makespan;
	bool alone;
};

struct chosen {
	const struct gsb_profiles *profiles;
	uint32_t n, kernels[GSB_MATCHING_MAX];
};

/* ---- which kernels ---- */

static int choose_named(struct chosen *c, const char *path, char **names, int n)
{
	for (int i = 0; i < n; i++) {
		uint32_t k = gsb_profiles_find(c->profiles, names[i]);

		if (k == gsb_profiles_n(c->profiles)) {
			fprintf(stderr, "gsb-model: %s has no kernel '%s'\n", path, names[i]);
			return 2;
		}
		for (uint32_t j = 0; j < c->n; j++)
			if (c->kernels[j] == k) {
				fprintf(stderr, "gsb-model: match: '%s' is named twice\n",
					names[i]);
				return 2;
			}
		if (c->n == GSB_MATCHING_MAX) {
			fprintf(stderr,
				"gsb-model: match takes at most %d kernels: name those that matter\n",
				GSB_MATCHING_MAX);
			return 2;
		}
		c->kernels[c->n++] = k;
	}
	return 0;
}

/* All that are no probes. */
static int choose_all(struct chosen *c, const char *path)
{
	for (uint32_t k = 0; k < gsb_profiles_n(c->profiles); k++) {
		char *name = (char *)gsb_profiles_name(c->profiles, k);

		if (!gsb_profiles_is_probe(c->profiles, k) && choose_named(c, path, &name, 1))
			return 2;
	}
	return 0;
}

/* ---- what is predicted ---- */

static struct meeting meet(const struct chosen *c, uint32_t older, uint32_t younger,
			   uint32_t division)
{
	struct gsb_encounter e;
	double alone[2];

	gsb_profiles_predict(c->profiles, older, younger, division, &e, alone);
	return (struct meeting){.older = older,
				.younger = younger,
				.division = division,
				.speeds = {e.older * alone[0], e.younger * alone[1]},
				.makespan = e.makespan};
}

static struct meeting find_best(const struct chosen *c, uint32_t a, uint32_t b)
{
	struct meeting best = {.older = a, .younger = b, .makespan = 2, .alone = true};

	for (uint32_t d = 0; d < gsb_profiles_n_divisions(c->profiles); d++)
		for (int turned = 0; turned < 2; turned++) {
			struct meeting m = meet(c, turned ? b : a, turned ? a : b, d);

			if (m.makespan < best.makespan)
				best = m;
		}
	return best;
}

/* ---- what is said ---- */

static const char *const columns[] = {
	"older",    "younger", "share of older", "speed of older", "speed of younger",
	"makespan", "gain"};

static void row(struct report *r, const struct chosen *c, const struct meeting *m)
{
	report_text(r, gsb_profiles_name(c->profiles, m->older));
	report_text(r, m->younger == m->older ? "-" : gsb_profiles_name(c->profiles, m->younger));
	if (m->alone) {
		for (int i = 0; i < 3; i++)
			report_none(r);
	} else {
		report_number(r, "%.3f", gsb_profiles_share(c->profiles, m->division));
		report_number(r, "%.3f", m->speeds[0]);
		report_number(r, "%.3f", m->speeds[1]);
	}
	report_number(r, "%.3f", m->makespan);
	report_number(r, "%.3f", (m->younger == m->older ? 1 : 2) / m->makespan);
}

/* Of two: every order and division, and so whether any pays. */
static void print_two(const struct model_input *in, const struct chosen *c)
{
	uint32_t a = c->kernels[0], b = c->kernels[1];
	struct meeting best = find_best(c, a, b);
	struct report r;

	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	for (int turned = 0; turned < 2; turned++)
		for (uint32_t d = 0; d < gsb_profiles_n_divisions(c->profiles); d++) {
			struct meeting m = meet(c, turned ? b : a, turned ? a : b, d);

			row(&r, c, &m);
		}
	report_fact_text(&r, "verdict", best.alone ? "run one after the other" : "run together");
	report_fact_number(&r, "makespan", "%.3f", best.makespan);
	report_finish(&r);
}

static void find_all(const struct chosen *c, struct meeting *best, double *cost)
{
	for (uint32_t i = 0; i < c->n; i++)
		for (uint32_t j = i; j < c->n; j++) {
			struct meeting *m = &best[i * c->n + j];

			if (i == j)
				*m = (struct meeting){.older = c->kernels[i],
						      .younger = c->kernels[i],
						      .makespan = 1,
						      .alone = true};
			else
				*m = find_best(c, c->kernels[i], c->kernels[j]);
			cost[i * c->n + j] = cost[j * c->n + i] = m->makespan;
		}
}

/* The best of all orders, with as many blocks for the two younger ones as each other: what all at once takes. */
static struct gsb_beside_set find_three(const struct chosen *c, double *makespan)
{
	static const uint32_t orders[][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
					     {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct gsb_beside_set best = {0};

	*makespan = INFINITY;
	for (unsigned i = 0; i < GSB_ARRAY_LEN(orders); i++)
		for (uint32_t d = 0; d < gsb_profiles_n_divisions(c->profiles); d++) {
			double share = gsb_profiles_share(c->profiles, d), takes;
			struct gsb_beside_set s = {.n = 3};

			for (unsigned k = 0; k < 3; k++) {
				s.kernels[k] = c->kernels[orders[i][k]];
				s.parts[k] = k ? (1 - share) / 2 : share;
			}
			takes = gsb_beside_makespan(c->profiles, &s);
			if (takes < *makespan) {
				*makespan = takes;
				best = s;
			}
		}
	return best;
}

/* Of three: whether all at once pays more than two of them. */
static void say_three(struct report *r, const struct chosen *c, double in_pairs)
{
	static const char *const ages[] = {"oldest of three", "second of three", "third of three"};
	double speeds[GSB_BESIDE_MAX], makespan;
	struct gsb_beside_set s = find_three(c, &makespan);

	gsb_beside_speeds(c->profiles, &s, speeds);
	report_fact_number(r, "three at once", "%.3f", makespan);
	for (uint32_t i = 0; i < s.n; i++) {
		char text[GSB_PROFILES_NAME_MAX + 64];

		snprintf(text, sizeof(text), "%s, share %.3f, speed %.3f",
			 gsb_profiles_name(c->profiles, s.kernels[i]), s.parts[i], speeds[i]);
		report_fact_text(r, ages[i], text);
	}
	report_fact_text(r, "verdict", makespan < in_pairs ? "run three at once" : "run in pairs");
}

static int print_matching(const struct model_input *in, const struct chosen *c)
{
	static struct meeting best[GSB_MATCHING_MAX * GSB_MATCHING_MAX];
	static double cost[GSB_MATCHING_MAX * GSB_MATCHING_MAX];
	uint32_t partner[GSB_MATCHING_MAX];
	struct report r;
	double sum = 0;

	find_all(c, best, cost);
	if (gsb_matching_least(c->n, cost, partner)) {
		fprintf(stderr, "gsb-model: match: no memory\n");
		return 1;
	}
	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	for (uint32_t i = 0; i < c->n; i++)
		if (partner[i] >= i) {
			row(&r, c, &best[i * c->n + partner[i]]);
			sum += best[i * c->n + partner[i]].makespan;
		}
	report_fact_number(&r, "probes", "%u", gsb_profiles_n_probes(c->profiles));
	report_fact_number(&r, "one after the other", "%u", c->n);
	report_fact_number(&r, "in these pairs", "%.3f", sum);
	report_fact_number(&r, "gain", "%.3f", c->n / sum);
	if (c->n == 3)
		say_three(&r, c, sum);
	report_finish(&r);
	return 0;
}

int model_command_match(const struct model_input *in, char **words, int n_words)
{
	struct gsb_profiles *profiles;
	struct chosen c = {0};
	int err;

	if (!n_words) {
		fprintf(stderr,
			"gsb-model: match takes a file of profiles, and names of kernels in it\n");
		return 2;
	}
	if (model_input_profiles(words[0], &profiles))
		return 2;
	c.profiles = profiles;
	err = n_words > 1 ? choose_named(&c, words[0], words + 1, n_words - 1)
			  : choose_all(&c, words[0]);
	if (!err && c.n < 2) {
		fprintf(stderr, "gsb-model: match: %s has no two kernels beside the probes\n",
			words[0]);
		err = 2;
	}
	if (!err && c.n == 2)
		print_two(in, &c);
	else if (!err)
		err = print_matching(in, &c);
	gsb_profiles_free(profiles);
	return err;
}
