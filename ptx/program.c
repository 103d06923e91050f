/*
 * program.c - see program.h.
 */
#include "ptx/program.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "ptx/bytes.h"

#define EM_CUDA_NUMBER 190
#define FATBINS	       ".nv_fatbin"
#define PARTS	       "__nv_relfatbin"
#define FATBIN_HEAD    16 /* magic, version, size of this head, size of what follows */

struct file {
	const uint8_t *bytes;
	size_t size;
	Elf64_Ehdr head;
};

static bool read_head(struct file *f)
{
	if (f->size < sizeof(f->head))
		return false;
	memcpy(&f->head, f->bytes, sizeof(f->head));
	return !memcmp(f->head.e_ident, ELFMAG, SELFMAG) &&
	       f->head.e_ident[EI_CLASS] == ELFCLASS64 && f->head.e_ident[EI_DATA] == ELFDATA2LSB &&
	       f->head.e_machine != EM_CUDA_NUMBER;
}

bool gsb_program_is(const void *bytes, size_t size)
{
	struct file f = {.bytes = bytes, .size = size};

	return read_head(&f);
}

static bool read_section(const struct file *f, uint32_t i, Elf64_Shdr *out)
{
	uint64_t at;

	if (i >= f->head.e_shnum || f->head.e_shentsize != sizeof(*out) ||
	    gsb_add_overflows(f->head.e_shoff, (uint64_t)i * sizeof(*out), &at) ||
	    !gsb_range_ok(at, sizeof(*out), f->size))
		return false;
	memcpy(out, f->bytes + at, sizeof(*out));
	return out->sh_type == SHT_NOBITS || gsb_range_ok(out->sh_offset, out->sh_size, f->size);
}

static bool is_named(const struct file *f, const Elf64_Shdr *names, const Elf64_Shdr *s,
		     const char *name)
{
	return gsb_range_ok(s->sh_name, strlen(name) + 1, names->sh_size) &&
	       !memcmp(f->bytes + names->sh_offset + s->sh_name, name, strlen(name) + 1);
}

/* 1, 0: the file has none, -EBADMSG. */
static int find_section(const struct file *f, const char *name, Elf64_Shdr *out)
{
	Elf64_Shdr names;

	if (!f->head.e_shnum)
		return 0;
	if (!read_section(f, f->head.e_shstrndx, &names) || names.sh_type != SHT_STRTAB)
		return -EBADMSG;
	for (uint32_t i = 0; i < f->head.e_shnum; i++) {
		if (!read_section(f, i, out))
			return -EBADMSG;
		if (out->sh_type != SHT_NOBITS && is_named(f, &names, out, name))
			return 1;
	}
	return 0;
}

/* Between two there may be zeroes, for the alignment of the second. */
static uint64_t skip_zeroes(const uint8_t *bytes, uint64_t at, uint64_t size)
{
	while (at < size && !bytes[at])
		at++;
	return at;
}

/* The next fatbin of a section, as gsb_program_next() gives it. */
static int next_in(const char *name, const void *bytes, size_t size, uint64_t *at,
		   struct gsb_image *out)
{
	struct file f = {.bytes = bytes, .size = size};
	Elf64_Shdr section;
	const uint8_t *p;
	uint64_t len;
	int got;

	if (!read_head(&f))
		return -EBADMSG;
	got = find_section(&f, name, &section);
	if (got <= 0)
		return got;
	*at = skip_zeroes(f.bytes + section.sh_offset, *at, section.sh_size);
	if (*at >= section.sh_size)
		return 0;
	p = f.bytes + section.sh_offset + *at;
	if (!gsb_range_ok(*at, FATBIN_HEAD, section.sh_size) ||
	    gsb_le32(p) != GSB_IMAGE_FATBIN_MAGIC ||
	    gsb_add_overflows(gsb_le16(p + 6), gsb_le64(p + 8), &len) || len < FATBIN_HEAD ||
	    !gsb_range_ok(*at, len, section.sh_size))
		return -EBADMSG;
	*out = (struct gsb_image){GSB_IMAGE_FATBIN, p, len};
	*at += len;
	return 1;
}

int gsb_program_next(const void *bytes, size_t size, uint64_t *at, struct gsb_image *out)
{
	return next_in(FATBINS, bytes, size, at, out);
}

/* In place of the linked fatbin stands one with nothing in it, so that what is looked for is found in the parts. */
static uint8_t *put_empty_fatbin(uint8_t *to)
{
	static const uint8_t empty[FATBIN_HEAD] = {0x50, 0xed, 0x55, 0xba, 1, 0, FATBIN_HEAD};

	return mempcpy(to, empty, sizeof(empty));
}

int gsb_program_parts(const void *bytes, size_t size, struct gsb_image *out, void **made)
{
	struct gsb_image part;
	uint64_t at = 0, total = FATBIN_HEAD;
	uint8_t *end;
	int got;

	*made = NULL;
	while ((got = next_in(PARTS, bytes, size, &at, &part)) > 0)
		total += part.size; /* they lie in the file, each in a place of its own */
	if (got < 0 || total == FATBIN_HEAD)
		return got;
	*made = malloc(total);
	if (!*made)
		return -ENOMEM;
	end = put_empty_fatbin(*made);
	for (at = 0; next_in(PARTS, bytes, size, &at, &part) > 0;)
		end = mempcpy(end, part.bytes, part.size);
	*out = (struct gsb_image){GSB_IMAGE_FATBIN, *made, total};
	return 1;
}
