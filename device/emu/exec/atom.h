/*
 * atom.h - handlers of atomics, made of the rows of forms.def. Included by handlers.c only, built once for each
 * instruction set.
 *
 * The lanes of a row take their turns in order. Where all are at one place, they take them here, and memory sees
 * one exchange with what has come of it: nobody else could have been between them. Shared memory belongs to the
 * block's worker alone.
 */
#ifndef GSB_DEVICE_EMU_EXEC_ATOM_H
#define GSB_DEVICE_EMU_EXEC_ATOM_H

#include "device/emu/exec/mem.h"

/* What the processor has an instruction for; @form is a constant. False: it has none. */
#define FETCH(T)                                                                          \
	static inline bool fetch_##T(unsigned int form, VAL_##T *p, VAL_##T b, VAL_##T c, \
				     VAL_##T *old)                                        \
	{                                                                                 \
		switch (form) {                                                           \
		case GSB_EMU_FORM_ATOM_ADD_32:                                            \
		case GSB_EMU_FORM_ATOM_ADD_64:                                            \
			*old = __atomic_fetch_add(p, b, __ATOMIC_SEQ_CST);                \
			return true;                                                      \
		case GSB_EMU_FORM_ATOM_AND_32:                                            \
		case GSB_EMU_FORM_ATOM_AND_64:                                            \
			*old = __atomic_fetch_and(p, b, __ATOMIC_SEQ_CST);                \
			return true;                                                      \
		case GSB_EMU_FORM_ATOM_OR_32:                                             \
		case GSB_EMU_FORM_ATOM_OR_64:                                             \
			*old = __atomic_fetch_or(p, b, __ATOMIC_SEQ_CST);                 \
			return true;                                                      \
		case GSB_EMU_FORM_ATOM_XOR_32:                                            \
		case GSB_EMU_FORM_ATOM_XOR_64:                                            \
			*old = __atomic_fetch_xor(p, b, __ATOMIC_SEQ_CST);                \
			return true;                                                      \
		case GSB_EMU_FORM_ATOM_EXCH_32:                                           \
		case GSB_EMU_FORM_ATOM_EXCH_64:                                           \
			*old = __atomic_exchange_n(p, b, __ATOMIC_SEQ_CST);               \
			return true;                                                      \
		case GSB_EMU_FORM_ATOM_CAS_32:                                            \
		case GSB_EMU_FORM_ATOM_CAS_64:                                            \
			*old = b;                                                         \
			__atomic_compare_exchange_n(p, old, c, false, __ATOMIC_SEQ_CST,   \
						    __ATOMIC_SEQ_CST);                    \
			return true;                                                      \
		default: return false;                                                    \
		}                                                                         \
	}
FETCH(u16)
FETCH(u32)
FETCH(u64)
#undef FETCH

