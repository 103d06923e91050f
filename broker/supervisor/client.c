/*
 * client.c - see client.h.
 */
#include "broker/supervisor/client.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>
#include <utlist.h>

#include "base/compiler.h"
#include "base/hurry.h"
#include "base/log.h"
#include "gsb/tenant_name.h"
#include "broker/supervisor/admission.h"
#include "broker/supervisor/crowd.h"
#include "broker/supervisor/refuse.h"

#define TOPIC "client"

struct gsb_client {
	struct gsb_clients *all;
	struct gsb_loop_watch watch;
	struct gsb_timer timer;
	struct gsb_peer peer;
	int pid_fd; /* of the peer; or -errno */
	struct gsb_client *prev, *next;
};

/* Its socket goes elsewhere: forget the rest of it. Return: the socket. */
static int client_release(struct gsb_client *c)
{
	struct gsb_supervisor *s = c->all->s;
	int fd = c->watch.fd;

	gsb_loop_watch_stop(&s->loop, &c->watch);
	gsb_timer_clear(&s->loop, &c->timer);
	s->n_pending--;
	DL_DELETE(c->all->list, c);
	free(c);
	return fd;
}

static void client_destroy(struct gsb_client *c)
{
	if (c->pid_fd >= 0)
		close(c->pid_fd);
	gsb_hurry_close(client_release(c));
}

static void refuse_and_destroy(struct gsb_client *c, int error, const char *reason)
{
	gsb_refuse(c->all->s, c->watch.fd, &c->peer, error, reason);
	client_destroy(c);
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
	const struct gsb_tenants *tenants = &c->all->engines->tenants;
	struct gsb_admission_request r = {
		.peer = c->peer,
		.n_tenants = gsb_tenants_counting(tenants),
		.n_tenants_of_uid = gsb_tenants_of_uid(tenants, c->peer.uid),
	};
	gid_t *groups;
	int err = gsb_peer_groups(c->watch.fd, &groups, &r.n_groups);

	if (err) {
		snprintf(why, GSB_REASON_MAX, "the groups of uid %u cannot be read: %s",
			 c->peer.uid, strerror(-err));
		return err;
	}
	r.groups = groups;
	err = gsb_admission_check(&c->all->s->config->admission, &r, why);
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
		 "the tenant name must be " GSB_TENANT_NAME_RULE
		 ": check GSB_TENANT or gsbrun --tenant");
	return -EINVAL;
}

/* Without a name of its own a tenant is called after its program. */
static const char *tenant_name(const struct gsb_msg_hello *h)
{
	return *h->tenant ? h->tenant : h->program;
}

static void fill_admit(struct gsb_client *c, const struct gsb_msg_hello *h,
		       struct gsb_ctl_admit *out)
{
	gsb_msg_init(&out->msg, GSB_CTL_ADMIT, sizeof(*out));
	out->pid = (uint32_t)c->peer.pid;
	out->uid = c->peer.uid;
	out->gid = c->peer.gid;
	snprintf(out->tenant, sizeof(out->tenant), "%s", tenant_name(h));
	out->hello = *h;
}

static const char no_descriptor[] =
	"gsbrokerd has no descriptor left: start it with a higher ulimit -n";

/* There is no descriptor of the process: it died meanwhile, it is of a pid namespace that we cannot see, or we have too many. */
static void refuse_unseen(struct gsb_client *c, int err)
{
	if (err == -EMFILE || err == -ENFILE)
		refuse_and_destroy(c, err, no_descriptor);
	else
		refuse_and_destroy(
			c, -ESRCH,
			"gsbrokerd cannot see the process: run both in one pid namespace");
}

/* The socket goes with the arrival: the connection is over for this file. */
static void deliver(struct gsb_client *c, const struct gsb_msg_hello *h)
{
	struct gsb_engines *engines = c->all->engines;
	struct gsb_arrival *a;

	if (c->pid_fd < 0) {
		refuse_unseen(c, c->pid_fd);
		return;
	}
	a = calloc(1, sizeof(*a));
	if (!a) {
		refuse_and_destroy(c, -ENOMEM, "gsbrokerd is out of memory: try again");
		return;
	}
	fill_admit(c, h, &a->admit);
	a->pid_fd = c->pid_fd;
	a->client_fd = client_release(c);
	gsb_engines_deliver(engines, a);
}

static void on_hello(struct gsb_client *c, struct gsb_msg_hello *h)
{
	char why[GSB_REASON_MAX];
	int err;

	if (c->all->s->stopping) {
		refuse_and_destroy(c, -ESHUTDOWN, "gsbrokerd is shutting down: start it again");
		return;
	}
	gsb_engines_end_process(c->all->engines, &c->peer);
	err = check_strings(h, why);
	if (!err)
		err = check_rules(c, why);
	if (!err) {
		deliver(c, h);
		return;
	}
	if (err != -EINVAL) /* else what it calls itself is no name */
		gsb_totals_refused(&c->all->engines->totals, c->peer.uid, tenant_name(h));
	refuse_and_destroy(c, err, why);
}

