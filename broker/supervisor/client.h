/*
 * client.h - a connection, from accept until it is handed on or dropped.
 *
 * Whoever connects has hello_timeout_ms to send one message: HELLO of a tenant or CONTROL of gsbctl.
 * At most pending_max connections may be silent at a time; one more costs the process that has most
 * of them, of the user who has most, its oldest, so that nobody can lock another out. What a client
 * sends is hostile: it is one message of a known size, its texts are checked, and a refusal is one
 * sentence to the client and one log line.
 */
#ifndef GSB_BROKER_SUPERVISOR_CLIENT_H
#define GSB_BROKER_SUPERVISOR_CLIENT_H

#include "broker/supervisor/survey.h"

struct gsb_client;

struct gsb_clients {
	struct gsb_supervisor *s;
	struct gsb_engines *engines; /* where a hello goes */
	struct gsb_survey *survey;   /* where a request goes */
	struct gsb_client *list;     /* in order of arrival */
};

/* A connection that was accepted; fd is consumed. */
void gsb_clients_add(struct gsb_clients *cs, int fd);
/* Make room by dropping one that is silent. Return: false when there is none. */
bool gsb_clients_shed(struct gsb_clients *cs);
/* Refuse all that are left. */
void gsb_clients_refuse_all(struct gsb_clients *cs, int error, const char *reason);
/* Drop all that are left. */
void gsb_clients_finish(struct gsb_clients *cs);

#endif
