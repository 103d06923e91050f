/*
 * private_broker.h - a gsbrokerd for one run of gsbrun, in a folder of its own.
 *
 * It cannot outlive gsbrun, however that ends: it holds the reading end of a pipe, the lifeline,
 * whose writing end nobody but gsbrun has. It removes its folder itself, for the same reason.
 */
#ifndef GSB_TOOLS_PRIVATE_BROKER_H
#define GSB_TOOLS_PRIVATE_BROKER_H

#include <sys/types.h>

#define GSB_PRIVATE_DIR_MAX 80 /* leaves room for "/socket" in a socket address */

struct gsb_private_broker {
	char dir[GSB_PRIVATE_DIR_MAX];
	char socket[GSB_PRIVATE_DIR_MAX + 8];
	pid_t pid;
	int lifeline_fd; /* CLOEXEC: the command must not hold it */
};

struct gsb_private_settings {
	const char *program;		    /* gsbrokerd */
	const char *config;		    /* file; NULL: made of the following */
	const char *device, *policy, *gate; /* NULL: the default */
};

/*
 * gsb_private_broker_start() - start one and wait until it listens
 * Says on standard error what went wrong. Return: 0, -errno.
 */
int gsb_private_broker_start(struct gsb_private_broker *b, const struct gsb_private_settings *s);

/* End it and wait until it, its engines and its folder are gone. */
void gsb_private_broker_stop(struct gsb_private_broker *b);

#endif
