/*
 * ranges.c - see ranges.h.
 */
#include "tools/trace/ranges.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* ---- threads ---- */

static struct gsb_traced_thread *thread(struct gsb_traced *t, uint32_t tenant, uint32_t number)
{
	uint32_t i = gsb_map_get(&t->thread_of, tenant, number);
	struct gsb_traced_thread *it;

	if (i != GSB_MAP_NONE)
		return &t->threads[i];
	if (gsb_map_put(&t->thread_of, tenant, number, t->n_threads))
		return NULL;
	it = GSB_TRACED_APPEND(t, threads);
	if (!it)
		return NULL;
	*it = (struct gsb_traced_thread){tenant, number, GSB_TRACED_NONE};
	return it;
}

uint32_t gsb_traced_ranges_innermost(const struct gsb_traced *t, uint32_t tenant, uint32_t number)
{
	uint32_t i = gsb_map_get(&t->thread_of, tenant, number);

	return i == GSB_MAP_NONE ? GSB_TRACED_NONE : t->threads[i].innermost;
}

/* ---- labels ---- */

static uint32_t depth_of(const struct gsb_traced *t, uint32_t label)
{
	return label == GSB_TRACED_NONE ? 0 : t->labels[label].depth;
}

/* The label of a range of this name in one of that label; NONE: there is no memory. */
static uint32_t label(struct gsb_traced *t, uint32_t tenant, uint32_t parent, const char *name)
{
	uint64_t key = gsb_hash_bytes(gsb_hash_number(GSB_HASH_BEGIN, tenant), name, strlen(name));
	uint32_t i = gsb_map_get(&t->label_of, parent, key);
	struct gsb_traced_label *it;

	if (depth_of(t, parent) == GSB_RANGE_DEPTH_MAX)
		return parent;
	if (i != GSB_MAP_NONE)
		return i;
	i = t->n_labels;
	it = GSB_TRACED_APPEND(t, labels);
	if (!it || gsb_map_put(&t->label_of, parent, key, i))
		return GSB_TRACED_NONE;
	*it = (struct gsb_traced_label){
		.tenant = tenant, .parent = parent, .depth = depth_of(t, parent) + 1};
	snprintf(it->name, sizeof(it->name), "%s", name);
	return i;
}

/* ---- ranges ---- */

/* A path is made with =>. */
static void clean_name(char out[sizeof(((struct gsb_trace_range *)0)->name)],
		       const struct gsb_trace_range *e)
{
	gsb_traced_clean(out, sizeof(e->name), e->name, sizeof(e->name));
	for (char *c = strstr(out, "=>"); c; c = strstr(c, "=>"))
		c[1] = ')';
}

static int open_range(struct gsb_traced *t, uint32_t tenant, const struct gsb_trace_range *e)
{
	struct gsb_traced_thread *who = thread(t, tenant, e->thread);
	uint32_t outer = who ? who->innermost : GSB_TRACED_NONE, i = t->n_ranges;
	bool nests = e->step == GSB_TRACE_RANGE_STEP_PUSH;
	struct gsb_traced_range *r = who ? GSB_TRACED_APPEND(t, ranges) : NULL;
	char name[sizeof(e->name)];

	if (!r)
		return -ENOMEM;
	clean_name(name, e);
	*r = (struct gsb_traced_range){
		.thread = (uint32_t)(who - t->threads),
		.parent = outer,
		.below = outer,
		.above = GSB_TRACED_NONE,
		.id = e->id,
		.nests = nests,
		.is_open = true,
		.open_ns = e->device_ns,
	};
	r->label =
		label(t, tenant, outer == GSB_TRACED_NONE ? outer : t->ranges[outer].label, name);
	if (r->label == GSB_TRACED_NONE)
		return -ENOMEM;
	if (outer != GSB_TRACED_NONE)
		t->ranges[outer].above = i;
	who->innermost = i;
	return nests ? 0 : gsb_map_put(&t->started, tenant, e->id, i);
}

