/*
 * plan.c - see plan.h.
 */
#include "interpose/graph/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* While a plan is made. */
struct draft {
	struct gsb_lane_plan plan;
	uint32_t steps_room, waits_room, deps_room;
	/* Of step i: deps[first_dep[i] .. first_dep[i + 1]), steps before it. */
	uint32_t *deps, n_deps, *first_dep;
};

/* ---- unrolled: steps and what they depend on ---- */

static int grow(void **list, uint32_t *room, uint32_t n, size_t element)
{
	uint32_t more = *room ? *room * 2 : 64;
	void *grown;

	if (n < *room)
		return 0;
	grown = realloc(*list, more * element);
	if (!grown)
		return -ENOMEM;
	*list = grown;
	*room = more;
	return 0;
}

static int add_dep(struct draft *d, uint32_t step)
{
	int r = grow((void **)&d->deps, &d->deps_room, d->n_deps, sizeof(*d->deps));

	if (!r)
		d->deps[d->n_deps++] = step;
	return r;
}

/* Its dependencies are what was added since the last one. */
static int add_step(struct draft *d, struct gsb_graph_node *node)
{
	struct gsb_lane_plan *p = &d->plan;
	uint32_t room = d->steps_room;
	int r = grow((void **)&p->steps, &d->steps_room, p->n_steps + 1, sizeof(*p->steps));

	if (!r && (room != d->steps_room || !d->first_dep)) {
		uint32_t *grown = realloc(d->first_dep, (d->steps_room + 1) * sizeof(*grown));

		if (!grown)
			return -ENOMEM;
		d->first_dep = grown;
		d->first_dep[0] = 0;
	}
	if (r)
		return r;
	p->steps[p->n_steps++] = (struct gsb_lane_step){.node = node, .slot = GSB_LANE_NO_SLOT};
	d->first_dep[p->n_steps] = d->n_deps;
	return 0;
}

static int unroll(struct draft *d, const struct gsb_graph *g);

/* A nested graph begins behind what its node depends on, and ends with a step of its own. */
static int add_node(struct draft *d, struct gsb_graph_node *node, uint32_t begin)
{
	bool is_graph = node->work.type == CU_GRAPH_NODE_TYPE_GRAPH;
	int r = node->n_deps ? 0 : add_dep(d, begin);

	for (uint32_t i = 0; !r && i < node->n_deps; i++)
		r = add_dep(d, node->deps[i]->index);
	if (!r)
		r = add_step(d, is_graph ? NULL : node);
	if (!r && is_graph)
		r = unroll(d, node->work.child);
	node->index = d->plan.n_steps - 1;
	return r;
}

/* All nodes, behind the step before them, and a last step behind all that nobody in the graph waits for. */
static int unroll_in_order(struct draft *d, const struct gsb_graph *g,
			   struct gsb_graph_node **order)
{
	uint32_t begin = d->plan.n_steps - 1;
	int r = gsb_graph_order(g, order);

	for (uint32_t i = 0; !r && i < g->n_nodes; i++)
		r = add_node(d, order[i], begin);
	if (!r && !g->n_nodes)
		r = add_dep(d, begin);
	for (uint32_t i = 0; !r && i < g->n_nodes; i++)
		if (!order[i]->n_dependents)
			r = add_dep(d, order[i]->index);
	return r ? r : add_step(d, NULL);
}

static int unroll(struct draft *d, const struct gsb_graph *g)
{
	struct gsb_graph_node **order = malloc((g->n_nodes + 1) * sizeof(*order));
	int r = order ? unroll_in_order(d, g, order) : -ENOMEM;

	free(order);
	return r;
}

/* ---- lanes and waits ---- */

/* What a step knows to be over when it begins: in each lane, so many steps. */
struct known {
	uint32_t n[GSB_N_LANES];
};

struct lanes {
	uint32_t tail[GSB_N_LANES]; /* the last step in it */
	uint32_t n[GSB_N_LANES];    /* steps in it */
	struct known *known;	    /* of each step */
	uint32_t *place;	    /* of each step, from 1, in its lane */
	uint32_t *last_use;	    /* of each step's event: the last step that waits; 0: none */
};

static void learn(struct known *k, const struct known *other)
{
	for (unsigned i = 0; i < GSB_N_LANES; i++)
		if (k->n[i] < other->n[i])
			k->n[i] = other->n[i];
}

