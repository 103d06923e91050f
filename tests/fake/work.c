/*
 * work.c - streams, events and commands of the fake driver.
 *
 * A stream is a queue of the emulated device, by the real clock. What that has no command for, an event or a word to be
 * written, is a copy of one byte whose completion does it; so everything of a stream ends in its order. A graph has a queue for each of its branches. One thread takes the
 * completions. A fault is the end of everything: nothing completes any more, and each call returns what it was.
 */
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <utlist.h>

#include "base/compiler.h"
#include "tests/fake/code.h"
#include "tests/fake/state.h"

#define MAX_COMPLETIONS	 64
#define FAKE_N_PARTS	 8
#define PORTABLE_CLUSTER 8
#define FAKE_NODES_MAX	 33
#define FAKE_FORK_MAX	 16 /* branches of a graph */
#define FAKE_PARAMS_MAX	 8192

struct fake_stream {
	struct gsb_queue *queue;
	unsigned n_pending; /* with those of branches, but what waits for fake_run() */
	bool forks;	    /* what is pending is a graph with branches */
};

struct fake_event {
	uint64_t n_recorded, n_done;
	uint64_t done_ns;
};

/* What the completion of a command means: its cookie. */
struct fake_mark {
	struct fake_stream *stream;
	struct gsb_queue *branch;     /* NULL: the stream's own queue */
	struct fake_mark *after;      /* what is before it there; NULL: nothing */
	struct fake_deferred *behind; /* goes when this has ended */
	struct fake_event *event;     /* recorded, as number; or waited for */
	uint64_t number;
	volatile uint32_t *word; /* gets number; or is waited for until it is that */
	uint64_t dst, dst_bytes, src, src_bytes; /* of a copy or fill */
	bool is_kernel;
	struct fake_mark *prev, *next; /* of those in flight */
};

static struct fake_mark *in_flight, *sent_last;

/* A command that waits for fake_run(). */
struct fake_deferred {
	struct fake_deferred *next;
	struct gsb_cmd cmd;
	struct fake_mark *mark;
	bool waits; /* for an event, and is no command */
	uint8_t params[];
};

CUresult fake_work_error(int err)
{
	switch (err) {
	case 0: return CUDA_SUCCESS;
	case -ENOMEM: return CUDA_ERROR_OUT_OF_MEMORY;
	case -E2BIG: return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	case -ENOTSUP: return CUDA_ERROR_NOT_SUPPORTED;
	case -EBADMSG: return CUDA_ERROR_INVALID_IMAGE;
	default: return CUDA_ERROR_INVALID_VALUE;
	}
}

/* ---- completions ---- */

static CUresult issue(struct gsb_cmd *cmd, struct fake_mark *m);

static void go_on(struct fake_deferred *d)
{
	if (!d)
		return;
	d->mark->stream->n_pending--;
	if (fake.lost)
		free(d->mark);
	else
		issue(&d->cmd, d->mark);
	free(d);
}

/* Of a failed assertion at once, of printf when somebody waits, as the driver does, and as the device words it. */
static void take_print(void)
{
	bool to_stderr, more = true;
	char text[1024];

	while (more) {
		int n = fake.device->ops->print_read(fake.space, text, sizeof(text), &to_stderr,
						     &more);

		if (n > 0 && to_stderr)
			fprintf(stderr, "%.*s", n, text);
		else if (n > 0)
			utstring_bincpy(&fake.fifo, text, (size_t)n);
	}
}

static void flush_print(void)
{
	if (utstring_len(&fake.fifo))
		fwrite(utstring_body(&fake.fifo), 1, utstring_len(&fake.fifo), stdout);
	utstring_clear(&fake.fifo);
}

/* As on a GPU a fault is the end of all that runs: none of it uses memory that is given back then. */
static void lose(CUresult result)
{
	if (fake.lost)
		return;
	fake.lost = result;
	fake.device->ops->space_cancel(fake.space);
}

static void complete(const struct gsb_completion *c)
{
	struct fake_mark *m = (struct fake_mark *)(uintptr_t)c->cookie;

	if (c->printed)
		take_print();
	if (c->result == CUDA_ERROR_ASSERT && fake_is_client())
		fake.told_next = c->result;
	else if (c->result)
		lose(c->result);
	if (!fake.lost) {
		if (m->event) {
			m->event->n_done = m->number;
			m->event->done_ns = c->end_ns;
		}
		if (m->word)
			__atomic_store_n(m->word, (uint32_t)m->number, __ATOMIC_RELEASE);
	}
	m->stream->n_pending--;
	DL_DELETE(in_flight, m);
	go_on(m->behind);
	free(m);
}

