/*
 * rewrite_loop.c - PERSISTENT: a loop around the body, whose turns are tiles.
 *
 *	fetch:	the first thread: too many tiles, too late, told to stop, on an SM to keep off? no tile. Else
 *		lin = atom.add(next, k), ascending. Through shared memory to the others; barrier. lin >= total: over
 *	top:	lin -> x, y, z; the body, each leave of which goes to
 *	next:	E1: drain. The next tile of the batch, else fetch
 *
 * The tile goes through one of two slots in turn: who writes a slot again has passed the barrier of the other one, which
 * all have reached after they read it. So one barrier a fetch is enough, and it is also the one that keeps the shared memory
 * of the body from being written for the next tile while it is read for this.
 *
 * E1: threads that leave early would no longer arrive at the barriers that others still wait at. So they go on
 * arriving, in the drain, until all are there. Phase p is the p-th barrier of the loop body or the drain. Who is at a
 * barrier of the body sets word p mod 3 before it; who drains reads it behind it: set, somebody lives, once more. All clear
 * the word of phase p - 1 behind barrier p, which is set again for phase p + 2 at the earliest, behind barrier p + 1. Only
 * plain barriers are used: a reduction at a barrier gives lanes of one warp that come from two places one result.
 *
 * All these barriers are one instruction, the last of a loop whose first branches by a number to the place behind the
 * barrier where each lane goes on. For lanes of a warp that part are held, by code of the driver's compiler, where their
 * ways must meet again. Were the barriers of body and drain two, that would be the drain: who left a loop would wait there
 * for who is at a barrier in the loop. As it is, ways meet at the next barrier at the latest, which no lane passes by, or
 * behind the last, where all come at once. The body begins behind that branch, too, by a number that the compiler cannot
 * know, and the loop has one way back only: or else the compiler would make two loops of it, one of them for the drain.
 */
#include <inttypes.h>
#include <stddef.h>

#include "ptx/resize/rewrite_parts.h"
#include "ptx/resize/variant.h"

#define AT(member) (offsetof(struct gsb_variant_persistent, member))

static bool drains(const struct gsb_rewrite_work *w)
{
	return w->job->early == GSB_RESIZE_E1;
}

/* ---- before the first tile ---- */

static void put_declarations(struct gsb_edit_func *f, const struct gsb_rewrite_work *w)
{
	gsb_edit_text(f, ".reg .pred ~p, ~q;\n\t"
			 ".reg .b64 ~control, ~w, ~now, ~max;\n\t"
			 ".reg .b32 ~t, ~u, ~lin, ~end, ~left, ~slot, ~k;\n\t"
			 ".shared .align 8 .b32 ~tile[2];\n\t"
			 ".shared .align 8 .b64 ~born");
	if (drains(w))
		gsb_edit_text(f, ".reg .b32 ~phase, ~back;\n\t"
				 ".shared .align 4 .b32 ~alive[3]");
}

/* Behind it ~q says who is not the first thread. */
static void put_first_thread(struct gsb_edit_func *f)
{
	gsb_edit_text(f, "mov.u32 ~t, %%tid.x;\n\t"
			 "mov.u32 ~u, %%tid.y;\n\t"
			 "or.b32 ~t, ~t, ~u;\n\t"
			 "mov.u32 ~u, %%tid.z;\n\t"
			 "or.b32 ~t, ~t, ~u;\n\t"
			 "setp.ne.u32 ~q, ~t, 0");
}

/* What the first thread writes here the others see behind the barrier of the first fetch. */
static void put_start(struct gsb_edit_func *f, const struct gsb_rewrite_work *w)
{
	gsb_edit_text(f,
		      "ld.param.u32 ~left, [~v+%zu];\n\t"
		      "mov.u32 ~slot, ~tile",
		      AT(max_tiles));
	put_first_thread(f);
	gsb_edit_text(f, "mov.u64 ~w, 0;\n\t"
			 "@!~q st.shared.u64 [~born], ~w");
	if (drains(w))
		gsb_edit_text(f, "mov.u32 ~phase, 0;\n\t"
				 "@!~q st.shared.u32 [~alive], ~phase;\n\t"
				 "@!~q st.shared.u32 [~alive+4], ~phase;\n\t"
				 "@!~q st.shared.u32 [~alive+8], ~phase");
}

