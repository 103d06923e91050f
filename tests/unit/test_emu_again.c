/*
 * test_emu_again.c - accesses behind others by the same register: what an access remembers of its row of addresses is
 * what the next one would find, and is forgotten where it no longer holds.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/compiler.h"
#include "device/emu/exec/isa.h"
#include "tests/unit/emu_harness.h"

#define HEAD	  ".version 8.3\n.target sm_90\n.address_size 64\n"
#define N_THREADS 64 /* two warps: what one leaves behind must not help the other */
#define N_WORDS	  1024u
#define ROOM	  (N_WORDS * 4)

static uint32_t word(uint32_t at)
{
	return at / 4 * 0x01030507u + 0x80402010u;
}

/* ---- where the lanes lie: bytes from the start, of thread i of its warp; the second warp is 512 further ---- */

static uint32_t in_order(uint32_t i)
{
	return 4 * i;
}

static uint32_t one_place(uint32_t i)
{
	(void)i;
	return 16;
}

static uint32_t tile(uint32_t i)
{
	return i % 16 * 4 + i / 16 * 128;
}

static uint32_t rows(uint32_t i)
{
	return i / 8 * 64;
}

static uint32_t stride(uint32_t i)
{
	return i * 12;
}

static uint32_t scattered(uint32_t i)
{
	return i * 7 % 32 * 4;
}

/* The first warp scattered, the second, which comes first behind a barrier, in order. */
static uint32_t mixed(uint32_t i)
{
	return i < 32 ? scattered(i) : in_order(i - 32);
}

typedef uint32_t pattern(uint32_t i);
static pattern *const patterns[] = {in_order, one_place, tile, rows, stride, scattered, mixed};

static uint32_t place_of(pattern *p, uint32_t thread)
{
	return p(p == mixed ? thread : thread % 32) + thread / 32 * 512;
}

/* ---- what is done there: by %r1 in shared memory, %rd1 in global memory; %v, and %w, become the result ---- */

struct scene {
	pattern *p;
	uint32_t i; /* thread */
	uint32_t at;
};

static uint32_t two_words(const struct scene *s)
{
	return word(s->at) + word(s->at + 64);
}

static uint32_t next_word(const struct scene *s)
{
	return word(s->at) + word(s->at + 4);
}

static uint32_t word_of_next_thread(const struct scene *s)
{
	return word(place_of(s->p, s->i ^ 1));
}

static uint32_t second_of_second_warp(const struct scene *s)
{
	return (s->i < 32 ? word(s->at) : 0) + word(s->at + 4);
}

static uint32_t second_of_first_warp(const struct scene *s)
{
	return (s->i >= 32 ? word(s->at) : 0) + word(s->at + 4);
}

static uint32_t second_of_odd_thread(const struct scene *s)
{
	return (s->i & 1 ? word(s->at) : 0) + word(s->at + 4);
}

static uint32_t parts(const struct scene *s)
{
	return (word(s->at) & 0xff) + word(s->at) + (word(s->at) >> 16);
}

static uint32_t many(const struct scene *s)
{
	uint32_t sum = 0;

	for (uint32_t k = 0; k < 6; k++)
		sum += word(s->at + 4 * k) + word(s->at + 4 * k + 64);
	return sum;
}

static uint32_t last_of_quad(const struct scene *s)
{
	return word((s->at & ~15u) + 8);
}

static uint32_t own(const struct scene *s)
{
	return s->i + 7;
}

