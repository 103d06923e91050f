/*
 * tensor_map.c - tensor maps for tenants: the device encodes them, in a context that a tenant has not.
 *
 * An address in one is the tenant's word, as it is in a parameter of its kernels: what they may touch is for the device to say.
 */
#include <errno.h>

#include "broker/engine/code/code.h"
#include "broker/engine/tenant/tenant.h"

struct encoding {
	struct gsb_later later; /* first */
	struct gsb_tensor_map map;
	struct gsb_reply_tensor_map reply;
};

static int encode(struct gsb_later *l)
{
	struct encoding *e = gsb_container_of(l, struct encoding, later);
	struct gsb_tenant *t = l->tenant;

	return t->dev->ops->tensor_map(t->dev, gsb_tenant_owner(t), &e->map, e->reply.words);
}

static void encoded(struct gsb_later *l, int err)
{
	struct encoding *e = gsb_container_of(l, struct encoding, later);

	gsb_later_reply(l, err, &e->reply, sizeof(e->reply));
}

int gsb_code_tensor_map(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_tensor_map *b)
{
	struct encoding e = {
		.later = {.tenant = t, .call = *rec, .ask = encode, .done = encoded},
		.map = b->map,
	};

	if (!t->dev->ops->tensor_map)
		return gsb_tenant_fail_call(t, rec, -ENOTSUP);
	gsb_later_run(&e.later, sizeof(e));
	return 0;
}
