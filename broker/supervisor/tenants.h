/*
 * tenants.h - who was admitted: one record a process, until its engine says that nothing of it is left.
 */
#ifndef GSB_BROKER_SUPERVISOR_TENANTS_H
#define GSB_BROKER_SUPERVISOR_TENANTS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "broker/config/config.h"
#include "broker/control.h"

struct gsb_served_engine; /* engines.h */

struct gsb_admitted {
	uint32_t id;
	pid_t pid;
	uid_t uid;
	char name[GSB_TENANT_NAME_MAX];
	struct gsb_tenant_limits limits; /* once it is delivered */
	struct gsb_served_engine *engine;
	bool delivered;	 /* ADMIT is on its way; before, it waits for the engine to start */
	bool ending;	 /* its engine was told so: it counts no longer */
	uint64_t survey; /* last STATUS number before that: a later answer must list it */
	struct gsb_ctl_tenant seen; /* its row in the last answer; zeroed before */
	struct gsb_admitted *prev, *next;
};

struct gsb_tenants {
	struct gsb_admitted *list;
	unsigned n;
	uint32_t last_id;
};

/* A tenant of e; its number goes into admit, unless it has one from before. -ENOMEM. */
int gsb_tenants_add(struct gsb_tenants *ts, struct gsb_served_engine *e,
		    struct gsb_ctl_admit *admit);
void gsb_tenants_remove(struct gsb_tenants *ts, struct gsb_admitted *t);

/* NULL: e has no tenant of that number. */
struct gsb_admitted *gsb_tenants_find(const struct gsb_tenants *ts,
				      const struct gsb_served_engine *e, uint32_t id);
/* How many count against the limits: in all, and of one user. */
unsigned gsb_tenants_counting(const struct gsb_tenants *ts);
unsigned gsb_tenants_of_uid(const struct gsb_tenants *ts, uid_t uid);
unsigned gsb_tenants_of_engine(const struct gsb_tenants *ts, const struct gsb_served_engine *e);

/* The limits that a section of the configuration means. */
void gsb_tenant_limits(const struct gsb_tenant_config *t, struct gsb_tenant_limits *out);

#endif