static bool meets(uint64_t a, uint64_t a_bytes, uint64_t b, uint64_t b_bytes)
{
	return (a_bytes && a - b < b_bytes) || (b_bytes && b - a < a_bytes);
}

static bool is_used(uint64_t at, uint64_t size)
{
	struct fake_mark *m;
	struct fake_deferred *d;

	DL_FOREACH (in_flight, m)
		if (meets(m->dst, m->dst_bytes, at, size) || meets(m->src, m->src_bytes, at, size))
			return true;
	LL_FOREACH (fake.deferred, d) {
		if (meets(d->mark->dst, d->mark->dst_bytes, at, size) ||
		    meets(d->mark->src, d->mark->src_bytes, at, size))
			return true;
	}
	return false;
}

void fake_retire(uint64_t at, uint64_t size)
{
	if (fake.lost)
		fake_wait_for_all();
	if (is_used(at, size))
		fake.n_early++;
	while (is_used(at, size) && !fake.deferred)
		pthread_cond_wait(&fake.change, &fake.lock);
}

static void *worker_main(void *arg)
{
	static struct gsb_completion done[MAX_COMPLETIONS];
	const struct gsb_device_ops *ops = fake.device->ops;
	struct pollfd fds[] = {{.fd = ops->event_fd(fake.device), .events = POLLIN},
			       {.fd = fake.wake_fd, .events = POLLIN}};
	eventfd_t value;

	for (;;) {
		unsigned n;

		fake_lock();
		eventfd_read(fake.wake_fd, &value);
		n = ops->poll(fake.device, done, MAX_COMPLETIONS);
		for (unsigned i = 0; i < n; i++)
			complete(&done[i]);
		if (n)
			pthread_cond_broadcast(&fake.change);
		if (fake.stop)
			break;
		fake_leave(CUDA_SUCCESS);
		if (!n)
			poll(fds, GSB_ARRAY_LEN(fds), -1);
	}
	fake_leave(CUDA_SUCCESS);
	return NULL;
}

CUresult fake_work_start(void)
{
	struct gsb_device_params p = {.spec = "emu:h200", .n_workers = 2, .real_clock = true};
	struct gsb_space_params s = {.device_base = FAKE_DEVICE_BASE,
				     .device_size = FAKE_DEVICE_SIZE,
				     .host_base = FAKE_HOST_BASE,
				     .host_size = FAKE_DEVICE_BASE - FAKE_HOST_BASE};
	char err[256];

	if (fake.device)
		return CUDA_SUCCESS;
	if (gsb_device_open(&p, &fake.device, err, sizeof(err)) ||
	    fake.device->ops->space_create(fake.device, &s, &fake.space))
		return CUDA_ERROR_NO_DEVICE;
	fake.stop = false;
	utstring_init(&fake.fifo);
	fake.wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return pthread_create(&fake.worker, NULL, worker_main, NULL) ? CUDA_ERROR_NO_DEVICE
								     : CUDA_SUCCESS;
}

void fake_work_stop(void)
{
	if (!fake.device)
		return;
	fake_lock();
	fake.stop = true;
	eventfd_write(fake.wake_fd, 1);
	fake_leave(CUDA_SUCCESS);
	pthread_join(fake.worker, NULL);
	close(fake.wake_fd);
	fake.device->ops->space_destroy(fake.space);
	fake.device->ops->close(fake.device);
	fake.device = NULL;
	utstring_done(&fake.fifo);
}

/* ---- what is sent ---- */

void fake_wait_for_all(void)
{
	while (in_flight)
		pthread_cond_wait(&fake.change, &fake.lock);
}

static bool kernels_run(void)
{
	struct fake_mark *m;

	DL_FOREACH (in_flight, m)
		if (m->is_kernel)
			return true;
	return false;
}

void fake_wait_for_kernels(void)
{
	fake.n_loading++;
	while (!fake.lost && kernels_run())
		pthread_cond_wait(&fake.change, &fake.lock);
	fake.n_loading--;
	pthread_cond_broadcast(&fake.change);
}

static bool is_done(const struct fake_mark *m)
{
	return m->event ? m->event->n_done >= m->number : *m->word == m->number;
}

static void wait_for(const struct fake_mark *m)
{
	while (!fake.lost && !is_done(m))
		pthread_cond_wait(&fake.change, &fake.lock);
}

static uint64_t extent(uint64_t width, uint64_t height, uint64_t pitch)
{
	return height > 1 ? (height - 1) * pitch + width : width;
}

