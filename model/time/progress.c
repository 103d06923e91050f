/*
 * progress.c - see progress.h.
 *
 * What stands on an SM is told by one number: the sum of its blocks' keys, a number for each grid. SMs with the same sum have
 * the same blocks, and speeds are kept by it, for as long as nothing has changed that concerns them all.
 */
#include "model/time/progress.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define N_MIXES 64 /* kept; what falls on one that is taken replaces it */
#define STEPS	64 /* of the bandwidth that a grid wants from elsewhere */
#define TOLERANCE \
	16 /* part of its blocks on the device by which a grid may change before that counts elsewhere */
#define MOST_WORK_NS (UINT64_C(1) << 53)

/* Speeds of the grids on an SM. */
struct mix {
	uint64_t sum, epoch;
	unsigned int n;
	struct gsb_progress_grid **grids; /* of as many as an SM has room for */
	uint32_t *speeds;
};

/* An SM, and what stands on it: n of the first n_row of its row, the others are NULL. Nobody is moved when one goes: a thousand
 * that go together would be looked at twice. */
struct sm {
	struct gsb_progress_block **blocks;
	uint32_t n, n_row;
	bool touched;
	uint64_t sum;
};

struct gsb_progress {
	const struct gsb_arch *arch;
	const struct gsb_interference *f;
	TAILQ_HEAD(grids, gsb_progress_grid) grids;
	unsigned int n_grids;
	uint64_t next_order, epoch;
	bool stale;	/* all speeds */
	bool shared;	/* when speeds were found last, there were several grids */
	double dram;	/* of all grids, as seen */
	uint64_t warps; /* of those that want any of it */
	struct sm *sms;
	uint32_t *touched, n_touched; /* SMs on which blocks came or went */
	struct mix mixes[N_MIXES];
	struct gsb_neighbour *here; /* scratch, for one SM */
	void *rows, *names, *speeds;
};

/* ---- life ---- */

static uint32_t room(const struct gsb_arch *arch)
{
	return arch->max_blocks < arch->max_warps ? arch->max_blocks : arch->max_warps;
}

static void hand_out(struct gsb_progress *p, uint32_t n)
{
	struct gsb_progress_block **rows = p->rows;
	struct gsb_progress_grid **names = p->names;
	uint32_t *speeds = p->speeds;

	for (uint32_t sm = 0; sm < p->arch->n_sms; sm++)
		p->sms[sm].blocks = rows + (size_t)sm * n;
	for (size_t i = 0; i < N_MIXES; i++) {
		p->mixes[i].grids = names + i * n;
		p->mixes[i].speeds = speeds + i * n;
	}
}

int gsb_progress_create(const struct gsb_arch *arch, const struct gsb_interference *f,
			struct gsb_progress **out)
{
	struct gsb_progress *p = calloc(1, sizeof(*p));
	uint32_t n = room(arch);

	if (!p)
		return -ENOMEM;
	p->arch = arch;
	p->f = f;
	p->epoch = 1; /* none of the mixes is of it */
	TAILQ_INIT(&p->grids);
	p->sms = calloc(arch->n_sms, sizeof(*p->sms));
	p->touched = calloc(arch->n_sms, sizeof(*p->touched));
	p->here = calloc(n, sizeof(*p->here));
	p->rows = calloc((size_t)arch->n_sms * n, sizeof(struct gsb_progress_block *));
	p->names = calloc((size_t)N_MIXES * n, sizeof(struct gsb_progress_grid *));
	p->speeds = calloc((size_t)N_MIXES * n, sizeof(uint32_t));
	if (!p->sms || !p->touched || !p->here || !p->rows || !p->names || !p->speeds) {
		gsb_progress_destroy(p);
		return -ENOMEM;
	}
	hand_out(p, n);
	*out = p;
	return 0;
}

void gsb_progress_destroy(struct gsb_progress *p)
{
	if (!p)
		return;
	free(p->sms);
	free(p->touched);
	free(p->here);
	free(p->rows);
	free(p->names);
	free(p->speeds);
	free(p);
}

/* ---- who is where ---- */

static void touch(struct gsb_progress *p, uint32_t sm)
{
	if (p->sms[sm].touched)
		return;
	p->sms[sm].touched = true;
	p->touched[p->n_touched++] = sm;
}

