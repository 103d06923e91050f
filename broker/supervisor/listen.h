/*
 * listen.h - the socket that tenants and gsbctl come to: its lock, its owner and mode, its end.
 */
#ifndef GSB_BROKER_SUPERVISOR_LISTEN_H
#define GSB_BROKER_SUPERVISOR_LISTEN_H

#include "base/log.h"
#include "broker/supervisor/supervisor.h"

struct gsb_listener {
	struct gsb_supervisor *s;
	struct gsb_loop_watch watch;
	struct gsb_timer pause; /* out of descriptors */
	struct gsb_log_limit failures;
	int lock_fd;
	char made_dir[108];    /* folder of the socket, if it was made here; else "" */
	char private_dir[108]; /* --private: removed at the end; else "" */

	/* Set by who wires the parts. */
	void (*on_connection)(struct gsb_listener *l, int fd); /* consumes fd */
	bool (*make_room)(struct gsb_listener *l);	       /* drop a connection; false: none */
};

void gsb_listener_init(struct gsb_listener *l, struct gsb_supervisor *s);
int gsb_listener_start(struct gsb_listener *l); /* logs what is wrong */
/* The configuration was read again: who may open the socket may have changed. */
void gsb_listener_reload(struct gsb_listener *l);
void gsb_listener_stop(struct gsb_listener *l); /* no new clients; the files are removed */

#endif
