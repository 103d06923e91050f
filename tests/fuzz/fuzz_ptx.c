/*
 * fuzz_ptx.c - any text through the parser; what parses goes on to the analyses and the printer, and
 * what is printed must parse again.
 */
#include <stdlib.h>

#include "ptx/kernel.h"
#include "ptx/print.h"
#include "tests/fuzz/fuzz.h"

const char *const gsb_fuzz_seeds = "tests/ptx/*.ptx";

static void analyse(const struct gsb_ptx_module *m)
{
	for (uint32_t i = 0; i < m->n_funcs; i++) {
		struct gsb_arena arena;
		struct gsb_ptx_kernel kernel;

		gsb_arena_init(&arena, 64 << 20);
		gsb_ptx_kernel_build(m, m->funcs[i], &arena, &kernel);
		gsb_arena_finish(&arena);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsb_ptx_module *m, *again;
	struct gsb_ptx_error err;
	char *text;
	size_t len;

	if (gsb_ptx_parse((const char *)data, size, &m, &err))
		return 0;
	analyse(m);
	if (!gsb_ptx_print(m, &text, &len)) {
		if (gsb_ptx_parse(text, len, &again, &err))
			abort();
		gsb_ptx_module_destroy(again);
		free(text);
	}
	gsb_ptx_module_destroy(m);
	return 0;
}
