/*
 * join.c - Q1 and Q2: hash joins of R with S, and of R with S and Z.
 *
 * R (and Z) are uploaded and built into hash tables; S passes by in chunks. Each compute stream has a
 * slot: the chunk, the counts, and pinned memory for results. A chunk is probed twice, once to count
 * the matches and once to write them, and between the two the host learns the number of rows and
 * allocates the output in stream order. While it waits for one slot's number the other slots work.
 * Results leave in batches through pinned memory, and a host function in the stream adds each batch
 * to the slot's sum: its place in the stream is what makes the batch's memory free for the next one.
 *
 * For Q2 the rows of R and S that were found are probed again, in Z; the result of that is a row of
 * the first join and a row of Z, and the columns of the first are gathered by it.
 */
#include "query.h"

#include <stdlib.h>

#include "mix.h"
#include "table.h"

#define PROBE_BLOCKS_MAX 256 /* of the paper at scale 1: 256 x 128 */
#define BATCH_ROWS_MAX	 (256u * 1024)
#define MATCHES_SLACK	 4 /* a chunk may have this many times the matches that are expected */

struct probe_kernels {
	struct kernel count, write, gather;
};

/* Columns on the device that are probed. A val of 0 stands for the row number. */
struct probe {
	CUdeviceptr key, val;
	uint32_t rows;
};

struct slot {
	CUstream stream;
	CUdeviceptr key, val;	 /* a chunk of S */
	CUdeviceptr count, sums; /* matches of each thread, then its place in the output; scratch */
	uint32_t *total;	 /* pinned: matches of all */
	uint32_t *batch[3];	 /* pinned: columns of the result */
	CUevent counted;
	uint64_t rows, checksum; /* of the results so far; written by the stream's host functions */
};

struct join {
	struct session *s;
	const struct data *d;
	struct table_kernels table_kernel;
	struct probe_kernels kernel;
	struct table r, z;
	bool with_z;
	struct build build[2];	  /* of r, z */
	CUdeviceptr s_key, s_val; /* hot: all chunks of S */
	uint32_t batch_rows;
	struct slot slot[SESSION_STREAMS_MAX];
};

/* ---- reading and building the tables ---- */

/* R is large: through pinned staging, on the copy stream; the stream of the build waits for it. */
static void read_r(struct join *j, struct build *b)
{
	CUevent loaded = event_create(CU_EVENT_DISABLE_TIMING);
	size_t span = span_begin(j->s, PHASE_READ, j->s->copy);

	upload_staged(j->s, b->key, &j->d->column[COLUMN_R_KEY]);
	upload_staged(j->s, b->val, &j->d->column[COLUMN_R_VAL]);
	span_end(j->s, span, j->s->copy);
	CU(cuEventRecord, (loaded, j->s->copy), "marking the end of reading R");
	CU(cuStreamWaitEvent, (b->stream, loaded, 0), "waiting for R");
	event_destroy(loaded);
}

/* Z arrives in chunks, as in the paper, from pageable memory, in the stream that builds it. */
static void read_z(struct join *j, struct build *b)
{
	uint64_t bytes = j->d->sizes.chunk_rows * WORD;
	size_t span = span_begin(j->s, PHASE_READ, b->stream);

	for (unsigned i = 0; i < JOIN_CHUNKS; i++) {
		const uint32_t *key = j->d->column[COLUMN_Z_KEY].words;
		const uint32_t *val = j->d->column[COLUMN_Z_VAL].words;
		uint64_t first = (uint64_t)i * j->d->sizes.chunk_rows;

		upload_pageable(j->s, b->key + i * bytes, key + first, bytes, b->stream);
		upload_pageable(j->s, b->val + i * bytes, val + first, bytes, b->stream);
	}
	span_end(j->s, span, b->stream);
}

static void check_columns(struct join *j, const struct build *b, enum column_id key,
			  enum column_id val)
{
	struct slice slice[2] = {{.id = key, .at = b->key, .words = b->table->rows},
				 {.id = val, .at = b->val, .words = b->table->rows}};

	session_check(j->s, b->stream, &slice[0]);
	session_check(j->s, b->stream, &slice[1]);
}

