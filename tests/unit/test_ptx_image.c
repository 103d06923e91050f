/*
 * test_ptx_image.c - images of every form: found, measured, unpacked, chosen; and refused when they lie.
 *
 * Fatbins and cubins are written here, by hand, so that each field can be wrong. Where nvcc is at hand
 * (HAVE_CUDA), what it makes is read too.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <elf.h>
#include <errno.h>
#include <lz4.h>
#include <zstd.h>

#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "tests/unit/ptx_text.h"

#define TEXT_75 \
	"\n// a comment\n.version 7.0\n.target sm_75\n.address_size 64\n.visible .entry k75() { ret; }\n"
#define TEXT_80 ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k80() { ret; }\n"

/* A growing container. */
struct fatbin {
	uint8_t bytes[1 << 16];
	size_t size;
};

static void put(uint8_t *at, uint64_t value, int n)
{
	for (int i = 0; i < n; i++)
		at[i] = (uint8_t)(value >> (8 * i));
}

static void start(struct fatbin *f)
{
	memset(f, 0, sizeof(*f));
	put(f->bytes, GSB_IMAGE_FATBIN_MAGIC, 4);
	put(f->bytes + 4, 1, 2);
	put(f->bytes + 6, 16, 2);
	f->size = 16;
}

/* Adds an entry; returns where its header is. */
static uint8_t *add_entry(struct fatbin *f, uint16_t kind, uint32_t sm, int packing,
			  const void *data, size_t size)
{
	uint8_t *h = f->bytes + f->size, *payload = h + 64;
	size_t room = sizeof(f->bytes) - f->size - 64, n = size;
	uint64_t flags = 0x11;

	assert_true(size < room);
	if (packing == GSB_FATBIN_ZSTD) {
		n = ZSTD_compress(payload, room, data, size, 3);
		assert_false(ZSTD_isError(n));
		flags |= 0x8000;
	} else if (packing == GSB_FATBIN_LZ4) {
		n = (size_t)LZ4_compress_default(data, (char *)payload, (int)size, (int)room);
		assert_true(n > 0);
		flags |= 0x2000;
	} else {
		memcpy(payload, data, size);
	}
	put(h, kind, 2);
	put(h + 2, 0x101, 2);
	put(h + 4, 64, 4);
	put(h + 8, (n + 7) / 8 * 8, 8);
	put(h + 28, sm, 4);
	put(h + 40, flags, 8);
	if (packing != GSB_FATBIN_PLAIN) {
		put(h + 16, n, 4);
		put(h + 56, size, 8);
	}
	f->size += 64 + (n + 7) / 8 * 8;
	put(f->bytes + 8, f->size - 16, 8);
	return h;
}

static uint8_t *add_text(struct fatbin *f, uint32_t sm, int packing, const char *text)
{
	return add_entry(f, GSB_FATBIN_PTX, sm, packing, text, strlen(text));
}

static struct gsb_arena arena;

static int setup(void **state)
{
	gsb_arena_init(&arena, 16 << 20);
	return 0;
}

static int teardown(void **state)
{
	gsb_arena_finish(&arena);
	return 0;
}

/* The PTX that is found, as a string without its padding; or the error, as "-errno". */
static const char *find(const void *bytes, size_t size, uint32_t cc)
{
	static char out[400];
	char err[GSB_FATBIN_ERROR_BYTES] = "";
	const char *text;
	size_t len;
	int ret = gsb_image_find_ptx(bytes, size, cc, &arena, &text, &len, err, sizeof(err));

	if (ret) {
		assert_true(strlen(err) > 0);
		snprintf(out, sizeof(out), "%d %s", ret, err);
	} else {
		assert_true(len < sizeof(out));
		snprintf(out, sizeof(out), "%.*s", (int)len, text);
	}
	return out;
}

static void assert_begins(const char *got, const char *want)
{
	if (strncmp(got, want, strlen(want)))
		fail_msg("got %s", got);
}

static void test_find_ptx_unpacks_every_packing(void **state)
{
	for (int packing = GSB_FATBIN_PLAIN; packing <= GSB_FATBIN_ZSTD; packing++) {
		struct fatbin f;

		start(&f);
		add_text(&f, 75, packing, TEXT_75);
		assert_string_equal(find(f.bytes, f.size, 90), TEXT_75);
	}
	assert_string_equal(find(TEXT_80, strlen(TEXT_80), 90), TEXT_80);
}

static void test_find_ptx_takes_newest_not_above_the_gpu(void **state)
{
	struct fatbin f;

	start(&f);
	add_entry(&f, GSB_FATBIN_ELF, 90, GSB_FATBIN_PLAIN, "not looked at", 13);
	add_text(&f, 80, GSB_FATBIN_ZSTD, TEXT_80);
	add_text(&f, 75, GSB_FATBIN_LZ4, TEXT_75);
	add_entry(&f, 64, 90, GSB_FATBIN_PLAIN, "of a kind to come", 17);
	assert_string_equal(find(f.bytes, f.size, 90), TEXT_80);
	assert_string_equal(find(f.bytes, f.size, 80), TEXT_80);
	assert_string_equal(find(f.bytes, f.size, 75), TEXT_75);
	assert_begins(find(f.bytes, f.size, 70),
		      "-8 the fatbin has no PTX for compute capability 7.0 "
		      "(it has sm_90 cubin, sm_80 PTX, sm_75 PTX, sm_90 other)");
}

