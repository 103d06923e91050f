/*
 * test_cuda_failures.c - device/cuda on the fake driver of tests/fake, which fails where it is told to.
 *
 * Whatever call of the driver fails, and with whatever: somebody is told, nothing that the driver gave is kept, and a device that is
 * not lost works as before.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/compiler.h"
#include "device/cuda/cuda.h"
#include "device/cuda/device.h"
#include "device/cuda/said.h"
#include "device/cuda/threads.h"
#include "device/info.h"
#include "device/ops.h"
#include "ptx/ptx.h"
#include "tests/fake/fake.h"
#include "tests/unit/cubin.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/device_kernels.h"
#include "tests/unit/fatbin.h"
#include "tests/unit/patient.h"

#define DEVICE_BASE 0x400000000000ull
#define DEVICE_SIZE (1ull << 30)
#define HOST_BASE   0x200000000000ull
#define AREA_BASE   0x440000000000ull
#define AREA_SIZE   (1ull << 32)
#define HOST_SIZE   (1ull << 20)
#define LARGE	    (3u << 20)
#define STAGING	    (64u << 10)
#define LONG_S	    60

static struct {
	__typeof__(&fake_fail) inject;
	__typeof__(&fake_watch) watch;
	__typeof__(&fake_calls) calls;
	__typeof__(&fake_live) live;
	__typeof__(&fake_early) early;
	__typeof__(&fake_run) run;
	__typeof__(&fake_no_descriptors) no_descriptors;
	__typeof__(&fake_reset) reset;
} fake;

static const struct {
	const char *name;
} driver[] = {
#define GSB_DRIVER(name, parameters, threads) {#name},
#include "device/cuda/driver.def"
};

/* ---- a tenant's life, in which everything may fail ---- */

struct life {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_module *module;
	struct gsb_function *function;
	uint64_t small, large;
	void *staging;
	unsigned n_failed, n_issued;
	bool silent;	 /* a kernel said nothing */
	bool lost_value; /* a managed variable is not as a kernel left it */
	bool wrong;	 /* a result, though nothing failed */
	uint32_t word;	 /* what a kernel left */
};

static bool failed(struct life *l, int err)
{
	l->n_failed += err != 0;
	return err != 0;
}

static bool single; /* as the device of one process */
static bool hears_driver;
static unsigned n_connections;
static uint32_t register_ms;
static const char *code_folder;

static int open_device(struct life *l)
{
	struct gsb_device_params p = {.spec = "cuda:0",
				      .single = single,
				      .hears_driver = hears_driver,
				      .n_connections = n_connections,
				      .register_ms = register_ms,
				      .code_folder = code_folder,
				      .code_folder_bytes = 1ull << 40,
				      .virtual_base = AREA_BASE,
				      .virtual_size = AREA_SIZE};
	char err[256] = "";
	int res = gsb_device_open(&p, &l->dev, err, sizeof(err));

	assert_int_equal(!!err[0], !!res);
	if (res)
		return res;
	make_patient(l->dev);
	l->ops = l->dev->ops;
	return 0;
}

static void issue(struct life *l, struct gsb_cmd cmd)
{
	cmd.space = l->space;
	if (!failed(l, l->ops->issue(l->queue, &cmd)))
		l->n_issued++;
}

static void collect(struct life *l)
{
	struct gsb_completion c;

	while (l->n_issued) {
		struct pollfd fd = {.fd = l->ops->event_fd(l->dev), .events = POLLIN};

		if (l->ops->poll(l->dev, &c, 1)) {
			l->n_issued--;
			failed(l, c.result);
		} else if (!l->ops->stay_awake(l->dev)) {
			assert_int_equal(poll(&fd, 1, 60000), 1);
		}
	}
}

static uint64_t address_of(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

static void copy(struct life *l, uint64_t dst, uint64_t src, uint64_t size)
{
	issue(l, (struct gsb_cmd){.kind = GSB_CMD_COPY,
				  .copy = {.dst = dst, .src = src, .width = size, .height = 1}});
}

/* Code as the loader gets it: each step needs the one before. */
static void load(struct life *l)
{
	static struct gsb_function_info info;
	struct gsb_module *linked;
	char log[256] = "";

	if (!failed(l, l->ops->module_load(l->space, device_linked_ptx, strlen(device_linked_ptx),
					   &linked, log, sizeof(log))))
		l->ops->module_unload(linked);
	if (failed(l, l->ops->module_load(l->space, device_kernels_ptx, strlen(device_kernels_ptx),
					  &l->module, log, sizeof(log))))
		return;
	if (failed(l, l->ops->function_get(l->module, "set", &l->function, &info)))
		return;
	if (failed(l, l->ops->function_prepare(l->function, log, sizeof(log))))
		l->function = NULL;
}

/* Loaded when its variables have a place, with what it prints: each step needs the one before. */
static void place(struct life *l)
{
	static struct gsb_function_info info;
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}}};
	char log[256] = "";
	struct gsb_module *m;
	uint64_t addr, size;

	if (failed(l, l->ops->module_load(l->space, device_managed_ptx, strlen(device_managed_ptx),
					  &m, log, sizeof(log))))
		return;
	if (!failed(l, l->ops->module_place(m, HOST_BASE, true)) &&
	    !failed(l, l->ops->global_get(m, "held", &addr, &size)) &&
	    !failed(l, l->ops->function_get(m, "move", &cmd.launch.function, &info)) &&
	    !failed(l, l->ops->function_prepare(cmd.launch.function, log, sizeof(log)))) {
		issue(l, cmd);
		collect(l);
		l->lost_value = *(volatile uint32_t *)(uintptr_t)addr != 45;
	}
	l->ops->module_unload(m);
}

static void launch(struct life *l, bool more)
{
	struct {
		uint64_t p;
		uint32_t v, pad;
	} args = {l->small, 7, 0};

	issue(l, (struct gsb_cmd){.kind = GSB_CMD_LAUNCH,
				  .more = more,
				  .launch = {.function = l->function,
					     .grid = {1, 1, 1},
					     .block = {1, 1, 1},
					     .params = &args,
					     .params_bytes = sizeof(args)}});
}

/* An array with levels, and what views one of it; all of it goes with the space, or is given back. */
static void draw(struct life *l)
{
	static unsigned char texels[32 * 32];
	struct gsb_array is = {
		.width = 32, .height = 32, .format = CU_AD_FORMAT_UNSIGNED_INT8, .n_channels = 1};
	struct gsb_texture view = {.mark = GSB_TEXTURE_MARK,
				   .width = 32,
				   .height = 32,
				   .depth = 1,
				   .format = CU_AD_FORMAT_UNSIGNED_INT8,
				   .n_channels = 1};
	uint64_t plain, levels, texture, surface;

	if (failed(l, l->ops->array_alloc(l->space, &is, &plain)))
		return;
	view.base = plain;
	failed(l, l->ops->texture_create(l->space, &view, true, &surface));
	copy(l, plain, address_of(texels), sizeof(texels));
	is.n_levels = 3;
	if (!failed(l, l->ops->array_alloc(l->space, &is, &levels))) {
		view.base = levels;
		view.resource = CU_RESOURCE_TYPE_MIPMAPPED_ARRAY;
		if (!failed(l, l->ops->texture_create(l->space, &view, false, &texture)))
			failed(l, l->ops->texture_destroy(l->space, texture, false));
	}
	collect(l);
	failed(l, l->ops->mem_free(l->space, plain));
}

/* A kernel of another module, whose text is to be read. */
static void say(struct life *l)
{
	static struct gsb_function_info info;
	const struct {
		uint64_t p;
		uint32_t n, pad;
	} args = {0, 1, 0};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .launch = {.grid = {1, 1, 1},
					 .block = {1, 1, 1},
					 .params = &args,
					 .params_bytes = sizeof(args)}};
	char log[256] = "", text[16] = "";
	struct gsb_module *m;
	bool to_stderr, more;

	if (failed(l, l->ops->module_load(l->space, device_print_ptx, strlen(device_print_ptx), &m,
					  log, sizeof(log))))
		return;
	if (!failed(l, l->ops->function_get(m, "say", &cmd.launch.function, &info)) &&
	    !failed(l, l->ops->function_prepare(cmd.launch.function, log, sizeof(log)))) {
		issue(l, cmd);
		collect(l);
		l->ops->print_read(l->space, text, sizeof(text) - 1, &to_stderr, &more);
		l->silent = strcmp(text, "0.0.0\n") != 0;
	}
	l->ops->module_unload(m);
}

/* Launches that follow each other, on all SMs. */
static void follow(struct life *l)
{
	struct gsb_queue *part = l->queue;

	if (failed(l, l->ops->queue_create(l->dev, 0, GSB_ALL_SMS, &l->queue))) {
		l->queue = part;
		return;
	}
	launch(l, false);
	for (int i = 0; i < 3; i++)
		launch(l, i < 2);
	collect(l);
	l->ops->queue_destroy(l->queue);
	l->queue = part;
}

/* Memory comes back to where it is from, by another process. */
static void lend(struct life *l)
{
	struct gsb_backing *lent, *back;
	uint64_t offset, size, at, addr;
	int fd = -1;

	if (failed(l, l->ops->mem_share(l->space, l->small, &lent, &offset, &size)))
		return;
	if (!failed(l, l->ops->backing_export(lent, &fd, &at))) {
		if (!failed(l, l->ops->backing_import(l->dev, fd, at, size, &back))) {
			if (!failed(l, l->ops->mem_open(l->space, back, &addr)))
				failed(l, l->ops->mem_free(l->space, addr));
			l->ops->backing_destroy(back);
		}
		close(fd);
	}
	l->ops->backing_destroy(lent);
}

static int make_file(uint64_t size)
{
	int fd = memfd_create("host", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, (off_t)size), 0);
	return fd;
}

/* Memory of the host at reserved addresses, in two pieces that a copy runs over. */
static void map_host(struct life *l)
{
	const uint64_t at[] = {AREA_BASE, AREA_BASE + GSB_BACKING_UNIT};
	struct gsb_backing *b[2] = {NULL, NULL};
	int fd = make_file(2 * GSB_BACKING_UNIT);
	bool mapped[2] = {false, false}, ready = true;

	for (unsigned i = 0; i < 2; i++) {
		mapped[i] = !failed(l, l->ops->backing_of_host(l->dev, 1, fd, i * GSB_BACKING_UNIT,
							       GSB_BACKING_UNIT, &b[i])) &&
			    !failed(l, l->ops->backing_map(b[i], 1, at[i]));
		ready = ready && mapped[i] &&
			!failed(l, l->ops->backing_access(b[i], 1, at[i],
							  CU_MEM_ACCESS_FLAGS_PROT_READWRITE));
	}
	if (ready)
		copy(l, l->large, at[1] - 2048, 4096);
	collect(l);
	for (unsigned i = 0; i < 2; i++) {
		if (mapped[i])
			l->ops->backing_unmap(b[i], 1, at[i]);
		if (b[i])
			l->ops->backing_destroy(b[i]);
	}
	close(fd);
}

static void work(struct life *l)
{
	static unsigned char bytes[LARGE];
	uint64_t addr, size;

	if (failed(l, l->ops->mem_alloc(l->space, 100, &l->small)) ||
	    failed(l, l->ops->mem_alloc(l->space, LARGE, &l->large)))
		return;
	load(l);
	if (l->module)
		failed(l, l->ops->global_get(l->module, "counter", &addr, &size));
	copy(l, l->large, address_of(bytes), LARGE);
	copy(l, l->large, HOST_BASE, 4096);
	copy(l, l->large, address_of(l->staging), 4096);
	if (l->function)
		launch(l, false);
	copy(l, address_of(&l->word), l->small, 4);
	collect(l);
	if (l->function)
		follow(l);
	draw(l);
	say(l);
	place(l);
	lend(l);
	map_host(l);
}

