/*
 * run.c - many instances of one case: launches that differ in how their threads are delayed and where their
 * locations lie, and what comes out of them.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/litmus/litmus.h"

#define GROUPS	   8  /* of blocks or warps whose threads share instances */
#define PER_GROUP  64 /* instances at once */
#define MAX_ITERS  64
#define MAX_SHARED 49152 /* bytes that a block may have without asking */

/* Delays and layouts: what one of them hides, another shows. */
static const struct stress {
	uint32_t spin, nap, skew, flip, patience, doze;
	bool apart; /* locations of neighbours are in other cache lines */
} stresses[] = {
	{.patience = 64, .doze = 7},	  /* side by side, and blocks take turns */
	{.patience = 4096, .doze = 4095}, /* side by side, all at work at once */
	{.spin = 7, .skew = 5, .patience = 4096, .doze = 2047, .apart = true},
	{.nap = 24, .skew = 3, .flip = 5, .patience = 64, .doze = 7},	/* sleeps in between */
	{.spin = 31, .nap = 28, .flip = 31, .patience = 16, .doze = 7}, /* every lane for itself */
};

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Geometry and places of a launch of about @n instances. */
static void lay_out(const struct litmus_case *c, const struct litmus_program *p,
		    const struct stress *s, uint64_t n, struct litmus_launch *l)
{
	uint32_t bytes = litmus_width_bytes(c->width), lanes = p->n_threads == 3 ? 4 : p->n_threads;
	uint32_t per, iters, most = MAX_ITERS;

	*l = (struct litmus_launch){.grid = GROUPS, .block = PER_GROUP};
	if (c->place == LITMUS_GRID)
		l->grid *= p->n_threads;
	else
		l->block *= c->place == LITMUS_BLOCK ? p->n_threads : lanes;
	per = litmus_per_block(c, p->n_threads, l->block);
	l->params.stride = s->apart ? max_u32(c->space == LITMUS_GLOBAL ? 64 : 16, bytes) : bytes;
	if (c->space != LITMUS_GLOBAL)
		most = MAX_SHARED / (p->n_locs * per * l->params.stride);
	iters = (uint32_t)((n + GROUPS * per - 1) / (GROUPS * per));
	iters = iters < 1 ? 1 : iters > most ? most : iters;
	l->params.iters = iters;
	l->params.n = GROUPS * per * iters;
	l->params.region = (c->space == LITMUS_GLOBAL ? l->params.n : per * iters) *
			   (uint64_t)l->params.stride;
	l->smem = c->space == LITMUS_GLOBAL ? 0 : (uint32_t)(p->n_locs * l->params.region);
	l->params.spin = s->spin;
	l->params.nap = s->nap;
	l->params.skew = s->skew;
	l->params.flip = s->flip;
	l->params.patience = s->patience;
	l->params.doze = s->doze;
	l->mem_bytes = c->space == LITMUS_GLOBAL ? p->n_locs * l->params.region : 16;
	l->res_bytes = (size_t)(p->n_regs + p->n_locs) * l->params.n * bytes;
	l->sync_bytes = (size_t)GROUPS * iters * 4;
}

static bool get_buffers(struct litmus_launch *l)
{
	l->mem = calloc(1, l->mem_bytes);
	l->res = malloc(l->res_bytes);
	l->sync = calloc(1, l->sync_bytes);
	if (l->res)
		memset(l->res, 0xee,
		       l->res_bytes); /* which is no value: a result that is missing shows */
	return l->mem && l->res && l->sync;
}

static void put_buffers(struct litmus_launch *l)
{
	free(l->mem);
	free(l->res);
	free(l->sync);
}

static void sort_out(const struct litmus_case *c, const struct litmus_program *p,
		     const struct litmus_launch *l, struct litmus_histogram *h)
{
	uint32_t bytes = litmus_width_bytes(c->width), n = l->params.n;
	const unsigned char *res = l->res, *mem = l->mem;

	for (uint32_t k = 0; k < n; k++) {
		uint8_t value[LITMUS_MAX_SEEN] = {0};

		for (unsigned int r = 0; r < p->n_regs; r++)
			value[r] = litmus_value(res + ((size_t)r * n + k) * bytes, bytes);
		for (unsigned int v = 0; v < p->n_locs; v++) {
			const unsigned char *at = res + ((size_t)(p->n_regs + v) * n + k) * bytes;

			if (c->space == LITMUS_GLOBAL)
				at = mem + v * l->params.region +
				     (size_t)(k ^ l->params.flip) * l->params.stride;
			value[p->n_regs + v] = litmus_value(at, bytes);
		}
		litmus_note(h, value);
	}
}

static bool launch(struct litmus_machine *m, const struct litmus_case *c,
		   const struct litmus_program *p, const struct stress *s, uint64_t n,
		   uint32_t seed, struct litmus_result *out)
{
	struct litmus_launch l;
	bool ok;

	lay_out(c, p, s, n, &l);
	l.params.seed = seed;
	ok = get_buffers(&l) && m->run(m, &l, out->log, sizeof(out->log));
	if (ok) {
		sort_out(c, p, &l, &out->seen);
		out->n += l.params.n;
	}
	put_buffers(&l);
	return ok;
}

static bool load(struct litmus_machine *m, const struct litmus_case *c,
		 const struct litmus_program *p, struct litmus_result *out)
{
	char *text = malloc(LITMUS_TEXT);
	bool ok = false;

	if (!text || !litmus_ptx(c, p, text, LITMUS_TEXT))
		snprintf(out->log, sizeof(out->log), "the kernel is too long");
	else
		ok = m->load(m, text, "litmus", out->log, sizeof(out->log));
	free(text);
	return ok;
}

bool litmus_run(struct litmus_machine *m, const struct litmus_case *c, uint64_t n, uint32_t seed,
		struct litmus_result *out)
{
	struct litmus_program p;
	const char *at;

	*out = (struct litmus_result){0};
	if (!litmus_parse(c->row->threads, &p, &at)) {
		snprintf(out->log, sizeof(out->log), "misspelt: '%s'", at);
		return false;
	}
	if (!load(m, c, &p, out))
		return false;
	out->seen.n_regs = p.n_regs;
	out->seen.n_locs = p.n_locs;
	for (uint32_t round = 0; out->n < n || round < GSB_ARRAY_LEN(stresses); round++) {
		if (!launch(m, c, &p, &stresses[round % GSB_ARRAY_LEN(stresses)],
			    n / GSB_ARRAY_LEN(stresses), seed + round * 7919, out))
			return false;
	}
	out->n_forbidden = litmus_count(&out->seen, c->row->forbidden);
	out->n_weak = litmus_count(&out->seen, c->row->weak);
	out->n_witness = litmus_count(&out->seen, c->row->witness);
	out->n_torn = litmus_count(&out->seen, "torn");
	return true;
}