static void test_find_ptx_arch_specific_runs_on_its_own_gpu_only(void **state)
{
	struct fatbin f;
	uint8_t *h;

	start(&f);
	add_text(&f, 75, GSB_FATBIN_PLAIN, TEXT_75);
	h = add_text(&f, 80, GSB_FATBIN_PLAIN, TEXT_80);
	put(h + 40, 0x100011, 8);
	assert_begins(find(f.bytes, f.size, 80), ".version");
	assert_begins(find(f.bytes, f.size, 90), "\n// a comment");
	put(h + 40, 0x200011, 8); /* family: the same major version */
	assert_begins(find(f.bytes, f.size, 86), ".version");
	assert_begins(find(f.bytes, f.size, 90), "\n// a comment");
}

/* nvcc -arch=all-major: PTX of the newest GPU alone, and machine code for the others. */
static void test_find_executable_ptx_beside_machine_code_may_be_for_a_newer_gpu(void **state)
{
	char err[GSB_FATBIN_ERROR_BYTES];
	const char *text = NULL;
	struct fatbin f;
	uint8_t *h;
	size_t len;

	start(&f);
	h = add_entry(&f, GSB_FATBIN_ELF, 80, GSB_FATBIN_PLAIN, "machine code", 12);
	add_text(&f, 120, GSB_FATBIN_PLAIN, TEXT_80);
	add_text(&f, 100, GSB_FATBIN_ZSTD, TEXT_75);
	assert_int_equal(gsb_image_find_executable_ptx(f.bytes, f.size, 90, &arena, &text, &len,
						       err, sizeof(err)),
			 -ENOEXEC);
	put(h + 28, 90, 4);
	assert_int_equal(gsb_image_find_executable_ptx(f.bytes, f.size, 90, &arena, &text, &len,
						       err, sizeof(err)),
			 0);
	assert_memory_equal(text, TEXT_75, strlen(TEXT_75));
	assert_begins(find(f.bytes, f.size, 90), "-8 the fatbin has no PTX");
	add_text(&f, 75, GSB_FATBIN_PLAIN, TEXT_80);
	assert_int_equal(gsb_image_find_executable_ptx(f.bytes, f.size, 90, &arena, &text, &len,
						       err, sizeof(err)),
			 0);
	assert_memory_equal(text, TEXT_80, strlen(TEXT_80));
}

static void test_find_elf_wants_the_major_version(void **state)
{
	struct fatbin f;
	char err[GSB_FATBIN_ERROR_BYTES];
	const void *elf;
	size_t len;

	start(&f);
	add_entry(&f, GSB_FATBIN_ELF, 80, GSB_FATBIN_ZSTD, "eighty..", 8);
	add_entry(&f, GSB_FATBIN_ELF, 86, GSB_FATBIN_PLAIN, "eightysix.......", 16);
	assert_int_equal(
		gsb_image_find_elf(f.bytes, f.size, 86, &arena, &elf, &len, err, sizeof(err)), 0);
	assert_memory_equal(elf, "eightysix", 9);
	assert_int_equal(
		gsb_image_find_elf(f.bytes, f.size, 80, &arena, &elf, &len, err, sizeof(err)), 0);
	assert_int_equal(len, 8);
	assert_memory_equal(elf, "eighty..", 8);
	assert_int_equal(
		gsb_image_find_elf(f.bytes, f.size, 90, &arena, &elf, &len, err, sizeof(err)),
		-ENOEXEC);
}

static void test_find_ptx_of_a_cubin_or_an_empty_fatbin_says_what_to_do(void **state)
{
	struct fatbin f;
	uint8_t elf[64] = {0x7f, 'E', 'L', 'F'};

	start(&f);
	put(f.bytes + 8, 0, 8);
	assert_begins(find(f.bytes, f.size, 90),
		      "-8 the fatbin has no PTX for compute capability 9.0 (it has nothing)");
	assert_non_null(strstr(find(f.bytes, f.size, 90),
			       "compile with -gencode arch=compute_75,code=compute_75"));
	assert_begins(find(elf, sizeof(elf), 90), "-8 a cubin has no PTX");
	assert_begins(find("hello", 5, 90), "-74 malformed image");
	assert_begins(find("", 0, 90), "-74 malformed image");
}

