/*
 * test_engine_hostile.c - tenants that break the protocol, die, or want too much, beside a healthy
 * one: the engine names what was wrong, cuts that tenant off, and nobody else notices.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/compiler.h"
#include "shm/channel.h"
#include "broker/engine/code/code.h"
#include "broker/engine/dispatch.h"
#include "tests/unit/engine_kit.h"

/* The file that a tenant has, too, and whose lock it holds as by a write from a page that never comes: what else is to be done to it waits. */
static struct {
	pthread_mutex_t lock;
	int fd; /* the engine's */
	pthread_t engine;
	bool held, engine_would_wait;
} file = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* The engine's thread would never return. */
int fallocate(int fd, int mode, off_t offset, off_t length)
{
	if (pthread_equal(pthread_self(), file.engine)) {
		file.engine_would_wait = true; /* its alone */
	} else if (fd == file.fd) {
		pthread_mutex_lock(&file.lock);
		pthread_mutex_unlock(&file.lock);
	}
	return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

static void release_file(void)
{
	if (file.held)
		pthread_mutex_unlock(&file.lock);
	file.held = false;
}

struct fixture {
	struct kit_engine k;
	struct kit_tenant good, bad;
	uint64_t mem, bad_mem;
};

static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	kit_engine_init(&f->k, false);
	kit_device_auto(f->k.dev);
	kit_tenant_init(&f->good, &f->k, NULL);
	kit_tenant_init(&f->bad, &f->k, NULL);
	f->mem = kit_alloc(&f->good, 64);
	f->bad_mem = kit_alloc(&f->bad, 64);
	kit_load_inc(&f->bad, 0, 0);
	kit_load_inc(&f->good, 0, 0);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	release_file();
	kit_tenant_finish(&f->bad);
	kit_tenant_finish(&f->good);
	kit_engine_finish(&f->k);
	free(f);
	return 0;
}

/* The healthy tenant's kernel runs and its bytes are right. */
static void expect_good_works(struct fixture *f)
{
	uint32_t *word = (uint32_t *)(uintptr_t)f->mem, before = *word;
	uint64_t done = kit_done(&f->good, 0);

	kit_launch_inc(&f->good, 0, 0, f->mem, 1);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->good, 0), done + 1);
	assert_int_equal(*word, before + 1);
	assert_int_equal(atomic_load(&f->good.region->header.fatal), 0);
}

