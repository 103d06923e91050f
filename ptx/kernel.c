/*
 * kernel.c - see kernel.h. A walk over the calls from an entry; what it reaches is laid out and summed.
 */
#include "ptx/kernel.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/checked.h"
#include "ptx/live.h"

#define DYNAMIC_ALIGN 16 /* at least, of dynamic shared memory */

/* Instructions, functions and variables that are looked at for all entries of a module: seconds. */
#define MAX_LOOKED_AT ((uint64_t)1 << 26)

enum visit { UNSEEN, ON_PATH, DONE };

/* One function on the way from the entry, and how far its instructions have been looked at. */
struct step {
	const struct gsb_ptx_func *func;
	uint32_t insn, target; /* target: number of the next possible callee of insn */
	bool indirect_done;    /* every function whose address is taken has been looked at */
};

struct walk {
	const struct gsb_ptx_module *m;
	struct gsb_ptx_kernel *k;
	struct gsb_arena *arena;
	int err;
	const struct gsb_ptx_func **funcs; /* reached, in order */
	const struct gsb_ptx_func *
		*taken; /* functions whose address is taken; NULL: not looked for yet */
	uint32_t n_taken;
	uint8_t *visit;	       /* by function index */
	uint64_t *depth_bytes; /* by function index: its frame and the deepest of what it calls */
	struct step *path;
	uint32_t depth;
};

static const struct gsb_ptx_func *body_of(const struct gsb_ptx_func *f)
{
	return f->alias_of ? f->alias_of : f;
}

static void take_address(struct walk *w, bool *seen, const struct gsb_ptx_func *f)
{
	if (!f || seen[f->index])
		return;
	seen[f->index] = true;
	w->taken[w->n_taken++] = f;
}

static void take_operands(struct walk *w, bool *seen, const struct gsb_ptx_insn *in)
{
	for (uint32_t i = 0; i < in->n_operands; i++) {
		if (in->operands[i].kind == GSB_PTX_OPERAND_FUNC)
			take_address(w, seen, in->operands[i].func);
	}
}

/* What an indirect call may reach: every function named in an initialiser or moved to a register. */
static int find_taken(struct walk *w)
{
	bool *seen = gsb_arena_alloc_array(w->arena, w->m->n_funcs, sizeof(*seen));

	w->taken = gsb_arena_alloc_array(w->arena, w->m->n_funcs, sizeof(*w->taken));
	if (!seen || !w->taken)
		return -ENOMEM;
	for (uint32_t i = 0; i < w->m->n_vars; i++) {
		for (uint32_t r = 0; r < w->m->vars[i]->n_relocs; r++)
			take_address(w, seen, w->m->vars[i]->relocs[r].func);
	}
	for (uint32_t i = 0; i < w->m->n_funcs; i++) {
		for (uint32_t n = 0; n < w->m->funcs[i]->n_insns; n++)
			take_operands(w, seen, &w->m->funcs[i]->insns[n]);
	}
	return 0;
}

/* The n-th function that a call may go to, NULL when there are no more. */
static const struct gsb_ptx_func *callee(const struct walk *w, const struct gsb_ptx_func *f,
					 const struct gsb_ptx_call *call, uint32_t n)
{
	const struct gsb_ptx_table *t;

	if (call->target.kind == GSB_PTX_OPERAND_FUNC)
		return n == 0 ? body_of(call->target.func) : NULL;
	if (call->table != GSB_PTX_NONE) {
		t = &f->tables[call->table];
		return n < t->n ? body_of(t->funcs[n]) : NULL;
	}
	return n < w->n_taken ? body_of(w->taken[n]) : NULL;
}

