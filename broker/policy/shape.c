/*
 * shape.c - see shape.h.
 */
#include "broker/policy/shape.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NUMBERS 2

/* What stands behind each word: the least and most of its numbers, and how many must and may be there. */
static const struct {
	const char *name;
	unsigned n_must, n_may;
	uint32_t least[MAX_NUMBERS], most[MAX_NUMBERS];
} forms[GSB_N_SHAPES] = {
	[GSB_SHAPE_AS_ASKED] = {"as-asked", 0, 0, {0}, {0}},
	[GSB_SHAPE_RESHAPE] = {"reshape", 1, 1, {1}, {1024}},
	[GSB_SHAPE_SLICE] = {"slice", 1, 1, {1}, {GSB_SHAPE_MAX_SLICES}},
	[GSB_SHAPE_PERSISTENT] = {"persistent", 1, 2, {0, 1}, {1u << 20, UINT32_MAX - 1}},
	[GSB_SHAPE_COUNT] = {"count", 0, 0, {0}, {0}},
	[GSB_SHAPE_HINT] = {"hint", 0, 0, {0}, {0}},
};

/* Slices and lifetimes are far enough apart that one of them is within twice of what is wanted. */
const struct gsb_shape gsb_shapes[GSB_N_OFFERED + GSB_N_SIZES] = {
	{.form = GSB_SHAPE_SLICE, .n_slices = 2},
	{.form = GSB_SHAPE_SLICE, .n_slices = 4},
	{.form = GSB_SHAPE_SLICE, .n_slices = 8},
	{.form = GSB_SHAPE_SLICE, .n_slices = 32},
	{.form = GSB_SHAPE_SLICE, .n_slices = 128},
	{.form = GSB_SHAPE_SLICE, .n_slices = 512},
	{.form = GSB_SHAPE_PERSISTENT},
	{.form = GSB_SHAPE_PERSISTENT, .max_tiles = 1},
	{.form = GSB_SHAPE_PERSISTENT, .max_tiles = 2},
	{.form = GSB_SHAPE_PERSISTENT, .max_tiles = 4},
	{.form = GSB_SHAPE_PERSISTENT, .max_tiles = 8},
	{.form = GSB_SHAPE_PERSISTENT, .max_tiles = 16},
	{.form = GSB_SHAPE_PERSISTENT, .max_tiles = 64},
	{.form = GSB_SHAPE_HINT},
	{.form = GSB_SHAPE_PERSISTENT, .eighths = 4},
	{.form = GSB_SHAPE_PERSISTENT, .eighths = 2},
	{.form = GSB_SHAPE_PERSISTENT, .eighths = 6},
	{.form = GSB_SHAPE_RESHAPE, .n_threads = 128},
	{.form = GSB_SHAPE_RESHAPE, .n_threads = 256},
	{.form = GSB_SHAPE_RESHAPE, .n_threads = 512},
};

uint32_t gsb_shape_manner(const struct gsb_shape *s)
{
	if (s->form == GSB_SHAPE_HINT)
		return GSB_MANNER_HINT;
	return s->form == GSB_SHAPE_PERSISTENT ? s->eighths : 0;
}

unsigned gsb_shape_of_manner(const struct gsb_shape *of, unsigned n, uint32_t manner)
{
	while (n && gsb_shape_manner(&of[n - 1]) != manner)
		n--;
	return manner ? n : 0;
}

const char *gsb_shape_name(enum gsb_shape_form form)
{
	return forms[form].name;
}

/* ":8:64" */
static int parse_numbers(enum gsb_shape_form form, const char *text, uint32_t out[MAX_NUMBERS])
{
	unsigned n = 0;

	for (; *text == ':' && n < forms[form].n_may; n++) {
		unsigned long long v;
		char *end;

		if (!isdigit((unsigned char)text[1]))
			return -EINVAL;
		errno = 0;
		v = strtoull(text + 1, &end, 10);
		if (errno || v < forms[form].least[n] || v > forms[form].most[n])
			return -EINVAL;
		out[n] = (uint32_t)v;
		text = end;
	}
	return *text || n < forms[form].n_must ? -EINVAL : 0;
}

static void put_numbers(struct gsb_shape *s, const uint32_t numbers[MAX_NUMBERS])
{
	switch (s->form) {
	case GSB_SHAPE_RESHAPE: s->n_threads = numbers[0]; break;
	case GSB_SHAPE_SLICE: s->n_slices = numbers[0]; break;
	case GSB_SHAPE_PERSISTENT:
		s->n_blocks = numbers[0];
		s->max_tiles = numbers[1];
		break;
	default: break;
	}
}

int gsb_shape_parse(const char *text, struct gsb_shape *out)
{
	uint32_t numbers[MAX_NUMBERS] = {0};
	struct gsb_shape shape = {0};
	size_t n = strcspn(text, ":");
	int form = *text ? GSB_SHAPE_RESHAPE : GSB_SHAPE_AS_ASKED;

	while (*text && form < GSB_N_SHAPES &&
	       (strlen(forms[form].name) != n || strncmp(forms[form].name, text, n) != 0))
		form++;
	if (form == GSB_N_SHAPES || parse_numbers((enum gsb_shape_form)form, text + n, numbers))
		return -EINVAL;
	shape.form = (enum gsb_shape_form)form;
	put_numbers(&shape, numbers);
	*out = shape;
	return 0;
}
