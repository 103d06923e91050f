/*
 * host_func.c - host functions: the tenant is asked by its socket to run one, and says when it has.
 *
 * A socket that is full parks the stream. In a failed context host functions still run, as CUDA has it:
 * callbacks are told of the error.
 */
#include <errno.h>
#include <sys/epoll.h>

#include "broker/engine/order/stream.h"
#include "broker/engine/tenant/tenant.h"
#include "shm/channel.h"

struct host_func {
	struct gsb_op op;
	uint64_t cookie;
	bool asked; /* the tenant has it */
};

static struct host_func *to_host_func(struct gsb_op *op)
{
	return gsb_container_of(op, struct host_func, op);
}

static void want_socket(struct gsb_tenant *t)
{
	if (t->socket_full)
		return;
	t->socket_full = true;
	gsb_watches_add(t->watches, &t->socket, EPOLLIN | EPOLLOUT);
}

void gsb_host_func_wake(struct gsb_tenant *t)
{
	if (!t->socket_full)
		return;
	t->socket_full = false;
	gsb_watches_add(t->watches, &t->socket, EPOLLIN);
	gsb_stream_wake_list(&t->socket_waiters);
}

static void start(struct gsb_op *op)
{
	struct gsb_tenant *t = gsb_tenant_of(op->order->queues);
	struct host_func *h = to_host_func(op);
	struct gsb_msg_host_func m = {.cookie = h->cookie};

	gsb_msg_init(&m.msg, GSB_MSG_HOST_FUNC, sizeof(m));
	if (gsb_channel_may_retry(gsb_channel_send(t->socket.fd, &m.msg, NULL, 0))) {
		gsb_stream_park(op->stream, &t->socket_waiters, GSB_TRACE_PARK_SOCKET, 0);
		want_socket(t);
		return;
	}
	/* Another error: the process is gone, its pidfd will say so; the stream stays. */
	h->asked = true;
	t->n_host_funcs++;
}

static void pass(struct gsb_op *op)
{
	if (gsb_tenant_of(op->order->queues)->state == GSB_TENANT_LEAVING)
		gsb_stream_pop(op->stream, op->ready_ns);
	else
		start(op);
}

static const struct gsb_op_class host_func_class = {
	.kind = GSB_TRACE_OP_HOST_FUNC, .start = start, .pass = pass};

int gsb_host_func_push(struct gsb_stream *s, uint64_t cookie, uint64_t post_ns)
{
	struct host_func *h = gsb_op_create(s->queues, &host_func_class, sizeof(*h), 0);
	int err;

	if (!h)
		return -EAGAIN;
	h->op.post_ns = post_ns;
	h->cookie = cookie;
	err = gsb_stream_push(s, &h->op);
	if (err)
		gsb_op_discard(s->queues, &h->op);
	return err;
}

/* The host function that the tenant is running for this stream, NULL if none. */
static struct host_func *asked(const struct gsb_stream *s)
{
	struct host_func *h;

	if (!s || s->state != GSB_STREAM_STARTED || s->first->class != &host_func_class)
		return NULL;
	h = to_host_func(s->first);
	return h->asked ? h : NULL;
}

int gsb_host_func_done(struct gsb_tenant *t, uint64_t cookie)
{
	for (uint32_t i = 0; t->n_host_funcs && i < GSB_N_STREAMS; i++) {
		struct host_func *h = asked(t->queues.streams[i]);

		if (!h || h->cookie != cookie)
			continue;
		t->n_host_funcs--;
		gsb_stream_pop(h->op.stream, gsb_later_ns(h->op.ready_ns, gsb_tenant_now_ns(t)));
		return 0;
	}
	return -ENOENT;
}

void gsb_host_func_drop(struct gsb_tenant *t)
{
	for (uint32_t i = 0; t->n_host_funcs && i < GSB_N_STREAMS; i++) {
		struct host_func *h = asked(t->queues.streams[i]);

		if (!h)
			continue;
		t->n_host_funcs--;
		gsb_stream_pop(h->op.stream, h->op.ready_ns);
	}
}
