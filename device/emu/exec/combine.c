/*
 * combine.c - see combine.h.
 */
#include "device/emu/exec/combine.h"

#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/guard.h"

#define AHEAD 16 /* lines that are asked for before their turn comes */
#define REACH ((size_t)GSB_EMU_N_LINES * GSB_EMU_LINE_BYTES) /* from the first line to the last */

_Static_assert(GSB_EMU_N_REDUCTIONS <= GSB_EMU_LINE_BYTES, "tags are lines");

/* ---- memory gets a line ---- */

typedef void put_line(void *line, void *sums);

#define VAL_u32 uint32_t
#define VAL_u64 uint64_t

/* A sum that is in memory is none again: should a later word fault, nothing is done twice. */
#define GSB_EMU_REDUCE(id, sub, types, T, expr, none)                                           \
	static void put_##id(void *line, void *sums)                                            \
	{                                                                                       \
		VAL_##T *p = line, *sum = sums;                                                 \
                                                                                                \
		for (unsigned int i = 0; i < GSB_EMU_LINE_BYTES / sizeof(*p); i++) {            \
			const VAL_##T b = sum[i];                                               \
			VAL_##T old, next;                                                      \
                                                                                                \
			if (b == (VAL_##T)(none))                                               \
				continue;                                                       \
			old = __atomic_load_n(&p[i], __ATOMIC_RELAXED);                         \
			do {                                                                    \
				next = (expr);                                                  \
			} while (!__atomic_compare_exchange_n(                                  \
				&p[i], &old, next, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)); \
			sum[i] = (VAL_##T)(none);                                               \
		}                                                                               \
	}
#include "device/emu/code/forms.def"

static put_line *const put[GSB_EMU_N_REDUCTIONS] = {
#define GSB_EMU_REDUCE(id, ...) [GSB_EMU_REDUCE_##id] = put_##id,
#include "device/emu/code/forms.def"
};

/* For writing; what has no such instruction takes it for none. */
#if defined(__x86_64__)
#define ASKS_TO_WRITE __attribute__((target("prfchw")))
#else
#define ASKS_TO_WRITE
#endif

static void *place_of(uint64_t tag)
{
	return (void *)(uintptr_t)gsb_emu_line_of(tag);
}

static void forget_last(struct gsb_emu_combiner *c)
{
	c->tags[c->used[--c->n_used]] = 0;
}

ASKS_TO_WRITE static void put_last(struct gsb_emu_combiner *c)
{
	const unsigned int slot = c->used[c->n_used - 1];
	const uint64_t tag = c->tags[slot];

	if (c->n_used > AHEAD)
		__builtin_prefetch(place_of(c->tags[c->used[c->n_used - 1 - AHEAD]]), 1);
	put[tag % GSB_EMU_LINE_BYTES](place_of(tag), c->sums[slot]);
	forget_last(c);
}

static void put_all(struct gsb_emu_combiner *c)
{
	while (c->n_used)
		put_last(c);
}

/* ---- while a block executes ---- */

static void set_combined(struct gsb_emu_exec *x, const struct gsb_emu_combiner *c)
{
	static const struct gsb_emu_range nothing;

	x->combined = c;
	x->open = c ? nothing : x->block->launch->memory->device;
}

void gsb_emu_combine_begin(struct gsb_emu_exec *x, uint64_t at, enum gsb_emu_reduction how,
			   uint64_t none)
{
	struct gsb_emu_combiner *c = x->combiner;
	const unsigned int slot = gsb_emu_slot_of(at);
	const uint64_t line = gsb_emu_line_of(at);

	if (c->tags[slot])
		return;
	if (!c->n_used || line < c->low)
		c->low = line;
	if (!c->n_used || line + GSB_EMU_LINE_BYTES > c->high)
		c->high = line + GSB_EMU_LINE_BYTES;
	for (unsigned int i = 0; i < GSB_EMU_LINE_BYTES; i += sizeof(none))
		memcpy(&c->sums[slot][i], &none, sizeof(none));
	c->tags[slot] = line | how;
	c->used[c->n_used++] = (uint16_t)slot;
	c->memory = x->block->launch->memory;
	set_combined(x, c);
}

void gsb_emu_combine_let_go(struct gsb_emu_exec *x)
{
	put_all(x->combiner);
	set_combined(x, NULL);
}

void gsb_emu_combine_judge(struct gsb_emu_exec *x, unsigned int n_lanes, unsigned int n_missed)
{
	struct gsb_emu_combiner *c = x->combiner;

	c->patience += (int32_t)n_lanes - 2 * (int32_t)n_missed;
	if (c->patience > GSB_EMU_MAX_PATIENCE)
		c->patience = GSB_EMU_MAX_PATIENCE;
	x->combines = c->patience >= 0;
}

void gsb_emu_combine_enter(struct gsb_emu_exec *x, struct gsb_emu_combiner *c)
{
	const struct gsb_emu_launch *l = x->block->launch;

	if (c && c->memory != l->memory) /* whose lines could be gone when it puts these */
		gsb_emu_combiner_flush(c);
	x->combiner = c;
	set_combined(x, c && c->n_used ? c : NULL);
	x->combines = c && l->code->may_combine && !x->block->watched;
	if (!x->combines)
		return;
	if (c->launch != l || c->grid_id != l->grid_id)
		c->patience = GSB_EMU_MAX_PATIENCE;
	c->launch = l;
	c->grid_id = l->grid_id;
	x->combines = c->patience >= 0;
}

/* ---- between blocks ---- */

/*
 * Additions go from any line to any other, and processors guess from the way between two where the next one will be: as far again, beyond the
 * first line or the last. What lies there is fetched, and taken from the worker that adds to it; two combiners side by side cost both workers
 * a third of their speed. So nobody's memory is so near: what is before and behind is never touched, and takes address numbers alone.
 */
struct room {
	unsigned char before[REACH];
	struct gsb_emu_combiner combiner;
	unsigned char behind[REACH];
};

struct gsb_emu_combiner *gsb_emu_combiner_create(void)
{
	struct room *room = aligned_alloc(_Alignof(struct room), sizeof(*room));

	if (!room)
		return NULL;
	/* The sums of a line are set when it is begun. */
	memset(&room->combiner, 0, offsetof(struct gsb_emu_combiner, sums));
	return &room->combiner;
}

void gsb_emu_combiner_destroy(struct gsb_emu_combiner *c)
{
	if (c)
		free((unsigned char *)c - offsetof(struct room, combiner));
}

bool gsb_emu_combiner_holds(const struct gsb_emu_combiner *c)
{
	return c && c->n_used;
}

/* A line that is gone was freed after the kernel had been there: nobody can ask for its sums. */
void gsb_emu_combiner_flush(struct gsb_emu_combiner *c)
{
	sigjmp_buf env;

	if (!gsb_emu_combiner_holds(c))
		return;
	if (sigsetjmp(env, 0))
		forget_last(c);
	gsb_emu_guard_enter(c->memory, &env);
	put_all(c);
	gsb_emu_guard_leave();
}
