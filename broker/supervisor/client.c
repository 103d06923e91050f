/*
 * client.c - a connection, from accept until it is handed to an engine, answered or dropped.
 *
 * Whoever connects has hello_timeout_ms to send one message: HELLO of a tenant or CONTROL of gsbctl.
 * At most pending_max connections may be silent at a time; one more costs the process that has most
 * of them, of the user who has most, its oldest, so that nobody can lock another out. What a client
 * sends is hostile: it is one message of a known size, its texts are checked, and a refusal is one
 * sentence to the client and one log line.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <utlist.h>

#include "broker/supervisor/supervisor.h"

#define TOPIC "client"

void gsb_client_destroy(struct gsb_client *c)
{
	int fd = c->watch.fd;

	gsb_loop_watch_stop(&c->s->loop, &c->watch);
	gsb_timer_clear(&c->s->loop, &c->timer);
	gsb_outbox_clear(&c->out);
	if (fd >= 0)
		close(fd);
	if (!c->is_control)
		c->s->n_pending--;
	DL_DELETE(c->s->clients, c);
	free(c);
}

void gsb_refuse(struct gsb_supervisor *s, int fd, pid_t pid, int error, const char *reason)
{
	struct gsb_msg_refused m = {.error = error};

	gsb_msg_init(&m.msg, GSB_MSG_REFUSED, sizeof(m));
	snprintf(m.reason, sizeof(m.reason), "%s", reason);
	gsb_channel_send(fd, &m.msg, NULL, 0); /* a client that is gone need not hear it */
	gsb_log(GSB_LOG_WARN, TOPIC, "pid %d refused: %s", (int)pid, m.reason);
	s->n_refused++;
}

static void refuse_and_destroy(struct gsb_client *c, int error, const char *reason)
{
	gsb_refuse(c->s, c->watch.fd, c->peer.pid, error, reason);
	gsb_client_destroy(c);
}

static void on_silence(struct gsb_timer *t)
{
	struct gsb_client *c = gsb_container_of(t, struct gsb_client, timer);

	refuse_and_destroy(c, -ETIMEDOUT,
			   "no hello arrived within hello_timeout_ms: connect again and send it");
}

/* ---- hello ---- */

static int check_rules(struct gsb_client *c, char why[GSB_REASON_MAX])
{
	struct gsb_admission_request r = {
		.peer = c->peer,
		.n_tenants = c->s->n_tenants,
		.n_tenants_of_uid = gsb_tenants_of(c->s, c->peer.uid),
	};
	gid_t *groups;
	int err = gsb_peer_groups(c->watch.fd, &groups, &r.n_groups);

	if (err) {
		snprintf(why, GSB_REASON_MAX, "the groups of uid %u cannot be read: %s",
			 c->peer.uid, strerror(-err));
		return err;
	}
	r.groups = groups;
	err = gsb_admission_check(&c->s->config->admission, &r, why);
	free(groups);
	return err;
}

/* The strings end, and hold nothing that a terminal or a log would act on. */
static int check_strings(struct gsb_msg_hello *h, char why[GSB_REASON_MAX])
{
	bool named = memchr(h->tenant, 0, sizeof(h->tenant));

	h->tenant[sizeof(h->tenant) - 1] = 0;
	h->program[sizeof(h->program) - 1] = 0;
	for (char *s = h->program; *s; s++)
		if (*s < ' ' || *s > '~')
			*s = '?';
	if (named && (!*h->tenant || gsb_tenant_name_ok(h->tenant)))
		return 0;
	snprintf(why, GSB_REASON_MAX,
		 "the tenant name must be 1 to %d letters, digits and any of _-.@:+: check "
		 "GSB_TENANT or gsbrun --tenant",
		 GSB_TENANT_NAME_MAX - 1);
	return -EINVAL;
}

/* Without a name of its own a tenant is called after its program. */
static const char *tenant_name(const struct gsb_msg_hello *h)
{
	return *h->tenant ? h->tenant : h->program;
}

static int find_device(struct gsb_client *c, const struct gsb_tenant_config *t,
		       const struct gsb_device_config **out, char why[GSB_REASON_MAX])
{
	*out = gsb_config_device(c->s->config, t);
	if (*out)
		return 0;
	snprintf(why, GSB_REASON_MAX, "device %s of tenant '%.63s' is no longer configured",
		 t->device, t->name);
	return -ENODEV;
}

