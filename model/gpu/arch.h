/*
 * arch.h - the GPUs that the models know by name, and the text form of one that they do not.
 *
 * The table in arch.c holds public figures with their sources. A text file overrides or adds a GPU;
 * the parser works on a buffer, so that this room opens nothing: the tool reads the file.
 */
#ifndef GSB_MODEL_GPU_ARCH_H
#define GSB_MODEL_GPU_ARCH_H

#include <stddef.h>

#include "gsb/arch.h"
#include "gsb/sm_range.h"
#include "model/gpu/text.h"

/* By short name ("h200", case does not matter); NULL when unknown. The table lives for ever. */
const struct gsb_arch *gsb_arch_find(const char *name);
/* The i-th of the table; NULL past its end. */
const struct gsb_arch *gsb_arch_at(size_t i);
#define GSB_ARCH_NAMES_MAX 128
/* "c2070, gtx680, ...": the names of the table for a message, cut to @size. */
void gsb_arch_names(char *out, size_t size);

/* What an SM of that compute capability gives in a cycle; of one that is not known, what the last one before it does. */
struct gsb_arch_rates gsb_arch_rates(uint32_t cc_major, uint32_t cc_minor);

/**
 * gsb_arch_check() - is this a GPU that the models can work with?
 * @arch: any contents
 *
 * Every limit that the models divide by is non-zero and within the bounds of arch.c, and no limit
 * of one block exceeds that of the SM. All functions of this room refuse what fails here.
 *
 * Context: pure, any thread.
 * Return:  0, -EINVAL.
 */
int gsb_arch_check(const struct gsb_arch *arch);

/**
 * gsb_arch_find_sms() - which SMs is that?
 * @arch: has passed gsb_arch_check()     @out: asked, with all SMs spelt out; written only on success
 *
 * Context: pure, any thread.
 * Return:  0; -EINVAL: not a range that this GPU can give, see gsb/sm_range.h.
 */
int gsb_arch_find_sms(const struct gsb_arch *arch, struct gsb_sm_range asked,
		      struct gsb_sm_range *out);

/* The SMs of one GPC: from first to the one before end. */
struct gsb_gpc {
	uint32_t first, end;
};
#define GSB_GPC_SMS_MAX 64

/*
 * The GPC of an SM, where there are clusters. Its SMs stand side by side here, in pairs, spread evenly; what a chip has of them in each, and how it counts them, is its
 * own, and nobody says it.
 */
struct gsb_gpc gsb_arch_gpc(const struct gsb_arch *arch, uint32_t sm);

/**
 * gsb_arch_parse() - read one GPU from text
 * @text, @len: "key = value" lines, '#' starts a comment; the keys are the fields of struct
 * gsb_arch, and of per_cycle alu_per_cycle and so on; "base = NAME" as the first key starts from a GPU of the table. May be left out: sm_group
 * (1), gpc_sms (0), and what is of per_cycle, which the compute capability says then
 * @out:        written only on success    @err: written only on failure
 *
 * Context: pure, any thread, no allocation.
 * Return:  0, -EINVAL with the line and the reason in @err.
 */
int gsb_arch_parse(const char *text, size_t len, struct gsb_arch *out, struct gsb_text_error *err);

#define GSB_ARCH_TEXT_MAX 2048
/* The text of which gsb_arch_parse() makes the same GPU. -ENOSPC: not in @size bytes, of which GSB_ARCH_TEXT_MAX are enough. */
int gsb_arch_print(const struct gsb_arch *arch, char *out, size_t size);

#endif
