/*
 * test_emu_report.c - what the emulated device says of a kernel that it ended: to the word, for each kind of fault.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/compiler.h"
#include "device/emu/emu.h"
#include "device/emu/memory/near.h"
#include "device/ops.h"

#define DEVICE_BASE ((uint64_t)0x400000000000)
#define DEVICE_SIZE ((uint64_t)1 << 30)
#define HOST_BASE   ((uint64_t)0x500000000000)
#define HOST_SIZE   ((uint64_t)1 << 30)
#define OWNER	    7
#define PAGE	    4096
#define TEXT_BYTES  4096

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
#define REGS                                                       \
	".reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n" \
	"ld.param.u64 %rd0, [p]; mov.u32 %r0, %tid.x;\n"           \
	"mul.wide.u32 %rd1, %r0, 4;\nadd.s64 %rd1, %rd1, %rd0;\n"
/* The body begins in line 12. %rd0: p, %rd1: p + 4 tid */
#define KERNEL(body) HEAD ".visible .entry k(.param .u64 p)\n{\n" REGS body "\nret;\n}\n"

struct rig {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_module *module;
	struct gsb_completion c; /* of the last launch */
	char text[TEXT_BYTES];	 /* what was said for stderr since */
};

struct shape {
	uint32_t grid[3], block[3], smem_bytes;
};

static struct rig r;

static const struct shape one_warp = {{1, 1, 1}, {32, 1, 1}, 0};

/* In each case, because cmocka takes SIGSEGV for itself before it. */
static void open_rig(void)
{
	const struct gsb_device_params p = {.spec = "emu:h200", .n_workers = 2};
	const struct gsb_space_params s = {.device_base = DEVICE_BASE,
					   .device_size = DEVICE_SIZE,
					   .host_base = HOST_BASE,
					   .host_size = HOST_SIZE,
					   .owner = OWNER};
	char err[256];

	memset(&r, 0, sizeof(r));
	assert_int_equal(gsb_device_open(&p, &r.dev, err, sizeof(err)), 0);
	r.ops = r.dev->ops;
	assert_int_equal(r.ops->space_create(r.dev, &s, &r.space), 0);
	assert_int_equal(r.ops->queue_create(r.dev, 0, GSB_ALL_SMS, &r.queue), 0);
}

static int close_rig(void **state)
{
	(void)state;
	if (!r.dev)
		return 0;
	r.ops->queue_destroy(r.queue);
	r.ops->space_destroy(r.space);
	r.ops->close(r.dev);
	r.dev = NULL;
	return 0;
}

static uint64_t alloc(uint64_t size)
{
	uint64_t addr;

	assert_int_equal(r.ops->mem_alloc(r.space, size, &addr), 0);
	return addr;
}

static void wait_one(void)
{
	while (!r.ops->poll(r.dev, &r.c, 1)) {
		struct pollfd fd = {.fd = r.ops->event_fd(r.dev), .events = POLLIN};

		r.ops->advance(r.dev, UINT64_MAX);
		if (r.ops->poll(r.dev, &r.c, 1))
			return;
		assert_int_equal(poll(&fd, 1, 60000), 1);
	}
}

static void read_text(void)
{
	bool to_stderr = true, more;
	size_t n = 0;

	do {
		n += r.ops->print_read(r.space, r.text + n, sizeof(r.text) - n - 1, &to_stderr,
				       &more);
		assert_true(to_stderr);
	} while (more);
	r.text[n] = '\0';
}

/* Kernel k of a text, with p. */
static void run(const char *text, const struct shape *shape, uint64_t p)
{
	struct gsb_function_info info;
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH, .space = r.space};
	char log[1024];

	if (r.ops->module_load(r.space, text, strlen(text), &r.module, log, sizeof(log)))
		fail_msg("%s", log);
	assert_int_equal(r.ops->function_get(r.module, "k", &cmd.launch.function, &info), 0);
	memcpy(cmd.launch.grid, shape->grid, sizeof(shape->grid));
	memcpy(cmd.launch.block, shape->block, sizeof(shape->block));
	cmd.launch.smem_bytes = shape->smem_bytes;
	cmd.launch.params = &p;
	cmd.launch.params_bytes = sizeof(p);
	assert_int_equal(r.ops->issue(r.queue, &cmd), 0);
	wait_one();
	read_text();
}

