/*
 * fuzz_records.c - a hostile tenant's records against a live engine, beside a healthy tenant.
 *
 * A valid session (every record type, in an order that makes sense) is laid out in the hostile
 * tenant's ring. The input is a list of edits to it, so that most of what the engine sees stays
 * plausible and the mutations reach the checks behind the first one:
 *
 *   byte 0       bit 0: the device completes nothing by itself, so the tenant dies with work in
 *                flight
 *   then 4 each  offset low, offset high, operation, operand
 *
 * Whatever happens to the hostile one, the healthy tenant's kernel must run and its bytes be right,
 * and all of the hostile one's memory must be freed once it is gone.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "tests/fuzz/fuzz.h"
#include "tests/unit/engine_kit.h"

const char *const gsb_fuzz_seeds = "tests/fuzz/seeds/records/*";

#define EDIT_BYTES 4

struct bench {
	struct kit_engine k;
	struct kit_tenant good;
	uint64_t good_mem;
	uint32_t count; /* what the healthy tenant's word must hold */
};

static struct bench *bench;

/* Values that arithmetic on sizes, indices and addresses goes wrong with. */
static uint64_t interesting(uint8_t operand)
{
	static const uint64_t values[] = {
		0,
		1,
		15,
		16,
		64,
		4096,
		GSB_RECORD_MAX,
		GSB_RING_BYTES,
		UINT32_MAX,
		1ull << 32,
		1ull << 40,
		INT64_MAX,
		UINT64_MAX,
		UINT64_MAX - 15,
		UINT64_MAX / 2,
		GSB_HOST_WINDOW_BASE,
		GSB_DEVICE_WINDOW_BASE,
		GSB_DEVICE_WINDOW_BASE + GSB_DEVICE_WINDOW_STRIDE,
		kit_ctx(0),
		kit_stream(0),
		kit_stream(1),
		kit_event(0),
		kit_module(0),
		kit_fn(0),
		kit_fn(0xffffff),
	};

	return values[operand % (sizeof(values) / sizeof(values[0]))];
}

static void edit(uint8_t *bytes, size_t size, const uint8_t *e)
{
	size_t at = (size_t)(e[0] | e[1] << 8) % (size - 8);
	uint64_t v = interesting(e[3]);
	uint32_t v32 = (uint32_t)v;

	switch (e[2] % 6) {
	case 0: bytes[at] = e[3]; break;
	case 1: bytes[at] ^= (uint8_t)(1u << e[3] % 8); break;
	case 2: memcpy(bytes + at / 8 * 8, &v, 8); break;
	case 3: memcpy(bytes + at / 4 * 4, &v32, 4); break;
	case 4: bytes[at / 8 * 8] += e[3]; break;
	default: memmove(bytes + at, bytes + (at * 7 + e[3]) % (size - 8), 8); break;
	}
}

