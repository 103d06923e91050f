/*
 * control.h - what gsbrokerd and an engine say to each other.
 *
 * gsbrokerd starts one gsb-engine for each (device, trust domain) with one end of a SOCK_SEQPACKET
 * socketpair, and never touches a device itself. The engine opens its device and reports READY or
 * FAILED; from then on gsbrokerd hands it every client that it admitted (ADMIT, with the client's
 * socket and pidfd) and the engine answers the client itself (WELCOME or REFUSED, gsb/wire.h).
 *
 *   gsbrokerd                                   gsb-engine
 *      | -- exec --control-fd N --device SPEC ------> |
 *      | <------------------ MEMORY_OPEN -------------|
 *      | <------------------ READY or FAILED ---------|
 *      | -- ADMIT, fds: client socket, pidfd -------> |
 *      | <---------- ADMITTED, REFUSED or PASSED -----|  engine -> client: WELCOME or REFUSED
 *      | -- STATUS, LIMITS, TRACE ------------------> |
 *      | <------------------ STATUS_REPLY, TRACE_REPLY|
 *      | <------------------ MEMORY_ASK, _RETURN -----|
 *      | -- MEMORY_GRANT, _RECALL ------------------> |  see below
 *      | -- END ------------------------------------> |  the tenant's process has exec'ed
 *      | <------------------ GONE --------------------|  all memory of the tenant is free again
 *      | <------------------ STUCK -------------------|  kills it; MPS's clients would be told of its own exit
 *      | -- SHUTDOWN, or end of file ---------------> |  exits 0
 *
 * Both ends are of one build and trust each other; sizes are still checked, because a half-upgraded
 * installation may pair two builds. Messages begin with struct gsb_msg and travel by shm/channel.h.
 * Neither end ever blocks in a send, and each keeps what does not fit until it does; only a STATUS_REPLY
 * is dropped by an engine whose peer does not read (gsbrokerd asks again).
 */
#ifndef GSB_BROKER_CONTROL_H
#define GSB_BROKER_CONTROL_H

#include <assert.h>
#include <stdint.h>

#include "gsb/device_info.h"
#include "gsb/wire.h"
#include "shm/channel.h"

/* Numbers begin after those of wire.h, so that a message on the wrong socket is not understood. */
enum gsb_ctl_type {
	GSB_CTL_READY = 64, /* engine: the device is open */
	GSB_CTL_FAILED,	    /* engine: it is not; the engine exits 1 */
	GSB_CTL_ADMIT,	    /* gsbrokerd, fds in this order: client socket, client's pidfd */
	GSB_CTL_ADMITTED, /* engine; the client will be told: refused it may be yet, when that fails */
	GSB_CTL_REFUSED, /* engine; the client was told too */
	GSB_CTL_PASSED, /* engine: it does not take the client in, which knows of nothing: it goes to the
				  next engine, or is refused for that reason. struct gsb_ctl_refused */
	GSB_CTL_GONE,	       /* engine: the tenant has left and nothing of it is left */
	GSB_CTL_LIMITS,	       /* gsbrokerd: new limits for one tenant, after a reload */
	GSB_CTL_STATUS,	       /* gsbrokerd */
	GSB_CTL_STATUS_REPLY,  /* engine: struct gsb_ctl_status_reply */
	GSB_CTL_SHUTDOWN,      /* gsbrokerd */
	GSB_CTL_END,	       /* gsbrokerd: struct gsb_ctl_end */
	GSB_CTL_MEMORY_OPEN,   /* engine: struct gsb_ctl_memory */
	GSB_CTL_MEMORY_ASK,    /* engine: struct gsb_ctl_memory */
	GSB_CTL_MEMORY_RETURN, /* engine: struct gsb_ctl_memory_return */
	GSB_CTL_MEMORY_GRANT,  /* gsbrokerd: struct gsb_ctl_memory_grant */
	GSB_CTL_MEMORY_RECALL, /* gsbrokerd: struct gsb_ctl_memory, bytes 0 */
	GSB_CTL_TRACE,	       /* gsbrokerd, RECORD with the file: struct gsb_ctl_trace */
	GSB_CTL_TRACE_REPLY,   /* engine: struct gsb_ctl_trace_reply */
	GSB_CTL_STUCK, /* engine, struct gsb_msg: a kernel of it does not end; gsbrokerd is to end it */
	GSB_CTL_ORPHANS,    /* engine: struct gsb_ctl_orphans */
	GSB_CTL_MEMORY_LAST /* engine: struct gsb_ctl_memory */
};

