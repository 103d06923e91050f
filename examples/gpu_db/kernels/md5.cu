/*
 * md5.cu - MD5 (RFC 1321) of many interleaved messages, one thread per message.
 *
 * The input is an array of 32-bit words; message m is the words m, m + messages, m + 2 * messages, ...,
 * so that the threads of a warp read neighbouring words. A message is a whole number of 16-word
 * blocks; the padding is then one more block, the same for all. Thread t takes message first + t.
 */
#include "kernel.h"

#define F(x, y, z) ((z) ^ ((x) & ((y) ^ (z))))
#define G(x, y, z) ((y) ^ ((z) & ((x) ^ (y))))
#define H(x, y, z) ((x) ^ (y) ^ (z))
#define I(x, y, z) ((y) ^ ((x) | ~(z)))

#define STEP(f, a, b, c, d, word, shift, constant)                                                 \
	do {                                                                                       \
		u32 sum = (a) + f(b, c, d) + (word) + (constant);                                  \
		(a) = (b) + (sum << (shift) | sum >> (32 - (shift)));                              \
	} while (0)

/* Four steps with the roles of the state's words rotated; word index goes from `w` by `inc`. */
#define QUAD(f, w, inc, s0, s1, s2, s3, k0, k1, k2, k3)                                            \
	do {                                                                                       \
		STEP(f, a, b, c, d, m[(w) % 16], s0, k0);                                          \
		STEP(f, d, a, b, c, m[((w) + (inc)) % 16], s1, k1);                                \
		STEP(f, c, d, a, b, m[((w) + 2 * (inc)) % 16], s2, k2);                            \
		STEP(f, b, c, d, a, m[((w) + 3 * (inc)) % 16], s3, k3);                            \
	} while (0)

static inline __device__ void md5_block(u32 state[4], const u32 m[16])
{
	u32 a = state[0], b = state[1], c = state[2], d = state[3];

	QUAD(F, 0, 1, 7, 12, 17, 22, 0xd76aa478u, 0xe8c7b756u, 0x242070dbu, 0xc1bdceeeu);
	QUAD(F, 4, 1, 7, 12, 17, 22, 0xf57c0fafu, 0x4787c62au, 0xa8304613u, 0xfd469501u);
	QUAD(F, 8, 1, 7, 12, 17, 22, 0x698098d8u, 0x8b44f7afu, 0xffff5bb1u, 0x895cd7beu);
	QUAD(F, 12, 1, 7, 12, 17, 22, 0x6b901122u, 0xfd987193u, 0xa679438eu, 0x49b40821u);

	QUAD(G, 1, 5, 5, 9, 14, 20, 0xf61e2562u, 0xc040b340u, 0x265e5a51u, 0xe9b6c7aau);
	QUAD(G, 5, 5, 5, 9, 14, 20, 0xd62f105du, 0x02441453u, 0xd8a1e681u, 0xe7d3fbc8u);
	QUAD(G, 9, 5, 5, 9, 14, 20, 0x21e1cde6u, 0xc33707d6u, 0xf4d50d87u, 0x455a14edu);
	QUAD(G, 13, 5, 5, 9, 14, 20, 0xa9e3e905u, 0xfcefa3f8u, 0x676f02d9u, 0x8d2a4c8au);

	QUAD(H, 5, 3, 4, 11, 16, 23, 0xfffa3942u, 0x8771f681u, 0x6d9d6122u, 0xfde5380cu);
	QUAD(H, 1, 3, 4, 11, 16, 23, 0xa4beea44u, 0x4bdecfa9u, 0xf6bb4b60u, 0xbebfbc70u);
	QUAD(H, 13, 3, 4, 11, 16, 23, 0x289b7ec6u, 0xeaa127fau, 0xd4ef3085u, 0x04881d05u);
	QUAD(H, 9, 3, 4, 11, 16, 23, 0xd9d4d039u, 0xe6db99e5u, 0x1fa27cf8u, 0xc4ac5665u);

	QUAD(I, 0, 7, 6, 10, 15, 21, 0xf4292244u, 0x432aff97u, 0xab9423a7u, 0xfc93a039u);
	QUAD(I, 12, 7, 6, 10, 15, 21, 0x655b59c3u, 0x8f0ccc92u, 0xffeff47du, 0x85845dd1u);
	QUAD(I, 8, 7, 6, 10, 15, 21, 0x6fa87e4fu, 0xfe2ce6e0u, 0xa3014314u, 0x4e0811a1u);
	QUAD(I, 4, 7, 6, 10, 15, 21, 0xf7537e82u, 0xbd3af235u, 0x2ad7d2bbu, 0xeb86d391u);

	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
}

KERNEL md5_messages(const u32 *words, u32 messages, u32 words_each, u32 first, u32 last, u32 *digest)
{
	u32 message = first + thread_id();
	u32 state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
	u32 m[16];

	if (message >= last)
		return;
	for (u32 block = 0; block < words_each / 16; block++) {
#pragma unroll
		for (u32 w = 0; w < 16; w++)
			m[w] = words[(u64)(block * 16 + w) * messages + message];
		md5_block(state, m);
	}
#pragma unroll
	for (u32 w = 1; w < 16; w++)
		m[w] = 0;
	m[0] = 0x80;
	m[14] = words_each << 5;
	m[15] = words_each >> 27;
	md5_block(state, m);
#pragma unroll
	for (u32 w = 0; w < 4; w++)
		digest[4 * message + w] = state[w];
}
