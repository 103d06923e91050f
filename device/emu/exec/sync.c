/*
 * sync.c - where lanes wait for each other: block barriers, and warp-wide operations with a member mask.
 *
 * A warp-wide op reads from its lanes, computes, writes to them. Each lane names the members of its own
 * group; lanes that name the same ones at the same kind of op are a group, however many groups there are
 * in a warp. The lanes of one need not come together: those that arrive wait, split off if need be, until
 * all members that still live are at such an op, be it the same one or another, and the last one does it
 * for all. Hence three steps, each of which can be done for several splits: gather, compute, scatter.
 *
 * A lane that its own mask does not name is an outsider. An H200 that was asked ends the kernel, but where
 * all lanes that live are at the op with one mask it does not look at that. A branch to the end is an exit
 * there; so here an outsider waits for the others to leave, and is a fault when they do not.
 */
#include "device/emu/exec/sync.h"

#include <string.h>

#include "device/emu/exec/fault.h"
#include "device/emu/exec/split.h"

/* ---- warp-wide operations ---- */

struct warp_io {
	uint32_t members;	   /* lanes that take part */
	uint64_t a[GSB_EMU_LANES]; /* 0 of a lane that has not come: what shfl reads from it */
	uint32_t b[GSB_EMU_LANES], c[GSB_EMU_LANES];
	uint32_t p;
	uint64_t d[GSB_EMU_LANES];
	uint32_t q;
};

static void gather_values(const struct gsb_emu_op *op, const char *r, uint32_t mask,
			  struct warp_io *io)
{
	const uint32_t *a = (const void *)(r + op->a), *b = (const void *)(r + op->b),
		       *c = (const void *)(r + op->c);
	const uint64_t *wide = (const void *)(r + op->a);

	for (uint32_t left = mask; left; left &= left - 1) {
		int i = __builtin_ctz(left);

		io->a[i] = op->flags & GSB_EMU_F_ADDR64 ? wide[i] : a[i];
		if (op->form == GSB_EMU_FORM_SHFL) {
			io->b[i] = b[i];
			io->c[i] = c[i];
		}
	}
}

static void gather(const struct gsb_emu_op *op, const char *r, uint32_t mask, struct warp_io *io)
{
	io->members |= mask;
	if (op->form == GSB_EMU_FORM_VOTE)
		io->p |= gsb_emu_predicate(op, r, op->a) & mask;
	else
		gather_values(op, r, mask, io);
}

/* Which lane shfl reads from for @lane; false: none in its segment, its own value stays. */
static inline bool shfl_source(unsigned int mode, int lane, uint32_t b, uint32_t c, int *from)
{
	int segment = (int)(c >> 8 & 31), clamp = (int)(c & 31), by = (int)(b & 31);
	int last = (lane & segment) | (clamp & ~segment);

	switch (mode) {
	case GSB_PTX_MODE_UP: *from = lane - by; return *from >= last;
	case GSB_PTX_MODE_DOWN: *from = lane + by; break;
	case GSB_PTX_MODE_BFLY: *from = lane ^ by; break;
	default: *from = (lane & segment) | (by & ~segment); break;
	}
	return *from <= last;
}

static void compute_shfl(const struct gsb_emu_op *op, struct warp_io *io)
{
	for (int i = 0; i < GSB_EMU_LANES; i++) {
		int from;
		bool found = shfl_source(op->n, i, io->b[i], io->c[i], &from);

		io->d[i] = io->a[found ? from : i];
		io->q |= (uint32_t)found << i;
	}
}

static void compute_vote(const struct gsb_emu_op *op, struct warp_io *io)
{
	uint32_t p = io->p, all = io->members;

	switch (op->n) {
	case GSB_PTX_MODE_ALL: io->q = p == all ? GSB_EMU_ALL : 0; break;
	case GSB_PTX_MODE_ANY: io->q = p ? GSB_EMU_ALL : 0; break;
	case GSB_PTX_MODE_UNI: io->q = p == 0 || p == all ? GSB_EMU_ALL : 0; break;
	default:
		for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
			io->d[i] = p;
		break;
	}
}

static uint32_t same_as(const struct warp_io *io, uint64_t value)
{
	uint32_t same = 0;

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		same |= (uint32_t)(io->a[i] == value) << i;
	return same & io->members;
}

