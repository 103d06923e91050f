/*
 * trace_machine.c - do the virtual times of a trace agree with the machine model? Everything that was issued is put to
 * model/placement/machine.c once more, block by block, at the moment of which the trace speaks, with the times that
 * model/time/progress.c and block_time.c give; when its first block started and its last one ended must be what the device said, to the
 * nanosecond. Of copies between host and device the time must be that of their bytes.
 *
 *   trace_machine NAME FILE     of emu:NAME, recorded from its beginning; kernels touch no global memory, and all blocks of a
 *                               launch do the same (spinner.c)
 */
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/compiler.h"
#include "gsb/arch.h"
#include "model/gpu/arch.h"
#include "model/placement/machine.h"
#include "model/time/progress.h"
#include "trace/read.h"

/* Of an H200, as doc/emulated-device.md has them. */
#define LAUNCH_LATENCY_NS 1500
#define COPY_LATENCY_NS	  1300
#define LINK_BYTES_PER_NS 55

#define OPS_MAX	    65536
#define KERNELS_MAX 1024
#define STREAMS_MAX 1024

struct op {
	struct gsb_machine_submit submit;
	struct gsb_block_profile *profile; /* of its kernel */
	struct gsb_progress_grid placed;
	uint64_t bytes, ready_ns, issued_ns, from_ns, start_ns, end_ns, n_instructions, n_done;
	uint64_t own_start_ns, own_end_ns; /* as the model has it */
	uint32_t tenant, stream, n_warps, seq;
	uint8_t kind, to, from;
	bool stores; /* to shared memory, once a warp */
};

static struct op ops[OPS_MAX]; /* by serial */
static struct op *issued[OPS_MAX];
static struct {
	uint32_t tenant;
	uint64_t function;
	uint32_t regs, smem_bytes;
	struct gsb_block_profile profile;
} kernels[KERNELS_MAX];
static struct {
	uint32_t tenant, number;
	int32_t priority;
} streams[STREAMS_MAX];
static struct gsb_interference law;
static unsigned n_kernels, n_streams, n_issued, n_bad;

static void die(const char *what)
{
	fprintf(stderr, "trace_machine: %s\n", what);
	exit(2);
}

static struct op *op_of(uint64_t serial)
{
	if (serial >= OPS_MAX)
		die("more operations than there is room for");
	return &ops[serial];
}

/* ---- from the trace ---- */

static void on_kernel(const struct gsb_trace_kernel *e)
{
	if (n_kernels == KERNELS_MAX)
		die("too many kernels");
	kernels[n_kernels].tenant = e->head.tenant;
	kernels[n_kernels].function = e->function;
	kernels[n_kernels].regs = e->regs;
	kernels[n_kernels++].smem_bytes = e->static_smem_bytes;
}

static void on_stream(const struct gsb_trace_stream_made *e)
{
	if (n_streams == STREAMS_MAX)
		die("too many streams");
	streams[n_streams].tenant = e->head.tenant;
	streams[n_streams].number = e->stream;
	streams[n_streams++].priority = e->priority;
}

static int32_t priority_of(const struct op *op)
{
	for (unsigned i = n_streams; i--;)
		if (streams[i].tenant == op->tenant && streams[i].number == op->stream)
			return streams[i].priority;
	die("a stream that was not made");
	return 0;
}

static void on_launch(const struct gsb_trace_launch *e)
{
	struct op *op = op_of(e->serial);
	uint32_t threads = e->block_x * e->block_y * e->block_z;
	unsigned k = n_kernels;

	while (k-- && (kernels[k].tenant != op->tenant || kernels[k].function != e->function))
		;
	if (k >= n_kernels)
		die("a kernel that has no handle");
	op->n_warps = (threads + 31) / 32;
	op->profile = &kernels[k].profile;
	op->stores = kernels[k].smem_bytes > 0;
	op->placed = (struct gsb_progress_grid){.profile = op->profile, .block_warps = op->n_warps};
	op->submit = (struct gsb_machine_submit){
		.kernel = {threads, kernels[k].regs, kernels[k].smem_bytes + e->smem_bytes,
			   e->n_blocks},
		.priority = priority_of(op),
		.owner = op,
	};
}

