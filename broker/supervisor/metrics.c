/*
 * metrics.c - see metrics.h: the socket, who comes, what is asked of engines, and how what they said is laid out.
 *
 * Whoever can open the socket is a stranger. Each has one request of a few KiB and a few seconds for all of it, is told
 * so much, and is gone. When there are as many as there may be, one that is not waited for by us, but we for it, makes room
 * for who comes: so whoever asks at once is answered, however many come and say nothing.
 */
#ifdef HAVE_CONFIG_H
#include <config.h> /* of configure; broker/config/config.h is another */
#endif

#include "broker/supervisor/metrics.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/hurry.h"
#include "base/log.h"
#include "broker/supervisor/exposition.h"
#include "broker/supervisor/http.h"

#define TOPIC	  "metrics"
#define PAGE	  "/metrics"
#define ANSWER_MS 1000 /* for the engines to answer */

/*
 *   READING --request--> WAITING --engines answered--> WRITING --all sent--> DRAINING --end of file--> (gone)
 *      |                                                 ^
 *      +----------------- no such page ------------------+
 */
enum client_state { READING, WAITING, WRITING, DRAINING };

struct gsb_metrics_client {
	struct gsb_metrics *m;
	struct gsb_loop_watch watch;
	struct gsb_timer timer;
	enum client_state state;
	bool no_body;
	char in[GSB_HTTP_REQUEST_MAX];
	size_t n_in;
	char *out; /* head and body */
	size_t n_out, n_sent;
	struct gsb_metrics_client *prev, *next;
};

/* ---- clients ---- */

static void listen_again(struct gsb_metrics *m)
{
	if (m->watch.fd >= 0)
		gsb_loop_watch_change(&m->s->loop, &m->watch, EPOLLIN);
}

static void client_destroy(struct gsb_metrics_client *c)
{
	struct gsb_metrics *m = c->m;
	struct gsb_loop *l = &m->s->loop;
	int fd = c->watch.fd;

	gsb_loop_watch_stop(l, &c->watch);
	gsb_timer_clear(l, &c->timer);
	gsb_hurry_close(fd);
	DL_DELETE(m->clients, c);
	if (m->n_clients-- == GSB_METRICS_CLIENTS_MAX)
		listen_again(m);
	free(c->out);
	free(c);
}

/* Whoever can lose least: what it is owed is sent, or it has not asked, or it does not read. */
static struct gsb_metrics_client *whom_to_drop(const struct gsb_metrics *m)
{
	static const enum client_state order[] = {DRAINING, READING, WRITING};
	struct gsb_metrics_client *c;

	for (size_t i = 0; i < GSB_ARRAY_LEN(order); i++)
		DL_FOREACH (m->clients, c) /* the oldest first */
			if (c->state == order[i])
				return c;
	return NULL; /* all wait for engines, a second at most */
}

static void on_client_slow(struct gsb_timer *t)
{
	client_destroy(gsb_container_of(t, struct gsb_metrics_client, timer));
}

/* Send what the socket takes. What it has not read when we close would be lost: so it closes first. */
static void flush(struct gsb_metrics_client *c)
{
	while (c->n_sent < c->n_out) {
		ssize_t n = send(c->watch.fd, c->out + c->n_sent, c->n_out - c->n_sent,
				 MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0) {
			client_destroy(c);
			return;
		}
		c->n_sent += (size_t)n;
	}
	c->state = DRAINING;
	shutdown(c->watch.fd, SHUT_WR);
	gsb_loop_watch_change(&c->m->s->loop, &c->watch, EPOLLIN);
}

static void answer(struct gsb_metrics_client *c, int status, const char *type, const char *body,
		   size_t n)
{
	char head[GSB_HTTP_HEAD_MAX];
	size_t n_head = gsb_http_head(head, status, type, n);

	if (c->no_body)
		n = 0;
	c->out = malloc(n_head + n);
	if (!c->out) {
		client_destroy(c);
		return;
	}
	memcpy(c->out, head, n_head);
	memcpy(c->out + n_head, body, n);
	c->n_out = n_head + n;
	c->state = WRITING;
	gsb_loop_watch_change(&c->m->s->loop, &c->watch, EPOLLOUT);
	flush(c);
}

static void refuse(struct gsb_metrics_client *c, int status)
{
	static const char text[] = "gsbrokerd serves GET " PAGE " and nothing else.\n";

	answer(c, status, "text/plain; charset=utf-8", text, sizeof(text) - 1);
}

/* ---- what is known ---- */