static const struct {
	const char *text;
	uint32_t (*want)(const struct scene *s);
} cases[] = {
	{"ld.shared.u32 %v, [%r1]; ld.shared.u32 %w, [%r1+64];", two_words},
	{"ld.global.u32 %v, [%rd1]; ld.global.u32 %w, [%rd1+64];", two_words},
	{"add.u64 %rd1, %rd1, 64; ld.global.u32 %v, [%rd1]; ld.global.u32 %w, [%rd1+-64];",
	 two_words},
	/* through a generic address, which may be of other memory */
	{"ld.global.u32 %v, [%rd1]; ld.u32 %w, [%rd1+4];", next_word},
	{"ld.shared.u32 %v, [%r1]; ld.u32 %w, [%rd4+4];", next_word},
	{"ld.u32 %v, [%rd4]; ld.u32 %w, [%rd4+4];", next_word},
	/* the addresses change between them */
	{"ld.shared.u32 %v, [%r1]; add.u32 %r1, %r1, 4; ld.shared.u32 %w, [%r1];", next_word},
	{"ld.global.u32 %v, [%rd1]; add.u64 %rd1, %rd1, 4; ld.global.u32 %w, [%rd1];", next_word},
	{"st.shared.u32 [%r3], %r2; ld.shared.u32 %r3, [%r3]; ld.shared.u32 %v, [%r3];",
	 word_of_next_thread},
	/* another way leads to the second one, for all lanes or for some */
	{"setp.ge.u32 %p, %r0, 32; @%p bra on; ld.shared.u32 %v, [%r1];\n"
	 "on: ld.shared.u32 %w, [%r1+4];",
	 second_of_second_warp},
	{"setp.lt.u32 %p, %r0, 32; @%p bra on; ld.shared.u32 %v, [%r1];\n"
	 "on: ld.shared.u32 %w, [%r1+4];",
	 second_of_first_warp},
	{"and.b32 %r4, %r0, 1; setp.ne.u32 %p, %r4, 0; @%p ld.shared.u32 %v, [%r1];\n"
	 "ld.shared.u32 %w, [%r1+4];",
	 second_of_odd_thread},
	{"and.b32 %r4, %r0, 1; setp.ne.u32 %p, %r4, 0; ld.shared.u32 %w, [%r1+4];\n"
	 "@%p ld.shared.u32 %v, [%r1];",
	 second_of_odd_thread},
	/* of another width */
	{"ld.shared.u8 %v, [%r1]; ld.shared.u32 %w, [%r1]; add.u32 %v, %v, %w;\n"
	 "ld.shared.u16 %w, [%r1+2];",
	 parts},
	{"ld.global.u32 %v, [%rd1]; ld.global.u8 %w, [%rd1]; add.u32 %v, %v, %w;\n"
	 "ld.global.u16 %w, [%rd1+2];",
	 parts},
	{"ld.shared.u32 %v, [%r1]; ld.shared.u32 %w, [%r1+4]; bar.sync 0; mov.u32 %w, 0;\n"
	 "and.b32 %r1, %r1, 0xfffffff0; ld.shared.b128 %q, [%r1]; ld.shared.u32 %v, [%r1+8];",
	 last_of_quad},
	{"and.b32 %r1, %r1, 0xfffffff0; ld.shared.v4.u32 {%w, %w, %v, %w}, [%r1]; mov.u32 %w, 0;\n"
	 "ld.shared.u32 %v, [%r1+8];",
	 last_of_quad},
	/* more rows than are remembered, in turn and the other way about */
	{"add.u32 %r4, %r1, 4; add.u32 %r5, %r1, 8; add.u32 %r6, %r1, 12; add.u32 %r7, %r1, 16;\n"
	 "add.u32 %r8, %r1, 20; ld.shared.u32 %v, [%r1]; ld.shared.u32 %w, [%r4];\n"
	 "add.u32 %v, %v, %w; ld.shared.u32 %w, [%r5]; add.u32 %v, %v, %w;\n"
	 "ld.shared.u32 %w, [%r6]; add.u32 %v, %v, %w; ld.shared.u32 %w, [%r7];\n"
	 "add.u32 %v, %v, %w; ld.shared.u32 %w, [%r8]; add.u32 %v, %v, %w;\n"
	 "ld.shared.u32 %w, [%r8+64]; add.u32 %v, %v, %w; ld.shared.u32 %w, [%r7+64];\n"
	 "add.u32 %v, %v, %w; ld.shared.u32 %w, [%r6+64]; add.u32 %v, %v, %w;\n"
	 "ld.shared.u32 %w, [%r5+64]; add.u32 %v, %v, %w; ld.shared.u32 %w, [%r4+64];\n"
	 "add.u32 %v, %v, %w; ld.shared.u32 %w, [%r1+64];",
	 many},
	/* stores */
	{"ld.shared.u32 %w, [%r3]; add.u32 %w, %r0, 7; st.shared.u32 [%r3+4], %w;\n"
	 "mov.u32 %w, 0; ld.shared.u32 %v, [%r3+4];",
	 own},
};

