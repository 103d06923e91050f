/*
 * machine.c - see machine.h.
 *
 * Waiting grids stand in one list in the order in which they may place blocks. Each SM knows the first of
 * them whose range it is in, and is closed to all others: so grids on different SMs do not meet, and one
 * that spans the SMs of several queues of others goes where it is the first. Such a grid is a head; mostly
 * there is one.
 *
 * Placed blocks live in slots, one for each block slot of the GPU; ends.h has those whose end is known. What each
 * SM has for its head is kept in a tournament of them, in which an SM plays again when it has changed and somebody
 * asks, so that a placement does not look at all SMs, and a thousand ends in one instant not eight times at each.
 */
#include "model/placement/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/compiler.h"
#include "base/lowest.h"
#include "gsb/device_info.h"
#include "model/gpu/arch.h"
#include "model/placement/ends.h"
#include "model/placement/place.h"
#include "model/placement/tournament.h"

struct gsb_machine_grid {
	struct gsb_machine_grid *next; /* in the list of waiting grids */
	struct gsb_machine_grid **link;
	struct gsb_block_need need;
	uint64_t n_blocks, n_placed, n_ended;
	struct gsb_sm_range sms;
	uint32_t n_first; /* of them, on which it is the first in line */
	int priority;
	uint32_t cluster; /* blocks of one */
	bool cooperative;
	bool full; /* no GPC has room for a cluster of it, until a block ends */
	bool open; /* as a head: its blocks may be placed */
	bool awaited;
	struct gsb_machine_grid *after; /* NULL: none, or it has ended */
	struct gsb_machine_grid *twin;	/* while it is cloned */
	void *owner;
};

struct slot {
	struct gsb_machine_grid *grid; /* NULL: free */
	uint64_t index, order;	       /* order: of placement, over all grids */
	uint32_t sm;
	struct gsb_block_place place;
};

struct gsb_machine {
	struct gsb_arch arch;
	const struct gsb_rules *rules;
	struct gsb_sm_room empty, *sms;
	struct gsb_machine_grid *
		*first; /* by SM: the first in line for it; NULL = nobody wants it */
	struct gsb_tournament
		scores; /* SMs: 1 + free warps when the next block of its head fits, else 0 */
	uint32_t *stale, n_stale; /* SMs whose scores are not current, */
	bool *is_stale;		  /* by SM: it is one of them */
	struct gsb_machine_grid *waiting;
	uint32_t n_new_heads; /* which have no block placed yet */
	struct slot *slots;
	struct gsb_ends ends; /* of slots */
	struct gsb_lowest free_slots;
	uint32_t n_slots, n_placed, n_resident;
	uint64_t order;
	struct { /* a cluster of which one block has been placed: where the others go */
		struct gsb_machine_grid *grid; /* NULL: there is none */
		uint32_t next, sms[GSB_CLUSTER_MAX];
	} rest;
};

/* ---- who is the first in line, by SM ---- */

