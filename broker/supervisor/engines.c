/*
 * engines.c - see engines.h.
 */
#include "broker/supervisor/engines.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/hurry.h"
#include "base/log.h"
#include "broker/supervisor/refuse.h"

#define TOPIC		  "engine"
#define GSB_SHUTTING_DOWN "gsbrokerd is shutting down: start it again"

void gsb_engines_relimit(struct gsb_engines *all)
{
	struct gsb_ctl_limits m = {0};
	struct gsb_admitted *t;

	gsb_msg_init(&m.msg, GSB_CTL_LIMITS, sizeof(m));
	DL_FOREACH (all->tenants.list, t) {
		gsb_tenant_limits(gsb_config_tenant(all->s->config, t->name), &m.limits);
		if (!t->delivered || !memcmp(&m.limits, &t->limits, sizeof(m.limits)))
			continue;
		t->limits = m.limits;
		m.tenant_id = t->id;
		gsb_engine_process_send(&t->engine->process, &m.msg, NULL, 0);
	}
}

/* ---- arrivals ---- */

static void free_arrival(struct gsb_arrival *a)
{
	gsb_hurry_close(a->client_fd);
	close(a->pid_fd);
	free(a);
}

/* e may be NULL: no engine could be made. */
static void refuse_arrival(struct gsb_engines *all, struct gsb_served_engine *e,
			   struct gsb_arrival *a, int error, const char *reason)
{
	struct gsb_admitted *t = e ? gsb_tenants_find(&all->tenants, e, a->admit.tenant_id) : NULL;
	struct gsb_peer peer = {.pid = (pid_t)a->admit.pid, .uid = a->admit.uid};

	gsb_refuse(all->s, a->client_fd, &peer, error, reason);
	gsb_totals_refused(&all->totals, peer.uid, a->admit.tenant);
	if (t)
		gsb_tenants_remove(&all->tenants, t);
	free_arrival(a);
}

static void refuse_arrivals(struct gsb_served_engine *e, int error, const char *reason)
{
	struct gsb_arrival *a, *next;

	DL_FOREACH_SAFE (e->arrivals, a, next) {
		DL_DELETE(e->arrivals, a);
		refuse_arrival(e->all, e, a, error, reason);
	}
}

/* t has not been handed over: it never will be. */
static void drop_arrival(struct gsb_admitted *t)
{
	struct gsb_arrival *a, *next;

	DL_FOREACH_SAFE (t->engine->arrivals, a, next) {
		if (a->admit.tenant_id != t->id)
			continue;
		DL_DELETE(t->engine->arrivals, a);
		free_arrival(a);
	}
}

static void end_tenant(struct gsb_engines *all, struct gsb_admitted *t)
{
	struct gsb_ctl_end m = {.tenant_id = t->id};

	gsb_uid_log(&all->s->goings, t->uid, GSB_LOG_INFO, TOPIC,
		    "tenant %u '%s' (pid %d) has become another program", t->id, t->name,
		    (int)t->pid);
	if (!t->delivered) {
		drop_arrival(t);
		gsb_tenants_remove(&all->tenants, t);
		return;
	}
	gsb_msg_init(&m.msg, GSB_CTL_END, sizeof(m));
	gsb_engine_process_send(&t->engine->process, &m.msg, NULL, 0);
	t->ending = true;
}

void gsb_engines_end_process(struct gsb_engines *all, const struct gsb_peer *peer)
{
	struct gsb_admitted *t, *next;

	DL_FOREACH_SAFE (all->tenants.list, t, next)
		if (t->pid == peer->pid && t->uid == peer->uid && !t->ending)
			end_tenant(all, t);
}

/* It has given up: nobody is to be started for it. */
static bool has_hung_up(const struct gsb_arrival *a)
{
	struct pollfd fd = {.fd = a->client_fd};

	return poll(&fd, 1, 0) > 0;
}

static void drop_hung_up(struct gsb_served_engine *e)
{
	struct gsb_arrival *a, *next;

	DL_FOREACH_SAFE (e->arrivals, a, next) {
		struct gsb_admitted *t = gsb_tenants_find(&e->all->tenants, e, a->admit.tenant_id);

		if (!has_hung_up(a))
			continue;
		gsb_uid_log(&e->all->s->goings, t->uid, GSB_LOG_INFO, TOPIC,
			    "tenant %u '%s' did not wait for its engine", t->id, t->name);
		drop_arrival(t);
		gsb_tenants_remove(&e->all->tenants, t);
	}
}

