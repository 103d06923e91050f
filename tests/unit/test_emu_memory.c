/*
 * test_emu_memory.c - loads and stores: every width, vector, space and strength on every pattern of addresses
 * and lanes, against plain C; that a lane's access is one access, counted and seen from other threads.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/exec/isa.h"
#include "device/emu/exec/single.h"
#include "tests/unit/emu_harness.h"
#include "tests/unit/emu_threads.h"
#include "tests/unit/emu_watch.h"

#define HEAD ".version 8.3\n.target sm_90\n.address_size 64\n"

/* ---- an access in words ---- */

struct form {
	const char *type;
	uint32_t bytes, n; /* of an element; elements */
	uint32_t reg;	   /* bytes of its register */
	bool is_signed;
};

static const struct form forms[] = {
	{"u8", 1, 1, 4, false},	 {"s8", 1, 1, 8, true},	     {"b8", 1, 2, 4, false},
	{"u8", 1, 4, 8, false},	 {"u16", 2, 1, 4, false},    {"s16", 2, 1, 4, true},
	{"b16", 2, 2, 4, false}, {"s16", 2, 4, 8, true},     {"u32", 4, 1, 4, false},
	{"f32", 4, 2, 4, false}, {"b32", 4, 4, 4, false},    {"s32", 4, 1, 8, true},
	{"u32", 4, 2, 8, false}, {"s32", 4, 4, 8, true},     {"u64", 8, 1, 8, false},
	{"f64", 8, 2, 8, false}, {"b128", 16, 1, 16, false},
};

struct place {
	const char *space; /* as it is written */
	bool shared;	   /* in shared memory */
};

static const struct place places[] = {
	{".global", false},
	{"", false},
	{".shared", true},
	{"", true},
};

static const struct {
	const char *load, *store;
} strengths[] = {
	{"", ""},
	{".volatile", ".volatile"},
	{".relaxed.gpu", ".relaxed.cta"},
	{".acquire.sys", ".release.gpu"},
};

/* ---- the text ---- */

#define REGION_BYTES 2048 /* that the accesses of a block lie in */

struct text {
	char at[8192];
	size_t n;
};

__attribute__((format(printf, 2, 3))) static void put(struct text *t, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	t->n += (size_t)vsnprintf(t->at + t->n, sizeof(t->at) - t->n, fmt, ap);
	va_end(ap);
	assert_true(t->n < sizeof(t->at));
}

static void put_list(struct text *t, const struct form *f)
{
	if (f->n == 1)
		put(t, "%%v0");
	else if (f->n == 2)
		put(t, "{%%v0, %%v1}");
	else
		put(t, "{%%v0, %%v1, %%v2, %%v3}");
}

/* The registers' values, to or from [%rd5]. */
static void put_values(struct text *t, const struct form *f, bool load)
{
	for (uint32_t k = 0; k < f->n; k++) {
		if (f->reg < 16 && load)
			put(t, "ld.global.b%u %%v%u, [%%rd5+%u];\n", f->reg * 8, k, k * f->reg);
		else if (f->reg < 16)
			put(t, "st.global.b%u [%%rd5+%u], %%v%u;\n", f->reg * 8, k * f->reg, k);
		else if (load)
			put(t, "ld.global.u64 %%rd6, [%%rd5]; ld.global.u64 %%rd7, [%%rd5+8];\n"
			       "mov.b128 %%v0, {%%rd6, %%rd7};\n");
		else
			put(t, "mov.b128 {%%rd6, %%rd7}, %%v0;\n"
			       "st.global.u64 [%%rd5], %%rd6; st.global.u64 [%%rd5+8], %%rd7;\n");
	}
}

/* The block's region, at %rd2, to or from shared memory. */
static void put_copy(struct text *t, bool in)
{
	put(t,
	    "bar.sync 0; shl.b32 %%r3, %%r0, 2; shl.b32 %%r6, %%r1, 2;\ncopy%d: cvt.u64.u32 %%rd8, %%r3;\n"
	    "add.u64 %%rd8, %%rd8, %%rd2; mov.u32 %%r4, room; add.u32 %%r4, %%r4, %%r3;\n%s"
	    "add.u32 %%r3, %%r3, %%r6; setp.lt.u32 %%q, %%r3, %u; @%%q bra copy%d;\nbar.sync 0;\n",
	    in,
	    in ? "ld.global.u32 %r5, [%rd8]; st.shared.u32 [%r4], %r5;\n"
	       : "ld.shared.u32 %r5, [%r4]; st.global.u32 [%rd8], %r5;\n",
	    REGION_BYTES, in);
}

static void put_head(struct text *t, const struct form *f)
{
	put(t,
	    HEAD ".visible .entry k(.param .u64 region, .param .u64 at, .param .u64 on,\n"
		 ".param .u64 values) {\n.shared .align 16 .b8 room[%u];\n.reg .pred %%p, %%q;\n"
		 ".reg .b32 %%r<8>;\n.reg .b64 %%rd<12>;\n.reg .b%u %%v<4>;\n",
	    REGION_BYTES, f->reg * 8);
	put(t,
	    "mov.u32 %%r0, %%tid.x; mov.u32 %%r1, %%ntid.x; mov.u32 %%r2, %%ctaid.x;\n"
	    "ld.param.u64 %%rd2, [region]; mad.wide.u32 %%rd2, %%r2, %u, %%rd2;\n"
	    "mad.lo.u32 %%r2, %%r2, %%r1, %%r0;\n"
	    "ld.param.u64 %%rd3, [at]; mad.wide.u32 %%rd3, %%r2, 4, %%rd3;\n"
	    "ld.global.u32 %%rd3, [%%rd3];\n"
	    "ld.param.u64 %%rd4, [on]; mad.wide.u32 %%rd4, %%r2, 4, %%rd4;\n"
	    "ld.global.u32 %%r4, [%%rd4]; setp.ne.u32 %%p, %%r4, 0;\n"
	    "ld.param.u64 %%rd5, [values]; mad.wide.u32 %%rd5, %%r2, %u, %%rd5;\n",
	    REGION_BYTES, f->n * f->reg);
}

/* k(region, at, on, values): lane i moves values[i] from or to region + at[i], where on[i] is not 0; each
 * block has its own region. */
