/*
 * features.c - what can be said of one instruction, or of the entry's directives: special registers, calls, and operations
 * that tie a kernel to its grid, its place or its launch.
 */
#include <stdio.h>
#include <string.h>

#include "ptx/ops.h"
#include "ptx/resize/analysis.h"

static void find(struct gsb_resize_analysis *a, enum gsb_resize_rule rule,
		 const struct gsb_ptx_func *f, uint32_t insn)
{
	gsb_resize_find(a, rule, f, insn);
}

/* ---- special registers ---- */

static void add_reader(struct gsb_resize_analysis *a, const struct gsb_ptx_func *f, uint32_t insn,
		       const struct gsb_ptx_operand *o)
{
	struct gsb_resize_reader *r =
		(struct gsb_resize_reader *)&a->out->readers[a->out->n_readers++];

	*r = (struct gsb_resize_reader){{f, insn}, o->sreg, o->axis};
	if (f != a->k->entry)
		find(a, GSB_RESIZE_RULE_READER_CALLED, f, insn);
}

static void on_sreg(struct gsb_resize_analysis *a, const struct gsb_ptx_func *f, uint32_t insn,
		    const struct gsb_ptx_operand *o)
{
	a->of[f->index].asks_where = true;
	switch (o->sreg) {
	case GSB_PTX_SREG_CTAID:
	case GSB_PTX_SREG_NCTAID: add_reader(a, f, insn, o); break;
	case GSB_PTX_SREG_TID:
	case GSB_PTX_SREG_NTID: break;
	case GSB_PTX_SREG_LANEID:
	case GSB_PTX_SREG_LANEMASK_EQ:
	case GSB_PTX_SREG_LANEMASK_LT:
	case GSB_PTX_SREG_LANEMASK_LE:
	case GSB_PTX_SREG_LANEMASK_GT:
	case GSB_PTX_SREG_LANEMASK_GE: a->out->warp_ops = true; break;
	case GSB_PTX_SREG_ENVREG: find(a, GSB_RESIZE_RULE_ENVREG, f, insn); break;
	case GSB_PTX_SREG_GRIDID: find(a, GSB_RESIZE_RULE_GRIDID, f, insn); break;
	case GSB_PTX_SREG_SMID:
	case GSB_PTX_SREG_NSMID:
	case GSB_PTX_SREG_WARPID:
	case GSB_PTX_SREG_NWARPID: find(a, GSB_RESIZE_RULE_SMID, f, insn); break;
	case GSB_PTX_SREG_CLOCK:
	case GSB_PTX_SREG_CLOCK_HI:
	case GSB_PTX_SREG_CLOCK64:
	case GSB_PTX_SREG_GLOBALTIMER:
	case GSB_PTX_SREG_GLOBALTIMER_LO:
	case GSB_PTX_SREG_GLOBALTIMER_HI: find(a, GSB_RESIZE_RULE_CLOCK, f, insn); break;
	case GSB_PTX_SREG_DYNAMIC_SMEM_SIZE: break; /* no form changes it */
	case GSB_PTX_SREG_TOTAL_SMEM_SIZE:
	case GSB_PTX_SREG_AGGR_SMEM_SIZE:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_BEGIN:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_END:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_CAP:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_0:
	case GSB_PTX_SREG_RESERVED_SMEM_OFFSET_1:
		find(a, GSB_RESIZE_RULE_SHARED_SIZE, f, insn);
		find(a, GSB_RESIZE_RULE_SHARED, f, insn);
		break;
	case GSB_PTX_SREG_CLUSTERID:
	case GSB_PTX_SREG_NCLUSTERID:
	case GSB_PTX_SREG_CLUSTER_CTAID:
	case GSB_PTX_SREG_CLUSTER_NCTAID:
	case GSB_PTX_SREG_CLUSTER_CTARANK:
	case GSB_PTX_SREG_CLUSTER_NCTARANK:
	case GSB_PTX_SREG_IS_EXPLICIT_CLUSTER: find(a, GSB_RESIZE_RULE_CLUSTER, f, insn); break;
	default: find(a, GSB_RESIZE_RULE_UNSUPPORTED, f, insn); break;
	}
}