static int duplicate(const struct gsb_arrival *a, int fds[2])
{
	fds[0] = fcntl(a->client_fd, F_DUPFD_CLOEXEC, 0);
	fds[1] = fds[0] < 0 ? -1 : fcntl(a->pid_fd, F_DUPFD_CLOEXEC, 0);
	if (fds[1] >= 0)
		return 0;
	if (fds[0] >= 0)
		close(fds[0]);
	return -EMFILE;
}

static void hand_over(struct gsb_served_engine *e, struct gsb_arrival *a)
{
	struct gsb_admitted *t = gsb_tenants_find(&e->all->tenants, e, a->admit.tenant_id);
	int fds[2];

	if (duplicate(a, fds)) {
		refuse_arrival(e->all, e, a, -EMFILE,
			       "gsbrokerd has no descriptors left: raise its limit");
		return;
	}
	gsb_tenant_limits(gsb_config_tenant(e->all->s->config, t->name), &t->limits);
	a->admit.limits = t->limits;
	t->delivered = true;
	t->survey = e->all->last_survey;
	e->all->s->n_admitted++;
	gsb_uid_log(&e->all->s->comings, t->uid, GSB_LOG_INFO, TOPIC,
		    "tenant %u '%s' (pid %u, uid %u) goes to the engine of %s", t->id,
		    a->admit.tenant, a->admit.pid, a->admit.uid, e->process.spec);
	a->n_handed++;
	DL_APPEND(e->handed, a);
	gsb_engine_process_send(&e->process, &a->admit.msg, fds, 2);
}

static void hand_over_all(struct gsb_served_engine *e)
{
	struct gsb_arrival *a, *next;

	DL_FOREACH_SAFE (e->arrivals, a, next) {
		DL_DELETE(e->arrivals, a);
		hand_over(e, a);
	}
}

/* NULL: the engine has answered. Else it may wait there for another to be gone. */
static struct gsb_arrival *find_handed(const struct gsb_served_engine *e, uint32_t tenant_id)
{
	struct gsb_arrival *a;

	DL_FOREACH (e->handed, a)
		if (a->admit.tenant_id == tenant_id)
			break;
	return a;
}

static void on_answered(struct gsb_served_engine *e, uint32_t tenant_id)
{
	struct gsb_arrival *a = find_handed(e, tenant_id);

	if (!a)
		return;
	DL_DELETE(e->handed, a);
	free_arrival(a);
}

static unsigned n_handed(const struct gsb_served_engine *e)
{
	const struct gsb_arrival *a;
	unsigned n;

	DL_COUNT(e->handed, a, n);
	return n;
}

#define HANDED_MAX 3 /* engines that do not take it in */

/* The engine does not take it in. Return: whether it may go to the next: it is no tenant until then. */
static bool take_back(struct gsb_served_engine *e, struct gsb_arrival *a)
{
	struct gsb_admitted *t = gsb_tenants_find(&e->all->tenants, e, a->admit.tenant_id);

	DL_DELETE(e->handed, a);
	e->all->s->n_admitted--;
	if (!t || t->ending || a->n_handed >= HANDED_MAX || has_hung_up(a))
		return false;
	gsb_tenants_remove(&e->all->tenants, t);
	return true;
}

/* The engine has ended. Return: whom it has not answered, and who goes to the next; others are refused with the reason. */
static struct gsb_arrival *take_all_back(struct gsb_served_engine *e, int error, const char *why)
{
	struct gsb_arrival *a, *next, *back = NULL;

	DL_FOREACH_SAFE (e->handed, a, next)
		if (take_back(e, a) && error != -ESHUTDOWN)
			DL_APPEND(back, a);
		else
			refuse_arrival(e->all, e, a, error, why);
	return back;
}

static void deliver_all(struct gsb_engines *all, struct gsb_arrival *list)
{
	struct gsb_arrival *a, *next;

	DL_FOREACH_SAFE (list, a, next) {
		DL_DELETE(list, a);
		gsb_engines_deliver(all, a);
	}
}

/* ---- what is asked of engines ---- */

