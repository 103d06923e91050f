/*
 * variants_make.c - see variants_make.h.
 */
#include "broker/engine/code/variants_make.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/compiler.h"
#include "broker/engine/code/proofs.h"
#include "broker/engine/code/variants.h"
#include "ptx/fatbin.h"
#include "ptx/print.h"
#include "ptx/resize/rewrite.h"
#include "ptx/resize/rewrite_count.h"

/* ---- one kernel ---- */

/* A body that is not here is of the system: printf, malloc, assertions. */
static bool calls_system(const struct gsb_ptx_call *c)
{
	return c->target.kind != GSB_PTX_OPERAND_FUNC || !c->target.func->has_body;
}

/* A failed assertion names its block, as the device counts them. */
static bool asserts(const struct gsb_ptx_kernel *k)
{
	for (uint32_t i = 0; i < k->n_funcs; i++)
		for (uint32_t n = 0; n < k->funcs[i]->n_insns; n++) {
			const struct gsb_ptx_call *c = k->funcs[i]->insns[n].call;

			if (c && c->target.kind == GSB_PTX_OPERAND_FUNC &&
			    !strcmp(c->target.func->name, "__assertfail"))
				return true;
		}
	return false;
}

/* Does it do what a second run would do again? */
static bool writes_outside(const struct gsb_ptx_kernel *k)
{
	for (uint32_t i = 0; i < k->n_funcs; i++)
		for (uint32_t n = 0; n < k->funcs[i]->n_insns; n++) {
			const struct gsb_ptx_insn *in = &k->funcs[i]->insns[n];

			if (in->op == GSB_PTX_OP_TRAP || (in->call && calls_system(in->call)))
				return true;
		}
	return k->indirect;
}

/* Those that change the geometry. */
static const struct {
	enum gsb_shape_form shape;
	enum gsb_resize_form form;
} proven[] = {
	{GSB_SHAPE_RESHAPE, GSB_RESIZE_RESHAPE},
	{GSB_SHAPE_SLICE, GSB_RESIZE_SLICE},
	{GSB_SHAPE_PERSISTENT, GSB_RESIZE_PERSISTENT},
};

static_assert(GSB_TRACE_REFUSAL_UNSUPPORTED + GSB_RESIZE_RULE_CALL == GSB_TRACE_REFUSAL_CALL,
	      "events.def lists all rules");
static_assert(GSB_N_SHAPES <= sizeof(((struct gsb_proof *)0)->refusals), "each has one");

static enum gsb_trace_refusal refusal_of(const struct gsb_resize_facts *f,
					 enum gsb_resize_form form, bool is_wanted)
{
	const struct gsb_resize_finding *why = gsb_resize_why_not(f, form);

	if (why)
		return GSB_TRACE_REFUSAL_UNSUPPORTED + why->rule;
	if (asserts(f->kernel))
		return GSB_TRACE_REFUSAL_ASSERTS;
	return is_wanted ? GSB_TRACE_REFUSAL_NONE : GSB_TRACE_REFUSAL_OFF;
}

/* What is proven, and why not the rest. To count and to hint changes nothing. */
static void prove(const struct gsb_resize_facts *f, uint32_t wanted, struct gsb_proof *v)
{
	v->shapes = wanted & (GSB_SHAPE_BIT(GSB_SHAPE_COUNT) | GSB_SHAPE_BIT(GSB_SHAPE_HINT));
	for (size_t i = 0; i < GSB_ARRAY_LEN(proven); i++) {
		uint32_t bit = GSB_SHAPE_BIT(proven[i].shape);
		enum gsb_trace_refusal why = refusal_of(f, proven[i].form, wanted & bit);

		v->refusals[proven[i].shape] = (uint8_t)why;
		if (why == GSB_TRACE_REFUSAL_NONE)
			v->shapes |= bit;
	}
}

struct work {
	const struct gsb_ptx_module *module;
	uint32_t wanted;
	struct gsb_rewrite_job *jobs;
	size_t n_jobs;
	uint64_t n_judged; /* instructions, each for every kernel that reaches it */
};

/* Else thousands of kernels that reach the same million instructions would keep the loader for hours. */
#define MAX_JUDGED ((uint64_t)1 << 23)

static int look_at_words(const struct gsb_ptx_kernel *k, struct gsb_arena *arena,
			 struct gsb_proof *v)
{
	struct gsb_count_sites sites;
	int err = gsb_count_sites(k, arena, &sites);

