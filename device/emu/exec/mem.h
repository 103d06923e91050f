/*
 * mem.h - handlers of loads and stores, made of the rows of forms.def. Included by handlers.c only, built once
 * for each instruction set.
 *
 * An access has two steps: it is checked where the lanes are, then they are moved, by whole rows where their places
 * have a shape. Most are done with a glance (glance.h), without anything being written down; for the others, far_*(),
 * there is reach() (reach.h).
 *
 * Other blocks run on other threads, so global memory changes under our feet: what a lane moves is moved by one
 * access, an aligned vector or .b128 as a whole (single.h), weak or strong; plain loads and stores of whole rows
 * rest on compilers moving aligned elements at once. Shared and local memory belong to the block alone.
 */
#ifndef GSB_DEVICE_EMU_EXEC_MEM_H
#define GSB_DEVICE_EMU_EXEC_MEM_H

#include "device/emu/exec/glance.h"
#include "device/emu/exec/look.h"
#include "device/emu/exec/quads.h"

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

/* Lanes that lie one after the other and may be moved by whatever moves most. */
static inline bool is_in_order(const struct access *acc, bool strong)
{
	return acc->step == acc->len && acc->len <= 8 && !strong;
}

/* Lanes of the mask that are in run @k. */
static inline uint32_t mask_of_run(const struct access *acc, unsigned int k)
{
	return acc->mask & (((UINT32_C(1) << RUN_LANES) - 1) << k * RUN_LANES);
}

/* Lanes between those of the mask may be read with them: holes in memory are pages, and larger. */
static inline bool may_read_run(const struct access *acc, unsigned int k)
{
	return k * RUN_LANES >= acc->first && (k + 1) * RUN_LANES - 1 <= acc->last;
}

static inline bool is_whole_run(const struct access *acc, unsigned int k)
{
	return mask_of_run(acc, k) == ((UINT32_C(1) << RUN_LANES) - 1) << k * RUN_LANES;
}

/* ---- looks ---- */

/* Nobody else writes there. */
static inline bool is_own(const struct access *acc)
{
	return acc->op->n == GSB_PTX_SPACE_LOCAL || acc->op->n == GSB_PTX_SPACE_PARAM ||
	       (acc->op->n == GSB_PTX_SPACE_GENERIC && acc->shape == SHAPE_LANES &&
		acc->at[acc->first] - GSB_EMU_LOCAL_WINDOW < GSB_EMU_WINDOW_BYTES);
}

/* What lane @i has found at its place, in @n rows of @bytes a lane. */
static inline uint64_t found_by_lane(const struct access *acc, unsigned int i, const char *r,
				     const uint32_t *rows, unsigned int n, uint32_t bytes)
{
	uint64_t found = gsb_emu_found(0, (uintptr_t)place_of_lane(acc, i));
	uint32_t word;

	for (unsigned int k = 0; k < n; k++) {
		const char *row = r + rows[k] + (size_t)i * bytes;

		for (uint32_t at = 0; at < bytes; at += sizeof(word)) {
			memcpy(&word, row + at, sizeof(word));
			found = gsb_emu_found(found, word);
		}
	}
	return found;
}

/* The first lane and the last speak for those between them. */
static GSB_NOINLINE void looked(struct gsb_emu_exec *x, const struct access *acc, const char *r,
				const uint32_t *rows, unsigned int n, uint32_t bytes)
{
	uint64_t found;

	if (is_own(acc))
		return;
	found = found_by_lane(acc, acc->first, r, rows, n, bytes);
	if (!is_one_place(acc))
		found = gsb_emu_found(found, found_by_lane(acc, acc->last, r, rows, n, bytes));
	gsb_emu_looked(x, acc->mask, found);
}

/* ---- vectors ---- */

/* What the lanes of a vector access move, lane after lane, as it lies in memory. */
struct cells {
	_Alignas(64) unsigned char at[GSB_EMU_LANES * GSB_PTX_MAX_VECTOR * sizeof(u128)];
};

static inline void load_cells_of(const struct access *acc, struct cells *cells, uint32_t len)
{
	for (uint32_t left = acc->mask; left; left &= left - 1) {
		unsigned int i = first_lane(left);
		single_load(cells->at + (size_t)i * len, place_of_lane(acc, i), len);
	}
}

