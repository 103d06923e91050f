/*
 * alu.h - handlers of arithmetic, comparison and conversion, made of the rows of forms.def: each a loop
 * over 32 lanes that the compiler makes vector code of. Included by handlers.c only, which is built
 * once for each instruction set.
 *
 * Rows never overlap other than being the same row, so a lane may be written before the next is read.
 */
#ifndef GSB_DEVICE_EMU_EXEC_ALU_H
#define GSB_DEVICE_EMU_EXEC_ALU_H

#include "device/emu/exec/half.h"
#include "device/emu/exec/lane.h"
#include "device/emu/exec/state.h"

/* clang unrolls a loop this short before it looks for vectors, and then sees that rows might overlap. */
#if defined(__clang__)
#define EACH_LANE(i)                                                                            \
	_Pragma("clang loop vectorize(assume_safety) unroll(disable)") for (unsigned int i = 0; \
									    i < GSB_EMU_LANES;  \
									    i++)
#else
#define EACH_LANE(i) _Pragma("GCC ivdep") for (unsigned int i = 0; i < GSB_EMU_LANES; i++)
#endif

/* 1 << i, as memory: a shift by the lane's number is no vector operation on the oldest processors. */
static const uint32_t lane_bit[GSB_EMU_LANES] = {
	0x1,	   0x2,	      0x4,	 0x8,	    0x10,	0x20,	    0x40,	0x80,
	0x100,	   0x200,     0x400,	 0x800,	    0x1000,	0x2000,	    0x4000,	0x8000,
	0x10000,   0x20000,   0x40000,	 0x80000,   0x100000,	0x200000,   0x400000,	0x800000,
	0x1000000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000, 0x80000000,
};

typedef unsigned __int128 u128;

/* The lane of a type in its row, and the type of the value in it. */
#define LANE_u8	  uint32_t
#define LANE_s8	  int32_t
#define LANE_u16  uint32_t
#define LANE_s16  int32_t
#define LANE_u32  uint32_t
#define LANE_s32  int32_t
#define LANE_f32  float
#define LANE_u64  uint64_t
#define LANE_s64  int64_t
#define LANE_f64  double
#define LANE_u128 u128
#define LANE_f16  uint32_t
#define LANE_bf16 uint32_t
#define VAL_u8	  uint8_t
#define VAL_s8	  int8_t
#define VAL_u16	  uint16_t
#define VAL_s16	  int16_t
#define VAL_u32	  uint32_t
#define VAL_s32	  int32_t
#define VAL_f32	  float
#define VAL_u64	  uint64_t
#define VAL_s64	  int64_t
#define VAL_f64	  double
#define VAL_u128  u128

/* Row and lane of a source, by type: a predicate is one word. */
#define ROW_OF(T, r, off) const LANE_##T *GSB_UNUSED row_##off = (const void *)((r) + op->off)
#define ROW(T, r, off)	  ROW_##T(r, off)
#define ROW_u8(r, off)	  ROW_OF(u8, r, off)
#define ROW_s8(r, off)	  ROW_OF(s8, r, off)
#define ROW_u16(r, off)	  ROW_OF(u16, r, off)
#define ROW_s16(r, off)	  ROW_OF(s16, r, off)
#define ROW_u32(r, off)	  ROW_OF(u32, r, off)
#define ROW_s32(r, off)	  ROW_OF(s32, r, off)
#define ROW_f32(r, off)	  ROW_OF(f32, r, off)
#define ROW_u64(r, off)	  ROW_OF(u64, r, off)
#define ROW_s64(r, off)	  ROW_OF(s64, r, off)
#define ROW_f64(r, off)	  ROW_OF(f64, r, off)
#define ROW_u128(r, off)  ROW_OF(u128, r, off)
#define ROW_f16(r, off)	  ROW_OF(f16, r, off)
#define ROW_bf16(r, off)  ROW_OF(bf16, r, off)
#define ROW_p(r, off)	  uint32_t row_##off = *(const uint32_t *)((r) + op->off)
#define GET_OF(T, off)	  const VAL_##T GSB_UNUSED off = (VAL_##T)row_##off[i]
#define GET(T, off)	  GET_##T(off)
#define GET_u8(off)	  GET_OF(u8, off)
#define GET_s8(off)	  GET_OF(s8, off)
#define GET_u16(off)	  GET_OF(u16, off)
#define GET_s16(off)	  GET_OF(s16, off)
#define GET_u32(off)	  GET_OF(u32, off)
#define GET_s32(off)	  GET_OF(s32, off)
#define GET_f32(off)	  GET_OF(f32, off)
#define GET_u64(off)	  GET_OF(u64, off)
#define GET_s64(off)	  GET_OF(s64, off)
#define GET_f64(off)	  GET_OF(f64, off)
#define GET_u128(off)	  GET_OF(u128, off)
#define GET_f16(off)	  const float GSB_UNUSED off = f16_value(row_##off[i])
#define GET_bf16(off)	  const float GSB_UNUSED off = bf16_value(row_##off[i])
#define GET_p(off)	  const bool off = row_##off & lane_bit[i]

