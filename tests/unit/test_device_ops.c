/*
 * test_device_ops.c - one suite for all devices: what ops.h promises, through the vtable alone.
 *
 * Each case runs on a fresh device of the spec in its row; what a device does not have (null has no
 * memory, no results) is left out of its rows, never skipped inside a case. On a machine with a GPU: test_device_ops cuda:0 [PATTERN
 * of the cases, with stars].
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <poll.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/compiler.h"
#include "base/err.h"
#include "device/cuda/cuda.h"
#include "device/emu/device.h"
#include "device/emu/emu.h"
#include "device/emu/exec/exec.h"
#include "device/ops.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/device_kernels.h"
#include "tests/unit/patient.h"
#include "tests/unit/temp.h"

#ifdef __SANITIZE_THREAD__ /* its runtime leaves programs no addresses but low ones */
#define DEVICE_BASE 0x1000000000ull
#define HOST_BASE   0x3000000000ull
#define SLOT_STRIDE (1ull << 34)
#else
#define DEVICE_BASE 0x400000000000ull
#define HOST_BASE   0x200000000000ull
#define SLOT_STRIDE (1ull << 38)
#endif
#define DEVICE_SIZE (1ull << 32)
#define AREA_BASE   (DEVICE_BASE + 8 * SLOT_STRIDE)
#define AREA_SIZE   (1ull << 36) /* more units than a process may have mappings, halved */
#define UNIT	    GSB_BACKING_UNIT
#define HOST_SIZE   (1ull << 24)

struct rig {
	struct gsb_device *dev;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_module *module; /* device_kernels_ptx, once it is asked for */
};

static int host_fd = -1; /* what is mapped in the host window */

static bool is_cuda(const struct gsb_device *dev)
{
	return !strcmp(dev->ops->scheme, "cuda");
}

static bool is_lanes(const struct gsb_device *dev)
{
	return !strcmp(dev->ops->scheme, "lanes");
}

static struct gsb_space *make_space(struct gsb_device *dev, unsigned slot, uint64_t limit)
{
	struct gsb_space_params p = {
		.device_base = DEVICE_BASE + slot * SLOT_STRIDE,
		.device_size = DEVICE_SIZE,
		.host_base = HOST_BASE + slot * SLOT_STRIDE,
		.host_size = HOST_SIZE,
		.mem_limit_bytes = limit,
		.owner = slot + 1,
	};
	struct gsb_space *space = NULL;

	if (is_lanes(dev))
		p.host_fd = host_fd; /* which all windows are of */
	assert_int_equal(dev->ops->space_create(dev, &p, &space), 0);
	return space;
}

/* A GPU pins what is there. */
static void map_host_window(void)
{
	void *at = (void *)(uintptr_t)HOST_BASE;

	if (host_fd >= 0)
		return;
	host_fd = memfd_create("host", MFD_CLOEXEC);
	assert_true(host_fd >= 0 && !ftruncate(host_fd, HOST_SIZE));
	mmap(at, HOST_SIZE, PROT_READ | PROT_WRITE,
	     MAP_SHARED | MAP_FIXED_NOREPLACE | MAP_NORESERVE, host_fd, 0);
}

static struct rig *open_rig(const struct gsb_device_params *p)
{
	struct rig *rig = calloc(1, sizeof(*rig));
	char err[256] = "";

	assert_non_null(rig);
	if (gsb_device_open(p, &rig->dev, err, sizeof(err)))
		fail_msg("%s", err);
	if (is_cuda(rig->dev) || is_lanes(rig->dev))
		map_host_window();
	if (is_cuda(rig->dev) || is_lanes(rig->dev))
		make_patient(rig->dev);
	rig->space = make_space(rig->dev, 0, 0);
	assert_int_equal(rig->dev->ops->queue_create(rig->dev, 0, GSB_ALL_SMS, &rig->queue), 0);
	return rig;
}

static void close_rig(struct rig *rig)
{
	rig->dev->ops->queue_destroy(rig->queue);
	rig->dev->ops->space_destroy(rig->space);
	rig->dev->ops->close(rig->dev);
	free(rig);
}

/* That of the build; a bundle says where its own is. */
static const char *lane_program(void)
{
	const char *path = getenv("GSB_TEST_LANE");

	return path ? path : GSB_LANE_PROGRAM;
}

static int setup(void **state)
{
	bool is_lanes = !strncmp(*state, "lanes:", 6);
	struct gsb_device_params p = {.spec = *state,
				      /* where time is real, two end blocks in any order */
				      .n_workers = is_lanes ? 1 : 2,
				      .real_clock = is_lanes,
				      .lane_program = lane_program(),
				      .virtual_base = AREA_BASE,
				      .virtual_size = AREA_SIZE};

	*state = open_rig(&p);
	return 0;
}

static int teardown(void **state)
{
	close_rig(*state);
	return 0;
}

/* Every completion that comes until n are there; time is driven as an engine with blocked tenants
 * would. */
static void collect(struct rig *rig, struct gsb_completion *out, unsigned n)
{
	const struct gsb_device_ops *ops = rig->dev->ops;
	unsigned have = 0;

	while (have < n) {
		struct pollfd fd = {.fd = ops->event_fd(rig->dev), .events = POLLIN};
		unsigned got = ops->poll(rig->dev, out + have, n - have);

		have += got;
		if (got)
			continue;
		if (ops->advance)
			ops->advance(rig->dev, UINT64_MAX);
		got = ops->poll(rig->dev, out + have, n - have);
		have += got;
		if (!got && !(ops->stay_awake && ops->stay_awake(rig->dev)))
			assert_int_equal(poll(&fd, 1, 60000), 1);
	}
}

static struct gsb_completion collect_one(struct rig *rig)
{
	struct gsb_completion c;

	collect(rig, &c, 1);
	return c;
}

/* At once, or where the device is another process's, by a completion. */
static void expect_refused(struct rig *rig, struct gsb_queue *queue, const struct gsb_cmd *cmd,
			   int want)
{
	int err = rig->dev->ops->issue(queue, cmd);

	if (is_lanes(rig->dev))
		assert_int_equal(collect_one(rig).result, gsb_cuda_result(want));
	assert_int_equal(err, is_lanes(rig->dev) ? 0 : want);
}

/* Nobody is told what became of what another process was to give back. */
static void expect_not_given_back(const struct rig *rig, int err)
{
	assert_int_equal(err, is_lanes(rig->dev) ? 0 : -EINVAL);
}

/* One byte inside the test's own memory, each another: a command that every device takes. */
static struct gsb_cmd small_copy(struct rig *rig, uint64_t cookie, uint64_t not_before_ns)
{
	static unsigned char bytes[256], zero;
	static unsigned n;

	return (struct gsb_cmd){
		.kind = GSB_CMD_COPY,
		.space = rig->space,
		.cookie = cookie,
		.not_before_ns = not_before_ns,
		.copy = {.dst = (uint64_t)(uintptr_t)&bytes[n++ % sizeof(bytes)],
			 .src = (uint64_t)(uintptr_t)&zero,
			 .width = 1,
			 .height = 1,
			 .dst_is_ours = true,
			 .src_is_ours = true},
	};
}

static void issue_copy(struct rig *rig, struct gsb_queue *queue, uint64_t cookie)
{
	struct gsb_cmd cmd = small_copy(rig, cookie, 0);

	assert_int_equal(rig->dev->ops->issue(queue, &cmd), 0);
}

static void test_open_unknown_scheme_says_what_would_be_right(void **state)
{
	struct gsb_device_params p = {.spec = "vulkan:0"};
	struct gsb_device *dev = NULL;
	char err[256] = "";

	assert_int_equal(gsb_device_open(&p, &dev, err, sizeof(err)), -ENODEV);
	assert_null(dev);
	assert_non_null(strstr(err, "vulkan:0"));
	assert_non_null(strstr(err, "emu:h200"));
}

static void test_info_reports_architecture(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_info *info = rig->dev->ops->info(rig->dev);

	assert_string_equal(info->arch.name, "h200");
	assert_int_equal(info->attrs[1], 1024);	   /* MAX_THREADS_PER_BLOCK */
	assert_int_equal(info->attrs[10], 32);	   /* WARP_SIZE */
	assert_int_equal(info->attrs[16], 132);	   /* MULTIPROCESSOR_COUNT */
	assert_int_equal(info->attrs[75], 9);	   /* COMPUTE_CAPABILITY_MAJOR */
	assert_int_equal(info->attrs[106], 32);	   /* MAX_BLOCKS_PER_MULTIPROCESSOR */
	assert_int_equal(info->attrs[97], 232448); /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
	assert_int_equal(info->priority_greatest, -5);
	assert_int_equal(info->sm_group, 8);
}

/* It is, and they are not told so: who may choose takes the GPU's own memory then. */
static void test_managed_memory_is_not_said_to_be_accessed_concurrently(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_info *info = rig->dev->ops->info(rig->dev);

	assert_int_equal(info->attrs[83], 1); /* MANAGED_MEMORY */
	assert_int_equal(info->attrs[CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS], 0);
}

/* Of a device that gives parts of its SMs; another refuses them all. */
static void test_queue_create_takes_only_sms_that_the_device_can_give(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_info *info = rig->dev->ops->info(rig->dev);
	uint32_t n = info->arch.n_sms, g = info->sm_group ? info->sm_group : 8;
	const struct {
		struct gsb_sm_range sms;
		bool ok;
	} rows[] = {
		{{0, g}, true},
		{{g, 2 * g}, true},
		{{n / g * g - g, g + n % g}, true},
		{{0, n}, true},
		{{g, 0}, false},
		{{g / 2, g}, false},
		{{g, g / 2}, false},
		{{n, g}, false},
		{{0, n + g}, false},
		{{g, n}, false},
		{{UINT32_MAX / g * g, 2 * g}, false},
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		struct gsb_queue *queue = NULL;
		int err = rig->dev->ops->queue_create(rig->dev, 0, rows[i].sms, &queue);

		assert_int_equal(err, !info->sm_group ? -ENOTSUP : rows[i].ok ? 0 : -EINVAL);
		if (!err)
			rig->dev->ops->queue_destroy(queue);
	}
}

static void test_mem_alloc_is_counted_and_freed(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t free0, free1, total, a = 0, b = 0;

	ops->mem_info(rig->dev, &free0, &total);
	assert_int_equal(ops->mem_alloc(rig->space, 1 << 20, &a), 0);
	assert_int_equal(ops->mem_alloc(rig->space, 100, &b), 0);
	assert_int_equal(a % 512, 0);
	assert_int_equal(b % 512, 0);
	assert_true(a >= DEVICE_BASE && a < DEVICE_BASE + DEVICE_SIZE);
	ops->mem_info(rig->dev, &free1, &total);
	assert_true(free0 - free1 >= (1 << 20) + 100);
	if (ops->mem_cost)
		assert_int_equal(free0 - free1,
				 ops->mem_cost(rig->dev, 1 << 20) + ops->mem_cost(rig->dev, 100));
	expect_not_given_back(rig, ops->mem_free(rig->space, a + 512));
	assert_int_equal(ops->mem_free(rig->space, a), 0);
	expect_not_given_back(rig, ops->mem_free(rig->space, a));
	assert_int_equal(ops->mem_free(rig->space, b), 0);
	ops->mem_info(rig->dev, &free1, &total);
	assert_int_equal(free0, free1);
}

static void test_mem_alloc_past_limit_is_edquot_past_window_enomem(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_space *small = make_space(rig->dev, 1, 1 << 20);
	uint64_t a = 7;

	assert_int_equal(ops->mem_alloc(small, (1 << 20) + 1, &a), -EDQUOT);
	assert_int_equal(ops->mem_alloc(rig->space, DEVICE_SIZE, &a), -ENOMEM);
	assert_int_equal(ops->mem_alloc(rig->space, UINT64_MAX, &a), -ENOMEM);
	if (ops->mem_cost)
		assert_int_equal(ops->mem_cost(rig->dev, UINT64_MAX), UINT64_MAX);
	assert_int_equal(ops->mem_alloc(rig->space, 0, &a), -EINVAL);
	assert_int_equal(a, 7);
	assert_int_equal(ops->mem_alloc(small, 1 << 19, &a), 0);
	ops->space_destroy(small);
}

static void test_space_limit_holds_from_then_on(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_space *small = make_space(rig->dev, 1, 1 << 20);
	uint64_t a = 7;

	assert_int_equal(ops->mem_alloc(small, 1 << 20, &a), 0);
	assert_int_equal(ops->mem_alloc(small, 1 << 20, &a), -EDQUOT);
	ops->space_limit(small, 2 << 20);
	assert_int_equal(ops->mem_alloc(small, 1 << 20, &a), 0);
	ops->space_limit(small, 1 << 20);
	assert_int_equal(ops->mem_alloc(small, 4096, &a), -EDQUOT);
	ops->space_limit(small, 0);
	assert_int_equal(ops->mem_alloc(small, 4096, &a), 0);
	ops->space_destroy(small);
}

/* Lines of a log with text in it; closes it. */
static unsigned lines_with(FILE *log, const char *text)
{
	char line[1024];
	unsigned n = 0;

	rewind(log);
	while (fgets(line, sizeof(line), log))
		n += strstr(line, text) != NULL;
	fclose(log);
	return n;
}

/* Each is a mapping of this process, which may have only so many. Memory that lacks beside plenty is explained, once. */
static void test_flood_of_small_allocations_leaves_room_for_another_space(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_space *other = make_space(rig->dev, 1, 0);
	uint64_t a = 0, b = 0;
	unsigned n = 0;
	int err, saved = dup(STDERR_FILENO);
	FILE *log = tmpfile();

	assert_non_null(log);
	dup2(fileno(log), STDERR_FILENO);
	while (!(err = ops->mem_alloc(rig->space, 100, &a)))
		n++;
	assert_int_equal(ops->mem_alloc(rig->space, 100, &b), -ENOMEM);
	dup2(saved, STDERR_FILENO);
	close(saved);
	assert_int_equal(err, -ENOMEM);
	assert_int_equal(lines_with(log, "raise the sysctl vm.max_map_count"), 1);
	assert_true(n >= 10000); /* no program that means well is stopped */
	for (int i = 0; i < 1000; i++)
		assert_int_equal(ops->mem_alloc(other, 100, &b), 0);
	ops->space_destroy(other);
	assert_int_equal(ops->mem_free(rig->space, a), 0);
	assert_int_equal(ops->mem_alloc(rig->space, 100, &a), 0);
}

/* What nobody can ask for through the table is how much memory this machine has. */
static void test_modules_without_end_are_refused_and_leave_room(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_space *other = make_space(rig->dev, 1, 0);
	struct gsb_module *modules[64] = {NULL}, *m;
	static char image[300 << 10];
	char log[256] = "";
	unsigned n = 0;
	int err = 0;

	to_emu(rig->dev)->storage.max_bytes = 4 << 20;
	memset(image, ' ', sizeof(image));
	while (!err && n < 64) {
		snprintf(image, sizeof(image),
			 ".version 9.0\n.target sm_90\n.address_size 64\n//%u", n);
		image[strlen(image)] = '\n';
		err = ops->module_load(rig->space, image, sizeof(image), &modules[n], log,
				       sizeof(log));
		n += !err;
	}
	assert_int_equal(err, -ENOMEM);
	assert_non_null(strstr(log, "no host memory for more modules"));
	assert_in_range(n, 4, 8);
	assert_int_equal(ops->module_load(other, image, sizeof(image), &m, log, sizeof(log)), 0);
	for (unsigned i = 0; i < n; i++)
		ops->module_unload(modules[i]);
	assert_int_equal(to_emu(rig->dev)->storage.used_bytes, 0);
	assert_int_equal(ops->module_load(rig->space, image, sizeof(image), &m, log, sizeof(log)),
			 0);
	ops->space_destroy(other);
}

static void test_one_queue_completes_in_order_of_issue(void **state)
{
	struct rig *rig = *state;
	struct gsb_completion c[100];

	for (uint64_t i = 0; i < 100; i++)
		issue_copy(rig, rig->queue, i);
	collect(rig, c, 100);
	for (uint64_t i = 0; i < 100; i++) {
		assert_int_equal(c[i].cookie, i);
		assert_int_equal(c[i].result, CUDA_SUCCESS);
		assert_true(c[i].start_ns <= c[i].end_ns);
		assert_true(!i || c[i - 1].end_ns <= c[i].start_ns);
	}
	assert_int_equal(rig->dev->ops->poll(rig->dev, c, 100), 0);
}

/* However few are asked for at a time. */
static void test_commands_of_which_more_follow_complete_each_in_order(void **state)
{
	struct rig *rig = *state;
	struct gsb_completion c[42];

	for (uint64_t i = 0; i < 42; i++) {
		struct gsb_cmd cmd = small_copy(rig, i, 0);

		cmd.more = i % 7 != 6;
		assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	}
	for (unsigned i = 0; i < 42; i += 3)
		collect(rig, c + i, 3);
	for (uint64_t i = 0; i < 42; i++) {
		assert_int_equal(c[i].cookie, i);
		assert_int_equal(c[i].result, CUDA_SUCCESS);
		assert_true(c[i].start_ns <= c[i].end_ns);
		assert_true(!i || c[i - 1].end_ns <= c[i].start_ns);
	}
	assert_true(c[41].end_ns <= rig->dev->ops->now_ns(rig->dev));
	assert_int_equal(rig->dev->ops->poll(rig->dev, c, 42), 0);
}

/* ---- helpers for what executes ---- */

static uint64_t alloc(struct rig *rig, uint64_t size)
{
	uint64_t addr = 0;

	assert_int_equal(rig->dev->ops->mem_alloc(rig->space, size, &addr), 0);
	return addr;
}

static struct gsb_module *load_text(struct rig *rig, struct gsb_space *space, const char *text)
{
	struct gsb_module *module = NULL;
	char log[1024] = "";

	if (rig->dev->ops->module_load(space, text, strlen(text), &module, log, sizeof(log)))
		fail_msg("%s", log);
	return module;
}

static struct gsb_module *load(struct rig *rig, struct gsb_space *space)
{
	return load_text(rig, space, device_kernels_ptx);
}

static struct gsb_function *kernel(struct rig *rig, struct gsb_module *module, const char *name)
{
	static struct gsb_function_info info;
	struct gsb_function *f = NULL;
	char log[1024] = "";

	assert_int_equal(rig->dev->ops->function_get(module, name, &f, &info), 0);
	if (rig->dev->ops->function_prepare(f, log, sizeof(log)))
		fail_msg("%s", log);
	return f;
}

/* All kernels of device_kernels_ptx take an address, and some a number. */
struct args {
	uint64_t p;
	uint32_t v, pad;
};

struct shot {
	const char *kernel;
	uint32_t grid, block;
	struct args args;
	uint64_t cookie;
};

static struct gsb_cmd launch_cmd(struct rig *rig, const struct shot *s)
{
	if (!rig->module)
		rig->module = load(rig, rig->space);
	return (struct gsb_cmd){
		.kind = GSB_CMD_LAUNCH,
		.space = rig->space,
		.cookie = s->cookie,
		.launch = {.function = kernel(rig, rig->module, s->kernel),
			   .grid = {s->grid, 1, 1},
			   .block = {s->block, 1, 1},
			   .params = &s->args,
			   .params_bytes = sizeof(s->args)},
	};
}

static void launch(struct rig *rig, struct gsb_queue *queue, struct shot s)
{
	struct gsb_cmd cmd = launch_cmd(rig, &s);

	assert_int_equal(rig->dev->ops->issue(queue, &cmd), 0);
}

static struct gsb_queue *another_queue(struct rig *rig, int priority)
{
	struct gsb_queue *queue = NULL;

	assert_int_equal(rig->dev->ops->queue_create(rig->dev, priority, GSB_ALL_SMS, &queue), 0);
	return queue;
}

static struct gsb_queue *queue_on(struct rig *rig, uint32_t first_sm, uint32_t n_sms)
{
	const struct gsb_sm_range sms = {first_sm, n_sms};
	struct gsb_queue *queue = NULL;

	assert_int_equal(rig->dev->ops->queue_create(rig->dev, 0, sms, &queue), 0);
	return queue;
}

/* An end of a copy that is memory of the test, and not of a space. */
#define OURS (1ull << 63)

static struct gsb_cmd copy_cmd(struct gsb_space *space, uint64_t dst, uint64_t src, uint64_t size)
{
	return (struct gsb_cmd){.kind = GSB_CMD_COPY,
				.space = space,
				.copy = {.dst = dst & ~OURS,
					 .src = src & ~OURS,
					 .width = size,
					 .height = 1,
					 .dst_is_ours = dst & OURS,
					 .src_is_ours = src & OURS}};
}

static uint64_t to_addr(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static uint64_t ours(const void *p)
{
	return to_addr(p) | OURS;
}

static void copy(struct rig *rig, struct gsb_space *space, uint64_t dst, uint64_t src,
		 uint64_t size)
{
	struct gsb_cmd cmd = copy_cmd(space, dst, src, size);

	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
}

static uint32_t word_at(struct rig *rig, struct gsb_space *space, uint64_t addr)
{
	uint32_t word = 0xdeadbeef;

	copy(rig, space, ours(&word), addr, sizeof(word));
	return word;
}

/* ---- modules, all devices ---- */

static void test_module_load_refuses_what_is_no_image(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_module *module = NULL;
	char log[1024] = "";
	const char *bad = ".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k( {\n";

	assert_int_equal(ops->module_load(rig->space, "\1\2\3\4", 4, &module, log, sizeof(log)),
			 -EBADMSG);
	assert_true(log[0]);
	log[0] = 0;
	assert_int_equal(ops->module_load(rig->space, bad, strlen(bad), &module, log, sizeof(log)),
			 -EILSEQ);
	if (is_cuda(rig->dev))
		print_message("%s\n", log); /* in words of the driver's */
	else
		assert_non_null(strstr(log, "4:"));
	assert_true(log[0]);
	assert_null(module);
}

static void test_function_get_describes_parameters(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	static struct gsb_function_info info;
	struct gsb_module *module = load(rig, rig->space);
	struct gsb_function *f = NULL;
	const char *name;

	assert_int_equal(ops->function_get(module, "nothing", &f, &info), -ENOENT);
	assert_null(f);
	assert_int_equal(ops->function_get(module, "shaped", &f, &info), 0);
	assert_int_equal(info.n_params, 1);
	assert_int_equal(info.params_bytes, 8);
	assert_int_equal(info.reqntid[0], 64);
	assert_int_equal(info.reqntid[1], 2);
	assert_int_equal(info.attrs[0], 128);  /* MAX_THREADS_PER_BLOCK */
	assert_int_equal(info.attrs[1], 1024); /* SHARED_SIZE_BYTES */
	assert_int_equal(info.attrs[5], 90);   /* PTX_VERSION */
	assert_true(info.attrs[4] >= 8 && info.attrs[4] <= 255);
	assert_int_equal(ops->function_get(module, "store", &f, &info), 0);
	assert_int_equal(info.n_params, 2);
	assert_int_equal(info.params[1].offset, 8);
	assert_int_equal(info.params[1].size, 4);
	assert_int_equal(info.params_bytes, 12);
	assert_int_equal(ops->function_name(module, 0, &name), 0);
	assert_string_equal(name, "store");
	assert_int_equal(ops->function_name(module, 5, &name), 0);
	assert_string_equal(name, "shaped");
	assert_int_equal(ops->function_name(module, 10, &name), -ENOENT);
	ops->module_unload(module);
}

/* In full for each load, though text is shared. */
static void test_module_bytes_are_those_of_a_load(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_module *a = load(rig, rig->space), *b = load(rig, rig->space);
	uint64_t bytes = ops->module_bytes(a);

	assert_true(bytes > strlen(device_kernels_ptx));
	assert_int_equal(ops->module_bytes(b), bytes);
	ops->module_unload(a);
	ops->module_unload(b);
}

static void test_module_cost_is_what_the_device_has_less(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t before, after, total;
	struct gsb_module *module;

	ops->mem_info(rig->dev, &before, &total);
	module = load(rig, rig->space);
	ops->mem_info(rig->dev, &after, &total);
	assert_true(after < before);
	assert_int_equal(ops->module_cost(module), before - after);
	ops->module_unload(module);
}

static void test_module_bytes_grow_with_what_is_prepared(void **state)
{
	struct rig *rig = *state;
	struct gsb_module *module = load(rig, rig->space);
	uint64_t before = rig->dev->ops->module_bytes(module), one, two;

	kernel(rig, module, "store");
	one = rig->dev->ops->module_bytes(module);
	kernel(rig, module, "loop");
	two = rig->dev->ops->module_bytes(module);
	kernel(rig, module, "loop");
	assert_true(before < one && one < two);
	assert_int_equal(rig->dev->ops->module_bytes(module), two);
	rig->dev->ops->module_unload(module);
	assert_int_equal(to_emu(rig->dev)->storage.used_bytes, 0);
}

/* As what a program has linked from several files is. */
static void test_linked_texts_are_one_module(void **state)
{
	struct rig *rig = *state;
	struct gsb_module *m = load_text(rig, rig->space, device_linked_ptx);
	struct args args = {alloc(rig, 4), 21, 0};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = rig->space,
			      .launch = {.function = kernel(rig, m, "set_twice"),
					 .grid = {1, 1, 1},
					 .block = {1, 1, 1},
					 .params = &args,
					 .params_bytes = sizeof(args)}};

	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	assert_int_equal(word_at(rig, rig->space, args.p), 2 * 21 + 100 + 1);
	rig->dev->ops->module_unload(m);
}

static void test_global_get_gives_each_load_its_own(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_module *a = load(rig, rig->space), *b = load(rig, rig->space);
	uint64_t addr_a = 0, addr_b = 0, size = 0;

	assert_int_equal(ops->global_get(a, "counter", &addr_a, &size), 0);
	assert_int_equal(size, 4);
	assert_int_equal(ops->global_get(b, "counter", &addr_b, &size), 0);
	assert_true(addr_a != addr_b);
	assert_int_equal(ops->global_get(a, "store", &addr_a, &size), -ENOENT);
	ops->module_unload(a);
	ops->module_unload(b);
}

static const char again_ptx[] = ".version 9.0\n.target sm_90\n.address_size 64\n"
				".visible .global .align 4 .u32 again = 41;\n"
				".visible .global .align 8 .u64 where = again;\n"
				".visible .const .align 4 .u32 fixed = 9;\n"
				".visible .entry none()\n{\n\tret;\n}\n";

/* What one has left in its variables is not what the next finds, whichever memory it gets. */
static void test_load_after_an_unload_has_fresh_variables(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t counter = 0, pointer = 0, constant = 0, size = 0;
	uint32_t left = 77;

	for (int i = 0; i < 3; i++) {
		struct gsb_module *m = load_text(rig, rig->space, again_ptx);

		assert_int_equal(ops->global_get(m, "again", &counter, &size), 0);
		assert_int_equal(ops->global_get(m, "where", &pointer, &size), 0);
		assert_int_equal(ops->global_get(m, "fixed", &constant, &size), 0);
		assert_int_equal(word_at(rig, rig->space, constant), 9);
		assert_int_equal(word_at(rig, rig->space, counter), 41);
		assert_int_equal(word_at(rig, rig->space, pointer), (uint32_t)counter);
		copy(rig, rig->space, counter, ours(&left), sizeof(left));
		copy(rig, rig->space, pointer, ours(&left), sizeof(left));
		copy(rig, rig->space, constant, ours(&left), sizeof(left));
		ops->module_unload(m);
	}
}

static const char managed_ptx[] =
	".version 9.0\n.target sm_90\n.address_size 64\n"
	".visible .global .align 4 .u32 plain = 3;\n"
	".visible .global .attribute(.managed) .align 4 .b8 held[8] = {5};\n"
	".visible .global .align 8 .u64 where = generic(held);\n"
	".visible .global .attribute(.managed) .align 256 .u32 far = 7;\n"
	".visible .entry add()\n{\n"
	"\t.reg .u32 %r<4>;\n\t.reg .u64 %rd<3>;\n"
	"\tld.global.u32 %r1, [plain];\n"
	"\tld.global.u32 %r2, [held];\n"
	"\tadd.u32 %r2, %r2, %r1;\n"
	"\tst.global.u32 [held+4], %r2;\n"
	"\tld.global.u64 %rd1, [where];\n"
	"\tst.u32 [%rd1], 11;\n"
	"\tmov.u64 %rd2, far;\n"
	"\tred.global.add.u32 [%rd2], 1;\n"
	"\tret;\n}\n";

static void launch_add(struct rig *rig, struct gsb_module *m)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = rig->space,
			      .launch = {.function = kernel(rig, m, "add"),
					 .grid = {1, 1, 1},
					 .block = {1, 1, 1}}};

	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
}

