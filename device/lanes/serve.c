/*
 * serve.c - see serve.h: the life of a lane.
 *
 * Its first thread takes commands and calls from the ring, hands completions over and answers who issues. It is awake for as long as
 * something happens, and SPIN_NS more; with work on the device it sleeps as an engine would, by what the device says. The second
 * answers all others, who may wait for long.
 *
 * What its device answers later (ops.h) is asked again by the lane, which goes on with everything but the ring: what stands behind may be about it.
 */
#include "device/lanes/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/err.h"
#include "shm/channel.h"
#include "shm/region.h"

#define SPIN_NS 20000
#define N_FDS	4

/* ---- commands and completions ---- */

static void refuse(struct lane_server *s, const struct lane_cmd *c, int err)
{
	struct gsb_completion *done;

	if (gsb_done_reserve(&s->refused, 1)) {
		s->ended = true; /* the engine would wait for ever */
		return;
	}
	done = gsb_done_push(&s->refused);
	done->cookie = c->cmd.cookie;
	done->result = gsb_cuda_result(err);
	done->start_ns = done->end_ns = s->ops->now_ns(s->dev);
	done->refused = c->cmd.kind == GSB_CMD_LAUNCH;
	snprintf(done->detail, sizeof(done->detail), "its device refused it: %s", strerror(-err));
}

static void issue(struct lane_server *s, struct lane_cmd *c)
{
	int err = lane_issue(s, c);

	if (err)
		refuse(s, c, err);
	else
		s->n_in_flight++;
}

static void put(struct lane_page *p, uint64_t at, const struct gsb_completion *c)
{
	struct gsb_completion *to = &p->done[at % LANE_N_DONE];

	memcpy(to, c, c->result ? sizeof(*c) : offsetof(struct gsb_completion, detail));
}

static void tell_loss(struct lane_server *s)
{
	bool lost = s->ops->lost && s->ops->lost(s->dev);

	atomic_store_explicit(&s->page->lost, lost, memory_order_relaxed);
}

/* As many as the engine has room for; the rest stays where it is. */
static bool give_completions(struct lane_server *s)
{
	uint64_t head = atomic_load_explicit(&s->page->done_head, memory_order_relaxed);
	uint64_t used = head - atomic_load_explicit(&s->page->done_tail, memory_order_acquire);
	unsigned room = used < LANE_N_DONE ? LANE_N_DONE - (unsigned)used : 0, n, n_refused;
	struct gsb_completion batch[16];

	if (room > GSB_ARRAY_LEN(batch))
		room = GSB_ARRAY_LEN(batch);
	n = n_refused = gsb_done_pop(&s->refused, batch, room);
	n += n < room ? s->ops->poll(s->dev, batch + n, room - n) : 0;
	if (!n)
		return false;
	s->n_in_flight -= n - n_refused;
	for (unsigned i = 0; i < n; i++) {
		put(s->page, head + i, &batch[i]);
		if (batch[i].result)
			tell_loss(s);
	}
	atomic_store_explicit(&s->page->done_head, head + n, memory_order_release);
	s->has_news = true;
	return true;
}

static void tell_engine(struct lane_server *s)
{
	if (s->has_news && lane_sleep_end(&s->page->engine_sleeps))
		eventfd_write(s->engine_doorbell, 1);
	s->has_news = false;
}

/* ---- calls ---- */

static void tell_used(struct lane_server *s)
{
	uint64_t free_bytes, total;

	s->ops->mem_info(s->dev, &free_bytes, &total);
	atomic_store_explicit(&s->page->used_bytes, total - free_bytes, memory_order_relaxed);
}

static int send_answer(int socket, struct lane_msg *m)
{
	int err;

	gsb_msg_init(&m->msg, LANE_MSG_CALL, LANE_MSG_SIZE(m->n_bytes));
	err = gsb_channel_send(socket, &m->msg, &m->fd, m->fd > 0);
	if (m->fd > 0)
		close(m->fd);
	return err;
}

