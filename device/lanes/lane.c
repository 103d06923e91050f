/*
 * lane.c - calls of a lane; see lane.h.
 */
#include "device/lanes/lane.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "device/host_file.h"
#include "shm/channel.h"

#define GIVEN_BACK_NS 6000000000ull /* longer than a lane may take to end */

static bool is_dead(const struct lane *l)
{
	return atomic_load_explicit(&l->dead, memory_order_acquire);
}

/* The system may have no room for a descriptor more on its way; else nobody is there. */
static int why_not_sent(int err)
{
	if (!err || err == -EAGAIN)
		return err;
	return gsb_channel_may_retry(err) ? -ENOMEM : -EOWNERDEAD;
}

/* ---- other threads' ---- */

static int send_call(const struct lane *l, struct lane_slot *slot, const struct lane_call *c)
{
	struct lane_msg *m = &slot->msg;

	if (c->in_bytes > sizeof(m->bytes))
		return -E2BIG;
	gsb_msg_init(&m->msg, LANE_MSG_CALL, LANE_MSG_SIZE(c->in_bytes));
	m->op = c->op;
	m->err = 0;
	memcpy(m->n, c->n, sizeof(m->n));
	m->n_bytes = c->in_bytes;
	m->fd = 0;
	m->after = atomic_load_explicit(&l->page->n_calls, memory_order_relaxed);
	if (c->in_bytes)
		memcpy(m->bytes, c->in, c->in_bytes);
	return why_not_sent(gsb_channel_send(slot->fd, &m->msg, &c->fd, c->fd > 0));
}

static bool is_sound(const struct lane_msg *m, ssize_t n, uint32_t op)
{
	return n >= (ssize_t)LANE_MSG_SIZE(0) && n == (ssize_t)LANE_MSG_SIZE(m->n_bytes) &&
	       m->op == op && m->err <= 0 && m->err != -EINPROGRESS;
}

/* Of memory that is to be had in other lanes. */
static unsigned n_descriptors(uint32_t op)
{
	return op == LANE_mem_share || op == LANE_backing_export;
}

/* What the lane says is checked as any stranger's: it runs what a tenant sent. -EAGAIN: nothing yet. */
static int hear_message(struct lane_slot *slot, uint32_t op)
{
	struct lane_msg *m = &slot->msg;
	unsigned n_fds = n_descriptors(op);
	int fd = 0;
	ssize_t n = gsb_channel_recv(slot->fd, m, sizeof(*m), &fd, &n_fds);

	if (n == -EMFILE) { /* the message is there, as long as it says itself */
		n = m->msg.size;
		m->err = -ENOMEM;
	}
	if (fd > 0 && m->err) { /* nobody would look for one there */
		close(fd);
		fd = 0;
	}
	m->fd = fd;
	if (is_sound(m, n, op))
		return 0;
	if (fd > 0)
		close(fd);
	return n == -EAGAIN ? -EAGAIN : -EPROTO;
}

static void take_bytes(struct lane_call *c, const void *bytes, uint32_t n)
{
	if (c->out_bytes > n)
		c->out_bytes = n;
	if (c->out_bytes)
		memcpy(c->out, bytes, c->out_bytes);
}

static int call_other(struct lane *l, struct lane_slot *slot, struct lane_call *c)
{
	int err = send_call(l, slot, c);

	if (err == -E2BIG || err == -ENOMEM)
		return err; /* it was not asked */
	if (!err)
		err = hear_message(slot, c->op);
	if (err) {
		lane_condemn(l); /* it has died, or says what no lane says */
		return -EOWNERDEAD;
	}
	memcpy(c->n, slot->msg.n, sizeof(c->n));
	take_bytes(c, slot->msg.bytes, slot->msg.n_bytes);
	c->out_fd = slot->msg.fd;
	return slot->msg.err;
}

int lane_call(struct lane *l, struct lane_call *c)
{
	struct lane_slot *slot = &l->slots[1];
	int err;

	if (is_dead(l))
		return -EOWNERDEAD;
	atomic_fetch_add(&l->n_waiting, 1);
	lane_pool_watch(l->dev);
	pthread_mutex_lock(&slot->lock);
	err = call_other(l, slot, c);
	pthread_mutex_unlock(&slot->lock);
	atomic_fetch_sub(&l->n_waiting, 1);
	return err;
}

