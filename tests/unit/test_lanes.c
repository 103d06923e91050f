/*
 * test_lanes.c - what is of lanes alone: the ring, handles, and lanes that die or say what no lane says. What they do as a device,
 * test_device_ops has.
 */
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/lanes/lane.h"
#include "device/lanes/lanes.h"
#include "device/lanes/table.h"
#include "shm/channel.h"
#include "tests/unit/descriptors.h"
#include "tests/unit/failing_send.h"
#include "tests/unit/patient.h"

#define DEVICE_BASE	 0x400000000000ull
#define DEVICE_SIZE	 (1ull << 32)
#define AREA_BASE	 (DEVICE_BASE + 16 * DEVICE_SIZE)
#define N_MANY		 3000u	/* fills: more than a ring holds */
#define N_OF_HOST	 600u	/* backings: more than a socket holds */
#define BESIDE		 10000u /* the first cookie of who works beside */
#define LOOKS_OF_A_LIMIT 4
#define SECOND_NS	 1000000000ull

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

/* Its positions lie in memory that a lane may write: nothing is written behind it all the same. */
static void test_ring_whose_positions_are_wrong_is_not_left(void **state)
{
	struct {
		struct lane_page page;
		uint8_t behind[64];
	} *p = aligned_alloc(64, sizeof(*p));

	memset(p, 0xff, sizeof(*p));
	for (uint64_t end = 1; end <= 16; end++) {
		uint64_t at = 2 * LANE_RING_BYTES - end;

		atomic_store(&p->page.cmd_head, at);
		atomic_store(&p->page.cmd_tail, at);
		assert_true(put(&p->page, sizeof(struct lane_cmd), 1));
		for (size_t i = 0; i < sizeof(p->behind); i++)
			assert_int_equal(p->behind[i], 0xff);
	}
	free(p);
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
	const struct gsb_device_ops *ops; /* which wait for what comes later */
	const struct gsb_device_ops *raw; /* which do not */
	struct gsb_space *space[2];
	struct gsb_queue *queue[2];
};

static int setup(void **state)
{
	struct gsb_device_params p = {.spec = "lanes:emu:h200",
				      .n_workers = 1,
				      .real_clock = true,
				      .n_spare_lanes = 2,
				      .virtual_base = AREA_BASE,
				      .virtual_size = DEVICE_SIZE,
				      .lane_answer_ms = 2000,
				      .lane_program = GSB_LANE_PROGRAM};
	struct rig *rig = calloc(1, sizeof(*rig));
	char err[640] = "";

	assert_non_null(rig);
	if (gsb_device_open(&p, &rig->dev, err, sizeof(err)))
		fail_msg("%s", err);
	rig->raw = rig->dev->ops;
	make_patient(rig->dev);
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

/* It does nothing any more, from now on. */
static void stop(const struct lane *l)
{
	siginfo_t info;

	assert_int_equal(kill(l->pid, SIGSTOP), 0);
	assert_int_equal(waitid(P_PID, (id_t)l->pid, &info, WSTOPPED | WNOWAIT), 0);
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

/* Until the device tells of something. */
static void await_news(struct rig *rig)
{
	struct pollfd fd = {.fd = rig->ops->event_fd(rig->dev), .events = POLLIN};
	struct gsb_completion c;

	if (rig->raw->stay_awake(rig->dev))
		return;
	assert_int_equal(poll(&fd, 1, 60000), 1);
	assert_int_equal(rig->ops->poll(rig->dev, &c, 1), 0);
}

/* A page of a space's, with these bytes. */
static struct gsb_backing *lend_of(struct rig *rig, struct gsb_space *space, uint32_t byte)
{
	struct gsb_cmd cmd = {.kind = GSB_CMD_FILL,
			      .space = space,
			      .fill = {.width = 4, .height = 1, .value = byte, .elem_bytes = 1}};
	struct gsb_backing *b = NULL;
	uint64_t offset, size;

	assert_int_equal(rig->ops->mem_alloc(space, 4096, &cmd.fill.dst), 0);
	assert_int_equal(rig->ops->issue(rig->queue[0], &cmd), 0);
	assert_int_equal(collect(rig).result, CUDA_SUCCESS);
	assert_int_equal(rig->ops->mem_share(space, cmd.fill.dst, &b, &offset, &size), 0);
	assert_int_equal(offset, 0);
	assert_int_equal(size, 4096);
	return b;
}

static struct gsb_backing *lend(struct rig *rig, unsigned i, uint32_t byte)
{
	return lend_of(rig, rig->space[i], byte);
}

static unsigned char byte_at(struct rig *rig, struct gsb_space *space, uint64_t addr)
{
	unsigned char byte = 0xee;
	struct gsb_cmd cmd = {.kind = GSB_CMD_COPY,
			      .space = space,
			      .copy = {.dst = (uint64_t)(uintptr_t)&byte,
				       .src = addr,
				       .width = 1,
				       .height = 1,
				       .dst_is_ours = true}};

	assert_int_equal(rig->ops->issue(rig->queue[0], &cmd), 0);
	assert_int_equal(collect(rig).result, CUDA_SUCCESS);
	return byte;
}

/* ---- one that is stopped, beside one that lives ---- */

/* What the first is asked that may come later: each time the same. */
struct asked {
	struct rig *rig;
	struct gsb_module *module;
	uint64_t addr, size;
	struct gsb_space *space;
	struct gsb_backing *backing;
	uint64_t own, opened, offset, chunk;
	struct gsb_backing *lent, *shared; /* the second's, and its own */
	const char *name;
	char text[64];
};

static int ask_alloc(struct asked *a)
{
	return a->rig->raw->mem_alloc(a->rig->space[0], 4096, &a->addr);
}

static int ask_pin(struct asked *a)
{
	return a->rig->raw->host_pin(a->rig->space[0], 4096, 4096); /* it has no window */
}

static int ask_backing(struct asked *a)
{
	return a->rig->raw->backing_create(a->rig->dev, 1, GSB_BACKING_UNIT, &a->backing);
}

static int ask_global(struct asked *a)
{
	return a->rig->raw->global_get(a->module, "nothing", &a->addr, &a->size);
}

static int ask_name(struct asked *a)
{
	return a->rig->raw->function_name(a->module, 0, &a->name);
}

static int ask_text(struct asked *a)
{
	bool to_stderr = false, more;

	return a->rig->raw->print_read(a->rig->space[0], a->text, sizeof(a->text), &to_stderr,
				       &more);
}

static int ask_heap(struct asked *a)
{
	return a->rig->raw->heap_size(a->rig->space[0], 1 << 20, &a->size);
}

static int ask_share(struct asked *a)
{
	return a->rig->raw->mem_share(a->rig->space[0], a->own, &a->shared, &a->offset, &a->chunk);
}

static int ask_open(struct asked *a)
{
	return a->rig->raw->mem_open(a->rig->space[0], a->lent, &a->opened);
}

static int ask_map(struct asked *a)
{
	return a->rig->raw->backing_map(a->lent, 1, AREA_BASE); /* it is no unit */
}

static int ask_space(struct asked *a)
{
	const struct gsb_space_params p = {.device_base = DEVICE_BASE + 2 * DEVICE_SIZE,
					   .device_size = DEVICE_SIZE,
					   .owner = 1};

	return a->rig->raw->space_create(a->rig->dev, &p, &a->space);
}

/* Of one that lives, and of one that has died; a space, or memory without addresses, is another lane's then. */
static const struct {
	int (*ask)(struct asked *a);
	int answer, dead;
} questions[] = {{ask_alloc, 0, -EOWNERDEAD},
		 {ask_pin, -ERANGE, -EOWNERDEAD},
		 {ask_global, -ENOENT, -EOWNERDEAD},
		 {ask_name, 0, -EOWNERDEAD},
		 {ask_text, 0, 0},
		 {ask_heap, 0, -EOWNERDEAD},
		 {ask_share, 0, -EOWNERDEAD},
		 {ask_open, 0, -EOWNERDEAD},
		 {ask_map, -EINVAL, -EINVAL},
		 {ask_space, 0, -EOWNERDEAD},
		 {ask_backing, 0, 0}};

static struct asked prepare_questions(struct rig *rig)
{
	struct asked a = {.rig = rig};
	char log[256] = "";

	if (rig->ops->module_load(rig->space[0], endless_ptx, sizeof(endless_ptx), &a.module, log,
				  sizeof(log)))
		fail_msg("%s", log);
	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &a.own), 0);
	a.lent = lend(rig, 1, 7);
	return a;
}

