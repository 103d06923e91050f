/*
 * lowest.c - see lowest.h.
 */
#include "base/lowest.h"

#include <errno.h>
#include <stdlib.h>

int gsb_lowest_grow(struct gsb_lowest *l)
{
	uint64_t *words = realloc(l->words, (l->n_words + 1) * sizeof(*words));

	if (!words)
		return -ENOMEM;
	words[l->n_words] = UINT64_MAX;
	l->words = words;
	l->n_words++;
	return 0;
}

void gsb_lowest_finish(struct gsb_lowest *l)
{
	free(l->words);
	*l = (struct gsb_lowest){0};
}
