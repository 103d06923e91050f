/*
 * service.c - see service.h.
 */
#include "broker/supervisor/service.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/log.h"

#define TOPIC "service"

/* ---- root ---- */

int gsb_privileges_drop(const char *user, uid_t *uid)
{
	const struct passwd *pw;

	*uid = geteuid();
	if (!*user || *uid != 0)
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
	*uid = pw->pw_uid;
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
