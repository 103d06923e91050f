/*
 * cubin.h - cubins by hand, for tests: sections one after the other, as the linker of NVIDIA's driver writes those that hold variables.
 */
#ifndef GSB_TESTS_UNIT_CUBIN_H
#define GSB_TESTS_UNIT_CUBIN_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/elf.h"

#define CUBIN_N_SECTIONS 8

enum cubin_section {
	CUBIN_NONE,
	CUBIN_NAMES,
	CUBIN_STRINGS,
	CUBIN_SYMBOLS,
	CUBIN_INIT,
	CUBIN_GLOBAL,
	CUBIN_RELA,
	CUBIN_TEXT
};

static const char cubin_names[] = "\0.shstrtab\0.strtab\0.symtab\0.nv.global.init\0.nv.global\0"
				  ".rela.nv.global.init\0.test.ptx";

/* Zeroed: empty. */
struct cubin_writer {
	char *strings;
	size_t n_string_bytes;
	Elf64_Sym *symbols;
	uint32_t n_symbols;
	uint8_t *init;
	uint64_t init_bytes, init_align, zero_bytes, zero_align;
	Elf64_Rela *relas;
	uint32_t n_relas;
	const char *text;
	size_t text_bytes;
};

/* A symbol; @first: what it begins with, NULL: zeros. Returns its number. */
static inline uint32_t cubin_add(struct cubin_writer *w, const char *name, uint8_t type,
				 uint8_t other, uint64_t size, uint64_t align, const void *first)
{
	uint64_t *end = first ? &w->init_bytes : &w->zero_bytes;
	uint64_t *most = first ? &w->init_align : &w->zero_align;
	uint64_t at = (*end + align - 1) / align * align;
	size_t bytes = strlen(name) + 1;
	Elf64_Sym *sym;

	if (!w->n_symbols) {
		w->symbols = calloc(1, sizeof(*w->symbols));
		w->strings = calloc(1, 1);
		w->n_symbols = 1;
		w->n_string_bytes = 1;
	}
	w->symbols = realloc(w->symbols, (w->n_symbols + 1) * sizeof(*w->symbols));
	w->strings = realloc(w->strings, w->n_string_bytes + bytes);
	sym = &w->symbols[w->n_symbols];
	*sym = (Elf64_Sym){.st_name = (uint32_t)w->n_string_bytes,
			   .st_info = ELF64_ST_INFO(STB_LOCAL, type),
			   .st_other = other,
			   .st_shndx = first ? CUBIN_INIT : CUBIN_GLOBAL,
			   .st_value = at,
			   .st_size = size};
	memcpy(w->strings + w->n_string_bytes, name, bytes);
	w->n_string_bytes += bytes;
	if (first) {
		w->init = realloc(w->init, at + size);
		memset(w->init + *end, 0, at - *end);
		memcpy(w->init + at, first, size);
	}
	*end = at + size;
	*most = align > *most ? align : *most;
	return w->n_symbols++;
}

/* Eight bytes of the initialised ones. */
static inline void cubin_point(struct cubin_writer *w, uint64_t at, uint32_t type, uint32_t symbol,
			       int64_t addend)
{
	w->relas = realloc(w->relas, (w->n_relas + 1) * sizeof(*w->relas));
	w->relas[w->n_relas++] = (Elf64_Rela){
		.r_offset = at, .r_info = ELF64_R_INFO((uint64_t)symbol, type), .r_addend = addend};
}

static inline uint32_t cubin_name_at(unsigned section)
{
	const char *s = cubin_names;

	while (section--)
		s += strlen(s) + 1;
	return (uint32_t)(s - cubin_names);
}

static inline Elf64_Shdr *cubin_headers(void *cubin)
{
	return (Elf64_Shdr *)((uint8_t *)cubin + sizeof(Elf64_Ehdr));
}

static inline size_t cubin_put(uint8_t *cubin, size_t at, unsigned section, uint32_t type,
			       const void *bytes, size_t size)
{
	Elf64_Shdr *sh = cubin_headers(cubin) + section;

	*sh = (Elf64_Shdr){.sh_name = cubin_name_at(section),
			   .sh_type = type,
			   .sh_offset = at,
			   .sh_size = size};
	if (type != SHT_NOBITS && size)
		memcpy(cubin + at, bytes, size);
	return type == SHT_NOBITS ? at : (at + size + 7) / 8 * 8;
}

/* The cubin, for free(); the writer is empty then. */
static inline void *cubin_finish(struct cubin_writer *w, size_t *size)
{
	size_t at = sizeof(Elf64_Ehdr) + CUBIN_N_SECTIONS * sizeof(Elf64_Shdr);
	size_t room = at + sizeof(cubin_names) + w->n_string_bytes +
		      w->n_symbols * sizeof(*w->symbols) + w->init_bytes +
		      w->n_relas * sizeof(*w->relas) + w->text_bytes + 64;
	uint8_t *cubin = calloc(1, room);
	Elf64_Shdr *sh = cubin_headers(cubin);
	Elf64_Ehdr *eh = (Elf64_Ehdr *)cubin;

	*eh = (Elf64_Ehdr){.e_type = ET_EXEC,
			   .e_machine = GSB_ELF_MACHINE_CUDA,
			   .e_version = 1,
			   .e_flags = 0x6005a04,
			   .e_shoff = sizeof(*eh),
			   .e_shentsize = sizeof(*sh),
			   .e_shnum = CUBIN_N_SECTIONS,
			   .e_shstrndx = CUBIN_NAMES};
	memcpy(eh->e_ident, ELFMAG "\2\1\1\x41\x08", 9);
	at = cubin_put(cubin, at, CUBIN_NAMES, SHT_STRTAB, cubin_names, sizeof(cubin_names));
	at = cubin_put(cubin, at, CUBIN_STRINGS, SHT_STRTAB, w->strings, w->n_string_bytes);
	at = cubin_put(cubin, at, CUBIN_SYMBOLS, SHT_SYMTAB, w->symbols,
		       w->n_symbols * sizeof(*w->symbols));
	sh[CUBIN_SYMBOLS].sh_link = CUBIN_STRINGS;
	at = cubin_put(cubin, at, CUBIN_INIT, SHT_PROGBITS, w->init, w->init_bytes);
	sh[CUBIN_INIT].sh_addralign = w->init_align;
	at = cubin_put(cubin, at, CUBIN_GLOBAL, SHT_NOBITS, NULL, w->zero_bytes);
	sh[CUBIN_GLOBAL].sh_addralign = w->zero_align;
	at = cubin_put(cubin, at, CUBIN_RELA, SHT_RELA, w->relas, w->n_relas * sizeof(*w->relas));
	sh[CUBIN_RELA].sh_link = CUBIN_SYMBOLS;
	sh[CUBIN_RELA].sh_info = CUBIN_INIT;
	*size = cubin_put(cubin, at, CUBIN_TEXT, SHT_PROGBITS, w->text, w->text_bytes);
	free(w->strings);
	free(w->symbols);
	free(w->init);
	free(w->relas);
	*w = (struct cubin_writer){0};
	return cubin;
}

#endif
