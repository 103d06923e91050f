/*
 * joint.c - see joint.h.
 */
#include "device/cuda/joint.h"

#include "base/clock.h"
#include "device/cuda/device.h"
#include "device/cuda/flight.h"
#include "device/cuda/memory.h"

#define LEAST	  3 /* of them */
#define BRIEF_NS  10000
#define WAITS_FOR 4 /* launches in a row, who is taken to wait for each */

/* ---- which ---- */

static bool is_of_same(const struct gsb_space *a, const struct gsb_space *b)
{
	return a == b || (a->owner && a->owner == b->owner);
}

/* It may be that they wait for each other. */
static bool has_owner_of(const struct cuda_company *c, const struct gsb_space *space)
{
	for (unsigned i = 0; i < c->chain.n; i++)
		if (is_of_same(c->spaces[i], space))
			return true;
	return false;
}

bool cuda_joint_takes(const struct gsb_queue *q, const struct gsb_cmd *cmd,
		      const struct cuda_flight *f)
{
	if (cmd->n_beside < LEAST - 1 && !q->dev->company.chain.n)
		return false;
	return q->chains && cmd->space->n_alone >= WAITS_FOR && f->outlook.about_ns <= BRIEF_NS &&
	       cuda_may_be_marked(q, f) && cuda_chain_takes(cmd, true) &&
	       cuda_is_zeroed(q->dev, cmd->space->n_zeroed) &&
	       !has_owner_of(&q->dev->company, cmd->space);
}

void cuda_joint_add(const struct gsb_cmd *cmd, struct cuda_flight *f)
{
	struct cuda_device *dev = f->queue->dev;
	struct cuda_company *c = &dev->company;

	if (c->chain.n == CUDA_BESIDE_MAX || !cuda_chain_has_room(&c->chain, &cmd->launch))
		cuda_joint_send(dev);
	c->flights[c->chain.n] = f;
	c->spaces[c->chain.n] = cmd->space;
	cuda_chain_add(&c->chain, &cmd->launch, &f->result);
	f->waits = true;
}

/* ---- sending ---- */

/* No two of them have one function, which is of a space. */
static bool goes_before(const struct cuda_company *c, unsigned i, unsigned other)
{
	return (uintptr_t)c->chain.launches[i].function <
	       (uintptr_t)c->chain.launches[other].function;
}

static void swap(struct cuda_company *c, unsigned i, unsigned other)
{
	struct gsb_cmd_launch launch = c->chain.launches[i];
	struct cuda_flight *flight = c->flights[i];

	c->chain.launches[i] = c->chain.launches[other];
	c->flights[i] = c->flights[other];
	c->chain.launches[other] = launch;
	c->flights[other] = flight;
}

/* In an order that does not depend on who came first: then the graph that they were in the last time has them as they are. */
static void sort(struct cuda_company *c)
{
	for (unsigned i = 1; i < c->chain.n; i++)
		for (unsigned at = i; at && goes_before(c, at, at - 1); at--)
			swap(c, at, at - 1);
}

/* They are the device's now, behind the first of them. */
static void begin(struct cuda_company *c, uint64_t from_ns, unsigned mark)
{
	struct cuda_flight *lead = c->flights[0];
	struct cuda_joint *j = &lead->joint;

	*j = (struct cuda_joint){.n = c->chain.n, .from_ns = from_ns, .sent_ns = gsb_clock_ns()};
	for (unsigned i = 0; i < j->n; i++) {
		struct cuda_flight *f = c->flights[i];

		if (f->outlook.about_ns > j->about_ns)
			j->about_ns = f->outlook.about_ns;
		f->lead = lead;
		f->next_beside = i + 1 < j->n ? c->flights[i + 1] : NULL;
		cuda_ends_with(f, f, mark);
	}
}

static bool send_graph(struct cuda_device *dev)
{
	struct cuda_company *c = &dev->company;
	const struct cuda_flight *lead = c->flights[0];
	uint64_t from_ns = gsb_clock_ns();
	unsigned mark;

	c->chain.stream = lead->queue->stream;
	c->chain.queue = lead->queue->index;
	c->chain.number = lead->number;
	mark = cuda_chain_send_beside(dev, &c->chain);
	if (mark == CUDA_NO_MARK)
		return false;
	begin(c, from_ns, mark);
	return true;
}

void cuda_joint_send(struct cuda_device *dev)
{
	struct cuda_company *c = &dev->company;
	bool sent;

	if (!c->chain.n)
		return;
	sort(c);
	sent = c->chain.n >= LEAST && send_graph(dev);
	for (unsigned i = 0; i < c->chain.n; i++) {
		c->flights[i]->waits = false;
		if (!sent && !cuda_lost(dev))
			cuda_send_alone(c->flights[i], &c->chain.launches[i]);
	}
	c->chain.n = c->chain.params_bytes = 0;
}

/* ---- what is behind ---- */

int cuda_joint_stay_behind(struct gsb_queue *q)
{
	struct cuda_device *dev = q->dev;
	struct cuda_flight *lead;
	CUresult result = CUDA_SUCCESS;

	if (q->last->waits)
		cuda_joint_send(dev);
	lead = q->last->lead;
	if (!lead || dev->marks[q->last->mark])
		return cuda_lost(dev) ? -EIO : 0;
	if (!lead->joint.recorded) /* before anything else goes to its stream */
		result = dev->cu.cuEventRecord(lead->end, lead->queue->stream);
	lead->joint.recorded = true;
	if (!result && q != lead->queue)
		result = dev->cu.cuStreamWaitEvent(q->stream, lead->end, 0);
	return cuda_io_error(dev, result);
}

/* ---- the end ---- */

/* Some may have begun as soon as the driver was called, and all have had START_NS only when that had returned. */
static struct cuda_untimed untimed(const struct cuda_joint *j, uint64_t open_ns)
{
	return (struct cuda_untimed){
		.n = 1,
		.about_ns = j->about_ns,
		.sent_ns = j->from_ns,
		.open_ns = open_ns > j->sent_ns ? open_ns - (j->sent_ns - j->from_ns) : 0,
		.end_ns = gsb_clock_ns()};
}

/* Of what all took: as long as it should have. Whose it is that they took longer is not known, and each has the same part of that. */
static uint64_t part_of(const struct cuda_joint *j, const struct cuda_flight *f, uint64_t all_ns)
{
	uint64_t ns = f->outlook.about_ns;

	if (all_ns > j->about_ns)
		return ns + (all_ns - j->about_ns) / j->n;
	return ns < all_ns ? ns : all_ns;
}

void cuda_joint_end(struct cuda_flight *f)
{
	const struct cuda_flight *lead = f->lead;
	struct cuda_untimed u = untimed(&lead->joint, lead->queue->dev->open_ns);

	for (f = f->lead; f; f = f->next_beside) {
		uint64_t ns = part_of(&lead->joint, f, cuda_outlook_guess_ns(&f->outlook, &u));

		f->took_ns = ns + !ns;
		f->began_ns = u.end_ns - f->took_ns;
		f->lead = NULL;
		f->mark = CUDA_NO_MARK;
		cuda_see(f->queue, f->number);
	}
}
