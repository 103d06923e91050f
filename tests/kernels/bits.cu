/* Bit counting, shifts by data, byte permutes, bit fields. */
#include "cuda_words.h"

KERNEL bits(const unsigned int *in, unsigned int *out, const uint64_t *in64, uint64_t *out64, int n)
{
	int i = CTA_X * NTID_X + TID_X;

	if (i >= n)
		return;
	unsigned int v = in[i];
	uint64_t w = in64[i];

	out[i] = POPC(v) + (v ? CLZ(v) : 32) + ((v << 7) | (v >> 25)) + ((v >> 5) & 0x3ff);
	out[i] ^= BREV(v);
	out64[i] = (w << (v % 64)) ^ (w >> (v % 61)) ^ (w << 1 | v >> 31);
}
