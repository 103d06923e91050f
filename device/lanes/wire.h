/*
 * wire.h - what an engine and a lane say to each other, and the memory in which commands and completions go.
 *
 * A lane is a process with a device of its own, of which an engine uses the operations. Both are of one build, so what they say is
 * their structs as they lie, with handles in the place of pointers. What the thread that issues has to say goes through a ring in one
 * file in memory, commands and calls in their order: it waits for none of them. What comes of commands goes through another ring, and the
 * answers of calls that want one over a socket, in the order of the calls; a descriptor that belongs to a call goes over it before, one of an answer with it. All
 * other threads have a second socket, and wait there, so that a load keeps no launch: the lane has a thread for each. Their calls come behind
 * those that were said in the ring before.
 */
#ifndef GSB_DEVICE_LANES_WIRE_H
#define GSB_DEVICE_LANES_WIRE_H

#include <stdatomic.h>

#include "base/compiler.h"
#include "device/ops.h"
#include "gsb/wire.h"

#define LANE_RING_BYTES (256u << 10) /* a power of two; several of the largest commands */
#define LANE_N_DONE	256u	     /* likewise */
#define LANE_BYTES_MAX	(56u << 10)  /* that a call or an answer may bring */
#define LANE_N_NUMBERS	6
#define LANE_FD		3 /* of a lane that starts: its first socket */

enum lane_op {
	LANE_issue, /* no call */
#define GSB_LANE_CALL(name) LANE_##name,
#define GSB_LANE_OWN(name)  LANE_##name,
#include "device/lanes/calls.def"
#undef GSB_LANE_CALL
#undef GSB_LANE_OWN
	LANE_N_OPS
};
#define LANE_MAY_KEEP (1ull << 63) /* may_keep, beside a bit for each of those */
_Static_assert(LANE_N_OPS <= 63, "a bit each");

enum lane_msg_type { LANE_MSG_HELLO = 128, LANE_MSG_WELCOME, LANE_MSG_CALL };

/* Engine to lane, with its second socket, the memory, the lane's doorbell and the engine's. */
struct lane_hello {
	struct gsb_msg msg;
	char spec[512], flip[64], code_folder[4096]; /* "": none */
	uint32_t n_workers;
	bool real_clock, single;
	uint64_t mem_limit_bytes, code_folder_bytes, virtual_base, virtual_size;
};

struct lane_welcome {
	struct gsb_msg msg;
	int32_t err; /* why holds a line then */
	char why[640];
	uint64_t has; /* of enum lane_op, a bit each */
	struct gsb_device_info info;
};

/* A call, and its answer, which are as long as their bytes. */
struct lane_msg {
	struct gsb_msg msg;
	uint32_t op; /* enum lane_op */
	int32_t err; /* of the answer */
	uint64_t n[LANE_N_NUMBERS];
	uint32_t n_bytes;
	int32_t fd; /* an answer: goes with it, and is another number at the other end; 0: none */
	uint64_t after; /* a call: so many of the ring are to be done before it */
	uint8_t bytes[LANE_BYTES_MAX];
};
#define LANE_MSG_SIZE(n_bytes) ((uint32_t)(offsetof(struct lane_msg, bytes) + (n_bytes)))

/* A command or a call, with its parameters behind it; bytes 0: the ring goes on at its beginning. */
struct lane_cmd {
	uint32_t bytes; /* of all, a multiple of 8 */
	uint32_t op;	/* enum lane_op; LANE_issue: a command */
	uint32_t queue; /* a place */
	uint32_t space;
	uint32_t function, as; /* launches; as: 0 is none */
	uint32_t src_map,
		dst_map; /* copies: that end is so far behind the beginning of what is mapped by that number; 0: an address */
	uint32_t n_bytes;      /* calls: behind it */
	bool has_fd, is_asked; /* calls: one is in the socket; an answer is wanted */
	bool lacks_fd;	       /* one belongs to it, and is not there: it is refused */
	union {
		struct gsb_cmd cmd; /* its pointers mean nothing; the cookie is a flight */
		uint64_t n[LANE_N_NUMBERS];
	};
};
#define LANE_CMD_MAX  (sizeof(struct lane_cmd) + ((GSB_PARAMS_BYTES_MAX + 7) & ~7u))
#define LANE_ASK_MAX  (LANE_CMD_MAX - sizeof(struct lane_cmd)) /* bytes of a call in the ring */
#define LANE_N_QUEUES 256u
#define LANE_N_MAPS   1024u

struct lane_page {
	/* The engine writes, the lane reads. */
	GSB_CACHE_ALIGNED _Atomic uint64_t cmd_head; /* bytes so far */
	_Atomic uint64_t done_tail;		     /* completions taken */
	_Atomic uint64_t n_calls;     /* said so far, though the ring may not have them yet */
	_Atomic uint32_t ping;	      /* any thread: the lane's first is to say that it lives */
	_Atomic uint32_t wants_taken; /* the engine is to be woken by what is taken, too */
	/* Both. Who finds it set takes it back, and rings. */
	GSB_CACHE_ALIGNED _Atomic uint32_t lane_sleeps;
	_Atomic uint32_t engine_sleeps;
	/* The lane writes. */
	GSB_CACHE_ALIGNED _Atomic uint64_t cmd_tail, done_head;
	_Atomic uint64_t n_called; /* calls of the ring that are done, and their answers sent */
	_Atomic uint32_t pong;
	_Atomic uint32_t n_in_flight; /* commands taken and not ended, or one more */
	_Atomic uint64_t
		lively_ns; /* something will complete before a sleeper would be awake: as of then; 0: nothing will */
	_Atomic uint32_t
		lost; /* a fault has ended its device, and on a GPU perhaps that of others */
	_Atomic uint64_t used_bytes; /* of the device */
	struct gsb_completion done[LANE_N_DONE];
	GSB_CACHE_ALIGNED uint8_t cmds[LANE_RING_BYTES];
};

/* ---- commands: one producer, one consumer ---- */

/* Where a command of so many bytes may be written; NULL: there is no room now. */
void *lane_ring_reserve(struct lane_page *p, uint32_t bytes);
void lane_ring_commit(struct lane_page *p, const struct lane_cmd *cmd);
/* The oldest, copied into room of LANE_CMD_MAX, for who wrote it may go on writing. 0: none; -EPROTO: that is none. */
int lane_ring_take(struct lane_page *p, struct lane_cmd *out);

/* ---- sleeping ---- */

/* Of the words above: to be awake at once if what was to be waited for has come already, look for it behind this. */
void lane_sleep_begin(_Atomic uint32_t *word);
/* What the sleeper waits for is there: whether its doorbell has to be rung. */
bool lane_sleep_end(_Atomic uint32_t *word);

#endif
