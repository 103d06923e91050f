/*
 * flip.c - fault injection: GSB_TEST_FLIP turns over one bit of device memory, to show that a
 * program which checks its results notices.
 *
 * The rule: just before a device-to-host copy reads its source, the lowest bit of the first byte of
 * that source is turned over, in device memory. "1" does it to each such copy, "copy:N" to the N-th
 * of the device alone (from 1, in the order of issue). Nothing else is touched.
 *
 * It stands before the operation that issues, in the table of the one device that it was asked for: no
 * other device knows of it.
 */
#include "device/emu/flip.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "device/emu/clock/run.h"
#include "device/emu/issue.h"

static int parse(const char *spec, uint64_t *nth)
{
	char *end;
	long n;

	*nth = 0;
	if (!strcmp(spec, "1"))
		return 0;
	if (strncmp(spec, "copy:", 5))
		return -EINVAL;
	n = strtol(spec + 5, &end, 10);
	if (end == spec + 5 || *end || n < 1)
		return -EINVAL;
	*nth = (uint64_t)n;
	return 0;
}

static bool run_spoilt_copy(struct emu_job *job, struct gsb_emu_combiner *combiner)
{
	*(uint8_t *)(uintptr_t)job->cmd->copy.src ^= 1;
	return emu_run_copy(job, combiner);
}

static bool is_to_host(const struct gsb_cmd *cmd)
{
	return cmd->kind == GSB_CMD_COPY && cmd->copy.width && cmd->copy.height &&
	       emu_heap_has(&cmd->space->heap, cmd->copy.src) &&
	       !emu_heap_has(&cmd->space->heap, cmd->copy.dst);
}

static int issue(struct gsb_queue *queue, const struct gsb_cmd *cmd)
{
	struct emu_device *dev = queue->dev;

	if (!is_to_host(cmd))
		return emu_issue(queue, cmd);
	dev->flip.n++;
	if (dev->flip.nth && dev->flip.nth != dev->flip.n)
		return emu_issue(queue, cmd);
	return emu_issue_to_run(queue, cmd, run_spoilt_copy);
}

int emu_flip_install(struct emu_device *dev, const char *spec)
{
	int err = parse(spec, &dev->flip.nth);

	if (!err)
		dev->ops.issue = issue;
	return err;
}
