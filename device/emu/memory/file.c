/*
 * file.c - see file.h.
 */
#include "device/emu/memory/file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/log.h"
#include "device/host_file.h"

int emu_file_adopt(int fd, struct emu_file **out)
{
	struct emu_file *f = malloc(sizeof(*f));

	if (!f) {
		close(fd);
		return -ENOMEM;
	}
	*f = (struct emu_file){.fd = fd, .n_users = 1};
	*out = f;
	return 0;
}

int emu_file_create(const char *name, uint64_t size, struct emu_file **out)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	if (fd < 0)
		return -ENOMEM;
	if (ftruncate(fd, (off_t)size)) {
		close(fd);
		return -ENOMEM;
	}
	return emu_file_adopt(fd, out);
}

int emu_file_of_host(struct gsb_host_file *host, struct emu_file **out)
{
	struct emu_file *f = malloc(sizeof(*f));

	if (!f) {
		gsb_host_file_put(host);
		return -ENOMEM;
	}
	*f = (struct emu_file){.fd = host->fd, .host = host, .n_users = 1};
	*out = f;
	return 0;
}

void emu_file_get(struct emu_file *f)
{
	f->n_users++;
}

bool emu_file_drop(struct emu_file *f)
{
	return !--f->n_users;
}

void emu_file_put(struct emu_file *f)
{
	if (f && emu_file_drop(f))
		emu_file_destroy(f);
}

void emu_file_destroy(struct emu_file *f)
{
	if (f->host)
		gsb_host_file_put(f->host);
	else
		close(f->fd);
	free(f);
}

int emu_file_map(const struct emu_file *f, uint64_t at, uint64_t size, uint64_t addr,
		 int protection)
{
	void *p = mmap((void *)(uintptr_t)addr, size, protection,
		       MAP_SHARED | MAP_FIXED | MAP_NORESERVE, f->fd, (off_t)at);

	if (p == MAP_FAILED)
		return -ENOMEM;
	madvise(p, size, MADV_DONTDUMP); /* all of them, so that neighbours are one mapping */
	return 0;
}

bool emu_file_scrub(const struct emu_file *f, uint64_t at, uint64_t size)
{
	if (!fallocate(f->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)at, (off_t)size))
		return true;
	gsb_log(GSB_LOG_ERROR, "emu", "freed memory is not scrubbed, and not used again: %m");
	return false;
}
