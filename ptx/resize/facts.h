/*
 * facts.h - what is proven of a kernel before its geometry is changed: which forms are legal, and why the others
 * are not. doc/resizing.md has the proofs.
 *
 * Sound first: a form is legal when every rule of rules.def that forbids it was looked for and not found. Each finding
 * names its place. What the analyses do not understand is a finding, too.
 *
 * All of it is about one entry and the functions that it may call. A place is a function and an instruction of it,
 * because what a rewriter has to touch may stand in either.
 */
#ifndef GSB_PTX_RESIZE_FACTS_H
#define GSB_PTX_RESIZE_FACTS_H

#include "ptx/kernel.h"

/* Steps that all analyses of one kernel may take together; what needs more is left alone. A second or so. */
#define GSB_RESIZE_MAX_STEPS ((uint64_t)1 << 24)

enum gsb_resize_form {
	GSB_RESIZE_RESHAPE, /* the kernel as it is, T' x B' where T' * B' = T * B on an axis */
	GSB_RESIZE_SLICE,   /* rewritten: a part of the blocks a launch, ascending, in one stream */
	GSB_RESIZE_PERSISTENT, /* rewritten: fewer blocks that fetch tiles in ascending order */
	GSB_RESIZE_ORDERED,    /* only if somebody vouches for it: facts->ordered_forms */
	GSB_RESIZE_N_FORMS,
};

#define GSB_RESIZE_BIT(form) (1u << (form))

enum gsb_resize_rule {
#define GSB_RESIZE_RULE(id, ...) GSB_RESIZE_RULE_##id,
#include "ptx/resize/rules.def"
	GSB_RESIZE_N_RULES,
};

struct gsb_resize_place {
	const struct gsb_ptx_func *func; /* NULL: of the kernel as a whole */
	uint32_t insn;			 /* GSB_PTX_NONE: of the function as a whole */
};

struct gsb_resize_finding {
	enum gsb_resize_rule rule;
	struct gsb_resize_place place; /* the first */
	const char *detail;	       /* more words, or NULL */
	uint32_t n;		       /* places in all */
};

/*
 * How threads end, which decides what a persistent form has to do where they end in the original:
 * E0 nothing: all threads of a block pass the same barriers. E1 some leave, or go round, while others still wait at barrier 0:
 * they must go on arriving (fdrain). E2 the same with barriers that cannot be stood in for. E3 lanes leave while others of
 * their warp still run an operation that waits for all lanes: no loop around the body is right.
 */
enum gsb_resize_early { GSB_RESIZE_E0, GSB_RESIZE_E1, GSB_RESIZE_E2, GSB_RESIZE_E3 };

/* Whether all threads come the same way: 0 all of a block, 1 all of a warp, 2 not proven. */
enum gsb_resize_same { GSB_RESIZE_BLOCK, GSB_RESIZE_WARP, GSB_RESIZE_LANE };

struct gsb_resize_exit { /* ret or exit of the entry that can be reached; a trap ends all */
	struct gsb_resize_place place;
	enum gsb_resize_same
		same; /* who decides alike to take it; when they come is another matter */
	bool early; /* others may still be on their way to a barrier, or to an operation of the warp */
};

struct gsb_resize_barrier { /* of the block */
	struct gsb_resize_place place;
	enum gsb_resize_same same;
	bool plain; /* bar.sync 0 or barrier.sync 0, without a count */
};

/* Reads of %ctaid, %nctaid: what a slice or tile has to give another value. */
struct gsb_resize_reader {
	struct gsb_resize_place place;
	uint8_t sreg; /* enum gsb_ptx_sreg */
	uint8_t axis; /* 0..2; 3 is .w, always zero */
};

enum gsb_resize_access {
	GSB_RESIZE_READ = 1,
	GSB_RESIZE_WRITTEN = 2,
	GSB_RESIZE_ATOMIC = 4,	/* by atom or red */
	GSB_RESIZE_GENERIC = 8, /* through a generic address somewhere */
	GSB_RESIZE_ESCAPES =
		16, /* stored, passed on, or computed with: more may happen than is listed */
};

/* A word of a parameter that is the base of addresses: the parameter itself, or a member of a structure. */
struct gsb_resize_pointer {
	uint32_t param;
	uint32_t offset; /* in the parameter */
	uint32_t access; /* enum gsb_resize_access */
};

enum gsb_resize_shared_kind {
	GSB_RESIZE_SHARED_STATIC = 1,
	GSB_RESIZE_SHARED_DYNAMIC = 2, /* sized by the launch */
	GSB_RESIZE_SHARED_CALLED = 4,  /* named in a called function */
};