/* ---- into the ring ---- */

static int send_fd(struct lane *l, int fd)
{
	struct gsb_msg m;

	gsb_msg_init(&m, LANE_MSG_CALL, sizeof(m));
	return why_not_sent(gsb_channel_send(l->slots[0].fd, &m, &fd, 1));
}

/* It has taken all, and may have been asleep since. */
static bool is_drained(const struct lane *l)
{
	return atomic_load_explicit(&l->page->cmd_head, memory_order_relaxed) ==
	       atomic_load_explicit(&l->page->cmd_tail, memory_order_relaxed);
}

/* -EAGAIN: there is no room now, be it in the ring or, for the descriptor, in the socket. Else -errno: the descriptor cannot be sent. */
static int put(struct lane *l, const struct lane_cmd *c, const void *tail, uint32_t n, int fd)
{
	struct lane_cmd *room = lane_ring_reserve(l->page, c->bytes);
	int err = !room ? -EAGAIN : c->has_fd ? send_fd(l, fd) : 0;

	if (err)
		return err;
	if (is_drained(l))
		l->woken_ns = gsb_clock_ns();
	*room = *c;
	if (n)
		memcpy(room + 1, tail, n);
	lane_ring_commit(l->page, room);
	return 0;
}

/* That of a tenant's window is sent with each of its backings, and so there may be many of it. */
static int keep_fd(struct lane *l, struct lane_unsent *u, const struct lane_cmd *c, int fd)
{
	int err;

	u->fd = -1;
	u->host = NULL;
	if (!c->has_fd)
		return 0;
	if (c->op == LANE_backing_of_host) {
		err = gsb_host_file_get(&l->host_files, l->owner, fd, &u->host);
		u->fd = err ? -1 : u->host->fd;
		return err;
	}
	u->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return u->fd < 0 ? -ENOMEM : 0;
}

static int keep(struct lane *l, const struct lane_cmd *c, const void *tail, uint32_t n, int fd)
{
	struct lane_unsent *u = malloc(offsetof(struct lane_unsent, cmd) + c->bytes);
	int err;

	if (!u)
		return -ENOMEM;
	u->next = NULL;
	err = keep_fd(l, u, c, fd);
	if (err) {
		free(u);
		return err;
	}
	u->cmd = *c;
	if (n)
		memcpy(&u->cmd + 1, tail, n);
	if (!l->unsent)
		l->unsent_end = &l->unsent;
	*l->unsent_end = u;
	l->unsent_end = &u->next;
	return 0;
}

static void drop_first(struct lane *l)
{
	struct lane_unsent *u = l->unsent;

	l->unsent = u->next;
	if (u->host)
		gsb_host_file_put(u->host);
	else if (u->fd >= 0)
		close(u->fd);
	free(u);
}

/* Its descriptor cannot be sent. It has been said already, so it goes all the same, and the lane refuses it. */
static int put_refused(struct lane *l, struct lane_unsent *u)
{
	u->cmd.has_fd = false;
	u->cmd.lacks_fd = true;
	return put(l, &u->cmd, &u->cmd + 1, u->cmd.bytes - (uint32_t)sizeof(u->cmd), -1);
}

static int put_kept(struct lane *l, struct lane_unsent *u)
{
	int err = put(l, &u->cmd, &u->cmd + 1, u->cmd.bytes - (uint32_t)sizeof(u->cmd), u->fd);

	return !err || err == -EAGAIN ? err : put_refused(l, u);
}

/* The order is that in which it was said. */
bool lane_send_kept(struct lane *l)
{
	bool any = false;

	while (l->unsent && !is_dead(l) && !put_kept(l, l->unsent)) {
		drop_first(l);
		any = true;
	}
	if (any)
		lane_ring(l);
	return any;
}

static int send(struct lane *l, const struct lane_cmd *c, const void *tail, uint32_t n, int fd)
{
	int err;

	if (is_dead(l))
		return -EOWNERDEAD;
	lane_send_kept(l);
	err = l->unsent ? -EAGAIN : put(l, c, tail, n, fd);
	if (err == -EAGAIN) {
		err = keep(l, c, tail, n, fd);
		atomic_store_explicit(&l->page->wants_taken, 1, memory_order_relaxed);
	}
	lane_ring(l);
	lane_pool_watch(l->dev);
	return err;
}