/* Where a managed variable of a module lies that is placed at HOST_BASE: in what it has asked for. */
static void *managed_at(struct rig *rig, struct gsb_module *m, const char *name, uint64_t bytes)
{
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t addr = 0, size = 0;

	assert_int_equal(ops->global_get(m, name, &addr, &size), 0);
	assert_int_equal(size, bytes);
	assert_true(addr >= HOST_BASE && addr + size <= HOST_BASE + ops->module_managed(m));
	return (void *)(uintptr_t)addr;
}

struct owner_loads {
	const struct gsb_device_ops *ops;
	struct gsb_space *space;
	char text[sizeof(device_kernels_ptx) +
		  64]; /* now of another owner's bytes, now of its own */
	int err;
};

/* On a thread of its own, as the engine's for each tenant that loads. */
static void *load_again_and_again(void *arg)
{
	struct owner_loads *o = arg;
	char log[1024];

	for (int i = 0; i < 8 && !o->err; i++) {
		size_t n = strlen(device_kernels_ptx);
		struct gsb_function_info info;
		struct gsb_function *f;
		struct gsb_module *m;

		memcpy(o->text, device_kernels_ptx, n + 1);
		if (i % 2)
			sprintf(o->text + n, "\n// %p %d\n", (void *)o, i);
		o->err = o->ops->module_load(o->space, o->text, strlen(o->text), &m, log,
					     sizeof(log));
		if (o->err)
			break;
		o->err = o->ops->function_get(m, "store", &f, &info);
		if (!o->err)
			o->err = o->ops->function_prepare(f, log, sizeof(log));
		o->ops->module_unload(m);
	}
	return NULL;
}

/* Nobody's loads wait for another's, which may take minutes. */
static void test_owners_load_at_the_same_time(void **state)
{
	struct rig *rig = *state;
	struct owner_loads loads[4] = {0};
	pthread_t threads[4];

	assert_true(rig->dev->ops->loads_apart);
	for (unsigned i = 0; i < 4; i++) {
		loads[i].ops = rig->dev->ops;
		loads[i].space = i ? make_space(rig->dev, i, 0) : rig->space;
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, load_again_and_again, &loads[i]),
				 0);
	for (unsigned i = 0; i < 4; i++) {
		pthread_join(threads[i], NULL);
		assert_int_equal(loads[i].err, 0);
	}
	for (unsigned i = 1; i < 4; i++)
		rig->dev->ops->space_destroy(loads[i].space);
}

/* Kernels enough that reading them takes far longer than reading a few. */
static char *many_kernels(unsigned n)
{
	static const char one[] = ".visible .entry k%05u(.param .u64 p)\n{\n"
				  ".reg .b64 %%rd<2>;\nld.param.u64 %%rd1, [p];\n"
				  "st.global.u64 [%%rd1], %%rd1;\nret;\n}\n";
	char *text = malloc(100 + n * sizeof(one)), *end = text;

	end += sprintf(end, ".version 8.0\n.target sm_90\n.address_size 64\n");
	for (unsigned i = 0; i < n; i++)
		end += sprintf(end, one, i);
	return text;
}

struct large_load {
	struct rig *rig;
	char *text;
	struct gsb_module *module;
	int err;
	char log[1024];
	atomic_bool has_begun, is_done;
};

static void *load_large(void *arg)
{
	struct large_load *large = arg;

	large->has_begun = true;
	large->err = large->rig->dev->ops->module_load(large->rig->space, large->text,
						       strlen(large->text), &large->module,
						       large->log, sizeof(large->log));
	large->is_done = true;
	return NULL;
}

static void test_small_load_ends_beside_a_large_one(void **state)
{
	struct rig *rig = *state;
	struct gsb_space *other = make_space(rig->dev, 1, 0);
	struct large_load large = {.rig = rig, .text = many_kernels(16000)};
	unsigned n = 0, i = 0;
	pthread_t thread;

	assert_int_equal(pthread_create(&thread, NULL, load_large, &large), 0);
	while (!large.is_done) {
		char text[64 + sizeof(device_kernels_ptx)];

		sprintf(text, "%s// %u\n", device_kernels_ptx, i++); /* none that is known */
		rig->dev->ops->module_unload(load_text(rig, other, text));
		n += large.has_begun && !large.is_done;
	}
	pthread_join(thread, NULL);
	if (large.err)
		fail_msg("%s", large.log);
	assert_true(n > 9); /* some may have ended before the large one had a lock to hold */
	rig->dev->ops->module_unload(large.module);
	rig->dev->ops->space_destroy(other);
	free(large.text);
}

/* Host and kernels see the same bytes; a second load that is told so goes on with them, and has other variables anew. */
static void test_managed_variables_lie_where_they_are_placed(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_module *first = load_text(rig, rig->space, managed_ptx),
			  *second = load_text(rig, rig->space, managed_ptx);
	uint32_t *held, *far;

	map_host_window();
	assert_int_equal(ops->host_pin(rig->space, HOST_BASE, 4096), 0);
	assert_in_range(ops->module_managed(first), 12, 4096);
	assert_int_equal(ops->module_place(first, HOST_BASE, true), 0);
	held = managed_at(rig, first, "held", 8);
	far = managed_at(rig, first, "far", 4);
	assert_int_equal((uintptr_t)far % 256, 0);
	assert_true((uint8_t *)far >= (uint8_t *)(held + 2) || held >= far + 1);
	assert_int_equal(held[0], 5);
	assert_int_equal(*far, 7);
	held[0] = 20;
	launch_add(rig, first);
	assert_int_equal(held[0], 11);
	assert_int_equal(held[1], 23);
	assert_int_equal(*far, 8);
	assert_int_equal(ops->module_place(second, HOST_BASE, false), 0);
	assert_int_equal(held[0], 11);
	launch_add(rig, second);
	assert_int_equal(held[1], 14);
	assert_int_equal(*far, 9);
	ops->module_unload(first);
	ops->module_unload(second);
	assert_int_equal(ops->host_unpin(rig->space, HOST_BASE, 4096), 0);
}

static const char pointing_ptx[] =
	".version 9.0\n.target sm_90\n.address_size 64\n"
	".visible .global .align 4 .b8 plain[8] = {1, 0, 0, 0, 2};\n"
	".visible .global .attribute(.managed) .align 8 .u64 to_plain = generic(plain)+4;\n"
	".visible .global .attribute(.managed) .align 4 .u32 there = 40;\n"
	".visible .global .attribute(.managed) .align 8 .u64 pair[2] = {7, generic(there)};\n"
	".visible .global .attribute(.managed) .align 4 .u32 zero;\n"
	".visible .entry add()\n{\n"
	"\t.reg .u32 %r<4>;\n\t.reg .u64 %rd<3>;\n"
	"\tld.global.u64 %rd1, [to_plain];\n"
	"\tld.u32 %r1, [%rd1];\n"
	"\tld.global.u64 %rd1, [pair+8];\n"
	"\tld.u32 %r2, [%rd1];\n"
	"\tadd.u32 %r2, %r2, %r1;\n"
	"\tst.global.u32 [there], %r2;\n"
	"\tred.global.add.u32 [zero], 1;\n"
	"\tret;\n}\n";

/* What the first values are is known only when all variables have their addresses. */
static void test_managed_variables_begin_with_addresses_of_others(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_module *m = load_text(rig, rig->space, pointing_ptx);
	uint64_t plain = 0, size = 0, *pair;
	uint32_t *there;

	map_host_window();
	assert_int_equal(ops->host_pin(rig->space, HOST_BASE, 4096), 0);
	memset((void *)(uintptr_t)HOST_BASE, 0, 4096); /* as pinned memory is at first */
	assert_int_equal(ops->module_place(m, HOST_BASE, true), 0);
	assert_int_equal(ops->global_get(m, "plain", &plain, &size), 0);
	there = managed_at(rig, m, "there", 4);
	pair = managed_at(rig, m, "pair", 16);
	assert_int_equal(*(uint64_t *)managed_at(rig, m, "to_plain", 8), plain + 4);
	assert_int_equal(pair[0], 7);
	assert_int_equal(pair[1], (uintptr_t)there);
	launch_add(rig, m);
	assert_int_equal(*there, 42);
	assert_int_equal(*(uint32_t *)managed_at(rig, m, "zero", 4), 1);
	ops->module_unload(m);
	assert_int_equal(ops->host_unpin(rig->space, HOST_BASE, 4096), 0);
}

/* What is wrong with an image is said when it comes, and not when its variables have a place. */
static void test_managed_variables_that_a_driver_cannot_have_are_refused_at_once(void **state)
{
	static const struct {
		const char *text, *why;
	} rows[] = {
		{".visible .global .attribute(.managed) .u32 x = 1;\nnonsense\n", "nonsense"},
		{".visible .func f()\n{\nret;\n}\n"
		 ".visible .global .attribute(.managed) .align 8 .u64 to = f;\n",
		 "managed variable to begins with the address of what is no variable"},
		{".visible .global .attribute(.managed) .u32 x;\n"
		 ".visible .global .attribute(.managed) .align 1 .u8 to[4] = {1, 2, 3, 0xFF(x)};\n",
		 "managed variable to begins with a part of an address"},
	};
	struct rig *rig = *state;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		struct gsb_module *module = NULL;
		char log[1024] = "", text[512];

		snprintf(text, sizeof(text), ".version 9.0\n.target sm_90\n.address_size 64\n%s",
			 rows[i].text);
		assert_int_not_equal(rig->dev->ops->module_load(rig->space, text, strlen(text) + 1,
								&module, log, sizeof(log)),
				     0);
		if (!strstr(log, rows[i].why))
			fail_msg("%s: %s", rows[i].text, log);
	}
}

static void test_host_pin_stays_in_window(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;

	assert_int_equal(ops->host_pin(rig->space, HOST_BASE, 4096), 0);
	assert_int_equal(ops->host_pin(rig->space, HOST_BASE, 4096), -EEXIST);
	assert_int_equal(ops->host_pin(rig->space, HOST_BASE - 4096, 4096), -ERANGE);
	expect_not_given_back(rig, ops->host_unpin(rig->space, HOST_BASE, 8192));
	assert_int_equal(ops->host_unpin(rig->space, HOST_BASE, 4096), 0);
	expect_not_given_back(rig, ops->host_unpin(rig->space, HOST_BASE, 4096));
}

/* Everything that is left is freed by space_destroy; the leak checker watches. */
static void test_space_destroy_frees_what_is_left(void **state)
{
	struct rig *rig = *state;
	uint64_t free0, free1, total, addr;
	struct gsb_space *space;

	rig->dev->ops->mem_info(rig->dev, &free0, &total);
	space = make_space(rig->dev, 3, 0);
	kernel(rig, load(rig, space), "store");
	load(rig, space);
	assert_int_equal(rig->dev->ops->mem_alloc(space, 12345, &addr), 0);
	rig->dev->ops->mem_info(rig->dev, &free1, &total);
	assert_true(free1 < free0);
	rig->dev->ops->space_destroy(space);
	rig->dev->ops->mem_info(rig->dev, &free1, &total);
	assert_int_equal(free0, free1);
}

/* ---- memory that is there ---- */

static void test_space_create_refuses_windows_it_cannot_have(void **state)
{
	struct rig *rig = *state;
	struct gsb_space_params p = {
		.device_base = DEVICE_BASE, .device_size = DEVICE_SIZE, .owner = 1};
	struct gsb_space *space = NULL;

	assert_int_equal(rig->dev->ops->space_create(rig->dev, &p, &space), -EEXIST);
	p.device_base = DEVICE_BASE + SLOT_STRIDE + 4096;
	assert_int_equal(rig->dev->ops->space_create(rig->dev, &p, &space), -EINVAL);
	p.device_base = DEVICE_BASE + SLOT_STRIDE;
	p.device_size = 3 << 20;
	assert_int_equal(rig->dev->ops->space_create(rig->dev, &p, &space), -EINVAL);
	assert_null(space);
}

static void test_fresh_memory_is_zero_also_after_another_owner(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_space *other = make_space(rig->dev, 1, 0);
	static unsigned char seen[3 << 20], mark[3 << 20];
	uint64_t a = alloc(rig, sizeof(mark)), b = 0;

	memset(mark, 0x5a, sizeof(mark));
	memset(seen, 1, sizeof(seen));
	copy(rig, rig->space, ours(seen), a, sizeof(seen));
	for (size_t i = 0; i < sizeof(seen); i++)
		assert_int_equal(seen[i], 0);
	copy(rig, rig->space, a, ours(mark), sizeof(mark));
	assert_int_equal(ops->mem_free(rig->space, a), 0);
	/* The window of the first space again, by one that comes after it. */
	ops->space_destroy(rig->space);
	rig->space = make_space(rig->dev, 0, 0);
	b = alloc(rig, sizeof(mark));
	assert_int_equal(b, a);
	copy(rig, rig->space, ours(seen), b, sizeof(seen));
	for (size_t i = 0; i < sizeof(seen); i++)
		assert_int_equal(seen[i], 0);
	ops->space_destroy(other);
}

static void fill_word(struct rig *rig, struct gsb_space *space, uint64_t addr, uint32_t value)
{
	struct gsb_cmd cmd = {
		.kind = GSB_CMD_FILL,
		.space = space,
		.fill = {.dst = addr, .width = 1, .height = 1, .value = value, .elem_bytes = 4}};

	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
}

/* ---- memory without addresses ---- */

static struct gsb_backing *make_backing(struct rig *rig, uint64_t owner, uint64_t units)
{
	struct gsb_backing *b = NULL;

	assert_int_equal(rig->dev->ops->backing_create(rig->dev, owner, units * UNIT, &b), 0);
	return b;
}

static void map_backing(struct rig *rig, struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	const struct gsb_device_ops *ops = rig->dev->ops;

	assert_int_equal(ops->backing_map(b, owner, addr), 0);
	assert_int_equal(ops->backing_access(b, owner, addr, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
			 0);
}

static void end_backing(struct rig *rig, struct gsb_backing *b, uint64_t owner, uint64_t addr)
{
	rig->dev->ops->backing_unmap(b, owner, addr);
	rig->dev->ops->backing_destroy(b);
}

static void test_backing_is_counted_until_it_is_destroyed(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t before, now, total;
	struct gsb_backing *b;

	ops->mem_info(rig->dev, &before, &total);
	b = make_backing(rig, 1, 3);
	ops->mem_info(rig->dev, &now, &total);
	assert_int_equal(before - now, 3 * UNIT);
	map_backing(rig, b, 1, AREA_BASE);
	map_backing(rig, b, 1, AREA_BASE + 8 * UNIT);
	ops->backing_unmap(b, 1, AREA_BASE);
	ops->mem_info(rig->dev, &now, &total);
	assert_int_equal(before - now, 3 * UNIT);
	end_backing(rig, b, 1, AREA_BASE + 8 * UNIT);
	ops->mem_info(rig->dev, &now, &total);
	assert_int_equal(now, before);
}

static void test_backing_of_what_is_no_unit_is_einval(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_backing *b = NULL;
	uint64_t free_bytes, total;

	ops->mem_info(rig->dev, &free_bytes, &total);
	assert_int_equal(ops->backing_create(rig->dev, 1, 0, &b), -EINVAL);
	assert_int_equal(ops->backing_create(rig->dev, 1, UNIT / 2, &b), -EINVAL);
	assert_int_equal(ops->backing_create(rig->dev, 1, total / UNIT * UNIT + UNIT, &b), -ENOMEM);
	assert_null(b);
	b = make_backing(rig, 1, 2);
	assert_int_equal(ops->backing_map(b, 1, AREA_BASE + 4096), -EINVAL);
	ops->backing_destroy(b);
}

/* One that was not told where. */
static void test_backing_without_addresses_is_enotsup(void **state)
{
	const struct rig *given = *state;
	const struct gsb_device_params p = {.spec = given->dev->ops->scheme, .n_workers = 1};
	struct gsb_device *dev = NULL;
	struct gsb_backing *b = NULL;
	char err[256];

	assert_int_equal(gsb_device_open(&p, &dev, err, sizeof(err)), 0);
	assert_int_equal(dev->ops->backing_create(dev, 1, UNIT, &b), -ENOTSUP);
	dev->ops->close(dev);
}

static void test_backing_is_the_same_bytes_wherever_it_is_mapped(void **state)
{
	struct rig *rig = *state;
	struct gsb_backing *b = make_backing(rig, 1, 2);
	const uint64_t first = AREA_BASE + 4 * UNIT, second = AREA_BASE + 16 * UNIT;
	uint32_t word = 0xfeedf00d;

	map_backing(rig, b, 1, first);
	copy(rig, rig->space, first + 400, ours(&word), sizeof(word));
	map_backing(rig, b, 1, second);
	assert_int_equal(word_at(rig, rig->space, second + 400), word);
	assert_int_equal(word_at(rig, rig->space, second + UNIT), 0);
	copy(rig, rig->space, second + 404, ours(&word), sizeof(word));
	rig->dev->ops->backing_unmap(b, 1, second);
	assert_int_equal(word_at(rig, rig->space, first + 404), word);
	end_backing(rig, b, 1, first);
}

static void test_backing_is_zero_also_after_another_owner(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	static unsigned char seen[2 * UNIT], mark[2 * UNIT];
	struct gsb_space *other = make_space(rig->dev, 1, 0);

	memset(mark, 0x5a, sizeof(mark));
	for (unsigned turn = 0; turn < 3; turn++) {
		uint64_t owner = 1 + turn % 2;
		struct gsb_space *space = owner == 1 ? rig->space : other;
		struct gsb_backing *b = make_backing(rig, owner, 2);

		map_backing(rig, b, owner, AREA_BASE);
		memset(seen, 1, sizeof(seen));
		copy(rig, space, ours(seen), AREA_BASE, sizeof(seen));
		for (size_t i = 0; i < sizeof(seen); i++)
			assert_int_equal(seen[i], 0);
		copy(rig, space, AREA_BASE, ours(mark), sizeof(mark));
		end_backing(rig, b, owner, AREA_BASE);
	}
	ops->space_destroy(other);
}

/* A copy and a kernel over the seam of two. */
static void test_backings_side_by_side_are_one_range(void **state)
{
	struct rig *rig = *state;
	enum { WORDS = 96 };
	struct gsb_backing *a = make_backing(rig, 1, 1), *b = make_backing(rig, 1, 1);
	const uint64_t seam = AREA_BASE + UNIT;
	static uint32_t out[WORDS];

	map_backing(rig, b, 1, AREA_BASE);
	map_backing(rig, a, 1, seam);
	launch(rig, rig->queue, (struct shot){"store", 1, WORDS, {seam - 4 * WORDS / 2, 1000}, 1});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	copy(rig, rig->space, ours(out), seam - 4 * WORDS / 2, sizeof(out));
	for (unsigned i = 0; i < WORDS; i++)
		assert_int_equal(out[i], 1000);
	end_backing(rig, b, 1, AREA_BASE);
	end_backing(rig, a, 1, seam);
}

/* Of what the emulated device finds itself: the engine lets no such copy through. */
static void expect_no_copy(struct rig *rig, struct gsb_space *space, uint64_t dst, uint64_t src)
{
	struct gsb_cmd cmd = copy_cmd(space, dst, src, 4);

	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* cmocka takes SIGSEGV for itself between setup and test. */
static CUresult store_at(struct rig *rig, uint64_t addr)
{
	assert_int_equal(gsb_emu_guard_install(), 0);
	launch(rig, rig->queue, (struct shot){"store", 1, 1, {addr, 5}, 1});
	return collect_one(rig).result;
}

static void test_backing_is_accessed_as_it_is_allowed(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_backing *b = make_backing(rig, 1, 1);
	uint32_t word = 1;

	assert_int_equal(ops->backing_map(b, 1, AREA_BASE), 0);
	expect_no_copy(rig, rig->space, ours(&word), AREA_BASE);
	assert_int_equal(store_at(rig, AREA_BASE), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READ), 0);
	assert_int_equal(word_at(rig, rig->space, AREA_BASE), 0);
	expect_no_copy(rig, rig->space, AREA_BASE, ours(&word));
	assert_int_equal(store_at(rig, AREA_BASE), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
			 0);
	assert_int_equal(store_at(rig, AREA_BASE), CUDA_SUCCESS);
	assert_int_equal(store_at(rig, AREA_BASE + UNIT), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_NONE), 0);
	assert_int_equal(store_at(rig, AREA_BASE), CUDA_ERROR_ILLEGAL_ADDRESS);
	ops->backing_unmap(b, 1, AREA_BASE);
	assert_int_equal(store_at(rig, AREA_BASE), CUDA_ERROR_ILLEGAL_ADDRESS);
	ops->backing_destroy(b);
}

static void test_backing_is_its_owners_alone(void **state)
{
	struct rig *rig = *state;
	struct gsb_space *other = make_space(rig->dev, 1, 0);
	struct gsb_backing *b = make_backing(rig, 2, 1);
	uint32_t word = 9;

	map_backing(rig, b, 2, AREA_BASE);
	copy(rig, other, AREA_BASE, ours(&word), sizeof(word));
	expect_no_copy(rig, rig->space, ours(&word), AREA_BASE);
	assert_int_equal(store_at(rig, AREA_BASE), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(word_at(rig, other, AREA_BASE), 9);
	end_backing(rig, b, 2, AREA_BASE);
	rig->dev->ops->space_destroy(other);
}

static void test_backing_is_mapped_for_another_owner(void **state)
{
	struct rig *rig = *state;
	struct gsb_space *other = make_space(rig->dev, 1, 0);
	struct gsb_backing *b = make_backing(rig, 2, 1);
	const uint64_t theirs = AREA_BASE, mine = AREA_BASE + 8 * UNIT;
	uint32_t word = 9;

	map_backing(rig, b, 2, theirs);
	map_backing(rig, b, 1, mine);
	copy(rig, other, theirs, ours(&word), sizeof(word));
	assert_int_equal(word_at(rig, rig->space, mine), 9);
	assert_int_equal(store_at(rig, mine + 4), CUDA_SUCCESS);
	assert_int_equal(word_at(rig, other, theirs + 4), 5);
	rig->dev->ops->backing_unmap(b, 2, theirs);
	assert_int_equal(word_at(rig, rig->space, mine), 9);
	end_backing(rig, b, 1, mine);
	rig->dev->ops->space_destroy(other);
}

/* ---- memory of the host without addresses ---- */

#define FILE_UNITS 4

/* As a tenant's: a file that both have. */
struct file {
	int fd;
	uint32_t *words; /* as the host sees it */
};

static struct file make_file(void)
{
	struct file f = {.fd = memfd_create("host", MFD_CLOEXEC)};

	assert_int_equal(ftruncate(f.fd, FILE_UNITS * UNIT), 0);
	f.words = mmap(NULL, FILE_UNITS * UNIT, PROT_READ | PROT_WRITE, MAP_SHARED, f.fd, 0);
	assert_ptr_not_equal(f.words, MAP_FAILED);
	return f;
}

static void end_file(struct file *f)
{
	munmap(f->words, FILE_UNITS * UNIT);
	close(f->fd);
}

static struct gsb_backing *make_of_host(struct rig *rig, const struct file *f, uint64_t unit,
					uint64_t units)
{
	struct gsb_backing *b = NULL;

	assert_int_equal(
		rig->dev->ops->backing_of_host(rig->dev, 1, f->fd, unit * UNIT, units * UNIT, &b),
		0);
	return b;
}

static uint32_t *word_of(const struct file *f, uint64_t byte)
{
	return &f->words[byte / sizeof(uint32_t)];
}

static void test_backing_of_host_is_what_the_host_sees(void **state)
{
	struct rig *rig = *state;
	struct file f = make_file();
	struct gsb_backing *b = make_of_host(rig, &f, 1, 2);
	uint32_t word = 0xfeedf00d;

	*word_of(&f, UNIT + 400) = 77;
	map_backing(rig, b, 1, AREA_BASE);
	assert_int_equal(word_at(rig, rig->space, AREA_BASE + 400), 77);
	copy(rig, rig->space, AREA_BASE + 3 * UNIT / 2, ours(&word), sizeof(word));
	assert_int_equal(*word_of(&f, 5 * UNIT / 2), word);
	launch(rig, rig->queue, (struct shot){"store", 1, 1, {AREA_BASE + 8, 5}, 1});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	assert_int_equal(*word_of(&f, UNIT + 8), 5);
	end_backing(rig, b, 1, AREA_BASE);
	assert_int_equal(*word_of(&f, UNIT + 8), 5);
	end_file(&f);
}

static void test_backing_of_host_is_the_same_bytes_wherever_it_is_mapped(void **state)
{
	struct rig *rig = *state;
	struct file f = make_file();
	struct gsb_backing *b = make_of_host(rig, &f, 0, 1);
	uint32_t word = 9;

	map_backing(rig, b, 1, AREA_BASE);
	map_backing(rig, b, 1, AREA_BASE + 8 * UNIT);
	copy(rig, rig->space, AREA_BASE + 4, ours(&word), sizeof(word));
	assert_int_equal(word_at(rig, rig->space, AREA_BASE + 8 * UNIT + 4), 9);
	rig->dev->ops->backing_unmap(b, 1, AREA_BASE);
	assert_int_equal(word_at(rig, rig->space, AREA_BASE + 8 * UNIT + 4), 9);
	end_backing(rig, b, 1, AREA_BASE + 8 * UNIT);
	end_file(&f);
}

/* The device's memory and the host's by turns. */
static void test_backings_of_both_have_the_same_addresses_by_turns(void **state)
{
	struct rig *rig = *state;
	struct file f = make_file();

	for (uint32_t i = 1; i < 5; i++) {
		struct gsb_backing *b =
			i % 2 ? make_of_host(rig, &f, 0, 2) : make_backing(rig, 1, 2);

		map_backing(rig, b, 1, AREA_BASE);
		assert_int_equal(word_at(rig, rig->space, AREA_BASE + UNIT), i == 3 ? 1 : 0);
		copy(rig, rig->space, AREA_BASE + UNIT, ours(&i), sizeof(i));
		assert_int_equal(word_at(rig, rig->space, AREA_BASE + UNIT), i);
		assert_int_equal(*word_of(&f, UNIT), i % 2 ? i : i - 1);
		end_backing(rig, b, 1, AREA_BASE);
	}
	end_file(&f);
}

static void test_backing_of_host_is_not_the_device_s_to_count(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t before, now, total;
	struct file f = make_file();
	struct gsb_backing *b;

	ops->mem_info(rig->dev, &before, &total);
	b = make_of_host(rig, &f, 0, 3);
	map_backing(rig, b, 1, AREA_BASE);
	ops->mem_info(rig->dev, &now, &total);
	assert_int_equal(now, before);
	end_backing(rig, b, 1, AREA_BASE);
	ops->mem_info(rig->dev, &now, &total);
	assert_int_equal(now, before);
	end_file(&f);
}

static void test_backing_of_host_of_what_is_no_unit_is_einval(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct file f = make_file();
	struct gsb_backing *b = NULL;

	assert_int_equal(ops->backing_of_host(rig->dev, 1, f.fd, 0, 0, &b), -EINVAL);
	assert_int_equal(ops->backing_of_host(rig->dev, 1, f.fd, 4096, UNIT, &b), -EINVAL);
	assert_int_equal(ops->backing_of_host(rig->dev, 1, f.fd, 0, UNIT + 4096, &b), -EINVAL);
	assert_null(b);
	end_file(&f);
}

/* As many as an owner makes: the process has descriptors for all its owners. */
static void test_backings_of_host_share_a_descriptor(void **state)
{
	struct rig *rig = *state;
	struct gsb_backing *b[100];
	struct file f = make_file();
	unsigned before = count_descriptors();

	for (unsigned i = 0; i < GSB_ARRAY_LEN(b); i++)
		b[i] = make_of_host(rig, &f, i % FILE_UNITS, 1);
	assert_int_equal(count_descriptors(), before + 1);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(b); i++)
		rig->dev->ops->backing_destroy(b[i]);
	assert_int_equal(count_descriptors(), before);
	end_file(&f);
}

/* The first of its file has gone, and so has the caller's descriptor. */
static void test_backing_of_host_keeps_its_file(void **state)
{
	struct rig *rig = *state;
	struct file f = make_file(), other = make_file();
	struct gsb_backing *first = make_of_host(rig, &f, 0, 1);
	struct gsb_backing *second = make_of_host(rig, &f, 1, 1);
	struct gsb_backing *third = make_of_host(rig, &other, 1, 1);

	*word_of(&f, UNIT) = 7;
	*word_of(&other, UNIT) = 8;
	end_file(&f);
	rig->dev->ops->backing_destroy(first);
	map_backing(rig, second, 1, AREA_BASE);
	map_backing(rig, third, 1, AREA_BASE + UNIT);
	assert_int_equal(word_at(rig, rig->space, AREA_BASE), 7);
	assert_int_equal(word_at(rig, rig->space, AREA_BASE + UNIT), 8);
	end_backing(rig, second, 1, AREA_BASE);
	end_backing(rig, third, 1, AREA_BASE + UNIT);
	end_file(&other);
}

