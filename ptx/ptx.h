/*
 * ptx.h - a PTX module as data: what the parser makes, what the analyses, the interpreter, the
 * rewriter and the printer read.
 *
 * Everything hangs in one arena that the module owns: no member is freed alone, every pointer below
 * lives until gsb_ptx_module_destroy(). Registers are dense indices into func->regs, labels into
 * func->labels; scopes are resolved, so that two registers of one name in different { } are two
 * indices. What is here has been checked: operands have the number, kind and width that ops.def
 * asks for; symbols and labels exist; a reader needs no check of its own.
 *
 * An opcode, modifier, type, special register or directive that is not known does not spoil the module:
 * the instruction that uses it, or stands for it, has op GSB_PTX_OP_UNSUPPORTED and its text, and
 * func->unsupported says so. It is for the caller to refuse such a kernel when it is launched.
 */
#ifndef GSB_PTX_PTX_H
#define GSB_PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Limits on the text, which a tenant wrote; over one of them gsb_ptx_parse() says which.
 */
#define GSB_PTX_MAX_TEXT_BYTES	 ((size_t)64 << 20)
#define GSB_PTX_MAX_ARENA_BYTES	 ((size_t)1 << 30)
#define GSB_PTX_MAX_TOKENS	 ((uint32_t)1 << 24)
#define GSB_PTX_MAX_SYMBOLS	 ((uint32_t)1 << 20) /* named things of a module, of all scopes */
#define GSB_PTX_MAX_FUNCS	 ((uint32_t)1 << 14)
#define GSB_PTX_MAX_CALL_TARGETS 256		     /* of one .calltargets */
#define GSB_PTX_MAX_REGS	 ((uint32_t)1 << 20) /* of one function */
#define GSB_PTX_MAX_INSNS	 ((uint32_t)1 << 22) /* of one function */
#define GSB_PTX_MAX_NESTING	 32		     /* { } scopes, and { } of an initialiser */
#define GSB_PTX_MAX_OPERANDS	 8		     /* of one instruction; calls apart */
#define GSB_PTX_MAX_VECTOR	 8
#define GSB_PTX_MAX_PARAMS	 4096
#define GSB_PTX_MAX_VAR_BYTES	 ((uint64_t)1 << 32)  /* one variable without an initialiser */
#define GSB_PTX_MAX_INIT_BYTES	 ((uint64_t)64 << 20) /* one variable with one */
#define GSB_PTX_MAX_FRAME_BYTES \
	((uint64_t)1 << 24)			   /* .local, or .param locals, of one function \
						      */
#define GSB_PTX_MAX_PARAM_BYTES	 ((uint64_t)32764) /* of an entry */
#define GSB_PTX_MAX_ALIGN	 ((uint64_t)1 << 10)
#define GSB_PTX_ERROR_TEXT_BYTES 480

#define GSB_PTX_NONE UINT32_MAX /* "no register", "no instruction" */

enum gsb_ptx_op {
	GSB_PTX_OP_UNSUPPORTED,
#define GSB_PTX_OP(id, ...) GSB_PTX_OP_##id,
#include "ptx/ops.def"
	GSB_PTX_N_OPS,
};

enum gsb_ptx_class {
	GSB_PTX_CLASS_UNSUPPORTED,
	GSB_PTX_CLASS_ALU,
	GSB_PTX_CLASS_CMP,
	GSB_PTX_CLASS_MOV,
	GSB_PTX_CLASS_CVT,
	GSB_PTX_CLASS_MEM,
	GSB_PTX_CLASS_ATOM,
	GSB_PTX_CLASS_TEX,
	GSB_PTX_CLASS_FENCE,
	GSB_PTX_CLASS_BARRIER,
	GSB_PTX_CLASS_WARP,
	GSB_PTX_CLASS_BRANCH,
	GSB_PTX_CLASS_CALL,
	GSB_PTX_CLASS_LEAVE,
	GSB_PTX_CLASS_MISC,
	GSB_PTX_CLASS_ASYNC,
	GSB_PTX_CLASS_MATRIX,
};

