/*
 * mps_folder.h - where an MPS daemon has its sockets and its logs: SOCKET.mps/DEVICE-UID, SOCKET being gsbrokerd's.
 */
#ifndef GSB_BROKER_SUPERVISOR_MPS_FOLDER_H
#define GSB_BROKER_SUPERVISOR_MPS_FOLDER_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define GSB_MPS_FOLDER_SIZE 160

/* Its path. -ENAMETOOLONG: the sockets in it would have paths that no address holds. */
int gsb_mps_folder_name(const char *socket, const char *spec, uid_t uid,
			char path[GSB_MPS_FOLDER_SIZE]);
/* Make both folders, with mode 0700. -EPERM: what is there is somebody else's, or open to others; or -errno. */
int gsb_mps_folder_make(const char *socket, const char *path);
/* Whether some daemon has, or had, its sockets in it. */
bool gsb_mps_folder_is_used(const char *path);
/* Remove all of SOCKET.mps. */
void gsb_mps_folder_remove_all(const char *socket);

/* The last line of the daemon's log there; "": there is none. */
void gsb_mps_folder_last_words(const char *path, char *line, int size);
/* A descriptor for what a daemon says beside it, at the end of the same log. -errno. */
int gsb_mps_folder_open_log(const char *path);

#endif
