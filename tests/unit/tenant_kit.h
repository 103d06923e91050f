/*
 * tenant_kit.h - a tenant that makes its records by hand, for tests of the engine: what it posts is right,
 * and the test may then spoil it. The engine is one in the test's own process (engine_kit.h) or a real one
 * behind a real gsbrokerd (tests/integ/rogue.c); settle is what differs.
 */
#ifndef GSB_TESTS_TENANT_KIT_H
#define GSB_TESTS_TENANT_KIT_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/cuabi.h"
#include "shm/ring.h"

struct kit_engine;
struct gsb_tenant;

/* Of a welcome with host window: region, staging, host window, doorbell, pidfd of the engine. */
#define KIT_N_FDS 5

/* Parameters of the kernel "inc": it adds 1 to each of n words at p. */
struct kit_inc {
	uint64_t p;
	uint32_t n, zero;
};

/* One tenant. Handles: gsb_handle_make(kind, index, 1). */
struct kit_tenant {
	void (*settle)(struct kit_tenant *kt); /* returns when the engine has nothing to do */
	struct kit_engine *kit;		       /* in the test's own process, else NULL */
	struct gsb_tenant *t;		       /* likewise; gone when it was reaped */
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

/* Take the welcome from kt->socket, and in with it: the descriptors are the caller's, the doorbell is kept too. */
void kit_tenant_attach(struct kit_tenant *kt, int fds[KIT_N_FDS]);

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
CUresult kit_status_of(const struct kit_tenant *kt, uint64_t call); /* it must be answered */
/* Post and let the engine work until it is answered; the reply's bytes are in kit_reply(). */
CUresult kit_call(struct kit_tenant *kt, enum gsb_rec_type type, const void *body,
		  uint32_t body_bytes, const void *tail, uint32_t tail_bytes);
const void *kit_reply(const struct kit_tenant *kt);

/* The tenant's only thread waits, as gsb_thread_wait would have it wait. */
void kit_block(struct kit_tenant *kt, enum gsb_wait_kind kind, uint32_t index, uint64_t value);

/* ---- what tests mostly do ---- */
void kit_stream_create(struct kit_tenant *kt, uint32_t index, uint32_t flags);
void kit_event_create(struct kit_tenant *kt, uint32_t index);
void kit_fill(struct kit_tenant *kt, uint32_t stream, uint64_t addr); /* one word := 7 */
void kit_record(struct kit_tenant *kt, uint32_t stream, uint32_t event);
void kit_wait(struct kit_tenant *kt, uint32_t stream, uint32_t event);
void kit_nop(struct kit_tenant *kt, uint32_t stream);
void kit_host_func(struct kit_tenant *kt, uint32_t stream, uint64_t cookie);
/* Say that it has run; false when the engine has closed the socket. */
bool kit_host_func_done(struct kit_tenant *kt, uint64_t cookie);
uint64_t kit_alloc(struct kit_tenant *kt, uint64_t size);
/* The same; it may wait, or be refused. Returns the call's number. */
uint64_t kit_post_alloc(struct kit_tenant *kt, uint64_t size);
/* Load the image as module (index) and get its kernel "inc" as function (index). */
CUresult kit_load(struct kit_tenant *kt, uint32_t module, uint32_t fn, const char *image,
		  uint64_t bytes);
void kit_launch_inc(struct kit_tenant *kt, uint32_t stream, uint32_t fn, uint64_t p, uint32_t n);
uint64_t kit_done(const struct kit_tenant *kt, uint32_t stream); /* the stream's done word */
uint32_t kit_error(const struct kit_tenant *kt, uint32_t ctx);	 /* the context's error word */

#endif
