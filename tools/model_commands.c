/*
 * model_commands.c - see model_commands.h.
 */
#include "tools/model_commands.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "tools/model_report.h"

/* Which limit of the GPU a kernel passes, whatever its geometry if it may be re-cut: told, true. */
static bool explain(const struct model_input *in, const struct gsb_kernel_row *row, bool recut)
{
	const struct gsb_arch *a = &in->arch;
	const struct gsb_kernel *k = &row->plan.range.kernel;
	const uint32_t warps = (k->threads_per_block + GSB_WARP_SIZE - 1) / GSB_WARP_SIZE;
	const uint64_t regs = (uint64_t)k->regs_per_thread * warps * GSB_WARP_SIZE;
	enum { REGS_OF_BLOCK = 2 };
	const struct {
		const char *key, *of;
		uint64_t value, limit;
	} limits[] = {
		{"threads", "threads in a block", k->threads_per_block, a->max_threads_per_block},
		{"regs", "registers in a thread", k->regs_per_thread, a->max_regs_per_thread},
		{"regs x threads", "registers in a block", regs, a->max_regs_per_block},
		{"smem", "bytes of shared memory in a block", k->smem_bytes,
		 a->smem_per_block_optin_bytes},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(limits); i++) {
		if (limits[i].value <= limits[i].limit || (i == REGS_OF_BLOCK && recut))
			continue;
		fprintf(stderr,
			"gsb-model: %s: %s = %" PRIu64 ", but %s has at most %" PRIu64 " %s\n",
			row->name, limits[i].key, limits[i].value, a->name, limits[i].limit,
			limits[i].of);
		return true;
	}
	return false;
}

/* The same for commands about several kernels at once, of which any may be the reason. */
static bool explain_any(const struct model_input *in, bool recut)
{
	for (size_t i = 0; i < in->n_kernels; i++)
		if (explain(in, &in->kernels[i], recut && !in->kernels[i].plan.fixed))
			return true;
	return false;
}

/* A refusal of model/ in words, where no single limit is the reason. */
static int refuse(const char *what, int err)
{
	const char *why = err == -ENOSPC ? "not one of its blocks fits an SM of this GPU"
			  : err == -EINVAL
				  ? "a block that this GPU cannot have, or numbers too large"
			  : err == -ENOMEM ? "no memory"
					   : strerror(-err);

	fprintf(stderr, "gsb-model: %s: %s\n", what, why);
	return 1;
}

static void facts(struct report *r, const struct model_input *in)
{
	report_fact_text(r, "arch", in->arch.name);
	report_fact_text(r, "rules", in->rules->name);
}

static void report_regs(struct report *r, const struct gsb_kernel_row *k)
{
	uint32_t regs = k->plan.range.kernel.regs_per_thread;

	if (k->regs_estimated && !r->json)
		report_number(r, "~%u", regs);
	else
		report_number(r, "%u", regs);
}

/* What '~' means, where it occurs. */
static void explain_estimates(struct report *r, const struct model_input *in)
{
	size_t n = 0;

	for (size_t i = 0; i < in->n_kernels; i++)
		n += in->kernels[i].regs_estimated;
	if (n)
		report_fact_number(r, "kernels with registers estimated from PTX", "%zu", n);
}

static void report_limit(struct report *r, uint32_t blocks)
{
	if (blocks == GSB_NO_LIMIT)
		report_none(r);
	else
		report_number(r, "%u", blocks);
}

static void report_limits(struct report *r, unsigned int limits)
{
	char text[64] = "";

	if (limits & GSB_LIMIT_WARPS)
		strcat(text, " warps");
	if (limits & GSB_LIMIT_REGS)
		strcat(text, " registers");
	if (limits & GSB_LIMIT_SMEM)
		strcat(text, " smem");
	if (limits & GSB_LIMIT_BLOCKS)
		strcat(text, " blocks");
	report_text(r, text + (*text == ' '));
}

static double occupancy_pct(const struct model_input *in, const struct gsb_occupancy *o)
{
	return 100.0 * o->warps_per_sm / in->arch.max_warps;
}

