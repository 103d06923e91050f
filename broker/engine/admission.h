/*
 * admission.h - tenants come and go.
 */
#ifndef GSB_BROKER_ENGINE_ADMISSION_H
#define GSB_BROKER_ENGINE_ADMISSION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "broker/control.h"

struct gsb_engine;
struct gsb_tenant;

struct gsb_admission {
	uint32_t id, pid, uid;
	const char *tenant, *program; /* NUL-terminated, shorter than GSB_TENANT_NAME_MAX */
	uint64_t features_wanted;
	struct gsb_tenant_limits limits;
	int socket, pidfd; /* consumed on success */
	/* Not 0: it is not to be welcomed, for that reason. NULL: nobody is told. */
	int (*before_welcome)(struct gsb_engine *e, const struct gsb_tenant *t);
};

/*
 * gsb_tenant_admit() - make a tenant and send it WELCOME
 * @why: on failure one sentence with the remedy
 *
 * Context: the engine's thread.
 * Return:  0, -EUSERS (no slot), -ENOMEM, -EPROTONOSUPPORT (features), -EEXIST (address window),
 *          -errno of a system call or of before_welcome. The descriptors are then still the caller's.
 */
int gsb_tenant_admit(struct gsb_engine *e, const struct gsb_admission *a, struct gsb_tenant **out,
		     char *why, size_t why_size);

/* Events are recorded, or no longer: the tenant stamps its records, or not. */
void gsb_tenant_trace(struct gsb_tenant *t);

/* What a reload of the configuration changes of a tenant that is there. */
void gsb_tenant_relimit(struct gsb_tenant *t, const struct gsb_tenant_limits *limits);

/* Free it if nothing of it is in flight; true when it is gone, or some of it: the next turn goes on. */
bool gsb_tenant_reap(struct gsb_tenant *t);

#endif
