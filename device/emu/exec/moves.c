/*
 * moves.c - handlers that move values about and know more than one lane type: predicates, vectors in
 * registers, addresses, special registers, local frames.
 */
#include "device/emu/exec/moves.h"

#include <string.h>

#include "base/checked.h"
#include "device/emu/exec/cluster.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/tally.h"

void gsb_emu_const_fill(char *r, const struct gsb_emu_const *c, uint32_t mask)
{
	if (!c->bytes) {
		gsb_emu_predicate_set(r, c->row, mask, c->value ? GSB_EMU_ALL : 0);
		return;
	}
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++) {
		if (mask >> i & 1)
			memcpy(r + c->row + (size_t)i * c->bytes, &c->value,
			       c->bytes < 8 ? c->bytes : 8);
	}
}

/* ---- predicates ---- */

GSB_EMU_HANDLER(gsb_emu_do_PRED_AND)
{
	gsb_emu_predicate_set(r, op->d, mask,
			      gsb_emu_predicate(op, r, op->a) &
				      *(const uint32_t *)(const void *)(r + op->b));
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_PRED_OR)
{
	gsb_emu_predicate_set(r, op->d, mask,
			      gsb_emu_predicate(op, r, op->a) |
				      *(const uint32_t *)(const void *)(r + op->b));
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_PRED_XOR)
{
	gsb_emu_predicate_set(r, op->d, mask,
			      gsb_emu_predicate(op, r, op->a) ^
				      *(const uint32_t *)(const void *)(r + op->b));
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_PRED_MOV)
{
	gsb_emu_predicate_set(r, op->d, mask, gsb_emu_predicate(op, r, op->a));
	return op + 1;
}

static uint32_t combine(unsigned int sub, uint32_t t, uint32_t c)
{
	switch (sub) {
	case GSB_PTX_SUB_AND: return t & c;
	case GSB_PTX_SUB_OR: return t | c;
	case GSB_PTX_SUB_XOR: return t ^ c;
	default: return t;
	}
}

GSB_EMU_HANDLER(gsb_emu_do_PRED_PAIR)
{
	uint32_t t = *(const uint32_t *)(const void *)(r + op->a);
	uint32_t c = gsb_emu_predicate(op, r, op->c);

	gsb_emu_predicate_set(r, op->d, mask, combine(op->n, t, c));
	gsb_emu_predicate_set(r, op->e, mask, combine(op->n, ~t, c));
	return op + 1;
}

/* ---- lanes of either width ---- */

static void lane_set(char *r, const struct gsb_emu_op *op, uint32_t mask, unsigned int i,
		     uint64_t value)
{
	uint64_t *wide = (void *)(r + op->d);
	uint32_t *narrow = (void *)(r + op->d);

	if (!(mask >> i & 1))
		return;
	if (op->flags & GSB_EMU_F_ADDR64)
		wide[i] = value;
	else
		narrow[i] = (uint32_t)value;
}

static uint64_t lane_get(const char *r, const struct gsb_emu_op *op, unsigned int i)
{
	const uint64_t *wide = (const void *)(r + op->a);
	const uint32_t *narrow = (const void *)(r + op->a);

	return op->flags & GSB_EMU_F_ADDR64 ? wide[i] : narrow[i];
}

GSB_EMU_HANDLER(gsb_emu_do_LOCAL_ADDRESS)
{
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		lane_set(r, op, mask, i, x->local + (uint64_t)op->imm);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_TO_GENERIC)
{
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		lane_set(r, op, mask, i, (uint32_t)lane_get(r, op, i) + (uint64_t)op->imm);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_SHARED_ADDRESS)
{
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		lane_set(r, op, mask, i, gsb_emu_rank_base(x->block) + (uint64_t)op->imm);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_MAPA)
{
	const uint64_t of_rank = (UINT64_C(1) << 32) - 1 - GSB_EMU_OFFSET_MASK;
	const uint32_t *rank = (const void *)(r + op->b);

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		lane_set(r, op, mask, i,
			 (lane_get(r, op, i) & ~of_rank) |
				 ((uint64_t)rank[i] << GSB_EMU_RANK_SHIFT & of_rank));
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_CTARANK)
{
	uint32_t *d = (void *)(r + op->d);

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		if (mask >> i & 1)
			d[i] = (uint32_t)lane_get(r, op, i) >> GSB_EMU_RANK_SHIFT;
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_IS_EXPLICIT)
{
	gsb_emu_predicate_set(r, op->d, mask, x->block->launch->explicit_cluster ? GSB_EMU_ALL : 0);
	return op + 1;
}

