/*
 * tracing.c - see tracing.h.
 */
#include <config.h> /* of configure; broker/config/config.h is another */

#include "broker/engine/tracing.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/hurry.h"
#include "base/log.h"
#include "broker/engine/admission.h"
#include "broker/engine/engine.h"
#include "broker/engine/tell.h"
#include "broker/engine/trace/trace.h"

void gsb_tracing_state(struct gsb_ctl_trace_state *out)
{
	struct gsb_trace_state s;

	gsb_trace_get_state(&s);
	*out = (struct gsb_ctl_trace_state){
		.recording = s.recording,
		.lttng = s.lttng,
		.error = s.error,
		.n_events = s.n_events,
		.n_lost = s.n_lost,
		.n_bytes = s.n_bytes,
	};
}

static void answer(struct gsb_tracing *t, uint64_t number, int err, const char *reason)
{
	struct gsb_ctl_trace_reply m = {.number = number, .error = err};

	gsb_tracing_state(&m.state);
	snprintf(m.reason, sizeof(m.reason), "%s", reason);
	if (err)
		gsb_log(GSB_LOG_WARN, "trace", "%s", reason);
	t->reply(t, &m);
}

/* Whoever listens or does not any more: tenants stamp their records for them. */
static void tell_tenants(struct gsb_engine *e)
{
	for (int i = 0; i < GSB_N_SLOTS; i++)
		if (e->tenants[i])
			gsb_tenant_trace(e->tenants[i]);
}

static struct gsb_trace_header describe(struct gsb_engine *e)
{
	struct gsb_trace_header about = {
		.device_ns = gsb_engine_now_ns(e),
		.is_virtual = e->scheduler.clock.is_virtual,
		.pid = (uint32_t)getpid(),
		.version = PACKAGE_VERSION,
		.n_sms = e->info->arch.n_sms,
	};

	snprintf(about.device, sizeof(about.device), "%s", e->info->name);
	snprintf(about.policy, sizeof(about.policy), "%s", e->params.policy->name);
	return about;
}

/* ---- to LTTng ---- */

int gsb_tracing_offer(struct gsb_engine *e)
{
	struct gsb_trace_header about = describe(e);
	int err = gsb_trace_offer_lttng(&about, e->ops->now_ns, e->dev);

	gsb_tell_number_all(e);
	tell_tenants(e);
	return err;
}

/* ---- to a file ---- */

static const char *explain_record(int err)
{
	static char room[128];

	switch (err) {
	case 0: return "";
	case -EBUSY:
		return "this engine is recorded or followed already: gsbctl trace stop ends that";
	case -EMFILE:
		return "the engine has no descriptor left: start gsbrokerd with a higher ulimit -n";
	case -EINVAL: return "a trace is written to a plain file or a socket only";
	default:
		snprintf(room, sizeof(room), "the trace cannot be begun: %s", strerror(-err));
		return room;
	}
}

static int record(struct gsb_tracing *t, int file)
{
	struct gsb_engine *e = t->engine;
	struct gsb_trace_header about = describe(e);
	int err = 0;

	if (file < 0)
		return -EMFILE;
	if (t->done.fd < 0) {
		t->done.fd = gsb_trace_done_fd();
		err = t->done.fd < 0 ? t->done.fd : gsb_watches_add(&e->watches, &t->done, EPOLLIN);
	}
	if (err) {
		gsb_hurry_close(file);
		return err;
	}
	err = gsb_trace_record(file, &about);
	if (err)
		return err;
	gsb_tell_all(e);
	tell_tenants(e);
	return 0;
}

/* What a recording has ended with: its file is torn where it is an error. */
static void answer_end(struct gsb_tracing *t, uint64_t number, int err)
{
	char reason[128] = "";

	if (err)
		snprintf(reason, sizeof(reason), "the recording has ended early: %s",
			 strerror(-err));
	answer(t, number, err, reason);
}

static void answer_not_recorded(struct gsb_tracing *t, uint64_t number)
{
	struct gsb_trace_state s;

	gsb_trace_get_state(&s);
	if (s.error)
		answer_end(t, number, s.error);
	else
		answer(t, number, -ENOENT,
		       "this engine is not recorded: gsbctl trace record begins");
}

static void stop(struct gsb_tracing *t, uint64_t number)
{
	if (t->stop_number)
		answer(t, number, -EALREADY,
		       "somebody else has stopped it: its end is being written");
	else if (!gsb_trace_stop())
		answer_not_recorded(t, number);
	else
		t->stop_number = number;
	tell_tenants(t->engine);
}

static void on_done(struct gsb_watch *w, uint32_t events)
{
	struct gsb_tracing *t = gsb_container_of(w, struct gsb_tracing, done);
	struct gsb_trace_state s;
	uint64_t number = t->stop_number;
	bool ended = gsb_trace_collect();

	tell_tenants(t->engine);
	if (!ended || !number)
		return;
	t->stop_number = 0;
	gsb_trace_get_state(&s);
	answer_end(t, number, s.error);
}

void gsb_tracing_ask(struct gsb_tracing *t, const struct gsb_ctl_trace *m, int file)
{
	int err;

	switch (m->what) {
	case GSB_TRACE_WHAT_RECORD:
		err = record(t, file);
		answer(t, m->number, err, explain_record(err));
		return;
	case GSB_TRACE_WHAT_STOP: stop(t, m->number); return;
	case GSB_TRACE_WHAT_LTTNG:
		err = gsb_tracing_offer(t->engine);
		answer(t, m->number, err,
		       err ? "this engine has no LTTng events: its log says why" : "");
		return;
	default: answer(t, m->number, -ENOSYS, "the engine does not know this request");
	}
}

/* ---- life ---- */

void gsb_tracing_init(struct gsb_tracing *t, struct gsb_engine *e,
		      void (*reply)(struct gsb_tracing *t, struct gsb_ctl_trace_reply *m))
{
	*t = (struct gsb_tracing){.engine = e, .done = {-1, on_done}, .reply = reply};
}

void gsb_tracing_finish(struct gsb_tracing *t)
{
	if (t->done.fd >= 0)
		gsb_watches_remove(&t->engine->watches, &t->done);
}
