/*
 * dismissal.h - a tenant is to go: of its own will, because it is told to, or because it broke the protocol. It has gone when nothing of it is in
 * flight (gsb_tenant_reap()).
 */
#ifndef GSB_BROKER_ENGINE_DISMISSAL_H
#define GSB_BROKER_ENGINE_DISMISSAL_H

#include "gsb/cuabi.h"

struct gsb_tenant;

/* No more of it: drop its queue, have its running kernels abandoned. */
void gsb_tenant_leave(struct gsb_tenant *t);

/* The same, and the tenant is told why: every later call of it returns result. */
void gsb_tenant_dismiss(struct gsb_tenant *t, CUresult result, const char *why);

/* The same for one that broke the protocol, as gsb_violation() noted; goes to the log, too. */
void gsb_tenant_cut(struct gsb_tenant *t, CUresult result);

#endif
