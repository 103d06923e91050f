/*
 * wire.c - see wire.h. What is taken is copied and checked first: the memory is another process's, too.
 */
#include "device/lanes/wire.h"

#include <errno.h>
#include <string.h>

static uint32_t to_end(uint64_t at)
{
	return LANE_RING_BYTES - (uint32_t)(at % LANE_RING_BYTES);
}

static struct lane_cmd *at(struct lane_page *p, uint64_t pos)
{
	return (struct lane_cmd *)(void *)&p->cmds[pos % LANE_RING_BYTES];
}

/* Commands lie in one piece: what is left at the end of the ring is passed over. */
void *lane_ring_reserve(struct lane_page *p, uint32_t bytes)
{
	/* Whoever takes may have written it, too: of what begins at a multiple of 8 at least the length is in the ring. */
	uint64_t head = atomic_load_explicit(&p->cmd_head, memory_order_relaxed) & ~7ull;
	uint64_t tail = atomic_load_explicit(&p->cmd_tail, memory_order_acquire);
	uint32_t end = to_end(head), skip = bytes > end ? end : 0;

	if (head - tail + skip + bytes > LANE_RING_BYTES)
		return NULL;
	if (!skip)
		return at(p, head);
	at(p, head)->bytes = 0;
	atomic_store_explicit(&p->cmd_head, head + skip, memory_order_release);
	return at(p, head + skip);
}

void lane_ring_commit(struct lane_page *p, const struct lane_cmd *cmd)
{
	uint64_t head = atomic_load_explicit(&p->cmd_head, memory_order_relaxed);

	atomic_store_explicit(&p->cmd_head, head + cmd->bytes, memory_order_release);
}

int lane_ring_take(struct lane_page *p, struct lane_cmd *out)
{
	uint64_t tail = atomic_load_explicit(&p->cmd_tail, memory_order_relaxed);
	uint64_t head = atomic_load_explicit(&p->cmd_head, memory_order_acquire);
	uint32_t bytes;

	if (tail == head)
		return 0;
	bytes = *(volatile uint32_t *)&at(p, tail)->bytes;
	if (!bytes) {
		tail += to_end(tail);
		if (tail == head)
			return 0;
		bytes = *(volatile uint32_t *)&at(p, tail)->bytes;
	}
	if (bytes < sizeof(*out) || bytes > LANE_CMD_MAX || bytes % 8 || bytes > to_end(tail) ||
	    bytes > head - tail)
		return -EPROTO;
	memcpy(out, at(p, tail), bytes);
	out->bytes = bytes;
	atomic_store_explicit(&p->cmd_tail, tail + bytes, memory_order_release);
	return 1;
}

/* The fences pair: either the sleeper sees what came, or who brings it sees that somebody sleeps. */
void lane_sleep_begin(_Atomic uint32_t *word)
{
	atomic_store_explicit(word, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

bool lane_sleep_end(_Atomic uint32_t *word)
{
	atomic_thread_fence(memory_order_seq_cst);
	return atomic_load_explicit(word, memory_order_relaxed) &&
	       atomic_exchange_explicit(word, 0, memory_order_relaxed);
}
