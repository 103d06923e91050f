/*
 * code.c - see code.h.
 */
#include "broker/engine/code/code.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/checked.h"
#include "base/err.h"
#include "base/log.h"
#include "broker/engine/engine.h"
#include "broker/engine/memory/memory.h"
#include "model/occupancy.h"

/* ---- jobs ---- */

static struct gsb_job *create_job(struct gsb_tenant *t, struct gsb_ctx *ctx,
				  const struct gsb_rec *call)
{
	struct gsb_job *j = calloc(1, sizeof(*j));

	if (!j)
		return NULL;
	j->tenant = t;
	j->call = *call;
	j->ctx = ctx;
	j->bucket = ctx ? gsb_bucket_hold(ctx) : NULL;
	j->space = ctx ? ctx->space : NULL;
	t->n_jobs++;
	return j;
}

static void destroy_job(struct gsb_job *j)
{
	struct gsb_ctx *ctx = j->ctx;
	struct gsb_bucket *bucket = j->bucket;

	j->tenant->n_jobs--;
	j->tenant->stalled = false;
	free(j);
	if (ctx)
		gsb_bucket_release(ctx, bucket);
}

static void give(struct gsb_job *j)
{
	struct gsb_tenant *t = j->tenant;

	j->round = t->loader_round + 1;
	gsb_loader_give(&t->engine->loader, j);
	t->loader_round = j->round;
}

/* A call that fails before it becomes a job. */
static int fail_call(struct gsb_tenant *t, const struct gsb_rec *rec, int err)
{
	gsb_tenant_reply(t, rec, gsb_cuda_result(err), 0);
	return 0;
}

/* ---- images ---- */

static struct gsb_upload *find_image(struct gsb_tenant *t, uint64_t number)
{
	for (int i = 0; i < GSB_N_IMAGES; i++)
		if (t->images[i].bytes && t->images[i].number == number)
			return &t->images[i];
	return NULL;
}

static void drop_image(struct gsb_upload *image)
{
	free(image->bytes);
	*image = (struct gsb_upload){0};
}

static struct gsb_upload *free_image(struct gsb_tenant *t)
{
	for (int i = 0; i < GSB_N_IMAGES; i++)
		if (!t->images[i].bytes)
			return &t->images[i];
	return NULL;
}

/* A new image at offset 0; NULL with *err when the tenant has too many or there is no memory. */
static struct gsb_upload *begin_image(struct gsb_tenant *t, const struct gsb_rec_image_part *b)
{
	struct gsb_upload *image = free_image(t);

	if (!image)
		return NULL;
	*image = (struct gsb_upload){.number = b->image, .total = b->total};
	image->bytes = malloc(b->total);
	return image->bytes ? image : NULL;
}

static int check_part(struct gsb_tenant *t, const struct gsb_rec_image_part *b,
		      const struct gsb_upload *image)
{
	uint64_t filled = image ? image->filled : 0;

	if (!b->total || b->total > t->limits.image_max_bytes || !b->length ||
	    !gsb_range_ok(b->offset, b->length, b->total) ||
	    !gsb_range_ok(b->staging_offset, b->length, t->limits.staging_bytes))
		return gsb_violation(t,
				     "ImagePart %" PRIu64 "+%" PRIu64 " of %" PRIu64
				     " bytes, staging offset %" PRIu64,
				     b->offset, b->length, b->total, b->staging_offset);
	if (b->offset != filled || (image && (image->busy || image->total != b->total)))
		return gsb_violation(
			t, "ImagePart of image %" PRIu64 " at offset %" PRIu64 " after %" PRIu64,
			b->image, b->offset, filled);
	return 0;
}

int gsb_code_image_part(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_image_part *b)
{
	struct gsb_upload *image = find_image(t, b->image);
	struct gsb_job *j;

	if (check_part(t, b, image))
		return -EPROTO;
	if (!image)
		image = begin_image(t, b);
	j = image ? create_job(t, NULL, rec) : NULL;
	if (!j)
		return fail_call(t, rec, -ENOMEM);
	image->busy = true;
	j->image = image;
	j->src = t->staging + b->staging_offset;
	j->offset = b->offset;
	j->length = b->length;
	give(j);
	return 0;
}

static void part_done(struct gsb_job *j)
{
	j->image->busy = false;
	j->image->filled += j->length;
	gsb_tenant_reply(j->tenant, &j->call, CUDA_SUCCESS, 0);
}

/* ---- modules ---- */

struct gsb_code_module *gsb_code_find_module(struct gsb_tenant *t, uint64_t handle)
{
	struct gsb_code_module *m = gsb_table_find(&t->modules, handle);

	return m && m->module && m->ctx->handle ? m : NULL;
}