/* Behind a dependency that is the last in its lane, or in a lane whose steps are over by then, or in a new one. */
static uint32_t choose_lane(const struct draft *d, const struct lanes *l, uint32_t step)
{
	const struct gsb_lane_plan *p = &d->plan;
	struct known over = {{0}};

	for (uint32_t i = d->first_dep[step]; i < d->first_dep[step + 1]; i++) {
		uint32_t dep = d->deps[i], lane = p->steps[dep].lane;

		if (l->tail[lane] == dep)
			return lane;
		learn(&over, &l->known[dep]);
	}
	for (uint32_t lane = 0; lane < p->n_lanes; lane++)
		if (over.n[lane] >= l->n[lane])
			return lane;
	return p->n_lanes < GSB_N_LANES ? p->n_lanes : step % GSB_N_LANES;
}

static int add_wait(struct draft *d, uint32_t dep)
{
	struct gsb_lane_plan *p = &d->plan;
	int r = grow((void **)&p->waits, &d->waits_room, p->n_waits, sizeof(*p->waits));

	if (!r)
		p->waits[p->n_waits++] = dep;
	return r;
}

/* The latest first: it may have waited for the others. For now a wait names the step. */
static int add_waits(struct draft *d, struct lanes *l, uint32_t step, struct known *k)
{
	struct gsb_lane_plan *p = &d->plan;
	int r = 0;

	for (uint32_t i = d->first_dep[step + 1]; !r && i-- > d->first_dep[step];) {
		uint32_t dep = d->deps[i], lane = p->steps[dep].lane;

		if (k->n[lane] >= l->place[dep])
			continue;
		learn(k, &l->known[dep]);
		l->last_use[dep] = step;
		r = add_wait(d, dep);
	}
	return r;
}

static int compare_steps(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static int place_step(struct draft *d, struct lanes *l, uint32_t i)
{
	struct gsb_lane_plan *p = &d->plan;
	struct gsb_lane_step *s = &p->steps[i];
	uint32_t first = d->first_dep[i], n = d->first_dep[i + 1] - first;
	struct known k = {{0}};
	int r;

	s->lane = i == p->n_steps - 1 ? 0 : choose_lane(d, l, i);
	if (s->lane >= p->n_lanes)
		p->n_lanes = s->lane + 1;
	else if (l->n[s->lane])
		k = l->known[l->tail[s->lane]];
	s->first_wait = p->n_waits;
	if (n)
		qsort(d->deps + first, n, sizeof(*d->deps), compare_steps);
	r = add_waits(d, l, i, &k);
	s->n_waits = p->n_waits - s->first_wait;
	k.n[s->lane] = l->place[i] = ++l->n[s->lane];
	l->known[i] = k;
	l->tail[s->lane] = i;
	return r;
}

/* ---- events ---- */

/* A wait that named a step names its event from now on. An event is free again when its last wait has been posted. */
static int give_slots(struct gsb_lane_plan *p, const uint32_t *last_use)
{
	uint32_t *free_slots = malloc((p->n_steps + 1) * sizeof(*free_slots)), n_free = 0;

	if (!free_slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < p->n_steps; i++) {
		struct gsb_lane_step *s = &p->steps[i];

		for (uint32_t w = s->first_wait; w < s->first_wait + s->n_waits; w++) {
			uint32_t dep = p->waits[w];

			p->waits[w] = p->steps[dep].slot;
			if (last_use[dep] == i)
				free_slots[n_free++] = p->steps[dep].slot;
		}
		if (last_use[i])
			s->slot = n_free ? free_slots[--n_free] : p->n_slots++;
	}
	free(free_slots);
	return 0;
}

static int place_all(struct draft *d, struct lanes *l)
{
	int r = 0;

	for (uint32_t i = 0; !r && i < d->plan.n_steps; i++)
		r = place_step(d, l, i);
	return r ? r : give_slots(&d->plan, l->last_use);
}

static int make_lanes(struct draft *d)
{
	uint32_t n = d->plan.n_steps;
	struct lanes l = {
		.known = calloc(n, sizeof(*l.known)),
		.place = calloc(n, sizeof(*l.place)),
		.last_use = calloc(n, sizeof(*l.last_use)),
	};
	int r = l.known && l.place && l.last_use ? place_all(d, &l) : -ENOMEM;

	free(l.known);
	free(l.place);
	free(l.last_use);
	return r;
}

int gsb_lane_plan_make(const struct gsb_graph *g, struct gsb_lane_plan *out)
{
	struct draft d = {.plan = {0}};
	int r = add_step(&d, NULL);

	if (!r)
		r = unroll(&d, g);
	if (!r)
		r = make_lanes(&d);
	free(d.deps);
	free(d.first_dep);
	if (r)
		gsb_lane_plan_finish(&d.plan);
	else
		*out = d.plan;
	return r;
}

void gsb_lane_plan_finish(struct gsb_lane_plan *p)
{
	free(p->steps);
	free(p->waits);
	*p = (struct gsb_lane_plan){0};
}