static void ask_all(struct asked *a)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(questions); i++)
		assert_int_equal(questions[i].ask(a), -EINPROGRESS);
}

static void expect_answers(struct asked *a, bool dead)
{
	for (unsigned i = 0; i < GSB_ARRAY_LEN(questions); i++) {
		int err;

		while ((err = questions[i].ask(a)) == -EINPROGRESS)
			await_news(a->rig);
		assert_int_equal(err, dead ? questions[i].dead : questions[i].answer);
		if (questions[i].ask == ask_alloc && !err)
			assert_int_equal(a->rig->ops->mem_free(a->rig->space[0], a->addr), 0);
	}
	a->rig->ops->backing_destroy(a->lent);
	if (a->shared)
		a->rig->ops->backing_destroy(a->shared);
	if (a->backing)
		a->rig->ops->backing_destroy(a->backing);
	if (a->space)
		a->rig->ops->space_destroy(a->space);
}

/* What nobody hears of. */
static void tell_all(struct rig *rig, uint64_t addr)
{
	struct gsb_queue *queue;

	assert_int_equal(rig->raw->mem_free(rig->space[0], addr), 0);
	assert_int_equal(rig->raw->host_unpin(rig->space[0], 4096, 4096), 0);
	rig->raw->space_limit(rig->space[0], 1 << 30);
	rig->raw->stack_size(rig->space[0], 1024);
	assert_int_equal(rig->raw->queue_create(rig->dev, 0, GSB_ALL_SMS, &queue), 0);
	rig->raw->queue_destroy(queue);
}

/* The second's: each of it is done before this returns, whatever is with the first. */
static void work_beside(struct rig *rig)
{
	uint64_t addr;

	assert_int_equal(rig->ops->mem_alloc(rig->space[1], 1 << 16, &addr), 0);
	for (unsigned i = 0; i < 10; i++) {
		struct gsb_completion c;

		fill(rig, 1, addr, BESIDE + i);
		c = collect(rig);
		assert_int_equal(c.cookie, BESIDE + i);
		assert_int_equal(c.result, CUDA_SUCCESS);
	}
	assert_int_equal(rig->ops->mem_free(rig->space[1], addr), 0);
}

static void expect_fills(struct rig *rig, unsigned n, CUresult result)
{
	for (unsigned i = 0; i < n; i++) {
		struct gsb_completion c = collect(rig);

		if (!result)
			assert_int_equal(c.cookie, i);
		assert_int_equal(c.result, result);
	}
}

static void test_stopped_lane_keeps_nobody_and_loses_nothing(void **state)
{
	struct rig *rig = *state;
	struct asked a = prepare_questions(rig);
	uint64_t addr, freed;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &freed), 0);
	stop(rig->space[0]->lane);
	ask_all(&a);
	tell_all(rig, freed);
	for (unsigned i = 0; i < N_MANY; i++)
		fill(rig, 0, addr, i);
	assert_non_null(rig->space[0]->lane->unsent);
	ask_all(&a);
	work_beside(rig);
	ask_all(&a);
	kill(rig->space[0]->lane->pid, SIGCONT);
	expect_fills(rig, N_MANY, CUDA_SUCCESS);
	expect_answers(&a, false);
	assert_null(rig->space[0]->lane->unsent);
}

/* There is room for what is short, and none for what was said before it. */
static void test_what_had_no_room_is_not_overtaken(void **state)
{
	static const char long_name[30000];
	const struct lane_call call = {
		.op = LANE_global_get, .in = long_name, .in_bytes = sizeof(long_name)};
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;
	uint64_t addr;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	stop(l);
	while (!l->unsent)
		assert_int_equal(lane_tell(l, &call), 0);
	fill(rig, 0, addr, 1);
	assert_non_null(l->unsent->next);
	kill(l->pid, SIGCONT);
	assert_int_equal(collect(rig).cookie, 1);
	assert_null(l->unsent);
}

/* Whatever it was told: its neighbour goes on meanwhile, and who asked it has its error. */
static void expect_end_beside(struct rig *rig, int signal)
{
	struct asked a = prepare_questions(rig);
	struct lane *lane = rig->space[0]->lane;
	uint64_t addr, freed;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &freed), 0);
	stop(lane);
	ask_all(&a);
	tell_all(rig, freed);
	for (unsigned i = 0; i < N_MANY; i++)
		fill(rig, 0, addr, i);
	work_beside(rig);
	if (signal)
		kill(lane->pid, signal);
	expect_fills(rig, N_MANY, CUDA_ERROR_LAUNCH_FAILED);
	expect_answers(&a, true);
	tell_all(rig, freed);
	work_beside(rig);
}

static void test_stopped_lane_is_ended_and_fails_its_space_alone(void **state)
{
	expect_end_beside(*state, 0);
}

static void test_lane_that_dies_with_calls_fails_its_space_alone(void **state)
{
	expect_end_beside(*state, SIGKILL);
}

