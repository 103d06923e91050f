/*
 * trace_kit.c - see trace_kit.h.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/unit/trace_kit.h"
#include "tools/trace/source.h"
#include "trace/compact.h"
#include "trace/read.h"
#include "trace/write.h"

void trace_kit_put(struct trace_kit *k, const void *record)
{
	const struct gsb_trace_head *head = record;

	if (k->n + head->bytes > k->room) {
		k->room = 2 * k->room + 65536;
		k->bytes = realloc(k->bytes, k->room);
		assert_non_null(k->bytes);
	}
	memcpy(k->bytes + k->n, record, head->bytes);
	k->n += head->bytes;
}

void trace_kit_finish(struct trace_kit *k)
{
	free(k->bytes);
	*k = (struct trace_kit){0};
}

void trace_kit_tenant(struct trace_kit *k, uint32_t number, const char *name)
{
	struct gsb_trace_tenant_come e = {
		.head = {GSB_TRACE_TENANT_COME, sizeof(e), number, k->real_ns += 10},
		.pid = 100 + number,
		.program = "db",
	};

	snprintf(e.name, sizeof(e.name), "%s", name);
	trace_kit_put(k, &e);
}

void trace_kit_kernel(struct trace_kit *k, uint32_t tenant, uint64_t function, const char *name)
{
	struct gsb_trace_kernel e = {
		.head = {GSB_TRACE_KERNEL, sizeof(e), tenant, k->real_ns += 10},
		.function = function,
		.regs = 32,
	};

	snprintf(e.name, sizeof(e.name), "%s", name);
	trace_kit_put(k, &e);
}

static void put_detail(struct trace_kit *k, const struct kit_op *op)
{
	if (op->bytes)
		PUT(k, COPY, copy, op->tenant, .serial = op->serial, .bytes = op->bytes,
		    .from = op->from, .to = op->to, .n_rows = 1);
	else
		PUT(k, LAUNCH, launch, op->tenant, .serial = op->serial, .function = op->kernel,
		    .n_blocks = op->n_blocks, .grid_x = (uint32_t)op->n_blocks, .grid_y = 1,
		    .grid_z = 1, .block_x = 128, .block_y = 1, .block_z = 1);
}

static void put_decision(struct trace_kit *k, const struct kit_op *op)
{
	struct gsb_trace_decided e = {
		.head = {GSB_TRACE_DECIDED, sizeof(e), op->tenant, k->real_ns += 10},
		.serial = op->serial,
		.decision = op->serial + 1000,
		.device_ns = op->held,
		.n_blocks = op->n_blocks,
		.n_blocks_after = op->n_blocks,
		.predicted_ns = op->predicted_ns,
		.predicted_slowdown_ppm = op->predicted_ppm,
		.stream = op->stream,
		.n_ready = 1,
		.threads_per_block = op->bytes ? 0 : 128,
		.verdict = GSB_TRACE_VERDICT_HOLD,
	};

	for (unsigned i = 0; i < 4; i++) {
		e.beside[i] = op->beside[i];
		e.n_running += op->beside[i] != 0;
	}
	if (op->held)
		trace_kit_put(k, &e);
	if (op->held)
		PUT(k, HELD, held, op->tenant, .serial = op->serial,
		    .not_before_device_ns = op->issued + 1000, .until = op->beside[0]);
	e.device_ns = op->issued;
	e.verdict = GSB_TRACE_VERDICT_ISSUE;
	if (op->n_blocks_after)
		e.n_blocks_after = op->n_blocks_after;
	trace_kit_put(k, &e);
}

void trace_kit_op(struct trace_kit *k, const struct kit_op *op)
{
	PUT(k, QUEUED, queued, op->tenant, .serial = op->serial, .stream = op->stream,
	    .kind = op->bytes ? GSB_TRACE_OP_COPY : GSB_TRACE_OP_LAUNCH,
	    .post_device_ns = op->post);
	put_detail(k, op);
	if (op->on)
		PUT(k, PARKED, parked, op->tenant, .serial = op->serial, .on_serial = op->on,
		    .stream = op->stream, .on = op->park);
	PUT(k, READY, ready, op->tenant, .serial = op->serial, .ready_device_ns = op->ready,
	    .stream = op->stream, .n_ready = 1);
	put_decision(k, op);
	PUT(k, ISSUED, issued, op->tenant, .serial = op->serial, .device_ns = op->issued,
	    .stream = op->stream);
	PUT(k, FINISHED, finished, op->tenant, .serial = op->serial, .start_device_ns = op->start,
	    .end_device_ns = op->end, .n_blocks = op->n_blocks, .stream = op->stream);
	PUT(k, COMPLETED, completed, op->tenant, .serial = op->serial, .device_ns = op->end,
	    .number = ++k->numbers[(op->tenant * 8 + op->stream) % 64], .stream = op->stream);
}

/*
 * alice: scan alone 1000-2000, then beside bob's join 3000-5000; join behind it at 5100, held by the policy until 5600.
 * bob: a copy of 1 MiB 500-900, join 3500-4500 with its grid halved, then scan behind alice's event.
 */
