/*
 * image.c - see image.h.
 */
#include "device/cuda/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "device/cuda/print.h"
#include "ptx/condition.h"
#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "ptx/image.h"
#include "ptx/managed.h"
#include "ptx/ptx.h"

/* ---- bounds ---- */

void cuda_bounds_free(struct cuda_bounds *b)
{
	for (size_t i = 0; i < b->n; i++)
		free(b->items[i].name);
	free(b->items);
	*b = (struct cuda_bounds){0};
}

/* block[0] is 0: it takes any. */
static int add_bound(struct cuda_bounds *b, const char *name, const uint32_t block[3])
{
	struct cuda_bound bound = {.block = {block[0], block[1], block[2]}}, *more;

	if (!block[0])
		return 0;
	more = realloc(b->items, (b->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	b->items = more;
	bound.name = strdup(name);
	if (!bound.name)
		return -ENOMEM;
	b->items[b->n++] = bound;
	return 0;
}

static int read_bounds_of_cubin(const struct gsb_cubin *c, struct cuda_bounds *out)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < c->n_kernels; i++)
		err = add_bound(out, c->kernels[i].name, c->kernels[i].reqntid);
	return err;
}

static int read_bounds_of_ptx(const struct gsb_ptx_module *m, struct cuda_bounds *out)
{
	int err = 0;

	for (uint32_t i = 0; !err && i < m->n_funcs; i++)
		err = add_bound(out, m->funcs[i]->name, m->funcs[i]->tuning.reqntid);
	return err;
}

/* ---- what the driver gets ---- */

/* Machine code whose kernels print and should do so into our ring, or set conditions of graphs; damaged, it is somebody else's concern. */
static bool wants_ours(const void *bytes, size_t size, enum cuda_prints prints)
{
	struct gsb_cubin cubin = {0};
	struct gsb_arena arena;

	gsb_arena_init(&arena, GSB_PTX_MAX_ARENA_BYTES);
	gsb_cubin_read(bytes, size, &arena, &cubin);
	gsb_arena_finish(&arena);
	return (cubin.prints && prints == CUDA_PRINTS_OURS) || cubin.sets_conditions;
}

/* A fatbin's machine code for the GPU if there is any, else its PTX: in the driver's order, but for what calls a function that is ours. */
static int pick_of_fatbin(const void *image, size_t size, uint32_t cc, enum cuda_prints prints,
			  struct gsb_arena *arena, const void **code, size_t *len, char *log,
			  size_t log_size)
{
	bool has_elf = !gsb_image_find_elf(image, size, cc, arena, code, len, log, log_size);
	const char *text;
	size_t text_len;
	int err;

	if (has_elf && (prints == CUDA_PRINTS_DRIVERS || !wants_ours(*code, *len, prints)))
		return 0;
	log[0] = 0;
	err = gsb_image_find_ptx(image, size, cc, arena, &text, &text_len, log, log_size);
	if (err)
		return has_elf ? 0 : err;
	*code = text;
	*len = text_len;
	return 0;
}

static int pick(const void *image, size_t size, uint32_t cc, enum cuda_prints prints,
		struct gsb_arena *arena, const void **code, size_t *len, char *log, size_t log_size)
{
	switch (gsb_image_kind(image, size)) {
	case GSB_IMAGE_PTX:
	case GSB_IMAGE_ELF:
		*code = image;
		*len = size;
		return 0;
	case GSB_IMAGE_FATBIN:
		return pick_of_fatbin(image, size, cc, prints, arena, code, len, log, log_size);
	case GSB_IMAGE_NONE: break;
	}
	snprintf(log, log_size, "this is no PTX, fatbin or cubin");
	return -EBADMSG;
}

