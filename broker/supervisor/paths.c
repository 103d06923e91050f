/*
 * paths.c - see paths.h.
 */
#include "broker/supervisor/paths.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/log.h"
#include "shm/channel.h"

#define TOPIC		 "supervisor"
#define INSTALLED_ENGINE GSB_LIBEXECDIR "/gsb-engine"

int gsb_paths_find_engine(struct gsb_supervisor *s)
{
	char *path = s->engine_path, *slash;
	ssize_t n = 0;

	if (*s->config->broker.engine) {
		strcpy(path, s->config->broker.engine);
	} else {
		n = readlink("/proc/self/exe", path, sizeof(s->engine_path) - sizeof("gsb-engine"));
		path[n > 0 ? n : 0] = 0;
		slash = strrchr(path, '/');
		if (slash)
			strcpy(slash + 1, "gsb-engine");
		if (!slash || access(path, X_OK) < 0)
			snprintf(path, sizeof(s->engine_path), "%s", INSTALLED_ENGINE);
	}
	if (access(path, X_OK) == 0)
		return 0;
	n = -errno;
	gsb_log(GSB_LOG_ERROR, TOPIC,
		"the engine %s cannot be run: %m: install it, or give its path in [broker] engine",
		path);
	return (int)n;
}

/* A private broker's folder must be nobody else's: it is the only guard of the socket in it. */
int gsb_paths_use_private(struct gsb_supervisor *s, const char *dir)
{
	struct stat st;

	if (lstat(dir, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
	    st.st_mode & 077) {
		gsb_log(GSB_LOG_ERROR, TOPIC,
			"--private %s: must be a folder of your own with mode 0700", dir);
		return -EPERM;
	}
	if ((size_t)snprintf(s->socket, sizeof(s->socket), "%s/socket", dir) >= sizeof(s->socket)) {
		gsb_log(GSB_LOG_ERROR, TOPIC, "--private %s: the path is too long for a socket",
			dir);
		return -ENAMETOOLONG;
	}
	return 0;
}

int gsb_paths_find_socket(struct gsb_supervisor *s, const char *arg)
{
	const char *path = arg ? arg : s->config->broker.socket;
	int err = gsb_channel_path(*path ? path : NULL, s->socket, sizeof(s->socket));

	if (err)
		gsb_log(GSB_LOG_ERROR, TOPIC, "socket path: %s: give a shorter one by --socket",
			strerror(-err));
	return err;
}
