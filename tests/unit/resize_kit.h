/*
 * resize_kit.h - a kernel of a file, with arguments as gsb-emu takes them, ready for diff_try().
 */
#ifndef GSB_TESTS_RESIZE_KIT_H
#define GSB_TESTS_RESIZE_KIT_H

#include "tools/ptx/subject.h"

#define KIT_ALL ((1u << GSB_N_REWRITE_FORMS) - 1)

struct kit_subject {
	const char *file, *kernel;
	enum gsb_resize_early early;
	uint32_t grid[3], block[3], smem_bytes;
	const char *args;
};

#define KIT_MAX_ARGS 24

struct kit {
	struct diff diff;
	struct emu_arg args[KIT_MAX_ARGS];
	char words[1024];
	size_t n_args;
};

/* Parsed; fails the test when it is no PTX. */
struct gsb_ptx_module *kit_parse(const char *text);
struct gsb_ptx_module *kit_parse_path(const char *path);
struct gsb_ptx_module *kit_parse_file(const char *path); /* below $srcdir */

/* Without HINT where nothing streams. */
unsigned int kit_forms(const struct gsb_ptx_module *m, const struct gsb_ptx_func *f,
		       unsigned int forms);
/* Variants, memory, arguments: all but what diff_expect() does. Fails the test when anything but hints is refused. */
void kit_open(struct kit *kit, const struct gsb_ptx_module *m, const struct kit_subject *s,
	      unsigned int forms);
void kit_close(struct kit *kit);
/* The same inputs with other random numbers; then the original runs. */
void kit_expect(struct kit *kit, const struct kit_subject *s, uint64_t seed);
/* Fails the test, and says how to do it again. */
void kit_try(struct kit *kit, const struct kit_subject *s, uint64_t input, uint64_t number);

#endif
