/*
 * job.h - a tenant's jobs for the loader: made, given, freed.
 */
#ifndef GSB_BROKER_ENGINE_CODE_JOB_H
#define GSB_BROKER_ENGINE_CODE_JOB_H

#include "broker/engine/code/loader.h"

/* NULL: no memory. ctx may be NULL. */
struct gsb_job *gsb_job_create(struct gsb_tenant *t, struct gsb_ctx *ctx,
			       const struct gsb_rec *call);
/* The same, held by another fence than its context's open one. */
struct gsb_job *gsb_job_create_in(struct gsb_tenant *t, struct gsb_ctx *ctx,
				  struct gsb_fence *fence, const struct gsb_rec *call);
void gsb_job_destroy(struct gsb_job *j);
void gsb_job_give(struct gsb_job *j);

#endif
