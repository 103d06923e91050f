/*
 * pool.c - the processes of lanes; see lane.h.
 *
 * A thread starts them, several at a time, so that n_spare have their device open before anybody wants one; it sees them end, and ends
 * those that do not when they were told to. It alone makes and frees a lane, and reaps its process, so that a number stays its own
 * until then. With it end all lanes that are left, since they end with the thread that started them.
 */
#include "device/lanes/lane.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "shm/channel.h"
#include "shm/region.h"

#define TOPIC	     "lanes"
#define START_NS     60000000000ull
#define END_NS	     5000000000ull
#define NO_MEMORY_MS 100
#define BUSY_NS	     5000000000ull /* so long a start is tried again for which there may be room soon */
#define AGAIN_MS     50
#define ANSWER_MS    30000 /* so long a lane may do nothing of what it is told */
#define LOOKS	     4	   /* in that time */
#define HIGH_FD	     16	   /* above all that a lane is given */

extern char **environ;

/* The engine looks again: a lane is ready, or one has died. */
static void kick(struct lanes_device *dev)
{
	atomic_fetch_add_explicit(&dev->pool.n_kicks, 1, memory_order_relaxed);
	eventfd_write(dev->event_fd, 1);
}

/* All that is left of one that has ended. */
static void free_lane(struct lane *l)
{
	lane_drop_calls(l);
	lane_memory_finish(l);
	for (int i = 0; i < 2; i++) {
		if (l->slots[i].fd >= 0)
			close(l->slots[i].fd);
		pthread_mutex_destroy(&l->slots[i].lock);
	}
	if (l->page)
		munmap(l->page, sizeof(*l->page));
	if (l->doorbell >= 0)
		close(l->doorbell);
	if (l->pidfd >= 0)
		close(l->pidfd);
	lane_forget_held(l);
	free(l->flights);
	free(l);
}

/* ---- starting one ---- */

static const char *level_word(void)
{
	return gsb_log_enabled(GSB_LOG_DEBUG)	? "debug"
	       : gsb_log_enabled(GSB_LOG_INFO)	? "info"
	       : gsb_log_enabled(GSB_LOG_WARN)	? "warn"
	       : gsb_log_enabled(GSB_LOG_ERROR) ? "error"
						: "off";
}

/* All other descriptors of an engine are CLOEXEC. Signals are as of a program that nobody has changed. */
static int spawn(const char *program, int socket, pid_t *pid)
{
	char parent[24];
	char *argv[] = {"gsb-lane", (char *)(uintptr_t)level_word(), parent, NULL};
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attr;
	sigset_t set;
	int err;

	snprintf(parent, sizeof(parent), "%d", (int)getpid());
	posix_spawn_file_actions_init(&files);
	posix_spawnattr_init(&attr);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&attr, &set);
	sigaddset(&set, SIGPIPE);
	sigaddset(&set, SIGXFSZ);
	posix_spawnattr_setsigdefault(&attr, &set);
	posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
	err = posix_spawn_file_actions_adddup2(&files, socket, LANE_FD);
	if (!err)
		err = posix_spawn(pid, program, &files, &attr, argv, environ);
	posix_spawnattr_destroy(&attr);
	posix_spawn_file_actions_destroy(&files);
	return -err;
}

static int say_hello(struct lane *l, int second, int page)
{
	struct lane_hello *h = &l->dev->hello;
	const int fds[] = {second, page, l->doorbell, l->dev->event_fd};

	gsb_msg_init(&h->msg, LANE_MSG_HELLO, sizeof(*h));
	return gsb_channel_send(l->slots[0].fd, &h->msg, fds, GSB_ARRAY_LEN(fds));
}

static int make_pair(int *ours, int *theirs)
{
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
		return -errno;
	*ours = pair[0];
	*theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, HIGH_FD); /* dup2 on itself would stay CLOEXEC */
	close(pair[1]);
	return *theirs < 0 ? -errno : 0;
}

