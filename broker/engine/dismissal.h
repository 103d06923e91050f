/*
 * dismissal.h - a tenant is to go: of its own will, because it is told to, or because it broke the protocol. It has gone when nothing of it is in
 * flight (gsb_tenant_reap()).
 */
#ifndef GSB_BROKER_ENGINE_DISMISSAL_H
#define GSB_BROKER_ENGINE_DISMISSAL_H

#include "gsb/cuabi.h"

struct gsb_engine;
struct gsb_tenant;

/* No more of it: drop its queue, have its running kernels abandoned. */
void gsb_tenant_leave(struct gsb_tenant *t);

/* The same, and the tenant is told why: every later call of it returns result. */
void gsb_tenant_dismiss(struct gsb_tenant *t, CUresult result, const char *why);

/* The same for one that broke the protocol, as gsb_violation() noted; goes to the log, too. */
void gsb_tenant_cut(struct gsb_tenant *t, CUresult result);

/*
 * Lines of the log that say how tenants end. They are limited for all together: a user's processes may come, break the protocol and
 * come again without end, each as another tenant. An engine is of one user, who silences nobody else.
 */
void gsb_dismissal_log_left(const struct gsb_tenant *t);
void gsb_dismissal_log_end(struct gsb_engine *e); /* no more come: what was held back */

#endif
