/*
 * control.h - gsbrokerd's end of an engine: the messages of control.h, served.
 */
#ifndef GSB_BROKER_ENGINE_CONTROL_H
#define GSB_BROKER_ENGINE_CONTROL_H

#include <stdbool.h>

#include "broker/engine/engine.h"
#include "broker/engine/tracing.h"

struct gsb_kept_message;
struct gsb_waiting_admit;

struct gsb_control {
	struct gsb_watch watch;
	struct gsb_engine *engine;
	bool stop; /* gsbrokerd said so, or is gone */
	/* For the place of a tenant that is leaving, or for gsbrokerd to hear of them; oldest first. */
	struct gsb_waiting_admit *waiting;
	/* What the socket has had no room for: gsbrokerd must hear of who left, and of all memory. */
	struct gsb_kept_message *kept; /* oldest first */
	bool finished;		       /* nothing more is kept */
	struct gsb_tracing tracing;
	bool must_return, must_ask;
	bool is_recalled;
	uint64_t return_bytes, ask_bytes;
};

/* Report READY and serve from now on. -errno: gsbrokerd cannot be reached. */
int gsb_control_init(struct gsb_control *c, struct gsb_engine *e, int fd);
/* The engine ends: whoever waits is refused. */
void gsb_control_finish(struct gsb_control *c);

/* The device cannot be opened: say why. */
void gsb_control_failed(int fd, int err, const char *reason);

/* A kernel does not end, and this process is a client of MPS. It returns when gsbrokerd is gone; else that ends us. Any thread. */
void gsb_control_stuck(int fd);

#endif
