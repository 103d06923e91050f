/*
 * test_lanes.c - what is of lanes alone: the ring, handles, and lanes that die or say what no lane says. What they do as a device,
 * test_device_ops has.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "device/lanes/lane.h"
#include "device/lanes/lanes.h"
#include "device/lanes/table.h"
#include "shm/channel.h"

#define DEVICE_BASE 0x400000000000ull
#define DEVICE_SIZE (1ull << 32)

static const char endless_ptx[] = ".version 6.4\n.target sm_50\n.address_size 64\n"
				  ".visible .entry endless()\n{\nL:\n\tbra L;\n}\n";

/* ---- the ring ---- */

static struct lane_page *new_page(void)
{
	struct lane_page *p = aligned_alloc(64, sizeof(*p));

	assert_non_null(p);
	memset(p, 0, sizeof(*p));
	return p;
}

static bool put(struct lane_page *p, uint32_t bytes, uint64_t cookie)
{
	struct lane_cmd *c = lane_ring_reserve(p, bytes);

	if (!c)
		return false;
	memset(c, 0, bytes);
	c->bytes = bytes;
	c->cmd.cookie = cookie;
	lane_ring_commit(p, c);
	return true;
}

/* Of a length that does not go up in the ring, so that each round ends elsewhere. */
static void test_ring_gives_what_was_put_in_order_round_after_round(void **state)
{
	const uint32_t bytes = (uint32_t)(sizeof(struct lane_cmd) + 1000 * 8);
	struct lane_cmd *out = malloc(LANE_CMD_MAX);
	struct lane_page *p = new_page();
	uint64_t in = 0, got = 0;

	for (int round = 0; round < 20; round++) {
		while (put(p, bytes, in))
			in++;
		while (lane_ring_take(p, out) == 1)
			assert_int_equal(out->cmd.cookie, got++);
		assert_int_equal(got, in);
	}
	assert_true(in >= 20 * (LANE_RING_BYTES / bytes - 1));
	free(out);
	free(p);
}

static void test_ring_refuses_commands_that_are_none(void **state)
{
	static const uint32_t bad[] = {8, sizeof(struct lane_cmd) - 8, sizeof(struct lane_cmd) + 4,
				       LANE_CMD_MAX + 8, UINT32_MAX & ~7u};
	struct lane_cmd *out = malloc(LANE_CMD_MAX);

	for (size_t i = 0; i < GSB_ARRAY_LEN(bad); i++) {
		struct lane_page *p = new_page();
		struct lane_cmd *c = lane_ring_reserve(p, sizeof(*c));

		c->bytes = sizeof(*c);
		lane_ring_commit(p, c);
		c->bytes = bad[i];
		assert_int_equal(lane_ring_take(p, out), -EPROTO);
		free(p);
	}
	free(out);
}

static void test_ring_is_rung_for_only_while_somebody_sleeps(void **state)
{
	_Atomic uint32_t word = 0;

	assert_false(lane_sleep_end(&word));
	lane_sleep_begin(&word);
	assert_true(lane_sleep_end(&word));
	assert_false(lane_sleep_end(&word));
}

/* ---- handles ---- */

static void test_table_forgets_children_with_their_parent(void **state)
{
	uint64_t space, other, module, function, kept;
	struct lane_table t;
	int is;

	lane_table_init(&t);
	assert_int_equal(lane_table_add(&t, LANE_SPACE, 0, &is, &space), 0);
	assert_int_equal(lane_table_add(&t, LANE_SPACE, 0, &is, &other), 0);
	assert_int_equal(lane_table_add(&t, LANE_MODULE, (uint32_t)space, &is, &module), 0);
	assert_int_equal(lane_table_add(&t, LANE_FUNCTION, (uint32_t)module, &is, &function), 0);
	assert_int_equal(lane_table_add(&t, LANE_MODULE, (uint32_t)other, &is, &kept), 0);
	assert_null(lane_table_find(&t, LANE_MODULE, space));
	assert_null(lane_table_find(&t, LANE_SPACE, 0));
	assert_null(lane_table_find(&t, LANE_SPACE, 6));
	lane_table_remove(&t, space);
	assert_null(lane_table_find(&t, LANE_SPACE, space));
	assert_null(lane_table_find(&t, LANE_MODULE, module));
	assert_null(lane_table_find(&t, LANE_FUNCTION, function));
	assert_ptr_equal(lane_table_find(&t, LANE_MODULE, kept), &is);
	lane_table_finish(&t);
}

/* ---- lanes ---- */

struct rig {
	struct gsb_device *dev;
	const struct gsb_device_ops *ops;
	struct gsb_space *space[2];
	struct gsb_queue *queue[2];
};