/* Two handlers of a form: rows and lanes of the sources are given by ROWS and VALUES. */
#define HANDLERS(id, D, ROWS, VALUES, expr)                                \
	static GSB_EMU_HANDLER(full_##id)                                  \
	{                                                                  \
		LANE_##D *row_d = (void *)(r + op->d);                     \
		const uint64_t GSB_UNUSED key = (uint64_t)op->imm;         \
		ROWS;                                                      \
		EACH_LANE(i)                                               \
		{                                                          \
			VALUES;                                            \
			row_d[i] = (LANE_##D)(VAL_##D)(expr);              \
		}                                                          \
		return op + 1;                                             \
	}                                                                  \
	static GSB_EMU_HANDLER(mask_##id)                                  \
	{                                                                  \
		LANE_##D *row_d = (void *)(r + op->d);                     \
		const uint64_t GSB_UNUSED key = (uint64_t)op->imm;         \
		ROWS;                                                      \
		EACH_LANE(i)                                               \
		{                                                          \
			VALUES;                                            \
			LANE_##D result = (LANE_##D)(VAL_##D)(expr);       \
			row_d[i] = mask & lane_bit[i] ? result : row_d[i]; \
		}                                                          \
		return op + 1;                                             \
	}

#define GSB_EMU_F1(id, op_, t1, t2, k, D, A, expr) HANDLERS(id, D, ROW(A, r, a), GET(A, a), expr)
#define GSB_EMU_F2(id, op_, t1, t2, k, D, A, B, expr) \
	HANDLERS(id, D, ROW(A, r, a); ROW(B, r, b), GET(A, a); GET(B, b), expr)
#define GSB_EMU_F3(id, op_, t1, t2, k, D, A, B, C, expr)                                \
	HANDLERS(id, D, ROW(A, r, a); ROW(B, r, b); ROW(C, r, c), GET(A, a); GET(B, b); \
		 GET(C, c), expr)
#define GSB_EMU_F4(id, op_, t1, t2, k, D, A, B, C, E, expr)                                \
	HANDLERS(id, D, ROW(A, r, a); ROW(B, r, b); ROW(C, r, c); ROW(E, r, e), GET(A, a); \
		 GET(B, b); GET(C, c); GET(E, e), expr)

/* One version serves both: bits of lanes that are not in the mask stay. */
#define GSB_EMU_CMP(id, op_, t1, k, A, n, expr)             \
	static GSB_EMU_HANDLER(full_##id)                   \
	{                                                   \
		uint32_t *p = (void *)(r + op->d), set = 0; \
		ROW(A, r, a);                               \
		ROW(A, r, b);                               \
		EACH_LANE(i)                                \
		{                                           \
			GET(A, a);                          \
			GET(A, b);                          \
			set |= (expr) ? lane_bit[i] : 0;    \
		}                                           \
		*p = (*p & ~mask) | (set & mask);           \
		return op + 1;                              \
	}

#define GSB_EMU_CARRY(id, op_, t1, k, D, n, expr)                     \
	static GSB_EMU_HANDLER(full_##id)                             \
	{                                                             \
		LANE_##D *row_d = (void *)(r + op->d);                \
		uint32_t in = x->warp->carry, out = 0;                \
		ROW(D, r, a);                                         \
		ROW(D, r, b);                                         \
		ROW(D, r, c);                                         \
		for (unsigned int i = 0; i < GSB_EMU_LANES; i++) {    \
			const uint32_t GSB_UNUSED ci = in >> i & 1;   \
			uint32_t co = 0;                              \
			GET(D, a);                                    \
			GET(D, b);                                    \
			GET(D, c);                                    \
			LANE_##D result = (LANE_##D)(expr);           \
			row_d[i] = mask >> i & 1 ? result : row_d[i]; \
			out |= co << i;                               \
		}                                                     \
		x->warp->carry = (in & ~mask) | (out & mask);         \
		return op + 1;                                        \
	}

#include "device/emu/code/forms.def"

#endif
