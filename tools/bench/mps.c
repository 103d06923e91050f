/*
 * mps.c - see mps.h.
 */
#include "tools/bench/mps.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

void gsb_mps_choose(const struct gsb_mps *m)
{
	setenv("CUDA_MPS_PIPE_DIRECTORY", m ? m->pipe_dir : "/nonexistent", 1);
}

/* A command of MPS's, its output thrown away; input: a line for it. */
static bool control(const struct gsb_mps *m, const char *input, const char *option)
{
	int fds[2], status;
	pid_t pid;

	if (pipe2(fds, O_CLOEXEC))
		return false;
	pid = fork();
	if (!pid) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);

		gsb_mps_choose(m);
		setenv("CUDA_MPS_LOG_DIRECTORY", m->log_dir, 1);
		dup2(fds[0], STDIN_FILENO);
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		execlp("nvidia-cuda-mps-control", "nvidia-cuda-mps-control", option, NULL);
		_exit(127);
	}
	close(fds[0]);
	if (write(fds[1], input, strlen(input)) < 0)
		errno = 0; /* it has ended: its status says more */
	close(fds[1]);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

bool gsb_mps_start(struct gsb_mps *m, const char *folder)
{
	snprintf(m->log_dir, sizeof(m->log_dir), "%s", folder);
	snprintf(m->pipe_dir, sizeof(m->pipe_dir), "%s/mps", m->log_dir);
	mkdir(m->pipe_dir, 0700);
	m->runs = control(m, "", "-d");
	return m->runs;
}

void gsb_mps_stop(struct gsb_mps *m)
{
	if (m->runs)
		control(m, "quit\n", NULL);
	m->runs = false;
}