static bool in_space(const struct gsb_emu_block *b, unsigned int space, uint64_t addr)
{
	const struct gsb_emu_code *code = b->code;

	switch (space) {
	case GSB_PTX_SPACE_SHARED: return addr - gsb_emu_shared_window(b) <= GSB_EMU_OFFSET_MASK;
	case GSB_PTX_SPACE_CLUSTER:
		return addr - GSB_EMU_SHARED_WINDOW < (uint64_t)b->cluster->n << GSB_EMU_RANK_SHIFT;
	case GSB_PTX_SPACE_LOCAL: return addr - GSB_EMU_LOCAL_WINDOW < GSB_EMU_WINDOW_BYTES;
	case GSB_PTX_SPACE_PARAM: return addr - GSB_EMU_PARAM_WINDOW < GSB_EMU_WINDOW_BYTES;
	case GSB_PTX_SPACE_CONST: return addr >= code->const_base && addr < code->const_end;
	default: return addr < GSB_EMU_SHARED_WINDOW;
	}
}

GSB_EMU_HANDLER(gsb_emu_do_IS_SPACE)
{
	uint32_t is = 0;

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		is |= (uint32_t)in_space(x->block, op->n, lane_get(r, op, i)) << i;
	gsb_emu_predicate_set(r, op->d, mask, is);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_WIDEN_U)
{
	const uint32_t *a = (const void *)(r + op->a);
	uint64_t *d = (void *)(r + op->d);

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		d[i] = mask >> i & 1 ? a[i] : d[i];
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_WIDEN_S)
{
	const int32_t *a = (const void *)(r + op->a);
	uint64_t *d = (void *)(r + op->d);

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		d[i] = mask >> i & 1 ? (uint64_t)(int64_t)a[i] : d[i];
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_NARROW)
{
	const uint64_t *a = (const void *)(r + op->a);
	uint32_t *d = (void *)(r + op->d);

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		d[i] = mask >> i & 1 ? (uint32_t)a[i] : d[i];
	return op + 1;
}

/* Lanes are little-endian, so the elements of a vector are the bytes of its lane in order. */
GSB_EMU_HANDLER(gsb_emu_do_PACK)
{
	const uint32_t *list = x->block->code->lists + op->a;

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++) {
		unsigned char lane[16] = {0};

		if (!(mask >> i & 1))
			continue;
		for (unsigned int k = 0; k < op->n; k++)
			memcpy(lane + k * op->e, r + list[k] + (size_t)i * (op->e > 4 ? 8 : 4),
			       op->e);
		memcpy(r + op->d + (size_t)i * op->b, lane, op->b);
	}
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_UNPACK)
{
	const uint32_t *list = x->block->code->lists + op->d;
	unsigned int width = op->e > 4 ? 8 : 4;

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++) {
		const char *from = r + op->a + (size_t)i * op->b;

		if (!(mask >> i & 1))
			continue;
		for (unsigned int k = 0; k < op->n; k++) {
			uint64_t v = 0;

			memcpy(&v, from + k * op->e, op->e);
			memcpy(r + list[k] + (size_t)i * width, &v, width);
		}
	}
	return op + 1;
}

