/*
 * whatif.c - see whatif.h.
 */
#include "broker/policy/whatif.h"

#include <errno.h>

#include "model/placement/occupancy.h"

/* ---- what there is ---- */

static void set_room(struct gsb_whatif *w, const struct gsb_arch *arch, int64_t n_sms)
{
	w->room[GSB_ROOM_WARPS] = n_sms * arch->max_warps;
	w->room[GSB_ROOM_REGS] = n_sms * arch->regs;
	w->room[GSB_ROOM_SMEM] = n_sms * arch->smem_bytes;
	w->room[GSB_ROOM_BLOCKS] = n_sms * arch->max_blocks;
}

int64_t gsb_whatif_fits(const struct gsb_whatif *w, const struct gsb_whatif_kernel *k,
			const int64_t room[GSB_N_ROOMS])
{
	int64_t n = room[GSB_ROOM_BLOCKS];

	for (int i = 0; i < GSB_ROOM_BLOCKS; i++)
		if (k->need[i] && room[i] / k->need[i] < n)
			n = room[i] / k->need[i];
	return n;
}

void gsb_whatif_take(int64_t room[GSB_N_ROOMS], const struct gsb_whatif_kernel *k, int64_t n)
{
	for (int i = 0; i < GSB_N_ROOMS; i++)
		room[i] -= n * k->need[i];
}

/* ---- kernels ---- */

/* Long grids in fewer, longer rounds: what is resident at a time stays what it is. */
static void cut(const struct gsb_whatif *w, struct gsb_whatif_kernel *k, double alone_ns)
{
	int64_t resident = gsb_whatif_fits(w, k, w->room);
	int64_t rounds = (k->n_blocks + resident - 1) / resident;

	if (rounds > GSB_WHATIF_ROUNDS) {
		k->n_blocks = resident * GSB_WHATIF_ROUNDS;
		rounds = GSB_WHATIF_ROUNDS;
	}
	k->alone_ns = alone_ns;
	k->block_ns = alone_ns / (double)rounds;
}

static int describe(const struct gsb_whatif *w, const struct gsb_view *view,
		    const struct gsb_work *work, struct gsb_whatif_kernel *k)
{
	struct gsb_block_need need;

	if (!work->predicted.alone_ns ||
	    gsb_block_need_on_checked(view->arch, &work->kernel, &gsb_rules_hardware, &need))
		return -ENODATA;
	*k = (struct gsb_whatif_kernel){
		.need = {need.warps, (int64_t)need.warps * need.regs_per_warp, need.smem_bytes, 1},
		.n_blocks = (int64_t)work->kernel.n_blocks,
	};
	if (gsb_whatif_fits(w, k, w->room) < 1)
		return -ENODATA; /* the device will say so */
	cut(w, k, (double)work->predicted.alone_ns);
	return 0;
}

/* What is left of it, by the time that it was thought to take; at least its last blocks are there. */
static void age(struct gsb_whatif_kernel *k, const struct gsb_view *view,
		const struct gsb_work *work)
{
	double total = (double)work->predicted.alone_ns;
	uint64_t since = work->predicted_start_ns; /* until then it waits for room */
	double ran = view->now_ns > since ? (double)(view->now_ns - since) : 0;
	double left = ran < total ? 1 - ran / total : 0;
	int64_t n = (int64_t)((double)k->n_blocks * left);

	k->n_blocks = n > 0 ? n : 1;
}

int gsb_whatif_begin(struct gsb_whatif *w, const struct gsb_view *view, struct gsb_sm_range sms)
{
	int err = 0;

	w->n = 0;
	set_room(w, view->arch, sms.n ? sms.n : view->arch->n_sms);
	for (unsigned i = 0; i < view->n_running; i++) {
		if (view->running[i]->kind != GSB_WORK_KERNEL)
			continue;
		if (describe(w, view, view->running[i], &w->kernels[w->n]))
			err = -ENODATA;
		else
			age(&w->kernels[w->n++], view, view->running[i]);
	}
	w->n_running = w->n;
	return err;
}

int gsb_whatif_add(struct gsb_whatif *w, const struct gsb_view *view, const struct gsb_work *k)
{
	int err = w->n < GSB_WHATIF_MAX ? describe(w, view, k, &w->kernels[w->n]) : -ENOSPC;

	w->n += !err;
	return err;
}