static void access_text(struct text *t, const struct form *f, const struct place *p,
			const char *strength, bool load)
{
	static const char *const vec[] = {"", "", ".v2", "", ".v4"};

	t->n = 0;
	put_head(t, f);
	if (p->shared)
		put_copy(t, true);
	put_values(t, f, true);
	if (p->shared)
		put(t, "mov.u64 %%rd9, room; %s add.u64 %%rd9, %%rd9, %%rd3;\n",
		    p->space[0] ? "" : "cvta.shared.u64 %rd9, %rd9;");
	else
		put(t, "add.u64 %%rd9, %%rd2, %%rd3;\n");
	put(t, "@%%p %s%s%s%s.%s ", load ? "ld" : "st", strength, p->space, vec[f->n], f->type);
	if (load)
		put_list(t, f);
	put(t, load ? ", [%%rd9];\n" : "[%%rd9], ");
	if (!load)
		put_list(t, f);
	put(t, ";\n");
	if (load)
		put_values(t, f, false);
	else if (p->shared)
		put_copy(t, false);
	put(t, "ret;\n}\n");
}

/* ---- patterns ---- */

#define N_THREADS 40 /* a whole warp, and one that is not */

static uint32_t in_order(uint32_t i)
{
	return i;
}

static uint32_t in_order_later(uint32_t i)
{
	return i + 3;
}

static uint32_t every_second(uint32_t i)
{
	return i * 2;
}

static uint32_t every_third(uint32_t i)
{
	return i * 3 + 1;
}

static uint32_t backwards(uint32_t i)
{
	return N_THREADS - 1 - i;
}

static uint32_t one_place(uint32_t i)
{
	(void)i;
	return 5;
}

static uint32_t one_place_each_half(uint32_t i)
{
	return i / 16 * 3;
}

static uint32_t two_rows(uint32_t i)
{
	return i % 16 + i / 16 * 50;
}

static uint32_t same_row_twice(uint32_t i)
{
	return i % 16;
}

static uint32_t mixed(uint32_t i)
{
	return i * 7 % N_THREADS;
}

/* All in order but the last lane of a warp. */
static uint32_t one_astray(uint32_t i)
{
	return i % 32 == 31 ? 100 : i;
}

/* In order but the last eight lanes. */
static uint32_t last_run_elsewhere(uint32_t i)
{
	return i % 32 >= 24 ? i + 40 : i;
}

static uint32_t (*const patterns[])(uint32_t) = {
	last_run_elsewhere, in_order, in_order_later,	   every_second, every_third,	 backwards,
	one_place,	    two_rows, one_place_each_half, mixed,	 same_row_twice, one_astray,
};

static bool all(uint32_t i)
{
	(void)i;
	return true;
}

static bool odd(uint32_t i)
{
	return i % 2;
}

static bool only_one(uint32_t i)
{
	return i == 13 || i == 33;
}

static bool the_first(uint32_t i)
{
	return i < 20;
}

static bool the_last(uint32_t i)
{
	return i % 32 >= 7;
}

static bool (*const masks[])(uint32_t) = {all, odd, only_one, the_first, the_last};

enum { N_PATTERNS = GSB_ARRAY_LEN(patterns), N_BLOCKS = N_PATTERNS * GSB_ARRAY_LEN(masks) };
enum { N_ALL = N_BLOCKS * N_THREADS };

/* ---- what is moved, and what must come of it ---- */

struct scene {
	struct t_gpu gpu;
	const struct form *form;
	uint32_t len; /* bytes of a lane */
	unsigned char *region, *values, *region_was, *values_was;
	uint32_t *at, *on;
};

static void fill(unsigned char *to, size_t n, uint32_t step)
{
	for (size_t i = 0; i < n; i++)
		to[i] = (unsigned char)(i * step ^ i >> 7 ^ 0x80);
}

static void scene_init(struct scene *s, const struct form *f, const char *text)
{
	t_gpu_init(&s->gpu, text);
	s->form = f;
	s->len = f->bytes * f->n;
	s->region = t_alloc(&s->gpu, N_BLOCKS * REGION_BYTES);
	s->values = t_alloc(&s->gpu, (size_t)N_ALL * f->reg * f->n);
	s->at = t_alloc(&s->gpu, N_ALL * 4);
	s->on = t_alloc(&s->gpu, N_ALL * 4);
	for (uint32_t i = 0; i < N_ALL; i++) {
		uint32_t block = i / N_THREADS, thread = i % N_THREADS;

		s->at[i] = patterns[block % N_PATTERNS](thread) * s->len;
		s->on[i] = masks[block / N_PATTERNS](thread);
	}
	s->region_was = malloc(N_BLOCKS * REGION_BYTES);
	s->values_was = malloc((size_t)N_ALL * f->reg * f->n);
	assert_true(s->region_was && s->values_was);
	fill(s->region_was, N_BLOCKS * REGION_BYTES, 37);
	fill(s->values_was, (size_t)N_ALL * f->reg * f->n, 91);
}

static void scene_finish(struct scene *s)
{
	free(s->region_was);
	free(s->values_was);
	t_gpu_finish(&s->gpu);
}

static void scene_run(struct scene *s, const char *what)
{
	size_t value_bytes = (size_t)N_ALL * s->form->reg * s->form->n;
	struct t_launch l = {.kernel = "k",
			     .grid = {N_BLOCKS},
			     .block = {N_THREADS},
			     .args = {&s->region, &s->at, &s->on, &s->values}};

	memcpy(s->region, s->region_was, N_BLOCKS * REGION_BYTES);
	memcpy(s->values, s->values_was, value_bytes);
	if (t_launch(&s->gpu, &l))
		fail_msg("%s: %s", what, s->gpu.fault.text);
}

/* An element as its register holds it. */
static void extend(const struct form *f, const unsigned char *from, unsigned char *reg)
{
	memset(reg, f->is_signed && from[f->bytes - 1] & 0x80 ? 0xff : 0, f->reg);
	memcpy(reg, from, f->bytes);
}

static void check_loads(const struct scene *s, const char *what)
{
	const struct form *f = s->form;

	for (uint32_t i = 0; i < N_ALL; i++) {
		const unsigned char *from =
			s->region_was + (size_t)i / N_THREADS * REGION_BYTES + s->at[i];
		unsigned char want[64];

		memcpy(want, s->values_was + (size_t)i * f->reg * f->n, f->reg * f->n);
		for (uint32_t k = 0; s->on[i] && k < f->n; k++)
			extend(f, from + k * f->bytes, want + k * f->reg);
		if (memcmp(want, s->values + (size_t)i * f->reg * f->n, f->reg * f->n))
			fail_msg("%s: block %u thread %u", what, i / N_THREADS, i % N_THREADS);
	}
}