	if (!err && sites.n_words <= UINT32_MAX)
		v->n_count_words = (uint32_t)sites.n_words;
	else
		v->shapes &= ~GSB_SHAPE_BIT(GSB_SHAPE_COUNT);
	return err == -E2BIG ? 0 : err;
}

/* Jobs for what is wanted, proven, and can be written. */
static int add_jobs(struct work *w, const struct gsb_ptx_func *f, enum gsb_resize_early early,
		    struct gsb_proof *v)
{
	for (enum gsb_shape_form form = 0; form < GSB_N_SHAPES; form++) {
		struct gsb_rewrite_job job = {.kernel = f, .early = early};
		uint32_t bit = GSB_SHAPE_BIT(form);
		struct gsb_rewrite_refusal why;
		int err;

		if (!(v->shapes & bit) || !gsb_variant_is_written(form, &job.form))
			continue;
		err = gsb_rewrite_check(w->module, &job, &why);
		if (err && err != -ENOTSUP)
			return err;
		if (err) {
			v->shapes &= ~bit;
			v->refusals[form] = GSB_TRACE_REFUSAL_NOT_MADE;
		} else {
			w->jobs[w->n_jobs++] = job;
		}
	}
	return 0;
}

static uint32_t rounds_of(const struct gsb_ptx_insn *in)
{
	if (!gsb_ptx_type_is_float(in->type[0]))
		return 0;
	switch (in->type[0]) {
	case GSB_PTX_TYPE_F32: return GSB_ROUNDS_F32;
	case GSB_PTX_TYPE_F64: return GSB_ROUNDS_F64;
	default: return GSB_ROUNDS_OTHER;
	}
}

/*
 * What in a block depends on the order of its threads, the facts do not say: a block stays as it is. But it may come out
 * in another order each time.
 */
static void look_at_atomics(const struct gsb_ptx_kernel *k, struct gsb_proof *p)
{
	for (uint32_t i = 0; i < k->n_funcs; i++)
		for (uint32_t n = 0; n < k->funcs[i]->n_insns; n++) {
			const struct gsb_ptx_insn *in = &k->funcs[i]->insns[n];

			if (gsb_ptx_op_class(in->op) != GSB_PTX_CLASS_ATOM)
				continue;
			p->rounds |= rounds_of(in);
			if (in->space == GSB_PTX_SPACE_SHARED && in->op == GSB_PTX_OP_ATOM)
				p->order |= GSB_RESIZE_ORDER_RESULT;
		}
	if (p->rounds)
		p->order |= GSB_RESIZE_ORDER_FLOAT;
	if (p->rounds & GSB_ROUNDS_OTHER)
		p->order |= GSB_RESIZE_ORDER_RESULT;
}

/* Variables that kernels may write are memory that no context's map has. */
static bool has_variables(const struct gsb_ptx_module *m)
{
	for (uint32_t i = 0; i < m->n_vars; i++)
		if (m->vars[i]->space == GSB_PTX_SPACE_GLOBAL)
			return true;
	return false;
}

static bool reaches_further(const struct gsb_resize_facts *f)
{
	bool further = f->loaded_pointers;

	for (uint32_t i = 0; i < f->n_pointers; i++)
		further |= f->pointers[i].access & GSB_RESIZE_ESCAPES;
	return further;
}

static uint64_t instructions_of(const struct gsb_ptx_kernel *k)
{
	uint64_t n = 0;

	for (uint32_t i = 0; i < k->n_funcs; i++)
		n += k->funcs[i]->n_insns;
	return n;
}

static int judge(struct work *w, const struct gsb_ptx_func *f, struct gsb_proof *v)
{
	struct gsb_resize_facts facts;
	struct gsb_arena arena;
	int err;

	gsb_arena_init(&arena, GSB_PTX_MAX_ARENA_BYTES);
	err = gsb_resize_analyse(w->module, f, &arena, &facts);
	if (!err) {
		*v = (struct gsb_proof){.order = facts.order,
					.writes_outside = has_variables(w->module) ||
							  writes_outside(facts.kernel),
					.loaded_pointers = reaches_further(&facts),
					.launch = facts.launch};
		prove(&facts, w->wanted, v);
		look_at_atomics(facts.kernel, v);
		w->n_judged += instructions_of(facts.kernel);
		if (v->shapes & GSB_SHAPE_BIT(GSB_SHAPE_COUNT))
			err = look_at_words(facts.kernel, &arena, v);
	}
	if (!err)
		err = add_jobs(w, f, facts.early, v);
	gsb_arena_finish(&arena);
	return err;
}

/* ---- the image ---- */

static bool is_kernel(const struct gsb_ptx_func *f)
{
	return f->is_entry && f->has_body;
}

