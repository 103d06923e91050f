/*
 * control.c - see control.h. One handler a message; whatever is malformed is logged
 * and dropped, because the peer is our own gsbrokerd of perhaps another build.
 */
#include "broker/engine/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#include "base/hurry.h"
#include "base/log.h"
#include "broker/engine/admission.h"
#include "broker/engine/dismissal.h"
#include "broker/engine/status.h"
#include "broker/engine/tell.h"

#define ADMIT_FDS 2 /* client socket, pidfd */

union message {
	struct gsb_msg msg;
	struct gsb_ctl_admit admit;
	struct gsb_ctl_limits limits;
	struct gsb_ctl_status status;
	struct gsb_ctl_shutdown shutdown;
	struct gsb_ctl_end end;
	struct gsb_ctl_memory recall;
	struct gsb_ctl_memory_grant grant;
	struct gsb_ctl_trace trace;
};

static void init(struct gsb_msg *m, enum gsb_ctl_type type, size_t size)
{
	gsb_msg_init(m, (enum gsb_msg_type)type, (uint32_t)size);
}

/* ---- to gsbrokerd ---- */

/* A message that the socket has had no room for, or a question (GSB_CTL_STATUS) whose answer it has had none for. */
struct gsb_kept_message {
	struct gsb_kept_message *next;
	struct gsb_msg msg; /* and the rest of msg.size bytes */
};

/* Whether that is done with; false: it has to wait for room. A socket that is broken ends the engine. */
static bool send_now(struct gsb_control *c, const struct gsb_msg *m)
{
	return !gsb_channel_may_retry(gsb_channel_send(c->watch.fd, m, NULL, 0));
}

static void want_room(struct gsb_control *c)
{
	gsb_watches_add(&c->engine->watches, &c->watch, EPOLLIN | EPOLLOUT);
}

static void keep(struct gsb_control *c, const struct gsb_msg *m)
{
	struct gsb_kept_message *k = malloc(offsetof(struct gsb_kept_message, msg) + m->size);

	if (!k) {
		gsb_log(GSB_LOG_WARN, "control", "message %u to gsbrokerd is lost: out of memory",
			m->type);
		return;
	}
	k->next = NULL;
	memcpy(&k->msg, m, m->size);
	LL_APPEND(c->kept, k);
	want_room(c);
}

/* What gsbrokerd must hear, in this order. Of an engine that ends it expects no more. */
static void post(struct gsb_control *c, const struct gsb_msg *m)
{
	if ((c->kept || !send_now(c, m)) && !c->finished)
		keep(c, m);
}

static void drop_first(struct gsb_control *c)
{
	struct gsb_kept_message *k = c->kept;

	LL_DELETE(c->kept, k);
	free(k);
}

/* ---- tenants ---- */

static void refuse(struct gsb_control *c, const struct gsb_ctl_admit *a, int client, int err,
		   const char *why)
{
	struct gsb_msg_refused to_client = {.error = err};
	struct gsb_ctl_refused m = {.tenant_id = a->tenant_id, .error = err};

	c->engine->n_refused++;
	gsb_tell_refused(a->tenant_id, a->pid, a->uid, err, why);
	snprintf(to_client.reason, sizeof(to_client.reason), "%s", why);
	snprintf(m.reason, sizeof(m.reason), "%s", why);
	gsb_msg_init(&to_client.msg, GSB_MSG_REFUSED, sizeof(to_client));
	gsb_channel_send(client, &to_client.msg, NULL, 0);
	init(&m.msg, GSB_CTL_REFUSED, sizeof(m));
	post(c, &m.msg);
}

/*
 * It hears so before the client does: whom nobody has answered when an engine ends, it hands to the next. What finds no
 * room would come behind the WELCOME: the client waits for that.
 */
static int say_admitted(struct gsb_engine *e, const struct gsb_tenant *t)
{
	struct gsb_ctl_admitted m = {.tenant_id = t->id, .slot = t->slot};
	struct gsb_control *c = e->owner;

	init(&m.msg, GSB_CTL_ADMITTED, sizeof(m));
	if (!c->kept && send_now(c, &m.msg))
		return 0;
	want_room(c);
	return -EINPROGRESS;
}

/* Another engine is to have it. */
static void pass(struct gsb_control *c, const struct gsb_ctl_admit *a, int err, const char *why)
{
	struct gsb_ctl_refused m = {.tenant_id = a->tenant_id, .error = err};

	snprintf(m.reason, sizeof(m.reason), "%s", why);
	init(&m.msg, GSB_CTL_PASSED, sizeof(m));
	post(c, &m.msg);
}

