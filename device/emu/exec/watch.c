/*
 * watch.c - see watch.h.
 *
 * Each block has its counts to itself and adds them to its launch's when it is done, so that workers wait for each
 * other once a block.
 */
#include "device/emu/exec/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/cluster.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/state.h"
#include "ptx/unit.h"

#define MAX_WORDS (GSB_EMU_LANES * 4) /* of 4 bytes, that a warp's access touches at most */

struct gsb_emu_watched {
	struct gsb_emu_watch *by;
	struct gsb_emu_profile profile;
	uint8_t *written; /* UNINIT: by byte of shared memory, 1 = by a thread of the block */
};

/* ---- life ---- */

void gsb_emu_watch_drop(struct gsb_emu_block *b)
{
	if (!b->watched)
		return;
	free(b->watched->written);
	free(b->watched);
	b->watched = NULL;
}

int gsb_emu_watch_begin(struct gsb_emu_block *b)
{
	struct gsb_emu_watch *by = b->launch->watch;

	gsb_emu_watch_drop(b);
	if (!by)
		return 0;
	b->watched = calloc(1, sizeof(*b->watched));
	if (!b->watched)
		return -ENOMEM;
	b->watched->by = by;
	if (by->what & GSB_EMU_WATCH_UNINIT)
		b->watched->written = calloc(1, (size_t)b->shared_bytes + 1);
	return by->what & GSB_EMU_WATCH_UNINIT && !b->watched->written ? -ENOMEM : 0;
}

void gsb_emu_watch_end(struct gsb_emu_block *b)
{
	struct gsb_emu_watch *by = b->watched->by;
	const uint64_t *from = (const void *)&b->watched->profile;
	uint64_t *to = (void *)&by->profile;

	b->watched->profile.n_blocks = 1;
	b->watched->profile.paths = b->paths;
	pthread_mutex_lock(&by->lock);
	for (size_t i = 0; i < sizeof(by->profile) / sizeof(*to); i++)
		to[i] += from[i];
	pthread_mutex_unlock(&by->lock);
	gsb_emu_watch_drop(b);
}

/* ---- accesses ---- */

/* Lanes of an access that are in that memory. A generic one may be to several. */
static uint32_t lanes_in(const struct gsb_emu_access *a, enum gsb_ptx_space space)
{
	uint32_t in = 0;

	if (a->space == GSB_PTX_SPACE_CLUSTER)
		return space == GSB_PTX_SPACE_SHARED ? a->mask : 0;
	if (a->space != GSB_PTX_SPACE_GENERIC)
		return a->space == space ? a->mask : 0;
	for (uint32_t left = a->mask; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		in |= (uint32_t)(gsb_emu_access_space(a->at[i]) == space) << i;
	}
	return in;
}

static bool add_new(uint64_t *list, unsigned int *n, uint64_t v)
{
	for (unsigned int i = 0; i < *n; i++)
		if (list[i] == v)
			return false;
	list[(*n)++] = v;
	return true;
}

static unsigned int count_sectors(const struct gsb_emu_access *a, uint32_t lanes)
{
	uint64_t sectors[2 * GSB_EMU_LANES];
	unsigned int n = 0;

	for (uint32_t left = lanes; left; left &= left - 1) {
		uint64_t at = a->at[__builtin_ctz(left)];

		add_new(sectors, &n, at / GSB_EMU_SECTOR_BYTES);
		add_new(sectors, &n, (at + a->len - 1) / GSB_EMU_SECTOR_BYTES);
	}
	return n;
}

/* Passes for lanes that go together: as many as there are different words in the bank that has most. */
static unsigned int count_passes(const struct gsb_emu_access *a, uint32_t lanes)
{
	unsigned int in_bank[GSB_EMU_N_BANKS] = {0}, n = 0, most = 0;
	uint64_t words[MAX_WORDS];

	for (uint32_t left = lanes; left; left &= left - 1) {
		uint64_t at = a->at[__builtin_ctz(left)], end = (uint32_t)at + (uint64_t)a->len;

		for (uint64_t w = (uint32_t)at / GSB_EMU_BANK_BYTES; w * GSB_EMU_BANK_BYTES < end;
		     w++) {
			unsigned int *bank = &in_bank[w % GSB_EMU_N_BANKS];

			if (add_new(words, &n, w) && ++*bank > most)
				most = *bank;
		}
	}
	return most;
}

/* All lanes of up to 4 bytes go together, halves of a warp with 8, quarters with 16. */
static void count_banks(const struct gsb_emu_access *a, uint32_t lanes, struct gsb_emu_traffic *t)
{
	unsigned int together = a->len <= 4 ? GSB_EMU_LANES : GSB_EMU_LANES * 4 / a->len;
	uint32_t group = together == GSB_EMU_LANES ? GSB_EMU_ALL : (UINT32_C(1) << together) - 1;

	for (unsigned int i = 0; i < GSB_EMU_LANES; i += together) {
		unsigned int n = count_passes(a, lanes & group << i);

		t->n_wavefronts += n;
		t->n_ideal_wavefronts += n > 0;
	}
}