static inline void store_cells_of(const struct access *acc, const struct cells *cells, uint32_t len)
{
	for (uint32_t left = acc->mask; left; left &= left - 1) {
		unsigned int i = first_lane(left);
		single_store(place_of_lane(acc, i), cells->at + (size_t)i * len, len);
	}
}

/* All 32 lanes on a line. */
static inline void load_line_of(const struct access *acc, struct cells *cells, uint32_t len)
{
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		single_load(cells->at + (size_t)i * len, acc->p[0] + i * acc->step, len);
}

static inline void store_line_of(const struct access *acc, const struct cells *cells, uint32_t len)
{
	for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
		single_store(acc->p[0] + i * acc->step, cells->at + (size_t)i * len, len);
}

static inline bool is_whole_line(const struct access *acc)
{
	return acc->shape == SHAPE_LINE && acc->mask == GSB_EMU_ALL;
}

static inline void load_cells(const struct access *acc, struct cells *cells)
{
	if (is_whole_line(acc) && acc->len == 16)
		load_line_of(acc, cells, 16);
	else if (is_whole_line(acc) && acc->len == 8)
		load_line_of(acc, cells, 8);
	else
		load_cells_of(acc, cells, acc->len);
}

static inline void store_cells(const struct access *acc, const struct cells *cells)
{
	if (is_whole_line(acc) && acc->len == 16)
		store_line_of(acc, cells, 16);
	else if (is_whole_line(acc) && acc->len == 8)
		store_line_of(acc, cells, 8);
	else
		store_cells_of(acc, cells, acc->len);
}

/* ---- loads ---- */

