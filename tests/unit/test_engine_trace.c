/*
 * test_engine_trace.c - what an engine says of what it does: the chain of each operation, why one waits, what the policy
 * decided; and recordings that begin late, end early, or may not be.
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
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/clock.h"
#include "broker/engine/code/code.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/tell.h"
#include "broker/engine/trace/trace.h"
#include "model/gpu/arch.h"
#include "tests/unit/engine_kit.h"
#include "trace/read.h"

#define EVENTS_MAX 512
#define SLACK_NS   1000000

struct fixture {
	struct kit_engine k;
	struct kit_tenant t;
	uint64_t mem;
	int file;
	union gsb_trace_any events[EVENTS_MAX];
	unsigned n_events;
};

static void begin_with(struct fixture *f, bool virtual_clock, const struct gsb_policy *policy)
{
	kit_engine_init_with(&f->k, virtual_clock, policy);
	kit_tenant_init(&f->t, &f->k, NULL);
	f->mem = kit_alloc(&f->t, 4096);
	f->file = memfd_create("trace", MFD_CLOEXEC);
	f->n_events = 0;
}

/* Into a ring as one that was used before. */
static void record(struct fixture *f)
{
	const struct gsb_trace_header about = {.device = "kit"};

	assert_int_equal(gsb_trace_record(dup(f->file), &about), 0);
	memset(gsb_trace_ring.ring, 0xee, 1 << 20);
	gsb_tell_all(f->k.engine);
	gsb_tenant_trace(f->t.t);
}

static void await_done(void)
{
	struct pollfd p = {.fd = gsb_trace_done_fd(), .events = POLLIN};

	assert_int_equal(poll(&p, 1, 60000), 1);
	assert_true(gsb_trace_collect());
}

/* End the recording and read it into f->events. */
static void read_back(struct fixture *f)
{
	struct gsb_trace_reader *r;
	struct gsb_trace_record rec;
	char why[GSB_TRACE_WHY_MAX];

	assert_true(gsb_trace_stop());
	await_done();
	lseek(f->file, 0, SEEK_SET);
	assert_int_equal(gsb_trace_open_fd(dup(f->file), &r, why), 0);
	f->n_events = 0;
	while (gsb_trace_next(r, &rec) > 0) {
		assert_in_range(f->n_events, 0, EVENTS_MAX - 1);
		f->events[f->n_events++] = *rec.any;
	}
	assert_int_equal(gsb_trace_ending(r), GSB_TRACE_COMPLETE);
	gsb_trace_close(r);
}

/* For another recording. */
static void forget(struct fixture *f)
{
	assert_int_equal(ftruncate(f->file, 0), 0);
	lseek(f->file, 0, SEEK_SET);
}

static void end(struct fixture *f)
{
	kit_device_auto(f->k.dev);
	kit_settle(&f->k);
	kit_tenant_finish(&f->t);
	kit_engine_finish(&f->k);
	close(f->file);
}

/* The i-th event of that type; it must be there. */
static const union gsb_trace_any *event(const struct fixture *f, enum gsb_trace_type type,
					unsigned i)
{
	for (unsigned at = 0; at < f->n_events; at++)
		if (f->events[at].head.type == type && !i--)
			return &f->events[at];
	fail_msg("there is no event %s", gsb_trace_event(type)->name);
	return NULL;
}

static unsigned count(const struct fixture *f, enum gsb_trace_type type)
{
	unsigned n = 0;

	for (unsigned i = 0; i < f->n_events; i++)
		n += f->events[i].head.type == type;
	return n;
}

/* All that is said of an operation, in order; its serial is the first field of all these. */
static void expect_chain(const struct fixture *f, uint64_t serial, const enum gsb_trace_type *types,
			 unsigned n)
{
	unsigned seen = 0;

	for (unsigned i = 0; i < f->n_events; i++) {
		const union gsb_trace_any *e = &f->events[i];

		if (e->head.type < GSB_TRACE_QUEUED || e->head.type > GSB_TRACE_COMPLETED ||
		    e->queued.serial != serial)
			continue;
		assert_true(seen < n);
		assert_string_equal(gsb_trace_event(e->head.type)->name,
				    gsb_trace_event(types[seen])->name);
		assert_int_equal(e->head.tenant, f->t.id);
		seen++;
	}
	assert_int_equal(seen, n);
}

#define EXPECT_CHAIN(f, serial, ...)                                        \
	expect_chain(f, serial, (const enum gsb_trace_type[]){__VA_ARGS__}, \
		     sizeof((const enum gsb_trace_type[]){__VA_ARGS__}) /   \
			     sizeof(enum gsb_trace_type))

/* ---- operations ---- */

static void test_launch_all_events_have_its_serial_in_order(void **state)
{
	struct fixture *f = *state;
	const union gsb_trace_any *e;

	begin_with(f, false, &gsb_policy_fifo);
	kit_load_inc(&f->t, 1, 1);
	record(f);
	kit_stream_create(&f->t, 3, 1);
	kit_launch_inc(&f->t, 3, 1, f->mem, 1);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 77);
	kit_settle(&f->k);
	read_back(f);
	e = event(f, GSB_TRACE_QUEUED, 0);
	assert_int_equal(e->queued.kind, GSB_TRACE_OP_LAUNCH);
	assert_int_equal(e->queued.stream, 3);
	assert_int_equal(e->queued.before, 0);
	/* the first launch of a kernel waits until it is ready to run */
	EXPECT_CHAIN(f, e->queued.serial, GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH, GSB_TRACE_PARKED,
		     GSB_TRACE_READY, GSB_TRACE_DECIDED, GSB_TRACE_ISSUED, GSB_TRACE_FINISHED,
		     GSB_TRACE_COMPLETED);
	assert_int_equal(event(f, GSB_TRACE_PARKED, 0)->parked.on, GSB_TRACE_PARK_CODE);
	assert_int_equal(event(f, GSB_TRACE_LAUNCH, 0)->launch.function, kit_fn(1));
	assert_int_equal(event(f, GSB_TRACE_KERNEL_READY, 0)->kernel_ready.function, kit_fn(1));
	assert_int_equal(event(f, GSB_TRACE_FINISHED, 0)->finished.end_device_ns, 77);
	assert_int_equal(event(f, GSB_TRACE_COMPLETED, 0)->completed.device_ns, 77);
	assert_int_equal(event(f, GSB_TRACE_COMPLETED, 0)->completed.number, 1);
	end(f);
}

static void test_posting_time_is_the_tenants_and_not_the_turns(void **state)
{
	struct fixture *f = *state;
	uint64_t before, after, fill, taken;

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	kit_fill(&f->t, 0, f->mem); /* it knows nothing of a recording */
	record(f);
	before = gsb_clock_ns();
	kit_fill(&f->t, 0, f->mem);
	kit_stream_create(&f->t, 1, 0);
	after = gsb_clock_ns();
	while (gsb_clock_ns() < after + 3 * SLACK_NS)
		; /* it lies in the ring */
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_QUEUED, 0)->queued.posted_ns, 0);
	fill = event(f, GSB_TRACE_QUEUED, 1)->queued.posted_ns;
	taken = event(f, GSB_TRACE_TAKEN, 0)->taken.posted_ns;
	assert_in_range(fill, before - SLACK_NS, after + SLACK_NS);
	assert_in_range(taken, fill - SLACK_NS, after + SLACK_NS);
	assert_true(fill <= event(f, GSB_TRACE_QUEUED, 1)->head.time_ns);
	assert_int_equal(event(f, GSB_TRACE_TAKEN, 0)->taken.record, GSB_REC_STREAM_CREATE);
	gsb_tenant_trace(f->t.t);
	assert_int_equal(f->t.region->header.is_traced, 0);
	end(f);
}

static void test_serials_are_never_given_twice(void **state)
{
	struct fixture *f = *state;
	uint64_t last = 0;

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	record(f);
	for (unsigned i = 0; i < 20; i++) {
		kit_fill(&f->t, 0, f->mem);
		kit_nop(&f->t, 0);
		kit_settle(&f->k);
	}
	read_back(f);
	assert_int_equal(count(f, GSB_TRACE_QUEUED), 40);
	for (unsigned i = 0; i < 40; i++) {
		uint64_t serial = event(f, GSB_TRACE_QUEUED, i)->queued.serial;

		assert_true(serial > last);
		last = serial;
		assert_int_equal(event(f, GSB_TRACE_COMPLETED, i)->completed.number, i + 1);
	}
	end(f);
}

