/*
 * service.h - what a service does once on its way up: giving up root and telling its manager.
 */
#ifndef GSB_BROKER_SUPERVISOR_SERVICE_H
#define GSB_BROKER_SUPERVISOR_SERVICE_H

#include <sys/types.h>

/* Become user ("": nobody else) when this is root; *uid is who we are then. Logs what is wrong. */
int gsb_privileges_drop(const char *user, uid_t *uid);

/* To the service manager, if $NOTIFY_SOCKET says that there is one. */
void gsb_notify(const char *text);

#endif
