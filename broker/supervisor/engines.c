/*
 * engines.c - starting, watching and stopping engines; tenants on their way to them.
 *
 * An engine belongs to a key: device and trust domain (a uid; with isolation = process, one process
 * of it). It is started when the first tenant of its key is admitted, before any device call, and
 * stays. One that ended by itself is kept as DEAD, with its counts, and started anew for the next
 * tenant; its tenants hear of its death by their own pidfd of it. The state diagram is in query.h.
 *
 * What a tenant of a hostile user could do to an engine ends here: an engine that does not start, or
 * does not stop, is killed by a timer, and nobody but its own tenants waited for it.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utlist.h>

#include "broker/supervisor/supervisor.h"

#define TOPIC "engine"

/* ---- tenants ---- */

void gsb_tenant_limits(const struct gsb_tenant_config *t, struct gsb_tenant_limits *out)
{
	*out = (struct gsb_tenant_limits){
		.device_mem_bytes = t->device_memory,
		.host_mem_bytes = t->host_memory,
		.staging_bytes = t->staging,
		.image_max_bytes = t->image_max,
		.queued_bytes = t->queued_bytes,
		.queued_records = (uint32_t)t->queued_records,
	};
}

unsigned gsb_tenants_of(const struct gsb_supervisor *s, uid_t uid)
{
	const struct gsb_admitted *t;
	unsigned n = 0;

	DL_FOREACH (s->tenants, t)
		n += t->uid == uid;
	return n;
}

static unsigned tenants_in(const struct gsb_engine_process *e)
{
	const struct gsb_admitted *t;
	unsigned n = 0;

	DL_FOREACH (e->s->tenants, t)
		n += t->engine == e;
	return n;
}

static struct gsb_admitted *find_tenant(const struct gsb_engine_process *e, uint32_t id)
{
	struct gsb_admitted *t;

	DL_FOREACH (e->s->tenants, t)
		if (t->engine == e && t->id == id)
			return t;
	return NULL;
}

static void tenant_remove(struct gsb_supervisor *s, struct gsb_admitted *t)
{
	DL_DELETE(s->tenants, t);
	s->n_tenants--;
	free(t);
}

static int tenant_add(struct gsb_engine_process *e, struct gsb_ctl_admit *admit)
{
	struct gsb_supervisor *s = e->s;
	struct gsb_admitted *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	admit->tenant_id = ++s->last_tenant_id;
	t->id = admit->tenant_id;
	t->uid = admit->uid;
	memcpy(t->name, admit->tenant, sizeof(t->name));
	t->limits = admit->limits;
	t->engine = e;
	DL_APPEND(s->tenants, t);
	s->n_tenants++;
	return 0;
}

/* ---- sending ---- */

static void flush(struct gsb_engine_process *e)
{
	int err = gsb_outbox_flush(&e->out, e->control.fd);

	if (err && err != -EAGAIN)
		gsb_outbox_clear(&e->out); /* it is dying: its pidfd will say so */
	gsb_loop_watch_change(&e->s->loop, &e->control,
			      gsb_outbox_is_empty(&e->out) ? EPOLLIN : EPOLLIN | EPOLLOUT);
}

void gsb_engine_send(struct gsb_engine_process *e, const struct gsb_msg *msg, const int *fds,
		     unsigned n_fds)
{
	if (gsb_outbox_push(&e->out, msg, fds, n_fds))
		gsb_log(GSB_LOG_ERROR, TOPIC, "%s: a message was lost: out of memory", e->spec);
	if (e->control.fd >= 0)
		flush(e);
}

static void send_shutdown(struct gsb_engine_process *e, enum gsb_shutdown_how how)
{
	struct gsb_ctl_shutdown m = {.how = how};

	gsb_msg_init(&m.msg, GSB_CTL_SHUTDOWN, sizeof(m));
	e->state = GSB_ENGINE_STOPPING;
	gsb_engine_send(e, &m.msg, NULL, 0);
	if (how == GSB_SHUTDOWN_NOW)
		gsb_timer_set(&e->s->loop, &e->timer, e->s->config->broker.stop_timeout_ms);
}

