/*
 * cubin.c - see cubin.h.
 */
#include "tests/fake/cubin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ptx/image.h"
#include "ptx/ptx.h"
#include "tests/unit/cubin.h"

#define R_PART 1 /* of an address: less than all of it */
#define R_ALL  4 /* of a generic one */

static uint32_t add_var(struct cubin_writer *w, const struct gsb_ptx_var *v)
{
	uint8_t *zeros = v->n_relocs ? calloc(1, v->size_bytes) : NULL;
	uint32_t symbol = cubin_add(w, v->name, STT_OBJECT, v->managed ? GSB_ELF_STO_MANAGED : 0,
				    v->size_bytes, v->align, v->init ? v->init : zeros);

	if (v->linkage == GSB_PTX_LINK_EXTERN)
		w->symbols[symbol].st_shndx = SHN_UNDEF;
	free(zeros);
	return symbol;
}

/* 0: it has no memory of the module's. */
static void add_vars(struct cubin_writer *w, const struct gsb_ptx_module *m, uint32_t *symbol)
{
	for (uint32_t i = 0; i < m->n_vars; i++)
		if (m->vars[i]->space == GSB_PTX_SPACE_GLOBAL ||
		    m->vars[i]->space == GSB_PTX_SPACE_CONST)
			symbol[i] = add_var(w, m->vars[i]);
}

static void add_relocs(struct cubin_writer *w, const struct gsb_ptx_var *v, uint32_t symbol,
		       const uint32_t *symbols)
{
	for (uint32_t i = 0; i < v->n_relocs; i++) {
		const struct gsb_ptx_reloc *r = &v->relocs[i];
		uint32_t target = r->func ? cubin_add(w, r->func->name, STT_FUNC, 0, 1, 1, "")
					  : symbols[r->var->index];

		cubin_point(w, w->symbols[symbol].st_value + r->offset,
			    r->size == sizeof(uint64_t) && !r->mask ? R_ALL : R_PART, target,
			    r->addend);
	}
}

/* Functions that are elsewhere: the driver's own. */
static void add_externs(struct cubin_writer *w, const struct gsb_ptx_module *m)
{
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		uint32_t symbol;

		if (m->funcs[i]->has_body)
			continue;
		symbol = cubin_add(w, m->funcs[i]->name, STT_FUNC, 0, 0, 1, NULL);
		w->symbols[symbol].st_shndx = SHN_UNDEF;
	}
}

void *fake_cubin_make(const char *text, size_t len, size_t *size, char *log, size_t log_size)
{
	struct cubin_writer w = {.text = text, .text_bytes = len + 1};
	struct gsb_ptx_module *m;
	struct gsb_ptx_error err;
	uint32_t *symbols;

	if (gsb_ptx_parse(text, len, &m, &err)) {
		snprintf(log, log_size, "%s", err.text);
		return NULL;
	}
	symbols = calloc(m->n_vars + 1, sizeof(*symbols));
	cubin_add(&w, "", STT_NOTYPE, 0, 0, 1, NULL); /* as of a section: there is always a table */
	add_vars(&w, m, symbols);
	add_externs(&w, m);
	for (uint32_t i = 0; i < m->n_vars; i++)
		if (symbols[i])
			add_relocs(&w, m->vars[i], symbols[i], symbols);
	free(symbols);
	gsb_ptx_module_destroy(m);
	return cubin_finish(&w, size);
}

const char *fake_cubin_text(const void *cubin)
{
	const uint8_t *bytes = cubin;
	const Elf64_Ehdr *eh = cubin;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(bytes + sizeof(*eh));

	if (eh->e_shoff != sizeof(*eh) || eh->e_shnum != CUBIN_N_SECTIONS ||
	    sh[CUBIN_TEXT].sh_name != cubin_name_at(CUBIN_TEXT))
		return NULL;
	return (const char *)bytes + sh[CUBIN_TEXT].sh_offset;
}

bool fake_cubin_has(const void *cubin, const char *name, bool defined)
{
	const uint8_t *bytes = cubin;
	const Elf64_Shdr *sh = (const Elf64_Shdr *)(bytes + sizeof(Elf64_Ehdr));
	const Elf64_Sym *sym = (const Elf64_Sym *)(bytes + sh[CUBIN_SYMBOLS].sh_offset);
	const char *strings = (const char *)bytes + sh[CUBIN_STRINGS].sh_offset;

	for (size_t i = 1; i < sh[CUBIN_SYMBOLS].sh_size / sizeof(*sym); i++)
		if (!strcmp(strings + sym[i].st_name, name) &&
		    (sym[i].st_shndx != SHN_UNDEF) == defined)
			return true;
	return false;
}