uint64_t gsb_engines_ask(struct gsb_engines *all)
{
	struct gsb_ctl_status m = {.number = ++all->last_survey};
	struct gsb_served_engine *e;

	gsb_msg_init(&m.msg, GSB_CTL_STATUS, sizeof(m));
	DL_FOREACH (all->list, e) {
		if (e->process.state != GSB_ENGINE_READY)
			continue;
		e->asked = m.number;
		gsb_engine_process_send(&e->process, &m.msg, NULL, 0);
	}
	return m.number;
}

bool gsb_engines_have_answered(const struct gsb_engines *all, uint64_t number)
{
	const struct gsb_served_engine *e;

	DL_FOREACH (all->list, e)
		if (e->process.state == GSB_ENGINE_READY && e->asked == number && e->heard < number)
			return false;
	return true;
}

/* ---- what an engine says ---- */

static unsigned tenants_in(const struct gsb_served_engine *e)
{
	return gsb_tenants_of_engine(&e->all->tenants, e);
}

#define DEAD_MS 60000 /* what an engine's death leaves is shown so long, if engines stay */

/* It has no tenant now: that may last idle_timeout_ms. */
static void set_idle(struct gsb_served_engine *e)
{
	uint64_t ms = e->all->s->config->broker.idle_timeout_ms;

	if (e->process.state == GSB_ENGINE_DEAD && !ms)
		ms = DEAD_MS;
	if (ms)
		gsb_timer_set(&e->all->s->loop, &e->idle, ms);
}

/* An engine of one process ends with it; others may have a next tenant. */
static void on_tenant_left(struct gsb_served_engine *e)
{
	if (tenants_in(e) || e->process.state != GSB_ENGINE_READY)
		return;
	if (e->only_pid)
		gsb_engine_process_shutdown(&e->process, GSB_SHUTDOWN_NOW);
	else if (!e->idle.at_ns) /* who only asks for status does not keep it */
		set_idle(e);
}

static void ask_to_trace(struct gsb_served_engine *e, enum gsb_trace_what what, int file)
{
	struct gsb_ctl_trace m = {.what = what};

	gsb_msg_init(&m.msg, GSB_CTL_TRACE, sizeof(m));
	gsb_engine_process_send(&e->process, &m.msg, &file, file >= 0);
}

/* Messages keep their order: it records before it hears of its first tenant. */
static void trace_from_beginning(struct gsb_served_engine *e)
{
	int file = gsb_waiting_trace_take(&e->all->waiting_trace, e->process.uid);

	if (gsb_lttng_wishes_want(&e->all->lttng_wishes, e->process.uid))
		ask_to_trace(e, GSB_TRACE_WHAT_LTTNG, -1);
	if (file >= 0)
		ask_to_trace(e, GSB_TRACE_WHAT_RECORD, file);
}

/* Nobody is woken for nothing. */
static void stop_patience(struct gsb_engines *all)
{
	const struct gsb_served_engine *e;

	DL_FOREACH (all->list, e)
		if (e->arrivals)
			return;
	gsb_timer_clear(&all->s->loop, &all->patience);
}

static void on_ready(struct gsb_served_engine *e)
{
	struct gsb_engine_process *p = &e->process;

	if (p->state != GSB_ENGINE_STARTING)
		return;
	gsb_timer_clear(&p->s->loop, &p->timer);
	p->state = GSB_ENGINE_READY;
	gsb_starts_over(&e->all->starts, &e->start);
	trace_from_beginning(e);
	gsb_log(GSB_LOG_INFO, TOPIC, "%s (pid %d) is ready", p->spec, (int)p->pid);
	drop_hung_up(e);
	hand_over_all(e);
	stop_patience(e->all);
	on_tenant_left(e); /* whoever it was started for may be gone */
}

static void on_failed(struct gsb_engine_process *p, const struct gsb_ctl_failed *m)
{
	snprintf(p->failure, sizeof(p->failure), "%.*s", (int)sizeof(m->reason) - 1, m->reason);
	p->no_room = m->error == -EBUSY || m->error == -ENOMEM;
}

static void on_stuck(struct gsb_engine_process *p)
{
	snprintf(p->failure, sizeof(p->failure), "a kernel of it does not end");
	gsb_engine_process_kill(p);
}

static void on_orphans(struct gsb_served_engine *e, const struct gsb_ctl_orphans *m)
{
	e->avoided = m->any;
	gsb_log(GSB_LOG_INFO, TOPIC, "%s (pid %d): %s", e->process.spec, (int)e->process.pid,
		e->avoided
			? "what a program left on the device does not end: who comes gets another engine"
			: "what a program left on the device has ended: who comes is served again");
}