/* k(words, at, out): the words are in global memory and in shared memory, where each thread has eight bytes more of its own. */
static void put_text(char *text, size_t size, const char *what)
{
	snprintf(
		text, size,
		HEAD
		".visible .entry k(.param .u64 words, .param .u64 at, .param .u64 out) {\n"
		".shared .align 16 .b8 room[%u];\n.reg .pred %%p;\n.reg .b32 %%r<9>;\n"
		".reg .b32 %%v, %%w;\n.reg .b64 %%rd<6>;\n.reg .b128 %%q;\n"
		"mov.u32 %%r0, %%tid.x; ld.param.u64 %%rd1, [words]; mov.u32 %%r1, room;\n"
		"mov.u32 %%r3, 0;\n"
		"fill: mul.wide.u32 %%rd2, %%r3, 4; add.u64 %%rd2, %%rd1, %%rd2;\n"
		"ld.global.u32 %%v, [%%rd2]; shl.b32 %%r4, %%r3, 2; add.u32 %%r4, %%r1, %%r4;\n"
		"st.shared.u32 [%%r4], %%v; add.u32 %%r3, %%r3, 1; setp.lt.u32 %%p, %%r3, %u;\n"
		"@%%p bra fill;\nbar.sync 0;\n"
		"ld.param.u64 %%rd2, [at]; mad.wide.u32 %%rd2, %%r0, 4, %%rd2;\n"
		"ld.global.u32 %%r2, [%%rd2]; cvt.u64.u32 %%rd2, %%r2; add.u64 %%rd1, %%rd1, %%rd2;\n"
		"add.u32 %%r4, %%r1, %%r2; shl.b32 %%r3, %%r0, 3; add.u32 %%r3, %%r3, %%r1;\n"
		"add.u32 %%r3, %%r3, %u; shfl.sync.bfly.b32 %%r2, %%r4, 1, 31, -1;\n"
		"mov.u32 %%r1, %%r4; cvt.u64.u32 %%rd4, %%r1; cvta.shared.u64 %%rd4, %%rd4;\n"
		"mov.u32 %%v, 0; mov.u32 %%w, 0;\n%s\nadd.u32 %%v, %%v, %%w;\n"
		"ld.param.u64 %%rd2, [out]; mad.wide.u32 %%rd2, %%r0, 4, %%rd2;\n"
		"st.global.u32 [%%rd2], %%v;\nret;\n}\n",
		ROOM + N_THREADS * 8, N_WORDS, ROOM, what);
}

static CUresult run(const char *what, pattern *p, unsigned int isa, uint32_t *out)
{
	static char text[8192];
	uint32_t at[N_THREADS], words[N_WORDS], *in_at, *in_words, *result;
	struct t_gpu g;
	CUresult r;

	put_text(text, sizeof(text), what);
	t_gpu_init(&g, text);
	g.isa = isa;
	for (uint32_t i = 0; i < N_THREADS; i++)
		at[i] = place_of(p, i);
	for (uint32_t i = 0; i < N_WORDS; i++)
		words[i] = word(4 * i);
	in_words = t_copy(&g, words, sizeof(words));
	in_at = t_copy(&g, at, sizeof(at));
	result = t_alloc(&g, sizeof(at));
	r = t_launch(&g, &(struct t_launch){.kernel = "k",
					    .block = {N_THREADS},
					    .args = {&in_words, &in_at, &result}});
	memcpy(out, result, sizeof(at));
	t_gpu_finish(&g);
	return r;
}

static void check(size_t c, pattern *p, unsigned int isa)
{
	uint32_t out[N_THREADS];

	assert_int_equal(run(cases[c].text, p, isa, out), CUDA_SUCCESS);
	for (uint32_t i = 0; i < N_THREADS; i++) {
		const struct scene s = {.p = p, .i = i, .at = place_of(p, i)};

		if (out[i] != cases[c].want(&s))
			fail_msg("thread %u: 0x%x, not 0x%x\n%s", i, out[i], cases[c].want(&s),
				 cases[c].text);
	}
}

