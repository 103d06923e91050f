/*
 * types.c - the types of words.def: see ptx.h and ops.h.
 */
#include <string.h>

#include "ptx/ops.h"

static const struct {
	const char *name;
	uint8_t bytes;
	char class;
} types[GSB_PTX_N_TYPES] = {
	[GSB_PTX_TYPE_NONE] = {"", 0, 0},
#define GSB_PTX_TYPE(id, spelling, bytes, class) [GSB_PTX_TYPE_##id] = {spelling, bytes, #class[0]},
#include "ptx/words.def"
};

const char *gsb_ptx_type_name(enum gsb_ptx_type type)
{
	return types[type].name;
}

uint32_t gsb_ptx_type_bytes(enum gsb_ptx_type type)
{
	return types[type].bytes;
}

bool gsb_ptx_type_is_float(enum gsb_ptx_type type)
{
	return types[type].class == 'F';
}

bool gsb_ptx_type_is_signed(enum gsb_ptx_type type)
{
	return types[type].class == 'S';
}

enum gsb_ptx_type gsb_ptx_type_lookup(const char *word, size_t len)
{
	for (int i = 1; i < GSB_PTX_N_TYPES; i++) {
		if (strlen(types[i].name) == len && !memcmp(types[i].name, word, len))
			return i;
	}
	return GSB_PTX_TYPE_NONE;
}