/* Whether what lies at the place of thread @i is what this thread has stored, as a whole. */
static bool is_from(const struct scene *s, uint32_t i, const unsigned char *place)
{
	const struct form *f = s->form;
	const unsigned char *value = s->values + (size_t)i * f->reg * f->n;

	for (uint32_t k = 0; k < f->n; k++) {
		if (memcmp(place + k * f->bytes, value + k * f->reg, f->bytes))
			return false;
	}
	return true;
}

/* Whether thread @i stores at @at and no later lane of its warp does: PTX lets any of them win, here it is always the last. */
static bool wins(const struct scene *s, uint32_t i, uint32_t at)
{
	if (!s->on[i] || s->at[i] != at)
		return false;
	for (uint32_t j = i + 1; j % N_THREADS && j % N_THREADS % 32; j++) {
		if (s->on[j] && s->at[j] == at)
			return false;
	}
	return true;
}

static bool is_from_a_winner(const struct scene *s, uint32_t block, uint32_t at,
			     const unsigned char *place)
{
	bool stored = false;

	for (uint32_t i = block * N_THREADS; i < (block + 1) * N_THREADS; i++) {
		if (!wins(s, i, at))
			continue;
		if (is_from(s, i, place))
			return true;
		stored = true;
	}
	return !stored && !memcmp(place, s->region_was + (size_t)block * REGION_BYTES + at, s->len);
}

static void check_stores(const struct scene *s, const char *what)
{
	for (uint32_t block = 0; block < N_BLOCKS; block++) {
		for (uint32_t at = 0; at < REGION_BYTES; at += s->len) {
			if (!is_from_a_winner(s, block, at,
					      s->region + (size_t)block * REGION_BYTES + at))
				fail_msg("%s: block %u offset %u", what, block, at);
		}
	}
}

static void check_access(const struct form *f, const struct place *p, const char *strength,
			 bool load)
{
	static struct text text;
	struct scene s;
	char what[96];

	access_text(&text, f, p, strength, load);
	scene_init(&s, f, text.at);
	for (s.gpu.isa = 0; gsb_emu_isa_nth(s.gpu.isa); s.gpu.isa++) {
		snprintf(what, sizeof(what), "%s%s%s.v%u.%s of b%u, %s", load ? "ld" : "st",
			 strength, p->space, f->n, f->type, f->reg * 8,
			 gsb_emu_isa_nth(s.gpu.isa)->name);
		scene_run(&s, what);
		if (load)
			check_loads(&s, what);
		else
			check_stores(&s, what);
	}
	scene_finish(&s);
}

static void test_accesses_of_each_form_and_pattern_move_each_lane(void **state)
{
	(void)state;
	for (size_t f = 0; f < GSB_ARRAY_LEN(forms); f++) {
		for (size_t p = 0; p < GSB_ARRAY_LEN(places); p++) {
			for (size_t k = 0; k < GSB_ARRAY_LEN(strengths); k++) {
				check_access(&forms[f], &places[p], strengths[k].load, true);
				check_access(&forms[f], &places[p], strengths[k].store, false);
			}
		}
	}
}

static void test_load_over_its_own_address_reads_all_before(void **state)
{
	static const uint64_t want[] = {7, 11};
	struct t_gpu g;
	uint64_t *io;

	(void)state;
	t_gpu_init(&g,
		   HEAD ".visible .entry k(.param .u64 io) {\n.reg .b64 %rd<4>;\n.reg .b32 %r<2>;\n"
			"ld.param.u64 %rd1, [io]; mov.u32 %r0, %tid.x;\n"
			"mad.wide.u32 %rd1, %r0, 16, %rd1; mov.u64 %rd3, %rd1;\n"
			"ld.global.v2.u64 {%rd1, %rd2}, [%rd1];\n"
			"add.u64 %rd1, %rd1, 1; st.global.v2.u64 [%rd3], {%rd2, %rd1};\nret;\n}\n");
	io = t_alloc(&g, 64 * 16);
	for (int i = 0; i < 64; i++) {
		io[2 * i] = want[0] + (uint64_t)i;
		io[2 * i + 1] = want[1] + (uint64_t)i;
	}
	assert_int_equal(
		t_launch(&g, &(struct t_launch){.kernel = "k", .block = {64}, .args = {&io}}), 0);
	for (int i = 0; i < 64; i++) {
		assert_int_equal(io[2 * i], want[1] + (uint64_t)i);
		assert_int_equal(io[2 * i + 1], want[0] + (uint64_t)i + 1);
	}
	t_gpu_finish(&g);
}

/* Changes of sector from lane to lane; those that are not there stand where the first is. */
static uint64_t sectors_of(const struct scene *s, uint32_t from, uint32_t to)
{
	uint64_t n = 0, last = 0;
	uint32_t first = from;

	while (first < to && !s->on[first])
		first++;
	if (first == to)
		return 0;
	for (uint32_t i = from; i < from + 32; i++) {
		const unsigned char *p = s->region + (size_t)from / N_THREADS * REGION_BYTES;
		uint64_t at = (uintptr_t)p + s->at[i < to && s->on[i] ? i : first];

		n += i == from || at / 32 != last;
		last = at / 32;
	}
	return n;
}

static void test_sectors_are_those_that_the_lanes_touch(void **state)
{
	static const struct form some[] = {
		{"u8", 1, 1, 4, false},
		{"u32", 4, 1, 4, false},
		{"f64", 8, 2, 8, false},
	};
	static struct text text;

	(void)state;
	for (size_t f = 0; f < GSB_ARRAY_LEN(some); f++) {
		uint64_t all, want = 0;
		struct scene s;

		access_text(&text, &some[f], &places[0], "", true);
		scene_init(&s, &some[f], text.at);
		for (uint32_t block = 0; block < N_ALL; block += N_THREADS)
			want += sectors_of(&s, block, block + 32) +
				sectors_of(&s, block + 32, block + N_THREADS);
		scene_run(&s, "with");
		all = s.gpu.stats.n_sectors;
		memset(s.on, 0, N_ALL * sizeof(*s.on));
		scene_run(&s, "without");
		assert_int_equal(all - s.gpu.stats.n_sectors, want);
		scene_finish(&s);
	}
}

/* ---- what is wrong ---- */

/* What comes of one warp by a pattern of words, the highest of which ends @shift bytes behind the end of memory.
 * @way: the instruction set times 4; 2 of it: the first seven lanes do not take part. */
