/*
 * mps_command.c - see mps_command.h.
 *
 * What it is told and what it says are files in memory: nobody waits for room in a pipe. One that does not end is killed, and one
 * that is cancelled too; each is reaped by the loop.
 */
#include "broker/supervisor/mps_command.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "broker/supervisor/child.h"
#include "shm/channel.h"

#define LIMIT_MS 2000

struct gsb_mps_command {
	struct gsb_loop *loop;
	pid_t pid;
	int answer;
	struct gsb_loop_watch process;
	struct gsb_timer timer;
	gsb_mps_command_done *done; /* NULL: cancelled */
	void *arg;
};

static void on_late(struct gsb_timer *t)
{
	kill(gsb_container_of(t, struct gsb_mps_command, timer)->pid, SIGKILL);
}

static void on_process(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_mps_command *c = gsb_container_of(w, struct gsb_mps_command, process);
	char said[GSB_MPS_TEXT_SIZE];
	siginfo_t info = {0};
	int fd = w->fd;
	ssize_t n;

	if (waitid(P_PID, (id_t)c->pid, &info, WEXITED | WNOHANG) < 0 || !info.si_pid)
		return;
	gsb_loop_watch_stop(c->loop, w);
	gsb_timer_clear(c->loop, &c->timer);
	close(fd);
	n = pread(c->answer, said, sizeof(said) - 1, 0);
	said[n > 0 ? n : 0] = 0;
	close(c->answer);
	if (c->done)
		c->done(c->arg, info.si_code == CLD_EXITED && !info.si_status ? said : NULL);
	free(c);
}

static int start_program(struct gsb_mps_command *c, const char *const *env, int text)
{
	char name[] = GSB_MPS_PROGRAM;
	char *argv[] = {name, NULL};
	const struct gsb_child child = {
		.program = GSB_MPS_PROGRAM,
		.argv = argv,
		.env = env,
		.fds = {text, c->answer, c->answer, -1},
	};

	return gsb_child_start(&child, &c->pid);
}

static int watch(struct gsb_mps_command *c)
{
	int fd, err = gsb_pidfd_open(c->pid, &fd);

	if (err)
		return err;
	err = gsb_loop_watch_start(c->loop, &c->process, fd, EPOLLIN);
	if (err)
		close(fd);
	return err;
}

/* A file with the text, to be read from its beginning. */
static int file_of(const char *text)
{
	int fd = memfd_create("mps", MFD_CLOEXEC);
	size_t n = strlen(text);

	if (fd < 0 || (write(fd, text, n) == (ssize_t)n && !lseek(fd, 0, SEEK_SET)))
		return fd;
	close(fd);
	errno = ENOSPC;
	return -1;
}

int gsb_mps_command_start(struct gsb_loop *loop, const char *const *env, const char *text,
			  gsb_mps_command_done *done, void *arg, struct gsb_mps_command **out)
{
	struct gsb_mps_command *c = calloc(1, sizeof(*c));
	int told, err;

	if (!c)
		return -ENOMEM;
	*c = (struct gsb_mps_command){
		.loop = loop,
		.process = {.fd = -1, .on_ready = on_process},
		.timer.on_time = on_late,
		.done = done,
		.arg = arg,
	};
	told = file_of(text);
	c->answer = file_of("");
	err = told < 0 || c->answer < 0 ? -errno : start_program(c, env, told);
	if (told >= 0)
		close(told);
	if (err)
		goto err_files;
	err = watch(c);
	if (err)
		goto err_watch;
	gsb_timer_set(loop, &c->timer, LIMIT_MS);
	*out = c;
	return 0;
err_watch:
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
err_files:
	if (c->answer >= 0)
		close(c->answer);
	free(c);
	return err;
}

void gsb_mps_command_cancel(struct gsb_mps_command *c)
{
	if (!c)
		return;
	c->done = NULL;
	kill(c->pid, SIGKILL); /* not reaped yet, so the number is still its own */
}
