/*
 * block.c - thread blocks: their storage, and who runs next inside one.
 *
 * Warps take turns; inside a warp its splits do. A turn ends at a wait, or when it has lasted a slice and
 * comes to a backward branch or a call: so a lane that spins for another one, of the same warp or not,
 * never keeps that one from running. A warp that is seen to spin (look.h) has a short turn. What nobody can
 * end any more, because every lane waits for another, is found and reported as a hang of the kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "device/emu/exec/async.h"
#include "device/emu/exec/cluster.h"
#include "device/emu/exec/combine.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/guard.h"
#include "device/emu/exec/isa.h"
#include "device/emu/exec/moves.h"
#include "device/emu/exec/split.h"
#include "device/emu/exec/sync.h"
#include "device/emu/exec/watch.h"

#define WARP_SLICE  4096 /* instructions; when other splits of the warp can run: */
#define SPLIT_SLICE 256
#define JOIN_WAIT   16384 /* instructions of a warp that its lanes wait at most for others to join, */
#define SLEEP_WAIT  512	  /* and where those sleep: likely they wait for a lane at the join */
#define SLEEP_LIMIT 16384 /* instructions of a block that its warps sleep at most */

#define MAX_POOL       16 /* blocks of a kernel kept for reuse, and their bytes */
#define MAX_POOL_BYTES ((size_t)8 << 20)
#define MAX_SEAT_BYTES (MAX_POOL_BYTES / GSB_EMU_POOL_SEATS)

/* ---- storage ---- */

static void warp_finish(struct gsb_emu_warp *w)
{
	free(w->rows);
	free(w->nodes);
	gsb_emu_async_finish(w);
}

static void block_free(struct gsb_emu_block *b)
{
	gsb_emu_storage_give(b->storage, b->storage_bytes);
	for (uint32_t i = 0; b->warps && i < b->n_warps; i++)
		warp_finish(&b->warps[i]);
	free(b->warps);
	free(b->shared);
	free(b->local);
	gsb_emu_watch_drop(b);
	free(b);
}

static void set_tid(struct gsb_emu_warp *w, uint32_t first, const uint32_t shape[3])
{
	for (uint32_t i = 0; i < GSB_EMU_LANES; i++) {
		uint32_t t = first + i;

		w->tid[0][i] = t % shape[0];
		w->tid[1][i] = t / shape[0] % shape[1];
		w->tid[2][i] = t / shape[0] / shape[1];
	}
}

static void reset_stack(const struct gsb_emu_block *b, struct gsb_emu_warp *w)
{
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		w->stack[i] = b->local_bytes;
}

static int warp_init(struct gsb_emu_block *b, uint32_t nth)
{
	const struct gsb_emu_func *entry = &b->code->funcs[0];
	struct gsb_emu_warp *w = &b->warps[nth];
	uint32_t first = nth * GSB_EMU_LANES, n = b->n_threads - first;

	w->rows = aligned_alloc(64, entry->frame_bytes);
	if (!w->rows)
		return -ENOMEM;
	w->rows_bytes = entry->frame_bytes;
	memset(w->rows, 0, w->rows_bytes);
	for (uint32_t i = 0; i < entry->n_consts; i++)
		gsb_emu_const_fill(w->rows, &b->code->consts[entry->first_const + i], GSB_EMU_ALL);
	w->born = n >= GSB_EMU_LANES ? GSB_EMU_ALL : (UINT32_C(1) << n) - 1;
	w->local = b->local + (size_t)first * b->local_bytes;
	reset_stack(b, w);
	set_tid(w, first, b->shape);
	return 0;
}

struct needs {
	uint32_t shared_bytes, local_bytes;
};

