/*
 * descriptor.c - see descriptor.h.
 */
#include "interpose/cu/descriptor.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cancel.h"

static bool find_inode(int fd, ino_t *inode)
{
	struct stat st;

	if (fstat(fd, &st))
		return false;
	*inode = st.st_ino;
	return true;
}

static CUresult make(const struct gsb_ipc_handle *handle, struct gsb_descriptor *kept, int *fd)
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

CUresult gsb_descriptor_make(const struct gsb_ipc_handle *handle, struct gsb_descriptor *kept,
			     int *fd)
{
	int was = gsb_cancel_hold();
	CUresult result = make(handle, kept, fd);

	gsb_cancel_let_go(was);
	return result;
}

static bool is_ours(const struct gsb_descriptor *kept)
{
	ino_t inode;

	return find_inode(kept->fd, &inode) && inode == kept->inode;
}

bool gsb_descriptor_is_open(const struct gsb_descriptor *kept)
{
	struct pollfd p = {.fd = kept->fd};
	int was = gsb_cancel_hold();
	bool is_open = is_ours(kept) && poll(&p, 1, 0) == 0;

	gsb_cancel_let_go(was);
	return is_open;
}

void gsb_descriptor_close(const struct gsb_descriptor *kept)
{
	int was = gsb_cancel_hold();

	if (is_ours(kept))
		close(kept->fd);
	gsb_cancel_let_go(was);
}

bool gsb_descriptor_read(int fd, enum gsb_ipc_kind kind, struct gsb_ipc_handle *out)
{
	return recv(fd, out, sizeof(*out), MSG_PEEK | MSG_DONTWAIT | MSG_TRUNC) == sizeof(*out) &&
	       out->magic == GSB_IPC_MAGIC && out->kind == (uint32_t)kind;
}
