/*
 * lanes.c - the operations of lanes; see lane.h.
 *
 * A space is in the lane of its owner, which is taken from the pool for the first and ends with the last: what is left in a process
 * never meets another program. What each lane would answer alike is asked of any.
 */
#include "device/lanes/lanes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/clock.h"
#include "base/log.h"
#include "device/lanes/lane.h"
#include "shm/region.h"

#define SCHEME "lanes"

/* Of the descriptors that this process may have, a lane's memory has one in so many: half of them are for all lanes together. */
#define DESCRIPTORS_SHARE (2 * GSB_N_SLOTS)

struct gsb_backing {
	struct lane *lane; /* that counts it */
	uint64_t owner, handle, size;
	uint64_t number; /* so that what is asked of two is never the same */
	int fd;		 /* by which other lanes have it; 0: none has asked yet */
	uint64_t at;
	struct lane_mapping *mappings; /* in other lanes */
};

struct lane_mapping {
	struct lane_mapping *next;
	struct lane *lane;
	uint64_t owner, addr, handle;
};

/* ---- the lanes of owners ---- */

static bool is_dead(struct lane *l)
{
	return atomic_load_explicit(&l->dead, memory_order_relaxed);
}

static struct lane *lane_of(struct lanes_device *dev, uint64_t owner)
{
	for (struct lane *l = dev->lanes; l; l = l->next)
		if (owner && l->owner == owner && !is_dead(l))
			return l;
	return NULL;
}

/* One that has died while it was asked for an owner who had nothing else there: he asks elsewhere. */
static void drop_dead(struct lanes_device *dev, uint64_t owner)
{
	struct lane *l, *next;

	for (l = dev->lanes; l; l = next) {
		next = l->next;
		if (l->is_kept && l->owner == owner && is_dead(l)) {
			l->is_kept = false;
			lanes_drop(l);
		}
	}
}

/* One for a user more. -EINPROGRESS: none is ready. */
static int find_lane(struct lanes_device *dev, uint64_t owner, struct lane **out)
{
	struct lane *l;
	int err;

	drop_dead(dev, owner);
	l = lane_of(dev, owner);
	if (l) {
		l->n_users++;
		*out = l;
		return 0;
	}
	err = lane_pool_take(dev, &l);
	if (err)
		return err;
	l->owner = owner;
	l->n_users = 1;
	pthread_mutex_lock(&dev->list_lock);
	l->next = dev->lanes;
	dev->lanes = l;
	pthread_mutex_unlock(&dev->list_lock);
	*out = l;
	return 0;
}

void lanes_drop(struct lane *l)
{
	struct lane **at = &l->dev->lanes;

	if (--l->n_users)
		return;
	while (*at != l)
		at = &(*at)->next;
	pthread_mutex_lock(&l->dev->list_lock);
	*at = l->next;
	pthread_mutex_unlock(&l->dev->list_lock);
	if (l->armed && !lane_sleep_end(&l->page->engine_sleeps))
		l->dev->n_rings++; /* it has rung, or is about to */
	lane_pool_release(l);
}

/* ---- calls: the engine's thread waits for none of them, and other threads for all ---- */

static bool is_issuer(const struct lanes_device *dev)
{
	return pthread_equal(pthread_self(), dev->issuer);
}

static int ask(struct lane *l, const struct gsb_space *of, struct lane_call *c)
{
	return is_issuer(l->dev) ? lane_ask(l, of, c) : lane_call(l, c);
}

static int ask_for_memory(struct lane *l, const struct gsb_space *of, struct lane_call *c)
{
	return is_issuer(l->dev) ? lane_ask_for_memory(l, of, c) : lane_call(l, c);
}

/* What has gone with its lane is done, too. */
static void tell(struct lane *l, struct lane_call *c)
{
	if (is_issuer(l->dev))
		lane_tell(l, c);
	else
		lane_call(l, c);
}

/* ---- spaces and their memory ---- */

/* One that is being made: who asks for it asks again. */
struct lane_birth {
	struct lane_birth *next;
	struct gsb_space_params params;
	struct gsb_space *space;
};

static struct lane_birth **find_birth(struct lanes_device *dev, const struct gsb_space_params *p)
{
	struct lane_birth **at = &dev->births;

	while (*at &&
	       ((*at)->params.owner != p->owner || (*at)->params.device_base != p->device_base))
		at = &(*at)->next;
	return at;
}

