/*
 * cache.h - a folder of files in which the next engine finds what was found out.
 *
 * Several brokers may use one folder. A file appears whole, by a rename, and is replaced whole; who changes one holds the
 * folder's lock. What cannot be read or written is done without. A folder that others than its owner may write to is not
 * used: code from it would run.
 */
#ifndef GSB_BROKER_ENGINE_CODE_CACHE_H
#define GSB_BROKER_ENGINE_CODE_CACHE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#include "base/sha256.h"

struct gsb_resizing;

/* How names of files end. */
#define GSB_CACHE_PROOF ".proof"
#define GSB_CACHE_TIMES ".times"

/* A folder in it, which a driver fills with what it has compiled. */
#define GSB_CACHE_COMPILED "compiled"

#define GSB_CACHE_NAME_MAX (GSB_SHA256_HEX + 32)

/* [resize] cache, to be closed; -1: there is none, or it is not to be used: why is said once. */
int gsb_cache_open(const struct gsb_resizing *r);
/* The path of GSB_CACHE_COMPILED, which is there then. -ENOENT: the cache is not to be used. -ENAMETOOLONG, -errno. */
int gsb_cache_compiled(const struct gsb_resizing *r, char *out, size_t size);
/* Released when it is closed; -1: it cannot be had. */
int gsb_cache_lock(int dir);

/*
 * gsb_cache_read() - a whole file
 * @out: to be freed, @size bytes
 *
 * Return: 0, -ENOENT, -EBADMSG (it is not what was written), -errno.
 */
int gsb_cache_read(int dir, const char *name, uint8_t **out, size_t *size);
/* It is damaged, or of another version: take it away, and say so. */
void gsb_cache_drop(int dir, const char *name);
/* The parts one behind the other, under the lock; the longest unused files make room. Failure is said. */
void gsb_cache_write(const struct gsb_resizing *r, int dir, const char *name,
		     const struct iovec *parts, unsigned n);

#endif
