/*
 * answer.c - the calls of calls.def, by the lane's device. Numbers and bytes of a call are in the order of the operation's parameters.
 */
#include "device/lanes/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "shm/region.h"

#define LOG_BYTES 1024

static struct gsb_space *space_of(struct lane_server *s, uint64_t handle)
{
	return lane_table_find(&s->table, LANE_SPACE, handle);
}

static struct gsb_module *module_of(struct lane_server *s, uint64_t handle)
{
	return lane_table_find(&s->table, LANE_MODULE, handle);
}

static struct gsb_function *function_of(struct lane_server *s, uint64_t handle)
{
	return lane_table_find(&s->table, LANE_FUNCTION, handle);
}

static struct gsb_backing *backing_of(struct lane_server *s, uint64_t handle)
{
	return lane_table_find(&s->table, LANE_BACKING, handle);
}

/* The name that a call brought, ended by its NUL. NULL: it is none. */
static const char *name_in(const struct lane_msg *m)
{
	return m->n_bytes && !m->bytes[m->n_bytes - 1] ? (const char *)m->bytes : NULL;
}

static void give_log(struct lane_msg *m)
{
	m->bytes[LOG_BYTES - 1] = 0;
	m->n_bytes = (uint32_t)strlen((char *)m->bytes) + 1;
}

/* ---- memory of the engine ---- */

/* By that number: shared from now on, if many copies will name it. Its address is another here. */
static int do_map(struct lane_server *s, struct lane_msg *m, int fd)
{
	uint64_t i = m->n[0], size = m->n[1];
	void *at;
	int err = fd < 0 || !i || i >= LANE_N_MAPS || s->maps[i].at ? -EBADF
								    : gsb_memfd_map(fd, size, &at);

	if (err)
		return err;
	if (m->n[2] && s->ops->buffer_share)
		s->ops->buffer_share(s->dev, at, size, fd);
	s->maps[i] = (struct lane_mapped){at, size};
	return 0;
}

static int do_unmap(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct lane_mapped *is = m->n[0] < LANE_N_MAPS ? &s->maps[m->n[0]] : NULL;

	if (!is || !is->at)
		return -EBADF;
	if (!m->n[1] || !s->ops->buffer_unshare || !s->ops->buffer_unshare(s->dev, is->at))
		munmap(is->at, is->size);
	*is = (struct lane_mapped){0};
	return 0;
}

static int do_window(struct lane_server *s, struct lane_msg *m, int fd)
{
	return fd < 0 ? -EBADF : gsb_window_map(fd, m->n[0], m->n[1]);
}

/* ---- work ---- */

/* What could not be made its commands are told. */
static int do_queue_open(struct lane_server *s, struct lane_msg *m, int fd)
{
	const struct gsb_sm_range sms = {(uint32_t)m->n[2], (uint32_t)m->n[3]};
	struct lane_place *q = m->n[0] < LANE_N_QUEUES ? &s->queues[m->n[0]] : NULL;

	if (!q || q->queue)
		return -EBADF;
	q->err = s->ops->queue_create(s->dev, (int)(int64_t)m->n[1], sms, &q->queue);
	if (q->err)
		q->queue = NULL;
	return q->err;
}

static int do_queue_close(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct lane_place *q = m->n[0] < LANE_N_QUEUES ? &s->queues[m->n[0]] : NULL;

	if (!q)
		return -EBADF;
	if (q->queue)
		s->ops->queue_destroy(q->queue);
	*q = (struct lane_place){0};
	return 0;
}

static int find_launch(struct lane_server *s, struct lane_cmd *c)
{
	struct gsb_cmd_launch *l = &c->cmd.launch;

	l->function = function_of(s, c->function);
	l->as = c->as ? function_of(s, c->as) : NULL;
	l->params = c + 1;
	return !l->function || (c->as && !l->as) || l->params_bytes > c->bytes - sizeof(*c) ? -EBADF
											    : 0;
}

/* Where an end of a copy is, in what is mapped by that number. Its engine has looked that it fits. */
static int find_end(struct lane_server *s, uint32_t map, uint64_t *addr)
{
	if (!map)
		return 0;
	if (map >= LANE_N_MAPS || !s->maps[map].at)
		return -ENOMEM;
	*addr += (uint64_t)(uintptr_t)s->maps[map].at;
	return 0;
}

static int find_copy(struct lane_server *s, struct lane_cmd *c)
{
	int err = find_end(s, c->src_map, &c->cmd.copy.src);

	return err ? err : find_end(s, c->dst_map, &c->cmd.copy.dst);
}

