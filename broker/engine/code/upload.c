/*
 * upload.c - module images on their way from a tenant, part by part.
 */
#include "broker/engine/code/upload.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "broker/engine/code/code.h"
#include "broker/engine/code/job.h"
#include "broker/engine/tenant/tenant.h"

struct gsb_upload *gsb_upload_find(struct gsb_tenant *t, uint64_t number)
{
	for (int i = 0; i < GSB_N_UPLOADS; i++)
		if (t->uploads[i].bytes && t->uploads[i].number == number)
			return &t->uploads[i];
	return NULL;
}

void gsb_upload_drop(struct gsb_upload *image)
{
	free(image->bytes);
	*image = (struct gsb_upload){0};
}

static struct gsb_upload *free_upload(struct gsb_tenant *t)
{
	for (int i = 0; i < GSB_N_UPLOADS; i++)
		if (!t->uploads[i].bytes)
			return &t->uploads[i];
	return NULL;
}

/* A new image at offset 0; NULL with *err when the tenant has too many or there is no memory. */
static struct gsb_upload *begin_upload(struct gsb_tenant *t, const struct gsb_rec_image_part *b)
{
	struct gsb_upload *image = free_upload(t);

	if (!image)
		return NULL;
	*image = (struct gsb_upload){.number = b->image, .total = b->total};
	image->bytes = malloc(b->total);
	return image->bytes ? image : NULL;
}

static int check_part(struct gsb_tenant *t, const struct gsb_rec_image_part *b,
		      const struct gsb_upload *image)
{
	uint64_t filled = image ? image->filled : 0;

	if (!b->total || b->total > t->limits.image_max_bytes || !b->length ||
	    !gsb_range_ok(b->offset, b->length, b->total) ||
	    !gsb_range_ok(b->staging_offset, b->length, t->limits.staging_bytes))
		return gsb_violation(t,
				     "ImagePart %" PRIu64 "+%" PRIu64 " of %" PRIu64
				     " bytes, staging offset %" PRIu64,
				     b->offset, b->length, b->total, b->staging_offset);
	if (b->offset != filled || (image && (image->busy || image->total != b->total)))
		return gsb_violation(
			t, "ImagePart of image %" PRIu64 " at offset %" PRIu64 " after %" PRIu64,
			b->image, b->offset, filled);
	return 0;
}

static void copy_part(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	memcpy(j->image->bytes + j->offset, j->src, j->length);
}

static void part_done(struct gsb_job *j)
{
	j->image->busy = false;
	j->image->filled += j->length;
	gsb_tenant_reply(j->tenant, &j->call, CUDA_SUCCESS, 0);
	gsb_job_destroy(j);
}

int gsb_code_image_part(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_image_part *b)
{
	struct gsb_upload *image = gsb_upload_find(t, b->image);
	struct gsb_job *j;

	if (check_part(t, b, image))
		return -EPROTO;
	if (!image)
		image = begin_upload(t, b);
	j = image ? gsb_job_create(t, NULL, rec) : NULL;
	if (!j)
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	image->busy = true;
	j->run = copy_part;
	j->done = part_done;
	j->image = image;
	j->src = t->staging + b->staging_offset;
	j->offset = b->offset;
	j->length = b->length;
	gsb_job_give(j);
	return 0;
}

int gsb_code_image_drop(struct gsb_tenant *t, uint64_t number)
{
	struct gsb_upload *image = gsb_upload_find(t, number);

	if (image && image->busy)
		return gsb_violation(t, "ImageDrop of image %" PRIu64 ", which is in use", number);
	if (image)
		gsb_upload_drop(image);
	return 0;
}

int gsb_uploads_init(struct gsb_tenant *t)
{
	t->uploads = calloc(GSB_N_UPLOADS, sizeof(*t->uploads));
	return t->uploads ? 0 : -ENOMEM;
}

void gsb_uploads_finish(struct gsb_tenant *t)
{
	for (int i = 0; t->uploads && i < GSB_N_UPLOADS; i++)
		gsb_upload_drop(&t->uploads[i]);
	free(t->uploads);
}