static inline bool fetch_u128(unsigned int form, u128 *p, u128 b, u128 c, u128 *old)
{
	(void)form, (void)p, (void)b, (void)c, (void)old;
	return false;
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

/*
 * An atomic lets nothing pass it, so a line that another worker had last would be waited for once a lane. Asked for
 * beforehand, for writing, they all come at the same time.
 */
static inline void fetch_lines(const struct access *acc)
{
	__asm__ volatile(""); /* gcc leaves out calls of functions that only prefetch */
	for (uint32_t left = acc->mask; left; left &= left - 1)
		__builtin_prefetch(place_of_lane(acc, first_lane(left)), 1);
}

/* Rows that lie side by side have each line to themselves already. */
static inline bool is_combined(const struct gsb_emu_exec *x, const struct access *acc)
{
	return x->combines && acc->on_device &&
	       !(acc->shape == SHAPE_LINE && acc->step == acc->len);
}

#define TURNS(id, T, expr)                                                                         \
	static inline VAL_##T after_##id(VAL_##T old, VAL_##T b, VAL_##T c, bool alone)            \
	{                                                                                          \
		(void)old, (void)b, (void)c, (void)alone;                                          \
		return (VAL_##T)(expr);                                                            \
	}                                                                                          \
	/* Other threads may be at the same word. */                                               \
	static inline VAL_##T atom_at_##id(VAL_##T *p, VAL_##T b, VAL_##T c, bool strong)          \
	{                                                                                          \
		VAL_##T old, next;                                                                 \
                                                                                                   \
		if (fetch_##T(GSB_EMU_FORM_##id, p, b, c, &old))                                   \
			return old;                                                                \
		old = load_##T((const void *)p, true);                                             \
		do {                                                                               \
			next = after_##id(old, b, c, false);                                       \
			if (next == old && !strong) /* min, max: mostly */                         \
				return old;                                                        \
		} while (!swap_##T(p, &old, next));                                                \
		return old;                                                                        \
	}                                                                                          \
	/* The turns of all lanes at a place which was @old: what it becomes. @was may be NULL. */ \
	static inline VAL_##T turns_##id(const struct access *acc, VAL_##T old,                    \
					 const LANE_##T *row_b, const LANE_##T *row_c,             \
					 LANE_##T *was, bool alone)                                \
	{                                                                                          \
		for (uint32_t left = acc->mask; left; left &= left - 1) {                          \
			unsigned int i = first_lane(left);                                         \
			if (was)                                                                   \
				was[i] = old;                                                      \
			old = after_##id(old, (VAL_##T)row_b[i], (VAL_##T)row_c[i], alone);        \
		}                                                                                  \
		return old;                                                                        \
	}                                                                                          \
	/* These two return whether memory is what it was. */                                      \
	static inline bool take_turns_##id(const struct access *acc, const LANE_##T *row_b,        \
					   const LANE_##T *row_c, LANE_##T *was, bool alone)       \
	{                                                                                          \
		VAL_##T *p = (void *)acc->p[0], old = load_##T(acc->p[0], true), next;             \
                                                                                                   \
		do {                                                                               \
			next = turns_##id(acc, old, row_b, row_c, was, alone);                     \
		} while (!alone && !swap_##T(p, &old, next));                                      \
		if (alone)                                                                         \
			*p = next;                                                                 \
		return next == old;                                                                \
	}                                                                                          \
	static inline bool atom_##id(const struct access *acc, const LANE_##T *row_b,              \
				     const LANE_##T *row_c, LANE_##T *row_d, bool alone)           \
	{                                                                                          \
		const bool strong = acc->op->flags & GSB_EMU_F_STRONG;                             \
		bool same = true;                                                                  \
                                                                                                   \
		if (is_one_place(acc)) {                                                           \
			const uint32_t mask = acc->mask;                                           \
			LANE_##T was[GSB_EMU_LANES] = {0};                                         \
                                                                                                   \
			same = take_turns_##id(acc, row_b, row_c, was, alone);                     \
			EACH_LANE(i) row_d[i] = mask & lane_bit[i] ? was[i] : row_d[i];            \
			return same;                                                               \
		}                                                                                  \
		if (!alone)                                                                        \
			fetch_lines(acc);                                                          \
		for (uint32_t left = acc->mask; left; left &= left - 1) {                          \
			unsigned int i = first_lane(left);                                         \
			VAL_##T *p = (void *)place_of_lane(acc, i), old;                           \
			VAL_##T b = (VAL_##T)row_b[i], c = (VAL_##T)row_c[i], next;                \
                                                                                                   \
			old = alone ? *p : atom_at_##id(p, b, c, strong);                          \
			next = after_##id(old, b, c, alone);                                       \
			if (alone)                                                                 \
				*p = next;                                                         \
			same = same && next == old;                                                \
			row_d[i] = old;                                                            \
		}                                                                                  \
		return same;                                                                       \
	}                                                                                          \
	/* Nobody wants the old values: and, or, xor are then one instruction. */                  \
	static inline void red_##id(const struct access *acc, const LANE_##T *row_b,               \
				    const LANE_##T *row_c, bool alone)                             \
	{                                                                                          \
		const bool strong = acc->op->flags & GSB_EMU_F_STRONG;                             \
                                                                                                   \
		if (is_one_place(acc)) {                                                           \
			take_turns_##id(acc, row_b, row_c, NULL, alone);                           \
			return;                                                                    \
		}                                                                                  \
		if (!alone)                                                                        \
			fetch_lines(acc);                                                          \
		for (uint32_t left = acc->mask; left; left &= left - 1) {                          \
			unsigned int i = first_lane(left);                                         \
			VAL_##T *p = (void *)place_of_lane(acc, i);                                \
			VAL_##T b = (VAL_##T)row_b[i], c = (VAL_##T)row_c[i];                      \
                                                                                                   \
			if (alone)                                                                 \
				*p = after_##id(*p, b, c, true);                                   \
			else                                                                       \
				atom_at_##id(p, b, c, strong);                                     \
		}                                                                                  \
	}

/* A row goes to the thread's combiner. False: nothing has been done. */
#define COMBINE(id, T, none)                                                                       \
	static GSB_NOINLINE void first_of_line_##id(struct gsb_emu_exec *x, VAL_##T *p, VAL_##T b) \
	{                                                                                          \
		const uint64_t at = (uintptr_t)p;                                                  \
		const VAL_##T from = (VAL_##T)(none);                                              \
                                                                                                   \
		if (gsb_emu_combiner_has(x->combiner, at)) /* for another operation */             \
			gsb_emu_combine_let_go(x);                                                 \
		atom_at_##id(p, b, 0, false);                                                      \
		gsb_emu_combine_begin(x, at, GSB_EMU_REDUCE_##id,                                  \
				      sizeof(from) == 8 ? from : from * UINT64_C(0x100000001));    \
	}                                                                                          \
	/* Returns whether the line was there. */                                                  \
	static inline bool combine_lane_##id(struct gsb_emu_exec *x, VAL_##T *p, VAL_##T b)        \
	{                                                                                          \
		struct gsb_emu_combiner *c = x->combiner;                                          \
		const uint64_t at = (uintptr_t)p;                                                  \
		const unsigned int slot = gsb_emu_slot_of(at);                                     \
		VAL_##T *sum = (void *)(c->sums[slot] + at % GSB_EMU_LINE_BYTES);                  \
                                                                                                   \
		if (gsb_unlikely(c->tags[slot] != (gsb_emu_line_of(at) | GSB_EMU_REDUCE_##id))) {  \
			first_of_line_##id(x, p, b);                                               \
			return false;                                                              \
		}                                                                                  \
		*sum = after_##id(*sum, b, 0, false);                                              \
		return true;                                                                       \
	}                                                                                          \
	static inline bool combine_##id(struct gsb_emu_exec *x, const struct access *acc,          \
					const LANE_##T *row_b)                                     \
	{                                                                                          \
		const VAL_##T from = (VAL_##T)(none);                                              \
		unsigned int n_missed = 0;                                                         \
                                                                                                   \
		if (!is_combined(x, acc))                                                          \
			return false;                                                              \
		if (is_one_place(acc))                                                             \
			n_missed = !combine_lane_##id(                                             \
				x, (void *)acc->p[0],                                              \
				turns_##id(acc, from, row_b, row_b, NULL, false));                 \
		else                                                                               \
			for (uint32_t left = acc->mask; left; left &= left - 1) {                  \
				unsigned int i = first_lane(left);                                 \
				n_missed += !combine_lane_##id(x, (void *)place_of_lane(acc, i),   \
							       (VAL_##T)row_b[i]);                 \
			}                                                                          \
		gsb_emu_combine_judge(x, gsb_emu_count(acc->mask), n_missed);                      \
		return true;                                                                       \
	}

/* What does not stand for several of its kind. */
#define KEEP_APART(id, T)                                                                 \
	static inline bool combine_##id(struct gsb_emu_exec *x, const struct access *acc, \
					const LANE_##T *row_b)                            \
	{                                                                                 \
		(void)x, (void)acc, (void)row_b;                                          \
		return false;                                                             \
	}

#define HANDLER(id, T)                                                                    \
	static GSB_EMU_HANDLER(mem_##id)                                                  \
	{                                                                                 \
		const LANE_##T *row_b = (const void *)(r + op->b),                        \
			       *row_c = (const void *)(r + op->c);                        \
		const bool alone = op->n >= GSB_PTX_SPACE_SHARED; /* or CLUSTER */        \
		struct access acc;                                                        \
                                                                                          \
		acc.len = op->e ? op->e : (uint32_t)sizeof(VAL_##T); /* e: of a vector */ \
		acc.write = true;                                                         \
		if (!reach(x, &acc, op, r, mask))                                         \
			return NULL;                                                      \
		if (combine_##id(x, &acc, row_b))                                         \
			return op + 1;                                                    \
		go_past_combiner(x, &acc);                                                \
		if (op->flags & GSB_EMU_F_NO_RESULT)                                      \
			red_##id(&acc, row_b, row_c, alone);                              \
		else if (atom_##id(&acc, row_b, row_c, (void *)(r + op->d), alone))       \
			looked(x, &acc, r, &op->d, 1, sizeof(LANE_##T));                  \
		return op + 1;                                                            \
	}

#define GSB_EMU_ATOM(id, sub, types, T, expr) \
	TURNS(id, T, expr)                    \
	KEEP_APART(id, T)                     \
	HANDLER(id, T)
#define GSB_EMU_REDUCE(id, sub, types, T, expr, none) \
	TURNS(id, T, expr)                            \
	COMBINE(id, T, none)                          \
	HANDLER(id, T)
#include "device/emu/code/forms.def"

#endif