/* fd: the file of a TRACE_RECORD, else -1. */
static void on_query(struct gsb_client *c, const struct gsb_query *q, int fd)
{
	struct gsb_survey *survey = c->all->survey;
	struct gsb_peer peer = c->peer;

	if (c->pid_fd >= 0)
		close(c->pid_fd);
	gsb_survey_query(survey, client_release(c), &peer, q, fd);
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

	if (err == -EMFILE) /* it has lost the file that is to be written */
		snprintf(why, sizeof(why), "%s", no_descriptor);
	else if (err != -EPROTO && err != -EPROTONOSUPPORT && err != -EMSGSIZE)
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

/* fd: what came with it; else -1. Descriptors that there is no room for are closed as it is received. */
static ssize_t receive(int socket, union first_message *m, int *fd)
{
	unsigned n_fds = 1;
	ssize_t n;

	gsb_hurry_begin();
	n = gsb_channel_recv(socket, m, sizeof(*m), fd, &n_fds);
	gsb_hurry_end();
	if (n < 0 || !n_fds)
		*fd = -1;
	return n;
}

static void on_first_message(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_client *c = gsb_container_of(w, struct gsb_client, watch);
	union first_message m = {0};
	int fd = -1;
	ssize_t n = receive(w->fd, &m, &fd);

	if (n == -EAGAIN)
		return;
	if (n == 0) {
		client_destroy(c); /* a probe: gsbrun looks whether somebody listens */
		return;
	}
	if (n > 0 && m.msg.type == GSB_MSG_HELLO && n == sizeof(m.hello) && fd < 0) {
		on_hello(c, &m.hello);
	} else if (n > 0 && m.msg.type == GSB_MSG_CONTROL && n == sizeof(m.query) &&
		   (fd >= 0) == (m.query.what == GSB_QUERY_TRACE_RECORD)) {
		on_query(c, &m.query, fd);
	} else if (fd >= 0) { /* a descriptor that nobody wants */
		gsb_hurry_close(fd);
		on_bad_message(c, -EMSGSIZE, &m.msg);
	} else {
		on_bad_message(c, n > 0 ? -EPROTO : (int)n, &m.msg);
	}
}

/* ---- those who say nothing ---- */

/* Of those that are silent; NULL: there is none. */
static struct gsb_client *most_dispensable(const struct gsb_clients *cs)
{
	struct gsb_peer peers[GSB_CROWD_MAX];
	struct gsb_client *c;
	size_t n = 0, at;

	DL_FOREACH (cs->list, c)
		if (n < GSB_CROWD_MAX)
			peers[n++] = c->peer;
	if (!n)
		return NULL;
	at = gsb_crowd_first_to_go(peers, n);
	for (c = cs->list; at; at--)
		c = c->next;
	return c;
}

static int client_create(struct gsb_clients *cs, int fd)
{
	struct gsb_supervisor *s = cs->s;
	struct gsb_client *c = calloc(1, sizeof(*c));
	int err = -ENOMEM;

	if (!c)
		return err;
	c->all = cs;
	c->watch = (struct gsb_loop_watch){.fd = -1, .on_ready = on_first_message};
	c->timer.on_time = on_silence;
	err = gsb_channel_peer(fd, &c->peer);
	if (!err)
		err = gsb_loop_watch_start(&s->loop, &c->watch, fd, EPOLLIN);
	if (err) {
		free(c);
		return err;
	}
	err = gsb_channel_peer_pidfd(fd, c->peer.pid, &c->pid_fd);
	if (err)
		c->pid_fd = err; /* gsbctl may ask all the same */
	gsb_timer_set(&s->loop, &c->timer, s->config->broker.hello_timeout_ms);
	DL_APPEND(cs->list, c);
	s->n_pending++;
	return 0;
}

void gsb_clients_add(struct gsb_clients *cs, int fd)
{
	int err = client_create(cs, fd);

	if (err) {
		gsb_log(GSB_LOG_WARN, TOPIC, "a client was dropped: %s", strerror(-err));
		gsb_hurry_close(fd);
		return;
	}
	if (cs->s->n_pending > cs->s->config->broker.pending_max)
		refuse_and_destroy(most_dispensable(cs), -EBUSY,
				   "too many connections without a hello: try again");
}

bool gsb_clients_shed(struct gsb_clients *cs)
{
	struct gsb_client *c = most_dispensable(cs);

	if (c)
		refuse_and_destroy(c, -EMFILE, "gsbrokerd is out of descriptors: try again");
	return c;
}

void gsb_clients_refuse_all(struct gsb_clients *cs, int error, const char *reason)
{
	while (cs->list)
		refuse_and_destroy(cs->list, error, reason);
}

void gsb_clients_finish(struct gsb_clients *cs)
{
	while (cs->list)
		client_destroy(cs->list);
}
