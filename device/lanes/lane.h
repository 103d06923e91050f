/*
 * lane.h - lanes as the engine sees them.
 *
 *   lanes.c   the operations of ops.h, each by a call or a command of the lane that its space is in
 *   work.c    commands and completions
 *   memory.c  what a lane has to map: staging, windows, and rooms for what is the engine's alone
 *   lane.c    calls, and what has no room in the ring
 *   pool.c    processes: a thread starts, watches and ends them
 *   notice.c  what a lane and that thread are told
 *   part.c    MPS is told before a lane is killed
 *
 * Lanes in use are the engine thread's, which waits for none of them: a call that wants an answer is asked again until that has come, and
 * what has no room in the ring is kept until it has. Who else loads code has a socket of the lane to himself, one at a time, and waits. A
 * lane that does not take what it is sent for too long is ended by the pool's thread, be it that nobody waits for it. One that has died
 * has no secrets: its commands complete with an error, calls fail with -EOWNERDEAD, and what is given back is gone with it.
 */
#ifndef GSB_DEVICE_LANES_LANE_H
#define GSB_DEVICE_LANES_LANE_H

#include <limits.h>
#include <pthread.h>

#include "device/done.h"
#include "device/lanes/wire.h"

struct lanes_device;

/* Memory that an engine shares with many copies: a tenant's staging. */
struct lane_shared {
	struct lane_shared *next;
	uint64_t addr, size;
	int fd;
};

/* A file that is mapped in the lane, and in the engine at addr. */
struct lane_map {
	struct lane_map *next;
	uint64_t addr, size;
	uint32_t number;	      /* by which the lane knows it */
	int fd;			      /* of a room, else -1 */
	const struct lane_shared *of; /* NULL: a room of the lane's own */
};

struct lane_window {
	struct lane_window *next;
	uint64_t base, size;
};

/* A command that the lane has. The token by which it is known is its place. */
struct lane_flight {
	uint64_t cookie, sent_ns;
	uint64_t number;   /* of all that its lane was sent */
	uint64_t n_blocks; /* of a launch */
	uint32_t queue;
	struct lane_map *from, *to; /* rooms that stand in for memory of the engine's own */
	struct gsb_cmd_copy copy;   /* as it was asked for, if to is there */
	bool in_use;
	uint32_t next_free;
};

/* Was refused before what is ahead of it in its queue has ended; its cookie is the flight's place. */
struct lane_held {
	struct lane_held *next;
	struct gsb_completion c;
};

/* What did not go into the ring yet. */
struct lane_unsent {
	struct lane_unsent *next;
	int fd;			    /* that goes with it; -1: none */
	struct gsb_host_file *host; /* whose the descriptor is; NULL: its own */
	struct lane_cmd cmd;	    /* and what is behind it */
};

/* A call of the engine's thread: its answer stays here until it is asked for. */
struct lane_request {
	struct lane_request *prev, *next;
	uint64_t number;	    /* of all its lane's calls */
	const struct gsb_space *of; /* NULL: no space's alone */
	uint32_t op, in_bytes;
	bool answered, dropped; /* dropped: nobody asks any more */
	bool is_last;		/* whatever it is, it is the answer */
	uint64_t refused_ns;	/* since then it waits for what others give back; 0: it does not */
	int err, fd;		/* of the answer; 0: no descriptor */
	uint64_t asked[LANE_N_NUMBERS], n[LANE_N_NUMBERS];
	void *in;
	void *out; /* NULL: none yet */
	uint32_t out_bytes;
};

enum lane_state {
	LANE_STARTING,
	LANE_IDLE,
	LANE_USED,
	LANE_ENDING,   /* told to end; killed if it does not */
	LANE_CONDEMNED /* to be killed */
};

struct lane_slot {
	pthread_mutex_t lock;
	int fd;
	struct lane_msg msg;
};

struct lane {
	struct lanes_device *dev;

	/* the pool's, under its lock */
	struct lane *pool_next;
	enum lane_state state;
	bool reaped, released;
	bool is_used, runs; /* somebody's; with commands, when it was condemned */
	pid_t pid;
	int pidfd;
	uint64_t deadline_ns; /* STARTING, ENDING */
	/* What it had done when it was seen to do something last, and when that was. */
	uint64_t seen_tail, seen_called, alive_ns;
	uint32_t seen_pong;

