/*
 * orphan.c - see orphan.h.
 */
#include "broker/engine/orphan.h"

#include "base/clock.h"
#include "base/compiler.h"
#include "base/log.h"
#include "broker/engine/engine.h"

#define LOOKS 16 /* in one orphan_limit_ms */

static bool may_have_some(const struct gsb_engine *e)
{
	return e->params.orphan_limit_ns && !e->ops->space_cancel;
}

static bool has_left_some(const struct gsb_tenant *t)
{
	return t->state == GSB_TENANT_LEAVING && t->n_in_flight;
}

static bool is_orphaned(const struct gsb_engine *e, const struct gsb_tenant *t, uint64_t now)
{
	return has_left_some(t) && now - t->left_ns >= e->params.orphan_limit_ns;
}

static bool any_is_orphaned(const struct gsb_engine *e, uint64_t now)
{
	gsb_for_each_tenant (e, t)
		if (is_orphaned(e, t, now))
			return true;
	return false;
}

/* For the orphans, as far as anybody can say. */
static bool waits_in_vain(struct gsb_engine *e, const struct gsb_tenant *t, uint64_t now)
{
	uint64_t since_ns = gsb_loader_waits_since(&e->loader, t);

	return since_ns && now - since_ns >= e->params.orphan_limit_ns;
}

static bool must_end(struct gsb_engine *e, uint64_t now)
{
	bool any_lives = false;

	gsb_for_each_tenant (e, t) {
		if (t->state == GSB_TENANT_LEAVING)
			continue;
		if (waits_in_vain(e, t, now))
			return true;
		any_lives = true;
	}
	return !any_lives;
}

static void tell(struct gsb_engine *e, bool any)
{
	e->orphans.any = any;
	if (e->on_orphans)
		e->on_orphans(e, any);
}

static void note(struct gsb_engine *e, uint64_t now)
{
	gsb_for_each_tenant (e, t)
		if (is_orphaned(e, t, now))
			gsb_log(GSB_LOG_WARN, "tenant",
				"%u (%s, pid %u) left %llu ms ago, and a kernel of it still runs, which only the end of this engine would end: new programs get another one; kernel_limit_ms ends such a kernel",
				t->id, t->name, t->pid,
				(unsigned long long)((now - t->left_ns) / 1000000));
	tell(e, true);
}

void gsb_orphans_look(struct gsb_engine *e)
{
	uint64_t now;

	if (!may_have_some(e) || e->scheduler.stuck)
		return;
	now = gsb_clock_ns();
	if (now < e->orphans.look_ns)
		return;
	e->orphans.look_ns = now + e->params.orphan_limit_ns / LOOKS;
	if (!any_is_orphaned(e, now))
		return;
	if (!e->orphans.any)
		note(e, now);
	if (must_end(e, now))
		e->scheduler.stuck = "a kernel that one of them left behind, and that does not end";
}

void gsb_orphans_forget(struct gsb_engine *e)
{
	bool any = false;

	gsb_for_each_tenant (e, t)
		any |= has_left_some(t);
	if (!any)
		e->orphans.look_ns = 0;
	if (e->orphans.any && !any_is_orphaned(e, gsb_clock_ns()))
		tell(e, false);
}

uint64_t gsb_orphans_due_ns(const struct gsb_engine *e)
{
	uint64_t now;

	if (gsb_likely(!e->orphans.look_ns))
		return UINT64_MAX;
	now = gsb_clock_ns();
	return e->orphans.look_ns > now ? e->orphans.look_ns - now : 0;
}