static void compute_match(const struct gsb_emu_op *op, struct warp_io *io)
{
	uint32_t first = same_as(io, io->a[__builtin_ctz(io->members)]);

	io->q = first == io->members ? GSB_EMU_ALL : 0;
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++) {
		if (op->n == GSB_PTX_MODE_ALL)
			io->d[i] = io->q ? io->members : 0;
		else if (io->members >> i & 1)
			io->d[i] = same_as(io, io->a[i]);
	}
}

static uint32_t reduce(unsigned int sub, bool is_signed, uint32_t v, uint32_t w)
{
	bool less = is_signed ? (int32_t)v < (int32_t)w : v < w;

	switch (sub) {
	case GSB_PTX_SUB_ADD: return v + w;
	case GSB_PTX_SUB_MIN: return less ? v : w;
	case GSB_PTX_SUB_MAX: return less ? w : v;
	case GSB_PTX_SUB_AND: return v & w;
	case GSB_PTX_SUB_OR: return v | w;
	default: return v ^ w;
	}
}

static void compute_redux(const struct gsb_emu_op *op, struct warp_io *io)
{
	uint32_t left = io->members, v = (uint32_t)io->a[__builtin_ctz(left)];

	while (left &= left - 1)
		v = reduce(op->n, op->c, v, (uint32_t)io->a[__builtin_ctz(left)]);
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		io->d[i] = v;
}

static void compute(const struct gsb_emu_op *op, struct warp_io *io)
{
	switch (op->form) {
	case GSB_EMU_FORM_SHFL: compute_shfl(op, io); break;
	case GSB_EMU_FORM_VOTE: compute_vote(op, io); break;
	case GSB_EMU_FORM_MATCH: compute_match(op, io); break;
	case GSB_EMU_FORM_REDUX: compute_redux(op, io); break;
	case GSB_EMU_FORM_ELECT:
		io->q = io->members & (0 - io->members);
		for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
			io->d[i] = (uint32_t)__builtin_ctz(io->members);
		break;
	default: break; /* bar.warp.sync */
	}
}

static void scatter(const struct gsb_emu_op *op, char *r, uint32_t mask, const struct warp_io *io)
{
	uint32_t *d = (void *)(r + op->d);

	if (op->form == GSB_EMU_FORM_BAR_WARP)
		return;
	if (op->form == GSB_EMU_FORM_VOTE && op->n != GSB_PTX_MODE_BALLOT) {
		gsb_emu_predicate_set(r, op->d, mask, io->q);
		return;
	}
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		d[i] = mask >> i & 1 ? (uint32_t)io->d[i] : d[i];
	if (op->form != GSB_EMU_FORM_VOTE && op->form != GSB_EMU_FORM_REDUX)
		gsb_emu_predicate_set(r, op->e, mask, io->q);
}

/* Waits at a warp-wide op of the same form, for the same members? */
static bool waits_with(const struct gsb_emu_exec *x, const struct gsb_emu_node *n,
		       const struct gsb_emu_op *op, uint32_t need)
{
	const struct gsb_emu_op *at = &x->ops[n->pc];

	return n->state == GSB_EMU_NODE_SYNC && n->need == need && at->form == op->form &&
	       at->n == op->n;
}

/* Splits that are side by side again are one. The split that executes has no place yet. */
static void merge(struct gsb_emu_warp *w, uint16_t n)
{
	for (uint16_t k = 0; k < w->n_nodes; k++) {
		if (k == w->current || !gsb_emu_side_by_side(w, n, k, w->nodes[n].pc))
			continue;
		w->nodes[k].mask |= gsb_emu_take_lanes(w, n);
		return;
	}
}

/* Those of the group that wait have what they waited for. */
static void group_release(struct gsb_emu_exec *x, const struct gsb_emu_op *op, uint32_t need,
			  const struct warp_io *io)
{
	struct gsb_emu_warp *w = x->warp;

	for (uint16_t k = 0; k < w->n_nodes; k++) {
		struct gsb_emu_node *n = &w->nodes[k];

		if (!waits_with(x, n, op, need))
			continue;
		scatter(&x->ops[n->pc], w->rows + n->frame, n->mask, io);
		n->state = GSB_EMU_NODE_RUN;
		n->pc++;
		merge(w, k);
	}
}

