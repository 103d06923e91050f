/*
 * session.c - see session.h.
 */
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "images.h"

#define STAGING_BYTES	 (UINT64_C(4) << 20)
#define CHECK_BLOCKS_MAX 256
#define CHECK_THREADS	 128
#define JIT_LOG_BYTES	 1024

uint64_t clock_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* ---- set-up ---- */

static void open_device(struct session *s)
{
	int n = 0;

	cu_open();
	CU(cuInit, (0), "starting the driver");
	CU(cuDriverGetVersion, (&s->driver_version), "asking for the driver's version");
	CU(cuDeviceGetCount, (&n), "counting devices");
	if (n == 0)
		die("the driver sees no device");
	CU(cuDeviceGet, (&s->device, 0), "taking device 0");
	CU(cuDeviceGetName, (s->device_name, sizeof(s->device_name), s->device), "naming device 0");
	CU(cuDevicePrimaryCtxRetain, (&s->context, s->device), "making a context");
	CU(cuCtxSetCurrent, (s->context), "making the context current");
}

static void open_check(struct session *s)
{
	session_load(s, &s->check, "check", LOAD_MODULE);
	s->checksum = program_kernel(&s->check, "column_checksum");
	s->row_checksum = program_kernel(&s->check, "row_checksum");
	s->column_sums = device_alloc(COLUMN_N * sizeof(uint64_t), "column sums");
	s->hot_sum = device_alloc(sizeof(uint64_t), "a checksum");
	s->hot_checksum = pinned_alloc(sizeof(uint64_t), "a checksum");
}

static void close_check(struct session *s)
{
	device_free(s->column_sums, "column sums");
	device_free(s->hot_sum, "a checksum");
	pinned_free(s->hot_checksum, "a checksum");
	session_unload(&s->check);
}

struct session *session_create(const struct session_options *options)
{
	struct session *s = calloc(1, sizeof(*s));

	if (!s)
		die("no memory");
	s->options = *options;
	open_device(s);
	CU(cuStreamCreate, (&s->copy, CU_STREAM_NON_BLOCKING), "making the copy stream");
	for (unsigned i = 0; i < options->n_streams; i++)
		CU(cuStreamCreate, (&s->stream[i], CU_STREAM_DEFAULT), "making stream %u", i);
	for (unsigned i = 0; i < 2; i++) {
		s->staging[i].host = pinned_alloc(STAGING_BYTES, "staging");
		s->staging[i].drained = event_create(CU_EVENT_DISABLE_TIMING);
	}
	if (options->verify || options->hot)
		open_check(s);
	return s;
}

void session_destroy(struct session *s)
{
	if (!s)
		return;
	if (s->options.verify || s->options.hot)
		close_check(s);
	for (size_t i = 0; i < s->n_spans_made; i++) {
		event_destroy(s->span[i].begin);
		event_destroy(s->span[i].end);
	}
	for (unsigned i = 0; i < 2; i++) {
		event_destroy(s->staging[i].drained);
		pinned_free(s->staging[i].host, "staging");
	}
	for (unsigned i = 0; i < s->options.n_streams; i++)
		CU(cuStreamDestroy_v2, (s->stream[i]), "ending stream %u", i);
	CU(cuStreamDestroy_v2, (s->copy), "ending the copy stream");
	CU(cuCtxSetCurrent, (NULL), "leaving the context");
	CU(cuDevicePrimaryCtxRelease_v2, (s->device), "releasing the context");
	free(s->span);
	free(s);
}

void session_require(uint64_t bytes)
{
	size_t available = 0, total = 0;

	CU(cuMemGetInfo_v2, (&available, &total), "asking for free memory");
	if (bytes > available)
		die("the query needs %llu MiB of device memory, %zu MiB of %zu are free: generate a "
		    "smaller data set (--scale)",
		    (unsigned long long)(bytes >> 20), available >> 20, total >> 20);
}

/* ---- programs ---- */

static const struct image *image_find(const char *name, const char *format)
{
	char file[64];

	snprintf(file, sizeof(file), "%s.%s", name, format);
	for (size_t i = 0; i < gpu_db_n_images; i++) {
		if (strcmp(gpu_db_images[i].file, file) == 0)
			return &gpu_db_images[i];
	}
	die("this program holds no %s: it was built without nvcc; use --image ptx", file);
}

static void load_with_log(struct program *p, const struct image *image)
{
	char log[JIT_LOG_BYTES] = "";
	int options[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SZ};
	void *values[] = {log, (void *)(uintptr_t)sizeof(log)};
	CUresult result = cu.cuModuleLoadDataEx(&p->module, image->bytes, 2, options, values);

	cu_check(result, "cuModuleLoadDataEx", "loading %s%s%.150s", image->file, *log ? ": " : "",
		 log);
}

void session_load(struct session *s, struct program *p, const char *name, enum load_path path)
{
	const struct image *image = image_find(name, s->options.image);

	*p = (struct program){.name = name};
	switch (path) {
	case LOAD_MODULE:
		CU(cuModuleLoadData, (&p->module, image->bytes), "loading %s", image->file);
		break;
	case LOAD_MODULE_EX: load_with_log(p, image); break;
	case LOAD_LIBRARY:
		CU(cuLibraryLoadData, (&p->library, image->bytes, NULL, NULL, 0, NULL, NULL, 0),
		   "loading %s as a library", image->file);
		break;
	}
}

