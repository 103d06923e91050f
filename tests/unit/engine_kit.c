/*
 * engine_kit.c - see engine_kit.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/checked.h"
#include "base/compiler.h"
#include "device/range.h"
#include "shm/channel.h"
#include "shm/region.h"
#include "shm/wait.h"
#include "tests/unit/engine_kit.h"

/* ---- the device ---- */

struct gsb_space {
	struct kit_device *dev;
	struct gsb_space_params p;
	struct gsb_ranges ranges;
	uint64_t used_bytes;
};

struct gsb_module {
	struct gsb_space *space;
	struct gsb_function *functions;
};

struct gsb_function {
	struct gsb_function *next;
	struct gsb_module *module;
};

struct gsb_queue {
	struct kit_device *dev;
	int priority;
	unsigned n_open;
	uint64_t cookie; /* of what is open */
};

static struct kit_device *to_kit(struct gsb_device *dev)
{
	return gsb_container_of(dev, struct kit_device, base);
}

static const struct gsb_device_info *kit_info(struct gsb_device *dev)
{
	return &to_kit(dev)->info;
}

static void kit_mem_info(struct gsb_device *dev, uint64_t *free_bytes, uint64_t *total_bytes)
{
	*total_bytes = to_kit(dev)->info.total_mem_bytes;
	*free_bytes = *total_bytes - to_kit(dev)->used_bytes;
}