static int no_module(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t handle)
{
	return gsb_violation(t, "%s with module %#" PRIx64 ", which it does not have",
			     gsb_rec_name(rec->type), handle);
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
	err = gsb_table_put(&t->modules, handle, GSB_N_MODULES_MAX, m);
	if (err)
		free(m);
	else
		*out = m;
	return err;
}

static void free_module(struct gsb_tenant *t, struct gsb_code_module *m)
{
	t->modules.items[gsb_handle_index(m->handle)] = NULL;
	free(m);
}

int gsb_code_module_load(struct gsb_tenant *t, const struct gsb_rec *rec,
			 const struct gsb_rec_module_load *b)
{
	struct gsb_ctx *ctx = gsb_ctx_find(t, b->ctx);
	struct gsb_upload *image = find_image(t, b->image);
	struct gsb_code_module *m;
	struct gsb_job *j;
	int err;

	if (!ctx || !image || image->busy || image->filled != image->total)
		return gsb_violation(t,
				     "ModuleLoad of image %" PRIu64 " in context %#" PRIx64
				     ": no such context, or the image is not all there",
				     b->image, b->ctx);
	if (gsb_handle_kind(b->module) != GSB_HANDLE_MODULE)
		return no_module(t, rec, b->module);
	err = create_module(t, ctx, b->module, &m);
	if (err == -EEXIST || err == -ERANGE)
		return gsb_violation(t, "ModuleLoad as %#" PRIx64 ", which is taken", b->module);
	j = err ? NULL : create_job(t, ctx, rec);
	if (!j) {
		if (!err)
			free_module(t, m);
		return fail_call(t, rec, -ENOMEM);
	}
	image->busy = true;
	j->image = image;
	j->module = m;
	give(j);
	return 0;
}

static void module_loaded(struct gsb_job *j)
{
	struct gsb_tenant *t = j->tenant;
	uint32_t bytes = (uint32_t)strnlen(j->log, sizeof(j->log));

	drop_image(j->image);
	if (j->err) {
		gsb_log(GSB_LOG_INFO, "code", "tenant %u: module refused: %s", t->id, j->log);
		free_module(t, j->module);
	} else {
		j->module->module = j->loaded;
		t->stats.n_modules++;
	}
	memcpy(t->region->replies[j->call.thread], j->log, bytes);
	gsb_tenant_reply(t, &j->call, gsb_cuda_result(j->err), bytes);
}

static void forget_globals(struct gsb_code_module *m)
{
	for (uint32_t i = 0; i < m->n_globals; i++)
		gsb_memory_remove_global(m->ctx, m->globals[i]);
	m->n_globals = 0;
}

int gsb_code_module_unload(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t handle)
{
	struct gsb_code_module *m = gsb_code_find_module(t, handle);
	struct gsb_bucket *fresh;

	if (!m)
		return no_module(t, rec, handle);
	fresh = gsb_bucket_reserve(t);
	if (!fresh)
		return -EAGAIN;
	/* From here on neither the module nor a function of it can be named. */
	forget_globals(m);
	t->modules.items[gsb_handle_index(handle)] = NULL;
	for (struct gsb_kernel_fn *fn = m->functions; fn; fn = fn->next)
		t->functions.items[gsb_handle_index(fn->handle)] = NULL;
	m->handle = 0;
	gsb_bucket_close(m->ctx, fresh, rec, (uint64_t)(uintptr_t)m);
	return 0;
}

void gsb_code_module_destroy(struct gsb_tenant *t, struct gsb_code_module *m)
{
	struct gsb_kernel_fn *fn, *next;

	forget_globals(m);
	for (fn = m->functions; fn; fn = next) {
		next = fn->next;
		if (m->handle)
			t->functions.items[gsb_handle_index(fn->handle)] = NULL;
		free(fn);
	}
	if (m->module) {
		t->engine->ops->module_unload(m->module);
		t->stats.n_modules--;
	}
	if (m->handle)
		t->modules.items[gsb_handle_index(m->handle)] = NULL;
	free(m);
}

int gsb_code_function_name(struct gsb_tenant *t, const struct gsb_rec *rec,
			   const struct gsb_rec_function_name *b)
{
	struct gsb_code_module *m = gsb_code_find_module(t, b->module);
	const char *name;
	size_t bytes;

	if (!m)
		return no_module(t, rec, b->module);
	name = b->index <= UINT_MAX ? t->engine->ops->function_name(m->module, (unsigned)b->index)
				    : NULL;
	bytes = name ? strlen(name) : 0;
	if (!name || bytes > GSB_REPLY_BYTES)
		return fail_call(t, rec, -ENOENT);
	gsb_tenant_reply_with(t, rec, name, (uint32_t)bytes);
	return 0;
}

