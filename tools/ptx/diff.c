/*
 * diff.c - see diff.h.
 */
#include "tools/ptx/diff.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compiler.h"

#define MACHINE_BYTES ((uint64_t)1 << 36)
#define ORIGINAL      GSB_N_REWRITE_FORMS
#define ARENA_BYTES   ((size_t)1 << 30)
#define MIN_INSNS     1000000
#define TOLERANCE     1e-4

static int GSB_PRINTF(2, 3) wrong(struct diff *d, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(d->text, sizeof(d->text), format, args);
	va_end(args);
	return -1;
}

/* ---- open ---- */

static int write_variants(struct diff *d, const struct gsb_ptx_module *m,
			  const struct gsb_ptx_func *kernel, enum gsb_resize_early early)
{
	struct gsb_rewrite_job jobs[GSB_N_REWRITE_FORMS];
	struct gsb_rewrite_refusal why;
	size_t n = 0;
	int err;

	for (int form = 0; form < GSB_N_REWRITE_FORMS; form++)
		if (d->forms >> form & 1)
			jobs[n++] = (struct gsb_rewrite_job){
				.kernel = kernel, .form = form, .early = early};
	err = gsb_rewrite(m, jobs, n, &d->module, &why);
	if (!err)
		return 0;
	if (err == -ENOTSUP)
		return wrong(d, "line %u: %s", why.line, why.text);
	return wrong(d, "not rewritten: %s", strerror(-err));
}

static int open_kernel(struct diff *d, unsigned int nth, const char *name)
{
	const struct gsb_ptx_func *f = gsb_ptx_find_func(d->module, name);
	char log[512] = "";

	if (!f)
		return wrong(d, "no variant '%s'", name);
	if (!grid_kernel_init(&d->kernels[nth], &d->machine, f, log, sizeof(log)))
		return 0;
	return wrong(d, "%.200s: %.300s", name, log);
}

static int open_variant(struct diff *d, enum gsb_rewrite_form form)
{
	char name[4096];

	if (!gsb_rewrite_variant_name(d->original->name, form, name, sizeof(name)))
		return wrong(d, "the kernel's name is too long");
	return open_kernel(d, form, name);
}

static int open_count(struct diff *d)
{
	struct gsb_ptx_kernel k;

	if (gsb_ptx_kernel_build(d->module, d->original, &d->arena, &k) ||
	    gsb_count_sites(&k, &d->arena, &d->sites))
		return wrong(d, "its sites cannot be counted");
	return 0;
}

int diff_open(struct diff *d, const struct gsb_ptx_module *m, const struct gsb_ptx_func *kernel,
	      unsigned int forms, enum gsb_resize_early early)
{
	*d = (struct diff){.forms = forms};
	gsb_arena_init(&d->arena, ARENA_BYTES);
	if (write_variants(d, m, kernel, early))
		return -1;
	d->original = gsb_ptx_find_func(d->module, kernel->name);
	if (grid_machine_init(&d->machine, d->module, MACHINE_BYTES))
		return wrong(d, "no room for device memory");
	if (open_kernel(d, ORIGINAL, kernel->name))
		return -1;
	for (int form = 0; form < GSB_N_REWRITE_FORMS; form++)
		if (forms >> form & 1 && open_variant(d, form))
			return -1;
	return forms & 1u << GSB_REWRITE_COUNT ? open_count(d) : 0;
}

void diff_close(struct diff *d)
{
	for (unsigned int i = 0; i <= GSB_N_REWRITE_FORMS; i++)
		grid_kernel_finish(&d->kernels[i]);
	grid_machine_finish(&d->machine);
	gsb_ptx_module_destroy(d->module);
	gsb_arena_finish(&d->arena);
	free(d->before);
	free(d->expected);
}

/* ---- memory ---- */

static uint8_t *memory(const struct diff *d)
{
	return (uint8_t *)(uintptr_t)d->machine.memory.device.base;
}

void *diff_alloc(struct diff *d, uint64_t bytes, enum diff_compare how)
{
	uint8_t *p = grid_machine_alloc(&d->machine, bytes);

	if (p && how != DIFF_BYTES && d->n_loose < DIFF_MAX_LOOSE) {
		d->loose[d->n_loose].at = (uint64_t)(p - memory(d));
		d->loose[d->n_loose].bytes = bytes;
		d->loose[d->n_loose++].how = how;
	}
	return p;
}

