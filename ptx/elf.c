/*
 * elf.c - see elf.h.
 */
#include "ptx/elf.h"

#include <string.h>

#include "base/checked.h"

bool gsb_elf_section(const struct gsb_elf *e, uint32_t i, Elf64_Shdr *sh)
{
	if (i >= e->eh.e_shnum)
		return false;
	memcpy(sh, e->bytes + e->eh.e_shoff + (uint64_t)i * sizeof(*sh), sizeof(*sh));
	return sh->sh_type == SHT_NOBITS || gsb_range_ok(sh->sh_offset, sh->sh_size, e->size);
}

const char *gsb_elf_string(const struct gsb_elf *e, const Elf64_Shdr *table, uint64_t at)
{
	const char *s = (const char *)e->bytes + table->sh_offset + at;

	if (at >= table->sh_size || !memchr(s, '\0', table->sh_size - at))
		return NULL;
	return s;
}

static bool read_header(struct gsb_elf *e)
{
	if (e->size < sizeof(e->eh))
		return false;
	memcpy(&e->eh, e->bytes, sizeof(e->eh));
	return !memcmp(e->eh.e_ident, ELFMAG, SELFMAG) && e->eh.e_ident[EI_CLASS] == ELFCLASS64 &&
	       e->eh.e_ident[EI_DATA] == ELFDATA2LSB && e->eh.e_machine == GSB_ELF_MACHINE_CUDA &&
	       e->eh.e_shentsize == sizeof(Elf64_Shdr) &&
	       gsb_range_ok(e->eh.e_shoff, (uint64_t)e->eh.e_shnum * sizeof(Elf64_Shdr), e->size);
}

/* Of two symbol tables nobody knows which the driver reads. */
static bool find_tables(struct gsb_elf *e)
{
	Elf64_Shdr sh;

	if (!gsb_elf_section(e, e->eh.e_shstrndx, &e->names) || e->names.sh_type != SHT_STRTAB)
		return false;
	for (uint32_t i = 0; i < e->eh.e_shnum; i++) {
		if (!gsb_elf_section(e, i, &sh))
			return false;
		if (sh.sh_type != SHT_SYMTAB)
			continue;
		if (e->symtab.sh_type == SHT_SYMTAB)
			return false;
		e->symtab = sh;
	}
	e->n_symbols = (uint32_t)(e->symtab.sh_size / sizeof(Elf64_Sym));
	return e->symtab.sh_type == SHT_SYMTAB &&
	       gsb_elf_section(e, e->symtab.sh_link, &e->strtab) && e->strtab.sh_type == SHT_STRTAB;
}

bool gsb_elf_open(const void *bytes, size_t size, struct gsb_elf *out)
{
	*out = (struct gsb_elf){.bytes = bytes, .size = size};
	return read_header(out) && find_tables(out);
}

void gsb_elf_symbol(const struct gsb_elf *e, uint32_t i, Elf64_Sym *sym)
{
	memcpy(sym, e->bytes + e->symtab.sh_offset + (uint64_t)i * sizeof(*sym), sizeof(*sym));
}

const char *gsb_elf_name(const struct gsb_elf *e, const Elf64_Sym *sym)
{
	return gsb_elf_string(e, &e->strtab, sym->st_name);
}
