/*
 * proofs.c - see proofs.h. A file is a head, the proofs, the names one behind the other, the text, and the SHA-256 of all that.
 */
#include "broker/engine/code/proofs.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/log.h"
#include "broker/engine/code/resizing.h"
#include "broker/engine/code/variants.h"

#define TOPIC	       "resize"
#define MAGIC	       "gsbproof"
#define SUFFIX	       ".proof"
#define LOCK	       "lock"
#define MAX_FILE_BYTES ((uint64_t)1 << 31)
#define NAME_BYTES     (GSB_SHA256_HEX + 32)

struct head {
	char magic[8];
	uint32_t version, proof_bytes; /* sizeof(struct gsb_proof) */
	uint32_t wanted, n_kernels;
	uint64_t names_bytes, text_bytes;
	char hash[GSB_SHA256_HEX];
	uint8_t zero[7];
};

/* ---- the folder ---- */

static bool is_ours(int dir)
{
	struct stat st;

	return !fstat(dir, &st) && st.st_uid == geteuid() && !(st.st_mode & 022);
}

/* -1: there is none, or it is not to be used; why is said once. */
static int open_folder(const struct gsb_resizing *r)
{
	static bool said; /* the loader's thread alone comes here */
	int dir;

	if (!r->cache || !*r->cache)
		return -1;
	mkdir(r->cache, 0700);
	dir = open(r->cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (dir >= 0 && is_ours(dir))
		return dir;
	if (!said)
		gsb_log(GSB_LOG_WARN, TOPIC, "[resize] cache %s is not used: %s", r->cache,
			dir < 0 ? strerror(errno)
				: "it must be this user's, and nobody else may write to it");
	said = true;
	if (dir >= 0)
		close(dir);
	return -1;
}

/* Released when it is closed; -1: it cannot be had. */
static int lock_folder(int dir)
{
	int fd = openat(dir, LOCK, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);

	if (fd >= 0 && flock(fd, LOCK_EX)) {
		close(fd);
		return -1;
	}
	return fd;
}

static void file_name(const char *hash, uint32_t wanted, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "%s-%x-%d" SUFFIX, hash, wanted, GSB_PROOFS_VERSION);
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

static int load_file(int dir, const char *name, uint8_t **out, size_t *size)
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
		futimens(fd, NULL); /* it is in use: others go first */
	else
		free(*out);
	close(fd);
	return err;
}

/* Does the head say how long the file is, and is the file what was written? */
static bool is_whole(const uint8_t *bytes, size_t size, const struct head *h)
{
	uint8_t hash[GSB_SHA256_BYTES];
	uint64_t proofs, total;

	if (gsb_mul_overflows((uint64_t)h->n_kernels, sizeof(struct gsb_proof), &proofs) ||
	    gsb_add_overflows(proofs, h->names_bytes, &total) ||
	    gsb_add_overflows(total, h->text_bytes, &total) ||
	    gsb_add_overflows(total, sizeof(*h) + sizeof(hash), &total) || total != size)
		return false;
	gsb_sha256(bytes, size - sizeof(hash), hash);
	return !memcmp(hash, bytes + size - sizeof(hash), sizeof(hash));
}

static bool is_wanted(const struct head *h, const char *hash, uint32_t wanted)
{
	return !memcmp(h->magic, MAGIC, sizeof(h->magic)) && h->version == GSB_PROOFS_VERSION &&
	       h->proof_bytes == sizeof(struct gsb_proof) && h->wanted == wanted &&
	       !memcmp(h->hash, hash, GSB_SHA256_HEX);
}

/* As many names as kernels, each with its end. */
static int take_names(struct gsb_variants *v, const uint8_t *from, uint64_t bytes)
{
	const char *at;

	v->names_room = malloc(bytes + 1);
	v->names = calloc(v->n_kernels + 1ull, sizeof(*v->names));
	if (!v->names_room || !v->names)
		return -ENOMEM;
	memcpy(v->names_room, from, bytes);
	v->names_room[bytes] = 0;
	at = v->names_room;
	for (uint32_t i = 0; i < v->n_kernels; i++) {
		if (at >= v->names_room + bytes)
			return -EBADMSG;
		v->names[i] = v->names_room + (at - v->names_room);
		at += strlen(at) + 1;
	}
	return at == v->names_room + bytes ? 0 : -EBADMSG;
}

static int take(struct gsb_variants *v, const uint8_t *bytes, const struct head *h)
{
	const uint8_t *at = bytes + sizeof(*h);
	size_t proofs = h->n_kernels * sizeof(*v->proofs);
	int err;

	memcpy(v->hash, h->hash, sizeof(v->hash));
	v->wanted = h->wanted;
	v->n_kernels = h->n_kernels;
	v->proofs = calloc(v->n_kernels + 1ull, sizeof(*v->proofs));
	v->text = malloc(h->text_bytes + 1);
	if (!v->proofs || !v->text)
		return -ENOMEM;
	memcpy(v->proofs, at, proofs);
	err = take_names(v, at + proofs, h->names_bytes);
	memcpy(v->text, at + proofs + h->names_bytes, h->text_bytes);
	v->text[h->text_bytes] = 0;
	v->text_bytes = h->text_bytes;
	return err;
}

static int understand(const uint8_t *bytes, size_t size, const char *hash, uint32_t wanted,
		      struct gsb_variants **out)
{
	struct gsb_variants *v;
	struct head h;
	int err;

