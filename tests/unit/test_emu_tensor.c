/*
 * test_emu_tensor.c - copies of boxes of tensors, held against a reference that goes from element to element: random maps of all
 * ranks, types, swizzles, strides and corners; what is outside; reductions; maps that kernels change; and what ends a kernel.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/code/tensor_map.h"
#include "tests/unit/emu_harness.h"

#define SHARED	     16384
#define TENSOR_BYTES 65536
#define UNTOUCHED    0xee

enum { U8, U16, U32, S32, U64, S64, F16, F32, F64, BF16, F32_FTZ, TF32, TF32_FTZ, N_TYPES };

/* What a kernel is told beside its map. */
struct told {
	int32_t at[5], offset[3];
	uint32_t bytes, place; /* expected, of the box in shared memory */
};

/*
 * The map is a parameter, and %rd5 its generic address; io is what shared memory has at the start and then at the end. Thread 0 does
 * what the text says: %r1 to %r5 are coordinates, %h1 to %h3 offsets, %r6 the place.
 */
#define HEAD                                                                                          \
	".version 8.6\n.target sm_90a\n.address_size 64\n"                                            \
	".global .align 128 .b8 gm[128];\n.const .align 128 .b8 cm[128] = {1};\n"                     \
	".visible .entry k(.param .align 64 .b8 map[128], .param .u64 io, .param .u64 told, "         \
	".param .u64 other) {\n.reg .pred %p<8>;\n.reg .b16 %h<4>;\n.reg .b32 %r<32>;\n"              \
	".reg .b64 %rd<16>;\n.shared .align 1024 .b8 sh[16384];\n.shared .align 8 .b64 bar;\n"        \
	".shared .align 128 .b8 sm[128];\n"                                                           \
	"ld.param.u64 %rd1, [io]; ld.param.u64 %rd2, [told]; ld.param.u64 %rd6, [other];\n"           \
	"mov.u64 %rd4, map; cvta.param.u64 %rd5, %rd4; mov.u32 %r10, %tid.x;\n"                       \
	"setp.ne.u32 %p1, %r10, 0; mov.u32 %r11, sh; shl.b32 %r12, %r10, 2;\n"                        \
	"in: add.u32 %r13, %r11, %r12; cvt.u64.u32 %rd7, %r12; add.u64 %rd8, %rd1, %rd7;\n"           \
	"ld.global.u32 %r14, [%rd8]; st.shared.u32 [%r13], %r14; add.u32 %r12, %r12, 512;\n"          \
	"setp.lt.u32 %p2, %r12, 16384; @%p2 bra in;\n"                                                \
	"bar.sync 0; @%p1 bra wait; mbarrier.init.shared.b64 [bar], 1; fence.proxy.async;\n"          \
	"ld.global.u32 %r1, [%rd2]; ld.global.u32 %r2, [%rd2+4]; ld.global.u32 %r3, [%rd2+8];\n"      \
	"ld.global.u32 %r4, [%rd2+12]; ld.global.u32 %r5, [%rd2+16];\n"                               \
	"ld.global.u16 %h1, [%rd2+20]; ld.global.u16 %h2, [%rd2+24]; ld.global.u16 %h3, [%rd2+28];\n" \
	"ld.global.u32 %r7, [%rd2+32]; ld.global.u32 %r6, [%rd2+36]; add.u32 %r6, %r6, %r11;\n"
#define EXPECT "mbarrier.arrive.expect_tx.shared.b64 _, [bar], %r7;\n"
#define DONE   "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;\n"
#define WAIT   "ready: mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0; @!%p3 bra ready;\n"
#define TAIL                                                                                 \
	"wait: bar.sync 0; shl.b32 %r12, %r10, 2;\n"                                         \
	"out: add.u32 %r13, %r11, %r12; cvt.u64.u32 %rd7, %r12; add.u64 %rd8, %rd1, %rd7;\n" \
	"ld.shared.u32 %r14, [%r13]; st.global.u32 [%rd8], %r14; add.u32 %r12, %r12, 512;\n" \
	"setp.lt.u32 %p2, %r12, 16384; @%p2 bra out;\nret;\n}\n"
#define KERNEL(body) HEAD body TAIL

static const char *const coordinates[] = {"%r1", "%r1, %r2", "%r1, %r2, %r3", "%r1, %r2, %r3, %r4",
					  "%r1, %r2, %r3, %r4, %r5"};
static const char *const filter[] = {"", "", "%h1", "%h1, %h2", "%h1, %h2, %h3"};

struct rig {
	struct t_gpu g;
	unsigned char *tensor, *io, before[TENSOR_BYTES], image[SHARED];
	struct told *told;
	void *other;
	uint32_t threads;
};

static void set_up_rig(struct rig *x, const char *text)
{
	t_gpu_init(&x->g, text);
	x->tensor = t_alloc(&x->g, TENSOR_BYTES);
	x->io = t_alloc(&x->g, SHARED);
	x->told = t_alloc(&x->g, sizeof(*x->told));
	x->other = t_alloc(&x->g, 4096);
	x->threads = 128;
	for (uint32_t i = 0; i < TENSOR_BYTES; i++)
		x->tensor[i] = (unsigned char)(i * 7 + i / 256 * 13 + 1);
	memset(x->io, UNTOUCHED, SHARED);
	memcpy(x->before, x->tensor, TENSOR_BYTES);
	memcpy(x->image, x->io, SHARED);
}

static CUresult run_raw(struct rig *x, const struct gsb_emu_tensor_map *map)
{
	return t_launch(&x->g, &(struct t_launch){.kernel = "k",
						  .block = {x->threads},
						  .args = {map, &x->io, &x->told, &x->other}});
}

static CUresult run(struct rig *x, const struct gsb_tensor_map *m, const struct told *told)
{
	struct gsb_emu_tensor_map map;
	const char *wrong = gsb_emu_tensor_map_wrong(m);

	if (wrong)
		fail_msg("the test's map: %s", wrong);
	gsb_emu_tensor_map_pack(m, &map);
	*x->told = *told;
	return run_raw(x, &map);
}

static void expect_run(struct rig *x, const struct gsb_tensor_map *m, const struct told *told)
{
	if (run(x, m, told))
		fail_msg("%s", x->g.fault.text);
}

/* ---- the reference ---- */

static uint32_t bytes_of(const struct gsb_tensor_map *m)
{
	static const uint8_t bytes[N_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};

	return bytes[m->type];
}

