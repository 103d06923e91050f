/*
 * reach.h - from the addresses of the lanes to places in host memory, every one of them checked.
 *
 * Most rows of addresses are on a line: lane after lane in memory, all at one place, a stride. Others are four
 * lines of eight lanes with one step, as the rows of a tile are. For both, a look at the ends checks all lanes, and
 * nothing is written down for each lane. What is neither, what reaches into several windows and what is wrong goes
 * lane by lane, which also finds the words for it: reach_lanes().
 *
 * What a check finds, and what falls into a hole of the ranges later (a signal), ends the block as
 * CUDA_ERROR_ILLEGAL_ADDRESS. Included by handlers.c only, built once for each instruction set.
 */
#ifndef GSB_DEVICE_EMU_EXEC_REACH_H
#define GSB_DEVICE_EMU_EXEC_REACH_H

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "device/emu/exec/alu.h"
#include "device/emu/exec/cluster.h"
#include "device/emu/exec/combine.h"
#include "device/emu/exec/fault.h"

#define SECTOR_SHIFT 5 /* memory is moved in sectors of 32 bytes */
#define RUN_LANES    8
#define N_RUNS	     (GSB_EMU_LANES / RUN_LANES)
#define MAX_STEP     ((int64_t)1 << 32) /* of a line: so far its ends are computed without overflow */

enum shape {
	SHAPE_LINE,  /* lane i at p[0] + i * step */
	SHAPE_RUNS,  /* lane i at p[i / 8] + i % 8 * step; all lanes are in the mask */
	SHAPE_LANES, /* lane i at p[i] */
};

/* Eight lanes, or the starts of four runs, at once. */
typedef uint32_t run_uint32_t __attribute__((vector_size(RUN_LANES * sizeof(uint32_t))));
typedef uint64_t run_uint64_t __attribute__((vector_size(RUN_LANES * sizeof(uint64_t))));
typedef uint64_t starts __attribute__((vector_size(N_RUNS * sizeof(uint64_t))));

/* What is asked for, then what reach() found. */
struct access {
	const struct gsb_emu_op *op;
	const char *r;
	uint32_t mask;
	uint32_t len; /* bytes of a lane, a power of two */
	bool write;
	unsigned int first, last; /* lanes of the mask */
	bool on_device;		  /* all of it is the device's own memory */

	enum shape shape;
	int64_t step;
	uint64_t line;		    /* LINE: address of p[0] */
	starts runs;		    /* RUNS: addresses of p[0..3] */
	uint64_t at[GSB_EMU_LANES]; /* LANES: addresses; those not in the mask repeat the first's */
	/* LINE: may lie outside if lane 0 is not in the mask. LANES: of lanes in the mask */
	_Alignas(64) unsigned char *p[GSB_EMU_LANES];
};

#if defined(__clang__)
#define EACH_OF_RUN(i) \
	_Pragma("clang loop vectorize(assume_safety)") for (unsigned int i = 0; i < RUN_LANES; i++)
#else
#define EACH_OF_RUN(i) _Pragma("GCC ivdep") for (unsigned int i = 0; i < RUN_LANES; i++)
#endif

static inline unsigned int first_lane(uint32_t mask)
{
	return (unsigned int)__builtin_ctz(mask);
}

static inline bool is_one_place(const struct access *acc)
{
	return acc->shape == SHAPE_LINE && !acc->step;
}

static inline unsigned char *place_of_lane(const struct access *acc, unsigned int i)
{
	switch (acc->shape) {
	case SHAPE_LINE: return acc->p[0] + i * acc->step;
	case SHAPE_RUNS: return acc->p[i / RUN_LANES] + i % RUN_LANES * acc->step;
	default: return acc->p[i];
	}
}

/* ---- shapes ---- */

static inline bool any_bit(const starts *v)
{
#if defined(__AVX__)
	return !_mm256_testz_si256((__m256i)*v, (__m256i)*v);
#else
	return (*v)[0] | (*v)[1] | (*v)[2] | (*v)[3];
#endif
}

static inline bool any_uint32_t(const run_uint32_t *v)
{
	return any_bit((const void *)v);
}

