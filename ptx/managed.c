/*
 * managed.c - see managed.h. PTX is read by words alone: text that our parser does not take is the driver's all the same.
 */
#include "ptx/managed.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "ptx/bytes.h"
#include "ptx/elf.h"
#include "ptx/lex.h"

#define NAME_MAX_BYTES 16384 /* no tenant can ask for a longer one (GSB_NAME_MAX) */
#define POINTER_BYTES  8
#define PLACES	       ".nv.global" /* and .nv.global.init */

/* Relocations of a whole address, of whatever space and of the generic one: the same for a variable. */
#define R_CUDA_64  2
#define R_CUDA_G64 4

static const char word[] = ".managed";

bool gsb_ptx_has_managed(const char *text, size_t len)
{
	struct gsb_ptx_lexer lx;
	struct gsb_ptx_token t;

	if (!memmem(text, len, word, strlen(word)))
		return false;
	gsb_ptx_lex_init(&lx, text, len);
	do {
		gsb_ptx_lex_next(&lx, &t);
		if (t.kind == GSB_PTX_TOKEN_DOT && t.len == strlen(word) &&
		    !memcmp(t.at, word, t.len))
			return true;
	} while (t.kind != GSB_PTX_TOKEN_END && t.kind != GSB_PTX_TOKEN_BAD);
	return t.kind == GSB_PTX_TOKEN_BAD;
}

/* ---- variables of a cubin ---- */

struct reader {
	struct gsb_elf elf;
	struct gsb_arena *arena;
	char *log;
	size_t log_size;
	struct gsb_managed_var *vars, **by_place;
	uint32_t n_vars;
	struct gsb_managed_pointer *pointers;
	uint32_t n_pointers;
};

static int damaged(const struct reader *r, const char *name, const char *why)
{
	snprintf(r->log, r->log_size, "the cubin is damaged: managed variable %.256s %s", name,
		 why);
	return -EBADMSG;
}

static uint32_t count_vars(const struct gsb_elf *e)
{
	uint32_t n = 0;
	Elf64_Sym sym;

	for (uint32_t i = 0; i < e->n_symbols; i++) {
		gsb_elf_symbol(e, i, &sym);
		n += gsb_elf_is_managed(&sym);
	}
	return n;
}

/* A symbol has no alignment: what its section has, as far as its place in it keeps that. */
static uint64_t align_of(const Elf64_Shdr *sh, uint64_t at)
{
	uint64_t bits = at | (sh->sh_addralign ? sh->sh_addralign : 1);

	return bits & -bits;
}

static bool is_place(const struct reader *r, const Elf64_Shdr *sh)
{
	const char *name = gsb_elf_string(&r->elf, &r->elf.names, sh->sh_name);

	return name && !strncmp(name, PLACES, strlen(PLACES)) &&
	       (sh->sh_type == SHT_PROGBITS || sh->sh_type == SHT_NOBITS);
}

static int read_name(const struct reader *r, const Elf64_Sym *sym, const char **out)
{
	const char *name = gsb_elf_name(&r->elf, sym);

	if (!name || !*name || strlen(name) > NAME_MAX_BYTES)
		return damaged(r, "", "has no name, or one without an end");
	*out = gsb_arena_strndup(r->arena, name, strlen(name));
	return *out ? 0 : -ENOMEM;
}

static int read_var(const struct reader *r, const Elf64_Sym *sym, struct gsb_managed_var *v)
{
	Elf64_Shdr sh;
	int err = read_name(r, sym, &v->name);

	if (err)
		return err;
	if (sym->st_shndx == SHN_UNDEF) {
		snprintf(r->log, r->log_size,
			 "managed variable %.256s is declared and nowhere defined", v->name);
		return -EILSEQ;
	}
	if (!gsb_elf_section(&r->elf, sym->st_shndx, &sh) || !is_place(r, &sh))
		return damaged(r, v->name, "lies in no section of variables");
	if (!sym->st_size || !gsb_range_ok(sym->st_value, sym->st_size, sh.sh_size))
		return damaged(r, v->name, "lies outside its section");
	v->size = sym->st_size;
	v->section = sym->st_shndx;
	v->at = sym->st_value;
	v->align = align_of(&sh, v->at);
	if (sh.sh_type == SHT_PROGBITS)
		v->first = r->elf.bytes + sh.sh_offset + v->at;
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(((const struct gsb_managed_var *)a)->name,
		      ((const struct gsb_managed_var *)b)->name);
}