/* Do lanes that wait at a join leave next? On a GPU they have gone. */
static bool is_leaving(const struct gsb_emu_exec *x, const struct gsb_emu_node *n)
{
	const struct gsb_emu_node *nodes = x->warp->nodes;
	const struct gsb_emu_op *op;

	if (n->state != GSB_EMU_NODE_JOIN || n->is_call || !n->mask)
		return false;
	op = &x->ops[n->pc];
	while (op->form == GSB_EMU_FORM_JOIN)
		op++;
	if (op->form != GSB_EMU_FORM_RET)
		return op->form == GSB_EMU_FORM_EXIT;
	while (n->parent != GSB_EMU_NODE_NONE && !nodes[n->parent].is_call)
		n = &nodes[n->parent];
	return n->parent == GSB_EMU_NODE_NONE;
}

/* Those that live, and do not wait to leave. */
static uint32_t staying(const struct gsb_emu_exec *x)
{
	const struct gsb_emu_warp *w = x->warp;
	uint32_t lanes = w->live;

	for (uint16_t k = 0; k < w->n_nodes; k++)
		if (is_leaving(x, &w->nodes[k]))
			lanes &= ~w->nodes[k].mask;
	return lanes;
}

/* Are all there whom the lanes of io, with @need, have to wait for? */
static bool is_complete(const struct gsb_emu_exec *x, const struct warp_io *io, uint32_t need)
{
	bool outsiders = io->members & ~need;

	return !((outsiders ? staying(x) : need & x->warp->live) & ~io->members);
}

/*
 * If all living members of the group that waits like @op are there, do it for them. Some may be @lanes of
 * the running split, the caller's when it is not done yet. *beside is what lanes of other groups bring.
 */
static bool group_try(struct gsb_emu_exec *x, const struct gsb_emu_op *op, uint32_t need,
		      const struct warp_io *beside, char *r, uint32_t lanes)
{
	struct gsb_emu_warp *w = x->warp;
	struct warp_io io = *beside;

	if (lanes)
		gather(op, r, lanes, &io);
	io.members = lanes;
	io.p &= lanes;
	for (uint16_t k = 0; k < w->n_nodes; k++) {
		struct gsb_emu_node *n = &w->nodes[k];

		if (waits_with(x, n, op, need))
			gather(&x->ops[n->pc], w->rows + n->frame, n->mask, &io);
	}
	if (!io.members || !is_complete(x, &io, need))
		return false;
	compute(op, &io);
	if (lanes)
		scatter(op, r, lanes, &io);
	group_release(x, op, need, &io);
	return true;
}

bool gsb_emu_sync_recheck(struct gsb_emu_exec *x)
{
	static const struct warp_io nobody;
	struct gsb_emu_warp *w = x->warp;
	bool any = false;

	for (uint16_t k = 0; k < w->n_nodes; k++) {
		if (w->nodes[k].state == GSB_EMU_NODE_SYNC)
			any |= group_try(x, &x->ops[w->nodes[k].pc], w->nodes[k].need, &nobody,
					 NULL, 0);
	}
	return any;
}

bool gsb_emu_sync_check_outsiders(struct gsb_emu_exec *x)
{
	const struct gsb_emu_warp *w = x->warp;

	for (uint16_t k = 0; k < w->n_nodes; k++) {
		const struct gsb_emu_node *n = &w->nodes[k];

		if (n->state != GSB_EMU_NODE_SYNC || !(n->mask & ~n->need))
			continue;
		gsb_emu_enter(x, k);
		gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_INSTRUCTION, 0,
			     "lanes 0x%x of a warp name the members 0x%x, and not themselves",
			     n->mask & ~n->need, n->need);
		return false;
	}
	return true;
}

/* Of @lanes, those that name the same members as the first. */
static uint32_t group_of(const uint32_t *members, uint32_t lanes)
{
	uint32_t need = members[__builtin_ctz(lanes)], same = 0;

	if (lanes == GSB_EMU_ALL &&
	    !memcmp(members, members + 1, (GSB_EMU_LANES - 1) * sizeof(need)))
		return lanes; /* each as its neighbour: mostly */
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		same |= (uint32_t)(members[i] == need) << i;
	return same & lanes;
}

