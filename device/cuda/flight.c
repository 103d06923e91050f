/*
 * flight.c - see flight.h.
 */
#include "device/cuda/flight.h"

static int write_number(struct gsb_queue *q, const struct cuda_flight *f)
{
	struct cuda_device *dev = q->dev;
	uint64_t word = (uint64_t)(uintptr_t)&dev->words[q->index];
	int err = f->timed ? cuda_io_error(dev, dev->cu.cuEventRecord(f->end, q->stream)) : 0;

	q->written = f->number;
	return err ? err
		   : cuda_io_error(dev,
				   dev->cu.cuStreamWriteValue32_v2(q->stream, word, f->number, 0));
}

bool cuda_may_be_marked(const struct gsb_queue *q, const struct cuda_flight *f)
{
	return !f->timed && f->number - q->written < CUDA_NUMBER_AGE;
}

void cuda_ends_with(struct cuda_flight *first, const struct cuda_flight *last, unsigned mark)
{
	const struct gsb_queue *q = first->queue;

	first->mark = mark;
	first->until = last->number;
	atomic_store_explicit(&q->dev->last[q->index], (uint64_t)mark << 32 | last->number,
			      memory_order_release);
}

int cuda_mark_end(struct cuda_flight *first, const struct cuda_flight *last)
{
	struct gsb_queue *q = first->queue;
	unsigned mark = CUDA_NO_MARK;
	int err = cuda_chain_send(q->dev, cuda_may_be_marked(q, last) ? &mark : NULL);

	cuda_ends_with(first, last, mark);
	return err || mark != CUDA_NO_MARK ? err : write_number(q, last);
}

/* It goes with those that follow, or at once, when it is marked. */
int cuda_send_in_chain(struct gsb_queue *q, const struct gsb_cmd_launch *l, struct cuda_flight *f)
{
	struct cuda_chain *c = &q->dev->chain;
	int err = cuda_chain_has_room(c, l) ? 0 : cuda_chain_send(q->dev, NULL);

	if (err)
		return err;
	if (f->opens && f->timed)
		c->start = f->start;
	c->stream = q->stream;
	c->end = (struct cuda_end){q->index, f->number};
	cuda_chain_add(c, l, &f->result);
	return 0;
}

int cuda_send_alone(struct cuda_flight *f, const struct gsb_cmd_launch *l)
{
	int err = cuda_chain_send(f->queue->dev, NULL); /* of another queue */

	if (!err)
		err = cuda_send_in_chain(f->queue, l, f);
	return err ? err : cuda_mark_end(f, f);
}