/* The other was cut off, alone, and told why. */
static void expect_cut(struct fixture *f, const char *why)
{
	struct gsb_msg_cut m;

	kit_settle(&f->k);
	assert_int_equal(atomic_load(&f->bad.region->header.fatal),
			 CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
	assert_int_equal(gsb_channel_recv(f->bad.socket, &m, sizeof(m), NULL, NULL), sizeof(m));
	assert_int_equal(m.msg.type, GSB_MSG_CUT);
	if (!strstr(m.reason, why))
		fail_msg("\"%s\" does not say \"%s\"", m.reason, why);
	assert_true(kit_tenant_is_gone(&f->bad));
	assert_int_equal(f->k.engine->n_cut, 1);
	expect_good_works(f);
}

/* ---- records that are wrong in one thing each ---- */

struct bad_record {
	const char *name;
	enum gsb_rec_type type;
	uint64_t stream;
	union {
		struct gsb_rec_ctx ctx;
		struct gsb_rec_object object;
		struct gsb_rec_ctx_create ctx_create;
		struct gsb_rec_stream_create stream_create;
		struct gsb_rec_event_create event_create;
		struct gsb_rec_image_part image_part;
		struct gsb_rec_module_load module_load;
		struct gsb_rec_module_place module_place;
		struct gsb_rec_function_get function_get;
		struct gsb_rec_function_name function_name;
		struct gsb_rec_function_set function_set;
		struct gsb_rec_global_get global_get;
		struct gsb_rec_occupancy occupancy;
		struct gsb_rec_mem_alloc mem_alloc;
		struct gsb_rec_array_alloc array_alloc;
		struct gsb_rec_texture_create texture_create;
		struct gsb_rec_texture_destroy texture_destroy;
		struct gsb_rec_mem_free mem_free;
		struct gsb_rec_launch launch;
		struct gsb_rec_copy copy;
		struct gsb_rec_fill fill;
		struct gsb_rec_range range;
		struct gsb_rec_event_record event_record;
	};
	uint32_t tail_bytes;
	const char *why;
};

#define S0  kit_stream(0)
#define OLD KIT_HANDLE(GSB_HANDLE_STREAM, 0, 77) /* another generation */
#define MEM 1					 /* stands for the tenant's own memory */

static const struct bad_record bad_records[] = {
	{"stream: stale generation", GSB_REC_NOP, OLD, .why = "Nop with stream"},
	{"stream: index out of range", GSB_REC_NOP, kit_stream(0xffffff), .why = "Nop with stream"},
	{"stream: an event's handle", GSB_REC_NOP, kit_event(0), .why = "Nop with stream"},
	{"stream: a pointer", GSB_REC_NOP, 0x7f0012345678, .why = "Nop with stream"},
	{"stream: none", GSB_REC_NOP, 0, .why = "Nop with stream"},
	{"ctx create: taken", GSB_REC_CTX_CREATE, .ctx_create = {kit_ctx(0), kit_stream(5)},
	 .why = "in use"},
	{"ctx create: index", GSB_REC_CTX_CREATE, .ctx_create = {kit_ctx(64), kit_stream(5)},
	 .why = "no such handle"},
	{"ctx create: legacy taken", GSB_REC_CTX_CREATE, .ctx_create = {kit_ctx(1), kit_stream(0)},
	 .why = "in use"},
	{"ctx create: legacy no handle", GSB_REC_CTX_CREATE, .ctx_create = {kit_ctx(1), 12},
	 .why = "no such handle"},
	{"ctx destroy: unknown", GSB_REC_CTX_DESTROY, .object = {kit_ctx(7)},
	 .why = "with context"},
	{"stream create: taken", GSB_REC_STREAM_CREATE,
	 .stream_create = {kit_stream(0), kit_ctx(0)}, .why = "in use"},
	{"stream create: index", GSB_REC_STREAM_CREATE,
	 .stream_create = {kit_stream(GSB_N_STREAMS), kit_ctx(0)}, .why = "no such handle"},
	{"stream create: context", GSB_REC_STREAM_CREATE,
	 .stream_create = {kit_stream(5), kit_ctx(9)}, .why = "with context"},
	{"stream destroy: the legacy one", GSB_REC_STREAM_DESTROY, .object = {kit_stream(0)},
	 .why = "with stream"},
	{"event create: index", GSB_REC_EVENT_CREATE,
	 .event_create = {kit_event(GSB_N_EVENTS), kit_ctx(0)}, .why = "no such handle"},
	{"event destroy: unknown", GSB_REC_EVENT_DESTROY, .object = {kit_event(3)},
	 .why = "with event"},
	{"stream priority: stale generation", GSB_REC_STREAM_PRIORITY, OLD,
	 .why = "StreamPriority with stream"},
	{"event record: unknown", GSB_REC_EVENT_RECORD, S0, .event_record = {kit_event(3), 1},
	 .why = "with event"},
	{"wait: unknown", GSB_REC_STREAM_WAIT_EVENT, S0, .object = {kit_event(3)},
	 .why = "with event"},
	{"image part: beyond staging", GSB_REC_IMAGE_PART, .image_part = {1, 0, 64, 1ull << 40, 64},
	 .why = "staging offset"},
	{"image part: overflow", GSB_REC_IMAGE_PART, .image_part = {1, 0, 64, UINT64_MAX - 8, 64},
	 .why = "staging offset"},
	{"image part: beyond total", GSB_REC_IMAGE_PART, .image_part = {1, 0, 65, 0, 64},
	 .why = "ImagePart"},
	{"image part: empty", GSB_REC_IMAGE_PART, .image_part = {1, 0, 0, 0, 64},
	 .why = "ImagePart"},
	{"image part: over the limit", GSB_REC_IMAGE_PART, .image_part = {1, 0, 64, 0, 1ull << 40},
	 .why = "ImagePart"},
	{"image part: not from 0", GSB_REC_IMAGE_PART, .image_part = {1, 32, 32, 0, 64},
	 .why = "after 0"},
	{"module load: no image", GSB_REC_MODULE_LOAD,
	 .module_load = {kit_module(3), kit_ctx(0), 99}, .why = "not all there"},
	{"module place: unknown", GSB_REC_MODULE_PLACE, .module_place = {kit_module(3), MEM, 1},
	 .why = "no such module"},
	{"module place: without managed variables", GSB_REC_MODULE_PLACE,
	 .module_place = {kit_module(0), MEM, 1}, .why = "no such module"},
	{"module unload: unknown", GSB_REC_MODULE_UNLOAD, .object = {kit_module(3)},
	 .why = "with module"},
	{"function get: module", GSB_REC_FUNCTION_GET,
	 .function_get = {kit_fn(3), kit_module(3), 1}, .tail_bytes = 1, .why = "with module"},
	{"function prepare: unknown", GSB_REC_FUNCTION_PREPARE, .object = {kit_fn(3)},
	 .why = "FunctionPrepare with function"},
	{"function get: name longer than the record", GSB_REC_FUNCTION_GET,
	 .function_get = {kit_fn(3), kit_module(0), 1000}, .why = "name of 1000 bytes"},
	{"function get: no name", GSB_REC_FUNCTION_GET,
	 .function_get = {kit_fn(3), kit_module(0), 0}, .why = "name of 0 bytes"},
	{"function get: handle taken", GSB_REC_FUNCTION_GET,
	 .function_get = {kit_fn(0), kit_module(0), 1}, .tail_bytes = 1, .why = "taken"},
	{"function get: handle index", GSB_REC_FUNCTION_GET,
	 .function_get = {kit_fn(0xffffff), kit_module(0), 1}, .tail_bytes = 1,
	 .why = "taken or no"},
	{"function name: module", GSB_REC_FUNCTION_NAME, .function_name = {kit_module(9), 0},
	 .why = "with module"},
	{"function set: unknown", GSB_REC_FUNCTION_SET, .function_set = {kit_fn(9), 8, 0},
	 .why = "with function"},
	{"global get: module", GSB_REC_GLOBAL_GET, .global_get = {kit_module(9), 1},
	 .tail_bytes = 1, .why = "with module"},
	{"occupancy: unknown", GSB_REC_OCCUPANCY, .occupancy = {kit_fn(9), 0, 32, 0},
	 .why = "Occupancy with function"},
	{"mem alloc: context", GSB_REC_MEM_ALLOC, .mem_alloc = {kit_ctx(9), 64},
	 .why = "MemAlloc with context"},
	{"array alloc: context", GSB_REC_ARRAY_ALLOC, .array_alloc = {kit_ctx(9), {.width = 8}},
	 .why = "ArrayAlloc with context"},
	{"texture create: context", GSB_REC_TEXTURE_CREATE, .texture_create = {kit_ctx(9)},
	 .why = "TextureCreate with context"},
	{"texture destroy: context", GSB_REC_TEXTURE_DESTROY, .texture_destroy = {kit_ctx(9), MEM},
	 .why = "TextureDestroy with context"},
	{"mem free: nothing there", GSB_REC_MEM_FREE, .mem_free = {kit_ctx(0), 0x1000},
	 .why = "no allocation begins"},
	{"mem free: context", GSB_REC_MEM_FREE, .mem_free = {kit_ctx(9), MEM},
	 .why = "MemFree with context"},
	{"mem info: context", GSB_REC_MEM_INFO, .ctx = {kit_ctx(9)}, .why = "MemInfo with context"},
	{"host alloc: context", GSB_REC_HOST_ALLOC, .mem_alloc = {kit_ctx(9), 64},
	 .why = "HostAlloc with context"},
	{"host mirror: context", GSB_REC_HOST_MIRROR, .mem_alloc = {kit_ctx(9), 4096},
	 .why = "HostMirror with context"},
	{"host free: of the process, nothing there", GSB_REC_HOST_FREE, .mem_free = {0, 0x1000},
	 .why = "no allocation begins"},
	{"host free: nothing there", GSB_REC_HOST_FREE, .mem_free = {kit_ctx(0), 0x1000},
	 .why = "no allocation begins"},
	{"free async: nothing there", GSB_REC_MEM_FREE_ASYNC, S0, .mem_free = {kit_ctx(0), 0x1000},
	 .why = "no allocation begins"},
	{"launch: unknown function", GSB_REC_LAUNCH, S0,
	 .launch = {kit_fn(9), {1, 1, 1}, {1, 1, 1}, .params_bytes = 16}, .tail_bytes = 16,
	 .why = "with function"},
	{"launch: too few parameters", GSB_REC_LAUNCH, S0,
	 .launch = {kit_fn(0), {1, 1, 1}, {1, 1, 1}, .params_bytes = 8}, .tail_bytes = 16,
	 .why = "8 bytes of parameters"},
	{"launch: parameters beyond the record", GSB_REC_LAUNCH, S0,
	 .launch = {kit_fn(0), {1, 1, 1}, {1, 1, 1}, .params_bytes = 16},
	 .why = "16 bytes of parameters"},
	{"launch: empty grid", GSB_REC_LAUNCH, S0,
	 .launch = {kit_fn(0), {1, 0, 1}, {1, 1, 1}, .params_bytes = 16}, .tail_bytes = 16,
	 .why = "without threads"},
	{"launch: flags", GSB_REC_LAUNCH, S0,
	 .launch = {kit_fn(0), {1, 1, 1}, {1, 1, 1}, .flags = 6, .params_bytes = 16},
	 .tail_bytes = 16, .why = "flags 0x6"},
	{"launch: clusters where there are none", GSB_REC_LAUNCH, S0,
	 .launch = {kit_fn(0),
		    {2, 1, 1},
		    {1, 1, 1},
		    .flags = GSB_LAUNCH_CLUSTER(2, 1, 1),
		    .params_bytes = 16},
	 .tail_bytes = 16, .why = "in clusters of 2x1x1"},
	{"launch: clusters of no blocks", GSB_REC_LAUNCH, S0,
	 .launch = {kit_fn(0),
		    {2, 1, 1},
		    {1, 1, 1},
		    .flags = GSB_LAUNCH_CLUSTER(2, 0, 1),
		    .params_bytes = 16},
	 .tail_bytes = 16, .why = "in clusters of 2x0x1"},
	{"copy: past the allocation", GSB_REC_COPY, S0,
	 .copy = {MEM, 0, 65, 1, .dst_place = GSB_PLACE_DEVICE, .src_place = GSB_PLACE_STAGING},
	 .why = "device range"},
	{"copy: past the staging memory", GSB_REC_COPY, S0,
	 .copy = {MEM, 1ull << 40, 64, 1, .dst_place = GSB_PLACE_DEVICE,
		  .src_place = GSB_PLACE_STAGING},
	 .why = "staging range"},
	{"copy: pinned memory that is not", GSB_REC_COPY, S0,
	 .copy = {MEM, GSB_HOST_WINDOW_BASE, 64, 1, .dst_place = GSB_PLACE_DEVICE,
		  .src_place = GSB_PLACE_HOST},
	 .why = "pinned range"},
	{"copy: another's device memory", GSB_REC_COPY, S0,
	 .copy = {GSB_DEVICE_WINDOW_BASE, 0, 64, 1, .dst_place = GSB_PLACE_DEVICE,
		  .src_place = GSB_PLACE_STAGING},
	 .why = "device range"},
	{"copy: rows overflow", GSB_REC_COPY, S0,
	 .copy = {MEM, 0, 64, UINT64_MAX, 1ull << 62, 64, .dst_place = GSB_PLACE_DEVICE,
		  .src_place = GSB_PLACE_STAGING},
	 .why = "copy of"},
	{"copy: rows overlap", GSB_REC_COPY, S0,
	 .copy = {MEM, 0, 16, 2, 8, 16, .dst_place = GSB_PLACE_DEVICE,
		  .src_place = GSB_PLACE_STAGING},
	 .why = "copy of"},
	{"copy: place", GSB_REC_COPY, S0,
	 .copy = {MEM, 0, 4, 1, .dst_place = 99, .src_place = GSB_PLACE_STAGING},
	 .why = "place 99"},
	{"copy: into the record", GSB_REC_COPY, S0,
	 .copy = {0, 0, 4, 1, .dst_place = GSB_PLACE_INLINE, .src_place = GSB_PLACE_STAGING},
	 .why = "place 3"},
	{"copy: inline longer than the record", GSB_REC_COPY, S0,
	 .copy = {MEM, 0, 64, 1, .dst_place = GSB_PLACE_DEVICE, .src_place = GSB_PLACE_INLINE},
	 .tail_bytes = 16, .why = "inline copy"},
	{"copy: inline rows that end behind the record", GSB_REC_COPY, S0,
	 .copy = {MEM, 0, 4, 2, 4, 64, .dst_place = GSB_PLACE_DEVICE,
		  .src_place = GSB_PLACE_INLINE},
	 .tail_bytes = 16, .why = "inline copy"},
	{"fill: element size", GSB_REC_FILL, S0, .fill = {MEM, 4, 1, 0, 0, 3}, .why = "of 3 bytes"},
	{"fill: size overflow", GSB_REC_FILL, S0, .fill = {MEM, 1ull << 63, 1, 0, 0, 4},
	 .why = "fill of"},
	{"fill: past the end", GSB_REC_FILL, S0, .fill = {MEM, 17, 1, 0, 0, 4},
	 .why = "not its own"},
	{"range: step", GSB_REC_RANGE, 0, .range = {.step = GSB_N_RANGE_STEPS},
	 .why = "Range with step 4"},
	{"range: name behind its end", GSB_REC_RANGE, 0, .range = {.text_bytes = 17},
	 .tail_bytes = 16, .why = "17 bytes of name"},
	{"range: name too long", GSB_REC_RANGE, 0, .range = {.text_bytes = GSB_RANGE_TEXT_MAX + 1},
	 .tail_bytes = GSB_RANGE_TEXT_MAX + 1, .why = "128 bytes of name"},
};

/* The tenant's own memory where the table says MEM. */
static void place_memory(struct bad_record *r, uint64_t mem)
{
	if (r->type == GSB_REC_COPY && r->copy.dst == MEM)
		r->copy.dst = mem;
	if (r->type == GSB_REC_FILL && r->fill.dst == MEM)
		r->fill.dst = mem;
	if (r->type == GSB_REC_MEM_FREE && r->mem_free.addr == MEM)
		r->mem_free.addr = mem;
}

static void test_each_bad_record_cuts_its_tenant_off_with_its_reason(void **state)
{
	static const uint8_t tail[GSB_RANGE_TEXT_MAX + 1] = "xxxxxxxxxxxxxxxx";

	for (size_t i = 0; i < sizeof(bad_records) / sizeof(bad_records[0]); i++) {
		struct bad_record r = bad_records[i];
		void *fixture;
		struct fixture *f;

		setup(&fixture);
		f = fixture;
		place_memory(&r, f->bad_mem);
		kit_post(&f->bad, r.type, r.stream, &r.ctx, gsb_rec_min_size(r.type) - 32, tail,
			 r.tail_bytes);
		kit_settle(&f->k);
		if (!atomic_load(&f->bad.region->header.fatal))
			fail_msg("%s: not cut off", r.name);
		expect_cut(f, r.why);
		teardown(&fixture);
	}
}

/* ---- the ring itself ---- */

static struct gsb_rec *raw_record(struct kit_tenant *t)
{
	uint64_t wait_for;
	struct gsb_rec *rec = gsb_ring_reserve(&t->producer, 32, &wait_for);

	memset(rec, 0, sizeof(*rec));
	rec->type = GSB_REC_NOP;
	rec->size = 32;
	rec->stream = kit_stream(0);
	return rec;
}

static void test_unknown_record_type_cuts_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec *rec = raw_record(&f->bad);

	rec->type = GSB_N_RECS;
	gsb_ring_commit(&f->bad.producer, rec);
	expect_cut(f, "bad type or length");
}

