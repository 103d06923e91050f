/*
 * joint.h - launches of several queues, sent to the GPU as one graph of the driver.
 *
 * Where several tenants launch and wait, each launch costs the engine's thread a call of the driver, which is more than all else that it does for it.
 * So where three or more queues begin at once their launches wait for each other, until the last of them is there, and are one graph: each a branch of it, with a
 * mark of its own (chain.h). So they run beside each other, each is noticed to have ended when it has, and one that does not end keeps none of the
 * others. Only brief ones are taken: while one takes long, nothing more is joined. Two gain nothing.
 *
 * Of each owner there is one: kernels of one program may wait for each other, and nobody promises that branches run at the same time. And it is one that
 * waited for each of its last launches: what is launched in bursts has more behind it, and goes in chains.
 *
 * A launch is taken where a chain of one would do, if it is not timed, and nothing is under way in its queue. The graph goes to a stream that no queue
 * has. What follows in the queue of any of them is behind its own branch: where that has not ended, the GPU waits for its mark. What is refused, or finds no
 * free fork, or has too little company after all, goes as a chain of one, each in its queue.
 */
#ifndef GSB_DEVICE_CUDA_JOINT_H
#define GSB_DEVICE_CUDA_JOINT_H

#include <stdbool.h>
#include <stdint.h>

#include "device/cuda/chain.h"

struct cuda_device;
struct cuda_flight;
struct gsb_cmd;
struct gsb_queue;
struct gsb_space;

/* Not sent yet. */
struct cuda_company {
	struct cuda_chain chain; /* their launches */
	struct cuda_flight *flights[CUDA_BESIDE_MAX];
	const struct gsb_space *spaces[CUDA_BESIDE_MAX]; /* in the order in which they came */
};

/* Whether it may wait for others, or others wait for it: it is the next of its queue, and its outlook is known. */
bool cuda_joint_takes(const struct gsb_queue *q, const struct gsb_cmd *cmd,
		      const struct cuda_flight *f);
/* It has its number. Those that wait are sent first, if it is too much for one graph. */
void cuda_joint_add(const struct gsb_cmd *cmd, struct cuda_flight *f);
/* Send all that wait; a loss of the context is noted. */
void cuda_joint_send(struct cuda_device *dev);
/* What is sent to the queue's stream from now on is behind its last flight, wherever that is. 0, -EIO: the context is lost. */
int cuda_joint_stay_behind(struct gsb_queue *q);

#endif
