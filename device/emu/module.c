/*
 * module.c - loads of modules: each has its own variables, in the memory of its space.
 *
 * All .global and .const variables of a load lie in one allocation, each at its alignment, with what
 * their initialisers say; managed ones in host memory that comes after the load. A kernel is lowered when it is prepared,
 * for the addresses of this load; text, layout and metadata are shared with every other load of the same image
 * (device/code.h).
 */
#include "device/emu/module.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "device/emu/lower/lower.h"

/* ---- variables ---- */

/* The value that goes into an initialiser. Shared variables have no address before a launch, and the
 * parser lets nobody take it there. */
static uint64_t reloc_value(const struct gsb_module *m, const struct gsb_ptx_reloc *r)
{
	uint64_t value = r->func ? gsb_emu_func_address(r->func) : m->var_addr[r->var->index];

	value += (uint64_t)r->addend;
	if (r->mask)
		value = (value & r->mask) >> __builtin_ctzll(r->mask);
	return value;
}

static void initialise(const struct gsb_module *m, const struct gsb_ptx_var *v)
{
	uint8_t *bytes = (uint8_t *)(uintptr_t)m->var_addr[v->index];

	if (v->init)
		memcpy(bytes, v->init, v->size_bytes);
	for (uint32_t i = 0; i < v->n_relocs; i++) {
		uint64_t value = reloc_value(m, &v->relocs[i]);

		memcpy(bytes + v->relocs[i].offset, &value, v->relocs[i].size);
	}
}

/* All of them have their addresses: what one begins with may be that of another. */
static void initialise_all(const struct gsb_module *m, bool managed_too)
{
	const struct gsb_ptx_module *ptx = gsb_code_module(m->code);

	for (uint32_t i = 0; i < ptx->n_vars; i++)
		if (gsb_code_has_memory(ptx->vars[i]) && (managed_too || !ptx->vars[i]->managed))
			initialise(m, ptx->vars[i]);
}

/* The piece that variables of one kind lie in begins here. */
static void place(struct gsb_module *m, bool managed, uint64_t addr)
{
	const struct gsb_ptx_module *ptx = gsb_code_module(m->code);

	for (uint32_t i = 0; i < ptx->n_vars; i++)
		if (gsb_code_has_memory(ptx->vars[i]) && ptx->vars[i]->managed == managed)
			m->var_addr[i] += addr;
}

static int make_variables(struct gsb_module *m, char *log, size_t log_size)
{
	const struct gsb_ptx_module *ptx = gsb_code_module(m->code);
	struct gsb_code_sizes sizes;
	int err;

	m->var_addr = calloc(ptx->n_vars ? ptx->n_vars : 1, sizeof(*m->var_addr));
	if (!m->var_addr)
		return -ENOMEM;
	err = gsb_code_lay_out(m->code, m->var_addr, &sizes, log, log_size);
	if (err)
		return err;
	if (sizes.device_bytes)
		err = emu_heap_alloc(&m->space->heap, sizes.device_bytes, &m->globals);
	if (err) {
		snprintf(log, log_size, "no device memory for %llu bytes of variables",
			 (unsigned long long)sizes.device_bytes);
		return err;
	}
	m->global_bytes = sizes.device_bytes;
	m->managed_bytes = sizes.managed_bytes;
	place(m, false, m->globals);
	if (!m->managed_bytes)
		initialise_all(m, false);
	return 0;
}

uint64_t emu_module_managed(struct gsb_module *m)
{
	return m->managed_bytes;
}

int emu_module_place(struct gsb_module *m, uint64_t addr, bool initialise)
{
	place(m, true, addr);
	initialise_all(m, initialise);
	return 0;
}

int emu_global_get(struct gsb_module *m, const char *name, uint64_t *addr, uint64_t *size)
{
	const struct gsb_ptx_var *v = gsb_ptx_find_var(gsb_code_module(m->code), name);

	if (!v || !gsb_code_has_memory(v))
		return -ENOENT;
	*addr = m->var_addr[v->index];
	*size = v->size_bytes;
	return 0;
}

/* ---- loads ---- */

/*
 * Images are shared by content, so they are counted once in what all have, but in full for each load of a
 * space: whose they would be, were it not for the others.
 */
static int count_code(struct gsb_module *m, char *log, size_t log_size)
{
	struct gsb_emu_storage *s = &m->space->storage;
	size_t all = gsb_code_cache_bytes(m->space->dev->codes) + s->sum->used_bytes, own;

	m->code_bytes = gsb_code_bytes(m->code);
	own = atomic_fetch_add(&s->used_bytes, m->code_bytes) + m->code_bytes;
	if (gsb_range_ok(all, own, s->sum->max_bytes))
		return 0;
	snprintf(log, log_size, "no host memory for more modules: %zu MiB are loaded, %zu in all",
		 own >> 20, all >> 20);
	return -ENOMEM;
}

static void free_functions(struct gsb_module *m)
{
	struct gsb_function *f, *next;

	for (f = m->functions; f; f = next) {
		next = f->next;
		gsb_emu_pool_finish(&f->pool);
		if (f->lowered)
			gsb_emu_storage_give(&m->space->storage, gsb_emu_code_bytes(f->lowered));
		gsb_emu_code_destroy(f->lowered);
		free(f);
	}
}