static void test_copies_and_fills_say_bytes_and_places(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_copy copy = {.dst = 0,
				    .width = 16,
				    .height = 2,
				    .src_pitch = 16,
				    .dst_pitch = 64,
				    .src_place = GSB_PLACE_INLINE};
	const uint8_t bytes[32] = {1};

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	record(f);
	copy.dst = f->mem;
	kit_post(&f->t, GSB_REC_COPY, kit_stream(0), &copy, sizeof(copy), bytes, sizeof(bytes));
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_COPY, 0)->copy.bytes, 32);
	assert_int_equal(event(f, GSB_TRACE_COPY, 0)->copy.n_rows, 2);
	assert_int_equal(event(f, GSB_TRACE_COPY, 0)->copy.from, GSB_TRACE_PLACE_INLINE);
	assert_int_equal(event(f, GSB_TRACE_COPY, 0)->copy.to, GSB_TRACE_PLACE_DEVICE);
	assert_int_equal(event(f, GSB_TRACE_FILL, 0)->fill.bytes, 4);
	assert_int_equal(event(f, GSB_TRACE_FILL, 0)->fill.dst, f->mem);
	end(f);
}

/* ---- why one waits ---- */

static void test_parked_on_an_event_names_the_recording(void **state)
{
	struct fixture *f = *state;
	const union gsb_trace_any *parked;

	begin_with(f, false, &gsb_policy_fifo);
	record(f);
	kit_stream_create(&f->t, 1, 1);
	kit_stream_create(&f->t, 2, 1);
	kit_event_create(&f->t, 5);
	kit_fill(&f->t, 1, f->mem);
	kit_record(&f->t, 1, 5);
	kit_wait(&f->t, 2, 5);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 9);
	kit_settle(&f->k);
	read_back(f);
	parked = event(f, GSB_TRACE_PARKED, 0);
	assert_int_equal(parked->parked.on, GSB_TRACE_PARK_EVENT);
	assert_int_equal(parked->parked.stream, 2);
	assert_int_equal(parked->parked.on_serial, event(f, GSB_TRACE_RECORDS, 0)->records.serial);
	assert_int_equal(event(f, GSB_TRACE_WAITS_FOR, 0)->waits_for.serial, parked->parked.serial);
	assert_int_equal(event(f, GSB_TRACE_WAITS_FOR, 0)->waits_for.on_serial,
			 parked->parked.on_serial);
	assert_int_equal(event(f, GSB_TRACE_WAITS_FOR, 0)->waits_for.event, 5);
	EXPECT_CHAIN(f, parked->parked.serial, GSB_TRACE_QUEUED, GSB_TRACE_WAITS_FOR,
		     GSB_TRACE_PARKED, GSB_TRACE_COMPLETED);
	end(f);
}

static void test_parked_on_the_legacy_stream_names_what_is_before(void **state)
{
	struct fixture *f = *state;

	begin_with(f, false, &gsb_policy_fifo);
	record(f);
	kit_stream_create(&f->t, 1, 0);
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 9);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 9);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_PARKED, 0)->parked.on, GSB_TRACE_PARK_EPOCH);
	assert_int_equal(event(f, GSB_TRACE_PARKED, 0)->parked.stream, 0);
	assert_int_equal(event(f, GSB_TRACE_PARKED, 0)->parked.on_serial,
			 event(f, GSB_TRACE_QUEUED, 0)->queued.serial);
	assert_int_equal(count(f, GSB_TRACE_PARKED), 1);
	end(f);
}

static void test_free_waits_for_its_fence(void **state)
{
	struct fixture *f = *state;
	struct gsb_rec_mem_free b = {.ctx = kit_ctx(0)};
	uint64_t call;

	begin_with(f, false, &gsb_policy_fifo);
	record(f);
	b.addr = f->mem;
	kit_fill(&f->t, 0, f->mem);
	call = kit_post_call(&f->t, GSB_REC_MEM_FREE, &b, sizeof(b), NULL, 0);
	kit_settle(&f->k);
	assert_false(kit_answered(&f->t, call));
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 9);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_FENCED, 0)->fenced.n_open, 1);
	assert_int_equal(event(f, GSB_TRACE_FENCED, 0)->fenced.record, GSB_REC_MEM_FREE);
	assert_int_equal(event(f, GSB_TRACE_FENCED, 0)->fenced.object, f->mem);
	assert_int_equal(event(f, GSB_TRACE_FREED, 0)->freed.addr, f->mem);
	assert_int_equal(event(f, GSB_TRACE_FREED, 0)->freed.bytes, 4096);
	assert_true(event(f, GSB_TRACE_COMPLETED, 0) < event(f, GSB_TRACE_FENCE_PASSED, 0));
	assert_true(event(f, GSB_TRACE_FENCE_PASSED, 0) < event(f, GSB_TRACE_FREED, 0));
	end(f);
}

static void test_tenant_with_too_much_queued_is_stalled(void **state)
{
	struct fixture *f = *state;
	const struct gsb_tenant_limits limits = {.queued_records = 4};

	begin_with(f, false, &gsb_policy_fifo);
	kit_tenant_finish(&f->t);
	kit_tenant_init(&f->t, &f->k, &limits);
	f->mem = kit_alloc(&f->t, 4096);
	record(f);
	for (int i = 0; i < 6; i++)
		kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_STALLED, 0)->stalled.why, GSB_TRACE_STALL_QUEUES);
	assert_int_equal(event(f, GSB_TRACE_STALLED, 0)->stalled.n_queued, 4);
	end(f);
}

/* ---- decisions ---- */

static unsigned hold_all(const struct gsb_view *view, struct gsb_policy_area *area,
			 struct gsb_decision *out)
{
	return 0;
}

static const struct gsb_policy holder = {.name = "holder", .decide = hold_all};

static void test_decision_names_what_is_held_once_and_what_is_forced(void **state)
{
	struct fixture *f = *state;
	const struct gsb_trace_decided *d;

	begin_with(f, false, &holder);
	record(f);
	kit_stream_create(&f->t, 1, 1);
	kit_stream_create(&f->t, 2, 1);
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k); /* one is forced, because the device is idle */
	kit_stream_create(&f->t, 3, 1);
	kit_fill(&f->t, 3, f->mem);
	kit_settle(&f->k);
	read_back(f);
	/* asked first, it holds both; asked with must, too: the oldest goes; then it holds the third */
	assert_int_equal(count(f, GSB_TRACE_DECIDED), 4);
	for (unsigned i = 0; i < 2; i++) {
		d = &event(f, GSB_TRACE_DECIDED, i)->decided;
		assert_int_equal(d->verdict, GSB_TRACE_VERDICT_HOLD);
		assert_int_equal(d->reason, GSB_TRACE_REASON_POLICY);
		assert_int_equal(d->n_ready, 2);
		assert_int_equal(d->n_running, 0);
	}
	d = &event(f, GSB_TRACE_DECIDED, 2)->decided;
	assert_int_equal(d->verdict, GSB_TRACE_VERDICT_ISSUE);
	assert_int_equal(d->reason, GSB_TRACE_REASON_FORCED);
	assert_int_equal(d->serial, event(f, GSB_TRACE_QUEUED, 0)->queued.serial);
	assert_int_equal(d->decision, event(f, GSB_TRACE_DECIDED, 0)->decided.decision + 1);
	d = &event(f, GSB_TRACE_DECIDED, 3)->decided;
	assert_int_equal(d->verdict, GSB_TRACE_VERDICT_HOLD);
	assert_int_equal(d->serial, event(f, GSB_TRACE_QUEUED, 2)->queued.serial);
	assert_int_equal(d->n_running, 1);
	assert_int_equal(d->beside[0], event(f, GSB_TRACE_QUEUED, 0)->queued.serial);
	assert_int_equal(d->beside[1], 0);
	end(f);
}

/* Of the third, beside the first, it says nothing. */
static unsigned hold_the_second(const struct gsb_view *view, struct gsb_policy_area *area,
				struct gsb_decision *out)
{
	if (view->n_running)
		return 0;
	out[0] = (struct gsb_decision){.ready = 0};
	out[1] = (struct gsb_decision){.ready = 1,
				       .verdict = GSB_HOLD,
				       .reason = GSB_REASON_SHARE,
				       .hold.not_before_ns = view->now_ns + 7000000000};
	return view->n_ready < 2 ? 1 : 2;
}

