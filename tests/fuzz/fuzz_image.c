/*
 * fuzz_image.c - any bytes through the readers of images: kind, fatbin entries, decompression, cubin.
 */
#include <string.h>

#include "base/arena.h"
#include "ptx/cubin.h"
#include "ptx/fatbin.h"
#include "ptx/managed.h"
#include "tests/fuzz/fuzz.h"

const char *const gsb_fuzz_seeds = "tests/fuzz/seeds/images/*";

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[GSB_FATBIN_ERROR_BYTES];
	struct gsb_managed managed;
	struct gsb_cubin cubin;
	struct gsb_arena arena;
	const char *text;
	const void *elf;
	size_t len;

	gsb_arena_init(&arena, 8 << 20);
	gsb_image_find_ptx(data, size, 90, &arena, &text, &len, err, sizeof(err));
	if (!gsb_image_find_elf(data, size, 75, &arena, &elf, &len, err, sizeof(err)))
		gsb_cubin_read(elf, len, &arena, &cubin);
	gsb_cubin_read(data, size, &arena, &cubin);
	gsb_managed_read(data, size, &arena, &managed, err, sizeof(err));
	gsb_arena_finish(&arena);
	return 0;
}