static uint32_t steps(const struct gsb_tensor_map *m, uint32_t i)
{
	int64_t all = m->form == GSB_TENSOR_TILED
			      ? m->box[i]
			      : (int64_t)m->dims[i] + m->upper[i - 1] - m->lower[i - 1];

	return (uint32_t)((all + m->element_strides[i] - 1) / m->element_strides[i]);
}

static uint32_t row_elements(const struct gsb_tensor_map *m)
{
	return m->form == GSB_TENSOR_TILED ? m->box[0] : m->channels;
}

static uint32_t row_count(const struct gsb_tensor_map *m)
{
	uint32_t n = 1;

	if (m->form == GSB_TENSOR_IM2COL)
		return m->pixels;
	for (uint32_t i = 1; i < m->rank; i++)
		n *= steps(m, i);
	return n;
}

static uint32_t span_of(const struct gsb_tensor_map *m)
{
	return m->swizzle ? 16u << m->swizzle : 16;
}

static uint32_t row_pitch(const struct gsb_tensor_map *m)
{
	uint32_t own = row_elements(m) * bytes_of(m);

	return own < span_of(m) ? span_of(m) : own;
}

/* Where the tables of PTX put the byte @place: which of the span's cells of 16 bytes, by the number of its line of 128. */
static uint32_t swizzled(const struct gsb_tensor_map *m, uint32_t place)
{
	uint32_t cells = span_of(m) / 16, cell = place / 16 % cells;

	return place - cell * 16 + (cell ^ (place / 128 % cells)) * 16;
}

/* Coordinates of element @e of row @row. */
static void find_element(const struct gsb_tensor_map *m, const struct told *t, uint32_t row,
			 uint32_t e, int64_t *at)
{
	at[0] = (int64_t)t->at[0] + e;
	for (uint32_t i = 1; i < m->rank; i++) {
		bool image = m->form == GSB_TENSOR_IM2COL && i + 1 == m->rank;
		uint32_t n = image ? 1 : steps(m, i);
		int64_t s = image ? 1 : m->element_strides[i];

		if (m->form == GSB_TENSOR_TILED) {
			at[i] = t->at[i] + row % n * s;
		} else if (image) {
			at[i] = t->at[i] + row;
		} else {
			row += (uint32_t)((t->at[i] - m->lower[i - 1]) / s);
			at[i] = m->lower[i - 1] + row % n * s + t->offset[i - 1];
		}
		row /= n;
	}
}

/* Its bytes in the tensor; -1: outside. */
static int64_t find_bytes(const struct gsb_tensor_map *m, const int64_t *at)
{
	int64_t sum = at[0] * bytes_of(m);

	for (uint32_t i = 0; i < m->rank; i++) {
		if (at[i] < 0 || at[i] >= (int64_t)m->dims[i])
			return -1;
		sum += i ? at[i] * (int64_t)m->strides[i - 1] : 0;
	}
	return sum;
}

typedef void element_fn(const struct gsb_tensor_map *m, unsigned char *shared,
			unsigned char *tensor);

static void each_element(const struct gsb_tensor_map *m, const struct told *t, unsigned char *image,
			 unsigned char *tensor, element_fn *fn)
{
	uint32_t size = bytes_of(m);

	for (uint32_t row = 0; row < row_count(m); row++) {
		for (uint32_t e = 0; e < row_elements(m); e++) {
			uint32_t place = t->place + row * row_pitch(m) + e * size;
			int64_t at[5], bytes;

			find_element(m, t, row, e, at);
			bytes = find_bytes(m, at);
			fn(m, image + swizzled(m, place), bytes < 0 ? NULL : tensor + bytes);
		}
	}
}

static void loaded(const struct gsb_tensor_map *m, unsigned char *shared, unsigned char *tensor)
{
	static const uint64_t nans[] = {[2] = 0x7fff, [4] = 0x7fffffff, [8] = INT64_MAX};
	uint32_t f;

	if (!tensor)
		memcpy(shared, m->oob_fill ? &nans[bytes_of(m)] : &(uint64_t){0}, bytes_of(m));
	else
		memcpy(shared, tensor, bytes_of(m));
	if (m->type < F32_FTZ)
		return;
	memcpy(&f, shared, 4);
	if ((m->type == F32_FTZ || m->type == TF32_FTZ) && (f & 0x7fffffff) < 0x800000)
		f &= 0x80000000;
	if (m->type >= TF32 && (f & 0x7fffffff) > 0x7f800000)
		f = 0x7fffffff;
	else if (m->type >= TF32 &&
		 f % 0x2000 != 0) /* the nearer one; in the middle the even one */
		f = f / 0x2000 * 0x2000 +
		    (f % 0x2000 > 0x1000 || (f % 0x2000 == 0x1000 && f / 0x2000 % 2) ? 0x2000 : 0);
	memcpy(shared, &f, 4);
}

static void stored(const struct gsb_tensor_map *m, unsigned char *shared, unsigned char *tensor)
{
	if (tensor)
		memcpy(tensor, shared, bytes_of(m));
}

static void compare(const char *what, uint32_t seed, const unsigned char *got,
		    const unsigned char *want, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (got[i] != want[i])
			fail_msg("%s %u: byte %u is 0x%x, not 0x%x", what, seed, i, got[i],
				 want[i]);
}

/* ---- random maps ---- */

static uint32_t next(uint64_t *state, uint32_t below)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33) % below;
}

/* Rows are whole pieces of 16 bytes, no longer than a span; dimensions are a few elements. */
static void make_rows(uint64_t *s, struct gsb_tensor_map *m)
{
	uint32_t unit = 16 / bytes_of(m), most = m->swizzle ? 1u << m->swizzle : 8, pieces;

	pieces = 1 + next(s, most);
	m->dims[0] = pieces * unit + next(s, 3 * unit);
	m->strides[0] = (m->dims[0] * bytes_of(m) + 15) / 16 * 16 + 16 * next(s, 2);
	for (uint32_t i = 1; i < m->rank; i++) {
		m->dims[i] = 2 + next(s, 4);
		m->element_strides[i] = 1 + next(s, 3);
		if (i < 4)
			m->strides[i] = m->strides[i - 1] * m->dims[i] + 16 * next(s, 2);
	}
	m->box[0] = m->form == GSB_TENSOR_TILED ? pieces * unit : 0;
	m->channels = m->form == GSB_TENSOR_TILED ? 0 : pieces * unit;
}