/* With a lane, which has the window of its pinned memory. */
static int begin_space(struct lanes_device *dev, const struct gsb_space_params *p,
		       struct lane_birth **out)
{
	struct lane_birth *b = calloc(1, sizeof(*b));
	struct gsb_space *space = calloc(1, sizeof(*space));
	int err = b && space ? find_lane(dev, p->owner, &space->lane) : -ENOMEM;

	if (err)
		goto err_space;
	if (p->host_size && p->host_fd > 0)
		err = lane_window_map(space->lane, p->host_fd, p->host_base, p->host_size);
	if (err)
		goto err_lane;
	space->dev = dev;
	b->space = space;
	b->params = *p;
	b->next = dev->births;
	dev->births = b;
	*out = b;
	return 0;
err_lane:
	lanes_drop(space->lane);
err_space:
	free(space);
	free(b);
	return err;
}

static int lanes_space_create(struct gsb_device *base, const struct gsb_space_params *p,
			      struct gsb_space **out)
{
	struct lanes_device *dev = to_lanes(base);
	struct lane_call call = {.op = LANE_space_create, .in_bytes = sizeof(*p)};
	struct lane_birth **at = find_birth(dev, p), *b = *at;
	int err = b ? 0 : begin_space(dev, p, &b);

	if (err)
		return err;
	at = find_birth(dev, p);
	call.in = &b->params;
	err = lane_ask(b->space->lane, b->space, &call);
	if (err == -EINPROGRESS)
		return err;
	*at = b->next;
	if (err) {
		lanes_drop(b->space->lane);
		free(b->space);
	} else {
		b->space->handle = call.n[0];
		*out = b->space;
	}
	free(b);
	return err;
}

/* One that cannot abandon what runs in it ends, for its program is at its end: a tenant that is dead, or over the limit. */
static void lanes_space_cancel(struct gsb_space *space)
{
	struct lane_call call = {.op = LANE_space_cancel, .n = {space->handle}};

	if (space->dev->pool.has >> LANE_space_cancel & 1)
		tell(space->lane, &call);
	else if (space->lane->n_open)
		lane_condemn(space->lane);
}

static void lanes_space_limit(struct gsb_space *space, uint64_t bytes)
{
	struct lane_call call = {.op = LANE_space_limit, .n = {space->handle, bytes}};

	tell(space->lane, &call);
}

static void forget_module(struct gsb_module *m);

static void lanes_space_destroy(struct gsb_space *space)
{
	struct lane_call call = {.op = LANE_space_destroy};

	if (!space)
		return;
	call.n[0] = space->handle;
	tell(space->lane, &call);
	lane_forget(space->lane, space);
	while (space->modules)
		forget_module(space->modules);
	lanes_drop(space->lane);
	free(space);
}

/* What has gone with its lane has been given back. */
static int gone_is_freed(int err)
{
	return err == -EOWNERDEAD ? 0 : err;
}

static int lanes_mem_alloc(struct gsb_space *space, uint64_t size, uint64_t *addr)
{
	struct lane_call call = {.op = LANE_mem_alloc, .n = {space->handle, size}};
	int err = ask_for_memory(space->lane, space, &call);

	if (!err)
		*addr = call.n[0];
	return err;
}

static int lanes_mem_free(struct gsb_space *space, uint64_t addr)
{
	struct lane_call call = {.op = LANE_mem_free, .n = {space->handle, addr}};

	tell(space->lane, &call);
	return 0;
}

static uint64_t lanes_mem_cost(struct gsb_device *dev, uint64_t size)
{
	return to_lanes(dev)->inner->mem_cost(NULL, size);
}

static int lanes_array_alloc(struct gsb_space *space, const struct gsb_array *array, uint64_t *addr)
{
	struct lane_call call = {.op = LANE_array_alloc,
				 .n = {space->handle},
				 .in = array,
				 .in_bytes = sizeof(*array)};
	int err = ask_for_memory(space->lane, space, &call);

	if (!err)
		*addr = call.n[0];
	return err;
}

static uint64_t lanes_array_bytes(struct gsb_device *dev, const struct gsb_array *array)
{
	return to_lanes(dev)->inner->array_bytes(NULL, array);
}

static int lanes_texture_create(struct gsb_space *space, const struct gsb_texture *view,
				bool is_surface, uint64_t *handle)
{
	struct lane_call call = {.op = LANE_texture_create,
				 .n = {space->handle, is_surface},
				 .in = view,
				 .in_bytes = sizeof(*view)};
	int err = ask(space->lane, space, &call);

	if (!err)
		*handle = call.n[0];
	return err;
}

