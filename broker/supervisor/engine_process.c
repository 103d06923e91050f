/*
 * engine_process.c - see engine_process.h. The state diagram is in query.h.
 *
 * What a tenant of a hostile user could do to an engine ends here: an engine that does not start, or
 * does not stop, is killed by a timer, and nobody but its own tenants waited for it.
 */
#include "broker/supervisor/engine_process.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "broker/supervisor/child.h"
#include "broker/supervisor/spawn.h"
#include "shm/channel.h"

#define TOPIC "engine"

/* ---- sending ---- */

static void flush(struct gsb_engine_process *p)
{
	int err = gsb_outbox_flush(&p->out, p->control.fd);

	if (err && err != -EAGAIN)
		gsb_outbox_clear(&p->out); /* it is dying: its pidfd will say so */
	gsb_loop_watch_change(&p->s->loop, &p->control,
			      gsb_outbox_is_empty(&p->out) ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void gsb_engine_process_send(struct gsb_engine_process *p, const struct gsb_msg *msg,
			     const int *fds, unsigned n_fds)
{
	if (gsb_outbox_push(&p->out, msg, fds, n_fds))
		gsb_log(GSB_LOG_ERROR, TOPIC, "%s: a message was lost: out of memory", p->spec);
	if (p->control.fd >= 0)
		flush(p);
}

void gsb_engine_process_shutdown(struct gsb_engine_process *p, enum gsb_shutdown_how how)
{
	struct gsb_ctl_shutdown m = {.how = how};

	gsb_msg_init(&m.msg, GSB_CTL_SHUTDOWN, sizeof(m));
	p->state = GSB_ENGINE_STOPPING;
	gsb_engine_process_send(p, &m.msg, NULL, 0);
	if (how == GSB_SHUTDOWN_NOW)
		gsb_timer_set(&p->s->loop, &p->timer, p->s->config->broker.stop_timeout_ms);
}

/* ---- receiving ---- */

/* One message. Return: false when there is none to have. */
static bool receive(struct gsb_engine_process *p)
{
	static _Alignas(16) char buf[GSB_CHANNEL_MSG_MAX];
	ssize_t n;

	if (p->control.fd < 0)
		return false;
	n = gsb_channel_recv(p->control.fd, buf, sizeof(buf), NULL, NULL);
	if (n > 0) {
		p->on_message(p, (const struct gsb_msg *)buf, (size_t)n);
		return true;
	}
	if (n == -ECONNRESET) /* it ended with something unread: all that it said comes yet */
		return true;
	if (n != -EAGAIN) { /* end of file: the process is about to end, or must */
		int fd = p->control.fd;

		gsb_loop_watch_stop(&p->s->loop, &p->control);
		close(fd);
		gsb_timer_set(&p->s->loop, &p->timer, p->s->config->broker.stop_timeout_ms);
	}
	return false;
}

static void on_control(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_engine_process *p = gsb_container_of(w, struct gsb_engine_process, control);

	if (events & EPOLLOUT)
		flush(p);
	if (events & ~(uint32_t)EPOLLOUT)
		receive(p);
}

/* ---- the end ---- */

static void on_parted(struct gsb_mps_parting *parting)
{
	struct gsb_engine_process *p =
		gsb_container_of(parting, struct gsb_engine_process, parting);

	kill(p->pid, SIGKILL); /* not reaped yet, so the number is still its own */
}

void gsb_engine_process_kill(struct gsb_engine_process *p)
{
	if (p->parting.client)
		return;
	p->parting = (struct gsb_mps_parting){
		.d = p->mps,
		.client = p->pid,
		.on_done = on_parted,
	};
	if (p->mps)
		gsb_mps_part(&p->parting);
	else
		on_parted(&p->parting);
}

static void stop_watching(struct gsb_engine_process *p)
{
	struct gsb_loop *l = &p->s->loop;
	int control = p->control.fd, process = p->process.fd;

	gsb_loop_watch_stop(l, &p->control);
	gsb_loop_watch_stop(l, &p->process);
	gsb_timer_clear(l, &p->timer);
	gsb_mps_part_cancel(&p->parting);
	p->parting = (struct gsb_mps_parting){0};
	if (control >= 0)
		close(control);
	close(process);
}

static void on_process(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_engine_process *p = gsb_container_of(w, struct gsb_engine_process, process);
	siginfo_t info = {0};
	char how[80];

	while (receive(p)) /* its last words, FAILED perhaps */
		;
	if (waitid(P_PID, (id_t)p->pid, &info, WEXITED | WNOHANG) < 0 || !info.si_pid)
		return;
	gsb_child_describe_end(&info, how, sizeof(how));
	stop_watching(p);
	gsb_outbox_clear(&p->out);
	p->on_end(p, how);
}

static void on_late(struct gsb_timer *t)
{
	struct gsb_engine_process *p = gsb_container_of(t, struct gsb_engine_process, timer);

	bool starts = p->state == GSB_ENGINE_STARTING;

	snprintf(p->failure, sizeof(p->failure), "it %s",
		 starts ? "was not ready within start_timeout_ms" : "did not stop in time");
	gsb_log(GSB_LOG_ERROR, TOPIC, "%s (pid %d) did not %s in time: it is killed", p->spec,
		(int)p->pid, starts ? "become ready" : "stop");
	gsb_engine_process_kill(p);
}

/* ---- the beginning ---- */

/* Watch a process that was just started. A failure here leaves nothing half done. */
static int watch_engine(struct gsb_engine_process *p, int control_fd)
{
	int err, pid_fd = -1;

	err = gsb_pidfd_open(p->pid, &pid_fd);
	if (err)
		return err;
	err = gsb_loop_watch_start(&p->s->loop, &p->process, pid_fd, EPOLLIN);
	if (err)
		goto err_pidfd;
	err = gsb_loop_watch_start(&p->s->loop, &p->control, control_fd, EPOLLIN);
	if (err)
		goto err_process;
	return 0;
err_process:
	gsb_loop_watch_stop(&p->s->loop, &p->process);
err_pidfd:
	close(pid_fd);
	return err;
}

static int spawn(struct gsb_engine_process *p, int fd)
{
	struct gsb_spawn spawn = {
		.program = p->s->engine_path,
		.spec = p->spec,
		.config = &p->config,
		.resize = &p->s->config->resize,
		.mps_env = p->mps ? p->mps->env : NULL,
		.log = p->s->config->broker.log,
		.control_fd = fd,
	};

	return gsb_spawn_engine(&spawn, &p->pid);
}

int gsb_engine_process_start(struct gsb_engine_process *p, const struct gsb_device_config *d)
{
	int pair[2], err;

	p->config = *d;
	*p->failure = 0;
	p->no_room = false;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	err = spawn(p, pair[1]);
	close(pair[1]);
	if (err)
		goto err_pair;
	err = watch_engine(p, pair[0]);
	if (err)
		goto err_spawn;
	p->state = GSB_ENGINE_STARTING;
	p->n_starts++;
	gsb_timer_set(&p->s->loop, &p->timer, p->s->config->broker.start_timeout_ms);
	gsb_log(GSB_LOG_INFO, TOPIC, "%s for uid %u started: pid %d, start %u, deaths so far: %u",
		p->spec, p->uid, (int)p->pid, p->n_starts, p->n_deaths);
	return 0;
err_spawn:
	kill(p->pid, SIGKILL);
	waitpid(p->pid, NULL, 0);
err_pair:
	close(pair[0]);
	p->pid = 0;
	return err;
}

void gsb_engine_process_init(struct gsb_engine_process *p, struct gsb_supervisor *s,
			     const char *spec, uid_t uid)
{
	*p = (struct gsb_engine_process){
		.s = s,
		.uid = uid,
		.state = GSB_ENGINE_DEAD,
		.control = {.fd = -1, .on_ready = on_control},
		.process = {.fd = -1, .on_ready = on_process},
		.timer.on_time = on_late,
	};
	snprintf(p->spec, sizeof(p->spec), "%s", spec);
}