int lane_issue(struct lane_server *s, struct lane_cmd *c)
{
	const struct lane_place *q = c->queue < LANE_N_QUEUES ? &s->queues[c->queue] : NULL;
	int err = 0;

	c->cmd.space = space_of(s, c->space);
	if (!q || !c->cmd.space || !q->queue)
		return q && q->err ? q->err : -EBADF;
	if (c->cmd.kind == GSB_CMD_LAUNCH)
		err = find_launch(s, c);
	else if (c->cmd.kind == GSB_CMD_COPY)
		err = find_copy(s, c);
	return err ? err : s->ops->issue(q->queue, &c->cmd);
}

/* Told with completions, and never asked. */
static int do_lost(struct lane_server *s, struct lane_msg *m, int fd)
{
	m->n[0] = s->ops->lost(s->dev);
	return 0;
}

/* ---- spaces and their memory ---- */

static int do_space_create(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space_params p;
	struct gsb_space *space;
	int err;

	if (m->n_bytes != sizeof(p))
		return -EPROTO;
	memcpy(&p, m->bytes, sizeof(p));
	m->n_bytes = 0;
	err = s->ops->space_create(s->dev, &p, &space);
	if (!err) {
		err = lane_table_add(&s->table, LANE_SPACE, 0, space, &m->n[0]);
		if (err)
			s->ops->space_destroy(space);
	}
	s->n_spaces += !err;
	return err;
}

static int do_space_destroy(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	if (!space)
		return -EBADF;
	lane_table_remove(&s->table, m->n[0]);
	s->ops->space_destroy(space);
	s->n_spaces--;
	return 0;
}

static int do_space_cancel(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	if (!space)
		return -EBADF;
	s->ops->space_cancel(space);
	return 0;
}

static int do_space_limit(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	if (!space)
		return -EBADF;
	s->ops->space_limit(space, m->n[1]);
	return 0;
}

static int do_mem_alloc(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	return space ? s->ops->mem_alloc(space, m->n[1], &m->n[0]) : -EBADF;
}

static int do_mem_free(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	return space ? s->ops->mem_free(space, m->n[1]) : -EBADF;
}

static int do_mem_cost(struct lane_server *s, struct lane_msg *m, int fd)
{
	m->n[0] = s->ops->mem_cost(s->dev, m->n[0]);
	return 0;
}

static int do_array_alloc(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);
	struct gsb_array array;

	if (!space || m->n_bytes != sizeof(array))
		return -EBADF;
	memcpy(&array, m->bytes, sizeof(array));
	m->n_bytes = 0;
	return s->ops->array_alloc(space, &array, &m->n[0]);
}

static int do_array_bytes(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_array array;

	if (m->n_bytes != sizeof(array))
		return -EPROTO;
	memcpy(&array, m->bytes, sizeof(array));
	m->n_bytes = 0;
	m->n[0] = s->ops->array_bytes(s->dev, &array);
	return 0;
}

static int do_texture_create(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);
	struct gsb_texture view;

	if (!space || m->n_bytes != sizeof(view))
		return -EBADF;
	memcpy(&view, m->bytes, sizeof(view));
	m->n_bytes = 0;
	return s->ops->texture_create(space, &view, m->n[1], &m->n[0]);
}

static int do_texture_destroy(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	return space ? s->ops->texture_destroy(space, m->n[1], m->n[2]) : -EBADF;
}

static int do_host_prepare(struct lane_server *s, struct lane_msg *m, int fd)
{
	if (s->ops->host_prepare)
		s->ops->host_prepare(s->dev, m->n[0], m->n[1], m->n[2]);
	return 0;
}

static int do_host_page(struct lane_server *s, struct lane_msg *m, int fd)
{
	return fd < 0 ? -EBADF : gsb_window_page(fd, m->n[0], m->n[1]);
}

static int do_host_pin(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	return space ? s->ops->host_pin(space, m->n[1], m->n[2]) : -EBADF;
}

static int do_host_unpin(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	return space ? s->ops->host_unpin(space, m->n[1], m->n[2]) : -EBADF;
}

/* ---- memory without addresses ---- */

/* Destroys it if it fails. */
static int add_backing(struct lane_server *s, struct gsb_backing *b, uint64_t *handle)
{
	int err = lane_table_add(&s->table, LANE_BACKING, 0, b, handle);

	if (err)
		s->ops->backing_destroy(b);
	s->n_spaces += !err;
	return err;
}

static int do_backing_create(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_backing *b;
	int err = s->ops->backing_create(s->dev, m->n[0], m->n[1], &b);

	return err ? err : add_backing(s, b, &m->n[0]);
}

static int do_backing_of_host(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_backing *b;
	int err = s->ops->backing_of_host(s->dev, m->n[0], fd, m->n[1], m->n[2], &b);

	return err ? err : add_backing(s, b, &m->n[0]);
}

static int do_backing_destroy(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_backing *b = backing_of(s, m->n[0]);

	if (!b)
		return -EBADF;
	lane_table_remove(&s->table, m->n[0]);
	s->ops->backing_destroy(b);
	s->n_spaces--;
	return 0;
}