static int find_needs(const struct gsb_emu_launch *l, struct needs *out)
{
	const struct gsb_emu_code *code = l->code;
	uint64_t shared = GSB_EMU_RESERVED_SHARED + gsb_emu_own_shared(l);
	uint64_t local = code->chain_local_bytes, threads = 1;

	for (int i = 0; i < 3; i++) {
		if (!l->grid[i] || !l->block[i] || l->block[i] > GSB_EMU_MAX_THREADS)
			return -EINVAL;
		threads *= l->block[i];
	}
	if (!(l->watch && l->watch->what & GSB_EMU_WATCH_BOUNDS))
		shared = gsb_round_up(shared, GSB_EMU_SHARED_UNIT);
	if (code->grows)
		local += l->stack_bytes ? l->stack_bytes : GSB_EMU_DEFAULT_STACK;
	if (local > GSB_EMU_MAX_LOCAL)
		local = GSB_EMU_MAX_LOCAL;
	if (threads > GSB_EMU_MAX_THREADS || shared > GSB_EMU_MAX_SHARED ||
	    l->params_bytes < code->kernel.entry->param_bytes)
		return -EINVAL;
	out->shared_bytes = (uint32_t)shared;
	out->local_bytes = (uint32_t)gsb_round_up(local, GSB_EMU_FRAME_ALIGN);
	return 0;
}

static struct gsb_emu_block *block_new(const struct gsb_emu_launch *l, const struct needs *needs)
{
	struct gsb_emu_block *b = calloc(1, sizeof(*b));

	if (!b)
		return NULL;
	b->code = l->code;
	memcpy(b->shape, l->block, sizeof(b->shape));
	b->n_threads = l->block[0] * l->block[1] * l->block[2];
	b->n_warps = (uint32_t)gsb_div_up(b->n_threads, GSB_EMU_LANES);
	b->shared_bytes = needs->shared_bytes;
	b->local_bytes = needs->local_bytes;
	b->storage = l->storage;
	b->alone = (struct gsb_emu_cluster){.n = 1, .shape = {1, 1, 1}, .blocks = {b}};
	if (!gsb_emu_block_take(b, needs->shared_bytes +
					   (size_t)b->n_warps *
						   (l->code->funcs[0].frame_bytes +
						    (size_t)GSB_EMU_LANES * needs->local_bytes)))
		goto err_block;
	b->warps = calloc(b->n_warps, sizeof(*b->warps));
	b->shared = calloc(1, (size_t)needs->shared_bytes + 1);
	b->local = calloc((size_t)b->n_warps * GSB_EMU_LANES + 1, needs->local_bytes + 1);
	if (!b->warps || !b->shared || !b->local)
		goto err_block;
	for (uint32_t i = 0; i < b->n_warps; i++) {
		if (warp_init(b, i))
			goto err_block;
	}
	return b;
err_block:
	block_free(b);
	return NULL;
}

/* ---- reuse ---- */

void gsb_emu_pool_init(struct gsb_emu_pool *pool)
{
	*pool = (struct gsb_emu_pool){0};
	pthread_mutex_init(&pool->lock, NULL);
}

static bool fits(const struct gsb_emu_block *b, const struct gsb_emu_launch *l,
		 const struct needs *needs)
{
	return !memcmp(b->shape, l->block, sizeof(b->shape)) &&
	       b->shared_bytes == needs->shared_bytes && b->local_bytes == needs->local_bytes;
}

/* The address of this thread's says which thread it is. */
static _Thread_local char here;

/* What has been in this thread's caches, before others; NULL stands there when nothing fits. */
static struct gsb_emu_block **pool_find(struct gsb_emu_pool *pool, const struct gsb_emu_launch *l,
					const struct needs *needs)
{
	struct gsb_emu_block **at, **found = NULL;

	for (at = &pool->blocks; *at; at = &(*at)->next) {
		if (!fits(*at, l, needs))
			continue;
		if ((*at)->thread == &here)
			return at;
		found = found ? found : at;
	}
	return found ? found : at;
}

/* A block may be as short as the lock: those of a thread go from one to the next without it. */
static _Atomic(struct gsb_emu_block *) *seat_of_thread(struct gsb_emu_pool *pool)
{
	static atomic_uint n_threads;
	static _Thread_local unsigned int nth; /* from 1 */

	if (!nth)
		nth = atomic_fetch_add(&n_threads, 1) + 1;
	return &pool->seats[nth % GSB_EMU_POOL_SEATS].block;
}

