/*
 * code.h - modules and functions of a tenant, and the loader thread that makes them.
 *
 * Loading a module, finding a function and preparing a kernel can be slow (a parser, a compiler), so
 * they are jobs of one loader thread; the engine goes on meanwhile and answers when the job comes
 * back. A job counts as work of its context (stream.h, bucket), so that nothing that it uses is
 * destroyed under it.
 */
#ifndef GSB_BROKER_ENGINE_CODE_CODE_H
#define GSB_BROKER_ENGINE_CODE_CODE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "device/ops.h"
#include "gsb/kernel.h"
#include "gsb/wire.h"

struct gsb_tenant;
struct gsb_ctx;
struct gsb_stream;
struct gsb_bucket;
struct gsb_engine;

/* CUfunction_attribute numbers. */
#define GSB_ATTR_MAX_THREADS	  0
#define GSB_ATTR_SHARED_BYTES	  1
#define GSB_ATTR_NUM_REGS	  4
#define GSB_ATTR_MAX_DYNAMIC_SMEM 8

#define GSB_N_IMAGES	    8	       /* uploads under way, of one tenant */
#define GSB_N_MODULES_MAX   (1u << 16) /* handle index, of one tenant */
#define GSB_N_FUNCTIONS_MAX (1u << 20) /* likewise */
#define GSB_N_GLOBALS_MAX   256	       /* variables of one module that copies may name */
#define GSB_N_JOBS_MAX	    256	       /* of one tenant; past it, its ring waits */
#define GSB_LOAD_LOG_MAX    1024

/* An image on its way: its parts are copied out of the staging memory before anything reads them. */
struct gsb_upload {
	uint64_t number; /* the library's */
	uint8_t *bytes;
	uint64_t total, filled;
	bool busy; /* a job copies a part */
};

struct gsb_code_module {
	uint64_t handle;
	struct gsb_ctx *ctx;
	struct gsb_module *module;	 /* NULL: still loading */
	struct gsb_kernel_fn *functions; /* got from it */
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
	enum gsb_fn_state state;
	int prepare_err;	    /* FAILED: -errno */
	struct gsb_stream *waiters; /* their heads launch it while it is PREPARING */
	uint32_t params_bytes, regs, static_smem_bytes;
	int32_t max_dynamic_smem_bytes; /* what FunctionSet said, or the driver's default */
};

/* One thing for the loader to do; made and freed by the engine's thread. */
struct gsb_job {
	struct gsb_job *next;
	uint64_t
		round; /* jobs are done in ascending order; at least one more than its tenant's last */
	struct gsb_tenant *tenant;
	struct gsb_ctx *ctx;	   /* NULL: of no context (ImagePart) */
	struct gsb_bucket *bucket; /* held; NULL with ctx */
	struct gsb_space *space;   /* of ctx */
	struct gsb_rec call;	   /* whom to answer; its type says what to do. LAUNCH: prepare */
	struct gsb_code_module *module;
	struct gsb_kernel_fn *fn;
	struct gsb_upload *image;
	const uint8_t *src;	 /* ImagePart: in the staging memory */
	uint64_t offset, length; /* ImagePart */
	int err;
	struct gsb_module *loaded; /* ModuleLoad */
	struct gsb_function *got;  /* FunctionGet */
	struct gsb_function_info info;
	char name[GSB_NAME_MAX + 1];
	char log[GSB_LOAD_LOG_MAX];
};

struct gsb_loader {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work;
	struct gsb_job *todo, *done; /* under lock; by round; oldest first */
	uint64_t round;		     /* under lock: of the job that was begun last */
	bool stop;		     /* under lock */
	int done_fd;		     /* eventfd: done is not empty */
	unsigned n_jobs;	     /* the engine's count: given and not taken back */
	const struct gsb_device_ops *ops;
};

int gsb_loader_start(struct gsb_loader *l, const struct gsb_device_ops *ops);
void gsb_loader_stop(struct gsb_loader *l); /* finishes what it has; jobs done are freed unseen */
void gsb_loader_give(struct gsb_loader *l, struct gsb_job *job);

/* All jobs that are done, oldest first, now the caller's; NULL: none. */
struct gsb_job *gsb_loader_take(struct gsb_loader *l);

/* Take back and answer what the loader has done. Returns how many. */
unsigned gsb_code_collect(struct gsb_engine *e);

/* Handlers of records (dispatch.c has checked nothing but sizes). 0, -EPROTO, -EAGAIN: dispatch.h. */
int gsb_code_image_part(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_image_part *body);
int gsb_code_module_load(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_module_load *body);
int gsb_code_module_unload(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t handle);
int gsb_code_function_get(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_function_get *body, const char *name);
int gsb_code_function_prepare(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t handle);
int gsb_code_function_name(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_function_name *body);
int gsb_code_global_get(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_global_get *body, const char *name);
int gsb_code_occupancy(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_occupancy *body);

/* A launch of what nobody asked to have made ready: do it now. -ENOMEM. */
int gsb_code_prepare(struct gsb_tenant *t, struct gsb_kernel_fn *fn);

struct gsb_code_module *gsb_code_find_module(struct gsb_tenant *t, uint64_t handle);
struct gsb_kernel_fn *gsb_code_find_function(struct gsb_tenant *t, uint64_t handle);

/* All work of the module is done: unload it and forget its functions. */
void gsb_code_module_destroy(struct gsb_tenant *t, struct gsb_code_module *m);
void gsb_code_finish(struct gsb_tenant *t); /* whatever is left: modules, functions, images */

struct gsb_kernel gsb_code_needs(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l);

#endif
