/*
 * program.c - what the tenants' programs do. Each thread posts its operations in their order, each of them so long after the
 * end of the one that the program had waited for as it was when it was recorded: think times stay, waits become
 * what the policy makes of them.
 */
#include <errno.h>
#include <stdlib.h>

#include "sim/state.h"

uint64_t gsb_sim_come_ns(const struct gsb_sim *s, uint32_t tenant_at)
{
	return s->p->together ? 0 : s->load->tenants[tenant_at].come_ns;
}

/* The thread of a tenant; a new one when it is seen first. */
static struct gsb_sim_thread *find_thread(struct gsb_sim *s, const struct gsb_workload_op *op)
{
	struct gsb_sim_thread *t;

	for (uint32_t i = 0; i < s->n_threads; i++)
		if (s->threads[i].tenant_at == op->tenant_at && s->threads[i].number == op->thread)
			return &s->threads[i];
	t = &s->threads[s->n_threads++];
	*t = (struct gsb_sim_thread){op->tenant_at, op->thread, GSB_SIM_NONE, GSB_SIM_NONE};
	return t;
}

static void append(struct gsb_sim *s, struct gsb_sim_thread *t, uint32_t i)
{
	s->items[i].next_in_thread = GSB_SIM_NONE;
	if (t->tail == GSB_SIM_NONE)
		t->next = i;
	else
		s->items[t->tail].next_in_thread = i;
	t->tail = i;
}

int gsb_sim_program_init(struct gsb_sim *s)
{
	/* No more threads than operations. */
	s->threads = calloc((size_t)s->load->n_ops + 1, sizeof(*s->threads));
	if (!s->threads)
		return -ENOMEM;
	for (uint32_t i = 0; i < s->load->n_ops; i++)
		if (s->items[i].state != GSB_SIM_ABSENT)
			append(s, find_thread(s, s->items[i].op), i);
	return 0;
}

/* When the thread's next operation is posted; NEVER: it has none, or waits for what is not done. */
static uint64_t next_post(const struct gsb_sim *s, const struct gsb_sim_thread *t)
{
	const struct gsb_workload_op *op;
	uint64_t from;

	if (t->next == GSB_SIM_NONE)
		return GSB_SIM_NEVER;
	op = s->items[t->next].op;
	from = gsb_sim_come_ns(s, op->tenant_at);
	if (op->after_at != GSB_WORKLOAD_NONE) {
		const struct gsb_sim_item *after = &s->items[op->after_at];

		if (after->state != GSB_SIM_DONE)
			return GSB_SIM_NEVER;
		from = after->done_ns;
	}
	return from + op->think_ns;
}

bool gsb_sim_post(struct gsb_sim *s)
{
	bool any = false;

	for (uint32_t i = 0; i < s->n_threads; i++) {
		struct gsb_sim_thread *t = &s->threads[i];

		while (next_post(s, t) <= s->now_ns) {
			struct gsb_sim_item *item = &s->items[t->next];

			item->state = GSB_SIM_POSTED;
			s->streams[item->op->stream_at].n_queued++;
			item->post_ns =
				s->now_ns; /* what its thread posted before was posted before */
			t->next = item->next_in_thread;
			any = true;
		}
	}
	return any;
}

uint64_t gsb_sim_next_post_ns(const struct gsb_sim *s)
{
	uint64_t least = GSB_SIM_NEVER;

	for (uint32_t i = 0; i < s->n_threads; i++) {
		uint64_t at = next_post(s, &s->threads[i]);

		least = at < least ? at : least;
	}
	return least;
}
