/*
 * code.c - see code.h.
 *
 * The cache is one list, last used first; images are few, and a look-up compares a 64-bit hash before
 * it compares bytes. Equal bytes decide, so that a tenant who can make collisions gains nothing.
 */
#include "device/code.h"

#include <errno.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>

#include "base/arena.h"
#include "base/checked.h"
#include "base/hash.h"
#include "device/info.h"
#include "ptx/assemble.h"
#include "ptx/condition.h"
#include "ptx/fatbin.h"
#include "ptx/image.h"
#include "ptx/layout.h"

/* Codes that are kept although no module holds them, and their bytes: one image may be parsed to 1 GiB. */
#define UNUSED_MAX	 16
#define UNUSED_BYTES_MAX ((size_t)64 << 20)
#define SWEPT_BYTES \
	((size_t)16 \
	 << 20) /* what goes and is as large is freed by a thread: the engine's would serve nobody for 0.1 s a GiB */
#define REGS_UNIT 8

struct gsb_code {
	TAILQ_ENTRY(gsb_code) link;
	struct gsb_code_cache *cache;
	unsigned n_users;    /* under cache->lock, and the next */
	size_t unused_bytes; /* what it is counted with while it has no user */
	uint64_t hash;
	size_t size;
	void *image;
	struct gsb_ptx_module *module;
	pthread_mutex_t lock; /* of what follows */
	struct gsb_arena arena;
	struct gsb_code_kernel **kernels; /* by func->index; NULL until asked for */
};

struct gsb_code_cache {
	pthread_mutex_t lock;
	TAILQ_HEAD(codes, gsb_code) codes;
	unsigned n_unused;
	size_t bytes, unused_bytes;
	struct codes dropped; /* that a thread is to free */
	pthread_t sweeper;
	bool has_sweeper, is_sweeping; /* it is to be joined; and will look at the list once more */
};

int gsb_code_cache_create(struct gsb_code_cache **out)
{
	struct gsb_code_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return -ENOMEM;
	pthread_mutex_init(&cache->lock, NULL);
	TAILQ_INIT(&cache->codes);
	TAILQ_INIT(&cache->dropped);
	*out = cache;
	return 0;
}

static void destroy_code(struct gsb_code *code)
{
	gsb_ptx_module_destroy(code->module);
	gsb_arena_finish(&code->arena);
	pthread_mutex_destroy(&code->lock);
	free(code->image);
	free(code);
}