static int take_names(struct gsb_variants *v, const struct gsb_ptx_module *m)
{
	size_t bytes = 1;
	char *at;

	for (uint32_t i = 0; i < m->n_funcs; i++)
		if (is_kernel(m->funcs[i])) {
			bytes += strlen(m->funcs[i]->name) + 1;
			v->n_kernels++;
		}
	v->names = calloc(v->n_kernels + 1, sizeof(*v->names));
	v->proofs = calloc(v->n_kernels + 1, sizeof(*v->proofs));
	at = v->names_room = malloc(bytes);
	if (!v->names || !v->proofs || !at)
		return -ENOMEM;
	for (uint32_t i = 0, n = 0; i < m->n_funcs; i++)
		if (is_kernel(m->funcs[i])) {
			v->names[n++] = at;
			at = stpcpy(at, m->funcs[i]->name) + 1;
		}
	return 0;
}

static int judge_all(struct gsb_variants *v, struct work *w)
{
	const struct gsb_ptx_module *m = w->module;
	int err = 0;

	w->jobs = calloc(v->n_kernels * GSB_N_SHAPES + 1, sizeof(*w->jobs));
	if (!w->jobs)
		return -ENOMEM;
	for (uint32_t i = 0, n = 0; !err && i < m->n_funcs; i++)
		if (is_kernel(m->funcs[i]))
			err = w->n_judged > MAX_JUDGED ? -E2BIG
						       : judge(w, m->funcs[i], &v->proofs[n++]);
	return err;
}

static bool any_shape(const struct gsb_variants *v)
{
	for (uint32_t i = 0; i < v->n_kernels; i++)
		if (v->proofs[i].shapes)
			return true;
	return false;
}

static int write_all(struct gsb_variants *v, const struct work *w)
{
	struct gsb_rewrite_refusal why;
	struct gsb_ptx_module *m;
	int err = gsb_rewrite(w->module, w->jobs, w->n_jobs, &m, &why);

	if (err)
		return err;
	err = gsb_ptx_print(m, &v->text, &v->text_bytes);
	gsb_ptx_module_destroy(m);
	return err;
}

static int make_of_module(struct gsb_variants *v, const struct gsb_ptx_module *m, uint32_t wanted)
{
	struct work w = {.module = m, .wanted = wanted};
	int err = take_names(v, m);

	if (!err)
		err = judge_all(v, &w);
	if (!err && !any_shape(v))
		err = -ENOENT;
	if (!err)
		err = write_all(v, &w);
	free(w.jobs);
	return err;
}

static int make_of_text(struct gsb_variants *v, const char *text, size_t len, uint32_t wanted)
{
	struct gsb_ptx_module *m;
	int err = gsb_ptx_parse(text, len, &m, NULL);

	if (err)
		return err;
	/* What is not understood may be a variable, or change what the rest means. */
	err = m->n_unknown ? -EILSEQ : make_of_module(v, m, wanted);
	if (!err && gsb_variants_count(v))
		v->module = m;
	else
		gsb_ptx_module_destroy(m);
	return err;
}

static int make_and_keep(const struct gsb_resizing *r, const char *text, size_t len,
			 const char *hash, uint32_t wanted, struct gsb_variants **out)
{
	struct gsb_variants *v = calloc(1, sizeof(*v));
	int err;

	if (!v)
		return -ENOMEM;
	v->wanted = wanted;
	memcpy(v->hash, hash, sizeof(v->hash));
	err = make_of_text(v, text, len, wanted);
	if (err) {
		gsb_variants_destroy(v);
		return err;
	}
	gsb_proofs_write(r, v);
	*out = v;
	return 0;
}

int gsb_variants_make(const struct gsb_resizing *r, const void *image, size_t size, uint32_t cc,
		      uint32_t wanted, struct gsb_variants **out)
{
	uint8_t hash[GSB_SHA256_BYTES];
	char hex[GSB_SHA256_HEX], log[256];
	struct gsb_arena unpacked;
	const char *text;
	size_t len;
	int err;

	gsb_arena_init(&unpacked, GSB_FATBIN_MAX_RAW_BYTES);
	err = gsb_image_find_ptx(image, size, cc, &unpacked, &text, &len, log, sizeof(log));
	if (!err) {
		gsb_sha256(text, len, hash);
		gsb_sha256_hex(hash, hex);
		if (gsb_proofs_read(r, hex, wanted, out))
			err = make_and_keep(r, text, len, hex, wanted, out);
	}
	gsb_arena_finish(&unpacked);
	return err;
}
