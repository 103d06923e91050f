/*
 * device.c - the device of a run: blocks on the SM array of model/placement/machine.c, copies on their engines, both in the order of
 * issue. How fast kernels run changes whenever blocks come or go, so a block has no end when it is placed, but work to do.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "model/time/command_time.h"
#include "sim/state.h"

#define NEARLY_NS  1e-3 /* sums of speeds are rounded */
#define LONGEST_NS 1000000000000000ull

/* ---- what the load says of an operation ---- */

static struct gsb_kernel kernel_of(const struct gsb_sim *s, const struct gsb_workload_op *op)
{
	const struct gsb_workload_kernel *k = &s->load->kernels[op->kernel_at];

	return (struct gsb_kernel){
		.threads_per_block = op->block[0] * op->block[1] * op->block[2],
		.regs_per_thread = k->regs,
		.smem_bytes = k->smem_bytes + op->smem_bytes,
		.n_blocks = (uint64_t)op->grid[0] * op->grid[1] * op->grid[2],
	};
}

/* Alone it ran in rounds of equal length. Cycles are what a kernel needs, so another clock stretches it. */
static uint64_t block_time(const struct gsb_sim *s, const struct gsb_workload_op *op,
			   const struct gsb_kernel *kernel)
{
	const struct gsb_arch *from = s->p->recorded ? s->p->recorded : s->p->arch;
	uint64_t ns = op->alone_ns ? op->alone_ns : op->end_ns - op->start_ns, rounds;

	if (gsb_rounds(from, kernel, &gsb_rules_hardware, &rounds) || !rounds)
		rounds = 1;
	return (uint64_t)((unsigned __int128)ns * from->clock_khz / s->p->arch->clock_khz / rounds);
}

/* Tenants that run the same program have the same kernels: by its name and needs it is known again. */
static uint64_t code_of(const struct gsb_workload_kernel *k)
{
	uint64_t h = gsb_hash_bytes(GSB_HASH_BEGIN, k->name, strlen(k->name));

	return gsb_hash_number(h, (uint64_t)k->regs << 32 | k->smem_bytes) | 1;
}

static uint64_t launch_of(uint64_t code, const struct gsb_workload_op *op)
{
	uint64_t h = code;

	for (unsigned i = 0; i < 3; i++)
		h = gsb_hash_number(h, (uint64_t)op->grid[i] << 32 | op->block[i]);
	return gsb_hash_number(h, op->smem_bytes) | 1;
}

static uint32_t blocks_per_sm(const struct gsb_sim *s, const struct gsb_kernel *k)
{
	struct gsb_occupancy o;

	return gsb_occupancy(s->p->arch, k, &gsb_rules_hardware, &o) ? 0 : o.blocks_per_sm;
}

static int describe_launch(struct gsb_sim *s, struct gsb_sim_item *item)
{
	const struct gsb_workload_op *op = item->op;
	struct gsb_work *w = &item->work;
	struct gsb_machine_submit submit;

	w->kind = GSB_WORK_KERNEL;
	w->cooperative = op->cooperative;
	w->kernel = kernel_of(s, op);
	submit = (struct gsb_machine_submit){.kernel = w->kernel, .cooperative = w->cooperative};
	if (gsb_machine_check(s->machine, &submit))
		return gsb_sim_fail(s, -EINVAL,
				    "the launch of serial %" PRIu64 " (%s) cannot run on %s: its "
				    "blocks need more than an SM has; run the load on a larger GPU",
				    op->serial, s->load->kernels[op->kernel_at].name,
				    s->p->arch->name);
	item->block_ns = block_time(s, op, &w->kernel);
	if (!item->block_ns) {
		s->out->n_untimed++;
		item->block_ns = 1;
	}
	item->block_insns = op->n_instructions / w->kernel.n_blocks;
	w->code = code_of(&s->load->kernels[op->kernel_at]);
	w->launch = launch_of(w->code, op);
	w->blocks_per_sm = blocks_per_sm(s, &w->kernel);
	return 0;
}

static bool is_on_device(uint32_t place)
{
	return place == GSB_WORKLOAD_DEVICE;
}

static enum gsb_direction direction_of(const struct gsb_workload_op *op)
{
	if (op->kind == GSB_WORKLOAD_FILL || is_on_device(op->from) == is_on_device(op->to))
		return GSB_COPY_ACROSS;
	return is_on_device(op->to) ? GSB_COPY_UP : GSB_COPY_DOWN;
}