static int check_cubin(const void *bytes, size_t size, struct cuda_code *out, char *log,
		       size_t log_size)
{
	struct gsb_arena arena;
	struct gsb_cubin cubin;
	int err;

	gsb_arena_init(&arena, GSB_PTX_MAX_ARENA_BYTES);
	err = gsb_cubin_read(bytes, size, &arena, &cubin);
	if (!err)
		err = read_bounds_of_cubin(&cubin, &out->bounds);
	gsb_arena_finish(&arena);
	if (!err &&
	    __builtin_add_overflow(cubin.global_bytes, cubin.const_bytes, &out->variable_bytes))
		err = -EBADMSG;
	if (err == -EBADMSG)
		snprintf(log, log_size, "the cubin is cut off or damaged");
	out->has_managed = !err && cubin.has_managed;
	out->uses_fifo = !err && cubin.prints;
	return err;
}

/* ---- what PTX is linked to ---- */

static int keep_object(const void *bytes, size_t len, struct cuda_code *out)
{
	struct cuda_object *more = realloc(out->objects, (out->n_objects + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	out->objects = more;
	more[out->n_objects] = (struct cuda_object){.bytes = malloc(len), .len = len};
	if (!more[out->n_objects].bytes)
		return -ENOMEM;
	memcpy(more[out->n_objects++].bytes, bytes, len);
	return 0;
}

/* The driver's linker believes what stands in it. Its kernels are for kernels to launch: nobody asks for their bounds. */
static int check_object(const void *bytes, size_t len, struct cuda_code *out, char *log,
			size_t log_size)
{
	struct gsb_arena arena;
	struct gsb_cubin cubin;
	int err;

	gsb_arena_init(&arena, GSB_PTX_MAX_ARENA_BYTES);
	err = gsb_cubin_read(bytes, len, &arena, &cubin);
	gsb_arena_finish(&arena);
	if (!err &&
	    (__builtin_add_overflow(out->variable_bytes, cubin.global_bytes,
				    &out->variable_bytes) ||
	     __builtin_add_overflow(out->variable_bytes, cubin.const_bytes, &out->variable_bytes)))
		err = -EBADMSG;
	if (err == -EBADMSG)
		snprintf(log, log_size, "an object of a linked program is cut off or damaged");
	return err;
}

static int take_objects(const void *image, size_t size, uint32_t cc, struct gsb_arena *arena,
			struct cuda_code *out, char *log, size_t log_size)
{
	const void *object;
	uint64_t at = 0;
	size_t len;
	int more, err;

	while ((more = gsb_image_next_object(image, size, cc, &at, arena, &object, &len)) > 0) {
		err = check_object(object, len, out, log, log_size);
		if (!err)
			err = keep_object(object, len, out);
		if (err)
			return err;
	}
	if (more == -EBADMSG)
		snprintf(log, log_size, "a part of a linked program is cut off or damaged");
	return more;
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

static uint64_t sum_variables(const struct gsb_ptx_module *m)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < m->n_vars; i++)
		if (has_memory(m->vars[i]) &&
		    __builtin_add_overflow(sum, m->vars[i]->size_bytes, &sum))
			return UINT64_MAX;
	return sum;
}

/* All of them, or NULL. A name is a word of the text, so that all together are no longer than that. */
static char *list_variables(const struct gsb_ptx_module *m, size_t len)
{
	char *names = m->n_unknown ? NULL : malloc(len + 2), *end = names;

	for (uint32_t i = 0; names && i < m->n_vars; i++) {
		const struct gsb_ptx_var *v = m->vars[i];

		if (has_memory(v))
			end = stpcpy(end, v->name) + 1;
	}
	if (names)
		*end = 0;
	return names;
}

/* Text is loaded as it is, linked with nothing: the driver takes this, and does not say what is missing. */
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

/* PTX that our parser does not take may have variables, and so may machine code, what it is linked to included. */
static int look_at_text(struct cuda_code *out, char *log, size_t log_size)
{
	struct gsb_ptx_module *m = NULL;
	int err;

	if (gsb_image_kind(out->bytes, out->len) != GSB_IMAGE_PTX ||
	    gsb_ptx_parse(out->bytes, out->len, &m, NULL))
		return 0;
	if (__builtin_add_overflow(out->variable_bytes, sum_variables(m), &out->variable_bytes))
		out->variable_bytes = UINT64_MAX;
	if (!out->n_objects) {
		out->has_no_variables = is_stateless(m);
		if (!out->has_no_variables)
			out->variables = list_variables(m, out->len);
	}
	err = check_defined(m, log, log_size);
	if (!err)
		err = read_bounds_of_ptx(m, &out->bounds);
	gsb_ptx_module_destroy(m);
	return err;
}

/* With a NUL behind it. */
static char *copy_of(const void *code, size_t len)
{
	char *copy = malloc(len + 1);

	if (!copy)
		return NULL;
	memcpy(copy, code, len);
	copy[len] = 0;
	return copy;
}

/* A text with conditions and printf made ours, for free(); *out stays NULL where it has neither. */
static int make_ours(const char *text, size_t len, bool *prints, char **out)
{
	char *set = NULL, *printing = NULL;
	int err = gsb_ptx_define_condition(text, len, &set);

	if (!err)
		err = cuda_print_redirect(set ? set : text, set ? strlen(set) : len, &printing);
	*prints = printing;
	*out = printing ? printing : set;
	if (printing)
		free(set);
	return err;
}

/* What a failed one calls; machine code has its name, too. */
static const char assertion[] = "__assertfail";

static int keep(const void *code, size_t len, enum cuda_prints prints, struct cuda_code *out)
{
	char *copy = NULL;
	int err = prints == CUDA_PRINTS_DRIVERS || gsb_image_kind(code, len) != GSB_IMAGE_PTX
			  ? 0
			  : make_ours(code, len, &out->prints, &copy);

	out->len = copy ? strlen(copy) : len;
	out->bytes = copy || err ? copy : copy_of(code, len);
	if (!out->bytes)
		return -ENOMEM;
	out->asserts = memmem(out->bytes, out->len, assertion, sizeof(assertion) - 1);
	if (prints == CUDA_PRINTS_DRIVERS && memmem(out->bytes, out->len, "vprintf", 7))
		out->uses_fifo = true;
	return 0;
}

/* A fatbin says itself what lies in it. The driver would follow the pointer of a wrapper, and believe the sizes of another fatbin. */
static int check_code(const void *code, size_t len, struct cuda_code *out, char *log,
		      size_t log_size)
{
	switch (gsb_image_kind(code, len)) {
	case GSB_IMAGE_PTX: out->has_managed = gsb_ptx_has_managed(code, len); return 0;
	case GSB_IMAGE_ELF: return check_cubin(code, len, out, log, log_size);
	default: break;
	}
	snprintf(log, log_size, "what the fatbin calls code is neither PTX nor a cubin");
	return -EBADMSG;
}

int cuda_code_read(const void *image, size_t size, uint32_t cc, enum cuda_prints prints,
		   struct cuda_code *out, char *log, size_t log_size)
{
	struct gsb_arena arena;
	const void *code;
	size_t len;
	int err;

	*out = (struct cuda_code){0};
	gsb_arena_init(&arena, GSB_FATBIN_MAX_RAW_BYTES);
	err = pick(image, size, cc, prints, &arena, &code, &len, log, log_size);
	if (!err)
		err = check_code(code, len, out, log, log_size);
	if (!err)
		err = keep(code, len, prints, out);
	if (!err && gsb_image_kind(code, len) == GSB_IMAGE_PTX)
		err = take_objects(image, size, cc, &arena, out, log, log_size);
	gsb_arena_finish(&arena);
	if (!err)
		err = look_at_text(out, log, log_size);
	if (err)
		cuda_code_finish(out);
	return err;
}

void cuda_code_finish(struct cuda_code *code)
{
	free(code->bytes);
	free(code->variables);
	for (size_t i = 0; i < code->n_objects; i++)
		free(code->objects[i].bytes);
	free(code->objects);
	cuda_bounds_free(&code->bounds);
}