int lane_send_command(struct lane *l, const struct lane_cmd *c, const void *params, uint32_t n)
{
	return send(l, c, params, n, -1);
}

static int send_in_ring(struct lane *l, const struct lane_call *c, bool is_asked)
{
	struct lane_cmd cmd = {
		.bytes = (uint32_t)gsb_round_up(sizeof(cmd) + c->in_bytes, 8),
		.op = c->op,
		.n_bytes = c->in_bytes,
		.has_fd = c->fd > 0,
		.is_asked = is_asked,
	};
	int err;

	if (c->in_bytes > LANE_ASK_MAX)
		return -E2BIG;
	memcpy(cmd.n, c->n, sizeof(cmd.n));
	atomic_store_explicit(&l->page->n_calls, l->n_calls + 1, memory_order_relaxed);
	err = send(l, &cmd, c->in, c->in_bytes, c->fd);
	l->n_calls += !err;
	if (err)
		atomic_store_explicit(&l->page->n_calls, l->n_calls, memory_order_relaxed);
	return err;
}

int lane_tell(struct lane *l, const struct lane_call *c)
{
	return send_in_ring(l, c, false);
}

/* ---- answers ---- */

static void free_request(struct lane *l, struct lane_request *r)
{
	DL_DELETE(l->requests, r);
	if (r->fd > 0)
		close(r->fd);
	free(r->in);
	free(r->out);
	free(r);
}

/* Nobody takes the answer: memory that it brings goes back. */
static void drop_answer(struct lane *l, struct lane_request *r)
{
	const struct lane_call call = {.op = LANE_backing_destroy, .n = {r->n[0]}};

	if (r->op == LANE_mem_share && r->answered && !r->err)
		lane_tell(l, &call);
	free_request(l, r);
}

static struct lane_request *first_unanswered(struct lane *l)
{
	struct lane_request *r = l->requests;

	while (r && r->answered)
		r = r->next;
	return r;
}

/* Of the oldest that has none. */
static int take_answer(struct lane *l, struct lane_request *r)
{
	const struct lane_msg *m = &l->slots[0].msg;
	int err = hear_message(&l->slots[0], r->op);

	if (err)
		return err;
	r->answered = true;
	r->err = m->err;
	r->fd = m->fd;
	memcpy(r->n, m->n, sizeof(r->n));
	r->out = m->n_bytes ? malloc(m->n_bytes) : NULL;
	if (r->out)
		memcpy(r->out, m->bytes, m->n_bytes);
	else if (m->n_bytes)
		r->err = -ENOMEM;
	r->out_bytes = r->out ? m->n_bytes : 0;
	if (r->dropped)
		drop_answer(l, r);
	return 0;
}

/* A system call only if there is one. */
static bool take_answers(struct lane *l)
{
	uint64_t n_called = atomic_load_explicit(&l->page->n_called, memory_order_acquire);
	struct lane_request *r;
	bool any = false;
	int err = 0;

	while (!err && (r = first_unanswered(l)) && r->number <= n_called) {
		err = take_answer(l, r);
		any |= !err;
	}
	if (err && err != -EAGAIN)
		lane_condemn(l);
	return any;
}

/* Something that it was sent is not done. */
static bool is_behind(const struct lane *l)
{
	return l->unsent ||
	       atomic_load_explicit(&l->page->n_called, memory_order_acquire) != l->n_calls;
}

bool lane_hear(struct lane *l)
{
	bool any = false;

	if (is_dead(l))
		return false;
	if (l->unsent)
		any = lane_send_kept(l);
	if (l->requests)
		any |= take_answers(l);
	if (atomic_load_explicit(&l->page->wants_taken, memory_order_relaxed) && !is_behind(l)) {
		atomic_store_explicit(&l->page->wants_taken, 0, memory_order_relaxed);
		any = true;
	}
	return any;
}

/* ---- asking ---- */

static struct lane_request *find_request(struct lane *l, const struct gsb_space *of,
					 const struct lane_call *c)
{
	struct lane_request *r;

	DL_FOREACH (l->requests, r)
		if (!r->dropped && r->op == c->op && r->of == of && r->in_bytes == c->in_bytes &&
		    !memcmp(r->asked, c->n, sizeof(c->n)) &&
		    (!c->in_bytes || !memcmp(r->in, c->in, c->in_bytes)))
			return r;
	return NULL;
}

