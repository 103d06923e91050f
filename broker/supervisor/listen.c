/*
 * listen.c - see listen.h.
 *
 * The lock is what makes one broker of two on a socket: a file "<socket>.pid", flock'ed as long as
 * gsbrokerd lives, with its process id in it. Whoever holds it may replace a socket that a killed
 * broker left behind; a test by connecting alone would let two starters remove each other's.
 */
#include "broker/supervisor/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "base/hurry.h"
#include "base/log.h"
#include "shm/channel.h"

#define TOPIC	      "listen"
#define LOCK_SUFFIX   ".pid"
#define LOCK_PATH_MAX (sizeof(((struct gsb_supervisor *)0)->socket) + sizeof(LOCK_SUFFIX))
#define PAUSE_MS      200

/* ---- the folder ---- */

static void folder_of(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(out, size, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/* Make the last folder of the socket's path: /run/gsbroker, $XDG_RUNTIME_DIR/gsbroker. */
static int make_folder(struct gsb_listener *l)
{
	char folder[sizeof(l->s->socket)];

	folder_of(l->s->socket, folder, sizeof(folder));
	if (!*folder)
		return 0;
	if (mkdir(folder, getuid() ? 0700 : 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	strcpy(l->made_dir, folder);
	return 0;
}

/* ---- the lock ---- */

static void lock_path(const struct gsb_supervisor *s, char path[LOCK_PATH_MAX])
{
	snprintf(path, LOCK_PATH_MAX, "%s" LOCK_SUFFIX, s->socket);
}

/* Whether the locked file is still the one that the path names: its last owner removes it. */
static bool is_current(int fd, const char *path)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && stat(path, &b) == 0 && a.st_dev == b.st_dev &&
	       a.st_ino == b.st_ino;
}

static int take_lock(struct gsb_listener *l, char owner[32])
{
	char path[LOCK_PATH_MAX], text[32];
	ssize_t n;
	int fd, err;

	lock_path(l->s, path);
	for (;;) {
		fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
		if (fd < 0)
			return -errno;
		if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
			n = read(fd, owner, 31);
			owner[n > 0 ? n : 0] = 0;
			owner[strcspn(owner, "\n")] = 0;
			close(fd);
			return -EADDRINUSE;
		}
		if (is_current(fd, path))
			break;
		close(fd);
	}
	n = snprintf(text, sizeof(text), "%d\n", (int)getpid());
	if (ftruncate(fd, 0) < 0 || write(fd, text, (size_t)n) < 0) {
		err = -errno;
		unlink(path); /* before the lock goes: see is_current() */
		close(fd);
		return err;
	}
	l->lock_fd = fd;
	return 0;
}

/* ---- owner and mode ---- */

static int set_owner(const struct gsb_listener *l)
{
	const struct gsb_supervisor *s = l->s;
	const struct gsb_broker_config *b = &s->config->broker;
	uid_t uid = (uid_t)-1;
	gid_t gid = (gid_t)-1;

	if (*b->socket_group) {
		const struct group *gr = getgrnam(b->socket_group);

		if (!gr) {
			gsb_log(GSB_LOG_ERROR, TOPIC,
				"socket_group = %s: there is no such group: create it or change "
				"gsbroker.conf",
				b->socket_group);
			return -ENOENT;
		}
		gid = gr->gr_gid;
	}
	if (*b->user && !getuid()) {
		const struct passwd *pw = getpwnam(b->user);

		uid = pw ? pw->pw_uid : uid; /* privileges_drop() reports a missing one */
		if (*l->made_dir && chown(l->made_dir, uid, (gid_t)-1) < 0)
			return -errno;
	}
	if (chown(s->socket, uid, gid) < 0 ||
	    chmod(s->socket, (mode_t)gsb_config_socket_mode(s->config)) < 0)
		return -errno;
	return 0;
}

void gsb_listener_reload(struct gsb_listener *l)
{
	const struct gsb_supervisor *s = l->s;

	if (l->watch.fd >= 0 && chmod(s->socket, (mode_t)gsb_config_socket_mode(s->config)) < 0)
		gsb_log(GSB_LOG_WARN, TOPIC, "the permissions of %s stay as they are: %m",
			s->socket);
}

/* ---- who comes ---- */

static void on_pause_over(struct gsb_timer *t)
{
	struct gsb_listener *l = gsb_container_of(t, struct gsb_listener, pause);

	gsb_loop_watch_change(&l->s->loop, &l->watch, EPOLLIN);
}

/* As long as a client waits it fails again and again. */
static void log_accept_failed(struct gsb_listener *l, int err)
{
	unsigned n_held = 0;

	if (!gsb_log_limit_pass(&l->failures, gsb_clock_ns(), &n_held))
		return;
	if (n_held)
		gsb_log(GSB_LOG_WARN, TOPIC, "... and %u more like it", n_held);
	gsb_log(GSB_LOG_WARN, TOPIC, "accept failed: %s%s; the client waits", strerror(err),
		err == EMFILE ? ": start gsbrokerd with a higher ulimit -n" : "");
}

/* Out of descriptors: the listener would be ready again and again, so make room or look away. */
static void on_accept_failed(struct gsb_listener *l)
{
	if (errno == EAGAIN || errno == EINTR || errno == ECONNABORTED)
		return;
	log_accept_failed(l, errno);
	if (l->make_room(l))
		return;
	gsb_loop_watch_change(&l->s->loop, &l->watch, 0);
	gsb_timer_set(&l->s->loop, &l->pause, PAUSE_MS);
}

static void on_ready(struct gsb_loop_watch *w, uint32_t events)
{
	struct gsb_listener *l = gsb_container_of(w, struct gsb_listener, watch);
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

	if (fd < 0)
		on_accept_failed(l);
	else
		l->on_connection(l, fd);
}

/* ---- start and end ---- */

/* What is safe by default is of little use to a service. */
static void warn_if_only_root(const struct gsb_supervisor *s)
{
	const struct gsb_broker_config *b = &s->config->broker;

	if (geteuid() == 0 && b->socket_mode == GSB_MODE_BY_LISTS && !*b->socket_group &&
	    gsb_config_socket_mode(s->config) == 0660)
		gsb_log(GSB_LOG_WARN, TOPIC,
			"only root can open %s: say who else may in [admission] allow_uid or "
			"allow_gid, or in [broker] socket_group",
			s->socket);
}

void gsb_listener_init(struct gsb_listener *l, struct gsb_supervisor *s)
{
	*l = (struct gsb_listener){
		.s = s,
		.watch = {.fd = -1, .on_ready = on_ready},
		.pause.on_time = on_pause_over,
		.lock_fd = -1,
	};
}

static void explain(const struct gsb_supervisor *s, int err, const char *owner)
{
	const char *remedy = "give another path by --socket or in [broker] socket";

	switch (err) {
	case -EADDRINUSE:
		gsb_log(GSB_LOG_ERROR, TOPIC,
			"another gsbrokerd (pid %s) listens on %s: stop it by gsbctl shutdown, or %s",
			*owner ? owner : "unknown", s->socket, remedy);
		break;
	case -EACCES:
	case -EPERM:
		gsb_log(GSB_LOG_ERROR, TOPIC,
			"no permission to listen on %s: start gsbrokerd as root, or %s", s->socket,
			remedy);
		break;
	case -ENOENT:
		gsb_log(GSB_LOG_ERROR, TOPIC, "the folder of %s is not there: make it, or %s",
			s->socket, remedy);
		break;
	case -EMFILE:
	case -ENFILE:
		gsb_log(GSB_LOG_ERROR, TOPIC,
			"cannot listen on %s: %s: start gsbrokerd with a higher ulimit -n",
			s->socket, strerror(-err));
		break;
	case -EFBIG:
		gsb_log(GSB_LOG_ERROR, TOPIC,
			"cannot listen on %s: %s: start gsbrokerd with a higher ulimit -f",
			s->socket, strerror(-err));
		break;
	default:
		gsb_log(GSB_LOG_ERROR, TOPIC, "cannot listen on %s: %s: %s", s->socket,
			strerror(-err), remedy);
	}
}

int gsb_listener_start(struct gsb_listener *l)
{
	struct gsb_supervisor *s = l->s;
	char owner[32] = "";
	int fd = -1, err = make_folder(l);

	if (!err)
		err = take_lock(l, owner);
	if (!err)
		err = gsb_channel_listen(s->socket, &fd);
	if (!err) {
		fcntl(fd, F_SETFL, O_NONBLOCK);
		err = set_owner(l);
	}
	if (!err)
		err = gsb_loop_watch_start(&s->loop, &l->watch, fd, EPOLLIN);
	if (!err) {
		warn_if_only_root(s);
		return 0;
	}
	explain(s, err, owner);
	if (fd >= 0) {
		close(fd);
		unlink(s->socket);
	}
	gsb_listener_stop(l);
	return err;
}

static void remove_lock(struct gsb_listener *l)
{
	char path[LOCK_PATH_MAX];

	if (l->lock_fd < 0)
		return;
	lock_path(l->s, path);
	unlink(path); /* before the lock goes: see is_current() */
	close(l->lock_fd);
	l->lock_fd = -1;
}

void gsb_listener_stop(struct gsb_listener *l)
{
	struct gsb_supervisor *s = l->s;
	int fd = l->watch.fd;

	if (fd >= 0) {
		gsb_timer_clear(&s->loop, &l->pause);
		gsb_loop_watch_stop(&s->loop, &l->watch);
		gsb_hurry_close(fd); /* with what those have sent who are not accepted */
		if (unlink(s->socket) < 0)
			gsb_log(GSB_LOG_WARN, TOPIC, "%s could not be removed: %m", s->socket);
	}
	remove_lock(l);
	if (*l->private_dir)
		rmdir(l->private_dir);
	if (*l->made_dir)
		rmdir(l->made_dir);
}