static int lanes_texture_destroy(struct gsb_space *space, uint64_t handle, bool is_surface)
{
	struct lane_call call = {.op = LANE_texture_destroy,
				 .n = {space->handle, handle, is_surface}};

	return gone_is_freed(ask(space->lane, space, &call));
}

/* ---- memory of the host ---- */

/* The space or the backing for which it is prepared stays until that is done, and so does its lane. */
static int call_lane_of(struct gsb_device *base, uint64_t owner, struct lane_call *call)
{
	struct lanes_device *dev = to_lanes(base);
	struct lane *l;

	pthread_mutex_lock(&dev->list_lock);
	l = lane_of(dev, owner);
	pthread_mutex_unlock(&dev->list_lock);
	return l ? lane_call(l, call) : 0;
}

static void lanes_host_prepare(struct gsb_device *dev, uint64_t owner, uint64_t addr, uint64_t size)
{
	struct lane_call call = {.op = LANE_host_prepare, .n = {owner, addr, size}};

	call_lane_of(dev, owner, &call);
}

static int lanes_host_page(struct gsb_device *dev, uint64_t owner, int fd, uint64_t addr,
			   uint64_t from)
{
	struct lane_call call = {.op = LANE_host_page, .n = {addr, from}, .fd = fd};

	return call_lane_of(dev, owner, &call);
}

static int lanes_host_pin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	struct lane_call call = {.op = LANE_host_pin, .n = {space->handle, addr, size}};

	return ask(space->lane, space, &call);
}

static int lanes_host_unpin(struct gsb_space *space, uint64_t addr, uint64_t size)
{
	struct lane_call call = {.op = LANE_host_unpin, .n = {space->handle, addr, size}};

	tell(space->lane, &call);
	return 0;
}

static void lanes_buffer_share(struct gsb_device *dev, void *addr, uint64_t size, int fd)
{
	lane_share(to_lanes(dev), (uint64_t)(uintptr_t)addr, size, fd);
}

/* Lanes have mapped it for themselves. */
static bool lanes_buffer_unshare(struct gsb_device *dev, void *addr)
{
	lane_unshare(to_lanes(dev), (uint64_t)(uintptr_t)addr);
	return false;
}

/* ---- memory without addresses: in the lane of its owner ---- */

/* A lane that nobody else uses is in use while it is asked for something. */
static void go_on_asking(struct lane *l)
{
	if (l->n_users == 1)
		l->is_kept = true;
	else
		lanes_drop(l);
}

static void has_answered(struct lane *l)
{
	l->n_users -= l->is_kept;
	l->is_kept = false;
}

/* That of an owner, which has a user more then. */
static int ask_lane_of(struct lanes_device *dev, uint64_t owner, struct lane_call *call,
		       struct lane **out)
{
	int err = find_lane(dev, owner, out);

	if (err)
		return err;
	err = ask_for_memory(*out, NULL, call);
	if (err == -EINPROGRESS) {
		go_on_asking(*out);
		return err;
	}
	has_answered(*out);
	if (err)
		lanes_drop(*out);
	return err;
}

static int make_backing(struct lanes_device *dev, uint64_t owner, struct lane_call *call,
			uint64_t size, struct gsb_backing **out)
{
	struct gsb_backing *b = calloc(1, sizeof(*b));
	int err = b ? ask_lane_of(dev, owner, call, &b->lane) : -ENOMEM;

	if (err) {
		free(b);
		return err;
	}
	b->owner = owner;
	b->handle = call->n[0];
	b->size = size;
	b->number = ++dev->n_backings;
	*out = b;
	return 0;
}

static int lanes_backing_create(struct gsb_device *base, uint64_t owner, uint64_t size,
				struct gsb_backing **out)
{
	struct lane_call call = {.op = LANE_backing_create, .n = {owner, size}};

	return make_backing(to_lanes(base), owner, &call, size, out);
}

/* By its file, which the lane has from then on. What it pins there keeps its one program, and nobody else. */
static int lanes_backing_of_host(struct gsb_device *base, uint64_t owner, int fd, uint64_t at,
				 uint64_t size, struct gsb_backing **out)
{
	struct lane_call call = {.op = LANE_backing_of_host, .n = {owner, at, size}, .fd = fd};

	return make_backing(to_lanes(base), owner, &call, size, out);
}

static void lanes_backing_destroy(struct gsb_backing *b)
{
	struct lane_call call = {.op = LANE_backing_destroy, .n = {b->handle}};

	tell(b->lane, &call);
	if (b->fd > 0) {
		close(b->fd);
		b->lane->n_lent--;
	}
	lanes_drop(b->lane);
	free(b);
}

