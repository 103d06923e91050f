/*
 * survey.c - see survey.h.
 *
 * STATUS is put to every engine that is ready, and each answer goes on to the asker as it comes, so
 * that an engine that hangs costs its own row and a second, and nothing else. A connection of gsbctl
 * has a timer all the time: first for the engines, then for itself to read what it asked for.
 */
#include <config.h>

#include "broker/supervisor/survey.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/hurry.h"
#include "base/log.h"
#include "broker/supervisor/admission.h"
#include "broker/supervisor/crowd.h"

#define TOPIC	  "control"
#define ANSWER_MS 1000	/* for the engines to answer */
#define TRACE_MS  12000 /* for an engine to write the end of a trace */
#define READ_MS	  10000 /* for the asker to read */

/* Who does not read keeps a descriptor and its answers, which may be of 256 names, for all of that time. */
#define ASKERS_MAX 64
_Static_assert(ASKERS_MAX < GSB_CROWD_MAX, "there is room for one too many");

struct gsb_asker {
	struct gsb_survey *v;
	struct gsb_loop_watch watch;
	struct gsb_timer timer;
	struct gsb_peer peer;
	bool may_control, sees_all;
	uint64_t number;		       /* of its STATUS or TRACE; 0 = none */
	bool traces;			       /* it is a TRACE, for the only one of unanswered */
	struct gsb_served_engine **unanswered; /* n_unanswered engines that were asked */
	unsigned n_unanswered;
	struct gsb_outbox out;
	bool ending; /* END is in out: close when it is empty */
	struct gsb_asker *prev, *next;
};

static void asker_destroy(struct gsb_asker *c)
{
	struct gsb_loop *l = &c->v->s->loop;
	int fd = c->watch.fd;

	gsb_loop_watch_stop(l, &c->watch);
	gsb_timer_clear(l, &c->timer);
	gsb_outbox_clear(&c->out);
	gsb_hurry_close(fd);
	DL_DELETE(c->v->askers, c);
	c->v->n_askers--;
	free(c->unanswered);
	free(c);
}

/* ---- to the asker ---- */

/* Send what the socket takes; destroys the asker when it has everything, or does not listen. */
static void flush(struct gsb_asker *c)
{
	int err = gsb_outbox_flush(&c->out, c->watch.fd);

	if (err == -EAGAIN)
		gsb_loop_watch_change(&c->v->s->loop, &c->watch, EPOLLIN | EPOLLOUT);
	else if (err || c->ending)
		asker_destroy(c);
	else
		gsb_loop_watch_change(&c->v->s->loop, &c->watch, EPOLLIN);
}

static void push(struct gsb_asker *c, struct gsb_answer *a, enum gsb_answer_kind kind,
		 uint32_t size)
{
	gsb_msg_init(&a->msg, GSB_MSG_CONTROL_REPLY, size);
	a->kind = kind;
	if (gsb_outbox_push(&c->out, &a->msg, NULL, 0))
		gsb_log(GSB_LOG_ERROR, TOPIC, "an answer was lost: out of memory");
}

static void on_asker_slow(struct gsb_timer *t)
{
	asker_destroy(gsb_container_of(t, struct gsb_asker, timer));
}

static void push_end(struct gsb_asker *c, int error, const char *text)
{
	struct gsb_answer_end end = {.error = error};

	snprintf(end.text, sizeof(end.text), "%s", text);
	push(c, &end.answer, GSB_ANSWER_END, sizeof(end));
	c->ending = true;
	c->timer.on_time = on_asker_slow;
	gsb_timer_set(&c->v->s->loop, &c->timer, READ_MS);
}

/* It has nothing more to say: what comes is the end of file, or a client that is not ours. */
static void on_asker(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_asker *c = gsb_container_of(w, struct gsb_asker, watch);

	if (events & ~(uint32_t)EPOLLOUT)
		asker_destroy(c);
	else
		flush(c);
}

/* ---- status ---- */