void trace_kit_story(struct trace_kit *k)
{
	trace_kit_tenant(k, 1, "alice");
	trace_kit_tenant(k, 2, "bob");
	trace_kit_kernel(k, 1, 0xa1, "scan");
	trace_kit_kernel(k, 1, 0xa2, "join");
	trace_kit_kernel(k, 2, 0xa1, "join");
	trace_kit_op(k, &(struct kit_op){.tenant = 2,
					 .stream = 1,
					 .serial = 1,
					 .bytes = 1 << 20,
					 .from = GSB_TRACE_PLACE_HOST,
					 .to = GSB_TRACE_PLACE_DEVICE,
					 .post = 400,
					 .ready = 400,
					 .issued = 450,
					 .start = 500,
					 .end = 900});
	trace_kit_op(k, &(struct kit_op){.tenant = 1,
					 .stream = 1,
					 .serial = 2,
					 .kernel = 0xa1,
					 .n_blocks = 64,
					 .post = 900,
					 .ready = 900,
					 .issued = 950,
					 .start = 1000,
					 .end = 2000});
	trace_kit_op(k, &(struct kit_op){.tenant = 1,
					 .stream = 1,
					 .serial = 3,
					 .kernel = 0xa1,
					 .n_blocks = 64,
					 .post = 1500,
					 .ready = 2000,
					 .issued = 2900,
					 .start = 3000,
					 .end = 5000,
					 .predicted_ns = 1600,
					 .predicted_ppm = 1600000});
	trace_kit_op(k, &(struct kit_op){.tenant = 2,
					 .stream = 1,
					 .serial = 4,
					 .kernel = 0xa1,
					 .n_blocks = 200,
					 .n_blocks_after = 100,
					 .post = 1000,
					 .ready = 1000,
					 .issued = 3400,
					 .start = 3500,
					 .end = 4500,
					 .held = 1000,
					 .beside = {3},
					 .predicted_ns = 1100,
					 .predicted_ppm = 1100000});
	trace_kit_op(k, &(struct kit_op){.tenant = 1,
					 .stream = 1,
					 .serial = 5,
					 .kernel = 0xa2,
					 .n_blocks = 32,
					 .post = 2500,
					 .ready = 5000,
					 .held = 5100,
					 .issued = 5600,
					 .start = 5700,
					 .end = 6000});
	trace_kit_op(k, &(struct kit_op){.tenant = 2,
					 .stream = 2,
					 .serial = 6,
					 .kernel = 0xa1,
					 .n_blocks = 100,
					 .post = 4600,
					 .ready = 6000,
					 .on = 5,
					 .park = GSB_TRACE_PARK_EVENT,
					 .issued = 6050,
					 .start = 6100,
					 .end = 6600});
}