void gsb_code_cache_destroy(struct gsb_code_cache *cache)
{
	struct gsb_code *code;

	if (!cache)
		return;
	while ((code = TAILQ_FIRST(&cache->codes))) {
		TAILQ_REMOVE(&cache->codes, code, link);
		destroy_code(code);
	}
	if (cache->has_sweeper)
		pthread_join(cache->sweeper, NULL);
	pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* ---- making one ---- */

/* What a driver looks at in a text alone: beside machine code, PTX of a fatbin may be for a newer GPU (fatbin.h). */
static int check_text(const struct gsb_ptx_module *m, uint32_t cc, char *log, size_t log_size)
{
	int err = gsb_ptx_assembles(m, log, log_size);

	if (!err && m->target_sm > cc) {
		snprintf(log, log_size, "the PTX is for %s, this device is sm_%" PRIu32, m->target,
			 cc);
		err = -EILSEQ;
	}
	return err;
}

static int parse_text(struct gsb_code *code, const char *text, size_t len, char *log,
		      size_t log_size)
{
	struct gsb_ptx_error error = {0};
	char *own = NULL;
	int err = gsb_ptx_define_condition(text, len, &own);

	if (err)
		return err;
	err = gsb_ptx_parse(own ? own : text, own ? strlen(own) : len, &code->module, &error);
	free(own);
	if (err)
		snprintf(log, log_size, "%s", error.text);
	return err == -EINVAL ? -EILSEQ : err;
}

static int parse(struct gsb_code *code, char *log, size_t log_size)
{
	uint32_t cc = GSB_REPORTED_CC_MAJOR * 10 + GSB_REPORTED_CC_MINOR;
	struct gsb_arena unpacked;
	const char *text;
	size_t len;
	int err;

	gsb_arena_init(&unpacked, GSB_FATBIN_MAX_RAW_BYTES);
	err = gsb_image_find_executable_ptx(code->image, code->size, cc, &unpacked, &text, &len,
					    log, log_size);
	if (!err)
		err = parse_text(code, text, len, log, log_size);
	if (!err && gsb_image_kind(code->image, code->size) == GSB_IMAGE_PTX)
		err = check_text(code->module, cc, log, log_size);
	if (!err)
		err = gsb_ptx_check_shared(code->module, log, log_size);
	gsb_arena_finish(&unpacked);
	return err;
}

static int make_code(const void *image, size_t size, struct gsb_code **out, char *log,
		     size_t log_size)
{
	struct gsb_code *code = calloc(1, sizeof(*code));
	int err = -ENOMEM;

	if (!code)
		return -ENOMEM;
	pthread_mutex_init(&code->lock, NULL);
	gsb_arena_init(&code->arena, GSB_PTX_MAX_ARENA_BYTES);
	code->size = size;
	code->image = malloc(size ? size : 1);
	if (!code->image)
		goto err_code;
	memcpy(code->image, image, size);
	err = parse(code, log, log_size);
	if (err)
		goto err_code;
	err = -ENOMEM;
	code->kernels =
		gsb_arena_alloc_array(&code->arena, code->module->n_funcs, sizeof(*code->kernels));
	if (!code->kernels)
		goto err_code;
	*out = code;
	return 0;

err_code:
	destroy_code(code);
	return err;
}

/* ---- the cache ---- */

static struct gsb_code *find_code(struct gsb_code_cache *cache, uint64_t hash, const void *image,
				  size_t size)
{
	struct gsb_code *code;

	TAILQ_FOREACH(code, &cache->codes, link)
	if (code->hash == hash && code->size == size && !memcmp(code->image, image, size))
		return code;
	return NULL;
}

size_t gsb_code_bytes(const struct gsb_code *code)
{
	return code->size + code->module->arena.used_bytes;
}

static void count_unused(struct gsb_code_cache *cache, struct gsb_code *code)
{
	code->unused_bytes = gsb_code_bytes(code) + code->arena.used_bytes;
	cache->unused_bytes += code->unused_bytes;
	cache->n_unused++;
}

static void uncount_unused(struct gsb_code_cache *cache, const struct gsb_code *code)
{
	cache->unused_bytes -= code->unused_bytes;
	cache->n_unused--;
}

static void use(struct gsb_code_cache *cache, struct gsb_code *code)
{
	if (!code->n_users++)
		uncount_unused(cache, code);
	TAILQ_REMOVE(&cache->codes, code, link);
	TAILQ_INSERT_HEAD(&cache->codes, code, link);
}

/* The one in the list, if there is one by now; else this one goes in. */
static struct gsb_code *insert_or_find(struct gsb_code_cache *cache, struct gsb_code *code)
{
	struct gsb_code *other = find_code(cache, code->hash, code->image, code->size);

	if (other)
		return other;
	code->cache = cache;
	cache->bytes += gsb_code_bytes(code);
	count_unused(cache, code);
	TAILQ_INSERT_HEAD(&cache->codes, code, link);
	return code;
}

int gsb_code_get(struct gsb_code_cache *cache, const void *image, size_t size,
		 struct gsb_code **out, char *log, size_t log_size)
{
	uint64_t hash = gsb_hash_bytes(GSB_HASH_BEGIN, image, size);
	struct gsb_code *code, *made = NULL;
	int err;

	pthread_mutex_lock(&cache->lock);
	code = find_code(cache, hash, image, size);
	if (!code) {
		/* Not under the lock: it may take long, and nobody waits for a tenant's text. */
		pthread_mutex_unlock(&cache->lock);
		err = make_code(image, size, &made, log, log_size);
		if (err)
			return err;
		made->hash = hash;
		pthread_mutex_lock(&cache->lock);
		code = insert_or_find(cache, made);
	}
	use(cache, code);
	pthread_mutex_unlock(&cache->lock);
	if (made && code != made)
		destroy_code(made);
	*out = code;
	return 0;
}

static void *sweep(void *arg)
{
	struct gsb_code_cache *cache = arg;
	struct gsb_code *code;

	pthread_mutex_lock(&cache->lock);
	while ((code = TAILQ_FIRST(&cache->dropped))) {
		TAILQ_REMOVE(&cache->dropped, code, link);
		pthread_mutex_unlock(&cache->lock);
		destroy_code(code);
		pthread_mutex_lock(&cache->lock);
	}
	cache->is_sweeping = false;
	pthread_mutex_unlock(&cache->lock);
	return NULL;
}

static bool start_sweeper(struct gsb_code_cache *cache)
{
	sigset_t all, old;

	if (cache->is_sweeping)
		return true;
	if (cache->has_sweeper)
		pthread_join(cache->sweeper, NULL); /* it is at its end */
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old); /* they are for others */
	cache->has_sweeper = !pthread_create(&cache->sweeper, NULL, sweep, cache);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	cache->is_sweeping = cache->has_sweeper;
	return cache->has_sweeper;
}

