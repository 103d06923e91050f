/*
 * measure.c - see measure.h.
 */
#include "tools/calibrate/measure.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "model/time/law.h"

#define ROUNDS	      3
#define N_GRIDS	      64
#define GRID_NS	      100000 /* against it the us or two between two grids of a stream are little */
#define VIRTUAL_NS    5000   /* where there is nothing between them */
#define QUICK_PART    2
#define FIRST_PASSES  4
#define PASSES_MAX    (1u << 20)
#define WARM_NS	      300000000ull
#define LATER_PART    16 /* of the older one's time, after which the younger one comes */
#define SPREAD_MAX    0.1
#define FASTEST	      1.25 /* a speed beside another one; more is no measurement */
#define STARVED_FLOOR 0.02 /* of a speed: what is below is as good as nothing */
#define N_CHECKS      3

/* Blocks on an SM that a kernel has, as quarters of those that fit. */
enum { QUARTER = 1, HALF = 2, THREE = 3, N_QUARTERS };

/* Two kernels, and what each of them does. */
struct setting {
	enum cal_part part[2];
	unsigned int quarters[2];
};

static const struct setting table_setting = {{CAL_OLDER, CAL_YOUNGER}, {HALF, HALF}};
static const struct setting check_settings[N_CHECKS] = {
	{{CAL_OLDER, CAL_YOUNGER}, {QUARTER, THREE}},
	{{CAL_OLDER, CAL_YOUNGER}, {THREE, QUARTER}},
	{{CAL_TURNS, CAL_YOUNGER}, {HALF, HALF}},
};

struct run {
	struct cal_rig *rig;
	const struct cal_plan *plan;
	struct cal_result *out;
	uint32_t passes[GSB_N_UNITS];			       /* of a short grid */
	double alone_ns[CAL_N_PARTS][GSB_N_UNITS][N_QUARTERS]; /* 0: not in this round */
	struct cal_repeats alone[GSB_N_UNITS];
	unsigned int n_done, n_all; /* runs of pairs */
	double *errors;
};

struct cal_plan cal_plan_of(const struct cal_rig *rig, bool quick)
{
	bool is_virtual = rig->info->clock_is_virtual;

	return (struct cal_plan){
		/* A virtual clock gives the same again. */
		.rounds = is_virtual ? 1
			  : quick    ? ROUNDS - 1
				     : ROUNDS,
		.n_grids = quick ? N_GRIDS / QUICK_PART : N_GRIDS,
		.grid_ns = is_virtual ? VIRTUAL_NS : GRID_NS,
		.check = !quick,
	};
}

/* ---- one kernel ---- */

static uint32_t blocks_of(const struct cal_rig *rig, unsigned int quarters)
{
	uint32_t quarter = rig->sm_blocks / 4, half = rig->sm_blocks / 2;

	return quarters == QUARTER ? quarter : quarters == HALF ? half : 2 * half - quarter;
}

static struct cal_grids grids_of(const struct run *r, enum gsb_unit unit, enum cal_part part,
				 unsigned int quarters)
{
	uint32_t n = r->plan->n_grids;
	bool is_long = part == CAL_OLDER;

	return (struct cal_grids){
		.unit = unit,
		.part = part,
		.sm_blocks = blocks_of(r->rig, quarters),
		.passes = r->passes[unit] * (is_long ? n : 1),
		.n = is_long || part == CAL_PILOT ? 1 : n,
	};
}

static int time_alone(struct run *r, const struct cal_grids *g, double *ns)
{
	struct cal_span span;

	if (cal_rig_run(r->rig, g, &span))
		return -1;
	*ns = (double)(span.end_ns - span.start_ns);
	return 0;
}

