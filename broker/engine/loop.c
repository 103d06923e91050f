/*
 * loop.c - see loop.h: the turn, and the sleep between turns.
 */
#include "broker/engine/loop.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "base/log.h"
#include "broker/engine/admission.h"
#include "broker/engine/dismissal.h"
#include "broker/engine/dispatch.h"
#include "broker/engine/engine.h"
#include "broker/engine/gate.h"
#include "broker/engine/memory/kept.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/precede.h"
#include "broker/engine/start_line.h"
#include "broker/engine/tell.h"
#include "broker/engine/work/times.h"
#include "broker/policy/bound.h"
#include "trace/compact.h"
#include "shm/wait.h"

#define LAST_WORDS_NS \
	500000000 /* how long a tenant may take to ask for what its kernels have printed */
#define COMPLETION_ROUNDS \
	64 /* a turn ends although heads go on completing: others want to be read */

/* ---- descriptors ---- */

void gsb_engine_listen(struct gsb_engine *e, uint64_t timeout_ns)
{
	gsb_watches_listen(&e->watches, timeout_ns);
}

/*
 * Both only wake: the turn polls the device and collects jobs. What rang must be silenced even when
 * the turn has had its news by another way already, or the engine would never sleep again.
 */
static void on_device(struct gsb_watch *w, uint32_t events)
{
	gsb_container_of(w, struct gsb_engine, device_watch)->scheduler.rang = true;
}

