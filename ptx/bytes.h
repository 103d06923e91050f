/*
 * bytes.h - little-endian numbers out of bytes that need not be aligned. The caller has checked bounds.
 */
#ifndef GSB_PTX_BYTES_H
#define GSB_PTX_BYTES_H

#include <stdint.h>

static inline uint16_t gsb_le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t gsb_le32(const uint8_t *p)
{
	return gsb_le16(p) | (uint32_t)gsb_le16(p + 2) << 16;
}

static inline uint64_t gsb_le64(const uint8_t *p)
{
	return gsb_le32(p) | (uint64_t)gsb_le32(p + 4) << 32;
}

#endif
