/*
 * data.c - see data.h.
 */
#include "data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "mix.h"

/* splitmix64: a counter and the mixing function. Each column has a stream of its own. */
struct random {
	uint64_t state;
};

static uint64_t random_next(struct random *r)
{
	r->state += 0x9e3779b97f4a7c15u;
	return mix(r->state);
}

/* Uniform in [0, n) by multiplication: the bias, below n / 2^32, does not matter here. */
static uint32_t random_below(struct random *r, uint32_t n)
{
	return (uint32_t)((random_next(r) >> 32) * n >> 32);
}

/* Uniform in [1, 2) with all 23 bits of the fraction in use */
static uint32_t random_float_bits(struct random *r)
{
	return 0x3f800000u | (uint32_t)(random_next(r) >> 41);
}

uint64_t data_rows(const struct sizes *sizes, enum column_id id)
{
	switch (id) {
	case COLUMN_R_KEY:
	case COLUMN_R_VAL: return sizes->r_rows;
	case COLUMN_S_KEY:
	case COLUMN_S_VAL:
	case COLUMN_Z_KEY:
	case COLUMN_Z_VAL: return (uint64_t)sizes->chunk_rows * JOIN_CHUNKS;
	case COLUMN_TEXT: return sizes->md5_words;
	case COLUMN_A:
	case COLUMN_B: return (uint64_t)sizes->matrix_n * sizes->matrix_n;
	case COLUMN_X:
	case COLUMN_Y: return sizes->atoms;
	case COLUMN_N: break;
	}
	return 0;
}

/* Every key once, the rest of the rows at random, then all shuffled (Fisher and Yates). */
static void fill_covering_keys(uint32_t *key, uint64_t rows, uint32_t range, struct random *r)
{
	for (uint64_t i = 0; i < rows; i++)
		key[i] = i < range ? (uint32_t)i : random_below(r, range);
	for (uint64_t i = rows; i > 1; i--) {
		uint32_t j = random_below(r, (uint32_t)i);
		uint32_t other = key[j];

		key[j] = key[i - 1];
		key[i - 1] = other;
	}
}

static void fill(const struct sizes *sizes, enum column_id id, struct random *r, struct column *c)
{
	switch (id) {
	case COLUMN_S_KEY:
	case COLUMN_Z_KEY: fill_covering_keys(c->words, c->rows, sizes->key_range, r); return;
	default: break;
	}
	for (uint64_t i = 0; i < c->rows; i++) {
		switch (id) {
		case COLUMN_R_KEY: c->words[i] = random_below(r, sizes->key_range); break;
		case COLUMN_R_VAL:
		case COLUMN_S_VAL:
		case COLUMN_Z_VAL: c->words[i] = (uint32_t)i; break;
		case COLUMN_TEXT: c->words[i] = (uint32_t)random_next(r); break;
		default: c->words[i] = random_float_bits(r); break;
		}
	}
}

int data_generate(const struct sizes *sizes, uint64_t seed, enum column_id id, struct column *out)
{
	struct random r = {.state = mix(seed) + mix((uint64_t)id + 1)};
	struct column c = {.rows = data_rows(sizes, id), .seed = seed, .scale = sizes->scale};

	c.words = malloc(c.rows * sizeof(*c.words));
	if (!c.words)
		return -ENOMEM;
	fill(sizes, id, &r, &c);
	c.checksum = mix_words(c.words, c.rows);
	*out = c;
	return 0;
}

/* `first` is the column that was read first: all must come from the same scale and seed. */
static int check_belongs(const char *dir, enum column_id id, const struct column *c,
			 const struct column *first, struct failure *f)
{
	struct sizes sizes;

	if (c->seed != first->seed || c->scale != first->scale)
		return explain(
			f, -EINVAL,
			"%s/%s.col: of another data set (scale %g, seed %llu; expected %g, %llu): "
			"generate again",
			dir, column_name(id), c->scale, (unsigned long long)c->seed, first->scale,
			(unsigned long long)first->seed);
	if (sizes_of(c->scale, &sizes))
		return explain(f, -EINVAL, "%s/%s.col: scale %g is out of range: generate again",
			       dir, column_name(id), c->scale);
	if (c->rows != data_rows(&sizes, id))
		return explain(f, -EINVAL,
			       "%s/%s.col: %llu rows, scale %g has %llu: generate again", dir,
			       column_name(id), (unsigned long long)c->rows, c->scale,
			       (unsigned long long)data_rows(&sizes, id));
	return 0;
}

int data_read(const char *dir, unsigned ids, struct data *out, struct failure *f)
{
	const struct column *first = NULL;
	struct data d = {0};

	for (unsigned id = 0; id < COLUMN_N; id++) {
		int error;

		if (!(ids & 1u << id))
			continue;
		error = column_read(dir, id, &d.column[id], f);
		if (!first)
			first = &d.column[id];
		if (!error)
			error = check_belongs(dir, id, &d.column[id], first, f);
		if (error) {
			data_finish(&d);
			return error;
		}
	}
	if (first)
		sizes_of(first->scale, &d.sizes);
	*out = d;
	return 0;
}

void data_finish(struct data *d)
{
	if (!d)
		return;
	for (unsigned id = 0; id < COLUMN_N; id++)
		column_finish(&d->column[id]);
}
