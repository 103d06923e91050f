/*
 * policy.c - finds the policy that the configuration names. The table of policies stands here and
 * nowhere else.
 */
#include "broker/policy/policy.h"

#include <stddef.h>
#include <string.h>

#include "base/compiler.h"

static const struct gsb_policy *const policies[] = {
	&gsb_policy_fifo,     &gsb_policy_serial,   &gsb_policy_multiqx,
	&gsb_policy_coreside, &gsb_policy_priority,
};

const struct gsb_policy *gsb_policy_find(const char *name)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(policies); i++)
		if (!strcmp(policies[i]->name, name))
			return policies[i];
	return NULL;
}

const struct gsb_policy *gsb_policy_at(uint64_t i)
{
	return i < GSB_ARRAY_LEN(policies) ? policies[i] : NULL;
}
