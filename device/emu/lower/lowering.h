/*
 * lowering.h - the state of one lowering, and its primitives: ops, lists, rows, errors. All other files
 * of lower/ stand on it.
 *
 * Errors stick: after the first, emitting does nothing that matters and the driver stops at the end of
 * the instruction, so that the many small steps need no check each.
 */
#ifndef GSB_DEVICE_EMU_LOWER_LOWERING_H
#define GSB_DEVICE_EMU_LOWER_LOWERING_H

#include "device/emu/code/code.h"
#include "ptx/cfg.h"

#define GSB_EMU_CONST_BUCKETS 4096 /* a frame has room for 262,144 constants */
#define GSB_EMU_MAX_TEMPS     16

/* An op's field that becomes the op of an instruction when all of the function is there. */
struct gsb_emu_fixup {
	enum { GSB_EMU_FIX_D, GSB_EMU_FIX_E, GSB_EMU_FIX_LIST } field;
	uint32_t at;   /* op, or place in the lists */
	uint32_t insn; /* n_insns: the end */
};

struct gsb_emu_lowering {
	struct gsb_emu_code *code;
	const uint64_t *var_addr;
	char *log;
	size_t log_size;
	int err;

	struct gsb_emu_op *ops; /* grow; copied into the code at the end, as are lists and consts */
	const struct gsb_ptx_insn **origin;
	uint32_t n_ops, cap_ops;
	uint32_t *lists;
	uint32_t n_lists, cap_lists;
	struct gsb_emu_const *consts;
	uint32_t n_consts, cap_consts;

	/* of the function at hand */
	struct gsb_arena scratch;
	const struct gsb_ptx_func *func;
	uint32_t nth; /* in code->funcs */
	struct gsb_ptx_cfg cfg;
	uint32_t *rows;	   /* by register */
	bool *is_read;	   /* likewise: some instruction does */
	uint32_t *insn_op; /* by instruction, and the end */
	bool *is_join;	   /* by instruction, and the end */
	uint32_t frame_end;
	uint32_t locals_base, call_params_base; /* in the local frame */
	uint32_t *area;	      /* likewise: each of its results, then of its parameters */
	uint32_t *const_next; /* chains by hash; by const - first_const */
	uint32_t cap_const_next;
	uint32_t const_head[GSB_EMU_CONST_BUCKETS];
	struct gsb_emu_fixup *fixups;
	uint32_t n_fixups, cap_fixups;
	uint32_t stack_row; /* where the stack ended when the function began; NONE: it takes none */
	uint32_t temps[GSB_EMU_MAX_TEMPS];
	uint32_t n_temps, used_temps;

	/* of the instruction at hand */
	const struct gsb_ptx_insn *insn;
	uint32_t post_form, post_d, post_a; /* op to emit behind it; post_form 0 = none */
};

/* What is refused, by name; the first refusal counts. */
void gsb_emu_lower_fail(struct gsb_emu_lowering *l, int err, const char *fmt, ...) GSB_PRINTF(3, 4);
void gsb_emu_lower_no_memory(struct gsb_emu_lowering *l);
/* The instruction at hand is refused, by its spelling. */
void gsb_emu_not_carried(struct gsb_emu_lowering *l);

/* The next op. It counts as the instruction's when @main. Never NULL; valid until the next is asked for. */
struct gsb_emu_op *gsb_emu_emit(struct gsb_emu_lowering *l, unsigned int form, bool main);
void gsb_emu_fix(struct gsb_emu_lowering *l, int field, uint32_t at, uint32_t insn);
/* Room for @n entries; -> the first. */
uint32_t gsb_emu_list_new(struct gsb_emu_lowering *l, uint32_t n);

/* Rows: of a constant, for the moment. bytes: of a lane, 0 = predicate (constants only). */
uint32_t gsb_emu_const_row(struct gsb_emu_lowering *l, uint64_t value, uint32_t bytes);
uint32_t gsb_emu_temp_row(struct gsb_emu_lowering *l);
/* A row of so many bytes for the whole function. */
uint32_t gsb_emu_new_row(struct gsb_emu_lowering *l, uint32_t bytes);

static inline const struct gsb_ptx_func *gsb_emu_body_of(const struct gsb_ptx_func *f)
{
	return f && f->alias_of ? f->alias_of : f;
}

#endif
