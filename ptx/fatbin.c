/*
 * fatbin.c - see fatbin.h. The layout is documented nowhere; it was measured on what nvcc 13 and the
 * CUDA libraries contain. Offsets of an entry's header: kind 0, header size 4, payload size 8,
 * compressed size 16, sm 28, flags 40, raw size 56.
 */
#include "ptx/fatbin.h"

#include <errno.h>
#include <lz4.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "base/checked.h"
#include "ptx/bytes.h"
#include "ptx/ptx.h"

#define CONTAINER_HEADER_BYTES 16
#define ENTRY_HEADER_BYTES     64

#define FLAG_LZ4	     0x2000u
#define FLAG_ZSTD	     0x8000u
#define FLAG_ARCH_SPECIFIC   0x100000u
#define FLAG_FAMILY_SPECIFIC 0x200000u

/* The container's end: what its header says, and not past the bytes that there are. */
static bool container_end(const uint8_t *p, size_t size, uint64_t *end)
{
	uint64_t body;

	if (size < CONTAINER_HEADER_BYTES || gsb_le32(p) != GSB_IMAGE_FATBIN_MAGIC ||
	    gsb_le16(p + 6) < CONTAINER_HEADER_BYTES)
		return false;
	body = gsb_le64(p + 8);
	if (!gsb_range_ok(gsb_le16(p + 6), body, size))
		return false;
	*end = gsb_le16(p + 6) + body;
	return true;
}

/* For plain entries the exact size is not recorded: the padding is part of the payload. */
static bool fill_entry(const uint8_t *h, uint64_t header, uint64_t padded,
		       struct gsb_fatbin_entry *e)
{
	uint64_t exact = gsb_le32(h + 16), raw = gsb_le64(h + 56);

	*e = (struct gsb_fatbin_entry){.kind = gsb_le16(h),
				       .sm = gsb_le32(h + 28),
				       .flags = gsb_le64(h + 40),
				       .payload = h + header,
				       .payload_size = padded,
				       .raw_size = padded};
	e->arch_specific = e->flags & FLAG_ARCH_SPECIFIC;
	e->family_specific = e->flags & FLAG_FAMILY_SPECIFIC;
	if (!(e->flags & (FLAG_LZ4 | FLAG_ZSTD)))
		return true;
	e->packing = e->flags & FLAG_ZSTD ? GSB_FATBIN_ZSTD : GSB_FATBIN_LZ4;
	e->payload_size = exact;
	e->raw_size = raw;
	return exact > 0 && exact <= padded && raw > 0 && raw <= GSB_FATBIN_MAX_RAW_BYTES;
}

int gsb_fatbin_next(const void *bytes, size_t size, uint64_t *at, struct gsb_fatbin_entry *out)
{
	const uint8_t *p = bytes;
	struct gsb_fatbin_entry e;
	uint64_t end, header, padded;

	if (!container_end(p, size, &end))
		return -EBADMSG;
	if (*at == 0)
		*at = gsb_le16(p + 6);
	if (*at == end)
		return 0;
	if (!gsb_range_ok(*at, ENTRY_HEADER_BYTES, end))
		return -EBADMSG;
	header = gsb_le32(p + *at + 4);
	padded = gsb_le64(p + *at + 8);
	if (header < ENTRY_HEADER_BYTES || !gsb_range_ok(*at, header, end) ||
	    !gsb_range_ok(*at + header, padded, end) || !fill_entry(p + *at, header, padded, &e))
		return -EBADMSG;
	*at += header + padded;
	*out = e;
	return 1;
}

/* Exactly the declared size, neither less nor more: anything else is damage. */
static bool unpack(const struct gsb_fatbin_entry *e, char *out)
{
	size_t n;
	int got;

	if (e->packing == GSB_FATBIN_ZSTD) {
		n = ZSTD_decompress(out, e->raw_size, e->payload, e->payload_size);
		return !ZSTD_isError(n) && n == e->raw_size;
	}
	got = LZ4_decompress_safe((const char *)e->payload, out, (int)e->payload_size,
				  (int)e->raw_size);
	return got >= 0 && (uint64_t)got == e->raw_size;
}

int gsb_fatbin_unpack(const struct gsb_fatbin_entry *e, struct gsb_arena *arena, const void **out,
		      size_t *size)
{
	char *raw;

	if (e->packing == GSB_FATBIN_PLAIN) {
		*out = e->payload;
		*size = e->payload_size;
		return 0;
	}
	if (e->packing == GSB_FATBIN_LZ4 && e->payload_size > LZ4_MAX_INPUT_SIZE)
		return -EBADMSG;
	raw = gsb_arena_alloc(arena, e->raw_size + 1);
	if (!raw)
		return -ENOMEM;
	if (!unpack(e, raw))
		return -EBADMSG;
	*out = raw;
	*size = e->raw_size;
	return 0;
}

