/*
 * resizing.c - see resizing.h.
 */
#include "broker/engine/code/resizing.h"

#include <stddef.h>
#include <string.h>

#define HASH_WORD "hash:"

/* '*' is any characters, '?' any one. The last '*' alone has to be tried again: what an earlier one took is enough. */
static bool matches(const char *pattern, size_t n, const char *name)
{
	size_t at = 0, star = SIZE_MAX;
	const char *from = NULL;

	while (*name) {
		if (at < n && pattern[at] == '*') {
			star = at++;
			from = name;
		} else if (at < n && (pattern[at] == '?' || pattern[at] == *name)) {
			at++;
			name++;
		} else if (star != SIZE_MAX) {
			at = star + 1;
			name = ++from;
		} else {
			return false;
		}
	}
	while (at < n && pattern[at] == '*')
		at++;
	return at == n;
}

static bool is_named(const char *list, const char *kernel, const char *hash)
{
	const size_t tag = sizeof(HASH_WORD) - 1;

	for (size_t n; list && *list; list += n, list += *list == ' ') {
		n = strcspn(list, " ");
		if (n > tag && !strncmp(list, HASH_WORD, tag) ? !strncmp(list + tag, hash, n - tag)
							      : matches(list, n, kernel))
			return true;
	}
	return false;
}

bool gsb_resizing_allows(const struct gsb_resizing *r, const char *kernel, const char *hash)
{
	if (is_named(r->deny, kernel, hash))
		return false;
	return !r->allow || !*r->allow || is_named(r->allow, kernel, hash);
}