/* Arguments and results between the frames of caller and callee. */
GSB_EMU_HANDLER(gsb_emu_do_COPY_LOCAL)
{
	const struct gsb_emu_block *b = x->block;

	for (uint32_t left = mask; left; left &= left - 1) {
		unsigned char *lane =
			x->warp->local + (size_t)__builtin_ctz(left) * b->local_bytes + x->local;

		if (x->local + op->d + (uint64_t)op->imm > b->local_bytes ||
		    x->local + op->a + (uint64_t)op->imm > b->local_bytes)
			return gsb_emu_fail(x, CUDA_ERROR_HARDWARE_STACK_ERROR, 0,
					    "call stack overflow: %u bytes a thread are not enough",
					    b->local_bytes);
		memmove(lane + op->d, lane + op->a, (size_t)op->imm);
	}
	return op + 1;
}

/* ---- special registers ---- */

static uint64_t elapsed_ns(struct gsb_emu_exec *x)
{
	struct gsb_emu_block *b = x->block;

	gsb_emu_settle(x);
	if (!b->elapsed)
		return x->n_insns - b->clock_insns;
	return b->elapsed(b->elapsed_ctx, &b->stats);
}

/* Never the same twice: programs divide by differences of it. */
static uint64_t clock_now(struct gsb_emu_exec *x)
{
	struct gsb_emu_block *b = x->block;
	uint64_t now = b->clock + elapsed_ns(x);

	if (b->elapsed)
		now = b->clock +
		      (uint64_t)((unsigned __int128)elapsed_ns(x) * b->clock_khz / 1000000);
	b->last_clock = now > b->last_clock ? now : b->last_clock + 1;
	return b->last_clock;
}

static uint64_t timer_now(struct gsb_emu_exec *x)
{
	return x->block->globaltimer + elapsed_ns(x);
}

static uint64_t sreg_memory(const struct gsb_emu_block *b, unsigned int reg)
{
	switch (reg) {
	case GSB_PTX_SREG_DYNAMIC_SMEM_SIZE: return b->launch->smem_bytes;
	case GSB_PTX_SREG_TOTAL_SMEM_SIZE:
		return gsb_round_up(gsb_emu_own_shared(b->launch), GSB_EMU_SHARED_UNIT);
	case GSB_PTX_SREG_AGGR_SMEM_SIZE:
		return GSB_EMU_RESERVED_SHARED + gsb_emu_own_shared(b->launch);
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_BEGIN:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_0:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_1: return 0;
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_END: return GSB_EMU_RESERVED_USED;
	default: return GSB_EMU_RESERVED_SHARED; /* CAP */
	}
}

/* Those that differ from lane to lane. */
static uint64_t sreg_lane(const struct gsb_emu_exec *x, const struct gsb_emu_op *op, unsigned int i)
{
	uint32_t below = (UINT32_C(1) << i) - 1;

	switch (op->n) {
	case GSB_PTX_SREG_TID: return op->e < 3 ? x->warp->tid[op->e][i] : 0;
	case GSB_PTX_SREG_LANEID: return i;
	case GSB_PTX_SREG_LANEMASK_EQ: return below + 1;
	case GSB_PTX_SREG_LANEMASK_LT: return below;
	case GSB_PTX_SREG_LANEMASK_LE: return below << 1 | 1;
	case GSB_PTX_SREG_LANEMASK_GT: return ~(below << 1 | 1);
	default: return ~below; /* LANEMASK_GE */
	}
}

static bool sreg_is_lane(unsigned int reg)
{
	return reg == GSB_PTX_SREG_TID || reg == GSB_PTX_SREG_LANEID ||
	       (reg >= GSB_PTX_SREG_LANEMASK_EQ && reg <= GSB_PTX_SREG_LANEMASK_GE);
}

static uint32_t axis(const uint32_t *v, uint32_t i, uint32_t beyond)
{
	return i < 3 ? v[i] : beyond;
}