static void arch_row(struct report *r, const struct gsb_arch *a)
{
	report_text(r, a->name);
	report_text(r, a->marketing_name);
	report_number(r, "%u.%u", a->cc_major, a->cc_minor);
	report_number(r, "%u", a->n_sms);
	report_number(r, "%u", a->max_warps);
	report_number(r, "%u", a->max_blocks);
	report_number(r, "%u", a->regs);
	report_number(r, "%u", a->smem_bytes);
	report_number(r, "%u", a->smem_per_block_optin_bytes);
	report_number(r, "%u", a->smem_reserved_bytes);
	report_number(r, "%u", a->per_cycle.alu);
	report_number(r, "%u", a->per_cycle.imul);
	report_number(r, "%u", a->per_cycle.sfu);
	report_number(r, "%u", a->per_cycle.fp64);
	report_number(r, "%u", a->clock_khz / 1000);
	report_number(r, "%" PRIu64, a->mem_bandwidth_bytes_per_s / 1000000000);
}

int model_command_arch(const struct model_input *in, char **names, int n_names)
{
	static const char *const columns[] = {
		"name",	      "GPU",	  "cc",	 "SMs",	 "warps", "blocks", "regs", "smem",
		"smem/block", "reserved", "alu", "imul", "sfu",	  "fp64",   "MHz",  "GB/s"};
	struct model_input one = *in;
	struct report r;

	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	for (size_t i = 0; !n_names && gsb_arch_at(i); i++)
		arch_row(&r, gsb_arch_at(i));
	for (int i = 0; i < n_names; i++) {
		if (model_input_arch(&one, names[i]))
			return 1;
		arch_row(&r, &one.arch);
	}
	report_finish(&r);
	return 0;
}

static int occupancy_row(struct report *r, const struct model_input *in,
			 const struct gsb_kernel_row *k)
{
	const struct gsb_kernel *kernel = &k->plan.range.kernel;
	struct gsb_occupancy o;
	uint64_t rounds;
	int err = gsb_occupancy(&in->arch, kernel, in->rules, &o);

	if (err)
		return explain(in, k, false) ? 1 : refuse(k->name, err);
	report_text(r, k->name);
	report_number(r, "%u", kernel->threads_per_block);
	report_regs(r, k);
	report_number(r, "%u", kernel->smem_bytes);
	report_number(r, "%" PRIu64, kernel->n_blocks);
	report_limit(r, o.by_warps);
	report_limit(r, o.by_regs);
	report_limit(r, o.by_smem);
	report_number(r, "%u", o.blocks_per_sm);
	report_number(r, "%.1f", occupancy_pct(in, &o));
	if (gsb_rounds(&in->arch, kernel, in->rules, &rounds))
		report_none(r);
	else
		report_number(r, "%" PRIu64, rounds);
	report_limits(r, o.limits);
	if (r->json)
		report_number(r, k->regs_estimated ? "true" : "false");
	return 0;
}

int model_command_occupancy(const struct model_input *in)
{
	static const char *const columns[] = {"kernel",	       "threads",     "regs",	 "smem",
					      "blocks",	       "by warps",    "by regs", "by smem",
					      "blocks/SM",     "occupancy %", "rounds",	 "limit",
					      "regs estimated"};
	struct report r;

	/* In a table, a mark at the number says it. */
	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns) - !in->json);
	facts(&r, in);
	explain_estimates(&r, in);
	for (size_t i = 0; i < in->n_kernels; i++)
		if (occupancy_row(&r, in, &in->kernels[i]))
			return 1;
	report_finish(&r);
	return in->plot && model_plot(in) ? 1 : 0;
}

