/*
 * module.c - modules of a tenant and what is looked up in one: kernels' names, variables.
 */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/hash.h"
#include "base/log.h"
#include "broker/engine/code/code.h"
#include "broker/engine/code/upload.h"
#include "broker/engine/code/job.h"
#include "broker/engine/code/scratch.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/code/variants_make.h"
#include "broker/engine/memory/account.h"
#include "broker/engine/memory/memory.h"
#include "broker/engine/order/fence.h"
#include "broker/engine/tenant/later.h"
#include "broker/engine/tenant/tenant.h"

/* Neither it nor a function of it is found any more. */
static void forget_name(struct gsb_code_module *m)
{
	static const bool yes = true;

	if (!m->handle)
		return;
	gsb_table_remove(&m->ctx->tenant->modules, m->handle);
	DL_DELETE(m->ctx->modules, m);
	m->handle = 0;
	m->is_gone = &yes;
}

static int create_module(struct gsb_tenant *t, struct gsb_ctx *ctx, uint64_t handle,
			 struct gsb_code_module **out)
{
	struct gsb_code_module *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->handle = handle;
	m->ctx = ctx;
	m->is_gone = &ctx->order.closed;
	err = gsb_table_put(&t->modules, handle, GSB_N_MODULES_MAX, m);
	if (err) {
		free(m);
		return err;
	}
	DL_APPEND(ctx->modules, m);
	*out = m;
	return 0;
}

static void free_module(struct gsb_code_module *m)
{
	forget_name(m);
	free(m);
}

/* What a policy may want; the forced shape alone where there is one. */
static uint32_t wanted_shapes(const struct gsb_resizing *r)
{
	if (r->mode == GSB_RESIZE_MODE_OFF)
		return 0;
	if (r->force.form != GSB_SHAPE_AS_ASKED)
		return GSB_SHAPE_BIT(r->force.form);
	return GSB_SHAPE_BIT(GSB_N_SHAPES) - 1;
}

static bool variants_fit(const struct gsb_job *j, const struct gsb_device_ops *ops)
{
	uint64_t bytes = sizeof(*j->module) + gsb_variants_bytes(j->variants);

	return !ops->module_bytes || bytes + ops->module_bytes(j->loaded) <= j->room_bytes;
}

/* Originals and variants, in j->variants. */
static enum gsb_trace_refusal make_variants(struct gsb_job *j)
{
	uint32_t wanted = wanted_shapes(j->resizing);
	int err = wanted ? gsb_variants_make(j->resizing, j->image->bytes, j->image->total, j->cc,
					     wanted, &j->variants)
			 : 0;

	if (!wanted)
		return GSB_TRACE_REFUSAL_OFF;
	if (err == -ENOEXEC || err == -EILSEQ)
		return GSB_TRACE_REFUSAL_NO_TEXT;
	return err ? GSB_TRACE_REFUSAL_NOT_MADE : GSB_TRACE_REFUSAL_NONE;
}

/* False: the image has to be loaded as it is. */
static bool load_variants(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	j->module->as_it_is = make_variants(j);
	if (!j->variants)
		return false;
	if (!ops->module_load(j->space, j->variants->text, j->variants->text_bytes, &j->loaded,
			      j->log, sizeof(j->log))) {
		gsb_variants_loaded(j->variants);
		if (variants_fit(j, ops))
			return true;
		ops->module_unload(j->loaded);
	}
	gsb_variants_destroy(j->variants);
	j->variants = NULL;
	j->module->as_it_is = GSB_TRACE_REFUSAL_NOT_MADE;
	j->log[0] = 0;
	return false;
}

static void load(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	if (load_variants(j, ops))
		return;
	j->err = ops->module_load(j->space, j->image->bytes, j->image->total, &j->loaded, j->log,
				  sizeof(j->log));
	j->module->hash = gsb_hash_bytes(GSB_HASH_BEGIN, j->image->bytes, j->image->total);
}

static void forget_globals(struct gsb_code_module *m)
{
	for (uint32_t i = 0; i < m->n_globals; i++)
		gsb_memory_remove_global(m->ctx, m->globals[i]);
	m->n_globals = 0;
}

