/*
 * export.c - see export.h.
 */
#include "broker/engine/tenant/export.h"

#include <errno.h>
#include <sys/random.h>
#include <unistd.h>

#include "broker/engine/tenant/tenant.h"

int gsb_export_add(struct gsb_exports *x, struct gsb_export *e, enum gsb_ipc_kind kind)
{
	struct gsb_ipc_handle h = {
		.magic = GSB_IPC_MAGIC,
		.kind = kind,
		.pid = (uint32_t)getpid(),
		.id = x->last_id + 1,
	};

	if (getrandom(h.secret, sizeof(h.secret), GRND_NONBLOCK) != sizeof(h.secret))
		return -EAGAIN;
	x->last_id = h.id;
	e->handle = h;
	HASH_ADD(hh, x->all, handle.id, sizeof(e->handle.id), e);
	return 0;
}

void gsb_export_remove(struct gsb_exports *x, struct gsb_export *e)
{
	HASH_DELETE(hh, x->all, e);
}

/* A secret is compared whole, so that the time it takes tells nothing of it. */
static uint64_t differs(const struct gsb_ipc_handle *a, const struct gsb_ipc_handle *b)
{
	return (a->secret[0] ^ b->secret[0]) | (a->secret[1] ^ b->secret[1]);
}

struct gsb_export *gsb_export_find(const struct gsb_exports *x, enum gsb_ipc_kind kind,
				   const struct gsb_ipc_handle *handle)
{
	struct gsb_export *e;

	HASH_FIND(hh, x->all, &handle->id, sizeof(handle->id), e);
	return e && e->handle.kind == (uint32_t)kind && !differs(&e->handle, handle) ? e : NULL;
}

int gsb_export_why_not(struct gsb_tenant *t, enum gsb_ipc_kind kind,
		       const struct gsb_ipc_handle *handle)
{
	if (handle->magic != GSB_IPC_MAGIC || handle->kind != (uint32_t)kind ||
	    handle->pid == (uint32_t)getpid())
		return -EINVAL;
	gsb_tenant_log(
		t, GSB_LOG_WARN, "tenant",
		"%u (%s, pid %u) was handed %s of another engine (pid %u), which it cannot have: programs that "
		"share are of one user, with isolation = shared or lanes, 64 of them at most",
		t->id, t->name, t->pid, kind == GSB_IPC_EVENT ? "an event" : "memory", handle->pid);
	return -EXDEV;
}