static void note_ranges(const struct gsb_cmd *cmd, struct fake_mark *m)
{
	const struct gsb_cmd_copy *c = &cmd->copy;
	const struct gsb_cmd_fill *f = &cmd->fill;

	if (cmd->kind == GSB_CMD_COPY) {
		m->dst = c->dst;
		m->dst_bytes = extent(c->width, c->height, c->dst_pitch);
		m->src = c->src;
		m->src_bytes = extent(c->width, c->height, c->src_pitch);
	} else if (cmd->kind == GSB_CMD_FILL) {
		m->dst = f->dst;
		m->dst_bytes = extent(f->width * f->elem_bytes, f->height, f->pitch);
	}
}

static CUresult issue(struct gsb_cmd *cmd, struct fake_mark *m)
{
	int err;

	cmd->space = fake.space;
	cmd->cookie = fake_handle(m);
	err = fake.device->ops->issue(m->branch ? m->branch : m->stream->queue, cmd);
	if (err) {
		free(m);
		return fake_work_error(err);
	}
	m->stream->n_pending++;
	DL_APPEND(in_flight, m);
	eventfd_write(fake.wake_fd, 1);
	return CUDA_SUCCESS;
}

static struct fake_deferred *keep(const struct gsb_cmd *cmd, struct fake_mark *m, bool waits)
{
	uint32_t bytes = cmd->kind == GSB_CMD_LAUNCH ? cmd->launch.params_bytes : 0;
	struct fake_deferred *d = calloc(1, sizeof(*d) + bytes);

	d->cmd = *cmd;
	d->mark = m;
	d->waits = waits;
	if (bytes) {
		memcpy(d->params, cmd->launch.params, bytes);
		d->cmd.launch.params = d->params;
	}
	return d;
}

static CUresult defer(const struct gsb_cmd *cmd, struct fake_mark *m, bool waits)
{
	struct fake_deferred *d = keep(cmd, m, waits);

	LL_APPEND(fake.deferred, d);
	return CUDA_SUCCESS;
}

void fake_run(bool run)
{
	struct fake_deferred *d;

	fake_lock();
	fake.paused = !run;
	while (run && (d = fake.deferred)) {
		LL_DELETE(fake.deferred, d);
		if (d->waits) {
			wait_for(d->mark);
			free(d->mark);
		} else {
			issue(&d->cmd, d->mark);
		}
		free(d);
	}
	fake_leave(CUDA_SUCCESS);
}

static struct fake_stream *live(CUstream stream)
{
	return fake_find(FAKE_STREAM, fake_handle(stream)) ? (struct fake_stream *)stream : NULL;
}

static bool is_deferred(const struct fake_stream *s)
{
	const struct fake_deferred *d;

	LL_SEARCH_SCALAR(fake.deferred, d, mark->stream, s);
	return d;
}

/* Behind the last of the branches, or before the first, the emulated device puts nothing: who calls waits until the stream is empty. */
static CUresult wait_for_fork(struct fake_stream *s, bool forks)
{
	if (!s)
		return CUDA_ERROR_INVALID_HANDLE;
	if ((forks || s->forks) && fake.paused && (s->n_pending || is_deferred(s)))
		return CUDA_ERROR_NOT_SUPPORTED;
	while ((forks || s->forks) && s->n_pending && !fake.lost)
		pthread_cond_wait(&fake.change, &fake.lock);
	s->forks = forks;
	return fake.lost;
}

static CUresult send(CUstream stream, struct gsb_cmd *cmd, struct fake_mark mark)
{
	struct fake_stream *s = live(stream);
	CUresult result = mark.branch ? CUDA_SUCCESS : wait_for_fork(s, false);
	struct fake_mark *m;

	if (!result && fake_is_elsewhere())
		result = CUDA_ERROR_UNKNOWN;
	if (result)
		return result;
	m = malloc(sizeof(*m));
	*m = mark;
	m->stream = s;
	note_ranges(cmd, m);
	sent_last = m;
	if (m->after) {
		s->n_pending++;
		m->after->behind = keep(cmd, m, false);
		return CUDA_SUCCESS;
	}
	return fake.paused ? defer(cmd, m, false) : issue(cmd, m);
}

static CUresult send_mark(CUstream stream, struct fake_mark mark)
{
	static uint8_t from, to;
	struct gsb_cmd cmd = {.kind = GSB_CMD_COPY,
			      .copy = {fake_handle(&to), fake_handle(&from), 1, 1, 0, 0}};

	return send(stream, &cmd, mark);
}

/* ---- streams ---- */