/* Access may be given again, and taken away before the mapping goes. */
static void test_backing_of_host_is_given_access_as_often_as_asked(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct file f = make_file();
	struct gsb_backing *b = make_of_host(rig, &f, 0, 1);

	*word_of(&f, 0) = 3;
	map_backing(rig, b, 1, AREA_BASE);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(
			ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READ), 0);
		assert_int_equal(word_at(rig, rig->space, AREA_BASE), 3);
		assert_int_equal(
			ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_NONE), 0);
	}
	ops->backing_unmap(b, 1, AREA_BASE);
	map_backing(rig, b, 1, AREA_BASE);
	assert_int_equal(word_at(rig, rig->space, AREA_BASE), 3);
	end_backing(rig, b, 1, AREA_BASE);
	end_file(&f);
}

/* Where its program is, by whoever has the time, and not when the device is to have access. */
static void test_backing_of_host_is_made_ready_before_it_is_asked_for(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct file f = make_file();
	struct gsb_backing *b = make_of_host(rig, &f, 0, 1);
	struct stat st;

	assert_int_equal(ops->backing_map(b, 1, AREA_BASE), 0);
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_int_equal(st.st_blocks, 0);
	ops->host_prepare(rig->dev, 1, AREA_BASE, UNIT);
	assert_int_equal(fstat(f.fd, &st), 0);
	assert_int_equal(st.st_blocks, UNIT / 512);
	assert_int_equal(ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
			 0);
	assert_int_equal(word_at(rig, rig->space, AREA_BASE), 0);
	end_backing(rig, b, 1, AREA_BASE);
	end_file(&f);
}

/* What was there may be going yet. */
static void test_backing_of_host_is_mapped_again_as_soon_as_it_is_unmapped(void **state)
{
	struct rig *rig = *state;
	struct file f = make_file();
	struct gsb_backing *b = make_of_host(rig, &f, 0, 1);

	for (uint32_t i = 1; i <= 50; i++) {
		*word_of(&f, 0) = i;
		map_backing(rig, b, 1, AREA_BASE);
		assert_int_equal(word_at(rig, rig->space, AREA_BASE), i);
		rig->dev->ops->backing_unmap(b, 1, AREA_BASE);
	}
	rig->dev->ops->backing_destroy(b);
	end_file(&f);
}

/* In lanes it comes by a descriptor, which is needed until the addresses are free. */
static void test_backing_of_another_owner_is_mapped_where_one_of_host_was(void **state)
{
	struct rig *rig = *state;
	const uint64_t theirs = AREA_BASE + 8 * UNIT;
	struct gsb_space *other = make_space(rig->dev, 1, 0);
	struct file f = make_file();
	struct gsb_backing *mine = make_of_host(rig, &f, 0, 1), *b = make_backing(rig, 2, 1);
	uint32_t word = 9;

	map_backing(rig, b, 2, theirs);
	copy(rig, other, theirs, ours(&word), sizeof(word));
	for (unsigned i = 0; i < 20; i++) {
		map_backing(rig, mine, 1, AREA_BASE);
		rig->dev->ops->backing_unmap(mine, 1, AREA_BASE);
		map_backing(rig, b, 1, AREA_BASE);
		assert_int_equal(word_at(rig, rig->space, AREA_BASE), 9);
		rig->dev->ops->backing_unmap(b, 1, AREA_BASE);
	}
	rig->dev->ops->backing_destroy(mine);
	end_backing(rig, b, 2, theirs);
	rig->dev->ops->space_destroy(other);
	end_file(&f);
}

static void test_backing_of_host_without_access_is_a_fault(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct file f = make_file();
	struct gsb_backing *b = make_of_host(rig, &f, 0, 1);

	assert_int_equal(ops->backing_map(b, 1, AREA_BASE), 0);
	assert_int_equal(store_at(rig, AREA_BASE), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
			 0);
	assert_int_equal(store_at(rig, AREA_BASE), CUDA_SUCCESS);
	assert_int_equal(*word_of(&f, 0), 5);
	end_backing(rig, b, 1, AREA_BASE);
	assert_int_equal(store_at(rig, AREA_BASE), CUDA_ERROR_ILLEGAL_ADDRESS);
	end_file(&f);
}

/* A unit of the host, two of the device, two of the host apart from each other: all of it one range. */
struct mixed {
	struct file f;
	struct gsb_backing *b[4];
};

static const uint64_t mixed_at[] = {0, 1, 3, 4};

static struct mixed make_mixed(struct rig *rig)
{
	struct mixed m = {.f = make_file()};

	m.b[0] = make_of_host(rig, &m.f, 0, 1);
	m.b[1] = make_backing(rig, 1, 2);
	m.b[2] = make_of_host(rig, &m.f, 3, 1);
	m.b[3] = make_of_host(rig, &m.f, 2, 1);
	for (unsigned i = 0; i < 4; i++)
		map_backing(rig, m.b[i], 1, AREA_BASE + mixed_at[i] * UNIT);
	return m;
}

static void end_mixed(struct rig *rig, struct mixed *m)
{
	for (unsigned i = 0; i < 4; i++)
		end_backing(rig, m->b[i], 1, AREA_BASE + mixed_at[i] * UNIT);
	end_file(&m->f);
}

static void test_copies_run_over_what_is_of_the_host_and_what_is_not(void **state)
{
	struct rig *rig = *state;
	static uint32_t in[5 * UNIT / 4], out[5 * UNIT / 4];
	struct mixed m = make_mixed(rig);
	uint64_t plain = alloc(rig, sizeof(in));

	for (uint32_t i = 0; i < 5 * UNIT / 4; i++)
		in[i] = i * 7;
	copy(rig, rig->space, AREA_BASE, ours(in), sizeof(in));
	assert_int_equal(*word_of(&m.f, 100), in[25]);
	assert_int_equal(*word_of(&m.f, 3 * UNIT), in[3 * UNIT / 4]);
	assert_int_equal(*word_of(&m.f, 2 * UNIT), in[4 * UNIT / 4]);
	copy(rig, rig->space, plain + 4, AREA_BASE + 4, sizeof(in) - 8);
	copy(rig, rig->space, AREA_BASE + 8, plain + 4, sizeof(in) - 8);
	copy(rig, rig->space, ours(out), AREA_BASE, sizeof(out));
	for (uint32_t i = 2; i < 5 * UNIT / 4 - 1; i++)
		assert_int_equal(out[i], in[i - 1]);
	end_mixed(rig, &m);
}

static void test_rows_and_fills_run_over_what_is_of_the_host_and_what_is_not(void **state)
{
	struct rig *rig = *state;
	struct mixed m = make_mixed(rig);
	uint32_t rows[5][4] = {{0}};
	struct gsb_cmd cmd = {.kind = GSB_CMD_FILL, .space = rig->space};

	cmd.fill = (struct gsb_cmd_fill){AREA_BASE, 5 * UNIT / 4, 1, 0, 0x2222, 4};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	cmd.fill = (struct gsb_cmd_fill){AREA_BASE + UNIT - 8, 8, 4, UNIT, 0x33, 2};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	cmd.kind = GSB_CMD_COPY;
	cmd.copy = (struct gsb_cmd_copy){to_addr(rows), AREA_BASE + UNIT - 12, 16, 4, 16,
					 UNIT,		.dst_is_ours = true};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(rows[i][0], 0x2222);
		assert_int_equal(rows[i][1], 0x330033);
		assert_int_equal(rows[i][3], 0x330033);
	}
	assert_int_equal(*word_of(&m.f, UNIT - 8), 0x330033);
	assert_int_equal(*word_of(&m.f, 2 * UNIT + 4), 0x330033);
	assert_int_equal(*word_of(&m.f, 2 * UNIT + 8), 0x2222);
	end_mixed(rig, &m);
}

#define N_COLUMNS 5 /* words of a row, which no unit is a multiple of */

/* So many rows that most of them are in one piece with the next. */
static void test_many_rows_run_over_what_is_of_the_host_and_what_is_not(void **state)
{
	const uint64_t row = N_COLUMNS * sizeof(uint32_t), n = 5 * UNIT / row;
	static uint32_t in[5 * UNIT / 4], out[5 * UNIT / 4];
	struct rig *rig = *state;
	struct mixed m = make_mixed(rig);
	uint64_t plain = alloc(rig, sizeof(in));
	struct gsb_cmd cmd = {.kind = GSB_CMD_COPY, .space = rig->space};

	for (uint32_t i = 0; i < 5 * UNIT / 4; i++)
		in[i] = i * 7;
	copy(rig, rig->space, plain, ours(in), sizeof(in));
	cmd.copy = (struct gsb_cmd_copy){AREA_BASE, plain, row, n, row, row};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	cmd.kind = GSB_CMD_FILL;
	cmd.fill = (struct gsb_cmd_fill){AREA_BASE + 4, 3, n, row, 0x2222, 4};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	cmd.kind = GSB_CMD_COPY;
	cmd.copy = (struct gsb_cmd_copy){plain, AREA_BASE, row, n, row, row};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	copy(rig, rig->space, ours(out), plain, sizeof(out));
	for (uint32_t i = 0; i < n * N_COLUMNS; i++)
		assert_int_equal(out[i], (i - 1) % N_COLUMNS < 3 && i ? 0x2222 : in[i]);
	end_mixed(rig, &m);
}

/* ---- memory of one space in another ---- */

/* Of a space of another owner. */
struct lent {
	struct gsb_space *space;
	uint64_t mem, size;
	struct gsb_backing *backing;
	uint64_t offset, chunk;
};

static struct gsb_backing *share(struct rig *rig, struct lent *l)
{
	struct gsb_backing *b = NULL;

	assert_int_equal(rig->dev->ops->mem_share(l->space, l->mem, &b, &l->offset, &l->chunk), 0);
	assert_in_range(l->chunk, l->offset + l->size, UINT64_MAX);
	return b;
}

static struct lent lend(struct rig *rig, unsigned slot, uint64_t size)
{
	struct lent l = {.space = make_space(rig->dev, slot, 0), .size = size};

	assert_int_equal(rig->dev->ops->mem_alloc(l.space, size, &l.mem), 0);
	l.backing = share(rig, &l);
	return l;
}

/* Where the allocation is in the space. */
static uint64_t open_lent(struct rig *rig, struct gsb_space *space, const struct lent *l)
{
	uint64_t addr = 0;

	assert_int_equal(rig->dev->ops->mem_open(space, l->backing, &addr), 0);
	return addr + l->offset;
}

static void close_lent(struct rig *rig, struct gsb_space *space, const struct lent *l,
		       uint64_t addr)
{
	assert_int_equal(rig->dev->ops->mem_free(space, addr - l->offset), 0);
}

static uint64_t free_bytes(struct rig *rig)
{
	uint64_t now, total;

	rig->dev->ops->mem_info(rig->dev, &now, &total);
	return now;
}

static void test_opened_memory_is_the_same_bytes(void **state)
{
	static const uint64_t sizes[] = {100, 3 << 20};
	struct rig *rig = *state;

	for (size_t i = 0; i < GSB_ARRAY_LEN(sizes); i++) {
		struct lent l = lend(rig, 1, sizes[i]);
		uint64_t at = open_lent(rig, rig->space, &l);
		const uint64_t last = sizes[i] - 4;

		assert_int_equal(word_at(rig, rig->space, at), 0);
		fill_word(rig, l.space, l.mem, 7);
		fill_word(rig, l.space, l.mem + last, 8);
		assert_int_equal(word_at(rig, rig->space, at), 7);
		assert_int_equal(word_at(rig, rig->space, at + last), 8);
		assert_int_equal(store_at(rig, at), CUDA_SUCCESS);
		assert_int_equal(word_at(rig, l.space, l.mem), 5);
		close_lent(rig, rig->space, &l, at);
		assert_int_equal(word_at(rig, l.space, l.mem + last), 8);
		rig->dev->ops->backing_destroy(l.backing);
		assert_int_equal(word_at(rig, l.space, l.mem + last), 8);
		rig->dev->ops->space_destroy(l.space);
	}
}

static void test_opened_memory_outlives_who_has_lent_it(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct lent l = lend(rig, 1, 3 << 20);
	uint64_t at, again = 0;

	fill_word(rig, l.space, l.mem, 7);
	assert_int_equal(ops->mem_free(l.space, l.mem), 0);
	at = open_lent(rig, rig->space, &l);
	assert_int_equal(word_at(rig, rig->space, at), 7);
	ops->space_destroy(l.space);
	assert_int_equal(word_at(rig, rig->space, at), 7);
	/* Its window again. */
	l.space = make_space(rig->dev, 1, 0);
	assert_int_equal(ops->mem_alloc(l.space, l.size, &again), 0);
	assert_int_equal(again, l.mem);
	assert_int_equal(word_at(rig, l.space, again), 0);
	fill_word(rig, l.space, again, 9);
	assert_int_equal(word_at(rig, rig->space, at), 7);
	close_lent(rig, rig->space, &l, at);
	at = open_lent(rig, rig->space, &l);
	assert_int_equal(word_at(rig, rig->space, at), 7);
	close_lent(rig, rig->space, &l, at);
	ops->backing_destroy(l.backing);
	assert_int_equal(word_at(rig, l.space, again), 9);
	ops->space_destroy(l.space);
}

/* One that its space ends with, not having freed it. */
static void test_shared_memory_outlives_its_space(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t before = free_bytes(rig), at;
	struct lent l = lend(rig, 1, 100);

	fill_word(rig, l.space, l.mem, 7);
	ops->space_destroy(l.space);
	at = open_lent(rig, rig->space, &l);
	assert_int_equal(word_at(rig, rig->space, at), 7);
	assert_true(free_bytes(rig) < before);
	close_lent(rig, rig->space, &l, at);
	ops->backing_destroy(l.backing);
	assert_int_equal(free_bytes(rig), before);
}

static void test_shared_memory_is_counted_until_nobody_has_it(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t before = free_bytes(rig), at;
	struct lent l = lend(rig, 1, 3 << 20);
	const uint64_t with = free_bytes(rig);
	struct gsb_backing *second = share(rig, &l);

	assert_true(with <= before - (3 << 20));
	at = open_lent(rig, rig->space, &l);
	assert_int_equal(free_bytes(rig), with);
	assert_int_equal(ops->mem_free(l.space, l.mem), 0);
	assert_int_equal(free_bytes(rig), with);
	close_lent(rig, rig->space, &l, at);
	ops->backing_destroy(l.backing);
	assert_int_equal(free_bytes(rig), with);
	ops->space_destroy(l.space);
	assert_int_equal(free_bytes(rig), with);
	ops->backing_destroy(second);
	assert_int_equal(free_bytes(rig), before);
}

static void test_opened_memory_outlives_its_backing(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t before = free_bytes(rig), at;
	struct lent l = lend(rig, 1, 3 << 20);

	fill_word(rig, l.space, l.mem, 7);
	at = open_lent(rig, rig->space, &l);
	ops->backing_destroy(l.backing);
	ops->space_destroy(l.space);
	assert_int_equal(word_at(rig, rig->space, at), 7);
	if (!is_lanes(rig->dev)) /* whose counts end with them */
		assert_true(free_bytes(rig) < before);
	close_lent(rig, rig->space, &l, at);
	assert_int_equal(free_bytes(rig), before);
}

static void test_what_lies_beside_shared_memory_is_nobodys(void **state)
{
	struct rig *rig = *state;
	struct lent l = lend(rig, 1, 100);
	uint64_t at = open_lent(rig, rig->space, &l) - l.offset;

	assert_int_equal(word_at(rig, rig->space, at + l.chunk - 4), 0);
	assert_int_equal(rig->dev->ops->mem_free(rig->space, at), 0);
	rig->dev->ops->backing_destroy(l.backing);
	rig->dev->ops->space_destroy(l.space);
}

static void test_freed_memory_that_others_have_is_not_given_out(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct lent l = lend(rig, 1, 3 << 20);
	uint64_t at = open_lent(rig, rig->space, &l), next = 0;

	fill_word(rig, l.space, l.mem, 7);
	assert_int_equal(ops->mem_free(l.space, l.mem), 0);
	assert_int_equal(ops->mem_alloc(l.space, 3 << 20, &next), 0);
	assert_int_equal(word_at(rig, l.space, next), 0);
	fill_word(rig, l.space, next, 9);
	assert_int_equal(word_at(rig, rig->space, at), 7);
	close_lent(rig, rig->space, &l, at);
	ops->backing_destroy(l.backing);
	ops->space_destroy(l.space);
}

static void test_backing_that_nobody_has_mapped_opens_as_zero(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_backing *b = make_backing(rig, 2, 2);
	uint64_t at = 0;

	assert_int_equal(ops->mem_open(rig->space, b, &at), 0);
	assert_int_equal(word_at(rig, rig->space, at), 0);
	assert_int_equal(word_at(rig, rig->space, at + 2 * UNIT - 4), 0);
	fill_word(rig, rig->space, at + UNIT, 7);
	map_backing(rig, b, 1, AREA_BASE);
	assert_int_equal(word_at(rig, rig->space, AREA_BASE + UNIT), 7);
	assert_int_equal(ops->mem_free(rig->space, at), 0);
	end_backing(rig, b, 1, AREA_BASE);
}

/* It is lent no longer, and still there. */
static void test_memory_that_was_shared_is_counted_as_any(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t before = free_bytes(rig);
	struct lent l = lend(rig, 1, 3 << 20);

	ops->backing_destroy(l.backing);
	assert_true(free_bytes(rig) < before);
	assert_int_equal(ops->mem_free(l.space, l.mem), 0);
	assert_int_equal(free_bytes(rig), before);
	ops->space_destroy(l.space);
	assert_int_equal(free_bytes(rig), before);
}

static void test_opened_memory_costs_no_space_anything(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_space *small = make_space(rig->dev, 2, 1 << 20);
	struct lent l = lend(rig, 1, 3 << 20);
	uint64_t at[2], a = 0;

	for (unsigned i = 0; i < 2; i++)
		at[i] = open_lent(rig, small, &l);
	assert_int_not_equal(at[0], at[1]);
	assert_int_equal(ops->mem_alloc(small, 1 << 20, &a), 0);
	fill_word(rig, small, at[0], 7);
	assert_int_equal(word_at(rig, small, at[1]), 7);
	close_lent(rig, small, &l, at[0]);
	assert_int_equal(ops->mem_alloc(small, 512, &a), -EDQUOT);
	assert_int_equal(word_at(rig, small, at[1]), 7);
	ops->space_destroy(small); /* with the other one */
	assert_int_equal(word_at(rig, l.space, l.mem), 7);
	ops->backing_destroy(l.backing);
	ops->space_destroy(l.space);
}

/* Its limit is not the device's. */
static void test_freed_memory_that_others_have_is_not_its_spaces(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct lent l = {.space = make_space(rig->dev, 1, 4 << 20), .size = 4 << 20};
	uint64_t again = 0;

	assert_int_equal(ops->mem_alloc(l.space, l.size, &l.mem), 0);
	l.backing = share(rig, &l);
	assert_int_equal(ops->mem_free(l.space, l.mem), 0);
	assert_int_equal(ops->mem_alloc(l.space, l.size, &again), 0);
	assert_int_equal(ops->mem_free(l.space, again), 0);
	ops->backing_destroy(l.backing);
	ops->space_destroy(l.space);
}

static void test_share_of_what_is_no_allocation_is_einval(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct lent l = lend(rig, 1, 3 << 20);
	uint64_t at = open_lent(rig, rig->space, &l), offset, size;
	struct gsb_backing *b = NULL;

	assert_int_equal(ops->mem_share(l.space, l.mem + 512, &b, &offset, &size), -EINVAL);
	assert_int_equal(ops->mem_share(l.space, DEVICE_BASE, &b, &offset, &size), -EINVAL);
	assert_int_equal(ops->mem_share(rig->space, at - l.offset, &b, &offset, &size), -EINVAL);
	assert_int_equal(ops->mem_free(l.space, l.mem), 0);
	assert_int_equal(ops->mem_share(l.space, l.mem, &b, &offset, &size), -EINVAL);
	assert_null(b);
	close_lent(rig, rig->space, &l, at);
	ops->backing_destroy(l.backing);
	ops->space_destroy(l.space);
}

/* Another device, as if of another process. */
static void test_exported_memory_is_the_same_bytes_elsewhere(void **state)
{
	struct rig *rig = *state;
	const char *scheme = rig->dev->ops->scheme;
	const struct gsb_device_params p = {.spec = strcmp(scheme, "cuda") ? scheme : "cuda:0",
					    .n_workers = 1};
	struct lent l = lend(rig, 1, 3 << 20), there = l;
	struct rig other = {0};
	uint64_t at = 0, before, mem;
	char err[256];
	int fd = -1;

	assert_int_equal(gsb_device_open(&p, &other.dev, err, sizeof(err)), 0);
	other.space = make_space(other.dev, 2, 0);
	assert_int_equal(other.dev->ops->queue_create(other.dev, 0, GSB_ALL_SMS, &other.queue), 0);
	before = free_bytes(&other);
	fill_word(rig, l.space, l.mem, 7);
	assert_int_equal(rig->dev->ops->backing_export(l.backing, &fd, &at), 0);
	rig->dev->ops->backing_destroy(l.backing);
	rig->dev->ops->space_destroy(l.space);
	assert_int_equal(other.dev->ops->backing_import(other.dev, fd, at, l.chunk, &there.backing),
			 0);
	close(fd);
	mem = open_lent(&other, other.space, &there);
	assert_int_equal(word_at(&other, other.space, mem), 7);
	assert_int_equal(free_bytes(&other), before);
	close_lent(&other, other.space, &there, mem);
	other.dev->ops->backing_destroy(there.backing);
	assert_int_equal(free_bytes(&other), before);
	other.dev->ops->queue_destroy(other.queue);
	other.dev->ops->space_destroy(other.space);
	other.dev->ops->close(other.dev);
}

/* ---- the same, where every access is checked ---- */

static void test_opened_memory_ends_where_it_ends_and_when_it_is_freed(void **state)
{
	struct rig *rig = *state;
	struct lent l = lend(rig, 1, 4096);
	uint64_t at = open_lent(rig, rig->space, &l);
	struct emu_near near;
	uint32_t word = 1;

	assert_int_equal(store_at(rig, at + 4092), CUDA_SUCCESS);
	assert_int_equal(store_at(rig, at + 4096), CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_true(emu_near_holds(&rig->space->heap, at, 4096));
	assert_false(emu_near_holds(&rig->space->heap, at, 4100));
	close_lent(rig, rig->space, &l, at);
	assert_int_equal(store_at(rig, at), CUDA_ERROR_ILLEGAL_ADDRESS);
	expect_no_copy(rig, rig->space, at, ours(&word));
	near = emu_near_find(&rig->space->heap, at + 8);
	assert_int_equal(near.kind, EMU_NEAR_FREED);
	assert_int_equal(near.start, at);
	rig->dev->ops->backing_destroy(l.backing);
	rig->dev->ops->space_destroy(l.space);
}

/* Others have it, and its own space has not. */
static void test_freed_memory_that_others_have_is_a_hole_of_its_space(void **state)
{
	struct rig *rig = *state;
	struct lent l = {.space = rig->space, .mem = alloc(rig, 4096), .size = 4096};
	struct gsb_space *other = make_space(rig->dev, 1, 0);
	uint32_t word = 1;
	uint64_t at;

	l.backing = share(rig, &l);
	at = open_lent(rig, other, &l);
	assert_int_equal(rig->dev->ops->mem_free(rig->space, l.mem), 0);
	expect_not_given_back(rig, rig->dev->ops->mem_free(rig->space, l.mem));
	assert_int_equal(store_at(rig, l.mem), CUDA_ERROR_ILLEGAL_ADDRESS);
	expect_no_copy(rig, rig->space, l.mem, ours(&word));
	assert_false(emu_near_holds(&rig->space->heap, l.mem, 4));
	assert_int_equal(emu_near_find(&rig->space->heap, l.mem).kind, EMU_NEAR_FREED);
	assert_int_equal(word_at(rig, other, at), 0);
	close_lent(rig, other, &l, at);
	rig->dev->ops->backing_destroy(l.backing);
	rig->dev->ops->space_destroy(other);
}

/* Of a window so small that all of it comes again soon: whether the address does, and with what. */
static bool comes_again(struct rig *rig, const struct lent *l, uint32_t *word)
{
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t addr = 0;

	for (unsigned n = 0; n < 100; n++) {
		assert_int_equal(ops->mem_alloc(l->space, l->size, &addr), 0);
		*word = word_at(rig, l->space, addr);
		assert_int_equal(ops->mem_free(l->space, addr), 0);
		if (addr == l->mem)
			return true;
	}
	return false;
}

static void test_shared_memory_is_not_given_out_before_nobody_has_it(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_space_params p = {.device_base = DEVICE_BASE + SLOT_STRIDE,
				     .device_size = 64 << 20};
	struct lent l = {.size = 1 << 20};
	struct gsb_backing *second;
	uint32_t word = 1;

	assert_int_equal(ops->space_create(rig->dev, &p, &l.space), 0);
	assert_int_equal(ops->mem_alloc(l.space, l.size, &l.mem), 0);
	fill_word(rig, l.space, l.mem, 7);
	l.backing = share(rig, &l);
	second = share(rig, &l);
	assert_int_equal(ops->mem_free(l.space, l.mem), 0);
	ops->backing_destroy(second);
	assert_false(comes_again(rig, &l, &word));
	ops->backing_destroy(l.backing);
	assert_true(comes_again(rig, &l, &word));
	assert_int_equal(word, 0);
	ops->space_destroy(l.space);
}

/* What else was in its space is scrubbed with that, though a part of the file stays. */
static void test_rest_of_a_space_goes_though_others_have_a_part_of_it(void **state)
{
	struct rig *rig = *state;
	struct lent l = lend(rig, 1, 1 << 20);
	struct stat st;
	uint64_t rest = 0, at;
	int fd = -1;

	fill_word(rig, l.space, l.mem, 7);
	assert_int_equal(rig->dev->ops->mem_alloc(l.space, 1 << 20, &rest), 0);
	fill_word(rig, l.space, rest, 8);
	assert_int_equal(rig->dev->ops->backing_export(l.backing, &fd, &at), 0);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_blocks, 2 * 4096 / 512);
	rig->dev->ops->space_destroy(l.space);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_blocks, 4096 / 512);
	rig->dev->ops->backing_destroy(l.backing);
	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(st.st_blocks, 0);
	close(fd);
}

static void test_import_of_what_is_not_in_the_file_is_einval(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	int fd = memfd_create("short", MFD_CLOEXEC), pipes[2];
	struct gsb_backing *b = NULL;

	assert_true(fd >= 0 && !ftruncate(fd, 8192) && !pipe(pipes));
	assert_int_equal(ops->backing_import(rig->dev, fd, 4096, 8192, &b), -EINVAL);
	assert_int_equal(ops->backing_import(rig->dev, fd, 0, 0, &b), -EINVAL);
	assert_int_equal(ops->backing_import(rig->dev, fd, 512, 4096, &b), -EINVAL);
	assert_int_equal(ops->backing_import(rig->dev, fd, UINT64_MAX - 4095, 4096, &b), -EINVAL);
	assert_int_equal(ops->backing_import(rig->dev, pipes[0], 0, 4096, &b), -EINVAL);
	assert_null(b);
	assert_int_equal(ops->backing_import(rig->dev, fd, 4096, 4096, &b), 0);
	assert_int_equal(ops->backing_map(b, 1, AREA_BASE), -EINVAL); /* it is no unit */
	ops->backing_destroy(b);
	close(fd);
	close(pipes[0]);
	close(pipes[1]);
}

static void test_opens_without_end_leave_room_for_another_space(void **state)
{
	struct rig *rig = *state;
	struct lent l = lend(rig, 1, 100);
	uint64_t addr = 0, n = 0;

	while (!rig->dev->ops->mem_open(rig->space, l.backing, &addr))
		assert_in_range(++n, 1, 1 << 20);
	assert_int_equal(rig->dev->ops->mem_alloc(l.space, 4096, &addr), 0);
	rig->dev->ops->backing_destroy(l.backing);
	rig->dev->ops->space_destroy(l.space);
}

