/*
 * model_input.c - see model_input.h.
 *
 * Files are read whole, with a limit, and given to pure parsers; what those find wrong is told with
 * file and line. A kernel from a cubin has what the assembler decided; of one from PTX the registers
 * are an estimate, marked as such wherever they are shown.
 */
#include "tools/model_input.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "ptx/image.h"
#include "ptx/kernel.h"
#include "tools/model_driver.h"

#define FILE_MAX_BYTES	 ((size_t)64 << 20)
#define ARENA_MAX_BYTES	 ((size_t)512 << 20)
#define THREADS_PER_WORD 256 /* of a block, when neither the image nor the user says */

struct file {
	const char *path;
	char *bytes;
	size_t size;
};

static int read_stream(FILE *f, struct file *out)
{
	size_t room = 1 << 16;

	out->bytes = NULL;
	out->size = 0;
	for (;;) {
		char *more = realloc(out->bytes, room);

		if (!more)
			return -ENOMEM;
		out->bytes = more;
		out->size += fread(out->bytes + out->size, 1, room - out->size, f);
		if (ferror(f))
			return -EIO;
		if (out->size < room)
			return 0;
		if (room >= FILE_MAX_BYTES)
			return -EFBIG;
		room *= 2;
	}
}

static int read_file(const char *path, struct file *out)
{
	FILE *f = strcmp(path, "-") ? fopen(path, "rb") : stdin;
	int err = f ? read_stream(f, out) : -errno;

	out->path = path;
	if (f)
		fclose(f);
	if (!err)
		return 0;
	if (f)
		free(out->bytes);
	fprintf(stderr, "gsb-model: %s: %s\n", path, strerror(-err));
	return -1;
}

/* The message for a parser's refusal; line 0 is about the file as a whole. */
static int tell(const char *path, const struct gsb_text_error *err)
{
	if (err->line)
		fprintf(stderr, "gsb-model: %s:%u: %s\n", path, err->line, err->what);
	else
		fprintf(stderr, "gsb-model: %s: %s\n", path, err->what);
	return -1;
}

int model_input_load(const char *path, struct gsb_workload *out)
{
	struct gsb_text_error error = {0};
	struct file f;
	int err;

	if (read_file(path, &f))
		return -1;
	err = gsb_workload_parse(f.bytes, f.size, out, &error);
	free(f.bytes);
	if (err == -ENOMEM)
		snprintf(error.what, sizeof(error.what), "no memory for it");
	return err ? tell(path, &error) : 0;
}

int model_input_profiles(const char *path, struct gsb_profiles **out)
{
	struct gsb_text_error error = {0};
	struct file f;
	int err;

	if (read_file(path, &f))
		return -1;
	err = gsb_profiles_read(f.bytes, f.size, out, &error);
	free(f.bytes);
	if (err == -ENOMEM)
		snprintf(error.what, sizeof(error.what), "no memory for it");
	return err ? tell(path, &error) : 0;
}

static int arch_from_file(const char *path, struct model_input *in)
{
	struct gsb_text_error err;
	struct file f;
	int refused;

	if (read_file(path, &f))
		return -1;
	refused = gsb_arch_parse(f.bytes, f.size, &in->arch, &err);
	if (!refused) {
		gsb_interference_init(&in->law, in->arch.name);
		refused = gsb_interference_parse(f.bytes, f.size, &in->law, &err);
	}
	free(f.bytes);
	return refused ? tell(path, &err) : 0;
}

int model_input_arch(struct model_input *in, const char *word)
{
	const struct gsb_arch *known = gsb_arch_find(word);
	char names[GSB_ARCH_NAMES_MAX], rest;
	unsigned int device = 0;

	if (known) {
		in->arch = *known;
		gsb_interference_init(&in->law, known->name);
		return 0;
	}
	if (!strcmp(word, "driver") || sscanf(word, "driver:%u%c", &device, &rest) == 1) {
		if (model_driver_arch(device, &in->arch))
			return -1;
		gsb_interference_init(&in->law, in->arch.name);
		return 0;
	}
	if (!strpbrk(word, "./")) {
		gsb_arch_names(names, sizeof(names));
		fprintf(stderr,
			"gsb-model: unknown GPU '%s': there are %s; a file has to be written ./%s, and "
			"a GPU of this host driver or driver:N\n",
			word, names, word);
		return -1;
	}
	return arch_from_file(word, in);
}