static CUresult reach_to(const struct place *p, bool load, uint32_t (*pattern)(uint32_t), int shift,
			 unsigned int way)
{
	static const struct form word = {"u32", 4, 1, 4, false};
	static struct text text;
	uint32_t at[32], on[32], *in_at, *in_on, high = 0;
	unsigned char *region, *values;
	struct t_gpu g;
	CUresult result;

	access_text(&text, &word, p, "", load);
	t_gpu_init(&g, text.at);
	g.isa = way / 4;
	for (uint32_t i = way & 2 ? 7 : 0; i < 32; i++)
		high = pattern(i) > high ? pattern(i) : high;
	for (uint32_t i = 0; i < 32; i++) {
		at[i] = REGION_BYTES + (pattern(i) - high - 1) * 4 + (uint32_t)shift;
		on[i] = !(way & 2) || i >= 7;
	}
	values = t_alloc(&g, 32 * 4);
	in_at = t_copy(&g, at, sizeof(at));
	in_on = t_copy(&g, on, sizeof(on));
	region = t_alloc(&g, REGION_BYTES);
	t_alloc(&g, 4096); /* so that nothing but the range says no */
	g.memory.host = (struct gsb_emu_range){g.memory.device.base,
					       (uintptr_t)region - g.memory.device.base};
	g.memory.device = (struct gsb_emu_range){(uintptr_t)region, REGION_BYTES};
	result = t_launch(&g, &(struct t_launch){.kernel = "k",
						 .block = {32},
						 .args = {&region, &in_at, &in_on, &values}});
	g.memory.device = (struct gsb_emu_range){g.memory.host.base, T_MEMORY_BYTES};
	t_gpu_finish(&g);
	return result;
}

static void test_one_lane_behind_the_end_is_found_in_each_pattern(void **state)
{
	(void)state;
	for (size_t i = 0; i < N_PATTERNS; i++) {
		for (size_t p = 0; p < GSB_ARRAY_LEN(places); p++) {
			for (unsigned int way = 0; gsb_emu_isa_nth(way / 4); way++) {
				const struct place *at = &places[p];
				const bool load = way & 1;

				assert_int_equal(reach_to(at, load, patterns[i], 0, way), 0);
				assert_int_equal(reach_to(at, load, patterns[i], 4, way),
						 CUDA_ERROR_ILLEGAL_ADDRESS);
				assert_int_equal(reach_to(at, load, patterns[i], -2, way),
						 CUDA_ERROR_MISALIGNED_ADDRESS);
			}
		}
	}
}

/* Lanes that are not there would be in a hole, just behind the last that is. */
static void test_lanes_that_are_not_there_touch_nothing(void **state)
{
	static const struct form word = {"u32", 4, 1, 4, false};
	static struct text text;

	(void)state;
	for (unsigned int way = 0; gsb_emu_isa_nth(way / 2); way++) {
		uint32_t *at, *on, n = 20;
		unsigned char *region, *values, *page;
		struct t_gpu g;

		access_text(&text, &word, &places[0], "", way & 1);
		t_gpu_init(&g, text.at);
		g.isa = way / 2;
		values = t_alloc(&g, n * 4);
		at = t_alloc(&g, n * 4);
		on = t_alloc(&g, n * 4);
		page = t_alloc(&g, T_WATCH_PAGE);
		page += -(uintptr_t)page % T_WATCH_PAGE; /* the last that is mapped */
		region = page;
		for (uint32_t i = 0; i < n; i++) {
			at[i] = T_WATCH_PAGE - (n - i) * 4;
			on[i] = 1;
		}
		assert_int_equal(g.memory.device.base + g.used <= (uintptr_t)page + T_WATCH_PAGE,
				 1);
		assert_int_equal(
			t_launch(&g, &(struct t_launch){.kernel = "k",
							.block = {n},
							.args = {&region, &at, &on, &values}}),
			0);
		t_gpu_finish(&g);
	}
}

static void test_special_registers_of_some_lanes_leave_the_others(void **state)
{
	struct t_gpu g;
	uint32_t *io;

	(void)state;
	t_gpu_init(&g,
		   HEAD ".visible .entry k(.param .u64 io) {\n.reg .b64 %rd<4>;\n.reg .b32 %r<6>;\n"
			".reg .pred %p;\nld.param.u64 %rd1, [io]; mov.u32 %r0, %tid.x;\n"
			"and.b32 %r1, %r0, 1; setp.eq.u32 %p, %r1, 1; mov.u32 %r2, 1000;\n"
			"mov.u32 %r3, 2000; @%p mov.u32 %r2, %tid.x; @%p mov.u32 %r3, %ntid.x;\n"
			"mov.u32 %r4, 1000; mov.u32 %r5, 2000; @!%p bra even;\n"
			"mov.u32 %r4, %tid.x; mov.u32 %r5, %ntid.x; even:\n"
			"add.u32 %r2, %r2, %r4; add.u32 %r3, %r3, %r5;\n"
			"mad.wide.u32 %rd1, %r0, 8, %rd1; st.global.v2.u32 [%rd1], {%r2, %r3};\n"
			"ret;\n}\n");
	io = t_alloc(&g, 64 * 8);
	assert_int_equal(
		t_launch(&g, &(struct t_launch){.kernel = "k", .block = {64}, .args = {&io}}), 0);
	for (uint32_t i = 0; i < 64; i++) {
		assert_int_equal(io[2 * i], 2 * (i & 1 ? i : 1000));
		assert_int_equal(io[2 * i + 1], 2 * (i & 1 ? 64 : 2000));
	}
	t_gpu_finish(&g);
}

/* ---- one access ---- */

/* An access by the first @n threads of a warp, in places by a pattern, on an instruction set. */
struct touch {
	const struct form *form;
	const struct place *place;
	const char *strength;
	bool load;
	uint32_t n;
	uint32_t (*pattern)(uint32_t);
	unsigned int isa;
};

/* Instructions of this processor that touch what is accessed. */
static unsigned long count_touches(const struct touch *t)
{
	const struct form *f = t->form;
	static struct text text;
	struct t_gpu g;
	unsigned char *region, *values;
	uint32_t *at, *on;
	unsigned long n;

	access_text(&text, f, t->place, t->strength, t->load);
	t_gpu_init(&g, text.at);
	g.isa = t->isa;
	values = t_alloc(&g, (size_t)t->n * f->n * f->reg);
	at = t_alloc(&g, t->n * sizeof(*at));
	on = t_alloc(&g, t->n * sizeof(*on));
	for (uint32_t i = 0; i < t->n; i++) {
		on[i] = 1;
		at[i] = t->pattern(i) * f->bytes * f->n;
	}
	region = t_alloc(&g, 2 * T_WATCH_PAGE);
	region += -(uintptr_t)region % T_WATCH_PAGE;
	if (!t_watch_start(region, T_WATCH_PAGE))
		skip();
	assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "k",
							 .block = {t->n},
							 .args = {&region, &at, &on, &values}}),
			 0);
	n = t_watch_stop();
	t_gpu_finish(&g);
	return n;
}