/* Passes of a grid that takes what a short one should, on half of every SM. */
static int find_passes(struct run *r, enum gsb_unit unit)
{
	double want = (double)r->plan->grid_ns, ns = 0;
	uint32_t *passes = &r->passes[unit];

	for (*passes = FIRST_PASSES; *passes <= PASSES_MAX; *passes *= 2) {
		struct cal_grids g = grids_of(r, unit, CAL_PILOT, HALF);

		if (time_alone(r, &g, &ns))
			return -1;
		if (ns < want)
			continue;
		*passes = (uint32_t)fmax(1, round(*passes * want / ns));
		return 0;
	}
	snprintf(r->rig->why, sizeof(r->rig->why),
		 "on %s kernels take no time: there is nothing to measure", r->rig->info->name);
	return -1;
}

static int get_time(struct run *r, enum gsb_unit unit, enum cal_part part, unsigned int quarters,
		    double *ns)
{
	struct cal_grids g = grids_of(r, unit, part, quarters);
	double *known = &r->alone_ns[part][unit][quarters];

	if (*known <= 0 && time_alone(r, &g, known))
		return -1;
	*ns = *known;
	return 0;
}

/* The older part does the same work in one grid, without gaps. */
static int get_alone(struct run *r, enum gsb_unit unit, enum cal_part part, unsigned int quarters,
		     struct cal_alone *out)
{
	double whole_ns;

	if (get_time(r, unit, part, quarters, &out->ns) ||
	    get_time(r, unit, CAL_OLDER, quarters, &whole_ns))
		return -1;
	out->gaps = fmax(0, 1 - whole_ns / out->ns);
	return 0;
}

static bool is_wanted(const struct run *r, unsigned int unit)
{
	return r->rig->units >> unit & 1;
}

/* Clocks rise before anything is measured. */
static int warm(struct run *r, enum gsb_unit unit)
{
	struct cal_grids g = grids_of(r, unit, CAL_PILOT, HALF);
	uint64_t end = gsb_clock_ns() + WARM_NS;
	double ns;

	while (!r->rig->info->clock_is_virtual && gsb_clock_ns() < end)
		if (time_alone(r, &g, &ns))
			return -1;
	return 0;
}

static int find_all_passes(struct run *r)
{
	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		if (is_wanted(r, u) &&
		    (find_passes(r, (enum gsb_unit)u) || warm(r, (enum gsb_unit)u) ||
		     find_passes(r, (enum gsb_unit)u)))
			return -1;
	return 0;
}

/* ---- two ---- */

static void tell(const struct run *r, enum gsb_unit older, enum gsb_unit younger)
{
	if (r->plan->tells)
		fprintf(stderr, "\r%u of %u: %s, then %s\033[K", r->n_done, r->n_all,
			gsb_unit_name(older), gsb_unit_name(younger));
}

static int not_together(struct run *r, enum gsb_unit older, enum gsb_unit younger)
{
	snprintf(
		r->rig->why, sizeof(r->rig->why),
		"%s and then %s were not on %s together: something else is, or only one process may use it; "
		"end it, and run this again",
		gsb_unit_name(older), gsb_unit_name(younger), r->rig->info->name);
	return -1;
}

static int measure_pair(struct run *r, const struct setting *s, enum gsb_unit older,
			enum gsb_unit younger, double speeds[2])
{
	const struct cal_grids pair[2] = {grids_of(r, older, s->part[0], s->quarters[0]),
					  grids_of(r, younger, s->part[1], s->quarters[1])};
	struct cal_span spans[2];
	struct cal_alone alone[2];

	tell(r, older, younger);
	r->n_done++;
	if (get_alone(r, older, s->part[0], s->quarters[0], &alone[0]) ||
	    get_alone(r, younger, s->part[1], s->quarters[1], &alone[1]) ||
	    cal_rig_run_pair(r->rig, pair, (uint64_t)alone[0].ns / LATER_PART, spans))
		return -1;
	return cal_speeds(spans, alone, speeds) ? not_together(r, older, younger) : 0;
}

static int measure_table_pair(struct run *r, unsigned int a, unsigned int b)
{
	struct cal_pair *p = &r->out->pairs[a][b];
	double speeds[2];

	if (measure_pair(r, &table_setting, (enum gsb_unit)a, (enum gsb_unit)b, speeds))
		return -1;
	cal_repeat(&p->older, speeds[0]);
	cal_repeat(&p->younger, speeds[1]);
	return 0;
}

