/*
 * rewrite.c - see rewrite.h: which jobs can be done, and doing them.
 *
 * What is refused here cannot be written, whatever the classifier says; so a classifier that errs about one of these does not
 * make a wrong kernel.
 */
#include "ptx/resize/rewrite.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "ptx/ops.h"
#include "ptx/resize/rewrite_parts.h"
#include "ptx/resize/variant.h"

#define OWN_SHARED_BYTES 512 /* more than any form adds */

static const struct {
	const char *name;
	uint32_t param_bytes;
	void (*write)(struct gsb_edit *e, const struct gsb_rewrite_work *w, const char *name);
} forms[GSB_N_REWRITE_FORMS] = {
	[GSB_REWRITE_SLICE] = {"slice", sizeof(struct gsb_variant_slice), gsb_rewrite_slice},
	[GSB_REWRITE_PERSISTENT] = {"persistent", sizeof(struct gsb_variant_persistent),
				    gsb_rewrite_loop},
	[GSB_REWRITE_COUNT] = {"count", sizeof(struct gsb_variant_count), gsb_rewrite_count},
	[GSB_REWRITE_HINT] = {"hint", 0, gsb_rewrite_hint},
};

const char *gsb_rewrite_form_name(enum gsb_rewrite_form form)
{
	return forms[form].name;
}

bool gsb_rewrite_variant_name(const char *kernel, enum gsb_rewrite_form form, char *out,
			      size_t size)
{
	int n = snprintf(out, size, "%s$%s", kernel, forms[form].name);

	return n >= 0 && (size_t)n < size;
}

/* ---- refusals ---- */

static int GSB_PRINTF(3, 4)
	refuse(struct gsb_rewrite_refusal *why, uint32_t line, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(why->text, sizeof(why->text), format, args);
	va_end(args);
	why->line = line;
	return -ENOTSUP;
}

static bool is_ours(const char *name)
{
	return name && !strncmp(name, GSB_EDIT_PREFIX, sizeof(GSB_EDIT_PREFIX) - 1);
}

static int check_names(const struct gsb_rewrite_work *w, struct gsb_rewrite_refusal *why)
{
	const struct gsb_ptx_module *m = w->m;
	const char *kernel = w->kernel.entry->name;
	size_t len = strlen(kernel);

	for (uint32_t i = 0; i < m->n_vars; i++)
		if (is_ours(m->vars[i]->name))
			return refuse(why, m->vars[i]->line,
				      "'%s': the module has been rewritten: take the original",
				      m->vars[i]->name);
	for (uint32_t i = 0; i < w->kernel.entry->n_regs; i++)
		if (is_ours(w->kernel.entry->regs[i].base))
			return refuse(why, w->kernel.entry->line,
				      "it is a variant itself: take the original");
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		const char *name = m->funcs[i]->name;

		if (!strncmp(name, kernel, len) && name[len] == '$' &&
		    !strcmp(name + len + 1, forms[w->job->form].name))
			return refuse(why, m->funcs[i]->line,
				      "the module has a function '%.100s' already", name);
	}
	return 0;
}

/* Before 8.1, or on older targets, there was less room for parameters. */
static int check_params(const struct gsb_rewrite_work *w, struct gsb_rewrite_refusal *why)
{
	const struct gsb_ptx_module *m = w->m;
	const struct gsb_ptx_func *f = w->kernel.entry;
	bool old = m->version_major * 10 + m->version_minor < 81 || m->target_sm < 70;
	uint64_t most = old ? 4096 : GSB_PTX_MAX_PARAM_BYTES;
	uint64_t bytes = gsb_round_up(f->param_bytes, 8) + forms[w->job->form].param_bytes;

	if (f->n_params && bytes > most)
		return refuse(why, f->line, "no room for %u more bytes of parameters",
			      forms[w->job->form].param_bytes);
	return 0;
}

