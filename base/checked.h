/*
 * checked.h - arithmetic on sizes that came from somebody else.
 * Each returns true when the result does not fit; *out is then not to be used.
 */
#ifndef GSB_BASE_CHECKED_H
#define GSB_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#define gsb_add_overflows(a, b, out) __builtin_add_overflow(a, b, out)
#define gsb_sub_overflows(a, b, out) __builtin_sub_overflow(a, b, out)
#define gsb_mul_overflows(a, b, out) __builtin_mul_overflow(a, b, out)

/* True when [off, off + len) lies inside [0, size). */
static inline bool gsb_range_ok(uint64_t off, uint64_t len, uint64_t size)
{
	return off <= size && len <= size - off;
}

/* x rounded up to a multiple of unit; unit > 0, the caller knows that x + unit fits. */
static inline uint64_t gsb_round_up(uint64_t x, uint64_t unit)
{
	return (x + unit - 1) / unit * unit;
}

static inline uint64_t gsb_div_up(uint64_t x, uint64_t unit)
{
	return x / unit + (x % unit != 0);
}

static inline bool gsb_is_pow2(uint64_t x)
{
	return x && !(x & (x - 1));
}

static inline uint64_t gsb_clamp(uint64_t value, uint64_t low, uint64_t high)
{
	return value < low ? low : value > high ? high : value;
}

#endif