static void test_decision_holds_for_the_reason_that_the_policy_says(void **state)
{
	static const struct gsb_policy sharer = {.name = "sharer", .decide = hold_the_second};
	struct fixture *f = *state;
	const struct gsb_trace_decided *d;

	begin_with(f, false, &sharer);
	kit_device_auto(f->k.dev);
	record(f);
	for (uint32_t i = 1; i <= 3; i++)
		kit_stream_create(&f->t, i, 1);
	kit_settle(&f->k);
	for (uint32_t i = 1; i <= 3; i++)
		kit_fill(&f->t, i, f->mem);
	kit_settle(&f->k);
	read_back(f);
	d = &event(f, GSB_TRACE_DECIDED, 0)->decided;
	assert_int_equal(d->verdict, GSB_TRACE_VERDICT_HOLD);
	assert_int_equal(d->reason, GSB_TRACE_REASON_SHARE);
	assert_int_equal(d->serial, event(f, GSB_TRACE_QUEUED, 1)->queued.serial);
	assert_int_equal(event(f, GSB_TRACE_HELD, 0)->held.serial, d->serial);
	assert_int_equal(event(f, GSB_TRACE_HELD, 0)->held.not_before_device_ns,
			 d->device_ns + 7000000000);
	assert_int_equal(event(f, GSB_TRACE_HELD, 0)->held.until, 0);
	assert_int_equal(count(f, GSB_TRACE_HELD), 1); /* of the third nothing is said */
	d = &event(f, GSB_TRACE_DECIDED, 1)->decided;
	assert_int_equal(d->verdict, GSB_TRACE_VERDICT_ISSUE);
	assert_int_equal(d->n_ready, 3);
	d = &event(f, GSB_TRACE_DECIDED, 2)->decided;
	assert_int_equal(d->verdict, GSB_TRACE_VERDICT_HOLD);
	assert_int_equal(d->reason, GSB_TRACE_REASON_POLICY);
	assert_int_equal(d->serial, event(f, GSB_TRACE_QUEUED, 2)->queued.serial);
	end(f);
}

static void test_shapes_are_told_of_a_kernel_and_the_form_of_its_launch(void **state)
{
	static struct gsb_proof proof = {.shapes = GSB_SHAPE_BIT(GSB_SHAPE_HINT)};
	struct fixture *f = *state;
	struct gsb_kernel_fn *fn;

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	f->k.dev->info.arch = *gsb_arch_find("h200");
	kit_load_inc(&f->t, 1, 1);
	kit_launch_inc(&f->t, 0, 1, f->mem, 1); /* makes it ready */
	kit_settle(&f->k);
	fn = gsb_code_find_function(f->t.t, kit_fn(1));
	fn->forms[GSB_SHAPE_HINT] =
		(struct gsb_kernel_form){.function = fn->function, .regs = 16, .max_threads = 1024};
	fn->proof = &proof;
	fn->shapes = proof.shapes;
	f->k.engine->params.resizing.mode = GSB_RESIZE_MODE_SAFE;
	f->k.engine->params.resizing.force.form = GSB_SHAPE_HINT;
	record(f);
	kit_launch_inc(&f->t, 0, 1, f->mem, 1);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_KERNEL, 0)->kernel.shapes, proof.shapes);
	assert_int_equal(count(f, GSB_TRACE_ISSUED), 2);
	assert_int_equal(count(f, GSB_TRACE_SHAPED), 1);
	assert_int_equal(event(f, GSB_TRACE_SHAPED, 0)->shaped.form, GSB_TRACE_FORM_HINT);
	assert_int_equal(event(f, GSB_TRACE_SHAPED, 0)->shaped.serial,
			 event(f, GSB_TRACE_ISSUED, 0)->issued.serial);
	end(f);
}

/* All that can stand against a form, seen when a recording begins: of the module, of the kernel's text, and since. */
static void test_reasons_against_forms_are_told_of_a_kernel(void **state)
{
	const uint32_t slice = GSB_SHAPE_BIT(GSB_SHAPE_SLICE);
	static struct gsb_variants variants = {.hash = "abc"};
	struct gsb_proof proof = {.shapes = slice,
				  .refusals[GSB_SHAPE_RESHAPE] = GSB_TRACE_REFUSAL_BARRIER};
	const struct {
		struct gsb_variants *variants;
		struct gsb_proof *proof;
		uint32_t shapes, refuted;
		const char *deny;
		enum gsb_trace_refusal no_slice, no_reshape;
	} cases[] = {
		{NULL, NULL, 0, 0, NULL, GSB_TRACE_REFUSAL_OFF, GSB_TRACE_REFUSAL_OFF},
		{&variants, NULL, 0, 0, NULL, GSB_TRACE_REFUSAL_NO_TEXT, GSB_TRACE_REFUSAL_NO_TEXT},
		{&variants, &proof, slice, 0, NULL, GSB_TRACE_REFUSAL_NONE,
		 GSB_TRACE_REFUSAL_BARRIER},
		{&variants, &proof, slice, slice, NULL, GSB_TRACE_REFUSAL_REFUTED,
		 GSB_TRACE_REFUSAL_BARRIER},
		{&variants, &proof, 0, 0, "in?", GSB_TRACE_REFUSAL_DENIED,
		 GSB_TRACE_REFUSAL_BARRIER},
		{&variants, &proof, 0, 0, NULL, GSB_TRACE_REFUSAL_NOT_MADE,
		 GSB_TRACE_REFUSAL_BARRIER},
	};
	struct fixture *f = *state;
	struct gsb_kernel_fn *fn;

	begin_with(f, false, &gsb_policy_fifo);
	kit_load_inc(&f->t, 1, 1);
	fn = gsb_code_find_function(f->t.t, kit_fn(1));
	for (size_t i = 0; i < GSB_ARRAY_LEN(cases); i++) {
		const struct gsb_trace_kernel *k;

		fn->module->variants = cases[i].variants;
		fn->proof = cases[i].proof;
		fn->shapes = cases[i].shapes;
		proof.refuted = cases[i].refuted;
		f->k.engine->params.resizing.deny = cases[i].deny;
		forget(f);
		record(f);
		read_back(f);
		k = &event(f, GSB_TRACE_KERNEL, 0)->kernel;
		assert_int_equal(k->shapes, cases[i].shapes & ~cases[i].refuted);
		assert_int_equal(k->no_slice, cases[i].no_slice);
		assert_int_equal(k->no_reshape, cases[i].no_reshape);
	}
	fn->module->variants = NULL;
	fn->proof = NULL;
	end(f);
}

static void test_decision_without_free_queues_says_so(void **state)
{
	struct fixture *f = *state;
	unsigned n_held = 0;

	begin_with(f, false, &gsb_policy_fifo);
	record(f);
	for (uint32_t i = 1; i <= GSB_N_QUEUES + 3; i++)
		kit_stream_create(&f->t, i, 1);
	kit_settle(&f->k);
	for (uint32_t i = 1; i <= GSB_N_QUEUES + 3; i++) /* in one turn */
		kit_fill(&f->t, i, f->mem);
	kit_settle(&f->k);
	read_back(f);
	for (unsigned i = 0; i < count(f, GSB_TRACE_DECIDED); i++) {
		const struct gsb_trace_decided *d = &event(f, GSB_TRACE_DECIDED, i)->decided;

		if (d->verdict == GSB_TRACE_VERDICT_HOLD)
			assert_int_equal(d->reason, GSB_TRACE_REASON_QUEUES);
		n_held += d->verdict == GSB_TRACE_VERDICT_HOLD;
	}
	assert_int_equal(n_held, 3);
	assert_int_equal(count(f, GSB_TRACE_ISSUED), GSB_N_QUEUES);
	end(f);
}