static bool seat_give(struct gsb_emu_pool *pool, struct gsb_emu_block *b)
{
	struct gsb_emu_block *none = NULL;

	return b->storage_bytes <= MAX_SEAT_BYTES &&
	       atomic_compare_exchange_strong(seat_of_thread(pool), &none, b);
}

static struct gsb_emu_block *list_take(struct gsb_emu_pool *pool, const struct gsb_emu_launch *l,
				       const struct needs *needs)
{
	struct gsb_emu_block *b, **at;

	pthread_mutex_lock(&pool->lock);
	at = pool_find(pool, l, needs);
	b = *at;
	if (b) {
		*at = b->next;
		pool->n_blocks--;
		pool->bytes -= b->storage_bytes;
	}
	pthread_mutex_unlock(&pool->lock);
	return b;
}

static bool list_give(struct gsb_emu_pool *pool, struct gsb_emu_block *b)
{
	bool room;

	b->thread = &here;
	pthread_mutex_lock(&pool->lock);
	room = pool->n_blocks < MAX_POOL && pool->bytes + b->storage_bytes <= MAX_POOL_BYTES;
	if (room) {
		b->next = pool->blocks;
		pool->blocks = b;
		pool->n_blocks++;
		pool->bytes += b->storage_bytes;
	}
	pthread_mutex_unlock(&pool->lock);
	return room;
}

static bool pool_give(struct gsb_emu_pool *pool, struct gsb_emu_block *b)
{
	return pool && (seat_give(pool, b) || list_give(pool, b));
}

static struct gsb_emu_block *pool_take(const struct gsb_emu_launch *l, const struct needs *needs)
{
	struct gsb_emu_block *b;

	if (!l->pool)
		return NULL;
	b = atomic_exchange(seat_of_thread(l->pool), NULL);
	if (!b || fits(b, l, needs))
		return b ? b : list_take(l->pool, l, needs);
	if (!list_give(l->pool, b))
		block_free(b);
	return list_take(l->pool, l, needs);
}

void gsb_emu_pool_finish(struct gsb_emu_pool *pool)
{
	struct gsb_emu_block *b;

	for (unsigned int i = 0; i < GSB_EMU_POOL_SEATS; i++)
		if ((b = pool->seats[i].block))
			block_free(b);
	while ((b = pool->blocks)) {
		pool->blocks = b->next;
		block_free(b);
	}
	pthread_mutex_destroy(&pool->lock);
}

/* ---- life ---- */

static int warp_start(struct gsb_emu_block *b, struct gsb_emu_warp *w)
{
	w->live = w->born;
	w->carry = 0;
	w->arrived = 0;
	w->n_insns = 0;
	w->asleep = false;
	w->n_in_vain = 0;
	w->has_looked = false;
	gsb_emu_async_reset(w);
	if (b->code->uses_stack)
		reset_stack(b, w);
	w->n_nodes = 0;
	w->free_node = GSB_EMU_NODE_NONE;
	w->current = gsb_emu_node_new(w);
	if (w->current == GSB_EMU_NODE_NONE)
		return -ENOMEM;
	w->nodes[w->current].mask = w->live;
	w->nodes[w->current].pc = b->code->funcs[0].entry;
	w->nodes[w->current].state = GSB_EMU_NODE_RUN;
	return 0;
}

static uint64_t next_noise(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return z ^ z >> 31;
}

#define NOISE_WORDS 64

/* A few words of noise, again and again: a program that reads them is wrong with any. */
static void put_noise(void *at, size_t bytes, uint64_t *state)
{
	uint64_t noise[NOISE_WORDS];

	for (size_t i = 0; i < NOISE_WORDS; i++)
		noise[i] = next_noise(state);
	for (size_t i = 0; i < bytes; i += sizeof(noise))
		memcpy((char *)at + i, noise,
		       bytes - i < sizeof(noise) ? bytes - i : sizeof(noise));
}