/* Of the variant, anywhere in the kernel or its functions. */
static int check_version(const struct gsb_rewrite_work *w, struct gsb_rewrite_refusal *why)
{
	const struct gsb_ptx_module *m = w->m;
	const bool counts = w->job->form == GSB_REWRITE_COUNT;
	uint32_t version = m->version_major * 10 + m->version_minor;
	uint32_t needs = counts ? 62 : 60;

	if (m->address_bits != 64)
		return refuse(why, 0, "the module has addresses of %u bits, not 64",
			      m->address_bits);
	if (version < needs)
		return refuse(why, 0, "PTX %u.%u has not what the form needs: build for %u.%u",
			      version / 10, version % 10, needs / 10, needs % 10);
	if (counts && m->target_sm < 70)
		return refuse(why, 0, "sm_%u cannot match lanes: build for sm_70", m->target_sm);
	return 0;
}

static const char *cluster_word(const struct gsb_ptx_tuning *t)
{
	if (t->reqnctapercluster[0])
		return ".reqnctapercluster";
	if (t->maxclusterrank)
		return ".maxclusterrank";
	return t->explicit_cluster || t->blocks_are_clusters ? ".explicitcluster" : NULL;
}

/* What a read of a special register means for blocks that are not those of the launch. */
static int check_sreg(const struct gsb_rewrite_work *w, const struct gsb_ptx_insn *in,
		      const struct gsb_ptx_operand *o, struct gsb_rewrite_refusal *why)
{
	if (o->kind != GSB_PTX_OPERAND_SREG)
		return 0;
	if (o->sreg >= GSB_PTX_SREG_CLUSTERID)
		return refuse(why, in->line, "it reads %s: its blocks belong to clusters",
			      gsb_ptx_sreg_name(o->sreg));
	if (o->sreg == GSB_PTX_SREG_ENVREG)
		return refuse(why, in->line, "it reads %%envreg%u: it is for cooperative launches",
			      o->axis);
	if (gsb_rewrite_id_of(o) >= 0 && gsb_ptx_type_bytes(in->type[0]) != 4)
		return refuse(why, in->line, "it reads %s as %s, not as 32 bits",
			      gsb_ptx_sreg_name(o->sreg), gsb_ptx_type_name(in->type[0]));
	if (w->job->form == GSB_REWRITE_PERSISTENT &&
	    (o->sreg == GSB_PTX_SREG_TOTAL_SMEM_SIZE || o->sreg == GSB_PTX_SREG_AGGR_SMEM_SIZE))
		return refuse(why, in->line, "it reads %s, to which the form adds",
			      gsb_ptx_sreg_name(o->sreg));
	return 0;
}

/* Of blocks that are not launched as such. */
static const char *bound_to_launch(const struct gsb_ptx_insn *in)
{
	if (gsb_ptx_insn_is_of_cluster(in))
		return "its blocks belong to clusters";
	switch (in->op) {
	case GSB_PTX_OP_GRIDDEP_WAIT:
	case GSB_PTX_OP_GRIDDEP_LAUNCH: return "grids wait for each other";
	default: break;
	}
	if (in->call && in->call->target.kind == GSB_PTX_OPERAND_FUNC &&
	    !strncmp(in->call->target.func->name, "cudaCDP", 7))
		return "it launches kernels";
	return NULL;
}

/* State of a block that the next tile would find. */
static const char *outlives_tile(const struct gsb_ptx_insn *in, bool in_entry)
{
	switch (in->op) {
	case GSB_PTX_OP_BAR_ARRIVE:
	case GSB_PTX_OP_BARRIER_ARRIVE: return "threads arrive at a barrier and do not wait";
	case GSB_PTX_OP_SETMAXNREG_INC:
	case GSB_PTX_OP_SETMAXNREG_DEC: return "it takes and gives back registers";
	case GSB_PTX_OP_ALLOCA: return in_entry ? "memory that it allocates would add up" : NULL;
	case GSB_PTX_OP_EXIT: return in_entry ? NULL : "a thread ends inside a function";
	case GSB_PTX_OP_CP_ASYNC_CA:
	case GSB_PTX_OP_CP_ASYNC_CG:
	case GSB_PTX_OP_CP_ASYNC_CA_HINT:
	case GSB_PTX_OP_CP_ASYNC_CG_HINT:
	case GSB_PTX_OP_CP_ASYNC_COMMIT:
	case GSB_PTX_OP_CP_ASYNC_WAIT:
	case GSB_PTX_OP_CP_ASYNC_WAIT_ALL: return NULL;
	default: break;
	}
	if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_ASYNC)
		return "an mbarrier or a bulk copy would outlive its tile";
	return NULL;
}

