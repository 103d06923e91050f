/*
 * resize.c - what the re-sizer writes, on a real GPU.
 *
 * Usage: resize variants FILE...   is each variant accepted; registers, shared and local memory, resident blocks
 *        resize results [KERNEL]   the kernels of resize_subjects.def: variants against originals, counts against the emulated device's
 *        resize counts [KERNEL]    the same, of these the counts alone
 *        resize cub [WORDS] FILE...  CUB's own scan, of so many words, in all forms: results, times
 *        resize times              what the forms cost
 *        resize counting           what counting costs
 *        resize overlap            what a bounded lifetime costs, by how its launches follow one another
 *        resize grids              grids of blocks of 2 to 100 us: us, ns a turn of a block's loop; for a broker that cuts them
 *        resize share              two kernels on one unit: the lifetimes that give each its weight
 *        resize hints              a kernel that lives in L2 beside one that streams
 *
 * Files are read below $srcdir. Tables with tabs on stdout, one row a thing measured. Exit status 1: a variant was refused or
 * gave other results.
 */
#include "tests/gpu/resize_task.h"

#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/checked.h"
#include "base/compiler.h"
#include "tests/unit/resize_kit.h"

#define ORIGINAL     GSB_N_REWRITE_FORMS
#define LOG_BYTES    4096
#define ARENA_BYTES  ((size_t)1 << 30)
#define THREADS	     256 /* of a block, for resident blocks, where the kernel allows so many */
#define ATTR_THREADS 0	 /* CUfunction_attribute */
#define ATTR_SHARED  1
#define ATTR_LOCAL   3
#define ATTR_REGS    4
#define N_SMS	     132
#define CUB_WORDS    (1u << 25)

static int n_wrong;

static const char *form_name(unsigned int form)
{
	return form == ORIGINAL ? "original" : gsb_rewrite_form_name(form);
}

/* ---- variants ---- */

static bool is_job(const struct gsb_ptx_module *m, struct gsb_rewrite_job *job)
{
	static const enum gsb_resize_form needs[] = {GSB_RESIZE_SLICE, GSB_RESIZE_PERSISTENT};
	struct gsb_rewrite_refusal why;
	struct gsb_resize_facts facts;
	struct gsb_arena arena;
	bool legal = true;

	gsb_arena_init(&arena, ARENA_BYTES);
	if (job->form <= GSB_REWRITE_PERSISTENT) {
		legal = !gsb_resize_analyse(m, job->kernel, &arena, &facts) &&
			(facts.forms | facts.ordered_forms) & GSB_RESIZE_BIT(needs[job->form]);
		job->early = legal ? facts.early : GSB_RESIZE_E0;
	}
	gsb_arena_finish(&arena);
	return legal && !gsb_rewrite_check(m, job, &why);
}

static size_t find_jobs(const struct gsb_ptx_module *m, const struct gsb_ptx_func *kernel,
			struct gsb_rewrite_job jobs[GSB_N_REWRITE_FORMS])
{
	size_t n = 0;

	for (int form = 0; form < GSB_N_REWRITE_FORMS; form++) {
		jobs[n] = (struct gsb_rewrite_job){.kernel = kernel, .form = form};
		n += is_job(m, &jobs[n]);
	}
	return n;
}

static void say_cost(const char *file, const char *kernel, unsigned int form, CUmodule module)
{
	CUfunction f = device_find_form(module, kernel, form);
	int most = device_attribute(f, ATTR_THREADS), threads = most < THREADS ? most : THREADS;

	printf("variant\t%s\t%.60s\t%s\t%d\t%d\t%d\t%d\n", file, kernel, form_name(form),
	       device_attribute(f, ATTR_REGS), device_attribute(f, ATTR_SHARED),
	       device_attribute(f, ATTR_LOCAL), device_resident(f, threads, 0));
}

/* The variants are in the module with their original, which alone may be what the driver does not take. */
static void say_refused(const char *file, const struct gsb_ptx_module *m, const char *kernel)
{
	char log[LOG_BYTES];
	CUmodule alone = device_load(m, log, sizeof(log));

	if (alone)
		cu.cuModuleUnload(alone);
	n_wrong += alone != NULL;
	printf("refused\t%s\t%.60s\t%s\n", file, kernel, alone ? "variants" : "original");
}

