/*
 * reduce.c - see reduce.h. Sums of floats are as those of atomics at global memory: single precision flushes
 * subnormals there, halves do not.
 */
#include "device/emu/exec/reduce.h"

#include "device/emu/exec/half.h"

/* @after: of old and b */
#define RUN(T, after)                                                                            \
	do {                                                                                     \
		T *const at = (void *)to;                                                        \
                                                                                                 \
		for (uint32_t i = 0; i < n / sizeof(T); i++) {                                   \
			const T b = ((const T *)(const void *)from)[i];                          \
			T old = __atomic_load_n(&at[i], __ATOMIC_RELAXED);                       \
                                                                                                 \
			while (!__atomic_compare_exchange_n(&at[i], &old, (T)(after), false,     \
							    __ATOMIC_RELAXED, __ATOMIC_RELAXED)) \
				;                                                                \
		}                                                                                \
	} while (0)

static void add(unsigned char *to, const unsigned char *from, uint32_t n, enum gsb_ptx_type type)
{
	switch (type) {
	case GSB_PTX_TYPE_F16: RUN(uint16_t, f16_add(old, b, 0, 0)); break;
	case GSB_PTX_TYPE_BF16: RUN(uint16_t, bf16_add(old, b, 0, 0)); break;
	case GSB_PTX_TYPE_F32: RUN(uint32_t, atom_add32(old, b, false)); break;
	case GSB_PTX_TYPE_F64: RUN(uint64_t, atom_add64(old, b, false)); break;
	case GSB_PTX_TYPE_U64: RUN(uint64_t, old + b); break;
	default: RUN(uint32_t, old + b); break;
	}
}

static void smaller(unsigned char *to, const unsigned char *from, uint32_t n,
		    enum gsb_ptx_type type)
{
	switch (type) {
	case GSB_PTX_TYPE_F16: RUN(uint16_t, f16_min(old, b, 0, 0)); break;
	case GSB_PTX_TYPE_BF16: RUN(uint16_t, bf16_min(old, b, 0, 0)); break;
	case GSB_PTX_TYPE_U32: RUN(uint32_t, old < b ? old : b); break;
	case GSB_PTX_TYPE_S32: RUN(int32_t, old < b ? old : b); break;
	case GSB_PTX_TYPE_U64: RUN(uint64_t, old < b ? old : b); break;
	default: RUN(int64_t, old < b ? old : b); break;
	}
}

static void larger(unsigned char *to, const unsigned char *from, uint32_t n, enum gsb_ptx_type type)
{
	switch (type) {
	case GSB_PTX_TYPE_F16: RUN(uint16_t, f16_max(old, b, 0, 0)); break;
	case GSB_PTX_TYPE_BF16: RUN(uint16_t, bf16_max(old, b, 0, 0)); break;
	case GSB_PTX_TYPE_U32: RUN(uint32_t, old > b ? old : b); break;
	case GSB_PTX_TYPE_S32: RUN(int32_t, old > b ? old : b); break;
	case GSB_PTX_TYPE_U64: RUN(uint64_t, old > b ? old : b); break;
	default: RUN(int64_t, old > b ? old : b); break;
	}
}

/* @after: as RUN, of bits: in words as wide as the elements */
#define RUN_BITS(after)                            \
	do {                                       \
		if (gsb_ptx_type_bytes(type) == 4) \
			RUN(uint32_t, after);      \
		else                               \
			RUN(uint64_t, after);      \
	} while (0)

/* Counters are of 32 bits. */
void gsb_emu_reduce(unsigned char *to, const unsigned char *from, uint32_t n, uint32_t reduction)
{
	enum gsb_ptx_type type = reduction & 0xff;

	switch (reduction >> 8) {
	case GSB_PTX_SUB_ADD: add(to, from, n, type); break;
	case GSB_PTX_SUB_MIN: smaller(to, from, n, type); break;
	case GSB_PTX_SUB_MAX: larger(to, from, n, type); break;
	case GSB_PTX_SUB_INC: RUN(uint32_t, old >= b ? 0 : old + 1); break;
	case GSB_PTX_SUB_DEC: RUN(uint32_t, old == 0 || old > b ? b : old - 1); break;
	case GSB_PTX_SUB_AND: RUN_BITS(old & b); break;
	case GSB_PTX_SUB_OR: RUN_BITS(old | b); break;
	default: RUN_BITS(old ^ b); break;
	}
}