/* ---- fetch ---- */

/* The time runs from the first fetch on, which is never too late: so each block gets on. */
static void put_reasons_to_end(struct gsb_edit_func *f)
{
	gsb_edit_text(f,
		      "ld.param.u64 ~max, [~v+%zu];\n\t"
		      "setp.eq.u64 ~p, ~max, -1;\n\t"
		      "@~p bra ~timeless;\n\t"
		      "ld.shared.u64 ~w, [~born];\n\t"
		      "mov.u64 ~now, %%globaltimer;\n\t"
		      "setp.eq.u64 ~p, ~w, 0;\n\t"
		      "@~p st.shared.u64 [~born], ~now;\n\t"
		      "@~p bra ~timeless;\n\t"
		      "sub.u64 ~now, ~now, ~w;\n\t"
		      "setp.ge.u64 ~p, ~now, ~max;\n\t"
		      "@~p bra ~tell;\n"
		      "~timeless:\n\t"
		      "ld.param.u64 ~control, [~v+%zu];\n\t"
		      "cvta.to.global.u64 ~control, ~control",
		      AT(max_ns), AT(control));
	gsb_edit_text(f,
		      "ld.volatile.global.u32 ~t, [~control+%zu];\n\t"
		      "setp.ne.u32 ~p, ~t, 0;\n\t"
		      "@~p bra ~tell",
		      offsetof(struct gsb_variant_control, stop));
	gsb_edit_text(f,
		      "mov.u32 ~t, %%smid;\n\t"
		      "bfe.u32 ~u, ~t, 5, 4;\n\t"
		      "mul.wide.u32 ~w, ~u, 4;\n\t"
		      "add.u64 ~w, ~w, ~control;\n\t"
		      "ld.volatile.global.u32 ~u, [~w+%zu];\n\t"
		      "and.b32 ~t, ~t, 31;\n\t"
		      "shr.u32 ~u, ~u, ~t;\n\t"
		      "and.b32 ~u, ~u, 1;\n\t"
		      "setp.ne.u32 ~p, ~u, 0;\n\t"
		      "@~p bra ~tell",
		      offsetof(struct gsb_variant_control, keep_off));
}

static void put_fetch(struct gsb_edit_func *f)
{
	gsb_edit_text(f,
		      "~fetch:\n\t"
		      "setp.eq.u32 ~p, ~left, 0;\n\t"
		      "@~p bra ~over;\n\t"
		      "ld.param.u32 ~k, [~v+%zu];\n\t"
		      "min.u32 ~k, ~k, ~left;\n\t"
		      "sub.u32 ~left, ~left, ~k",
		      AT(batch));
	put_first_thread(f);
	gsb_edit_text(f, "@~q bra ~wait;\n\t"
			 "mov.u32 ~lin, -1");
	put_reasons_to_end(f);
	gsb_edit_text(f,
		      "atom.global.add.u32 ~lin, [~control+%zu], ~k;\n"
		      "~tell:\n\t"
		      "st.shared.u32 [~slot], ~lin",
		      offsetof(struct gsb_variant_control, next));
	gsb_edit_text(f,
		      "~wait:\n\t"
		      "barrier.sync 0;\n\t"
		      "ld.shared.u32 ~lin, [~slot];\n\t"
		      "xor.b32 ~slot, ~slot, 4;\n\t"
		      "ld.param.u32 ~t, [~v+%zu];\n\t"
		      "setp.ge.u32 ~p, ~lin, ~t;\n\t"
		      "@~p bra ~over;\n\t"
		      "sub.u32 ~t, ~t, ~lin;\n\t"
		      "min.u32 ~k, ~k, ~t;\n\t"
		      "add.u32 ~end, ~lin, ~k",
		      AT(total));
}