static void test_fatbin_headers_that_lie_are_malformed(void **state)
{
	/* offset into the entry's header, value, bytes: each makes the container wrong in one way */
	static const struct {
		size_t at;
		uint64_t value;
		int n;
	} lies[] = {
		{4, 63, 4},		    /* header too short */
		{4, 0xffffff00, 4},	    /* header longer than all */
		{8, 0, 8},		    /* payload shorter than compressed */
		{8, UINT64_MAX - 7, 8},	    /* wraps around */
		{8, 1 << 20, 8},	    /* past the end */
		{16, 0, 4},		    /* compressed into nothing */
		{16, 0xffffffff, 4},	    /* compressed longer than payload */
		{56, 0, 8},		    /* nothing when unpacked */
		{56, 5, 8},		    /* less than it is */
		{56, 4096, 8},		    /* more than it is */
		{56, (uint64_t)1 << 40, 8}, /* more than is allowed */
		{64, 0, 8},		    /* data damaged */
	};

	for (int packing = GSB_FATBIN_LZ4; packing <= GSB_FATBIN_ZSTD; packing++) {
		for (size_t i = 0; i < GSB_ARRAY_LEN(lies); i++) {
			struct fatbin f;
			uint8_t *h;

			start(&f);
			h = add_text(&f, 75, packing, TEXT_75 TEXT_75 TEXT_75);
			assert_begins(find(f.bytes, f.size, 90), "\n//");
			put(h + lies[i].at, lies[i].value, lies[i].n);
			if (strncmp(find(f.bytes, f.size, 90), "-74 malformed", 13))
				fail_msg("lie %zu, packing %d: %s", i, packing,
					 find(f.bytes, f.size, 90));
		}
	}
}

static void test_fatbin_entry_past_its_container_is_never_given(void **state)
{
	struct gsb_fatbin_entry e;
	struct fatbin f;
	uint64_t at = 0;
	uint8_t *h;

	start(&f);
	h = add_text(&f, 75, GSB_FATBIN_PLAIN, TEXT_75);
	put(h + 8, f.size, 8);
	assert_int_equal(gsb_fatbin_next(f.bytes, f.size, &at, &e), -EBADMSG);
}

static void test_fatbin_cut_anywhere_is_malformed(void **state)
{
	struct fatbin f;

	start(&f);
	add_text(&f, 75, GSB_FATBIN_ZSTD, TEXT_75);
	add_text(&f, 80, GSB_FATBIN_PLAIN, TEXT_80);
	for (size_t n = 0; n < f.size; n++) {
		uint8_t *copy = malloc(n + 1);

		assert_non_null(copy);
		memcpy(copy, f.bytes, n);
		assert_begins(find(copy, n, 90), "-74 malformed");
		free(copy);
	}
}

static void test_find_ptx_past_the_arena_says_no_memory(void **state)
{
	struct fatbin f;
	struct gsb_arena small;
	char err[GSB_FATBIN_ERROR_BYTES] = "";
	const char *text;
	size_t len;

	start(&f);
	add_text(&f, 75, GSB_FATBIN_ZSTD, TEXT_75);
	gsb_arena_init(&small, 16);
	assert_int_equal(
		gsb_image_find_ptx(f.bytes, f.size, 90, &small, &text, &len, err, sizeof(err)),
		-ENOMEM);
	assert_begins(err, "out of memory");
	gsb_arena_finish(&small);
}

static void test_locate_finds_the_end_of_each_form(void **state)
{
	struct fatbin f;
	struct {
		uint32_t magic, version;
		const void *data, *more;
	} wrapper = {GSB_IMAGE_WRAPPER_MAGIC, 1, f.bytes, NULL};
	struct gsb_image image;

	start(&f);
	add_text(&f, 75, GSB_FATBIN_PLAIN, TEXT_75);
	assert_int_equal(gsb_image_locate(f.bytes, &image), 0);
	assert_int_equal(image.kind, GSB_IMAGE_FATBIN);
	assert_int_equal(image.size, f.size);
	assert_int_equal(gsb_image_locate(&wrapper, &image), 0);
	assert_ptr_equal(image.bytes, f.bytes);
	assert_int_equal(image.size, f.size);
	assert_int_equal(gsb_image_locate(TEXT_75, &image), 0);
	assert_int_equal(image.kind, GSB_IMAGE_PTX);
	assert_int_equal(image.size, strlen(TEXT_75));
	assert_int_equal(gsb_image_locate("/* c */ // d\n .version 1.0", &image), 0);
}

static void test_locate_refuses_what_is_no_image(void **state)
{
	static const uint32_t wrapped_nothing[6] = {GSB_IMAGE_WRAPPER_MAGIC, 1};
	struct fatbin f;
	struct gsb_image image = {.size = 7};

	assert_int_equal(gsb_image_locate(NULL, &image), -EINVAL);
	assert_int_equal(gsb_image_locate("", &image), -EBADMSG);
	assert_int_equal(gsb_image_locate("\x7f", &image), -EBADMSG);
	assert_int_equal(gsb_image_locate("hello", &image), -EBADMSG);
	assert_int_equal(gsb_image_locate("/* no end .version", &image), -EBADMSG);
	assert_int_equal(gsb_image_locate(wrapped_nothing, &image), -EBADMSG);
	start(&f);
	put(f.bytes + 8, UINT64_MAX - 8, 8);
	assert_int_equal(gsb_image_locate(f.bytes, &image), -EBADMSG);
	assert_int_equal(image.size, 7);
}