static struct gsb_tensor_map make_map(uint64_t *s, uint32_t form)
{
	struct gsb_tensor_map m = {.form = form, .element_strides = {1}};

	m.type = next(s, N_TYPES);
	m.rank = form == GSB_TENSOR_TILED ? 1 + next(s, 5) : 3 + next(s, 3);
	m.swizzle = next(s, 4);
	m.oob_fill = m.type >= F16 && next(s, 2);
	make_rows(s, &m);
	for (uint32_t i = 1; i < m.rank && form == GSB_TENSOR_TILED; i++)
		m.box[i] = 1 + next(s, 4);
	for (uint32_t i = 0; i + 2 < m.rank && form == GSB_TENSOR_IM2COL; i++) {
		m.lower[i] = -(int32_t)next(s, 2);
		m.upper[i] = (int32_t)next(s, 3) - 1;
	}
	m.pixels = form == GSB_TENSOR_IM2COL ? 1 + next(s, 40) : 0;
	return m;
}

/* The first pixel is one of the walk. */
static struct told make_told(uint64_t *s, const struct gsb_tensor_map *m)
{
	struct told t = {.place = 128 * next(s, 8)};

	t.at[0] = (int32_t)next(s, (uint32_t)m->dims[0]) - 2;
	for (uint32_t i = 1; i < m->rank; i++) {
		if (m->form == GSB_TENSOR_TILED || i + 1 == m->rank) {
			t.at[i] = (int32_t)next(s, (uint32_t)m->dims[i] + 2) - 1;
		} else {
			t.at[i] = m->lower[i - 1] +
				  (int32_t)(next(s, steps(m, i)) * m->element_strides[i]);
			t.offset[i - 1] = (int32_t)next(s, 3);
		}
	}
	t.bytes = row_count(m) * row_elements(m) * bytes_of(m);
	return t;
}

static void put_copy(char *text, size_t size, const struct gsb_tensor_map *m, const char *before,
		     const char *words, bool load)
{
	const char *c = coordinates[m->rank - 1];
	bool im2col = m->form == GSB_TENSOR_IM2COL;
	char of[128] = "";

	if (load && im2col)
		snprintf(of, sizeof(of), ", {%s}", filter[m->rank - 1]);
	if (load)
		snprintf(text, size,
			 "%s%s.%ud.shared::cluster.global.%s%s [%%r6], [%%rd5, {%s}], [bar]%s;\n%s",
			 HEAD, before, m->rank, im2col ? "im2col" : "tile", words, c, of,
			 EXPECT WAIT TAIL);
	else
		snprintf(text, size, "%s%s.%ud.global.shared::cta.%s%s [%%rd5, {%s}], [%%r6];\n%s",
			 HEAD, before, m->rank, im2col ? "im2col_no_offs" : "tile", words, c,
			 DONE TAIL);
}

static void check_load(uint32_t seed, uint32_t form)
{
	uint64_t s = seed;
	struct gsb_tensor_map m = make_map(&s, form);
	struct told t = make_told(&s, &m);
	static struct rig x;
	char text[8192];

	put_copy(text, sizeof(text), &m, "cp.async.bulk.tensor", ".mbarrier::complete_tx::bytes",
		 true);
	set_up_rig(&x, text);
	m.addr = (uintptr_t)x.tensor;
	each_element(&m, &t, x.image, x.before, loaded);
	expect_run(&x, &m, &t);
	compare("load", seed, x.io, x.image, SHARED);
	compare("tensor", seed, x.tensor, x.before, TENSOR_BYTES);
	t_gpu_finish(&x.g);
}

static void check_store(uint32_t seed, uint32_t form)
{
	uint64_t s = seed;
	struct gsb_tensor_map m = make_map(&s, form);
	struct told t = make_told(&s, &m);
	static struct rig x;
	char text[8192];

	memset(t.offset, 0, sizeof(t.offset));
	put_copy(text, sizeof(text), &m, "cp.async.bulk.tensor", ".bulk_group", false);
	set_up_rig(&x, text);
	for (uint32_t i = 0; i < SHARED; i++)
		x.io[i] = x.image[i] = (unsigned char)next(&s, 256);
	m.addr = (uintptr_t)x.tensor;
	each_element(&m, &t, x.image, x.before, stored);
	expect_run(&x, &m, &t);
	compare("store", seed, x.tensor, x.before, TENSOR_BYTES);
	compare("shared", seed, x.io, x.image, SHARED);
	t_gpu_finish(&x.g);
}

static void test_tensor_load_of_random_tiles_is_as_by_element(void **state)
{
	for (uint32_t seed = 0; seed < 400; seed++)
		check_load(seed, GSB_TENSOR_TILED);
}

static void test_tensor_load_of_random_columns_is_as_by_element(void **state)
{
	for (uint32_t seed = 0; seed < 400; seed++)
		check_load(seed, GSB_TENSOR_IM2COL);
}

static void test_tensor_store_of_random_tiles_is_as_by_element(void **state)
{
	for (uint32_t seed = 0; seed < 200; seed++)
		check_store(seed, GSB_TENSOR_TILED);
}

static void test_tensor_store_of_random_columns_is_as_by_element(void **state)
{
	for (uint32_t seed = 0; seed < 200; seed++)
		check_store(seed, GSB_TENSOR_IM2COL);
}

/* ---- by hand ---- */

/* 8 rows of 32 floats, of which a box takes 4 by 8. */
static struct gsb_tensor_map floats(const struct rig *x)
{
	return (struct gsb_tensor_map){.form = GSB_TENSOR_TILED,
				       .type = F32,
				       .rank = 2,
				       .addr = (uintptr_t)x->tensor,
				       .dims = {32, 8},
				       .strides = {128},
				       .element_strides = {1, 1},
				       .box = {4, 8}};
}

#define LOAD(map)                                                                                  \
	"cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r6], [" map \
	", {%r1, %r2}], [bar];\n"
#define STORE "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd5, {%r1, %r2}], [%r6];\n"

