/*
 * mix.c - see mix.h.
 */
#include "tools/compare/mix.h"

#include <stdio.h>
#include <string.h>

#define REPEAT 20u

static void add(struct gsb_mix *m, unsigned query)
{
	m->query[m->n++] = query;
}

static void make_single(struct gsb_mix *m, unsigned query)
{
	snprintf(m->name, sizeof(m->name), "q%u", query + 1);
	add(m, query);
}

static void make_pair(struct gsb_mix *m, unsigned a, unsigned b)
{
	snprintf(m->name, sizeof(m->name), "q%u+q%u", a + 1, b + 1);
	add(m, a);
	add(m, b);
}

/* The i-th of the ten pairs of different queries. */
static void make_nth_pair(struct gsb_mix *m, unsigned i)
{
	for (unsigned a = 0; a < GSB_N_QUERIES; a++)
		for (unsigned b = a + 1; b < GSB_N_QUERIES; b++)
			if (!i--) {
				make_pair(m, a, b);
				return;
			}
}

/* q1 to q5 in turn, or of these the first @of. */
static void make_cycle(struct gsb_mix *m, unsigned n, unsigned of)
{
	snprintf(m->name, sizeof(m->name), "%s x %u", of == GSB_N_QUERIES ? "q1..q5" : "q1,q2", n);
	for (unsigned i = 0; i < n; i++)
		add(m, i % of);
}

/* So many of q1, each again and again. */
static void make_repeated(struct gsb_mix *m, unsigned n)
{
	m->repeat = REPEAT;
	make_cycle(m, n, 1);
	snprintf(m->name, sizeof(m->name), "%u times q1 x %u", REPEAT, n);
}

enum kind { SINGLE, PAIR, CYCLE, TWO, REPEATED };

static const struct {
	enum kind kind;
	unsigned number;
} few[] = {{SINGLE, 0}, {SINGLE, 1}, {SINGLE, 2}, {SINGLE, 3},
	   {SINGLE, 4}, {PAIR, 0},   {PAIR, 9},	  {CYCLE, 5}},
  all[] = {{SINGLE, 0}, {SINGLE, 1}, {SINGLE, 2}, {SINGLE, 3},	{SINGLE, 4}, {PAIR, 0},
	   {PAIR, 1},	{PAIR, 2},   {PAIR, 3},	  {PAIR, 4},	{PAIR, 5},   {PAIR, 6},
	   {PAIR, 7},	{PAIR, 8},   {PAIR, 9},	  {CYCLE, 3},	{CYCLE, 4},  {CYCLE, 5},
	   {CYCLE, 6},	{CYCLE, 8},  {CYCLE, 10}, {CYCLE, 12},	{CYCLE, 14}, {CYCLE, 16},
	   {TWO, 4},	{TWO, 8},    {TWO, 16},	  {REPEATED, 8}};

bool gsb_mix_at(unsigned i, bool full, struct gsb_mix *out)
{
	unsigned n = full ? sizeof(all) / sizeof(all[0]) : sizeof(few) / sizeof(few[0]);
	unsigned number;

	if (i >= n)
		return false;
	number = full ? all[i].number : few[i].number;
	memset(out, 0, sizeof(*out));
	switch (full ? all[i].kind : few[i].kind) {
	case SINGLE: make_single(out, number); break;
	case PAIR: make_nth_pair(out, number); break;
	case CYCLE: make_cycle(out, number, GSB_N_QUERIES); break;
	case TWO: make_cycle(out, number, 2); break;
	case REPEATED: make_repeated(out, number); break;
	}
	return true;
}