static void drop_code(struct gsb_code_cache *cache, struct gsb_code *code)
{
	if (gsb_code_bytes(code) < SWEPT_BYTES || !start_sweeper(cache))
		destroy_code(code);
	else
		TAILQ_INSERT_TAIL(&cache->dropped, code, link);
}

static void drop_oldest_unused(struct gsb_code_cache *cache)
{
	struct gsb_code *code;

	TAILQ_FOREACH_REVERSE(code, &cache->codes, codes, link)
	{
		if (code->n_users)
			continue;
		TAILQ_REMOVE(&cache->codes, code, link);
		uncount_unused(cache, code);
		cache->bytes -= gsb_code_bytes(code);
		drop_code(cache, code);
		return;
	}
}

void gsb_code_put(struct gsb_code *code)
{
	struct gsb_code_cache *cache;

	if (!code)
		return;
	cache = code->cache;
	pthread_mutex_lock(&cache->lock);
	if (!--code->n_users)
		count_unused(cache, code);
	while (cache->n_unused > UNUSED_MAX || cache->unused_bytes > UNUSED_BYTES_MAX)
		drop_oldest_unused(cache);
	pthread_mutex_unlock(&cache->lock);
}

size_t gsb_code_cache_bytes(struct gsb_code_cache *cache)
{
	size_t bytes;

	pthread_mutex_lock(&cache->lock);
	bytes = cache->bytes;
	pthread_mutex_unlock(&cache->lock);
	return bytes;
}

size_t gsb_code_cache_unused_bytes(struct gsb_code_cache *cache)
{
	size_t bytes;

	pthread_mutex_lock(&cache->lock);
	bytes = cache->unused_bytes;
	pthread_mutex_unlock(&cache->lock);
	return bytes;
}

const struct gsb_ptx_module *gsb_code_module(const struct gsb_code *code)
{
	return code->module;
}

/* ---- variables ---- */

bool gsb_code_has_memory(const struct gsb_ptx_var *v)
{
	return v->space == GSB_PTX_SPACE_GLOBAL || v->space == GSB_PTX_SPACE_CONST;
}

int gsb_code_lay_out(const struct gsb_code *code, uint64_t *offset, struct gsb_code_sizes *out,
		     char *log, size_t log_size)
{
	const struct gsb_ptx_module *m = code->module;
	struct gsb_code_sizes sizes = {0};

	for (uint32_t i = 0; i < m->n_vars; i++) {
		const struct gsb_ptx_var *v = m->vars[i];
		uint64_t *at = v->managed ? &sizes.managed_bytes : &sizes.device_bytes;

		if (!gsb_code_has_memory(v))
			continue;
		if (v->linkage == GSB_PTX_LINK_EXTERN) {
			snprintf(log, log_size, "variable %s is declared and nowhere defined",
				 v->name);
			return -EILSEQ;
		}
		if (gsb_ptx_put_variable(at, v->size_bytes, v->align, &offset[i]))
			return -ENOMEM;
	}
	*out = sizes;
	return 0;
}

/* ---- kernels ---- */

static bool is_kernel(const struct gsb_ptx_func *f)
{
	return f->is_entry && f->has_body;
}

static int build_kernel(struct gsb_code *code, const struct gsb_ptx_func *entry,
			struct gsb_code_kernel **out)
{
	struct gsb_code_kernel *k = gsb_arena_alloc(&code->arena, sizeof(*k));
	int err;

	if (!k)
		return -ENOMEM;
	k->entry = entry;
	err = gsb_ptx_kernel_build(code->module, entry, &code->arena, &k->layout);
	if (err)
		return err;
	*out = k;
	return 0;
}

int gsb_code_kernel(struct gsb_code *code, const char *name, const struct gsb_code_kernel **out)
{
	const struct gsb_ptx_func *f = gsb_ptx_find_func(code->module, name);
	int err = 0;

	if (!f || !is_kernel(f))
		return -ENOENT;
	pthread_mutex_lock(&code->lock);
	if (!code->kernels[f->index])
		err = build_kernel(code, f, &code->kernels[f->index]);
	if (!err)
		*out = code->kernels[f->index];
	pthread_mutex_unlock(&code->lock);
	return err;
}

const char *gsb_code_kernel_name(const struct gsb_code *code, unsigned i)
{
	for (uint32_t f = 0; f < code->module->n_funcs; f++)
		if (is_kernel(code->module->funcs[f]) && !i--)
			return code->module->funcs[f]->name;
	return NULL;
}