#define FREED_A_TURN 256 /* functions and modules: some 100 us */

/* A tenant may have a million functions, and to free them takes half a second, in which nobody else would be served. */
static void free_some(struct gsb_tenant *t, unsigned left)
{
	struct gsb_code_module *m;

	while (left && (m = t->unloaded)) {
		gsb_code_free_functions(t, m, &left);
		if (m->functions || !left)
			break;
		LL_DELETE(t->unloaded, m);
		free(m);
		left--;
	}
}

static int free_part(struct gsb_later *l)
{
	free_some(l->tenant, FREED_A_TURN);
	l->goes_on = l->tenant->unloaded;
	return l->goes_on ? -EINPROGRESS : 0;
}

/* Where there is no memory to wait with, all at once. */
static void free_rest(struct gsb_later *l, int err)
{
	free_some(l->tenant, UINT_MAX);
}

static void free_in_turns(struct gsb_tenant *t, struct gsb_code_module *m)
{
	struct gsb_later l = {.tenant = t, .ask = free_part, .done = free_rest};
	bool is_first = !t->unloaded;

	LL_PREPEND(t->unloaded, m);
	if (is_first)
		gsb_later_run(&l, sizeof(l));
}

/* All work of the module is done: unload it. Its functions are gone with its name, and are freed in their time. */
static void destroy_module(struct gsb_tenant *t, struct gsb_code_module *m)
{
	forget_globals(m);
	if (m->module) {
		t->dev->ops->module_unload(m->module);
		t->stats.n_modules--;
	}
	gsb_variants_destroy(m->variants);
	gsb_trace(MODULE_UNLOADED, module_unloaded, t->id, .device_bytes = m->device_bytes,
		  .host_bytes = m->host_bytes);
	if (m->device_bytes)
		gsb_memory_unuse(m->ctx, m->device_bytes);
	t->code_used_bytes -= m->host_bytes;
	forget_name(m);
	free_in_turns(t, m);
}

/* ---- what a load costs ---- */

/*
 * @bytes are granted: for its variables, and @heap of them for what its kernels allocate. The heap is its
 * context's, and stays when the module goes.
 */
static int charge_device(struct gsb_code_module *m, uint64_t bytes, uint64_t heap)
{
	int err;

	if (heap && m->ctx->heap_bytes) { /* another load was faster */
		gsb_grant_give(m->ctx->tenant->grant, heap);
		bytes -= heap;
		heap = 0;
	}
	err = gsb_memory_use(m->ctx, bytes);
	if (err) {
		gsb_grant_give(m->ctx->tenant->grant, bytes);
		return err;
	}
	m->device_bytes = bytes - heap;
	m->ctx->heap_bytes += heap;
	return 0;
}

/* What the heap of its context takes, when it is the first to need one. */
static uint64_t heap_cost(const struct gsb_job *j)
{
	const struct gsb_device_ops *ops = j->tenant->dev->ops;

	return ops->module_heap && !j->ctx->heap_bytes ? ops->module_heap(j->loaded) : 0;
}

/* How long it is. */
static uint32_t write_reply(const struct gsb_job *j, uint64_t managed_bytes)
{
	struct gsb_reply_module *r = (void *)j->tenant->region->replies[j->call.thread];
	size_t bytes = strnlen(j->log, sizeof(j->log));

	static_assert(sizeof(j->log) <= sizeof(r->text), "the log fits its answer");
	r->managed_bytes = managed_bytes;
	memcpy(r->text, j->log, bytes);
	return (uint32_t)(offsetof(struct gsb_reply_module, text) + bytes);
}

static void answer(struct gsb_job *j, uint64_t managed_bytes)
{
	gsb_tenant_reply(j->tenant, &j->call, gsb_cuda_result(j->err),
			 write_reply(j, managed_bytes));
	gsb_job_destroy(j);
}

static void refused(struct gsb_order *o, const struct gsb_fence_job *job)
{
	struct gsb_code_module *m = (struct gsb_code_module *)(uintptr_t)job->object;
	struct gsb_tenant *t = m->ctx->tenant;
	CUresult result = m->refused;
	uint32_t bytes = m->reply_bytes;

	destroy_module(t, m);
	gsb_tenant_reply(t, &job->call, result, bytes);
}