static CUresult make_stream(CUstream *stream, struct gsb_sm_range sms, int priority)
{
	struct fake_stream *s = calloc(1, sizeof(*s));

	if (fake.device->ops->queue_create(fake.device, priority, sms, &s->queue)) {
		free(s);
		return CUDA_ERROR_INVALID_VALUE;
	}
	fake_add(FAKE_STREAM, fake_handle(s), 0);
	*stream = (CUstream)s;
	return CUDA_SUCCESS;
}

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority)
{
	return fake_enter(__func__) ?: fake_leave(make_stream(stream, GSB_ALL_SMS, priority));
}

CUresult cuGreenCtxStreamCreate(CUstream *stream, CUgreenCtx green, unsigned flags, int priority)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (!fake_find(FAKE_GREEN, fake_handle(green)))
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	return fake_leave(make_stream(stream, *(struct gsb_sm_range *)green, priority));
}

/* The driver lets it end what it has; so does this, and waits. */
CUresult cuStreamDestroy_v2(CUstream stream)
{
	struct fake_stream *s;

	fake_lock();
	s = live(stream);
	if (!s)
		return fake_leave_anyway(__func__, CUDA_ERROR_INVALID_HANDLE);
	while (s->n_pending)
		pthread_cond_wait(&fake.change, &fake.lock);
	fake_remove(FAKE_STREAM, fake_handle(s));
	fake.device->ops->queue_destroy(s->queue);
	free(s);
	return fake_leave_anyway(__func__, CUDA_SUCCESS);
}

static bool has_deferred(const struct fake_stream *s)
{
	struct fake_deferred *d;

	LL_FOREACH (fake.deferred, d)
		if (d->mark->stream == s)
			return true;
	return false;
}

static CUresult query(const struct fake_stream *s)
{
	if (!s)
		return CUDA_ERROR_INVALID_HANDLE;
	if (fake.told_next) {
		lose(fake.told_next);
		return CUDA_ERROR_NOT_READY;
	}
	return s->n_pending || has_deferred(s) ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
}

CUresult cuStreamQuery(CUstream stream)
{
	return fake_enter(__func__) ?: fake_leave(query(live(stream)));
}

static CUresult drain(CUstream stream)
{
	while (!fake.lost && query(live(stream)) == CUDA_ERROR_NOT_READY)
		pthread_cond_wait(&fake.change, &fake.lock);
	flush_print();
	return fake.lost;
}

CUresult cuStreamSynchronize(CUstream stream)
{
	return fake_enter(__func__) ?: fake_leave(drain(stream));
}

static CUresult write_word(CUstream stream, CUdeviceptr addr, uint32_t value, struct fake_mark m)
{
	m.word = (volatile uint32_t *)(uintptr_t)addr;
	m.number = value;

	return fake_within(FAKE_HOST, addr, sizeof(value)) ? send_mark(stream, m)
							   : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value,
				 unsigned flags)
{
	return fake_enter(__func__)
		       ?: fake_leave(write_word(stream, addr, value, (struct fake_mark){0}));
}

/* Who calls waits, as for an event. */
static CUresult wait_in(CUstream stream, struct fake_mark m)
{
	struct fake_mark *later;

	if (!live(stream))
		return CUDA_ERROR_INVALID_HANDLE;
	if (!fake.paused) {
		wait_for(&m);
		return fake.lost;
	}
	later = malloc(sizeof(*later));
	*later = m;
	return defer(&(struct gsb_cmd){.kind = GSB_CMD_COPY}, later, true);
}

CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr addr, cuuint32_t value, unsigned flags)
{
	struct fake_mark m = {.word = (volatile uint32_t *)(uintptr_t)addr, .number = value};
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	if (flags != CU_STREAM_WAIT_VALUE_EQ || !fake_within(FAKE_HOST, addr, sizeof(value)))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	return fake_leave(wait_in(stream, m));
}

/* ---- events ---- */

static struct fake_event *live_event(CUevent event)
{
	return fake_find(FAKE_EVENT, fake_handle(event)) ? (struct fake_event *)event : NULL;
}

CUresult cuEventCreate(CUevent *event, unsigned flags)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*event = calloc(1, sizeof(struct fake_event));
	fake_add(FAKE_EVENT, fake_handle(*event), 0);
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event)
{
	struct fake_event *e;

	fake_lock();
	e = live_event(event);
	while (e && !fake.lost && e->n_done < e->n_recorded)
		pthread_cond_wait(&fake.change, &fake.lock);
	if (!e || fake_remove(FAKE_EVENT, fake_handle(e)))
		return fake_leave_anyway(__func__, CUDA_ERROR_INVALID_HANDLE);
	free(e);
	return fake_leave_anyway(__func__, CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	CUresult result = fake_enter(__func__);
	struct fake_event *e;

	if (result)
		return result;
	e = live_event(event);
	if (!e)
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	result = send_mark(stream, (struct fake_mark){.event = e, .number = e->n_recorded + 1});
	e->n_recorded += !result;
	return fake_leave(result);
}

CUresult cuEventQuery(CUevent event)
{
	CUresult result = fake_enter(__func__);
	const struct fake_event *e;

	if (result)
		return result;
	e = live_event(event);
	if (!e)
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	return fake_leave(e->n_done < e->n_recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS);
}

CUresult cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
	CUresult result = fake_enter(__func__);
	const struct fake_event *from, *to;

	if (result)
		return result;
	from = live_event(start);
	to = live_event(end);
	if (!from || !to)
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	if (from->n_done < from->n_recorded || to->n_done < to->n_recorded)
		return fake_leave(CUDA_ERROR_NOT_READY);
	*ms = (float)((double)(int64_t)(to->done_ns - from->done_ns) / 1e6);
	return fake_leave(CUDA_SUCCESS);
}

