/*
 * engine_kit.h - an engine with a device whose completions the test decides, and tenants that live
 * in the test's own process: real region, real ring, real socket, no second process.
 *
 * The device has real memory behind its addresses, so that copies and fills can be checked, and one
 * kernel, "inc": it adds 1 to each of n words at p (struct kit_inc). By itself it completes nothing:
 * kit_complete() says what ends, when and how; kit_device_auto() makes it complete at once.
 * The engine's turns are taken by the test's thread, so an order seen once is seen always.
 */
#ifndef GSB_TESTS_ENGINE_KIT_H
#define GSB_TESTS_ENGINE_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/engine.h"
#include "shm/ring.h"

#define KIT_LOG_MAX 65536

struct kit_inc {
	uint64_t p;
	uint32_t n, zero;
};

/* One command that was issued, in the order of issue. */
struct kit_cmd {
	enum gsb_cmd_kind kind;
	struct gsb_space *space;
	struct gsb_queue *queue;
	uint64_t cookie, not_before_ns;
	uint64_t addr; /* COPY, FILL: destination; LAUNCH: p */
	bool done;
};

struct kit_device {
	struct gsb_device base;
	struct gsb_device_info info;
	struct gsb_device_ops ops;
	struct kit_cmd log[KIT_LOG_MAX];
	unsigned n_issued, n_open, n_queues;
	struct gsb_completion done[GSB_N_QUEUES * 2];
	unsigned n_done;
	bool automatic;
	uint64_t now_ns;
	int event_fd, prepare_err, issue_err;
	unsigned n_spaces, n_modules, n_cancels, n_advances;
	uint64_t used_bytes, advanced_to_ns;
};

struct kit_device *kit_device_create(bool virtual_clock);
void kit_device_destroy(struct kit_device *d);
static inline void kit_device_auto(struct kit_device *d)
{
	d->automatic = true;
}

/* Begin the log anew; nothing is open. */
void kit_device_forget(struct kit_device *d);

/* The i-th issued command ends now, at device time end_ns. */
void kit_complete(struct kit_device *d, unsigned i, CUresult result, uint64_t end_ns);

struct kit_engine {
	struct kit_device *dev;
	struct gsb_engine *engine;
	uint32_t next_id;
};

void kit_engine_init(struct kit_engine *k, bool virtual_clock);
void kit_engine_finish(struct kit_engine *k); /* asserts that nothing is left on the device */
void kit_settle(struct kit_engine *k);	      /* turns until there is nothing to do */

/* One tenant. Handles: gsb_handle_make(kind, index, 1). */
struct kit_tenant {
	struct kit_engine *kit;
	struct gsb_tenant *t; /* the engine's; gone when it was reaped */
	uint32_t id;
	int doorbell;
	int socket, pidfd_write; /* the tenant's end; close pidfd_write and it has died */
	struct gsb_region *region;
	uint8_t *staging;
	struct gsb_msg_welcome welcome;
	struct gsb_ring_producer producer;
	uint32_t slot;
	uint64_t n_calls;
	uint64_t n_posted[GSB_N_STREAMS]; /* stream records, by stream index */
	uint64_t n_records[256];	  /* event records, by event index */
};

/* limits NULL: the defaults. The context (index 0, legacy stream 0) is made already. */
void kit_tenant_init(struct kit_tenant *kt, struct kit_engine *k,
		     const struct gsb_tenant_limits *limits);
/* Without a context. Returns what gsb_tenant_admit returned. */
int kit_tenant_admit(struct kit_tenant *kt, struct kit_engine *k,
		     const struct gsb_tenant_limits *limits, char *why, size_t why_size);
void kit_tenant_die(struct kit_tenant *kt);    /* as a process dies: the pidfd becomes readable */
void kit_tenant_finish(struct kit_tenant *kt); /* die, have it reaped, free this side */
bool kit_tenant_is_gone(const struct kit_tenant *kt);

/* As gsb_handle_make() makes them, but constant expressions, for tables. */
#define KIT_HANDLE(kind, i, gen)                                                            \
	((uint64_t)GSB_HANDLE_MARK << 56 | (uint64_t)(kind) << 48 | (uint64_t)(gen) << 24 | \
	 (uint64_t)(i))
#define kit_ctx(i)    KIT_HANDLE(GSB_HANDLE_CTX, i, 1)
#define kit_stream(i) KIT_HANDLE(GSB_HANDLE_STREAM, i, 1)
#define kit_event(i)  KIT_HANDLE(GSB_HANDLE_EVENT, i, 1)
#define kit_module(i) KIT_HANDLE(GSB_HANDLE_MODULE, i, 1)
#define kit_fn(i)     KIT_HANDLE(GSB_HANDLE_FUNCTION, i, 1)

/* Put a record into the ring as it is; the engine does not see it before its next turn. */
void kit_post(struct kit_tenant *kt, enum gsb_rec_type type, uint64_t stream, const void *body,
	      uint32_t body_bytes, const void *tail, uint32_t tail_bytes);
/* The same as a call; returns its number. Answered when kit_answered(). */
uint64_t kit_post_call(struct kit_tenant *kt, enum gsb_rec_type type, const void *body,
		       uint32_t body_bytes, const void *tail, uint32_t tail_bytes);
bool kit_answered(const struct kit_tenant *kt, uint64_t call);
/* Post and take turns until it is answered; the reply's bytes are in kit_reply(). */
CUresult kit_call(struct kit_tenant *kt, enum gsb_rec_type type, const void *body,
		  uint32_t body_bytes, const void *tail, uint32_t tail_bytes);
const void *kit_reply(const struct kit_tenant *kt);

/* ---- what tests mostly do ---- */
void kit_stream_create(struct kit_tenant *kt, uint32_t index, uint32_t flags);
void kit_event_create(struct kit_tenant *kt, uint32_t index);
void kit_fill(struct kit_tenant *kt, uint32_t stream, uint64_t addr); /* one word := 7 */
void kit_record(struct kit_tenant *kt, uint32_t stream, uint32_t event);
void kit_wait(struct kit_tenant *kt, uint32_t stream, uint32_t event);
void kit_nop(struct kit_tenant *kt, uint32_t stream);
void kit_host_func(struct kit_tenant *kt, uint32_t stream, uint64_t cookie);
uint64_t kit_alloc(struct kit_tenant *kt, uint64_t size);
/* Load a module (index) and get "inc" of it as function index. */
void kit_load_inc(struct kit_tenant *kt, uint32_t module, uint32_t fn);
void kit_launch_inc(struct kit_tenant *kt, uint32_t stream, uint32_t fn, uint64_t p, uint32_t n);
uint64_t kit_done(const struct kit_tenant *kt, uint32_t stream); /* the stream's done word */
uint32_t kit_error(const struct kit_tenant *kt, uint32_t ctx);	 /* the context's error word */

#endif