/* 0 is "names none" in each of these. */
enum gsb_ptx_type {
	GSB_PTX_TYPE_NONE,
#define GSB_PTX_TYPE(id, spelling, bytes, class) GSB_PTX_TYPE_##id,
#include "ptx/words.def"
	GSB_PTX_N_TYPES,
};

enum gsb_ptx_space {
	GSB_PTX_SPACE_GENERIC,
#define GSB_PTX_SPACE(id, spelling) GSB_PTX_SPACE_##id,
#include "ptx/words.def"
	GSB_PTX_N_SPACES,
};

/* GSB_PTX_RND_RN, GSB_PTX_CMP_LT, GSB_PTX_SUB_ADD, GSB_PTX_MODE_BFLY, GSB_PTX_MUL_WIDE, ...:
 * unique over all fields, so that one table serves them. */
enum gsb_ptx_word {
	GSB_PTX_WORD_NONE,
#define GSB_PTX_WORD(field, id, spelling) GSB_PTX_##field##_##id,
#include "ptx/words.def"
	GSB_PTX_N_WORDS,
};

enum gsb_ptx_flag_bit {
#define GSB_PTX_FLAG(id, spelling) GSB_PTX_FLAG_BIT_##id,
#include "ptx/words.def"
	GSB_PTX_N_FLAGS,
};

enum gsb_ptx_flag { /* bits of insn->flags */
#define GSB_PTX_FLAG(id, spelling) GSB_PTX_F_##id = 1 << GSB_PTX_FLAG_BIT_##id,
#include "ptx/words.def"
};

enum gsb_ptx_sreg {
	GSB_PTX_SREG_NONE,
#define GSB_PTX_SREG(id, spelling, type, kind) GSB_PTX_SREG_##id,
#include "ptx/words.def"
	GSB_PTX_N_SREGS,
};

enum gsb_ptx_linkage {
	GSB_PTX_LINK_LOCAL, /* of this module only */
	GSB_PTX_LINK_VISIBLE,
	GSB_PTX_LINK_EXTERN,
	GSB_PTX_LINK_WEAK,
	GSB_PTX_LINK_COMMON,
};

struct gsb_ptx_func;
struct gsb_ptx_var;

/* An address inside an initialiser: the 8 (or 4) bytes at offset become address-of(target) +
 * addend. */
struct gsb_ptx_reloc {
	uint32_t offset; /* into the variable */
	uint8_t size;	 /* bytes */
	bool generic;  /* generic(sym): the generic address; else the address in the target's space
			*/
	uint64_t mask; /* 0xFF..(sym): the bits taken, as written; 0 = all */
	const struct gsb_ptx_var *var;	 /* one of var, func is set */
	const struct gsb_ptx_func *func; /* a handle that mov and call may use */
	int64_t addend;
};

/*
 * A variable of any state space but .reg: module-level .global .const .shared, a function's .local,
 * .shared and .param locals, an entry's or function's parameters and results.
 */
struct gsb_ptx_var {
	const char *name;
	uint32_t index;	     /* in module->vars, or func->vars, or ->params, ->rets */
	uint8_t space;	     /* enum gsb_ptx_space */
	uint8_t type;	     /* enum gsb_ptx_type, of one element */
	uint8_t linkage;     /* enum gsb_ptx_linkage */
	uint8_t vec;	     /* elements are .v2, .v4; else 1 */
	uint32_t align;	     /* bytes, a power of two; natural when not written */
	uint64_t n_elems;    /* product of the dimensions; 1 for a scalar, 0 for x[] without an
				initialiser */
	uint64_t size_bytes; /* 0 for extern __shared__ x[] */
	bool is_array;
	bool unsized;	 /* declared x[]: dynamic shared memory when in .shared */
	bool managed;	 /* .attribute(.managed) */
	uint64_t offset; /* parameters: in the parameter block. .local, .param locals: in the frame
			  */
	uint32_t reg;	 /* .reg parameter of a .func: its register; else GSB_PTX_NONE */
	const struct gsb_ptx_func *func; /* owner; NULL at module level */
	const uint8_t *init; /* size_bytes bytes, little endian, relocations still 0; NULL = zero */
	const struct gsb_ptx_reloc *relocs;
	uint32_t n_relocs;
	uint32_t line;
};