static void share(struct life *l)
{
	l->staging =
		mmap(NULL, STAGING, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	l->ops->buffer_share(l->dev, l->staging, STAGING, -1);
}

static void end_share(struct life *l, void *at, size_t size)
{
	if (!l->ops->buffer_unshare(l->dev, at))
		munmap(at, size);
}

/* The i-th's addresses: those of all are different. */
static int create_space_at(struct life *l, unsigned i, struct gsb_space **out)
{
	struct gsb_space_params p = {.device_base = DEVICE_BASE + i * DEVICE_SIZE,
				     .device_size = DEVICE_SIZE,
				     .host_base = HOST_BASE + i * HOST_SIZE,
				     .host_size = HOST_SIZE};

	return l->ops->space_create(l->dev, &p, out);
}

static int create_space(struct life *l)
{
	return create_space_at(l, 0, &l->space);
}

static void live(struct life *l)
{
	const struct gsb_sm_range part = {16, 16};

	if (failed(l, create_space(l)))
		return;
	failed(l, l->ops->host_pin(l->space, HOST_BASE, HOST_SIZE));
	share(l);
	if (!failed(l, l->ops->queue_create(l->dev, 0, part, &l->queue)))
		work(l);
	l->wrong = !l->n_failed && (l->word != 7 || l->silent || l->lost_value);
	l->ops->queue_destroy(l->queue);
	end_share(l, l->staging, STAGING);
	if (l->small)
		failed(l, l->ops->mem_free(l->space, l->small));
	l->ops->space_destroy(l->space);
}

static unsigned n_live(void)
{
	unsigned n = 0;

	for (unsigned kind = 0; kind < FAKE_N_KINDS; kind++)
		n += fake.live(kind);
	return n;
}

/* Nobody is told: a time or a number is not known, or it is a copy of less moment, or what has been given back is gone anyhow. */
static bool may_fail_quietly(const char *name)
{
	static const char *const quiet[] = {
		"cuDeviceGetAttribute",
		"cuDeviceGetDevResource",
		"cuDevSmResourceSplitByCount",
		"cuLibraryGetKernelCount",
		"cuLibraryEnumerateKernels",
		"cuKernelGetAttribute",
		"cuKernelGetName",
		"cuKernelGetParamInfo",
		"cuEventElapsedTime",
		"cuEventQuery",
		"cuStreamQuery",
		"cuCtxSetCurrent",
		"cuGraph",	  /* they are launched plainly then */
		"cuCtxCreate_v2", /* memory is pinned in the first context then, and the log says so */
		"Destroy",
		"Free",
		"Release",
		"Unmap",
		"Unload",
		"Unregister",
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(quiet); i++)
		if (strstr(name, quiet[i]))
			return true;
	return false;
}

/* ---- one failure in a life ---- */

static void check_life_after(struct gsb_device *dev, const char *name)
{
	struct life again = {.dev = dev, .ops = dev->ops};

	live(&again);
	if (dev->ops->lost(dev)) /* the helper came to it only now */
		return;
	if (again.n_failed || again.wrong)
		fail_msg("after a failed %s the next tenant does not work", name);
}

static void fail_in_open(const char *name, CUresult code)
{
	struct life l = {0};

	fake.reset();
	fake.inject(name, 1, code);
	if (open_device(&l)) {
		if (n_live())
			fail_msg("%s fails with %d in open: %u things are left", name, code,
				 n_live());
		return;
	}
	live(&l);
	l.ops->close(l.dev);
	if (n_live())
		fail_msg("%s fails with %d: %u things are left", name, code, n_live());
}

static void fail_in_life(const char *name, CUresult code)
{
	struct life l = {0};
	unsigned before;

	fake.reset();
	assert_int_equal(open_device(&l), 0);
	before = fake.calls(name);
	fake.inject(name, 1, code);
	live(&l);
	if (l.wrong)
		fail_msg("%s fails with %d: a wrong result", name, code);
	if (fake.calls(name) > before && !l.n_failed && !l.ops->lost(l.dev) &&
	    !may_fail_quietly(name))
		fail_msg("%s fails with %d: nobody is told", name, code);
	if (!l.ops->lost(l.dev)) {
		check_life_after(l.dev, name);
		if (fake.early() && !l.ops->lost(l.dev))
			fail_msg("%s fails with %d: memory goes that is in use", name, code);
	}
	l.ops->close(l.dev);
	if (n_live())
		fail_msg("%s fails with %d: %u things are left", name, code, n_live());
}

static void test_each_call_that_has_no_memory_is_told_and_leaves_nothing(void **state)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(driver); i++) {
		fail_in_open(driver[i].name, CUDA_ERROR_OUT_OF_MEMORY);
		fail_in_life(driver[i].name, CUDA_ERROR_OUT_OF_MEMORY);
	}
}

static void test_each_call_of_a_device_of_one_process_may_fail(void **state)
{
	single = true;
	test_each_call_that_has_no_memory_is_told_and_leaves_nothing(state);
	single = false;
}

static void test_each_call_that_finds_the_context_lost_is_told_and_leaves_nothing(void **state)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(driver); i++)
		fail_in_life(driver[i].name, CUDA_ERROR_ILLEGAL_ADDRESS);
}

static void test_a_life_without_failure_works_and_leaves_nothing(void **state)
{
	struct life l = {0};

	fake.reset();
	assert_int_equal(open_device(&l), 0);
	for (int i = 0; i < 3; i++)
		check_life_after(l.dev, "nothing");
	l.ops->close(l.dev);
	assert_int_equal(n_live(), 0);
}

/* ---- what waits for nobody ---- */

static struct gsb_space *make_space(struct life *l)
{
	fake.reset();
	assert_int_equal(open_device(l), 0);
	assert_int_equal(create_space(l), 0);
	return l->space;
}

static void close_all(struct life *l)
{
	l->ops->space_destroy(l->space);
	l->ops->close(l->dev);
	assert_int_equal(n_live(), 0);
	assert_int_equal(fake.early(), 0);
}

/* ---- managed variables ---- */

static uint32_t managed_word(struct life *l, struct gsb_module *m, const char *name)
{
	uint64_t addr = 0, size = 0;

	assert_int_equal(l->ops->global_get(m, name, &addr, &size), 0);
	assert_in_range(addr, HOST_BASE, HOST_BASE + 4095);
	return *(volatile uint32_t *)(uintptr_t)addr;
}

/* What failed: a module is loaded and placed, and a place that failed is not asked for again. */
static int load_and_place(struct life *l, struct gsb_module **out)
{
	char log[256] = "";
	uint64_t addr, size;
	int err = l->ops->module_load(l->space, device_managed_ptx, strlen(device_managed_ptx), out,
				      log, sizeof(log));

	assert_int_equal(!!log[0], !!err);
	if (err) {
		*out = NULL;
		return err;
	}
	assert_int_equal(l->ops->global_get(*out, "held", &addr, &size), -ENOENT);
	err = l->ops->module_place(*out, HOST_BASE, true);
	assert_int_equal(l->ops->module_place(*out, HOST_BASE, true), -EINVAL);
	if (err)
		assert_int_equal(l->ops->global_get(*out, "held", &addr, &size), -ENOENT);
	return err;
}

static void test_managed_variables_that_fail_are_told_and_leave_nothing(void **state)
{
	static const struct {
		const char *name;
		CUresult code;
		int err;
		bool at_load;
	} rows[] = {
		{"cuLinkCreate_v2", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, true},
		{"cuLinkAddData_v2", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, true},
		{"cuLinkComplete", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, true},
		{"cuLibraryLoadData", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, false},
		{"cuLibraryGetModule", CUDA_ERROR_NOT_FOUND, -EBADMSG, false},
		{"cuLibraryGetGlobal", CUDA_ERROR_NOT_FOUND, -ENOENT, false},
		{"cuLibraryGetGlobal", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, false},
		{"cuMemHostAlloc", CUDA_ERROR_OUT_OF_MEMORY, -ENOMEM, false}, /* to print into */
		{"cuMemcpyAsync", CUDA_ERROR_UNKNOWN, -EIO, false},	      /* the same */
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		struct gsb_module *m;
		struct life l = {0};

		make_space(&l);
		assert_int_equal(l.ops->host_pin(l.space, HOST_BASE, HOST_SIZE), 0);
		fake.inject(rows[i].name, 1, rows[i].code);
		if (load_and_place(&l, &m) != rows[i].err || !m != rows[i].at_load)
			fail_msg("%s fails, and that is not said", rows[i].name);
		l.ops->module_unload(m);
		assert_int_equal(load_and_place(&l, &m), 0);
		assert_int_equal(managed_word(&l, m, "held"), 40);
		l.ops->module_unload(m);
		close_all(&l);
	}
}

/* Whatever was in their place before; and the second load of the same does not change what the first has. */
static void test_managed_variables_begin_anew_only_where_that_is_asked_for(void **state)
{
	struct gsb_module *first, *second;
	struct life l = {0};
	char log[256];

	make_space(&l);
	assert_int_equal(l.ops->host_pin(l.space, HOST_BASE, HOST_SIZE), 0);
	memset((void *)(uintptr_t)HOST_BASE, 0xff, 4096);
	assert_int_equal(load_and_place(&l, &first), 0);
	assert_int_equal(managed_word(&l, first, "held"), 40);
	assert_int_equal(managed_word(&l, first, "zero"), 0);
	memset((void *)(uintptr_t)HOST_BASE, 0x11, 4096);
	assert_int_equal(l.ops->module_load(l.space, device_managed_ptx, strlen(device_managed_ptx),
					    &second, log, sizeof(log)),
			 0);
	assert_int_equal(l.ops->module_managed(second), l.ops->module_managed(first));
	assert_int_equal(l.ops->module_place(second, HOST_BASE, false), 0);
	assert_int_equal(managed_word(&l, second, "held"), 0x11111111);
	l.ops->module_unload(first);
	l.ops->module_unload(second);
	close_all(&l);
}

/* One that is never placed was never the driver's. */
static void test_module_that_gets_no_place_is_not_loaded(void **state)
{
	struct gsb_module *m;
	struct life l = {0};
	char log[256];

	make_space(&l);
	assert_int_equal(l.ops->module_load(l.space, device_managed_ptx, strlen(device_managed_ptx),
					    &m, log, sizeof(log)),
			 0);
	assert_int_equal(fake.calls("cuLinkComplete"), 1);
	assert_int_equal(fake.live(FAKE_LINK), 0);
	assert_true(l.ops->module_bytes(m) > strlen(device_managed_ptx));
	l.ops->module_unload(m);
	close_all(&l);
	assert_int_equal(fake.calls("cuLibraryUnload"), fake.calls("cuLibraryLoadData"));
}

/* ---- memory without addresses ---- */

/* One is made, mapped and given access, and all that was done is undone. What failed. */
static int map_and_undo(struct life *l)
{
	struct gsb_backing *b;
	int err = l->ops->backing_create(l->dev, 1, GSB_BACKING_UNIT, &b);

	if (err)
		return err;
	err = l->ops->backing_map(b, 1, AREA_BASE);
	if (!err) {
		err = l->ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
		l->ops->backing_unmap(b, 1, AREA_BASE);
	}
	l->ops->backing_destroy(b);
	return err;
}

static void test_mapping_that_fails_is_told_and_leaves_nothing(void **state)
{
	static const char *const names[] = {"cuMemAddressReserve", "cuMemCreate", "cuMemMap",
					    "cuMemSetAccess", "cuMemsetD8Async"};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(names); i++) {
		struct life l = {0};

		fake.reset();
		assert_int_equal(open_device(&l), 0);
		fake.inject(names[i], 1, CUDA_ERROR_OUT_OF_MEMORY);
		if (map_and_undo(&l) != -ENOMEM)
			fail_msg("%s fails and nobody is told", names[i]);
		if (map_and_undo(&l))
			fail_msg("after a failed %s nothing can be mapped", names[i]);
		assert_int_equal(fake.early(), 0); /* what was being zeroed stayed until then */
		assert_int_equal(fake.live(FAKE_HANDLE) + fake.live(FAKE_MAPPING), 0);
		l.ops->close(l.dev);
		if (n_live())
			fail_msg("after a failed %s %u things are left", names[i], n_live());
	}
}

/* By the kernel of the host, whose memory the fake driver's is. */
static bool can_read(uint64_t addr)
{
	int end[2];
	bool ok;

	assert_int_equal(pipe(end), 0);
	ok = write(end[1], (const void *)(uintptr_t)addr, 1) == 1;
	close(end[0]);
	close(end[1]);
	return ok;
}