/* Stricter than a GPU: who calls waits, and so whatever the stream gets behind it. */
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags)
{
	CUresult result = fake_enter(__func__);
	struct fake_mark m = {.event = live_event(event)};

	if (result)
		return result;
	if (!m.event)
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	m.number = m.event->n_recorded;
	return fake_leave(wait_in(stream, m));
}

/* ---- kernels ---- */

static CUresult launch(CUstream stream, const struct fake_kernel *k, struct gsb_cmd_launch l,
		       struct fake_mark mark)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH, .launch = l};

	if ((int64_t)l.smem_bytes > k->info.attrs[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES])
		return CUDA_ERROR_INVALID_VALUE;
	cmd.launch.function = k->function;
	while (fake.n_loading && !fake.lost)
		pthread_cond_wait(&fake.change, &fake.lock);
	mark.is_kernel = true;
	return send(stream, &cmd, mark);
}

static void take_extra(struct gsb_cmd_launch *l, void **extra)
{
	if (!extra)
		return;
	l->params = extra[1];
	l->params_bytes = (uint32_t) * (size_t *)extra[3];
}

CUresult cuLaunchKernel(CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
			unsigned block_x, unsigned block_y, unsigned block_z, unsigned smem,
			CUstream stream, void **params, void **extra)
{
	CUresult result = fake_enter(__func__);
	struct gsb_cmd_launch l = {.grid = {grid_x, grid_y, grid_z},
				   .block = {block_x, block_y, block_z},
				   .smem_bytes = smem};

	if (result)
		return result;
	take_extra(&l, extra);
	return fake_leave(launch(stream, (struct fake_kernel *)function, l, (struct fake_mark){0}));
}

/* What a GPU makes of clusters: the kernel sees none here. */
static CUresult check_clusters(const struct fake_kernel *k, const CUlaunchConfig *c,
			       const CUlaunchAttribute *a)
{
	unsigned x = a->value.clusterDim.x, y = a->value.clusterDim.y, z = a->value.clusterDim.z;
	bool large = k->info.attrs[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED];

	if (!x || !y || !z || x * y * z > (large ? GSB_CLUSTER_MAX : PORTABLE_CLUSTER))
		return CUDA_ERROR_INVALID_CLUSTER_SIZE;
	return c->gridDimX % x || c->gridDimY % y || c->gridDimZ % z
		       ? CUDA_ERROR_INVALID_CLUSTER_SIZE
		       : CUDA_SUCCESS;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *c, CUfunction function, void **params, void **extra)
{
	const struct fake_kernel *k = (struct fake_kernel *)function;
	CUresult result = fake_enter(__func__), clusters = CUDA_SUCCESS;
	struct gsb_cmd_launch l = {.grid = {c->gridDimX, c->gridDimY, c->gridDimZ},
				   .block = {c->blockDimX, c->blockDimY, c->blockDimZ},
				   .smem_bytes = c->sharedMemBytes};

	if (result)
		return result;
	for (unsigned i = 0; i < c->numAttrs; i++) {
		if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
			l.cooperative = c->attrs[i].value.cooperative;
		else if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			clusters = check_clusters(k, c, &c->attrs[i]);
	}
	take_extra(&l, extra);
	return fake_leave(clusters ? clusters : launch(c->hStream, k, l, (struct fake_mark){0}));
}

static unsigned blocks_of_cluster(const CUlaunchConfig *c)
{
	for (unsigned i = 0; i < c->numAttrs; i++)
		if (c->attrs[i].id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION)
			return c->attrs[i].value.clusterDim.x * c->attrs[i].value.clusterDim.y *
			       c->attrs[i].value.clusterDim.z;
	return 0;
}