void gsb_engines_relimit(struct gsb_supervisor *s)
{
	struct gsb_ctl_limits m = {0};
	struct gsb_admitted *t;

	gsb_msg_init(&m.msg, GSB_CTL_LIMITS, sizeof(m));
	DL_FOREACH (s->tenants, t) {
		gsb_tenant_limits(gsb_config_tenant(s->config, t->name), &m.limits);
		if (!t->delivered || !memcmp(&m.limits, &t->limits, sizeof(m.limits)))
			continue;
		t->limits = m.limits;
		m.tenant_id = t->id;
		gsb_engine_send(t->engine, &m.msg, NULL, 0);
	}
}

/* ---- arrivals ---- */

/* e may be NULL: no engine could be made. */
static void refuse_arrival(struct gsb_supervisor *s, struct gsb_engine_process *e,
			   struct gsb_arrival *a, int error, const char *reason)
{
	struct gsb_admitted *t = e ? find_tenant(e, a->admit.tenant_id) : NULL;

	gsb_refuse(s, a->client_fd, (pid_t)a->admit.pid, error, reason);
	if (t)
		tenant_remove(s, t);
	close(a->client_fd);
	close(a->pid_fd);
	free(a);
}

static void refuse_arrivals(struct gsb_engine_process *e, int error, const char *reason)
{
	struct gsb_arrival *a, *next;

	DL_FOREACH_SAFE (e->arrivals, a, next) {
		DL_DELETE(e->arrivals, a);
		refuse_arrival(e->s, e, a, error, reason);
	}
}

static void hand_over(struct gsb_engine_process *e, struct gsb_arrival *a)
{
	struct gsb_admitted *t = find_tenant(e, a->admit.tenant_id);
	int fds[2] = {a->client_fd, a->pid_fd};

	t->delivered = true;
	t->survey = e->s->last_survey;
	e->s->n_admitted++;
	gsb_log(GSB_LOG_INFO, TOPIC, "tenant %u '%s' (pid %u, uid %u) goes to the engine of %s",
		t->id, a->admit.tenant, a->admit.pid, a->admit.uid, e->spec);
	gsb_engine_send(e, &a->admit.msg, fds, 2);
	free(a);
}

static void hand_over_all(struct gsb_engine_process *e)
{
	struct gsb_arrival *a, *next;

	DL_FOREACH_SAFE (e->arrivals, a, next) {
		DL_DELETE(e->arrivals, a);
		hand_over(e, a);
	}
}

/* ---- starting ---- */

static void on_control(struct gsb_loop_watch *w, uint32_t events);
static void on_process(struct gsb_loop_watch *w, uint32_t events);

static void on_late(struct gsb_timer *t)
{
	struct gsb_engine_process *e = gsb_container_of(t, struct gsb_engine_process, timer);

	snprintf(e->failure, sizeof(e->failure), "it was not ready within start_timeout_ms");
	gsb_log(GSB_LOG_ERROR, TOPIC, "%s (pid %d) did not %s in time: it is killed", e->spec,
		(int)e->pid, e->state == GSB_ENGINE_STARTING ? "become ready" : "stop");
	kill(e->pid, SIGKILL); /* not reaped yet, so the number is still its own */
}

/* Watch a process that was just started. A failure here leaves nothing half done. */
static int watch_engine(struct gsb_engine_process *e, int control_fd)
{
	int err, pid_fd = -1;

	err = gsb_pidfd_open(e->pid, &pid_fd);
	if (err)
		return err;
	err = gsb_loop_watch_start(&e->s->loop, &e->process, pid_fd, EPOLLIN);
	if (err)
		goto err_pidfd;
	err = gsb_loop_watch_start(&e->s->loop, &e->control, control_fd, EPOLLIN);
	if (err)
		goto err_process;
	return 0;
err_process:
	gsb_loop_watch_stop(&e->s->loop, &e->process);
err_pidfd:
	close(pid_fd);
	return err;
}

