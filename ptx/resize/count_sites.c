/*
 * count_sites.c - where a counting variant counts, and what its words mean: see rewrite_count.h.
 */
#include <errno.h>
#include <string.h>

#include "ptx/cfg.h"
#include "ptx/resize/rewrite_count.h"

#define WORDS_A_SITE 3

/* ---- sites ---- */

static bool is_access(const struct gsb_ptx_insn *in)
{
	switch (in->op) {
	case GSB_PTX_OP_LD:
	case GSB_PTX_OP_LDU:
	case GSB_PTX_OP_ST:
	case GSB_PTX_OP_ATOM:
	case GSB_PTX_OP_RED:
		return in->space == GSB_PTX_SPACE_GLOBAL || in->space == GSB_PTX_SPACE_GENERIC;
	default: return false;
	}
}

bool gsb_count_follows(const struct gsb_count_site *s)
{
	const struct gsb_ptx_insn *in = &s->func->insns[s->first];

	return !s->n_insns && in->guard == GSB_PTX_NONE && in->space == GSB_PTX_SPACE_GLOBAL;
}

/* Behind it there may be fewer lanes than before. */
static bool ends_run(const struct gsb_ptx_insn *in)
{
	return gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_LEAVE;
}

struct finder {
	struct gsb_count_site *sites; /* NULL: they are counted only */
	uint32_t n;
	const struct gsb_ptx_func *func;
};

static void add_site(struct finder *at, uint32_t first, uint32_t n_insns)
{
	if (at->sites)
		at->sites[at->n] = (struct gsb_count_site){at->func, first, n_insns};
	at->n++;
}

static void find_in_run(struct finder *at, uint32_t first, uint32_t end)
{
	add_site(at, first, end - first);
	for (uint32_t i = first; i < end; i++)
		if (is_access(&at->func->insns[i]))
			add_site(at, i, 0);
}

static void find_in_block(struct finder *at, const struct gsb_ptx_block *b)
{
	uint32_t first = b->first, end = b->first + b->n_insns;

	for (uint32_t i = first; i < end; i++) {
		if (i + 1 < end && !ends_run(&at->func->insns[i]))
			continue;
		find_in_run(at, first, i + 1);
		first = i + 1;
	}
}

static int find_all(const struct gsb_ptx_kernel *k, struct gsb_arena *arena, struct finder *at)
{
	for (uint32_t i = 0; i < k->n_funcs; i++) {
		struct gsb_ptx_cfg cfg;
		int err = gsb_ptx_cfg_build(k->funcs[i], arena, &cfg);

		if (err)
			return err;
		at->func = k->funcs[i];
		for (uint32_t b = 0; b < cfg.n_blocks; b++)
			if (cfg.blocks[b].reachable)
				find_in_block(at, &cfg.blocks[b]);
	}
	return at->n > GSB_COUNT_MAX_SITES ? -E2BIG : 0;
}

int gsb_count_sites(const struct gsb_ptx_kernel *k, struct gsb_arena *arena,
		    struct gsb_count_sites *out)
{
	struct finder at = {0};
	int err = find_all(k, arena, &at);

	if (err)
		return err;
	at.sites = gsb_arena_alloc_array(arena, at.n, sizeof(*at.sites));
	if (!at.sites)
		return -ENOMEM;
	at.n = 0;
	err = find_all(k, arena, &at);
	if (!err)
		*out = (struct gsb_count_sites){at.sites, at.n, 1 + WORDS_A_SITE * (uint64_t)at.n};
	return err;
}

uint32_t gsb_count_word_of(uint32_t site)
{
	return 1 + WORDS_A_SITE * site;
}

struct gsb_count_words gsb_count_words(const struct gsb_count_site *s, uint32_t site)
{
	if (s->n_insns)
		return (struct gsb_count_words){gsb_count_word_of(site), 2};
	if (gsb_count_follows(s))
		return (struct gsb_count_words){gsb_count_word_of(site) + 2, 1};
	return (struct gsb_count_words){gsb_count_word_of(site), WORDS_A_SITE};
}

/* ---- reading ---- */

static void read_run(const struct gsb_count_site *s, const uint64_t *words, struct gsb_count *out)
{
	for (uint32_t i = s->first; i < s->first + s->n_insns; i++) {
		const struct gsb_ptx_insn *in = &s->func->insns[i];

		out->n_insns += words[0];
		out->n_lane_insns += words[1];
		out->n_by_unit[gsb_ptx_unit_of(in)] += words[0];
		if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_BARRIER)
			out->n_barriers += words[0];
	}
}

static void read_access(const struct gsb_count_site *s, const uint64_t *words,
			struct gsb_count *out)
{
	const struct gsb_ptx_insn *in = &s->func->insns[s->first];
	const bool loads = in->op == GSB_PTX_OP_LD || in->op == GSB_PTX_OP_LDU;
	const enum gsb_count_traffic kind = loads		      ? GSB_COUNT_LOAD
					    : in->op == GSB_PTX_OP_ST ? GSB_COUNT_STORE
								      : GSB_COUNT_ATOM;

	out->global[kind].n_requests += words[0];
	out->global[kind].n_lanes += words[1];
	out->global[kind].n_bytes +=
		words[1] * gsb_ptx_type_bytes(in->type[0]) * (in->vec ? in->vec : 1);
	out->global[kind].n_sectors += words[2];
}

static void read_following(const struct gsb_count_site *s, const uint64_t *run,
			   const uint64_t *words, struct gsb_count *out)
{
	const uint64_t all[WORDS_A_SITE] = {run[0], run[1], words[2]};

	read_access(s, all, out);
}

void gsb_count_read(const struct gsb_count_sites *sites, const uint64_t *words,
		    struct gsb_count *out)
{
	const uint64_t *run = words;

	memset(out, 0, sizeof(*out));
	out->n_warps = words[0];
	for (uint32_t i = 0; i < sites->n_sites; i++) {
		const struct gsb_count_site *s = &sites->sites[i];
		const uint64_t *at = words + gsb_count_word_of(i);

		if (s->n_insns)
			read_run(s, run = at, out);
		else if (gsb_count_follows(s))
			read_following(s, run, at, out);
		else
			read_access(s, at, out);
	}
}