void trace_kit_compact(struct trace_kit *k)
{
	_Alignas(8) uint8_t room[2048] = {0};
	struct gsb_compact_launch *launch = (void *)room;
	struct gsb_compact_decision *decision;
	struct gsb_compact_run *run;
	const uint64_t first = 20;

	*launch = (struct gsb_compact_launch){
		.head = {GSB_COMPACT_LAUNCH, sizeof(*launch) + 2 * sizeof(launch->more[0]), 1,
			 k->real_ns += 10},
		.serial = first,
		.post_device_ns = 7000,
		.rec.stream = 3,
		.body = {.function = 0xa1, .grid = {4, 2, 1}, .block = {64, 1, 1}},
	};
	trace_kit_put(k, launch);
	memset(room, 0, sizeof(room));
	decision = (void *)room;
	*decision = (struct gsb_compact_decision){
		.head = {GSB_COMPACT_DECISION, sizeof(*decision) + 2 * sizeof(decision->issues[0]),
			 0, k->real_ns += 10},
		.decision = 2000,
		.device_ns = 7100,
		.n_ready = 2,
	};
	for (unsigned i = 0; i < 2; i++)
		decision->issues[i] = (struct gsb_compact_issue){
			.op = {first + i, 7050},
			.stream = {1, 3},
			.issued_device_ns = 7150,
			.n_blocks_after = 8,
			.n_blocks = 8,
			.form = i ? GSB_TRACE_FORM_SLICE : GSB_TRACE_FORM_AS_ASKED,
			.n_parts = 2,
			.threads_per_block = 64,
			.n_ready = 1,
		};
	trace_kit_put(k, decision);
	memset(room, 0, sizeof(room));
	run = (void *)room;
	*run = (struct gsb_compact_run){
		.head = {GSB_COMPACT_RUN, sizeof(*run) + 2 * sizeof(run->steps[0]), 0,
			 k->real_ns += 10},
		.stream = {1, 3},
		.serial = first,
		.number = 1,
		.decision = 2001,
	};
	for (unsigned i = 0; i < 2; i++)
		run->steps[i] = (struct gsb_compact_step){
			.next = {first + 1 + i, 7300 + 100 * i},
			.start_device_ns = 7200 + 100 * i,
			.end_device_ns = 7300 + 100 * i,
			.n_blocks = 8,
			.n_blocks_next = 8,
			.threads_per_block_next = 64,
		};
	trace_kit_put(k, run);
	trace_kit_put(k, &(struct gsb_compact_end){
				 .head = {GSB_COMPACT_END, sizeof(struct gsb_compact_end), 0,
					  k->real_ns += 10},
				 .stream = {1, 3},
				 .serial = first + 2,
				 .number = 3,
				 .result = {.start_device_ns = 7400, .end_device_ns = 7500},
			 });
}

int trace_kit_file(const struct trace_kit *k, int torn)
{
	const struct gsb_trace_header about = {
		.is_virtual = 1,
		.pid = 17,
		.version = "1.2",
		.device = "emu:h200",
		.policy = "fifo",
		.n_sms = 132,
	};
	struct gsb_trace_writer w;
	int fd = memfd_create("trace", MFD_CLOEXEC);

	assert_int_equal(gsb_trace_write_header(&w, fd, &about), 0);
	for (size_t at = 0, end = 0; at < k->n; at = end) {
		while (end < k->n) {
			const struct gsb_trace_head *head = (const void *)(k->bytes + end);

			if (end + head->bytes - at > GSB_TRACE_CHUNK_MAX)
				break;
			end += head->bytes;
		}
		assert_int_equal(gsb_trace_write_chunk(&w, k->bytes + at, (uint32_t)(end - at)), 0);
	}
	if (!torn)
		assert_int_equal(gsb_trace_write_chunk(&w, NULL, 0), 0);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	return fd;
}

void trace_kit_load(const struct trace_kit *k, struct gsb_traced *t)
{
	char why[GSB_TRACE_WHY_MAX] = "";

	*t = (struct gsb_traced){0};
	assert_int_equal(gsb_traced_load_fd(t, trace_kit_file(k, 0), why), 0);
}

void trace_kit_silence(int saved[2])
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		saved[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 10);
		dup2(null, i + 1);
	}
	close(null);
}

void trace_kit_restore(const int saved[2])
{
	fflush(NULL);
	for (int i = 0; i < 2; i++) {
		dup2(saved[i], i + 1);
		close(saved[i]);
	}
}

void trace_kit_folder(char path[TEMP_PATH_MAX])
{
	temp_path(path, "gsb-tau-XXXXXX");
	assert_non_null(mkdtemp(path));
}

void trace_kit_remove(const char *path)
{
	DIR *d = opendir(path);

	assert_non_null(d);
	for (const struct dirent *e = readdir(d); e; e = readdir(d))
		unlinkat(dirfd(d), e->d_name, 0); /* its two folders stay */
	closedir(d);
	assert_int_equal(rmdir(path), 0);
}