static void test_mapping_that_cannot_be_zeroed_is_nobody_s_to_read(void **state)
{
	struct life l = {0};
	struct gsb_backing *b;

	fake.reset();
	assert_int_equal(open_device(&l), 0);
	assert_int_equal(l.ops->backing_create(l.dev, 1, GSB_BACKING_UNIT, &b), 0);
	assert_int_equal(l.ops->backing_map(b, 1, AREA_BASE), 0);
	fake.inject("cuMemsetD8Async", 1, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(l.ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
			 -ENOMEM);
	assert_false(can_read(AREA_BASE));
	assert_int_equal(l.ops->backing_access(b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
			 0);
	assert_true(can_read(AREA_BASE));
	l.ops->backing_unmap(b, 1, AREA_BASE);
	l.ops->backing_destroy(b);
	l.ops->close(l.dev);
	assert_int_equal(n_live(), 0);
}

/* ---- memory of the host, mapped over reserved addresses ---- */

struct host_backing {
	struct gsb_backing *b;
	int fd;
};

static void make_backing(struct life *l, struct host_backing *h)
{
	h->fd = make_file(GSB_BACKING_UNIT);
	assert_int_equal(l->ops->backing_of_host(l->dev, 1, h->fd, 0, GSB_BACKING_UNIT, &h->b), 0);
}

static void end_backing(struct life *l, struct host_backing *h)
{
	l->ops->backing_destroy(h->b);
	close(h->fd);
}

static void make_of_host(struct life *l, struct host_backing *h)
{
	fake.reset();
	assert_int_equal(open_device(l), 0);
	make_backing(l, h);
}

static void end_of_host(struct life *l, struct host_backing *h)
{
	end_backing(l, h);
	l->ops->close(l->dev);
	assert_int_equal(fake.early(), 0);
	assert_int_equal(n_live(), 0);
}

static int give_access(struct life *l, struct host_backing *h)
{
	return l->ops->backing_access(h->b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
}

static void map_at(struct life *l, struct host_backing *h, uint64_t addr)
{
	make_backing(l, h);
	assert_int_equal(l->ops->backing_map(h->b, 1, addr), 0);
	assert_int_equal(l->ops->backing_access(h->b, 1, addr, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
			 0);
}

static void unmap_at(struct life *l, struct host_backing *h, uint64_t addr)
{
	l->ops->backing_unmap(h->b, 1, addr);
	end_backing(l, h);
}

static void test_host_backing_that_cannot_be_registered_is_told(void **state)
{
	struct life l = {0};
	struct host_backing h;

	make_of_host(&l, &h);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(l.ops->backing_map(h.b, 1, AREA_BASE), 0);
		fake.inject("cuMemHostRegister_v2", 1, CUDA_ERROR_OUT_OF_MEMORY);
		assert_int_equal(give_access(&l, &h), -ENOMEM);
		assert_int_equal(fake.live(FAKE_REGISTERED), 0);
		if (i)
			assert_int_equal(give_access(&l, &h), 0);
		l.ops->backing_unmap(h.b, 1, AREA_BASE);
	}
	end_of_host(&l, &h);
}

static void test_host_backing_without_addresses_is_told(void **state)
{
	struct life l = {0};
	struct gsb_backing *b = NULL;
	int fd = make_file(GSB_BACKING_UNIT);

	fake.reset();
	assert_int_equal(open_device(&l), 0);
	fake.inject("cuMemAddressReserve", 1, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(l.ops->backing_of_host(l.dev, 1, fd, 0, GSB_BACKING_UNIT, &b), -ENOMEM);
	close(fd);
	l.ops->close(l.dev);
	assert_int_equal(n_live(), 0);
}

/* One for all of them, for the caller may close his, and none when they have gone. */
static void test_host_backings_share_a_descriptor(void **state)
{
	struct gsb_backing *b[100];
	struct life l = {0};
	int fd = make_file(GSB_BACKING_UNIT);
	unsigned before;

	fake.reset();
	assert_int_equal(open_device(&l), 0);
	before = count_descriptors();
	for (unsigned i = 0; i < GSB_ARRAY_LEN(b); i++)
		assert_int_equal(l.ops->backing_of_host(l.dev, 1, fd, 0, GSB_BACKING_UNIT, &b[i]),
				 0);
	assert_int_equal(count_descriptors(), before + 1);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(b); i++)
		l.ops->backing_destroy(b[i]);
	assert_int_equal(count_descriptors(), before);
	close(fd);
	l.ops->close(l.dev);
	assert_int_equal(n_live(), 0);
}

/* Mapped, and made ready by a pinner; nobody has access. */
static void prepare_of_host(struct life *l, struct host_backing *h)
{
	make_of_host(l, h);
	assert_int_equal(l->ops->backing_map(h->b, 1, AREA_BASE), 0);
	l->ops->host_prepare(l->dev, 1, AREA_BASE, GSB_BACKING_UNIT);
}

/* Nothing is left to do. */
static void test_host_backing_that_is_prepared_is_registered_once(void **state)
{
	struct life l = {0};
	struct host_backing h;

	prepare_of_host(&l, &h);
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(give_access(&l, &h), 0);
	assert_int_equal(fake.calls("cuMemHostRegister_v2"), 1);
	l.ops->backing_unmap(h.b, 1, AREA_BASE);
	end_of_host(&l, &h);
	assert_int_equal(fake.calls("cuMemHostUnregister"), 1);
}

static void await_unregistered(void)
{
	while (fake.live(FAKE_REGISTERED))
		usleep(100);
}

/* Whoever it was made for has died meanwhile. Nothing can be read there any more. */
static void test_host_backing_that_was_only_prepared_goes(void **state)
{
	struct life l = {0};
	struct host_backing h;

	prepare_of_host(&l, &h);
	assert_true(can_read(AREA_BASE));
	l.ops->backing_unmap(h.b, 1, AREA_BASE);
	await_unregistered();
	while (can_read(AREA_BASE))
		usleep(100);
	end_of_host(&l, &h);
}

/* Access goes first, and the mapping before the driver has heard of that. */
static void test_host_backing_that_is_hidden_and_unmapped_goes_once(void **state)
{
	struct life l = {0};
	struct host_backing h;

	make_of_host(&l, &h);
	for (unsigned i = 0; i < 50; i++) {
		assert_int_equal(l.ops->backing_map(h.b, 1, AREA_BASE), 0);
		assert_int_equal(give_access(&l, &h), 0);
		assert_int_equal(
			l.ops->backing_access(h.b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_NONE), 0);
		if (i % 2)
			assert_int_equal(give_access(&l, &h), 0);
		l.ops->backing_unmap(h.b, 1, AREA_BASE);
	}
	await_unregistered();
	while (can_read(AREA_BASE))
		usleep(100);
	end_of_host(&l, &h);
}

static struct {
	struct cuda_device *dev; /* NULL: nobody looks */
	_Atomic unsigned n, n_locked;
} holes;

/* All of this process. Nobody but who makes a hole has the lock meanwhile. */
void *mmap(void *addr, size_t size, int prot, int flags, int fd, off_t at)
{
	if (holes.dev && flags & MAP_FIXED && prot == PROT_NONE) {
		bool is_free = !pthread_mutex_trylock(&holes.dev->pin_lock);

		if (is_free)
			pthread_mutex_unlock(&holes.dev->pin_lock);
		holes.n_locked += !is_free;
		holes.n++;
	}
	return (void *)syscall(SYS_mmap, addr, size, prot, flags, fd, at);
}

/* It takes its time, and the engine's thread asks for the lock whatever it is told about pinned memory. */
static void test_hole_is_made_under_no_lock(void **state)
{
	struct life l = {0};
	struct host_backing h;

	make_of_host(&l, &h);
	holes.n = holes.n_locked = 0;
	holes.dev = to_cuda(l.dev);
	for (unsigned i = 1; i <= 2; i++) {
		assert_int_equal(l.ops->backing_map(h.b, 1, AREA_BASE), 0);
		if (i == 1)
			assert_int_equal(give_access(&l, &h), 0);
		l.ops->backing_unmap(h.b, 1, AREA_BASE);
		while (holes.n < i)
			usleep(100);
	}
	holes.dev = NULL;
	assert_int_equal(holes.n_locked, 0);
	end_of_host(&l, &h);
}

#define N_ROWS	  100
#define ROW_BYTES 3

static unsigned n_calls_of_rows(void)
{
	return fake.calls("cuMemcpy2DAsync_v2") + fake.calls("cuMemcpyAsync") +
	       fake.calls("cuMemsetD2D8Async") + fake.calls("cuMemsetD8Async");
}

static unsigned n_calls_for(struct life *l, struct gsb_cmd cmd)
{
	const unsigned before = n_calls_of_rows();

	issue(l, cmd);
	collect(l);
	assert_int_equal(l->n_failed, 0);
	return n_calls_of_rows() - before;
}

/* A row that has a byte in one piece and two in the next. */
static void fill_and_copy_rows(struct life *l, uint64_t seam)
{
	const uint64_t from = seam - 1 - N_ROWS / 2 * ROW_BYTES, to = l->large;
	struct gsb_cmd fill = {
		.kind = GSB_CMD_FILL,
		.fill = {.dst = from,
			 .width = ROW_BYTES,
			 .height = N_ROWS,
			 .pitch = ROW_BYTES,
			 .value = 0x5a,
			 .elem_bytes = 1},
	};
	struct gsb_cmd rows = {
		.kind = GSB_CMD_COPY,
		.copy = {to, from, ROW_BYTES, N_ROWS, ROW_BYTES, ROW_BYTES},
	};
	uint8_t out[N_ROWS * ROW_BYTES] = {0};

	assert_in_range(n_calls_for(l, fill), 1, 4);
	assert_in_range(n_calls_for(l, rows), 1, 4);
	copy(l, address_of(out), to, sizeof(out));
	collect(l);
	for (unsigned i = 0; i < sizeof(out); i++)
		assert_int_equal(out[i], 0x5a);
}

/* A program may ask for millions of rows, and the engine's thread makes each call. */
static void test_rows_in_two_pieces_take_no_call_each(void **state)
{
	struct life l = {0};
	struct host_backing h[2];

	make_space(&l);
	assert_int_equal(l.ops->queue_create(l.dev, 0, GSB_ALL_SMS, &l.queue), 0);
	assert_int_equal(l.ops->mem_alloc(l.space, 4096, &l.large), 0);
	for (unsigned i = 0; i < 2; i++)
		map_at(&l, &h[i], AREA_BASE + i * GSB_BACKING_UNIT);
	fill_and_copy_rows(&l, AREA_BASE + GSB_BACKING_UNIT);
	for (unsigned i = 0; i < 2; i++)
		unmap_at(&l, &h[i], AREA_BASE + i * GSB_BACKING_UNIT);
	l.ops->queue_destroy(l.queue);
	close_all(&l);
}

#define HELD_MS 10000 /* where what must not wait does */

static _Atomic bool may_forget;

static void hold_unregister(void *arg)
{
	for (unsigned i = 0; i < HELD_MS && !may_forget; i++)
		usleep(1000);
}

static void hold_back(void)
{
	may_forget = false;
	fake.watch("cuMemHostUnregister", hold_unregister, NULL);
}

static void let_go(void)
{
	may_forget = true;
	fake.watch("cuMemHostUnregister", NULL, NULL);
}

/* The driver is told of what is there yet: the addresses are a hole behind that. */
static void test_addresses_are_a_hole_when_the_driver_has_forgotten_them(void **state)
{
	struct life l = {0};
	struct host_backing h;

	make_of_host(&l, &h);
	hold_back();
	assert_int_equal(l.ops->backing_map(h.b, 1, AREA_BASE), 0);
	assert_int_equal(give_access(&l, &h), 0);
	assert_int_equal(l.ops->backing_access(h.b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_NONE),
			 0);
	l.ops->backing_unmap(h.b, 1, AREA_BASE);
	let_go();
	await_unregistered();
	while (can_read(AREA_BASE))
		usleep(100);
	end_of_host(&l, &h);
}

/* As an engine that has nothing else to do sleeps. */
static void expect_to_be_woken(struct life *l, struct host_backing *h)
{
	struct pollfd fd = {.fd = l->ops->event_fd(l->dev), .events = POLLIN};
	struct gsb_completion c;

	do
		assert_int_equal(gsb_cuda_ops.backing_map(h->b, 1, AREA_BASE), -EINPROGRESS);
	while (l->ops->stay_awake(l->dev));
	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_int_equal(l->ops->poll(l->dev, &c, 1), 0);
}

/* Else what is mapped there next would be the driver's to forget; and the engine's thread, which asks, serves everybody. */
static void test_mapping_where_another_goes_comes_later(void **state)
{
	struct life l = {0};
	struct host_backing h;

	make_of_host(&l, &h);
	hold_back();
	assert_int_equal(l.ops->backing_map(h.b, 1, AREA_BASE), 0);
	assert_int_equal(give_access(&l, &h), 0);
	l.ops->backing_unmap(h.b, 1, AREA_BASE);
	expect_to_be_woken(&l, &h);
	expect_to_be_woken(&l, &h);
	let_go();
	assert_int_equal(l.ops->backing_map(h.b, 1, AREA_BASE), 0);
	assert_int_equal(fake.live(FAKE_REGISTERED), 0);
	assert_true(can_read(AREA_BASE));
	l.ops->backing_unmap(h.b, 1, AREA_BASE);
	end_of_host(&l, &h);
}

static void test_access_where_it_was_taken_away_comes_later(void **state)
{
	struct life l = {0};
	struct host_backing h;

	make_of_host(&l, &h);
	hold_back();
	assert_int_equal(l.ops->backing_map(h.b, 1, AREA_BASE), 0);
	assert_int_equal(give_access(&l, &h), 0);
	assert_int_equal(l.ops->backing_access(h.b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_NONE),
			 0);
	assert_int_equal(
		gsb_cuda_ops.backing_access(h.b, 1, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE),
		-EINPROGRESS);
	let_go();
	assert_int_equal(give_access(&l, &h), 0);
	assert_int_equal(fake.live(FAKE_REGISTERED), 1);
	l.ops->backing_unmap(h.b, 1, AREA_BASE);
	end_of_host(&l, &h);
}

/* ---- memory of one space in another ---- */

static struct gsb_space *another_space(struct life *l)
{
	const struct gsb_space_params p = {
		.device_base = DEVICE_BASE + DEVICE_SIZE, .device_size = DEVICE_SIZE, .owner = 9};
	struct gsb_space *space = NULL;

	assert_int_equal(l->ops->space_create(l->dev, &p, &space), 0);
	return space;
}

static struct gsb_backing *shared(struct life *l, struct gsb_space *space, uint64_t addr)
{
	struct gsb_backing *b = NULL;
	uint64_t offset, size;

	assert_int_equal(l->ops->mem_share(space, addr, &b, &offset, &size), 0);
	return b;
}

static void test_memory_that_was_shared_is_never_kept(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	uint64_t addr = 0, again = 0;

	assert_int_equal(l.ops->mem_alloc(space, LARGE, &addr), 0);
	l.ops->backing_destroy(
		shared(&l, space, addr)); /* who has it still is in another process */
	assert_int_equal(l.ops->mem_free(space, addr), 0);
	assert_int_equal(l.ops->mem_alloc(space, LARGE, &again), 0);
	assert_int_not_equal(again, addr);
	close_all(&l);
}

static void test_what_was_opened_is_never_kept(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	struct gsb_backing *b;
	uint64_t addr = 0, own = 0;

	assert_int_equal(l.ops->backing_create(l.dev, 1, GSB_BACKING_UNIT, &b), 0);
	assert_int_equal(l.ops->mem_open(space, b, &addr), 0);
	l.ops->backing_destroy(b);
	assert_int_equal(l.ops->mem_free(space, addr), 0);
	assert_int_equal(l.ops->mem_alloc(space, GSB_BACKING_UNIT, &own), 0);
	assert_int_not_equal(own, addr);
	close_all(&l);
}

/* Of many that are shared the driver has one. */
static void test_shares_of_one_chunk_are_one_handle(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l), *other = another_space(&l);
	struct gsb_backing *b[3];
	uint64_t addr[3], at[3];

	for (unsigned i = 0; i < 3; i++) {
		assert_int_equal(l.ops->mem_alloc(space, 512, &addr[i]), 0);
		b[i] = shared(&l, space, addr[i]);
		assert_int_equal(l.ops->mem_open(other, b[i], &at[i]), 0);
	}
	assert_int_equal(fake.live(FAKE_HANDLE), 1);
	assert_int_equal(fake.live(FAKE_MAPPING), 4);
	l.ops->space_destroy(space);
	l.space = other;
	for (unsigned i = 0; i < 3; i++)
		l.ops->backing_destroy(b[i]);
	assert_int_equal(fake.live(FAKE_HANDLE), 1);
	assert_int_equal(l.ops->mem_free(other, at[0]), 0);
	close_all(&l);
}

static void test_opened_memory_is_used_when_it_is_zero(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l), *other = another_space(&l);
	static unsigned char byte;
	struct gsb_backing *b;
	uint64_t addr = 0, at = 0;

	assert_int_equal(l.ops->queue_create(l.dev, 0, GSB_ALL_SMS, &l.queue), 0);
	fake.run(false);
	assert_int_equal(l.ops->mem_alloc(space, LARGE, &addr), 0);
	b = shared(&l, space, addr);
	assert_int_equal(l.ops->mem_open(other, b, &at), 0);
	l.space = other;
	copy(&l, at, address_of(&byte), 1);
	fake.run(true);
	collect(&l);
	l.ops->queue_destroy(l.queue);
	l.ops->backing_destroy(b);
	l.ops->space_destroy(space);
	close_all(&l);
	assert_int_equal(fake.calls("cuStreamWaitEvent"), 1);
}

static void test_mapping_of_another_owner_is_used_when_it_is_zero(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l), *other = another_space(&l);
	static unsigned char byte;
	struct gsb_backing *b;

	l.space = other;
	assert_int_equal(l.ops->queue_create(l.dev, 0, GSB_ALL_SMS, &l.queue), 0);
	assert_int_equal(l.ops->backing_create(l.dev, 1, GSB_BACKING_UNIT, &b), 0);
	fake.run(false);
	for (unsigned i = 0; i < 2; i++) {
		const uint64_t owner = i ? 9 : 1, at = AREA_BASE + i * GSB_BACKING_UNIT;

		assert_int_equal(l.ops->backing_map(b, owner, at), 0);
		assert_int_equal(
			l.ops->backing_access(b, owner, at, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), 0);
	}
	copy(&l, AREA_BASE + GSB_BACKING_UNIT, address_of(&byte), 1);
	fake.run(true);
	collect(&l);
	l.ops->queue_destroy(l.queue);
	l.ops->backing_unmap(b, 1, AREA_BASE);
	l.ops->backing_unmap(b, 9, AREA_BASE + GSB_BACKING_UNIT);
	l.ops->backing_destroy(b);
	l.ops->space_destroy(space);
	close_all(&l);
	assert_int_equal(fake.calls("cuStreamWaitEvent"), 1);
}