/* Nothing asks a policy then, and so nothing but this says why it waits. */
static void test_ready_while_all_queues_are_busy_is_held_by_them(void **state)
{
	struct fixture *f = *state;
	const struct gsb_trace_decided *d;

	begin_with(f, false, &gsb_policy_fifo);
	record(f);
	for (uint32_t i = 1; i <= GSB_N_QUEUES + 1; i++)
		kit_stream_create(&f->t, i, 1);
	for (uint32_t i = 1; i <= GSB_N_QUEUES; i++)
		kit_fill(&f->t, i, f->mem);
	kit_settle(&f->k);
	kit_fill(&f->t, GSB_N_QUEUES + 1, f->mem);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 50);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(count(f, GSB_TRACE_DECIDED), GSB_N_QUEUES + 2);
	d = &event(f, GSB_TRACE_DECIDED, GSB_N_QUEUES)->decided;
	assert_int_equal(d->verdict, GSB_TRACE_VERDICT_HOLD);
	assert_int_equal(d->reason, GSB_TRACE_REASON_QUEUES);
	assert_int_equal(d->n_running, GSB_N_QUEUES);
	assert_int_equal(d->beside[0], event(f, GSB_TRACE_QUEUED, 0)->queued.serial);
	EXPECT_CHAIN(f, event(f, GSB_TRACE_QUEUED, GSB_N_QUEUES)->queued.serial, GSB_TRACE_QUEUED,
		     GSB_TRACE_FILL, GSB_TRACE_READY, GSB_TRACE_DECIDED, GSB_TRACE_DECIDED,
		     GSB_TRACE_ISSUED);
	d = &event(f, GSB_TRACE_DECIDED, GSB_N_QUEUES + 1)->decided;
	assert_int_equal(d->verdict, GSB_TRACE_VERDICT_ISSUE);
	end(f);
}

/* All in one turn, and by one decision: nobody is beside another, but all are on the device for who comes next. */
static void test_decision_for_several_sees_none_of_them_on_the_device(void **state)
{
	struct fixture *f = *state;
	const struct gsb_trace_decided *d;

	begin_with(f, false, &gsb_policy_fifo);
	record(f);
	for (uint32_t i = 1; i <= 7; i++)
		kit_stream_create(&f->t, i, 1);
	kit_settle(&f->k);
	for (uint32_t i = 1; i <= 6; i++)
		kit_fill(&f->t, i, f->mem);
	kit_settle(&f->k);
	kit_fill(&f->t, 7, f->mem);
	kit_settle(&f->k);
	read_back(f);
	for (unsigned i = 0; i < 6; i++) {
		uint64_t serial = event(f, GSB_TRACE_QUEUED, i)->queued.serial;

		d = &event(f, GSB_TRACE_DECIDED, i)->decided;
		assert_int_equal(d->serial, serial);
		assert_int_equal(d->decision, event(f, GSB_TRACE_DECIDED, 0)->decided.decision);
		assert_int_equal(d->stream, i + 1);
		assert_int_equal(d->n_ready, 6);
		assert_int_equal(d->n_running, 0);
		assert_int_equal(d->beside[0], 0);
		assert_int_equal(event(f, GSB_TRACE_READY, i)->ready.n_ready, i + 1);
		assert_int_equal(event(f, GSB_TRACE_ISSUED, i)->issued.queue, i);
		EXPECT_CHAIN(f, serial, GSB_TRACE_QUEUED, GSB_TRACE_FILL, GSB_TRACE_READY,
			     GSB_TRACE_DECIDED, GSB_TRACE_ISSUED);
	}
	d = &event(f, GSB_TRACE_DECIDED, 6)->decided;
	assert_int_equal(d->n_running, 6);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(d->beside[i], event(f, GSB_TRACE_QUEUED, i)->queued.serial);
	end(f);
}

static bool is_open;

static unsigned go_if_open(const struct gsb_view *view, struct gsb_policy_area *area,
			   struct gsb_decision *out)
{
	return is_open ? gsb_policy_fifo.decide(view, area, out) : 0;
}

/* Virtual time stands, and nobody is asked yet. */
static void test_ready_is_told_in_its_turn_though_it_does_not_go(void **state)
{
	struct fixture *f = *state;

	begin_with(f, true, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	record(f);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k); /* its thread runs */
	read_back(f);
	EXPECT_CHAIN(f, event(f, GSB_TRACE_QUEUED, 0)->queued.serial, GSB_TRACE_QUEUED,
		     GSB_TRACE_FILL, GSB_TRACE_READY);
	assert_int_equal(event(f, GSB_TRACE_READY, 0)->ready.n_ready, 1);
	end(f);
}

/* The first of two that one decision lets go: its context takes the other with it. */
static void test_ready_is_told_of_what_is_refused_and_of_what_it_takes_with_it(void **state)
{
	struct fixture *f = *state;

	begin_with(f, false, &gsb_policy_fifo);
	kit_stream_create(&f->t, 1, 1);
	kit_stream_create(&f->t, 2, 1);
	kit_settle(&f->k);
	record(f);
	f->k.dev->issue_err = -EIO;
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k);
	f->k.dev->issue_err = 0;
	read_back(f);
	for (unsigned i = 0; i < 2; i++)
		EXPECT_CHAIN(f, event(f, GSB_TRACE_QUEUED, i)->queued.serial, GSB_TRACE_QUEUED,
			     GSB_TRACE_FILL, GSB_TRACE_READY, GSB_TRACE_COMPLETED);
	assert_int_equal(f->k.engine->scheduler.n_untold, 0);
	end(f);
}

static CUresult nothing_lost(struct gsb_device *dev)
{
	return CUDA_SUCCESS;
}

/* Launches go one behind another: their kernel is known to be short. */
static void begin_with_runs(struct fixture *f)
{
	static const struct gsb_policy runner = {
		.name = "runner", .runs = true, .decide = go_if_open};

	is_open = true;
	begin_with(f, false, &runner);
	f->k.dev->ops.lost = nothing_lost;
	f->k.engine->scheduler.runs = gsb_run_is_possible(&f->k.engine->scheduler);
	kit_load_inc(&f->t, 1, 1);
	kit_launch_inc(&f->t, 0, 1, f->mem, 1);
	kit_settle(&f->k);
	kit_complete_run(f->k.dev, 0, CUDA_SUCCESS, 0, 1000);
	kit_settle(&f->k);
	record(f);
}

/* It was sent together with the one before it; for whoever looks it goes when that has ended. */
static void test_launch_behind_another_has_a_whole_chain(void **state)
{
	struct fixture *f = *state;
	uint64_t serial;

	begin_with_runs(f);
	for (unsigned i = 0; i < 2; i++)
		kit_launch_inc(&f->t, 0, 1, f->mem, 1);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 3);
	for (unsigned i = 1; i < 3; i++) {
		kit_complete_run(f->k.dev, i, CUDA_SUCCESS, 0, 5000);
		kit_settle(&f->k);
	}
	read_back(f);
	serial = event(f, GSB_TRACE_QUEUED, 1)->queued.serial;
	EXPECT_CHAIN(f, serial, GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH, GSB_TRACE_READY,
		     GSB_TRACE_DECIDED, GSB_TRACE_ISSUED, GSB_TRACE_FINISHED, GSB_TRACE_COMPLETED);
	assert_int_equal(event(f, GSB_TRACE_DECIDED, 1)->decided.reason, GSB_TRACE_REASON_RUN);
	assert_int_equal(event(f, GSB_TRACE_READY, 1)->ready.n_ready, 1);
	assert_int_equal(f->k.engine->scheduler.n_untold, 0);
	end(f);
}

/* From command first on, each of which takes 1,000 ns. */
static void complete_together(struct fixture *f, unsigned first, unsigned n)
{
	for (unsigned i = first; i < first + n; i++)
		kit_complete_run(f->k.dev, i, CUDA_SUCCESS, 1000 * i, 1000 * i + 999);
	kit_settle(&f->k);
}