/* To sleep would cost more than what was sent takes; but it is not waited for for long. */
static void test_engine_stays_awake_for_what_was_just_sent(void **state)
{
	struct rig *rig = *state;
	uint64_t addr, from = 0, to = UINT64_MAX;
	bool awake = false;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	stop(rig->space[0]->lane);
	fill(rig, 0, addr, 0);
	while (rig->raw->stay_awake(rig->dev))
		;
	kill(rig->space[0]->lane->pid, SIGCONT);
	assert_int_equal(collect(rig).cookie, 0);
	for (uint64_t i = 1; to - from > 15000; i++) { /* until this thread was not kept from it */
		while (atomic_load(&rig->space[0]->lane->page->lively_ns))
			usleep(PATIENT_PAUSE_US);
		from = gsb_clock_ns();
		fill(rig, 0, addr, i);
		awake = rig->raw->stay_awake(rig->dev);
		to = gsb_clock_ns();
		assert_int_equal(collect(rig).cookie, i);
	}
	assert_true(awake);
}

/* The engine would turn without end for as long as it takes to end that lane. */
static void test_lane_that_is_stopped_while_it_is_lively_keeps_nobody_awake(void **state)
{
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;
	uint64_t addr, said_ns;
	bool awake;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	stop(l);
	fill(rig, 0, addr, 1);
	do {					   /* until this thread was not kept from it */
		said_ns = gsb_clock_ns() + 500000; /* behind what is given anyway */
		atomic_store(&l->page->lively_ns, said_ns);
		awake = rig->raw->stay_awake(rig->dev);
	} while (gsb_clock_ns() > said_ns);
	assert_true(awake);
	while (rig->raw->stay_awake(rig->dev))
		assert_true(gsb_clock_ns() - said_ns + SECOND_NS < 2 * SECOND_NS);
	assert_false(atomic_load(&l->dead));
	kill(l->pid, SIGCONT);
	assert_int_equal(collect(rig).cookie, 1);
}

/* Nobody waits for it: it is ended all the same. */
static void expect_dead(struct rig *rig, const struct lane *l)
{
	while (!atomic_load(&l->dead))
		await_news(rig);
}

static void test_lane_that_hangs_with_what_nobody_waits_for_is_ended(void **state)
{
	struct rig *rig = *state;
	uint64_t addr;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	stop(rig->space[0]->lane);
	assert_int_equal(rig->raw->mem_free(rig->space[0], addr), 0);
	expect_dead(rig, rig->space[0]->lane);
	work_beside(rig);
}

static void test_lane_that_hangs_with_a_kernel_is_ended(void **state)
{
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;

	run_endless(rig, 1);
	while (!atomic_load(&l->page->n_in_flight))
		usleep(PATIENT_PAUSE_US);
	stop(l);
	assert_int_equal(collect(rig).result, CUDA_ERROR_LAUNCH_FAILED);
	work_beside(rig);
}

static int load(struct rig *rig, unsigned i)
{
	struct gsb_module *module;
	char log[256] = "";

	return rig->raw->module_load(rig->space[i], endless_ptx, sizeof(endless_ptx), &module, log,
				     sizeof(log));
}

static atomic_bool loads, has_loaded;

static void *load_there(void *arg)
{
	int err;

	loads = true;
	err = load(arg, 0);
	has_loaded = true;
	return (void *)(intptr_t)err;
}

/* Another thread waits for it, and not for ever; the engine's does not. */
static void test_lane_that_hangs_in_a_load_is_ended(void **state)
{
	struct rig *rig = *state;
	pthread_t loader;
	void *err;

	stop(rig->space[0]->lane);
	assert_int_equal(pthread_create(&loader, NULL, load_there, rig), 0);
	work_beside(rig);
	assert_int_equal(pthread_join(loader, &err), 0);
	assert_int_equal((int)(intptr_t)err, -EOWNERDEAD);
}

/* That is why the engine's loader may have a thread for each tenant (loads_apart). */
static void test_load_of_a_lane_waits_for_no_other_lane(void **state)
{
	struct rig *rig = *state;
	pthread_t loader;
	void *err;

	assert_true(rig->raw->loads_apart);
	loads = has_loaded = false;
	stop(rig->space[0]->lane);
	assert_int_equal(pthread_create(&loader, NULL, load_there, rig), 0);
	while (!loads)
		usleep(PATIENT_PAUSE_US);
	usleep(20000); /* it asks */
	for (unsigned i = 0; i < 8; i++)
		assert_int_equal(load(rig, 1), 0);
	assert_false(has_loaded); /* of 2 s that it has */
	assert_int_equal(kill(rig->space[0]->lane->pid, SIGCONT), 0);
	assert_int_equal(pthread_join(loader, &err), 0);
	assert_int_equal((int)(intptr_t)err, 0);
}

/* A kernel without an end is no reason: its lane says that it lives, much longer than one may be silent. */
static void test_lane_with_a_long_kernel_lives(void **state)
{
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;

	run_endless(rig, 1);
	for (uint32_t i = 0; i < 3 * LOOKS_OF_A_LIMIT; i++) {
		uint32_t pong = atomic_load(&l->page->pong);

		while (atomic_load(&l->page->pong) == pong && !atomic_load(&l->dead))
			usleep(PATIENT_PAUSE_US);
	}
	assert_false(atomic_load(&l->dead));
	rig->ops->space_cancel(rig->space[0]);
	assert_int_not_equal(collect(rig).result, CUDA_SUCCESS);
}

/* Two calls of one kind at a time that differ by a number alone: each has its own answer. */
static void test_calls_of_one_kind_have_their_own_answers(void **state)
{
	struct rig *rig = *state;
	const struct gsb_device_ops *raw = rig->raw;
	uint64_t small = 0, large = 0;
	int err;

	stop(rig->space[0]->lane);
	assert_int_equal(raw->mem_alloc(rig->space[0], 4096, &small), -EINPROGRESS);
	assert_int_equal(raw->mem_alloc(rig->space[0], DEVICE_SIZE * 2, &large), -EINPROGRESS);
	kill(rig->space[0]->lane->pid, SIGCONT);
	while ((err = raw->mem_alloc(rig->space[0], DEVICE_SIZE * 2, &large)) == -EINPROGRESS)
		await_news(rig);
	assert_int_equal(err, -ENOMEM);
	while ((err = raw->mem_alloc(rig->space[0], 4096, &small)) == -EINPROGRESS)
		await_news(rig);
	assert_int_equal(err, 0);
	assert_int_equal(rig->ops->mem_free(rig->space[0], small), 0);
}

/* A space that ends takes with it what was asked for it, answered or not. */
static void test_space_that_ends_leaves_no_answers(void **state)
{
	struct rig *rig = *state;
	struct asked a = {.rig = rig};
	struct gsb_space *space;

	while (ask_space(&a) == -EINPROGRESS)
		await_news(rig);
	space = a.space;
	assert_int_equal(rig->raw->mem_alloc(space, 4096, &a.addr), -EINPROGRESS);
	rig->raw->space_destroy(space);
	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &a.addr), 0);
	assert_null(rig->space[0]->lane->requests);
}

