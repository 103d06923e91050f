/*
 * reference.c - see reference.h.
 */
#include "reference.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"

void result_finish(struct result *r)
{
	if (!r)
		return;
	free(r->words);
	*r = (struct result){0};
}

/* Rows of a table grouped by key: those of key k are row[first[k]] .. row[first[k + 1] - 1]. */
struct groups {
	uint32_t *first, *row;
	uint32_t range;
};

static void groups_finish(struct groups *g)
{
	free(g->first);
	free(g->row);
}

static int groups_init(struct groups *g, const struct column *key, uint32_t range)
{
	g->range = range;
	g->first = calloc((size_t)range + 2, sizeof(*g->first));
	g->row = malloc(key->rows * sizeof(*g->row) + 1);
	if (!g->first || !g->row) {
		groups_finish(g);
		return -ENOMEM;
	}
	/* A counting sort; keys are counted two cells up, so that filling ends with first[] in place. */
	for (uint64_t i = 0; i < key->rows; i++) {
		if (key->words[i] < range)
			g->first[key->words[i] + 2]++;
	}
	for (uint32_t k = 2; k <= range + 1; k++)
		g->first[k] += g->first[k - 1];
	for (uint64_t i = 0; i < key->rows; i++) {
		if (key->words[i] < range)
			g->row[g->first[key->words[i] + 1]++] = (uint32_t)i;
	}
	return 0;
}

int reference_join2(const struct data *d, struct result *out)
{
	const struct column *s = &d->column[COLUMN_S_KEY];
	const uint32_t *r_val = d->column[COLUMN_R_VAL].words;
	const uint32_t *s_val = d->column[COLUMN_S_VAL].words;
	struct result result = {0};
	struct groups r;

	if (groups_init(&r, &d->column[COLUMN_R_KEY], d->sizes.key_range))
		return -ENOMEM;
	for (uint64_t i = 0; i < s->rows; i++) {
		uint32_t k = s->words[i];

		if (k >= r.range)
			continue;
		result.rows += r.first[k + 1] - r.first[k];
		for (uint32_t j = r.first[k]; j < r.first[k + 1]; j++)
			result.checksum += mix_pair(r_val[r.row[j]], s_val[i]);
	}
	groups_finish(&r);
	*out = result;
	return 0;
}

int reference_join3(const struct data *d, struct result *out)
{
	const struct column *s = &d->column[COLUMN_S_KEY];
	const uint32_t *r_val = d->column[COLUMN_R_VAL].words;
	const uint32_t *s_val = d->column[COLUMN_S_VAL].words;
	const uint32_t *z_val = d->column[COLUMN_Z_VAL].words;
	struct result result = {0};
	struct groups r, z;

	if (groups_init(&r, &d->column[COLUMN_R_KEY], d->sizes.key_range))
		return -ENOMEM;
	if (groups_init(&z, &d->column[COLUMN_Z_KEY], d->sizes.key_range)) {
		groups_finish(&r);
		return -ENOMEM;
	}
	for (uint64_t i = 0; i < s->rows; i++) {
		uint32_t k = s->words[i];

		if (k >= r.range)
			continue;
		for (uint32_t j = r.first[k]; j < r.first[k + 1]; j++) {
			for (uint32_t l = z.first[k]; l < z.first[k + 1]; l++)
				result.checksum +=
					mix_triple(r_val[r.row[j]], s_val[i], z_val[z.row[l]]);
			result.rows += z.first[k + 1] - z.first[k];
		}
	}
	groups_finish(&r);
	groups_finish(&z);
	*out = result;
	return 0;
}