static void variants_of_kernel(const char *file, const struct gsb_ptx_module *m,
			       const struct gsb_ptx_func *kernel)
{
	struct gsb_rewrite_job jobs[GSB_N_REWRITE_FORMS];
	const size_t n = find_jobs(m, kernel, jobs);
	struct gsb_rewrite_refusal why;
	struct gsb_ptx_module *out;
	char log[LOG_BYTES];
	CUmodule module;

	if (!n || gsb_rewrite(m, jobs, n, &out, &why))
		return;
	module = device_load(out, log, sizeof(log));
	if (module) {
		say_cost(file, kernel->name, ORIGINAL, module);
		for (size_t i = 0; i < n; i++)
			say_cost(file, kernel->name, jobs[i].form, module);
		cu.cuModuleUnload(module);
	} else {
		fprintf(stderr, "resize: %s\n", log);
		say_refused(file, m, kernel->name);
	}
	gsb_ptx_module_destroy(out);
}

/* Kernel by kernel: the compiler takes half a minute for all of a library's. */
static void variants_of(const char *path)
{
	struct gsb_ptx_module *m = kit_parse_file(path), *one;
	const char *file = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	for (uint32_t i = 0; i < m->n_funcs; i++) {
		if (!m->funcs[i]->is_entry || !m->funcs[i]->has_body)
			continue;
		one = device_text_of(m, &m->funcs[i], 1);
		variants_of_kernel(file, one, gsb_ptx_find_func(one, m->funcs[i]->name));
		gsb_ptx_module_destroy(one);
	}
	gsb_ptx_module_destroy(m);
}

/* ---- results ---- */

/* A subject with its memory on the device, where it lies @shift beyond the place that the emulated device has it. */
struct twin {
	struct diff *d;
	const char *what; /* that is tried */
	CUmodule module;
	CUdeviceptr memory, control, words;
	uint8_t params[DIFF_PARAM_BYTES], *got, *expected;
};

static const struct kit_subject subjects[] = {
#define E0 GSB_RESIZE_E0
#define E1 GSB_RESIZE_E1
#define UNPACK(...)         \
	{                   \
		__VA_ARGS__ \
	}
#define GSB_SUBJECT(file, kernel, early, grid, block, smem, args) \
	{file, kernel, early, UNPACK grid, UNPACK block, smem, args},
#include "tests/unit/resize_subjects.def"
};

/* Words of the parameters that lie in the emulated memory are addresses. */
static void move_params(struct twin *t)
{
	const uint64_t base = t->d->machine.memory.device.base;

	memcpy(t->params, t->d->params, sizeof(t->params));
	for (size_t i = 0; i + 8 <= t->d->original->param_bytes; i += 8) {
		uint64_t word;

		memcpy(&word, t->params + i, sizeof(word));
		if (word < base || word >= base + t->d->bytes)
			continue;
		word += t->memory - base;
		memcpy(t->params + i, &word, sizeof(word));
	}
}

static struct shot shot_of(struct twin *t, unsigned int form, const void *own, size_t bytes)
{
	const size_t at = gsb_round_up(t->d->original->param_bytes, 8);
	struct shot s = {.smem = t->d->smem_bytes,
			 .params = t->params,
			 .bytes = bytes ? at + bytes : t->d->original->param_bytes};

	s.function = device_find_form(t->module, t->d->original->name, form);
	memcpy(s.grid, t->d->grid, sizeof(s.grid));
	memcpy(s.block, t->d->block, sizeof(s.block));
	if (bytes)
		memcpy(t->params + at, own, bytes);
	return s;
}

static void fire(struct twin *t, const struct shot *s)
{
	device_fire(s, NULL);
	device_await(NULL, t->d->original->name, t->what);
}

static void run_slices(struct twin *t, uint32_t n)
{
	const uint32_t total = gsb_variant_total(t->d->grid);
	struct gsb_variant_slice slice;
	uint64_t done = 0;
	uint32_t size[3];

	while (gsb_variant_slice_next(t->d->grid, &done, (uint32_t)gsb_div_up(total, n), &slice,
				      size)) {
		struct shot s = shot_of(t, GSB_REWRITE_SLICE, &slice, sizeof(slice));

		memcpy(s.grid, size, sizeof(size));
		fire(t, &s);
	}
}