/* What a tenant has never touched is not what another one has left. */
static void test_memory_is_zero_before_another_process_has_it(void **state)
{
	struct life l = {0};
	uint32_t word = 1;
	struct gsb_backing *b;
	uint64_t at = 1;
	int fd = -1;

	make_space(&l);
	assert_int_equal(l.ops->backing_create(l.dev, 1, GSB_BACKING_UNIT, &b), 0);
	assert_int_equal(l.ops->backing_export(b, &fd, &at), 0);
	assert_int_equal(at, 0);
	assert_int_equal(pread(fd, &word, sizeof(word), 0), sizeof(word));
	assert_int_equal(word, 0);
	assert_int_equal(fake.live(FAKE_MAPPING), 0);
	close(fd);
	l.ops->backing_destroy(b);
	close_all(&l);
}

static void test_memory_is_shared_where_no_descriptor_stands_for_it(void **state)
{
	struct life l = {0};
	struct gsb_space *space;
	struct gsb_backing *b;
	uint64_t addr = 0, at;
	int fd = -1;

	fake.reset();
	fake.no_descriptors();
	assert_int_equal(open_device(&l), 0);
	assert_int_equal(create_space(&l), 0);
	space = l.space;
	assert_int_equal(l.ops->mem_alloc(space, 512, &addr), 0);
	b = shared(&l, space, addr);
	assert_int_equal(l.ops->mem_open(space, b, &at), 0);
	assert_int_equal(l.ops->backing_export(b, &fd, &at), -ENOTSUP);
	l.ops->backing_destroy(b);
	close_all(&l);
}

static void test_memory_freed_while_it_is_zeroed_goes_when_it_is_zero(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	uint64_t addr = 0, next = 0, other = 0;

	fake.run(false);
	assert_int_equal(l.ops->mem_alloc(space, LARGE, &addr), 0);
	assert_int_equal(l.ops->mem_alloc(space, 2 * LARGE, &next), 0);
	assert_int_equal(l.ops->mem_free(space, addr), 0);
	assert_int_equal(l.ops->mem_free(space, addr), -EINVAL);
	assert_int_equal(l.ops->mem_free(space, next), 0); /* kept, in place of the other */
	assert_int_equal(fake.live(FAKE_MAPPING), 2);
	fake.run(true);
	do { /* whatever is asked next notices, and it may be early */
		assert_int_equal(l.ops->mem_alloc(space, 512, &other), 0);
		assert_int_equal(l.ops->mem_free(space, other), 0);
	} while (fake.live(FAKE_MAPPING) > 2);
	close_all(&l);
}

static void test_what_was_freed_last_is_mapped_still(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	uint64_t addr = 0, again = 0, free_bytes = 0, total = 0;
	unsigned calls;

	assert_int_equal(l.ops->mem_alloc(space, LARGE, &addr), 0);
	calls = fake.calls("cuMemMap");
	for (int i = 0; i < 5; i++) {
		assert_int_equal(l.ops->mem_free(space, addr), 0);
		l.ops->mem_info(l.dev, &free_bytes, &total);
		assert_int_equal(free_bytes, total);
		assert_int_equal(l.ops->mem_alloc(space, LARGE, &again), 0);
		assert_int_equal(again, addr);
	}
	assert_int_equal(fake.calls("cuMemMap"), calls);
	assert_int_equal(fake.live(FAKE_MAPPING), 1);
	close_all(&l);
}

/* The engine sleeps, and is woken for it. */
static void test_what_is_kept_goes_soon(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	struct gsb_completion c;
	uint64_t addr = 0;

	assert_int_equal(l.ops->mem_alloc(space, LARGE, &addr), 0);
	assert_int_equal(l.ops->mem_free(space, addr), 0);
	assert_int_equal(fake.live(FAKE_MAPPING), 1);
	while (fake.live(FAKE_MAPPING)) {
		struct pollfd fd = {.fd = l.ops->event_fd(l.dev), .events = POLLIN};

		if (!l.ops->stay_awake(l.dev) && fake.live(FAKE_MAPPING))
			assert_int_equal(poll(&fd, 1, 60000), 1);
		assert_int_equal(l.ops->poll(l.dev, &c, 1), 0);
	}
	while (l.ops->stay_awake(l.dev)) /* a little, after what was polled */
		;
	assert_int_equal(poll(&(struct pollfd){l.ops->event_fd(l.dev), POLLIN, 0}, 1, 0), 0);
	close_all(&l);
}

/* To give an array back would stop everybody's launches while anything runs. */
static void test_arrays_are_given_back_when_nothing_runs(void **state)
{
	const struct gsb_array is = {
		.width = 32, .height = 32, .format = CU_AD_FORMAT_UNSIGNED_INT8, .n_channels = 1};
	static unsigned char byte;
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	uint64_t addr = 0, memory = 0, until;

	l.space = space;
	assert_int_equal(l.ops->queue_create(l.dev, 0, GSB_ALL_SMS, &l.queue), 0);
	assert_int_equal(l.ops->mem_alloc(space, 512, &memory), 0);
	for (int i = 0; i < 5; i++) { /* the same one each time */
		assert_int_equal(l.ops->array_alloc(space, &is, &addr), 0);
		assert_int_equal(l.ops->mem_free(space, addr), 0);
	}
	assert_int_equal(fake.calls("cuArray3DCreate_v2"), 1);
	copy(&l, memory, address_of(&byte), 1);
	assert_int_equal(l.ops->array_alloc(space, &is, &addr), 0);
	copy(&l, addr, address_of(&byte), 1);
	assert_int_equal(fake.calls("cuStreamWaitEvent"), 2); /* until it is zero */
	collect(&l);
	assert_int_equal(l.ops->mem_free(space, addr), 0);
	fake.run(false);
	copy(&l, memory, address_of(&byte), 1);
	until = gsb_clock_ns() + 400000000;
	while (gsb_clock_ns() < until)
		l.ops->stay_awake(l.dev);
	assert_int_equal(fake.live(FAKE_ARRAY), 1);
	fake.run(true);
	collect(&l);
	while (fake.live(FAKE_ARRAY)) {
		struct pollfd fd = {.fd = l.ops->event_fd(l.dev), .events = POLLIN};
		struct gsb_completion c;

		if (!l.ops->stay_awake(l.dev) && fake.live(FAKE_ARRAY))
			assert_int_equal(poll(&fd, 1, 60000), 1);
		assert_int_equal(l.ops->poll(l.dev, &c, 1), 0);
	}
	l.ops->queue_destroy(l.queue);
	close_all(&l);
}