static void test_record_shorter_than_its_type_cuts_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec *rec = raw_record(&f->bad);

	rec->type = GSB_REC_LAUNCH;
	gsb_ring_commit(&f->bad.producer, rec);
	expect_cut(f, "bad type or length");
}

static void test_tail_beyond_the_ring_cuts_off(void **state)
{
	struct fixture *f = *state;

	atomic_store(&f->bad.region->header.tail, f->bad.producer.tail + GSB_RING_BYTES + 16);
	expect_cut(f, "bad type or length");
}

static void test_thread_that_there_is_not_cuts_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec *rec = raw_record(&f->bad);

	rec->thread = GSB_N_THREADS;
	gsb_ring_commit(&f->bad.producer, rec);
	expect_cut(f, "thread 1024");
}

static void test_event_record_out_of_number_cuts_off(void **state)
{
	struct fixture *f = *state;

	kit_event_create(&f->bad, 0);
	f->bad.n_records[0] = 5;
	kit_record(&f->bad, 0, 0);
	expect_cut(f, "EventRecord number 6 after 0");
}

static void test_double_free_cuts_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = f->bad_mem};

	kit_post_call(&f->bad, GSB_REC_MEM_FREE, &b, sizeof(b), NULL, 0);
	kit_post_call(&f->bad, GSB_REC_MEM_FREE, &b, sizeof(b), NULL, 0);
	expect_cut(f, "no allocation begins");
}