/* Room for one more kernel; NULL when full, told. */
static struct gsb_kernel_row *new_row(struct model_input *in)
{
	if (in->n_kernels == GSB_PLAN_KERNELS_MAX) {
		fprintf(stderr, "gsb-model: more than %d kernels\n", GSB_PLAN_KERNELS_MAX);
		return NULL;
	}
	memset(&in->kernels[in->n_kernels], 0, sizeof(in->kernels[0]));
	return &in->kernels[in->n_kernels++];
}

static void set_name(struct gsb_kernel_row *row, const char *name)
{
	snprintf(row->name, sizeof(row->name), "%s", name);
}

/* Of the wanted name, or any when none is wanted. A full table ends the reading. */
struct image_reader {
	struct model_input *in;
	const char *path, *wanted;
	struct gsb_arena arena;
};

static struct gsb_kernel_row *row_of_image(struct image_reader *r, const char *name,
					   uint32_t max_threads)
{
	struct gsb_kernel_row *row;

	if (r->wanted && strcmp(r->wanted, name))
		return NULL;
	row = new_row(r->in);
	if (!row)
		return NULL;
	set_name(row, name);
	row->plan.range.kernel.threads_per_block =
		max_threads && max_threads < THREADS_PER_WORD ? max_threads : THREADS_PER_WORD;
	row->plan.range.kernel.n_blocks = r->in->arch.n_sms;
	row->plan.range.max_threads = max_threads;
	return row;
}

static int read_cubin(struct image_reader *r, const void *bytes, size_t size)
{
	struct gsb_cubin cubin;
	int err = gsb_cubin_read(bytes, size, &r->arena, &cubin);

	if (err) {
		fprintf(stderr, "gsb-model: %s: not a cubin, or damaged (%s)\n", r->path,
			strerror(-err));
		return -1;
	}
	for (uint32_t i = 0; i < cubin.n_kernels; i++) {
		const struct gsb_cubin_kernel *k = &cubin.kernels[i];
		const uint32_t *t = k->reqntid[0] ? k->reqntid : k->max_threads;
		struct gsb_kernel_row *row = row_of_image(r, k->name, t[0] * t[1] * t[2]);

		if (!row)
			continue;
		row->plan.range.kernel.regs_per_thread = k->regs;
		row->plan.range.kernel.smem_bytes = k->shared_bytes;
		row->plan.fixed = k->reqntid[0] != 0;
	}
	return 0;
}

static int read_entry(struct image_reader *r, const struct gsb_ptx_module *m,
		      const struct gsb_ptx_func *entry)
{
	struct gsb_ptx_kernel k;
	struct gsb_kernel_row *row;
	int err = gsb_ptx_kernel_build(m, entry, &r->arena, &k);

	if (err) {
		fprintf(stderr, "gsb-model: %s: %s: cannot be analysed (%s)\n", r->path,
			entry->name, strerror(-err));
		return -1;
	}
	row = row_of_image(r, entry->name, k.max_threads);
	if (!row)
		return 0;
	row->plan.range.kernel.regs_per_thread = k.regs;
	row->plan.range.kernel.smem_bytes = (uint32_t)k.static_shared_bytes;
	row->regs_estimated = true;
	return 0;
}

static int read_ptx(struct image_reader *r, const char *text, size_t len)
{
	struct gsb_ptx_module *m = NULL;
	struct gsb_ptx_error err;
	int status = 0;

	if (gsb_ptx_parse(text, len, &m, &err)) {
		fprintf(stderr, "gsb-model: %s:%s%s\n", r->path, err.line ? "" : " ", err.text);
		return -1;
	}
	for (uint32_t i = 0; i < m->n_funcs && !status; i++)
		if (m->funcs[i]->is_entry && m->funcs[i]->has_body)
			status = read_entry(r, m, m->funcs[i]);
	gsb_ptx_module_destroy(m);
	return status;
}