static void on_refused(struct gsb_served_engine *e, const struct gsb_ctl_refused *m)
{
	struct gsb_admitted *t = gsb_tenants_find(&e->all->tenants, e, m->tenant_id);
	char line[512];

	on_answered(e, m->tenant_id);
	if (!t)
		return;
	snprintf(line, sizeof(line), "tenant %u '%s' was refused by the engine of %s: %.255s",
		 t->id, t->name, e->process.spec, m->reason);
	gsb_refuse_note(e->all->s, t->uid, line);
	gsb_totals_refused(&e->all->totals, t->uid, t->name);
	e->all->s->n_admitted--;
	gsb_tenants_remove(&e->all->tenants, t);
	on_tenant_left(e);
}

static void on_passed(struct gsb_served_engine *e, const struct gsb_ctl_refused *m)
{
	struct gsb_arrival *a = find_handed(e, m->tenant_id);

	if (!a)
		return;
	gsb_uid_log(&e->all->s->comings, a->admit.uid, GSB_LOG_INFO, TOPIC,
		    "tenant %u '%s' is not taken in by %s (pid %d): %.255s", m->tenant_id,
		    a->admit.tenant, e->process.spec, (int)e->process.pid, m->reason);
	if (take_back(e, a))
		gsb_engines_deliver(e->all, a);
	else
		refuse_arrival(e->all, e, a, m->error, m->reason);
	on_tenant_left(e);
}

/* Nothing is left of t; last: its row at the end, NULL when that is not known. */
static void tenant_left(struct gsb_engines *all, struct gsb_admitted *t,
			const struct gsb_ctl_tenant *last)
{
	gsb_totals_add(&all->totals, t->uid, t->name, last ? last : &t->seen, last != NULL);
	gsb_tenants_remove(&all->tenants, t);
}

static void on_gone(struct gsb_served_engine *e, const struct gsb_ctl_gone *m)
{
	struct gsb_admitted *t = gsb_tenants_find(&e->all->tenants, e, m->tenant_id);

	on_answered(e, m->tenant_id);
	if (!t)
		return;
	gsb_uid_log(&e->all->s->goings, t->uid, GSB_LOG_INFO, TOPIC, "tenant %u '%s' %s", t->id,
		    t->name, m->reason == GSB_GONE_CUT ? "was cut off" : "has ended");
	tenant_left(e->all, t, &m->last);
	on_tenant_left(e);
}

static const struct gsb_ctl_tenant *row_of(const struct gsb_ctl_status_reply *m, uint32_t tenant_id)
{
	for (uint32_t i = 0; i < m->n_tenants; i++)
		if (m->tenants[i].tenant_id == tenant_id)
			return &m->tenants[i];
	return NULL;
}

/*
 * Its row is kept: should the engine die, that much is known of it.
 *
 * GONE may have been dropped by an engine that found its socket full. Messages keep their order: who
 * was delivered before the question and is not in the answer, is gone.
 */
static void look_up(struct gsb_engines *all, struct gsb_admitted *t,
		    const struct gsb_ctl_status_reply *m)
{
	const struct gsb_ctl_tenant *row = row_of(m, t->id);

	if (row)
		t->seen = *row;
	else if (t->delivered && t->survey < m->number && !find_handed(t->engine, t->id))
		tenant_left(all, t, NULL);
}

static void tell_heard(const struct gsb_engines *all)
{
	if (all->on_heard)
		all->on_heard(all->metrics);
}

static void on_status(struct gsb_served_engine *e, const struct gsb_ctl_status_reply *m)
{
	struct gsb_admitted *t, *next;
	size_t rows = (m->msg.size - sizeof(*m)) / sizeof(m->tenants[0]);

	if (m->n_tenants > GSB_N_SLOTS || m->n_tenants != rows)
		return;
	DL_FOREACH_SAFE (e->all->tenants.list, t, next)
		if (t->engine == e)
			look_up(e->all, t, m);
	e->heard = m->number;
	e->seen = *m;
	e->all->on_answer(e->all->survey, e, m, 0);
	tell_heard(e->all);
	on_tenant_left(e);
}

