/*
 * host_call.h - host functions and callbacks: functions of the program that have their turn in a stream.
 */
#ifndef GSB_INTERPOSE_CU_HOST_CALL_H
#define GSB_INTERPOSE_CU_HOST_CALL_H

#include <stdint.h>

#include "gsb/cuabi.h"

struct gsb_cu_stream_ref;

/* fn(data), or callback(stream, status, data) with the context's status of that moment. */
struct gsb_host_call {
	CUhostFn fn;
	CUstreamCallback callback;
	void *data;
	CUstream stream; /* as the program named it */
};

/* Post a host function into a stream; the call is copied. */
CUresult gsb_host_call_post(const struct gsb_cu_stream_ref *s, const struct gsb_host_call *call);

/* The engine says that it is due: have it run, and the engine told. Returns at once. */
void gsb_host_call_due(uint64_t cookie);

#endif
