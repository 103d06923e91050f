/*
 * distance.c - Q5: mean distance of each atom to all others.
 *
 * Little data, much work. The copies are the plain synchronous calls on the legacy default stream,
 * pageable memory on both sides: what orders them with the kernels in the compute streams is the
 * driver's rule for that stream, and nothing else here.
 */
#include "query.h"

#define SMALL_BLOCK 32 /* few atoms: smaller blocks, so that there are several */
#define BLOCK	    64
#define FEW_ATOMS   512

struct atoms {
	struct session *s;
	struct kernel kernel;
	uint32_t n, repeats;
	CUdeviceptr x, y, mean;
};

static void upload_atoms(struct atoms *a, const struct data *d)
{
	uint64_t bytes = (uint64_t)a->n * 4;
	size_t span = span_begin(a->s, PHASE_READ, NULL);

	CU(cuMemcpyHtoD_v2, (a->x, d->column[COLUMN_X].words, bytes), "copying x to the device");
	CU(cuMemcpyHtoD_v2, (a->y, d->column[COLUMN_Y].words, bytes), "copying y to the device");
	span_end(a->s, span, NULL);
	a->s->books.bytes_in += 2 * bytes;
}

/* The blocks are dealt out to the streams in contiguous shares. */
static void measure(struct atoms *a)
{
	uint32_t block = a->n < FEW_ATOMS ? SMALL_BLOCK : BLOCK;
	uint32_t blocks = div_up(a->n, block), streams = a->s->options.n_streams;

	for (uint32_t i = 0; i < streams; i++) {
		uint32_t first = blocks * i / streams, last = blocks * (i + 1) / streams;
		uint32_t first_atom = first * block;
		struct grid g = {.x = last - first,
				 .y = 1,
				 .block_x = block,
				 .block_y = 1,
				 .shared_bytes = 4 * block * 4};
		size_t span;

		if (first == last)
			continue;
		span = span_begin(a->s, PHASE_COMPUTE, a->s->stream[i]);
		launch(a->s, a->s->stream[i], &a->kernel, &g,
		       ARGS(&a->x, &a->y, &a->n, &a->repeats, &first_atom, &a->mean));
		span_end(a->s, span, a->s->stream[i]);
	}
}

static uint32_t *download_means(struct atoms *a)
{
	uint64_t bytes = (uint64_t)a->n * 8;
	uint32_t *words = host_alloc(bytes, "mean distances");
	size_t span = span_begin(a->s, PHASE_FETCH, NULL);

	CU(cuMemcpyDtoH_v2, (words, a->mean, bytes), "copying the result from the device");
	span_end(a->s, span, NULL);
	a->s->books.bytes_out += bytes;
	return words;
}

static void run_distance(struct session *s, const struct program *p, const struct data *d,
			 struct result *out)
{
	uint32_t n = d->sizes.atoms;
	struct atoms a = {.s = s,
			  .kernel = program_kernel(p, "atom_distances"),
			  .n = n,
			  .repeats = d->sizes.repeats,
			  .x = device_alloc((uint64_t)n * 4, "x"),
			  .y = device_alloc((uint64_t)n * 4, "y"),
			  .mean = device_alloc((uint64_t)n * 8, "mean distances")};
	struct slice slice[2] = {{.id = COLUMN_X, .at = a.x, .words = n},
				 {.id = COLUMN_Y, .at = a.y, .words = n}};
	uint32_t *words = NULL;

	upload_atoms(&a, d);
	session_enter(s, PHASE_COMPUTE);
	do {
		if (s->options.hot)
			hot_begin(s, s->copy);
		measure(&a);
		session_check(s, NULL, &slice[0]);
		session_check(s, NULL, &slice[1]);
		if (s->options.hot)
			hot_add_words(s, NULL, a.mean, 2 * n);
	} while (hot_again(s));
	if (!s->options.hot) {
		session_enter(s, PHASE_FETCH);
		words = download_means(&a);
	}
	run_end(s);
	*out = result_of_run(s, n, words, 2 * (uint64_t)n);
	device_free(a.x, "x");
	device_free(a.y, "y");
	device_free(a.mean, "mean distances");
}

static uint64_t distance_bytes(const struct sizes *sizes)
{
	return (uint64_t)sizes->atoms * 16;
}

const struct query query_distance = {
	.name = "q5",
	.title = "distances of atoms",
	.columns = 1u << COLUMN_X | 1u << COLUMN_Y,
	.image = "distance",
	.path = LOAD_MODULE_EX,
	.device_bytes = distance_bytes,
	.run = run_distance,
	.reference = reference_distance,
};
