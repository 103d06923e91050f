/*
 * cache.c - see cache.h. A file is what was put into it, and the SHA-256 of that.
 */
#include "broker/engine/code/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/compiler.h"
#include "base/log.h"
#include "base/sha256.h"
#include "broker/engine/code/resizing.h"

#define TOPIC	       "resize"
#define LOCK	       "lock"
#define MAX_FILE_BYTES ((uint64_t)1 << 31)

/* What is ours in the folder, and may make room. */
static const char *const suffixes[] = {GSB_CACHE_PROOF, GSB_CACHE_TIMES};

/* ---- the folder ---- */

static bool is_ours(int dir)
{
	struct stat st;

	return !fstat(dir, &st) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

int gsb_cache_open(const struct gsb_resizing *r)
{
	static atomic_bool said;
	int dir;

	if (!r->cache || !*r->cache)
		return -1;
	mkdir(r->cache, 0700);
	dir = open(r->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && is_ours(dir))
		return dir;
	if (!atomic_exchange(&said, true))
		gsb_log(GSB_LOG_WARN, TOPIC, "[resize] cache %s is not used: %s", r->cache,
			dir < 0 ? strerror(errno)
				: "it must be this user's, and nobody else may write to it");
	if (dir >= 0)
		close(dir);
	return -1;
}

int gsb_cache_compiled(const struct gsb_resizing *r, char *out, size_t size)
{
	int dir = gsb_cache_open(r), err = 0;

	if (dir < 0)
		return -ENOENT;
	if (mkdirat(dir, GSB_CACHE_COMPILED, 0700) && errno != EEXIST)
		err = -errno;
	else if (snprintf(out, size, "%s/" GSB_CACHE_COMPILED, r->cache) >= (int)size)
		err = -ENAMETOOLONG;
	close(dir);
	return err;
}

int gsb_cache_lock(int dir)
{
	int fd = openat(dir, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0 && flock(fd, LOCK_EX)) {
		close(fd);
		return -1;
	}
	return fd;
}

/* ---- reading ---- */

static int read_all(int fd, uint8_t *to, size_t size)
{
	while (size) {
		ssize_t n = read(fd, to, size);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n ? -errno : -EBADMSG;
		to += n;
		size -= (size_t)n;
	}
	return 0;
}

/* Is it what was put there? Its size is without the hash then. */
static int check(const uint8_t *bytes, size_t *size)
{
	uint8_t hash[GSB_SHA256_BYTES];

	if (*size < sizeof(hash))
		return -EBADMSG;
	*size -= sizeof(hash);
	gsb_sha256(bytes, *size, hash);
	return memcmp(hash, bytes + *size, sizeof(hash)) ? -EBADMSG : 0;
}

int gsb_cache_read(int dir, const char *name, uint8_t **out, size_t *size)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW), err = 0;
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st))
		err = -errno;
	else if (!S_ISREG(st.st_mode) || (uint64_t)st.st_size > MAX_FILE_BYTES)
		err = -EBADMSG;
	*size = (size_t)st.st_size;
	*out = err ? NULL : malloc(*size + 1);
	if (!err && !*out)
		err = -ENOMEM;
	if (!err)
		err = read_all(fd, *out, *size);
	if (!err)
		err = check(*out, size);
	if (!err)
		futimens(fd, NULL); /* it is in use: others go first */
	else
		free(*out);
	close(fd);
	return err;
}

void gsb_cache_drop(int dir, const char *name)
{
	if (!unlinkat(dir, name, 0))
		gsb_log(GSB_LOG_WARN, TOPIC,
			"%s of the cache is damaged or of another version: it is dropped", name);
}

/* ---- writing ---- */

struct sink {
	int fd, err;
	struct gsb_sha256 hash;
};

static void put(struct sink *s, const void *bytes, size_t size)
{
	const uint8_t *from = bytes;

	gsb_sha256_add(&s->hash, bytes, size);
	while (size && !s->err) {
		ssize_t n = write(s->fd, from, size);

		if (n < 0 && errno != EINTR)
			s->err = -errno;
		if (n > 0) {
			from += n;
			size -= (size_t)n;
		}
	}
}

static int put_all(int fd, const struct iovec *parts, unsigned n)
{
	struct sink s = {.fd = fd};
	uint8_t hash[GSB_SHA256_BYTES];

	gsb_sha256_init(&s.hash);
	for (unsigned i = 0; i < n; i++)
		put(&s, parts[i].iov_base, parts[i].iov_len);
	gsb_sha256_end(&s.hash, hash);
	put(&s, hash, sizeof(hash));
	return s.err;
}

static int put_file(int dir, const char *name, const struct iovec *parts, unsigned n)
{
	static const char fresh[] = "fresh"; /* under the lock one name does for all */
	int fd, err;

	unlinkat(dir, fresh, 0); /* of who ended meanwhile */
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = put_all(fd, parts, n);
	if (close(fd) && !err)
		err = -errno;
	if (!err && renameat(dir, fresh, dir, name))
		err = -errno;
	if (err)
		unlinkat(dir, fresh, 0);
	return err;
}

/* ---- room ---- */

struct file {
	char name[GSB_CACHE_NAME_MAX];
	uint64_t bytes;
	struct timespec used;
};

static bool is_older(const struct file *a, const struct file *b)
{
	return a->used.tv_sec != b->used.tv_sec ? a->used.tv_sec < b->used.tv_sec
						: a->used.tv_nsec < b->used.tv_nsec;
}

static bool is_kept(const char *name, size_t n)
{
	for (size_t i = 0; i < GSB_ARRAY_LEN(suffixes); i++) {
		size_t tail = strlen(suffixes[i]);

		if (n > tail && !strcmp(name + n - tail, suffixes[i]))
			return true;
	}
	return false;
}

static bool look_at(int dir, const char *name, struct file *out)
{
	size_t n = strlen(name);
	struct stat st;

	if (n >= GSB_CACHE_NAME_MAX || !is_kept(name, n) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) || !S_ISREG(st.st_mode))
		return false;
	memcpy(out->name, name, n + 1);
	out->bytes = (uint64_t)st.st_size;
	out->used = st.st_mtim;
	return true;
}

/* Sum of all files; the longest unused one is in @oldest. */
static uint64_t survey(int dir, struct file *oldest)
{
	int fd = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *d = fd < 0 ? NULL : fdopendir(fd);
	uint64_t sum = 0;
	struct dirent *e;
	struct file f;

	if (!d) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	while ((e = readdir(d))) {
		if (!look_at(dir, e->d_name, &f))
			continue;
		if (!sum || is_older(&f, oldest))
			*oldest = f;
		sum += f.bytes;
	}
	closedir(d);
	return sum;
}

static void make_room(int dir, uint64_t max_bytes)
{
	struct file oldest;

	while (survey(dir, &oldest) > max_bytes)
		if (unlinkat(dir, oldest.name, 0))
			return;
}

void gsb_cache_write(const struct gsb_resizing *r, int dir, const char *name,
		     const struct iovec *parts, unsigned n)
{
	int err = put_file(dir, name, parts, n);

	if (err)
		gsb_log(GSB_LOG_WARN, TOPIC, "nothing is kept in %s: %s", r->cache, strerror(-err));
	make_room(dir, r->cache_bytes);
}