#define N_KEPT	 16
#define N_GOING	 40 /* may wait to be unloaded */
#define N_IMAGES (N_KEPT + N_GOING)

/* Each of its own, and nobody's any more: the longest unused ones are to be unloaded. */
static void load_images(struct life *l, struct gsb_module *modules[N_IMAGES])
{
	char text[128], log[256];

	for (int i = 0; i < N_IMAGES; i++) {
		snprintf(
			text, sizeof(text),
			".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k%d() { ret; }\n",
			i);
		assert_int_equal(l->ops->module_load(l->space, text, strlen(text), &modules[i], log,
						     sizeof(log)),
				 0);
	}
}

static void open_queue(struct life *l, uint64_t size, uint64_t *memory)
{
	l->space = make_space(l);
	assert_int_equal(l->ops->queue_create(l->dev, 0, GSB_ALL_SMS, &l->queue), 0);
	assert_int_equal(l->ops->mem_alloc(l->space, size, memory), 0);
}

static struct cuda_helper *unloader_of(const struct life *l)
{
	return &gsb_container_of(l->dev, struct cuda_device, base)->unloader;
}

/* To unload it would stop everybody's launches for as long as what runs does. */
static void test_code_goes_when_nothing_runs(void **state)
{
	struct gsb_module *modules[N_IMAGES];
	static unsigned char byte;
	struct life l = {0};
	uint64_t memory, bytes;

	(void)state;
	open_queue(&l, 512, &memory);
	load_images(&l, modules);
	fake.run(false);
	copy(&l, memory, address_of(&byte), 1);
	for (int i = 0; i < N_IMAGES; i++)
		l.ops->module_unload(modules[i]);
	usleep(100000);
	assert_int_equal(fake.calls("cuLibraryUnload"), 0);
	assert_int_equal(cuda_helper_waiting(unloader_of(&l), &bytes), N_GOING);
	assert_in_range(bytes, N_GOING * 64, N_GOING * 128); /* each is a text of some 70 */
	fake.run(true);
	collect(&l);
	while (fake.calls("cuLibraryUnload") < N_GOING)
		usleep(1000);
	assert_int_equal(cuda_helper_waiting(unloader_of(&l), &bytes), 0);
	assert_int_equal(bytes, 0);
	l.ops->queue_destroy(l.queue);
	close_all(&l);
}

/* On a device at work it waits for all that runs. */
static void test_parts_of_the_sms_are_all_made_before(void **state)
{
	const int priorities[] = {0, GSB_PRIORITY_GREATEST + 1, GSB_PRIORITY_GREATEST};
	const struct gsb_device_info *info;
	struct life l = {0};
	unsigned n_made;
	uint32_t n;

	(void)state;
	make_space(&l);
	info = l.ops->info(l.dev);
	n = (info->arch.n_sms + info->sm_group - 1) / info->sm_group;
	fake.inject("cuGreenCtxCreate", 3, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(l.ops->prepare(l.dev), -ENOMEM);
	assert_int_equal(fake.live(FAKE_GREEN), 2);
	assert_int_equal(l.ops->prepare(l.dev), 0);
	assert_int_equal(fake.live(FAKE_GREEN), n * (n + 1) / 2 - 1); /* but all SMs */
	n_made = fake.calls("cuGreenCtxStreamCreate");
	for (uint32_t first = 0; first < n; first++)
		for (uint32_t end = first + 1; end <= n; end++) {
			struct gsb_sm_range sms = {first * info->sm_group, 0};

			sms.n = (end < n ? end * info->sm_group : info->arch.n_sms) - sms.first;
			for (unsigned i = 0; i < 3; i++) {
				assert_int_equal(
					l.ops->queue_create(l.dev, priorities[i], sms, &l.queue),
					0);
				l.ops->queue_destroy(l.queue);
			}
		}
	assert_int_equal(fake.live(FAKE_GREEN), n * (n + 1) / 2 - 1);
	assert_int_equal(fake.calls("cuGreenCtxStreamCreate"), n_made);
	close_all(&l);
}

/* As many as there may be commands in flight: for one that is made later the driver may wait until nothing runs. */
static void test_streams_of_all_sms_are_made_before(void **state)
{
	struct gsb_queue *queues[32 + 2 * -GSB_PRIORITY_GREATEST];
	struct life l = {0};
	unsigned n = 0, n_made;

	(void)state;
	make_space(&l);
	n_made = fake.calls("cuStreamCreateWithPriority");
	for (int p = GSB_PRIORITY_GREATEST; p <= 0; p++)
		for (unsigned i = 0; i < (p ? 2 : 32); i++)
			assert_int_equal(l.ops->queue_create(l.dev, p, GSB_ALL_SMS, &queues[n++]),
					 0);
	assert_int_equal(fake.calls("cuStreamCreateWithPriority"), n_made);
	while (n)
		l.ops->queue_destroy(queues[--n]);
	close_all(&l);
}

/* Each of several at once has its own; a few stay for who comes next, with the right priority and SMs. */
static void test_streams_are_kept_for_the_next_queue(void **state)
{
	const struct gsb_sm_range sms = {16, 16};
	struct gsb_queue *queues[8];
	struct life l = {0};
	unsigned n, n_made;

	(void)state;
	make_space(&l);
	n = fake.live(FAKE_STREAM);
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(l.ops->queue_create(l.dev, 0, sms, &queues[i]), 0);
	assert_int_equal(fake.live(FAKE_STREAM), n + 8);
	for (unsigned i = 0; i < 8; i++)
		l.ops->queue_destroy(queues[i]);
	assert_int_equal(fake.live(FAKE_STREAM), n + 4);
	n_made = fake.calls("cuGreenCtxStreamCreate");
	for (unsigned i = 0; i < 3; i++)
		assert_int_equal(l.ops->queue_create(l.dev, 0, sms, &queues[i]), 0);
	assert_int_equal(fake.calls("cuGreenCtxStreamCreate"), n_made);
	assert_int_equal(l.ops->queue_create(l.dev, GSB_PRIORITY_GREATEST, sms, &queues[3]), 0);
	assert_int_equal(fake.calls("cuGreenCtxStreamCreate"), n_made + 1); /* one of 0 is left */
	for (unsigned i = 0; i < 4; i++)
		l.ops->queue_destroy(queues[i]);
	close_all(&l);
}

/* Also that of arrays, whoever waits meanwhile. */
static void test_arrays_are_given_back_when_memory_is_short(void **state)
{
	const struct gsb_array is = {
		.width = 32, .height = 32, .format = CU_AD_FORMAT_UNSIGNED_INT8, .n_channels = 1};
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	struct gsb_texture view = {.mark = GSB_TEXTURE_MARK,
				   .width = 32,
				   .height = 32,
				   .depth = 1,
				   .format = CU_AD_FORMAT_UNSIGNED_INT8,
				   .n_channels = 1};
	uint64_t addr = 0, memory = 0, texture = 0;

	assert_int_equal(l.ops->array_alloc(space, &is, &addr), 0);
	view.base = addr;
	assert_int_equal(l.ops->texture_create(space, &view, false, &texture), 0);
	assert_int_equal(fake.live(FAKE_TEXTURE), 1);
	assert_int_equal(l.ops->mem_free(space, addr), 0);
	assert_int_equal(fake.live(FAKE_TEXTURE), 0); /* it would read what becomes another's */
	fake.inject("cuMemCreate", 1, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(l.ops->mem_alloc(space, LARGE, &memory), 0);
	assert_int_equal(fake.live(FAKE_ARRAY), 0);
	close_all(&l);
}

static void test_what_is_kept_is_for_its_own_space(void **state)
{
	struct life l = {0};
	struct gsb_space_params p = {.device_base = DEVICE_BASE + DEVICE_SIZE,
				     .device_size = DEVICE_SIZE};
	struct gsb_space *space = make_space(&l), *other;
	uint64_t addr = 0;

	assert_int_equal(l.ops->space_create(l.dev, &p, &other), 0);
	assert_int_equal(l.ops->mem_alloc(space, LARGE, &addr), 0);
	assert_int_equal(l.ops->mem_free(space, addr), 0);
	assert_int_equal(l.ops->mem_alloc(other, LARGE, &addr), 0);
	assert_in_range(addr, p.device_base, p.device_base + p.device_size - 1);
	l.ops->space_destroy(other);
	close_all(&l);
}

/* A copy of one space may name memory of the other, which is still on its way to zero. */
static void test_memory_of_another_space_of_the_owner_is_used_when_it_is_zero(void **state)
{
	struct life l = {0};
	struct gsb_space_params p = {
		.device_base = DEVICE_BASE, .device_size = DEVICE_SIZE, .owner = 3};
	struct gsb_space *other;
	static unsigned char byte;
	uint64_t addr = 0;

	fake.reset();
	assert_int_equal(open_device(&l), 0);
	assert_int_equal(l.ops->space_create(l.dev, &p, &l.space), 0);
	p.device_base += DEVICE_SIZE;
	assert_int_equal(l.ops->space_create(l.dev, &p, &other), 0);
	assert_int_equal(l.ops->queue_create(l.dev, 0, GSB_ALL_SMS, &l.queue), 0);
	assert_int_equal(l.ops->mem_alloc(other, 512, &addr), 0);
	copy(&l, addr, address_of(&byte), 1);
	assert_int_equal(fake.calls("cuStreamWaitEvent"), 1);
	collect(&l);
	l.ops->queue_destroy(l.queue);
	l.ops->space_destroy(other);
	close_all(&l);
}

/* Nobody is refused for it: it is nobody's. */
static void test_what_is_kept_goes_when_memory_is_short(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	uint64_t addr = 0;

	assert_int_equal(l.ops->mem_alloc(space, LARGE, &addr), 0);
	assert_int_equal(l.ops->mem_free(space, addr), 0);
	fake.inject("cuMemCreate", 1, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(l.ops->mem_alloc(space, 2 * LARGE, &addr), 0);
	assert_int_equal(fake.live(FAKE_MAPPING), 1);
	close_all(&l);
}

/* -errno of the last; freed again are those that are not @kept. */
static int allocate(struct life *l, uint64_t size, bool kept, int err)
{
	uint64_t addr = 0;

	if (!err)
		err = l->ops->mem_alloc(l->space, size, &addr);
	if (!err && !kept)
		assert_int_equal(l->ops->mem_free(l->space, addr), 0);
	return err;
}

/* Each round leaves a slab with so little here and there that it has no room for 1 MiB any more. */
static void test_what_is_left_of_slabs_is_limited(void **state)
{
	struct life l = {0};
	unsigned n = 0;
	int err = 0;

	make_space(&l);
	l.ops->space_limit(l.space, 2 << 20);
	for (; !err && n < 8; n++) {
		uint64_t tail = 0, gap = 0; /* so that what is kept comes behind the gap */

		err = allocate(&l, 1 << 20, false, err);
		err = allocate(&l, 512, true, err);
		err = allocate(&l, 600 << 10, false, err);
		err = allocate(&l, 512, true, err);
		if (err)
			break;
		assert_int_equal(l.ops->mem_alloc(l.space, (1 << 20) - (600 << 10) - 1024, &tail),
				 0);
		assert_int_equal(l.ops->mem_alloc(l.space, 500 << 10, &gap), 0);
		err = allocate(&l, 512, true, err);
		assert_int_equal(l.ops->mem_free(l.space, gap), 0);
		assert_int_equal(l.ops->mem_free(l.space, tail), 0);
	}
	assert_int_equal(err, -EDQUOT);
	assert_in_range(fake.live(FAKE_MAPPING), 2, 3);
	close_all(&l);
}

/* counter and pointer: of the device, and so of its tenant's share of it. */
static void test_variables_cost_memory_of_the_device(void **state)
{
	struct life l = {0};

	make_space(&l);
	load(&l);
	assert_non_null(l.module);
	assert_int_equal(l.ops->module_cost(l.module), l.ops->mem_cost(l.dev, 12));
	close_all(&l);
}

/* Which no launch is stopped for, and no kernel waited for. */
static void test_image_that_comes_again_is_not_loaded_again(void **state)
{
	struct life l = {0};
	struct gsb_module *first;
	unsigned calls;

	make_space(&l);
	load(&l);
	calls = fake.calls("cuLibraryGetModule");
	for (int i = 0; i < 3; i++) {
		l.ops->module_unload(l.module);
		load(&l);
	}
	assert_int_equal(fake.calls("cuLibraryGetModule"), calls);
	first = l.module; /* its variables are in use */
	load(&l);
	assert_int_equal(fake.calls("cuLibraryGetModule"), calls + 1);
	l.ops->module_unload(first);
	close_all(&l);
}

/* What may be left in its variables is for nobody. */
static void test_image_whose_variables_cannot_be_written_is_loaded_again(void **state)
{
	struct life l = {0};
	unsigned calls;

	make_space(&l);
	load(&l);
	l.ops->module_unload(l.module);
	calls = fake.calls("cuLibraryGetModule");
	fake.inject("cuMemcpyAsync", 2, CUDA_ERROR_OUT_OF_MEMORY);
	load(&l);
	assert_int_equal(l.n_failed, 0);
	assert_int_equal(fake.calls("cuLibraryGetModule"), calls + 1);
	close_all(&l);
}

/* What was made of its text is nothing that the driver takes: it goes to the driver as it came. */
static void test_module_whose_print_cannot_be_had_is_loaded_as_it_is(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	struct gsb_module *m = NULL;
	char log[256] = "";

	fake.inject("cuLibraryLoadData", 1, CUDA_ERROR_INVALID_PTX);
	assert_int_equal(l.ops->module_load(space, device_print_ptx, strlen(device_print_ptx), &m,
					    log, sizeof(log)),
			 0);
	assert_int_equal(fake.live(FAKE_MEMORY), 0); /* no ring */
	l.ops->module_unload(m);
	assert_int_equal(l.ops->module_load(space, device_print_ptx, strlen(device_print_ptx), &m,
					    log, sizeof(log)),
			 0);
	l.ops->module_unload(m);
	close_all(&l);
}

/*
 * A program that nvcc has linked, for an older GPU: one part has PTX, the other machine code for this one, with PTX for newer
 * ones, as NVIDIA's device runtime has.
 */
static size_t make_linked_program(uint8_t *to, const char *text, const char *object_text)
{
	struct cubin_writer w = {.text = object_text, .text_bytes = strlen(object_text) + 1};
	size_t size = fatbin_add(to, 0, FATBIN_ELF, 75, "old", 4), n, part;
	void *object;

	cubin_add(&w, "memory of the object", STT_OBJECT, 0, LARGE, 8, NULL);
	object = cubin_finish(&w, &n);
	size += make_fatbin(to + size, text);
	part = fatbin_add(to + size, 0, FATBIN_ELF, 90, object, n);
	size += fatbin_add(to + size, part, FATBIN_PTX, 121, "nothing", 8);
	free(object);
	return size;
}

/* Its sections lie elsewhere, which the driver would believe; a second time they are where they were. */
static void damage_object(uint8_t *image, size_t size)
{
	uint8_t *object = memmem(image, size, ELFMAG, SELFMAG);

	assert_non_null(object);
	object[offsetof(Elf64_Ehdr, e_shoff) + 3] ^= 0x7f;
}

static void test_ptx_is_linked_to_what_has_machine_code_alone(void **state)
{
	const char *twice = gsb_ptx_next_unit(device_linked_ptx, strlen(device_linked_ptx));
	char *text = strndup(device_linked_ptx, (size_t)(twice - device_linked_ptx));
	struct gsb_function_info info;
	struct gsb_module *m = NULL;
	struct gsb_function *f;
	uint8_t image[16384];
	struct life l = {0};
	char log[256] = "";
	size_t size;

	make_space(&l);
	size = make_linked_program(image, text, twice);
	assert_true(size < sizeof(image));
	if (l.ops->module_load(l.space, image, size, &m, log, sizeof(log)))
		fail_msg("it is not loaded: %s", log);
	assert_int_equal(l.ops->function_get(m, "set_twice", &f, &info), 0);
	assert_int_equal(l.ops->function_prepare(f, log, sizeof(log)), 0);
	assert_int_equal(l.ops->module_cost(m), l.ops->mem_cost(l.dev, LARGE + 4));
	l.ops->module_unload(m);
	for (int i = 1; i <= 2; i++) {
		fake.inject("cuLinkAddData_v2", i, CUDA_ERROR_OUT_OF_MEMORY);
		assert_int_equal(l.ops->module_load(l.space, image, size, &m, log, sizeof(log)),
				 -ENOMEM);
	}
	damage_object(image, size);
	assert_int_equal(l.ops->module_load(l.space, image, size, &m, log, sizeof(log)), -EBADMSG);
	assert_non_null(strstr(log, "an object of a linked program"));
	damage_object(image, size);
	fake.inject("cuLibraryGetModule", 1, CUDA_ERROR_CDP_NOT_SUPPORTED);
	assert_int_equal(l.ops->module_load(l.space, image, size, &m, log, sizeof(log)), -ENOTSUP);
	assert_non_null(strstr(log, "take shared or process"));
	free(text);
	close_all(&l);
}

static void test_pin_that_was_only_prepared_is_given_back(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);

	l.ops->host_prepare(l.dev, 1, HOST_BASE, 4096);
	l.ops->host_prepare(l.dev, 1, HOST_BASE + 8192, 4096);
	assert_int_equal(l.ops->host_pin(space, HOST_BASE, 4096), 0);
	assert_int_equal(fake.live(FAKE_REGISTERED), 2);
	close_all(&l);
}

static void test_pin_of_another_size_than_was_prepared_is_its_own(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);

	l.ops->host_prepare(l.dev, 1, HOST_BASE, 4096);
	assert_int_equal(l.ops->host_pin(space, HOST_BASE, 8192), 0);
	assert_int_equal(l.ops->host_unpin(space, HOST_BASE, 8192), 0);
	assert_int_equal(l.ops->host_pin(space, HOST_BASE, 4096), 0);
	close_all(&l);
}

static void test_addresses_that_go_can_be_pinned_again(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);

	for (int i = 0; i < 100; i++) {
		assert_int_equal(l.ops->host_pin(space, HOST_BASE, 8192), 0);
		assert_int_equal(l.ops->host_unpin(space, HOST_BASE, 8192), 0);
		assert_int_equal(l.ops->host_pin(space, HOST_BASE + 4096, 8192), 0);
		assert_int_equal(l.ops->host_unpin(space, HOST_BASE + 4096, 8192), 0);
	}
	close_all(&l);
}