/* ---- what a driver would say of a kernel ---- */

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The estimate can be above what a compiler needs, which would spill rather than make a kernel that
 * cannot be launched: so an estimate never refuses a launch. */
uint32_t gsb_code_regs(const struct gsb_code_kernel *k, const struct gsb_arch *arch,
		       uint32_t n_threads)
{
	uint32_t warps = (n_threads + GSB_WARP_SIZE - 1) / GSB_WARP_SIZE, regs = k->layout.regs;
	uint32_t most;

	warps = (uint32_t)gsb_round_up(warps, arch->warp_unit);
	most = arch->max_regs_per_block / (warps * GSB_WARP_SIZE);
	regs = min_u32(regs, arch->max_regs_per_thread);
	if (k->entry->tuning.maxnreg)
		regs = min_u32(regs, k->entry->tuning.maxnreg);
	return min_u32(regs, most / REGS_UNIT * REGS_UNIT);
}

enum { /* CUfunction_attribute */
       ATTR_MAX_THREADS_PER_BLOCK = 0,
       ATTR_SHARED_SIZE_BYTES = 1,
       ATTR_CONST_SIZE_BYTES = 2,
       ATTR_LOCAL_SIZE_BYTES = 3,
       ATTR_NUM_REGS = 4,
       ATTR_PTX_VERSION = 5,
       ATTR_BINARY_VERSION = 6,
       ATTR_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
       ATTR_PREFERRED_SHARED_MEMORY_CARVEOUT = 9,
       ATTR_CLUSTER_SIZE_MUST_BE_SET = 10,
       ATTR_REQUIRED_CLUSTER_WIDTH = 11, /* and height, and depth */
};

static void fill_cluster_attrs(const struct gsb_ptx_tuning *t, int32_t *attrs)
{
	const uint32_t *n = t->reqnctapercluster;

	attrs[ATTR_CLUSTER_SIZE_MUST_BE_SET] = t->explicit_cluster;
	for (int i = 0; n[0] && i < 3; i++)
		attrs[ATTR_REQUIRED_CLUSTER_WIDTH + i] = n[i] ? (int32_t)n[i] : 1;
}

static void fill_attrs(const struct gsb_code_kernel *k, const struct gsb_arch *arch, int32_t *attrs)
{
	const struct gsb_ptx_kernel *l = &k->layout;
	uint32_t threads = arch->max_threads_per_block;
	uint32_t version = GSB_REPORTED_CC_MAJOR * 10 + GSB_REPORTED_CC_MINOR;

	if (l->max_threads)
		threads = min_u32(threads, l->max_threads);
	attrs[ATTR_MAX_THREADS_PER_BLOCK] = (int32_t)threads;
	attrs[ATTR_SHARED_SIZE_BYTES] = (int32_t)l->static_shared_bytes;
	attrs[ATTR_CONST_SIZE_BYTES] = (int32_t)l->const_bytes;
	attrs[ATTR_LOCAL_SIZE_BYTES] = (int32_t)l->local_bytes;
	attrs[ATTR_NUM_REGS] = (int32_t)gsb_code_regs(k, arch, l->max_threads ? threads : 1);
	attrs[ATTR_PTX_VERSION] = (int32_t)l->target_sm;
	attrs[ATTR_BINARY_VERSION] = (int32_t)version;
	if (l->static_shared_bytes < arch->smem_per_block_bytes)
		attrs[ATTR_MAX_DYNAMIC_SHARED_SIZE_BYTES] =
			(int32_t)(arch->smem_per_block_bytes - l->static_shared_bytes);
	attrs[ATTR_PREFERRED_SHARED_MEMORY_CARVEOUT] = -1;
	fill_cluster_attrs(&k->entry->tuning, attrs);
}

int gsb_code_function_info(const struct gsb_code_kernel *k, const struct gsb_arch *arch,
			   struct gsb_function_info *info)
{
	const struct gsb_ptx_func *f = k->entry;

	if (f->n_params > GSB_N_PARAMS_MAX)
		return -ENOTSUP;
	memset(info, 0, sizeof(*info));
	fill_attrs(k, arch, info->attrs);
	memcpy(info->reqntid, f->tuning.reqntid, sizeof(info->reqntid));
	info->params_bytes = (uint32_t)f->param_bytes;
	info->n_params = f->n_params;
	for (uint32_t i = 0; i < f->n_params; i++) {
		info->params[i].offset = (uint16_t)f->params[i].offset;
		info->params[i].size = (uint16_t)f->params[i].size_bytes;
	}
	return 0;
}
