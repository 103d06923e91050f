/*
 * status.h - what the engine tells about itself and its tenants (gsbctl status, gsbctl ps).
 */
#ifndef GSB_BROKER_ENGINE_STATUS_H
#define GSB_BROKER_ENGINE_STATUS_H

#include <stdint.h>

struct gsb_ctl_tenant;
struct gsb_engine;
struct gsb_tenant;

/* What gsbctl shows of a tenant. */
void gsb_status_row(const struct gsb_tenant *t, struct gsb_ctl_tenant *row);

/* To free(); NULL: no memory. */
struct gsb_ctl_status_reply *gsb_status_make(struct gsb_engine *e, uint64_t number);

#endif