int model_command_best_block(const struct model_input *in)
{
	static const char *const columns[] = {"kernel",	      "threads",     "rounds",
					      "best threads", "best blocks", "blocks/SM",
					      "occupancy %",  "best rounds"};
	struct report r;

	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	facts(&r, in);
	explain_estimates(&r, in);
	for (size_t i = 0; i < in->n_kernels; i++) {
		const struct gsb_kernel_row *k = &in->kernels[i];
		uint32_t threads = k->plan.range.kernel.threads_per_block;
		struct gsb_geometry best, now;
		int err = gsb_best_geometry(&in->arch, &k->plan.range, in->rules, &best);

		if (err)
			return explain(in, k, !k->plan.fixed) ? 1 : refuse(k->name, err);
		report_text(&r, k->name);
		report_number(&r, "%u", threads);
		if (gsb_geometry_at(&in->arch, &k->plan.range, threads, in->rules, &now))
			report_none(&r);
		else
			report_number(&r, "%" PRIu64, now.rounds);
		report_number(&r, "%u", best.kernel.threads_per_block);
		report_number(&r, "%" PRIu64, best.kernel.n_blocks);
		report_number(&r, "%u", best.occupancy.blocks_per_sm);
		report_number(&r, "%.1f", occupancy_pct(in, &best.occupancy));
		report_number(&r, "%" PRIu64, best.rounds);
	}
	report_finish(&r);
	return in->plot && model_plot(in) ? 1 : 0;
}

static const char *case_name(enum gsb_case when)
{
	static const char *const names[] = {"A", "B", "C"};

	return names[when];
}

static bool has_demand(const struct gsb_kernel_row *k)
{
	return !gsb_demand_is_none(&k->demand.of) || k->demand.saturation > 0;
}

/* For two kernels that say what they ask for, what each costs the other; for two with times, the end. */
static void pair_contention(struct report *r, const struct model_input *in)
{
	const struct gsb_kernel_row *k = in->kernels;
	const struct gsb_load pair[2] = {{k[0].plan.range.kernel, k[0].demand},
					 {k[1].plan.range.kernel, k[1].demand}};
	const bool demands[2] = {has_demand(&k[0]), has_demand(&k[1])};
	struct gsb_contention c;

	if (in->rules->literal || gsb_contend(&in->arch, in->rules, &in->law, pair, &c))
		return;
	if (demands[0] && demands[1]) {
		report_fact_number(r, "slowdown of the first with contention", "%.3f",
				   c.slowdown[0]);
		report_fact_number(r, "slowdown of the second with contention", "%.3f",
				   c.slowdown[1]);
		report_fact_text(r, "table of contention",
				 in->law.is_assumed ? "assumed: that of an H200" : "measured");
	} else if (demands[0] || demands[1]) {
		report_fact_text(r, "contention not known for lack of demands of",
				 k[demands[0]].name);
	}
	if (c.makespan_ns > 0)
		report_fact_number(r,
				   demands[0] && demands[1] ? "end of both us"
							    : "end of both by rounds alone us",
				   "%.3f", c.makespan_ns / 1e3);
}

static void pair_row(struct report *r, const struct model_input *in, size_t i,
		     const struct gsb_coreside *cs)
{
	const struct gsb_coreside *c = &cs[i];
	enum gsb_case when = c->when;

	if (i && in->launch_us > 0)
		when = gsb_case_with_launch(when, in->kernels[i - 1].demand.solo_ns,
					    in->launch_us * 1e3);
	report_text(r, in->kernels[i].name);
	report_text(r, case_name(when));
	report_number(r, "%" PRIu64, in->kernels[i].plan.range.kernel.n_blocks);
	report_number(r, "%" PRIu64, c->full_gpu);
	report_number(r, "%" PRIu64, c->capacity);
	report_number(r, "%" PRIu64, c->resident);
	report_number(r, "%" PRIu64, c->rounds_alone);
	if (!c->rounds || when == GSB_CASE_C) {
		report_none(r);
		report_none(r);
		return;
	}
	report_number(r, "%" PRIu64, c->rounds);
	report_number(r, "%.4f", (double)c->rounds / (double)c->rounds_alone);
}

