/*
 * child.h - another program as a child of gsbrokerd.
 */
#ifndef GSB_BROKER_SUPERVISOR_CHILD_H
#define GSB_BROKER_SUPERVISOR_CHILD_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GSB_CHILD_FDS 4

struct gsb_child {
	const char *program;	/* looked for in PATH when it has no slash */
	char *const *argv;	/* NULL behind the last */
	const char *const *env; /* beside what every child gets of ours; likewise */
	int fds[GSB_CHILD_FDS]; /* what become its 0 to 3; -1: /dev/null, and nothing for 3 */
	bool apart;		/* in a process group of its own, and told SIGTERM when we die */
};

/* Start it. All descriptors of this process must be CLOEXEC. Return: 0, -errno, also when it cannot be executed. */
int gsb_child_start(const struct gsb_child *c, pid_t *pid);

/* "exited with status 1", of one that waitid() told of. */
void gsb_child_describe_end(const siginfo_t *info, char *out, size_t size);

#endif