static int measure_round(struct run *r)
{
	memset(r->alone_ns, 0, sizeof(r->alone_ns));
	for (unsigned int a = 0; a < GSB_N_UNITS; a++)
		for (unsigned int b = 0; b < GSB_N_UNITS; b++)
			if (is_wanted(r, a) && is_wanted(r, b) && measure_table_pair(r, a, b))
				return -1;
	for (unsigned int u = 0; u < GSB_N_UNITS; u++)
		if (is_wanted(r, u))
			cal_repeat(&r->alone[u], r->alone_ns[CAL_OLDER][u][HALF]);
	return 0;
}

/* Where two kernels meet now in one way and now in another, the rounds do not say which is the rule: those again. */
static int settle(struct run *r)
{
	for (unsigned int a = 0; a < GSB_N_UNITS; a++)
		for (unsigned int b = 0; b < GSB_N_UNITS; b++) {
			const struct cal_pair *p = &r->out->pairs[a][b];

			while (p->older.n && p->older.n < CAL_REPEATS_MAX &&
			       fmax(cal_spread(&p->older), cal_spread(&p->younger)) > SPREAD_MAX) {
				r->n_all++;
				if (measure_table_pair(r, a, b))
					return -1;
			}
		}
	return 0;
}

/* ---- is it what it seems? ---- */

static void worse(struct cal_worst *w, unsigned int older, unsigned int younger, double value)
{
	if (value >= w->value)
		*w = (struct cal_worst){(enum gsb_unit)older, (enum gsb_unit)younger, value};
}

static int refuse_spread(struct cal_rig *rig, const char *what, double least, double most)
{
	snprintf(
		rig->why, sizeof(rig->why),
		"%s: %.3f to %.3f in the same setting: others use %s, or its clock changes; see nvidia-smi, "
		"end what else runs there, or fix the clock (nvidia-smi -lgc), and run this again",
		what, least, most, rig->info->name);
	return -1;
}

static int check_alone(struct run *r)
{
	for (unsigned int u = 0; u < GSB_N_UNITS; u++) {
		const struct cal_repeats *a = &r->alone[u];
		char what[64];

		if (!a->n || cal_spread(a) <= SPREAD_MAX * cal_least(a))
			continue;
		snprintf(what, sizeof(what), "%s alone, ms", gsb_unit_name((enum gsb_unit)u));
		return refuse_spread(r->rig, what, cal_least(a) / 1e6, cal_most(a) / 1e6);
	}
	return 0;
}

static int check_pair(struct run *r, unsigned int a, unsigned int b)
{
	const struct cal_pair *p = &r->out->pairs[a][b];
	const struct cal_repeats *both[2] = {&p->older, &p->younger};

	for (unsigned int i = 0; i < 2; i++) {
		char what[96];

		worse(&r->out->spread, a, b, cal_spread(both[i]));
		if (cal_spread(both[i]) <= SPREAD_MAX && cal_most(both[i]) <= FASTEST)
			continue;
		snprintf(what, sizeof(what), "speed of %s in %s, then %s",
			 gsb_unit_name((enum gsb_unit)(i ? b : a)), gsb_unit_name((enum gsb_unit)a),
			 gsb_unit_name((enum gsb_unit)b));
		return refuse_spread(r->rig, what, cal_least(both[i]), cal_most(both[i]));
	}
	return 0;
}

static int check_spreads(struct run *r)
{
	if (check_alone(r))
		return -1;
	for (unsigned int a = 0; a < GSB_N_UNITS; a++)
		for (unsigned int b = 0; b < GSB_N_UNITS; b++)
			if (r->out->pairs[a][b].older.n && check_pair(r, a, b))
				return -1;
	return 0;
}