struct gsb_ptx_reg {
	const char *base; /* name: base, followed by number if that is not GSB_PTX_NONE */
	uint32_t number;
	uint8_t type; /* enum gsb_ptx_type */
};

enum gsb_ptx_operand_kind {
	GSB_PTX_OPERAND_NONE, /* "_": result not wanted */
	GSB_PTX_OPERAND_REG,  /* reg; negated */
	GSB_PTX_OPERAND_PAIR, /* reg|reg2 as a result: p|q of setp, d|p of shfl; either GSB_PTX_NONE
			       */
	GSB_PTX_OPERAND_IMM,  /* imm, form */
	GSB_PTX_OPERAND_SREG, /* sreg, axis */
	GSB_PTX_OPERAND_VAR,  /* address of var, + imm; in a call list: the parameter itself */
	GSB_PTX_OPERAND_FUNC, /* func: address, or call target */
	GSB_PTX_OPERAND_ADDR, /* [reg + imm], [var + imm], [imm]; of textures [reg, elems[n]] */
	GSB_PTX_OPERAND_VEC,  /* elems[n]: REG, IMM, NONE */
	GSB_PTX_OPERAND_LABEL, /* label: index into func->labels */
	GSB_PTX_OPERAND_TABLE, /* table: index into func->tables */
};

enum gsb_ptx_imm_form { /* how an immediate was written; imm has the bits for the instruction's type
			 */
			GSB_PTX_IMM_INT, /* sign-extended to 64 bits */
			GSB_PTX_IMM_F32, /* bits of a float in the low 32 */
			GSB_PTX_IMM_F64, /* bits of a double */
};

struct gsb_ptx_operand {
	uint8_t kind; /* enum gsb_ptx_operand_kind */
	uint8_t form; /* IMM */
	uint8_t sreg; /* SREG */
	uint8_t axis; /* SREG: 0..3 for .x .y .z .w, or the number of %envreg */
	uint8_t n;    /* VEC; ADDR: coordinates, 0 but for textures and surfaces */
	char negated; /* '!' of !p, '-' of -r in vmad; 0 = neither */
	char part;    /* REG of a video instruction: 'b' or 'h' for r.b3210, r.h1; 0 = all of it */
	uint8_t n_parts;
	uint16_t parts; /* their numbers, 4 bits each, the last one written lowest */
	uint32_t reg;	/* REG, PAIR; ADDR: the base register or GSB_PTX_NONE */
	uint32_t reg2;
	uint32_t label;			 /* LABEL */
	uint32_t table;			 /* TABLE */
	int64_t imm;			 /* IMM: the value; ADDR, VAR: the offset */
	const struct gsb_ptx_var *var;	 /* VAR; ADDR: the base or NULL */
	const struct gsb_ptx_func *func; /* FUNC */
	const struct gsb_ptx_operand *elems;
};

/* A .callprototype, or the shape of any function: what an indirect call passes. */
struct gsb_ptx_proto {
	const char *name;
	const struct gsb_ptx_var *rets, *params;
	uint32_t n_rets, n_params;
	bool noreturn;
};

struct gsb_ptx_call {
	struct gsb_ptx_operand target;		   /* FUNC, or REG: indirect */
	const struct gsb_ptx_operand *rets, *args; /* VAR (a .param local), REG, IMM */
	uint32_t n_rets, n_args;
	const struct gsb_ptx_proto *proto; /* indirect, with .callprototype; else NULL */
	uint32_t table; /* indirect, with .calltargets: func->tables; else NONE */
};

struct gsb_ptx_insn {
	uint16_t op;	 /* enum gsb_ptx_op */
	uint16_t row;	 /* of ops.def: the form of the opcode */
	uint8_t type[3]; /* as written: result first (cvt.f32.s32: F32, S32); those not named are as
			    the last that is */
	uint8_t space;	 /* enum gsb_ptx_space */
	uint8_t vec;	 /* 1, 2, 4, 8 */
	uint8_t rnd, cmp, sub, mode, mul, sem, scope; /* enum gsb_ptx_word, or 0 */
	uint8_t n_operands;
	bool guard_negated;		  /* @!p */
	uint32_t guard;			  /* predicate register, or GSB_PTX_NONE */
	uint32_t flags;			  /* enum gsb_ptx_flag */
	struct gsb_ptx_operand *operands; /* results first, in the order written */
	struct gsb_ptx_call *call;	  /* CALL only */
	const char *spelling; /* "add.sat.s32"; UNSUPPORTED: the whole text up to the ';' */
	uint32_t line, column;
};