/* What a program must not read before it has written it: other bits in each block. */
static void put_poison(struct gsb_emu_block *b)
{
	const struct gsb_emu_func *entry = &b->code->funcs[0];
	uint64_t state = b->launch->poison ^ (b->ctaid[0] + ((uint64_t)b->ctaid[1] << 32));

	put_noise(b->shared + GSB_EMU_RESERVED_SHARED, b->shared_bytes - GSB_EMU_RESERVED_SHARED,
		  &state);
	put_noise(b->local, (size_t)b->n_warps * GSB_EMU_LANES * b->local_bytes, &state);
	for (uint32_t i = 0; i < b->n_warps; i++) {
		put_noise(b->warps[i].rows, entry->frame_bytes, &state);
		for (uint32_t k = 0; k < entry->n_consts; k++)
			gsb_emu_const_fill(b->warps[i].rows,
					   &b->code->consts[entry->first_const + k], GSB_EMU_ALL);
	}
}

static int block_start(struct gsb_emu_block *b, const struct gsb_emu_launch *l)
{
	b->launch = l;
	b->isa = gsb_emu_isa_best();
	b->live_threads = b->n_threads;
	b->next_warp = 0;
	b->state = GSB_EMU_RUNNING;
	b->clock = b->globaltimer = b->clock_insns = b->last_clock = 0;
	b->elapsed = NULL;
	b->on_print = NULL;
	b->combiner = NULL;
	b->stats = (struct gsb_emu_stats){0};
	b->count_paths = l->count_paths || (l->watch && l->watch->what & GSB_EMU_WATCH_PROFILE);
	b->paths = (struct gsb_emu_paths){0};
	b->fault = (struct gsb_emu_fault){0};
	/* As if it had executed the first op, and settled that: nothing is to be counted yet. */
	b->x = (struct gsb_emu_exec){.block = b,
				     .ops = b->code->ops,
				     .op = b->code->ops,
				     .before = b->code->before,
				     .begun = 1};
	b->barriers_in_use = 0;
	b->cluster = &b->alone;
	b->alone.in_use = false;
	b->alone.n_reports = 0;
	b->rank = 0;
	b->stuck = false;
	memset(b->shared, 0, b->shared_bytes);
	if (l->poison)
		put_poison(b);
	for (uint32_t i = 0; i < b->n_warps; i++) {
		if (warp_start(b, &b->warps[i]))
			return -ENOMEM;
	}
	return gsb_emu_watch_begin(b);
}

int gsb_emu_block_create(const struct gsb_emu_launch *launch, const uint32_t ctaid[3],
			 uint32_t smid, struct gsb_emu_block **out)
{
	struct gsb_emu_block *b;
	struct needs needs;
	int err = find_needs(launch, &needs);

	if (err)
		return err;
	b = pool_take(launch, &needs);
	if (!b)
		b = block_new(launch, &needs);
	if (!b)
		return -ENOMEM;
	memcpy(b->ctaid, ctaid, sizeof(b->ctaid));
	b->smid = smid;
	err = block_start(b, launch);
	if (err) {
		block_free(b);
		return err;
	}
	*out = b;
	return 0;
}

void gsb_emu_block_destroy(struct gsb_emu_block *block)
{
	/* Recursion may have made the rows of its warps very long. */
	if (block && (block->code->grows || !pool_give(block->launch->pool, block)))
		block_free(block);
}

uint32_t gsb_emu_code_least_insns(const struct gsb_emu_code *code)
{
	return code->least_insns;
}

bool gsb_emu_code_knows_cluster(const struct gsb_emu_code *code)
{
	return code->knows_cluster;
}

bool gsb_emu_code_knows_place(const struct gsb_emu_code *code)
{
	return code->knows_place;
}

void gsb_emu_block_set_time(struct gsb_emu_block *block, uint64_t clock, uint64_t globaltimer_ns)
{
	block->clock = clock;
	block->globaltimer = globaltimer_ns;
	block->clock_insns = block->x.n_insns;
}