static uint64_t blocks_of(const uint32_t grid[3])
{
	return (uint64_t)grid[0] * grid[1] * grid[2];
}

static int launch(struct diff *d, unsigned int kernel, struct grid_launch *l, const char *what)
{
	struct gsb_emu_fault fault;

	l->params = d->params;
	l->params_bytes = DIFF_PARAM_BYTES;
	l->smem_bytes = d->smem_bytes;
	l->ascending = d->ascending;
	l->strict = kernel == GSB_REWRITE_PERSISTENT; /* ways of ours */
	if (!l->block[0])
		memcpy(l->block, d->block, sizeof(l->block));
	d->n_launches++;
	if (grid_run(&d->machine, &d->kernels[kernel], l, &fault))
		return wrong(d, "%s: %s", what, fault.text);
	d->n_insns += l->n_insns;
	return 0;
}

int diff_expect(struct diff *d)
{
	struct grid_launch l = {0};

	if (!d->before) {
		d->bytes = d->machine.used;
		d->control = grid_machine_alloc(&d->machine, sizeof(*d->control));
		d->words = grid_machine_alloc(&d->machine, 8 * d->sites.n_words + 8);
		d->before = malloc(d->bytes + 1);
		d->expected = malloc(d->bytes + 1);
	}
	if (!d->control || !d->words || !d->before || !d->expected)
		return wrong(d, "no memory");
	memcpy(d->before, memory(d), d->bytes);
	memcpy(l.grid, d->grid, sizeof(l.grid));
	l.resident = d->ascending ? GRID_MAX_RESIDENT : 1;
	l.quantum = d->ascending ? 1000 : 0;
	l.max_insns = d->max_insns;
	if (launch(d, ORIGINAL, &l, "the original"))
		return -1;
	memcpy(d->expected, memory(d), d->bytes);
	d->n_original_insns = l.n_insns;
	return 0;
}

/* ---- comparing ---- */

static bool close_enough(double a, double b)
{
	return a == b || (isnan(a) && isnan(b)) ||
	       fabs(a - b) <= TOLERANCE * (fabs(a) + fabs(b)) + 1e-6;
}

static bool floats_equal(const uint8_t *a, const uint8_t *b, enum diff_compare how)
{
	double x, y;
	float f, g;

	if (how == DIFF_F64) {
		memcpy(&x, a, sizeof(x));
		memcpy(&y, b, sizeof(y));
		return close_enough(x, y);
	}
	memcpy(&f, a, sizeof(f));
	memcpy(&g, b, sizeof(g));
	return close_enough((double)f, (double)g);
}

/* The buffer of floats that a byte lies in: is its number near enough? */
static bool may_differ(const struct diff *d, uint64_t at)
{
	for (unsigned int i = 0; i < d->n_loose; i++) {
		uint64_t in = at - d->loose[i].at, size = d->loose[i].how == DIFF_F64 ? 8 : 4;

		if (in < d->loose[i].bytes)
			return floats_equal(memory(d) + at - in % size,
					    d->expected + at - in % size, d->loose[i].how);
	}
	return false;
}

static int compare(struct diff *d)
{
	const uint8_t *got = memory(d);

	if (!memcmp(got, d->expected, d->bytes))
		return 0;
	for (uint64_t i = 0; i < d->bytes; i++)
		if (got[i] != d->expected[i] && !may_differ(d, i))
			return wrong(d, "byte 0x%" PRIx64 " of memory is 0x%02x, not 0x%02x", i,
				     got[i], d->expected[i]);
	return 0;
}

/* ---- ways ---- */

static void *own_params(struct diff *d)
{
	return d->params + gsb_round_up(d->original->param_bytes, 8);
}

static int run_slices(struct diff *d, const struct diff_way *way, struct grid_launch *l)
{
	uint64_t n = blocks_of(d->grid), done = 0;
	uint32_t most = (uint32_t)gsb_div_up(n, way->slices);
	struct gsb_variant_slice slice;

	while (gsb_variant_slice_next(d->grid, &done, most, &slice, l->grid)) {
		memcpy(own_params(d), &slice, sizeof(slice));
		if (launch(d, GSB_REWRITE_SLICE, l, "a slice"))
			return -1;
	}
	return done == n ? 0
			 : wrong(d, "the slices have %" PRIu64 " blocks, not %" PRIu64, done, n);
}

