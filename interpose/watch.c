/*
 * watch.c - see watch.h.
 *
 * It only listens, so nothing that the program does keeps it: functions of the program run on a thread of their
 * own (cu/host_call.c). The engine's death is seen by pidfd: the socket's end would not come while a forked child holds it too.
 */
#include "interpose/watch.h"

#include <errno.h>
#include <poll.h>
#include <sys/select.h>

#include "base/log.h"
#include "interpose/core/helper.h"
#include "interpose/core/process.h"
#include "interpose/cu/host_call.h"
#include "shm/channel.h"

union message {
	struct gsb_msg msg;
	struct gsb_msg_host_func host_func;
	struct gsb_msg_cut cut;
};

static void on_cut(const struct gsb_msg_cut *m)
{
	gsb_log(GSB_LOG_ERROR, "watch", "the broker has cut this process off: %.*s",
		(int)sizeof(m->reason), m->reason);
	gsb_process_set_fatal((CUresult)m->result ? (CUresult)m->result : CUDA_ERROR_UNKNOWN);
}

/* False when nothing more will come. */
static bool on_message(void)
{
	union message m;
	unsigned n_fds = 0;
	ssize_t n = gsb_channel_recv(gsb_proc.socket, &m, sizeof(m), NULL, &n_fds);

	if (n <= 0)
		return n == -EINTR || n == -EAGAIN;
	if (m.msg.type == GSB_MSG_HOST_FUNC && (size_t)n >= sizeof(m.host_func))
		gsb_host_call_due(m.host_func.cookie);
	else if (m.msg.type == GSB_MSG_CUT && (size_t)n >= sizeof(m.cut))
		on_cut(&m.cut);
	return true;
}

static void on_engine_death(void)
{
	if (!gsb_fatal())
		gsb_log(GSB_LOG_ERROR, "watch",
			"the engine that served this process has ended: every further call fails with "
			"CUDA_ERROR_SYSTEM_NOT_READY; start the program again");
	gsb_process_set_fatal(CUDA_ERROR_SYSTEM_NOT_READY);
}

/* poll() refuses two where the program may have no more than one, as who locks himself in has it; select() does not. */
static int select_instead(struct pollfd fds[2])
{
	fd_set set;
	int n, end = 0;

	FD_ZERO(&set);
	for (int i = 0; i < 2; i++) {
		fds[i].revents = 0;
		if (fds[i].fd < 0 || fds[i].fd >= FD_SETSIZE)
			continue;
		FD_SET(fds[i].fd, &set);
		end = fds[i].fd >= end ? fds[i].fd + 1 : end;
	}
	n = select(end, &set, NULL, NULL, NULL);
	for (int i = 0; n > 0 && i < 2; i++)
		if (fds[i].fd >= 0 && fds[i].fd < FD_SETSIZE && FD_ISSET(fds[i].fd, &set))
			fds[i].revents = POLLIN;
	return n;
}

static int wait_for(struct pollfd fds[2])
{
	int n = poll(fds, 2, -1);

	return n < 0 && errno != EINTR ? select_instead(fds) : n;
}

/*
 * The last messages are read before a death counts: they may say why. A file that the program closes stays open for as
 * long as poll looks at it, so what was sent and the engine's death are noticed all the same.
 */
static void *watch(void *arg)
{
	struct pollfd fds[2] = {
		{.fd = gsb_proc.socket, .events = POLLIN},
		{.fd = gsb_proc.engine_pidfd, .events = POLLIN},
	};

	for (;;) {
		int n = wait_for(fds);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 || !gsb_process_has(gsb_proc.socket) ||
		    !gsb_process_has(gsb_proc.engine_pidfd))
			return NULL;
		if (fds[0].revents && !on_message())
			fds[0].fd = -1;
		else if (fds[1].revents && !fds[0].revents)
			break;
	}
	on_engine_death();
	return NULL;
}

int gsb_watch_start(void)
{
	return gsb_helper_start(watch, false);
}
