/*
 * survey.c - answers to gsbctl.
 *
 * STATUS is put to every engine that is ready, and each answer goes on to the asker as it comes, so
 * that an engine that hangs costs its own row and a second, and nothing else. A connection of gsbctl
 * has a timer all the time: first for the engines, then for itself to read what it asked for.
 */
#include <config.h>

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "broker/supervisor/supervisor.h"

#define TOPIC	  "control"
#define ANSWER_MS 1000	/* for the engines to answer */
#define READ_MS	  10000 /* for the asker to read */

/* ---- to the asker ---- */

/* Send what the socket takes; destroys the client when it has everything, or does not listen. */
static void flush(struct gsb_client *c)
{
	int err = gsb_outbox_flush(&c->out, c->watch.fd);

	if (err == -EAGAIN)
		gsb_loop_watch_change(&c->s->loop, &c->watch, EPOLLIN | EPOLLOUT);
	else if (err || c->ending)
		gsb_client_destroy(c);
	else
		gsb_loop_watch_change(&c->s->loop, &c->watch, EPOLLIN);
}

static void push(struct gsb_client *c, struct gsb_answer *a, enum gsb_answer_kind kind,
		 uint32_t size)
{
	gsb_msg_init(&a->msg, GSB_MSG_CONTROL_REPLY, size);
	a->kind = kind;
	if (gsb_outbox_push(&c->out, &a->msg, NULL, 0))
		gsb_log(GSB_LOG_ERROR, TOPIC, "an answer was lost: out of memory");
}

static void on_asker_slow(struct gsb_timer *t)
{
	gsb_client_destroy(gsb_container_of(t, struct gsb_client, timer));
}

static void push_end(struct gsb_client *c, int error, const char *text)
{
	struct gsb_answer_end end = {.error = error};

	snprintf(end.text, sizeof(end.text), "%s", text);
	push(c, &end.answer, GSB_ANSWER_END, sizeof(end));
	c->ending = true;
	c->timer.on_time = on_asker_slow;
	gsb_timer_set(&c->s->loop, &c->timer, READ_MS);
}

/* It has nothing more to say: what comes is the end of file, or a client that is not ours. */
static void on_asker(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_client *c = gsb_container_of(w, struct gsb_client, watch);

	if (events & ~(uint32_t)EPOLLOUT)
		gsb_client_destroy(c);
	else
		flush(c);
}

/* ---- status ---- */

static void push_broker(struct gsb_client *c)
{
	const struct gsb_supervisor *s = c->s;
	const struct gsb_device_config *d; /* never NULL: a file with another name is refused */
	struct gsb_answer_broker b = {
		.pid = (uint32_t)getpid(),
		.uid = s->uid,
		.up_ns = gsb_clock_ns() - s->start_ns,
		.n_admitted = s->n_admitted,
		.n_refused = s->n_refused,
		.n_engines_died = s->n_engines_died,
		.n_reloads = s->n_reloads,
		.n_tenants = s->n_tenants,
		.n_pending = s->n_pending,
	};

	d = gsb_config_device(s->config, &s->config->tenant);
	snprintf(b.device, sizeof(b.device), "%s", d->spec);
	snprintf(b.policy, sizeof(b.policy), "%s", gsb_config_policy_name(d->policy));
	snprintf(b.version, sizeof(b.version), "%s", PACKAGE_VERSION);
	snprintf(b.socket, sizeof(b.socket), "%s", s->socket);
	push(c, &b.answer, GSB_ANSWER_BROKER, sizeof(b));
}

static unsigned arrivals_at(const struct gsb_engine_process *e)
{
	const struct gsb_arrival *a;
	unsigned n = 0;

	DL_COUNT(e->arrivals, a, n);
	return n;
}

/* One engine's row, with its own answer, or with the reason why there is none. */
static void push_engine(struct gsb_client *c, const struct gsb_engine_process *e,
			const struct gsb_ctl_status_reply *status, int error)
{
	static _Alignas(16) char room[GSB_CHANNEL_MSG_MAX];
	struct gsb_answer_engine *a = (struct gsb_answer_engine *)room;
	uint32_t size = offsetof(struct gsb_answer_engine, status);

	memset(a, 0, sizeof(*a));
	a->pid = (uint32_t)e->pid;
	a->uid = e->uid;
	a->state = e->state;
	a->n_waiting = arrivals_at(e);
	a->n_starts = e->n_starts;
	a->n_deaths = e->n_deaths;
	a->error = error;
	a->clock = (uint32_t)e->config.clock;
	snprintf(a->device, sizeof(a->device), "%s", e->spec);
	snprintf(a->policy, sizeof(a->policy), "%s", gsb_config_policy_name(e->config.policy));
	snprintf(a->isolation, sizeof(a->isolation), "%s",
		 e->config.isolation == GSB_ISOLATION_SHARED ? "shared" : "process");
	if (status) {
		memcpy(&a->status, status, status->msg.size);
		size += status->msg.size;
	}
	push(c, &a->answer, GSB_ANSWER_ENGINE, size);
}

