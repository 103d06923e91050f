/*
 * starts.c - see starts.h.
 */
#include "broker/supervisor/starts.h"

#include <string.h>
#include <utlist.h>

#include "base/clock.h"
#include "base/compiler.h"

/* Whether s may start, for all that others of its device do. */
static bool has_room(const struct gsb_starts *all, const struct gsb_start *s, uint64_t now_ns)
{
	const struct gsb_start *other;
	unsigned n = 0;

	DL_FOREACH (all->list, other) {
		if (strcmp(other->spec, s->spec) != 0)
			continue;
		if (other->not_before_ns > now_ns)
			return false;
		n += other->state == GSB_START_UNDER_WAY;
	}
	return n < GSB_STARTS_AT_ONCE;
}

/* Whose turn it is; NULL: nobody's. */
static struct gsb_start *find_next(const struct gsb_starts *all, uint64_t now_ns)
{
	struct gsb_start *s;

	DL_FOREACH (all->list, s)
		if (s->state == GSB_START_WAITS && has_room(all, s, now_ns))
			return s;
	return NULL;
}

/* When the first pause ends; without one it is for those under way to say that they are over. */
static void await_pause(struct gsb_starts *all, uint64_t now_ns)
{
	const struct gsb_start *s;
	uint64_t least_ns = UINT64_MAX;

	DL_FOREACH (all->list, s)
		if (s->not_before_ns > now_ns && s->not_before_ns - now_ns < least_ns)
			least_ns = s->not_before_ns - now_ns;
	if (least_ns != UINT64_MAX)
		gsb_timer_set(all->loop, &all->timer, least_ns / 1000000 + 1);
}

static void on_time(struct gsb_timer *t)
{
	struct gsb_starts *all = gsb_container_of(t, struct gsb_starts, timer);
	uint64_t now_ns = gsb_clock_ns();
	struct gsb_start *s;

	while ((s = find_next(all, now_ns))) {
		s->state = GSB_START_UNDER_WAY;
		all->on_turn(all, s);
	}
	await_pause(all, now_ns);
}

static void choose_soon(struct gsb_starts *all)
{
	gsb_timer_set(all->loop, &all->timer, 0);
}

void gsb_starts_init(struct gsb_starts *all, struct gsb_loop *loop,
		     void (*on_turn)(struct gsb_starts *all, struct gsb_start *s))
{
	*all = (struct gsb_starts){.loop = loop, .timer.on_time = on_time, .on_turn = on_turn};
}

void gsb_starts_add(struct gsb_starts *all, struct gsb_start *s)
{
	if (s->state != GSB_START_NONE)
		return;
	s->state = GSB_START_WAITS;
	DL_APPEND(all->list, s);
	choose_soon(all);
}

void gsb_starts_over(struct gsb_starts *all, struct gsb_start *s)
{
	if (s->state == GSB_START_NONE)
		return;
	DL_DELETE(all->list, s);
	s->state = GSB_START_NONE;
	s->not_before_ns = s->n_tries = 0;
	choose_soon(all);
}

bool gsb_starts_again(struct gsb_starts *all, struct gsb_start *s)
{
	if (++s->n_tries >= GSB_STARTS_TRIES)
		return false;
	s->state = GSB_START_WAITS;
	s->not_before_ns = gsb_clock_ns() + GSB_STARTS_PAUSE_MS * 1000000ull;
	choose_soon(all);
	return true;
}

void gsb_starts_hurry(struct gsb_starts *all, const char *spec)
{
	struct gsb_start *s;

	DL_FOREACH (all->list, s)
		if (!strcmp(s->spec, spec))
			s->not_before_ns = 0;
	choose_soon(all);
}
