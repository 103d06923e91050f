/*
 * residents.c - see residents.h. Each SM has the launches of its blocks in a row of its own, one entry a block; mostly all are of
 * one launch, and then nobody has to be counted.
 */
#include "device/emu/clock/residents.h"

#include <errno.h>
#include <stdlib.h>

int emu_residents_init(struct emu_residents *r, const struct gsb_arch *arch)
{
	TAILQ_INIT(&r->cmds);
	r->row = arch->max_blocks < arch->max_warps ? arch->max_blocks : arch->max_warps;
	r->on_sm = calloc((size_t)arch->n_sms * r->row, sizeof(struct emu_cmd *));
	r->n_on_sm = calloc(arch->n_sms, sizeof(*r->n_on_sm));
	return r->on_sm && r->n_on_sm ? 0 : -ENOMEM;
}

void emu_residents_finish(struct emu_residents *r)
{
	free(r->on_sm);
	free(r->n_on_sm);
}

void emu_residents_add(struct emu_residents *r, struct emu_cmd *cmd, uint32_t sm)
{
	r->on_sm[(size_t)sm * r->row + r->n_on_sm[sm]++] = cmd;
	if (cmd->n_resident++)
		return;
	TAILQ_INSERT_TAIL(&r->cmds, cmd, resident);
	r->n_cmds++;
}

void emu_residents_remove(struct emu_residents *r, struct emu_cmd *cmd, uint32_t sm)
{
	struct emu_cmd **row = &r->on_sm[(size_t)sm * r->row];
	uint32_t i = 0;

	while (row[i] != cmd)
		i++;
	row[i] = row[--r->n_on_sm[sm]];
	if (--cmd->n_resident)
		return;
	TAILQ_REMOVE(&r->cmds, cmd, resident);
	r->n_cmds--;
}

static uint32_t count_on_sm(const struct emu_residents *r, const struct emu_cmd *cmd, uint32_t sm)
{
	struct emu_cmd *const *row = &r->on_sm[(size_t)sm * r->row];
	uint32_t n = 0;

	for (uint32_t i = 0; i < r->n_on_sm[sm]; i++)
		n += row[i] == cmd;
	return n;
}

static struct gsb_neighbour neighbour(const struct emu_residents *r, const struct emu_cmd *cmd,
				      uint32_t sm)
{
	return (struct gsb_neighbour){
		.profile = cmd->profile,
		.block_warps = emu_cmd_block_warps(cmd),
		.sm_blocks = count_on_sm(r, cmd, sm),
		.device_blocks = cmd->n_resident,
	};
}

static bool is_same_company(const struct emu_residents *r, const struct emu_job *a,
			    const struct emu_job *b)
{
	const struct emu_cmd *cmd;

	if (a->cmd != b->cmd)
		return false;
	TAILQ_FOREACH(cmd, &r->cmds, resident)
	if (count_on_sm(r, cmd, a->sm) != count_on_sm(r, cmd, b->sm))
		return false;
	return true;
}

void emu_residents_find_company(struct emu_clock *c, struct emu_job *job,
				const struct emu_job *before)
{
	const struct emu_residents *r = &c->residents;
	struct gsb_neighbour all[EMU_RESIDENTS_MAX];
	unsigned int n = 0, self = 0;
	const struct emu_cmd *cmd;

	if (r->n_cmds == 1 || r->n_cmds > EMU_RESIDENTS_MAX) {
		job->company = (struct gsb_block_company){
			.sm_warps = gsb_machine_sm_warps(c->machine, job->sm),
			.device_warps = c->resident_warps,
			.speed = GSB_FULL_SPEED,
		};
		return;
	}
	if (before && is_same_company(r, job, before)) {
		job->company = before->company;
		return;
	}
	TAILQ_FOREACH(cmd, &r->cmds, resident)
	{
		if (cmd == job->cmd)
			self = n;
		all[n++] = neighbour(r, cmd, job->sm);
	}
	job->company = gsb_company_find(&c->interference, c->arch, all, n, self);
}
