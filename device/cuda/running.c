/*
 * running.c - see running.h.
 */
#include "device/cuda/running.h"

#include <time.h>

#include "base/checked.h"
#include "base/clock.h"
#include "device/cuda/chain.h"

#define WAIT_PART   8 /* of the time that another thread has waited, it sleeps */
#define WAIT_MIN_NS 20000
#define WAIT_MAX_NS 1000000

/*
 * A mark is cleared for the next that gets the graph, when the engine has noticed the end: so that is looked at, too. It alone would not do, for the engine may be
 * in a call that waits for who waits here.
 */
static bool has_come(const struct cuda_device *dev, unsigned queue, uint64_t last)
{
	unsigned mark = (unsigned)(last >> 32);
	uint32_t number = (uint32_t)last;

	if (cuda_is_up_to(atomic_load_explicit(&dev->ended[queue], memory_order_acquire), number))
		return true;
	return mark == CUDA_NO_MARK ? cuda_is_up_to(dev->words[queue], number) : dev->marks[mark];
}

static bool has_come_so_far(struct cuda_device *dev, unsigned queue)
{
	return has_come(dev, queue, atomic_load_explicit(&dev->last[queue], memory_order_acquire));
}

bool cuda_is_quiet(struct cuda_device *dev)
{
	for (unsigned i = CUDA_ZERO_WORD + 1; i < CUDA_N_QUEUES; i++)
		if (!has_come_so_far(dev, i))
			return false;
	return true;
}

void cuda_wait_for_running(struct cuda_device *dev)
{
	uint64_t from = gsb_clock_ns();

	for (unsigned i = CUDA_ZERO_WORD + 1; i < CUDA_N_QUEUES; i++) {
		uint64_t last = atomic_load_explicit(&dev->last[i], memory_order_acquire);

		while (!has_come(dev, i, last) && !cuda_lost(dev)) {
			uint64_t ns = gsb_clamp((gsb_clock_ns() - from) / WAIT_PART, WAIT_MIN_NS,
						WAIT_MAX_NS - 1);

			nanosleep(&(struct timespec){.tv_nsec = (long)ns}, NULL);
		}
	}
}
