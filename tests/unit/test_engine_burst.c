/*
 * test_engine_burst.c - many programs that launch short kernels in bursts, through an engine whose device takes time as a GPU and its
 * driver do: how often the device is handed something, what the engine's thread takes for a launch, and how long its turns are. All time is counted, none passes.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "model/gpu/arch.h"
#include "tests/unit/engine_kit.h"

#define TENANTS_MAX 32
#define EACH	    1000 /* launches of each, at most: all of them fit the kit's log */
#define AHEAD	    200	 /* posted, and not done yet: a ring has room for so many */

/* Of the driver and a GPU: doc/real-gpu.md, Chains. */
#define ALONE_NS  2700 /* one that is handed over by itself */
#define CHAIN_NS  2500 /* so many that are handed over together */
#define EACH_NS	  300  /* each of these */
#define POLL_NS	  100
#define READ_NS	  300 /* of a ring, each turn */
#define KERNEL_NS 1000

struct handed {
	struct gsb_queue *queue;
	uint64_t end_ns; /* UINT64_MAX: more is to come with it */
};

struct rig {
	struct kit_engine k;
	struct kit_tenant t[TENANTS_MAX];
	uint64_t mem[TENANTS_MAX];
	unsigned n;
	int (*issue)(struct gsb_queue *queue, const struct gsb_cmd *cmd);
	unsigned (*poll)(struct gsb_device *dev, struct gsb_completion *out, unsigned max);
	struct handed handed[KIT_LOG_MAX];
	unsigned first;	     /* that has not ended */
	unsigned n_sent;     /* times that the device was handed something */
	unsigned most;	     /* commands that it was handed at once */
	uint64_t longest_ns; /* turn */
};

static struct rig *rig;

static CUresult nothing_lost(struct gsb_device *dev)
{
	return CUDA_SUCCESS;
}

/* ---- the device ---- */

/* When what it has of that queue has ended. */
static uint64_t free_ns(const struct gsb_queue *queue, unsigned before)
{
	uint64_t ns = rig->k.dev->now_ns;

	for (unsigned i = rig->first; i < before; i++)
		if (rig->handed[i].queue == queue && rig->handed[i].end_ns != UINT64_MAX &&
		    rig->handed[i].end_ns > ns)
			ns = rig->handed[i].end_ns;
	return ns;
}

static void hand_over(struct gsb_queue *queue, unsigned last)
{
	unsigned n = 0;
	uint64_t end_ns;

	for (unsigned i = rig->first; i <= last; i++)
		n += rig->handed[i].queue == queue && rig->handed[i].end_ns == UINT64_MAX;
	rig->k.dev->now_ns += n > 1 ? CHAIN_NS + n * EACH_NS : ALONE_NS;
	end_ns = free_ns(queue, last) + n * KERNEL_NS;
	for (unsigned i = rig->first; i <= last; i++)
		if (rig->handed[i].queue == queue && rig->handed[i].end_ns == UINT64_MAX)
			rig->handed[i].end_ns = end_ns;
	rig->n_sent++;
	rig->most = n > rig->most ? n : rig->most;
}

static int issue(struct gsb_queue *queue, const struct gsb_cmd *cmd)
{
	int err = rig->issue(queue, cmd);
	unsigned i = rig->k.dev->n_issued - 1;

	assert_int_equal(err, 0);
	rig->handed[i] = (struct handed){queue, UINT64_MAX};
	if (!cmd->more)
		hand_over(queue, i);
	return err;
}

static unsigned poll_device(struct gsb_device *dev, struct gsb_completion *out, unsigned max)
{
	struct kit_device *d = rig->k.dev;
	uint64_t now_ns = d->now_ns += POLL_NS;

	for (unsigned i = rig->first; i < d->n_issued && d->n_done < 60; i++) {
		if (d->log[i].done || rig->handed[i].end_ns > now_ns)
			continue;
		kit_complete_run(d, i, CUDA_SUCCESS, rig->handed[i].end_ns - KERNEL_NS,
				 rig->handed[i].end_ns);
	}
	while (rig->first < d->n_issued && d->log[rig->first].done)
		rig->first++;
	return rig->poll(dev, out, max);
}

/* ---- programs ---- */

/* The loader's thread prepares the kernels, which takes time; and the engine has seen how long they take. */
static void warm_up(void)
{
	for (unsigned i = 0; i < rig->n; i++) {
		kit_launch_inc(&rig->t[i], 1, 1, rig->mem[i], 1);
		while (!rig->t[i].t->stats.kernels) {
			kit_settle(&rig->k);
			rig->k.dev->now_ns += KERNEL_NS;
		}
	}
	kit_device_forget(rig->k.dev);
	rig->first = rig->n_sent = rig->most = 0;
	rig->longest_ns = 0;
}

static void open_rig(unsigned n, const struct gsb_policy *policy)
{
	struct gsb_scheduler *s;

	rig = calloc(1, sizeof(*rig));
	rig->n = n;
	kit_engine_init_with(&rig->k, false, policy);
	s = &rig->k.engine->scheduler;
	rig->k.dev->info.arch = *gsb_arch_find("h200");
	rig->k.dev->ops.lost = nothing_lost;
	s->runs = gsb_run_is_possible(s);
	for (unsigned i = 0; i < n; i++) {
		kit_tenant_init(&rig->t[i], &rig->k, NULL);
		kit_stream_create(&rig->t[i], 1, 1);
		kit_load_inc(&rig->t[i], 1, 1);
		rig->mem[i] = kit_alloc(&rig->t[i], 4096);
		kit_event_create(&rig->t[i], 0);
	}
	kit_settle(&rig->k);
	kit_device_forget(rig->k.dev);
	rig->issue = rig->k.dev->ops.issue;
	rig->poll = rig->k.dev->ops.poll;
	rig->k.dev->ops.issue = issue;
	rig->k.dev->ops.poll = poll_device;
	warm_up();
}