#define GSB_EMU_LOAD(id, types, M, D)                                                              \
	static inline void load_part_##id(const struct access *acc, unsigned int k, LANE_##D *row) \
	{                                                                                          \
		const VAL_##M *from = (const void *)acc->p[0];                                     \
                                                                                                   \
		if (may_read_run(acc, k)) {                                                        \
			VAL_##M part[RUN_LANES];                                                   \
                                                                                                   \
			EACH_OF_RUN(i) part[i] = from[k * RUN_LANES + i];                          \
			for (uint32_t left = mask_of_run(acc, k); left; left &= left - 1)          \
				row[first_lane(left)] =                                            \
					(LANE_##D)part[first_lane(left) % RUN_LANES];              \
			return;                                                                    \
		}                                                                                  \
		for (uint32_t left = mask_of_run(acc, k); left; left &= left - 1)                  \
			row[first_lane(left)] = (LANE_##D)from[first_lane(left)];                  \
	}                                                                                          \
	static inline void load_line_##id(const struct access *acc, bool strong, LANE_##D *row)    \
	{                                                                                          \
		const uint32_t mask = acc->mask;                                                   \
		const unsigned char *p = acc->p[0];                                                \
		const VAL_##M *from = (const void *)p;                                             \
                                                                                                   \
		if (!acc->step) {                                                                  \
			LANE_##D v = (LANE_##D)load_##M(p, strong);                                \
			if (mask == GSB_EMU_ALL)                                                   \
				EACH_LANE(i) row[i] = v;                                           \
			else                                                                       \
				EACH_LANE(i) row[i] = mask & lane_bit[i] ? v : row[i];             \
		} else if (is_in_order(acc, strong) && mask == GSB_EMU_ALL) {                      \
			EACH_LANE(i) row[i] = (LANE_##D)from[i];                                   \
		} else if (is_in_order(acc, strong)) {                                             \
			for (unsigned int k = 0; k < N_RUNS; k++)                                  \
				load_part_##id(acc, k, row);                                       \
		} else if (mask == GSB_EMU_ALL) {                                                  \
			for (unsigned int i = 0; i < GSB_EMU_LANES; i++)                           \
				row[i] = (LANE_##D)load_##M(p + i * acc->step, strong);            \
		} else {                                                                           \
			for (uint32_t left = mask; left; left &= left - 1) {                       \
				unsigned int i = first_lane(left);                                 \
				row[i] = (LANE_##D)load_##M(p + i * acc->step, strong);            \
			}                                                                          \
		}                                                                                  \
	}                                                                                          \
	static inline void load_run_##id(const struct access *acc, const unsigned char *p,         \
					 bool strong, LANE_##D *row)                               \
	{                                                                                          \
		const VAL_##M *from = (const void *)p;                                             \
                                                                                                   \
		if (!acc->step) {                                                                  \
			LANE_##D v = (LANE_##D)load_##M(p, strong);                                \
			EACH_OF_RUN(i) row[i] = v;                                                 \
		} else if (is_in_order(acc, strong)) {                                             \
			EACH_OF_RUN(i) row[i] = (LANE_##D)from[i];                                 \
		} else {                                                                           \
			for (unsigned int i = 0; i < RUN_LANES; i++)                               \
				row[i] = (LANE_##D)load_##M(p + i * acc->step, strong);            \
		}                                                                                  \
	}                                                                                          \
	static inline void load_row_##id(const struct access *acc, bool strong, LANE_##D *row)     \
	{                                                                                          \
		if (acc->shape == SHAPE_LINE) {                                                    \
			load_line_##id(acc, strong, row);                                          \
		} else if (acc->shape == SHAPE_RUNS) {                                             \
			for (unsigned int k = 0; k < N_RUNS; k++)                                  \
				load_run_##id(acc, acc->p[k], strong, row + k * RUN_LANES);        \
		} else if (acc->mask == GSB_EMU_ALL) {                                             \
			for (unsigned int i = 0; i < GSB_EMU_LANES; i++)                           \
				row[i] = (LANE_##D)load_##M(acc->p[i], strong);                    \
		} else {                                                                           \
			for (uint32_t left = acc->mask; left; left &= left - 1) {                  \
				unsigned int i = first_lane(left);                                 \
				row[i] = (LANE_##D)load_##M(acc->p[i], strong);                    \
			}                                                                          \
		}                                                                                  \
	}                                                                                          \
	static inline void take_pair_##id(char *r, const uint32_t *list, const VAL_##M *from)      \
	{                                                                                          \
		LANE_##D *row0 = (void *)(r + list[0]), *row1 = (void *)(r + list[1]);             \
                                                                                                   \
		EACH_LANE(i)                                                                       \
		{                                                                                  \
			row0[i] = (LANE_##D)from[2 * i];                                           \
			row1[i] = (LANE_##D)from[2 * i + 1];                                       \
		}                                                                                  \
	}                                                                                          \
	static inline void take_four_##id(char *r, const uint32_t *list, const VAL_##M *from)      \
	{                                                                                          \
		LANE_##D *row0 = (void *)(r + list[0]), *row1 = (void *)(r + list[1]);             \
		LANE_##D *row2 = (void *)(r + list[2]), *row3 = (void *)(r + list[3]);             \
                                                                                                   \
		EACH_LANE(i)                                                                       \
		{                                                                                  \
			row0[i] = (LANE_##D)from[4 * i];                                           \
			row1[i] = (LANE_##D)from[4 * i + 1];                                       \
			row2[i] = (LANE_##D)from[4 * i + 2];                                       \
			row3[i] = (LANE_##D)from[4 * i + 3];                                       \
		}                                                                                  \
	}                                                                                          \
	static inline void take_masked_##id(char *r, const uint32_t *list, const VAL_##M *from,    \
					    unsigned int n, uint32_t mask)                         \
	{                                                                                          \
		for (unsigned int k = 0; k < n; k++) {                                             \
			LANE_##D *row = (void *)(r + list[k]);                                     \
			EACH_LANE(i)                                                               \
			row[i] = mask & lane_bit[i] ? (LANE_##D)from[i * n + k] : row[i];          \
		}                                                                                  \
	}                                                                                          \
	static inline void load_vector_##id(struct gsb_emu_exec *x, const struct access *acc,      \
					    char *r)                                               \
	{                                                                                          \
		const uint32_t *list = x->block->code->lists + acc->op->d;                         \
		const unsigned int n = acc->op->e;                                                 \
		struct cells cells;                                                                \
		const VAL_##M *from = (const void *)cells.at;                                      \
                                                                                                   \
		load_cells(acc, &cells);                                                           \
		if (acc->mask == GSB_EMU_ALL && n == 2)                                            \
			take_pair_##id(r, list, from);                                             \
		else if (acc->mask == GSB_EMU_ALL && n == 4)                                       \
			take_four_##id(r, list, from);                                             \
		else                                                                               \
			take_masked_##id(r, list, from, n, acc->mask);                             \
	}                                                                                          \
	static GSB_NOINLINE GSB_EMU_HANDLER(far_##id)                                              \
	{                                                                                          \
		struct access acc;                                                                 \
                                                                                                   \
		acc.len = (uint32_t)sizeof(VAL_##M) * op->e;                                       \
		acc.write = false;                                                                 \
		if (!reach(x, &acc, op, r, mask))                                                  \
			return NULL;                                                               \
		go_past_combiner(x, &acc);                                                         \
		if (op->e > 1)                                                                     \
			load_vector_##id(x, &acc, r);                                              \
		else                                                                               \
			load_row_##id(&acc, op->flags &GSB_EMU_F_STRONG, (void *)(r + op->d));     \
		if (op->flags & GSB_EMU_F_STRONG)                                                  \
			looked(x, &acc, r, op->e > 1 ? x->block->code->lists + op->d : &op->d,     \
			       op->e, sizeof(LANE_##D));                                           \
		return op + 1;                                                                     \
	}                                                                                          \
	typedef VAL_##M cells_##id __attribute__((vector_size(RUN_LANES * sizeof(VAL_##M)),        \
						  aligned(sizeof(VAL_##M))));                      \
	static inline void load_in_order_##id(const struct runs *runs, LANE_##D *row)              \
	{                                                                                          \
		for (unsigned int k = 0; k < N_RUNS; k += 2) {                                     \
			const cells_##id *one = (const void *)runs->p[k],                          \
					 *next = (const void *)runs->p[k + 1];                     \
                                                                                                   \
			put_runs_##D(row + k * RUN_LANES,                                          \
				     __builtin_convertvector(*one, run_of_##D),                    \
				     __builtin_convertvector(*next, run_of_##D));                  \
		}                                                                                  \
	}                                                                                          \
	static inline LANE_##D cell_##id(const void *p)                                            \
	{                                                                                          \
		const VAL_##M v = *(const VAL_##M *)p;                                             \
                                                                                                   \
		return (LANE_##D)v;                                                                \
	}                                                                                          \
	static inline void load_one_place_##id(const struct runs *runs, LANE_##D *row)             \
	{                                                                                          \
		const LANE_##D v = cell_##id(runs->p[0]);                                          \
                                                                                                   \
		if (is_one(runs)) {                                                                \
			EACH_LANE(i) row[i] = v;                                                   \
			return;                                                                    \
		}                                                                                  \
		put_runs_##D(row, (run_of_##D){0} + v, (run_of_##D){0} + cell_##id(runs->p[1]));   \
		for (unsigned int k = 2; k < N_RUNS; k += 2)                                       \
			put_runs_##D(row + k * RUN_LANES, (run_of_##D){0} + cell_##id(runs->p[k]), \
				     (run_of_##D){0} + cell_##id(runs->p[k + 1]));                 \
	}                                                                                          \
	static GSB_EMU_HANDLER(mem_##id)                                                           \
	{                                                                                          \
		LANE_##D *row = (void *)(r + op->d);                                               \
		struct runs runs;                                                                  \
                                                                                                   \
		if (op->e != 1 || sizeof(VAL_##M) > 8)                                             \
			return IS_QUAD(M, D, op) && load_quads(x, op, r, mask)                     \
				       ? op + 1                                                    \
				       : far_##id(x, op, r, mask);                                 \
		if (op->n == GSB_PTX_SPACE_PARAM && mask == GSB_EMU_ALL) {                         \
			const char *params = x->block->launch->params;                             \
			const LANE_##D v =                                                         \
				(LANE_##D) * (const VAL_##M *)(const void *)(params + op->imm);    \
                                                                                                   \
			EACH_LANE(i) row[i] = v;                                                   \
			return op + 1;                                                             \
		}                                                                                  \
		switch (glance(x, op, r, mask, sizeof(VAL_##M), &runs)) {                          \
		case GLANCE_IN_ORDER: load_in_order_##id(&runs, row); return op + 1;               \
		case GLANCE_ONE_PLACE: load_one_place_##id(&runs, row); return op + 1;             \
		default: return far_##id(x, op, r, mask);                                          \
		}                                                                                  \
	}

/* ---- stores ---- */

/* At one place the last lane's value is what stays. */
#define GSB_EMU_STORE(id, types, M, A)                                                             \
	typedef VAL_##M cells_##id __attribute__((vector_size(RUN_LANES * sizeof(VAL_##M)),        \
						  aligned(sizeof(VAL_##M))));                      \
	static inline void store_cells_##id(VAL_##M *to, const LANE_##A *row)                      \
	{                                                                                          \
		run_of_##A run;                                                                    \
                                                                                                   \
		memcpy(&run, row, sizeof(run));                                                    \
		*(cells_##id *)(void *)to = __builtin_convertvector(run, cells_##id);              \
	}                                                                                          \
	static inline void store_part_##id(const struct access *acc, unsigned int k,               \
					   const LANE_##A *row)                                    \
	{                                                                                          \
		VAL_##M *to = (void *)acc->p[0];                                                   \
                                                                                                   \
		if (is_whole_run(acc, k)) {                                                        \
			store_cells_##id(to + k * RUN_LANES, row + k * RUN_LANES);                 \
			return;                                                                    \
		}                                                                                  \
		for (uint32_t left = mask_of_run(acc, k); left; left &= left - 1)                  \
			to[first_lane(left)] = (VAL_##M)row[first_lane(left)];                     \
	}                                                                                          \
	static inline void store_line_##id(const struct access *acc, bool strong,                  \
					   const LANE_##A *row)                                    \
	{                                                                                          \
		unsigned char *p = acc->p[0];                                                      \
		VAL_##M *to = (void *)p;                                                           \
                                                                                                   \
		if (!acc->step) {                                                                  \
			store_##M(p, (VAL_##M)row[acc->last], strong);                             \
		} else if (is_in_order(acc, strong) && acc->mask == GSB_EMU_ALL) {                 \
			EACH_LANE(i) to[i] = (VAL_##M)row[i];                                      \
		} else if (is_in_order(acc, strong)) {                                             \
			for (unsigned int k = 0; k < N_RUNS; k++)                                  \
				store_part_##id(acc, k, row);                                      \
		} else {                                                                           \
			for (uint32_t left = acc->mask; left; left &= left - 1) {                  \
				unsigned int i = first_lane(left);                                 \
				store_##M(p + i * acc->step, (VAL_##M)row[i], strong);             \
			}                                                                          \
		}                                                                                  \
	}                                                                                          \
	static inline void store_run_##id(const struct access *acc, unsigned char *p, bool strong, \
					  const LANE_##A *row)                                     \
	{                                                                                          \
		VAL_##M *to = (void *)p;                                                           \
                                                                                                   \
		if (!acc->step) {                                                                  \
			store_##M(p, (VAL_##M)row[RUN_LANES - 1], strong);                         \
		} else if (is_in_order(acc, strong)) {                                             \
			store_cells_##id(to, row);                                                 \
		} else {                                                                           \
			for (unsigned int i = 0; i < RUN_LANES; i++)                               \
				store_##M(p + i * acc->step, (VAL_##M)row[i], strong);             \
		}                                                                                  \
	}                                                                                          \
	static inline void store_row_##id(const struct access *acc, bool strong,                   \
					  const LANE_##A *row)                                     \
	{                                                                                          \
		if (acc->shape == SHAPE_LINE) {                                                    \
			store_line_##id(acc, strong, row);                                         \
		} else if (acc->shape == SHAPE_RUNS) {                                             \
			for (unsigned int k = 0; k < N_RUNS; k++)                                  \
				store_run_##id(acc, acc->p[k], strong, row + k * RUN_LANES);       \
		} else {                                                                           \
			for (uint32_t left = acc->mask; left; left &= left - 1) {                  \
				unsigned int i = first_lane(left);                                 \
				store_##M(acc->p[i], (VAL_##M)row[i], strong);                     \
			}                                                                          \
		}                                                                                  \
	}                                                                                          \
	static inline void put_pair_##id(const char *r, const uint32_t *list, VAL_##M *to)         \
	{                                                                                          \
		const LANE_##A *row0 = (const void *)(r + list[0]),                                \
			       *row1 = (const void *)(r + list[1]);                                \
                                                                                                   \
		EACH_LANE(i)                                                                       \
		{                                                                                  \
			to[2 * i] = (VAL_##M)row0[i];                                              \
			to[2 * i + 1] = (VAL_##M)row1[i];                                          \
		}                                                                                  \
	}                                                                                          \
	static inline void put_four_##id(const char *r, const uint32_t *list, VAL_##M *to)         \
	{                                                                                          \
		const LANE_##A *row0 = (const void *)(r + list[0]),                                \
			       *row1 = (const void *)(r + list[1]),                                \
			       *row2 = (const void *)(r + list[2]),                                \
			       *row3 = (const void *)(r + list[3]);                                \
                                                                                                   \
		EACH_LANE(i)                                                                       \
		{                                                                                  \
			to[4 * i] = (VAL_##M)row0[i];                                              \
			to[4 * i + 1] = (VAL_##M)row1[i];                                          \
			to[4 * i + 2] = (VAL_##M)row2[i];                                          \
			to[4 * i + 3] = (VAL_##M)row3[i];                                          \
		}                                                                                  \
	}                                                                                          \
	static inline void put_any_##id(const char *r, const uint32_t *list, VAL_##M *to,          \
					unsigned int n)                                            \
	{                                                                                          \
		for (unsigned int k = 0; k < n; k++) {                                             \
			const LANE_##A *row = (const void *)(r + list[k]);                         \
			EACH_LANE(i) to[i * n + k] = (VAL_##M)row[i];                              \
		}                                                                                  \
	}                                                                                          \
	static inline void store_vector_##id(struct gsb_emu_exec *x, const struct access *acc,     \
					     const char *r)                                        \
	{                                                                                          \
		const uint32_t *list = x->block->code->lists + acc->op->d;                         \
		struct cells cells;                                                                \
                                                                                                   \
		if (acc->op->e == 2)                                                               \
			put_pair_##id(r, list, (void *)cells.at);                                  \
		else if (acc->op->e == 4)                                                          \
			put_four_##id(r, list, (void *)cells.at);                                  \
		else                                                                               \
			put_any_##id(r, list, (void *)cells.at, acc->op->e);                       \
		store_cells(acc, &cells);                                                          \
	}                                                                                          \
	static GSB_NOINLINE GSB_EMU_HANDLER(far_##id)                                              \
	{                                                                                          \
		struct access acc;                                                                 \
                                                                                                   \
		acc.len = (uint32_t)sizeof(VAL_##M) * op->e;                                       \
		acc.write = true;                                                                  \
		if (!reach(x, &acc, op, r, mask))                                                  \
			return NULL;                                                               \
		go_past_combiner(x, &acc);                                                         \
		if (op->e > 1)                                                                     \
			store_vector_##id(x, &acc, r);                                             \
		else                                                                               \
			store_row_##id(&acc, op->flags &GSB_EMU_F_STRONG,                          \
				       (const void *)(r + op->d));                                 \
		return op + 1;                                                                     \
	}                                                                                          \
	static inline void store_in_order_##id(const struct runs *runs, const run_of_##A *run)     \
	{                                                                                          \
		EACH_RUN(k)                                                                        \
		*(cells_##id *)(void *)runs->p[k] = __builtin_convertvector(run[k], cells_##id);   \
	}                                                                                          \
	static inline void store_one_place_##id(const struct runs *runs, const LANE_##A *row)      \
	{                                                                                          \
		for (unsigned int k = is_one(runs) ? N_RUNS - 1 : 0; k < N_RUNS; k++)              \
			*(VAL_##M *)(void *)runs->p[k] = (VAL_##M)row[(k + 1) * RUN_LANES - 1];    \
	}                                                                                          \
	static GSB_EMU_HANDLER(mem_##id)                                                           \
	{                                                                                          \
		const void *row = r + op->d;                                                       \
		struct runs runs;                                                                  \
                                                                                                   \
		if (op->e != 1 || sizeof(VAL_##M) > 8)                                             \
			return IS_QUAD(M, A, op) && store_quads(x, op, r, mask)                    \
				       ? op + 1                                                    \
				       : far_##id(x, op, r, mask);                                 \
		switch (glance(x, op, r, mask, sizeof(VAL_##M), &runs)) {                          \
		case GLANCE_IN_ORDER: store_in_order_##id(&runs, row); return op + 1;              \
		case GLANCE_ONE_PLACE: store_one_place_##id(&runs, row); return op + 1;            \
		default: return far_##id(x, op, r, mask);                                          \
		}                                                                                  \
	}

#include "device/emu/code/forms.def"

#endif