static void test_message_of_another_type_cuts_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_msg_host_func m = {.cookie = 1};

	gsb_msg_init(&m.msg, GSB_MSG_CONTROL, sizeof(m));
	assert_int_equal(gsb_channel_send(f->bad.socket, &m.msg, NULL, 0), 0);
	expect_cut(f, "message of type");
}

static void test_host_function_done_unasked_cuts_off(void **state)
{
	struct fixture *f = *state;

	assert_true(kit_host_func_done(&f->bad, 5));
	expect_cut(f, "host function 0x5 done, which was not asked for");
}

static void test_garbage_on_the_socket_cuts_off(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(send(f->bad.socket, "garbage", 7, MSG_NOSIGNAL), 7);
	expect_cut(f, "what is no message");
}

static void test_message_that_is_too_long_cuts_off(void **state)
{
	struct fixture *f = *state;
	struct gsb_msg_hello m = {0};

	gsb_msg_init(&m.msg, GSB_MSG_HELLO, sizeof(m));
	assert_int_equal(gsb_channel_send(f->bad.socket, &m.msg, NULL, 0), 0);
	expect_cut(f, "too long");
}

/* Its process lives on, as another program or without the descriptors: there is nobody to be served. */
static void test_end_of_file_on_the_socket_ends_the_tenant(void **state)
{
	struct fixture *f = *state;
	int childs = dup(f->bad.socket);

	assert_true(childs >= 0);
	close(f->bad.socket);
	f->bad.socket = childs;
	kit_fill(&f->bad, 0, f->bad_mem);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->bad, 0), 1); /* a child that holds the other end keeps it */
	assert_int_equal(shutdown(childs, SHUT_RDWR), 0);
	kit_settle(&f->k);
	assert_int_equal(atomic_load(&f->bad.region->header.fatal), CUDA_ERROR_SYSTEM_NOT_READY);
	assert_int_equal(f->k.engine->n_tenants, 1);
	assert_int_equal(f->k.engine->n_cut, 0);
}