/* @lanes of the running split wait so at @op from now on; it goes on with @rest, or is what waits. */
static bool group_wait(struct gsb_emu_exec *x, const struct gsb_emu_op *op, uint32_t lanes,
		       uint32_t rest, enum gsb_emu_node_state how, uint32_t need)
{
	uint16_t n = x->warp->current;

	if (rest) {
		n = gsb_emu_split_off(x, lanes, gsb_emu_index_of(x, op));
		gsb_emu_set_mask(x, rest);
	} else {
		gsb_emu_leave(x, gsb_emu_index_of(x, op));
	}
	if (n == GSB_EMU_NODE_NONE)
		return false;
	x->warp->nodes[n].state = how;
	x->warp->nodes[n].need = need;
	return true;
}

/* Of @mask, those whose groups need nobody else: they go at once, and shfl reads from one in another. */
static uint32_t in_whole_groups(const struct gsb_emu_exec *x, const uint32_t *members,
				uint32_t mask)
{
	uint32_t whole = 0, lanes;

	for (uint32_t left = mask; left; left &= ~lanes) {
		uint32_t need = members[__builtin_ctz(left)];

		lanes = group_of(members, left);
		if ((need & x->warp->live) == lanes)
			whole |= lanes;
	}
	return whole;
}

/* Group by group: what is complete is done, the others wait. The next op, or NULL when no lane goes on. */
static const struct gsb_emu_op *by_groups(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					  char *r, uint32_t mask, const uint32_t *members)
{
	uint32_t stay = mask, lanes;
	struct warp_io whole = {0};

	gather(op, r, in_whole_groups(x, members, mask), &whole);
	for (uint32_t left = mask; left; left &= ~lanes) {
		uint32_t need = members[__builtin_ctz(left)];

		lanes = group_of(members, left);
		if (group_try(x, op, need, &whole, r, lanes))
			continue;
		stay &= ~lanes;
		if (!group_wait(x, op, lanes, stay, GSB_EMU_NODE_SYNC, need))
			return gsb_emu_no_memory(x);
	}
	if (!stay)
		return gsb_emu_stop(x, GSB_EMU_STOP_SWITCH);
	gsb_emu_absorb(x, gsb_emu_index_of(x, op) + 1);
	return op + 1;
}

/* All lanes that live are here, or the op names no members: there is nobody to wait for. */
static bool all_here(const struct gsb_emu_exec *x, const struct gsb_emu_op *op, uint32_t mask)
{
	return op->flags & GSB_EMU_F_WARP || mask == x->warp->live;
}

static const struct gsb_emu_op *warp_wide(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					  char *r, uint32_t mask)
{
	const uint32_t *members = (const void *)(r + op->b);
	struct warp_io io;

	if (!all_here(x, op, mask) ||
	    (!(op->flags & GSB_EMU_F_WARP) && group_of(members, mask) != mask))
		return by_groups(x, op, r, mask, members);
	memset(&io, 0, sizeof(io));
	gather(op, r, mask, &io);
	compute(op, &io);
	scatter(op, r, mask, &io);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_BAR_WARP)
{
	return warp_wide(x, op, r, mask);
}

/* Nobody is waited for: all lanes that live have come, with one mask or in groups that are whole. */
static bool go_at_once(const struct gsb_emu_exec *x, const struct gsb_emu_op *op, uint32_t mask,
		       const uint32_t *members)
{
	return op->flags & GSB_EMU_F_WARP ||
	       (mask == x->warp->live &&
		(group_of(members, mask) == mask || in_whole_groups(x, members, mask) == mask));
}

/*
 * The commonest of them: straight from row to row when no lane is elsewhere. PTX leaves open what comes
 * from a lane that is not in the member mask or not at the instruction. Here, as an H200 does it, the mask
 * says only who is waited for: lanes that go at the same time give their values to each other, whatever
 * they name, and any other gives 0.
 */