/* As large as its file can be, so that the next one has the same part of it. */
static void test_backing_is_scrubbed_before_its_memory_is_used_again(void **state)
{
	struct rig *rig = *state;
	uint32_t word = 0xfeedf00d;

	for (unsigned turn = 0; turn < 2; turn++) {
		struct gsb_backing *b = make_backing(rig, 1, AREA_SIZE / UNIT);

		map_backing(rig, b, 1, AREA_BASE);
		assert_int_equal(word_at(rig, rig->space, AREA_BASE + 64), 0);
		copy(rig, rig->space, AREA_BASE + 64, ours(&word), sizeof(word));
		end_backing(rig, b, 1, AREA_BASE);
	}
}

/* Who makes holes in files: threads of the device wait for the lock, the caller is counted. */
static struct {
	pthread_mutex_t lock;
	_Atomic pthread_t caller;
	_Atomic unsigned n_by_caller;
} holes = {.lock = PTHREAD_MUTEX_INITIALIZER};

int fallocate(int fd, int mode, off_t offset, off_t length)
{
	if (pthread_equal(holes.caller, pthread_self())) {
		holes.n_by_caller++;
	} else {
		pthread_mutex_lock(&holes.lock);
		pthread_mutex_unlock(&holes.lock);
	}
	return (int)syscall(SYS_fallocate, fd, mode, offset, length);
}

/* An allocation by another thread. */
struct allocating {
	struct rig *rig;
	uint64_t size, addr;
	int err;
	_Atomic bool is_done;
};

static void *allocate_beside(void *arg)
{
	struct allocating *a = arg;

	a->err = a->rig->dev->ops->mem_alloc(a->rig->space, a->size, &a->addr);
	a->is_done = true;
	return NULL;
}

/* The engine's thread would serve nobody meanwhile. */
static void test_large_memory_goes_beside_the_caller(void **state)
{
	const uint64_t size = 3 * DEVICE_SIZE / 4;
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t a = alloc(rig, size), b, free_bytes, total;
	struct gsb_backing *backing = make_backing(rig, 1, 64);
	struct allocating all = {.rig = rig, .size = size};
	uint32_t word = 0xfeedf00d;
	pthread_t thread;
	bool is_early;

	copy(rig, rig->space, a + 64, ours(&word), sizeof(word));
	holes.caller = pthread_self();
	holes.n_by_caller = 0;
	pthread_mutex_lock(&holes.lock);
	assert_int_equal(ops->mem_free(rig->space, a), 0);
	ops->backing_destroy(backing);
	ops->mem_info(rig->dev, &free_bytes, &total);
	assert_int_equal(free_bytes, total);
	b = alloc(rig, size / 4); /* of what is not waited for */
	assert_true(b >= a + size);
	assert_int_equal(ops->mem_free(rig->space, b), 0);
	assert_int_equal(pthread_create(&thread, NULL, allocate_beside, &all), 0);
	usleep(20000);
	is_early = all.is_done;
	pthread_mutex_unlock(&holes.lock);
	pthread_join(thread, NULL);
	assert_false(is_early); /* the pages have to be gone for it */
	assert_int_equal(all.err, 0);
	assert_int_equal(word_at(rig, rig->space, a + 64), 0);
	assert_int_equal(ops->mem_free(rig->space, all.addr), 0);
	assert_int_equal(holes.n_by_caller, 0);
	holes.caller = 0;
}

/* As many mappings as the kernel allows are not one owner's. */
static void test_mappings_without_end_leave_room_for_another_owner(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	const uint64_t last = AREA_SIZE / UNIT - 1;
	struct gsb_backing *b = make_backing(rig, 1, 1), *other = make_backing(rig, 2, 1);
	uint64_t n = 0;

	while (n < last && !ops->backing_map(b, 1, AREA_BASE + n * UNIT))
		n++;
	assert_in_range(n, 1, last - 1); /* there is an end */
	assert_int_equal(ops->backing_map(other, 2, AREA_BASE + last * UNIT), 0);
	end_backing(rig, other, 2, AREA_BASE + last * UNIT);
	while (n--)
		ops->backing_unmap(b, 1, AREA_BASE + n * UNIT);
	ops->backing_destroy(b);
}

static unsigned count_maps(void)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	unsigned n = 0;
	int c;

	assert_non_null(maps);
	while ((c = getc(maps)) != EOF)
		n += c == '\n';
	fclose(maps);
	return n;
}

/* A process may have 65,530 of them. */
static void test_unmap_leaves_no_piece_behind(void **state)
{
	struct rig *rig = *state;
	struct gsb_backing *b = make_backing(rig, 1, 1);
	unsigned before;

	map_backing(rig, b, 1, AREA_BASE); /* what the first one makes */
	rig->dev->ops->backing_unmap(b, 1, AREA_BASE);
	before = count_maps();
	for (unsigned i = 0; i < 16; i++)
		map_backing(rig, b, 1, AREA_BASE + 2 * i * UNIT);
	for (unsigned i = 0; i < 16; i++)
		rig->dev->ops->backing_unmap(b, 1, AREA_BASE + 2 * i * UNIT);
	assert_in_range(count_maps(), 0, before + 4);
	rig->dev->ops->backing_destroy(b);
}

static void test_close_leaves_no_piece_behind(void **state)
{
	struct rig *rig = *state;
	struct lent l = lend(rig, 1, 4096);
	unsigned before = count_maps();
	uint64_t at[16];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(at); i++)
		at[i] = open_lent(rig, rig->space, &l);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(at); i++)
		close_lent(rig, rig->space, &l, at[i]);
	assert_in_range(count_maps(), 0, before + 4);
	rig->dev->ops->backing_destroy(l.backing);
	rig->dev->ops->space_destroy(l.space);
}

static void test_unmap_under_work_is_noticed(void **state)
{
	struct rig *rig = *state;
	struct gsb_backing *b = make_backing(rig, 1, 1);
	struct gsb_cmd cmd = copy_cmd(rig->space, AREA_BASE, AREA_BASE + 64, 4);
	uint64_t before;

	map_backing(rig, b, 1, AREA_BASE);
	before = gsb_emu_frees_under_work(rig->dev);
	cmd.not_before_ns = rig->dev->ops->now_ns(rig->dev) + 1000000; /* it has not begun */
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	rig->dev->ops->backing_unmap(b, 1, AREA_BASE);
	assert_int_equal(gsb_emu_frees_under_work(rig->dev), before + 1);
	assert_int_equal(collect_one(rig).result, CUDA_ERROR_ILLEGAL_ADDRESS);
	rig->dev->ops->backing_destroy(b);
}

/* In a window so small that the address comes again soon. */
static void test_freed_memory_is_scrubbed_before_it_is_used_again(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_space_params p = {.device_base = DEVICE_BASE + SLOT_STRIDE,
				     .device_size = 64 << 20};
	static unsigned char bytes[1 << 20];
	struct gsb_space *space = NULL;
	uint64_t first = 0, addr = 0;
	unsigned n = 0;

	assert_int_equal(ops->space_create(rig->dev, &p, &space), 0);
	memset(bytes, 0x5a, sizeof(bytes));
	assert_int_equal(ops->mem_alloc(space, sizeof(bytes), &first), 0);
	copy(rig, space, first, ours(bytes), sizeof(bytes));
	assert_int_equal(ops->mem_free(space, first), 0);
	do {
		assert_int_equal(ops->mem_alloc(space, sizeof(bytes), &addr), 0);
		if (addr != first)
			assert_int_equal(ops->mem_free(space, addr), 0);
	} while (addr != first && ++n < 100);
	assert_int_equal(addr, first);
	copy(rig, space, ours(bytes), addr, sizeof(bytes));
	for (size_t i = 0; i < sizeof(bytes); i++)
		assert_int_equal(bytes[i], 0);
	ops->space_destroy(space);
}

/* Two spaces of one owner, one behind the other. */
struct pair {
	struct gsb_space *space[2];
	uint64_t mem[2]; /* a page of each */
};

static struct gsb_space *make_neighbour(struct rig *rig, unsigned i, int want)
{
	const uint64_t window = DEVICE_BASE + 2 * SLOT_STRIDE;
	struct gsb_space_params p = {.device_base = window + i * DEVICE_SIZE,
				     .device_size = DEVICE_SIZE,
				     .owner_base = window,
				     .owner_size = 2 * DEVICE_SIZE,
				     .owner = 7};
	struct gsb_space *space = NULL;

	assert_int_equal(rig->dev->ops->space_create(rig->dev, &p, &space), want);
	return space;
}

static struct pair make_pair(struct rig *rig)
{
	struct pair p;

	for (unsigned i = 0; i < 2; i++) {
		p.space[i] = make_neighbour(rig, i, 0);
		assert_int_equal(rig->dev->ops->mem_alloc(p.space[i], 4096, &p.mem[i]), 0);
	}
	return p;
}

static void test_copies_reach_the_memory_of_all_spaces_of_the_owner(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct pair p = make_pair(rig);

	fill_word(rig, p.space[0], p.mem[1], 5);
	assert_int_equal(word_at(rig, p.space[0], p.mem[1]), 5);
	copy(rig, p.space[0], p.mem[0], p.mem[1], 4);
	assert_int_equal(word_at(rig, p.space[1], p.mem[0]), 5);
	ops->space_destroy(p.space[1]);
	assert_int_equal(word_at(rig, p.space[0], p.mem[0]), 5);
	ops->space_destroy(p.space[0]);
}

/* And of no other's. Where one has ended there is nothing, until the next one comes. */
static void test_kernels_reach_the_memory_of_all_spaces_of_the_owner(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct pair p = make_pair(rig);
	struct gsb_space *first = rig->space;

	assert_int_equal(store_at(rig, p.mem[0]), CUDA_ERROR_ILLEGAL_ADDRESS);
	ops->module_unload(rig->module);
	rig->module = NULL;
	rig->space = p.space[0];
	assert_int_equal(store_at(rig, p.mem[1]), CUDA_SUCCESS);
	assert_int_equal(word_at(rig, p.space[1], p.mem[1]), 5);
	assert_int_equal(ops->mem_free(p.space[1], p.mem[1]), 0);
	expect_no_copy(rig, p.space[0], p.mem[0], p.mem[1]);
	ops->space_destroy(p.space[1]);
	assert_int_equal(store_at(rig, p.mem[1]), CUDA_ERROR_ILLEGAL_ADDRESS);
	make_neighbour(rig, 0, -EEXIST);
	p.space[1] = make_neighbour(rig, 1, 0);
	assert_int_equal(ops->mem_alloc(p.space[1], 4096, &p.mem[1]), 0);
	assert_int_equal(word_at(rig, p.space[0], p.mem[1]), 0);
	ops->space_destroy(p.space[0]);
	assert_int_equal(word_at(rig, p.space[1], p.mem[1]), 0);
	ops->space_destroy(p.space[1]);
	rig->module = NULL;
	rig->space = first;
}

/* CUDA promises nothing of what is there afterwards; here it is what was at the source before. */
static void test_copy_into_its_own_source_moves_it(void **state)
{
	struct rig *rig = *state;
	uint8_t in[4096], out[4096];
	uint64_t dev = alloc(rig, sizeof(in));

	for (unsigned i = 0; i < sizeof(in); i++)
		in[i] = (uint8_t)(i * 7 + i / 256);
	copy(rig, rig->space, dev, ours(in), sizeof(in));
	copy(rig, rig->space, dev + 100, dev, 3000);
	copy(rig, rig->space, ours(out), dev, sizeof(out));
	memmove(in + 100, in, 3000);
	assert_memory_equal(out, in, sizeof(in));
	copy(rig, rig->space, dev, dev + 100, 3000);
	copy(rig, rig->space, ours(out), dev, sizeof(out));
	memmove(in, in + 100, 3000);
	assert_memory_equal(out, in, sizeof(in));
}

static void test_copy_rows_leaves_what_is_between(void **state)
{
	struct rig *rig = *state;
	uint64_t a = alloc(rig, 4096);
	unsigned char in[3][10], out[100];
	struct gsb_cmd cmd = {.kind = GSB_CMD_COPY, .space = rig->space};

	for (unsigned i = 0; i < 30; i++)
		in[i / 10][i % 10] = (unsigned char)(i + 1);
	cmd.copy = (struct gsb_cmd_copy){a, to_addr(in), 8, 3, 32, 10, .src_is_ours = true};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	copy(rig, rig->space, ours(out), a, sizeof(out));
	for (unsigned i = 0; i < 96; i++)
		assert_int_equal(out[i], i % 32 < 8 ? in[i / 32][i % 32] : 0);
}

static void test_fill_writes_each_element_size(void **state)
{
	struct rig *rig = *state;
	uint64_t a = alloc(rig, 4096);
	uint32_t out[8];
	struct gsb_cmd cmd = {.kind = GSB_CMD_FILL, .space = rig->space};

	cmd.fill = (struct gsb_cmd_fill){a, 4, 1, 0, 0x11, 1};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	cmd.fill = (struct gsb_cmd_fill){a + 4, 2, 1, 0, 0x2233, 2};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	cmd.fill = (struct gsb_cmd_fill){a + 8, 2, 2, 12, 0x44556677, 4};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	copy(rig, rig->space, ours(out), a, sizeof(out));
	assert_int_equal(out[0], 0x11111111);
	assert_int_equal(out[1], 0x22332233);
	assert_int_equal(out[2], 0x44556677);
	assert_int_equal(out[3], 0x44556677);
	assert_int_equal(out[4], 0);
	assert_int_equal(out[5], 0x44556677);
	assert_int_equal(out[6], 0x44556677);
	assert_int_equal(out[7], 0);
	cmd.fill = (struct gsb_cmd_fill){a, 1, 1, 0, 0, 3};
	expect_refused(rig, rig->queue, &cmd, -EINVAL);
	cmd.fill = (struct gsb_cmd_fill){a + 2, 1, 1, 0, 0, 4};
	expect_refused(rig, rig->queue, &cmd, -EINVAL);
}

/* A GPU is told of few bytes in other ways than of many, some of them once in a while. */
static void test_few_bytes_are_set_and_none_beside_them(void **state)
{
	struct rig *rig = *state;
	uint64_t a = alloc(rig, 4096);
	unsigned char want[64] = {0}, out[64], in[12];

	for (unsigned i = 0; i < 240; i++) {
		unsigned width = 1 + i % sizeof(in), at = i * 7 % (sizeof(want) - sizeof(in));

		for (unsigned k = 0; k < width; k++)
			in[k] = want[at + k] = (unsigned char)(i + k);
		copy(rig, rig->space, a + at, ours(in), width);
		copy(rig, rig->space, ours(out), a, sizeof(out));
		assert_memory_equal(out, want, sizeof(out));
	}
}

static void test_few_elements_are_filled_and_none_beside_them(void **state)
{
	struct rig *rig = *state;
	uint64_t a = alloc(rig, 4096);
	unsigned char want[64] = {0}, out[64];

	for (unsigned i = 0; i < 240; i++) {
		uint32_t bytes = 1u << i % 3, n = 1 + i / 3 % 8, at = i * 5 % 32 * bytes % 32;
		uint32_t value = 0x01020304 * i;
		struct gsb_cmd cmd = {.kind = GSB_CMD_FILL,
				      .space = rig->space,
				      .fill = {a + at, n, 1, 0, value, bytes}};

		for (unsigned k = 0; k < n; k++)
			memcpy(want + at + k * bytes, &value, bytes);
		assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
		assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
		copy(rig, rig->space, ours(out), a, sizeof(out));
		assert_memory_equal(out, want, sizeof(out));
	}
}

/* What this process has of files in memory, as the emulated device's memory is. */
static uint64_t resident_bytes(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	assert_non_null(f);
	assert_int_equal(fscanf(f, "%*u %*u %lu", &pages), 1);
	fclose(f);
	return pages * 4096;
}

/* All of it but three elements at each end. */
static void clear_inside(struct rig *rig, uint64_t a, uint64_t size, uint32_t elem)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_FILL,
			      .space = rig->space,
			      .fill = {a, size / 4, 1, 0, 0x11111111, 4}};

	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	cmd.fill = (struct gsb_cmd_fill){a + 3 * elem, size / elem - 6, 1, 0, 0, elem};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
}

static void expect_clear_inside(uint64_t a, uint64_t size, uint32_t elem)
{
	const unsigned char *bytes = (const unsigned char *)(uintptr_t)a;

	for (uint64_t i = 0; i < size; i += i >= 8192 && i < size - 8192 ? 509 : 1)
		assert_int_equal(bytes[i], i < 3 * elem || i >= size - 3 * elem ? 0x11 : 0);
}

static void test_zeroes_of_many_pages_take_no_memory(void **state)
{
	const uint64_t size = (64ull << 20) + 4 * 4096;
	struct rig *rig = *state;

	for (uint32_t elem = 1; elem <= 4; elem *= 2) {
		uint64_t was = resident_bytes(), a = alloc(rig, size);

		clear_inside(rig, a, size, elem);
		assert_true(resident_bytes() < was + (16 << 20));
		expect_clear_inside(a, size, elem);
		assert_int_equal(rig->dev->ops->mem_free(rig->space, a), 0);
	}
}

/* Locked pages are not taken back. */
static void test_zeroes_of_pages_that_stay_are_written(void **state)
{
	const uint64_t size = 65ull << 20;
	struct rig *rig = *state;
	uint64_t a = alloc(rig, size);
	void *page = (void *)(uintptr_t)(a + (32 << 20));

	assert_int_equal(mlock(page, 4096), 0);
	clear_inside(rig, a, size, 4);
	assert_int_equal(munlock(page, 4096), 0);
	expect_clear_inside(a, size, 4);
	assert_int_equal(rig->dev->ops->mem_free(rig->space, a), 0);
}

static void test_copy_of_memory_that_is_not_allocated_fails_alone(void **state)
{
	struct rig *rig = *state;
	uint64_t a = alloc(rig, 4096);
	static unsigned char buf[8192];
	struct gsb_cmd cmds[] = {
		copy_cmd(rig->space, ours(buf), a, 4097),
		copy_cmd(rig->space, a + 4096, ours(buf), 1),
		copy_cmd(rig->space, DEVICE_BASE + DEVICE_SIZE - 1, ours(buf), 1),
		copy_cmd(rig->space, ours(buf), a, UINT64_MAX),
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(cmds); i++) {
		assert_int_equal(rig->dev->ops->issue(rig->queue, &cmds[i]), 0);
		assert_int_equal(collect_one(rig).result, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
	copy(rig, rig->space, ours(buf), a, 4096);
	assert_int_equal(rig->dev->ops->mem_free(rig->space, a), 0);
	cmds[0] = copy_cmd(rig->space, ours(buf), a, 1);
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmds[0]), 0);
	assert_int_equal(collect_one(rig).result, CUDA_ERROR_ILLEGAL_ADDRESS);
}

/* ---- arrays, and what reads them ---- */

#define ARRAY_STEPS 200

/* An array beside what it is to hold, as base/array.h lays it out. */
struct canvas {
	struct gsb_array is;
	uint64_t addr, bytes;
	unsigned char *want, *in;
};

static struct canvas make_canvas(struct rig *rig, struct gsb_array is)
{
	struct canvas c = {.is = is, .bytes = gsb_array_bytes(&is)};

	c.want = calloc(1, c.bytes);
	c.in = malloc(c.bytes);
	for (uint64_t i = 0; i < c.bytes; i++)
		c.in[i] = (unsigned char)rand();
	assert_int_equal(rig->dev->ops->array_alloc(rig->space, &is, &c.addr), 0);
	return c;
}

/* Row by row: what lies between rows is nowhere. */
static void check_canvas(struct rig *rig, struct canvas *c)
{
	unsigned char *out = malloc(c->bytes);
	struct gsb_array_level l;

	for (unsigned k = 0; k < gsb_array_n_levels(&c->is); k++) {
		gsb_array_find_level(&c->is, k, &l);
		for (uint64_t i = 0; i < (uint64_t)l.n_rows * l.n_slices; i++) {
			uint64_t at = l.offset + i * l.pitch_bytes;

			copy(rig, rig->space, ours(out), c->addr + at, l.row_bytes);
			assert_memory_equal(out, c->want + at, l.row_bytes);
		}
	}
	free(out);
}

static void free_canvas(struct rig *rig, struct canvas *c)
{
	assert_int_equal(rig->dev->ops->mem_free(rig->space, c->addr), 0);
	free(c->want);
	free(c->in);
}

static uint64_t draw(uint64_t n)
{
	return (uint64_t)rand() % n;
}

/* Some rows of a slice or of more, or a line that begins and ends anywhere; in a level. */
static void draw_copy(struct canvas *c, struct gsb_cmd_copy *out, uint64_t *offset)
{
	struct gsb_array_level l;
	uint64_t x, y;

	gsb_array_find_level(&c->is, (unsigned)draw(gsb_array_n_levels(&c->is)), &l);
	x = draw(l.row_bytes);
	y = draw(l.n_rows);
	*offset = l.offset + draw(l.n_slices) * l.slice_bytes + y * l.pitch_bytes + x;
	out->height = 1 + draw(l.n_rows - y);
	if (y + 1 == l.n_rows &&
	    *offset + 3 * l.pitch_bytes < l.offset + l.slice_bytes * l.n_slices)
		out->height = 4;
	out->width = 1 + draw(l.row_bytes - x);
	out->dst_pitch = out->src_pitch = l.pitch_bytes;
	if (l.row_bytes == l.pitch_bytes && draw(2)) {
		out->width = 1 + draw((l.n_rows - y) * l.row_bytes - x);
		out->height = 1;
	}
}

static void step_canvas(struct rig *rig, struct canvas *c)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_COPY, .space = rig->space};
	uint64_t offset;

	draw_copy(c, &cmd.copy, &offset);
	cmd.copy.dst = c->addr + offset;
	cmd.copy.src = to_addr(c->in + offset);
	cmd.copy.src_is_ours = true;
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	for (uint64_t i = 0; i < cmd.copy.height; i++)
		memcpy(c->want + offset + i * cmd.copy.dst_pitch,
		       c->in + offset + i * cmd.copy.src_pitch, cmd.copy.width);
	for (uint64_t i = 0; i < c->bytes; i++)
		c->in[i] = (unsigned char)(c->in[i] * 5 + 1);
}

static const struct gsb_array array_kinds[] = {
	{.width = 19, .format = CU_AD_FORMAT_UNSIGNED_INT8, .n_channels = 1},
	{.width = 8, .height = 9, .format = CU_AD_FORMAT_FLOAT, .n_channels = 1},
	{.width = 37, .height = 21, .format = CU_AD_FORMAT_HALF, .n_channels = 2},
	{.width = 16,
	 .height = 5,
	 .depth = 7,
	 .format = CU_AD_FORMAT_SIGNED_INT32,
	 .n_channels = 4},
	{.width = 30,
	 .height = 4,
	 .depth = 3,
	 .flags = CUDA_ARRAY3D_LAYERED,
	 .format = CU_AD_FORMAT_SIGNED_INT16,
	 .n_channels = 1},
	{.width = 32, .height = 32, .format = CU_AD_FORMAT_FLOAT, .n_channels = 1, .n_levels = 6},
	{.width = 8,
	 .height = 8,
	 .depth = 6,
	 .flags = CUDA_ARRAY3D_CUBEMAP,
	 .format = CU_AD_FORMAT_UNSIGNED_INT8,
	 .n_channels = 4,
	 .n_levels = 3},
};

static void test_array_holds_what_is_copied_into_it(void **state)
{
	struct rig *rig = *state;

	for (size_t k = 0; k < GSB_ARRAY_LEN(array_kinds); k++) {
		struct canvas c = make_canvas(rig, array_kinds[k]);

		check_canvas(rig, &c); /* zero */
		for (int i = 0; i < ARRAY_STEPS; i++)
			step_canvas(rig, &c);
		check_canvas(rig, &c);
		free_canvas(rig, &c);
	}
}

/* Also where neither has rows that lie as the other's. */
static void test_arrays_are_copied_into_each_other(void **state)
{
	struct rig *rig = *state;
	struct canvas from = make_canvas(rig, array_kinds[2]);
	struct canvas into = make_canvas(rig, array_kinds[1]);
	struct gsb_cmd cmd = {.kind = GSB_CMD_COPY, .space = rig->space};
	struct gsb_array_level l;

	gsb_array_find_level(&from.is, 0, &l);
	for (uint64_t y = 0; y < l.n_rows; y++)
		copy(rig, rig->space, from.addr + y * l.pitch_bytes,
		     ours(from.in + y * l.pitch_bytes), l.row_bytes);
	cmd.copy = (struct gsb_cmd_copy){
		into.addr + 4, from.addr + 3 * l.pitch_bytes + 10, 20, 5, 32, l.pitch_bytes};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	for (uint64_t y = 0; y < 5; y++)
		memcpy(into.want + 4 + y * 32, from.in + (3 + y) * l.pitch_bytes + 10, 20);
	cmd.copy = (struct gsb_cmd_copy){into.addr + 32 * 5 + 20, from.addr + 2, 100, 1, 0, 0};
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	memcpy(into.want + 32 * 5 + 20, from.in + 2, 100);
	check_canvas(rig, &into);
	free_canvas(rig, &from);
	free_canvas(rig, &into);
}

/* Nor between levels; and nothing of such a copy is made. */
static void test_copy_over_what_lies_between_rows_is_refused(void **state)
{
	struct rig *rig = *state;
	struct canvas padded = make_canvas(rig, array_kinds[2]);
	struct canvas levels = make_canvas(rig, array_kinds[5]);
	struct gsb_array_level first, third;
	struct gsb_cmd cmds[4];

	gsb_array_find_level(&padded.is, 0, &first);
	gsb_array_find_level(&levels.is, 2, &third);
	cmds[0] = copy_cmd(rig->space, padded.addr, ours(padded.in), first.row_bytes + 1);
	cmds[1] = copy_cmd(rig->space, ours(padded.in), padded.addr, padded.bytes);
	cmds[2] = copy_cmd(rig->space, padded.addr + first.row_bytes, ours(padded.in), 1);
	cmds[3] = copy_cmd(rig->space, ours(levels.in), levels.addr + third.offset,
			   third.slice_bytes + 1);
	for (size_t i = 0; i < GSB_ARRAY_LEN(cmds); i++)
		expect_refused(rig, rig->queue, &cmds[i], -EINVAL);
	check_canvas(rig, &padded);
	free_canvas(rig, &padded);
	free_canvas(rig, &levels);
}

static void test_fresh_array_is_zero_also_after_another_owner(void **state)
{
	struct rig *rig = *state;
	struct gsb_space *other = make_space(rig->dev, 1, 0), *mine = rig->space;

	for (size_t k = 0; k < GSB_ARRAY_LEN(array_kinds); k++) {
		struct canvas c;

		rig->space = other;
		c = make_canvas(rig, array_kinds[k]);
		step_canvas(rig, &c);
		free(c.want);
		free(c.in);
	}
	rig->dev->ops->space_destroy(other);
	rig->space = mine;
	for (size_t k = 0; k < GSB_ARRAY_LEN(array_kinds); k++) {
		struct canvas c = make_canvas(rig, array_kinds[k]);

		check_canvas(rig, &c);
		free_canvas(rig, &c);
	}
}

