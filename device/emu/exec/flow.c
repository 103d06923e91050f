/*
 * flow.c - where the lanes of a warp go: joins, branches, calls and exits.
 *
 * A handler that changes who executes writes the node of the split back, and returns NULL with x->stop
 * set; block.c then picks the next split. Handlers here never run with an empty mask.
 */
#include <stdlib.h>
#include <string.h>

#include "device/emu/exec/async.h"
#include "device/emu/exec/fault.h"
#include "device/emu/exec/moves.h"
#include "device/emu/exec/print.h"
#include "device/emu/exec/split.h"
#include "device/emu/exec/stack.h"
#include "device/emu/exec/sync.h"

static const struct gsb_emu_op *jump(struct gsb_emu_exec *x, const struct gsb_emu_op *from,
				     uint32_t target)
{
	const struct gsb_emu_op *to = &x->ops[target];

	if (to <= from && gsb_emu_insns(x) >= x->limit) {
		gsb_emu_leave(x, target);
		return gsb_emu_stop(x, GSB_EMU_STOP_SLICE);
	}
	gsb_emu_run_ends(x, target);
	return to;
}

GSB_EMU_HANDLER(gsb_emu_do_JOIN)
{
	if (gsb_emu_index_of(x, op) != x->rejoin)
		return op + 1;
	gsb_emu_arrive(x, gsb_emu_node_of(x)->parent, x->split_mask);
	return gsb_emu_vanish(x);
}

/* ---- guards and branches ---- */

GSB_EMU_HANDLER(gsb_emu_do_GUARD)
{
	uint32_t on = x->split_mask & gsb_emu_predicate(op, r, op->a);

	if (!on)
		return jump(x, op, op->d);
	gsb_emu_set_guard(x, on);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_UNGUARD)
{
	gsb_emu_set_guard(x, x->split_mask);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_BRA)
{
	return jump(x, op, op->d);
}

/* The lanes that do not jump go on as the running split. */
GSB_EMU_HANDLER(gsb_emu_do_BRA_IF)
{
	uint32_t taken = mask & gsb_emu_predicate(op, r, op->a);

	if (!taken)
		return op + 1;
	if (taken == mask)
		return jump(x, op, op->d);
	if (!gsb_emu_join_at(x, op->e) || !gsb_emu_send(x, taken, op->d))
		return gsb_emu_no_memory(x);
	gsb_emu_set_mask(x, mask & ~taken);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_BRX)
{
	const uint32_t *row = (const void *)(r + op->a);
	const uint32_t *targets = x->block->code->lists + op->d;
	uint32_t left = mask;

	while (true) {
		uint32_t at = row[__builtin_ctz(left)], same = 0;

		for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
			same |= (uint32_t)(row[i] == at) << i;
		same &= left;
		if (at >= (uint64_t)op->imm) {
			x->mask = same;
			return gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, 0,
					    "index %u of a branch table of %lld", at,
					    (long long)op->imm);
		}
		if (same == left) {
			if (left != x->split_mask)
				gsb_emu_set_mask(x, left);
			return jump(x, op, targets[at]);
		}
		if (!gsb_emu_join_at(x, op->e) || !gsb_emu_send(x, same, targets[at]))
			return gsb_emu_no_memory(x);
		left &= ~same;
	}
}

/* ---- calls ---- */

/* Room for the rows of a frame; rows may move. */
static bool rows_reserve(struct gsb_emu_exec *x, uint32_t need)
{
	struct gsb_emu_warp *w = x->warp;
	uint32_t size = w->rows_bytes;
	char *rows;

	if (need <= size)
		return true;
	if (need > GSB_EMU_MAX_ROWS)
		return false;
	size = size * 2 > need ? size * 2 : (need + 63) & ~63u;
	if (!gsb_emu_block_take(x->block, size - w->rows_bytes))
		return false;
	rows = aligned_alloc(64, size);
	if (!rows)
		return false; /* that ends the block, which gives back what it took */
	memcpy(rows, w->rows, w->rows_bytes);
	memset(rows + w->rows_bytes, 0, size - w->rows_bytes);
	free(w->rows);
	w->rows = rows;
	w->rows_bytes = size;
	return true;
}

