/*
 * emu_option.c - see emu_option.h.
 */
#include "tools/emu_option.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/program.h"

int emu_option_number(const char *option, const char *value, uint64_t most, uint32_t *out)
{
	char *end;
	unsigned long long n = strtoull(value, &end, 0);

	if (*value >= '0' && *value <= '9' && !*end && n <= most) {
		*out = (uint32_t)n;
		return 0;
	}
	fprintf(stderr, "%s: --%s '%s': must be a number, at most %" PRIu64 "\n",
		gsb_program_name(), option, value, most);
	return -1;
}

int emu_option_dims(const char *option, const char *value, uint32_t out[3])
{
	const char *at = value;

	for (int i = 0; i < 3; i++) {
		char *end;
		unsigned long long n = strtoull(at, &end, 0);

		out[i] = 1;
		if (i && !*at)
			continue;
		if (*at < '0' || *at > '9' || !n || n > UINT32_MAX ||
		    (*end && (*end != ',' || i == 2 || !end[1])))
			goto wrong;
		out[i] = (uint32_t)n;
		at = *end ? end + 1 : end;
	}
	return 0;
wrong:
	fprintf(stderr, "%s: --%s '%s': must be X, X,Y or X,Y,Z, each at least 1\n",
		gsb_program_name(), option, value);
	return -1;
}
