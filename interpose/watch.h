/*
 * watch.h - the library's one thread: it runs host functions and sees the engine die.
 */
#ifndef GSB_INTERPOSE_WATCH_H
#define GSB_INTERPOSE_WATCH_H

#include "gsb/cuabi.h"

struct gsb_cu_ctx;
struct gsb_cu_stream;

/* fn(data), or callback(stream, status, data) with the context's status of that moment. */
struct gsb_host_call {
	CUhostFn fn;
	CUstreamCallback callback;
	void *data;
	CUstream stream; /* as the program named it */
	struct gsb_cu_ctx *ctx;
};

/* Start the thread; all signals are blocked in it. 0, -errno. */
int gsb_watch_start(void);

/* Post a host function into a stream; the call is copied. */
CUresult gsb_watch_post(struct gsb_cu_stream *s, const struct gsb_host_call *call);

#endif