static unsigned count_devices(const struct gsb_engines *all, struct gsb_exposed_device *out)
{
	const struct gsb_served_engine *e;
	unsigned n = 0, i;

	DL_FOREACH (all->list, e) {
		if (!e->heard || !e->process.pid)
			continue;
		for (i = 0; i < n && strcmp(out[i].spec, e->process.spec) != 0; i++)
			;
		if (i == n)
			n++;
		out[i] = (struct gsb_exposed_device){
			.spec = e->process.spec,
			.free_bytes = e->seen.device_mem_free_bytes,
			.total_bytes = e->seen.device_mem_total_bytes,
			.n_sms = e->seen.n_sms,
		};
		gsb_device_memory_free(&all->memory, &e->process, &out[i].free_bytes,
				       &out[i].total_bytes);
	}
	return n;
}

/* Those that live and have been heard. */
static unsigned list_engines(const struct gsb_engines *all, struct gsb_exposed_engine *out)
{
	const struct gsb_served_engine *e;
	unsigned n = 0;

	DL_FOREACH (all->list, e) {
		if (!e->heard || !e->process.pid)
			continue;
		out[n++] = (struct gsb_exposed_engine){
			.spec = e->process.spec,
			.policy = gsb_config_policy_name(e->process.config.policy),
			.pid = (uint32_t)e->process.pid,
			.uid = e->process.uid,
			.n_tenants = gsb_tenants_of_engine(&all->tenants, e),
			.n_queues_busy = e->seen.n_queues_busy,
			.device_ns = e->seen.device_ns,
			.device_busy_ns = e->seen.device_busy_ns,
			.n_trace_events = e->seen.trace.n_events,
			.n_trace_lost = e->seen.trace.n_lost,
		};
	}
	return n;
}

static void add_now(struct gsb_exposed_tenant *to, const struct gsb_ctl_tenant *row)
{
	to->n_now++;
	to->device_mem_bytes += row->device_mem_bytes;
	to->host_mem_bytes += row->host_mem_bytes;
	to->n_queued += row->queued;
	to->n_in_flight += row->in_flight;
}

/* Those that have left and those that are there, by name; the last is of all others. */
static unsigned list_tenants(const struct gsb_engines *all, struct gsb_exposed_tenant *out)
{
	static struct gsb_totals sums; /* too large for a stack */
	const struct gsb_admitted *t;

	sums = all->totals;
	DL_FOREACH (all->tenants.list, t)
		gsb_totals_add_living(&sums, t->uid, t->name, &t->seen);
	for (unsigned i = 0; i < sums.n; i++)
		out[i] = (struct gsb_exposed_tenant){.sum = sums.at[i].sum};
	out[sums.n] = (struct gsb_exposed_tenant){.sum = sums.others};
	out[sums.n].sum.uid = GSB_HIDDEN;
	DL_FOREACH (all->tenants.list, t)
		add_now(&out[gsb_totals_index(&sums, t->uid, t->name)], &t->seen);
	return sums.n + 1;
}

/* All of it as text. NULL without memory. */
static char *make_text(const struct gsb_metrics *m, size_t *size)
{
	static struct gsb_exposed_tenant tenants[GSB_TOTALS_MAX + 1];
	const struct gsb_supervisor *s = m->s;
	struct gsb_exposed_device *devices = calloc(m->engines->n + 1, sizeof(*devices));
	struct gsb_exposed_engine *engines = calloc(m->engines->n + 1, sizeof(*engines));
	char *text = NULL;
	FILE *f = open_memstream(&text, size);
	struct gsb_exposition x = {
		.broker = {PACKAGE_VERSION, gsb_clock_ns() - s->start_ns, m->engines->tenants.n,
			   s->n_pending, s->n_admitted, s->n_refused, s->n_engines_died,
			   s->n_reloads},
		.devices = devices,
		.engines = engines,
		.tenants = tenants,
	};
	bool failed = !devices || !engines || !f;

	if (!failed) {
		x.n_devices = count_devices(m->engines, devices);
		x.n_engines = list_engines(m->engines, engines);
		x.n_tenants = list_tenants(m->engines, tenants);
		gsb_exposition_write(&x, f);
	}
	if (f && fclose(f))
		failed = true;
	free(devices);
	free(engines);
	if (!failed)
		return text;
	free(text);
	return NULL;
}

/* ---- questions ---- */