/* ---- memory of one lane in another ---- */

static struct gsb_space *third_space(struct rig *rig)
{
	const struct gsb_space_params p = {.device_base = DEVICE_BASE + 2 * DEVICE_SIZE,
					   .device_size = DEVICE_SIZE,
					   .owner = 3};
	struct gsb_space *space = NULL;

	assert_int_equal(rig->ops->space_create(rig->dev, &p, &space), 0);
	return space;
}

/* Descriptors that a process has of files in memory with such names. */
static unsigned n_files(pid_t pid, const char *name)
{
	char path[64], to[64];
	struct dirent *e;
	unsigned n = 0;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	assert_non_null(dir);
	while ((e = readdir(dir))) {
		ssize_t len = readlinkat(dirfd(dir), e->d_name, to, sizeof(to) - 1);

		to[len > 0 ? len : 0] = 0;
		n += strstr(to, name) != NULL;
	}
	closedir(dir);
	return n;
}

static unsigned n_memory_files(pid_t pid)
{
	return n_files(pid, "emu-window") + n_files(pid, "emu-backings");
}

static void settle(struct rig *rig)
{
	uint64_t free_bytes, total;

	rig->ops->mem_info(rig->dev, &free_bytes, &total);
}

static void test_memory_outlives_the_lane_that_has_lent_it(void **state)
{
	struct rig *rig = *state;
	struct gsb_backing *b = lend(rig, 0, 7);
	uint64_t at[2];

	assert_int_equal(rig->ops->mem_open(rig->space[1], b, &at[0]), 0);
	assert_int_equal(kill(rig->space[0]->lane->pid, SIGKILL), 0);
	while (!atomic_load(&rig->space[0]->lane->dead))
		usleep(PATIENT_PAUSE_US);
	assert_int_equal(rig->ops->mem_open(rig->space[1], b, &at[1]), 0);
	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(byte_at(rig, rig->space[1], at[i]), 7);
	rig->ops->backing_destroy(b);
}

/* What is the first in its window lies at one place in each file. */
static void test_each_has_the_memory_that_it_has_asked_for(void **state)
{
	struct rig *rig = *state;
	struct gsb_space *third = third_space(rig), *opener = rig->space[1];
	struct gsb_backing *b[2] = {lend(rig, 0, 7), lend_of(rig, third, 8)};
	uint64_t at[2];

	for (unsigned i = 0; i < 2; i++)
		assert_int_equal(rig->raw->mem_open(opener, b[i], &at[i]), -EINPROGRESS);
	for (unsigned i = 2; i-- > 0;)
		assert_int_equal(rig->ops->mem_open(opener, b[i], &at[i]), 0);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(byte_at(rig, opener, at[i]), 7 + i);
		rig->ops->backing_destroy(b[i]);
	}
	rig->ops->space_destroy(third);
}

static void test_opened_and_mapped_memory_leaves_nothing_behind(void **state)
{
	struct rig *rig = *state;
	const pid_t there = rig->space[1]->lane->pid;
	struct gsb_backing *b = lend(rig, 0, 7), *c = NULL;
	uint64_t at;

	assert_int_equal(rig->ops->backing_create(rig->dev, 1, GSB_BACKING_UNIT, &c), 0);
	assert_int_equal(n_memory_files(getpid()), 1);
	assert_int_equal(rig->ops->backing_map(c, 2, AREA_BASE), 0);
	assert_int_equal(
		rig->ops->backing_access(c, 2, AREA_BASE, CU_MEM_ACCESS_FLAGS_PROT_READWRITE), 0);
	assert_int_equal(byte_at(rig, rig->space[1], AREA_BASE), 0);
	assert_int_equal(rig->ops->mem_open(rig->space[1], b, &at), 0);
	assert_int_equal(n_memory_files(getpid()), 2);
	assert_int_equal(n_memory_files(there), 4); /* its own, and that of all backings, too */
	assert_int_equal(rig->ops->mem_free(rig->space[1], at), 0);
	rig->ops->backing_unmap(c, 2, AREA_BASE);
	rig->ops->backing_destroy(b);
	rig->ops->backing_destroy(c);
	settle(rig);
	assert_int_equal(n_memory_files(there), 2);
	assert_int_equal(n_memory_files(getpid()), 0);
}

/* What one may lend is bounded: it is told, and another one lends as before. */
static void test_lane_lends_no_more_than_its_share(void **state)
{
	struct rig *rig = *state;
	struct gsb_backing *b[3] = {NULL}, *other;
	uint64_t addr, offset, size;
	const rlim_t was = limit_descriptors(2 * GSB_N_SLOTS * 2); /* two of them */

	for (unsigned i = 0; i < 2; i++)
		b[i] = lend(rig, 0, i);
	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	assert_int_equal(rig->ops->mem_share(rig->space[0], addr, &b[2], &offset, &size), -ENOMEM);
	assert_int_equal(rig->ops->backing_create(rig->dev, 1, GSB_BACKING_UNIT, &b[2]), 0);
	assert_int_equal(rig->ops->backing_map(b[2], 2, AREA_BASE), -ENOMEM);
	other = lend(rig, 1, 9);
	rig->ops->backing_destroy(b[0]);
	assert_int_equal(rig->ops->backing_map(b[2], 2, AREA_BASE), 0);
	rig->ops->backing_unmap(b[2], 2, AREA_BASE);
	rig->ops->backing_destroy(b[2]);
	b[0] = lend(rig, 0, 3);
	rig->ops->backing_destroy(b[0]);
	rig->ops->backing_destroy(b[1]);
	rig->ops->backing_destroy(other);
	limit_descriptors(was);
}

/* A unit each of a file. */
static void make_of_host(struct rig *rig, int fd, struct gsb_backing *b[N_OF_HOST])
{
	for (unsigned i = 0; i < N_OF_HOST; i++)
		assert_int_equal(rig->ops->backing_of_host(rig->dev, 1, fd, i * GSB_BACKING_UNIT,
							   GSB_BACKING_UNIT, &b[i]),
				 0);
}

/* As many as are asked for while a lane takes nothing cost the engine one, and when they are made the lane. */
static void test_backings_of_host_share_a_descriptor_on_both_sides(void **state)
{
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;
	struct gsb_backing *b[N_OF_HOST] = {NULL};
	int fd = memfd_create("of-a-tenant", MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, N_OF_HOST * GSB_BACKING_UNIT), 0);
	stop(l);
	for (unsigned i = 0; i < N_OF_HOST; i++)
		assert_int_equal(rig->raw->backing_of_host(rig->dev, 1, fd, i * GSB_BACKING_UNIT,
							   GSB_BACKING_UNIT, &b[i]),
				 -EINPROGRESS);
	assert_non_null(l->unsent);
	assert_int_equal(n_files(getpid(), "of-a-tenant"), 2); /* the caller's, too */
	kill(l->pid, SIGCONT);
	make_of_host(rig, fd, b);
	assert_int_equal(n_files(l->pid, "of-a-tenant"), 1);
	assert_int_equal(n_files(getpid(), "of-a-tenant"), 1);
	for (unsigned i = 0; i < N_OF_HOST; i++)
		rig->ops->backing_destroy(b[i]);
	settle(rig);
	assert_int_equal(n_files(l->pid, "of-a-tenant"), 0);
	close(fd);
}

