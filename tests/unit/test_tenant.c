/*
 * test_tenant.c - the life of a tenant: how it comes in, why it may not, and how it ends. A process is a tenant
 * once, so each case runs in a process of its own, which reports by its exit status and on stderr.
 */
#include "tests/unit/interpose.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/compiler.h"
#include "shm/channel.h"

#define CHECK(ok) ((ok) ? (void)0 : failed(#ok, __LINE__))

static char said[4096]; /* what the case wrote to stderr */

static void failed(const char *what, int line)
{
	fprintf(stderr, "test_tenant.c:%d: %s\n", line, what);
	_exit(1);
}

static void read_all(int fd)
{
	size_t n = 0;
	ssize_t r;

	while (n < sizeof(said) - 1 && (r = read(fd, said + n, sizeof(said) - 1 - n)) > 0)
		n += (size_t)r;
	said[n] = 0;
}

/* Run body in a child, with stderr in `said`. The child also fails when it writes to stdout. */
static void run_case(void (*body)(void))
{
	int err[2], out[2], status;
	char byte;
	pid_t pid;

	assert_int_equal(pipe(err) | pipe(out), 0);
	pid = fork();
	if (!pid) {
		dup2(err[1], 2);
		dup2(out[1], 1);
		close(err[0]);
		close(err[1]);
		close(out[0]);
		close(out[1]);
		alarm(30);
		body();
		_exit(0);
	}
	close(err[1]);
	close(out[1]);
	read_all(err[0]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	if (status)
		fail_msg("status 0x%x: %s", status, said);
	assert_int_equal(read(out[0], &byte, 1), 0);
	close(err[0]);
	close(out[0]);
}

static unsigned n_lines(void)
{
	unsigned n = 0;

	for (const char *p = said; *p; p++)
		n += *p == '\n';
	return n;
}

static void assert_said_once(const char *a, const char *b)
{
	if (n_lines() != 1 || !strstr(said, a) || !strstr(said, b))
		fail_msg("instead of one line with \"%s\" and \"%s\": %s", a, b, said);
}

/* ---- coming in ---- */

static void body_no_broker(void)
{
	int n = -1;

	setenv("GSB_SOCKET", "/tmp/gsb-no-such-socket", 1);
	cu_load(&cu);
	errno = 4711;
	CHECK(cu.cuInit(0) == CUDA_ERROR_SYSTEM_NOT_READY);
	CHECK(errno == 4711);
	CHECK(cu.cuInit(0) == CUDA_ERROR_SYSTEM_NOT_READY); /* said only once */
	CHECK(cu.cuDeviceGetCount(&n) == CUDA_ERROR_NOT_INITIALIZED);
	CHECK(n == -1);
}

static void test_without_a_broker_one_line_says_how_to_start_one(void **state)
{
	run_case(body_no_broker);
	assert_said_once("/tmp/gsb-no-such-socket", "gsbrokerd");
	assert_non_null(strstr(said, "gsbrun"));
}

/* A broker that was stopped: it listens, and that is all. n_waiting: others who are not accepted either. */
static void connect_to_stopped_broker(int n_waiting)
{
	char path[64];
	int fd, other;

	snprintf(path, sizeof(path), "/tmp/gsb-stopped-%d.socket", (int)getpid());
	CHECK(!gsb_channel_listen(path, &fd));
	if (n_waiting)
		CHECK(!listen(fd, n_waiting - 1));
	for (int i = 0; i < n_waiting; i++)
		CHECK(!gsb_channel_connect(path, &other));
	setenv("GSB_SOCKET", path, 1);
	cu_load(&cu);
	CHECK(cu.cuInit(0) == CUDA_ERROR_SYSTEM_NOT_READY);
	unlink(path);
}

static void body_stopped_broker(void)
{
	setenv("GSB_CONNECT_TIMEOUT_MS", "20", 1);
	connect_to_stopped_broker(0);
}

static void body_stopped_broker_with_a_queue(void)
{
	setenv("GSB_CONNECT_TIMEOUT_MS", "20", 1);
	connect_to_stopped_broker(1);
}

static void test_stopped_broker_is_not_waited_for_for_ever(void **state)
{
	run_case(body_stopped_broker);
	assert_said_once("no answer", "GSB_CONNECT_TIMEOUT_MS");
	run_case(body_stopped_broker_with_a_queue);
	assert_said_once("no answer", "GSB_CONNECT_TIMEOUT_MS");
}

/* Longer than the time-out in all, but never silent for nearly so long, on a busy machine either. */
static void body_engine_that_starts(void)
{
	setenv("GSB_CONNECT_TIMEOUT_MS", "1000", 1);
	engine = fake_engine_create();
	engine->n_words = 120;
	engine->word_ms = 10;
	fake_engine_start(engine);
	cu_load(&cu);
	CHECK(cu.cuInit(0) == CUDA_SUCCESS);
	fake_engine_kill(engine);
}

static void body_engine_that_starts_and_falls_silent(void)
{
	setenv("GSB_CONNECT_TIMEOUT_MS", "100", 1);
	engine = fake_engine_create();
	engine->n_words = 2;
	engine->word_ms = 20;
	engine->is_silent = true;
	fake_engine_start(engine);
	cu_load(&cu);
	CHECK(cu.cuInit(0) == CUDA_ERROR_SYSTEM_NOT_READY);
	fake_engine_kill(engine);
}

static void test_engine_that_starts_is_waited_for_while_the_broker_says_so(void **state)
{
	run_case(body_engine_that_starts);
	run_case(body_engine_that_starts_and_falls_silent);
	assert_said_once("no answer", "GSB_CONNECT_TIMEOUT_MS");
}

static void body_bad_timeout(void)
{
	setenv("GSB_CONNECT_TIMEOUT_MS", "10s", 1);
	engine = fake_engine_create();
	engine->refuse = "not today";
	fake_engine_start(engine);
	cu_load(&cu);
	CHECK(cu.cuInit(0) == CUDA_ERROR_NOT_PERMITTED);
	fake_engine_kill(engine);
}

static void test_timeout_that_is_no_number_is_named(void **state)
{
	run_case(body_bad_timeout);
	assert_non_null(strstr(said, "GSB_CONNECT_TIMEOUT_MS=10s"));
	assert_non_null(strstr(said, "not today"));
}

/* As a sandbox, or systemd for a service of RestrictAddressFamilies. */
static void forbid_sockets(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAFNOSUPPORT),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = {GSB_ARRAY_LEN(code), code};

	CHECK(!prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	CHECK(!prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program));
}