static void answer_all(struct gsb_metrics *m)
{
	struct gsb_metrics_client *c, *next;
	size_t n = 0;
	char *text = make_text(m, &n);

	m->asked = 0;
	gsb_timer_clear(&m->s->loop, &m->answer);
	DL_FOREACH_SAFE (m->clients, c, next) {
		if (c->state != WAITING)
			continue;
		if (text)
			answer(c, 200, GSB_EXPOSITION_TYPE, text, n);
		else
			refuse(c, 500);
	}
	free(text);
	listen_again(m); /* those that were answered may be dropped */
}

static void on_engines_slow(struct gsb_timer *t)
{
	answer_all(gsb_container_of(t, struct gsb_metrics, answer));
}

static void on_heard(void *metrics)
{
	struct gsb_metrics *m = metrics;

	if (m->asked && gsb_engines_have_answered(m->engines, m->asked))
		answer_all(m);
}

static void ask(struct gsb_metrics *m)
{
	if (m->asked)
		return;
	m->asked = gsb_engines_ask(m->engines);
	gsb_timer_set(&m->s->loop, &m->answer, ANSWER_MS);
	on_heard(m); /* there may be none */
}

/* As recv(). Descriptors that come along, as they may on a unix socket, are closed as it is received. */
static ssize_t receive(struct gsb_metrics_client *c, void *to, size_t size)
{
	ssize_t n;
	int err;

	gsb_hurry_begin();
	n = recv(c->watch.fd, to, size, MSG_DONTWAIT);
	err = errno;
	gsb_hurry_end();
	errno = err;
	return n;
}

static void read_request(struct gsb_metrics_client *c)
{
	ssize_t n = receive(c, c->in + c->n_in, sizeof(c->in) - c->n_in);
	int status;

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		client_destroy(c);
		return;
	}
	c->n_in += (size_t)n;
	status = gsb_http_parse(c->in, c->n_in, PAGE, &c->no_body);
	if (!status)
		return;
	if (status != 200) {
		refuse(c, status);
		return;
	}
	c->state = WAITING;
	gsb_loop_watch_change(&c->m->s->loop, &c->watch, 0); /* what more it says waits, too */
	ask(c->m);
}

/* It has its answer: only its end is waited for. */
static void drain(struct gsb_metrics_client *c)
{
	char rest[1024];
	ssize_t n = receive(c, rest, sizeof(rest));

	if (n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR)))
		return;
	client_destroy(c);
}

static void on_client(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_metrics_client *c = gsb_container_of(w, struct gsb_metrics_client, watch);

	switch (c->state) {
	case READING: read_request(c); break;
	case WAITING: client_destroy(c); break; /* it is watched for nothing but a hang-up */
	case WRITING: flush(c); break;
	case DRAINING: drain(c); break;
	}
}

static int client_create(struct gsb_metrics *m, int fd)
{
	struct gsb_metrics_client *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->m = m;
	c->watch = (struct gsb_loop_watch){.fd = -1, .on_ready = on_client};
	c->timer.on_time = on_client_slow;
	err = gsb_loop_watch_start(&m->s->loop, &c->watch, fd, EPOLLIN);
	if (err) {
		free(c);
		return err;
	}
	gsb_timer_set(&m->s->loop, &c->timer, GSB_METRICS_CLIENT_MS);
	DL_APPEND(m->clients, c);
	m->n_clients++;
	return 0;
}

static void on_pause_over(struct gsb_timer *t)
{
	struct gsb_metrics *m = gsb_container_of(t, struct gsb_metrics, pause);

	gsb_loop_watch_change(&m->s->loop, &m->watch, EPOLLIN);
}

/* Out of descriptors or memory: the socket would be ready again and again. */
static void look_away(struct gsb_metrics *m)
{
	gsb_log(GSB_LOG_WARN, TOPIC, "no descriptor or no memory for who asks: it waits");
	gsb_loop_watch_change(&m->s->loop, &m->watch, 0);
	gsb_timer_set(&m->s->loop, &m->pause, ANSWER_MS);
}

static bool make_room(struct gsb_metrics *m)
{
	struct gsb_metrics_client *c;

	if (m->n_clients < GSB_METRICS_CLIENTS_MAX)
		return true;
	c = whom_to_drop(m);
	if (c)
		client_destroy(c);
	return c != NULL;
}

static void on_connection(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_metrics *m = gsb_container_of(w, struct gsb_metrics, watch);
	int fd;

	if (!make_room(m)) {
		gsb_loop_watch_change(&m->s->loop, &m->watch, 0);
		return;
	}
	fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0 && (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED))
		return;
	if (fd >= 0 && !client_create(m, fd))
		return;
	gsb_hurry_close(fd);
	look_away(m);
}

