/*
 * ops.h - the rows of ops.def and words.def as tables: private to ptx/. Readers of a module use the
 * names in ptx.h.
 */
#ifndef GSB_PTX_OPS_H
#define GSB_PTX_OPS_H

#include "ptx/ptx.h"

#define GSB_PTX_TYPE_BIT(t) (UINT64_C(1) << GSB_PTX_TYPE_##t)

/* What ops.def calls the sets of types. */
#define T_PRED	 GSB_PTX_TYPE_BIT(PRED)
#define T_B32	 GSB_PTX_TYPE_BIT(B32)
#define T_B64	 GSB_PTX_TYPE_BIT(B64)
#define T_B32_64 (T_B32 | T_B64)
#define T_B16_64 (T_B32_64 | GSB_PTX_TYPE_BIT(B16))
#define T_B128	 GSB_PTX_TYPE_BIT(B128)
#define T_U32	 GSB_PTX_TYPE_BIT(U32)
#define T_U32_64 (T_U32 | GSB_PTX_TYPE_BIT(U64))
#define T_S32	 GSB_PTX_TYPE_BIT(S32)
#define T_S16_64 (GSB_PTX_TYPE_BIT(S16) | T_S32 | GSB_PTX_TYPE_BIT(S64))
#define T_I32	 (T_U32 | T_S32)
#define T_I32_64 (T_I32 | GSB_PTX_TYPE_BIT(U64) | GSB_PTX_TYPE_BIT(S64))
#define T_I16_64 (T_I32_64 | GSB_PTX_TYPE_BIT(U16) | GSB_PTX_TYPE_BIT(S16))
#define T_I8_64	 (T_I16_64 | GSB_PTX_TYPE_BIT(U8) | GSB_PTX_TYPE_BIT(S8))
#define T_F16	 (GSB_PTX_TYPE_BIT(F16) | GSB_PTX_TYPE_BIT(BF16))
#define T_F32	 GSB_PTX_TYPE_BIT(F32)
#define T_F	 (T_F32 | GSB_PTX_TYPE_BIT(F64))
#define T_LDST	 (T_I8_64 | T_B16_64 | T_F | T_F16 | GSB_PTX_TYPE_BIT(B8) | T_B128)
#define T_ATOM	 (T_I32_64 | T_B16_64 | T_B128 | T_F | T_F16 | T_16X2)
#define T_I16	 (GSB_PTX_TYPE_BIT(U16) | GSB_PTX_TYPE_BIT(S16))
#define T_I16_32 (T_I16 | T_I32)
#define T_I16X2	 (GSB_PTX_TYPE_BIT(U16X2) | GSB_PTX_TYPE_BIT(S16X2))
#define T_I2_8                                                                \
	(GSB_PTX_TYPE_BIT(U2) | GSB_PTX_TYPE_BIT(S2) | GSB_PTX_TYPE_BIT(U4) | \
	 GSB_PTX_TYPE_BIT(S4) | GSB_PTX_TYPE_BIT(U8) | GSB_PTX_TYPE_BIT(S8))
#define T_F16X2	 GSB_PTX_TYPE_BIT(F16X2)
#define T_HALF	 (GSB_PTX_TYPE_BIT(F16) | T_F16X2)
#define T_BFLOAT (GSB_PTX_TYPE_BIT(BF16) | GSB_PTX_TYPE_BIT(BF16X2))
#define T_16X2	 (T_F16X2 | GSB_PTX_TYPE_BIT(BF16X2))
#define T_8X2	 (GSB_PTX_TYPE_BIT(E4M3X2) | GSB_PTX_TYPE_BIT(E5M2X2))
#define T_TF32	 GSB_PTX_TYPE_BIT(TF32)
#define T_TEXEL	 (T_I32 | T_F32)
#define T_TEXPOS (T_S32 | T_F32) /* coordinates */
#define T_SURF	 (GSB_PTX_TYPE_BIT(B8) | T_B16_64)

/* Fields that a modifier may set: one bit each, and R() for those that must be set. */
enum gsb_ptx_field {
	GSB_PTX_FIELD_RND,
	GSB_PTX_FIELD_CMP,
	GSB_PTX_FIELD_SUB,
	GSB_PTX_FIELD_MODE,
	GSB_PTX_FIELD_MUL,
	GSB_PTX_FIELD_SEM,
	GSB_PTX_FIELD_SCOPE,
	GSB_PTX_FIELD_SPACE,
	GSB_PTX_FIELD_VEC,
	GSB_PTX_FIELD_HINT,
	GSB_PTX_FIELD_ONLY_RN, /* beside RND */
	GSB_PTX_FIELD_TYPE3,
	GSB_PTX_FIELD_FLAGS, /* first of the flags, in the order of words.def */
};

#define GSB_PTX_FIELD_BIT(f)	  (UINT64_C(1) << GSB_PTX_FIELD_##f)
#define GSB_PTX_FIELD_FLAG_BIT(f) (UINT64_C(1) << (GSB_PTX_FIELD_FLAGS + GSB_PTX_FLAG_BIT_##f))