/*
 * A cubin by hand: sections 0 none, 1 names, 2 symbol strings, 3 symbols, 4 .text.k, 5 .nv.info,
 * 6 .nv.info.k, 7 .nv.shared.k, 8 .nv.constant3; program headers last, as nvcc writes them.
 */
struct cubin {
	uint8_t bytes[4096];
	Elf64_Ehdr *eh;
	Elf64_Shdr *sh;
	uint8_t *info, *kernel_info, *strings, *symbols;
	size_t size;
};

#define N_SECTIONS 11
static const char section_names[] =
	"\0.shstrtab\0.strtab\0.symtab\0.text.k\0.nv.info\0.nv.info.k\0.nv.shared.k\0.nv.constant3"
	"\0.nv.global\0.nv.global.init";

static uint32_t name_at(const char *name)
{
	for (size_t i = 0; i < sizeof(section_names); i++) {
		if (!strcmp(&section_names[i], name) && (i == 0 || section_names[i - 1] == '\0'))
			return (uint32_t)i;
	}
	fail_msg("no section %s", name);
	return 0;
}

/* Appends a section's bytes at the next multiple of 8. */
static uint8_t *add_section(struct cubin *c, int i, const char *name, uint32_t type,
			    const void *data, size_t size)
{
	uint8_t *at;

	c->size = (c->size + 7) / 8 * 8;
	at = c->bytes + c->size;
	c->sh[i].sh_name = name_at(name);
	c->sh[i].sh_type = type;
	c->sh[i].sh_offset = c->size;
	c->sh[i].sh_size = size;
	if (type == SHT_NOBITS)
		return at;
	memcpy(at, data, size);
	c->size += size;
	return at;
}

static void write_cubin(struct cubin *c)
{
	static const Elf64_Sym symbols[3] = {
		{0},
		{.st_name = 1,
		 .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
		 .st_other = 0x10,
		 .st_shndx = 4},
		{.st_name = 3, .st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC)}};
	/* regs of symbol 1: 40; frame of symbol 1: 24 */
	static const uint8_t info[] = {4, 0x2f, 8, 0, 1, 0, 0, 0, 40, 0, 0, 0,
				       4, 0x11, 8, 0, 1, 0, 0, 0, 24, 0, 0, 0};
	/* no-value 0x4a; parameter 1 at 8, 4 bytes; parameter 0 at 0, 8 bytes; 12 bytes in all; 256 x 2 x 1 threads;
	 * 3 barriers */
	static const uint8_t kernel_info[] = {
		1, 0x4a, 0,  0, 4, 0x17, 12, 0, 0, 0, 0, 0, 1, 0,    8,	   0, 0, 0xf0, 0x11, 0,
		4, 0x17, 12, 0, 0, 0,	 0,  0, 0, 0, 0, 0, 0, 0xf0, 0x21, 0, 3, 0x19, 12,   0,
		4, 5,	 12, 0, 0, 1,	 0,  0, 2, 0, 0, 0, 1, 0,    0,	   0, 2, 0x4c, 3,    0};

	memset(c, 0, sizeof(*c));
	c->eh = (Elf64_Ehdr *)c->bytes;
	c->sh = (Elf64_Shdr *)(c->bytes + sizeof(*c->eh));
	*c->eh = (Elf64_Ehdr){
		.e_type = ET_EXEC, .e_machine = 190, .e_version = 1, .e_flags = 0x6005a04};
	memcpy(c->eh->e_ident, ELFMAG "\2\1\1\x41\x08", 9);
	c->eh->e_shoff = sizeof(*c->eh);
	c->eh->e_shentsize = sizeof(*c->sh);
	c->eh->e_shnum = N_SECTIONS;
	c->eh->e_shstrndx = 1;
	c->size = sizeof(*c->eh) + N_SECTIONS * sizeof(*c->sh);
	add_section(c, 1, ".shstrtab", SHT_STRTAB, section_names, sizeof(section_names));
	c->strings = add_section(c, 2, ".strtab", SHT_STRTAB, "\0k\0vprintf", 11);
	c->symbols = add_section(c, 3, ".symtab", SHT_SYMTAB, symbols, sizeof(symbols));
	c->sh[3].sh_link = 2;
	add_section(c, 4, ".text.k", SHT_PROGBITS, "code", 4);
	c->info = add_section(c, 5, ".nv.info", 0x70000000, info, sizeof(info));
	c->kernel_info =
		add_section(c, 6, ".nv.info.k", 0x70000000, kernel_info, sizeof(kernel_info));
	c->sh[6].sh_info = 4;
	add_section(c, 7, ".nv.shared.k", SHT_NOBITS, NULL, 5024);
	c->sh[7].sh_info = 4;
	add_section(c, 8, ".nv.constant3", SHT_PROGBITS, "constants", 9);
	add_section(c, 9, ".nv.global", SHT_NOBITS, NULL, 396);
	add_section(c, 10, ".nv.global.init", SHT_PROGBITS, "init", 4);
	c->size = (c->size + 7) / 8 * 8;
	c->eh->e_phoff = c->size;
	c->eh->e_phnum = 2;
	c->eh->e_phentsize = sizeof(Elf64_Phdr);
	c->size += 2 * sizeof(Elf64_Phdr);
}

