/*
 * programs.c - programs.def: the kernels around its bodies, and what they are held against.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "tests/litmus/litmus.h"

#define MEM_BYTES 8192
#define AT_ERRORS 384 /* bytes into mem: what threads found wrong */

static uint32_t word(const void *array, size_t byte)
{
	uint32_t v;

	memcpy(&v, (const char *)array + byte, sizeof(v));
	return v;
}

static uint32_t n_threads(const struct litmus_launch *l)
{
	return l->grid * l->block;
}

static bool check_no_errors(const struct litmus_launch *l, char *log, size_t size)
{
	uint32_t n = word(l->mem, AT_ERRORS);

	snprintf(log, size, "threads found %u values that they must not", n);
	return !n;
}

static bool check_critical(const struct litmus_launch *l, char *log, size_t size)
{
	uint32_t want = n_threads(l) * l->params.iters, a = word(l->mem, 128),
		 b = word(l->mem, 256);

	snprintf(log, size, "the lock let %u and %u in, not %u; %u saw another inside", a, b, want,
		 word(l->mem, AT_ERRORS));
	return a == want && b == want && !word(l->mem, AT_ERRORS);
}

static bool check_pairs(const struct litmus_launch *l, char *log, size_t size)
{
	for (uint32_t t = 0; t < l->block; t++) {
		uint32_t n = word(l->mem, 64 * (size_t)t + 12);

		snprintf(log, size, "pair %u counted %u, not %u", t, n, 2 * l->params.iters);
		if (n != 2 * l->params.iters)
			return false;
	}
	return true;
}

/* Every number below @n has been got once. */
static bool are_marked(const struct litmus_launch *l, uint32_t n, char *log, size_t size)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t times = word(l->res, 4 * (size_t)i);

		snprintf(log, size, "%u was got %u times", i, times);
		if (times != 1)
			return false;
	}
	return check_no_errors(l, log, size);
}

static bool check_marks(const struct litmus_launch *l, char *log, size_t size)
{
	return are_marked(l, n_threads(l) * l->params.iters, log, size);
}

/* What is left at the end nobody has got. */
static bool check_chain(const struct litmus_launch *l, char *log, size_t size)
{
	uint32_t last = word(l->mem, 0), one = 1, n = n_threads(l) * l->params.iters;

	if (last > n || word(l->res, 4 * (size_t)last)) {
		snprintf(log, size, "%u is left, and was got", last);
		return false;
	}
	memcpy((char *)l->res + 4 * (size_t)last, &one, sizeof(one));
	return are_marked(l, n + 1, log, size);
}

static bool check_look_back(const struct litmus_launch *l, char *log, size_t size)
{
	uint32_t sum = 0;

	for (uint32_t i = 0; i < n_threads(l) / 32 * l->params.iters; i++) {
		uint32_t got = word(l->res, 4 * (size_t)i);

		snprintf(log, size, "tile %u: %u stands before it, not %u", i, got, sum);
		if (got != sum)
			return false;
		sum += i + 3;
	}
	return true;
}

const struct litmus_task litmus_tasks[] = {
#define LITMUS_TASK(name, grid, block, check, why, body) {#name, why, body, grid, block, check},
#include "tests/litmus/programs.def"
};
const unsigned int litmus_n_tasks = GSB_ARRAY_LEN(litmus_tasks);

/* ---- kernels ---- */

static bool put_text(const struct litmus_task *t, char *out, size_t size)
{
	int n = snprintf(
		out, size,
		".version 8.4\n.target sm_90\n.address_size 64\n.shared .align 4 .u32 word;\n"
		".visible .entry program(.param .align 8 .b8 par[%zu])\n{\n"
		"\t.reg .pred %%p<4>;\n\t.reg .b32 %%r<10>, %%iters, %%gid, %%all, %%lane, %%block, "
		"%%blocks, %%threads;\n"
		"\t.reg .b64 %%d<10>, %%mem, %%res, %%sync;\n\t.reg .b128 %%q<4>;\n\t.reg .b32 %%t;\n"
		"\tld.param.u64 %%mem, [par+%zu];\n\tld.param.u64 %%res, [par+%zu];\n"
		"\tld.param.u64 %%sync, [par+%zu];\n\tld.param.u32 %%iters, [par+%zu];\n"
		"\tmov.u32 %%t, %%tid.x;\n\tmov.u32 %%block, %%ctaid.x;\n\tmov.u32 %%blocks, "
		"%%nctaid.x;\n"
		"\tmov.u32 %%threads, %%ntid.x;\n\tmul.lo.u32 %%all, %%blocks, %%threads;\n"
		"\tmad.lo.u32 %%gid, %%block, %%threads, %%t;\n\tand.b32 %%lane, %%t, 31;\n"
		"\tsetp.eq.u32 %%p1, %%t, 0;\n%s\n\tret;\n}\n",
		sizeof(struct litmus_params), offsetof(struct litmus_params, mem),
		offsetof(struct litmus_params, res), offsetof(struct litmus_params, sync),
		offsetof(struct litmus_params, iters), t->body);

	return n > 0 && (size_t)n < size;
}

static bool load(struct litmus_machine *m, const struct litmus_task *t, char *log, size_t size)
{
	char *text = malloc(LITMUS_TEXT);
	bool ok = text && put_text(t, text, LITMUS_TEXT) && m->load(m, text, "program", log, size);

	free(text);
	return ok;
}

bool litmus_task_run(struct litmus_machine *m, const struct litmus_task *t, uint64_t n,
		     uint64_t *n_done, char *log, size_t size)
{
	uint32_t takers = t->grid * t->block / (t->check == check_look_back ? 32 : 1);
	uint32_t iters = (uint32_t)((n + takers - 1) / takers);
	struct litmus_launch l = {
		.grid = t->grid,
		.block = t->block,
		.params = {.iters = iters},
		.mem_bytes = MEM_BYTES,
		.res_bytes = 4 * ((size_t)t->grid * t->block * (iters + 2) + 1),
		.sync_bytes = 16 * (size_t)takers * iters,
	};
	bool ok;

	l.mem = calloc(1, l.mem_bytes);
	l.res = calloc(1, l.res_bytes);
	l.sync = calloc(1, l.sync_bytes);
	ok = l.mem && l.res && l.sync && load(m, t, log, size) && m->run(m, &l, log, size) &&
	     t->check(&l, log, size);
	*n_done = (uint64_t)takers * iters;
	free(l.mem);
	free(l.res);
	free(l.sync);
	return ok;
}
