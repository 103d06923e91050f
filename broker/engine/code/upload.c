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

#define CAPACITY_MIN 16

/* Where number stands, or would stand. */
static uint32_t position(const struct gsb_uploads *u, uint64_t number)
{
	uint32_t low = 0, high = u->n_items;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;

		if (u->items[mid]->number < number)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

struct gsb_upload *gsb_upload_find(const struct gsb_tenant *t, uint64_t number)
{
	const struct gsb_uploads *u = t->uploads;
	uint32_t at = position(u, number);

	return at < u->n_items && u->items[at]->number == number ? u->items[at] : NULL;
}

static uint64_t counted(uint64_t bytes)
{
	return bytes > GSB_UPLOAD_SMALL_BYTES ? bytes : GSB_UPLOAD_SMALL_BYTES;
}

static bool fits(const struct gsb_tenant *t, uint64_t bytes)
{
	return t->uploads->counted_bytes + counted(bytes) <=
	       GSB_UPLOADS_LARGE * t->limits.image_max_bytes +
		       GSB_N_THREADS * GSB_UPLOAD_SMALL_BYTES;
}

static int grow(struct gsb_uploads *u)
{
	uint32_t capacity = u->capacity ? u->capacity * 2 : CAPACITY_MIN;
	struct gsb_upload **items;

	if (u->n_items < u->capacity)
		return 0;
	items = realloc(u->items, capacity * sizeof(struct gsb_upload *));
	if (!items)
		return -ENOMEM;
	u->items = items;
	u->capacity = capacity;
	return 0;
}

static void put(struct gsb_uploads *u, struct gsb_upload *image)
{
	uint32_t at = position(u, image->number);

	memmove(u->items + at + 1, u->items + at, (u->n_items - at) * sizeof(struct gsb_upload *));
	u->items[at] = image;
	u->n_items++;
	u->counted_bytes += counted(image->total);
}

static void free_upload(struct gsb_upload *image)
{
	free(image->bytes);
	free(image);
}

void gsb_upload_destroy(struct gsb_tenant *t, struct gsb_upload *image)
{
	struct gsb_uploads *u = t->uploads;
	uint32_t at = position(u, image->number);

	u->n_items--;
	memmove(u->items + at, u->items + at + 1, (u->n_items - at) * sizeof(struct gsb_upload *));
	u->counted_bytes -= counted(image->total);
	free_upload(image);
}

/* -ENOMEM: the tenant has too much on its way, or there is no memory. */
static int begin_upload(struct gsb_tenant *t, const struct gsb_rec_image_part *b,
			struct gsb_upload **out)
{
	struct gsb_upload *image;

	if (!fits(t, b->total) || grow(t->uploads))
		return -ENOMEM;
	image = calloc(1, sizeof(*image));
	if (!image)
		return -ENOMEM;
	image->number = b->image;
	image->total = b->total;
	image->bytes = malloc(b->total);
	if (!image->bytes) {
		free(image);
		return -ENOMEM;
	}
	put(t->uploads, image);
	*out = image;
	return 0;
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
	int err;

	if (check_part(t, b, image))
		return -EPROTO;
	err = image ? 0 : begin_upload(t, b, &image);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	j = gsb_job_create(t, NULL, rec);
	if (!j) {
		gsb_upload_destroy(t, image);
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	}
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
		gsb_upload_destroy(t, image);
	return 0;
}

int gsb_uploads_init(struct gsb_tenant *t)
{
	t->uploads = calloc(1, sizeof(*t->uploads));
	return t->uploads ? 0 : -ENOMEM;
}

void gsb_uploads_finish(struct gsb_tenant *t)
{
	struct gsb_uploads *u = t->uploads;

	if (!u)
		return;
	for (uint32_t i = 0; i < u->n_items; i++)
		free_upload(u->items[i]);
	free(u->items);
	free(u);
}
