/*
 * alias.c - see alias.h.
 */
#include "broker/engine/memory/alias.h"

#include "shm/region.h"

#define PAGE GSB_WINDOW_PAGE

static uint64_t last_page(uint64_t addr, uint64_t size)
{
	return addr + size - PAGE;
}

static int map_page(const struct gsb_host_window *w, uint64_t addr, uint64_t of)
{
	const struct gsb_device_ops *ops = w->dev->ops;
	int err = gsb_window_page(w->fd, addr, of - w->base);

	if (!err && ops->host_page)
		err = ops->host_page(w->dev, w->owner, w->fd, addr, of - w->base);
	return err;
}

int gsb_alias_make(const struct gsb_host_window *w, uint64_t addr, uint64_t size,
		   const uint64_t of[2])
{
	int err = of[0] ? map_page(w, addr, of[0]) : 0;

	if (!err && of[1])
		err = map_page(w, last_page(addr, size), of[1]);
	return err;
}

int gsb_alias_note(struct gsb_ranges *aliases, uint64_t addr, uint64_t size, const uint64_t of[2])
{
	int err = of[0] ? gsb_ranges_add(aliases, addr, PAGE) : 0;

	if (!err && of[1])
		err = gsb_ranges_add(aliases, last_page(addr, size), PAGE);
	return err;
}

int gsb_alias_end(const struct gsb_host_window *w, const struct gsb_ranges *aliases)
{
	int err = 0;

	for (size_t i = 0; i < aliases->n_items; i++) {
		const uint64_t addr = aliases->items[i].start;
		int failed = map_page(w, addr, addr);

		if (failed)
			err = failed;
	}
	return err;
}

static int find(const struct gsb_ranges *all, uint64_t page, struct gsb_ranges *out)
{
	return gsb_ranges_find(all, page) && !gsb_ranges_find(out, page)
		       ? gsb_ranges_add(out, page, PAGE)
		       : 0;
}

int gsb_alias_find(const struct gsb_ranges *all, uint64_t addr, uint64_t size,
		   struct gsb_ranges *out)
{
	int err = find(all, addr, out);

	return err ? err : find(all, last_page(addr, size), out);
}