static void test_array_is_counted_and_freed(void **state)
{
	const struct gsb_array large = {
		.width = 1024, .height = 1024, .format = CU_AD_FORMAT_FLOAT, .n_channels = 1};
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t cost = ops->mem_cost(rig->dev, ops->array_bytes(rig->dev, &large));
	uint64_t before, after, total, a[4], more;

	assert_in_range(cost, 4 << 20, 8 << 20);
	ops->space_limit(rig->space, 4 * cost);
	ops->mem_info(rig->dev, &before, &total);
	for (int i = 0; i < 4; i++)
		assert_int_equal(ops->array_alloc(rig->space, &large, &a[i]), 0);
	ops->mem_info(rig->dev, &after, &total);
	assert_int_equal(before - after, 4 * cost);
	assert_int_equal(ops->array_alloc(rig->space, &large, &more), -EDQUOT);
	assert_int_equal(ops->mem_alloc(rig->space, cost, &more), -EDQUOT);
	assert_int_equal(ops->mem_free(rig->space, a[2]), 0);
	expect_not_given_back(rig, ops->mem_free(rig->space, a[2]));
	expect_not_given_back(rig, ops->mem_free(rig->space, a[1] + 512));
	assert_int_equal(ops->mem_alloc(rig->space, cost, &more), 0);
	assert_int_equal(ops->mem_free(rig->space, more), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(ops->mem_free(rig->space, a[i]),
				 i == 2 && !is_lanes(rig->dev) ? -EINVAL : 0);
	ops->mem_info(rig->dev, &after, &total);
	assert_int_equal(before, after);
}

static void test_array_that_no_device_has_is_einval(void **state)
{
	const struct gsb_array bad[] = {
		{.width = 64,
		 .height = 32,
		 .depth = 6,
		 .flags = CUDA_ARRAY3D_CUBEMAP,
		 .format = CU_AD_FORMAT_FLOAT,
		 .n_channels = 1},
		{.width = 131072,
		 .height = 131072,
		 .format = CU_AD_FORMAT_UNSIGNED_INT8,
		 .n_channels = 1},
	};
	struct rig *rig = *state;
	uint64_t addr;

	for (size_t i = 0; i < GSB_ARRAY_LEN(bad); i++)
		assert_true(rig->dev->ops->array_alloc(rig->space, &bad[i], &addr) < 0);
}

static void test_array_is_neither_filled_nor_left(void **state)
{
	struct rig *rig = *state;
	struct canvas c = make_canvas(rig, array_kinds[1]);
	struct gsb_cmd cmds[] = {
		{.kind = GSB_CMD_FILL, .fill = {c.addr, 8, 1, 0, 7, 4}},
		copy_cmd(rig->space, ours(c.in), c.addr, c.bytes + 1),
		copy_cmd(rig->space, ours(c.in), c.addr + c.bytes, 1),
	};

	for (size_t i = 0; i < GSB_ARRAY_LEN(cmds); i++) {
		cmds[i].space = rig->space;
		assert_int_equal(rig->dev->ops->issue(rig->queue, &cmds[i]), 0);
		assert_int_equal(collect_one(rig).result, CUDA_ERROR_ILLEGAL_ADDRESS);
	}
	check_canvas(rig, &c);
	free_canvas(rig, &c);
}

/* As the library says it, of an array of floats that is at the address. */
static struct gsb_texture view_of(const struct gsb_array *is, uint64_t addr)
{
	struct gsb_array_level l;

	gsb_array_find_level(is, 0, &l);
	return (struct gsb_texture){
		.mark = GSB_TEXTURE_MARK,
		.base = addr,
		.pitch_bytes = l.pitch_bytes,
		.slice_bytes = l.slice_bytes,
		.width = l.width,
		.height = l.n_rows,
		.depth = l.n_slices,
		.format = is->format,
		.n_channels = is->n_channels,
		.address = {CU_TR_ADDRESS_MODE_CLAMP, CU_TR_ADDRESS_MODE_CLAMP,
			    CU_TR_ADDRESS_MODE_CLAMP},
		.resource = CU_RESOURCE_TYPE_ARRAY,
	};
}

/* What a kernel reads there, one row a block. */
static void sample(struct rig *rig, uint64_t handle, uint32_t width, uint32_t height, float *out)
{
	uint64_t p = alloc(rig, 8 + 4ull * width * height);

	copy(rig, rig->space, p, ours(&handle), 8);
	launch(rig, rig->queue, (struct shot){"sample", height, width, {p, 0}, 0});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	copy(rig, rig->space, ours(out), p + 8, 4ull * width * height);
	assert_int_equal(rig->dev->ops->mem_free(rig->space, p), 0);
}

static void test_texture_reads_its_array(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	const struct gsb_array is = {
		.width = 8, .height = 6, .format = CU_AD_FORMAT_FLOAT, .n_channels = 1};
	float in[48], out[8 * 8];
	struct gsb_texture view;
	uint64_t addr, handle;

	for (int i = 0; i < 48; i++)
		in[i] = (float)i * 0.25f;
	assert_int_equal(ops->array_alloc(rig->space, &is, &addr), 0);
	copy(rig, rig->space, addr, ours(in), sizeof(in));
	view = view_of(&is, addr);
	assert_int_equal(ops->texture_create(rig->space, &view, false, &handle), 0);
	sample(rig, handle, 8, 8, out);
	for (int i = 0; i < 64; i++)
		assert_true(out[i] == in[i < 48 ? i : 40 + i % 8]); /* the last row goes on */
	assert_int_equal(ops->texture_destroy(rig->space, handle, true), -EINVAL);
	assert_int_equal(ops->texture_destroy(rig->space, handle, false), 0);
	assert_int_equal(ops->texture_destroy(rig->space, handle, false), -EINVAL);
	assert_int_equal(ops->mem_free(rig->space, addr), 0);
}

static void test_texture_reads_rows_of_memory(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t addr = alloc(rig, 4 * 256), handle;
	struct gsb_texture view = {
		.mark = GSB_TEXTURE_MARK,
		.base = addr,
		.pitch_bytes = 256,
		.slice_bytes = 1024,
		.width = 8,
		.height = 4,
		.depth = 1,
		.format = CU_AD_FORMAT_FLOAT,
		.n_channels = 1,
		.address = {CU_TR_ADDRESS_MODE_BORDER, CU_TR_ADDRESS_MODE_BORDER},
		.border = {-1, 0, 0, 0},
		.resource = CU_RESOURCE_TYPE_PITCH2D,
	};
	float in[8], out[9 * 5];

	for (int y = 0; y < 4; y++) {
		for (int x = 0; x < 8; x++)
			in[x] = (float)(10 * y + x);
		copy(rig, rig->space, addr + 256 * (uint64_t)y, ours(in), sizeof(in));
	}
	assert_int_equal(ops->texture_create(rig->space, &view, false, &handle), 0);
	sample(rig, handle, 9, 5, out);
	for (int i = 0; i < 45; i++)
		assert_true(out[i] ==
			    (i % 9 < 8 && i / 9 < 4 ? (float)(10 * (i / 9) + i % 9) : -1));
	view.height = 5; /* the last row is not there */
	assert_int_equal(ops->texture_create(rig->space, &view, false, &handle), -EINVAL);
}

/* The driver does not look where a line of texels ends; a window is left by nobody all the same. */
static void test_texture_of_a_line_may_pass_the_end_of_its_memory(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t addr = alloc(rig, 512), handle;
	struct gsb_texture view = {
		.mark = GSB_TEXTURE_MARK,
		.base = addr,
		.width = 64, /* of which 32 are there */
		.height = 1,
		.depth = 1,
		.format = CU_AD_FORMAT_FLOAT,
		.n_channels = 4,
		.resource = CU_RESOURCE_TYPE_LINEAR,
	};

	assert_int_equal(ops->texture_create(rig->space, &view, false, &handle), 0);
	assert_int_equal(ops->texture_destroy(rig->space, handle, false), 0);
	view.width = (uint32_t)((DEVICE_BASE + DEVICE_SIZE - addr) / 16) + 1;
	assert_int_equal(ops->texture_create(rig->space, &view, false, &handle), -EINVAL);
	view.base = addr + DEVICE_SIZE / 2; /* where nothing is */
	view.width = 1;
	assert_int_equal(ops->texture_create(rig->space, &view, false, &handle), -EINVAL);
}

/* Of malloc() in kernels: all spaces of a GPU's context share it. */
static void test_heap_of_kernels_grows_and_stays(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t before, now;

	assert_int_equal(ops->heap_size(rig->space, 0, &before), 0);
	assert_true(before > 0);
	assert_int_equal(ops->heap_size(rig->space, before + (32 << 20), &now), 0);
	assert_true(now >= before + (32 << 20));
	assert_int_equal(ops->heap_size(rig->space, 1 << 20, &before), 0);
	assert_int_equal(before, now);
	assert_int_equal(ops->heap_size(rig->space, 1ull << 40, &now), -ENOMEM);
}

static void test_surface_writes_into_its_array(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	const struct gsb_array is = {.width = 8,
				     .height = 6,
				     .flags = CUDA_ARRAY3D_SURFACE_LDST,
				     .format = CU_AD_FORMAT_UNSIGNED_INT32,
				     .n_channels = 1};
	uint64_t addr, handle, p = alloc(rig, 8);
	struct gsb_texture view;
	uint32_t out[48];

	assert_int_equal(ops->array_alloc(rig->space, &is, &addr), 0);
	view = view_of(&is, addr);
	assert_int_equal(ops->texture_create(rig->space, &view, true, &handle), 0);
	copy(rig, rig->space, p, ours(&handle), 8);
	launch(rig, rig->queue, (struct shot){"paint", 6, 8, {p, 1000}, 0});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	copy(rig, rig->space, ours(out), addr, sizeof(out));
	for (uint32_t i = 0; i < 48; i++)
		assert_int_equal(out[i], 1000 + i);
	assert_int_equal(ops->mem_free(rig->space, addr), 0);
	assert_int_equal(ops->texture_destroy(rig->space, handle, true), 0); /* went with it */
}

/* A view is hostile: of others' memory, of none, and of what is no view. */
static void test_texture_of_what_is_not_its_own_is_einval(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_space *other = make_space(rig->dev, 1, 0);
	const struct gsb_array is = array_kinds[1];
	uint64_t mine, memory, theirs, handle;
	struct gsb_texture good, bad[9];

	assert_int_equal(ops->array_alloc(rig->space, &is, &mine), 0);
	assert_int_equal(ops->array_alloc(other, &is, &theirs), 0);
	assert_int_equal(ops->mem_alloc(other, 4096, &memory), 0);
	good = view_of(&is, mine);
	for (size_t i = 0; i < GSB_ARRAY_LEN(bad); i++)
		bad[i] = good;
	bad[0].base = theirs;
	bad[1].base = mine + 32;
	bad[2].base = memory;
	bad[2].resource = CU_RESOURCE_TYPE_PITCH2D;
	bad[3].resource = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
	bad[4].resource = CU_RESOURCE_TYPE_PITCH2D; /* an array is no memory */
	bad[5].mark++;
	bad[6].filter = 2;
	bad[7].format = 99;
	bad[8].resource = 17;
	for (size_t i = 0; i < GSB_ARRAY_LEN(bad); i++)
		assert_int_equal(ops->texture_create(rig->space, &bad[i], false, &handle), -EINVAL);
	assert_int_equal(ops->texture_create(rig->space, &good, false, &handle), 0);
	assert_int_equal(ops->texture_destroy(other, handle, false), -EINVAL);
	ops->space_destroy(other);
	assert_int_equal(ops->texture_destroy(rig->space, handle, false), 0);
}

/* ---- launches ---- */

static void test_launch_runs_every_thread_of_every_block(void **state)
{
	struct rig *rig = *state;
	enum { BLOCKS = 300, THREADS = 96 };
	uint64_t a = alloc(rig, 4 * BLOCKS * THREADS);
	static uint32_t out[BLOCKS * THREADS];
	struct gsb_completion c;

	launch(rig, rig->queue, (struct shot){"store", BLOCKS, THREADS, {a, 1000}, 77});
	c = collect_one(rig);
	assert_int_equal(c.cookie, 77);
	assert_int_equal(c.result, CUDA_SUCCESS);
	assert_string_equal(c.detail, "");
	assert_int_equal(c.n_blocks, BLOCKS);
	if (c.blocks_ns)
		assert_in_range(c.blocks_ns, c.end_ns - c.start_ns,
				BLOCKS * (c.end_ns - c.start_ns));
	if (c.n_instructions)
		assert_true(c.n_instructions >= BLOCKS * (THREADS / 32) * 10);
	assert_true(c.start_ns < c.end_ns);
	copy(rig, rig->space, ours(out), a, sizeof(out));
	for (unsigned i = 0; i < BLOCKS * THREADS; i++)
		assert_int_equal(out[i], 1000 + i / THREADS);
}

static void test_queue_keeps_order(void **state)
{
	struct rig *rig = *state;
	uint64_t a = alloc(rig, 4096);
	uint32_t first = 0;
	struct gsb_cmd cmd = copy_cmd(rig->space, ours(&first), a, 4);
	struct gsb_completion c[3];

	launch(rig, rig->queue, (struct shot){"loop", 1, 32, {a, 10000}, 0});
	cmd.cookie = 1;
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	launch(rig, rig->queue, (struct shot){"set", 1, 1, {a, 5}, 2});
	collect(rig, c, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(c[i].cookie, i);
		assert_true(!i || c[i].start_ns >= c[i - 1].end_ns);
	}
	assert_int_equal(first, 10000);
	assert_int_equal(word_at(rig, rig->space, a), 5);
}

static void test_queues_run_side_by_side(void **state)
{
	struct rig *rig = *state;
	struct gsb_queue *second = another_queue(rig, 0);
	uint64_t a = alloc(rig, 4096);
	struct gsb_completion c[2];

	launch(rig, rig->queue, (struct shot){"loop", 4, 32, {a, 20000}, 0});
	launch(rig, second, (struct shot){"loop", 4, 32, {a + 64, 20000}, 1});
	collect(rig, c, 2);
	assert_true(c[0].start_ns < c[1].end_ns && c[1].start_ns < c[0].end_ns);
	rig->dev->ops->queue_destroy(second);
}

/* One kernel waits for a word that the other writes: both are resident, so both get on. */
static void test_blocks_that_wait_for_each_other_finish(void **state)
{
	struct rig *rig = *state;
	struct gsb_queue *second = another_queue(rig, 0);
	uint64_t a = alloc(rig, 4096);
	struct gsb_completion c[3];

	rig->module = load(rig, rig->space);
	kernel(rig, rig->module, "loop"); /* to load a kernel may wait for those that run */
	kernel(rig, rig->module, "set");
	launch(rig, rig->queue, (struct shot){"spin", 8, 64, {a}, 0});
	launch(rig, second, (struct shot){"loop", 1, 32, {a + 64, 50000}, 1});
	launch(rig, second, (struct shot){"set", 1, 1, {a, 1}, 2});
	collect(rig, c, 3);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(c[i].result, CUDA_SUCCESS);
	rig->dev->ops->queue_destroy(second);
}

static void test_globals_are_of_the_load(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_module *other;
	uint64_t addr, size;

	launch(rig, rig->queue, (struct shot){"bump", 10, 64, {0}, 0});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	other = load(rig, rig->space);
	assert_int_equal(ops->global_get(rig->module, "counter", &addr, &size), 0);
	assert_int_equal(word_at(rig, rig->space, addr), 5 + 640);
	assert_int_equal(ops->global_get(other, "counter", &addr, &size), 0);
	assert_int_equal(word_at(rig, rig->space, addr), 5);
}

static void test_issue_refuses_bad_geometry_and_queues_nothing(void **state)
{
	struct rig *rig = *state;
	const struct shot shot = {"store", 1, 32, {alloc(rig, 4096), 0}, 0};
	const struct gsb_cmd good = launch_cmd(rig, &shot);
	struct gsb_completion c;
	static const struct {
		uint32_t grid[3], block[3], smem, params;
	} bad[] = {
		{{0, 1, 1}, {32, 1, 1}, 0, 16},	     {{1, 0, 1}, {32, 1, 1}, 0, 16},
		{{1, 65536, 1}, {1, 1, 1}, 0, 16},   {{1, 1, 65536}, {1, 1, 1}, 0, 16},
		{{1, 1, 1}, {1025, 1, 1}, 0, 16},    {{1, 1, 1}, {32, 33, 1}, 0, 16},
		{{1, 1, 1}, {1, 1, 65}, 0, 16},	     {{1, 1, 1}, {0, 1, 1}, 0, 16},
		{{1, 1, 1}, {32, 1, 1}, 232449, 16}, {{1, 1, 1}, {32, 1, 1}, 0, 11},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		struct gsb_cmd cmd = good;

		memcpy(cmd.launch.grid, bad[i].grid, sizeof(bad[i].grid));
		memcpy(cmd.launch.block, bad[i].block, sizeof(bad[i].block));
		cmd.launch.smem_bytes = bad[i].smem;
		cmd.launch.params_bytes = bad[i].params;
		expect_refused(rig, rig->queue, &cmd, -EINVAL);
	}
	if (rig->dev->ops->advance)
		rig->dev->ops->advance(rig->dev, UINT64_MAX);
	assert_int_equal(rig->dev->ops->poll(rig->dev, &c, 1), 0);
}

/* More was to follow, and what did was refused. */
static void test_refused_command_leaves_those_before_it(void **state)
{
	struct rig *rig = *state;
	const struct shot shot = {"store", 1, 1025, {alloc(rig, 4096), 0}, 0};
	const struct gsb_cmd bad = launch_cmd(rig, &shot);
	uint64_t n_done = 0, n_refused = 0;

	for (uint64_t i = 0; i < 3; i++) {
		struct gsb_cmd cmd = small_copy(rig, i, 0);

		cmd.more = true;
		assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	}
	n_refused = rig->dev->ops->issue(rig->queue, &bad) == -EINVAL;
	while (n_done + n_refused < 4) {
		struct gsb_completion c = collect_one(rig);

		n_refused += c.result == CUDA_ERROR_INVALID_VALUE;
		if (!c.result)
			assert_int_equal(c.cookie, n_done++);
	}
	assert_int_equal(n_refused, 1);
	issue_copy(rig, rig->queue, 3);
	assert_int_equal(collect_one(rig).cookie, 3);
}

static void test_issue_holds_to_reqntid(void **state)
{
	struct rig *rig = *state;
	const struct shot shot = {"shaped", 1, 64, {0}, 0};
	struct gsb_cmd cmd = launch_cmd(rig, &shot);
	static struct gsb_function_info info;
	struct gsb_function *f = NULL;

	assert_int_equal(rig->dev->ops->function_get(rig->module, "shaped", &f, &info), 0);
	assert_int_equal(info.reqntid[0], 64);
	assert_int_equal(info.reqntid[1], 2);
	assert_int_equal(info.reqntid[2], 1);
	expect_refused(rig, rig->queue, &cmd, -EINVAL);
	cmd.launch.block[1] = 2;
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	cmd.launch.smem_bytes = 232448 - 1024;
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	cmd.launch.smem_bytes++;
	expect_refused(rig, rig->queue, &cmd, -EINVAL);
}

static void test_cooperative_grid_that_cannot_be_resident_is_e2big(void **state)
{
	struct rig *rig = *state;
	uint64_t a = alloc(rig, 4 * 265 * 1024);
	struct shot shot = {"store", 264, 1024, {a, 0}, 0};
	struct gsb_cmd cmd = launch_cmd(rig, &shot);

	cmd.launch.cooperative = true;
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	cmd.launch.grid[0] = 265;
	expect_refused(rig, rig->queue, &cmd, -E2BIG);
}

/* The kernel need not know. Sixteen blocks have to be allowed first, which the device does. */
static void test_cluster_is_launched_as_it_is_asked_for(void **state)
{
	static const uint8_t sizes[] = {2, 8, 16};
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t a = alloc(rig, 4 * 33 * 1024);
	struct shot shot = {"store", 32, 1024, {a, 0}, 0};
	struct gsb_cmd cmd = launch_cmd(rig, &shot);

	assert_int_equal(ops->info(rig->dev)->attrs[CU_DEVICE_ATTRIBUTE_CLUSTER_LAUNCH], 1);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(sizes); i++) {
		memcpy(cmd.launch.cluster, (uint8_t[]){sizes[i], 1, 1}, 3);
		assert_int_equal(ops->issue(rig->queue, &cmd), 0);
		assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	}
	cmd.launch.grid[0] = 33;
	expect_refused(rig, rig->queue, &cmd, -E2BIG);
	cmd.launch.grid[0] = 32;
	cmd.launch.cluster[0] = 32;
	expect_refused(rig, rig->queue, &cmd, -E2BIG);
}

static void test_room_for_clusters_shrinks_with_their_size(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct shot shot = {"store", 32, 1024, {0, 0}, 0};
	struct gsb_cmd_launch l = launch_cmd(rig, &shot).launch;
	uint32_t none = 1, one = 0, eight = 0, sixteen = 0, most = 0;

	assert_int_equal(ops->cluster_room(rig->dev, &l, &none), 0);
	memcpy(l.cluster, (uint8_t[]){1, 1, 1}, 3);
	assert_int_equal(ops->cluster_room(rig->dev, &l, &one), 0);
	memcpy(l.cluster, (uint8_t[]){8, 1, 1}, 3);
	assert_int_equal(ops->cluster_room(rig->dev, &l, &eight), 0);
	memcpy(l.cluster, (uint8_t[]){4, 2, 2}, 3);
	assert_int_equal(ops->cluster_room(rig->dev, &l, &sixteen), 0);
	assert_int_equal(ops->cluster_size(rig->dev, &l, &most), 0);
	assert_int_equal(none, 0);
	assert_in_range(one, 32, 8 * ops->info(rig->dev)->arch.n_sms);
	assert_in_range(eight, 1, one / 8);
	assert_in_range(sixteen, 1, eight / 2);
	assert_int_equal(most, 16);
}

/* Two rows of 64 floats, of which a copy takes 32. */
static struct gsb_tensor_map small_tensor(uint64_t addr)
{
	return (struct gsb_tensor_map){.form = GSB_TENSOR_TILED,
				       .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
				       .rank = 2,
				       .addr = addr,
				       .dims = {64, 2},
				       .strides = {256},
				       .element_strides = {1, 1},
				       .box = {32, 1}};
}

static void test_tensor_map_says_all_that_it_was_told(void **state)
{
	uint64_t a[GSB_TENSOR_MAP_WORDS], b[GSB_TENSOR_MAP_WORDS];
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_tensor_map m = small_tensor(alloc(rig, 4096)), other;

	assert_int_equal(
		ops->info(rig->dev)->attrs[CU_DEVICE_ATTRIBUTE_TENSOR_MAP_ACCESS_SUPPORTED], 1);
	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, a), 0);
#define DIFFERS(member, value)                                                \
	do {                                                                  \
		other = m;                                                    \
		other.member = value;                                         \
		assert_int_equal(ops->tensor_map(rig->dev, 1, &other, b), 0); \
		assert_memory_not_equal(a, b, sizeof(a));                     \
	} while (0)
	DIFFERS(addr, m.addr + 256);
	DIFFERS(type, CU_TENSOR_MAP_DATA_TYPE_FLOAT32 + 1);
	DIFFERS(dims[0], 60);
	DIFFERS(dims[1], 3);
	DIFFERS(strides[0], 512);
	DIFFERS(element_strides[1], 2);
	DIFFERS(box[0], 16);
	DIFFERS(box[1], 2);
	DIFFERS(swizzle, 3);
	DIFFERS(l2_promotion, 1);
	DIFFERS(oob_fill, 1);
#undef DIFFERS
}

static void test_tensor_map_moves_to_another_address(void **state)
{
	uint64_t here[GSB_TENSOR_MAP_WORDS], there[GSB_TENSOR_MAP_WORDS];
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t addr = alloc(rig, 8192);
	struct gsb_tensor_map m = small_tensor(addr);
	struct gsb_tensor_map moved = {.form = GSB_TENSOR_MOVED, .addr = addr + 4096};

	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, moved.encoded), 0);
	m.addr = addr + 4096;
	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, there), 0);
	assert_int_equal(ops->tensor_map(rig->dev, 1, &moved, here), 0);
	assert_memory_equal(here, there, sizeof(here));
}

static void test_tensor_map_of_an_image_has_the_corners_of_its_box(void **state)
{
	uint64_t a[GSB_TENSOR_MAP_WORDS], b[GSB_TENSOR_MAP_WORDS];
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_tensor_map m = {.form = GSB_TENSOR_IM2COL,
				   .type = CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
				   .rank = 4,
				   .addr = alloc(rig, 65536),
				   .dims = {16, 8, 8, 2},
				   .strides = {64, 512, 4096},
				   .element_strides = {1, 1, 1, 1},
				   .lower = {-1, -1},
				   .upper = {-1, -1},
				   .channels = 16,
				   .pixels = 32};

	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, a), 0);
	m.lower[1] = 0;
	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, b), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	m.upper[0] = 0;
	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, a), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	m.pixels = 16;
	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, b), 0);
	assert_memory_not_equal(a, b, sizeof(a));
	m.rank = 2;
	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, b), -EINVAL);
}

static void test_tensor_map_out_of_range_is_einval(void **state)
{
	uint64_t words[GSB_TENSOR_MAP_WORDS];
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	const struct gsb_tensor_map m = small_tensor(alloc(rig, 4096));
	struct gsb_tensor_map bad;

#define REFUSED(member, value)                                                        \
	do {                                                                          \
		bad = m;                                                              \
		bad.member = value;                                                   \
		assert_int_equal(ops->tensor_map(rig->dev, 1, &bad, words), -EINVAL); \
	} while (0)
	REFUSED(form, GSB_N_TENSOR_FORMS);
	REFUSED(rank, 0);
	REFUSED(rank, GSB_TENSOR_RANK_MAX + 1);
	REFUSED(type, 16);
	REFUSED(interleave, 3);
	REFUSED(swizzle, 7);
	REFUSED(l2_promotion, 4);
	REFUSED(oob_fill, 2);
	REFUSED(addr, m.addr + 1);
#undef REFUSED
}

/* And of an interleaved one nobody says where an element lies. */
static void test_tensor_map_that_is_none_cannot_be_moved(void **state)
{
	struct gsb_tensor_map m = {.form = GSB_TENSOR_MOVED, .encoded = {1, 2, 3}};
	uint64_t words[GSB_TENSOR_MAP_WORDS];
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;

	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, words), -EINVAL);
	m = small_tensor(alloc(rig, 4096));
	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, m.encoded), 0);
	m.form = GSB_TENSOR_MOVED;
	m.addr += 8;
	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, words), -EINVAL);
	m = small_tensor(m.addr - 8);
	m.interleave = 1;
	assert_int_equal(ops->tensor_map(rig->dev, 1, &m, words), -ENOTSUP);
}

static void test_prepare_names_the_opcode_it_cannot_run(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	static struct gsb_function_info info;
	struct gsb_module *module = NULL;
	struct gsb_function *f = NULL;
	char log[1024] = "";
	struct gsb_cmd cmd = {
		.kind = GSB_CMD_LAUNCH,
		.space = rig->space,
		.launch = {
			.grid = {1, 1, 1}, .block = {1, 1, 1}, .params = &info, .params_bytes = 8}};

	assert_int_equal(ops->module_load(rig->space, device_unsupported_ptx,
					  strlen(device_unsupported_ptx), &module, log,
					  sizeof(log)),
			 0);
	assert_int_equal(ops->function_get(module, "later", &f, &info), 0);
	assert_int_equal(ops->function_prepare(f, log, sizeof(log)), -ENOTSUP);
	assert_non_null(strstr(log, "wgmma.fence.sync.aligned"));
	assert_non_null(strstr(log, "later"));
	cmd.launch.function = f;
	expect_refused(rig, rig->queue, &cmd, -ENOTSUP);
}

/* ---- faults and cancellation ---- */

static void test_fault_ends_the_guilty_launch_and_nothing_else(void **state)
{
	struct rig *rig = *state, innocent = {.dev = rig->dev};
	struct gsb_completion c[2];
	uint64_t a;

	innocent.space = make_space(rig->dev, 1, 0);
	innocent.queue = another_queue(rig, 0);
	a = alloc(&innocent, 4096);
	launch(rig, rig->queue, (struct shot){"set", 5000, 32, {DEVICE_BASE - 4096, 1}, 1});
	launch(&innocent, innocent.queue, (struct shot){"loop", 3, 32, {a, 30000}, 2});
	collect(rig, c, 2);
	if (c[0].cookie != 1) {
		struct gsb_completion swap = c[0];

		c[0] = c[1];
		c[1] = swap;
	}
	assert_int_equal(c[0].result, CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_non_null(strstr(c[0].detail, "set"));
	assert_true(c[0].n_blocks < 5000);
	assert_int_equal(c[1].result, CUDA_SUCCESS);
	assert_int_equal(word_at(rig, innocent.space, a + 8), 30000);
	rig->dev->ops->queue_destroy(innocent.queue);
	rig->dev->ops->space_destroy(innocent.space);
}

/* Below the window, in a hole of it, behind an allocation, not aligned. The device is opened here
 * because cmocka takes SIGSEGV for itself between setup and test. */
static void test_fault_has_the_code_of_the_access(void **state)
{
	struct gsb_device_params p = {.spec = "emu:h200", .n_workers = 2};
	struct rig *rig = open_rig(&p);
	uint64_t a = alloc(rig, 4096);
	const struct {
		uint64_t addr;
		CUresult result;
	} bad[] = {
		{DEVICE_BASE - 4096, CUDA_ERROR_ILLEGAL_ADDRESS},
		{DEVICE_BASE + DEVICE_SIZE / 2, CUDA_ERROR_ILLEGAL_ADDRESS},
		{a + 4096, CUDA_ERROR_ILLEGAL_ADDRESS},
		{a + 2, CUDA_ERROR_MISALIGNED_ADDRESS},
		{0, CUDA_ERROR_ILLEGAL_ADDRESS},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		struct gsb_completion c;

		launch(rig, rig->queue, (struct shot){"set", 1, 1, {bad[i].addr, 1}, i});
		c = collect_one(rig);
		assert_int_equal(c.result, bad[i].result);
		assert_true(c.detail[0]);
	}
	launch(rig, rig->queue, (struct shot){"set", 1, 1, {a, 9}, 9});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	assert_int_equal(word_at(rig, rig->space, a), 9);
	close_rig(rig);
}

/* A spin kernel at that address is in a worker's hands, though device time stands still. */
static void wait_until_spinning(uint64_t addr)
{
	const volatile uint32_t *running = (uint32_t *)(uintptr_t)(addr + 4);

	for (unsigned tries = 0; !*running && tries < 100000000; tries++)
		sched_yield();
	assert_int_equal(*running, 1);
}

/* Its completions, and those of what stood behind it, come without device time passing. */
static void test_cancel_ends_a_kernel_that_never_would(void **state)
{
	struct rig *rig = *state, other = {.dev = rig->dev};
	uint64_t a = alloc(rig, 4096), b;
	struct gsb_completion c[3];
	unsigned n = 0;

	other.space = make_space(rig->dev, 1, 0);
	other.queue = another_queue(rig, 0);
	b = alloc(&other, 4096);
	launch(rig, rig->queue, (struct shot){"spin", 100000, 64, {a}, 0});
	launch(rig, rig->queue, (struct shot){"set", 1, 1, {a, 1}, 1});
	issue_copy(rig, rig->queue, 2);
	launch(&other, other.queue, (struct shot){"loop", 1, 32, {b, 1000}, 3});
	rig->dev->ops->advance_to(rig->dev, 1600); /* past the latency of a launch */
	wait_until_spinning(a);
	rig->dev->ops->space_cancel(rig->space);
	while (n < 3) {
		struct pollfd fd = {.fd = rig->dev->ops->event_fd(rig->dev), .events = POLLIN};
		unsigned got = rig->dev->ops->poll(rig->dev, c + n, 3 - n);

		n += got;
		if (!got)
			assert_int_equal(poll(&fd, 1, 60000), 1);
	}
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(c[i].cookie, i);
		assert_int_equal(c[i].result, CUDA_ERROR_CONTEXT_IS_DESTROYED);
	}
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS); /* the other space's */
	assert_int_equal(word_at(rig, rig->space, a), 0);
	rig->dev->ops->queue_destroy(other.queue);
	rig->dev->ops->space_destroy(other.space);
}

