/*
 * reference.h - a second interpreter of PTX, made to be obviously right and for nothing else: one thread at a time, one instruction
 * at a time, every value a 64-bit word, every rule spelled out. It shares nothing with device/emu nor with ptx/, not even the
 * reading of the text, so that both are seldom wrong in the same way. It knows what random_program.c writes: one entry,
 * no calls, registers with numbers, one instruction a line.
 */
#ifndef GSB_TESTS_REFERENCE_H
#define GSB_TESTS_REFERENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define REF_MAX_INSNS	 4096
#define REF_MAX_REGS	 256
#define REF_MAX_OPERANDS 6
#define REF_MAX_ELEMENTS 4
#define REF_MAX_ARGS	 4
#define REF_SHARED_BYTES 16384
#define REF_LOCAL_BYTES	 256
#define REF_MAX_THREADS	 256

struct ref_type {
	char kind; /* of u s b f p; 0: none */
	unsigned int bits;
};

enum ref_operand_kind { REF_REG, REF_IMM, REF_VECTOR, REF_ADDRESS, REF_SPECIAL, REF_LABEL };

struct ref_operand {
	enum ref_operand_kind kind;
	unsigned int reg, reg2; /* reg2: of p|q; NONE otherwise */
	bool negated;		/* !p */
	uint64_t imm;		/* of an address: what is added; of a label: the instruction */
	unsigned int n, elements[REF_MAX_ELEMENTS];
	char name[24]; /* symbol of an address, special register, label */
};

#define REF_NONE UINT32_MAX

struct ref_insn {
	char text[128]; /* for messages */
	char op[16];	/* the first word */
	uint64_t words; /* the others: bits of ref_words */
	char compare[4];
	struct ref_type type[2];
	unsigned int guard; /* register; NONE: always */
	bool guard_negated;
	unsigned int n;
	struct ref_operand at[REF_MAX_OPERANDS];
};

struct ref_program {
	struct ref_insn insns[REF_MAX_INSNS];
	unsigned int n_insns, n_regs, shared_bytes, local_bytes;
	unsigned int bits[REF_MAX_REGS]; /* width; 1: a predicate */
	char error[256];
};

struct ref_launch {
	unsigned int blocks, threads;
	uint64_t args[REF_MAX_ARGS]; /* in the order of the parameters p0, p1, .. */
	unsigned char *base;	     /* global memory */
	size_t size;
	bool backwards; /* the last thread goes first: a result that this changes is a race */
};

struct ref_thread {
	uint64_t regs[REF_MAX_REGS];
	unsigned char local[REF_LOCAL_BYTES];
	unsigned int pc, tid;
	bool carry, left,
		waits; /* waits: at a barrier or a warp-wide instruction, until all others are there */
};

struct ref_block {
	const struct ref_program *program;
	const struct ref_launch *launch;
	unsigned int ctaid;
	unsigned char shared[REF_SHARED_BYTES];
	struct ref_thread threads[REF_MAX_THREADS];
	char error[256];
};

bool ref_parse(const char *text, struct ref_program *program);
/* All blocks to their end; false and @error when the program is none that means something. */
bool ref_run(const struct ref_program *program, const struct ref_launch *launch, char *error,
	     size_t size);

/* ---- between the files of the reference ---- */

/* It does not come to rest on this list. */
/* clang-format off */
/* Words of an opcode but the first, types and comparisons; a word is a bit of ref_insn.words. */
#define REF_WORDS(X)                                                                               \
	X(lo)                                                                                      \
	X(hi)                                                                                      \
	X(wide)                                                                                    \
	X(cc)                                                                                      \
	X(sat) X(rn) X(rz) X(rm) X(rp) X(rni) X(rzi) X(rmi) X(rpi) X(and) X(or) X(xor) X(up)       \
		X(down) X(bfly) X(idx) X(all) X(any) X(uni) X(ballot) X(add) X(min) X(max) X(popc) \
			X(sync) X(global) X(shared) X(local) X(param) X(v2) X(v4) X(l) X(r)        \
				X(clamp) X(wrap) X(warp)
enum ref_word {
#define REF_WORD(w) REF_##w,
	REF_WORDS(REF_WORD)
#undef REF_WORD
};
/* clang-format on */

static inline bool ref_has(const struct ref_insn *in, enum ref_word w)
{
	return in->words >> w & 1;
}

static inline bool ref_is(const struct ref_insn *in, const char *op)
{
	for (unsigned int i = 0; in->op[i] || op[i]; i++) {
		if (in->op[i] != op[i])
			return false;
	}
	return true;
}

static inline uint64_t ref_cut(uint64_t v, unsigned int bits)
{
	return bits >= 64 ? v : v & ((UINT64_C(1) << bits) - 1);
}

static inline int64_t ref_signed(uint64_t v, unsigned int bits)
{
	uint64_t top = UINT64_C(1) << (bits - 1);

	return (int64_t)((ref_cut(v, bits) ^ top) - top);
}

/* A value in the sense of its type, as a number. */
static inline __int128 ref_number(uint64_t v, struct ref_type t)
{
	return t.kind == 's' ? (__int128)ref_signed(v, t.bits) : (__int128)ref_cut(v, t.bits);
}

/* What an instruction gives from its sources; false: it is none of these. */
bool ref_compute(const struct ref_insn *in, const uint64_t *v, bool *carry, uint64_t *out);
bool ref_compare(const struct ref_insn *in, struct ref_type t, uint64_t a, uint64_t b);

#endif
