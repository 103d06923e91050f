/*
 * supervisor.h - what the files of gsbrokerd share.
 *
 *   gsbrokerd.c  arguments, configuration, signals, start and end
 *   listen.c     the socket: its lock, owner and mode; giving up root; telling who waits for READY
 *   client.c     a connection until it is handed to an engine, answered or dropped
 *   admission.c  who may come in: pure
 *   engines.c    starting, watching and stopping engines; tenants on their way to them
 *   spawn.c      an engine as a process: arguments, environment, descriptors
 *   survey.c     answers to gsbctl
 *
 * One thread, one loop (loop.h). Nothing here waits: not for a client, not for an engine.
 */
#ifndef GSB_BROKER_SUPERVISOR_SUPERVISOR_H
#define GSB_BROKER_SUPERVISOR_SUPERVISOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/config/config.h"
#include "broker/control.h"
#include "broker/supervisor/loop.h"
#include "broker/supervisor/outbox.h"
#include "broker/supervisor/query.h"
#include "shm/channel.h"

#define GSB_ENGINES_MAX 256
#define GSB_REASON_MAX	256

struct gsb_supervisor;

/* ---- a connection ---- */

struct gsb_client {
	struct gsb_supervisor *s;
	struct gsb_loop_watch watch;
	struct gsb_timer timer;
	struct gsb_peer peer;
	struct gsb_client *prev, *next;
	/* gsbctl only */
	bool is_control;
	uint64_t survey; /* number of its STATUS; 0 = none */
	bool unanswered[GSB_ENGINES_MAX];
	unsigned n_unanswered;
	struct gsb_outbox out;
	bool ending; /* END is in out: close when it is empty */
};

/* ---- tenants and engines ---- */

/* One admitted process, from admission until its engine says that nothing of it is left. */
struct gsb_admitted {
	uint32_t id;
	uid_t uid;
	char name[GSB_TENANT_NAME_MAX];
	struct gsb_tenant_limits limits;
	struct gsb_engine_process *engine;
	bool delivered;	 /* ADMIT is on its way; before, it waits for the engine to start */
	uint64_t survey; /* last STATUS number before that: a later answer must list it */
	struct gsb_admitted *prev, *next;
};

/* An admission on its way to an engine that is not ready yet. */
struct gsb_arrival {
	struct gsb_ctl_admit admit;
	int client_fd, pid_fd; /* owned */
	struct gsb_arrival *prev, *next;
};

struct gsb_engine_process {
	struct gsb_supervisor *s;
	unsigned index; /* in s->engines */
	/* The key. */
	char spec[GSB_CONFIG_SPEC_MAX];
	uid_t uid;
	pid_t only_pid; /* isolation = process: its only tenant; else 0 */

	enum gsb_engine_state state;
	struct gsb_device_config config; /* that it was started with */
	pid_t pid;
	struct gsb_loop_watch control, process; /* socketpair; pidfd */
	struct gsb_timer timer;			/* start or stop takes too long */
	struct gsb_outbox out;
	struct gsb_arrival *arrivals;
	char failure[GSB_REASON_MAX]; /* what FAILED said */
	unsigned n_starts, n_deaths;
};

struct gsb_supervisor {
	struct gsb_loop loop;
	struct gsb_config *config;
	const char *config_path; /* NULL: defaults */
	char socket[108];
	char engine_path[GSB_CONFIG_PATH_MAX];
	struct gsb_loop_watch listener, signals, lifeline;
	struct gsb_timer accept_pause; /* out of descriptors */
	int lock_fd;
	char made_dir[108];    /* folder of the socket, if it was made here; else "" */
	char private_dir[108]; /* --private: removed at the end; else "" */
	uid_t uid;	       /* after giving up root */
	bool stopping;

	struct gsb_client *clients;
	unsigned n_pending;
	struct gsb_engine_process *engines[GSB_ENGINES_MAX];
	struct gsb_admitted *tenants;
	unsigned n_tenants;
	uint32_t last_tenant_id;
	uint64_t last_survey;

	uint64_t start_ns;
	uint64_t n_admitted, n_refused, n_engines_died, n_reloads;
};

/* ---- admission.c ---- */

/* Who asks, and how many there are already. */
struct gsb_admission_request {
	struct gsb_peer peer;
	const gid_t *groups; /* of the peer, beside its gid */
	unsigned n_groups;
	unsigned n_tenants, n_tenants_of_uid;
};

/* Return: 0, -EACCES, -EUSERS; then why is one sentence with the remedy. */
int gsb_admission_check(const struct gsb_admission_config *a, const struct gsb_admission_request *r,
			char why[GSB_REASON_MAX]);
/* Whether the peer may reload and shut down. */
bool gsb_admission_may_control(const struct gsb_admission_config *a,
			       const struct gsb_admission_request *r, uid_t own_uid);
/* Supplementary groups of a socket's peer; free() them. A failure must refuse: deny_gid needs them. */
int gsb_peer_groups(int fd, gid_t **groups, unsigned *n);

/* ---- listen.c ---- */

int gsb_listen_start(struct gsb_supervisor *s); /* logs what is wrong */
void gsb_listen_stop(struct gsb_supervisor *s); /* no new clients; the files are removed */
int gsb_privileges_drop(struct gsb_supervisor *s);
/* To the service manager, if $NOTIFY_SOCKET says that there is one. */
void gsb_notify(const char *text);

/* ---- client.c ---- */

void gsb_client_accept(struct gsb_loop_watch *listener, uint32_t events);
void gsb_client_destroy(struct gsb_client *c);
/* REFUSED and a log line. fd stays the caller's. */
void gsb_refuse(struct gsb_supervisor *s, int fd, pid_t pid, int error, const char *reason);

/* ---- engines.c ---- */

/*
 * gsb_engine_deliver() - hand an arrival to the engine of its key, which is started if need be
 * @arrival: consumed
 * @d:       its device, with policy and isolation
 */
void gsb_engine_deliver(struct gsb_supervisor *s, struct gsb_arrival *arrival,
			const struct gsb_device_config *d);
/* Ask all engines to stop; when none is left, the loop ends. */
void gsb_engines_stop(struct gsb_supervisor *s, enum gsb_shutdown_how how);
/* Tell engines the limits of their tenants that a reload changed. */
void gsb_engines_relimit(struct gsb_supervisor *s);
void gsb_engine_send(struct gsb_engine_process *e, const struct gsb_msg *msg, const int *fds,
		     unsigned n_fds); /* fds are consumed */
unsigned gsb_tenants_of(const struct gsb_supervisor *s, uid_t uid);
void gsb_tenant_limits(const struct gsb_tenant_config *t, struct gsb_tenant_limits *out);

/* ---- spawn.c ---- */

/* Start e's program with its configuration and fd as its control socket; e->pid is set. */
int gsb_engine_spawn(struct gsb_engine_process *e, int fd);

/* ---- survey.c ---- */

void gsb_survey_query(struct gsb_client *c, const struct gsb_query *q);
/* An engine answered, or will not answer any more (status NULL, error). */
void gsb_survey_answer(struct gsb_engine_process *e, const struct gsb_ctl_status_reply *status,
		       int error);

/* ---- gsbrokerd.c ---- */

void gsb_supervisor_stop(struct gsb_supervisor *s, enum gsb_shutdown_how how);
/* Read the configuration again. Return 0, or -errno with the reports in text. */
int gsb_supervisor_reload(struct gsb_supervisor *s, char *text, size_t size);

#endif
