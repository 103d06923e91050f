/*
 * gate.c - when virtual time may go on.
 *
 * The emulated device's clock stands still while any thread of any tenant runs: what the host does
 * takes the time that is declared for it (host_call_ns a record), however busy this machine is. So
 * work is not issued as it becomes ready but when all threads are blocked; then all of it goes to
 * the device in one order that depends on device time only, and the clock runs to the next
 * completion, or to when something that is held is to be decided on anew. That makes a run repeatable.
 *
 * A thread that computes for long, waits for something outside, floods its ring or loads what takes long
 * to load would hold everybody up. After gate_timeout of real time its tenant is charged that much device
 * time, its run is marked as not repeatable, and time goes on without it until it is seen blocked again.
 */
#include "broker/engine/gate.h"

#include "base/clock.h"
#include "broker/engine/engine.h"
#include "broker/engine/start_line.h"
#include "broker/engine/tell.h"
#include "shm/wait.h"

/* Loads are the engine's own work, and long on a slow machine: they get this many timeouts. */
#define LOADER_PATIENCE 10

/*
 * A thread of t runs, or will once it sees what it waits for, or a host function of it runs; or the
 * engine still has something to do for it that could bring more work at this instant.
 */
static bool is_running(struct gsb_tenant *t)
{
	if (t->n_host_funcs || t->n_jobs)
		return true;
	gsb_tell_and_wake(t); /* who is due runs from here on */
	if (!gsb_threads_all_blocked(t->region))
		return true;
	/* After the threads: what one posted before it blocked is seen here. */
	return !t->queues.stalled && !gsb_ring_is_empty(&t->ring);
}

bool gsb_gate_is_open(struct gsb_engine *e)
{
	bool open = true;

	for (int i = 0; i < GSB_N_SLOTS; i++) {
		struct gsb_tenant *t = e->tenants[i];

		if (!t || t->state == GSB_TENANT_LEAVING)
			continue;
		if (!is_running(t)) {
			t->running_since_ns = 0;
			t->charged = false;
		} else if (!t->charged) {
			if (!t->running_since_ns) {
				t->running_since_ns = gsb_clock_ns();
				gsb_trace(GATE_HELD, gate_held, t->id,
					  .device_ns = gsb_engine_now_ns(e), .n_jobs = t->n_jobs,
					  .n_host_funcs = t->n_host_funcs);
			}
			open = false;
		}
	}
	return open;
}

/* How long time stands still for it. */
static uint64_t patience_ns(const struct gsb_engine *e, const struct gsb_tenant *t)
{
	return e->params.gate_timeout_ns * (t->n_jobs ? LOADER_PATIENCE : 1);
}

uint64_t gsb_gate_due_ns(const struct gsb_engine *e)
{
	uint64_t due = UINT64_MAX, now;

	if (!gsb_clock_is_waited_for(&e->scheduler.clock))
		return due;
	now = gsb_clock_ns();
	for (int i = 0; i < GSB_N_SLOTS; i++) {
		const struct gsb_tenant *t = e->tenants[i];
		uint64_t end;

		if (!t || !t->running_since_ns || t->charged)
			continue;
		end = t->running_since_ns + patience_ns(e, t);
		if (end <= now)
			return 0;
		if (end - now < due)
			due = end - now;
	}
	return due;
}

/* Charge the tenants that ran for too long; whether there were any. */
static bool charge(struct gsb_engine *e)
{
	uint64_t now = gsb_clock_ns();
	bool any = false;

	for (int i = 0; i < GSB_N_SLOTS; i++) {
		struct gsb_tenant *t = e->tenants[i];

		if (!t || !t->running_since_ns || t->charged ||
		    now - t->running_since_ns < patience_ns(e, t))
			continue;
		t->charged = true;
		t->stats.charged_ns += e->params.gate_timeout_ns;
		any = true;
	}
	return any;
}

bool gsb_gate_turn(struct gsb_engine *e)
{
	bool charged;

	if (!gsb_clock_is_waited_for(&e->scheduler.clock) || e->unsettled ||
	    !gsb_start_line_is_open(e))
		return false;
	charged = !gsb_gate_is_open(e) && charge(e);
	if (charged) {
		uint64_t from_ns;

		gsb_issue_all(&e->scheduler);
		from_ns = gsb_engine_now_ns(e);
		e->ops->advance_to(e->dev, from_ns + e->params.gate_timeout_ns);
		gsb_trace(TIME_STEP, time_step, 0, .from_device_ns = from_ns,
			  .to_device_ns = gsb_engine_now_ns(e), .why = GSB_TRACE_STEP_CHARGE);
		gsb_complete_poll(&e->scheduler);
		return true;
	}
	if (!gsb_gate_is_open(e))
		return false;
	gsb_issue_all(&e->scheduler);
	if (!gsb_complete_poll(&e->scheduler) && e->scheduler.clock.n_in_flight) {
		struct gsb_clock *c = &e->scheduler.clock;

		c->advancing = true;
		c->step_from_ns = gsb_engine_now_ns(e);
		c->step_until_ns = gsb_scheduler_alarm_ns(&e->scheduler);
		e->ops->advance(e->dev, c->step_until_ns);
		gsb_complete_poll(&e->scheduler);
	}
	return true;
}