/* Sizes are checked because a half-upgraded installation may pair two builds. */
static void on_message(struct gsb_engine_process *p, const struct gsb_msg *m, size_t n)
{
	struct gsb_served_engine *e = gsb_container_of(p, struct gsb_served_engine, process);

	if (m->type == GSB_CTL_READY && n == sizeof(struct gsb_ctl_ready))
		on_ready(e);
	else if (m->type == GSB_CTL_FAILED && n == sizeof(struct gsb_ctl_failed))
		on_failed(p, (const void *)m);
	else if (m->type == GSB_CTL_ADMITTED && n == sizeof(struct gsb_ctl_admitted))
		on_answered(e, ((const struct gsb_ctl_admitted *)m)->tenant_id);
	else if (m->type == GSB_CTL_REFUSED && n == sizeof(struct gsb_ctl_refused))
		on_refused(e, (const void *)m);
	else if (m->type == GSB_CTL_PASSED && n == sizeof(struct gsb_ctl_refused))
		on_passed(e, (const void *)m);
	else if (m->type == GSB_CTL_GONE && n == sizeof(struct gsb_ctl_gone))
		on_gone(e, (const void *)m);
	else if (m->type == GSB_CTL_STATUS_REPLY && n >= sizeof(struct gsb_ctl_status_reply))
		on_status(e, (const void *)m);
	else if (m->type == GSB_CTL_TRACE_REPLY && n == sizeof(struct gsb_ctl_trace_reply))
		e->all->on_traced(e->all->survey, e, (const void *)m);
	else if (m->type == GSB_CTL_ORPHANS && n == sizeof(struct gsb_ctl_orphans))
		on_orphans(e, (const void *)m);
	else if (m->type == GSB_CTL_STUCK && n == sizeof(*m))
		on_stuck(p);
	else if (!gsb_device_memory_message(&e->all->memory, p, m, n))
		gsb_log(GSB_LOG_WARN, TOPIC,
			"%s: message %u of %zu bytes is not known: install gsbrokerd and "
			"gsb-engine from one release",
			p->spec, m->type, n);
}

/* Its arrivals get it when it is READY. If it waits for MPS, on_mps_ready() has it started. */
static void await(struct gsb_served_engine *e)
{
	struct gsb_engine_process *p = &e->process;

	if (p->state == GSB_ENGINE_DEAD && (!p->mps || p->mps->state == GSB_MPS_READY))
		gsb_starts_add(&e->all->starts, &e->start);
	if (!e->all->patience.at_ns)
		gsb_timer_set(&e->all->s->loop, &e->all->patience, GSB_STARTING_MS);
}

/* ---- the end of an engine ---- */

static void forget_tenants(struct gsb_served_engine *e)
{
	struct gsb_admitted *t, *next;

	DL_FOREACH_SAFE (e->all->tenants.list, t, next)
		if (t->engine == e && t->delivered)
			tenant_left(e->all, t, NULL);
}

/* It is DEAD, and nobody waits for it: the next start may need another daemon, should this one have died. */
static void leave_mps(struct gsb_served_engine *e)
{
	if (e->process.mps)
		gsb_mps_release(e->process.mps);
	e->process.mps = NULL;
}

static void engine_destroy(struct gsb_served_engine *e)
{
	gsb_timer_clear(&e->all->s->loop, &e->idle);
	gsb_starts_over(&e->all->starts, &e->start);
	DL_DELETE(e->all->list, e);
	e->all->n--;
	leave_mps(e);
	free(e);
}

static void on_idle(struct gsb_timer *t)
{
	struct gsb_served_engine *e = gsb_container_of(t, struct gsb_served_engine, idle);

	if (e->process.state == GSB_ENGINE_DEAD) {
		engine_destroy(e);
		return;
	}
	gsb_log(GSB_LOG_INFO, TOPIC, "%s for uid %u (pid %d) has had no tenant for long: it ends",
		e->process.spec, e->process.uid, (int)e->process.pid);
	gsb_engine_process_shutdown(&e->process, GSB_SHUTDOWN_NOW);
}

/* It ended by itself: its tenants see it by their pidfd; who waited for it is told now. Return: who goes to the next. */
static struct gsb_arrival *on_unasked_end(struct gsb_served_engine *e, const char *how)
{
	struct gsb_engine_process *p = &e->process;
	unsigned n_lost = tenants_in(e) - n_handed(e);
	char why[GSB_REASON_MAX];