/* Until then the caller may not free what the kernel writes to; afterwards nothing is written there. */
static void test_completion_of_what_is_cancelled_is_behind_its_last_access(void **state)
{
	enum { N = 50, APART = 64 };
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t a = alloc(rig, N * APART);

	for (unsigned i = 0; i < N; i++) {
		launch(rig, rig->queue, (struct shot){"spin", 1, 32, {a + i * APART}, i});
		ops->advance_to(rig->dev, ops->now_ns(rig->dev) + 1600);
		wait_until_spinning(a + i * APART);
		ops->space_cancel(rig->space);
		assert_int_equal(collect_one(rig).result, CUDA_ERROR_CONTEXT_IS_DESTROYED);
		*(volatile uint32_t *)(uintptr_t)(a + i * APART + 4) = 0;
	}
	for (unsigned i = 0; i < N; i++)
		assert_int_equal(word_at(rig, rig->space, a + i * APART + 4), 0);
}

static void test_free_under_work_is_noticed(void **state)
{
	struct rig *rig = *state, other = {.dev = rig->dev};
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t a = alloc(rig, 4096), b = alloc(rig, 4096), c = alloc(rig, 4096), d;
	struct gsb_module *module = load(rig, rig->space);
	struct gsb_queue *second = another_queue(rig, 0);
	struct gsb_completion done[2];

	other.space = make_space(rig->dev, 1, 0);
	d = alloc(&other, 4096);
	assert_int_equal(ops->host_pin(rig->space, HOST_BASE, 4096), 0);
	launch(rig, rig->queue, (struct shot){"spin", 1, 32, {a}, 0});
	assert_int_equal(ops->mem_free(other.space, d), 0);
	assert_int_equal(gsb_emu_frees_under_work(rig->dev), 0);
	assert_int_equal(ops->mem_free(rig->space, b), 0); /* it has not even begun */
	assert_int_equal(gsb_emu_frees_under_work(rig->dev), 1);
	ops->advance_to(rig->dev, 1600);
	wait_until_spinning(a);
	assert_int_equal(ops->host_unpin(rig->space, HOST_BASE, 4096), 0);
	assert_int_equal(gsb_emu_frees_under_work(rig->dev), 2);
	ops->module_unload(module);
	assert_int_equal(gsb_emu_frees_under_work(rig->dev), 3);
	launch(rig, second, (struct shot){"set", 1, 1, {a, 1}, 1});
	collect(rig, done, 2);
	assert_int_equal(ops->mem_free(rig->space, c), 0);
	ops->space_destroy(other.space);
	ops->queue_destroy(second);
	assert_int_equal(gsb_emu_frees_under_work(rig->dev), 3);
}

/* A tenant was charged, which put the end of the step ahead; then time was to run to the next completion, and while it did the
 * block came as far as that end. Its own end must be noticed all the same. */
static void test_completion_after_a_charge_is_noticed(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t a = alloc(rig, 8), target = ops->now_ns(rig->dev) + 50000;
	volatile uint32_t *flag = (volatile uint32_t *)(uintptr_t)a;
	struct pollfd fd = {.fd = ops->event_fd(rig->dev), .events = POLLIN};
	struct gsb_completion c;

	launch(rig, rig->queue, (struct shot){"spin", 1, 1, {a, 0}, 1});
	ops->advance_to(rig->dev, target);
	ops->advance(rig->dev, UINT64_MAX);
	while (ops->now_ns(rig->dev) < target)
		sched_yield();
	assert_int_equal(ops->poll(rig->dev, &c, 1), 0);
	*flag = 1;
	assert_int_equal(poll(&fd, 1, 60000), 1); /* no step is made from outside */
	assert_int_equal(ops->poll(rig->dev, &c, 1), 1);
	assert_int_equal(c.result, CUDA_SUCCESS);
}

/* Whose end was to be noticed is cancelled: from then on it is the other's. */
static void test_completion_beside_what_was_cancelled_is_noticed(void **state)
{
	struct rig *rig = *state, other = {.dev = rig->dev};
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t a = alloc(rig, 8), b;
	struct pollfd fd = {.fd = ops->event_fd(rig->dev), .events = POLLIN};
	struct gsb_completion c;

	other.space = make_space(rig->dev, 1, 0);
	other.queue = another_queue(rig, 0);
	other.module = load_text(rig, other.space, device_kernels_ptx);
	b = alloc(&other, 8);
	launch(rig, rig->queue, (struct shot){"spin", 1, 1, {a, 0}, 1});
	launch(&other, other.queue, (struct shot){"spin", 1, 1, {b, 0}, 2});
	ops->advance(rig->dev, UINT64_MAX);
	wait_until_spinning(a);
	wait_until_spinning(b);
	ops->space_cancel(rig->space);
	while (!ops->poll(rig->dev, &c, 1))
		poll(&fd, 1, 60000);
	assert_int_equal(c.cookie, 1);
	assert_int_equal(ops->poll(rig->dev, &c, 1), 0); /* only then it wakes who waits */
	ops->advance(rig->dev, UINT64_MAX);
	*(volatile uint32_t *)(uintptr_t)b = 1;
	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_int_equal(ops->poll(rig->dev, &c, 1), 1);
	assert_int_equal(c.cookie, 2);
	ops->queue_destroy(other.queue);
	ops->space_destroy(other.space);
}

static void test_cancel_of_idle_space_does_nothing(void **state)
{
	struct rig *rig = *state;
	struct gsb_completion c;

	rig->dev->ops->space_cancel(rig->space);
	assert_int_equal(rig->dev->ops->poll(rig->dev, &c, 1), 0);
	issue_copy(rig, rig->queue, 9);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
}

/* ---- random work against plain memory ---- */

enum { LANE_WORDS = 4096, N_LANES = 3 };

/* What one queue works on, and what should be there. */
struct lane {
	struct gsb_queue *queue;
	uint64_t addr;
	uint32_t want[LANE_WORDS], in[LANE_WORDS], out[LANE_WORDS];
};

static void random_fill(struct rig *rig, struct lane *l, uint32_t at, uint32_t n)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_FILL, .space = rig->space};

	cmd.fill = (struct gsb_cmd_fill){l->addr + 4 * at, n, 1, 0, (uint32_t)rand(), 4};
	for (uint32_t i = 0; i < n; i++)
		l->want[at + i] = cmd.fill.value;
	assert_int_equal(rig->dev->ops->issue(l->queue, &cmd), 0);
}

/* Each word of in is used once, so that a copy may read it at any time. */
static void random_copy_in(struct rig *rig, struct lane *l, uint32_t at, uint32_t n)
{
	struct gsb_cmd cmd = copy_cmd(rig->space, l->addr + 4 * at, ours(l->in + at), 4 * n);

	memcpy(l->want + at, l->in + at, 4 * n);
	assert_int_equal(rig->dev->ops->issue(l->queue, &cmd), 0);
}

static void random_copy_within(struct rig *rig, struct lane *l, uint32_t at, uint32_t n)
{
	uint32_t from = at < LANE_WORDS / 2 ? LANE_WORDS / 2 : 0;
	struct gsb_cmd cmd;

	if (from + n > LANE_WORDS || (from == 0 && n > at))
		return;
	if (at + n > LANE_WORDS / 2 && from)
		return;
	cmd = copy_cmd(rig->space, l->addr + 4 * at, l->addr + 4 * from, 4 * n);
	memcpy(l->want + at, l->want + from, 4 * n);
	assert_int_equal(rig->dev->ops->issue(l->queue, &cmd), 0);
}

static void random_store(struct rig *rig, struct lane *l, uint32_t at, uint32_t n)
{
	uint32_t value = (uint32_t)rand(), threads = 1 + (uint32_t)rand() % 100;

	n /= threads;
	if (!n)
		return;
	launch(rig, l->queue, (struct shot){"store", n, threads, {l->addr + 4 * at, value}, 0});
	for (uint32_t i = 0; i < n * threads; i++)
		l->want[at + i] = value + i / threads;
}

static void random_step(struct rig *rig, struct lane *l)
{
	static void (*const steps[])(struct rig *, struct lane *, uint32_t, uint32_t) = {
		random_fill, random_copy_in, random_copy_within, random_store};
	uint32_t at = (uint32_t)rand() % LANE_WORDS;

	steps[rand() % 4](rig, l, at, 1 + (uint32_t)rand() % (LANE_WORDS - at));
}

static void check_lane(struct rig *rig, struct lane *l)
{
	copy(rig, rig->space, ours(l->out), l->addr, sizeof(l->out));
	assert_memory_equal(l->out, l->want, sizeof(l->out));
}

/* Three queues at once, each with memory of its own; scratch comes and goes beside them. */
static void test_random_work_matches_plain_memory(void **state)
{
	static struct lane lanes[N_LANES];
	struct rig *rig = *state;
	struct gsb_completion c[64];
	unsigned seed = 7;

	print_message("seed %u\n", seed);
	srand(seed);
	for (unsigned i = 0; i < N_LANES; i++) {
		memset(&lanes[i], 0, sizeof(lanes[i]));
		lanes[i].queue = i ? another_queue(rig, -(int)i) : rig->queue;
		lanes[i].addr = alloc(rig, sizeof(lanes[i].want));
		for (unsigned w = 0; w < LANE_WORDS; w++)
			lanes[i].in[w] = (uint32_t)rand();
	}
	for (unsigned round = 0; round < 60; round++) {
		uint64_t scratch = alloc(rig, 1 + (uint64_t)rand() % 100000);

		for (unsigned i = 0; i < 12; i++)
			random_step(rig, &lanes[rand() % N_LANES]);
		for (unsigned i = 0; i < N_LANES; i++)
			issue_copy(rig, lanes[i].queue, 1);
		for (unsigned ended = 0; ended < N_LANES;) {
			collect(rig, c, 1);
			assert_int_equal(c->result, CUDA_SUCCESS);
			ended += c->cookie == 1;
		}
		assert_int_equal(rig->dev->ops->mem_free(rig->space, scratch), 0);
	}
	for (unsigned i = 0; i < N_LANES; i++) {
		check_lane(rig, &lanes[i]);
		if (i)
			rig->dev->ops->queue_destroy(lanes[i].queue);
	}
}

/* ---- idle ---- */

/* State of a thread, as /proc shows it: R runs, S sleeps. */
static char thread_state(const char *tid)
{
	char path[64], line[256], *paren;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%.20s/stat", tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	paren = fgets(line, sizeof(line), f) ? strrchr(line, ')') : NULL;
	fclose(f);
	return paren && paren[1] ? paren[2] : 0;
}

static unsigned count_awake(void)
{
	DIR *dir = opendir("/proc/self/task");
	struct dirent *e;
	unsigned n = 0;

	assert_non_null(dir);
	while ((e = readdir(dir)))
		n += e->d_name[0] != '.' && thread_state(e->d_name) == 'R';
	closedir(dir);
	return n;
}

/* A worker that spins would never be seen asleep; the one that runs is this thread. */
static void test_idle_workers_sleep(void **state)
{
	struct rig *rig = *state;
	uint64_t a = alloc(rig, 4096);
	unsigned tries = 0;

	launch(rig, rig->queue, (struct shot){"loop", 10, 32, {a, 100}, 0});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	while (count_awake() > 1 && tries++ < 1000000)
		sched_yield();
	assert_int_equal(count_awake(), 1);
}

/* ---- parts of the SMs ---- */

static void test_blocks_run_on_the_sms_of_their_queue(void **state)
{
	enum { BLOCKS = 3000, FIRST = 24, SMS = 16 };
	static uint32_t where[BLOCKS];
	struct rig *rig = *state;
	struct gsb_queue *queue = queue_on(rig, FIRST, SMS);
	uint64_t a = alloc(rig, sizeof(where));
	uint32_t n[SMS] = {0};

	launch(rig, queue, (struct shot){"where", BLOCKS, 1, {a, 0}, 0});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	copy(rig, rig->space, ours(where), a, sizeof(where));
	for (unsigned i = 0; i < BLOCKS; i++) {
		assert_in_range(where[i], 1 + FIRST, FIRST + SMS);
		n[where[i] - 1 - FIRST]++;
	}
	for (unsigned i = 0; i < SMS; i++)
		assert_in_range(n[i], BLOCKS / SMS / 2, BLOCKS / SMS * 2);
	rig->dev->ops->queue_destroy(queue);
}

/* How many SMs the blocks of a launch on the queue were on, and which. */
static unsigned find_sms(struct rig *rig, struct gsb_queue *queue, bool seen[1024])
{
	enum { BLOCKS = 4000 };
	static uint32_t where[BLOCKS];
	uint64_t a = alloc(rig, sizeof(where));
	unsigned n = 0;

	launch(rig, queue, (struct shot){"where", BLOCKS, 1, {a, 0}, 0});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	copy(rig, rig->space, ours(where), a, sizeof(where));
	for (unsigned i = 0; i < BLOCKS; i++) {
		assert_in_range(where[i], 1, 1023);
		n += !seen[where[i]];
		seen[where[i]] = true;
	}
	rig->dev->ops->queue_destroy(queue);
	return n;
}

/* On a GPU the numbers of a part's SMs need not be neighbours. */
static void test_complementary_parts_share_no_sm(void **state)
{
	enum { FIRST = 64 };
	struct rig *rig = *state;
	uint32_t n_sms = rig->dev->ops->info(rig->dev)->arch.n_sms;
	bool low[1024] = {false}, high[1024] = {false}, half[1024] = {false};

	assert_int_equal(find_sms(rig, queue_on(rig, 0, FIRST), low), FIRST);
	assert_int_equal(find_sms(rig, queue_on(rig, FIRST, n_sms - FIRST), high), n_sms - FIRST);
	assert_int_equal(find_sms(rig, queue_on(rig, 0, FIRST / 2), half), FIRST / 2);
	for (unsigned i = 0; i < 1024; i++) {
		assert_false(low[i] && high[i]);
		assert_true(!half[i] || low[i]);
	}
}

/* Eight rounds on 64 SMs; what is issued behind them for other SMs, wholly or in part, begins as if they were not there. */
static void test_partition_keeps_nobody_from_other_sms(void **state)
{
	static const struct gsb_sm_range others[] = {{64, 68}, {32, 96}, {0, 0}, {0, 64}};
	struct rig *rig = *state;
	struct gsb_queue *q[5] = {queue_on(rig, 0, 64)};
	uint64_t a = alloc(rig, 64 * 64 * 4), at[5] = {0};
	struct gsb_completion c;

	launch(rig, q[0], (struct shot){"loop", 8 * 64 * 2, 1024, {a, 100}, 0});
	for (unsigned i = 1; i < 5; i++) {
		q[i] = queue_on(rig, others[i - 1].first, others[i - 1].n);
		launch(rig, q[i], (struct shot){"set", 1, 1, {a, 1}, i});
	}
	for (unsigned i = 0; i < 5; i++) {
		c = collect_one(rig);
		assert_int_equal(c.result, CUDA_SUCCESS);
		at[c.cookie] = c.start_ns;
	}
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(at[i], 1500);
	assert_true(at[4] > 1500);
	for (unsigned i = 0; i < 5; i++)
		rig->dev->ops->queue_destroy(q[i]);
}

static void test_cooperative_grid_larger_than_its_sms_is_e2big(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct shot shot = {"bump", 2 * 16, 1024, {0, 0}, 0};
	struct gsb_cmd cmd = launch_cmd(rig, &shot);
	struct gsb_queue *queue = queue_on(rig, 8, 16);

	cmd.launch.cooperative = true;
	assert_int_equal(ops->issue(queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	cmd.launch.grid[0]++;
	expect_refused(rig, queue, &cmd, -E2BIG);
	assert_int_equal(ops->issue(rig->queue, &cmd), 0);
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	ops->queue_destroy(queue);
}

/* ---- what others cost ---- */

/* Each warp loads the word again and again, and waits for it. */
static const char waiting_ptx[] = ".version 7.0\n.target sm_90\n.address_size 64\n"
				  ".visible .entry wait(.param .u64 p, .param .u32 n)\n"
				  "{\n"
				  "	.reg .pred %p<2>;\n"
				  "	.reg .b32 %r<4>;\n"
				  "	.reg .b64 %rd<2>;\n"
				  "	ld.param.u64 %rd1, [p];\n"
				  "	ld.param.u32 %r1, [n];\n"
				  "	mov.u32 %r2, 0;\n"
				  "$again:\n"
				  "	ld.volatile.global.u32 %r3, [%rd1];\n"
				  "	add.s32 %r2, %r2, 1;\n"
				  "	setp.lt.u32 %p1, %r2, %r1;\n"
				  "	@%p1 bra $again;\n"
				  "	ret;\n"
				  "}\n";

static uint64_t took_ns(const struct gsb_completion *c)
{
	return c->end_ns - c->start_ns;
}

/* One has half of the issue slots of each SM, the other waits; once it is known what they do, neither costs the other what it does not use. */
static void test_kernels_that_want_different_things_cost_each_other_little(void **state)
{
	struct rig *rig = *state;
	struct gsb_queue *second = another_queue(rig, 0);
	struct gsb_module *waiting = load_text(rig, rig->space, waiting_ptx);
	uint64_t a = alloc(rig, 4096), alone[2];
	struct gsb_cmd cmd[2];
	struct gsb_completion c[2];

	cmd[0] = launch_cmd(rig, &(struct shot){"loop", 132, 256, {a, 2000}, 0});
	cmd[1] = launch_cmd(rig, &(struct shot){"loop", 132, 1024, {a, 180}, 1});
	cmd[1].launch.function = kernel(rig, waiting, "wait");
	for (unsigned i = 0; i < 2; i++) {
		const struct args args = {a, i ? 180 : 2000, 0};

		cmd[i].launch.params = &args;
		assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd[i]), 0);
		c[0] = collect_one(rig);
		assert_int_equal(c[0].result, CUDA_SUCCESS);
		alone[i] = took_ns(&c[0]);
	}
	for (unsigned i = 0; i < 2; i++) {
		const struct args args = {a, i ? 180 : 2000, 0};

		cmd[i].launch.params = &args;
		assert_int_equal(rig->dev->ops->issue(i ? second : rig->queue, &cmd[i]), 0);
	}
	collect(rig, c, 2);
	assert_int_equal(c[0].start_ns, c[1].start_ns);
	for (unsigned i = 0; i < 2; i++)
		assert_in_range(took_ns(&c[i]), alone[c[i].cookie], alone[c[i].cookie] * 11 / 10);
	rig->dev->ops->module_unload(waiting);
	rig->dev->ops->queue_destroy(second);
}

/* One has eight SMs; only there is the other slower, and as much as its own kind makes it. */
static void test_company_is_that_of_the_same_sm(void **state)
{
	struct rig *rig = *state;
	struct gsb_queue *eight = queue_on(rig, 0, 8);
	uint64_t alone;
	struct gsb_completion c[2];

	launch(rig, rig->queue, (struct shot){"fma", 132, 1024, {320}, 0});
	c[0] = collect_one(rig);
	alone = took_ns(&c[0]);
	launch(rig, eight, (struct shot){"fma", 8, 1024, {320}, 0});
	launch(rig, rig->queue, (struct shot){"fma", 132, 1024, {320}, 1});
	collect(rig, c, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_in_range(took_ns(&c[i]), alone * 19 / 10, alone * 21 / 10);
		if (c[i].cookie)
			assert_in_range(c[i].blocks_ns, 132 * alone, 132 * alone * 11 / 10);
	}
	rig->dev->ops->queue_destroy(eight);
}

/*
 * A block that has done half of its work when a quarter as much of the same kernel comes to its SM has half of the issue slots from then
 * on, until the other is done. Nothing is lost: it ends when the work of both is done.
 */
static void test_company_counts_from_when_it_comes_until_it_goes(void **state)
{
	struct rig *rig = *state;
	struct gsb_queue *second = another_queue(rig, 0);
	uint64_t alone[2];
	struct gsb_completion c[2];
	struct gsb_cmd late;

	for (unsigned i = 0; i < 2; i++) {
		launch(rig, rig->queue, (struct shot){"fma", 132, 1024, {i ? 160 : 640}, i});
		c[i] = collect_one(rig);
		alone[i] = took_ns(&c[i]);
	}
	late = launch_cmd(rig, &(struct shot){"fma", 132, 1024, {160}, 1});
	late.not_before_ns = c[1].end_ns + alone[0] / 2;
	assert_int_equal(rig->dev->ops->issue(second, &late), 0);
	launch(rig, rig->queue, (struct shot){"fma", 132, 1024, {640}, 0});
	collect(rig, c, 2);
	assert_int_equal(c[0].cookie, 1);
	assert_in_range(took_ns(&c[0]), alone[1] * 198 / 100, alone[1] * 206 / 100);
	assert_in_range(took_ns(&c[1]), alone[0] + alone[1], (alone[0] + alone[1]) * 103 / 100);
	rig->dev->ops->queue_destroy(second);
}

/* ---- device time ---- */

static void test_time_stands_still_until_advance(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	uint64_t a = alloc(rig, 4096);
	struct gsb_completion c;

	ops->advance(rig->dev, UINT64_MAX); /* nothing in flight */
	assert_int_equal(ops->now_ns(rig->dev), 0);
	launch(rig, rig->queue, (struct shot){"set", 1, 1, {a, 1}, 0});
	assert_int_equal(ops->poll(rig->dev, &c, 1), 0);
	assert_int_equal(ops->now_ns(rig->dev), 0);
	c = collect_one(rig);
	assert_int_equal(ops->now_ns(rig->dev), c.end_ns);
	assert_true(c.end_ns > 0);
}

/* As on an H200: 1.5 us to the first block, 1.3 us for a copy without its bytes, 55 bytes a ns. */
static void test_launch_and_copy_have_their_latencies(void **state)
{
	static unsigned char host[110000];
	struct rig *rig = *state;
	uint64_t a = alloc(rig, sizeof(host));
	struct gsb_cmd cmd = copy_cmd(rig->space, ours(host), a, sizeof(host));
	struct gsb_completion c[2];

	launch(rig, rig->queue, (struct shot){"set", 1, 1, {a, 1}, 0});
	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	collect(rig, c, 2);
	assert_int_equal(c[0].start_ns, 1500);
	assert_int_equal(c[1].start_ns, c[0].end_ns);
	assert_int_equal(c[1].end_ns - c[1].start_ns, 1300 + sizeof(host) / 55);
}

/* Whatever the order in which the queues were made. */
static void test_heads_of_one_instant_start_in_order_of_issue(void **state)
{
	static const unsigned order[] = {1, 3, 0, 2};
	struct rig *rig = *state;
	struct gsb_cmd cmd = {.kind = GSB_CMD_FILL, .space = rig->space, .not_before_ns = 1000};
	struct gsb_completion c[4];
	struct gsb_queue *q[4];
	uint64_t a = alloc(rig, 16);

	cmd.fill = (struct gsb_cmd_fill){a, 1, 1, 0, 0, 4};
	for (unsigned i = 0; i < 4; i++)
		q[i] = another_queue(rig, 0);
	for (unsigned i = 0; i < 4; i++) {
		cmd.cookie = i;
		assert_int_equal(rig->dev->ops->issue(q[order[i]], &cmd), 0);
	}
	collect(rig, c, 4); /* there are three copy engines */
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(c[i].cookie, i);
	for (unsigned i = 0; i < 4; i++)
		rig->dev->ops->queue_destroy(q[i]);
}

static void test_not_before_delays_the_start(void **state)
{
	struct rig *rig = *state;
	struct gsb_cmd cmd = small_copy(rig, 0, 123456);
	struct gsb_completion c;

	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	c = collect_one(rig);
	assert_int_equal(c.start_ns, 123456);
	assert_true(c.end_ns > 123456);
}

/* Whether there is something to run meanwhile or not; and a completion before it is one. */
static void test_advance_stands_where_it_is_told_to(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct pollfd fd = {.fd = ops->event_fd(rig->dev), .events = POLLIN};
	struct gsb_cmd cmd = small_copy(rig, 0, 9000);
	struct gsb_completion c;

	assert_int_equal(ops->issue(rig->queue, &cmd), 0);
	ops->advance(rig->dev, 5000);
	assert_int_equal(ops->poll(rig->dev, &c, 1), 0);
	assert_int_equal(ops->now_ns(rig->dev), 5000);
	ops->advance(rig->dev, 9000); /* where it begins */
	assert_int_equal(ops->now_ns(rig->dev), 9000);
	ops->advance(rig->dev, 100000);
	while (!ops->poll(rig->dev, &c, 1))
		assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_int_equal(c.start_ns, 9000);
	assert_true(c.end_ns < 100000);
	assert_int_equal(ops->now_ns(rig->dev), c.end_ns);
}

/* It tells who sleeps; and what runs goes on from there. */
static void test_advance_tells_that_it_stands_beside_a_kernel(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct pollfd fd = {.fd = ops->event_fd(rig->dev), .events = POLLIN};
	uint64_t a = alloc(rig, 8), until = ops->now_ns(rig->dev) + 20000;
	struct gsb_completion c;

	launch(rig, rig->queue, (struct shot){"spin", 1, 1, {a, 0}, 1});
	assert_int_equal(ops->poll(rig->dev, &c, 1), 0);
	ops->advance(rig->dev, until);
	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_int_equal(ops->poll(rig->dev, &c, 1), 0);
	assert_int_equal(ops->now_ns(rig->dev), until);
	ops->advance(rig->dev, UINT64_MAX);
	*(volatile uint32_t *)(uintptr_t)a = 1;
	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_int_equal(ops->poll(rig->dev, &c, 1), 1);
	assert_true(c.end_ns > until);
}

static void test_advance_to_passes_completions(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *ops = rig->dev->ops;
	struct gsb_cmd cmd = small_copy(rig, 0, 1000);
	struct gsb_queue *second = another_queue(rig, 0);
	struct gsb_completion c[2];

	assert_int_equal(ops->issue(rig->queue, &cmd), 0);
	cmd.not_before_ns = 9000;
	assert_int_equal(ops->issue(second, &cmd), 0);
	ops->advance_to(rig->dev, 5000);
	while (!ops->poll(rig->dev, c, 2)) {
		struct pollfd fd = {.fd = ops->event_fd(rig->dev), .events = POLLIN};

		assert_int_equal(poll(&fd, 1, 60000), 1);
	}
	assert_int_equal(ops->now_ns(rig->dev), 5000);
	assert_int_equal(c[0].start_ns, 1000);
	assert_in_range(c[0].end_ns, 1001, 4999);
	collect(rig, c, 1);
	assert_int_equal(c[0].start_ns, 9000);
	ops->queue_destroy(second);
}