/* Every compute stream waits for the table. */
static void publish(struct join *j, const struct build *b)
{
	CUevent built = event_create(CU_EVENT_DISABLE_TIMING);

	CU(cuEventRecord, (built, b->stream), "marking a hash table as built");
	for (unsigned i = 0; i < j->s->options.n_streams; i++)
		CU(cuStreamWaitEvent, (j->s->stream[i], built, 0), "waiting for a hash table");
	event_destroy(built);
}

static unsigned n_tables(const struct join *j)
{
	return j->with_z ? 2 : 1;
}

static void read_tables(struct join *j)
{
	const struct sizes *sizes = &j->d->sizes;
	struct build *b = j->build;

	build_init(&b[0], &j->r, sizes->r_rows, sizes->buckets, j->s->stream[0]);
	read_r(j, &b[0]);
	if (j->with_z) {
		build_init(&b[1], &j->z, sizes->chunk_rows * JOIN_CHUNKS, sizes->buckets,
			   j->s->stream[1 % j->s->options.n_streams]);
		read_z(j, &b[1]);
	}
}

/* The two tables are built side by side where there are two streams. */
static void build_tables(struct join *j)
{
	struct build *b = j->build;
	unsigned n = n_tables(j);

	for (unsigned i = 0; i < n; i++)
		build_run(j->s, &j->table_kernel, &b[i]);
	check_columns(j, &b[0], COLUMN_R_KEY, COLUMN_R_VAL);
	if (j->with_z)
		check_columns(j, &b[1], COLUMN_Z_KEY, COLUMN_Z_VAL);
	for (unsigned i = 0; i < n; i++)
		publish(j, &b[i]);
	for (unsigned i = 0; i < n; i++) {
		CU(cuStreamSynchronize, (b[i].stream), "building a hash table");
		if (!j->s->options.hot)
			build_finish(&b[i]);
	}
}

/* ---- results ---- */

struct batch {
	struct slot *slot;
	uint32_t rows;
	bool triples;
};

/* Host function: runs when the batch has arrived, before the stream's next copy. Consumes the batch. */
static void on_batch_arrived(void *argument)
{
	struct batch *b = argument;
	struct slot *slot = b->slot;
	uint32_t *const *column = slot->batch;

	for (uint32_t i = 0; i < b->rows; i++)
		slot->checksum += b->triples ? mix_triple(column[0][i], column[1][i], column[2][i])
					     : mix_pair(column[0][i], column[1][i]);
	slot->rows += b->rows;
	free(b);
}

/* The result's columns (R's, S's, Z's value) leave the device, batch by batch. */
static void fetch(struct join *j, struct slot *slot, const CUdeviceptr column[3], uint32_t rows)
{
	unsigned n_columns = j->with_z ? 3 : 2;
	size_t span;

	if (j->s->options.hot) {
		slot->rows += rows;
		hot_add_rows(j->s, slot->stream, column, rows);
		return;
	}
	span = span_begin(j->s, PHASE_FETCH, slot->stream);
	for (uint32_t at = 0; at < rows; at += j->batch_rows) {
		struct batch *b = host_alloc(sizeof(*b), "a batch of results");

		*b = (struct batch){.slot = slot,
				    .rows = clamp(rows - at, 0, j->batch_rows),
				    .triples = j->with_z};
		for (unsigned c = 0; c < n_columns; c++)
			download(j->s, slot->batch[c], column[c] + at * WORD, b->rows * WORD,
				 slot->stream);
		CU(cuLaunchHostFunc, (slot->stream, on_batch_arrived, b), "handing on a batch");
	}
	span_end(j->s, span, slot->stream);
}

static CUdeviceptr output_alloc(CUstream stream, uint32_t rows)
{
	uint64_t bytes = (rows ? rows : 1) * WORD;
	CUdeviceptr address = 0;

	CU(cuMemAllocAsync, (&address, bytes, stream), "allocating %llu bytes for results",
	   (unsigned long long)bytes);
	return address;
}

static void output_free(CUstream stream, CUdeviceptr address)
{
	CU(cuMemFreeAsync, (address, stream), "freeing results");
}

/* ---- probe ---- */

static struct grid probe_grid(uint32_t rows)
{
	return blocks_of(clamp(div_up(rows, 2 * JOIN_THREADS), 1, PROBE_BLOCKS_MAX));
}

