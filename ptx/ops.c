/*
 * ops.c - see ops.h. The tables of ops.def and words.def, and what reads them: names, look-up of
 * spellings, decoding of modifiers, and which operands an instruction writes.
 *
 * Look-ups are linear over small tables after a test of the first letter's range; a module of a
 * megabyte decodes in some ten milliseconds, less than reading its operands takes.
 */
#include "ptx/ops.h"

#include <assert.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/fit.h"
#include "ptx/matrix.h"
#include "ptx/tensor.h"

/* R(x) in ops.def: the field is allowed and must be set. The upper half of 128 bits says "must". */
typedef unsigned __int128 modifiers;
#undef R
#define R(f) ((modifiers)M_##f << 64 | M_##f)
#define FORM(id, operands, type1, type2, mods)                                         \
	.op = GSB_PTX_OP_##id, .shape = operands, .types = (type1), .types2 = (type2), \
	.fields = (uint64_t)(modifiers)(mods), .needed = (uint64_t)((modifiers)(mods) >> 64)

const struct gsb_ptx_op_row gsb_ptx_op_rows[] = {
	[GSB_PTX_OP_UNSUPPORTED] = {.name = "unsupported"},
#define GSB_PTX_OP(id, spelling, cls, ...) \
	[GSB_PTX_OP_##id] = {.name = spelling, .class = GSB_PTX_CLASS_##cls, FORM(id, __VA_ARGS__)},
#include "ptx/ops.def"
#define GSB_PTX_ALSO(id, ...) {FORM(id, __VA_ARGS__)},
#include "ptx/ops.def"
};
const unsigned int gsb_ptx_n_op_rows = GSB_ARRAY_LEN(gsb_ptx_op_rows);

static const struct {
	const char *name;
	enum gsb_ptx_op op;
} spellings[] = {
#define GSB_PTX_OP(id, spelling, ...)  {spelling, GSB_PTX_OP_##id},
#define GSB_PTX_OP_ALIAS(id, spelling) {spelling, GSB_PTX_OP_##id},
#include "ptx/ops.def"
};

static const char *const spaces[GSB_PTX_N_SPACES] = {
	[GSB_PTX_SPACE_GENERIC] = "",
#define GSB_PTX_SPACE(id, spelling) [GSB_PTX_SPACE_##id] = spelling,
#include "ptx/words.def"
};

static const struct {
	const char *name;
	enum gsb_ptx_field field;
} words[GSB_PTX_N_WORDS] = {
	[GSB_PTX_WORD_NONE] = {"", 0},
#define GSB_PTX_WORD(field, id, spelling) \
	[GSB_PTX_##field##_##id] = {spelling, GSB_PTX_FIELD_##field},
#include "ptx/words.def"
};

static const char *const flags[GSB_PTX_N_FLAGS] = {
#define GSB_PTX_FLAG(id, spelling) [GSB_PTX_FLAG_BIT_##id] = spelling,
#include "ptx/words.def"
};

static const char *const hints[] = {
#define GSB_PTX_HINT(spelling) spelling,
#include "ptx/words.def"
};

static const struct {
	const char *name;
	uint8_t type, kind;
} sregs[GSB_PTX_N_SREGS] = {
	[GSB_PTX_SREG_NONE] = {"", 0, 0},
#define GSB_PTX_SREG(id, spelling, type, kind) \
	[GSB_PTX_SREG_##id] = {spelling, GSB_PTX_TYPE_##type, kind},
#include "ptx/words.def"
};

static_assert(GSB_PTX_N_TYPES <= 64, "type sets are 64 bits");
static_assert(GSB_PTX_FIELD_FLAGS + GSB_PTX_N_FLAGS <= 64, "field sets are 64 bits");
static_assert(GSB_PTX_N_FLAGS <= 32, "the flags of an instruction are 32 bits");
static_assert(GSB_PTX_N_WORDS <= 256, "words are kept in a byte");

const char *gsb_ptx_op_name(enum gsb_ptx_op op)
{
	return gsb_ptx_op_rows[op].name;
}

enum gsb_ptx_class gsb_ptx_op_class(enum gsb_ptx_op op)
{
	return gsb_ptx_op_rows[op].class;
}

const char *gsb_ptx_insn_shape(const struct gsb_ptx_insn *insn)
{
	return gsb_ptx_op_rows[insn->row].shape;
}

const char *gsb_ptx_space_name(enum gsb_ptx_space space)
{
	return spaces[space];
}

const char *gsb_ptx_word_name(enum gsb_ptx_word word)
{
	return words[word].name;
}

const char *gsb_ptx_sreg_name(enum gsb_ptx_sreg sreg)
{
	return sregs[sreg].name;
}

enum gsb_ptx_sreg_kind gsb_ptx_sreg_kind(enum gsb_ptx_sreg sreg)
{
	return (enum gsb_ptx_sreg_kind)sregs[sreg].kind;
}

enum gsb_ptx_type gsb_ptx_sreg_type(enum gsb_ptx_sreg sreg)
{
	return sregs[sreg].type;
}

static bool same(const char *name, const char *word, size_t len)
{
	return strlen(name) == len && !memcmp(name, word, len);
}

/* Whole words only: "barrier.sync" does not begin with "bar". */
static bool begins(const char *spelling, size_t len, const char *with)
{
	size_t n = strlen(with);

	return n <= len && !memcmp(with, spelling, n) && (n == len || spelling[n] == '.');
}

enum gsb_ptx_op gsb_ptx_op_lookup(const char *spelling, size_t len, size_t *used)
{
	enum gsb_ptx_op best = GSB_PTX_OP_UNSUPPORTED;
	size_t best_len = 0;

	for (size_t i = 0; i < GSB_ARRAY_LEN(spellings); i++) {
		size_t n = strlen(spellings[i].name);

		if (n <= best_len || !begins(spelling, len, spellings[i].name))
			continue;
		best = spellings[i].op;
		best_len = n;
	}
	*used = best_len;
	return best;
}

const char *gsb_ptx_refused_what(const char *spelling)
{
	static const struct {
		const char *name, *what;
	} refused[] = {
#define GSB_PTX_REFUSED(name, what) {name, what},
#include "ptx/ops.def"
	};
	size_t len = strcspn(spelling, " \t\n\r");

	for (size_t i = 0; i < GSB_ARRAY_LEN(refused); i++) {
		if (begins(spelling, len, refused[i].name))
			return refused[i].what;
	}
	return NULL;
}

enum gsb_ptx_space gsb_ptx_space_lookup(const char *word, size_t len)
{
	const char *sub =
		memchr(word, ':', len); /* shared::cta and param::entry are what they begin with */

	if (sub && (!strncmp(sub, "::cta", len - (size_t)(sub - word)) ||
		    !strncmp(sub, "::entry", len - (size_t)(sub - word)) ||
		    !strncmp(sub, "::func", len - (size_t)(sub - word))))
		len = (size_t)(sub - word);
	for (int i = 1; i < GSB_PTX_N_SPACES; i++) {
		if (same(spaces[i], word, len))
			return i;
	}
	return GSB_PTX_SPACE_GENERIC;
}

/* ".x" .. ".w" after an axis register, "0".."31" after a numbered one, nothing after a scalar. */
static bool sreg_suffix(enum gsb_ptx_sreg_kind kind, const char *s, size_t len, uint8_t *axis)
{
	static const char axes[] = "xyzw";
	const char *at;
	unsigned int n = 0;

	*axis = 0;
	if (kind == GSB_PTX_SREG_SCALAR)
		return len == 0;
	if (kind == GSB_PTX_SREG_AXES) {
		at = len == 2 && s[0] == '.' ? memchr(axes, s[1], 4) : NULL;
		if (at)
			*axis = (uint8_t)(at - axes);
		return at;
	}
	for (size_t i = 0; i < len && n < 32; i++) {
		if (s[i] < '0' || s[i] > '9')
			return false;
		n = n * 10 + (unsigned int)(s[i] - '0');
	}
	*axis = (uint8_t)n;
	return len > 0 && n < 32;
}

bool gsb_ptx_sreg_lookup(const char *word, size_t len, uint8_t *sreg, uint8_t *axis)
{
	for (int i = 1; i < GSB_PTX_N_SREGS; i++) {
		size_t n = strlen(sregs[i].name);

		if (n > len || memcmp(sregs[i].name, word, n))
			continue;
		if (!sreg_suffix(sregs[i].kind, word + n, len - n, axis))
			continue;
		*sreg = (uint8_t)i;
		return true;
	}
	return false;
}

bool gsb_ptx_shape_is_def(char letter)
{
	return letter && strchr("dwrqQSVMcXF", letter);
}

/* What each operation of atom and red works on. */
static uint64_t atom_types(const struct gsb_ptx_insn *in)
{
	enum gsb_ptx_word sub = in->sub;

	if (in->vec > 1)
		return sub == GSB_PTX_SUB_ADD				  ? T_F32 | T_F16 | T_16X2
		       : sub == GSB_PTX_SUB_MIN || sub == GSB_PTX_SUB_MAX ? T_F16 | T_16X2
									  : 0;

	switch (sub) {
	case GSB_PTX_SUB_ADD: return T_I32_64 | T_F | T_F16 | T_16X2;
	case GSB_PTX_SUB_MIN:
	case GSB_PTX_SUB_MAX: return T_I32_64;
	case GSB_PTX_SUB_INC:
	case GSB_PTX_SUB_DEC: return T_U32;
	case GSB_PTX_SUB_AND:
	case GSB_PTX_SUB_OR:
	case GSB_PTX_SUB_XOR: return T_B32_64;
	case GSB_PTX_SUB_EXCH: return T_B32_64 | T_B128;
	case GSB_PTX_SUB_CAS: return T_B16_64 | T_B128;
	default: return 0;
	}
}

/* An mbarrier is in shared memory, the block's or that of another one of its cluster. */
static bool shared_ok(uint8_t space)
{
	return space == GSB_PTX_SPACE_GENERIC || space == GSB_PTX_SPACE_SHARED ||
	       space == GSB_PTX_SPACE_CLUSTER;
}

static bool atom_space_ok(uint8_t space)
{
	return space == GSB_PTX_SPACE_GLOBAL || shared_ok(space);
}

/* Halves never flush, and the name says so. Vectors are of global memory and of 16 bytes at most. */
static bool atom_ok(const struct gsb_ptx_insn *in, uint64_t type)
{
	if (in->vec > 1 && ((in->space && in->space != GSB_PTX_SPACE_GLOBAL) ||
			    in->vec * gsb_ptx_type_bytes(in->type[0]) > 16))
		return false;
	return atom_space_ok(in->space) && type & atom_types(in) &&
	       !(type & (T_F16 | T_16X2)) == !(in->flags & GSB_PTX_F_NOFTZ);
}

/* What a bulk reduction works on: of halves sums alone say that they do not flush. */
static bool bulk_reduce_ok(const struct gsb_ptx_insn *in, uint64_t type)
{
	bool noftz = in->flags & GSB_PTX_F_NOFTZ, sum_of_halves = false;
	uint64_t allowed = 0;

	switch (in->sub) {
	case GSB_PTX_SUB_ADD:
		allowed = T_I32 | GSB_PTX_TYPE_BIT(U64) | T_F | T_F16;
		sum_of_halves = type & T_F16;
		break;
	case GSB_PTX_SUB_MIN:
	case GSB_PTX_SUB_MAX: allowed = T_I32_64 | T_F16; break;
	case GSB_PTX_SUB_INC:
	case GSB_PTX_SUB_DEC: allowed = T_U32; break;
	case GSB_PTX_SUB_AND:
	case GSB_PTX_SUB_OR:
	case GSB_PTX_SUB_XOR: allowed = T_B32_64; break;
	default: break;
	}
	return type & allowed && noftz == sum_of_halves;
}

static bool red_async_ok(const struct gsb_ptx_insn *in, uint64_t type)
{
	switch (in->sub) {
	case GSB_PTX_SUB_ADD: return type & (T_I32 | GSB_PTX_TYPE_BIT(U64));
	case GSB_PTX_SUB_MIN:
	case GSB_PTX_SUB_MAX: return type & T_I32;
	case GSB_PTX_SUB_INC:
	case GSB_PTX_SUB_DEC: return type & T_U32;
	case GSB_PTX_SUB_AND:
	case GSB_PTX_SUB_OR:
	case GSB_PTX_SUB_XOR: return type & T_B32;
	default: return false;
	}
}

/* Small floats: .relu and .satfinite with two roundings only. RNA is for tf32, which has but three. */
static bool cvt_ok(const struct gsb_ptx_insn *in, uint64_t type, uint64_t type2)
{
	bool nearest_or_zero = in->rnd == GSB_PTX_RND_RN || in->rnd == GSB_PTX_RND_RZ;

	if (type == T_TF32 && in->rnd == GSB_PTX_RND_RNA)
		return !(in->flags & GSB_PTX_F_RELU);
	if (type == T_TF32)
		return nearest_or_zero && !(in->flags & GSB_PTX_F_SATFINITE);
	if (type & T_16X2 && type2 == T_F32)
		return nearest_or_zero;
	if (in->flags & (GSB_PTX_F_RELU | GSB_PTX_F_SATFINITE) && type & T_F16)
		return nearest_or_zero;
	return in->rnd != GSB_PTX_RND_RNA;
}

static bool video_ok(const struct gsb_ptx_insn *in)
{
	bool plain = in->op <= GSB_PTX_OP_VSET;

	switch (in->op) {
	case GSB_PTX_OP_VMAD:
		return !(in->flags & GSB_PTX_F_SHR7) || !(in->flags & GSB_PTX_F_SHR15);
	case GSB_PTX_OP_VSHL:
	case GSB_PTX_OP_VSHR:
		if (in->type[2] != GSB_PTX_TYPE_U32 ||
		    !(in->flags & GSB_PTX_F_CLAMP) == !(in->flags & GSB_PTX_F_WRAP))
			return false;
		break;
	default: break;
	}
	if (in->cmp && in->cmp > GSB_PTX_CMP_GE)
		return false;
	if (!plain)
		return !in->sub || (in->sub == GSB_PTX_SUB_ADD && !(in->flags & GSB_PTX_F_SAT));
	return !in->sub || (in->sub >= GSB_PTX_SUB_ADD && in->sub <= GSB_PTX_SUB_MAX);
}

/* Rules between type and modifier that a row cannot say. */
static bool combination_ok(const struct gsb_ptx_insn *in)
{
	uint64_t type = UINT64_C(1) << in->type[0], type2 = UINT64_C(1) << in->type[1];

	if (in->op >= GSB_PTX_OP_VADD && in->op <= GSB_PTX_OP_VSET4)
		return video_ok(in);
	switch (in->op) {
	case GSB_PTX_OP_MUL:
	case GSB_PTX_OP_MAD:
		if (gsb_ptx_type_is_float(in->type[0]))
			return !in->mul;
		return in->mul &&
		       (in->mul != GSB_PTX_MUL_WIDE || gsb_ptx_type_bytes(in->type[0]) <= 4);
	case GSB_PTX_OP_MADC:
	case GSB_PTX_OP_MUL24:
	case GSB_PTX_OP_MAD24:
	case GSB_PTX_OP_DP2A: return in->mul != GSB_PTX_MUL_WIDE;
	case GSB_PTX_OP_ST: return in->space != GSB_PTX_SPACE_CONST;
	case GSB_PTX_OP_ATOM: return atom_ok(in, type);
	case GSB_PTX_OP_RED:
		return in->sub != GSB_PTX_SUB_CAS && in->sub != GSB_PTX_SUB_EXCH &&
		       atom_ok(in, type);
	case GSB_PTX_OP_REDUX:
		return (in->sub >= GSB_PTX_SUB_AND && in->sub <= GSB_PTX_SUB_XOR)
			       ? type == T_B32
			       : in->sub <= GSB_PTX_SUB_MAX && type & T_I32;
	case GSB_PTX_OP_MIN:
	case GSB_PTX_OP_MAX:
		return !(in->flags & GSB_PTX_F_RELU) || !(type & GSB_PTX_TYPE_BIT(U16X2));
	case GSB_PTX_OP_LOP3:
		return !in->sub || in->sub == GSB_PTX_SUB_AND || in->sub == GSB_PTX_SUB_OR;
	case GSB_PTX_OP_SHF_L:
	case GSB_PTX_OP_SHF_R:
	case GSB_PTX_OP_BMSK:
	case GSB_PTX_OP_SZEXT:
		return !(in->flags & GSB_PTX_F_CLAMP) != !(in->flags & GSB_PTX_F_WRAP);
	case GSB_PTX_OP_CVT: return cvt_ok(in, type, type2);
	case GSB_PTX_OP_CVT_PACK:
		return type2 == T_S32 && (type & T_I16 || in->type[2] == GSB_PTX_TYPE_B32);
	case GSB_PTX_OP_BAR_RED:
	case GSB_PTX_OP_BARRIER_RED: return type == (in->sub == GSB_PTX_SUB_POPC ? T_U32 : T_PRED);
	case GSB_PTX_OP_VOTE: return type == (in->mode == GSB_PTX_MODE_BALLOT ? T_B32 : T_PRED);
	case GSB_PTX_OP_CP_ASYNC_ARRIVE:
	case GSB_PTX_OP_CP_ASYNC_ARRIVE_NOINC: return shared_ok(in->space);
	case GSB_PTX_OP_BULK_REDUCE: return bulk_reduce_ok(in, type);
	case GSB_PTX_OP_BULK_REDUCE_SHARED:
	case GSB_PTX_OP_RED_ASYNC: return red_async_ok(in, type);
	case GSB_PTX_OP_TENSORMAP_ADDRESS ... GSB_PTX_OP_TENSORMAP_FILL:
		return in->space != GSB_PTX_SPACE_CLUSTER &&
		       (in->space == GSB_PTX_SPACE_GLOBAL || shared_ok(in->space));
	case GSB_PTX_OP_ST_ASYNC:
		return in->vec <= 4 && in->vec * gsb_ptx_type_bytes(in->type[0]) <= 16;
	case GSB_PTX_OP_SULD_1D ... GSB_PTX_OP_SUST_A2D:
		return (in->flags & GSB_PTX_F_CLAMP
				? !in->mode
				: in->mode == GSB_PTX_MODE_TRAP || in->mode == GSB_PTX_MODE_ZERO) &&
		       in->vec <= 4;
	case GSB_PTX_OP_TXQ_WIDTH ... GSB_PTX_OP_SUQ_LAYERS: return true;
	case GSB_PTX_OP_SETP:
	case GSB_PTX_OP_SET:
		return (!in->sub || in->sub <= GSB_PTX_SUB_XOR) &&
		       (!(type & T_16X2) || type == type2) &&
		       !(in->type[0] == GSB_PTX_TYPE_F16 && in->type[1] == GSB_PTX_TYPE_BF16) &&
		       (!((type | type2) & T_BFLOAT) || !(in->flags & GSB_PTX_F_FTZ));
	default:
		if (in->op >= GSB_PTX_OP_MBAR_INIT && in->op <= GSB_PTX_OP_MBAR_PENDING)
			return shared_ok(in->space);
		return gsb_ptx_op_class(in->op) != GSB_PTX_CLASS_TEX || in->vec == 4;
	}
}

static bool set_word(uint8_t *field, int value)
{
	if (*field)
		return false;
	*field = (uint8_t)value;
	return true;
}

static uint8_t *word_field(struct gsb_ptx_insn *in, enum gsb_ptx_field field)
{
	switch (field) {
	case GSB_PTX_FIELD_RND: return &in->rnd;
	case GSB_PTX_FIELD_CMP: return &in->cmp;
	case GSB_PTX_FIELD_SUB: return &in->sub;
	case GSB_PTX_FIELD_MODE: return &in->mode;
	case GSB_PTX_FIELD_MUL: return &in->mul;
	case GSB_PTX_FIELD_SEM: return &in->sem;
	default: return &in->scope;
	}
}

/*
 * A modifier of the words, flags and hints that this opcode takes; *set collects the fields. Only the
 * fields of the row are looked at: so "lo" is a comparison in setp and half a product in mul.
 */
static bool decode_word(const struct gsb_ptx_op_row *row, const char *w, size_t len,
			struct gsb_ptx_insn *in, uint64_t *set)
{
	for (int i = 1; i < GSB_PTX_N_WORDS; i++) {
		uint64_t bit = UINT64_C(1) << words[i].field;
		uint64_t only_rn = row->fields & GSB_PTX_FIELD_BIT(ONLY_RN);

		if (!(row->fields & bit) || !same(words[i].name, w, len))
			continue;
		if (bit == M_RND && only_rn && i != GSB_PTX_RND_RN)
			return false;
		*set |= bit | (bit == M_RND ? only_rn : 0);
		return set_word(word_field(in, words[i].field), i);
	}
	for (int i = 0; i < GSB_PTX_N_FLAGS; i++) {
		uint64_t bit = UINT64_C(1) << (GSB_PTX_FIELD_FLAGS + i);

		if (!(row->fields & bit) || !same(flags[i], w, len))
			continue;
		*set |= bit;
		in->flags |= 1u << i;
		return true;
	}
	for (size_t i = 0; row->fields & M_HINT && i < GSB_ARRAY_LEN(hints); i++) {
		if (same(hints[i], w, len))
			return true;
	}
	return false;
}

/* Types are the one thing whose order counts: the result's stands before the source's. */
static bool decode_type(const struct gsb_ptx_op_row *row, enum gsb_ptx_type type,
			struct gsb_ptx_insn *in)
{
	int nth = !in->type[0] ? 0 : !in->type[1] ? 1 : 2, n = row->fields & M_TYPE3 ? 3 : 2;
	uint64_t allowed = nth ? row->types2 : row->types;

	if (nth == n || in->type[n - 1] || !(allowed & UINT64_C(1) << type))
		return false;
	in->type[nth] = (uint8_t)type;
	return true;
}

/* .v2 .v4 .v8; 0 = not a vector */
static uint8_t vector_width(const char *w, size_t len)
{
	return len == 2 && w[0] == 'v' && (w[1] == '2' || w[1] == '4' || w[1] == '8')
		       ? (uint8_t)(w[1] - '0')
		       : 0;
}

static bool decode_modifier(const struct gsb_ptx_op_row *row, const char *w, size_t len,
			    struct gsb_ptx_insn *in, uint64_t *set)
{
	enum gsb_ptx_type type = gsb_ptx_type_lookup(w, len);
	enum gsb_ptx_space space = gsb_ptx_space_lookup(w, len);

	if (type)
		return decode_type(row, type, in);
	if (space && row->fields & M_SPACE && space != GSB_PTX_SPACE_REG) {
		*set |= M_SPACE;
		return set_word(&in->space, space);
	}
	if (row->fields & M_VEC && in->vec == 1 && vector_width(w, len)) {
		in->vec = vector_width(w, len);
		*set |= M_VEC;
		return true;
	}
	return decode_word(row, w, len, in, set);
}

/*
 * Modifiers may come in any order, because those who write PTX agree on none: ld.volatile.global,
 * ld.relaxed.gpu.global.L1::no_allocate, ld.global.nc.v4. A word twice is refused, a flag twice is not.
 */
static bool decode_modifiers(const struct gsb_ptx_op_row *row, const char *s, size_t len,
			     struct gsb_ptx_insn *in)
{
	uint64_t set = 0;
	size_t word;

	for (size_t at = 0; at < len; at += word) {
		const char *dot = memchr(s + at + 1, '.', len - at - 1);

		word = dot ? (size_t)(dot - s) - at : len - at;
		if (s[at] != '.' || !decode_modifier(row, s + at + 1, word - 1, in, &set))
			return false;
	}
	set |= in->type[2] ? M_TYPE3 : 0;
	if ((set & row->needed) != row->needed || (row->types && !in->type[0]) ||
	    (row->types2 && !in->type[1]) || !gsb_ptx_modifiers_fit(in))
		return false;
	for (int i = 1; i < 3; i++)
		in->type[i] = in->type[i] ? in->type[i] : in->type[i - 1];
	return combination_ok(in) && gsb_ptx_modifiers_fit(in);
}

/* The first form of the opcode that takes all of it. */
static bool decode_as(enum gsb_ptx_op op, const char *s, size_t len, struct gsb_ptx_insn *out)
{
	for (unsigned int i = op; i < gsb_ptx_n_op_rows;
	     i = i < GSB_PTX_N_OPS ? GSB_PTX_N_OPS : i + 1) {
		struct gsb_ptx_insn in = {.vec = 1, .op = (uint16_t)op, .row = (uint16_t)i};

		if (gsb_ptx_op_rows[i].op == op &&
		    decode_modifiers(&gsb_ptx_op_rows[i], s, len, &in)) {
			*out = in;
			return true;
		}
	}
	return false;
}

/* What is understood there by matrix.c; the space is for the check of the address. */
static bool decode_matrix(enum gsb_ptx_op op, const char *spelling, size_t len,
			  struct gsb_ptx_insn *in)
{
	struct gsb_ptx_matrix m;

	if (!gsb_ptx_matrix_decode(spelling, len, &m))
		return false;
	*in = (struct gsb_ptx_insn){
		.vec = 1, .op = (uint16_t)op, .row = (uint16_t)op, .space = m.space};
	return true;
}

/* The row whose operands are those of the words; the space of a multicast is that of the cluster. */
static bool decode_tensor(enum gsb_ptx_op op, const char *spelling, size_t len,
			  struct gsb_ptx_insn *in)
{
	char shape[GSB_PTX_SHAPE_MAX];
	struct gsb_ptx_tensor t;
	unsigned int row = op;

	if (!gsb_ptx_tensor_decode(spelling, len, &t))
		return false;
	gsb_ptx_tensor_shape(&t, shape, sizeof(shape));
	while (row < gsb_ptx_n_op_rows &&
	       (gsb_ptx_op_rows[row].op != op || strcmp(gsb_ptx_op_rows[row].shape, shape)))
		row++;
	if (row == gsb_ptx_n_op_rows)
		return false;
	*in = (struct gsb_ptx_insn){.vec = 1, .op = (uint16_t)op, .row = (uint16_t)row};
	in->sub = t.reduction;
	in->space = t.multicast ? GSB_PTX_SPACE_CLUSTER : GSB_PTX_SPACE_GENERIC;
	return true;
}

static bool decode(enum gsb_ptx_op op, const char *spelling, size_t len, size_t used,
		   struct gsb_ptx_insn *in)
{
	if (gsb_ptx_op_class(op) == GSB_PTX_CLASS_MATRIX)
		return decode_matrix(op, spelling, len, in);
	if (op >= GSB_PTX_OP_TENSOR_COPY && op <= GSB_PTX_OP_TENSOR_PREFETCH)
		return decode_tensor(op, spelling, len, in);
	return decode_as(op, spelling + used, len - used, in);
}

bool gsb_ptx_insn_decode(const char *spelling, size_t len, struct gsb_ptx_insn *insn)
{
	struct gsb_ptx_insn in;
	size_t used;
	enum gsb_ptx_op op = gsb_ptx_op_lookup(spelling, len, &used);

	if (!op || !decode(op, spelling, len, used, &in)) {
		insn->op = GSB_PTX_OP_UNSUPPORTED;
		return false;
	}
	/* The caller has set guard and place already: only what a spelling says is written. */
	insn->op = in.op;
	insn->row = in.row;
	memcpy(insn->type, in.type, sizeof(in.type));
	insn->space = in.space;
	insn->vec = in.vec;
	insn->rnd = in.rnd;
	insn->cmp = in.cmp;
	insn->sub = in.sub;
	insn->mode = in.mode;
	insn->mul = in.mul;
	insn->sem = in.sem;
	insn->scope = in.scope;
	insn->flags = in.flags;
	return true;
}

bool gsb_ptx_insn_is_of_cluster(const struct gsb_ptx_insn *insn)
{
	switch (insn->op) {
	case GSB_PTX_OP_CLUSTER_ARRIVE:
	case GSB_PTX_OP_CLUSTER_WAIT:
	case GSB_PTX_OP_MAPA:
	case GSB_PTX_OP_GETCTARANK:
	case GSB_PTX_OP_BULK_MULTICAST:
	case GSB_PTX_OP_BULK_MULTICAST_HINT:
	case GSB_PTX_OP_ST_ASYNC:
	case GSB_PTX_OP_RED_ASYNC: return true;
	default: return insn->space == GSB_PTX_SPACE_CLUSTER;
	}
}

static void visit(uint32_t reg, gsb_ptx_reg_fn *fn, void *ctx)
{
	if (reg != GSB_PTX_NONE)
		fn(ctx, reg);
}

static void visit_elems(const struct gsb_ptx_operand *o, gsb_ptx_reg_fn *fn, void *ctx)
{
	for (int i = 0; i < o->n; i++) {
		if (o->elems[i].kind == GSB_PTX_OPERAND_REG)
			visit(o->elems[i].reg, fn, ctx);
	}
}

static void visit_operand(const struct gsb_ptx_operand *o, gsb_ptx_reg_fn *fn, void *ctx)
{
	switch (o->kind) {
	case GSB_PTX_OPERAND_REG: visit(o->reg, fn, ctx); break;
	case GSB_PTX_OPERAND_ADDR:
		visit(o->reg, fn, ctx);
		visit_elems(o, fn, ctx);
		break;
	case GSB_PTX_OPERAND_PAIR:
		visit(o->reg, fn, ctx);
		visit(o->reg2, fn, ctx);
		break;
	case GSB_PTX_OPERAND_VEC: visit_elems(o, fn, ctx); break;
	default: break;
	}
}

/* Results come first in every shape, and no shape has an optional result. */
static uint32_t n_results(const struct gsb_ptx_insn *insn)
{
	const char *shape = gsb_ptx_insn_shape(insn);
	uint32_t n = 0;

	while (n < insn->n_operands && gsb_ptx_shape_is_def(shape[n]))
		n++;
	return n;
}

void gsb_ptx_insn_each_def(const struct gsb_ptx_insn *insn, gsb_ptx_reg_fn *fn, void *ctx)
{
	uint32_t n = n_results(insn);

	for (uint32_t i = 0; i < n; i++)
		visit_operand(&insn->operands[i], fn, ctx);
	for (uint32_t i = 0; insn->call && i < insn->call->n_rets; i++)
		visit_operand(&insn->call->rets[i], fn, ctx);
}

void gsb_ptx_insn_each_use(const struct gsb_ptx_insn *insn, gsb_ptx_reg_fn *fn, void *ctx)
{
	visit(insn->guard, fn, ctx);
	for (uint32_t i = n_results(insn); i < insn->n_operands; i++)
		visit_operand(&insn->operands[i], fn, ctx);
	if (!insn->call)
		return;
	visit_operand(&insn->call->target, fn, ctx);
	for (uint32_t i = 0; i < insn->call->n_args; i++)
		visit_operand(&insn->call->args[i], fn, ctx);
}
