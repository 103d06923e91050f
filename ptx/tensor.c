/*
 * tensor.c - see tensor.h.
 */
#include "ptx/tensor.h"

#include <stdio.h>
#include <string.h>

#include "base/compiler.h"
#include "ptx/ptx.h"

enum { DONE_MBARRIER = 1, DONE_GROUP };

#define FIELD(name) offsetof(struct gsb_ptx_tensor, name)

/* Where from and where to are one: their order counts. */
static const struct word {
	const char *text;
	uint8_t field, value; /* of struct gsb_ptx_tensor */
} words[] = {
	{".1d", FIELD(dims), 1},
	{".2d", FIELD(dims), 2},
	{".3d", FIELD(dims), 3},
	{".4d", FIELD(dims), 4},
	{".5d", FIELD(dims), 5},
	{".shared::cluster.global", FIELD(route), GSB_PTX_TENSOR_TO_CLUSTER},
	{".shared::cta.global", FIELD(route), GSB_PTX_TENSOR_TO_BLOCK},
	{".global.shared::cta", FIELD(route), GSB_PTX_TENSOR_TO_GLOBAL},
	{".L2.global", FIELD(route), GSB_PTX_TENSOR_TO_CACHE},
	{".tile", FIELD(mode), GSB_PTX_TENSOR_TILE},
	{".im2col", FIELD(mode), GSB_PTX_TENSOR_IM2COL},
	{".im2col_no_offs", FIELD(mode), GSB_PTX_TENSOR_IM2COL_NO_OFFSETS},
	{".mbarrier::complete_tx::bytes", FIELD(done), DONE_MBARRIER},
	{".bulk_group", FIELD(done), DONE_GROUP},
	{".multicast::cluster", FIELD(multicast), 1},
	{".L2::cache_hint", FIELD(policy), 1},
	{".add", FIELD(reduction), GSB_PTX_SUB_ADD},
	{".min", FIELD(reduction), GSB_PTX_SUB_MIN},
	{".max", FIELD(reduction), GSB_PTX_SUB_MAX},
	{".inc", FIELD(reduction), GSB_PTX_SUB_INC},
	{".dec", FIELD(reduction), GSB_PTX_SUB_DEC},
	{".and", FIELD(reduction), GSB_PTX_SUB_AND},
	{".or", FIELD(reduction), GSB_PTX_SUB_OR},
	{".xor", FIELD(reduction), GSB_PTX_SUB_XOR},
};

/* Whole words only. @len: what is left. */
static bool begins(const char *at, size_t len, const char *word)
{
	size_t n = strlen(word);

	return n <= len && !memcmp(at, word, n) && (n == len || at[n] == '.');
}

static const struct word *find(const char *at, size_t len)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(words); i++)
		if (begins(at, len, words[i].text))
			return &words[i];
	return NULL;
}

/* Each is said once. */
static bool read_words(const char *at, size_t len, struct gsb_ptx_tensor *t)
{
	while (len) {
		const struct word *w = find(at, len);
		uint8_t *field = w ? (uint8_t *)t + w->field : NULL;
		size_t n = w ? strlen(w->text) : 0;

		if (!field || *field)
			return false;
		*field = w->value;
		at += n;
		len -= n;
	}
	return true;
}

static bool is_load(const struct gsb_ptx_tensor *t)
{
	return t->route == GSB_PTX_TENSOR_TO_CLUSTER || t->route == GSB_PTX_TENSOR_TO_BLOCK;
}

static bool fits(const struct gsb_ptx_tensor *t)
{
	bool to_global = t->route == GSB_PTX_TENSOR_TO_GLOBAL;
	uint8_t done = is_load(t) ? DONE_MBARRIER : to_global ? DONE_GROUP : 0;

	return t->dims >= (t->mode == GSB_PTX_TENSOR_TILE ? 1 : 3) && t->route && t->done == done &&
	       t->multicast <= (t->route == GSB_PTX_TENSOR_TO_CLUSTER) &&
	       t->mode != (to_global ? GSB_PTX_TENSOR_IM2COL : GSB_PTX_TENSOR_IM2COL_NO_OFFSETS);
}

bool gsb_ptx_tensor_decode(const char *spelling, size_t len, struct gsb_ptx_tensor *out)
{
	static const struct {
		const char *name;
		bool prefetches, reduces;
	} opcodes[] = {
		{"cp.async.bulk.tensor", false, false},
		{"cp.async.bulk.prefetch.tensor", true, false},
		{"cp.reduce.async.bulk.tensor", false, true},
	};
	struct gsb_ptx_tensor t = {.dims = 0};
	size_t i = 0, n;

	while (i < GSB_ARRAY_LEN(opcodes) && !begins(spelling, len, opcodes[i].name))
		i++;
	if (i == GSB_ARRAY_LEN(opcodes))
		return false;
	n = strlen(opcodes[i].name);
	if (!read_words(spelling + n, len - n, &t))
		return false;
	t.mode = t.mode ? t.mode : GSB_PTX_TENSOR_TILE;
	if (!fits(&t) || opcodes[i].prefetches != (t.route == GSB_PTX_TENSOR_TO_CACHE) ||
	    opcodes[i].reduces != (t.reduction != 0) ||
	    (t.reduction && t.route != GSB_PTX_TENSOR_TO_GLOBAL))
		return false;
	*out = t;
	return true;
}

void gsb_ptx_tensor_shape(const struct gsb_ptx_tensor *t, char *shape, size_t size)
{
	snprintf(shape, size, "%s%s%s%s",
		 is_load(t)			       ? "hKh"
		 : t->route == GSB_PTX_TENSOR_TO_CACHE ? "K"
						       : "Kh",
		 t->mode == GSB_PTX_TENSOR_IM2COL ? "I" : "", t->multicast ? "j" : "",
		 t->policy ? "P" : "");
}