/* First pass: each thread's matches, their prefix sum, and the total on its way to the host. */
static void probe_count(struct join *j, struct slot *slot, struct table *t, struct probe *p)
{
	struct grid g = probe_grid(p->rows);
	struct scan scan = {.in = slot->count,
			    .out = slot->count,
			    .sums = slot->sums,
			    .items = g.x * JOIN_THREADS};
	size_t span = span_begin(j->s, PHASE_JOIN, slot->stream);
	CUdeviceptr total;

	launch(j->s, slot->stream, &j->kernel.count, &g,
	       ARGS(&t->key, &t->start, &t->stride, &t->mask, &t->rows, &p->key, &p->rows,
		    &slot->count));
	total = prefix_sum(j->s, &j->table_kernel, slot->stream, &scan);
	span_end(j->s, span, slot->stream);
	download(j->s, slot->total, total, WORD, slot->stream);
	CU(cuEventRecord, (slot->counted, slot->stream), "marking a count");
}

/*
 * Waits for the total. Keys are spread evenly, so far more matches than the tables' sizes make likely
 * are no result but damage: noted, and cut to the bound, so that the query can end and report it.
 */
static uint32_t probe_total(struct join *j, struct slot *slot, const struct table *t, uint32_t rows)
{
	uint64_t bound = (uint64_t)MATCHES_SLACK * (rows + JOIN_THREADS) *
			 (t->rows / j->d->sizes.key_range + 2);
	uint32_t total;

	CU(cuEventSynchronize, (slot->counted), "counting matches");
	total = *slot->total;
	if (total <= bound)
		return total;
	explain(&j->s->damage, 0,
		"the device counted %u matches of %u rows; more than %llu cannot be", total, rows,
		(unsigned long long)bound);
	return (uint32_t)bound;
}

struct matches {
	CUdeviceptr key, table, probe; /* a key of 0: not wanted */
	uint32_t rows;
};

/* Second pass: with the geometry of the first. */
static void probe_write(struct join *j, struct slot *slot, struct table *t, struct probe *p,
			struct matches *m)
{
	struct grid g = probe_grid(p->rows);

	launch(j->s, slot->stream, &j->kernel.write, &g,
	       ARGS(&t->key, &t->val, &t->start, &t->stride, &t->mask, &t->rows, &p->key, &p->val,
		    &p->rows, &slot->count, &m->rows, &m->key, &m->table, &m->probe));
}

static struct matches matches_alloc(CUstream stream, uint32_t rows, bool with_key)
{
	return (struct matches){.key = with_key ? output_alloc(stream, rows) : 0,
				.table = output_alloc(stream, rows),
				.probe = output_alloc(stream, rows),
				.rows = rows};
}

static void matches_free(CUstream stream, const struct matches *m)
{
	if (m->key)
		output_free(stream, m->key);
	output_free(stream, m->table);
	output_free(stream, m->probe);
}

static CUdeviceptr gather(struct join *j, CUstream stream, CUdeviceptr column, uint32_t column_rows,
			  struct matches *by)
{
	struct grid g = probe_grid(by->rows);
	CUdeviceptr out = output_alloc(stream, by->rows);

	launch(j->s, stream, &j->kernel.gather, &g,
	       ARGS(&column, &column_rows, &by->probe, &by->rows, &out));
	return out;
}

/* The rows found in R and S, probed in Z: m.probe is then a row of `rs`, m.table a value of Z. */
static void join_z(struct join *j, struct slot *slot, struct matches *rs)
{
	struct probe p = {.key = rs->key, .rows = rs->rows};
	CUdeviceptr column[3];
	struct matches m;
	size_t span;

	probe_count(j, slot, &j->z, &p);
	m = matches_alloc(slot->stream, probe_total(j, slot, &j->z, p.rows), false);
	span = span_begin(j->s, PHASE_JOIN, slot->stream);
	probe_write(j, slot, &j->z, &p, &m);
	column[0] = gather(j, slot->stream, rs->table, rs->rows, &m);
	column[1] = gather(j, slot->stream, rs->probe, rs->rows, &m);
	column[2] = m.table;
	span_end(j->s, span, slot->stream);
	fetch(j, slot, column, m.rows);
	output_free(slot->stream, column[0]);
	output_free(slot->stream, column[1]);
	matches_free(slot->stream, &m);
}

/* ---- chunks ---- */