void gsb_emu_block_set_pace(struct gsb_emu_block *block, gsb_emu_elapsed *elapsed, void *ctx,
			    uint64_t clock_khz)
{
	block->elapsed = elapsed;
	block->elapsed_ctx = ctx;
	block->clock_khz = clock_khz;
}

void gsb_emu_block_set_print(struct gsb_emu_block *block, gsb_emu_on_print *on_print, void *ctx)
{
	block->on_print = on_print;
	block->print_ctx = ctx;
}

void gsb_emu_block_set_combiner(struct gsb_emu_block *block, struct gsb_emu_combiner *c)
{
	block->combiner = c;
}

const struct gsb_emu_stats *gsb_emu_block_stats(const struct gsb_emu_block *block)
{
	return &block->stats;
}

const struct gsb_emu_paths *gsb_emu_block_paths(const struct gsb_emu_block *block)
{
	return &block->paths;
}

const struct gsb_emu_fault *gsb_emu_block_fault(const struct gsb_emu_block *block)
{
	return &block->fault;
}

/* ---- running ---- */

/* The same with somebody who looks at each op before it executes. */
static GSB_NOINLINE void execute_watched(struct gsb_emu_exec *x)
{
	const struct gsb_emu_op *op = x->op;

	do {
		x->op = op;
		if (!gsb_emu_watch_op(x, op, x->rows, x->mask))
			return;
		op = x->handlers[op->form](x, op, x->rows, x->mask);
	} while (op);
}

static void execute(struct gsb_emu_exec *x)
{
	const struct gsb_emu_op *op = x->op;

	if (gsb_unlikely(x->block->watched)) {
		execute_watched(x);
		return;
	}
	do {
		x->op = op;
		op = x->handlers[op->form](x, op, x->rows, x->mask);
	} while (op);
}

/* The split to run after the current one, NODE_NONE when all wait. *more: it is not the only one. */
static uint16_t next_split(const struct gsb_emu_warp *w, bool *more)
{
	uint16_t n = w->current < w->n_nodes ? w->current : 0, found = GSB_EMU_NODE_NONE;

	*more = false;
	for (uint16_t i = 0; i < w->n_nodes; i++) {
		n = n + 1u < w->n_nodes ? n + 1 : 0;
		if (w->nodes[n].state != GSB_EMU_NODE_RUN)
			continue;
		if (found != GSB_EMU_NODE_NONE) {
			*more = true;
			break;
		}
		found = n;
	}
	return found;
}

/* Some lanes wait for others of their warp, and these cannot but be at a join. */
static bool stuck_at_sync(const struct gsb_emu_warp *w)
{
	for (uint16_t i = 0; i < w->n_nodes; i++) {
		if (w->nodes[i].state == GSB_EMU_NODE_SYNC)
			return true;
	}
	return false;
}

/* The splits of a warp, until one comes to the end of its slice or none can run. False: fault. */
static bool run_splits(struct gsb_emu_exec *x, struct gsb_emu_warp *w, uint64_t target)
{
	while (true) {
		bool more;
		uint16_t n = next_split(w, &more);

		if (n == GSB_EMU_NODE_NONE) {
			if (!stuck_at_sync(w))
				return true;
			if (gsb_emu_sync_recheck(x))
				continue;
			if (!gsb_emu_sync_check_outsiders(x))
				return false;
			if (!x->block->launch->strict && gsb_emu_release(x, w, 0))
				continue;
			return true;
		}
		x->limit = x->n_insns + (more ? SPLIT_SLICE : WARP_SLICE);
		if (x->limit > target)
			x->limit = target;
		x->lanes_since = x->n_insns;
		gsb_emu_enter(x, n);
		execute(x);
		gsb_emu_settle(x);
		if (x->stop == GSB_EMU_STOP_SWITCH && !x->tired)
			continue;
		w->asleep = x->tired || x->stop == GSB_EMU_STOP_SLEEP;
		return x->stop != GSB_EMU_STOP_FAULT;
	}
}

