/*
 * at.h - numbers read where they lie, aligned or not, in the byte order of this machine.
 */
#ifndef GSB_BASE_AT_H
#define GSB_BASE_AT_H

#include <stdint.h>
#include <string.h>

#define GSB_AT(type, name)                                \
	static inline type gsb_##name##_at(const void *p) \
	{                                                 \
		type v;                                   \
                                                          \
		memcpy(&v, p, sizeof(v));                 \
		return v;                                 \
	}

GSB_AT(uint16_t, u16)
GSB_AT(uint32_t, u32)
GSB_AT(uint64_t, u64)
GSB_AT(double, double)
#undef GSB_AT

#endif