/* 0, -EINPROGRESS (gsbrokerd's socket has no room: nobody was told), or the -errno with which it was refused. */
static int admit(struct gsb_control *c, const struct gsb_ctl_admit *a, int client, int pidfd)
{
	struct gsb_admission ad = {
		.id = a->tenant_id,
		.pid = a->pid,
		.uid = a->uid,
		.tenant = a->tenant,
		.program = a->hello.program,
		.features_wanted = a->hello.features_wanted,
		.limits = a->limits,
		.socket = client,
		.pidfd = pidfd,
		.before_welcome = say_admitted,
	};
	struct gsb_tenant *t;
	char why[256] = "this broker is about to end; start the program again in a moment";
	int err = c->engine->draining ? -ESHUTDOWN
				      : gsb_tenant_admit(c->engine, &ad, &t, why, sizeof(why));

	if (err && err != -EINPROGRESS)
		refuse(c, a, client, err, why);
	return err;
}

/* ---- who waits for another to be gone, or for gsbrokerd to hear of it ---- */

struct gsb_waiting_admit {
	struct gsb_waiting_admit *next;
	struct gsb_ctl_admit admit;
	int client, pidfd;
};

/*
 * Somebody who is leaving has to be gone first: what this process was before it executed another program, whose
 * memory it may want to have; or anybody, if all places are taken.
 */
static bool must_wait(const struct gsb_engine *e, const struct gsb_ctl_admit *a)
{
	bool is_full = true, leaving = false;

	if (e->draining)
		return false; /* it is refused at once */
	if (e->lost_ns || e->scheduler.stuck)
		return true; /* gsbrokerd takes it back */
	for (int i = 0; i < GSB_N_SLOTS; i++) {
		const struct gsb_tenant *t = e->tenants[i];

		if (!t)
			is_full = false;
		else if (t->state == GSB_TENANT_LEAVING && t->pid == a->pid)
			return true;
		else
			leaving |= t->state == GSB_TENANT_LEAVING;
	}
	return is_full && leaving;
}

static bool wait_in_line(struct gsb_control *c, const struct gsb_ctl_admit *a, int client,
			 int pidfd)
{
	struct gsb_waiting_admit *w = malloc(sizeof(*w));

	if (!w)
		return false;
	*w = (struct gsb_waiting_admit){.admit = *a, .client = client, .pidfd = pidfd};
	LL_APPEND(c->waiting, w);
	return true;
}

/* False: it has to wait. Else it was answered, and its descriptors are its tenant's, or closed. */
static bool admit_now(struct gsb_control *c, const struct gsb_ctl_admit *a, int client, int pidfd)
{
	int err = must_wait(c->engine, a) ? -EINPROGRESS : admit(c, a, client, pidfd);

	if (err == -EINPROGRESS)
		return false;
	if (err) {
		gsb_hurry_close(client);
		close(pidfd);
	}
	return true;
}

static void admit_waiting(struct gsb_control *c)
{
	struct gsb_waiting_admit *w, *next;

	LL_FOREACH_SAFE(c->waiting, w, next)
	{
		if (!admit_now(c, &w->admit, w->client, w->pidfd))
			continue;
		LL_DELETE(c->waiting, w);
		free(w);
	}
}

static void forget(struct gsb_control *c, struct gsb_waiting_admit *w)
{
	LL_DELETE(c->waiting, w);
	gsb_hurry_close(w->client);
	close(w->pidfd);
	free(w);
}

/* They are not answered: gsbrokerd takes them back. */
static void forget_waiting(struct gsb_control *c)
{
	while (c->waiting)
		forget(c, c->waiting);
}

/* It may be an orphan that they wait for. */
static void pass_waiting(struct gsb_control *c)
{
	while (c->waiting) {
		pass(c, &c->waiting->admit, -EBUSY,
		     "what a program left on the device does not end");
		forget(c, c->waiting);
	}
}

static void close_all(const int *fds, unsigned n_fds)
{
	while (n_fds)
		gsb_hurry_close(fds[--n_fds]);
}