static void on_issued(const struct gsb_trace_issued *e)
{
	struct op *op = op_of(e->serial);

	op->issued_ns = e->device_ns;
	op->from_ns =
		(op->ready_ns > e->device_ns ? op->ready_ns : e->device_ns) + LAUNCH_LATENCY_NS;
	op->seq = n_issued;
	if (op->kind == GSB_TRACE_OP_LAUNCH)
		issued[n_issued++] = op;
}

static void on_record(const struct gsb_trace_record *rec)
{
	const union gsb_trace_any *e = rec->any;
	struct op *op;

	switch (rec->type) {
	case GSB_TRACE_KERNEL: on_kernel(&e->kernel); break;
	case GSB_TRACE_STREAM_MADE: on_stream(&e->stream_made); break;
	case GSB_TRACE_QUEUED:
		op = op_of(e->queued.serial);
		op->tenant = e->head.tenant;
		op->stream = e->queued.stream;
		op->kind = e->queued.kind;
		break;
	case GSB_TRACE_LAUNCH: on_launch(&e->launch); break;
	case GSB_TRACE_COPY:
		op = op_of(e->copy.serial);
		op->bytes = e->copy.bytes;
		op->to = e->copy.to;
		op->from = e->copy.from;
		break;
	case GSB_TRACE_READY: op_of(e->ready.serial)->ready_ns = e->ready.ready_device_ns; break;
	case GSB_TRACE_ISSUED: on_issued(&e->issued); break;
	case GSB_TRACE_FINISHED:
		op = op_of(e->finished.serial);
		op->start_ns = e->finished.start_device_ns;
		op->end_ns = e->finished.end_device_ns;
		op->n_instructions = e->finished.n_instructions;
		break;
	default: break;
	}
}

/* ---- the model ---- */

/* A block that stands on an SM. */
struct placed {
	struct op *op;
	uint32_t slot;
	uint64_t work_ns;
	struct gsb_progress_block progress;
};

static struct {
	struct gsb_machine *m;
	struct gsb_progress *progress;
	const struct gsb_arch *arch;
	uint64_t now_ns;
	struct placed *placed; /* by slot of the machine */
	uint32_t *fresh;       /* slots that were filled in this instant */
	uint32_t room;
} sim;

/*
 * A trace has instructions, and not which. A turn of either kernel of spinner.c is three, two of them of whole numbers; around these are the parameter
 * and the return, and in the one with shared memory a move, which counts as whole numbers, and a store.
 */
static struct gsb_block_work work_of(const struct op *op)
{
	const uint64_t n_insns = op->n_instructions / op->submit.kernel.n_blocks;
	const uint64_t stores = op->stores, turns = (n_insns / op->n_warps - 2 - 2 * stores) / 3;

	return (struct gsb_block_work){.n_warps = op->n_warps,
				       .n_insns = n_insns,
				       .n_alu = op->n_warps * (2 * turns + stores),
				       .n_shared = op->n_warps * stores};
}

static void take_ends(void)
{
	struct gsb_machine_block b;

	while (gsb_machine_end(sim.m, sim.now_ns, &b)) {
		struct op *op = b.owner;

		const struct gsb_block_work work = work_of(op);

		gsb_progress_remove(sim.progress, &sim.placed[b.slot].progress);
		gsb_block_profile_add(op->profile, &work);
		if (b.is_last)
			op->own_end_ns = sim.now_ns;
	}
}

static void take_starts(unsigned *next)
{
	struct gsb_machine_grid *grid;

	for (; *next < n_issued && issued[*next]->from_ns <= sim.now_ns; ++*next)
		if (gsb_machine_submit(sim.m, &issued[*next]->submit, &grid))
			die("the machine does not take a launch that ran");
}

static void on_change(void *ctx, struct gsb_progress_block *block)
{
	const struct placed *p = gsb_container_of(block, struct placed, progress);

	(void)ctx;
	if (p->work_ns)
		gsb_machine_set_end(sim.m, p->slot, gsb_progress_end_ns(block, p->work_ns));
}