static int kit_space_create(struct gsb_device *dev, const struct gsb_space_params *p,
			    struct gsb_space **out)
{
	struct gsb_space *s;
	void *want = (void *)(uintptr_t)p->device_base;
	void *got = mmap(want, p->device_size, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

	if (got != want)
		return -EEXIST;
	s = calloc(1, sizeof(*s));
	s->dev = to_kit(dev);
	s->p = *p;
	gsb_ranges_init(&s->ranges, p->device_base, p->device_size);
	s->dev->n_spaces++;
	*out = s;
	return 0;
}

static void push_run(struct kit_device *d, unsigned i, CUresult result, uint64_t start_ns,
		     uint64_t end_ns)
{
	assert_in_range(i, 0, d->n_issued - 1);
	assert_false(d->log[i].done);
	d->log[i].done = true;
	d->log[i].queue->n_open--;
	d->n_open--;
	d->done[d->n_done++] = (struct gsb_completion){
		.cookie = d->log[i].cookie,
		.result = result,
		.start_ns = start_ns,
		.end_ns = end_ns,
		.detail = "as the test wants it",
	};
	if (end_ns > d->now_ns)
		d->now_ns = end_ns;
}

static void push_done(struct kit_device *d, unsigned i, CUresult result, uint64_t end_ns)
{
	push_run(d, i, result, end_ns, end_ns);
}

/* What is given back must be nothing that a command on the device still works with. */
static void check_unused(const struct gsb_space *s, uint64_t addr, uint64_t size)
{
	const struct kit_device *d = s->dev;

	for (unsigned i = 0; i < d->n_issued; i++) {
		const struct kit_cmd *c = &d->log[i];

		if (c->done || (c->addr - addr >= size && c->src - addr >= size))
			continue;
		fail_msg("%#llx+%llu is given back under command %u", (unsigned long long)addr,
			 (unsigned long long)size, i);
	}
}

static void check_not_running(const struct gsb_module *m)
{
	const struct kit_device *d = m->space->dev;

	for (unsigned i = 0; i < d->n_issued; i++)
		if (!d->log[i].done && d->log[i].module == m)
			fail_msg("a module is unloaded under command %u", i);
}

void kit_device_forget(struct kit_device *d)
{
	assert_int_equal(d->n_open, 0);
	d->n_issued = 0;
}

void kit_complete_run(struct kit_device *d, unsigned i, CUresult result, uint64_t start_ns,
		      uint64_t end_ns)
{
	const uint64_t one = 1;

	push_run(d, i, result, start_ns, end_ns);
	assert_int_equal(write(d->event_fd, &one, sizeof(one)), sizeof(one));
}

void kit_complete(struct kit_device *d, unsigned i, CUresult result, uint64_t end_ns)
{
	kit_complete_run(d, i, result, end_ns, end_ns);
}

static void kit_space_cancel(struct gsb_space *space)
{
	struct kit_device *d = space->dev;

	d->n_cancels++;
	for (unsigned i = 0; i < d->n_issued; i++)
		if (d->log[i].space == space && !d->log[i].done)
			kit_complete(d, i, CUDA_ERROR_LAUNCH_FAILED, d->now_ns);
}

static void kit_space_limit(struct gsb_space *space, uint64_t mem_limit_bytes)
{
	space->p.mem_limit_bytes = mem_limit_bytes;
}

static void kit_space_destroy(struct gsb_space *s)
{
	struct kit_device *d = s->dev;

	for (unsigned i = 0; i < d->n_issued; i++)
		if (d->log[i].space == s)
			assert_true(d->log[i].done);
	check_unused(s, s->p.device_base, s->p.device_size);
	munmap((void *)(uintptr_t)s->p.device_base, s->p.device_size);
	d->used_bytes -= s->used_bytes;
	d->n_spaces--;
	gsb_ranges_finish(&s->ranges);
	free(s);
}

static int kit_mem_alloc(struct gsb_space *s, uint64_t size, uint64_t *addr)
{
	uint64_t limit = s->p.mem_limit_bytes;
	int err = limit && s->used_bytes + size > limit ? -EDQUOT : 0;

	if (!err)
		err = gsb_ranges_alloc(&s->ranges, size, 256, 4096, addr);
	if (err)
		return err;
	memset((void *)(uintptr_t)*addr, 0, size);
	s->used_bytes += size;
	s->dev->used_bytes += size;
	return 0;
}

static int kit_mem_free(struct gsb_space *s, uint64_t addr)
{
	struct gsb_range was;
	int err = gsb_ranges_remove(&s->ranges, addr, &was);

	if (err)
		return err;
	check_unused(s, was.start, was.size);
	s->used_bytes -= was.used;
	s->dev->used_bytes -= was.used;
	return 0;
}

static int kit_host_pin(struct gsb_space *s, uint64_t addr, uint64_t size)
{
	return 0;
}

static int kit_host_unpin(struct gsb_space *s, uint64_t addr, uint64_t size)
{
	check_unused(s, addr, size);
	return 0;
}

/* ---- memory without addresses ---- */

struct gsb_backing {
	struct kit_device *dev;
	uint64_t owner, size;
	uint64_t counted; /* of the device */
	int fd;
	uint64_t at;
};

static int kit_backing_create(struct gsb_device *base, uint64_t owner, uint64_t size,
			      struct gsb_backing **out)
{
	struct kit_device *d = gsb_container_of(base, struct kit_device, base);
	struct gsb_backing *b = calloc(1, sizeof(*b));