static int setup(void **state)
{
	struct gsb_device_params p = {.spec = "lanes:emu:h200",
				      .n_workers = 1,
				      .real_clock = true,
				      .n_spare_lanes = 2,
				      .lane_answer_ms = 2000,
				      .lane_program = GSB_LANE_PROGRAM};
	struct rig *rig = calloc(1, sizeof(*rig));
	char err[640] = "";

	assert_non_null(rig);
	if (gsb_device_open(&p, &rig->dev, err, sizeof(err)))
		fail_msg("%s", err);
	rig->ops = rig->dev->ops;
	for (unsigned i = 0; i < 2; i++) {
		struct gsb_space_params space = {.device_base = DEVICE_BASE + i * DEVICE_SIZE,
						 .device_size = DEVICE_SIZE,
						 .owner = i + 1};

		assert_int_equal(rig->ops->space_create(rig->dev, &space, &rig->space[i]), 0);
		assert_int_equal(rig->ops->queue_create(rig->dev, 0, GSB_ALL_SMS, &rig->queue[i]),
				 0);
	}
	*state = rig;
	return 0;
}

static int teardown(void **state)
{
	struct rig *rig = *state;

	for (unsigned i = 0; i < 2; i++) {
		rig->ops->queue_destroy(rig->queue[i]);
		rig->ops->space_destroy(rig->space[i]);
	}
	rig->ops->close(rig->dev);
	free(rig);
	return 0;
}

static struct gsb_completion collect(struct rig *rig)
{
	struct pollfd fd = {.fd = rig->ops->event_fd(rig->dev), .events = POLLIN};
	struct gsb_completion c;

	while (!rig->ops->poll(rig->dev, &c, 1))
		assert_int_equal(poll(&fd, 1, 60000), 1);
	return c;
}

static void fill(struct rig *rig, unsigned i, uint64_t addr, uint64_t cookie)
{
	struct gsb_cmd cmd = {
		.kind = GSB_CMD_FILL,
		.space = rig->space[i],
		.cookie = cookie,
		.fill = {.dst = addr, .width = 4, .height = 1, .value = 7, .elem_bytes = 1}};

	assert_int_equal(rig->ops->issue(rig->queue[i], &cmd), 0);
}

static void run_endless(struct rig *rig, uint64_t cookie)
{
	static struct gsb_function_info info;
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = rig->space[0],
			      .cookie = cookie,
			      .launch = {.grid = {1, 1, 1}, .block = {1, 1, 1}}};
	struct gsb_module *module;
	char log[256] = "";

	if (rig->ops->module_load(rig->space[0], endless_ptx, sizeof(endless_ptx), &module, log,
				  sizeof(log)))
		fail_msg("%s", log);
	assert_int_equal(rig->ops->function_get(module, "endless", &cmd.launch.function, &info), 0);
	assert_int_equal(rig->ops->function_prepare(cmd.launch.function, log, sizeof(log)), 0);
	assert_int_equal(rig->ops->issue(rig->queue[0], &cmd), 0);
}

/* The other goes on as if nothing had been; who had it has its error for good, and gives back what is no more. */
static void expect_end_of_first_alone(struct rig *rig, uint64_t addr, uint64_t neighbours)
{
	struct gsb_completion c = collect(rig);

	assert_int_equal(c.cookie, 1);
	assert_int_equal(c.result, CUDA_ERROR_LAUNCH_FAILED);
	assert_true(*c.detail);
	fill(rig, 0, addr, 2);
	c = collect(rig);
	assert_int_equal(c.cookie, 2);
	assert_int_equal(c.result, CUDA_ERROR_LAUNCH_FAILED);
	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &(uint64_t){0}), -EOWNERDEAD);
	assert_int_equal(rig->ops->mem_free(rig->space[0], addr), 0);
	fill(rig, 1, neighbours, 3);
	c = collect(rig);
	assert_int_equal(c.cookie, 3);
	assert_int_equal(c.result, CUDA_SUCCESS);
}

static void test_lane_that_is_killed_fails_its_space_alone(void **state)
{
	struct rig *rig = *state;
	uint64_t addr, neighbours;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	assert_int_equal(rig->ops->mem_alloc(rig->space[1], 4096, &neighbours), 0);
	run_endless(rig, 1);
	assert_int_equal(kill(rig->space[0]->lane->pid, SIGKILL), 0);
	expect_end_of_first_alone(rig, addr, neighbours);
}

/* It says that a command has ended which it never got. */
static void test_lane_that_hangs_is_ended(void **state)
{
	struct rig *rig = *state;
	uint64_t addr;

	kill(rig->space[0]->lane->pid, SIGSTOP);
	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), -EOWNERDEAD);
	assert_int_equal(rig->ops->mem_alloc(rig->space[1], 4096, &addr), 0);
	fill(rig, 1, addr, 3);
	assert_int_equal(collect(rig).result, CUDA_SUCCESS);
}