	if (size < sizeof(h))
		return -EBADMSG;
	memcpy(&h, bytes, sizeof(h));
	if (!is_wanted(&h, hash, wanted) || !is_whole(bytes, size, &h))
		return -EBADMSG;
	v = calloc(1, sizeof(*v));
	err = v ? take(v, bytes, &h) : -ENOMEM;
	if (err)
		gsb_variants_destroy(v);
	else
		*out = v;
	return err;
}

static int read_file(int dir, const char *hash, uint32_t wanted, struct gsb_variants **out)
{
	char name[NAME_BYTES];
	uint8_t *bytes = NULL;
	size_t size = 0;
	int err;

	file_name(hash, wanted, name);
	err = load_file(dir, name, &bytes, &size);
	if (!err) {
		err = understand(bytes, size, hash, wanted, out);
		free(bytes);
	}
	if (err == -EBADMSG && !unlinkat(dir, name, 0))
		gsb_log(GSB_LOG_WARN, TOPIC,
			"%s of the cache is damaged or of another version: it is dropped", name);
	return err;
}

int gsb_proofs_read(const struct gsb_resizing *r, const char *hash, uint32_t wanted,
		    struct gsb_variants **out)
{
	int dir = open_folder(r), err;

	if (dir < 0)
		return -ENOENT;
	err = read_file(dir, hash, wanted, out);
	close(dir);
	return err;
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

static int put_all(int fd, const struct gsb_variants *v)
{
	struct sink s = {.fd = fd};
	uint8_t hash[GSB_SHA256_BYTES];
	struct head h = {.magic = MAGIC,
			 .version = GSB_PROOFS_VERSION,
			 .proof_bytes = sizeof(struct gsb_proof),
			 .wanted = v->wanted,
			 .n_kernels = v->n_kernels,
			 .text_bytes = v->text_bytes};

	memcpy(h.hash, v->hash, sizeof(h.hash));
	for (uint32_t i = 0; i < v->n_kernels; i++)
		h.names_bytes += strlen(v->names[i]) + 1;
	gsb_sha256_init(&s.hash);
	put(&s, &h, sizeof(h));
	put(&s, v->proofs, v->n_kernels * sizeof(*v->proofs));
	put(&s, v->names_room, h.names_bytes);
	put(&s, v->text, v->text_bytes);
	gsb_sha256_end(&s.hash, hash);
	put(&s, hash, sizeof(hash));
	return s.err;
}

/* Under the lock, so that one name does for all who write. */
static int put_file(int dir, const struct gsb_variants *v)
{
	static const char fresh[] = "fresh";
	char name[NAME_BYTES];
	int fd, err;

	file_name(v->hash, v->wanted, name);
	unlinkat(dir, fresh, 0); /* of who ended meanwhile */
	fd = openat(dir, fresh, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	if (fd < 0)
		return -errno;
	err = put_all(fd, v);
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
	char name[NAME_BYTES];
	uint64_t bytes;
	struct timespec used;
};

static bool is_older(const struct file *a, const struct file *b)
{
	return a->used.tv_sec != b->used.tv_sec ? a->used.tv_sec < b->used.tv_sec
						: a->used.tv_nsec < b->used.tv_nsec;
}

static bool look_at(int dir, const char *name, struct file *out)
{
	size_t n = strlen(name), tail = sizeof(SUFFIX) - 1;
	struct stat st;

	if (n >= NAME_BYTES || n <= tail || strcmp(name + n - tail, SUFFIX) != 0 ||
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

/* ---- both ---- */

static void write_locked(const struct gsb_resizing *r, int dir, const struct gsb_variants *v)
{
	int err = put_file(dir, v);

	if (err)
		gsb_log(GSB_LOG_WARN, TOPIC, "nothing is kept in %s: %s", r->cache, strerror(-err));
	make_room(dir, r->cache_bytes);
}

void gsb_proofs_write(const struct gsb_resizing *r, const struct gsb_variants *v)
{
	int dir = open_folder(r), lock;

	if (dir < 0)
		return;
	lock = lock_folder(dir);
	if (lock >= 0) {
		write_locked(r, dir, v);
		close(lock);
	}
	close(dir);
}

static void add_demands(struct gsb_proof *to, const struct gsb_proof *from)
{
	for (unsigned i = 0; i < GSB_N_DEMANDS; i++) {
		const struct gsb_warp_demand *d = &from->demands[i];
		struct gsb_warp_demand *at;

		if (!d->n_threads)
			return;
		at = gsb_demand_find(to->demands, d->n_threads, d->n_blocks_log2);
		if (at && !at->n_threads)
			*at = *d;
	}
}

static void add_locked(const struct gsb_resizing *r, int dir, const struct gsb_variants *v,
		       const char *kernel, const struct gsb_proof *what)
{
	struct gsb_variants *kept;
	struct gsb_proof *to;

	if (read_file(dir, v->hash, v->wanted, &kept))
		return;
	to = gsb_variants_find(kept, kernel);
	if (to) {
		to->refuted |= what->refuted;
		add_demands(to, what);
		write_locked(r, dir, kept);
	}
	gsb_variants_destroy(kept);
}

void gsb_proofs_add(const struct gsb_resizing *r, const struct gsb_variants *v, const char *kernel,
		    const struct gsb_proof *what)
{
	int dir = open_folder(r), lock;

	if (dir < 0)
		return;
	lock = lock_folder(dir);
	if (lock >= 0) {
		add_locked(r, dir, v, kernel, what);
		close(lock);
	}
	close(dir);
}
