/*
 * select.c - which row of forms.def carries an instruction: by opcode, types and what its modifiers come
 * to, the key.
 */
#include "device/emu/lower/select.h"

#include "device/emu/code/code.h"

#define ANY	UINT64_MAX
#define RND(w)	GSB_EMU_KEY_RND(GSB_PTX_RND_##w)
#define MUL(w)	GSB_EMU_KEY_WORD(GSB_PTX_MUL_##w)
#define CMP(w)	GSB_EMU_KEY_WORD(GSB_PTX_CMP_##w)
#define MODE(w) GSB_EMU_KEY_WORD(GSB_PTX_MODE_##w)
#define FL(f)	((uint64_t)GSB_PTX_F_##f)
#define T(t)	(UINT64_C(1) << GSB_PTX_TYPE_##t)
#define I16	(T(U16) | T(S16))
#define I32	(T(U32) | T(S32))
#define I64	(T(U64) | T(S64))
#define N32	(T(U8) | T(S8) | I16 | I32 | T(F16) | T(BF16) | T(TF32) | T(F32))
#define N64	(I64 | T(F64))

enum lane_bytes {
	BYTES_u8 = 4,
	BYTES_s8 = 4,
	BYTES_u16 = 4,
	BYTES_s16 = 4,
	BYTES_u32 = 4,
	BYTES_s32 = 4,
	BYTES_f32 = 4,
	BYTES_u64 = 8,
	BYTES_s64 = 8,
	BYTES_f64 = 8,
	BYTES_u128 = 16,
	BYTES_f16 = 4,
	BYTES_bf16 = 4,
	BYTES_p = 0,
};