/*
 * Limits of one tenant. 0 stands for the engine's default (GSB_DEFAULT_*), except for device
 * memory, where it means "what the device has". After admission only queued_records,
 * device_mem_bytes and what a policy weighs can change (LIMITS): a lower limit never takes away what the tenant has, and a
 * higher one of device memory is for contexts that it creates from then on.
 */
struct gsb_tenant_limits {
	uint64_t device_mem_bytes;
	uint64_t host_mem_bytes;  /* pinned host memory: size of the host window */
	uint64_t staging_bytes;	  /* staging memory of pageable copies */
	uint64_t image_max_bytes; /* of one module image */
	uint64_t code_mem_bytes;  /* host memory of its loaded modules */
	uint64_t queued_bytes;	  /* records in the stream queues, with their inline bytes */
	uint32_t queued_records;
	uint32_t weight;	   /* of its share, GSB_DEFAULT_WEIGHT for the usual one */
	uint64_t max_wait_ns;	   /* of what is ready; 0: as the policy has it */
	uint64_t deadline_ns;	   /* of kernels, from when they are ready; 0: they have none */
	uint32_t critical;	   /* 1: its launches are to begin at once */
	uint32_t slowdown_percent; /* its kernels may take so much longer than alone; 0: no limit */
};

#define GSB_DEFAULT_HOST_MEM_BYTES  (4ull << 30) /* numbers only: pages appear when allocated */
#define GSB_DEFAULT_STAGING_BYTES   (16ull << 20)
#define GSB_DEFAULT_IMAGE_MAX_BYTES (256ull << 20)
#define GSB_DEFAULT_CODE_MEM_BYTES  (1ull << 30)
#define GSB_DEFAULT_QUEUED_BYTES    (8ull << 20)
#define GSB_DEFAULT_QUEUED_RECORDS  16384u
#define GSB_DEFAULT_WEIGHT	    100u

struct gsb_ctl_ready {
	struct gsb_msg msg;
	struct gsb_device_info device;
};

struct gsb_ctl_failed {
	struct gsb_msg msg;
	int32_t error; /* -errno */
	uint32_t zero;
	char reason[256];
};

struct gsb_ctl_admit {
	struct gsb_msg msg;
	uint32_t tenant_id;	/* gsbrokerd's number for this admission, never used again */
	uint32_t pid, uid, gid; /* by SO_PEERCRED */
	char tenant[GSB_TENANT_NAME_MAX]; /* the name that the config decided on */
	struct gsb_tenant_limits limits;
	struct gsb_msg_hello hello; /* as the client sent it; the strings are NUL-terminated */
};

struct gsb_ctl_admitted {
	struct gsb_msg msg;
	uint32_t tenant_id, slot;
};

struct gsb_ctl_refused {
	struct gsb_msg msg;
	uint32_t tenant_id;
	int32_t error; /* -errno */
	char reason[256];
};

/* Why a tenant left. */
enum gsb_gone_reason {
	GSB_GONE_EXITED, /* its process ended, or became another program */
	GSB_GONE_CUT	 /* it broke the protocol: result and reason in the engine's log */
};

/*
 * The process of a tenant has become another program (execve) and said hello again: the tenant that
 * it was ends as if the process had ended, and GONE follows with EXITED. It comes before the ADMIT of
 * the new tenant, which may be for another engine. One that has left already needs nothing.
 */
struct gsb_ctl_end {
	struct gsb_msg msg;
	uint32_t tenant_id, zero;
};

/* What programs that have left keep on its device does not end: nobody else is to come, until there is none of that any more (engine/orphan.h). */
struct gsb_ctl_orphans {
	struct gsb_msg msg;
	uint32_t any; /* 1, 0 */
	uint32_t zero;
};