static void count_addresses(const struct gsb_emu_access *a, uint32_t lanes,
			    struct gsb_emu_traffic *t)
{
	unsigned int most = 0;

	for (uint32_t left = lanes; left;) {
		uint64_t at = a->at[__builtin_ctz(left)];
		unsigned int n = 0;

		for (uint32_t k = left; k; k &= k - 1) {
			unsigned int i = (unsigned int)__builtin_ctz(k);

			if (a->at[i] != at)
				continue;
			left &= ~(UINT32_C(1) << i);
			n++;
		}
		most = n > most ? n : most;
		t->n_addresses++;
	}
	t->n_most_at_one += most;
}

static void count_traffic(struct gsb_emu_profile *p, const struct gsb_emu_access *a,
			  enum gsb_emu_memory_kind memory, uint32_t lanes)
{
	struct gsb_emu_traffic *t = &p->traffic[memory][a->kind - GSB_EMU_ACCESS_LOAD];
	unsigned int n = (unsigned int)__builtin_popcount(lanes);

	if (!lanes)
		return;
	t->n_requests++;
	t->n_lanes += n;
	t->n_bytes += (uint64_t)n * a->len;
	if (memory == GSB_EMU_MEMORY_GLOBAL)
		t->n_sectors += count_sectors(a, lanes);
	if (memory == GSB_EMU_MEMORY_SHARED)
		count_banks(a, lanes, t);
	if (a->kind == GSB_EMU_ACCESS_ATOM)
		count_addresses(a, lanes, t);
}

/* What passes parameters to a function is no memory on a GPU, though it is one here. */
static void count_access(struct gsb_emu_profile *p, const struct gsb_ptx_insn *in,
			 const struct gsb_emu_access *a)
{
	if (in->space == GSB_PTX_SPACE_PARAM && a->space == GSB_PTX_SPACE_LOCAL)
		return;
	if (in->space == GSB_PTX_SPACE_CONST || in->space == GSB_PTX_SPACE_PARAM) {
		count_traffic(p, a, GSB_EMU_MEMORY_CONST, a->mask);
		return;
	}
	count_traffic(p, a, GSB_EMU_MEMORY_GLOBAL, lanes_in(a, GSB_PTX_SPACE_GLOBAL));
	count_traffic(p, a, GSB_EMU_MEMORY_SHARED, lanes_in(a, GSB_PTX_SPACE_SHARED));
	count_traffic(p, a, GSB_EMU_MEMORY_LOCAL, lanes_in(a, GSB_PTX_SPACE_LOCAL));
	count_traffic(p, a, GSB_EMU_MEMORY_CONST, lanes_in(a, GSB_PTX_SPACE_PARAM));
}

/* ---- instructions ---- */

static bool diverges(const struct gsb_emu_op *op, const char *r, uint32_t mask)
{
	const uint32_t *row = (const void *)(r + op->a);
	uint32_t taken;

	if (op->form == GSB_EMU_FORM_BRA_IF) {
		taken = mask & gsb_emu_predicate(op, r, op->a);
		return taken && taken != mask;
	}
	if (op->form != GSB_EMU_FORM_BRX)
		return false;
	for (uint32_t left = mask; left; left &= left - 1)
		if (row[__builtin_ctz(left)] != row[__builtin_ctz(mask)])
			return true;
	return false;
}

static void count(const struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
		  uint32_t mask, const struct gsb_emu_access *a)
{
	const struct gsb_ptx_insn *in = x->block->code->origin[gsb_emu_index_of(x, op)];
	struct gsb_emu_profile *p = &x->block->watched->profile;

	if (op->flags & GSB_EMU_F_PSEUDO || !in)
		return;
	p->n_insns++;
	p->n_lane_insns += (unsigned int)__builtin_popcount(x->split_mask);
	p->n_lane_insns_on += (unsigned int)__builtin_popcount(mask);
	p->n_by_unit[gsb_ptx_unit_of(in)]++;
	p->n_imul += gsb_ptx_multiplies_integers(in);
	p->n_barriers += op->form == GSB_EMU_FORM_BARRIER;
	if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_BRANCH) {
		p->n_branches++;
		p->n_divergent += diverges(op, r, mask);
	}
	if (a->kind != GSB_EMU_ACCESS_NONE)
		count_access(p, in, a);
}

/* ---- shared memory that nobody has written ---- */

