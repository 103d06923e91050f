/*
 * upload.h - module images on their way from a tenant: private to this room.
 */
#ifndef GSB_BROKER_ENGINE_CODE_UPLOAD_H
#define GSB_BROKER_ENGINE_CODE_UPLOAD_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_tenant;

#define GSB_N_UPLOADS 8 /* uploads under way, of one tenant */

/* Its parts are copied out of the staging memory before anything reads them. */
struct gsb_upload {
	uint64_t number; /* the library's */
	uint8_t *bytes;
	uint64_t total, filled;
	bool busy; /* a job uses it */
};

struct gsb_upload *gsb_upload_find(struct gsb_tenant *t, uint64_t number);
void gsb_upload_drop(struct gsb_upload *image);

#endif