static void push_broker(struct gsb_asker *c)
{
	const struct gsb_supervisor *s = c->v->s;
	const struct gsb_device_config *d; /* never NULL: a file with another name is refused */
	struct gsb_answer_broker b = {
		.pid = (uint32_t)getpid(),
		.uid = s->uid,
		.up_ns = gsb_clock_ns() - s->start_ns,
		.n_admitted = s->n_admitted,
		.n_refused = s->n_refused,
		.n_engines_died = s->n_engines_died,
		.n_reloads = s->n_reloads,
		.n_tenants = c->v->engines->tenants.n,
		.n_pending = s->n_pending,
		.trace_waits = c->v->engines->waiting_trace.fd >= 0,
		.lttng_waits = gsb_lttng_wishes_has(&c->v->engines->lttng_wishes, c->peer.uid),
	};

	d = gsb_config_device(s->config, &s->config->tenant);
	snprintf(b.device, sizeof(b.device), "%s", d->spec);
	snprintf(b.policy, sizeof(b.policy), "%s", gsb_config_policy_name(d->policy));
	snprintf(b.version, sizeof(b.version), "%s", PACKAGE_VERSION);
	snprintf(b.socket, sizeof(b.socket), "%s", s->socket);
	push(c, &b.answer, GSB_ANSWER_BROKER, sizeof(b));
}

static unsigned arrivals_at(const struct gsb_served_engine *e)
{
	const struct gsb_arrival *a;
	unsigned n = 0;

	DL_COUNT(e->arrivals, a, n);
	return n;
}

/* A hidden engine's tenants are a number. */
static void copy_status(struct gsb_answer_engine *a, const struct gsb_ctl_status_reply *status,
			bool hidden)
{
	uint32_t size = hidden ? sizeof(*status) : status->msg.size;

	memcpy(&a->status, status, size);
	a->status.msg.size = size;
	a->n_tenants = status->n_tenants;
	if (hidden)
		a->status.n_tenants = 0;
}

/* One engine's row, with its own answer, or with the reason why there is none. */
static void push_engine(struct gsb_asker *c, const struct gsb_served_engine *e,
			const struct gsb_ctl_status_reply *status, int error)
{
	static _Alignas(16) char room[GSB_CHANNEL_MSG_MAX];
	struct gsb_answer_engine *a = (struct gsb_answer_engine *)room;
	const struct gsb_engine_process *p = &e->process;
	bool hidden = !c->sees_all && p->uid != c->peer.uid;
	uint32_t size = offsetof(struct gsb_answer_engine, status);

	memset(a, 0, sizeof(*a));
	a->pid = hidden ? GSB_HIDDEN : (uint32_t)p->pid;
	a->uid = hidden ? GSB_HIDDEN : p->uid;
	a->is_hidden = hidden;
	a->state = p->state;
	a->n_waiting = arrivals_at(e);
	a->n_starts = p->n_starts;
	a->n_deaths = p->n_deaths;
	a->error = error;
	a->clock = (uint32_t)p->config.clock;
	snprintf(a->device, sizeof(a->device), "%s", p->spec);
	snprintf(a->policy, sizeof(a->policy), "%s", gsb_config_policy_name(p->config.policy));
	snprintf(a->isolation, sizeof(a->isolation), "%s",
		 gsb_config_isolation_name(p->config.isolation));
	if (status) {
		copy_status(a, status, hidden);
		gsb_device_memory_free(&c->v->engines->memory, p, &a->status.device_mem_free_bytes,
				       &a->status.device_mem_total_bytes);
		size += a->status.msg.size;
	}
	push(c, &a->answer, GSB_ANSWER_ENGINE, size);
}

static void on_engines_slow(struct gsb_timer *t)
{
	struct gsb_asker *c = gsb_container_of(t, struct gsb_asker, timer);

	while (c->n_unanswered)
		push_engine(c, c->unanswered[--c->n_unanswered], NULL, -ETIMEDOUT);
	push_end(c, 0, "");
	flush(c);
}

static void ask_engines(struct gsb_asker *c)
{
	struct gsb_engines *all = c->v->engines;
	struct gsb_ctl_status m = {.number = ++all->last_survey};
	struct gsb_served_engine *e;

	c->number = m.number;
	c->unanswered = calloc(all->n, sizeof(struct gsb_served_engine *));
	gsb_msg_init(&m.msg, GSB_CTL_STATUS, sizeof(m));
	DL_FOREACH (all->list, e) {
		if (e->process.state == GSB_ENGINE_READY && c->unanswered) {
			c->unanswered[c->n_unanswered++] = e;
			gsb_engine_process_send(&e->process, &m.msg, NULL, 0);
		} else {
			push_engine(c, e, NULL, -EAGAIN);
		}
	}
}

