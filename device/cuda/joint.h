/*
 * joint.h - launches of several queues, sent to the GPU as one graph of the driver.
 *
 * Where several tenants launch and wait, each launch costs the engine's thread a call of the driver, which is more than all else that it does for it.
 * So where three or more queues begin at once their launches wait for each other, until the last of them is there, and are one graph: each a branch of it, so
 * that they run beside each other, and behind all of them is one mark (chain.h), which is that of each. So each ends with the longest of them, and only
 * brief ones are taken: one that turns out long keeps the others for as long as it takes, once, for then it is timed, and goes alone. Two gain nothing.
 *
 * Of each owner there is one: kernels of one program may wait for each other, or its host for the end of one while another waits for the host. And it is one that
 * waited for each of its last launches: what is launched in bursts has more behind it, which would have to wait for the others, too.
 *
 * A launch is taken where a chain of one would do, if it is not timed, and nothing is under way in its queue. The graph goes to the stream of one of
 * them, the lead. What follows in the queue of any of them is behind the whole graph, by an event if it has not ended. All of them are noticed at once
 * to have ended. What is refused, or has too little company after all, goes as a chain of one, each in its queue. The engine asks for
 * it only where a kernel that does not end is ended (cmd.n_beside).
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

/* Under way. */
struct cuda_joint {
	unsigned n;
	uint64_t from_ns, sent_ns; /* when the driver was called for it, and had returned */
	uint64_t about_ns;	   /* what the longest of them should take */
	bool recorded;		   /* the end event of the lead is behind them */
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
/* The mark of this one's graph has come: that is noticed of all its queues. */
void cuda_joint_end(struct cuda_flight *f);

#endif
