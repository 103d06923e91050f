/*
 * emu.c - the emulated device: its table of operations, its life, its queues, and what is checked when
 * work is issued. See emu.h for how the parts fit.
 */
#include "device/emu/emu.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "model/arch.h"

#define SCHEME		"emu"
#define DEFAULT_ARCH	"h200"
#define ARCH_FILE_BYTES 65536

/* ---- which architecture ---- */

/* Reads the whole of a small file; -EFBIG when it is not small. */
static int read_file(const char *path, char *buf, size_t size, size_t *len)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err = 0;
	ssize_t n;

	if (fd < 0)
		return -errno;
	*len = 0;
	do {
		n = read(fd, buf + *len, size - *len);
		if (n > 0)
			*len += (size_t)n;
	} while (n > 0 && *len < size);
	if (n < 0)
		err = -errno;
	else if (*len == size)
		err = -EFBIG;
	close(fd);
	return err;
}

static int arch_from_file(const char *path, struct gsb_arch *arch, char *err, size_t err_size)
{
	char *text = malloc(ARCH_FILE_BYTES);
	struct gsb_text_error where;
	size_t len = 0;
	int res;

	if (!text)
		return -ENOMEM;
	res = read_file(path, text, ARCH_FILE_BYTES, &len);
	if (res) {
		snprintf(err, err_size, "architecture file %s: %s", path, strerror(-res));
	} else {
		res = gsb_arch_parse(text, len, arch, &where);
		if (res)
			snprintf(err, err_size, "architecture file %s:%u: %s", path, where.line,
				 where.what);
	}
	free(text);
	return res;
}

/* "c2070, gtx680, ...": what could have been written. */
static void list_archs(char *buf, size_t size)
{
	const struct gsb_arch *arch;
	size_t used = 0;

	buf[0] = '\0';
	for (size_t i = 0; (arch = gsb_arch_at(i)) && used < size; i++)
		used += (size_t)snprintf(buf + used, size - used, "%s%s", i ? ", " : "",
					 arch->name);
}

static int find_arch(const char *spec, struct gsb_arch *arch, char *err, size_t err_size)
{
	const char *name = strchr(spec, ':');
	const struct gsb_arch *known;
	char names[256];

	name = name ? name + 1 : DEFAULT_ARCH;
	if (strchr(name, '/'))
		return arch_from_file(name, arch, err, err_size);
	known = gsb_arch_find(name);
	if (!known) {
		list_archs(names, sizeof(names));
		snprintf(err, err_size,
			 "device '%s': no such architecture; there are %s, or a file "
			 "by its path",
			 spec, names);
		return -ENODEV;
	}
	*arch = *known;
	return 0;
}

/* ---- life ---- */

static unsigned worker_count(const struct gsb_device_params *p)
{
	long n = p->n_workers ? (long)p->n_workers : sysconf(_SC_NPROCESSORS_ONLN);

	if (n < 1)
		n = 1;
	return n > EMU_WORKERS_MAX ? EMU_WORKERS_MAX : (unsigned)n;
}

/* Three quarters of this machine's memory. */
static size_t most_storage(void)
{
	long pages = sysconf(_SC_PHYS_PAGES), bytes = sysconf(_SC_PAGESIZE);

	return pages > 0 && bytes > 0 ? (size_t)pages / 4 * 3 * (size_t)bytes : SIZE_MAX / 4;
}

static void init_device(struct emu_device *dev, const struct gsb_device_params *p,
			const struct gsb_arch *arch)
{
	dev->ops = gsb_emu_ops;
	dev->base.ops = &dev->ops;
	if (p->real_clock) {
		dev->ops.advance = NULL;
		dev->ops.advance_to = NULL;
	}
	gsb_device_info_fill(&dev->info, arch, "Emulated",
			     p->mem_limit_bytes ? p->mem_limit_bytes : arch->mem_bytes);
	dev->info.clock_is_virtual = !p->real_clock;
	dev->real_clock = p->real_clock;
	dev->event_fd = -1;
	dev->max_allocs = emu_max_allocs();
	dev->storage.max_bytes = most_storage();
	pthread_mutex_init(&dev->lock, NULL);
	pthread_mutex_init(&dev->memory_lock, NULL);
	pthread_cond_init(&dev->work, NULL);
	LIST_INIT(&dev->queues);
	TAILQ_INIT(&dev->ready);
	TAILQ_INIT(&dev->open);
	TAILQ_INIT(&dev->free_jobs);
}

