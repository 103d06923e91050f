/*
 * serve.c - see serve.h: the life of a lane.
 *
 * Its first thread takes commands, hands completions over and answers who issues. It is awake for as long as something happens, and
 * SPIN_NS more; with work on the device it sleeps as an engine would, by what the device says. The second answers all others, who
 * may wait for long.
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
	snprintf(done->detail, sizeof(done->detail), "its device refused it: %s", strerror(-err));
}

static bool take_commands(struct lane_server *s)
{
	bool any = false;
	int r, err;

	while ((r = lane_ring_take(s->page, s->cmd)) > 0) {
		any = true;
		err = lane_issue(s, s->cmd);
		if (err)
			refuse(s, s->cmd, err);
		else
			s->n_in_flight++;
	}
	s->ended |= r < 0;
	return any;
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
	if (lane_sleep_end(&s->page->engine_sleeps))
		eventfd_write(s->engine_doorbell, 1);
	return true;
}

/* ---- calls ---- */

static void tell_used(struct lane_server *s)
{
	uint64_t free_bytes, total;

	s->ops->mem_info(s->dev, &free_bytes, &total);
	atomic_store_explicit(&s->page->used_bytes, total - free_bytes, memory_order_relaxed);
}

/* The next call of a socket, answered. 0: none any more. */
static int answer_one(struct lane_server *s, int socket, struct lane_msg *m, bool is_first)
{
	unsigned n_fds = 1;
	int fd = -1;
	ssize_t n = gsb_channel_recv(socket, m, sizeof(*m), &fd, &n_fds);

	if (n <= 0 || n < (ssize_t)LANE_MSG_SIZE(0) || n != (ssize_t)LANE_MSG_SIZE(m->n_bytes))
		return n < 0 ? (int)n : n ? -EPROTO : 0;
	if (is_first)
		take_commands(s);
	lane_answer(s, m, n_fds ? fd : -1);
	if (n_fds)
		close(fd);
	if (is_first)
		tell_used(s);
	gsb_msg_init(&m->msg, LANE_MSG_CALL, LANE_MSG_SIZE(m->n_bytes));
	return gsb_channel_send(socket, &m->msg, NULL, 0) ? -EPIPE : 1;
}

static void *answer_others(void *arg)
{
	struct lane_server *s = arg;
	struct lane_msg *m = malloc(sizeof(*m));

	while (m && answer_one(s, s->second, m, false) > 0)
		;
	free(m);
	return NULL;
}

static void answer_issuer(struct lane_server *s)
{
	s->n_calls_done++;
	if (answer_one(s, s->socket, s->msg, true) <= 0)
		s->ended = true;
}

/* ---- the loop ---- */

static bool has_calls(const struct lane_server *s)
{
	return atomic_load_explicit(&s->page->n_calls, memory_order_acquire) != s->n_calls_done;
}

static bool has_work(const struct lane_server *s)
{
	return has_calls(s) ||
	       atomic_load_explicit(&s->page->cmd_head, memory_order_acquire) !=
		       atomic_load_explicit(&s->page->cmd_tail, memory_order_relaxed);
}

static bool may_sleep(struct lane_server *s)
{
	bool lively = s->n_in_flight && s->ops->stay_awake && s->ops->stay_awake(s->dev);

	atomic_store_explicit(&s->page->lively, lively, memory_order_relaxed);
	return !lively && gsb_clock_ns() - s->busy_ns > SPIN_NS;
}

static void sleep_until_asked(struct lane_server *s)
{
	struct pollfd fds[] = {{.fd = s->socket, .events = POLLIN},
			       {.fd = s->doorbell, .events = POLLIN},
			       {.fd = s->device_event, .events = POLLIN}};
	bool must_poll = s->n_in_flight && s->device_event < 0;
	uint64_t rings;

	lane_sleep_begin(&s->page->lane_sleeps);
	if (!has_work(s))
		poll(fds, GSB_ARRAY_LEN(fds), must_poll ? 0 : -1);
	lane_sleep_end(&s->page->lane_sleeps);
	if (fds[1].revents)
		eventfd_read(s->doorbell, &rings);
	if (fds[0].revents & (POLLHUP | POLLERR) && !has_calls(s))
		s->ended = true;
}

static void run(struct lane_server *s)
{
	while (!s->ended) {
		bool any = take_commands(s);

		any |= give_completions(s);
		if (has_calls(s)) {
			answer_issuer(s);
			any = true;
		}
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
	if (s->ops->sms_prepare)
		s->ops->sms_prepare(s->dev); /* what is missing is made when it is asked for */
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
	shutdown(s->second, SHUT_RDWR);
	pthread_join(others, NULL);
	for (uint32_t i = 0; i < s->table.n; i++)
		if (s->table.entries[i].kind == LANE_QUEUE)
			s->ops->queue_destroy(s->table.entries[i].is);
}

int lane_serve(int socket)
{
	struct lane_server s = {.socket = socket, .second = -1, .doorbell = -1};
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
