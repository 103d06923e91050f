/*
 * ledger.c - see ledger.h.
 */
#include "broker/supervisor/ledger.h"

#include <errno.h>
#include <stddef.h>
#include <utlist.h>

uint64_t gsb_ledger_free(const struct gsb_ledger *l)
{
	return l->total > l->granted ? l->total - l->granted : 0;
}

static void give(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes, bool is_answer,
		 int error)
{
	a->granted += bytes;
	l->granted += bytes;
	l->grant(l, a, bytes, is_answer, error);
}

static struct gsb_ledger_account *first_waiting(struct gsb_ledger *l)
{
	struct gsb_ledger_account *a, *first = NULL;

	DL_FOREACH (l->accounts, a)
		if (a->waits && (!first || a->waits < first->waits))
			first = a;
	return first;
}

static bool fits_now(const struct gsb_ledger *l, const struct gsb_ledger_account *a)
{
	return a->asked <= gsb_ledger_free(l);
}

static void answer(struct gsb_ledger *l, struct gsb_ledger_account *a)
{
	bool fits = fits_now(l, a);

	a->waits = 0;
	a->has_recalled = false;
	give(l, a, fits ? a->asked : 0, true, fits ? 0 : -ENOMEM);
}

static void recall(struct gsb_ledger *l, struct gsb_ledger_account *a, bool reserves)
{
	a->keeps = false;
	a->owes = true;
	l->n_owing++;
	l->recall(l, a, reserves);
}

/* For an ask that would be refused; nobody owes an answer. False: there is nobody to ask, or that was done. */
static bool recall_reserves(struct gsb_ledger *l, struct gsb_ledger_account *asking)
{
	struct gsb_ledger_account *a;

	if (asking->has_recalled)
		return false;
	asking->has_recalled = true;
	DL_FOREACH (l->accounts, a)
		if (a != asking && a->has_reserves && !a->is_deaf && !a->is_ending)
			recall(l, a, true);
	return l->n_owing;
}

/* After each change: decide who waits, in their order, and give who is alone the rest. */
static void settle(struct gsb_ledger *l)
{
	struct gsb_ledger_account *a;

	if (l->n_owing)
		return;
	while ((a = first_waiting(l))) {
		if (!fits_now(l, a) && recall_reserves(l, a))
			return;
		answer(l, a);
	}
	a = l->accounts;
	if (l->n_accounts == 1 && !a->is_ending && (!a->keeps || gsb_ledger_free(l))) {
		a->keeps = true;
		give(l, a, gsb_ledger_free(l), false, 0);
	}
}

static void forgive(struct gsb_ledger *l, struct gsb_ledger_account *a)
{
	l->n_owing -= a->owes;
	a->owes = false;
}

void gsb_ledger_open(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t total)
{
	struct gsb_ledger_account *other;

	l->total = total;
	DL_FOREACH (l->accounts, other)
		if (other->keeps)
			recall(l, other, false);
	DL_APPEND(l->accounts, a);
	l->n_accounts++;
	settle(l);
}

int gsb_ledger_last(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t used)
{
	if (used > a->granted || a->is_ending)
		return -EPROTO;
	a->is_ending = true;
	a->keeps = false;
	a->waits = 0;
	l->granted -= a->granted - used;
	a->granted = used;
	forgive(l, a);
	settle(l);
	return 0;
}

void gsb_ledger_close(struct gsb_ledger *l, struct gsb_ledger_account *a)
{
	forgive(l, a);
	DL_DELETE(l->accounts, a);
	l->n_accounts--;
	l->granted -= a->granted;
	settle(l);
}

int gsb_ledger_ask(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes)
{
	if (a->waits || a->is_ending)
		return -EPROTO;
	a->waits = ++l->n_asks;
	a->asked = bytes;
	settle(l);
	return 0;
}

int gsb_ledger_return(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes,
		      bool is_answer)
{
	if (bytes > a->granted)
		return -EPROTO;
	a->granted -= bytes;
	l->granted -= bytes;
	if (is_answer) {
		a->is_deaf = false;
		forgive(l, a);
	}
	settle(l);
	return 0;
}

void gsb_ledger_expire(struct gsb_ledger *l)
{
	struct gsb_ledger_account *a;

	DL_FOREACH (l->accounts, a) {
		a->is_deaf |= a->owes;
		forgive(l, a);
	}
	settle(l);
}
