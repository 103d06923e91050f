/*
 * fake_engine.c - see fake_engine.h.
 */
#include "tests/unit/fake_engine.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "gsb/cuabi.h"
#include "shm/channel.h"
#include "shm/region.h"
#include "shm/ring.h"
#include "shm/wait.h"
#include "tests/unit/temp.h"

#define CHECK(ok) ((ok) ? (void)0 : die(#ok, __LINE__))

static void die(const char *what, int line)
{
	fprintf(stderr, "fake_engine.c:%d: %s\n", line, what);
	_exit(99);
}

/* The engine's own state, in its process. */
static struct fake_engine *e;
static struct gsb_region *region;
static struct gsb_ring_consumer ring;
static uint8_t *staging;
static int sock, event_fd;
static uint64_t numbers[GSB_N_STREAMS];
static uint64_t device_next, host_next, device_time_ns;
static unsigned completed;     /* log entries below are done */
static uint64_t host_func_due; /* cookie; 0: none */

static void fill_device(struct gsb_device_info *d)
{
	static const struct {
		int attr, value;
	} attrs[] = {
		{CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 1024},
		{CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, 65536},
		{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, 1024},
		{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, 1024},
		{CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, 64},
		{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, 2147483647},
		{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, 65535},
		{CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, 65535},
		{CU_DEVICE_ATTRIBUTE_WARP_SIZE, 32},
		{CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 4},
		{CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, 1},
		{CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH, 1},
		{CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED, 1},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, 49152},
		{CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 232448},
		{CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 9},
		{CU_DEVICE_ATTRIBUTE_MAX_PERSISTING_L2_CACHE_SIZE, 1 << 20},
		{CU_DEVICE_ATTRIBUTE_MAX_ACCESS_POLICY_WINDOW_SIZE, 1 << 27},
		{CU_DEVICE_ATTRIBUTE_MEM_SYNC_DOMAIN_COUNT, 4},
		{CU_DEVICE_ATTRIBUTE_PCI_BUS_ID, 0x2a},
	};

	snprintf(d->name, sizeof(d->name), "Fake device");
	memset(d->uuid, 0xab, sizeof(d->uuid));
	d->total_mem_bytes = 1ull << 33;
	d->priority_greatest = -5;
	d->driver_version = GSB_CUDA_VERSION;
	for (unsigned i = 0; i < sizeof(attrs) / sizeof(attrs[0]); i++)
		d->attrs[attrs[i].attr] = attrs[i].value;
}

