/*
 * range.c - see range.h.
 */
#include "interpose/core/range.h"

#include <errno.h>
#include <string.h>

#include "interpose/core/post.h"
#include "interpose/core/process.h"

#define FIRST_MINOR 2 /* of the wire that has RANGE: an older engine would cut us off for it */

bool gsb_range_is_wanted(void)
{
	const struct gsb_region_header *h;

	if (atomic_load_explicit(gsb_tenancy, memory_order_acquire) != GSB_TENANT_SERVED)
		return false;
	h = &gsb_proc.region->header;
	return atomic_load_explicit(&h->is_traced, memory_order_relaxed) && h->minor >= FIRST_MINOR;
}

void gsb_range_post(enum gsb_range_step step, uint64_t id, const char *text)
{
	static const struct gsb_guard none;
	const uint32_t n = text ? (uint32_t)strnlen(text, GSB_RANGE_TEXT_MAX) : 0;
	struct gsb_rec_range *body;
	struct gsb_post p;
	int saved = errno;

	if (!gsb_post_begin_if(&p, GSB_REC_RANGE, &none, sizeof(*body) + n)) {
		body = p.body;
		*body = (struct gsb_rec_range){.id = id, .step = step, .text_bytes = n};
		if (n)
			memcpy(body + 1, text, n);
		gsb_post_end(&p);
	}
	errno = saved;
}