static void on_admit(struct gsb_control *c, struct gsb_ctl_admit *a, const int *fds, unsigned n_fds)
{
	a->tenant[sizeof(a->tenant) - 1] = 0;
	a->hello.program[sizeof(a->hello.program) - 1] = 0;
	if (n_fds != ADMIT_FDS) {
		close_all(fds, n_fds);
		pass(c, a, -EMFILE,
		     "the engine has no descriptor left: start gsbrokerd with a higher ulimit -n");
		return;
	}
	fcntl(fds[0], F_SETFL, O_NONBLOCK); /* no send of ours ever waits for a tenant */
	if (admit_now(c, a, fds[0], fds[1]))
		return;
	if (!wait_in_line(c, a, fds[0], fds[1])) {
		close_all(fds, n_fds);
		pass(c, a, -ENOMEM, "the engine has no memory to remember it by");
	} else if (c->engine->orphans.any) {
		pass_waiting(c);
	}
}

/* NULL: it does not wait. */
static struct gsb_waiting_admit *find_waiting(const struct gsb_control *c, uint32_t id)
{
	struct gsb_waiting_admit *w;

	LL_FOREACH (c->waiting, w)
		if (w->admit.tenant_id == id)
			break;
	return w;
}

/* It is over before it has begun. */
static void drop_waiting(struct gsb_control *c, struct gsb_waiting_admit *w)
{
	struct gsb_ctl_gone m = {.tenant_id = w->admit.tenant_id, .reason = GSB_GONE_EXITED};

	forget(c, w);
	init(&m.msg, GSB_CTL_GONE, sizeof(m));
	post(c, &m.msg);
}

static void on_gone(struct gsb_engine *e, const struct gsb_tenant *t)
{
	struct gsb_ctl_gone m = {
		.tenant_id = t->id,
		.reason = t->cut ? GSB_GONE_CUT : GSB_GONE_EXITED,
	};

	gsb_status_row(t, &m.last);
	init(&m.msg, GSB_CTL_GONE, sizeof(m));
	post(e->owner, &m.msg);
	admit_waiting(e->owner);
}

static void on_orphans(struct gsb_engine *e, bool any)
{
	struct gsb_ctl_orphans m = {.any = any};

	init(&m.msg, GSB_CTL_ORPHANS, sizeof(m));
	post(e->owner, &m.msg);
	if (any)
		pass_waiting(e->owner);
}

/* ---- what concerns one tenant ---- */

/* NULL: it has left. */
static struct gsb_tenant *find_tenant(const struct gsb_control *c, uint32_t id)
{
	for (int i = 0; i < GSB_N_SLOTS; i++) {
		struct gsb_tenant *t = c->engine->tenants[i];

		if (t && t->id == id)
			return t;
	}
	return NULL;
}

static void on_end(struct gsb_control *c, const struct gsb_ctl_end *m)
{
	struct gsb_tenant *t = find_tenant(c, m->tenant_id);
	struct gsb_waiting_admit *w = find_waiting(c, m->tenant_id);

	if (t)
		gsb_tenant_leave(t);
	if (w)
		drop_waiting(c, w);
}

static void on_limits(struct gsb_control *c, const struct gsb_ctl_limits *m)
{
	struct gsb_tenant *t = find_tenant(c, m->tenant_id);
	struct gsb_waiting_admit *w = find_waiting(c, m->tenant_id);

	if (t)
		gsb_tenant_relimit(t, &m->limits);
	if (w)
		w->admit.limits = m->limits;
}

/* ---- the engine ---- */

/* As send_now. */
static bool answer(struct gsb_control *c, const struct gsb_ctl_status *m)
{
	struct gsb_ctl_status_reply *r = gsb_status_make(c->engine, m->number);
	bool done = !r || send_now(c, &r->msg);

	free(r);
	return done;
}

/* Many who ask at once fill the socket; who asked waits for its answer, which must not come before a GONE that happened
 * before it. */
static void on_status(struct gsb_control *c, const struct gsb_ctl_status *m)
{
	if (c->kept || !answer(c, m))
		keep(c, &m->msg);
}

static void on_shutdown(struct gsb_control *c, const struct gsb_ctl_shutdown *m)
{
	c->engine->draining = true;
	if (m->how == GSB_SHUTDOWN_NOW)
		c->stop = true;
}

/* ---- device memory ---- */

static struct gsb_control *to_control(struct gsb_grant *g)
{
	struct gsb_engine *e = gsb_container_of(g, struct gsb_engine, grant);

	return e->owner;
}

static bool send_return(struct gsb_control *c)
{
	struct gsb_ctl_memory_return m = {.bytes = c->return_bytes, .recall = c->is_recalled};

	init(&m.msg, GSB_CTL_MEMORY_RETURN, sizeof(m));
	return send_now(c, &m.msg);
}