static bool is_plain_barrier(const struct gsb_ptx_insn *in)
{
	return (in->op == GSB_PTX_OP_BAR_SYNC || in->op == GSB_PTX_OP_BARRIER_SYNC) &&
	       in->guard == GSB_PTX_NONE && in->n_operands == 1 &&
	       in->operands[0].kind == GSB_PTX_OPERAND_IMM && !in->operands[0].imm;
}

static int check_loop_insn(const struct gsb_rewrite_work *w, const struct gsb_ptx_insn *in,
			   bool in_entry, struct gsb_rewrite_refusal *why)
{
	const char *text = outlives_tile(in, in_entry);
	bool barrier = gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_BARRIER;

	if (text)
		return refuse(why, in->line, "%s: %s", gsb_ptx_op_name(in->op), text);
	if (barrier && w->job->early == GSB_RESIZE_E1 && !(in_entry && is_plain_barrier(in)))
		return refuse(why, in->line,
			      "threads leave early, and no other can stand in for them at '%s'",
			      in->spelling);
	return 0;
}

static int check_insn(const struct gsb_rewrite_work *w, const struct gsb_ptx_insn *in,
		      bool in_entry, struct gsb_rewrite_refusal *why)
{
	const char *text = bound_to_launch(in);
	int err = 0;

	if (text)
		return refuse(why, in->line, "%s: %s", gsb_ptx_op_name(in->op), text);
	for (unsigned int i = 0; !err && i < in->n_operands; i++)
		err = check_sreg(w, in, &in->operands[i], why);
	if (!err && w->job->form == GSB_REWRITE_PERSISTENT)
		err = check_loop_insn(w, in, in_entry, why);
	return err;
}

static int check_code(const struct gsb_rewrite_work *w, struct gsb_rewrite_refusal *why)
{
	int err = 0;

	for (uint32_t i = 0; i < w->kernel.n_funcs; i++) {
		const struct gsb_ptx_func *f = w->kernel.funcs[i];

		for (uint32_t k = 0; !err && k < f->n_insns; k++)
			err = check_insn(w, &f->insns[k], i == 0, why);
	}
	return err;
}

/* The blocks of the launch are others than those of the program. */
static int check_blocks(const struct gsb_rewrite_work *w, struct gsb_rewrite_refusal *why)
{
	const struct gsb_ptx_func *f = w->kernel.entry;
	const char *cluster = cluster_word(&f->tuning);

	if (cluster)
		return refuse(why, f->line, "%s: its blocks belong to clusters", cluster);
	if (w->through_shared && w->kernel.indirect)
		return refuse(why, f->line,
			      "functions read %%ctaid or %%nctaid, and not all calls are by name");
	return check_code(w, why);
}

static int check_loop(const struct gsb_rewrite_work *w, struct gsb_rewrite_refusal *why)
{
	const struct gsb_ptx_func *f = w->kernel.entry;

	if (w->job->early == GSB_RESIZE_E2)
		return refuse(why, f->line, "threads leave early, and its barriers are not plain");
	if (w->job->early == GSB_RESIZE_E3)
		return refuse(why, f->line,
			      "lanes leave while others of their warp still work together");
	if (w->kernel.static_shared_bytes + OWN_SHARED_BYTES > GSB_PTX_MAX_SHARED)
		return refuse(why, f->line, "no room for %u more bytes of shared memory",
			      OWN_SHARED_BYTES);
	return 0;
}

static int check_hint(struct gsb_rewrite_work *w, struct gsb_rewrite_refusal *why)
{
	int n = gsb_rewrite_find_marked(w);

	if (n < 0)
		return n;
	return n ? 0
		 : refuse(why, w->kernel.entry->line,
			  "no load or store of it is known to stream that has room for a hint");
}

