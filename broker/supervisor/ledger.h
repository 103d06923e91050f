/*
 * ledger.h - who holds how much of one device's memory: pure.
 *
 * The engines of a device have an account each. The bytes of all accounts are never more than the
 * device has, whatever engines ask, and whenever they die. What the messages mean, and what an engine
 * does on its side, stands in broker/control.h.
 *
 * The engine that is alone keeps all there is. When a second one comes, what the first does not use is
 * recalled, and asks wait for its answer; from then on each account holds what its engine uses, so
 * that an ask is granted if there is so much and refused if there is not, at once. When one is left,
 * it keeps all there is again.
 *
 * Of what an engine uses some may be needed by nobody (has_reserves): before an ask is refused, the others are recalled once, and it is decided when
 * they have answered.
 */
#ifndef GSB_BROKER_SUPERVISOR_LEDGER_H
#define GSB_BROKER_SUPERVISOR_LEDGER_H

#include <stdbool.h>
#include <stdint.h>

struct gsb_ledger_account {
	uint64_t granted;
	uint64_t asked;	   /* while it waits */
	uint64_t waits;	   /* 0: no; else its turn: the lower the earlier */
	bool keeps;	   /* it was granted the rest, and returns nothing by itself */
	bool owes;	   /* it was sent a RECALL and has not answered */
	bool is_deaf;	   /* its RECALL expired: not asked for reserves before it has answered */
	bool has_reserves; /* a RECALL may return what it uses; set before it is opened */
	bool has_recalled; /* while it waits: the others, for its sake */
	bool is_ending;	   /* it hears nothing any more */
	struct gsb_ledger_account *prev, *next;
};

struct gsb_ledger {
	uint64_t total, granted; /* granted <= total, unless a later engine offered less */
	struct gsb_ledger_account *accounts;
	unsigned n_accounts, n_owing;
	uint64_t n_asks;

	/* Messages to an engine, set by the owner. They must not call back into the ledger. */
	void (*grant)(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes,
		      bool is_answer, int error);
	/* reserves: of what it uses, and nothing that a call of its own waits for. */
	void (*recall)(struct gsb_ledger *l, struct gsb_ledger_account *a, bool reserves);
};

/* What no account holds. */
uint64_t gsb_ledger_free(const struct gsb_ledger *l);

/* A new engine, whose device has total bytes. a is zeroed but for has_reserves, and the caller's until it is closed. */
void gsb_ledger_open(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t total);
/* Its engine ends, and uses so many bytes until it has ended. -EPROTO: it does not hold so much, or has said so. */
int gsb_ledger_last(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t used);
/* Its engine has ended: what it held is free. */
void gsb_ledger_close(struct gsb_ledger *l, struct gsb_ledger_account *a);

/* So many bytes more; 0: the figures. -EPROTO: it asks already, or ends. */
int gsb_ledger_ask(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes);
/* is_answer: to the RECALL. -EPROTO: it does not hold so much. */
int gsb_ledger_return(struct gsb_ledger *l, struct gsb_ledger_account *a, uint64_t bytes,
		      bool is_answer);

/* Who owes an answer is waited for no longer: asks are decided by what is free without it. */
void gsb_ledger_expire(struct gsb_ledger *l);

#endif