int model_command_pair(const struct model_input *in)
{
	static const char *const columns[] = {"kernel",	      "case",	    "blocks",
					      "fit alone",    "fit beside", "resident",
					      "rounds alone", "rounds",	    "slowdown"};
	struct gsb_kernel kernels[GSB_PLACE_KERNELS_MAX];
	struct gsb_coreside cs[GSB_PLACE_KERNELS_MAX];
	struct report r;
	int err;

	for (size_t i = 0; i < in->n_kernels; i++)
		kernels[i] = in->kernels[i].plan.range.kernel;
	err = gsb_coreside(&in->arch, in->rules, kernels, (uint32_t)in->n_kernels, cs);
	if (err)
		return explain_any(in, false) ? 1 : refuse("pair", err);
	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	facts(&r, in);
	explain_estimates(&r, in);
	for (size_t i = 0; i < in->n_kernels; i++)
		pair_row(&r, in, i, cs);
	if (in->n_kernels == 2)
		pair_contention(&r, in);
	report_finish(&r);
	return 0;
}

static struct gsb_plan_input plan_input(const struct model_input *in,
					struct gsb_plan_kernel *kernels)
{
	for (size_t i = 0; i < in->n_kernels; i++)
		kernels[i] = in->kernels[i].plan;
	return (struct gsb_plan_input){.arch = &in->arch,
				       .rules = in->rules,
				       .kernels = kernels,
				       .n_kernels = (uint32_t)in->n_kernels,
				       .keep = in->keep,
				       .threads = in->cover ? GSB_PLAN_COVER : GSB_PLAN_EXACT};
}

static void choice_cells(struct report *r, const struct gsb_kernel_row *k,
			 const struct gsb_plan_choice *c)
{
	report_text(r, k->name);
	report_number(r, "%u", k->plan.range.kernel.threads_per_block);
	report_number(r, "%" PRIu64, k->plan.range.kernel.n_blocks);
	report_number(r, "%u", c->threads_per_block);
	report_number(r, "%" PRIu64, c->n_blocks);
	report_number(r, "%u", c->blocks_per_group);
	report_number(r, "%u", c->smem_bytes);
}

static void print_plan(const struct model_input *in, const struct gsb_plan *plan)
{
	static const char *const columns[] = {"kernel",	      "threads",     "blocks",
					      "plan threads", "plan blocks", "blocks/group",
					      "smem",	      "submit as"};
	uint8_t place[GSB_PLAN_KERNELS_MAX];
	struct report r;

	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	facts(&r, in);
	explain_estimates(&r, in);
	for (uint32_t i = 0; i < plan->n_kernels; i++)
		place[plan->order[i]] = (uint8_t)(i + 1);
	for (uint32_t i = 0; i < plan->n_kernels; i++) {
		choice_cells(&r, &in->kernels[i], &plan->choices[i]);
		report_number(&r, "%u", place[i]);
	}
	report_fact_number(&r, "SMs in a group", "%u", plan->sms_per_group);
	report_fact_number(&r, "blocks of a group", "%u", plan->blocks);
	report_fact_number(&r, "warps of a group", "%u", plan->warps);
	report_fact_number(&r, "registers of a group", "%u", plan->regs);
	report_fact_number(&r, "shared memory of a group", "%u", plan->smem_bytes);
	if (plan->regs_mattered)
		report_fact_text(&r, "registers", "decided: a plan without them would not fit");
	report_fact_text(&r, "least shared memory",
			 plan->exact ? "proven, for one geometry each and groups that are alike"
				     : "not proven");
	report_finish(&r);
}

int model_command_plan(const struct model_input *in)
{
	struct gsb_plan_kernel kernels[GSB_PLAN_KERNELS_MAX];
	struct gsb_plan_input input = plan_input(in, kernels);
	struct gsb_plan_work *work = gsb_plan_work_create();
	struct gsb_plan plan;
	int err;

	input.max_steps = GSB_PLAN_STEPS_LONG;
	err = work ? gsb_plan_together(work, &input, &plan) : -ENOMEM;

	gsb_plan_work_destroy(work);
	if (err && explain_any(in, true))
		return 1;
	if (err == -ENOSPC) {
		fprintf(stderr,
			"gsb-model: plan: no geometries found in which these kernels are all "
			"resident at once; `gsb-model batch` splits them\n");
		return 1;
	}
	if (err)
		return refuse("plan", err);
	print_plan(in, &plan);
	return 0;
}