/* Why a kernel's results may depend on the order in which its blocks run: as they are, too. For who compares two runs. */
enum gsb_resize_order {
	GSB_RESIZE_ORDER_FLOAT = 1, /* float atomics without a result */
	GSB_RESIZE_ORDER_RESULT =
		2, /* an atomic's result is used, or the operation does not commute */
	GSB_RESIZE_ORDER_MEMORY = 4, /* volatile or ordered accesses, fences */
};

/* What a launch must keep to, for gsb_resize_reshape_refused() and gsb_resize_persistent_refused(): numbers that may be kept. */
struct gsb_resize_conditions {
	uint8_t reshape_axes;	 /* bits 1 x, 2 y, 4 z: where T * B alone counts; 0: no reshape */
	bool whole_warps;	 /* reshape: blocks are 1-D, T and T' multiples of 32 */
	bool persistent;	 /* proven, or ordered */
	bool warp_rows;		 /* persistent: blocks are 1-D, or T on x is a multiple of 32 */
	uint32_t max_threads;	 /* of a block, by .maxntid or .reqntid; 0: not said */
	uint32_t max_on_axis[3]; /* by .maxntid; 0: not said */
};

struct gsb_resize_facts {
	const struct gsb_ptx_kernel *kernel;
	uint32_t forms; /* GSB_RESIZE_BIT() of those that are legal; 0 = leave */
	uint32_t
		ordered_forms; /* SLICE, PERSISTENT: legal if blocks wait for lower ones alone. 0 unless ORDERED */
	const struct gsb_resize_finding
		*findings; /* by rule, in the order of rules.def, each once */
	uint32_t n_findings;

	enum gsb_resize_early early;
	const struct gsb_resize_exit *exits;
	uint32_t n_exits;
	const struct gsb_resize_barrier *barriers;
	uint32_t n_barriers;
	const struct gsb_resize_reader *readers; /* the entry's and called functions' */
	uint32_t n_readers;
	const struct gsb_resize_pointer *pointers;
	uint32_t n_pointers;
	bool loaded_pointers; /* addresses come from memory as well, or from what is not listed */
	uint32_t shared;      /* enum gsb_resize_shared_kind */
	uint32_t order;	      /* enum gsb_resize_order */
	bool async_copies;    /* cp.async: a tile has to wait for its own */
	bool warp_ops; /* shfl, vote, match, redux, bar.warp, wmma, or %laneid: at least one */

	struct gsb_resize_conditions launch;
	/* The proof of RESHAPE in words, "" when there is none: "linear id, grid stride, lanes of a warp". */
	const char *linear;
};

/**
 * gsb_resize_analyse() - everything above
 * @arena: everything in @out lives there; a step over its limit is -ENOMEM
 *
 * Context: pure; at most GSB_RESIZE_MAX_STEPS besides what gsb_ptx_kernel_build() takes.
 * Return:  0 (also when nothing may be done), -EINVAL (not an entry with a body), -ENOMEM.
 */
int gsb_resize_analyse(const struct gsb_ptx_module *m, const struct gsb_ptx_func *entry,
		       struct gsb_arena *arena, struct gsb_resize_facts *out);

/* The finding that forbids @form; NULL: it is legal. */
const struct gsb_resize_finding *gsb_resize_why_not(const struct gsb_resize_facts *f,
						    enum gsb_resize_form form);

struct gsb_resize_geometry {
	uint32_t grid[3], block[3];
};

/*
 * May the launch @from be made as @to? Checks the axes, the product on each, launch bounds, warps; @max_threads: of a block,
 * as the loaded function says (0: not known). NULL: yes; else why not, a constant text.
 */
const char *gsb_resize_reshape_refused(const struct gsb_resize_conditions *c,
				       const struct gsb_resize_geometry *from,
				       const struct gsb_resize_geometry *to, uint32_t max_threads);

/* May a launch of this geometry be made in the persistent form? NULL: yes; else why not. */
const char *gsb_resize_persistent_refused(const struct gsb_resize_conditions *c,
					  const struct gsb_resize_geometry *g);

/* Of rules.def. */
const char *gsb_resize_rule_word(enum gsb_resize_rule rule);
const char *gsb_resize_rule_text(enum gsb_resize_rule rule);
uint32_t gsb_resize_rule_forbids(enum gsb_resize_rule rule);
const char *gsb_resize_form_name(enum gsb_resize_form form); /* "reshape" */

/* Line of the text, 0 when it is not about one. */
uint32_t gsb_resize_line(const struct gsb_resize_place *place);

#endif