static void test_lane_that_says_what_cannot_be_is_ended(void **state)
{
	struct rig *rig = *state;
	struct lane_page *page = rig->space[0]->lane->page;
	uint64_t addr, neighbours;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	assert_int_equal(rig->ops->mem_alloc(rig->space[1], 4096, &neighbours), 0);
	run_endless(rig, 1);
	page->done[0].cookie = UINT32_MAX;
	atomic_store(&page->done_head, 1);
	expect_end_of_first_alone(rig, addr, neighbours);
}

static void test_spaces_of_an_owner_share_their_lane_and_others_do_not(void **state)
{
	struct rig *rig = *state;
	struct gsb_space_params p = {.device_base = DEVICE_BASE + 2 * DEVICE_SIZE,
				     .device_size = DEVICE_SIZE,
				     .owner = 1};
	struct gsb_space *space;

	assert_int_equal(rig->ops->space_create(rig->dev, &p, &space), 0);
	assert_ptr_equal(space->lane, rig->space[0]->lane);
	assert_ptr_not_equal(space->lane, rig->space[1]->lane);
	rig->ops->space_destroy(space);
	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &(uint64_t){0}), 0);
}

static bool pool_has(struct rig *rig, pid_t pid)
{
	struct lane_pool *p = &to_lanes(rig->dev)->pool;
	bool has = false;

	pthread_mutex_lock(&p->lock);
	for (struct lane *l = p->all; l; l = l->pool_next)
		has |= l->pid == pid && l->state == LANE_IDLE;
	pthread_mutex_unlock(&p->lock);
	return has;
}

static pid_t any_idle(struct rig *rig)
{
	struct lane_pool *p = &to_lanes(rig->dev)->pool;
	pid_t pid = 0;

	pthread_mutex_lock(&p->lock);
	for (struct lane *l = p->all; l; l = l->pool_next)
		pid = l->state == LANE_IDLE ? l->pid : pid;
	pthread_mutex_unlock(&p->lock);
	return pid;
}

static pid_t await_idle(struct rig *rig)
{
	struct pollfd fd = {.fd = rig->ops->event_fd(rig->dev), .events = POLLIN};
	struct gsb_completion c;

	while (!rig->ops->space_await(rig->dev, 3)) {
		assert_int_equal(poll(&fd, 1, 60000), 1);
		rig->ops->poll(rig->dev, &c, 1);
	}
	return any_idle(rig);
}

/* MPS has told them of it, whoever will have them. */
static void test_fault_of_one_renews_those_that_wait_for_a_user(void **state)
{
	struct rig *rig = *state;
	struct lane *lane = rig->space[0]->lane;
	pid_t idle = await_idle(rig);

	run_endless(rig, 1);
	kill(lane->pid, SIGSTOP); /* else the lane says what its own device says */
	lane->page->done[0] = (struct gsb_completion){.result = CUDA_ERROR_ILLEGAL_ADDRESS};
	atomic_store(&lane->page->lost, 1);
	atomic_store(&lane->page->done_head, 1);
	assert_int_equal(collect(rig).result, CUDA_ERROR_ILLEGAL_ADDRESS);
	kill(lane->pid, SIGKILL);
	assert_false(pool_has(rig, idle));
	assert_int_not_equal(await_idle(rig), idle);
}

static void test_space_that_would_wait_for_a_lane_says_so(void **state)
{
	struct rig *rig = *state;
	struct pollfd fd = {.fd = rig->ops->event_fd(rig->dev), .events = POLLIN};
	struct gsb_completion c;

	assert_true(rig->ops->space_await(rig->dev, 1)); /* which has one */
	while (!rig->ops->space_await(rig->dev, 3)) {
		assert_int_equal(poll(&fd, 1, 60000), 1);
		assert_int_equal(rig->ops->poll(rig->dev, &c, 1), 0);
	}
}

/* ---- a device that has no room for a lane for a while ---- */

#define N_BUSY "3"

/* This program, started as a lane: the first that are say so, and end. The file's size is how many they were. */
static void serve_busy(char **argv)
{
	int fd = open(getenv("GSB_TEST_BUSY"), O_WRONLY | O_APPEND | O_CLOEXEC);
	struct lane_welcome w = {.err = -EBUSY, .why = "no room for one more"};
	struct lane_hello h;
	struct stat st;

	if (fstat(fd, &st) == 0 && st.st_size >= atol(getenv("GSB_TEST_N_BUSY")))
		execv(GSB_LANE_PROGRAM, argv);
	gsb_msg_init(&w.msg, LANE_MSG_WELCOME, sizeof(w));
	_exit(recv(LANE_FD, &h, sizeof(h), 0) != sizeof(h) || write(fd, "", 1) != 1 ||
	      gsb_channel_send(LANE_FD, &w.msg, NULL, 0));
}

