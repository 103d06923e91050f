/*
 * table.c - see table.h.
 */
#include "table.h"

#define BUILD_BLOCKS_MAX 64
#define BUILD_BLOCK_ROWS 10240u /* rows for each block of a smaller build */
#define SCAN_BLOCKS_MAX	 512
#define SCAN_TILE	 (2 * JOIN_THREADS)

struct table_kernels table_kernels(const struct program *p)
{
	return (struct table_kernels){.hist = program_kernel(p, "hash_build_hist"),
				      .build = program_kernel(p, "hash_build"),
				      .scan = program_kernel(p, "scan_tiles"),
				      .update = program_kernel(p, "scan_update")};
}

struct grid blocks_of(uint32_t blocks)
{
	return (struct grid){.x = blocks, .y = 1, .block_x = JOIN_THREADS, .block_y = 1};
}

uint32_t scan_scratch_words(uint32_t items)
{
	uint32_t tiles = div_up(items, SCAN_TILE);

	return tiles == 1 ? 1 : tiles + scan_scratch_words(tiles);
}

/* Tiles first; then, if there are several, their sums in the same way, and those added to the tiles. */
CUdeviceptr prefix_sum(struct session *s, const struct table_kernels *k, CUstream stream,
		       const struct scan *scan)
{
	uint32_t tiles = div_up(scan->items, SCAN_TILE);
	struct grid g = blocks_of(clamp(tiles, 1, SCAN_BLOCKS_MAX));
	struct scan c = *scan, sums = {.in = c.sums, .out = c.sums, .items = tiles};
	CUdeviceptr total;

	g.shared_bytes = SCAN_TILE * WORD;
	launch(s, stream, &k->scan, &g, ARGS(&c.in, &c.out, &c.sums, &c.items));
	if (tiles == 1)
		return c.sums;
	sums.sums = c.sums + tiles * WORD;
	total = prefix_sum(s, k, stream, &sums);
	g.shared_bytes = 0;
	launch(s, stream, &k->update, &g, ARGS(&c.out, &c.sums, &c.items));
	return total;
}

static uint32_t build_blocks(uint32_t rows)
{
	return clamp(div_up(rows, BUILD_BLOCK_ROWS), 1, BUILD_BLOCKS_MAX);
}

static uint32_t cells_of(const struct table *t)
{
	return (t->mask + 1) * t->stride;
}

void build_init(struct build *b, struct table *t, uint32_t rows, uint32_t buckets, CUstream stream)
{
	*t = (struct table){
		.rows = rows, .mask = buckets - 1, .stride = build_blocks(rows) * JOIN_THREADS};
	t->key = device_alloc(rows * WORD, "keys of a hash table");
	t->val = device_alloc(rows * WORD, "values of a hash table");
	t->start = device_alloc(cells_of(t) * WORD, "places of a hash table");
	*b = (struct build){.table = t, .stream = stream};
	b->key = device_alloc(rows * WORD, "a key column");
	b->val = device_alloc(rows * WORD, "a value column");
	b->hist = device_alloc(cells_of(t) * WORD, "histograms");
	b->sums = device_alloc(scan_scratch_words(cells_of(t)) * WORD, "prefix sums");
}

void build_run(struct session *s, const struct table_kernels *k, struct build *b)
{
	struct table *t = b->table;
	struct grid g = blocks_of(t->stride / JOIN_THREADS);
	struct scan scan = {.in = b->hist, .out = t->start, .sums = b->sums, .items = cells_of(t)};
	size_t span = span_begin(s, PHASE_BUILD, b->stream);

	CU(cuMemsetD32Async, (b->hist, 0, cells_of(t), b->stream), "clearing the histograms");
	launch(s, b->stream, &k->hist, &g, ARGS(&b->key, &t->rows, &t->mask, &b->hist));
	prefix_sum(s, k, b->stream, &scan);
	launch(s, b->stream, &k->build, &g,
	       ARGS(&b->key, &b->val, &t->rows, &t->mask, &b->hist, &t->start, &t->key, &t->val));
	span_end(s, span, b->stream);
}

void build_finish(struct build *b)
{
	device_free(b->key, "a key column");
	device_free(b->val, "a value column");
	device_free(b->hist, "histograms");
	device_free(b->sums, "prefix sums");
}

void table_finish(struct table *t)
{
	device_free(t->key, "keys of a hash table");
	device_free(t->val, "values of a hash table");
	device_free(t->start, "places of a hash table");
}

uint64_t table_bytes(uint32_t rows, uint32_t buckets)
{
	return 4 * (uint64_t)rows * WORD +
	       2 * (uint64_t)buckets * build_blocks(rows) * JOIN_THREADS * WORD;
}