void gsb_whatif_leftover(const struct gsb_whatif *w, int64_t room[GSB_N_ROOMS])
{
	for (int i = 0; i < GSB_N_ROOMS; i++)
		room[i] = w->room[i];
	for (unsigned i = 0; i < w->n_running; i++) {
		const struct gsb_whatif_kernel *k = &w->kernels[i];
		int64_t n = gsb_whatif_fits(w, k, room);

		gsb_whatif_take(room, k, n < k->n_blocks ? n : k->n_blocks);
	}
}

/* ---- the play ---- */

/* Blocks of a kernel that were placed together. */
struct wave {
	double end_ns;
	unsigned kernel;
	int64_t n;
};

struct play {
	struct gsb_whatif *w;
	const unsigned *order;
	unsigned n_order, first; /* of the line: all before have no block left */
	int64_t room[GSB_N_ROOMS];
	double now_ns;
	unsigned n_waves, n_steps;
	struct wave waves[GSB_WHATIF_MAX * 2];
};

static unsigned at(const struct play *p, unsigned i)
{
	return i < p->w->n_running ? i : p->order[i - p->w->n_running];
}

static bool place_one(struct play *p, unsigned i)
{
	struct gsb_whatif_kernel *k = &p->w->kernels[i];
	int64_t n = gsb_whatif_fits(p->w, k, p->room);

	if (n > k->left)
		n = k->left;
	if (!n)
		return !k->left;
	if (k->left == k->n_blocks)
		k->start_ns = p->now_ns;
	gsb_whatif_take(p->room, k, n);
	k->left -= n;
	p->n_steps++;
	p->waves[p->n_waves++] = (struct wave){p->now_ns + k->block_ns, i, n};
	return !k->left;
}

/* In order, until one has blocks that fit nowhere: who stands behind it waits. */
static void place(struct play *p)
{
	while (p->first < p->n_order && p->n_waves < GSB_WHATIF_MAX * 2 &&
	       place_one(p, at(p, p->first)))
		p->first++;
}

static void end_next(struct play *p)
{
	unsigned next = 0;
	struct wave wave;

	for (unsigned i = 1; i < p->n_waves; i++)
		if (p->waves[i].end_ns < p->waves[next].end_ns)
			next = i;
	wave = p->waves[next];
	p->waves[next] = p->waves[--p->n_waves];
	p->now_ns = wave.end_ns;
	p->w->kernels[wave.kernel].end_ns = wave.end_ns;
	gsb_whatif_take(p->room, &p->w->kernels[wave.kernel], -wave.n);
}

/* It takes too long to play to the end: the others one after the other. */
static void give_up(struct play *p)
{
	for (; p->first < p->n_order; p->first++) {
		struct gsb_whatif_kernel *k = &p->w->kernels[at(p, p->first)];
		int64_t resident = gsb_whatif_fits(p->w, k, p->w->room);

		if (k->left == k->n_blocks)
			k->start_ns = p->now_ns;
		p->now_ns += k->block_ns * (double)k->left / (double)resident;
		k->end_ns = p->now_ns;
		k->left = 0;
	}
}

static struct gsb_whatif_answer sum_up(const struct play *p)
{
	struct gsb_whatif_answer a = {.makespan_ns = p->now_ns};

	for (unsigned i = p->w->n_running; i < p->n_order; i++)
		a.sum_ns += p->w->kernels[at(p, i)].end_ns;
	return a;
}

struct gsb_whatif_answer gsb_whatif_run(struct gsb_whatif *w, const unsigned *order, unsigned n)
{
	struct play p = {.w = w, .order = order, .n_order = w->n_running + n};

	for (int i = 0; i < GSB_N_ROOMS; i++)
		p.room[i] = w->room[i];
	for (unsigned i = 0; i < p.n_order; i++)
		w->kernels[at(&p, i)].left = w->kernels[at(&p, i)].n_blocks;
	place(&p);
	while (p.n_waves) {
		end_next(&p);
		if (p.n_steps < GSB_WHATIF_STEPS)
			place(&p);
	}
	give_up(&p);
	return sum_up(&p);
}