struct fake_engine *fake_engine_create(void)
{
	struct fake_engine *f =
		mmap(NULL, sizeof(*f), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	CHECK(f != MAP_FAILED);
	f->staging_bytes = 8 << 20;
	f->host_window_bytes = 16 << 20;
	f->image_max_bytes = 1 << 20;
	f->occupancy = 2;
	f->major = GSB_WIRE_MAJOR;
	f->minor = GSB_WIRE_MINOR;
	f->info.attrs[CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK] = 1024;
	f->info.attrs[CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES] = 49152;
	return f;
}

/* ---- answers ---- */

static void answer(const struct gsb_rec *rec, CUresult result, const void *reply, uint32_t bytes)
{
	if (bytes)
		memcpy(region->replies[rec->thread], reply, bytes);
	gsb_reply(region, rec->thread, rec->call, result, bytes);
}

static void answer_range(const struct gsb_rec *rec, uint64_t *next, uint64_t size)
{
	const struct gsb_reply_range range = {.addr = *next, .size = size};

	*next += (size + 511) & ~511ull;
	answer(rec, CUDA_SUCCESS, &range, sizeof(range));
}

static uint64_t sum_of(const uint8_t *bytes, uint64_t n)
{
	uint64_t sum = n;

	for (uint64_t i = 0; i < n; i++)
		sum = sum * 31 + bytes[i];
	return sum;
}

static void take_image(const struct gsb_rec *rec, const struct gsb_rec_image_part *b)
{
	static uint64_t sum;

	if (!b->offset)
		sum = b->total;
	for (uint64_t i = 0; i < b->length; i++)
		sum = sum * 31 + staging[b->staging_offset + i];
	if (b->offset + b->length == b->total) {
		e->image_sum = sum;
		e->image_bytes = b->total;
	}
	answer(rec, CUDA_SUCCESS, NULL, 0);
}

static bool is_name(const void *body, uint32_t bytes, const char *name)
{
	return bytes == strlen(name) && !memcmp(body, name, bytes);
}

static void get_function(const struct gsb_rec *rec, const struct gsb_rec_function_get *b)
{
	uint32_t bytes = (uint32_t)(offsetof(struct gsb_function_info, params) +
				    e->info.n_params * sizeof(e->info.params[0]));

	if (is_name(b + 1, b->name_bytes, FAKE_KERNEL))
		answer(rec, CUDA_SUCCESS, &e->info, bytes);
	else
		answer(rec, CUDA_ERROR_NOT_FOUND, NULL, 0);
}

static void get_global(const struct gsb_rec *rec, const struct gsb_rec_global_get *b)
{
	if (is_name(b + 1, b->name_bytes, FAKE_GLOBAL))
		answer_range(rec, &device_next, 64);
	else if (is_name(b + 1, b->name_bytes, FAKE_MANAGED))
		answer(rec, CUDA_SUCCESS,
		       &(struct gsb_reply_range){.addr = e->managed + 16, .size = 32},
		       sizeof(struct gsb_reply_range));
	else
		answer(rec, CUDA_ERROR_NOT_FOUND, NULL, 0);
}

static void name_function(const struct gsb_rec *rec, const struct gsb_rec_function_name *b)
{
	if (b->index)
		answer(rec, CUDA_ERROR_NOT_FOUND, NULL, 0);
	else
		answer(rec, CUDA_SUCCESS, FAKE_KERNEL, strlen(FAKE_KERNEL));
}

static void create_ctx(const struct gsb_rec *rec, const struct gsb_rec_ctx_create *b)
{
	region->ctxs[gsb_handle_index(b->ctx)].error = 0;
	answer(rec, CUDA_SUCCESS, NULL, 0);
}

static void echo_size(const struct gsb_rec *rec, const struct gsb_rec_kernel_memory *b)
{
	const struct gsb_reply_number number = {.number = (b->bytes + 15) & ~15ull};

	answer(rec, CUDA_SUCCESS, &number, sizeof(number));
}

/* Each word is another. */
static void encode_tensor(const struct gsb_rec *rec, const struct gsb_rec_tensor_map *b)
{
	struct gsb_reply_tensor_map reply;

	for (unsigned i = 0; i < GSB_TENSOR_MAP_WORDS; i++)
		reply.words[i] = b->map.addr + i;
	answer(rec, CUDA_SUCCESS, &reply, sizeof(reply));
}

static void pin(const struct gsb_rec *rec, uint64_t bytes)
{
	host_next = e->host_at ? e->host_at : (host_next + 4095) & ~4095ull;
	e->host_at = 0;
	answer_range(rec, &host_next, bytes);
}

static void answer_load(const struct gsb_rec *rec, CUresult result)
{
	struct gsb_reply_module reply = {.managed_bytes = e->managed_bytes};
	uint32_t bytes = (uint32_t)strlen(e->log_text);

	memcpy(reply.text, e->log_text, bytes);
	answer(rec, result, &reply, (uint32_t)offsetof(struct gsb_reply_module, text) + bytes);
}

static void on_call(const struct gsb_rec *rec, const void *body)
{
	const struct gsb_reply_mem_info mem = {.free_bytes = 1 << 30, .total_bytes = 1ull << 33};
	const struct gsb_reply_number number = {.number = e->occupancy};
	const struct gsb_rec_mem_alloc *alloc = body;
	const struct gsb_rec_array_alloc *array = body;

	region->header.minor = e->minor;
	if (e->fail_result && e->fail_type == rec->type) {
		if (rec->type == GSB_REC_MODULE_LOAD)
			answer_load(rec, (CUresult)e->fail_result);
		else
			answer(rec, (CUresult)e->fail_result, e->log_text,
			       (uint32_t)strlen(e->log_text));
		e->fail_result = 0;
		return;
	}
	switch (rec->type) {
	case GSB_REC_CTX_CREATE: create_ctx(rec, body); break;
	case GSB_REC_IMAGE_PART: take_image(rec, body); break;
	case GSB_REC_MODULE_LOAD: answer_load(rec, CUDA_SUCCESS); break;
	case GSB_REC_MODULE_PLACE:
		e->managed = ((const struct gsb_rec_module_place *)body)->addr;
		answer(rec, CUDA_SUCCESS, NULL, 0);
		break;
	case GSB_REC_FUNCTION_GET: get_function(rec, body); break;
	case GSB_REC_FUNCTION_NAME: name_function(rec, body); break;
	case GSB_REC_GLOBAL_GET: get_global(rec, body); break;
	case GSB_REC_OCCUPANCY: answer(rec, CUDA_SUCCESS, &number, sizeof(number)); break;
	case GSB_REC_MEM_ALLOC: answer_range(rec, &device_next, alloc->size); break;
	case GSB_REC_ARRAY_ALLOC:
		answer_range(rec, &device_next, gsb_array_bytes(&array->array));
		break;
	case GSB_REC_HOST_ALLOC: pin(rec, alloc->size); break;
	case GSB_REC_KERNEL_MEMORY: echo_size(rec, body); break;
	case GSB_REC_TENSOR_MAP: encode_tensor(rec, body); break;
	case GSB_REC_MEM_INFO: answer(rec, CUDA_SUCCESS, &mem, sizeof(mem)); break;
	default: answer(rec, CUDA_SUCCESS, NULL, 0); break;
	}
}

/* ---- completions ---- */

static void fill_staging(const struct gsb_rec_copy *c)
{
	for (uint64_t y = 0; y < c->height; y++)
		for (uint64_t x = 0; x < c->width; x++)
			staging[c->dst + y * c->dst_pitch + x] =
				fake_byte(c->src + y * c->src_pitch + x);
}

static void complete_copy(struct fake_record *r)
{
	const struct gsb_rec_copy *c = (const void *)r->body;

	if (c->src_place == GSB_PLACE_STAGING)
		r->sum = sum_of(staging + c->src, c->width * c->height);
	if (c->src_place == GSB_PLACE_INLINE)
		r->sum = sum_of(r->body + sizeof(*c), c->width * c->height);
	if (c->dst_place == GSB_PLACE_STAGING)
		fill_staging(c);
}

static void complete_event(const struct gsb_rec_event_record *b)
{
	struct gsb_event_word *w = &region->events[gsb_handle_index(b->event)];

	device_time_ns += 1500000;
	w->time_ns = device_time_ns;
	w->done = b->number;
}

/* The first record that creates what a handle of the log names tells the context: index 0 is enough here. */
static void complete(struct fake_record *r)
{
	if (r->rec.type == GSB_REC_COPY)
		complete_copy(r);
	if (r->rec.type == GSB_REC_EVENT_RECORD)
		complete_event((const void *)r->body);
	if (r->rec.type == GSB_REC_LAUNCH && e->launch_error) {
		region->ctxs[0].error = e->launch_error;
		e->launch_error = 0;
	}
	r->is_done = true; /* before who waits for it can know */
	region->streams[gsb_handle_index(r->rec.stream)] = r->number;
	region->header.n_completed++;
}

static bool start_host_func(const struct fake_record *r)
{
	struct gsb_msg_host_func m = {.cookie =
					      ((const struct gsb_rec_host_func *)r->body)->cookie};

	if (host_func_due)
		return false;
	gsb_msg_init(&m.msg, GSB_MSG_HOST_FUNC, sizeof(m));
	CHECK(!gsb_channel_send(sock, &m.msg, NULL, 0));
	host_func_due = m.cookie;
	return true;
}

/* A host function holds everything behind it until the library answers. */
static bool complete_some(void)
{
	bool any = false;

	while (!e->hold && completed < e->n_logged) {
		struct fake_record *r = &e->log[completed];

		if (gsb_rec_class(r->rec.type) == GSB_CLASS_STREAM) {
			if (r->rec.type == GSB_REC_HOST_FUNC && !r->sum) {
				r->sum = start_host_func(r);
				break;
			}
			if (r->rec.type == GSB_REC_HOST_FUNC && host_func_due)
				break;
			complete(r);
			any = true;
			if (r->rec.type == GSB_REC_COPY && e->hold_after && !--e->hold_after)
				e->hold = true;
		}
		completed++;
	}
	return any;
}

/* ---- the process ---- */

static void log_record(const struct gsb_rec *rec)
{
	struct fake_record *r = &e->log[e->n_logged];
	size_t bytes = rec->size - sizeof(*rec);

	CHECK(e->n_logged < FAKE_LOG_MAX);
	r->rec = *rec;
	memcpy(r->body, rec + 1, bytes < FAKE_BODY_MAX ? bytes : FAKE_BODY_MAX);
	if (gsb_rec_class(rec->type) == GSB_CLASS_STREAM)
		r->number = ++numbers[gsb_handle_index(rec->stream)];
	e->n_logged++;
}

static void take_record(const struct gsb_rec *rec)
{
	log_record(rec);
	if (gsb_rec_class(rec->type) == GSB_CLASS_CALL && rec->call)
		on_call(rec, rec + 1);
}

/* The library says on the socket that the host function has run. */
static void take_message(void)
{
	struct gsb_msg_host_func m;

	if (gsb_channel_recv(sock, &m, sizeof(m), NULL, NULL) != sizeof(m))
		return;
	CHECK(m.msg.type == GSB_MSG_HOST_FUNC && m.cookie == host_func_due);
	host_func_due = 0;
	e->n_host_funcs_done++;
}

static void look_at_threads(void)
{
	unsigned n = 0, n_threads = 0;

	for (uint32_t i = 0; i < region->header.n_threads; i++) {
		n_threads += region->threads[i].state != GSB_THREAD_FREE;
		if (region->threads[i].state != GSB_THREAD_BLOCKED)
			continue;
		n++;
		if (region->threads[i].wait_kind == GSB_WAIT_ANY)
			e->was_blocked_any = true;
	}
	e->n_blocked = n;
	e->n_threads = n_threads;
	e->n_looks++;
}

/* What the ring says of it has been read: only then does an engine know what is kept. */
static void take_back(void)
{
	for (unsigned i = 0; i < GSB_N_KEPT; i++) {
		uint64_t number = region->kept[i];

		if (number && !(number & GSB_KEPT_GONE))
			atomic_compare_exchange_strong(&region->kept[i], &number,
						       number | GSB_KEPT_GONE);
	}
	e->take_back = false;
}

static void serve(void)
{
	static _Alignas(GSB_RECORD_ALIGN) uint8_t record[GSB_RECORD_MAX];
	struct pollfd fd = {.fd = event_fd, .events = POLLIN};
	uint64_t ignored;

	for (;;) {
		bool any = false;

		region->header.is_traced = e->is_traced;
		if (e->take_back)
			take_back();
		if (host_func_due)
			take_message();
		/* A record that was posted behind the switch is not taken: so it is looked at last. */
		while (gsb_ring_peek(&ring, record) == 1 && !e->ignore_ring) {
			take_record((struct gsb_rec *)record);
			gsb_ring_advance(&ring, (struct gsb_rec *)record);
			any = true;
		}
		look_at_threads();
		if (complete_some() || any) {
			gsb_wake_waiters(region);
			continue;
		}
		gsb_ring_prepare_sleep(&ring);
		fd.revents = 0;
		if (gsb_ring_is_empty(&ring))
			poll(&fd, 1, 1); /* the test's switches ring no bell */
		gsb_ring_awake(&ring);
		if (fd.revents)
			CHECK(read(event_fd, &ignored, sizeof(ignored)) > 0);
	}
}

static void say_starting(void)
{
	struct gsb_msg m;

	gsb_msg_init(&m, GSB_MSG_STARTING, sizeof(m));
	for (unsigned i = 0; i < e->n_words; i++) {
		poll(NULL, 0, (int)e->word_ms);
		gsb_channel_send(sock, &m, NULL, 0);
	}
}

static void refuse(void)
{
	struct gsb_msg_refused m = {.error = -EACCES};

	gsb_msg_init(&m.msg, GSB_MSG_REFUSED, sizeof(m));
	snprintf(m.reason, sizeof(m.reason), "%s", e->refuse);
	gsb_channel_send(sock, &m.msg, NULL, 0);
}

static void welcome(const struct gsb_msg_hello *hello)
{
	struct gsb_msg_welcome m = {.slot = 3, .tenant_id = 1};
	int fds[5], n = 0;

	gsb_msg_init(&m.msg, GSB_MSG_WELCOME, sizeof(m));
	m.msg.major = e->major;
	m.features = e->welcome_features ? e->welcome_features : hello->features_wanted;
	if (!e->keeps)
		m.features &= ~GSB_FEATURE_KEEP;
	m.staging_bytes = e->staging_bytes;
	m.host_window_bytes = e->host_window_bytes;
	m.image_max_bytes = e->image_max_bytes;
	fill_device(&m.device);
	m.device.clock_is_virtual = e->is_virtual;
	CHECK(!gsb_region_create(m.features, &region, &fds[n++]));
	CHECK(!gsb_memfd_create("fake-staging", m.staging_bytes, &fds[n++]));
	CHECK(!gsb_memfd_map(fds[1], m.staging_bytes, (void **)&staging));
	if (m.features & GSB_FEATURE_HOST_WINDOW)
		CHECK(!gsb_memfd_create("fake-window", m.host_window_bytes, &fds[n++]));
	event_fd = fds[n++] = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	CHECK(!gsb_pidfd_open(getpid(), &fds[n++]));
	gsb_ring_consumer_init(&ring, region);
	device_next = gsb_device_window_base(m.slot);
	host_next = gsb_host_window_base(m.slot);
	CHECK(!gsb_channel_send(sock, &m.msg, fds, (unsigned)n));
}

static void engine_main(int listener, const char *path)
{
	struct gsb_msg_hello hello;
	unsigned n_fds = 0;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sock = accept(listener, NULL, NULL);
	CHECK(sock >= 0);
	unlink(path);
	CHECK(gsb_channel_recv(sock, &hello, sizeof(hello), NULL, &n_fds) == sizeof(hello));
	say_starting();
	while (e->is_silent)
		pause();
	if (e->refuse) {
		refuse();
		_exit(0);
	}
	welcome(&hello);
	CHECK(!fcntl(sock, F_SETFL, O_NONBLOCK));
	serve();
}

void fake_engine_start(struct fake_engine *engine)
{
	char name[32], path[TEMP_PATH_MAX];
	int listener;
	pid_t pid;

	snprintf(name, sizeof(name), "gsb-fake-%d.socket", (int)getpid());
	temp_path(path, name);
	CHECK(!gsb_channel_listen(path, &listener));
	setenv("GSB_SOCKET", path, 1);
	e = engine;
	pid = fork();
	CHECK(pid >= 0);
	if (!pid) {
		engine_main(listener, path);
		_exit(0);
	}
	e->pid = pid;
	close(listener);
}

void fake_engine_kill(struct fake_engine *engine)
{
	kill(engine->pid, SIGKILL);
	waitpid(engine->pid, NULL, 0);
}

unsigned fake_count(const struct fake_engine *engine, unsigned from, enum gsb_rec_type type)
{
	unsigned n = 0;

	for (unsigned i = from; i < engine->n_logged; i++)
		n += engine->log[i].rec.type == type;
	return n;
}

const struct fake_record *fake_last(const struct fake_engine *engine, enum gsb_rec_type type)
{
	for (unsigned i = engine->n_logged; i--;)
		if (engine->log[i].rec.type == type)
			return &engine->log[i];
	fprintf(stderr, "no %s record came\n", gsb_rec_name(type));
	exit(1);
}