static int engine_start(struct gsb_engine_process *e, const struct gsb_device_config *d)
{
	int pair[2], err;

	e->config = *d;
	*e->failure = 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	err = gsb_engine_spawn(e, pair[1]);
	close(pair[1]);
	if (err)
		goto err_pair;
	err = watch_engine(e, pair[0]);
	if (err)
		goto err_spawn;
	e->state = GSB_ENGINE_STARTING;
	e->n_starts++;
	gsb_timer_set(&e->s->loop, &e->timer, e->s->config->broker.start_timeout_ms);
	gsb_log(GSB_LOG_INFO, TOPIC, "%s for uid %u started: pid %d, start %u, %u deaths so far",
		e->spec, e->uid, (int)e->pid, e->n_starts, e->n_deaths);
	return 0;
err_spawn:
	kill(e->pid, SIGKILL);
	waitpid(e->pid, NULL, 0);
err_pair:
	close(pair[0]);
	e->pid = 0;
	return err;
}

/* ---- keys ---- */

static struct gsb_engine_process *engine_create(struct gsb_supervisor *s,
						const struct gsb_arrival *a,
						const struct gsb_device_config *d)
{
	struct gsb_engine_process *e;
	unsigned i;

	for (i = 0; i < GSB_ENGINES_MAX && s->engines[i]; i++)
		;
	if (i == GSB_ENGINES_MAX)
		return NULL;
	e = calloc(1, sizeof(*e));
	if (!e)
		return NULL;
	e->s = s;
	e->index = i;
	snprintf(e->spec, sizeof(e->spec), "%s", d->spec);
	e->uid = a->admit.uid;
	e->only_pid = d->isolation == GSB_ISOLATION_PROCESS ? (pid_t)a->admit.pid : 0;
	e->state = GSB_ENGINE_DEAD;
	e->control = (struct gsb_loop_watch){.fd = -1, .on_ready = on_control};
	e->process = (struct gsb_loop_watch){.fd = -1, .on_ready = on_process};
	e->timer.on_time = on_late;
	s->engines[i] = e;
	return e;
}

static void engine_destroy(struct gsb_engine_process *e)
{
	e->s->engines[e->index] = NULL;
	free(e);
}

/* A second uid never joins an engine, and a process engine never takes a second process. */
static struct gsb_engine_process *engine_of(struct gsb_supervisor *s, const struct gsb_arrival *a,
					    const struct gsb_device_config *d)
{
	pid_t only = d->isolation == GSB_ISOLATION_PROCESS ? (pid_t)a->admit.pid : 0;

	for (unsigned i = 0; i < GSB_ENGINES_MAX; i++) {
		struct gsb_engine_process *e = s->engines[i];

		if (e && e->uid == a->admit.uid && e->only_pid == only &&
		    !strcmp(e->spec, d->spec) && e->state != GSB_ENGINE_STOPPING)
			return e;
	}
	return engine_create(s, a, d);
}

void gsb_engine_deliver(struct gsb_supervisor *s, struct gsb_arrival *a,
			const struct gsb_device_config *d)
{
	struct gsb_engine_process *e = engine_of(s, a, d);
	char why[GSB_REASON_MAX];
	int err = e ? tenant_add(e, &a->admit) : -EUSERS;

	if (!err && e->state == GSB_ENGINE_DEAD)
		err = engine_start(e, d);
	if (err) {
		snprintf(why, sizeof(why), "no engine for %.60s could be started from %.80s: %.60s",
			 d->spec, s->engine_path, strerror(-err));
		refuse_arrival(s, e, a, err, why);
		if (e && e->only_pid)
			engine_destroy(e);
		return;
	}
	DL_APPEND(e->arrivals, a);
	if (e->state == GSB_ENGINE_READY)
		hand_over_all(e);
}

/* ---- what an engine says ---- */

/* An engine of one process ends with it. */
static void on_tenant_left(struct gsb_engine_process *e)
{
	if (e->only_pid && !tenants_in(e) && e->state == GSB_ENGINE_READY)
		send_shutdown(e, GSB_SHUTDOWN_NOW);
}

static void on_engine_ready(struct gsb_engine_process *e)
{
	if (e->state != GSB_ENGINE_STARTING)
		return;
	gsb_timer_clear(&e->s->loop, &e->timer);
	e->state = GSB_ENGINE_READY;
	gsb_log(GSB_LOG_INFO, TOPIC, "%s (pid %d) is ready", e->spec, (int)e->pid);
	hand_over_all(e);
}

