/*
 * rewrite_count.c - COUNT: see rewrite_count.h.
 *
 * All warps run the same code; those that are not counted pass a branch at each site. Of those that are, the first of the lanes
 * that are there adds for all. Functions that are called are counted, too: their copies find in shared memory, by
 * warp, where to count, since nothing else of the entry is theirs to see.
 */
#include "ptx/resize/rewrite_count.h"

#include <stddef.h>
#include <string.h>

#include "ptx/cfg.h"
#include "ptx/resize/lanes.h"
#include "ptx/resize/rewrite_kept.h"
#include "ptx/resize/variant.h"

#define WARPS_VAR	  "~counted" /* words of each warp of the block; 0: it is not counted */
#define MAX_WARPS	  32
#define WARP_LANES	  32
#define SECTOR_BYTES	  32
#define SECTOR_BYTES_LOG2 5

struct counter {
	struct gsb_edit_func *f;
	const struct gsb_rewrite_work *w;
	const struct gsb_count_sites *sites;
	struct gsb_kept kept;
	const int32_t *strides; /* by instruction of the entry */
	uint32_t next;		/* site */
	bool in_entry;
	bool rows; /* it is, and some access has a stride */
};

static void put_declarations(struct gsb_edit_func *f)
{
	gsb_edit_text(f, ".reg .pred ~on, ~q, ~g, ~whole;\n\t"
			 ".reg .b32 ~t, ~u, ~m, ~act;\n\t"
			 ".reg .b64 ~words, ~w, ~w2");
}

/* ~t: which warp of the block this is. */
static void put_warp(struct gsb_edit_func *f)
{
	gsb_edit_text(f, "mov.u32 ~t, %%tid.z;\n\t"
			 "mov.u32 ~u, %%ntid.y;\n\t"
			 "mov.u32 ~m, %%tid.y;\n\t"
			 "mad.lo.u32 ~t, ~t, ~u, ~m;\n\t"
			 "mov.u32 ~u, %%ntid.x;\n\t"
			 "mov.u32 ~m, %%tid.x;\n\t"
			 "mad.lo.u32 ~t, ~t, ~u, ~m;\n\t"
			 "shr.u32 ~t, ~t, 5");
}

/* Where this warp counts, if it does, in ~words; the functions' way to it. */
static void put_address(const struct counter *c)
{
	if (c->in_entry)
		gsb_edit_text(c->f, "ld.param.u64 ~words, [~v];\n\t"
				    "cvta.to.global.u64 ~words, ~words");
}

/* ~q: this is the first of the lanes that are here, ~act. Guards, not branches: counting divides no warp. */
static void put_first_lane(const struct counter *c)
{
	gsb_edit_text(c->f, "mov.u32 ~t, %%lanemask_lt;\n\t"
			    "and.b32 ~t, ~t, ~act;\n\t"
			    "setp.eq.u32 ~q, ~t, 0");
}

static void put_place(const struct counter *c, uint32_t site)
{
	const struct gsb_count_words words = gsb_count_words(&c->sites->sites[site], site);

	if (gsb_kept_register(&c->kept, words.first) == GSB_PTX_NONE)
		put_address(c);
}

/* The first lane adds to a word of a site, in memory or in its register. */
static void put_sum(const struct counter *c, uint32_t site, uint32_t word, const char *what)
{
	const uint32_t kept = gsb_kept_register(&c->kept, gsb_count_word_of(site) + word);

	if (kept != GSB_PTX_NONE)
		gsb_edit_text(c->f, "@~q add.s64 ~kept%u, ~kept%u, %s", kept, kept, what);
	else
		gsb_edit_text(c->f, "@~q red.global.add.u64 [~words+%u], %s",
			      8 * (gsb_count_word_of(site) + word), what);
}

/* The first lane adds: 1, ~m's lanes. */
static void put_sums(const struct counter *c, uint32_t site)
{
	put_place(c, site);
	gsb_edit_text(c->f, "mov.u64 ~w, 1");
	put_sum(c, site, 0, "~w");
	gsb_edit_text(c->f, "popc.b32 ~t, ~m;\n\t"
			    "cvt.u64.u32 ~w, ~t");
	put_sum(c, site, 1, "~w");
}

/*
 * ~whole: all lanes of this warp have passed each run together, this one, too. They are asked each time: those that went
 * round a run do not know of who was there.
 */
static void put_whole(const struct counter *c)
{
	if (c->rows)
		gsb_edit_text(c->f, "setp.eq.and.u32 ~whole, ~act, -1, ~whole;\n\t"
				    "vote.sync.all.pred ~whole, ~whole, ~act");
}

