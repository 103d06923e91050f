/*
 * mps.h - the daemons of NVIDIA's MPS that engines are clients of, with isolation = mps.
 *
 * There is one for each device and user: a fault of one client may be told to all of a daemon's, so two users never share one. It
 * is started for the first engine, in a folder of its own beside gsbrokerd's socket, and ended when no engine has needed it
 * for idle_timeout_ms. One that dies is started again for the next engine.
 *
 *   DEAD ---> (CLEARING) ---> STARTING ---> READY ---> STOPPING ---> (gone)
 *    ^         an earlier        |            |
 *    |         one is quit       |            |
 *    +---------------------------+------------+ ended by itself
 */
#ifndef GSB_BROKER_SUPERVISOR_MPS_H
#define GSB_BROKER_SUPERVISOR_MPS_H

#include "broker/supervisor/mps_folder.h"
#include "broker/supervisor/supervisor.h"

struct gsb_mps_command;

enum gsb_mps_state {
	GSB_MPS_DEAD,
	GSB_MPS_CLEARING,
	GSB_MPS_STARTING,
	GSB_MPS_READY,
	GSB_MPS_STOPPING
};

struct gsb_mps_daemon {
	struct gsb_mps_daemons *all;
	struct gsb_mps_daemon *prev, *next;
	char spec[GSB_CONFIG_SPEC_MAX];
	uid_t uid; /* whose tenants its clients serve */

	char folder[GSB_MPS_FOLDER_SIZE];
	char pipe_env[GSB_MPS_FOLDER_SIZE + 32], log_env[GSB_MPS_FOLDER_SIZE + 32];
	const char *env[3]; /* what makes a process its client */

	enum gsb_mps_state state;
	pid_t pid;
	struct gsb_loop_watch process;
	struct gsb_timer
		timer;	   /* STARTING: to ask again; READY: unused for long; STOPPING: too slow */
	uint64_t begun_ns; /* STARTING */
	struct gsb_mps_command *command; /* that it is told while it starts or stops */
	unsigned n_users;
};

struct gsb_mps_daemons {
	struct gsb_supervisor *s;
	struct gsb_mps_daemon *list;

	/* Set by who owns it. Engines that wait for d can be started; or never will be. */
	void (*on_ready)(struct gsb_mps_daemons *m, struct gsb_mps_daemon *d);
	void (*on_failed)(struct gsb_mps_daemons *m, struct gsb_mps_daemon *d, const char *why);
	void (*on_empty)(struct gsb_mps_daemons *m); /* the last one is gone */
};

/*
 * gsb_mps_want() - be a user of the daemon of a device and a user, until gsb_mps_release()
 * It is started if need be: on_ready() or on_failed() follow, unless it is READY already.
 * Return: 0, -errno with @why, a sentence with a remedy.
 */
int gsb_mps_want(struct gsb_mps_daemons *m, const char *spec, uid_t uid,
		 struct gsb_mps_daemon **out, char why[GSB_REASON_MAX]);
void gsb_mps_release(struct gsb_mps_daemon *d);

/* Have all end that nobody uses; on_empty() follows, unless there is none: then true. */
bool gsb_mps_daemons_stop(struct gsb_mps_daemons *m);

/* A client that is to be parted from the GPU before it is killed. Zeroed: none is. */
struct gsb_mps_parting {
	struct gsb_mps_daemon *d;
	pid_t client;
	void (*on_done)(
		struct gsb_mps_parting *p); /* now it can be killed; also when that failed */
	struct gsb_mps_command *command;
};

/* Have it parted; on_done may be called at once. */
void gsb_mps_part(struct gsb_mps_parting *p);
/* It has ended: on_done is not called any more. Takes a zeroed one. */
void gsb_mps_part_cancel(struct gsb_mps_parting *p);

#endif
