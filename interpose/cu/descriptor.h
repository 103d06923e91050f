/*
 * descriptor.h - file descriptors that stand for something of this process in another one, however they get there.
 *
 * One is an end of a pair of sockets in which the handle lies (gsb/ipc.h), to be looked at by whoever has it. The other end is
 * kept: it tells when nobody has the descriptor any more.
 */
#ifndef GSB_INTERPOSE_CU_DESCRIPTOR_H
#define GSB_INTERPOSE_CU_DESCRIPTOR_H

#include <stdbool.h>
#include <sys/types.h>

#include "gsb/cuabi.h"
#include "gsb/ipc.h"

/* The end that is kept. */
struct gsb_descriptor {
	int fd;
	ino_t inode; /* the program may close what it has not opened, and open something else by that number */
};

/* *fd is the program's, to be closed by it. CUDA_ERROR_OPERATING_SYSTEM: it may have no more. */
CUresult gsb_descriptor_make(const struct gsb_ipc_handle *handle, struct gsb_descriptor *kept,
			     int *fd);
/* Whether somebody still has it, or may. */
bool gsb_descriptor_is_open(const struct gsb_descriptor *kept);
void gsb_descriptor_close(const struct gsb_descriptor *kept);

/* What a descriptor of another process of ours brings. False: it is none of that kind. */
bool gsb_descriptor_read(int fd, enum gsb_ipc_kind kind, struct gsb_ipc_handle *out);

#endif