static void put_run(const struct counter *c, uint32_t site)
{
	gsb_edit_text(c->f,
		      "@!~on bra.uni ~s%u;\n\t"
		      "activemask.b32 ~act;\n\t"
		      "mov.b32 ~m, ~act",
		      site);
	put_whole(c);
	put_first_lane(c);
	put_sums(c, site);
	gsb_edit_text(c->f, "~s%u:", site);
}

static const struct gsb_ptx_operand *address_of(const struct gsb_ptx_insn *in)
{
	for (unsigned int i = 0; i < in->n_operands; i++)
		if (in->operands[i].kind == GSB_PTX_OPERAND_ADDR)
			return &in->operands[i];
	return NULL;
}

/* ~w = the address. */
static void put_operand(const struct counter *c, const struct gsb_ptx_operand *o)
{
	const char *offset = gsb_edit_format(c->f->edit, "%lld", (long long)o->imm);

	if (o->var)
		gsb_edit_text(c->f,
			      "mov.u64 ~w, %s;\n\t"
			      "add.s64 ~w, ~w, %s",
			      o->var->name, offset);
	else if (o->reg == GSB_PTX_NONE)
		gsb_edit_text(c->f, "mov.u64 ~w, %s", offset);
	else
		gsb_edit_text(c->f,
			      "%s ~w, %s;\n\t"
			      "add.s64 ~w, ~w, %s",
			      gsb_ptx_type_bytes(c->f->from->regs[o->reg].type) == 8
				      ? "mov.b64"
				      : "cvt.u64.u32",
			      gsb_edit_reg_name(c->f, o->reg), offset);
}

/* ~g: this lane takes part. */
static void put_part(const struct counter *c, const struct gsb_ptx_insn *in)
{
	gsb_edit_text(c->f, "setp.ne.u32 ~g, ~act, 0");
	if (in->guard != GSB_PTX_NONE)
		gsb_edit_text(c->f,
			      "%s.pred ~q, %s;\n\t"
			      "and.pred ~g, ~g, ~q",
			      in->guard_negated ? "not" : "mov",
			      gsb_edit_reg_name(c->f, in->guard));
	if (in->space == GSB_PTX_SPACE_GENERIC)
		gsb_edit_text(c->f, "isspacep.global ~q, ~w;\n\t"
				    "and.pred ~g, ~g, ~q");
}

/* ~w2: how many sectors, ~w, there are: of each the first lane counts, if @first says so of it. */
static void put_sectors(const struct counter *c, const char *first)
{
	gsb_edit_text(c->f,
		      "match.any.sync.b64 ~u, ~w, ~act;\n\t"
		      "mov.u32 ~t, %%lanemask_lt;\n\t"
		      "and.b32 ~u, ~u, ~t;\n\t"
		      "%s;\n\t"
		      "vote.sync.ballot.b32 ~u, ~q, ~act;\n\t"
		      "popc.b32 ~u, ~u;\n\t"
		      "cvt.u64.u32 ~w2, ~u",
		      first);
}

/* Lanes that take no part share a sector that there is not. */
static void put_taking_part(const struct counter *c, const struct gsb_ptx_insn *in, uint32_t site)
{
	put_part(c, in);
	gsb_edit_text(c->f,
		      "vote.sync.ballot.b32 ~m, ~g, ~act;\n\t"
		      "shr.u64 ~w, ~w, %d;\n\t"
		      "selp.b64 ~w, ~w, -1, ~g",
		      SECTOR_BYTES_LOG2);
	put_sectors(c, "setp.eq.and.u32 ~q, ~u, 0, ~g");
	put_first_lane(c);
	gsb_edit_text(c->f, "setp.ne.and.u32 ~q, ~m, 0, ~q");
	put_sums(c, site);
	put_sum(c, site, 2, "~w2");
}

/* All lanes that came take part: how often and how many, their run counts. */
static void put_following(const struct counter *c, uint32_t site)
{
	gsb_edit_text(c->f, "shr.u64 ~w, ~w, %d", SECTOR_BYTES_LOG2);
	put_sectors(c, "setp.eq.u32 ~q, ~u, 0");
	put_first_lane(c);
	put_place(c, site);
	put_sum(c, site, 2, "~w2");
}

/* ~w2: the sectors of 32 lanes whose addresses are so far apart, from the least of them. */
static void put_row(const struct counter *c, const struct gsb_ptx_operand *address, int32_t stride)
{
	const int32_t width = stride < 0 ? -stride : stride, last = (WARP_LANES - 1) * stride;

	if (width >= SECTOR_BYTES || !width) {
		gsb_edit_text(c->f, "mov.u64 ~w2, %d", width ? WARP_LANES : 1);
		return;
	}
	put_operand(c, address);
	gsb_edit_text(c->f,
		      "cvt.u32.u64 ~t, ~w;\n\t"
		      "add.s32 ~t, ~t, %d;\n\t"
		      "and.b32 ~t, ~t, %d;\n\t"
		      "add.u32 ~t, ~t, %d;\n\t"
		      "shr.u32 ~t, ~t, %d;\n\t"
		      "cvt.u64.u32 ~w2, ~t",
		      stride < 0 ? last : 0, SECTOR_BYTES - 1,
		      (WARP_LANES - 1) * width + SECTOR_BYTES, SECTOR_BYTES_LOG2);
}