/* ---- calls ---- */

static bool is_known(const char *name)
{
	static const char *const known[] = {"vprintf", "malloc", "free", "__assertfail"};

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(name, known[i]))
			return true;
	return false;
}

/* The device runtime: what launches kernels from kernels, and what asks it. */
static bool is_launcher(const char *name)
{
	return !strncmp(name, "cudaCDP", 7) || !strncmp(name, "__cudaCDP", 9) ||
	       !strncmp(name, "cudaLaunchDevice", 16) ||
	       !strncmp(name, "cudaGetParameterBuffer", 22);
}

static void on_call(struct gsb_resize_analysis *a, const struct gsb_ptx_func *f, uint32_t insn)
{
	const struct gsb_ptx_call *call = f->insns[insn].call;
	const struct gsb_ptx_func *to = call->target.func;

	if (call->target.kind != GSB_PTX_OPERAND_FUNC) {
		if (call->table == GSB_PTX_NONE)
			find(a, GSB_RESIZE_RULE_INDIRECT, f, insn);
		return;
	}
	to = to->alias_of ? to->alias_of : to;
	if (to->has_body)
		return;
	if (is_launcher(to->name))
		gsb_resize_find_detail(a, GSB_RESIZE_RULE_DYNAMIC, f, insn, to->name);
	else if (!is_known(to->name))
		gsb_resize_find_detail(a, GSB_RESIZE_RULE_NOT_TEXT, f, insn, to->name);
	gsb_resize_find_detail(a, GSB_RESIZE_RULE_CALL, f, insn, to->name);
}

/* ---- operations ---- */

static void on_async(struct gsb_resize_analysis *a, const struct gsb_ptx_func *f, uint32_t insn)
{
	switch (f->insns[insn].op) {
	case GSB_PTX_OP_CP_ASYNC_CA:
	case GSB_PTX_OP_CP_ASYNC_CG:
	case GSB_PTX_OP_CP_ASYNC_CA_HINT:
	case GSB_PTX_OP_CP_ASYNC_CG_HINT:
	case GSB_PTX_OP_CP_ASYNC_COMMIT:
	case GSB_PTX_OP_CP_ASYNC_WAIT:
	case GSB_PTX_OP_CP_ASYNC_WAIT_ALL: a->out->async_copies = true; break;
	case GSB_PTX_OP_BULK_LOAD:
	case GSB_PTX_OP_BULK_LOAD_HINT:
	case GSB_PTX_OP_BULK_STORE:
	case GSB_PTX_OP_BULK_STORE_HINT:
	case GSB_PTX_OP_BULK_MOVE:
	case GSB_PTX_OP_BULK_REDUCE:
	case GSB_PTX_OP_BULK_REDUCE_SHARED:
	case GSB_PTX_OP_TENSOR_COPY ... GSB_PTX_OP_TENSORMAP_COPY:
	case GSB_PTX_OP_BULK_COMMIT:
	case GSB_PTX_OP_BULK_WAIT:
	case GSB_PTX_OP_BULK_PREFETCH:
	case GSB_PTX_OP_BULK_PREFETCH_HINT: find(a, GSB_RESIZE_RULE_BULK, f, insn); break;
	default: find(a, GSB_RESIZE_RULE_MBARRIER, f, insn); break;
	}
	find(a, GSB_RESIZE_RULE_SHARED, f, insn);
}

