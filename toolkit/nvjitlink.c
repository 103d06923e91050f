/*
 * nvjitlink.c - the functions of nvJitLink that decide what the program gets: the cubin of a link is PTX (link.h).
 * Everything else a program calls in NVIDIA's library itself.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/image.h"
#include "toolkit/link.h"

static int create(const struct gsb_nj_form *form, void **handle, uint32_t n, const char **options)
{
	gsb_nj_create_fn *next = (gsb_nj_create_fn *)gsb_nj_genuine(form, "Create");
	int result = next ? next(handle, n, options) : GSB_NJ_ERROR_INTERNAL;

	if (!result)
		gsb_nj_link_begin(form, *handle, n, options);
	return result;
}

static int destroy(const struct gsb_nj_form *form, void **handle)
{
	gsb_nj_destroy_fn *next = (gsb_nj_destroy_fn *)gsb_nj_genuine(form, "Destroy");

	if (!next)
		return GSB_NJ_ERROR_INTERNAL;
	if (handle)
		gsb_nj_link_end(*handle);
	return next(handle);
}

/* What a program has from here as a cubin is text for NVIDIA's link. */
static int add_data(const struct gsb_nj_form *form, void *handle, struct gsb_nj_input_data in)
{
	gsb_nj_data_fn *next = (gsb_nj_data_fn *)gsb_nj_genuine(form, "AddData");
	int result;

	if (!next)
		return GSB_NJ_ERROR_INTERNAL;
	if (in.bytes && in.type == GSB_NJ_INPUT_CUBIN &&
	    gsb_image_kind(in.bytes, in.size) == GSB_IMAGE_PTX)
		in.type = GSB_NJ_INPUT_PTX;
	result = next(handle, in.type, in.bytes, in.size, in.name);
	if (!result)
		gsb_nj_link_add(handle, &in);
	return result;
}

/* The file's bytes, for the caller to free, or NULL. */
static void *read_file(const char *path, size_t *size)
{
	FILE *f = fopen(path, "rbe");
	char *bytes = NULL;
	long n = -1;

	if (f && !fseek(f, 0, SEEK_END))
		n = ftell(f);
	if (n > 0 && (uint64_t)n <= GSB_IMAGE_MAX_BYTES && !fseek(f, 0, SEEK_SET))
		bytes = malloc((size_t)n);
	if (bytes && fread(bytes, 1, (size_t)n, f) != (size_t)n) {
		free(bytes);
		bytes = NULL;
	}
	if (f)
		fclose(f);
	*size = (size_t)n;
	return bytes;
}

/* A file that cannot be read here is NVIDIA's to refuse. */
static int add_file(const struct gsb_nj_form *form, void *handle, int type, const char *path)
{
	gsb_nj_file_fn *next = (gsb_nj_file_fn *)gsb_nj_genuine(form, "AddFile");
	struct gsb_nj_input_data in = {.type = type, .name = path};
	int result;

	in.bytes = path ? read_file(path, &in.size) : NULL;
	if (in.bytes)
		result = add_data(form, handle, in);
	else
		result = next ? next(handle, type, path) : GSB_NJ_ERROR_INTERNAL;
	free((void *)in.bytes);
	return result;
}

static int complete(const struct gsb_nj_form *form, void *handle)
{
	gsb_nj_complete_fn *next = (gsb_nj_complete_fn *)gsb_nj_genuine(form, "Complete");
	int result = next ? next(handle) : GSB_NJ_ERROR_INTERNAL;

	if (!result)
		gsb_nj_link_complete(handle);
	return result;
}

static int cubin_size(const struct gsb_nj_form *form, void *handle, size_t *size)
{
	gsb_nj_size_fn *next = (gsb_nj_size_fn *)gsb_nj_genuine(form, "GetLinkedCubinSize");
	const struct gsb_ptx_texts *texts = gsb_nj_link_result(handle);
	int result = next ? next(handle, size) : GSB_NJ_ERROR_INTERNAL;

	if (!result && texts)
		*size = texts->n + 1;
	return result;
}

static int cubin(const struct gsb_nj_form *form, void *handle, void *to)
{
	gsb_nj_get_fn *next = (gsb_nj_get_fn *)gsb_nj_genuine(form, "GetLinkedCubin");
	const struct gsb_ptx_texts *texts = gsb_nj_link_result(handle);

	if (!texts || !to)
		return next ? next(handle, to) : GSB_NJ_ERROR_INTERNAL;
	memcpy(to, texts->text, texts->n + 1);
	return GSB_NJ_SUCCESS;
}

/* ---- the names ---- */

#define EXPORT(name, args)   \
	GSB_EXPORT int name args; \
	int name args

#define FORM(pre, suf)                                                                            \
	static const struct gsb_nj_form form##suf = {#pre, #suf};                                 \
	EXPORT(pre##Create##suf, (void **handle, uint32_t n, const char **options))               \
	{                                                                                         \
		return create(&form##suf, handle, n, options);                                    \
	}                                                                                         \
	EXPORT(pre##Destroy##suf, (void **handle)) { return destroy(&form##suf, handle); }        \
	EXPORT(pre##AddData##suf,                                                                 \
	       (void *handle, int type, const void *bytes, size_t size, const char *name))        \
	{                                                                                         \
		return add_data(&form##suf, handle,                                               \
				(struct gsb_nj_input_data){type, bytes, size, name});             \
	}                                                                                         \
	EXPORT(pre##AddFile##suf, (void *handle, int type, const char *path))                     \
	{                                                                                         \
		return add_file(&form##suf, handle, type, path);                                  \
	}                                                                                         \
	EXPORT(pre##Complete##suf, (void *handle)) { return complete(&form##suf, handle); }       \
	EXPORT(pre##GetLinkedCubinSize##suf, (void *handle, size_t *size))                        \
	{                                                                                         \
		return cubin_size(&form##suf, handle, size);                                      \
	}                                                                                         \
	EXPORT(pre##GetLinkedCubin##suf, (void *handle, void *to))                                \
	{                                                                                         \
		return cubin(&form##suf, handle, to);                                             \
	}

FORM(nvJitLink, )
FORM(__nvJitLink, _12_0)
FORM(__nvJitLink, _12_1)
FORM(__nvJitLink, _12_2)
FORM(__nvJitLink, _12_3)
FORM(__nvJitLink, _12_4)
FORM(__nvJitLink, _12_5)
FORM(__nvJitLink, _12_6)
FORM(__nvJitLink, _12_7)
FORM(__nvJitLink, _12_8)
FORM(__nvJitLink, _12_9)
FORM(__nvJitLink, _13_0)
FORM(__nvJitLink, _13_1)
FORM(__nvJitLink, _13_2)
FORM(__nvJitLink, _13_3)
FORM(__nvJitLink, _13_4)
FORM(__nvJitLink, _13_5)