#define LARGE_ROOM (5u << 20) /* larger than those that are kept */

static int new_file(const char *name)
{
	int fd = memfd_create(name, MFD_CLOEXEC);

	assert_int_equal(ftruncate(fd, (N_OF_HOST + 1) * GSB_BACKING_UNIT), 0);
	return fd;
}

/* What of it is mapped in a lane is its own mapping: there is nothing for which it would have to be kept. */
static void test_memory_that_copies_named_is_its_owners_again(void **state)
{
	struct rig *rig = *state;
	int fd = new_file("staging");
	uint8_t *at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	struct gsb_cmd cmd = {
		.kind = GSB_CMD_COPY,
		.space = rig->space[0],
		.copy = {.src = (uintptr_t)at, .width = 4096, .height = 1, .src_is_ours = true}};

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &cmd.copy.dst), 0);
	rig->ops->buffer_share(rig->dev, at, 4096, fd);
	close(fd);
	*at = 7;
	assert_int_equal(rig->ops->issue(rig->queue[0], &cmd), 0);
	assert_int_equal(collect(rig).result, CUDA_SUCCESS);
	assert_false(rig->ops->buffer_unshare(rig->dev, at));
	assert_int_equal(*at, 7);
	assert_int_equal(munmap(at, 4096), 0);
}

/* The lane has it still. By the same number another would not be mapped there, and copies go to this one. */
static void test_number_of_what_could_not_be_unmapped_is_not_given_again(void **state)
{
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;
	struct lane_map *room = lane_room_take(l, LARGE_ROOM);
	uint32_t number = room->number;

	atomic_store(&l->dead, true); /* so that it is not told */
	lane_room_give(l, room);
	atomic_store(&l->dead, false);
	room = lane_room_take(l, LARGE_ROOM);
	assert_int_not_equal(room->number, number);
	lane_room_give(l, room);
}

static int ask_of_host(struct rig *rig, int fd, uint64_t i, struct gsb_backing **b)
{
	return rig->raw->backing_of_host(rig->dev, 1, fd, i * GSB_BACKING_UNIT, GSB_BACKING_UNIT,
					 b);
}

static int await_of_host(struct rig *rig, int fd, uint64_t i, struct gsb_backing **b)
{
	int err;

	while ((err = ask_of_host(rig, fd, i, b)) == -EINPROGRESS)
		await_news(rig);
	return err;
}

/* Who asks is told at once, and the lane waits for nothing that does not come. */
static void test_call_whose_descriptor_cannot_be_sent_is_refused_alone(void **state)
{
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;
	struct gsb_backing *b[2] = {NULL};
	const int fd[2] = {new_file("of-one"), new_file("of-another")};

	next_send_fails_with = ETOOMANYREFS;
	assert_int_equal(ask_of_host(rig, fd[0], 0, &b[0]), -ENOMEM);
	assert_null(l->requests);
	assert_int_equal(await_of_host(rig, fd[1], 0, &b[1]), 0);
	assert_int_equal(n_files(l->pid, "of-one"), 0);
	assert_int_equal(n_files(l->pid, "of-another"), 1);
	assert_int_equal(await_of_host(rig, fd[0], 0, &b[0]), 0);
	for (unsigned i = 0; i < 2; i++) {
		rig->ops->backing_destroy(b[i]);
		close(fd[i]);
	}
}

/* It has waited for room, and others behind it have their own. */
static void test_kept_call_whose_descriptor_cannot_be_sent_is_refused_alone(void **state)
{
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;
	struct gsb_backing *b[N_OF_HOST + 1] = {NULL};
	const int fd[2] = {new_file("of-one"), new_file("of-another")};
	unsigned n = 0;

	stop(l);
	while (!l->unsent) {
		assert_true(n < N_OF_HOST);
		assert_int_equal(ask_of_host(rig, fd[0], n, &b[n]), -EINPROGRESS);
		n++;
	}
	assert_int_equal(ask_of_host(rig, fd[1], n, &b[n]), -EINPROGRESS);
	next_send_fails_with = ENOMEM;
	assert_true(lane_send_kept(l));
	kill(l->pid, SIGCONT);
	assert_int_equal(await_of_host(rig, fd[1], n, &b[n]), 0);
	assert_int_equal(n_files(l->pid, "of-another"), 1);
	assert_int_equal(await_of_host(rig, fd[0], n - 1, &b[n - 1]), -ENOMEM);
	for (unsigned i = 0; i < n; i++) {
		assert_int_equal(await_of_host(rig, fd[0], i, &b[i]), 0);
		rig->ops->backing_destroy(b[i]);
	}
	rig->ops->backing_destroy(b[n]);
	for (unsigned i = 0; i < 2; i++)
		close(fd[i]);
}

/* A lane has a limit, too: with what it has it goes on. */
static void test_call_whose_descriptor_has_no_number_in_the_lane_is_refused_alone(void **state)
{
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;
	struct gsb_backing *b = NULL;
	struct gsb_module *module;
	struct rlimit was, none;
	char log[256] = "";
	int fd = new_file("of-one");

	assert_int_equal(prlimit(l->pid, RLIMIT_NOFILE, NULL, &was), 0);
	none = (struct rlimit){3, was.rlim_max}; /* but those that are there */
	assert_int_equal(prlimit(l->pid, RLIMIT_NOFILE, &none, NULL), 0);
	assert_int_equal(await_of_host(rig, fd, 0, &b), -ENOMEM);
	assert_int_equal(rig->ops->module_load(rig->space[0], endless_ptx, sizeof(endless_ptx),
					       &module, log, sizeof(log)),
			 -ENOMEM);
	assert_int_equal(prlimit(l->pid, RLIMIT_NOFILE, &was, NULL), 0);
	assert_int_equal(await_of_host(rig, fd, 0, &b), 0);
	assert_int_equal(n_files(l->pid, "of-one"), 1);
	assert_int_equal(rig->ops->module_load(rig->space[0], endless_ptx, sizeof(endless_ptx),
					       &module, log, sizeof(log)),
			 0);
	rig->ops->backing_destroy(b);
	close(fd);
}

/* From now on somebody else stands in for the lane's second thread, who has answered already. Returns his socket. */
static int answer_first(struct lane *l, struct lane_msg *m, int fd)
{
	int pair[2];

	gsb_msg_init(&m->msg, LANE_MSG_CALL, LANE_MSG_SIZE(0));
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair), 0);
	assert_int_equal(gsb_channel_send(pair[1], &m->msg, &fd, 1), 0);
	assert_int_equal(dup3(pair[0], l->slots[1].fd, O_CLOEXEC), l->slots[1].fd);
	close(pair[0]);
	return pair[1];
}

