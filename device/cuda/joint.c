/*
 * joint.c - see joint.h.
 */
#include "device/cuda/joint.h"

#include "base/clock.h"
#include "device/cuda/device.h"
#include "device/cuda/flight.h"
#include "device/cuda/zero.h"

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
	if (!q->dev->graphs.n_forks || (cmd->n_beside < LEAST - 1 && !q->dev->company.chain.n))
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

/* Each may have begun as soon as the driver was called. */
static void begin(struct cuda_company *c, uint64_t from_ns, unsigned mark)
{
	uint64_t call_ns = gsb_clock_ns() - from_ns;

	for (unsigned i = 0; i < c->chain.n; i++) {
		struct cuda_flight *f = c->flights[i];

		f->sent_ns = from_ns;
		f->call_ns = call_ns;
		cuda_ends_with(f, f, mark + i);
	}
}

static bool send_graph(struct cuda_device *dev)
{
	struct cuda_company *c = &dev->company;
	struct cuda_end ends[CUDA_BESIDE_MAX];
	uint64_t from_ns = gsb_clock_ns();
	unsigned mark;

	for (unsigned i = 0; i < c->chain.n; i++)
		ends[i] = (struct cuda_end){c->flights[i]->queue->index, c->flights[i]->number};
	mark = cuda_chain_send_beside(dev, &c->chain, ends);
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

/* The GPU looks at the word until it is 1: so it has to stay so until it has been seen there. */
static CUresult wait_for_mark(struct gsb_queue *q, unsigned mark)
{
	struct cuda_device *dev = q->dev;
	uint64_t word = (uint64_t)(uintptr_t)&dev->marks[mark];

	cuda_chain_keep_mark(dev, mark, q->number + 1);
	return dev->cu.cuStreamWaitValue32_v2(q->stream, word, 1, CU_STREAM_WAIT_VALUE_EQ);
}

int cuda_joint_stay_behind(struct gsb_queue *q)
{
	struct cuda_device *dev = q->dev;
	unsigned mark;

	if (q->last->waits)
		cuda_joint_send(dev);
	if (cuda_lost(dev))
		return -EIO;
	mark = q->last->mark;
	if (!cuda_chain_is_beside(mark) || dev->marks[mark])
		return 0;
	return cuda_io_error(dev, wait_for_mark(q, mark));
}