/* Words that the engine writes may be overwritten: it has its own copies. */
static void test_scribbled_region_changes_nothing_for_others(void **state)
{
	struct fixture *f = *state;
	struct gsb_region *r = f->bad.region;

	memset(r->streams, 0xff, sizeof(r->streams));
	memset(r->events, 0xff, sizeof(r->events));
	memset(r->threads, 0xff, sizeof(r->threads));
	memset((void *)r->header.blocked, 0xff, sizeof(r->header.blocked));
	r->header.ring_bytes = 1;
	atomic_store(&r->header.head, 12345);
	kit_fill(&f->bad, 0, f->bad_mem);
	kit_settle(&f->k);
	expect_good_works(f);
}

/* ---- leaving ---- */

static void test_death_drops_the_queue_and_frees_everything(void **state)
{
	struct fixture *f = *state;
	uint64_t used = f->k.dev->used_bytes;

	f->k.dev->automatic = false;
	kit_launch_inc(&f->bad, 0, 0, f->bad_mem, 1);
	kit_launch_inc(&f->bad, 0, 0, f->bad_mem, 1);
	kit_host_func(&f->bad, 0, 1);
	kit_settle(&f->k);
	kit_tenant_die(&f->bad); /* the kit's space_cancel ends what runs */
	f->k.dev->automatic = true;
	assert_true(kit_tenant_is_gone(&f->bad));
	assert_int_equal(f->k.dev->n_cancels, 1);
	assert_int_equal(f->k.dev->n_spaces, 1);
	assert_int_equal(f->k.dev->used_bytes, used - 64);
	expect_good_works(f);
}

static void say_nonsense(struct fixture *f)
{
	assert_int_equal(send(f->bad.socket, "garbage", 7, MSG_NOSIGNAL), 7);
}

/* It is cut off, and says more meanwhile: nobody reads that, so it must wake nobody either. */
static void test_socket_of_who_leaves_does_not_keep_the_engine_awake(void **state)
{
	struct fixture *f = *state;
	struct epoll_event event;

	f->bad.t->n_jobs++; /* so it cannot be gone yet */
	say_nonsense(f);
	say_nonsense(f);
	kit_settle(&f->k);
	assert_int_equal(f->bad.t->state, GSB_TENANT_LEAVING);
	assert_int_equal(epoll_wait(f->k.engine->watches.epoll_fd, &event, 1, 0), 0);
	f->bad.t->n_jobs--;
}

static void test_death_while_a_host_function_runs(void **state)
{
	struct fixture *f = *state;

	kit_host_func(&f->bad, 0, 1);
	kit_settle(&f->k);
	kit_tenant_die(&f->bad);
	assert_true(kit_tenant_is_gone(&f->bad));
}

static void test_death_with_calls_pending(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object d = {.handle = kit_ctx(0)};

	f->k.dev->automatic = false;
	kit_fill(&f->bad, 0, f->bad_mem);
	kit_post_call(&f->bad, GSB_REC_CTX_DESTROY, &d, sizeof(d), NULL, 0);
	kit_settle(&f->k);
	kit_tenant_die(&f->bad);
	f->k.dev->automatic = true;
	assert_true(kit_tenant_is_gone(&f->bad));
	assert_int_equal(f->k.dev->n_spaces, 1);
}

static void test_kernel_past_the_limit_is_abandoned(void **state)
{
	struct fixture *f = *state;

	f->k.dev->automatic = false;
	f->k.engine->scheduler.kernel_limit_ns = 1000000;
	kit_launch_inc(&f->bad, 0, 0, f->bad_mem, 1);
	while (!kit_done(&f->bad, 0)) /* the engine's own timer ends this */
		if (!gsb_engine_turn(f->k.engine))
			gsb_engine_sleep(f->k.engine);
	f->k.dev->automatic = true;
	assert_int_equal(kit_error(&f->bad, 0), CUDA_ERROR_LAUNCH_TIMEOUT);
	assert_int_equal(f->k.dev->n_cancels, 1);
	assert_false(kit_tenant_is_gone(&f->bad));
	expect_good_works(f);
}

static uint64_t ran_ns;

static uint64_t tell_ran_ns(struct gsb_queue *queue)
{
	(void)queue;
	return ran_ns;
}

/* It waits for the device while another's kernel is executed: that is not its own time. */
static void test_kernel_that_only_waits_is_not_past_the_limit(void **state)
{
	struct fixture *f = *state;
	struct gsb_engine *e = f->k.engine;

	f->k.dev->automatic = false;
	f->k.dev->ops.ran_ns = tell_ran_ns;
	e->scheduler.kernel_limit_ns = 1000000;
	ran_ns = 0;
	kit_launch_inc(&f->bad, 0, 0, f->bad_mem, 1);
	do
		gsb_engine_turn(e);
	while (e->scheduler.run_ns < 3 * e->scheduler.kernel_limit_ns);
	assert_int_equal(kit_error(&f->bad, 0), 0);
	ran_ns = e->scheduler.kernel_limit_ns;
	while (!kit_done(&f->bad, 0))
		gsb_engine_turn(e);
	f->k.dev->automatic = true;
	assert_int_equal(kit_error(&f->bad, 0), CUDA_ERROR_LAUNCH_TIMEOUT);
	expect_good_works(f);
}

/* ---- what counts of the time that a kernel may run: a limit that no test lasts for ---- */

#define LONG_LIMIT_NS 1600000000000ull
#define LOOK_NS	      (LONG_LIMIT_NS / 16)

/* As if the last turn had been so long ago. */
static void let_pass(struct fixture *f, uint64_t ns)
{
	f->k.engine->scheduler.run_from_ns -= ns;
}

/* Its function has been prepared. */
static void launch_with_limit(struct fixture *f)
{
	kit_launch_inc(&f->bad, 0, 0, f->bad_mem, 1);
	while (!kit_done(&f->bad, 0))
		gsb_engine_turn(f->k.engine);
	f->k.dev->automatic = false;
	f->k.engine->scheduler.kernel_limit_ns = LONG_LIMIT_NS;
	kit_launch_inc(&f->bad, 0, 0, f->bad_mem, 1);
}