static void on_engine_refused(struct gsb_engine_process *e, const struct gsb_ctl_refused *m)
{
	struct gsb_admitted *t = find_tenant(e, m->tenant_id);

	if (!t)
		return;
	gsb_log(GSB_LOG_WARN, TOPIC, "tenant %u '%s' was refused by the engine of %s: %.255s",
		t->id, t->name, e->spec, m->reason);
	e->s->n_refused++;
	e->s->n_admitted--;
	tenant_remove(e->s, t);
	on_tenant_left(e);
}

static void on_engine_gone(struct gsb_engine_process *e, const struct gsb_ctl_gone *m)
{
	struct gsb_admitted *t = find_tenant(e, m->tenant_id);

	if (!t)
		return;
	gsb_log(GSB_LOG_INFO, TOPIC, "tenant %u '%s' %s", t->id, t->name,
		m->reason == GSB_GONE_CUT ? "was cut off" : "has ended");
	tenant_remove(e->s, t);
	on_tenant_left(e);
}

static bool listed(const struct gsb_ctl_status_reply *m, uint32_t tenant_id)
{
	for (uint32_t i = 0; i < m->n_tenants; i++)
		if (m->tenants[i].tenant_id == tenant_id)
			return true;
	return false;
}

/*
 * GONE may have been dropped by an engine that found its socket full. Messages keep their order: who
 * was delivered before the question and is not in the answer, is gone.
 */
static void on_engine_status(struct gsb_engine_process *e, const struct gsb_ctl_status_reply *m)
{
	struct gsb_admitted *t, *next;
	size_t rows = (m->msg.size - sizeof(*m)) / sizeof(m->tenants[0]);

	if (m->n_tenants > GSB_N_SLOTS || m->n_tenants != rows)
		return;
	DL_FOREACH_SAFE (e->s->tenants, t, next)
		if (t->engine == e && t->delivered && t->survey < m->number && !listed(m, t->id))
			tenant_remove(e->s, t);
	gsb_survey_answer(e, m, 0);
	on_tenant_left(e);
}

/* Sizes are checked because a half-upgraded installation may pair two builds. */
static void on_message(struct gsb_engine_process *e, const struct gsb_msg *m, size_t n)
{
	const struct gsb_ctl_failed *failed = (const void *)m;

	if (m->type == GSB_CTL_READY && n == sizeof(struct gsb_ctl_ready))
		on_engine_ready(e);
	else if (m->type == GSB_CTL_FAILED && n == sizeof(*failed))
		snprintf(e->failure, sizeof(e->failure), "%.*s", (int)sizeof(failed->reason) - 1,
			 failed->reason);
	else if (m->type == GSB_CTL_REFUSED && n == sizeof(struct gsb_ctl_refused))
		on_engine_refused(e, (const void *)m);
	else if (m->type == GSB_CTL_GONE && n == sizeof(struct gsb_ctl_gone))
		on_engine_gone(e, (const void *)m);
	else if (m->type == GSB_CTL_STATUS_REPLY && n >= sizeof(struct gsb_ctl_status_reply))
		on_engine_status(e, (const void *)m);
	else if (m->type != GSB_CTL_ADMITTED)
		gsb_log(GSB_LOG_WARN, TOPIC,
			"%s: message %u of %zu bytes is not known: install gsbrokerd and "
			"gsb-engine from one release",
			e->spec, m->type, n);
}

/* One message. Return: false when there is none to have. */
static bool receive(struct gsb_engine_process *e)
{
	static _Alignas(16) char buf[GSB_CHANNEL_MSG_MAX];
	ssize_t n;

	if (e->control.fd < 0)
		return false;
	n = gsb_channel_recv(e->control.fd, buf, sizeof(buf), NULL, NULL);
	if (n > 0) {
		on_message(e, (const struct gsb_msg *)buf, (size_t)n);
		return true;
	}
	if (n != -EAGAIN) { /* end of file: the process is about to end, or must */
		int fd = e->control.fd;

		gsb_loop_watch_stop(&e->s->loop, &e->control);
		close(fd);
		gsb_timer_set(&e->s->loop, &e->timer, e->s->config->broker.stop_timeout_ms);
	}
	return false;
}