GSB_EMU_HANDLER(gsb_emu_do_SHFL)
{
	const uint32_t *b = (const void *)(r + op->b), *c = (const void *)(r + op->c);
	const uint32_t *from_row = (const void *)(r + op->a);
	uint32_t *d = (void *)(r + op->d), a[GSB_EMU_LANES], q = 0;

	if (!go_at_once(x, op, mask, (const void *)(r + op->imm)))
		return by_groups(x, op, r, mask, (const void *)(r + op->imm));
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		a[i] = mask >> i & 1 ? from_row[i] : 0;
	for (uint32_t left = mask; left; left &= left - 1) {
		int i = __builtin_ctz(left), from;
		bool found = shfl_source(op->n, i, b[i], c[i], &from);

		d[i] = a[found ? from : i];
		q |= (uint32_t)found << i;
	}
	gsb_emu_predicate_set(r, op->e, mask, q);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_VOTE)
{
	return warp_wide(x, op, r, mask);
}

GSB_EMU_HANDLER(gsb_emu_do_MATCH)
{
	return warp_wide(x, op, r, mask);
}

GSB_EMU_HANDLER(gsb_emu_do_REDUX)
{
	return warp_wide(x, op, r, mask);
}

GSB_EMU_HANDLER(gsb_emu_do_ELECT)
{
	return warp_wide(x, op, r, mask);
}

GSB_EMU_HANDLER(gsb_emu_do_ACTIVEMASK)
{
	uint32_t *d = (void *)(r + op->d);

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		d[i] = mask >> i & 1 ? mask : d[i];
	return op + 1;
}

/* ---- block barriers ---- */

static bool waits_at(const struct gsb_emu_node *n, uint32_t id)
{
	return n->state == GSB_EMU_NODE_BARRIER && n->need == id;
}

static void barrier_result(const struct gsb_emu_barrier *bar, const struct gsb_emu_op *op, char *r,
			   uint32_t mask)
{
	uint32_t *d = (void *)(r + op->d);

	if (op->n != GSB_PTX_SUB_POPC) {
		uint32_t yes = op->n == GSB_PTX_SUB_AND ? bar->all : bar->any;

		gsb_emu_predicate_set(r, op->d, mask, yes ? GSB_EMU_ALL : 0);
		return;
	}
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		d[i] = mask >> i & 1 ? bar->popc : d[i];
}

static void barrier_release(struct gsb_emu_block *b, uint32_t id)
{
	struct gsb_emu_barrier *bar = &b->barriers[id];

	for (uint32_t i = 0; i < b->n_warps; i++) {
		struct gsb_emu_warp *w = &b->warps[i];

		for (uint16_t k = 0; k < w->n_nodes; k++) {
			struct gsb_emu_node *n = &w->nodes[k];
			const struct gsb_emu_op *op = &b->code->ops[n->pc];

			if (!waits_at(n, id))
				continue;
			if (op->n)
				barrier_result(bar, op, w->rows + n->frame, n->mask);
			n->state = GSB_EMU_NODE_RUN;
			n->pc++;
			b->stats.n_barriers++;
		}
	}
	*bar = (struct gsb_emu_barrier){0};
	b->barriers_in_use &= ~(UINT32_C(1) << id);
}

static void barrier_check(struct gsb_emu_block *b, uint32_t id)
{
	struct gsb_emu_barrier *bar = &b->barriers[id];
	uint32_t expected = bar->counted ? bar->expected : b->live_threads;

	if (b->barriers_in_use >> id & 1 && bar->arrived >= expected)
		barrier_release(b, id);
}

/* All have arrived and wait before the first barrier is looked at: what is over goes on at once. */
static void barriers_check(struct gsb_emu_block *b, uint32_t ids)
{
	for (; ids; ids &= ids - 1)
		barrier_check(b, (uint32_t)__builtin_ctz(ids));
}

/*
 * The cluster's barrier has two halves, arrive and wait, and a lane may do anything between them, up to its exit. So
 * it is known by lane who has arrived; when all that live have, in all blocks of the cluster, the phase is
 * over for all at once.
 */
static bool all_have_arrived(const struct gsb_emu_block *b)
{
	for (uint32_t i = 0; i < b->n_warps; i++) {
		if (b->warps[i].live & ~b->warps[i].arrived)
			return false;
	}
	return true;
}

static void cluster_release(struct gsb_emu_block *b)
{
	for (uint32_t i = 0; i < b->n_warps; i++) {
		struct gsb_emu_warp *w = &b->warps[i];

		w->arrived = 0;
		for (uint16_t k = 0; k < w->n_nodes; k++) {
			if (!waits_at(&w->nodes[k], GSB_EMU_CLUSTER_ID))
				continue;
			w->nodes[k].state = GSB_EMU_NODE_RUN;
			w->nodes[k].pc++;
			b->stats.n_barriers++;
			b->stuck = false;
		}
	}
}