static void emu_close(struct gsb_device *base)
{
	struct emu_device *dev = to_emu(base);
	struct emu_job *job;

	emu_workers_stop(dev);
	while ((job = TAILQ_FIRST(&dev->free_jobs))) {
		TAILQ_REMOVE(&dev->free_jobs, job, open);
		free(job);
	}
	gsb_machine_destroy(dev->machine);
	free(dev->job_of_slot);
	gsb_code_cache_destroy(dev->codes);
	gsb_done_finish(&dev->done);
	if (dev->event_fd >= 0)
		close(dev->event_fd);
	pthread_cond_destroy(&dev->work);
	pthread_mutex_destroy(&dev->memory_lock);
	pthread_mutex_destroy(&dev->lock);
	free(dev);
}

/* What emu_close() takes down again, whatever of it is there. */
static int build_device(struct emu_device *dev, const struct gsb_device_params *p,
			const struct gsb_arch *arch)
{
	int err = gsb_emu_guard_install();

	if (!err)
		err = gsb_machine_create(arch, &gsb_rules_hardware, &dev->machine);
	if (!err)
		err = gsb_code_cache_create(&dev->codes);
	if (err)
		return err;
	dev->job_of_slot = calloc((size_t)arch->n_sms * arch->max_warps, sizeof(*dev->job_of_slot));
	if (!dev->job_of_slot)
		return -ENOMEM;
	dev->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (dev->event_fd < 0)
		return -errno;
	return emu_workers_start(dev, worker_count(p));
}

static int emu_open(const struct gsb_device_params *p, struct gsb_device **out, char *err,
		    size_t err_size)
{
	struct emu_device *dev;
	struct gsb_arch arch;
	int flip, res = find_arch(p->spec, &arch, err, err_size);

	if (res)
		return res;
	if (emu_flip_parse(p->flip, &flip)) {
		snprintf(err, err_size, "GSB_TEST_FLIP=%s: write 1 (each copy) or copy:N", p->flip);
		return -EINVAL;
	}
	dev = calloc(1, sizeof(*dev));
	if (!dev)
		return -ENOMEM;
	init_device(dev, p, &arch);
	dev->flip_nth = flip;
	res = build_device(dev, p, &arch);
	if (res) {
		snprintf(err, err_size, "device '%s': %s", p->spec, strerror(-res));
		emu_close(&dev->base);
		return res;
	}
	*out = &dev->base;
	return 0;
}

static const struct gsb_device_info *emu_info(struct gsb_device *dev)
{
	return &to_emu(dev)->info;
}

static void emu_space_cancel(struct gsb_space *space)
{
	pthread_mutex_lock(&space->dev->lock);
	emu_clock_cancel(space->dev, space);
	pthread_mutex_unlock(&space->dev->lock);
}

/* ---- queues ---- */

static int emu_queue_create(struct gsb_device *base, int priority, struct gsb_queue **out)
{
	struct emu_device *dev = to_emu(base);
	struct gsb_queue *queue = calloc(1, sizeof(*queue));

	if (!queue)
		return -ENOMEM;
	queue->dev = dev;
	queue->priority = priority;
	STAILQ_INIT(&queue->cmds);
	pthread_mutex_lock(&dev->lock);
	LIST_INSERT_HEAD(&dev->queues, queue, link);
	pthread_mutex_unlock(&dev->lock);
	*out = queue;
	return 0;
}

static void emu_queue_destroy(struct gsb_queue *queue)
{
	if (!queue)
		return;
	pthread_mutex_lock(&queue->dev->lock);
	LIST_REMOVE(queue, link);
	pthread_mutex_unlock(&queue->dev->lock);
	free(queue);
}

/* ---- issue ---- */

static bool dims_ok(const uint32_t dims[3], uint64_t x_max, uint64_t y_max, uint64_t z_max)
{
	return dims[0] && dims[1] && dims[2] && dims[0] <= x_max && dims[1] <= y_max &&
	       dims[2] <= z_max;
}

static bool reqntid_ok(const uint32_t req[3], const uint32_t block[3])
{
	return !req[0] || (block[0] == req[0] && block[1] == (req[1] ? req[1] : 1) &&
			   block[2] == (req[2] ? req[2] : 1));
}