static void destroy(struct gsb_module *m)
{
	free_functions(m);
	if (m->globals)
		emu_heap_free(&m->space->heap, m->globals);
	pthread_mutex_lock(&m->space->dev->vram.lock);
	LIST_REMOVE(m, link);
	pthread_mutex_unlock(&m->space->dev->vram.lock);
	atomic_fetch_sub(&m->space->storage.used_bytes, m->code_bytes);
	gsb_code_put(m->code);
	pthread_mutex_destroy(&m->lock);
	free(m->var_addr);
	free(m);
}

int emu_module_load(struct gsb_space *space, const void *image, size_t size,
		    struct gsb_module **out, char *log, size_t log_size)
{
	struct gsb_module *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	m->space = space;
	pthread_mutex_init(&m->lock, NULL);
	pthread_mutex_lock(&space->dev->vram.lock);
	LIST_INSERT_HEAD(&space->modules, m, link);
	pthread_mutex_unlock(&space->dev->vram.lock);
	err = gsb_code_get(space->dev->codes, image, size, &m->code, log, log_size);
	if (!err)
		err = count_code(m, log, log_size);
	if (!err)
		err = make_variables(m, log, log_size);
	if (err) {
		destroy(m);
		return err;
	}
	*out = m;
	return 0;
}

void emu_module_unload(struct gsb_module *m)
{
	if (!m)
		return;
	emu_note_free(m->space);
	destroy(m);
}

/* Lowered code grows while the loader prepares. */
uint64_t emu_module_bytes(struct gsb_module *m)
{
	uint64_t bytes = m->code_bytes;

	pthread_mutex_lock(&m->lock);
	for (const struct gsb_function *f = m->functions; f; f = f->next)
		if (f->lowered)
			bytes += gsb_emu_code_bytes(f->lowered);
	pthread_mutex_unlock(&m->lock);
	return bytes;
}

uint64_t emu_module_cost(struct gsb_module *m)
{
	return m->global_bytes ? emu_heap_cost(m->global_bytes) : 0;
}

uint64_t emu_module_heap(struct gsb_module *m)
{
	const struct gsb_ptx_module *ptx = gsb_code_module(m->code);

	for (uint32_t i = 0; i < ptx->n_funcs; i++)
		if (!ptx->funcs[i]->has_body && gsb_emu_allocates(ptx->funcs[i]->name))
			return emu_heap_cost(m->space->kernel_heap_bytes);
	return 0;
}

/* ---- functions ---- */

static struct gsb_function *find_function(const struct gsb_module *m,
					  const struct gsb_code_kernel *kernel)
{
	struct gsb_function *f = m->functions;

	while (f && f->kernel != kernel)
		f = f->next;
	return f;
}

/* The same kernel of a load is the same function, however often it is asked for. */
static int get_locked(struct gsb_module *m, const struct gsb_code_kernel *kernel,
		      struct gsb_function **out)
{
	struct gsb_function *f = find_function(m, kernel);

	if (!f) {
		f = calloc(1, sizeof(*f));
		if (!f)
			return -ENOMEM;
		f->module = m;
		f->kernel = kernel;
		f->next = m->functions;
		gsb_emu_pool_init(&f->pool);
		m->functions = f;
	}
	*out = f;
	return 0;
}

int emu_function_get(struct gsb_module *m, const char *name, struct gsb_function **out,
		     struct gsb_function_info *info)
{
	const struct gsb_code_kernel *kernel;
	int err = gsb_code_kernel(m->code, name, &kernel);

	if (!err)
		err = gsb_code_function_info(kernel, &m->space->dev->info.arch, info);
	if (err)
		return err;
	pthread_mutex_lock(&m->lock);
	err = get_locked(m, kernel, out);
	pthread_mutex_unlock(&m->lock);
	return err;
}

int emu_function_name(struct gsb_module *m, unsigned i, const char **name)
{
	*name = gsb_code_kernel_name(m->code, i);
	return *name ? 0 : -ENOENT;
}

/* What the interpreter does not see, because it is asked of the launch. */
static int check_supported(const struct gsb_code_kernel *k, char *log, size_t log_size)
{
	const struct gsb_ptx_tuning *t = &k->entry->tuning;

	if (t->blocks_are_clusters) {
		snprintf(
			log, log_size,
			"kernel %s: .blocksareclusters is not carried by the emulated device: build it "
			"without (__block_size__ with one size)",
			k->entry->name);
		return -ENOTSUP;
	}
	return 0;
}

static bool is_prepared(struct gsb_function *f)
{
	bool yes;

	pthread_mutex_lock(&f->module->lock);
	yes = f->lowered;
	pthread_mutex_unlock(&f->module->lock);
	return yes;
}

/* Lowers without the lock: the engine does not wait for the loader, even if both lower the same. */
int emu_function_prepare(struct gsb_function *f, char *log, size_t log_size)
{
	struct gsb_module *m = f->module;
	struct gsb_emu_code *code = NULL;
	int err = check_supported(f->kernel, log, log_size);

	if (err || is_prepared(f))
		return err;
	err = gsb_emu_lower(gsb_code_module(m->code), f->kernel->entry, m->var_addr, &code, log,
			    log_size);
	if (err)
		return err;
	pthread_mutex_lock(&m->lock);
	if (!f->lowered && gsb_emu_storage_take(&m->space->storage, gsb_emu_code_bytes(code))) {
		f->lowered = code;
		code = NULL;
	}
	err = f->lowered ? 0 : -ENOMEM;
	pthread_mutex_unlock(&m->lock);
	gsb_emu_code_destroy(code);
	if (err)
		snprintf(log, log_size, "kernel %s: no host memory for more code",
			 f->kernel->entry->name);
	return err;
}
