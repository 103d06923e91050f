/*
 * image.c - see image.h. Lengths come from headers: a fatbin says its own, an ELF file ends where the
 * last of its tables and sections does (nvcc writes the program headers last).
 */
#include "ptx/image.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "ptx/bytes.h"
#include "ptx/ptx.h"

#define FATBIN_HEADER_BYTES 16
#define FATBIN_SIZE_AT	    8
#define WRAPPER_VERSION_AT  4
#define WRAPPER_DATA_AT	    8
#define WRAPPER_PARTS_AT    16
#define WRAPPER_LINKED	    2	 /* the version of a wrapper that names parts */
#define MAX_BLANKS	    4096 /* of text, comments apart, before the first directive */

/* Raises *end to off + len; false when that is no size of an image. */
static bool extend(uint64_t *end, uint64_t off, uint64_t len)
{
	uint64_t last;

	if (gsb_add_overflows(off, len, &last) || last > GSB_IMAGE_MAX_BYTES)
		return false;
	if (last > *end)
		*end = last;
	return true;
}

static bool sections_end(const uint8_t *elf, const Elf64_Ehdr *eh, uint64_t *end)
{
	for (uint32_t i = 0; i < eh->e_shnum; i++) {
		Elf64_Shdr sh;

		memcpy(&sh, elf + eh->e_shoff + (uint64_t)i * sizeof(sh), sizeof(sh));
		if (sh.sh_type != SHT_NOBITS && !extend(end, sh.sh_offset, sh.sh_size))
			return false;
	}
	return true;
}

static int locate_elf(const uint8_t *elf, struct gsb_image *out)
{
	uint64_t end = sizeof(Elf64_Ehdr);
	Elf64_Ehdr eh;

	memcpy(&eh, elf, sizeof(eh));
	if (eh.e_ident[EI_CLASS] != ELFCLASS64 || eh.e_ident[EI_DATA] != ELFDATA2LSB ||
	    (eh.e_shnum && eh.e_shentsize != sizeof(Elf64_Shdr)))
		return -EBADMSG;
	if (!extend(&end, eh.e_shoff, (uint64_t)eh.e_shnum * eh.e_shentsize) ||
	    !extend(&end, eh.e_phoff, (uint64_t)eh.e_phnum * eh.e_phentsize) ||
	    !sections_end(elf, &eh, &end))
		return -EBADMSG;
	*out = (struct gsb_image){GSB_IMAGE_ELF, elf, end};
	return 0;
}

static int locate_fatbin(const uint8_t *fatbin, struct gsb_image *out)
{
	uint64_t size = 0;

	if (!extend(&size, FATBIN_HEADER_BYTES, gsb_le64(fatbin + FATBIN_SIZE_AT)))
		return -EBADMSG;
	*out = (struct gsb_image){GSB_IMAGE_FATBIN, fatbin, size};
	return 0;
}

static int locate_text(const char *text, struct gsb_image *out)
{
	size_t len = strnlen(text, GSB_PTX_MAX_TEXT_BYTES + 1);

	if (len > GSB_PTX_MAX_TEXT_BYTES || gsb_image_kind(text, len) != GSB_IMAGE_PTX)
		return -EBADMSG;
	*out = (struct gsb_image){GSB_IMAGE_PTX, text, len};
	return 0;
}

/* Never reads past a byte that may be the end of a short text: compares one at a time. */
static bool begins_with(const uint8_t *p, uint32_t magic)
{
	for (int i = 0; i < 4; i++) {
		if (p[i] != (uint8_t)(magic >> (8 * i)))
			return false;
	}
	return true;
}

static const uint32_t elf_magic = 0x464c457fu; /* 7f 'E' 'L' 'F' */

int gsb_image_locate(const void *code, struct gsb_image *out)
{
	const uint8_t *p = code;
	uintptr_t data;

	if (!p)
		return -EINVAL;
	if (begins_with(p, GSB_IMAGE_WRAPPER_MAGIC)) {
		memcpy(&data, p + WRAPPER_DATA_AT, sizeof(data));
		if (!data)
			return -EBADMSG;
		p = (const uint8_t *)data;
	}
	if (begins_with(p, GSB_IMAGE_FATBIN_MAGIC))
		return locate_fatbin(p, out);
	if (begins_with(p, elf_magic))
		return locate_elf(p, out);
	return locate_text((const char *)p, out);
}

