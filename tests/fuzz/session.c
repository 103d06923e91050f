/*
 * session.c - see session.h.
 */
#include "tests/fuzz/session.h"

#include <string.h>

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

void kit_edit(uint8_t *bytes, size_t size, const uint8_t *e)
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

void kit_post_session(struct kit_tenant *t, uint64_t mem)
{
	struct gsb_rec_mem_alloc alloc = {.ctx = kit_ctx(0), .size = 256};
	struct gsb_rec_host_mirror mirror = {
		.ctx = kit_ctx(0), .size = 8192, .shared = {GSB_HOST_WINDOW_BASE}};
	struct gsb_rec_array_alloc array = {
		.ctx = kit_ctx(0),
		.array = {8, 8, 0, 0, CU_AD_FORMAT_FLOAT, .n_channels = 1, .n_levels = 3}};
	struct gsb_rec_texture_create texture = {.ctx = kit_ctx(0), .view = {.base = mem}};
	struct gsb_rec_texture_destroy no_texture = {.ctx = kit_ctx(0), .handle = mem};
	struct gsb_rec_mem_free free_mem = {.ctx = kit_ctx(0), .addr = mem};
	struct gsb_rec_object object;
	struct gsb_rec_occupancy occupancy = {.function = kit_fn(0), .block = 32};
	struct gsb_rec_tensor_map tensor = {.map = {.type = 7, .rank = 2, .addr = mem}};
	struct gsb_rec_stream_priority priority = {.priority = -1};
	struct gsb_rec_range range = {.text_bytes = 5};
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

	struct gsb_rec_event_create shared = {kit_event(1), kit_ctx(0), CU_EVENT_INTERPROCESS, 0};
	struct gsb_rec_event_await await = {.event = kit_event(1)};
	struct gsb_rec_event_open open = {
		kit_event(2), kit_ctx(0), {.magic = GSB_IPC_MAGIC, .kind = GSB_IPC_EVENT, .id = 1}};

	kit_post(t, GSB_REC_RANGE, 0, &range, sizeof(range), "query", 5);
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
	kit_post(t, GSB_REC_EVENT_CREATE, 0, &shared, sizeof(shared), NULL, 0);
	kit_record(t, 1, 1);
	kit_post_call(t, GSB_REC_EVENT_OPEN, &open, sizeof(open), NULL, 0);
	object.handle = kit_event(1);
	kit_post_call(t, GSB_REC_EVENT_EXPORT, &object, sizeof(object), NULL, 0);
	kit_post_call(t, GSB_REC_EVENT_AWAIT, &await, sizeof(await), NULL, 0);
	kit_fill(t, 0, mem + 16);
	kit_host_func(t, 2, 3);
	kit_nop(t, 0);
	kit_post(t, GSB_REC_STREAM_PRIORITY, kit_stream(2), &priority, sizeof(priority), NULL, 0);
	kit_post_call(t, GSB_REC_MEM_ALLOC, &alloc, sizeof(alloc), NULL, 0);
	kit_post_call(t, GSB_REC_ARRAY_ALLOC, &array, sizeof(array), NULL, 0);
	kit_post_call(t, GSB_REC_TEXTURE_CREATE, &texture, sizeof(texture), NULL, 0);
	kit_post_call(t, GSB_REC_TEXTURE_DESTROY, &no_texture, sizeof(no_texture), NULL, 0);
	kit_post_call(t, GSB_REC_HOST_ALLOC, &alloc, sizeof(alloc), NULL, 0);
	kit_post_call(t, GSB_REC_HOST_MIRROR, &mirror, sizeof(mirror), NULL, 0);
	kit_post_call(t, GSB_REC_OCCUPANCY, &occupancy, sizeof(occupancy), NULL, 0);
	kit_post_call(t, GSB_REC_TENSOR_MAP, &tensor, sizeof(tensor), NULL, 0);
	kit_post_call(t, GSB_REC_FUNCTION_NAME, &name, sizeof(name), NULL, 0);
	kit_post_call(t, GSB_REC_GLOBAL_GET, &global, sizeof(global), "x", 1);
	kit_post_call(t, GSB_REC_MEM_INFO, &info, sizeof(info), NULL, 0);
	kit_post(t, GSB_REC_FUNCTION_SET, 0, &set, sizeof(set), NULL, 0);
	kit_post_call(t, GSB_REC_CTX_CREATE, &ctx, sizeof(ctx), NULL, 0);
	object.handle = kit_stream(2);
	kit_post(t, GSB_REC_STREAM_DESTROY, 0, &object, sizeof(object), NULL, 0);
	object.handle = kit_event(0);
	kit_post(t, GSB_REC_EVENT_DESTROY, 0, &object, sizeof(object), NULL, 0);
	object.handle = kit_module(0);
	kit_post_call(t, GSB_REC_MODULE_UNLOAD, &object, sizeof(object), NULL, 0);
	kit_post(t, GSB_REC_MEM_FREE_ASYNC, kit_stream(1), &free_mem, sizeof(free_mem), NULL, 0);
	object.handle = kit_ctx(1);
	kit_post_call(t, GSB_REC_CTX_DESTROY, &object, sizeof(object), NULL, 0);
}