static int check_form(struct gsb_rewrite_work *w, struct gsb_rewrite_refusal *why)
{
	enum gsb_rewrite_form form = w->job->form;
	int err = check_names(w, why);

	if (err)
		return err;
	if (form == GSB_REWRITE_HINT)
		return check_hint(w, why);
	if (w->kernel.refused)
		return refuse(why, w->kernel.refused->line, "'%.100s' is not understood",
			      w->kernel.refused->spelling);
	err = check_params(w, why);
	if (!err)
		err = check_version(w, why);
	if (!err && form == GSB_REWRITE_COUNT && w->kernel.indirect)
		return refuse(why, w->kernel.entry->line,
			      "not all calls are by name, so functions cannot count");
	if (!err && form == GSB_REWRITE_PERSISTENT)
		err = check_loop(w, why);
	if (!err && form != GSB_REWRITE_COUNT)
		err = check_blocks(w, why);
	return err;
}

/* ---- work ---- */

static void look_at(struct gsb_rewrite_work *w, const struct gsb_ptx_insn *in)
{
	enum gsb_ptx_class class = gsb_ptx_op_class(in->op);

	w->barriers |= class == GSB_PTX_CLASS_BARRIER;
	w->copies |= class == GSB_PTX_CLASS_ASYNC;
	w->shared |= in->space == GSB_PTX_SPACE_SHARED || class == GSB_PTX_CLASS_ASYNC;
}

static int prepare(struct gsb_rewrite_work *w, const struct gsb_ptx_module *m,
		   const struct gsb_rewrite_job *job, struct gsb_arena *arena)
{
	int err;

	*w = (struct gsb_rewrite_work){.m = m, .job = job, .arena = arena};
	err = gsb_ptx_kernel_build(m, job->kernel, arena, &w->kernel);
	if (err)
		return err;
	w->shared = w->kernel.n_shared > 0;
	for (uint32_t i = 0; i < w->kernel.n_funcs; i++)
		for (uint32_t k = 0; k < w->kernel.funcs[i]->n_insns; k++)
			look_at(w, &w->kernel.funcs[i]->insns[k]);
	return gsb_rewrite_find_ids(w) ? 0 : -ENOMEM;
}

static int check_kernel(const struct gsb_ptx_module *m, const struct gsb_rewrite_job *job,
			struct gsb_arena *arena, struct gsb_rewrite_work *w,
			struct gsb_rewrite_refusal *why)
{
	int err;

	if (!job->kernel->is_entry || !job->kernel->has_body)
		return refuse(why, job->kernel->line, "it is no kernel with a body");
	err = prepare(w, m, job, arena);
	if (err == -E2BIG || err == -EINVAL)
		return refuse(why, job->kernel->line, "it is too large to be looked at");
	return err ? err : check_form(w, why);
}

int gsb_rewrite_check(const struct gsb_ptx_module *m, const struct gsb_rewrite_job *job,
		      struct gsb_rewrite_refusal *why)
{
	struct gsb_rewrite_work w;
	struct gsb_arena arena;
	int err;

	gsb_arena_init(&arena, GSB_PTX_MAX_ARENA_BYTES);
	err = check_kernel(m, job, &arena, &w, why);
	gsb_arena_finish(&arena);
	return err;
}

static int rewrite_one(struct gsb_edit *e, const struct gsb_rewrite_job *job,
		       struct gsb_rewrite_refusal *why)
{
	struct gsb_rewrite_work w;
	struct gsb_arena arena;
	int err;

	gsb_arena_init(&arena, GSB_PTX_MAX_ARENA_BYTES);
	err = check_kernel(e->from, job, &arena, &w, why);
	if (!err)
		forms[job->form].write(
			e, &w,
			gsb_edit_format(e, "%s$%s", job->kernel->name, forms[job->form].name));
	gsb_arena_finish(&arena);
	return err;
}

int gsb_rewrite(const struct gsb_ptx_module *m, const struct gsb_rewrite_job *jobs, size_t n_jobs,
		struct gsb_ptx_module **out, struct gsb_rewrite_refusal *why)
{
	struct gsb_edit e;
	int err = 0;

	gsb_edit_init(&e, m);
	for (size_t i = 0; !err && i < n_jobs; i++)
		err = rewrite_one(&e, &jobs[i], why);
	if (!err)
		err = gsb_edit_module(&e, out);
	gsb_edit_finish(&e);
	return err;
}