static void test_cubin_tells_of_its_kernel(void **state)
{
	struct cubin c;
	struct gsb_cubin out;
	const struct gsb_cubin_kernel *k;

	write_cubin(&c);
	assert_int_equal(gsb_cubin_read(c.bytes, c.size, &arena, &out), 0);
	assert_int_equal(out.sm, 90);
	assert_int_equal(out.n_kernels, 1);
	assert_int_equal(out.const_bytes, 9);
	assert_int_equal(out.global_bytes, 400);
	k = &out.kernels[0];
	assert_string_equal(k->name, "k");
	assert_int_equal(k->regs, 40);
	assert_int_equal(k->local_bytes, 24);
	assert_int_equal(k->shared_bytes, 4000); /* without the 1,024 of sm_90 */
	assert_int_equal(k->max_threads[0], 256);
	assert_int_equal(k->max_threads[1], 2);
	assert_int_equal(k->n_barriers, 3);
	assert_int_equal(k->param_bytes, 12);
	assert_int_equal(k->n_params, 2);
	assert_int_equal(k->params[0].size, 8);
	assert_int_equal(k->params[1].offset, 8);
	assert_int_equal(k->params[1].size, 4);
}

static void test_cubin_that_leaves_vprintf_to_the_driver_prints(void **state)
{
	struct gsb_cubin out;
	struct cubin c;
	Elf64_Sym sym;

	write_cubin(&c);
	assert_int_equal(gsb_cubin_read(c.bytes, c.size, &arena, &out), 0);
	assert_true(out.prints);
	memcpy(&sym, c.symbols + 2 * sizeof(sym), sizeof(sym));
	sym.st_shndx = 4; /* its own */
	memcpy(c.symbols + 2 * sizeof(sym), &sym, sizeof(sym));
	assert_int_equal(gsb_cubin_read(c.bytes, c.size, &arena, &out), 0);
	assert_false(out.prints);
	write_cubin(&c);
	c.strings[3] = 'V';
	assert_int_equal(gsb_cubin_read(c.bytes, c.size, &arena, &out), 0);
	assert_false(out.prints);
}

static void test_cubin_says_that_variables_are_managed(void **state)
{
	struct gsb_cubin out;
	struct cubin c;
	Elf64_Sym sym;

	write_cubin(&c);
	assert_int_equal(gsb_cubin_read(c.bytes, c.size, &arena, &out), 0);
	assert_false(out.has_managed);
	memcpy(&sym, c.symbols + 2 * sizeof(sym), sizeof(sym));
	sym.st_info = ELF64_ST_INFO(STB_LOCAL, STT_OBJECT);
	sym.st_other = 4;
	memcpy(c.symbols + 2 * sizeof(sym), &sym, sizeof(sym));
	assert_int_equal(gsb_cubin_read(c.bytes, c.size, &arena, &out), 0);
	assert_true(out.has_managed);
}

static void test_cubin_of_an_older_abi_has_its_version_elsewhere(void **state)
{
	struct cubin c;
	struct gsb_cubin out;

	write_cubin(&c);
	c.eh->e_ident[EI_OSABI] = 0x33;
	c.eh->e_flags = 0x5a0550;
	assert_int_equal(gsb_cubin_read(c.bytes, c.size, &arena, &out), 0);
	assert_int_equal(out.sm, 80);
	assert_int_equal(out.kernels[0].shared_bytes, 5024);
}

static void test_locate_elf_ends_behind_the_program_headers(void **state)
{
	struct cubin c;
	struct gsb_image image;

	write_cubin(&c);
	assert_int_equal(gsb_image_locate(c.bytes, &image), 0);
	assert_int_equal(image.kind, GSB_IMAGE_ELF);
	assert_int_equal(image.size, c.size);
	c.eh->e_phoff = UINT64_MAX;
	assert_int_equal(gsb_image_locate(c.bytes, &image), -EBADMSG);
	write_cubin(&c);
	c.sh[4].sh_size = UINT64_MAX - 4;
	assert_int_equal(gsb_image_locate(c.bytes, &image), -EBADMSG);
	c.sh[4].sh_size = GSB_IMAGE_MAX_BYTES;
	assert_int_equal(gsb_image_locate(c.bytes, &image), -EBADMSG);
	write_cubin(&c);
	c.eh->e_shentsize = 8;
	assert_int_equal(gsb_image_locate(c.bytes, &image), -EBADMSG);
}

static void assert_malformed(struct cubin *c)
{
	struct gsb_cubin out;

	assert_int_equal(gsb_cubin_read(c->bytes, c->size, &arena, &out), -EBADMSG);
	write_cubin(c);
}