static void test_access_of_a_lane_is_one_access(void **state)
{
	(void)state;
	for (size_t f = 0; f < GSB_ARRAY_LEN(forms); f++) {
		struct touch t = {.form = &forms[f], .n = 1, .pattern = in_order};

		for (t.isa = 0; gsb_emu_isa_nth(t.isa); t.isa++) {
			for (int way = 0; way < 8; way++) {
				t.place = &places[way &
						  1]; /* shared memory is one thread's of ours */
				t.strength = way & 2 ? strengths[2].load : "";
				t.load = way & 4;
				assert_int_equal(count_touches(&t), 1);
			}
		}
	}
}

#if defined(__SANITIZE_ADDRESS__) /* it looks at each lane, and so each is moved by itself */
#define WHOLE_ROW 32
#define PART_ROW  20
#else
#define WHOLE_ROW 8
#define PART_ROW  8 /* two runs of eight lanes, and four lanes by themselves */
#endif

static void check_touches(const struct touch *t, unsigned long most)
{
	unsigned long n = count_touches(t);

	if (!n || n > most)
		fail_msg("%s of %u lanes, %s: %lu accesses, not 1 to %lu",
			 t->load ? "load" : "store", t->n, gsb_emu_isa_nth(t->isa)->name, n, most);
}

/* Rows are moved by what moves most, which no instruction set makes less than 16 bytes; one place is moved once. */
static void test_rows_with_a_pattern_take_few_accesses(void **state)
{
	static const struct {
		uint32_t (*pattern)(uint32_t);
		uint32_t n;
		unsigned long most;
	} rows[] = {
		{in_order, 32, WHOLE_ROW},    {in_order_later, 32, WHOLE_ROW},
		{one_place, 32, 1},	      {one_place, 20, 1},
		{one_place_each_half, 32, 4}, {in_order, 20, PART_ROW},
	};
	static const struct form word = {"u32", 4, 1, 4, false};

	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		struct touch t = {
			.form = &word, .strength = "", .n = rows[i].n, .pattern = rows[i].pattern};

		for (t.isa = 0; gsb_emu_isa_nth(t.isa); t.isa++) {
			t.place = &places[t.isa & 1];
			t.load = true;
			check_touches(&t, rows[i].most);
			t.load = false;
			check_touches(&t, rows[i].most);
		}
	}
}

static void test_paths_are_counted_when_asked_for(void **state)
{
	static const struct {
		uint32_t (*pattern)(uint32_t);
		size_t path;
	} rows[] = {
		{in_order, offsetof(struct gsb_emu_paths, in_order)},
		{one_place, offsetof(struct gsb_emu_paths, one_place)},
		{every_third, offsetof(struct gsb_emu_paths, stride)},
		{backwards, offsetof(struct gsb_emu_paths, stride)},
		{two_rows, offsetof(struct gsb_emu_paths, runs)},
		{one_place_each_half, offsetof(struct gsb_emu_paths, runs)},
		{mixed, offsetof(struct gsb_emu_paths, lanes)},
		{one_astray, offsetof(struct gsb_emu_paths, lanes)},
	};
	static const struct form word = {"u32", 4, 1, 4, false};
	static struct text text;

	(void)state;
	access_text(&text, &word, &places[0], "", true);
	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		/* The kernel's own four accesses are in order. */
		struct gsb_emu_paths paths, want = {.in_order = 2 * 4};
		struct t_launch l = {.kernel = "k", .grid = {2}, .block = {32}};
		struct scene s;

		scene_init(&s, &word, text.at);
		for (uint32_t k = 0; k < 2 * 32; k++) {
			s.at[k] = rows[i].pattern(k % 32) * 4;
			s.on[k] = 1;
		}
		l.args[0] = &s.region;
		l.args[1] = &s.at;
		l.args[2] = &s.on;
		l.args[3] = &s.values;
		*(uint64_t *)(void *)((char *)&want + rows[i].path) += 2;
		assert_int_equal(t_launch_on(&s.gpu, &l, 1, &paths), 0);
		assert_memory_equal(&paths, &want, sizeof(want));
		scene_finish(&s);
	}
}

/* ---- atomics ---- */

#define ATOMS(M)                                                                              \
	M(add_u32, "add.u32", 4, old + b)                                                     \
	M(add_u64, "add.u64", 8, old + b)                                                     \
	M(min_u32, "min.u32", 4, (uint32_t)old < (uint32_t)b ? old : b)                       \
	M(min_s32, "min.s32", 4, (int32_t)old < (int32_t)b ? old : b)                         \
	M(min_s64, "min.s64", 8, (int64_t)old < (int64_t)b ? old : b)                         \
	M(max_u32, "max.u32", 4, (uint32_t)old > (uint32_t)b ? old : b)                       \
	M(max_s32, "max.s32", 4, (int32_t)old > (int32_t)b ? old : b)                         \
	M(max_u64, "max.u64", 8, old > b ? old : b)                                           \
	M(and_b32, "and.b32", 4, old &b)                                                      \
	M(and_b64, "and.b64", 8, old &b)                                                      \
	M(or_b32, "or.b32", 4, old | b)                                                       \
	M(or_b64, "or.b64", 8, old | b)                                                       \
	M(xor_b32, "xor.b32", 4, old ^ b)                                                     \
	M(xor_b64, "xor.b64", 8, old ^ b)                                                     \
	M(inc_u32, "inc.u32", 4, (uint32_t)old >= (uint32_t)b ? 0 : old + 1)                  \
	M(dec_u32, "dec.u32", 4, !(uint32_t)old || (uint32_t)old > (uint32_t)b ? b : old - 1) \
	M(exch_b32, "exch.b32", 4, b)                                                         \
	M(exch_b64, "exch.b64", 8, b)                                                         \
	M(cas_b32, "cas.b32", 4, (uint32_t)old == (uint32_t)b ? c : old)                      \
	M(cas_b64, "cas.b64", 8, old == b ? c : old)

#define AFTER(id, text, bytes, expr)                                     \
	static uint64_t after_##id(uint64_t old, uint64_t b, uint64_t c) \
	{                                                                \
		(void)old, (void)b, (void)c;                             \
		return (expr);                                           \
	}
ATOMS(AFTER)

#define ATOM(id, text, bytes, expr) {text, bytes, after_##id},
static const struct atom {
	const char *op;
	uint32_t bytes;
	uint64_t (*after)(uint64_t old, uint64_t b, uint64_t c);
} atoms[] = {ATOMS(ATOM)};

static bool is_cas(const struct atom *a)
{
	return !strncmp(a->op, "cas", 3);
}