/* Every record type with bodies that are right; addresses as the calls will answer them. */
static void post_session(struct kit_tenant *t, uint64_t mem)
{
	struct gsb_rec_mem_alloc alloc = {.ctx = kit_ctx(0), .size = 256};
	struct gsb_rec_mem_free free_mem = {.ctx = kit_ctx(0), .addr = mem};
	struct gsb_rec_object object = {.handle = kit_stream(2)};
	struct gsb_rec_occupancy occupancy = {.function = kit_fn(0), .block = 32};
	struct gsb_rec_function_set set = {kit_fn(0), 8, 1024};
	struct gsb_rec_function_name name = {kit_module(0), 0};
	struct gsb_rec_global_get global = {kit_module(0), 1, 0};
	struct gsb_rec_ctx info = {kit_ctx(0)};
	struct gsb_rec_ctx_create ctx = {kit_ctx(1), kit_stream(9), 0, 0};
	struct gsb_rec_copy copy = {.dst = mem,
				    .width = 4,
				    .height = 2,
				    .dst_pitch = 8,
				    .src_pitch = 16,
				    .src_place = GSB_PLACE_STAGING};
	struct gsb_rec_copy inline_copy = {
		.dst = mem, .width = 16, .height = 1, .src_place = GSB_PLACE_INLINE};

	kit_stream_create(t, 1, 0);
	kit_stream_create(t, 2, GSB_STREAM_NON_BLOCKING);
	kit_event_create(t, 0);
	kit_launch_inc(t, 1, 0, mem, 4);
	kit_record(t, 1, 0);
	kit_wait(t, 2, 0);
	kit_launch_inc(t, 2, 0, mem, 4);
	kit_post(t, GSB_REC_COPY, kit_stream(1), &copy, sizeof(copy), NULL, 0);
	kit_post(t, GSB_REC_COPY, kit_stream(1), &inline_copy, sizeof(inline_copy),
		 "0123456789abcdef", 16);
	kit_fill(t, 0, mem + 16);
	kit_host_func(t, 2, 3);
	kit_nop(t, 0);
	kit_post_call(t, GSB_REC_MEM_ALLOC, &alloc, sizeof(alloc), NULL, 0);
	kit_post_call(t, GSB_REC_HOST_ALLOC, &alloc, sizeof(alloc), NULL, 0);
	kit_post_call(t, GSB_REC_OCCUPANCY, &occupancy, sizeof(occupancy), NULL, 0);
	kit_post_call(t, GSB_REC_FUNCTION_NAME, &name, sizeof(name), NULL, 0);
	kit_post_call(t, GSB_REC_GLOBAL_GET, &global, sizeof(global), "x", 1);
	kit_post_call(t, GSB_REC_MEM_INFO, &info, sizeof(info), NULL, 0);
	kit_post(t, GSB_REC_FUNCTION_SET, 0, &set, sizeof(set), NULL, 0);
	kit_post_call(t, GSB_REC_CTX_CREATE, &ctx, sizeof(ctx), NULL, 0);
	kit_post(t, GSB_REC_STREAM_DESTROY, 0, &object, sizeof(object), NULL, 0);
	object.handle = kit_event(0);
	kit_post(t, GSB_REC_EVENT_DESTROY, 0, &object, sizeof(object), NULL, 0);
	object.handle = kit_module(0);
	kit_post_call(t, GSB_REC_MODULE_UNLOAD, &object, sizeof(object), NULL, 0);
	kit_post(t, GSB_REC_MEM_FREE_ASYNC, kit_stream(1), &free_mem, sizeof(free_mem), NULL, 0);
	object.handle = kit_ctx(1);
	kit_post_call(t, GSB_REC_CTX_DESTROY, &object, sizeof(object), NULL, 0);
}

static void start_bench(void)
{
	gsb_log_init("fuzz", GSB_LOG_OFF);
	bench = calloc(1, sizeof(*bench));
	kit_engine_init(&bench->k, false);
	kit_device_auto(bench->k.dev);
	kit_tenant_init(&bench->good, &bench->k, NULL);
	bench->good_mem = kit_alloc(&bench->good, 64);
	kit_load_inc(&bench->good, 0, 0);
}

static void must(bool ok)
{
	if (!ok)
		abort();
}

static void check_good(void)
{
	kit_launch_inc(&bench->good, 0, 0, bench->good_mem, 1);
	kit_settle(&bench->k);
	bench->count++;
	must(*(uint32_t *)(uintptr_t)bench->good_mem == bench->count);
	must(kit_done(&bench->good, 0) == bench->count);
	must(!kit_error(&bench->good, 0));
	must(!atomic_load(&bench->good.region->header.fatal));
}

static void run_hostile(struct kit_tenant *bad, const uint8_t *data, size_t size)
{
	struct gsb_rec_host_func done = {.cookie = 3};
	uint64_t mem = kit_alloc(bad, 256), begin;
	uint8_t *ring = bad->region->ring;

	kit_load_inc(bad, 0, 0);
	begin = bad->producer.tail; /* well before the end of the ring */
	post_session(bad, mem);
	for (size_t i = 1; i + EDIT_BYTES <= size; i += EDIT_BYTES)
		edit(ring + begin, bad->producer.tail - begin, data + i);
	kit_settle(&bench->k);
	kit_post(bad, GSB_REC_HOST_FUNC_DONE, 0, &done, sizeof(done), NULL, 0);
	kit_settle(&bench->k);
}

void gsb_fuzz_records_seen(unsigned *n_tenants, unsigned *n_cut)
{
	*n_tenants = (unsigned)bench->k.engine->n_admitted - 1;
	*n_cut = (unsigned)bench->k.engine->n_cut;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct gsb_tenant_limits limits = {
		.device_mem_bytes = 1 << 20,
		.host_mem_bytes = 1 << 20,
		.staging_bytes = 1 << 16,
		.image_max_bytes = 1 << 16,
	};
	struct kit_tenant bad;

	if (!bench)
		start_bench();
	kit_tenant_init(&bad, &bench->k, &limits);
	bench->k.dev->automatic = !size || !(data[0] & 1);
	run_hostile(&bad, data, size);
	kit_tenant_finish(&bad);
	bench->k.dev->automatic = true;
	check_good();
	must(bench->k.dev->n_spaces == 1 && bench->k.dev->used_bytes == 64);
	must(bench->k.dev->n_modules == 1 && bench->k.engine->n_tenants == 1);
	kit_device_forget(bench->k.dev);
	return 0;
}
