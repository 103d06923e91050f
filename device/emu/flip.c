/*
 * flip.c - fault injection: GSB_TEST_FLIP turns over one bit of device memory, to show that a
 * program which checks its results notices.
 *
 * The rule: just before a device-to-host copy reads its source, the lowest bit of the first byte of
 * that source is turned over, in device memory. "1" does it to each such copy, "copy:N" to the N-th
 * of the device alone (from 1, in the order in which copies start). Nothing else is touched.
 */
#include "device/emu/flip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FLIP_NONE (-1)
#define FLIP_EACH 0

int emu_flip_parse(const char *text, int *nth)
{
	char *end;
	long n;

	*nth = FLIP_NONE;
	if (!text || !*text)
		return 0;
	if (!strcmp(text, "1")) {
		*nth = FLIP_EACH;
		return 0;
	}
	if (strncmp(text, "copy:", 5))
		return -EINVAL;
	n = strtol(text + 5, &end, 10);
	if (end == text + 5 || *end || n < 1 || n > INT32_MAX)
		return -EINVAL;
	*nth = (int)n;
	return 0;
}

bool emu_flip_wanted(int nth, uint64_t *n, const struct emu_heap *heap,
		     const struct gsb_cmd_copy *copy)
{
	if (nth == FLIP_NONE || !copy->width || !copy->height || !emu_heap_has(heap, copy->src) ||
	    emu_heap_has(heap, copy->dst))
		return false;
	++*n;
	return nth == FLIP_EACH || *n == (uint64_t)nth;
}

void emu_flip_apply(const struct gsb_cmd_copy *copy)
{
	*(uint8_t *)(uintptr_t)copy->src ^= 1;
}