struct gsb_ptx_label {
	const char *name;
	uint32_t insn; /* index of the instruction it stands before */
};

/* .branchtargets: labels; .calltargets: functions. */
struct gsb_ptx_table {
	const char *name;
	const uint32_t *labels;
	const struct gsb_ptx_func *const *funcs;
	uint32_t n;
};

/* .pragma inside a body; it concerns the instruction after it. */
struct gsb_ptx_pragma {
	uint32_t insn;
	const char *text; /* without the quotes */
};

/* .loc in a body: where the instructions from here to the next one come from. */
struct gsb_ptx_loc {
	uint32_t insn;
	uint32_t file, line; /* file: a number of module->files; line 0: not known */
};

struct gsb_ptx_file {
	uint32_t number;
	const char *name; /* as the text has it: any bytes but a NUL */
};

/* Performance directives; 0 = not given. Axes are x, y, z. */
struct gsb_ptx_tuning {
	uint32_t maxntid[3];
	uint32_t reqntid[3];
	uint32_t minnctapersm;
	uint32_t maxnreg;
	uint32_t reqnctapercluster[3];
	uint32_t maxclusterrank;
	bool explicit_cluster;
	bool blocks_are_clusters;
	bool noreturn;
};

struct gsb_ptx_func {
	const char *name;
	uint32_t index; /* in module->funcs */
	bool is_entry;
	bool has_body; /* false: declared only (vprintf, malloc, ...) */
	uint8_t linkage;
	uint32_t target_sm; /* of the module that its body came from */
	struct gsb_ptx_tuning tuning;

	const struct gsb_ptx_var *params, *rets; /* space PARAM, or REG with ->reg set */
	uint32_t n_params, n_rets;
	uint64_t param_bytes; /* end of the last parameter, not rounded */

	const struct gsb_ptx_reg *regs;
	uint32_t n_regs;
	struct gsb_ptx_var *const *vars; /* declared in the body, all scopes */
	uint32_t n_vars;
	uint64_t local_bytes;	   /* frame of .local variables */
	uint64_t call_param_bytes; /* frame of .param locals */

	struct gsb_ptx_insn *insns;
	uint32_t n_insns;
	const struct gsb_ptx_label *labels;
	uint32_t n_labels;
	const struct gsb_ptx_table *tables;
	uint32_t n_tables;
	const struct gsb_ptx_proto *const *protos;
	uint32_t n_protos;
	const struct gsb_ptx_pragma *pragmas;
	uint32_t n_pragmas;
	const struct gsb_ptx_loc *locs; /* in ascending order of insn, each its own */
	uint32_t n_locs;

	uint32_t unsupported; /* first instruction with op UNSUPPORTED, or GSB_PTX_NONE */
	const struct gsb_ptx_func *alias_of; /* .alias name, target; its body is the one to run */
	uint32_t line;
};

struct gsb_ptx_module {
	struct gsb_arena arena;
	uint32_t version_major, version_minor; /* .version 9.0 */
	const char *target;		       /* "sm_75", options after a comma included */
	uint32_t target_sm;		       /* 75 */
	uint32_t address_bits;		       /* 32 or 64 */
	struct gsb_ptx_func *const *funcs;     /* in order of first mention */
	uint32_t n_funcs;
	struct gsb_ptx_var *const *vars; /* .global, .const, .shared of the module */
	uint32_t n_vars;
	const char *const *pragmas; /* at module level */
	uint32_t n_pragmas;
	const struct gsb_ptx_file *files;
	uint32_t n_files;
	const char *const *unknown; /* items of the module that are not understood, as text */
	uint32_t n_unknown;
	void *names; /* the parser's name table; gsb_ptx_module_find_*() */
};