static void on_status(struct gsb_asker *c)
{
	push_broker(c);
	ask_engines(c);
	if (!c->n_unanswered) {
		push_end(c, 0, "");
	} else {
		c->timer.on_time = on_engines_slow;
		gsb_timer_set(&c->v->s->loop, &c->timer, ANSWER_MS);
	}
	flush(c);
}

/* Whether e was asked and has not answered; it is taken off the list. */
static bool strike_off(struct gsb_asker *c, const struct gsb_served_engine *e)
{
	for (unsigned i = 0; i < c->n_unanswered; i++)
		if (c->unanswered[i] == e) {
			c->unanswered[i] = c->unanswered[--c->n_unanswered];
			return true;
		}
	return false;
}

/* An engine answered, or will not answer any more (status NULL, error). */
static void on_answer(void *survey, struct gsb_served_engine *e,
		      const struct gsb_ctl_status_reply *status, int error)
{
	struct gsb_survey *v = survey;
	struct gsb_asker *c, *next;

	DL_FOREACH_SAFE (v->askers, c, next) {
		if ((status && (c->traces || c->number != status->number)) || !strike_off(c, e))
			continue;
		if (c->traces) {
			push_end(c, error, "the engine has ended: what it recorded may end early");
			flush(c);
			continue;
		}
		push_engine(c, e, status, error);
		if (!c->n_unanswered)
			push_end(c, 0, "");
		flush(c);
	}
}

/* ---- traces ---- */

static bool may_trace(const struct gsb_asker *c, const struct gsb_served_engine *e)
{
	return c->may_control || e->process.uid == c->peer.uid;
}

/* The engine of that pid, or the only one; *n: how many there are to choose from. */
static struct gsb_served_engine *pick_engine(const struct gsb_asker *c, uint32_t pid, unsigned *n)
{
	struct gsb_served_engine *e, *found = NULL;

	*n = 0;
	DL_FOREACH (c->v->engines->list, e) {
		if (e->process.state != GSB_ENGINE_READY || !may_trace(c, e) ||
		    (pid && pid != (uint32_t)e->process.pid))
			continue;
		found = e;
		++*n;
	}
	return *n == 1 ? found : NULL;
}

static void push_trace(struct gsb_asker *c, uint32_t pid, const struct gsb_ctl_trace_state *state)
{
	struct gsb_answer_trace a = {.pid = pid};

	if (state)
		a.state = *state;
	push(c, &a.answer, GSB_ANSWER_TRACE, sizeof(a));
}

static void on_engine_slow(struct gsb_timer *t)
{
	struct gsb_asker *c = gsb_container_of(t, struct gsb_asker, timer);

	c->n_unanswered = 0;
	push_end(c, -ETIMEDOUT, "the engine still writes: ask gsbctl trace status");
	flush(c);
}

static void ask_engine(struct gsb_asker *c, struct gsb_served_engine *e, enum gsb_trace_what what,
		       int file)
{
	struct gsb_ctl_trace m = {.number = ++c->v->engines->last_survey, .what = what};

	c->unanswered = calloc(1, sizeof(struct gsb_served_engine *));
	if (!c->unanswered) {
		gsb_hurry_close(file);
		push_end(c, -ENOMEM, "gsbrokerd is out of memory");
		return;
	}
	c->number = m.number;
	c->traces = true;
	c->unanswered[c->n_unanswered++] = e;
	gsb_msg_init(&m.msg, GSB_CTL_TRACE, sizeof(m));
	gsb_engine_process_send(&e->process, &m.msg, &file, file >= 0);
	c->timer.on_time = on_engine_slow;
	gsb_timer_set(&c->v->s->loop, &c->timer, TRACE_MS);
}

/* It is of engines that come. */
static void push_later(struct gsb_asker *c)
{
	push_trace(c, 0, NULL);
	push_end(c, 0, "");
}

