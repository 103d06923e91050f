/*
 * account.h - what the operations of a trace cost: time alone on the device and beside others, what they waited for, and
 * how much slower they ran than alone. All from device times; nothing here prints.
 *
 * From its post to its end an operation waits for one thing after another, and then runs:
 *
 *   post  stream  epoch, event, code, socket  ready  policy, queues  issued  device  start  (runs)  end
 *
 * so its waits and its time on the device add up to what it took. "Alone" is the time in which no other kernel, of whatever
 * tenant or stream, was on the device. The measured slowdown of a launch is its time by the mean of those launches of the
 * same kernel, with as many blocks and threads, that were alone from beginning to end; without any it is not known.
 */
#ifndef GSB_TOOLS_TRACE_ACCOUNT_H
#define GSB_TOOLS_TRACE_ACCOUNT_H

#include "tools/trace/traced.h"

enum gsb_wait {
	GSB_WAIT_STREAM, /* earlier work of its stream */
	GSB_WAIT_EPOCH,	 /* in the order of enum gsb_trace_park from here */
	GSB_WAIT_EVENT,
	GSB_WAIT_CODE,
	GSB_WAIT_SOCKET,
	GSB_WAIT_POLICY,
	GSB_WAIT_QUEUES,
	GSB_WAIT_DEVICE, /* a launch's way to the device, and room there */
	GSB_N_WAITS
};

const char *gsb_wait_name(enum gsb_wait w); /* "stream" */
const char *gsb_wait_text(enum gsb_wait w); /* "earlier work of its stream" */

enum gsb_wait gsb_wait_of_park(const struct gsb_traced_park *p);

/* What one operation waited for, in ns; of one that is not completed: as far as it was told. */
void gsb_account_waits(const struct gsb_traced *t, const struct gsb_traced_op *op,
		       uint64_t waits[GSB_N_WAITS]);

/* Launches of the same kernel with as many blocks and threads. */
struct gsb_account_shape {
	uint64_t n_alone, alone_ns;
};

/* A sum over operations. */
struct gsb_account_row {
	char tenant[64];
	char program[64];
	char name
		[GSB_TRACED_NAME_MAX]; /* of a kernel, or of what else it is; of a range: its path */
	uint32_t id;		       /* the tenant's number */
	uint32_t kernel;	       /* index of one of its kernels; NONE */
	uint64_t n, n_launches, n_copies, n_fills, n_resized, n_failed;
	uint64_t run_ns, alone_ns, shared_ns; /* kernels; run_ns of any command */
	uint64_t copy_ns;		      /* copies and fills */
	uint64_t waits[GSB_N_WAITS], wait_ns;
	uint64_t bytes, bytes_h2d, bytes_d2h, bytes_d2d;
	uint64_t first_ns, last_ns, span_ns; /* first post, last completion */
	uint64_t peak_bytes;
	uint64_t n_opened, open_ns;	      /* of a range: how often, and how long in sum */
	uint64_t predicted_ppm, measured_ppm; /* slowdown; 0: not known */
	uint64_t n_predicted, sum_predicted_ppm;
	double sum_known_ns, sum_reference_ns;
};

struct gsb_accounts {
	uint64_t *alone_ns; /* of each operation of the trace */
	uint32_t *shape_of; /* of each; NONE */
	struct gsb_account_shape *shapes;
	struct gsb_account_row *tenants; /* as in the trace */
	struct gsb_account_row *kernels; /* by tenant and name, those that took longest first */
	struct gsb_account_row *ranges;	 /* of each label of the trace, with all that is in it */
	uint32_t n_shapes, n_kernels;
	uint64_t busy_ns; /* in which any kernel was on the device */
};

/* Of a trace of which all operations are kept. Return: 0, -ENOMEM. */
int gsb_accounts_make(struct gsb_accounts *a, const struct gsb_traced *t);
void gsb_accounts_finish(struct gsb_accounts *a);

/* How long the launch would have taken alone; 0: not known. */
double gsb_accounts_reference(const struct gsb_accounts *a, const struct gsb_traced *t,
			      const struct gsb_traced_op *op);

#endif