/* The example of PTX: 64 pixels of an image of 9 by 14 from (7, 4) on, of a filter of 3 by 3; the 2nd is the last of its row. */
static void test_tensor_load_of_columns_goes_from_row_to_row_and_image_to_image(void **state)
{
	static const struct told t = {.at = {0, 7, 12, 0}, .offset = {1, 2}, .bytes = 64 * 4 * 4};
	struct gsb_tensor_map m = {.form = GSB_TENSOR_IM2COL,
				   .type = F32,
				   .rank = 4,
				   .dims = {4, 9, 14, 2},
				   .strides = {16, 144, 2016},
				   .element_strides = {1, 1, 1, 1},
				   .lower = {-1, -1},
				   .upper = {-1, -1},
				   .channels = 4,
				   .pixels = 64};
	static struct rig x;
	static const char text[] = KERNEL(
		"cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::complete_tx::"
		"bytes [%r6], [%rd5, {%r1, %r2, %r3, %r4}], [bar], {%h1, %h2};\n" EXPECT WAIT);

	set_up_rig(&x, text);
	m.addr = (uintptr_t)x.tensor;
	expect_run(&x, &m, &t);
	/* (7, 12) with the filter's offset is (8, 14), below the image; then (-1, -1) of the next one: (0, 1) */
	for (int i = 0; i < 16; i++)
		assert_int_equal(x.io[i], 0);
	assert_memory_equal(x.io + 16, x.tensor + 2016 + 144, 16);
	t_gpu_finish(&x.g);
}

static void test_tensor_copy_is_done_at_the_wait_and_not_before(void **state)
{
	static const struct told t = {.bytes = 128};
	static struct rig x;
	static const char early[] = KERNEL(
		EXPECT LOAD("%rd5") "ld.shared.u32 %r20, [sh]; st.global.u32 [%rd6], %r20;\n" WAIT);
	struct gsb_tensor_map m;

	set_up_rig(&x, early);
	m = floats(&x);
	expect_run(&x, &m, &t);
	assert_int_equal(*(uint32_t *)x.other, 0xeeeeeeee);
	for (int i = 0; i < 8; i++)
		assert_memory_equal(x.io + 16 * i, x.tensor + 128 * i, 16);
	t_gpu_finish(&x.g);
}

static void test_tensor_store_is_done_at_the_end_without_a_wait(void **state)
{
	static const struct told t = {.at = {4, 0}};
	static struct rig x;
	struct gsb_tensor_map m;

	set_up_rig(&x, KERNEL(STORE "ld.global.u32 %r20, [%rd6]; ld.global.u64 %rd9, [%rd6+8];\n"
				    "ld.global.u32 %r21, [%rd9]; st.global.u32 [%rd6], %r21;\n"));
	m = floats(&x);
	((void **)x.other)[1] = x.tensor + 16;
	expect_run(&x, &m, &t);
	assert_memory_equal(x.other, x.before + 16, 4);
	assert_int_equal(*(uint32_t *)(void *)(x.tensor + 16), 0xeeeeeeee);
	t_gpu_finish(&x.g);
}

static void test_tensor_copy_counts_the_sectors_that_are_inside(void **state)
{
	/* inside, by half, and not */
	static const struct told boxes[3] = {{.at = {2, 0}, .bytes = 128},
					     {.at = {0, 4}, .bytes = 128},
					     {.at = {0, 8}, .bytes = 128}};
	uint64_t n[3] = {0};
	static struct rig x;
	struct gsb_tensor_map m;

	set_up_rig(&x, KERNEL(LOAD("%rd5") EXPECT WAIT));
	m = floats(&x);
	m.box[0] = 8; /* from the 2nd float on: two sectors */
	m.box[1] = 4;
	for (unsigned i = 0; i < 3; i++) {
		expect_run(&x, &m, &boxes[i]);
		n[i] = x.g.stats.n_sectors;
	}
	assert_int_equal(n[0] - n[2], 8);
	assert_int_equal(n[1] - n[2], 4);
	t_gpu_finish(&x.g);
}

/* Two groups, of which one has been waited for. */
static void test_tensor_stores_are_done_group_by_group(void **state)
{
	static const struct told t = {.at = {4, 0, 8, 0}};
	static struct rig x;
	static const char text[] = KERNEL(
		STORE
		"cp.async.bulk.commit_group; add.u32 %r8, %r6, 1024;\n"
		"cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%rd5, {%r3, %r4}], [%r8];\n"
		"cp.async.bulk.commit_group; cp.async.bulk.wait_group 1;\n"
		"ld.global.u64 %rd9, [%rd6+8]; ld.global.u32 %r20, [%rd9]; ld.global.u32 %r21, [%rd9+16];\n"
		"st.global.u32 [%rd6], %r20; st.global.u32 [%rd6+4], %r21;\n");
	struct gsb_tensor_map m;

	set_up_rig(&x, text);
	m = floats(&x);
	((void **)x.other)[1] = x.tensor + 16;
	memset(x.io + 1024, 0x55, 128);
	expect_run(&x, &m, &t);
	assert_int_equal(((uint32_t *)x.other)[0], 0xeeeeeeee);
	assert_memory_equal((char *)x.other + 4, x.before + 32, 4);
	assert_int_equal(*(uint32_t *)(void *)(x.tensor + 16), 0xeeeeeeee);
	assert_int_equal(*(uint32_t *)(void *)(x.tensor + 32), 0x55555555);
	t_gpu_finish(&x.g);
}

static void test_tensor_load_rounds_to_tf32_and_flushes_as_its_type_says(void **state)
{
	static const struct told t = {.bytes = 128};
	static const uint32_t from[] = {0x3f801000, 0x3f803000, 0x3f801001, 0x3f800fff,
					0x7f800000, 0x7f801000, 0x80001fff, 0x7f7fffff};
	static const uint32_t want[][8] = {
		{0x3f801000, 0x3f803000, 0x3f801001, 0x3f800fff, 0x7f800000, 0x7f801000, 0x80000000,
		 0x7f7fffff},
		{0x3f800000, 0x3f804000, 0x3f802000, 0x3f800000, 0x7f800000, 0x7fffffff, 0x80002000,
		 0x7f800000},
		{0x3f800000, 0x3f804000, 0x3f802000, 0x3f800000, 0x7f800000, 0x7fffffff, 0x80000000,
		 0x7f800000},
	};
	static struct rig x;
	struct gsb_tensor_map m;

	for (unsigned int i = 0; i < GSB_ARRAY_LEN(want); i++) {
		set_up_rig(&x, KERNEL(LOAD("%rd5") EXPECT WAIT));
		m = floats(&x);
		m.type = F32_FTZ + i;
		m.box[0] = 8;
		m.box[1] = 4;
		memcpy(x.tensor, from, sizeof(from));
		expect_run(&x, &m, &t);
		assert_memory_equal(x.io, want[i], sizeof(want[i]));
		t_gpu_finish(&x.g);
	}
}

/* ---- where a map may be ---- */