static void test_cubin_headers_that_lie_are_malformed(void **state)
{
	struct cubin c;

	write_cubin(&c);
	c.eh->e_machine = EM_X86_64;
	assert_malformed(&c);
	c.eh->e_shoff = c.size - 8;
	assert_malformed(&c);
	c.eh->e_shnum = 0xffff;
	assert_malformed(&c);
	c.eh->e_shstrndx = 77;
	assert_malformed(&c);
	c.sh[1].sh_size = 3; /* names cut off */
	assert_malformed(&c);
	c.sh[2].sh_size = 2; /* the symbol's name has no end */
	assert_malformed(&c);
	c.sh[3].sh_link = 1000;
	assert_malformed(&c);
	c.sh[3].sh_type = SHT_PROGBITS; /* no symbols */
	assert_malformed(&c);
	c.sh[10] = c.sh[3]; /* two tables of them */
	assert_malformed(&c);
	c.sh[6].sh_offset = UINT64_MAX - 2;
	assert_malformed(&c);
	c.kernel_info[0] = 9; /* a format that does not exist */
	assert_malformed(&c);
	c.kernel_info[6] = 0xff; /* longer than the section */
	assert_malformed(&c);
	c.kernel_info[6] = 4; /* a parameter in 4 bytes */
	assert_malformed(&c);
	c.kernel_info[13] = 0xff; /* parameter 65,281 */
	assert_malformed(&c);
	c.sh[7].sh_size = (uint64_t)1 << 40;
	assert_malformed(&c);
}

static void test_cubin_info_about_no_kernel_is_passed_over(void **state)
{
	struct cubin c;
	struct gsb_cubin out;

	write_cubin(&c);
	c.info[4] = 99; /* registers of a symbol that does not exist */
	c.sh[7].sh_info = 5000;
	assert_int_equal(gsb_cubin_read(c.bytes, c.size, &arena, &out), 0);
	assert_int_equal(out.kernels[0].regs, 0);
	assert_int_equal(out.kernels[0].shared_bytes, 0);
}

static void test_cubin_cut_or_mutated_never_crashes(void **state)
{
	uint64_t seed = 7;
	struct cubin c;

	write_cubin(&c);
	for (int round = 0; round < 20000; round++) {
		struct gsb_cubin out;
		struct gsb_arena small;
		size_t n = c.size;
		uint8_t *copy;

		seed = seed * 6364136223846793005u + 1442695040888963407u;
		n -= round % 4 == 0 ? (seed >> 40) % c.size : 0;
		copy = malloc(n + 1);
		assert_non_null(copy);
		memcpy(copy, c.bytes, n);
		for (uint32_t i = 0; i < 3 && n; i++)
			copy[(seed >> (17 + 9 * i)) % n] = (uint8_t)(seed >> (20 + 7 * i));
		gsb_arena_init(&small, 1 << 20);
		gsb_cubin_read(copy, n, &small, &out);
		gsb_arena_finish(&small);
		free(copy);
	}
}

#ifdef TEST_FATBIN_DIR
/* What nvcc made of tests/kernels/vadd.cu, in each of its compress modes. */
static void check_nvcc_fatbin(const char *mode)
{
	struct gsb_image image;
	struct gsb_cubin cubin;
	char path[4096], err[GSB_FATBIN_ERROR_BYTES];
	const char *text;
	const void *elf;
	size_t size, len;
	char *bytes;

	snprintf(path, sizeof(path), "%s/vadd.%s.fatbin", TEST_FATBIN_DIR, mode);
	bytes = read_file(path, &size);
	assert_int_equal(gsb_image_locate(bytes, &image), 0);
	assert_int_equal(image.size, size);
	assert_int_equal(gsb_image_find_ptx(bytes, size, 90, &arena, &text, &len, err, sizeof(err)),
			 0);
	gsb_ptx_module_destroy(parse_len(text, len));
	assert_int_equal(gsb_image_find_elf(bytes, size, 75, &arena, &elf, &len, err, sizeof(err)),
			 0);
	assert_int_equal(gsb_cubin_read(elf, len, &arena, &cubin), 0);
	assert_int_equal(cubin.sm, 75);
	assert_int_equal(cubin.n_kernels, 3);
	for (uint32_t i = 0; i < cubin.n_kernels; i++) {
		assert_in_range(cubin.kernels[i].regs, 1, 255);
		assert_in_range(cubin.kernels[i].n_params, 4, 5);
	}
	free(bytes);
}

static void test_fatbins_of_nvcc_are_read(void **state)
{
	check_nvcc_fatbin("none");
	check_nvcc_fatbin("speed");
	check_nvcc_fatbin("size");
}
#endif

#define CASE(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

/* ---- linked programs ---- */

#define N_PARTS 3

/* What nvcc -rdc=true makes: machine code that is linked, and the parts, of which one has no PTX. */
static struct program {
	struct {
		uint32_t magic, version;
		const void *data, *parts;
	} wrapper;
	const void *list[N_PARTS + 1];
	struct fatbin linked, parts[N_PARTS];
} program;