/*
 * What others may have of a lane's memory costs this process a descriptor each, for as long as anybody has it: it outlives the lane. So that
 * no program has all of them, and others cannot connect any more, each has its share. Asked when the descriptor has come, for several may be on
 * their way.
 */
static int may_lend(struct lane *l)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) || l->n_lent < limit.rlim_cur / DESCRIPTORS_SHARE)
		return 0;
	if (!l->told_full)
		gsb_log(GSB_LOG_WARN, "lanes",
			"lane %d: its program has %u allocations that others may open, each of which takes a "
			"descriptor of the engine, and can have no more of them: free some, or start gsbrokerd with a higher limit of "
			"descriptors (%llu)",
			(int)l->pid, l->n_lent, (unsigned long long)limit.rlim_cur);
	l->told_full = true;
	return -ENOMEM;
}

/* For other lanes; once. */
static int export(struct gsb_backing *b)
{
	struct lane_call call = {.op = LANE_backing_export, .n = {b->handle}};
	int err = b->fd ? 0 : ask(b->lane, NULL, &call);

	if (b->fd || err)
		return err;
	if (!call.out_fd)
		return -EOWNERDEAD; /* it says what no lane says */
	err = may_lend(b->lane);
	if (err) {
		close(call.out_fd);
		return err;
	}
	b->fd = call.out_fd;
	b->at = call.n[0];
	b->lane->n_lent++;
	return 0;
}

static int map_elsewhere(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	struct lane_call call = {.op = LANE_backing_import,
				 .n = {owner, addr, b->at, b->size, b->number},
				 .fd = b->fd};
	struct lane_mapping *m = calloc(1, sizeof(*m));
	int err = m ? ask_lane_of(b->lane->dev, owner, &call, &m->lane) : -ENOMEM;

	if (err) {
		free(m);
		return err;
	}
	m->owner = owner;
	m->addr = addr;
	m->handle = call.n[0];
	LL_PREPEND(b->mappings, m);
	return 0;
}

static int lanes_backing_map(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	struct lane_call call = {.op = LANE_backing_map, .n = {b->handle, owner, addr}};
	int err;

	if (owner == b->owner)
		return ask(b->lane, NULL, &call);
	err = export(b);
	return err ? err : map_elsewhere(b, owner, addr);
}

/* NULL: it is in the lane where it was made. */
static struct lane_mapping *find_mapping(const struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	struct lane_mapping *m;

	LL_FOREACH (b->mappings, m)
		if (m->owner == owner && m->addr == addr)
			return m;
	return NULL;
}

static int lanes_backing_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
				CUmemAccess_flags access)
{
	const struct lane_mapping *m = find_mapping(b, owner, addr);
	struct lane_call call = {.op = LANE_backing_access,
				 .n = {m ? m->handle : b->handle, owner, addr, access}};

	return ask(m ? m->lane : b->lane, NULL, &call);
}

static void lanes_backing_unmap(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	struct lane_mapping *m = find_mapping(b, owner, addr);
	struct lane_call call = {.op = LANE_backing_unmap,
				 .n = {m ? m->handle : b->handle, owner, addr}};
	struct lane_call end = {.op = LANE_backing_destroy, .n = {call.n[0]}};

	tell(m ? m->lane : b->lane, &call);
	if (!m)
		return;
	tell(m->lane, &end);
	lanes_drop(m->lane);
	LL_DELETE(b->mappings, m);
	free(m);
}

/* ---- memory of one lane in another: by a descriptor, which lives without either ---- */

static int lanes_mem_share(struct gsb_space *space, uint64_t addr, struct gsb_backing **out,
			   uint64_t *offset, uint64_t *size)
{
	struct lane_call call = {.op = LANE_mem_share, .n = {space->handle, addr}};
	struct gsb_backing *b = calloc(1, sizeof(*b));
	int err = b ? ask(space->lane, space, &call) : -ENOMEM;

	if (!err && (!call.out_fd || call.n[1] >= call.n[2])) {
		lane_condemn(space->lane);
		err = -EOWNERDEAD;
	}
	if (!err && may_lend(space->lane)) {
		tell(space->lane,
		     &(struct lane_call){.op = LANE_backing_destroy, .n = {call.n[0]}});
		err = -ENOMEM;
	}
	if (err) {
		if (call.out_fd > 0)
			close(call.out_fd);
		free(b);
		return err;
	}
	b->lane = space->lane;
	b->lane->n_users++;
	b->lane->n_lent++;
	b->owner = b->lane->owner;
	b->number = ++space->dev->n_backings;
	b->handle = call.n[0];
	*offset = call.n[1];
	*size = b->size = call.n[2];
	b->at = call.n[3];
	b->fd = call.out_fd;
	*out = b;
	return 0;
}

