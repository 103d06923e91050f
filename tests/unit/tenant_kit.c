/*
 * tenant_kit.c - see tenant_kit.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

#include "base/clock.h"
#include "shm/channel.h"
#include "shm/region.h"
#include "shm/wait.h"
#include "tests/unit/tenant_kit.h"

void kit_tenant_attach(struct kit_tenant *kt, int fds[KIT_N_FDS])
{
	unsigned n_fds = KIT_N_FDS;
	void *p = NULL;

	assert_int_equal(
		gsb_channel_recv(kt->socket, &kt->welcome, sizeof(kt->welcome), fds, &n_fds),
		sizeof(kt->welcome));
	assert_int_equal(kt->welcome.msg.type, GSB_MSG_WELCOME);
	assert_int_equal(n_fds, KIT_N_FDS);
	assert_int_equal(gsb_region_attach(fds[0], &kt->region), 0);
	assert_int_equal(gsb_memfd_map(fds[1], kt->welcome.staging_bytes, &p), 0);
	kt->staging = p;
	kt->doorbell = fds[3];
	gsb_ring_producer_init(&kt->producer, kt->region, kt->doorbell, NULL);
	assert_int_equal(gsb_thread_acquire(kt->region, &kt->slot), 0);
}

/* ---- records ---- */

static struct gsb_rec *reserve(struct kit_tenant *kt, uint32_t bytes)
{
	uint64_t wait_for;
	struct gsb_rec *rec = gsb_ring_reserve(&kt->producer, bytes, &wait_for);

	if (!rec) {
		kt->settle(kt);
		rec = gsb_ring_reserve(&kt->producer, bytes, &wait_for);
	}
	assert_non_null(rec);
	memset((uint8_t *)rec + 8, 0, rec->size - 8);
	rec->thread = 0;
	rec->stamp = kt->region->header.is_traced ? gsb_clock_stamp() : 0; /* as the library does */
	return rec;
}

static void post(struct kit_tenant *kt, enum gsb_rec_type type, uint64_t stream, uint64_t call,
		 const void *parts[2], const uint32_t bytes[2])
{
	struct gsb_rec *rec = reserve(kt, (uint32_t)sizeof(*rec) + bytes[0] + bytes[1]);
	uint8_t *p = (uint8_t *)(rec + 1);

	rec->type = (uint16_t)type;
	rec->thread = (uint16_t)kt->slot;
	rec->stream = stream;
	rec->call = call;
	if (bytes[0])
		memcpy(p, parts[0], bytes[0]);
	if (bytes[1])
		memcpy(p + bytes[0], parts[1], bytes[1]);
	gsb_ring_commit(&kt->producer, rec);
	if (gsb_rec_class((uint16_t)type) == GSB_CLASS_STREAM &&
	    gsb_handle_index(stream) < GSB_N_STREAMS)
		kt->n_posted[gsb_handle_index(stream)]++;
}

void kit_post(struct kit_tenant *kt, enum gsb_rec_type type, uint64_t stream, const void *body,
	      uint32_t body_bytes, const void *tail, uint32_t tail_bytes)
{
	post(kt, type, stream, 0, (const void *[]){body, tail},
	     (const uint32_t[]){body_bytes, tail_bytes});
}

uint64_t kit_post_call(struct kit_tenant *kt, enum gsb_rec_type type, const void *body,
		       uint32_t body_bytes, const void *tail, uint32_t tail_bytes)
{
	post(kt, type, 0, ++kt->n_calls, (const void *[]){body, tail},
	     (const uint32_t[]){body_bytes, tail_bytes});
	return kt->n_calls;
}

bool kit_answered(const struct kit_tenant *kt, uint64_t call)
{
	return atomic_load(&kt->region->threads[kt->slot].call) >= call;
}

CUresult kit_status_of(const struct kit_tenant *kt, uint64_t call)
{
	assert_true(kit_answered(kt, call));
	return (CUresult)kt->region->threads[kt->slot].status;
}

CUresult kit_call(struct kit_tenant *kt, enum gsb_rec_type type, const void *body,
		  uint32_t body_bytes, const void *tail, uint32_t tail_bytes)
{
	uint64_t call = kit_post_call(kt, type, body, body_bytes, tail, tail_bytes);

	kt->settle(kt);
	assert_true(kit_answered(kt, call));
	return (CUresult)kt->region->threads[kt->slot].status;
}

const void *kit_reply(const struct kit_tenant *kt)
{
	return kt->region->replies[kt->slot];
}

void kit_block(struct kit_tenant *kt, enum gsb_wait_kind kind, uint32_t index, uint64_t value)
{
	struct gsb_thread *th = &kt->region->threads[kt->slot];

	th->wait_kind = kind;
	th->wait_index = index;
	th->wait_value = value;
	atomic_fetch_or(&kt->region->header.blocked[0], 1ull << kt->slot);
	atomic_store(&th->state, GSB_THREAD_BLOCKED);
}

/* ---- what tests mostly do ---- */

void kit_stream_create(struct kit_tenant *kt, uint32_t index, uint32_t flags)
{
	struct gsb_rec_stream_create b = {
		.stream = kit_stream(index), .ctx = kit_ctx(0), .flags = flags};

	kit_post(kt, GSB_REC_STREAM_CREATE, 0, &b, sizeof(b), NULL, 0);
}