/* What one launch of persistent blocks may have fetched, and must have, unless it was told to end. */
static int check_lifetimes(struct diff *d, const struct diff_way *way, uint32_t before,
			   uint32_t total)
{
	uint64_t next = d->control->next;
	uint64_t most = before + (uint64_t)way->n_blocks * way->max_tiles;

	if (way->max_tiles != GSB_VARIANT_NO_LIMIT && next > most)
		return wrong(d, "tile %" PRIu64 " was fetched, %" PRIu64 " is the most", next,
			     most);
	if (way->max_ns == GSB_VARIANT_NO_TIME && !way->stop_after && next < total && next != most)
		return wrong(d, "blocks ended at tile %" PRIu64 " of %u, not at %" PRIu64, next,
			     total, most);
	if (way->max_ns == 1 && next > before + (uint64_t)way->n_blocks * way->batch)
		return wrong(d, "blocks that were to end after one fetch were not");
	if (way->max_ns > 1 && next <= before)
		return wrong(d, "no progress at tile %" PRIu64, next);
	return 0;
}

/* No tile is fetched by blocks that are told to stop, or that are on SMs to keep off. */
static int check_standstill(struct diff *d, const struct diff_way *way, struct grid_launch *l)
{
	for (int i = 0; i < 2; i++) {
		d->control->stop = i == 0;
		memset(d->control->keep_off, i == 0 ? 0 : 0xff, sizeof(d->control->keep_off));
		if (launch(d, GSB_REWRITE_PERSISTENT, l, "blocks that are told to end"))
			return -1;
		if (d->control->next)
			return wrong(d, i == 0 ? "the stop flag was not seen"
					       : "a block fetched on an SM to keep off");
	}
	memset(d->control, 0, sizeof(*d->control));
	(void)way;
	return 0;
}

static int run_persistent(struct diff *d, const struct diff_way *way, struct grid_launch *l)
{
	struct gsb_variant_persistent p = {.control = (uintptr_t)d->control,
					   .total = gsb_variant_total(d->grid),
					   .batch = way->batch,
					   .max_tiles = way->max_tiles,
					   .max_ns = way->max_ns};

	memcpy(p.grid, d->grid, sizeof(p.grid));
	memcpy(own_params(d), &p, sizeof(p));
	memset(d->control, 0, sizeof(*d->control));
	l->grid[0] = way->n_blocks;
	l->grid[1] = l->grid[2] = 1;
	if (way->stop_after && check_standstill(d, way, l))
		return -1;
	l->flag_after = way->stop_after;
	for (unsigned int n = 0; d->control->next < p.total; n++) {
		uint32_t before = d->control->next;

		l->flag = way->stop_after && n < 3 ? &d->control->stop : NULL;
		if (launch(d, GSB_REWRITE_PERSISTENT, l, "persistent blocks"))
			return -1;
		d->control->stop = 0;
		if (check_lifetimes(d, way, before, p.total))
			return -1;
		if (n > p.total + 3)
			return wrong(d, "more launches than tiles");
	}
	return 0;
}

static int run_count(struct diff *d, const struct diff_way *way, struct grid_launch *l)
{
	struct gsb_variant_count p = {.words = (uintptr_t)d->words, .every = way->every};

	memcpy(own_params(d), &p, sizeof(p));
	memset(d->words, 0, 8 * d->sites.n_words);
	memcpy(l->grid, d->grid, sizeof(l->grid));
	if (launch(d, GSB_REWRITE_COUNT, l, "counting"))
		return -1;
	gsb_count_read(&d->sites, d->words, &d->counted);
	return 0;
}

static int run_hint(struct diff *d, struct grid_launch *l)
{
	memcpy(l->grid, d->grid, sizeof(l->grid));
	return launch(d, GSB_REWRITE_HINT, l, "with hints");
}

static int run_reshaped(struct diff *d, const struct diff_way *way, struct grid_launch *l)
{
	memcpy(l->grid, d->grid, sizeof(l->grid));
	memcpy(l->block, d->block, sizeof(l->block));
	l->grid[0] = (uint32_t)((uint64_t)d->grid[0] * d->block[0] / way->threads);
	l->block[0] = way->threads;
	return launch(d, ORIGINAL, l, "reshaped");
}