/* As access_text(): values[i] are what was there before, b, c, and nothing. */
static void atom_text(struct text *t, const struct atom *a, const struct place *p, bool strong,
		      bool result)
{
	const struct form f = {"", a->bytes, 4, a->bytes, false};

	t->n = 0;
	put_head(t, &f);
	if (p->shared)
		put_copy(t, true);
	put_values(t, &f, true);
	if (p->shared)
		put(t, "mov.u64 %%rd9, room; %s add.u64 %%rd9, %%rd9, %%rd3;\n",
		    p->space[0] ? "" : "cvta.shared.u64 %rd9, %rd9;");
	else
		put(t, "add.u64 %%rd9, %%rd2, %%rd3;\n");
	put(t, "@%%p %s%s%s.%s %s [%%rd9], %%v1%s;\n", result ? "atom" : "red",
	    strong ? ".acq_rel.gpu" : "", p->space, a->op, result ? "%v0," : "",
	    is_cas(a) ? ", %v2" : "");
	put_values(t, &f, false);
	if (p->shared)
		put_copy(t, false);
	put(t, "ret;\n}\n");
}

static uint64_t word_at(const unsigned char *p, uint32_t bytes)
{
	uint64_t v = 0;

	memcpy(&v, p, bytes);
	return v;
}

/* The threads take their turns in order, which no atomic promises but this device keeps on one thread. */
static void check_turns(struct scene *s, const struct atom *a, bool result, const char *what)
{
	for (uint32_t i = 0; i < N_ALL; i++) {
		unsigned char *place =
			s->region_was + (size_t)i / N_THREADS * REGION_BYTES + s->at[i];
		unsigned char *values = s->values_was + (size_t)i * 4 * a->bytes;
		uint64_t old = word_at(place, a->bytes), next;

		if (!s->on[i])
			continue;
		next = a->after(old, word_at(values + a->bytes, a->bytes),
				word_at(values + 2 * a->bytes, a->bytes));
		memcpy(place, &next, a->bytes);
		if (result)
			memcpy(values, &old, a->bytes);
	}
	if (memcmp(s->region, s->region_was, N_BLOCKS * REGION_BYTES))
		fail_msg("%s: memory", what);
	if (memcmp(s->values, s->values_was, (size_t)N_ALL * 4 * a->bytes))
		fail_msg("%s: what was there before", what);
}

/* Of words and operands that differ in their top and lowest bits only, so that comparisons go both ways. */
static void few_values(const struct scene *s, uint32_t bytes)
{
	for (size_t i = 0; i < N_BLOCKS * REGION_BYTES; i++)
		s->region_was[i] = i % bytes == 0	    ? i / bytes % 3
				   : i % bytes == bytes - 1 ? 0x80
							    : 0;
	for (size_t i = 0; i < (size_t)N_ALL * 4 * bytes; i++)
		s->values_was[i] = i % bytes == 0	    ? i / bytes % 5
				   : i % bytes == bytes - 1 ? (i / bytes % 2) * 0x80
							    : 0;
}

static void check_atom(const struct atom *a, const struct place *p, bool strong, bool result)
{
	const struct form f = {"", a->bytes, 4, a->bytes, false};
	static struct text text;
	struct scene s;
	char what[96];

	atom_text(&text, a, p, strong, result);
	scene_init(&s, &f, text.at);
	for (uint32_t i = 0; i < N_ALL; i++)
		s.at[i] /= 4; /* patterns of one word, not of four */
	for (s.gpu.isa = 0; gsb_emu_isa_nth(s.gpu.isa); s.gpu.isa++) {
		snprintf(what, sizeof(what), "%s%s.%s, %s, %s", result ? "atom" : "red", p->space,
			 a->op, strong ? "strong" : "relaxed", gsb_emu_isa_nth(s.gpu.isa)->name);
		few_values(&s, a->bytes);
		scene_run(&s, what);
		check_turns(&s, a, result, what);
	}
	scene_finish(&s);
}

static void test_atomics_of_each_pattern_take_turns(void **state)
{
	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(atoms); i++) {
		for (size_t p = 0; p < GSB_ARRAY_LEN(places); p++) {
			bool has_red = !is_cas(&atoms[i]) && strncmp(atoms[i].op, "exch", 4) != 0;

			check_atom(&atoms[i], &places[p], p & 1, true);
			if (has_red)
				check_atom(&atoms[i], &places[p], !(p & 1), false);
		}
	}
}

/*
 * Blocks that race wait for each other, each even one and the next, whenever %r2 is a multiple of @every: else one might be
 * done before a busy machine begins the other. Flags of all blocks at [%rd0 + @flags]; wants %r9, %r10, %rd8, %rd9, %p3.
 */
#define MEET(every, flags)                                                      \
	"rem.u32 %r9, %r2, " #every "; setp.ne.u32 %p3, %r9, 0; @%p3 bra go;\n" \
	"mov.u32 %r9, %ctaid.x; xor.b32 %r10, %r9, 1;\n"                        \
	"mad.wide.u32 %rd8, %r9, 4, %rd0; mad.wide.u32 %rd9, %r10, 4, %rd0;\n"  \
	"add.u32 %r9, %r2, 1; st.volatile.global.u32 [%rd8+" #flags "], %r9;\n" \
	"meet: ld.volatile.global.u32 %r10, [%rd9+" #flags "];\n"               \
	"setp.lt.u32 %p3, %r10, %r9; @%p3 bra meet;\ngo:\n"

/* Each thread adds to one place that all share, and to one of 16, and takes tickets from a third: none is lost and
 * none is given twice. */