void session_unload(struct program *p)
{
	if (p->module)
		CU(cuModuleUnload, (p->module), "unloading %s", p->name);
	if (p->library)
		CU(cuLibraryUnload, (p->library), "unloading %s", p->name);
}

/* The driver takes a CUkernel where it takes a CUfunction: NVIDIA's runtime launches that way too. */
struct kernel program_kernel(const struct program *p, const char *name)
{
	struct kernel k = {.name = name};
	CUkernel kernel;

	if (p->module) {
		CU(cuModuleGetFunction, (&k.function, p->module, name), "finding kernel %s", name);
	} else {
		CU(cuLibraryGetKernel, (&kernel, p->library, name), "finding kernel %s", name);
		k.function = (CUfunction)kernel;
	}
	return k;
}

void launch(struct session *s, CUstream stream, const struct kernel *k, const struct grid *g,
	    void **arguments)
{
	CU(cuLaunchKernel,
	   (k->function, g->x, g->y, 1, g->block_x, g->block_y, 1, g->shared_bytes, stream,
	    arguments, NULL),
	   "launching %s, %ux%u blocks of %ux%u", k->name, g->x, g->y, g->block_x, g->block_y);
	s->books.kernels++;
}

/* ---- the books of a run ---- */

void run_begin(struct session *s)
{
	s->n_spans = 0;
	s->books = (struct run_books){.repetitions = 1};
	s->checked = 0;
	s->damage.text[0] = '\0';
	if (s->options.verify)
		CU(cuMemsetD8_v2, (s->column_sums, 0, COLUMN_N * sizeof(uint64_t)),
		   "clearing the column sums");
	s->phase = PHASE_READ;
	s->phase_since_ns = clock_ns();
}

void session_enter(struct session *s, enum phase phase)
{
	uint64_t now = clock_ns();

	s->books.wall_ns[s->phase] += now - s->phase_since_ns;
	s->phase = phase;
	s->phase_since_ns = now;
}

/* All spans have been passed: their events are free for the next ones. */
static void close_spans(struct session *s)
{
	for (size_t i = 0; i < s->n_spans; i++) {
		const struct span *span = &s->span[i];
		float ms = 0;

		CU(cuEventElapsedTime, (&ms, span->begin, span->end), "reading a timer");
		s->books.device_ms[span->phase] += ms;
	}
	s->n_spans = 0;
}

void run_end(struct session *s)
{
	CU(cuCtxSynchronize, (), "waiting for the end of the query");
	session_enter(s, s->phase);
	close_spans(s);
}

static void span_make(struct session *s)
{
	struct span *more = realloc(s->span, (s->n_spans_made + 1) * sizeof(*more));

	if (!more)
		die("no memory");
	s->span = more;
	s->span[s->n_spans_made++] = (struct span){.begin = event_create(CU_EVENT_DEFAULT),
						   .end = event_create(CU_EVENT_DEFAULT)};
}

size_t span_begin(struct session *s, enum phase phase, CUstream stream)
{
	size_t i = s->n_spans++;

	if (i == s->n_spans_made)
		span_make(s);
	s->span[i].phase = phase;
	CU(cuEventRecord, (s->span[i].begin, stream), "starting a timer");
	return i;
}

void span_end(struct session *s, size_t span, CUstream stream)
{
	CU(cuEventRecord, (s->span[span].end, stream), "stopping a timer");
}

/* ---- memory and copies ---- */

CUdeviceptr device_alloc(uint64_t bytes, const char *what)
{
	CUdeviceptr address = 0;

	CU(cuMemAlloc_v2, (&address, bytes), "allocating %llu bytes for %s",
	   (unsigned long long)bytes, what);
	return address;
}

void device_free(CUdeviceptr address, const char *what)
{
	CU(cuMemFree_v2, (address), "freeing %s", what);
}

void *pinned_alloc(uint64_t bytes, const char *what)
{
	void *address = NULL;

	CU(cuMemHostAlloc, (&address, bytes, 0), "allocating %llu pinned bytes for %s",
	   (unsigned long long)bytes, what);
	return address;
}

void pinned_free(void *address, const char *what)
{
	CU(cuMemFreeHost, (address), "freeing pinned %s", what);
}

CUevent event_create(unsigned flags)
{
	CUevent event = NULL;

	CU(cuEventCreate, (&event, flags), "making an event");
	return event;
}

void event_destroy(CUevent event)
{
	CU(cuEventDestroy_v2, (event), "ending an event");
}