static void close_range(struct gsb_traced *t, struct gsb_traced_range *r, uint64_t ns)
{
	if (r->below != GSB_TRACED_NONE)
		t->ranges[r->below].above = r->above;
	if (r->above != GSB_TRACED_NONE)
		t->ranges[r->above].below = r->below;
	else
		t->threads[r->thread].innermost = r->below;
	r->is_open = false;
	r->close_ns = ns;
}

/* What a thread pops is the innermost that it has pushed in that domain. */
static void pop_range(struct gsb_traced *t, uint32_t tenant, const struct gsb_trace_range *e)
{
	uint32_t i = gsb_traced_ranges_innermost(t, tenant, e->thread);

	for (unsigned n = 0; i != GSB_TRACED_NONE && n < GSB_RANGE_DEPTH_MAX; n++) {
		struct gsb_traced_range *r = &t->ranges[i];

		if (r->nests && r->id == e->id) {
			close_range(t, r, e->device_ns);
			return;
		}
		i = r->below;
	}
}

static void end_range(struct gsb_traced *t, uint32_t tenant, const struct gsb_trace_range *e)
{
	uint32_t i = gsb_map_get(&t->started, tenant, e->id);

	if (i == GSB_MAP_NONE)
		return;
	gsb_map_remove(&t->started, tenant, e->id);
	close_range(t, &t->ranges[i], e->device_ns);
}

int gsb_traced_ranges_take(struct gsb_traced *t, uint32_t tenant, const struct gsb_trace_range *e)
{
	switch (e->step) {
	case GSB_TRACE_RANGE_STEP_PUSH:
	case GSB_TRACE_RANGE_STEP_START: return open_range(t, tenant, e);
	case GSB_TRACE_RANGE_STEP_POP: pop_range(t, tenant, e); return 0;
	case GSB_TRACE_RANGE_STEP_END: end_range(t, tenant, e); return 0;
	default: return 0;
	}
}

void gsb_traced_ranges_lose(struct gsb_traced *t)
{
	for (uint32_t i = 0; i < t->n_threads; i++)
		while (t->threads[i].innermost != GSB_TRACED_NONE)
			close_range(t, &t->ranges[t->threads[i].innermost], t->now_ns);
	gsb_map_finish(&t->started);
}

void gsb_traced_ranges_finish(struct gsb_traced *t)
{
	free(t->labels);
	free(t->ranges);
	free(t->threads);
	gsb_map_finish(&t->label_of);
	gsb_map_finish(&t->thread_of);
	gsb_map_finish(&t->started);
}

/* ---- what is asked of them ---- */

uint32_t gsb_traced_ranges_around(const struct gsb_traced *t, const struct gsb_traced_op *op,
				  const char *name)
{
	uint32_t i = op->range;

	for (unsigned n = 0; i != GSB_TRACED_NONE && n < GSB_RANGE_DEPTH_MAX; n++) {
		if (!strcmp(t->labels[t->ranges[i].label].name, name))
			return i;
		i = t->ranges[i].parent;
	}
	return GSB_TRACED_NONE;
}

void gsb_traced_ranges_path(const struct gsb_traced *t, uint32_t label, char *out, size_t size)
{
	static const char arrow[] = " => ";
	size_t at = size - 1;

	for (uint32_t l = label; l != GSB_TRACED_NONE; l = t->labels[l].parent) {
		const char *name = t->labels[l].name, *link = l == label ? "" : arrow;
		size_t n = strlen(name), n_link = strlen(link);

		if (n + n_link > at)
			break;
		at -= n + n_link;
		memcpy(out + at, name, n);
		memcpy(out + at + n, link, n_link);
	}
	memmove(out, out + at, size - 1 - at);
	out[size - 1 - at] = '\0';
}

uint64_t gsb_traced_ranges_end_ns(const struct gsb_traced *t, const struct gsb_traced_range *r)
{
	const struct gsb_traced_tenant *who = &t->tenants[t->labels[r->label].tenant];
	uint64_t end = who->gone ? who->gone_ns : t->now_ns;
	uint64_t ns = r->is_open ? end : r->close_ns;

	return ns < r->open_ns ? r->open_ns : ns;
}