static void on_op(struct gsb_resize_analysis *a, const struct gsb_ptx_func *f, uint32_t insn)
{
	const struct gsb_ptx_insn *in = &f->insns[insn];

	switch (in->op) {
	case GSB_PTX_OP_GRIDDEP_WAIT:
	case GSB_PTX_OP_GRIDDEP_LAUNCH: find(a, GSB_RESIZE_RULE_GRIDDEP, f, insn); break;
	case GSB_PTX_OP_SETMAXNREG_INC:
	case GSB_PTX_OP_SETMAXNREG_DEC: find(a, GSB_RESIZE_RULE_SETMAXNREG, f, insn); break;
	case GSB_PTX_OP_ALLOCA:
	case GSB_PTX_OP_STACKSAVE:
	case GSB_PTX_OP_STACKRESTORE: find(a, GSB_RESIZE_RULE_ALLOCA, f, insn); break;
	case GSB_PTX_OP_FENCE_MBAR_INIT: find(a, GSB_RESIZE_RULE_MBARRIER, f, insn); break;
	case GSB_PTX_OP_EXIT:
		if (f != a->k->entry)
			find(a, GSB_RESIZE_RULE_EXIT_CALLED, f, insn);
		break;
	case GSB_PTX_OP_CALL: on_call(a, f, insn); break;
	case GSB_PTX_OP_UNSUPPORTED:
		gsb_resize_find_detail(a, GSB_RESIZE_RULE_UNSUPPORTED, f, insn, in->spelling);
		break;
	default: break;
	}
	if (in->scope == GSB_PTX_SCOPE_CLUSTER || gsb_ptx_insn_is_of_cluster(in))
		find(a, GSB_RESIZE_RULE_CLUSTER, f, insn);
	if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_ASYNC)
		on_async(a, f, insn);
}

static bool may_write(const struct gsb_ptx_insn *in)
{
	enum gsb_ptx_class class = gsb_ptx_op_class(in->op);

	return (gsb_resize_is_global(in) &&
		(in->op == GSB_PTX_OP_ST || class == GSB_PTX_CLASS_ATOM)) ||
	       class == GSB_PTX_CLASS_MATRIX || class == GSB_PTX_CLASS_ASYNC ||
	       class == GSB_PTX_CLASS_TEX;
}

static void summarise(struct gsb_resize_analysis *a, const struct gsb_ptx_func *f, uint32_t insn)
{
	const struct gsb_ptx_insn *in = &f->insns[insn];
	struct gsb_resize_summary *s = &a->of[f->index];

	s->barrier |= gsb_resize_is_barrier(in);
	s->warp_op |= gsb_resize_is_warp_op(in);
	s->writes |= may_write(in);
	s->looks |= gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_TEX || gsb_resize_is_global(in) ||
		    gsb_resize_copies(in);
	if (gsb_ptx_op_class(in->op) == GSB_PTX_CLASS_WARP || s->warp_op)
		a->out->warp_ops = true;
	if (in->space == GSB_PTX_SPACE_SHARED || in->space == GSB_PTX_SPACE_CLUSTER)
		find(a, GSB_RESIZE_RULE_SHARED, f, insn);
}

static void scan(struct gsb_resize_analysis *a, const struct gsb_ptx_func *f)
{
	a->of[f->index].reached = true;
	gsb_resize_steps(a, f->n_insns);
	for (uint32_t i = 0; i < f->n_insns && !a->err; i++) {
		const struct gsb_ptx_insn *in = &f->insns[i];

		summarise(a, f, i);
		on_op(a, f, i);
		for (uint32_t o = 0; o < in->n_operands; o++)
			if (in->operands[o].kind == GSB_PTX_OPERAND_SREG)
				on_sreg(a, f, i, &in->operands[o]);
	}
	if (f != a->k->entry && a->of[f->index].asks_where)
		find(a, GSB_RESIZE_RULE_CALL, f, GSB_PTX_NONE);
}

/* What a function calls it does itself. */
static void add_summary(struct gsb_resize_summary *s, const struct gsb_resize_summary *to)
{
	s->barrier |= to->barrier;
	s->warp_op |= to->warp_op;
	s->looks |= to->looks;
	s->writes |= to->writes;
}

/* A call through a table may go to any function that is reached. */
static void add_callees(struct gsb_resize_analysis *a, struct gsb_resize_summary *s,
			const struct gsb_ptx_call *call)
{
	const struct gsb_ptx_func *to = call->target.func;

	if (call->target.kind == GSB_PTX_OPERAND_FUNC) {
		add_summary(s, &a->of[to->alias_of ? to->alias_of->index : to->index]);
		return;
	}
	gsb_resize_steps(a, a->k->n_funcs);
	for (uint32_t i = 1; i < a->k->n_funcs; i++)
		add_summary(s, &a->of[a->k->funcs[i]->index]);
}