/* A block an SM, and each part of the chip has sixteen SMs. Of what asks for no clusters there are none. */
CUresult cuOccupancyMaxActiveClusters(int *n, CUfunction function, const CUlaunchConfig *c)
{
	CUresult result = fake_enter(__func__);
	unsigned blocks;

	if (result)
		return result;
	blocks = blocks_of_cluster(c);
	*n = blocks ? (int)(FAKE_N_PARTS * (GSB_CLUSTER_MAX / blocks)) : 0;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuOccupancyMaxPotentialClusterSize(int *n, CUfunction function, const CUlaunchConfig *c)
{
	const struct fake_kernel *k = (struct fake_kernel *)function;
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*n = k->info.attrs[CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED] ? GSB_CLUSTER_MAX
										: PORTABLE_CLUSTER;
	return fake_leave(CUDA_SUCCESS);
}

/* ---- copies ---- */

static bool is_pageable(uint64_t addr)
{
	return !fake_within(FAKE_RESERVATION, addr, 1) && !fake_within(FAKE_HOST, addr, 1) &&
	       !fake_within(FAKE_REGISTERED, addr, 1) &&
	       addr - FAKE_DEVICE_BASE >= FAKE_DEVICE_SIZE;
}

/* Rows over the end of what was registered at once: no call takes them. */
static bool is_torn(uint64_t addr, uint64_t width, uint64_t height, uint64_t pitch)
{
	return fake_cuts(FAKE_REGISTERED, addr, height > 1 ? (height - 1) * pitch + width : width);
}

/* Of pageable memory the driver makes them before it returns. */
CUresult fake_work_copy(CUstream stream, struct gsb_cmd_copy c)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_COPY, .copy = c};
	CUresult result = CUDA_ERROR_INVALID_VALUE;

	if (!is_torn(c.dst, c.width, c.height, c.dst_pitch) &&
	    !is_torn(c.src, c.width, c.height, c.src_pitch))
		result = send(stream, &cmd, (struct fake_mark){0});
	if (!result && !fake.paused && (is_pageable(c.dst) || is_pageable(c.src)))
		result = drain(stream);
	return result;
}

CUresult cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
	struct gsb_cmd_copy c = {.dst = dst, .src = src, .width = size, .height = 1};

	return fake_enter(__func__) ?: fake_leave(fake_work_copy(stream, c));
}

/* What the driver has mapped is none of the host's. */
static bool is_misnamed(CUmemorytype type, uint64_t addr)
{
	return type == CU_MEMORYTYPE_HOST && fake_within(FAKE_MAPPING, addr, 1);
}

static CUresult copy_rows(const CUDA_MEMCPY2D *copy2d, CUstream stream)
{
	struct gsb_cmd_copy c = {.width = copy2d->WidthInBytes,
				 .height = copy2d->Height,
				 .dst_pitch = copy2d->dstPitch,
				 .src_pitch = copy2d->srcPitch};

	c.dst = copy2d->dstMemoryType == CU_MEMORYTYPE_HOST ? fake_handle(copy2d->dstHost)
							    : copy2d->dstDevice;
	c.src = copy2d->srcMemoryType == CU_MEMORYTYPE_HOST ? fake_handle(copy2d->srcHost)
							    : copy2d->srcDevice;
	if (is_misnamed(copy2d->dstMemoryType, c.dst) || is_misnamed(copy2d->srcMemoryType, c.src))
		return CUDA_ERROR_INVALID_VALUE;
	return fake_work_copy(stream, c);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *copy2d, CUstream stream)
{
	return fake_enter(__func__) ?: fake_leave(copy_rows(copy2d, stream));
}

static CUresult fill(CUstream stream, struct gsb_cmd_fill f)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_FILL, .fill = f};

	if (is_torn(f.dst, f.width * f.elem_bytes, f.height, f.pitch))
		return CUDA_ERROR_INVALID_VALUE;
	return send(stream, &cmd, (struct fake_mark){0});
}

/* One word of the host, or of the device. */
static CUresult write_value(CUstream stream, const struct CUstreamMemOpWriteValueParams_st *w)
{
	struct gsb_cmd_fill low = {w->address, 1, 1, 0, (uint32_t)w->value64, 4}, high = low;
	CUresult result;

	if (fake_within(FAKE_HOST, w->address, sizeof(uint32_t)))
		return write_word(stream, w->address, (uint32_t)w->value64, (struct fake_mark){0});
	result = fill(stream, low);
	if (result || w->operation == CU_STREAM_MEM_OP_WRITE_VALUE_32)
		return result;
	high.dst += sizeof(uint32_t);
	high.value = (uint32_t)(w->value64 >> 32);
	return fill(stream, high);
}

