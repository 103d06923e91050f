/*
 * rewrite_parts.h - what the files of the rewriter share.
 *
 * rewrite.c checks a job and hands it to the file of its form: rewrite_slice.c, rewrite_loop.c (PERSISTENT), rewrite_count.c,
 * rewrite_hint.c. rewrite_ids.c gives the logical ids to whoever reads them.
 */
#ifndef GSB_PTX_RESIZE_REWRITE_PARTS_H
#define GSB_PTX_RESIZE_REWRITE_PARTS_H

#include "ptx/kernel.h"
#include "ptx/resize/rewrite.h"
#include "ptx/resize/rewrite_edit.h"

/* A job, and what is known of its kernel. */
struct gsb_rewrite_work {
	const struct gsb_ptx_module *m;
	const struct gsb_rewrite_job *job;
	struct gsb_ptx_kernel kernel;
	bool *reads; /* by index of the module's functions: it, or one that it calls, reads ids */
	unsigned int own_ctaid, own_nctaid; /* axes that the entry reads, by bit */
	unsigned int ctaid, nctaid;	    /* axes that it or a function that it calls reads */
	bool through_shared;		    /* functions read them: they come by shared memory */
	bool barriers;			    /* of the block, anywhere */
	bool shared;			    /* it has shared memory of its own */
	bool copies;			    /* cp.async */
	const bool *marked;		    /* HINT: by instruction of the entry */
	struct gsb_arena *arena;
};

/* ---- rewrite_ids.c ---- */

/* Who reads ids: fills the fields of @w that say so. False: no memory. */
bool gsb_rewrite_find_ids(struct gsb_rewrite_work *w);
/* The copies of functions that read ids, and where they read them: once for all variants of the module. */
void gsb_rewrite_id_funcs(struct gsb_edit *e, const struct gsb_rewrite_work *w);
/* Registers for the ids of the entry, in the order x y z gx gy gz; those that nobody reads are NONE. */
struct gsb_rewrite_ids {
	uint32_t reg[6];
};
void gsb_rewrite_declare_ids(struct gsb_edit_func *f, const struct gsb_rewrite_work *w,
			     struct gsb_rewrite_ids *ids);
/* The ids are in their registers: give them to the functions, too. */
void gsb_rewrite_share_ids(struct gsb_edit_func *f, const struct gsb_rewrite_work *w);
/* The old instruction, reading the logical ids, and calling functions that do. */
void gsb_rewrite_copy_with_ids(struct gsb_edit_func *f, const struct gsb_rewrite_work *w,
			       const struct gsb_rewrite_ids *ids, uint32_t i);

/* Number 0..5 of what an operand reads, or -1. */
int gsb_rewrite_id_of(const struct gsb_ptx_operand *o);
extern const char *const gsb_rewrite_id_names[6];

/* ---- the forms ---- */

void gsb_rewrite_slice(struct gsb_edit *e, const struct gsb_rewrite_work *w, const char *name);
void gsb_rewrite_loop(struct gsb_edit *e, const struct gsb_rewrite_work *w, const char *name);
void gsb_rewrite_count(struct gsb_edit *e, const struct gsb_rewrite_work *w, const char *name);
void gsb_rewrite_hint(struct gsb_edit *e, const struct gsb_rewrite_work *w, const char *name);
/* Which accesses are to be marked: w->marked. Returns how many, -ENOMEM. */
int gsb_rewrite_find_marked(struct gsb_rewrite_work *w);

#endif