/* The next function that the top of the path calls, NULL when all have been seen. */
static const struct gsb_ptx_func *next_callee(struct walk *w)
{
	struct step *s = &w->path[w->depth - 1];

	for (; s->insn < s->func->n_insns; s->insn++, s->target = 0) {
		const struct gsb_ptx_call *call = s->func->insns[s->insn].call;
		bool any = call && call->target.kind == GSB_PTX_OPERAND_REG &&
			   call->table == GSB_PTX_NONE; /* may go to any function */
		const struct gsb_ptx_func *f;

		if (!call || (any && s->indirect_done))
			continue;
		w->k->indirect |= call->target.kind == GSB_PTX_OPERAND_REG;
		if (any && !w->taken)
			w->err = find_taken(w);
		if (w->err)
			return NULL;
		f = callee(w, s->func, call, s->target);
		if (f) {
			s->target++;
			return f;
		}
		s->indirect_done |= any;
	}
	return NULL;
}

static void push(struct walk *w, const struct gsb_ptx_func *f)
{
	w->visit[f->index] = ON_PATH;
	w->funcs[w->k->n_funcs++] = f;
	w->path[w->depth++] = (struct step){.func = f};
	if (f->unsupported == GSB_PTX_NONE || w->k->refused)
		return;
	w->k->refused_in = f;
	w->k->refused = &f->insns[f->unsupported];
}

static void pop(struct walk *w, const uint64_t *below)
{
	const struct gsb_ptx_func *f = w->path[--w->depth].func;

	w->visit[f->index] = DONE;
	w->depth_bytes[f->index] = f->local_bytes + below[f->index];
}

/* Depth first, without recursion: the depth of calls is the tenant's choice. */
static int walk_calls(struct walk *w)
{
	uint64_t *below = gsb_arena_alloc_array(w->arena, w->m->n_funcs, sizeof(*below));

	if (!below)
		return -ENOMEM;
	push(w, w->k->entry);
	while (w->depth > 0 && !w->err) {
		const struct gsb_ptx_func *caller = w->path[w->depth - 1].func, *f = next_callee(w);
		uint64_t bytes;

		if (f && !f->has_body)
			continue; /* a built-in: vprintf, malloc */
		if (f && w->visit[f->index] == UNSEEN) {
			w->path[w->depth - 1].target--; /* look at it again when it is done */
			push(w, f);
			continue;
		}
		if (!f) {
			pop(w, below);
			continue;
		}
		w->k->recursive |= w->visit[f->index] == ON_PATH;
		bytes = w->visit[f->index] == DONE ? w->depth_bytes[f->index] : 0;
		if (bytes > below[caller->index])
			below[caller->index] = bytes;
	}
	w->k->funcs = w->funcs;
	w->k->local_bytes = w->depth_bytes[w->k->entry->index];
	return w->err;
}

/* Shared variables of the module that some reached function names, then those of the functions. */
struct collect {
	const struct gsb_ptx_module *m;
	bool *used; /* by index of the module's variables */
	uint32_t n;
	struct gsb_ptx_shared *out; /* NULL: count only */
};

static void collect_var(struct collect *c, const struct gsb_ptx_var *v)
{
	if (!v || v->space != GSB_PTX_SPACE_SHARED)
		return;
	if (!v->func) {
		c->used[v->index] = true;
		return;
	}
	if (c->out)
		c->out[c->n].var = v;
	c->n++;
}

static void collect_func(struct collect *c, const struct gsb_ptx_func *f)
{
	for (uint32_t i = 0; i < f->n_insns; i++) {
		for (uint32_t o = 0; o < f->insns[i].n_operands; o++) {
			const struct gsb_ptx_var *v = f->insns[i].operands[o].var;

			if (v && !v->func)
				collect_var(c, v);
		}
	}
	for (uint32_t i = 0; i < f->n_vars; i++)
		collect_var(c, f->vars[i]);
}

static void collect_all(struct collect *c, const struct gsb_ptx_kernel *k)
{
	c->n = 0;
	for (uint32_t i = 0; i < k->n_funcs; i++)
		collect_func(c, k->funcs[i]);
	for (uint32_t i = 0; i < c->m->n_vars; i++) {
		if (!c->used[i])
			continue;
		if (c->out)
			c->out[c->n].var = c->m->vars[i];
		c->n++;
	}
}

