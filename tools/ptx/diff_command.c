/*
 * diff_command.c - gsb-ptx diff-run and counts: a kernel and its variants on the emulated device's interpreter.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/program.h"
#include "tools/cli.h"
#include "tools/model_report.h"
#include "tools/ptx/subject.h"

#define ALL_FORMS ((1u << GSB_N_REWRITE_FORMS) - 1)
#define PER_INPUT 8 /* ways that are run with one input */

/* ---- diff-run ---- */

static int set_inputs(struct subject *s, uint64_t seed)
{
	for (size_t i = 0; i < s->n_args; i++)
		emu_arg_refill(&s->args[i], seed + i);
	diff_restore(&s->diff);
	if (!subject_fill(&s->diff, s->args, s->n_args) && !diff_expect(&s->diff))
		return 0;
	fprintf(stderr, "gsb-ptx: %s: %s\n", s->kernel.entry->name, s->diff.text);
	return -1;
}

static int run_one(struct subject *s, uint64_t input, uint64_t number)
{
	struct diff_way way;
	char text[256];

	diff_choose(&s->diff, number, &way);
	if (!diff_try(&s->diff, &way))
		return 0;
	diff_say_way(&way, text, sizeof(text));
	printf("DIFFERENT: input %" PRIu64 ", run %" PRIu64 " (%s): %s\n", input, number, text,
	       s->diff.text);
	return -1;
}

/* The n-th run is the same each time: --seed N --random 1 repeats one. */
static int run_all(struct subject *s, const struct gsb_ptx_request *q)
{
	int failed = 0;

	for (uint64_t i = q->seed; i < q->seed + q->n_random; i++) {
		uint64_t input = i / PER_INPUT;

		if ((i == q->seed || i % PER_INPUT == 0) && set_inputs(s, input * 1000 + 1))
			return 1;
		failed -= run_one(s, input, i);
	}
	printf("%s: %u runs in %" PRIu64 " launches, %d different, seeds from %u, forms",
	       s->kernel.entry->name, q->n_random, s->diff.n_launches, failed, q->seed);
	for (int form = 0; form < GSB_N_REWRITE_FORMS; form++)
		if (s->diff.forms >> form & 1)
			printf(" %s", gsb_rewrite_form_name(form));
	printf("%s\n", s->diff.n_reshapes ? " reshape" : "");
	return failed ? 1 : 0;
}

int gsb_ptx_diff_run(const struct gsb_ptx_request *q)
{
	static struct subject s;
	int status = GSB_WRONG_USAGE;

	if (!subject_open(&s, q, ALL_FORMS))
		status = run_all(&s, q);
	subject_close(&s);
	return status;
}

/* ---- counts ---- */

static void row(struct report *r, const char *what, uint64_t n, double per_block)
{
	report_text(r, what);
	report_number(r, "%" PRIu64, n);
	report_number(r, "%.6g", per_block);
}

static void show_counts(const struct subject *s, const struct gsb_ptx_request *q)
{
	static const char *const columns[] = {"count", "of the warps counted", "per block"};
	static const char *const units[GSB_PTX_N_UNITS] = {
		[GSB_PTX_UNIT_ALU] = "ALU",	[GSB_PTX_UNIT_FMA] = "FMA",
		[GSB_PTX_UNIT_FP64] = "FP64",	[GSB_PTX_UNIT_XU] = "XU (SFU)",
		[GSB_PTX_UNIT_LSU] = "LSU",	[GSB_PTX_UNIT_TEX] = "TEX",
		[GSB_PTX_UNIT_ADU] = "ADU",	[GSB_PTX_UNIT_CBU] = "CBU",
		[GSB_PTX_UNIT_OTHER] = "other",
	};
	static const char *const traffic[GSB_COUNT_N_TRAFFICS][3] = {
		{"global load requests", "global load sectors", "global load bytes"},
		{"global store requests", "global store sectors", "global store bytes"},
		{"global atomic requests", "global atomic sectors", "global atomic bytes"},
	};
	const struct gsb_count *c = &s->diff.counted;
	const uint32_t warps = (q->block[0] * q->block[1] * q->block[2] + 31) / 32;
	const double scale = c->n_warps ? (double)warps / (double)c->n_warps : 0;
	struct report r;

	report_init(&r, q->json, columns, sizeof(columns) / sizeof(columns[0]));
	row(&r, "warps", c->n_warps, warps);
	row(&r, "instructions", c->n_insns, scale * (double)c->n_insns);
	row(&r, "instructions of lanes", c->n_lane_insns, scale * (double)c->n_lane_insns);
	for (int i = 0; i < GSB_PTX_N_UNITS; i++)
		row(&r, units[i], c->n_by_unit[i], scale * (double)c->n_by_unit[i]);
	row(&r, "barriers", c->n_barriers, scale * (double)c->n_barriers);
	for (int i = 0; i < GSB_COUNT_N_TRAFFICS; i++) {
		row(&r, traffic[i][0], c->global[i].n_requests,
		    scale * (double)c->global[i].n_requests);
		row(&r, traffic[i][1], c->global[i].n_sectors,
		    scale * (double)c->global[i].n_sectors);
		row(&r, traffic[i][2], c->global[i].n_bytes, scale * (double)c->global[i].n_bytes);
	}
	report_finish(&r);
}

/* What each form adds to a block, as the interpreter counts: of one slice, and of tiles that are fetched one by one. */
static int show_forms(struct subject *s, const struct gsb_ptx_request *q)
{
	static const char *const columns[] = {"form", "instructions", "per block"};
	const double blocks = (double)q->grid[0] * q->grid[1] * q->grid[2];
	struct report r;

	report_init(&r, q->json, columns, sizeof(columns) / sizeof(columns[0]));
	row(&r, "original", s->diff.n_original_insns, (double)s->diff.n_original_insns / blocks);
	for (int form = 0; form < GSB_N_REWRITE_FORMS; form++) {
		const struct diff_way way = {.form = (unsigned int)form,
					     .resident = 1,
					     .slices = 1,
					     .n_blocks = 1,
					     .max_tiles = GSB_VARIANT_NO_LIMIT,
					     .max_ns = GSB_VARIANT_NO_TIME,
					     .batch = 1,
					     .every = q->every ? q->every : 1};

		if (!(s->diff.forms >> form & 1))
			continue;
		if (diff_try(&s->diff, &way))
			return -1;
		row(&r, gsb_rewrite_form_name(form), s->diff.n_insns,
		    (double)s->diff.n_insns / blocks);
	}
	report_finish(&r);
	return 0;
}

static int count(struct subject *s, const struct gsb_ptx_request *q)
{
	const struct diff_way way = {
		.form = GSB_REWRITE_COUNT, .resident = 1, .every = q->every ? q->every : 1};

	if (subject_fill(&s->diff, s->args, s->n_args) || diff_expect(&s->diff) ||
	    diff_try(&s->diff, &way)) {
		fprintf(stderr, "gsb-ptx: %s: %s\n", s->kernel.entry->name, s->diff.text);
		return 1;
	}
	show_counts(s, q);
	if (q->json)
		return 0;
	printf("\n");
	return show_forms(s, q) ? 1 : 0;
}

int gsb_ptx_counts(const struct gsb_ptx_request *q)
{
	static struct subject s;
	int status = GSB_WRONG_USAGE;

	if (!subject_open(&s, q, ALL_FORMS))
		status = s.diff.forms & 1u << GSB_REWRITE_COUNT ? count(&s, q) : 1;
	subject_close(&s);
	return status;
}