static int do_backing_map(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_backing *b = backing_of(s, m->n[0]);

	return b ? s->ops->backing_map(b, m->n[1], m->n[2]) : -EBADF;
}

static int do_backing_access(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_backing *b = backing_of(s, m->n[0]);

	return b ? s->ops->backing_access(b, m->n[1], m->n[2], (CUmemAccess_flags)m->n[3]) : -EBADF;
}

static int do_backing_unmap(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_backing *b = backing_of(s, m->n[0]);

	if (!b)
		return -EBADF;
	s->ops->backing_unmap(b, m->n[1], m->n[2]);
	return 0;
}

static int do_backing_export(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_backing *b = backing_of(s, m->n[0]);

	return b ? s->ops->backing_export(b, &m->fd, &m->n[0]) : -EBADF;
}

/* And mapped. */
static int do_backing_import(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_backing *b;
	int err = s->ops->backing_import(s->dev, fd, m->n[2], m->n[3], &b);

	if (err)
		return err;
	err = s->ops->backing_map(b, m->n[0], m->n[1]);
	if (!err)
		return add_backing(s, b, &m->n[0]);
	s->ops->backing_destroy(b);
	return err;
}

/* ---- memory of other lanes, and for them ---- */

/* And exported. */
static int do_mem_share(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);
	struct gsb_backing *b;
	int err = space ? s->ops->mem_share(space, m->n[1], &b, &m->n[1], &m->n[2]) : -EBADF;

	if (err)
		return err;
	err = s->ops->backing_export(b, &m->fd, &m->n[3]);
	if (!err)
		return add_backing(s, b, &m->n[0]);
	s->ops->backing_destroy(b);
	return err;
}

/* Who has opened it has it, without the backing. */
static int do_mem_open(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);
	struct gsb_backing *b;
	int err = space ? s->ops->backing_import(s->dev, fd, m->n[1], m->n[2], &b) : -EBADF;

	if (err)
		return err;
	err = s->ops->mem_open(space, b, &m->n[0]);
	s->ops->backing_destroy(b);
	return err;
}

/* ---- code ---- */

/* What is known of a load, so that nobody has to ask. */
static void tell_module(struct lane_server *s, struct gsb_module *module, struct lane_msg *m)
{
	const struct gsb_device_ops *ops = s->ops;

	m->n[1] = ops->module_bytes ? ops->module_bytes(module) : 0;
	m->n[2] = ops->module_cost ? ops->module_cost(module) : 0;
	m->n[3] = ops->module_managed ? ops->module_managed(module) : 0;
	m->n[4] = ops->module_heap ? ops->module_heap(module) : 0;
}

static int do_module_load(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);
	struct gsb_module *module;
	uint64_t size = m->n[1];
	void *image;
	int err = !space || fd < 0 ? -EBADF : gsb_memfd_map(fd, m->n[2], &image);

	if (err)
		return err;
	m->bytes[0] = 0;
	err = s->ops->module_load(space, image, size, &module, (char *)m->bytes, LOG_BYTES);
	give_log(m);
	munmap(image, m->n[2]);
	if (!err) {
		err = lane_table_add(&s->table, LANE_MODULE, (uint32_t)m->n[0], module, &m->n[0]);
		if (err)
			s->ops->module_unload(module);
		else
			tell_module(s, module, m);
	}
	return err;
}

static int do_module_unload(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_module *module = module_of(s, m->n[0]);

	if (!module)
		return -EBADF;
	lane_table_remove(&s->table, m->n[0]);
	s->ops->module_unload(module);
	return 0;
}

static int do_module_place(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_module *module = module_of(s, m->n[0]);

	return module ? s->ops->module_place(module, m->n[1], m->n[2]) : -EBADF;
}

static int do_function_get(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_module *module = module_of(s, m->n[0]);
	const char *name = name_in(m);
	struct gsb_function_info *info;
	struct gsb_function *f;
	int err = -ENOMEM;

	if (!module || !name)
		return -EBADF;
	info = malloc(sizeof(*info));
	if (info)
		err = s->ops->function_get(module, name, &f, info);
	m->n_bytes = 0;
	if (!err)
		err = lane_table_add(&s->table, LANE_FUNCTION, (uint32_t)m->n[0], f, &m->n[0]);
	if (!err) {
		memcpy(m->bytes, info, sizeof(*info));
		m->n_bytes = sizeof(*info);
	}
	free(info);
	return err;
}

static int do_function_name(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_module *module = module_of(s, m->n[0]);
	const char *name = NULL;
	int err = module ? s->ops->function_name(module, (unsigned)m->n[1], &name) : -EBADF;
	size_t size = name ? strlen(name) + 1 : 0;

	if (err || size > sizeof(m->bytes))
		return err ? err : -ENOENT;
	memcpy(m->bytes, name, size);
	m->n_bytes = (uint32_t)size;
	return 0;
}