static void test_run_that_completes_together_is_told_as_if_each_came_alone(void **state)
{
	struct fixture *f = *state;
	uint64_t serial;

	begin_with_runs(f);
	for (unsigned i = 0; i < 6; i++)
		kit_launch_inc(&f->t, 0, 1, f->mem, 1);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_issued, 7);
	complete_together(f, 1, 3);
	complete_together(f, 4, 3);
	read_back(f);
	serial = event(f, GSB_TRACE_QUEUED, 0)->queued.serial;
	for (unsigned i = 0; i < 6; i++) {
		const struct gsb_trace_finished *d = &event(f, GSB_TRACE_FINISHED, i)->finished;
		const struct gsb_trace_completed *c = &event(f, GSB_TRACE_COMPLETED, i)->completed;

		EXPECT_CHAIN(f, serial + i, GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH, GSB_TRACE_READY,
			     GSB_TRACE_DECIDED, GSB_TRACE_ISSUED, GSB_TRACE_FINISHED,
			     GSB_TRACE_COMPLETED);
		assert_int_equal(d->serial, serial + i);
		assert_int_equal(d->start_device_ns, 1000 * (i + 1));
		assert_int_equal(d->end_device_ns, 1000 * (i + 1) + 999);
		assert_int_equal(c->serial, serial + i);
		assert_int_equal(c->number, 2 + i);
		assert_int_equal(event(f, GSB_TRACE_DECIDED, i)->decided.decision,
				 event(f, GSB_TRACE_DECIDED, 0)->decided.decision + i);
	}
	assert_int_equal(event(f, GSB_TRACE_DECIDED, 3)->decided.threads_per_block, 32);
	assert_int_equal(event(f, GSB_TRACE_DECIDED, 3)->decided.n_blocks, 1);
	assert_int_equal(event(f, GSB_TRACE_READY, 3)->ready.n_ready, 1);
	end(f);
}

/* Of more than the engine takes at once there are two such moments. */
static void test_run_is_told_as_of_when_it_was_taken_from_the_device(void **state)
{
	const unsigned n = 64, n_at_once = 60;
	struct fixture *f = *state;
	uint64_t first, then;

	begin_with_runs(f);
	for (unsigned i = 0; i < n; i++)
		kit_launch_inc(&f->t, 0, 1, f->mem, 1);
	kit_settle(&f->k);
	assert_int_equal(f->k.dev->n_open, n);
	complete_together(f, 1, n);
	read_back(f);
	first = event(f, GSB_TRACE_FINISHED, 0)->head.time_ns;
	then = event(f, GSB_TRACE_FINISHED, n_at_once)->head.time_ns;
	assert_true(then > first);
	for (unsigned i = 0; i < n; i++) {
		uint64_t time_ns = event(f, GSB_TRACE_FINISHED, i)->head.time_ns;

		assert_int_equal(event(f, GSB_TRACE_COMPLETED, i)->head.time_ns, time_ns);
		if (i < n - 1) /* the last is no step */
			assert_int_equal(time_ns, i < n_at_once ? first : then);
	}
	end(f);
}

/* What another stream has in between is told there, and what each sees beside it is right. */
static void test_runs_of_two_streams_that_complete_by_turns_are_kept_apart(void **state)
{
	struct fixture *f = *state;
	uint64_t last = 0;

	begin_with_runs(f);
	kit_stream_create(&f->t, 1, 1);
	for (unsigned i = 0; i < 8; i++)
		kit_launch_inc(&f->t, i % 2, 1, f->mem, 1);
	kit_settle(&f->k);
	while (f->k.dev->n_open) {
		unsigned n = f->k.dev->n_issued;

		for (unsigned i = 1; i < n; i++)
			if (!f->k.dev->log[i].done)
				kit_complete_run(f->k.dev, i, CUDA_SUCCESS, 1000 * i,
						 1000 * i + 999);
		kit_settle(&f->k);
	}
	read_back(f);
	assert_int_equal(count(f, GSB_TRACE_COMPLETED), 8);
	for (unsigned i = 0; i < 8; i++) {
		const union gsb_trace_any *q = event(f, GSB_TRACE_QUEUED, i);
		const struct gsb_trace_decided *d = &event(f, GSB_TRACE_DECIDED, i)->decided;

		assert_int_equal(q->queued.stream, i % 2);
		EXPECT_CHAIN(f, q->queued.serial, GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH,
			     GSB_TRACE_READY, GSB_TRACE_DECIDED, GSB_TRACE_ISSUED,
			     GSB_TRACE_FINISHED, GSB_TRACE_COMPLETED);
		assert_true(q->queued.serial > last);
		last = q->queued.serial;
		for (unsigned b = 0; b < GSB_ARRAY_LEN(d->beside); b++)
			assert_true(b < d->n_running ? d->beside[b] && d->beside[b] != d->serial
						     : !d->beside[b]);
	}
	end(f);
}

#define N_FAULTY 4

static void test_run_that_a_fault_ends_has_whole_chains_that_say_so(void **state)
{
	static const CUresult results[N_FAULTY] = {CUDA_SUCCESS, CUDA_ERROR_ILLEGAL_ADDRESS};
	struct fixture *f = *state;
	uint64_t serial;

	begin_with_runs(f);
	for (unsigned i = 0; i < N_FAULTY; i++)
		kit_launch_inc(&f->t, 0, 1, f->mem, 1);
	kit_settle(&f->k);
	for (unsigned i = 0; i < N_FAULTY; i++)
		kit_complete_run(f->k.dev, 1 + i, results[i], 1000 * i, 1000 * i + 999);
	kit_settle(&f->k);
	read_back(f);
	serial = event(f, GSB_TRACE_QUEUED, 0)->queued.serial;
	for (unsigned i = 0; i < N_FAULTY; i++) {
		EXPECT_CHAIN(f, serial + i, GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH, GSB_TRACE_READY,
			     GSB_TRACE_DECIDED, GSB_TRACE_ISSUED, GSB_TRACE_FINISHED,
			     GSB_TRACE_COMPLETED);
		assert_int_equal(event(f, GSB_TRACE_FINISHED, i)->finished.result, results[i]);
		assert_int_equal(event(f, GSB_TRACE_COMPLETED, i)->completed.failed, i != 0);
	}
	end(f);
}

struct posted {
	uint32_t stream, n_blocks, smem_bytes, thread;
};

static void test_launches_that_differ_are_each_told_as_they_are(void **state)
{
	static const struct posted posted[] = {
		{0, 1, 0, 0}, {0, 1, 0, 0}, {1, 1, 0, 0}, {1, 1, 0, 0}, {1, 2, 0, 0},
		{1, 2, 0, 0}, {1, 2, 8, 0}, {1, 2, 8, 0}, {1, 2, 8, 3}, {1, 2, 8, 3},
	};
	struct fixture *f = *state;
	const struct kit_inc params = {.n = 0};

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	kit_load_inc(&f->t, 1, 1);
	kit_stream_create(&f->t, 1, 1);
	kit_settle(&f->k);
	record(f);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(posted); i++) {
		const struct gsb_rec_launch b = {.function = kit_fn(1),
						 .grid = {posted[i].n_blocks, 1, 1},
						 .block = {32, 1, 1},
						 .smem_bytes = posted[i].smem_bytes,
						 .params_bytes = sizeof(params)};

		f->t.slot = posted[i].thread;
		kit_post(&f->t, GSB_REC_LAUNCH, kit_stream(posted[i].stream), &b, sizeof(b),
			 &params, sizeof(params));
	}
	kit_settle(&f->k);
	read_back(f);
	for (unsigned i = 0; i < GSB_ARRAY_LEN(posted); i++) {
		const struct gsb_trace_queued *q = &event(f, GSB_TRACE_QUEUED, i)->queued;
		const struct gsb_trace_launch *l = &event(f, GSB_TRACE_LAUNCH, i)->launch;

		assert_int_equal(l->serial, q->serial);
		assert_int_equal(q->stream, posted[i].stream);
		assert_int_equal(q->thread, posted[i].thread);
		assert_int_equal(l->n_blocks, posted[i].n_blocks);
		assert_int_equal(l->smem_bytes, posted[i].smem_bytes);
		assert_true(q->posted_ns && q->posted_ns <= q->head.time_ns);
	}
	end(f);
}

/* ---- faults, ends ---- */

static void test_fault_ends_the_chains_of_its_context(void **state)
{
	struct fixture *f = *state;

	begin_with(f, false, &gsb_policy_fifo);
	record(f);
	kit_fill(&f->t, 0, f->mem);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_ERROR_ILLEGAL_ADDRESS, 9);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_FAULT, 0)->fault.result, CUDA_ERROR_ILLEGAL_ADDRESS);
	EXPECT_CHAIN(f, event(f, GSB_TRACE_QUEUED, 0)->queued.serial, GSB_TRACE_QUEUED,
		     GSB_TRACE_FILL, GSB_TRACE_READY, GSB_TRACE_DECIDED, GSB_TRACE_ISSUED,
		     GSB_TRACE_FINISHED, GSB_TRACE_COMPLETED);
	EXPECT_CHAIN(f, event(f, GSB_TRACE_QUEUED, 1)->queued.serial, GSB_TRACE_QUEUED,
		     GSB_TRACE_FILL, GSB_TRACE_COMPLETED);
	assert_int_equal(event(f, GSB_TRACE_FINISHED, 0)->finished.result,
			 CUDA_ERROR_ILLEGAL_ADDRESS);
	assert_int_equal(event(f, GSB_TRACE_COMPLETED, 1)->completed.failed, 1);
	end(f);
}