static bool send_memory(struct gsb_control *c, enum gsb_ctl_type type, uint64_t bytes)
{
	struct gsb_ctl_memory m = {.bytes = bytes, .keeps = c->engine->ops->may_keep};

	init(&m.msg, type, sizeof(m));
	return send_now(c, &m.msg);
}

/* Say what is to be said of memory; what finds no room waits for it. What is asked for counts on what is returned. */
static void tell(struct gsb_control *c)
{
	if (c->must_return && send_return(c)) {
		c->must_return = c->is_recalled = false;
		c->return_bytes = 0;
	}
	if (c->must_ask && !c->must_return && send_memory(c, GSB_CTL_MEMORY_ASK, c->ask_bytes))
		c->must_ask = false;
	if (c->must_return || c->must_ask)
		want_room(c);
}

static void ask(struct gsb_grant *g, uint64_t bytes)
{
	struct gsb_control *c = to_control(g);

	c->must_ask = true;
	c->ask_bytes = bytes;
	tell(c);
}

static void give_back(struct gsb_grant *g, uint64_t bytes, bool is_recalled)
{
	struct gsb_control *c = to_control(g);

	c->must_return = true;
	c->return_bytes += bytes;
	c->is_recalled |= is_recalled;
	tell(c);
}

/* Nothing is granted before gsbrokerd says so. */
static void open_account(struct gsb_control *c)
{
	struct gsb_engine *e = c->engine;

	e->grant =
		(struct gsb_grant){.ask = ask, .give_back = give_back, .reclaim = e->grant.reclaim};
	send_memory(c, GSB_CTL_MEMORY_OPEN, e->info->total_mem_bytes);
}

/* What is on its way to gsbrokerd yet is in what it is told here; what is on its way from there nobody hears. */
static void close_account(struct gsb_control *c)
{
	struct gsb_grant *g = &c->engine->grant;

	gsb_grant_end(g);
	c->must_return = c->must_ask = c->is_recalled = false;
	c->return_bytes = 0;
	send_memory(c, GSB_CTL_MEMORY_LAST, g->used);
}

static void on_grant(struct gsb_control *c, const struct gsb_ctl_memory_grant *m)
{
	if (c->finished)
		return;
	gsb_grant_hear(&c->engine->grant, &(struct gsb_grant_news){
						  .bytes = m->bytes,
						  .free_bytes = m->free_bytes,
						  .keep = m->keep,
						  .is_answer = m->answer,
						  .refused = m->error,
					  });
}

static void on_recall(struct gsb_control *c, const struct gsb_ctl_memory *m)
{
	if (!c->finished)
		gsb_grant_recall(&c->engine->grant, m->keeps);
}

/* ---- the trace ---- */

static void on_traced(struct gsb_tracing *t, struct gsb_ctl_trace_reply *m)
{
	struct gsb_control *c = gsb_container_of(t, struct gsb_control, tracing);

	init(&m->msg, GSB_CTL_TRACE_REPLY, sizeof(*m));
	post(c, &m->msg);
}

/* ---- the socket ---- */

static size_t expected_size(uint16_t type)
{
	switch ((enum gsb_ctl_type)type) {
	case GSB_CTL_ADMIT: return sizeof(struct gsb_ctl_admit);
	case GSB_CTL_LIMITS: return sizeof(struct gsb_ctl_limits);
	case GSB_CTL_STATUS: return sizeof(struct gsb_ctl_status);
	case GSB_CTL_SHUTDOWN: return sizeof(struct gsb_ctl_shutdown);
	case GSB_CTL_END: return sizeof(struct gsb_ctl_end);
	case GSB_CTL_TRACE: return sizeof(struct gsb_ctl_trace);
	case GSB_CTL_MEMORY_GRANT: return sizeof(struct gsb_ctl_memory_grant);
	case GSB_CTL_MEMORY_RECALL: return sizeof(struct gsb_ctl_memory);
	default: return 0;
	}
}

