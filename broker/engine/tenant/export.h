/*
 * export.h - memory and events that programs may hand to each other (gsb/ipc.h): who has the handle is who may have them.
 *
 * An export is part of what it exports, and ends before that does.
 */
#ifndef GSB_BROKER_ENGINE_TENANT_EXPORT_H
#define GSB_BROKER_ENGINE_TENANT_EXPORT_H

#include <stdint.h>
#include <uthash.h>

#include "gsb/ipc.h"

struct gsb_tenant;

struct gsb_export {
	struct gsb_ipc_handle handle;
	UT_hash_handle hh;
};

/* Of an engine. Zeroed is none. */
struct gsb_exports {
	struct gsb_export *all; /* by handle.id */
	uint64_t last_id;
};

/* -EAGAIN: the system has no secret to give now. */
int gsb_export_add(struct gsb_exports *x, struct gsb_export *e, enum gsb_ipc_kind kind);
void gsb_export_remove(struct gsb_exports *x, struct gsb_export *e);

/* What a handle from a hostile program names; NULL: nothing of that kind. */
struct gsb_export *gsb_export_find(const struct gsb_exports *x, enum gsb_ipc_kind kind,
				   const struct gsb_ipc_handle *handle);
/* It names nothing: -EINVAL, -EXDEV (another engine's, which is said in the log). */
int gsb_export_why_not(struct gsb_tenant *t, enum gsb_ipc_kind kind,
		       const struct gsb_ipc_handle *handle);

#endif
