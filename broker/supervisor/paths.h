/*
 * paths.h - where gsbrokerd's engine and its socket are.
 */
#ifndef GSB_BROKER_SUPERVISOR_PATHS_H
#define GSB_BROKER_SUPERVISOR_PATHS_H

#include "broker/supervisor/supervisor.h"

/* All log what is wrong. Return: 0, -errno. */

/* s->engine_path: the configured one, else the one beside this program, else the installed one. */
int gsb_paths_find_engine(struct gsb_supervisor *s);
/* s->socket: arg, else the configured one, else as gsb_channel_path(). */
int gsb_paths_find_socket(struct gsb_supervisor *s, const char *arg);
/* s->socket: in dir, which must be a folder of our own. */
int gsb_paths_use_private(struct gsb_supervisor *s, const char *dir);

#endif
