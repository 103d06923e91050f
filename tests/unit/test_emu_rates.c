/*
 * test_emu_rates.c - how long a kernel of one kind of instruction takes on the emulated device: by the pipe of the GPU that it is named
 * after, to the nanosecond.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "model/gpu/arch.h"
#include "tests/unit/device_kit.h"

#define N_INSNS	 500
#define SM_WARPS 64 /* all that an SM holds: two blocks */

/* One instruction again and again, and what begins and ends a kernel. */
static const char *kernel_of(const char *insn)
{
	static char text[65536];
	size_t n = (size_t)snprintf(text, sizeof(text),
				    ".version 7.0\n.target sm_90\n.address_size 64\n"
				    ".visible .entry k()\n{\n.reg .b32 %%r<4>;\n.reg .f32 %%f<4>;\n"
				    ".reg .f64 %%d<4>;\n");

	for (unsigned i = 0; i < N_INSNS; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "%s;\n", insn);
	snprintf(text + n, sizeof(text) - n, "ret;\n}\n");
	return text;
}

/* On all SMs at once, as full as they get. */
static uint64_t took_ns(const struct gsb_arch *arch, const char *insn)
{
	struct gsb_completion c;
	struct t_device d;
	char spec[64];

	snprintf(spec, sizeof(spec), "emu:%s", arch->name);
	t_device_open(&d, spec, 2);
	if (t_device_load(&d, kernel_of(insn)))
		fail_msg("%s", d.log);
	c = t_device_run(&d, &(struct t_device_launch){
				     .kernel = "k", .grid = 2 * arch->n_sms, .block = 1024});
	assert_int_equal(c.result, CUDA_SUCCESS);
	t_device_close(&d);
	return c.end_ns - c.start_ns;
}

static uint64_t div_up(uint64_t n, uint64_t d)
{
	return (n + d - 1) / d;
}

/* Of so many instructions of each warp, where an SM gives so many results a cycle. */
static uint64_t expected_ns(const struct gsb_arch *arch, uint64_t n_insns, uint32_t per_cycle)
{
	return div_up(div_up(n_insns * SM_WARPS * 32, per_cycle) * 1000000, arch->clock_khz);
}

static void expect(const char *gpu, const char *insn, uint64_t n_insns, uint32_t per_cycle)
{
	const struct gsb_arch *arch = gsb_arch_find(gpu);
	uint64_t ns = took_ns(arch, insn);

	if (ns != expected_ns(arch, n_insns, per_cycle))
		fail_msg("%s on %s: %lu ns, not %lu", insn, gpu, (unsigned long)ns,
			 (unsigned long)expected_ns(arch, n_insns, per_cycle));
}

#define ALU  "add.u32 %r1, %r1, %r2"
#define IMUL "mad.lo.u32 %r1, %r1, %r2, %r3"
#define SFU  "ex2.approx.f32 %f1, %f1"
#define FP64 "fma.rn.f64 %d1, %d1, %d2, %d3"
#define FP32 "fma.rn.f32 %f1, %f1, %f2, %f3"

/* Four instructions of warps a cycle, the last one of the kernel with them. */
#define ALL 128

static void test_time_of_each_kind_is_that_of_its_pipe_on_an_h200(void **state)
{
	expect("h200", ALU, N_INSNS, 64);
	expect("h200", IMUL, N_INSNS, 64);
	expect("h200", SFU, N_INSNS, 16);
	expect("h200", FP64, N_INSNS, 64);
	expect("h200", FP32, N_INSNS + 1, ALL);
}

static void test_time_of_each_kind_is_that_of_its_pipe_on_a_consumer_gpu(void **state)
{
	expect("titanx-pascal", ALU, N_INSNS + 1, ALL);
	expect("titanx-pascal", IMUL, N_INSNS, 42);
	expect("titanx-pascal", SFU, N_INSNS, 32);
	expect("titanx-pascal", FP64, N_INSNS, 4);
	expect("titanx-pascal", FP32, N_INSNS + 1, ALL);
}

/* Pipes work side by side: the fuller one counts, and all that is issued. */
static void test_kinds_together_take_as_long_as_the_fullest_pipe(void **state)
{
	expect("h200", SFU ";\n" FP64 ";\n" ALU, N_INSNS, 16);
	expect("h200", ALU ";\n" IMUL ";\n" FP32, 3 * N_INSNS + 1, ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_time_of_each_kind_is_that_of_its_pipe_on_an_h200),
		cmocka_unit_test(test_time_of_each_kind_is_that_of_its_pipe_on_a_consumer_gpu),
		cmocka_unit_test(test_kinds_together_take_as_long_as_the_fullest_pipe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