static inline bool any_uint64_t(const run_uint64_t *v)
{
	starts half[2], both;

	memcpy(half, v, sizeof(half));
	both = half[0] | half[1];
	return any_bit(&both);
}

/* Of rows with lanes of type T; S is signed. */
#define SHAPES(T, S)                                                                         \
	static inline bool find_runs_##T(struct access *acc, const T *row)                   \
	{                                                                                    \
		const run_##T lanes = {0, 1, 2, 3, 4, 5, 6, 7}, *run = (const void *)row;    \
		const T step = row[1] - row[0];                                              \
		const run_##T way = lanes * step;                                            \
		const run_##T off = (run[0] ^ (row[0] + way)) | (run[1] ^ (row[8] + way)) |  \
				    (run[2] ^ (row[16] + way)) | (run[3] ^ (row[24] + way)); \
                                                                                             \
		acc->step = (S)step;                                                         \
		acc->line = row[0];                                                          \
		acc->runs = (starts){row[0], row[8], row[16], row[24]};                      \
		acc->shape = SHAPE_RUNS;                                                     \
		if (row[8] - row[0] == (T)(8 * step) && row[16] - row[8] == (T)(8 * step) && \
		    row[24] - row[16] == (T)(8 * step))                                      \
			acc->shape = SHAPE_LINE;                                             \
		return !any_##T(&off);                                                       \
	}                                                                                    \
	static inline bool find_line_##T(struct access *acc, const T *row)                   \
	{                                                                                    \
		const uint32_t mask = acc->mask, others = mask & (mask - 1);                 \
		const unsigned int first = acc->first;                                       \
		T from = row[first], step = 0, off = 0;                                      \
                                                                                             \
		if (others) {                                                                \
			unsigned int gap = first_lane(others) - first;                       \
			step = row[first + gap] - from;                                      \
			step = gap == 1 ? step : (T)((S)step / (S)gap);                      \
		}                                                                            \
		from -= (T)(first * step);                                                   \
		EACH_LANE(i) off |= mask & lane_bit[i] ? row[i] ^ (T)(from + i * step) : 0;  \
		acc->line = from;                                                            \
		acc->step = (S)step;                                                         \
		acc->shape = SHAPE_LINE;                                                     \
		return !off;                                                                 \
	}
SHAPES(uint32_t, int32_t)
SHAPES(uint64_t, int64_t)
#undef SHAPES

/* Does the row of addresses have a shape that is checked by its ends? Addresses are without op->imm. */
static inline bool find_shape(struct access *acc)
{
	const void *row = acc->r + acc->op->a;
	bool found;

	if (acc->op->flags & GSB_EMU_F_ADDR64)
		found = acc->mask == GSB_EMU_ALL ? find_runs_uint64_t(acc, row)
						 : find_line_uint64_t(acc, row);
	else
		found = acc->mask == GSB_EMU_ALL ? find_runs_uint32_t(acc, row)
						 : find_line_uint32_t(acc, row);
	return found && acc->step > -MAX_STEP && acc->step < MAX_STEP &&
	       !((uint64_t)acc->step & (acc->len - 1));
}

/* All addresses of the shape, less @base, are in [0, size), and aligned. */
static inline bool line_is_in(const struct access *acc, uint64_t base, uint64_t size)
{
	const uint64_t step = (uint64_t)acc->step, last = size - acc->len;
	const uint64_t at = acc->line + acc->first * step - base;
	const uint64_t end = at + (acc->last - acc->first) * step;

	return size >= acc->len && at <= last && end <= last && !(at & (acc->len - 1));
}

static inline bool runs_are_in(const struct access *acc, uint64_t base, uint64_t size)
{
	const uint64_t last = size - acc->len;
	const starts at = acc->runs - base;
	const starts end = at + (RUN_LANES - 1) * (uint64_t)acc->step;
	const starts off = (starts)(at > last) | (starts)(end > last) | (at & (acc->len - 1));

	return size >= acc->len && !any_bit(&off);
}

