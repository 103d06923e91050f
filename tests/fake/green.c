/*
 * green.c - green contexts of the fake driver: a resource keeps in its padding which SMs of the emulated device it is.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/fake/state.h"

static struct gsb_sm_range sms_of(const CUdevResource *r)
{
	struct gsb_sm_range sms;

	memcpy(&sms, r->_internal_padding, sizeof(sms));
	return sms;
}

static CUdevResource make(uint32_t first, uint32_t n)
{
	const struct gsb_sm_range sms = {first, n};
	CUdevResource r = {.type = CU_DEV_RESOURCE_TYPE_SM, .sm = {.smCount = n}};

	memcpy(r._internal_padding, &sms, sizeof(sms));
	return r;
}

CUresult cuDeviceGetDevResource(CUdevice device, CUdevResource *all, CUdevResourceType type)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*all = make(0, fake.device->ops->info(fake.device)->arch.n_sms);
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuDevSmResourceSplitByCount(CUdevResource *parts, unsigned *n, const CUdevResource *from,
				     CUdevResource *rest, unsigned flags, unsigned least)
{
	struct gsb_sm_range all = sms_of(from);
	CUresult result = fake_enter(__func__);
	unsigned i;

	if (result)
		return result;
	for (i = 0; i < *n && (i + 1) * least <= all.n; i++)
		parts[i] = make(all.first + i * least, least);
	*n = i;
	*rest = make(all.first + i * least, all.n - i * least);
	return fake_leave(CUDA_SUCCESS);
}

/* One at a time is enough here; the driver has no call that gives one back. */
CUresult cuDevResourceGenerateDesc(CUdevResourceDesc *desc, CUdevResource *resources, unsigned n)
{
	CUresult result = fake_enter(__func__);
	static struct gsb_sm_range sms;

	if (result)
		return result;
	sms = sms_of(&resources[0]);
	for (unsigned i = 1; i < n; i++) {
		if (sms_of(&resources[i]).first != sms.first + sms.n)
			return fake_leave(CUDA_ERROR_INVALID_VALUE); /* no neighbours */
		sms.n += sms_of(&resources[i]).n;
	}
	*desc = (CUdevResourceDesc)&sms;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuGreenCtxCreate(CUgreenCtx *green, CUdevResourceDesc desc, CUdevice device,
			  unsigned flags)
{
	CUresult result = fake_enter(__func__);
	struct gsb_sm_range *sms;

	if (result)
		return result;
	if (!(flags & CU_GREEN_CTX_DEFAULT_STREAM))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	sms = malloc(sizeof(*sms));
	*sms = *(struct gsb_sm_range *)desc;
	fake_add(FAKE_GREEN, fake_handle(sms), 0);
	*green = (CUgreenCtx)sms;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuGreenCtxDestroy(CUgreenCtx green)
{
	CUresult result;

	fake_lock();
	result = fake_remove(FAKE_GREEN, fake_handle(green));
	if (!result)
		free(green);
	return fake_leave_anyway(__func__, result);
}