/* Until nothing changes, callers after callees for the most part. */
static void close_over_calls(struct gsb_resize_analysis *a)
{
	bool changed = true;

	while (changed && gsb_resize_steps(a, 1)) {
		changed = false;
		for (uint32_t i = a->k->n_funcs; i-- > 0 && !a->err;) {
			const struct gsb_ptx_func *f = a->k->funcs[i];
			struct gsb_resize_summary old = a->of[f->index];

			for (uint32_t c = 0; c < f->n_insns && !a->err; c++)
				if (f->insns[c].call)
					add_callees(a, &a->of[f->index], f->insns[c].call);
			changed |= memcmp(&old, &a->of[f->index], sizeof(old)) != 0;
			gsb_resize_steps(a, f->n_insns);
		}
	}
}

/* ---- the kernel as a whole ---- */

static void on_directives(struct gsb_resize_analysis *a)
{
	const struct gsb_ptx_tuning *t = &a->k->entry->tuning;

	if (t->reqnctapercluster[0] || t->maxclusterrank || t->explicit_cluster ||
	    t->blocks_are_clusters)
		find(a, GSB_RESIZE_RULE_CLUSTER, a->k->entry, GSB_PTX_NONE);
	if (t->reqntid[0])
		find(a, GSB_RESIZE_RULE_REQNTID, a->k->entry, GSB_PTX_NONE);
}

static void on_shared(struct gsb_resize_analysis *a)
{
	for (uint32_t i = 0; i < a->k->n_shared; i++) {
		const struct gsb_ptx_var *v = a->k->shared[i].var;

		a->out->shared |= v->unsized ? GSB_RESIZE_SHARED_DYNAMIC : GSB_RESIZE_SHARED_STATIC;
		if (v->func && v->func != a->k->entry)
			a->out->shared |= GSB_RESIZE_SHARED_CALLED;
		gsb_resize_find_detail(a, GSB_RESIZE_RULE_SHARED, a->k->entry, GSB_PTX_NONE,
				       v->name);
	}
}

static bool names(const struct gsb_ptx_insn *in, const struct gsb_ptx_func *entry)
{
	if (in->call && in->call->target.func == entry)
		return true;
	for (uint32_t i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_FUNC && in->operands[i].func == entry)
			return true;
	return false;
}

/* Device code that has the entry's address may start it with a geometry of its own. */
static void find_callers(struct gsb_resize_analysis *a)
{
	for (uint32_t v = 0; v < a->m->n_vars; v++)
		for (uint32_t r = 0; r < a->m->vars[v]->n_relocs; r++)
			if (a->m->vars[v]->relocs[r].func == a->k->entry)
				find(a, GSB_RESIZE_RULE_CALLED_ENTRY, a->k->entry, GSB_PTX_NONE);
	for (uint32_t i = 0; i < a->m->n_funcs; i++) {
		const struct gsb_ptx_func *f = a->m->funcs[i];

		if (!gsb_resize_steps(a, f->n_insns))
			return;
		for (uint32_t n = 0; n < f->n_insns; n++)
			if (names(&f->insns[n], a->k->entry))
				find(a, GSB_RESIZE_RULE_CALLED_ENTRY, f, n);
	}
}

static bool make_room(struct gsb_resize_analysis *a)
{
	size_t n = 0;

	for (uint32_t i = 0; i < a->k->n_funcs; i++)
		for (uint32_t k = 0; k < a->k->funcs[i]->n_insns; k++)
			for (uint32_t o = 0; o < a->k->funcs[i]->insns[k].n_operands; o++)
				n += a->k->funcs[i]->insns[k].operands[o].kind ==
				     GSB_PTX_OPERAND_SREG;
	a->out->readers = gsb_resize_alloc(a, n, sizeof(*a->out->readers));
	return !a->err;
}

void gsb_resize_features(struct gsb_resize_analysis *a)
{
	if (!make_room(a))
		return;
	for (uint32_t i = 0; i < a->k->n_funcs; i++)
		scan(a, a->k->funcs[i]);
	close_over_calls(a);
	for (uint32_t i = 0; i < a->k->n_funcs; i++)
		a->called_writes |=
			a->k->funcs[i] != a->k->entry && a->of[a->k->funcs[i]->index].writes;
	on_directives(a);
	on_shared(a);
	find_callers(a);
}
