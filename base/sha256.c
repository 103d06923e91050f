/*
 * sha256.c - see sha256.h. The names of the steps are those of the standard.
 */
#include "base/sha256.h"

#include <string.h>

#define N_ROUNDS 64

static const uint32_t K[N_ROUNDS] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4,
	0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe,
	0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f,
	0x4a7484aa, 0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7,
	0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85, 0x2e1b2138, 0x4d2c6dfc,
	0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b,
	0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116,
	0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7,
	0xc67178f2,
};

static uint32_t rotr(uint32_t x, unsigned n)
{
	return x >> n | x << (32 - n);
}

static void schedule(const uint8_t *block, uint32_t w[N_ROUNDS])
{
	for (unsigned i = 0; i < 16; i++, block += 4)
		w[i] = (uint32_t)block[0] << 24 | (uint32_t)block[1] << 16 |
		       (uint32_t)block[2] << 8 | block[3];
	for (unsigned i = 16; i < N_ROUNDS; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];

		w[i] = w[i - 16] + w[i - 7] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) +
		       (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
	}
}

static void compress(uint32_t h[8], const uint8_t *block)
{
	uint32_t w[N_ROUNDS], v[8];

	schedule(block, w);
	memcpy(v, h, sizeof(v));
	for (unsigned i = 0; i < N_ROUNDS; i++) {
		uint32_t sum1 = rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25);
		uint32_t ch = (v[4] & v[5]) ^ (~v[4] & v[6]);
		uint32_t t1 = v[7] + sum1 + ch + K[i] + w[i];
		uint32_t sum0 = rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22);
		uint32_t maj = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);

		memmove(v + 1, v, 7 * sizeof(v[0]));
		v[4] += t1;
		v[0] = t1 + sum0 + maj;
	}
	for (unsigned i = 0; i < 8; i++)
		h[i] += v[i];
}

void gsb_sha256_init(struct gsb_sha256 *s)
{
	*s = (struct gsb_sha256){
		.state = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c,
			  0x1f83d9ab, 0x5be0cd19},
	};
}

void gsb_sha256_add(struct gsb_sha256 *s, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	while (size) {
		size_t at = s->n_bytes % sizeof(s->block), n = sizeof(s->block) - at;

		if (n > size)
			n = size;
		memcpy(s->block + at, from, n);
		s->n_bytes += n;
		from += n;
		size -= n;
		if (at + n == sizeof(s->block))
			compress(s->state, s->block);
	}
}

void gsb_sha256_end(struct gsb_sha256 *s, uint8_t out[GSB_SHA256_BYTES])
{
	static const uint8_t one = 0x80, zero;
	uint64_t n_bits = s->n_bytes * 8;
	uint8_t length[8];

	gsb_sha256_add(s, &one, 1);
	while (s->n_bytes % sizeof(s->block) != sizeof(s->block) - sizeof(length))
		gsb_sha256_add(s, &zero, 1);
	for (unsigned i = 0; i < sizeof(length); i++)
		length[i] = (uint8_t)(n_bits >> (56 - 8 * i));
	gsb_sha256_add(s, length, sizeof(length));
	for (unsigned i = 0; i < GSB_SHA256_BYTES; i++)
		out[i] = (uint8_t)(s->state[i / 4] >> (24 - 8 * (i % 4)));
}

void gsb_sha256(const void *bytes, size_t size, uint8_t out[GSB_SHA256_BYTES])
{
	struct gsb_sha256 s;

	gsb_sha256_init(&s);
	gsb_sha256_add(&s, bytes, size);
	gsb_sha256_end(&s, out);
}

void gsb_sha256_hex(const uint8_t hash[GSB_SHA256_BYTES], char out[GSB_SHA256_HEX])
{
	static const char digits[] = "0123456789abcdef";

	for (unsigned i = 0; i < GSB_SHA256_BYTES; i++) {
		out[2 * i] = digits[hash[i] >> 4];
		out[2 * i + 1] = digits[hash[i] & 15];
	}
	out[GSB_SHA256_HEX - 1] = 0;
}