#define M_RND	    GSB_PTX_FIELD_BIT(RND)
#define M_CMP	    GSB_PTX_FIELD_BIT(CMP)
#define M_SUB	    GSB_PTX_FIELD_BIT(SUB)
#define M_MODE	    GSB_PTX_FIELD_BIT(MODE)
#define M_MUL	    GSB_PTX_FIELD_BIT(MUL)
#define M_SEM	    GSB_PTX_FIELD_BIT(SEM)
#define M_SCOPE	    GSB_PTX_FIELD_BIT(SCOPE)
#define M_SPACE	    GSB_PTX_FIELD_BIT(SPACE)
#define M_VEC	    GSB_PTX_FIELD_BIT(VEC)
#define M_HINT	    GSB_PTX_FIELD_BIT(HINT)
#define M_RN	    (M_RND | GSB_PTX_FIELD_BIT(ONLY_RN))
#define M_TYPE3	    GSB_PTX_FIELD_BIT(TYPE3)
#define M_SAT	    GSB_PTX_FIELD_FLAG_BIT(SAT)
#define M_FTZ	    GSB_PTX_FIELD_FLAG_BIT(FTZ)
#define M_APPROX    GSB_PTX_FIELD_FLAG_BIT(APPROX)
#define M_FULL	    GSB_PTX_FIELD_FLAG_BIT(FULL)
#define M_CC	    GSB_PTX_FIELD_FLAG_BIT(CC)
#define M_UNI	    GSB_PTX_FIELD_FLAG_BIT(UNI)
#define M_ALIGNED   GSB_PTX_FIELD_FLAG_BIT(ALIGNED)
#define M_SYNC	    GSB_PTX_FIELD_FLAG_BIT(SYNC)
#define M_TO	    GSB_PTX_FIELD_FLAG_BIT(TO)
#define M_SHIFTAMT  GSB_PTX_FIELD_FLAG_BIT(SHIFTAMT)
#define M_CLAMP	    GSB_PTX_FIELD_FLAG_BIT(CLAMP)
#define M_WRAP	    GSB_PTX_FIELD_FLAG_BIT(WRAP)
#define M_NC	    GSB_PTX_FIELD_FLAG_BIT(NC)
#define M_MMIO	    GSB_PTX_FIELD_FLAG_BIT(MMIO)
#define M_NOFTZ	    GSB_PTX_FIELD_FLAG_BIT(NOFTZ)
#define M_NANPROP   GSB_PTX_FIELD_FLAG_BIT(NANPROP)
#define M_RELU	    GSB_PTX_FIELD_FLAG_BIT(RELU)
#define M_SATFINITE GSB_PTX_FIELD_FLAG_BIT(SATFINITE)
#define M_XORSIGN   GSB_PTX_FIELD_FLAG_BIT(XORSIGN)
#define M_ABS	    GSB_PTX_FIELD_FLAG_BIT(ABS)
#define M_POLICY    GSB_PTX_FIELD_FLAG_BIT(POLICY)
#define M_B1024	    GSB_PTX_FIELD_FLAG_BIT(B1024)
#define M_PO	    GSB_PTX_FIELD_FLAG_BIT(PO)
#define M_SHR7	    GSB_PTX_FIELD_FLAG_BIT(SHR7)
#define M_SHR15	    GSB_PTX_FIELD_FLAG_BIT(SHR15)

#define GSB_PTX_SHAPE_MAX 8 /* letters of a row, the NUL included */

struct gsb_ptx_op_row {
	const char *name; /* of an opcode's own row */
	char shape[GSB_PTX_SHAPE_MAX];
	uint8_t class;		 /* enum gsb_ptx_class */
	uint16_t op;		 /* enum gsb_ptx_op */
	uint64_t types, types2;	 /* sets of 1 << enum gsb_ptx_type; 0 = the opcode names none */
	uint64_t fields, needed; /* sets of 1 << enum gsb_ptx_field */
};

/* Each opcode's own row at its number, then the further forms. */
extern const struct gsb_ptx_op_row gsb_ptx_op_rows[];
extern const unsigned int gsb_ptx_n_op_rows;

/*
 * The opcode that a spelling begins with, words separated by dots: the longest that is in the
 * table. *used: how many characters it takes. GSB_PTX_OP_UNSUPPORTED when there is none.
 */
enum gsb_ptx_op gsb_ptx_op_lookup(const char *spelling, size_t len, size_t *used);

/*
 * gsb_ptx_insn_decode() - opcode, types and modifiers of a spelling into the fields of an
 * instruction Return: true; false when a word or a type is not in the table, or one is missing, and
 * then
 * @insn->op is UNSUPPORTED and nothing else is set.
 */
bool gsb_ptx_insn_decode(const char *spelling, size_t len, struct gsb_ptx_insn *insn);

enum gsb_ptx_type gsb_ptx_type_lookup(const char *word, size_t len);
enum gsb_ptx_space gsb_ptx_space_lookup(const char *word, size_t len);
/* Takes "%tid.x", "%laneid", "%envreg3"; false when there is none of that name. */
bool gsb_ptx_sreg_lookup(const char *word, size_t len, uint8_t *sreg, uint8_t *axis);

/* By letter of a shape: is it a result? */
bool gsb_ptx_shape_is_def(char letter);

/* It asks for the other blocks of its cluster: waits for them, or names their shared memory. Special registers are operands. */
bool gsb_ptx_insn_is_of_cluster(const struct gsb_ptx_insn *insn);

#endif
