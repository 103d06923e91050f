/*
 * rewrite_count.h - what the words mean that a kernel of the form COUNT has written.
 *
 * A site is a run of instructions that a warp passes whole, or one access of global memory. Each warp that is counted adds to
 * the three words of a site as often as it comes there: 1; its active lanes (of an access: those that take part); the
 * sectors of 32 bytes that these touch. Where all lanes of a run take part in an access, it counts its sectors alone. Word 0 is the number of warps that are counted.
 */
#ifndef GSB_PTX_RESIZE_REWRITE_COUNT_H
#define GSB_PTX_RESIZE_REWRITE_COUNT_H

#include "base/arena.h"
#include "ptx/kernel.h"
#include "ptx/unit.h"

#define GSB_COUNT_MAX_SITES ((uint32_t)1 << 20)

struct gsb_count_site {
	const struct gsb_ptx_func *func;
	uint32_t first, n_insns; /* instructions; of an access: itself, and 0 */
};

struct gsb_count_sites {
	const struct gsb_count_site
		*sites; /* by function, then by instruction; a run before its accesses */
	uint32_t n_sites;
	uint64_t n_words; /* that the kernel writes */
};

enum gsb_count_traffic { GSB_COUNT_LOAD, GSB_COUNT_STORE, GSB_COUNT_ATOM, GSB_COUNT_N_TRAFFICS };

/* Of the warps that were counted, together. */
struct gsb_count {
	uint64_t n_warps;
	uint64_t n_insns, n_lane_insns; /* once a warp; the same times the active lanes */
	uint64_t n_by_unit[GSB_PTX_N_UNITS];
	uint64_t n_barriers;
	struct {
		uint64_t n_requests, n_lanes, n_bytes, n_sectors;
	} global[GSB_COUNT_N_TRAFFICS];
};

/* 0, -ENOMEM, -E2BIG (too many sites). */
int gsb_count_sites(const struct gsb_ptx_kernel *k, struct gsb_arena *arena,
		    struct gsb_count_sites *out);

/* An access in which all lanes of its run take part. */
bool gsb_count_follows(const struct gsb_count_site *s);
uint32_t gsb_count_word_of(uint32_t site); /* its first */

/* Of a site's words, those that the kernel adds to. */
struct gsb_count_words {
	uint32_t first, n;
};
struct gsb_count_words gsb_count_words(const struct gsb_count_site *s, uint32_t site);

/* The sums; pure. */
void gsb_count_read(const struct gsb_count_sites *sites, const uint64_t *words,
		    struct gsb_count *out);

#endif
