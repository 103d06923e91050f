/*
 * test_resize_corpus.c - every kernel of the corpus in all forms that are proven, against itself, with arguments that nobody chose.
 *
 * Parameters that are bases of addresses get memory, the rest small numbers; what is in the memory is indices, words or noise. A
 * kernel that faults on that, or whose own results depend on the order of its blocks, as its own runs in other orders show, has nothing to
 * be held to there. What is run is counted, and must not become less. GSB_CHECK_LONG runs ten times as many ways, and CUB's
 * kernels besides.
 */
#include <glob.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "tests/unit/resize_kit.h"

#define ARENA_BYTES  ((size_t)1 << 30)
#define BUFFER_BYTES (256u << 10)
#define N_ORDERS     12
#define SMALL	     200 /* what is not an address */
#define MAX_INSNS    3000000
#define N_RUN	     165 /* kernels of the corpus: more, raise it */
#define N_RUN_CUB    21
#define CUB	     "tests/gpu/cub_*.ptx" /* of the build */

static unsigned int n_ways = 8; /* of each input */

static struct {
	unsigned int kernels, legal, ordered, run, runs;
} counts;

/* One kernel, its proofs, and what is invented for it. */
struct trial {
	const struct gsb_ptx_module *module;
	const struct gsb_ptx_func *entry;
	const char *file;
	struct gsb_arena arena;
	struct gsb_resize_facts facts;
	struct gsb_resize_geometry geometry;
	struct diff diff;
};

static const struct gsb_resize_geometry geometries[] = {
	{{6, 1, 1}, {64, 1, 1}},
	{{3, 2, 1}, {16, 4, 1}},
	{{3, 1, 1}, {96, 1, 1}},
};

/* ---- what may be tried ---- */

static bool is_proven(const struct trial *t, enum gsb_rewrite_form form)
{
	if (form == GSB_REWRITE_SLICE)
		return t->facts.forms & GSB_RESIZE_BIT(GSB_RESIZE_SLICE);
	if (form == GSB_REWRITE_PERSISTENT)
		return t->facts.forms & GSB_RESIZE_BIT(GSB_RESIZE_PERSISTENT) &&
		       !gsb_resize_persistent_refused(&t->facts.launch, &t->geometry);
	return true;
}

static unsigned int forms_of(const struct trial *t)
{
	unsigned int forms = 0;

	for (int form = 0; form < GSB_N_REWRITE_FORMS; form++) {
		const struct gsb_rewrite_job job = {
			.kernel = t->entry, .form = form, .early = t->facts.early};
		struct gsb_rewrite_refusal why;

		if (is_proven(t, form) && !gsb_rewrite_check(t->module, &job, &why))
			forms |= 1u << form;
	}
	return forms;
}

/* Threads that differ only on an axis that nobody looks at do the same work twice, and race. */
static bool looks_at(const struct trial *t, const struct gsb_resize_geometry *g)
{
	bool seen[4] = {true};

	for (uint32_t i = 0; i < t->facts.n_readers; i++)
		seen[t->facts.readers[i].axis] = true;
	return (seen[1] || g->grid[1] == 1) && (seen[2] || g->grid[2] == 1);
}

static bool takes_blocks(const struct gsb_ptx_tuning *tuning, const uint32_t block[3])
{
	uint64_t most = 1;

	for (int i = 0; i < 3; i++) {
		if (tuning->reqntid[i] && tuning->reqntid[i] != block[i])
			return false;
		most *= tuning->maxntid[i] ? tuning->maxntid[i] : 1;
	}
	return !tuning->maxntid[0] || (uint64_t)block[0] * block[1] * block[2] <= most;
}

/* ---- what is invented ---- */

static void put(struct diff *d, uint64_t at, uint64_t value, size_t size)
{
	if (at + size <= DIFF_PARAM_BYTES)
		memcpy(d->params + at, &value, size);
}

