/*
 * descriptor.c - see descriptor.h.
 */
#include "interpose/cu/descriptor.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

static bool find_inode(int fd, ino_t *inode)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	*inode = st.st_ino;
	return true;
}

CUresult gsb_descriptor_make(const struct gsb_ipc_handle *handle, struct gsb_descriptor *kept,
			     int *fd)
{
	int ends[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return CUDA_ERROR_OPERATING_SYSTEM;
	kept->fd = ends[0];
	if (!find_inode(ends[0], &kept->inode) ||
	    send(ends[0], handle, sizeof(*handle), MSG_NOSIGNAL) != sizeof(*handle)) {
		close(ends[0]);
		close(ends[1]);
		return CUDA_ERROR_OPERATING_SYSTEM;
	}
	*fd = ends[1];
	return CUDA_SUCCESS;
}

static bool is_ours(const struct gsb_descriptor *kept)
{
	ino_t inode;

	return find_inode(kept->fd, &inode) && inode == kept->inode;
}

bool gsb_descriptor_is_open(const struct gsb_descriptor *kept)
{
	struct pollfd p = {.fd = kept->fd};

	return is_ours(kept) && poll(&p, 1, 0) == 0;
}

void gsb_descriptor_close(const struct gsb_descriptor *kept)
{
	if (is_ours(kept))
		close(kept->fd);
}

bool gsb_descriptor_read(int fd, enum gsb_ipc_kind kind, struct gsb_ipc_handle *out)
{
	return recv(fd, out, sizeof(*out), MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC) == sizeof(*out) &&
	       out->magic == GSB_IPC_MAGIC && out->kind == (uint32_t)kind;
}