void kit_event_create(struct kit_tenant *kt, uint32_t index)
{
	struct gsb_rec_event_create b = {.event = kit_event(index), .ctx = kit_ctx(0)};

	kit_post(kt, GSB_REC_EVENT_CREATE, 0, &b, sizeof(b), NULL, 0);
}

void kit_fill(struct kit_tenant *kt, uint32_t stream, uint64_t addr)
{
	struct gsb_rec_fill b = {.dst = addr, .width = 1, .height = 1, .value = 7, .elem_bytes = 4};

	kit_post(kt, GSB_REC_FILL, kit_stream(stream), &b, sizeof(b), NULL, 0);
}

void kit_record(struct kit_tenant *kt, uint32_t stream, uint32_t event)
{
	struct gsb_rec_event_record b = {.event = kit_event(event),
					 .number = ++kt->n_records[event]};

	kit_post(kt, GSB_REC_EVENT_RECORD, kit_stream(stream), &b, sizeof(b), NULL, 0);
}

void kit_wait(struct kit_tenant *kt, uint32_t stream, uint32_t event)
{
	struct gsb_rec_object b = {.handle = kit_event(event)};

	kit_post(kt, GSB_REC_STREAM_WAIT_EVENT, kit_stream(stream), &b, sizeof(b), NULL, 0);
}

void kit_nop(struct kit_tenant *kt, uint32_t stream)
{
	kit_post(kt, GSB_REC_NOP, kit_stream(stream), NULL, 0, NULL, 0);
}

void kit_host_func(struct kit_tenant *kt, uint32_t stream, uint64_t cookie)
{
	struct gsb_rec_host_func b = {.cookie = cookie};

	kit_post(kt, GSB_REC_HOST_FUNC, kit_stream(stream), &b, sizeof(b), NULL, 0);
}

bool kit_host_func_done(struct kit_tenant *kt, uint64_t cookie)
{
	struct gsb_msg_host_func m = {.cookie = cookie};

	gsb_msg_init(&m.msg, GSB_MSG_HOST_FUNC, sizeof(m));
	return !gsb_channel_send(kt->socket, &m.msg, NULL, 0);
}

uint64_t kit_alloc(struct kit_tenant *kt, uint64_t size)
{
	struct gsb_rec_mem_alloc b = {.ctx = kit_ctx(0), .size = size};

	assert_int_equal(kit_call(kt, GSB_REC_MEM_ALLOC, &b, sizeof(b), NULL, 0), CUDA_SUCCESS);
	return ((const struct gsb_reply_range *)kit_reply(kt))->addr;
}

uint64_t kit_post_alloc(struct kit_tenant *kt, uint64_t size)
{
	struct gsb_rec_mem_alloc b = {.ctx = kit_ctx(0), .size = size};
	uint64_t call = kit_post_call(kt, GSB_REC_MEM_ALLOC, &b, sizeof(b), NULL, 0);

	kt->settle(kt);
	return call;
}

/* In pieces, as the staging memory has room. */
static CUresult upload(struct kit_tenant *kt, uint64_t number, const char *image, uint64_t bytes)
{
	struct gsb_rec_image_part part = {.image = number, .total = bytes};
	CUresult r = CUDA_SUCCESS;

	for (; !r && part.offset < bytes; part.offset += part.length) {
		part.length = bytes - part.offset;
		if (part.length > kt->welcome.staging_bytes)
			part.length = kt->welcome.staging_bytes;
		memcpy(kt->staging, image + part.offset, part.length);
		r = kit_call(kt, GSB_REC_IMAGE_PART, &part, sizeof(part), NULL, 0);
	}
	return r;
}

CUresult kit_load(struct kit_tenant *kt, uint32_t module, uint32_t fn, const char *image,
		  uint64_t bytes)
{
	struct gsb_rec_module_load load = {
		.module = kit_module(module), .ctx = kit_ctx(0), .image = module + 1};
	struct gsb_rec_function_get get = {
		.function = kit_fn(fn), .module = kit_module(module), .name_bytes = 3};
	CUresult r = upload(kt, load.image, image, bytes);

	if (!r)
		r = kit_call(kt, GSB_REC_MODULE_LOAD, &load, sizeof(load), NULL, 0);
	if (!r)
		r = kit_call(kt, GSB_REC_FUNCTION_GET, &get, sizeof(get), "inc", 3);
	return r;
}

void kit_launch_inc(struct kit_tenant *kt, uint32_t stream, uint32_t fn, uint64_t p, uint32_t n)
{
	struct kit_inc params = {.p = p, .n = n};
	struct gsb_rec_launch b = {
		.function = kit_fn(fn),
		.grid = {1, 1, 1},
		.block = {32, 1, 1},
		.params_bytes = sizeof(params),
	};

	kit_post(kt, GSB_REC_LAUNCH, kit_stream(stream), &b, sizeof(b), &params, sizeof(params));
}

uint64_t kit_done(const struct kit_tenant *kt, uint32_t stream)
{
	return atomic_load(&kt->region->streams[stream]);
}

uint32_t kit_error(const struct kit_tenant *kt, uint32_t ctx)
{
	return atomic_load(&kt->region->ctxs[ctx].error);
}