static int check_geometry(const struct gsb_arch *arch, const struct gsb_cmd_launch *l)
{
	const struct gsb_code_kernel *k = l->function->kernel;
	uint64_t threads = (uint64_t)l->block[0] * l->block[1] * l->block[2];
	uint64_t most = arch->max_threads_per_block;

	if (!dims_ok(l->grid, GSB_GRID_X_MAX, GSB_GRID_YZ_MAX, GSB_GRID_YZ_MAX) ||
	    !dims_ok(l->block, most, most, GSB_BLOCK_Z_MAX))
		return -EINVAL;
	if (k->layout.max_threads && k->layout.max_threads < most)
		most = k->layout.max_threads;
	if (threads > most || !reqntid_ok(k->entry->tuning.reqntid, l->block))
		return -EINVAL;
	if (k->layout.dynamic_offset + l->smem_bytes > arch->smem_per_block_optin_bytes)
		return -EINVAL;
	return l->params_bytes < k->entry->param_bytes ? -EINVAL : 0;
}

static void fill_submit(struct emu_cmd *cmd, const struct gsb_arch *arch,
			const struct gsb_cmd_launch *l)
{
	const struct gsb_code_kernel *k = l->function->kernel;
	uint32_t threads = l->block[0] * l->block[1] * l->block[2];

	cmd->submit = (struct gsb_machine_submit){
		.kernel = {.threads_per_block = threads,
			   .regs_per_thread = gsb_code_regs(k, arch, threads),
			   .smem_bytes = (uint32_t)k->layout.dynamic_offset + l->smem_bytes,
			   .n_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2]},
		.priority = cmd->queue->priority,
		.cooperative = l->cooperative,
		.owner = cmd,
	};
}

static int copy_params(struct emu_cmd *cmd, const struct gsb_cmd_launch *l)
{
	uint8_t *to = cmd->inline_params;

	if (l->params_bytes > sizeof(cmd->inline_params)) {
		cmd->big_params = malloc(l->params_bytes);
		if (!cmd->big_params)
			return -ENOMEM;
		to = cmd->big_params;
	}
	if (l->params_bytes)
		memcpy(to, l->params, l->params_bytes);
	cmd->launch.params = to;
	cmd->launch.params_bytes = l->params_bytes;
	return 0;
}

static void fill_launch(struct emu_device *dev, struct emu_cmd *cmd, const struct gsb_cmd_launch *l)
{
	struct gsb_emu_launch *launch = &cmd->launch;

	launch->code = l->function->lowered;
	launch->pool = &l->function->pool;
	launch->memory = &cmd->space->memory;
	launch->storage = &cmd->space->storage;
	memcpy(launch->grid, l->grid, sizeof(launch->grid));
	memcpy(launch->block, l->block, sizeof(launch->block));
	launch->smem_bytes = l->smem_bytes;
	launch->n_sms = dev->info.arch.n_sms;
	launch->max_warps = dev->info.arch.max_warps;
}

static int prepare_launch(struct emu_device *dev, struct emu_cmd *cmd,
			  const struct gsb_cmd_launch *l)
{
	const struct gsb_arch *arch = &dev->info.arch;
	char log[GSB_PTX_ERROR_TEXT_BYTES];
	int err = check_geometry(arch, l);

	if (err)
		return err;
	fill_submit(cmd, arch, l);
	if (gsb_machine_check(dev->machine, &cmd->submit))
		return -E2BIG;
	err = emu_function_prepare(l->function, log, sizeof(log));
	if (err)
		return err;
	fill_launch(dev, cmd, l);
	return copy_params(cmd, l);
}

static int check_transfer(const struct gsb_cmd *cmd)
{
	const struct gsb_cmd_fill *f = &cmd->fill;

	if (cmd->kind != GSB_CMD_FILL)
		return 0;
	if (f->elem_bytes != 1 && f->elem_bytes != 2 && f->elem_bytes != 4)
		return -EINVAL;
	return f->dst % f->elem_bytes || (f->height > 1 && f->pitch % f->elem_bytes) ? -EINVAL : 0;
}

static int build_cmd(struct gsb_queue *queue, const struct gsb_cmd *from, struct emu_cmd *cmd)
{
	cmd->queue = queue;
	cmd->space = from->space;
	cmd->kind = from->kind;
	cmd->cookie = from->cookie;
	cmd->not_before = from->not_before_ns;
	switch (from->kind) {
	case GSB_CMD_LAUNCH: return prepare_launch(queue->dev, cmd, &from->launch);
	case GSB_CMD_COPY: cmd->copy = from->copy; return check_transfer(from);
	case GSB_CMD_FILL: cmd->fill = from->fill; return check_transfer(from);
	case GSB_CMD_MARK: return 0;
	}
	return -EINVAL;
}