int gsb_code_global_get(struct gsb_tenant *t, const struct gsb_rec *rec,
			const struct gsb_rec_global_get *b, const char *name)
{
	struct gsb_code_module *m = gsb_code_find_module(t, b->module);
	struct gsb_reply_range range;
	int err;

	if (!m)
		return no_module(t, rec, b->module);
	err = t->engine->ops->global_get(m->module, name, &range.addr, &range.size);
	if (err)
		return fail_call(t, rec, err);
	if (!gsb_ranges_find(&m->ctx->device_live, range.addr)) {
		if (m->n_globals == GSB_N_GLOBALS_MAX ||
		    gsb_memory_add_global(m->ctx, range.addr, range.size))
			return fail_call(t, rec, -ENOMEM);
		m->globals[m->n_globals++] = range.addr;
	}
	gsb_tenant_reply_with(t, rec, &range, sizeof(range));
	return 0;
}

/* ---- functions ---- */

struct gsb_kernel_fn *gsb_code_find_function(struct gsb_tenant *t, uint64_t handle)
{
	struct gsb_kernel_fn *fn = gsb_table_find(&t->functions, handle);

	return fn && fn->function && fn->module->ctx->handle ? fn : NULL;
}

int gsb_code_function_get(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_function_get *b, const char *name)
{
	struct gsb_code_module *m = gsb_code_find_module(t, b->module);
	struct gsb_kernel_fn *fn;
	struct gsb_job *j;
	int err;

	if (!m)
		return no_module(t, rec, b->module);
	fn = calloc(1, sizeof(*fn));
	if (!fn)
		return fail_call(t, rec, -ENOMEM);
	fn->handle = b->function;
	fn->module = m;
	err = gsb_handle_kind(b->function) == GSB_HANDLE_FUNCTION
		      ? gsb_table_put(&t->functions, b->function, GSB_N_FUNCTIONS_MAX, fn)
		      : -ERANGE;
	if (err) {
		free(fn);
		return err == -ENOMEM ? fail_call(t, rec, err)
				      : gsb_violation(t,
						      "FunctionGet as %#" PRIx64
						      ", which is taken or no handle",
						      b->function);
	}
	LL_PREPEND(m->functions, fn);
	j = create_job(t, m->ctx, rec);
	if (!j)
		return gsb_violation(t, "the engine is out of memory"), -ENOMEM;
	j->module = m;
	j->fn = fn;
	memcpy(j->name, name, strlen(name) + 1);
	give(j);
	return 0;
}

/* Bytes of a struct gsb_reply_function that mean something. */
static uint32_t info_bytes(const struct gsb_function_info *info)
{
	return (uint32_t)(offsetof(struct gsb_function_info, params) +
			  info->n_params * sizeof(info->params[0]));
}

static void function_got(struct gsb_job *j)
{
	struct gsb_kernel_fn *fn = j->fn;
	struct gsb_tenant *t = j->tenant;

	if (j->err) {
		LL_DELETE(fn->module->functions, fn);
		if (fn->module->handle)
			t->functions.items[gsb_handle_index(fn->handle)] = NULL;
		free(fn);
		gsb_tenant_reply(t, &j->call, gsb_cuda_result(j->err), 0);
		return;
	}
	fn->function = j->got;
	fn->params_bytes = j->info.params_bytes;
	fn->regs = (uint32_t)j->info.attrs[GSB_ATTR_NUM_REGS];
	fn->static_smem_bytes = (uint32_t)j->info.attrs[GSB_ATTR_SHARED_BYTES];
	fn->max_dynamic_smem_bytes = j->info.attrs[GSB_ATTR_MAX_DYNAMIC_SMEM];
	gsb_tenant_reply_with(t, &j->call, &j->info, info_bytes(&j->info));
}

static int prepare(struct gsb_tenant *t, struct gsb_kernel_fn *fn, const struct gsb_rec *call)
{
	struct gsb_job *j = create_job(t, fn->module->ctx, call);

	if (!j)
		return -ENOMEM;
	j->fn = fn;
	if (fn->state != GSB_FN_READY)
		fn->state = GSB_FN_PREPARING;
	give(j);
	return 0;
}

int gsb_code_prepare(struct gsb_tenant *t, struct gsb_kernel_fn *fn)
{
	int err = prepare(t, fn, &(struct gsb_rec){.type = GSB_REC_LAUNCH});

	return err ? gsb_violation(t, "the engine is out of memory"), err : 0;
}

/* A device makes a kernel ready once: asking again, or while it is under way, costs a look. */
int gsb_code_function_prepare(struct gsb_tenant *t, const struct gsb_rec *rec, uint64_t handle)
{
	struct gsb_kernel_fn *fn = gsb_code_find_function(t, handle);

	if (!fn)
		return gsb_violation(
			t, "FunctionPrepare of function %#" PRIx64 ", which it does not have",
			handle);
	return prepare(t, fn, rec) ? fail_call(t, rec, -ENOMEM) : 0;
}

