/*
 * lttng_session.c - see lttng_session.h.
 */
#include <config.h>

#include "tools/lttng_session.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(HAVE_LTTNG_CTL) && !defined(GSB_NO_LTTNG_CTL)

#include <lttng/lttng.h>

#define CHANNEL	     "gsb"
#define SUBBUF_BYTES (4u << 20)
#define N_SUBBUFS    4

static const struct lttng_domain ust = {.type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_UID};

static int explain(int err, const char *name, const char *what, char *why)
{
	snprintf(why, GSB_LTTNG_WHY_MAX, "the session %s %s: LTTng says: %s", name, what,
		 lttng_strerror(err));
	return -EIO;
}

/* A session's name must be fit for a file's. */
static void name_session(const char *socket, char name[GSB_LTTNG_NAME_MAX])
{
	snprintf(name, GSB_LTTNG_NAME_MAX, "gsbctl%s%s", *socket == '/' ? "" : "-", socket);
	for (char *c = name; (c = strchr(c, '/')); c++)
		*c = '-';
}

static int check_daemon(char *why)
{
	if (lttng_session_daemon_alive() == 1)
		return 0;
	snprintf(why, GSB_LTTNG_WHY_MAX,
		 "no session daemon of LTTng runs: lttng-sessiond --daemonize --no-kernel");
	return -ENOENT;
}

static int enable_channel(struct lttng_handle *h, bool flight)
{
	struct lttng_domain domain = ust;
	struct lttng_channel *c = lttng_channel_create(&domain);
	int err;

	if (!c)
		return -LTTNG_ERR_NOMEM;
	snprintf(c->name, sizeof(c->name), CHANNEL);
	c->attr.overwrite = flight;
	c->attr.subbuf_size = SUBBUF_BYTES;
	c->attr.num_subbuf = N_SUBBUFS;
	err = lttng_enable_channel(h, c);
	lttng_channel_destroy(c);
	return err;
}

static int enable_events(struct lttng_handle *h)
{
	struct lttng_event *e = lttng_event_create();
	int err;

	if (!e)
		return -LTTNG_ERR_NOMEM;
	e->type = LTTNG_EVENT_TRACEPOINT;
	e->loglevel_type = LTTNG_EVENT_LOGLEVEL_ALL;
	snprintf(e->name, sizeof(e->name), "gsb:*");
	err = lttng_enable_event(h, e, CHANNEL);
	lttng_event_destroy(e);
	return err;
}

static int begin(const char *name, bool flight)
{
	struct lttng_domain domain = ust;
	struct lttng_handle *h = lttng_create_handle(name, &domain);
	int err;

	if (!h)
		return -LTTNG_ERR_NOMEM;
	err = enable_channel(h, flight);
	if (err >= 0)
		err = enable_events(h);
	if (err >= 0)
		err = lttng_start_tracing(name);
	lttng_destroy_handle(h);
	return err;
}

int gsb_lttng_start(const char *socket, const char *dir, bool flight, char *why)
{
	char name[GSB_LTTNG_NAME_MAX], url[4096];
	int err = check_daemon(why);

	if (err)
		return err;
	name_session(socket, name);
	snprintf(url, sizeof(url), "file://%s", dir);
	err = flight ? lttng_create_session_snapshot(name, url) : lttng_create_session(name, url);
	if (err < 0)
		return explain(err, name, "cannot be made", why);
	err = begin(name, flight);
	if (err < 0) {
		lttng_destroy_session(name);
		return explain(err, name, "does not begin", why);
	}
	return 0;
}

int gsb_lttng_snapshot(const char *socket, char *why)
{
	char name[GSB_LTTNG_NAME_MAX];
	int err = check_daemon(why);

	if (err)
		return err;
	name_session(socket, name);
	err = lttng_snapshot_record(name, NULL, 0);
	return err < 0 ? explain(err, name, "has no snapshot taken", why) : 0;
}

bool gsb_lttng_is_on(const char *socket)
{
	struct lttng_session *all = NULL;
	char name[GSB_LTTNG_NAME_MAX];
	bool found = false;
	int n = lttng_session_daemon_alive() == 1 ? lttng_list_sessions(&all) : 0;

	name_session(socket, name);
	for (int i = 0; i < n; i++)
		found |= !strcmp(all[i].name, name);
	free(all);
	return found;
}

static uint64_t count_lost(const char *name)
{
	struct lttng_domain domain = ust;
	struct lttng_handle *h = lttng_create_handle(name, &domain);
	struct lttng_channel *all = NULL;
	int n = h ? lttng_list_channels(h, &all) : 0;
	uint64_t sum = 0, lost;

	for (int i = 0; i < n; i++)
		if (!lttng_channel_get_discarded_event_count(&all[i], &lost))
			sum += lost;
	free(all);
	if (h)
		lttng_destroy_handle(h);
	return sum;
}

int gsb_lttng_stop(const char *socket, uint64_t *n_lost, char *why)
{
	char name[GSB_LTTNG_NAME_MAX];
	int err;

	name_session(socket, name);
	err = lttng_stop_tracing(name);
	if (err < 0 && err != -LTTNG_ERR_TRACE_ALREADY_STOPPED)
		return explain(err, name, "cannot be stopped", why);
	*n_lost = count_lost(name);
	err = lttng_destroy_session(name);
	return err < 0 ? explain(err, name, "does not end", why) : 0;
}

#else

static int not_built(char *why)
{
	snprintf(why, GSB_LTTNG_WHY_MAX,
		 "this gsbctl was built without liblttng-ctl: use lttng create, lttng enable-event "
		 "-u 'gsb:*', lttng start");
	return -ENOTSUP;
}

int gsb_lttng_start(const char *socket, const char *dir, bool flight, char *why)
{
	return not_built(why);
}

int gsb_lttng_snapshot(const char *socket, char *why)
{
	return not_built(why);
}

bool gsb_lttng_is_on(const char *socket)
{
	return false;
}

int gsb_lttng_stop(const char *socket, uint64_t *n_lost, char *why)
{
	return not_built(why);
}

#endif