static void link_program(struct program *p)
{
	p->wrapper.magic = GSB_IMAGE_WRAPPER_MAGIC;
	p->wrapper.version = 2;
	p->wrapper.data = p->linked.bytes;
	p->wrapper.parts = p->list;
	start(&p->linked);
	add_entry(&p->linked, GSB_FATBIN_ELF, 90, GSB_FATBIN_PLAIN, "code", 4);
	for (int i = 0; i < N_PARTS; i++) {
		start(&p->parts[i]);
		p->list[i] = p->parts[i].bytes;
	}
	p->list[N_PARTS] = NULL;
	add_text(&p->parts[0], 75, GSB_FATBIN_PLAIN, TEXT_75);
	add_entry(&p->parts[1], GSB_FATBIN_ELF, 90, GSB_FATBIN_PLAIN, "code", 4);
	add_text(&p->parts[2], 75, GSB_FATBIN_ZSTD, TEXT_75);
	add_text(&p->parts[2], 80, GSB_FATBIN_ZSTD, TEXT_80);
}

static void test_gather_takes_all_parts_of_a_linked_program(void **state)
{
	struct gsb_image image;
	size_t size;
	void *made;

	link_program(&program);
	size = program.linked.size + program.parts[0].size + program.parts[1].size +
	       program.parts[2].size;
	assert_int_equal(gsb_image_gather(&program.wrapper, &image, &made), 0);
	assert_int_equal(image.kind, GSB_IMAGE_FATBIN);
	assert_int_equal(image.size, size);
	assert_ptr_equal(image.bytes, made);
	assert_memory_equal(made, program.linked.bytes, program.linked.size);
	assert_string_equal(find(image.bytes, image.size, 90), TEXT_75 "\n" TEXT_80 "\n");
	assert_string_equal(find(image.bytes, image.size, 75), TEXT_75 "\n" TEXT_75 "\n");
	assert_begins(find(image.bytes, image.size, 70), "-8 the fatbin has no PTX");
	for (size_t cut = 1; cut < size - program.linked.size; cut++)
		find(image.bytes, image.size - cut, 90);
	assert_begins(find(image.bytes, image.size - 8, 90), "-74 malformed part");
	free(made);
}

static void test_gather_leaves_other_images_where_they_are(void **state)
{
	struct gsb_image image;
	void *made = &image;

	link_program(&program);
	program.wrapper.version = 1; /* the last word is something else then */
	assert_int_equal(gsb_image_gather(&program.wrapper, &image, &made), 0);
	assert_ptr_equal(image.bytes, program.linked.bytes);
	assert_int_equal(image.size, program.linked.size);
	assert_null(made);
	assert_int_equal(gsb_image_gather(TEXT_75, &image, &made), 0);
	assert_int_equal(image.kind, GSB_IMAGE_PTX);
	assert_null(made);
	assert_int_equal(gsb_image_gather(NULL, &image, &made), -EINVAL);
}

static void test_gather_refuses_a_part_that_is_no_fatbin(void **state)
{
	struct gsb_image image = {.size = 7};
	void *made;

	link_program(&program);
	program.list[1] = TEXT_75;
	assert_int_equal(gsb_image_gather(&program.wrapper, &image, &made), -EBADMSG);
	assert_int_equal(image.size, 7);
	assert_null(made);
}

/* Its own PTX is the whole program. */
static void test_find_ptx_of_a_linked_fatbin_goes_before_that_of_its_parts(void **state)
{
	struct gsb_image image;
	void *made;

	link_program(&program);
	add_text(&program.linked, 75, GSB_FATBIN_PLAIN, TEXT_75);
	assert_int_equal(gsb_image_gather(&program.wrapper, &image, &made), 0);
	assert_string_equal(find(image.bytes, image.size, 90), TEXT_75);
	free(made);
}

/* Machine code of @p's first parts and, with PTX of newer GPUs alone, of the last, as NVIDIA's device runtime is. */
static void link_with_newer(struct program *p)
{
	link_program(p);
	for (int i = 0; i < N_PARTS; i++) {
		start(&p->parts[i]);
		add_entry(&p->parts[i], GSB_FATBIN_ELF, 90, GSB_FATBIN_PLAIN, "code", 4);
	}
	add_text(&p->parts[N_PARTS - 1], 121, GSB_FATBIN_PLAIN, TEXT_80);
}

static const char *find_executable(const struct program *p)
{
	static char err[GSB_FATBIN_ERROR_BYTES];
	struct gsb_image image;
	const char *text;
	size_t len;
	void *made;

	assert_int_equal(gsb_image_gather(&p->wrapper, &image, &made), 0);
	if (gsb_image_find_executable_ptx(image.bytes, image.size, 90, &arena, &text, &len, err,
					  sizeof(err)))
		text = err;
	free(made);
	return text;
}