struct gsb_ctl_limits {
	struct gsb_msg msg;
	uint32_t tenant_id, zero;
	struct gsb_tenant_limits limits;
};

struct gsb_ctl_status {
	struct gsb_msg msg;
	uint64_t number; /* comes back in the reply */
};

/*
 *   ADMITTED ---> ACTIVE ---> LEAVING ---> (gone)
 *                 first       pidfd readable, or cut; what
 *                 record      is in flight still ends
 */
enum gsb_tenant_state { GSB_TENANT_ADMITTED, GSB_TENANT_ACTIVE, GSB_TENANT_LEAVING };

/*
 * What the heads of a tenant's streams have waited for. What stands behind work of its own stream waits for nobody
 * else, and counts nowhere here.
 */
enum gsb_waited {
	GSB_WAITED_ORDER, /* device time: the other side of "legacy stream against blocking streams" */
	GSB_WAITED_EVENT, /* device time: an event that another stream records */
	GSB_WAITED_CODE,  /* real time: its kernel was being made ready */
	GSB_WAITED_POLICY, /* device time: ready, and held by the policy or for want of a device queue */
	GSB_WAITED_DEVICE, /* device time: issued, and no room on the device yet */
	GSB_N_WAITED
};

#define GSB_KERNEL_NAME_SHOWN 64

/* One tenant, as `gsbctl ps` shows it. Counts are since admission, device times are device time. */
struct gsb_ctl_tenant {
	uint32_t tenant_id, slot;
	uint32_t pid, uid;
	char tenant[GSB_TENANT_NAME_MAX], program[GSB_TENANT_NAME_MAX];
	uint32_t state; /* enum gsb_tenant_state */
	uint32_t n_ctxs, n_streams, n_events, n_modules;
	uint32_t queued;    /* records that wait in stream queues now */
	uint32_t in_flight; /* commands on the device now */
	uint32_t zero;
	uint64_t records; /* consumed from the ring, all types */
	uint64_t launches, copies, fills;
	uint64_t kernels; /* launches that completed without error */
	uint64_t bytes_h2d, bytes_d2h, bytes_d2d;
	uint64_t device_ns; /* sum over kernels, first block placed to last block ended */
	uint64_t copy_ns;   /* the same over copies and fills */
	uint64_t sm_ns;	    /* gsb_code_sm_ns(): kernels, one SM for one nanosecond counts 1 */
	uint64_t wait_ns[GSB_N_WAITED];
	uint64_t
		n_mem_refused; /* allocations, device and pinned, that it asked for and has not got */
	uint64_t n_resized;    /* launches that were made in another geometry, or by a variant */
	uint64_t n_late;       /* kernels behind their deadline, where the policy goes by that */
	uint64_t n_shadowed,
		n_differed; /* launches run both ways; of them, with different results */
	/* Where the policy predicts, of kernels that completed without error. */
	uint64_t error_ppm, n_predicted; /* gsb_model_error_ppm(): a sum, of so many */
	uint64_t known_ns,
		alone_ns; /* of those of which it is known: what they took, and would have taken alone */
	uint64_t instructions; /* of warps; 0 where the device does not count */
	uint64_t device_mem_bytes, device_mem_peak_bytes, device_mem_limit_bytes;
	uint64_t host_mem_bytes, host_mem_peak_bytes, host_mem_limit_bytes;
	uint32_t n_errors;   /* sticky errors of its contexts */
	int32_t last_error;  /* CUresult of the last one */
	uint64_t charged_ns; /* virtual clock: charged for running too long; not 0 = this
				       run is not repeatable */
	/* Of its commands on the device, the kernel that was issued first; "": there is none. */
	char running_kernel[GSB_KERNEL_NAME_SHOWN]; /* cut to what fits */
	/* How long it has been executed: real time, because virtual time stands still meanwhile; where the
	 * device does not know, device time since it was issued. */
	uint64_t running_ns;
};

struct gsb_ctl_gone {
	struct gsb_msg msg;
	uint32_t tenant_id;
	uint32_t reason;	    /* enum gsb_gone_reason */
	struct gsb_ctl_tenant last; /* its row at the end, for the totals by name */
};

