/*
 * compare.h - what two ways of one launch have made of a context's memory: copies of both, and whether they are the same.
 */
#ifndef GSB_BROKER_ENGINE_CODE_COMPARE_H
#define GSB_BROKER_ENGINE_CODE_COMPARE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/policy/shape.h"

struct gsb_ctx;
struct gsb_fence;
struct gsb_kernel_fn;
struct gsb_tenant;

struct gsb_compare_range {
	uint64_t addr, bytes; /* on the device */
	uint64_t at;	      /* in the copies */
};

struct gsb_compare {
	enum gsb_shape_form form;
	size_t n_ranges;
	struct gsb_compare_range *ranges;
	uint64_t bytes;
	uint8_t *asked, *shaped; /* asked: before it, what it has to begin with */
	bool failed;		 /* the shaped one ended with an error, the other one did not */
	uint32_t rounds;	 /* enum gsb_rounds: whose sums may differ by rounding */
	bool differs;
	uint64_t addr; /* of the first byte that does */
};

/* Room for all that the context has; NULL: more than @max_bytes, some is about to be freed, or no memory. */
struct gsb_compare *gsb_compare_create(const struct gsb_ctx *ctx, uint64_t max_bytes);
void gsb_compare_destroy(struct gsb_compare *c); /* NULL is fine */

/* Are they the same? Fills in what differs. Pure but for that. */
bool gsb_compare_is_same(struct gsb_compare *c);

/*
 * gsb_compare_run() - have the loader's thread compare; where they differ the form is refuted
 * @fence: as gsb_counting_note()
 */
void gsb_compare_run(struct gsb_tenant *t, struct gsb_kernel_fn *fn, struct gsb_fence *fence,
		     struct gsb_compare *c);

#endif
