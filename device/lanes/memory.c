/*
 * memory.c - what a lane has to map of its engine's memory; see lane.h.
 *
 * Pinned memory lies at one address everywhere: its window is mapped once in each lane that has a space of it. Staging lies somewhere
 * else there, and is mapped with the first copy that names it. Memory that no file stands for is the engine's alone: a room stands
 * in for it, into which it is copied before, or from which behind.
 */
#include "device/lanes/lane.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/checked.h"
#include "shm/region.h"

#define ROOM_BYTES	(64ull << 10)
#define ROOM_KEPT_BYTES (4ull << 20) /* larger ones are not kept */

static uint64_t to_addr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void *to_pointer(uint64_t addr)
{
	return (void *)(uintptr_t)addr;
}

/* ---- numbers of what is mapped ---- */

static uint32_t take_number(struct lane *l)
{
	for (uint32_t i = 1; i < LANE_N_MAPS; i++)
		if (!(l->numbers[i / 64] >> i % 64 & 1)) {
			l->numbers[i / 64] |= 1ull << i % 64;
			return i;
		}
	return 0;
}

static void give_number(struct lane *l, uint32_t i)
{
	l->numbers[i / 64] &= ~(1ull << i % 64);
}

/* shared: many copies will name it. */
static int map_there(struct lane *l, uint64_t size, bool shared, int fd, uint32_t *number)
{
	uint32_t i = take_number(l);
	struct lane_call call = {.op = LANE_map, .n = {i, size, shared}, .fd = fd};
	int err = i ? lane_tell(l, &call) : -ENOMEM;

	if (err && i)
		give_number(l, i);
	*number = i;
	return err;
}

/* What the lane was told before may still name it: it comes to this behind that. If it cannot be told, what is there has its number for good. */
static void unmap_there(struct lane *l, uint32_t number, bool shared)
{
	if (!lane_tell(l, &(struct lane_call){.op = LANE_unmap, .n = {number, shared}}))
		give_number(l, number);
}

/* ---- rooms ---- */

static int make_room(struct lane *l, struct lane_map *room)
{
	void *at;
	int err = gsb_memfd_create("gsb-lane-room", room->size, &room->fd);

	if (err)
		return err;
	err = gsb_memfd_map(room->fd, room->size, &at);
	if (err)
		goto err_fd;
	err = map_there(l, room->size, false, room->fd, &room->number);
	if (err)
		goto err_map;
	room->addr = to_addr(at);
	return 0;
err_map:
	munmap(at, room->size);
err_fd:
	close(room->fd);
	return err;
}

static void free_room(struct lane_map *room)
{
	munmap(to_pointer(room->addr), room->size);
	close(room->fd);
	free(room);
}

static struct lane_map *pop_room(struct lane *l, uint64_t size)
{
	for (struct lane_map **p = &l->rooms; *p; p = &(*p)->next)
		if ((*p)->size >= size) {
			struct lane_map *room = *p;

			*p = room->next;
			return room;
		}
	return NULL;
}

struct lane_map *lane_room_take(struct lane *l, uint64_t size)
{
	struct lane_map *room = size <= ROOM_KEPT_BYTES ? pop_room(l, size) : NULL;

	if (room || size > UINT64_MAX / 2)
		return room;
	room = calloc(1, sizeof(*room));
	if (!room)
		return NULL;
	room->size = gsb_round_up(size, ROOM_BYTES);
	if (!make_room(l, room))
		return room;
	free(room);
	return NULL;
}

void lane_room_give(struct lane *l, struct lane_map *room)
{
	if (!room)
		return;
	if (room->size <= ROOM_KEPT_BYTES) {
		room->next = l->rooms;
		l->rooms = room;
		return;
	}
	unmap_there(l, room->number, false);
	free_room(room);
}

/* ---- shared memory ---- */

static bool holds(uint64_t from, uint64_t n, uint64_t addr, uint64_t size)
{
	return addr >= from && gsb_range_ok(addr - from, size, n);
}

static struct lane_map *map_shared(struct lane *l, const struct lane_shared *shared)
{
	struct lane_map *m = malloc(sizeof(*m));
	uint32_t number;

	if (!m || map_there(l, shared->size, true, shared->fd, &number)) {
		free(m);
		return NULL;
	}
	*m = (struct lane_map){.next = l->maps,
			       .addr = shared->addr,
			       .size = shared->size,
			       .number = number,
			       .fd = -1,
			       .of = shared};
	l->maps = m;
	return m;
}

const struct lane_map *lane_find_shared(struct lane *l, uint64_t addr, uint64_t size)
{
	for (struct lane_map *m = l->maps; m; m = m->next)
		if (holds(m->addr, m->size, addr, size))
			return m;
	for (struct lane_shared *s = l->dev->shared; s; s = s->next)
		if (holds(s->addr, s->size, addr, size))
			return map_shared(l, s);
	return NULL;
}

void lane_share(struct lanes_device *dev, uint64_t addr, uint64_t size, int fd)
{
	struct lane_shared *s = malloc(sizeof(*s));

	if (!s)
		return; /* it goes through rooms, and is slow */
	*s = (struct lane_shared){dev->shared, addr, size, fcntl(fd, F_DUPFD_CLOEXEC, 0)};
	if (s->fd < 0)
		free(s);
	else
		dev->shared = s;
}

static void unmap_shared(struct lane *l, const struct lane_shared *s)
{
	for (struct lane_map **p = &l->maps; *p; p = &(*p)->next)
		if ((*p)->of == s) {
			struct lane_map *m = *p;

			unmap_there(l, m->number, true);
			*p = m->next;
			free(m);
			return;
		}
}

void lane_unshare(struct lanes_device *dev, uint64_t addr)
{
	for (struct lane_shared **p = &dev->shared; *p; p = &(*p)->next)
		if ((*p)->addr == addr) {
			struct lane_shared *s = *p;

			for (struct lane *l = dev->lanes; l; l = l->next)
				unmap_shared(l, s);
			*p = s->next;
			close(s->fd);
			free(s);
			return;
		}
}

/* ---- windows ---- */

int lane_window_map(struct lane *l, int fd, uint64_t base, uint64_t size)
{
	struct lane_call call = {.op = LANE_window, .n = {base, size}, .fd = fd};
	struct lane_window *w;
	int err;

	for (w = l->windows; w; w = w->next)
		if (w->base == base && w->size == size)
			return 0;
	w = malloc(sizeof(*w));
	err = w ? lane_tell(l, &call) : -ENOMEM;
	if (err) {
		free(w);
		return err;
	}
	*w = (struct lane_window){l->windows, base, size};
	l->windows = w;
	return 0;
}

void lane_memory_finish(struct lane *l)
{
	while (l->maps) {
		struct lane_map *m = l->maps;

		l->maps = m->next;
		free(m);
	}
	while (l->rooms) {
		struct lane_map *m = l->rooms;

		l->rooms = m->next;
		free_room(m);
	}
	while (l->windows) {
		struct lane_window *w = l->windows;

		l->windows = w->next;
		free(w);
	}
}
