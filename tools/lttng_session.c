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

#define SESSION	     "gsbctl"
#define CHANNEL	     "gsb"
#define SUBBUF_BYTES (4u << 20)
#define N_SUBBUFS    4

static const struct lttng_domain ust = {.type = LTTNG_DOMAIN_UST, .buf_type = LTTNG_BUFFER_PER_UID};

static int explain(int err, const char *what, char *why)
{
	snprintf(why, GSB_LTTNG_WHY_MAX, "%s: LTTng says: %s", what, lttng_strerror(err));
	return -EIO;
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

static int begin(bool flight)
{
	struct lttng_domain domain = ust;
	struct lttng_handle *h = lttng_create_handle(SESSION, &domain);
	int err;

	if (!h)
		return -LTTNG_ERR_NOMEM;
	err = enable_channel(h, flight);
	if (err >= 0)
		err = enable_events(h);
	if (err >= 0)
		err = lttng_start_tracing(SESSION);
	lttng_destroy_handle(h);
	return err;
}

int gsb_lttng_start(const char *dir, bool flight, char *why)
{
	char url[4096];
	int err = check_daemon(why);

	if (err)
		return err;
	snprintf(url, sizeof(url), "file://%s", dir);
	err = flight ? lttng_create_session_snapshot(SESSION, url)
		     : lttng_create_session(SESSION, url);
	if (err < 0)
		return explain(err, "the session " SESSION " cannot be made", why);
	err = begin(flight);
	if (err < 0) {
		lttng_destroy_session(SESSION);
		return explain(err, "the session " SESSION " does not begin", why);
	}
	return 0;
}

int gsb_lttng_snapshot(char *why)
{
	int err = check_daemon(why);

	if (err)
		return err;
	err = lttng_snapshot_record(SESSION, NULL, 0);
	return err < 0 ? explain(err, "no snapshot", why) : 0;
}

bool gsb_lttng_is_on(void)
{
	struct lttng_session *all = NULL;
	bool found = false;
	int n = lttng_session_daemon_alive() == 1 ? lttng_list_sessions(&all) : 0;

	for (int i = 0; i < n; i++)
		found |= !strcmp(all[i].name, SESSION);
	free(all);
	return found;
}

static uint64_t count_lost(void)
{
	struct lttng_domain domain = ust;
	struct lttng_handle *h = lttng_create_handle(SESSION, &domain);
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

int gsb_lttng_stop(uint64_t *n_lost, char *why)
{
	int err = lttng_stop_tracing(SESSION);

	if (err < 0 && err != -LTTNG_ERR_TRACE_ALREADY_STOPPED)
		return explain(err, "the session " SESSION " cannot be stopped", why);
	*n_lost = count_lost();
	err = lttng_destroy_session(SESSION);
	return err < 0 ? explain(err, "the session " SESSION " does not end", why) : 0;
}

#else

static int not_built(char *why)
{
	snprintf(why, GSB_LTTNG_WHY_MAX,
		 "this gsbctl was built without liblttng-ctl: use lttng create, lttng enable-event "
		 "-u 'gsb:*', lttng start");
	return -ENOTSUP;
}

int gsb_lttng_start(const char *dir, bool flight, char *why)
{
	return not_built(why);
}

int gsb_lttng_snapshot(char *why)
{
	return not_built(why);
}

bool gsb_lttng_is_on(void)
{
	return false;
}

int gsb_lttng_stop(uint64_t *n_lost, char *why)
{
	return not_built(why);
}

#endif
