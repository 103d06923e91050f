/*
 * loader.h - the thread that does what may be slow, one job at a time. Where the device says that loads of different tenants do not
 * wait for each other (loads_apart), there are as many threads as tenants that load at a time, and one job at a time of each.
 *
 * A job carries all that it needs, and only the engine's thread reads what came out. It counts as work of
 * its context (order/fence.h), so that nothing that it uses is destroyed under it.
 */
#ifndef GSB_BROKER_ENGINE_CODE_LOADER_H
#define GSB_BROKER_ENGINE_CODE_LOADER_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "broker/engine/code/demand.h"
#include "broker/engine/memory/grant.h"
#include "broker/engine/tenant/mailbox.h"
#include "broker/policy/shape.h"
#include "device/ops.h"
#include "gsb/wire.h"

struct gsb_code_module;
struct gsb_compare;
struct gsb_ctx;
struct gsb_fence;
struct gsb_upload;
struct gsb_kernel_fn;
struct gsb_resizing;
struct gsb_variants;
struct gsb_tenant;

#define GSB_LOAD_LOG_MAX 1024

/* A kernel of a module as the device has it: the original, or one of its variants. */
struct gsb_kernel_form {
	struct gsb_function *function; /* NULL: there is none */
	uint32_t params_bytes, regs, static_smem_bytes, max_threads;
};

/* Made and freed by the engine's thread. */
struct gsb_job {
	struct gsb_mail mail;
	struct gsb_job *next;
	uint64_t round; /* ascending is the order of jobs; more than its tenant's last */
	struct gsb_tenant *tenant;
	struct gsb_ctx *ctx;	 /* NULL: of no context (ImagePart) */
	struct gsb_fence *fence; /* held; NULL with ctx */
	struct gsb_space *space; /* of ctx */
	void (*run)(struct gsb_job *j,
		    const struct gsb_device_ops *ops); /* on a thread of the loader */
	void (*done)(struct gsb_job *j); /* on the engine's, afterwards: answer, and destroy it */
	struct gsb_rec call;		 /* whom to answer */
	uint64_t asked_ns;		 /* real time, for the trace */
	struct gsb_code_module *module;
	struct gsb_kernel_fn *fn;
	struct gsb_upload *image;
	const uint8_t *src;	 /* ImagePart: in the staging memory */
	uint64_t offset, length; /* ImagePart */
	int err;
	struct gsb_module *loaded; /* ModuleLoad */
	uint64_t managed;	   /* ModulePlace, and the next */
	bool initialise;
	struct gsb_grant_wait wait; /* ModuleLoad: for what its variables take */
	uint64_t heap_bytes;	    /* of what it waits for: what kernels allocate themselves */
	struct gsb_fence *fresh;    /* ModuleLoad: to unload it again */
	const struct gsb_resizing *resizing;
	struct gsb_variants
		*variants;   /* ModuleLoad: made; FunctionGet: of its module. NULL: none */
	uint32_t cc;	     /* ModuleLoad: of the device, 90 */
	uint64_t room_bytes; /* ModuleLoad: host memory that variants may take */
	uint32_t
		shapes; /* FunctionPrepare: GSB_SHAPE_BIT() of variants; those that cannot be are taken out */
	struct gsb_kernel_form
		forms[GSB_N_SHAPES]; /* FunctionGet: by shape; the original is AS_ASKED */
	struct gsb_function_info info;
	uint64_t *words;	      /* of a launch that counted */
	struct gsb_cmd_launch launch; /* that; its parameters are gone */
	struct gsb_warp_demand demand;
	struct gsb_compare *compare; /* of a launch that was run both ways */
	char name[GSB_NAME_MAX + 1];
	char log[GSB_LOAD_LOG_MAX];
};

#define GSB_N_LOADERS_MAX GSB_N_SLOTS /* one that hangs is in the way of its tenant alone */

/* All under lock but the last two, and there once it has been told to stop. */
struct gsb_loader {
	pthread_mutex_t lock;
	pthread_cond_t work;
	pthread_t threads
		[GSB_N_LOADERS_MAX]; /* the first stays, the others leave when they find nothing to do */
	uint64_t there, left;	     /* of these, a bit each; who has left is still to be joined */
	unsigned n_doing; /* of those that are there; others are idle, or about to look */
	struct gsb_job *todo, *doing; /* by round; in any order */
	uint64_t round;		      /* the latest of a job that was begun */
	bool stop;
	struct gsb_mailbox *box; /* for what is done */
	const struct gsb_device_ops *ops;
};

int gsb_loader_start(struct gsb_loader *l, const struct gsb_device_ops *ops,
		     struct gsb_mailbox *box);
void gsb_loader_stop(struct gsb_loader *l); /* finishes what it has */
void gsb_loader_give(struct gsb_loader *l, struct gsb_job *job);

/* Real time at which the oldest job of that tenant was asked for that is not done; 0: there is none. */
uint64_t gsb_loader_waits_since(struct gsb_loader *l, const struct gsb_tenant *t);

#endif