static void test_find_ptx_that_stands_in_for_some_of_a_linked_program_is_none(void **state)
{
	link_with_newer(&program);
	assert_begins(find_executable(&program), "the fatbin has no PTX for compute capability 9.0 "
						 "(it has sm_90 cubin)");
	add_text(&program.parts[0], 75, GSB_FATBIN_PLAIN, TEXT_75);
	assert_begins(find_executable(&program), TEXT_75 "\n" TEXT_80);
	link_with_newer(&program);
	add_text(&program.parts[0], 100, GSB_FATBIN_PLAIN, TEXT_75);
	add_text(&program.parts[1], 100, GSB_FATBIN_PLAIN, TEXT_75);
	assert_begins(find_executable(&program), TEXT_75 "\n" TEXT_75 "\n" TEXT_80);
}

/* What next_object gives, one word behind another; or what it returns. */
static const char *objects(const void *bytes, size_t size, uint32_t cc)
{
	static char out[400];
	const void *elf;
	uint64_t at = 0;
	size_t len;
	int ret;

	for (out[0] = 0;
	     (ret = gsb_image_next_object(bytes, size, cc, &at, &arena, &elf, &len)) > 0;)
		snprintf(out + strlen(out), sizeof(out) - strlen(out), "%.*s ", (int)len,
			 (const char *)elf);
	if (ret)
		snprintf(out, sizeof(out), "%d", ret);
	return out;
}

/* And for who links: nothing of parts with PTX, nothing of another GPU's, nothing where the whole is there. */
static void test_objects_are_the_parts_of_a_linked_program_without_ptx(void **state)
{
	struct gsb_image image;
	void *made;

	link_program(&program);
	add_entry(&program.parts[0], GSB_FATBIN_ELF, 90, GSB_FATBIN_PLAIN, "with", 4);
	start(&program.parts[1]);
	add_entry(&program.parts[1], GSB_FATBIN_ELF, 90, GSB_FATBIN_ZSTD, "newest", 6);
	add_entry(&program.parts[1], GSB_FATBIN_ELF, 80, GSB_FATBIN_LZ4, "newer", 5);
	add_text(&program.parts[1], 121, GSB_FATBIN_PLAIN, TEXT_80);
	start(&program.parts[2]);
	add_entry(&program.parts[2], GSB_FATBIN_ELF, 90, GSB_FATBIN_LZ4, "last", 4);
	assert_int_equal(gsb_image_gather(&program.wrapper, &image, &made), 0);
	assert_string_equal(objects(image.bytes, image.size, 90), "newest last ");
	assert_string_equal(objects(image.bytes, image.size, 80), "newer ");
	assert_string_equal(objects(image.bytes, image.size, 75), "");
	assert_string_equal(objects(image.bytes, image.size, 121), "");
	assert_string_equal(objects(image.bytes, program.linked.size, 90), "");
	assert_string_equal(objects(image.bytes, image.size - 8, 90), "-74");
	assert_string_equal(objects(image.bytes, program.linked.size - 8, 90), "-74");
	assert_string_equal(objects(TEXT_75, strlen(TEXT_75), 90), "");
	free(made);
	add_text(&program.linked, 75, GSB_FATBIN_PLAIN, TEXT_75);
	assert_int_equal(gsb_image_gather(&program.wrapper, &image, &made), 0);
	assert_string_equal(objects(image.bytes, image.size, 90), "");
	free(made);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(test_find_ptx_unpacks_every_packing),
		CASE(test_find_ptx_takes_newest_not_above_the_gpu),
		CASE(test_find_ptx_arch_specific_runs_on_its_own_gpu_only),
		CASE(test_find_executable_ptx_beside_machine_code_may_be_for_a_newer_gpu),
		CASE(test_find_elf_wants_the_major_version),
		CASE(test_find_ptx_of_a_cubin_or_an_empty_fatbin_says_what_to_do),
		CASE(test_fatbin_headers_that_lie_are_malformed),
		CASE(test_fatbin_entry_past_its_container_is_never_given),
		CASE(test_fatbin_cut_anywhere_is_malformed),
		CASE(test_find_ptx_past_the_arena_says_no_memory),
		CASE(test_locate_finds_the_end_of_each_form),
		CASE(test_locate_refuses_what_is_no_image),
		CASE(test_gather_takes_all_parts_of_a_linked_program),
		CASE(test_gather_leaves_other_images_where_they_are),
		CASE(test_gather_refuses_a_part_that_is_no_fatbin),
		CASE(test_find_ptx_of_a_linked_fatbin_goes_before_that_of_its_parts),
		CASE(test_find_ptx_that_stands_in_for_some_of_a_linked_program_is_none),
		CASE(test_objects_are_the_parts_of_a_linked_program_without_ptx),
		CASE(test_cubin_tells_of_its_kernel),
		CASE(test_cubin_says_that_variables_are_managed),
		CASE(test_cubin_that_leaves_vprintf_to_the_driver_prints),
		CASE(test_cubin_of_an_older_abi_has_its_version_elsewhere),
		CASE(test_locate_elf_ends_behind_the_program_headers),
		CASE(test_cubin_headers_that_lie_are_malformed),
		CASE(test_cubin_info_about_no_kernel_is_passed_over),
		CASE(test_cubin_cut_or_mutated_never_crashes),
#ifdef TEST_FATBIN_DIR
		CASE(test_fatbins_of_nvcc_are_read),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
