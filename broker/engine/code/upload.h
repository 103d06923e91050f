/*
 * upload.h - module images on their way from a tenant: private to this room.
 *
 * How many there are depends on how many threads of the tenant load modules at once, so what is bounded is their
 * bytes: GSB_UPLOADS_LARGE of the largest images that the tenant may load, and a small one of each thread.
 * An upload that is begun and never finished counts until its tenant leaves.
 */
#ifndef GSB_BROKER_ENGINE_CODE_UPLOAD_H
#define GSB_BROKER_ENGINE_CODE_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_tenant;

#define GSB_UPLOADS_LARGE 4
#define GSB_UPLOAD_SMALL_BYTES \
	(64ull << 10) /* none counts less, so that their number is bounded, too */

/* Its parts are copied out of the staging memory before anything reads them. */
struct gsb_upload {
	uint64_t number; /* the library's */
	uint8_t *bytes;
	uint64_t total, filled;
	bool busy; /* a job uses it */
};

/* Of one tenant. */
struct gsb_uploads {
	struct gsb_upload **items; /* in ascending order of their numbers */
	uint32_t n_items, capacity;
	uint64_t counted_bytes;
};

struct gsb_upload *gsb_upload_find(const struct gsb_tenant *t, uint64_t number);
void gsb_upload_destroy(struct gsb_tenant *t, struct gsb_upload *image);

#endif
