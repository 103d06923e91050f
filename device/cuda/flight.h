/*
 * flight.h - commands that are under way, and the queues that they are in; what tells of their end (queue.c).
 */
#ifndef GSB_DEVICE_CUDA_FLIGHT_H
#define GSB_DEVICE_CUDA_FLIGHT_H

#include "device/cuda/device.h"
#include "device/cuda/pace.h"
#include "device/cuda/send.h"

struct cuda_flight {
	struct cuda_flight *next;
	struct gsb_queue *queue;
	uint64_t cookie, n_blocks, issued_ns;
	uint64_t sent_ns; /* when the driver was called for it */
	uint64_t call_ns; /* so long after that it had returned; 0: that was soon */
	uint32_t number;
	bool opens, more; /* the first of those that end together; not the last of them */
	unsigned
		mark; /* of the first: of cuda_device.marks, when all have ended; CUDA_NO_MARK: the word */
	uint32_t until; /* of the first, where that has a mark: the number of the last */
	bool timed;
	CUresult result; /* what the driver said of it after it had been taken */
	CUevent start, end;
	struct cuda_landing landing;
	struct cuda_outlook outlook;
	struct gsb_space *space;
	struct cuda_print *print; /* NULL: it prints nothing into that */
	bool uses_fifo;		  /* it may print into the driver's */
	bool asserts;		  /* an assertion in it may fail */
	bool waits;		  /* for its company, and is not sent yet */
};

struct gsb_queue {
	struct cuda_device *dev;
	struct gsb_queue *prev, *next; /* of dev->busy, while something is in flight */
	struct cuda_stream *kept;      /* of a part; what it stands for: */
	CUstream stream;
	bool chains;	/* a graph of the driver would run as its commands do */
	unsigned index; /* of its word */
	uint32_t number;
	uint32_t written;  /* the last that its word gets */
	uint32_t seen;	   /* up to this they have ended, when that was looked at last */
	uint64_t n_zeroed; /* of dev->n_zeroed, that it waits for or has waited for */
	uint64_t last_end_ns;
	struct cuda_flight *flights, *last; /* oldest first */
	struct cuda_flight *first;	    /* of those that end together, of what was sent last */
	uint64_t share_ns;		    /* of those that end together, each has */
};

#define CUDA_NUMBER_AGE (1u << 24) /* a word that is further behind looks ahead one day */

/* Those from the first to the last end together, and that mark tells of it; CUDA_NO_MARK: the number of the last. */
void cuda_ends_with(struct cuda_flight *first, const struct cuda_flight *last, unsigned mark);
/* Nothing is under way in its queue, it has its number, and nothing is to follow. 0, -EIO: the context is lost. */
int cuda_send_alone(struct cuda_flight *f, const struct gsb_cmd_launch *l);
/* Into the chain of its queue, which is sent first if it has no room. 0, -EIO. */
int cuda_send_in_chain(struct gsb_queue *q, const struct gsb_cmd_launch *l, struct cuda_flight *f);
/* The first and the last of those that end together: what tells of it, behind them. 0, -EIO. */
int cuda_mark_end(struct cuda_flight *first, const struct cuda_flight *last);
/* Whether a graph's mark will do: an event behind it would come too late, and the word must not fall behind. */
bool cuda_may_be_marked(const struct gsb_queue *q, const struct cuda_flight *f);

#endif