static void function_prepared(struct gsb_job *j)
{
	struct gsb_kernel_fn *fn = j->fn;
	struct gsb_tenant *t = j->tenant;
	uint32_t bytes = (uint32_t)strnlen(j->log, sizeof(j->log));

	fn->state = j->err ? GSB_FN_FAILED : GSB_FN_READY;
	fn->prepare_err = j->err;
	if (j->err)
		gsb_log(GSB_LOG_WARN, "code", "tenant %u: %s", t->id, j->log);
	gsb_stream_wake_list(&fn->waiters);
	if (j->call.type != GSB_REC_FUNCTION_PREPARE)
		return;
	memcpy(t->region->replies[j->call.thread], j->log, bytes);
	gsb_tenant_reply(t, &j->call, gsb_cuda_result(j->err), bytes);
}

struct gsb_kernel gsb_code_needs(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l)
{
	return (struct gsb_kernel){
		.threads_per_block = l->block[0] * l->block[1] * l->block[2],
		.regs_per_thread = fn->regs,
		.smem_bytes = fn->static_smem_bytes + l->smem_bytes,
		.n_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
	};
}

/* ---- occupancy ---- */

static int blocks_per_sm(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			 uint32_t threads, uint64_t dynamic, uint64_t *out)
{
	struct gsb_kernel k = {.threads_per_block = threads, .regs_per_thread = fn->regs};
	struct gsb_occupancy o;
	int err;

	if (dynamic > UINT32_MAX - fn->static_smem_bytes)
		return -EINVAL;
	k.smem_bytes = fn->static_smem_bytes + (uint32_t)dynamic;
	err = gsb_occupancy(arch, &k, &gsb_rules_hardware, &o);
	if (!err)
		*out = o.blocks_per_sm;
	return err;
}

/* The most dynamic bytes a block may have when n blocks share an SM: found by bisection. */
static int available_smem(const struct gsb_arch *arch, const struct gsb_kernel_fn *fn,
			  uint32_t threads, uint64_t n, uint64_t *out)
{
	uint64_t low = 0, high = arch->smem_per_block_optin_bytes, blocks;

	if (!n || blocks_per_sm(arch, fn, threads, 0, &blocks) || blocks < n)
		return -EINVAL;
	while (low < high) {
		uint64_t mid = low + (high - low + 1) / 2;

		if (blocks_per_sm(arch, fn, threads, mid, &blocks) || blocks < n)
			high = mid - 1;
		else
			low = mid;
	}
	*out = low;
	return 0;
}

int gsb_code_occupancy(struct gsb_tenant *t, const struct gsb_rec *rec,
		       const struct gsb_rec_occupancy *b)
{
	struct gsb_kernel_fn *fn = gsb_code_find_function(t, b->function);
	const struct gsb_arch *arch = &t->engine->info->arch;
	struct gsb_reply_number reply;
	int err = -EINVAL;

	if (!fn)
		return gsb_violation(t,
				     "Occupancy of function %#" PRIx64 ", which it does not have",
				     b->function);
	if (b->what == GSB_OCC_BLOCKS_PER_SM)
		err = blocks_per_sm(arch, fn, b->block, b->smem, &reply.number);
	else if (b->what == GSB_OCC_AVAILABLE_SMEM)
		err = available_smem(arch, fn, b->block, b->smem, &reply.number);
	if (err)
		return fail_call(t, rec, err);
	gsb_tenant_reply_with(t, rec, &reply, sizeof(reply));
	return 0;
}

/* ---- what the loader has done ---- */

static void job_done(struct gsb_job *j)
{
	switch ((enum gsb_rec_type)j->call.type) {
	case GSB_REC_IMAGE_PART: part_done(j); break;
	case GSB_REC_MODULE_LOAD: module_loaded(j); break;
	case GSB_REC_FUNCTION_GET: function_got(j); break;
	default: function_prepared(j); break;
	}
	destroy_job(j);
}

unsigned gsb_code_collect(struct gsb_engine *e)
{
	struct gsb_job *jobs, *next;
	unsigned n = 0;

	if (!e->loader.n_jobs)
		return 0;
	for (jobs = gsb_loader_take(&e->loader); jobs; jobs = next, n++) {
		next = jobs->next;
		job_done(jobs);
	}
	e->loader.n_jobs -= n;
	return n;
}

void gsb_code_finish(struct gsb_tenant *t)
{
	for (int i = 0; i < GSB_N_IMAGES; i++)
		drop_image(&t->images[i]);
	free(t->modules.items);
	free(t->functions.items);
}
