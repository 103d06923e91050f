/*
 * best.c - see best.h.
 */
#include "sim/best.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

struct search {
	const struct gsb_workload *load;
	struct gsb_sim_params p;
	uint32_t *order; /* operations, as far as it goes */
	uint32_t *
		next; /* of each stream, its first operation from there on that is not in the order */
	uint32_t n, n_launches;
	struct gsb_sim_best best;
	char *why;
	size_t size;
};

static bool is_launch(const struct gsb_workload *l, uint32_t i)
{
	return l->ops[i].kind == GSB_WORKLOAD_LAUNCH;
}

double gsb_sim_orders(const struct gsb_workload *load)
{
	double n = 0, orders = 1;

	for (uint32_t s = 0; s < load->n_streams; s++)
		for (uint32_t i = 0, of_stream = 0; i < load->n_ops; i++)
			if (load->ops[i].stream_at == s && is_launch(load, i))
				orders *= ++n / ++of_stream;
	return orders;
}

static int run_order(struct search *q)
{
	struct gsb_sim_result r;
	int err = gsb_sim_run(q->load, &q->p, &r, q->why, q->size);

	if (err)
		return err;
	q->best.n_orders++;
	if (r.makespan_ns < q->best.makespan_ns)
		q->best.makespan_ns = r.makespan_ns;
	gsb_sim_finish(&r);
	return 0;
}

/* The next launch of a stream from @i on; n_ops: there is none. */
static uint32_t next_launch(const struct gsb_workload *l, uint32_t stream, uint32_t i)
{
	while (i < l->n_ops && !(l->ops[i].stream_at == stream && is_launch(l, i)))
		i++;
	return i;
}

/* Every stream's next launch in the next place. */
static int go_on(struct search *q)
{
	int err = 0;

	if (q->n == q->n_launches)
		return run_order(q);
	for (uint32_t s = 0; !err && s < q->load->n_streams; s++) {
		uint32_t i = q->next[s];

		if (i == q->load->n_ops)
			continue;
		q->order[q->n++] = i;
		q->next[s] = next_launch(q->load, s, i + 1);
		err = go_on(q);
		q->next[s] = i;
		q->n--;
	}
	return err;
}

int gsb_sim_best(const struct gsb_workload *load, const struct gsb_sim_params *p,
		 struct gsb_sim_best *out, char *why, size_t size)
{
	struct search q = {
		.load = load,
		.p = {.arch = p->arch,
		      .recorded = p->recorded,
		      .policy = &gsb_policy_fifo,
		      .law = p->law,
		      .together = p->together},
		.best.makespan_ns = UINT64_MAX,
		.why = why,
		.size = size,
	};
	int err = -ENOMEM;

	snprintf(why, size, "no memory");
	q.order = calloc((size_t)load->n_ops + 1, sizeof(*q.order));
	q.next = calloc((size_t)load->n_streams + 1, sizeof(*q.next));
	for (uint32_t i = 0; i < load->n_ops; i++)
		q.n_launches += is_launch(load, i);
	if (q.order && q.next) {
		for (uint32_t s = 0; s < load->n_streams; s++)
			q.next[s] = next_launch(load, s, 0);
		q.p.order = q.order;
		q.p.n_order = q.n_launches;
		err = go_on(&q);
	}
	free(q.order);
	free(q.next);
	if (!err)
		*out = q.best;
	return err;
}
