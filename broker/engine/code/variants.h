/*
 * variants.h - an image with its kernels and their variants in one module, and what is known of each kernel.
 *
 * Originals and variants are loaded together, because a load of its own would stall the device later, and because both must see
 * the same variables. Nothing of a variant can be seen from a program: its names are hidden, and all that is asked of a
 * kernel is asked of the original.. variants_make.h makes them.
 */
#ifndef GSB_BROKER_ENGINE_CODE_VARIANTS_H
#define GSB_BROKER_ENGINE_CODE_VARIANTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/sha256.h"
#include "broker/engine/code/demand.h"
#include "broker/engine/trace/trace.h"
#include "broker/policy/shape.h"
#include "gsb/wire.h"
#include "ptx/resize/facts.h"
#include "ptx/resize/rewrite.h"

/* Numbers whose sums differ by the order in which they are added. */
enum gsb_rounds { GSB_ROUNDS_F32 = 1, GSB_ROUNDS_F64 = 2, GSB_ROUNDS_OTHER = 4 };

#define GSB_SHAPE_BIT(form) (1u << (form))

/* Of one kernel. Plain data: it is kept in files as it is (proofs.h), a change of it is another version of those. */
struct gsb_proof {
	uint32_t
		shapes; /* GSB_SHAPE_BIT() of those that are proven and, where they need it, written */
	uint32_t refuted;    /* of these, what a shadow run has found to give other results */
	uint32_t order;	     /* enum gsb_resize_order: when two runs of one launch may differ */
	uint32_t rounds;     /* enum gsb_rounds: what its atomics add up */
	uint8_t refusals[8]; /* by form: enum gsb_trace_refusal */
	uint32_t zero;
	uint32_t writes_outside;  /* prints, takes memory, ...: what a second run would do again */
	uint32_t n_count_words;	  /* that the counting form writes */
	uint32_t loaded_pointers; /* it may write where no parameter points */
	struct gsb_resize_conditions launch;
	struct gsb_warp_demand demands[GSB_N_DEMANDS];
};

struct gsb_variants {
	char hash[GSB_SHA256_HEX]; /* of the PTX */
	char *text; /* of all, for the device; NULL once it is loaded and not needed any more */
	size_t text_bytes;
	uint32_t wanted, n_kernels;
	char **names; /* in the order of the text: that in which a program counts them */
	struct gsb_proof *proofs;
	char *names_room;
	uint64_t
		host_bytes; /* once it is loaded; what the loader's thread does to it later counts no more */
	struct gsb_ptx_module *module; /* the originals, where launches count; NULL: in the text */
};

/* At least one of its kernels can count. */
bool gsb_variants_count(const struct gsb_variants *v);
/* It is loaded: what only the device needed goes. */
void gsb_variants_loaded(struct gsb_variants *v);
void gsb_variants_destroy(struct gsb_variants *v); /* NULL is fine */

/* Host memory that it takes. */
uint64_t gsb_variants_bytes(const struct gsb_variants *v);

/* What is known of a kernel; NULL: it is not there. */
struct gsb_proof *gsb_variants_find(const struct gsb_variants *v, const char *kernel);
/* The originals, parsed; NULL: that cannot be. The loader's thread. */
const struct gsb_ptx_module *gsb_variants_module(struct gsb_variants *v);

/* The kernel's name that a proof of @v is about, whole. */
const char *gsb_variants_name(const struct gsb_variants *v, const struct gsb_proof *proof);
/* Is this one of ours? Then no program may know of it. */
bool gsb_variants_hide(const struct gsb_variants *v, const char *name);
/* Is that form other code than the original, and which? */
bool gsb_variant_is_written(enum gsb_shape_form form, enum gsb_rewrite_form *out);
/* "vadd$slice"; of RESHAPE and AS_ASKED the kernel itself. False: too long. */
bool gsb_variant_name(const char *kernel, enum gsb_shape_form form, char out[GSB_NAME_MAX + 1]);

#endif