/* ---- start and end ---- */

/* One that nobody listens on is left from a broker that was killed. */
static int clear_path(const struct sockaddr_un *sa)
{
	struct stat st;
	int fd, err;

	if (lstat(sa->sun_path, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (!S_ISSOCK(st.st_mode))
		return -EEXIST;
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return -errno;
	err = connect(fd, (const struct sockaddr *)sa, sizeof(*sa)) < 0 ? errno : 0;
	close(fd);
	if (err != ECONNREFUSED)
		return -EADDRINUSE;
	return unlink(sa->sun_path) < 0 ? -errno : 0;
}

static int listen_at(const struct sockaddr *sa, socklen_t size, int *out)
{
	int fd = socket(sa->sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), one = 1, err;

	if (fd < 0)
		return -errno;
	if (sa->sa_family != AF_UNIX)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (bind(fd, sa, size) < 0 || listen(fd, GSB_METRICS_CLIENTS_MAX) < 0) {
		err = -errno;
		close(fd);
		return err;
	}
	*out = fd;
	return 0;
}

/* It is for the user of gsbrokerd and for socket_group. */
static int listen_unix(struct gsb_metrics *m, const char *path, int *out)
{
	const char *name = m->s->config->broker.socket_group;
	const struct group *gr = *name ? getgrnam(name) : NULL;
	struct sockaddr_un sa = {.sun_family = AF_UNIX};
	mode_t old;
	int err;

	snprintf(sa.sun_path, sizeof(sa.sun_path), "%s", path);
	err = clear_path(&sa);
	if (err)
		return err;
	old = umask(0117);
	err = listen_at((const struct sockaddr *)&sa, sizeof(sa), out);
	umask(old);
	if (err)
		return err;
	strcpy(m->path, sa.sun_path);
	return gr && chown(m->path, (uid_t)-1, gr->gr_gid) < 0 ? -errno : 0;
}

/* The address was checked when it was read: broker/config/value.c. */
static int listen_loopback(const char *address, int *out)
{
	uint16_t port = htons((uint16_t)strtoul(strrchr(address, ':') + 1, NULL, 10));
	const struct sockaddr_in in = {
		.sin_family = AF_INET, .sin_port = port, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	const struct sockaddr_in6 in6 = {
		.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = IN6ADDR_LOOPBACK_INIT};

	return *address == '[' ? listen_at((const struct sockaddr *)&in6, sizeof(in6), out)
			       : listen_at((const struct sockaddr *)&in, sizeof(in), out);
}

void gsb_metrics_init(struct gsb_metrics *m, struct gsb_supervisor *s, struct gsb_engines *engines)
{
	*m = (struct gsb_metrics){
		.s = s,
		.engines = engines,
		.watch = {.fd = -1, .on_ready = on_connection},
		.answer.on_time = on_engines_slow,
		.pause.on_time = on_pause_over,
	};
	engines->on_heard = on_heard;
	engines->metrics = m;
}

int gsb_metrics_start(struct gsb_metrics *m)
{
	const char *address = m->s->config->metrics.listen;
	int fd = -1, err;

	if (!*address)
		return 0;
	err = !strncmp(address, "unix:", 5) ? listen_unix(m, address + 5, &fd)
					    : listen_loopback(address, &fd);
	if (!err)
		err = gsb_loop_watch_start(&m->s->loop, &m->watch, fd, EPOLLIN);
	if (!err) {
		gsb_log(GSB_LOG_INFO, TOPIC, "metrics at %s", address);
		return 0;
	}
	gsb_log(GSB_LOG_ERROR, TOPIC,
		"[metrics] listen = %s: %s: give another address, or remove the line", address,
		strerror(-err));
	if (fd >= 0)
		close(fd);
	return err;
}

void gsb_metrics_stop(struct gsb_metrics *m)
{
	int fd = m->watch.fd;

	while (m->clients)
		client_destroy(m->clients);
	gsb_timer_clear(&m->s->loop, &m->answer);
	gsb_timer_clear(&m->s->loop, &m->pause);
	if (fd >= 0) {
		gsb_loop_watch_stop(&m->s->loop, &m->watch);
		gsb_hurry_close(fd);
	}
	if (*m->path && unlink(m->path) < 0)
		gsb_log(GSB_LOG_WARN, TOPIC, "%s could not be removed: %m", m->path);
	*m->path = 0;
}
