/*
 * main.c - gsb-lane: a process with a device of its own, for one program of an engine's tenants.
 *
 * Started by an engine only, with a socket as its descriptor 3, and ends with it: by the end of that socket, and where the driver
 * keeps it from looking by a signal. Exit status: 0: as it was told, 1: its device could not be opened, or the engine has died.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/log.h"
#include "base/program.h"
#include "device/lanes/serve.h"

int main(int argc, char **argv)
{
	enum gsb_log_level level = GSB_LOG_WARN;

	gsb_program_init("gsb-lane", argv);
	if (argc != 3 || !gsb_log_level_parse(argv[1], &level) ||
	    fcntl(LANE_FD, F_SETFD, FD_CLOEXEC) < 0) {
		fprintf(stderr, "gsb-lane: it is started by gsb-engine, where isolation = lanes\n");
		return 2;
	}
	gsb_log_init("gsb-lane", level);
	gsb_log_never_wait();
	signal(SIGINT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || getppid() != (pid_t)atol(argv[2]))
		return 1; /* it has died already */
	return lane_serve(LANE_FD) ? 1 : 0;
}