static int lanes_mem_open(struct gsb_space *space, struct gsb_backing *b, uint64_t *addr)
{
	int err = export(b);
	struct lane_call call = {
		.op = LANE_mem_open, .n = {space->handle, b->at, b->size, b->number}, .fd = b->fd};

	if (!err)
		err = ask(space->lane, space, &call);
	if (!err)
		*addr = call.n[0];
	return err;
}

/* ---- code ---- */

static void learn_module(struct gsb_module *m, const uint64_t n[LANE_N_NUMBERS])
{
	m->bytes = n[1];
	m->cost = n[2];
	m->managed = n[3];
	m->heap = n[4];
}

static void add_module(struct gsb_module *m)
{
	struct gsb_space *space = m->space;

	pthread_mutex_lock(&space->dev->code_lock);
	m->next = space->modules;
	if (m->next)
		m->next->prev = m;
	space->modules = m;
	pthread_mutex_unlock(&space->dev->code_lock);
}

/* An image is too long for a message: it goes as a file. */
static int put_image(const void *image, size_t size, uint64_t *room, int *fd)
{
	void *at;
	int err = size ? 0 : -EBADMSG;

	*room = gsb_round_up(size, 4096);
	if (!err)
		err = gsb_memfd_create("gsb-lane-image", *room, fd);
	if (err)
		return err;
	err = gsb_memfd_map(*fd, *room, &at);
	if (err) {
		close(*fd);
		return err;
	}
	memcpy(at, image, size);
	munmap(at, *room);
	return 0;
}

static int lanes_module_load(struct gsb_space *space, const void *image, size_t size,
			     struct gsb_module **out, char *log, size_t log_size)
{
	struct lane_call call = {.op = LANE_module_load,
				 .n = {space->handle, size},
				 .out = log,
				 .out_bytes = (uint32_t)log_size};
	struct gsb_module *m = calloc(1, sizeof(*m));
	int err = m ? put_image(image, size, &call.n[2], &call.fd) : -ENOMEM;

	if (err) {
		free(m);
		return err;
	}
	err = lane_call(space->lane, &call);
	close(call.fd);
	if (log_size)
		log[log_size - 1] = 0;
	if (err) {
		free(m);
		return err;
	}
	m->space = space;
	m->handle = call.n[0];
	learn_module(m, call.n);
	add_module(m);
	*out = m;
	return 0;
}

static void forget_module(struct gsb_module *m)
{
	struct gsb_space *space = m->space;

	pthread_mutex_lock(&space->dev->code_lock);
	if (m->next)
		m->next->prev = m->prev;
	*(m->prev ? &m->prev->next : &space->modules) = m->next;
	pthread_mutex_unlock(&space->dev->code_lock);
	while (m->functions) {
		struct gsb_function *f = m->functions;

		m->functions = f->next;
		free(f);
	}
	for (unsigned i = 0; i < m->n_names; i++)
		free(m->names[i]);
	free(m->names);
	free(m);
}

static void lanes_module_unload(struct gsb_module *m)
{
	struct lane_call call = {.op = LANE_module_unload};

	if (!m)
		return;
	call.n[0] = m->handle;
	tell(m->space->lane, &call);
	forget_module(m);
}

static uint64_t lanes_module_bytes(struct gsb_module *m)
{
	return m->bytes;
}

static uint64_t lanes_module_cost(struct gsb_module *m)
{
	return m->cost;
}

static uint64_t lanes_module_managed(struct gsb_module *m)
{
	return m->managed;
}

static uint64_t lanes_module_heap(struct gsb_module *m)
{
	return m->heap;
}

static int lanes_module_place(struct gsb_module *m, uint64_t addr, bool initialise)
{
	struct lane_call call = {.op = LANE_module_place, .n = {m->handle, addr, initialise}};

	return lane_call(m->space->lane, &call);
}

static int lanes_function_get(struct gsb_module *m, const char *name, struct gsb_function **out,
			      struct gsb_function_info *info)
{
	struct lane_call call = {.op = LANE_function_get,
				 .n = {m->handle},
				 .in = name,
				 .in_bytes = (uint32_t)strlen(name) + 1,
				 .out = info,
				 .out_bytes = sizeof(*info)};
	struct gsb_function *f = calloc(1, sizeof(*f));
	int err = f ? lane_call(m->space->lane, &call) : -ENOMEM;

