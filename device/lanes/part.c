/*
 * part.c - MPS parts with a lane before it is killed; see lane.h.
 *
 * The end of a client with a kernel on the device is told to all other clients as a fault of theirs, unless the server was asked to
 * part with it first. Where there is a daemon, the environment says so: gsbrokerd put it there.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mps.h"
#include "device/lanes/lane.h"

#define TEXT_SIZE 4096
#define LIMIT_NS  5000000000ull

extern char **environ;

struct control {
	pid_t pid;
	int in, out;
};

static int spawn(struct control *c, const int in[2], const int out[2])
{
	char *argv[] = {GSB_MPS_PROGRAM, NULL};
	posix_spawn_file_actions_t files;
	int err;

	posix_spawn_file_actions_init(&files);
	posix_spawn_file_actions_adddup2(&files, in[0], STDIN_FILENO);
	posix_spawn_file_actions_adddup2(&files, out[1], STDOUT_FILENO);
	err = posix_spawnp(&c->pid, GSB_MPS_PROGRAM, &files, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

static int begin(struct control *c)
{
	int in[2], out[2], err;

	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	if (pipe2(out, O_CLOEXEC) < 0) {
		err = -errno;
		close(in[0]);
		close(in[1]);
		return err;
	}
	err = spawn(c, in, out);
	close(in[0]);
	close(out[1]);
	c->in = in[1];
	c->out = out[0];
	if (err) {
		close(c->in);
		close(c->out);
	}
	return err;
}

/* Until it has said all, or for too long. Return: whether all was heard. */
static bool hear(const struct control *c, char *said, size_t size)
{
	uint64_t end = gsb_clock_ns() + LIMIT_NS, now;
	size_t used = 0;
	ssize_t n = 1;

	while (n > 0 && used < size - 1 && (now = gsb_clock_ns()) < end) {
		struct pollfd fd = {.fd = c->out, .events = POLLIN};

		if (poll(&fd, 1, (int)((end - now) / 1000000) + 1) <= 0)
			break;
		n = read(c->out, said + used, size - 1 - used);
		used += n > 0 ? (size_t)n : 0;
	}
	said[used] = 0;
	return n == 0;
}

/* What it says to some lines; false: it could not be asked, or does not end. */
static bool ask(const char *text, char *said, size_t size)
{
	struct control c;
	bool all;

	if (begin(&c))
		return false;
	all = write(c.in, text, strlen(text)) == (ssize_t)strlen(text);
	close(c.in);
	all &= hear(&c, said, size);
	close(c.out);
	if (!all)
		kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
	return all;
}

void lane_part(pid_t client)
{
	char said[TEXT_SIZE], text[TEXT_SIZE] = "";

	if (!getenv("CUDA_MPS_PIPE_DIRECTORY"))
		return;
	if (ask("get_server_list\n", said, sizeof(said)))
		gsb_mps_terminations(said, client, text, sizeof(text));
	if (!*text || !ask(text, said, sizeof(said)))
		gsb_log(GSB_LOG_WARN, "lanes",
			"the MPS daemon does not part with lane %d: its neighbours may be told of its end",
			(int)client);
}
