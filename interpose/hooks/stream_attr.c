/*
 * hooks/stream_attr.c - attributes of streams: hints, which are kept and told again, and the priority, which the engine is told.
 * What is accepted is what an H200's driver accepts.
 */
#include <string.h>

#include "interpose/core/lock.h"
#include "interpose/core/process.h"
#include "interpose/cu/stream.h"
#include "interpose/hooks/hooks.h"

static struct gsb_lock hints_lock;

/* Where an attribute is kept. NULL: streams have none such. */
static void *hint_of(struct gsb_cu_stream_hints *h, CUstreamAttrID attr, size_t *bytes)
{
	switch (attr) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
		*bytes = sizeof(h->window);
		return &h->window;
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY: *bytes = sizeof(h->sync); return &h->sync;
	case CU_LAUNCH_ATTRIBUTE_PRIORITY: *bytes = sizeof(h->priority); return &h->priority;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
		*bytes = sizeof(h->domain_map);
		return &h->domain_map;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: *bytes = sizeof(h->domain); return &h->domain;
	default: return NULL;
	}
}

static int device_attr(CUdevice_attribute attr)
{
	return gsb_proc.device.attrs[attr];
}

static bool is_window_ok(const CUaccessPolicyWindow *w)
{
	return w->hitRatio >= 0 && w->hitRatio <= 1 &&
	       w->missProp != CU_ACCESS_PROPERTY_PERSISTING &&
	       w->num_bytes <=
		       (size_t)device_attr(CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE);
}

static bool is_domain_map_ok(const CUlaunchMemSyncDomainMap *m)
{
	const int n = device_attr(CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT);

	return m->default_ < n && m->remote < n;
}

static bool is_value_ok(CUstreamAttrID attr, const CUstreamAttrValue *v)
{
	switch (attr) {
	case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW: return is_window_ok(&v->accessPolicyWindow);
	case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
		return v->syncPolicy >= CU_SYNC_POLICY_AUTO &&
		       v->syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC;
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return is_domain_map_ok(&v->memSyncDomainMap);
	case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
		return v->memSyncDomain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
	default: return true;
	}
}

static CUresult post_priority(const struct gsb_cu_stream_ref *s, int32_t priority)
{
	const struct gsb_rec_stream_priority body = {.priority = priority};

	return gsb_cu_stream_post(s, GSB_REC_STREAM_PRIORITY, &body, sizeof(body), NULL);
}

static struct gsb_cu_stream_hints read_hints(const struct gsb_cu_stream_ref *s)
{
	struct gsb_cu_stream_hints h;

	gsb_lock_take(&hints_lock);
	h = s->s->hints;
	gsb_lock_give(&hints_lock);
	return h;
}

/* The engine is told first, and without the lock: its ring may be full. */
static CUresult change_priority(const struct gsb_cu_stream_ref *s, int32_t priority)
{
	return read_hints(s).priority != priority ? post_priority(s, priority) : CUDA_SUCCESS;
}

/* A value has as many bytes as its attribute; what is behind them stays the program's. */
CUresult hook_cuStreamGetAttribute(CUstream stream, CUstreamAttrID attr, CUstreamAttrValue *value)
{
	struct gsb_cu_stream_hints h;
	struct gsb_cu_stream_ref s;
	size_t bytes;
	void *hint = hint_of(&h, attr, &bytes);
	CUresult result =
		value && hint ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	h = read_hints(&s);
	memcpy(value, hint, bytes);
	return CUDA_SUCCESS;
}

CUresult hook_cuStreamSetAttribute(CUstream stream, CUstreamAttrID attr,
				   const CUstreamAttrValue *value)
{
	struct gsb_cu_stream_hints h;
	struct gsb_cu_stream_ref s;
	size_t bytes;
	void *hint = hint_of(&h, attr, &bytes);
	CUresult result = value && hint && is_value_ok(attr, value)
				  ? gsb_cu_stream_resolve(stream, &s)
				  : CUDA_ERROR_INVALID_VALUE;

	if (result)
		return result;
	memcpy(hint, value, bytes);
	if (attr == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
		h.priority = gsb_clamp_priority(&gsb_proc.device, h.priority);
		result = change_priority(&s, h.priority);
	}
	if (result)
		return result;
	gsb_lock_take(&hints_lock);
	memcpy(hint_of(&s.s->hints, attr, &bytes), hint, bytes);
	gsb_lock_give(&hints_lock);
	return CUDA_SUCCESS;
}

CUresult hook_cuStreamCopyAttributes(CUstream dst, CUstream src)
{
	struct gsb_cu_stream_ref to, from;
	struct gsb_cu_stream_hints h;
	CUresult result = gsb_cu_stream_resolve(dst, &to);

	if (!result)
		result = gsb_cu_stream_resolve(src, &from);
	if (result)
		return result;
	h = read_hints(&from);
	result = change_priority(&to, h.priority);
	if (result)
		return result;
	gsb_lock_take(&hints_lock);
	to.s->hints = h;
	gsb_lock_give(&hints_lock);
	return CUDA_SUCCESS;
}

CUresult hook_cuStreamGetPriority(CUstream stream, int *priority)
{
	struct gsb_cu_stream_ref s;
	CUresult result = priority ? gsb_cu_stream_resolve(stream, &s) : CUDA_ERROR_INVALID_VALUE;

	if (!result)
		*priority = read_hints(&s).priority;
	return result;
}