	if (!err && call.out_bytes != sizeof(*info))
		err = -EPROTO;
	if (err) {
		free(f);
		return err == -E2BIG ? -ENOENT : err; /* no kernel has such a name */
	}
	f->module = m;
	f->handle = call.n[0];
	pthread_mutex_lock(&m->space->dev->code_lock);
	f->next = m->functions;
	m->functions = f;
	pthread_mutex_unlock(&m->space->dev->code_lock);
	*out = f;
	return 0;
}

static int lanes_global_get(struct gsb_module *m, const char *name, uint64_t *addr, uint64_t *size)
{
	struct lane_call call = {.op = LANE_global_get,
				 .n = {m->handle},
				 .in = name,
				 .in_bytes = (uint32_t)strlen(name) + 1};
	int err = ask(m->space->lane, m->space, &call);

	if (err)
		return err == -E2BIG ? -ENOENT : err;
	*addr = call.n[0];
	*size = call.n[1];
	return 0;
}

/* The next that is not known. -ENOENT: there is none. */
static int ask_name(struct gsb_module *m)
{
	char name[LANE_BYTES_MAX] = "";
	struct lane_call call = {.op = LANE_function_name,
				 .n = {m->handle, m->n_names},
				 .out = name,
				 .out_bytes = sizeof(name)};
	char **names = reallocarray(m->names, m->n_names + 1, sizeof(char *));
	int err;

	if (!names)
		return -ENOMEM;
	m->names = names;
	err = ask(m->space->lane, m->space, &call);
	if (!err && (!call.out_bytes || name[call.out_bytes - 1]))
		err = -ENOENT;
	if (err)
		return err;
	names[m->n_names] = strdup(name);
	if (!names[m->n_names])
		return -ENOMEM;
	m->n_names++;
	return 0;
}

/* Those before it are asked for first. */
static int lanes_function_name(struct gsb_module *m, unsigned i, const char **name)
{
	int err = 0;

	while (!err && i >= m->n_names)
		err = ask_name(m);
	if (!err)
		*name = m->names[i];
	return err;
}

static int lanes_function_prepare(struct gsb_function *f, char *log, size_t log_size)
{
	struct lane_call call = {.op = LANE_function_prepare,
				 .n = {f->handle, f->module->handle},
				 .out = log,
				 .out_bytes = (uint32_t)log_size};
	int err = lane_call(f->module->space->lane, &call);

	if (log_size)
		log[log_size - 1] = 0;
	if (!err)
		learn_module(f->module, call.n);
	return err;
}

/* What is asked again is to be the same, byte by byte. */
static int ask_launch(enum lane_op op, const struct gsb_cmd_launch *l, uint32_t *n)
{
	struct gsb_space *space = l->function->module->space;
	struct gsb_cmd_launch is;
	struct lane_call call = {
		.op = op, .n = {l->function->handle}, .in = &is, .in_bytes = sizeof(is)};
	int err;

	memset(&is, 0, sizeof(is));
	memcpy(is.grid, l->grid, sizeof(is.grid));
	memcpy(is.block, l->block, sizeof(is.block));
	memcpy(is.cluster, l->cluster, sizeof(is.cluster));
	is.smem_bytes = l->smem_bytes;
	is.cooperative = l->cooperative;
	err = ask(space->lane, space, &call);

	if (!err)
		*n = (uint32_t)call.n[0];
	return err;
}

static int lanes_cluster_room(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n)
{
	return ask_launch(LANE_cluster_room, l, n);
}

static int lanes_cluster_size(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n)
{
	return ask_launch(LANE_cluster_size, l, n);
}

/* Who has no lane yet has one for so long. */
static int lanes_tensor_map(struct gsb_device *base, uint64_t owner, const struct gsb_tensor_map *m,
			    uint64_t words[GSB_TENSOR_MAP_WORDS])
{
	struct lanes_device *dev = to_lanes(base);
	struct lane_call call = {.op = LANE_tensor_map,
				 .in = m,
				 .in_bytes = sizeof(*m),
				 .out = words,
				 .out_bytes = GSB_TENSOR_MAP_WORDS * sizeof(*words)};
	struct lane *l;
	int err = find_lane(dev, owner, &l);

	if (err)
		return err;
	err = ask(l, NULL, &call);
	if (err == -EINPROGRESS) {
		go_on_asking(l);
		return err;
	}
	has_answered(l);
	lanes_drop(l);
	return err;
}

/* ---- what kernels say, and what they may have ---- */