static uint32_t sms_end(const struct gsb_machine_grid *grid)
{
	return grid->sms.first + grid->sms.n;
}

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint32_t max_u32(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

/* Found anew when somebody asks for the best: of all that comes and goes on an SM in between, once. */
static void set_stale(struct gsb_machine *m, uint32_t from, uint32_t to)
{
	for (uint32_t sm = from; sm < to; sm++) {
		if (m->is_stale[sm])
			continue;
		m->is_stale[sm] = true;
		m->stale[m->n_stale++] = sm;
	}
}

static bool is_new_head(const struct gsb_machine_grid *grid)
{
	return grid && grid->n_first && !grid->n_placed;
}

static void set_first(struct gsb_machine *m, uint32_t sm, struct gsb_machine_grid *grid)
{
	struct gsb_machine_grid *was = m->first[sm];

	m->n_new_heads -= is_new_head(was) + is_new_head(grid);
	if (was)
		was->n_first--;
	if (grid) {
		grid->n_first++;
		grid->full = false;
	}
	m->n_new_heads += is_new_head(was) + is_new_head(grid);
	m->first[sm] = grid;
}

/* It stands in the list: its SMs are those that nobody before it wants. */
static void enter_line(struct gsb_machine *m, struct gsb_machine_grid *grid)
{
	for (uint32_t sm = grid->sms.first; sm < sms_end(grid); sm++)
		if (!m->first[sm] || m->first[sm]->priority > grid->priority)
			set_first(m, sm, grid);
	if (grid->n_first)
		set_stale(m, grid->sms.first, sms_end(grid));
}

/* The SMs of one that leaves go to the next in line, each to its own. */
static void leave_line(struct gsb_machine *m, struct gsb_machine_grid *grid)
{
	struct gsb_machine_grid *to = grid->next;

	if (grid->n_first)
		set_stale(m, grid->sms.first, sms_end(grid));
	for (; grid->n_first && to; to = to->next)
		for (uint32_t sm = max_u32(grid->sms.first, to->sms.first);
		     sm < min_u32(sms_end(grid), sms_end(to)); sm++)
			if (m->first[sm] == grid)
				set_first(m, sm, to);
	for (uint32_t sm = grid->sms.first; grid->n_first; sm++)
		if (m->first[sm] == grid)
			set_first(m, sm, NULL);
}

/* ---- waiting grids ---- */

static void list_insert(struct gsb_machine *m, struct gsb_machine_grid *grid)
{
	struct gsb_machine_grid **at = &m->waiting;

	while (*at && (*at)->priority <= grid->priority)
		at = &(*at)->next;
	enter_line(m, grid);
	grid->next = *at;
	if (grid->next)
		grid->next->link = &grid->next;
	grid->link = at;
	*at = grid;
}

static void list_remove(struct gsb_machine *m, struct gsb_machine_grid *grid)
{
	leave_line(m, grid);
	*grid->link = grid->next;
	if (grid->next)
		grid->next->link = grid->link;
	grid->link = NULL;
}

/* Blocks that fit SMs of the grid's range, as whole clusters in each GPC; @empty: if nothing else were there. */
static uint64_t count_fitting(const struct gsb_machine *m, const struct gsb_machine_grid *grid,
			      bool empty)
{
	uint64_t n = 0;
	uint32_t end;

	for (uint32_t sm = grid->sms.first; sm < sms_end(grid); sm = end) {
		uint32_t in_gpc = 0;

		end = grid->cluster > 1 ? min_u32(gsb_arch_gpc(&m->arch, sm).end, sms_end(grid))
					: sm + 1;
		for (uint32_t i = sm; i < end; i++)
			if (empty || m->first[i] == grid)
				in_gpc += gsb_sm_room_fit(empty ? &m->empty : &m->sms[i],
							  &grid->need);
		n += in_gpc - in_gpc % grid->cluster;
	}
	return n;
}

static bool all_fit(const struct gsb_machine *m, const struct gsb_machine_grid *grid)
{
	return count_fitting(m, grid, false) >= grid->n_blocks;
}

/* Of heads that wait for their first block those that may start do, as long as there are grids to be had. */
static void open_heads(struct gsb_machine *m)
{
	uint32_t n_grids = m->arch.max_resident_grids - m->n_resident, left = m->n_new_heads;

	for (struct gsb_machine_grid *g = m->waiting; left; g = g->next) {
		bool was = g->open;

		if (!is_new_head(g))
			continue;
		left--;
		g->open = n_grids && !g->after && (!g->cooperative || all_fit(m, g));
		n_grids -= g->open;
		if (g->open != was)
			set_stale(m, g->sms.first, sms_end(g));
	}
}

static void find_score(struct gsb_machine *m, uint32_t sm)
{
	const struct gsb_machine_grid *head = m->first[sm];
	const struct gsb_sm_room *room = &m->sms[sm];
	bool fits = head && head->open && !head->full && gsb_sm_room_has(room, &head->need);

	gsb_tournament_set(&m->scores, sm, fits ? 1 + room->warps : 0);
}

/* Where the next block goes; n_sms when none fits. */
static uint32_t choose_sm(struct gsb_machine *m)
{
	while (m->n_stale) {
		uint32_t sm = m->stale[--m->n_stale];

		m->is_stale[sm] = false;
		find_score(m, sm);
	}
	return m->rules->placement == GSB_DEPTH_FIRST ? gsb_tournament_first(&m->scores)
						      : gsb_tournament_best(&m->scores);
}

/* Puts the grid's next block on that SM. */
static uint32_t take_slot(struct gsb_machine *m, struct gsb_machine_grid *grid, uint32_t sm)
{
	uint32_t i = gsb_lowest_take(&m->free_slots);
	struct slot *s = &m->slots[i];

	gsb_sm_room_put(&m->sms[sm], &grid->need, &s->place);
	set_stale(m, sm, sm + 1);
	s->grid = grid;
	s->sm = sm;
	s->order = m->order++;
	s->index = grid->n_placed++;
	m->n_placed++;
	if (!s->index) {
		m->n_resident++;
		m->n_new_heads--;
	}
	if (grid->n_placed == grid->n_blocks)
		list_remove(m, grid);
	return i;
}

static void fill_block(const struct gsb_machine *m, uint32_t slot, struct gsb_machine_block *out)
{
	const struct slot *s = &m->slots[slot];

	*out = (struct gsb_machine_block){
		.owner = s->grid->owner,
		.index = s->index,
		.sm = s->sm,
		.slot = slot,
	};
}

/* ---- clusters ---- */

/* Where a cluster's blocks go among the SMs of a GPC; false: there is no room for all. */
static bool fit_cluster(const struct gsb_machine *m, const struct gsb_machine_grid *grid,
			struct gsb_gpc gpc, uint32_t *sms)
{
	struct gsb_sm_room room[GSB_GPC_SMS_MAX];
	struct gsb_block_place ignored;
	const uint32_t from = max_u32(gpc.first, grid->sms.first);
	const uint32_t end = min_u32(gpc.end, sms_end(grid));

	for (uint32_t sm = from; sm < end; sm++)
		room[sm - from] = m->sms[sm];
	for (uint32_t i = 0; i < grid->cluster; i++) {
		uint32_t best = end;

		for (uint32_t sm = from; sm < end; sm++)
			if (m->first[sm] == grid &&
			    gsb_sm_room_has(&room[sm - from], &grid->need) &&
			    (best == end || room[sm - from].warps > room[best - from].warps))
				best = sm;
		if (best == end)
			return false;
		gsb_sm_room_put(&room[best - from], &grid->need, &ignored);
		sms[i] = best;
	}
	return true;
}

/* The GPC of the SM that a block alone would have, or the first that has room. */
static bool find_cluster(struct gsb_machine *m, struct gsb_machine_grid *grid, uint32_t sm)
{
	if (fit_cluster(m, grid, gsb_arch_gpc(&m->arch, sm), m->rest.sms))
		return true;
	for (sm = grid->sms.first; sm < sms_end(grid); sm = gsb_arch_gpc(&m->arch, sm).end)
		if (fit_cluster(m, grid, gsb_arch_gpc(&m->arch, sm), m->rest.sms))
			return true;
	return false;
}

/* Its SMs are closed to it, and so to those behind it, until there is more room. */
static void set_full(struct gsb_machine *m, struct gsb_machine_grid *grid, bool full)
{
	if (grid->full == full)
		return;
	grid->full = full;
	set_stale(m, grid->sms.first, sms_end(grid));
}

/* Where all of the cluster go that has its first block at *sm, if there is room. */
static bool reserve(struct gsb_machine *m, uint32_t *sm)
{
	struct gsb_machine_grid *grid = m->first[*sm];

	if (!find_cluster(m, grid, *sm)) {
		set_full(m, grid, true);
		return false;
	}
	m->rest.grid = grid;
	m->rest.next = 1;
	*sm = m->rest.sms[0];
	return true;
}

/* The next of the cluster that has been begun. */
static uint32_t rest_sm(struct gsb_machine *m)
{
	uint32_t sm = m->rest.sms[m->rest.next++];

	if (m->rest.next == m->rest.grid->cluster)
		m->rest.grid = NULL;
	return sm;
}

/* The SM of the next block; n_sms: none has room. */
static uint32_t next_sm(struct gsb_machine *m)
{
	uint32_t sm;

	do
		sm = choose_sm(m);
	while (sm < m->arch.n_sms && gsb_unlikely(m->first[sm]->cluster > 1) && !reserve(m, &sm));
	return sm;
}

bool gsb_machine_place(struct gsb_machine *m, struct gsb_machine_block *out)
{
	struct gsb_machine_grid *grid = m->rest.grid;
	uint32_t sm;

	if (gsb_unlikely(grid)) {
		sm = rest_sm(m);
	} else {
		if (!m->waiting)
			return false;
		open_heads(m);
		sm = next_sm(m);
		if (sm == m->arch.n_sms)
			return false;
		grid = m->first[sm];
	}
	fill_block(m, take_slot(m, grid, sm), out);
	return true;
}

/* ---- ends ---- */

void gsb_machine_set_end(struct gsb_machine *m, uint32_t slot, uint64_t time)
{
	gsb_ends_set(&m->ends, slot, time, m->slots[slot].order);
}

bool gsb_machine_next_end(const struct gsb_machine *m, uint64_t *time)
{
	return gsb_ends_next(&m->ends, time);
}

uint32_t gsb_machine_n_open(const struct gsb_machine *m)
{
	return m->n_placed - m->ends.n_known;
}

/* The last that is seen of it. */
static void free_grid(struct gsb_machine *m, struct gsb_machine_grid *grid)
{
	for (struct gsb_machine_grid *g = grid->awaited ? m->waiting : NULL; g; g = g->next)
		if (g->after == grid)
			g->after = NULL;
	free(grid);
}

static void release(struct gsb_machine *m, uint32_t slot)
{
	struct slot *s = &m->slots[slot];

	gsb_sm_room_give(&m->sms[s->sm], &s->grid->need, &s->place);
	set_stale(m, s->sm, s->sm + 1);
	if (m->first[s->sm])
		set_full(m, m->first[s->sm], false);
	s->grid = NULL;
	gsb_lowest_give(&m->free_slots, slot);
	m->n_placed--;
}

bool gsb_machine_end(struct gsb_machine *m, uint64_t time, struct gsb_machine_block *out)
{
	struct gsb_machine_grid *grid;
	uint32_t slot, soon;

	if (!gsb_ends_take(&m->ends, time, &slot))
		return false;
	soon = gsb_ends_soon(&m->ends);
	if (soon != GSB_NO_SLOT)
		gsb_prefetch(&m->slots[soon], sizeof(m->slots[soon]));
	grid = m->slots[slot].grid;
	fill_block(m, slot, out);
	release(m, slot);
	out->soon = soon;
	out->is_last = ++grid->n_ended == grid->n_blocks;
	if (out->is_last) {
		m->n_resident--;
		free_grid(m, grid);
	}
	return true;
}

bool gsb_machine_drop(struct gsb_machine *m, struct gsb_machine_grid *grid)
{
	if (m->rest.grid == grid)
		m->rest.grid = NULL;
	if (grid->link)
		list_remove(m, grid);
	grid->n_blocks = grid->n_placed;
	if (grid->n_ended < grid->n_blocks)
		return false;
	m->n_resident -= grid->n_placed > 0;
	free_grid(m, grid);
	return true;
}

bool gsb_machine_kill(struct gsb_machine *m, struct gsb_machine_grid *grid, uint64_t time)
{
	bool gone = gsb_machine_drop(m, grid);

	if (gone)
		return true;
	for (uint32_t i = 0; i < m->n_slots; i++)
		if (m->slots[i].grid == grid)
			gsb_machine_set_end(m, i, time);
	return false;
}

/* ---- life ---- */

/* Blocks of at least one warp, so that no more than this can be on an SM at once. */
static uint32_t slots_per_sm(const struct gsb_arch *arch)
{
	return arch->max_blocks < arch->max_warps ? arch->max_blocks : arch->max_warps;
}

/* Numbers beyond the last are never had: not more blocks fit. */
static int init_free_slots(struct gsb_machine *m)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < m->n_slots; i += 64)
		err = gsb_lowest_grow(&m->free_slots);
	return err;
}