struct wanted {
	uint16_t kind;
	uint32_t cc;
	bool stand_in; /* PTX of a newer GPU will do beside machine code for this one */
};

/* PTX runs on anything newer; a cubin on its own major version from its minor up. */
static bool fits(const struct gsb_fatbin_entry *e, const struct wanted *w)
{
	bool same_major = e->sm / 10 == w->cc / 10;

	if (e->kind != w->kind || e->sm > w->cc)
		return false;
	if (e->arch_specific)
		return e->sm == w->cc;
	if (e->family_specific)
		return same_major;
	return w->kind == GSB_FATBIN_PTX || same_major;
}

/* What choose() has seen so far. */
struct choice {
	struct gsb_fatbin_entry best, newer; /* .sm is 0: none */
	bool machine_code;		     /* there is some that the GPU would execute */
};

static void see_entry(struct choice *c, const struct gsb_fatbin_entry *e, const struct wanted *w)
{
	const struct wanted native = {.kind = GSB_FATBIN_ELF, .cc = w->cc};

	if (fits(e, w) && e->sm > c->best.sm)
		c->best = *e;
	if (fits(e, &native))
		c->machine_code = true;
	if (e->kind == w->kind && e->sm > w->cc && !e->arch_specific && !e->family_specific &&
	    (!c->newer.sm || e->sm < c->newer.sm))
		c->newer = *e;
}

/* NULL: none. The oldest of the newer ones, which lacks least of what the GPU's own would be. */
static const struct gsb_fatbin_entry *chosen(const struct choice *c, const struct wanted *w)
{
	if (c->best.sm)
		return &c->best;
	return w->stand_in && c->machine_code && c->newer.sm ? &c->newer : NULL;
}

/* Adds "sm_75 PTX, " to what is there, for the message. */
static void add_name(char *list, size_t size, const struct gsb_fatbin_entry *e)
{
	size_t n = strlen(list);
	const char *kind = e->kind == GSB_FATBIN_PTX   ? "PTX"
			   : e->kind == GSB_FATBIN_ELF ? "cubin"
						       : "other";

	snprintf(list + n, size - n, "%ssm_%u%s %s", n ? ", " : "", e->sm,
		 e->arch_specific ? "a" : "", kind);
}

static int malformed(char *err, size_t err_size, const char *what)
{
	snprintf(err, err_size, "malformed %s: compile the program again", what);
	return -EBADMSG;
}

/* The newest entry that fits, or what stands in for it, in *best; names all for the message that there is none. */
static int choose(const void *bytes, size_t size, const struct wanted *w,
		  struct gsb_fatbin_entry *best, char *err, size_t err_size)
{
	char names[GSB_FATBIN_ERROR_BYTES / 2] = "";
	const struct gsb_fatbin_entry *found;
	struct gsb_fatbin_entry e;
	struct choice c = {0};
	uint64_t at = 0;
	int more;

	while ((more = gsb_fatbin_next(bytes, size, &at, &e)) > 0) {
		add_name(names, sizeof(names), &e);
		see_entry(&c, &e, w);
	}
	if (more < 0)
		return malformed(err, err_size, "fatbin");
	found = chosen(&c, w);
	if (found) {
		*best = *found;
		return 0;
	}
	snprintf(err, err_size, "the fatbin has no %s for compute capability %u.%u (it has %s): %s",
		 w->kind == GSB_FATBIN_PTX ? "PTX" : "cubin", w->cc / 10, w->cc % 10,
		 *names ? names : "nothing",
		 "compile with -gencode arch=compute_75,code=compute_75");
	return -ENOEXEC;
}

static int find_in_fatbin(const void *bytes, size_t size, const struct wanted *w,
			  struct gsb_arena *arena, const void **out, size_t *len, char *err,
			  size_t err_size)
{
	struct gsb_fatbin_entry e = {0};
	int ret = choose(bytes, size, w, &e, err, err_size);

	if (ret)
		return ret;
	ret = gsb_fatbin_unpack(&e, arena, out, len);
	if (ret == -EBADMSG)
		return malformed(err, err_size, "compressed entry of a fatbin");
	if (ret)
		snprintf(err, err_size, "out of memory: the entry of the fatbin takes %llu bytes",
			 (unsigned long long)e.raw_size);
	return ret;
}