static struct gsb_device_params busy_params(int *fd, char path[32], const char *n_busy)
{
	strcpy(path, "/tmp/gsb-busy-XXXXXX");
	*fd = mkstemp(path);
	assert_true(*fd >= 0);
	setenv("GSB_TEST_BUSY", path, 1);
	setenv("GSB_TEST_N_BUSY", n_busy, 1);
	return (struct gsb_device_params){
		.spec = "lanes:emu:h200", .real_clock = true, .lane_program = "/proc/self/exe"};
}

static off_t how_often_busy(int fd, const char *path)
{
	off_t size = lseek(fd, 0, SEEK_END);

	unlink(path);
	close(fd);
	return size;
}

static void test_start_without_room_is_tried_again(void **state)
{
	struct gsb_device_params p;
	struct gsb_device *dev;
	char path[32], err[640] = "";
	int fd;

	p = busy_params(&fd, path, N_BUSY);
	if (gsb_device_open(&p, &dev, err, sizeof(err)))
		fail_msg("%s", err);
	dev->ops->close(dev);
	assert_int_equal(how_often_busy(fd, path), atol(N_BUSY));
}

static void test_start_without_room_for_long_says_why(void **state)
{
	char path[32], err[640] = "";
	struct gsb_device *dev = NULL;
	struct gsb_device_params p;
	int fd;

	p = busy_params(&fd, path, "1000000");
	assert_int_equal(gsb_device_open(&p, &dev, err, sizeof(err)), -EBUSY);
	assert_null(dev);
	assert_string_equal(err, "no room for one more");
	assert_true(how_often_busy(fd, path) > 1);
}

static void expect_no_device(struct gsb_device_params p, int want, const char *text)
{
	struct gsb_device *dev = NULL;
	char err[640] = "";

	assert_int_equal(gsb_device_open(&p, &dev, err, sizeof(err)), want);
	assert_null(dev);
	if (!strstr(err, text))
		fail_msg("'%s' is not in: %s", text, err);
}

static void test_open_says_why_there_are_no_lanes(void **state)
{
	expect_no_device((struct gsb_device_params){.spec = "lanes", .real_clock = true}, -ENODEV,
			 "lanes:cuda:0");
	expect_no_device((struct gsb_device_params){.spec = "lanes:lanes:null", .real_clock = true},
			 -ENODEV, "lanes:cuda:0");
	expect_no_device((struct gsb_device_params){.spec = "lanes:emu:voodoo2",
						    .real_clock = true,
						    .lane_program = GSB_LANE_PROGRAM},
			 -ENODEV, "emu:voodoo2");
	expect_no_device((struct gsb_device_params){.spec = "lanes:emu:h200",
						    .lane_program = GSB_LANE_PROGRAM},
			 -EINVAL, "set clock = real");
	expect_no_device((struct gsb_device_params){.spec = "lanes:emu:h200",
						    .real_clock = true,
						    .lane_program = "/nowhere/gsb-lane"},
			 -ENOENT, "/nowhere/gsb-lane");
	expect_no_device((struct gsb_device_params){.spec = "lanes:emu:h200",
						    .real_clock = true,
						    .lane_program = "/bin/false"},
			 -EIO, "ended before it was ready");
}

int main(int argc, char **argv)
{
#define ON_LANES(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ring_gives_what_was_put_in_order_round_after_round),
		cmocka_unit_test(test_ring_refuses_commands_that_are_none),
		cmocka_unit_test(test_ring_is_rung_for_only_while_somebody_sleeps),
		cmocka_unit_test(test_table_forgets_children_with_their_parent),
		ON_LANES(test_lane_that_is_killed_fails_its_space_alone),
		ON_LANES(test_lane_that_hangs_is_ended),
		ON_LANES(test_lane_that_says_what_cannot_be_is_ended),
		ON_LANES(test_spaces_of_an_owner_share_their_lane_and_others_do_not),
		ON_LANES(test_fault_of_one_renews_those_that_wait_for_a_user),
		ON_LANES(test_space_that_would_wait_for_a_lane_says_so),
		cmocka_unit_test(test_open_says_why_there_are_no_lanes),
		cmocka_unit_test(test_start_without_room_is_tried_again),
		cmocka_unit_test(test_start_without_room_for_long_says_why),
	};

	if (argc == 3)
		serve_busy(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