/* A lane that lies would take all the engine's descriptors. */
static void test_descriptor_of_an_answer_that_failed_is_closed(void **state)
{
	static struct lane_msg m = {.op = LANE_backing_export, .err = -ENOMEM};
	struct lane_call call = {.op = LANE_backing_export};
	struct rig *rig = *state;
	int fd = new_file("of-one"), other = answer_first(rig->space[0]->lane, &m, fd);

	assert_int_equal(lane_call(rig->space[0]->lane, &call), -ENOMEM);
	assert_int_equal(call.out_fd, 0);
	close(other);
	assert_int_equal(n_files(getpid(), "of-one"), 1);
	close(fd);
}

/* Of which the engine has none left; the message says of what is in it that it is longer than any. */
static void test_answer_that_lies_beside_a_lost_descriptor_ends_its_lane(void **state)
{
	static struct lane_msg m = {.op = LANE_backing_export, .n_bytes = LANE_BYTES_MAX + 1};
	struct lane_call call = {.op = LANE_backing_export};
	struct rig *rig = *state;
	struct rlimit was, none;
	int fd = new_file("of-one"), other = answer_first(rig->space[0]->lane, &m, fd), err;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &was), 0);
	none = (struct rlimit){3, was.rlim_max};
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	err = lane_call(rig->space[0]->lane, &call);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &was), 0);
	assert_int_equal(err, -EOWNERDEAD);
	close(other);
	close(fd);
}

/* An image is too long for a message, and goes by a descriptor: who waits has the answer, and its lane lives. */
static void test_load_whose_image_cannot_be_sent_is_refused_alone(void **state)
{
	struct rig *rig = *state;
	struct gsb_module *module;
	char log[256] = "";

	next_send_fails_with = ENOMEM;
	assert_int_equal(rig->ops->module_load(rig->space[0], endless_ptx, sizeof(endless_ptx),
					       &module, log, sizeof(log)),
			 -ENOMEM);
	assert_int_equal(rig->ops->module_load(rig->space[0], endless_ptx, sizeof(endless_ptx),
					       &module, log, sizeof(log)),
			 0);
}

/* Nobody takes the answer any more. */
static void test_memory_that_nobody_takes_goes_back(void **state)
{
	struct rig *rig = *state;
	struct asked a = {.rig = rig};
	const uint64_t until = gsb_clock_ns() + 10 * SECOND_NS;
	uint64_t before, now, total;

	while (ask_space(&a) == -EINPROGRESS)
		await_news(rig);
	rig->ops->mem_info(rig->dev, &before, &total);
	assert_int_equal(rig->ops->mem_alloc(a.space, 4096, &a.addr), 0);
	assert_int_equal(rig->raw->mem_share(a.space, a.addr, &a.shared, &a.offset, &a.chunk),
			 -EINPROGRESS);
	rig->raw->space_destroy(a.space);
	do { /* the lane counts it until it has been told */
		rig->ops->stay_awake(rig->dev);
		rig->ops->mem_info(rig->dev, &now, &total);
	} while (now != before && gsb_clock_ns() < until);
	assert_int_equal(now, before);
	assert_null(rig->space[0]->lane->requests);
	assert_int_equal(n_memory_files(getpid()), 0);
}

static void test_memory_that_no_descriptor_is_left_for_is_refused(void **state)
{
	struct rig *rig = *state;
	struct gsb_backing *b = NULL;
	uint64_t addr, offset, size;
	rlim_t was;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	was = limit_descriptors(3); /* which there are; with fewer poll() would take none */
	assert_int_equal(rig->ops->mem_share(rig->space[0], addr, &b, &offset, &size), -ENOMEM);
	limit_descriptors(was);
	assert_int_equal(rig->ops->mem_share(rig->space[0], addr, &b, &offset, &size), 0);
	rig->ops->backing_destroy(b);
}

/* What one gives back another one gets, though nobody waited for it. */
static void test_memory_that_is_on_its_way_back_is_waited_for(void **state)
{
	struct rig *rig = *state;
	uint64_t addr, have;
	int err;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	stop(rig->space[0]->lane);
	assert_int_equal(rig->raw->mem_free(rig->space[0], addr), 0);
	while ((err = rig->raw->mem_alloc(rig->space[1], DEVICE_SIZE * 2, &have)) == -EINPROGRESS &&
	       !rig->space[1]->lane->requests->refused_ns)
		await_news(rig);
	assert_int_equal(err, -EINPROGRESS);
	kill(rig->space[0]->lane->pid, SIGCONT);
	while ((err = rig->raw->mem_alloc(rig->space[1], DEVICE_SIZE * 2, &have)) == -EINPROGRESS)
		await_news(rig);
	assert_int_equal(err, -ENOMEM);
}

/* The engine may say it another way, as if it had been told at once. */
static void test_launch_that_a_lane_refuses_has_not_run(void **state)
{
	struct rig *rig = *state;
	struct gsb_function none = {.handle = UINT32_MAX};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = rig->space[0],
			      .cookie = 1,
			      .launch = {.function = &none, .grid = {1, 1, 1}, .block = {1, 1, 1}}};
	struct gsb_completion c;
	uint64_t addr;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	assert_int_equal(rig->ops->issue(rig->queue[0], &cmd), 0);
	c = collect(rig);
	assert_int_equal(c.cookie, 1);
	assert_int_not_equal(c.result, CUDA_SUCCESS);
	assert_true(c.refused);
	fill(rig, 0, addr, 2);
	c = collect(rig);
	assert_int_equal(c.result, CUDA_SUCCESS);
	assert_false(c.refused);
}

/* In a stream nothing has ended before what is ahead of it, whatever the lane says when; another queue's goes by. */
static void test_refusal_waits_for_what_is_ahead_of_it(void **state)
{
	struct rig *rig = *state;
	struct gsb_function none = {.handle = UINT32_MAX};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = rig->space[0],
			      .launch = {.function = &none, .grid = {1, 1, 1}, .block = {1, 1, 1}}};
	struct gsb_queue *other;
	struct gsb_completion c;
	uint64_t addr;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	assert_int_equal(rig->ops->queue_create(rig->dev, 0, GSB_ALL_SMS, &other), 0);
	run_endless(rig, 1);
	for (cmd.cookie = 2; cmd.cookie <= 3; cmd.cookie++)
		assert_int_equal(rig->ops->issue(rig->queue[0], &cmd), 0);
	cmd.cookie = 4;
	assert_int_equal(rig->ops->issue(other, &cmd), 0);
	c = collect(rig); /* the lane has said 2 and 3 before */
	assert_int_equal(c.cookie, 4);
	assert_true(c.refused);
	rig->ops->space_cancel(rig->space[0]);
	for (uint64_t cookie = 1; cookie <= 3; cookie++) {
		c = collect(rig);
		assert_int_equal(c.cookie, cookie);
		assert_int_not_equal(c.result, CUDA_SUCCESS);
		assert_int_equal(c.refused, cookie > 1);
	}
	rig->ops->queue_destroy(other);
}

