/*
 * code.h - modules and functions of a tenant.
 *
 * Loading a module, finding a function and preparing a kernel can be slow (a parser, a compiler), so
 * they are jobs of one loader thread (loader.h); the engine goes on meanwhile and answers when the
 * job comes back.
 */
#ifndef GSB_BROKER_ENGINE_CODE_CODE_H
#define GSB_BROKER_ENGINE_CODE_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "broker/control.h"
#include "broker/engine/code/facts.h"
#include "broker/engine/code/loader.h"
#include "broker/engine/code/resizing.h"
#include "broker/engine/trace/trace.h"
#include "device/ops.h"
#include "gsb/kernel.h"
#include "gsb/wire.h"

struct gsb_ctx;
struct gsb_fence_job;
struct gsb_order;
struct gsb_stream;
struct gsb_tenant;

/* CUfunction_attribute numbers. */
#define GSB_ATTR_MAX_THREADS	  0
#define GSB_ATTR_SHARED_BYTES	  1
#define GSB_ATTR_NUM_REGS	  4
#define GSB_ATTR_MAX_DYNAMIC_SMEM 8
#define GSB_ATTR_CARVEOUT	  9

#define GSB_N_MODULES_MAX   (1u << 16) /* handle index, of one tenant */
#define GSB_N_FUNCTIONS_MAX (1u << 20) /* likewise */
#define GSB_N_GLOBALS_MAX   256	       /* variables of one module that copies may name */
#define GSB_N_JOBS_MAX	    256	       /* of one tenant; past it, its ring waits */

struct gsb_code_module {
	uint64_t handle; /* 0: neither it nor a function of it can be named any more */
	struct gsb_ctx *ctx;
	const bool *is_gone;		   /* its context has ended, or it was unloaded */
	struct gsb_module *module;	   /* NULL: still loading */
	struct gsb_variants *variants;	   /* NULL: it was loaded as it is, */
	enum gsb_trace_refusal as_it_is;   /* because of that */
	struct gsb_kernel_fn *functions;   /* got from it; each is charged by itself */
	struct gsb_code_module *prev;	   /* of its context, as the next; or */
	struct gsb_code_module *next;	   /* of those that are freed in turns */
	uint64_t device_bytes, host_bytes; /* what it is charged for */
	uint64_t managed_bytes; /* of its managed variables, which lie in pinned memory */
	uint64_t managed;	/* there; 0: nowhere yet, and nothing of it can be named */
	bool is_placing;
	uint64_t hash;	      /* of its image */
	CUresult refused;     /* it is to be unloaded: there is no memory for it */
	uint32_t reply_bytes; /* of what stands in its caller's reply slot */
	uint64_t globals
		[GSB_N_GLOBALS_MAX]; /* addresses that were added to the context's live map */
	uint32_t n_globals;
};

enum gsb_fn_state { GSB_FN_NEW, GSB_FN_PREPARING, GSB_FN_READY, GSB_FN_FAILED };

/* A kernel of a module, as the tenant's handle names it. */
struct gsb_kernel_fn {
	uint64_t handle;
	struct gsb_code_module *module;
	struct gsb_kernel_fn *next; /* of the same module */
	struct gsb_function *function;
	struct gsb_proof *proof; /* what is proven of it; NULL: nothing */
	uint32_t shapes;	 /* GSB_SHAPE_BIT() of those that its launches may have */
	struct gsb_kernel_form forms[GSB_N_SHAPES];
	uint64_t took_ns;  /* device time of its last launch; 0: none yet */
	uint64_t n_shaped; /* launches in another shape */
	bool is_cut;	   /* its last launch was: broker/policy/cut.h */
	enum gsb_fn_state state;
	int prepare_err;		  /* FAILED: -errno */
	struct gsb_stream *waiters;	  /* their heads launch it while it is PREPARING */
	char name[GSB_KERNEL_NAME_SHOWN]; /* cut to what fits */
	uint64_t hash;			  /* of its module's image and its name; never 0 */
	uint32_t params_bytes, regs, static_smem_bytes;
	int32_t max_dynamic_smem_bytes; /* what FunctionSet said, or the driver's default */
	int32_t carveout_percent; /* of an SM's shared memory, that the program prefers; -1: no matter */
	unsigned facts_at;	  /* of the last launch */
	struct gsb_launch_facts facts[GSB_N_FACTS];
};