static struct probe chunk_of(const struct join *j, const struct slot *slot)
{
	return (struct probe){.key = slot->key, .val = slot->val, .rows = j->d->sizes.chunk_rows};
}

static const enum column_id s_columns[2] = {COLUMN_S_KEY, COLUMN_S_VAL};

static void read_chunk(struct join *j, struct slot *slot, uint64_t first)
{
	const CUdeviceptr to[2] = {slot->key, slot->val};
	size_t span = span_begin(j->s, PHASE_READ, slot->stream);

	for (unsigned i = 0; i < 2; i++)
		upload_pageable(j->s, to[i], j->d->column[s_columns[i]].words + first,
				j->d->sizes.chunk_rows * WORD, slot->stream);
	span_end(j->s, span, slot->stream);
}

static void chunk_start(struct join *j, struct slot *slot, unsigned chunk)
{
	uint32_t rows = j->d->sizes.chunk_rows;
	uint64_t first = (uint64_t)chunk * rows;
	CUdeviceptr at[2];
	struct probe p;

	if (j->s->options.hot) {
		slot->key = j->s_key + first * WORD;
		slot->val = j->s_val + first * WORD;
	} else {
		read_chunk(j, slot, first);
	}
	at[0] = slot->key;
	at[1] = slot->val;
	p = chunk_of(j, slot);
	probe_count(j, slot, &j->r, &p);
	for (unsigned i = 0; i < 2; i++) {
		struct slice slice = {
			.id = s_columns[i], .at = at[i], .first = first, .words = rows};

		session_check(j->s, slot->stream, &slice);
	}
}

static void chunk_finish(struct join *j, struct slot *slot)
{
	struct probe p = chunk_of(j, slot);
	uint32_t total = probe_total(j, slot, &j->r, p.rows);
	struct matches m = matches_alloc(slot->stream, total, j->with_z);
	size_t span = span_begin(j->s, PHASE_JOIN, slot->stream);

	probe_write(j, slot, &j->r, &p, &m);
	span_end(j->s, span, slot->stream);
	if (j->with_z)
		join_z(j, slot, &m);
	else
		fetch(j, slot, (CUdeviceptr[3]){m.table, m.probe, 0}, m.rows);
	matches_free(slot->stream, &m);
}

/* As many chunks are under way as there are slots. */
static void join_chunks(struct join *j)
{
	unsigned depth = j->s->options.n_streams;

	for (unsigned i = 0; i < JOIN_CHUNKS + depth - 1; i++) {
		if (i < JOIN_CHUNKS)
			chunk_start(j, &j->slot[i % depth], i);
		if (i >= depth - 1)
			chunk_finish(j, &j->slot[(i - depth + 1) % depth]);
	}
}

/* ---- the whole ---- */

static void slot_init(struct join *j, struct slot *slot, CUstream stream)
{
	uint32_t rows = j->d->sizes.chunk_rows;
	/* Q2 probes Z with what it found, of any number of rows. */
	uint32_t threads = (j->with_z ? PROBE_BLOCKS_MAX : probe_grid(rows).x) * JOIN_THREADS;

	*slot = (struct slot){.stream = stream, .counted = event_create(CU_EVENT_DISABLE_TIMING)};
	if (!j->s->options.hot) {
		slot->key = device_alloc(rows * WORD, "keys of a chunk");
		slot->val = device_alloc(rows * WORD, "values of a chunk");
	}
	slot->count = device_alloc(threads * WORD, "counts");
	slot->sums = device_alloc(scan_scratch_words(threads) * WORD, "prefix sums");
	slot->total = pinned_alloc(WORD, "a count");
	for (unsigned i = 0; i < (j->with_z ? 3u : 2u); i++)
		slot->batch[i] = pinned_alloc(j->batch_rows * WORD, "a batch of results");
}

static void slot_finish(const struct join *j, struct slot *slot)
{
	if (!j->s->options.hot) {
		device_free(slot->key, "keys of a chunk");
		device_free(slot->val, "values of a chunk");
	}
	device_free(slot->count, "counts");
	device_free(slot->sums, "prefix sums");
	pinned_free(slot->total, "a count");
	for (unsigned i = 0; i < 3 && slot->batch[i]; i++)
		pinned_free(slot->batch[i], "a batch of results");
	event_destroy(slot->counted);
}