/* Any function whose sums hardly ever meet: that of splitmix64. */
static uint64_t key_of(uint64_t order)
{
	uint64_t z = (order + 1) * UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

static void enter(struct gsb_progress *p, struct gsb_progress_grid *grid)
{
	grid->order = p->next_order++;
	grid->key = key_of(grid->order);
	grid->seen_blocks = 0;
	grid->seen_ended = grid->profile->n_blocks;
	grid->dram = 0;
	grid->mean = gsb_block_profile_mean(grid->profile, grid->block_warps);
	TAILQ_INSERT_TAIL(&p->grids, grid, link);
	p->n_grids++;
}

static void leave(struct gsb_progress *p, struct gsb_progress_grid *grid)
{
	TAILQ_REMOVE(&p->grids, grid, link);
	p->n_grids--;
	p->stale |= grid->dram > 0;
}

static void close_ranks(struct sm *s)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < s->n_row; i++) {
		if (!s->blocks[i])
			continue;
		s->blocks[i]->at = n;
		s->blocks[n++] = s->blocks[i];
	}
	s->n_row = n;
}

void gsb_progress_add(struct gsb_progress *p, struct gsb_progress_grid *grid,
		      struct gsb_progress_block *block, uint32_t sm, uint64_t now_ns)
{
	struct sm *s = &p->sms[sm];

	if (!grid->n_blocks++)
		enter(p, grid);
	if (s->n_row == room(p->arch))
		close_ranks(s);
	*block = (struct gsb_progress_block){.grid = grid,
					     .sm = sm,
					     .at = s->n_row,
					     .speed = GSB_FULL_SPEED,
					     .since_ns = now_ns};
	s->blocks[s->n_row++] = block;
	s->n++;
	s->sum += grid->key;
	touch(p, sm);
}

void gsb_progress_remove(struct gsb_progress *p, struct gsb_progress_block *block)
{
	struct sm *s = &p->sms[block->sm];

	s->blocks[block->at] = NULL;
	if (!--s->n)
		s->n_row = 0;
	s->sum -= block->grid->key;
	touch(p, block->sm);
	if (!--block->grid->n_blocks)
		leave(p, block->grid);
	block->grid = NULL;
}

static uint32_t count_on_sm(const struct gsb_progress *p, const struct gsb_progress_grid *grid,
			    const struct sm *s)
{
	uint32_t n = 0;

	if (p->n_grids == 1)
		return s->n;
	for (uint32_t i = 0; i < s->n_row; i++)
		n += s->blocks[i] && s->blocks[i]->grid == grid;
	return n;
}

struct gsb_block_company gsb_progress_company(const struct gsb_progress *p,
					      const struct gsb_progress_block *block)
{
	const struct gsb_progress_grid *grid = block->grid;

	return (struct gsb_block_company){
		.sm_warps = count_on_sm(p, grid, &p->sms[block->sm]) * grid->block_warps,
		.device_warps = grid->n_blocks * grid->block_warps,
	};
}

/* ---- what concerns all SMs ---- */

static struct gsb_neighbour neighbour(const struct gsb_progress_grid *grid, uint32_t sm_blocks)
{
	return (struct gsb_neighbour){
		.mean = grid->mean,
		.is_guess = !grid->seen_ended,
		.sm_blocks = sm_blocks,
		.device_blocks = grid->seen_blocks,
	};
}

/* More is known of it: when its first block has ended, and whenever twice as many have. */
static bool learn(struct gsb_progress_grid *grid)
{
	uint64_t ended = grid->profile->n_blocks;

	if (ended == grid->seen_ended || ended < 2 * grid->seen_ended)
		return false;
	grid->seen_ended = ended;
	grid->mean = gsb_block_profile_mean(grid->profile, grid->block_warps);
	return true;
}

static bool is_count_off(const struct gsb_progress_grid *grid)
{
	uint64_t n = grid->n_blocks, seen = grid->seen_blocks;

	return (n > seen ? n - seen : seen - n) * TOLERANCE > seen;
}

/* Whether that matters where nothing has come or gone. */
static bool look_at(const struct gsb_progress *p, struct gsb_progress_grid *grid)
{
	bool learned = learn(grid);
	struct gsb_neighbour k;
	double was = grid->dram;

	if (!learned && !is_count_off(grid))
		return false;
	grid->seen_blocks = grid->n_blocks;
	k = neighbour(grid, 0);
	grid->dram = round(gsb_company_dram(p->arch, &k) * STEPS) / STEPS;
	return learned || was > 0 || grid->dram > 0;
}