/* The shape's addresses, less @base, count from @host. */
static inline bool put_shape(struct access *acc, uint64_t base, uint64_t size, const void *host)
{
	const uint64_t ahead = (uintptr_t)host - base;

	if (acc->shape == SHAPE_LINE) {
		acc->p[0] = (unsigned char *)(uintptr_t)(acc->line + ahead);
		return line_is_in(acc, base, size);
	}
	*(starts *)(void *)acc->p = acc->runs + ahead;
	return runs_are_in(acc, base, size);
}

static inline bool put_in_range(struct access *acc, const struct gsb_emu_range *range)
{
	return put_shape(acc, range->base, range->size, (const void *)(uintptr_t)range->base);
}

/* Lane i's local memory lies behind that of lane i - 1. */
static inline bool put_in_local(struct gsb_emu_exec *x, struct access *acc, uint64_t base)
{
	const uint64_t stride = x->block->local_bytes;

	if (acc->shape != SHAPE_LINE || !put_shape(acc, base, stride, x->warp->local))
		return false;
	acc->step += (int64_t)stride;
	return true;
}

/* Shared and local addresses count from the start of the window: generic ones have the same low halves. */
static inline void fold_addresses(struct access *acc, uint64_t frame)
{
	const uint64_t before = acc->first * (uint64_t)acc->step;

	if (acc->shape == SHAPE_LINE)
		acc->line = (uint32_t)(acc->line + frame + before) - before;
	else
		acc->runs = (acc->runs + frame) & UINT32_MAX;
}

/* ---- what is counted ---- */

static inline uint64_t sector_of(uint64_t at)
{
	return at >> SECTOR_SHIFT;
}

/* Of n lanes on a line. */
static inline unsigned int count_line(uint64_t at, int64_t step, unsigned int n)
{
	const uint64_t size = (uint64_t)1 << SECTOR_SHIFT, to = at + (n - 1) * (uint64_t)step;

	if (step >= (int64_t)size || -step >= (int64_t)size)
		return n;
	return 1 + (unsigned int)(step < 0 ? sector_of(at) - sector_of(to)
					   : sector_of(to) - sector_of(at));
}

/* Changes of sector from lane to lane, one more. */
static inline unsigned int count_lanes(const uint64_t *at)
{
	unsigned int n = 1;

	for (unsigned int i = 1; i < GSB_EMU_LANES; i++)
		n += sector_of(at[i]) != sector_of(at[i - 1]);
	return n;
}

static inline unsigned int count_runs(const struct access *acc)
{
	const uint64_t way = (RUN_LANES - 1) * (uint64_t)acc->step;
	unsigned int n = 0;

	for (unsigned int k = 0; k < N_RUNS; k++) {
		n += count_line(acc->runs[k], acc->step, RUN_LANES);
		n -= k && sector_of(acc->runs[k]) == sector_of(acc->runs[k - 1] + way);
	}
	return n;
}

static inline unsigned int count_sectors(const struct access *acc)
{
	uint64_t at[GSB_EMU_LANES];
	const uint64_t step = (uint64_t)acc->step;

	if (acc->shape == SHAPE_RUNS)
		return count_runs(acc);
	if (acc->shape == SHAPE_LANES)
		return count_lanes(acc->at);
	if (acc->mask != GSB_EMU_ALL) {
		EACH_LANE(i)
		at[i] = acc->line + (acc->mask & lane_bit[i] ? i : acc->first) * step;
		return count_lanes(at);
	}
	if (acc->len > 1u << SECTOR_SHIFT && acc->step == acc->len)
		return (unsigned int)(GSB_EMU_LANES * acc->len >> SECTOR_SHIFT);
	return count_line(acc->line, acc->step, GSB_EMU_LANES);
}

static inline void count_global(struct gsb_emu_exec *x, const struct access *acc)
{
	x->block->stats.n_mem_insns++;
	x->block->stats.n_sectors += count_sectors(acc);
}

/* ---- shapes, by space ---- */