static int layout_shared(const struct gsb_ptx_module *m, struct gsb_arena *a,
			 struct gsb_ptx_kernel *k)
{
	struct collect c = {.m = m, .used = gsb_arena_alloc_array(a, m->n_vars, sizeof(bool))};
	uint64_t end = 0, dynamic_align = DYNAMIC_ALIGN;

	if (!c.used)
		return -ENOMEM;
	collect_all(&c, k);
	c.out = gsb_arena_alloc_array(a, c.n, sizeof(*c.out));
	if (!c.out)
		return -ENOMEM;
	collect_all(&c, k);
	for (uint32_t i = 0; i < c.n; i++) {
		const struct gsb_ptx_var *v = c.out[i].var;

		if (v->unsized && v->align > dynamic_align)
			dynamic_align = v->align;
		if (v->unsized)
			continue;
		c.out[i].offset = gsb_round_up(end, v->align);
		end = c.out[i].offset + v->size_bytes;
	}
	k->static_shared_bytes = end;
	k->dynamic_offset = gsb_round_up(end, dynamic_align);
	for (uint32_t i = 0; i < c.n; i++) {
		if (c.out[i].var->unsized)
			c.out[i].offset = k->dynamic_offset;
	}
	k->shared = c.out;
	k->n_shared = c.n;
	return 0;
}

static int func_regs(const struct gsb_ptx_func *f, uint32_t *out, uint64_t *steps)
{
	struct gsb_arena scratch;
	struct gsb_ptx_live live = {0};
	struct gsb_ptx_cfg cfg = {0};
	int err;

	gsb_arena_init(&scratch, GSB_PTX_MAX_ARENA_BYTES);
	err = gsb_ptx_cfg_build(f, &scratch, &cfg);
	if (!err)
		err = gsb_ptx_live_build(&cfg, &scratch, &live);
	if (!err)
		err = gsb_ptx_live_pressure(&cfg, &live, &scratch, out);
	if (!err)
		*steps += live.n_steps + (uint64_t)cfg.n_rpo * *out;
	gsb_arena_finish(&scratch);
	return err;
}

/*
 * The largest of all functions reached: what a call saves goes to the stack, not to more registers. What is
 * slow for one function is as slow for many, so one limit holds for all of them together; whoever lowers
 * the kernel afterwards does the same work once more.
 */
static int estimate_regs(struct gsb_ptx_kernel *k)
{
	uint64_t steps = 0;

	for (uint32_t i = 0; i < k->n_funcs; i++) {
		uint32_t regs = 0;
		int err = func_regs(k->funcs[i], &regs, &steps);

		if (!err && steps > GSB_PTX_MAX_FLOW_STEPS)
			err = -E2BIG;
		if (err)
			return err;
		if (regs > k->regs)
			k->regs = regs;
	}
	if (k->entry->tuning.maxnreg && k->regs > k->entry->tuning.maxnreg)
		k->regs = k->entry->tuning.maxnreg;
	return 0;
}

/* x * y * z, at most UINT32_MAX; 0 when not given. */
static uint32_t volume(const uint32_t axes[3])
{
	uint32_t v;

	if (gsb_mul_overflows(axes[0], axes[1], &v) || gsb_mul_overflows(v, axes[2], &v))
		return UINT32_MAX;
	return v;
}

static void sum_metadata(const struct gsb_ptx_module *m, struct gsb_ptx_kernel *k)
{
	const struct gsb_ptx_tuning *t = &k->entry->tuning;

	k->max_threads = t->reqntid[0] ? volume(t->reqntid) : volume(t->maxntid);
	for (uint32_t i = 0; i < m->n_vars; i++) {
		if (m->vars[i]->space == GSB_PTX_SPACE_CONST)
			k->const_bytes = gsb_round_up(k->const_bytes, m->vars[i]->align) +
					 m->vars[i]->size_bytes;
	}
}