/* What an engine records of itself (broker/engine/trace). Counts are of the recording that is, or was last. */
struct gsb_ctl_trace_state {
	uint32_t recording; /* 1: to a file */
	uint32_t lttng;	    /* 1: LTTng sessions may enable its events */
	int32_t error;	    /* why the last recording ended early, -errno; 0: it did not */
	uint32_t zero;
	uint64_t n_events, n_lost, n_bytes;
};

/* STOP is answered when the file is whole, the others at once. */
enum gsb_trace_what { GSB_TRACE_WHAT_RECORD, GSB_TRACE_WHAT_STOP, GSB_TRACE_WHAT_LTTNG };

struct gsb_ctl_trace {
	struct gsb_msg msg;
	uint64_t
		number; /* comes back in the reply; 0: nobody waits for it, but a failure is logged */
	uint32_t what; /* enum gsb_trace_what */
	uint32_t zero;
};

struct gsb_ctl_trace_reply {
	struct gsb_msg msg;
	uint64_t number;
	int32_t error; /* -errno */
	uint32_t zero;
	struct gsb_ctl_trace_state state;
	char reason[256]; /* of an error: a sentence */
};

struct gsb_ctl_status_reply {
	struct gsb_msg msg;
	uint64_t number;
	uint64_t real_ns;   /* since the engine started */
	uint64_t device_ns; /* device clock now */
	uint64_t device_mem_free_bytes, device_mem_total_bytes;
	uint64_t records, launches, kernels; /* of tenants that are gone, too */
	uint64_t device_busy_ns; /* sum of kernel times, of tenants that are gone, too */
	uint64_t n_admitted, n_refused, n_cut;
	struct gsb_ctl_trace_state trace;
	char policy[32];
	uint32_t n_sms;		/* of the device */
	uint32_t n_queues_busy; /* device queues with work now */
	uint32_t n_tenants;	/* rows that follow */
	uint32_t zero;
	struct gsb_ctl_tenant tenants[]; /* at most GSB_N_SLOTS */
};
static_assert(sizeof(struct gsb_ctl_status_reply) + GSB_N_SLOTS * sizeof(struct gsb_ctl_tenant) <=
		      GSB_CHANNEL_MSG_MAX,
	      "a full engine's status is one message");

/* NOW cuts every tenant off; DRAIN admits nobody and exits when the last tenant has left. */
enum gsb_shutdown_how { GSB_SHUTDOWN_DRAIN, GSB_SHUTDOWN_NOW };

struct gsb_ctl_shutdown {
	struct gsb_msg msg;
	uint32_t how, zero; /* enum gsb_shutdown_how */
};

/*
 * Device memory. All engines of a device draw on one ledger, gsbrokerd's, so that what they hold
 * together is never more than the device has. An engine holds up to its grant,
 *
 *   grant = the bytes of all GRANTs that it received - those of all RETURNs that it decided on,
 *
 * of which `used` is what its tenants' allocations and modules take: used <= grant, always. A message
 * says a difference, so that those on their way in both directions cannot contradict each other.
 *
 * The engine that is alone on its device is granted all of it, with keep set, and never asks: it
 * allocates and frees within its grant. When a second engine comes, the first gets a RECALL and from
 * then on each holds what it uses, and no more: it asks before it allocates and returns what is freed.
 * When one is left, it is granted the rest, with keep set.
 *
 * What an engine does:
 *
 *   OPEN     Once, before READY, with the device memory that it offers (--mem-limit observed). An
 *            engine that does not has no part in the ledger.
 *   ASK      For an allocation of n bytes with used + n > grant: n - (grant - used) bytes. The call
 *            waits for the answer, in a queue of the engine in which the calls of all its tenants stand
 *            in the order of their records; one ASK is out at a time, for the head. The engine serves
 *            everybody else meanwhile; virtual time stands still, as while a module is loaded. A call
 *            whose tenant leaves is taken out.
 *            An ASK of 0 bytes asks for the figures alone: cuMemGetInfo, when keep is not set. (With
 *            keep set, free is grant - used.)
 *            A module's globals are known once it is loaded: the engine asks for them then, and unloads
 *            it again if they are refused.
 *   GRANT    Adds its bytes to the grant, and replaces keep. If it answers an ASK: with error, the
 *            call at the head fails with CUDA_ERROR_OUT_OF_MEMORY; without, and if the call fits now,
 *            it is done; if not, because a RECALL came between, ASK again. What is then above used is
 *            returned, unless keep is set.
 *   RETURN   When keep is not set, whatever is above used and not needed by the head of the queue: at
 *            once when memory is freed.
 *   LAST     The engine ends, with so many bytes used: that is its grant now, whatever is on its way. Its device may
 *            take seconds to end, after a fault, too, and others are not to wait for what nobody uses. It asks
 *            for nothing and hears nothing any more; what it frees yet it returns, and the rest goes with its process.
 *   RECALL   keep is no longer set: RETURN all that is above used, with recall = 1, at once, and also
 *            when that is 0 bytes. ASKs of others wait for this answer, for a second at most. What tenants
 *            keep of what they freed (engine/memory/kept.h) is used no longer first. For that alone
 *            (keeps = 1) gsbrokerd sends it before it refuses an ASK, to all others that keep any; what
 *            the head of the queue needs is not returned then, or two that wait would go on
 *            giving each other what they have.
 *
 * ASK and RETURN must not be lost: what the socket does not take is sent when it does. The bytes of
 * RETURNs that wait add up to one.
 */