static int emu_issue(struct gsb_queue *queue, const struct gsb_cmd *from)
{
	struct emu_device *dev = queue->dev;
	struct emu_cmd *cmd = calloc(1, sizeof(*cmd));
	int err;

	if (!cmd)
		return -ENOMEM;
	err = build_cmd(queue, from, cmd);
	if (err) {
		free(cmd->big_params);
		free(cmd);
		return err;
	}
	pthread_mutex_lock(&dev->lock);
	err = gsb_done_reserve(&dev->done, dev->n_in_flight + 1);
	if (err) {
		free(cmd->big_params);
		free(cmd);
	} else {
		cmd->launch.grid_id = dev->next_grid++;
		emu_clock_issue(dev, cmd);
	}
	pthread_mutex_unlock(&dev->lock);
	return err;
}

static unsigned emu_poll(struct gsb_device *base, struct gsb_completion *out, unsigned max)
{
	struct emu_device *dev = to_emu(base);
	uint64_t count;
	unsigned n;

	pthread_mutex_lock(&dev->lock);
	n = gsb_done_pop(&dev->done, out, max);
	if (dev->signalled && read(dev->event_fd, &count, sizeof(count)) == sizeof(count))
		dev->signalled = false;
	dev->armed = !n;
	pthread_mutex_unlock(&dev->lock);
	return n;
}

static int emu_event_fd(struct gsb_device *dev)
{
	return to_emu(dev)->event_fd;
}

static uint64_t emu_ran_ns(struct gsb_queue *queue)
{
	struct emu_device *dev = queue->dev;
	const struct emu_cmd *head;
	uint64_t ns;

	pthread_mutex_lock(&dev->lock);
	head = STAILQ_FIRST(&queue->cmds);
	ns = head ? emu_worker_ran_ns(head) : 0;
	pthread_mutex_unlock(&dev->lock);
	return ns;
}

/* ---- time ---- */

static uint64_t emu_now_ns(struct gsb_device *base)
{
	struct emu_device *dev = to_emu(base);
	uint64_t now;

	if (dev->real_clock)
		return gsb_clock_ns();
	pthread_mutex_lock(&dev->lock);
	now = dev->now_ns;
	pthread_mutex_unlock(&dev->lock);
	return now;
}

static void emu_advance(struct gsb_device *base)
{
	struct emu_device *dev = to_emu(base);

	pthread_mutex_lock(&dev->lock);
	if (dev->n_in_flight && !dev->real_clock) {
		dev->to_completion = true;
		emu_clock_step(dev);
	}
	pthread_mutex_unlock(&dev->lock);
}

static void emu_advance_to(struct gsb_device *base, uint64_t now)
{
	struct emu_device *dev = to_emu(base);

	pthread_mutex_lock(&dev->lock);
	if (now > dev->target_ns && !dev->real_clock) {
		dev->target_ns = now;
		emu_clock_step(dev);
	}
	pthread_mutex_unlock(&dev->lock);
}

const struct gsb_device_ops gsb_emu_ops = {
	.scheme = SCHEME,
	.open = emu_open,
	.close = emu_close,
	.info = emu_info,
	.mem_info = emu_mem_info,
	.space_create = emu_space_create,
	.space_cancel = emu_space_cancel,
	.space_limit = emu_space_limit,
	.space_destroy = emu_space_destroy,
	.mem_alloc = emu_mem_alloc,
	.mem_free = emu_mem_free,
	.host_pin = emu_host_pin,
	.host_unpin = emu_host_unpin,
	.module_load = emu_module_load,
	.module_unload = emu_module_unload,
	.function_get = emu_function_get,
	.global_get = emu_global_get,
	.function_name = emu_function_name,
	.function_prepare = emu_function_prepare,
	.queue_create = emu_queue_create,
	.queue_destroy = emu_queue_destroy,
	.issue = emu_issue,
	.poll = emu_poll,
	.event_fd = emu_event_fd,
	.ran_ns = emu_ran_ns,
	.now_ns = emu_now_ns,
	.advance = emu_advance,
	.advance_to = emu_advance_to,
};