static int compare_places(const void *a, const void *b)
{
	const struct gsb_managed_var *x = *(struct gsb_managed_var *const *)a,
				     *y = *(struct gsb_managed_var *const *)b;

	if (x->section != y->section)
		return x->section < y->section ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Two of one name the driver could not tell from each other, and of two in one place each would get its own. */
static int check_apart(const struct reader *r)
{
	for (uint32_t i = 1; i < r->n_vars; i++) {
		const struct gsb_managed_var *a = r->by_place[i - 1], *b = r->by_place[i];

		if (!strcmp(r->vars[i - 1].name, r->vars[i].name))
			return damaged(r, r->vars[i].name, "is there twice");
		if (a->section == b->section && b->at - a->at < a->size)
			return damaged(r, b->name, "lies in another");
	}
	return 0;
}

static int list_vars(struct reader *r)
{
	uint32_t n = count_vars(&r->elf);
	Elf64_Sym sym;
	int err = 0;

	r->vars = gsb_arena_alloc_array(r->arena, n, sizeof(*r->vars));
	r->by_place = gsb_arena_alloc_array(r->arena, n, sizeof(r->by_place[0]));
	if (!r->vars || !r->by_place)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < r->elf.n_symbols; i++) {
		gsb_elf_symbol(&r->elf, i, &sym);
		if (gsb_elf_is_managed(&sym))
			err = read_var(r, &sym, &r->vars[r->n_vars++]);
	}
	if (err)
		return err;
	qsort(r->vars, n, sizeof(*r->vars), compare_names);
	for (uint32_t i = 0; i < n; i++)
		r->by_place[i] = &r->vars[i];
	qsort(r->by_place, n, sizeof(r->by_place[0]), compare_places);
	return check_apart(r);
}

static const struct gsb_managed_var *find_var(const struct reader *r, const char *name)
{
	const struct gsb_managed_var key = {.name = name};

	return bsearch(&key, r->vars, r->n_vars, sizeof(*r->vars), compare_names);
}

/* The driver would take a symbol of the same name for the variable. A name that is too long is none of them. */
static int check_others(const struct reader *r)
{
	const Elf64_Shdr *names = &r->elf.strtab;
	const char *all = (const char *)r->elf.bytes + names->sh_offset;
	Elf64_Sym sym;

	for (uint32_t i = 0; i < r->elf.n_symbols; i++) {
		uint64_t room;

		gsb_elf_symbol(&r->elf, i, &sym);
		if (gsb_elf_is_managed(&sym) || sym.st_name >= names->sh_size)
			continue;
		room = names->sh_size - sym.st_name;
		if (room > NAME_MAX_BYTES + 1)
			room = NAME_MAX_BYTES + 1;
		if (memchr(all + sym.st_name, '\0', room) && find_var(r, all + sym.st_name))
			return damaged(r, all + sym.st_name, "has another's name");
	}
	return 0;
}

/* ---- addresses among what they begin with ---- */

/* The one that has that byte of a section, or NULL. */
static const struct gsb_managed_var *var_at(const struct reader *r, uint32_t section, uint64_t at)
{
	uint32_t low = 0, high = r->n_vars;

	while (low < high) {
		uint32_t mid = low + (high - low) / 2;
		const struct gsb_managed_var *v = r->by_place[mid];

		if (v->section < section || (v->section == section && v->at + v->size <= at))
			low = mid + 1;
		else
			high = mid;
	}
	if (low == r->n_vars || r->by_place[low]->section != section || at < r->by_place[low]->at)
		return NULL;
	return r->by_place[low];
}

static int refuse_pointer(const struct reader *r, const struct gsb_managed_var *v, const char *what)
{
	snprintf(
		r->log, r->log_size,
		"managed variable %.256s begins with %.256s, which a real GPU does not carry here: "
		"write it before the first launch",
		v->name, what);
	return -ENOTSUP;
}

/* The name of the variable whose address it is. */
static int read_target(const struct reader *r, const struct gsb_managed_var *v, uint64_t symbol,
		       const char **out)
{
	const char *name;
	Elf64_Sym sym;

	if (symbol >= r->elf.n_symbols)
		return damaged(r, v->name, "begins with the address of a symbol that is not there");
	gsb_elf_symbol(&r->elf, (uint32_t)symbol, &sym);
	name = gsb_elf_name(&r->elf, &sym);
	if (!name || strlen(name) > NAME_MAX_BYTES)
		return damaged(r, v->name, "begins with the address of a symbol without a name");
	if (ELF64_ST_TYPE(sym.st_info) != STT_OBJECT || !*name)
		return refuse_pointer(r, v, "the address of what is no variable");
	*out = gsb_arena_strndup(r->arena, name, strlen(name));
	return *out ? 0 : -ENOMEM;
}