static void cluster_check(struct gsb_emu_cluster *c)
{
	if (!c->in_use)
		return;
	for (uint32_t i = 0; i < c->n; i++)
		if (!all_have_arrived(c->blocks[i]))
			return;
	c->in_use = false;
	for (uint32_t i = 0; i < c->n; i++)
		cluster_release(c->blocks[i]);
}

void gsb_emu_barrier_recheck(struct gsb_emu_block *b)
{
	barriers_check(b, b->barriers_in_use);
	cluster_check(b->cluster);
}

/* A count is of whole warps: lanes that do not live count with the last that does. */
static uint32_t arrivals(const struct gsb_emu_exec *x, const struct gsb_emu_barrier *bar,
			 uint32_t id, uint32_t mask)
{
	const struct gsb_emu_warp *w = x->warp;
	uint32_t n = gsb_emu_count(mask), here = mask;

	if (!bar->counted)
		return n;
	for (uint16_t k = 0; k < w->n_nodes; k++)
		here |= waits_at(&w->nodes[k], id) ? w->nodes[k].mask : 0;
	if (here == w->live)
		n += GSB_EMU_LANES - (uint32_t)__builtin_popcount(w->live);
	return n;
}

static void barrier_arrive(struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
			   uint32_t mask, uint32_t id)
{
	struct gsb_emu_barrier *bar = &x->block->barriers[id];
	uint32_t p = 0;

	if (!(x->block->barriers_in_use >> id & 1)) {
		x->block->barriers_in_use |= UINT32_C(1) << id;
		*bar = (struct gsb_emu_barrier){.all = 1};
		bar->counted = op->b != GSB_EMU_NONE;
		if (bar->counted)
			bar->expected =
				((const uint32_t *)(const void *)(r + op->b))[__builtin_ctz(mask)];
	}
	if (op->n)
		p = gsb_emu_predicate(op, r, op->c) & mask;
	bar->popc += op->n ? gsb_emu_count(p) : 0;
	bar->any |= p != 0;
	bar->all &= p == mask;
	bar->arrived += arrivals(x, bar, id, mask);
}

/*
 * Threads are counted, not warps: each lane names its barrier, and those of a warp that name different ones wait
 * apart. The counts are those of the first lane of each.
 */
GSB_EMU_HANDLER(gsb_emu_do_BARRIER)
{
	const uint32_t *numbers = (const void *)(r + op->a);
	uint32_t ids = 0, lanes;

	for (uint32_t left = mask; left; left &= ~lanes) {
		uint32_t id = numbers[__builtin_ctz(left)];

		if (id >= GSB_EMU_N_BARRIERS)
			return gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, 0,
					    "barrier %u does not exist", id);
		lanes = group_of(numbers, left);
		barrier_arrive(x, op, r, lanes, id);
		ids |= UINT32_C(1) << id;
		if (!(op->flags & GSB_EMU_F_NO_RESULT) &&
		    !group_wait(x, op, lanes, left & ~lanes, GSB_EMU_NODE_BARRIER, id))
			return gsb_emu_no_memory(x);
	}
	barriers_check(x->block, ids);
	return op->flags & GSB_EMU_F_NO_RESULT ? op + 1 : gsb_emu_stop(x, GSB_EMU_STOP_SWITCH);
}

GSB_EMU_HANDLER(gsb_emu_do_CLUSTER_ARRIVE)
{
	x->warp->arrived |= mask;
	x->block->cluster->in_use = true;
	cluster_check(x->block->cluster);
	return op + 1;
}

/* Lanes that have not arrived wait for nothing. */
GSB_EMU_HANDLER(gsb_emu_do_CLUSTER_WAIT)
{
	if (!(x->warp->arrived & mask))
		return op + 1;
	gsb_emu_leave(x, gsb_emu_index_of(x, op));
	gsb_emu_node_of(x)->state = GSB_EMU_NODE_BARRIER;
	gsb_emu_node_of(x)->need = GSB_EMU_CLUSTER_ID;
	return gsb_emu_stop(x, GSB_EMU_STOP_SWITCH);
}