/* Handlers of records (dispatch.c has checked nothing but sizes). 0, -EPROTO, -EAGAIN: dispatch.h. */
int gsb_code_image_part(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_image_part *body);
int gsb_code_image_drop(struct gsb_tenant *t, uint64_t number);
int gsb_code_module_load(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_module_load *body);
int gsb_code_module_place(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_module_place *body);
int gsb_code_module_unload(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t handle);
int gsb_code_function_get(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_function_get *body, const char *name);
int gsb_code_function_prepare(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t handle);
int gsb_code_function_name(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_function_name *body);
int gsb_code_function_set(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_function_set *body);
int gsb_code_global_get(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_global_get *body, const char *name);
int gsb_code_occupancy(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_occupancy *body);
int gsb_code_tensor_map(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_tensor_map *body);

/* A launch of what nobody asked to have made ready: do it now. -ENOMEM. */
int gsb_code_prepare(struct gsb_tenant *t, struct gsb_kernel_fn *fn);

struct gsb_code_module *gsb_code_find_loaded(struct gsb_tenant *t, uint64_t handle);
/* One that is loaded, and whose variables have their places. */
struct gsb_code_module *gsb_code_find_module(struct gsb_tenant *t, uint64_t handle);
struct gsb_kernel_fn *gsb_code_find_function(struct gsb_tenant *t, uint64_t handle);

/* What it takes of the host now. -ENOMEM: it has become more, and more than its tenant may have. */
int gsb_code_charge(struct gsb_tenant *t, struct gsb_code_module *m);

/* Host memory that its code may yet take. */
uint64_t gsb_code_room(const struct gsb_tenant *t);

/* Functions of a module that was unloaded, at most *@left, which becomes less by as many. */
void gsb_code_free_functions(struct gsb_tenant *t, struct gsb_code_module *m, unsigned *left);

#define GSB_UNLOADED_A_TURN 32 /* modules, when contexts end: a device frees all code of each */

/* Unload modules of a context whose work is done, at most *@left, which becomes less by as many. True: none is left. */
bool gsb_code_unload_some(struct gsb_ctx *ctx, unsigned *left);
/* A fence's job: the context ends, and does so when all of its modules are unloaded, some in each turn. */
void gsb_code_unload_all(struct gsb_order *o, const struct gsb_fence_job *job);

int gsb_uploads_init(struct gsb_tenant *t); /* -ENOMEM */
void gsb_uploads_finish(struct gsb_tenant *t);

/* For the trace: a launch may name it. @name: as long as it is known. */
void gsb_code_tell_function(const struct gsb_kernel_fn *fn, const char *name, bool before);

struct gsb_kernel gsb_code_needs(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l);

/* Its blocks that an empty SM has room for; 0: none. */
uint32_t gsb_code_blocks_per_sm(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
				const struct gsb_cmd_launch *l);

/*
 * gsb_code_admits() - may this launch be made in that shape, with the same results and without losing too much of the
 * device? doc/resizing.md. What the device has room for is the model's answer.
 */
bool gsb_code_admits(const struct gsb_tenant *t, const struct gsb_kernel_fn *fn,
		     const struct gsb_cmd_launch *l, const struct gsb_shape *shape);
/* Blocks of a form of it that an idle device has room for; at least 1. */
uint64_t gsb_code_places(const struct gsb_arch *arch, const struct gsb_kernel_form *form,
			 const struct gsb_cmd_launch *l);

/*
 * gsb_code_sm_ns() - SM time of a launch that has ended: SMs that it held, times how long
 * @blocks_per_sm: of its kernel that an empty SM has room for
 *
 * A block holds its SM as one of as many blocks of its kernel as an empty SM has room for: of three that fit, each holds
 * a third. Kernels that need different things can so hold more than there is together. Where the device does not
 * say how long its blocks were there (also of launches that failed), as many as there is room for count for all of its
 * time: then it is a bound.
 */
uint64_t gsb_code_sm_ns(const struct gsb_arch *arch, uint64_t n_blocks, uint32_t blocks_per_sm,
			const struct gsb_completion *c);

#endif
