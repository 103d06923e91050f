/*
 * serve.h - what a lane does: one device, for one program, at the word of an engine.
 *
 *   serve.c   the threads: commands, completions, sleep
 *   answer.c  the calls, each an operation of the device
 *   table.c   handles
 */
#ifndef GSB_DEVICE_LANES_SERVE_H
#define GSB_DEVICE_LANES_SERVE_H

#include "device/done.h"
#include "device/lanes/table.h"
#include "device/lanes/wire.h"

struct lane_server {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	struct lane_page *page;
	struct lane_table table;
	int socket, second; /* of who issues; of all others */
	int doorbell, engine_doorbell, device_event;
	/* What the second thread waits for. */
	pthread_mutex_t lock;
	pthread_cond_t called;
	bool left;		 /* under lock: none of it will come any more */
	_Atomic bool wants_used; /* what is used of the device is to be told anew */
	uint64_t n_called;
	bool has_news; /* for the engine, if that sleeps: a call is done */
	unsigned n_in_flight, n_spaces;
	struct lane_place {
		struct gsb_queue *queue;
		int err; /* why there is none */
	} queues[LANE_N_QUEUES];
	struct lane_mapped {
		uint8_t *at; /* NULL: nothing */
		uint64_t size;
	} maps[LANE_N_MAPS];
	bool ended;		 /* the engine, or what it says */
	struct gsb_done refused; /* commands that the device did not take */
	uint64_t busy_ns;	 /* when there was something to do last */
	bool asks_again;	 /* the device answers the call in cmd later */
	int call_fd;		 /* that came with it, or -1 */
	struct lane_cmd *cmd;	 /* room for the largest */
	struct lane_msg *msg;
};

/* Serve the engine behind the socket until it has gone. Return: 0: in good order, -errno. */
int lane_serve(int socket);

/* A call: what comes back stands in it. @fd: that came with it, or -1; who keeps it duplicates it. */
void lane_answer(struct lane_server *s, struct lane_msg *m, int fd);
/* Which calls the device has an operation for, a bit each. */
uint64_t lane_has(const struct gsb_device_ops *ops);
/* A command that was taken; as issue of ops.h. */
int lane_issue(struct lane_server *s, struct lane_cmd *c);

#endif