static int describe(struct gsb_sim *s, struct gsb_sim_item *item)
{
	const struct gsb_workload_op *op = item->op;

	item->work = (struct gsb_work){
		.tenant = op->tenant,
		.stream = op->stream,
		.priority = s->load->streams[op->stream_at].priority,
		.kind = op->kind == GSB_WORKLOAD_FILL ? GSB_WORK_FILL : GSB_WORK_COPY,
		.bytes = op->bytes,
		.direction = direction_of(op),
	};
	return op->kind == GSB_WORKLOAD_LAUNCH ? describe_launch(s, item) : 0;
}

/* ---- life ---- */

int gsb_sim_device_init(struct gsb_sim *s)
{
	const struct gsb_arch *arch = s->p->arch;
	int err = gsb_machine_create(arch, &gsb_rules_hardware, &s->machine);

	if (s->p->law)
		s->law = *s->p->law;
	else
		gsb_interference_init(&s->law, arch->name);
	if (err)
		return err;
	s->n_slots = arch->n_sms * arch->max_blocks;
	s->blocks = calloc((size_t)GSB_N_QUEUES * s->n_slots, sizeof(*s->blocks));
	s->sms = calloc(arch->n_sms, sizeof(*s->sms));
	if (!s->blocks || !s->sms)
		return -ENOMEM;
	for (uint32_t i = 0; !err && i < s->load->n_ops; i++) {
		s->items[i].op = &s->load->ops[i];
		err = describe(s, &s->items[i]);
	}
	return err;
}

struct gsb_sim_flight *gsb_sim_issue(struct gsb_sim *s, struct gsb_sim_item *item,
				     const struct gsb_shape *shape)
{
	struct gsb_sim_flight *f = s->flights;
	bool is_kernel = item->work.kind == GSB_WORK_KERNEL;

	while (f->item)
		f++;
	*f = (struct gsb_sim_flight){
		.item = item,
		.seq = s->next_seq++,
		.begin_ns = s->now_ns + (is_kernel ? GSB_LAUNCH_LATENCY_NS : 0),
		.end_ns = GSB_SIM_NEVER,
		.speed = 1,
	};
	gsb_sim_course_begin(s, f, shape);
	item->state = GSB_SIM_ISSUED;
	item->issued_ns = item->work.since_ns = s->now_ns;
	s->n_running++;
	return f;
}

/* ---- ends ---- */

static void end_flight(struct gsb_sim *s, struct gsb_sim_flight *f)
{
	gsb_sim_view_landed(s, f);
	gsb_sim_done(s, f->item);
	f->item = NULL;
	s->n_running--;
	s->changed = true;
}

static struct gsb_sim_flight *flight_of(struct gsb_sim *s, const struct gsb_sim_item *item)
{
	struct gsb_sim_flight *f = s->flights;

	while (f->item != item)
		f++;
	return f;
}

static struct gsb_sim_block *block_at(struct gsb_sim *s, const struct gsb_sim_flight *f, uint32_t i)
{
	return &s->blocks[(size_t)(f - s->flights) * s->n_slots +
			  (f->first_block + i) % s->n_slots];
}

/* The machine is told of the blocks that have done their work. */
static void end_blocks(struct gsb_sim *s, struct gsb_sim_flight *f)
{
	while (f->n_blocks && block_at(s, f, 0)->end_work <= f->work + NEARLY_NS) {
		const struct gsb_sim_block *b = block_at(s, f, 0);
		uint64_t ns = s->now_ns - b->from_ns;

		gsb_machine_set_end(s->machine, b->slot, s->now_ns);
		s->moved = true;
		f->item->blocks_ns += ns;
		gsb_sim_count_block(s, f->item, ns);
		f->first_block = (f->first_block + 1) % s->n_slots;
		f->n_blocks--;
	}
}

bool gsb_sim_device_ends(struct gsb_sim *s)
{
	struct gsb_machine_block b;
	bool any = false;

	for (unsigned i = 0; i < GSB_N_QUEUES; i++)
		if (s->flights[i].item)
			end_blocks(s, &s->flights[i]);
	while (gsb_machine_end(s->machine, s->now_ns, &b)) {
		struct gsb_sim_item *item = b.owner;

		item->n_ended++;
		gsb_sim_check_ended(s, &b);
		if (!b.is_last || !gsb_sim_course_ended(flight_of(s, item)))
			continue;
		end_flight(s, flight_of(s, item));
		any = true;
	}
	for (unsigned i = 0; i < GSB_N_QUEUES; i++) {
		if (!s->flights[i].item || s->flights[i].end_ns > s->now_ns)
			continue;
		s->n_copies--;
		end_flight(s, &s->flights[i]);
		any = true;
	}
	return any;
}