static void test_again_by_each_pattern_gives_what_is_there(void **state)
{
	(void)state;
	for (unsigned int isa = 0; gsb_emu_isa_nth(isa); isa++) {
		for (size_t k = 0; k < GSB_ARRAY_LEN(patterns); k++) {
			for (size_t c = 0; c < GSB_ARRAY_LEN(cases); c++)
				check(c, patterns[k], isa);
		}
	}
}

/* The first access is fine; the second, by the same register, is not. */
static const struct {
	const char *text;
	CUresult want;
} faults[] = {
	{"ld.shared.u32 %v, [%r1]; ld.shared.u32 %w, [%r1+100000];", CUDA_ERROR_ILLEGAL_ADDRESS},
	{"ld.shared.u32 %v, [%r1]; ld.shared.u32 %w, [%r1+-8192];", CUDA_ERROR_ILLEGAL_ADDRESS},
	{"ld.shared.u32 %v, [%r1]; st.shared.u32 [%r1+100000], %v;", CUDA_ERROR_ILLEGAL_ADDRESS},
	{"ld.shared.u32 %v, [%r1]; ld.shared.u32 %w, [%r1+2];", CUDA_ERROR_MISALIGNED_ADDRESS},
	{"ld.global.u32 %v, [%rd1]; ld.global.u32 %w, [%rd1+1073741824];",
	 CUDA_ERROR_ILLEGAL_ADDRESS},
	{"ld.global.u32 %v, [%rd1]; ld.global.u32 %w, [%rd1+-1073741824];",
	 CUDA_ERROR_ILLEGAL_ADDRESS},
	{"ld.global.u32 %v, [%rd1]; st.global.u32 [%rd1+1], %v;", CUDA_ERROR_MISALIGNED_ADDRESS},
};

static void test_again_beyond_memory_or_astray_is_found(void **state)
{
	uint32_t out[N_THREADS];

	(void)state;
	for (unsigned int isa = 0; gsb_emu_isa_nth(isa); isa++) {
		for (size_t k = 0; k < GSB_ARRAY_LEN(patterns); k++) {
			for (size_t c = 0; c < GSB_ARRAY_LEN(faults); c++)
				assert_int_equal(run(faults[c].text, patterns[k], isa, out),
						 faults[c].want);
		}
	}
}

/* @edge bytes of shared memory are left behind the last lane of the second warp's first run. */
static void check_edge(int edge, CUresult want, unsigned int isa)
{
	char text[256];
	uint32_t out[N_THREADS];

	/* the block has ROOM + N_THREADS * 8 bytes; the second warp's last lane lies at 512 + 124 */
	snprintf(text, sizeof(text),
		 "ld.shared.u32 %%v, [%%r1]; ld.shared.u32 %%w, [%%r1+%d]; mov.u32 %%w, 0;",
		 (int)(ROOM + N_THREADS * 8) - 512 - 128 - edge);
	assert_int_equal(run(text, in_order, isa, out), want);
}

static void test_again_up_to_the_last_byte_is_fine(void **state)
{
	uint32_t out[N_THREADS];

	(void)state;
	for (unsigned int isa = 0; gsb_emu_isa_nth(isa); isa++) {
		check_edge(0, CUDA_SUCCESS, isa);
		check_edge(-4, CUDA_ERROR_ILLEGAL_ADDRESS, isa);
		check_edge(-28, CUDA_ERROR_ILLEGAL_ADDRESS, isa);
		/* the first lanes of the first warp lie before the start */
		assert_int_equal(run("ld.shared.u32 %v, [%r1]; ld.shared.u32 %w, [%r1+-1056];",
				     in_order, isa, out),
				 CUDA_ERROR_ILLEGAL_ADDRESS);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_again_by_each_pattern_gives_what_is_there),
		cmocka_unit_test(test_again_beyond_memory_or_astray_is_found),
		cmocka_unit_test(test_again_up_to_the_last_byte_is_fine),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
