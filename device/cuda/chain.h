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
 *
 * Launches of several queues (joint.h) are one graph, too: each a branch of it, which has a mark of its own. There, where several nodes end beside each other,
 * that is a kernel of one thread (mark.ptx). Such a graph is free again when all of its branches have ended, so it goes to a stream that no queue has:
 * to a fork, which has one such graph under way at a time, with a word for each branch. Where a fork has been under way for longer than brief launches take, or none
 * is free, nothing is joined: branches share the GPU's connections, and one that does not end may keep what comes behind it there.
 */
#ifndef GSB_DEVICE_CUDA_CHAIN_H
#define GSB_DEVICE_CUDA_CHAIN_H

#include <pthread.h>

#include "device/cuda/driver.h"
#include "device/cuda/helper.h"
#include "device/ops.h"

#define CUDA_CHAIN_MAX		32 /* launches */
#define CUDA_CHAIN_PARAMS_BYTES 8192
#define CUDA_CHAIN_LENGTHS	6  /* 1, 2, 4, 8, 16 and 32 */
#define CUDA_CHAIN_GRAPHS	64 /* of each length, with a mark; and as many without */
#define CUDA_FORKS		4
#define CUDA_BESIDE_MAX		8  /* branches */
#define CUDA_BESIDE_GRAPHS	16 /* of a fork, of each number of branches */
#define CUDA_N_CHAIN_MARKS	(CUDA_CHAIN_LENGTHS * CUDA_CHAIN_GRAPHS)
#define CUDA_N_MARKS		(CUDA_N_CHAIN_MARKS + CUDA_FORKS * CUDA_BESIDE_MAX)
#define CUDA_NO_MARK		CUDA_N_MARKS

struct cuda_device;
struct cuda_graph;
struct cuda_stream;

/* That command of that queue: when the engine has noticed that it has ended. */
struct cuda_end {
	unsigned queue;
	uint32_t number;
};

/* Launches that wait for those that follow them at once: of one stream. */
struct cuda_chain {
	unsigned n;
	uint32_t params_bytes;
	CUstream stream;
	CUevent start;	     /* to be recorded before the first; NULL: none */
	struct cuda_end end; /* all of them have ended then */
	struct gsb_cmd_launch launches[CUDA_CHAIN_MAX];
	CUresult *refused[CUDA_CHAIN_MAX]; /* gets what the driver says of that launch after all */
	_Alignas(16) uint8_t params[CUDA_CHAIN_PARAMS_BYTES];
};

struct cuda_fork {
	struct cuda_stream *stream;
	struct cuda_graph *graphs[CUDA_BESIDE_MAX][CUDA_BESIDE_GRAPHS];
	struct cuda_end ends[CUDA_BESIDE_MAX]; /* of the branches that it had last */
	unsigned n;			       /* of them */
	uint64_t sent_ns;
};

struct cuda_graphs {
	struct cuda_graph *plain[CUDA_CHAIN_LENGTHS][CUDA_CHAIN_GRAPHS];
	struct cuda_graph *marked[CUDA_CHAIN_LENGTHS][CUDA_CHAIN_GRAPHS];
	struct cuda_fork forks[CUDA_FORKS];
	unsigned n_forks;	/* that there are; 0: nothing is joined */
	CUlibrary mark_library; /* NULL: there is none */
	struct cuda_job unload_mark;
	CUfunction mark;
	pthread_mutex_t lock; /* held while the kernels of a graph are named to the driver */
	unsigned n_unloaded;  /* images, since then graphs of before are no good; under lock */
	uint64_t n_sent;
};

/* Make the forks, where more than one process may have work. Where that is refused there are none, and nothing is joined. */
void cuda_chain_init(struct cuda_device *dev);
/* Nothing is under way. First this, while the helpers are there. */
void cuda_chain_unload(struct cuda_device *dev);
void cuda_chain_finish(struct cuda_device *dev);

/* @alone: none was before it, and none follows. */
bool cuda_chain_takes(const struct gsb_cmd *cmd, bool alone);

/* Whether it has room for that launch, which it takes. */
bool cuda_chain_has_room(const struct cuda_chain *c, const struct gsb_cmd_launch *l);
/* Its stream and end, and start with the first, are the caller's to set. */
void cuda_chain_add(struct cuda_chain *c, const struct gsb_cmd_launch *l, CUresult *refused);

/*
 * cuda_chain_send() - hand them to the stream, in their order; it is empty then
 * @mark: gets which of cuda_device.marks is 1 when all of them have ended, or CUDA_NO_MARK: none will be; NULL: none is wanted
 *
 * Return: 0, -EIO: the context is lost.
 */
int cuda_chain_send(struct cuda_device *dev, unsigned *mark);

/*
 * cuda_chain_send_beside() - hand all of @c, at most CUDA_BESIDE_MAX, to a fork as one graph, in which none waits for another
 * @ends: of each
 *
 * Return: which of cuda_device.marks is 1 when the first of them has ended, and those behind it are the others'; CUDA_NO_MARK: no fork is free, or it is refused, and
 * nothing is sent.
 */
unsigned cuda_chain_send_beside(struct cuda_device *dev, struct cuda_chain *c,
				const struct cuda_end *ends);
/* Whether it is that of a branch. */
bool cuda_chain_is_beside(unsigned mark);
/* Until that number of its queue has ended, too, the mark of that branch is not cleared. */
void cuda_chain_keep_mark(struct cuda_device *dev, unsigned mark, uint32_t number);

/* Code is about to go: any thread, before the driver hears of it. None of it is being sent when this returns. */
void cuda_chain_forget(struct cuda_device *dev);

#endif