static void print_batches(const struct model_input *in, const struct gsb_plan_batches *b)
{
	static const char *const columns[] = {"batch",	      "kernel",	      "threads",
					      "blocks",	      "plan threads", "plan blocks",
					      "blocks/group", "smem",	      "note"};
	struct report r;

	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	facts(&r, in);
	explain_estimates(&r, in);
	report_fact_number(&r, "batches", "%u", b->n_batches);
	report_fact_number(&r, "no fewer than", "%u", b->lower_bound);
	report_fact_text(&r, "which holds for",
			 "one geometry for each grid, each batch resident as a whole, whatever the "
			 "placement");
	report_fact_text(&r, "fewest", b->proven ? "proven" : "not proven");
	for (uint32_t j = 0; j < b->n_batches; j++) {
		for (size_t i = 0; i < in->n_kernels; i++) {
			if (b->batch_of[i] != j)
				continue;
			report_number(&r, "%u", j + 1);
			choice_cells(&r, &in->kernels[i], &b->choices[i]);
			if (b->alone[i])
				report_text(&r, "fills the GPU more than once");
			else
				report_none(&r);
		}
	}
	report_finish(&r);
}

int model_command_batch(const struct model_input *in)
{
	struct gsb_plan_kernel kernels[GSB_PLAN_KERNELS_MAX];
	struct gsb_plan_input input = plan_input(in, kernels);
	struct gsb_plan_work *work = gsb_plan_work_create();
	struct gsb_plan_batches batches;
	int err = work ? gsb_plan_batches(work, &input, &batches) : -ENOMEM;

	gsb_plan_work_destroy(work);
	if (err)
		return explain_any(in, true) ? 1 : refuse("batch", err);
	print_batches(in, &batches);
	return 0;
}

static void fraction_row(struct report *r, const struct model_input *in,
			 const struct gsb_fraction *f)
{
	report_text(r, in->kernels[f->held].name);
	report_number(r, "%.4f", f->fraction);
	report_number(r, "%.3f", f->end_ns[0] / 1e3);
	report_number(r, "%.3f", f->end_ns[1] / 1e3);
	report_number(r, "%.3f", f->together_ns / 1e3);
	report_number(r, "%.3f", f->gain);
}

/* A kernel that says only where it saturates has a curve of two points. */
static struct gsb_fraction_side side_of(const struct gsb_kernel_row *k)
{
	struct gsb_fraction_side side = {
		.held = k->held, .rest = k->rest, .solo_ns = k->demand.solo_ns, .of = k->demand.of};

	if (!side.held.n && k->demand.saturation > 0)
		gsb_curve_from_saturation(&side.held, k->demand.saturation, 0);
	return side;
}

int model_command_fraction(const struct model_input *in)
{
	static const char *const columns[] = {"held kernel",	  "fraction", "end of first us",
					      "end of second us", "both us",  "gain"};
	const struct gsb_fraction_side sides[2] = {side_of(&in->kernels[0]),
						   side_of(&in->kernels[1])};
	struct gsb_fraction best, f;
	struct report r;
	int err = gsb_fraction_pick(&in->law, sides, &in->fraction, &best);

	if (err) {
		fprintf(stderr, "gsb-model: fraction: %s\n",
			err == -ENOTSUP
				? "neither kernel has a curve or a saturation, so neither can be "
				  "held"
				: "both kernels need solo_us > 0; shares lie in 0 .. 1");
		return 1;
	}
	report_init(&r, in->json, columns, GSB_ARRAY_LEN(columns));
	for (unsigned int held = 0; held < 2; held++)
		for (int i = 1; i < 8; i++)
			if (!gsb_fraction_at(&in->law, sides, held, i / 8.0, &in->fraction, &f))
				fraction_row(&r, in, &f);
	report_fact_text(&r, "verdict", best.pays ? "hold" : "run one after the other");
	report_fact_text(&r, "hold", in->kernels[best.held].name);
	report_fact_number(&r, "at fraction", "%.4f", best.fraction);
	report_fact_number(&r, "both us", "%.3f", best.together_ns / 1e3);
	report_fact_number(&r, "one after the other us", "%.3f", best.sequential_ns / 1e3);
	report_fact_number(&r, "gain", "%.3f", best.gain);
	report_finish(&r);
	return 0;
}
