/*
 * engine_process.h - one engine: a process that is started, spoken to, watched and ended.
 *
 * It knows no tenant: what the engine says, and that it has ended, is for engines.c.
 */
#ifndef GSB_BROKER_SUPERVISOR_ENGINE_PROCESS_H
#define GSB_BROKER_SUPERVISOR_ENGINE_PROCESS_H

#include "broker/config/config.h"
#include "broker/control.h"
#include "broker/supervisor/loop.h"
#include "broker/supervisor/mps.h"
#include "broker/supervisor/outbox.h"
#include "broker/supervisor/query.h"
#include "broker/supervisor/supervisor.h"

struct gsb_engine_process {
	struct gsb_supervisor *s;
	char spec[GSB_CONFIG_SPEC_MAX];
	uid_t uid; /* whose tenants it serves */

	enum gsb_engine_state state;
	struct gsb_device_config config;	/* that it was started with */
	pid_t pid;				/* 0: dead */
	struct gsb_loop_watch control, process; /* socketpair; pidfd */
	struct gsb_timer timer;			/* start or stop takes too long */
	struct gsb_outbox out;
	struct gsb_mps_daemon *mps;	/* READY; whose client it is; NULL: of none. Its owner's. */
	struct gsb_mps_parting parting; /* under way while its client is set */
	char failure[GSB_REASON_MAX];	/* what FAILED said */
	bool no_room; /* FAILED, because its device is full: it may not be in a moment */
	unsigned n_starts, n_deaths;

	/* Set by who owns it. */
	void (*on_message)(struct gsb_engine_process *p, const struct gsb_msg *m, size_t n);
	/* It is reaped and no longer watched; how is "exited with status 1". May free it. */
	void (*on_end)(struct gsb_engine_process *p, const char *how);
};

/* DEAD, with the two calls still to be set. */
void gsb_engine_process_init(struct gsb_engine_process *p, struct gsb_supervisor *s,
			     const char *spec, uid_t uid);

/* Start it; d is copied. Return: 0, -errno: it is still DEAD. */
int gsb_engine_process_start(struct gsb_engine_process *p, const struct gsb_device_config *d);

/* End it by force; of MPS, which would have its neighbours pay for it, it is parted first. */
void gsb_engine_process_kill(struct gsb_engine_process *p);

void gsb_engine_process_send(struct gsb_engine_process *p, const struct gsb_msg *msg,
			     const int *fds, unsigned n_fds); /* fds are consumed */

/* STOPPING; one that is told NOW is killed when it takes too long. */
void gsb_engine_process_shutdown(struct gsb_engine_process *p, enum gsb_shutdown_how how);

#endif