static void init_slots(struct gsb_machine *m)
{
	gsb_sm_room_init(&m->empty, &m->arch, m->rules);
	for (uint32_t sm = 0; sm < m->arch.n_sms; sm++)
		m->sms[sm] = m->empty;
}

int gsb_machine_create(const struct gsb_arch *arch, const struct gsb_rules *rules,
		       struct gsb_machine **out)
{
	struct gsb_machine *m;

	if (gsb_arch_check(arch))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->arch = *arch;
	m->rules = rules;
	m->n_slots = arch->n_sms * slots_per_sm(arch);
	m->sms = calloc(arch->n_sms, sizeof(*m->sms));
	m->first = calloc(arch->n_sms, sizeof(*m->first));
	m->slots = calloc(m->n_slots, sizeof(*m->slots));
	m->stale = calloc(arch->n_sms, sizeof(*m->stale));
	m->is_stale = calloc(arch->n_sms, sizeof(*m->is_stale));
	if (!m->sms || !m->first || !m->slots || !m->stale || !m->is_stale || init_free_slots(m) ||
	    gsb_tournament_init(&m->scores, arch->n_sms) || gsb_ends_init(&m->ends, m->n_slots)) {
		gsb_machine_destroy(m);
		return -ENOMEM;
	}
	init_slots(m);
	*out = m;
	return 0;
}

