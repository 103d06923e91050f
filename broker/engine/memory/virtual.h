/*
 * virtual.h - addresses that a tenant reserves, memory without an address of its own, and where it has mapped it.
 *
 * All of it is the process's, for all of its contexts and without any. Memory counts when it is made, whatever is mapped of it;
 * addresses count in a share of their own (addresses.h). What is unmapped, or may be accessed less, can be named by no record from
 * then on, and goes when all work until then is done: the call is answered then.
 *
 * Memory of the host is a part of the tenant's window, of which it counts; the tenant maps it again where it has reserved addresses, and so does
 * the device. It is of its tenant alone.
 */
#ifndef GSB_BROKER_ENGINE_MEMORY_VIRTUAL_H
#define GSB_BROKER_ENGINE_MEMORY_VIRTUAL_H

#include <stdbool.h>
#include <stdint.h>

#include "gsb/wire.h"

struct gsb_tenant;

/* CALLs. 0, -EPROTO, -EAGAIN: dispatch.h. */
int gsb_virtual_reserve(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_address_reserve *body);
int gsb_virtual_free(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t addr);
int gsb_virtual_create(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t size);
int gsb_virtual_create_of_host(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t size);
int gsb_virtual_destroy(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t id);
/* Of memory that others may then have, and of others' memory. */
int gsb_virtual_export(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t id);
int gsb_virtual_open(struct gsb_tenant *t, const struct gsb_rec *rec,
		     const struct gsb_ipc_handle *handle);
int gsb_virtual_map(struct gsb_tenant *t, const struct gsb_rec *rec,
		    const struct gsb_rec_backing_map *body);
int gsb_virtual_access(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_backing_range *body);
int gsb_virtual_unmap(struct gsb_tenant *t, const struct gsb_rec *rec,
		      const struct gsb_rec_backing_range *body);

/* Whether a record may name these bytes, to read or to write. */
bool gsb_virtual_allows(const struct gsb_tenant *t, uint64_t addr, uint64_t bytes, bool write);

/* Whether there is memory of the host at that address, and whether there is any. */
bool gsb_virtual_is_of_host(const struct gsb_tenant *t, uint64_t addr);
bool gsb_virtual_any_of_host(const struct gsb_tenant *t);

/* It leaves: its calls that wait for memory are answered now. */
void gsb_virtual_cancel(struct gsb_tenant *t);
/* Nothing of it is in flight: all that it has goes, some in each turn; true when nothing is left. */
bool gsb_virtual_finish(struct gsb_tenant *t);

#endif