static void test_atomics_of_several_threads_lose_nothing(void **state)
{
	static const char text[] = HEAD
		".visible .entry k(.param .u64 io) {\n.reg .pred %p<4>;\n.reg .b32 %r<12>;\n"
		".reg .b64 %rd<12>;\nld.param.u64 %rd0, [io]; mov.u32 %r0, %tid.x; mov.u32 %r2, 0;\n"
		"and.b32 %r1, %r0, 15; mad.wide.u32 %rd1, %r1, 4, %rd0;\n"
		"again:\n" MEET(
			4,
			160) "red.global.add.u32 [%rd0], 1; red.global.add.u32 [%rd1+64], 1;\n"
			     "atom.global.add.u32 %r3, [%rd0+128], 1; mad.wide.u32 %rd2, %r3, 4, %rd0;\n"
			     "red.global.xor.b32 [%rd2+256], 1; atom.global.inc.u32 %r4, [%rd0+132], 0xffffffff;\n"
			     "red.global.max.u32 [%rd0+136], %r3;\n"
			     "add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 100; @%p0 bra again;\nret;\n}\n";
	enum { N = 8 * 64 * 100 };
	struct t_launch l = {.kernel = "k", .grid = {8}, .block = {64}};
	struct t_gpu g;
	uint32_t *io;

	(void)state;
	t_gpu_init(&g, text);
	io = t_alloc(&g, 256 + 4 * N);
	l.args[0] = &io;
	for (unsigned int n = 1; n <= 4; n *= 2) {
		memset(io, 0, 256 + 4 * N);
		assert_int_equal(t_launch_on(&g, &l, n, NULL), 0);
		assert_int_equal(io[0], N);
		for (int i = 0; i < 16; i++)
			assert_int_equal(io[16 + i], N / 16);
		assert_int_equal(io[32], N);
		assert_int_equal(io[33], N);
		assert_int_equal(io[34], N - 1);
		for (int i = 0; i < N; i++)
			assert_int_equal(io[64 + i], 1);
	}
	t_gpu_finish(&g);
}

/* Adds to the first 33 words from the other side of the device, until it is told to stop. */
struct meddler {
	uint32_t *io;
	bool stop;
	uint32_t n; /* rounds */
};

