/*
 * listen.c - the socket that tenants and gsbctl come to: its lock, its owner and mode, its end; and
 * what else a service does once on its way up: giving up root and telling its manager.
 *
 * The lock is what makes one broker of two on a socket: a file "<socket>.pid", flock'ed as long as
 * gsbrokerd lives, with its process id in it. Whoever holds it may replace a socket that a killed
 * broker left behind; a test by connecting alone would let two starters remove each other's.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "broker/supervisor/supervisor.h"

#define TOPIC	      "listen"
#define LOCK_SUFFIX   ".pid"
#define LOCK_PATH_MAX (sizeof(((struct gsb_supervisor *)0)->socket) + sizeof(LOCK_SUFFIX))

/* ---- the folder ---- */

static void folder_of(const char *path, char *out, size_t size)
{
	const char *slash = strrchr(path, '/');

	snprintf(out, size, "%.*s", slash ? (int)(slash - path) : 0, path);
}

/* Make the last folder of the socket's path: /run/gsbroker, $XDG_RUNTIME_DIR/gsbroker. */
static int make_folder(struct gsb_supervisor *s)
{
	char folder[sizeof(s->socket)];

	folder_of(s->socket, folder, sizeof(folder));
	if (!*folder)
		return 0;
	if (mkdir(folder, getuid() ? 0700 : 0755) < 0)
		return errno == EEXIST ? 0 : -errno;
	strcpy(s->made_dir, folder);
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

static int take_lock(struct gsb_supervisor *s, char owner[32])
{
	char path[LOCK_PATH_MAX], text[32];
	ssize_t n;
	int fd;

	lock_path(s, path);
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
	if (ftruncate(fd, 0) < 0 || write(fd, text, (size_t)n) != n) {
		close(fd);
		return -EIO;
	}
	s->lock_fd = fd;
	return 0;
}

/* ---- owner and mode ---- */

static int set_owner(const struct gsb_supervisor *s)
{
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
		if (*s->made_dir && chown(s->made_dir, uid, (gid_t)-1) < 0)
			return -errno;
	}
	if (chown(s->socket, uid, gid) < 0 || chmod(s->socket, (mode_t)b->socket_mode) < 0)
		return -errno;
	return 0;
}

/* ---- start and end ---- */

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
	case -EROFS:
		gsb_log(GSB_LOG_ERROR, TOPIC,
			"no permission to listen on %s: start gsbrokerd as root, or %s", s->socket,
			remedy);
		break;
	case -ENOENT:
		gsb_log(GSB_LOG_ERROR, TOPIC, "the folder of %s is not there: make it, or %s",
			s->socket, remedy);
		break;
	default:
		gsb_log(GSB_LOG_ERROR, TOPIC, "cannot listen on %s: %s: %s", s->socket,
			strerror(-err), remedy);
	}
}

int gsb_listen_start(struct gsb_supervisor *s)
{
	char owner[32] = "";
	int fd = -1, err = make_folder(s);

	if (!err)
		err = take_lock(s, owner);
	if (!err)
		err = gsb_channel_listen(s->socket, &fd);
	if (!err) {
		fcntl(fd, F_SETFL, O_NONBLOCK);
		err = set_owner(s);
	}
	if (!err) {
		s->listener.on_ready = gsb_client_accept;
		err = gsb_loop_watch_start(&s->loop, &s->listener, fd, EPOLLIN);
	}
	if (!err)
		return 0;
	explain(s, err, owner);
	if (fd >= 0) {
		close(fd);
		unlink(s->socket);
	}
	gsb_listen_stop(s);
	return err;
}

static void remove_lock(struct gsb_supervisor *s)
{
	char path[LOCK_PATH_MAX];

	if (s->lock_fd < 0)
		return;
	lock_path(s, path);
	unlink(path); /* before the lock goes: see is_current() */
	close(s->lock_fd);
	s->lock_fd = -1;
}

void gsb_listen_stop(struct gsb_supervisor *s)
{
	int fd = s->listener.fd;

	if (fd >= 0) {
		gsb_timer_clear(&s->loop, &s->accept_pause);
		gsb_loop_watch_stop(&s->loop, &s->listener);
		close(fd);
		if (unlink(s->socket) < 0)
			gsb_log(GSB_LOG_WARN, TOPIC, "%s could not be removed: %m", s->socket);
	}
	remove_lock(s);
	if (*s->private_dir)
		rmdir(s->private_dir);
	if (*s->made_dir)
		rmdir(s->made_dir);
}

/* ---- root ---- */

int gsb_privileges_drop(struct gsb_supervisor *s)
{
	const char *user = s->config->broker.user;
	const struct passwd *pw;

	s->uid = geteuid();
	if (!*user || s->uid != 0)
		return 0;
	errno = 0;
	pw = getpwnam(user);
	if (!pw) {
		gsb_log(GSB_LOG_ERROR, TOPIC,
			"user = %s: there is no such user: create it or change gsbroker.conf",
			user);
		return errno ? -errno : -ENOENT;
	}
	if (initgroups(user, pw->pw_gid) < 0 || setgid(pw->pw_gid) < 0 || setuid(pw->pw_uid) < 0) {
		gsb_log(GSB_LOG_ERROR, TOPIC, "cannot become user %s: %m", user);
		return -errno;
	}
	s->uid = pw->pw_uid;
	return 0;
}

/* ---- the service manager ---- */

void gsb_notify(const char *text)
{
	const char *path = secure_getenv("NOTIFY_SOCKET");
	struct sockaddr_un a = {.sun_family = AF_UNIX};
	size_t n = path ? strlen(path) : 0;
	int fd;

	if (n < 2 || n >= sizeof(a.sun_path) || (*path != '/' && *path != '@'))
		return;
	memcpy(a.sun_path, path, n);
	if (*path == '@')
		a.sun_path[0] = 0; /* abstract: no file, no NUL at the end */
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, text, strlen(text), MSG_NOSIGNAL | MSG_DONTWAIT, (struct sockaddr *)&a,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + n)) < 0)
		gsb_log(GSB_LOG_WARN, TOPIC, "the service manager at %s was not told: %m", path);
	close(fd);
}