static void await_calls(struct lane_server *s, uint64_t n)
{
	pthread_mutex_lock(&s->lock);
	while (s->n_called < n && !s->left)
		pthread_cond_wait(&s->called, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

/* The device says it to the first thread alone. */
static void have_used_told(struct lane_server *s)
{
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->wants_used, true);
	eventfd_write(s->doorbell, 1);
	while (atomic_load(&s->wants_used) && !s->left)
		pthread_cond_wait(&s->called, &s->lock);
	pthread_mutex_unlock(&s->lock);
}

static void tell_wanted(struct lane_server *s)
{
	if (!atomic_load_explicit(&s->wants_used, memory_order_relaxed))
		return;
	tell_used(s);
	pthread_mutex_lock(&s->lock);
	atomic_store(&s->wants_used, false);
	pthread_cond_signal(&s->called);
	pthread_mutex_unlock(&s->lock);
}

static void note_called(struct lane_server *s)
{
	pthread_mutex_lock(&s->lock);
	s->n_called++;
	pthread_cond_signal(&s->called);
	pthread_mutex_unlock(&s->lock);
	atomic_store_explicit(&s->page->n_called, s->n_called, memory_order_release);
}

/* The descriptor that belongs to it has not come. */
static void refuse_call(struct lane_msg *m)
{
	m->err = -ENOMEM;
	m->n_bytes = 0;
}

/* The next call of those that have a socket of their own, answered. 0: none any more. */
static int answer_one(struct lane_server *s, struct lane_msg *m)
{
	unsigned n_fds = 1;
	int fd = -1;
	ssize_t n = gsb_channel_recv(s->second, m, sizeof(*m), &fd, &n_fds);
	bool lacks_fd = n == -EMFILE; /* the message is there */

	if (lacks_fd) {
		n = m->msg.size;
		n_fds = 0;
	}
	if (n <= 0 || n < (ssize_t)LANE_MSG_SIZE(0) || n != (ssize_t)LANE_MSG_SIZE(m->n_bytes))
		return n < 0 ? (int)n : n ? -EPROTO : 0;
	m->fd = 0;
	await_calls(s, m->after);
	if (lacks_fd)
		refuse_call(m);
	else
		lane_answer(s, m, n_fds ? fd : -1);
	if (n_fds)
		close(fd);
	have_used_told(s);
	return send_answer(s->second, m) ? -EPIPE : 1;
}

static void *answer_others(void *arg)
{
	struct lane_server *s = arg;
	struct lane_msg *m = malloc(sizeof(*m));

	while (m && answer_one(s, m) > 0)
		;
	free(m);
	return NULL;
}

/* The descriptor that was sent before its call was put into the ring. This process may have no number for it. */
static int take_fd(struct lane_server *s)
{
	struct gsb_msg m;
	unsigned n_fds = 1;
	int fd = -1;
	ssize_t n = gsb_channel_recv(s->socket, &m, sizeof(m), &fd, &n_fds);

	s->cmd->lacks_fd = n == -EMFILE;
	if (n != -EMFILE && (n != sizeof(m) || !n_fds))
		s->ended = true;
	return fd;
}

static void end_call(struct lane_server *s)
{
	if (s->call_fd >= 0)
		close(s->call_fd);
	s->call_fd = -1;
	tell_used(s);
	if (s->cmd->is_asked) {
		s->ended |= send_answer(s->socket, s->msg) != 0;
		s->has_news = true;
	}
	note_called(s);
}

/* What it brings is copied, for an answer may be longer. */
static void do_call(struct lane_server *s)
{
	const struct lane_cmd *c = s->cmd;
	struct lane_msg *m = s->msg;

	m->op = c->op;
	memcpy(m->n, c->n, sizeof(m->n));
	m->n_bytes = c->n_bytes;
	m->fd = 0;
	memcpy(m->bytes, c + 1, c->n_bytes);
	if (c->lacks_fd)
		refuse_call(m);
	else
		lane_answer(s, m, s->call_fd);
	s->asks_again = m->err == -EINPROGRESS;
	if (!s->asks_again)
		end_call(s);
}

static void begin_call(struct lane_server *s)
{
	s->call_fd = s->cmd->has_fd ? take_fd(s) : -1;
	do_call(s);
}

/* ---- the ring ---- */

/* One call at most: what has ended meanwhile is told first. */
static bool take_from_ring(struct lane_server *s)
{
	struct lane_cmd *c = s->cmd;
	bool called = s->asks_again, any = false;
	int r = 0;

	if (called) {
		do_call(s);
		any = !s->asks_again;
	}
	while (!called && (r = lane_ring_take(s->page, c)) > 0) {
		any = true;
		called = c->op != LANE_issue;
		if (!called)
			issue(s, c);
		else if (c->n_bytes <= c->bytes - sizeof(*c))
			begin_call(s);
		else
			r = -EPROTO;
	}
	s->ended |= r < 0;
	if (any) {
		atomic_thread_fence(memory_order_seq_cst); /* who wants it looks behind his word */
		s->has_news |= atomic_load_explicit(&s->page->wants_taken, memory_order_relaxed);
	}
	return any;
}

/* ---- the loop ---- */

static bool is_asked_for_life(const struct lane_server *s)
{
	return atomic_load_explicit(&s->page->ping, memory_order_relaxed) !=
	       atomic_load_explicit(&s->page->pong, memory_order_relaxed);
}

/* What is in the ring counts as on its way until it is known what has become of it: no moment at which it looks as if there were nothing. */
static void show_work(struct lane_server *s, bool takes)
{
	atomic_store_explicit(&s->page->n_in_flight, s->n_in_flight + takes, memory_order_release);
}

static void show_life(struct lane_server *s)
{
	show_work(s, false);
	atomic_store_explicit(&s->page->pong,
			      atomic_load_explicit(&s->page->ping, memory_order_relaxed),
			      memory_order_relaxed);
}

static bool has_work(const struct lane_server *s)
{
	return is_asked_for_life(s) ||
	       atomic_load_explicit(&s->page->cmd_head, memory_order_acquire) !=
		       atomic_load_explicit(&s->page->cmd_tail, memory_order_relaxed);
}

static bool may_sleep(struct lane_server *s)
{
	bool awaits = s->n_in_flight || s->asks_again;
	bool lively = awaits && s->ops->stay_awake && s->ops->stay_awake(s->dev);
	uint64_t now_ns = gsb_clock_ns();

	atomic_store_explicit(&s->page->lively_ns, lively ? now_ns : 0, memory_order_relaxed);
	return !lively && now_ns - s->busy_ns > SPIN_NS;
}

/* What is in the ring behind a call that is asked again is no work yet. */
static bool can_go_on(const struct lane_server *s)
{
	return s->asks_again ? is_asked_for_life(s) : has_work(s);
}

static void sleep_until_asked(struct lane_server *s)
{
	struct pollfd fds[] = {{.fd = s->socket, .events = POLLIN},
			       {.fd = s->doorbell, .events = POLLIN},
			       {.fd = s->device_event, .events = POLLIN}};
	bool must_poll = (s->n_in_flight || s->asks_again) && s->device_event < 0;
	uint64_t rings;

	lane_sleep_begin(&s->page->lane_sleeps);
	if (!can_go_on(s))
		poll(fds, GSB_ARRAY_LEN(fds), must_poll ? 0 : -1);
	lane_sleep_end(&s->page->lane_sleeps);
	if (fds[1].revents)
		eventfd_read(s->doorbell, &rings);
	if (fds[0].revents & (POLLHUP | POLLERR) && !has_work(s))
		s->ended = true;
}

static void run(struct lane_server *s)
{
	while (!s->ended) {
		bool any;

		show_work(s, has_work(s));
		any = take_from_ring(s);
		any |= give_completions(s);
		tell_engine(s);
		tell_wanted(s);
		show_life(s);
		if (any)
			s->busy_ns = gsb_clock_ns();
		else if (may_sleep(s))
			sleep_until_asked(s);
		else
			gsb_cpu_relax();
	}
}

/* ---- the beginning ---- */

static int open_device(struct lane_server *s, const struct lane_hello *h, struct lane_welcome *w)
{
	struct gsb_device_params p = {
		.spec = h->spec,
		.n_workers = h->n_workers,
		.real_clock = h->real_clock,
		.single = h->single,
		.hears_driver = true,
		.mem_limit_bytes = h->mem_limit_bytes,
		.flip = *h->flip ? h->flip : NULL,
		.code_folder = *h->code_folder ? h->code_folder : NULL,
		.code_folder_bytes = h->code_folder_bytes,
		.virtual_base = h->virtual_base,
		.virtual_size = h->virtual_size,
	};
	int err = gsb_device_open(&p, &s->dev, w->why, sizeof(w->why));

	if (err)
		return err;
	s->ops = s->dev->ops;
	w->info = *s->ops->info(s->dev);
	w->has = lane_has(s->ops);
	s->device_event = s->ops->event_fd(s->dev);
	if (s->ops->prepare)
		s->ops->prepare(s->dev); /* what is missing is made when it is asked for */
	if (!w->info.clock_is_virtual)
		return 0;
	snprintf(
		w->why, sizeof(w->why),
		"device '%s': lanes have a clock each, and virtual time is one for all: set clock = real",
		h->spec);
	return -EINVAL;
}

static int hear_hello(struct lane_server *s, struct lane_hello *h)
{
	unsigned n = N_FDS;
	int fds[N_FDS];
	void *page;
	ssize_t size = gsb_channel_recv(s->socket, h, sizeof(*h), fds, &n);

	if (size != sizeof(*h) || h->msg.type != LANE_MSG_HELLO || n != N_FDS)
		return size < 0 ? (int)size : -EPROTO;
	s->second = fds[0];
	s->doorbell = fds[2];
	s->engine_doorbell = fds[3];
	if (gsb_memfd_map(fds[1], sizeof(*s->page), &page))
		return -ENOMEM;
	close(fds[1]);
	s->page = page;
	return 0;
}

static int welcome(struct lane_server *s)
{
	struct lane_hello *h = calloc(1, sizeof(*h));
	struct lane_welcome *w = calloc(1, sizeof(*w));
	int err = h && w ? hear_hello(s, h) : -ENOMEM;

	if (!err) {
		err = w->err = open_device(s, h, w);
		gsb_msg_init(&w->msg, LANE_MSG_WELCOME, sizeof(*w));
		if (gsb_channel_send(s->socket, &w->msg, NULL, 0))
			err = -EPIPE;
	}
	free(h);
	free(w);
	return err;
}

/* With something left in it a device cannot be closed: the engine has died, and so does this. */
static void leave(struct lane_server *s, pthread_t others)
{
	if (s->n_spaces || s->n_in_flight)
		_exit(1);
	pthread_mutex_lock(&s->lock);
	s->left = true;
	pthread_cond_signal(&s->called);
	pthread_mutex_unlock(&s->lock);
	shutdown(s->second, SHUT_RDWR);
	pthread_join(others, NULL);
	for (uint32_t i = 0; i < LANE_N_QUEUES; i++)
		if (s->queues[i].queue)
			s->ops->queue_destroy(s->queues[i].queue);
}

int lane_serve(int socket)
{
	struct lane_server s = {.socket = socket,
				.second = -1,
				.doorbell = -1,
				.call_fd = -1,
				.lock = PTHREAD_MUTEX_INITIALIZER,
				.called = PTHREAD_COND_INITIALIZER};
	pthread_t others;
	int err;

	lane_table_init(&s.table);
	s.cmd = malloc(LANE_CMD_MAX);
	s.msg = malloc(sizeof(*s.msg));
	err = s.cmd && s.msg ? welcome(&s) : -ENOMEM;
	if (!err)
		err = -pthread_create(&others, NULL, answer_others, &s);
	if (!err) {
		run(&s);
		leave(&s, others);
	}
	if (s.dev)
		s.dev->ops->close(s.dev);
	gsb_done_finish(&s.refused);
	lane_table_finish(&s.table);
	free(s.cmd);
	free(s.msg);
	return err;
}