static void *meddle(void *arg)
{
	struct meddler *m = arg;

	while (!__atomic_load_n(&m->stop, __ATOMIC_RELAXED)) {
		for (int i = 0; i < 33; i++)
			__atomic_fetch_add(m->io + i, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&m->n, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

/* As above, against a thread that does nothing else: one that is always between a read and a write of ours. */
static void test_atomics_beside_a_busy_thread_lose_nothing(void **state)
{
	static const char text[] = HEAD
		".visible .entry k(.param .u64 io) {\n.reg .pred %p<4>;\n.reg .b32 %r<12>;\n"
		".reg .b64 %rd<12>;\nld.param.u64 %rd0, [io]; mov.u32 %r0, %tid.x; mov.u32 %r2, 0;\n"
		"mad.wide.u32 %rd1, %r0, 4, %rd0;\n"
		"again: red.global.add.u32 [%rd0], 1; atom.global.add.u32 %r3, [%rd1+4], 1;\n"
		"add.u32 %r2, %r2, 1; setp.lt.u32 %p0, %r2, 1000; @%p0 bra again;\nret;\n}\n";
	struct t_launch l = {.kernel = "k", .grid = {1}, .block = {32}};
	struct meddler m = {0};
	uint32_t n_launches = 0;
	pthread_t thread;
	struct t_gpu g;

	(void)state;
	t_gpu_init(&g, text);
	m.io = t_alloc(&g, 256);
	l.args[0] = &m.io;
	assert_int_equal(pthread_create(&thread, NULL, meddle, &m), 0);
	while (n_launches < 4 || __atomic_load_n(&m.n, __ATOMIC_RELAXED) < 300000) {
		assert_int_equal(t_launch_on(&g, &l, 1, NULL), 0);
		n_launches++;
	}
	__atomic_store_n(&m.stop, true, __ATOMIC_RELAXED);
	pthread_join(thread, NULL);
	assert_int_equal(m.io[0], m.n + 32 * 1000 * n_launches);
	for (int i = 1; i < 33; i++)
		assert_int_equal(m.io[i], m.n + 1000 * n_launches);
	t_gpu_finish(&g);
}

/* ---- several threads ---- */

/* Even blocks write equal words into 32 places, odd ones read them and count the unequal in io[0]. */
#define RACE(store, load, unequal)                                                          \
	HEAD ".visible .entry k(.param .u64 io) {\n.reg .pred %p<4>;\n.reg .b32 %r<12>;\n"  \
	     ".reg .b64 %rd<12>;\n.reg .b128 %q;\n"                                         \
	     "ld.param.u64 %rd0, [io]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x;\n"       \
	     "mad.wide.u32 %rd1, %r0, 16, %rd0; add.u64 %rd1, %rd1, 256; mov.u32 %r2, 0;\n" \
	     "and.b32 %r3, %r1, 1; setp.eq.u32 %p0, %r3, 1;\n"                              \
	     "loop:\n" MEET(                                                                \
		     64,                                                                    \
		     2048) "@%p0 bra reader;\n"                                             \
			   "writer: mad.lo.u32 %r4, %r2, 32, %r0; add.u32 %r4, %r4, %r1;\n" \
			   "cvt.u64.u32 %rd4, %r4;\n" store "\nadd.u32 %r2, %r2, 1;\n"      \
			   "setp.lt.u32 %p1, %r2, 4000; @%p1 bra loop; ret;\n"              \
			   "reader: " load "\n" unequal "\n"                                \
			   "@%p2 red.global.add.u32 [%rd0], 1;\n"                           \
			   "add.u32 %r2, %r2, 1; setp.lt.u32 %p1, %r2, 4000; @%p1 bra loop; ret;\n}\n"
#define UNEQUAL2 "setp.ne.u32 %p2, %r5, %r6;"
#define UNEQUAL4                                                          \
	"setp.ne.u32 %p2, %r5, %r6; setp.ne.or.u32 %p2, %r5, %r7, %p2;\n" \
	"setp.ne.or.u32 %p2, %r5, %r8, %p2;"
#define UNEQUAL8 "setp.ne.u64 %p2, %rd5, %rd6;"

static const char *const races[] = {
	RACE("st.relaxed.gpu.global.v2.u32 [%rd1], {%r4, %r4};",
	     "ld.relaxed.gpu.global.v2.u32 {%r5, %r6}, [%rd1];", UNEQUAL2),
	RACE("st.release.gpu.global.v2.u32 [%rd1], {%r4, %r4};",
	     "ld.acquire.gpu.v2.u32 {%r5, %r6}, [%rd1];", UNEQUAL2),
	RACE("st.relaxed.gpu.v4.u32 [%rd1], {%r4, %r4, %r4, %r4};",
	     "ld.relaxed.gpu.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1];", UNEQUAL4),
	RACE("st.global.v4.u32 [%rd1], {%r4, %r4, %r4, %r4};",
	     "ld.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1];", UNEQUAL4),
	RACE("st.volatile.global.v2.u64 [%rd1], {%rd4, %rd4};",
	     "ld.volatile.v2.u64 {%rd5, %rd6}, [%rd1];", UNEQUAL8),
	RACE("mov.b128 %q, {%rd4, %rd4}; st.relaxed.gpu.global.b128 [%rd1], %q;",
	     "ld.relaxed.gpu.global.b128 %q, [%rd1]; mov.b128 {%rd5, %rd6}, %q;", UNEQUAL8),
	RACE("st.release.gpu.global.v2.u64 [%rd1], {%rd4, %rd4};",
	     "ld.acquire.gpu.global.b128 %q, [%rd1]; mov.b128 {%rd5, %rd6}, %q;", UNEQUAL8),
};

static void check_race(const char *text, unsigned int n_workers)
{
	struct t_launch l = {.kernel = "k", .grid = {8}, .block = {32}};
	struct t_gpu g;
	uint32_t *io;

	t_gpu_init(&g, text);
	io = t_alloc(&g, 4096);
	l.args[0] = &io;
	for (g.isa = 0; gsb_emu_isa_nth(g.isa); g.isa++) {
		memset(io, 0, 4096);
		assert_int_equal(t_launch_on(&g, &l, n_workers, NULL), 0);
		if (io[0])
			fail_msg("%u of %u reads saw half of a store, on %u workers: %s", io[0],
				 4 * 32 * 4000, n_workers, strstr(text, "reader: "));
	}
	t_gpu_finish(&g);
}

static void test_vectors_are_never_seen_half_written(void **state)
{
	(void)state;
	for (size_t i = 0; i < GSB_ARRAY_LEN(races); i++) {
		check_race(races[i], 1);
		check_race(races[i], 2);
		check_race(races[i], 4);
	}
}

/* What two threads change at once depends on this answer; that they meet in the instant between is too rare to wait for. */
static void test_swap_of_16_bytes_says_whether_it_was_made(void **state)
{
	const single16 one = (single16)7 << 64 | 1, two = (single16)7 << 64 | 2, three = 3;
	single16 cell = one, old = two;

	(void)state;
	assert_false(single_swap16(&cell, &old, three));
	assert_true(cell == one && old == one);
	assert_true(single_swap16(&cell, &old, three));
	assert_true(cell == three);
}

/* Block 0 writes data, then a vector whose second word says so; block 1 waits for it, then reads the data. */
static void test_vector_that_releases_brings_what_was_before(void **state)
{
	static const char text[] =
		HEAD ".visible .entry k(.param .u64 io) {\n.reg .pred %p<4>;\n.reg .b32 %r<12>;\n"
		     ".reg .b64 %rd<4>;\nld.param.u64 %rd0, [io]; mov.u32 %r0, %tid.x;\n"
		     "mov.u32 %r1, %ctaid.x; mad.wide.u32 %rd1, %r0, 64, %rd0; mov.u32 %r2, 1;\n"
		     "setp.eq.u32 %p0, %r1, 1; @%p0 bra reader;\n"
		     "writer: st.relaxed.gpu.global.u32 [%rd1+256], %r2;\n"
		     "st.release.gpu.global.v4.u32 [%rd1+272], {%r2, %r2, %r2, %r2};\n"
		     "add.u32 %r2, %r2, 1; setp.le.u32 %p1, %r2, 4000; @%p1 bra writer; ret;\n"
		     "reader: ld.acquire.gpu.global.v4.u32 {%r5, %r6, %r7, %r8}, [%rd1+272];\n"
		     "ld.relaxed.gpu.global.u32 %r9, [%rd1+256]; setp.lt.u32 %p2, %r9, %r8;\n"
		     "@%p2 red.global.add.u32 [%rd0], 1;\n"
		     "setp.lt.u32 %p1, %r8, 4000; @%p1 bra reader; ret;\n}\n";
	struct t_launch l = {.kernel = "k", .grid = {2}, .block = {32}};
	struct t_gpu g;
	uint32_t *io;

	(void)state;
	t_gpu_init(&g, text);
	io = t_alloc(&g, 4096);
	l.args[0] = &io;
	for (unsigned int n = 2; n <= 4; n += 2) {
		memset(io, 0, 4096);
		assert_int_equal(t_launch_on(&g, &l, n, NULL), 0);
		assert_int_equal(io[0], 0);
	}
	t_gpu_finish(&g);
}

/* A function's own .global keeps its value from launch to launch. */
static void test_global_of_a_function_lives_as_long_as_the_module(void **state)
{
	struct t_gpu g;
	uint32_t *out;

	t_gpu_init(&g, ".version 7.8\n.target sm_90\n.address_size 64\n"
		       ".func (.reg .b32 r) count(.reg .b32 by) {\n"
		       ".global .b32 n = 40; .const .b32 one = 1; .reg .b32 %a;\n"
		       "ld.const.b32 %a, [one]; mad.lo.u32 %a, %a, by, 0;\n"
		       "atom.global.add.u32 r, [n], %a; ret; }\n"
		       ".visible .entry k(.param .u64 out) {\n"
		       ".reg .b64 %rd; .reg .b32 %r<3>;\n"
		       "ld.param.u64 %rd, [out]; mov.b32 %r1, 1; call (%r2), count, (%r1);\n"
		       "st.global.u32 [%rd], %r2; ret; }\n");
	out = t_alloc(&g, 4);
	for (uint32_t launch = 0; launch < 3; launch++) {
		assert_int_equal(t_launch(&g, &(struct t_launch){.kernel = "k", .args = {&out}}),
				 CUDA_SUCCESS);
		assert_int_equal(*out, 40 + launch);
	}
	t_gpu_finish(&g);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accesses_of_each_form_and_pattern_move_each_lane),
		cmocka_unit_test(test_load_over_its_own_address_reads_all_before),
		cmocka_unit_test(test_one_lane_behind_the_end_is_found_in_each_pattern),
		cmocka_unit_test(test_lanes_that_are_not_there_touch_nothing),
		cmocka_unit_test(test_special_registers_of_some_lanes_leave_the_others),
		cmocka_unit_test(test_sectors_are_those_that_the_lanes_touch),
		cmocka_unit_test(test_access_of_a_lane_is_one_access),
		cmocka_unit_test(test_rows_with_a_pattern_take_few_accesses),
		cmocka_unit_test(test_paths_are_counted_when_asked_for),
		cmocka_unit_test(test_atomics_of_each_pattern_take_turns),
		cmocka_unit_test(test_atomics_of_several_threads_lose_nothing),
		cmocka_unit_test(test_atomics_beside_a_busy_thread_lose_nothing),
		cmocka_unit_test(test_vectors_are_never_seen_half_written),
		cmocka_unit_test(test_swap_of_16_bytes_says_whether_it_was_made),
		cmocka_unit_test(test_vector_that_releases_brings_what_was_before),
		cmocka_unit_test(test_global_of_a_function_lives_as_long_as_the_module),
	};

	return cmocka_run_group_tests_name("emu_memory", tests, NULL, NULL);
}
