/*
 * hurry.c - see hurry.h.
 */
#include "base/hurry.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <time.h>
#include <unistd.h>

#define TICK_NS 200000 /* longer than what does not linger takes */

#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid /* the C library of Debian 12 has no name for it */
#endif

/* Made beforehand: a user's timers are counted, and a stranger may be of the same user. */
static struct {
	timer_t timer;
	pid_t thread; /* 0: there is none */
} hurry;

/* To wake from the wait is all that it is for. */
static void on_tick(int signal)
{
}

/* The timer's signal reaches the thread, whatever mask its starter had. */
static int heed_ticks(void)
{
	struct sigaction action = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	sigset_t set;

	sigemptyset(&action.sa_mask);
	if (sigaction(SIGURG, &action, NULL) < 0)
		return -errno;
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	return -pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

int gsb_hurry_init(void)
{
	struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGURG};
	int err;

	if (hurry.thread == gettid())
		return 0;
	if (hurry.thread) /* tests make one engine after the other, and in children */
		timer_delete(hurry.timer);
	hurry.thread = 0;
	event.sigev_notify_thread_id = gettid();
	err = heed_ticks();
	if (!err && timer_create(CLOCK_MONOTONIC, &event, &hurry.timer) < 0)
		err = -errno;
	if (!err)
		hurry.thread = gettid();
	return err;
}

static void tick_every(long ns)
{
	const struct itimerspec spec = {.it_interval.tv_nsec = ns, .it_value.tv_nsec = ns};

	if (hurry.thread)
		timer_settime(hurry.timer, 0, &spec, NULL);
}

void gsb_hurry_begin(void)
{
	tick_every(TICK_NS);
}

void gsb_hurry_end(void)
{
	tick_every(0);
}

void gsb_hurry_close(int fd)
{
	if (fd < 0)
		return;
	gsb_hurry_begin();
	close(fd);
	gsb_hurry_end();
}