static void on_engines_slow(struct gsb_timer *t)
{
	struct gsb_client *c = gsb_container_of(t, struct gsb_client, timer);

	for (unsigned i = 0; i < GSB_ENGINES_MAX; i++)
		if (c->unanswered[i]) {
			push_engine(c, c->s->engines[i], NULL, -ETIMEDOUT);
			c->unanswered[i] = false;
		}
	push_end(c, 0, "");
	flush(c);
}

static void ask_engines(struct gsb_client *c)
{
	struct gsb_supervisor *s = c->s;
	struct gsb_ctl_status m = {.number = ++s->last_survey};

	c->survey = m.number;
	gsb_msg_init(&m.msg, GSB_CTL_STATUS, sizeof(m));
	for (unsigned i = 0; i < GSB_ENGINES_MAX; i++) {
		struct gsb_engine_process *e = s->engines[i];

		if (!e)
			continue;
		if (e->state == GSB_ENGINE_READY) {
			c->unanswered[i] = true;
			c->n_unanswered++;
			gsb_engine_send(e, &m.msg, NULL, 0);
		} else {
			push_engine(c, e, NULL, -EAGAIN);
		}
	}
}

static void on_status(struct gsb_client *c)
{
	push_broker(c);
	ask_engines(c);
	if (!c->n_unanswered) {
		push_end(c, 0, "");
	} else {
		c->timer.on_time = on_engines_slow;
		gsb_timer_set(&c->s->loop, &c->timer, ANSWER_MS);
	}
	flush(c);
}

void gsb_survey_answer(struct gsb_engine_process *e, const struct gsb_ctl_status_reply *status,
		       int error)
{
	struct gsb_client *c, *next;

	DL_FOREACH_SAFE (e->s->clients, c, next) {
		if (!c->unanswered[e->index] || (status && c->survey != status->number))
			continue;
		c->unanswered[e->index] = false;
		push_engine(c, e, status, error);
		if (!--c->n_unanswered)
			push_end(c, 0, "");
		flush(c);
	}
}

/* ---- reload, shutdown ---- */

static bool may_control(struct gsb_client *c)
{
	struct gsb_admission_request r = {.peer = c->peer};
	gid_t *groups;
	bool may;

	if (gsb_peer_groups(c->watch.fd, &groups, &r.n_groups))
		return false;
	r.groups = groups;
	may = gsb_admission_may_control(&c->s->config->admission, &r, c->s->uid);
	free(groups);
	return may;
}

static void on_reload(struct gsb_client *c)
{
	char text[sizeof(((struct gsb_answer_end *)0)->text)];
	int err = gsb_supervisor_reload(c->s, text, sizeof(text));

	push_end(c, err, text);
	flush(c);
}

static void on_shutdown(struct gsb_client *c, uint32_t how)
{
	struct gsb_supervisor *s = c->s;

	gsb_log(GSB_LOG_INFO, TOPIC, "pid %d of uid %u asks for shutdown (%s)", (int)c->peer.pid,
		c->peer.uid, how == GSB_SHUTDOWN_DRAIN ? "drain" : "now");
	push_end(c, 0, "");
	flush(c);
	gsb_supervisor_stop(s, how == GSB_SHUTDOWN_DRAIN ? how : GSB_SHUTDOWN_NOW);
}

void gsb_survey_query(struct gsb_client *c, const struct gsb_query *q)
{
	c->is_control = true;
	c->s->n_pending--;
	c->watch.on_ready = on_asker;
	gsb_timer_clear(&c->s->loop, &c->timer);
	if (q->what == GSB_QUERY_STATUS) {
		on_status(c);
	} else if (!may_control(c)) {
		push_end(c, -EPERM,
			 "only root, the user of gsbrokerd and the groups of control_gid in "
			 "gsbroker.conf may do that");
		flush(c);
	} else if (q->what == GSB_QUERY_RELOAD) {
		on_reload(c);
	} else if (q->what == GSB_QUERY_SHUTDOWN) {
		on_shutdown(c, q->how);
	} else {
		push_end(c, -ENOSYS, "gsbrokerd does not know this request: it is older");
		flush(c);
	}
}