static void check_map_at(const char *text, const char *var)
{
	static const struct told t = {.at = {8, 0}, .bytes = 128};
	struct gsb_emu_tensor_map map, none = {0};
	static struct rig x;
	struct gsb_tensor_map m;

	set_up_rig(&x, text);
	m = floats(&x);
	gsb_emu_tensor_map_pack(&m, &map);
	memcpy(var ? t_var(&x.g, var) : x.other, &map, sizeof(map));
	*x.told = t;
	if (run_raw(&x, &none))
		fail_msg("%s", x.g.fault.text);
	for (int i = 0; i < 8; i++)
		assert_memory_equal(x.io + 16 * i, x.tensor + 32 + 128 * i, 16);
	t_gpu_finish(&x.g);
}

static void test_tensor_map_is_read_from_global_and_constant_memory(void **state)
{
	check_map_at(KERNEL(LOAD("%rd6") EXPECT WAIT), NULL);
	check_map_at(KERNEL(LOAD("gm") EXPECT WAIT), "gm");
	check_map_at(
		KERNEL("mov.u64 %rd9, cm; cvta.const.u64 %rd9, %rd9;\n" LOAD("%rd9") EXPECT WAIT),
		"cm");
}

/* ---- reductions ---- */

static void check_reduction(uint32_t type, const char *operation, uint64_t there, uint64_t given,
			    uint64_t want)
{
	static const struct told t = {.at = {4, 0}};
	struct gsb_tensor_map m;
	char text[8192], words[64];
	static struct rig x;
	uint32_t size;

	set_up_rig(&x, ".version 8.0\n.target sm_90\n.address_size 64\n");
	m = floats(&x);
	t_gpu_finish(&x.g);
	m.type = type;
	size = bytes_of(&m);
	m.dims[0] = 4 + 16 / size; /* the last piece, and half of the next one is outside */
	m.box[0] = 32 / size;
	m.box[1] = 1;
	snprintf(words, sizeof(words), ".%s.bulk_group", operation);
	put_copy(text, sizeof(text), &m, "cp.reduce.async.bulk.tensor", words, false);
	set_up_rig(&x, text);
	m.addr = (uintptr_t)x.tensor;
	for (uint32_t i = 0; i < 64 / size; i++) {
		memcpy(x.tensor + i * size, &there, size);
		memcpy(x.io + i * size, &given, size);
	}
	memcpy(x.before, x.tensor, 64);
	for (uint32_t i = 4; i < 4 + 16 / size; i++)
		memcpy(x.before + i * size, &want, size);
	expect_run(&x, &m, &t);
	compare(operation, type, x.tensor, x.before, TENSOR_BYTES);
	t_gpu_finish(&x.g);
}

static void test_tensor_reduction_combines_what_is_inside(void **state)
{
	check_reduction(U32, "add", 5, 0xfffffffe, 3);
	check_reduction(S32, "add", 5, 3, 8);
	check_reduction(U64, "add", UINT64_C(1) << 40, 3, (UINT64_C(1) << 40) + 3);
	check_reduction(F32, "add", 0x3f800000, 0x3f000000, 0x3fc00000);
	check_reduction(F16, "add", 0x3c00, 0x3800, 0x3e00);
	check_reduction(BF16, "add", 0x3f80, 0x3f00, 0x3fc0);
	check_reduction(U32, "min", 0x80000000, 7, 7);
	check_reduction(S32, "min", 0x80000000, 7, 0x80000000);
	check_reduction(S64, "max", UINT64_MAX, 7, 7);
	check_reduction(F16, "max", 0xbc00, 0x4000, 0x4000);
	check_reduction(BF16, "min", 0x3f80, 0xc000, 0xc000);
	check_reduction(U32, "inc", 7, 7, 0);
	check_reduction(U32, "dec", 0, 9, 9);
	check_reduction(U32, "and", 0xff0f, 0x0ff0, 0x0f00);
	check_reduction(S32, "or", 0xf000, 0x000f, 0xf00f);
	check_reduction(U64, "xor", 0x1234, 0xffff, 0xedcb);
}

static void test_bulk_reduction_into_shared_memory_reports_to_its_mbarrier(void **state)
{
	static const struct {
		const char *what;
		uint32_t there, given, want;
	} cases[] = {
		{"add.u32", 5, 3, 8},
		{"add.s32", 5, 0xffffffff, 4},
		{"min.s32", 1, 0x80000000, 0x80000000},
		{"max.u32", 1, 0x80000000, 0x80000000},
		{"inc.u32", 3, 3, 0},
		{"dec.u32", 4, 9, 3},
		{"and.b32", 6, 3, 2},
		{"or.b32", 6, 3, 7},
		{"xor.b32", 6, 3, 5},
	};
	static struct rig x;
	struct gsb_emu_tensor_map none = {0};
	char text[8192];

	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		snprintf(
			text, sizeof(text),
			"%scp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes."
			"%s [sh+1024], [sh], 48, [bar];\n%s",
			HEAD EXPECT, cases[i].what, WAIT TAIL);
		set_up_rig(&x, text);
		for (int k = 0; k < 16; k++) {
			memcpy(x.io + 4 * k, &cases[i].given, 4);
			memcpy(x.io + 1024 + 4 * k, &cases[i].there, 4);
		}
		x.told->bytes = 48;
		if (run_raw(&x, &none))
			fail_msg("%s", x.g.fault.text);
		for (int k = 0; k < 16; k++)
			assert_memory_equal(x.io + 1024 + 4 * k,
					    k < 12 ? &cases[i].want : &cases[i].there, 4);
		t_gpu_finish(&x.g);
	}
}

/* ---- maps that a kernel changes ---- */

/* In shared memory, where @text changes it; then in global memory, from which a load takes it. */
#define IN_SHARED(text)                                                                            \
	KERNEL("mov.u32 %r16, 0; mov.u32 %r17, sm;\n"                                              \
	       "again: cvt.u64.u32 %rd9, %r16; add.u64 %rd10, %rd5, %rd9; ld.u32 %r18, [%rd10];\n" \
	       "add.u32 %r19, %r17, %r16; st.shared.u32 [%r19], %r18; add.u32 %r16, %r16, 4;\n"    \
	       "setp.lt.u32 %p4, %r16, 128; @%p4 bra again;\n" text                                \
	       "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync."   \
	       "aligned [gm], [sm], 128;\nfence.proxy.tensormap::generic.acquire.gpu [gm], 128;\n")