struct gsb_ptx_error {
	uint32_t line, column;		     /* from 1; 0 = not about a place */
	char text[GSB_PTX_ERROR_TEXT_BYTES]; /* several lines: what, the source line, a caret */
};

/* Where another module begins in linked text (texts.h), from its .version on; NULL: there is one only. */
const char *gsb_ptx_next_unit(const char *text, size_t len);
/* How many there are, this one included. */
unsigned gsb_ptx_count_units(const char *text, size_t len);

/**
 * gsb_ptx_parse() - make a module of PTX text
 * @text, @len: the text; needs no NUL, stops at one
 * @out:  the module, for gsb_ptx_module_destroy(); written only on success
 * @err:  filled on failure, may be NULL
 *
 * Context: any thread, no globals; allocates up to GSB_PTX_MAX_ARENA_BYTES.
 * Return:  0, -EILSEQ (not PTX, or over a limit above: see @err), -ENOMEM.
 */
int gsb_ptx_parse(const char *text, size_t len, struct gsb_ptx_module **out,
		  struct gsb_ptx_error *err);

void gsb_ptx_module_destroy(struct gsb_ptx_module *m);

/* By name, NULL when there is none. find_func looks through aliases: what is returned has the body.
 */
const struct gsb_ptx_func *gsb_ptx_find_func(const struct gsb_ptx_module *m, const char *name);
const struct gsb_ptx_var *gsb_ptx_find_var(const struct gsb_ptx_module *m, const char *name);

/*
 * The line of the compiler's input that instruction @insn of @f comes from, by its debug lines; 0 when they do
 * not say. *file: as written there, never NULL; "" when it has no name.
 */
uint32_t gsb_ptx_source_line(const struct gsb_ptx_module *m, const struct gsb_ptx_func *f,
			     uint32_t insn, const char **file);

/* What ops.def and words.def say. Spellings are without the dot; "" for 0. */
const char *gsb_ptx_op_name(enum gsb_ptx_op op);
enum gsb_ptx_class gsb_ptx_op_class(enum gsb_ptx_op op);
const char *gsb_ptx_insn_shape(const struct gsb_ptx_insn *insn);
/* Of an unsupported instruction: what it is and what to do without it; NULL when nothing is known of it. */
const char *gsb_ptx_refused_what(const char *spelling);
/* How much of the text of an unsupported instruction tells what is not known: its opcode; all of it when that is
 * known, and what it names is not, when it begins with a guard that is not, or when it is a directive. */
size_t gsb_ptx_unknown_len(const char *spelling);
const char *gsb_ptx_type_name(enum gsb_ptx_type type);
uint32_t gsb_ptx_type_bytes(enum gsb_ptx_type type);
bool gsb_ptx_type_is_float(enum gsb_ptx_type type);
bool gsb_ptx_type_is_signed(enum gsb_ptx_type type);
const char *gsb_ptx_space_name(enum gsb_ptx_space space);
const char *gsb_ptx_word_name(enum gsb_ptx_word word);
enum gsb_ptx_sreg_kind {
	GSB_PTX_SREG_NUMBERED = 0,
	GSB_PTX_SREG_SCALAR = 1,
	GSB_PTX_SREG_AXES = 3
};
enum gsb_ptx_sreg_kind gsb_ptx_sreg_kind(enum gsb_ptx_sreg sreg);
const char *gsb_ptx_sreg_name(enum gsb_ptx_sreg sreg); /* "%tid", without the axis */
enum gsb_ptx_type gsb_ptx_sreg_type(enum gsb_ptx_sreg sreg);

/* Called for every register that an instruction reads or writes, guard included (a use). */
typedef void gsb_ptx_reg_fn(void *ctx, uint32_t reg);

/*
 * The registers an instruction writes, then those it reads. A guarded instruction may leave what it
 * writes as it was. Calls: results are in call->rets.
 */
void gsb_ptx_insn_each_def(const struct gsb_ptx_insn *insn, gsb_ptx_reg_fn *fn, void *ctx);
void gsb_ptx_insn_each_use(const struct gsb_ptx_insn *insn, gsb_ptx_reg_fn *fn, void *ctx);

#endif