	p->n_deaths++;
	p->s->n_engines_died++;
	gsb_log(GSB_LOG_ERROR, TOPIC,
		"%s (pid %d) %s%s%s; tenants lost: %u; death %u; the next tenant gets a new engine",
		p->spec, (int)p->pid, how, *p->failure ? ": " : "", p->failure, n_lost,
		p->n_deaths);
	snprintf(why, sizeof(why), "the engine of %.80s %.50s%s%.100s", p->spec, how,
		 *p->failure ? ": " : "", p->failure);
	refuse_arrivals(e, -ENODEV, why);
	return take_all_back(e, e->all->s->stopping ? -ESHUTDOWN : -ENODEV, why);
}

/* Those that wait for it go on waiting. */
static bool comes_again(struct gsb_served_engine *e)
{
	struct gsb_engine_process *p = &e->process;

	if (!p->no_room || !e->arrivals || e->all->s->stopping ||
	    !gsb_starts_again(&e->all->starts, &e->start))
		return false;
	gsb_log(GSB_LOG_INFO, TOPIC, "%s (pid %d) found no room, and is started again: %s", p->spec,
		(int)p->pid, p->failure);
	return true;
}

static bool any_engine_lives(const struct gsb_engines *all)
{
	const struct gsb_served_engine *e;

	DL_FOREACH (all->list, e)
		if (e->process.state != GSB_ENGINE_DEAD)
			return true;
	return false;
}

/* The loop ends when nothing is left that it has started. */
static void stop_loop(struct gsb_engines *all)
{
	if (!any_engine_lives(all) && gsb_mps_daemons_stop(&all->mps))
		gsb_loop_stop(&all->s->loop);
}

static void on_end(struct gsb_engine_process *p, const char *how)
{
	struct gsb_served_engine *e = gsb_container_of(p, struct gsb_served_engine, process);
	struct gsb_engines *all = e->all;
	bool asked = p->state == GSB_ENGINE_STOPPING, again = !asked && comes_again(e);
	struct gsb_arrival *back = NULL;

	if (asked) {
		gsb_log(GSB_LOG_INFO, TOPIC, "%s (pid %d) %s", p->spec, (int)p->pid, how);
		refuse_arrivals(e, -ESHUTDOWN, GSB_SHUTTING_DOWN);
		take_all_back(e, -ESHUTDOWN, GSB_SHUTTING_DOWN);
	} else if (!again) {
		back = on_unasked_end(e, how);
	}
	forget_tenants(e);
	e->avoided = false;
	gsb_device_memory_close(&all->memory, p);
	p->state = GSB_ENGINE_DEAD;
	p->pid = 0;
	all->on_answer(all->survey, e, NULL, -EPIPE);
	tell_heard(all);
	if (!again) {
		gsb_starts_hurry(&all->starts, p->spec);
		gsb_starts_over(&all->starts, &e->start);
		leave_mps(e);
	}
	if (asked || (e->only_pid && !again) || all->s->stopping)
		engine_destroy(e);
	else if (!again)
		set_idle(e);
	deliver_all(all, back);
	if (all->s->stopping)
		stop_loop(all);
}

void gsb_engines_stop(struct gsb_engines *all, enum gsb_shutdown_how how)
{
	struct gsb_served_engine *e, *next;

	DL_FOREACH_SAFE (all->list, e, next) {
		if (e->process.state == GSB_ENGINE_DEAD) {
			refuse_arrivals(e, -ESHUTDOWN, GSB_SHUTTING_DOWN);
			engine_destroy(e);
		} else {
			gsb_engine_process_shutdown(&e->process, how);
		}
	}
	stop_loop(all);
}

/* ---- starts ---- */

/* It is DEAD, and nobody waits for it. */
static void part_with(struct gsb_served_engine *e)
{
	gsb_starts_over(&e->all->starts, &e->start);
	leave_mps(e);
	if (e->only_pid)
		engine_destroy(e);
	else if (!e->idle.at_ns)
		set_idle(e);
}

static void give_up(struct gsb_served_engine *e, int error, const char *why)
{
	refuse_arrivals(e, error, why);
	part_with(e);
}

static void start(struct gsb_served_engine *e)
{
	struct gsb_engine_process *p = &e->process;
	char why[GSB_REASON_MAX];
	int err = p->mps && p->mps->state != GSB_MPS_READY ? -EPIPE : 0;

	if (!err)
		err = gsb_engine_process_start(p, &p->config);
	if (!err)
		return;
	snprintf(why, sizeof(why), "no engine for %.60s could be started from %.80s: %.60s",
		 p->spec, p->s->engine_path, strerror(-err));
	give_up(e, err, why);
}