static void fill_admit(struct gsb_client *c, const struct gsb_msg_hello *h,
		       const struct gsb_tenant_config *t, struct gsb_ctl_admit *out)
{
	gsb_msg_init(&out->msg, GSB_CTL_ADMIT, sizeof(*out));
	out->pid = (uint32_t)c->peer.pid;
	out->uid = c->peer.uid;
	out->gid = c->peer.gid;
	snprintf(out->tenant, sizeof(out->tenant), "%s", tenant_name(h));
	gsb_tenant_limits(t, &out->limits);
	out->hello = *h;
}

/* The socket goes with the arrival: the connection is over for this file. */
static void deliver(struct gsb_client *c, const struct gsb_msg_hello *h,
		    const struct gsb_tenant_config *t, const struct gsb_device_config *d)
{
	struct gsb_supervisor *s = c->s;
	struct gsb_arrival *a = calloc(1, sizeof(*a));
	int err;

	if (!a) {
		refuse_and_destroy(c, -ENOMEM, "gsbrokerd is out of memory: try again");
		return;
	}
	err = gsb_pidfd_open(c->peer.pid, &a->pid_fd);
	if (err) { /* it died meanwhile, or it is of a pid namespace that we cannot see */
		free(a);
		refuse_and_destroy(c, err,
				   "gsbrokerd cannot see the process: run both in one pid "
				   "namespace");
		return;
	}
	fill_admit(c, h, t, &a->admit);
	a->client_fd = c->watch.fd;
	gsb_loop_watch_stop(&s->loop, &c->watch);
	gsb_client_destroy(c);
	gsb_engine_deliver(s, a, d);
}

static void on_hello(struct gsb_client *c, struct gsb_msg_hello *h)
{
	const struct gsb_tenant_config *t;
	const struct gsb_device_config *d = NULL;
	char why[GSB_REASON_MAX];
	int err;

	if (c->s->stopping) {
		refuse_and_destroy(c, -ESHUTDOWN, "gsbrokerd is shutting down: start it again");
		return;
	}
	err = check_strings(h, why);
	if (!err)
		err = check_rules(c, why);
	t = gsb_config_tenant(c->s->config, tenant_name(h));
	if (!err)
		err = find_device(c, t, &d, why);
	if (err)
		refuse_and_destroy(c, err, why);
	else
		deliver(c, h, t, d);
}

/* ---- the first message ---- */

/* Room for what a client may send first. */
union first_message {
	struct gsb_msg msg;
	struct gsb_msg_hello hello;
	struct gsb_query query;
};

static void on_bad_message(struct gsb_client *c, int err, const struct gsb_msg *m)
{
	char why[GSB_REASON_MAX];

	if (err != -EPROTO && err != -EPROTONOSUPPORT && err != -EMSGSIZE)
		snprintf(why, sizeof(why), "receiving failed: %s", strerror(-err));
	else if (m->magic != GSB_WIRE_MAGIC)
		snprintf(why, sizeof(why),
			 "the first message has magic %#llx, gsbroker's is %#llx: connect with "
			 "libgsbroker.so or gsbctl of this machine",
			 (unsigned long long)m->magic, (unsigned long long)GSB_WIRE_MAGIC);
	else if (err == -EPROTONOSUPPORT)
		snprintf(why, sizeof(why),
			 "the library speaks version %u.%u, gsbrokerd %u.%u: install both from one "
			 "release and restart the program",
			 m->major, m->minor, (unsigned)GSB_WIRE_MAJOR, (unsigned)GSB_WIRE_MINOR);
	else
		snprintf(why, sizeof(why),
			 "the first message (type %u, %u bytes) is neither a hello nor a request "
			 "of version %u.%u, or carries descriptors: install one release",
			 m->type, m->size, (unsigned)GSB_WIRE_MAJOR, (unsigned)GSB_WIRE_MINOR);
	refuse_and_destroy(c, err, why);
}