static void look_at_all(struct gsb_progress *p)
{
	struct gsb_progress_grid *grid;

	TAILQ_FOREACH(grid, &p->grids, link)
	p->stale |= look_at(p, grid);
	if (!p->stale)
		return;
	p->epoch++;
	p->dram = 0;
	p->warps = 0;
	TAILQ_FOREACH(grid, &p->grids, link)
	if (grid->dram > 0) {
		p->dram += grid->dram;
		p->warps += grid->seen_blocks * grid->block_warps;
	}
}

/* ---- what concerns one ---- */

/* Its grids, in the order in which they came to the device, so that what is found does not depend on where their blocks stand. */
static void list_grids(struct mix *x, const struct sm *s)
{
	x->n = 0;
	for (uint32_t i = 0; i < s->n_row; i++) {
		struct gsb_progress_grid *grid = s->blocks[i] ? s->blocks[i]->grid : NULL;
		unsigned int at = x->n;

		if (!grid)
			continue;
		while (at && x->grids[at - 1]->order > grid->order)
			at--;
		if (at && x->grids[at - 1] == grid)
			continue;
		for (unsigned int k = x->n++; k > at; k--)
			x->grids[k] = x->grids[k - 1];
		x->grids[at] = grid;
	}
}

static void find_speeds(struct gsb_progress *p, struct mix *x, const struct sm *s)
{
	struct gsb_elsewhere away = {.dram = p->dram, .warps = p->warps};

	list_grids(x, s);
	for (unsigned int i = 0; i < x->n; i++) {
		const struct gsb_progress_grid *grid = x->grids[i];

		p->here[i] = neighbour(grid, count_on_sm(p, grid, s));
		if (grid->dram <= 0)
			continue;
		away.dram -= grid->dram;
		away.warps -= grid->seen_blocks * grid->block_warps;
	}
	gsb_company_speeds(p->f, p->arch, p->here, x->n, &away, x->speeds);
}

static const struct mix *mix_of(struct gsb_progress *p, const struct sm *s)
{
	struct mix *x = &p->mixes[s->sum % N_MIXES];

	if (x->sum != s->sum || x->epoch != p->epoch) {
		x->sum = s->sum;
		x->epoch = p->epoch;
		find_speeds(p, x, s);
	}
	return x;
}

static uint32_t speed_of(const struct mix *x, const struct gsb_progress_grid *grid)
{
	unsigned int i = 0;

	while (x->grids[i] != grid)
		i++;
	return x->speeds[i];
}

static void set_speed(struct gsb_progress_block *b, uint32_t speed, uint64_t now_ns)
{
	b->done += (now_ns - b->since_ns) * b->speed;
	b->since_ns = now_ns;
	b->speed = speed;
}

static void settle_sm(struct gsb_progress *p, const struct sm *s, uint64_t now_ns,
		      gsb_progress_changed *changed, void *ctx)
{
	const struct mix *x = s->n && p->n_grids > 1 ? mix_of(p, s) : NULL;

	for (uint32_t i = 0; i < s->n_row; i++) {
		struct gsb_progress_block *b = s->blocks[i];
		uint32_t speed = x && b ? speed_of(x, b->grid) : GSB_FULL_SPEED;

		if (!b || speed == b->speed)
			continue;
		set_speed(b, speed, now_ns);
		changed(ctx, b);
	}
}

static void forget_touched(struct gsb_progress *p)
{
	while (p->n_touched)
		p->sms[p->touched[--p->n_touched]].touched = false;
}

void gsb_progress_settle(struct gsb_progress *p, uint64_t now_ns, gsb_progress_changed *changed,
			 void *ctx)
{
	bool shared = p->n_grids > 1;

	if (shared || p->shared) {
		p->stale |= shared != p->shared;
		look_at_all(p);
		for (uint32_t i = 0; p->stale && i < p->arch->n_sms; i++)
			settle_sm(p, &p->sms[i], now_ns, changed, ctx);
		for (uint32_t i = 0; !p->stale && i < p->n_touched; i++)
			settle_sm(p, &p->sms[p->touched[i]], now_ns, changed, ctx);
	}
	p->shared = shared;
	p->stale = false;
	forget_touched(p);
}

uint64_t gsb_progress_end_ns(const struct gsb_progress_block *b, uint64_t work_ns)
{
	uint64_t work = (work_ns < MOST_WORK_NS ? work_ns : MOST_WORK_NS) * GSB_FULL_SPEED;
	uint64_t left = work > b->done ? work - b->done : 0;

	return b->since_ns + (left + b->speed - 1) / b->speed;
}