static void die(struct lane *l)
{
	assert_int_equal(kill(l->pid, SIGKILL), 0);
}

static void refuse_again(struct lane *l)
{
	struct lane_page *page = l->page;

	stop(l);
	page->done[l->done_tail % LANE_N_DONE] = l->held->c;
	atomic_store(&page->done_head, l->done_tail + 1);
}

/* Then there is nothing that it could wait for. */
static void end_with_a_refusal(struct rig *rig, void (*end)(struct lane *l))
{
	struct gsb_function none = {.handle = UINT32_MAX};
	struct gsb_cmd cmd = {.kind = GSB_CMD_LAUNCH,
			      .space = rig->space[0],
			      .cookie = 2,
			      .launch = {.function = &none, .grid = {1, 1, 1}, .block = {1, 1, 1}}};
	struct lane *l = rig->space[0]->lane;
	struct gsb_completion c;
	uint64_t cookies = 0;

	run_endless(rig, 1);
	assert_int_equal(rig->ops->issue(rig->queue[0], &cmd), 0);
	while (!l->held)
		assert_int_equal(rig->ops->poll(rig->dev, &c, 1), 0);
	end(l);
	for (unsigned n = 0; n < 2;) {
		if (!rig->ops->poll(rig->dev, &c, 1)) {
			assert_true(!l->held || !l->held->next);
			continue;
		}
		assert_int_equal(c.result, CUDA_ERROR_LAUNCH_FAILED);
		cookies |= 1u << c.cookie;
		n++;
	}
	assert_int_equal(cookies, 1 << 1 | 1 << 2);
}

static void test_refusal_of_a_lane_that_dies_is_told_once(void **state)
{
	end_with_a_refusal(*state, die);
}

static void test_lane_that_refuses_twice_is_ended(void **state)
{
	end_with_a_refusal(*state, refuse_again);
}

static unsigned n_lanes_of(struct rig *rig, uint64_t owner)
{
	unsigned n = 0;

	for (struct lane *l = to_lanes(rig->dev)->lanes; l; l = l->next)
		n += l->owner == owner;
	return n;
}

/* Who is asked for memory of an owner without a space may die before he says anything. */
static void test_lane_that_dies_while_its_first_is_asked_for_is_left(void **state)
{
	struct rig *rig = *state;
	struct gsb_backing *b;
	int err;

	while ((err = rig->raw->backing_create(rig->dev, 9, GSB_BACKING_UNIT, &b)) ==
		       -EINPROGRESS &&
	       !n_lanes_of(rig, 9))
		await_news(rig);
	assert_int_equal(err, -EINPROGRESS);
	assert_int_equal(kill(to_lanes(rig->dev)->lanes->pid, SIGKILL), 0);
	while (!atomic_load(&to_lanes(rig->dev)->lanes->dead))
		usleep(PATIENT_PAUSE_US);
	assert_int_equal(rig->ops->backing_create(rig->dev, 9, GSB_BACKING_UNIT, &b), 0);
	assert_int_equal(n_lanes_of(rig, 9), 1);
	rig->ops->backing_destroy(b);
	assert_int_equal(n_lanes_of(rig, 9), 0);
}

/* Who asks would be told to ask again, for ever. */
static void test_lane_that_answers_that_it_will_answer_is_ended(void **state)
{
	struct rig *rig = *state;
	struct lane *l = rig->space[0]->lane;
	struct lane_request *r;
	struct lane_msg *m = calloc(1, sizeof(*m));
	uint64_t addr;
	int pair[2];

	assert_non_null(m);
	assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK, 0, pair), 0);
	stop(l);
	assert_int_equal(rig->raw->mem_alloc(rig->space[0], 4096, &addr), -EINPROGRESS);
	r = l->requests;
	gsb_msg_init(&m->msg, LANE_MSG_CALL, LANE_MSG_SIZE(0));
	m->op = r->op;
	m->err = -EINPROGRESS;
	assert_int_equal(gsb_channel_send(pair[1], &m->msg, NULL, 0), 0);
	assert_true(dup2(pair[0], l->slots[0].fd) >= 0);
	atomic_store(&l->page->n_called, r->number);
	lane_hear(l);
	assert_false(r->answered);
	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), -EOWNERDEAD);
	close(pair[0]);
	close(pair[1]);
	free(m);
	work_beside(rig);
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

/* What a lane that does nothing any more is made to say of the only command that it has. */
static struct gsb_completion say(struct rig *rig, const struct gsb_completion *what)
{
	struct lane *l = rig->space[0]->lane;
	struct gsb_completion *done = &l->page->done[l->done_tail % LANE_N_DONE];

	*done = *what;
	for (uint32_t i = 0; i < l->n_flights; i++)
		if (l->flights[i].in_use) {
			l->flights[i].n_blocks = 2; /* as of a launch */
			done->cookie = i;
		}
	atomic_store(&l->page->done_head, l->done_tail + 1);
	return collect(rig);
}

/* Others are launched by what is reckoned from them. */
static void test_times_that_cannot_be_are_not_believed(void **state)
{
	static const struct gsb_completion lies[] = {
		{.start_ns = 1, .end_ns = 2, .n_blocks = 1, .blocks_ns = UINT64_MAX},
		{.start_ns = UINT64_MAX, .end_ns = 1, .n_blocks = 1, .blocks_ns = 1},
		{.start_ns = 0, .end_ns = UINT64_MAX, .n_blocks = 2, .blocks_ns = UINT64_MAX},
		{.start_ns = 1,
		 .end_ns = UINT64_MAX,
		 .n_blocks = UINT64_MAX,
		 .blocks_ns = UINT64_MAX},
	};
	struct rig *rig = *state;
	uint64_t addr;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	stop(rig->space[0]->lane);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(lies); i++) {
		uint64_t sent_ns = gsb_clock_ns();
		struct gsb_completion c;

		fill(rig, 0, addr, i);
		c = say(rig, &lies[i]);
		assert_int_equal(c.cookie, i);
		assert_in_range(c.start_ns, sent_ns, c.end_ns);
		assert_in_range(c.end_ns, c.start_ns, gsb_clock_ns());
		assert_in_range(c.n_blocks, 1, 2);
		assert_in_range(c.blocks_ns, 0, c.n_blocks * (c.end_ns - c.start_ns));
	}
}