/* A call node takes the place of the running split, which returns to @pc; -> its number. */
static uint16_t call_node(struct gsb_emu_exec *x, uint32_t pc)
{
	struct gsb_emu_warp *w = x->warp;
	uint16_t n = gsb_emu_node_new(w);

	if (n == GSB_EMU_NODE_NONE)
		return n;
	w->nodes[n] = *gsb_emu_node_of(x);
	w->nodes[n].pc = pc;
	w->nodes[n].mask = 0;
	w->nodes[n].children = 0;
	w->nodes[n].state = GSB_EMU_NODE_JOIN;
	w->nodes[n].is_call = true;
	return n;
}

static bool overflow(struct gsb_emu_exec *x)
{
	gsb_emu_fail(x, CUDA_ERROR_HARDWARE_STACK_ERROR, 0,
		     "call stack overflow: %u bytes a thread are not enough",
		     x->block->local_bytes);
	return false;
}

/* Whether rows of function @f at @frame would lie over those of a call that is under way in other lanes. */
static bool is_over(const struct gsb_emu_exec *x, const struct gsb_emu_node *other, uint32_t f,
		    uint32_t frame)
{
	const struct gsb_emu_func *funcs = x->block->code->funcs;

	return other->state != GSB_EMU_NODE_FREE && (other->func != f || other->frame != frame) &&
	       other->frame < frame + funcs[f].frame_bytes &&
	       frame < other->frame + funcs[other->func].frame_bytes;
}

/*
 * Where the rows of function @f may lie: at @frame, behind its caller's, or farther on. Lanes that are in one function
 * share its rows, for each has its part of each row. Those of two functions differ in width, and where lanes of both
 * are under way a lane of one would lie over other lanes of the other.
 */
static uint32_t free_frame(const struct gsb_emu_exec *x, uint32_t f, uint32_t frame, uint32_t lanes)
{
	const struct gsb_emu_warp *w = x->warp;
	uint16_t n = 0;

	if (lanes == w->live) /* all others are its callers */
		return frame;
	while (n < w->n_nodes) {
		const struct gsb_emu_node *other = &w->nodes[n++];

		if (!is_over(x, other, f, frame))
			continue;
		frame = other->frame + x->block->code->funcs[other->func].frame_bytes;
		n = 0;
	}
	return frame;
}

/* Make node @n, a child of call node @call, a split of @lanes at the start of function @f. */
static bool call_split(struct gsb_emu_exec *x, uint16_t call, uint16_t n, uint32_t f,
		       uint32_t lanes)
{
	struct gsb_emu_warp *w = x->warp;
	const struct gsb_emu_func *func = &x->block->code->funcs[f];
	uint32_t frame = free_frame(x, f, w->nodes[call].frame + x->op->c, lanes);
	uint32_t local = w->nodes[call].local + (uint32_t)x->op->imm;

	if ((uint64_t)local + func->local_bytes > gsb_emu_stack_end(x, lanes) ||
	    frame + func->frame_bytes > GSB_EMU_MAX_ROWS)
		return overflow(x);
	if (n == GSB_EMU_NODE_NONE || !rows_reserve(x, frame + func->frame_bytes)) {
		gsb_emu_no_memory(x);
		return false;
	}
	w->nodes[n] = (struct gsb_emu_node){
		.mask = lanes,
		.pc = func->entry,
		.func = f,
		.frame = frame,
		.local = local,
		.parent = call,
		.state = GSB_EMU_NODE_RUN,
	};
	w->nodes[call].children++;
	return true;
}

/* The callee begins; a quantum is looked at here, for recursion has no backward branch. */
static const struct gsb_emu_op *call_enter(struct gsb_emu_exec *x)
{
	gsb_emu_settle(x);
	gsb_emu_count_lanes(x);
	if (x->n_insns >= x->limit)
		return gsb_emu_stop(x, GSB_EMU_STOP_SLICE);
	gsb_emu_enter(x, x->warp->current);
	return x->op;
}

GSB_EMU_HANDLER(gsb_emu_do_CALL)
{
	uint16_t call = call_node(x, gsb_emu_index_of(x, op) + 1);

	if (call == GSB_EMU_NODE_NONE)
		return gsb_emu_no_memory(x);
	if (!call_split(x, call, x->warp->current, op->d, mask))
		return NULL;
	return call_enter(x);
}

