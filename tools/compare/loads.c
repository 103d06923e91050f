/*
 * loads.c - see loads.h. A load is written as a user would write it, and made of that.
 */
#include "tools/compare/loads.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "broker/policy/policy.h"

#define ROUNDS	    8
#define CRITICAL_US 100
#define US_MAX	    10000000
#define ROUNDS_MAX  1000
#define LIMIT_MAX   100000

static const char *const names[GSB_N_WORKLOADS] = {"queries",  "pairs",	 "starvation",
						   "critical", "limits", "drawn"};

/* What lives on the memory beside what lives on the SMs. */
static const char *const pairs[] = {
	"stream+fma", "stream+sfu",   "stream+lds", "stream+l1hit", "gather+fma", "gather+sfu",
	"gather+lds", "gather+l1hit", "chase+fma",  "chase+sfu",    "chase+lds",  "chase+l1hit",
	"atomic+fma", "atomic+sfu",   "atomic+lds", "atomic+l1hit",
};

/* Two of a kind, the first with launches five times as long, of one round; weights alike and 1 to 3. */
static const char *const kinds[] = {"lds", "sfu", "l1hit", "fma"};
#define LONGER	5
#define HEAVIER 3

/* Four that keep the device full; the critical one comes last. */
static const char batch[] = "stream+fma+lds+gather";

/* The first beside others of all kinds, with launches that are shorter, longer and as long: how much longer it may take, in percent. */
static const char mixed[] = "stream+fma:%u:1+gather:%u:8";
static const unsigned limits[] = {0, 100, 50, 20};

enum gsb_compared_workload gsb_compared_workload_find(const char *name)
{
	unsigned i = 0;

	while (i < GSB_N_WORKLOADS && strcmp(names[i], name))
		i++;
	return (enum gsb_compared_workload)i;
}

const char *gsb_compared_workload_name(enum gsb_compared_workload kind)
{
	return names[kind];
}

/* ---- as it is written ---- */

/* One of the numbers behind a kind; nothing: it stays what it is. */
static bool take_number(char **rest, unsigned most, unsigned *out)
{
	char *text = strsep(rest, ":"), *end;
	unsigned long n;

	if (!text)
		return true;
	n = strtoul(text, &end, 10);
	if (*text < '0' || *text > '9' || *end || !n || n > most)
		return false;
	*out = (unsigned)n;
	return true;
}

static const char *parse_loop(char *text, unsigned us, struct gsb_looper *out)
{
	const char *kind = strsep(&text, ":");

	*out = (struct gsb_looper){.us = us, .rounds = ROUNDS, .weight = GSB_WEIGHT_ALIKE};
	if (!*kind || strlen(kind) >= sizeof(out->kind))
		return "a tenant is KIND[:US[:ROUNDS[:WEIGHT[:PERCENT]]]]; gpu_loop --help has the kinds";
	snprintf(out->kind, sizeof(out->kind), "%s", kind);
	if (!take_number(&text, US_MAX, &out->us) ||
	    !take_number(&text, ROUNDS_MAX, &out->rounds) ||
	    !take_number(&text, GSB_WEIGHT_MAX, &out->weight) ||
	    !take_number(&text, LIMIT_MAX, &out->slowdown_percent) || text)
		return "behind a tenant's kind are up to four numbers above 0: us (to 10000000), rounds (to "
		       "1000), weight (to 10000), slowdown_percent (to 100000)";
	return NULL;
}

const char *gsb_load_parse(const char *text, unsigned us, unsigned delay_ms,
			   struct gsb_tenant_load *out)
{
	char room[sizeof(out->name)], *rest = room, *word;
	const char *wrong = NULL;

	if (strlen(text) >= sizeof(room))
		return "it is longer than 127 characters";
	*out = (struct gsb_tenant_load){0};
	strcpy(out->name, text);
	strcpy(room, text);
	while (!wrong && (word = strsep(&rest, "+"))) {
		if (out->n == GSB_LOOPS_MAX)
			return "there are at most 8 tenants";
		wrong = parse_loop(word, us, &out->of[out->n++]);
	}
	if (!wrong)
		out->of[out->n - 1].delay_ms = out->n > 1 ? delay_ms : 0;
	return wrong;
}

/* ---- the workloads ---- */

static bool make_starvation(unsigned i, unsigned us, unsigned delay_ms, struct gsb_tenant_load *out)
{
	char text[64];

	if (i >= 2 * GSB_ARRAY_LEN(kinds))
		return false;
	snprintf(text, sizeof(text), "%s:%u:1+%s:%u:%d:%d", kinds[i / 2], LONGER * us, kinds[i / 2],
		 us, ROUNDS, (i % 2 ? HEAVIER : 1) * GSB_WEIGHT_ALIKE);
	return !gsb_load_parse(text, us, delay_ms, out);
}

static bool make_critical(unsigned i, unsigned us, unsigned delay_ms, struct gsb_tenant_load *out)
{
	char text[64];

	if (i)
		return false;
	snprintf(text, sizeof(text), "%s+lds:%d:1", batch, CRITICAL_US);
	if (gsb_load_parse(text, us, delay_ms, out))
		return false;
	out->of[out->n - 1].critical = true;
	return true;
}

static bool make_limited(unsigned i, unsigned us, struct gsb_tenant_load *out)
{
	char text[96];
	int n;

	if (i >= GSB_ARRAY_LEN(limits))
		return false;
	n = limits[i] ? snprintf(text, sizeof(text), "lds:%u:%d:%d:%u+", us, ROUNDS,
				 GSB_WEIGHT_ALIKE, limits[i])
		      : snprintf(text, sizeof(text), "lds+");
	snprintf(text + n, sizeof(text) - (size_t)n, mixed, LONGER * us, us / LONGER);
	return !gsb_load_parse(text, us, 0, out);
}

bool gsb_load_at(enum gsb_compared_workload kind, unsigned i, unsigned us, unsigned delay_ms,
		 struct gsb_tenant_load *out)
{
	switch (kind) {
	case GSB_PAIRS: return i < GSB_ARRAY_LEN(pairs) && !gsb_load_parse(pairs[i], us, 0, out);
	case GSB_STARVATION: return make_starvation(i, us, delay_ms, out);
	case GSB_LIMITS: return make_limited(i, us, out);
	case GSB_CRITICAL: return make_critical(i, us, delay_ms, out);
	default: return false;
	}
}