static int run_way(struct diff *d, const struct diff_way *way, struct grid_launch *l)
{
	switch (way->form) {
	case GSB_REWRITE_SLICE: return run_slices(d, way, l);
	case GSB_REWRITE_PERSISTENT: return run_persistent(d, way, l);
	case GSB_REWRITE_COUNT: return run_count(d, way, l);
	case DIFF_RESHAPE: return run_reshaped(d, way, l);
	default: return run_hint(d, l);
	}
}

void diff_restore(struct diff *d)
{
	if (d->before)
		memcpy(memory(d), d->before, d->bytes);
}

int diff_try(struct diff *d, const struct diff_way *way)
{
	struct grid_launch l = {.seed = way->seed,
				.resident = way->resident,
				.quantum = way->quantum,
				.max_insns = d->max_insns};

	diff_restore(d);
	d->n_insns = 0;
	return run_way(d, way, &l) || compare(d) ? -1 : 0;
}

/* ---- choosing ---- */

static uint64_t draw(uint64_t *state, uint64_t below)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

#define PICK(state, list) ((list)[draw(state, GSB_ARRAY_LEN(list))])

/* Full residency is of blocks of that size on 132 SMs; so many that most have nothing to do are drawn seldom. */
static uint32_t choose_blocks(const struct diff *d, uint64_t *state)
{
	static const uint32_t few[] = {1, 1, 2, 2, 3, 5, 8, 13};
	const uint32_t threads = d->block[0] * d->block[1] * d->block[2];
	const uint32_t full = 132 * (2048 / threads < 32 ? 2048 / threads : 32);
	const uint32_t many[] = {132, 132, full, 2 * full};

	return draw(state, 24) ? PICK(state, few) : PICK(state, many);
}

void diff_choose(const struct diff *d, uint64_t number, struct diff_way *way)
{
	static const uint32_t slices[] = {1, 2, 3, 8, 32}, batches[] = {1, 1, 2, 4, 16};
	static const uint32_t tiles[] = {1, 2, 3, 64, GSB_VARIANT_NO_LIMIT, GSB_VARIANT_NO_LIMIT};
	static const uint64_t times[] = {1, 2000, GSB_VARIANT_NO_TIME, GSB_VARIANT_NO_TIME,
					 GSB_VARIANT_NO_TIME};
	uint64_t state = number;
	unsigned int form;

	do
		form = (unsigned int)PICK(&state,
					  ((const int[]){0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 3, 4}));
	while (form == DIFF_RESHAPE ? !d->n_reshapes : !(d->forms >> form & 1));
	*way = (struct diff_way){.form = form,
				 .seed = 1 + draw(&state, UINT32_MAX),
				 .resident = 1 + (uint32_t)draw(&state, 8),
				 .quantum = draw(&state, 2) ? 20 + draw(&state, 200) : 0,
				 .slices = PICK(&state, slices),
				 .n_blocks = choose_blocks(d, &state),
				 .max_tiles = PICK(&state, tiles),
				 .batch = d->ascending ? 1 : PICK(&state, batches),
				 .max_ns = PICK(&state, times),
				 .stop_after = draw(&state, 4) ? 0 : 1 + draw(&state, 20),
				 .every = draw(&state, 2) ? 1 : 3};
	if (form == DIFF_RESHAPE)
		way->threads = d->reshapes[draw(&state, d->n_reshapes)];
	if (d->ascending) { /* who waits must let others run */
		way->resident = GRID_MAX_RESIDENT;
		way->quantum = 200;
	}
}

void diff_say_way(const struct diff_way *w, char *out, size_t size)
{
	int n = snprintf(out, size, "%s, seed %" PRIu64 ", %u resident, turns of %" PRIu64,
			 w->form == DIFF_RESHAPE ? "reshape" : gsb_rewrite_form_name(w->form),
			 w->seed, w->resident, w->quantum);
	size_t at = n < 0 ? 0 : (size_t)n;

	if (at >= size)
		return;
	if (w->form == DIFF_RESHAPE)
		snprintf(out + at, size - at, ", blocks of %u", w->threads);
	if (w->form == GSB_REWRITE_SLICE)
		snprintf(out + at, size - at, ", %u slices", w->slices);
	if (w->form == GSB_REWRITE_PERSISTENT)
		snprintf(out + at, size - at,
			 ", %u blocks, max_tiles %d, max_ns %" PRId64
			 ", batch %u, stop after %" PRIu64,
			 w->n_blocks, (int)w->max_tiles, (int64_t)w->max_ns, w->batch,
			 w->stop_after);
}