static void test_tenant_that_has_gone_leaves_its_counts(void **state)
{
	struct fixture *f = *state;
	const struct gsb_trace_tenant_gone *g;
	uint64_t n_records;

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	kit_load_inc(&f->t, 1, 1);
	kit_launch_inc(&f->t, 0, 1, f->mem, 1);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	n_records = f->t.t->stats.records;
	record(f);
	kit_tenant_finish(&f->t);
	read_back(f);
	g = &event(f, GSB_TRACE_TENANT_GONE, 0)->tenant_gone;
	assert_int_equal(g->n_records, n_records);
	assert_int_equal(g->n_launches, 1);
	assert_int_equal(g->n_kernels, 1);
	assert_int_equal(g->n_fills, 1);
	assert_int_equal(g->n_copies, 0);
	assert_int_equal(g->is_cut, 0);
	assert_int_equal(count(f, GSB_TRACE_TENANT_COME), 1);
	kit_engine_finish(&f->k);
	close(f->file);
}

static void test_quota_is_said_with_its_figures(void **state)
{
	struct fixture *f = *state;
	const struct gsb_tenant_limits limits = {.device_mem_bytes = 8192};
	struct gsb_rec_mem_alloc b = {.ctx = kit_ctx(0), .size = 8000};

	begin_with(f, false, &gsb_policy_fifo);
	kit_tenant_finish(&f->t);
	kit_tenant_init(&f->t, &f->k, &limits);
	f->mem = kit_alloc(&f->t, 4096);
	record(f);
	assert_int_equal(kit_call(&f->t, GSB_REC_MEM_ALLOC, &b, sizeof(b), NULL, 0),
			 CUDA_ERROR_OUT_OF_MEMORY);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_QUOTA, 0)->quota.bytes, 8000);
	assert_int_equal(event(f, GSB_TRACE_QUOTA, 0)->quota.used_bytes, 4096);
	assert_int_equal(event(f, GSB_TRACE_QUOTA, 0)->quota.limit_bytes, 8192);
	assert_int_equal(event(f, GSB_TRACE_ALLOCATED, 0)->allocated.error, -EDQUOT);
	assert_int_equal(event(f, GSB_TRACE_ALLOCATED, 0)->allocated.addr, 0);
	end(f);
}

static CUresult create_of_host(struct fixture *f, uint64_t *id)
{
	const struct gsb_rec_backing_create b = {.size = GSB_VIRTUAL_UNIT};
	CUresult result = kit_call(&f->t, GSB_REC_BACKING_OF_HOST, &b, sizeof(b), NULL, 0);
	struct gsb_reply_host_backing made;

	if (!result) {
		memcpy(&made, kit_reply(&f->t), sizeof(made));
		*id = made.backing;
	}
	return result;
}

/* What was never had is not given back: the bytes of a tenant would go below zero. */
static void test_host_memory_that_is_refused_is_not_told_as_freed(void **state)
{
	const struct gsb_tenant_limits limits = {.host_mem_bytes = 2 * GSB_VIRTUAL_UNIT};
	struct gsb_rec_object b = {0};
	struct fixture *f = *state;

	begin_with(f, false, &gsb_policy_fifo);
	kit_tenant_finish(&f->t);
	kit_tenant_init(&f->t, &f->k, &limits);
	record(f);
	f->k.dev->backing_err = -ENOMEM;
	assert_int_equal(create_of_host(f, &b.handle), CUDA_ERROR_OUT_OF_MEMORY);
	f->k.dev->backing_err = 0;
	assert_int_equal(create_of_host(f, &b.handle), 0);
	assert_int_equal(kit_call(&f->t, GSB_REC_BACKING_DESTROY, &b, sizeof(b), NULL, 0), 0);
	read_back(f);
	assert_int_equal(count(f, GSB_TRACE_ALLOCATED), 2);
	assert_int_equal(event(f, GSB_TRACE_ALLOCATED, 0)->allocated.error, -ENOMEM);
	assert_int_equal(event(f, GSB_TRACE_ALLOCATED, 1)->allocated.error, 0);
	assert_int_equal(count(f, GSB_TRACE_FREED), 1);
	assert_int_equal(event(f, GSB_TRACE_FREED, 0)->freed.bytes, GSB_VIRTUAL_UNIT);
	assert_int_equal(event(f, GSB_TRACE_FREED, 0)->freed.addr,
			 event(f, GSB_TRACE_ALLOCATED, 1)->allocated.addr);
	end(f);
}

/* ---- who waits ---- */

static void expect_woken(const struct fixture *f, unsigned i, enum gsb_trace_wait waited,
			 uint32_t index, uint64_t value, uint64_t serial)
{
	const struct gsb_trace_woken *w = &event(f, GSB_TRACE_WOKEN, i)->woken;

	assert_int_equal(w->n_threads, 1);
	assert_int_equal(w->thread, f->t.slot);
	assert_int_equal(w->waited, waited);
	assert_int_equal(w->index, index);
	assert_int_equal(w->value, value);
	assert_int_equal(w->serial, serial);
}

static uint64_t queued_serial(const struct fixture *f, unsigned i)
{
	return event(f, GSB_TRACE_QUEUED, i)->queued.serial;
}

static void test_who_is_woken_had_waited_for_that_operation(void **state)
{
	struct gsb_rec_mem_alloc b = {.ctx = kit_ctx(0), .size = 64};
	struct fixture *f = *state;
	uint64_t call;

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	kit_stream_create(&f->t, 1, 0);
	kit_event_create(&f->t, 5);
	kit_settle(&f->k);
	record(f);
	kit_block(&f->t, GSB_WAIT_STREAM, 1, 2); /* of three that end at once */
	for (int i = 0; i < 3; i++)
		kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	kit_block(&f->t, GSB_WAIT_EVENT, 5, 1);
	kit_fill(&f->t, 1, f->mem);
	kit_record(&f->t, 1, 5);
	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	call = kit_post_call(&f->t, GSB_REC_MEM_ALLOC, &b, sizeof(b), NULL, 0);
	kit_block(&f->t, GSB_WAIT_REPLY, 0, call);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(count(f, GSB_TRACE_WOKEN), 3);
	expect_woken(f, 0, GSB_TRACE_WAIT_STREAM, 1, 2, queued_serial(f, 1));
	expect_woken(f, 1, GSB_TRACE_WAIT_EVENT, 5, 1,
		     event(f, GSB_TRACE_RECORDS, 0)->records.serial);
	expect_woken(f, 2, GSB_TRACE_WAIT_REPLY, 0, call, 0);
	end(f);
}

/* Of a launch it is told by another record. What was before a recording is none of it, and what is too long ago is not known. */
static void test_who_is_woken_is_never_told_of_another_operation(void **state)
{
	struct fixture *f = *state;
	unsigned n_first;

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	kit_load_inc(&f->t, 1, 1);
	kit_stream_create(&f->t, 1, 0);
	kit_settle(&f->k);
	record(f);
	kit_block(&f->t, GSB_WAIT_STREAM, 1, 1);
	kit_launch_inc(&f->t, 1, 1, f->mem, 1);
	kit_settle(&f->k);
	kit_block(&f->t, GSB_WAIT_STREAM, 1, 2);
	for (unsigned i = 0; i < GSB_N_RECENT + 1; i++)
		kit_nop(&f->t, 1);
	kit_settle(&f->k);
	kit_block(&f->t, GSB_WAIT_STREAM, 1, n_first = GSB_N_RECENT + 3);
	for (unsigned i = 0; i < GSB_N_RECENT; i++)
		kit_nop(&f->t, 1);
	kit_settle(&f->k);
	read_back(f);
	expect_woken(f, 0, GSB_TRACE_WAIT_STREAM, 1, 1, queued_serial(f, 0));
	expect_woken(f, 1, GSB_TRACE_WAIT_STREAM, 1, 2, 0);
	expect_woken(f, 2, GSB_TRACE_WAIT_STREAM, 1, n_first, queued_serial(f, n_first - 1));
	forget(f);
	record(f);
	assert_int_equal(gsb_stream_serial(f->t.t->queues.streams[1], n_first), 0);
	read_back(f);
	end(f);
}

