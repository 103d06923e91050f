/*
 * function.c - kernels of modules: found, made ready to run, asked about.
 */
#include <errno.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <utlist.h>

#include "base/err.h"
#include "base/hash.h"
#include "broker/engine/code/code.h"
#include "broker/engine/code/job.h"
#include "broker/engine/code/variants.h"
#include "broker/engine/order/stream.h"
#include "broker/engine/tenant/tenant.h"

struct gsb_kernel_fn *gsb_code_find_function(struct gsb_tenant *t, uint64_t handle)
{
	struct gsb_kernel_fn *fn = gsb_table_find(&t->functions, handle);

	return fn && fn->function && !*fn->module->is_gone ? fn : NULL;
}

/* Of a module that was unloaded, another may have its place, and its handle, already. */
static void free_function(struct gsb_tenant *t, struct gsb_kernel_fn *fn)
{
	if (gsb_table_find(&t->functions, fn->handle) == fn)
		gsb_table_remove(&t->functions, fn->handle);
	t->code_used_bytes -= sizeof(*fn);
	free(fn);
}

void gsb_code_free_functions(struct gsb_tenant *t, struct gsb_code_module *m, unsigned *left)
{
	for (struct gsb_kernel_fn *fn; *left && (fn = m->functions); --*left) {
		m->functions = fn->next;
		free_function(t, fn);
	}
}

/* Bytes of a struct gsb_reply_function that mean something. */
static uint32_t info_bytes(const struct gsb_function_info *info)
{
	return (uint32_t)(offsetof(struct gsb_function_info, params) +
			  info->n_params * sizeof(info->params[0]));
}

/* Why it may not be launched in that form; @name: the whole. */
static uint8_t refusal_of(const struct gsb_kernel_fn *fn, const char *name,
			  enum gsb_shape_form form)
{
	const struct gsb_code_module *m = fn->module;
	const struct gsb_proof *proof = fn->proof;
	uint32_t bit = GSB_SHAPE_BIT(form);

	if (!m->variants)
		return (uint8_t)m->as_it_is;
	if (!proof)
		return GSB_TRACE_REFUSAL_NO_TEXT;
	if (proof->refusals[form])
		return proof->refusals[form];
	if (proof->refuted & bit)
		return GSB_TRACE_REFUSAL_REFUTED;
	if (fn->shapes & bit)
		return GSB_TRACE_REFUSAL_NONE;
	return gsb_resizing_allows(m->ctx->tenant->resizing, name, m->variants->hash)
		       ? GSB_TRACE_REFUSAL_NOT_MADE
		       : GSB_TRACE_REFUSAL_DENIED;
}

void gsb_code_tell_function(const struct gsb_kernel_fn *fn, const char *name, bool before)
{
	struct gsb_trace_kernel e = {
		.head = {GSB_TRACE_KERNEL, sizeof(e), fn->module->ctx->tenant->id},
		.function = fn->handle,
		.module = fn->module->handle,
		.regs = fn->regs,
		.static_smem_bytes = fn->static_smem_bytes,
		.params_bytes = fn->params_bytes,
		.before = before,
		.shapes = fn->proof ? fn->shapes & ~fn->proof->refuted : 0,
		.no_reshape = refusal_of(fn, name, GSB_SHAPE_RESHAPE),
		.no_slice = refusal_of(fn, name, GSB_SHAPE_SLICE),
		.no_persistent = refusal_of(fn, name, GSB_SHAPE_PERSISTENT),
	};

	snprintf(e.name, sizeof(e.name), "%.*s", (int)sizeof(e.name) - 1, name);
	gsb_trace_put(&e.head);
}

/* What the device has of it, less what the lists deny. */
static void take_forms(struct gsb_kernel_fn *fn, const struct gsb_job *j)
{
	struct gsb_variants *v = fn->module->variants;

	memcpy(fn->forms, j->forms, sizeof(fn->forms));
	fn->proof = v ? gsb_variants_find(v, j->name) : NULL;
	if (!fn->proof || !gsb_resizing_allows(fn->module->ctx->tenant->resizing, j->name, v->hash))
		return;
	for (unsigned i = GSB_SHAPE_AS_ASKED + 1; i < GSB_N_SHAPES; i++)
		if (fn->forms[i].function)
			fn->shapes |= GSB_SHAPE_BIT(i);
	fn->shapes &= fn->proof->shapes & ~fn->proof->refuted;
}

