/*
 * device_memory.c - see device_memory.h.
 *
 * A device is what the configuration calls one: engines of one spec share it. A ledger lives as long
 * as an engine draws on it.
 */
#include "broker/supervisor/device_memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/compiler.h"
#include "base/log.h"
#include "broker/supervisor/ledger.h"
#include "shm/channel.h"

#define TOPIC	  "memory"
#define RECALL_MS 1000 /* for an engine to answer */

struct holder {
	struct gsb_ledger_account account;
	struct gsb_engine_process *p;
};

struct gsb_device_ledger {
	struct gsb_device_memory *all;
	char spec[GSB_CONFIG_SPEC_MAX];
	struct gsb_ledger ledger;
	struct gsb_timer recall; /* set while an answer is owed */
	struct gsb_device_ledger *prev, *next;
};

static struct holder *holder_of(const struct gsb_ledger_account *a)
{
	return gsb_container_of(a, struct holder, account);
}

/* ---- to the engines ---- */

static void on_grant(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes,
		     bool is_answer, int error)
{
	struct gsb_ctl_memory_grant m = {
		.bytes = bytes,
		.free_bytes = gsb_ledger_free(l),
		.total_bytes = l->total,
		.answer = is_answer,
		.keep = a->keeps,
		.error = error,
	};

	gsb_msg_init(&m.msg, GSB_CTL_MEMORY_GRANT, sizeof(m));
	gsb_engine_process_send(holder_of(a)->p, &m.msg, NULL, 0);
}

static void on_recall(struct gsb_ledger *l, struct gsb_ledger_account *a, bool reserves)
{
	struct gsb_ctl_memory m = {.keeps = reserves};

	gsb_msg_init(&m.msg, GSB_CTL_MEMORY_RECALL, sizeof(m));
	gsb_engine_process_send(holder_of(a)->p, &m.msg, NULL, 0);
}

static void watch_recall(struct gsb_device_ledger *d)
{
	if (!d->ledger.n_owing)
		gsb_timer_clear(&d->all->s->loop, &d->recall);
	else if (!d->recall.at_ns)
		gsb_timer_set(&d->all->s->loop, &d->recall, RECALL_MS);
}

static void on_recall_late(struct gsb_timer *t)
{
	struct gsb_device_ledger *d = gsb_container_of(t, struct gsb_device_ledger, recall);
	struct gsb_ledger_account *a;

	DL_FOREACH (d->ledger.accounts, a)
		if (a->owes)
			gsb_log(GSB_LOG_WARN, TOPIC,
				"%s (pid %d) does not say what device memory it can spare: others "
				"go on without",
				d->spec, (int)holder_of(a)->p->pid);
	gsb_ledger_expire(&d->ledger);
	watch_recall(d); /* who waits next may have others recalled */
}

/* ---- ledgers ---- */

static struct gsb_device_ledger *find(const struct gsb_device_memory *dm, const char *spec)
{
	struct gsb_device_ledger *d;

	DL_FOREACH (dm->list, d)
		if (!strcmp(d->spec, spec))
			return d;
	return NULL;
}

static struct holder *find_holder(const struct gsb_device_ledger *d,
				  const struct gsb_engine_process *p)
{
	struct gsb_ledger_account *a;

	DL_FOREACH (d->ledger.accounts, a)
		if (holder_of(a)->p == p)
			return holder_of(a);
	return NULL;
}

static struct gsb_device_ledger *ledger_create(struct gsb_device_memory *dm, const char *spec)
{
	struct gsb_device_ledger *d = calloc(1, sizeof(*d));

	if (!d)
		return NULL;
	d->all = dm;
	snprintf(d->spec, sizeof(d->spec), "%s", spec);
	d->ledger.grant = on_grant;
	d->ledger.recall = on_recall;
	d->recall.on_time = on_recall_late;
	DL_APPEND(dm->list, d);
	return d;
}

