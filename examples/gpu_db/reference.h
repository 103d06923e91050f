/*
 * reference.h - the five queries on the CPU, written another way than the kernels.
 *
 * What --verify compares with. Joins group rows by key instead of hashing; md5 takes its constants from
 * the sine, as RFC 1321 defines them; the two float queries repeat the kernels' order of operations
 * with correctly rounded arithmetic, so that results must agree in every bit.
 */
#ifndef GPU_DB_REFERENCE_H
#define GPU_DB_REFERENCE_H

#include "data.h"

/* What a query answers. The words are the answer itself where it is small enough to keep. */
struct result {
	uint64_t rows;
	uint64_t checksum;
	union {
		uint32_t *words; /* owned; NULL for joins */
		float *floats;
	};
	uint64_t n_words;
};

void result_finish(struct result *r);

/* Each: 0, -ENOMEM. `out` is freed with result_finish(), and untouched on failure. */
int reference_join2(const struct data *d, struct result *out);
int reference_join3(const struct data *d, struct result *out);
int reference_md5(const struct data *d, struct result *out);
int reference_matmul(const struct data *d, struct result *out);
int reference_distance(const struct data *d, struct result *out);

/* The digest of one message given as words: what reference_md5() uses, open to tests of RFC vectors. */
void md5_digest(const uint32_t *words, uint32_t n_words, uint32_t stride, uint32_t digest[4]);

#endif