/* In as many launches as the lifetime makes of it; false when one of them got nowhere. */
static bool run_persistent(struct twin *t, uint32_t blocks, uint32_t batch, uint32_t tiles)
{
	struct gsb_variant_persistent own = {.control = t->control,
					     .total = gsb_variant_total(t->d->grid),
					     .batch = batch,
					     .max_tiles = tiles,
					     .max_ns = GSB_VARIANT_NO_TIME};
	uint32_t next = 0, last;

	memcpy(own.grid, t->d->grid, sizeof(own.grid));
	need("clear", cu.cuMemsetD8_v2(t->control, 0, sizeof(struct gsb_variant_control)));
	do {
		struct shot s = shot_of(t, GSB_REWRITE_PERSISTENT, &own, sizeof(own));

		last = next;
		s.grid[0] = blocks;
		s.grid[1] = s.grid[2] = 1;
		fire(t, &s);
		need("read", cu.cuMemcpyDtoH_v2(&next, t->control, sizeof(next)));
	} while (next < own.total && next > last);
	return next >= own.total;
}

static void run_count(struct twin *t)
{
	struct gsb_variant_count own = {.words = t->words, .every = 1};
	struct shot s = shot_of(t, GSB_REWRITE_COUNT, &own, sizeof(own));

	need("clear", cu.cuMemsetD8_v2(t->words, 0, 8 * t->d->sites.n_words));
	fire(t, &s);
}

static void run_plain(struct twin *t, unsigned int form)
{
	struct shot s = shot_of(t, form, NULL, 0);

	fire(t, &s);
}

static void begin(struct twin *t, const char *what)
{
	char log[LOG_BYTES];

	t->what = what;
	if (t->d->module->n_vars && t->module) { /* variables as they were at first */
		need("unload", cu.cuModuleUnload(t->module));
		t->module = NULL;
	}
	if (!t->module)
		t->module = device_load(t->d->module, log, sizeof(log));
	need(t->d->original->name, t->module ? 0 : CUDA_ERROR_INVALID_PTX);
	need("copy", cu.cuMemcpyHtoD_v2(t->memory, t->d->before, t->d->bytes));
}

static void end(struct twin *t, const struct kit_subject *s, bool complete)
{
	need("copy", cu.cuMemcpyDtoH_v2(t->got, t->memory, t->d->bytes));
	if (complete && !memcmp(t->got, t->expected, t->d->bytes))
		return;
	printf("differs\t%s\t%s\t%s%s\n", s->file, s->kernel, t->what,
	       complete ? "" : ", unfinished");
	n_wrong++;
}

static int try_slices(struct twin *t, const struct kit_subject *s)
{
	static const uint32_t slices[] = {2, 8, 32};

	for (size_t i = 0; i < GSB_ARRAY_LEN(slices); i++) {
		begin(t, "slice");
		run_slices(t, slices[i]);
		end(t, s, true);
	}
	return GSB_ARRAY_LEN(slices);
}

static int try_persistent(struct twin *t, const struct kit_subject *s)
{
	static const uint32_t lives[] = {1, 3, 64, GSB_VARIANT_NO_LIMIT};
	const uint32_t threads = t->d->block[0] * t->d->block[1] * t->d->block[2];
	const uint32_t full = N_SMS * (2048 / threads < 32 ? 2048 / threads : 32);
	const uint32_t blocks[] = {1, 2, N_SMS, full, 2 * full};
	char what[64];
	int n = 0;

	for (size_t i = 0; i < GSB_ARRAY_LEN(blocks); i++)
		for (size_t k = 0; k < GSB_ARRAY_LEN(lives); k++, n++) {
			bool complete;

			snprintf(what, sizeof(what), "persistent:%u:%u", blocks[i], lives[k]);
			begin(t, what);
			complete = run_persistent(t, blocks[i], n % 3 ? 1 : 4, lives[k]);
			end(t, s, complete);
		}
	return n;
}

/* The same inputs counted here and there. */
static void try_count(struct twin *t, const struct kit_subject *s)
{
	struct diff_way way = {.form = GSB_REWRITE_COUNT, .every = 1, .resident = 1};
	uint64_t *words = calloc(t->d->sites.n_words + 1, 8);
	struct gsb_count here;

	begin(t, "count");
	run_count(t);
	end(t, s, true);
	need("copy", cu.cuMemcpyDtoH_v2(words, t->words, 8 * t->d->sites.n_words));
	gsb_count_read(&t->d->sites, words, &here);
	free(words);
	if (diff_try(t->d, &way))
		fail_msg("%s: %s", s->kernel, t->d->text);
	printf("count\t%s\t%s\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\t%" PRIu64 "\n", s->file,
	       s->kernel, here.n_insns, t->d->counted.n_insns,
	       here.global[0].n_sectors + here.global[1].n_sectors + here.global[2].n_sectors,
	       t->d->counted.global[0].n_sectors + t->d->counted.global[1].n_sectors +
		       t->d->counted.global[2].n_sectors);
}