static void ledger_destroy(struct gsb_device_ledger *d)
{
	gsb_timer_clear(&d->all->s->loop, &d->recall);
	DL_DELETE(d->all->list, d);
	free(d);
}

/* Without memory the engine is never granted any: its tenants hear of that. */
static void on_open(struct gsb_device_memory *dm, struct gsb_engine_process *p,
		    const struct gsb_ctl_memory *m)
{
	struct gsb_device_ledger *d = find(dm, p->spec);
	struct holder *h;

	if (d && find_holder(d, p))
		return;
	h = calloc(1, sizeof(*h));
	if (!d && h)
		d = ledger_create(dm, p->spec);
	if (!d || !h) {
		gsb_log(GSB_LOG_ERROR, TOPIC, "%s gets no device memory: out of memory", p->spec);
		free(h);
		return;
	}
	h->p = p;
	h->account.has_reserves = m->keeps;
	gsb_ledger_open(&d->ledger, &h->account, m->bytes);
	watch_recall(d);
}

void gsb_device_memory_close(struct gsb_device_memory *dm, struct gsb_engine_process *p)
{
	struct gsb_device_ledger *d = find(dm, p->spec);
	struct holder *h = d ? find_holder(d, p) : NULL;

	if (!h)
		return;
	gsb_ledger_close(&d->ledger, &h->account);
	free(h);
	watch_recall(d);
	if (!d->ledger.n_accounts)
		ledger_destroy(d);
}

bool gsb_device_memory_free(const struct gsb_device_memory *dm, const struct gsb_engine_process *p,
			    uint64_t *free_bytes, uint64_t *total_bytes)
{
	const struct gsb_device_ledger *d = find(dm, p->spec);
	const struct holder *h = d ? find_holder(d, p) : NULL;

	if (!h || h->account.keeps)
		return false;
	*free_bytes = gsb_ledger_free(&d->ledger);
	*total_bytes = d->ledger.total;
	return true;
}

/* ---- what an engine says ---- */

/* To who has an account: the others cannot mean it. */
static void on_account(struct gsb_device_memory *dm, struct gsb_engine_process *p,
		       const struct gsb_msg *m)
{
	struct gsb_device_ledger *d = find(dm, p->spec);
	struct holder *h = d ? find_holder(d, p) : NULL;
	int err = -EPROTO;

	if (h && m->type == GSB_CTL_MEMORY_ASK) {
		const struct gsb_ctl_memory *ask = (const void *)m;

		err = gsb_ledger_ask(&d->ledger, &h->account, ask->bytes);
	} else if (h && m->type == GSB_CTL_MEMORY_LAST) {
		const struct gsb_ctl_memory *last = (const void *)m;

		err = gsb_ledger_last(&d->ledger, &h->account, last->bytes);
	} else if (h) {
		const struct gsb_ctl_memory_return *r = (const void *)m;

		err = gsb_ledger_return(&d->ledger, &h->account, r->bytes, r->recall);
	}
	if (err)
		gsb_log(GSB_LOG_ERROR, TOPIC,
			"%s (pid %d): message %u contradicts the ledger and is dropped", p->spec,
			(int)p->pid, m->type);
	else
		watch_recall(d);
}

bool gsb_device_memory_message(struct gsb_device_memory *dm, struct gsb_engine_process *p,
			       const struct gsb_msg *m, size_t n)
{
	if (m->type == GSB_CTL_MEMORY_OPEN && n == sizeof(struct gsb_ctl_memory))
		on_open(dm, p, (const struct gsb_ctl_memory *)m);
	else if (((m->type == GSB_CTL_MEMORY_ASK || m->type == GSB_CTL_MEMORY_LAST) &&
		  n == sizeof(struct gsb_ctl_memory)) ||
		 (m->type == GSB_CTL_MEMORY_RETURN && n == sizeof(struct gsb_ctl_memory_return)))
		on_account(dm, p, m);
	else
		return false;
	return true;
}