	*b = (struct gsb_backing){.dev = d, .owner = owner, .size = size, .counted = size};
	b->fd = memfd_create("kit", MFD_CLOEXEC);
	assert_int_equal(ftruncate(b->fd, (off_t)size), 0);
	d->n_backings++;
	d->used_bytes += size;
	*out = b;
	return 0;
}

static int kit_backing_of_host(struct gsb_device *base, uint64_t owner, int fd, uint64_t at,
			       uint64_t size, struct gsb_backing **out)
{
	struct kit_device *d = gsb_container_of(base, struct kit_device, base);
	struct gsb_backing *b;

	if (d->backing_err)
		return d->backing_err;
	b = calloc(1, sizeof(*b));
	*b = (struct gsb_backing){.dev = d, .owner = owner, .size = size, .fd = dup(fd), .at = at};
	d->n_backings++;
	*out = b;
	return 0;
}

static void kit_backing_destroy(struct gsb_backing *b)
{
	b->dev->n_backings--;
	b->dev->used_bytes -= b->counted;
	if (b->fd >= 0)
		close(b->fd);
	free(b);
}

static int kit_backing_map(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	if (b->dev->backing_err)
		return b->dev->backing_err;
	assert_ptr_not_equal(mmap((void *)(uintptr_t)addr, b->size, PROT_NONE,
				  MAP_SHARED | MAP_FIXED_NOREPLACE, b->fd, (off_t)b->at),
			     MAP_FAILED);
	b->dev->n_mappings++;
	return 0;
}

/* Of any space: all of an owner's have it. */
static void check_nobody_works(const struct kit_device *d, uint64_t addr, uint64_t size)
{
	for (unsigned i = 0; i < d->n_issued; i++)
		if (!d->log[i].done)
			check_unused(d->log[i].space, addr, size);
}

static int kit_backing_access(struct gsb_backing *b, uint64_t owner, uint64_t addr,
			      CUmemAccess_flags access)
{
	if (b->dev->backing_err)
		return b->dev->backing_err;
	if (b->dev->refuse_access && !--b->dev->refuse_access)
		return -ENOTSUP;
	if (access != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
		check_nobody_works(b->dev, addr, b->size);
	return mprotect((void *)(uintptr_t)addr, b->size,
			(access & 1 ? PROT_READ : 0) | (access & 2 ? PROT_WRITE : 0));
}

static void kit_backing_unmap(struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	check_nobody_works(b->dev, addr, b->size);
	munmap((void *)(uintptr_t)addr, b->size);
	b->dev->n_mappings--;
}

/* No bytes are shared here: who has what when is what is tested. */
static int kit_mem_share(struct gsb_space *s, uint64_t addr, struct gsb_backing **out,
			 uint64_t *offset, uint64_t *size)
{
	const struct gsb_range *r = gsb_ranges_find(&s->ranges, addr);
	struct gsb_backing *b;

	if (s->dev->backing_err)
		return s->dev->backing_err;
	if (!r || r->start != addr)
		return -EINVAL;
	b = calloc(1, sizeof(*b));
	*b = (struct gsb_backing){.dev = s->dev, .size = r->size, .fd = -1};
	if (s->dev->piece_bytes > b->size)
		b->size = s->dev->piece_bytes;
	s->dev->n_backings++;
	*offset = b->size - r->size;
	*size = b->size;
	*out = b;
	return 0;
}

static int kit_mem_open(struct gsb_space *s, struct gsb_backing *b, uint64_t *addr)
{
	int err = s->dev->backing_err;

	if (!err)
		err = gsb_ranges_alloc(&s->ranges, b->size,
				       b->size < GSB_BACKING_UNIT ? 256 : GSB_BACKING_UNIT, 4096,
				       addr);
	if (!err)
		gsb_ranges_set_used(&s->ranges, *addr, 0); /* it counts where it came from */
	return err;
}

static int kit_module_load(struct gsb_space *s, const void *image, size_t size,
			   struct gsb_module **out, char *log, size_t log_size)
{
	struct gsb_module *m;

	if (size < 4 || memcmp(image, "good", 4)) {
		snprintf(log, log_size, "line 1: this is no module");
		return -EBADMSG;
	}
	m = calloc(1, sizeof(*m));
	m->space = s;
	__atomic_add_fetch(&s->dev->n_modules, 1, __ATOMIC_SEQ_CST);
	*out = m;
	return 0;
}

static void kit_module_unload(struct gsb_module *m)
{
	struct gsb_function *f, *next;

	check_not_running(m);
	for (f = m->functions; f; f = next) {
		next = f->next;
		free(f);
	}
	__atomic_sub_fetch(&m->space->dev->n_modules, 1, __ATOMIC_SEQ_CST);
	free(m);
}

static uint64_t kit_module_bytes(struct gsb_module *m)
{
	return m->space->dev->module_bytes;
}

static uint64_t kit_module_cost(struct gsb_module *m)
{
	return m->space->dev->module_cost;
}

static uint64_t kit_module_managed(struct gsb_module *m)
{
	return m->space->dev->module_managed;
}

static int kit_module_place(struct gsb_module *m, uint64_t addr, bool initialise)
{
	m->space->dev->managed = addr;
	m->space->dev->initialised = initialise;
	return 0;
}

static uint64_t kit_module_heap(struct gsb_module *m)
{
	return m->space->dev->module_heap;
}

static int kit_heap_size(struct gsb_space *space, uint64_t bytes, uint64_t *now)
{
	if (space->dev->heap_in_use)
		return -EINVAL;
	space->dev->heap_size = *now = bytes;
	return 0;
}

static int kit_function_get(struct gsb_module *m, const char *name, struct gsb_function **out,
			    struct gsb_function_info *info)
{
	struct gsb_function *f;

	if (strcmp(name, "inc"))
		return -ENOENT;
	f = calloc(1, sizeof(*f));
	f->module = m;
	f->next = m->functions;
	m->functions = f;
	memset(info, 0, sizeof(*info));
	info->attrs[4] = 16;
	info->params_bytes = sizeof(struct kit_inc);
	info->n_params = 2;
	info->params[0] = (struct gsb_param){0, 8};
	info->params[1] = (struct gsb_param){8, 4};
	*out = f;
	return 0;
}

static int kit_global_get(struct gsb_module *m, const char *name, uint64_t *addr, uint64_t *size)
{
	return -ENOENT;
}

static int kit_function_name(struct gsb_module *m, unsigned i, const char **name)
{
	*name = "inc";
	return i ? -ENOENT : 0;
}

static int kit_function_prepare(struct gsb_function *f, char *log, size_t log_size)
{
	struct kit_device *d = f->module->space->dev;
	int err = __atomic_load_n(&d->prepare_err, __ATOMIC_SEQ_CST);

	if (!d->prepares_late || d->prepares_late == f->module->space) {
		pthread_mutex_lock(&d->preparing);
		pthread_mutex_unlock(&d->preparing);
	}
	if (err)
		snprintf(log, log_size, "inc: opcode frobnicate is not carried");
	return err;
}

static int kit_queue_create(struct gsb_device *dev, int priority, struct gsb_sm_range sms,
			    struct gsb_queue **out)
{
	struct gsb_queue *q = calloc(1, sizeof(*q));

	q->dev = to_kit(dev);
	q->priority = priority;
	q->dev->n_queues++;
	assert_in_range(q->dev->n_queues, 1, GSB_N_POOLED + 1);
	*out = q;
	return 0;
}

static void kit_queue_destroy(struct gsb_queue *q)
{
	assert_int_equal(q->n_open, 0);
	q->dev->n_queues--;
	free(q);
}

static void run_fill(const struct gsb_cmd_fill *f)
{
	for (uint64_t row = 0; row < f->height; row++)
		for (uint64_t i = 0; i < f->width; i++)
			memcpy((void *)(uintptr_t)(f->dst + row * f->pitch + i * f->elem_bytes),
			       &f->value, f->elem_bytes);
}

static void run_copy(const struct gsb_cmd_copy *c)
{
	for (uint64_t row = 0; row < c->height; row++)
		memmove((void *)(uintptr_t)(c->dst + row * c->dst_pitch),
			(void *)(uintptr_t)(c->src + row * c->src_pitch), c->width);
}

/* What a kernel does with its parameters is the device's to check, not the engine's. */
static CUresult run_inc(const struct gsb_space *s, const struct kit_inc *inc)
{
	const struct gsb_range *r = gsb_ranges_find(&s->ranges, inc->p);

	if (!r || !gsb_range_ok(inc->p - r->start, 4ull * inc->n, r->size))
		return CUDA_ERROR_ILLEGAL_ADDRESS;
	if (inc->p % 4)
		return CUDA_ERROR_MISALIGNED_ADDRESS;
	for (uint32_t i = 0; i < inc->n; i++)
		((uint32_t *)(uintptr_t)inc->p)[i]++;
	return CUDA_SUCCESS;
}

/* The bytes change at issue: what matters to the tests is that issue comes after all it waits for. */
static CUresult run_command(const struct gsb_cmd *cmd, struct kit_cmd *log)
{
	struct kit_inc inc;

	switch (cmd->kind) {
	case GSB_CMD_FILL:
		run_fill(&cmd->fill);
		log->addr = cmd->fill.dst;
		break;
	case GSB_CMD_COPY:
		run_copy(&cmd->copy);
		log->addr = cmd->copy.dst;
		log->src = cmd->copy.src;
		break;
	case GSB_CMD_LAUNCH:
		memcpy(&inc, cmd->launch.params, sizeof(inc));
		log->addr = inc.p;
		log->module = cmd->launch.function->module;
		memcpy(log->grid, cmd->launch.grid, sizeof(log->grid));
		memcpy(log->block, cmd->launch.block, sizeof(log->block));
		memcpy(log->params, cmd->launch.params,
		       cmd->launch.params_bytes < sizeof(log->params) ? cmd->launch.params_bytes
								      : sizeof(log->params));
		return run_inc(cmd->space, &inc);
	}
	return CUDA_SUCCESS;
}

static int kit_issue(struct gsb_queue *q, const struct gsb_cmd *cmd)
{
	struct kit_device *d = q->dev;
	struct kit_cmd *log;
	CUresult result;

	if (d->issue_err)
		return d->issue_err;
	assert_in_range(d->n_issued, 0, KIT_LOG_MAX - 1);
	if (q->n_open) /* one flight: never two of them in a queue */
		assert_int_equal(q->cookie, cmd->cookie);
	q->cookie = cmd->cookie;
	q->n_open++;
	d->n_open++;
	log = &d->log[d->n_issued++];
	*log = (struct kit_cmd){
		.kind = cmd->kind,
		.space = cmd->space,
		.queue = q,
		.cookie = cmd->cookie,
		.not_before_ns = cmd->not_before_ns,
		.more = cmd->more,
		.urgent = cmd->urgent,
	};
	result = run_command(cmd, log);
	if (d->automatic)
		push_done(d, d->n_issued - 1, result, d->now_ns);
	return 0;
}

static unsigned kit_poll(struct gsb_device *dev, struct gsb_completion *out, unsigned max)
{
	struct kit_device *d = to_kit(dev);
	unsigned n = d->n_done < max ? d->n_done : max;
	uint64_t count;

	if (n == d->n_done && read(d->event_fd, &count, sizeof(count)) < 0)
		assert_int_equal(errno, EAGAIN);
	memcpy(out, d->done, n * sizeof(*out));
	memmove(d->done, d->done + n, (d->n_done - n) * sizeof(*out));
	d->n_done -= n;
	return n;
}

static int kit_event_fd(struct gsb_device *dev)
{
	return to_kit(dev)->event_fd;
}

static uint64_t kit_now_ns(struct gsb_device *dev)
{
	return to_kit(dev)->now_ns;
}

/* The oldest open command ends 1,000 ns after it could start. */
static void kit_advance(struct gsb_device *dev, uint64_t until)
{
	struct kit_device *d = to_kit(dev);
	uint64_t start = d->now_ns;
	unsigned first = KIT_LOG_MAX;

	d->n_advances++;
	for (unsigned i = 0; i < d->n_issued; i++)
		if (!d->log[i].done &&
		    (first == KIT_LOG_MAX || d->log[i].not_before_ns < d->log[first].not_before_ns))
			first = i;
	if (first == KIT_LOG_MAX)
		return;
	if (d->log[first].not_before_ns > start)
		start = d->log[first].not_before_ns;
	if (start + 1000 > until) {
		d->now_ns = until;
		return;
	}
	d->now_ns = start;
	kit_complete(d, first, CUDA_SUCCESS, start + 1000);
}

static void kit_advance_to(struct gsb_device *dev, uint64_t now_ns)
{
	struct kit_device *d = to_kit(dev);

	d->advanced_to_ns = now_ns;
	if (now_ns > d->now_ns)
		d->now_ns = now_ns;
}

static const struct gsb_device_ops kit_ops = {
	.scheme = "kit",
	.info = kit_info,
	.mem_info = kit_mem_info,
	.space_create = kit_space_create,
	.space_cancel = kit_space_cancel,
	.space_limit = kit_space_limit,
	.space_destroy = kit_space_destroy,
	.mem_alloc = kit_mem_alloc,
	.mem_free = kit_mem_free,
	.may_keep = true,
	.backing_create = kit_backing_create,
	.backing_of_host = kit_backing_of_host,
	.backing_destroy = kit_backing_destroy,
	.backing_map = kit_backing_map,
	.backing_access = kit_backing_access,
	.backing_unmap = kit_backing_unmap,
	.mem_share = kit_mem_share,
	.mem_open = kit_mem_open,
	.host_pin = kit_host_pin,
	.host_unpin = kit_host_unpin,
	.module_load = kit_module_load,
	.module_unload = kit_module_unload,
	.module_bytes = kit_module_bytes,
	.module_cost = kit_module_cost,
	.module_managed = kit_module_managed,
	.module_place = kit_module_place,
	.module_heap = kit_module_heap,
	.heap_size = kit_heap_size,
	.function_get = kit_function_get,
	.global_get = kit_global_get,
	.function_name = kit_function_name,
	.function_prepare = kit_function_prepare,
	.queue_create = kit_queue_create,
	.queue_destroy = kit_queue_destroy,
	.issue = kit_issue,
	.poll = kit_poll,
	.event_fd = kit_event_fd,
	.now_ns = kit_now_ns,
};

struct kit_device *kit_device_create(bool virtual_clock)
{
	struct kit_device *d = calloc(1, sizeof(*d));

	pthread_mutex_init(&d->preparing, NULL);
	d->ops = kit_ops;
	if (virtual_clock) {
		d->ops.advance = kit_advance;
		d->ops.advance_to = kit_advance_to;
	}
	d->base.ops = &d->ops;
	d->info.total_mem_bytes = 1ull << 30;
	d->info.clock_is_virtual = virtual_clock;
	d->info.priority_greatest = -5;
	d->info.arch.max_threads_per_block = 1024;
	d->event_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	d->now_ns = 1000000;
	return d;
}

void kit_device_destroy(struct kit_device *d)
{
	assert_int_equal(d->n_spaces, 0);
	assert_int_equal(d->n_modules, 0);
	assert_int_equal(d->n_queues, 0);
	assert_int_equal(d->used_bytes, 0);
	close(d->event_fd);
	free(d);
}

/* ---- the engine ---- */

void kit_engine_init(struct kit_engine *k, bool virtual_clock)
{
	kit_engine_init_with(k, virtual_clock, &gsb_policy_fifo);
}

void kit_engine_init_with(struct kit_engine *k, bool virtual_clock, const struct gsb_policy *policy)
{
	struct gsb_engine_params p = {
		.policy = policy,
		.host_call_ns = 100,
		.gate_timeout_ns = KIT_PATIENCE_NS,
	};

	*k = (struct kit_engine){.dev = kit_device_create(virtual_clock), .next_id = 1};
	assert_int_equal(gsb_engine_create(&k->dev->base, &p, &k->engine), 0);
}

void kit_engine_finish(struct kit_engine *k)
{
	assert_int_equal(gsb_engine_destroy(k->engine), 0);
	kit_device_destroy(k->dev);
}

void kit_settle(struct kit_engine *k)
{
	do {
		while (gsb_engine_turn(k->engine))
			;
		if (k->engine->mailbox.n_expected)
			gsb_engine_listen(k->engine,
					  UINT64_MAX); /* a thread rings when it is done */
		else
			gsb_engine_listen(k->engine, 0);
	} while (k->engine->mailbox.n_expected || gsb_engine_turn(k->engine));
}

/* ---- tenants ---- */

/* The doorbell stays open, for kit_tenant_finish. */
static void attach(struct kit_tenant *kt)
{
	int fds[KIT_N_FDS];

	kit_tenant_attach(kt, fds);
	for (unsigned i = 0; i < KIT_N_FDS; i++)
		if (fds[i] != kt->doorbell)
			close(fds[i]);
}

static void settle(struct kit_tenant *kt)
{
	kit_settle(kt->kit);
}

int kit_tenant_admit(struct kit_tenant *kt, struct kit_engine *k,
		     const struct gsb_tenant_limits *limits, char *why, size_t why_size)
{
	struct gsb_admission a = {
		.id = k->next_id++,
		.pid = (uint32_t)getpid(),
		.uid = (uint32_t)getuid(),
		.tenant = "kit",
		.program = "test",
		.features_wanted = GSB_FEATURES_KNOWN,
	};
	int sockets[2], pipes[2], err;

	memset(kt, 0, sizeof(*kt));
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, sockets), 0);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0); /* readable when the other end is closed */
	if (limits)
		a.limits = *limits;
	a.socket = sockets[0];
	a.pidfd = pipes[0];
	kt->kit = k;
	kt->settle = settle;
	kt->id = a.id;
	kt->socket = sockets[1];
	kt->pidfd_write = pipes[1];
	err = gsb_tenant_admit(k->engine, &a, &kt->t, why, why_size);
	if (!err) {
		attach(kt);
		return 0;
	}
	close(sockets[0]);
	close(sockets[1]);
	close(pipes[0]);
	close(pipes[1]);
	return err;
}