static int read_pointer(struct reader *r, const Elf64_Rela *rela, bool has_addend,
			const struct gsb_managed_var *v)
{
	struct gsb_managed_pointer *p = &r->pointers[r->n_pointers];
	uint64_t offset = rela->r_offset - v->at, type = ELF64_R_TYPE(rela->r_info);

	if (type != R_CUDA_64 && type != R_CUDA_G64)
		return refuse_pointer(r, v, "a part of an address");
	if (!gsb_range_ok(offset, POINTER_BYTES, v->size))
		return damaged(r, v->name, "begins with an address that is longer than it is");
	p->var = (uint32_t)(v - r->vars);
	p->offset = offset;
	p->addend = rela->r_addend;
	if (!has_addend && v->first)
		p->addend = (int64_t)gsb_le64((const uint8_t *)v->first + offset);
	r->n_pointers++;
	return read_target(r, v, ELF64_R_SYM(rela->r_info), &p->target);
}

/* What a table of relocations does to variables; without pointers, only how often. */
static int read_table(struct reader *r, const Elf64_Shdr *sh, uint32_t *n)
{
	const bool has_addend = sh->sh_type == SHT_RELA;
	const uint64_t each = has_addend ? sizeof(Elf64_Rela) : sizeof(Elf64_Rel);
	Elf64_Rela rela = {0};
	int err = 0;

	for (uint64_t at = 0; !err && each <= sh->sh_size - at; at += each) {
		const struct gsb_managed_var *v;

		memcpy(&rela, r->elf.bytes + sh->sh_offset + at, each);
		v = var_at(r, sh->sh_info, rela.r_offset);
		*n += v != NULL;
		if (v && r->pointers)
			err = read_pointer(r, &rela, has_addend, v);
	}
	return err;
}

static int read_tables(struct reader *r, uint32_t *n)
{
	Elf64_Shdr sh;
	int err = 0;

	*n = 0;
	for (uint32_t i = 0; !err && i < r->elf.eh.e_shnum; i++)
		if (gsb_elf_section(&r->elf, i, &sh) &&
		    (sh.sh_type == SHT_RELA || sh.sh_type == SHT_REL))
			err = read_table(r, &sh, n);
	return err;
}

static int list_pointers(struct reader *r)
{
	uint32_t n;
	int err = read_tables(r, &n);

	if (err || !n)
		return err;
	r->pointers = gsb_arena_alloc_array(r->arena, n, sizeof(*r->pointers));
	return r->pointers ? read_tables(r, &n) : -ENOMEM;
}

int gsb_managed_read(const void *cubin, size_t size, struct gsb_arena *arena,
		     struct gsb_managed *out, char *log, size_t log_size)
{
	struct reader r = {.arena = arena, .log = log, .log_size = log_size};
	int err;

	if (!gsb_elf_open(cubin, size, &r.elf)) {
		snprintf(log, log_size, "the cubin is cut off or damaged");
		return -EBADMSG;
	}
	err = list_vars(&r);
	if (!err)
		err = check_others(&r);
	if (!err)
		err = list_pointers(&r);
	if (!err)
		*out = (struct gsb_managed){.vars = r.vars,
					    .n_vars = r.n_vars,
					    .pointers = r.pointers,
					    .n_pointers = r.n_pointers};
	return err;
}

/* Relocations of what they begin with stay: the driver writes bytes that nobody reads. */
void gsb_managed_undefine(void *cubin, size_t size)
{
	struct gsb_elf e;
	Elf64_Sym sym;

	if (!gsb_elf_open(cubin, size, &e))
		return;
	for (uint32_t i = 0; i < e.n_symbols; i++) {
		gsb_elf_symbol(&e, i, &sym);
		if (!gsb_elf_is_managed(&sym))
			continue;
		sym.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
		sym.st_other = 0;
		sym.st_shndx = SHN_UNDEF;
		sym.st_value = 0;
		memcpy((uint8_t *)cubin + e.symtab.sh_offset + (uint64_t)i * sizeof(sym), &sym,
		       sizeof(sym));
	}
}

const struct gsb_managed_var *gsb_managed_find(const struct gsb_managed *m, const char *name)
{
	const struct gsb_managed_var key = {.name = name};

	return m->n_vars ? bsearch(&key, m->vars, m->n_vars, sizeof(key), compare_names) : NULL;
}