	struct lane_slot slots[2]; /* of who issues; of all others */
	int doorbell;
	struct lane_page *page;
	_Atomic bool dead;
	_Atomic uint32_t n_waiting; /* threads, for answers of the second */

	/* the engine thread's */
	struct lane *next;
	uint64_t owner; /* 0: one space's alone */
	unsigned n_users;
	bool is_kept;		       /* one of them is nobody yet: a backing is asked for */
	uint64_t n_calls;	       /* said so far */
	uint64_t woken_ns;	       /* the last that it was sent when it had nothing left */
	struct lane_request *requests; /* in the order of the calls */
	struct lane_unsent *unsent, **unsent_end;
	struct gsb_host_file *host_files; /* of these */
	struct lane_flight *flights;
	uint32_t n_flights, free_flight, n_open; /* free_flight: 0 none, else a place + 1 */
	uint64_t n_sent;
	struct lane_held *held;
	struct lane_map *maps, *rooms; /* rooms: those that are free */
	struct lane_window *windows;
	uint64_t numbers[LANE_N_MAPS / 64]; /* of maps, that are in use */
	unsigned n_lent;		    /* descriptors of its memory, for others */
	bool told_full;			    /* that it can have no more of them */
	bool queues[LANE_N_QUEUES];	    /* opened there */
	uint64_t done_tail;
	bool armed; /* it is to ring when something completes */
};

struct lane_pool {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	struct lane *all;
	unsigned n_spare;
	bool asked, stop;
	int wake; /* of the thread */
	int err;  /* of the last start; 0: it worked */
	uint64_t busy_since_ns,
		again_ns; /* starts are tried again since then; the next not before. 0: none is */
	char why[640];
	uint64_t has; /* of all lanes, from when the first was ready */
	struct gsb_device_info info;
	_Atomic uint32_t n_kicks; /* the engine's doorbell, rung by the thread */
	_Atomic bool watches;	  /* it looks whether lanes do what they are told */
};

struct lane_birth;

struct lanes_device {
	struct gsb_device base;
	struct gsb_device_ops ops;
	const struct gsb_device_ops
		*inner; /* of the device in the lanes: what needs none that is open */
	struct lane_pool pool;
	struct lane_hello hello; /* what each is told */
	uint32_t answer_ms;	 /* as in struct gsb_device_params */
	char program[PATH_MAX];
	pthread_t issuer;
	struct lane *lanes;	   /* in use */
	struct lane_birth *births; /* spaces that are asked for */
	struct lane_shared *shared;
	struct gsb_queue *queues[LANE_N_QUEUES];
	struct gsb_done done; /* of the dead */
	int event_fd;
	uint64_t n_rings;    /* of event_fd, not read yet */
	uint64_t n_backings; /* so far */
	uint32_t n_kicks_seen;
	pthread_mutex_t code_lock; /* lists of modules and functions */
	pthread_mutex_t list_lock; /* lanes, for others than the engine thread */
};

/* ---- pool.c ---- */

int lane_pool_start(struct lanes_device *dev, unsigned n_spare, char *err, size_t err_size);
void lane_pool_stop(struct lanes_device *dev); /* no lane is in use */
/* -EINPROGRESS: none is ready, event_fd tells. Else -errno: none could be started; the log says why. */
int lane_pool_take(struct lanes_device *dev, struct lane **out);
/* Nobody uses it any more, and the pool frees it. */
void lane_pool_release(struct lane *l);

/* ---- notice.c ---- */

/* It may sleep. */
void lane_ring(struct lane *l);
void lane_pool_wake(struct lane_pool *p);
/* From now on, until none of them has anything to do, its thread looks whether they do it. Any thread. */
void lane_pool_watch(struct lanes_device *dev);
/* Whether some that nobody uses any more are still there, with what they had of the device. */
bool lane_pool_is_ending(struct lanes_device *dev);
/* Those that nobody uses yet make room for new ones: MPS tells a fault of one to all that it knows. */
void lane_pool_renew(struct lanes_device *dev);
/* It is killed, whatever it does; its user stays. */
void lane_condemn(struct lane *l);

/* ---- part.c ---- */

/* Where the lanes are clients of MPS: have it part with one, which may take a while. Else nothing. */
void lane_part(pid_t client);

/* ---- lane.c ---- */