/* The whole text is these lines, each with its beginning. */
static void expect_text(const char *what, const char *const lines[3])
{
	char want[TEXT_BYTES];
	int n = snprintf(want, sizeof(want), "gsbroker: kernel 'k': %s\n", what);

	for (int i = 0; i < 3 && lines[i]; i++)
		n += snprintf(want + n, sizeof(want) - (size_t)n, "gsbroker:     %s\n", lines[i]);
	assert_string_equal(r.text, want);
	assert_true(r.c.printed);
}

#define EXPECT(what, ...) expect_text(what, (const char *const[3]){__VA_ARGS__})

GSB_PRINTF(2, 3)
static const char *say(char *buf, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(buf, 256, fmt, ap);
	va_end(ap);
	return buf;
}

static void test_report_names_the_first_lane_and_the_allocation_before(void **state)
{
	char what[256], where[256];
	uint64_t a;

	open_rig();
	a = alloc(PAGE);
	run(KERNEL("st.global.u32 [%rd1+4056], %r0;"), &one_warp, a);
	assert_int_equal(r.c.result, CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT(say(what, "write of 4 bytes at 0x%" PRIx64 ", not allocated", a + PAGE),
	       say(where, "0 bytes behind the end of the 4096 bytes allocated at 0x%" PRIx64, a),
	       "st.global.u32 in line 12 of its PTX",
	       "block (0,0,0), thread (10,0,0), the first of 22 of its warp");
}

static void test_detail_of_a_fault_is_one_line_with_all_of_it(void **state)
{
	char want[512];
	uint64_t a;

	open_rig();
	a = alloc(PAGE);
	run(KERNEL("ld.global.v2.u64 {%rd2, %rd3}, [%rd0+8192];"), &one_warp, a);
	snprintf(want, sizeof(want),
		 "kernel 'k': read of 16 bytes at 0x%" PRIx64
		 ", not allocated, 4096 bytes behind the end of "
		 "the 4096 bytes allocated at 0x%" PRIx64
		 "; ld.global.v2.u64 in line 12 of its PTX; "
		 "block (0,0,0), thread (0,0,0), the first of 32 of its warp",
		 a + 8192, a);
	assert_string_equal(r.c.detail, want);
}

/* Pages are what faults; lanes that are astray in the last page are told all the same. */
static void test_report_counts_lanes_to_the_byte(void **state)
{
	char what[256], where[256];
	uint64_t a;

	open_rig();
	a = alloc(4000);
	run(KERNEL("atom.global.add.u32 %r1, [%rd1+3980], 1;"), &one_warp, a);
	EXPECT(say(what, "atomic operation on 4 bytes at 0x%" PRIx64 ", not allocated", a + 4000),
	       say(where, "0 bytes behind the end of the 4000 bytes allocated at 0x%" PRIx64, a),
	       "atom.global.add.u32 in line 12 of its PTX",
	       "block (0,0,0), thread (5,0,0), the first of 27 of its warp");
}

/* The lanes before the first bad one have what they loaded in place of their addresses. */
static void test_report_of_a_load_over_its_own_address_blames_no_good_lane(void **state)
{
	char what[256], where[256];
	uint64_t a;

	open_rig();
	a = alloc(PAGE);
	run(KERNEL("shl.b32 %r1, %r0, 3;\ncvt.u64.u32 %rd2, %r1;\nadd.s64 %rd2, %rd2, %rd0;\n"
		   "xor.b32 %r2, %r0, 1;\nsetp.ne.u32 %p1, %r0, 3;\n"
		   "@%p1 ld.global.u64 %rd2, [%rd2+4016];"),
	    &one_warp, a);
	EXPECT(say(what, "read of 8 bytes at 0x%" PRIx64 ", not allocated", a + PAGE),
	       say(where, "0 bytes behind the end of the 4096 bytes allocated at 0x%" PRIx64, a),
	       "ld.global.u64 in line 17 of its PTX",
	       "block (0,0,0), thread (10,0,0), the first of 22 of its warp");
}

static void test_report_says_before_and_of_several_the_nearest(void **state)
{
	char what[256], where[256];
	uint64_t a, b;

	open_rig();
	a = alloc(PAGE);
	b = alloc(PAGE);
	assert_int_equal(b, a + (uint64_t)2 * PAGE);
	run(KERNEL("ld.global.u8 %r1, [%rd0+-16];"), &one_warp, b);
	EXPECT(say(what, "read of 1 bytes at 0x%" PRIx64 ", not allocated", b - 16),
	       say(where, "16 bytes before the 4096 bytes allocated at 0x%" PRIx64, b),
	       "ld.global.u8 in line 12 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
}

static void test_report_of_freed_memory_says_so(void **state)
{
	char what[256], where[256];
	uint64_t a, b;

	open_rig();
	a = alloc(3000);
	b = alloc(PAGE);
	assert_int_equal(r.ops->mem_free(r.space, a), 0);
	run(KERNEL("st.global.u32 [%rd1+8], %r0;"), &one_warp, a);
	EXPECT(say(what, "write of 4 bytes at 0x%" PRIx64 ", not allocated", a + 8),
	       say(where, "at byte 8 of the 3000 bytes freed before at 0x%" PRIx64, a),
	       "st.global.u32 in line 12 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
	assert_int_equal(r.ops->mem_free(r.space, b), 0);
}

/* One more than is remembered: of the first nobody knows any more, of the second all is known. */
static void test_report_remembers_so_many_frees(void **state)
{
	uint64_t first = 0, second = 0;

	open_rig();
	for (unsigned i = 0; i <= EMU_FREED_MAX; i++) {
		uint64_t a = alloc(64);

		first = i == 0 ? a : first;
		second = i == 1 ? a : second;
		assert_int_equal(r.ops->mem_free(r.space, a), 0);
	}
	run(KERNEL("ld.global.u32 %r1, [%rd0];"), &one_warp, second);
	assert_non_null(strstr(r.text, "at byte 0 of the 64 bytes freed before at 0x"));
	run(KERNEL("ld.global.u32 %r1, [%rd0];"), &one_warp, first);
	assert_non_null(strstr(r.text, "nothing is allocated in this context"));
}

static void test_report_without_any_memory(void **state)
{
	open_rig();
	run(KERNEL("mov.u64 %rd2, 16;\nst.u32 [%rd2], %r0;"), &one_warp, 0);
	EXPECT("write of 4 bytes at 0x10, not allocated", "a null pointer, or an offset from one",
	       "st.u32 in line 13 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
	run(KERNEL("st.u32 [%rd0], %r0;"), &one_warp, DEVICE_BASE + PAGE);
	assert_non_null(strstr(r.text, "nothing is allocated in this context"));
}

/* Of what lies near nothing is said: it is TiB away. */
static void test_report_of_an_address_outside_of_all_windows(void **state)
{
	static const char
		null[] = "    a null pointer, or an offset from one\n",
		program[] = "    no memory of this device, which does not reach the program's own: "
			    "stack, malloc, new\n";
	static const struct {
		uint64_t addr;
		const char *where;
	} rows[] = {
		{0, null},
		{0xffff, null},
		{UINT64_C(0xfffffffffffffff0), null},
		{0x10000, program},
		{DEVICE_BASE - 16, program},
		{DEVICE_BASE + DEVICE_SIZE, program},
		{HOST_BASE - 16, program},
		{HOST_BASE + HOST_SIZE, program},
	};

	open_rig();
	alloc(PAGE);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		run(KERNEL("ld.global.u8 %r1, [%rd0];"), &one_warp, rows[i].addr);
		if (!strstr(r.text, rows[i].where))
			fail_msg("0x%" PRIx64 ": %s", rows[i].addr, r.text);
	}
	run(KERNEL("ld.global.u8 %r1, [%rd0];"), &one_warp, DEVICE_BASE + DEVICE_SIZE - 16);
	assert_non_null(strstr(r.text, " bytes behind the end of the 4096 bytes allocated at 0x"));
}

/* One window for each space, this far apart. */
static struct gsb_space *another_space(unsigned nth, uint64_t owner, uint64_t *addr)
{
	const struct gsb_space_params s = {.device_base = DEVICE_BASE + nth * 2 * DEVICE_SIZE,
					   .device_size = DEVICE_SIZE,
					   .owner = owner};
	struct gsb_space *space;

	assert_int_equal(r.ops->space_create(r.dev, &s, &space), 0);
	assert_int_equal(r.ops->mem_alloc(space, PAGE, addr), 0);
	return space;
}

static void test_report_tells_of_the_owners_other_context_and_of_no_stranger(void **state)
{
	struct gsb_space *ours, *stranger;
	char what[256], where[256];
	uint64_t a, b;

	open_rig();
	ours = another_space(1, OWNER, &a);
	stranger = another_space(2, OWNER + 1, &b);
	run(KERNEL("ld.global.u32 %r1, [%rd0+8];"), &one_warp, a);
	EXPECT(say(what, "read of 4 bytes at 0x%" PRIx64 ", not allocated", a + 8),
	       say(where, "at byte 8 of the 4096 bytes allocated in another context at 0x%" PRIx64,
		   a),
	       "ld.global.u32 in line 12 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
	run(KERNEL("ld.global.u32 %r1, [%rd0+8];"), &one_warp, b);
	EXPECT(say(what, "read of 4 bytes at 0x%" PRIx64 ", not allocated", b + 8),
	       "no memory of this device, which does not reach the program's own: stack, malloc, new",
	       "ld.global.u32 in line 12 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
	r.ops->space_destroy(ours);
	r.ops->space_destroy(stranger);
}

/* The engine maps what it pins, and nothing is mapped behind it. */
static void test_report_of_pinned_memory(void **state)
{
	void *p = mmap((void *)(uintptr_t)HOST_BASE, HOST_SIZE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	char what[256], where[256];

	assert_true(p != MAP_FAILED);
	open_rig();
	assert_int_equal(mprotect(p, PAGE, PROT_READ | PROT_WRITE), 0);
	assert_int_equal(r.ops->host_pin(r.space, HOST_BASE, 100), 0);
	run(KERNEL("ld.global.u32 %r1, [%rd0+4096];"), &one_warp, HOST_BASE);
	EXPECT(say(what, "read of 4 bytes at 0x%" PRIx64 ", not allocated", HOST_BASE + PAGE),
	       say(where,
		   "3996 bytes behind the end of the 100 bytes of pinned host memory at 0x%" PRIx64,
		   HOST_BASE),
	       "ld.global.u32 in line 12 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
	munmap(p, HOST_SIZE);
}

static void test_report_of_a_misaligned_access(void **state)
{
	char what[256];
	uint64_t a;

	open_rig();
	a = alloc(PAGE);
	run(KERNEL("setp.lt.u32 %p1, %r0, 30;\n@%p1 bra ok;\nadd.s64 %rd1, %rd1, 2;\nok:\n"
		   "ld.global.u32 %r1, [%rd1];"),
	    &one_warp, a);
	assert_int_equal(r.c.result, CUDA_ERROR_MISALIGNED_ADDRESS);
	EXPECT(say(what,
		   "read of 4 bytes at 0x%" PRIx64 " of memory, which is not aligned to 4 bytes",
		   a + 122),
	       "ld.global.u32 in line 16 of its PTX",
	       "block (0,0,0), thread (30,0,0), the first of 2 of its warp");
}

/* Where the first shared variable of a kernel is. */
static uint32_t first_shared(void)
{
	uint64_t a = alloc(4);

	run(KERNEL(".shared .align 4 .b8 s[64];\nmov.u32 %r1, s;\nst.global.u32 [%rd0], %r1;"),
	    &one_warp, a);
	assert_int_equal(r.c.result, CUDA_SUCCESS);
	return *(const uint32_t *)(uintptr_t)a;
}

static void test_report_of_a_shared_overrun(void **state)
{
	const struct shape shape = {{1, 1, 1}, {8, 2, 2}, 32};
	char what[256], where[256];
	uint32_t first;

	open_rig();
	first = first_shared();
	run(KERNEL(".shared .align 4 .b8 s[64];\nmov.u32 %r2, %tid.z;\nmov.u32 %r3, s;\n"
		   "setp.eq.u32 %p1, %r2, 1;\n@%p1 st.shared.u32 [%r3+128], %r0;"),
	    &shape, 0);
	assert_int_equal(r.c.result, CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT(say(what, "write of 4 bytes at 0x%x, outside of shared memory", first + 128),
	       say(where,
		   "the block has 96 bytes of shared memory from 0x%x on, 32 of them dynamic",
		   first),
	       "st.shared.u32 in line 16 of its PTX",
	       "block (0,0,0), thread (0,0,1), the first of 16 of its warp");
}

/* What a launch with so many bytes of dynamic shared memory reads at an offset into it. */
static CUresult read_dynamic(uint32_t smem_bytes, uint32_t at)
{
	const struct shape shape = {{1, 1, 1}, {32, 1, 1}, smem_bytes};
	char text[1024];

	snprintf(text, sizeof(text),
		 HEAD ".extern .shared .align 16 .b8 d[];\n.visible .entry k(.param .u64 p)\n{\n"
		      ".reg .b32 %%r<2>;\nmov.u32 %%r0, d;\nld.shared.u32 %%r1, [%%r0+%u];\n"
		      "ret;\n}\n",
		 at);
	run(text, &shape, 0);
	return r.c.result;
}

/* Programs read behind their last byte, and a GPU lets them as far as it has given out. */
static void test_shared_memory_is_given_out_in_units(void **state)
{
	open_rig();
	assert_int_equal(read_dynamic(28, 124), CUDA_SUCCESS);
	assert_int_equal(read_dynamic(28, 128), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(read_dynamic(128, 124), CUDA_SUCCESS);
	assert_int_equal(read_dynamic(128, 128), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(read_dynamic(132, 252), CUDA_SUCCESS);
}

static void test_bounds_of_shared_memory_are_exact_on_request(void **state)
{
	open_rig();
	gsb_emu_watch_launches(r.dev, GSB_EMU_WATCH_BOUNDS);
	assert_int_equal(read_dynamic(28, 24), CUDA_SUCCESS);
	assert_int_equal(read_dynamic(28, 28), CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void test_report_of_bad_generic_addresses(void **state)
{
	char what[256], where[256];
	uint32_t first;

	open_rig();
	first = first_shared();
	run(KERNEL(".shared .align 4 .b8 s[64];\nmov.u64 %rd2, s;\ncvta.shared.u64 %rd2, %rd2;\n"
		   "ld.u32 %r1, [%rd2+128];"),
	    &one_warp, 0);
	EXPECT(say(what, "read of 4 bytes at 0x%" PRIx64 ", outside of shared memory",
		   (uint64_t)0x800000000000 + first + 128),
	       say(where, "the block has 64 bytes of shared memory from 0x%x on, 0 of them dynamic",
		   first),
	       "ld.u32 in line 15 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
	run(KERNEL("mov.u64 %rd2, 0x800200000000;\nst.u32 [%rd2], %r0;"), &one_warp, 0);
	EXPECT("write of 4 bytes at 0x800200000000, outside of the parameters",
	       "the kernel has 8 bytes of parameters, which it can only read",
	       "st.u32 in line 13 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
}

static void test_report_of_a_local_overflow(void **state)
{
	open_rig();
	run(KERNEL(".local .align 16 .b8 depot[64];\nmov.u64 %rd2, depot;\n"
		   "st.local.u32 [%rd2+640], %r0;"),
	    &one_warp, 0);
	EXPECT("write of 4 bytes at 0x280, outside of local memory",
	       "a thread has 64 bytes of local memory", "st.local.u32 in line 14 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
}

static const char recursive[] = HEAD
	".func f(.param .u32 n)\n{\n.local .b8 l[1024];\n.reg .b32 %r<2>;\nld.param.u32 %r0, [n];\n"
	"{ .param .u32 a; st.param.u32 [a], %r0; call f, (a); }\nret;\n}\n"
	".visible .entry k(.param .u64 p)\n{\n{ .param .u32 a; st.param.u32 [a], 1; call f, (a); }\n"
	"ret;\n}\n";

static void test_report_of_what_is_no_access(void **state)
{
	const struct shape shape = {{3, 1, 1}, {5, 7, 2}, 0};

	open_rig();
	run(KERNEL("mov.u32 %r1, %tid.y;\nmov.u32 %r2, %tid.z;\nmad.lo.u32 %r1, %r2, 7, %r1;\n"
		   "setp.eq.u32 %p1, %r1, 12;\nmov.u32 %r3, %ctaid.x;\n"
		   "setp.eq.and.u32 %p1, %r3, 2, %p1;\n@%p1 trap;"),
	    &shape, 0);
	assert_int_equal(r.c.result, CUDA_ERROR_LAUNCH_FAILED);
	EXPECT("trap", "trap in line 18 of its PTX",
	       "block (2,0,0), thread (0,5,1), the first of 4 of its warp");
	run(KERNEL("mov.u32 %r1, 16;\nbar.sync %r1;"), &one_warp, 0);
	EXPECT("barrier 16 does not exist", "bar.sync in line 13 of its PTX",
	       "block (0,0,0), thread (0,0,0), the first of 32 of its warp");
	run(recursive, &(struct shape){{1, 1, 1}, {1, 1, 1}, 0}, 0);
	assert_int_equal(r.c.result, CUDA_ERROR_HARDWARE_STACK_ERROR);
	assert_non_null(strstr(r.text, "'k': call stack overflow"));
	assert_non_null(strstr(r.text, "block (0,0,0), thread (0,0,0)\n"));
}

static void test_report_of_a_bad_format_is_of_one_thread(void **state)
{
	open_rig();
	alloc(PAGE);
	run(HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
		 ".visible .entry k(.param .u64 p)\n{\n" REGS
		 ".param .b64 f; .param .b64 a; .param .b32 r;\nmov.u64 %rd2, 64;\n"
		 "st.param.b64 [f], %rd2;\nst.param.b64 [a], %rd2;\ncall (r), vprintf, (f, a);\n"
		 "ret;\n}\n",
	    &one_warp, 0);
	assert_int_equal(r.c.result, CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT("printf of a bad address", "call in line 17 of its PTX",
	       "block (0,0,0), thread (0,0,0)");
}

static void test_report_of_a_hang_blames_nobody(void **state)
{
	open_rig();
	run(KERNEL("barrier.sync 1, 64;"), &one_warp, 0);
	EXPECT("hang: each of 32 threads waits for another", "block (0,0,0)");
}

/* A name may hold what talks to a terminal or ends a line. */
static void test_report_has_the_line_of_the_source(void **state)
{
	open_rig();
	run(HEAD
	    ".file 1 \"a\033[31mb.cu\"\n.visible .entry k(.param .u64 p)\n{\n.loc 1 33 5\ntrap;\n"
	    "ret;\n}\n",
	    &one_warp, 0);
	assert_non_null(strstr(r.text, "trap in line 8 of its PTX (a?[31mb.cu:33)\n"));
}

static void test_report_is_told_once_of_many_blocks(void **state)
{
	const struct shape shape = {{200, 1, 1}, {32, 1, 1}, 0};

	open_rig();
	run(KERNEL("trap;"), &shape, 0);
	assert_non_null(strstr(r.text, "kernel 'k': trap\n"));
	assert_null(strstr(strstr(r.text, "kernel 'k': trap\n") + 1, "kernel"));
	assert_non_null(strstr(r.text, "block (0,0,0), thread"));
}

/* ---- checks that are asked for ---- */

static void test_bounds_are_checked_to_the_byte_when_asked_for(void **state)
{
	static const char text[] = KERNEL("st.global.u32 [%rd1], %r0;");
	char what[256], where[256];
	uint64_t a;

	open_rig();
	a = alloc(100);
	run(text, &one_warp, a);
	assert_int_equal(r.c.result, CUDA_SUCCESS);
	gsb_emu_watch_launches(r.dev, GSB_EMU_WATCH_BOUNDS);
	run(text, &one_warp, a);
	assert_int_equal(r.c.result, CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT(say(what, "write of 4 bytes at 0x%" PRIx64 ", not allocated", a + 100),
	       say(where, "0 bytes behind the end of the 100 bytes allocated at 0x%" PRIx64, a),
	       "st.global.u32 in line 12 of its PTX",
	       "block (0,0,0), thread (25,0,0), the first of 7 of its warp");
	gsb_emu_watch_launches(r.dev, 0);
	run(text, &one_warp, a);
	assert_int_equal(r.c.result, CUDA_SUCCESS);
}

static void test_write_to_a_constant_is_found_when_asked_for(void **state)
{
	static const char text[] = HEAD
		".const .align 4 .b8 c[64];\n.visible .entry k(.param .u64 p)\n{\n" REGS
		"mov.u64 %rd2, c;\ncvta.const.u64 %rd2, %rd2;\nst.u32 [%rd2+60], %r0;\nret;\n}\n";

	open_rig();
	gsb_emu_watch_launches(r.dev, GSB_EMU_WATCH_BOUNDS);
	run(text, &one_warp, 0);
	assert_int_equal(r.c.result, CUDA_ERROR_INVALID_ADDRESS_SPACE);
	assert_non_null(strstr(r.text, ", where a .const variable is\n"));
	assert_non_null(strstr(r.text, "thread (0,0,0), the first of 32 of its warp\n"));
}

static void test_profile_is_of_all_launches_since_the_last_look(void **state)
{
	static const char text[] = KERNEL("st.global.u32 [%rd1], %r0;");
	const struct shape shape = {{5, 1, 1}, {32, 1, 1}, 0};
	struct gsb_emu_profile p;
	uint64_t a;

	open_rig();
	a = alloc(4096);
	run(text, &shape, a);
	gsb_emu_watch_launches(r.dev, GSB_EMU_WATCH_PROFILE);
	run(text, &shape, a);
	run(text, &shape, a);
	assert_int_equal(r.c.n_blocks, 5);
	p = gsb_emu_profile(r.dev);
	assert_int_equal(p.n_blocks, 10);
	assert_int_equal(p.n_insns, 2 * r.c.n_instructions);
	assert_int_equal(p.traffic[GSB_EMU_MEMORY_GLOBAL][GSB_EMU_TRAFFIC_STORE].n_sectors, 40);
	assert_int_equal(gsb_emu_profile(r.dev).n_blocks, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(
			test_report_names_the_first_lane_and_the_allocation_before, close_rig),
		cmocka_unit_test_teardown(test_detail_of_a_fault_is_one_line_with_all_of_it,
					  close_rig),
		cmocka_unit_test_teardown(test_report_counts_lanes_to_the_byte, close_rig),
		cmocka_unit_test_teardown(
			test_report_of_a_load_over_its_own_address_blames_no_good_lane, close_rig),
		cmocka_unit_test_teardown(test_report_says_before_and_of_several_the_nearest,
					  close_rig),
		cmocka_unit_test_teardown(test_report_of_freed_memory_says_so, close_rig),
		cmocka_unit_test_teardown(test_report_remembers_so_many_frees, close_rig),
		cmocka_unit_test_teardown(test_report_without_any_memory, close_rig),
		cmocka_unit_test_teardown(test_report_of_an_address_outside_of_all_windows,
					  close_rig),
		cmocka_unit_test_teardown(
			test_report_tells_of_the_owners_other_context_and_of_no_stranger,
			close_rig),
		cmocka_unit_test_teardown(test_report_of_pinned_memory, close_rig),
		cmocka_unit_test_teardown(test_report_of_a_misaligned_access, close_rig),
		cmocka_unit_test_teardown(test_report_of_a_shared_overrun, close_rig),
		cmocka_unit_test_teardown(test_shared_memory_is_given_out_in_units, close_rig),
		cmocka_unit_test_teardown(test_bounds_of_shared_memory_are_exact_on_request,
					  close_rig),
		cmocka_unit_test_teardown(test_report_of_bad_generic_addresses, close_rig),
		cmocka_unit_test_teardown(test_report_of_a_local_overflow, close_rig),
		cmocka_unit_test_teardown(test_report_of_what_is_no_access, close_rig),
		cmocka_unit_test_teardown(test_report_of_a_bad_format_is_of_one_thread, close_rig),
		cmocka_unit_test_teardown(test_report_of_a_hang_blames_nobody, close_rig),
		cmocka_unit_test_teardown(test_report_has_the_line_of_the_source, close_rig),
		cmocka_unit_test_teardown(test_report_is_told_once_of_many_blocks, close_rig),
		cmocka_unit_test_teardown(test_bounds_are_checked_to_the_byte_when_asked_for,
					  close_rig),
		cmocka_unit_test_teardown(test_write_to_a_constant_is_found_when_asked_for,
					  close_rig),
		cmocka_unit_test_teardown(test_profile_is_of_all_launches_since_the_last_look,
					  close_rig),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