static inline bool reach_shared(struct gsb_emu_exec *x, struct access *acc)
{
	struct gsb_emu_block *b = x->block;

	fold_addresses(acc, 0);
	if (!put_shape(acc, 0, b->shared_bytes, b->shared) &&
	    !put_shape(acc, gsb_emu_rank_base(b), b->shared_bytes, b->shared))
		return false;
	b->stats.n_shared++;
	return true;
}

static inline bool reach_local(struct gsb_emu_exec *x, struct access *acc)
{
	fold_addresses(acc, acc->op->flags & GSB_EMU_F_FRAME ? x->local : 0);
	return put_in_local(x, acc, 0);
}

/* A generic address of shared or local memory counts as one of global memory. */
static inline bool reach_global(struct gsb_emu_exec *x, struct access *acc)
{
	const struct gsb_emu_block *b = x->block;
	const struct gsb_emu_memory *m = b->launch->memory;
	bool found;

	acc->on_device = put_in_range(acc, &m->device);
	found = acc->on_device || put_in_range(acc, &m->host);

	if (!found && acc->op->n == GSB_PTX_SPACE_GENERIC)
		found = put_shape(acc, gsb_emu_shared_window(b), b->shared_bytes, b->shared);
	if (found)
		count_global(x, acc);
	return found;
}

static inline bool reach_shape(struct gsb_emu_exec *x, struct access *acc)
{
	const uint64_t imm = (uint64_t)acc->op->imm;
	const bool wide = acc->op->flags & GSB_EMU_F_ADDR64;

	if (!find_shape(acc))
		return false;
	if (acc->shape == SHAPE_LINE)
		acc->line += imm;
	else
		acc->runs += imm;
	switch (acc->op->n) {
	case GSB_PTX_SPACE_SHARED: return reach_shared(x, acc);
	case GSB_PTX_SPACE_LOCAL: return reach_local(x, acc);
	default:
		if (!wide)
			fold_addresses(acc, 0);
		return reach_global(x, acc);
	}
}

/* ---- lane by lane ---- */

static inline void find_addresses(struct access *acc)
{
	const uint64_t imm = (uint64_t)acc->op->imm;
	const uint32_t mask = acc->mask;
	const char *from = acc->r + acc->op->a;

	if (acc->op->flags & GSB_EMU_F_ADDR64) {
		const uint64_t *row = (const void *)from;
		uint64_t spare = row[acc->first];

		EACH_LANE(i) acc->at[i] = (mask & lane_bit[i] ? row[i] : spare) + imm;
	} else {
		const uint32_t *row = (const void *)from;
		uint32_t spare = row[acc->first];

		EACH_LANE(i) acc->at[i] = (uint32_t)((mask & lane_bit[i] ? row[i] : spare) + imm);
	}
}

static GSB_NOINLINE bool bad_access(struct gsb_emu_exec *x, uint64_t addr, const char *what)
{
	gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_ADDRESS, addr, "%s address 0x%llx", what,
		     (unsigned long long)addr);
	return false;
}

/* The first address that does not fit into @size bytes. */
static GSB_NOINLINE bool beyond(struct gsb_emu_exec *x, const struct access *acc, uint64_t size,
				const char *what)
{
	unsigned int i = 0;

	while (i < GSB_EMU_LANES - 1 && acc->at[i] + acc->len <= size)
		i++;
	return bad_access(x, acc->at[i], what);
}

static GSB_ALWAYS_INLINE bool is_aligned(struct gsb_emu_exec *x, const struct access *acc)
{
	uint64_t addr = acc->at[0], low = 0;

	EACH_LANE(i) low |= acc->at[i];
	if (gsb_likely(!(low & (acc->len - 1))))
		return true;
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		addr = acc->at[i] & (acc->len - 1) ? acc->at[i] : addr;
	gsb_emu_fail(x, CUDA_ERROR_MISALIGNED_ADDRESS, addr,
		     "address 0x%llx is not aligned to %u bytes", (unsigned long long)addr,
		     acc->len);
	return false;
}

/* Whether all addresses, less @base, are in [0, size). */
static inline bool lanes_are_in(const struct access *acc, uint64_t base, uint64_t size)
{
	const uint64_t last = size - acc->len;
	uint64_t outside = size < acc->len;

	EACH_LANE(i) outside |= acc->at[i] - base > last;
	return !outside;
}