static struct probe_kernels probe_kernels(const struct program *p)
{
	return (struct probe_kernels){.count = program_kernel(p, "join_count"),
				      .write = program_kernel(p, "join_write"),
				      .gather = program_kernel(p, "gather_rows")};
}

static void read_s(struct join *j)
{
	uint64_t bytes = j->d->sizes.chunk_rows * JOIN_CHUNKS * WORD;
	size_t span = span_begin(j->s, PHASE_READ, j->s->copy);

	j->s_key = device_alloc(bytes, "keys of S");
	j->s_val = device_alloc(bytes, "values of S");
	upload_staged(j->s, j->s_key, &j->d->column[COLUMN_S_KEY]);
	upload_staged(j->s, j->s_val, &j->d->column[COLUMN_S_VAL]);
	span_end(j->s, span, j->s->copy);
	CU(cuStreamSynchronize, (j->s->copy), "reading S");
}

/* The rows are those of the last repetition. */
static void join_once(struct join *j)
{
	if (j->s->options.hot)
		hot_begin(j->s, j->s->copy);
	for (unsigned i = 0; i < j->s->options.n_streams; i++)
		j->slot[i].rows = 0;
	session_enter(j->s, PHASE_BUILD);
	build_tables(j);
	session_enter(j->s, PHASE_JOIN);
	join_chunks(j);
}

static void finish_hot(struct join *j, struct result *out)
{
	out->checksum = j->s->hot_first;
	device_free(j->s_key, "keys of S");
	device_free(j->s_val, "values of S");
	for (unsigned i = 0; i < n_tables(j); i++)
		build_finish(&j->build[i]);
}

static void run_join(struct join *j, const struct program *p, struct result *out)
{
	unsigned n = j->s->options.n_streams;

	j->table_kernel = table_kernels(p);
	j->kernel = probe_kernels(p);
	j->batch_rows = clamp(j->d->sizes.chunk_rows * 64, 1, BATCH_ROWS_MAX);
	for (unsigned i = 0; i < n; i++)
		slot_init(j, &j->slot[i], j->s->stream[i]);
	read_tables(j);
	if (j->s->options.hot)
		read_s(j);
	do
		join_once(j);
	while (hot_again(j->s));
	run_end(j->s);
	*out = (struct result){0};
	for (unsigned i = 0; i < n; i++) {
		out->rows += j->slot[i].rows;
		out->checksum += j->slot[i].checksum;
		slot_finish(j, &j->slot[i]);
	}
	if (j->s->options.hot)
		finish_hot(j, out);
	table_finish(&j->r);
	if (j->with_z)
		table_finish(&j->z);
}

static void run_join2(struct session *s, const struct program *p, const struct data *d,
		      struct result *out)
{
	struct join j = {.s = s, .d = d};

	run_join(&j, p, out);
}

static void run_join3(struct session *s, const struct program *p, const struct data *d,
		      struct result *out)
{
	struct join j = {.s = s, .d = d, .with_z = true};

	run_join(&j, p, out);
}

/* The peak is in the build; a sixteenth more for the chunks under way. */
static uint64_t join2_bytes(const struct sizes *sizes)
{
	return table_bytes(sizes->r_rows, sizes->buckets) * 17 / 16;
}

static uint64_t join3_bytes(const struct sizes *sizes)
{
	return join2_bytes(sizes) + table_bytes(sizes->chunk_rows * JOIN_CHUNKS, sizes->buckets);
}

const struct query query_join2 = {
	.name = "q1",
	.title = "hash join of two tables",
	.columns =
		1u << COLUMN_R_KEY | 1u << COLUMN_R_VAL | 1u << COLUMN_S_KEY | 1u << COLUMN_S_VAL,
	.image = "join",
	.path = LOAD_MODULE,
	.device_bytes = join2_bytes,
	.run = run_join2,
	.reference = reference_join2,
};

const struct query query_join3 = {
	.name = "q2",
	.title = "hash join of three tables",
	.columns = 1u << COLUMN_R_KEY | 1u << COLUMN_R_VAL | 1u << COLUMN_S_KEY |
		   1u << COLUMN_S_VAL | 1u << COLUMN_Z_KEY | 1u << COLUMN_Z_VAL,
	.image = "join",
	.path = LOAD_LIBRARY,
	.device_bytes = join3_bytes,
	.run = run_join3,
	.reference = reference_join3,
};