/* ---- top ---- */

/* In the first row, which is all of a 1-D grid, nothing has to be divided. */
static void put_decode(struct gsb_edit_func *f, const struct gsb_rewrite_work *w)
{
	unsigned int axes = w->ctaid;

	if (axes & 1)
		gsb_edit_text(f, "mov.u32 ~x, ~lin");
	if (axes & 2)
		gsb_edit_text(f, "mov.u32 ~y, 0");
	if (axes & 4)
		gsb_edit_text(f, "mov.u32 ~z, 0");
	if (!axes)
		return;
	gsb_edit_text(f,
		      "ld.param.u32 ~t, [~v+%zu];\n\t"
		      "setp.lt.u32 ~p, ~lin, ~t;\n\t"
		      "@~p bra ~row;\n\t"
		      "div.u32 ~k, ~lin, ~t",
		      AT(grid));
	if (axes & 1)
		gsb_edit_text(f, "mul.lo.u32 ~t, ~k, ~t;\n\t"
				 "sub.u32 ~x, ~lin, ~t");
	if (axes & 6)
		gsb_edit_text(f,
			      "ld.param.u32 ~t, [~v+%zu];\n\t"
			      "div.u32 ~u, ~k, ~t",
			      AT(grid) + 4);
	if (axes & 2)
		gsb_edit_text(f, "mul.lo.u32 ~t, ~u, ~t;\n\t"
				 "sub.u32 ~y, ~k, ~t");
	if (axes & 4)
		gsb_edit_text(f, "mov.u32 ~z, ~u");
	gsb_edit_text(f, "~row:");
}

static void put_top(struct gsb_edit_func *f, const struct gsb_rewrite_work *w)
{
	gsb_edit_text(f, "~top:\n\t"
			 "bar.warp.sync -1");
	put_decode(f, w);
	for (unsigned int axis = 0; axis < 3; axis++)
		if (w->nctaid >> axis & 1)
			gsb_edit_text(f, "ld.param.u32 %s, [~v+%zu]",
				      gsb_rewrite_id_names[3 + axis], AT(grid) + 4 * axis);
	gsb_rewrite_share_ids(f, w);
}

/* ---- barriers of E1 ---- */

static void put_phase_address(struct gsb_edit_func *f)
{
	gsb_edit_text(f, "mov.u32 ~t, ~alive;\n\t"
			 "add.u32 ~t, ~t, ~phase");
}

/* Behind the barrier of a phase, with the address of its word in ~t: clear the one before, go on to the next. */
static void put_next_phase(struct gsb_edit_func *f)
{
	gsb_edit_text(f, "setp.eq.u32 ~q, ~phase, 0;\n\t"
			 "selp.b32 ~u, 8, -4, ~q;\n\t"
			 "add.u32 ~t, ~t, ~u;\n\t"
			 "mov.u32 ~u, 0;\n\t"
			 "st.shared.u32 [~t], ~u;\n\t"
			 "setp.eq.u32 ~q, ~phase, 8;\n\t"
			 "add.u32 ~phase, ~phase, 4;\n\t"
			 "selp.b32 ~phase, 0, ~phase, ~q");
}

static void put_living_barrier(struct gsb_edit_func *f, uint32_t place)
{
	put_phase_address(f);
	gsb_edit_text(f,
		      "mov.u32 ~u, 1;\n\t"
		      "st.shared.u32 [~t], ~u;\n\t"
		      "mov.u32 ~back, %" PRIu32 ";\n\t"
		      "bra ~barrier;\n"
		      "~back%" PRIu32 ":",
		      place, place);
}

