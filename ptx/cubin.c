/*
 * cubin.c - see cubin.h. A kernel is a function symbol with the entry bit; its facts are in sections
 * whose sh_info names its code section (.nv.info.K, .nv.shared.K), and in .nv.info by symbol number.
 * Layouts were measured on cubins of CUDA 12 and 13.
 */
#include "ptx/cubin.h"

#include <errno.h>
#include <string.h>

#include "base/checked.h"
#include "ptx/bytes.h"
#include "ptx/elf.h"

#define OSABI_CUDA13	 0x41 /* sm in bits 8..15 of e_flags; before that in bits 0..7 */
#define STO_ENTRY	 0x10
#define SECTION_INFO	 0x70000000u
#define RESERVED_SHARED	 1024 /* counted in .nv.shared.K from sm_90 on */
#define RESERVED_FROM_SM 90
#define PARAM_SIZE_SHIFT 18

/* How an attribute of .nv.info carries its value. */
enum info_format { INFO_NONE = 1, INFO_U8 = 2, INFO_U16 = 3, INFO_SIZED = 4 };

enum info_attribute {
	INFO_MAX_THREADS = 0x05,
	INFO_REQNTID = 0x10,
	INFO_FRAME_SIZE = 0x11,
	INFO_KPARAM = 0x17,
	INFO_PARAM_SIZE = 0x19,
	INFO_REGCOUNT = 0x2f,
	INFO_CTA_PER_CLUSTER = 0x3d,
	INFO_KPARAM_V2 = 0x45,
	INFO_NUM_BARRIERS = 0x4c,
};

struct info {
	uint8_t attribute;
	uint16_t value;	     /* U8, U16 */
	const uint8_t *data; /* SIZED */
	uint32_t size;
};

struct reader {
	struct gsb_elf elf;
	struct gsb_arena *arena;
	struct gsb_cubin_kernel *kernels;
	uint32_t *kernel_of; /* by section: 1 + the kernel whose code it is */
	struct gsb_cubin *out;
};

static bool is_kernel(const struct reader *r, const Elf64_Sym *sym)
{
	return ELF64_ST_TYPE(sym->st_info) == STT_FUNC && sym->st_other & STO_ENTRY &&
	       sym->st_shndx < r->elf.eh.e_shnum;
}

/* One kernel for each code section that an entry symbol names first. */
static int list_kernels(struct reader *r)
{
	uint32_t n = 0;
	Elf64_Sym sym;

	r->kernel_of = gsb_arena_alloc_array(r->arena, r->elf.eh.e_shnum, sizeof(*r->kernel_of));
	r->kernels = gsb_arena_alloc_array(r->arena, r->elf.eh.e_shnum, sizeof(*r->kernels));
	if (!r->kernel_of || !r->kernels)
		return -ENOMEM;
	for (uint32_t i = 0; i < r->elf.n_symbols; i++) {
		const char *name;

		gsb_elf_symbol(&r->elf, i, &sym);
		if (!is_kernel(r, &sym) || r->kernel_of[sym.st_shndx])
			continue;
		name = gsb_elf_name(&r->elf, &sym);
		if (!name)
			return -EBADMSG;
		r->kernels[n].name = gsb_arena_strndup(r->arena, name, strlen(name));
		if (!r->kernels[n].name)
			return -ENOMEM;
		r->kernel_of[sym.st_shndx] = ++n;
	}
	r->out->kernels = r->kernels;
	r->out->n_kernels = n;
	return 0;
}

/* A symbol of that name without a section: the driver has it. */
static bool wants(const struct reader *r, const char *name)
{
	for (uint32_t i = 0; i < r->elf.n_symbols; i++) {
		const char *found;
		Elf64_Sym sym;

		gsb_elf_symbol(&r->elf, i, &sym);
		found = sym.st_shndx == SHN_UNDEF ? gsb_elf_name(&r->elf, &sym) : NULL;
		if (found && !strcmp(found, name))
			return true;
	}
	return false;
}

static bool has_managed(const struct reader *r)
{
	Elf64_Sym sym;

	for (uint32_t i = 0; i < r->elf.n_symbols; i++) {
		gsb_elf_symbol(&r->elf, i, &sym);
		if (gsb_elf_is_managed(&sym))
			return true;
	}
	return false;
}

static struct gsb_cubin_kernel *kernel_of_section(const struct reader *r, uint32_t section)
{
	if (section >= r->elf.eh.e_shnum || !r->kernel_of[section])
		return NULL;
	return &r->kernels[r->kernel_of[section] - 1];
}

static struct gsb_cubin_kernel *kernel_of_symbol(const struct reader *r, uint32_t symbol)
{
	Elf64_Sym sym;

	if (symbol >= r->elf.n_symbols)
		return NULL;
	gsb_elf_symbol(&r->elf, symbol, &sym);
	return kernel_of_section(r, sym.st_shndx);
}

/* The next attribute of a .nv.info section; false at the end, *ok says whether that is a clean one. */
static bool next_info(const uint8_t *p, uint64_t size, uint64_t *at, struct info *out, bool *ok)
{
	*ok = *at == size;
	if (!gsb_range_ok(*at, 4, size))
		return false;
	*out = (struct info){.attribute = p[*at + 1], .value = gsb_le16(p + *at + 2)};
	switch (p[*at]) {
	case INFO_U8: out->value &= 0xff; break;
	case INFO_SIZED:
		out->data = p + *at + 4;
		out->size = out->value;
		break;
	case INFO_NONE:
	case INFO_U16: break;
	default: return false;
	}
	*at += 4;
	if (!gsb_range_ok(*at, out->size, size))
		return false;
	*at += out->size;
	return true;
}