/* LTTng, of all that he may trace: those that start later are to offer their events, too. False: it has been said why not. */
static bool wish_lttng(struct gsb_asker *c)
{
	if (!gsb_lttng_wishes_add(&c->v->engines->lttng_wishes, c->peer.uid, c->may_control))
		return true;
	push_end(c, -ENOSPC, "too many users have asked for that: trace = 1 in gsbroker.conf");
	return false;
}

static void on_no_lttng(struct gsb_asker *c)
{
	if (gsb_lttng_wishes_remove(&c->v->engines->lttng_wishes, c->peer.uid))
		push_later(c);
	else
		push_end(c, -ENOENT, "you have not asked for that: gsbctl trace lttng does");
	flush(c);
}

/* No engine runs: the next one that may be traced is recorded from its beginning, or that is taken back. */
static void ask_later(struct gsb_asker *c, enum gsb_trace_what what, int file)
{
	struct gsb_waiting_trace *w = &c->v->engines->waiting_trace;
	bool is_own = w->uid == c->peer.uid || c->may_control;

	if (what == GSB_TRACE_WHAT_RECORD &&
	    gsb_waiting_trace_set(w, file, c->peer.uid, c->may_control)) {
		push_end(c, -EBUSY, "a recording waits for the next engine already: stop it first");
	} else if (what == GSB_TRACE_WHAT_STOP && !(w->fd >= 0 && is_own)) {
		push_end(c, -ENOENT, "no engine runs that you may trace: start a tenant first");
	} else {
		if (what == GSB_TRACE_WHAT_STOP)
			gsb_waiting_trace_drop(w);
		push_later(c);
	}
}

static void on_trace(struct gsb_asker *c, const struct gsb_query *q, int file)
{
	enum gsb_trace_what what = (enum gsb_trace_what)(q->what - GSB_QUERY_TRACE_RECORD);
	unsigned n;
	struct gsb_served_engine *e = pick_engine(c, q->how, &n);
	bool is_of_all = what == GSB_TRACE_WHAT_LTTNG && !q->how && n <= 1;

	if (is_of_all && !wish_lttng(c)) {
		flush(c);
		return;
	}
	if (e) {
		ask_engine(c, e, what, file);
	} else if (n || q->how) {
		gsb_hurry_close(file);
		push_end(c, n ? -EINVAL : -ESRCH,
			 n ? "more than one engine runs: name one by --engine PID (gsbctl status)"
			   : "there is no engine of that pid that you may trace (gsbctl status)");
	} else {
		ask_later(c, what, file);
	}
	flush(c);
}

/* An engine has answered. */
static void on_traced(void *survey, struct gsb_served_engine *e,
		      const struct gsb_ctl_trace_reply *m)
{
	struct gsb_survey *v = survey;
	struct gsb_asker *c, *next;

	DL_FOREACH_SAFE (v->askers, c, next) {
		if (!c->traces || c->number != m->number || !strike_off(c, e))
			continue;
		push_trace(c, (uint32_t)e->process.pid, &m->state);
		push_end(c, m->error, m->reason);
		flush(c);
	}
}

/* ---- totals ---- */

static void push_total(struct gsb_asker *c, const struct gsb_total *t)
{
	struct gsb_answer_total a = {.total = *t};

	push(c, &a.answer, GSB_ANSWER_TOTAL, sizeof(a));
}

static void on_totals(struct gsb_asker *c)
{
	const struct gsb_totals *t = &c->v->engines->totals;
	struct gsb_total others = t->others;

	for (unsigned i = 0; i < t->n; i++) {
		if (c->sees_all || t->at[i].sum.uid == c->peer.uid)
			push_total(c, &t->at[i].sum);
		else
			gsb_total_add(&others, &t->at[i].sum);
	}
	others.uid = GSB_HIDDEN;
	if (others.n_left || others.n_refused)
		push_total(c, &others);
	push_end(c, 0, "");
	flush(c);
}

/* ---- reload, shutdown ---- */

static void on_reload(struct gsb_asker *c)
{
	char text[sizeof(((struct gsb_answer_end *)0)->text)];
	int err = c->v->reload(c->v, text, sizeof(text));

	push_end(c, err, text);
	flush(c);
}

