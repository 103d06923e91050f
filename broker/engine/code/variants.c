/*
 * variants.c - see variants.h.
 */
#include "broker/engine/code/variants.h"

#include <stdlib.h>
#include <string.h>

#include "ptx/ptx.h"
#include "ptx/resize/rewrite.h"

/* ---- the whole ---- */

bool gsb_variants_count(const struct gsb_variants *v)
{
	for (uint32_t i = 0; i < v->n_kernels; i++)
		if (v->proofs[i].shapes & GSB_SHAPE_BIT(GSB_SHAPE_COUNT))
			return true;
	return false;
}

static void drop_text(struct gsb_variants *v)
{
	free(v->text);
	v->text = NULL;
	v->text_bytes = 0;
}

void gsb_variants_loaded(struct gsb_variants *v)
{
	if (v->module || !gsb_variants_count(v))
		drop_text(v);
	v->host_bytes = v->text_bytes + (v->module ? v->module->arena.used_bytes : 0) +
			v->n_kernels * (sizeof(*v->proofs) + sizeof(*v->names));
}

const struct gsb_ptx_module *gsb_variants_module(struct gsb_variants *v)
{
	if (!v->module && v->text && !gsb_ptx_parse(v->text, v->text_bytes, &v->module, NULL))
		drop_text(v);
	return v->module;
}

void gsb_variants_destroy(struct gsb_variants *v)
{
	if (!v)
		return;
	free(v->names_room);
	free(v->names);
	free(v->proofs);
	free(v->text);
	gsb_ptx_module_destroy(v->module);
	free(v);
}

uint64_t gsb_variants_bytes(const struct gsb_variants *v)
{
	return v->host_bytes;
}

/* ---- looking up ---- */

struct gsb_proof *gsb_variants_find(const struct gsb_variants *v, const char *kernel)
{
	for (uint32_t i = 0; i < v->n_kernels; i++)
		if (!strcmp(v->names[i], kernel))
			return &v->proofs[i];
	return NULL;
}

const char *gsb_variants_name(const struct gsb_variants *v, const struct gsb_proof *proof)
{
	return v->names[proof - v->proofs];
}

bool gsb_variants_hide(const struct gsb_variants *v, const char *name)
{
	return strchr(name, '$') && !gsb_variants_find(v, name);
}

bool gsb_variant_is_written(enum gsb_shape_form form, enum gsb_rewrite_form *out)
{
	switch (form) {
	case GSB_SHAPE_SLICE: *out = GSB_REWRITE_SLICE; return true;
	case GSB_SHAPE_PERSISTENT: *out = GSB_REWRITE_PERSISTENT; return true;
	case GSB_SHAPE_COUNT: *out = GSB_REWRITE_COUNT; return true;
	case GSB_SHAPE_HINT: *out = GSB_REWRITE_HINT; return true;
	default: return false;
	}
}

bool gsb_variant_name(const char *kernel, enum gsb_shape_form form, char out[GSB_NAME_MAX + 1])
{
	enum gsb_rewrite_form written;

	if (gsb_variant_is_written(form, &written))
		return gsb_rewrite_variant_name(kernel, written, out, GSB_NAME_MAX + 1);
	strcpy(out, kernel);
	return true;
}