/* What is noted of the lane's bytes in shared memory. NULL: they are not there at all, or beyond it, which is found elsewhere. */
static uint8_t *written_place(struct gsb_emu_block *b, const struct gsb_emu_access *a,
			      unsigned int lane)
{
	const bool own = a->space == GSB_PTX_SPACE_SHARED;
	const struct gsb_emu_block *owner = gsb_emu_cluster_owner(
		b, own ? GSB_PTX_SPACE_SHARED : GSB_PTX_SPACE_CLUSTER, (uint32_t)a->at[lane]);
	uint64_t at = a->at[lane] & GSB_EMU_OFFSET_MASK;

	return owner && gsb_range_ok(at, a->len, owner->shared_bytes) ? owner->watched->written + at
								      : NULL;
}

static uint32_t unwritten_lanes(struct gsb_emu_block *b, const struct gsb_emu_access *a,
				uint32_t lanes)
{
	uint32_t bad = 0;

	for (uint32_t left = lanes; left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);
		const uint8_t *written = written_place(b, a, i);

		if (written && memchr(written, 0, a->len))
			bad |= UINT32_C(1) << i;
	}
	return bad;
}

static void note_written(struct gsb_emu_block *b, const struct gsb_emu_access *a, uint32_t lanes)
{
	for (uint32_t left = lanes; left; left &= left - 1) {
		uint8_t *written = written_place(b, a, (unsigned int)__builtin_ctz(left));

		if (written)
			memset(written, 1, a->len);
	}
}

static bool check_written(struct gsb_emu_exec *x, const struct gsb_emu_access *a)
{
	struct gsb_emu_block *b = x->block;
	uint32_t lanes = lanes_in(a, GSB_PTX_SPACE_SHARED), bad = 0;

	if (a->kind != GSB_EMU_ACCESS_STORE)
		bad = unwritten_lanes(b, a, lanes);
	note_written(b, a, lanes);
	if (!bad)
		return true;
	x->mask = bad;
	gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, 0,
		     "read of %u bytes at 0x%x of shared memory, which no thread has written",
		     a->len, (uint32_t)a->at[__builtin_ctz(bad)]);
	return false;
}

static void note_all_written(struct gsb_emu_cluster *c)
{
	for (uint32_t i = 0; i < c->n; i++)
		if (c->blocks[i]->watched)
			memset(c->blocks[i]->watched->written, 1, c->blocks[i]->shared_bytes);
}

/*
 * An instruction with an address that is none of the accesses known here: what it writes, and when, cannot be seen.
 * From then on all counts as written, for a check that says nothing is better than one that says wrong things.
 */
static void give_up(const struct gsb_emu_exec *x, const struct gsb_emu_op *op)
{
	const struct gsb_emu_block *b = x->block;
	const struct gsb_ptx_insn *in = b->code->origin[gsb_emu_index_of(x, op)];

	if (op->flags & GSB_EMU_F_PSEUDO || op->form == GSB_EMU_FORM_NOP || !in ||
	    gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_TEX)
		return;
	for (unsigned int i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_ADDR)
			note_all_written(x->block->cluster);
}

/* ---- global memory, to the byte ---- */

static bool check_bounds(struct gsb_emu_exec *x, const struct gsb_emu_access *a)
{
	const struct gsb_emu_block *b = x->block;
	const uint64_t base = b->code->const_base, size = b->code->const_end - base;
	uint32_t outside = 0, constant = 0;

	for (uint32_t left = lanes_in(a, GSB_PTX_SPACE_GLOBAL); left; left &= left - 1) {
		unsigned int i = (unsigned int)__builtin_ctz(left);

		outside |= (uint32_t)!b->watched->by->holds(b->launch->memory, a->at[i], a->len)
			   << i;
		constant |= (uint32_t)(a->kind != GSB_EMU_ACCESS_LOAD && a->at[i] - base < size)
			    << i;
	}
	if (constant) {
		x->mask = constant;
		gsb_emu_fail(x, CUDA_ERROR_INVALID_ADDRESS_SPACE, 0,
			     "write to 0x%llx, where a .const variable is",
			     (unsigned long long)a->at[__builtin_ctz(constant)]);
	} else if (outside) {
		x->mask = outside;
		gsb_emu_fail_unmapped(x, a->at[__builtin_ctz(outside)]);
	}
	return !constant && !outside;
}

bool gsb_emu_watch_op(struct gsb_emu_exec *x, const struct gsb_emu_op *op, const char *r,
		      uint32_t mask)
{
	const unsigned int what = x->block->watched->by->what;
	struct gsb_emu_access a;
	bool found = gsb_emu_access_find(x, op, r, mask, &a);

	if (what & GSB_EMU_WATCH_PROFILE)
		count(x, op, r, mask, &a);
	if (!found && what & GSB_EMU_WATCH_UNINIT)
		give_up(x, op);
	if (!found)
		return true;
	if (what & GSB_EMU_WATCH_BOUNDS && !check_bounds(x, &a))
		return false;
	return !(what & GSB_EMU_WATCH_UNINIT) || check_written(x, &a);
}