static void got(struct gsb_job *j)
{
	struct gsb_kernel_fn *fn = j->fn;
	struct gsb_tenant *t = j->tenant;

	if (j->err) {
		LL_DELETE(fn->module->functions, fn);
		free_function(t, fn);
		gsb_tenant_reply(t, &j->call, gsb_cuda_result(j->err), 0);
		gsb_job_destroy(j);
		return;
	}
	fn->function = j->forms[GSB_SHAPE_AS_ASKED].function;
	take_forms(fn, j);
	snprintf(fn->name, sizeof(fn->name), "%.*s", (int)sizeof(fn->name) - 1, j->name);
	fn->hash = gsb_hash_bytes(fn->module->hash, j->name, strlen(j->name)) | 1;
	fn->params_bytes = j->info.params_bytes;
	fn->regs = (uint32_t)j->info.attrs[GSB_ATTR_NUM_REGS];
	fn->static_smem_bytes = (uint32_t)j->info.attrs[GSB_ATTR_SHARED_BYTES];
	fn->max_dynamic_smem_bytes = j->info.attrs[GSB_ATTR_MAX_DYNAMIC_SMEM];
	fn->carveout_percent = -1;
	if (gsb_trace_is_on())
		gsb_code_tell_function(fn, j->name, false);
	gsb_tenant_reply_with(t, &j->call, &j->info, info_bytes(&j->info));
	gsb_job_destroy(j);
}

static int get_form(struct gsb_job *j, const struct gsb_device_ops *ops, const char *name,
		    struct gsb_function_info *info, struct gsb_kernel_form *out)
{
	int err = ops->function_get(j->module->module, name, &out->function, info);

	if (err)
		return err;
	out->params_bytes = info->params_bytes;
	out->regs = (uint32_t)info->attrs[GSB_ATTR_NUM_REGS];
	out->static_smem_bytes = (uint32_t)info->attrs[GSB_ATTR_SHARED_BYTES];
	out->max_threads = (uint32_t)info->attrs[GSB_ATTR_MAX_THREADS];
	return 0;
}

/* The original alone has to be there. */
static void get_variants(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	const struct gsb_proof *proof = gsb_variants_find(j->variants, j->name);
	struct gsb_function_info info;
	char name[GSB_NAME_MAX + 1];

	for (unsigned i = GSB_SHAPE_AS_ASKED + 1; proof && i < GSB_N_SHAPES; i++)
		if (proof->shapes & GSB_SHAPE_BIT(i) &&
		    (!gsb_variant_name(j->name, (enum gsb_shape_form)i, name) ||
		     get_form(j, ops, name, &info, &j->forms[i])))
			j->forms[i].function = NULL;
}

static void get(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	if (j->variants && gsb_variants_hide(j->variants, j->name))
		j->err = -ENOENT;
	else
		j->err = get_form(j, ops, j->name, &j->info, &j->forms[GSB_SHAPE_AS_ASKED]);
	if (!j->err && j->variants)
		get_variants(j, ops);
}

/* What a module that was unloaded has left there is in nobody's way. */
static int put_function(struct gsb_tenant *t, struct gsb_kernel_fn *fn)
{
	uint32_t i = gsb_handle_index(fn->handle);
	const struct gsb_kernel_fn *there =
		i < t->functions.capacity ? t->functions.items[i] : NULL;

	if (gsb_handle_kind(fn->handle) != GSB_HANDLE_FUNCTION)
		return -ERANGE;
	if (there && !there->module->handle)
		gsb_table_remove(&t->functions, there->handle);
	return gsb_table_put(&t->functions, fn->handle, GSB_N_FUNCTIONS_MAX, fn);
}

int gsb_code_function_get(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_function_get *b, const char *name)
{
	struct gsb_code_module *m = gsb_code_find_module(t, b->module);
	struct gsb_kernel_fn *fn;
	struct gsb_job *j;
	int err;

	if (!m)
		return gsb_no_such(t, rec, "module", b->module);
	fn = gsb_code_room(t) >= sizeof(*fn) ? calloc(1, sizeof(*fn)) : NULL;
	if (!fn)
		return gsb_tenant_fail_call(t, rec, -ENOMEM);
	fn->handle = b->function;
	fn->module = m;
	err = put_function(t, fn);
	if (err) {
		free(fn);
		return err == -ENOMEM ? gsb_tenant_fail_call(t, rec, err)
				      : gsb_violation(t,
						      "FunctionGet as %#" PRIx64
						      ", which is taken or no handle",
						      b->function);
	}
	t->code_used_bytes += sizeof(*fn);
	LL_PREPEND(m->functions, fn);
	j = gsb_job_create(t, m->ctx, rec);
	if (!j)
		return gsb_violation(t, "the engine is out of memory"), -ENOMEM;
	j->run = get;
	j->done = got;
	j->module = m;
	j->variants = m->variants;
	j->fn = fn;
	memcpy(j->name, name, strlen(name) + 1);
	gsb_job_give(j);
	return 0;
}

