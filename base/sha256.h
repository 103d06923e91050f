/*
 * sha256.h - SHA-256 (FIPS 180-4): names for contents that somebody may want to be confused with other contents.
 */
#ifndef GSB_BASE_SHA256_H
#define GSB_BASE_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define GSB_SHA256_BYTES 32
#define GSB_SHA256_HEX	 (2 * GSB_SHA256_BYTES + 1)

struct gsb_sha256 {
	uint32_t state[8];
	uint64_t n_bytes;
	uint8_t block[64]; /* n_bytes % 64 of them are waiting */
};

void gsb_sha256_init(struct gsb_sha256 *s);
void gsb_sha256_add(struct gsb_sha256 *s, const void *bytes, size_t size);
void gsb_sha256_end(struct gsb_sha256 *s, uint8_t out[GSB_SHA256_BYTES]);

void gsb_sha256(const void *bytes, size_t size, uint8_t out[GSB_SHA256_BYTES]);
void gsb_sha256_hex(const uint8_t hash[GSB_SHA256_BYTES], char out[GSB_SHA256_HEX]);

#endif