/* All lanes that name the same block are to blame for that. */
static GSB_NOINLINE bool bad_block(struct gsb_emu_exec *x, const struct access *acc, unsigned int i,
				   enum gsb_ptx_space space, uint64_t window)
{
	const uint64_t rank = (acc->at[i] - window) >> GSB_EMU_RANK_SHIFT;
	const uint32_t mask = x->mask;
	uint32_t same = 0;

	for (uint32_t left = acc->mask; left; left &= left - 1)
		same |= (uint32_t)((acc->at[first_lane(left)] - window) >> GSB_EMU_RANK_SHIFT ==
				   rank)
			<< first_lane(left);
	x->mask = same;
	if (gsb_emu_cluster_refuses(x, space, acc->at[i] - window))
		return true;
	x->mask = mask;
	return false;
}

/* Addresses in several ranges or windows. */
static GSB_NOINLINE bool reach_mixed(struct gsb_emu_exec *x, struct access *acc)
{
	const struct gsb_emu_memory *m = x->block->launch->memory;

	for (uint32_t left = acc->mask; left; left &= left - 1) {
		unsigned int i = first_lane(left);

		if (acc->op->n == GSB_PTX_SPACE_GENERIC)
			acc->p[i] = gsb_emu_generic(x, i, acc->at[i], acc->len, acc->write);
		else
			acc->p[i] = gsb_emu_in_memory(m, acc->at[i], acc->len)
					    ? (unsigned char *)(uintptr_t)acc->at[i]
					    : NULL;
		if (!acc->p[i] && acc->at[i] - GSB_EMU_SHARED_WINDOW < GSB_EMU_WINDOW_BYTES &&
		    bad_block(x, acc, i, GSB_PTX_SPACE_CLUSTER, GSB_EMU_SHARED_WINDOW))
			return false;
		if (!acc->p[i])
			return bad_access(x, acc->at[i], acc->write ? "write to" : "read of");
	}
	return true;
}

static inline bool reach_global_lanes(struct gsb_emu_exec *x, struct access *acc)
{
	const struct gsb_emu_range *range = &x->block->launch->memory->device;

	acc->on_device = lanes_are_in(acc, range->base, range->size);
	if (gsb_likely(acc->on_device))
		EACH_LANE(i) acc->p[i] = (unsigned char *)(uintptr_t)acc->at[i];
	else if (!reach_mixed(x, acc))
		return false;
	count_global(x, acc);
	return true;
}

/* Each where its block of the cluster has it; .shared is the block's own, by whatever name. */
static GSB_NOINLINE bool reach_cluster_lanes(struct gsb_emu_exec *x, struct access *acc)
{
	for (uint32_t left = acc->mask; left; left &= left - 1) {
		unsigned int i = first_lane(left);

		acc->p[i] = gsb_emu_cluster_at(x->block, acc->op->n, acc->at[i], acc->len);
		if (!acc->p[i])
			return !bad_block(x, acc, i, acc->op->n, 0) &&
			       bad_access(x, acc->at[i], "shared memory has no");
	}
	return true;
}

/* Shared memory, and local memory, of which lane i's lies @stride bytes behind that of lane i - 1. */
static inline bool reach_own_lanes(struct gsb_emu_exec *x, struct access *acc,
				   unsigned char *memory, uint64_t size, uint64_t stride)
{
	if (!lanes_are_in(acc, 0, size))
		return stride ? beyond(x, acc, size, "local memory has no")
			      : reach_cluster_lanes(x, acc);
	EACH_LANE(i) acc->p[i] = memory + i * stride + acc->at[i];
	return true;
}