/* Now, because it would hold the engine up at a launch. One that cannot be made ready is not used. */
static void prepare_variants(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	char log[GSB_LOAD_LOG_MAX];

	for (unsigned i = GSB_SHAPE_AS_ASKED + 1; i < GSB_N_SHAPES; i++)
		if (j->shapes & GSB_SHAPE_BIT(i) &&
		    ops->function_prepare(j->fn->forms[i].function, log, sizeof(log)))
			j->shapes &= ~GSB_SHAPE_BIT(i);
}

static void run_prepare(struct gsb_job *j, const struct gsb_device_ops *ops)
{
	j->err = ops->function_prepare(j->fn->function, j->log, sizeof(j->log));
	if (!j->err)
		prepare_variants(j, ops);
}

static void prepared(struct gsb_job *j)
{
	struct gsb_kernel_fn *fn = j->fn;
	struct gsb_tenant *t = j->tenant;
	uint32_t bytes = (uint32_t)strnlen(j->log, sizeof(j->log));

	if (!j->err && gsb_code_charge(t, fn->module)) {
		j->err = -ENOMEM;
		snprintf(j->log, sizeof(j->log),
			 "no memory for more code: its tenant's modules are past code_memory");
		bytes = (uint32_t)strlen(j->log);
	}
	fn->state = j->err ? GSB_FN_FAILED : GSB_FN_READY;
	fn->shapes &= j->shapes;
	fn->prepare_err = j->err;
	gsb_trace(KERNEL_READY, kernel_ready, t->id, .function = fn->handle,
		  .asked_ns = j->asked_ns, .error = j->err, .shapes = fn->shapes);
	if (j->err)
		gsb_tenant_log(t, GSB_LOG_WARN, "code", "tenant %u: %s", t->id, j->log);
	gsb_stream_wake_list(&fn->waiters);
	if (j->call.type == GSB_REC_FUNCTION_PREPARE) { /* and not a launch that found it new */
		memcpy(t->region->replies[j->call.thread], j->log, bytes);
		gsb_tenant_reply(t, &j->call, gsb_cuda_result(j->err), bytes);
	}
	gsb_job_destroy(j);
}

static int prepare(struct gsb_tenant *t, struct gsb_kernel_fn *fn, const struct gsb_rec *call)
{
	struct gsb_job *j = gsb_job_create(t, fn->module->ctx, call);

	if (!j)
		return -ENOMEM;
	j->run = run_prepare;
	j->done = prepared;
	j->fn = fn;
	j->shapes = fn->shapes;
	if (fn->state != GSB_FN_READY)
		fn->state = GSB_FN_PREPARING;
	gsb_job_give(j);
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
		return gsb_no_such(t, rec, "function", handle);
	return prepare(t, fn, rec) ? gsb_tenant_fail_call(t, rec, -ENOMEM) : 0;
}

static uint32_t at_most_32_bits(uint64_t n)
{
	return n < UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* A tenant may ask for more than any device has: the device says so, and until then a policy must not see less. */
struct gsb_kernel gsb_code_needs(const struct gsb_kernel_fn *fn, const struct gsb_cmd_launch *l)
{
	return (struct gsb_kernel){
		.threads_per_block = at_most_32_bits(
			(uint64_t)at_most_32_bits((uint64_t)l->block[0] * l->block[1]) *
			l->block[2]),
		.regs_per_thread = fn->regs,
		.smem_bytes = at_most_32_bits((uint64_t)fn->static_smem_bytes + l->smem_bytes),
		.n_blocks = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2],
	};
}

int gsb_code_function_set(struct gsb_tenant *t, const struct gsb_rec *rec,
			  const struct gsb_rec_function_set *b)
{
	struct gsb_kernel_fn *fn = gsb_code_find_function(t, b->function);

	if (!fn)
		return gsb_no_such(t, rec, "function", b->function);
	if (b->attribute == GSB_ATTR_MAX_DYNAMIC_SMEM)
		fn->max_dynamic_smem_bytes = b->value;
	else if (b->attribute == GSB_ATTR_CARVEOUT)
		fn->carveout_percent = b->value; /* counts in what is said of occupancy alone */
	return 0; /* the others are hints, which the device has no use for yet */
}