/* It is there, and must go again: like any other, when nothing of its context is on the device. */
static void refuse(struct gsb_job *j, int err)
{
	struct gsb_tenant *t = j->tenant;
	struct gsb_code_module *m = j->module;

	snprintf(j->log, sizeof(j->log),
		 err == -ECANCELED ? "its context ends"
				   : "no memory for it: its tenant has %" PRIu64
				     " MiB of device memory and modules of %" PRIu64
				     " MiB (device_memory, code_memory of the broker)",
		 t->device_used_bytes >> 20, t->code_used_bytes >> 20);
	gsb_log(GSB_LOG_INFO, "code", "tenant %u: module refused: %s", t->id, j->log);
	m->refused = err == -ECANCELED ? CUDA_ERROR_CONTEXT_IS_DESTROYED : gsb_cuda_result(err);
	m->reply_bytes = write_reply(j, 0);
	forget_name(m);
	gsb_fence_close(&m->ctx->order, j->fresh,
			&(struct gsb_fence_job){refused, (uint64_t)(uintptr_t)m, j->call});
	gsb_job_destroy(j);
}

static void tell_loaded(const struct gsb_job *j, int err)
{
	gsb_trace(MODULE_LOADED, module_loaded, j->tenant->id, .module = j->module->handle,
		  .image_bytes = j->length, .asked_ns = j->asked_ns, .error = err);
}

/* Whether the device has memory for its variables is known. */
static void granted(struct gsb_grant_wait *w, int err)
{
	struct gsb_job *j = gsb_container_of(w, struct gsb_job, wait);
	struct gsb_tenant *t = j->tenant;
	struct gsb_code_module *m = j->module;

	m->module = j->loaded;
	m->variants = j->variants;
	t->stats.n_modules++;
	if (!err)
		err = charge_device(m, w->bytes, j->heap_bytes);
	if (!err)
		err = gsb_code_charge(t, m);
	if (err) {
		tell_loaded(j, err);
		refuse(j, err);
		return;
	}
	gsb_fence_unreserve(&t->queues, j->fresh);
	if (m->variants)
		gsb_scratch_make(m->ctx);
	tell_loaded(j, 0);
	if (t->dev->ops->module_managed)
		m->managed_bytes = t->dev->ops->module_managed(m->module);
	answer(j, m->managed_bytes);
}

static void loaded(struct gsb_job *j)
{
	struct gsb_tenant *t = j->tenant;
	const struct gsb_device_ops *ops = t->dev->ops;

	j->length = j->image->total;
	gsb_upload_destroy(t, j->image);
	if (j->err) {
		gsb_log(GSB_LOG_INFO, "code", "tenant %u: module refused: %s", t->id, j->log);
		gsb_fence_unreserve(&t->queues, j->fresh);
		tell_loaded(j, j->err);
		free_module(j->module);
		answer(j, 0);
		return;
	}
	j->heap_bytes = heap_cost(j);
	j->wait = (struct gsb_grant_wait){
		.owner = j->ctx,
		.bytes = (ops->module_cost ? ops->module_cost(j->loaded) : 0) + j->heap_bytes,
		.done = granted,
	};
	if (t->state == GSB_TENANT_LEAVING || j->ctx->order.closed)
		granted(&j->wait, -ECANCELED);
	else if (!j->wait.bytes || gsb_grant_try(t->grant, j->wait.bytes))
		granted(&j->wait, 0);
	else
		gsb_grant_take(t->grant, &j->wait);
}

static uint32_t compute_capability(const struct gsb_tenant *t)
{
	const struct gsb_arch *arch = &t->dev->ops->info(t->dev)->arch;

	return arch->cc_major * 10 + arch->cc_minor;
}

