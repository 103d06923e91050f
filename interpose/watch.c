/*
 * watch.c - see watch.h.
 *
 * The engine says by message which function is due, since a stream's order is known only there; the answer
 * goes the same way. It is no record: the ring may be full of what waits behind the very function, or the
 * engine may have stopped at a record that has no room until the function's stream moves. The engine's
 * death is seen by pidfd: the socket's end would not come while a forked child holds it too.
 */
#include "interpose/watch.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>

#include "base/log.h"
#include "interpose/ctx.h"
#include "interpose/post.h"
#include "interpose/process.h"
#include "interpose/thread.h"
#include "shm/channel.h"

/* A call on its way. They come back mostly in the order of the list. */
struct pending {
	struct pending *next;
	uint64_t cookie;
	struct gsb_host_call call;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct pending *first, **last = &first; /* lock */
static uint64_t last_cookie;		       /* lock */

union message {
	struct gsb_msg msg;
	struct gsb_msg_host_func host_func;
	struct gsb_msg_cut cut;
};

static void enlist(struct pending *p)
{
	pthread_mutex_lock(&lock);
	p->cookie = ++last_cookie;
	*last = p;
	last = &p->next;
	pthread_mutex_unlock(&lock);
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

CUresult gsb_watch_post(struct gsb_cu_stream *s, const struct gsb_host_call *call)
{
	struct pending *p = calloc(1, sizeof(*p));
	struct gsb_rec_host_func body;
	CUresult result;

	if (!p)
		return CUDA_ERROR_OUT_OF_MEMORY;
	p->call = *call;
	enlist(p);
	body = (struct gsb_rec_host_func){.cookie = p->cookie};
	result = gsb_post(GSB_REC_HOST_FUNC, s, &body, sizeof(body), NULL);
	if (result)
		free(take(body.cookie));
	return result;
}

/*
 * After an error of its context a callback is called and learns of it, a host function is not called: so CUDA.
 * The interface is closed to it. Virtual time stands until the answer, so this thread needs no slot.
 */
static void run(const struct gsb_host_call *c)
{
	CUresult status = gsb_cu_ctx_error(c->ctx);

	gsb_self_suspend();
	if (c->callback)
		c->callback(c->stream, status, c->data);
	else if (!status)
		c->fn(c->data);
	gsb_self_resume();
}

static void on_host_func(const struct gsb_msg_host_func *m)
{
	struct gsb_msg_host_func done = {.cookie = m->cookie};
	struct pending *p = take(m->cookie);

	if (!p) {
		gsb_log(GSB_LOG_ERROR, "watch", "the engine names a host function that is not due");
		return;
	}
	run(&p->call);
	free(p);
	gsb_msg_init(&done.msg, GSB_MSG_HOST_FUNC, sizeof(done));
	gsb_channel_send(gsb_proc.socket, &done.msg, NULL,
			 0); /* fails only when the engine is gone */
}

static void on_cut(const struct gsb_msg_cut *m)
{
	gsb_log(GSB_LOG_ERROR, "watch", "the broker has cut this process off: %.*s",
		(int)sizeof(m->reason), m->reason);
	gsb_process_set_fatal((CUresult)m->result ? (CUresult)m->result : CUDA_ERROR_UNKNOWN);
}

/* False when nothing more will come. */
static bool on_message(void)
{
	union message m;
	unsigned n_fds = 0;
	ssize_t n = gsb_channel_recv(gsb_proc.socket, &m, sizeof(m), NULL, &n_fds);

	if (n <= 0)
		return n == -EINTR || n == -EAGAIN;
	if (m.msg.type == GSB_MSG_HOST_FUNC && (size_t)n >= sizeof(m.host_func))
		on_host_func(&m.host_func);
	else if (m.msg.type == GSB_MSG_CUT && (size_t)n >= sizeof(m.cut))
		on_cut(&m.cut);
	return true;
}

static void on_engine_death(void)
{
	if (!gsb_fatal())
		gsb_log(GSB_LOG_ERROR, "watch",
			"the engine that served this process has ended: every further call fails with "
			"CUDA_ERROR_SYSTEM_NOT_READY; start the program again");
	gsb_process_set_fatal(CUDA_ERROR_SYSTEM_NOT_READY);
}

/* The last messages are read before a death counts: they may say why. */
static void *watch(void *arg)
{
	struct pollfd fds[2] = {
		{.fd = gsb_proc.socket, .events = POLLIN},
		{.fd = gsb_proc.engine_pidfd, .events = POLLIN},
	};

	for (;;) {
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[0].revents && !on_message())
			fds[0].fd = -1;
		else if (fds[1].revents && !fds[0].revents)
			break;
	}
	on_engine_death();
	return NULL;
}

int gsb_watch_start(void)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	sigfillset(&all);
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	r = pthread_create(&thread, &attr, watch, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return -r;
}