CUresult cuStreamBatchMemOp_v2(CUstream stream, unsigned n, CUstreamBatchMemOpParams *ops,
			       unsigned flags)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	for (unsigned i = 0; i < n && !result; i++)
		result = write_value(stream, &ops[i].writeValue);
	return fake_leave(result);
}

CUresult cuMemsetD8Async(CUdeviceptr dst, unsigned char value, size_t n, CUstream stream)
{
	struct gsb_cmd_fill f = {dst, n, 1, 0, value, 1};

	return fake_enter(__func__) ?: fake_leave(fill(stream, f));
}

CUresult cuMemsetD16Async(CUdeviceptr dst, unsigned short value, size_t n, CUstream stream)
{
	struct gsb_cmd_fill f = {dst, n, 1, 0, value, 2};

	return fake_enter(__func__) ?: fake_leave(fill(stream, f));
}

CUresult cuMemsetD32Async(CUdeviceptr dst, unsigned value, size_t n, CUstream stream)
{
	struct gsb_cmd_fill f = {dst, n, 1, 0, value, 4};

	return fake_enter(__func__) ?: fake_leave(fill(stream, f));
}

CUresult cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char value, size_t width,
			   size_t height, CUstream stream)
{
	struct gsb_cmd_fill f = {dst, width, height, pitch, value, 1};

	return fake_enter(__func__) ?: fake_leave(fill(stream, f));
}

CUresult cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short value, size_t width,
			    size_t height, CUstream stream)
{
	struct gsb_cmd_fill f = {dst, width, height, pitch, value, 2};

	return fake_enter(__func__) ?: fake_leave(fill(stream, f));
}

CUresult cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned value, size_t width,
			    size_t height, CUstream stream)
{
	struct gsb_cmd_fill f = {dst, width, height, pitch, value, 4};

	return fake_enter(__func__) ?: fake_leave(fill(stream, f));
}

/* ---- graphs: chains of kernels beside each other, and of words of host memory that are set ---- */

struct fake_node {
	const struct fake_kernel *kernel; /* NULL: a word is set */
	struct gsb_cmd_launch launch;
	uint8_t params[FAKE_PARAMS_MAX];
	CUdeviceptr word;
	uint32_t value;
	unsigned branch;
};

/* A graph, and what is made of it, which keeps its nodes. */
struct fake_graph {
	unsigned n, n_branches;
	struct fake_node *nodes[FAKE_NODES_MAX];
	struct gsb_queue
		*branches[FAKE_FORK_MAX]; /* of what is made of it, where there are several */
};

static struct fake_graph *live_graph(enum fake_kind kind, const void *graph)
{
	return fake_find(kind, fake_handle(graph)) ? (struct fake_graph *)graph : NULL;
}

static void set_node(struct fake_node *n, const CUDA_KERNEL_NODE_PARAMS *p)
{
	n->kernel = (const struct fake_kernel *)p->func;
	n->launch = (struct gsb_cmd_launch){
		.grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
		.block = {p->blockDimX, p->blockDimY, p->blockDimZ},
		.smem_bytes = p->sharedMemBytes,
	};
	take_extra(&n->launch, p->extra);
	if (n->launch.params_bytes)
		n->launch.params = memcpy(n->params, n->launch.params, n->launch.params_bytes);
}

CUresult cuGraphCreate(CUgraph *graph, unsigned flags)
{
	CUresult result = fake_enter(__func__);

	if (result)
		return result;
	*graph = calloc(1, sizeof(struct fake_graph));
	fake_add(FAKE_GRAPH, fake_handle(*graph), 0);
	return fake_leave(CUDA_SUCCESS);
}

static struct fake_node *find_node(const struct fake_graph *g, CUgraphNode node)
{
	for (unsigned i = 0; g && i < g->n; i++)
		if (fake_handle(g->nodes[i]) == fake_handle(node))
			return g->nodes[i];
	return NULL;
}

/* Behind one other, with which it is in a branch, in the order in which they are added, or behind none. NULL: more is not asked for. */
static struct fake_node *add_node(CUgraph graph, const CUgraphNode *after, size_t n_after)
{
	struct fake_graph *g = live_graph(FAKE_GRAPH, graph);
	const struct fake_node *before = g && n_after == 1 ? find_node(g, *after) : NULL;

	if (!g || g->n == FAKE_NODES_MAX || n_after > 1 || (n_after && !before) ||
	    (!n_after && g->n_branches == FAKE_FORK_MAX))
		return NULL;
	g->nodes[g->n] = calloc(1, sizeof(struct fake_node));
	g->nodes[g->n]->branch = before ? before->branch : g->n_branches++;
	return g->nodes[g->n++];
}