/* ---- the PTX of linked programs ---- */

struct parts {
	const uint8_t *at, *end;
	const struct wanted *wanted;
	bool lacks; /* one of them has nothing that is wanted */
};

/* The next part that has what is wanted, in *e. 1, 0 (no more), -EBADMSG. */
static int next_part(struct parts *p, struct gsb_fatbin_entry *e)
{
	char ignored[GSB_FATBIN_ERROR_BYTES];
	uint64_t size;

	while (p->end - p->at >= 4 && gsb_le32(p->at) == GSB_IMAGE_FATBIN_MAGIC) {
		int ret;

		if (!container_end(p->at, (size_t)(p->end - p->at), &size))
			return -EBADMSG;
		ret = choose(p->at, size, p->wanted, e, ignored, sizeof(ignored));
		p->at += size;
		if (ret != -ENOEXEC)
			return ret ? ret : 1;
		p->lacks = true;
	}
	return 0;
}

/*
 * Bytes that all of it takes, each text with an end of its last line. None where a part has nothing and the others only what
 * stands in for theirs: that is NVIDIA's device runtime, linked to a program of machine code alone.
 */
static int measure_parts(struct parts p, uint64_t *bytes)
{
	struct gsb_fatbin_entry e;
	bool own = false;
	int more;

	for (*bytes = 0; (more = next_part(&p, &e)) > 0; own |= e.sm <= p.wanted->cc)
		if (gsb_add_overflows(*bytes, e.raw_size + 1, bytes) ||
		    *bytes > GSB_FATBIN_MAX_RAW_BYTES)
			return -EBADMSG;
	if (p.lacks && !own)
		*bytes = 0;
	return more;
}

/* A plain entry is padded with NULs. */
static void append_text(char *to, size_t *len, const char *text, size_t n)
{
	n = strnlen(text, n);
	memcpy(to + *len, text, n);
	to[*len + n] = '\n';
	*len += n + 1;
}

/* One text behind the other, as cuLink has it. */
static int join_parts(struct parts *p, struct gsb_arena *arena, char *to, size_t *len)
{
	struct gsb_fatbin_entry e;
	const void *text;
	size_t n;
	int ret;

	*len = 0;
	while ((ret = next_part(p, &e)) > 0) {
		ret = gsb_fatbin_unpack(&e, arena, &text, &n);
		if (ret)
			return ret;
		append_text(to, len, text, n);
	}
	return ret;
}

/* What is behind the first container; -ENOEXEC: nothing that has PTX. */
static int find_in_parts(const void *bytes, size_t size, const struct wanted *w,
			 struct gsb_arena *arena, const char **text, size_t *len, char *err,
			 size_t err_size)
{
	struct parts p = {.end = (const uint8_t *)bytes + size, .wanted = w};
	uint64_t linked = 0, total = 0;
	char *joined;
	int ret;

	if (!container_end(bytes, size, &linked))
		return malformed(err, err_size, "fatbin");
	p.at = (const uint8_t *)bytes + linked;
	ret = measure_parts(p, &total);
	if (!ret && !total)
		return -ENOEXEC;
	joined = ret ? NULL : gsb_arena_alloc(arena, total);
	if (!ret)
		ret = joined ? join_parts(&p, arena, joined, len) : -ENOMEM;
	if (ret == -EBADMSG)
		return malformed(err, err_size, "part of a linked program");
	if (ret) {
		snprintf(err, err_size, "out of memory: the linked program takes %llu bytes",
			 (unsigned long long)total);
		return ret;
	}
	*text = joined;
	return 0;
}

static int find_ptx_in_fatbin(const void *bytes, size_t size, const struct wanted *w,
			      struct gsb_arena *arena, const char **text, size_t *len, char *err,
			      size_t err_size)
{
	const void *found;
	int ret = find_in_fatbin(bytes, size, w, arena, &found, len, err, err_size), joined;

	if (!ret) {
		*text = found;
		return 0;
	}
	if (ret != -ENOEXEC)
		return ret;
	joined = find_in_parts(bytes, size, w, arena, text, len, err, err_size);
	return joined == -ENOEXEC ? ret : joined;
}

