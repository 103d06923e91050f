/*
 * litmus.c - the litmus tests of tests/litmus on a real GPU: the same kernels, the same histograms. An outcome that
 * the model forbids is a bug of the GPU, of its driver or, most likely, of our table.
 *
 * Usage: litmus [INSTANCES [WORDS ...]]: of each case (100,000), and only those whose names have one of the words.
 * Exit: 0, 1 when something forbidden was seen or could not be run, 77 without a driver.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gpu.h"
#include "tests/litmus/litmus.h"

struct gpu_machine {
	struct litmus_machine base;
	CUmodule module;
	const char *kernel;
};

static bool load(struct litmus_machine *base, const char *text, const char *kernel, char *log,
		 size_t size)
{
	struct gpu_machine *m = (struct gpu_machine *)base;

	if (m->module)
		gpu_unload(m->module);
	m->module = NULL;
	m->kernel = kernel;
	return gpu_compile(text, &m->module, log, size);
}

static bool run(struct litmus_machine *base, struct litmus_launch *l, char *log, size_t size)
{
	struct gpu_machine *m = (struct gpu_machine *)base;
	void *args[] = {&l->params};
	struct gpu_call call = {m->kernel, {l->grid, 1}, {l->block, 1}, l->smem, args};

	(void)log, (void)size;
	l->params.mem = gpu_copy_in(l->mem, l->mem_bytes);
	l->params.res = gpu_copy_in(l->res, l->res_bytes);
	l->params.sync = gpu_copy_in(l->sync, l->sync_bytes);
	gpu_call(m->module, &call);
	gpu_copy_out(l->mem, l->params.mem, l->mem_bytes);
	gpu_copy_out(l->res, l->params.res, l->res_bytes);
	gpu_free(l->params.sync);
	return true;
}

static bool is_asked_for(const char *name, char **words)
{
	for (char **w = words; *w; w++) {
		if (strstr(name, *w))
			return true;
	}
	return !*words;
}

/* A line; true: nothing that may not be. */
static bool judge(const char *name, const struct litmus_case *c, const struct litmus_result *r)
{
	char text[4096];

	litmus_histogram_print(&r->seen, text, sizeof(text));
	printf("%-48s %s%s%s%s%s\n", name, text, r->n_forbidden ? " FORBIDDEN" : "",
	       r->n_torn ? " TORN" : "", r->n_witness ? "" : " no-witness",
	       c->row->weak[0] && r->n_weak ? " weak" : "");
	return !r->n_forbidden && !r->n_torn;
}

static unsigned int run_cases(struct gpu_machine *m, uint64_t n, char **words)
{
	unsigned int n_cases = 0, n_bad = 0, n_weak = 0;
	struct litmus_case c = {0};
	char name[128];

	while (litmus_next_case(&c)) {
		static struct litmus_result r;

		litmus_case_name(&c, name, sizeof(name));
		if (!is_asked_for(name, words))
			continue;
		n_cases++;
		if (!litmus_run(&m->base, &c, n, n_cases, &r)) {
			printf("%-48s not run: %s\n", name, r.log);
			n_bad++;
			continue;
		}
		n_bad += !judge(name, &c, &r);
		n_weak += r.n_weak != 0;
	}
	printf("# %u cases, weak outcomes in %u, %u bad\n", n_cases, n_weak, n_bad);
	return n_bad;
}

static unsigned int run_tasks(struct gpu_machine *m, uint64_t n, char **words)
{
	unsigned int n_bad = 0;

	for (unsigned int i = 0; i < litmus_n_tasks; i++) {
		const struct litmus_task *t = &litmus_tasks[i];
		char log[512] = "";
		uint64_t n_done;
		bool ok;

		if (!is_asked_for(t->name, words))
			continue;
		ok = litmus_task_run(&m->base, t, n, &n_done, log, sizeof(log));
		printf("%-48s %llu turns: %s\n", t->name, (unsigned long long)n_done,
		       ok ? "right" : log);
		fflush(stdout);
		n_bad += !ok;
	}
	return n_bad;
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 100000;
	struct gpu_machine m = {.base = {load, run}};
	char *none[] = {NULL}, **words = argc > 2 ? argv + 2 : none;
	unsigned int n_bad;

	gpu_start("# case, outcomes: how often\n");
	n_bad = run_cases(&m, n, words);
	n_bad += run_tasks(&m, n, words);
	return n_bad != 0;
}