static void open_twin(struct twin *t, struct kit *kit)
{
	*t = (struct twin){.d = &kit->diff};
	t->memory = device_alloc(kit->diff.bytes + 1);
	t->control = device_alloc(sizeof(struct gsb_variant_control));
	t->words = device_alloc(8 * kit->diff.sites.n_words + 8);
	t->got = malloc(kit->diff.bytes + 1);
	t->expected = malloc(kit->diff.bytes + 1);
	if (!t->got || !t->expected)
		exit(1);
	move_params(t);
}

static void close_twin(struct twin *t)
{
	cu.cuModuleUnload(t->module);
	cu.cuMemFree_v2(t->memory);
	cu.cuMemFree_v2(t->control);
	cu.cuMemFree_v2(t->words);
	free(t->got);
	free(t->expected);
}

/* Returns how many were tried. */
static int try_forms(struct twin *t, const struct kit_subject *s)
{
	int n = try_slices(t, s) + try_persistent(t, s);

	if (!(t->d->forms >> GSB_REWRITE_HINT & 1))
		return n; /* nothing of it streams */
	begin(t, "hint");
	run_plain(t, GSB_REWRITE_HINT);
	end(t, s, true);
	return n + 1;
}

static void results_of(const struct kit_subject *s, bool counts_alone)
{
	struct gsb_ptx_module *m = kit_parse_file(s->file);
	static struct kit kit;
	struct twin t;
	int n = 1;

	kit_open(&kit, m, s, KIT_ALL);
	kit_expect(&kit, s, 1);
	open_twin(&t, &kit);
	begin(&t, "original");
	run_plain(&t, ORIGINAL);
	need("copy", cu.cuMemcpyDtoH_v2(t.expected, t.memory, kit.diff.bytes));
	if (!counts_alone)
		n += try_forms(&t, s);
	try_count(&t, s);
	printf("tried\t%s\t%s\t%d\n", s->file, s->kernel, n);
	close_twin(&t);
	kit_close(&kit);
	gsb_ptx_module_destroy(m);
}

static int results(const char *kernel, bool counts_alone)
{
	bool found = false;

	for (size_t i = 0; i < GSB_ARRAY_LEN(subjects); i++) {
		if (kernel && strcmp(kernel, subjects[i].kernel) != 0)
			continue;
		results_of(&subjects[i], counts_alone);
		found = true;
	}
	if (!found)
		fprintf(stderr, "resize: no kernel '%s' in tests/unit/resize_subjects.def\n",
			kernel);
	return n_wrong || !found ? 1 : 0;
}

static int all_variants(char **files)
{
	for (; *files; files++)
		variants_of(*files);
	return n_wrong ? 1 : 0;
}

static int all_of_cub(char **files)
{
	uint32_t n_words = CUB_WORDS;
	int wrong = 0;

	if (*files && (*files)[0] >= '1' && (*files)[0] <= '9')
		n_words = (uint32_t)strtoul(*files++, NULL, 10);
	for (; *files; files++)
		wrong |= measure_cub(*files, n_words);
	return wrong;
}

/* What needs no words but its own. */
static const struct {
	const char *name;
	int (*measure)(void);
	int n_forms; /* of its kernels, that it brings */
} measurements[] = {
	{"times", measure_times, GSB_N_REWRITE_FORMS},
	{"counting", measure_counting, GSB_N_REWRITE_FORMS},
	{"overlap", measure_overlap, GSB_N_REWRITE_FORMS},
	{"grids", measure_grids, 0},
	{"share", measure_shares, GSB_N_REWRITE_FORMS},
	{"hints", measure_hints, GSB_N_REWRITE_FORMS},
};

static int usage(void)
{
	fprintf(stderr, "usage: resize variants FILE... | cub [WORDS] FILE... | results [KERNEL] | "
			"counts [KERNEL] | times | counting | overlap | grids | share | hints\n");
	return 2;
}

static int run(const char *command, char **words)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(measurements); i++)
		if (!strcmp(command, measurements[i].name) && !*words) {
			task_prepare(measurements[i].n_forms);
			return measurements[i].measure();
		}
	if (!strcmp(command, "variants"))
		return all_variants(words);
	if (!strcmp(command, "cub"))
		return all_of_cub(words);
	if (!strcmp(command, "results") || !strcmp(command, "counts"))
		return results(*words, command[0] == 'c');
	return usage();
}

int main(int argc, char **argv)
{
	if (argc < 2)
		return usage();
	setvbuf(stdout, NULL, _IOLBF, 0);
	device_open();
	return run(argv[1], argv + 2);
}