/* Grids hang in the list, in slots, or in both: a slot frees its grid with the last of its blocks. */
static void free_grids(struct gsb_machine *m)
{
	for (uint32_t i = 0; i < m->n_slots; i++) {
		struct gsb_machine_grid *grid = m->slots[i].grid;

		if (grid && ++grid->n_ended == grid->n_placed && !grid->link)
			free(grid);
	}
	while (m->waiting) {
		struct gsb_machine_grid *grid = m->waiting;

		m->waiting = grid->next;
		free(grid);
	}
}

void gsb_machine_destroy(struct gsb_machine *m)
{
	if (!m)
		return;
	if (m->slots)
		free_grids(m);
	free(m->sms);
	free(m->first);
	gsb_tournament_finish(&m->scores);
	free(m->slots);
	gsb_lowest_finish(&m->free_slots);
	free(m->stale);
	free(m->is_stale);
	gsb_ends_finish(&m->ends);
	free(m);
}

/* ---- another of the same ---- */

static bool make_twin(struct gsb_machine_grid *grid, struct gsb_machine_grid **all)
{
	struct gsb_machine_grid *twin;

	if (grid->twin)
		return true;
	twin = malloc(sizeof(*twin));
	if (!twin)
		return false;
	*twin = *grid;
	twin->next = *all;
	*all = grid->twin = twin;
	return true;
}