/* Three queues of launches, copies and fills, of different sizes and priorities. */
static unsigned mixed_work(struct rig *rig, struct gsb_completion *out)
{
	static unsigned char host[1 << 16];
	struct gsb_queue *q[3] = {rig->queue, another_queue(rig, 0), another_queue(rig, -2)};
	uint64_t a = alloc(rig, 1 << 20);
	unsigned n = 0;

	for (unsigned i = 0; i < 18; i++) {
		struct gsb_cmd cmd = copy_cmd(rig->space, ours(host), a + i * 4096, 1000 * i + 1);

		cmd.cookie = 1000 + i;
		launch(rig, q[i % 3],
		       (struct shot){"loop",
				     60 + 17 * i,
				     32 + 64 * (i % 5),
				     {a + i * 4096, 50 + 130 * (i % 7)},
				     i});
		if (i % 4 == 1)
			assert_int_equal(rig->dev->ops->issue(q[i % 3], &cmd), 0);
		n += 1 + (i % 4 == 1);
	}
	collect(rig, out, n);
	rig->dev->ops->queue_destroy(q[1]);
	rig->dev->ops->queue_destroy(q[2]);
	return n;
}

/* Blocks of several slices; time goes on beside them from one small kernel to the next. */
static unsigned long_work(struct rig *rig, struct gsb_completion *out)
{
	struct gsb_queue *second = another_queue(rig, 0);
	uint64_t a = alloc(rig, 4096);
	unsigned n = 24;

	launch(rig, rig->queue, (struct shot){"loop", 5, 32, {a, 300000}, 0});
	for (unsigned i = 1; i < n; i++)
		launch(rig, second, (struct shot){"loop", 1, 32, {a + 1024, 40 * i}, i});
	collect(rig, out, n);
	rig->dev->ops->queue_destroy(second);
	return n;
}

/*
 * Beside blocks of several slices others come and go on the same SMs, so that their speeds change while they are executed; on other SMs
 * small ones take time from one instant to the next.
 */
static unsigned crowded_work(struct rig *rig, struct gsb_completion *out)
{
	struct gsb_queue *q[3] = {queue_on(rig, 0, 8), queue_on(rig, 0, 8), queue_on(rig, 8, 8)};
	uint64_t a = alloc(rig, 4096);
	unsigned n = 0;

	launch(rig, rig->queue, (struct shot){"loop", 8, 1024, {a, 10}, n++});
	collect_one(rig); /* its kernel is known from here on */
	n = 0;
	launch(rig, q[0], (struct shot){"loop", 8, 1024, {a, 6000}, n++});
	while (n < 12)
		launch(rig, q[1], (struct shot){"loop", 8, 1024, {a + 1024, 300}, n++});
	while (n < 60)
		launch(rig, q[2], (struct shot){"loop", 1, 32, {a + 2048, 1000}, n++});
	collect(rig, out, n);
	for (unsigned i = 0; i < 3; i++)
		rig->dev->ops->queue_destroy(q[i]);
	return n;
}

static void check_timelines(unsigned n_runs,
			    unsigned (*work)(struct rig *, struct gsb_completion *))
{
	static const unsigned workers[] = {1, 2, 4};
	struct gsb_completion first[64], c[64];
	unsigned n_first = 0;

	for (unsigned i = 0; i < n_runs; i++) {
		struct gsb_device_params p = {.spec = "emu:h200",
					      .n_workers = workers[i % GSB_ARRAY_LEN(workers)]};
		struct rig *rig = open_rig(&p);
		unsigned n = work(rig, i ? c : first);

		n_first = i ? n_first : n;
		assert_int_equal(n, n_first);
		for (unsigned k = 0; i && k < n; k++) {
			assert_int_equal(c[k].cookie, first[k].cookie);
			assert_int_equal(c[k].start_ns, first[k].start_ns);
			assert_int_equal(c[k].end_ns, first[k].end_ns);
			assert_int_equal(c[k].n_instructions, first[k].n_instructions);
			assert_int_equal(c[k].result, CUDA_SUCCESS);
		}
		close_rig(rig);
	}
}

static void test_timeline_does_not_depend_on_workers(void **state)
{
	check_timelines(20, mixed_work);
}

static void test_timeline_of_long_blocks_does_not_depend_on_workers(void **state)
{
	check_timelines(6, long_work);
}

static void test_timeline_of_changing_speeds_does_not_depend_on_workers(void **state)
{
	check_timelines(6, crowded_work);
}

static void test_more_sms_take_less_time(void **state)
{
	static const char *const specs[] = {"emu:h200", "emu:k40"};
	uint64_t took[2];

	for (unsigned i = 0; i < 2; i++) {
		struct gsb_device_params p = {.spec = specs[i], .n_workers = 2};
		struct rig *rig = open_rig(&p);
		uint64_t a = alloc(rig, 4 * 600);
		struct gsb_completion c;

		launch(rig, rig->queue, (struct shot){"loop", 600, 1024, {a, 300}, 0});
		c = collect_one(rig);
		took[i] = c.end_ns - c.start_ns;
		close_rig(rig);
	}
	assert_true(took[1] > 4 * took[0]);
}

static void test_real_clock_completes_by_itself(void **state)
{
	struct gsb_device_params p = {.spec = "emu:h200", .n_workers = 2, .real_clock = true};
	struct rig *rig = open_rig(&p);
	uint64_t a = alloc(rig, 4096), before = rig->dev->ops->now_ns(rig->dev);
	struct gsb_completion c[3];

	assert_null(rig->dev->ops->advance);
	assert_int_equal(rig->dev->ops->info(rig->dev)->clock_is_virtual, 0);
	launch(rig, rig->queue, (struct shot){"loop", 500, 32, {a, 100}, 0});
	launch(rig, rig->queue, (struct shot){"set", 1, 1, {a, 7}, 1});
	issue_copy(rig, rig->queue, 2);
	collect(rig, c, 3);
	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(c[i].cookie, i);
		assert_int_equal(c[i].result, CUDA_SUCCESS);
		assert_true(c[i].start_ns >= before);
	}
	assert_int_equal(word_at(rig, rig->space, a), 7);
	close_rig(rig);
}

/* ---- what kernels say ---- */

#define TEXT_BYTES (4u << 20)

/* All text that there is for one of the two, in pieces of at most `piece` bytes. */
static char *read_print(struct rig *rig, struct gsb_space *space, size_t piece, bool want_stderr)
{
	char *text = malloc(TEXT_BYTES);
	bool to_stderr = !want_stderr, more;
	size_t len = 0, n;

	assert_non_null(text);
	do {
		n = rig->dev->ops->print_read(space, text + len, piece, &to_stderr, &more);
		assert_true(n <= piece);
		assert_true(!n || (more && to_stderr == want_stderr));
		len += n;
		assert_true(len + piece < TEXT_BYTES);
	} while (more);
	text[len] = 0;
	return text;
}

static void assert_printed(struct rig *rig, struct gsb_space *space, bool to_stderr,
			   const char *want)
{
	char *text = read_print(rig, space, 65536, to_stderr);

	assert_string_equal(text, want);
	free(text);
}

static void test_print_is_absent_where_nothing_executes(void **state)
{
	struct rig *rig = *state;

	assert_null(rig->dev->ops->print_read);
	assert_null(rig->dev->ops->print_limit);
	issue_copy(rig, rig->queue, 1);
	assert_false(collect_one(rig).printed);
}

static void test_print_is_there_with_the_completion(void **state)
{
	struct rig *rig = *state;
	struct gsb_completion c;
	char want[4096] = "", *text;
	bool to_stderr = true, more;
	size_t len = 0;

	rig->module = load_text(rig, rig->space, device_print_ptx);
	for (unsigned b = 0; b < 6; b++)
		for (unsigned i = 0; i < 2; i++)
			for (unsigned t = 0; t < 3; t++)
				len += (size_t)snprintf(want + len, sizeof(want) - len,
							"%u.%u.%u\n", b, t, i);
	launch(rig, rig->queue, (struct shot){"say", 6, 3, {0, 2}, 1});
	c = collect_one(rig);
	assert_int_equal(c.result, CUDA_SUCCESS);
	assert_true(c.printed);
	text = read_print(rig, rig->space, 7, false);
	assert_string_equal(text, want);
	free(text);
	assert_int_equal(rig->dev->ops->print_read(rig->space, want, 10, &to_stderr, &more), 0);
	assert_true(to_stderr);
	launch(rig, rig->queue, (struct shot){"claim", 1, 32, {0, 0}, 2});
	assert_false(collect_one(rig).printed);
}

static void test_print_of_launches_in_order_of_their_queue(void **state)
{
	struct rig *rig = *state;
	struct gsb_completion c[3];

	rig->module = load_text(rig, rig->space, device_print_ptx);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 3}, 1});
	launch(rig, rig->queue, (struct shot){"say", 2, 1, {0, 1}, 2});
	launch(rig, rig->queue, (struct shot){"say", 1, 2, {0, 1}, 3});
	collect(rig, c, 3);
	assert_printed(rig, rig->space, false, "0.0.0\n0.0.1\n0.0.2\n0.0.0\n1.0.0\n0.0.0\n0.1.0\n");
}

static void test_print_stays_in_its_space(void **state)
{
	struct rig *rig = *state, other = {.dev = rig->dev};
	struct gsb_completion c[2];
	uint64_t addr, size;

	other.space = make_space(rig->dev, 1, 0);
	other.queue = another_queue(rig, 0);
	rig->module = load_text(rig, rig->space, device_print_ptx);
	assert_int_equal(rig->dev->ops->global_get(rig->module, "gsb$ring", &addr, &size), -ENOENT);
	other.module = load_text(rig, other.space, device_print_ptx);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 1}, 1});
	launch(&other, other.queue, (struct shot){"say", 1, 1, {0, 2}, 2});
	collect(rig, c, 2);
	assert_printed(rig, other.space, false, "0.0.0\n0.0.1\n");
	assert_printed(rig, rig->space, false, "0.0.0\n");
	launch(&other, other.queue, (struct shot){"say", 1, 1, {0, 2}, 2});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	rig->dev->ops->queue_destroy(other.queue);
	rig->dev->ops->space_destroy(other.space); /* with text that nobody has read */
}

/* Blocks of unequal length, more than can be resident; of text nearly all that the buffer takes. */
static void test_print_order_does_not_depend_on_workers(void **state)
{
	static const unsigned workers[] = {1, 2, 4};
	char *first = NULL;

	for (unsigned i = 0; i < 9; i++) {
		struct gsb_device_params p = {.spec = "emu:k40", .n_workers = workers[i % 3]};
		struct rig *rig = open_rig(&p);
		struct gsb_queue *second = another_queue(rig, 0);
		struct gsb_completion c[2];
		char *text;

		rig->module = load_text(rig, rig->space, device_print_ptx);
		launch(rig, rig->queue, (struct shot){"say", 500, 33, {0, 1}, 1});
		launch(rig, second, (struct shot){"say", 100, 40, {0, 3}, 2});
		collect(rig, c, 2);
		text = read_print(rig, rig->space, 65536, false);
		if (first) {
			assert_string_equal(text, first);
			free(text);
		} else {
			first = text;
		}
		rig->dev->ops->queue_destroy(second);
		close_rig(rig);
	}
	free(first);
}

/* Of the buffer each takes an address and three arguments. */
static void test_print_over_the_limit_costs_the_oldest(void **state)
{
	struct rig *rig = *state;
	const unsigned n = 40000, kept = (512 << 10) / (8 + 3 * 8);
	char *text, line[32];

	rig->module = load_text(rig, rig->space, device_print_ptx);
	assert_int_equal(rig->dev->ops->print_limit(rig->space, 1), 512 << 10);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, n}, 1});
	assert_true(collect_one(rig).printed);
	text = read_print(rig, rig->space, 65536, false);
	snprintf(line, sizeof(line), "0.0.%u\n", n - kept);
	assert_memory_equal(text, line, strlen(line));
	snprintf(line, sizeof(line), "\n0.0.%u\n", n - 1);
	assert_string_equal(text + strlen(text) - strlen(line), line);
	free(text);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 1}, 1}); /* what was read is free */
	assert_true(collect_one(rig).printed);
	assert_printed(rig, rig->space, false, "0.0.0\n");
}

/* As cuCtxSetLimit() and cuCtxGetLimit() answered on an H200. */
static void test_print_limit_says_what_it_made_of_it(void **state)
{
	static const uint64_t want[][2] = {{0, 8650752},
					   {1, 524288},
					   {524288, 524288},
					   {600001, 600064},
					   {1 << 20, 1 << 20},
					   {1ull << 33, 1ull << 31},
					   {UINT64_MAX, 1ull << 31},
					   {0, 8650752}};
	struct rig *rig = *state;

	for (unsigned i = 0; i < GSB_ARRAY_LEN(want); i++)
		assert_int_equal(rig->dev->ops->print_limit(rig->space, want[i][0]), want[i][1]);
}

/* The texts for one of the two up to the first for the other. */
static char *read_some(struct rig *rig, bool want_stderr)
{
	char *text = calloc(1, 65537);
	bool to_stderr, more;

	assert_non_null(text);
	assert_true(rig->dev->ops->print_read(rig->space, text, 65536, &to_stderr, &more) > 0);
	assert_int_equal(to_stderr, want_stderr);
	return text;
}

static void test_print_before_a_fault_is_not_lost(void **state)
{
	struct gsb_device_params p = {.spec = "emu:h200", .n_workers = 2};
	struct rig *rig = open_rig(&p);
	struct gsb_completion c;
	char *text;

	rig->module = load_text(rig, rig->space, device_print_ptx);
	launch(rig, rig->queue, (struct shot){"say_and_fault", 6, 2, {0, 3}, 1});
	c = collect_one(rig);
	assert_int_equal(c.result, CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_true(c.printed);
	text = read_some(rig, false);
	assert_non_null(strstr(text, "3.0.7\n3.1.7\n"));
	free(text);
	text = read_print(rig, rig->space, 65536, true); /* what the device says, behind it */
	assert_non_null(strstr(text, "block (3,0,0), thread (0,0,0)"));
	free(text);
	close_rig(rig);
}

static void test_assertion_goes_to_stderr(void **state)
{
	struct rig *rig = *state;
	struct gsb_completion c[2];
	char text[64];
	bool to_stderr = true, more;

	rig->module = load_text(rig, rig->space, device_print_ptx);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 1}, 1});
	launch(rig, rig->queue, (struct shot){"claim", 1, 32, {0, 2}, 2});
	collect(rig, c, 2);
	assert_int_equal(c[1].result, CUDA_ERROR_ASSERT);
	assert_true(c[1].printed);
	assert_int_equal(rig->dev->ops->print_read(rig->space, text, 64, &to_stderr, &more), 6);
	assert_false(to_stderr);
	assert_printed(rig, rig->space, true,
		       "a.cu:12: k: block: [0,0,0], thread: [0,0,0] Assertion `x < 1` failed.\n"
		       "a.cu:12: k: block: [0,0,0], thread: [1,0,0] Assertion `x < 1` failed.\n");
}

/* A tenant that prints takes memory of the host: it is counted, and when there is none the oldest goes. */
static void test_print_without_host_memory_costs_the_oldest(void **state)
{
	struct rig *rig = *state;
	struct gsb_emu_storage *sum = &to_emu(rig->dev)->storage;
	size_t before, most = sum->max_bytes;
	char *text;

	rig->module = load_text(rig, rig->space, device_print_ptx);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 1}, 1});
	assert_true(collect_one(rig).printed);
	before = sum->used_bytes;
	assert_printed(rig, rig->space, false, "0.0.0\n");
	assert_true(sum->used_bytes < before);
	sum->max_bytes = 2 * before + (64 << 10);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 9999}, 1});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	text = read_print(rig, rig->space, 65536, false);
	assert_string_equal(text + strlen(text) - 9, "0.0.9998\n");
	assert_true(strlen(text) < 9 * 2000);
	free(text);
	sum->max_bytes = most;
}

struct saying {
	const char *format;
	uint64_t words
		[5]; /* of arguments, as a kernel has them: those of 4 bytes follow each other */
	uint32_t n_args;
	const char *want;
};

/* What one thread says; `string` lies in the kernel's memory, and a word that is its address is made its address there. */
static char *told(struct rig *rig, const struct saying *s, const char *string)
{
	const uint64_t at = alloc(rig, 4096), string_at = at + 2048;
	uint64_t words[GSB_ARRAY_LEN(s->words)];

	for (unsigned i = 0; i < GSB_ARRAY_LEN(words); i++)
		words[i] = s->words[i] == to_addr(string) ? string_at : s->words[i];
	copy(rig, rig->space, at, ours(s->format), strlen(s->format) + 1);
	copy(rig, rig->space, at + 1024, ours(words), sizeof(words));
	copy(rig, rig->space, string_at, ours(string), strlen(string) + 1);
	launch(rig, rig->queue, (struct shot){"tell", 1, 1, {at, 0}, 1});
	assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
	assert_int_equal(word_at(rig, rig->space, at + 1020), s->n_args);
	assert_int_equal(rig->dev->ops->mem_free(rig->space, at), 0);
	return read_print(rig, rig->space, 65536, false);
}

static uint64_t real(double d)
{
	uint64_t word;

	memcpy(&word, &d, sizeof(word));
	return word;
}

static uint64_t both(uint32_t first, uint32_t second)
{
	return first | (uint64_t)second << 32;
}

static void test_print_shows_each_conversion(void **state)
{
	static const char text[] = "abcdefgh"; /* a whole word, and its end in the next */
	const uint64_t s = to_addr(text), big = 0xfeedfacecafe;
	const struct saying sayings[] = {
		{"", {0}, 0, ""},
		{"plain\n", {0}, 0, "plain\n"},
		{"1234567", {0}, 0, "1234567"},
		{"12345678", {0}, 0, "12345678"},
		{"100%%, %d%%", {7}, 1, "100%, 7%"},
		{"%i|%llu", {(uint32_t)-5, 1ull << 40}, 2, "-5|1099511627776"},
		{"%-6u|%lx", {42, big}, 2, "42    |feedfacecafe"},
		{"%jd %zu %td", {UINT64_MAX, 9, 8}, 3, "-1 9 8"},
		{"%X %#o", {both(0xab, 8)}, 2, "AB 010"},
		{"%hd %hhu", {both(70000, 300)}, 2, "4464 44"},
		{"%hhd %hx", {both(200, 0x12345)}, 2, "-56 2345"},
		{"[%3c|%-3c]", {both('y', 'z')}, 2, "[  y|z  ]"},
		{"%+d % d %03d", {both(1, 2), 3}, 3, "+1  2 003"},
		{"%*d|%.*f", {both(4, 42), 1, real(0.25)}, 4, "  42|0.2"},
		{"%5.2f|%e|%E",
		 {real(2.5), real(1e10), real(1)},
		 3,
		 " 2.50|1.000000e+10|1.000000E+00"},
		{"%g %G %a %A", {real(0.5), real(2), real(1), real(1)}, 4, "0.5 2 0x1p+0 0X1P+0"},
		{"%c%c %F", {both('x', 'y'), real(1)}, 3, "xy 1.000000"},
		{"%s!", {s}, 1, "abcdefgh!"},
		{"%-10s|%.3s|%s", {s, s, s}, 3, "abcdefgh  |abc|abcdefgh"},
		{"%s %d", {0, 5}, 2, "(null) 5"},
		{"%p", {0x1234}, 1, "0x1234"},
		{"%.*s", {0x80000000, s}, 2, "abcdefgh"},
		{"%*5d|", {both(0xfffffffd, 7)}, 2, "7  |"},
		{"%d%", {1}, 1, "1"},
		{"%k%d", {8}, 1, "8"},
	};
	struct rig *rig = *state;

	rig->module = load_text(rig, rig->space, device_print_ptx);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(sayings); i++) {
		char *got = told(rig, &sayings[i], text);

		assert_string_equal(got, sayings[i].want);
		free(got);
	}
}

/* As fatbins have it. */
static void test_print_of_a_text_that_counts_its_nul(void **state)
{
	struct rig *rig = *state;
	char log[1024] = "";

	if (rig->dev->ops->module_load(rig->space, device_print_ptx, sizeof(device_print_ptx),
				       &rig->module, log, sizeof(log)))
		fail_msg("%s", log);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 1}, 1});
	assert_true(collect_one(rig).printed);
	assert_printed(rig, rig->space, false, "0.0.0\n");
}

/* One that comes to the driver only when its variables have a place. */
static void test_print_of_what_has_managed_variables_is_its_spaces(void **state)
{
	static char text[sizeof(device_print_ptx) + 80];
	struct rig *rig = *state;

	snprintf(text, sizeof(text), "%s.visible .global .attribute(.managed) .u32 held = 5;\n",
		 device_print_ptx);
	rig->module = load_text(rig, rig->space, text);
	map_host_window();
	assert_int_equal(rig->dev->ops->host_pin(rig->space, HOST_BASE, 4096), 0);
	assert_int_equal(rig->dev->ops->module_place(rig->module, HOST_BASE, true), 0);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 1}, 1});
	assert_true(collect_one(rig).printed);
	assert_printed(rig, rig->space, false, "0.0.0\n");
	rig->dev->ops->module_unload(rig->module);
	rig->module = NULL;
	assert_int_equal(rig->dev->ops->host_unpin(rig->space, HOST_BASE, 4096), 0);
}

/* Strings are cut, and what they belong to is whole. */
static void test_print_of_a_long_string_is_cut(void **state)
{
	struct rig *rig = *state;
	const uint64_t at = alloc(rig, 16384), words[2] = {at + 2048, 7};
	char string[6000], *text;

	memset(string, 'a', sizeof(string));
	string[sizeof(string) - 1] = 0;
	rig->module = load_text(rig, rig->space, device_print_ptx);
	copy(rig, rig->space, at, ours("<%s>%d"), 7);
	copy(rig, rig->space, at + 1024, ours(words), sizeof(words));
	copy(rig, rig->space, at + 2048, ours(string), sizeof(string));
	launch(rig, rig->queue, (struct shot){"tell", 1, 1, {at, 0}, 1});
	assert_true(collect_one(rig).printed);
	text = read_print(rig, rig->space, 65536, false);
	assert_int_equal(strlen(text), 1 + 4095 + 2);
	assert_string_equal(text + 1 + 4095, ">7");
	free(text);
}

static void test_print_of_linked_modules_is_one_text(void **state)
{
	struct rig *rig = *state;
	struct gsb_module *m = load_text(rig, rig->space, device_linked_print_ptx);
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = rig->space,
			      .launch = {.function = kernel(rig, m, "say_both"),
					 .grid = {1, 1, 1},
					 .block = {1, 1, 1}}};

	assert_int_equal(rig->dev->ops->issue(rig->queue, &cmd), 0);
	assert_true(collect_one(rig).printed);
	assert_printed(rig, rig->space, false, "12");
	rig->dev->ops->module_unload(m);
}

/* Where each lane of a GPU's warps comes to the buffer by itself: all is there once, and what a thread says in its order. */
static void test_print_of_many_threads_is_all_there(void **state)
{
	enum { N_BLOCKS = 40, N_THREADS = 64, N_TURNS = 3 };
	static unsigned char n_seen[N_BLOCKS][N_THREADS];
	struct rig *rig = *state;
	char *text, *line, *rest;

	memset(n_seen, 0, sizeof(n_seen));
	rig->module = load_text(rig, rig->space, device_print_ptx);
	launch(rig, rig->queue, (struct shot){"say", N_BLOCKS, N_THREADS, {0, N_TURNS}, 1});
	assert_true(collect_one(rig).printed);
	text = read_print(rig, rig->space, 7, false);
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned b, t, turn;

		assert_int_equal(sscanf(line, "%u.%u.%u", &b, &t, &turn), 3);
		assert_true(b < N_BLOCKS && t < N_THREADS);
		assert_int_equal(turn, n_seen[b][t]++);
	}
	for (unsigned i = 0; i < N_BLOCKS * N_THREADS; i++)
		assert_int_equal(n_seen[i / N_THREADS][i % N_THREADS], N_TURNS);
	free(text);
	launch(rig, rig->queue, (struct shot){"claim", 1, 32, {0, 0}, 2});
	assert_false(collect_one(rig).printed);
}

/* ---- of a GPU, where text goes into a ring of memory ---- */

static void test_print_over_the_limit_costs_the_newest(void **state)
{
	struct rig *rig = *state;
	const unsigned n = 40000;
	char *text, line[32];
	unsigned kept;

	rig->module = load_text(rig, rig->space, device_print_ptx);
	assert_int_equal(rig->dev->ops->print_limit(rig->space, 1), 512 << 10);
	for (unsigned i = 0; i < 3; i++) { /* what was read is free */
		launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, n}, 1});
		assert_true(collect_one(rig).printed);
		text = read_print(rig, rig->space, 65536, false);
		assert_memory_equal(text, "0.0.0\n0.0.1\n", 12);
		kept = (512 << 10) / (8 + 16 + 3 * 8);
		snprintf(line, sizeof(line), "\n0.0.%u\n", kept - 1);
		assert_string_equal(text + strlen(text) - strlen(line), line);
		free(text);
	}
	assert_int_equal(rig->dev->ops->print_limit(rig->space, 0), 8650752);
	assert_int_equal(rig->dev->ops->print_limit(rig->space, 1ull << 40), 16 << 20);
}

/* A format and an argument where kernel "tell" looks for them. */
static uint64_t put_saying(struct rig *rig, const char *format, const char *string)
{
	const uint64_t at = alloc(rig, 4096), string_at = at + 2048;

	copy(rig, rig->space, at, ours(format), strlen(format) + 1);
	copy(rig, rig->space, at + 1024, ours(&string_at), sizeof(string_at));
	copy(rig, rig->space, string_at, ours(string), strlen(string) + 1);
	return at;
}

/* Where a long text finds no room a short one may: nothing lies behind a hole then, and nothing over another. */
static void test_print_over_the_limit_leaves_no_hole(void **state)
{
	struct rig *rig = *state;
	struct gsb_queue *second = another_queue(rig, 0);
	char string[1001], want[1003], *text, *line, *rest;
	struct gsb_completion c[2];
	uint64_t at;
	unsigned bytes;

	memset(string, 'a', sizeof(string) - 1);
	string[sizeof(string) - 1] = 0;
	snprintf(want, sizeof(want), "<%s", string);
	rig->module = load_text(rig, rig->space, device_print_ptx);
	rig->dev->ops->print_limit(rig->space, 1);
	at = put_saying(rig, "<%s\n", string);
	for (unsigned i = 0; i < 20; i++) {
		launch(rig, rig->queue, (struct shot){"tell", 16, 64, {at, 0}, 1});
		launch(rig, second, (struct shot){"say", 16, 64, {0, 20}, 2});
		collect(rig, c, 2);
		text = read_print(rig, rig->space, 65536, false);
		bytes = 0;
		for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
			if (*line == '<') {
				assert_string_equal(line, want);
				bytes += 8 + 8 + 8 + 1008;
			} else {
				assert_in_range(strspn(line, "0123456789."), 5, strlen(line));
				bytes += 48;
			}
		assert_in_range(bytes, 256 << 10, 512 << 10);
		free(text);
		launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 2}, 3});
		assert_true(collect_one(rig).printed);
		assert_printed(rig, rig->space, false, "0.0.0\n0.0.1\n");
	}
	rig->dev->ops->queue_destroy(second);
}

/* A warp finds room for some of its lanes, as far as it knows: what was read since is there for the others. */
static void test_print_past_the_room_that_was_known_is_all_there(void **state)
{
	struct rig *rig = *state;
	const unsigned n_fit = (512 << 10) / 48, n_threads = 32;

	rig->module = load_text(rig, rig->space, device_print_ptx);
	rig->dev->ops->print_limit(rig->space, 1);
	for (unsigned n_left = 0; n_left < n_threads; n_left += 5) {
		unsigned n_lines = 0;
		char *text;

		launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, n_fit + 1}, 1});
		collect_one(rig);
		free(read_print(rig, rig->space, 65536, false));
		launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, n_fit - n_left}, 2});
		collect_one(rig);
		free(read_print(rig, rig->space, 65536, false));
		launch(rig, rig->queue, (struct shot){"say", 1, n_threads, {0, 1}, 3});
		collect_one(rig);
		text = read_print(rig, rig->space, 65536, false);
		for (const char *p = text; *p; p++)
			n_lines += *p == '\n';
		assert_int_equal(n_lines, n_threads);
		free(text);
	}
}