#define ROW(id, op, t1, t2, key, n, d, a, b, c, e) \
	{GSB_EMU_FORM_##id,                        \
	 GSB_PTX_OP_##op,                          \
	 t1,                                       \
	 t2,                                       \
	 key,                                      \
	 n,                                        \
	 BYTES_##d,                                \
	 {BYTES_##a, BYTES_##b, BYTES_##c, BYTES_##e}},

static const struct gsb_emu_form_row rows[] = {
#define GSB_EMU_F1(id, op, t1, t2, k, D, A, x)		ROW(id, op, t1, t2, k, 1, D, A, A, A, A)
#define GSB_EMU_F2(id, op, t1, t2, k, D, A, B, x)	ROW(id, op, t1, t2, k, 2, D, A, B, B, B)
#define GSB_EMU_F3(id, op, t1, t2, k, D, A, B, C, x)	ROW(id, op, t1, t2, k, 3, D, A, B, C, C)
#define GSB_EMU_F4(id, op, t1, t2, k, D, A, B, C, E, x) ROW(id, op, t1, t2, k, 4, D, A, B, C, E)
#define GSB_EMU_CMP(id, op, t1, k, A, n, x)		ROW(id, op, t1, 0, k, n, p, A, A, A, A)
#define GSB_EMU_CARRY(id, op, t1, k, D, n, x)		ROW(id, op, t1, 0, k, n, D, D, D, D, D)
#include "device/emu/code/forms.def"
};

/* Operations of a float round to nearest when nothing is written. */
static bool rounds(const struct gsb_ptx_insn *in)
{
	bool is_float = gsb_ptx_type_is_float(in->type[0]);

	switch (in->op) {
	case GSB_PTX_OP_ADD:
	case GSB_PTX_OP_SUB:
	case GSB_PTX_OP_MUL:
	case GSB_PTX_OP_MAD: return is_float;
	case GSB_PTX_OP_DIV:
	case GSB_PTX_OP_RCP:
	case GSB_PTX_OP_SQRT: return is_float && !(in->flags & (GSB_PTX_F_APPROX | GSB_PTX_F_FULL));
	default: return false;
	}
}

/* Comparisons of unsigned numbers have two names. */
static unsigned int plain_cmp(unsigned int cmp)
{
	switch (cmp) {
	case GSB_PTX_CMP_LO: return GSB_PTX_CMP_LT;
	case GSB_PTX_CMP_LS: return GSB_PTX_CMP_LE;
	case GSB_PTX_CMP_HI: return GSB_PTX_CMP_GT;
	case GSB_PTX_CMP_HS: return GSB_PTX_CMP_GE;
	default: return cmp;
	}
}

/* What does not change a result is left out, so that it needs no row. */
static uint64_t key_of(const struct gsb_ptx_insn *in)
{
	unsigned int word = in->mul ? in->mul : in->cmp ? plain_cmp(in->cmp) : in->mode;
	unsigned int rnd = in->rnd;
	uint64_t key = in->flags;

	if (!rnd && rounds(in))
		rnd = GSB_PTX_RND_RN;
	if (in->op == GSB_PTX_OP_SUB || in->op == GSB_PTX_OP_ADD || in->op == GSB_PTX_OP_MUL ||
	    in->op == GSB_PTX_OP_MAD || in->op == GSB_PTX_OP_FMA || in->op == GSB_PTX_OP_MIN ||
	    in->op == GSB_PTX_OP_MAX || in->op == GSB_PTX_OP_ABS || in->op == GSB_PTX_OP_NEG)
		key &= ~(in->type[0] == GSB_PTX_TYPE_F64 ? FL(FTZ) : 0);
	if (in->op == GSB_PTX_OP_CVT) {
		key |= GSB_EMU_KEY_TO(in->type[0]) | GSB_EMU_KEY_FROM(in->type[1]);
		if (in->type[0] == GSB_PTX_TYPE_F32 || in->type[0] == GSB_PTX_TYPE_F64)
			rnd = !rnd && in->type[0] != in->type[1] && in->type[1] != GSB_PTX_TYPE_F32
				      ? GSB_PTX_RND_RN
				      : rnd;
	}
	return key | GSB_EMU_KEY_RND(rnd) | GSB_EMU_KEY_WORD(word);
}

static bool row_fits(const struct gsb_emu_form_row *row, const struct gsb_ptx_insn *in,
		     uint64_t key)
{
	uint64_t types = GSB_EMU_KEY_TO(0xff) | GSB_EMU_KEY_FROM(0xff);

	return row->op == in->op && row->types & UINT64_C(1) << in->type[0] &&
	       (!row->types2 || row->types2 & UINT64_C(1) << in->type[1]) &&
	       (row->key == ANY || row->key == (key & ~types));
}

const struct gsb_emu_form_row *gsb_emu_select(const struct gsb_ptx_insn *insn, uint64_t *key)
{
	*key = key_of(insn);
	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		if (row_fits(&rows[i], insn, *key))
			return &rows[i];
	}
	return NULL;
}

/* ---- memory ---- */

struct memory_form {
	uint16_t form;
	uint64_t types;
	uint32_t bytes;
};

static uint32_t memory_form(const struct memory_form *form, size_t n, enum gsb_ptx_type type,
			    uint32_t bytes)
{
	for (size_t i = 0; i < n; i++, form++) {
		if (form->types & UINT64_C(1) << type && form->bytes == bytes)
			return form->form;
	}
	return GSB_EMU_NONE;
}

uint32_t gsb_emu_select_load(enum gsb_ptx_type type, uint32_t lane_bytes)
{
	static const struct memory_form loads[] = {
#define GSB_EMU_LOAD(id, types, M, D) {GSB_EMU_FORM_##id, types, BYTES_##D},
#include "device/emu/code/forms.def"
	};

	return memory_form(loads, GSB_ARRAY_LEN(loads), type, lane_bytes);
}

uint32_t gsb_emu_select_store(enum gsb_ptx_type type, uint32_t lane_bytes)
{
	static const struct memory_form stores[] = {
#define GSB_EMU_STORE(id, types, M, A) {GSB_EMU_FORM_##id, types, BYTES_##A},
#include "device/emu/code/forms.def"
	};

	return memory_form(stores, GSB_ARRAY_LEN(stores), type, lane_bytes);
}

uint32_t gsb_emu_select_atom(enum gsb_ptx_word sub, enum gsb_ptx_type type)
{
	static const struct {
		uint16_t form, sub;
		uint64_t types;
	} atoms[] = {
#define GSB_EMU_ATOM(id, sub, types, T_, expr) {GSB_EMU_FORM_##id, GSB_PTX_SUB_##sub, types},
#include "device/emu/code/forms.def"
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(atoms); i++) {
		if (atoms[i].sub == sub && atoms[i].types & UINT64_C(1) << type)
			return atoms[i].form;
	}
	return GSB_EMU_NONE;
}
