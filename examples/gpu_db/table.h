/*
 * table.h - hash tables in device memory, and the prefix sum that builds them.
 *
 * kernels/join.cu says how a table is built. A build holds what only the building needs: the columns
 * as they came, the histograms, and scratch; it is freed when the table stands. join.c fills the
 * columns, and probes.
 */
#ifndef GPU_DB_TABLE_H
#define GPU_DB_TABLE_H

#include "session.h"

/* Geometry of the paper at scale 1: build 64 x 128, prefix sum 512 x 128 in tiles of 256 items. */
#define JOIN_THREADS 128
#define WORD	     sizeof(uint32_t)

struct table_kernels {
	struct kernel hist, build, scan, update;
};

struct table {
	uint32_t rows, mask,
		stride;	      /* stride: threads that built it, cells per bucket in `start` */
	CUdeviceptr key, val; /* the rows, bucket by bucket */
	CUdeviceptr start;
};

struct build {
	struct table *table;
	CUstream stream;
	CUdeviceptr key, val; /* the columns, in `stream` */
	CUdeviceptr hist, sums;
};

struct scan {
	CUdeviceptr in, out, sums; /* sums: scan_scratch_words() of scratch */
	uint32_t items;
};

struct table_kernels table_kernels(const struct program *p);

/* Blocks of JOIN_THREADS threads. */
struct grid blocks_of(uint32_t blocks);

uint32_t scan_scratch_words(uint32_t items);

/* Exclusive prefix sum, from in to out, which may be the same. Gives the address of the total. */
CUdeviceptr prefix_sum(struct session *s, const struct table_kernels *k, CUstream stream,
		       const struct scan *scan);

/* Allocates the table and its build; the caller fills the build's columns in `stream`. */
void build_init(struct build *b, struct table *t, uint32_t rows, uint32_t buckets, CUstream stream);
void build_run(struct session *s, const struct table_kernels *k, struct build *b);
void build_finish(struct build *b);
void table_finish(struct table *t);

/* Device memory of a table under construction: two copies of the rows, two arrays of histograms. */
uint64_t table_bytes(uint32_t rows, uint32_t buckets);

#endif