/* Of all grids; they hang in the list, in slots, or in both. */
static bool make_twins(struct gsb_machine *m, struct gsb_machine_grid **all)
{
	bool ok = true;

	for (struct gsb_machine_grid *g = m->waiting; ok && g; g = g->next)
		ok = make_twin(g, all);
	for (uint32_t i = 0; ok && i < m->n_slots; i++)
		ok = !m->slots[i].grid || make_twin(m->slots[i].grid, all);
	return ok;
}

static void forget_twins(struct gsb_machine *m)
{
	for (struct gsb_machine_grid *g = m->waiting; g; g = g->next)
		g->twin = NULL;
	for (uint32_t i = 0; i < m->n_slots; i++)
		if (m->slots[i].grid)
			m->slots[i].grid->twin = NULL;
}

static void free_list(struct gsb_machine_grid *all)
{
	while (all) {
		struct gsb_machine_grid *next = all->next;

		free(all);
		all = next;
	}
}

static struct gsb_machine_grid *twin_of(const struct gsb_machine_grid *grid)
{
	return grid ? grid->twin : NULL;
}

static void copy_grids(struct gsb_machine *to, const struct gsb_machine *m)
{
	struct gsb_machine_grid **at = &to->waiting;

	for (const struct gsb_machine_grid *g = m->waiting; g; g = g->next) {
		*at = g->twin;
		g->twin->link = at;
		g->twin->after = twin_of(g->after);
		at = &g->twin->next;
	}
	*at = NULL;
	for (uint32_t sm = 0; sm < m->arch.n_sms; sm++)
		to->first[sm] = twin_of(m->first[sm]);
	for (uint32_t i = 0; i < m->n_slots; i++)
		to->slots[i].grid = twin_of(m->slots[i].grid);
	to->rest.grid = twin_of(m->rest.grid);
}