/* ---- linked programs ---- */

/* The fatbins of the parts, as the compiler's code lists them: NULL is the end. NULL: there is no list. */
static const void *const *parts_of(const void *code)
{
	const uint8_t *p = code;
	uintptr_t parts;

	if (!p || !begins_with(p, GSB_IMAGE_WRAPPER_MAGIC) ||
	    gsb_le32(p + WRAPPER_VERSION_AT) != WRAPPER_LINKED)
		return NULL;
	memcpy(&parts, p + WRAPPER_PARTS_AT, sizeof(parts));
	return (const void *const *)parts;
}

/* Of all parts, together with the size of what they were linked to. */
static int size_with_parts(const struct gsb_image *linked, const void *const *parts, uint64_t *size)
{
	struct gsb_image part;

	*size = linked->size;
	for (; *parts; parts++) {
		int err = gsb_image_locate(*parts, &part);

		if (err || part.kind != GSB_IMAGE_FATBIN || !extend(size, *size, part.size))
			return -EBADMSG;
	}
	return 0;
}

static void append(uint8_t **end, const struct gsb_image *image)
{
	memcpy(*end, image->bytes, image->size);
	*end += image->size;
}

int gsb_image_gather(const void *code, struct gsb_image *out, void **made)
{
	const void *const *parts = parts_of(code);
	struct gsb_image linked, part;
	int err = gsb_image_locate(code, &linked);
	uint64_t size;
	uint8_t *end;

	*made = NULL;
	if (!err && parts && linked.kind == GSB_IMAGE_FATBIN)
		err = size_with_parts(&linked, parts, &size);
	else
		parts = NULL;
	if (err)
		return err;
	if (!parts) {
		*out = linked;
		return 0;
	}
	end = *made = malloc(size);
	if (!end)
		return -ENOMEM;
	*out = (struct gsb_image){GSB_IMAGE_FATBIN, end, size};
	for (append(&end, &linked); *parts && !gsb_image_locate(*parts, &part); parts++)
		append(&end, &part);
	return 0;
}

/* ---- kinds ---- */

/* Past blanks and comments; false when there are more than any compiler writes. */
static const uint8_t *skip_blanks(const uint8_t *p, const uint8_t *end)
{
	const uint8_t *limit = (size_t)(end - p) > MAX_BLANKS ? p + MAX_BLANKS : end;

	while (p < limit) {
		if (p[0] == '/' && limit - p > 1 && p[1] == '/') {
			p = memchr(p, '\n', (size_t)(limit - p));
		} else if (p[0] == '/' && limit - p > 1 && p[1] == '*') {
			p = memmem(p + 2, (size_t)(limit - p) - 2, "*/", 2);
			p = p ? p + 1 : p;
		} else if (!memchr(" \t\r\n\f\v", p[0], 6)) {
			return p;
		}
		if (!p)
			return end;
		p++;
	}
	return p;
}

static bool looks_like_ptx(const uint8_t *p, size_t size)
{
	const uint8_t *end = p + size;

	p = skip_blanks(p, end);
	return end - p > 1 && p[0] == '.' && p[1] >= 'a' && p[1] <= 'z';
}

enum gsb_image_kind gsb_image_kind(const void *bytes, size_t size)
{
	const uint8_t *p = bytes;

	if (size >= FATBIN_HEADER_BYTES && begins_with(p, GSB_IMAGE_FATBIN_MAGIC))
		return GSB_IMAGE_FATBIN;
	if (size >= sizeof(Elf64_Ehdr) && begins_with(p, elf_magic))
		return GSB_IMAGE_ELF;
	return looks_like_ptx(p, size) ? GSB_IMAGE_PTX : GSB_IMAGE_NONE;
}
