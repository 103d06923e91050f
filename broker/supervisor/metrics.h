/*
 * metrics.h - what gsbrokerd knows, for Prometheus: [metrics] listen. Nothing is there without it.
 *
 * A question is put to the engines as gsbctl's is, and answered with what they said within a second; of one that says
 * nothing, what was last heard. Questions that come meanwhile get the same answer.
 */
#ifndef GSB_BROKER_SUPERVISOR_METRICS_H
#define GSB_BROKER_SUPERVISOR_METRICS_H

#include "broker/supervisor/engines.h"

#define GSB_METRICS_CLIENTS_MAX 16
#define GSB_METRICS_CLIENT_MS	5000 /* from its first byte to its last */

struct gsb_metrics_client;

struct gsb_metrics {
	struct gsb_supervisor *s;
	struct gsb_engines *engines;
	struct gsb_loop_watch watch;
	struct gsb_metrics_client *clients;
	unsigned n_clients;
	uint64_t asked;		 /* number of the STATUS that is under way; 0: none */
	struct gsb_timer answer; /* then: it is not waited for any longer */
	struct gsb_timer pause;	 /* out of descriptors */
	char path[108];		 /* of a unix socket, to be removed; else "" */
};

void gsb_metrics_init(struct gsb_metrics *m, struct gsb_supervisor *s, struct gsb_engines *engines);
int gsb_metrics_start(struct gsb_metrics *m); /* 0 also when it is off; logs what is wrong */
void gsb_metrics_stop(struct gsb_metrics *m); /* takes one that is not started, too */

#endif