struct lane_call {
	enum lane_op op;
	uint64_t n[LANE_N_NUMBERS]; /* also of the answer */
	const void *in;
	uint32_t in_bytes;
	int fd;	    /* sent along, if > 0 */
	int out_fd; /* that came with the answer, the caller's; 0: none */
	void *out;  /* bytes of the answer, at most so many; how many there were */
	uint32_t out_bytes;
};

/* Any other than the engine's thread: waits. What the operation returned, or -EOWNERDEAD. */
int lane_call(struct lane *l, struct lane_call *c);

/*
 * lane_ask() - have an answer, without waiting
 * @of: whose; NULL: no space's alone. lane_forget() of it drops what was asked and not taken
 * @c:  asked again, the same as it was, until there is an answer
 *
 * Context: the engine's thread, as for all below.
 * Return: -EINPROGRESS: not yet; event_fd tells when to ask again. What the operation returned, -EOWNERDEAD, -ENOMEM: nothing was asked.
 */
int lane_ask(struct lane *l, const struct gsb_space *of, struct lane_call *c);
/* The same of memory: -ENOMEM is no answer as long as something that was given back before is on its way. */
int lane_ask_for_memory(struct lane *l, const struct gsb_space *of, struct lane_call *c);
/* Have something done, and never hear of it. -EOWNERDEAD, -ENOMEM: it is not. */
int lane_tell(struct lane *l, const struct lane_call *c);
/* Send a command. -ENOMEM. */
int lane_send_command(struct lane *l, const struct lane_cmd *c, const void *params, uint32_t n);
void lane_forget(struct lane *l, const struct gsb_space *of);
/* What had no room has it now: true, some of it. */
bool lane_send_kept(struct lane *l);
/* Take what has been answered, and send what had no room. True: any of that. */
bool lane_hear(struct lane *l);
/* Calls of it are not done; it rings when some are. */
bool lane_is_behind(struct lane *l);
/* It is to ring: it has something to do that the engine wants to know of. */
bool lane_is_awaited(const struct lane *l);

/* Of one that has ended: all that is asked of it, and what had no room. */
void lane_drop_calls(struct lane *l);

/* ---- memory.c ---- */

/* A room of the lane's of at least so many bytes: memory on both sides. NULL: there is none. */
struct lane_map *lane_room_take(struct lane *l, uint64_t size);
void lane_room_give(struct lane *l, struct lane_map *room);
/* What memory that the engine shares is there: NULL, it shares none that holds all of it. */
const struct lane_map *lane_find_shared(struct lane *l, uint64_t addr, uint64_t size);
int lane_window_map(struct lane *l, int fd, uint64_t base, uint64_t size);
void lane_share(struct lanes_device *dev, uint64_t addr, uint64_t size, int fd);
void lane_unshare(struct lanes_device *dev, uint64_t addr);
void lane_memory_finish(struct lane *l);

/* ---- work.c ---- */

struct gsb_space {
	struct lanes_device *dev;
	struct lane *lane;
	uint64_t handle; /* 0: it is not made there yet */
	struct gsb_module *modules;
};

struct gsb_module {
	struct gsb_space *space;
	struct gsb_module *prev, *next;
	struct gsb_function *functions;
	uint64_t handle;
	uint64_t bytes, cost, managed, heap; /* as the lane told */
	char **names;			     /* of its kernels, so far */
	unsigned n_names;
};

struct gsb_function {
	struct gsb_function *next;
	struct gsb_module *module;
	uint64_t handle;
};

struct gsb_queue {
	struct lanes_device *dev;
	uint32_t index;
	int priority;
	struct gsb_sm_range sms;
};

int lanes_queue_create(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
		       struct gsb_queue **out);
void lanes_queue_destroy(struct gsb_queue *queue);
int lanes_issue(struct gsb_queue *queue, const struct gsb_cmd *cmd);
unsigned lanes_poll(struct gsb_device *dev, struct gsb_completion *out, unsigned max);
void lane_forget_held(struct lane *l);
bool lanes_stay_awake(struct gsb_device *dev);
int lanes_event_fd(struct gsb_device *dev);

/* No space is in a lane any more: it ends. */
void lanes_drop(struct lane *l);

static inline struct lanes_device *to_lanes(struct gsb_device *dev)
{
	return gsb_container_of(dev, struct lanes_device, base);
}

#endif