static void test_pin_where_another_goes_comes_later(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);

	hold_back();
	assert_int_equal(l.ops->host_pin(space, HOST_BASE, 8192), 0);
	assert_int_equal(l.ops->host_unpin(space, HOST_BASE, 8192), 0);
	assert_int_equal(gsb_cuda_ops.host_pin(space, HOST_BASE + 4096, 8192), -EINPROGRESS);
	let_go();
	assert_int_equal(l.ops->host_pin(space, HOST_BASE + 4096, 8192), 0);
	close_all(&l);
}

/* It has nothing else to do, and whoever asks it is answered when it is done: the pin is there then. */
static void test_pinner_waits_for_what_goes(void **state)
{
	struct life l = {0};
	struct gsb_space *space = make_space(&l);

	for (unsigned i = 1; i <= 100; i++) {
		assert_int_equal(l.ops->host_pin(space, HOST_BASE, 8192), 0);
		assert_int_equal(l.ops->host_unpin(space, HOST_BASE, 8192), 0);
		l.ops->host_prepare(l.dev, 1, HOST_BASE + 4096, 8192);
		assert_int_equal(l.ops->host_pin(space, HOST_BASE + 4096, 8192), 0);
		assert_int_equal(l.ops->host_unpin(space, HOST_BASE + 4096, 8192), 0);
		assert_int_equal(fake.calls("cuMemHostRegister_v2"), 2 * i);
	}
	close_all(&l);
}

/* What the driver's compiler dies of is the image's, not the context's. */
static void test_image_that_is_refused_by_a_fatal_code_leaves_the_device(void **state)
{
	static const char *const calls[] = {"cuLibraryLoadData", "cuLibraryGetModule", "cuFuncLoad",
					    "cuLibraryGetKernel", "cuLibraryGetGlobal"};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(calls); i++) {
		struct life l = {0};

		fake.reset();
		assert_int_equal(open_device(&l), 0);
		fake.inject(calls[i], 1, CUDA_ERROR_UNKNOWN);
		live(&l);
		assert_true(l.n_failed);
		assert_int_equal(l.ops->lost(l.dev), CUDA_SUCCESS);
		check_life_after(l.dev, calls[i]);
		l.ops->close(l.dev);
	}
}

/* Nothing tells when a command ends behind which nothing could be put. */
static void test_command_that_cannot_be_followed_ends_the_device(void **state)
{
	static const char *const calls[] = {"cuEventRecord", "cuStreamWriteValue32_v2",
					    "cuStreamWaitEvent"};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(calls); i++) {
		struct life l = {0};

		fake.reset();
		assert_int_equal(open_device(&l), 0);
		fake.inject(calls[i], 1, CUDA_ERROR_OUT_OF_MEMORY);
		live(&l);
		assert_true(l.n_failed);
		assert_int_equal(l.ops->lost(l.dev), CUDA_ERROR_UNKNOWN);
		l.ops->close(l.dev);
	}
}

/* ---- a device of one process, and one too many ---- */

/* So a GPU, or a daemon of MPS, has room for more of them. */
static void test_device_of_one_process_has_one_context(void **state)
{
	struct life l = {0};

	fake.reset();
	unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
	single = true;
	assert_int_equal(open_device(&l), 0);
	single = false;
	assert_int_equal(fake.live(FAKE_PRIMARY), 1);
	assert_int_equal(fake.live(FAKE_CONTEXT), 0);
	assert_null(getenv("CUDA_DEVICE_MAX_CONNECTIONS"));
	assert_int_equal(l.ops->prepare(l.dev), 0);
	assert_int_equal(fake.live(FAKE_GREEN), 0); /* nobody is beside it */
	assert_true(fake.live(FAKE_STREAM) < 8);
	live(&l);
	assert_false(l.n_failed || l.wrong);
	l.ops->close(l.dev);
	assert_int_equal(fake.calls("cuCtxDestroy_v2"), 0); /* the primary one is released */
	assert_int_equal(n_live(), 0);
}

/* The driver bounds it by 4 GiB at most. */
static void test_compiled_code_is_kept_where_it_is_said(void **state)
{
	struct life l = {0};

	fake.reset();
	unsetenv("CUDA_CACHE_PATH");
	assert_int_equal(open_device(&l), 0);
	l.ops->close(l.dev);
	assert_null(getenv("CUDA_CACHE_PATH"));
	code_folder = "/somewhere/compiled";
	assert_int_equal(open_device(&l), 0);
	code_folder = NULL;
	l.ops->close(l.dev);
	assert_string_equal(getenv("CUDA_CACHE_PATH"), "/somewhere/compiled");
	assert_string_equal(getenv("CUDA_CACHE_MAXSIZE"), "4294967295");
}

/* As the pinner does; the context for it is made while the device serves already. */
static void prepare_pin(struct life *l)
{
	l->ops->host_prepare(l->dev, 1, HOST_BASE, HOST_SIZE);
}

