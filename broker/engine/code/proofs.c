/*
 * proofs.c - see proofs.h. A file is a head, the proofs, the names one behind the other, and the text.
 */
#include "broker/engine/code/proofs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/checked.h"
#include "broker/engine/code/cache.h"
#include "broker/engine/code/resizing.h"
#include "broker/engine/code/variants.h"

#define MAGIC "gsbproof"

struct head {
	char magic[8];
	uint32_t version, proof_bytes; /* sizeof(struct gsb_proof) */
	uint32_t wanted, n_kernels;
	uint64_t names_bytes, text_bytes;
	char hash[GSB_SHA256_HEX];
	uint8_t zero[7];
};

/* ---- reading ---- */

static void file_name(const char *hash, uint32_t wanted, char out[GSB_CACHE_NAME_MAX])
{
	snprintf(out, GSB_CACHE_NAME_MAX, "%s-%x-%d" GSB_CACHE_PROOF, hash, wanted,
		 GSB_PROOFS_VERSION);
}

/* Does the head say how long the file is? */
static bool is_whole(size_t size, const struct head *h)
{
	uint64_t proofs, total;

	if (gsb_mul_overflows((uint64_t)h->n_kernels, sizeof(struct gsb_proof), &proofs) ||
	    gsb_add_overflows(proofs, h->names_bytes, &total) ||
	    gsb_add_overflows(total, h->text_bytes, &total) ||
	    gsb_add_overflows(total, sizeof(*h), &total))
		return false;
	return total == size;
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
	if (!is_wanted(&h, hash, wanted) || !is_whole(size, &h))
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
	char name[GSB_CACHE_NAME_MAX];
	uint8_t *bytes = NULL;
	size_t size = 0;
	int err;

	file_name(hash, wanted, name);
	err = gsb_cache_read(dir, name, &bytes, &size);
	if (!err) {
		err = understand(bytes, size, hash, wanted, out);
		free(bytes);
	}
	if (err == -EBADMSG)
		gsb_cache_drop(dir, name);
	return err;
}

int gsb_proofs_read(const struct gsb_resizing *r, const char *hash, uint32_t wanted,
		    struct gsb_variants **out)
{
	int dir = gsb_cache_open(r), err;

	if (dir < 0)
		return -ENOENT;
	err = read_file(dir, hash, wanted, out);
	close(dir);
	return err;
}

/* ---- writing ---- */

static void write_locked(const struct gsb_resizing *r, int dir, const struct gsb_variants *v)
{
	char name[GSB_CACHE_NAME_MAX];
	struct head h = {.magic = MAGIC,
			 .version = GSB_PROOFS_VERSION,
			 .proof_bytes = sizeof(struct gsb_proof),
			 .wanted = v->wanted,
			 .n_kernels = v->n_kernels,
			 .text_bytes = v->text_bytes};

	memcpy(h.hash, v->hash, sizeof(h.hash));
	for (uint32_t i = 0; i < v->n_kernels; i++)
		h.names_bytes += strlen(v->names[i]) + 1;
	file_name(v->hash, v->wanted, name);
	gsb_cache_write(r, dir, name,
			(const struct iovec[]){{&h, sizeof(h)},
					       {v->proofs, v->n_kernels * sizeof(*v->proofs)},
					       {v->names_room, h.names_bytes},
					       {v->text, v->text_bytes}},
			4);
}

void gsb_proofs_write(const struct gsb_resizing *r, const struct gsb_variants *v)
{
	int dir = gsb_cache_open(r), lock;

	if (dir < 0)
		return;
	lock = gsb_cache_lock(dir);
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
	int dir = gsb_cache_open(r), lock;

	if (dir < 0)
		return;
	lock = gsb_cache_lock(dir);
	if (lock >= 0) {
		add_locked(r, dir, v, kernel, what);
		close(lock);
	}
	close(dir);
}