/* Where the warp is whole its first lane knows what the others do, and none of them is asked. */
static void put_strided(const struct counter *c, uint32_t site,
			const struct gsb_ptx_operand *address, int32_t stride)
{
	gsb_edit_text(c->f, "@!~whole bra.uni ~m%u", site);
	put_row(c, address, stride);
	gsb_edit_text(c->f, "mov.u32 ~t, %%laneid;\n\t"
			    "setp.eq.u32 ~q, ~t, 0");
	put_place(c, site);
	put_sum(c, site, 2, "~w2");
	gsb_edit_text(c->f,
		      "bra.uni ~s%u;\n\t"
		      "~m%u:",
		      site, site);
}

static void put_lanes(const struct counter *c, uint32_t site)
{
	const struct gsb_count_site *s = &c->sites->sites[site];
	const struct gsb_ptx_insn *in = &s->func->insns[s->first];

	gsb_edit_text(c->f, "activemask.b32 ~act");
	put_operand(c, address_of(in));
	if (gsb_count_follows(s))
		put_following(c, site);
	else
		put_taking_part(c, in, site);
}

/* From lane to lane, where it is of use. */
static int32_t stride_of(const struct counter *c, const struct gsb_count_site *s)
{
	return s->func == c->w->kernel.entry && gsb_count_follows(s) ? c->strides[s->first]
								     : GSB_LANES_APART;
}

static bool has_rows(const struct counter *c)
{
	for (uint32_t i = 0; i < c->sites->n_sites; i++)
		if (stride_of(c, &c->sites->sites[i]) != GSB_LANES_APART)
			return true;
	return false;
}

static void put_access(const struct counter *c, uint32_t site)
{
	const struct gsb_count_site *s = &c->sites->sites[site];
	const int32_t stride = stride_of(c, s);

	gsb_edit_text(c->f, "@!~on bra.uni ~s%u", site);
	if (stride != GSB_LANES_APART)
		put_strided(c, site, address_of(&s->func->insns[s->first]), stride);
	put_lanes(c, site);
	gsb_edit_text(c->f, "~s%u:", site);
}

/* ---- which warps ---- */

/* ~on: the number of the warp in the grid, less what is a multiple. */
static void put_choice(struct gsb_edit_func *f)
{
	put_warp(f);
	gsb_edit_text(f, "mov.u32 ~chosen, ~t;\n\t"
			 "mov.u32 ~t, %%ntid.x;\n\t"
			 "mov.u32 ~u, %%ntid.y;\n\t"
			 "mul.lo.u32 ~t, ~t, ~u;\n\t"
			 "mov.u32 ~u, %%ntid.z;\n\t"
			 "mad.lo.u32 ~t, ~t, ~u, 31;\n\t"
			 "shr.u32 ~m, ~t, 5");
	gsb_edit_text(f, "mov.u32 ~t, %%ctaid.z;\n\t"
			 "mov.u32 ~u, %%nctaid.y;\n\t"
			 "mul.lo.u32 ~t, ~t, ~u;\n\t"
			 "mov.u32 ~u, %%ctaid.y;\n\t"
			 "add.u32 ~t, ~t, ~u;\n\t"
			 "mov.u32 ~u, %%nctaid.x;\n\t"
			 "mul.lo.u32 ~t, ~t, ~u;\n\t"
			 "mov.u32 ~u, %%ctaid.x;\n\t"
			 "add.u32 ~t, ~t, ~u");
	gsb_edit_text(f,
		      "mad.lo.u32 ~t, ~t, ~m, ~chosen;\n\t"
		      "ld.param.u32 ~u, [~v+%zu];\n\t"
		      "rem.u32 ~t, ~t, ~u;\n\t"
		      "setp.eq.u32 ~on, ~t, 0",
		      offsetof(struct gsb_variant_count, every));
}

/* For the functions: where this warp counts, or 0. */
static void put_way(struct gsb_edit_func *f)
{
	gsb_edit_text(f, "ld.param.u64 ~words, [~v];\n\t"
			 "cvta.to.global.u64 ~words, ~words;\n\t"
			 "selp.b64 ~words, ~words, 0, ~on;\n\t"
			 "shl.b32 ~chosen, ~chosen, 3;\n\t"
			 "mov.u32 ~t, " WARPS_VAR ";\n\t"
			 "add.u32 ~t, ~t, ~chosen;\n\t"
			 "st.shared.u64 [~t], ~words");
}