static void test_flag_that_is_neither_is_read_as_one(void **state)
{
	struct rig *rig = *state;
	struct gsb_completion lie = {0}, c;
	unsigned char said;
	uint64_t addr;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 4096, &addr), 0);
	stop(rig->space[0]->lane);
	memset(&lie.refused, 0xff, sizeof(lie.refused));
	fill(rig, 0, addr, 7);
	c = say(rig, &lie);
	memcpy(&said, &c.refused, sizeof(said));
	assert_int_equal(said, 1);
}

/* Nor does what one says hide what others have. */
static void test_memory_that_cannot_be_is_not_believed(void **state)
{
	struct rig *rig = *state;
	uint64_t addr, total, free_bytes;

	assert_int_equal(rig->ops->mem_alloc(rig->space[0], 1 << 20, &addr), 0);
	assert_int_equal(rig->ops->mem_alloc(rig->space[1], 1 << 20, &addr), 0);
	stop(rig->space[0]->lane);
	for (unsigned i = 0; i < 2; i++) {
		atomic_store(&rig->space[0]->lane->page->used_bytes, UINT64_MAX - i * (1 << 20));
		rig->ops->mem_info(rig->dev, &free_bytes, &total);
		assert_int_equal(free_bytes, 0);
	}
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
	pid_t pid;

	while (!(pid = any_idle(rig)))
		await_news(rig);
	return pid;
}

/* MPS has told them of it, whoever will have them. */
static void test_fault_of_one_renews_those_that_wait_for_a_user(void **state)
{
	struct rig *rig = *state;
	struct lane *lane = rig->space[0]->lane;
	pid_t idle = await_idle(rig);

	run_endless(rig, 1);
	stop(lane); /* else the lane says what its own device says */
	lane->page->done[0] = (struct gsb_completion){.result = CUDA_ERROR_ILLEGAL_ADDRESS};
	atomic_store(&lane->page->lost, 1);
	atomic_store(&lane->page->done_head, 1);
	assert_int_equal(collect(rig).result, CUDA_ERROR_ILLEGAL_ADDRESS);
	kill(lane->pid, SIGKILL);
	assert_false(pool_has(rig, idle));
	assert_int_not_equal(await_idle(rig), idle);
}

static void test_space_that_has_to_wait_for_a_lane_comes_later(void **state)
{
	struct rig *rig = *state;
	struct gsb_space *space[3];
	struct gsb_space_params p = {.device_size = DEVICE_SIZE};
	unsigned n_late = 0;

	for (unsigned i = 0; i < 3; i++) { /* more than are ready */
		p.owner = 3 + i;
		p.device_base = DEVICE_BASE + (2 + i) * DEVICE_SIZE;
		while (rig->raw->space_create(rig->dev, &p, &space[i]) == -EINPROGRESS) {
			n_late++;
			await_news(rig);
		}
	}
	assert_true(n_late >= 3);
	for (unsigned i = 0; i < 3; i++)
		rig->ops->space_destroy(space[i]);
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
		cmocka_unit_test(test_ring_whose_positions_are_wrong_is_not_left),
		cmocka_unit_test(test_ring_is_rung_for_only_while_somebody_sleeps),
		cmocka_unit_test(test_table_forgets_children_with_their_parent),
		ON_LANES(test_lane_that_is_killed_fails_its_space_alone),
		ON_LANES(test_stopped_lane_keeps_nobody_and_loses_nothing),
		ON_LANES(test_what_had_no_room_is_not_overtaken),
		ON_LANES(test_stopped_lane_is_ended_and_fails_its_space_alone),
		ON_LANES(test_lane_that_dies_with_calls_fails_its_space_alone),
		ON_LANES(test_engine_stays_awake_for_what_was_just_sent),
		ON_LANES(test_lane_that_is_stopped_while_it_is_lively_keeps_nobody_awake),
		ON_LANES(test_lane_that_hangs_with_what_nobody_waits_for_is_ended),
		ON_LANES(test_lane_that_hangs_with_a_kernel_is_ended),
		ON_LANES(test_lane_that_hangs_in_a_load_is_ended),
		ON_LANES(test_load_of_a_lane_waits_for_no_other_lane),
		ON_LANES(test_lane_with_a_long_kernel_lives),
		ON_LANES(test_calls_of_one_kind_have_their_own_answers),
		ON_LANES(test_space_that_ends_leaves_no_answers),
		ON_LANES(test_memory_outlives_the_lane_that_has_lent_it),
		ON_LANES(test_each_has_the_memory_that_it_has_asked_for),
		ON_LANES(test_opened_and_mapped_memory_leaves_nothing_behind),
		ON_LANES(test_backings_of_host_share_a_descriptor_on_both_sides),
		ON_LANES(test_memory_that_copies_named_is_its_owners_again),
		ON_LANES(test_number_of_what_could_not_be_unmapped_is_not_given_again),
		ON_LANES(test_descriptor_of_an_answer_that_failed_is_closed),
		ON_LANES(test_answer_that_lies_beside_a_lost_descriptor_ends_its_lane),
		ON_LANES(test_lane_lends_no_more_than_its_share),
		ON_LANES(test_call_whose_descriptor_cannot_be_sent_is_refused_alone),
		ON_LANES(test_kept_call_whose_descriptor_cannot_be_sent_is_refused_alone),
		ON_LANES(test_call_whose_descriptor_has_no_number_in_the_lane_is_refused_alone),
		ON_LANES(test_load_whose_image_cannot_be_sent_is_refused_alone),
		ON_LANES(test_memory_that_nobody_takes_goes_back),
		ON_LANES(test_memory_that_no_descriptor_is_left_for_is_refused),
		ON_LANES(test_memory_that_is_on_its_way_back_is_waited_for),
		ON_LANES(test_launch_that_a_lane_refuses_has_not_run),
		ON_LANES(test_refusal_waits_for_what_is_ahead_of_it),
		ON_LANES(test_refusal_of_a_lane_that_dies_is_told_once),
		ON_LANES(test_lane_that_refuses_twice_is_ended),
		ON_LANES(test_lane_that_dies_while_its_first_is_asked_for_is_left),
		ON_LANES(test_lane_that_answers_that_it_will_answer_is_ended),
		ON_LANES(test_lane_that_says_what_cannot_be_is_ended),
		ON_LANES(test_times_that_cannot_be_are_not_believed),
		ON_LANES(test_flag_that_is_neither_is_read_as_one),
		ON_LANES(test_memory_that_cannot_be_is_not_believed),
		ON_LANES(test_spaces_of_an_owner_share_their_lane_and_others_do_not),
		ON_LANES(test_fault_of_one_renews_those_that_wait_for_a_user),
		ON_LANES(test_space_that_has_to_wait_for_a_lane_comes_later),
		cmocka_unit_test(test_open_says_why_there_are_no_lanes),
		cmocka_unit_test(test_start_without_room_is_tried_again),
		cmocka_unit_test(test_start_without_room_for_long_says_why),
	};

	if (argc == 3)
		serve_busy(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