/* ---- virtual time ---- */

static void test_virtual_time_says_who_holds_it_and_each_step(void **state)
{
	struct fixture *f = *state;
	const struct gsb_trace_time_step *step;

	begin_with(f, true, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	record(f);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k); /* its thread runs */
	kit_block(&f->t, GSB_WAIT_STREAM, 0, 1);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_GATE_HELD, 0)->head.tenant, f->t.id);
	assert_int_equal(count(f, GSB_TRACE_GATE_HELD), 1);
	assert_true(event(f, GSB_TRACE_GATE_HELD, 0) < event(f, GSB_TRACE_ISSUED, 0));
	assert_int_equal(event(f, GSB_TRACE_WOKEN, 0)->woken.n_threads, 1);
	assert_int_equal(event(f, GSB_TRACE_CLOCK, 0)->clock.is_virtual, 1);
	if (count(f, GSB_TRACE_TIME_STEP)) {
		step = &event(f, GSB_TRACE_TIME_STEP, 0)->time_step;
		assert_true(step->to_device_ns >= step->from_device_ns);
	}
	end(f);
}

/* ---- ranges ---- */

static void say_range(struct fixture *f, enum gsb_range_step step, uint64_t id, const char *name)
{
	const uint32_t n = (uint32_t)strlen(name);
	const struct gsb_rec_range b = {id, step, n};

	kit_post(&f->t, GSB_REC_RANGE, 0, &b, sizeof(b), name, n);
}

static void test_ranges_are_told_where_they_stand_among_operations(void **state)
{
	struct fixture *f = *state;
	const struct gsb_trace_range *push, *pop;
	uint64_t before;

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	say_range(f, GSB_RANGE_PUSH, 7, "not recorded");
	kit_settle(&f->k);
	record(f);
	before = gsb_clock_ns();
	say_range(f, GSB_RANGE_PUSH, 7, "q1");
	kit_fill(&f->t, 0, f->mem);
	say_range(f, GSB_RANGE_POP, 7, "");
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(count(f, GSB_TRACE_RANGE), 2);
	push = &event(f, GSB_TRACE_RANGE, 0)->range;
	pop = &event(f, GSB_TRACE_RANGE, 1)->range;
	assert_string_equal(push->name, "q1");
	assert_int_equal(push->step, GSB_TRACE_RANGE_STEP_PUSH);
	assert_int_equal(push->id, 7);
	assert_int_equal(push->thread, f->t.slot);
	assert_int_equal(push->head.tenant, f->t.id);
	assert_int_equal(pop->step, GSB_TRACE_RANGE_STEP_POP);
	assert_in_range(push->posted_ns, before - SLACK_NS, push->head.time_ns);
	assert_true((const void *)push < (const void *)event(f, GSB_TRACE_QUEUED, 0));
	assert_true((const void *)event(f, GSB_TRACE_QUEUED, 0) < (const void *)pop);
	/* they are records as any other, which the broker counts */
	assert_int_equal(count(f, GSB_TRACE_TAKEN) + count(f, GSB_TRACE_QUEUED), 3);
	assert_int_equal(event(f, GSB_TRACE_TAKEN, 0)->taken.record, GSB_REC_RANGE);
	end(f);
}

/* Or a trace would show another run than there is without it. */
static void test_ranges_take_no_virtual_time(void **state)
{
	struct fixture *f = *state;
	uint64_t first, second;

	begin_with(f, true, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	record(f);
	kit_fill(&f->t, 0, f->mem);
	for (unsigned i = 0; i < 10; i++)
		say_range(f, GSB_RANGE_START, i, "q");
	kit_fill(&f->t, 0, f->mem);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	read_back(f);
	first = event(f, GSB_TRACE_QUEUED, 1)->queued.post_device_ns -
		event(f, GSB_TRACE_QUEUED, 0)->queued.post_device_ns;
	second = event(f, GSB_TRACE_QUEUED, 2)->queued.post_device_ns -
		 event(f, GSB_TRACE_QUEUED, 1)->queued.post_device_ns;
	assert_true(second > 0);
	assert_int_equal(first, second);
	assert_int_equal(event(f, GSB_TRACE_RANGE, 9)->range.device_ns,
			 event(f, GSB_TRACE_QUEUED, 0)->queued.post_device_ns);
	end(f);
}

/* ---- recordings ---- */

/* Nothing had a number while nobody listened. The one that waits is found first, and names the one that is waited for. */
static void test_record_that_begins_late_numbers_what_waits_and_for_what(void **state)
{
	struct fixture *f = *state;
	uint64_t recording, wait;

	begin_with(f, false, &gsb_policy_fifo);
	kit_stream_create(&f->t, 1, 1);
	kit_stream_create(&f->t, 2, 1);
	kit_event_create(&f->t, 5);
	kit_fill(&f->t, 2, f->mem);
	kit_record(&f->t, 2, 5);
	kit_wait(&f->t, 1, 5);
	kit_settle(&f->k);
	record(f);
	kit_wait(&f->t, 1, 5);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 9);
	kit_settle(&f->k);
	read_back(f);
	recording = event(f, GSB_TRACE_RECORDS, 0)->records.serial;
	wait = event(f, GSB_TRACE_WAITS_FOR, 0)->waits_for.serial;
	assert_int_not_equal(recording, 0);
	assert_int_equal(event(f, GSB_TRACE_WAITS_FOR, 0)->waits_for.on_serial, recording);
	assert_int_equal(event(f, GSB_TRACE_WAITS_FOR, 1)->waits_for.on_serial, recording);
	EXPECT_CHAIN(f, recording, GSB_TRACE_QUEUED, GSB_TRACE_RECORDS, GSB_TRACE_COMPLETED);
	EXPECT_CHAIN(f, wait, GSB_TRACE_QUEUED, GSB_TRACE_WAITS_FOR, GSB_TRACE_COMPLETED);
	end(f);
}

/* What is there for two recordings has one number in both; what came between them has its own. */
static void test_second_record_keeps_the_numbers_of_the_first(void **state)
{
	struct fixture *f = *state;
	uint64_t first, second;

	begin_with(f, false, &gsb_policy_fifo);
	record(f);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	read_back(f);
	first = event(f, GSB_TRACE_QUEUED, 0)->queued.serial;
	forget(f);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	record(f);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_QUEUED, 0)->queued.serial, first);
	second = event(f, GSB_TRACE_QUEUED, 1)->queued.serial;
	assert_true(second > first);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 9);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 9);
	kit_settle(&f->k);
	end(f);
}

static void test_second_record_tells_again_what_is_held(void **state)
{
	struct fixture *f = *state;

	begin_with(f, false, &holder);
	kit_stream_create(&f->t, 1, 1);
	kit_stream_create(&f->t, 2, 1);
	record(f);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k);
	kit_fill(&f->t, 1, f->mem);
	kit_settle(&f->k);
	read_back(f);
	forget(f);
	record(f);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 9);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(count(f, GSB_TRACE_DECIDED), 2);
	assert_int_equal(event(f, GSB_TRACE_DECIDED, 0)->decided.verdict, GSB_TRACE_VERDICT_HOLD);
	assert_int_equal(event(f, GSB_TRACE_DECIDED, 1)->decided.verdict, GSB_TRACE_VERDICT_ISSUE);
	end(f);
}

static void test_second_record_does_not_tell_again_what_is_ready(void **state)
{
	static const struct gsb_policy gate = {.name = "gate", .decide = go_if_open};
	struct fixture *f = *state;
	uint64_t serial;

	begin_with(f, false, &gate);
	kit_stream_create(&f->t, 1, 1);
	kit_stream_create(&f->t, 2, 1);
	is_open = true;
	record(f);
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 9);
	kit_complete(f->k.dev, 1, CUDA_SUCCESS, 9);
	kit_settle(&f->k);
	read_back(f);
	is_open = false;
	kit_fill(&f->t, 1, f->mem);
	kit_fill(&f->t, 2, f->mem);
	kit_settle(&f->k); /* one is forced, the other is held, and nobody listens */
	forget(f);
	record(f);
	is_open = true;
	kit_complete(f->k.dev, 2, CUDA_SUCCESS, 10);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(count(f, GSB_TRACE_READY), 0);
	serial = event(f, GSB_TRACE_DECIDED, 0)->decided.serial;
	EXPECT_CHAIN(f, serial, GSB_TRACE_QUEUED, GSB_TRACE_FILL, GSB_TRACE_DECIDED,
		     GSB_TRACE_ISSUED);
	assert_int_equal(f->k.engine->scheduler.n_untold, 0);
	end(f);
}

