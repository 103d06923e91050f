/*
 * host_file.h - the files that backings of the host are parts of (backing_of_host of ops.h): one descriptor of each, however many
 * backings there are. A process has descriptors for all of its tenants, and each of them may make thousands of backings.
 *
 * A file is known by its owner and by its number in the system, which nobody else has while a descriptor of it is open. What
 * another owner has is never the same file, whatever its number.
 *
 * Context: the lock or the thread of whoever has the list.
 */
#ifndef GSB_DEVICE_HOST_FILE_H
#define GSB_DEVICE_HOST_FILE_H

#include <stdint.h>
#include <sys/types.h>

struct gsb_host_file {
	struct gsb_host_file *prev, *next, **all;
	uint64_t owner;
	dev_t device;
	ino_t number;
	int fd;
	unsigned n_users;
};

/* The file of @fd, which stays the caller's, for a user more. @all: the list, NULL at first. -EINVAL: @fd is none. -ENOMEM. */
int gsb_host_file_get(struct gsb_host_file **all, uint64_t owner, int fd,
		      struct gsb_host_file **out);
void gsb_host_file_put(struct gsb_host_file *f);

#endif
