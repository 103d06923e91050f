/*
 * flip.c - fault injection: GSB_TEST_FLIP turns over one bit of device memory, to show that a
 * program which checks its results notices.
 *
 * The rule: just before a device-to-host copy reads its source, the lowest bit of the first byte of
 * that source is turned over, in device memory. "1" does it to each such copy, "copy:N" to the N-th
 * of the device alone (from 1, in the order in which copies start). Nothing else is touched.
 */
#include "device/emu/emu.h"

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

bool emu_flip_wanted(struct emu_device *dev, const struct emu_cmd *cmd)
{
	if (dev->flip_nth == FLIP_NONE || cmd->kind != GSB_CMD_COPY || !cmd->copy.width ||
	    !cmd->copy.height || !emu_is_device(cmd->space, cmd->copy.src) ||
	    emu_is_device(cmd->space, cmd->copy.dst))
		return false;
	dev->n_flippable++;
	return dev->flip_nth == FLIP_EACH || dev->n_flippable == (uint64_t)dev->flip_nth;
}

void emu_flip_apply(const struct emu_cmd *cmd)
{
	*(uint8_t *)(uintptr_t)cmd->copy.src ^= 1;
}
