/*
 * storage.c - see storage.h.
 */
#include "device/emu/memory/storage.h"

#include <stdatomic.h>

#include "base/checked.h"

void gsb_emu_storage_give(struct gsb_emu_storage *s, size_t bytes)
{
	if (!s)
		return;
	atomic_fetch_sub_explicit(&s->used_bytes, bytes, memory_order_relaxed);
	atomic_fetch_sub_explicit(&s->sum->used_bytes, bytes, memory_order_relaxed);
}

bool gsb_emu_storage_take(struct gsb_emu_storage *s, size_t bytes)
{
	size_t own, all;

	if (!s)
		return true;
	own = atomic_fetch_add_explicit(&s->used_bytes, bytes, memory_order_relaxed);
	all = atomic_fetch_add_explicit(&s->sum->used_bytes, bytes, memory_order_relaxed);
	if (gsb_range_ok(all + bytes, own + bytes, s->sum->max_bytes))
		return true;
	gsb_emu_storage_give(s, bytes);
	return false;
}
