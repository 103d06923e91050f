/*
 * private_broker.c - see private_broker.h.
 */
#include "tools/private_broker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define READY_TIMEOUT_MS 30000

/* The user's runtime folder is best: it is his alone and goes at logout. */
static int make_dir(struct gsb_private_broker *b)
{
	const char *roots[] = {secure_getenv("XDG_RUNTIME_DIR"), secure_getenv("TMPDIR"), "/tmp"};
	int err = -ENOENT;

	for (unsigned i = 0; i < 3; i++) {
		int n = roots[i] ? snprintf(b->dir, sizeof(b->dir), "%s/gsbrun-XXXXXX", roots[i])
				 : -1;

		if (n < 0 || n >= (int)sizeof(b->dir))
			continue;
		if (mkdtemp(b->dir)) {
			snprintf(b->socket, sizeof(b->socket), "%s/socket", b->dir);
			return 0;
		}
		err = -errno;
	}
	fprintf(stderr,
		"gsbrun: no folder for a private broker in $XDG_RUNTIME_DIR, $TMPDIR or /tmp: %s\n",
		strerror(-err));
	return err;
}

static void add_option(const char **argv, const char *option, const char *value)
{
	if (!value)
		return;
	while (*argv)
		argv++;
	argv[0] = option;
	argv[1] = value;
}

/* keep[]: the two descriptors that gsbrokerd gets under the numbers that they have here. */
static int spawn(struct gsb_private_broker *b, const struct gsb_private_settings *s,
		 const int keep[2])
{
	char ready[32], lifeline[32];
	const char *argv[14] = {"gsbrokerd", "--private", b->dir, ready, lifeline};
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attr;
	sigset_t none;
	int err;

	snprintf(ready, sizeof(ready), "--ready-fd=%d", keep[0]);
	snprintf(lifeline, sizeof(lifeline), "--lifeline-fd=%d", keep[1]);
	add_option(argv, "--config", s->config);
	add_option(argv, "--device", s->device);
	add_option(argv, "--policy", s->policy);
	add_option(argv, "--gate", s->gate);
	sigemptyset(&none);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attr);
	/* Standard input and output are the command's alone. */
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
	/* A group of its own: the terminal's Ctrl-C is for the command, the broker ends after it. */
	posix_spawnattr_setpgroup(&attr, 0);
	posix_spawnattr_setsigmask(&attr, &none);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK);
	err = posix_spawn(&b->pid, s->program, &actions, &attr, (char **)argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&actions);
	return -err;
}

/* Until it says "ready", ends (the pipe's end of file), or time is up. */
static int await_ready(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLIN};
	char byte;
	int n;

	do
		n = poll(&p, 1, READY_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	if (n == 0)
		return -ETIMEDOUT;
	return read(fd, &byte, 1) == 1 ? 0 : -ECHILD;
}

static void close_pair(int pair[2])
{
	close(pair[0]);
	close(pair[1]);
}

/* Make both pipes, spawn, close the ends that are not ours, wait. */
static int launch(struct gsb_private_broker *b, const struct gsb_private_settings *s)
{
	int ready[2], lifeline[2], keep[2], err;

	if (pipe2(ready, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(lifeline, O_CLOEXEC) < 0) {
		err = -errno;
		close_pair(ready);
		return err;
	}
	keep[0] = ready[1];
	keep[1] = lifeline[0];
	fcntl(keep[0], F_SETFD, 0);
	fcntl(keep[1], F_SETFD, 0);
	err = spawn(b, s, keep);
	close(keep[0]);
	close(keep[1]);
	if (!err) {
		b->lifeline_fd = lifeline[1];
		err = await_ready(ready[0]);
		if (err) {
			kill(b->pid, SIGKILL); /* it may hang; its engines see its end */
			gsb_private_broker_stop(b);
		}
	} else {
		close(lifeline[1]);
	}
	close(ready[0]);
	return err;
}

int gsb_private_broker_start(struct gsb_private_broker *b, const struct gsb_private_settings *s)
{
	int err;

	*b = (struct gsb_private_broker){.lifeline_fd = -1};
	err = make_dir(b);
	if (err)
		return err;
	err = launch(b, s);
	if (err) {
		rmdir(b->dir);
		fprintf(stderr, "gsbrun: a private broker (%s) did not start: %s\n", s->program,
			err == -ECHILD ? "it says why above" : strerror(-err));
	}
	return err;
}

void gsb_private_broker_stop(struct gsb_private_broker *b)
{
	char lock[sizeof(b->socket) + 4];

	close(b->lifeline_fd);
	while (waitpid(b->pid, NULL, 0) < 0 && errno == EINTR)
		;
	/* Nothing is left of these unless it was killed. */
	snprintf(lock, sizeof(lock), "%s.pid", b->socket);
	unlink(lock);
	unlink(b->socket);
	rmdir(b->dir);
}