static struct gsb_tensor_map changed(const char *text, uint64_t other)
{
	struct gsb_emu_tensor_map packed;
	struct gsb_tensor_map m;
	static struct rig x;

	set_up_rig(&x, text);
	m = floats(&x);
	m.addr = 0x10000;
	gsb_emu_tensor_map_pack(&m, &packed);
	((uint64_t *)x.other)[0] = other;
	x.threads = 1; /* a warp that comes together */
	if (run_raw(&x, &packed))
		fail_msg("%s", x.g.fault.text);
	memcpy(&packed, t_var(&x.g, "gm"), sizeof(packed));
	assert_true(gsb_emu_tensor_map_unpack(&packed, &m));
	t_gpu_finish(&x.g);
	return m;
}

#define REPLACE(field, operands) "tensormap.replace.tile." field " [sm], " operands ";\n"
#define B32			 ".shared::cta.b1024.b32"
#define B64			 ".shared::cta.b1024.b64"
#define VALUE32			 "ld.global.u32 %r20, [%rd6];\n"
#define VALUE64			 "ld.global.u64 %rd9, [%rd6];\n"

static void test_tensormap_replace_changes_the_field_that_it_names(void **state)
{
	struct gsb_tensor_map was = changed(IN_SHARED(""), 0), m = was;

#define CHANGES(text, other, member, value)                                  \
	do {                                                                 \
		struct gsb_tensor_map got = changed(IN_SHARED(text), other); \
                                                                             \
		m = was;                                                     \
		m.member = value;                                            \
		assert_memory_equal(&got, &m, sizeof(m));                    \
	} while (0)
	CHANGES(VALUE64 REPLACE("global_address" B64, "%rd9"), UINT64_C(0x123456789ab0), addr,
		UINT64_C(0x123456789ab0));
	CHANGES(VALUE32 REPLACE("rank" B32, "%r20"), 4, rank, 5);
	CHANGES(VALUE32 REPLACE("box_dim" B32, "1, %r20"), 200, box[1], 200);
	CHANGES(VALUE32 REPLACE("box_dim" B32, "0, %r20"), 1 << 20, box[0], UINT16_MAX);
	CHANGES(VALUE32 REPLACE("global_dim" B32, "4, %r20"), 77, dims[4], 77);
	CHANGES(VALUE64 REPLACE("global_stride" B64, "3, %rd9"), UINT64_C(1) << 39, strides[3],
		UINT64_C(1) << 39);
	CHANGES(VALUE32 REPLACE("element_stride" B32, "1, %r20"), 3, element_strides[1], 3);
	CHANGES(REPLACE("elemtype" B32, "9"), 0, type, F64);
	CHANGES(REPLACE("elemtype" B32, "8"), 0, type, F32_FTZ);
	CHANGES(REPLACE("elemtype" B32, "10"), 0, type, BF16);
	CHANGES(REPLACE("interleave_layout" B32, "1"), 0, interleave, 1);
	CHANGES(REPLACE("swizzle_mode" B32, "3"), 0, swizzle, 3);
	CHANGES(REPLACE("fill_mode" B32, "1"), 0, oob_fill, 1);
#undef CHANGES
}

static void test_tensormap_in_shared_memory_is_changed_by_its_generic_address(void **state)
{
	struct gsb_tensor_map m =
		changed(IN_SHARED("cvt.u64.u32 %rd9, %r17; cvta.shared.u64 %rd9, %rd9;\n"
				  "tensormap.replace.tile.fill_mode.b1024.b32 [%rd9], 1;\n"),
			0);

	assert_int_equal(m.oob_fill, 1);
}

static void test_tensormap_that_was_changed_is_what_the_next_copy_takes(void **state)
{
	static const struct told t = {.bytes = 128};
	struct gsb_emu_tensor_map map;
	static struct rig x;
	struct gsb_tensor_map m;

	set_up_rig(&x,
		   KERNEL("ld.global.u64 %rd9, [%rd6+128];\n"
			  "tensormap.replace.tile.global_address.global.b1024.b64 [%rd6], %rd9;\n"
			  "tensormap.replace.tile.swizzle_mode.b1024.b32 [%rd6], 0;\n"
			  "fence.proxy.tensormap::generic.release.gpu;\n" LOAD("%rd6")
				  EXPECT WAIT));
	m = floats(&x);
	m.addr = 0x1000;
	gsb_emu_tensor_map_pack(&m, &map);
	memcpy(x.other, &map, sizeof(map));
	((void **)x.other)[16] = x.tensor + 256;
	*x.told = t;
	if (run_raw(&x, &map))
		fail_msg("%s", x.g.fault.text);
	assert_memory_equal(x.io, x.tensor + 256, 16);
	t_gpu_finish(&x.g);
}

/* ---- hints ---- */

static void test_tensor_prefetches_do_nothing(void **state)
{
	static const struct told t = {.bytes = 128};
	static struct rig x;
	struct gsb_tensor_map m;

	set_up_rig(&x,
		   KERNEL("prefetch.tensormap [%rd5]; prefetch.const.tensormap [cm];\n"
			  "prefetch.param.tensormap [map];\n"
			  "cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd5, {%r1, %r2}];\n"
			  "cp.async.bulk.prefetch.tensor.3d.L2.global.im2col.L2::cache_hint "
			  "[%rd5, {%r1, %r2, %r3}], {%h1}, %rd9;\n"));
	m = floats(&x);
	expect_run(&x, &m, &t);
	compare("prefetch", 0, x.io, x.image, SHARED);
	t_gpu_finish(&x.g);
}

/* ---- what ends a kernel ---- */

typedef void spoil_fn(struct gsb_emu_tensor_map *map, struct told *told);

static void expect_fault(const char *text, spoil_fn *spoil, CUresult result, const char *reason)
{
	struct gsb_emu_tensor_map map;
	static struct rig x;
	struct gsb_tensor_map m;
	CUresult got;

	set_up_rig(&x, text);
	m = floats(&x);
	gsb_emu_tensor_map_pack(&m, &map);
	*x.told = (struct told){.bytes = 128};
	if (spoil)
		spoil(&map, x.told);
	got = run_raw(&x, &map);
	if (got != result || !strstr(x.g.fault.text, reason))
		fail_msg("%d '%s', not %d '%s'", got, x.g.fault.text, result, reason);
	assert_non_null(strstr(x.g.fault.text, "thread 0,0,0"));
	t_gpu_finish(&x.g);
}