/* Of the kernel that is on the device. */
static uint64_t counted_ns(const struct fixture *f)
{
	const struct gsb_scheduler *s = &f->k.engine->scheduler;

	for (int i = 0; i < GSB_N_QUEUES; i++)
		if (s->flights[i].item)
			return s->run_ns - s->flights[i].since_run_ns;
	fail_msg("no kernel is on the device");
	return 0;
}

static void end_with_limit(struct fixture *f)
{
	kit_complete(f->k.dev, f->k.dev->n_issued - 1, CUDA_SUCCESS, 1);
	f->k.dev->automatic = true;
	kit_settle(&f->k);
	assert_int_equal(kit_error(&f->bad, 0), 0);
	expect_good_works(f);
}

/* The engine slept, for nobody had work. */
static void test_time_before_a_kernel_is_not_its_own(void **state)
{
	struct fixture *f = *state;

	launch_with_limit(f);
	let_pass(f, LOOK_NS);
	gsb_engine_turn(f->k.engine);
	assert_true(counted_ns(f) < LOOK_NS / 2);
	end_with_limit(f);
}

/* One ends, and the next comes to the device in the same turn. */
static void test_time_of_the_kernel_before_is_not_its_own(void **state)
{
	struct fixture *f = *state;

	launch_with_limit(f);
	gsb_engine_turn(f->k.engine);
	let_pass(f, LOOK_NS);
	gsb_engine_turn(f->k.engine);
	assert_true(counted_ns(f) >= LOOK_NS);
	kit_launch_inc(&f->bad, 0, 0, f->bad_mem, 1);
	let_pass(f, LOOK_NS);
	kit_complete(f->k.dev, f->k.dev->n_issued - 1, CUDA_SUCCESS, 1);
	gsb_engine_turn(f->k.engine);
	assert_true(counted_ns(f) < LOOK_NS / 2);
	end_with_limit(f);
}

/* By a signal, a freezer or a debugger: it looks often enough to notice that. */
static void test_time_in_which_the_engine_was_stopped_is_no_kernels(void **state)
{
	struct fixture *f = *state;

	launch_with_limit(f);
	gsb_engine_turn(f->k.engine);
	assert_in_range(gsb_complete_due_ns(&f->k.engine->scheduler), 1, LOOK_NS + 1);
	let_pass(f, 10 * LONG_LIMIT_NS);
	gsb_engine_turn(f->k.engine);
	assert_int_equal(kit_error(&f->bad, 0), 0);
	assert_in_range(counted_ns(f), LOOK_NS, 2 * LOOK_NS);
	end_with_limit(f);
}

/* ---- limits ---- */

/* Events that rest must not eat the memory that queued work needs. */
static void test_recorded_events_hold_nothing_of_the_queue(void **state)
{
	struct fixture *f = *state;
	size_t used = f->bad.t->queues.pool.used_bytes;

	for (uint32_t i = 0; i < 250; i++) {
		kit_event_create(&f->bad, i);
		kit_record(&f->bad, 0, i);
		kit_wait(&f->bad, 0, i);
	}
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->bad, 0), 500);
	assert_int_equal(f->bad.t->queues.pool.used_bytes, used);
}