static void test_device_of_many_has_a_context_for_pinning(void **state)
{
	struct life l = {0};

	fake.reset();
	unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
	assert_int_equal(open_device(&l), 0);
	prepare_pin(&l);
	assert_int_equal(fake.live(FAKE_CONTEXT), 1);
	assert_int_equal(fake.live(FAKE_REGISTERED), 1);
	assert_string_equal(getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "32");
	l.ops->close(l.dev);
	assert_true(fake.reset());
}

static void test_device_of_many_has_the_connections_that_are_asked_for(void **state)
{
	struct life l = {0};

	fake.reset();
	unsetenv("CUDA_DEVICE_MAX_CONNECTIONS");
	n_connections = 12;
	assert_int_equal(open_device(&l), 0);
	n_connections = 0;
	assert_string_equal(getenv("CUDA_DEVICE_MAX_CONNECTIONS"), "12");
	l.ops->close(l.dev);
	assert_true(fake.reset());
}

static void await_registered(unsigned n)
{
	for (unsigned i = 0; fake.live(FAKE_REGISTERED) != n; i++) {
		assert_true(i < 60000);
		usleep(1000);
	}
}

/* A context for it takes as long as all else of a start, and loads of code wait meanwhile. */
static void test_memory_is_registered_a_moment_later(void **state)
{
	struct life l = {0};

	fake.reset();
	register_ms = 3600000;
	alarm(LONG_S); /* else who waits for that to pass would hang */
	assert_int_equal(open_device(&l), 0);
	share(&l);
	usleep(20000);
	end_share(&l, l.staging, STAGING);
	l.ops->close(l.dev); /* at once */
	assert_int_equal(fake.calls("cuCtxCreate_v2"), 0);
	register_ms = 1;
	assert_int_equal(open_device(&l), 0);
	register_ms = 0;
	share(&l);
	await_registered(1);
	assert_int_equal(fake.live(FAKE_CONTEXT), 1);
	assert_true(l.ops->buffer_unshare(l.dev, l.staging)); /* the helper unmaps it */
	await_registered(0);
	l.ops->close(l.dev);
	alarm(0);
	assert_true(fake.reset());
}

static void test_memory_is_registered_at_once_for_who_pins(void **state)
{
	struct life l = {0};

	fake.reset();
	register_ms = 3600000;
	alarm(LONG_S);
	assert_int_equal(open_device(&l), 0);
	register_ms = 0;
	share(&l);
	prepare_pin(&l);
	await_registered(2);
	end_share(&l, l.staging, STAGING);
	l.ops->close(l.dev);
	alarm(0);
	assert_true(fake.reset());
}

/* It would take of the time of whoever runs then. */
static void test_context_for_pinning_is_made_before_anything_runs(void **state)
{
	struct life l = {0};

	fake.reset();
	register_ms = 3600000;
	alarm(LONG_S);
	assert_int_equal(open_device(&l), 0);
	register_ms = 0;
	assert_int_equal(l.ops->prepare(l.dev), 0);
	assert_int_equal(fake.live(FAKE_CONTEXT), 1);
	l.ops->close(l.dev);
	alarm(0);
	assert_true(fake.reset());
}

static void test_device_without_room_for_a_second_context_pins_in_the_first(void **state)
{
	struct life l = {0};

	fake.reset();
	fake.inject("cuCtxCreate_v2", 1, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(open_device(&l), 0);
	prepare_pin(&l);
	assert_int_equal(fake.live(FAKE_CONTEXT), 0);
	assert_int_equal(fake.live(FAKE_REGISTERED), 1);
	assert_int_equal(l.ops->lost(l.dev), CUDA_SUCCESS);
	l.ops->close(l.dev);
	assert_true(fake.reset());
}

static uint64_t total_memory(void)
{
	struct life l = {0};
	uint64_t total;

	fake.reset();
	assert_int_equal(open_device(&l), 0);
	total = l.ops->info(l.dev)->total_mem_bytes;
	l.ops->close(l.dev);
	return total;
}

static void test_memory_of_the_second_context_is_not_sold(void **state)
{
	uint64_t of_many = total_memory();

	single = true;
	assert_true(total_memory() >= of_many + (512u << 20));
	single = false;
}

static FILE *heard_stdout; /* of this process, once it hears what its driver writes */

/* No kernel of this space has asserted anything: it is another's. */
static void test_what_the_driver_says_is_not_for_who_asserted_nothing(void **state)
{
	char text[256] = "";
	bool to_stderr = false, more = false;
	struct life l = {0};
	FILE *real = stderr, *real_out = stdout;
	struct gsb_space *space;

	hears_driver = true;
	space = make_space(&l);
	hears_driver = false;
	heard_stdout = stdout;
	stdout = real_out;
	fputs("a.cu:1: f: block: [0,0,0], thread: [0,0,0] Assertion `x` failed.\n", stderr);
	stderr = real;
	assert_true(cuda_said_bytes() > 0);
	assert_int_equal(l.ops->print_read(space, text, sizeof(text), &to_stderr, &more), 0);
	assert_false(more);
	close_all(&l);
}

/* ---- what machine code prints ---- */

/* Of device_print_ptx: for the reader of cubins the symbol is the machine code's, for the fake driver the text is what runs. */
static void *make_print_cubin(size_t *size)
{
	struct cubin_writer w = {.text = device_print_ptx,
				 .text_bytes = strlen(device_print_ptx) + 1};

	uint32_t symbol = cubin_add(&w, "vprintf", STT_FUNC, 0, 0, 1, NULL);

	w.symbols[symbol].st_shndx = SHN_UNDEF;
	return cubin_finish(&w, size);
}

struct speaker {
	struct gsb_space *space;
	struct gsb_queue *queue;
	struct gsb_function *say;
};

static int load_speaker(struct life *l, struct speaker *s)
{
	static struct gsb_function_info info;
	char log[256] = "";
	struct gsb_module *m;
	size_t size;
	void *cubin = make_print_cubin(&size);
	int err = l->ops->module_load(s->space, cubin, size, &m, log, sizeof(log));

	free(cubin);
	if (err) {
		assert_non_null(strstr(log, "print"));
		return err;
	}
	assert_int_equal(l->ops->function_get(m, "say", &s->say, &info), 0);
	assert_int_equal(l->ops->function_prepare(s->say, log, sizeof(log)), 0);
	assert_int_equal(l->ops->queue_create(l->dev, 0, GSB_ALL_SMS, &s->queue), 0);
	return 0;
}

static void speak(struct life *l, struct speaker *s)
{
	static const struct {
		uint64_t p;
		uint32_t n, pad;
	} args = {0, 1, 0};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = s->space,
			      .launch = {.function = s->say,
					 .grid = {1, 1, 1},
					 .block = {1, 1, 1},
					 .params = &args,
					 .params_bytes = sizeof(args)}};

	assert_int_equal(l->ops->issue(s->queue, &cmd), 0);
}

/* Whether all of them have said something. */
static bool hear_all(struct life *l, unsigned n)
{
	struct gsb_completion c;
	bool all = true;

	while (n) {
		struct pollfd fd = {.fd = l->ops->event_fd(l->dev), .events = POLLIN};

		if (l->ops->poll(l->dev, &c, 1)) {
			all &= c.printed;
			n--;
		} else if (!l->ops->stay_awake(l->dev)) {
			poll(&fd, 1, -1);
		}
	}
	return all;
}

static void expect_said(struct life *l, struct speaker *s, const char *expected)
{
	char text[256] = "";
	bool to_stderr = false, more;
	int n = l->ops->print_read(s->space, text, sizeof(text) - 1, &to_stderr, &more);

	assert_string_equal(text, expected);
	assert_int_equal(n, strlen(expected));
	assert_int_equal(more, n > 0);
	assert_false(to_stderr);
}

static FILE *real_stdout, *real_stderr;

/* The tests' own words come through the same streams. */
static void hear_driver(struct life *l, struct speaker *first, struct speaker *second)
{
	real_stdout = stdout;
	real_stderr = stderr;
	fake.reset();
	hears_driver = true;
	assert_int_equal(open_device(l), 0);
	hears_driver = false;
	stderr = real_stderr;
	heard_stdout = heard_stdout ? heard_stdout : stdout;
	stdout = heard_stdout;
	assert_int_equal(create_space_at(l, 0, &first->space), 0);
	if (second)
		assert_int_equal(create_space_at(l, 1, &second->space), 0);
}

static void hear_two(struct life *l, struct speaker s[2])
{
	hear_driver(l, &s[0], &s[1]);
	assert_int_equal(load_speaker(l, &s[0]), 0);
	assert_int_equal(load_speaker(l, &s[1]), 0);
}

static void leave_driver(struct life *l, struct speaker *s, unsigned n)
{
	for (unsigned i = 0; i < n; i++) {
		if (s[i].queue)
			l->ops->queue_destroy(s[i].queue);
		l->ops->space_destroy(s[i].space);
	}
	l->ops->close(l->dev);
	stdout = real_stdout;
	assert_int_equal(n_live(), 0);
}

static void test_what_machine_code_prints_is_its_space_s(void **state)
{
	struct life l = {0};
	struct speaker s[2] = {0};

	hear_two(&l, s);
	for (int i = 0; i < 2; i++) {
		speak(&l, &s[i]);
		assert_true(hear_all(&l, 1));
		expect_said(&l, &s[!i], "");
		expect_said(&l, &s[i], "0.0.0\n");
		expect_said(&l, &s[i], "");
	}
	leave_driver(&l, s, 2);
}

/* Its own text, if it said that alone, behind the other's end; else nothing. */
static void expect_own_or_nothing(struct life *l, struct speaker *s)
{
	char text[64] = "";
	bool to_stderr, more;

	l->ops->print_read(s->space, text, sizeof(text) - 1, &to_stderr, &more);
	if (text[0])
		assert_string_equal(text, "0.0.0\n");
}

/* One's text could be told the other. */
static void test_what_two_spaces_print_at_once_is_nobody_s(void **state)
{
	struct life l = {0};
	struct speaker s[2] = {0};

	hear_two(&l, s);
	fake.run(false);
	speak(&l, &s[0]);
	speak(&l, &s[1]);
	fake.run(true);
	hear_all(&l, 2);
	for (int i = 0; i < 2; i++)
		expect_own_or_nothing(&l, &s[i]);
	speak(&l, &s[1]);
	assert_true(hear_all(&l, 1));
	expect_said(&l, &s[0], "");
	expect_said(&l, &s[1], "0.0.0\n");
	leave_driver(&l, s, 2);
}

/* Which of the two has it does not matter. */
static void test_what_two_spaces_of_one_process_print_at_once_is_told(void **state)
{
	struct life l = {0};
	struct speaker s[2] = {0};
	char text[64] = "";
	bool to_stderr, more;
	int n = 0;

	single = true;
	hear_two(&l, s);
	single = false;
	fake.run(false);
	speak(&l, &s[0]);
	speak(&l, &s[1]);
	fake.run(true);
	hear_all(&l, 2);
	for (int i = 0; i < 2; i++)
		n += l.ops->print_read(s[i].space, text + n, sizeof(text) - 1 - (size_t)n,
				       &to_stderr, &more);
	assert_string_equal(text, "0.0.0\n0.0.0\n");
	leave_driver(&l, s, 2);
}

static void test_machine_code_that_prints_is_refused_where_it_cannot_be_heard(void **state)
{
	struct life l = {0};
	struct speaker s = {0};

	hear_driver(&l, &s, NULL);
	fake.inject("cuStreamCreateWithPriority", 1, CUDA_ERROR_OUT_OF_MEMORY);
	assert_int_equal(load_speaker(&l, &s), -ENOMEM);
	assert_int_equal(load_speaker(&l, &s), 0);
	speak(&l, &s);
	assert_true(hear_all(&l, 1));
	expect_said(&l, &s, "0.0.0\n");
	leave_driver(&l, &s, 1);
}

static void test_size_of_the_fifo_is_the_driver_s_of_one_process(void **state)
{
	for (int i = 0; i < 2; i++) {
		struct life l = {0};
		struct speaker s = {0};

		single = i;
		hear_driver(&l, &s, NULL);
		single = false;
		l.ops->print_limit(s.space, 4 << 20);
		assert_int_equal(load_speaker(&l, &s), 0);
		assert_int_equal(fake.calls("cuCtxSetLimit"), i);
		leave_driver(&l, &s, 1);
	}
}