/* ~back: 0 begins, 1 to n is behind the barriers of the body, n + 1 drains, n + 2 is behind the drain. */
static void put_places(struct gsb_edit_func *f, uint32_t n_barriers)
{
	const char *list = "~drain, ~drained";

	for (uint32_t place = n_barriers; place && list; place--)
		list = gsb_edit_format(f->edit, "~back%" PRIu32 ", %s", place, list);
	gsb_edit_text(f,
		      "shr.u32 ~back, ~phase, 4;\n" /* 0 */
		      "~behind:\n"
		      "~places: .branchtargets ~begin, %s;\n\t"
		      "brx.idx ~back, ~places;\n"
		      "~begin:",
		      list);
}

static void put_drain(struct gsb_edit_func *f, uint32_t n_barriers)
{
	gsb_edit_text(f,
		      "~drain:\n\t"
		      "mov.u32 ~back, %" PRIu32 ";\n"
		      "~barrier:",
		      n_barriers + 1);
	put_phase_address(f);
	gsb_edit_text(f, "barrier.sync 0;\n\t"
			 "ld.shared.u32 ~k, [~t]");
	put_next_phase(f);
	gsb_edit_text(f,
		      "setp.eq.u32 ~q, ~k, 0;\n\t"
		      "setp.eq.and.u32 ~q, ~back, %" PRIu32 ", ~q;\n\t"
		      "selp.b32 ~back, %" PRIu32 ", ~back, ~q;\n\t"
		      "bra ~behind;\n"
		      "~drained:",
		      n_barriers + 1, n_barriers + 2);
}

/* ---- body and end ---- */

static bool is_block_barrier(const struct gsb_ptx_insn *in)
{
	return in->op == GSB_PTX_OP_BAR_SYNC || in->op == GSB_PTX_OP_BARRIER_SYNC;
}

static uint32_t count_barriers(const struct gsb_ptx_func *f)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < f->n_insns; i++)
		n += is_block_barrier(&f->insns[i]);
	return n;
}

static void put_body(struct gsb_edit_func *f, const struct gsb_rewrite_work *w,
		     const struct gsb_rewrite_ids *ids)
{
	uint32_t place = 0;

	if (drains(w))
		put_places(f, count_barriers(f->from));
	for (uint32_t i = 0; i < f->from->n_insns; i++) {
		const struct gsb_ptx_insn *in = &f->from->insns[i];

		gsb_edit_at(f, i);
		if (in->op == GSB_PTX_OP_RET || in->op == GSB_PTX_OP_EXIT)
			gsb_edit_text_guarded(f, i, "bra ~next");
		else if (drains(w) && is_block_barrier(in))
			put_living_barrier(f, ++place);
		else
			gsb_rewrite_copy_with_ids(f, w, ids, i);
	}
}

/* Between two tiles of a batch there is a barrier if the block has anything in common; the drain ends with one. */
static void put_next(struct gsb_edit_func *f, const struct gsb_rewrite_work *w)
{
	gsb_edit_text(f, "~next:");
	if (w->copies)
		gsb_edit_text(f, "cp.async.wait_all");
	if (drains(w))
		put_drain(f, count_barriers(f->from));
	gsb_edit_text(f, "add.u32 ~lin, ~lin, 1;\n\t"
			 "setp.ge.u32 ~p, ~lin, ~end;\n\t"
			 "@~p bra ~fetch");
	if (!drains(w) && (w->shared || w->barriers || w->through_shared))
		gsb_edit_text(f, "barrier.sync 0");
	gsb_edit_text(f, "bra ~top;\n"
			 "~over:\n\t"
			 "ret");
}

void gsb_rewrite_loop(struct gsb_edit *e, const struct gsb_rewrite_work *w, const char *name)
{
	struct gsb_rewrite_ids ids;
	struct gsb_edit_func f;

	gsb_rewrite_id_funcs(e, w);
	gsb_edit_begin(&f, e, w->kernel.entry, name);
	gsb_edit_param(&f, sizeof(struct gsb_variant_persistent));
	gsb_rewrite_declare_ids(&f, w, &ids);
	put_declarations(&f, w);
	put_start(&f, w);
	put_fetch(&f);
	put_top(&f, w);
	put_body(&f, w, &ids);
	put_next(&f, w);
	gsb_edit_end(&f);
}