static void place(void)
{
	struct gsb_machine_block b;
	uint32_t n = 0;

	while (gsb_machine_place(sim.m, &b)) {
		struct op *op = b.owner;
		struct placed *p = &sim.placed[b.slot];

		sim.fresh[n++] = b.slot;
		*p = (struct placed){.op = op, .slot = b.slot};
		gsb_progress_add(sim.progress, &op->placed, &p->progress, b.sm, sim.now_ns);
		if (!b.index)
			op->own_start_ns = sim.now_ns;
	}
	gsb_progress_settle(sim.progress, sim.now_ns, on_change, NULL);
	for (uint32_t i = 0; i < n; i++) {
		struct placed *p = &sim.placed[sim.fresh[i]];
		const struct gsb_block_work work = work_of(p->op);
		const struct gsb_block_company company =
			gsb_progress_company(sim.progress, &p->progress);

		p->work_ns = gsb_block_time_ns(sim.arch, &work, &company);
		gsb_machine_set_end(sim.m, p->slot, gsb_progress_end_ns(&p->progress, p->work_ns));
	}
}

static int by_start(const void *a, const void *b)
{
	const struct op *x = *(struct op *const *)a, *y = *(struct op *const *)b;

	if (x->from_ns != y->from_ns)
		return x->from_ns < y->from_ns ? -1 : 1;
	return x->seq < y->seq ? -1 : 1;
}

static void simulate(void)
{
	unsigned next = 0;
	uint64_t end;

	qsort(issued, n_issued, sizeof(*issued), by_start);
	for (;;) {
		bool any = gsb_machine_next_end(sim.m, &end);

		if (!any && next == n_issued)
			return;
		sim.now_ns = next < n_issued ? issued[next]->from_ns : UINT64_MAX;
		if (any && end < sim.now_ns)
			sim.now_ns = end;
		take_ends();
		take_starts(&next);
		place();
	}
}

/* ---- the verdict ---- */

static void compare(uint64_t serial, const char *what, uint64_t device, uint64_t model)
{
	if (device != model && ++n_bad < 20)
		fprintf(stderr,
			"trace_machine: serial %" PRIu64 " %s at %" PRIu64
			" on the device, at %" PRIu64 " in the model\n",
			serial, what, device, model);
}

int main(int argc, char **argv)
{
	struct gsb_trace_reader *r;
	struct gsb_trace_record rec;
	char why[GSB_TRACE_WHY_MAX];
	unsigned n_copies = 0;

	if (argc != 3)
		die("trace_machine NAME FILE");
	if (gsb_trace_open(argv[2], &r, why))
		die(why);
	sim.arch = gsb_arch_find(argv[1]);
	if (!sim.arch || gsb_trace_header(r)->n_sms != sim.arch->n_sms)
		die("not a trace of that device");
	while (gsb_trace_next(r, &rec) > 0)
		on_record(&rec);
	sim.room = sim.arch->n_sms * sim.arch->max_blocks;
	sim.placed = calloc(sim.room, sizeof(*sim.placed));
	sim.fresh = calloc(sim.room, sizeof(*sim.fresh));
	gsb_interference_init(&law, argv[1]);
	if (!sim.placed || !sim.fresh || gsb_progress_create(sim.arch, &law, &sim.progress) ||
	    gsb_machine_create(sim.arch, &gsb_rules_hardware, &sim.m))
		die("no memory");
	simulate();
	for (uint64_t i = 0; i < OPS_MAX; i++) {
		const struct op *op = &ops[i];
		bool is_link = op->kind == GSB_TRACE_OP_COPY && op->to != op->from;

		if (op->kind == GSB_TRACE_OP_LAUNCH && op->end_ns) {
			compare(i, "started", op->start_ns, op->own_start_ns);
			compare(i, "ended", op->end_ns, op->own_end_ns);
		} else if (is_link && op->end_ns) {
			compare(i, "moved its bytes", op->end_ns,
				op->start_ns + COPY_LATENCY_NS + op->bytes / LINK_BYTES_PER_NS);
			n_copies++;
		}
	}
	printf("launches=%u copies=%u different=%u\n", n_issued, n_copies, n_bad);
	return n_bad != 0;
}
