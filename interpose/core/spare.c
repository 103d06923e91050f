/*
 * spare.c - see spare.h.
 *
 * The system calls are made past the C library, whose open, read and close are points where a thread may be cancelled: the
 * program's thread is in the middle of a copy here.
 */
#include "interpose/core/spare.h"

#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
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

/* What fits of a file, with an end; false: there is nothing. */
static bool read_text(const char *path, char *text, size_t room)
{
	long fd = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC), n;

	if (fd < 0)
		return false;
	n = syscall(SYS_read, fd, text, room - 1);
	syscall(SYS_close, fd);
	text[n > 0 ? n : 0] = 0;
	return n > 0;
}

static unsigned count_running(void)
{
	char text[128];

	return read_text("/proc/loadavg", text, sizeof(text)) ? gsb_spare_read_running(text) : 0;
}

/* ---- quotas of control groups ---- */

static bool read_number(const char *folder, const char *name, long *out)
{
	char path[PATH_MAX], text[64];
	int n = snprintf(path, sizeof(path), "%s/%s", folder, name);

	if (n >= (int)sizeof(path) || !read_text(path, text, sizeof(text)))
		return false;
	*out = strtol(text, NULL, 10);
	return true;
}

/* Version 2: "200000 100000", or "max 100000". */
static bool read_max(const char *folder, long *quota, long *period)
{
	char path[PATH_MAX], text[64];
	int n = snprintf(path, sizeof(path), "%s/cpu.max", folder);

	return n < (int)sizeof(path) && read_text(path, text, sizeof(text)) &&
	       sscanf(text, "%ld %ld", quota, period) == 2;
}

static bool read_cfs(const char *folder, long *quota, long *period)
{
	return read_number(folder, "cpu.cfs_quota_us", quota) &&
	       read_number(folder, "cpu.cfs_period_us", period);
}

static unsigned quota_of(const char *folder)
{
	long quota, period;

	if ((!read_max(folder, &quota, &period) && !read_cfs(folder, &quota, &period)) ||
	    quota <= 0 || period <= 0)
		return UINT_MAX;
	return (unsigned)((quota - 1) / period + 1);
}

/* Of a group and of all above it; folder is cut on the way, down to its first @n_root bytes. */
static unsigned quota_up(char *folder, size_t n_root)
{
	unsigned least = UINT_MAX;
	char *end;

	do {
		unsigned n = quota_of(folder);

		least = n < least ? n : least;
		end = strrchr(folder + n_root, '/');
		if (end)
			*end = 0;
	} while (end);
	return least;
}

/* A line of /proc/self/cgroup is number:controllers:group; version 2 has no controllers there. */
struct group {
	const char *controllers, *path;
	size_t n_controllers, n_path;
};

/* The first of these lines, of which the rest is left; false: it is none, or there are no more. */
static bool read_group(const char **lines, struct group *g)
{
	const char *line = *lines;
	const size_t n = strcspn(line, "\n");
	const char *list = memchr(line, ':', n);
	const char *path = list ? memchr(list + 1, ':', n - (size_t)(list + 1 - line)) : NULL;

	*lines += n + (line[n] != 0);
	if (!path)
		return false;
	*g = (struct group){list + 1, path + 1, (size_t)(path - list - 1),
			    (size_t)(line + n - path - 1)};
	return true;
}

static bool limits_time(const struct group *g)
{
	static const char cpu[] = "cpu";
	const char *end = g->controllers + g->n_controllers;

	for (const char *at = g->controllers; at < end; at += strcspn(at, ",:") + 1)
		if (strcspn(at, ",:") == strlen(cpu) && !memcmp(at, cpu, strlen(cpu)))
			return true;
	return !g->n_controllers;
}

/* In a container the group may be the root of what is mounted, whatever it is called outside: that is looked at last. */
static unsigned quota_from(const char *root, const struct group *g)
{
	char folder[PATH_MAX];
	size_t n_root = (size_t)snprintf(folder, sizeof(folder), "%s%s", root,
					 g->n_controllers ? "/cpu" : "");

	if (n_root + g->n_path >= sizeof(folder))
		return UINT_MAX;
	memcpy(folder + n_root, g->path, g->n_path);
	folder[n_root + g->n_path] = 0;
	return quota_up(folder, n_root);
}

unsigned gsb_spare_read_quota(const char *root, const char *groups)
{
	unsigned least = UINT_MAX;
	struct group g;

	while (*groups) {
		unsigned n = read_group(&groups, &g) && limits_time(&g) ? quota_from(root, &g)
									: UINT_MAX;

		least = n < least ? n : least;
	}
	return least;
}

/* Seldom changed, and a dozen files: it is looked for once. */
static unsigned quota(void)
{
	static _Atomic unsigned known;
	char groups[4096];
	unsigned n = atomic_load_explicit(&known, memory_order_relaxed);

	if (n)
		return n;
	n = read_text("/proc/self/cgroup", groups, sizeof(groups))
		    ? gsb_spare_read_quota("/sys/fs/cgroup", groups)
		    : UINT_MAX;
	atomic_store_explicit(&known, n, memory_order_relaxed);
	return n;
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
	if (s->n_usable > quota())
		s->n_usable = quota();
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
