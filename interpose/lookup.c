/*
 * lookup.c - cuGetProcAddress: name, version and default-stream form to a function.
 *
 * NVIDIA's runtime looks up some 440 names before it calls anything, several of them at two versions, and
 * takes "not found" for an answer: a newer runtime than we know still starts. The table is entries.def in
 * the order of the file, so a name is found by binary search and its rows stand together.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "base/err.h"
#include "base/log.h"
#include "interpose/entries.h"
#include "interpose/hooks/hooks.h"

const struct gsb_entry gsb_entries[] = {
#define GSB_CU(class, symbol, name, since, pt, params, call) \
	{#name, #symbol, (void (*)(void))symbol, since, pt, GSB_ENTRY_##class},
#define GSB_CU_REFUSED(symbol, name, since, pt) \
	{#name, #symbol, (void (*)(void))symbol, since, pt, GSB_ENTRY_REFUSED},
#include "interpose/entries.def"
};
const unsigned gsb_n_entries = GSB_ARRAY_LEN(gsb_entries);

/* Index of the first row whose name is not below. */
static unsigned lower_bound(const char *name)
{
	unsigned lo = 0, hi = gsb_n_entries;

	while (lo < hi) {
		unsigned mid = (lo + hi) / 2;

		if (strcmp(gsb_entries[mid].name, name) < 0)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static unsigned end_of(unsigned first, const char *name)
{
	while (first < gsb_n_entries && !strcmp(gsb_entries[first].name, name))
		first++;
	return first;
}

int gsb_entry_find(const char *name, int version, bool per_thread, const struct gsb_entry **out)
{
	unsigned first = lower_bound(name), end = end_of(first, name);
	const struct gsb_entry *best = NULL;

	if (first == end)
		return -ENOENT;
	per_thread = per_thread && gsb_entries[end - 1].per_thread;
	for (unsigned i = first; i < end; i++)
		if (gsb_entries[i].per_thread == per_thread && (int)gsb_entries[i].since <= version)
			best = &gsb_entries[i];
	if (!best)
		return -ERANGE;
	*out = best;
	return 0;
}

/* NVIDIA's runtime loads code by that since CUDA 12. */
static _Atomic bool asked_for_libraries;

bool gsb_entry_asked_for_libraries(void)
{
	return atomic_load_explicit(&asked_for_libraries, memory_order_relaxed);
}

/* What is not there is NULL, and no error: the status says why. */
CUresult hook_cuGetProcAddress(const char *name, void **fn, int version, cuuint64_t flags,
			       CUdriverProcAddressQueryResult *status)
{
	const struct gsb_entry *entry = NULL;
	int r;

	if (!name || !fn || flags > CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM)
		return CUDA_ERROR_INVALID_VALUE;
	r = gsb_entry_find(name, version, flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM,
			   &entry);
	if (status)
		*status = !r		 ? CU_GET_PROC_ADDRESS_SUCCESS
			  : r == -ERANGE ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
					 : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
	*fn = r ? NULL : (void *)entry->fn;
	if (!strcmp(name, "cuLibraryLoadData"))
		atomic_store_explicit(&asked_for_libraries, true, memory_order_relaxed);
	return CUDA_SUCCESS;
}

CUresult hook_cuGetProcAddress_v1(const char *name, void **fn, int version, cuuint64_t flags)
{
	void *found = NULL;
	CUresult result = hook_cuGetProcAddress(name, fn ? &found : NULL, version, flags, NULL);

	if (result || !found)
		return result ? result : CUDA_ERROR_NOT_FOUND;
	*fn = found;
	return CUDA_SUCCESS;
}

static const struct gsb_entry *entry_of(const char *symbol)
{
	for (unsigned i = 0; i < gsb_n_entries; i++)
		if (!strcmp(gsb_entries[i].symbol, symbol))
			return &gsb_entries[i];
	return NULL;
}

/* The newer forms of a name stand behind it. */
static bool has_newer(const struct gsb_entry *e)
{
	for (const struct gsb_entry *n = e + 1;
	     n < gsb_entries + gsb_n_entries && !strcmp(n->name, e->name); n++)
		if (n->per_thread == e->per_thread && n->class != GSB_ENTRY_REFUSED)
			return true;
	return false;
}

const char *gsb_entry_why(const char *symbol)
{
	static const struct {
		const char *start, *why;
	} reasons[] = {
#define GSB_WHY(start, why) {start, why},
#include "interpose/refused.def"
	};
	const struct gsb_entry *e = entry_of(symbol);

	if (e && has_newer(e))
		return "it is a form for which CUDA has a newer one: build with its present headers";
	for (unsigned i = 0; i < GSB_ARRAY_LEN(reasons); i++)
		if (!strncmp(reasons[i].start, symbol, strlen(reasons[i].start)))
			return reasons[i].why;
	return NULL;
}

CUresult gsb_entry_refuse(const char *symbol, _Atomic bool *said)
{
	const char *why = gsb_entry_why(symbol);

	if (!atomic_exchange(said, true))
		gsb_log_say("%s is not carried, it returns CUDA_ERROR_NOT_SUPPORTED: %s "
			    "(said once; GSB_DEBUG=quiet silences this)",
			    symbol, why ? why : "nobody has needed it");
	return CUDA_ERROR_NOT_SUPPORTED;
}

void gsb_entry_failed(const char *symbol, CUresult result)
{
	const char *name = gsb_cuda_error_name(result);

	if (result != CUDA_ERROR_NOT_READY)
		gsb_log(GSB_LOG_DEBUG, "call", "%s returns %s", symbol,
			name ? name : "an error without a name");
}