static void read_axes(const struct info *info, uint32_t axes[3])
{
	for (int i = 0; i < 3 && info->size >= 12; i++)
		axes[i] = gsb_le32(info->data + 4 * i);
}

/* Parameters come last first; each writes its own place. */
static int read_param(struct reader *r, struct gsb_cubin_kernel *k, const struct info *info)
{
	struct gsb_cubin_param *params = (struct gsb_cubin_param *)k->params;
	uint32_t ordinal;

	if (info->size < 12)
		return -EBADMSG;
	ordinal = gsb_le16(info->data + 4);
	if (ordinal >= GSB_CUBIN_MAX_PARAMS)
		return -EBADMSG;
	if (ordinal >= k->n_params) {
		params = gsb_arena_alloc_array(r->arena, ordinal + 1, sizeof(*params));
		if (!params)
			return -ENOMEM;
		if (k->n_params)
			memcpy(params, k->params, k->n_params * sizeof(*params));
		k->params = params;
		k->n_params = ordinal + 1;
	}
	params[ordinal].offset = gsb_le16(info->data + 6);
	params[ordinal].size = info->attribute == INFO_KPARAM_V2
				       ? gsb_le16(info->data + 8)
				       : gsb_le32(info->data + 8) >> PARAM_SIZE_SHIFT;
	return 0;
}

static int kernel_info(struct reader *r, struct gsb_cubin_kernel *k, const struct info *info)
{
	switch (info->attribute) {
	case INFO_MAX_THREADS: read_axes(info, k->max_threads); break;
	case INFO_REQNTID: read_axes(info, k->reqntid); break;
	case INFO_CTA_PER_CLUSTER: read_axes(info, k->cluster); break;
	case INFO_PARAM_SIZE: k->param_bytes = info->value; break;
	case INFO_NUM_BARRIERS: k->n_barriers = info->value; break;
	case INFO_KPARAM:
	case INFO_KPARAM_V2: return read_param(r, k, info);
	default: break;
	}
	return 0;
}

/* Facts about a symbol, in the section that is of no kernel. */
static void module_info(const struct reader *r, const struct info *info)
{
	struct gsb_cubin_kernel *k =
		info->size >= 8 ? kernel_of_symbol(r, gsb_le32(info->data)) : NULL;

	if (k && info->attribute == INFO_REGCOUNT)
		k->regs = gsb_le32(info->data + 4);
	if (k && info->attribute == INFO_FRAME_SIZE)
		k->local_bytes = gsb_le32(info->data + 4);
}

static int read_info(struct reader *r, const Elf64_Shdr *sh)
{
	struct gsb_cubin_kernel *k = kernel_of_section(r, sh->sh_info);
	const uint8_t *p = r->elf.bytes + sh->sh_offset;
	struct info info;
	uint64_t at = 0;
	bool ok;
	int err = 0;

	while (!err && next_info(p, sh->sh_size, &at, &info, &ok)) {
		if (k)
			err = kernel_info(r, k, &info);
		else
			module_info(r, &info);
	}
	return err ? err : (ok ? 0 : -EBADMSG);
}

static bool begins_with(const char *s, const char *with)
{
	return !strncmp(s, with, strlen(with));
}

static int read_one_section(struct reader *r, uint32_t i)
{
	struct gsb_cubin_kernel *k;
	const char *name;
	Elf64_Shdr sh;
	uint64_t bytes;

	if (!gsb_elf_section(&r->elf, i, &sh))
		return -EBADMSG;
	name = gsb_elf_string(&r->elf, &r->elf.names, sh.sh_name);
	if (!name)
		return -EBADMSG;
	if (sh.sh_type == SECTION_INFO && begins_with(name, ".nv.info"))
		return read_info(r, &sh);
	if (!strcmp(name, ".nv.constant3"))
		r->out->const_bytes = sh.sh_size;
	if (begins_with(name, ".nv.global") &&
	    __builtin_add_overflow(r->out->global_bytes, sh.sh_size, &r->out->global_bytes))
		return -EBADMSG;
	k = begins_with(name, ".nv.shared.") ? kernel_of_section(r, sh.sh_info) : NULL;
	if (!k)
		return 0;
	bytes = sh.sh_size;
	if (r->out->sm >= RESERVED_FROM_SM)
		bytes -= bytes < RESERVED_SHARED ? bytes : RESERVED_SHARED;
	if (bytes > UINT32_MAX)
		return -EBADMSG;
	k->shared_bytes = (uint32_t)bytes;
	return 0;
}

int gsb_cubin_read(const void *bytes, size_t size, struct gsb_arena *arena, struct gsb_cubin *out)
{
	struct gsb_cubin cubin = {0};
	struct reader r = {.arena = arena, .out = &cubin};
	int err;

	if (!gsb_elf_open(bytes, size, &r.elf))
		return -EBADMSG;
	cubin.sm = r.elf.eh.e_ident[EI_OSABI] == OSABI_CUDA13 ? r.elf.eh.e_flags >> 8 & 0xff
							      : r.elf.eh.e_flags & 0xff;
	cubin.prints = wants(&r, "vprintf");
	cubin.sets_conditions = wants(&r, "cudaGraphSetConditional");
	cubin.has_managed = has_managed(&r);
	err = list_kernels(&r);
	for (uint32_t i = 0; i < r.elf.eh.e_shnum && !err; i++)
		err = read_one_section(&r, i);
	if (err)
		return err;
	*out = cubin;
	return 0;
}