static void test_device_memory_quota_is_kept(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(0), .size = 4096};
	struct gsb_rec_ctx c = {kit_ctx(0)};
	const struct gsb_reply_mem_info *info = kit_reply(&f->bad);

	f->bad.t->limits.device_mem_bytes = 4096;
	assert_int_equal(kit_call(&f->bad, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
	a.size = 4096 - 64;
	assert_int_equal(kit_call(&f->bad, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0),
			 CUDA_SUCCESS);
	assert_int_equal(kit_call(&f->bad, GSB_REC_MEM_INFO, &c, sizeof(c), NULL, 0), CUDA_SUCCESS);
	assert_int_equal(info->free_bytes, 0);
	assert_int_equal(info->total_bytes, 4096);
	expect_good_works(f);
}

static void test_sizes_that_overflow_are_out_of_memory(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(0), .size = UINT64_MAX};

	f->bad.t->limits.device_mem_bytes = 1 << 20;
	assert_int_equal(kit_call(&f->bad, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(kit_call(&f->bad, GSB_REC_HOST_ALLOC, &a, sizeof(a), NULL, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
	a.size = 0;
	assert_int_equal(kit_call(&f->bad, GSB_REC_MEM_ALLOC, &a, sizeof(a), NULL, 0),
			 CUDA_ERROR_INVALID_VALUE);
}

static unsigned n_asked;

static int count_cluster_room(struct gsb_device *dev, const struct gsb_cmd_launch *l, uint32_t *n)
{
	n_asked++;
	*n = 1;
	return 0;
}

/* A device reckons with what it is asked for: of no threads it would divide by nothing, of many it would wrap around. */
static void test_occupancy_of_blocks_that_cannot_be_is_not_asked_for(void **state)
{
	static const struct {
		uint32_t block;
		uint64_t smem;
	} wrong[] = {{0, 0},	{UINT32_MAX, 0},  {UINT32_MAX - 31, 0},
		     {1025, 0}, {32, UINT32_MAX}, {32, 1ull << 32}};
	struct fixture *f = *state;

	f->k.dev->ops.cluster_room = f->k.dev->ops.cluster_size = count_cluster_room;
	n_asked = 0;
	for (unsigned what = GSB_OCC_CLUSTERS; what <= GSB_OCC_CLUSTER_SIZE; what++) {
		struct gsb_rec_occupancy b = {.function = kit_fn(0), .block = 32, .what = what};

		assert_int_equal(kit_call(&f->bad, GSB_REC_OCCUPANCY, &b, sizeof(b), NULL, 0),
				 CUDA_SUCCESS);
		for (unsigned i = 0; i < GSB_ARRAY_LEN(wrong); i++) {
			b.block = wrong[i].block;
			b.smem = wrong[i].smem;
			assert_int_equal(
				kit_call(&f->bad, GSB_REC_OCCUPANCY, &b, sizeof(b), NULL, 0),
				CUDA_ERROR_INVALID_VALUE);
		}
	}
	assert_int_equal(n_asked, 2);
	expect_good_works(f);
}

static void test_module_that_is_none_is_refused_with_the_log(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_image_part part = {.image = 7, .length = 8, .total = 8};
	struct gsb_rec_module_load load = {.module = kit_module(5), .ctx = kit_ctx(0), .image = 7};

	memcpy(f->bad.staging, "rubbish", 8);
	assert_int_equal(kit_call(&f->bad, GSB_REC_IMAGE_PART, &part, sizeof(part), NULL, 0), 0);
	assert_int_equal(kit_call(&f->bad, GSB_REC_MODULE_LOAD, &load, sizeof(load), NULL, 0),
			 CUDA_ERROR_INVALID_IMAGE);
	assert_memory_equal(((const struct gsb_reply_module *)kit_reply(&f->bad))->text,
			    "line 1: this is no module", 25);
}

static void test_all_places_taken_is_refused_with_the_reason(void **state)
{
	static struct kit_tenant t[GSB_N_SLOTS];
	struct kit_engine k;
	struct kit_tenant late;
	struct gsb_tenant_limits small = {.host_mem_bytes = 4096, .staging_bytes = 4096};
	char why[256];

	kit_engine_init(&k, false);
	for (int i = 0; i < GSB_N_SLOTS; i++)
		assert_int_equal(kit_tenant_admit(&t[i], &k, &small, why, sizeof(why)), 0);
	assert_int_equal(kit_tenant_admit(&late, &k, &small, why, sizeof(why)), -EUSERS);
	assert_non_null(strstr(why, "64 places"));
	for (int i = 0; i < GSB_N_SLOTS; i++)
		kit_tenant_finish(&t[i]);
	kit_engine_finish(&k);
}

/* What the loader has done, in its order, once it has done n; nothing is collected meanwhile. */
static void await_done_jobs(struct gsb_mailbox *b, unsigned n, const struct gsb_tenant **of)
{
	unsigned have = 0;

	while (have < n) {
		have = 0;
		pthread_mutex_lock(&b->lock);
		for (const struct gsb_mail *m = b->first; m; m = m->next)
			of[have++] = gsb_container_of(m, struct gsb_job, mail)->tenant;
		pthread_mutex_unlock(&b->lock);
		sched_yield();
	}
}

/* Who finds nothing to do leaves, but for the first: soon, if at all. */
static void await_threads(struct gsb_loader *l, uint64_t there)
{
	uint64_t is = 0;

	for (int i = 0; i < 10000 && is != there; i++) {
		usleep(1000);
		pthread_mutex_lock(&l->lock);
		is = l->there;
		pthread_mutex_unlock(&l->lock);
	}
	assert_int_equal(is, there);
}

static void test_queue_of_loads_of_one_tenant_does_not_stand_before_another(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object fn = {.handle = kit_fn(0)};
	const struct gsb_tenant *of[101];
	unsigned at = 0;

	pthread_mutex_lock(&f->k.dev->preparing);
	for (int i = 0; i < 100; i++)
		kit_post_call(&f->bad, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0);
	assert_int_equal(gsb_dispatch_ring(f->bad.t, 100), 100);
	kit_post_call(&f->good, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0);
	assert_int_equal(gsb_dispatch_ring(f->good.t, 1), 1);
	pthread_mutex_unlock(&f->k.dev->preparing);
	await_done_jobs(&f->k.engine->mailbox, 101, of);
	while (of[at] != f->good.t)
		at++;
	assert_in_range(at, 0, 2); /* one was begun already, one is before it in the turn */
	assert_int_equal(f->k.engine->loader.there, 1);
	kit_settle(&f->k);
	expect_good_works(f);
}

/* Where the device is in processes of which one hangs: of each tenant one job at a time, and no thread more than that takes. */
static void test_load_that_hangs_keeps_its_tenant_alone(void **state)
{
	struct fixture *f = *state;
	struct gsb_loader *l = &f->k.engine->loader;
	struct gsb_rec_object fn = {.handle = kit_fn(0)};
	const struct gsb_tenant *of[5];
	uint64_t last = 0;

	f->k.dev->ops.loads_apart = true;
	f->k.dev->prepares_late = gsb_ctx_find(f->bad.t, kit_ctx(0))->space;
	pthread_mutex_lock(&f->k.dev->preparing);
	for (int i = 0; i < 3; i++)
		last = kit_post_call(&f->bad, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0);
	assert_int_equal(gsb_dispatch_ring(f->bad.t, 3), 3);
	for (unsigned n = 2; n <= 4; n += 2) { /* by a second thread, and by one in its place */
		for (int i = 0; i < 2; i++)
			kit_post_call(&f->good, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0);
		assert_int_equal(gsb_dispatch_ring(f->good.t, 2), 2);
		await_done_jobs(&f->k.engine->mailbox, n, of);
		assert_ptr_equal(of[n - 2], f->good.t);
		assert_ptr_equal(of[n - 1], f->good.t);
		await_threads(l, 1);
		assert_int_equal(l->left, 2);
		assert_int_equal(l->n_doing, 1);
	}
	pthread_mutex_unlock(&f->k.dev->preparing);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->bad, last));
	expect_good_works(f);
}

/* ---- a file whose lock its tenant holds ---- */

static void lock_file_of(const struct kit_tenant *t)
{
	file.fd = t->t->host_fd;
	file.engine = pthread_self();
	file.engine_would_wait = false;
	file.held = !pthread_mutex_lock(&file.lock);
}

static uint64_t pin(struct kit_tenant *t)
{
	struct gsb_rec_mem_alloc a = {.ctx = kit_ctx(0), .size = 4096};

	return kit_post_call(t, GSB_REC_HOST_ALLOC, &a, sizeof(a), NULL, 0);
}

static uint64_t pinned(struct kit_tenant *t, uint64_t call)
{
	kit_settle(t->kit);
	assert_int_equal(kit_status_of(t, call), CUDA_SUCCESS);
	return ((const struct gsb_reply_range *)kit_reply(t))->addr;
}

/* Its pages are to go from here on. */
static void unpin(struct kit_tenant *t, uint64_t addr)
{
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0), .addr = addr};
	uint64_t call = kit_post_call(t, GSB_REC_HOST_FREE, &b, sizeof(b), NULL, 0);

	while (!kit_answered(t, call))
		gsb_engine_turn(t->kit->engine);
}