static void copy_state(struct gsb_machine *to, const struct gsb_machine *m)
{
	memcpy(to->sms, m->sms, m->arch.n_sms * sizeof(*m->sms));
	memcpy(to->slots, m->slots, m->n_slots * sizeof(*m->slots));
	gsb_ends_copy(&to->ends, &m->ends);
	set_stale(to, 0, m->arch.n_sms);
	to->n_new_heads = m->n_new_heads;
	memcpy(to->free_slots.words, m->free_slots.words,
	       m->free_slots.n_words * sizeof(*m->free_slots.words));
	to->free_slots.from = m->free_slots.from;
	to->n_placed = m->n_placed;
	to->n_resident = m->n_resident;
	to->order = m->order;
	to->rest = m->rest;
}

int gsb_machine_clone(struct gsb_machine *m, struct gsb_machine **out)
{
	struct gsb_machine_grid *twins = NULL;
	struct gsb_machine *to;
	int err = gsb_machine_create(&m->arch, m->rules, &to);

	if (err)
		return err;
	if (!make_twins(m, &twins)) {
		forget_twins(m);
		free_list(twins);
		gsb_machine_destroy(to);
		return -ENOMEM;
	}
	copy_state(to, m);
	copy_grids(to, m);
	forget_twins(m);
	*out = to;
	return 0;
}

/* ---- in ---- */

/* The grid as far as it does not depend on when it comes. */
static int find_grid(const struct gsb_machine *m, const struct gsb_machine_submit *s,
		     struct gsb_machine_grid *grid)
{
	uint32_t cluster = s->cluster > 1 ? s->cluster : 1;

	if (!s->kernel.n_blocks || gsb_arch_find_sms(&m->arch, s->sms, &grid->sms))
		return -EINVAL;
	if (cluster > GSB_CLUSTER_MAX || (cluster > 1 && !m->arch.gpc_sms) ||
	    s->kernel.n_blocks % cluster)
		return -EINVAL;
	grid->n_blocks = s->kernel.n_blocks;
	grid->priority = s->priority;
	grid->cluster = cluster;
	grid->cooperative = s->cooperative;
	grid->owner = s->owner;
	grid->after = s->after;
	return gsb_block_need(&m->arch, &s->kernel, m->rules, &grid->need);
}

int gsb_machine_clusters(const struct gsb_machine *m, const struct gsb_machine_submit *s,
			 uint64_t *out)
{
	struct gsb_machine_grid grid = {0};
	int err = find_grid(m, s, &grid);

	if (!err)
		*out = count_fitting(m, &grid, true) / grid.cluster;
	return err;
}

/* A block that fits one SM fits each: only what must stand together is counted. */
static int find_room(const struct gsb_machine *m, const struct gsb_machine_grid *grid)
{
	uint64_t n = gsb_sm_room_fit(&m->empty, &grid->need);

	if (n && (grid->cooperative || grid->cluster > 1))
		n = count_fitting(m, grid, true);
	return !n || (grid->cooperative && n < grid->n_blocks) ? -ENOSPC : 0;
}

int gsb_machine_check(const struct gsb_machine *m, const struct gsb_machine_submit *s)
{
	struct gsb_machine_grid grid = {0};
	int err = find_grid(m, s, &grid);

	return err ? err : find_room(m, &grid);
}

int gsb_machine_submit(struct gsb_machine *m, const struct gsb_machine_submit *s,
		       struct gsb_machine_grid **out)
{
	struct gsb_machine_grid *grid, found = {0};
	int err = find_grid(m, s, &found);

	if (!err)
		err = find_room(m, &found);
	if (err)
		return err;
	grid = malloc(sizeof(*grid));
	if (!grid)
		return -ENOMEM;
	*grid = found;
	if (s->after)
		s->after->awaited = true;
	list_insert(m, grid);
	*out = grid;
	return 0;
}

uint32_t gsb_machine_sm_blocks(const struct gsb_machine *m, uint32_t sm)
{
	return m->empty.blocks - m->sms[sm].blocks;
}

uint32_t gsb_machine_sm_warps(const struct gsb_machine *m, uint32_t sm)
{
	return m->empty.warps - m->sms[sm].warps;
}