/* Words of four bytes, or of eight where a parameter is one. */
static void invent_numbers(struct trial *t)
{
	for (uint32_t i = 0; i < t->entry->n_params; i++) {
		const struct gsb_ptx_var *p = &t->entry->params[i];

		if (!p->is_array && p->size_bytes == 8)
			put(&t->diff, p->offset, SMALL, 8);
		for (uint64_t at = 0; p->size_bytes != 8 && at + 4 <= p->size_bytes; at += 4)
			put(&t->diff, p->offset + at, SMALL, 4);
	}
}

static void invent_addresses(struct trial *t)
{
	for (uint32_t i = 0; i < t->facts.n_pointers; i++) {
		const struct gsb_resize_pointer *p = &t->facts.pointers[i];
		void *memory = diff_alloc(&t->diff, BUFFER_BYTES, DIFF_BYTES);

		assert_non_null(memory);
		put(&t->diff, t->entry->params[p->param].offset + p->offset, (uintptr_t)memory, 8);
	}
}

static uint32_t noise(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

/* Of all memory: 0 places in it, 1 small numbers, 2 floats near one, 3 anything. */
static void fill(struct trial *t, unsigned int input)
{
	const uint64_t bytes = (uint64_t)t->facts.n_pointers * BUFFER_BYTES;
	const uint64_t first = t->diff.machine.used - bytes;
	uint32_t *words = (uint32_t *)(uintptr_t)(t->diff.machine.memory.device.base + first);
	uint64_t state = input + 1;

	for (uint64_t i = 0; i < bytes / 4; i++) {
		uint32_t r = noise(&state);

		words[i] = input == 0	? (uint32_t)(i % SMALL)
			   : input == 1 ? r % SMALL
			   : input == 2 ? 0x3f000000u | (r & 0xffffff)
					: r * 2 + (r >> 20);
	}
}

/* ---- tried ---- */

/* As it is, in other orders: where that changes a result, it depends on the order of the blocks. */
static bool is_steady(struct trial *t)
{
	struct diff_way way = {.form = DIFF_RESHAPE, .threads = t->geometry.block[0]};

	for (uint64_t i = 1; i <= N_ORDERS; i++) {
		way.seed = i;
		way.resident = 1 + (uint32_t)(i * 5 % GRID_MAX_RESIDENT);
		way.quantum = i % 3 ? 13 * i : 0;
		if (diff_try(&t->diff, &way))
			return false;
	}
	return true;
}

static bool did_something(const struct diff *d)
{
	return memcmp(d->before, d->expected, d->bytes) != 0;
}

/* Returns whether the kernel ran there. */
static bool try_input(struct trial *t, unsigned int input, uint64_t number)
{
	struct diff_way way;
	char text[256];

	diff_restore(&t->diff);
	fill(t, input);
	if (diff_expect(&t->diff) || !did_something(&t->diff) || !is_steady(t))
		return false;
	for (unsigned int i = 0; i < n_ways; i++, counts.runs++) {
		diff_choose(&t->diff, number + i, &way);
		if (!diff_try(&t->diff, &way))
			continue;
		diff_say_way(&way, text, sizeof(text));
		fail_msg("%s %s, input %u, grid %u x %u, way %" PRIu64 " (%s): %s", t->file,
			 t->entry->name, input, t->geometry.grid[0], t->geometry.grid[1],
			 number + i, text, t->diff.text);
	}
	return true;
}

static bool try_geometry(struct trial *t, const struct gsb_resize_geometry *g, uint64_t number)
{
	struct diff *d = &t->diff;
	unsigned int forms, n = 0;

	t->geometry = *g;
	forms = looks_at(t, g) && takes_blocks(&t->entry->tuning, g->block) ? forms_of(t) : 0;
	if (!forms)
		return false;
	if (diff_open(d, t->module, t->entry, forms, t->facts.early))
		fail_msg("%s %s: %s", t->file, t->entry->name, d->text);
	memcpy(d->grid, g->grid, sizeof(d->grid));
	memcpy(d->block, g->block, sizeof(d->block));
	d->smem_bytes = 4096;
	d->max_insns = MAX_INSNS;
	subject_find_reshapes(d, &t->facts.launch);
	invent_numbers(t);
	invent_addresses(t);
	for (unsigned int input = 0; input < 4; input++)
		n += try_input(t, input, number + input * 1009);
	diff_close(d);
	return n != 0;
}

static void try_kernel(struct trial *t)
{
	bool ran = false;

	counts.kernels++;
	gsb_arena_init(&t->arena, ARENA_BYTES);
	assert_int_equal(gsb_resize_analyse(t->module, t->entry, &t->arena, &t->facts), 0);
	counts.legal += t->facts.forms != 0;
	counts.ordered += t->facts.forms && t->facts.order;
	for (size_t i = 0; t->facts.forms && !t->facts.order && i < GSB_ARRAY_LEN(geometries); i++)
		ran |= try_geometry(t, &geometries[i],
				    counts.kernels * UINT64_C(1000003) + i * 7919);
	counts.run += ran;
	if (getenv("GSB_PRINT_ROWS") && t->facts.forms && !ran)
		printf("ROW %s %s %s\n", t->file, t->entry->name,
		       t->facts.order ? "order" : "not run");
	gsb_arena_finish(&t->arena);
}

static void try_file(const char *path)
{
	struct gsb_ptx_module *m = kit_parse_path(path);
	static struct trial t;

	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (m->funcs[i]->is_entry && m->funcs[i]->has_body) {
			t = (struct trial){.module = m, .entry = m->funcs[i], .file = path};
			try_kernel(&t);
		}
	gsb_ptx_module_destroy(m);
}

static void try_files(const char *pattern)
{
	const char *dir = getenv("srcdir");
	char path[4096];
	glob_t g;

	snprintf(path, sizeof(path), "%s/%s", dir ? dir : ".", pattern);
	assert_int_equal(glob(path, 0, NULL, &g), 0);
	for (size_t i = 0; i < g.gl_pathc; i++)
		try_file(g.gl_pathv[i]);
	globfree(&g);
}

static void show(const char *what)
{
	print_message(
		"%s: %u kernels, %u in another form; of these %u depend on order, %u ran: %u runs\n",
		what, counts.kernels, counts.legal, counts.ordered, counts.run, counts.runs);
}

static void test_variants_of_the_corpus_give_what_it_gives(void **state)
{
	(void)state;
	memset(&counts, 0, sizeof(counts));
	try_files("tests/ptx/*.ptx");
	try_files("examples/gpu_db/ptx/*.ptx");
	try_files("tests/resize/safe/*.ptx");
	try_files("tests/resize/hard.ptx");
	show("corpus");
	assert_true(counts.run >= N_RUN);
}

static bool find_cub(glob_t *g)
{
	return getenv("GSB_CHECK_LONG") && !glob(CUB, 0, NULL, g);
}

static void test_variants_of_cub_give_what_it_gives(void **state)
{
	glob_t g;

	(void)state;
	memset(&counts, 0, sizeof(counts));
	assert_true(find_cub(&g));
	for (size_t i = 0; i < g.gl_pathc; i++)
		try_file(g.gl_pathv[i]);
	globfree(&g);
	show("CUB");
	assert_true(counts.run >= N_RUN_CUB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_variants_of_the_corpus_give_what_it_gives),
	};
	const struct CMUnitTest cub[] = {
		cmocka_unit_test(test_variants_of_cub_give_what_it_gives),
	};
	glob_t g;
	int failed;

	if (getenv("GSB_CHECK_LONG"))
		n_ways *= 10;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	if (find_cub(&g)) { /* where nvcc has made them */
		globfree(&g);
		failed += cmocka_run_group_tests(cub, NULL, NULL);
	}
	return failed;
}