void kit_tenant_init(struct kit_tenant *kt, struct kit_engine *k,
		     const struct gsb_tenant_limits *limits)
{
	struct gsb_rec_ctx_create body = {.ctx = kit_ctx(0), .legacy = kit_stream(0)};
	char why[256] = "";

	assert_int_equal(kit_tenant_admit(kt, k, limits, why, sizeof(why)), 0);
	assert_int_equal(kit_call(kt, GSB_REC_CTX_CREATE, &body, sizeof(body), NULL, 0),
			 CUDA_SUCCESS);
}

bool kit_tenant_is_gone(const struct kit_tenant *kt)
{
	for (int i = 0; i < GSB_N_SLOTS; i++)
		if (kt->kit->engine->tenants[i] && kt->kit->engine->tenants[i]->id == kt->id)
			return false;
	return true;
}

void kit_tenant_die(struct kit_tenant *kt)
{
	if (kt->pidfd_write >= 0)
		close(kt->pidfd_write);
	kt->pidfd_write = -1;
	kit_settle(kt->kit);
}

void kit_tenant_free(struct kit_tenant *kt)
{
	if (kt->pidfd_write >= 0)
		close(kt->pidfd_write);
	munmap(kt->staging, kt->welcome.staging_bytes);
	munmap(kt->region, sizeof(*kt->region));
	close(kt->socket);
	close(kt->doorbell);
}

void kit_tenant_finish(struct kit_tenant *kt)
{
	kit_tenant_die(kt);
	assert_true(kit_tenant_is_gone(kt));
	kit_tenant_free(kt);
}

void kit_load_inc(struct kit_tenant *kt, uint32_t module, uint32_t fn)
{
	assert_int_equal(kit_load(kt, module, fn, "good code", 9), CUDA_SUCCESS);
}