static void md5_block(uint32_t state[4], const uint32_t m[16])
{
	static const unsigned shift[4][4] = {
		{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
	static const unsigned factor[4] = {1, 5, 3, 7}, offset[4] = {0, 1, 5, 0};
	static uint32_t sine[64];
	uint32_t a = state[0], b = state[1], c = state[2], d = state[3];

	for (unsigned i = 0; !sine[63] && i < 64; i++)
		sine[i] = (uint32_t)floor(4294967296.0 * fabs(sin(i + 1)));
	for (unsigned i = 0; i < 64; i++) {
		unsigned round = i / 16, s = shift[round][i % 4];
		uint32_t f = round == 0	  ? (b & c) | (~b & d)
			     : round == 1 ? (d & b) | (~d & c)
			     : round == 2 ? b ^ c ^ d
					  : c ^ (b | ~d);
		uint32_t sum = a + f + sine[i] + m[(i * factor[round] + offset[round]) % 16];

		a = d;
		d = c;
		c = b;
		b += sum << s | sum >> (32 - s);
	}
	state[0] += a;
	state[1] += b;
	state[2] += c;
	state[3] += d;
}

void md5_digest(const uint32_t *words, uint32_t n_words, uint32_t stride, uint32_t digest[4])
{
	uint32_t state[4] = {0x67452301u, 0xefcdab89u, 0x98badcfeu, 0x10325476u};
	uint64_t bits = (uint64_t)n_words * 32;
	/* the message, a 1 bit, zeros, and the length in the last two words of a block */
	uint32_t padded = (n_words + 3 + 15) / 16 * 16;
	uint32_t m[16];

	for (uint32_t i = 0; i < padded; i++) {
		m[i % 16] = i < n_words	      ? words[(uint64_t)i * stride]
			    : i == n_words    ? 0x80
			    : i == padded - 2 ? (uint32_t)bits
			    : i == padded - 1 ? (uint32_t)(bits >> 32)
					      : 0;
		if (i % 16 == 15)
			md5_block(state, m);
	}
	memcpy(digest, state, sizeof(state));
}

static int result_words(struct result *r, uint64_t rows, uint64_t n_words)
{
	*r = (struct result){.rows = rows, .n_words = n_words};
	r->words = calloc(n_words, sizeof(*r->words));
	return r->words ? 0 : -ENOMEM;
}

int reference_md5(const struct data *d, struct result *out)
{
	const uint32_t *words = d->column[COLUMN_TEXT].words;
	struct result r;

	if (result_words(&r, MD5_MESSAGES, MD5_MESSAGES * 4))
		return -ENOMEM;
	for (uint32_t m = 0; m < MD5_MESSAGES; m++)
		md5_digest(words + m, d->sizes.md5_words / MD5_MESSAGES, MD5_MESSAGES,
			   r.words + 4 * m);
	r.checksum = mix_words(r.words, r.n_words);
	*out = r;
	return 0;
}

/*
 * One row of C: adds a[k] * b[k][0..n) for k ascending, so every cell sees the kernel's order. The
 * body is compiled twice: with FMA in hardware it is vectorised (the constant inner count is what
 * lets -O2 do it; n is a multiple of it), without, fmaf() gives the same bits.
 */
#define MATMUL_LANES 16
#define MATMUL_ROW(name, attributes)                                                  \
	attributes static void name(const float *restrict a, const float *restrict b, \
				    float *restrict c, uint32_t n)                    \
	{                                                                             \
		for (uint32_t k = 0; k < n; k++) {                                    \
			for (uint32_t j = 0; j < n; j += MATMUL_LANES) {              \
				const float *restrict b_part = b + (size_t)k * n + j; \
				for (uint32_t l = 0; l < MATMUL_LANES; l++)           \
					c[j + l] = fmaf(a[k], b_part[l], c[j + l]);   \
			}                                                             \
		}                                                                     \
	}

MATMUL_ROW(matmul_row_any, )
#ifdef __x86_64__
MATMUL_ROW(matmul_row_fma, __attribute__((target("avx2,fma"))))
#endif

int reference_matmul(const struct data *d, struct result *out)
{
	void (*row)(const float *, const float *, float *, uint32_t) = matmul_row_any;
	const float *a = d->column[COLUMN_A].floats;
	const float *b = d->column[COLUMN_B].floats;
	uint32_t n = d->sizes.matrix_n;
	struct result r;

	if (result_words(&r, n, (uint64_t)n * n))
		return -ENOMEM;
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
		row = matmul_row_fma;
#endif
	for (uint32_t i = 0; i < n; i++)
		row(a + (size_t)i * n, b, r.floats + (size_t)i * n, n);
	r.checksum = mix_words(r.words, r.n_words);
	*out = r;
	return 0;
}

static double mean_distance(const float *x, const float *y, const struct sizes *sizes, uint32_t i)
{
	double sum = 0.0, total = 0.0;

	for (uint32_t j = 0; j < sizes->atoms; j++) {
		float dx = x[i] - x[j], dy = y[i] - y[j];

		sum += sqrtf(fmaf(dx, dx, dy * dy));
	}
	/* Every repeat has the same sum, but adding it up rounds: so it is added up here too. */
	for (uint32_t k = 0; k < sizes->repeats; k++)
		total += sum;
	return total / ((double)sizes->repeats * (sizes->atoms - 1));
}

int reference_distance(const struct data *d, struct result *out)
{
	const float *x = d->column[COLUMN_X].floats;
	const float *y = d->column[COLUMN_Y].floats;
	uint32_t n = d->sizes.atoms;
	struct result r;

	if (result_words(&r, n, 2 * (uint64_t)n))
		return -ENOMEM;
	for (uint32_t i = 0; i < n; i++) {
		double mean = mean_distance(x, y, &d->sizes, i);

		memcpy(r.words + 2 * i, &mean, sizeof(mean));
	}
	r.checksum = mix_words(r.words, r.n_words);
	*out = r;
	return 0;
}
