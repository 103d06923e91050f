/*
 * workload.h - a recorded load: what tenants asked a device for, in which order, and what each of them had waited for before it
 * asked. `gsb-trace replay` makes one of a trace; what reads it can run the same load under another policy, and keep the
 * order and the think times of the programs.
 *
 * A load is a text: a line a thing, "word key=value key=value ...", in this order:
 *
 *   gsb-load version=1
 *   device name=emu:h200 policy=fifo sms=132 clock=virtual
 *   tenant id=1 name=q1 program=gpu_db come=0 peak=4194304
 *   stream tenant=1 number=2 priority=0 blocking=1 legacy=0
 *   kernel id=1 tenant=1 name=scan regs=32 smem=0
 *   memory tenant=1 at=120 bytes=4194304
 *   op serial=17 tenant=1 stream=2 kind=launch post=4000 after=12 think=300 kernel=1 grid=15x1x1 block=128x1x1 ...
 *   end lines=7
 *
 * Times are of the device, in ns since the recording began. What is 0 may be left out. In names, what is not printable, a
 * blank, and any of #%" stand as % and two hexadecimal digits. From # on a line is a comment. doc/man/gsb-trace.1 says what each key
 * means.
 *
 * A text may be anybody's: what is read is checked whole, and every number of a thing names one that is there. Ids and serials
 * rise, so that what is named can be found; an operation names earlier ones alone, so that no two wait for each other.
 *
 * Context: pure but for memory, any thread.
 */
#ifndef GSB_MODEL_INPUT_WORKLOAD_H
#define GSB_MODEL_INPUT_WORKLOAD_H

#include <stdint.h>
#include <stdio.h>

#include "model/gpu/text.h"

#define GSB_WORKLOAD_VERSION  1
#define GSB_WORKLOAD_NONE     UINT32_MAX
#define GSB_WORKLOAD_NAME_MAX 256

/* In the order of the words in workload.c. */
enum gsb_workload_kind {
	GSB_WORKLOAD_LAUNCH,
	GSB_WORKLOAD_COPY,
	GSB_WORKLOAD_FILL,
	GSB_WORKLOAD_FREE,
	GSB_WORKLOAD_EVENT_RECORD,
	GSB_WORKLOAD_EVENT_WAIT,
	GSB_WORKLOAD_HOST_FUNC,
	GSB_WORKLOAD_NOP
};
enum gsb_workload_place {
	GSB_WORKLOAD_DEVICE,
	GSB_WORKLOAD_HOST,
	GSB_WORKLOAD_STAGING,
	GSB_WORKLOAD_INLINE
};
enum gsb_workload_clock { GSB_WORKLOAD_REAL, GSB_WORKLOAD_VIRTUAL };

/* What a line says is in the structs as it says it; *_at are indices of what is named, made when it is checked. */

struct gsb_workload_device {
	char name[128], policy[32];
	uint32_t n_sms;
	uint32_t clock;
};

struct gsb_workload_tenant {
	uint32_t id;
	char name[64], program[64];
	uint64_t come_ns;
	uint64_t peak_bytes; /* of device memory */
};

struct gsb_workload_stream {
	uint32_t tenant, number;
	int32_t priority; /* lower is more urgent */
	uint32_t blocking, legacy;
	uint32_t tenant_at;
};

struct gsb_workload_kernel {
	uint32_t id, tenant;
	char name[GSB_WORKLOAD_NAME_MAX];
	uint32_t regs, smem_bytes; /* of a thread; of a block, static */
	/* What it lives on, as enum gsb_unit and one more, 0: not known; how much of that it would use with as many blocks as the GPU has room
	 * for, were there more than all of it, in millionths. */
	uint32_t unit, want_ppm;
	uint32_t tenant_at;
};

/* What a tenant has of the device's memory from a moment on. */
struct gsb_workload_memory {
	uint32_t tenant;
	uint64_t at_ns, bytes;
	uint32_t tenant_at;
};

struct gsb_workload_op {
	uint64_t serial;
	uint32_t tenant, stream;
	uint32_t kind, thread;
	uint64_t post_ns;  /* as recorded */
	uint64_t after;	   /* its program had waited for that operation of its own; 0: for none */
	uint64_t think_ns; /* from the end of that, or from the tenant's coming, to the post */
	uint64_t on;	   /* event_wait: what it waits for; 0: nothing */
	uint32_t kernel;   /* launch: id */
	uint32_t grid[3], block[3];
	uint32_t smem_bytes; /* launch: dynamic */
	uint32_t cooperative;
	uint64_t bytes; /* copy, fill */
	uint32_t from, to;
	/* as recorded */
	uint64_t start_ns, end_ns, done_ns;
	uint64_t n_instructions; /* of warps */
	uint64_t alone_ns;	 /* launch: what such a one took without others; 0: not known */
	uint32_t tenant_at, stream_at, kernel_at, after_at, on_at; /* NONE where it names nothing */
};

struct gsb_workload {
	uint32_t version;
	struct gsb_workload_device device;
	struct gsb_workload_tenant *tenants; /* by id */
	struct gsb_workload_stream *streams; /* by tenant and number */
	struct gsb_workload_kernel *kernels; /* ids from 1 on */
	struct gsb_workload_memory *memory;
	struct gsb_workload_op *ops; /* by serial: in each stream the order in which they run */
	uint32_t n_tenants, n_streams, n_kernels, n_memory, n_ops;
};

/**
 * gsb_workload_parse() - a text, read and checked
 * @out: written only on success; gsb_workload_finish() frees it
 *
 * Return: 0, -EINVAL with line and reason in @err, -ENOMEM.
 */
int gsb_workload_parse(const char *text, size_t len, struct gsb_workload *out,
		       struct gsb_text_error *err);
void gsb_workload_finish(struct gsb_workload *l); /* takes a zeroed one, too */

/* Its text. What could not be written is to be asked of the file. */
void gsb_workload_write(FILE *to, const struct gsb_workload *l);

#endif