static void close_rig(void)
{
	for (unsigned i = 0; i < rig->n; i++)
		kit_tenant_finish(&rig->t[i]);
	kit_engine_finish(&rig->k);
	free(rig);
}

static void turn(void)
{
	struct kit_device *d = rig->k.dev;
	uint64_t from_ns = d->now_ns, took_ns;

	gsb_engine_turn(rig->k.engine);
	d->now_ns += READ_NS * rig->n;
	took_ns = d->now_ns - from_ns;
	rig->longest_ns = took_ns > rig->longest_ns ? took_ns : rig->longest_ns;
}

static void launch(unsigned i)
{
	kit_launch_inc(&rig->t[i], 1, 1, rig->mem[i], 1);
}

/* A launch, four bytes, and an event. */
static void launch_mixed(unsigned i)
{
	const struct gsb_rec_copy c = {.dst = rig->mem[i],
				       .src = rig->mem[i] + 2048,
				       .width = 4,
				       .height = 1,
				       .dst_place = GSB_PLACE_DEVICE,
				       .src_place = GSB_PLACE_DEVICE};

	launch(i);
	kit_post(&rig->t[i], GSB_REC_COPY, kit_stream(1), &c, sizeof(c), NULL, 0);
	kit_record(&rig->t[i], 1, 0);
}

/* Each program posts @n times, once in @every_ns, and never more than a ring has room for. */
static void post_all(void (*post)(unsigned), unsigned n, unsigned ahead, unsigned every_ns)
{
	unsigned posted[TENANTS_MAX] = {0};
	uint64_t from_ns = rig->k.dev->now_ns;
	bool left = true;

	while (left) {
		uint64_t most = 1 + (rig->k.dev->now_ns - from_ns) / every_ns;

		left = false;
		for (unsigned i = 0; i < rig->n; i++) {
			uint64_t done = rig->t[i].t->stats.kernels;

			for (; posted[i] < n && posted[i] < most && posted[i] + 1 < done + ahead;
			     posted[i]++)
				post(i);
			left |= done < n + 1;
		}
		turn();
	}
}

/* ---- what it comes to ---- */

struct sum {
	double each_ns;	     /* time of the engine's thread for a launch, of all programs */
	double together;     /* launches that the device is handed at once */
	uint64_t longest_ns; /* of a turn, in which no ring is read */
};

static struct sum burst(unsigned n, const struct gsb_policy *policy)
{
	uint64_t from_ns;
	struct sum sum;

	open_rig(n, policy);
	from_ns = rig->k.dev->now_ns;
	post_all(launch, EACH, AHEAD, 1);
	sum = (struct sum){
		.each_ns = (double)(rig->k.dev->now_ns - from_ns) / (n * EACH),
		.together = (double)rig->k.dev->n_issued / rig->n_sent,
		.longest_ns = rig->longest_ns,
	};
	close_rig();
	print_message("%s, %u tenants: %.0f ns a launch, %.1f at once, longest turn %.1f us\n",
		      policy->name, n, sum.each_ns, sum.together, (double)sum.longest_ns / 1e3);
	return sum;
}

/* With one it is the GPU that takes 1 us for each; what the engine takes is seen from two on. */
static void test_launch_costs_as_much_beside_many(void **state)
{
	const struct gsb_policy *const policies[] = {&gsb_policy_coreside, &gsb_policy_fifo};

	for (unsigned p = 0; p < GSB_ARRAY_LEN(policies); p++)
		for (unsigned n = 1; n <= TENANTS_MAX; n *= 2) {
			struct sum sum = burst(n, policies[p]);

			assert_true(sum.each_ns < (n == 1 ? 1100 : 550));
			assert_true(sum.together > 15);
		}
}

/* Who waits for each launch waits for no more than a turn until it is seen. */
static void test_turn_has_an_end_however_many_launch(void **state)
{
	assert_in_range(burst(2, &gsb_policy_coreside).longest_ns, 1, 20000);
	assert_in_range(burst(4, &gsb_policy_coreside).longest_ns, 1, 30000);
	assert_in_range(burst(8, &gsb_policy_coreside).longest_ns, 1, 60000);
	assert_in_range(burst(32, &gsb_policy_coreside).longest_ns, 1, 250000);
}

/* Of a program by itself the engine takes what has come since the device had its last, all at once: these are the counts of an engine that asks
 * once a turn what may follow. */
static void test_one_alone_is_sent_as_once_a_turn(void **state)
{
	static const struct {
		void (*post)(unsigned i);
		unsigned n, ahead, every_ns;
		unsigned n_sent, most; /* what comes of it */
	} rows[] = {
		{launch, 1000, 200, 1, 47, 32},	       {launch, 1000, 200, 300, 48, 30},
		{launch, 1000, 200, 900, 209, 5},      {launch, 1000, 200, 2000, 573, 2},
		{launch_mixed, 500, 60, 1, 41, 32},    {launch_mixed, 500, 60, 900, 81, 18},
		{launch_mixed, 500, 60, 3000, 401, 4},
	};

	for (unsigned i = 0; i < GSB_ARRAY_LEN(rows); i++) {
		open_rig(1, &gsb_policy_coreside);
		post_all(rows[i].post, rows[i].n, rows[i].ahead, rows[i].every_ns);
		assert_int_equal(rig->n_sent, rows[i].n_sent);
		assert_int_equal(rig->most, rows[i].most);
		close_rig();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_launch_costs_as_much_beside_many),
		cmocka_unit_test(test_turn_has_an_end_however_many_launch),
		cmocka_unit_test(test_one_alone_is_sent_as_once_a_turn),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
