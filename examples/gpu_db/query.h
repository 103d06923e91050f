/*
 * query.h - a query: what it reads, how it runs on the GPU, and how the CPU answers it.
 */
#ifndef GPU_DB_QUERY_H
#define GPU_DB_QUERY_H

#include "reference.h"
#include "session.h"

struct query {
	const char *name, *title;
	unsigned columns; /* a bit per column */
	const char *image;
	enum load_path path;
	uint64_t (*device_bytes)(const struct sizes *sizes); /* peak, about */
	/* Everything from the columns in host memory to the result in host memory. */
	void (*run)(struct session *s, const struct program *p, const struct data *d,
		    struct result *out);
	int (*reference)(const struct data *d, struct result *out);
};

extern const struct query query_join2, query_join3, query_md5, query_matmul, query_distance;

/* A result whose words were fetched: rows, words (consumed) and their checksum. */
struct result result_of_words(uint64_t rows, uint32_t *words, uint64_t n_words);

/* The same of a run: of a hot one its checksum, and no words (they are consumed). */
struct result result_of_run(const struct session *s, uint64_t rows, uint32_t *words,
			    uint64_t n_words);

/* malloc, or the end of the program with one line. */
void *host_alloc(size_t bytes, const char *what);

#endif
