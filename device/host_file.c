/*
 * host_file.c - see host_file.h.
 */
#include "device/host_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utlist.h>

static struct gsb_host_file *find(struct gsb_host_file *all, uint64_t owner, const struct stat *st)
{
	struct gsb_host_file *f;

	DL_FOREACH (all, f)
		if (f->owner == owner && f->device == st->st_dev && f->number == st->st_ino)
			return f;
	return NULL;
}

/* A descriptor of its own: the caller may close his. */
static struct gsb_host_file *add(struct gsb_host_file **all, uint64_t owner, int fd,
				 const struct stat *st)
{
	struct gsb_host_file *f = malloc(sizeof(*f));

	if (!f)
		return NULL;
	*f = (struct gsb_host_file){
		.all = all,
		.owner = owner,
		.device = st->st_dev,
		.number = st->st_ino,
		.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0),
	};
	if (f->fd < 0) {
		free(f);
		return NULL;
	}
	DL_APPEND(*all, f);
	return f;
}

int gsb_host_file_get(struct gsb_host_file **all, uint64_t owner, int fd,
		      struct gsb_host_file **out)
{
	struct gsb_host_file *f;
	struct stat st;

	if (fstat(fd, &st))
		return -EINVAL;
	f = find(*all, owner, &st);
	if (!f)
		f = add(all, owner, fd, &st);
	if (!f)
		return -ENOMEM;
	f->n_users++;
	*out = f;
	return 0;
}

void gsb_host_file_put(struct gsb_host_file *f)
{
	if (--f->n_users)
		return;
	DL_DELETE(*f->all, f);
	close(f->fd);
	free(f);
}