static void expect_open(const char *call, CUresult code, int expected)
{
	struct life l = {0};

	fake.reset();
	fake.inject(call, 1, code);
	assert_int_equal(open_device(&l), expected);
}

static void test_device_without_room_for_another_process_says_so(void **state)
{
	static const CUresult full[] = {
		CUDA_ERROR_OUT_OF_MEMORY,
		CUDA_ERROR_MPS_SERVER_NOT_READY,
		CUDA_ERROR_MPS_MAX_CLIENTS_REACHED,
		CUDA_ERROR_MPS_MAX_CONNECTIONS_REACHED,
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(full); i++) {
		expect_open("cuInit", full[i], -EBUSY);
		expect_open("cuDevicePrimaryCtxRetain", full[i], -EBUSY);
	}
	expect_open("cuInit", CUDA_ERROR_MPS_CONNECTION_FAILED, -ENODEV);
	expect_open("cuDevicePrimaryCtxRetain", CUDA_ERROR_INVALID_DEVICE, -ENODEV);
}

static void test_server_of_mps_that_ends_with_a_fault_is_one_without_room(void **state)
{
	setenv("CUDA_MPS_PIPE_DIRECTORY", "/nowhere", 1);
	expect_open("cuInit", CUDA_ERROR_UNKNOWN, -EBUSY);
	expect_open("cuDevicePrimaryCtxRetain", CUDA_ERROR_UNKNOWN, -EBUSY);
	expect_open("cuDevicePrimaryCtxRetain", CUDA_ERROR_LAUNCH_FAILED, -EBUSY);
	expect_open("cuDevicePrimaryCtxRetain", CUDA_ERROR_INVALID_DEVICE, -ENODEV);
	unsetenv("CUDA_MPS_PIPE_DIRECTORY");
	expect_open("cuDevicePrimaryCtxRetain", CUDA_ERROR_UNKNOWN, -ENODEV);
}

/* ---- threads ---- */

static void *library;

/* In a process of its own, since it ends who makes what is another's. */
static bool may_make(const char *thread, const char *call)
{
	CUresult (*f)(void *) = (CUresult(*)(void *))dlsym(library, call);
	pid_t pid = fork();
	int status;

	if (!pid) {
		prctl(PR_SET_NAME, thread);
		setrlimit(RLIMIT_CORE, &(struct rlimit){0});
		if (!freopen("/dev/null", "w", stderr))
			_exit(1);
		f(NULL);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) ? WTERMSIG(status) == SIGABRT : !status);
	return !WIFSIGNALED(status);
}

static void test_each_thread_makes_its_own_calls_and_no_others(void **state)
{
	static const struct {
		const char *thread;
		bool unloads, asks, registers;
	} threads[] = {
		{"gsb-engine", false, true, false},	   {GSB_LOADER_NAME, false, true, false},
		{GSB_PINNER_NAME, false, false, false},	   {CUDA_UNLOADER_NAME, true, false, false},
		{CUDA_REGISTRAR_NAME, false, false, true}, {"test", false, true, false},
	};

	fake.reset();
	for (unsigned i = 0; i < GSB_ARRAY_LEN(threads); i++) {
		assert_true(may_make(threads[i].thread, "cuCtxSetCurrent"));
		assert_int_equal(may_make(threads[i].thread, "cuLibraryUnload"),
				 threads[i].unloads);
		assert_int_equal(may_make(threads[i].thread, "cuStreamQuery"), threads[i].asks);
		assert_int_equal(may_make(threads[i].thread, "cuMemHostUnregister"),
				 threads[i].registers);
	}
}

/* ---- set-up ---- */

/* Memory that is being registered, and how many of its pages were not there. */
struct registered {
	void *addr;
	size_t size;
	unsigned n_absent;
};

static void look_for_pages(void *arg)
{
	struct registered *r = arg;
	unsigned char there[(1u << 20) / 4096 + 1];

	assert_int_equal(mincore(r->addr, r->size, there), 0);
	for (size_t i = 0; i < r->size / 4096; i++)
		r->n_absent += !(there[i] & 1);
}

static void *map_empty(void *addr, size_t size)
{
	void *at = mmap(addr, size, PROT_READ | PROT_WRITE,
			MAP_SHARED | MAP_ANONYMOUS | (addr ? MAP_FIXED : 0), -1, 0);

	assert_ptr_not_equal(at, MAP_FAILED);
	return at;
}

/* To make them is what takes long, and the driver would do it under the lock that the engine's thread wants for who comes. */
static void test_pages_are_there_when_they_are_registered(void **state)
{
	const size_t size = (1u << 20) - 4096;
	struct life l = {0};
	struct gsb_space *space = make_space(&l);
	struct registered r = {map_empty((void *)(uintptr_t)HOST_BASE, HOST_SIZE), size, 0};

	fake.watch("cuMemHostRegister_v2", look_for_pages, &r);
	assert_int_equal(l.ops->host_pin(space, HOST_BASE, size), 0);
	assert_int_equal(r.n_absent, 0);
	r.addr = map_empty(NULL, size);
	l.ops->buffer_share(l.dev, r.addr, size, -1);
	await_registered(2);
	fake.watch("cuMemHostRegister_v2", NULL, NULL);
	assert_int_equal(r.n_absent, 0);
	end_share(&l, r.addr, size);
	close_all(&l);
}

static int set_up(void **state)
{
	library = dlopen(GSB_FAKE_LIBCUDA, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return -1;
	fake.inject = (__typeof__(fake.inject))dlsym(library, "fake_fail");
	fake.watch = (__typeof__(fake.watch))dlsym(library, "fake_watch");
	fake.calls = (__typeof__(fake.calls))dlsym(library, "fake_calls");
	fake.live = (__typeof__(fake.live))dlsym(library, "fake_live");
	fake.early = (__typeof__(fake.early))dlsym(library, "fake_early");
	fake.run = (__typeof__(fake.run))dlsym(library, "fake_run");
	fake.no_descriptors =
		(__typeof__(fake.no_descriptors))dlsym(library, "fake_no_descriptors");
	fake.reset = (__typeof__(fake.reset))dlsym(library, "fake_reset");
	setenv("GSB_REAL_LIBCUDA", GSB_FAKE_LIBCUDA, 1);
	return mmap((void *)(uintptr_t)HOST_BASE, HOST_SIZE, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_life_without_failure_works_and_leaves_nothing),
		cmocka_unit_test(test_each_call_that_has_no_memory_is_told_and_leaves_nothing),
		cmocka_unit_test(test_each_call_of_a_device_of_one_process_may_fail),
		cmocka_unit_test(
			test_each_call_that_finds_the_context_lost_is_told_and_leaves_nothing),
		cmocka_unit_test(test_managed_variables_that_fail_are_told_and_leave_nothing),
		cmocka_unit_test(test_managed_variables_begin_anew_only_where_that_is_asked_for),
		cmocka_unit_test(test_module_that_gets_no_place_is_not_loaded),
		cmocka_unit_test(test_mapping_that_fails_is_told_and_leaves_nothing),
		cmocka_unit_test(test_mapping_that_cannot_be_zeroed_is_nobody_s_to_read),
		cmocka_unit_test(test_host_backing_that_cannot_be_registered_is_told),
		cmocka_unit_test(test_host_backing_without_addresses_is_told),
		cmocka_unit_test(test_host_backings_share_a_descriptor),
		cmocka_unit_test(test_host_backing_that_is_prepared_is_registered_once),
		cmocka_unit_test(test_host_backing_that_was_only_prepared_goes),
		cmocka_unit_test(test_host_backing_that_is_hidden_and_unmapped_goes_once),
		cmocka_unit_test(test_hole_is_made_under_no_lock),
		cmocka_unit_test(test_rows_in_two_pieces_take_no_call_each),
		cmocka_unit_test(test_mapping_where_another_goes_comes_later),
		cmocka_unit_test(test_access_where_it_was_taken_away_comes_later),
		cmocka_unit_test(test_addresses_are_a_hole_when_the_driver_has_forgotten_them),
		cmocka_unit_test(test_memory_that_was_shared_is_never_kept),
		cmocka_unit_test(test_what_was_opened_is_never_kept),
		cmocka_unit_test(test_shares_of_one_chunk_are_one_handle),
		cmocka_unit_test(test_opened_memory_is_used_when_it_is_zero),
		cmocka_unit_test(test_mapping_of_another_owner_is_used_when_it_is_zero),
		cmocka_unit_test(test_memory_is_zero_before_another_process_has_it),
		cmocka_unit_test(test_memory_is_shared_where_no_descriptor_stands_for_it),
		cmocka_unit_test(test_memory_freed_while_it_is_zeroed_goes_when_it_is_zero),
		cmocka_unit_test(test_what_was_freed_last_is_mapped_still),
		cmocka_unit_test(test_what_is_kept_goes_soon),
		cmocka_unit_test(test_arrays_are_given_back_when_nothing_runs),
		cmocka_unit_test(test_arrays_are_given_back_when_memory_is_short),
		cmocka_unit_test(test_memory_of_another_space_of_the_owner_is_used_when_it_is_zero),
		cmocka_unit_test(test_what_is_kept_is_for_its_own_space),
		cmocka_unit_test(test_what_is_kept_goes_when_memory_is_short),
		cmocka_unit_test(test_what_is_left_of_slabs_is_limited),
		cmocka_unit_test(test_variables_cost_memory_of_the_device),
		cmocka_unit_test(test_code_goes_when_nothing_runs),
		cmocka_unit_test(test_image_that_comes_again_is_not_loaded_again),
		cmocka_unit_test(test_image_whose_variables_cannot_be_written_is_loaded_again),
		cmocka_unit_test(test_module_whose_print_cannot_be_had_is_loaded_as_it_is),
		cmocka_unit_test(test_ptx_is_linked_to_what_has_machine_code_alone),
		cmocka_unit_test(test_pages_are_there_when_they_are_registered),
		cmocka_unit_test(test_pin_that_was_only_prepared_is_given_back),
		cmocka_unit_test(test_pin_of_another_size_than_was_prepared_is_its_own),
		cmocka_unit_test(test_addresses_that_go_can_be_pinned_again),
		cmocka_unit_test(test_pin_where_another_goes_comes_later),
		cmocka_unit_test(test_pinner_waits_for_what_goes),
		cmocka_unit_test(test_image_that_is_refused_by_a_fatal_code_leaves_the_device),
		cmocka_unit_test(test_command_that_cannot_be_followed_ends_the_device),
		cmocka_unit_test(test_parts_of_the_sms_are_all_made_before),
		cmocka_unit_test(test_streams_of_all_sms_are_made_before),
		cmocka_unit_test(test_streams_are_kept_for_the_next_queue),
		cmocka_unit_test(test_device_of_one_process_has_one_context),
		cmocka_unit_test(test_compiled_code_is_kept_where_it_is_said),
		cmocka_unit_test(test_device_of_many_has_a_context_for_pinning),
		cmocka_unit_test(test_device_of_many_has_the_connections_that_are_asked_for),
		cmocka_unit_test(test_memory_is_registered_a_moment_later),
		cmocka_unit_test(test_memory_is_registered_at_once_for_who_pins),
		cmocka_unit_test(test_context_for_pinning_is_made_before_anything_runs),
		cmocka_unit_test(test_device_without_room_for_a_second_context_pins_in_the_first),
		cmocka_unit_test(test_memory_of_the_second_context_is_not_sold),
		cmocka_unit_test(test_what_the_driver_says_is_not_for_who_asserted_nothing),
		cmocka_unit_test(test_what_machine_code_prints_is_its_space_s),
		cmocka_unit_test(test_what_two_spaces_print_at_once_is_nobody_s),
		cmocka_unit_test(test_what_two_spaces_of_one_process_print_at_once_is_told),
		cmocka_unit_test(test_machine_code_that_prints_is_refused_where_it_cannot_be_heard),
		cmocka_unit_test(test_size_of_the_fifo_is_the_driver_s_of_one_process),
		cmocka_unit_test(test_device_without_room_for_another_process_says_so),
		cmocka_unit_test(test_server_of_mps_that_ends_with_a_fault_is_one_without_room),
		cmocka_unit_test(test_each_thread_makes_its_own_calls_and_no_others),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
