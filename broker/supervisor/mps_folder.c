/*
 * mps_folder.c - see mps_folder.h.
 */
#include "broker/supervisor/mps_folder.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define LONGEST_NAME "/control_privileged" /* of the sockets in it */

static void path_of_all(const char *socket, char path[GSB_MPS_FOLDER_SIZE])
{
	snprintf(path, GSB_MPS_FOLDER_SIZE, "%.107s.mps", socket);
}

int gsb_mps_folder_name(const char *socket, const char *spec, uid_t uid,
			char path[GSB_MPS_FOLDER_SIZE])
{
	size_t n, used;

	path_of_all(socket, path);
	used = strlen(path);
	n = used + (size_t)snprintf(path + used, GSB_MPS_FOLDER_SIZE - used, "/%s-%u", spec, uid);
	if (n + strlen(LONGEST_NAME) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return -ENAMETOOLONG;
	for (char *c = path + used + 1; *c; c++)
		if (!isalnum((unsigned char)*c))
			*c = '-';
	return 0;
}

/* One that is there already may be somebody else's: the socket may lie where everybody can make folders. */
static int make_folder(const char *path)
{
	struct stat st;

	if (mkdir(path, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (lstat(path, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077) ? 0 : -EPERM;
}

int gsb_mps_folder_make(const char *socket, const char *path)
{
	char all[GSB_MPS_FOLDER_SIZE];
	int err;

	path_of_all(socket, all);
	err = make_folder(all);
	return err ? err : make_folder(path);
}

bool gsb_mps_folder_is_used(const char *path)
{
	char control[GSB_MPS_FOLDER_SIZE + 16];

	snprintf(control, sizeof(control), "%s/control", path);
	return access(control, F_OK) == 0;
}

/* Files, and folders of files. */
static void remove_folder(int at, const char *name, bool inner)
{
	int fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *e;

	if (!dir) {
		if (fd >= 0)
			close(fd);
		return;
	}
	while ((e = readdir(dir)))
		if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0 &&
		    unlinkat(fd, e->d_name, 0) < 0 && !inner)
			remove_folder(fd, e->d_name, true);
	closedir(dir);
	unlinkat(at, name, AT_REMOVEDIR);
}

void gsb_mps_folder_remove_all(const char *socket)
{
	char all[GSB_MPS_FOLDER_SIZE];

	path_of_all(socket, all);
	remove_folder(AT_FDCWD, all, false);
}

static void log_path(const char *path, char log[GSB_MPS_FOLDER_SIZE + 16])
{
	snprintf(log, GSB_MPS_FOLDER_SIZE + 16, "%s/control.log", path);
}

void gsb_mps_folder_last_words(const char *path, char *line, int size)
{
	char log[GSB_MPS_FOLDER_SIZE + 16];
	FILE *f;

	*line = 0;
	log_path(path, log);
	f = fopen(log, "re");
	if (!f)
		return;
	while (fgets(line, size, f))
		;
	fclose(f);
	line[strcspn(line, "\n")] = 0;
}

int gsb_mps_folder_open_log(const char *path)
{
	char log[GSB_MPS_FOLDER_SIZE + 16];
	int fd;

	log_path(path, log);
	fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW | O_CLOEXEC, 0600);
	return fd < 0 ? -errno : fd;
}