/* Of the engine's time each question takes a little. */
static void test_print_without_text_is_read_in_parts(void **state)
{
	struct rig *rig = *state;
	bool to_stderr = true, more = false;
	uint64_t at;
	char text[64];

	rig->module = load_text(rig, rig->space, device_print_ptx);
	at = put_saying(rig, "%s", "");
	launch(rig, rig->queue, (struct shot){"tell", 100, 64, {at, 0}, 1});
	assert_true(collect_one(rig).printed);
	launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, 1}, 2});
	assert_true(collect_one(rig).printed);
	assert_int_equal(
		rig->dev->ops->print_read(rig->space, text, sizeof(text), &to_stderr, &more), 0);
	assert_true(more);
	assert_printed(rig, rig->space, false, "0.0.0\n");
}

/* More than the ring holds goes round in it, and is read as it was written. */
static void test_print_goes_round(void **state)
{
	struct rig *rig = *state;
	const unsigned n = 9973, turns = 60; /* 48 bytes each */
	const struct saying shift = {
		"x", {0}, 0, "x"}; /* so that all else lies elsewhere the second time */

	rig->module = load_text(rig, rig->space, device_print_ptx);
	for (unsigned i = 0; i < turns; i++) {
		char *text = told(rig, &shift, ""), *at;

		assert_string_equal(text, "x");
		free(text);
		launch(rig, rig->queue, (struct shot){"say", 1, 1, {0, n}, 1});
		assert_true(collect_one(rig).printed);
		at = text = read_print(rig, rig->space, 65536, false);
		for (unsigned turn = 0; turn < n; turn++) {
			char line[32];
			int len = snprintf(line, sizeof(line), "0.0.%u\n", turn);

			assert_memory_equal(at, line, len);
			at += len;
		}
		assert_int_equal(*at, 0);
		free(text);
	}
}

/* What has been read makes room for those who print meanwhile: there is always one. */
static void test_print_is_read_while_others_print(void **state)
{
	enum { N_LAUNCHES = 30, N_LINES = 3000 }; /* of 48 bytes: three times as much fits */
	struct rig *rig = *state;
	struct gsb_queue *second = another_queue(rig, 0);
	size_t n_lines = 0;

	rig->module = load_text(rig, rig->space, device_print_ptx);
	rig->dev->ops->print_limit(rig->space, 1);
	for (unsigned i = 0; i <= N_LAUNCHES; i++) {
		char *text;

		if (i < N_LAUNCHES)
			launch(rig, i % 2 ? second : rig->queue,
			       (struct shot){"say", 1, 1, {0, N_LINES}, i});
		if (i)
			assert_int_equal(collect_one(rig).result, CUDA_SUCCESS);
		text = read_print(rig, rig->space, 65536, false);
		for (const char *p = text; *p; p++)
			n_lines += *p == '\n';
		free(text);
	}
	assert_int_equal(n_lines, N_LAUNCHES * N_LINES);
	rig->dev->ops->queue_destroy(second);
}

/* ---- how a device is named, fault injection ---- */

static void assert_open_fails(struct gsb_device_params p, int want, const char *text)
{
	struct gsb_device *dev = NULL;
	char err[256] = "";

	assert_int_equal(gsb_device_open(&p, &dev, err, sizeof(err)), want);
	assert_null(dev);
	assert_non_null(strstr(err, text));
}

static void test_open_names_what_is_wrong(void **state)
{
	assert_open_fails((struct gsb_device_params){.spec = "emu:voodoo2"}, -ENODEV,
			  "emu:voodoo2");
	assert_open_fails((struct gsb_device_params){.spec = "emu:/nowhere/a"}, -ENOENT,
			  "/nowhere/a");
	assert_open_fails((struct gsb_device_params){.spec = "null:1"}, -ENODEV, "null:1");
	assert_open_fails((struct gsb_device_params){.spec = "emu:h200", .flip = "maybe"}, -EINVAL,
			  "maybe");
}

static void test_open_takes_architecture_from_a_file(void **state)
{
	char path[TEMP_PATH_MAX], spec[TEMP_PATH_MAX + 8];
	struct gsb_device_params p = {.spec = spec, .n_workers = 1};
	const char *text = "base = k40\nname = small\nn_sms = 3\nbeside sfu l1 = 0.5 0.25\n";
	const char *bad = "beside sfu = 1 1\n";
	const struct gsb_interference *f;
	struct rig *rig;
	int fd;

	temp_path(path, "gsb-arch-XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	snprintf(spec, sizeof(spec), "emu:%s", path);
	rig = open_rig(&p);
	assert_int_equal(rig->dev->ops->info(rig->dev)->attrs[16], 3);
	assert_string_equal(rig->dev->ops->info(rig->dev)->arch.name, "small");
	f = &to_emu(rig->dev)->clock.interference;
	assert_true(f->beside[GSB_UNIT_SFU][GSB_UNIT_L1].younger == .25f && !f->is_assumed);
	assert_int_equal(rig->dev->ops->print_limit(rig->space, 0), 512 << 10); /* the least */
	close_rig(rig);
	assert_int_equal(write(fd, bad, strlen(bad)), strlen(bad));
	assert_open_fails(p, -EINVAL, ":5: expected 'beside OLDER YOUNGER");
	assert_int_equal(pwrite(fd, "wrong", 5, 0), 5);
	snprintf(spec, sizeof(spec), "emu:%s", path);
	assert_open_fails(p, -EINVAL, path);
	close(fd);
	unlink(path);
}

static void test_flip_each_spoils_every_copy_to_the_host(void **state)
{
	struct gsb_device_params p = {.spec = "emu:h200", .n_workers = 1, .flip = "1"};
	struct rig *rig = open_rig(&p);
	uint64_t a = alloc(rig, 8);
	uint32_t in = 0x100;

	copy(rig, rig->space, a, ours(&in), 4);
	assert_int_equal(word_at(rig, rig->space, a), 0x101);
	assert_int_equal(word_at(rig, rig->space, a), 0x100); /* flipped back: it is in memory */
	assert_int_equal(word_at(rig, rig->space, a + 4), 1);
	close_rig(rig);
}

static void test_flip_nth_spoils_one(void **state)
{
	struct gsb_device_params p = {.spec = "emu:h200", .n_workers = 1, .flip = "copy:2"};
	struct rig *rig = open_rig(&p);
	uint64_t a = alloc(rig, 8);

	assert_int_equal(word_at(rig, rig->space, a), 0);
	assert_int_equal(word_at(rig, rig->space, a), 1);
	assert_int_equal(word_at(rig, rig->space, a), 1);
	close_rig(rig);
}

/* A table of a device that does not run here: that it compiles shows that ops.h suits one. */
static int stub_open(const struct gsb_device_params *p, struct gsb_device **out, char *err,
		     size_t err_size)
{
	return -ENODEV;
}

static const struct gsb_device_ops stub_ops = {.scheme = "cuda", .open = stub_open};

static void test_table_without_cancel_and_clock_is_a_device(void **state)
{
	assert_null(stub_ops.space_cancel);
	assert_null(stub_ops.advance);
	assert_int_equal(stub_ops.open(NULL, NULL, NULL, 0), -ENODEV);
}

#define ON_GPU(f)                                    \
	{                                            \
#f "[gpu]", f, setup, teardown, spec \
	}

/* Of a real GPU: what of memory its spaces may have in common. */
static int share_on_gpu(char *spec)
{
	const struct CMUnitTest tests[] = {
		ON_GPU(test_backing_is_mapped_for_another_owner),
		ON_GPU(test_opened_memory_is_the_same_bytes),
		ON_GPU(test_opened_memory_outlives_who_has_lent_it),
		ON_GPU(test_shared_memory_outlives_its_space),
		ON_GPU(test_shared_memory_is_counted_until_nobody_has_it),
		ON_GPU(test_opened_memory_outlives_its_backing),
		ON_GPU(test_what_lies_beside_shared_memory_is_nobodys),
		ON_GPU(test_freed_memory_that_others_have_is_not_given_out),
		ON_GPU(test_backing_that_nobody_has_mapped_opens_as_zero),
		ON_GPU(test_memory_that_was_shared_is_counted_as_any),
		ON_GPU(test_opened_memory_costs_no_space_anything),
		ON_GPU(test_freed_memory_that_others_have_is_not_its_spaces),
		ON_GPU(test_share_of_what_is_no_allocation_is_einval),
		ON_GPU(test_exported_memory_is_the_same_bytes_elsewhere),
	};

	const size_t n = GSB_ARRAY_LEN(tests);

	/* Not the last one in lanes, which give nothing out of themselves. */
	return _cmocka_run_group_tests("sharing", tests, strncmp(spec, "lanes:", 6) ? n : n - 1,
				       NULL, NULL);
}

/* Of a real GPU: memory of the host at reserved addresses. */
static int map_on_gpu(char *spec)
{
	const struct CMUnitTest tests[] = {
		ON_GPU(test_backing_of_host_is_what_the_host_sees),
		ON_GPU(test_backing_of_host_is_the_same_bytes_wherever_it_is_mapped),
		ON_GPU(test_backings_of_both_have_the_same_addresses_by_turns),
		ON_GPU(test_backing_of_host_is_not_the_device_s_to_count),
		ON_GPU(test_backing_of_host_of_what_is_no_unit_is_einval),
		ON_GPU(test_backing_of_host_keeps_its_file),
		ON_GPU(test_backing_of_host_is_given_access_as_often_as_asked),
		ON_GPU(test_backing_of_host_is_made_ready_before_it_is_asked_for),
		ON_GPU(test_backing_of_host_is_mapped_again_as_soon_as_it_is_unmapped),
		ON_GPU(test_backing_of_another_owner_is_mapped_where_one_of_host_was),
		ON_GPU(test_copies_run_over_what_is_of_the_host_and_what_is_not),
		ON_GPU(test_rows_and_fills_run_over_what_is_of_the_host_and_what_is_not),
		ON_GPU(test_many_rows_run_over_what_is_of_the_host_and_what_is_not),
	};

	return _cmocka_run_group_tests("mapping", tests, GSB_ARRAY_LEN(tests), NULL, NULL);
}

/* Of a real GPU: what all devices do, and what an executing one does that is not bound to virtual time. */
static int on_gpu(char *spec)
{
	const struct CMUnitTest tests[] = {
		ON_GPU(test_queue_create_takes_only_sms_that_the_device_can_give),
		ON_GPU(test_managed_memory_is_not_said_to_be_accessed_concurrently),
		ON_GPU(test_mem_alloc_is_counted_and_freed),
		ON_GPU(test_mem_alloc_past_limit_is_edquot_past_window_enomem),
		ON_GPU(test_space_limit_holds_from_then_on),
		ON_GPU(test_one_queue_completes_in_order_of_issue),
		ON_GPU(test_commands_of_which_more_follow_complete_each_in_order),
		ON_GPU(test_module_load_refuses_what_is_no_image),
		ON_GPU(test_linked_texts_are_one_module),
		ON_GPU(test_global_get_gives_each_load_its_own),
		ON_GPU(test_load_after_an_unload_has_fresh_variables),
		ON_GPU(test_owners_load_at_the_same_time),
		ON_GPU(test_managed_variables_lie_where_they_are_placed),
		ON_GPU(test_managed_variables_begin_with_addresses_of_others),
		ON_GPU(test_managed_variables_that_a_driver_cannot_have_are_refused_at_once),
		ON_GPU(test_host_pin_stays_in_window),
		ON_GPU(test_space_destroy_frees_what_is_left),
		ON_GPU(test_fresh_memory_is_zero_also_after_another_owner),
		ON_GPU(test_backing_is_counted_until_it_is_destroyed),
		ON_GPU(test_backing_of_what_is_no_unit_is_einval),
		ON_GPU(test_backing_is_the_same_bytes_wherever_it_is_mapped),
		ON_GPU(test_backing_is_zero_also_after_another_owner),
		ON_GPU(test_backings_side_by_side_are_one_range),
		ON_GPU(test_freed_memory_is_scrubbed_before_it_is_used_again),
		ON_GPU(test_copies_reach_the_memory_of_all_spaces_of_the_owner),
		ON_GPU(test_copy_rows_leaves_what_is_between),
		ON_GPU(test_fill_writes_each_element_size),
		ON_GPU(test_few_bytes_are_set_and_none_beside_them),
		ON_GPU(test_few_elements_are_filled_and_none_beside_them),
		ON_GPU(test_copy_of_memory_that_is_not_allocated_fails_alone),
		ON_GPU(test_array_holds_what_is_copied_into_it),
		ON_GPU(test_arrays_are_copied_into_each_other),
		ON_GPU(test_copy_over_what_lies_between_rows_is_refused),
		ON_GPU(test_fresh_array_is_zero_also_after_another_owner),
		ON_GPU(test_array_is_counted_and_freed),
		ON_GPU(test_array_that_no_device_has_is_einval),
		ON_GPU(test_array_is_neither_filled_nor_left),
		ON_GPU(test_texture_reads_its_array),
		ON_GPU(test_texture_reads_rows_of_memory),
		ON_GPU(test_texture_of_a_line_may_pass_the_end_of_its_memory),
		ON_GPU(test_heap_of_kernels_grows_and_stays),
		ON_GPU(test_surface_writes_into_its_array),
		ON_GPU(test_texture_of_what_is_not_its_own_is_einval),
		ON_GPU(test_launch_runs_every_thread_of_every_block),
		ON_GPU(test_queue_keeps_order),
#ifndef GSB_FAKE_LIBCUDA /* on CPUs that others use, too, nothing says when two threads run */
		ON_GPU(test_queues_run_side_by_side),
#endif
		ON_GPU(test_blocks_that_wait_for_each_other_finish),
		ON_GPU(test_globals_are_of_the_load),
		ON_GPU(test_issue_refuses_bad_geometry_and_queues_nothing),
		ON_GPU(test_refused_command_leaves_those_before_it),
		ON_GPU(test_issue_holds_to_reqntid),
		ON_GPU(test_cooperative_grid_that_cannot_be_resident_is_e2big),
		ON_GPU(test_cluster_is_launched_as_it_is_asked_for),
		ON_GPU(test_room_for_clusters_shrinks_with_their_size),
		ON_GPU(test_tensor_map_says_all_that_it_was_told),
		ON_GPU(test_tensor_map_moves_to_another_address),
		ON_GPU(test_tensor_map_of_an_image_has_the_corners_of_its_box),
		ON_GPU(test_tensor_map_out_of_range_is_einval),
		ON_GPU(test_space_create_refuses_windows_it_cannot_have),
		ON_GPU(test_queue_create_takes_only_sms_that_the_device_can_give),
		ON_GPU(test_complementary_parts_share_no_sm),
		ON_GPU(test_print_stays_in_its_space),
		ON_GPU(test_print_shows_each_conversion),
		ON_GPU(test_print_of_a_text_that_counts_its_nul),
		ON_GPU(test_print_of_what_has_managed_variables_is_its_spaces),
		ON_GPU(test_print_of_a_long_string_is_cut),
		ON_GPU(test_print_of_linked_modules_is_one_text),
		ON_GPU(test_print_of_many_threads_is_all_there),
		ON_GPU(test_print_over_the_limit_costs_the_newest),
		ON_GPU(test_print_over_the_limit_leaves_no_hole),
		ON_GPU(test_print_past_the_room_that_was_known_is_all_there),
		ON_GPU(test_print_without_text_is_read_in_parts),
		ON_GPU(test_print_goes_round),
		ON_GPU(test_print_is_read_while_others_print),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* Of a real GPU, all of it. */
static int all_on_gpu(char *spec)
{
	return on_gpu(spec) + share_on_gpu(spec) + map_on_gpu(spec);
}

#define ON(spec, f)                                               \
	{                                                         \
#f "[" spec "]", f, setup, teardown, (void *)spec \
	}
#define ON_ALL(f) ON("null", f), ON("emu:h200", f)
#define ON_EMU(f) ON("emu:h200", f)
/* What executes and is not bound to virtual time, in a process of its own, too. */
#define ON_EMU_AND_LANES(f) ON_EMU(f), ON("lanes:emu:h200", f)
#define ON_ALL_AND_LANES(f) ON_ALL(f), ON("lanes:null", f), ON("lanes:emu:h200", f)

static const struct CMUnitTest tests[] = {
	cmocka_unit_test(test_open_unknown_scheme_says_what_would_be_right),
	ON_ALL_AND_LANES(test_info_reports_architecture),
	ON_ALL_AND_LANES(test_queue_create_takes_only_sms_that_the_device_can_give),
	ON_ALL_AND_LANES(test_mem_alloc_is_counted_and_freed),
	ON_ALL_AND_LANES(test_backing_is_counted_until_it_is_destroyed),
	ON_ALL_AND_LANES(test_backing_of_what_is_no_unit_is_einval),
	ON_ALL_AND_LANES(test_backing_of_host_is_not_the_device_s_to_count),
	ON_ALL_AND_LANES(test_backing_of_host_of_what_is_no_unit_is_einval),
	ON_ALL(test_backing_without_addresses_is_enotsup),
	ON_ALL_AND_LANES(test_mem_alloc_past_limit_is_edquot_past_window_enomem),
	ON_ALL_AND_LANES(test_space_limit_holds_from_then_on),
	ON_ALL_AND_LANES(test_one_queue_completes_in_order_of_issue),
	ON_ALL_AND_LANES(test_commands_of_which_more_follow_complete_each_in_order),
	ON_ALL_AND_LANES(test_module_load_refuses_what_is_no_image),
	ON_ALL_AND_LANES(test_function_get_describes_parameters),
	ON_ALL(test_module_bytes_are_those_of_a_load),
	ON_EMU_AND_LANES(test_module_cost_is_what_the_device_has_less),
	ON_EMU(test_module_bytes_grow_with_what_is_prepared),
	ON_EMU_AND_LANES(test_linked_texts_are_one_module),
	ON_ALL_AND_LANES(test_global_get_gives_each_load_its_own),
	ON_EMU_AND_LANES(test_load_after_an_unload_has_fresh_variables),
	ON_EMU_AND_LANES(test_owners_load_at_the_same_time),
	ON_EMU(test_small_load_ends_beside_a_large_one),
	ON_EMU_AND_LANES(test_managed_variables_lie_where_they_are_placed),
	ON_EMU_AND_LANES(test_managed_variables_begin_with_addresses_of_others),
	ON_ALL_AND_LANES(test_host_pin_stays_in_window),
	ON_ALL_AND_LANES(test_space_destroy_frees_what_is_left),
	ON_EMU(test_flood_of_small_allocations_leaves_room_for_another_space),
	ON_EMU(test_modules_without_end_are_refused_and_leave_room),
	ON_EMU_AND_LANES(test_fresh_memory_is_zero_also_after_another_owner),
	ON_EMU_AND_LANES(test_backing_is_the_same_bytes_wherever_it_is_mapped),
	ON_EMU_AND_LANES(test_backing_is_zero_also_after_another_owner),
	ON_EMU(test_backing_is_scrubbed_before_its_memory_is_used_again),
	ON_EMU(test_large_memory_goes_beside_the_caller),
	ON_EMU_AND_LANES(test_backings_side_by_side_are_one_range),
	ON_EMU_AND_LANES(test_backing_of_host_is_what_the_host_sees),
	ON_EMU_AND_LANES(test_backing_of_host_is_the_same_bytes_wherever_it_is_mapped),
	ON_EMU_AND_LANES(test_backings_of_both_have_the_same_addresses_by_turns),
	ON_EMU(test_backings_of_host_share_a_descriptor),
	ON_EMU_AND_LANES(test_backing_of_host_keeps_its_file),
	ON_EMU_AND_LANES(test_backing_of_host_is_given_access_as_often_as_asked),
	ON_EMU_AND_LANES(test_backing_of_host_is_mapped_again_as_soon_as_it_is_unmapped),
	ON_EMU_AND_LANES(test_backing_of_another_owner_is_mapped_where_one_of_host_was),
	ON_EMU_AND_LANES(test_backing_of_host_without_access_is_a_fault),
	ON_EMU_AND_LANES(test_copies_run_over_what_is_of_the_host_and_what_is_not),
	ON_EMU_AND_LANES(test_rows_and_fills_run_over_what_is_of_the_host_and_what_is_not),
	ON_EMU_AND_LANES(test_many_rows_run_over_what_is_of_the_host_and_what_is_not),
	ON_EMU_AND_LANES(test_backing_is_accessed_as_it_is_allowed),
	ON_EMU(test_backing_is_its_owners_alone),
	ON_EMU_AND_LANES(test_backing_is_mapped_for_another_owner),
	ON_EMU_AND_LANES(test_opened_memory_is_the_same_bytes),
	ON_EMU_AND_LANES(test_opened_memory_outlives_who_has_lent_it),
	ON_EMU_AND_LANES(test_shared_memory_outlives_its_space),
	ON_EMU_AND_LANES(test_shared_memory_is_counted_until_nobody_has_it),
	ON_EMU_AND_LANES(test_opened_memory_outlives_its_backing),
	ON_EMU_AND_LANES(test_what_lies_beside_shared_memory_is_nobodys),
	ON_EMU_AND_LANES(test_freed_memory_that_others_have_is_not_given_out),
	ON_EMU_AND_LANES(test_backing_that_nobody_has_mapped_opens_as_zero),
	ON_EMU_AND_LANES(test_memory_that_was_shared_is_counted_as_any),
	ON_EMU_AND_LANES(test_opened_memory_costs_no_space_anything),
	ON_EMU_AND_LANES(test_freed_memory_that_others_have_is_not_its_spaces),
	ON_EMU_AND_LANES(test_share_of_what_is_no_allocation_is_einval),
	ON_EMU(test_exported_memory_is_the_same_bytes_elsewhere),
	ON_EMU(test_opened_memory_ends_where_it_ends_and_when_it_is_freed),
	ON_EMU(test_freed_memory_that_others_have_is_a_hole_of_its_space),
	ON_EMU(test_shared_memory_is_not_given_out_before_nobody_has_it),
	ON_EMU(test_rest_of_a_space_goes_though_others_have_a_part_of_it),
	ON_EMU(test_import_of_what_is_not_in_the_file_is_einval),
	ON_EMU(test_opens_without_end_leave_room_for_another_space),
	ON_EMU(test_close_leaves_no_piece_behind),
	ON_EMU(test_mappings_without_end_leave_room_for_another_owner),
	ON_EMU(test_unmap_under_work_is_noticed),
	ON_EMU(test_unmap_leaves_no_piece_behind),
	ON_EMU_AND_LANES(test_copies_reach_the_memory_of_all_spaces_of_the_owner),
	ON_EMU(test_kernels_reach_the_memory_of_all_spaces_of_the_owner),
	ON_EMU_AND_LANES(test_copy_into_its_own_source_moves_it),
	ON_EMU_AND_LANES(test_copy_rows_leaves_what_is_between),
	ON_EMU_AND_LANES(test_fill_writes_each_element_size),
	ON_EMU_AND_LANES(test_few_bytes_are_set_and_none_beside_them),
	ON_EMU_AND_LANES(test_few_elements_are_filled_and_none_beside_them),
	ON_EMU(test_zeroes_of_many_pages_take_no_memory),
	ON_EMU(test_zeroes_of_pages_that_stay_are_written),
	ON_EMU_AND_LANES(test_copy_of_memory_that_is_not_allocated_fails_alone),
	ON_EMU_AND_LANES(test_launch_runs_every_thread_of_every_block),
	ON_EMU_AND_LANES(test_queue_keeps_order),
	ON_EMU(test_queues_run_side_by_side),
	ON_EMU_AND_LANES(test_blocks_that_wait_for_each_other_finish),
	ON_EMU_AND_LANES(test_globals_are_of_the_load),
	ON_EMU_AND_LANES(test_issue_refuses_bad_geometry_and_queues_nothing),
	ON_EMU_AND_LANES(test_refused_command_leaves_those_before_it),
	ON_EMU_AND_LANES(test_issue_holds_to_reqntid),
	ON_EMU_AND_LANES(test_cooperative_grid_that_cannot_be_resident_is_e2big),
	ON_EMU_AND_LANES(test_tensor_map_says_all_that_it_was_told),
	ON_EMU_AND_LANES(test_tensor_map_moves_to_another_address),
	ON_EMU_AND_LANES(test_tensor_map_of_an_image_has_the_corners_of_its_box),
	ON_EMU_AND_LANES(test_tensor_map_out_of_range_is_einval),
	ON_EMU_AND_LANES(test_tensor_map_that_is_none_cannot_be_moved),
	ON_EMU_AND_LANES(test_blocks_run_on_the_sms_of_their_queue),
	ON_EMU_AND_LANES(test_complementary_parts_share_no_sm),
	ON_EMU(test_partition_keeps_nobody_from_other_sms),
	ON_EMU_AND_LANES(test_cooperative_grid_larger_than_its_sms_is_e2big),
	ON_EMU(test_kernels_that_want_different_things_cost_each_other_little),
	ON_EMU(test_company_is_that_of_the_same_sm),
	ON_EMU(test_company_counts_from_when_it_comes_until_it_goes),
	ON_EMU_AND_LANES(test_prepare_names_the_opcode_it_cannot_run),
	ON_EMU_AND_LANES(test_fault_ends_the_guilty_launch_and_nothing_else),
	ON_EMU(test_cancel_ends_a_kernel_that_never_would),
	ON_EMU(test_completion_of_what_is_cancelled_is_behind_its_last_access),
	ON_EMU(test_free_under_work_is_noticed),
	ON_EMU(test_completion_after_a_charge_is_noticed),
	ON_EMU(test_completion_beside_what_was_cancelled_is_noticed),
	ON_EMU_AND_LANES(test_cancel_of_idle_space_does_nothing),
	ON_EMU(test_time_stands_still_until_advance),
	ON_EMU(test_launch_and_copy_have_their_latencies),
	ON_EMU(test_heads_of_one_instant_start_in_order_of_issue),
	ON_EMU(test_not_before_delays_the_start),
	ON_EMU(test_advance_stands_where_it_is_told_to),
	ON_EMU(test_advance_tells_that_it_stands_beside_a_kernel),
	ON_EMU(test_advance_to_passes_completions),
	cmocka_unit_test(test_timeline_does_not_depend_on_workers),
	cmocka_unit_test(test_timeline_of_long_blocks_does_not_depend_on_workers),
	cmocka_unit_test(test_timeline_of_changing_speeds_does_not_depend_on_workers),
	cmocka_unit_test(test_more_sms_take_less_time),
	cmocka_unit_test(test_real_clock_completes_by_itself),
	ON("null", test_print_is_absent_where_nothing_executes),
	ON_EMU_AND_LANES(test_print_is_there_with_the_completion),
	ON_EMU(test_print_of_launches_in_order_of_their_queue),
	ON_EMU_AND_LANES(test_print_stays_in_its_space),
	ON_EMU_AND_LANES(test_print_shows_each_conversion),
	ON_EMU(test_print_of_a_text_that_counts_its_nul),
	ON_EMU(test_print_of_a_long_string_is_cut),
	ON_EMU(test_print_of_linked_modules_is_one_text),
	ON_EMU_AND_LANES(test_print_of_many_threads_is_all_there),
	cmocka_unit_test(test_print_order_does_not_depend_on_workers),
	ON_EMU(test_print_over_the_limit_costs_the_oldest),
	ON_EMU_AND_LANES(test_print_limit_says_what_it_made_of_it),
	cmocka_unit_test(test_print_before_a_fault_is_not_lost),
	ON_EMU_AND_LANES(test_assertion_goes_to_stderr),
	ON_EMU(test_print_without_host_memory_costs_the_oldest),
	cmocka_unit_test(test_open_names_what_is_wrong),
	cmocka_unit_test(test_flip_each_spoils_every_copy_to_the_host),
	cmocka_unit_test(test_flip_nth_spoils_one),
	cmocka_unit_test(test_table_without_cancel_and_clock_is_a_device),
	ON_EMU_AND_LANES(test_freed_memory_is_scrubbed_before_it_is_used_again),
	ON_EMU_AND_LANES(test_space_create_refuses_windows_it_cannot_have),
	cmocka_unit_test(test_fault_has_the_code_of_the_access),
	ON_EMU(test_random_work_matches_plain_memory),
	ON_EMU(test_idle_workers_sleep),
	cmocka_unit_test(test_open_takes_architecture_from_a_file),
};

/* Usage: test_device_ops [cuda:N], on a machine with a GPU. Built as test_cuda_ops it is always so, with the fake driver of tests/fake. */
int main(int argc, char **argv)
{
#ifdef GSB_FAKE_LIBCUDA
	setenv("GSB_REAL_LIBCUDA", GSB_FAKE_LIBCUDA, 1);
	return all_on_gpu("cuda:0") + all_on_gpu("lanes:cuda:0");
#endif
	if (argc > 2)
		cmocka_set_test_filter(argv[2]);
	return argc > 1 ? all_on_gpu(argv[1]) : cmocka_run_group_tests(tests, NULL, NULL);
}
