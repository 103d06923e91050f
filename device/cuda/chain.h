/*
 * chain.h - launches that follow each other in a stream, sent to the GPU as one graph of the driver.
 *
 * A launch takes NVIDIA's driver 2.7 us, a kernel of a graph a tenth of that, and the GPU goes from one kernel of a graph to the next in less time than
 * from one launch to the next (doc/results/2026-11-26-chains-h100.txt). A graph is kept, and serves whatever comes in its length: its kernels get the parameters of
 * the launches that it is sent for, where they have others, and where these are other kernels or geometries, those, too, which takes longer. So of those that are
 * not under way the one of the same sequence is taken, if there is one.
 *
 * In a chain goes a launch that the driver cannot refuse: in a size of blocks in which it has taken the kernel before. One
 * that comes alone is a chain of one, if its kernel comes again and again in one geometry. The driver knows nothing of it else: a graph that cannot
 * be had, or is refused, becomes plain launches.
 *
 * Where somebody is to hear that all of a chain have ended, its last graph has a node behind its kernels that sets a word of the graph's own to 1. That takes the driver
 * less than a word that is written behind the graph, and is seen sooner (doc/real-gpu.md, Chains). The node never changes, which would cost more than it saves: the word is cleared before the graph is
 * sent, and a graph is sent again only when its last end has been noticed (cuda_device.ended).
 */
#ifndef GSB_DEVICE_CUDA_CHAIN_H
#define GSB_DEVICE_CUDA_CHAIN_H

#include <pthread.h>

#include "device/cuda/driver.h"
#include "device/ops.h"

#define CUDA_CHAIN_MAX		32 /* launches */
#define CUDA_CHAIN_PARAMS_BYTES 8192
#define CUDA_CHAIN_LENGTHS	6  /* 1, 2, 4, 8, 16 and 32 */
#define CUDA_CHAIN_GRAPHS	64 /* of each length, with a mark; and as many without */
#define CUDA_BESIDE_MAX		16 /* launches of several queues (joint.h) */
#define CUDA_BESIDE_GRAPHS	16 /* of each number of them */
#define CUDA_N_CHAIN_MARKS	(CUDA_CHAIN_LENGTHS * CUDA_CHAIN_GRAPHS)
#define CUDA_N_MARKS		(CUDA_N_CHAIN_MARKS + CUDA_BESIDE_MAX * CUDA_BESIDE_GRAPHS)
#define CUDA_NO_MARK		CUDA_N_MARKS

struct cuda_device;
struct cuda_graph;

/* Launches that wait for those that follow them at once: of one stream. */
struct cuda_chain {
	unsigned n;
	uint32_t params_bytes;
	CUstream stream;
	CUevent start;	 /* to be recorded before the first; NULL: none */
	unsigned queue;	 /* when of this one */
	uint32_t number; /* this number has ended, all of them have */
	struct gsb_cmd_launch launches[CUDA_CHAIN_MAX];
	CUresult *refused[CUDA_CHAIN_MAX]; /* gets what the driver says of that launch after all */
	_Alignas(16) uint8_t params[CUDA_CHAIN_PARAMS_BYTES];
};

struct cuda_graphs {
	struct cuda_graph *plain[CUDA_CHAIN_LENGTHS][CUDA_CHAIN_GRAPHS];
	struct cuda_graph *marked[CUDA_CHAIN_LENGTHS][CUDA_CHAIN_GRAPHS];
	struct cuda_graph *beside[CUDA_BESIDE_MAX][CUDA_BESIDE_GRAPHS];
	pthread_mutex_t lock; /* held while the kernels of a graph are named to the driver */
	unsigned n_unloaded;  /* images, since then graphs of before are no good; under lock */
	uint64_t n_sent;
};

/* @alone: none was before it, and none follows. */
bool cuda_chain_takes(const struct gsb_cmd *cmd, bool alone);

/* Whether it has room for that launch, which it takes. */
bool cuda_chain_has_room(const struct cuda_chain *c, const struct gsb_cmd_launch *l);
/* Its stream, queue and number, and start with the first, are the caller's to set. */
void cuda_chain_add(struct cuda_chain *c, const struct gsb_cmd_launch *l, CUresult *refused);

/*
 * cuda_chain_send() - hand them to the stream, in their order; it is empty then
 * @mark: gets which of cuda_device.marks is 1 when all of them have ended, or CUDA_NO_MARK: none will be; NULL: none is wanted
 *
 * Return: 0, -EIO: the context is lost.
 */
int cuda_chain_send(struct cuda_device *dev, unsigned *mark);

/*
 * cuda_chain_send_beside() - hand all of @c, at most CUDA_BESIDE_MAX, to its stream as one graph, in which none waits for another
 *
 * Return: which of cuda_device.marks is 1 when all of them have ended; CUDA_NO_MARK: it is refused, and nothing is sent.
 */
unsigned cuda_chain_send_beside(struct cuda_device *dev, const struct cuda_chain *c);

/* Code is about to go: any thread, before the driver hears of it. None of it is being sent when this returns. */
void cuda_chain_forget(struct cuda_device *dev);

void cuda_chain_finish(struct cuda_device *dev);

#endif
