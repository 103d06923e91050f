/*
 * image.c - see image.h.
 */
#include "device/cuda/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "ptx/image.h"
#include "ptx/ptx.h"

#define ANY_GPU 9999 /* the newest PTX that there is */

static int check_fatbin(const void *bytes, size_t size)
{
	struct gsb_fatbin_entry e;
	uint64_t at = 0;
	int more;

	do
		more = gsb_fatbin_next(bytes, size, &at, &e);
	while (more > 0);
	return more;
}

static int check_cubin(const void *bytes, size_t size)
{
	struct gsb_arena arena;
	struct gsb_cubin cubin;
	int err;

	gsb_arena_init(&arena, GSB_PTX_MAX_ARENA_BYTES);
	err = gsb_cubin_read(bytes, size, &arena, &cubin);
	gsb_arena_finish(&arena);
	return err;
}

static int check(const void *bytes, size_t size, char *log, size_t log_size)
{
	int err = -EBADMSG;

	switch (gsb_image_kind(bytes, size)) {
	case GSB_IMAGE_PTX: return 0;
	case GSB_IMAGE_FATBIN: err = check_fatbin(bytes, size); break;
	case GSB_IMAGE_ELF: err = check_cubin(bytes, size); break;
	case GSB_IMAGE_NONE: break;
	}
	if (err)
		snprintf(log, log_size,
			 "this is no PTX, fatbin or cubin, or it is cut off or damaged");
	return err;
}

/* ---- variables ---- */

static bool has_memory(const struct gsb_ptx_var *v)
{
	return v->space == GSB_PTX_SPACE_GLOBAL || v->space == GSB_PTX_SPACE_CONST;
}

/* Of variables in a kernel (.shared, .local) each launch has its own. */
static bool is_stateless(const struct gsb_ptx_module *m)
{
	for (uint32_t i = 0; i < m->n_vars; i++)
		if (has_memory(m->vars[i]))
			return false;
	return !m->n_unknown;
}

/* Text is loaded as it is, linked with nothing; the driver takes this, and dies of it later. */
static int check_defined(const struct gsb_ptx_module *m, char *log, size_t log_size)
{
	for (uint32_t i = 0; i < m->n_vars; i++) {
		const struct gsb_ptx_var *v = m->vars[i];

		if (!has_memory(v) || v->linkage != GSB_PTX_LINK_EXTERN)
			continue;
		snprintf(log, log_size, "variable %s is declared and nowhere defined", v->name);
		return -EILSEQ;
	}
	return 0;
}

/* PTX that our parser does not take, and code without PTX, may have variables. */
static int look_at_variables(const void *bytes, size_t size, bool *none, char *log, size_t log_size)
{
	struct gsb_ptx_module *m = NULL;
	struct gsb_arena arena;
	const char *text;
	char why[GSB_FATBIN_ERROR_BYTES];
	size_t len;
	int err = 0;

	*none = false;
	gsb_arena_init(&arena, GSB_FATBIN_MAX_RAW_BYTES);
	if (!gsb_image_find_ptx(bytes, size, ANY_GPU, &arena, &text, &len, why, sizeof(why)) &&
	    !gsb_ptx_parse(text, len, &m, NULL)) {
		*none = is_stateless(m);
		if (gsb_image_kind(bytes, size) == GSB_IMAGE_PTX)
			err = check_defined(m, log, log_size);
		gsb_ptx_module_destroy(m);
	}
	gsb_arena_finish(&arena);
	return err;
}

int cuda_code_read(const void *image, size_t size, struct cuda_code *out, char *log,
		   size_t log_size)
{
	int err = check(image, size, log, log_size);
	uint8_t *copy;

	if (!err)
		err = look_at_variables(image, size, &out->has_no_variables, log, log_size);
	if (err)
		return err;
	copy = malloc(size + 1);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, image, size);
	copy[size] = 0;
	out->bytes = copy;
	return 0;
}

void cuda_code_finish(struct cuda_code *code)
{
	free(code->bytes);
}