#define SPOIL(name, what)                                                                         \
	static void name(GSB_UNUSED struct gsb_emu_tensor_map *map, GSB_UNUSED struct told *told) \
	{                                                                                         \
		what;                                                                             \
	}
SPOIL(spoil_magic, map->magic++)
SPOIL(spoil_type, map->type = 13)
SPOIL(spoil_rank, map->rank = 3)
SPOIL(spoil_form, (map->form = GSB_TENSOR_IM2COL, map->rank = 3, map->element_strides[2] = 1,
		   map->channels = map->pixels = 4))
SPOIL(spoil_box, map->box[1] = 257)
SPOIL(spoil_swizzle, map->swizzle = 200)
SPOIL(spoil_interleave, map->interleave = 1)
SPOIL(spoil_align, told->place = 64)
SPOIL(spoil_place, told->place = SHARED + 1024)
SPOIL(spoil_room, (map->box[0] = 64, map->box[1] = 256))
SPOIL(spoil_rows, (map->rank = 5, memset(map->element_strides, 1, 5),
		   map->box[1] = map->box[2] = map->box[3] = map->box[4] = 256))
SPOIL(spoil_addr, map->addr = 0x1000)
SPOIL(spoil_hole, map->addr += 32 << 20)
SPOIL(spoil_far, map->strides[0] = UINT64_C(1) << 39)