static void on_turn(struct gsb_starts *starts, struct gsb_start *s)
{
	struct gsb_served_engine *e = gsb_container_of(s, struct gsb_served_engine, start);

	drop_hung_up(e);
	if (e->arrivals)
		start(e);
	else
		part_with(e);
}

static bool is_too_late(const struct gsb_served_engine *e)
{
	uint64_t limit_ms = e->all->s->config->broker.start_timeout_ms;

	return e->process.state == GSB_ENGINE_DEAD &&
	       gsb_clock_ns() - e->arrivals->since_ns > limit_ms * 1000000;
}

static void say_starting(const struct gsb_served_engine *e)
{
	const struct gsb_arrival *a;
	struct gsb_msg m;

	gsb_msg_init(&m, GSB_MSG_STARTING, sizeof(m));
	DL_FOREACH (e->arrivals, a)
		if (a->admit.hello.msg.minor) /* 0: it does not know the word */
			gsb_channel_send(a->client_fd, &m, NULL, 0);
}

static void refuse_late(struct gsb_served_engine *e)
{
	struct gsb_engine_process *p = &e->process;
	char why[GSB_REASON_MAX];

	snprintf(why, sizeof(why),
		 "no engine for %.60s could be started within start_timeout_ms: %.120s", p->spec,
		 *p->failure ? p->failure : "others were before it");
	give_up(e, -ETIMEDOUT, why);
}

/* Return: whether somebody waits for it, after this. */
static bool look_after(struct gsb_served_engine *e)
{
	if (!e->arrivals)
		return false;
	drop_hung_up(e);
	if (e->arrivals && !is_too_late(e)) {
		say_starting(e);
		return true;
	}
	if (e->arrivals)
		refuse_late(e);
	else if (e->process.state == GSB_ENGINE_DEAD)
		part_with(e);
	return false;
}

static void on_patience(struct gsb_timer *t)
{
	struct gsb_engines *all = gsb_container_of(t, struct gsb_engines, patience);
	struct gsb_served_engine *e, *next;
	bool any = false;

	DL_FOREACH_SAFE (all->list, e, next)
		any |= look_after(e);
	if (any)
		gsb_timer_set(&all->s->loop, &all->patience, GSB_STARTING_MS);
}

/* ---- MPS ---- */

/* Until then an engine with an MPS daemon that is not READY is DEAD, and has arrivals. */
static bool waits_for(const struct gsb_served_engine *e, const struct gsb_mps_daemon *d)
{
	return e->process.mps == d && e->process.state == GSB_ENGINE_DEAD;
}

static void on_mps_ready(struct gsb_mps_daemons *m, struct gsb_mps_daemon *d)
{
	struct gsb_engines *all = gsb_container_of(m, struct gsb_engines, mps);
	struct gsb_served_engine *e;

	DL_FOREACH (all->list, e)
		if (waits_for(e, d))
			gsb_starts_add(&all->starts, &e->start);
}

static void on_mps_failed(struct gsb_mps_daemons *m, struct gsb_mps_daemon *d, const char *why)
{
	struct gsb_engines *all = gsb_container_of(m, struct gsb_engines, mps);
	struct gsb_served_engine *e, *next;

	DL_FOREACH_SAFE (all->list, e, next)
		if (waits_for(e, d))
			give_up(e, -ENODEV, why);
}

static void on_mps_empty(struct gsb_mps_daemons *m)
{
	struct gsb_engines *all = gsb_container_of(m, struct gsb_engines, mps);

	if (all->s->stopping)
		stop_loop(all);
}

/* ---- keys ---- */

static pid_t only_pid(const struct gsb_arrival *a, const struct gsb_device_config *d)
{
	return gsb_config_is_per_process(d) ? (pid_t)a->admit.pid : 0;
}

static struct gsb_served_engine *engine_create(struct gsb_engines *all, const struct gsb_arrival *a,
					       const struct gsb_device_config *d)
{
	struct gsb_served_engine *e = calloc(1, sizeof(*e));

	if (!e)
		return NULL;
	e->all = all;
	e->idle.on_time = on_idle;
	e->only_pid = only_pid(a, d);
	gsb_engine_process_init(&e->process, all->s, d->spec, a->admit.uid);
	e->start.spec = e->process.spec;
	e->process.on_message = on_message;
	e->process.on_end = on_end;
	DL_APPEND(all->list, e);
	all->n++;
	return e;
}