static int find_ptx(const void *bytes, size_t size, const struct wanted *w, struct gsb_arena *arena,
		    const char **text, size_t *len, char *err, size_t err_size)
{
	switch (gsb_image_kind(bytes, size)) {
	case GSB_IMAGE_PTX:
		*text = bytes;
		*len = size;
		return 0;
	case GSB_IMAGE_FATBIN:
		return find_ptx_in_fatbin(bytes, size, w, arena, text, len, err, err_size);
	case GSB_IMAGE_ELF:
		snprintf(
			err, err_size, "a cubin has no PTX: compile with %s",
			"-gencode arch=compute_75,code=compute_75 (NVRTC: -arch=compute_75; nvcc -cubin: "
			"-ptx in its place)");
		return -ENOEXEC;
	default: return malformed(err, err_size, "image (no PTX, fatbin or cubin)");
	}
}

int gsb_image_find_ptx(const void *bytes, size_t size, uint32_t cc, struct gsb_arena *arena,
		       const char **text, size_t *len, char *err, size_t err_size)
{
	const struct wanted w = {.kind = GSB_FATBIN_PTX, .cc = cc};

	return find_ptx(bytes, size, &w, arena, text, len, err, err_size);
}

int gsb_image_find_executable_ptx(const void *bytes, size_t size, uint32_t cc,
				  struct gsb_arena *arena, const char **text, size_t *len,
				  char *err, size_t err_size)
{
	const struct wanted w = {.kind = GSB_FATBIN_PTX, .cc = cc, .stand_in = true};

	return find_ptx(bytes, size, &w, arena, text, len, err, err_size);
}

int gsb_image_find_elf(const void *bytes, size_t size, uint32_t cc, struct gsb_arena *arena,
		       const void **elf, size_t *len, char *err, size_t err_size)
{
	const struct wanted w = {.kind = GSB_FATBIN_ELF, .cc = cc};

	switch (gsb_image_kind(bytes, size)) {
	case GSB_IMAGE_ELF:
		*elf = bytes;
		*len = size;
		return 0;
	case GSB_IMAGE_FATBIN:
		return find_in_fatbin(bytes, size, &w, arena, elf, len, err, err_size);
	case GSB_IMAGE_PTX: snprintf(err, err_size, "PTX text has no cubin"); return -ENOEXEC;
	default: return malformed(err, err_size, "image (no PTX, fatbin or cubin)");
	}
}

/* ---- machine code that belongs to the PTX of a linked program ---- */

/* Where its parts begin; the image's end where there are none, or the linked fatbin's own PTX is the whole program. */
static int first_part(const void *bytes, size_t size, uint32_t cc, uint64_t *at)
{
	const struct wanted ptx = {.kind = GSB_FATBIN_PTX, .cc = cc};
	char ignored[GSB_FATBIN_ERROR_BYTES];
	struct gsb_fatbin_entry e;
	int ret;

	if (gsb_image_kind(bytes, size) != GSB_IMAGE_FATBIN) {
		*at = size;
		return 0;
	}
	if (!container_end(bytes, size, at))
		return -EBADMSG;
	ret = choose(bytes, *at, &ptx, &e, ignored, sizeof(ignored));
	if (!ret)
		*at = size;
	return ret == -ENOEXEC ? 0 : ret;
}

/* 1: its machine code in *e; 0: it has PTX, or nothing for the GPU. */
static int object_of(const uint8_t *part, uint64_t size, uint32_t cc, struct gsb_fatbin_entry *e)
{
	const struct wanted ptx = {.kind = GSB_FATBIN_PTX, .cc = cc},
			    elf = {.kind = GSB_FATBIN_ELF, .cc = cc};
	char ignored[GSB_FATBIN_ERROR_BYTES];
	int ret = choose(part, size, &ptx, e, ignored, sizeof(ignored));

	if (ret != -ENOEXEC)
		return ret;
	ret = choose(part, size, &elf, e, ignored, sizeof(ignored));
	return ret == -ENOEXEC ? 0 : ret ? ret : 1;
}

int gsb_image_next_object(const void *bytes, size_t size, uint32_t cc, uint64_t *at,
			  struct gsb_arena *arena, const void **elf, size_t *len)
{
	const uint8_t *begin = bytes, *part;
	struct gsb_fatbin_entry e;
	uint64_t part_size;
	int ret = *at ? 0 : first_part(bytes, size, cc, at);

	while (!ret && size - *at >= 4 && gsb_le32(begin + *at) == GSB_IMAGE_FATBIN_MAGIC) {
		part = begin + *at;
		if (!container_end(part, size - *at, &part_size))
			return -EBADMSG;
		*at += part_size;
		ret = object_of(part, part_size, cc, &e);
	}
	if (ret <= 0)
		return ret;
	ret = gsb_fatbin_unpack(&e, arena, elf, len);
	return ret ? ret : 1;
}
