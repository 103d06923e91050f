/*
 * host_call.c - see host_call.h.
 *
 * The engine says by message which function is due, since a stream's order is known only there; the answer
 * goes the same way. It is no record: the ring may be full of what waits behind the very function, or the
 * engine may have stopped at a record that has no room until the function's stream moves.
 *
 * They run on a thread of their own, one after another as they become due, which begins with the first: one that
 * blocks must not keep the library from seeing that the engine has died.
 */
#include "interpose/cu/host_call.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/log.h"
#include "interpose/core/helper.h"
#include "interpose/core/post.h"
#include "interpose/core/process.h"
#include "interpose/core/thread.h"
#include "interpose/cu/ctx.h"
#include "interpose/cu/stream.h"
#include "shm/channel.h"

/* A call on its way. They come back mostly in the order of the list. */
struct pending {
	struct pending *next;
	uint64_t cookie; /* 0: the engine does not know it */
	uint64_t wire;	 /* context of its stream */
	struct gsb_host_call call;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *first, **last = &first; /* lock */
static uint64_t last_cookie;		       /* lock */
static struct pending *due, **last_due = &due; /* lock */
static pthread_cond_t is_due = PTHREAD_COND_INITIALIZER;
static bool has_thread; /* lock */

/* Its cookie. From the post on it may have run, and be gone. */
static uint64_t enlist(struct pending *p)
{
	uint64_t cookie;

	pthread_mutex_lock(&lock);
	cookie = p->cookie = ++last_cookie;
	*last = p;
	last = &p->next;
	pthread_mutex_unlock(&lock);
	return cookie;
}

static struct pending *take(uint64_t cookie)
{
	struct pending **at = &first, *p;

	pthread_mutex_lock(&lock);
	while ((p = *at) && p->cookie != cookie)
		at = &p->next;
	if (p) {
		*at = p->next;
		if (last == &p->next)
			last = at;
	}
	pthread_mutex_unlock(&lock);
	return p;
}

/*
 * After an error of its context a callback is called and learns of it, a host function is not called: so CUDA.
 * The interface is closed to it. Virtual time stands until the answer, so this thread needs no slot.
 */
static void run(const struct pending *p)
{
	const struct gsb_host_call *c = &p->call;
	CUresult status = p->cookie ? gsb_cu_wire_error(p->wire) : CUDA_SUCCESS;

	gsb_self_suspend();
	if (c->callback)
		c->callback(c->stream, status, c->data);
	else if (!status)
		c->fn(c->data);
	gsb_self_resume();
}

static void run_and_tell(struct pending *p)
{
	struct gsb_msg_host_func done = {.cookie = p->cookie};

	run(p);
	free(p);
	if (!done.cookie)
		return;
	gsb_msg_init(&done.msg, GSB_MSG_HOST_FUNC, sizeof(done));
	/* The stream waits for it, so what the kernel has no memory for now is said again. Else the engine is gone. */
	while (gsb_process_has(gsb_proc.socket) &&
	       gsb_channel_may_retry(gsb_channel_send(gsb_proc.socket, &done.msg, NULL, 0)))
		usleep(1000);
}

static struct pending *wait_for_due(void)
{
	struct pending *p;

	pthread_mutex_lock(&lock);
	while (!(p = due))
		pthread_cond_wait(&is_due, &lock);
	due = p->next;
	if (!due)
		last_due = &due;
	pthread_mutex_unlock(&lock);
	return p;
}

static void *run_all(void *arg)
{
	for (;;)
		run_and_tell(wait_for_due());
	return NULL;
}

static bool start_thread(void)
{
	pthread_mutex_lock(&lock);
	has_thread = has_thread || !gsb_helper_start(run_all, true);
	pthread_mutex_unlock(&lock);
	return has_thread;
}

CUresult gsb_host_call_post(const struct gsb_cu_stream_ref *s, const struct gsb_host_call *call)
{
	struct pending *p = calloc(1, sizeof(*p));
	struct gsb_rec_host_func body;
	CUresult result;

	if (!p || !start_thread()) {
		free(p);
		return CUDA_ERROR_OUT_OF_MEMORY;
	}
	p->call = *call;
	p->wire = s->wire;
	body = (struct gsb_rec_host_func){.cookie = enlist(p)};
	result = gsb_cu_stream_post(s, GSB_REC_HOST_FUNC, &body, sizeof(body), NULL);
	if (result)
		free(take(body.cookie));
	return result;
}

static void make_due(struct pending *p)
{
	p->next = NULL;
	pthread_mutex_lock(&lock);
	*last_due = p;
	last_due = &p->next;
	pthread_cond_signal(&is_due);
	pthread_mutex_unlock(&lock);
}

void gsb_host_call_due(uint64_t cookie)
{
	struct pending *p = take(cookie);

	if (!p)
		gsb_log(GSB_LOG_ERROR, "watch", "the engine names a host function that is not due");
	else
		make_due(p);
}