/* What the entry reaches, and where its shared memory lies. */
static int reach(const struct gsb_ptx_module *m, struct gsb_arena *arena, struct gsb_ptx_kernel *k)
{
	struct walk w = {.m = m, .k = k, .arena = arena};
	int err;

	w.funcs = gsb_arena_alloc_array(arena, m->n_funcs, sizeof(*w.funcs));
	w.visit = gsb_arena_alloc_array(arena, m->n_funcs, sizeof(*w.visit));
	w.depth_bytes = gsb_arena_alloc_array(arena, m->n_funcs, sizeof(*w.depth_bytes));
	w.path = gsb_arena_alloc_array(arena, m->n_funcs, sizeof(*w.path));
	if (!w.funcs || !w.visit || !w.depth_bytes || !w.path)
		return -ENOMEM;
	err = walk_calls(&w);
	return err ? err : layout_shared(m, arena, k);
}

int gsb_ptx_kernel_build(const struct gsb_ptx_module *m, const struct gsb_ptx_func *entry,
			 struct gsb_arena *arena, struct gsb_ptx_kernel *out)
{
	struct gsb_ptx_kernel k = {.entry = entry, .target_sm = entry->target_sm};
	int err;

	if (!entry->is_entry || !entry->has_body)
		return -EINVAL;
	err = reach(m, arena, &k);
	if (!err)
		err = estimate_regs(&k);
	if (err)
		return err;
	sum_metadata(m, &k);
	*out = k;
	return 0;
}

/* ---- what a block holds ---- */

static uint64_t most_shared(const struct gsb_ptx_module *m)
{
	const char *end = m->target + strcspn(m->target, ", \t");

	return end[-1] == 'a' ? GSB_PTX_MAX_SHARED_ARCH : GSB_PTX_MAX_SHARED;
}

/* At most, with all padding; UINT64_MAX when it is more than that. */
static uint64_t sum_shared(struct gsb_ptx_var *const *vars, uint32_t n, uint64_t sum)
{
	for (uint32_t i = 0; i < n; i++) {
		if (vars[i]->space == GSB_PTX_SPACE_SHARED &&
		    gsb_add_overflows(sum, vars[i]->size_bytes + vars[i]->align, &sum))
			return UINT64_MAX;
	}
	return sum;
}

/* What it costs to find out what an entry reaches, about. */
static uint64_t looked_at(const struct gsb_ptx_module *m, const struct gsb_ptx_kernel *k)
{
	uint64_t n = m->n_funcs + m->n_vars;

	for (uint32_t i = 0; i < k->n_funcs; i++)
		n += k->funcs[i]->n_insns + k->funcs[i]->n_vars;
	return n;
}

static int check_entry(const struct gsb_ptx_module *m, const struct gsb_ptx_func *f, uint64_t most,
		       uint64_t *looked, char *log, size_t log_size)
{
	struct gsb_ptx_kernel k = {.entry = f};
	struct gsb_arena scratch;
	int err;

	gsb_arena_init(&scratch, GSB_PTX_MAX_ARENA_BYTES);
	err = reach(m, &scratch, &k);
	*looked += err ? 0 : looked_at(m, &k);
	gsb_arena_finish(&scratch);
	if (err || k.static_shared_bytes <= most)
		return err;
	snprintf(
		log, log_size,
		"kernel %s: line %u: too much static shared memory: %llu bytes, %llu are the most; "
		"what is more must be dynamic",
		f->name, f->line, (unsigned long long)k.static_shared_bytes,
		(unsigned long long)most);
	return -EILSEQ;
}

/* Thousands of entries may reach the same million instructions: those that are left then are refused when they are launched. */
int gsb_ptx_check_shared(const struct gsb_ptx_module *m, char *log, size_t log_size)
{
	uint64_t sum = sum_shared(m->vars, m->n_vars, 0), most = most_shared(m), looked = 0;

	for (uint32_t i = 0; i < m->n_funcs && sum <= most; i++)
		sum = sum_shared(m->funcs[i]->vars, m->funcs[i]->n_vars, sum);
	for (uint32_t i = 0; i < m->n_funcs && sum > most && looked < MAX_LOOKED_AT; i++) {
		const struct gsb_ptx_func *f = m->funcs[i];
		int err = f->is_entry && f->has_body
				  ? check_entry(m, f, most, &looked, log, log_size)
				  : 0;

		if (err)
			return err;
	}
	return 0;
}