/* One that has freed all the pinned memory that it may have, and holds the file's lock. */
static uint64_t set_up_holder(struct fixture *f, struct kit_tenant *t)
{
	struct gsb_tenant_limits small = {.host_mem_bytes = 4096};
	uint64_t addr;

	kit_tenant_init(t, &f->k, &small);
	addr = pinned(t, pin(t));
	memcpy((void *)(uintptr_t)addr, "pinned", 6);
	lock_file_of(t);
	unpin(t, addr);
	return addr;
}

static void test_tenant_that_holds_its_file_waits_alone(void **state)
{
	struct fixture *f = *state;
	uint64_t good = pinned(&f->good, pin(&f->good)), addr, call;
	struct kit_tenant holder;

	addr = set_up_holder(f, &holder);
	call = pin(&holder);
	memcpy((void *)(uintptr_t)good, "pinned", 6);
	unpin(&f->good, good);
	while (f->good.t->punching)
		gsb_engine_turn(f->k.engine);
	assert_memory_equal((void *)(uintptr_t)good, "\0\0\0\0\0\0", 6);
	assert_false(file.engine_would_wait);
	assert_false(kit_answered(&holder, call)); /* there is no more yet */
	release_file();
	assert_int_equal(pinned(&holder, call), addr);
	assert_memory_equal((void *)(uintptr_t)addr, "\0\0\0\0\0\0", 6);
	expect_good_works(f);
	kit_tenant_finish(&holder);
}

/* The thread that waits has its file, and what it says is about the tenant. */
static void test_tenant_that_dies_while_its_file_is_held_is_kept_until_then(void **state)
{
	struct fixture *f = *state;
	struct kit_tenant holder;

	set_up_holder(f, &holder);
	close(holder.pidfd_write);
	holder.pidfd_write = -1;
	while (holder.t->state != GSB_TENANT_LEAVING)
		gsb_engine_listen(f->k.engine, UINT64_MAX);
	while (gsb_engine_turn(f->k.engine))
		;
	assert_false(kit_tenant_is_gone(&holder));
	release_file();
	kit_tenant_finish(&holder);
	expect_good_works(f);
}

/* Calls that nobody waits for: the engine keeps as many as it said, and answers all in the end. */
static void test_flood_of_calls_for_the_loader_is_kept_small(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_object fn = {.handle = kit_fn(0)};
	uint64_t last = 0;

	for (int i = 0; i < 2000; i++)
		last = kit_post_call(&f->bad, GSB_REC_FUNCTION_PREPARE, &fn, sizeof(fn), NULL, 0);
	assert_int_equal(gsb_dispatch_ring(f->bad.t, 2000), GSB_N_JOBS_MAX);
	assert_int_equal(f->bad.t->n_jobs, GSB_N_JOBS_MAX);
	kit_settle(&f->k);
	assert_true(kit_answered(&f->bad, last));
	expect_good_works(f);
}

#define hostile_test(t) cmocka_unit_test_setup_teardown(t, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_bad_record_cuts_its_tenant_off_with_its_reason),
		hostile_test(test_unknown_record_type_cuts_off),
		hostile_test(test_record_shorter_than_its_type_cuts_off),
		hostile_test(test_tail_beyond_the_ring_cuts_off),
		hostile_test(test_thread_that_there_is_not_cuts_off),
		hostile_test(test_event_record_out_of_number_cuts_off),
		hostile_test(test_double_free_cuts_off),
		hostile_test(test_message_of_another_type_cuts_off),
		hostile_test(test_host_function_done_unasked_cuts_off),
		hostile_test(test_garbage_on_the_socket_cuts_off),
		hostile_test(test_message_that_is_too_long_cuts_off),
		hostile_test(test_end_of_file_on_the_socket_ends_the_tenant),
		hostile_test(test_queue_of_loads_of_one_tenant_does_not_stand_before_another),
		hostile_test(test_load_that_hangs_keeps_its_tenant_alone),
		hostile_test(test_tenant_that_holds_its_file_waits_alone),
		hostile_test(test_tenant_that_dies_while_its_file_is_held_is_kept_until_then),
		hostile_test(test_flood_of_calls_for_the_loader_is_kept_small),
		hostile_test(test_scribbled_region_changes_nothing_for_others),
		hostile_test(test_death_drops_the_queue_and_frees_everything),
		hostile_test(test_socket_of_who_leaves_does_not_keep_the_engine_awake),
		hostile_test(test_death_while_a_host_function_runs),
		hostile_test(test_death_with_calls_pending),
		hostile_test(test_kernel_past_the_limit_is_abandoned),
		hostile_test(test_kernel_that_only_waits_is_not_past_the_limit),
		hostile_test(test_time_before_a_kernel_is_not_its_own),
		hostile_test(test_time_of_the_kernel_before_is_not_its_own),
		hostile_test(test_time_in_which_the_engine_was_stopped_is_no_kernels),
		hostile_test(test_recorded_events_hold_nothing_of_the_queue),
		hostile_test(test_device_memory_quota_is_kept),
		hostile_test(test_sizes_that_overflow_are_out_of_memory),
		hostile_test(test_occupancy_of_blocks_that_cannot_be_is_not_asked_for),
		hostile_test(test_module_that_is_none_is_refused_with_the_log),
		cmocka_unit_test(test_all_places_taken_is_refused_with_the_reason),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