/* ~whole, at first: are the lanes of a warp a row of its block? */
static void put_rows(struct gsb_edit_func *f)
{
	gsb_edit_text(f,
		      "mov.u32 ~t, %%ntid.y;\n\t"
		      "mov.u32 ~u, %%ntid.z;\n\t"
		      "mul.lo.u32 ~t, ~t, ~u;\n\t"
		      "setp.eq.u32 ~whole, ~t, 1;\n\t"
		      "mov.u32 ~t, %%ntid.x;\n\t"
		      "and.b32 ~t, ~t, %d;\n\t"
		      "setp.eq.or.u32 ~whole, ~t, 0, ~whole",
		      WARP_LANES - 1);
}

static void put_entry_start(const struct counter *c)
{
	gsb_edit_reg(c->f, "~chosen");
	put_declarations(c->f);
	put_choice(c->f);
	if (c->rows)
		put_rows(c->f);
	if (c->w->kernel.n_funcs > 1)
		put_way(c->f);
	gsb_kept_declare(c->f, &c->kept);
	gsb_edit_text(c->f, "activemask.b32 ~act");
	put_first_lane(c);
	put_address(c);
	gsb_edit_text(c->f, "and.pred ~q, ~q, ~on;\n\t"
			    "mov.u64 ~w, 1;\n\t"
			    "@~q red.global.add.u64 [~words], ~w");
}

static void put_func_start(const struct counter *c)
{
	put_declarations(c->f);
	put_warp(c->f);
	gsb_edit_text(c->f, "shl.b32 ~t, ~t, 3;\n\t"
			    "mov.u32 ~u, " WARPS_VAR ";\n\t"
			    "add.u32 ~t, ~t, ~u;\n\t"
			    "ld.shared.u64 ~words, [~t];\n\t"
			    "setp.ne.s64 ~on, ~words, 0");
}

/* ---- functions ---- */

static const char *copy_name(struct gsb_edit *e, const struct gsb_rewrite_work *w,
			     const struct gsb_ptx_func *f)
{
	return gsb_edit_format(e, "%s$count$%s", f->name, w->kernel.entry->name);
}

static void copy_insn(const struct counter *c, uint32_t i)
{
	struct gsb_ptx_insn *in = gsb_edit_copy(c->f, i);
	const struct gsb_ptx_func *to;

	if (!in || !in->call || in->call->target.kind != GSB_PTX_OPERAND_FUNC)
		return;
	to = in->call->target.func;
	to = to->alias_of ? to->alias_of : to;
	if (to->has_body)
		in->call->target.func = gsb_edit_named(c->f->edit, copy_name(c->f->edit, c->w, to));
}

static void put_func(struct counter *c, const struct gsb_ptx_func *from)
{
	for (uint32_t i = 0; i < from->n_insns; i++) {
		gsb_edit_at(c->f, i);
		for (; c->next < c->sites->n_sites && c->sites->sites[c->next].func == from &&
		       c->sites->sites[c->next].first == i;
		     c->next++) {
			if (c->sites->sites[c->next].n_insns)
				put_run(c, c->next);
			else
				put_access(c, c->next);
		}
		if (c->in_entry)
			gsb_kept_flush(c->f, &c->kept, i);
		copy_insn(c, i);
	}
	gsb_edit_end(c->f);
}

void gsb_rewrite_count(struct gsb_edit *e, const struct gsb_rewrite_work *w, const char *name)
{
	struct gsb_count_sites sites = {0};
	struct gsb_edit_func f;
	struct counter c = {.f = &f, .w = w, .sites = &sites};

	if (gsb_count_sites(&w->kernel, w->arena, &sites) || gsb_kept_choose(w, &sites, &c.kept) ||
	    gsb_lanes_strides(w->m, &w->kernel, w->arena, &c.strides)) {
		e->failed = true;
		return;
	}
	if (w->kernel.n_funcs > 1)
		gsb_edit_shared(e, WARPS_VAR, GSB_PTX_TYPE_B64, MAX_WARPS);
	for (uint32_t i = 0; i < w->kernel.n_funcs; i++) {
		const struct gsb_ptx_func *from = w->kernel.funcs[i];

		c.in_entry = i == 0;
		c.rows = c.in_entry && has_rows(&c);
		gsb_edit_begin(&f, e, from, i ? copy_name(e, w, from) : name);
		if (c.in_entry)
			gsb_edit_param(&f, sizeof(struct gsb_variant_count));
		if (c.in_entry)
			put_entry_start(&c);
		else
			put_func_start(&c);
		put_func(&c, from);
	}
}
