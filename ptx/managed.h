/*
 * managed.h - managed variables, for who may not leave them to a driver: it would put them where host and device of its own process
 * see them, and that is not where the program is.
 *
 * A cubin has them as any others, with a mark. Without a section they are somebody else's to place, and the driver takes their addresses
 * from who loads (CU_JIT_GLOBAL_SYMBOL_NAMES): so they are listed here, and then made so. Their bytes stay in their section, and are
 * nobody's there. PTX goes through the driver's linker first: of PTX it takes no addresses.
 */
#ifndef GSB_PTX_MANAGED_H
#define GSB_PTX_MANAGED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

/* Whether a word .managed stands in the text, of however many modules; for text that is no PTX, whether it may. Context: pure. */
bool gsb_ptx_has_managed(const char *text, size_t len);

struct gsb_managed_var {
	const char *name;
	uint64_t size, align; /* the least that keeps what it has in its section */
	const void *first;    /* what it begins with, in the cubin; NULL: zeros */
	uint32_t section;
	uint64_t at; /* in that */
};

/* Eight bytes of what a managed variable begins with: the address of a variable, managed or not, and addend. */
struct gsb_managed_pointer {
	uint32_t var; /* which */
	uint64_t offset;
	const char *target;
	int64_t addend;
};

struct gsb_managed {
	const struct gsb_managed_var *vars; /* by name, which no other symbol has */
	uint32_t n_vars;
	const struct gsb_managed_pointer *pointers;
	uint32_t n_pointers;
};

/**
 * gsb_managed_read() - the managed variables of a cubin
 * @arena: all of @out but ->first lives there
 * @log:   on failure a sentence
 *
 * Context: pure. Return: 0, -EBADMSG (no cubin, or damaged), -EILSEQ (one is declared and nowhere defined), -ENOTSUP (one begins with what is
 *          not the address of a variable), -ENOMEM.
 */
int gsb_managed_read(const void *cubin, size_t size, struct gsb_arena *arena,
		     struct gsb_managed *out, char *log, size_t log_size);

/* Make them undefined in a cubin that could be read. In a damaged one that may hit what was checked before: it is to be read again. */
void gsb_managed_undefine(void *cubin, size_t size);

/* By name; NULL: none is called so. */
const struct gsb_managed_var *gsb_managed_find(const struct gsb_managed *m, const char *name);

#endif