static void dispatch(struct gsb_control *c, union message *m, const int *fds, unsigned n_fds)
{
	switch ((enum gsb_ctl_type)m->msg.type) {
	case GSB_CTL_ADMIT: on_admit(c, &m->admit, fds, n_fds); return;
	case GSB_CTL_TRACE:
		if (n_fds > (m->trace.what == GSB_TRACE_WHAT_RECORD ? 1 : 0))
			break;
		gsb_tracing_ask(&c->tracing, &m->trace, n_fds ? fds[0] : -1);
		return;
	case GSB_CTL_LIMITS: on_limits(c, &m->limits); break;
	case GSB_CTL_STATUS: on_status(c, &m->status); break;
	case GSB_CTL_SHUTDOWN: on_shutdown(c, &m->shutdown); break;
	case GSB_CTL_END: on_end(c, &m->end); break;
	case GSB_CTL_MEMORY_GRANT: on_grant(c, &m->grant); break;
	case GSB_CTL_MEMORY_RECALL: on_recall(c, &m->recall); break;
	default: break;
	}
	close_all(fds, n_fds);
}

/* As send_now. */
static bool send_kept(struct gsb_control *c, const struct gsb_msg *m)
{
	if (m->type == (uint16_t)GSB_CTL_STATUS)
		return answer(c, (const struct gsb_ctl_status *)m);
	return send_now(c, m);
}

static void on_room(struct gsb_control *c)
{
	gsb_watches_add(&c->engine->watches, &c->watch, EPOLLIN);
	while (c->kept && send_kept(c, &c->kept->msg))
		drop_first(c);
	if (c->kept)
		want_room(c);
	tell(c);
	admit_waiting(c);
}

static void on_message(struct gsb_watch *w, uint32_t events)
{
	struct gsb_control *c = gsb_container_of(w, struct gsb_control, watch);
	int fds[ADMIT_FDS];
	union message m;

	if (events & EPOLLOUT)
		on_room(c);
	for (;;) {
		unsigned n_fds = ADMIT_FDS;
		ssize_t n;

		gsb_hurry_begin(); /* a file that there is no number left for is closed */
		n = gsb_channel_recv(w->fd, &m, sizeof(m), fds, &n_fds);
		gsb_hurry_end();

		if (n == -EAGAIN)
			return;
		if (n == -EMFILE) { /* it has lost its descriptors */
			n = m.msg.size;
			n_fds = 0;
		}
		if (n == 0 || n == -ECONNRESET) {
			c->stop = true; /* gsbrokerd is gone, and with it our reason */
			gsb_watches_remove(&c->engine->watches, w);
			return;
		}
		if (n >= 0 && (size_t)n == expected_size(m.msg.type)) {
			dispatch(c, &m, fds, n_fds);
			continue;
		}
		gsb_log(GSB_LOG_ERROR, "control", "a message that this build does not know");
		close_all(fds, n < 0 ? 0 : n_fds);
	}
}

int gsb_control_init(struct gsb_control *c, struct gsb_engine *e, int fd)
{
	struct gsb_ctl_ready m = {.device = *e->info};

	*c = (struct gsb_control){.watch = {fd, on_message}, .engine = e};
	e->on_gone = on_gone;
	e->on_orphans = on_orphans;
	e->owner = c;
	fcntl(fd, F_SETFL, O_NONBLOCK);
	fcntl(fd, F_SETFD, FD_CLOEXEC);
	gsb_tracing_init(&c->tracing, e, on_traced);
	open_account(c);
	init(&m.msg, GSB_CTL_READY, sizeof(m));
	post(c, &m.msg);
	return gsb_watches_add(&e->watches, &c->watch, EPOLLIN);
}

void gsb_control_finish(struct gsb_control *c)
{
	c->engine->draining = true;
	c->finished = true;
	close_account(c);
	gsb_tracing_finish(&c->tracing);
	if (c->engine->scheduler.lost)
		forget_waiting(c);
	admit_waiting(c);
	while (c->kept)
		drop_first(c);
}

void gsb_control_failed(int fd, int err, const char *reason)
{
	struct gsb_ctl_failed m = {.error = err};

	snprintf(m.reason, sizeof(m.reason), "%s", reason);
	init(&m.msg, GSB_CTL_FAILED, sizeof(m));
	gsb_channel_send(fd, &m.msg, NULL, 0);
}

void gsb_control_stuck(int fd)
{
	struct pollfd end = {.fd = fd};
	struct gsb_msg m;

	init(&m, GSB_CTL_STUCK, sizeof(m));
	while (gsb_channel_may_retry(gsb_channel_send(fd, &m, NULL, 0))) {
		struct pollfd room = {.fd = fd, .events = POLLOUT};

		poll(&room, 1, -1);
	}
	while (poll(&end, 1, -1) < 0 || !end.revents) /* there is only the end to hear of */
		;
}