static void fill_law(const struct run *r, struct gsb_interference *law)
{
	for (unsigned int a = 0; a < GSB_N_UNITS; a++)
		for (unsigned int b = 0; b < GSB_N_UNITS; b++) {
			const struct cal_pair *p = &r->out->pairs[a][b];

			if (!p->older.n)
				continue;
			law->beside[a][b] = (struct gsb_beside){
				fmaxf((float)cal_middle(&p->older), GSB_STARVED),
				fmaxf((float)cal_middle(&p->younger), GSB_STARVED)};
			law->is_assumed = false;
		}
}

/* ---- the check ---- */

/* It fills its unit where it is fastest; elsewhere it asks for as much less as it is slower. */
static int describe(struct run *r, enum gsb_unit unit, enum cal_part part, unsigned int quarters,
		    struct gsb_resident *out)
{
	double pace[N_QUARTERS] = {0}, most = 0;

	for (unsigned int q = QUARTER; q < N_QUARTERS; q++) {
		double ns;

		if (get_time(r, unit, CAL_OLDER, q, &ns))
			return -1;
		pace[q] = blocks_of(r->rig, q) / ns;
		most = fmax(most, pace[q]);
	}
	*out = (struct gsb_resident){
		.in_flight = (double)blocks_of(r->rig, quarters) / r->rig->sm_blocks,
		.block_ns = r->alone_ns[CAL_OLDER][unit][quarters] /
			    (part == CAL_OLDER ? 1 : r->plan->n_grids),
	};
	out->demand[unit] = pace[quarters] / most;
	return 0;
}

static int check_one(struct run *r, const struct setting *s, const struct gsb_interference *law,
		     enum gsb_unit a, enum gsb_unit b)
{
	struct gsb_resident both[2];
	double found[2], said[2];

	if (measure_pair(r, s, a, b, found) ||
	    describe(r, a, s->part[0], s->quarters[0], &both[0]) ||
	    describe(r, b, s->part[1], s->quarters[1], &both[1]) ||
	    gsb_law_speeds(law, r->rig->info->arch.n_sms, both, 2, said))
		return -1;
	for (unsigned int i = 0; i < 2; i++) {
		double error = cal_error(said[i], found[i], STARVED_FLOOR);

		worse(&r->out->off, a, b, error);
		r->errors[r->out->n_checked++] = error;
	}
	return 0;
}

static int check_law(struct run *r, const struct gsb_interference *law)
{
	for (unsigned int i = 0; i < N_CHECKS; i++)
		for (unsigned int a = 0; a < GSB_N_UNITS; a++)
			for (unsigned int b = 0; b < GSB_N_UNITS; b++)
				if (is_wanted(r, a) && is_wanted(r, b) &&
				    check_one(r, &check_settings[i], law, (enum gsb_unit)a,
					      (enum gsb_unit)b))
					return -1;
	r->out->median = cal_median(r->errors, r->out->n_checked);
	return 0;
}

/* ---- all of it ---- */

static int measure_all(struct run *r, struct gsb_interference *law)
{
	if (find_all_passes(r))
		return -1;
	for (unsigned int i = 0; i < r->plan->rounds; i++)
		if (measure_round(r))
			return -1;
	if (settle(r) || check_spreads(r))
		return -1;
	fill_law(r, law);
	return r->plan->check ? check_law(r, law) : 0;
}

int cal_measure(struct cal_rig *rig, const struct cal_plan *plan, struct gsb_interference *law,
		struct cal_result *out)
{
	unsigned int n = (unsigned int)__builtin_popcount(rig->units);
	struct run *r = calloc(1, sizeof(*r));
	int err = -1;

	memset(out, 0, sizeof(*out));
	if (r)
		r->errors = calloc((size_t)N_CHECKS * 2 * n * n, sizeof(*r->errors));
	if (r && r->errors) {
		r->rig = rig;
		r->plan = plan;
		r->out = out;
		r->n_all = n * n * (plan->rounds + (plan->check ? N_CHECKS : 0));
		err = measure_all(r, law);
		if (plan->tells)
			fprintf(stderr, "\r\033[K");
		free(r->errors);
	} else {
		snprintf(rig->why, sizeof(rig->why), "no memory for the measurements");
	}
	free(r);
	return err;
}
