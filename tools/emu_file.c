/*
 * emu_file.c - see emu_file.h.
 */
#include "tools/emu_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/program.h"
#include "ptx/fatbin.h"
#include "ptx/program.h"

#define FILE_MAX_BYTES	((size_t)1 << 30)
#define ARENA_MAX_BYTES ((size_t)1 << 30)
#define NAMES_TOLD	20

static int read_stream(FILE *f, char **bytes, size_t *size)
{
	size_t room = 1 << 16;

	for (;;) {
		char *more = realloc(*bytes, room);

		if (!more)
			return -ENOMEM;
		*bytes = more;
		*size += fread(*bytes + *size, 1, room - *size, f);
		if (ferror(f))
			return -EIO;
		if (*size < room)
			return 0;
		if (room >= FILE_MAX_BYTES)
			return -EFBIG;
		room *= 2;
	}
}

int emu_read_file(const char *path, char **bytes, size_t *size)
{
	FILE *f = fopen(path, "rb");
	int err;

	*bytes = NULL;
	*size = 0;
	err = f ? read_stream(f, bytes, size) : -errno;
	if (f)
		fclose(f);
	if (!err)
		return 0;
	free(*bytes);
	*bytes = NULL;
	fprintf(stderr, "%s: %s: %s\n", gsb_program_name(), path, strerror(-err));
	return -1;
}

/* ---- modules ---- */

static int add_text(struct emu_file *f, const char *text, size_t len)
{
	struct emu_module_text *m = &f->modules[f->n_modules];
	struct gsb_ptx_error err;

	if (f->n_modules == EMU_MODULES_MAX) {
		fprintf(stderr, "%s: %s: more than %d modules\n", gsb_program_name(), f->path,
			EMU_MODULES_MAX);
		return -1;
	}
	*m = (struct emu_module_text){.text = text, .len = len};
	if (gsb_ptx_parse(text, len, &m->ptx, &err)) {
		fprintf(stderr, "%s: %s:%s%s\n", gsb_program_name(), f->path, err.line ? "" : " ",
			err.text);
		return -1;
	}
	f->n_modules++;
	return 0;
}

/* Why there is no PTX goes to @why, for the caller to tell or not. 0, -1: told; -ENOEXEC and others: not told. */
static int add_image(struct emu_file *f, const struct gsb_image *image, uint32_t cc,
		     char why[GSB_FATBIN_ERROR_BYTES])
{
	const char *text;
	size_t len;
	int err = gsb_image_find_executable_ptx(image->bytes, image->size, cc, &f->arena, &text,
						&len, why, GSB_FATBIN_ERROR_BYTES);

	return err ? err : add_text(f, text, len);
}

/* One of several: that it has no PTX is no error yet. */
static int add_if_any(struct emu_file *f, const struct gsb_image *image, uint32_t cc,
		      char why[GSB_FATBIN_ERROR_BYTES])
{
	int err = add_image(f, image, cc, why);

	if (err && err != -1 && err != -ENOEXEC)
		fprintf(stderr, "%s: %s: %s\n", gsb_program_name(), f->path, why);
	return err && err != -ENOEXEC ? -1 : 0;
}

/* What nvcc has linked is one module. */
static int add_parts(struct emu_file *f, uint32_t cc, char why[GSB_FATBIN_ERROR_BYTES])
{
	struct gsb_image image;
	void *made;
	int got = gsb_program_parts(f->bytes, f->size, &image, &made);

	if (got == -ENOMEM)
		fprintf(stderr, "%s: %s: %s\n", gsb_program_name(), f->path, strerror(ENOMEM));
	if (got > 0 && add_if_any(f, &image, cc, why))
		got = -ENOMEM;
	free(made);
	return got;
}

/* Parts of a program may have none: those that nvcc links in have cubins only. */
static int add_program(struct emu_file *f, uint32_t cc)
{
	char why[GSB_FATBIN_ERROR_BYTES] =
		"a program without device code of its own; libraries that it loads may have some";
	struct gsb_image image;
	uint64_t at = 0;
	int got;

	while ((got = gsb_program_next(f->bytes, f->size, &at, &image)) > 0)
		if (add_if_any(f, &image, cc, why))
			return -1;
	if (got == 0)
		got = add_parts(f, cc, why);
	if (got == -ENOMEM)
		return -1; /* told */
	if (got < 0)
		snprintf(why, sizeof(why), "its section of device code is damaged");
	if (got < 0 || !f->n_modules)
		fprintf(stderr, "%s: %s: %s\n", gsb_program_name(), f->path, why);
	return got < 0 || !f->n_modules ? -1 : 0;
}

