/*
 * entries.h - the driver's entry points as a table and as declarations, both made from entries.def.
 */
#ifndef GSB_INTERPOSE_ENTRIES_H
#define GSB_INTERPOSE_ENTRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/compiler.h"
#include "gsb/cuabi.h"

enum gsb_entry_class {
	GSB_ENTRY_ANY,
	GSB_ENTRY_LOCAL,
	GSB_ENTRY_POST,
	GSB_ENTRY_CALL,
	GSB_ENTRY_REFUSED
};

struct gsb_entry {
	const char *name, *symbol;
	void (*fn)(void);
	uint32_t since;
	uint8_t per_thread, class;
};

extern const struct gsb_entry gsb_entries[]; /* sorted by name, per_thread, since */
extern const unsigned gsb_n_entries;

/*
 * gsb_entry_find() - what cuGetProcAddress answers
 * @version:    of the interface that the caller was built for
 * @per_thread: prefer the forms whose default stream is the thread's own; a name without such a form has one
 *              form for both
 *
 * Return: 0, -ENOENT (no such name), -ERANGE (the name is newer than version).
 */
int gsb_entry_find(const char *name, int version, bool per_thread, const struct gsb_entry **out);

/* Whether somebody in the process has looked up cuLibraryLoadData: runtimes of CUDA 12 and later do before all else. */
bool gsb_entry_asked_for_libraries(void);

/* Why a symbol is not carried, and what there is instead: the end of a sentence. NULL: refused.def does not say. */
const char *gsb_entry_why(const char *symbol);

/* Say once of a symbol that is called, not of one that is only looked up, that it is not carried.
 * CUDA_ERROR_NOT_SUPPORTED. */
CUresult gsb_entry_refuse(const char *symbol, _Atomic bool *said);

/* Says with GSB_DEBUG=debug what a call returns that has not succeeded; a query of what is not ready yet has. */
GSB_COLD void gsb_entry_failed(const char *symbol, CUresult result);

#define GSB_CU(class, symbol, name, since, pt, params, call) GSB_EXPORT CUresult symbol params;
#define GSB_CU_REFUSED(symbol, name, since, pt)		     GSB_EXPORT CUresult symbol(void);
#include "interpose/entries.def"

#endif
