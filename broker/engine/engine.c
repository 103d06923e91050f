/*
 * engine.c - see engine.h: the turn, and the sleep between turns.
 */
#include "broker/engine/engine.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/wait.h"

#define EPOLL_BATCH 64
#define COMPLETION_ROUNDS \
	64 /* a turn ends although heads go on completing: others want to be read */

/* ---- descriptors ---- */

int gsb_engine_watch(struct gsb_engine *e, struct gsb_watch *w, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = w};

	if (!epoll_ctl(e->epoll_fd, EPOLL_CTL_ADD, w->fd, &ev))
		return 0;
	if (errno == EEXIST && !epoll_ctl(e->epoll_fd, EPOLL_CTL_MOD, w->fd, &ev))
		return 0;
	return -errno;
}

void gsb_engine_unwatch(struct gsb_engine *e, struct gsb_watch *w)
{
	if (w->fd >= 0)
		epoll_ctl(e->epoll_fd, EPOLL_CTL_DEL, w->fd, NULL);
}

void gsb_engine_listen(struct gsb_engine *e, int timeout_ms)
{
	struct epoll_event events[EPOLL_BATCH];
	int n = epoll_wait(e->epoll_fd, events, EPOLL_BATCH, timeout_ms);

	for (int i = 0; i < n; i++) {
		struct gsb_watch *w = events[i].data.ptr;

		w->on_event(w, events[i].events);
	}
}

/*
 * Both only wake: the turn polls the device and collects jobs. What rang must be silenced even when
 * the turn has had its news by another way already, or the engine would never sleep again.
 */
static void on_device(struct gsb_watch *w, uint32_t events)
{
	gsb_container_of(w, struct gsb_engine, device_watch)->device_rang = true;
}

static void on_loader(struct gsb_watch *w, uint32_t events)
{
	uint64_t count;

	while (read(w->fd, &count, sizeof(count)) < 0 && errno == EINTR)
		;
}

/* ---- life ---- */

static int watch_own(struct gsb_engine *e)
{
	int err;

	e->loader_watch = (struct gsb_watch){e->loader.done_fd, on_loader};
	e->device_watch = (struct gsb_watch){e->ops->event_fd(e->dev), on_device};
	err = gsb_engine_watch(e, &e->loader_watch, EPOLLIN);
	if (!err && e->device_watch.fd >= 0)
		err = gsb_engine_watch(e, &e->device_watch, EPOLLIN);
	return err;
}

