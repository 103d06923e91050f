/*
 * start_line.c - several tenants begin together: nothing goes to the device until so many of them have something for it.
 *
 * When a process has come as far as its first command is real time, and differs from run to run. Behind the
 * line it does not count: virtual time stands still until the last has come, and then all are at the same instant, in the
 * order of their names, whoever was first. So several tenants repeat as one alone does, if no two of different
 * work have the same name. With a real clock the line is where a measurement begins.
 *
 * Who dies at the line was one of them, and the others need not wait for another. When the last is not there in time, those
 * that are begin, and the log says who they are. The line stays open until all have left, and so lets later ones pass.
 */
#include "broker/engine/start_line.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "broker/engine/engine.h"
#include "broker/engine/trace/trace.h"

/* ---- who is there ---- */

static struct gsb_tenant *tenant_of(const struct gsb_item *item)
{
	return gsb_tenant_of(item->op.order->queues);
}

static void note_arrivals(struct gsb_engine *e)
{
	const struct gsb_ready *r = &e->scheduler.ready;

	for (unsigned i = 0; i < r->n; i++)
		tenant_of(gsb_head_of(gsb_ready_works(r)[i])->item)->at_start = true;
}

static unsigned list_arrived(const struct gsb_engine *e, struct gsb_tenant *out[GSB_N_SLOTS])
{
	unsigned n = 0;

	for (int i = 0; i < GSB_N_SLOTS; i++) {
		struct gsb_tenant *t = e->tenants[i];

		if (t && t->at_start && t->state != GSB_TENANT_LEAVING)
			out[n++] = t;
	}
	return n;
}

/* ---- they begin ---- */

static int by_name(const void *a, const void *b)
{
	const struct gsb_tenant *const *x = a, *const *y = b;
	int order = strcmp((*x)->name, (*y)->name);

	return order ? order : (*x)->claim.tenant < (*y)->claim.tenant ? -1 : 1;
}

static int by_number(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* Their numbers for the policy, given anew: who comes later still stands behind them. */
static void number_by_name(struct gsb_engine *e, struct gsb_tenant **t, unsigned n)
{
	uint32_t numbers[GSB_N_SLOTS] = {0};

	for (unsigned i = 0; i < n; i++)
		numbers[i] = t[i]->claim.tenant;
	qsort(numbers, n, sizeof(*numbers), by_number);
	qsort(t, n, sizeof(struct gsb_tenant *), by_name);
	for (unsigned i = 0; i < n; i++)
		t[i]->claim.tenant = numbers[i];
	gsb_issue_ranked(&e->scheduler);
}

static void say_who_is_late(const struct gsb_engine *e, struct gsb_tenant *const *t, unsigned n)
{
	char names[320] = "";
	size_t used = 0;

	for (unsigned i = 0; i < n && used < sizeof(names) - 1; i++) {
		int m = snprintf(names + used, sizeof(names) - used, "%s%.63s", i ? ", " : "",
				 t[i]->name);

		used += m < 0 ? 0 : (size_t)m;
	}
	gsb_log(GSB_LOG_WARN, "start",
		"%u of %u tenants were at the start line after %u ms (%s): they begin without the "
		"others; start those sooner, or set start_line to how many there are",
		n + e->line.n_gone, e->line.n_tenants, (unsigned)(e->line.wait_ns / 1000000),
		names);
}

static void begin(struct gsb_engine *e, struct gsb_tenant **t, unsigned n)
{
	struct gsb_start_line *line = &e->line;

	number_by_name(e, t, n);
	gsb_trace(STARTED, started, 0, .device_ns = gsb_engine_now_ns(e),
		  .waited_ns = gsb_clock_ns() - line->since_ns, .n_tenants = n,
		  .n_wanted = line->n_tenants);
	line->open = true;
	line->since_ns = 0;
}

bool gsb_start_line_is_open(struct gsb_engine *e)
{
	struct gsb_start_line *line = &e->line;
	struct gsb_tenant *there[GSB_N_SLOTS];
	unsigned n;
	bool late;

	if (line->open || line->n_tenants < 2)
		return true;
	note_arrivals(e);
	n = list_arrived(e, there);
	if (!n)
		return false;
	if (!line->since_ns)
		line->since_ns = gsb_clock_ns();
	late = gsb_start_line_due_ns(e) == 0;
	if (n + line->n_gone < line->n_tenants && !late && !e->draining)
		return false;
	if (late)
		say_who_is_late(e, there, n);
	begin(e, there, n);
	return true;
}

/* ---- asked by others ---- */

bool gsb_start_line_holds(const struct gsb_engine *e)
{
	return !e->line.open && e->line.since_ns;
}

uint64_t gsb_start_line_due_ns(const struct gsb_engine *e)
{
	const struct gsb_start_line *line = &e->line;
	uint64_t end, now;

	if (!line->since_ns)
		return UINT64_MAX;
	end = line->since_ns + line->wait_ns;
	now = gsb_clock_ns();
	return end > now ? end - now : 0;
}

void gsb_start_line_left(struct gsb_engine *e, const struct gsb_tenant *t)
{
	struct gsb_start_line *line = &e->line;
	struct gsb_tenant *there[GSB_N_SLOTS];

	line->n_gone += !line->open && t->at_start;
	if (!list_arrived(e, there))
		line->since_ns = 0;
	if (e->n_tenants || (!line->open && line->n_gone < line->n_tenants))
		return;
	line->open = false; /* for the next ones */
	line->n_gone = 0;
}