int gsb_code_module_load(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_module_load *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->ctx);
	struct gsb_upload *image = gsb_upload_find(t, b->image);
	struct gsb_code_module *m;
	struct gsb_fence *fresh;
	struct gsb_job *j;
	int err;

	if (!ctx || !image || image->busy || image->filled != image->total)
		return gsb_violation(t,
				     "ModuleLoad of image %" PRIu64 " in context %#" PRIx64
				     ": no such context, or the image is not all there",
				     b->image, b->ctx);
	if (gsb_handle_kind(b->module) != GSB_HANDLE_MODULE)
		return gsb_no_such(t, rec, "module", b->module);
	fresh = gsb_fence_reserve(&t->queues);
	if (!fresh)
		return -EAGAIN;
	err = create_module(t, ctx, b->module, &m);
	j = err ? NULL : gsb_job_create(t, ctx, rec);
	if (!j) {
		gsb_fence_unreserve(&t->queues, fresh);
		if (!err)
			free_module(m);
		if (err == -EEXIST || err == -ERANGE)
			return gsb_violation(t, "ModuleLoad as %#" PRIx64 ", which is taken",
					     b->module);
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	}
	image->busy = true;
	j->run = load;
	j->done = loaded;
	j->resizing = t->resizing;
	j->cc = compute_capability(t);
	j->room_bytes = gsb_code_room(t);
	j->image = image;
	j->module = m;
	j->fresh = fresh;
	gsb_job_give(j);
	return 0;
}

/* ---- the place of managed variables ---- */

static void place(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	j->err = ops->module_place(j->module->module, j->managed, j->initialise);
}

static void placed(struct gsb_job *j)
{
	struct gsb_code_module *m = j->module;

	m->is_placing = false;
	if (!j->err)
		m->managed = j->managed;
	gsb_tenant_reply(j->tenant, &j->call, gsb_cuda_result(j->err), 0);
	gsb_job_destroy(j);
}

int gsb_code_module_place(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_module_place *b)
{
	struct gsb_code_module *m = gsb_code_find_loaded(t, b->module);
	struct gsb_job *j;

	if (!m || !m->managed_bytes || m->managed || m->is_placing)
		return gsb_violation(t,
				     "ModulePlace of %#" PRIx64
				     ": no such module, or its variables have their places",
				     b->module);
	if (!gsb_memory_is_pinned(t, b->addr, m->managed_bytes))
		return gsb_violation(t,
				     "ModulePlace at %#" PRIx64 ": no %" PRIu64
				     " bytes of pinned memory are there",
				     b->addr, m->managed_bytes);
	j = gsb_job_create(t, m->ctx, rec);
	if (!j)
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	m->is_placing = true;
	j->run = place;
	j->done = placed;
	j->module = m;
	j->managed = b->addr;
	j->initialise = b->initialise;
	gsb_job_give(j);
	return 0;
}

static void unload_done(struct gsb_order *o, const struct gsb_fence_job *job)
{
	struct gsb_ctx *ctx = gsb_ctx_of(o);

	destroy_module(ctx->tenant, (struct gsb_code_module *)(uintptr_t)job->object);
	gsb_tenant_reply(ctx->tenant, &job->call, ctx->error, 0);
}

int gsb_code_module_unload(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t handle)
{
	struct gsb_code_module *m = gsb_code_find_loaded(t, handle);
	struct gsb_fence *fresh;

	if (!m)
		return gsb_no_such(t, rec, "module", handle);
	fresh = gsb_fence_reserve(&t->queues);
	if (!fresh)
		return -EAGAIN;
	/* From here on neither the module nor a function of it can be named. */
	forget_globals(m);
	forget_name(m);
	gsb_fence_close(&m->ctx->order, fresh,
			&(struct gsb_fence_job){unload_done, (uint64_t)(uintptr_t)m, *rec});
	return 0;
}

/* ---- the end of a context ---- */

bool gsb_code_unload_some(struct gsb_ctx *ctx, unsigned *left)
{
	for (; *left && ctx->modules; --*left)
		destroy_module(ctx->tenant, ctx->modules);
	return !ctx->modules;
}

static int unload_part(struct gsb_later *l)
{
	unsigned left = GSB_UNLOADED_A_TURN;

	l->goes_on = !gsb_code_unload_some(l->ctx, &left);
	return l->goes_on ? -EINPROGRESS : 0;
}