int gsb_engine_create(struct gsb_device *dev, const struct gsb_engine_params *p,
		      struct gsb_engine **out)
{
	struct gsb_engine *e = aligned_alloc(64, sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	*e = (struct gsb_engine){
		.dev = dev,
		.ops = dev->ops,
		.info = dev->ops->info(dev),
		.params = *p,
		.virtual_clock = dev->ops->advance != NULL,
		.started_ns = gsb_clock_ns(),
		.run_from_ns = gsb_clock_ns(),
	};
	e->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (e->epoll_fd < 0) {
		err = -errno;
		goto err_epoll;
	}
	err = gsb_loader_start(&e->loader, e->ops);
	if (err)
		goto err_loader;
	err = watch_own(e);
	if (err)
		goto err_watch;
	*out = e;
	return 0;
err_watch:
	gsb_loader_stop(&e->loader);
err_loader:
	close(e->epoll_fd);
err_epoll:
	free(e);
	return err;
}

void gsb_engine_destroy(struct gsb_engine *e)
{
	if (!e)
		return;
	for (int i = 0; i < GSB_N_SLOTS; i++)
		if (e->tenants[i])
			gsb_tenant_dismiss(e->tenants[i], CUDA_ERROR_SYSTEM_NOT_READY,
					   "its engine was told to end");
	while (e->n_tenants && !e->dead)
		if (!gsb_engine_turn(e))
			gsb_engine_sleep(e);
	gsb_issue_finish(e);
	gsb_loader_stop(&e->loader);
	close(e->epoll_fd);
	free(e);
}

/* ---- the turn ---- */

/* Each turn begins with another tenant, so that none is always read first. */
static bool read_rings(struct gsb_engine *e)
{
	bool any = false;

	for (unsigned i = 0; i < GSB_N_SLOTS; i++) {
		struct gsb_tenant *t = e->tenants[(e->first_slot + i) % GSB_N_SLOTS];

		if (t && gsb_tenant_consume(t, GSB_TURN_RECORDS))
			any = true;
	}
	e->first_slot++;
	return any;
}

/* Real clock: issue as heads become ready, take completions as they come. */
static bool work(struct gsb_engine *e)
{
	bool any = false;

	for (int i = 0; i < COMPLETION_ROUNDS; i++) {
		bool more;

		gsb_streams_settle(e);
		more = !e->virtual_clock && gsb_issue_all(e);
		more |= gsb_complete_poll(e);
		if (!more && !e->settling)
			break;
		any = true;
	}
	return any;
}

static void wake_tenants(struct gsb_engine *e)
{
	for (int i = 0; i < GSB_N_SLOTS; i++) {
		struct gsb_tenant *t = e->tenants[i];

		if (t && t->dirty) {
			t->dirty = false;
			gsb_wake_waiters(t->region);
		}
	}
}

static bool reap_tenants(struct gsb_engine *e)
{
	bool any = false;

	for (int i = 0; i < GSB_N_SLOTS; i++)
		if (e->tenants[i] && gsb_tenant_reap(e->tenants[i]))
			any = true;
	return any;
}

bool gsb_engine_turn(struct gsb_engine *e)
{
	bool any = gsb_code_collect(e) > 0;

	any |= read_rings(e);
	any |= work(e);
	wake_tenants(e);
	any |= gsb_gate_turn(e);
	gsb_complete_overdue(e);
	any |= reap_tenants(e);
	return any;
}

/* ---- the sleep ---- */

static void prepare_sleep(struct gsb_engine *e)
{
	bool gate = gsb_gate_is_waiting(e);

	for (int i = 0; i < GSB_N_SLOTS; i++) {
		struct gsb_tenant *t = e->tenants[i];

		if (!t)
			continue;
		if (gate)
			gsb_ring_prepare_gate(&t->ring);
		else
			gsb_ring_prepare_sleep(&t->ring);
	}
}

static void awake(struct gsb_engine *e)
{
	for (int i = 0; i < GSB_N_SLOTS; i++)
		if (e->tenants[i])
			gsb_ring_awake(&e->tenants[i]->ring);
}

/* What may have changed between the last turn and the words that prepare_sleep stored. */
static bool has_work(struct gsb_engine *e)
{
	for (int i = 0; i < GSB_N_SLOTS; i++) {
		const struct gsb_tenant *t = e->tenants[i];

		if (t && t->state != GSB_TENANT_LEAVING && !t->stalled &&
		    !gsb_ring_is_empty(&t->ring))
			return true;
	}
	return gsb_gate_is_waiting(e) && gsb_gate_is_open(e);
}

/* A device that cannot tell has to be asked again and again while it works. */
static bool must_poll(const struct gsb_engine *e)
{
	return e->n_in_flight && e->device_watch.fd < 0 && (!e->virtual_clock || e->advancing);
}

static int timeout_ms(struct gsb_engine *e)
{
	uint64_t gate = gsb_gate_due_ns(e), kernel = gsb_complete_due_ns(e);
	uint64_t due = gate < kernel ? gate : kernel;

	if (must_poll(e))
		return 0;
	if (due == UINT64_MAX)
		return -1;
	return due / 1000000 >= INT32_MAX ? INT32_MAX : (int)(due / 1000000) + 1;
}

void gsb_engine_sleep(struct gsb_engine *e)
{
	prepare_sleep(e);
	gsb_engine_listen(e, has_work(e) ? 0 : timeout_ms(e));
	awake(e);
}
