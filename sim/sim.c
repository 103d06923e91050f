/*
 * sim.c - see sim.h: the run itself. At each instant all that ends has ended and all that is posted has been before the policy is
 * asked, as the engine waits in virtual time until no tenant runs; then time goes to the next event.
 */
#include "sim/sim.h"

#include <errno.h>
#include <stdlib.h>

#include "sim/state.h"

/* All that happens before anybody decides. */
static void settle_instant(struct gsb_sim *s)
{
	bool more;

	do {
		more = gsb_sim_device_ends(s);
		more |= gsb_sim_post(s);
		gsb_sim_settle(s);
		more |= gsb_sim_next_post_ns(s) <= s->now_ns;
	} while (more);
}

static int run_instant(struct gsb_sim *s)
{
	int err;

	settle_instant(s);
	err = gsb_sim_decide(s);
	if (!err)
		err = gsb_sim_check_idle(s);
	return err ? err : gsb_sim_device_starts(s);
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static int run(struct gsb_sim *s)
{
	int err = 0;

	while (!err && s->n_left) {
		uint64_t next, decision;

		err = run_instant(s);
		if (err || !s->n_left)
			break;
		next = earlier(gsb_sim_next_post_ns(s), gsb_sim_next_event_ns(s));
		decision = gsb_sim_next_decision_ns(s);
		if (next == GSB_SIM_NEVER)
			return gsb_sim_fail(s, -EPROTO, "nothing runs and %lu operations wait",
					    (unsigned long)s->n_left);
		gsb_sim_pass_to(s, earlier(next, decision));
	}
	return err;
}

static void release(struct gsb_sim *s)
{
	gsb_machine_destroy(s->machine);
	free(s->items);
	free(s->streams);
	free(s->threads);
	free(s->sides);
	free(s->ready);
	free(s->claims);
	free(s->there);
	free(s->n_left_of);
	free(s->blocks);
	free(s->sms);
}

static int init(struct gsb_sim *s)
{
	int err;

	s->items = calloc((size_t)s->load->n_ops + 1, sizeof(*s->items));
	if (!s->items)
		return gsb_sim_fail(s, -ENOMEM, "no memory");
	err = gsb_sim_device_init(s);
	if (!err)
		err = gsb_sim_streams_init(s);
	if (!err)
		err = gsb_sim_program_init(s);
	if (!err)
		err = gsb_sim_view_init(s);
	return err;
}

int gsb_sim_run(const struct gsb_workload *load, const struct gsb_sim_params *p,
		struct gsb_sim_result *out, char *why, size_t size)
{
	struct gsb_sim_result result = {0};
	struct gsb_sim s = {.load = load, .p = p, .out = &result, .why = why, .why_size = size};
	int err;

	snprintf(why, size, "no memory");
	err = init(&s);
	if (!err)
		err = run(&s);
	if (!err)
		err = gsb_sim_check_all(&s);
	if (!err)
		err = gsb_sim_result_make(&s);
	release(&s);
	if (err)
		gsb_sim_finish(&result);
	else
		*out = result;
	return err;
}

void gsb_sim_finish(struct gsb_sim_result *r)
{
	free(r->tenants);
	*r = (struct gsb_sim_result){0};
}
