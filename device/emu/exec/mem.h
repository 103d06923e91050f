/*
 * mem.h - handlers of loads, stores and atomics. Included by handlers.c only, built once for each
 * instruction set.
 *
 * An access has two steps. reach() turns the lanes' addresses into host pointers and has checked every
 * one of them when it returns true; then the lanes are moved. What most code does is fast in both: all
 * lanes one after the other in memory, or all at one place. What a check finds, and what falls into a
 * hole of the ranges later (a signal), ends the block as CUDA_ERROR_ILLEGAL_ADDRESS.
 *
 * Other blocks run on other threads, so global memory changes under our feet: what a lane moves is moved
 * by one access, an aligned vector or .b128 as a whole (single.h), weak or strong; plain loads and stores
 * of whole rows rest on compilers moving aligned elements at once. Atomics are the compiler's __atomic
 * operations. Shared and local memory belong to the block alone.
 */
#ifndef GSB_DEVICE_EMU_EXEC_MEM_H
#define GSB_DEVICE_EMU_EXEC_MEM_H

#include "device/emu/exec/alu.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/single.h"

#define SECTOR_SHIFT 5 /* memory is moved in sectors of 32 bytes */

/* What is asked for, then what reach() found. */
struct access {
	const struct gsb_emu_op *op;
	const char *r;
	uint32_t mask;
	uint32_t len; /* bytes of a lane, a power of two */
	bool write;
	unsigned int first; /* lane of the mask */

	uint64_t at
		[GSB_EMU_LANES]; /* addresses; lanes that are not in the mask repeat the first's */
	unsigned char *p[GSB_EMU_LANES]; /* of lanes in the mask */
	bool contiguous; /* all 32 lanes, each behind the one before; p[0] alone is set */
	bool uniform;	 /* all at p[first], which alone is set */
};

static inline unsigned int first_lane(uint32_t mask)
{
	return (unsigned int)__builtin_ctz(mask);
}

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

/* What the addresses have in common. */
struct pattern {
	uint64_t outside; /* not 0: some are not in [base, last] */
	uint64_t low;	  /* or-ed: alignment */
	uint64_t ahead;	  /* not 0: not contiguous */
	uint64_t apart;	  /* not 0: not uniform */
};

static inline struct pattern look(const struct access *acc, uint64_t base, uint64_t last)
{
	uint64_t outside = 0, low = 0, ahead = 0, apart = 0;
	const uint64_t *at = acc->at, step = acc->len;

	EACH_LANE(i)
	{
		outside |= at[i] - base > last;
		low |= at[i];
		ahead |= at[i] ^ (at[0] + i * step);
		apart |= at[i] ^ at[acc->first];
	}
	return (struct pattern){outside, low, ahead, apart};
}

static inline unsigned int count_sectors(const struct access *acc)
{
	const uint64_t *at = acc->at;
	unsigned int n = 1;

	if (acc->uniform)
		return 1;
	if (acc->contiguous)
		return (unsigned int)((at[GSB_EMU_LANES - 1] + acc->len - 1) >> SECTOR_SHIFT) -
		       (unsigned int)(at[0] >> SECTOR_SHIFT) + 1;
	for (unsigned int i = 1; i < GSB_EMU_LANES; i++)
		n += at[i] >> SECTOR_SHIFT != at[i - 1] >> SECTOR_SHIFT;
	return n;
}

/* Addresses that are all inside become pointers; they count from @base. */
static inline void point(struct access *acc, uint64_t base, const struct pattern *p)
{
	const uint64_t *at = acc->at;

	acc->contiguous = !p->ahead && acc->mask == GSB_EMU_ALL;
	acc->uniform = !p->apart;
	if (acc->contiguous || acc->uniform)
		acc->p[acc->first] = (unsigned char *)(uintptr_t)(at[acc->first] + base);
	else
		EACH_LANE(i) acc->p[i] = (unsigned char *)(uintptr_t)(at[i] + base);
}

static GSB_NOINLINE bool bad_access(struct gsb_emu_exec *x, uint64_t addr, const char *what)
{
	gsb_emu_fail(x, CUDA_ERROR_ILLEGAL_ADDRESS, addr, "%s address 0x%llx", what,
		     (unsigned long long)addr);
	return false;
}

static GSB_NOINLINE bool misaligned(struct gsb_emu_exec *x, const struct access *acc)
{
	uint64_t addr = acc->at[0];

	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		addr = acc->at[i] & (acc->len - 1) ? acc->at[i] : addr;
	gsb_emu_fail(x, CUDA_ERROR_MISALIGNED_ADDRESS, addr,
		     "address 0x%llx is not aligned to %u bytes", (unsigned long long)addr,
		     acc->len);
	return false;
}

