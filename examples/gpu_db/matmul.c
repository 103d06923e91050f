/*
 * matmul.c - Q4: product of two square matrices, one thread per cell.
 *
 * B goes through pinned staging on the copy stream. A is cut into bands of rows, one per compute
 * stream: each stream uploads its band from pageable memory, waits for B by event, multiplies, and
 * sends its rows of C back. C is a pitched allocation and leaves by a two-dimensional copy.
 */
#include "query.h"

#include <string.h>

#define SIDE 16 /* blocks of 16 x 16 threads, as in the paper */

struct product {
	struct session *s;
	struct kernel kernel;
	uint32_t n;
	CUdeviceptr a, b, c;
	size_t pitch; /* bytes of a row of C */
	uint32_t *host;
	CUevent b_loaded;
};

static void upload_b(struct product *m, const struct column *b)
{
	size_t span = span_begin(m->s, PHASE_READ, m->s->copy);

	upload_staged(m->s, m->b, b);
	span_end(m->s, span, m->s->copy);
	CU(cuEventRecord, (m->b_loaded, m->s->copy), "marking the end of reading B");
}

static void upload_band(struct product *m, CUstream stream, const struct column *a,
			const uint32_t row[2])
{
	uint64_t first = (uint64_t)row[0] * m->n, words = (uint64_t)(row[1] - row[0]) * m->n;
	size_t span = span_begin(m->s, PHASE_READ, stream);

	upload_pageable(m->s, m->a + first * 4, a->words + first, words * 4, stream);
	span_end(m->s, span, stream);
}

static void multiply_band(struct product *m, CUstream stream, uint32_t row[2])
{
	uint32_t pitch_c = (uint32_t)(m->pitch / 4);
	struct grid g = {.x = div_up(m->n, SIDE),
			 .y = div_up(row[1] - row[0], SIDE),
			 .block_x = SIDE,
			 .block_y = SIDE};
	size_t span;

	CU(cuStreamWaitEvent, (stream, m->b_loaded, 0), "waiting for B");
	span = span_begin(m->s, PHASE_COMPUTE, stream);
	launch(m->s, stream, &m->kernel, &g,
	       ARGS(&m->a, &m->n, &m->b, &m->c, &pitch_c, &m->n, &row[0], &row[1]));
	span_end(m->s, span, stream);
}

static void download_band(struct product *m, CUstream stream, const uint32_t row[2])
{
	struct cu_copy_2d copy = {.src_memory_type = CU_MEMORYTYPE_DEVICE,
				  .src_device = m->c,
				  .src_pitch = m->pitch,
				  .src_y = row[0],
				  .dst_memory_type = CU_MEMORYTYPE_HOST,
				  .dst_host = m->host,
				  .dst_pitch = m->n * 4,
				  .dst_y = row[0],
				  .width_bytes = m->n * 4,
				  .height = row[1] - row[0]};
	size_t span = span_begin(m->s, PHASE_FETCH, stream);

	CU(cuMemcpy2DAsync_v2, (&copy, stream), "copying %zu rows of C from the device",
	   copy.height);
	span_end(m->s, span, stream);
	m->s->books.bytes_out += copy.height * copy.width_bytes;
}

static void product_init(struct product *m, struct session *s, const struct program *p, uint32_t n)
{
	uint64_t bytes = (uint64_t)n * n * 4;

	*m = (struct product){.s = s,
			      .kernel = program_kernel(p, "matmul"),
			      .n = n,
			      .a = device_alloc(bytes, "matrix A"),
			      .b = device_alloc(bytes, "matrix B"),
			      .host = pinned_alloc(bytes, "matrix C"),
			      .b_loaded = event_create(CU_EVENT_DISABLE_TIMING)};
	m->pitch = n * 4; /* hot: summed as one column */
	if (s->options.hot)
		m->c = device_alloc(bytes, "matrix C");
	else
		CU(cuMemAllocPitch_v2, (&m->c, &m->pitch, n * 4, n, 4), "allocating %u rows of C",
		   n);
}