static void on_shutdown(struct gsb_asker *c, uint32_t how)
{
	struct gsb_survey *v = c->v;

	gsb_log(GSB_LOG_INFO, TOPIC, "pid %d of uid %u asks for shutdown (%s)", (int)c->peer.pid,
		c->peer.uid, how == GSB_SHUTDOWN_DRAIN ? "drain" : "now");
	push_end(c, 0, "");
	flush(c);
	v->stop(v, how == GSB_SHUTDOWN_DRAIN ? how : GSB_SHUTDOWN_NOW);
}

/* What it may, by who it is. Without its groups it is nobody. */
static void find_rights(struct gsb_asker *c)
{
	const struct gsb_supervisor *s = c->v->s;
	const struct gsb_admission_config *rules = &s->config->admission;
	struct gsb_admission_request r = {.peer = c->peer};
	gid_t *groups;

	if (gsb_peer_groups(c->watch.fd, &groups, &r.n_groups))
		return;
	r.groups = groups;
	c->may_control = gsb_admission_may_control(rules, &r, s->uid);
	c->sees_all = gsb_admission_may_see_all(rules, &r, s->uid);
	free(groups);
}

static void on_query(struct gsb_asker *c, const struct gsb_query *q, int file)
{
	find_rights(c);
	if (q->what == GSB_QUERY_STATUS) {
		on_status(c);
	} else if (q->what == GSB_QUERY_TOTALS) {
		on_totals(c);
	} else if (q->what >= GSB_QUERY_TRACE_RECORD && q->what <= GSB_QUERY_TRACE_LTTNG) {
		on_trace(c, q, file);
	} else if (q->what == GSB_QUERY_TRACE_NO_LTTNG) {
		on_no_lttng(c);
	} else if (!c->may_control) {
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

static int asker_create(struct gsb_survey *v, int fd, const struct gsb_peer *peer,
			struct gsb_asker **out)
{
	struct gsb_asker *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->v = v;
	c->peer = *peer;
	c->watch.on_ready = on_asker;
	err = gsb_loop_watch_start(&v->s->loop, &c->watch, fd, EPOLLIN);
	if (err) {
		free(c);
		return err;
	}
	DL_APPEND(v->askers, c);
	v->n_askers++;
	*out = c;
	return 0;
}

bool gsb_survey_shed(struct gsb_survey *v)
{
	struct gsb_peer peers[GSB_CROWD_MAX];
	struct gsb_asker *c;
	size_t n = 0, at;

	DL_FOREACH (v->askers, c)
		peers[n++] = c->peer;
	if (!n)
		return false;
	at = gsb_crowd_first_to_go(peers, n);
	for (c = v->askers; at; at--)
		c = c->next;
	gsb_uid_log(&v->s->refusals, c->peer.uid, GSB_LOG_WARN, TOPIC,
		    "a request of pid %d of uid %u was dropped: too many are not answered or read "
		    "yet; ask again, one at a time",
		    (int)c->peer.pid, c->peer.uid);
	asker_destroy(c);
	return true;
}

void gsb_survey_query(struct gsb_survey *v, int fd, const struct gsb_peer *peer,
		      const struct gsb_query *q, int file)
{
	struct gsb_asker *c;
	int err = asker_create(v, fd, peer, &c);

	if (!err) {
		if (v->n_askers > ASKERS_MAX) /* it is not the oldest */
			gsb_survey_shed(v);
		on_query(c, q, file);
		return;
	}
	gsb_log(GSB_LOG_WARN, TOPIC, "a request of pid %d was dropped: %s", (int)peer->pid,
		strerror(-err));
	gsb_hurry_close(file);
	gsb_hurry_close(fd);
}

void gsb_survey_init(struct gsb_survey *v, struct gsb_supervisor *s, struct gsb_engines *engines)
{
	*v = (struct gsb_survey){.s = s, .engines = engines};
	engines->on_answer = on_answer;
	engines->on_traced = on_traced;
	engines->survey = v;
}

void gsb_survey_finish(struct gsb_survey *v)
{
	while (v->askers)
		asker_destroy(v->askers);
}
