/*
 * model_replay.c - gsb-model replay: a load that `gsb-trace replay` has written, or one that is drawn, run again under a policy, or
 * under all of them side by side.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "sim/compare.h"
#include "sim/random.h"
#include "tools/model_commands.h"
#include "tools/model_report.h"

#define ALL "all"

/* What the load's times are of; NULL: not a GPU that is known by name. */
static const struct gsb_arch *recorded_arch(const struct gsb_workload *l)
{
	const char *name = l->device.name;

	return strncmp(name, "emu:", 4) ? NULL : gsb_arch_find(name + 4);
}

static int get_load(const struct model_input *in, char **words, int n_words,
		    struct gsb_workload *out)
{
	if (!in->replay.drawn && n_words == 1)
		return model_input_load(words[0], out) ? 2 : 0;
	if (!in->replay.drawn || n_words) {
		fprintf(stderr,
			"gsb-model: replay takes a load of gsb-trace replay, or --random\n");
		return 2;
	}
	if (!gsb_workload_random(&in->arch, &in->replay.random, out))
		return 0;
	fprintf(stderr, "gsb-model: no memory for the load\n");
	return 1;
}

static double ms(double ns)
{
	return ns / 1e6;
}

/* ---- one policy: its tenants ---- */

static void facts_of(struct report *r, const struct gsb_sim_comparison *c,
		     const struct gsb_sim_params *p)
{
	report_fact_text(r, "arch", p->arch->name);
	report_fact_text(r, "policy", p->policy->name);
	report_fact_number(r, "makespan_ms", "%.6f", ms((double)c->mix.makespan_ns));
	report_fact_number(r, "sum_alone_ms", "%.6f", ms(c->figures.sum_alone_ns));
	report_fact_number(r, "bound_ms", "%.6f", ms(c->figures.bound_ns));
	report_fact_number(r, "speedup", "%.4f", c->figures.speedup);
	report_fact_number(r, "of_bound", "%.4f", c->figures.of_bound);
	report_fact_number(r, "coresidency", "%.4f", c->mix.coresidency);
	report_fact_number(r, "mean_slowdown", "%.4f", c->figures.mean_slowdown);
	report_fact_number(r, "worst_slowdown", "%.4f", c->figures.worst_slowdown);
	report_fact_number(r, "throughput", "%.4f", c->figures.throughput);
	report_fact_number(r, "fairness", "%.4f", c->figures.fairness);
	report_fact_number(r, "operations", "%" PRIu64, c->mix.n_ops);
	report_fact_number(r, "launches", "%" PRIu64, c->mix.n_launches);
	report_fact_number(r, "blocks", "%" PRIu64, c->mix.n_blocks);
	report_fact_number(r, "decisions", "%" PRIu64, c->mix.n_decisions);
	report_fact_number(r, "forced", "%" PRIu64, c->mix.n_forced);
	report_fact_number(r, "ready_max", "%" PRIu64, c->mix.n_ready_max);
}

static void report_one(const struct model_input *in, const struct gsb_sim_comparison *c,
		       const struct gsb_sim_params *p)
{
	static const char *const columns[] = {"tenant",	  "name",     "launches", "alone_ms",
					      "mixed_ms", "slowdown", "queued_ms"};
	struct report r;

	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	for (uint32_t i = 0; i < c->mix.n_tenants; i++) {
		const struct gsb_sim_tenant *t = &c->mix.tenants[i];
		double alone = c->alone_ns[i], mixed = (double)(t->end_ns - t->come_ns);

		report_number(&r, "%" PRIu32, t->id);
		report_text(&r, t->name);
		report_number(&r, "%" PRIu64, t->n_launches);
		report_number(&r, "%.6f", ms(alone));
		report_number(&r, "%.6f", ms(mixed));
		if (alone > 0)
			report_number(&r, "%.4f", mixed / alone);
		else
			report_none(&r);
		report_number(&r, "%.6f", ms((double)t->queued_ns));
	}
	facts_of(&r, c, p);
	report_finish(&r);
}

/* ---- all policies: a row each ---- */

static void report_row(struct report *r, const struct gsb_sim_comparison *c, const char *policy)
{
	report_text(r, policy);
	report_number(r, "%.6f", ms((double)c->mix.makespan_ns));
	report_number(r, "%.4f", c->figures.speedup);
	report_number(r, "%.4f", c->figures.of_bound);
	report_number(r, "%.4f", c->mix.coresidency);
	report_number(r, "%.4f", c->figures.mean_slowdown);
	report_number(r, "%.4f", c->figures.worst_slowdown);
	report_number(r, "%.4f", c->figures.fairness);
	report_number(r, "%" PRIu64, c->mix.n_decisions);
}

static int fail(const char *policy, const char *why)
{
	fprintf(stderr, "gsb-model: replay under %s: %s\n", policy, why);
	return 1;
}

static int report_all(const struct model_input *in, const struct gsb_workload *load,
		      struct gsb_sim_params p)
{
	static const char *const columns[] = {"policy",		"makespan_ms", "speedup",
					      "of_bound",	"coresidency", "mean_slowdown",
					      "worst_slowdown", "fairness",    "decisions"};
	struct gsb_sim_comparison c;
	struct report r;
	char why[256];
	int err = 0;

	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	for (uint64_t i = 0; !err && (p.policy = gsb_policy_at(i)); i++) {
		if (gsb_sim_compare(load, &p, in->replay.cold, &c, why, sizeof(why))) {
			err = fail(p.policy->name, why);
			continue;
		}
		report_row(&r, &c, p.policy->name);
		gsb_sim_comparison_finish(&c);
	}
	report_fact_text(&r, "arch", p.arch->name);
	if (!err)
		report_finish(&r);
	return err;
}

static int run(const struct model_input *in, const struct gsb_workload *load)
{
	const struct gsb_arch *recorded = recorded_arch(load);
	bool as_recorded = recorded && !in->arch_given;
	struct gsb_sim_params p = {
		.arch = as_recorded ? recorded : &in->arch,
		.law = as_recorded ? NULL : &in->law,
		.recorded = recorded,
		.together = in->replay.together,
	};
	struct gsb_sim_comparison c;
	char why[256];

	if (!strcmp(in->replay.policy, ALL))
		return report_all(in, load, p);
	p.policy = gsb_policy_find(in->replay.policy);
	if (gsb_sim_compare(load, &p, in->replay.cold, &c, why, sizeof(why)))
		return fail(p.policy->name, why);
	report_one(in, &c, &p);
	if (c.mix.n_untimed)
		fprintf(stderr,
			"gsb-model: %" PRIu64 " launches never ran in the recording: they take no "
			"time here\n",
			c.mix.n_untimed);
	gsb_sim_comparison_finish(&c);
	return 0;
}

int model_command_replay(const struct model_input *in, char **words, int n_words)
{
	struct gsb_workload load;
	int status = get_load(in, words, n_words, &load);

	if (status)
		return status;
	status = run(in, &load);
	gsb_workload_finish(&load);
	return status;
}

int model_replay_policy(struct model_input *in, const char *name)
{
	const struct gsb_policy *p;

	in->replay.policy = name;
	if (!strcmp(name, ALL) || gsb_policy_find(name))
		return 0;
	fprintf(stderr, "gsb-model: no policy '%s'; there are", name);
	for (uint64_t i = 0; (p = gsb_policy_at(i)); i++)
		fprintf(stderr, " %s,", p->name);
	fprintf(stderr, " and " ALL " for all of them\n");
	return -1;
}