static GSB_NOINLINE bool reach_lanes(struct gsb_emu_exec *x, struct access *acc)
{
	struct gsb_emu_block *b = x->block;
	const bool shared = acc->op->n == GSB_PTX_SPACE_SHARED;
	const bool local = acc->op->n == GSB_PTX_SPACE_LOCAL;
	const uint64_t frame = local && acc->op->flags & GSB_EMU_F_FRAME ? x->local : 0;

	find_addresses(acc);
	acc->shape = SHAPE_LANES;
	if (shared || local)
		EACH_LANE(i) acc->at[i] = (uint32_t)(acc->at[i] + frame);
	if (!is_aligned(x, acc))
		return false;
	if (shared) {
		b->stats.n_shared++;
		return reach_own_lanes(x, acc, b->shared, b->shared_bytes, 0);
	}
	if (local)
		return reach_own_lanes(x, acc, x->warp->local, b->local_bytes, b->local_bytes);
	return reach_global_lanes(x, acc);
}

static inline void find_ends(struct access *acc)
{
	acc->first = first_lane(acc->mask);
	acc->last = GSB_EMU_LANES - 1 - (unsigned int)__builtin_clz(acc->mask);
}

/* ---- all of it ---- */

/* Only loads of the entry's own parameters; lowering has checked the offset. */
static inline bool reach_param(const struct gsb_emu_exec *x, struct access *acc)
{
	acc->shape = SHAPE_LINE;
	acc->step = 0;
	acc->p[0] = (unsigned char *)(uintptr_t)x->block->launch->params + acc->op->imm;
	return true;
}

static inline void count_path(struct gsb_emu_exec *x, const struct access *acc)
{
	struct gsb_emu_paths *n = &x->block->paths;

	if (acc->shape == SHAPE_LANES)
		n->lanes++;
	else if (acc->shape == SHAPE_RUNS)
		n->runs++;
	else if (!acc->step)
		n->one_place++;
	else if (acc->step == acc->len)
		n->in_order++;
	else
		n->stride++;
}

/* Of another block, mostly: there is nothing to gain from a shape. */
static GSB_NOINLINE bool reach_cluster(struct gsb_emu_exec *x, struct access *acc)
{
	find_ends(acc);
	find_addresses(acc);
	acc->shape = SHAPE_LANES;
	EACH_LANE(i) acc->at[i] = (uint32_t)acc->at[i];
	if (!is_aligned(x, acc) || !reach_cluster_lanes(x, acc))
		return false;
	x->block->stats.n_shared++;
	if (x->block->count_paths)
		count_path(x, acc);
	return true;
}

/* What has no shape to be looked for. */
static GSB_NOINLINE bool reach_apart(struct gsb_emu_exec *x, struct access *acc)
{
	return acc->op->n == GSB_PTX_SPACE_PARAM ? reach_param(x, acc) : reach_cluster(x, acc);
}

/* For acc->len bytes of each lane. False: the block has been ended. */
static GSB_NOINLINE bool reach(struct gsb_emu_exec *x, struct access *acc,
			       const struct gsb_emu_op *op, const char *r, uint32_t mask)
{
	acc->op = op;
	acc->r = r;
	acc->mask = mask;
	acc->on_device = false;
	if (gsb_unlikely(op->n >= GSB_PTX_SPACE_PARAM))
		return reach_apart(x, acc);
	find_ends(acc);
	if (!reach_shape(x, acc) && !reach_lanes(x, acc))
		return false;
	if (gsb_unlikely(x->block->count_paths))
		count_path(x, acc);
	return true;
}

/* ---- what the thread holds of memory ---- */

/* Is something of it where a lane goes? */
static GSB_NOINLINE bool is_held(const struct gsb_emu_combiner *c, const struct access *acc)
{
	for (uint32_t left = acc->mask; left; left &= left - 1) {
		const uint64_t at = (uintptr_t)place_of_lane(acc, first_lane(left));

		if (gsb_emu_combiner_is_near(c, at, acc->len) && gsb_emu_combiner_has(c, at))
			return true;
	}
	return false;
}

/* An access by other ways than the combiner's: those that go on have to find what has been done before them. */
static inline void go_past_combiner(struct gsb_emu_exec *x, const struct access *acc)
{
	if (gsb_likely(!x->combined) || !is_held(x->combined, acc))
		return;
	gsb_emu_combine_let_go(x);
	gsb_emu_combine_judge(x, 0, GSB_EMU_LANES);
}

#endif