/* The function at an address, or NONE. */
static uint32_t func_at(const struct gsb_emu_code *code, uint64_t addr)
{
	uint64_t i = addr - GSB_EMU_CODE_WINDOW;

	if (i % GSB_EMU_CODE_STEP || i / GSB_EMU_CODE_STEP - 1 >= code->module->n_funcs)
		return GSB_EMU_NONE;
	return code->func_of[i / GSB_EMU_CODE_STEP - 1];
}

GSB_EMU_HANDLER(gsb_emu_do_CALL_ADDRESS)
{
	const uint64_t *row = (const void *)(r + op->a);
	uint64_t target[GSB_EMU_LANES];
	uint16_t call, n = x->warp->current;
	uint32_t left = mask;

	memcpy(target, row, sizeof(target)); /* rows may move */
	call = call_node(x, gsb_emu_index_of(x, op) + 1);
	if (call == GSB_EMU_NODE_NONE)
		return gsb_emu_no_memory(x);
	while (left) {
		uint64_t at = target[__builtin_ctz(left)];
		uint32_t f = func_at(x->block->code, at), same = 0;

		for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
			same |= (uint32_t)(target[i] == at) << i;
		if (f == GSB_EMU_NONE) {
			x->mask = same & left;
			return gsb_emu_fail(x, CUDA_ERROR_INVALID_PC, at,
					    "call of 0x%llx, which is no function",
					    (unsigned long long)at);
		}
		if (!call_split(x, call, n, f, same & left))
			return NULL;
		left &= ~same;
		n = left ? gsb_emu_node_new(x->warp) : n;
	}
	return call_enter(x);
}

GSB_EMU_HANDLER(gsb_emu_do_PROLOGUE)
{
	const struct gsb_emu_func *f = &x->block->code->funcs[op->d];
	const struct gsb_emu_const *c = x->block->code->consts + f->first_const;

	for (uint32_t k = 0; k < f->n_consts; k++, c++)
		gsb_emu_const_fill(r, c, mask);
	return op + 1;
}

static const struct gsb_emu_op *lanes_left(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					   uint32_t gone)
{
	uint32_t stay = x->split_mask & ~gone;

	if (!stay)
		return gsb_emu_vanish(x);
	gsb_emu_set_mask(x, stay);
	return op + 1;
}

static const struct gsb_emu_op *exit_lanes(struct gsb_emu_exec *x, const struct gsb_emu_op *op,
					   uint32_t mask)
{
	const struct gsb_emu_op *next;

	if (!gsb_emu_async_leave(x, mask))
		return NULL;
	x->warp->live &= ~mask;
	x->block->live_threads -= gsb_emu_count(mask);
	next = lanes_left(x, op, mask);
	gsb_emu_sync_recheck(x);
	gsb_emu_barrier_recheck(x->block);
	return next;
}

GSB_EMU_HANDLER(gsb_emu_do_EXIT)
{
	return exit_lanes(x, op, mask);
}

GSB_EMU_HANDLER(gsb_emu_do_RET)
{
	struct gsb_emu_warp *w = x->warp;
	uint16_t n = gsb_emu_node_of(x)->parent;

	while (n != GSB_EMU_NODE_NONE && !w->nodes[n].is_call)
		n = w->nodes[n].parent;
	if (n == GSB_EMU_NODE_NONE)
		return exit_lanes(x, op, mask);
	gsb_emu_arrive(x, n, mask);
	return lanes_left(x, op, mask);
}

GSB_EMU_HANDLER(gsb_emu_do_TRAP)
{
	return gsb_emu_fail(x, CUDA_ERROR_LAUNCH_FAILED, 0, "trap");
}

GSB_EMU_HANDLER(gsb_emu_do_NANOSLEEP)
{
	const uint32_t *row = (const void *)(r + op->a);

	x->block->stats.sleep_ns += row[__builtin_ctz(mask)];
	gsb_emu_leave(x, gsb_emu_index_of(x, op) + 1);
	return gsb_emu_stop(x, GSB_EMU_STOP_SLEEP);
}

GSB_EMU_HANDLER(gsb_emu_do_NOP)
{
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_FENCE)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return op + 1;
}

GSB_EMU_HANDLER(gsb_emu_do_PRINT)
{
	return gsb_emu_print(x, op, mask);
}

GSB_EMU_HANDLER(gsb_emu_do_ASSERT_FAIL)
{
	return gsb_emu_assert_fail(x, op, mask);
}