static int add_alone(struct emu_file *f, uint32_t cc)
{
	const struct gsb_image image = {GSB_IMAGE_NONE, f->bytes, f->size};
	char why[GSB_FATBIN_ERROR_BYTES];
	int err = add_image(f, &image, cc, why);

	if (err && err != -1)
		fprintf(stderr, "%s: %s: %s\n", gsb_program_name(), f->path, why);
	return err ? -1 : 0;
}

static int add_any(struct emu_file *f, uint32_t cc)
{
	if (gsb_program_is(f->bytes, f->size))
		return add_program(f, cc);
	if (gsb_image_kind(f->bytes, f->size) != GSB_IMAGE_NONE)
		return add_alone(f, cc);
	fprintf(stderr, "%s: %s: neither PTX nor a fatbin nor a program\n", gsb_program_name(),
		f->path);
	return -1;
}

int emu_file_open(struct emu_file *f, const char *path, uint32_t cc)
{
	gsb_arena_init(&f->arena, ARENA_MAX_BYTES);
	f->path = path;
	if (emu_read_file(path, &f->bytes, &f->size))
		return -1;
	return add_any(f, cc);
}

void emu_file_close(struct emu_file *f)
{
	for (size_t i = 0; i < f->n_modules; i++)
		gsb_ptx_module_destroy(f->modules[i].ptx);
	gsb_arena_finish(&f->arena);
	free(f->bytes);
}

/* ---- kernels ---- */

static bool is_kernel(const struct gsb_ptx_func *f)
{
	return f->is_entry && f->has_body;
}

bool emu_file_kernel(const struct emu_file *f, size_t i, struct emu_kernel *out)
{
	for (size_t m = 0; m < f->n_modules; m++) {
		const struct gsb_ptx_module *ptx = f->modules[m].ptx;

		for (uint32_t k = 0; k < ptx->n_funcs; k++) {
			if (!is_kernel(ptx->funcs[k]) || i--)
				continue;
			*out = (struct emu_kernel){&f->modules[m], ptx->funcs[k]};
			return true;
		}
	}
	return false;
}

static bool fits(const char *kernel, const char *name, bool whole)
{
	return !name || (whole ? !strcmp(kernel, name) : strstr(kernel, name) != NULL);
}

/* How many there are; the first of them to @out. Of several loads of one kernel each counts. */
static size_t find_all(const struct emu_file *f, const char *name, bool whole,
		       struct emu_kernel *out)
{
	struct emu_kernel k;
	size_t n = 0;

	for (size_t i = 0; emu_file_kernel(f, i, &k); i++)
		if (fits(k.entry->name, name, whole) && !n++)
			*out = k;
	return n;
}

static void tell_kernels(const struct emu_file *f, const char *name)
{
	struct emu_kernel k;
	size_t n = 0;

	for (size_t i = 0; emu_file_kernel(f, i, &k); i++)
		if (fits(k.entry->name, name, false) && n++ < NAMES_TOLD)
			fprintf(stderr, "%s:     %s\n", gsb_program_name(), k.entry->name);
	if (n > NAMES_TOLD)
		fprintf(stderr, "%s:     and %zu more: gsb-emu list %s\n", gsb_program_name(),
			n - NAMES_TOLD, f->path);
}

int emu_file_find(const struct emu_file *f, const char *name, struct emu_kernel *out)
{
	size_t n = name ? find_all(f, name, true, out) : 0;

	if (!n)
		n = find_all(f, name, false, out);
	if (n == 1)
		return 0;
	if (!find_all(f, NULL, false, out))
		fprintf(stderr, "%s: %s: no kernels in it\n", gsb_program_name(), f->path);
	else if (!n)
		fprintf(stderr, "%s: %s: no kernel '%s'; there are\n", gsb_program_name(), f->path,
			name);
	else if (name)
		fprintf(stderr, "%s: %s: %zu kernels have '%s' in their names:\n",
			gsb_program_name(), f->path, n, name);
	else
		fprintf(stderr, "%s: %s: which of its %zu kernels? --kernel NAME\n",
			gsb_program_name(), f->path, n);
	tell_kernels(f, n ? name : NULL);
	return -1;
}
