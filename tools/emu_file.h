/*
 * emu_file.h - the kernels in a file: PTX, a fatbin, or a program or library with device code in it.
 */
#ifndef GSB_TOOLS_EMU_FILE_H
#define GSB_TOOLS_EMU_FILE_H

#include "base/arena.h"
#include "ptx/kernel.h"

#define EMU_MODULES_MAX 1024

struct emu_module_text {
	const char *text; /* PTX */
	size_t len;
	struct gsb_ptx_module *ptx;
};

/* Zeroed is empty. */
struct emu_file {
	const char *path;
	char *bytes;
	size_t size;
	struct gsb_arena arena; /* of what was packed */
	struct emu_module_text modules[EMU_MODULES_MAX];
	size_t n_modules;
};

struct emu_kernel {
	const struct emu_module_text *module;
	const struct gsb_ptx_func *entry;
};

/* The whole of a file into memory for free(). 0; -1: told on stderr. */
int emu_read_file(const char *path, char **bytes, size_t *size);

/* Read, unpacked for compute capability @cc (90) and parsed. 0; -1: told. */
int emu_file_open(struct emu_file *f, const char *path, uint32_t cc);
void emu_file_close(struct emu_file *f);

/* The i-th kernel of all modules; false past the last. */
bool emu_file_kernel(const struct emu_file *f, size_t i, struct emu_kernel *out);

/* By name, or by a part of it that only one has; @name NULL: the only one. 0; -1: told, with those that there are. */
int emu_file_find(const struct emu_file *f, const char *name, struct emu_kernel *out);

#endif
