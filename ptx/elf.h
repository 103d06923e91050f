/*
 * elf.h - the tables of a cubin, which is an ELF file with machine 190. Nothing in it is trusted: what is handed out lies inside.
 */
#ifndef GSB_PTX_ELF_H
#define GSB_PTX_ELF_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define GSB_ELF_MACHINE_CUDA 190
#define GSB_ELF_STO_MANAGED  0x04 /* in st_other of a variable */

struct gsb_elf {
	const uint8_t *bytes;
	size_t size;
	Elf64_Ehdr eh;
	Elf64_Shdr symtab, strtab, names;
	uint32_t n_symbols;
};

/* False: it is no cubin, or one whose tables lie outside. Context of all of them: pure. */
bool gsb_elf_open(const void *bytes, size_t size, struct gsb_elf *out);
/* A section's header; its bytes are there, if it has some. False: there is no such section, or it lies outside. */
bool gsb_elf_section(const struct gsb_elf *e, uint32_t i, Elf64_Shdr *sh);
/* A string of a table; NULL when it does not end inside it. */
const char *gsb_elf_string(const struct gsb_elf *e, const Elf64_Shdr *table, uint64_t at);
/* The i-th of e->n_symbols. */
void gsb_elf_symbol(const struct gsb_elf *e, uint32_t i, Elf64_Sym *sym);
/* Its name, as gsb_elf_string(). */
const char *gsb_elf_name(const struct gsb_elf *e, const Elf64_Sym *sym);

static inline bool gsb_elf_is_managed(const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_OBJECT && sym->st_other & GSB_ELF_STO_MANAGED;
}

#endif