/* The cubin for this GPU if there is one, for its exact registers; else the PTX. */
static int read_fatbin(struct image_reader *r, const void *bytes, size_t size)
{
	uint32_t cc = r->in->arch.cc_major * 10 + r->in->arch.cc_minor;
	char why[GSB_FATBIN_ERROR_BYTES];
	const char *text;
	const void *elf;
	size_t len;

	if (!gsb_image_find_elf(bytes, size, cc, &r->arena, &elf, &len, why, sizeof(why)))
		return read_cubin(r, elf, len);
	if (!gsb_image_find_ptx(bytes, size, cc, &r->arena, &text, &len, why, sizeof(why)))
		return read_ptx(r, text, len);
	fprintf(stderr, "gsb-model: %s: %s\n", r->path, why);
	return -1;
}

static int read_table(struct model_input *in, const struct file *f, const char *wanted)
{
	static struct gsb_kernel_row rows[GSB_PLAN_KERNELS_MAX];
	struct gsb_text_error err;
	size_t n = 0;

	if (gsb_kernel_table_parse(f->bytes, f->size, rows, GSB_ARRAY_LEN(rows), &n, &err))
		return tell(f->path, &err);
	for (size_t i = 0; i < n; i++) {
		struct gsb_kernel_row *row;

		if (wanted && strcmp(wanted, rows[i].name))
			continue;
		row = new_row(in);
		if (!row)
			return -1;
		*row = rows[i];
	}
	return 0;
}

static int read_any(struct model_input *in, const struct file *f, const char *wanted)
{
	struct image_reader r = {.in = in, .path = f->path, .wanted = wanted};
	int status = -1;

	gsb_arena_init(&r.arena, ARENA_MAX_BYTES);
	switch (gsb_image_kind(f->bytes, f->size)) {
	case GSB_IMAGE_PTX: status = read_ptx(&r, f->bytes, f->size); break;
	case GSB_IMAGE_FATBIN: status = read_fatbin(&r, f->bytes, f->size); break;
	case GSB_IMAGE_ELF: status = read_cubin(&r, f->bytes, f->size); break;
	case GSB_IMAGE_NONE: status = read_table(in, f, wanted); break;
	}
	gsb_arena_finish(&r.arena);
	return status;
}

/* What the user wrote goes over what the file said. */
static int override(struct model_input *in, size_t first, const char *keys)
{
	for (size_t i = first; i < in->n_kernels; i++) {
		struct gsb_text_error err;
		char text[GSB_TEXT_LINE_MAX];

		snprintf(text, sizeof(text), "%s", keys);
		if (gsb_kernel_row_set_all(&in->kernels[i], text, 0, &err)) {
			fprintf(stderr, "gsb-model: '%s': %s\n", keys, err.what);
			return -1;
		}
	}
	return 0;
}

static int kernels_from_file(struct model_input *in, const char *word)
{
	char text[GSB_TEXT_LINE_MAX], *keys, *wanted;
	size_t first = in->n_kernels;
	struct file f;
	int status;

	snprintf(text, sizeof(text), "%s", word);
	keys = strchr(text, ',');
	if (keys)
		*keys++ = '\0';
	wanted = strrchr(text, ':');
	if (wanted)
		*wanted++ = '\0';
	if (read_file(text, &f))
		return -1;
	status = read_any(in, &f, wanted);
	free(f.bytes);
	if (!status && in->n_kernels == first) {
		fprintf(stderr, "gsb-model: %s: no kernel%s%s\n", text, wanted ? " named " : "",
			wanted ? wanted : "");
		return -1;
	}
	return status ? status : keys ? override(in, first, keys) : 0;
}

int model_input_kernels(struct model_input *in, const char *word)
{
	struct gsb_kernel_row *row;
	struct gsb_text_error err;
	char text[GSB_TEXT_LINE_MAX];

	if (strlen(word) >= sizeof(text)) {
		fprintf(stderr, "gsb-model: a kernel of more than %zu characters\n",
			sizeof(text) - 1);
		return -1;
	}
	if (*word == '@')
		return kernels_from_file(in, word + 1);
	row = new_row(in);
	if (!row)
		return -1;
	snprintf(row->name, sizeof(row->name), "k%zu", in->n_kernels);
	strcpy(text, word);
	if (gsb_kernel_row_set_all(row, text, 0, &err) || gsb_kernel_row_check(row, 0, &err)) {
		fprintf(stderr, "gsb-model: kernel '%s': %s\n", word, err.what);
		return -1;
	}
	return 0;
}