/* ---- starts ---- */

static enum gsb_transfer transfer_of(const struct gsb_workload_op *op)
{
	if (op->kind == GSB_WORKLOAD_FILL)
		return GSB_TRANSFER_FILL;
	return is_on_device(op->from) && is_on_device(op->to) ? GSB_TRANSFER_DEVICE
							      : GSB_TRANSFER_HOST;
}

static int start_flight(struct gsb_sim *s, struct gsb_sim_flight *f)
{
	struct gsb_sim_item *item = f->item;
	uint64_t ns;

	f->begin_ns = GSB_SIM_NEVER;
	if (item->work.kind == GSB_WORK_KERNEL)
		return gsb_sim_course_go_on(s, f);
	ns = gsb_transfer_time_ns(s->p->arch, transfer_of(item->op), item->op->bytes);
	item->start_ns = s->now_ns;
	f->end_ns = s->now_ns + ns;
	s->n_copies++;
	gsb_sim_count_transfer(s, ns);
	return 0;
}

static bool may_start(const struct gsb_sim *s, const struct gsb_sim_flight *f)
{
	return f->item && f->begin_ns <= s->now_ns &&
	       (f->item->work.kind == GSB_WORK_KERNEL || s->n_copies < GSB_SIM_N_ENGINES);
}

static struct gsb_sim_flight *next_start(struct gsb_sim *s)
{
	struct gsb_sim_flight *best = NULL;

	for (unsigned i = 0; i < GSB_N_QUEUES; i++)
		if (may_start(s, &s->flights[i]) && (!best || s->flights[i].seq < best->seq))
			best = &s->flights[i];
	return best;
}

static int place(struct gsb_sim *s)
{
	struct gsb_machine_block b;
	int err = 0;

	while (!err && gsb_machine_place(s->machine, &b)) {
		struct gsb_sim_item *item = b.owner;
		struct gsb_sim_flight *f = flight_of(s, item);

		if (!item->n_placed++)
			item->start_ns = s->now_ns;
		gsb_sim_course_placed(f);
		*block_at(s, f, f->n_blocks++) = (struct gsb_sim_block){
			b.slot, s->now_ns, f->work + (double)item->block_ns * item->tiles};
		s->moved = true;
		err = gsb_sim_check_placed(s, &b);
	}
	if (!err && s->moved)
		err = gsb_sim_find_speeds(s);
	s->moved = false;
	return err;
}

int gsb_sim_device_starts(struct gsb_sim *s)
{
	struct gsb_sim_flight *f;
	int err = 0;

	while (!err && (f = next_start(s)))
		err = start_flight(s, f);
	for (f = s->flights; !err && f < s->flights + GSB_N_QUEUES; f++)
		if (f->item && f->item->work.kind == GSB_WORK_KERNEL &&
		    f->begin_ns == GSB_SIM_NEVER)
			err = gsb_sim_course_go_on(s, f);
	return err ? err : place(s);
}

/* ---- time ---- */

/* When the first of its blocks ends at the speed that it has. */
static uint64_t next_end(struct gsb_sim *s, const struct gsb_sim_flight *f)
{
	double left;

	if (!f->n_blocks)
		return GSB_SIM_NEVER;
	left = ceil((block_at(s, f, 0)->end_work - f->work - NEARLY_NS) / f->speed);
	return s->now_ns + (left < 1 ? 1 : left < LONGEST_NS ? (uint64_t)left : LONGEST_NS);
}

uint64_t gsb_sim_next_event_ns(struct gsb_sim *s)
{
	uint64_t t = GSB_SIM_NEVER;

	for (unsigned i = 0; i < GSB_N_QUEUES; i++) {
		const struct gsb_sim_flight *f = &s->flights[i];
		uint64_t end;

		if (!f->item)
			continue;
		end = next_end(s, f);
		if (end < t)
			t = end;
		if (f->end_ns < t)
			t = f->end_ns;
		if (f->begin_ns > s->now_ns && f->begin_ns < t)
			t = f->begin_ns;
	}
	return t;
}

void gsb_sim_pass_to(struct gsb_sim *s, uint64_t ns)
{
	for (unsigned i = 0; i < GSB_N_QUEUES; i++)
		s->flights[i].work += s->flights[i].speed * (double)(ns - s->now_ns);
	s->now_ns = ns;
}
