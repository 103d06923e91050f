/*
 * spare.c - see spare.h.
 *
 * The system calls are made past the C library, whose open, read and close are points where a thread may be cancelled: the
 * program's thread is in the middle of a copy here.
 */
#include "interpose/core/spare.h"

#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define N_PROCESSORS_MAX 8192 /* that an affinity is asked for */

/* "0.20 0.18 0.12 1/80 11206": averages, threads that run / all threads, the newest. */
unsigned gsb_spare_read_running(const char *text)
{
	unsigned long n;
	char *end;

	for (int i = 0; text && i < 3; i++) {
		text = strchr(text, ' ');
		text += text != NULL;
	}
	if (!text)
		return 0;
	n = strtoul(text, &end, 10);
	return end != text && *end == '/' && n < 1u << 30 ? (unsigned)n : 0;
}

static unsigned count_running(void)
{
	char text[128];
	long fd = syscall(SYS_openat, AT_FDCWD, "/proc/loadavg", O_RDONLY | O_CLOEXEC), n;

	if (fd < 0)
		return 0;
	n = syscall(SYS_read, fd, text, sizeof(text) - 1);
	syscall(SYS_close, fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	return gsb_spare_read_running(text);
}

static unsigned count_usable(void)
{
	unsigned long mask[N_PROCESSORS_MAX / (8 * sizeof(long))] = {0};
	long bytes = syscall(SYS_sched_getaffinity, 0, sizeof(mask), mask);
	unsigned n = 0;

	for (long i = 0; i < bytes / (long)sizeof(long); i++)
		n += (unsigned)__builtin_popcountl(mask[i]);
	return n;
}

void gsb_spare_look(struct gsb_spare *s)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	s->n_online = n > 0 ? (unsigned)n : 1;
	s->n_usable = count_usable();
	s->n_running = count_running();
}

static unsigned by_load(const struct gsb_spare *s, unsigned n_now)
{
	if (!s->n_running)
		return n_now + s->n_usable / 2;
	if (s->n_running < s->n_online)
		return n_now + (s->n_online - s->n_running + 1) / 2;
	return s->n_running > s->n_online ? n_now / 2 : n_now;
}

unsigned gsb_spare_helpers(const struct gsb_spare *s, unsigned n_now, bool preempted,
			   unsigned n_most)
{
	unsigned n = preempted ? n_now / 2 : by_load(s, n_now);

	if (n + 1 > s->n_usable)
		n = s->n_usable ? s->n_usable - 1 : 0;
	return n < n_most ? n : n_most;
}
