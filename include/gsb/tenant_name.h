/*
 * tenant_name.h - what a tenant may be called.
 */
#ifndef GSB_TENANT_NAME_H
#define GSB_TENANT_NAME_H

#include <ctype.h>
#include <stdbool.h>
#include <string.h>

#include "gsb/wire.h"

/* For messages, after "must be ". */
#define GSB_TENANT_NAME_RULE "1 to 63 letters, digits and any of _-.@:+"
static_assert(GSB_TENANT_NAME_MAX == 64, "the rule says the length");

static inline bool gsb_tenant_name_ok(const char *name)
{
	const char *s = name;

	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_-.@:+", *s))
			return false;
	return s != name && s - name < GSB_TENANT_NAME_MAX;
}

#endif