static void test_tensor_copy_misuse_ends_the_kernel(void **state)
{
	static const char load[] = KERNEL(LOAD("%rd5") EXPECT WAIT), store[] = KERNEL(STORE DONE);

	expect_fault(load, spoil_magic, CUDA_ERROR_ILLEGAL_INSTRUCTION, "there is none");
	expect_fault(load, spoil_type, CUDA_ERROR_ILLEGAL_INSTRUCTION, "no such type");
	expect_fault(load, spoil_rank, CUDA_ERROR_ILLEGAL_INSTRUCTION, "stride of elements");
	expect_fault(load, spoil_box, CUDA_ERROR_ILLEGAL_INSTRUCTION, "from 1 to 256");
	expect_fault(load, spoil_swizzle, CUDA_ERROR_ILLEGAL_INSTRUCTION, "no such swizzle");
	expect_fault(load, spoil_interleave, CUDA_ERROR_ILLEGAL_INSTRUCTION, "interleaved");
	expect_fault(load, spoil_align, CUDA_ERROR_MISALIGNED_ADDRESS, "aligned to 128 bytes");
	expect_fault(load, spoil_place, CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory has no address");
	expect_fault(load, spoil_room, CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory has no address");
	expect_fault(
		KERNEL("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%rd5, {%r1, %r2, %r3, %r4, "
		       "%r5}], [%r6];\n"),
		spoil_rows, CUDA_ERROR_ILLEGAL_ADDRESS, "which no shared memory has");
	expect_fault(load, spoil_addr, CUDA_ERROR_ILLEGAL_ADDRESS,
		     "tensor: read of address 0x1000");
	expect_fault(store, spoil_addr, CUDA_ERROR_ILLEGAL_ADDRESS,
		     "tensor: write to address 0x1000");
	expect_fault(load, spoil_hole, CUDA_ERROR_ILLEGAL_ADDRESS, "'cp.async.bulk.tensor");
	expect_fault(load, spoil_far, CUDA_ERROR_ILLEGAL_ADDRESS, "tensor: read of address");
}

static void test_tensor_copy_of_another_kind_than_its_map_ends_the_kernel(void **state)
{
	expect_fault(
		KERNEL("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd5, {%r1}], [%r6];\n"),
		NULL, CUDA_ERROR_ILLEGAL_INSTRUCTION, "another number of dimensions");
	expect_fault(
		KERNEL("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%rd5, {%r1, %r2, %r3}], [%r6];\n"),
		spoil_form, CUDA_ERROR_ILLEGAL_INSTRUCTION, "one of map and copy is tiled");
	expect_fault(
		KERNEL("cp.reduce.async.bulk.tensor.2d.global.shared::cta.min.bulk_group [%rd5, {%r1, %r2}], [%r6];\n"),
		NULL, CUDA_ERROR_ILLEGAL_INSTRUCTION, "no such reduction");
	expect_fault(
		KERNEL("cp.reduce.async.bulk.tensor.2d.global.shared::cta.and.bulk_group [%rd5, {%r1, %r2}], [%r6];\n"),
		NULL, CUDA_ERROR_ILLEGAL_INSTRUCTION, "no such reduction");
}

static void test_tensor_map_where_none_can_be_ends_the_kernel(void **state)
{
	expect_fault(KERNEL("add.u64 %rd5, %rd5, 32;\n" LOAD("%rd5")), NULL,
		     CUDA_ERROR_MISALIGNED_ADDRESS, "not aligned to 64");
	expect_fault(KERNEL("mov.u64 %rd5, 4096;\n" LOAD("%rd5")), NULL, CUDA_ERROR_ILLEGAL_ADDRESS,
		     "tensor map at 0x1000");
	expect_fault(KERNEL("mov.u64 %rd9, sm; cvta.shared.u64 %rd5, %rd9;\n" LOAD("%rd5")), NULL,
		     CUDA_ERROR_ILLEGAL_ADDRESS, "not global, constant or parameter memory");
	expect_fault(KERNEL("add.u64 %rd5, %rd5, 128;\n" LOAD("%rd5")), NULL,
		     CUDA_ERROR_ILLEGAL_ADDRESS, "not global, constant or parameter memory");
	expect_fault(KERNEL(REPLACE("fill_mode" B32, "1")), NULL, CUDA_ERROR_ILLEGAL_INSTRUCTION,
		     "none to be changed");
	expect_fault(KERNEL("tensormap.replace.tile.fill_mode.b1024.b32 [%rd5], 1;\n"), NULL,
		     CUDA_ERROR_ILLEGAL_ADDRESS, "tensor map: write to");
}

static void expect_refused(const char *text, const char *reason)
{
	struct t_gpu g;

	t_gpu_init(&g, text);
	if (t_lower(&g, "k") != -ENOTSUP || !strstr(g.log, reason))
		fail_msg("'%s', not '%s'", g.log, reason);
	t_gpu_finish(&g);
}

static void test_tensor_copies_that_sm_90_has_not_are_refused(void **state)
{
	expect_refused(KERNEL("cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::"
			      "complete_tx::bytes [sh], [%rd5, {%r1, %r2, %r3, %r4, %r5}], [bar];"),
		       "build for sm_90");
	expect_refused(KERNEL(REPLACE("elemtype" B32, "13")), "sm_90 has not");
	expect_refused(KERNEL(REPLACE("swizzle_mode" B32, "4")), "sm_90 has not");
	expect_refused(KERNEL(REPLACE("global_stride" B64, "4, %rd9")), "sm_90 has not");
	expect_refused(KERNEL("fence.proxy.tensormap::generic.acquire.gpu [gm], 64;"),
		       "fence.proxy.tensormap");
}

/* ---- maps that can be none ---- */

static void test_tensor_map_that_can_be_none_is_wrong(void **state)
{
	static const struct rig x;
	const struct gsb_tensor_map m = floats(&x);
	const struct gsb_tensor_map image = {.form = GSB_TENSOR_IM2COL,
					     .type = F32,
					     .rank = 5,
					     .dims = {16, 8, 8, 8, 2},
					     .strides = {64, 512, 4096, 32768},
					     .element_strides = {1, 1, 1, 1, 1},
					     .channels = 16,
					     .pixels = 32};
	struct gsb_tensor_map bad;

	assert_null(gsb_emu_tensor_map_wrong(&m));
	assert_null(gsb_emu_tensor_map_wrong(&image));
#define WRONG(of, member, value, text)                                  \
	do {                                                            \
		bad = of;                                               \
		bad.member = value;                                     \
		assert_non_null(gsb_emu_tensor_map_wrong(&bad));        \
		if (!strstr(gsb_emu_tensor_map_wrong(&bad), text))      \
			fail_msg("%s", gsb_emu_tensor_map_wrong(&bad)); \
	} while (0)
#define RIGHT(of, member, value)                             \
	do {                                                 \
		bad = of;                                    \
		bad.member = value;                          \
		assert_null(gsb_emu_tensor_map_wrong(&bad)); \
	} while (0)
	WRONG(m, form, GSB_TENSOR_MOVED, "neither tiled nor im2col");
	WRONG(m, type, 13, "no such type");
	WRONG(m, rank, 0, "dimensions");
	WRONG(m, rank, 6, "dimensions");
	WRONG(image, rank, 2, "dimensions");
	WRONG(m, addr, 8, "aligned to 16");
	WRONG(m, dims[1], 0, "from 1 to 2^32");
	RIGHT(m, dims[1], UINT64_C(1) << 32);
	WRONG(m, dims[1], (UINT64_C(1) << 32) + 1, "from 1 to 2^32");
	WRONG(m, strides[0], 136, "multiple of 16");
	WRONG(m, strides[0], UINT64_C(1) << 40, "less than 2^40");
	WRONG(m, element_strides[1], 0, "from 1 to 8");
	WRONG(m, element_strides[1], 9, "from 1 to 8");
	RIGHT(m, element_strides[0], 9); /* there is no stride in the innermost */
	WRONG(m, box[1], 0, "from 1 to 256");
	RIGHT(m, box[1], 256);
	WRONG(m, box[1], 257, "from 1 to 256");
	WRONG(m, box[0], 6, "multiple of 16");
	WRONG(m, interleave, 1, "interleaved");
	WRONG(m, swizzle, 4, "no such swizzle");
	WRONG(m, l2_promotion, 4, "promotion");
	WRONG(m, oob_fill, 2, "zero or, of floats, NaN");
	RIGHT(m, oob_fill, 1);
	bad = m;
	bad.oob_fill = 1;
	bad.type = S32;
	assert_non_null(gsb_emu_tensor_map_wrong(&bad));
	for (uint32_t i = 1; i < 4; i++) {
		bad = m;
		bad.swizzle = i;
		bad.box[0] = 4u << i;
		assert_null(gsb_emu_tensor_map_wrong(&bad));
		bad.box[0] += 4;
		assert_non_null(strstr(gsb_emu_tensor_map_wrong(&bad), "swizzled together"));
	}
	WRONG(image, channels, 0, "channels");
	WRONG(image, channels, 257, "channels");
	WRONG(image, pixels, 1025, "pixels");
	RIGHT(image, pixels, 1024);
	RIGHT(image, lower[2], -16);
	WRONG(image, lower[2], -17, "too far");
	WRONG(image, upper[0], 16, "too far");
	RIGHT(image, lower[1], 7);
	WRONG(image, lower[1], 8, "empty");
	WRONG(image, upper[1], -8, "empty");
#undef WRONG
#undef RIGHT
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tensor_load_of_random_tiles_is_as_by_element),
		cmocka_unit_test(test_tensor_load_of_random_columns_is_as_by_element),
		cmocka_unit_test(test_tensor_store_of_random_tiles_is_as_by_element),
		cmocka_unit_test(test_tensor_store_of_random_columns_is_as_by_element),
		cmocka_unit_test(
			test_tensor_load_of_columns_goes_from_row_to_row_and_image_to_image),
		cmocka_unit_test(test_tensor_copy_is_done_at_the_wait_and_not_before),
		cmocka_unit_test(test_tensor_store_is_done_at_the_end_without_a_wait),
		cmocka_unit_test(test_tensor_stores_are_done_group_by_group),
		cmocka_unit_test(test_tensor_load_rounds_to_tf32_and_flushes_as_its_type_says),
		cmocka_unit_test(test_tensor_copy_counts_the_sectors_that_are_inside),
		cmocka_unit_test(test_tensor_map_is_read_from_global_and_constant_memory),
		cmocka_unit_test(test_tensor_reduction_combines_what_is_inside),
		cmocka_unit_test(test_bulk_reduction_into_shared_memory_reports_to_its_mbarrier),
		cmocka_unit_test(test_tensormap_replace_changes_the_field_that_it_names),
		cmocka_unit_test(test_tensormap_in_shared_memory_is_changed_by_its_generic_address),
		cmocka_unit_test(test_tensormap_that_was_changed_is_what_the_next_copy_takes),
		cmocka_unit_test(test_tensor_prefetches_do_nothing),
		cmocka_unit_test(test_tensor_copy_misuse_ends_the_kernel),
		cmocka_unit_test(test_tensor_copy_of_another_kind_than_its_map_ends_the_kernel),
		cmocka_unit_test(test_tensor_map_where_none_can_be_ends_the_kernel),
		cmocka_unit_test(test_tensor_copies_that_sm_90_has_not_are_refused),
		cmocka_unit_test(test_tensor_map_that_can_be_none_is_wrong),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