/* That of the engine's thread, which waits for nobody. */
static int never_wait(int fd)
{
	return fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
}

static int make_page(struct lane *l, int *fd)
{
	void *page;
	int err = gsb_memfd_create("gsb-lane", sizeof(*l->page), fd);

	if (!err)
		err = gsb_memfd_map(*fd, sizeof(*l->page), &page);
	if (!err)
		l->page = page;
	l->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return !err && l->doorbell < 0 ? -errno : err;
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

static int start(struct lane *l)
{
	int first = -1, second = -1, page = -1;
	int err = make_pair(&l->slots[0].fd, &first);

	if (!err)
		err = never_wait(l->slots[0].fd);
	if (!err)
		err = make_pair(&l->slots[1].fd, &second);
	if (!err)
		err = make_page(l, &page);
	if (!err)
		err = spawn(l->dev->program, first, &l->pid);
	if (!err) {
		err = gsb_pidfd_open(l->pid, &l->pidfd);
		if (!err)
			err = say_hello(l, second, page);
		if (err) {
			kill(l->pid, SIGKILL);
			waitpid(l->pid, NULL, 0);
		}
	}
	close_fd(first);
	close_fd(second);
	close_fd(page);
	return err;
}

static struct lane *new_lane(struct lanes_device *dev)
{
	struct lane *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->dev = dev;
	l->doorbell = l->pidfd = -1;
	l->deadline_ns = gsb_clock_ns() + START_NS;
	for (int i = 0; i < 2; i++) {
		l->slots[i].fd = -1;
		pthread_mutex_init(&l->slots[i].lock, NULL);
	}
	return l;
}

static void failed(struct lanes_device *dev, int err, const char *why)
{
	struct lane_pool *p = &dev->pool;

	p->err = err;
	p->asked = false;
	snprintf(p->why, sizeof(p->why), "%s", why);
	gsb_log(GSB_LOG_ERROR, TOPIC, "no lane can be started: %s", p->why);
	pthread_cond_broadcast(&p->changed);
	kick(dev);
}

static void add_lane(struct lanes_device *dev)
{
	struct lane_pool *p = &dev->pool;
	struct lane *l = new_lane(dev);
	char why[PATH_MAX + 128];
	int err = l ? start(l) : -ENOMEM;

	if (!err) {
		l->pool_next = p->all;
		p->all = l;
		return;
	}
	if (l)
		free_lane(l);
	snprintf(why, sizeof(why), "%s: %s", dev->program, strerror(-err));
	failed(dev, err, why);
}

/* After a fault the daemon of MPS takes no clients until it has a new server; and it takes so many at a time. */
static bool try_again(struct lane_pool *p)
{
	uint64_t now = gsb_clock_ns();

	if (!p->busy_since_ns)
		p->busy_since_ns = now;
	if (now - p->busy_since_ns > BUSY_NS)
		return false;
	p->again_ns = now + AGAIN_MS * 1000000ull;
	return true;
}

/* Those that start count: they will be there. */
static void refill(struct lanes_device *dev)
{
	struct lane_pool *p = &dev->pool;
	unsigned n = 0, want = p->n_spare;

	if (gsb_clock_ns() < p->again_ns)
		return;
	p->again_ns = 0;
	for (struct lane *l = p->all; l; l = l->pool_next)
		n += l->state == LANE_STARTING || l->state == LANE_IDLE;
	if (p->asked && !want)
		want = 1;
	while (!p->stop && !p->err && n++ < want)
		add_lane(dev);
}

/* ---- what one says first, and its end ---- */

static void not_welcome(struct lanes_device *dev, struct lane_welcome *w)
{
	if (w)
		w->why[sizeof(w->why) - 1] = 0;
	if (w && w->err == -EBUSY && try_again(&dev->pool))
		return;
	dev->pool.busy_since_ns = 0;
	failed(dev, w ? w->err : -EIO, w ? w->why : "it ended before it was ready");
}

static void welcome(struct lane *l)
{
	struct lane_pool *p = &l->dev->pool;
	struct lane_welcome *w = calloc(1, sizeof(*w));
	ssize_t n = w ? gsb_channel_recv(l->slots[0].fd, w, sizeof(*w), NULL, NULL) : -ENOMEM;
	bool ok = n == sizeof(*w) && w->msg.type == LANE_MSG_WELCOME;

	if (ok && !w->err) {
		l->state = LANE_IDLE;
		if (!p->has) {
			p->has = w->has;
			p->info = w->info;
		}
		p->asked = false;
		p->busy_since_ns = 0;
		pthread_cond_broadcast(&p->changed);
		kick(l->dev);
	} else {
		l->state = LANE_CONDEMNED;
		l->released = true;
		not_welcome(l->dev, ok ? w : NULL);
	}
	free(w);
}

/* Other clients of MPS would have an end with a kernel on the device as a fault of theirs. */
static void end_by_force(struct lane *l)
{
	struct lane_pool *p = &l->dev->pool;
	bool runs = l->runs;
	pid_t pid = l->pid; /* reaped by this thread alone */

	l->state = LANE_ENDING;
	l->deadline_ns = UINT64_MAX;
	if (runs) {
		pthread_mutex_unlock(&p->lock);
		lane_part(pid);
		pthread_mutex_lock(&p->lock);
	}
	kill(pid, SIGKILL);
}

static void reap(struct lane *l)
{
	siginfo_t info = {0};

	if (waitid(P_PID, (id_t)l->pid, &info, WEXITED | WNOHANG) < 0 || !info.si_pid)
		return;
	if (l->state == LANE_STARTING)
		failed(l->dev, -EIO, "it ended before it was ready");
	if (!l->is_used)
		l->released = true;
	else if (!l->released)
		gsb_log(GSB_LOG_WARN, TOPIC,
			"lane %d has ended: what its program has on the device fails", (int)l->pid);
	l->state = LANE_ENDING;
	l->reaped = true;
	atomic_store_explicit(&l->dead, true, memory_order_release);
	kick(l->dev);
}

static void look_at(struct lane *l, short of_socket, short of_process)
{
	if (of_socket && l->state == LANE_STARTING)
		welcome(l);
	if (of_process)
		reap(l);
	if (l->reaped)
		return;
	if (l->state == LANE_STARTING && gsb_clock_ns() > l->deadline_ns) {
		l->state = LANE_CONDEMNED;
		failed(l->dev, -ETIMEDOUT, "it was not ready in time");
	}
	if (l->state == LANE_CONDEMNED ||
	    (l->state == LANE_ENDING && gsb_clock_ns() > l->deadline_ns))
		end_by_force(l);
}

/* Both have done with it: who used it, and its process. */
static void bury(struct lane_pool *p)
{
	for (struct lane **at = &p->all; *at;) {
		struct lane *l = *at;

		if (l->reaped && l->released) {
			*at = l->pool_next;
			free_lane(l);
		} else {
			at = &l->pool_next;
		}
	}
}

static void tell_to_end(struct lane *l)
{
	l->released = true;
	if (l->state == LANE_CONDEMNED || l->state == LANE_ENDING)
		return;
	l->state = LANE_ENDING;
	l->deadline_ns = gsb_clock_ns() + END_NS;
	shutdown(l->slots[0].fd, SHUT_RDWR);
}

/* ---- those that do nothing ---- */

static uint64_t answer_ns(const struct lanes_device *dev)
{
	return (dev->answer_ms ? dev->answer_ms : ANSWER_MS) * 1000000ull;
}

static bool is_to_do_something(const struct lane *l)
{
	const struct lane_page *p = l->page;

	return atomic_load(&p->cmd_head) != atomic_load(&p->cmd_tail) ||
	       atomic_load(&p->n_calls) != atomic_load(&p->n_called) ||
	       atomic_load(&p->n_in_flight) || atomic_load(&l->n_waiting);
}

/* Whether it has taken, done or said anything since it was looked at last. */
static bool has_moved(struct lane *l)
{
	uint64_t tail = atomic_load(&l->page->cmd_tail), called = atomic_load(&l->page->n_called);
	uint32_t pong = atomic_load(&l->page->pong);
	bool moved = tail != l->seen_tail || called != l->seen_called || pong != l->seen_pong;

	l->seen_tail = tail;
	l->seen_called = called;
	l->seen_pong = pong;
	return moved;
}

/* What takes long on its device, or in its second thread, is no matter, if the first one lives. */
static void ask_for_life(struct lane *l)
{
	atomic_fetch_add(&l->page->ping, 1);
	lane_ring(l);
}

/* False: there is nothing to look for. */
static bool look_for_life(struct lane *l)
{
	uint64_t now = gsb_clock_ns();

	if (l->reaped || (l->state != LANE_USED && l->state != LANE_IDLE) ||
	    !is_to_do_something(l)) {
		l->alive_ns = 0;
		return false;
	}
	if (has_moved(l) || !l->alive_ns)
		l->alive_ns = now;
	ask_for_life(l);
	if (now - l->alive_ns <= answer_ns(l->dev))
		return true;
	gsb_log(GSB_LOG_ERROR, TOPIC, "lane %d does not answer: it is ended", (int)l->pid);
	l->state = LANE_CONDEMNED;
	l->runs = true;
	return false;
}

/* Until none has anything to do; who gives one something then says so again. */
static void watch_lanes(struct lanes_device *dev)
{
	bool any = false;

	if (!atomic_load(&dev->pool.watches))
		return;
	atomic_store(&dev->pool.watches, false);
	for (struct lane *l = dev->pool.all; l; l = l->pool_next)
		any |= look_for_life(l);
	if (any)
		atomic_store(&dev->pool.watches, true);
}

/* ---- the thread ---- */

struct watched {
	struct pollfd *fds;
	struct lane **lanes;
	nfds_t n;
};

static bool watch(struct lane_pool *p, struct watched *w)
{
	size_t n = 0;

	for (struct lane *l = p->all; l; l = l->pool_next)
		n++;
	w->n = 0;
	w->fds = calloc(2 * n + 1, sizeof(*w->fds));
	w->lanes = calloc(n + 1, sizeof(struct lane *));
	if (!w->fds || !w->lanes)
		return false;
	w->fds[0] = (struct pollfd){.fd = p->wake, .events = POLLIN};
	for (struct lane *l = p->all; l; l = l->pool_next, w->n++) {
		w->lanes[w->n] = l;
		w->fds[2 * w->n + 1] = (struct pollfd){
			.fd = l->state == LANE_STARTING ? l->slots[0].fd : -1, .events = POLLIN};
		w->fds[2 * w->n + 2] =
			(struct pollfd){.fd = l->reaped ? -1 : l->pidfd, .events = POLLIN};
	}
	return true;
}

static int timeout_ms(const struct lanes_device *dev)
{
	const struct lane_pool *p = &dev->pool;

	for (struct lane *l = p->all; l; l = l->pool_next)
		if (!l->reaped && l->state != LANE_IDLE && l->state != LANE_USED)
			return l->state == LANE_CONDEMNED ? 0 : 100;
	if (p->again_ns)
		return AGAIN_MS;
	return atomic_load(&p->watches) ? (int)(answer_ns(dev) / 1000000 / LOOKS) + 1 : -1;
}

static void *keep(void *arg)
{
	struct lanes_device *dev = arg;
	struct lane_pool *p = &dev->pool;
	struct watched w;
	eventfd_t n;
	int timeout;

	pthread_mutex_lock(&p->lock);
	for (;;) {
		for (struct lane *l = p->all; l && p->stop; l = l->pool_next)
			if (!l->released)
				tell_to_end(l);
		bury(p);
		if (p->stop && !p->all)
			break;
		refill(dev);
		watch_lanes(dev);
		timeout = watch(p, &w) ? timeout_ms(dev) : NO_MEMORY_MS;
		pthread_mutex_unlock(&p->lock);
		poll(w.fds, w.fds ? 2 * w.n + 1 : 0, timeout);
		eventfd_read(p->wake, &n);
		pthread_mutex_lock(&p->lock);
		for (nfds_t i = 0; i < w.n; i++)
			look_at(w.lanes[i], w.fds[2 * i + 1].revents, w.fds[2 * i + 2].revents);
		free(w.fds);
		free(w.lanes);
	}
	pthread_mutex_unlock(&p->lock);
	return NULL;
}

/* ---- for the engine's threads ---- */

static struct lane *find_idle(struct lane_pool *p)
{
	for (struct lane *l = p->all; l; l = l->pool_next)
		if (l->state == LANE_IDLE)
			return l;
	return NULL;
}

/* One is there, or none can be had; one is asked for else. With the lock. */
static bool is_ready(struct lane_pool *p)
{
	if (find_idle(p) || p->err)
		return true;
	if (!p->asked) {
		p->asked = true;
		lane_pool_wake(p);
	}
	return false;
}

/* With the lock. -EINPROGRESS: none is ready. */
static int find_ready(struct lane_pool *p, struct lane **out)
{
	int err = is_ready(p) ? p->err : -EINPROGRESS;

	*out = find_idle(p);
	if (*out)
		return 0;
	if (err != -EINPROGRESS)
		p->err = 0; /* who asks next may find it better */
	return err;
}

int lane_pool_take(struct lanes_device *dev, struct lane **out)
{
	struct lane_pool *p = &dev->pool;
	int err;

	pthread_mutex_lock(&p->lock);
	err = find_ready(p, out);
	if (!err) {
		(*out)->state = LANE_USED;
		(*out)->is_used = true;
	}
	lane_pool_wake(p);
	pthread_mutex_unlock(&p->lock);
	return err;
}

void lane_pool_release(struct lane *l)
{
	struct lane_pool *p = &l->dev->pool;

	pthread_mutex_lock(&p->lock);
	tell_to_end(l);
	lane_pool_wake(p);
	pthread_mutex_unlock(&p->lock);
}

/* ---- its life ---- */

static int wait_for_first(struct lane_pool *p, char *err, size_t err_size)
{
	int res;

	pthread_mutex_lock(&p->lock);
	while (!is_ready(p))
		pthread_cond_wait(&p->changed, &p->lock);
	res = find_idle(p) ? 0 : p->err;
	if (res)
		snprintf(err, err_size, "%s", p->why);
	pthread_mutex_unlock(&p->lock);
	return res;
}

int lane_pool_start(struct lanes_device *dev, unsigned n_spare, char *err, size_t err_size)
{
	struct lane_pool *p = &dev->pool;
	int res;

	p->n_spare = n_spare;
	p->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->changed, NULL);
	res = p->wake < 0 ? -errno : -pthread_create(&p->thread, NULL, keep, dev);
	if (res) {
		snprintf(err, err_size, "no thread for lanes: %s", strerror(-res));
		close_fd(p->wake);
		return res;
	}
	res = wait_for_first(p, err, err_size);
	if (res)
		lane_pool_stop(dev);
	return res;
}

void lane_pool_stop(struct lanes_device *dev)
{
	struct lane_pool *p = &dev->pool;

	pthread_mutex_lock(&p->lock);
	p->stop = true;
	lane_pool_wake(p);
	pthread_mutex_unlock(&p->lock);
	pthread_join(p->thread, NULL);
	pthread_cond_destroy(&p->changed);
	pthread_mutex_destroy(&p->lock);
	close(p->wake);
}