static void body_no_sockets(void)
{
	cu_load(&cu);
	forbid_sockets();
	CHECK(cu.cuInit(0) == CUDA_ERROR_SYSTEM_NOT_READY);
}

static void test_process_without_sockets_is_told_who_forbids_them(void **state)
{
	run_case(body_no_sockets);
	assert_said_once("may not use sockets", "RestrictAddressFamilies");
}

static void body_other_version(void)
{
	engine = fake_engine_create();
	engine->major = GSB_WIRE_MAJOR + 1;
	fake_engine_start(engine);
	cu_load(&cu);
	CHECK(cu.cuInit(0) == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
	fake_engine_kill(engine);
}

static void test_broker_of_another_version_is_named(void **state)
{
	run_case(body_other_version);
	assert_said_once("another version", "same release");
}

static void body_unknown_feature(void)
{
	engine = fake_engine_create();
	engine->welcome_features = GSB_FEATURE_STAGING | 1ull << 40;
	fake_engine_start(engine);
	cu_load(&cu);
	CHECK(cu.cuInit(0) == CUDA_ERROR_SYSTEM_DRIVER_MISMATCH);
	fake_engine_kill(engine);
}

static void test_feature_that_is_not_known_is_refused(void **state)
{
	run_case(body_unknown_feature);
	assert_said_once("features 0x10000000001", "same release");
}

static void body_refused(void)
{
	engine = fake_engine_create();
	engine->refuse = "user 7 is not in allow_users";
	fake_engine_start(engine);
	cu_load(&cu);
	CHECK(cu.cuInit(0) == CUDA_ERROR_NOT_PERMITTED);
	fake_engine_kill(engine);
}

static void test_refusal_gives_the_brokers_reason(void **state)
{
	run_case(body_refused);
	assert_said_once("refused", "user 7 is not in allow_users");
}

static void body_hidden(void)
{
	CUcontext ctx;

	setenv("CUDA_VISIBLE_DEVICES", "", 1);
	engine = fake_engine_create();
	fake_engine_start(engine);
	cu_load(&cu);
	CHECK(cu.cuInit(0) == CUDA_ERROR_NO_DEVICE);
	CHECK(cu.cuCtxGetCurrent(&ctx) == CUDA_ERROR_NOT_INITIALIZED);
	fake_engine_kill(engine);
}

static void body_visible_by_uuid(void)
{
	setenv("CUDA_VISIBLE_DEVICES", "GPU-abababab-abab", 1);
	start_tenant();
	fake_engine_kill(engine);
}

static void test_visible_devices_is_honoured(void **state)
{
	run_case(body_hidden);
	run_case(body_visible_by_uuid);
}

static void body_no_window(void)
{
	CUdeviceptr dev;
	void *p;

	engine = fake_engine_create();
	engine->welcome_features = GSB_FEATURE_STAGING;
	start_tenant();
	CHECK(cu.cuMemHostAlloc(&p, 4096, 0) == CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(!cu.cuMemAlloc_v2(&dev, 64) && !cu.cuMemcpyHtoD_v2(dev, said, 64));
	fake_engine_kill(engine);
}

static void test_without_a_host_window_copies_still_work(void **state)
{
	run_case(body_no_window);
}

static void body_windows(void)
{
	/* The addresses of device pointers are taken: nothing of the program's can land there. */
	CUdeviceptr dev;
	void *p;

	start_tenant();
	CHECK(!cu.cuMemAlloc_v2(&dev, 4096));
	p = mmap((void *)dev, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE,
		 -1, 0);
	CHECK(p == MAP_FAILED && errno == EEXIST);
	fake_engine_kill(engine);
}

static void test_device_addresses_are_blocked_in_the_process(void **state)
{
	run_case(body_windows);
}

/* ---- NVIDIA's runtime ---- */

static void body_runtime_without_driver(void)
{
	static const CUuuid id = {{0x6b, (char)0xd5, (char)0xfb, 0x6c, 0x5b, (char)0xf4, (char)0xe7,
				   0x4a, (char)0x89, (char)0x87, (char)0xd9, 0x39, 0x12, (char)0xfd,
				   (char)0x9d, (char)0xf9}};
	const void *table = &cu;

	setenv("GSB_REAL_LIBCUDA", "/no/such/libcuda.so.1", 1);
	start_tenant();
	CHECK(cu.cuGetExportTable(&table, &id) == CUDA_ERROR_NOT_SUPPORTED);
	CHECK(!table);
	CHECK(cu.cuGetExportTable(&table, &id) == CUDA_ERROR_NOT_SUPPORTED);
	/* The engine ends with this process: killed before it, it would be missed aloud. */
}

static void test_runtime_without_a_driver_gets_one_clear_line(void **state)
{
	run_case(body_runtime_without_driver);
	assert_said_once("NVIDIA's CUDA runtime linked in", "-cudart shared");
}

/* ---- forks ---- */

static void body_fork(void)
{
	unsigned before;
	CUdeviceptr dev;
	CUcontext ctx;
	pid_t pid;
	int status;

	start_tenant();
	CHECK(!cu.cuMemAlloc_v2(&dev, 64));
	before = engine->n_logged;
	pid = fork();
	if (!pid) {
		CHECK(cu.cuInit(0) == CUDA_ERROR_NOT_INITIALIZED);
		CHECK(cu.cuMemFree_v2(dev) == CUDA_ERROR_NOT_INITIALIZED);
		CHECK(cu.cuCtxGetCurrent(&ctx) == CUDA_ERROR_NOT_INITIALIZED);
		CHECK(cu.cuCtxSynchronize() == CUDA_ERROR_NOT_INITIALIZED);
		exit(0); /* with exit handlers and the thread's destructors */
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
	CHECK(engine->n_logged == before);
	CHECK(!cu.cuMemFree_v2(dev));
	fake_engine_kill(engine);
}

static void test_forked_child_is_not_initialized_and_reaches_nobody(void **state)
{
	run_case(body_fork);
}

static void body_fork_first(void)
{
	pid_t pid;
	int status;

	cu_load(&cu); /* before cuInit a child is as good as its parent */
	pid = fork();
	if (!pid) {
		start_tenant();
		fake_engine_kill(engine);
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

static void test_child_forked_before_init_may_be_a_tenant(void **state)
{
	run_case(body_fork_first);
}

/* ---- the end ---- */

static CUresult wait_for_stream(void *arg)
{
	return cu.cuStreamSynchronize(NULL);
}

static void body_engine_dies(void)
{
	CUdeviceptr dev;
	struct waiter w;

	start_tenant();
	CHECK(!cu.cuMemAlloc_v2(&dev, 64));
	engine->hold = true;
	mark = engine->n_logged;
	CHECK(!cu.cuMemsetD8_v2(dev, 0, 64));
	waiter_start(&w, wait_for_stream, NULL);
	await_record(GSB_REC_FILL, 1);
	fake_engine_kill(engine);
	CHECK(waiter_join(&w) == CUDA_ERROR_SYSTEM_NOT_READY);
	CHECK(cu.cuMemAlloc_v2(&dev, 64) == CUDA_ERROR_SYSTEM_NOT_READY);
	CHECK(cu.cuMemsetD8_v2(dev, 0, 64) == CUDA_ERROR_SYSTEM_NOT_READY);
}

static void body_contexts_end_after_the_engine(void)
{
	CUcontext primary, created, now;
	CUdeviceptr dev;
	int active = 9, status;
	unsigned flags;
	pid_t child;

	start_tenant();
	CHECK(!cu.cuDevicePrimaryCtxRetain(&primary, 0) && !cu.cuCtxSetCurrent(primary));
	CHECK(!cu.cuCtxCreate_v2(&created, 0, 0));
	fake_engine_kill(engine);
	while (!cu.cuMemAlloc_v2(&dev, 64))
		;
	CHECK(!cu.cuDevicePrimaryCtxRetain(&now, 0) && now == primary); /* it is there yet */
	CHECK(cu.cuCtxCreate_v2(&now, 0, 0) == CUDA_ERROR_SYSTEM_NOT_READY);
	CHECK(!cu.cuCtxDestroy_v2(created));
	CHECK(!cu.cuCtxGetCurrent(&now) && now == primary);
	CHECK(cu.cuMemAlloc_v2(&dev, 64) == CUDA_ERROR_SYSTEM_NOT_READY);
	CHECK(!cu.cuDevicePrimaryCtxRelease_v2(0));
	CHECK(!cu.cuDevicePrimaryCtxReset_v2(0));
	CHECK(!cu.cuDevicePrimaryCtxGetState(0, &flags, &active) && !active);
	CHECK(cu.cuMemAlloc_v2(&dev, 64) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CHECK(cu.cuMemsetD8_v2(1, 0, 64) == CUDA_ERROR_CONTEXT_IS_DESTROYED);
	CHECK(cu.cuDevicePrimaryCtxRetain(&now, 0) == CUDA_ERROR_SYSTEM_NOT_READY);
	for (unsigned i = 0; i < 2 * GSB_N_CTXS; i++) /* none that is refused takes room */
		CHECK(cu.cuCtxCreate_v2(&now, 0, 0) == CUDA_ERROR_SYSTEM_NOT_READY);
	CHECK(!cu.cuDevicePrimaryCtxRelease_v2(0)); /* what was retained before the reset */
	CHECK(cu.cuDevicePrimaryCtxRelease_v2(0) == CUDA_ERROR_INVALID_CONTEXT);
	child = fork();
	if (!child)
		_exit(cu.cuMemAlloc_v2(&dev, 64) != CUDA_ERROR_NOT_INITIALIZED);
	CHECK(waitpid(child, &status, 0) == child && !status);
}

/* A function of the program that runs until it is told to end. */
struct blocking {
	int began[2], end[2];
};

static void block(void *data)
{
	struct blocking *b = data;
	char byte = 0;

	CHECK(write(b->began[1], &byte, 1) == 1);
	CHECK(read(b->end[0], &byte, 1) == 1);
}

static void body_engine_dies_beside_a_host_function(void)
{
	struct blocking b;
	struct waiter w;
	char byte = 0;

	CHECK(!pipe(b.began) && !pipe(b.end));
	start_tenant();
	CHECK(!cu.cuLaunchHostFunc(NULL, block, &b));
	CHECK(read(b.began[0], &byte, 1) == 1);
	waiter_start(&w, wait_for_stream, NULL);
	fake_engine_kill(engine);
	CHECK(waiter_join(&w) == CUDA_ERROR_SYSTEM_NOT_READY);
	CHECK(write(b.end[1], &byte, 1) == 1);
}

static void test_death_of_the_engine_is_seen_while_a_host_function_blocks(void **state)
{
	run_case(body_engine_dies_beside_a_host_function);
	assert_said_once("engine", "start the program again");
}

static void test_contexts_are_given_back_after_the_death_of_the_engine(void **state)
{
	run_case(body_contexts_end_after_the_engine);
	assert_said_once("engine", "start the program again");
}

static void test_death_of_the_engine_wakes_waiters_with_an_error(void **state)
{
	run_case(body_engine_dies);
	assert_said_once("engine", "start the program again");
}

/* ---- descriptors ---- */

static void count_up(void *data)
{
	++*(unsigned *)data;
}

static void body_locked_in(void)
{
	struct rlimit limit;
	unsigned n = 0;

	start_tenant();
	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	limit.rlim_cur = 0;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	for (unsigned i = 1; i <= 3; i++) {
		CHECK(!cu.cuLaunchHostFunc(NULL, count_up, &n));
		CHECK(!cu.cuStreamSynchronize(NULL) && n == i);
	}
}

static void test_program_that_lets_itself_have_no_more_descriptors_is_heard(void **state)
{
	run_case(body_locked_in);
	assert_string_equal(said, "");
}

#define N_FDS 1024

/* How many there are from now on, as many as N_FDS. */
static unsigned limit_numbers(void)
{
	struct rlimit limit;

	CHECK(!getrlimit(RLIMIT_NOFILE, &limit));
	if (limit.rlim_cur > N_FDS)
		limit.rlim_cur = N_FDS;
	CHECK(!setrlimit(RLIMIT_NOFILE, &limit));
	return (unsigned)limit.rlim_cur;
}

/* Every free number becomes a file of the program's: an eventfd, or a file. */
static unsigned take_all_numbers(int *fds)
{
	unsigned n = 0;
	int fd;

	while ((fd = n % 2 ? memfd_create("mine", MFD_CLOEXEC)
			   : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) >= 0)
		fds[n++] = fd;
	return n;
}

static void check_untouched(const int *fds, unsigned n)
{
	struct stat st;
	uint64_t count;

	for (unsigned i = 0; i < n; i++)
		if (i % 2)
			CHECK(!fstat(fds[i], &st) && !st.st_size);
		else
			CHECK(read(fds[i], &count, sizeof(count)) < 0);
}

/* As a program does that becomes a daemon after its first call. The engine, and so the doorbell, sleep in between. */
static void body_closes_all(void)
{
	unsigned limit = limit_numbers(), n;
	static int fds[N_FDS];
	CUresult r = CUDA_SUCCESS;
	size_t a, b;

	start_tenant();
	CHECK(!close_range(3, ~0u, 0));
	n = take_all_numbers(fds);
	CHECK(n > limit - 10);
	while (!r)
		r = cu.cuMemGetInfo_v2(&a, &b);
	CHECK(r == CUDA_ERROR_SYSTEM_NOT_READY);
	CHECK(cu.cuCtxSynchronize() == CUDA_ERROR_SYSTEM_NOT_READY);
	check_untouched(fds, n);
}

static void test_closed_descriptors_are_noticed_and_nobody_elses_are_written(void **state)
{
	run_case(body_closes_all);
	assert_said_once("closed the descriptors", "before it calls cuInit");
}

/* Numbers that programs use first stay free for them, and nothing of ours outlives execve. */
static void body_descriptors(void)
{
	int high = (int)limit_numbers() * 9 / 10, n = 0;
	static bool was_open[N_FDS];

	for (int fd = 0; fd < N_FDS; fd++)
		was_open[fd] = fcntl(fd, F_GETFD) >= 0;
	start_tenant();
	for (int fd = 0; fd < N_FDS; fd++) {
		int flags = fcntl(fd, F_GETFD);

		if (flags < 0 || was_open[fd])
			continue;
		CHECK(fd > high && flags & FD_CLOEXEC);
		n++;
	}
	CHECK(n == 4); /* socket, doorbell, the engine's pidfd, and what tells them from others */
	fake_engine_kill(engine);
}

static void test_descriptors_lie_high_and_end_with_execve(void **state)
{
	run_case(body_descriptors);
}

/* ---- more threads than slots ---- */

#define N_CALLERS (GSB_N_THREADS + 80)

static pthread_barrier_t all_called;

struct caller {
	pthread_t thread;
	CUdeviceptr common, own;
	CUresult result;
};

/* All wait for held work at once, then all for an answer; before, each has made a call, and so has had a slot. */
static void *caller_main(void *arg)
{
	struct caller *c = arg;
	size_t a, b;

	c->result = cu.cuCtxSetCurrent(context);
	if (!c->result)
		c->result = cu.cuMemGetInfo_v2(&a, &b);
	pthread_barrier_wait(&all_called);
	if (!c->result)
		c->result = cu.cuMemsetD8Async(c->common, 0, 64, NULL);
	if (!c->result)
		c->result = cu.cuStreamSynchronize(NULL);
	pthread_barrier_wait(&all_called); /* what is held next is not what they waited for */
	pthread_barrier_wait(&all_called);
	if (!c->result)
		c->result = cu.cuMemAlloc_v2(&c->own, 64);
	return NULL;
}

/* Until as many wait as there are slots; then the others wait for a slot. */
static void await_full(_Atomic bool *held)
{
	*held = true;
	pthread_barrier_wait(&all_called);
	while (engine->n_blocked < GSB_N_THREADS)
		sched_yield();
	*held = false;
}

static void body_many_threads(void)
{
	static struct caller callers[N_CALLERS];
	pthread_attr_t small;
	CUdeviceptr dev;

	start_tenant();
	CHECK(!cu.cuMemAlloc_v2(&dev, 64));
	CHECK(!pthread_barrier_init(&all_called, NULL, N_CALLERS + 1));
	CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 1 << 18));
	for (int i = 0; i < N_CALLERS; i++) {
		callers[i].common = dev;
		CHECK(!pthread_create(&callers[i].thread, &small, caller_main, &callers[i]));
	}
	await_full(&engine->hold);
	pthread_barrier_wait(&all_called);
	await_full(&engine->ignore_ring);
	for (int i = 0; i < N_CALLERS; i++) {
		CHECK(!pthread_join(callers[i].thread, NULL) && !callers[i].result);
		for (int j = 0; j < i; j++)
			CHECK(callers[i].own != callers[j].own);
	}
}

static void test_more_threads_than_slots_all_get_their_answers(void **state)
{
	run_case(body_many_threads);
	assert_string_equal(said, "");
}

/* ---- thread keys ---- */

static void body_no_keys(void)
{
	pthread_key_t more;
	CUcontext ctx;
	void *others;

	engine = fake_engine_create();
	fake_engine_start(engine);
	cu_load(&cu);
	while (!pthread_key_create(&more, NULL))
		;
	others = pthread_getspecific(0); /* whoever has it: a sanitizer, or the loop above */
	CHECK(!cu.cuInit(0));
	CHECK(cu.cuCtxCreate_v2(&ctx, 0, 0) == CUDA_ERROR_OUT_OF_MEMORY);
	CHECK(pthread_getspecific(0) == others);
	fake_engine_kill(engine);
}

static void test_process_without_thread_keys_is_told_and_keeps_its_own(void **state)
{
	run_case(body_no_keys);
	assert_non_null(strstr(said, "thread keys"));
}

/* ---- virtual time ---- */

static CUresult query_once(void *arg)
{
	return cu.cuStreamQuery(NULL);
}

static void body_virtual_query(void)
{
	struct waiter w;
	CUdeviceptr dev;

	engine = fake_engine_create();
	engine->is_virtual = true;
	start_tenant();
	CHECK(!cu.cuMemAlloc_v2(&dev, 64));
	engine->hold = true;
	CHECK(!cu.cuMemsetD8_v2(dev, 0, 64));
	waiter_start(&w, query_once, NULL);
	while (!engine->was_blocked_any)
		sched_yield();
	CHECK(!w.is_back);
	engine->hold = false;
	waiter_join(&w);
	CHECK(!cu.cuCtxSynchronize());
	CHECK(!cu.cuStreamQuery(NULL));
	fake_engine_kill(engine);
}

static void test_failing_query_waits_for_progress_in_virtual_time(void **state)
{
	run_case(body_virtual_query);
}

static void body_blocking_launch(void)
{
	struct fake_record const *r;

	setenv("CUDA_LAUNCH_BLOCKING", "1", 1);
	start_tenant();
	CHECK(!cu.cuLaunchKernel(load_function(), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
	r = fake_last(engine, GSB_REC_LAUNCH);
	CHECK(r->is_done);
	fake_engine_kill(engine);
}

static void test_blocking_launches_return_when_complete(void **state)
{
	run_case(body_blocking_launch);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_without_a_broker_one_line_says_how_to_start_one),
		cmocka_unit_test(test_stopped_broker_is_not_waited_for_for_ever),
		cmocka_unit_test(test_engine_that_starts_is_waited_for_while_the_broker_says_so),
		cmocka_unit_test(test_timeout_that_is_no_number_is_named),
		cmocka_unit_test(test_broker_of_another_version_is_named),
		cmocka_unit_test(test_process_without_sockets_is_told_who_forbids_them),
		cmocka_unit_test(test_feature_that_is_not_known_is_refused),
		cmocka_unit_test(test_refusal_gives_the_brokers_reason),
		cmocka_unit_test(test_visible_devices_is_honoured),
		cmocka_unit_test(test_without_a_host_window_copies_still_work),
		cmocka_unit_test(test_device_addresses_are_blocked_in_the_process),
		cmocka_unit_test(test_runtime_without_a_driver_gets_one_clear_line),
		cmocka_unit_test(test_forked_child_is_not_initialized_and_reaches_nobody),
		cmocka_unit_test(test_child_forked_before_init_may_be_a_tenant),
		cmocka_unit_test(test_death_of_the_engine_wakes_waiters_with_an_error),
		cmocka_unit_test(test_contexts_are_given_back_after_the_death_of_the_engine),
		cmocka_unit_test(test_death_of_the_engine_is_seen_while_a_host_function_blocks),
		cmocka_unit_test(test_closed_descriptors_are_noticed_and_nobody_elses_are_written),
		cmocka_unit_test(test_descriptors_lie_high_and_end_with_execve),
		cmocka_unit_test(test_program_that_lets_itself_have_no_more_descriptors_is_heard),
		cmocka_unit_test(test_more_threads_than_slots_all_get_their_answers),
		cmocka_unit_test(test_process_without_thread_keys_is_told_and_keeps_its_own),
		cmocka_unit_test(test_failing_query_waits_for_progress_in_virtual_time),
		cmocka_unit_test(test_blocking_launches_return_when_complete),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