void upload_staged(struct session *s, CUdeviceptr to, const struct column *c)
{
	uint64_t bytes = c->rows * sizeof(*c->words);

	for (uint64_t at = 0, i = 0; at < bytes; at += STAGING_BYTES, i++) {
		struct staging *stage = &s->staging[i % 2];
		uint64_t n = bytes - at < STAGING_BYTES ? bytes - at : STAGING_BYTES;

		/* An event that was never recorded counts as complete. */
		CU(cuEventSynchronize, (stage->drained), "waiting for a staging buffer");
		memcpy(stage->host, (const char *)c->words + at, n);
		CU(cuMemcpyHtoDAsync_v2, (to + at, stage->host, n, s->copy),
		   "copying %llu pinned bytes to the device", (unsigned long long)n);
		CU(cuEventRecord, (stage->drained, s->copy), "marking a staging buffer");
	}
	s->books.bytes_in += bytes;
}

void upload_pageable(struct session *s, CUdeviceptr to, const void *from, uint64_t bytes,
		     CUstream stream)
{
	CU(cuMemcpyHtoDAsync_v2, (to, from, bytes, stream), "copying %llu bytes to the device",
	   (unsigned long long)bytes);
	s->books.bytes_in += bytes;
}

void download(struct session *s, void *to, CUdeviceptr from, uint64_t bytes, CUstream stream)
{
	CU(cuMemcpyDtoHAsync_v2, (to, from, bytes, stream), "copying %llu bytes from the device",
	   (unsigned long long)bytes);
	s->books.bytes_out += bytes;
}

/* ---- hot runs ---- */

static struct grid checksum_grid(uint32_t items)
{
	return (struct grid){.x = clamp(div_up(items, 8 * CHECK_THREADS), 1, CHECK_BLOCKS_MAX),
			     .y = 1,
			     .block_x = CHECK_THREADS,
			     .block_y = 1};
}

void hot_begin(struct session *s, CUstream stream)
{
	s->hot_since_ns = clock_ns();
	if (s->books.repetitions == 1)
		s->hot_begin_ns = s->hot_since_ns;
	CU(cuMemsetD32Async, (s->hot_sum, 0, 2, stream), "clearing a checksum");
	/* Other streams add to it. */
	CU(cuStreamSynchronize, (stream), "clearing a checksum");
}

void hot_add_words(struct session *s, CUstream stream, CUdeviceptr at, uint32_t words)
{
	struct grid g = checksum_grid(words);
	uint64_t first = 0;

	launch(s, stream, &s->checksum, &g, ARGS(&at, &words, &first, &s->hot_sum));
}

void hot_add_rows(struct session *s, CUstream stream, const CUdeviceptr column[3], uint32_t rows)
{
	CUdeviceptr r = column[0], other = column[1], z = column[2];
	struct grid g = checksum_grid(rows);

	launch(s, stream, &s->row_checksum, &g, ARGS(&r, &other, &z, &rows, &s->hot_sum));
}

/* The checksum is here; the books of this repetition are closed. */
static void end_repetition(struct session *s)
{
	uint64_t took;

	CU(cuCtxSynchronize, (), "waiting for the end of the query");
	download(s, s->hot_checksum, s->hot_sum, sizeof(*s->hot_checksum), s->copy);
	CU(cuStreamSynchronize, (s->copy), "reading a checksum");
	close_spans(s);
	took = clock_ns() - s->hot_since_ns;
	if (!s->books.best_ns || took < s->books.best_ns)
		s->books.best_ns = took;
}

bool hot_again(struct session *s)
{
	unsigned n = s->books.repetitions;

	if (!s->options.hot)
		return false;
	end_repetition(s);
	if (n == 1)
		s->hot_first = *s->hot_checksum;
	if (*s->hot_checksum != s->hot_first) {
		explain(&s->damage, 0, "repetition %u has checksum %016llx, the first had %016llx",
			n, (unsigned long long)*s->hot_checksum, (unsigned long long)s->hot_first);
		return false;
	}
	if (s->options.loop_s > 0 ? (clock_ns() - s->hot_begin_ns) / 1e9 >= s->options.loop_s
				  : n >= s->options.repeat)
		return false;
	s->books.repetitions++;
	return true;
}

/* ---- columns in device memory ---- */

void session_check(struct session *s, CUstream stream, const struct slice *slice)
{
	struct slice c = *slice;
	CUdeviceptr sum = s->column_sums + c.id * sizeof(uint64_t);
	struct grid g = checksum_grid(c.words);

	/* What was summed in the first repetition lies there in all. */
	if (!s->options.verify || s->books.repetitions > 1)
		return;
	launch(s, stream, &s->checksum, &g, ARGS(&c.at, &c.words, &c.first, &sum));
	s->checked |= 1u << c.id;
}

int session_compare(struct session *s, const struct data *d, struct failure *f)
{
	uint64_t sums[COLUMN_N];

	if (!s->options.verify)
		return 0;
	CU(cuMemcpyDtoH_v2, (sums, s->column_sums, sizeof(sums)), "reading the column sums");
	for (unsigned id = 0; id < COLUMN_N; id++) {
		if (s->checked & 1u << id && sums[id] != d->column[id].checksum)
			return explain(
				f, -EBADMSG,
				"column %s in device memory: checksum %016llx, its file has %016llx",
				column_name(id), (unsigned long long)sums[id],
				(unsigned long long)d->column[id].checksum);
	}
	return 0;
}
