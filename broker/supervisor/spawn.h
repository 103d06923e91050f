/*
 * spawn.h - an engine as a process.
 */
#ifndef GSB_BROKER_SUPERVISOR_SPAWN_H
#define GSB_BROKER_SUPERVISOR_SPAWN_H

#include "broker/config/config.h"

struct gsb_spawn {
	const char *program, *spec;
	const struct gsb_device_config *config;
	const struct gsb_resize_config *resize;
	const char *const
		*mps_env; /* the variables that make it a client of MPS; NULL: it is none */
	uint64_t log;	  /* enum gsb_log_level */
	int control_fd;
};

/* Start it. All descriptors of this process but control_fd must be CLOEXEC. Return: 0, -errno. */
int gsb_spawn_engine(const struct gsb_spawn *p, pid_t *pid);

#endif