static int lanes_print_read(struct gsb_space *space, char *buf, size_t size, bool *to_stderr,
			    bool *more)
{
	uint32_t most = (uint32_t)(size < LANE_BYTES_MAX ? size : LANE_BYTES_MAX);
	struct lane_call call = {.op = LANE_print_read,
				 .n = {space->handle, size, *to_stderr},
				 .out = buf,
				 .out_bytes = most};
	int err = ask(space->lane, space, &call);

	if (err == -EINPROGRESS)
		return err;
	*more = !err && call.n[1];
	if (!err && call.out_bytes)
		*to_stderr = call.n[0];
	return err ? 0 : (int)call.out_bytes;
}

static uint64_t lanes_print_limit(struct gsb_space *space, uint64_t bytes)
{
	struct lane_call call = {.op = LANE_print_limit, .n = {space->handle, bytes}};
	int err = ask(space->lane, space, &call);

	if (err == -EINPROGRESS)
		return 0;
	return err ? bytes : call.n[0];
}

static int lanes_heap_size(struct gsb_space *space, uint64_t bytes, uint64_t *now)
{
	struct lane_call call = {.op = LANE_heap_size, .n = {space->handle, bytes}};
	int err = ask(space->lane, space, &call);

	if (!err)
		*now = call.n[0];
	return err;
}

static void lanes_stack_size(struct gsb_space *space, uint64_t bytes)
{
	struct lane_call call = {.op = LANE_stack_size, .n = {space->handle, bytes}};

	tell(space->lane, &call);
}

/* ---- the device ---- */

static const struct gsb_device_info *lanes_info(struct gsb_device *dev)
{
	return &to_lanes(dev)->pool.info;
}

/* What ends as a whole is a lane, and with it no other. */
static CUresult lanes_lost(struct gsb_device *dev)
{
	return CUDA_SUCCESS;
}

/* What it says that it has: not more than there is. */
static uint64_t used_by(struct lane *l, uint64_t most)
{
	uint64_t used = atomic_load_explicit(&l->page->used_bytes, memory_order_relaxed);

	return used < most ? used : most;
}

/* Each counts what it has of a device that all of them share. */
static void lanes_mem_info(struct gsb_device *base, uint64_t *free_bytes, uint64_t *total_bytes)
{
	struct lanes_device *dev = to_lanes(base);
	uint64_t total = dev->pool.info.total_mem_bytes, used = 0;

	for (struct lane *l = dev->lanes; l; l = l->next)
		if (!is_dead(l))
			used += used_by(l, total - used);
	*total_bytes = total;
	*free_bytes = total - used;
}

static bool lanes_is_settled(struct gsb_device *dev, uint64_t owner)
{
	struct lane *l = lane_of(to_lanes(dev), owner);

	return !l || !lane_is_behind(l);
}

static uint64_t lanes_now_ns(struct gsb_device *dev)
{
	return gsb_clock_ns();
}

static void destroy(struct lanes_device *dev)
{
	pthread_mutex_destroy(&dev->code_lock);
	pthread_mutex_destroy(&dev->list_lock);
	if (dev->event_fd >= 0)
		close(dev->event_fd);
	free(dev);
}

static void lanes_close(struct gsb_device *base)
{
	struct lanes_device *dev = to_lanes(base);

	lane_pool_stop(dev);
	while (dev->shared)
		lane_unshare(dev, dev->shared->addr);
	gsb_done_finish(&dev->done);
	destroy(dev);
}