static bool takes_nobody(const struct gsb_served_engine *e)
{
	return e->avoided || e->process.state == GSB_ENGINE_STOPPING ||
	       tenants_in(e) >= GSB_N_SLOTS;
}

/* A second uid never joins an engine, and a process engine never takes a second process. One that takes nobody has a successor. */
static struct gsb_served_engine *engine_of(struct gsb_engines *all, const struct gsb_arrival *a,
					   const struct gsb_device_config *d)
{
	struct gsb_served_engine *e, *dead = NULL;

	DL_FOREACH (all->list, e) {
		if (e->process.uid != a->admit.uid || e->only_pid != only_pid(a, d) ||
		    strcmp(e->process.spec, d->spec) != 0 || takes_nobody(e))
			continue;
		if (e->process.state != GSB_ENGINE_DEAD)
			return e;
		dead = dead ? dead : e;
	}
	return dead ? dead : engine_create(all, a, d);
}

/* It is DEAD. why: as of a refusal. */
static int prepare(struct gsb_served_engine *e, const struct gsb_device_config *d,
		   char why[GSB_REASON_MAX])
{
	struct gsb_engine_process *p = &e->process;

	p->config = *d;
	if (!gsb_config_uses_mps(d) || p->mps)
		return 0;
	return gsb_mps_want(&e->all->mps, p->spec, p->uid, &p->mps, why);
}

/* NULL: it has been refused. */
static const struct gsb_device_config *find_device(struct gsb_engines *all, struct gsb_arrival *a)
{
	const struct gsb_tenant_config *t = gsb_config_tenant(all->s->config, a->admit.tenant);
	const struct gsb_device_config *d = gsb_config_device(all->s->config, t);
	char why[GSB_REASON_MAX];

	if (d)
		return d;
	snprintf(why, sizeof(why), "device %s of tenant '%.63s' is no longer configured", t->device,
		 t->name);
	refuse_arrival(all, NULL, a, -ENODEV, why);
	return NULL;
}

/* NULL: it has been refused. */
static struct gsb_served_engine *join(struct gsb_engines *all, struct gsb_arrival *a,
				      const struct gsb_device_config *d)
{
	struct gsb_served_engine *e = engine_of(all, a, d);
	char why[GSB_REASON_MAX] = "gsbrokerd is out of memory";
	int err = e ? gsb_tenants_add(&all->tenants, e, &a->admit) : -ENOMEM;

	if (!err && e->process.state == GSB_ENGINE_DEAD)
		err = prepare(e, d, why);
	if (!err)
		return e;
	refuse_arrival(all, e, a, err, why);
	if (e && e->process.state == GSB_ENGINE_DEAD && !e->arrivals)
		part_with(e);
	return NULL;
}

void gsb_engines_deliver(struct gsb_engines *all, struct gsb_arrival *a)
{
	const struct gsb_device_config *d = find_device(all, a);
	struct gsb_served_engine *e = d ? join(all, a, d) : NULL;

	if (!e)
		return;
	gsb_timer_clear(&all->s->loop, &e->idle);
	a->since_ns = gsb_clock_ns();
	DL_APPEND(e->arrivals, a);
	if (e->process.state == GSB_ENGINE_READY) {
		hand_over_all(e);
		on_tenant_left(e); /* if there were no descriptors for it */
	} else {
		await(e);
	}
}

void gsb_engines_init(struct gsb_engines *all, struct gsb_supervisor *s)
{
	*all = (struct gsb_engines){
		.s = s,
		.memory.s = s,
		.mps = {.s = s,
			.on_ready = on_mps_ready,
			.on_failed = on_mps_failed,
			.on_empty = on_mps_empty},
		.waiting_trace.fd = -1,
		.patience.on_time = on_patience,
	};
	gsb_starts_init(&all->starts, &s->loop, on_turn);
}

void gsb_engines_finish(struct gsb_engines *all)
{
	gsb_uid_log_end(&all->s->comings, GSB_LOG_INFO, TOPIC);
	gsb_uid_log_end(&all->s->goings, GSB_LOG_INFO, TOPIC);
	gsb_waiting_trace_drop(&all->waiting_trace);
	gsb_mps_folder_remove_all(all->s->socket);
}
