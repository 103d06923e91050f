/*
 * fuzz_resize.c - any text that parses through the analyses of its geometry: they end, they touch nothing that is not theirs,
 * and a form is legal exactly when there is no reason against it.
 */
#include <stdlib.h>
#include <string.h>

#include "ptx/resize/facts.h"
#include "ptx/resize/stream.h"
#include "tests/fuzz/fuzz.h"

const char *const gsb_fuzz_seeds = "tests/resize/*/*.ptx";

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_places(const struct gsb_resize_facts *f)
{
	for (uint32_t i = 0; i < f->n_findings; i++) {
		const struct gsb_resize_place *p = &f->findings[i].place;

		must(!p->func || p->insn == GSB_PTX_NONE || p->insn < p->func->n_insns);
		must(strlen(gsb_resize_rule_text(f->findings[i].rule)) > 0);
		gsb_resize_line(p);
	}
	for (uint32_t i = 0; i < f->n_readers; i++)
		must(f->readers[i].place.insn < f->readers[i].place.func->n_insns);
	for (uint32_t i = 0; i < f->n_exits; i++)
		must(f->exits[i].place.insn < f->kernel->entry->n_insns);
	for (uint32_t i = 0; i < f->n_barriers; i++)
		must(f->barriers[i].place.insn < f->kernel->entry->n_insns);
	for (uint32_t i = 0; i < f->n_pointers; i++)
		must(f->pointers[i].param < f->kernel->entry->n_params);
}

static void check_streams(const struct gsb_ptx_module *m, const struct gsb_ptx_kernel *k,
			  struct gsb_arena *arena)
{
	const bool *streams;

	if (gsb_streams(m, k, arena, &streams))
		return;
	for (uint32_t i = 0; i < k->entry->n_insns; i++)
		must(!streams[i] || k->entry->insns[i].space == GSB_PTX_SPACE_GLOBAL ||
		     k->entry->insns[i].space == GSB_PTX_SPACE_GENERIC);
}

static void analyse(const struct gsb_ptx_module *m, const struct gsb_ptx_func *entry)
{
	const struct gsb_resize_geometry g = {{4, 1, 1}, {64, 1, 1}}, to = {{8, 1, 1}, {32, 1, 1}};
	struct gsb_resize_facts f;
	struct gsb_arena arena;

	gsb_arena_init(&arena, 64 << 20);
	if (!gsb_resize_analyse(m, entry, &arena, &f)) {
		for (int form = 0; form < GSB_RESIZE_ORDERED; form++)
			must((gsb_resize_why_not(&f, form) == NULL) == (f.forms >> form & 1));
		must(!(f.forms & 1) == !f.launch.reshape_axes);
		must(f.early <= GSB_RESIZE_E1 || gsb_resize_why_not(&f, GSB_RESIZE_PERSISTENT));
		check_places(&f);
		check_streams(m, f.kernel, &arena);
		gsb_resize_reshape_refused(&f.launch, &g, &to, 0);
		gsb_resize_persistent_refused(&f.launch, &g);
	}
	gsb_arena_finish(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsb_ptx_module *m;
	struct gsb_ptx_error err;

	if (gsb_ptx_parse((const char *)data, size, &m, &err))
		return 0;
	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (m->funcs[i]->is_entry && m->funcs[i]->has_body)
			analyse(m, m->funcs[i]);
	gsb_ptx_module_destroy(m);
	return 0;
}