static struct lane_request *new_request(const struct gsb_space *of, const struct lane_call *c)
{
	struct lane_request *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->of = of;
	r->op = c->op;
	memcpy(r->asked, c->n, sizeof(r->asked));
	r->in_bytes = c->in_bytes;
	r->in = c->in_bytes ? malloc(c->in_bytes) : NULL;
	if (r->in)
		memcpy(r->in, c->in, c->in_bytes);
	if (c->in_bytes && !r->in) {
		free(r);
		return NULL;
	}
	return r;
}

static int ask_first(struct lane *l, const struct gsb_space *of, const struct lane_call *c)
{
	struct lane_request *r = new_request(of, c);
	int err = -ENOMEM;

	if (!r)
		return err;
	r->number = l->n_calls + 1;
	err = send_in_ring(l, c, true);
	DL_APPEND(l->requests, r);
	if (err)
		free_request(l, r);
	return err ? err : -EINPROGRESS;
}

static int give_answer(struct lane *l, struct lane_request *r, struct lane_call *c)
{
	int err = r->err;

	memcpy(c->n, r->n, sizeof(c->n));
	take_bytes(c, r->out, r->out_bytes);
	c->out_fd = r->fd;
	r->fd = 0;
	free_request(l, r);
	return err;
}

int lane_ask(struct lane *l, const struct gsb_space *of, struct lane_call *c)
{
	struct lane_request *r = find_request(l, of, c);

	if (r && !r->answered)
		lane_hear(l);
	if (r && r->answered)
		return give_answer(l, r, c);
	if (is_dead(l)) {
		if (r)
			free_request(l, r);
		return -EOWNERDEAD;
	}
	return r ? -EINPROGRESS : ask_first(l, of, c);
}

bool lane_is_behind(struct lane *l)
{
	if (is_dead(l) || !is_behind(l))
		return false;
	atomic_store_explicit(&l->page->wants_taken, 1, memory_order_relaxed);
	return true;
}

/* Whether others than the lane are giving back what they had; they ring then. */
static bool is_given_back(struct lanes_device *dev, const struct lane *but)
{
	bool any = lane_pool_is_ending(dev);

	for (struct lane *l = dev->lanes; l; l = l->next)
		any |= l != but && lane_is_behind(l);
	return any;
}

/* One that was refused waits for that, for so long, and is asked once more. */
static bool waits_for_others(struct lane *l, struct lane_request *r)
{
	uint64_t now = gsb_clock_ns();

	if (r->refused_ns && now - r->refused_ns > GIVEN_BACK_NS)
		return false;
	if (!is_given_back(l->dev, l))
		return false;
	if (!r->refused_ns)
		r->refused_ns = now;
	return true;
}

int lane_ask_for_memory(struct lane *l, const struct gsb_space *of, struct lane_call *c)
{
	struct lane_request *r = find_request(l, of, c);
	bool again;
	int err;

	if (r && !r->answered)
		lane_hear(l);
	again = r && r->answered && r->err == -ENOMEM && !r->is_last && !is_dead(l);
	if (again && waits_for_others(l, r))
		return -EINPROGRESS;
	if (!again || !r->refused_ns)
		return lane_ask(l, of, c);
	free_request(l, r);
	err = ask_first(l, of, c);
	if (err == -EINPROGRESS)
		l->requests->prev->is_last = true;
	return err;
}

void lane_forget(struct lane *l, const struct gsb_space *of)
{
	struct lane_request *r, *next;

	DL_FOREACH_SAFE (l->requests, r, next) {
		if (r->of != of)
			continue;
		r->dropped = true;
		if (r->answered || is_dead(l))
			drop_answer(l, r);
	}
}

bool lane_is_awaited(const struct lane *l)
{
	return l->n_open || l->unsent || (l->requests && !l->requests->prev->answered) ||
	       atomic_load_explicit(&l->page->wants_taken, memory_order_relaxed);
}

void lane_drop_calls(struct lane *l)
{
	while (l->requests)
		free_request(l, l->requests);
	while (l->unsent)
		drop_first(l);
}