static void on_first_message(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_client *c = gsb_container_of(w, struct gsb_client, watch);
	union first_message m = {0};
	ssize_t n = gsb_channel_recv(w->fd, &m, sizeof(m), NULL, NULL);

	if (n == -EAGAIN)
		return;
	if (n == 0) {
		gsb_client_destroy(c); /* a probe: gsbrun looks whether somebody listens */
		return;
	}
	if (n > 0 && m.msg.type == GSB_MSG_HELLO && n == sizeof(m.hello))
		on_hello(c, &m.hello);
	else if (n > 0 && m.msg.type == GSB_MSG_CONTROL && n == sizeof(m.query))
		gsb_survey_query(c, &m.query);
	else
		on_bad_message(c, n > 0 ? -EPROTO : (int)n, &m.msg);
}

/* ---- accept ---- */

/* How many connections this user has that are silent, and how many of them this process. */
struct pending {
	unsigned of_user, of_process;
};

static struct pending pending_beside(const struct gsb_supervisor *s, const struct gsb_peer *peer)
{
	const struct gsb_client *c;
	struct pending n = {0};

	DL_FOREACH (s->clients, c) {
		if (c->is_control || c->peer.uid != peer->uid)
			continue;
		n.of_user++;
		n.of_process += c->peer.pid == peer->pid;
	}
	return n;
}

/* The oldest connection of the process that has most, of the user who has most. The list is in order of arrival. */
static struct gsb_client *most_dispensable(const struct gsb_supervisor *s)
{
	struct gsb_client *c, *worst = NULL;
	struct pending most = {0};

	DL_FOREACH (s->clients, c) {
		struct pending n;

		if (c->is_control)
			continue;
		n = pending_beside(s, &c->peer);
		if (n.of_user > most.of_user ||
		    (n.of_user == most.of_user && n.of_process > most.of_process)) {
			most = n;
			worst = c;
		}
	}
	return worst;
}

static int client_create(struct gsb_supervisor *s, int fd)
{
	struct gsb_client *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	if (!c)
		return err;
	c->s = s;
	c->watch = (struct gsb_loop_watch){.fd = -1, .on_ready = on_first_message};
	c->timer.on_time = on_silence;
	err = gsb_channel_peer(fd, &c->peer);
	if (!err)
		err = gsb_loop_watch_start(&s->loop, &c->watch, fd, EPOLLIN);
	if (err) {
		free(c);
		return err;
	}
	gsb_timer_set(&s->loop, &c->timer, s->config->broker.hello_timeout_ms);
	DL_APPEND(s->clients, c);
	s->n_pending++;
	return 0;
}

#define ACCEPT_PAUSE_MS 200

static void on_accept_pause_over(struct gsb_timer *t)
{
	struct gsb_supervisor *s = gsb_container_of(t, struct gsb_supervisor, accept_pause);

	gsb_loop_watch_change(&s->loop, &s->listener, EPOLLIN);
}

/* Out of descriptors: the listener would be ready again and again, so make room or look away. */
static void on_accept_failed(struct gsb_supervisor *s)
{
	struct gsb_client *c;

	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return;
	gsb_log(GSB_LOG_WARN, TOPIC, "accept failed: %m; the client waits");
	c = most_dispensable(s);
	if (c) {
		refuse_and_destroy(c, -EMFILE, "gsbrokerd is out of descriptors: try again");
		return;
	}
	gsb_loop_watch_change(&s->loop, &s->listener, 0);
	s->accept_pause.on_time = on_accept_pause_over;
	gsb_timer_set(&s->loop, &s->accept_pause, ACCEPT_PAUSE_MS);
}

void gsb_client_accept(struct gsb_loop_watch *listener, uint32_t events)
{
	struct gsb_supervisor *s = gsb_container_of(listener, struct gsb_supervisor, listener);
	int fd = accept4(listener->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	int err;

	if (fd < 0) {
		on_accept_failed(s);
		return;
	}
	err = client_create(s, fd);
	if (err) {
		gsb_log(GSB_LOG_WARN, TOPIC, "a client was dropped: %s", strerror(-err));
		close(fd);
		return;
	}
	if (s->n_pending > s->config->broker.pending_max)
		refuse_and_destroy(most_dispensable(s), -EBUSY,
				   "too many connections without a hello: try again");
}