static GSB_NOINLINE uint64_t sreg_cluster(const struct gsb_emu_block *b, unsigned int reg,
					  uint32_t i)
{
	const struct gsb_emu_cluster *c = b->cluster;
	const bool is_axis = i < 3;

	switch (reg) {
	case GSB_PTX_SREG_CLUSTERID: return is_axis ? b->ctaid[i] / c->shape[i] : 0;
	case GSB_PTX_SREG_NCLUSTERID: return is_axis ? b->launch->grid[i] / c->shape[i] : 1;
	case GSB_PTX_SREG_CLUSTER_CTAID: return is_axis ? b->ctaid[i] % c->shape[i] : 0;
	case GSB_PTX_SREG_CLUSTER_NCTAID: return axis(c->shape, i, 1);
	case GSB_PTX_SREG_CLUSTER_CTARANK: return b->rank;
	default: return c->n;
	}
}

static uint64_t sreg_warp(struct gsb_emu_exec *x, const struct gsb_emu_op *op)
{
	const struct gsb_emu_block *b = x->block;
	const struct gsb_emu_launch *l = b->launch;

	switch (op->n) {
	case GSB_PTX_SREG_NTID: return axis(l->block, op->e, 1);
	case GSB_PTX_SREG_CTAID: return axis(b->ctaid, op->e, 0);
	case GSB_PTX_SREG_NCTAID: return axis(l->grid, op->e, 1);
	case GSB_PTX_SREG_WARPID: return (uint64_t)(x->warp - b->warps);
	case GSB_PTX_SREG_NWARPID: return l->max_warps;
	case GSB_PTX_SREG_SMID: return b->smid;
	case GSB_PTX_SREG_NSMID: return l->n_sms;
	case GSB_PTX_SREG_GRIDID: return l->grid_id;
	case GSB_PTX_SREG_CLOCK:
	case GSB_PTX_SREG_CLOCK64: return clock_now(x);
	case GSB_PTX_SREG_CLOCK_HI: return clock_now(x) >> 32;
	case GSB_PTX_SREG_GLOBALTIMER:
	case GSB_PTX_SREG_GLOBALTIMER_LO: return timer_now(x);
	case GSB_PTX_SREG_GLOBALTIMER_HI: return timer_now(x) >> 32;
	case GSB_PTX_SREG_ENVREG: return l->envreg[op->e % GSB_EMU_N_ENVREGS];
	case GSB_PTX_SREG_DYNAMIC_SMEM_SIZE:
	case GSB_PTX_SREG_TOTAL_SMEM_SIZE:
	case GSB_PTX_SREG_AGGR_SMEM_SIZE:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_BEGIN:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_END:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_CAP:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_0:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_1: return sreg_memory(b, op->n);
	case GSB_PTX_SREG_CLUSTERID:
	case GSB_PTX_SREG_NCLUSTERID:
	case GSB_PTX_SREG_CLUSTER_CTAID:
	case GSB_PTX_SREG_CLUSTER_NCTAID:
	case GSB_PTX_SREG_CLUSTER_CTARANK:
	case GSB_PTX_SREG_CLUSTER_NCTARANK: return sreg_cluster(b, op->n, op->e);
	default: return 0; /* PM0 and its like count nothing */
	}
}

/* Whole rows of what blocks begin with: the numbers of threads and blocks. */
static bool sreg_row(struct gsb_emu_exec *x, const struct gsb_emu_op *op, uint32_t *row)
{
	uint32_t value;

	if (op->n == GSB_PTX_SREG_TID && op->e < 3) {
		memcpy(row, x->warp->tid[op->e], sizeof(x->warp->tid[0]));
		return true;
	}
	if (sreg_is_lane(op->n))
		return false;
	value = (uint32_t)sreg_warp(x, op);
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		row[i] = value;
	return true;
}

GSB_EMU_HANDLER(gsb_emu_do_SREG)
{
	bool by_lane = sreg_is_lane(op->n);
	uint64_t value;

	if (mask == GSB_EMU_ALL && !(op->flags & GSB_EMU_F_ADDR64) &&
	    sreg_row(x, op, (void *)(r + op->d)))
		return op + 1;
	value = by_lane ? 0 : sreg_warp(x, op);
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		lane_set(r, op, mask, i, by_lane ? sreg_lane(x, op, i) : value);
	return op + 1;
}