static int do_function_prepare(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_function *f = function_of(s, m->n[0]);
	struct gsb_module *module = module_of(s, m->n[1]);
	int err;

	if (!f || !module)
		return -EBADF;
	m->bytes[0] = 0;
	err = s->ops->function_prepare(f, (char *)m->bytes, LOG_BYTES);
	give_log(m);
	tell_module(s, module, m);
	return err;
}

static int do_global_get(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_module *module = module_of(s, m->n[0]);
	const char *name = name_in(m);

	m->n_bytes = 0;
	return module && name ? s->ops->global_get(module, name, &m->n[0], &m->n[1]) : -EBADF;
}

/* A launch that is asked about, as a command. */
static int asked_launch(struct lane_server *s, struct lane_msg *m, struct gsb_cmd_launch *l)
{
	if (m->n_bytes != sizeof(*l))
		return -EPROTO;
	memcpy(l, m->bytes, sizeof(*l));
	m->n_bytes = 0;
	l->function = function_of(s, m->n[0]);
	l->as = NULL;
	l->params = NULL;
	l->params_bytes = 0;
	return l->function ? 0 : -EBADF;
}

static int do_cluster_room(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_cmd_launch l;
	uint32_t n = 0;
	int err = asked_launch(s, m, &l);

	if (!err)
		err = s->ops->cluster_room(s->dev, &l, &n);
	m->n[0] = n;
	return err;
}

static int do_cluster_size(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_cmd_launch l;
	uint32_t n = 0;
	int err = asked_launch(s, m, &l);

	if (!err)
		err = s->ops->cluster_size(s->dev, &l, &n);
	m->n[0] = n;
	return err;
}

static int do_tensor_map(struct lane_server *s, struct lane_msg *m, int fd)
{
	uint64_t words[GSB_TENSOR_MAP_WORDS];
	struct gsb_tensor_map map;
	int err;

	if (m->n_bytes != sizeof(map))
		return -EPROTO;
	if (!s->ops->tensor_map)
		return -ENOTSUP;
	memcpy(&map, m->bytes, sizeof(map));
	err = s->ops->tensor_map(s->dev, 0, &map, words);
	memcpy(m->bytes, words, sizeof(words));
	m->n_bytes = err ? 0 : sizeof(words);
	return err;
}

/* ---- what kernels say, and what they may have ---- */

static int do_print_read(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);
	size_t size = m->n[1] < sizeof(m->bytes) ? m->n[1] : sizeof(m->bytes);
	bool to_stderr = m->n[2], more = false;

	if (!space)
		return -EBADF;
	m->n_bytes = (uint32_t)s->ops->print_read(space, (char *)m->bytes, size, &to_stderr, &more);
	m->n[0] = to_stderr;
	m->n[1] = more;
	return 0;
}

static int do_print_limit(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	if (space)
		m->n[0] = s->ops->print_limit(space, m->n[1]);
	return space ? 0 : -EBADF;
}

static int do_heap_size(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	return space ? s->ops->heap_size(space, m->n[1], &m->n[0]) : -EBADF;
}

static int do_stack_size(struct lane_server *s, struct lane_msg *m, int fd)
{
	struct gsb_space *space = space_of(s, m->n[0]);

	if (!space)
		return -EBADF;
	s->ops->stack_size(space, m->n[1]);
	return 0;
}

/* ---- which is which ---- */

static int (*const answers[])(struct lane_server *s, struct lane_msg *m, int fd) = {
#define GSB_LANE_CALL(name) [LANE_##name] = do_##name,
#define GSB_LANE_OWN(name)  [LANE_##name] = do_##name,
#include "device/lanes/calls.def"
#undef GSB_LANE_CALL
#undef GSB_LANE_OWN
};

void lane_answer(struct lane_server *s, struct lane_msg *m, int fd)
{
	uint32_t n_bytes = m->n_bytes;

	m->err = m->op && m->op < GSB_ARRAY_LEN(answers) ? answers[m->op](s, m, fd) : -ENOSYS;
	if (m->n_bytes == n_bytes && m->err)
		m->n_bytes = 0; /* what was asked is no answer */
}

uint64_t lane_has(const struct gsb_device_ops *ops)
{
	uint64_t has = 0;

#define GSB_LANE_CALL(name) has |= (uint64_t)(ops->name != NULL) << LANE_##name;
#define GSB_LANE_OWN(name)  has |= 1ull << LANE_##name;
#include "device/lanes/calls.def"
#undef GSB_LANE_CALL
#undef GSB_LANE_OWN
	return ops->may_keep ? has | LANE_MAY_KEEP : has;
}