CUresult cuGraphAddKernelNode_v2(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
				 size_t n_after, const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUresult result = fake_enter(__func__);
	struct fake_node *n;

	if (result)
		return result;
	n = add_node(graph, after, n_after);
	if (!n)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	set_node(n, params);
	*node = (CUgraphNode)n;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuGraphAddMemsetNode(CUgraphNode *node, CUgraph graph, const CUgraphNode *after,
			      size_t n_after, const CUDA_MEMSET_NODE_PARAMS *params, CUcontext ctx)
{
	CUresult result = fake_enter(__func__);
	struct fake_node *n;

	if (result)
		return result;
	if (params->elementSize != sizeof(n->value) || params->width != 1 || params->height != 1 ||
	    !fake_within(FAKE_HOST, params->dst, sizeof(n->value)))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	n = add_node(graph, after, n_after);
	if (!n)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	n->word = params->dst;
	n->value = params->value;
	*node = (CUgraphNode)n;
	return fake_leave(CUDA_SUCCESS);
}

static void make_branches(struct fake_graph *exec)
{
	for (unsigned i = 0; exec->n_branches > 1 && i < exec->n_branches; i++)
		fake.device->ops->queue_create(fake.device, 0, GSB_ALL_SMS, &exec->branches[i]);
}

static bool is_busy(const struct gsb_queue *branch)
{
	const struct fake_mark *m;

	DL_FOREACH (in_flight, m)
		if (m->branch == branch)
			return true;
	return false;
}

static void free_branches(struct fake_graph *exec)
{
	for (unsigned i = 0; i < FAKE_FORK_MAX && exec->branches[i]; i++) {
		while (is_busy(exec->branches[i]))
			pthread_cond_wait(&fake.change, &fake.lock);
		fake.device->ops->queue_destroy(exec->branches[i]);
	}
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *exec, CUgraph graph, unsigned long long flags)
{
	CUresult result = fake_enter(__func__);
	struct fake_graph *g;

	if (result)
		return result;
	g = live_graph(FAKE_GRAPH, graph);
	if (!g)
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	*exec = malloc(sizeof(*g));
	memcpy(*exec, g, sizeof(*g));
	make_branches((struct fake_graph *)*exec);
	fake_add(FAKE_EXEC, fake_handle(*exec), 0);
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuGraphExecKernelNodeSetParams_v2(CUgraphExec exec, CUgraphNode node,
					   const CUDA_KERNEL_NODE_PARAMS *params)
{
	CUresult result = fake_enter(__func__);
	struct fake_node *n;

	if (result)
		return result;
	n = find_node(live_graph(FAKE_EXEC, exec), node);
	if (!n || !n->kernel)
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	set_node(n, params);
	return fake_leave(CUDA_SUCCESS);
}

static CUresult run_node(CUstream stream, const struct fake_node *n, struct fake_mark m)
{
	return n->kernel ? launch(stream, n->kernel, n->launch, m)
			 : write_word(stream, n->word, n->value, m);
}

/* After a fault nothing of a branch begins, for which a queue alone does not do. */
static CUresult run(CUstream stream, const struct fake_graph *exec)
{
	struct fake_mark *last[FAKE_FORK_MAX] = {NULL};
	CUresult result = wait_for_fork(live(stream), exec->n_branches > 1);

	for (unsigned i = 0; i < exec->n && !result; i++) {
		const struct fake_node *n = exec->nodes[i];
		struct fake_mark m = {.branch = exec->branches[n->branch]};

		if (m.branch)
			m.after = last[n->branch];
		result = run_node(stream, n, m);
		last[n->branch] = sent_last;
	}
	return result;
}

CUresult cuGraphLaunch(CUgraphExec exec, CUstream stream)
{
	CUresult result = fake_enter(__func__);
	const struct fake_graph *g;

	if (result)
		return result;
	g = live_graph(FAKE_EXEC, exec);
	if (!g)
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	return fake_leave(run(stream, g));
}

CUresult cuGraphExecDestroy(CUgraphExec exec)
{
	CUresult result;

	fake_lock();
	result = fake_remove(FAKE_EXEC, fake_handle(exec));
	if (!result) {
		free_branches((struct fake_graph *)exec);
		free(exec);
	}
	return fake_leave_anyway(__func__, result);
}

CUresult cuGraphDestroy(CUgraph graph)
{
	struct fake_graph *g = (struct fake_graph *)graph;
	CUresult result;

	fake_lock();
	result = fake_remove(FAKE_GRAPH, fake_handle(graph));
	for (unsigned i = 0; !result && i < g->n; i++)
		free(g->nodes[i]);
	if (!result)
		free(g);
	return fake_leave_anyway(__func__, result);
}