/* Lane by lane: addresses in several ranges or windows. */
static GSB_NOINLINE bool reach_slowly(struct gsb_emu_exec *x, struct access *acc)
{
	const struct gsb_emu_memory *m = x->block->launch->memory;

	acc->contiguous = acc->uniform = false;
	for (uint32_t left = acc->mask; left; left &= left - 1) {
		unsigned int i = first_lane(left);

		if (acc->op->n == GSB_PTX_SPACE_GENERIC)
			acc->p[i] = gsb_emu_generic(x, i, acc->at[i], acc->len, acc->write);
		else
			acc->p[i] = gsb_emu_in_memory(m, acc->at[i], acc->len)
					    ? (unsigned char *)(uintptr_t)acc->at[i]
					    : NULL;
		if (!acc->p[i])
			return bad_access(x, acc->at[i], acc->write ? "write to" : "read of");
	}
	return true;
}

static inline bool reach_global(struct gsb_emu_exec *x, struct access *acc)
{
	const struct gsb_emu_range *range = &x->block->launch->memory->device;
	struct pattern p = look(acc, range->base, range->size - acc->len);

	if (gsb_unlikely(p.low & (acc->len - 1)))
		return misaligned(x, acc);
	if (gsb_unlikely(p.outside || range->size < acc->len)) {
		if (!reach_slowly(x, acc))
			return false;
	} else {
		point(acc, 0, &p);
	}
	x->block->stats.n_mem_insns++;
	x->block->stats.n_sectors += count_sectors(acc);
	return true;
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

/* Addresses count from the start of the window: its generic addresses have the same low halves. */
static inline bool reach_shared(struct gsb_emu_exec *x, struct access *acc)
{
	struct gsb_emu_block *b = x->block;
	struct pattern p;

	EACH_LANE(i) acc->at[i] = (uint32_t)acc->at[i];
	p = look(acc, 0, (uint64_t)b->shared_bytes - acc->len);
	if (gsb_unlikely(p.low & (acc->len - 1)))
		return misaligned(x, acc);
	if (gsb_unlikely(b->shared_bytes < acc->len || p.outside))
		return beyond(x, acc, b->shared_bytes, "shared memory has no");
	point(acc, (uintptr_t)b->shared, &p);
	b->stats.n_shared++;
	return true;
}

static inline bool reach_local(struct gsb_emu_exec *x, struct access *acc)
{
	const uint64_t stride = x->block->local_bytes;
	const uint64_t frame = acc->op->flags & GSB_EMU_F_FRAME ? x->local : 0;
	struct pattern p;

	EACH_LANE(i) acc->at[i] = (uint32_t)(acc->at[i] + frame);
	p = look(acc, 0, stride - acc->len);
	if (gsb_unlikely(p.low & (acc->len - 1)))
		return misaligned(x, acc);
	if (gsb_unlikely(stride < acc->len || p.outside))
		return beyond(x, acc, stride, "local memory has no");
	acc->contiguous = acc->uniform = false;
	EACH_LANE(i) acc->p[i] = x->warp->local + i * stride + acc->at[i];
	return true;
}

/* Only loads of the entry's own parameters come here; lowering has checked the offset. */
static inline bool reach_param(struct gsb_emu_exec *x, struct access *acc)
{
	acc->contiguous = false;
	acc->uniform = true;
	acc->p[acc->first] = (unsigned char *)(uintptr_t)x->block->launch->params + acc->op->imm;
	return true;
}

/* For acc->len bytes of each lane. False: the block has been ended. */
static GSB_NOINLINE bool reach(struct gsb_emu_exec *x, struct access *acc,
			       const struct gsb_emu_op *op, const char *r, uint32_t mask)
{
	acc->op = op;
	acc->r = r;
	acc->mask = mask;
	acc->first = first_lane(mask);
	find_addresses(acc);
	switch (op->n) {
	case GSB_PTX_SPACE_SHARED: return reach_shared(x, acc);
	case GSB_PTX_SPACE_LOCAL: return reach_local(x, acc);
	case GSB_PTX_SPACE_PARAM: return reach_param(x, acc);
	default: return reach_global(x, acc);
	}
}

/* Fill in the pointer of each lane where reach() left them out. */
static inline void spread(struct access *acc)
{
	unsigned char *base = acc->p[acc->first];
	const unsigned int step = acc->contiguous ? acc->len : 0;

	if (acc->uniform || acc->contiguous)
		EACH_LANE(i) acc->p[i] = base + i * step;
	acc->uniform = acc->contiguous = false;
}

/* The row of element k of a vector; op->e elements in the list at op->d; one is op->d itself. */
static inline uint32_t element(const struct gsb_emu_exec *x, const struct gsb_emu_op *op,
			       unsigned int k)
{
	return op->e == 1 ? op->d : x->block->code->lists[op->d + k];
}

/* One lane's element; a strong access is one access. */
#define MOVERS(M)                                                              \
	static inline VAL_##M load_##M(const unsigned char *p, bool strong)    \
	{                                                                      \
		const VAL_##M *at = (const void *)p;                           \
		return strong ? __atomic_load_n(at, __ATOMIC_ACQUIRE) : *at;   \
	}                                                                      \
	static inline void store_##M(unsigned char *p, VAL_##M v, bool strong) \
	{                                                                      \
		VAL_##M *at = (void *)p;                                       \
		if (strong)                                                    \
			__atomic_store_n(at, v, __ATOMIC_RELEASE);             \
		else                                                           \
			*at = v;                                               \
	}
MOVERS(u8)
MOVERS(s8)
MOVERS(u16)
MOVERS(s16)
MOVERS(u32)
MOVERS(s32)
MOVERS(u64)
#undef MOVERS

static inline u128 load_u128(const unsigned char *p, bool strong)
{
	(void)strong;
	return single_load16(p);
}

static inline void store_u128(unsigned char *p, u128 v, bool strong)
{
	(void)strong;
	single_store16(p, v);
}

/* What the lanes of a vector access move, lane after lane, as it lies in memory. */
struct cells {
	_Alignas(64) unsigned char at[GSB_EMU_LANES * GSB_PTX_MAX_VECTOR * sizeof(u128)];
};

static inline void load_cells(const struct access *acc, struct cells *cells)
{
	for (uint32_t left = acc->mask; left; left &= left - 1) {
		unsigned int i = first_lane(left);
		single_load(cells->at + (size_t)i * acc->len, acc->p[i], acc->len);
	}
}

static inline void store_cells(const struct access *acc, const struct cells *cells)
{
	for (uint32_t left = acc->mask; left; left &= left - 1) {
		unsigned int i = first_lane(left);
		single_store(acc->p[i], cells->at + (size_t)i * acc->len, acc->len);
	}
}

#define GSB_EMU_LOAD(id, types, M, D)                                                            \
	static inline void load_row_##id(const struct access *acc, bool strong, LANE_##D *row)   \
	{                                                                                        \
		const uint32_t mask = acc->mask;                                                 \
                                                                                                 \
		if (acc->contiguous && !strong) {                                                \
			const VAL_##M *from = (const void *)acc->p[0];                           \
			EACH_LANE(i) row[i] = (LANE_##D)from[i];                                 \
			return;                                                                  \
		}                                                                                \
		if (acc->uniform) {                                                              \
			LANE_##D v = (LANE_##D)load_##M(acc->p[acc->first], strong);             \
			EACH_LANE(i) row[i] = mask & lane_bit[i] ? v : row[i];                   \
			return;                                                                  \
		}                                                                                \
		for (uint32_t left = mask; left; left &= left - 1) {                             \
			unsigned int i = first_lane(left);                                       \
			row[i] = (LANE_##D)load_##M(acc->p[i], strong);                          \
		}                                                                                \
	}                                                                                        \
	static inline void load_vector_##id(struct gsb_emu_exec *x, struct access *acc, char *r) \
	{                                                                                        \
		const uint32_t mask = acc->mask, n = acc->op->e;                                 \
		struct cells cells;                                                              \
		const VAL_##M *from = (const void *)cells.at;                                    \
                                                                                                 \
		spread(acc);                                                                     \
		load_cells(acc, &cells);                                                         \
		for (unsigned int k = 0; k < n; k++) {                                           \
			LANE_##D *row = (void *)(r + element(x, acc->op, k));                    \
			EACH_LANE(i)                                                             \
			row[i] = mask & lane_bit[i] ? (LANE_##D)from[i * n + k] : row[i];        \
		}                                                                                \
	}                                                                                        \
	static GSB_EMU_HANDLER(mem_##id)                                                         \
	{                                                                                        \
		const bool strong = op->flags & GSB_EMU_F_STRONG;                                \
		struct access acc;                                                               \
                                                                                                 \
		acc.len = (uint32_t)sizeof(VAL_##M) * op->e;                                     \
		acc.write = false;                                                               \
		if (!reach(x, &acc, op, r, mask))                                                \
			return NULL;                                                             \
		if (op->e > 1) {                                                                 \
			load_vector_##id(x, &acc, r);                                            \
			return op + 1;                                                           \
		}                                                                                \
		if (acc.contiguous && (strong || sizeof(VAL_##M) > 8))                           \
			spread(&acc);                                                            \
		load_row_##id(&acc, strong, (void *)(r + op->d));                                \
		return op + 1;                                                                   \
	}

#define GSB_EMU_STORE(id, types, M, A)                                                    \
	static inline void store_vector_##id(struct gsb_emu_exec *x, struct access *acc,  \
					     const char *r)                               \
	{                                                                                 \
		const uint32_t n = acc->op->e;                                            \
		struct cells cells;                                                       \
		VAL_##M *to = (void *)cells.at;                                           \
                                                                                          \
		for (unsigned int k = 0; k < n; k++) {                                    \
			const LANE_##A *row = (const void *)(r + element(x, acc->op, k)); \
			EACH_LANE(i) to[i * n + k] = (VAL_##M)row[i];                     \
		}                                                                         \
		spread(acc);                                                              \
		store_cells(acc, &cells);                                                 \
	}                                                                                 \
	static GSB_EMU_HANDLER(mem_##id)                                                  \
	{                                                                                 \
		const bool strong = op->flags & GSB_EMU_F_STRONG;                         \
		const LANE_##A *row = (const void *)(r + op->d);                          \
		struct access acc;                                                        \
                                                                                          \
		acc.len = (uint32_t)sizeof(VAL_##M) * op->e;                              \
		acc.write = true;                                                         \
		if (!reach(x, &acc, op, r, mask))                                         \
			return NULL;                                                      \
		if (op->e > 1) {                                                          \
			store_vector_##id(x, &acc, r);                                    \
			return op + 1;                                                    \
		}                                                                         \
		if (acc.contiguous && !strong && sizeof(VAL_##M) <= 8) {                  \
			VAL_##M *to = (void *)acc.p[0];                                   \
			EACH_LANE(i) to[i] = (VAL_##M)row[i];                             \
			return op + 1;                                                    \
		}                                                                         \
		spread(&acc);                                                             \
		for (uint32_t left = mask; left; left &= left - 1) {                      \
			unsigned int i = first_lane(left);                                \
			store_##M(acc.p[i], (VAL_##M)row[i], strong);                     \
		}                                                                         \
		return op + 1;                                                            \
	}

#define SWAPPERS(T)                                                                       \
	static inline bool swap_##T(VAL_##T *p, VAL_##T *old, VAL_##T next)               \
	{                                                                                 \
		return __atomic_compare_exchange_n(p, old, next, false, __ATOMIC_SEQ_CST, \
						   __ATOMIC_RELAXED);                     \
	}
SWAPPERS(u16)
SWAPPERS(u32)
SWAPPERS(u64)
#undef SWAPPERS

static inline bool swap_u128(u128 *p, u128 *old, u128 next)
{
	return single_swap16(p, old, next);
}

/* Other threads may be at the same word, other than in shared memory. */
#define GSB_EMU_ATOM(id, sub, types, T, expr)                                             \
	static inline VAL_##T atom_at_##id(VAL_##T *p, VAL_##T b, VAL_##T c, bool alone)  \
	{                                                                                 \
		VAL_##T old = load_##T((const void *)p, true), next;                      \
                                                                                          \
		(void)c;                                                                  \
		if (alone) {                                                              \
			*p = (VAL_##T)(expr);                                             \
			return old;                                                       \
		}                                                                         \
		do {                                                                      \
			next = (VAL_##T)(expr);                                           \
		} while (!swap_##T(p, &old, next));                                       \
		return old;                                                               \
	}                                                                                 \
	static GSB_EMU_HANDLER(mem_##id)                                                  \
	{                                                                                 \
		const LANE_##T *row_b = (const void *)(r + op->b),                        \
			       *row_c = (const void *)(r + op->c);                        \
		const bool alone = op->n == GSB_PTX_SPACE_SHARED;                         \
		LANE_##T *row_d = (void *)(r + op->d);                                    \
		struct access acc;                                                        \
                                                                                          \
		acc.len = op->e ? op->e : (uint32_t)sizeof(VAL_##T); /* e: of a vector */ \
		acc.write = true;                                                         \
		if (!reach(x, &acc, op, r, mask))                                         \
			return NULL;                                                      \
		spread(&acc);                                                             \
		for (uint32_t left = mask; left; left &= left - 1) {                      \
			unsigned int i = first_lane(left);                                \
			row_d[i] = atom_at_##id((void *)acc.p[i], (VAL_##T)row_b[i],      \
						(VAL_##T)row_c[i], alone);                \
		}                                                                         \
		return op + 1;                                                            \
	}

#include "device/emu/code/forms.def"

#endif
