/*
 * session.h - one connection to the GPU: context, streams, staging, programs, and the books of a run.
 *
 * The queries are written with these few calls. A session has K compute streams, which obey the
 * legacy default stream, and one copy stream, which does not. Uploads of large columns go through two
 * pinned staging buffers in turn. Every piece of device work is timed by a pair of events (a span)
 * and charged to a phase of the query; host time is charged by session_enter(). With verification on,
 * session_check() sums a column where it lies in device memory, to be compared with the file's sum.
 *
 * A hot run reads its columns once and then repeats its kernels over them, as an in-memory database does: of each
 * repetition only the checksum of its result comes back, and each must be that of the first.
 *
 * A failed driver call ends the program (cu.h), so nothing here returns an error. One thread only.
 */
#ifndef GPU_DB_SESSION_H
#define GPU_DB_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "cu.h"
#include "data.h"

#define SESSION_STREAMS_MAX 16

enum phase { PHASE_READ, PHASE_BUILD, PHASE_JOIN, PHASE_COMPUTE, PHASE_FETCH, PHASE_N };

struct run_books {
	uint64_t wall_ns[PHASE_N];
	double device_ms[PHASE_N]; /* of all streams together, so it may exceed the wall time */
	uint64_t kernels;
	uint64_t bytes_in, bytes_out; /* host to device, device to host */
	unsigned repetitions;	      /* of a hot run; else 1 */
	uint64_t best_ns;	      /* of them; 0: not known */
};

struct session_options {
	const char *image; /* "ptx" or "fatbin" */
	unsigned n_streams;
	bool verify;
	bool hot;
	unsigned repeat; /* hot: so many repetitions, if loop_s is 0, */
	double loop_s;	 /* else for so long */
};

enum load_path { LOAD_MODULE, LOAD_MODULE_EX, LOAD_LIBRARY };

struct program {
	const char *name;
	CUmodule module; /* one of the two */
	CUlibrary library;
};

struct kernel {
	CUfunction function;
	const char *name;
};

struct grid {
	unsigned x, y, block_x, block_y, shared_bytes;
};

struct staging {
	void *host;
	CUevent drained; /* recorded after the copy out of `host` */
};

struct span {
	enum phase phase;
	CUevent begin, end;
};

struct session {
	struct session_options options;
	CUdevice device;
	CUcontext context;
	char device_name[128];
	int driver_version;
	CUstream stream[SESSION_STREAMS_MAX], copy;
	struct staging staging[2];
	struct span *span; /* events are made once and used again by the next run */
	size_t n_spans, n_spans_made;
	enum phase phase;
	uint64_t phase_since_ns;
	struct run_books books;
	struct program check;
	struct kernel checksum;
	CUdeviceptr column_sums; /* a 64-bit sum per column */
	unsigned checked;	 /* columns summed in this run, a bit each */
	struct kernel row_checksum;
	CUdeviceptr hot_sum;		     /* of a repetition's result */
	uint64_t *hot_checksum;		     /* pinned: the same, when it has come back */
	uint64_t hot_first;		     /* of the first repetition */
	uint64_t hot_begin_ns, hot_since_ns; /* of the first repetition; of this one */
	struct failure damage; /* what the device returned that cannot be; empty: nothing */
};

struct session *session_create(const struct session_options *options);
void session_destroy(struct session *s);

/* Ends the program with one line if the device has less memory free than `bytes`. */
void session_require(uint64_t bytes);

void session_load(struct session *s, struct program *p, const char *name, enum load_path path);
void session_unload(struct program *p);
struct kernel program_kernel(const struct program *p, const char *name);

/* A run: begin, the query's work, end (which waits for the device and closes the books). */
void run_begin(struct session *s);
void run_end(struct session *s);
void session_enter(struct session *s, enum phase phase);
size_t span_begin(struct session *s, enum phase phase, CUstream stream);
void span_end(struct session *s, size_t span, CUstream stream);

CUdeviceptr device_alloc(uint64_t bytes, const char *what);
void device_free(CUdeviceptr address, const char *what);
void *pinned_alloc(uint64_t bytes, const char *what);
void pinned_free(void *address, const char *what);
CUevent event_create(unsigned flags);
void event_destroy(CUevent event);

/* The whole column, through the pinned staging buffers, on the copy stream. */
void upload_staged(struct session *s, CUdeviceptr to, const struct column *c);
/* Straight from pageable memory; the call returns when the source has been read. */
void upload_pageable(struct session *s, CUdeviceptr to, const void *from, uint64_t bytes,
		     CUstream stream);
void download(struct session *s, void *to, CUdeviceptr from, uint64_t bytes, CUstream stream);

void launch(struct session *s, CUstream stream, const struct kernel *k, const struct grid *g,
	    void **arguments);
/* Arguments of launch(): the addresses of the kernel's parameters, in order. */
#define ARGS(...) ((void *[]){__VA_ARGS__})

/* A part of a column in device memory; the queries check each part once. */
struct slice {
	enum column_id id;
	CUdeviceptr at;
	uint64_t first; /* position of its first word in the column */
	uint32_t words;
};

/* The kernels of a hot run: a repetition begins, */
void hot_begin(struct session *s, CUstream stream);
/* adds words, or rows of a join's result (z: 0 for two columns), to its checksum, */
void hot_add_words(struct session *s, CUstream stream, CUdeviceptr at, uint32_t words);
void hot_add_rows(struct session *s, CUstream stream, const CUdeviceptr column[3], uint32_t rows);
/* and ends, when all streams are done. True: there is another. Of a run that is not hot: false, at once. */
bool hot_again(struct session *s);

/* With verification on: adds the slice to the sum of its column, in stream order. */
void session_check(struct session *s, CUstream stream, const struct slice *slice);
/* After run_end(): every sum that was made agrees with the files; else the reason in @f. */
int session_compare(struct session *s, const struct data *d, struct failure *f);

uint64_t clock_ns(void);

static inline uint32_t div_up(uint32_t n, uint32_t d)
{
	return n / d + (n % d != 0);
}

static inline uint32_t clamp(uint32_t n, uint32_t least, uint32_t most)
{
	return n < least ? least : n > most ? most : n;
}

#endif