static void product_finish(struct product *m)
{
	device_free(m->a, "matrix A");
	device_free(m->b, "matrix B");
	device_free(m->c, "matrix C");
	pinned_free(m->host, "matrix C");
	event_destroy(m->b_loaded);
}

static void check_inputs(struct product *m)
{
	struct slice slice[2] = {{.id = COLUMN_A, .at = m->a, .words = m->n * m->n},
				 {.id = COLUMN_B, .at = m->b, .words = m->n * m->n}};

	/* On the legacy default stream: behind all compute streams. */
	session_check(m->s, NULL, &slice[0]);
	session_check(m->s, NULL, &slice[1]);
}

struct band {
	uint32_t row[2];
};

static struct band band_of(const struct product *m, unsigned i)
{
	uint32_t tiles = m->n / SIDE, streams = m->s->options.n_streams;

	return (struct band){{tiles * i / streams * SIDE, tiles * (i + 1) / streams * SIDE}};
}

static void upload_bands(struct product *m, const struct column *a)
{
	for (unsigned i = 0; i < m->s->options.n_streams; i++) {
		struct band b = band_of(m, i);

		if (b.row[0] < b.row[1])
			upload_band(m, m->s->stream[i], a, b.row);
	}
}

static void multiply_bands(struct product *m)
{
	for (unsigned i = 0; i < m->s->options.n_streams; i++) {
		struct band b = band_of(m, i);

		if (b.row[0] < b.row[1])
			multiply_band(m, m->s->stream[i], b.row);
	}
}

/* The columns are read once. */
static void run_hot(struct product *m, const struct column *a)
{
	upload_bands(m, a);
	session_enter(m->s, PHASE_COMPUTE);
	do {
		hot_begin(m->s, m->s->copy);
		multiply_bands(m);
		check_inputs(m);
		hot_add_words(m->s, NULL, m->c, m->n * m->n);
	} while (hot_again(m->s));
}

/* While a band is multiplied the next one is read. */
static void run_cold(struct product *m, const struct column *a)
{
	struct session *s = m->s;

	for (unsigned i = 0; i < s->options.n_streams; i++) {
		struct band b = band_of(m, i);

		if (b.row[0] == b.row[1])
			continue;
		session_enter(s, PHASE_READ);
		upload_band(m, s->stream[i], a, b.row);
		session_enter(s, PHASE_COMPUTE);
		multiply_band(m, s->stream[i], b.row);
		download_band(m, s->stream[i], b.row);
	}
	check_inputs(m);
}

static void run_matmul(struct session *s, const struct program *p, const struct data *d,
		       struct result *out)
{
	uint32_t n = d->sizes.matrix_n;
	uint32_t *cells = host_alloc((size_t)n * n * 4, "matrix C");
	struct product m;

	product_init(&m, s, p, n);
	upload_b(&m, &d->column[COLUMN_B]);
	if (s->options.hot)
		run_hot(&m, &d->column[COLUMN_A]);
	else
		run_cold(&m, &d->column[COLUMN_A]);
	run_end(s);
	memcpy(cells, m.host, (size_t)n * n * 4);
	*out = result_of_run(s, n, cells, (uint64_t)n * n);
	product_finish(&m);
}

static uint64_t matmul_bytes(const struct sizes *sizes)
{
	return 3 * (uint64_t)sizes->matrix_n * (sizes->matrix_n + 128) * 4;
}

const struct query query_matmul = {
	.name = "q4",
	.title = "matrix multiplication",
	.columns = 1u << COLUMN_A | 1u << COLUMN_B,
	.image = "matmul",
	.path = LOAD_MODULE,
	.device_bytes = matmul_bytes,
	.run = run_matmul,
	.reference = reference_matmul,
};