static void on_control(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_engine_process *e = gsb_container_of(w, struct gsb_engine_process, control);

	if (events & EPOLLOUT)
		flush(e);
	if (events & ~(uint32_t)EPOLLOUT)
		receive(e);
}

/* ---- the end of an engine ---- */

static void describe_end(const siginfo_t *info, char *out, size_t size)
{
	if (info->si_code == CLD_EXITED)
		snprintf(out, size, "exited with status %d", info->si_status);
	else
		snprintf(out, size, "was ended by signal %d (%s)", info->si_status,
			 strsignal(info->si_status));
}

static void forget_tenants(struct gsb_engine_process *e)
{
	struct gsb_admitted *t, *next;

	DL_FOREACH_SAFE (e->s->tenants, t, next)
		if (t->engine == e && t->delivered)
			tenant_remove(e->s, t);
}

static void stop_watching(struct gsb_engine_process *e)
{
	struct gsb_loop *l = &e->s->loop;
	int control = e->control.fd, process = e->process.fd;

	gsb_loop_watch_stop(l, &e->control);
	gsb_loop_watch_stop(l, &e->process);
	gsb_timer_clear(l, &e->timer);
	if (control >= 0)
		close(control);
	close(process);
}

/* It ended by itself: its tenants see it by their pidfd; who waited for it is told now. */
static void on_unasked_end(struct gsb_engine_process *e, const char *how)
{
	char why[GSB_REASON_MAX];

	e->n_deaths++;
	e->s->n_engines_died++;
	gsb_log(GSB_LOG_ERROR, TOPIC,
		"%s (pid %d) %s with %u tenants%s%s; death %u; the next tenant gets a new engine",
		e->spec, (int)e->pid, how, tenants_in(e), *e->failure ? ": " : "", e->failure,
		e->n_deaths);
	snprintf(why, sizeof(why), "the engine of %.80s %.50s%s%.100s", e->spec, how,
		 *e->failure ? ": " : "", e->failure);
	refuse_arrivals(e, -ENODEV, why);
}

static bool any_engine_lives(const struct gsb_supervisor *s)
{
	for (unsigned i = 0; i < GSB_ENGINES_MAX; i++)
		if (s->engines[i] && s->engines[i]->state != GSB_ENGINE_DEAD)
			return true;
	return false;
}

static void on_process(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_engine_process *e = gsb_container_of(w, struct gsb_engine_process, process);
	struct gsb_supervisor *s = e->s;
	siginfo_t info = {0};
	char how[80];

	while (receive(e)) /* its last words, FAILED perhaps */
		;
	if (waitid(P_PID, (id_t)e->pid, &info, WEXITED | WNOHANG) < 0 || !info.si_pid)
		return;
	describe_end(&info, how, sizeof(how));
	if (e->state == GSB_ENGINE_STOPPING) {
		gsb_log(GSB_LOG_INFO, TOPIC, "%s (pid %d) %s", e->spec, (int)e->pid, how);
		refuse_arrivals(e, -ESHUTDOWN, "gsbrokerd is shutting down: start it again");
	} else {
		on_unasked_end(e, how);
	}
	stop_watching(e);
	gsb_outbox_clear(&e->out);
	forget_tenants(e);
	e->state = GSB_ENGINE_DEAD;
	e->pid = 0;
	gsb_survey_answer(e, NULL, -EPIPE);
	if (e->only_pid || s->stopping)
		engine_destroy(e);
	if (s->stopping && !any_engine_lives(s))
		gsb_loop_stop(&s->loop);
}

void gsb_engines_stop(struct gsb_supervisor *s, enum gsb_shutdown_how how)
{
	for (unsigned i = 0; i < GSB_ENGINES_MAX; i++) {
		struct gsb_engine_process *e = s->engines[i];

		if (!e)
			continue;
		if (e->state == GSB_ENGINE_DEAD)
			engine_destroy(e);
		else
			send_shutdown(e, how);
	}
	if (!any_engine_lives(s))
		gsb_loop_stop(&s->loop);
}