static void test_record_that_begins_late_tells_what_is_there(void **state)
{
	struct fixture *f = *state;
	const union gsb_trace_any *e;

	begin_with(f, false, &gsb_policy_fifo);
	kit_load_inc(&f->t, 1, 1);
	kit_stream_create(&f->t, 3, 0);
	kit_launch_inc(&f->t, 3, 1, f->mem, 1);
	kit_fill(&f->t, 3, f->mem);
	kit_settle(&f->k);
	record(f);
	kit_complete(f->k.dev, 0, CUDA_SUCCESS, 5);
	kit_settle(&f->k);
	read_back(f);
	assert_int_equal(event(f, GSB_TRACE_TENANT_COME, 0)->tenant_come.before, 1);
	assert_int_equal(count(f, GSB_TRACE_STREAM_MADE), 2);
	assert_int_equal(event(f, GSB_TRACE_STREAM_MADE, 0)->stream_made.is_legacy, 1);
	assert_int_equal(event(f, GSB_TRACE_STREAM_MADE, 1)->stream_made.stream, 3);
	e = event(f, GSB_TRACE_KERNEL, 0);
	assert_int_equal(e->kernel.function, kit_fn(1));
	assert_string_equal(e->kernel.name, "inc");
	assert_int_equal(e->kernel.before, 1);
	e = event(f, GSB_TRACE_QUEUED, 0);
	assert_int_equal(e->queued.before, 3);
	EXPECT_CHAIN(f, e->queued.serial, GSB_TRACE_QUEUED, GSB_TRACE_LAUNCH, GSB_TRACE_FINISHED,
		     GSB_TRACE_COMPLETED); /* it was on the device already */
	e = event(f, GSB_TRACE_QUEUED, 1);
	assert_int_equal(e->queued.before, 1);
	EXPECT_CHAIN(f, e->queued.serial, GSB_TRACE_QUEUED, GSB_TRACE_FILL, GSB_TRACE_READY,
		     GSB_TRACE_DECIDED, GSB_TRACE_ISSUED);
	end(f);
}

static void test_record_after_stop_begins_a_file_of_its_own(void **state)
{
	struct fixture *f = *state;
	struct gsb_trace_state s;
	unsigned n;

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	record(f);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	read_back(f);
	n = f->n_events;
	gsb_trace_get_state(&s);
	assert_int_equal(s.n_events, n);
	assert_int_equal(s.n_bytes, lseek(f->file, 0, SEEK_END));
	assert_int_equal(s.error, 0);
	assert_false(s.recording);
	kit_fill(&f->t, 0, f->mem); /* nobody listens */
	kit_settle(&f->k);
	assert_int_equal(gsb_trace_on, 0);
	close(f->file);
	f->file = memfd_create("trace", MFD_CLOEXEC);
	record(f);
	read_back(f);
	assert_int_equal(count(f, GSB_TRACE_FILL), 0);
	assert_int_equal(count(f, GSB_TRACE_TENANT_COME), 1);
	end(f);
}

static void test_record_what_is_no_plain_file_to_write_is_refused(void **state)
{
	struct fixture *f = *state;
	const struct gsb_trace_header about = {.pid = 1};
	int pipes[2];

	begin_with(f, false, &gsb_policy_fifo);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	assert_int_equal(gsb_trace_record(pipes[1], &about), -EINVAL);
	assert_int_equal(fcntl(pipes[1], F_GETFD), -1); /* it is consumed all the same */
	assert_int_equal(gsb_trace_record(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &about),
			 -EINVAL);
	assert_int_equal(gsb_trace_on, 0);
	record(f);
	assert_int_equal(gsb_trace_record(dup(f->file), &about), -EBUSY);
	read_back(f);
	assert_false(gsb_trace_stop());
	close(pipes[0]);
	end(f);
}

/* A disk that is full, as near as a test can come. */
static void test_record_that_cannot_be_written_ends_and_the_engine_goes_on(void **state)
{
	struct fixture *f = *state;
	struct rlimit was, small;
	struct gsb_trace_state s;

	begin_with(f, false, &gsb_policy_fifo);
	kit_device_auto(f->k.dev);
	signal(SIGXFSZ, SIG_IGN);
	getrlimit(RLIMIT_FSIZE, &was);
	record(f);
	small = was;
	small.rlim_cur = 1;
	setrlimit(RLIMIT_FSIZE, &small);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	await_done();
	setrlimit(RLIMIT_FSIZE, &was);
	signal(SIGXFSZ, SIG_DFL);
	gsb_trace_get_state(&s);
	assert_int_equal(s.error, -EFBIG);
	assert_false(s.recording);
	assert_int_equal(gsb_trace_on, 0);
	kit_fill(&f->t, 0, f->mem);
	kit_settle(&f->k);
	assert_int_equal(kit_done(&f->t, 0), 2);
	end(f);
}

static int setup(void **state)
{
	*state = calloc(1, sizeof(struct fixture));
	return *state ? 0 : -1;
}

static int teardown(void **state)
{
	free(*state);
	return 0;
}

int main(void)
{
#define CASE(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
	const struct CMUnitTest tests[] = {
		CASE(test_launch_all_events_have_its_serial_in_order),
		CASE(test_posting_time_is_the_tenants_and_not_the_turns),
		CASE(test_serials_are_never_given_twice),
		CASE(test_copies_and_fills_say_bytes_and_places),
		CASE(test_parked_on_an_event_names_the_recording),
		CASE(test_parked_on_the_legacy_stream_names_what_is_before),
		CASE(test_free_waits_for_its_fence),
		CASE(test_tenant_with_too_much_queued_is_stalled),
		CASE(test_decision_names_what_is_held_once_and_what_is_forced),
		CASE(test_decision_holds_for_the_reason_that_the_policy_says),
		CASE(test_shapes_are_told_of_a_kernel_and_the_form_of_its_launch),
		CASE(test_reasons_against_forms_are_told_of_a_kernel),
		CASE(test_decision_without_free_queues_says_so),
		CASE(test_ready_while_all_queues_are_busy_is_held_by_them),
		CASE(test_decision_for_several_sees_none_of_them_on_the_device),
		CASE(test_ready_is_told_in_its_turn_though_it_does_not_go),
		CASE(test_ready_is_told_of_what_is_refused_and_of_what_it_takes_with_it),
		CASE(test_launch_behind_another_has_a_whole_chain),
		CASE(test_run_that_completes_together_is_told_as_if_each_came_alone),
		CASE(test_runs_of_two_streams_that_complete_by_turns_are_kept_apart),
		CASE(test_run_is_told_as_of_when_it_was_taken_from_the_device),
		CASE(test_run_that_a_fault_ends_has_whole_chains_that_say_so),
		CASE(test_launches_that_differ_are_each_told_as_they_are),
		CASE(test_fault_ends_the_chains_of_its_context),
		CASE(test_tenant_that_has_gone_leaves_its_counts),
		CASE(test_quota_is_said_with_its_figures),
		CASE(test_host_memory_that_is_refused_is_not_told_as_freed),
		CASE(test_who_is_woken_had_waited_for_that_operation),
		CASE(test_who_is_woken_is_never_told_of_another_operation),
		CASE(test_virtual_time_says_who_holds_it_and_each_step),
		CASE(test_ranges_are_told_where_they_stand_among_operations),
		CASE(test_ranges_take_no_virtual_time),
		CASE(test_record_that_begins_late_numbers_what_waits_and_for_what),
		CASE(test_second_record_keeps_the_numbers_of_the_first),
		CASE(test_second_record_tells_again_what_is_held),
		CASE(test_second_record_does_not_tell_again_what_is_ready),
		CASE(test_record_that_begins_late_tells_what_is_there),
		CASE(test_record_after_stop_begins_a_file_of_its_own),
		CASE(test_record_what_is_no_plain_file_to_write_is_refused),
		CASE(test_record_that_cannot_be_written_ends_and_the_engine_goes_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