/* What the device of the lanes has not, these have not either. */
static void leave_out(struct lanes_device *dev)
{
	uint64_t has = dev->pool.has | 1ull << LANE_space_cancel;

#define GSB_LANE_CALL(name)            \
	if (!(has >> LANE_##name & 1)) \
		dev->ops.name = NULL;
#define GSB_LANE_OWN(name)
#include "device/lanes/calls.def"
#undef GSB_LANE_CALL
#undef GSB_LANE_OWN
	dev->ops.may_keep = has & LANE_MAY_KEEP;
}

static int tell_params(struct lane_hello *h, const struct gsb_device_params *p, const char *spec)
{
	int n = snprintf(h->spec, sizeof(h->spec), "%s", spec);

	h->n_workers = p->n_workers;
	h->real_clock = p->real_clock;
	h->single = true;
	h->mem_limit_bytes = p->mem_limit_bytes;
	h->code_folder_bytes = p->code_folder_bytes;
	h->virtual_base = p->virtual_base;
	h->virtual_size = p->virtual_size;
	snprintf(h->flip, sizeof(h->flip), "%s", p->flip ? p->flip : "");
	snprintf(h->code_folder, sizeof(h->code_folder), "%s",
		 p->code_folder ? p->code_folder : "");
	return n < 0 || (size_t)n >= sizeof(h->spec) ? -ENAMETOOLONG : 0;
}

/* Beside this program. */
static void find_program(const struct gsb_device_params *p, char path[PATH_MAX])
{
	ssize_t n = readlink("/proc/self/exe", path, PATH_MAX - sizeof("gsb-lane"));
	char *slash;

	path[n > 0 ? n : 0] = 0;
	slash = strrchr(path, '/');
	if (p->lane_program)
		snprintf(path, PATH_MAX, "%s", p->lane_program);
	else if (slash)
		strcpy(slash + 1, "gsb-lane");
}

static int lanes_open(const struct gsb_device_params *p, struct gsb_device **out, char *err,
		      size_t err_size)
{
	const char *spec = strchr(p->spec, ':');
	struct lanes_device *dev;
	int res;

	if (!spec || !strncmp(spec + 1, SCHEME ":", strlen(SCHEME ":"))) {
		snprintf(err, err_size,
			 "device '%s': name the device of the lanes: lanes:cuda:0, lanes:emu:h200",
			 p->spec);
		return -ENODEV;
	}
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	dev->ops = gsb_lanes_ops;
	dev->base.ops = &dev->ops;
	dev->issuer = pthread_self();
	pthread_mutex_init(&dev->code_lock, NULL);
	pthread_mutex_init(&dev->list_lock, NULL);
	dev->inner = gsb_device_find(spec + 1);
	find_program(p, dev->program);
	dev->answer_ms = p->lane_answer_ms;
	dev->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	res = dev->event_fd < 0 ? -errno : tell_params(&dev->hello, p, spec + 1);
	if (!res)
		res = lane_pool_start(dev, p->n_spare_lanes, err, err_size);
	if (res) {
		destroy(dev);
		return res;
	}
	leave_out(dev);
	*out = &dev->base;
	return 0;
}

const struct gsb_device_ops gsb_lanes_ops = {
	.scheme = SCHEME,
	.open = lanes_open,
	.close = lanes_close,
	.info = lanes_info,
	.mem_info = lanes_mem_info,
	.is_settled = lanes_is_settled,
	.lost = lanes_lost,
	.space_create = lanes_space_create,
	.space_cancel = lanes_space_cancel,
	.space_limit = lanes_space_limit,
	.space_destroy = lanes_space_destroy,
	.mem_alloc = lanes_mem_alloc,
	.mem_cost = lanes_mem_cost,
	.mem_free = lanes_mem_free,
	.loads_apart = true,
	.array_alloc = lanes_array_alloc,
	.array_bytes = lanes_array_bytes,
	.texture_create = lanes_texture_create,
	.texture_destroy = lanes_texture_destroy,
	.host_prepare = lanes_host_prepare,
	.host_page = lanes_host_page,
	.host_pin = lanes_host_pin,
	.host_unpin = lanes_host_unpin,
	.buffer_share = lanes_buffer_share,
	.buffer_unshare = lanes_buffer_unshare,
	.mem_share = lanes_mem_share,
	.mem_open = lanes_mem_open,
	.backing_create = lanes_backing_create,
	.backing_of_host = lanes_backing_of_host,
	.backing_destroy = lanes_backing_destroy,
	.backing_map = lanes_backing_map,
	.backing_access = lanes_backing_access,
	.backing_unmap = lanes_backing_unmap,
	.module_load = lanes_module_load,
	.module_unload = lanes_module_unload,
	.module_bytes = lanes_module_bytes,
	.module_cost = lanes_module_cost,
	.module_managed = lanes_module_managed,
	.module_place = lanes_module_place,
	.module_heap = lanes_module_heap,
	.function_get = lanes_function_get,
	.global_get = lanes_global_get,
	.function_name = lanes_function_name,
	.function_prepare = lanes_function_prepare,
	.cluster_room = lanes_cluster_room,
	.cluster_size = lanes_cluster_size,
	.tensor_map = lanes_tensor_map,
	.queue_create = lanes_queue_create,
	.queue_destroy = lanes_queue_destroy,
	.issue = lanes_issue,
	.poll = lanes_poll,
	.event_fd = lanes_event_fd,
	.stay_awake = lanes_stay_awake,
	.print_read = lanes_print_read,
	.print_limit = lanes_print_limit,
	.heap_size = lanes_heap_size,
	.stack_size = lanes_stack_size,
	.now_ns = lanes_now_ns,
};