struct gsb_ctl_memory {
	struct gsb_msg msg;
	uint64_t bytes;
	uint32_t keeps,
		zero; /* OPEN: 1: some of what it uses nobody may need; RECALL: 1: that alone */
};

struct gsb_ctl_memory_return {
	struct gsb_msg msg;
	uint64_t bytes;
	uint32_t recall, zero; /* 1: this answers the RECALL */
};

struct gsb_ctl_memory_grant {
	struct gsb_msg msg;
	uint64_t bytes;			  /* added to the grant */
	uint64_t free_bytes, total_bytes; /* of the device: granted to nobody; in all */
	uint32_t answer;		  /* 1: this answers the ASK */
	uint32_t keep;			  /* 1: memory that is freed stays in the grant */
	int32_t error;			  /* -ENOMEM: there is not so much; bytes is 0 */
	uint32_t zero;
};

/* What may be done with the geometry of launches: [resize] mode. */
enum gsb_resize_mode { GSB_RESIZE_MODE_OFF, GSB_RESIZE_MODE_SAFE, GSB_RESIZE_MODE_SHADOW };

/*
 * gsb-engine's arguments (the engine has no configuration file: gsbrokerd read it):
 *
 *   --control-fd N       the engine's end of the socketpair
 *   --device SPEC        "emu:h200", "null", ... (device/ops.h)
 *   --policy NAME        order of issue; default fifo
 *   --critical-sms-percent N
 *                        of the SMs, kept free for critical tenants; default 12
 *   --critical-wait-us N a critical tenant waits so long for SMs, if that can be; 0 = as it comes
 *   --workers N          emu: threads that execute blocks; 0 = one for each CPU
 *   --mem-limit BYTES    device memory to offer; 0 = what the device has
 *   --real-clock         device time is real time
 *   --host-call-ns N     virtual clock: what the host work of one record costs
 *   --gate-timeout-ms N  virtual clock: real time after which a running tenant is charged
 *   --kernel-limit-ms N  a kernel that runs longer in real time is abandoned; 0 = never
 *   --orphan-limit-ms N  a kernel that runs so long after its tenant left is an orphan (engine/orphan.h); 0 = never
 *   --resize MODE        off, safe or shadow; the others that begin so are the keys of [resize], lists with blanks
 *   --flip SPEC          fault injection of the device, for tests (gsb-engine(8))
 *   --mps                it is a client of MPS: its end, when a kernel runs, is gsbrokerd's (STUCK)
 *   --trace              load gsb-tp.so at once: LTTng-UST events gsb:*
 *   --log-level LEVEL    off error warn info debug
 *
 * It ignores SIGINT and SIGHUP (gsbrokerd's terminal), and leaves on SIGTERM as on SHUTDOWN now.
 */
#endif