static void on_mail(struct gsb_watch *w, uint32_t events)
{
	uint64_t count;

	while (read(w->fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

/* ---- memory that is kept ---- */

static void reclaim(struct gsb_grant *g)
{
	struct gsb_engine *e = gsb_container_of(g, struct gsb_engine, grant);

	gsb_for_each_tenant (e, t)
		gsb_kept_give_back(t);
}

static void age_kept(struct gsb_engine *e)
{
	e->age_ns = e->scheduler.clock.turn_ns + GSB_KEPT_NS;
	gsb_for_each_tenant (e, t)
		gsb_kept_age(t);
}

/* Until that is to be done again. */
static uint64_t kept_due_ns(struct gsb_engine *e)
{
	uint64_t now_ns;
	bool any = false;

	gsb_for_each_tenant (e, t)
		any |= gsb_kept_any(t);
	if (!any)
		return UINT64_MAX;
	now_ns = gsb_engine_now_ns(e);
	return e->age_ns > now_ns ? e->age_ns - now_ns : 0;
}

/* ---- life ---- */

static int watch_own(struct gsb_engine *e)
{
	int err;

	e->mailbox_watch = (struct gsb_watch){e->mailbox.fd, on_mail};
	e->device_watch = (struct gsb_watch){e->ops->event_fd(e->dev), on_device};
	err = gsb_watches_add(&e->watches, &e->mailbox_watch, EPOLLIN);
	if (!err && e->device_watch.fd >= 0)
		err = gsb_watches_add(&e->watches, &e->device_watch, EPOLLIN);
	return err;
}

/* In virtual time a run is to be repeated, whatever was before it. */
static bool keeps_times(const struct gsb_engine *e)
{
	return e->scheduler.estimates && !e->scheduler.clock.is_virtual;
}

int gsb_engine_create(struct gsb_device *dev, const struct gsb_engine_params *p,
		      struct gsb_engine **out)
{
	struct gsb_engine *e = aligned_alloc(64, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	gsb_trace_init();
	*e = (struct gsb_engine){
		.dev = dev,
		.ops = dev->ops,
		.info = dev->ops->info(dev),
		.params = *p,
		.started_ns = gsb_clock_ns(),
	};
	err = gsb_watches_init(&e->watches);
	if (err)
		goto err_watches;
	err = gsb_scheduler_init(&e->scheduler, dev, p->policy, p->kernel_limit_ns);
	if (err)
		goto err_scheduler;
	e->scheduler.clock.host_call_ns = p->host_call_ns;
	e->scheduler.critical_wait_ns = p->critical_wait_ns;
	e->scheduler.n_reserved = gsb_reserved_sms(e->info->arch.n_sms, e->info->arch.sm_group,
						   p->critical_sms_percent);
	if (keeps_times(e))
		gsb_times_read(&e->params.resizing, e->info, e->scheduler.estimates);
	e->line = (struct gsb_start_line){.n_tenants = p->start_line, .wait_ns = p->start_line_ns};
	gsb_laters_init(&e->laters);
	gsb_grant_init(&e->grant, e->info->total_mem_bytes);
	e->grant.reclaim = reclaim;
	err = gsb_mailbox_init(&e->mailbox);
	if (err)
		goto err_mailbox;
	err = gsb_loader_start(&e->loader, e->ops, &e->mailbox);
	if (err)
		goto err_loader;
	err = gsb_pinner_start(&e->pinner, dev, &e->mailbox);
	if (err)
		goto err_pinner;
	err = watch_own(e);
	if (err)
		goto err_watch;
	*out = e;
	return 0;
err_watch:
	gsb_pinner_stop(&e->pinner);
err_pinner:
	gsb_loader_stop(&e->loader);
err_loader:
	gsb_mailbox_finish(&e->mailbox);
err_mailbox:
	gsb_scheduler_finish(&e->scheduler);
err_scheduler:
	gsb_watches_finish(&e->watches);
err_watches:
	free(e);
	return err;
}

int gsb_engine_destroy(struct gsb_engine *e)
{
	if (!e)
		return 0;
	gsb_for_each_tenant (e, t)
		gsb_tenant_dismiss(t, CUDA_ERROR_SYSTEM_NOT_READY, "its engine was told to end");
	while (e->n_tenants && !e->scheduler.lost)
		if (!gsb_engine_turn(e))
			gsb_engine_sleep(e);
	gsb_dismissal_log_end(e);
	if (e->scheduler.lost)
		return -EIO;
	if (keeps_times(e))
		gsb_times_write(&e->params.resizing, e->info, e->scheduler.estimates);
	gsb_scheduler_finish(&e->scheduler);
	gsb_loader_stop(&e->loader);
	gsb_pinner_stop(&e->pinner);
	gsb_mailbox_finish(&e->mailbox); /* of who has gone something may be left to unmap */
	gsb_watches_finish(&e->watches);
	free(e);
	return 0;
}

/* ---- the turn ---- */

/* The occupied slots as seen from one of them: bit i is the i-th behind it, all around. */
static uint64_t occupied_from(const struct gsb_engine *e, unsigned slot)
{
	return e->occupied >> slot | e->occupied << (-slot % GSB_N_SLOTS);
}

/* Each turn begins with the next tenant, so that none is always read first. */
static bool read_rings(struct gsb_engine *e)
{
	unsigned slot = (e->first_slot + 1) % GSB_N_SLOTS;
	uint64_t left = occupied_from(e, slot);
	bool any = false;

	static_assert(sizeof(struct gsb_compact_launch) +
				      GSB_TURN_RECORDS * sizeof(struct gsb_compact_again) <=
			      GSB_TRACE_RECORD_MAX,
		      "launches of a turn are one record of the trace");
	if (left)
		e->first_slot = (slot + (unsigned)__builtin_ctzll(left)) % GSB_N_SLOTS;
	for (; left; left &= left - 1) {
		unsigned i = (slot + (unsigned)__builtin_ctzll(left)) % GSB_N_SLOTS;

		any |= gsb_dispatch_ring(e->tenants[i], GSB_TURN_RECORDS) > 0;
	}
	if (gsb_unlikely(e->preceded != 0))
		any |= gsb_precede_release(e);
	return any;
}

static void wake_tenants(struct gsb_engine *e)
{
	gsb_for_each_tenant (e, t)
		if (t->queues.changed) {
			t->queues.changed = false;
			gsb_tell_and_wake(t);
		}
}

/* What may wait for a critical tenant keeps the device busy, so that there is always a completion; and who is critical is to be read. */
static int completion_rounds(const struct gsb_engine *e)
{
	return e->scheduler.policy->yields_until ? 1 : COMPLETION_ROUNDS;
}

/* Real clock. To launch on a GPU takes some microseconds, and behind a critical tenant's kernel many launches may have waited: who
 * waits for it is woken first. */
static bool issue(struct gsb_engine *e)
{
	if (e->scheduler.clock.is_virtual || !gsb_start_line_is_open(e))
		return false;
	if (e->scheduler.policy->yields_until)
		wake_tenants(e);
	return gsb_issue_all(&e->scheduler);
}

/*
 * Issue as heads become ready; take completions as they come. Where several streams are on the device one of them nearly always has news: so
 * what may go behind them goes in each round, until that is enough for a turn. Of a stream by itself it goes when there is no more news, as
 * much as then may: in each round it would go in ones and twos.
 */
static bool work(struct gsb_engine *e)
{
	struct gsb_scheduler *s = &e->scheduler;
	bool any = false, enough = false;

	if (s->runs)
		gsb_run_begin_turn(s);
	for (int i = completion_rounds(e); i && !enough; i--) {
		bool more;

		gsb_streams_settle(&e->unsettled);
		more = issue(e);
		if (s->to_extend && s->clock.n_in_flight > 1)
			enough = gsb_run_extend(s);
		more |= gsb_complete_poll(s);
		if (!more && !e->unsettled)
			break;
		any = true;
	}
	if (s->to_extend)
		gsb_run_extend(s);
	return any;
}

static bool reap_tenants(struct gsb_engine *e)
{
	bool any = false;

	gsb_for_each_tenant (e, t)
		any |= gsb_tenant_reap(t);
	return any;
}

/* The device has ended, for everybody: this process is of no use any more. */
static GSB_COLD void end_all(struct gsb_engine *e, CUresult result, const char *after)
{
	char why[192];

	snprintf(why, sizeof(why),
		 "the GPU has stopped for all programs of this engine after %s (%s)", after,
		 gsb_cuda_error_name(result));
	gsb_log(GSB_LOG_ERROR, "device", "%s; the engine ends", why);
	gsb_for_each_tenant (e, t)
		gsb_tenant_dismiss(t, result, why);
	e->scheduler.lost = true;
}

/* What kernels had said before one of them was at fault is in memory yet, and their tenants may come for it, if they are quick. */
static GSB_COLD bool has_last_words(struct gsb_engine *e)
{
	uint64_t now = gsb_clock_ns();

	if (!e->lost_ns) {
		e->lost_ns = now;
		return true; /* what ended with it completes in the next turn, and only then is known to have said something */
	}
	if (now - e->lost_ns > LAST_WORDS_NS)
		return false;
	gsb_for_each_tenant (e, t)
		if (t->n_printed != t->n_printed_read)
			return true;
	return false;
}

/* True: it has ended, and the engine does not yet. */
static bool look_for_loss(struct gsb_engine *e)
{
	CUresult result = e->ops->lost ? e->ops->lost(e->dev) : CUDA_SUCCESS;

	if (gsb_likely(!result && !e->scheduler.stuck) || e->scheduler.lost)
		return false;
	if (result && has_last_words(e))
		return true;
	if (result)
		end_all(e, result, "a fault of one of them");
	else
		end_all(e, CUDA_ERROR_LAUNCH_TIMEOUT, e->scheduler.stuck);
	return false;
}

/* Others work on something, threads, or the device in its time; or what is too much for a turn. */
static inline bool has_elsewhere(const struct gsb_engine *e)
{
	return e->mailbox.n_expected | e->laters.n;
}

static GSB_NOINLINE bool collect(struct gsb_engine *e)
{
	bool any = gsb_mailbox_collect(&e->mailbox) > 0;

	any |= gsb_laters_collect(&e->laters) > 0;
	any |= e->laters.goes_on;
	return any;
}

bool gsb_engine_turn(struct gsb_engine *e)
{
	bool any;

	if (!e->scheduler.clock.is_virtual) {
		e->scheduler.clock.turn_ns = gsb_engine_now_ns(e);
		if (gsb_unlikely(e->scheduler.clock.turn_ns >= e->age_ns))
			age_kept(e);
	}
	if (gsb_unlikely(e->scheduler.kernel_limit_ns))
		gsb_complete_begin_turn(&e->scheduler);
	any = has_elsewhere(e) && collect(e);
	any |= read_rings(e);
	any |= work(e);
	any |= e->scheduler.to_extend != 0;
	any |= look_for_loss(e);
	wake_tenants(e);
	any |= gsb_gate_turn(e);
	/* Here: where virtual time goes on, what passed since the last turn counts. Who is stuck, the next turn tells. */
	gsb_complete_overdue(&e->scheduler);
	any |= e->scheduler.stuck != NULL;
	any |= reap_tenants(e);
	if (gsb_trace_is_on()) {
		gsb_issue_tell_rest(&e->scheduler);
		gsb_tell_lines();
		gsb_trace_end_turn();
	}
	return any;
}

/* ---- the sleep ---- */

/* Virtual time would go on if all tenants waited. */
static bool is_at_gate(const struct gsb_engine *e)
{
	return gsb_clock_is_waited_for(&e->scheduler.clock) && !gsb_start_line_holds(e);
}

static void prepare_sleep(struct gsb_engine *e)
{
	bool gate = is_at_gate(e);

	gsb_for_each_tenant (e, t)
		if (gate)
			gsb_ring_prepare_gate(&t->ring);
		else
			gsb_ring_prepare_sleep(&t->ring);
}

static void awake(struct gsb_engine *e)
{
	gsb_for_each_tenant (e, t)
		gsb_ring_awake(&t->ring);
}

/* What may have changed between the last turn and the words that prepare_sleep stored. */
static bool has_work(struct gsb_engine *e)
{
	gsb_for_each_tenant (e, t)
		if (t->state != GSB_TENANT_LEAVING && !t->queues.stalled &&
		    !gsb_ring_is_empty(&t->ring))
			return true;
	return is_at_gate(e) && gsb_gate_is_open(e);
}

/* A device that cannot tell has to be asked again and again while it works. */
static bool must_poll(const struct gsb_engine *e)
{
	const struct gsb_clock *c = &e->scheduler.clock;

	return c->n_in_flight && e->device_watch.fd < 0 && (!c->is_virtual || c->advancing);
}

/* Until the policy is to be asked anew about what it holds; virtual time stands there by itself. */
static uint64_t hold_due_ns(struct gsb_engine *e)
{
	uint64_t alarm_ns = gsb_scheduler_alarm_ns(&e->scheduler), now_ns;

	if (e->scheduler.clock.is_virtual || alarm_ns == UINT64_MAX)
		return UINT64_MAX;
	now_ns = gsb_engine_now_ns(e);
	return alarm_ns > now_ns ? alarm_ns - now_ns : 0;
}

static uint64_t timeout_ns(struct gsb_engine *e)
{
	const uint64_t due[] = {gsb_gate_due_ns(e),	  gsb_complete_due_ns(&e->scheduler),
				gsb_start_line_due_ns(e), hold_due_ns(e),
				kept_due_ns(e),		  gsb_orphans_due_ns(e)};
	uint64_t first = must_poll(e) ? 0 : UINT64_MAX;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(due); i++)
		first = due[i] < first ? due[i] : first;
	return first;
}

/*
 * A critical tenant's launch is to begin at once. The engine's thread takes some 20 us to wake, and one time of a hundred 200, as long as such a launch itself (an H200 in
 * a virtual machine, doc/results/2026-11-29-critical-wakes-h200.txt): so for a while after each of its launches it does not sleep. On a device of the host's processors it
 * would take one of them from the kernels.
 */
static bool awaits_critical(const struct gsb_engine *e, uint64_t now_ns)
{
	gsb_for_each_tenant (e, t)
		if (t->claim.critical && t->claim.n_issued &&
		    now_ns < t->claim.asked_ns + GSB_CRITICAL_LINGER_NS)
			return true;
	return false;
}

void gsb_engine_sleep(struct gsb_engine *e)
{
	if (e->ops->stay_awake) {
		if (e->ops->stay_awake(e->dev)) {
			gsb_cpu_relax();
			return;
		}
		if (awaits_critical(e, gsb_engine_now_ns(e))) {
			gsb_engine_listen(e, 0);
			return;
		}
	}
	prepare_sleep(e);
	gsb_engine_listen(e, has_work(e) ? 0 : timeout_ns(e));
	awake(e);
}
