/*
 * tensor_map.c - tensor maps for tenants: the device encodes them, in a context that a tenant has not.
 *
 * An address in one is the tenant's word, as it is in a parameter of its kernels: what they may touch is for the device to say.
 */
#include <errno.h>

#include "broker/engine/code/code.h"
#include "broker/engine/tenant/tenant.h"

int gsb_code_tensor_map(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_tensor_map *b)
{
	const struct gsb_device_ops *ops = t->dev->ops;
	struct gsb_reply_tensor_map reply = {0};
	int err = -ENOTSUP;

	if (ops->tensor_map)
		err = ops->tensor_map(t->dev, &b->map, reply.words);
	if (err)
		return gsb_tenant_fail_call(t, rec, err);
	gsb_tenant_reply_with(t, rec, &reply, sizeof(reply));
	return 0;
}