/* One turn. */
static bool run_warp(struct gsb_emu_exec *x, struct gsb_emu_warp *w, uint64_t target)
{
	bool ok;

	x->warp = w;
	x->tired = false;
	x->turn_start = x->n_insns;
	ok = run_splits(x, w, target);
	w->n_insns += x->n_insns - x->turn_start;
	x->turn_start = x->n_insns;
	if (ok)
		gsb_emu_release(x, w, w->asleep ? SLEEP_WAIT : JOIN_WAIT);
	return ok;
}

static bool can_run(const struct gsb_emu_warp *w)
{
	for (uint16_t i = 0; i < w->n_nodes && w->live; i++) {
		if (w->nodes[i].state == GSB_EMU_NODE_RUN)
			return true;
	}
	return false;
}

/* The next warp in turn that can run and has not gone to sleep; NULL: none. *asleep: some sleep. */
static struct gsb_emu_warp *next_warp(struct gsb_emu_block *b, bool *asleep)
{
	uint32_t n = b->next_warp;

	*asleep = false;
	for (uint32_t i = 0; i < b->n_warps; i++) {
		struct gsb_emu_warp *w = &b->warps[n];

		n = n + 1 < b->n_warps ? n + 1 : 0;
		if (w->asleep)
			*asleep = true;
		else if (can_run(w)) {
			b->next_warp = n;
			return w;
		}
	}
	return NULL;
}

/* Before a hang is called one: lanes at a join may be what a barrier waits for. */
static bool release_all(struct gsb_emu_block *b)
{
	bool any = false;

	for (uint32_t i = 0; i < b->n_warps; i++)
		any |= gsb_emu_release(&b->x, &b->warps[i], 0);
	return any;
}

/* Those that sleep may be whom the others wait for, in a loop that does not look like one that waits. */
static void wake_warps(struct gsb_emu_block *b)
{
	for (uint32_t i = 0; i < b->n_warps; i++)
		b->warps[i].asleep = false;
}

static enum gsb_emu_state run_warps(struct gsb_emu_block *b, uint64_t target)
{
	uint64_t wake_at = b->x.n_insns;

	while (b->live_threads) {
		struct gsb_emu_warp *w;
		bool asleep;

		if (b->x.n_insns >= wake_at) {
			wake_warps(b);
			wake_at = b->x.n_insns + SLEEP_LIMIT;
		}
		w = next_warp(b, &asleep);
		if (!w && asleep)
			return GSB_EMU_YIELDED;
		if (!w && !b->launch->strict && release_all(b))
			continue;
		if (!w && gsb_emu_cluster_waits(b))
			return GSB_EMU_YIELDED;
		if (!w) {
			b->x.mask = 0; /* nobody more than others */
			gsb_emu_fail(&b->x, CUDA_ERROR_LAUNCH_TIMEOUT, 0,
				     "hang: each of %u threads waits for another",
				     gsb_emu_cluster_threads(b->cluster));
			return GSB_EMU_FAULT;
		}
		if (!run_warp(&b->x, w, target))
			return GSB_EMU_FAULT;
		if (b->x.n_insns >= target && b->live_threads)
			return GSB_EMU_RUNNING;
	}
	return GSB_EMU_DONE;
}

enum gsb_emu_state gsb_emu_block_run(struct gsb_emu_block *block, uint64_t quantum)
{
	struct gsb_emu_exec *x = &block->x;
	sigjmp_buf env;

	if (block->state == GSB_EMU_DONE || block->state == GSB_EMU_FAULT)
		return block->state;
	gsb_emu_combine_enter(x, block->combiner);
	gsb_emu_guard_enter(block->launch->memory, &env);
	if (sigsetjmp(env, 0) == 0) {
		block->state = run_warps(block, x->n_insns + quantum);
	} else {
		gsb_emu_settle(x);
		gsb_emu_fail_unmapped(x, gsb_emu_guard_address());
		block->state = GSB_EMU_FAULT;
	}
	gsb_emu_guard_leave();
	if (block->watched && block->state == GSB_EMU_DONE)
		gsb_emu_watch_end(block);
	return block->state;
}