/* Where there is no memory to wait with, all at once. */
static void unload_rest(struct gsb_later *l, int err)
{
	gsb_code_unload_some(l->ctx, &(unsigned){UINT_MAX});
}

void gsb_code_unload_all(struct gsb_order *o, const struct gsb_fence_job *job)
{
	struct gsb_ctx *ctx = gsb_ctx_of(o);
	struct gsb_later l = {
		.tenant = ctx->tenant, .ctx = ctx, .ask = unload_part, .done = unload_rest};

	gsb_later_run(&l, sizeof(l));
}

/* ---- what is looked up in one ---- */

/* With variants, the kernels that the program has: in the order of its text. */
static int name_at(const struct gsb_tenant *t, const struct gsb_code_module *m, uint64_t i,
		   const char **name)
{
	if (!m->variants && i <= UINT_MAX)
		return t->dev->ops->function_name(m->module, (unsigned)i, name);
	if (!m->variants || i >= m->variants->n_kernels)
		return -ENOENT;
	*name = m->variants->names[i];
	return 0;
}

/* What a module is asked for, which stays until it has said. */
struct module_ask {
	struct gsb_later later; /* first */
	struct gsb_code_module *module;
	uint64_t index;
	char name[GSB_NAME_MAX + 1];  /* of a variable */
	const char *kernel;	      /* its name */
	struct gsb_reply_range range; /* of the variable */
};

static int ask_for_name(struct gsb_later *l)
{
	struct module_ask *a = gsb_container_of(l, struct module_ask, later);

	return name_at(l->tenant, a->module, a->index, &a->kernel);
}

static void answer_name(struct gsb_later *l, int err)
{
	const struct module_ask *a = gsb_container_of(l, struct module_ask, later);
	size_t bytes = err ? 0 : strlen(a->kernel);

	if (bytes > GSB_NAME_MAX)
		err = -ENOTSUP;
	gsb_later_reply(l, err, a->kernel, (uint32_t)bytes);
}

int gsb_code_function_name(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_function_name *b)
{
	struct gsb_code_module *m = gsb_code_find_module(t, b->module);
	struct module_ask a = {
		.later = {.tenant = t, .call = *rec, .ask = ask_for_name, .done = answer_name},
		.module = m,
		.index = b->index,
	};

	if (!m)
		return gsb_no_such(t, rec, "module", b->module);
	a.later.ctx = m->ctx;
	gsb_later_run(&a.later, sizeof(a));
	return 0;
}

static int ask_for_global(struct gsb_later *l)
{
	struct module_ask *a = gsb_container_of(l, struct module_ask, later);

	return l->tenant->dev->ops->global_get(a->module->module, a->name, &a->range.addr,
					       &a->range.size);
}

/* Copies may name it from now on, unless the module is on its way out. */
static int note_global(struct gsb_code_module *m, const struct gsb_reply_range *range)
{
	if (!m->handle || gsb_memory_is_pinned(m->ctx->tenant, range->addr, 1) ||
	    gsb_ranges_find(&m->ctx->device_live, range->addr))
		return 0;
	if (m->n_globals == GSB_N_GLOBALS_MAX ||
	    gsb_memory_add_global(m->ctx, range->addr, range->size))
		return -ENOMEM;
	m->globals[m->n_globals++] = range->addr;
	return 0;
}

static void answer_global(struct gsb_later *l, int err)
{
	struct module_ask *a = gsb_container_of(l, struct module_ask, later);

	if (!err)
		err = note_global(a->module, &a->range);
	gsb_later_reply(l, err, &a->range, sizeof(a->range));
}

int gsb_code_global_get(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_global_get *b, const char *name)
{
	struct gsb_code_module *m = gsb_code_find_module(t, b->module);
	struct module_ask a = {
		.later = {.tenant = t, .call = *rec, .ask = ask_for_global, .done = answer_global},
		.module = m,
	};

	if (!m)
		return gsb_no_such(t, rec, "module", b->module);
	a.later.ctx = m->ctx;
	snprintf(a.name, sizeof(a.name), "%s", name);
	gsb_later_run(&a.later, sizeof(a));
	return 0;
}
