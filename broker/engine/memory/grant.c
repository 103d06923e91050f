/*
 * grant.c - see grant.h.
 *
 * After every change, settle() does what follows from it: serve from the front whom the grant suffices,
 * ask for the next, give back what nobody needs. done() may change the grant again, and then settles
 * within; nothing is remembered over a call of it.
 */
#include "broker/engine/memory/grant.h"

#include <errno.h>
#include <stddef.h>
#include <utlist.h>

void gsb_grant_init(struct gsb_grant *g, uint64_t total_bytes)
{
	*g = (struct gsb_grant){.granted = total_bytes, .keep = true};
}

static uint64_t spare(const struct gsb_grant *g)
{
	return g->granted - g->used;
}

/* With keep set, all that there is has been granted, and what it is is known. */
static bool is_served(const struct gsb_grant *g, const struct gsb_grant_wait *w)
{
	return w->figures ? g->keep : w->bytes <= spare(g);
}

/* What the grant lacks for it, which is not served. */
static uint64_t lack(const struct gsb_grant *g, const struct gsb_grant_wait *w)
{
	return w->figures ? 0 : w->bytes - spare(g);
}

static void finish(struct gsb_grant *g, struct gsb_grant_wait *w, int err)
{
	DL_DELETE(g->waits, w);
	if (g->asked == w)
		g->asked = NULL;
	if (!err)
		g->used += w->bytes;
	w->done(w, err);
}

/* What it gives changes the figures alone. False: nothing came of it. */
static bool reclaim(struct gsb_grant *g)
{
	uint64_t used = g->used;

	if (!g->reclaim || g->is_reclaiming)
		return false;
	g->is_reclaiming = true;
	g->reclaim(g);
	g->is_reclaiming = false;
	return g->used < used;
}

static void serve(struct gsb_grant *g)
{
	while (g->waits) {
		if (is_served(g, g->waits))
			finish(g, g->waits, 0);
		else if (!g->keep)
			return;
		else if (!reclaim(g))
			finish(g, g->waits, -ENOMEM);
	}
}

static void ask(struct gsb_grant *g)
{
	if (!g->waits || g->is_asking)
		return;
	g->is_asking = true;
	g->asked = g->waits;
	g->asked_bytes = lack(g, g->waits);
	g->ask(g, g->asked_bytes);
}

/* All but what the first that waits can use. */
static uint64_t unneeded(const struct gsb_grant *g)
{
	uint64_t bytes = spare(g), needed = g->waits ? g->waits->bytes : 0;

	return bytes > needed ? bytes - needed : 0;
}

static void give_spare_back(struct gsb_grant *g)
{
	uint64_t bytes = g->keep ? 0 : unneeded(g);

	if (!bytes)
		return;
	g->granted -= bytes;
	g->give_back(g, bytes, false);
}

static void settle(struct gsb_grant *g)
{
	serve(g);
	ask(g);
	give_spare_back(g);
}

bool gsb_grant_try(struct gsb_grant *g, uint64_t bytes)
{
	if (g->waits)
		return false;
	if (bytes > spare(g) && g->keep)
		reclaim(g);
	if (bytes > spare(g))
		return false;
	g->used += bytes;
	return true;
}

bool gsb_grant_try_at_once(struct gsb_grant *g, uint64_t bytes)
{
	bool is_there;

	if (!g->waits && bytes > spare(g))
		reclaim(g);
	is_there = gsb_grant_try(g, bytes);
	settle(g);
	return is_there;
}

void gsb_grant_take(struct gsb_grant *g, struct gsb_grant_wait *w)
{
	DL_APPEND(g->waits, w);
	settle(g);
}

void gsb_grant_give(struct gsb_grant *g, uint64_t bytes)
{
	g->used -= bytes;
	if (!g->is_reclaiming)
		settle(g);
}

bool gsb_grant_reclaim(struct gsb_grant *g)
{
	bool any = reclaim(g);

	if (any)
		settle(g);
	return any;
}

static struct gsb_grant_wait *find(const struct gsb_grant *g, const void *owner)
{
	struct gsb_grant_wait *w = g->waits;

	while (w && w->owner != owner)
		w = w->next;
	return w;
}

void gsb_grant_cancel(struct gsb_grant *g, const void *owner)
{
	struct gsb_grant_wait *w;

	while ((w = find(g, owner)))
		finish(g, w, -ECANCELED);
	settle(g);
}

/* The answer to the question of w, which still waits. Frees since then may have made it too large a question. */
static void answer(struct gsb_grant *g, struct gsb_grant_wait *w, bool refused)
{
	g->asked = NULL;
	if (refused && !w->figures)
		reclaim(g);
	if (w->figures)
		finish(g, w, 0);
	else if (refused && !is_served(g, w) && lack(g, w) >= g->asked_bytes)
		finish(g, w, -ENOMEM);
}

void gsb_grant_hear(struct gsb_grant *g, const struct gsb_grant_news *news)
{
	struct gsb_grant_wait *asked = g->asked;

	g->granted += news->bytes;
	g->keep = news->keep;
	g->others_free = news->free_bytes;
	if (news->is_answer) {
		g->is_asking = false;
		if (asked)
			answer(g, asked, news->refused);
	}
	settle(g);
}

void gsb_grant_recall(struct gsb_grant *g, bool reserves)
{
	uint64_t bytes;

	reclaim(g);
	bytes = reserves ? unneeded(g) : spare(g);
	g->keep = false;
	g->granted -= bytes;
	g->give_back(g, bytes, true);
	settle(g);
}

void gsb_grant_end(struct gsb_grant *g)
{
	g->granted = g->used;
	g->keep = false;
	g->is_asking = true; /* and nothing is answered */
	g->asked = NULL;
}
